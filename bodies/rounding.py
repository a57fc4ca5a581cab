"""Convex polyhedra grown by a ball: exact integrals over the solid, and its surface in triangles.

The sum of a polyhedron and a ball of radius r is, without overlaps, the polyhedron, a prism of height r on every
face, a sector of a cylinder along every edge, between the normals of its two faces, and a sector of a ball at every
corner, over the normals there (Steiner's formula). Moments of each are closed forms; those of a corner follow from
its arcs by Stokes's theorem on the sphere.
"""

import math
from dataclasses import dataclass

import numpy as np

from . import hull


@dataclass(frozen=True, eq=False)
class _Polyhedron:
    """Corners (V, 3), outlines of faces and their outward unit normals (F, 3), and the edges between these."""

    corners: np.ndarray
    polygons: list[np.ndarray]
    normals: np.ndarray
    ends: np.ndarray
    """(E, 2): the corners an edge joins, as the first of its faces runs through them."""
    faces: np.ndarray
    """(E, 2): the faces on the left and on the right of an edge, seen from outside."""

    @classmethod
    def of(cls, corners: np.ndarray, polygons: list[np.ndarray], normals: np.ndarray) -> "_Polyhedron":
        left = {
            (int(a), int(b)): face
            for face, polygon in enumerate(polygons)
            for a, b in zip(polygon, np.roll(polygon, -1), strict=True)
        }
        edges = [(a, b) for a, b in left if a < b]
        faces = [(left[a, b], left[b, a]) for a, b in edges]
        return cls(corners, polygons, normals, np.array(edges), np.array(faces))

    def bends(self) -> np.ndarray:
        """Angles (E,) [rad] between the normals of the faces at each edge."""
        first, second = self.normals[self.faces[:, 0]], self.normals[self.faces[:, 1]]
        sine = np.linalg.norm(np.cross(first, second), axis=1)
        return np.arctan2(sine, np.einsum("ij,ij->i", first, second))


def rounded_integrals(
    corners: np.ndarray, polygons: list[np.ndarray], normals: np.ndarray, radius: float
) -> tuple[float, np.ndarray, np.ndarray]:
    """Volume, centroid (3,) and inertia (3, 3) about it at density one, of a polyhedron grown by ``radius`` [m].

    ``polygons`` are its faces, indices into ``corners`` (V, 3) counter-clockwise seen from outside, ``normals``
    (F, 3) their outward unit normals.
    """
    volume, center, inertia = hull.integrals(corners, hull.fan_triangles(polygons))
    solid = _Polyhedron.of(corners - center, polygons, normals)
    first = np.zeros(3)
    second = 0.5 * np.trace(inertia) * np.eye(3) - inertia
    for part in (_prisms, _cylinder_sectors, _ball_sectors):
        added = part(solid, radius)
        volume, first, second = volume + added[0], first + added[1], second + added[2]
    shift = first / volume
    second = second - volume * np.outer(shift, shift)
    second = 0.5 * (second + second.T)
    return volume, center + shift, np.trace(second) * np.eye(3) - second


_Moments = tuple[float, np.ndarray, np.ndarray]
"""Integrals of 1, x and x x^T."""


def _prisms(solid: _Polyhedron, radius: float) -> _Moments:
    """Of the prisms on the faces: points y + h n, with y on the face and h from 0 to the radius."""
    face = np.repeat(np.arange(len(solid.polygons)), [len(polygon) - 2 for polygon in solid.polygons])
    a, b, c = np.moveaxis(solid.corners[hull.fan_triangles(solid.polygons)], 1, 0)
    n = solid.normals[face]
    area = 0.5 * np.einsum("ij,ij->i", np.cross(b - a, c - a), n)
    middle = area[:, None] * (a + b + c) / 3.0
    second = np.zeros((3, 3))
    for corner in (a, b, c, a + b + c):
        second += (area[:, None] * corner).T @ corner / 12.0
    lean = middle.T @ n
    second = radius * second + 0.5 * radius**2 * (lean + lean.T)
    second += radius**3 / 3.0 * (area[:, None] * n).T @ n
    first = radius * middle.sum(axis=0) + 0.5 * radius**2 * area @ n
    return radius * float(area.sum()), first, second


