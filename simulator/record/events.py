"""The events of a run, each made from the rows of its log when it is looked at."""

import json
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from ...bodies import Drive
from ...impact_laws import ImpactOutcome, ImpactProblem
from ..collision.pairs import contact_jacobian, moving_bodies
from ..engine.log_kernels import ACCUMULATES, IMPACT, IN_CONTACT, SHOCK
from ..event import ContactPatch, Event, EventKind, contact_names
from ..laws import outcome_of_record, outcome_of_text
from ..left_behind import WeakValues
from ..notes import noted_drive
from ..state import State
from .log import Log
from .stored_table import DAMAGE, damaged

if TYPE_CHECKING:
    from .trajectory import Trajectory

Found = TypeVar("Found")
KINDS = tuple(EventKind)
_KIND_NAMES = np.array([kind.value for kind in KINDS])
WITHOUT_COLLISION = "impact without collision: no contact forces keep the bodies apart"
WEDGED = "no contact forces keep the bodies apart, and the law has no impulse: slip ends within a micro-step"


def kind_names(codes: NDArray[Any]) -> NDArray[np.str_]:
    """Names of kinds, comparable with `EventKind`."""
    return _KIND_NAMES[codes]


class EventLog:
    """The events of a trajectory's log, and all that is known of each."""

    def __init__(self, trajectory: "Trajectory"):
        self._begin(trajectory)

    def _begin(self, trajectory: "Trajectory") -> None:
        self._trajectory = trajectory
        self._made: WeakValues[Event] = WeakValues()
        self._drives: list[tuple[float, str, Drive]] = []
        self._seen = 0

    def __getstate__(self) -> dict[str, Any]:
        """Events are made again where they are looked at."""
        return {"_trajectory": self._trajectory}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._begin(state["_trajectory"])

    @property
    def _log(self) -> Log:
        return self._trajectory.log

    def __len__(self) -> int:
        return len(self._log.events)

    def event(self, number: int) -> Event:
        """An event; the same object while someone holds it."""
        event = self._made.get(number)
        if event is None:
            event = self._made.put(number, self._read(self._event, number))
        return event

    def drives(self) -> list[tuple[float, str, Drive]]:
        """Drives that the user set on the way: when, of which joint. Every event is looked at once."""
        count, kinds = len(self), self._log.events.column("kind", self._seen)
        for number in (self._seen + np.flatnonzero(kinds == KINDS.index(EventKind.USER))).tolist():
            event = self.event(number)
            if change := noted_drive(event.note):
                self._drives.append((event.time, *change))
        self._seen = count
        return self._drives

    def contacts(self, number: int) -> ContactPatch:
        """Where bodies touched."""
        return self._read(self._contacts, number)

    def resolution(self, number: int) -> tuple[ImpactProblem, ImpactOutcome] | None:
        """What a law was asked and answered, None where it was not asked; FileFormatError where a file is
        damaged."""
        return self._read(self._resolution, number)

    def _read(self, read: Callable[[int], Found], number: int) -> Found:
        """What is read of an event; where that is impossible, the file is damaged."""
        try:
            return read(number)
        except DAMAGE as error:
            if self._trajectory.source is None:
                raise
            raise damaged(self._trajectory.source, error) from error

    def _contacts(self, number: int) -> ContactPatch:
        return ContactPatch.of_rows(self._log.numbers_of_event("event_contacts", number))

    def _resolution(self, number: int) -> tuple[ImpactProblem, ImpactOutcome] | None:
        row = self._row(number)
        if int(row["kind"]) != IMPACT:
            return None
        trajectory, contacts = self._trajectory, self._log.numbers_of_event("event_contacts", number)
        problem = _problem(trajectory, number, contacts)
        impulse = contacts["impulse"][:, : problem.dim].ravel()
        stages = self._log.numbers_of_event("stage_log", number).reshape(
            int(row["stages"]), int(row["width"])
        )
        text = self._text(number)
        if text is not None:
            return problem, outcome_of_text(problem, stages, text)
        return problem, outcome_of_record(
            trajectory.law_name, problem, impulse, stages, int(row["status"]), int(row["steps"])
        )

    def state(self, time: float, side: str) -> State:
        """All bodies at a time."""
        return self._trajectory.sample(time, side=side)

    def _event(self, number: int) -> Event:
        row = self._row(number)
        return Event(float(row["time"]), KINDS[int(row["kind"])], self._note(number, row), number, self)

    def _row(self, number: int) -> Any:
        return self._log.events.rows(number, number + 1)[0]

    def _text(self, number: int) -> dict[str, Any] | None:
        text = self._log.numbers_of_event("texts", number)
        found = json.loads(text.tobytes()) if len(text) else {}
        return found if "status" in found else None

    def _note(self, number: int, row: Any) -> str:
        if row["text"]:
            note = json.loads(self._log.numbers_of_event("texts", number).tobytes()).get("note", "")
            if note:
                return str(note)
        if row["note"] == ACCUMULATES:
            known = row["until"] >= row["time"]  # the sum of a geometric series, which not all bounces follow
            return "infinitely many impacts accumulate" + (
                f" at t = {float(row['until'])!r} s" if known else ""
            )
        if row["note"] == SHOCK:
            return WEDGED
        return WITHOUT_COLLISION if row["note"] == IN_CONTACT and int(row["kind"]) == IMPACT else ""


def _problem(trajectory: "Trajectory", number: int, contacts: NDArray[Any]) -> ImpactProblem:
    """The problem of an impact, from the states before it and its contacts."""
    model, patch = trajectory.model, ContactPatch.of_rows(contacts)
    bodies = moving_bodies(model, patch)
    states = trajectory.packed_before(number, bodies.tolist())
    jacobian, inverse_mass, velocity, _ = contact_jacobian(model, patch, states, bodies)
    dim, count = (3 if model.scene.plane is None else 2), len(contacts)
    return ImpactProblem.from_generalized(
        None,
        jacobian.reshape(count, 3, -1)[:, :dim].reshape(dim * count, -1),
        velocity,
        friction=contacts["friction"],
        restitution=contacts["restitution"],
        dim=dim,
        inverse_mass=inverse_mass,
        contact_names=contact_names(model.scene, patch.bodies),
    )


class Events(Sequence[Event]):
    """The events that there were when this was asked for."""

    def __init__(self, log: EventLog):
        self._log, self._count = log, len(log)

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> Event: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[Event, ...]: ...

    def __getitem__(self, index: int | slice) -> Event | tuple[Event, ...]:
        if isinstance(index, slice):
            return tuple(self._log.event(k) for k in range(self._count)[index])
        return self._log.event(range(self._count)[index])

    def __iter__(self) -> Iterator[Event]:
        return map(self._log.event, range(self._count))

    def __repr__(self) -> str:
        return f"<{self._count} events>"
