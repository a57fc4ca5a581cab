"""Many runs at once, on all cores or on a cluster, and what has become of each."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...bodies import checks
from ...progress import ProgressBar
from ..record.trajectory import Trajectory
from .channels import Channel, channel_of, pickled
from .chunk import Payload, Rows
from .columns import NOT_RUN, ColumnTable
from .dispatch import Dispatch, Progress
from .errors import EnsembleInterrupted, EnsembleStopped
from .limits import Limits
from .members import Columns, Members, members_of
from .one_member import Task, recording_path
from .outcome_columns import GOOD
from .perturbation import Perturbation
from .statistics import (
    Sensitivity,
    Statistics,
    VarianceShares,
    sobol_indices,
    variance_shares,
)
from .store import Identity, Store, check_path, read_store

if TYPE_CHECKING:
    import pandas

_SEEDS = 2**63 - 1
_SHOWN = 50  # trajectories at once, unless more are asked for


class Ensemble:
    """The members of an ensemble as rows, a column for each thing that is known of them.

    status : (n,) how each ended: the value of a `RunStatus`, or ``finished`` where `run` returned no trajectory,
        ``raised``, ``out_of_memory``, ``timed_out``, ``worker_lost``, ``not_run``
    messages : by index, for those that say more
    computing_time : (n,) [s] without compilation; the one column that is another every time
    columns : by name, (n, ...), NaN where a member has no value. Of trajectories: ``end_time``, ``rest_time`` [s],
        ``position`` (n, bodies, 3) [m] and ``orientation`` (n, bodies, 4) at the end, ``energy_lost`` [J],
        ``impacts``; and what `measure` returned. ``ensemble["impacts"]`` is one of them, or a parameter
    parameters : by name, (n, ...): what members were given, where that is numbers
    """

    def __init__(
        self,
        table: ColumnTable,
        parameters: Columns,
        identity: Identity,
        members: Members | None = None,
        task: Task | None = None,
    ):
        self._table, self._identity, self._members, self._task = table, identity, members, task
        self.parameters = parameters
        self.status = table.status
        self.messages = table.messages
        self.computing_time = table.seconds

    def __len__(self) -> int:
        return len(self._table)

    def __getitem__(self, name: str) -> np.ndarray:
        known = self.columns
        if name in known:
            return known[name]
        if name in self.parameters:
            return self.parameters[name]
        raise KeyError(f"no column {name!r}; there are {', '.join((*known, *self.parameters)) or 'none'}")

    def __repr__(self) -> str:
        good = int(self.good.sum())
        return f"Ensemble({len(self)} members, {good} ended well, columns {', '.join(self.columns)})"

    @property
    def columns(self) -> Columns:
        """Columns by name, sorted."""
        return self._table.ordered

    @property
    def good(self) -> np.ndarray:
        """(n,) whether each member came to its end."""
        return np.isin(self.status, GOOD)

    @property
    def failures(self) -> list[tuple[int, str, str]]:
        """Index, status and message of every member that did not."""
        return [
            (index, str(self.status[index]), self.messages.get(index, ""))
            for index in np.flatnonzero(~self.good).tolist()
        ]

    def rerun(self, index: int, record: "str | os.PathLike | None" = None) -> Any:
        """Run one member again, here, and return what `run` returns, such as its trajectory for the viewer.

        It is the same, bit for bit; a member that raised raises, and one that never ended does not end here either.

        record : path of a recording to write
        """
        number = checks.whole("index", index, len(self) - 1)
        if self._task is None or self._members is None:
            raise ValueError(
                "rerun: this ensemble was read from a file, which holds no functions; "
                "carom.ensemble(run, members, store=..., resume=True) knows them and runs nothing twice"
            )
        result = self._task.result(number, self._members.given(number))
        if record is not None:
            if not isinstance(result, Trajectory):
                raise TypeError(
                    f"record: expected that run returns a Trajectory, got {type(result).__name__}"
                )
            result.save(record)
        return result

    def trajectories(self, indices: Sequence[int] | None = None) -> list[Trajectory]:
        """Trajectories of these members, or of the first 50 that ended well, for `carom.view` and `carom.render`:
        from their recordings where these were written, else run again."""
        if indices is None:
            indices = np.flatnonzero(self.good)[:_SHOWN].tolist()
        folder = self._task.recordings if self._task else None
        found = []
        for index in indices:
            path = None if folder is None else recording_path(folder, index)
            known = path is not None and path.is_file()
            found.append(Trajectory.load(path) if known and path is not None else self.rerun(index))
        return found

    def statistics(self, name: str, *component: int) -> Statistics:
        """Of a column, or of a component such as ``("position", body, 0)``, over members that ended well."""
        return Statistics(self._values(name, component)[self.good])

    def sensitivity(self, name: str, *component: int, confidence: float = 0.95) -> Sensitivity:
        """Sobol's indices of a column, whose members `sobol_design` made; ValueError where they are others, or a
        member has no value."""
        return sobol_indices(self._values(name, component), list(self.parameters), confidence)

    def variance_shares(self, name: str, *component: int, confidence: float = 0.95) -> VarianceShares:
        """How much of a column's variance comes from the start, and how much from what impacts leave undecided,
        where members are ``perturbed(scene, outcomes=k)`` with k > 1."""
        if "start" not in self.parameters:
            raise ValueError(
                "members: expected carom.perturbed(scene, outcomes=...), whose starts are known, got others"
            )
        good = self.good
        return variance_shares(
            self._values(name, component)[good], self.parameters["start"][good], confidence
        )

    def to_pandas(self) -> "pandas.DataFrame":
        """A DataFrame with a row a member; components of a column are columns named like ``position[1,0]``.

        ImportError in one sentence where pandas is not installed.
        """
        try:
            import pandas
        except ImportError:
            raise ImportError("to_pandas needs pandas: pip install pandas") from None
        known: dict[str, Any] = {
            "status": self.status,
            "message": [self.messages.get(index, "") for index in range(len(self))],
            "computing_time": self.computing_time,
        }
        for name, column in {**self.parameters, **self.columns}.items():
            if column.ndim == 1:
                known[name] = column
            for place in np.ndindex(column.shape[1:]) if column.ndim > 1 else ():
                component: Any = (slice(None), *place)
                known[f"{name}[{','.join(map(str, place))}]"] = column[component]
        return pandas.DataFrame(known)

    def save(self, path: "str | os.PathLike") -> Path:
        """Write one HDF5 file, as `store` does; OSError where that is impossible."""
        target = Path(path)
        check_path(target, resume=True)
        Store(target, self._identity, self.parameters, self._table).close()
        return target

    @classmethod
    def load(cls, path: "str | os.PathLike") -> "Ensemble":
        """Read a file that `save` or `store` wrote, also one whose writer was killed or is at work.

        Raises FileFormatError with one sentence for anything else.
        """
        identity, parameters, table = read_store(Path(path))
        return cls(table, parameters, identity)

    def _values(self, name: str, component: tuple[int, ...]) -> np.ndarray:
        column = self[name]
        place: Any = (slice(None), *component)
        try:
            return column[place]
        except IndexError:
            raise ValueError(
                f"component: expected an index into shape {column.shape[1:]} of {name!r}, got {component}"
            ) from None


def ensemble(
    run: Callable[..., Any],
    members: Any,
    *,
    executor: Any = None,
    workers: int | None = None,
    seed: int = 0,
    measure: Callable[[Any], Any] | None = None,
    store: "str | os.PathLike | None" = None,
    resume: bool = False,
    recordings: "str | os.PathLike | None" = None,
    member_timeout: float | None = None,
    member_memory: float | None = None,
    chunk: int | None = None,
    progress: bool = True,
) -> Ensemble:
    """Run many members, in parallel, and return what became of them as columns.

    Member k is ``run(member, rng)``, where rng is ``default_rng(SeedSequence(seed).spawn(n)[k])``: rows do not
    depend on workers, their number, or the order in which they end. What a member raises, that it takes too long,
    or that its process ends, is in its row; the others go on.

    run : a function that can be imported, (member, generator) -> Trajectory, or numbers as `measure` returns them
    members : a number, whose members are indices; a list, whose members are its items; a dict of arrays of equal
        length (see `grid`, `design`, `sobol_design`), whose members are dicts of a row; or `perturbed`, whose
        members are scenes
    executor : None for processes of this machine; a client of Dask, its executor, or the address of its scheduler;
        any executor as in concurrent.futures; or a function that makes one, which is called again where a worker
        has broken it
    workers : processes, by default as many as cores; 0 runs members one after the other in this process
    measure : what `run` returned -> a number, an array or a dict of them
    store : HDF5 file written as rows come in; with `resume` an existing one is gone on with, and members that have
        a row are not run again
    recordings : folder for the trajectory of every member, on a file system that workers share
    member_timeout : [s] after which a member's process is ended, also in the midst of a compiled call
    member_memory : [bytes] that a member may take beyond what its process has (Linux)
    chunk : members sent at a time; by default as many as take half a second
    progress : whether to show a bar, on a terminal, when it takes more than two seconds

    Raises TypeError or ValueError that names the field for bad arguments; `EnsembleStopped` where no worker can run
    members any more, `EnsembleInterrupted` at Ctrl-C, both with the ensemble as far as it is there.

    >>> import carom
    >>> def run(member, rng):
    ...     return {"square": member["x"] ** 2, "noise": rng.normal()}
    >>> found = carom.ensemble(run, {"x": [1.0, 2.0, 3.0]}, workers=0)
    >>> found["square"].tolist()
    [1.0, 4.0, 9.0]
    """
    if not callable(run):
        raise TypeError(f"run: expected a function (member, rng), got {run!r}")
    if measure is not None and not callable(measure):
        raise TypeError(f"measure: expected a function of what run returns, got {measure!r}")
    limits = Limits.checked(member_timeout, member_memory)
    if chunk is not None and checks.whole("chunk", chunk, 2**31) < 1:
        raise ValueError(f"chunk: expected at least 1, got {chunk}")
    known = members_of(members)
    task = Task(run, measure, known.maker(), checks.whole("seed", seed, _SEEDS), _folder(recordings))
    made, writer = _begun(task, known, store, resume)
    missing = np.flatnonzero(made.status == NOT_RUN).tolist()
    try:
        if missing:
            here = executor is None and workers == 0
            payload = Payload.of(b"" if here else pickled(task), limits)
            channel = channel_of(task, executor, workers, limits)
            _run(made, payload, missing, channel, chunk, writer, progress)
    except KeyboardInterrupt:
        raise _with(EnsembleInterrupted("interrupted"), made) from None
    except EnsembleStopped as error:
        raise _with(error, made) from None
    finally:
        if writer:
            writer.close()
    return made


def _with(error: Any, made: Ensemble) -> Any:
    done = int(np.count_nonzero(made.status != NOT_RUN))
    error.args = (f"{error}; {done} of {len(made)} members have a row",)
    error.ensemble = made
    return error


def _folder(recordings: "str | os.PathLike | None") -> str | None:
    if recordings is None:
        return None
    path = Path(recordings)
    path.mkdir(parents=True, exist_ok=True)
    return str(path.resolve())


def _begun(
    task: Task, members: Members, store: "str | os.PathLike | None", resume: bool
) -> tuple[Ensemble, Store | None]:
    """The ensemble as far as its store has it, and what writes there."""
    parameters = members.parameters(task.seed)
    identity = _identity(task, members)
    table = ColumnTable(len(members))
    if store is None:
        if resume:
            raise ValueError("resume: expected together with store, got it without")
        return Ensemble(table, parameters, identity, members, task), None
    path = Path(store)
    check_path(path, resume)
    if path.exists():
        known, kept, table = read_store(path, identity)
        for name, column in kept.items():
            mine = parameters.get(name)
            if mine is None or not np.array_equal(mine[: known.count], column[: known.count], equal_nan=True):
                raise ValueError(f"members: expected the parameters {name!r} with which {path} was begun")
    return Ensemble(table, parameters, identity, members, task), Store(path, identity, parameters, table)


def _identity(task: Task, members: Members) -> Identity:
    what, growing = type(members).__name__.lower(), True
    if isinstance(members, Perturbation):
        what = members.described()
        growing = members.outcomes == 1
    run = getattr(task.run, "label", getattr(task.run, "__qualname__", type(task.run).__name__))
    return Identity(run, task.seed, len(members), what, growing)


def _run(
    made: Ensemble,
    payload: Payload,
    missing: list[int],
    channel: Channel,
    chunk: int | None,
    writer: Store | None,
    progress: bool,
) -> None:
    """Bring the missing rows in."""
    table = made._table

    def take(rows: Rows) -> None:
        table.put(rows.index, rows.status, rows.message, rows.seconds, rows.columns)
        if writer:
            writer.append(rows)

    assert made._members is not None
    bar = ProgressBar(0.0, len(made), "members") if progress else None
    shown = Progress(bar, table.status, GOOD, len(made) - len(missing))
    whole = False
    try:
        Dispatch(channel, payload, made._members, take, chunk).run(missing, shown.show)
        whole = True
    finally:
        if bar:
            bar.close()
        channel.close(at_once=not whole)
