"""Implicit steps of an island whose contacts change between sticking, slipping and parting faster than explicit
steps can follow.

Slip of 1e-4 m/s turns within microseconds into the direction in which it stays: steps that follow it are as short,
and each stop or start of slip is an event of its own. An implicit step asks for forces in the friction cones at its
end instead (Stewart and Trinkle 1996), with contacts that have just parted as rows that may press again: what
turns, stops or touches within it is where it will be. One step of a span and two of half of it tell its error, by
which its span follows; together they are a step of second order (Richardson), taken where all three agree what
presses and what sticks. At its end contacts are closed in place and in velocity, and the piece is the cubic between
both ends: between them contacts are off by the fourth power of the span.

Rejected: one step alone (of first order: 1e-6 m of error needs spans of 3e-5 s); contacts that part and touch again
as impacts (a contact that chatters then is an event each step).
"""

import numpy as np

from ...compiled import kernel
from ..engine.contacts_kernels import LIMIT
from ..engine.pairs_kernels import has_cylinder, size_of
from ..engine.tables_kernels import (
    HELD,
    NEAR,
    OPEN,
    SLIDING,
    STICKING,
    bodies,
    contacts,
    header,
    joint_force,
    local_acceleration,
    local_bodies,
    local_contacts,
    local_direction,
    local_force,
    local_friction,
    local_mode,
    local_placed,
    local_rate,
    local_slider,
    local_slow,
    local_state,
)
from ..kernels import matrix, vector, wholes
from ..tolerances import (
    CONTACT_GAP,
    FORCE_SHARE,
    FORCES_FOUND,
    IMPLICIT_ERROR,
    IMPLICIT_FORCES,
    MODE_RATE,
    NEAR_WAY,
    REST,
)
from .force_kernels import contact_rates, solve_forces
from .modes_kernels import bring_back, fastest, keep_closed, largest_force, note_levels, pull_of
from .pieces_kernels import cubic_piece, on_step, piece_work, steady_piece
from .sweeps_kernels import sweep_forces
from .system_kernels import free_accelerations, note_places, place, problem, read_forces, write_forces

_ATTEMPTS = 40
_SAFETY, _SHRINK, _GROWTH = 0.9, 0.2, 2.0


@kernel()
def touches(world, c):
    """Whether a contact that is shown is closed, not only near."""
    o = contacts(world)[local_contacts(world)[c]]
    return o.pair < 0 or local_placed(world)[c, 21] <= CONTACT_GAP * size_of(world, o.first, o.second)


@kernel(allocates=True)
def step_once(world, y, span, mode, C, end):
    """Fill end (m, 13) with the states after an implicit step of `span` [s] from states y (m, 13), C (m, 13,
    DEGREE) with its motion, local forces and accelerations with those of the step, and mode (nc,) with the modes
    at its end, negative where a contact presses from a distance; the largest acceleration without contact, or -1
    where no forces are found."""
    w, s = header(world), problem(world)
    place(world, y)
    free_accelerations(world, y)
    pull = pull_of(world)
    placed, rate, force, slider = (
        local_placed(world),
        local_rate(world),
        local_force(world),
        local_slider(world),
    )
    scale = pull
    for c in range(w.nc):
        slider[c] = 0
        row = placed[c]
        if touches(world, c):
            rate[c, 0] += row[15] / span
        else:  # it comes nearer by no more than what lets it go on so, and never arrives with speed
            rate[c, 0] += (1.5 * row[15] + row[21] / span) / span
        rate[c, 1] += row[16] / span
        rate[c, 2] += row[17] / span
        if not force[c, 0] > 0.0:
            force[c, 0] = force[c, 1] = force[c, 2] = 0.0
        for e in range(3):
            scale = max(scale, abs(rate[c, e]))
    a, p, q = local_acceleration(world)[: w.m], force[: w.nc], joint_force(world)[: w.nj]
    sweep_forces(s, p, q, IMPLICIT_FORCES * scale)
    residual, _ = solve_forces(s, p, q, a, True, IMPLICIT_FORCES * scale)
    if not residual <= FORCES_FOUND * scale:
        return -1.0
    u = matrix(w.nc, 3)
    contact_rates(s, a, u)
    top = largest_force(world)
    for c in range(w.nc):
        mode[c] = NEAR
        if force[c, 0] > FORCE_SHARE * top:
            slips = np.sqrt(u[c, 1] ** 2 + u[c, 2] ** 2)
            mode[c] = SLIDING if slips > MODE_RATE * scale else STICKING
            if local_friction(world)[c] == 0.0:
                mode[c] = HELD
            if not touches(world, c):
                mode[c] = -mode[c]  # it presses from a distance
        elif touches(world, c) and u[c, 0] <= MODE_RATE * scale:
            mode[c] = HELD
    steady_piece(world, y, span, C)
    on_step(C, 1.0, end)
    return pull


