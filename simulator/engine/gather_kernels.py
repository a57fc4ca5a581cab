"""Everything that touches at an instant, as one set: members (movable bodies) and found (their contacts), in
order."""

import numpy as np

from ...compiled import call, kernel
from ..kernels import vector13, wholes
from ..movers.ends_kernels import LEAVES
from ..movers.joint_parts_kernels import TOUCH
from ..movers.system_kernels import note_places, place, read_state, show_members, states_now
from ..tolerances import CONTACT_GAP, CUT_SHORT, SAME_NORMAL, SAME_PLACE
from .cells_kernels import list_others
from .contacts_kernels import LIMIT, attach, carry_over, drop_contact, is_apart, may_wait, reach_of
from .flight_kernels import bring
from .meetings_kernels import earliest_meeting
from .pairs_kernels import collide, inside_row, kind_of, size_of
from .tables_kernels import (
    HELD,
    NEAR,
    NUMBER,
    OPEN,
    bodies,
    contacts,
    found,
    group_members,
    groups,
    header,
    islands,
    limit_rows,
    members,
    motions,
    others,
    pairs,
    reserve,
    touched,
)

_FOUND, _MEMBERS, _TOUCHED = NUMBER["found"], NUMBER["members"], NUMBER["touched"]


@kernel()
def join(world, body):
    """Count a body among the members of this event, if it moves and is not there yet."""
    w, m = header(world), motions(world)[body]
    if bodies(world)[body].movable and m.mark != w.event:
        m.mark = w.event
        if bodies(world)[body].joined >= 0:
            w.joined_members = 1
        reserve(world, _MEMBERS, w.members_count + 1)
        members(world)[w.members_count] = body
        w.members_count += 1


@kernel()
def begin_event(world):
    """Forget the members and contacts of the last event."""
    w = header(world)
    w.event += 1
    w.members_count = w.found_count = w.joined_members = w.aside_count = 0


@kernel()
def lasting(world, pair):
    """Whether a pair has contacts that last."""
    return pair >= 0 and pairs(world)[pair].contact >= 0


@kernel()
def touch_now(world, i, j):
    """Whether two bodies touch now; their pair then has the contacts in its chain."""
    w = header(world)
    if bodies(world)[i].sensor or bodies(world)[j].sensor or not collide(world, i, j):
        return False
    pair = inside_row(world, i, j)
    before = -1
    if lasting(world, pair):
        if not pairs(world)[pair].stale:
            return True
        before = pairs(world)[pair].contact
        pairs(world)[pair].contact = -1
    body, other = (j, i) if bodies(world)[i].level < 0 else (i, j)
    gap, _ = earliest_meeting(world, body, other, w.time)
    touching = gap <= reach_of(world, i, j)
    touching = touching and call(w.touch[kind_of(world, i, j)], world, i, j) > 0
    if before >= 0:
        pairs(world)[pair].stale = 0
        carry_over(world, pair, before)
    if touching:
        note_near(world, inside_row(world, i, j))
    return touching


@kernel()
def note_near(world, pair):
    """Let new contacts of a pair be only near that do not touch."""
    row = pairs(world)[pair].contact
    while row >= 0:
        c = contacts(world)[row]
        if is_apart(world, c):
            c.mode, c.level = NEAR, np.nan
        row = c.next


@kernel()
def note_pair(world, pair):
    """Count a pair among those that touch."""
    w = header(world)
    reserve(world, _TOUCHED, w.touched_count + 1)
    touched(world)[w.touched_count] = pair
    w.touched_count += 1


