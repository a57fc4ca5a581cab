"""The kinds of pairs: for each, when two bodies meet next, and where they touch. A scene compiles those it has.

A search takes ``header.span`` [s], before which the two do not meet, and puts the time at which they do there: 1; 0
where they do not within their pieces, -1 where it does not end. A touch finds the places of contact now, within
CONTACT_GAP of the size, and puts them into the pair's chain of contacts; it returns how many.
"""

import numpy as np

from ...compiled import call, kernel, part
from ..collision.convex_contacts_kernels import RIM_POINTS, half_space_contacts, pair_contacts
from ..collision.convex_impact_kernels import half_space_impact, pair_impact
from ..collision.held_kernels import held_impact
from ..collision.separation_kernels import half_space_gap, pair_separation
from ..kernels import (
    cross,
    evaluate_piece,
    first_root,
    matrix3x3,
    rotation_matrix_into,
    turned_back,
    vector3,
    vector6,
    vector13,
)
from ..tolerances import (
    APPROACH,
    CONTACT_GAP,
    IMPATIENT,
    MOST_PATIENCE,
    MOST_SEARCH_STEPS,
    PENETRATION,
    STAY,
    TOUCH_GAP,
)
from .contacts_kernels import (
    ELLIPSOID,
    FACE,
    POINT,
    RIM,
    add_contact,
    add_contacts,
    reach_of,
    rim_on_face,
    set_along,
    way_of_step,
)
from .flight_kernels import place_at, state_at
from .pairs_kernels import ROUND_MESH, inside_row, is_second, kind_of, pair_row, size_of
from .shapes_kernels import bounds_of, piece_of, shape_of
from .tables_kernels import (
    BALLISTIC,
    NEAR,
    OPEN,
    bodies,
    contacts,
    header,
    local_contacts,
    local_placed,
    motions,
    pairs,
    states_at,
)


