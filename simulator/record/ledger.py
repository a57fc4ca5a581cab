"""Where the energy of a run goes: work of what has no potential, piece by piece and event by event."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

CHANNELS = ("friction", "damping", "drag", "drives", "applied", "impacts", "closing")
_ROWS_AT_ONCE = 50_000  # polynomials evaluated together: some tens of megabytes


@dataclass(frozen=True, eq=False)
class EnergyLedger:
    """Energy of all bodies [J] at times [s], and the work done on them since the start.

    kinetic, potential, springs : energy now, of motion, in gravity, and in the springs of joints
    friction, damping, drag, drives, applied : work since the start: of friction, dampers in joints, drag,
    drives, and functions of the user; what dissipates is negative
    impacts : change by impact laws; closing : by ends of infinitely many bounces, and of slip too slow to matter
    """

    time: Any
    kinetic: Any
    potential: Any
    springs: Any
    friction: Any
    damping: Any
    drag: Any
    drives: Any
    applied: Any
    impacts: Any
    closing: Any

    @property
    def energy(self) -> Any:
        """Kinetic, potential and spring energy together."""
        return self.kinetic + self.potential + self.springs

    @property
    def work(self) -> Any:
        """All work since the start."""
        return sum(getattr(self, name) for name in CHANNELS)

    @property
    def residual(self) -> Any:
        """What does not close: energy minus work, minus the same at the first of the times."""
        kept = np.asarray(self.energy - self.work)
        return kept - kept.flat[0]


@dataclass(eq=False)
class WorkPiece:
    """Work from `start` to `end` [s]: polynomials (channels with powers, terms) of the time since."""

    start: float
    end: float
    polynomial: Array

    def cut(self, time: float) -> None:
        """End at `time`, where that is sooner."""
        self.end = min(self.end, time)


class Works:
    """Work [J] by channel: pieces, in the order of their start, and jumps of (time, channel, energy)."""

    def __init__(self) -> None:
        self.pieces: list[WorkPiece] = []
        self.jumps: list[tuple[float, int, float]] = []

    def add_piece(self, start: float, end: float, polynomial: Array) -> WorkPiece:
        """Work from `start` to `end`, as long as nothing cuts it."""
        self.pieces.append(WorkPiece(start, end, polynomial))
        return self.pieces[-1]

    def add_jump(self, time: float, channel: str, energy: float) -> None:
        """Energy that a channel adds at one instant."""
        if energy != 0.0:
            self.jumps.append((time, CHANNELS.index(channel), energy))

    @property
    def piece_count(self) -> int:
        """How many pieces there are."""
        return len(self.pieces)

    @property
    def jump_count(self) -> int:
        """How many jumps there are."""
        return len(self.jumps)

    def piece_columns(self) -> tuple[Array, Array, Array]:
        """Start (P,) and end (P,) [s] and polynomial (P, channels with powers, terms) of every piece."""
        columns = zip(*((piece.start, piece.end, piece.polynomial) for piece in self.pieces), strict=True)
        start, end, polynomial = (np.array(column) for column in columns)
        return start, end, polynomial

    def jump_columns(self) -> tuple[Array, NDArray[np.int64], Array]:
        """Time [s], index of the channel and energy [J] of every jump, (J,) each."""
        time, channel, energy = zip(*self.jumps, strict=True)
        return np.array(time), np.array(channel, dtype=np.int64), np.array(energy)

    def until(self, times: Array, side: str) -> Array:
        """Work (T, channels) done until times (T,); jumps at a time count where `side` is right."""
        done = np.zeros((len(times), len(CHANNELS)))
        if self.piece_count:
            found = _work_until(times, *self.piece_columns())
            done[:, : found.shape[1]] = found
        if self.jump_count:
            when, channel, energy = self.jump_columns()
            known = np.searchsorted(when, times, side="left" if side == "left" else "right")
            for each in np.unique(channel).tolist():
                so_far = np.cumsum(np.where(channel == each, energy, 0.0))
                done[:, each] += np.concatenate([[0.0], so_far])[known]
        return done

    @classmethod
    def joined(cls, segments: "list[tuple[Works, float]]") -> "Works":
        """Of consecutive segments of a run, with their ends [s]; each has whole what was running when it began."""
        whole = cls()
        for works, end in segments[:-1]:
            whole.pieces += [piece for piece in works.pieces if piece.end <= end]
            whole.jumps += works.jumps
        whole.pieces += segments[-1][0].pieces
        whole.jumps += segments[-1][0].jumps
        return whole


def _work_until(times: Array, start: Array, end: Array, polynomial: Array) -> Array:
    """Work (T, channels) until times (T,) of pieces, see `Works.piece_columns`: those over, and those running."""
    whole = _evaluated(polynomial, end - start)
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
        np.add.at(done, row, _evaluated(polynomial[piece], times[row] - start[piece]))
    return done


def _batches(upto: NDArray[np.int64]) -> list[int]:
    """Bounds of consecutive pieces that are evaluated together, where `upto` (P,) rows are asked of the first."""
    cuts = np.searchsorted(upto, np.arange(_ROWS_AT_ONCE, upto[-1], _ROWS_AT_ONCE)) + 1
    return [0, *np.unique(cuts[cuts < len(upto)]).tolist(), len(upto)]


def _evaluated(polynomials: Array, tau: Array) -> Array:
    """Values (k, channels) of polynomials (k, channels, terms) at tau (k,)."""
    powers = tau[:, None] ** np.arange(polynomials.shape[2])
    return np.asarray(np.einsum("kct,kt->kc", polynomials, powers))
