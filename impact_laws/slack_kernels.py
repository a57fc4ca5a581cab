"""Compiled relaxation over contacts that may go on approaching, each at a speed of its own."""

import numpy as np

from ..compiled import kernel
from .relaxation_kernels import one_contact
from .tolerances import DISSIPATION_POLISH, RELAXATION_POLISH


@kernel()
def velocity_without(c, bodies, jacobian, block, slack, x, velocity, old, b):
    """Fill old (3,) with the impulse of contact c and b (3,) with -(its velocity without it, normal plus slack)."""
    for r in range(3):
        old[r] = x[c, r]
    for r in range(3):
        b[r] = block[r, 0] * old[0] + block[r, 1] * old[1] + block[r, 2] * old[2]
        for side in range(2):
            body = bodies[c, side]
            if body >= 0:
                for j in range(6):
                    b[r] -= jacobian[c, side, r, j] * velocity[body, j]
    b[0] -= slack[c]


@kernel()
def give(c, bodies, response, x, velocity, old, new):
    """Replace the impulse `old` of contact c by `new`, in x and in the velocities of its bodies."""
    for r in range(3):
        step = new[r] - old[r]
        x[c, r] = new[r]
        if step != 0.0:
            for side in range(2):
                body = bodies[c, side]
                if body >= 0:
                    for j in range(6):
                        velocity[body, j] += step * response[c, side, r, j]


@kernel()
def relax_with_slack(
    bodies, jacobian, response, blocks, friction, frames, rule, slack, x, velocity, apply, sweeps, tolerance
):  # fmt: skip
    """As `relaxation_kernels.relax_colours`, but one contact after the other, each with its slack (nc,)."""
    b, old, new = np.empty(3), np.empty(3), np.empty(3)
    polish = RELAXATION_POLISH if apply else DISSIPATION_POLISH
    change = np.inf
    for sweep in range(sweeps):
        farthest = 0.0
        largest = 0.0
        for c in range(friction.size):
            velocity_without(c, bodies, jacobian, blocks[c], slack, x, velocity, old, b)
            if blocks[c, 0, 0] > 0.0:
                one_contact(blocks[c], b, friction[c], frames[c], rule, 3, old, new, polish)
            else:
                new[:] = 0.0
            distance = length = 0.0
            for r in range(3):
                distance += (new[r] - old[r]) ** 2
                length += max(new[r] * new[r], old[r] * old[r])
            farthest, largest = max(farthest, distance), max(largest, length)
            if apply:
                give(c, bodies, response, x, velocity, old, new)
        if largest == 0.0:
            return sweep + 1, 0.0
        change = np.sqrt(farthest / largest)
        if change <= tolerance:
            return sweep + 1, change
    return sweeps, change