@kernel()
def slow_speed(world):
    """Approach slower than this [m/s] is rounding of a velocity that the law set to zero, not an impact; where
    impacts follow each other at one instant, the law leaves more than that, and it grows."""
    w, patience = header(world), 1.0
    if w.stalled_at == w.time:
        for _ in range(min(w.stalled // IMPATIENT - 1, MOST_PATIENCE)):
            patience *= 2.0
    return patience * APPROACH * w.speed


@kernel()
def in_order(world, i, j):
    """The two bodies, the one that is second in contacts last."""
    return (i, j) if is_second(world, i, j) else (j, i)


@kernel()
def answer(world, begins, when, hit):
    """What a search returns, from the time after `begins` at which a kernel found the next meeting."""
    if hit == -2:
        header(world).span = begins + when  # it has come so far
        return -1
    if when == np.inf:
        return 0
    header(world).span = begins + when
    return 1


@kernel()
def together_for(world, a, b, begins):
    """How long [s] after `begins` two bodies may be near each other, within their pieces."""
    m, n = motions(world)[a], motions(world)[b]
    span = min(m.end, n.end) - begins
    if span < np.inf:
        return span
    here, there = vector6(), vector6()
    place_at(world, a, begins, here)
    place_at(world, b, begins, there)
    apart = speed = pull = 0.0
    for k in range(3):
        apart += (here[k] - there[k]) ** 2
        speed += (here[3 + k] - there[3 + k]) ** 2
        pull += (m.acceleration[k] - n.acceleration[k]) ** 2
    apart = np.sqrt(apart) + 2.0 * (bodies(world)[a].size + bodies(world)[b].size)
    speed, pull = np.sqrt(speed), np.sqrt(pull)
    if pull > 0.0:
        return (speed + np.sqrt(speed * speed + 2.0 * pull * apart)) / pull
    return apart / speed if speed > 0.0 else 0.0


# -- on half-spaces ----------------------------------------------------------------------------------------


@part(allocates=True)
def search_on_plane(world, i, j):
    """When a body meets a half-space next."""
    w = header(world)
    a, plane = in_order(world, i, j)
    m, b = motions(world)[a], bodies(world)[plane]
    slow, size = slow_speed(world), bodies(world)[a].size
    if m.kind == BALLISTIC:
        gap, rate, pull = -b.offset - size, 0.0, 0.0
        for k in range(3):
            gap += b.normal[k] * m.state[k]
            rate += b.normal[k] * m.state[7 + k]
            pull += b.normal[k] * m.acceleration[k]
        under = rate * rate - 2.0 * pull * gap
        if gap > TOUCH_GAP * size:
            if under < 0.0 or (rate >= 0.0 and pull >= 0.0):
                return 0
            root = np.sqrt(under)
            if rate > 0.0:
                w.span = m.start + (rate + root) / -pull
            else:
                w.span = m.start + 2.0 * gap / (root - rate)
            return 1
        if not (bodies(world)[a].sensor or b.sensor):  # it touches
            if rate < -slow:
                w.span = m.start
                return 1
            if rate > slow and pull < 0.0 <= under:
                w.span = m.start + (rate + np.sqrt(under)) / -pull
                return 1
            deepest = PENETRATION * size
            when = first_root(max(gap + deepest, 0.1 * deepest), rate, 0.5 * pull)
            if when == np.inf:
                return 0
            w.span = m.start + when
            return 1
    begin = 0.0
    if bodies(world)[a].sensor or b.sensor or w.crawls:  # it may have been inside before
        begin = max(0.0, w.span - m.start)
    shape = shape_of(world, a)
    ignored = np.zeros(shape.points.shape[0], np.bool_)
    row = inside_row(world, a, plane)
    if row >= 0:
        c = pairs(world)[row].contact
        while c >= 0:
            if contacts(world)[c].mode != OPEN:
                ignored[core_point(shape, contacts(world)[c])] = True
            c = contacts(world)[c].next
    when, hit = half_space_impact(
        shape, piece_of(world, a), begin, m.end - m.start, bounds_of(world, a), ignored, b.normal, b.offset, size,
        slow,
    )  # fmt: skip
    return answer(world, motions(world)[a].start, when, hit)


@kernel()
def core_point(shape, c):
    """Number of the core's point of a contact on a half-space: of a cylinder that stands its end."""
    standing = shape.disk > 0.0 and c.feature[0] == POINT
    return c.index[0] // RIM_POINTS if standing else c.index[0]


@kernel()
def rim_comes(shape, state, normal, slow):
    """Whether a cylinder, one of whose ends is about to lean on a plane, comes nearer with the rim of that faster
    than `slow` [m/s], but with none of the points at which it stands."""
    if shape.disk == 0.0:
        return False
    R = matrix3x3()
    rotation_matrix_into(state[3:7], R)
    nx, ny, nz = turned_back(R, normal[0], normal[1], normal[2])
    ox, oy, oz = state[10], state[11], state[12]
    lx, ly, _ = cross(nx, ny, nz, ox, oy, oz)  # at which its normal, seen from the body, turns
    middle = normal[0] * state[7] + normal[1] * state[8] + normal[2] * state[9]
    x, y, z = shape.points[0 if nz > 0.0 else 1]
    vx, vy, vz = cross(ox, oy, oz, x, y, z)
    middle += nx * vx + ny * vy + nz * vz
    lowest = shape.disk * np.sqrt(lx * lx + ly * ly)
    if middle - lowest >= -slow:
        return False
    for k in range(RIM_POINTS):
        angle = 2.0 * np.pi * k / RIM_POINTS
        if middle + shape.disk * (lx * np.cos(angle) + ly * np.sin(angle)) < -slow:
            return False
    return True


@part(allocates=True)
def touch_on_plane(world, i, j):
    """Where a body touches a half-space."""
    a, plane = in_order(world, i, j)
    b, state = bodies(world)[plane], vector13()
    state_at(world, a, header(world).time, state)
    shape = shape_of(world, a)
    rows = half_space_contacts(
        shape, state, b.normal, b.offset, reach_of(world, a, plane), CONTACT_GAP * size_of(world, a, plane),
        rim_comes(shape, state, b.normal, slow_speed(world)),
    )  # fmt: skip
    if rows.shape[0] == 0:
        return 0
    pair = pair_row(world, a, plane)
    n = bodies(world)[plane].normal
    R = matrix3x3()
    rotation_matrix_into(state[3:7], R)
    oval = shape.semi_axes[0] > 0.0
    last = -1
    for k in range(rows.shape[0]):
        feature = ELLIPSOID if oval else (RIM if rows[k, 5] > 0.0 else POINT)
        number = int(rows[k, 4])
        last = add_contact(
            world, a, plane, pair, last, rows[k, 0], rows[k, 1], rows[k, 2], n[0], n[1], n[2], rows[k, 3], feature,
            FACE, number, 0, shape.radius + (shape.disk if feature == RIM else 0.0), 0.0,
        )  # fmt: skip
        if feature == RIM:
            set_along(contacts(world)[last], 0, R[0, 2], R[1, 2], R[2, 2])
    return rows.shape[0]


@kernel()
def held(world, i, j):
    """Whether lasting contact holds two bodies together."""
    row = inside_row(world, i, j)
    c = pairs(world)[row].contact if row >= 0 else -1
    while c >= 0:
        if contacts(world)[c].mode != OPEN:
            return True
        c = contacts(world)[c].next
    return False


# -- balls -------------------------------------------------------------------------------------------------


@part()
def search_balls(world, i, j):
    """When two balls meet next, in closed form where nothing but equal gravity pulls at both."""
    w = header(world)
    a, b = in_order(world, i, j)
    m, n = motions(world)[a], motions(world)[b]
    begins = max(m.start, n.start)
    if held(world, a, b):
        return 0
    if bodies(world)[a].sensor or bodies(world)[b].sensor or w.crawls:  # it may have been inside before
        begins = max(begins, w.span)
    if m.kind <= BALLISTIC and n.kind <= BALLISTIC and (
        m.acceleration[0] == n.acceleration[0]
        and m.acceleration[1] == n.acceleration[1]
        and m.acceleration[2] == n.acceleration[2]
    ):  # fmt: skip
        r, v = vector3(), vector3()
        sm, sn = begins - m.start, begins - n.start
        closing = square = speed = 0.0
        for k in range(3):
            pull = m.acceleration[k]
            r[k] = m.state[k] - n.state[k] + sm * (m.state[7 + k] + 0.5 * sm * pull)
            r[k] -= sn * (n.state[7 + k] + 0.5 * sn * pull)
            v[k] = m.state[7 + k] - n.state[7 + k] + (sm - sn) * pull
            closing -= r[k] * v[k]
            square += r[k] * r[k]
            speed += v[k] * v[k]
        if closing <= 0.0:
            return 0
        radius = bodies(world)[a].size + bodies(world)[b].size
        size = size_of(world, a, b)
        distance = np.sqrt(square)
        gap = distance - radius
        slow = slow_speed(world)
        if gap <= TOUCH_GAP * size:
            if closing <= slow * distance:
                return 0
            w.span = begins
            return 1
        cx, cy, cz = r[1] * v[2] - r[2] * v[1], r[2] * v[0] - r[0] * v[2], r[0] * v[1] - r[1] * v[0]
        # no difference of large squares: the cross product is small where they hardly miss
        under = speed * radius * radius - (cx * cx + cy * cy + cz * cz)
        if under <= (slow * radius) ** 2:
            return 0
        when = gap * (distance + radius) / (closing + np.sqrt(under))
        if begins + when > min(m.end, n.end):
            return 0
        w.span = begins + when
        return 1
    return search_falling_balls(world, a, b, begins)


@kernel()
def search_falling_balls(world, a, b, begins):
    """When two balls meet that are pulled at differently: by roots of parabolas under their distance.

    The distance d obeys d'' >= (difference of accelerations) along the line between them.
    """
    w, m, n = header(world), motions(world)[a], motions(world)[b]
    radius, size = bodies(world)[a].size + bodies(world)[b].size, size_of(world, a, b)
    touch, deepest, slow = TOUCH_GAP * size, PENETRATION * size, slow_speed(world)
    pull = 0.0
    for k in range(3):
        pull += (m.acceleration[k] - n.acceleration[k]) ** 2
    half = -0.5 * (np.sqrt(pull) + m.deviation + n.deviation)
    end = begins + together_for(world, a, b, begins)
    here, there = vector6(), vector6()
    time = begins
    for _ in range(MOST_SEARCH_STEPS):
        place_at(world, a, time, here)
        place_at(world, b, time, there)
        square = rate = 0.0
        for k in range(3):
            square += (here[k] - there[k]) ** 2
            rate += (here[k] - there[k]) * (here[3 + k] - there[3 + k])
        distance = np.sqrt(square)
        gap, rate = distance - radius, rate / distance
        if gap <= touch:
            if rate < -slow:
                w.span = time
                return 1
            if rate * rate <= -0.4 * half * deepest or rate < 0.0:
                gap = max(gap + deepest, 0.1 * deepest)
        if time >= end:
            return 0
        following = time + first_root(max(gap, 0.0), rate, half)
        if following == time:
            following = np.nextafter(time, np.inf)
        time = min(following, end)
    w.span = time
    return -1


@kernel(allocates=True)
def search_apart(world, a, b):
    """When two convex bodies that nothing holds together meet next."""
    begins = max(header(world).span, max(motions(world)[a].start, motions(world)[b].start))
    first, second = piece_of(world, a), piece_of(world, b)
    first = piece_of(world, a)  # the table may have moved for the second
    m, n = motions(world)[a], motions(world)[b]
    when, hit = pair_impact(
        shape_of(world, a), first, bounds_of(world, a), shape_of(world, b), second, bounds_of(world, b),
        begins - m.start, begins - n.start, together_for(world, a, b, begins), size_of(world, a, b),
        slow_speed(world),
    )  # fmt: skip
    return answer(world, begins, when, hit)


@part()
def touch_balls(world, i, j):
    """Where two balls touch."""
    a, b = in_order(world, i, j)
    here, there = vector13(), vector13()
    state_at(world, a, header(world).time, here)
    state_at(world, b, header(world).time, there)
    ra, rb = bodies(world)[a].size, bodies(world)[b].size
    dx, dy, dz = here[0] - there[0], here[1] - there[1], here[2] - there[2]
    distance = np.sqrt(dx * dx + dy * dy + dz * dz)
    gap = distance - ra - rb
    if gap > reach_of(world, a, b):
        return 0
    nx, ny, nz = (dx / distance, dy / distance, dz / distance) if distance > 0.0 else (0.0, 0.0, 1.0)
    middle = rb + 0.5 * gap
    add_contact(
        world, a, b, pair_row(world, a, b), -1, there[0] + middle * nx, there[1] + middle * ny,
        there[2] + middle * nz, nx, ny, nz, gap, POINT, POINT, 0, 0, ra, rb,
    )  # fmt: skip
    return 1


# -- hulls and cylinders -----------------------------------------------------------------------------------


@part(allocates=True)
def search_hulls(world, i, j):
    """When two hulls meet next; where contacts hold them together, elsewhere."""
    a, b = in_order(world, i, j)
    row = inside_row(world, a, b)
    count = 0
    c = pairs(world)[row].contact if row >= 0 else -1
    while c >= 0:
        count += contacts(world)[c].mode != OPEN
        c = contacts(world)[c].next
    holds, begins = count > 0, max(motions(world)[a].start, motions(world)[b].start)
    first, second = piece_of(world, a), piece_of(world, b)
    first = piece_of(world, a)  # the table may have moved for the second
    m, n = motions(world)[a], motions(world)[b]
    shape, other, size, slow = shape_of(world, a), shape_of(world, b), size_of(world, a, b), slow_speed(world)
    if holds:
        place, normal, feature, index, near = lasting_contacts(world, row, count)
    else:
        begins = max(header(world).span, begins)
        here, there = evaluate_piece(first, begins - m.start), evaluate_piece(second, begins - n.start)
        if pair_separation(shape, here, other, there, size)[1] > CONTACT_GAP * size:
            return search_apart(world, a, b)
        place, normal, _, feature, index, _, _ = pair_contacts(
            shape, here, other, there, size, CONTACT_GAP * size, CONTACT_GAP * size
        )
        near = np.zeros(normal.shape[0], np.bool_)
        if normal.shape[0] == 0:
            return search_apart(world, a, b)
    # they touch: one axis alone would creep along them
    when, hit = held_impact(
        shape, first, bounds_of(world, a), begins - m.start, other, second, bounds_of(world, b), begins - n.start,
        min(m.end, n.end) - begins, feature, index, place, normal, near, holds, size, slow,
    )  # fmt: skip
    if hit == 2:
        header(world).span = begins + when
        return search_apart(world, a, b)
    return answer(world, begins, when, hit)


@kernel(allocates=True)
def lasting_contacts(world, row, count):
    """The `count` contacts of a pair that last: places, normals, features, their numbers, which are only near."""
    feature, index = np.empty((count, 2), np.int64), np.empty((count, 2), np.int64)
    place, normal, near = np.empty((count, 3)), np.empty((count, 3)), np.empty(count, np.bool_)
    k, c = 0, pairs(world)[row].contact
    while c >= 0:
        contact = contacts(world)[c]
        if contact.mode != OPEN:
            for side in range(2):
                feature[k, side], index[k, side] = contact.feature[side], contact.index[side]
            for axis in range(3):
                place[k, axis], normal[k, axis] = contact.point[axis], contact.normal[axis]
            stands = contact if contact.behind < 0 else contacts(world)[contact.behind]
            near[k] = stands.mode == NEAR
            k += 1
        c = contact.next
    return place, normal, feature, index, near


@part()
def search_rounds(world, i, j):
    """When two convex bodies, one of them a cylinder, meet next; while lasting contact holds them,
    `room_of_cylinder` watches how far apart they are elsewhere."""
    a, b = in_order(world, i, j)
    return 0 if held(world, a, b) else search_apart(world, a, b)


@part(allocates=True)
def touch_hulls(world, i, j):
    """Where two convex bodies touch."""
    a, b = in_order(world, i, j)
    here, there = vector13(), vector13()
    state_at(world, a, header(world).time, here)
    state_at(world, b, header(world).time, there)
    size = size_of(world, a, b)
    shape, other = shape_of(world, a), shape_of(world, b)
    point, normal, gap, feature, index, along, radius = pair_contacts(
        shape, here, other, there, size, reach_of(world, a, b), CONTACT_GAP * size
    )
    count = gap.size
    if count == 0:
        return 0
    pair = pair_row(world, a, b)
    add_contacts(world, a, b, pair, point, normal, gap, feature, index, along, radius)
    return count


# -- cylinders in lasting contact ----------------------------------------------------------------------------


@kernel()
def read_asked_state(world, body, out):
    """Fill out (13,) with the packed state of a body, among those shown where it moves, that is asked about."""
    w, m = header(world), motions(world)[body]
    if bodies(world)[body].movable:
        asked = states_at(w.asked_state, w.m)
        for i in range(13):
            out[i] = asked[m.local, i]
    else:
        for i in range(13):
            out[i] = m.state[i]


@kernel()
def level_of_pair(world, pair):
    """The lowest level [m] of the contacts that hold a pair together, at most 0."""
    c, lowest = pairs(world)[pair].contact, 0.0
    while c >= 0:
        if contacts(world)[c].mode != OPEN and contacts(world)[c].level < lowest:
            lowest = contacts(world)[c].level
        c = contacts(world)[c].next
    return lowest


@part(allocates=True)
def room_of_cylinder(world, c, j):
    """Let ``header.room`` be how far [m] contact c of those shown, one of whose bodies is a cylinder, is from where
    it would be another.

    A contact has moved on, or the bodies touch elsewhere too, where their true distance is no longer that of the
    contact. A point of an end that stands moves with the end up to where its rim is another contact; a rim
    that leans has come down where the end stands. Within implicit steps points of an end stand for its rim from
    where that is near. (Looked at a few times a step: what comes and goes between two looks is not seen.)
    """
    w, o = header(world), contacts(world)[local_contacts(world)[c]]
    size = size_of(world, o.first, o.second)
    first, second = vector13(), vector13()
    read_asked_state(world, o.first, first)
    read_asked_state(world, o.second, second)
    plane = bodies(world)[o.second]
    if w.apart_pair != o.pair:
        w.apart_pair = o.pair
        if plane.level < 0:
            w.apart = half_space_gap(shape_of(world, o.first), first, plane.normal, plane.offset)
        elif kind_of(world, o.first, o.second) == ROUND_MESH:
            w.asked_contact = local_contacts(world)[c]
            call(w.apart_part, world, c, j)
        else:
            _, w.apart = pair_separation(
                shape_of(world, o.first), first, shape_of(world, o.second), second, size
            )
    apart = w.apart
    slack, lowest = 0.5 * CONTACT_GAP * size, level_of_pair(world, o.pair)
    side, lean = rim_on_face(o), np.inf
    if side >= 0:
        R, n = matrix3x3(), local_placed(world)[c]
        rotation_matrix_into(first[3:7] if side == 0 else second[3:7], R)
        x, y, z = cross(R[0, 2], R[1, 2], R[2, 2], n[0], n[1], n[2])
        lean = 2.0 * shape_of(world, o.first if side == 0 else o.second).disk * np.sqrt(x * x + y * y + z * z)
    if w.room_within:
        w.room = lean - max(slack, 0.5 * way_of_step(world))
        if o.mode != NEAR:
            w.room = min(w.room, STAY * CONTACT_GAP * size + max(0.0, local_placed(world)[c, 21]) - apart)
        # overlap is of another order than these, and less than they lack may not be allowed of it
        w.room = min(max(w.room, -0.01 * slack), apart + max(slack, 0.1 * slack - lowest))
        return 0
    w.room = min(lean - slack, STAY * CONTACT_GAP * size - apart)
    if o.feature[0] == POINT or o.feature[1] == POINT:
        w.room = min(w.room, apart + max(slack, 0.1 * slack - lowest))
    else:
        w.room = min(w.room, apart - lowest + PENETRATION * size)
    return 0


# -- gaps, that sensors ask for ------------------------------------------------------------------------------


@part()
def gap_on_plane(world, i, j):
    """Let ``header.span`` be the gap [m] of a body over a half-space now."""
    w = header(world)
    a, plane = in_order(world, i, j)
    b, state = bodies(world)[plane], vector13()
    state_at(world, a, w.time, state)
    w.span = half_space_gap(shape_of(world, a), state, b.normal, b.offset)
    return 0


@part(allocates=True)
def gap_of_hulls(world, i, j):
    """Let ``header.span`` be the gap [m] of two convex bodies now."""
    w = header(world)
    here, there = vector13(), vector13()
    state_at(world, i, w.time, here)
    state_at(world, j, w.time, there)
    _, w.span = pair_separation(shape_of(world, i), here, shape_of(world, j), there, size_of(world, i, j))
    return 0
