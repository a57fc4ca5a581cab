"""One run with different outcomes at undecided impacts: a tree whose branches share their common past."""

import os
import pickle
from collections import deque
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from ..bodies import checks
from ..impact_laws import ImpactLaw, ImpactOutcome, ImpactProblem
from ..progress import ProgressBar
from .ensembles.channels import MOST_WORKERS
from .ensembles.errors import WorkerLost
from .ensembles.members import member_generator
from .ensembles.process_pool import ProcessPool
from .event import Event
from .laws import resolved
from .record.trajectory import RunStatus, Trajectory
from .run_in_progress import RunInProgress
from .simulator import Simulator

_MOST_MEMBERS = 1_000_000
Generators = Mapping[int, np.random.Generator]


@dataclass(frozen=True, eq=False)
class BranchNode:
    """A stretch of time over which some members have one motion.

    parent : index of the node that this one continues, None for the first
    members : indices of the members whose run this is
    trajectory : their run from its start to the end of this node, whose rows are shared with other nodes
    first_event : index in it of the first event of this node: where members parted, the impact that parts them
    start_time : [s] when the members parted from others
    """

    parent: int | None
    members: tuple[int, ...]
    trajectory: Trajectory
    first_event: int
    start_time: float

    @property
    def events(self) -> Sequence[Event]:
        """The events of this node alone."""
        return self.trajectory.events[self.first_event :]

    @property
    def ends(self) -> bool:
        """Whether the runs of the members end here, rather than part."""
        return self.trajectory.status is not RunStatus.UNFINISHED

    @property
    def end_time(self) -> float:
        """When the members part, or their run ends [s]."""
        return self.trajectory.end_time


class BranchedRun:
    """What `Simulator.branches` leaves: n runs as a tree.

    nodes : in an order in which every node comes after its parent
    seed : member i drew from ``default_rng(SeedSequence(seed).spawn(n)[i])``
    first_event : index of the first event after branching began; those before are common to all
    tolerance : up to which outcomes counted as one
    """

    def __init__(self, nodes: Sequence[BranchNode], seed: int, first_event: int, tolerance: float = 0.0):
        self.nodes = tuple(nodes)
        self.seed = seed
        self.first_event = first_event
        self.tolerance = tolerance

    def __len__(self) -> int:
        """Number of members."""
        return len(self.nodes[0].members)

    @cached_property
    def leaves(self) -> tuple[int, ...]:
        """Of every member, the index of the node in which its run ends."""
        last = [0] * len(self)
        for index, node in enumerate(self.nodes):
            for member in node.members:
                last[member] = index
        return tuple(last)

    @property
    def ends(self) -> tuple[BranchNode, ...]:
        """The nodes in which runs end, each once: the different outcomes, with the members that have them."""
        return tuple(node for node in self.nodes if node.ends)

    def __repr__(self) -> str:
        tree = f"{len(self.nodes)} branches, {len(self.ends)} ends"
        return f"BranchedRun({len(self)} members, {tree}, seed {self.seed})"

    @property
    def trajectories(self) -> tuple[Trajectory, ...]:
        """The whole run of every member; members that never part have one trajectory."""
        return tuple(self.nodes[leaf].trajectory for leaf in self.leaves)

    def path(self, index: int) -> list[BranchNode]:
        """The nodes from the first to the one of this index."""
        found: list[BranchNode] = []
        at: int | None = index
        while at is not None:
            found.append(self.nodes[at])
            at = self.nodes[at].parent
        return found[::-1]

    def resume(
        self,
        member: int,
        event: int,
        law: ImpactLaw | None = None,
        *,
        record: Any = None,
        event_limit: int = 1_000_000,
    ) -> Simulator:
        """A simulator just after an event of a member's run, which goes on as that did: see `Simulator.resume`.

        ValueError for an event before the last one that all members have in common from before branching.
        """
        if not -len(self) <= member < len(self):
            raise ValueError(f"member: expected an index of one of {len(self)} members, got {member}")
        from .replay import resume

        drawn = member_generator(self.seed, member % len(self))
        options = {"record": record, "event_limit": event_limit}
        return resume(self.trajectories[member], event, law, options, (self.first_event, drawn))

    def save(self, path: "str | os.PathLike") -> Path:
        """Write the tree as one HDF5 file, a group for each node, and return its path; OSError where impossible."""
        from .record.branched_recording import save

        return save(self, path)

    @classmethod
    def load(cls, path: "str | os.PathLike") -> "BranchedRun":
        """Read a tree; FileFormatError with one sentence for anything that is not one."""
        from .record.branched_recording import load

        return load(path)


