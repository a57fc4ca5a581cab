"""The rows of an ensemble in one HDF5 file, which is whole at any moment, also when its writer is killed.

Rows are appended in the order in which they come, in single-writer-multiple-reader mode; the last number in
`whole_rows` says how many count, and is written after them. Where rows bring a column that the file has no room
for, it is written anew beside the old one, and takes its name when it is complete.
"""

import json
import math
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
_MOST_FOR_FILE, _MOST_FOR_ANY = 256, 1 << 31
"""Times as many bytes as a file has, and bytes for any file, that all rows may take in memory: those of members
that have not run, or that failed, take next to none in it."""
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


def read_store(
    path: Path, going_on: Identity | None = None
) -> tuple[Identity, dict[str, np.ndarray], ColumnTable]:
    """What a file holds, also one whose writer was killed, in a table for its members.

    going_on : the ensemble that goes on in the file, for whose members the table then is; ValueError where the file
        is not of it, before anything else is read

    Raises FileFormatError with one sentence for what is no such file, or holds more members than one has without
    the ensemble.
    """
    with opened(path, KIND, expected=(VERSION,)) as file:
        try:
            identity = _identity_in(json.loads(text_of(file, "identity")))
        except DAMAGE as error:
            raise damaged(path, error, "ensemble") from error
        if going_on:
            going_on.refuse_another(identity, path)
        try:
            size = path.stat().st_size
            count = going_on.count if going_on else identity.count
            columns = _data_in(file, "columns")
            _refuse_room(
                count, columns, size, None if going_on else max(_MOST_FOR_ANY, _MOST_FOR_FILE * size)
            )
            table = ColumnTable(count)
            _read_rows(file, table, columns, size + _CHUNK_BYTES)  # the last chunk may not be whole
            parameters = {
                name.replace("|", "/"): _rows_in(data, identity.count)
                for name, data in _data_in(file, "parameters", size).items()
            }
        except DAMAGE as error:
            raise damaged(path, error, "ensemble") from error
    return identity, parameters, table


def _identity_in(found: Any) -> Identity:
    """ValueError, or TypeError for names of others, where it is not what `_prepare` wrote."""
    identity = Identity(**found)
    if type(identity.count) is not int or not 0 <= identity.count <= _MOST_MEMBERS:
        raise ValueError(
            f"identity: expected a number of members up to {_MOST_MEMBERS}, got {identity.count!r:.40}"
        )
    for name, kind in (("run", str), ("seed", int), ("what", str), ("growing", bool)):
        if type(getattr(identity, name)) is not kind:
            raise ValueError(
                f"identity: expected {name} as {kind.__name__}, got {getattr(identity, name)!r:.40}"
            )
    return identity


def _refuse_room(count: int, columns: dict[str, h5py.Dataset], size: int, most: int | None) -> None:
    """ValueError where rows of so many members would take more than `most` bytes, or one row more than the file."""
    width = sum(math.prod(data.shape[1:]) for data in columns.values()) * _NUMBERS.itemsize
    if width > size:
        raise ValueError(
            f"columns: expected no row longer than the file's {size} bytes, got one of {width} bytes"
        )
    room = count * (width + ColumnTable.BYTES)
    if most is not None and room > most:
        raise ValueError(
            f"columns: expected members that take at most {most} bytes, got {count} that take {room}; only "
            "what made them can go on"
        )


def _data_in(file: h5py.File, name: str, most: int | None = None) -> dict[str, h5py.Dataset]:
    """The columns of a group of the file, by name, of at most so many bytes; none where there is no such group."""
    if name not in file:
        return {}
    group = group_in(file, name)
    return {column: dataset_in(group, column, (_NUMBERS,), _RANKS, most) for column in group}


def _rows_in(data: h5py.Dataset, rows: int) -> np.ndarray:
    """The first so many rows; ValueError where there are fewer."""
    if len(data) < rows:
        raise ValueError(f"{data.name[:60]}: expected {rows} rows, got shape {data.shape}")
    return data[:rows]


def _read_rows(file: h5py.File, table: ColumnTable, columns: dict[str, h5py.Dataset], most: int) -> None:
    """Put the rows of a file into the table; no data set but `columns` may have more than `most` bytes."""
    counts, index, seconds, lengths, texts = (
        dataset_in(file, name, (np.dtype(dtype),), rank, most)
        for name, dtype, rank in (
            ("whole_rows", "i8", 2), ("index", "i8", 1), ("seconds", "f8", 1), ("length", "i4", 1),
            ("text", "u1", 1),
        )
    )  # fmt: skip
    rows, length = (int(number) for number in counts[-1])
    if rows < 0 or length < 0:
        raise ValueError(f"whole_rows: expected numbers of rows and letters, got {rows} and {length}")
    members, each, text = _rows_in(index, rows), _rows_in(lengths, rows), _rows_in(texts, length).tobytes()
    if rows and not (members.min() >= 0 and members.max() < len(table)):
        raise ValueError("index: expected numbers of members that there are")
    ends = np.cumsum(each, dtype=np.int64).tolist()
    if (rows and each.min() < 1) or (ends[-1] if rows else 0) != length:
        raise ValueError("length: expected the lengths of texts that follow each other")
    said = [json.loads(text[a:b]) for a, b in zip([0, *ends][:-1], ends, strict=True)]
    if not all(isinstance(status, str) and isinstance(message, str) for status, message in said):
        raise ValueError("text: expected status and message of every row")
    table.put(
        members, [status for status, _ in said], [message for _, message in said], _rows_in(seconds, rows),
        {name: _rows_in(data, rows) for name, data in columns.items()},
    )  # fmt: skip


def check_path(path: Path, resume: bool) -> None:
    """ValueError or OSError where a store cannot be begun there, or gone on with."""
    if path.is_dir():
        raise IsADirectoryError(f"store {path}: expected a file name, got a folder")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"store {path}: the folder {path.parent} does not exist")
    if path.exists() and not resume:
        raise ValueError(f"store: expected a new file, or resume=True to go on, got {path}, which exists")
