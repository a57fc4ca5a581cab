"""The tables of a recording, checked: what is found in a damaged file is refused here or when it is looked at."""

import h5py
import numpy as np

from ..engine.tables_kernels import IMPLICIT
from ..event import EventKind
from ..kernels import TERMS
from .log import LOG_TABLES, Log
from .row_table import GrowingTable
from .stored_table import StoredFile, StoredTable

_COUNTED = ("piece_numbers", "event_contacts", "stage_log", "texts")


def recorded_log(
    stored: StoredFile, file: h5py.Group, counts: dict[str, int], bodies: int, before: Log | None = None
) -> Log:
    """The first so many rows of every table of a file or group, behind what was `before`.

    ValueError where tables do not fit each other, or have numbers that no run leaves.
    """
    tables = {
        name: StoredTable(stored, file[name], counts[name], np.dtype(dtype))
        for name, dtype in LOG_TABLES.items()
    }
    if before is None:
        log = Log(**tables)
    else:  # of many nodes each is short
        log = Log.joined([(before, None)])
        for name, table in tables.items():
            log.add(name, table.rows(0, len(table)))
    _refuse_damage(log, bodies)
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


def _refuse_damage(log: Log, bodies: int) -> None:
    for name, least, most in (("body", 0, bodies - 1), ("kind", 0, IMPLICIT), ("terms", 0, TERMS)):
        column = log.pieces.column(name)
        if len(column) and not (column.min() >= least and column.max() <= most):
            raise ValueError(
                f"pieces: expected {name} from {least} to {most}, got {column.min()} to {column.max()}"
            )
    kinds = log.events.column("kind")
    if len(kinds) and not (kinds.min() >= 0 and kinds.max() < len(EventKind)):
        raise ValueError(f"events: expected kinds below {len(EventKind)}, got {kinds.min()} to {kinds.max()}")
    for name in _COUNTED:
        offsets = log.offsets(name)
        if (np.diff(offsets) < 0).any() or offsets[-1] > len(getattr(log, name)):
            raise ValueError(f"{name}: the table is shorter than the events and pieces need")
