"""Whether a recorded run comes out the same when it is made again."""

import math
import os
from dataclasses import dataclass

import numpy as np

from ..bodies.files import file_path
from ..progress import ProgressBar
from .branches import BranchedRun, BranchNode
from .endings import can_go_on
from .ensembles.members import member_generator
from .event import EventKind
from .notes import STATE_SET, noted_drive
from .record.trajectory import RunStatus, Trajectory
from .recordings import load_run
from .replay import Later, Replay, ReplayError, difference_of, started_again
from .state import Array

_EVENT_LIMIT = 2**63 - 1
_EVENTS_AT_ONCE = 16
_TURNS_TO_FAIL, _TURNS_AT_ONCE = 200_000, 1000
"""Of the loop, in which a run that failed has to fail again after its last event."""
_FAILURES = (RunStatus.NO_PROGRESS, RunStatus.LAW_FAILED, RunStatus.CONTACT_FAILED, RunStatus.EVENT_LIMIT)


@dataclass(frozen=True)
class Verification:
    """What `verify` found.

    events : how many were made again and are equal to those recorded, bit for bit, in every number of them
    event_hash : of the recording, see `Trajectory.event_hash`; of a branched run, that of its first member
    difference : None where all are equal and the run ends in the same state; else what differs first
    """

    events: int
    event_hash: str
    difference: ReplayError | None

    @property
    def equal(self) -> bool:
        """Whether nothing differs."""
        return self.difference is None


def verify(
    recording: "Trajectory | BranchedRun | str | os.PathLike", *, progress: bool = False
) -> Verification:
    """Make a recorded run again from its scene, law, seed and integrator, and compare it with the recording.

    Every event is compared, bit for bit, in all that `Trajectory.event_hash` covers, and at last how the run ends:
    the time and state of all bodies, or the failure. States and drives that were set on the way are set again, as
    the recording tells. Of a branched run every member is made again, once for members that never part; where they
    parted with a tolerance, the tree is grown again as a whole.

    recording : a trajectory or branched run, or the path of the file of one
    progress : show a bar on a terminal when it takes long

    Raises FileFormatError for a file that is no recording, and ValueError for a run that depends on what a
    recording does not hold, by its name: functions for forces or events, laws of a user.

    >>> import carom
    >>> scene = carom.Scene()
    >>> floor = scene.add(carom.Body(carom.HalfSpace((0, 0, 1)), fixed=True))
    >>> ball = scene.add(carom.Body(carom.Sphere(0.1), density=1000.0, position=(0, 0, 1)))
    >>> found = carom.verify(carom.Simulator(scene, carom.AnitescuPotra()).run(1.0))
    >>> found.equal, found.events
    (True, 1)
    """
    if not isinstance(recording, Trajectory | BranchedRun):
        recording = load_run(file_path("recording", recording))
    if isinstance(recording, BranchedRun):
        return _verify_tree(recording, progress)
    done, difference = _again(recording, None, progress)
    return Verification(done, recording.event_hash, difference)


def _verify_tree(run: BranchedRun, progress: bool) -> Verification:
    """One member of every leaf, with the generator that it drew from."""
    if run.tolerance:
        return _verify_whole_tree(run, progress)
    done = 0
    for member in dict(zip(run.leaves[::-1], range(len(run))[::-1], strict=True)).values():
        later = run.first_event, member_generator(run.seed, member)
        events, difference = _again(run.trajectories[member], later, progress)
        done += events
        if difference is not None:
            return Verification(done, run.trajectories[0].event_hash, _said(f"member {member}", difference))
    return Verification(done, run.trajectories[0].event_hash, None)


def _verify_whole_tree(run: BranchedRun, progress: bool) -> Verification:
    """All members at once: an outcome within the tolerance is that of the lowest member, whose run it was not."""
    for node in run.ends:
        _refuse_functions(node.trajectory)
    first = run.nodes[0]
    limits = [
        len(end.trajectory.events) for end in run.ends if end.trajectory.status is RunStatus.EVENT_LIMIT
    ]
    simulator = started_again(first.trajectory, None, {"event_limit": max(limits, default=_EVENT_LIMIT)})
    past = Replay(simulator._by_events("recording"), first.trajectory)
    event_hash = run.trajectories[0].event_hash
    try:
        past.until(run.first_event - 1)
        past.go(first.start_time)
        made = simulator.branches(
            len(run), run.seed, _asked_time(run), tolerance=run.tolerance, progress=progress,
            stop_at_rest=any(_stopped_at_rest(end.trajectory) for end in run.ends),
        )  # fmt: skip
    except ReplayError as difference:
        return Verification(past.done, event_hash, difference)
    done = past.done
    for index, recorded in enumerate(run.nodes):
        equal, differing = _node_again(recorded, made.nodes[index] if index < len(made.nodes) else None)
        done += equal
        if differing is not None:
            return Verification(done, event_hash, _said(f"branch {index}", differing))
    return Verification(done, event_hash, None)


def _asked_time(run: BranchedRun) -> float:
    """Up to when all members were to go [s]; ReplayError where the recording does not say one time."""
    asked = {end.trajectory.asked_time for end in run.ends}
    time = asked.pop()
    if asked or time is None:
        raise ReplayError("its members do not say up to what time all of them were to go", None, "end")
    return time


