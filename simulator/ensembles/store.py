"""The rows of an ensemble in one HDF5 file, which is whole at any moment, also when its writer is killed.

Rows are appended in the order in which they come, in single-writer-multiple-reader mode; the last number in
`whole_rows` says how many count, and is written after them. Where rows bring a column that the file has no room
for, it is written anew beside the old one, and takes its name when it is complete.
"""

import json
import time as clock
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from ...bodies.files import replaced_when_whole
from ...interrupts import interrupts_wait
from ..record.recording import DAMAGE, opened, opened_to_append
from ..record.schema import dataset_in, group_in, text_of, write_text
from ..record.stored_table import damaged
from .chunk import Rows
from .columns import NOT_RUN, ColumnTable, join_shapes

KIND, VERSION = "carom ensemble", 1
_FLUSH = 0.5  # s between two
_CHUNK_BYTES = 16_384
_ROWS_AT_ONCE = 8192
_MOST_MEMBERS = 10_000_000  # of a file that is read
_NUMBERS, _RANKS = np.dtype("f8"), tuple(range(1, 33))  # of columns


@dataclass(frozen=True)
class Identity:
    """What an ensemble is of: only an equal one may go on in its file.

    run : name of the function
    what : of the members in words, such as of a perturbation its terms
    growing : whether the same with more members has these as its first
    """

    run: str
    seed: int
    count: int
    what: str
    growing: bool

    def refuse_another(self, known: "Identity", path: Path) -> None:
        """ValueError unless this is what the file was begun with, or, where it may be, more of it."""
        for name in ("run", "seed", "what", "growing"):
            mine, theirs = getattr(self, name), getattr(known, name)
            if mine != theirs:
                raise ValueError(f"{name}: expected {theirs!r}, with which {path} was begun, got {mine!r}")
        if self.count < known.count or (self.count > known.count and not self.growing):
            raise ValueError(
                f"members: expected {known.count}, with which {path} was begun, got {self.count}"
            )


class Store:
    """Writes rows while they come in.

    table : what the rows are in memory; rows are put there before they are written
    """

    @interrupts_wait()
    def __init__(self, path: Path, identity: Identity, parameters: dict[str, np.ndarray], table: ColumnTable):
        self._path, self._identity, self._parameters, self._table = path, identity, parameters, table
        self._buffer: list[Rows] = []
        self._file: h5py.File | None = None
        self._flushed = clock.monotonic()
        self._remake()

    def append(self, rows: Rows) -> None:
        """Write rows, soon."""
        self._buffer.append(rows)
        if clock.monotonic() - self._flushed > _FLUSH:
            self.flush()

    @interrupts_wait()
    def flush(self) -> None:
        """Bring everything so far to disk."""
        self._flushed = clock.monotonic()
        if not self._buffer:
            return
        if any(self._lacks(name, values) for rows in self._buffer for name, values in rows.columns.items()):
            self._buffer.clear()
            self._remake()
            return
        file = self._file
        assert file is not None
        for rows in self._buffer:
            _append_rows(file, rows)
        self._buffer.clear()
        file.flush()
        _append(file["whole_rows"], np.array([[len(file["index"]), len(file["text"])]]))
        file.flush()

    @interrupts_wait()
    def close(self) -> None:
        """Finish the file."""
        self.flush()
        if self._file is not None:
            self._file.close()
            self._file = None

    def _lacks(self, name: str, values: np.ndarray) -> bool:
        assert self._file is not None
        known = self._file["columns"].get(name)
        return known is None or join_shapes(name, [known.shape[1:], values.shape[1:]]) != known.shape[1:]

    def _remake(self) -> None:
        """Write the file anew, with room for the columns that there are now."""
        if self._file is not None:
            self._file.close()
        with (
            replaced_when_whole(self._path) as partial,
            h5py.File(partial, "w", libver="latest", locking=False) as file,
        ):
            _prepare(file, self._identity, self._parameters, self._table)
            done = np.flatnonzero(self._table.status != NOT_RUN)
            for first in range(0, len(done), _ROWS_AT_ONCE):
                _append_rows(file, _rows_of(self._table, done[first : first + _ROWS_AT_ONCE]))
            _append(file["whole_rows"], np.array([[len(file["index"]), len(file["text"])]]))
        self._file = opened_to_append(self._path)


def _prepare(
    file: h5py.File, identity: Identity, parameters: dict[str, np.ndarray], table: ColumnTable
) -> None:
    """Empty data sets."""
    file.attrs["version"] = VERSION
    write_text(file, "format", KIND)
    write_text(file, "identity", json.dumps(vars(identity)))
    for name, column in parameters.items():
        file.create_dataset(f"parameters/{name.replace('/', '|')}", data=column)
    file.create_group("columns")
    for name, column in table.ordered.items():
        _data_set(file, f"columns/{name}", "f8", column.shape[1:], np.nan)
    for name, dtype in (("index", "i8"), ("seconds", "f8"), ("length", "i4"), ("text", "u1")):
        _data_set(file, name, dtype, (), 0)
    _data_set(file, "whole_rows", "i8", (2,), 0)
    write_text(file["length"], "meaning", "bytes of a row in text: JSON of status and message, UTF-8")
    write_text(file["seconds"], "meaning", "s, computing time without compilation")


