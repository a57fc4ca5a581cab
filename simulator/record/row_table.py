"""Rows of records that are only added: what a run leaves behind, in memory or, of a recording, in its file."""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

_ROWS_OF_A_PART = 4096
Rows = NDArray[Any]


class RowTable(Protocol):
    """Rows of one numpy dtype, wherever they are kept."""

    dtype: np.dtype[Any]

    def __len__(self) -> int: ...

    def rows(self, first: int, last: int) -> Rows:
        """Rows `first` to before `last`."""

    def taken(self, which: NDArray[np.int64]) -> Rows:
        """The rows of these numbers."""

    def column(self, name: str, first: int = 0) -> NDArray[Any]:
        """One column of the rows from the `first` on."""

    def columns(self, names: Sequence[str]) -> list[NDArray[Any]]:
        """Several columns of all rows, which are read once for them."""


class PartInFile:
    """A full part of a table that its recording holds; its rows are read when they are asked for.

    read : gives rows, by the numbers of the first and of the one after the last
    """

    def __init__(self, read: Callable[[int, int], Rows], first: int, count: int):
        self._read, self._first, self._count = read, first, count

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, which: slice | NDArray[np.int64]) -> Rows:
        """Some of its rows; what is read reaches from the first to the last of them."""
        if isinstance(which, slice):
            begin, end, step = which.indices(self._count)
            if step == 1:
                return self._read(self._first + begin, self._first + max(begin, end))
            which = np.arange(begin, end, step)
        if not len(which):
            return self._read(self._first, self._first)
        begin = int(which.min())
        return self._read(self._first + begin, self._first + int(which.max()) + 1)[which - begin]

    def __reduce__(self) -> Any:
        """Where it is sent, its rows are in memory."""
        return np.asarray, (self[:],)


class GrowingTable:
    """Rows in parts, each of which is shared, never copied, once it is full; only the last grows.

    Tables that begin with the same rows, such as those of branches of a run, share their parts.
    """

    def __init__(self, dtype: Any, parts: "Sequence[Rows | PartInFile]" = ()):
        self.dtype = np.dtype(dtype)
        self._parts = [part for part in parts if len(part)]
        self._first = np.cumsum([0, *map(len, self._parts)]).tolist()
        self._room = np.empty(0, dtype=self.dtype)
        self._used = 0

    def __len__(self) -> int:
        return int(self._first[-1]) + self._used

    def append(self, rows: Rows) -> None:
        """Add copies of rows."""
        if self._used + len(rows) > len(self._room):
            if self._used >= _ROWS_OF_A_PART:
                self._close()
            longer = np.empty(max(2 * self._used, self._used + len(rows), 16), dtype=self.dtype)
            longer[: self._used] = self._room[: self._used]
            self._room = longer
        self._room[self._used : self._used + len(rows)] = rows
        self._used += len(rows)

    def parts(self, upto: int | None = None) -> "list[Rows | PartInFile]":
        """All rows, or the first so many, as parts one after the other."""
        found: list[Rows | PartInFile] = []
        left = len(self) if upto is None else upto
        for part in [*self._parts, self._room[: self._used]]:
            if left > 0 and len(part):
                found.append(part if len(part) <= left else part[:left])
                left -= len(part)
        return found

    def let_go(self, upto: int, read: Callable[[int, int], Rows]) -> None:
        """Keep the full parts among the first so many rows in a file, from which `read` gives rows by number."""
        for number in range(len(self._parts))[::-1]:
            part, first = self._parts[number], int(self._first[number])
            if isinstance(part, PartInFile):
                break
            if first + len(part) <= upto:
                self._parts[number] = PartInFile(read, first, len(part))

    @property
    def bytes_in_memory(self) -> int:
        """Of the rows that no file holds for it."""
        return self._room.nbytes + sum(
            part.nbytes for part in self._parts if not isinstance(part, PartInFile)
        )

    def rows(self, first: int, last: int) -> Rows:
        if not 0 <= first <= last <= len(self):
            raise IndexError(f"expected rows within 0 to {len(self)}, got {first} to {last}")
        found = np.empty(last - first, dtype=self.dtype)
        at = first
        while at < last:
            number = bisect_right(self._first, at) - 1
            part = self._parts[number] if number < len(self._parts) else self._room[: self._used]
            offset = at - int(self._first[number])
            upto = min(last, at + len(part) - offset)
            found[at - first : upto - first] = part[offset : offset + upto - at]
            at = upto
        return found

    def taken(self, which: NDArray[np.int64]) -> Rows:
        found = np.empty(len(which), dtype=self.dtype)
        number = np.searchsorted(self._first, which, side="right") - 1
        for k in np.unique(number).tolist():
            part = self._parts[k] if k < len(self._parts) else self._room[: self._used]
            chosen = number == k
            found[chosen] = part[which[chosen] - self._first[k]]
        return found

    def column(self, name: str, first: int = 0) -> NDArray[Any]:
        return self._joined([name], first)[0]

    def columns(self, names: Sequence[str]) -> list[NDArray[Any]]:
        return self._joined(names, 0)

    def _joined(self, names: Sequence[str], first: int) -> list[NDArray[Any]]:
        """Columns of the rows from the `first` on."""
        found: list[list[NDArray[Any]]] = [[] for _ in names]
        skipped = first
        for part in self.parts():
            if skipped < len(part):
                rows = part[skipped:]
                for columns, name in zip(found, names, strict=True):
                    columns.append(rows[name])
            skipped = max(0, skipped - len(part))
        return [
            np.empty((0, *self.dtype[name].shape), dtype=self.dtype[name].base)
            if not columns
            else columns[0]
            if len(columns) == 1
            else np.concatenate(columns)
            for columns, name in zip(found, names, strict=True)
        ]

    def _close(self) -> None:
        """Let what has been added be a part, which grows no more."""
        self._parts.append(self._room[: self._used])
        self._first.append(self._first[-1] + self._used)
        self._room, self._used = np.empty(0, dtype=self.dtype), 0


def joined(tables: Sequence[tuple[GrowingTable, int | None]]) -> GrowingTable:
    """One table of the rows of several, or of the first so many of each; what was there is shared."""
    parts = [part for table, upto in tables for part in table.parts(upto)]
    return GrowingTable(tables[0][0].dtype, parts)
