"""How far a point is from a fixed shape, and in which direction, compiled."""

import numpy as np

from ...compiled import kernel
from .mesh_walls_kernels import PLACE, beside_mesh, nearest_in_triangle, nearest_place

PLANE, BALL, BOX, CYLINDER, CAPSULE, HULL, MESH = range(7)

WALL = np.dtype(
    [
        ("kind", np.int64),
        ("surface", np.int64),
        ("first_face", np.int64),
        ("last_face", np.int64),
        ("radius", np.float64),
        ("size", np.float64, (3,)),
        ("position", np.float64, (3,)),
        ("turn", np.float64, (3, 3)),
        ("velocity", np.float64, (3,)),
        ("spin", np.float64, (3,)),
        ("normal", np.float64, (3,)),
        ("low", np.float64, (3,)),
        ("high", np.float64, (3,)),
        ("middle", np.float64, (3,)),
        ("closed", np.int64),
        ("seam", np.float64),
        ("first_cell", np.int64),
        ("cells", np.int64, (3,)),
        ("grid_low", np.float64, (3,)),
        ("inverse_edge", np.float64),
    ]
)
"""Of a wall: its kind, its row in the table of friction, its faces in those of all hulls and meshes; the radius
that rounds it, its size (half lengths of a box, also of one around a hull or mesh; radius and half length; normal
of a plane, in its own axes), place, rotation from its axes to the world, velocity [m/s] and angular velocity
[rad/s], the normal of a plane and the box around the others, in the world; of a hull or mesh, the middle of its box
in its own axes; of a mesh, whether it is the skin of a solid, up to which distance [m] two places of it are one,
and its grid."""


@kernel(forceinline=True)
def beside_box(q, hx, hy, hz, near):
    """Distance of a point q (3,) from a box of half lengths around the origin; fills the direction `near`."""
    outside = 0.0
    for i in range(3):
        half = hx if i == 0 else hy if i == 1 else hz
        near[i] = q[i] - max(-half, min(half, q[i]))
        outside += near[i] * near[i]
    if outside > 0.0:
        outside = np.sqrt(outside)
        for i in range(3):
            near[i] /= outside
        return outside
    least, axis = -np.inf, 0
    for i in range(3):
        depth = abs(q[i]) - (hx if i == 0 else hy if i == 1 else hz)
        if depth > least:
            least, axis = depth, i
    near[axis] = 1.0 if q[axis] >= 0.0 else -1.0
    return least


@kernel(forceinline=True)
def beside_cylinder(q, radius, half, near):
    """As `beside_box`, of a cylinder along z."""
    across = np.sqrt(q[0] * q[0] + q[1] * q[1])
    out, above = across - radius, abs(q[2]) - half
    ex, ey = (q[0] / across, q[1] / across) if across > 0.0 else (1.0, 0.0)
    ez = 1.0 if q[2] >= 0.0 else -1.0
    if out > 0.0 and above > 0.0:
        away = np.sqrt(out * out + above * above)
        near[0], near[1], near[2] = ex * out / away, ey * out / away, ez * above / away
        return away
    if out > above:
        near[0], near[1], near[2] = ex, ey, 0.0
        return out
    near[0], near[1], near[2] = 0.0, 0.0, ez
    return above


@kernel(forceinline=True)
def beside_segment(q, half, near):
    """As `beside_box`, of a segment along z."""
    z = q[2] - max(-half, min(half, q[2]))
    away = np.sqrt(q[0] * q[0] + q[1] * q[1] + z * z)
    if away > 0.0:
        near[0], near[1], near[2] = q[0] / away, q[1] / away, z / away
    else:
        near[0], near[1], near[2] = 1.0, 0.0, 0.0
    return away


