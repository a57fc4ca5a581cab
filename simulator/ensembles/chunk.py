"""What a worker does: some members one after the other, whose rows it sends back as arrays."""

import hashlib
import pickle
import platform
import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any

import numpy as np

from .columns import join_shapes
from .errors import WorkerUnfit
from .limits import Limits
from .one_member import Row, Task
from .process_pool import ProcessPool, in_a_pool

_KEPT_TASKS = 4
Chunk = Sequence[tuple[int, Any]]
"""Members: of each its index, and what tells it from others."""

_tasks: OrderedDict[str, Task] = OrderedDict()
_turn = threading.Lock()
_own = threading.local()


@dataclass(frozen=True)
class Payload:
    """A task as it travels, with what the sender runs on."""

    task: bytes
    digest: str
    versions: dict[str, str]
    limits: Limits = field(default_factory=Limits)

    @classmethod
    def of(cls, task: bytes, limits: Limits) -> "Payload":
        return cls(task, hashlib.sha256(task).hexdigest(), versions(), limits)


@dataclass(frozen=True)
class Rows:
    """Rows of some members.

    columns : by name (k, ...), NaN for what a member has no value for
    warm : whether the process had run members of this task before
    """

    index: np.ndarray
    status: list[str]
    message: list[str]
    seconds: np.ndarray
    columns: dict[str, np.ndarray]
    warm: bool = True

    @classmethod
    def of(cls, rows: Sequence[Row], warm: bool = True) -> "Rows":
        names = dict.fromkeys(name for row in rows for name in row.values)
        return cls(
            np.array([row.index for row in rows], dtype=np.int64),
            [row.status for row in rows],
            [row.message for row in rows],
            np.array([row.seconds for row in rows]),
            {name: _column(name, [row.values.get(name) for row in rows]) for name in names},
            warm,
        )


def run_chunk(payload: Payload, chunk: Chunk) -> Rows:
    """The rows of some members; WorkerUnfit where this process has other versions or cannot load what to run,
    MemberTimedOut or WorkerLost where a process of its own, which keeps to the limits, ended."""
    if payload.limits.are_any and not in_a_pool():
        return _pool_of_thread(payload.limits).submit(run_chunk, payload, chunk).result()
    warm = payload.digest in _tasks
    task = _task(payload)
    return Rows.of([task.row(index, given) for index, given in chunk], warm)


def versions() -> dict[str, str]:
    """What results depend on, bit for bit, and what is needed to understand each other."""
    from ... import __version__
    from ...compiled import kernel_stamp

    found = {"Python": ".".join(platform.python_version_tuple()[:2]), "carom": __version__}
    found |= {name: version(name) for name in ("numpy", "scipy", "numba", "llvmlite")}
    return found | {"carom's sources": kernel_stamp()[:12]}


def _task(payload: Payload) -> Task:
    """The task, made once for all chunks of it."""
    with _turn:
        if payload.digest not in _tasks:
            mine = versions()
            differing = [
                f"{name} {theirs} there and {mine.get(name)} here"
                for name, theirs in payload.versions.items()
                if mine.get(name) != theirs
            ]
            if differing:
                raise WorkerUnfit(
                    f"the worker on {platform.node()} has other versions than the client: {', '.join(differing)} "
                    "(there is the client); install the same on both"
                )
            try:
                _tasks[payload.digest] = pickle.loads(payload.task)
            except Exception as error:
                raise WorkerUnfit(
                    f"the worker on {platform.node()} cannot load what to run ({type(error).__name__}: {error}); "
                    "its module must be importable there"
                ) from None
        _tasks.move_to_end(payload.digest)
        while len(_tasks) > _KEPT_TASKS:
            _tasks.popitem(last=False)
        return _tasks[payload.digest]


def _pool_of_thread(limits: Limits) -> ProcessPool:
    """One process of this thread's own, in which members keep to the limits."""
    known = getattr(_own, "pool", None)
    if known is None or known.limits != limits:
        if known is not None:
            known.shutdown(wait=False, cancel_futures=True)
        _own.pool = known = ProcessPool(1, limits)
    return known


def _column(name: str, values: Sequence[np.ndarray | None]) -> np.ndarray:
    """Values one below the other; where they differ in length the rest is NaN, as where there is none."""
    shapes = [value.shape for value in values if value is not None]
    column = np.full((len(values), *join_shapes(name, shapes)), np.nan)
    for row, value in zip(column, values, strict=False) if column.ndim > 1 else ():
        if value is not None:
            row[tuple(map(slice, value.shape))] = value
    if column.ndim == 1:
        column[:] = [np.nan if value is None else value for value in values]
    return column
