"""Directions in which slip keeps its direction, and what can be told of an impact before it is solved.

With B the tangential block of W, d its coupling to the normal and μ the friction, slip γ at one contact obeys
dγ/dI_z = -μ B γ/|γ| + d. In the principal frame of B, with k = μ (b1 - b2) >= 0 and d = (p1, p2), slip at
the angle φ turns at the rate h(φ)/|γ|, h = k sin φ cos φ - p1 sin φ + p2 cos φ. After reflections that make
p1, p2 >= 0, h changes sign once in the first quadrant (slip turns towards that direction), once in the third
(away), and twice in the fourth exactly where p1^(2/3) + p2^(2/3) < k^(2/3), else not. So each zero has a
bracket of its own and none can be missed.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from .impact_problem import ImpactProblem
from .outcome import ImpactOutcome
from .slip_curve import SlipCurve, single_contact, slip_curve
from .stronge_kernels import sticking_direction
from .tolerances import SLIP_DOUBLE, SLIP_ISOTROPIC, SLIP_ON_DIRECTION

Array = NDArray[np.float64]

TOWARDS, AWAY, ONE_SIDE, FIXED = "towards", "away", "one side", "fixed"


@dataclass(frozen=True, eq=False)
class InvariantDirection:
    """A unit direction s with -mu B s + d = rate s (Jia & Wang, section 4).

    direction : unit vector in (tangent, tangent2), (dim - 1,)
    angle : from `tangent` towards `tangent2`, within (-π, π] [rad]
    rate : dγ/dI_z along the direction [1/kg]; slip there grows (positive) or shrinks (negative)
    centrifugal : whether slip starts from zero in this direction; otherwise it is centripetal, rate <= 0
    turning : "towards" or "away", which way neighbouring slip turns; "one side" where it turns towards the
        direction on one side and away on the other (a double root); "fixed" in a planar contact
    """

    direction: Array
    angle: float
    rate: float
    centrifugal: bool
    turning: str


@dataclass(frozen=True, eq=False)
class InvariantDirections(Sequence[InvariantDirection]):
    """Two to four invariant directions in the order of their angles, or every direction.

    Where `all` holds (B isotropic and no coupling, or nothing that can slip) the sequence is empty, and slip
    keeps any direction at `common_rate` [1/kg], which is never positive.
    """

    directions: tuple[InvariantDirection, ...]
    all: bool = False
    common_rate: float = math.nan

    def __len__(self) -> int:
        return len(self.directions)

    def __iter__(self) -> Iterator[InvariantDirection]:
        return iter(self.directions)

    @overload
    def __getitem__(self, index: int) -> InvariantDirection: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[InvariantDirection, ...]: ...
    def __getitem__(self, index: int | slice) -> InvariantDirection | tuple[InvariantDirection, ...]:
        return self.directions[index]

    @property
    def centrifugal(self) -> InvariantDirection | None:
        """The direction in which slip leaves zero; None where a contact without slip can stick."""
        return next((each for each in self.directions if each.centrifugal), None)


class SolutionCondition(NamedTuple):
    """Condition (18) of Jia & Wang: `value` = W_nn - mu |d| [1/kg], and whether it is positive.

    Where it holds, compression and restitution end. It is sufficient only: an impact may end without it.
    """

    value: float
    holds: bool


def invariant_directions(problem: ImpactProblem) -> InvariantDirections:
    """All directions in which slip at one contact keeps its direction (Jia & Wang, (33) and Theorem 5).

    They depend on W and friction alone. A planar contact has two; without friction they are along and against
    the coupling d. Raises ValueError for several contacts.
    """
    inertia, _, mu = single_contact(problem)
    block, d = inertia[1 : problem.dim, 1 : problem.dim], inertia[1 : problem.dim, 0]
    if problem.dim == 2:
        found = [(np.array([1.0]), FIXED), (np.array([-1.0]), FIXED)]
    else:
        eigenvalues, axes = np.linalg.eigh(block)
        k = mu * float(eigenvalues[1] - eigenvalues[0])
        axes = axes[:, ::-1]  # the larger eigenvalue first
        size = mu * float(eigenvalues[1]) + float(np.hypot(*d))
        terms = [k, *(float(p) for p in axes.T @ d)]
        k, p1, p2 = (term if abs(term) > SLIP_ISOTROPIC * size else 0.0 for term in terms)
        if k == p1 == p2 == 0.0:
            return InvariantDirections((), True, -0.5 * mu * float(np.trace(block)))
        axes = axes * [math.copysign(1.0, p1), math.copysign(1.0, p2)]  # reflections keep what turning means
        roots = _principal_roots(k, abs(p1), abs(p2))
        found = [(axes @ np.array([c, s]), turning) for c, s, turning in roots]
    rates = [float(s @ (d - mu * block @ s)) for s, _ in found]
    grows = -1 if stick_possible(problem) else int(np.argmax(rates))
    directions = []
    for i, ((s, turning), rate) in enumerate(zip(found, rates, strict=True)):
        s.flags.writeable = False
        angle = math.atan2(s[1], s[0]) if s.size == 2 else (0.0 if s[0] > 0.0 else math.pi)
        # which sign a rate has is decided once, by whether the contact can stick, not by its rounding
        rate = max(rate, 0.0) if i == grows else min(rate, 0.0)
        directions.append(InvariantDirection(s, angle, rate, i == grows, turning))
    return InvariantDirections(tuple(sorted(directions, key=lambda each: each.angle)))


def _principal_roots(k: float, p1: float, p2: float) -> list[tuple[float, float, str]]:
    """Zeros of h as (cos φ, sin φ, turning), for k, p1, p2 >= 0 that are not all zero."""
    if k == 0.0:
        length = math.hypot(p1, p2)
        return [(p1 / length, p2 / length, TOWARDS), (-p1 / length, -p2 / length, AWAY)]
    excess = (p1 / k) ** (2.0 / 3.0) + (p2 / k) ** (2.0 / 3.0) - 1.0
    if p2 == 0.0:  # h = sin φ (k cos φ - p1)
        if excess >= -SLIP_DOUBLE:
            return [(1.0, 0.0, TOWARDS), (-1.0, 0.0, AWAY)]
        c = p1 / k
        s = math.sqrt((1.0 - c) * (1.0 + c))
        return [(c, s, TOWARDS), (c, -s, TOWARDS), (1.0, 0.0, AWAY), (-1.0, 0.0, AWAY)]
    if p1 == 0.0:  # h = cos φ (k sin φ + p2)
        if excess >= -SLIP_DOUBLE:
            return [(0.0, 1.0, TOWARDS), (0.0, -1.0, AWAY)]
        s = -p2 / k
        c = math.sqrt((1.0 - s) * (1.0 + s))
        return [(0.0, 1.0, TOWARDS), (0.0, -1.0, TOWARDS), (c, s, AWAY), (-c, s, AWAY)]

    def turning_rate(angle: float) -> float:
        c, s = math.cos(angle), math.sin(angle)
        return k * s * c - p1 * s + p2 * c

    def opposite_rate(angle: float) -> float:
        """h at π + angle, so that a root close to π keeps its relative accuracy."""
        c, s = math.cos(angle), math.sin(angle)
        return k * s * c + p1 * s - p2 * c

    quarter = 0.5 * math.pi
    first = _bisect(turning_rate, quarter, 0.0)
    third = _bisect(opposite_rate, 0.0, quarter)
    roots = [
        (math.cos(first), math.sin(first), TOWARDS),
        (-math.cos(third), -math.sin(third), AWAY),
    ]
    least = -math.atan(math.cbrt(p2 / p1))  # where p1/cos φ + p2/|sin φ| is least in the fourth quadrant
    if abs(excess) <= SLIP_DOUBLE:
        roots.append((math.cos(least), math.sin(least), ONE_SIDE))
    elif excess < 0.0:
        for end, turning in ((-quarter, TOWARDS), (0.0, AWAY)):
            angle = _bisect(turning_rate, least, end)
            roots.append((math.cos(angle), math.sin(angle), turning))
    return roots


def _bisect(function: Callable[[float], float], negative: float, positive: float) -> float:
    """Zero of a function that is negative at one end and positive at the other, to the last digit."""
    while True:
        middle = 0.5 * (negative + positive)
        if middle in (negative, positive):
            return middle
        if function(middle) < 0.0:
            negative = middle
        else:
            positive = middle


def sticking_friction(problem: ImpactProblem) -> float:
    """|B⁺ d|, the least friction with which one contact sticks once its slip is zero, dimensionless.

    B⁺ is the inverse of the tangential block of W, its pseudo-inverse where W is singular.
    """
    inertia, _, _ = single_contact(problem)
    size = float(np.trace(inertia)) / 3.0
    if size == 0.0:
        return 0.0
    W = inertia / size
    return math.hypot(*sticking_direction(W[1, 1], W[1, 2], W[2, 2], W[0, 1], W[0, 2]))


def stick_possible(problem: ImpactProblem) -> bool:
    """Whether one contact sticks once its slip is zero: |B⁻¹ d| <= mu (Jia & Wang, section 5.1)."""
    _, _, mu = single_contact(problem)
    return sticking_friction(problem) <= mu


def solution_condition(problem: ImpactProblem) -> SolutionCondition:
    """The impact solution condition (18) of Jia & Wang at one contact, W_nn - mu |d| > 0."""
    inertia, _, mu = single_contact(problem)
    value = float(inertia[0, 0]) - mu * math.hypot(inertia[0, 1], inertia[0, 2])
    return SolutionCondition(value, value > 0.0)


def paper_sequence(
    problem: ImpactProblem,
    outcome: ImpactOutcome,
    tolerance: float = 0.08,
    stop_tolerance: float = 0.05,
) -> str:
    """The event sequence as Jia & Wang name it, such as "clsr", of an outcome of `StrongeCoulomb`.

    Their event l (straight sliding) is put where the sine of the angle between slip and dγ/dI_z first falls
    below ``tolerance`` near the direction that slip turns to, and their event s where slip falls below
    ``stop_tolerance`` times its speed before the impact; there is no l after s. Both are artefacts of their
    stepping: exactly, slip reaches an invariant direction only where it starts on one, so with both
    tolerances 0 the answer is ``outcome.info["sequence"]``, with an l before it in that one case.

    Raises ValueError for several contacts, an outcome of another law, or tolerances outside [0, 1).
    """
    for name, value in (("tolerance", tolerance), ("stop_tolerance", stop_tolerance)):
        if not 0.0 <= value < 1.0:
            raise ValueError(f"{name} must lie within [0, 1), got {value!r}")
    _, before, mu = single_contact(problem)
    exact = outcome.info.get("sequence")
    if not isinstance(exact, str):
        raise ValueError("outcome must be one of StrongeCoulomb, whose info holds a sequence such as 'csr'")
    speed = math.hypot(before[1], before[2])
    if mu == 0.0 or speed == 0.0 or not exact:
        return exact
    curve = slip_curve(problem, outcome)
    events = {letter: float(I) for letter, I in zip(exact, outcome.path.impulse[1:, 0], strict=True)}
    moments = _moments(curve, min(curve.stop, curve.end))
    slow = math.inf
    if stop_tolerance > 0.0:
        slow = _first(lambda I: math.hypot(*curve.at(I)[0]) <= stop_tolerance * speed, moments)
        if slow < math.inf:
            events.setdefault("s", slow)
    straight = _straight_from(problem, curve, tolerance, moments)
    if straight < slow:
        events["l"] = straight
    return "".join(sorted(events, key=lambda letter: (events[letter], "lscr".index(letter))))


_MOMENTS = 16  # evaluations within a step of the slip curve, between which a change is located by bisection


def _moments(curve: SlipCurve, last: float) -> Array:
    """Normal impulses from 0 to last, dense enough to see slip turn and slow down."""
    edges = np.append(curve.step_starts(), last)
    return np.unique(np.clip(np.linspace(edges[:-1], edges[1:], _MOMENTS).ravel(), 0.0, last))


def _first(holds: Callable[[float], bool], moments: Array) -> float:
    """The first normal impulse at which something holds, infinite where it holds at none of the moments."""
    before = 0.0
    for moment in moments:
        if holds(float(moment)):
            after = float(moment)
            while before < (middle := 0.5 * (before + after)) < after:
                before, after = (before, middle) if holds(middle) else (middle, after)
            return after
        before = float(moment)
    return math.inf


def _straight_from(problem: ImpactProblem, curve: SlipCurve, tolerance: float, moments: Array) -> float:
    """Normal impulse from which slip counts as straight, infinite where it never does."""
    inertia, before, mu = single_contact(problem)
    block, d = inertia[1:, 1:], inertia[1:, 0]
    directions = invariant_directions(problem)
    if directions.all or problem.dim == 2:
        return 0.0
    start = before[1:] / math.hypot(before[1], before[2])
    for each in directions:
        s = each.direction
        if start @ s > 0.0 and abs(start[0] * s[1] - start[1] * s[0]) <= SLIP_ON_DIRECTION:
            return 0.0
    turn = d - mu * block @ start
    sense = math.copysign(1.0, start[0] * turn[1] - start[1] * turn[0])
    angle = math.atan2(start[1], start[0])
    limit = min(directions, key=lambda each: sense * (each.angle - angle) % (2.0 * math.pi)).direction

    def straight(I: float) -> bool:
        slip = curve.at(I)[0]
        length = math.hypot(*slip)
        if length == 0.0 or slip @ limit <= 0.0:
            return False
        rate = d - mu * block @ slip / length
        return abs(slip[0] * rate[1] - slip[1] * rate[0]) < tolerance * length * math.hypot(*rate)

    return _first(straight, moments) if tolerance > 0.0 else math.inf
