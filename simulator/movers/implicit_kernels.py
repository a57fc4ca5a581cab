"""Implicit steps of an island whose contacts change between sticking, slipping and parting faster than explicit
steps can follow.

Slip of 1e-4 m/s turns within microseconds into the direction in which it stays: steps that follow it are as short,
and each stop or start of slip is an event of its own. An implicit step asks for forces in the friction cones at its
end instead (Stewart and Trinkle 1996), with contacts that have just parted as rows that may press again: what
turns, stops or touches within it is where it will be. One step of a span and two of half of it tell its error, by
which its span follows; together they are a step of second order (Richardson), taken of bodies for whose contacts
all three agree what presses and what sticks. At its end contacts are closed in place and in velocity, and the piece
is the cubic between both ends: between them contacts are off by the fourth power of the span.

Rejected: one step alone (of first order: 1e-6 m of error needs spans of 3e-5 s); contacts that part and touch again
as impacts (a contact that chatters then is an event each step).
"""

import numpy as np

from ...compiled import kernel
from ..collision.convex_contacts_kernels import RIM_POINTS, rim_direction
from ..collision.frames_kernels import room_on_face
from ..engine.contacts_kernels import FACE, POINT
from ..engine.pairs_kernels import ROUND, ROUND_MESH, kind_of, size_of
from ..engine.shapes_kernels import shape_of
from ..engine.tables_kernels import (
    CLOSING,
    DEGREE,
    FRICTION,
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
    local_ends,
    local_force,
    local_friction,
    local_geometry,
    local_mode,
    local_placed,
    local_rate,
    local_slider,
    local_slow,
    local_state,
    motions,
)
from ..kernels import matrix, matrix3x3, rotation_matrix_into, turned, turned_back, vector, vector13, wholes
from ..tolerances import (
    CONTACT_GAP,
    FORCE_SHARE,
    FORCES_FOUND,
    IMPLICIT_ERROR,
    IMPLICIT_FORCES,
    IMPLICIT_GAIN,
    IMPLICIT_OVERLAP,
    MODE_RATE,
    NEAR_WAY,
    REST,
    RIM_OVERLAP,
)
from .force_kernels import INEXACT, contact_rates, solve_forces
from .modes_kernels import (
    bring_back,
    fastest,
    is_closed,
    keep_closed,
    largest_force,
    note_levels,
    pull_of,
    within_touch,
)
from .pieces_kernels import (
    bump,
    cubic_piece,
    friction_work,
    implicit_work,
    kinetic_energy,
    on_step,
    scale_of_energy,
    steady_piece,
)
from .sweeps_kernels import STEADY, SWEEPS, sweep_forces
from .system_kernels import free_accelerations, note_places, place, problem, read_forces, write_forces
from .turns_kernels import hidden_turn, hide_turns, show_hidden

_ATTEMPTS, _CATCHES, _FOLLOWS = 40, 4, 4
_SAFETY, _SHRINK, _GROWTH = 0.9, 0.2, 2.0


@kernel()
def touches(world, c):
    """Whether a contact that is shown is closed, not only near."""
    o = contacts(world)[local_contacts(world)[c]]
    return o.pair < 0 or local_placed(world)[c, 21] <= CONTACT_GAP * size_of(world, o.first, o.second)