def _cylinder_sectors(solid: _Polyhedron, radius: float) -> _Moments:
    """Of the sectors along the edges: points y + h u, with y on the edge and u between two normals."""
    start, end = solid.corners[solid.ends[:, 0]], solid.corners[solid.ends[:, 1]]
    along, middle = end - start, 0.5 * (start + end)
    length, bend = np.linalg.norm(along, axis=1), solid.bends()
    mean, across = _arc_axes(solid)
    half = 0.5 * bend
    directions = (2.0 * np.sin(half))[:, None] * mean  # the integral of u
    volume = 0.5 * radius**2 * length * bend
    first = volume @ middle + radius**3 / 3.0 * length @ directions
    second = (volume[:, None] * middle).T @ middle + (volume[:, None] * along).T @ along / 12.0
    lean = (radius**3 / 3.0 * length[:, None] * middle).T @ directions
    second += lean + lean.T
    for axis, share in ((mean, half + 0.5 * np.sin(bend)), (across, half - 0.5 * np.sin(bend))):
        second += ((0.25 * radius**4 * length * share)[:, None] * axis).T @ axis
    return float(volume.sum()), first, second


def _ball_sectors(solid: _Polyhedron, radius: float) -> _Moments:
    """Of the sectors at the corners: points v + h u, with u among the normals there, a polygon on the sphere.

    Its area is 2 pi less the angles of the faces at the corner. With d the unit vectors along the edges from the
    corner, which are normal to its sides and point out of it, and b the angles of these sides,
    int u = -1/2 sum b d and 6 int u u^T = 2 area 1 - sum (int_side u) d^T + d (int_side u)^T: the gradient of
    (a.u)(c.u) on the sphere has the divergence 2 a.c - 6 (a.u)(c.u).
    """
    count = len(solid.corners)
    area = np.full(count, 2.0 * math.pi)
    for polygon in solid.polygons:
        here = solid.corners[polygon]
        onward, back = np.roll(here, -1, axis=0) - here, np.roll(here, 1, axis=0) - here
        sine = np.linalg.norm(np.cross(onward, back), axis=1)
        area[polygon] -= np.arctan2(sine, np.einsum("ij,ij->i", onward, back))
    along = solid.corners[solid.ends[:, 1]] - solid.corners[solid.ends[:, 0]]
    along /= np.linalg.norm(along, axis=1)[:, None]
    bend, mean = solid.bends(), _arc_axes(solid)[0]
    sides = (2.0 * np.sin(0.5 * bend))[:, None] * mean
    once, twice = np.zeros((count, 3)), 2.0 * area[:, None, None] * np.eye(3)
    for end, sign in ((0, 1.0), (1, -1.0)):
        np.add.at(once, solid.ends[:, end], -0.5 * sign * bend[:, None] * along)
        outer = sign * sides[:, :, None] * along[:, None, :]
        np.add.at(twice, solid.ends[:, end], -outer - np.swapaxes(outer, 1, 2))
    third, fourth, fifth = radius**3 / 3.0, radius**4 / 4.0, radius**5 / 5.0
    corners = solid.corners
    lean = fourth * corners.T @ once
    second = third * (area[:, None] * corners).T @ corners + lean + lean.T + fifth / 6.0 * twice.sum(axis=0)
    return third * float(area.sum()), third * area @ corners + fourth * once.sum(axis=0), second


def _arc_axes(solid: _Polyhedron) -> tuple[np.ndarray, np.ndarray]:
    """Unit vectors (E, 3) in the middle between the normals at each edge, and across these and the edge."""
    first, second = solid.normals[solid.faces[:, 0]], solid.normals[solid.faces[:, 1]]
    mean = first + second
    mean /= np.linalg.norm(mean, axis=1)[:, None]
    along = solid.corners[solid.ends[:, 1]] - solid.corners[solid.ends[:, 0]]
    across = np.cross(along, mean)
    return mean, across / np.linalg.norm(across, axis=1)[:, None]


# -- surface -----------------------------------------------------------------------------------------------


class _Surface:
    """Vertices and triangles of a surface as they are added."""

    def __init__(self) -> None:
        self.points: list[np.ndarray] = []
        self.triangles: list[np.ndarray] = []
        self._count = 0

    def add(self, points: np.ndarray) -> np.ndarray:
        """Numbers of new vertices (k, 3)."""
        self.points.append(points)
        self._count += len(points)
        return np.arange(self._count - len(points), self._count)

    def fill_strip(self, right: np.ndarray, left: np.ndarray) -> None:
        """Fill what is between two rows of as many vertices, the first on the right of the second."""
        self.triangles.append(np.column_stack([right[:-1], right[1:], left[1:]]))
        self.triangles.append(np.column_stack([right[:-1], left[1:], left[:-1]]))


