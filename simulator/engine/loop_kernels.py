"""The loop: what is due first, as many times as there is something to do that needs nobody outside.

`advance` goes on until the time asked for, or until Python has to look: a law that is not compiled, a log that
wants to be written, an event that somebody waits for, a failure. It leaves the world consistent and is called
again.
"""

import numpy as np

from ...compiled import call, kernel
from ..kernels import cross, dot, wholes
from ..movers.ends_kernels import (
    CALM,
    CAN_OPEN,
    FAILS,
    LEAVES,
    MICRO,
    NOTHING,
    OPENS,
    REACHES_LIMIT,
    SLIPS,
    STOPS,
)
from ..movers.pieces_kernels import kinetic_energy
from ..tolerances import (
    CONTACT_GAP,
    FAINT,
    LASTING,
    LEAST_TURN,
    MICRO_STEP,
    MOST_CRAWLS,
    OFF_JOINTS,
    RIM_SPEED,
    STAY,
    STOPPED_SLIP,
)
from .bounces_kernels import mark_closing, note_bounces
from .cells_kernels import change_cell, list_others, settle_in
from .contacts_kernels import EDGE, RIM, may_be_near, may_wait
from .flight_kernels import bring, fly
from .gather_kernels import (
    begin_event,
    drop_open,
    gather,
    join,
    place_found,
    set_aside,
    show_place,
    take_back,
)
from .islands_kernels import counted_short, give_back_island, leaning_rim, tell_stiff, unite, unite_group
from .kinds_kernels import slow_speed
from .law_kernels import NEEDS_PYTHON
from .log_kernels import (
    ACCUMULATES,
    HALT,
    IMPACT,
    IN_CONTACT,
    IN_IMPACT,
    LIFT_OFF,
    ROLL,
    SHOCK,
    SLIP,
    STICK,
    log_after,
    log_event,
    log_jump,
    log_piece,
    log_work,
)
from .meetings_kernels import earliest_meeting, look_at, plan, search
from .pairs_kernels import collide, has_cylinder, inside_row, pair_row, size_of
from .queue_kernels import (
    BOUND,
    CELL,
    CRAWLS,
    INSIDE,
    ISLAND_ENDS,
    MEETING,
    PIECE_ENDS,
    SETTLE,
    drop_first,
    drop_void,
    enter_pair,
    enter_settling,
)
from .sensors_kernels import is_sensor, look_inside, notice
from .strike_kernels import VERDICT, apply_impulses, graze, judge_impulses, largest_approach, pose_problem
from .tables_kernels import (
    BALLISTIC,
    HELD,
    NEAR,
    NUMBER,
    OPEN,
    SLIDING,
    STICKING,
    STILL,
    bodies,
    contacts,
    found,
    header,
    islands,
    local_contacts,
    local_placed,
    local_state,
    members,
    motions,
    others,
    pairs,
    queue,
    reserve,
)

REACHED, AT_REST, TOLD, ASK_LAW, LOG_FULL, TURNS, MEETS_STEPS = 0, 1, 2, 3, 4, 5, 6
NO_PROGRESS, LAW_FAILED, SEARCH_FAILED, HOLD_FAILED, FORCE_FAILED, EVENT_LIMIT, TOO_FAST = range(10, 17)
"""Why the loop returns: from NO_PROGRESS on the run cannot go on. With MEETS_STEPS one of the members is moved by
time steps, and whoever makes these is to resolve what was gathered."""
JAMMED = 20  # no forces in the cones: the law is asked for velocities from which there are some

CRAWL_TURNS = 30  # that a search counts which goes on from where it came to: it takes as long
JAMS_IN_A_ROW = 20
MOST_AT_ONCE = 256  # meetings of one instant that are looked at together
_FOUND, _MEMBERS = NUMBER["found"], NUMBER["members"]
STALLS = 200  # pieces that a body may begin at one instant
_STAGE_NUMBERS = 50  # of resolutions, that take as much room as a piece


