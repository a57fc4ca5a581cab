"""Work that has been done by a time, from the tables of a run."""

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..engine.tables_kernels import CHANNELS as FORCES
from .ledger import CHANNELS
from .log import Log

Array = NDArray[np.float64]
_IMPACTS, _CLOSING = CHANNELS.index("impacts"), CHANNELS.index("closing")
_ROWS_AT_ONCE = 50_000  # polynomials evaluated together: some tens of megabytes


def work_until(log: Log, times: Array, side: str) -> Array:
    """Work (T, channels) [J] done until times (T,); what impacts did at a time counts where `side` is right."""
    done = np.zeros((len(times), len(CHANNELS)))
    if len(log.works):
        columns = (log.works.column(name) for name in ("origin", "start", "end", "work"))
        done[:, :FORCES] = _of_forces(times, *columns)
    for channel, when, energy in (
        (_IMPACTS, log.events.column("time"), log.events.column("energy_change")),
        (_CLOSING, log.jumps.column("time"), log.jumps.column("energy")),
    ):
        known = np.searchsorted(when, times, side="left" if side == "left" else "right")
        done[:, channel] += np.concatenate([[0.0], np.cumsum(energy)])[known]
    return done


def _of_forces(times: Array, origin: Array, start: Array, end: Array, polynomial: Array) -> Array:
    """Work (T, forces) until times (T,): of pieces that are over, and of those that are running."""
    before = _evaluated(polynomial, start - origin)
    whole = _evaluated(polynomial, end - origin) - before
    ends = np.argsort(end, kind="stable")
    totals = np.concatenate([np.zeros((1, whole.shape[1])), np.cumsum(whole[ends], axis=0)])
    done = totals[np.searchsorted(end[ends], times, side="right")]
    order = np.argsort(times, kind="stable")
    ordered = times[order]
    first = np.searchsorted(ordered, start, side="right")  # while a piece runs, times are consecutive
    count = np.maximum(np.searchsorted(ordered, end, side="left") - first, 0)
    upto = np.cumsum(count)
    for low, high in pairwise(_batches(upto)):
        piece = np.repeat(np.arange(low, high), count[low:high])
        place = np.arange(len(piece)) - np.repeat(
            upto[low:high] - count[low:high] - (upto[low - 1] if low else 0), count[low:high]
        )
        row = order[first[piece] + place]
        np.add.at(done, row, _evaluated(polynomial[piece], times[row] - origin[piece]) - before[piece])
    return done


def _batches(upto: NDArray[np.int64]) -> list[int]:
    """Bounds of consecutive pieces that are evaluated together, where `upto` (P,) rows are asked of the first."""
    cuts = np.searchsorted(upto, np.arange(_ROWS_AT_ONCE, upto[-1], _ROWS_AT_ONCE)) + 1
    return [0, *np.unique(cuts[cuts < len(upto)]).tolist(), len(upto)]


def _evaluated(polynomials: Array, tau: Array) -> Any:
    """Values (k, forces) of polynomials (k, forces, terms) at tau (k,)."""
    powers = tau[:, None] ** np.arange(polynomials.shape[2])
    return np.einsum("kct,kt->kc", polynomials, powers)