@kernel(forceinline=True)
def beside_hull(q, faces, first, last, way, near):
    """As `beside_box`, of a convex hull with triangles faces[first:last], each three corners, a unit normal and the
    plane's offset; `way` (3,) is room."""
    depth, deepest = -np.inf, first
    for f in range(first, last):
        face = faces[f]
        above = face[9] * q[0] + face[10] * q[1] + face[11] * q[2] - face[12]
        if above > depth:
            depth, deepest = above, f
    if depth <= 0.0:
        near[0], near[1], near[2] = faces[deepest, 9], faces[deepest, 10], faces[deepest, 11]
        return depth
    least = np.inf
    for f in range(first, last):
        face = faces[f]
        if face[9] * q[0] + face[10] * q[1] + face[11] * q[2] < face[12]:
            continue
        square = nearest_in_triangle(q, face, way)
        if square < least:
            least = square
            near[0], near[1], near[2] = way[0], way[1], way[2]
    away = np.sqrt(least)
    if away > 0.0:
        near[0], near[1], near[2] = near[0] / away, near[1] / away, near[2] / away
    else:
        near[0], near[1], near[2] = faces[deepest, 9], faces[deepest, 10], faces[deepest, 11]
    return away


@kernel()
def beside_wall(wall, faces, x, y, z, q, way, near):
    """Signed distance [m] of a point from a convex wall, negative inside; fills near (3,) with the direction in the
    world in which it grows. q and way (3,) are room."""
    dx, dy, dz = x - wall.position[0], y - wall.position[1], z - wall.position[2]
    if wall.kind == PLANE:
        for i in range(3):
            near[i] = wall.normal[i]
        return dx * near[0] + dy * near[1] + dz * near[2]
    turn, size = wall.turn, wall.size
    for i in range(3):
        q[i] = turn[0, i] * dx + turn[1, i] * dy + turn[2, i] * dz
    if wall.kind == BALL:
        away = beside_segment(q, 0.0, near)
    elif wall.kind == BOX:
        away = beside_box(q, size[0], size[1], size[2], near)
    elif wall.kind == CYLINDER:
        away = beside_cylinder(q, size[0], size[1], near)
    elif wall.kind == CAPSULE:
        away = beside_segment(q, size[1], near)
    else:
        away = beside_hull(q, faces, wall.first_face, wall.last_face, way, near)
    turn_direction(turn, near)
    return away - wall.radius


@kernel()
def beside_mesh_wall(wall, tables, x, y, z, far, room, places):
    """Fill places (n, PLACE) with directions in the world and signed distances [m], negative inside, of where a
    ball around a point may touch a mesh within `far`; how many. room is (3, 3)."""
    into_axes(wall, x, y, z, room[0])
    count = beside_mesh(wall, tables, room[0], far, room[1], room[2], places)
    for k in range(count):
        turn_direction(wall.turn, places[k])
    return count


@kernel(forceinline=True)
def into_axes(wall, x, y, z, q):
    """Fill q (3,) with a place of the world in the axes of a wall."""
    dx, dy, dz = x - wall.position[0], y - wall.position[1], z - wall.position[2]
    for i in range(3):
        q[i] = wall.turn[0, i] * dx + wall.turn[1, i] * dy + wall.turn[2, i] * dz


@kernel(forceinline=True)
def turn_direction(turn, place):
    """Turn the direction that a place begins with into the world."""
    ex, ey, ez = place[0], place[1], place[2]
    for i in range(3):
        place[i] = turn[i, 0] * ex + turn[i, 1] * ey + turn[i, 2] * ez


@kernel(allocates=True)
def distances_from_wall(tables, number, points):
    """Signed distances (n,) and directions (n, 3) of points (n, 3) from one wall, on a mesh from its nearest place,
    which is found slowly."""
    away, direction = np.empty(points.shape[0]), np.empty((points.shape[0], 3))
    wall = tables.rows[number]
    room, places = np.empty((3, 3)), np.empty((max(1, wall.last_face - wall.first_face), PLACE))
    for k in range(points.shape[0]):
        x, y, z = points[k, 0], points[k, 1], points[k, 2]
        if wall.kind == MESH:
            into_axes(wall, x, y, z, room[0])
            nearest_place(wall, tables, room[0], room[1], room[2], places)
            turn_direction(wall.turn, places[0])
            direction[k] = places[0, :3]
            away[k] = places[0, 3]
        else:
            away[k] = beside_wall(wall, tables.faces, x, y, z, room[0], room[1], direction[k])
    return away, direction
