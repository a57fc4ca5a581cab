"""Sends members to workers in chunks, takes their rows in, and sends again what was lost."""

import math
import time as clock
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Future, wait
from typing import Any

import numpy as np

from .channels import Channel
from .chunk import Payload, Rows
from .columns import NOT_RUN
from .errors import EnsembleStopped, MemberTimedOut, WorkerLost, WorkerUnfit
from .members import Members
from .one_member import Row

TIMED_OUT, WORKER_LOST = "timed_out", "worker_lost"
_LOSSES = 3  # of workers by one member, the later ones while it ran alone, after which it is given up
_GROWTH = 8  # times as long as the last chunk may the next be, while it is not known what members cost
_SHARE = 4  # a chunk is at most this part of what is left for one worker, so that all end together
_MEMORY_OF_COST = 0.9  # weight of what is known when the cost of another chunk comes in
_LOOK = 0.5  # [s] between looks at whether anybody works


class Dispatch:
    """One run over members that have no row yet.

    take : is given rows as they come
    chunk : members in each, None to choose by what they cost
    """

    def __init__(
        self,
        channel: Channel,
        payload: Payload,
        members: Members,
        take: Callable[[Rows], None],
        chunk: int | None = None,
    ):
        self._channel, self._payload, self._members, self._take = channel, payload, members, take
        self._fixed = chunk
        self._waiting: deque[int] = deque()
        self._suspects: deque[int] = deque()  # lost their worker: they are run alone, at the end
        self._losses: dict[int, int] = {}
        self._pending: dict[Future, list[int]] = {}
        self._cost: float | None = None  # s of a member
        self._largest = 1

    def run(self, indices: Sequence[int], heard: Callable[[], None]) -> None:
        """Bring rows of these members in; `heard` is called again and again meanwhile.

        EnsembleStopped where they cannot be run; rows that have come by then have been taken in.
        """
        self._waiting.extend(indices)
        try:
            while self._waiting or self._suspects or self._pending:
                self._fill()
                done, _ = wait(self._pending, timeout=_LOOK, return_when=FIRST_COMPLETED)
                for future in done:
                    self._hear(future, self._pending.pop(future))
                del done  # which would keep their rows
                self._channel.look()
                heard()
        finally:
            for future in self._pending:
                future.cancel()

    def _fill(self) -> None:
        """Send chunks until every worker has enough to do."""
        most = self._channel.workers * self._channel.ahead
        while self._waiting and len(self._pending) < most:
            size = min(self._size(), len(self._waiting))
            self._send([self._waiting.popleft() for _ in range(size)])
        if not self._waiting and not self._pending and self._suspects:
            self._send([self._suspects.popleft()])

    def _size(self) -> int:
        """Members of the next chunk."""
        if self._fixed is not None:
            return self._fixed
        fair = math.ceil(len(self._waiting) / (_SHARE * self._channel.workers))
        if self._cost is None:
            return 1
        by_cost = self._channel.chunk_seconds / max(self._cost, 1e-7)
        self._largest = int(max(1, min(by_cost, fair, _GROWTH * self._largest)))
        return self._largest

    def _send(self, chunk: list[int]) -> None:
        try:
            future = self._channel.submit(
                self._payload, [(index, self._members.given(index)) for index in chunk]
            )
        except BaseException:
            self._waiting.extendleft(reversed(chunk))
            raise
        self._pending[future] = chunk

    def _hear(self, future: Future, chunk: list[int]) -> None:
        """Take in what became of a chunk."""
        try:
            rows = future.result()
        except MemberTimedOut as error:
            if error.index is not None:
                self._give_up(error.index, TIMED_OUT, str(error), self._payload.limits.timeout or math.nan)
            self._again(chunk, error.index)
        except WorkerLost as error:
            self._again(chunk, error.index)
            if error.index is not None and error.index in chunk:
                self._suspect(error.index, str(error))
        except (WorkerUnfit, EnsembleStopped) as error:
            raise EnsembleStopped(str(error)) from None
        except (BrokenExecutor, CancelledError) as error:
            self._lost(chunk, error)
        except Exception as error:
            if type(error).__name__ not in ("KilledWorker", "FutureCancelledError", "CommClosedError"):
                raise EnsembleStopped(
                    f"the executor could not run members {chunk[0]} to {chunk[-1]} "
                    f"({type(error).__name__}: {error})"
                ) from error
            self._lost(chunk, error)  # by Dask, whose errors are only known where it is installed
        else:
            self._learn(rows)
            self._take(rows)

    def _learn(self, rows: Rows) -> None:
        """What members cost, but for those that a process begins with."""
        if not rows.warm and self._cost is None and self._waiting and len(rows.index) == 1:
            self._cost = float(rows.seconds[0])
            return
        cost = float(np.mean(rows.seconds))
        known = self._cost if self._cost is not None else cost
        weight = _MEMORY_OF_COST ** len(rows.index)
        self._cost = weight * known + (1.0 - weight) * cost

    def _again(self, chunk: Sequence[int], but: int | None) -> None:
        """Send members once more, which are not to blame."""
        self._waiting.extendleft(index for index in reversed(chunk) if index != but)

    def _lost(self, chunk: Sequence[int], error: BaseException) -> None:
        """A chunk came to nothing, nobody knows by which of its members."""
        if not self._channel.renew():
            self._again(chunk, None)
            raise EnsembleStopped(
                f"the executor has broken ({error}): give executor a function that makes one, which is called again"
            ) from None
        for index in chunk:
            self._suspect(index, f"{type(error).__name__}: {error}")

    def _suspect(self, index: int, why: str) -> None:
        """A member may have ended its worker: it is run alone later, but not for ever."""
        self._losses[index] = self._losses.get(index, 0) + 1
        if self._losses[index] < _LOSSES:
            self._suspects.append(index)
        else:
            self._give_up(index, WORKER_LOST, f"lost its worker {_LOSSES} times: {why}", math.nan)

    def _give_up(self, index: int, status: str, message: str, seconds: float) -> None:
        self._take(Rows.of([Row(index, status, message, {}, seconds)]))


class Progress:
    """A bar that tells rate and failures, where one is wanted."""

    def __init__(self, bar: Any, status: np.ndarray, good: Sequence[str], done: int):
        self._bar, self._status, self._good = bar, status, good
        self._begun, self._before = clock.monotonic(), done
        self._shown = -math.inf

    def show(self) -> None:
        """Move the bar."""
        now = clock.monotonic()
        if self._bar is None or now - self._shown < _LOOK:
            return
        self._shown = now
        done = int(np.count_nonzero(self._status != NOT_RUN))
        good = int(np.isin(self._status, self._good).sum())
        rate = (done - self._before) / max(now - self._begun, 1e-9)
        self._bar.show(done, f"{done} of {len(self._status)} members, {rate:.3g}/s, {done - good} failed")