@kernel(allocates=True)
def step_once(world, y, time, span, landing, mode, C, end):
    """Fill end (m, 13) with the states after an implicit step of `span` [s] from states y (m, 13) at `time` [s], C
    (m, 13, DEGREE) with its motion, local forces and accelerations with those of the step, and mode (nc,) with the
    modes at its end, negative where a contact presses from a distance; the largest acceleration without contact, or
    -1 where no forces are found. Contacts that are only near come nearer by so much that they would take `landing`
    [s] for their gap, so that they never arrive with speed, also in a next step twice as long."""
    w, s = header(world), problem(world)
    place(world, y)
    w.asked_time = time
    free_accelerations(world, y)
    pull = pull_of(world)
    placed, rate, force, slider = (
        local_placed(world),
        local_rate(world),
        local_force(world),
        local_slider(world),
    )
    scale = pull
    for c in range(w.nr):
        slider[c] = 0
        row = placed[c]
        if c >= w.nc:
            rate[c, 0] = 0.0
        elif touches(world, c):
            rate[c, 0] += row[15] / span
        else:
            rate[c, 0] += (1.5 * row[15] + row[21] / landing) / span
        rate[c, 1] += row[16] / span
        rate[c, 2] += row[17] / span
        if not force[c, 0] > 0.0:
            force[c, 0] = force[c, 1] = force[c, 2] = 0.0
        for e in range(3):
            scale = max(scale, abs(rate[c, e]))
    a, p, q = local_acceleration(world)[: w.m], force[: w.nr], joint_force(world)[: w.nj]
    u, hides = matrix(w.nr, 3), hide_turns(world)
    sweep_forces(s, p, q, IMPLICIT_FORCES * scale, SWEEPS, STEADY)
    residual, _ = solve_forces(s, p, q, a, True, IMPLICIT_FORCES * scale, INEXACT)
    contact_rates(s, a, u)
    if hides and (not residual <= FORCES_FOUND * scale or hidden_turn(world, u, MODE_RATE * scale)):
        show_hidden(world)
        sweep_forces(s, p, q, IMPLICIT_FORCES * scale, SWEEPS, STEADY)
        residual, _ = solve_forces(s, p, q, a, True, IMPLICIT_FORCES * scale, INEXACT)
        contact_rates(s, a, u)
    if hides:
        show_hidden(world)
    if not residual <= FORCES_FOUND * scale:
        return -1.0
    top = largest_force(world)
    for c in range(w.nr):
        mode[c] = NEAR if c < w.nc else OPEN
        if force[c, 0] > FORCE_SHARE * top:
            slips = np.sqrt(u[c, 1] ** 2 + u[c, 2] ** 2)
            mode[c] = SLIDING if slips > MODE_RATE * scale else STICKING
            if local_friction(world)[c] == 0.0:
                mode[c] = HELD
            if c < w.nc and not touches(world, c):
                mode[c] = -mode[c]  # it presses from a distance
        elif c < w.nc and touches(world, c) and u[c, 0] <= MODE_RATE * scale:
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


@kernel(allocates=True)
def beyond(world, first, second, modes, half, last):
    """Let `second` (m, 13), the end of two half steps, be what it and `first`, that of a whole one, tend to, of
    bodies whose contacts have one mode (nc,) in all three."""
    w, s = header(world), problem(world)
    agree = wholes(w.m)
    for k in range(w.m):
        agree[k] = 1
    for c in range(w.nr):
        if not modes[c] == half[c] == last[c] > (0 if c < w.nc else -1):
            for side in range(2):
                if s.ends[c, side] >= 0:
                    agree[s.ends[c, side]] = 0
    for k in range(w.m):
        if agree[k] == 0:
            continue
        x, y = first[k], second[k]
        for i in range(13):
            y[i] = 2.0 * y[i] - x[i]
        norm = np.sqrt(y[3] ** 2 + y[4] ** 2 + y[5] ** 2 + y[6] ** 2)
        for i in range(3, 7):
            y[i] /= norm


@kernel()
def end_on_face(world, o):
    """The side of a contact that touches a face with a point of an end of a cylinder, -1 where none does."""
    if o.pair < 0 or kind_of(world, o.first, o.second) == ROUND_MESH:
        return -1
    for side in range(2):
        body = o.second if side == 1 else o.first
        if (
            bodies(world)[body].shape_class == ROUND
            and o.feature[side] == POINT
            and o.feature[1 - side] == FACE
        ):
            return side
    return -1


