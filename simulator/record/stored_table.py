"""Rows of a recording's tables, read straight from where HDF5 has put them.

HDF5 allows one way of opening a file in a process and takes long to find single rows. What is written of a chunk
stays where it is, also when a longer chunk takes its part later, so the places of chunks are noted when a
recording is opened; the rest is reading bytes. The file may then be opened, appended to or replaced under its
name by anyone.
"""

import os
import threading
import zlib
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from ...bodies import FileFormatError
from ..left_behind import Held
from .row_forms import PlainRows, RowForm
from .row_table import GrowingTable
from .schema import RowCheck, is_packed

_ROWS_AT_ONCE = 65_536
_CHUNKS_KEPT = 16
"""Of a table that is packed, as they were unpacked last."""
_MOST_PACKED = 256
"""How many times as long as the file a table may be that is packed; columns that never change come near."""
_MOST_OF_A_CHUNK = 1 << 20  # bytes
_SHUFFLE_SKIPPED, _DEFLATE_SKIPPED = 1, 2  # as HDF5 marks a chunk that a filter would not have made shorter
DAMAGE = (LookupError, ValueError, TypeError, AttributeError, ArithmeticError, OSError, RuntimeError)
"""What reading a damaged file may raise."""


class StoredFile:
    """A file to read bytes of, as it was when it was opened; closed some time after it is no longer used."""

    def __init__(self, path: Path):
        self.path = path
        self._number = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
        Held(self, partial(os.close, self._number))
        self.size = os.fstat(self._number).st_size
        self._turn = threading.Lock()

    def read(self, place: int, count: int) -> NDArray[np.uint8]:
        """So many bytes from a place on; FileFormatError where that is impossible."""
        found = np.empty(count, dtype=np.uint8)
        self.fill(found, place)
        return found

    def fill(self, rows: NDArray[Any], place: int) -> None:
        """Fill contiguous rows with the bytes from a place on; FileFormatError where that is impossible."""
        room, found = rows.reshape(-1).view(np.uint8).data, 0
        with self._turn:
            try:
                os.lseek(self._number, place, os.SEEK_SET)
                while found < rows.nbytes and (part := os.read(self._number, rows.nbytes - found)):
                    room[found : found + len(part)] = part
                    found += len(part)
            except (OSError, OverflowError, ValueError) as error:  # a place before or far beyond the file
                raise damaged(self.path, error) from error
        if found != rows.nbytes:
            raise damaged(self.path, "it has become shorter")


def can_be_packed(rows: NDArray[Any]) -> bool:
    """Whether rows, packed, will not be refused as more than a file can have; a million equal letters would be."""
    return 2 * rows.nbytes <= _MOST_PACKED * len(zlib.compress(rows.tobytes(), 1))


def damaged(path: Path, reason: object, what: str = "recording") -> FileFormatError:
    """The error that says in one sentence that a recording is damaged, and why; the reason itself if it is one."""
    if isinstance(reason, FileFormatError):
        return reason
    words = " ".join(str(reason).split()) or type(reason).__name__
    return FileFormatError(path, f"the {what} is damaged ({words[:300]})")


