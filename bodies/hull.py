"""Convex polyhedra with merged faces, and exact volume integrals of closed triangle meshes."""

from collections import defaultdict
from typing import Any

import numpy as np

from .tolerances import COPLANAR_DISTANCE, FLAT_THICKNESS, MERGE_DISTANCE, VOLUME_ROUNDING


def convex_polyhedron(points: np.ndarray, name: str) -> tuple[np.ndarray, list[np.ndarray]]:
    """Corners (V, 3) of the convex hull of points (n, 3), and its faces.

    Faces are index arrays into the corners, counter-clockwise seen from outside; coplanar triangles are one
    face. ``name`` begins the message of the ValueError raised for points that enclose no volume.
    """
    scaled, hull, size, center = _scaled_hull(points, name)
    for tolerance in (COPLANAR_DISTANCE, 0.0):
        polygons = _merged_faces(scaled, hull, tolerance)
        kept, polygons = _renumbered(polygons)
        corners = scaled[kept]
        try:
            check_polyhedron(corners, polygons)
        except ValueError:
            continue
        return corners * size + center, polygons
    raise ValueError(
        f"{name} has no convex hull that can be told from rounding: remove near-duplicate points"
    )


def hull_triangles(points: np.ndarray, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Vertices (V, 3) and outward triangles (F, 3) of the convex hull of points (n, 3), faces not merged.

    Much faster than ``convex_polyhedron`` for thousands of faces, and enough for a volume. ``name`` as there.
    """
    scaled, hull, size, center = _scaled_hull(points, name)
    used, triangles = np.unique(hull.simplices, return_inverse=True)
    triangles = triangles.reshape(-1, 3).astype(np.int64)
    corners = scaled[hull.simplices]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    inward = np.einsum("ij,ij->i", normals, hull.equations[:, :3]) < 0.0
    triangles[inward] = triangles[inward, ::-1]
    return scaled[used] * size + center, triangles


def _scaled_hull(points: np.ndarray, name: str) -> tuple[np.ndarray, Any, float, np.ndarray]:
    """Distinct points about their mean in units of their size, Qhull's hull of them, size and mean."""
    from scipy.spatial import ConvexHull, QhullError

    points = np.unique(points + 0.0, axis=0)
    flat = f"{name} is flat: its points lie in a plane, so it encloses no volume"
    if len(points) < 4:
        raise ValueError(flat)
    center = points.mean(axis=0)
    size = float(np.abs(points - center).max())
    scaled = (points - center) / size
    if _thickness(scaled) < FLAT_THICKNESS:
        raise ValueError(flat)
    scaled = _without_near_duplicates(scaled)
    try:
        hull = ConvexHull(scaled)
    except QhullError as error:
        reason = str(error).strip().splitlines()[0]
        raise ValueError(f"{name} has no convex hull that can be computed ({reason})") from None
    return scaled, hull, size, center


def _thickness(scaled: np.ndarray) -> float:
    """Extent of points (n, 3) of size one, about their centre, along the direction in which they vary least."""
    directions = np.linalg.svd(scaled, full_matrices=False)[2]
    return float(np.ptp(scaled @ directions[2]))


def check_polyhedron(corners: np.ndarray, polygons: list[np.ndarray]) -> None:
    """ValueError unless the faces close up into one convex polyhedron, each seen counter-clockwise."""
    directed: set[tuple[int, int]] = set()
    if len(corners) < 4:
        raise ValueError(f"hull: expected four corners at least, got {len(corners)}")
    for polygon in polygons:
        if len(polygon) < 3 or polygon.min() < 0 or polygon.max() >= len(corners):
            raise ValueError("hull: a face has fewer than three corners or names an unknown one")
        directed.update(zip(polygon.tolist(), np.roll(polygon, -1).tolist(), strict=True))
    count = sum(len(polygon) for polygon in polygons)
    if len(directed) != count or any((end, start) not in directed for start, end in directed):
        raise ValueError("hull: its faces do not close")
    if len(corners) - count // 2 + len(polygons) != 2:
        raise ValueError("hull: its faces are not those of one solid")
    size = float(np.abs(corners - corners.mean(axis=0)).max())
    if _thickness((corners - corners.mean(axis=0)) / size) < FLAT_THICKNESS:
        raise ValueError("hull: it is flat")
    for polygon in polygons:
        outline = corners[polygon]
        normal = polygon_normal(outline)
        if ((corners - outline.mean(axis=0)) @ normal).max() > 4.0 * COPLANAR_DISTANCE * size:
            raise ValueError("hull: it is not convex")


def polygon_normal(outline: np.ndarray) -> np.ndarray:
    """Unit normal (3,) of a polygon (k, 3) that is counter-clockwise seen from the normal's side."""
    normal = _vector_area(outline)
    length = np.linalg.norm(normal)
    if not length > 0.0:
        raise ValueError("hull: a face has no area")
    return normal / length + 0.0


def _vector_area(outline: np.ndarray) -> np.ndarray:
    """Twice the area of a polygon (k, 3), times its normal."""
    # Written out: numpy's cross costs tens of microseconds a call, and a hull has thousands of faces.
    x, y, z = (outline - outline[0])[1:].T
    return np.array(
        [
            y[:-1] @ z[1:] - z[:-1] @ y[1:],
            z[:-1] @ x[1:] - x[:-1] @ z[1:],
            x[:-1] @ y[1:] - y[:-1] @ x[1:],
        ]
    )


def fan_triangles(polygons: list[np.ndarray]) -> np.ndarray:
    """Triangles (F, 3) of convex polygons, wound as these are."""
    return np.array(
        [
            (polygon[0], polygon[k], polygon[k + 1])
            for polygon in polygons
            for k in range(1, len(polygon) - 1)
        ],
        dtype=np.int64,
    )


def integrals(vertices: np.ndarray, triangles: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    """Volume, centroid (3,) and inertia (3, 3) about it at density one, of a closed outward mesh.

    Exact sums over the tetrahedra between a reference point and the triangles. The second moments are taken
    about the centroid itself, so no parallel-axis difference of large numbers loses digits.
    """
    reference = vertices.mean(axis=0)
    volume = 0.0
    for _ in range(2):
        a, b, c = np.moveaxis(vertices[triangles] - reference, 1, 0)
        six_volumes = np.einsum("ij,ij->i", a, np.cross(b, c))
        volume = float(six_volumes.sum()) / 6.0
        if not volume > 0.0:
            return volume, reference, np.zeros((3, 3))
        reference = reference + (six_volumes @ (a + b + c)) / (24.0 * volume)
    a, b, c = np.moveaxis(vertices[triangles] - reference, 1, 0)
    six_volumes = np.einsum("ij,ij->i", a, np.cross(b, c))
    second = np.zeros((3, 3))
    for corner in (a, b, c, a + b + c):
        second += (six_volumes[:, None] * corner).T @ corner / 120.0
    second = 0.5 * (second + second.T)
    return volume, reference, np.trace(second) * np.eye(3) - second


def solid_problem(triangles: np.ndarray) -> str | None:
    """Why triangles (F, 3) bound no solid, to follow the mesh's name; None if they do."""
    edges = triangles[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2)
    _, uses = np.unique(np.sort(edges, axis=1), axis=0, return_counts=True)
    if (uses == 1).any():
        return f"is open: {int((uses == 1).sum())} of its edges border one face only"
    if (uses % 2).any():
        return "is not closed: some edges border an odd number of faces"
    forward = edges[:, 0] < edges[:, 1]
    _, balance = np.unique(np.sort(edges, axis=1), axis=0, return_inverse=True)
    if np.bincount(balance.reshape(-1), weights=np.where(forward, 1.0, -1.0)).any():
        return "is wound inconsistently: neighbouring faces disagree about the outside"
    return None


def enclosure_problem(vertices: np.ndarray, triangles: np.ndarray) -> str | None:
    """Why a mesh does not enclose a solid with all of its surface wound outward; None if it does."""
    return solid_problem(triangles) or orientation_problem(vertices, triangles)


def orientation_problem(vertices: np.ndarray, triangles: np.ndarray) -> str | None:
    """Why a mesh without ``solid_problem`` is not wound outward, to follow its name; None if it is.

    Of parts that share no edge, one may be inside out if it lies inside the others: it then bounds a cavity.
    """
    volume = integrals(vertices, triangles)[0]
    if not volume > 0.0:
        return f"is inside out or has no volume (signed volume {volume:g})"
    part = _parts(triangles)
    corners = vertices[triangles] - vertices.mean(axis=0)
    volumes = np.einsum("ij,ij->i", corners[:, 0], np.cross(corners[:, 1], corners[:, 2])) / 6.0
    allowed = VOLUME_ROUNDING * np.bincount(part, weights=np.abs(volumes))
    signed = np.bincount(part, weights=volumes)
    for inverted in np.flatnonzero(signed < -allowed):
        own = part == inverted
        areas = np.linalg.norm(np.cross(*(corners[own, k] - corners[own, 0] for k in (1, 2))), axis=1)
        place = corners[own][np.argmax(areas)].mean(axis=0)
        # A quarter, since a cavity may touch the surface: there the others wind half around the place.
        if _winding(place, corners[~own]) < 0.25:
            return f"has a part that is inside out (signed volume {signed[inverted]:g})"
    return None


def _parts(triangles: np.ndarray) -> np.ndarray:
    """Number (F,) of the part each triangle belongs to; triangles that share an edge are of one part."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    edges = np.sort(triangles[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2), axis=1)
    edge = np.unique(edges, axis=0, return_inverse=True)[1].reshape(-1)
    count = len(triangles)
    links = (np.repeat(np.arange(count), 3), count + edge)
    size = count + int(edge.max()) + 1
    graph = coo_array((np.ones(len(edge)), links), shape=(size, size))
    return connected_components(graph, directed=False)[1][:count]


def _winding(point: np.ndarray, corners: np.ndarray) -> float:
    """How often triangles (F, 3 corners, 3) wind around a point (3,): 1 inside a solid, 0 outside."""
    a, b, c = np.moveaxis(corners - point, 1, 0)
    la, lb, lc = (np.linalg.norm(side, axis=1) for side in (a, b, c))
    above = np.einsum("ij,ij->i", a, np.cross(b, c))
    below = la * lb * lc
    for first, second, length in ((a, b, lc), (b, c, la), (c, a, lb)):
        below += np.einsum("ij,ij->i", first, second) * length
    return float(np.arctan2(above, below).sum()) / (2.0 * np.pi)


def _without_near_duplicates(points: np.ndarray) -> np.ndarray:
    from scipy.spatial import cKDTree

    pairs = cKDTree(points).query_pairs(MERGE_DISTANCE, output_type="ndarray")
    dropped = np.zeros(len(points), dtype=bool)
    for first, second in pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]:
        if not dropped[first]:
            dropped[second] = True
    return points[~dropped]


def _merged_faces(points: np.ndarray, hull, tolerance: float) -> list[np.ndarray]:
    """Outlines of the groups of coplanar triangles, without the points that are corners of no solid angle."""
    simplices, neighbours = hull.simplices, hull.neighbors
    corner = points[simplices]
    normals = np.cross(corner[:, 1] - corner[:, 0], corner[:, 2] - corner[:, 0])
    area = np.linalg.norm(normals, axis=1)
    inside = points[np.unique(simplices)].mean(axis=0)
    group = np.full(len(simplices), -1)
    seeds: list[np.ndarray] = []
    # From the largest triangle down: the planes of large triangles are the exact ones, slivers join them.
    for seed in np.argsort(-area, kind="stable"):
        if group[seed] >= 0:
            continue
        normal = normals[seed] / area[seed] if area[seed] > 0.0 else hull.equations[seed, :3]
        if (corner[seed].mean(axis=0) - inside) @ normal < 0.0:
            normal = -normal
        height = float(corner[seed, 0] @ normal)
        label = len(seeds)
        seeds.append(normal)
        group[seed] = label
        waiting = [seed]
        while waiting:
            for neighbour in neighbours[waiting.pop()]:
                if group[neighbour] >= 0:
                    continue
                if np.abs(corner[neighbour] @ normal - height).max() <= tolerance:
                    group[neighbour] = label
                    waiting.append(neighbour)

    links: list[dict[int, list[int]]] = [defaultdict(list) for _ in seeds]
    for face, (corners, around) in enumerate(zip(simplices.tolist(), neighbours.tolist(), strict=True)):
        for opposite, neighbour in enumerate(around):
            if group[neighbour] != group[face]:
                first, second = (corners[k] for k in range(3) if k != opposite)
                links[group[face]][first].append(second)
                links[group[face]][second].append(first)
    faces_at: dict[int, int] = defaultdict(int)
    for link in links:
        for vertex in link:
            faces_at[vertex] += 1

    polygons = []
    for normal, link in zip(seeds, links, strict=True):
        outline = [vertex for vertex in _cycle(link) if faces_at[vertex] >= 3]
        if len(outline) < 3:
            continue
        if _vector_area(points[outline]) @ normal < 0.0:
            outline.reverse()
        polygons.append(np.array(outline))
    return polygons


def _cycle(link: dict[int, list[int]]) -> list[int]:
    """The vertices of a closed outline in order; incomplete if it is no single cycle."""
    start = min(link)
    outline, previous, current = [start], -1, start
    while True:
        onward = [vertex for vertex in link[current] if vertex != previous]
        if not onward or len(outline) > len(link):
            return outline
        previous, current = current, onward[0]
        if current == start:
            return outline
        outline.append(current)


def _renumbered(polygons: list[np.ndarray]) -> tuple[np.ndarray, list[np.ndarray]]:
    kept = np.unique(np.concatenate(polygons)) if polygons else np.empty(0, dtype=np.int64)
    return kept, [np.searchsorted(kept, polygon) for polygon in polygons]