@kernel()
def pose_at(world, body, k, end, state, R):
    """Fill a packed state (13,) and rotation R (3, 3) with those of a body: number k of states end (m, 13), or, at
    -1, one that does not move."""
    for i in range(13):
        state[i] = end[k, i] if k >= 0 else motions(world)[body].state[i]
    rotation_matrix_into(state[3:7], R)


@kernel()
def lies_on(world, c, side, x, y, z, end):
    """Whether a place (world axes) is on the face that contact c that is shown has on its other side, at the states
    end (m, 13)."""
    o = contacts(world)[local_contacts(world)[c]]
    body, k = (o.first if side == 1 else o.second), local_ends(world)[c, 1 - side]
    if bodies(world)[body].level < 0:
        return True
    state, R, shape = vector13(), matrix3x3(), shape_of(world, body)
    pose_at(world, body, k, end, state, R)
    x, y, z = turned_back(R, x - state[0], y - state[1], z - state[2])
    if bodies(world)[body].shape_class == ROUND:
        x, y = x - shape.points[0, 0], y - shape.points[0, 1]
        return x * x + y * y <= shape.disk * shape.disk
    return room_on_face(shape, o.index[1 - side], x, y, z) >= 0.0


@kernel()
def follow_rims(world, end):
    """Let points of ends of cylinders be where their rims come down on faces, at the states end (m, 13) at which
    the island is placed, where these overlap between two points; whether any do.

    A rim is above a face where its centre is at least the radius times the lean above it, a convex cone: what holds
    at both ends of a step holds between them, but for what the motion there is not straight.
    """
    w, moved = header(world), False
    for c in range(w.nc):
        o, row = contacts(world)[local_contacts(world)[c]], local_placed(world)[c]
        side = end_on_face(world, o)
        if side < 0:
            continue
        body, k, sign = (o.second if side == 1 else o.first), local_ends(world)[c, side], 1.0 - 2.0 * side
        state, R = vector13(), matrix3x3()
        pose_at(world, body, k, end, state, R)
        mx, my, _ = turned_back(R, sign * row[0], sign * row[1], sign * row[2])
        shape = shape_of(world, body)
        which, most = o.index[side] % RIM_POINTS, shape.points[o.index[side] // RIM_POINTS]
        x, y = rim_direction(which, mx, my, 0.0)
        x, y, z = most[0] + shape.disk * x, most[1] + shape.disk * y, most[2]
        g, lower = o.geometry, 0.0
        ax, ay, az = turned(R, x, y, z)
        ax, ay, az = ax + state[0], ay + state[1], az + state[2]
        if k < 0:
            x, y, z = ax, ay, az
            lower = sign * (row[0] * (g[0] - x) + row[1] * (g[1] - y) + row[2] * (g[2] - z))
        else:
            lower = mx * (g[0] - x) + my * (g[1] - y)
        deep = lower - max(row[21], 0.0)  # what a closed contact is off is not the rim's
        if deep > RIM_OVERLAP * w.length and lies_on(world, c, side, ax, ay, az, end):
            shown = local_geometry(world)[c]
            g[0], g[1], g[2] = x, y, z
            shown[0], shown[1], shown[2] = x, y, z
            moved = True
            if local_mode(world)[c] == NEAR:
                o.level = np.nan
    return moved


@kernel()
def land_within(world, h):
    """The longest step [s], at most h, over which contacts that are only near can come to rest in their gap."""
    placed = local_placed(world)
    for c in range(header(world).nc):
        if placed[c, 15] < 0.0 and not touches(world, c):
            h = min(h, -2.0 * placed[c, 21] / placed[c, 15])
    return h


@kernel()
def end_modes(world, last, way):
    """Let modes be those found at the end of a step, where the island is placed; contacts that are farther apart
    than `way` [m] open."""
    w, mode, placed = header(world), local_mode(world), local_placed(world)
    slow, direction = local_slow(world), local_direction(world)
    for c in range(w.nr):
        o = contacts(world)[local_contacts(world)[c]]
        if c < w.nc and mode[c] == NEAR:
            o.level = np.nan  # it closes where it is now
        mode[c], slow[c] = last[c], 0
        if c < w.nc and (last[c] < 0 or last[c] == NEAR):
            mode[c] = NEAR if placed[c, 21] <= way else OPEN
        elif last[c] == SLIDING:
            x, y = placed[c, 16], placed[c, 17]
            slip = np.sqrt(x * x + y * y)
            if slip > 0.0:
                direction[c, 0], direction[c, 1] = x / slip, y / slip


@kernel()
def catch_overlaps(world, caught):
    """Let contacts that are only near, and that the closing of others has made overlap, be closed with them, and
    note them (nc,); whether there are any."""
    w, any_caught = header(world), False
    for c in range(w.nc):
        if local_mode(world)[c] == NEAR and local_placed(world)[c, 21] < 0.0:
            contacts(world)[local_contacts(world)[c]].level = 0.0
            local_mode(world)[c], caught[c], any_caught = HELD, 1, True
    return any_caught


@kernel()
def catch_approach(world):
    """Let contacts that touch, and that the closing of others has made approach, be closed with them; whether there
    are any."""
    w, any_caught = header(world), False
    for c in range(w.nc):
        if local_mode(world)[c] == NEAR and touches(world, c) and local_placed(world)[c, 15] < 0.0:
            o = contacts(world)[local_contacts(world)[c]]
            o.level = within_touch(world, o, local_placed(world)[c, 21])
            local_mode(world)[c], any_caught = HELD, True
    return any_caught


@kernel(allocates=True)
def make_implicit_step(world, longest, C, work):
    """An implicit step of the island that is shown from its states now, at most `longest` [s].

    Fills C (m, 13, DEGREE), and work (CHANNELS, DEGREE), by powers of the share of it, and the modes and forces at
    its end. Returns (its length, or 0 where no forces are found; the length to try next; whether bodies stand still
    at its end).
    """
    w = header(world)
    y, mode = local_state(world)[: w.m], local_mode(world)
    whole, end, kept, level = matrix(w.m, 13), matrix(w.m, 13), wholes(w.nr), vector(w.nc)
    points = matrix(w.nc, 3)
    first, half, last, mean, joint = wholes(w.nr), wholes(w.nr), wholes(w.nr), matrix(w.nr, 3), vector(w.nj)
    rubbed = vector(2)
    place(world, y)
    read_forces(world)
    note_places(world)
    for c in range(w.nr):
        kept[c] = mode[c]
    for c in range(w.nc):
        o = contacts(world)[local_contacts(world)[c]]
        level[c] = o.level
        for i in range(3):
            points[c, i] = o.geometry[i]
    h, follows, once = max(land_within(world, longest), w.longest_micro_step), 0, False
    for _ in range(_ATTEMPTS):
        least = h <= w.longest_micro_step
        pull = step_both_ways(world, y, h, C, whole, end, first, half, last, mean, joint, rubbed)
        if pull < 0.0:
            if least:
                break
            h = max(_SHRINK * h, w.longest_micro_step)
            continue
        error, share = difference(world, whole, end, h) / IMPLICIT_ERROR, _GROWTH
        if error > 0.0:
            share = min(_GROWTH, max(_SHRINK, _SAFETY / np.sqrt(error)))
        if error > 1.0 and not least:
            h = max(h * share, w.longest_micro_step)
            continue
        if once:
            pull = step_once(world, y, w.time, h, 2.0 * h, last, C, end)
            note_forces(world, mean, joint)
            early, late = friction_work(world, h)
            rubbed[0], rubbed[1] = 0.5 * early + 0.25 * late, 0.5 * early + 0.75 * late
        else:
            beyond(world, whole, end, first, half, last)
        place(world, end)
        if follows < _FOLLOWS and follow_rims(world, end):
            follows += 1
            place(world, y)
            continue
        end_modes(world, last, NEAR_WAY * pull * w.longest_implicit_step**2)
        close_end(world, end)
        for c in range(w.nr):
            for e in range(3):
                local_force(world)[c, e] = mean[c, e]
        for c in range(w.nj):
            joint_force(world)[c] = joint[c]
        write_forces(world)
        calm = fastest(world, end) <= REST * w.speed and w.never_rests == 0
        place(world, y)
        cubic_piece(world, y, end, h, C)
        implicit_work(world, h, C, rubbed, work)
        if slow_down(world, end, work):
            cubic_piece(world, y, end, h, C)
            implicit_work(world, h, C, rubbed, work)
        bumps = bump(world, work) > IMPLICIT_GAIN * scale_of_energy(world)
        if once and bumps:
            end_evenly(world, y, end, h, C)
            implicit_work(world, h, C, rubbed, work)
            bumps = False
        limit_friction(work)
        if not bumps and (least or deepest_on(world, C, h, whole) <= IMPLICIT_OVERLAP * w.length):
            return h, h * share, calm
        put_back(world, kept, level, points)
        once = bumps and least
        h, follows = max(0.5 * h, w.longest_micro_step), 0
    put_back(world, kept, level, points)
    return 0.0, longest, False


@kernel()
def end_evenly(world, y, end, h, C):
    """Let velocities change evenly over a step of h [s] from states y (m, 13) to those of `end`, by the local
    accelerations, which are the mean ones: energy, which is convex in them, has no bump within. Fills `end` and C
    (m, 13, DEGREE); what is closed stays at the gap that it has then. The island is placed at y."""
    steady_piece(world, y, h, C)
    on_step(C, 1.0, end)
    place(world, end)
    for c in range(header(world).nc):
        o = contacts(world)[local_contacts(world)[c]]
        if is_closed(local_mode(world)[c]):
            o.level = within_touch(world, o, local_placed(world)[c, 21])
    place(world, y)


@kernel()
def limit_friction(work):
    """Let friction take no more energy in a step with this work (CHANNELS, DEGREE) than bodies lose, where closing
    contacts would have to give some: its share is known by the forces of the halves, theirs as what is left."""
    rubbed = given = 0.0
    for p in range(DEGREE):
        rubbed += work[FRICTION, p]
        given += work[CLOSING, p]
    if rubbed < 0.0 < given:
        share = min(given / -rubbed, 1.0)
        for p in range(DEGREE):
            more = share * work[FRICTION, p]
            work[FRICTION, p] -= more
            work[CLOSING, p] += more


@kernel()
def note_forces(world, mean, joint):
    """Note local forces of contacts (nr, 3) and joints (nj,)."""
    for c in range(header(world).nr):
        for e in range(3):
            mean[c, e] = local_force(world)[c, e]
    for c in range(header(world).nj):
        joint[c] = joint_force(world)[c]


@kernel()
def put_back(world, kept, level, points):
    """Let contacts that are shown have the modes (nr,), levels (nc,) and places on P (nc, 3) that they had."""
    for c in range(header(world).nr):
        local_mode(world)[c] = kept[c]
    for c in range(header(world).nc):
        o, shown = contacts(world)[local_contacts(world)[c]], local_geometry(world)[c]
        o.level = level[c]
        for i in range(3):
            o.geometry[i] = shown[i] = points[c, i]


@kernel(allocates=True)
def step_both_ways(world, y, h, C, whole, end, first, half, last, mean, joint, rubbed):
    """Make a step of h [s] from states y (m, 13) at once, which ends in `whole`, and in two halves, which end in
    `end`, with the modes of all three, and of the halves the mean forces and the work `rubbed` (2,) of friction;
    as `step_once`."""
    w = header(world)
    middle = matrix(w.m, 13)
    if step_once(world, y, w.time, h, 2.0 * h, first, C, whole) < 0.0:
        return -1.0
    for part in range(2):
        pull = step_once(
            world, middle if part else y, w.time + 0.5 * h * part, 0.5 * h, 2.0 * h, last if part else half, C,
            end if part else middle,
        )  # fmt: skip
        if pull < 0.0:
            return -1.0
        early, late = friction_work(world, 0.5 * h)
        rubbed[part] = early + late
        for c in range(w.nr):
            for e in range(3):
                mean[c, e] = 0.5 * local_force(world)[c, e] + (mean[c, e] if part else 0.0)
        for c in range(w.nj):
            joint[c] = 0.5 * joint_force(world)[c] + (joint[c] if part else 0.0)
    return pull


@kernel(allocates=True)
def close_end(world, end):
    """Close contacts and joints at the end of a step, in place and in velocity, by a change of states end (m, 13),
    at which the island is placed. Contacts that are only near and would overlap are closed with them, and only
    near again where that lets them part."""
    w = header(world)
    caught = wholes(w.nc)
    note_levels(world)
    for c in range(w.nc):
        caught[c] = 0
    for _ in range(_CATCHES):
        bring_back(world, end, False)
        if not catch_overlaps(world, caught):
            break
    for c in range(w.nc):
        if caught[c] and local_placed(world)[c, 15] > 0.0:
            local_mode(world)[c] = NEAR
    for _ in range(_CATCHES):
        keep_closed(world, end, True, True)
        place(world, end)
        if not catch_approach(world):
            break


@kernel(allocates=True)
def deepest_on(world, C, h, scratch):
    """How deep [m] contacts that are shown overlap within a piece C (m, 13, DEGREE) of h [s]: looked at at thirds,
    with their rates, between which gaps are cubic."""
    w, deepest = header(world), 0.0
    before, rate_before = vector(w.nc), vector(w.nc)
    for look in range(4):
        on_step(C, look / 3.0, scratch)
        place(world, scratch)
        for c in range(w.nc):
            if local_mode(world)[c] == OPEN:
                continue
            gap, rate = local_placed(world)[c, 21], local_placed(world)[c, 15] * h / 3.0
            level = contacts(world)[local_contacts(world)[c]].level
            if local_mode(world)[c] != NEAR and level < 0.0:  # it is kept there
                gap -= level
            if look > 0:
                deepest = max(deepest, -lowest_between(before[c], rate_before[c], gap, rate))
            before[c], rate_before[c] = gap, rate
    return deepest


@kernel()
def lowest_between(p, r, q, s):
    """Least value on [0, 1] of the cubic with values p, q and slopes r, s at its ends, but not at its start."""
    least = q
    a, b = 3.0 * (r + s + 2.0 * (p - q)), 2.0 * (3.0 * (q - p) - 2.0 * r - s)  # its slope: a x^2 + b x + r
    under = b * b - 4.0 * a * r
    if under >= 0.0:
        root = np.sqrt(under)
        half = -0.5 * (b + (root if b >= 0.0 else -root))
        for k in range(2):
            top, bottom = (half, a) if k == 0 else (r, half)
            if bottom != 0.0 and 0.0 < top / bottom < 1.0:
                x = top / bottom
                least = min(least, p + x * (r + x * (0.5 * b + x * a / 3.0)))
    return least


@kernel()
def slow_down(world, end, work):
    """Let bodies be slower at the end of a step, in states end (m, 13), by what they gained there by its error;
    whether they did. Held contacts and joints stay as they are."""
    gained, moving = 0.0, kinetic_energy(world, end)
    for p in range(DEGREE):
        gained += work[CLOSING, p] + work[FRICTION, p]
    if not gained > 0.0 or moving == 0.0:
        return False
    share = np.sqrt(max(0.0, 1.0 - gained / moving))
    for k in range(header(world).m):
        for i in range(7, 13):
            end[k, i] *= share
    return True