class StoredTable:
    """The first `count` rows of a data set, read when they are asked for; a `RowTable`.

    dataset : as `schema.dataset_in` gives it, in plain chunks or packed ones
    dtype : of the rows that are given
    check : of all rows that are read
    form : how rows stand in the file, by default as they are but for shorter whole numbers

    Raises ValueError where the data set has fewer rows, more than the file can have, or is not stored as a recorder
    stores it. Rows that do not pass the check raise FileFormatError when they are read.
    """

    def __init__(
        self,
        file: StoredFile,
        dataset: h5py.Dataset,
        count: int,
        dtype: np.dtype[Any],
        check: RowCheck,
        form: RowForm | None = None,
    ):
        if len(dataset) < count:
            raise ValueError(f"{dataset.name} has {len(dataset)} rows where {count} are needed")
        self._packed = is_packed(dataset)
        most = file.size * (_MOST_PACKED if self._packed else 1)
        if count * dataset.dtype.itemsize > most:
            raise ValueError(f"{dataset.name} cannot have {count} rows in a file of {file.size} bytes")
        if dataset.chunks is None:
            raise ValueError(f"{dataset.name} is not stored in chunks of rows")
        self.dtype = dtype
        self._check, self._form = check, form or PlainRows(dtype)
        self._file, self._count = file, count
        self._stored = dataset.dtype
        self._chunk_rows = dataset.chunks[0]
        if self._packed and self._chunk_rows * self._stored.itemsize > _MOST_OF_A_CHUNK:
            raise ValueError(f"{dataset.name} has chunks of {self._chunk_rows} rows, which are too long")
        self._chunks = self._places_of_chunks(dataset)
        self._unpacked: dict[int, NDArray[Any]] = {}
        self._columns: dict[str, NDArray[Any]] = {}

    def __reduce__(self) -> Any:
        """Where it is sent, its rows are in memory."""
        return GrowingTable, (self.dtype, [self.rows(0, self._count)])

    def __len__(self) -> int:
        return self._count

    def rows(self, first: int, last: int) -> NDArray[Any]:
        """Rows `first` to before `last`, as an array of its own."""
        begin, end = self._form.span(first, last)
        rows = self._form.restored(self._stored_rows(begin, end), begin)[first - begin : last - begin]
        try:
            self._check.refuse(rows)
        except ValueError as error:
            raise damaged(self._file.path, error) from error
        return rows

    def _stored_rows(self, first: int, last: int) -> NDArray[Any]:
        """Rows as they stand in the file."""
        if not 0 <= first <= last <= self._count:
            raise IndexError(f"expected rows within 0 to {self._count}, got {first} to {last}")
        found = np.empty(last - first, dtype=self._stored)
        at = first
        while at < last:
            chunk, offset = divmod(at, self._chunk_rows)
            upto = min(last, (chunk + 1) * self._chunk_rows)
            part = found[at - first : upto - first]
            if self._packed:
                part[:] = self._unpack(chunk)[offset : offset + len(part)]
            else:
                self._file.fill(part, self._chunks[chunk][0] + offset * self._stored.itemsize)
            at = upto
        return found

    def taken(self, which: NDArray[np.int64]) -> NDArray[Any]:
        """The rows of these numbers; those near each other are read together."""
        if not len(which):
            return np.empty(0, dtype=self.dtype)
        distinct, place = np.unique(which, return_inverse=True)
        ends = np.flatnonzero(np.diff(distinct) > self._chunk_rows)
        parts = []
        for run in np.split(distinct, ends + 1):
            parts.append(self.rows(int(run[0]), int(run[-1]) + 1)[run - run[0]])
        return np.concatenate(parts)[place]

    def column(self, name: str, first: int = 0) -> NDArray[Any]:
        """One column of the rows from the `first` on; read once."""
        if name not in self._columns:
            self.keep((name,))
        return self._columns[name][first:]

    def columns(self, names: Sequence[str]) -> list[NDArray[Any]]:
        """Several columns of all rows; read once."""
        self.keep(tuple(name for name in names if name not in self._columns))
        return [self._columns[name] for name in names]

    def keep(self, names: tuple[str, ...], look: Callable[[NDArray[Any]], None] | None = None) -> None:
        """Read all rows once, for these columns, and let somebody look at them."""
        if not names:
            return
        parts: dict[str, list[NDArray[Any]]] = {name: [self.rows(0, 0)[name]] for name in names}
        for begin in range(0, self._count, _ROWS_AT_ONCE):
            rows = self.rows(begin, min(self._count, begin + _ROWS_AT_ONCE))
            if look is not None:
                look(rows)
            for name in names:
                parts[name].append(rows[name].copy())
        self._columns |= {name: np.concatenate(found) for name, found in parts.items()}

    def extend(self, dataset: h5py.Dataset, count: int) -> None:
        """Have the full chunks too among the first so many rows of the data set, which has grown."""
        for number in range(len(self._chunks), count // self._chunk_rows):
            stored = dataset.id.get_chunk_info_by_coord((number * self._chunk_rows,))
            self._chunks.append((stored.byte_offset, stored.size, stored.filter_mask))
        self._count = len(self._chunks) * self._chunk_rows

    def _unpack(self, number: int) -> NDArray[Any]:
        """All rows of a chunk, as HDF5's filters shuffle and deflate have packed them; the last ones are kept."""
        found = self._unpacked.get(number)
        if found is not None:
            return found
        place, size, skipped = self._chunks[number]
        width, count = self._stored.itemsize, self._chunk_rows * self._stored.itemsize
        if size > count:
            raise damaged(self._file.path, "a chunk of rows is longer than its rows")
        content = self._file.read(place, size)
        if not skipped & _DEFLATE_SKIPPED:
            deflated = zlib.decompressobj()
            try:
                content = np.frombuffer(deflated.decompress(content.tobytes(), count + 1), dtype=np.uint8)
            except zlib.error as error:
                raise damaged(self._file.path, error) from error
            if len(content) > count or not deflated.eof:
                raise damaged(self._file.path, "a chunk of rows is longer than its rows")
        if len(content) < count:
            raise damaged(self._file.path, "a chunk of rows is shorter than its rows")
        if not skipped & _SHUFFLE_SKIPPED:  # the first bytes of all rows came first
            content = np.ascontiguousarray(content.reshape(width, -1).T).reshape(-1)
        rows = content.view(self._stored)
        while len(self._unpacked) >= _CHUNKS_KEPT:
            self._unpacked.pop(next(iter(self._unpacked)), None)
        self._unpacked[number] = rows
        return rows

    def _places_of_chunks(self, dataset: h5py.Dataset) -> list[tuple[int, int, int]]:
        """Of each chunk that holds one of the rows, where in the file it begins, its bytes, and which filters
        it has not."""
        missing = (-1, 0, 0)
        count = -(-self._count // self._chunk_rows)
        if count > self._file.size:
            raise ValueError(
                f"{dataset.name} cannot have {count} chunks in a file of {self._file.size} bytes"
            )
        chunks = [missing] * count

        def note(stored: Any) -> None:
            number = stored.chunk_offset[0] // self._chunk_rows
            if number < len(chunks):
                chunks[number] = stored.byte_offset, stored.size, stored.filter_mask

        dataset.id.chunk_iter(note)
        if missing in chunks:
            raise ValueError(f"{dataset.name} lacks a part")
        return chunks
