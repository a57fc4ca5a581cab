"""The table of contacts: their rows, and where and how a contact is as its bodies move.

A contact has a side P, a curve, and a side F, a curve or a face; see `curves_kernels`. Its geometry is kept in the
axes of the two bodies, so that one kernel, `place_contact`, serves impacts, contact modes and their steps: it gives
the frame (normal, tangent, tangent2), the arms from both bodies' centres to the place of contact, the contact
velocity, its rate without accelerations, and the gap.
"""

import numpy as np

from ...compiled import kernel
from ..kernels import cross, dot, matrix2x3, matrix3x3, rotation_matrix_into, turned, vector2, wholes2, zeros
from ..tolerances import CONTACT_GAP
from .curves_kernels import CIRCLE, CIRCLES, ELLIPSOID_CURVE, FACE_CURVE, LINE, POINT_CURVE
from .pairs_kernels import BALLS, HULLS, ON_PLANE, ROUNDS, inside_row, kind_of, size_of, surface_of
from .shapes_kernels import shape_of
from .tables_kernels import (
    GEOMETRY,
    IMPLICIT,
    NUMBER,
    OPEN,
    bodies,
    contacts,
    header,
    motions,
    pairs,
    reserve,
)

_CONTACTS = NUMBER["contacts"]
POINT, EDGE, FACE, RIM, LIMIT, ELLIPSOID = 0, 1, 2, 3, 4, 5  # as event.Feature
_PARALLEL = 1e-3  # [rad] closer to parallel, edges have no safe crossing, and may touch at both ends instead


@kernel()
def new_contact(world):
    """A free row of the table of contacts."""
    w = header(world)
    if w.free_contact >= 0:
        row = w.free_contact
        w.free_contact = contacts(world)[row].next
    else:
        row = w.contacts_count
        w.contacts_count += 1
        reserve(world, _CONTACTS, w.contacts_count)
    c = contacts(world)[row]
    c.pair = c.next = c.behind = -1
    c.mode = OPEN
    c.closing = c.slow = c.again = c.opens = 0
    c.gap, c.level, c.reach = 0.0, np.nan, 0.0
    for i in range(3):
        c.force[i] = c.impulse[i] = c.velocity[i] = 0.0
    for side in range(2):
        c.radius[side] = c.direction[side] = 0.0
        c.side[side] = -1
        c.turn_mode[side], c.turn_slow[side] = OPEN, 0
        c.turn_direction[side, 0] = c.turn_direction[side, 1] = 0.0
        c.turn_line[side] = 0
        for i in range(3):
            c.along[side, i] = c.turn_force[side, i] = c.turn_axis[side, i] = 0.0
    return row


@kernel()
def is_apart(world, c):
    """Whether a contact is farther open than what counts as touching."""
    return c.gap > CONTACT_GAP * size_of(world, c.first, c.second)


@kernel()
def may_be_near(world, c):
    """Whether a contact that has parted may stay among those of implicit steps."""
    return c.pair >= 0 and c.feature[0] != LIMIT and leaves_out(world, c.first, c.second)


@kernel()
def leaves_out(world, i, j):
    """Whether something looks after the rest of two bodies of which contacts are only near: searches that leave out
    nothing but these, or, of cylinders, their distance (`room_of_cylinder`)."""
    kind = kind_of(world, i, j)
    return kind == BALLS or kind == HULLS or kind == ROUNDS or kind == ON_PLANE


@kernel()
def reach_of(world, i, j):
    """From which distance [m] on two bodies touch; where one of them goes on by implicit steps, also what is only
    near enough to touch within one."""
    reach = CONTACT_GAP * size_of(world, i, j)
    return max(reach, way_of_step(world)) if may_wait(world, i, j) else reach


@kernel()
def may_wait(world, i, j):
    """Whether what happens next between two bodies may be part of implicit steps, by which they go on."""
    return leaves_out(world, i, j) and (is_stepped(world, i) or is_stepped(world, j))


@kernel()
def way_of_step(world):
    """How far [m] a pull of the scene's scale moves a body from rest within the longest implicit step."""
    w = header(world)
    return w.longest_implicit_step**2 * w.speed / w.duration


@kernel()
def is_stepped(world, body):
    """Whether a body moves, or goes on, by implicit steps."""
    m = motions(world)[body]
    return bodies(world)[body].movable and (m.implicit > 0 or m.kind == IMPLICIT)


