"""One run with different outcomes at undecided impacts: a tree whose branches share their common past."""

import os
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from ..impact_laws import ImpactLaw, ImpactOutcome, ImpactProblem
from ..progress import ProgressBar
from .record.joined_trajectory import joined
from .record.trajectory import RunStatus, Trajectory
from .simulator import Simulator

Generators = Mapping[int, np.random.Generator]


@dataclass(frozen=True, eq=False)
class BranchNode:
    """A stretch of time over which some members have one motion.

    parent : index of the node that this one continues, None for the first
    members : indices of the members whose run this is
    """

    parent: int | None
    members: tuple[int, ...]
    segment: Trajectory
    """The pieces and events that begin in this node alone; the motion of bodies goes on from earlier nodes."""

    @property
    def start_time(self) -> float:
        """When the members parted from others [s]: at an impact with several outcomes, which comes first here."""
        return self.segment.start_time

    @property
    def ends(self) -> bool:
        """Whether the runs of the members end here, rather than part."""
        return self.segment.status is not RunStatus.UNFINISHED

    @property
    def end_time(self) -> float:
        """When the members part, or their run ends [s]."""
        return self.segment.end_time


class BranchedRun:
    """What `Simulator.branches` leaves: n runs as a tree.

    nodes : in an order in which every node comes after its parent
    seed : member i drew from ``default_rng(SeedSequence(seed).spawn(n)[i])``
    first_event : index of the first event after branching began; those before are common to all
    """

    def __init__(self, nodes: Sequence[BranchNode], seed: int, first_event: int):
        self.nodes = tuple(nodes)
        self.seed = seed
        self.first_event = first_event

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

    @cached_property
    def trajectories(self) -> tuple[Trajectory, ...]:
        """The whole run of every member.

        Pieces of motion are shared; members that never part have one trajectory.
        """
        whole = {leaf: joined([node.segment for node in self.path(leaf)]) for leaf in set(self.leaves)}
        return tuple(whole[leaf] for leaf in self.leaves)

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

        drawn = _generators(len(self), self.seed)[member]
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
    simulator: Simulator,
    n: int,
    seed: int,
    until: float,
    tolerance: float,
    progress: bool,
    stop_at_rest: bool,
) -> BranchedRun:
    """See `Simulator.branches`."""
    for name, value, least in (("n", n, 1), ("seed", seed, 0)):
        if isinstance(value, bool) or not isinstance(value, int | np.integer):
            raise TypeError(f"{name}: expected an integer of at least {least}, got {value!r}")
        if value < least:
            raise ValueError(f"{name}: expected at least {least}, got {value}")
    simulator.check_until(until)
    if not (isinstance(tolerance, int | float) and 0.0 <= tolerance < 1.0):
        raise ValueError(f"tolerance: expected a number of at least 0 and below 1, got {tolerance!r}")
    generators = _generators(int(n), int(seed))
    start = simulator.copy()
    nodes: list[BranchNode] = []
    waiting = deque([_Branch.first(start, dict(enumerate(generators)), tolerance)])
    bar = ProgressBar(0.0, n * (until - start.time), "branching") if progress else None
    done = 0.0
    try:
        while waiting:
            branch = waiting.popleft()
            begin = branch.group.time
            waiting.extend(branch.grow(until, stop_at_rest, len(nodes), start))
            nodes.append(branch.node())
            end = until if nodes[-1].ends else branch.group.time
            done += len(branch.members) * (end - begin)
            if bar:
                bar.show(done, f"{len(nodes)} branches")
    finally:
        if bar:
            bar.close()
    return BranchedRun(nodes, int(seed), len(start.trajectory.events))


def _generators(n: int, seed: int) -> list[np.random.Generator]:
    """Of every member."""
    return [np.random.default_rng(own) for own in np.random.SeedSequence(seed).spawn(n)]


class _Parting(Exception):
    """Members of a group have different outcomes.

    ways : each outcome with the members that have it
    settling : whether the group was in the midst of finding new motion
    """

    def __init__(self, ways: "list[tuple[ImpactOutcome, list[int]]]", settling: bool):
        super().__init__()
        self.ways, self.settling = ways, settling


