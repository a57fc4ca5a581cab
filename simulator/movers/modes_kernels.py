"""Contact modes: which contacts of an island press, stick, slide or open, found by an implicit step that is taken.

At an instant the question has no good answer: slip of 1e-7 m/s that stops at once, or forces at the edge of their
cones, give a mode that the next instant contradicts, thousands of times. So the force problem is solved for
velocities at the end of a *micro-step*: contacts whose slip ends within it stick at its end, exactly. Over the
micro-step bodies move with constant acceleration, so velocity is continuous, and every choice of a mode gains time.
It starts at MICRO_STEP of the scene's duration, where its error is rounding, and grows where modes do not last.
"""

import numpy as np

from ...compiled import call, kernel
from ..engine.pairs_kernels import has_cylinder, size_of
from ..engine.tables_kernels import (
    CARRIED,
    HELD,
    NEAR,
    OPEN,
    SLIDING,
    STICKING,
    bodies,
    contacts,
    header,
    joint_force,
    joint_rate,
    joint_speed,
    joint_value,
    local_acceleration,
    local_bodies,
    local_contacts,
    local_direction,
    local_force,
    local_free,
    local_friction,
    local_jacobian,
    local_mode,
    local_parent,
    local_placed,
    local_rate,
    local_slider,
    local_sliding,
    local_slow,
    local_turn,
)
from ..kernels import matrix, vector, wholes
from ..tolerances import (
    CAN_OPEN,
    CONTACT_GAP,
    DRIFT,
    FAR_BACK,
    FORCE_ACCURACY,
    FORCE_SHARE,
    FORCES_FOUND,
    MODE_RATE,
    ON_CONE,
    PENETRATION,
    REST,
    REST_PULL,
    SAME_MOTION,
    SLOW_START,
    SURE_SLIP,
)
from .force_kernels import EXACT, contact_rates, solve_forces, solve_mode
from .sweeps_kernels import MOST_SWEEPS, SWEEPS, sweep_forces
from .system_kernels import free_accelerations, place, problem, read_forces
from .turns_kernels import hidden_turn, hide_turns, show_hidden

NO_FORCES, NOTHING_PRESSES, MOVES, RESTS, CALMS = 0, 1, 2, 3, 4
"""What comes of a choice of modes; the last: bodies will stand still at the end of the micro-step, or nearly so."""


@kernel(allocates=True)
def pull_of(world):
    """Largest acceleration [m/s^2] of contacts and bodies without contact forces: what others are compared with."""
    w, s = header(world), problem(world)
    largest = 0.0
    u = matrix(w.nr, 3)
    contact_rates(s, s.free, u)
    for c in range(w.nr):
        largest = max(largest, abs(u[c, 0]), abs(u[c, 1]), abs(u[c, 2]))
    for k in range(w.m):
        size = bodies(world)[local_bodies(world)[k]].size
        for i in range(3):
            largest = max(largest, abs(s.free[k, i]), size * abs(s.free[k, 3 + i]))
    return largest


@kernel()
def within_touch(world, c, gap):
    """The gap [m] of a contact, or the nearest that counts as touching; only rims and ends of cylinders, which come
    down beside where they are held, may overlap by as much."""
    if c.pair < 0:
        return min(max(gap, 0.0), CONTACT_GAP * header(world).length)
    slack = CONTACT_GAP * size_of(world, c.first, c.second)
    return min(max(gap, -slack if has_cylinder(world, c.first, c.second) else 0.0), slack)


@kernel()
def note_levels(world):
    """Let contacts that close stay at the gap that they have, which is within CONTACT_GAP: pulling all that touches
    to no gap at all would push what they carry by as much, into what lies beside it. Only what overlaps is brought
    back, by as little at a time as searches pass over."""
    w = header(world)
    for k in range(w.nc):
        c = contacts(world)[local_contacts(world)[k]]
        if c.closing or np.isnan(c.level):
            c.level = within_touch(world, c, local_placed(world)[k, 21])
        if c.level < 0.0:
            c.level = min(0.0, c.level + PENETRATION * w.length)


@kernel(forceinline=True)
def is_closed(mode):
    """Whether a contact in a mode keeps its gap."""
    return mode != OPEN and mode != NEAR


@kernel(forceinline=True)
def off_level(world, c):
    """How far the gap of a contact that is shown is from the one at which it is kept [m]."""
    return local_placed(world)[c, 21] - contacts(world)[local_contacts(world)[c]].level