@kernel(allocates=True)
def put_contacts(world):
    """Put the contacts of all pairs that touch into those found, in the order of the pairs; limits of joints
    last."""
    w, table, list_ = header(world), contacts(world), touched(world)
    keys = wholes(w.touched_count)
    for k in range(w.touched_count):
        p = pairs(world)[list_[k]]
        keys[k] = (p.first << 31) + p.second
    sort_by(keys, list_, w.touched_count)
    for k in range(w.touched_count):
        row = pairs(world)[list_[k]].contact
        while row >= 0:
            if table[row].behind < 0:
                reserve(world, _FOUND, w.found_count + 1)
                found(world)[w.found_count] = row
                w.found_count += 1
            row = table[row].next


@kernel()
def sort_by(keys, values, count):
    """Put keys into rising order, and values with them: a heap sort."""
    for begin in range(count // 2 - 1, -1, -1):
        sift(keys, values, begin, count)
    for last in range(count - 1, 0, -1):
        keys[0], keys[last] = keys[last], keys[0]
        values[0], values[last] = values[last], values[0]
        sift(keys, values, 0, last)


@kernel()
def sift(keys, values, at, count):
    """Let an entry of a heap, the largest key first, down to its place."""
    while 2 * at + 1 < count:
        child = 2 * at + 1
        if child + 1 < count and keys[child + 1] > keys[child]:
            child += 1
        if keys[child] <= keys[at]:
            return
        keys[at], keys[child] = keys[child], keys[at]
        values[at], values[child] = values[child], values[at]
        at = child


@kernel(allocates=True)
def sort_members(world):
    """Put the members in rising order."""
    w = header(world)
    keys = wholes(w.members_count)
    for k in range(w.members_count):
        keys[k] = members(world)[k]
    sort_by(keys, members(world), w.members_count)


@kernel()
def gather(world):
    """All that is connected to the members through movable bodies that touch or are joined."""
    w = header(world)
    w.touched_count = done = 0
    while done < w.members_count:
        body = members(world)[done]
        done += 1
        m = motions(world)[body]
        m.expanded = w.event
        if m.island >= 0:
            look_where_left(world, m.island)
            fellow = islands(world)[m.island].body
            while fellow >= 0:
                join(world, fellow)
                fellow = motions(world)[fellow].fellow
        if bodies(world)[body].joined >= 0:
            gather_group(world, bodies(world)[body].joined)
        count = list_others(world, body)
        for k in range(count):
            other = others(world)[k]
            if motions(world)[other].expanded == w.event:  # which has looked at this one
                continue
            if touch_now(world, body, other):
                note_pair(world, inside_row(world, body, other))
                join(world, other)
    sort_members(world)
    put_contacts(world)


@kernel()
def look_where_left(world, island):
    """Let the pair whose contact leaves its feature now be looked at anew, where something else happens at the very
    instant at which the island's piece ends for that."""
    e = islands(world)[island]
    if e.ends == LEAVES and e.end <= header(world).time:
        pairs(world)[contacts(world)[e.cause].pair].stale = 1


@kernel()
def gather_group(world, number):
    """All bodies of a group, and the limits of their joints that are reached."""
    w, g = header(world), groups(world)[number]
    if g.event == w.event:
        return
    g.event = w.event
    for k in range(g.members[1]):
        join(world, group_members(world)[g.members[0] + k])
    if g.limits[1] > 0:
        call(w.joints, world, TOUCH, number)
        for k in range(g.limits[1]):
            pair = limit_rows(world)[groups(world)[number].limits[0] + k].pair
            if pairs(world)[pair].contact >= 0:
                note_pair(world, pair)


# -- where they are ----------------------------------------------------------------------------------------


@kernel()
def place_found(world):
    """Bring the members here and now, attach contacts that are new, and show and place all."""
    w = header(world)
    for k in range(w.members_count):
        bring(world, members(world)[k], w.time)
    table = contacts(world)
    here, there = vector13(), vector13()
    for k in range(w.found_count):
        c = table[found(world)[k]]
        if c.side[0] < 0 and c.feature[0] != LIMIT:
            read_state(world, c.first, here)
            read_state(world, c.second, there)
            attach(world, c, here, there)
    show_place(world)
    if w.planar and drop_behind(world):
        show_place(world)


@kernel()
def show_place(world):
    """Show the members and place them, and note where their contacts are."""
    show_members(world)
    place(world, states_now(world))
    note_places(world)


@kernel()
def only_near(world, c):
    """Whether a contact is one that has parted, and does not touch again; or one that closes, or presses, only at
    the end of an implicit step, which something else has cut short."""
    if c.mode == NEAR:
        return is_apart(world, c)
    if c.mode == OPEN or not may_wait(world, c.first, c.second):
        return False
    return c.gap > CUT_SHORT * CONTACT_GAP * size_of(world, c.first, c.second)


@kernel(allocates=True)
def set_aside(world):
    """Put contacts found that are only near behind those that touch, which alone are looked at until
    `take_back`."""
    w, table, list_ = header(world), contacts(world), found(world)
    w.aside_count = 0
    for k in range(w.found_count):
        w.aside_count += only_near(world, table[list_[k]])
    if w.aside_count == 0:
        return
    rows, touching, apart = wholes(w.found_count), 0, w.found_count - w.aside_count
    for k in range(w.found_count):
        rows[k] = list_[k]
    for k in range(w.found_count):
        if only_near(world, table[rows[k]]):
            list_[apart] = rows[k]
            apart += 1
        else:
            list_[touching] = rows[k]
            touching += 1
    w.found_count = touching
    show_place(world)


@kernel()
def take_back(world):
    """Look at contacts that are only near again."""
    w = header(world)
    if w.aside_count > 0:
        w.found_count += w.aside_count
        show_place(world)
    w.aside_count = 0


@kernel()
def drop_behind(world):
    """In a planar scene contacts behind each other are one: the first stands for the later ones; whether there are
    any."""
    w, table = header(world), contacts(world)
    kept = 0
    for k in range(w.found_count):
        row = found(world)[k]
        c = table[row]
        behind = -1
        for q in range(kept):
            o = table[found(world)[q]]
            if c.feature[0] == LIMIT or o.feature[0] == LIMIT or o.pair != c.pair:
                continue
            within = SAME_PLACE * size_of(world, c.first, c.second)
            away = along = turned = 0.0
            for i in range(3):
                along += (c.point[i] - o.point[i]) * w.plane[i]
            for i in range(3):
                away += (c.point[i] - o.point[i] - along * w.plane[i]) ** 2
                turned += (c.normal[i] - o.normal[i]) ** 2
            if away <= within * within and turned <= SAME_NORMAL**2:
                behind = found(world)[q]
        if behind >= 0:
            c.behind, c.mode = behind, HELD
        else:
            found(world)[kept] = row
            kept += 1
    dropped = kept < w.found_count
    w.found_count = kept
    return dropped


@kernel()
def unlink(world, row):
    """Take a contact out of the chain of its pair."""
    table = contacts(world)
    pair = table[row].pair
    if pair < 0:
        return
    at = pairs(world)[pair].contact
    if at == row:
        pairs(world)[pair].contact = table[row].next
        return
    while table[at].next != row:
        at = table[at].next
    table[at].next = table[row].next


@kernel()
def drop_with(world, row):
    """Drop a contact, and those for which it stands."""
    table = contacts(world)
    pair = table[row].pair
    unlink(world, row)
    drop_contact(world, row)
    if header(world).planar and pair >= 0:
        other = pairs(world)[pair].contact
        while other >= 0:
            following = table[other].next
            if table[other].behind == row:
                unlink(world, other)
                drop_contact(world, other)
            other = following


@kernel()
def drop_open(world):
    """Drop found contacts that do not last."""
    w, table = header(world), contacts(world)
    kept = 0
    for k in range(w.found_count):
        row = found(world)[k]
        if table[row].mode == OPEN:
            drop_with(world, row)
        else:
            found(world)[kept] = row
            kept += 1
    w.found_count = kept