@kernel()
def advance(world):
    """Go on to `header.until` [s], event by event, or to what needs Python: why it stopped."""
    w = header(world)
    if w.asked:
        why = take_impulses(world)
        if why != REACHED or w.waits_for:
            return why if why != REACHED else TOLD
    turns = 0
    while True:
        if w.stops_at_rest and w.moving == 0:
            return AT_REST
        if w.happened >= w.event_limit:
            return EVENT_LIMIT
        turns += 1
        if turns > w.turn_limit:
            return TURNS
        if max(w.pieces_count, w.event_contacts_count, w.stage_log_count // _STAGE_NUMBERS) >= w.log_limit:
            return LOG_FULL
        drop_void(world)
        if w.queue_count == 0 or queue(world)[0].time > w.until:
            if w.until < np.inf:
                w.time = max(w.time, w.until)
            return REACHED
        due = queue(world)[0]
        what, first, second = due.what, due.first, due.second
        w.time = max(w.time, due.time)
        drop_first(world)
        happened = w.happened
        why = REACHED
        if what == CRAWLS:
            turns += CRAWL_TURNS
        if what == CRAWLS and count_crawl(world) > MOST_CRAWLS:
            why = SEARCH_FAILED
        elif what == BOUND or what == CRAWLS:  # may meet: now find out exactly
            why = REACHED if search(world, first, second, w.time, what == CRAWLS) else SEARCH_FAILED
        elif what == CELL:  # comes among other neighbours
            come_among(world, second // 64, second % 64)
        elif what == PIECE_ENDS:  # its series ends, nothing happens
            if turns_too_fast(world, second):
                w.failed_first = second
                return TOO_FAST
            bring(world, second, w.time)
            fly(world, second)
            log_piece(world, second)
            if motions(world)[second].stalls > STALLS:
                return NO_PROGRESS
            plan(world, second, w.time, 0)
        elif what == ISLAND_ENDS:  # its step ends, or its contact mode does
            why = go_on_together(world, second)
        elif what == MEETING:
            if is_sensor(world, first, second):
                why = REACHED if notice(world, first, second) else SEARCH_FAILED
            else:
                why = meet(world, first, second)
        elif what == INSIDE:
            why = REACHED if look_inside(world, first, second) else SEARCH_FAILED
        elif what == SETTLE:  # starts, or was changed from outside
            why = meet(world, second, second)
        w.failed_first, w.failed_second = first, second
        if why == SEARCH_FAILED and can_look_anew(world, first, second):
            why = meet(world, first, second)
        if w.failed:
            return FORCE_FAILED
        if why != REACHED:
            return why
        if w.waits_for and w.happened > happened:
            return TOLD


@kernel()
def can_look_anew(world, i, j):
    """Whether two bodies whose search does not end hold together, by contacts that may not be where they touch now:
    to look at these anew ends it then. Once, until something happens."""
    w, row = header(world), inside_row(world, i, j)
    if row < 0 or pairs(world)[row].contact < 0 or w.looked_after == w.happened + 1:
        return False
    w.looked_after = w.happened + 1
    return True


@kernel()
def count_crawl(world):
    """How many searches have gone on in small steps since anything happened, with one more."""
    w = header(world)
    if w.happened != w.crawled_after:
        w.crawled, w.crawled_after = 0, w.happened
    w.crawled += 1
    return w.crawled


@kernel()
def turns_too_fast(world, body):
    """Whether a body spins so fast that numbers hold no more than the first few terms of how it turns."""
    m = motions(world)[body]
    speed = np.sqrt(m.state[10] ** 2 + m.state[11] ** 2 + m.state[12] ** 2)
    return (m.end - m.start) * speed < LEAST_TURN


@kernel()
def next_due(world):
    """When something is due next [s]: until then all motion is known."""
    drop_void(world)
    return queue(world)[0].time if header(world).queue_count > 0 else np.inf


@kernel()
def come_among(world, body, level):
    """A body leaves its cell: look at what is near it only now."""
    w = header(world)
    count = change_cell(world, body, level, w.time)
    for k in range(count):
        look_at(world, body, others(world)[k], w.time)


@kernel()
def meet(world, i, j):
    """Two bodies meet: everything that touches them, through the law, into new motion."""
    w = header(world)
    begin_event(world)
    join(world, i)
    join(world, j)
    look_anew(world, i, j)
    look_at_simultaneous(world)
    gather(world)
    place_found(world)
    count_short(world)
    w.slipped = 0
    return resolve(world)


@kernel()
def count_short(world):
    """Count the pieces of bodies in contact with others that an impact ends soon."""
    w = header(world)
    if w.members_count < 2:
        return
    for k in range(w.members_count):
        m = motions(world)[members(world)[k]]
        if m.island >= 0:
            m.short = counted_short(world, m.short, w.time - m.stalled_at)


@kernel()
def look_anew(world, i, j):
    """Contacts of a pair that last are to be found anew: it meets elsewhere too."""
    row = inside_row(world, i, j)
    if row >= 0:
        pairs(world)[row].stale = 1


@kernel(allocates=True)
def look_at_simultaneous(world):
    """Other pairs that meet at this very instant are looked at anew as well."""
    w = header(world)
    count = 0
    first, second = wholes(MOST_AT_ONCE), wholes(MOST_AT_ONCE)
    drop_void(world)
    while count < MOST_AT_ONCE and w.queue_count > 0:
        due = queue(world)[0]
        if due.what != MEETING or due.time > w.time or is_sensor(world, due.first, due.second):
            break
        first[count], second[count] = due.first, due.second
        count += 1
        drop_first(world)
        drop_void(world)
    for k in range(count):
        look_anew(world, first[k], second[k])
        enter_pair(world, w.time, first[k], second[k], MEETING)


@kernel()
def resolve(world):
    """What was gathered goes through the law where something approaches, and moves on."""
    w = header(world)
    if w.stepped > 0 and touches_stepped(world):
        return MEETS_STEPS
    dissolve_islands(world)
    set_aside(world)
    w.approach = largest_approach(world)
    if w.approach > slow_speed(world) and not comes_down_slowly(world):
        return take_impulses(world) if ask(world, IN_IMPACT) else ASK_LAW
    why = settle(world)  # rounding brought them here: no impact
    if why == JAMMED:
        return take_impulses(world) if ask_again(world) else ASK_LAW
    return why


@kernel()
def comes_down_slowly(world):
    """Whether nothing approaches but cylinders, so slowly that it is a rim, all but flat, whose lowest point runs
    around: implicit steps, by which their bodies go on, close it where it is now."""
    w, placed, slow = header(world), local_placed(world), slow_speed(world)
    for k in range(w.found_count):
        c = contacts(world)[found(world)[k]]
        if -placed[k, 15] <= slow:
            continue
        if -placed[k, 15] > RIM_SPEED * w.speed or not has_cylinder(world, c.first, c.second):
            return False
        if not may_wait(world, c.first, c.second):
            return False
    return True


@kernel()
def touches_stepped(world):
    """Whether time steps move one of the members."""
    for k in range(header(world).members_count):
        if motions(world)[members(world)[k]].stepped:
            return True
    return False


@kernel()
def ask_again(world):
    """No contact forces keep bodies apart: ask for velocities from which there are some."""
    w = header(world)
    dissolve_islands(world)
    for k in range(w.members_count):  # so that the states before this impact are known too
        motions(world)[members(world)[k]].kind = BALLISTIC
        log_piece(world, members(world)[k])
    show_place(world)
    set_aside(world)
    return ask(world, IN_CONTACT)


@kernel()
def ask(world, note):
    """Pose the problem of what was found, to a law that is compiled; whether it has answered, and Python is not
    needed."""
    w = header(world)
    pose_problem(world)
    if note == IN_CONTACT:
        graze(world, slow_speed(world))
    w.stages_count = 0
    w.asked = note
    w.law_code = call(w.law, world, 0, 0) if w.law != 0 else NEEDS_PYTHON
    return w.law_code != NEEDS_PYTHON


@kernel()
def take_impulses(world):
    """The law has resolved the event: take its impulses, and settle what it leaves."""
    w = header(world)
    for _ in range(JAMS_IN_A_ROW):
        why = strike(world)
        if why == HOLD_FAILED:
            break
        if why == REACHED:
            why = settle(world)
        if why != JAMMED:
            return why
        if not ask_again(world):
            return ASK_LAW
    w.asked, w.shocks = 0, 1
    why = settle(world)
    w.shocks = 0
    if why == JAMMED:
        return HOLD_FAILED
    log_event(world, STICK, SHOCK)
    return why


@kernel()
def strike(world):
    """Take the impulses of the law, or say that it failed, or has none for what hardly approaches."""
    w = header(world)
    note, w.asked = w.asked, 0
    verdict = judge_impulses(world, slow_speed(world))
    if w.law_code == 0 and verdict != 0:
        w.law_code = VERDICT + verdict
    if note == IN_CONTACT and (w.law_code != 0 or not any_impulse(world)):
        return HOLD_FAILED
    if w.law_code != 0 and w.approach <= FAINT * w.speed:
        return HOLD_FAILED
    note_bounces(world)
    log_event(world, IMPACT, note if w.closing_span == 0.0 else ACCUMULATES)
    act(world)
    log_after(world)
    mark_closing(world)
    return REACHED if w.law_code == 0 else LAW_FAILED


@kernel()
def act(world):
    """Let the impulses change velocities. Where the impact cuts an implicit step short, within which joints are not
    quite held, impulses of joints do work of which the law does not know: noted as that of what has drifted."""
    w = header(world)
    if w.nj == 0:
        apply_impulses(world)
        return
    y = local_state(world)[: w.m]
    before = kinetic_energy(world, y)
    apply_impulses(world)
    off = kinetic_energy(world, y) - before - w.energy_change
    if abs(off) > OFF_JOINTS * before:
        log_jump(world, off)


@kernel()
def any_impulse(world):
    """Whether the law gave an impulse."""
    w, table = header(world), contacts(world)
    for k in range(w.found_count):
        if table[found(world)[k]].impulse[0] != 0.0:
            return True
    return False


@kernel()
def dissolve_islands(world):
    """The members' islands are no more: what was due of them is void."""
    w = header(world)
    for k in range(w.members_count):
        m = motions(world)[members(world)[k]]
        if m.island >= 0:
            if islands(world)[m.island].bodies > 0:
                log_work(world, m.island)
                give_back_island(world, m.island)
            m.island = -1


@kernel()
def go_on_together(world, island):
    """The piece of an island ends: the next step of its modes, or other modes."""
    w, e = header(world), islands(world)[island]
    ends = e.ends
    if ends == MICRO or ends == NOTHING:
        if ends == MICRO:
            e.since = w.time
        implicit = e.implicit
        if tell_stiff(world, island) and find_anew(world, island):
            return change_modes(world, island, LEAVES, True)
        if implicit > 0 and islands(world)[island].implicit == 0:  # only implicit steps know what is near
            return change_modes(world, island, CALM, False)
        why = call(w.go_on, world, island, 0)
        e = islands(world)[island]
        if why == 0:
            body, stalls = e.body, 0
            while body >= 0:
                log_piece(world, body)
                stalls = max(stalls, motions(world)[body].stalls)
                body = motions(world)[body].fellow
            if stalls > STALLS:
                return NO_PROGRESS
            body = e.body
            while body >= 0:
                plan(world, body, w.time, 0)
                body = motions(world)[body].fellow
            return REACHED
        ends = e.ends if why == 2 else NOTHING
        return change_modes(world, island, ends, False)
    return change_modes(world, island, ends, True)


@kernel()
def find_anew(world, island):
    """Whether an island that goes on by implicit steps from now on has contacts that are others for them: its pairs
    are looked at anew then."""
    e = islands(world)[island]
    e.cause = leaning_rim(world, island)
    if e.cause < 0:
        return False
    row = e.contact
    while row >= 0:
        pairs(world)[contacts(world)[row].pair].stale = 1
        row = contacts(world)[row].fellow
    body = e.body
    while body >= 0:
        motions(world)[body].implicit = e.implicit
        body = motions(world)[body].fellow
    return True


@kernel()
def change_modes(world, island, ends, lasted):
    """The contact modes of an island end: note what does, and find others."""
    w, e = header(world), islands(world)[island]
    begin_event(world)
    # modes that do not last let the steps grow by which they are found
    micro = e.micro_step
    if w.time - e.since < 10.0 * micro:
        micro = min(2.0 * micro, w.longest_micro_step)
    else:
        micro = max(0.25 * micro, MICRO_STEP * w.duration)
    since, step, cause, way = e.start, e.step, e.cause, e.cause_turns
    short = e.short if ends == CALM else counted_short(world, e.short, w.time - e.start)
    implicit, implicit_step = e.implicit, e.implicit_step
    body = e.body
    while body >= 0:
        join(world, body)
        body = motions(world)[body].fellow
    if ends == LEAVES:
        pairs(world)[contacts(world)[e.cause].pair].stale = 1
    if ends == LEAVES or ends == REACHES_LIMIT:
        gather(world)
    else:
        row = e.contact
        reserve(world, _FOUND, e.contacts)
        while row >= 0:
            found(world)[w.found_count] = row
            w.found_count += 1
            row = contacts(world)[row].fellow
    place_found(world)
    turns = ends == STOPS and not has_stopped(world, cause, way)
    if turns:  # slip so slow that its direction is not its own: as long as that lasts, longer steps find it
        micro = min(max(micro, 0.5 * (w.time - since)), w.longest_micro_step)
    for k in range(w.members_count):
        m = motions(world)[members(world)[k]]
        m.micro_step, m.step = micro, 0.0 if ends == FAILS else step
        m.short, m.implicit, m.implicit_step = short, implicit, implicit_step
    opens = 0
    if ends == OPENS:
        opens = 1 if call(w.hold, world, CAN_OPEN, cause) else 2
        contacts(world)[cause].opens = opens
    if lasted and (opens == 1 or ends == SLIPS or (ends == STOPS and not turns)):
        kind = SLIP if ends == SLIPS else STICK
        if way >= 0:
            kind = ROLL if ends == SLIPS else HALT
        log_event(world, LIFT_OFF if ends == OPENS else kind, 0)
    w.slipped = 1 if ends == SLIPS else 0
    happened = w.happened
    why = resolve(world)
    if lasted and turns and why == REACHED and w.happened == happened and holds_still(world, cause, way):
        log_event(world, STICK if way < 0 else HALT, 0)
    return why


@kernel()
def holds_still(world, row, way):
    """Whether a contact sticks (way: -1), or does not roll (0) or spin (1), or its bodies rest, in the motion that
    has just begun."""
    c = contacts(world)[row]
    for body in (c.first, c.second):
        if bodies(world)[body].movable and motions(world)[body].kind == STILL:
            return True
    return (c.mode if way < 0 else c.turn_mode[way]) == STICKING


@kernel()
def has_stopped(world, row, way):
    """Whether the slip of a contact (way: -1), its rolling (0) or spinning (1) has come to its end, and has not
    only left the direction that it had."""
    w, c, C = header(world), contacts(world)[row], local_contacts(world)
    for k in range(w.nc):
        if C[k] != row:
            continue
        u = local_placed(world)[k]
        slip = u[16] * u[16] + u[17] * u[17]
        if way >= 0:
            about = dot(u[0], u[1], u[2], u[25], u[26], u[27])
            x, y, z = cross(u[0], u[1], u[2], u[25], u[26], u[27])
            lever = size_of(world, c.first, c.second)
            slip = lever * lever * (about * about if way == 1 else x * x + y * y + z * z)
        return slip <= (STOPPED_SLIP * w.speed) ** 2
    return (c.mode if way < 0 else c.turn_mode[way]) != SLIDING


@kernel()
def slowest_apart(world, c):
    """Speed [m/s] above which a contact opens. Where a round surface has come from one feature to the next, its
    normal has turned since by as much as features hold beyond their ends."""
    w = header(world)
    turned = 0.0
    if c.again and c.radius[0] + c.radius[1] > 0.0:
        turned = 2.0 * STAY * CONTACT_GAP * size_of(world, c.first, c.second) / (c.radius[0] + c.radius[1])
    return (LASTING + turned) * w.speed


@kernel()
def comes_back(world, c, speed, gap):
    """Whether a contact of bodies that go on by implicit steps parts, or comes nearer, so slowly [m/s] that it may
    press within them, and not by more than that."""
    w, step = header(world), 0.0
    if not may_be_near(world, c):
        return False
    for body in (c.first, c.second):
        m = motions(world)[body]
        if bodies(world)[body].movable and m.implicit > 0:
            step = max(step, m.implicit_step)
    slow = w.longest_implicit_step * w.speed / w.duration
    crossing = (c.feature[0] == EDGE or c.feature[0] == RIM) and (c.feature[1] == EDGE or c.feature[1] == RIM)
    return step > 0.0 and -2.0 * gap <= speed * step and (speed <= slow or crossing)


@kernel()
def settle(world):
    """New motion of the members: in contact where contacts press, else in flight."""
    touching = header(world).found_count
    take_back(world)
    w, table, placed = header(world), contacts(world), local_placed(world)
    w.looks += 1
    for k in range(w.members_count):
        body = members(world)[k]
        motions(world)[body].root = body
        if bodies(world)[body].joined >= 0:
            unite_group(world, body)
    closed = 0
    for k in range(w.found_count):
        c = table[found(world)[k]]
        stays = k < touching and (placed[k, 15] <= slowest_apart(world, c) or c.closing != 0)
        c.mode = HELD if stays else OPEN
        c.turn_mode[0] = c.turn_mode[1] = OPEN
        if not stays and comes_back(world, c, placed[k, 15], placed[k, 21]):
            c.mode = NEAR
        if c.mode != OPEN:
            closed += 1
            if bodies(world)[c.first].movable and bodies(world)[c.second].movable:
                unite(world, c.first, c.second)
    for k in range(w.members_count):
        motions(world)[members(world)[k]].held = 0
    if (closed > 0 or w.joined_members != 0) and call(w.hold, world, 0, 0) != 0:
        return JAMMED
    w.closing_span = 0.0
    for k in range(w.found_count):
        c = table[found(world)[k]]
        c.closing = c.again = c.opens = 0
    drop_open(world)
    for k in range(w.members_count):
        body = members(world)[k]
        if not motions(world)[body].held:
            fly(world, body)
    w.stalled, w.stalled_at = 0, w.time
    for k in range(w.members_count):
        body = members(world)[k]
        log_piece(world, body)
        w.stalled = max(w.stalled, motions(world)[body].stalls)
    if w.stalled > STALLS:
        return NO_PROGRESS
    for k in range(w.members_count):
        plan(world, members(world)[k], w.time, w.event)
    return REACHED


@kernel()
def start(world):
    """Put all bodies into their cells; those that can move are to be settled now."""
    w = header(world)
    for body in range(w.bodies_count):
        motions(world)[body].start = w.time
        settle_in(world, body)
        log_piece(world, body)
    for body in range(w.bodies_count):
        wake(world, body)


@kernel()
def wake(world, body):
    """Let a body be settled anew, now, if it can move."""
    w, m = header(world), motions(world)[body]
    if bodies(world)[body].movable:
        w.moving += m.rests
        m.rests = 0
        enter_settling(world, w.time, body)


@kernel()
def close_pairs(world):
    """List pairs of bodies that can meet and whose bounding spheres touch now as numbers 2 k and 2 k + 1 of the
    table of members; how many."""
    w = header(world)
    count = 0
    for body in range(w.bodies_count):
        near = list_others(world, body) if bodies(world)[body].level >= 0 else 0
        for k in range(near):
            other = others(world)[k]
            if not collide(world, body, other) or (body > other and bodies(world)[other].level >= 0):
                continue
            gap, _ = earliest_meeting(world, body, other, w.time)
            if gap > CONTACT_GAP * size_of(world, body, other):
                continue
            reserve(world, _MEMBERS, 2 * count + 2)
            members(world)[2 * count], members(world)[2 * count + 1] = body, other
            count += 1
    return count


@kernel()
def begin_inside(world, i, j):
    """A sensor and a body overlap at the start."""
    pairs(world)[pair_row(world, i, j)].inside = 1