def _data_set(file: h5py.File, name: str, dtype: str, shape: tuple[int, ...], fill: Any) -> None:
    width = max(1, int(np.prod(shape)) * np.dtype(dtype).itemsize)
    file.create_dataset(
        name, (0, *shape), dtype=dtype, maxshape=(None, *shape), fillvalue=fill,
        chunks=(max(1, _CHUNK_BYTES // width), *(max(1, length) for length in shape)),
    )  # fmt: skip


def _append(data: h5py.Dataset, values: np.ndarray) -> None:
    if len(values):
        data.resize(len(data) + len(values), axis=0)
        data[(slice(-len(values) + len(data), None), *(slice(length) for length in values.shape[1:]))] = (
            values
        )


def _append_rows(file: h5py.File, rows: Rows) -> None:
    texts = [
        json.dumps([status, message]).encode()
        for status, message in zip(rows.status, rows.message, strict=True)
    ]
    before = len(file["index"])
    _append(file["text"], np.frombuffer(b"".join(texts), dtype="u1"))
    _append(file["length"], np.array([len(text) for text in texts]))
    _append(file["seconds"], rows.seconds)
    for name in file["columns"]:
        data = file["columns"][name]
        if name in rows.columns:
            _append(data, rows.columns[name])
        else:
            data.resize(before + len(rows.index), axis=0)
    _append(file["index"], rows.index)


def _rows_of(table: ColumnTable, which: np.ndarray) -> Rows:
    return Rows(
        which,
        table.status[which].tolist(),
        [table.messages.get(index, "") for index in which.tolist()],
        table.seconds[which],
        {name: column[which] for name, column in table.ordered.items()},
    )


def read_store(path: Path, count: int | None = None) -> tuple[Identity, dict[str, np.ndarray], ColumnTable]:
    """What a file holds, also one whose writer was killed, in a table for so many members or those that it is of.

    Raises FileFormatError with one sentence for what is no such file.
    """
    with opened(path, KIND, expected=(VERSION,)) as file:
        try:
            identity = Identity(**json.loads(text_of(file, "identity")))
            if type(identity.count) is not int or not 0 <= identity.count <= _MOST_MEMBERS:
                raise ValueError(
                    f"identity: expected a number of members up to {_MOST_MEMBERS}, got {identity.count!r:.40}"
                )
            table = ColumnTable(max(count or 0, identity.count))
            parameters = {
                name.replace("|", "/"): data[()] for name, data in _data_in(file, "parameters").items()
            }
            _read_rows(file, table)
        except DAMAGE as error:
            raise damaged(path, error) from error
    return identity, parameters, table


def _data_in(file: h5py.File, name: str) -> dict[str, h5py.Dataset]:
    """The columns of a group of the file, by name; none where there is no such group."""
    if name not in file:
        return {}
    group = group_in(file, name)
    return {column: dataset_in(group, column, (_NUMBERS,), _RANKS) for column in group}


def _read_rows(file: h5py.File, table: ColumnTable) -> None:
    counts, index, seconds, lengths, texts = (
        dataset_in(file, name, (np.dtype(dtype),), rank)
        for name, dtype, rank in (
            ("whole_rows", "i8", 2), ("index", "i8", 1), ("seconds", "f8", 1), ("length", "i4", 1),
            ("text", "u1", 1),
        )
    )  # fmt: skip
    rows, length = (int(number) for number in counts[-1])
    text = texts[:length].tobytes()
    ends = np.cumsum(lengths[:rows])
    starts = np.concatenate([[0], ends[:-1]]) if rows else ends
    said = [json.loads(text[a:b]) for a, b in zip(starts.tolist(), ends.tolist(), strict=True)]
    members = index[:rows]
    if len(members) != rows or (rows and not (members.min() >= 0 and members.max() < len(table))):
        raise ValueError("index: expected as many rows as whole_rows says, of members that there are")
    table.put(
        members, [status for status, _ in said], [message for _, message in said], seconds[:rows],
        {name: data[:rows] for name, data in _data_in(file, "columns").items()},
    )  # fmt: skip


def check_path(path: Path, resume: bool) -> None:
    """ValueError or OSError where a store cannot be begun there, or gone on with."""
    if path.is_dir():
        raise IsADirectoryError(f"store {path}: expected a file name, got a folder")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"store {path}: the folder {path.parent} does not exist")
    if path.exists() and not resume:
        raise ValueError(f"store: expected a new file, or resume=True to go on, got {path}, which exists")