@kernel()
def lasting_of(world, i, j, rows):
    """Fill rows (n,) with those of the contacts that hold two bodies together, as many as there is room for; how
    many there are."""
    pair = inside_row(world, i, j)
    row, count = pairs(world)[pair].contact if pair >= 0 else -1, 0
    while row >= 0:
        c = contacts(world)[row]
        if c.mode != OPEN:
            if count < rows.size:
                rows[count] = row
            count += 1
        row = c.next
    return count


@kernel()
def drop_contact(world, row):
    """Give a row of the table of contacts back."""
    w = header(world)
    contacts(world)[row].next = w.free_contact
    w.free_contact = row


@kernel()
def drop_contacts(world, pair):
    """Give back all contacts of a pair."""
    table = contacts(world)
    p = pairs(world)[pair]
    row = p.contact
    while row >= 0:
        following = table[row].next
        drop_contact(world, row)
        row = following
    p.contact = -1


@kernel()
def set_tangents(world, c):
    """Fill the tangents of a contact: the coordinate axis most across its normal, made orthogonal; in a planar
    scene that in the plane."""
    w = header(world)
    nx, ny, nz = c.normal[0], c.normal[1], c.normal[2]
    tx = ty = tz = length = 0.0
    if w.planar:
        tx, ty, tz = cross(w.plane[0], w.plane[1], w.plane[2], nx, ny, nz)
        length = np.sqrt(tx * tx + ty * ty + tz * tz)
    if length == 0.0:
        ax, ay, az = abs(nx), abs(ny), abs(nz)
        if ax <= ay and ax <= az:
            tx, ty, tz = 1.0 - nx * nx, -nx * ny, -nx * nz
        elif ay <= az:
            tx, ty, tz = -ny * nx, 1.0 - ny * ny, -ny * nz
        else:
            tx, ty, tz = -nz * nx, -nz * ny, 1.0 - nz * nz
        length = np.sqrt(tx * tx + ty * ty + tz * tz)
    tx, ty, tz = tx / length, ty / length, tz / length
    c.tangent[0], c.tangent[1], c.tangent[2] = tx, ty, tz
    c.tangent2[0], c.tangent2[1], c.tangent2[2] = cross(nx, ny, nz, tx, ty, tz)


@kernel()
def add_contact(world, i, j, pair, after, x, y, z, nx, ny, nz, gap, first, second, number, other, ra, rb):
    """A new contact of bodies i and j (the second), in the chain of their pair behind the row `after` (-1: first).

    `first`, `second`: features; `number`, `other`: which; ra, rb: radii of the surfaces around these. Its row.
    """
    row = new_contact(world)
    c = contacts(world)[row]
    c.first, c.second, c.pair = i, j, pair
    c.point[0], c.point[1], c.point[2] = x, y, z
    c.normal[0], c.normal[1], c.normal[2] = nx, ny, nz
    c.gap = gap
    c.feature[0], c.feature[1], c.index[0], c.index[1] = first, second, number, other
    c.radius[0], c.radius[1] = ra, rb
    surface_of(world, i, j, c)
    set_tangents(world, c)
    if pair >= 0:
        if after >= 0:
            contacts(world)[after].next = row
        else:
            pairs(world)[pair].contact = row
    return row


@kernel()
def set_along(c, side, x, y, z):
    """Direction of the edge, or axis of the rim, with which a side touches, world axes."""
    c.along[side, 0], c.along[side, 1], c.along[side, 2] = x, y, z


@kernel()
def add_contacts(world, i, j, pair, point, normal, gap, feature, index, along, radius):
    """New contacts of bodies i and j (the second) in the chain of their pair: rows as in `ContactPatch`."""
    last = -1
    for k in range(gap.size):
        last = add_contact(
            world, i, j, pair, last, point[k, 0], point[k, 1], point[k, 2], normal[k, 0], normal[k, 1],
            normal[k, 2], gap[k], feature[k, 0], feature[k, 1], index[k, 0], index[k, 1], radius[k, 0],
            radius[k, 1],
        )  # fmt: skip
        for side in range(2):
            set_along(contacts(world)[last], side, along[k, side, 0], along[k, side, 1], along[k, side, 2])


