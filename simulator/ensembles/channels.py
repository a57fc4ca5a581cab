"""Where members are run: how processes of this machine, clusters and executors that a user gives differ."""

import io
import math
import pickle
import sys
import time as clock
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any, Protocol

from ...bodies import checks
from ...cores import cores
from .chunk import Chunk, Payload, Rows, run_chunk
from .errors import EnsembleStopped
from .limits import Limits
from .one_member import Task
from .process_pool import ProcessPool

MOST_WORKERS = 2**16
_LOCAL_CHUNK, _CLUSTER_CHUNK = (
    0.5,
    1.0,
)  # [s] that a chunk should take: below, sending it costs; above, the end waits
_AHEAD = 3  # chunks for each worker that a cluster is given at a time, one here: its queue is not flooded
_ASK_AGAIN = 1.0  # [s] after which a cluster is asked again how many workers it has
_WITHOUT_WORKERS = 60.0  # [s] that a cluster may have none
_SCATTERED = 65_536  # bytes of a payload above which a cluster is sent it once and not with every chunk


class Channel(Protocol):
    """Takes chunks and gives futures of their rows.

    chunk_seconds : what a chunk should take
    workers : how many are at work, at present
    ahead : chunks for each of them that may be under way
    knows_culprit : whether a lost worker names its member
    """

    chunk_seconds: float
    ahead: int

    @property
    def workers(self) -> int: ...

    def submit(self, payload: Payload, chunk: Chunk) -> Future:
        """Let a worker run a chunk; EnsembleStopped where none will any more."""

    def look(self) -> None:
        """EnsembleStopped where nobody works any more."""

    def renew(self) -> bool:
        """Work on after the executor has broken; whether that is possible."""

    def close(self, at_once: bool) -> None:
        """Give back what was taken."""


class InThisProcess:
    """Members run where `ensemble` is called, one after the other."""

    chunk_seconds, ahead = 0.0, 1
    workers = 1

    def __init__(self, task: Task):
        self._task = task

    def submit(self, payload: Payload, chunk: Chunk) -> Future:
        future: Future = Future()
        future.set_result(Rows.of([self._task.row(index, given) for index, given in chunk]))
        return future

    def look(self) -> None:
        """It does."""

    def renew(self) -> bool:
        return False

    def close(self, at_once: bool) -> None:
        """Nothing was taken."""


class OwnPool:
    """Processes of this machine."""

    chunk_seconds, ahead = _LOCAL_CHUNK, 1

    def __init__(self, workers: int, limits: Limits):
        self.workers = workers
        self._pool = ProcessPool(workers, limits)

    def submit(self, payload: Payload, chunk: Chunk) -> Future:
        return self._pool.submit(run_chunk, payload, chunk)

    def look(self) -> None:
        """A pool renews its processes by itself, and says in futures where it cannot."""

    def renew(self) -> bool:
        return False

    def close(self, at_once: bool) -> None:
        self._pool.shutdown(cancel_futures=at_once)


class GivenExecutor:
    """An executor that a user gives, or a function that makes one, which is called again when it has broken."""

    chunk_seconds, ahead = _LOCAL_CHUNK, 2
    _RENEWALS = 1000

    def __init__(self, executor: Any, workers: int | None):
        self._make: Callable[[], Any] | None = None if hasattr(executor, "submit") else executor
        self._executor = self._make() if self._make else executor
        if not callable(getattr(self._executor, "submit", None)):
            raise TypeError(f"executor: expected one as in concurrent.futures, got {self._executor!r}")
        self._renewals = 0
        self.workers = workers or getattr(self._executor, "_max_workers", None) or cores()

    def submit(self, payload: Payload, chunk: Chunk) -> Future:
        try:
            return self._executor.submit(run_chunk, payload, chunk)
        except RuntimeError as error:  # it has broken, or been shut down
            if not self.renew():
                raise EnsembleStopped(self._gone(error)) from None
            return self._executor.submit(run_chunk, payload, chunk)

    def look(self) -> None:
        """Whether it still works shows when it is given a chunk."""

    def renew(self) -> bool:
        self._renewals += 1
        if self._make is None or self._renewals > self._RENEWALS:
            return False
        self._executor.shutdown(wait=False)
        self._executor = self._make()
        return True

    def close(self, at_once: bool) -> None:
        if self._make is not None:
            self._executor.shutdown(wait=not at_once, cancel_futures=at_once)

    @staticmethod
    def _gone(error: BaseException) -> str:
        return (
            f"the executor takes no more members ({error}): give executor a function that makes one, which is "
            "called again when a worker has broken it"
        )


