"""Whether a lasting contact is still where its features are.

The equations of a contact know points, lines and planes without ends. The room of a contact is how far it is from
where one of its features ends: from the rim of a face, the ends of an edge, or, of what is round, from directions
of the normal that belong to another feature. Below zero its pair has to be looked at anew.
"""

import numpy as np

from ...compiled import call, kernel
from ..collision.frames_kernels import room_on_face
from ..engine.contacts_kernels import EDGE, FACE, LIMIT, POINT, RIM
from ..engine.pairs_kernels import (
    BALL,
    HULL,
    HULLS,
    MESHES,
    ROUND,
    ROUND_MESH,
    ROUNDS,
    has_cylinder,
    kind_of,
    size_of,
)
from ..engine.shapes_kernels import shape_of
from ..engine.tables_kernels import (
    OPEN,
    bodies,
    contacts,
    header,
    local_contacts,
    local_ends,
    local_placed,
    local_turn,
    motions,
    pairs,
)
from ..kernels import cross, matrix3x3, rotation_matrix_into, turned_back, vector3
from ..tolerances import CONTACT_GAP, STAY


@kernel()
def room_on_edge(shape, e, x, y, z, nx, ny, nz, rounded, size, sharp_point):
    """Distance [m] of a point from the nearest end of an edge (body axes); where what touches it is `rounded`, not
    more than what its outward normal n leaves to the normals of the faces, times the size."""
    a, b, d = shape.points[shape.edge_ends[e, 0]], shape.points[shape.edge_ends[e, 1]], shape.edges[e]
    along = d[0] * (x - a[0]) + d[1] * (y - a[1]) + d[2] * (z - a[2])
    length = d[0] * (b[0] - a[0]) + d[1] * (b[1] - a[1]) + d[2] * (b[2] - a[2])
    room = min(along, length - along)
    if sharp_point:
        away = 0.0
        for i in range(3):
            p = x if i == 0 else (y if i == 1 else z)
            away += (p - a[i] - along * d[i]) ** 2
        room = min(room, -np.sqrt(away))
    if rounded:
        for side in range(2):
            f = shape.edge_faces[e, side]
            if f < 0:
                continue
            m, o = shape.normals[f], shape.normals[shape.edge_faces[e, 1 - side]]
            tx, ty, tz = cross(m[0], m[1], m[2], d[0], d[1], d[2])
            if tx * o[0] + ty * o[1] + tz * o[2] > 0.0:  # let it point into this face, away from the other
                tx, ty, tz = -tx, -ty, -tz
            room = min(room, -size * (nx * tx + ny * ty + nz * tz))
    return room


@kernel()
def room_at_point(shape, p, nx, ny, nz):
    """How much less far out [m] than a corner, along the outward normal there (body axes), the other ends of its
    edges are: where they are as far, within rounding, both touch."""
    room, a = np.inf, shape.points[p]
    for e in range(shape.edges.shape[0]):
        other = -1
        if shape.edge_ends[e, 0] == p:
            other = shape.edge_ends[e, 1]
        elif shape.edge_ends[e, 1] == p:
            other = shape.edge_ends[e, 0]
        if other >= 0:
            b = shape.points[other]
            room = min(room, nx * (a[0] - b[0]) + ny * (a[1] - b[1]) + nz * (a[2] - b[2]))
    return room


@kernel()
def room_on_cylinder(shape, feature, number, other, x, y, z, nx, ny, nz, size):
    """Distance [m] of a place on a cylinder (body axes) from where its feature, which touches the `other`, ends; of
    a rim on an edge what its outward normal n leaves to those of wall and end, times the size."""
    low, high, across = shape.points[0, 2], shape.points[1, 2], np.sqrt(x * x + y * y)
    if feature == FACE:
        return shape.disk - across
    if feature == EDGE:
        return min(z - low, high - z)
    if feature == RIM and other == POINT:  # a corner slides off it to either side
        away = z - (low if number == 0 else high)
        return -np.sqrt(away * away + (across - shape.disk) ** 2)
    if feature == RIM and other == EDGE and across > 0.0:
        return size * min(-nz if number == 0 else nz, (nx * x + ny * y) / across)
    return np.inf


@kernel()
def room_on_cylinders(world, c, walls_alone):
    """What contact c of the island that is open has left on the cylinders among its sides; where `walls_alone`
    count, those of ends and rims are known otherwise."""
    o = contacts(world)[local_contacts(world)[c]]
    size = size_of(world, o.first, o.second)
    room, place = np.inf, vector3()
    for side in range(2):
        body = o.first if side == 0 else o.second
        feature = o.feature[side]
        if bodies(world)[body].shape_class != ROUND or (walls_alone and feature != EDGE):
            continue
        shape = shape_of(world, body)
        if shape.disk > 0.0:
            nx, ny, nz = outward_place(world, c, side, 0.0, place)
            x, y, z = place[0], place[1], place[2]
            other = o.feature[1 - side]
            room = min(
                room, room_on_cylinder(shape, feature, o.index[side], other, x, y, z, nx, ny, nz, size)
            )
    return room + STAY * CONTACT_GAP * size


