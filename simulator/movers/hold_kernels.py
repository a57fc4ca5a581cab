"""The mover of bodies in lasting contact and on joints: islands, from what settles together to what ends their
pieces."""

import numpy as np

from ...compiled import call, kernel, part
from ..engine.flight_kernels import begin, bring, slot_of
from ..engine.islands_kernels import give_back_island, new_island, root_of
from ..engine.log_kernels import log_jump, log_work
from ..engine.queue_kernels import enter_island_end
from ..engine.tables_kernels import (
    CHANNELS,
    CLOSING,
    DEGREE,
    FRICTION,
    HELD,
    OPEN,
    SERIES,
    STILL,
    bodies,
    coefficients,
    contacts,
    found,
    header,
    islands,
    local_acceleration,
    local_bodies,
    local_contacts,
    local_direction,
    local_force,
    local_mode,
    local_placed,
    local_rate,
    local_slow,
    local_state,
    local_turn,
    members,
    motions,
)
from ..kernels import TERMS, matrix
from ..tolerances import FIRST_STEP, LEAST_STEP, MICRO_GAIN, MICRO_STEP
from .ends_kernels import CALM, CAN_OPEN, FAILS, LEAVES, MICRO, REACHES_LIMIT
from .force_kernels import contact_rates
from .joint_parts_kernels import SATURATE
from .modes_kernels import (
    CALMS,
    MOVES,
    NO_FORCES,
    NOTHING_PRESSES,
    RESTS,
    bring_back,
    can_open,
    choose_modes,
    keep_closed,
    note_levels,
    within_touch,
)
from .steps_kernels import end_of_room, make_step
from .system_kernels import place, problem, show_island, write_forces

STARTED, JAMS = 0, 1


@kernel()
def dissolve(world, island):
    """Give an island back; what was due of it is void."""
    body = islands(world)[island].body
    while body >= 0:
        motions(world)[body].island = -1
        body = motions(world)[body].fellow
    give_back_island(world, island)


@kernel()
def collect(world, root, island):
    """Let an island be the members that hold together with `root`, and their contacts."""
    w, e, table = header(world), islands(world)[island], contacts(world)
    last = -1
    for k in range(w.members_count):
        body = members(world)[k]
        m = motions(world)[body]
        if m.root != root:
            continue
        m.fellow, m.island, m.held = -1, island, 1
        if last < 0:
            e.body = body
        else:
            motions(world)[last].fellow = body
        last = body
        e.bodies += 1
    last = -1
    for k in range(w.found_count):
        row = found(world)[k]
        c = table[row]
        body = c.first if motions(world)[c.first].mark == w.event else c.second
        if c.mode == OPEN or motions(world)[body].root != root:
            continue
        c.fellow = -1
        if last < 0:
            e.contact = row
        else:
            table[last].fellow = row
        last = row
        e.contacts += 1


@kernel()
def keep_modes(world, island):
    """Note the modes of the island that is open in the table of contacts; those that open leave it."""
    w, e, table = header(world), islands(world)[island], contacts(world)
    rows, mode, slow, direction = (
        local_contacts(world),
        local_mode(world),
        local_slow(world),
        local_direction(world),
    )
    last = -1
    e.contact, e.contacts = -1, 0
    for c in range(w.nc):
        o = table[rows[c]]
        o.mode, o.slow, o.direction[0], o.direction[1] = mode[c], slow[c], direction[c, 0], direction[c, 1]
        if mode[c] == OPEN:
            continue
        o.fellow = -1
        if last < 0:
            e.contact = rows[c]
        else:
            table[last].fellow = rows[c]
        last = rows[c]
        e.contacts += 1


@kernel()
def micro_piece(world, span, way, C):
    """Fill C (m, 13, DEGREE) with motion of constant acceleration, by powers of the share of `span` [s]; moved on
    the way by `way` (m, 6), world axes, smoothly."""
    w = header(world)
    state, turn, a = local_state(world), local_turn(world), local_acceleration(world)
    for k in range(w.m):
        y, R, c, d = state[k], turn[k], C[k], way[k]
        for i in range(13):
            for p in range(DEGREE):
                c[i, p] = 0.0
            c[i, 0] = y[i]
        for i in range(3):
            c[i, 1], c[i, 2], c[i, 3] = span * y[7 + i], 0.5 * span * span * a[k, i] + 3.0 * d[i], -2.0 * d[i]
            c[7 + i, 1], c[7 + i, 2] = span * a[k, i] + 6.0 * d[i] / span, -6.0 * d[i] / span
            turning = R[0, i] * d[3] + R[1, i] * d[4] + R[2, i] * d[5]
            c[10 + i, 1] = (
                span * (R[0, i] * a[k, 3] + R[1, i] * a[k, 4] + R[2, i] * a[k, 5]) + 6.0 * turning / span
            )
            c[10 + i, 2] = -6.0 * turning / span
        for p in range(DEGREE - 1):
            half = 0.5 * span / (p + 1)
            s0 = s1 = s2 = s3 = 0.0
            for q in range(3):
                if q > p:
                    continue
                x, u, v = c[10, q], c[11, q], c[12, q]
                n, b, d0, e = c[3, p - q], c[4, p - q], c[5, p - q], c[6, p - q]
                s0 += -b * x - d0 * u - e * v
                s1 += n * x + d0 * v - e * u
                s2 += n * u + e * x - b * v
                s3 += n * v + b * u - d0 * x
            c[3, p + 1], c[4, p + 1], c[5, p + 1], c[6, p + 1] = half * s0, half * s1, half * s2, half * s3