@kernel()
def difference(world, one, other, span):
    """How far two ways of making a step are apart at its end [of the length of the scene]: in place, and by what
    velocities differ over the step."""
    w, worst = header(world), 0.0
    for k in range(w.m):
        size = bodies(world)[local_bodies(world)[k]].size
        way = turned = speed = spin = 0.0
        for i in range(3):
            way += (one[k, i] - other[k, i]) ** 2
            speed += (one[k, 7 + i] - other[k, 7 + i]) ** 2
            spin += (one[k, 10 + i] - other[k, 10 + i]) ** 2
        for i in range(3, 7):
            turned += 4.0 * (one[k, i] - other[k, i]) ** 2
        worst = max(worst, way + size * size * turned, span * span * (speed + size * size * spin))
    return np.sqrt(worst) / w.length


@kernel()
def beyond(world, first, second):
    """Let `second` (m, 13), the end of two half steps, be what it and `first`, that of a whole one, tend to."""
    for k in range(header(world).m):
        x, y = first[k], second[k]
        for i in range(13):
            y[i] = 2.0 * y[i] - x[i]
        norm = np.sqrt(y[3] ** 2 + y[4] ** 2 + y[5] ** 2 + y[6] ** 2)
        for i in range(3, 7):
            y[i] /= norm


@kernel()
def can_be_near(world, c):
    """Whether a contact that has parted may stay among those that can press again: its features know no end of the
    gap, as the ends of cylinders and the limits of joints do."""
    o = contacts(world)[local_contacts(world)[c]]
    return o.pair >= 0 and o.feature[0] != LIMIT and not has_cylinder(world, o.first, o.second)


@kernel()
def end_modes(world, last, way):
    """Let modes be those found at the end of a step, where the island is placed; contacts that are farther apart
    than `way` [m] open."""
    w, mode, placed = header(world), local_mode(world), local_placed(world)
    slow, direction = local_slow(world), local_direction(world)
    for c in range(w.nc):
        o = contacts(world)[local_contacts(world)[c]]
        if mode[c] == NEAR:
            o.level = np.nan  # it closes where it is now
        mode[c], slow[c] = last[c], 0
        if last[c] < 0 or last[c] == NEAR:
            mode[c] = NEAR if placed[c, 21] <= way and can_be_near(world, c) else OPEN
        elif last[c] == SLIDING:
            x, y = placed[c, 16], placed[c, 17]
            slip = np.sqrt(x * x + y * y)
            if slip > 0.0:
                direction[c, 0], direction[c, 1] = x / slip, y / slip


@kernel(allocates=True)
def make_implicit_step(world, longest, C, work):
    """An implicit step of the island that is shown from its states now, at most `longest` [s].

    Fills C (m, 13, DEGREE), and work (CHANNELS, DEGREE), by powers of the share of it, and the modes and forces at
    its end. Returns (its length, or 0 where no forces are found; the length to try next; whether bodies stand still
    at its end).
    """
    w = header(world)
    y = local_state(world)[: w.m]
    whole, middle, end = matrix(w.m, 13), matrix(w.m, 13), matrix(w.m, 13)
    first, half, last, mean, joint = wholes(w.nc), wholes(w.nc), wholes(w.nc), matrix(w.nc, 3), vector(w.nj)
    force, joints = local_force(world), joint_force(world)
    place(world, y)
    read_forces(world)
    note_places(world)
    h, following, pull, found = longest, longest, 0.0, False
    for _ in range(_ATTEMPTS):
        least = h <= w.longest_micro_step
        found = step_once(world, y, h, first, C, whole) >= 0.0
        if found:
            found = step_once(world, y, 0.5 * h, half, C, middle) >= 0.0
            for c in range(w.nc):
                for e in range(3):
                    mean[c, e] = force[c, e]
            for c in range(w.nj):
                joint[c] = joints[c]
        if found:
            pull = step_once(world, middle, 0.5 * h, last, C, end)
            found = pull >= 0.0
        if found:
            error = difference(world, whole, end, h) / IMPLICIT_ERROR
            share = _GROWTH
            if error > 0.0:
                share = min(_GROWTH, max(_SHRINK, _SAFETY / np.sqrt(error)))
            following = h * share
            if error <= 1.0 or least:
                break
            h = following
        elif least:
            break
        else:
            h *= _SHRINK
        h = max(h, w.longest_micro_step)
    if not found:
        return 0.0, longest, False
    agree = True
    for c in range(w.nc):
        agree = agree and first[c] == half[c] == last[c] > 0
        for e in range(3):
            mean[c, e] = 0.5 * (mean[c, e] + force[c, e])
    for c in range(w.nj):
        joint[c] = 0.5 * (joint[c] + joints[c])
    if agree:
        beyond(world, whole, end)
    place(world, end)
    end_modes(world, last, NEAR_WAY * pull * w.longest_implicit_step**2)
    note_levels(world)
    bring_back(world, end, False)
    keep_closed(world, end, True, True)
    for c in range(w.nc):
        for e in range(3):
            force[c, e] = mean[c, e]
    for c in range(w.nj):
        joints[c] = joint[c]
    write_forces(world)
    calm = fastest(world, end) <= REST * w.speed and w.never_rests == 0
    place(world, y)
    cubic_piece(world, y, end, h, C)
    piece_work(world, h, C, work)
    return h, following, calm
