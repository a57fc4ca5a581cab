"""The record of an event: what touched, what the law was asked, what it answered."""

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from enum import IntEnum, StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
    feature_index : (nc, 2), which point, edge or face of its collision shape that is, -1 where it has no number
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


@dataclass(frozen=True, eq=False)
class Event:
    """Something changed at `time` [s].

    contacts, problem, outcome : what the law saw and answered (of an impact; None otherwise where no contact
    is concerned). before, after : `State` of all bodies on both sides, from the trajectory when asked.
    note : what the engine has to say about this event, such as the end of an infinite sequence of bounces; of an
    event that a user's function found, its name.
    """

    time: float
    kind: EventKind
    contacts: ContactPatch
    problem: ImpactProblem | None
    outcome: ImpactOutcome | None
    note: str = ""
    _sample: Callable[..., State] | None = field(default=None, repr=False)

    def sample_from(self, sample: Callable[..., State]) -> None:
        """Take `before` and `after` from there (the `sample` of a trajectory)."""
        object.__setattr__(self, "_sample", sample)

    @property
    def before(self) -> State:
        """State of all bodies just before the event (where several share one time, before all of them)."""
        return self._sampled("left")

    @property
    def after(self) -> State:
        """State of all bodies just after the event."""
        return self._sampled("right")

    def _sampled(self, side: str) -> State:
        if self._sample is None:
            raise ValueError("this event belongs to no trajectory, so the states around it are not known")
        return self._sample(self.time, side=side)
