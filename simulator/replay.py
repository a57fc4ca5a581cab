"""A recorded run made again up to one of its events, from where it goes on identically."""

import math
import os
from pathlib import Path
from typing import Any

import numpy as np

from ..bodies import Drive
from ..impact_laws import ImpactLaw
from .event import Event, EventKind
from .notes import STATE_SET, noted_drive
from .record.law_description import described_law
from .record.trajectory import Trajectory
from .simulator import Simulator


class ReplayError(ValueError):
    """A recorded run is not repeated; the text says which event differs and how."""


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
    count = len(recording.events)
    if isinstance(event, bool) or not isinstance(event, int | np.integer):
        raise TypeError(f"event: expected the index of an event, got {event!r}")
    if not -count <= event < count:
        raise ValueError(f"event: expected an index of one of {count} events, got {event}")
    simulator = Simulator(recording.scene, _law_of(recording, law), recording.seed, **options)
    last = int(event) % count
    if later is not None and last + 1 < later[0]:
        raise ValueError(f"event: expected at least {later[0] - 1}, since members part after it, got {last}")
    _Replay(simulator, recording, later).until(last)
    return simulator


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


class _Replay:
    """A simulator that repeats a recording, event by event."""

    def __init__(self, simulator: Simulator, recording: Trajectory, later: Later | None):
        self._simulator, self._recorded, self._recording = simulator, recording.events, recording
        self._done = 0
        self._later = later

    def until(self, last: int) -> None:
        """Go to just after the event of this index."""
        self._compare()
        while self._done <= last:
            event = self._recorded[self._done]
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
        simulator = self._simulator
        while len(simulator.trajectory.events) == self._done:
            if not simulator._can_go_on() or (
                simulator._advance(event.time, stop_at_rest=False, one_event=True)
                and len(simulator.trajectory.events) == self._done
            ):
                raise ReplayError(
                    f"{self._name(event)} is not repeated: {simulator.trajectory.message or 'nothing happens'}"
                )

    def _note(self, event: Event) -> None:
        """A zero of an event function, which is not known here but changes no motion; events of the same instant
        that come after it have to wait."""
        before = math.nextafter(event.time, -math.inf)
        self._go(before)
        if len(self._simulator.trajectory.events) == self._done:
            self._simulator._come_to(event.time)
            self._simulator._note(event.note)

    def _set_state(self, event: Event) -> None:
        """A state that was set begins a piece of every body, the last ones before the event."""
        simulator, log = self._simulator, self._recording.log
        self._go(event.time)
        if len(simulator.trajectory.events) > self._done:
            return  # which will be found to differ
        count, number = simulator.model.count, int(log.events.rows(self._done, self._done + 1)["pieces"][0])
        pieces = log.pieces.rows(max(number - count, 0), number)
        if pieces["body"].tolist() != list(range(count)):
            raise ReplayError(f"{self._name(event)} is not repeated: the recording has no states for it")
        simulator._set_packed(np.ascontiguousarray(pieces["state"]))

    def _set_drive(self, event: Event, joint: str, drive: Drive) -> None:
        """Another drive from now on."""
        self._go(event.time)
        if len(self._simulator.trajectory.events) == self._done:
            self._simulator.set_drive(joint, drive)

    def _go(self, time: float) -> None:
        """Advance to a time [s], at most to the next event."""
        simulator = self._simulator
        while (
            simulator.time < time
            and len(simulator.trajectory.events) == self._done
            and simulator._can_go_on()
        ):
            if simulator._advance(time, stop_at_rest=False, one_event=True):
                break

    def _compare(self) -> None:
        """Every new event must be the recorded one, bit for bit; ReplayError where it is not."""
        for event in self._simulator.trajectory.events[self._done : len(self._recorded)]:
            recorded = self._recorded[self._done]
            for what, found, expected in zip(_WORDS, _bits(event), _bits(recorded), strict=True):
                if found != expected:
                    raise ReplayError(
                        f"{self._name(recorded)} is not repeated: its {what} differs, with {event.kind.value} at "
                        f"t = {event.time!r} s; was the recording made with another law or version?"
                    )
            self._done += 1
        if self._later is not None and self._done >= self._later[0]:
            self._simulator._rng, self._later = self._later[1], None

    def _name(self, event: Event) -> str:
        return f"event {self._done} of the recording ({event.kind.value} at t = {event.time!r} s)"


_WORDS = ("time", "kind", "note", "contacts", "contacts", "impulse")


def _bits(event: Event) -> tuple:
    """What is equal for equal events."""
    contacts, outcome = event.contacts, event.outcome
    impulse = b"" if outcome is None else outcome.impulse.tobytes()
    return (event.time, event.kind, event.note, contacts.bodies.tolist(), contacts.point.tobytes(), impulse)
