"""Distance to triangles, and on which side of a closed surface of triangles a point is."""

import math

import numpy as np

from ..compiled import kernel


@kernel(allocates=True)
def distances(points, corners):
    """Distance (n,) of points (n, 3) from the nearest of triangles (F, 3 corners, 3)."""
    count = len(corners)
    center, radius = np.empty((count, 3)), np.empty(count)
    for f in range(count):
        center[f] = (corners[f, 0] + corners[f, 1] + corners[f, 2]) / 3.0
        radius[f] = 0.0
        for k in range(3):
            radius[f] = max(radius[f], _length(corners[f, k] - center[f]))
    result = np.empty(len(points))
    for i in range(len(points)):
        x, y, z = points[i]
        nearest = math.inf
        for f in range(count):
            dx, dy, dz = x - center[f, 0], y - center[f, 1], z - center[f, 2]
            reach = nearest + radius[f]
            if dx * dx + dy * dy + dz * dz < reach * reach:
                nearest = min(nearest, triangle_distance(points[i], corners[f]))
        result[i] = nearest
    return result


@kernel(allocates=True)
def triangle_distance(point, corners):
    """Distance of a point (3,) from a triangle (3 corners, 3), which may be without area."""
    along, across = corners[1] - corners[0], corners[2] - corners[0]
    normal = np.cross(along, across)
    squared = normal @ normal
    from_first = point - corners[0]
    if squared > 0.0:
        # Barycentric coordinates of the foot of the perpendicular: it counts where all three are positive.
        second = np.cross(from_first, across) @ normal
        third = np.cross(along, from_first) @ normal
        if second >= 0.0 and third >= 0.0 and second + third <= squared:
            return abs(from_first @ normal) / math.sqrt(squared)
    nearest = math.inf
    for k in range(3):
        start = corners[k]
        edge = corners[(k + 1) % 3] - start
        length = edge @ edge
        share = 0.0
        if length > 0.0:
            share = min(max(((point - start) @ edge) / length, 0.0), 1.0)
        nearest = min(nearest, _length(point - start - share * edge))
    return nearest


@kernel(allocates=True)
def windings(points, corners):
    """How often triangles (F, 3 corners, 3) wind around points (n, 3): (n,), 1 inside a solid, 0 outside."""
    result = np.empty(len(points))
    for i in range(len(points)):
        x, y, z = points[i]
        total = 0.0
        for f in range(len(corners)):
            ax, ay, az = corners[f, 0, 0] - x, corners[f, 0, 1] - y, corners[f, 0, 2] - z
            bx, by, bz = corners[f, 1, 0] - x, corners[f, 1, 1] - y, corners[f, 1, 2] - z
            cx, cy, cz = corners[f, 2, 0] - x, corners[f, 2, 1] - y, corners[f, 2, 2] - z
            a = math.sqrt(ax * ax + ay * ay + az * az)
            b = math.sqrt(bx * bx + by * by + bz * bz)
            c = math.sqrt(cx * cx + cy * cy + cz * cz)
            above = ax * (by * cz - bz * cy) + ay * (bz * cx - bx * cz) + az * (bx * cy - by * cx)
            below = (
                a * b * c
                + (ax * bx + ay * by + az * bz) * c
                + (bx * cx + by * cy + bz * cz) * a
                + (cx * ax + cy * ay + cz * az) * b
            )
            total += math.atan2(above, below)
        result[i] = total / (2.0 * math.pi)
    return result


@kernel()
def _length(vector):
    return math.sqrt(vector[0] ** 2 + vector[1] ** 2 + vector[2] ** 2)