@kernel()
def room_of(world, c):
    """Room [m] of contact c of the island that is open, where it is placed: on its features, and, of cylinders, a
    distance."""
    o = contacts(world)[local_contacts(world)[c]]
    if o.pair < 0 or o.feature[0] == LIMIT:
        return np.inf, np.inf
    size = size_of(world, o.first, o.second)
    room, distance, slack = np.inf, np.inf, STAY * CONTACT_GAP * size
    if has_cylinder(world, o.first, o.second):
        call(header(world).cylinder_room, world, c, 0)
        distance = header(world).room
        if header(world).room_within:
            distance = min(distance, room_on_cylinders(world, c, 1) + slack)
        else:
            room = room_on_cylinders(world, c, 0)
    met = kind_of(world, o.first, o.second)
    if met == ROUNDS or bodies(world)[o.second].level < 0:
        return room + slack, distance
    of_meshes = met == MESHES or met == ROUND_MESH
    place = vector3()
    for side in range(2):
        body = o.first if side == 0 else o.second
        kind = bodies(world)[body].shape_class
        feature, number = o.feature[side], o.index[side]
        if of_meshes and kind != ROUND:
            room = min(room, room_on_mesh(world, c, side))
            continue
        if kind != HULL and kind != BALL:
            continue
        if number < 0 or (feature == POINT and o.radius[0] + o.radius[1] == 0.0):
            continue
        shape = shape_of(world, body)
        if shape.points.shape[0] == 1:
            continue
        nx, ny, nz = outward_place(world, c, side, shape.radius, place)
        x, y, z = place[0], place[1], place[2]
        rounded = o.radius[0] + o.radius[1] > 0.0
        if feature == FACE:
            room = min(room, room_on_face(shape, number, x, y, z))
        elif feature == EDGE:
            sharp_point = not rounded and o.feature[1 - side] == POINT
            room = min(room, room_on_edge(shape, number, x, y, z, nx, ny, nz, rounded, size, sharp_point))
        elif feature == POINT and rounded:
            room = min(room, room_at_point(shape, number, nx, ny, nz))
    if is_lone_place(world, o):
        return np.inf, min(distance, room + slack)
    return room + slack, distance


@kernel()
def is_lone_place(world, o):
    """Whether a contact is the only place known of two capsules: these have no faces, so no search watches whether
    they meet at the other end too, and past its feature they would overlap there."""
    if kind_of(world, o.first, o.second) != HULLS:
        return False
    if shape_of(world, o.first).edges.shape[0] != 1 or shape_of(world, o.second).edges.shape[0] != 1:
        return False
    row, count = pairs(world)[o.pair].contact, 0
    while row >= 0:
        count += contacts(world)[row].mode != OPEN
        row = contacts(world)[row].next
    return count == 1


@kernel()
def outward_place(world, c, side, radius, place):
    """Fill place (3,) with where contact c is on the features of a side, `radius` below its surface, and return the
    outward normal there; both in the axes of its body."""
    o, row = contacts(world)[local_contacts(world)[c]], local_placed(world)[c]
    k, sign = local_ends(world)[c, side], 1.0 if side == 0 else -1.0
    nx, ny, nz = -sign * row[0], -sign * row[1], -sign * row[2]
    for i in range(3):
        place[i] = row[9 + 3 * side + i] - radius * (nx if i == 0 else (ny if i == 1 else nz))
    if k >= 0:
        x, y, z = turned_back(local_turn(world)[k], place[0], place[1], place[2])
        nx, ny, nz = turned_back(local_turn(world)[k], nx, ny, nz)
    else:
        x, y, z, nx, ny, nz = into_fixed(world, o.first if side == 0 else o.second, place, nx, ny, nz)
    place[0], place[1], place[2] = x, y, z
    return nx, ny, nz


@kernel()
def room_on_mesh(world, c, side):
    """Room [m] of contact c on the features of triangles of one side; Python looks it up."""
    w, o = header(world), contacts(world)[local_contacts(world)[c]]
    place = vector3()
    nx, ny, nz = outward_place(world, c, side, o.radius[side] if o.feature[side] != RIM else 0.0, place)
    w.asked_contact = local_contacts(world)[c]
    w.asked_normal[0], w.asked_normal[1], w.asked_normal[2] = nx, ny, nz
    for i in range(3):
        w.asked_place[i] = place[i]
    call(w.room_part, world, c, side)
    return w.room


@kernel()
def into_fixed(world, body, place, nx, ny, nz):
    """A place (from the world's origin) and a direction in the axes of a body that does not move."""
    state = motions(world)[body].state
    R = matrix3x3()
    rotation_matrix_into(state[3:7], R)
    dx, dy, dz = place[0] - state[0], place[1] - state[1], place[2] - state[2]
    x, y, z = turned_back(R, dx, dy, dz)
    nx, ny, nz = turned_back(R, nx, ny, nz)
    return x, y, z, nx, ny, nz