def grow(
    run: RunInProgress,
    n: int,
    seed: int,
    until: float,
    tolerance: float,
    progress: bool,
    stop_at_rest: bool,
    where: tuple[Any, int] = (None, 0),
) -> BranchedRun:
    """See `Simulator.branches`."""
    for name, value, least in (("n", n, 1), ("seed", seed, 0)):
        if isinstance(value, bool) or not isinstance(value, int | np.integer):
            raise TypeError(f"{name}: expected an integer of at least {least}, got {value!r}")
        if value < least:
            raise ValueError(f"{name}: expected at least {least}, got {value}")
    if n > _MOST_MEMBERS:
        raise ValueError(f"n: expected at most {_MOST_MEMBERS} members, got {n}")
    until = run.until_checked(until)
    if not (isinstance(tolerance, int | float) and 0.0 <= tolerance < 1.0):
        raise ValueError(f"tolerance: expected a number of at least 0 and below 1, got {tolerance!r}")
    generators = {member: member_generator(int(seed), member) for member in range(int(n))}
    first_event = len(run.trajectory.events)
    nodes: list[BranchNode] = []
    grower = _grower(run, until, stop_at_rest, *where)
    first = _Branch(None, first_event, _Group(run, generators, tolerance))
    waiting = deque([(first, grower.begin(first.group))])
    bar = ProgressBar(0.0, n * (until - run.time), "branching") if progress else None
    done = 0.0
    try:
        while waiting:
            branch, growing = waiting.popleft()
            begin = branch.group.time
            children = branch.part(*grower.grown(branch.group, growing), len(nodes))
            waiting.extend([(child, grower.begin(child.group)) for child in children])
            nodes.append(branch.node())
            end = until if nodes[-1].ends else branch.group.time
            done += len(branch.members) * (end - begin)
            if bar:
                bar.show(done, f"{len(nodes)} branches")
    finally:
        if bar:
            bar.close()
        grower.close()
    return BranchedRun(nodes, int(seed), first_event, float(tolerance))


Ways = list[tuple[ImpactOutcome, list[int]]]
_ATTEMPTS = 3  # to grow a branch whose worker is lost


class _Parting(Exception):
    """Members of a group have different outcomes: each with the members that have it."""

    def __init__(self, ways: "list[tuple[ImpactOutcome, list[int]]]"):
        super().__init__()
        self.ways = ways


class _Group(RunInProgress):
    """One run for all members whose outcomes have been equal so far.

    answer : the outcome of the event about which its world asks, where that is known
    """

    def __init__(
        self,
        start: RunInProgress,
        generators: Generators,
        tolerance: float,
        known: ImpactOutcome | None = None,
    ):
        self.__dict__.update(start.copy().__dict__)  # which has been initialised
        self.generators, self.tolerance, self.known = generators, tolerance, known

    def resolve(self, problem: ImpactProblem) -> ImpactOutcome:
        if self.known is not None:
            outcome, self.known = self.known, None
            return outcome
        ways: list[tuple[ImpactOutcome, list[int]]] = []
        for member, generator in self.generators.items():
            before = generator.bit_generator.state
            outcome = resolved(self.law, problem, generator)
            if not ways and generator.bit_generator.state == before:
                return outcome  # nothing was drawn, so it is that of all
            alike = (members for known, members in ways if _alike(known, outcome, self.tolerance))
            if (members := next(alike, None)) is None:
                ways.append((outcome, members := []))
            members.append(member)
        if len(ways) > 1:
            raise _Parting(ways)
        return ways[0][0]


def _run(group: _Group, until: float, stop_at_rest: bool) -> "tuple[_Group, Ways]":
    """Run a group as far as all members agree; the outcomes in which they part there, if they do."""
    try:
        group.go_to(until, stop_at_rest, False, Simulator.of_run(group))
    except _Parting as parting:
        return group, parting.ways
    return group, []


