"""Steps of an island in known contact modes: order 8 with dense output, cut where a mode ends.

One compiled call makes one step: derivatives, error, dense output, margins and their roots on that, projection.
What a mode claims are margins that must not become negative: forces that press, friction in its cone, slip that
goes on, contacts within their features. Their first zero is found on the dense output, never by repeated steps.
"""

import numpy as np

from ...compiled import call, kernel
from ..engine.pairs_kernels import has_cylinder
from ..engine.tables_kernels import (
    CARRIED,
    CHANNELS,
    DEGREE,
    HELD,
    OPEN,
    SLIDING,
    STICKING,
    bodies,
    contacts,
    header,
    joint_force,
    joint_speed,
    local_acceleration,
    local_bodies,
    local_contacts,
    local_direction,
    local_force,
    local_friction,
    local_mode,
    local_placed,
    local_slip,
    local_slow,
    local_state,
)
from ..kernels import matrix, vector, vector3, vector7
from ..tolerances import (
    DRIFT,
    FORCE_FLOOR,
    FORCE_MARGIN,
    LASTING,
    LEAST_STEP,
    PENETRATION,
    PRESSES_AGAIN,
    ROUNDED_STEP,
    SLOW_START,
    SLOW_STOP,
    STRAIGHT_SLIP,
    SURELY_FAILS,
    TURNING,
)
from .derive_kernels import GROWTH, SHRINK, STRAIGHT, derive, resized, scale_of
from .ends_kernels import DRIVE_CHANGES, FAILS, LEAVES, NOTHING, OPENS, PRESSES, REACHES_LIMIT, SLIPS, STOPS
from .features_kernels import room_of
from .force_kernels import contact_rates, mobility_along
from .joint_parts_kernels import MARGIN, ROOM
from .modes_kernels import bring_back, fastest, keep_closed, worst_off
from .pieces_kernels import on_step
from .system_kernels import free_accelerations, note_places, place, problem, read_forces
from .tableau_kernels import DENSE, DENSE_STAGES, FIFTH, SHARE, STAGES, STEP, THIRD
from .turning_kernels import make_turning_step
from .turns_kernels import read_turn_directions

_ATTEMPTS, _HALVINGS, _LOOKS = 200, 80, 8
OF_FEATURES, OF_DISTANCES, OF_JOINTS = 0, 1, 2  # what room is of


@kernel()
def error_of(world, before, K, h):
    """Error of a step, relative to sizes and the speed of the island (largest of all components)."""
    w = header(world)
    worst = 0.0
    for k in range(w.m):
        size = bodies(world)[local_bodies(world)[k]].size
        for i in range(13):
            fifth = third = 0.0
            for stage in range(STAGES + 1):
                fifth += FIFTH[stage] * K[stage, k, i]
                third += THIRD[stage] * K[stage, k, i]
            scale = scale_of(i, size, w.pace)
            fifth, third = abs(fifth) / scale, abs(third) / scale
            if not fifth + third < np.inf:  # the largest of numbers and none would be a number
                return np.inf
            if fifth > 0.0 or third > 0.0:
                worst = max(worst, h * fifth * fifth / np.sqrt(fifth * fifth + 0.01 * third * third))
    return worst


@kernel()
def take_stages(world, y, K, P, h, first, last, out):
    """Fill out with the states at stage `last`, and K and P with the derivatives and powers of stages first to
    last. Returns whether all could be found, and (the least margin of what the modes claim, the share of the step)
    of those within it."""
    m, least, at = header(world).m, np.inf, 1.0
    for stage in range(first, last + 1):
        for k in range(m):
            for i in range(13):
                total = 0.0
                for j in range(stage):
                    total += STEP[stage, j] * K[j, k, i]
                out[k, i] = y[k, i] + h * total
        if not derive(world, out, header(world).time + h * SHARE[stage], K[stage], P[stage], False):
            return False, least, at
        if SHARE[stage] < 1.0:
            margin, _, _ = least_margin(world)
            if margin < least:
                least, at = margin, SHARE[stage]
    return True, least, at


