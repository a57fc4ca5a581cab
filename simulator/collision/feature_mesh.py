"""Surfaces as the collision kernels read them: points, edges and triangles that can touch, and a tree of boxes.

A body's surface is its features (in body axes) grown by a radius: a sphere is one point, a capsule one edge, a
polytope or mesh its corners, edges and triangles. An open mesh is a sheet that is touched from both sides.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...bodies import Mesh, Shape
from ...bodies.hull import fan_triangles
from ..tolerances import FLAT_EDGE, SLIVER

Array = NDArray[np.float64]
Indices = NDArray[np.int64]


class FeatureMesh(NamedTuple):
    """Features of a surface and a balanced tree over its elements; -1 stands for none.

    points (P, 3) [m]; star_start (P + 1,) and star (S,): the neighbours of each point, by number
    triangles (T, 3), normals (T, 3) outward; group (T,): triangles in one plane that hang together share a number
    edges (E, 2): the edges that can touch; spread_start (E + 1,) and spread (D, 3): for each edge the unit
    vectors across it into its triangles
    element_points, element_edges (K, 3), element_triangle (K,): every edge and every corner belongs to
        just one element; points within flat faces and straight edges to none
    low, high (2 L - 1, 3) [m]: boxes of the tree, children of node i are 2 i + 1 and 2 i + 2; leaf (L,): elements
    radius [m]; reach [m]: largest distance of a point from the body's origin; sheet: touched from both sides
    """

    points: Array
    star_start: Indices
    star: Indices
    triangles: Indices
    normals: Array
    group: Indices
    edges: Indices
    spread_start: Indices
    spread: Array
    element_points: Indices
    element_edges: Indices
    element_triangle: Indices
    low: Array
    high: Array
    leaf: Indices
    radius: float
    reach: float
    sheet: bool


def feature_mesh(shape: Shape, offset: Any = (0.0, 0.0, 0.0)) -> FeatureMesh:
    """Features of any shape but half-spaces and cylinders (TypeError).

    `offset` (3,) [m] moves it in body axes, as `Body.shape_offset` says.
    """
    if isinstance(shape, Mesh):
        found = _of_triangles(shape.vertices + offset, shape.triangles, 0.0, not shape.closed)
    else:
        points, radius = shape.core()
        if len(points) > 2:
            found = _of_triangles(points + offset, fan_triangles(shape.faces()[0]), radius, False)
        else:
            found = _of_core(points + offset, radius)
    # writable, contiguous and of one type, so that the kernels are compiled once
    arrays: dict[str, Any] = {
        name: np.array(value, dtype=float if value.dtype.kind == "f" else np.int64, order="C")
        for name, value in found._asdict().items()
        if isinstance(value, np.ndarray)
    }
    return found._replace(**arrays)


def _of_core(points: Array, radius: float) -> FeatureMesh:
    """A sphere (one point) or capsule (an edge between two)."""
    pair = len(points) == 2
    none = np.full((1, 3), -1)
    element_points, element_edges = none.copy(), none.copy()
    element_points[0, : len(points)] = np.arange(len(points))
    if pair:
        element_edges[0, 0] = 0
    return FeatureMesh(
        points,
        np.arange(len(points) + 1) if pair else np.zeros(2, dtype=np.int64),
        np.array([1, 0]) if pair else np.zeros(0, dtype=np.int64),
        np.zeros((0, 3), dtype=np.int64), np.zeros((0, 3)), np.zeros(0, dtype=np.int64),
        np.array([[0, 1]]) if pair else np.zeros((0, 2), dtype=np.int64),
        np.zeros(2 if pair else 1, dtype=np.int64), np.zeros((0, 3)),
        element_points, element_edges, np.full(1, -1),
        points.min(axis=0)[None], points.max(axis=0)[None], np.zeros(1, dtype=np.int64),
        float(radius), float(np.linalg.norm(points, axis=1).max()), False,
    )  # fmt: skip


def _of_triangles(points: Array, triangles: Indices, radius: float, sheet: bool) -> FeatureMesh:
    points = np.ascontiguousarray(points, dtype=float)
    triangles = np.asarray(triangles, dtype=np.int64)
    size = float(np.ptp(points, axis=0).max())
    sides = points[triangles[:, [1, 2, 0]]] - points[triangles]
    area = np.cross(sides[:, 0], sides[:, 1])
    longest = np.linalg.norm(sides, axis=2).max(axis=1)
    thick = np.linalg.norm(area, axis=1) > SLIVER * size * longest
    triangles, sides, normals = triangles[thick], sides[thick], area[thick]
    normals /= np.linalg.norm(normals, axis=1)[:, None]
    count = len(triangles)

    # one row a side of a triangle: its edge, the way into the triangle, the triangle
    ends = np.sort(np.stack([triangles, triangles[:, [1, 2, 0]]], axis=2).reshape(-1, 2), axis=1)
    inward = np.cross(np.repeat(normals, 3, axis=0), sides.reshape(-1, 3))
    inward /= np.linalg.norm(inward, axis=1)[:, None]
    owner = np.repeat(np.arange(count), 3)
    order = np.lexsort((owner, ends[:, 1], ends[:, 0]))
    ends, inward, owner = ends[order], inward[order], owner[order]
    first = np.flatnonzero(np.append(True, (ends[1:] != ends[:-1]).any(axis=1)))
    sharing = np.diff(np.append(first, len(ends)))
    two = sharing == 2
    rise = np.zeros(len(first))
    rise[two] = np.einsum("ij,ij->i", inward[first[two] + 1], normals[owner[first[two]]])
    opposed = np.zeros(len(first), dtype=bool)
    opposed[two] = np.einsum("ij,ij->i", inward[first[two] + 1], inward[first[two]]) < 0.0
    flat = two & (np.abs(rise) <= FLAT_EDGE) & opposed
    touchable = ~flat if sheet else ~flat & ~(two & (rise > 0.0))
    group = _groups(count, owner[first[flat]], owner[first[flat] + 1])

    chosen = np.flatnonzero(touchable)
    edges = ends[first[chosen]]
    spread_start = np.concatenate([[0], np.cumsum(sharing[chosen])])
    member = np.repeat(first[chosen], sharing[chosen]) + (
        np.arange(spread_start[-1]) - np.repeat(spread_start[:-1], sharing[chosen])
    )
    element_edges = np.full((count, 3), -1)
    slot = np.zeros(count, dtype=np.int64)
    for number, triangle in enumerate(owner[first[chosen]].tolist()):
        element_edges[triangle, slot[triangle]] = number
        slot[triangle] += 1
    element_points = np.full((count, 3), -1)
    seen, where = np.unique(triangles.ravel(), return_index=True)
    corner = _corners(points, ends[first[~flat]])[seen]
    element_points[where[corner] // 3, where[corner] % 3] = seen[corner]
    star_start, star = _stars(len(points), ends[first])
    low, high, leaf = _tree(points[triangles].min(axis=1), points[triangles].max(axis=1))
    return FeatureMesh(
        points, star_start, star, triangles, normals, group, edges, spread_start, inward[member],
        element_points, element_edges, np.arange(count), low, high, leaf,
        float(radius), float(np.linalg.norm(points[seen], axis=1).max()), sheet,
    )  # fmt: skip


def _corners(points: Array, edges: Indices) -> NDArray[np.bool_]:
    """Which points are corners, not within a flat face or a straight edge, given all edges that bend."""
    directions = points[edges[:, 1]] - points[edges[:, 0]]
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    meeting = np.bincount(edges.ravel(), minlength=len(points))
    leaving = np.zeros_like(points)  # of two straight edges the ways out cancel
    np.add.at(leaving, edges[:, 0], directions)
    np.add.at(leaving, edges[:, 1], -directions)
    return (meeting > 0) & ~((meeting == 2) & (np.linalg.norm(leaving, axis=1) <= FLAT_EDGE))


def _groups(count: int, first: Indices, second: Indices) -> Indices:
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    links = coo_array((np.ones(len(first)), (first, second)), shape=(count, count))
    return connected_components(links, directed=False)[1].astype(np.int64)


def _stars(count: int, edges: Indices) -> tuple[Indices, Indices]:
    """Neighbours of each of `count` points."""
    both = np.concatenate([edges, edges[:, ::-1]])
    both = both[np.lexsort((both[:, 1], both[:, 0]))]
    return np.searchsorted(both[:, 0], np.arange(count + 1)), np.ascontiguousarray(both[:, 1])


def _tree(low: Array, high: Array) -> tuple[Array, Array, Indices]:
    """Boxes of a balanced tree: every level halves its blocks along their longest extent."""
    count = len(low)
    levels = max(0, int(count - 1).bit_length())
    width = 1 << levels
    order = np.full(width, -1)
    order[:count] = np.arange(count)
    middle = np.full((width, 3), np.inf)
    middle[:count] = 0.5 * (low + high)
    for level in range(levels):
        blocks = order.reshape(1 << level, -1)
        real = np.where(blocks[..., None] >= 0, middle[blocks], np.nan)
        with np.errstate(all="ignore"):
            extent = np.where(np.isnan(real), -np.inf, real).max(axis=1) - np.where(
                np.isnan(real), np.inf, real
            ).min(axis=1)
        axis = np.argmax(extent, axis=1)
        keys = np.where(blocks >= 0, middle[blocks, axis[:, None]], np.inf)
        order = np.take_along_axis(blocks, np.argsort(keys, axis=1, kind="stable"), axis=1).ravel()
    lows, highs = np.full((2 * width - 1, 3), np.inf), np.full((2 * width - 1, 3), -np.inf)
    real = order >= 0
    lows[width - 1 :][real], highs[width - 1 :][real] = low[order[real]], high[order[real]]
    for level in range(levels - 1, -1, -1):
        nodes = np.arange((1 << level) - 1, (2 << level) - 1)
        lows[nodes] = np.minimum(lows[2 * nodes + 1], lows[2 * nodes + 2])
        highs[nodes] = np.maximum(highs[2 * nodes + 1], highs[2 * nodes + 2])
    return lows, highs, order