@kernel(allocates=True)
def keep_closed(world, state, speeds, firmly):
    """Change the velocities (`speeds`), or else the places, of states (m, 13) as little as possible in the kinetic
    metric, to those that modes and joints hold closed; `firmly`, without a shift of what sticks. The island is
    placed there."""
    w, s = header(world), problem(world)
    rate, placed, mode = local_rate(world), local_placed(world), local_mode(world)
    free, turn = local_free(world), local_turn(world)
    held, p, joint, a = wholes(w.nr), matrix(w.nr, 3), vector(w.nj), matrix(w.m, 6)
    for c in range(w.nr):
        held[c] = HELD if c < w.nc and is_closed(mode[c]) else OPEN
        if firmly and mode[c] == STICKING:
            held[c] = STICKING
        for e in range(3):
            rate[c, e] = placed[c, 15 + e] if speeds else 0.0
            if e == 0 and not speeds and c < w.nc:
                rate[c, 0] = off_level(world, c)
            p[c, e] = 0.0
    for c in range(w.nj):
        joint_rate(world)[c] = joint_speed(world)[c] if speeds else joint_value(world)[c]
        joint[c] = 0.0
    for k in range(w.m):
        for i in range(6):
            free[k, i] = a[k, i] = 0.0
    solve_mode(s, held, s.direction, p, joint, a, True, 0.0)
    for k in range(w.m):
        R, y = turn[k], state[k]
        if speeds:
            for i in range(3):
                y[7 + i] += a[k, i]
                y[10 + i] += R[0, i] * a[k, 3] + R[1, i] * a[k, 4] + R[2, i] * a[k, 5]
        else:
            shift(y, a[k])


@kernel(allocates=True)
def bring_back(world, state, firmly):
    """Bring what is held closed back to its level by the smallest shift of states (m, 13), and place the island
    there; `firmly`: without a shift of what sticks. Where that brings it no nearer (a rim, all but flat, has its
    lowest point elsewhere after the smallest turn), or takes far more than it is off (two contacts at one place
    that ask for different things), all stays where it is, and that is its level."""
    w = header(world)
    before = matrix(w.m, 13)
    for k in range(w.m):
        for i in range(13):
            before[k, i] = state[k, i]
    off = worst_off(world)
    keep_closed(world, state, False, firmly)
    place(world, state)
    moved = 0.0
    for k in range(w.m):
        size = bodies(world)[local_bodies(world)[k]].size
        for i in range(7):
            by = abs(state[k, i] - before[k, i])
            moved = max(moved, by if i < 3 else 2.0 * size * by)
    if worst_off(world) > max(0.5 * off, DRIFT * w.length) or moved > max(FAR_BACK * off, DRIFT * w.length):
        for k in range(w.m):
            for i in range(13):
                state[k, i] = before[k, i]
        place(world, state)
        for c in range(w.nc):
            o = contacts(world)[local_contacts(world)[c]]
            if is_closed(local_mode(world)[c]) and abs(off_level(world, c)) > DRIFT * w.length:
                o.level = within_touch(world, o, local_placed(world)[c, 21])


@kernel()
def worst_off(world):
    """How far what is held closed is from its level at most [m]."""
    w, worst = header(world), 0.0
    for c in range(w.nc):
        if is_closed(local_mode(world)[c]):
            worst = max(worst, abs(off_level(world, c)))
    for c in range(w.nj):
        worst = max(worst, abs(joint_value(world)[c]))
    return worst


@kernel()
def shift(y, by):
    """Shift and turn a packed state (13,) by a small way (6,), world axes."""
    for i in range(3):
        y[i] += by[i]
    p, q, r, s = y[3], y[4], y[5], y[6]
    x, u, v = 0.5 * by[3], 0.5 * by[4], 0.5 * by[5]
    y[3], y[4] = p - q * x - r * u - s * v, q + p * x + u * s - v * r
    y[5], y[6] = r + p * u + v * q - x * s, s + p * v + x * r - u * q
    norm = np.sqrt(y[3] ** 2 + y[4] ** 2 + y[5] ** 2 + y[6] ** 2)
    for i in range(3, 7):
        y[i] /= norm


@kernel()
def fastest(world, state):
    """Speed of the fastest body point [m/s] of states (m, 13)."""
    speed = 0.0
    for k in range(header(world).m):
        size = bodies(world)[local_bodies(world)[k]].size
        moving = turning = 0.0
        for i in range(3):
            moving += state[k, 7 + i] ** 2
            turning += state[k, 10 + i] ** 2
        speed = max(speed, np.sqrt(moving) + size * np.sqrt(turning))
    return speed