class DaskCluster:
    """Workers of a scheduler of Dask, which may come and go."""

    chunk_seconds, ahead = _CLUSTER_CHUNK, _AHEAD

    def __init__(self, client: Any, owned: bool = False):
        self._client, self._owned = client, owned
        self._executor = client.get_executor(pure=False)
        self._scattered: tuple[str, Any] | None = None
        self._count, self._asked, self._seen = 0, -math.inf, clock.monotonic()

    @property
    def workers(self) -> int:
        now = clock.monotonic()
        if now - self._asked > _ASK_AGAIN:
            self._asked = now
            known = self._client.scheduler_info(n_workers=-1)["workers"].values()
            self._count = sum(worker["nthreads"] for worker in known)
            if self._count:
                self._seen = now
        return max(1, self._count)

    def submit(self, payload: Payload, chunk: Chunk) -> Future:
        sent: Any = payload
        if len(payload.task) > _SCATTERED:
            if self._scattered is None or self._scattered[0] != payload.digest:
                self._scattered = payload.digest, self._client.scatter(payload, broadcast=True, hash=False)
            sent = self._scattered[1]
        return self._executor.submit(run_chunk, sent, chunk)

    def look(self) -> None:
        if self._client.status not in ("running", "connecting"):
            raise EnsembleStopped(f"the client of Dask is {self._client.status}: its scheduler has gone")
        if self.workers and clock.monotonic() - self._seen > _WITHOUT_WORKERS:
            raise EnsembleStopped(
                f"the scheduler of Dask has had no worker for {_WITHOUT_WORKERS:g} s: start `dask worker`"
            )

    def renew(self) -> bool:
        self._scattered = None
        return True

    def close(self, at_once: bool) -> None:
        self._scattered = None
        if self._owned:
            self._client.close()


def channel_of(task: Task, executor: Any, workers: int | None, limits: Limits) -> Channel:
    """How an ensemble reaches the workers that a user names; TypeError or ValueError for what names none."""
    if workers is not None:
        workers = checks.whole("workers", workers, MOST_WORKERS)
    if executor is None:
        if workers == 0:
            if limits.are_any:
                raise ValueError(
                    "workers: expected at least 1 with member_timeout or member_memory, since a process of its own "
                    "has to be ended or limited, got 0"
                )
            return InThisProcess(task)
        return OwnPool(workers or cores(), limits)
    if isinstance(executor, str):
        return DaskCluster(dask_client(executor), owned=True)
    if callable(getattr(executor, "get_executor", None)):
        return DaskCluster(executor)
    if type(executor).__module__.partition(".")[0] == "distributed" and isinstance(executor, Executor):
        return DaskCluster(executor._client)  # type: ignore[attr-defined]
    return GivenExecutor(executor, workers)


def dask_client(address: str) -> Any:
    """A client of the scheduler at an address; ImportError or EnsembleStopped in one sentence if there is none."""
    try:
        from distributed import Client
    except ImportError:
        raise ImportError(
            'A scheduler of Dask needs its packages: pip install "carom[distributed]".'
        ) from None
    try:
        return Client(address, timeout=10, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        raise EnsembleStopped(f"no scheduler of Dask answers at {address} ({error})") from None


def pickled(task: Any) -> bytes:
    """A task as bytes, by cloudpickle where what it holds lies in a script or notebook and that is installed;
    TypeError in one sentence where it cannot travel."""
    buffer = _NoScript()
    try:
        return buffer.dumped(task)
    except Exception as error:
        problem = error
    try:
        import cloudpickle
    except ImportError:
        if isinstance(problem, _FromScript):
            return pickle.dumps(task)  # processes of this machine read the script again
        advice = 'give a function of a module, or pip install "carom[distributed]"'
    else:
        try:
            return cloudpickle.dumps(task)
        except Exception as error:
            problem, advice = (
                error,
                "give a function of a module that holds no open files, locks or generators",
            )
    raise TypeError(
        f"run, measure, members: expected what can be sent to other processes, but it cannot be pickled "
        f"({type(problem).__name__}: {problem}); {advice}"
    )


class _FromScript(Exception):
    """Something lies in the module that was started."""


class _NoScript(pickle.Pickler):
    """Pickles what other processes can import."""

    def __init__(self) -> None:
        self._bytes = io.BytesIO()
        super().__init__(self._bytes)

    def dumped(self, value: Any) -> bytes:
        self.dump(value)
        return self._bytes.getvalue()

    def reducer_override(self, value: Any) -> Any:
        if getattr(value, "__module__", None) == "__main__" and isinstance(value, type | type(pickled)):
            raise _FromScript(f"{value.__qualname__} lies in {sys.argv[0] or 'a notebook'}")
        return NotImplemented
