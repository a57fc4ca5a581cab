"""Slip and impulse at one contact along the whole impact, at any normal impulse.

The same Taylor series in the slip-scaled impulse as the law uses, kept step by step so that the curve can be
evaluated anywhere; after slip has stopped, the straight line of sticking or of the one direction that leaves
zero.
"""

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .impact_problem import ImpactProblem
from .outcome import ImpactOutcome
from .stronge_kernels import (
    ORDER,
    centrifugal_direction,
    falling_root,
    horner,
    slip_series,
    sticking_direction,
)
from .tolerances import SLIP_ENDED, STRONGE_STEPS, STRONGE_TAYLOR

Array = NDArray[np.float64]


def single_contact(problem: ImpactProblem) -> tuple[Array, Array, float]:
    """W (3, 3), u (3,) and friction of a problem with one contact; a planar one gets a component that never
    moves. Raises ValueError for several contacts."""
    if problem.contact_count != 1:
        raise ValueError(f"problem must have one contact, got {problem.contact_count}")
    inertia, before, friction, _ = problem.kernel_arrays()
    if problem.dim == 3:
        return inertia, before, float(friction[0])
    W, u = np.zeros((3, 3)), np.zeros(3)
    W[:2, :2], u[:2] = inertia, before
    W[2, 2] = W[1, 1]
    return W, u, float(friction[0])


@dataclass(frozen=True, eq=False)
class SlipCurve:
    """The hodograph and the impulse curve of a single impact (Jia & Wang, (31) and (26)).

    stop : normal impulse at which slip is zero, [N s]; infinite when it never is
    end : normal impulse at the end of the impact, [N s]
    """

    stop: float
    end: float
    _steps: list[tuple[float, float, Array, Array]] = field(repr=False)
    """Of each step: normal impulse and slip speed at its start, tangential impulse there, series rows X, Y,
    and normal impulse over slip speed."""
    _straight: tuple[float, Array, Array] = field(repr=False)
    """The straight part: normal impulse at its start, (slip, tangential impulse) there, and their rates."""
    _mu: float = field(repr=False)
    _dim: int = field(repr=False)

    def step_starts(self) -> Array:
        """Normal impulses at which the series that make up the curve start, [N s]; 0 alone without slip."""
        return np.array([step[0] for step in self._steps] or [0.0])

    def at(self, normal_impulse: ArrayLike) -> tuple[Array, Array]:
        """Slip (..., dim - 1) [m/s] and impulse (..., dim) [N s] at normal impulses within [0, end] [N s]."""
        where = np.asarray(normal_impulse, dtype=float)
        pairs = [self._at(float(I)) for I in where.ravel()]
        slip = np.array([slip for slip, _ in pairs]).reshape(*where.shape, 2)
        tangential = np.array([impulse for _, impulse in pairs]).reshape(*where.shape, 2)
        impulse = np.concatenate([where[..., None], tangential], axis=-1)
        return slip[..., : self._dim - 1], impulse[..., : self._dim]

    def _at(self, I: float) -> tuple[Array, Array]:
        if not -1e-12 * self.end <= I <= self.end * (1.0 + 1e-12):
            raise ValueError(f"normal_impulse must lie within [0, {self.end:g}] N s, got {I:g}")
        begins, values, rates = self._straight
        if begins <= I:
            slip, impulse = values + (I - begins) * rates
            return slip, impulse
        k = max(0, int(np.searchsorted([step[0] for step in self._steps], I, side="right")) - 1)
        start, speed, impulse, series = self._steps[k]
        X, Y, J, length = series[0], series[1], series[2], series[3, 0]
        target = J.copy()
        target[0] = -max(0.0, I - start) / speed
        if horner(target, ORDER, length) <= 0.0:
            tau = length
        else:
            tau = falling_root(target, 0.0, length)
        slip = speed * np.array([horner(X, ORDER, tau), horner(Y, ORDER, tau)])
        sums = [tau * horner(row / np.arange(1, ORDER + 2), ORDER, tau) for row in (X, Y)]
        return slip, impulse - self._mu * speed * np.array(sums)


def slip_curve(problem: ImpactProblem, outcome: ImpactOutcome) -> SlipCurve:
    """The curve of slip and impulse that led to an outcome of `StrongeCoulomb` at one contact.

    Slip stops where the outcome's path says so. Raises ValueError for several contacts.
    """
    W, u, mu = single_contact(problem)
    end = float(outcome.path.impulse[-1, 0])
    stop = math.inf
    if "slip stops" in outcome.path.labels:
        stop = float(outcome.path.impulse[outcome.path.labels.index("slip stops"), 0])
    block, d = W[1:, 1:], W[1:, 0]
    slip, impulse, reached = u[1:].copy(), np.zeros(2), 0.0
    least = SLIP_ENDED * float(np.hypot(*slip))
    steps: list[tuple[float, float, Array, Array]] = []
    if mu == 0.0:
        straight = 0.0, np.array([slip, impulse]), np.array([d, np.zeros(2)])
        return SlipCurve(stop, end, [], straight, mu, problem.dim)
    T = np.empty((5, ORDER + 2))
    orders = np.arange(1, ORDER + 2)
    while reached < min(stop, end) and len(steps) < STRONGE_STEPS:
        speed = float(np.hypot(*slip))
        if speed <= least:
            break
        slip_series(slip[0] / speed, slip[1] / speed, W[1, 1], W[1, 2], W[2, 2], d[0], d[1], mu, W[0, 0], T)
        series = np.zeros((4, ORDER + 1))
        series[:2] = T[:2, : ORDER + 1]
        series[2, 1:] = T[2, :ORDER] / orders[:ORDER]
        length = 1e12
        for order in (ORDER - 1, ORDER):
            last = float(np.abs(T[:3, order]).max())
            if last > 0.0:
                length = min(length, (STRONGE_TAYLOR / last) ** (1.0 / order))
        series[3, 0] = length
        steps.append((reached, speed, impulse, series))
        sums = np.array([length * horner(row / orders, ORDER, length) for row in series[:2]])
        impulse = impulse - mu * speed * sums
        reached += speed * horner(series[2], ORDER, length)
        slip = speed * np.array([horner(series[0], ORDER, length), horner(series[1], ORDER, length)])
    if not steps:  # slip was zero before the impact
        stop = 0.0
    elif stop < math.inf:
        impulse = np.zeros(2)
        impulse[: problem.dim - 1] = outcome.path.impulse[outcome.path.labels.index("slip stops"), 1:]
    along, growth = np.array(sticking_direction(W[1, 1], W[1, 2], W[2, 2], d[0], d[1])), np.zeros(2)
    if along @ along > mu * mu:
        along = -mu * np.array(centrifugal_direction(W[1, 1], W[1, 2], W[2, 2], d[0], d[1], mu))
        growth = d + block @ along
    straight = stop, np.array([np.zeros(2), impulse]), np.array([growth, along])
    return SlipCurve(stop, end, steps, straight, mu, problem.dim)
