"""The grid of cells in which balls look for the triangles of a fixed mesh that they may touch."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from ...bodies.distance_kernels import windings
from . import mesh_walls_kernels

Array = NDArray[np.float64]

CELLS_A_TRIANGLE, FEWEST_CELLS = 8, 32768
"""At most so many cells for each triangle, and at least so many are allowed."""
LISTED = 64
"""Triangles listed for each cell and each triangle, at most: beyond that cells become larger."""
WIDER = 1.0 + 1e-9
"""Times lengths, for rounding."""


class MeshGrid(NamedTuple):
    """Cubes over a mesh and as far around it as balls reach.

    low (3,) [m], edge [m], cells (3,): the first corner, and how many cells there are along each axis, x first
    starts (c + 2,), members (m,): triangles of each cell, by number; then one list of all
    inside (c,): whether a cell without triangles is within the solid
    """

    low: Array
    edge: float
    cells: NDArray[np.int64]
    starts: NDArray[np.int64]
    members: NDArray[np.int32]
    inside: NDArray[np.bool_]


def mesh_grid(faces: Array, reach: float, closed: bool) -> MeshGrid:
    """Cells over triangles (F, 13), whose corners come first, for balls of which each is up to `reach` [m] away.

    A cell lists what is within reach of any of its points and, if that is something, the nearest triangle of each
    of its points: with half its diagonal h, that is no farther from the middle than the nearest of that plus 2 h.
    """
    corners = faces[:, :9].reshape(-1, 3)
    low, high = corners.min(axis=0) - reach, corners.max(axis=0) + reach
    most = max(FEWEST_CELLS, CELLS_A_TRIANGLE * len(faces))
    edge = max(reach, float((high - low).max()) / most)
    while True:
        cells = np.floor((high - low) / edge).astype(np.int64) + 1
        if cells.prod() <= most:
            half = 0.5 * np.sqrt(3.0) * edge
            nearest = np.empty(int(cells.prod()))
            mesh_walls_kernels.measure_cells(faces, low, edge, cells, WIDER * (reach + half), nearest)
            near = np.isfinite(nearest)
            cell_reach = WIDER * np.where(near, np.maximum(reach + half, nearest + 2.0 * half), 0.0)
            starts = np.zeros(len(nearest) + 2, np.int64)
            listed = (faces, low, edge, cells, float(cell_reach.max()), cell_reach)
            mesh_walls_kernels.list_cells(*listed, False, starts, np.empty(0, np.int32))
            if starts.sum() <= LISTED * (len(faces) + len(nearest)):
                break
        edge *= 1.25
    starts[-1] = len(faces)
    starts = np.cumsum(starts)
    members = np.empty(starts[-1], np.int32)
    members[starts[-2] :] = np.arange(len(faces))
    mesh_walls_kernels.list_cells(*listed, True, starts[:-1].copy(), members)
    inside = _inside(faces, low, edge, cells, near) if closed else np.zeros(len(nearest), bool)
    return MeshGrid(low, edge, cells, starts, members, inside)


def _inside(
    faces: Array, low: Array, edge: float, cells: NDArray[np.int64], near: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Which cells (c,) without triangles are within a solid: those that hang together are alike."""
    labels, count = ndimage.label(~near.reshape(cells[::-1]))
    labels = labels.ravel()
    _, first = np.unique(labels, return_index=True)
    layers = np.stack(np.unravel_index(first, cells[::-1]), axis=1)[:, ::-1]
    around = windings(low + (layers + 0.5) * edge, np.ascontiguousarray(faces[:, :9]).reshape(-1, 3, 3))
    of_label = np.zeros(count + 1, bool)
    of_label[labels[first]] = around > 0.5
    return of_label[labels] & ~near