@kernel(allocates=True)
def find_forces(world, warm, scale):
    """Whether forces and accelerations of the island that is shown are found, to FORCES_FOUND of `scale` [m/s^2].

    Newton's method begins at the forces that there are (`warm`: which press), then at none, where sweeps lead from
    there, what pivots find, and where many sweeps lead from that.
    """
    w, s = header(world), problem(world)
    p, joint, a = local_force(world)[: w.nr], joint_force(world)[: w.nj], local_acceleration(world)[: w.m]
    for begins in range(5):
        if begins == 1 or begins == 2:
            for c in range(w.nr):
                p[c, 0] = p[c, 1] = p[c, 2] = 0.0
            for c in range(w.nj):
                joint[c] = 0.0
        if begins >= 3 and call(w.pivots, world, 0, 0) != 0:
            return False
        if begins == 2 or begins == 4:
            most = SWEEPS if begins == 2 else MOST_SWEEPS
            sweep_forces(s, p, joint, FORCE_ACCURACY * scale, most, most)
        residual, _ = solve_forces(
            s, p, joint, a, warm if begins == 0 else begins > 1, FORCE_ACCURACY * scale, EXACT
        )
        if residual <= FORCES_FOUND * scale:
            return True
    return False


@kernel(allocates=True)
def choose_modes(world, state, span, slipped, closing, sure):
    """Modes and forces at the end of a micro-step of `span` [s] from states (m, 13), where the island is placed.

    `slipped`: whether a contact has just left its cone; `closing`: whether normal velocities end with the step;
    `sure`: whether slip that is fast enough keeps its direction over the step.
    Fills the accelerations of the step; what comes of it.
    """
    w, s = header(world), problem(world)
    free_accelerations(world, state)
    hides = hide_turns(world)
    pull = pull_of(world)
    rate, placed, friction, slider = (
        local_rate(world),
        local_placed(world),
        local_friction(world),
        local_slider(world),
    )
    sliding, mode, slow, direction = (
        local_sliding(world),
        local_mode(world),
        local_slow(world),
        local_direction(world),
    )
    force, a = local_force(world), local_acceleration(world)
    read_forces(world)
    warm = False
    for c in range(w.nr):
        x, y = placed[c, 16], placed[c, 17]
        speed = np.sqrt(x * x + y * y)
        slider[c] = 0
        if sure and friction[c] > 0.0 and speed > SURE_SLIP * span * pull:
            slider[c], sliding[c, 0], sliding[c, 1] = 1, x / speed, y / speed
        else:
            rate[c, 1] += x / span
            rate[c, 2] += y / span
        if closing:
            rate[c, 0] += placed[c, 15] / span
        warm = warm or force[c, 0] > 0.0
        if not force[c, 0] > 0.0:
            force[c, 0] = force[c, 1] = force[c, 2] = 0.0
    scale = pull
    if w.shocks != 0:  # what ends slip within the step is of another order
        for c in range(w.nr):
            for e in range(3):
                scale = max(scale, abs(rate[c, e]))
    u = matrix(w.nr, 3)
    exist = find_forces(world, warm, scale)
    if hides:
        contact_rates(s, a, u)
        if not exist or hidden_turn(world, u, MODE_RATE * pull):
            show_hidden(world)
            exist = find_forces(world, warm, scale)
    if not exist:
        return NO_FORCES
    speed = fastest(world, state)
    if speed <= REST * w.speed and w.never_rests == 0 and not closing:
        largest = 0.0
        for k in range(w.m):
            size = bodies(world)[local_bodies(world)[k]].size
            for i in range(3):
                largest = max(largest, abs(a[k, i]), size * abs(a[k, 3 + i]))
        if largest <= REST_PULL * pull:
            return RESTS
    contact_rates(s, a, u)
    top = largest_force(world)
    if top == 0.0 and w.ng == 0:
        return NOTHING_PRESSES
    for c in range(w.nr):
        slips = np.sqrt(u[c, 1] ** 2 + u[c, 2] ** 2)
        mode[c] = OPEN
        if force[c, 0] > FORCE_SHARE * top:
            mode[c], slow[c] = STICKING, 0
            if slider[c]:
                mode[c], direction[c, 0], direction[c, 1] = SLIDING, sliding[c, 0], sliding[c, 1]
            elif friction[c] == 0.0:
                mode[c] = HELD if c < w.nc else OPEN
            elif slips > MODE_RATE * pull:
                mode[c], direction[c, 0], direction[c, 1] = SLIDING, u[c, 1] / slips, u[c, 2] / slips
                slow[c] = 1 if slips * span < SLOW_START * w.speed else 0
    for c in range(w.nc):
        if not force[c, 0] > FORCE_SHARE * top and u[c, 0] <= MODE_RATE * pull:
            if not moves_alone(world, c, 0, force, top):
                mode[c] = CARRIED
            elif contacts(world)[local_contacts(world)[c]].opens != 1:
                mode[c] = HELD
    drop_turns(world, s, u, pull)
    loosen(world, s, u, pull, slipped)
    later = speed_after(world, state, span)
    return CALMS if later <= REST * w.speed and later < speed and w.never_rests == 0 else MOVES