class _Group(Simulator):
    """One simulator for all members whose outcomes have been equal so far.

    answers : outcomes that are known already; before the last of them the trajectory becomes `then`
    """

    def __init__(self, state: Simulator, past: Trajectory, generators: Generators, tolerance: float):
        self.__dict__.update(state._copied(past).__dict__)  # which has been initialised
        self.generators, self.tolerance = generators, tolerance
        self.answers: deque[ImpactOutcome] = deque()
        self.then = past

    def _resolve(self, problem: ImpactProblem, settling: bool = False) -> ImpactOutcome:
        if len(self.answers) == 1:
            self.trajectory = self.then
            self.then.works.pieces += self._running_work()
        if self.answers:
            return self.answers.popleft()
        ways: list[tuple[ImpactOutcome, list[int]]] = []
        for member, generator in self.generators.items():
            before = generator.bit_generator.state
            outcome = self.law.resolve(problem, generator)
            if not ways and generator.bit_generator.state == before:
                return outcome  # nothing was drawn, so it is that of all
            alike = (members for known, members in ways if _alike(known, outcome, self.tolerance))
            if (members := next(alike, None)) is None:
                ways.append((outcome, members := []))
            members.append(member)
        if len(ways) > 1:
            raise _Parting(ways, settling)
        return ways[0][0]


class _Branch:
    """A node while it grows.

    past : segments of the nodes before; own : that of this node
    """

    def __init__(self, parent: int | None, past: list[Trajectory], own: Trajectory, group: _Group):
        self.parent, self.past, self.own, self.group = parent, past, own, group
        self.members = tuple(group.generators)
        self.known, self.known_jumps = len(group.trajectory.events), len(group.trajectory.works.jumps)

    @classmethod
    def first(cls, start: Simulator, generators: Generators, tolerance: float) -> "_Branch":
        """All members."""
        whole = joined([start.trajectory, _empty_segment(start.trajectory)])
        return cls(None, [], whole, _Group(start, whole, generators, tolerance))

    def grow(self, until: float, stop_at_rest: bool, index: int, start: Simulator) -> "list[_Branch]":
        """Run as far as all members agree; the branches, of this as node `index`, that go on from there."""
        try:
            self.group.run(until, stop_at_rest=stop_at_rest)
        except _Parting as parting:
            self._finish()
            generators, self.group.generators = self.group.generators, {}  # which are not to be copied
            return [
                self._child(
                    index, outcome, {member: generators[member] for member in members}, parting, start
                )
                for outcome, members in parting.ways
            ]
        self._finish()
        return []

    def node(self) -> BranchNode:
        """What it has become."""
        return BranchNode(self.parent, self.members, self.own)

    def _finish(self) -> None:
        whole, own = self.group.trajectory, self.own
        if own is whole:
            return
        for event in whole.events[self.known :]:
            own.add_event(replace(event))
        own.works.pieces = [piece for piece in whole.works.pieces if piece.end > own.start_time]
        own.works.jumps = whole.works.jumps[self.known_jumps :]
        own.end_time, own.rest_time = whole.end_time, whole.rest_time
        own.status, own.message = whole.status, whole.message

    def _child(
        self, index: int, outcome: ImpactOutcome, generators: Generators, parting: _Parting, start: Simulator
    ) -> "_Branch":
        """Members with one outcome, just before the impact at which they part from the others.

        In the midst of finding new motion there is no such state to go on from: the group comes there again
        from the start, with the outcomes that are known.
        """
        group = self.group
        past, own = [*self.past, self.own], _empty_segment(group.trajectory)
        whole = joined([*past, own])
        if parting.settling:
            child = _Group(
                start,
                joined([start.trajectory, _empty_segment(start.trajectory)]),
                generators,
                group.tolerance,
            )
            earlier = group.trajectory.events[len(start.trajectory.events) :]
            child.answers.extend(event.outcome for event in earlier if event.outcome is not None)
        else:
            child = _Group(group, whole, generators, group.tolerance)
            child._stalled -= 1  # because the turn of the loop is made again
        child.answers.append(outcome)
        child.then = whole
        branch = _Branch(index, past, own, child)
        branch.known, branch.known_jumps = len(whole.events), len(whole.works.jumps)
        return branch


def _empty_segment(before: Trajectory) -> Trajectory:
    """What follows a trajectory, as yet nothing."""
    segment = Trajectory(before.scene, before.law_name, before.seed, before.model)
    segment.start_time = segment.end_time = before.end_time
    segment.law_description = before.law_description
    segment.remarks = list(before.remarks)
    return segment


def _alike(first: ImpactOutcome, second: ImpactOutcome, tolerance: float) -> bool:
    """Whether outcomes count as one: with their paths bit for bit, or within the tolerance."""
    if first.status is not second.status:
        return False
    if tolerance == 0.0:
        paths = first.path, second.path
        return paths[0].labels == paths[1].labels and paths[0].impulse.tobytes() == paths[1].impulse.tobytes()
    apart, largest = np.abs(first.impulse - second.impulse).max(), np.abs(first.impulse).max()
    return bool(apart <= tolerance * largest)
