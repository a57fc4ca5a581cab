"""What a run leaves behind, as tables of rows: pieces of motion, events with their contacts and stages, work.

A running simulator and a recording have the same tables, in memory or in a file. Numbers that a row has several of,
such as those of its polynomials, stand in tables of their own, row after row, so that only their counts are kept.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..engine import tables_kernels as tables
from ..state import Array
from ..world import World
from .row_table import GrowingTable, RowTable, joined

LOG_TABLES: dict[str, Any] = {
    name: tables.TABLES[name][0]
    for name in ("pieces", "piece_numbers", "events", "event_contacts", "stage_log", "works", "jumps")
} | {"texts": "u1"}
"""Name of each table and the type of its rows; texts are UTF-8 JSON, event after event."""

_REINDEX = 4096  # rows that are looked through one by one before the index of pieces is made anew


@dataclass(eq=False)
class Log:
    """The tables of a run, see `engine/tables_kernels.py` for their columns."""

    pieces: RowTable
    piece_numbers: RowTable
    events: RowTable
    event_contacts: RowTable
    stage_log: RowTable
    works: RowTable
    jumps: RowTable
    texts: RowTable

    def __post_init__(self) -> None:
        self._offsets: dict[str, NDArray[np.int64]] = {}
        self._order = np.zeros(0, dtype=np.int64)
        self._bounds = np.zeros(1, dtype=np.int64)
        self._start = np.zeros(0)

    @classmethod
    def empty(cls) -> "Log":
        """No rows yet, to which some can be added."""
        return cls(**{name: GrowingTable(dtype) for name, dtype in LOG_TABLES.items()})

    @classmethod
    def joined(cls, logs: "Sequence[tuple[Log, dict[str, int] | None]]") -> "Log":
        """One log of consecutive ones in memory, or of so many rows of the tables of each; rows are shared."""
        return cls(
            **{
                name: joined(
                    [(getattr(log, name), None if upto is None else upto[name]) for log, upto in logs]
                )
                for name in LOG_TABLES
            }
        )

    def after(self, before: "Log") -> "Log":
        """The same log, which begins with all rows of `before`; these are shared with it from now on."""
        tables = {}
        for name in LOG_TABLES:
            known, own = getattr(before, name), getattr(self, name)
            tables[name] = joined([(known, None)])
            tables[name].append(own.rows(len(known), len(own)))
        return Log(**tables)

    def take(self, world: World) -> None:
        """Take over what a world has noted, which is then empty there."""
        for name in LOG_TABLES:
            if name != "texts":
                rows = getattr(world, name)
                if len(rows):
                    self._growing(name).append(rows)
                    world.header[f"{name}_count"] = 0

    def lengths(self) -> dict[str, int]:
        """Number of rows of every table."""
        return {name: len(getattr(self, name)) for name in LOG_TABLES}

    def add(self, name: str, rows: NDArray[Any]) -> None:
        """Add rows to a table; ValueError where the log is that of a recording."""
        self._growing(name).append(rows)

    def _growing(self, name: str) -> GrowingTable:
        table = getattr(self, name)
        if not isinstance(table, GrowingTable):
            raise ValueError("a trajectory read from a recording takes no more events or pieces of motion")
        return table

    # -- where the numbers of a row stand ------------------------------------------------------------------

    def offsets(self, what: str) -> NDArray[np.int64]:
        """Where the numbers of each row begin and, last, where all end: of "piece_numbers", "event_contacts",
        "stage_log" or "texts"."""
        owner = self.pieces if what == "piece_numbers" else self.events
        known = self._offsets.get(what)
        if known is None:
            known = np.zeros(1, dtype=np.int64)
        done = len(known) - 1
        if done < len(owner):
            counts = _counts(owner, what, done)
            known = np.concatenate([known, known[-1] + np.cumsum(counts)])
            self._offsets[what] = known
        return known

    def numbers_of_event(self, what: str, event: int) -> NDArray[Any]:
        """The rows of an event in one of those tables."""
        offsets = self.offsets(what)
        table: RowTable = getattr(self, what)
        return table.rows(int(offsets[event]), int(offsets[event + 1]))

    # -- pieces of each body -------------------------------------------------------------------------------

    def pieces_of(self, body: int) -> NDArray[np.int64]:
        """Numbers of the pieces of a body, in order of time."""
        self._index(0)
        if body + 1 >= len(self._bounds):
            return np.zeros(0, dtype=np.int64)
        return self._order[self._bounds[body] : self._bounds[body + 1]]

    def pieces_at(self, bodies: int, times: Array, side: str) -> NDArray[np.int64]:
        """Numbers (bodies, T) of the pieces in which the first so many bodies are at times (T,); the first of a
        body before it began."""
        self._index(_REINDEX)
        found = np.empty((bodies, len(times)), dtype=np.int64)
        way = "left" if side == "left" else "right"
        for body in range(bodies):
            rows = self._order[self._bounds[body] : self._bounds[body + 1]]
            at = np.searchsorted(self._start[rows], times, side=way) - 1  # type: ignore[call-overload]
            found[body] = rows[np.maximum(at, 0)]
        first = len(self._order)
        if first < len(self.pieces):  # what has come since the index was made
            late = self.pieces.rows(first, len(self.pieces))
            for k, (body, start) in enumerate(
                zip(late["body"].tolist(), late["start"].tolist(), strict=True)
            ):
                if body < bodies:
                    reached = times > start if side == "left" else times >= start
                    found[body, reached] = first + k
        return found

    def last_piece(self, body: int, before: int) -> int:
        """Number of the last piece of a body among the first so many."""
        rows = self.pieces_of(body)
        return int(rows[max(int(np.searchsorted(rows, before)) - 1, 0)])

    def _index(self, late: int) -> None:
        """Sort pieces by body, unless at most so many have come since."""
        count, done = len(self.pieces), len(self._order)
        if done and count - done <= max(late, done // 2 if late else 0):
            return
        if count == done:
            return
        body, self._start = self.pieces.columns(["body", "start"])
        self._order = np.argsort(body, kind="stable")
        most = int(body.max(initial=-1)) + 1
        self._bounds = np.searchsorted(body[self._order], np.arange(most + 1))


def _counts(owner: RowTable, what: str, first: int) -> NDArray[np.int64]:
    """How many numbers the rows of pieces or events from the `first` on have in a table."""
    if what == "piece_numbers":
        return 13 * owner.column("terms", first)
    if what == "event_contacts":
        return owner.column("contacts", first)
    if what == "texts":
        return owner.column("text", first)
    return owner.column("stages", first) * owner.column("width", first)
