"""The tables of a recording, checked: what is found in a damaged file is refused here or when it is looked at."""

from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from ...bodies import Scene
from .log import LOG_TABLES, Log
from .row_forms import PlainRows, row_form
from .row_table import GrowingTable
from .schema import RowCheck, dataset_in, refuse_turned, table_ranges
from .stored_table import StoredFile, StoredTable

_COUNTED = ("piece_numbers", "event_contacts", "stage_log", "texts")
_TABLE_OF = {"contacts": "event_contacts", "stages": "stage_log", "text": "texts"}
_OF_PIECES = ("body", "start", "kind", "terms")
_OF_EVENTS = ("time", "kind", "pieces", "contacts", "stages", "width", "text")


def recorded_log(
    stored: StoredFile,
    file: h5py.Group,
    counts: dict[str, int],
    scene: Scene,
    times: tuple[float, float],
    law_name: str,
    before: Log | None = None,
) -> Log:
    """The first so many rows of every table of a file or group, behind what was `before`.

    times : when the run began and ended [s]
    law_name : of the law that resolved its impacts

    ValueError where tables do not fit each other, or have numbers that no run leaves.
    """
    bodies = len(scene.bodies)
    ranges, tables = table_ranges(bodies), dict[str, StoredTable]()
    for name, kind in LOG_TABLES.items():  # stages after the events and contacts that they are restored from
        dtype = np.dtype(kind)
        plain, form = PlainRows(dtype), row_form(name, dtype, scene, law_name, tables)
        dataset = dataset_in(file, name, (dtype, plain.stored, form.stored), packed=True)
        own = form if dataset.dtype == form.stored else plain
        check = RowCheck(name, dtype, ranges[name])
        tables[name] = StoredTable(stored, dataset, counts[name], dtype, check, own)
    tables["pieces"].keep(_OF_PIECES, _refuse_piece)
    tables["events"].keep(_OF_EVENTS)
    if before is None:
        log = Log(**tables)
    else:  # of many nodes each is short
        log = Log.joined([(before, None)])
        for name, table in tables.items():
            log.add(name, table.rows(0, len(table)))
    _refuse_damage(log, bodies, *times)
    return log


def in_memory(log: Log) -> Log:
    """The same rows, to which others can be added."""
    return Log(
        **{
            name: GrowingTable(dtype, [table.rows(0, len(table))])
            for name, dtype in LOG_TABLES.items()
            for table in (getattr(log, name),)
        }
    )


def _refuse_piece(rows: NDArray[Any]) -> None:
    """ValueError for a piece of motion that none can be."""
    refuse_turned(rows["state"])


def _refuse_damage(log: Log, bodies: int, begin: float, end: float) -> None:
    """ValueError where tables do not fit each other, or what they tell is not in order of time."""
    pieces, events = log.pieces, log.events
    body, start = pieces.column("body"), pieces.column("start")
    missing = np.flatnonzero(np.bincount(body, minlength=bodies) == 0)
    if len(missing):
        raise ValueError(f"pieces: expected one at least of every body, got none of body {missing[0]}")
    order = np.argsort(body, kind="stable")
    same = body[order][1:] == body[order][:-1]
    if (np.diff(start[order])[same] < 0.0).any() or start.min() < begin:
        raise ValueError("pieces: expected them in order of time from the start of the run")
    time = events.column("time")
    if (np.diff(time) < 0.0).any() or not (len(time) == 0 or begin <= time[0] <= time[-1] <= end):
        raise ValueError(f"events: expected them in order of time from {begin!r} to {end!r} s")
    begun = events.column("pieces")
    if (np.diff(begun) < 0).any() or begun.max(initial=0) > len(pieces):
        raise ValueError("events: expected numbers of pieces that rise, up to that of all")
    for name in ("contacts", "stages", "text"):
        if events.column(name).max(initial=0) > len(getattr(log, _TABLE_OF[name])):
            raise ValueError(
                f"events: expected no more {name} than there are, got {events.column(name).max()}"
            )
    for name in _COUNTED:
        offsets = log.offsets(name)
        if (np.diff(offsets) < 0).any() or offsets[-1] != len(getattr(log, name)):
            raise ValueError(f"{name}: the table is shorter or longer than the events and pieces need")
