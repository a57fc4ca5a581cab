"""The mover of bodies in lasting contact and on joints: islands, from what settles together to what ends their
pieces."""

import numpy as np

from ...compiled import call, kernel, part
from ..engine.contacts_kernels import way_of_step
from ..engine.flight_kernels import begin, bring
from ..engine.gather_kernels import drop_with
from ..engine.islands_kernels import (
    begin_together,
    counted_short,
    give_back_island,
    new_island,
    root_of,
)
from ..engine.log_kernels import log_jump, log_work
from ..engine.tables_kernels import (
    CHANNELS,
    CLOSING,
    DEGREE,
    FRICTION,
    HELD,
    IMPLICIT,
    NEAR,
    OPEN,
    SERIES,
    STILL,
    bodies,
    contacts,
    found,
    header,
    islands,
    local_bodies,
    local_contacts,
    local_direction,
    local_mode,
    local_placed,
    local_slow,
    local_state,
    local_way,
    members,
    motions,
)
from ..kernels import matrix
from ..tolerances import FIRST_STEP, IMPLICIT_GAIN, LEAST_STEP, MICRO_STEP, ROUNDED_WAY, TOUCH_GAP
from .ends_kernels import CALM, CAN_OPEN, FAILS, LEAVES, MICRO, REACHES_LIMIT
from .implicit_kernels import close_end, make_implicit_step
from .joint_parts_kernels import ROOM, SATURATE
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
from .pieces_kernels import (
    begin_pieces,
    bump,
    cubic_piece,
    energy,
    gains,
    kinetic_energy,
    on_step,
    piece_work,
    scale_of_energy,
    steady_piece,
)
from .steps_kernels import end_of_room, make_step
from .system_kernels import place, show_island, write_forces
from .turns_kernels import keep_turns

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
def append_contact(world, island, last, row):
    """Put a contact behind the `last` of an island's (-1: there is none yet); its row."""
    e, table = islands(world)[island], contacts(world)
    if last < 0:
        e.contact = row
    else:
        table[last].fellow = row
    table[row].fellow = -1
    e.contacts += 1
    return row


@kernel()
def member_of(world, c):
    """A body of a contact that was found which is a member of the event."""
    return c.first if motions(world)[c.first].mark == header(world).event else c.second


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
        if c.mode != OPEN and motions(world)[member_of(world, c)].root == root:
            last = append_contact(world, island, last, row)


@kernel()
def forget_near(world, island):
    """Let contacts of an island open that are only near: nothing but implicit steps knows what to do with them."""
    e, table = islands(world)[island], contacts(world)
    row, last = e.contact, -1
    e.contact, e.contacts = -1, 0
    while row >= 0:
        following = table[row].fellow
        if table[row].mode == NEAR:
            table[row].mode = OPEN
        else:
            last = append_contact(world, island, last, row)
        row = following


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
        if mode[c] != OPEN:
            last = append_contact(world, island, last, rows[c])
    keep_turns(world)


@kernel()
def micro_motion(world, y, span, C, work):
    """Fill the motion C of a micro-step from states y (m, 13), and the work done over it."""
    steady_piece(world, y, span, C)
    piece_work(world, span, C, work)


@kernel(allocates=True)
def close_bounces(world, y, span, C, work):
    """Fill C (m, 13, DEGREE) and work (CHANNELS, DEGREE) with the motion from states y (m, 13) over a `span` [s] in
    which bounces end under the local accelerations. They leave no gap, unless what takes it away would move faster
    than the bounces do, or would need energy on the way: an impact can end the piece there, and keep it."""
    w, bouncing, moved = header(world), 0.0, 0.0
    steady_piece(world, y, span, C)
    for c in range(w.nc):
        o = contacts(world)[local_contacts(world)[c]]
        if o.closing:
            o.level = 0.0
            bouncing = max(bouncing, abs(local_placed(world)[c, 15]))
    end, shifted = matrix(w.m, 13), matrix(w.m, 13)
    on_step(C, 1.0, end)
    on_step(C, 1.0, shifted)
    place(world, end)
    bring_back(world, shifted, True)
    for k in range(w.m):
        size = bodies(world)[local_bodies(world)[k]].size
        for i in range(7):
            moved = max(moved, abs(shifted[k, i] - end[k, i]) * (1.0 if i < 3 else 2.0 * size))
    if moved <= bouncing * span:
        place(world, y)
        cubic_piece(world, y, shifted, span, C)
        piece_work(world, span, C, work)
        if bump(world, work) <= IMPLICIT_GAIN * scale_of_energy(world):
            return
    place(world, end)
    for c in range(w.nc):
        o = contacts(world)[local_contacts(world)[c]]
        if o.closing:
            o.level = within_touch(world, o, local_placed(world)[c, 21])
    place(world, y)
    micro_motion(world, y, span, C, work)