@kernel()
def dense_output(world, y, end, K, h, C):
    """Fill C (m, 13, DEGREE) with the coefficients, by powers of the share of the step, of dense output."""
    for k in range(header(world).m):
        for i in range(13):
            fill_powers(y[k, i], end[k, i], K[:, k, i], h, C[k, i])


@kernel()
def dense_work(world, P, h, C):
    """Fill C (CHANNELS, DEGREE) with the coefficients of the work that is done in a step."""
    for n in range(CHANNELS):
        total = 0.0
        for j in range(STAGES):
            total += STEP[STAGES, j] * P[j, n]
        fill_powers(0.0, h * total, P[:, n], h, C[n])


@kernel()
def fill_powers(begin, end, rates, h, c):
    """Fill c (DEGREE,) with the coefficients of dense output of one number, from its rates (DENSE_STAGES,)."""
    F = vector7()
    way = end - begin
    F[0] = way
    F[1] = h * rates[0] - way
    F[2] = 2.0 * way - h * (rates[STAGES] + rates[0])
    for r in range(4):
        total = 0.0
        for j in range(DENSE_STAGES):
            total += DENSE[r, j] * rates[j]
        F[3 + r] = h * total
    c[0] = begin
    c[1] = F[0] + F[1]
    c[2] = -F[1] + F[2] + F[3]
    c[3] = -F[2] - 2.0 * F[3] + F[4] + F[5]
    c[4] = F[3] - 2.0 * F[4] - 3.0 * F[5] + F[6]
    c[5] = F[4] + 3.0 * F[5] - 3.0 * F[6]
    c[6] = -F[5] + 3.0 * F[6]
    c[7] = -F[6]


@kernel()
def least_margin(world):
    """The smallest margin of what the modes claim at the state derived last, in shares of what bears it: (margin,
    what ends, contact)."""
    w = header(world)
    mode, force, friction = local_mode(world), local_force(world), local_friction(world)
    placed, slow, direction = local_placed(world), local_slow(world), local_direction(world)
    at_start = local_slip(world)
    top = np.inf  # no force is told from rounding that is much less than the weight of the lightest
    for k in range(w.m):
        top = min(top, FORCE_FLOOR * w.pull * bodies(world)[local_bodies(world)[k]].mass)
    for c in range(w.nc):
        top = max(top, abs(force[c, 0]))
    least, what, which = np.inf, NOTHING, -1
    for c in range(w.nr):
        if mode[c] == OPEN:
            continue
        if mode[c] == CARRIED:  # until others let it go
            margin = 1.0 - abs(placed[c, 15]) / (LASTING * w.speed)
            if margin < least:
                least, what, which = margin, PRESSES, c
            continue
        n = force[c, 0] / top if top > 0.0 else 0.0
        margin, ends = n, OPENS
        if mode[c] == STICKING:
            cone = friction[c] * n - np.sqrt(force[c, 1] ** 2 + force[c, 2] ** 2) / max(top, 1e-300)
            if cone < margin:
                margin, ends = cone, SLIPS
        elif mode[c] == SLIDING and slow[c]:
            slip = placed[c, 16] * direction[c, 0] + placed[c, 17] * direction[c, 1]
            if slip / at_start[c] < margin:
                margin, ends = slip / at_start[c], STOPS
        elif mode[c] == HELD and friction[c] > 0.0:
            if PRESSES_AGAIN - n < margin + PRESSES_AGAIN:
                margin, ends = PRESSES_AGAIN - n, PRESSES
            else:
                margin += PRESSES_AGAIN
        elif mode[c] == HELD and friction[c] == 0.0:
            margin = n
        if margin < least:
            least, what, which = margin, ends, c
    if w.ng > 0 and w.forces != 0:
        call(w.forces, world, MARGIN, 0)
        if w.drive_margin < least:
            least, what, which = w.drive_margin, DRIVE_CHANGES, -1
    return least, what, which


