"""Convex shapes as the collision kernels read them."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import ConvexHull, QhullError

from ...bodies import Cylinder, Ellipsoid, Mesh, Shape

Array = NDArray[np.float64]


class CollisionShape(NamedTuple):
    """hull(points) + disk + ball + ellipsoid, as sums of sets, in body axes, and the features of the hull.

    points : (k, 3) [m]
    normals : (F, 3), outward; of a cylinder those of its two ends
    edges : (E, 3), unit directions; of a capsule or cylinder the one along its axis
    edge_ends : (E, 2), the points an edge joins
    edge_faces : (E, 2), the faces it lies between, -1 where the hull is only a segment
    face_starts : (F + 1,), where the corners of each face begin in face_corners; the ends of a cylinder have none
    face_corners : point numbers, counter-clockwise seen from outside
    """

    points: Array
    normals: Array
    edges: Array
    edge_ends: NDArray[np.int64]
    edge_faces: NDArray[np.int64]
    face_starts: NDArray[np.int64]
    face_corners: NDArray[np.int64]
    disk: float
    """Radius of a disk across the body's z axis [m]."""
    radius: float
    """Radius of the ball [m]."""
    reach: float
    """Radius of a ball about the centre of mass that holds hull + disk [m]; the smallest but for disks off it."""
    semi_axes: Array
    """(3,) of the ellipsoid, along body axes [m]; zero where there is none."""


def collision_shape(shape: Shape, offset: Any = (0.0, 0.0, 0.0)) -> CollisionShape:
    """What the collision kernels need of a shape; of a mesh what can meet a half-space: its hull's corners.

    `offset` (3,) [m] moves it in body axes, as `Body.shape_offset` says.
    """
    if isinstance(shape, Cylinder):
        half = 0.5 * shape.length
        points, radius, disk = np.array([[0.0, 0.0, -half], [0.0, 0.0, half]]), 0.0, float(shape.radius)
    elif isinstance(shape, Mesh):
        points, radius, disk = _hull_corners(shape.vertices[np.unique(shape.triangles)]), 0.0, 0.0
    elif isinstance(shape, Ellipsoid):
        points, radius, disk = np.array([shape.center]), 0.0, 0.0
    else:
        points, radius = shape.core()
        disk = 0.0
    points = points + offset  # a new array, which is writable: compiled code tells both apart
    polygons: list[Array] = []
    normals = np.zeros((0, 3))
    between: dict[tuple[int, int], list[int]] = {}
    if len(points) > 2 and not isinstance(shape, Mesh):
        polygons, normals = shape.faces()
        for face, polygon in enumerate(polygons):
            corners = polygon.tolist()
            for a, b in zip(corners, corners[1:] + corners[:1], strict=True):
                between.setdefault((min(a, b), max(a, b)), []).append(face)
    elif len(points) == 2:
        between[0, 1] = [-1, -1]
        if disk:
            normals = np.array([[0.0, 0.0, -1.0], [0.0, 0.0, 1.0]])
    ends = np.array(sorted(between), dtype=np.int64).reshape(-1, 2)
    faces = np.array([between[a, b] for a, b in ends.tolist()], dtype=np.int64).reshape(-1, 2)
    edges = points[ends[:, 1]] - points[ends[:, 0]]
    edges /= np.linalg.norm(edges, axis=1)[:, None]
    lengths = [len(polygon) for polygon in polygons] if polygons else [0] * len(normals)
    return CollisionShape(
        points,
        np.array(normals, dtype=float),
        edges,
        ends,
        faces,
        np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        np.array([corner for polygon in polygons for corner in polygon], dtype=np.int64),
        disk,
        float(radius),
        _reach(points, disk),
        np.array(shape.semi_axes if isinstance(shape, Ellipsoid) else (0.0, 0.0, 0.0)),
    )


def _reach(points: Array, disk: float) -> float:
    if disk == 0.0:
        return float(np.linalg.norm(points, axis=1).max())
    return float((np.hypot(points[:, 0], points[:, 1]) + np.hypot(points[:, 2], disk)).max())


def _hull_corners(points: Array) -> Array:
    """Corners of the convex hull of points, or all of them where they lie in one plane."""
    try:
        return points[np.sort(ConvexHull(points).vertices)]
    except QhullError:
        return points