@kernel()
def rest(world, island):
    """Let the bodies of the island that is open stand still."""
    w, e = header(world), islands(world)[island]
    moving = kinetic_energy(world, local_state(world)[: w.m])
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
            m.state[7 + i] = m.state[10 + i] = m.acceleration[i] = 0.0
        m.deviation = m.turning = 0.0
        m.start, m.implicit = w.time, 0
        begin(world, body, STILL, np.inf)
    log_jump(world, -moving)


@kernel()
def note_states(world):
    """Let the bodies of the island that is open be where, and as fast as, they are shown."""
    y = local_state(world)
    for k in range(header(world).m):
        m = motions(world)[local_bodies(world)[k]]
        for i in range(13):
            m.state[i] = y[k, i]


@kernel()
def saturate(world):
    """Find out which drives of the island that is open are at their largest force."""
    w = header(world)
    w.asked_time = w.time
    if w.ng > 0 and w.forces != 0:
        w.asked_state = local_state(world).ctypes.data
        call(w.forces, world, SATURATE, 0)


@kernel()
def let_go(world, island):
    """Let the bodies of the island that is open fly from where they are shown."""
    w = header(world)
    note_states(world)
    for k in range(w.m):
        motions(world)[local_bodies(world)[k]].held = 0
    for c in range(w.nc):
        contacts(world)[local_contacts(world)[c]].mode = OPEN
    dissolve(world, island)


@kernel(allocates=True)
def start_island(world, root):
    """Let the members that hold together with `root` rest, or move in contact from now on, or fly; or it jams."""
    w = header(world)
    island = new_island(world)
    collect(world, root, island)
    e = islands(world)[island]
    micro, e.step, e.implicit_step = MICRO_STEP * w.duration, 0.0, 0.0
    e.short = e.implicit = 0
    body = e.body
    while body >= 0:
        m = motions(world)[body]
        micro, e.step, e.implicit_step = (
            max(micro, m.micro_step), max(e.step, m.step), max(e.implicit_step, m.implicit_step)
        )  # fmt: skip
        e.short, e.implicit = max(e.short, m.short), max(e.implicit, m.implicit)
        body = m.fellow
    e.micro_step = micro
    begin_together(world, island)
    closing = False
    row = e.contact
    while row >= 0:
        closing = closing or contacts(world)[row].closing != 0
        row = contacts(world)[row].fellow
    if islands(world)[island].implicit > 0 and w.closing_speed * w.closing_span <= ROUNDED_WAY * w.length:
        closing = False  # rounding of places: an implicit step ends it, and follows rims that run around
    if closing:
        micro = w.closing_span
    if closing or islands(world)[island].implicit == 0:
        forget_near(world, island)
    show_island(world, island)
    e = islands(world)[island]
    y = local_state(world)[: w.m]
    place(world, y)
    saturate(world)
    before = energy(world, y)
    if w.nc > 0 and islands(world)[island].implicit > 0 and not closing:
        close_end(world, y)
    elif w.nc > 0:
        note_levels(world)
        bring_back(world, y, False)
        if not closing:
            keep_closed(world, y, True, True)
            place(world, y)
    log_jump(world, energy(world, y) - before)
    if islands(world)[island].implicit > 0 and not closing:
        if call(w.go_on_implicitly, world, island, 0) == 0:
            return STARTED
        note_states(world)
        forget_near(world, island)
        show_island(world, island)
        place(world, y)
    C, work = np.empty((w.m, 13, DEGREE)), matrix(CHANNELS, DEGREE)
    sure = not closing
    comes = choose_modes(world, y, micro, w.slipped, closing, sure)
    if comes == NO_FORCES and sure and w.shocks != 0:
        sure = False  # slip that wedges bodies fast comes to its end within the step, whatever it takes
        place(world, y)
        comes = choose_modes(world, y, micro, w.slipped, closing, sure)
    while comes == MOVES or (closing and comes >= MOVES):
        if closing:
            close_bounces(world, y, micro, C, work)
        else:
            micro_motion(world, y, micro, C, work)
        if not gains(world, work) or micro < LEAST_STEP * w.duration:
            break
        if (
            closing or not sure
        ):  # what pushes changes within the step: a rim, all but flat, whose lowest point runs
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
    if comes == CALMS and not closing:
        micro_motion(world, y, micro, C, work)
    if closing:
        for p in range(DEGREE):  # friction of the bounces is theirs
            work[CLOSING, p] += work[FRICTION, p]
            work[FRICTION, p] = 0.0
    islands(world)[island].ends = CALM if comes == CALMS else MICRO
    begin_with_room(world, island, C, work, micro, SERIES)
    return STARTED


@kernel(allocates=True)
def begin_with_room(world, island, C, work, span, kind):
    """Begin the pieces of an island up to where a contact leaves its feature within them, or a joint reaches a
    limit. What implicit steps find near is found on features that reach beyond their ends by as much."""
    w, share, e = header(world), 1.0, islands(world)[island]
    beyond = max(TOUCH_GAP * w.length, way_of_step(world) if kind == IMPLICIT else 0.0)
    w.room_within = 1 if kind == IMPLICIT else 0
    reached, which = end_of_room(world, C, matrix(w.m, 13), beyond)
    w.room_within = 0
    if 0.0 < reached < 1.0:
        share, e.ends = reached, LEAVES if which >= 0 else REACHES_LIMIT
        e.cause, e.cause_turns = local_contacts(world)[which] if which >= 0 else -1, -1
    begin_pieces(world, island, C, work, span, share, kind)


