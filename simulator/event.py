"""The record of an event: what touched, what the law was asked, what it answered."""

from dataclasses import dataclass, fields
from enum import IntEnum, StrEnum
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..bodies import Scene
from ..impact_laws import ImpactOutcome, ImpactProblem
from .state import State

Array = NDArray[np.float64]


class EventKind(StrEnum):
    """What changed."""

    IMPACT = "impact"
    LIFT_OFF = "lift_off"
    STICK = "stick"
    SLIP = "slip"
    USER = "user"
    SENSOR = "sensor"
    ROLL = "roll"  # rolling or spinning begins that rolling or spinning friction held
    HALT = "halt"  # it has come to its end


class Feature(IntEnum):
    """What a body touches with: its surface there is this, grown by a radius, the circle around a disk, or an
    ellipsoid.

    A joint that has come to its limit is a contact too, without place: its index is the number of the limit,
    its gap in the unit of the joint's coordinate.
    """

    POINT = 0
    EDGE = 1
    FACE = 2
    RIM = 3
    LIMIT = 4
    ELLIPSOID = 5


@dataclass(frozen=True, eq=False)
class ContactPatch:
    """Contacts of one event, in a fixed order (body pair, then position in the pair's manifold).

    bodies : (nc, 2), indices; the normal points from the second body to the first
    point : (nc, 3) [m], world
    normal, tangent, tangent2 : (nc, 3), right-handed unit frame, world
    gap : (nc,) [m], signed distance
    feature : (nc, 2), the `Feature` of each body that touches
    feature_index : (nc, 2), which point, edge or face of its collision shape that is, -1 where it has no number; of
        the points of a cylinder's end that stands 8 times which end, and which of 8, but on meshes
    along : (nc, 2, 3), unit direction of an edge or axis of a rim, world; zero for the others
    radius : (nc, 2) [m], by which the surface is away from that point, edge or face; of a rim, its own radius
    """

    bodies: NDArray[np.int64]
    point: Array
    normal: Array
    tangent: Array
    tangent2: Array
    gap: Array
    feature: NDArray[np.int64]
    feature_index: NDArray[np.int64]
    along: Array
    radius: Array

    def __len__(self) -> int:
        return len(self.gap)

    def chosen(self, which: Any) -> "ContactPatch":
        """The contacts that an index array or mask selects."""
        return ContactPatch(*(getattr(self, field.name)[which] for field in fields(self)))

    @classmethod
    def of_rows(cls, rows: Any) -> "ContactPatch":
        """From rows of the engine's table of contacts of events."""
        columns = {
            name: np.ascontiguousarray(rows[name])
            for name in ("point", "normal", "tangent", "gap", "feature", "along", "radius")
        }
        return cls(
            bodies=np.stack([rows["first"], rows["second"]], axis=1),
            tangent2=np.cross(columns["normal"], columns["tangent"]),
            feature_index=np.ascontiguousarray(rows["index"]),
            **columns,
        )

    @classmethod
    def empty(cls) -> "ContactPatch":
        """No contacts."""
        vectors, sides = np.zeros((0, 3)), np.zeros((0, 2), dtype=np.int64)
        return cls(
            *(sides, vectors, vectors, vectors, vectors, np.zeros(0)),
            *(sides, sides, np.zeros((0, 2, 3)), np.zeros((0, 2))),
        )

    @classmethod
    def joined(cls, parts: list["ContactPatch"]) -> "ContactPatch":
        """The contacts of at least one patch, one after the other."""
        return cls(*(np.concatenate([getattr(part, field.name) for part in parts]) for field in fields(cls)))


def contact_names(scene: Scene, bodies: NDArray[np.int64]) -> tuple[tuple[str, ...], ...]:
    """Names of the two bodies of each contact, of their numbers (nc, 2), -1 for none."""
    known = scene.bodies
    pairs = (dict.fromkeys(known[body].name for body in pair if body >= 0) for pair in bodies.tolist())
    return tuple(tuple(pair) for pair in pairs)


class EventSource(Protocol):
    """What knows the contacts and resolutions of events, and the states around them."""

    def contacts(self, number: int) -> ContactPatch: ...

    def resolution(self, number: int) -> tuple[ImpactProblem, ImpactOutcome] | None: ...

    def state(self, time: float, side: str) -> State: ...


class Event:
    """Something changed at `time` [s].

    kind : `EventKind`
    note : what the engine has to say about this event, such as the end of an infinite sequence of bounces; of an
        event that a user's function found, its name

    Contacts, problem, outcome and the states on both sides are made when they are looked at.
    """

    def __init__(self, time: float, kind: EventKind, note: str, number: int, source: EventSource):
        self.time, self.kind, self.note = time, kind, note
        self._number, self._source = number, source

    def __repr__(self) -> str:
        note = f", {self.note!r}" if self.note else ""
        return f"Event({self.kind.value} at t = {self.time!r} s{note})"

    @cached_property
    def contacts(self) -> ContactPatch:
        """Where bodies touched."""
        return self._source.contacts(self._number)

    @cached_property
    def _resolution(self) -> tuple[ImpactProblem | None, ImpactOutcome | None]:
        return self._source.resolution(self._number) or (None, None)

    @property
    def problem(self) -> ImpactProblem | None:
        """What the law was asked, of an impact; else None."""
        return self._resolution[0]

    @property
    def outcome(self) -> ImpactOutcome | None:
        """What the law answered, of an impact; else None."""
        return self._resolution[1]

    @property
    def before(self) -> State:
        """State of all bodies just before the event (where several share one time, before all of them)."""
        return self._source.state(self.time, "left")

    @property
    def after(self) -> State:
        """State of all bodies just after the event."""
        return self._source.state(self.time, "right")
