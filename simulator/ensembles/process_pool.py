"""Processes of this machine that work for us, each of which may end without taking others with it.

An executor as in concurrent.futures. The standard library's own pool is broken as soon as one of its processes
ends, ends all the others, and cannot tell which task was to blame; here the task alone fails, a new process takes
the place of the old one, and what the process was about is known.
"""

import contextlib
import math
import multiprocessing
import multiprocessing.process
import os
import pickle
import signal
import sys
import threading
import time as clock
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any

from .errors import EnsembleStopped, MemberTimedOut, WorkerLost
from .limits import Limits, MemoryLimit

_FAILED_STARTS = 3  # in a row, after which processes are taken not to start at all
_LOOKS = 20  # at a process within the time that a member may take
_LONGEST_LOOK = 0.5  # [s] between two of them
_JOIN = 5.0  # [s] that a process which is asked to end may take before it is ended
_SETTINGS = (
    *("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"),
    "PYTHONSAFEPATH",  # else a file in the current folder may replace a module of others
)
"""Of the environment that processes start in, all 1: one thread each."""

_within = False


def in_a_pool() -> bool:
    """Whether this process is one of a pool's."""
    return _within


@dataclass
class _Job:
    future: Future
    message: bytes


class _Worker:
    """A process, seen from outside."""

    def __init__(self, context: Any, limits: Limits):
        self.shown = context.RawArray("d", [-1.0, math.inf])
        self.connection, far = context.Pipe()
        settings = {"path": list(sys.path), "folder": _folder()}
        with _worker_environment(), _children_allowed():
            self.process = context.Process(
                target=_serve, args=(far, self.shown, limits, settings), daemon=True, name="carom member"
            )
            self.process.start()
        far.close()
        self.ready = False
        self.job: _Job | None = None

    @property
    def member(self) -> int | None:
        """Index of the member that runs."""
        return None if self.shown[0] < 0.0 else int(self.shown[0])

    def running(self) -> float:
        """[s] that the present member has run."""
        return clock.monotonic() - self.shown[1] if self.shown[0] >= 0.0 else 0.0

    def end(self) -> None:
        """End the process at once."""
        self.process.kill()
        self.process.join(_JOIN)
        self.connection.close()


