"""An array to which rows are added."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

_FIRST_ROWS = 4


class GrowingArray:
    """Rows of one shape; adding one costs the same on average however many there are."""

    def __init__(self, *row_shape: int, dtype: Any = np.float64):
        self._rows = np.empty((_FIRST_ROWS, *row_shape), dtype=dtype)
        self._count = 0

    def append(self, row: Any) -> None:
        """Add a copy of a row."""
        if self._count == len(self._rows):
            longer = np.empty((2 * self._count, *self._rows.shape[1:]), dtype=self._rows.dtype)
            longer[: self._count] = self._rows
            self._rows = longer
        self._rows[self._count] = row
        self._count += 1

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, index: int) -> NDArray[Any]:
        return self._rows[: self._count][index].copy()

    @property
    def values(self) -> NDArray[Any]:
        """All rows so far; read-only."""
        view = self._rows[: self._count]
        view.flags.writeable = False
        return view