def _stopped_at_rest(end: Trajectory) -> bool:
    return end.status is RunStatus.AT_REST and end.asked_time is not None and end.end_time < end.asked_time


def _node_again(recorded: BranchNode, found: BranchNode | None) -> tuple[int, ReplayError | None]:
    """Compare a branch with the one that is grown again: how many of its events are equal, and what differs."""
    if found is None:
        return 0, ReplayError("it is not grown again", None, "presence", repr(recorded.members), "none")
    was, now = recorded.trajectory, found.trajectory
    begin, count = recorded.first_event, len(was.events)
    for number in range(begin, min(count, len(now.events))):
        if difference := difference_of(was, now, number):
            return number - begin, difference
    if len(now.events) < count:
        return len(now.events) - begin, ReplayError(
            f"event {len(now.events)} of the recording is not repeated", len(now.events), "presence"
        )
    for what in ("parent", "members", "first_event", "start_time"):
        one, other = getattr(recorded, what), getattr(found, what)
        if one != other:
            words = f"its {what.replace('_', ' ')} differs, recorded {one}, now {other}"
            return count - begin, ReplayError(words[:300], None, what, str(one), str(other))
    try:
        _compare_made(now, was)
    except ReplayError as difference:
        return count - begin, difference
    return count - begin, None


def _said(where: str, difference: ReplayError) -> ReplayError:
    """The same difference, and in which part of a tree it is."""
    each = (difference.event, difference.what, difference.recorded, difference.found)
    return ReplayError(f"{where}: {difference}", *each)


def _again(recording: Trajectory, later: Later | None, progress: bool) -> tuple[int, ReplayError | None]:
    """Make one run again; how many events are equal, and what differs."""
    _refuse_functions(recording)
    count = len(recording.events)
    limit = count if recording.status is RunStatus.EVENT_LIMIT else _EVENT_LIMIT
    simulator = started_again(recording, None, {"event_limit": limit})
    replay = Replay(simulator._by_events("recording"), recording, later)
    bar = ProgressBar(0, count, "verifying") if progress else None
    try:
        for last in range(0, count, _EVENTS_AT_ONCE):
            replay.until(min(last + _EVENTS_AT_ONCE, count) - 1)
            if bar:
                bar.show(replay.done, f"{replay.done} events equal")
        replay.until(-1)
        _compare_ends(replay, recording)
    except ReplayError as difference:
        return replay.done, difference
    finally:
        if bar:
            bar.close()
    return replay.done, None


def _refuse_functions(recording: Trajectory) -> None:
    """ValueError, by its name, for a function of the user's that found events: when, only it knows."""
    user = recording.event_kinds == EventKind.USER
    for number in user.nonzero()[0].tolist():
        note = recording.events[number].note
        if note != STATE_SET and noted_drive(note) is None:
            raise ValueError(
                f"recording: its event {number} was found by the function {note!r}, which a recording does not hold"
            )


def _compare_ends(replay: Replay, recording: Trajectory) -> None:
    """ReplayError where a run that was made again up to its last event does not end as recorded."""
    if recording.status in _FAILURES:
        _go_to_failure(replay, len(recording.events))
    else:
        replay.go(recording.end_time)
    _compare_made(replay.run.trajectory, recording)


def _compare_made(made: Trajectory, recording: Trajectory) -> None:
    """ReplayError where a run whose events are made again has more of them, or ends otherwise than recorded."""
    count, status, found = len(recording.events), recording.status, made.status
    if len(made.events) > count:
        event = made.events[count]
        raise ReplayError(
            f"after the {count} recorded events comes another, {event!r}",
            count,
            "presence",
            "none",
            repr(event),
        )
    if (found in _FAILURES or status in _FAILURES) and found is not status:
        raise ReplayError(
            f"the run does not end as recorded: it ended as {status.value}, and now as {found.value}",
            None, "end", status.value, found.value,
        )  # fmt: skip
    if status not in _FAILURES:
        end = np.array([recording.end_time])
        one, other = (each._packed(end, "right")[0] for each in (recording, made))
        _compare_states(one, other, recording)


def _go_to_failure(replay: Replay, count: int) -> None:
    """Go on until the simulator fails, or has another event than the first so many."""
    run, turns = replay.run, 0
    while can_go_on(run.trajectory) and len(run.trajectory.events) == count and turns < _TURNS_TO_FAIL:
        if run.advance(math.inf, turns=_TURNS_AT_ONCE, one_event=True):
            break
        turns += _TURNS_AT_ONCE


def _compare_states(one: Array, other: Array, recording: Trajectory) -> None:
    for body, (was, now) in enumerate(zip(one, other, strict=True)):
        if was.tobytes() != now.tobytes():
            name = recording.scene.bodies[body].name
            raise ReplayError(
                f"the run does not end as recorded: body {name!r} differs at t = {recording.end_time!r} s",
                None, f"state of {name!r}", str(was.tolist()), str(now.tolist()),
            )  # fmt: skip
