"""Whether a recorded run comes out the same when it is made again."""

import math
import os
from dataclasses import dataclass

import numpy as np

from ..bodies.files import file_path
from ..progress import ProgressBar
from .branches import BranchedRun
from .endings import can_go_on
from .ensembles.members import member_generator
from .event import EventKind
from .notes import STATE_SET, noted_drive
from .record.trajectory import RunStatus, Trajectory
from .recordings import load_run
from .replay import Later, Replay, ReplayError, started_again
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
    the recording tells. Of a branched run every member is made again, once for members that never part.

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
        raise ValueError(
            f"recording: its members parted with a tolerance of {run.tolerance:g}, so they equal runs made again "
            "only so closely"
        )
    done = 0
    for member in dict(zip(run.leaves[::-1], range(len(run))[::-1], strict=True)).values():
        later = run.first_event, member_generator(run.seed, member)
        events, difference = _again(run.trajectories[member], later, progress)
        done += events
        if difference is not None:
            words = f"member {member}: {difference}"
            each = (difference.event, difference.what, difference.recorded, difference.found)
            return Verification(done, run.trajectories[0].event_hash, ReplayError(words, *each))
    return Verification(done, run.trajectories[0].event_hash, None)


def _again(recording: Trajectory, later: Later | None, progress: bool) -> tuple[int, ReplayError | None]:
    """Make one run again; how many events are equal, and what differs."""
    _refuse_functions(recording)
    count = len(recording.events)
    limit = count if recording.status is RunStatus.EVENT_LIMIT else _EVENT_LIMIT
    simulator = started_again(recording, None, {"event_limit": limit})
    replay = Replay(simulator._run, recording, later)
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
    run, status = replay.run, recording.status
    count = len(recording.events)
    if status in _FAILURES:
        _go_to_failure(replay, count)
    else:
        replay.go(recording.end_time)
    if len(run.trajectory.events) > count:
        event = run.trajectory.events[count]
        raise ReplayError(
            f"after the {count} recorded events comes another, {event!r}",
            count,
            "presence",
            "none",
            repr(event),
        )
    found = run.trajectory.status
    if (found in _FAILURES or status in _FAILURES) and found is not status:
        raise ReplayError(
            f"the run does not end as recorded: it ended as {status.value}, and now as {found.value}",
            None, "end", status.value, found.value,
        )  # fmt: skip
    if status not in _FAILURES:
        end = np.array([recording.end_time])
        one, other = (made._packed(end, "right")[0] for made in (recording, run.trajectory))
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
