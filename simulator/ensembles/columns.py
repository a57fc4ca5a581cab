"""Rows of members as columns, in memory: filled as rows come in, whatever their order."""

from collections.abc import Sequence
from typing import Any

import numpy as np

NOT_RUN = "not_run"


def join_shapes(name: str, shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """The shape that has room for all; ValueError where they differ in more than length."""
    if len({len(shape) for shape in shapes}) > 1:
        raise ValueError(
            f"column {name!r}: expected as many dimensions in every member, got shapes "
            f"{' and '.join(map(str, sorted(set(shapes))[:2]))}"
        )
    return tuple(max(lengths) for lengths in zip(*shapes, strict=True))


class ColumnTable:
    """status and message of every member, seconds [s] that it took, and columns of numbers by name."""

    BYTES = 104
    """Of a member, beside its columns."""

    def __init__(self, count: int):
        self.status = np.full(count, NOT_RUN, dtype="U24")
        self.messages: dict[int, str] = {}
        self.seconds = np.full(count, np.nan)
        self.columns: dict[str, np.ndarray] = {}

    def __len__(self) -> int:
        return len(self.status)

    def put(
        self,
        index: np.ndarray,
        status: Sequence[str],
        message: Sequence[str],
        seconds: np.ndarray,
        columns: dict[str, np.ndarray],
    ) -> None:
        """Fill rows in."""
        self.status[index] = status
        self.seconds[index] = seconds
        for row, text in zip(index.tolist(), message, strict=True):
            if text:
                self.messages[row] = text
            else:
                self.messages.pop(row, None)
        for name, values in columns.items():
            column = self._with_room(name, values.shape[1:])
            place: Any = (index, *(slice(length) for length in values.shape[1:]))
            column[place] = values

    def _with_room(self, name: str, shape: tuple[int, ...]) -> np.ndarray:
        """The column, which is made or widened where values do not fit into it."""
        old = self.columns.get(name)
        if old is not None and old.shape[1:] == shape:
            return old
        wanted = shape if old is None else join_shapes(name, [old.shape[1:], shape])
        if old is None or wanted != old.shape[1:]:
            column = np.full((len(self), *wanted), np.nan)
            if old is not None:
                column[(slice(None), *map(slice, old.shape[1:]))] = old
            self.columns[name] = column
        return self.columns[name]

    @property
    def ordered(self) -> dict[str, np.ndarray]:
        """Columns by name, in an order that does not depend on which member came first."""
        return {name: self.columns[name] for name in sorted(self.columns)}