@kernel()
def can_open(world, row):
    """Whether a contact (of the table) that presses no more can open while those that press stay closed. The island
    is shown and placed."""
    read_forces(world)
    which = -1
    for c in range(header(world).nc):
        if local_contacts(world)[c] == row:
            which = c
    return moves_alone(world, which, 0, local_force(world), largest_force(world))


@kernel()
def largest_force(world):
    """Largest normal force [N] of the contacts of the island that is open."""
    force, largest = local_force(world), 0.0
    for c in range(header(world).nc):
        largest = max(largest, force[c, 0])
    return largest


@kernel(allocates=True)
def moves_alone(world, which, e, force, top):
    """Whether a push at a contact along row e of its Jacobian moves it there while those that press stay closed. If
    it resists turning, those that stick stay where they are too."""
    w, s = header(world), problem(world)
    rate, free, J = local_rate(world), local_free(world), local_jacobian(world)
    kept_rate, kept_joint, kept_free = matrix(w.nr, 3), vector(w.nj), matrix(w.m, 6)
    held, p, joint, a = wholes(w.nr), matrix(w.nr, 3), vector(w.nj), matrix(w.m, 6)
    for c in range(w.nr):
        held[c] = HELD if c < w.nc and c != which and force[c, 0] > FORCE_SHARE * top else OPEN
        if e > 0 and held[c] == HELD and local_mode(world)[c] == STICKING:
            held[c] = STICKING
        for i in range(3):
            kept_rate[c, i], rate[c, i], p[c, i] = rate[c, i], 0.0, 0.0
    for c in range(w.nj):
        kept_joint[c], joint_rate(world)[c], joint[c] = joint_rate(world)[c], 0.0, 0.0
    alone = 0.0
    for k in range(w.m):
        for i in range(6):
            kept_free[k, i], free[k, i], a[k, i] = free[k, i], 0.0, 0.0
    for side in range(2):
        k = s.ends[which, side]
        if k >= 0:
            for i in range(6):
                for j in range(6):
                    free[k, i] += s.mobility[k, i, j] * J[which, side, e, j]
                alone += J[which, side, e, i] * free[k, i]
    solve_mode(s, held, s.direction, p, joint, a, True, 0.0)
    moves = 0.0
    for side in range(2):
        k = s.ends[which, side]
        if k >= 0:
            for i in range(6):
                moves += J[which, side, e, i] * a[k, i]
    for c in range(w.nr):
        for i in range(3):
            rate[c, i] = kept_rate[c, i]
    for c in range(w.nj):
        joint_rate(world)[c] = kept_joint[c]
    for k in range(w.m):
        for i in range(6):
            free[k, i] = kept_free[k, i]
    return moves > CAN_OPEN * alone


@kernel()
def speed_after(world, state, span):
    """Speed of the fastest body point [m/s] after `span` [s] under the accelerations found."""
    a, turn, speed = local_acceleration(world), local_turn(world), 0.0
    for k in range(header(world).m):
        size = bodies(world)[local_bodies(world)[k]].size
        moving = turning = 0.0
        for i in range(3):
            moving += (state[k, 7 + i] + span * a[k, i]) ** 2
            R = turn[k]
            spin = R[0, i] * a[k, 3] + R[1, i] * a[k, 4] + R[2, i] * a[k, 5]
            turning += (state[k, 10 + i] + span * spin) ** 2
        speed = max(speed, np.sqrt(moving) + size * np.sqrt(turning))
    return speed