class _Here:
    """Grows branches in this process, each when its turn comes."""

    def __init__(self, until: float, stop_at_rest: bool):
        self._how = until, stop_at_rest

    def begin(self, group: _Group) -> Any:
        """Nothing yet."""

    def grown(self, group: _Group, growing: Any) -> "tuple[_Group, Ways]":
        """The group after its run, and how its members part."""
        return _run(group, *self._how)

    def close(self) -> None:
        """Nothing was taken."""


class _Elsewhere:
    """Grows branches on an executor, all that are known at the same time."""

    def __init__(self, executor: Executor, owned: bool, until: float, stop_at_rest: bool):
        self._executor, self._owned, self._how = executor, owned, (until, stop_at_rest)

    def begin(self, group: _Group) -> Any:
        """Let it grow; TypeError where the group cannot be sent."""
        try:
            return self._executor.submit(_run, group, *self._how)
        except (AttributeError, pickle.PicklingError, TypeError) as error:
            raise TypeError(
                f"executor, workers: expected a law and event functions that can be pickled ({error})"
            ) from None

    def grown(self, group: _Group, growing: Any) -> "tuple[_Group, Ways]":
        """The group after its run, and how its members part; what it had before is shared with what it was."""
        for attempt in range(_ATTEMPTS):
            try:
                came, ways = growing.result()
                break
            except WorkerLost:
                if attempt == _ATTEMPTS - 1:
                    raise
                growing = self.begin(group)
        came.model = came.world.model = came.trajectory.model = group.model
        came.trajectory.scene = group.trajectory.scene
        came.trajectory.log = came.trajectory.log.after(group.trajectory.log)
        return came, ways

    def close(self) -> None:
        """Give processes back."""
        if self._owned:
            self._executor.shutdown(wait=False, cancel_futures=True)


def _grower(
    run: RunInProgress, until: float, stop_at_rest: bool, executor: Any, workers: int
) -> _Here | _Elsewhere:
    """What grows branches where a user wants them to grow."""
    workers = checks.whole("workers", workers, MOST_WORKERS)
    if executor is None and workers == 0:
        return _Here(until, stop_at_rest)
    if run.callbacks:
        raise ValueError(
            "executor, workers: expected a simulator without callbacks, which would be called elsewhere"
        )
    if executor is None:
        return _Elsewhere(ProcessPool(workers), True, until, stop_at_rest)
    if callable(getattr(executor, "get_executor", None)):
        executor = executor.get_executor(pure=False)
    if not callable(getattr(executor, "submit", None)):
        raise TypeError(f"executor: expected one as in concurrent.futures, got {executor!r}")
    return _Elsewhere(executor, False, until, stop_at_rest)


class _Branch:
    """A node while it grows: its parent, the number of its first event, and what runs."""

    def __init__(self, parent: int | None, first_event: int, group: _Group):
        self.parent, self.first_event, self.group = parent, first_event, group
        self.start_time = group.time
        self.members = tuple(group.generators)

    def part(self, group: _Group, ways: Ways, index: int) -> "list[_Branch]":
        """Take over the group as it has run; the branches, of this as node `index`, that go on from there."""
        self.group = group
        generators, first = group.generators, len(group.trajectory.events)
        return [
            _Branch(
                index,
                first,
                _Group(group, {member: generators[member] for member in members}, group.tolerance, outcome),
            )
            for outcome, members in ways
        ]

    def node(self) -> BranchNode:
        """What it has become."""
        return BranchNode(self.parent, self.members, self.group.trajectory, self.first_event, self.start_time)


def _alike(first: ImpactOutcome, second: ImpactOutcome, tolerance: float) -> bool:
    """Whether outcomes count as one: with their paths bit for bit, or within the tolerance."""
    if first.status is not second.status:
        return False
    if tolerance == 0.0:
        paths = first.path, second.path
        return paths[0].labels == paths[1].labels and paths[0].impulse.tobytes() == paths[1].impulse.tobytes()
    apart, largest = np.abs(first.impulse - second.impulse).max(), np.abs(first.impulse).max()
    return bool(apart <= tolerance * largest)
