"""Forces of lasting contact and of joints, as pictures show them, and at enough times for a page."""

import heapq
from dataclasses import dataclass
from typing import Any

import numpy as np

from .stage import event_table

MOST_LOOKS = 400  # times at which a page knows forces of a run
PATIENCE = 2000  # that all looks of a page may cost, about milliseconds
UNDECIDED_COST = 5  # of a look, for each force that is not unique; a body that moves costs 1
LEAST_LOOKS = 16  # fewer would show nothing: with so many bodies a page has no forces
TOLERANCE = 0.02  # of the largest force at a time: how far straight lines between times may be from it


@dataclass(frozen=True)
class Forces:
    """Forces at one time, k of them: of contacts, then of joints.

    which : (k, 2), the two bodies of a contact; -1 and its number for a joint
    point : (k, 3) [m]
    force : (k, 3) [N], on the first body of a contact, on the body of a joint
    torque : (k, 3) [N m], of rolling and spinning friction, of a joint about its point
    unique : (k,), whether the motion admits no other
    """

    which: np.ndarray
    point: np.ndarray
    force: np.ndarray
    torque: np.ndarray
    unique: np.ndarray

    def __len__(self) -> int:
        return len(self.point)

    @property
    def largest(self) -> float:
        """[N]"""
        return float(np.linalg.norm(self.force, axis=1).max(initial=0.0))

    def is_like(self, other: "Forces") -> bool:
        """Whether both are of the same contacts and joints."""
        return bool(np.array_equal(self.which, other.which))


def forces_at(trajectory: Any, time: float, side: str = "right") -> Forces | None:
    """Forces of a run at a time [s]; None of one that knows none.

    ValueError in words where functions acted that a recording does not keep.
    """
    if not hasattr(trajectory, "contact_forces"):
        return None
    contacts = trajectory.contact_forces(time, side)
    parts = [(contacts.bodies, contacts.point, contacts.force, contacts.torque, contacts.unique)]
    if trajectory.scene.joints:
        joints = trajectory.joint_forces(time, side)
        which = np.column_stack([np.full(len(joints), -1), np.arange(len(joints))])
        parts.append((which, joints.point, joints.force, joints.torque, joints.unique))
    return Forces(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def weight_of(trajectory: Any) -> float:
    """Of all bodies that can move [N]."""
    scene = trajectory.scene
    mass = sum(float(body.mass) for body in scene.bodies if not body.fixed)
    return mass * float(np.linalg.norm(scene.gravity))


def forces_over(trajectory: Any, start: float, end: float, runs: int = 1) -> list[tuple[float, Forces, bool]]:
    """Times [s] in order with the forces there, and whether these change along a straight line to the next.

    Between events forces are continuous. Each stretch between two is parted where straight lines are furthest from
    the forces half-way, until all are near or there are as many looks as a page may have; of more stretches than
    that the shortest have no forces. Empty where a run knows none, or has too many bodies.

    runs : how many the page has
    """
    looks = _Looks(trajectory, PATIENCE / runs)
    if not looks.can_show or not hasattr(trajectory, "contact_forces"):
        return []
    events, _ = event_table(trajectory)
    bounds = np.unique(np.concatenate([[start, end], events[(events > start) & (events < end)]]))
    spans = np.column_stack([bounds[:-1], bounds[1:]])
    known: dict[int, list[tuple[float, Forces]]] = {}
    queue: list[tuple[float, int, float, float]] = []
    for number in np.argsort(spans[:, 0] - spans[:, 1], kind="stable").tolist():
        if looks.half_gone:
            break
        low, high = spans[number].tolist()
        known[number] = [(low, looks.at(low, "right")), (high, looks.at(high, "left"))]
        if any(len(forces) for _, forces in known[number]):
            heapq.heappush(queue, (-np.inf, number, low, high))
    while queue and not looks.gone:
        _, number, low, high = heapq.heappop(queue)
        middle = 0.5 * (low + high)
        if not low < middle < high:
            continue
        found = looks.at(middle, "right")
        error = _error(found, *(forces for time, forces in known[number] if time in (low, high)))
        known[number] = sorted([*known[number], (middle, found)], key=lambda one: one[0])
        if error > TOLERANCE:
            for part in ((low, middle), (middle, high)):
                heapq.heappush(queue, (-error * (high - low), number, *part))
    return _in_order(spans, known)


class _Looks:
    """Looks at the forces of a run, as many as are worth their time."""

    def __init__(self, trajectory: Any, patience: float):
        self._trajectory, self._patience = trajectory, patience
        self._moving = sum(not body.fixed for body in trajectory.scene.bodies)
        self._count, self._cost = 0, 0.0

    @property
    def can_show(self) -> bool:
        return LEAST_LOOKS * self._moving <= self._patience

    @property
    def gone(self) -> bool:
        return self._count >= MOST_LOOKS or self._cost >= self._patience

    @property
    def half_gone(self) -> bool:
        return 2 * self._count >= MOST_LOOKS or 2 * self._cost >= self._patience

    def at(self, time: float, side: str) -> Forces:
        """The forces at a time [s]."""
        found = forces_at(self._trajectory, time, side)
        assert found is not None
        self._count += 1
        self._cost += self._moving + UNDECIDED_COST * float((~found.unique).sum())
        return found


def _error(found: Forces, before: Forces, after: Forces) -> float:
    """How far forces half-way are from a straight line, as a share of the largest; 1 where there are others."""
    if not (found.is_like(before) and found.is_like(after)):
        return 1.0
    away = np.linalg.norm(found.force - 0.5 * (before.force + after.force), axis=1).max(initial=0.0)
    largest = max(found.largest, before.largest, after.largest)
    return float(away) / largest if largest > 0.0 else 0.0


def _in_order(
    spans: np.ndarray, known: dict[int, list[tuple[float, Forces]]]
) -> list[tuple[float, Forces, bool]]:
    none = np.zeros((0, 3))
    nothing = Forces(np.zeros((0, 2), dtype=np.int64), none, none, none, np.zeros(0, dtype=bool))
    found: list[tuple[float, Forces, bool]] = []
    for number, (low, _) in enumerate(spans.tolist()):
        row = known.get(number, [(low, nothing)])
        for k, (time, forces) in enumerate(row):
            joined = k + 1 < len(row) and forces.is_like(row[k + 1][1])
            found.append((time, forces, joined))
    return found