@kernel()
def open_turns(world):
    """Let nothing resist turning at contacts that press no more."""
    mode = local_mode(world)
    for c in range(header(world).nc, header(world).nr):
        if not is_closed(mode[local_parent(world)[c]]) or mode[local_parent(world)[c]] == CARRIED:
            mode[c] = OPEN


@kernel(allocates=True)
def take_alike(world, s, u, pull, kept):
    """Take other forces, of coefficients of friction as they are now, if they give contacts the same rates u
    (nr, 3); whether they do. The coefficients are `kept` (nr,) again then and otherwise."""
    w = header(world)
    force, a, friction = local_force(world), local_acceleration(world), local_friction(world)
    p, b, joint, v = matrix(w.nr, 3), matrix(w.m, 6), vector(w.nj), matrix(w.nr, 3)
    for c in range(w.nr):
        for e in range(3):
            p[c, e] = force[c, e]
    for c in range(w.nj):
        joint[c] = joint_force(world)[c]
    residual, _ = solve_forces(s, p, joint, b, True, FORCE_ACCURACY * pull, EXACT)
    off = 0.0
    contact_rates(s, b, v)
    for c in range(w.nr):
        friction[c] = kept[c]
        for e in range(3):
            off = max(off, abs(v[c, e] - u[c, e]))
    if not (residual <= FORCES_FOUND * pull and off <= SAME_MOTION * pull):
        return False
    for c in range(w.nr):
        for e in range(3):
            force[c, e] = p[c, e]
    for k in range(w.m):
        for i in range(6):
            a[k, i] = b[k, i]
    for c in range(w.nj):
        joint_force(world)[c] = joint[c]
    top, mode = largest_force(world), local_mode(world)
    for c in range(w.nc):  # what bears nothing now must not share again: it would leave its cone
        bears = force[c, 0] > FORCE_SHARE * top
        if mode[c] == STICKING and not bears and not moves_alone(world, c, 0, force, top):
            mode[c] = CARRIED
    open_turns(world)
    return True


@kernel(allocates=True)
def drop_turns(world, s, u, pull):
    """Let nothing resist turning where the contacts that press and stick hold it anyway, if bodies move alike: a
    face on a face has torques of its corners' forces, and what resists turning there would only share them."""
    w = header(world)
    if w.nr == w.nc:
        return
    mode, friction, force = local_mode(world), local_friction(world), local_force(world)
    kept, dropped, some = vector(w.nr), wholes(w.nr), False
    top = largest_force(world)
    for c in range(w.nr):
        kept[c] = friction[c]
    for c in range(w.nc, w.nr):
        dropped[c] = 0
        if mode[c] == STICKING and not (
            moves_alone(world, c, 1, force, top) or moves_alone(world, c, 2, force, top)
        ):
            dropped[c], friction[c], some = 1, 0.0, True
    if some and take_alike(world, s, u, pull, kept):
        for c in range(w.nc, w.nr):
            if dropped[c]:
                mode[c] = OPEN


@kernel(allocates=True)
def loosen(world, s, u, pull, slipped):
    """Take redundant forces of sticking contacts deeper into their cones, where others move bodies alike.

    Where there are none, and a contact has just left its cone, all that are on their cones begin to slip with it:
    else each of them would do so at once, one after the other.
    """
    w = header(world)
    mode, slow, direction = local_mode(world), local_slow(world), local_direction(world)
    friction, force = local_friction(world), local_force(world)
    sticking, edge = 0, False
    for c in range(w.nr):
        if mode[c] == STICKING:
            sticking += 1
            drag = np.sqrt(force[c, 1] ** 2 + force[c, 2] ** 2)
            edge = edge or drag > (1.0 - ON_CONE) * friction[c] * force[c, 0]
    if not edge:
        return
    if sticking > 1:
        kept = vector(w.nr)
        for c in range(w.nr):
            kept[c] = friction[c]
        for share in (0.8, 0.97, 0.999):
            for c in range(w.nr):
                friction[c] = kept[c] * (share if mode[c] == STICKING else 1.0)
            if take_alike(world, s, u, pull, kept):
                return
    if slipped:
        for c in range(w.nr):
            drag = np.sqrt(force[c, 1] ** 2 + force[c, 2] ** 2)
            if mode[c] == STICKING and drag > (1.0 - ON_CONE) * friction[c] * force[c, 0]:
                mode[c], slow[c] = SLIDING, 1
                direction[c, 0], direction[c, 1] = -force[c, 1] / drag, -force[c, 2] / drag
