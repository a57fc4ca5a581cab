"""The cells into which spheres are sorted for a step, and the slabs that threads work on."""

import numpy as np
from numpy.typing import NDArray

from . import search_kernels

CELLS_A_SPHERE, FEWEST_CELLS = 4, 4096
"""At most so many cells for each sphere, and at least so many are allowed: far apart spheres make cells larger."""
SLABS = 32
"""About so many, whatever the number of threads: the order of a sweep depends on them."""


class Cells:
    """A grid of cells of at least one edge around all spheres; along axes that repeat a whole number of them.

    low, inverse_edge, cells, axes, wraps : (3,) each, as the kernels want them; axes[0] is the one with most cells,
        across which slabs are cut
    starts : (c + 1,) first row of each cell, once places are sorted
    """

    def __init__(
        self, low: NDArray, high: NDArray, edge: float, origin: NDArray, lengths: NDArray, spheres: int
    ):
        repeats = lengths > 0.0
        self.low = np.where(repeats, origin, low)
        span = np.where(repeats, lengths, np.maximum(high - low, edge))
        count = np.where(repeats, np.floor(span / edge), np.floor(span / edge) + 1.0)
        most = float(max(FEWEST_CELLS, CELLS_A_SPHERE * spheres))
        while count.prod() > most:
            axis = int(count.argmax())
            count[axis] = np.floor(0.5 * count[axis]) + (0.0 if repeats[axis] else 1.0)
        width = np.where(repeats, span / count, np.maximum(span / count, edge))
        self.inverse_edge = 1.0 / width
        self.cells = count.astype(np.int64)
        self.axes = np.argsort(-self.cells, kind="stable")
        self.wraps = repeats
        self.starts = np.empty(int(self.cells.prod()) + 1, np.int32)

    def sort(self, places: NDArray) -> NDArray[np.int64]:
        """Order of rows (n, 4) by their cells; `starts` has where each cell begins in it."""
        cell_of, order = np.empty(len(places), np.int32), np.empty(len(places), np.int64)
        search_kernels.sort_into_cells(
            places, self.low, self.inverse_edge, self.cells, self.axes, cell_of, self.starts, order
        )
        return order

    def slabs(self) -> NDArray[np.int64]:
        """Rows at which slabs begin, and the number of rows: whole layers of about as many spheres each.

        Where the axis repeats, the last slab touches the first, so there is one or an even number of them.
        """
        layer = int(self.cells[self.axes[1]] * self.cells[self.axes[2]])
        begins = self.starts[::layer].astype(np.int64)
        wanted = begins[-1] * np.arange(1, SLABS) / SLABS
        cuts = np.unique(np.concatenate([[0], np.searchsorted(begins, wanted), [len(begins) - 1]]))
        if self.wraps[self.axes[0]] and len(cuts) > 2 and len(cuts) % 2 == 0:
            cuts = np.delete(cuts, 1)
        return begins[cuts]