@kernel(allocates=True)
def close_by_end(world, span, C, way):
    """Fill way (m, 6) with that by which bodies on polynomials C (m, 13, DEGREE) are off at the end of their
    `span` [s] from where contacts are closed: bounces that end leave no gap, unless what takes it away would move
    faster than they do."""
    w, bouncing = header(world), 0.0
    end = matrix(w.m, 13)
    for c in range(w.nc):
        o = contacts(world)[local_contacts(world)[c]]
        if o.closing:
            o.level = 0.0
            bouncing = max(bouncing, abs(local_placed(world)[c, 15]))
    for k in range(w.m):
        for i in range(13):
            end[k, i] = 0.0
            for p in range(DEGREE):
                end[k, i] += C[k, i, p]
    place(world, end)
    shifted = matrix(w.m, 13)
    for k in range(w.m):
        for i in range(13):
            shifted[k, i] = end[k, i]
    bring_back(world, shifted, True)
    for k in range(w.m):
        y, z = end[k], shifted[k]
        for i in range(3):
            way[k, i] = z[i] - y[i]
        p, q, r, s = z[3], z[4], z[5], z[6]
        a, b, c, d = y[3], -y[4], -y[5], -y[6]
        way[k, 3] = 2.0 * (p * b + q * a + r * d - s * c)
        way[k, 4] = 2.0 * (p * c - q * d + r * a + s * b)
        way[k, 5] = 2.0 * (p * d + q * c - r * b + s * a)
    moved = 0.0
    for k in range(w.m):
        for i in range(3):
            moved = max(
                moved, abs(way[k, i]), abs(way[k, 3 + i]) * bodies(world)[local_bodies(world)[k]].size
            )
    if moved > bouncing * span:
        place(world, end)
        for c in range(w.nc):
            o = contacts(world)[local_contacts(world)[c]]
            if o.closing:
                o.level = within_touch(world, o, local_placed(world)[c, 21])
        for k in range(w.m):
            for i in range(6):
                way[k, i] = 0.0
    place(world, local_state(world)[: w.m])


@kernel(allocates=True)
def micro_work(world, span, C, work):
    """Fill work (CHANNELS, DEGREE), by powers of the share of `span` [s], with what is done over a micro-step of
    polynomials C: what energy changes by, but for the forces, goes with what ends."""
    w, s = header(world), problem(world)
    placed, force = local_placed(world), local_force(world)
    for n in range(CHANNELS):
        for p in range(DEGREE):
            work[n, p] = 0.0
        work[n, 1] = span * w.power[n]
    work[FRICTION, 1] = work[CLOSING, 1] = 0.0
    u = matrix(w.nc, 3)
    contact_rates(s, local_acceleration(world), u)
    for c in range(w.nc):
        for e in range(1, 3):
            speed, rate = placed[c, 15 + e], u[c, e] - local_rate(world)[c, e] + placed[c, 18 + e]
            work[FRICTION, 1] += span * force[c, e] * speed
            work[FRICTION, 2] += 0.5 * span * span * force[c, e] * rate
    change = work[CLOSING]
    for k in range(w.m):
        b, x = bodies(world)[local_bodies(world)[k]], C[k]
        for p in range(1, DEGREE):
            for i in range(3):
                change[p] -= b.mass * w.gravity[i] * x[i, p]
                for q in range(p + 1):
                    change[p] += 0.5 * b.mass * x[7 + i, q] * x[7 + i, p - q]
                    for j in range(3):
                        change[p] += 0.5 * b.inertia[i, j] * x[10 + i, q] * x[10 + j, p - q]
    change[1] -= span * w.spring_power
    for n in range(CLOSING):
        for p in range(DEGREE):
            change[p] -= work[n, p]


