"""Which stiffness ratios of two or three contacts to try next, so that their outcomes lie close together."""

import itertools

import numpy as np
from numpy.typing import NDArray

from .tolerances import RATIO_CLOSE, RATIO_GRID

Array = NDArray[np.float64]


class RatioSearch:
    """Points in the logarithms of stiffness ratios, joined to segments or triangles that are cut where they jump.

    contacts : 1 to 3
    decades : stiffnesses differ by factors of up to 10 to this power
    gap : [m/s] difference of velocities at neighbours above which their cell is cut
    most : points at most
    """

    def __init__(self, contacts: int, decades: float, gap: float, most: int):
        self._gap, self._most = gap, most
        self._points: dict[
            tuple[float, ...], int
        ] = {}  # logarithms of stiffnesses over the last one, and their number
        self._velocities: list[Array] = []
        steps = max(1, int(np.ceil(decades / RATIO_GRID[min(contacts, 3) - 1]))) if decades > 0.0 else 0
        width = decades / steps if steps else 0.0
        self._cells = _first_cells(contacts - 1, steps)
        for corner in dict.fromkeys(itertools.chain.from_iterable(self._cells)):
            if len(self._points) < most:
                self._points[tuple(width * place for place in corner)] = len(self._points)
        known = [tuple(tuple(width * place for place in corner) for corner in cell) for cell in self._cells]
        self._cells = [cell for cell in known if all(corner in self._points for corner in cell)]

    def next(self) -> Array | None:
        """Stiffnesses (n, contacts) to be tried, the largest of each 1; None where no more are needed."""
        if self._velocities:
            self._cut()
        fresh = list(self._points)[len(self._velocities) :]
        if not fresh:
            return None
        powers = np.column_stack([np.array(fresh).reshape(len(fresh), -1), np.zeros(len(fresh))])
        return 10.0 ** (powers - powers.max(axis=1, keepdims=True))

    def learn(self, velocity: Array) -> None:
        """Take the contact velocities (n, dim*nc) of what `next` gave."""
        self._velocities.extend(velocity)

    def _cut(self) -> None:
        """Cut the cells over which velocities jump most, as far as there is room for points."""
        jumps = [(self._jump(cell), cell) for cell in self._cells]
        wide = sorted(
            (item for item in jumps if item[0] > self._gap and _size(item[1]) > RATIO_CLOSE), reverse=True
        )
        self._cells = []
        for _, cell in wide:
            middles = {
                (a, b): tuple(0.5 * (x + y) for x, y in zip(a, b, strict=True))
                for a, b in itertools.combinations(cell, 2)
            }
            fresh = {middle for middle in middles.values() if middle not in self._points}
            if len(self._points) + len(fresh) > self._most:
                break
            for middle in middles.values():
                self._points.setdefault(middle, len(self._points))
            for corner in cell:
                self._cells.append((corner, *(middle for edge, middle in middles.items() if corner in edge)))
            if len(cell) == 3:
                self._cells.append(tuple(middles.values()))

    def _jump(self, cell: tuple[tuple[float, ...], ...]) -> float:
        velocities = [self._velocities[self._points[corner]] for corner in cell]
        return max(
            (float(np.abs(a - b).max()) for a, b in itertools.combinations(velocities, 2)), default=0.0
        )


def _size(cell: tuple[tuple[float, ...], ...]) -> float:
    """Largest difference of logarithms between corners."""
    pairs = itertools.combinations(cell, 2)
    return max((max(abs(x - y) for x, y in zip(a, b, strict=True)) for a, b in pairs), default=0.0)


def _first_cells(dimension: int, steps: int) -> list[tuple[tuple[float, ...], ...]]:
    """Segments or triangles between whole numbers of which no two, nor one and zero, differ by more than
    `steps`."""
    if dimension == 0 or steps == 0:
        return [((0.0,) * dimension,)]
    if dimension == 1:
        return [((float(k),), (float(k + 1),)) for k in range(-steps, steps)]
    cells: list[tuple[tuple[float, ...], ...]] = []
    for a, b in itertools.product(range(-steps, steps), repeat=2):
        for corners in (((a, b), (a + 1, b), (a + 1, b + 1)), ((a, b), (a, b + 1), (a + 1, b + 1))):
            if all(abs(x - y) <= steps for x, y in corners):
                cells.append(tuple((float(x), float(y)) for x, y in corners))
    return cells
