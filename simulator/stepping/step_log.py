"""What every step was like, one row each."""

import numpy as np
from numpy.typing import NDArray

_COUNTS = ("spheres", "near", "sticking", "sliding", "separating", "sweeps", "entered", "left")
_NUMBERS = ("time", "residual", "overlap", "energy_before", "energy_after")

STEP = np.dtype([(name, np.int64) for name in _COUNTS] + [(name, np.float64) for name in _NUMBERS])
"""Of a step: spheres in it; touches that were looked at, that stick, that slide, and that were closed and part;
sweeps; spheres that had entered and left since the start; the time at its end [s]; the residual that the sweeps
left, relative to the largest impulse; the deepest overlap at its start, relative to the smaller radius; kinetic
energy [J] with gravity's impulse, before and after the impacts."""


class StepLog:
    """Rows of STEP in the order of time."""

    def __init__(self, rows: NDArray | None = None) -> None:
        self._rows = np.zeros(1024, STEP) if rows is None else rows
        self._count = 0 if rows is None else len(rows)

    @property
    def rows(self) -> NDArray:
        """(steps,) STEP, a view."""
        return self._rows[: self._count]

    def add(self, row: NDArray) -> None:
        """Note a step."""
        if self._count == len(self._rows):
            self._rows = np.concatenate([self._rows, np.zeros(max(1024, self._count), STEP)])
        self._rows[self._count] = row
        self._count += 1
