"""Pairs of bodies: whether they collide, how their surfaces combine, and the rows of those that came near."""

from ...compiled import kernel
from .tables_kernels import (
    BOUNCES,
    NUMBER,
    bodies,
    disabled,
    header,
    materials,
    motions,
    pair_index,
    pair_materials,
    pairs,
    reserve,
)

PLANE, BALL, HULL, ROUND, MESH, ELLIPSOID = 0, 1, 2, 3, 4, 5
"""Classes of shapes: half-space; ball; convex hull of points, grown by a radius; cylinder; triangles; ellipsoid."""

ON_PLANE, BALLS, HULLS, ROUNDS, MESHES, ROUND_MESH = 0, 1, 2, 3, 4, 5
"""Kinds of pairs, each with its own search for the next meeting and for places of contact. A half-space meets
everything in one way; balls each other in closed form; hulls by axes and features; cylinders by axes; triangles
by features."""

_PAIRS = NUMBER["pairs"]
_FREE = -1


@kernel()
def has_cylinder(world, i, j):
    """Whether one of two bodies is a cylinder."""
    return bodies(world)[i].shape_class == ROUND or bodies(world)[j].shape_class == ROUND


@kernel()
def kind_of(world, i, j):
    """How two bodies meet."""
    return kind_of_classes(bodies(world)[i].shape_class, bodies(world)[j].shape_class)


@kernel()
def kind_of_classes(first, second):
    """How bodies of two classes of shapes meet."""
    low, high = min(first, second), max(first, second)
    if low == PLANE:
        return ON_PLANE
    if high == BALL:
        return BALLS
    if high == MESH:
        return ROUND_MESH if low == ROUND else MESHES
    return HULLS if high == HULL else ROUNDS


@kernel()
def is_second(world, i, j):
    """Whether of two bodies j comes second in contacts, whose normals point from the second to the first."""
    if bodies(world)[j].level < 0:
        return True
    return i < j and bodies(world)[i].level >= 0


@kernel()
def find_sorted(table, count, low, high):
    """Row of the pair (low, high) in a table of pairs in rising order, -1 where it is not there."""
    begin, end = 0, count
    while begin < end:
        middle = (begin + end) // 2
        if table[middle, 0] < low or (table[middle, 0] == low and table[middle, 1] < high):
            begin = middle + 1
        else:
            end = middle
    if begin < count and table[begin, 0] == low and table[begin, 1] == high:
        return begin
    return -1


@kernel()
def collide(world, i, j):
    """Whether two bodies meet, as `Scene.collides` says, and one of them can move, otherwise than by time steps."""
    w, a, b = header(world), bodies(world)[i], bodies(world)[j]
    if not (a.movable or b.movable):
        return False
    if w.stepped > 0:
        m, n = motions(world)[i], motions(world)[j]
        if (m.stepped or not a.movable) and (n.stepped or not b.movable):
            return False
    if w.all_collide:
        return True
    if not (a.group & b.mask and b.group & a.mask):
        return False
    return w.disabled_count == 0 or find_sorted(disabled(world), w.disabled_count, min(i, j), max(i, j)) < 0


@kernel()
def surface_of(world, i, j, c):
    """Let a contact of two bodies have their surfaces' friction, that of impacts, restitution, how it falls, and
    what resists rolling and spinning."""
    w = header(world)
    table, row, at = materials(world), -1, 0
    if w.pair_materials_count > 0:
        row = find_sorted(pair_materials(world), w.pair_materials_count, min(i, j), max(i, j))
    if row >= 0:
        table, at = pair_materials(world), 2
    else:
        row = bodies(world)[i].material * w.materials_kinds + bodies(world)[j].material
    c.friction, c.impact_friction, c.restitution = table[row, at], table[row, at + 1], table[row, at + 2]
    for e in range(3):
        c.fall[e] = table[row, at + 3 + e]
    c.resists[0], c.resists[1] = table[row, at + 6], table[row, at + 7]
    c.felt = c.restitution


@kernel()
def size_of(world, i, j):
    """Length [m] that the tolerances of two bodies scale with."""
    a, b = bodies(world)[i], bodies(world)[j]
    if b.level < 0:
        return a.size
    if a.level < 0:
        return b.size
    return max(a.size, b.size)


@kernel()
def place_in_index(world, low, high):
    """Where in the index the pair (low, high) stands, or where it would."""
    index, table, room = pair_index(world), pairs(world), header(world).pair_index_room
    k = ((low * 73856093) ^ (high * 19349663)) & (room - 1)
    while index[k] != _FREE:
        p = table[index[k]]
        if p.first == low and p.second == high:
            break
        k = (k + 1) & (room - 1)
    return k


@kernel()
def index_pairs(world):
    """Fill the index of pairs, which is empty."""
    index, w = pair_index(world), header(world)
    for row in range(w.pairs_count):
        p = pairs(world)[row]
        if p.first >= 0 and p.first != w.bodies_count:  # else it is free, or a limit of a joint
            index[place_in_index(world, p.first, p.second)] = row


@kernel()
def inside_row(world, i, j):
    """Row of a pair, -1 where it has none."""
    return pair_index(world)[place_in_index(world, min(i, j), max(i, j))]


@kernel()
def pair_row(world, i, j):
    """Row of a pair, which it gets if it had none."""
    low, high = min(i, j), max(i, j)
    k = place_in_index(world, low, high)
    if pair_index(world)[k] != _FREE:
        return pair_index(world)[k]
    w = header(world)
    if w.free_pair >= 0:
        row = w.free_pair
        w.free_pair = pairs(world)[row].next
    else:
        row = w.pairs_count
        w.pairs_count += 1
        reserve(world, _PAIRS, w.pairs_count)  # which tidies the index too
        k = place_in_index(world, low, high)
    p = pairs(world)[row]
    p.first, p.second, p.next, p.size = low, high, -1, size_of(world, i, j)
    p.inside = p.bounces = 0
    p.stale = 1
    p.contact = -1
    p.clear_gap, p.clear_time = 0.0, 0.0
    for n in range(BOUNCES):
        p.bounce_time[n] = p.bounce_speed[n] = 0.0
    pair_index(world)[k] = row
    return row
