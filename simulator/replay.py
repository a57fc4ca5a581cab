"""A recorded run made again up to one of its events, from where it goes on identically."""

import math
import os
from pathlib import Path
from typing import Any

import numpy as np

from ..bodies import Drive
from ..impact_laws import ImpactLaw
from .endings import can_go_on
from .event import Event, EventKind
from .notes import STATE_SET, noted_drive
from .record.event_bits import first_difference
from .record.law_description import described_law
from .record.trajectory import Trajectory
from .run_in_progress import RunInProgress
from .simulator import Simulator


class ReplayError(ValueError):
    """A recorded run is not repeated; the text says which event differs and how.

    event : index of the event that differs first, None where it is how the run ended
    what : in which respect, in a few words
    recorded, found : what it was, and what it is now, in words
    """

    def __init__(self, message: str, event: int | None, what: str, recorded: str = "", found: str = ""):
        super().__init__(message)
        self.event, self.what, self.recorded, self.found = event, what, recorded, found

    def __reduce__(self) -> tuple:
        return type(self), (str(self), self.event, self.what, self.recorded, self.found)


Later = tuple[int, np.random.Generator]
"""From the event of an index on, another generator."""


def resume(
    recording: "Trajectory | str | os.PathLike",
    event: int,
    law: ImpactLaw | None,
    options: dict[str, Any],
    later: Later | None = None,
) -> Simulator:
    """See `Simulator.resume`, and `BranchedRun.resume`, whose members draw otherwise `later`."""
    if not isinstance(recording, Trajectory):
        record = options["record"]
        if record is not None and Path(record).resolve() == Path(recording).resolve():
            raise ValueError(f"record: expected another file than the one that is read, got {str(record)!r}")
        recording = Trajectory.load(recording)
    recording.refuse_steps("recording")
    count = len(recording.events)
    if isinstance(event, bool) or not isinstance(event, int | np.integer):
        raise TypeError(f"event: expected the index of an event, got {event!r}")
    if not -count <= event < count:
        raise ValueError(f"event: expected an index of one of {count} events, got {event}")
    simulator = started_again(recording, law, options)
    last = int(event) % count
    if later is not None and last + 1 < later[0]:
        raise ValueError(f"event: expected at least {later[0] - 1}, since members part after it, got {last}")
    Replay(simulator._by_events("recording"), recording, later).until(last)
    return simulator


def started_again(recording: Trajectory, law: ImpactLaw | None, options: dict[str, Any]) -> Simulator:
    """A simulator at the start of a recorded run, from its scene, law, seed and integrator.

    ValueError for one by time steps, one whose law the recording does not describe, unless it is given,
    and one under force functions that the recording's scene has not.
    """
    recording.refuse_steps("recording")
    missing = recording.force_functions[len(recording.scene.force_functions) :]
    if missing:
        names = ", ".join(map(repr, missing))
        raise ValueError(f"recording: it was made under the force functions {names}, which it does not hold")
    found = _law_of(recording, law)
    return Simulator(recording.scene, found, recording.seed, integrator=recording.integrator, **options)


def _law_of(recording: Trajectory, law: ImpactLaw | None) -> ImpactLaw:
    """The law given, or the one that the recording describes."""
    name = recording.law_name
    if law is None:
        law = described_law(name, recording.law_description)
        if law is None:
            raise ValueError(f"law: the recording does not describe its law {name!r}, so it has to be given")
    if getattr(law, "name", None) != name:
        raise ValueError(f"law: expected {name!r}, with which the recording was made, got {law!r}")
    return law


class Replay:
    """A run that repeats a recording, event by event."""

    def __init__(self, run: RunInProgress, recording: Trajectory, later: Later | None = None):
        self.run, self.done = run, 0
        self._recorded, self._recording = recording.events, recording
        self._later = later

    def until(self, last: int) -> None:
        """Go to just after the event of this index."""
        self._compare()
        while self.done <= last:
            event = self._recorded[self.done]
            if event.kind is not EventKind.USER:
                self._come_to(event)
            elif event.note == STATE_SET:
                self._set_state(event)
            elif change := noted_drive(event.note):
                self._set_drive(event, *change)
            else:
                self._note(event)
            self._compare()

    def _come_to(self, event: Event) -> None:
        """The next event of the engine."""
        run = self.run
        while len(run.trajectory.events) == self.done:
            if not can_go_on(run.trajectory) or (
                run.advance(event.time, stop_at_rest=False, one_event=True)
                and len(run.trajectory.events) == self.done
            ):
                instead = run.trajectory.message or "nothing happens"
                raise ReplayError(
                    f"{self._name(event)} is not repeated: {instead}",
                    self.done,
                    "kind",
                    event.kind.value,
                    instead,
                )

    def _note(self, event: Event) -> None:
        """A zero of an event function, which is not known here but changes no motion; events of the same instant
        that come after it have to wait."""
        before = math.nextafter(event.time, -math.inf)
        self.go(before)
        if len(self.run.trajectory.events) == self.done:
            self.run.come_to(event.time)
            self.run.note(event.note)

    def _set_state(self, event: Event) -> None:
        """A state that was set begins a piece of every body, the last ones before the event."""
        run, log = self.run, self._recording.log
        self.go(event.time)
        if len(run.trajectory.events) > self.done:
            return  # which will be found to differ
        count, number = run.model.count, int(log.events.rows(self.done, self.done + 1)["pieces"][0])
        pieces = log.pieces.rows(max(number - count, 0), number)
        if pieces["body"].tolist() != list(range(count)):
            raise ReplayError(
                f"{self._name(event)} is not repeated: the recording has no states for it", self.done, "state"
            )
        run.set_packed(np.ascontiguousarray(pieces["state"]))

    def _set_drive(self, event: Event, joint: str, drive: Drive) -> None:
        """Another drive from now on."""
        self.go(event.time)
        if len(self.run.trajectory.events) == self.done:
            self.run.set_drive(joint, drive)

    def go(self, time: float) -> None:
        """Advance to a time [s], at most to the next event."""
        run = self.run
        while run.time < time and len(run.trajectory.events) == self.done and can_go_on(run.trajectory):
            if run.advance(time, stop_at_rest=False, one_event=True):
                break

    def _compare(self) -> None:
        """Every new event must be the recorded one, bit for bit; ReplayError where it is not."""
        found = self.run.trajectory
        while self.done < min(len(found.events), len(self._recorded)):
            difference = difference_of(self._recording, found, self.done)
            if difference is not None:
                raise difference
            self.done += 1
        if self._later is not None and self.done >= self._later[0]:
            self.run.generator, self._later = self._later[1], None

    def _name(self, event: Event) -> str:
        return _name(self.done, event)


def difference_of(recording: Trajectory, found: Trajectory, number: int) -> ReplayError | None:
    """What is to be said where an event, by number, of a run that was made again is not the recorded one, bit for
    bit; None where it is."""
    difference = first_difference(recording.log, found.log, number)
    if difference is None:
        return None
    what, was, now = difference
    return ReplayError(
        f"{_name(number, recording.events[number])} is not repeated: its {what} differs, recorded {was}, now "
        f"{now} in {found.events[number]!r}; was the recording made with another law or version, or on another "
        "processor?",
        number,
        what,
        was,
        now,
    )


def _name(number: int, event: Event) -> str:
    return f"event {number} of the recording ({event.kind.value} at t = {event.time!r} s)"
