"""Derivatives of the motion of an island in known contact modes, and what its steps measure errors by."""

import numpy as np

from ...compiled import kernel
from ..engine.tables_kernels import (
    CHANNELS,
    FRICTION,
    SLIDING,
    header,
    joint_force,
    local_acceleration,
    local_direction,
    local_force,
    local_mode,
    local_placed,
    local_slow,
)
from ..tolerances import MODE_ACCURACY
from .force_kernels import solve_mode
from .system_kernels import fill_derivative, free_accelerations, place, problem

STRAIGHT = 2
"""Of contacts that slide in a straight line until they stop, beside 1 of those that slide slowly."""

SHRINK, GROWTH = 0.2, 4.0
"""Of the length of a step: where it could not be made, and where it had no error."""

_SAFETY = 0.9


@kernel()
def derive(world, state, time, D, power, fresh):
    """Fill D (m, 13) with the derivatives of states (m, 13) at `time` [s] in the modes, and power (CHANNELS,) with
    what forces do; the contact forces found stay near those before."""
    w, s = header(world), problem(world)
    place(world, state)
    w.asked_time = time
    free_accelerations(world, state)
    placed, mode, slow, direction = (
        local_placed(world),
        local_mode(world),
        local_slow(world),
        local_direction(world),
    )
    for c in range(w.nr):
        if mode[c] == SLIDING and slow[c] == 0:
            x, y = placed[c, 16], placed[c, 17]
            speed = np.sqrt(x * x + y * y)
            if speed > 0.0:
                direction[c, 0], direction[c, 1] = x / speed, y / speed
    left = solve_mode(
        s, mode, direction, local_force(world)[: w.nr], joint_force(world)[: w.nj],
        local_acceleration(world)[: w.m],
        fresh or w.m == 1, MODE_ACCURACY * w.pull,
    )  # fmt: skip
    fill_derivative(world, state, D)
    force = local_force(world)
    w.power[FRICTION] = 0.0
    for c in range(w.nr):
        if mode[c] == SLIDING:
            w.power[FRICTION] += force[c, 1] * placed[c, 16] + force[c, 2] * placed[c, 17]
    for n in range(CHANNELS):
        power[n] = w.power[n]
    return w.failed == 0 and (left <= 1e3 * MODE_ACCURACY * w.pull or left <= 1e-9 * w.pull)


@kernel()
def scale_of(e, size, pace):
    """By which number e of a state is measured, of a body of this size [m] in an island of this pace [m/s]."""
    if e < 3:
        return size
    if e < 7:
        return 1.0
    return pace if e < 10 else pace / size


@kernel()
def resized(h, error, accuracy):
    """The length [s] of the next step of order 8, or of another try, after one of h whose error is this."""
    if error == 0.0:
        return GROWTH * h
    if not error < np.inf:
        return SHRINK * h
    root = np.sqrt(np.sqrt(np.sqrt(accuracy / error)))  # equal to the bit wherever square roots are
    return h * min(GROWTH, max(SHRINK, _SAFETY * root))