class ProcessPool(Executor):
    """An executor of so many processes, in which members keep to `limits`.

    A task whose process ends fails with WorkerLost or MemberTimedOut, which know the member.
    """

    def __init__(self, workers: int, limits: Limits | None = None):
        self.limits = limits or Limits()
        self.workers = workers
        start = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"
        self._context: Any = multiprocessing.get_context(start)
        if start == "forkserver":
            self._context.set_forkserver_preload([__name__.rpartition(".")[0] + ".chunk"])
        self._jobs: deque[_Job] = deque()
        self._team: list[_Worker] = []
        self._failed_starts = 0
        self._broken: str | None = None
        self._closing = False
        self._ending = False
        self._turn = threading.Lock()
        self._bell, self._ring = self._context.Pipe(duplex=False)
        self._manager = threading.Thread(target=self._manage, name="carom pool", daemon=True)
        self._manager.start()

    def submit(self, function: Callable, /, *arguments: Any, **named: Any) -> Future:
        """As every executor; what cannot be pickled is refused at once."""
        job = _Job(Future(), pickle.dumps((function, arguments, named)))
        with self._turn:
            if self._closing:
                raise RuntimeError("cannot schedule new futures after shutdown")
            self._jobs.append(job)
            self._ring.send_bytes(b"!")
        return job.future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Take no more work; with `cancel_futures` end what runs, too."""
        with self._turn:
            if not self._closing:
                self._closing = True
            if cancel_futures:
                self._ending = True
            with contextlib.suppress(OSError):  # the manager may have gone
                self._ring.send_bytes(b"!")
        if wait:
            self._manager.join()

    # -- the manager's thread ------------------------------------------------------------------------------

    def _manage(self) -> None:
        try:
            while not (self._ending or (self._closing and not self._jobs and not self._busy())):
                self._assign()
                self._hear(self._patience())
                self._end_late_members()
        finally:
            for job in [*self._jobs, *(worker.job for worker in self._team if worker.job)]:
                if not job.future.cancel():
                    _fail(job, WorkerLost(None, "the pool was shut down"))
            for worker in self._team:
                worker.end()
            with self._turn:
                self._bell.close()

    def _busy(self) -> list[_Worker]:
        return [worker for worker in self._team if worker.job]

    def _assign(self) -> None:
        """Give waiting jobs to processes that have none, and start processes for the rest."""
        if self._broken:
            self._refuse()
            return
        missing = min(self.workers, len(self._busy()) + len(self._jobs)) - len(self._team)
        try:
            for _ in range(missing):
                self._team.append(_Worker(self._context, self.limits))
        except (OSError, RuntimeError, EOFError) as error:
            self._broken = f"no worker process can be started ({' '.join(str(error).split())})"
            self._refuse()
            return
        for worker in [each for each in self._team if each.ready and not each.job]:
            while self._jobs and not worker.job:
                job = self._jobs.popleft()
                if job.future.set_running_or_notify_cancel():
                    worker.job = job
                    try:
                        worker.connection.send_bytes(job.message)
                    except OSError:
                        self._lost(worker)
                        break

    def _refuse(self) -> None:
        """Let jobs fail that nobody will do."""
        while self._jobs:
            _fail(self._jobs.popleft(), EnsembleStopped(self._broken))

    def _patience(self) -> float | None:
        """[s] until somebody should look whether a member takes too long."""
        if self.limits.timeout is None or not self._busy():
            return None
        return min(_LONGEST_LOOK, self.limits.timeout / _LOOKS)

    def _hear(self, timeout: float | None) -> None:
        """Take in what processes say, or that they have ended."""
        speaking = {worker.connection: worker for worker in self._team}
        for source in wait([self._bell, *speaking], timeout):
            if source is self._bell:
                self._bell.recv_bytes()
                continue
            worker = speaking[source]
            try:
                kind, value = pickle.loads(worker.connection.recv_bytes())
            except (EOFError, OSError, pickle.UnpicklingError):
                self._lost(worker)
                continue
            if kind == "ready":
                worker.ready, self._failed_starts = True, 0
                continue
            job, worker.job = worker.job, None
            assert job is not None
            if kind == "error":
                job.future.set_exception(value)
            else:
                job.future.set_result(value)

    def _lost(self, worker: _Worker) -> None:
        """A process has ended: so has its job, and no other."""
        worker.process.join(_JOIN)
        code = worker.process.exitcode
        why = (
            f"signal {signal.Signals(-code).name}" if code is not None and code < 0 else f"exit status {code}"
        )
        member = worker.member
        self._team.remove(worker)
        worker.end()
        if worker.job:
            _fail(worker.job, WorkerLost(member, f"the worker process ended with {why}"))
        if not worker.ready:
            self._failed_starts += 1
            if self._failed_starts >= _FAILED_STARTS:
                self._broken = (
                    f"worker processes end as soon as they start ({why}): a script must be a file "
                    'and call carom.ensemble under `if __name__ == "__main__":`'
                )

    def _end_late_members(self) -> None:
        limit = self.limits.timeout
        if limit is None:
            return
        for worker in self._busy():
            member = worker.member
            if member is not None and worker.running() > limit and member == worker.member:
                self._team.remove(worker)
                worker.end()
                assert worker.job
                _fail(worker.job, MemberTimedOut(member, f"took longer than member_timeout, {limit:g} s"))


def _fail(job: _Job, error: BaseException) -> None:
    if job.future.running() or job.future.set_running_or_notify_cancel():
        job.future.set_exception(error)


# -- the process -------------------------------------------------------------------------------------------------


def _serve(connection: Connection, shown: Any, limits: Limits, settings: dict[str, Any]) -> None:
    """Do what is asked until nobody is there to ask."""
    global _within
    from .stopwatch import STOPWATCH

    _within = True
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for who asks
    sys.path[:] = settings["path"]
    if settings["folder"] is not None:
        os.chdir(settings["folder"])
    threading.Thread(target=_end_with_parent, daemon=True).start()
    STOPWATCH.shown = shown
    memory = MemoryLimit(limits.memory) if limits.memory is not None else None
    if memory:
        STOPWATCH.paused, STOPWATCH.resumed = memory.lift, memory.hold
    connection.send_bytes(pickle.dumps(("ready", None)))
    while True:
        try:
            message = connection.recv_bytes()
        except (EOFError, OSError):
            return
        try:
            function, arguments, named = pickle.loads(message)
            if memory:
                memory.begin()
            answer = ("result", function(*arguments, **named))
        except Exception as error:
            answer = ("error", error)
        if memory:
            memory.lift()
        connection.send_bytes(_pickled(answer))


def _pickled(answer: tuple[str, Any]) -> bytes:
    try:
        return pickle.dumps(answer)
    except Exception as error:
        return pickle.dumps(("error", RuntimeError(f"{type(error).__name__}: {error}")))


def _end_with_parent() -> None:
    """End when the process that asks has ended, also in the midst of a member."""
    parent = multiprocessing.process.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


def _folder() -> str | None:
    try:
        return os.getcwd()
    except OSError:  # it is there no more
        return None


@contextlib.contextmanager
def _worker_environment() -> Iterator[None]:
    """Let processes that start now have these settings, unless the user has said otherwise."""
    added = [name for name in _SETTINGS if name not in os.environ]
    os.environ.update(dict.fromkeys(added, "1"))
    try:
        yield
    finally:
        for name in added:
            os.environ.pop(name, None)


@contextlib.contextmanager
def _children_allowed() -> Iterator[None]:
    """Let this process start others although it is a daemon, as workers of Dask are: ours end with it."""
    config: dict[str, Any] = multiprocessing.process.current_process()._config  # type: ignore[attr-defined]
    daemon = config.pop("daemon", None)
    try:
        yield
    finally:
        if daemon is not None:
            config["daemon"] = daemon
