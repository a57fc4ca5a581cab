"""Newton's restitution for laws that resolve all contacts at once: normal velocities that an impact has to leave.

A contact i that approaches with u_i < 0 and coefficient e_i is asked for v_i >= -e_i u_i, one that does not for
v_i >= 0, each with equality where it presses. Where all contacts approach or touch at rest and there is no
friction, energy is never gained, whatever the coefficients: with v_i = -e_i u_i wherever p_i > 0,

    ΔE = ½ Σ p_i (v_i + u_i) = ½ Σ p_i (1 - e_i) u_i <= 0.

Where a contact that separates is pressed by others (u_i > 0 there), or friction gives back what tangential motion
had (Kane & Levinson 1985), the same sum can be above zero; and where contacts are in each other's way there may be
no such velocities at all. Then all coefficients count with one share of them, the largest for which energy is not
gained; share 0 is the impact without restitution, of which each law shows that it never gains energy. So the
guarantee is proved for every problem, and the coefficients are what they are named wherever they can be.

Rejected: Poisson's hypothesis for all contacts (a decompression by e_i times the impulse of compression gains
energy with unequal coefficients and friction as well, and needs a second problem); coefficients of contacts made
smaller one by one (which of them is a choice that nothing in the problem makes).
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from .impact_problem import ImpactProblem
from .law import power_of_two
from .outcome import ImpactOutcome
from .outcome_kernels import meets
from .tolerances import RESTITUTION_FAILURES, RESTITUTION_GAIN, RESTITUTION_SHARE, RESTITUTION_STEPS

Array = NDArray[np.float64]


class Judged(Protocol):
    """What an outcome has to say of itself for its restitution to be judged."""

    @property
    def resolved(self) -> bool:
        """Whether the law found it."""

    @property
    def energy_change(self) -> float:
        """[J]."""

    @property
    def impulse(self) -> Array:
        """Of all contacts, one after the other [N s]."""


Outcome = TypeVar("Outcome", bound=Judged)


def rebound(problem: ImpactProblem) -> Array:
    """Normal velocities (nc,) [m/s] that contacts are to have at least: -e u of those that approach, else 0."""
    _, velocity, _, restitution = problem.kernel_arrays()
    return restitution * np.maximum(-velocity[:: problem.dim], 0.0)


def asked_for(problem: ImpactProblem, normal: Array) -> Array:
    """Velocities (dim*nc,) whose solution without restitution leaves normal velocities (nc,) of `normal`."""
    _, velocity, _, _ = problem.kernel_arrays()
    asked = velocity.copy()
    asked[:: problem.dim] -= normal
    return asked


def leaves(problem: ImpactProblem, outcome: ImpactOutcome, normal: Array) -> bool:
    """Whether an outcome leaves normal velocities (nc,) of at least `normal`, of no more where they press, and no
    more energy than there was."""
    inertia, velocity, _, _ = problem.kernel_arrays()
    if not outcome.resolved or gains(outcome, velocity):
        return False
    return bool(
        meets(
            inertia,
            asked_for(problem, normal),
            outcome.impulse,
            problem.kinetic_scale_array,
            problem.dim,
            problem.approach_threshold,
        )
    )


def gains(outcome: Judged, before: Array) -> bool:
    """Whether an outcome for velocities `before`, in the shape of its impulse, gains energy, beyond rounding: less
    than a law without restitution may err by, since the largest share is where nothing is lost."""
    return outcome.energy_change > RESTITUTION_GAIN * abs(float(np.vdot(outcome.impulse, before)))


def possible_share(problem: ImpactProblem, normal: Array) -> float:
    """The largest share of normal velocities (nc,) that contacts can have together without friction: above that
    they are in each other's way."""
    inertia, velocity, _, _ = problem.kernel_arrays()
    dim, count = problem.dim, problem.contact_count
    scale = power_of_two(problem.kinetic_scale_array)
    N = inertia[::dim, ::dim] / scale[:, None] / scale
    speed = float(power_of_two(np.abs(velocity[::dim] / scale).max()))
    found = linprog(
        np.concatenate([np.zeros(count), [-1.0]]),
        A_ub=np.column_stack([-N, normal / scale / speed]),
        b_ub=velocity[::dim] / scale / speed,
        bounds=[(0.0, None)] * count + [(0.0, 1.0)],
        method="highs",
    )
    return float(found.x[-1]) if found.status == 0 else 1.0


def with_largest_share(problem: ImpactProblem, solve: Callable[[Array], ImpactOutcome]) -> ImpactOutcome:
    """The outcome of `solve`, asked for the normal velocities of `rebound`, or for the largest share of them with
    which it resolves the problem without a gain of energy; ``info["restitution_share"]`` tells it where it is
    below 1."""
    wanted = rebound(problem)
    if not wanted.any():
        return solve(wanted)
    found, share = largest_share(
        lambda share: solve(share * wanted),
        lambda outcome, share: leaves(problem, outcome, share * wanted),
        lambda outcome: gains(outcome, problem.u),
        lambda: possible_share(problem, wanted),
    )
    if share == 1.0 or not found.resolved:
        return found
    return replace(found, info={**found.info, "restitution_share": share})


def largest_share(
    solve: Callable[[float], Outcome],
    holds: Callable[[Outcome, float], bool],
    gains: Callable[[Outcome], bool],
    most: Callable[[], float],
) -> tuple[Outcome, float]:
    """The outcome of the largest share of the coefficients that `holds`, without a gain of energy, and that share.

    solve : the outcome of a share, from 0 to 1
    holds : whether an outcome is what was asked for with a share
    gains : whether it gains energy
    most : the largest share that can be had, asked where all of them cannot be and yet gain nothing

    The share is found by false position on the energy change (Illinois: the end that stays twice counts half), by
    halving where there is none.
    """
    outcome = solve(1.0)
    if holds(outcome, 1.0):
        return outcome, 1.0
    best = solve(0.0)
    if not best.resolved:
        return best, 0.0
    low, high, side, failures = 0.0, 1.0, 0, 0
    below, above = min(best.energy_change, 0.0), outcome.energy_change
    if not gains(outcome):
        high, above = min(1.0, most()), 0.0
    for _ in range(RESTITUTION_STEPS):
        if high - low <= RESTITUTION_SHARE:
            break
        share = 0.5 * (low + high)
        if above > 0.0 > below:
            share = min(max(low - below * (high - low) / (above - below), low), high)
            share = min(max(share - 0.1 * RESTITUTION_SHARE, low + 0.01 * (high - low)), high)
        trial = solve(share)
        if holds(trial, share):
            low, below, best = share, min(trial.energy_change, 0.0), trial
            above = 0.5 * above if side == 1 else above
            side = 1
        else:
            gained = gains(trial)
            high, above = share, trial.energy_change if gained else 0.0
            below = 0.5 * below if side == -1 else below
            side, failures = -1, failures + (not gained)
            if failures == RESTITUTION_FAILURES:
                break
    return best, low