def rounded_surface(
    corners: np.ndarray, polygons: list[np.ndarray], normals: np.ndarray, radius: float, step: float
) -> tuple[np.ndarray, np.ndarray]:
    """Vertices (W, 3) on the surface of a polyhedron grown by ``radius`` [m] and outward triangles (T, 3).

    The sides of triangles turn by at most ``step`` [rad] along a row and between rows, and the third by twice that
    then, so no point of them is more than radius (1 - cos(step)) under the surface. The polyhedron is given as to
    ``rounded_integrals``.
    """
    solid, surface = _Polyhedron.of(corners, polygons, normals), _Surface()
    # of each corner by face its vertex, and by the face on the right of an edge the arc to that on the left
    placed: dict[tuple[int, int], int] = {}
    for face, polygon in enumerate(polygons):
        outline = surface.add(corners[polygon] + radius * normals[face])
        placed.update(zip([(int(corner), face) for corner in polygon], outline.tolist(), strict=True))
        surface.triangles.append(hull.fan_triangles([outline]))
    arcs: list[dict[int, tuple[np.ndarray, np.ndarray, int]]] = [{} for _ in corners]
    ends, faces = solid.ends.tolist(), solid.faces.tolist()
    for (a, b), (left, right), bend in zip(ends, faces, solid.bends(), strict=True):
        parts = max(1, math.ceil(bend / step))
        turned = _arc(normals[right], normals[left], np.arange(parts + 1) / parts)
        here, there = (
            np.concatenate(
                [
                    [placed[end, right]],
                    surface.add(corners[end] + radius * turned[1:-1]),
                    [placed[end, left]],
                ]
            )
            for end in (a, b)
        )
        surface.fill_strip(there, here)
        arcs[a][right], arcs[b][left] = (here, turned, left), (there[::-1], turned[::-1], right)
    for corner, around in zip(corners, arcs, strict=True):
        _fill_cap(surface, corner, around, radius, step)
    return np.concatenate(surface.points), np.concatenate(surface.triangles)


def _fill_cap(
    surface: _Surface,
    corner: np.ndarray,
    arcs: dict[int, tuple[np.ndarray, np.ndarray, int]],
    radius: float,
    step: float,
) -> None:
    """Fill what is inside the arcs around a corner, by rings around a direction in their middle.

    ``arcs``: for each face there the vertices and directions from it to the next face, and which that is.
    """
    face = start = next(iter(arcs))
    ring: list[np.ndarray] = []
    ways: list[np.ndarray] = []
    while not ring or face != start:
        numbers, directions, face = arcs[face]
        ring.append(numbers[:-1])
        ways.append(directions[:-1])
    outline, around = np.concatenate(ring), np.concatenate(ways)
    # what the arcs go around: it is inside them, and no farther than a quarter of a turn from any
    middle = np.cross(around, np.roll(around, -1, axis=0)).sum(axis=0)
    middle /= np.linalg.norm(middle)
    widest = math.acos(max(-1.0, min(1.0, float((around @ middle).min()))))
    rings = max(1, math.ceil(widest / step))
    for k in range(rings - 1, 0, -1):
        share = np.array([k / rings])
        inner = surface.add(corner + radius * np.concatenate([_arc(middle, way, share) for way in around]))
        surface.fill_strip(np.append(outline, outline[0]), np.append(inner, inner[0]))
        outline = inner
    tip = np.full(len(outline), surface.add(corner + radius * middle[None])[0])
    surface.triangles.append(np.column_stack([outline, np.roll(outline, -1), tip]))


def _arc(first: np.ndarray, second: np.ndarray, share: np.ndarray) -> np.ndarray:
    """Unit vectors (k, 3) on the great circle from one unit vector to another, at shares (k,) of the way."""
    sine = float(np.linalg.norm(np.cross(first, second)))
    angle = math.atan2(sine, float(first @ second))
    if sine == 0.0:
        return np.tile(first, (len(share), 1))
    return (np.outer(np.sin((1.0 - share) * angle), first) + np.outer(np.sin(share * angle), second)) / sine