@kernel()
def least_room(world, allowed):
    """The smallest room at the state placed last: (room, its rate where that is of a joint, what has it, what it is
    of). What has it is a contact, or -1: a joint that comes to a limit. `allowed` (3,) [m] counts as room of
    features, of distances of cylinders, and of joints."""
    w = header(world)
    least, rate, which, kind = np.inf, 0.0, -1, OF_JOINTS
    mode = local_mode(world)
    w.apart_pair = -1
    for c in range(w.nc):
        if mode[c] == OPEN:
            continue
        room, distance = room_of(world, c)
        if room + allowed[OF_FEATURES] < least:
            least, which, kind = room + allowed[OF_FEATURES], c, OF_FEATURES
        if distance + allowed[OF_DISTANCES] < least:
            least, which, kind = distance + allowed[OF_DISTANCES], c, OF_DISTANCES
    if w.ng > 0 and w.joints != 0:
        call(w.joints, world, ROOM, 0)
        if w.way + allowed[OF_JOINTS] < least:
            least, rate, which, kind = w.way + allowed[OF_JOINTS], w.way_rate, -1, OF_JOINTS
    return least, rate, which, kind


@kernel(allocates=True)
def slip_allows(world, h):
    """The longest step [s], at most h, over which slip neither stops nor leaves its direction; and with directions
    that are found with it, where slip may turn faster than explicit steps follow, else 0. Slow slip is told."""
    w, s = header(world), problem(world)
    mode, slow, direction, placed = (
        local_mode(world),
        local_slow(world),
        local_direction(world),
        local_placed(world),
    )
    u, at_start = matrix(w.nr, 3), local_slip(world)
    contact_rates(s, local_acceleration(world)[: w.m], u)
    starts, stops, longest = SLOW_START * w.speed, SLOW_STOP * w.speed, h
    turns = np.inf
    for c in range(w.nr):
        if mode[c] != SLIDING or local_friction(world)[c] == 0.0:
            continue
        x, y = placed[c, 16], placed[c, 17]
        slip = np.sqrt(x * x + y * y)
        grows = u[c, 1] * direction[c, 0] + u[c, 2] * direction[c, 1]
        pull = np.sqrt(u[c, 1] ** 2 + u[c, 2] ** 2)
        at_start[c] = max(slip, stops)
        if grows > 0.0:
            at_start[c] = max(slip, starts)
            if slip >= starts:
                slow[c] = 0
            elif slow[c]:
                h = min(h, 2.0 * starts / pull)
                if slip >= stops:
                    direction[c, 0], direction[c, 1] = x / slip, y / slip
        elif slip >= stops and grows < 0.0:
            slow[c] = 0
            if abs(x * u[c, 2] - y * u[c, 1]) <= STRAIGHT_SLIP * slip * pull:
                slow[c] = STRAIGHT  # its direction is known up to where it stops
                direction[c, 0], direction[c, 1] = x / slip, y / slip
            else:
                longest = min(longest, 0.9 * slip / -grows)
        elif grows < 0.0:
            if slow[c] == 0 and slip > 0.0:
                direction[c, 0], direction[c, 1] = x / slip, y / slip
            slow[c] = 1
            longest = min(longest, 2.0 * stops / pull)
        if slow[c] != STRAIGHT:
            turns = min(turns, slip / max(TURNING * w.pull, drag_of(world, c)))
    return min(h, longest), longest if turns < longest else 0.0


@kernel()
def off_line(world):
    """How fast [m/s] contacts slip at most, where the island is placed, across the directions that their friction
    keeps while they slide slowly."""
    placed, direction, off = local_placed(world), local_direction(world), 0.0
    for c in range(header(world).nr):
        if local_mode(world)[c] == SLIDING and local_slow(world)[c] == 1 and local_friction(world)[c] > 0.0:
            off = max(off, abs(placed[c, 16] * direction[c, 1] - placed[c, 17] * direction[c, 0]))
    return off