@kernel()
def carry_over(world, pair, before):
    """Let new contacts of a pair take modes and forces of those that it had (a chain of rows), which are dropped,
    and twice their reach: what they slide past parts from them in proportion. Their levels too where they overlap;
    else `attach` counts their gaps from where they are now."""
    table = contacts(world)
    row = pairs(world)[pair].contact
    while row >= 0:
        c = table[row]
        c.again = 1
        old = before
        while old >= 0:
            o = table[old]
            if (
                o.feature[0] == c.feature[0] and o.feature[1] == c.feature[1]
                and o.index[0] == c.index[0] and o.index[1] == c.index[1]
            ):  # fmt: skip
                c.mode, c.reach = o.mode, 2.0 * o.reach
                if o.mode != OPEN:
                    c.level = 0.0 if o.level > 0.0 else o.level
                for i in range(3):
                    c.force[i] = o.force[i]
                    c.turn_force[0, i], c.turn_force[1, i] = o.turn_force[0, i], o.turn_force[1, i]
                break
            old = o.next
        row = c.next
    while before >= 0:
        following = table[before].next
        drop_contact(world, before)
        before = following


@kernel()
def into_body(R, place, x, y, z):
    """A world point in the axes of a body with rotation R at a place."""
    x, y, z = x - place[0], y - place[1], z - place[2]
    return (
        R[0, 0] * x + R[1, 0] * y + R[2, 0] * z,
        R[0, 1] * x + R[1, 1] * y + R[2, 1] * z,
        R[0, 2] * x + R[1, 2] * y + R[2, 2] * z,
    )


@kernel()
def turn_into(R, values, at):
    """Turn the three numbers of `values` from `at` on, a world direction, into body axes."""
    x, y, z = values[at], values[at + 1], values[at + 2]
    for i in range(3):
        values[at + i] = R[0, i] * x + R[1, i] * y + R[2, i] * z


@kernel()
def curve_of(feature):
    """The curve of a feature."""
    if feature == EDGE:
        return LINE
    if feature == RIM:
        return CIRCLE
    if feature == ELLIPSOID:
        return ELLIPSOID_CURVE
    return FACE_CURVE if feature == FACE else POINT_CURVE


@kernel()
def centre_of_end(world, c, side):
    """Centre of the end of the cylinder that touches with its rim on a side, world axes: its own, since that which
    follows from the normal is off by what the normal is, divided by the lean."""
    body = c.second if side == 1 else c.first
    m, R, point = motions(world)[body], matrix3x3(), shape_of(world, body).points[c.index[side]]
    rotation_matrix_into(m.state[3:7], R)
    x, y, z = turned(R, point[0], point[1], point[2])
    return m.state[0] + x, m.state[1] + y, m.state[2] + z


@kernel()
def rim_on_face(c):
    """The side of a contact that touches a face with its rim, -1 where none does."""
    for side in range(2):
        if c.feature[side] == RIM and c.feature[1 - side] == FACE:
            return side
    return -1