@kernel()
def begin_pieces(world, island, C, work, span, share):
    """Let the bodies of the island that is shown move on polynomials C (m, 13, DEGREE) in the share of `span` [s],
    of which the first `share` counts, with this work (CHANNELS, DEGREE)."""
    w = header(world)
    e = islands(world)[island]
    e.start, e.end, e.noted = w.time, w.time + share * span, w.time
    e.version += 1
    scale = 1.0
    for p in range(DEGREE):
        for n in range(CHANNELS):
            e.work[n, p] = work[n, p] * scale
        scale /= span
    for k in range(w.m):
        body = local_bodies(world)[k]
        slot = slot_of(world, body)
        m, c = motions(world)[body], coefficients(world)[slot]
        for i in range(13):
            for p in range(TERMS):
                c[i, p] = 0.0
        scale = 1.0
        for p in range(DEGREE):
            for i in range(13):
                c[i, p] = C[k, i, p] * scale
            scale /= span
        for i in range(13):
            m.state[i] = C[k, i, 0]
        m.terms = DEGREE
        bound_piece(m, c, share * span)
        m.start = w.time
        begin(world, body, SERIES, e.end)
    enter_island_end(world, e.end, island)


@kernel()
def bound_piece(m, C, span):
    """Note nominal acceleration, deviation from it and turning of a piece of polynomials (13, TERMS) over its
    span."""
    deviation = turning = turn_rate = 0.0
    for i in range(3):
        spin = spin_rate = change = 0.0
        power, before = 1.0, 0.0  # span**p and span**(p - 1)
        for p in range(DEGREE):
            spin += abs(C[10 + i, p]) * power
            spin_rate += p * abs(C[10 + i, p]) * before
            if p > 1:
                change += p * abs(C[7 + i, p]) * before
            before = power
            power *= span
        deviation += change * change
        turning += spin * spin
        turn_rate += spin_rate * spin_rate
        m.acceleration[i] = C[7 + i, 1]
    m.deviation = np.sqrt(deviation)
    m.turning = turning + np.sqrt(turn_rate)


@kernel()
def rest(world, island):
    """Let the bodies of the island that is open stand still."""
    w, e = header(world), islands(world)[island]
    moving = energy(world, local_state(world)[: w.m])
    e.start, e.end, e.noted = w.time, np.inf, w.time
    e.version += 1
    for n in range(CHANNELS):
        for p in range(DEGREE):
            e.work[n, p] = 0.0
    for k in range(w.m):
        body = local_bodies(world)[k]
        m = motions(world)[body]
        for i in range(7):
            m.state[i] = local_state(world)[k, i]
        for i in range(3):
            moving += bodies(world)[body].mass * w.gravity[i] * m.state[i]
            m.state[7 + i] = m.state[10 + i] = m.acceleration[i] = 0.0
        m.deviation = m.turning = 0.0
        m.start = w.time
        begin(world, body, STILL, np.inf)
    log_jump(world, -moving)


@kernel()
def energy(world, y):
    """Kinetic energy and that in gravity [J] of the bodies shown, at packed states (m, 13)."""
    w, total = header(world), 0.0
    for k in range(w.m):
        b, s = bodies(world)[local_bodies(world)[k]], y[k]
        for i in range(3):
            total += b.mass * (0.5 * s[7 + i] * s[7 + i] - w.gravity[i] * s[i])
            for j in range(3):
                total += 0.5 * s[10 + i] * b.inertia[i, j] * s[10 + j]
    return total


@kernel()
def micro_motion(world, span, way, C, work):
    """Fill the motion C of a micro-step, moved on the way by `way`, and the work done over it."""
    micro_piece(world, span, way, C)
    micro_work(world, span, C, work)


@kernel()
def let_go(world, island):
    """Let the bodies of the island that is open fly from where they are shown."""
    w, y = header(world), local_state(world)
    for k in range(w.m):
        m = motions(world)[local_bodies(world)[k]]
        m.held = 0
        for i in range(13):
            m.state[i] = y[k, i]
    for c in range(w.nc):
        contacts(world)[local_contacts(world)[c]].mode = OPEN
    dissolve(world, island)


@kernel()
def gains(world, work):
    """Whether bodies gain energy to speak of over a micro-step with this work (CHANNELS, DEGREE)."""
    w, gained, scale = header(world), 0.0, 0.0
    for p in range(DEGREE):
        gained += work[CLOSING, p]
    for k in range(w.m):
        scale += bodies(world)[local_bodies(world)[k]].mass * w.speed * w.speed
    return gained > MICRO_GAIN * scale


