"""Sets of contact velocities, one in each cell, that no step of the set-valued law leaves."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numba
import numpy as np
from numpy.typing import NDArray

from ..progress import ProgressBar
from . import outcome_bounds_kernels
from .tolerances import (
    BOUNDS_AHEAD,
    BOUNDS_AHEAD_EVERY,
    BOUNDS_NARROWED,
    BOUNDS_NARROWINGS,
    BOUNDS_ON_BORDER,
    BOUNDS_PATIENCE,
    BOUNDS_SETTLED,
    BOUNDS_SLACK,
)
from .velocity_cells import Cell

Array = NDArray[np.float64]
Sets = list[Array | None]


class Steps:
    """One step between cells: from one of them to all, shared among threads, whose number changes nothing."""

    def __init__(self, cells: Sequence[Cell], pool: ThreadPoolExecutor, threads: int):
        self._cells, self._pool, self._threads = cells, pool, threads

    def from_cell(self, k: int, offsets: Array) -> Sets:
        """Support values in every cell of where one step from a set in cell k ends; None where it cannot."""
        number = len(self._cells)
        found: Sets = [None] * number

        def some(first: int) -> None:
            for j in range(first, number, self._threads):
                found[j] = _step(self._cells[k], offsets, self._cells[j])

        for _ in self._pool.map(some, range(self._threads)):
            pass
        return found


def closed_sets(cells: Sequence[Cell], start: Array, max_sweeps: int) -> tuple[Sets, int, float]:
    """Sets that contain a start (r,) and that no step leaves; the sweeps and rounds it took; by how much one step
    was seen to leave them."""
    threads = numba.get_num_threads()
    with (
        ThreadPoolExecutor(threads) as pool,
        ProgressBar(0.0, -np.log(BOUNDS_SETTLED), "bounding outcomes") as bar,
    ):
        steps = Steps(cells, pool, threads)
        begun: Sets = [
            cell.directions @ start
            if cell.approaches and (cell.inside @ start).max(initial=0.0) <= BOUNDS_ON_BORDER
            else None
            for cell in cells
        ]
        grown, sweeps = _closed(cells, steps, begun, max_sweeps, bar)
        narrowed, defect, rounds = _narrowed(cells, steps, begun, grown)
    return narrowed, sweeps + rounds, defect


def _step(source: Cell, offsets: Array, target: Cell) -> Array | None:
    """Support values of where one step from a set in one cell ends in another; None where it cannot."""
    values = np.empty(len(target.directions))
    reached = outcome_bounds_kernels.step_support(
        source.template, offsets, source.basis, target.generators, target.inside, BOUNDS_SLACK,
        target.directions, target.reach, values,
    )  # fmt: skip
    return np.minimum(values, target.ceiling) if reached else None


def _closed(
    cells: Sequence[Cell], steps: Steps, start: Sets, max_sweeps: int, bar: ProgressBar
) -> tuple[Sets, int]:
    """Sets that contain the start and that no step leaves, and the sweeps it took.

    From some sweep on, every few sweeps they are enlarged by what their growth, which falls geometrically, would
    still add up to.
    """
    sets = list(start)
    waiting = {k for k, offsets in enumerate(sets) if offsets is not None}
    growths: list[float] = []
    while waiting and len(growths) < max_sweeps:
        before = list(sets)
        for k in sorted(waiting):
            waiting.discard(k)
            source = sets[k]
            assert source is not None  # what waits has one
            for j, values in enumerate(steps.from_cell(k, source)):
                old = sets[j]
                if values is None or (old is not None and (values - old).max() <= BOUNDS_SETTLED):
                    continue
                sets[j] = values if old is None else np.maximum(values, old)
                if cells[j].approaches:
                    waiting.add(j)
        growths.append(_growth(before, sets, 1.0))
        bar.show(-np.log(min(max(growths[-1], BOUNDS_SETTLED), 1.0)))
        sweep = len(growths)
        if waiting and sweep >= BOUNDS_PATIENCE and sweep % BOUNDS_AHEAD_EVERY == 0:
            ahead = _ahead(growths)
            for j, (new, old) in enumerate(zip(sets, before, strict=True)):
                if new is not None and old is not None and (new > old).any():
                    sets[j] = np.maximum(new, np.minimum(new + ahead * (new - old), cells[j].ceiling))
                    if cells[j].approaches:
                        waiting.add(j)
    return sets, len(growths)


def _growth(before: Sets, after: Sets, anew: float = np.inf) -> float:
    """Largest growth of a support value; `anew` where a set is new."""
    grown = 0.0
    for old, new in zip(before, after, strict=True):
        if new is not None:
            grown = max(grown, anew if old is None else float((new - old).max(initial=0.0)))
    return grown


def _ahead(growths: Sequence[float]) -> float:
    """How many times the last growth is to come, as the last sweeps fell; little of it, unless it is small."""
    last, earlier = growths[-1], growths[-4]
    most, adds = BOUNDS_AHEAD
    most = max(most, adds / last) if last > 0.0 else most
    share = (last / earlier) ** (1.0 / 3.0) if earlier > 0.0 else 1.0
    return most if share >= 1.0 else min(most, 1.2 * share / (1.0 - share))


def _narrowed(cells: Sequence[Cell], steps: Steps, start: Sets, sets: Sets) -> tuple[Sets, float, int]:
    """Smaller closed sets, by how much one step leaves them, and the rounds.

    A step is monotone: from closed sets X it reaches F(X) ⊂ X, so F(F(X)) ⊂ F(X), which is closed too. The last
    sets that one step was seen to keep are the answer: of very small ones rounding may show otherwise.
    """
    rounds = 0
    closed = sets, np.inf
    while True:
        image = list(start)
        for k, offsets in enumerate(sets):
            if offsets is None or not cells[k].approaches:
                continue
            for j, values in enumerate(steps.from_cell(k, offsets)):
                known = image[j]
                if values is not None:
                    image[j] = values if known is None else np.maximum(known, values)
        rounds += 1
        defect, shrunk = _growth(sets, image), _growth(image, sets)
        if defect <= BOUNDS_SETTLED or rounds == 1:
            closed = sets, defect
        if shrunk <= BOUNDS_NARROWED or defect > BOUNDS_SETTLED or rounds == BOUNDS_NARROWINGS:
            return *closed, rounds
        sets = [
            None if new is None or old is None else np.minimum(new, old)
            for new, old in zip(image, sets, strict=True)
        ]