@kernel()
def drag_of(world, c):
    """The rate [m/s^2] at which friction of a contact that slides changes its own slip, at most."""
    s, largest = problem(world), 0.0
    for e in range(1, 3):
        response = 0.0
        for side in range(2):
            k = s.ends[c, side]
            if k >= 0:
                response += mobility_along(s.mobility[k], s.jacobian[c, side, e])
        largest = max(largest, response)
    return local_friction(world)[c] * local_force(world)[c, 0] * largest


@kernel()
def has_ends(world):
    """Whether contacts can come to the end of a feature, or joints to a limit: corners on a half-space cannot."""
    w, mode = header(world), local_mode(world)
    if w.ng > 0 and w.joints != 0:
        return True
    for c in range(w.nc):
        o = contacts(world)[local_contacts(world)[c]]
        on_plane = bodies(world)[o.second].level < 0 and not has_cylinder(world, o.first, o.second)
        if mode[c] != OPEN and o.pair >= 0 and not on_plane:
            return True
    return False


@kernel()
def end_of_room(world, C, scratch, must):
    """Share of a step at which a contact first comes to the end of a feature, or a joint to a limit; with which.
    `must` [m]: where more than 0, it is made even where there is no room from the start, up to where there is so
    much less, or twice as little: what is found anew where it has no room is as true there as anything else, and
    grows so until others are. Distances of cylinders are overlap, of which only rounding is allowed."""
    if not has_ends(world):
        return 1.0, -1
    low, before, rate_before, allowed = 0.0, 0.0, 0.0, vector3()
    for kind in range(3):
        allowed[kind] = 0.0
    for look in range(_LOOKS + 1):
        x = look / _LOOKS
        on_step(C, x, scratch)
        place(world, scratch)
        room, rate, which, kind = least_room(world, allowed)
        for _ in range(3 if look == 0 else 0):
            if room >= 0.0:
                break
            if (kind == OF_JOINTS and rate < 0.0) or (kind != OF_JOINTS and must <= 0.0):
                return 0.0, which
            less = 0.0  # a joint about to come in again is only not to go farther
            if kind != OF_JOINTS:
                less = max(must, -room) if kind == OF_FEATURES else PENETRATION * header(world).length
            allowed[kind] = less - room
            room, rate, which, kind = least_room(world, allowed)
        if look > 0 and room >= 0.0 and which < 0 and rate_before < 0.0 < rate and before + room < np.inf:
            dip, deepest = lowest_room(world, C, low, x, scratch, allowed)
            if deepest < 0.0:
                x, room = dip, deepest
        if room < 0.0:
            return halve_room(world, C, low, x, scratch, allowed)
        low, before, rate_before = x, room, rate
    return 1.0, -1


@kernel()
def lowest_room(world, C, low, high, scratch, allowed):
    """Share between two where a joint is nearest to its limit, and how near; `allowed` as in `least_room`."""
    room = 0.0
    middle = low
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        on_step(C, middle, scratch)
        place(world, scratch)
        room, rate, _, _ = least_room(world, allowed)
        if room < 0.0 or high - low < 1e-12:
            break
        if rate < 0.0:
            low = middle
        else:
            high = middle
    return middle, room


@kernel()
def halve_room(world, C, low, high, scratch, allowed):
    """Share between two, at the first of which there is room and at the second none, where it ends; with which;
    `allowed` as in `least_room`."""
    which = -1
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        if not low < middle < high or high - low < 1e-15:
            break
        on_step(C, middle, scratch)
        place(world, scratch)
        room, _, _, _ = least_room(world, allowed)
        if room < 0.0:
            high = middle
        else:
            low = middle
    on_step(C, high, scratch)
    place(world, scratch)
    _, _, which, _ = least_room(world, allowed)
    return high, which


@kernel()
def margin_at(world, C, x, h, force, joint, a, scratch, D, power):
    """`least_margin` at a share of a step of h [s] on dense output C, with contact forces nearest to those at its
    start (force, joint, a): of redundant ones each look would else find others, and no end could be located."""
    copy_forces(world, force, joint, a, local_force(world), joint_force(world), local_acceleration(world))
    on_step(C, x, scratch)
    derive(world, scratch, header(world).time + x * h, D, power, False)
    return least_margin(world)


