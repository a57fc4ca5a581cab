"""Compiled judgement of an impulse: energy, approach left, and the rounding that no law can be blamed for."""

import numpy as np

from ..compiled import kernel
from .tolerances import ENERGY_GAIN, LCP_RESIDUAL, OUTCOME_RESIDUAL, PRESSES, ROUNDING

FINE, APPROACHES, GAINS_ENERGY = 0, 1, 2


@kernel()
def trace(inertia, before, stages, impulses, velocities):
    """Fill impulses (k + 1, n) with a zero row before the stages, and velocities = before + inertia impulses."""
    n = before.size
    for i in range(n):
        impulses[0, i] = 0.0
        velocities[0, i] = before[i]
    for k in range(stages.shape[0]):
        for i in range(n):
            impulses[k + 1, i] = stages[k, i]
            total = 0.0
            for j in range(n):
                total += inertia[i, j] * stages[k, j]
            velocities[k + 1, i] = before[i] + total


@kernel()
def kinetic_scales(inertia, dim, scale):
    """Fill scale (nc,) with √W_nn of every contact; an immovable one has none of its own, and gets the largest."""
    largest = 0.0
    for c in range(scale.size):
        scale[c] = np.sqrt(max(inertia[dim * c, dim * c], 0.0))
        largest = max(largest, scale[c])
    for c in range(scale.size):
        if scale[c] == 0.0:
            scale[c] = largest if largest > 0.0 else 1.0


@kernel()
def work_of(inertia, impulse, before):
    """What an impulse gives bodies that move with `before` as they do, and what its response adds [J]: energy
    changes by the sum."""
    given = stored = 0.0
    for i in range(impulse.size):
        response = 0.0
        for j in range(impulse.size):
            response += inertia[i, j] * impulse[j]
        given += impulse[i] * before[i]
        stored += 0.5 * impulse[i] * response
    return given, stored


@kernel()
def judge(inertia, impulse, before, response, velocity, kinetic_scale, dim, threshold):
    """Verdict on velocity = before + response, response = inertia @ impulse: (code, least approach measure after,
    energy change). A measure above `threshold`, at most 0, is no approach."""
    least = 1e300
    largest = 0.0
    smallest_scale = 1e300
    for c in range(kinetic_scale.size):
        scale = kinetic_scale[c]
        smallest_scale = min(smallest_scale, scale)
        least = min(least, velocity[dim * c] / scale)
        largest = max(largest, abs(before[dim * c]) / scale)
    fastest = 0.0
    measure = 0.0  # of the fastest component, in the kinetic metric
    strongest = 0.0
    given = 0.0
    stored = 0.0
    pressed = 0.0
    for i in range(impulse.size):
        fastest = max(fastest, abs(before[i]))
        pressed += abs(impulse[i])
        if inertia[i, i] > 0.0:
            measure = max(measure, abs(before[i]) / np.sqrt(inertia[i, i]))
        strongest = max(strongest, abs(response[i]))
        given += impulse[i] * before[i]
        stored += 0.5 * impulse[i] * response[i]
    # velocities carry the rounding of their largest component, tangential ones included
    rounding = ROUNDING * (fastest + strongest)
    code = FINE
    # and solvers err by a fraction of the fastest component: slow approach beside fast slip cannot be met better
    if not least >= min(
        threshold, -OUTCOME_RESIDUAL * largest - LCP_RESIDUAL * measure - rounding / smallest_scale
    ):
        code = APPROACHES
    elif not given + stored <= ENERGY_GAIN * (abs(given) + stored) + rounding * pressed:
        code = GAINS_ENERGY
    return code, least, given + stored


@kernel(allocates=True)
def meets(inertia, asked, impulse, kinetic_scale, dim, threshold):
    """Whether asked + inertia @ impulse leaves no normal velocity below zero, as accurately as the contract of
    laws asks, and none above where contacts press.

    Contacts that are in each other's way can be pressed ever harder, and a residual be small beside that: then
    velocities are off by what a share of PRESSES does not hide.
    """
    n = asked.size
    largest = off = fastest = strongest = measure = 0.0
    after = np.empty(n)
    for i in range(n):
        after[i] = asked[i]
        for j in range(n):
            after[i] += inertia[i, j] * impulse[j]
            strongest = max(strongest, abs(inertia[i, j] * impulse[j]))
        fastest = max(fastest, abs(asked[i]), abs(after[i]))
        if inertia[i, i] > 0.0:
            measure = max(measure, abs(asked[i]) / np.sqrt(inertia[i, i]))
    if PRESSES * strongest > fastest:
        return False
    for c in range(kinetic_scale.size):
        largest = max(largest, abs(asked[dim * c]) / kinetic_scale[c])
    # half of what `judge` lets pass, since half of what is asked for may be restitution
    least = min(threshold, -0.5 * (OUTCOME_RESIDUAL * largest + LCP_RESIDUAL * measure))
    for c in range(kinetic_scale.size):
        left = after[dim * c] / kinetic_scale[c]
        presses = impulse[dim * c] * kinetic_scale[c] > PRESSES * largest
        if left < least:
            return False
        off = max(off, left if presses else 0.0)
    return off <= max(PRESSES * largest, -least)