@part()
def hold(world, what, row):
    """Let all members that hold together move in contact, on joints, or rest; 1 where no forces are found. Or,
    asked about a contact, say whether it can open."""
    if what == CAN_OPEN:
        return 1 if can_open(world, row) else 0
    for k in range(header(world).members_count):
        root = members(world)[k]
        if motions(world)[root].root != root:
            continue
        if holds_together(world, root):
            settle_roots(world, root)
            if start_island(world, root) == JAMS:
                return JAMS
        else:
            open_near(world, root)
    return STARTED


@kernel()
def holds_together(world, root):
    """Whether a contact holds members together that stand under `root`, or joints or forces move one of them where
    nothing touches."""
    w, table = header(world), contacts(world)
    for k in range(w.members_count):
        body = members(world)[k]
        if motions(world)[body].bound and root_of(world, body) == root:
            return True
    for c in range(w.found_count):
        o = table[found(world)[c]]
        if o.mode == HELD and root_of(world, member_of(world, o)) == root:
            return True
    return False


@kernel()
def open_near(world, root):
    """Let contacts open that are only near, of members that nothing else holds together."""
    w, table = header(world), contacts(world)
    for c in range(w.found_count):
        o = table[found(world)[c]]
        if o.mode == NEAR and root_of(world, member_of(world, o)) == root:
            o.mode = OPEN


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
    """The next step of an island in its modes; 1 where none can be made, 2 where these end now."""
    w = header(world)
    log_work(world, island)
    body = islands(world)[island].body
    while body >= 0:
        bring(world, body, w.time)
        body = motions(world)[body].fellow
    show_island(world, island)
    e = islands(world)[island]
    saturate(world)
    if e.implicit > 0:
        why = call(w.go_on_implicitly, world, island, 0)
        drop_opened(world)
        return why
    longest = min(w.longest_step, e.step if e.step > 0.0 else FIRST_STEP * w.duration)
    if w.fixed_step > 0.0:
        longest = w.fixed_step
    # of the piece that has ended: an impact may end the next one long before its time
    e.short = counted_short(world, e.short, w.time - e.start)
    C, work, begins = np.empty((w.m, 13, DEGREE)), matrix(CHANNELS, DEGREE), matrix(w.m, 13)
    before = energy(world, local_state(world)[: w.m])
    span, share, what, which, following = make_step(world, longest, C, work)
    e = islands(world)[island]
    e.step, e.ends = following, what
    e.cause = local_contacts(world)[which] if which >= 0 else -1
    e.cause_turns = local_way(world)[which] if which >= w.nc else -1
    if what == FAILS:
        return 1
    keep_modes(world, island)
    write_forces(world)
    if span == 0.0 or share == 0.0:
        e.short += 1
        islands(world)[island].end = w.time
        return 2
    on_step(C, 0.0, begins)
    log_jump(world, energy(world, begins) - before)  # of what has drifted
    begin_pieces(world, island, C, work, span, share, SERIES)
    return 0


@part(allocates=True)
def go_on_implicitly(world, island, j):
    """The next implicit step of the island that is shown; 1 where none can be made, 2 where it ends now."""
    w, e = header(world), islands(world)[island]
    if passes_limit(world):
        e.ends, e.cause, e.cause_turns, e.end = REACHES_LIMIT, -1, -1, w.time
        e.short += 1
        return 2
    C, work = np.empty((w.m, 13, DEGREE)), matrix(CHANNELS, DEGREE)
    longest = min(w.longest_implicit_step, w.longest_step)
    if e.implicit_step > 0.0:
        longest = min(longest, e.implicit_step)
    span, following, calm = make_implicit_step(world, longest, C, work)
    e = islands(world)[island]
    e.implicit_step = following
    if span == 0.0:
        e.implicit = e.short = 0
        return 1
    keep_modes(world, island)
    e.implicit = 0 if calm or e.contacts == 0 else e.implicit - 1
    e.ends = CALM if e.implicit == 0 else MICRO
    begin_with_room(world, island, C, work, span, IMPLICIT)
    return 0


@kernel()
def passes_limit(world):
    """Whether a joint of the island that is shown is at a limit now that nothing holds, and goes on beyond it."""
    w = header(world)
    if w.ng == 0 or w.joints == 0:
        return False
    place(world, local_state(world)[: w.m])
    call(w.joints, world, ROOM, 0)
    return w.way < 0.0 and w.way_rate < 0.0


@kernel()
def drop_opened(world):
    """Drop the contacts of the island that is open which have opened."""
    for c in range(header(world).nc):
        if local_mode(world)[c] == OPEN:
            drop_with(world, local_contacts(world)[c])
