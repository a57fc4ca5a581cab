"""Compiled impact of one contact between a normal spring that returns e² of its work and a tangential spring
in a slider of Coulomb's.

Implicit midpoint steps: over each step the springs act with the force of their mid deflection, so that what
they take from the motion is what they store, exactly, and only slip and the steeper unloading take energy
away. Deflections are of a normal spring of stiffness one: scaled by the square root of its stiffness, an
impact does not depend on it.
"""

import math

import numba
import numpy as np

from ..compiled import kernel
from .tolerances import COMPLIANT_LEFT, COMPLIANT_ROUNDS, COMPLIANT_STEPS

RESOLVED, STEP_LIMIT, IMMOVABLE = 0, 1, 2


@kernel()
def normal_force(depth, deepest, share):
    """Force at a depth, of a spring that was pressed to `deepest` and returns `share` of the work; and the
    stiffness there."""
    if depth >= deepest:
        return depth, 1.0
    rest = (1.0 - share) * deepest
    if share <= 0.0 or depth <= rest:
        return 0.0, 0.0
    return (depth - rest) / share, 1.0 / share


@kernel()
def compliant_step(W, velocity, friction, share, stiffness, dt, depth, deepest, stretch, impulse, after):
    """One midpoint step: fill `impulse` (3,) of the step and velocities `after` (3,); the new depth."""
    for i in range(3):
        after[i] = velocity[i]
    for _ in range(COMPLIANT_ROUNDS):
        middle = depth - 0.25 * dt * (velocity[0] + after[0])
        press, _ = normal_force(middle, deepest, share)
        first = stretch[0] + 0.25 * dt * (velocity[1] + after[1])
        second = stretch[1] + 0.25 * dt * (velocity[2] + after[2])
        length = math.hypot(first, second)
        hold = stiffness
        if stiffness * length > friction * press:
            hold = friction * press / length
        impulse[0] = dt * press
        impulse[1] = -dt * hold * first
        impulse[2] = -dt * hold * second
        moved = 0.0
        for i in range(3):
            new = velocity[i] + W[i, 0] * impulse[0] + W[i, 1] * impulse[1] + W[i, 2] * impulse[2]
            moved = max(moved, abs(new - after[i]))
            after[i] = new
        if moved <= COMPLIANT_LEFT * abs(velocity[0]):
            break
    return depth - 0.5 * dt * (velocity[0] + after[0])


@kernel(allocates=True)
def compliant_impact(W, u, friction, restitution, stiffness, total):
    """Fill `total` (3,) with the impulse of one contact: W (3, 3), u (3,) (normal, tangent, tangent2), and
    the ratio of tangential to normal stiffness; how it ended."""
    total[:] = 0.0
    if u[0] >= 0.0:
        return RESOLVED
    if W[0, 0] <= 0.0:
        return IMMOVABLE
    share = restitution * restitution
    velocity, after, impulse, stretch = np.empty(3), np.empty(3), np.empty(3), np.zeros(2)
    for i in range(3):
        velocity[i] = u[i]
    fastest = math.sqrt(max(W[0, 0], stiffness * (W[1, 1] + W[2, 2])))
    depth = deepest = 0.0
    for _ in range(400 * COMPLIANT_STEPS):
        loads = velocity[0] < COMPLIANT_LEFT * u[0] and depth >= deepest
        reached = 0.0 if loads else deepest  # a spring that is pressed on knows no unloading within the step
        _, steepness = normal_force(depth, deepest, share) if velocity[0] > 0.0 else (0.0, 1.0)
        dt = 0.5 * math.pi / (COMPLIANT_STEPS * max(fastest, math.sqrt(steepness * W[0, 0])))
        new = compliant_step(
            W, velocity, friction, share, stiffness, dt, depth, reached, stretch, impulse, after
        )
        rest = (1.0 - share) * deepest
        ends = not loads and after[0] > 0.0 and new <= rest
        turns = loads and after[0] > 0.0
        if turns or (ends and depth > rest):  # up to the end of compression, or so long as the spring pushes
            low, high = 0.0, dt
            below, above = (velocity[0], after[0]) if turns else (depth - rest, new - rest)
            for _ in range(COMPLIANT_ROUNDS):
                dt = low + (high - low) * below / (below - above)
                new = compliant_step(
                    W, velocity, friction, share, stiffness, dt, depth, reached, stretch, impulse, after
                )
                value = after[0] if turns else new - rest
                if abs(value) <= COMPLIANT_LEFT * (-u[0] if turns else deepest):
                    break
                if (value < 0.0) == (below < 0.0):
                    low, below, above = dt, value, 0.5 * above
                else:
                    high, above, below = dt, value, 0.5 * below
        ends = ends or (turns and share <= 0.0)
        first = stretch[0] + 0.5 * dt * (velocity[1] + after[1])
        second = stretch[1] + 0.5 * dt * (velocity[2] + after[2])
        deepest = max(deepest, new)
        press, _ = normal_force(new, deepest, share)
        length = math.hypot(first, second)
        if stiffness * length > friction * press:
            kept = friction * press / (stiffness * length)
            first, second = kept * first, kept * second
        stretch[0], stretch[1] = first, second
        depth = new
        for i in range(3):
            velocity[i] = after[i]
            total[i] += impulse[i]
        if ends:
            return RESOLVED
    return STEP_LIMIT


@kernel(allocates=True, parallel=True)
def compliant_batch(W, u, friction, restitution, stiffness, impulse, status):
    """Fill impulse (n, 3) and status (n,) of many impacts."""
    for k in numba.prange(len(u)):
        status[k] = compliant_impact(W[k], u[k], friction[k], restitution[k], stiffness, impulse[k])