@kernel(allocates=True)
def start_island(world, root):
    """Let the members that hold together with `root` rest, or move in contact from now on, or fly; or it jams."""
    w = header(world)
    island = new_island(world)
    collect(world, root, island)
    e = islands(world)[island]
    micro, step = MICRO_STEP * w.duration, 0.0
    body = e.body
    while body >= 0:
        m = motions(world)[body]
        micro, step = max(micro, m.micro_step), max(step, m.step)
        body = m.fellow
    e.micro_step, e.step = micro, step
    closing = False
    row = e.contact
    while row >= 0:
        closing = closing or contacts(world)[row].closing != 0
        row = contacts(world)[row].fellow
    if closing:
        micro = w.closing_span
    show_island(world, island)
    e = islands(world)[island]
    y = local_state(world)[: w.m]
    place(world, y)
    w.asked_time = w.time
    if w.ng > 0 and w.forces != 0:
        w.asked_state = y.ctypes.data
        call(w.forces, world, SATURATE, 0)
    before = energy(world, y)
    if w.nc > 0:
        note_levels(world)
        bring_back(world, y, False)
    if w.nc > 0 and not closing:
        keep_closed(world, y, True, True)
        place(world, y)
    log_jump(world, energy(world, y) - before)
    C, work, way = np.empty((w.m, 13, DEGREE)), matrix(CHANNELS, DEGREE), matrix(w.m, 6)
    for k in range(w.m):
        for i in range(6):
            way[k, i] = 0.0
    sure = not closing
    comes = choose_modes(world, y, micro, w.slipped, closing, sure)
    while comes == MOVES and not closing:
        micro_motion(world, micro, way, C, work)
        if not gains(world, work) or micro < LEAST_STEP * w.duration:
            break
        if not sure:  # what pushes changes within the step: a rim, all but flat, whose lowest point runs
            micro *= 0.25
        sure = False  # or pushes so hard that slip turns
        place(world, y)
        comes = choose_modes(world, y, micro, w.slipped, closing, sure)
    if comes == NO_FORCES:
        dissolve(world, island)
        return JAMS
    if comes == NOTHING_PRESSES:
        let_go(world, island)
        return STARTED
    write_forces(world)
    if comes == RESTS:
        rest(world, island)
        return STARTED
    keep_modes(world, island)
    if comes == CALMS or closing:
        micro_motion(world, micro, way, C, work)
    if closing:
        close_by_end(world, micro, C, way)
        micro_motion(world, micro, way, C, work)
        for p in range(DEGREE):  # friction of the bounces is theirs
            work[CLOSING, p] += work[FRICTION, p]
            work[FRICTION, p] = 0.0
    share, e = 1.0, islands(world)[island]
    e.ends = CALM if comes == CALMS else MICRO
    reached, which = end_of_room(
        world, C, matrix(w.m, 13), True
    )  # contacts may leave their feature within it
    if 0.0 < reached < 1.0:
        share, e.ends = reached, LEAVES if which >= 0 else REACHES_LIMIT
        e.cause = local_contacts(world)[which] if which >= 0 else -1
    begin_pieces(world, island, C, work, micro, share)
    return STARTED


@part()
def hold(world, what, row):
    """Let all members that hold together move in contact, on joints, or rest; 1 where no forces are found. Or,
    asked about a contact, say whether it can open."""
    if what == CAN_OPEN:
        return 1 if can_open(world, row) else 0
    w, table = header(world), contacts(world)
    for k in range(w.members_count):
        root = members(world)[k]
        if motions(world)[root].root != root:
            continue
        together = motions(world)[root].bound
        for c in range(w.found_count):
            o = table[found(world)[c]]
            body = o.first if motions(world)[o.first].mark == w.event else o.second
            together = together or (o.mode == HELD and root_of(world, body) == root)
        if together:
            settle_roots(world, root)
            if start_island(world, root) == JAMS:
                return JAMS
    return STARTED


@kernel()
def settle_roots(world, root):
    """Let all members that hold together with `root` have it for their root."""
    w = header(world)
    for k in range(w.members_count):
        body = members(world)[k]
        if root_of(world, body) == root:
            motions(world)[body].root = root


@part(allocates=True)
def go_on(world, island, j):
    """The next step of an island in its modes; 1 where none can be made."""
    w = header(world)
    log_work(world, island)
    body = islands(world)[island].body
    while body >= 0:
        bring(world, body, w.time)
        body = motions(world)[body].fellow
    show_island(world, island)
    e = islands(world)[island]
    longest = min(w.longest_step, e.step if e.step > 0.0 else FIRST_STEP * w.duration)
    if w.fixed_step > 0.0:
        longest = w.fixed_step
    if w.ng > 0 and w.forces != 0:
        w.asked_time, w.asked_state = w.time, local_state(world).ctypes.data
        call(w.forces, world, SATURATE, 0)
    C, work = np.empty((w.m, 13, DEGREE)), matrix(CHANNELS, DEGREE)
    span, share, what, which, following = make_step(world, longest, C, work)
    e = islands(world)[island]
    e.step, e.ends = following, what
    e.cause = local_contacts(world)[which] if which >= 0 else -1
    if what == FAILS:
        return 1
    keep_modes(world, island)
    write_forces(world)
    if span == 0.0 or share == 0.0:
        islands(world)[island].end = w.time
        return 2
    begin_pieces(world, island, C, work, span, share)
    return 0