@kernel()
def first_end(world, C, h, at_start, at_end, within, force, joint, a, scratch, D, power):
    """Share of a step of h [s] at which what the modes claim first fails, with what ends and which contact: by safe
    secants on dense output C. `at_start`, `at_end`: least margins; force, joint, a: as in `margin_at`.

    Where contacts come to lie in line, their forces go through infinity, and are well again when the step ends:
    where the modes surely fail at the share `within`, which a stage of the step had, it is looked at too.
    """
    share, which = end_of_room(world, C, scratch, 0.0)
    what = NOTHING
    if share < 1.0:
        what = LEAVES if which >= 0 else REACHES_LIMIT
    elif at_end >= -FORCE_MARGIN and within == 1.0:
        return share, what, which
    above, ends, contact = 0.0, what, which
    if within < share:
        above, ends, contact = margin_at(world, C, within, h, force, joint, a, scratch, D, power)
    if above < -SURELY_FAILS:
        share = within
    else:
        above, ends, contact = margin_at(world, C, share, h, force, joint, a, scratch, D, power)
    if above >= -FORCE_MARGIN:
        return share, what, which
    what, which = ends, contact
    low, high = 0.0, share
    below = max(at_start, 1e-12)
    side = 0
    for _ in range(_HALVINGS):
        x = (low * above - high * below) / (above - below)
        if not low < x < high:
            x = 0.5 * (low + high)
            if not low < x < high:
                break
        margin, ends, contact = margin_at(world, C, x, h, force, joint, a, scratch, D, power)
        if margin < 0.0:
            high, above, what, which = x, margin, ends, contact
            if side == 1:
                below *= 0.5
            side = 1
        else:
            low, below = x, margin
            if side == -1:
                above *= 0.5
            side = -1
        if high - low < 1e-14 or (margin < 0.0 and margin > -1e-13):
            break
    return high, what, which


@kernel()
def is_off(world):
    """Whether what modes and joints hold closed has drifted, in place or in velocity."""
    w = header(world)
    placed, mode = local_placed(world), local_mode(world)
    if worst_off(world) > DRIFT * w.length:
        return True
    for c in range(w.nr):
        if mode[c] != OPEN and abs(placed[c, 15]) > DRIFT * w.speed:
            return True
        if mode[c] == STICKING and abs(placed[c, 16]) + abs(placed[c, 17]) > DRIFT * w.speed:
            return True
    for c in range(w.nj):
        if abs(joint_speed(world)[c]) > DRIFT * w.speed:
            return True
    return False


@kernel()
def close_up(world, y):
    """Take away what has drifted of states (m, 13), and place the island there."""
    place(world, y)
    if is_off(world):
        bring_back(world, y, False)
        keep_closed(world, y, True, True)
        place(world, y)


@kernel()
def copy_forces(world, p, q, a, to_p, to_q, to_a):
    """Copy forces of contacts (nr, 3) and joints (nj,), and accelerations (m, 6)."""
    w = header(world)
    for c in range(w.nr):
        for e in range(3):
            to_p[c, e] = p[c, e]
    for c in range(w.nj):
        to_q[c] = q[c]
    for k in range(w.m):
        for i in range(6):
            to_a[k, i] = a[k, i]


