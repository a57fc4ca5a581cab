"""How far a point is from a fixed convex shape, and in which direction, compiled."""

import numpy as np

from ...compiled import kernel

PLANE, BALL, BOX, CYLINDER, CAPSULE, HULL = range(6)

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
    ]
)
"""Of a wall: its kind, its row in the table of friction, its faces in those of all hulls; the radius that rounds
it, its size (half lengths of a box; radius and half length; normal of a plane, in its own axes), place, rotation
from its axes to the world, velocity [m/s] and angular velocity [rad/s], the normal of a plane and the box
around the others, in the world."""


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
def nearest_in_triangle(q, face, near):
    """Fill `near` with the way to q (3,) from the nearest point of a triangle, three corners in face (13,); its
    square. After the regions of Voronoi of corners, edges and face (Ericson, Real-Time Collision Detection, 5.1.5).
    """
    d1 = d2 = d3 = d4 = d5 = d6 = 0.0
    for i in range(3):
        ab, ac = face[3 + i] - face[i], face[6 + i] - face[i]
        d1 += ab * (q[i] - face[i])
        d2 += ac * (q[i] - face[i])
        d3 += ab * (q[i] - face[3 + i])
        d4 += ac * (q[i] - face[3 + i])
        d5 += ab * (q[i] - face[6 + i])
        d6 += ac * (q[i] - face[6 + i])
    va, vb, vc = d3 * d6 - d5 * d4, d5 * d2 - d1 * d6, d1 * d4 - d3 * d2
    v = w = 0.0  # the point is a + v ab + w ac
    if d1 <= 0.0 and d2 <= 0.0:
        v = w = 0.0
    elif d3 >= 0.0 and d4 <= d3:
        v = 1.0
    elif d6 >= 0.0 and d5 <= d6:
        w = 1.0
    elif vc <= 0.0 and d1 >= 0.0 and d3 <= 0.0:
        v = d1 / (d1 - d3)
    elif vb <= 0.0 and d2 >= 0.0 and d6 <= 0.0:
        w = d2 / (d2 - d6)
    elif va <= 0.0 and d4 - d3 >= 0.0 and d5 - d6 >= 0.0:
        w = (d4 - d3) / ((d4 - d3) + (d5 - d6))
        v = 1.0 - w
    else:
        whole = va + vb + vc
        v, w = vb / whole, vc / whole
    square = 0.0
    for i in range(3):
        near[i] = q[i] - face[i] - v * (face[3 + i] - face[i]) - w * (face[6 + i] - face[i])
        square += near[i] * near[i]
    return square


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
    """Signed distance [m] of a point from a wall, negative inside; fills near (3,) with the direction in the world
    in which it grows. q and way (3,) are room."""
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
    ex, ey, ez = near[0], near[1], near[2]
    for i in range(3):
        near[i] = turn[i, 0] * ex + turn[i, 1] * ey + turn[i, 2] * ez
    return away - wall.radius


@kernel(allocates=True)
def distances_from_wall(walls, number, faces, points):
    """Signed distances (n,) and directions (n, 3) of points (n, 3) from one wall."""
    away, direction = np.empty(points.shape[0]), np.empty((points.shape[0], 3))
    q, way = np.empty(3), np.empty(3)
    for k in range(points.shape[0]):
        away[k] = beside_wall(
            walls[number], faces, points[k, 0], points[k, 1], points[k, 2], q, way, direction[k]
        )
    return away, direction