@kernel(allocates=True)
def attach(world, c, first_state, second_state):
    """Attach a contact to its bodies, with packed states now: fill its kind, sides and geometry.

    An edge on a face touches with the material point there, and so does one of two round edges that are parallel
    (they touch all along). Sharp features that do not cross have no normal of their own: F then keeps the given one
    as a face.
    """
    on_plane = bodies(world)[c.second].level < 0
    swapped = c.feature[0] == FACE or (c.feature[1] == RIM and c.feature[0] != RIM)
    sign = -1.0 if swapped else 1.0
    g = c.geometry
    for k in range(GEOMETRY):
        g[k] = 0.0
    curve = wholes2()
    place, along, circle, radius = matrix2x3(), matrix2x3(), zeros(2), vector2()
    tangent, outward, surface = matrix2x3(), matrix2x3(), matrix2x3()
    for k in range(2):  # P, F
        side = 1 - k if swapped else k
        c.side[k] = c.second if side == 1 else c.first
        curve[k] = curve_of(c.feature[side])
        radius[k] = c.radius[side]
        for i in range(3):
            along[k, i] = tangent[k, i] = c.along[side, i]
            normal = sign * c.normal[i]
            outward[k, i] = -normal if k == 0 else normal
            middle = c.point[i] + (0.5 * c.gap * c.normal[i] if on_plane else 0.0)
            surface[k, i] = middle + (0.5 * c.gap * normal if k == 0 else -0.5 * c.gap * normal)
            place[k, i] = surface[k, i]
        if curve[k] == CIRCLE:
            level = outward[k, 0] * along[k, 0] + outward[k, 1] * along[k, 1] + outward[k, 2] * along[k, 2]
            lx = outward[k, 0] - level * along[k, 0]
            ly = outward[k, 1] - level * along[k, 1]
            lz = outward[k, 2] - level * along[k, 2]
            length = np.sqrt(lx * lx + ly * ly + lz * lz)
            circle[k], radius[k] = radius[k], 0.0
            crosses = c.feature[1 - side] != FACE and kind_of(world, c.first, c.second) == ROUNDS
            stands = CONTACT_GAP
            if crosses:
                stands = max(stands, 0.5 * reach_of(world, c.first, c.second) / circle[k])
            # an edge crosses the rim also where the end lies flat on it
            if length > stands or (crosses and c.feature[1 - side] == EDGE):
                if crosses:  # its normal is only near that of the crossing, and does not say where on the rim
                    place[k, 0], place[k, 1], place[k, 2] = centre_of_end(world, c, side)
                    lx, ly, lz = (
                        surface[k, 0] - place[k, 0], surface[k, 1] - place[k, 1], surface[k, 2] - place[k, 2]
                    )  # fmt: skip
                    level = dot(lx, ly, lz, along[k, 0], along[k, 1], along[k, 2])
                    lx, ly, lz = lx - level * along[k, 0], ly - level * along[k, 1], lz - level * along[k, 2]
                    length = np.sqrt(lx * lx + ly * ly + lz * lz)
                else:
                    place[k, 0] -= circle[k] * lx / length
                    place[k, 1] -= circle[k] * ly / length
                    place[k, 2] -= circle[k] * lz / length
                tangent[k, 0], tangent[k, 1], tangent[k, 2] = cross(
                    along[k, 0], along[k, 1], along[k, 2], lx / length, ly / length, lz / length
                )
            else:  # the whole circle touches, or, where near contacts are looked for, is near
                curve[k] = POINT_CURVE
        for i in range(3):
            place[k, i] -= radius[k] * outward[k, i]
    ax, ay, az = cross(
        tangent[0, 0], tangent[0, 1], tangent[0, 2], tangent[1, 0], tangent[1, 1], tangent[1, 2]
    )
    sharp = radius[0] == 0.0 and radius[1] == 0.0
    parallel = np.sqrt(ax * ax + ay * ay + az * az) <= _PARALLEL
    lines = curve[0] == LINE and curve[1] == LINE
    crossing = 0.0
    if curve[1] != FACE_CURVE and sharp:
        if curve[0] == POINT_CURVE or curve[1] == POINT_CURVE or parallel:
            curve[1] = FACE_CURVE
            for i in range(3):
                place[1, i] = surface[1, i]
        else:
            crossing = 1.0 if dot(ax, ay, az, outward[1, 0], outward[1, 1], outward[1, 2]) > 0.0 else -1.0
    if curve[0] == LINE and (curve[1] == FACE_CURVE or (lines and parallel)):
        curve[0] = POINT_CURVE
    c.kind = 4 * (curve[0] - 1) + curve[1]
    for i in range(3):
        g[i], g[4 + i], g[7 + i] = place[0, i], outward[1, i], sign * c.tangent[i]
        g[10 + i], g[14 + i], g[18 + i] = place[1, i], along[0, i], along[1, i]
    apart = 0.0 if is_apart(world, c) else max(c.gap, 0.0)  # nothing keeps what is only near at its gap
    g[3], g[13], g[17], g[21], g[22] = radius[0], radius[1] + apart, circle[0], circle[1], crossing
    if c.kind == CIRCLES:
        g[23], g[24], g[25] = surface[0, 0], surface[0, 1], surface[0, 2]
    for k in range(2):
        body = c.side[k]
        if not bodies(world)[body].movable:
            continue
        state = second_state if body == c.second else first_state
        R = matrix3x3()
        rotation_matrix_into(state[3:7], R)
        at = 0 if k == 0 else 10
        g[at], g[at + 1], g[at + 2] = into_body(R, state, g[at], g[at + 1], g[at + 2])
        if k == 0:
            turn_into(R, g, 14)
            if c.kind == CIRCLES:
                g[23], g[24], g[25] = into_body(R, state, g[23], g[24], g[25])
        else:
            turn_into(R, g, 4)
            turn_into(R, g, 7)
            turn_into(R, g, 18)
    if c.feature[0] == ELLIPSOID or c.feature[1] == ELLIPSOID:
        shape = shape_of(world, c.side[0])
        for i in range(3):
            g[i], g[14 + i] = shape.points[0, i], shape.semi_axes[i]
