"""Rows of a recording's tables, read straight from where HDF5 has put them.

HDF5 allows one way of opening a file in a process and takes long to find single rows. Uncompressed chunks never
move once they are written, so their places are noted when a recording is opened; the rest is reading bytes.
The file may then be opened, appended to or replaced under its name by anyone.
"""

import threading
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from ...bodies import FileFormatError


class StoredFile:
    """A file to read bytes of, as it was when it was opened; closed when it is no longer used."""

    def __init__(self, path: Path):
        self.path = path
        self._stream = path.open("rb", buffering=0)
        self._turn = threading.Lock()

    def __del__(self) -> None:
        if stream := getattr(self, "_stream", None):
            stream.close()

    def fill(self, rows: NDArray[Any], place: int) -> None:
        """Fill contiguous rows with the bytes from a place on; FileFormatError where that is impossible."""
        with self._turn:
            try:
                self._stream.seek(place)
                found = self._stream.readinto(rows.data)
            except OSError as error:
                raise damaged(self.path, error) from error
        if found != rows.nbytes:
            raise damaged(self.path, "it has become shorter")


def damaged(path: Path, reason: object) -> FileFormatError:
    """The error that says that a recording cannot be read, and why."""
    return FileFormatError(path, f"the recording is damaged ({reason})")


class StoredTable:
    """The first `count` rows of a data set, read when they are asked for.

    Raises ValueError where the data set has fewer rows or is not stored as a recorder stores it.
    """

    def __init__(self, file: StoredFile, dataset: h5py.Dataset, count: int):
        if len(dataset) < count:
            raise ValueError(f"{dataset.name} has {len(dataset)} rows where {count} are needed")
        if dataset.chunks is None or dataset.chunks[1:] != dataset.shape[1:] or dataset._filters:
            raise ValueError(f"{dataset.name} is not stored in plain chunks of rows")
        self._file, self._count = file, count
        self._dtype, self._row_shape = dataset.dtype, dataset.shape[1:]
        self._row_bytes = self._dtype.itemsize * int(np.prod(self._row_shape))
        self._chunk_rows = dataset.chunks[0]
        self._places = self._chunk_places(dataset)

    def __len__(self) -> int:
        return self._count

    def row(self, index: int) -> NDArray[Any]:
        """One row."""
        return self.rows(index, index + 1)[0]

    def rows(self, first: int, last: int) -> NDArray[Any]:
        """Rows `first` to before `last`, as an array of its own."""
        if not 0 <= first <= last <= self._count:
            raise IndexError(f"expected rows within 0 to {self._count}, got {first} to {last}")
        found = np.empty((last - first, *self._row_shape), dtype=self._dtype)
        at = first
        while at < last:
            chunk, offset = divmod(at, self._chunk_rows)
            upto = min(last, (chunk + 1) * self._chunk_rows)
            self._file.fill(found[at - first : upto - first], self._places[chunk] + offset * self._row_bytes)
            at = upto
        return found

    def all(self) -> NDArray[Any]:
        """Every row."""
        return self.rows(0, self._count)

    def _chunk_places(self, dataset: h5py.Dataset) -> list[int]:
        """Where in the file each chunk begins that holds one of the rows."""
        places = [-1] * -(-self._count // self._chunk_rows)

        def note(stored: Any) -> None:
            number = stored.chunk_offset[0] // self._chunk_rows
            if number < len(places):
                places[number] = stored.byte_offset

        dataset.id.chunk_iter(note)
        if -1 in places:
            raise ValueError(f"{dataset.name} lacks a part")
        return places