@kernel(allocates=True)
def make_step(world, longest, C, work):
    """A step of the island that is shown from its states now, at most `longest` [s].

    Fills C (m, 13, DEGREE), and work (CHANNELS, DEGREE), with its dense output by powers of the share of it.
    Returns (its length, the share after which it ends, what ends it, contact, the length to try next).
    """
    w = header(world)
    y, m = local_state(world)[: w.m], w.m
    K, end, scratch = np.empty((DENSE_STAGES, m, 13)), matrix(m, 13), matrix(m, 13)
    P = matrix(DENSE_STAGES, CHANNELS)
    force, joint, a = local_force(world), joint_force(world), local_acceleration(world)
    close_up(world, y)
    read_forces(world)
    read_turn_directions(world)
    note_places(world)
    w.asked_time = w.time
    free_accelerations(world, y)
    size = 0.0
    for k in range(m):
        size = max(size, bodies(world)[local_bodies(world)[k]].size)
    w.pull = 0.0
    for k in range(m):
        for i in range(6):
            w.pull = max(w.pull, abs(problem(world).free[k, i]) * (1.0 if i < 3 else size))
    w.pace = max(fastest(world, y), np.sqrt(w.pull * size))
    w.pull = max(w.pull, w.pace * w.pace / size)
    if w.pace == 0.0:  # nothing moves nor pulls
        for k in range(m):
            for i in range(13):
                for p in range(DEGREE):
                    C[k, i, p] = y[k, i] if p == 0 else 0.0
        for n in range(CHANNELS):
            for p in range(DEGREE):
                work[n, p] = 0.0
        return longest, 1.0, NOTHING, -1, longest
    if not derive(world, y, w.time, K[0], P[0], True):
        return 0.0, 0.0, FAILS, -1, longest
    at_start, what, which = least_margin(world)
    if at_start < -FORCE_MARGIN:
        return 0.0, 0.0, what, which, longest
    h, turning = slip_allows(world, longest)
    kept, kept_joint, kept_a = matrix(w.nr, 3), vector(w.nj), matrix(m, 6)
    copy_forces(world, force, joint, a, kept, kept_joint, kept_a)
    if turning > 0.0 and w.fixed_step == 0.0:
        done, following = make_turning_step(world, y, turning, C, work)
        if done > 0.0:
            on_step(C, 1.0, end)
            if derive(world, end, w.time + done, K[0], P[0], False):
                at_end, _, _ = least_margin(world)
                share, what, which = first_end(
                    world, C, done, at_start, at_end, 1.0, kept, kept_joint, kept_a, scratch, K[0], P[0]
                )
                return done, share, what, which, following
            derive(world, y, w.time, K[0], P[0], True)
        copy_forces(world, kept, kept_joint, kept_a, force, joint, a)
    least = LEAST_STEP * w.duration
    next_h, at_end, within, found = h, 0.0, 1.0, False
    tried, before = np.inf, np.inf
    for _ in range(_ATTEMPTS):
        taken, margin, at = take_stages(world, y, K, P, h, 1, STAGES, end)
        error = error_of(world, y, K, h) if taken else np.inf
        off = off_line(world) if taken else 0.0
        if (
            off > SLOW_STOP * w.speed and h > least and w.fixed_step == 0.0
        ):  # slip turns: by the square of the time
            h = max(h * max(SHRINK, np.sqrt(0.5 * SLOW_STOP * w.speed / off)), least)
            before = np.inf
            copy_forces(world, kept, kept_joint, kept_a, force, joint, a)
            continue
        rounded = before < np.inf and error <= ROUNDED_STEP and error > before * (h / tried) ** 2
        tried, before = h, error
        if rounded or error <= w.accuracy or (w.fixed_step > 0.0 and error < np.inf):
            # rounding, too: of the order of the method it would have shrunk much more
            next_h = GROWTH * h if rounded else resized(h, error, w.accuracy)
            at_end, _, _ = least_margin(world)
            within = at if margin < -SURELY_FAILS else 1.0
            found, _, _ = take_stages(world, y, K, P, h, STAGES + 1, DENSE_STAGES - 1, scratch)
            if found or w.fixed_step > 0.0:
                break
            h, before = h * SHRINK, np.inf
        else:
            h = resized(h, error, w.accuracy)
        copy_forces(world, kept, kept_joint, kept_a, force, joint, a)
        if h < least:
            break
    if not found:
        return 0.0, 0.0, FAILS, -1, longest
    dense_output(world, y, end, K, h, C)
    dense_work(world, P, h, work)
    share, what, which = first_end(
        world, C, h, at_start, at_end, within, kept, kept_joint, kept_a, scratch, K[0], P[0]
    )
    return h, share, what, which, next_h
