"""All that changes in a run of time steps: copying it, or keeping it in a file, is keeping these."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from .search_kernels import KEPT
from .sphere_table import SphereTable


@dataclass
class StepState:
    """A run after so many steps.

    table : the spheres
    kept_starts, kept : (n + 1,), (m,) KEPT, the touches that pressed in the last step, by rows of that step
    wall_impulses : (w, 3) [N s] of the last step on the walls
    steps_made, entered, left, next_number : counts since the start, and the number of the next sphere to enter
    rng : draws for what enters
    """

    table: SphereTable
    kept_starts: NDArray[np.int64]
    kept: NDArray
    wall_impulses: NDArray[np.float64]
    rng: np.random.Generator
    next_number: int
    steps_made: int = 0
    entered: int = 0
    left: int = 0

    @classmethod
    def begun(cls, table: SphereTable, walls: int, seed: int) -> Self:
        """That of a start."""
        return cls(
            table,
            np.zeros(1, np.int64),
            np.empty(0, KEPT),
            np.zeros((walls, 3)),
            np.random.default_rng(seed),
            len(table),
        )
