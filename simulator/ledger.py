"""Where the energy of a run goes: work of what has no potential, piece by piece and event by event."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

CHANNELS = ("friction", "damping", "drag", "drives", "applied", "impacts", "closing")


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

    def until(self, times: Array, side: str) -> Array:
        """Work (T, channels) done until times (T,); jumps at a time count where `side` is right."""
        done = np.zeros((len(times), len(CHANNELS)))
        if self.pieces:
            start = np.array([piece.start for piece in self.pieces])
            end = np.array([piece.end for piece in self.pieces])
            polynomial = np.array([piece.polynomial for piece in self.pieces])
            whole = _evaluated(polynomial, end - start)
            order = np.argsort(end, kind="stable")
            totals = np.concatenate([np.zeros((1, whole.shape[1])), np.cumsum(whole[order], axis=0)])
            done[:, : whole.shape[1]] = totals[np.searchsorted(end[order], times, side="right")]
            for row, time in enumerate(times):
                runs = (start < time) & (end > time)
                if runs.any():
                    parts = _evaluated(polynomial[runs], time - start[runs])
                    done[row, : whole.shape[1]] += parts.sum(axis=0)
        if self.jumps:
            when = np.array([jump[0] for jump in self.jumps])
            known = np.searchsorted(when, times, side="left" if side == "left" else "right")
            energy = np.zeros((len(when) + 1, len(CHANNELS)))
            for k, (_, channel, amount) in enumerate(self.jumps):
                energy[k + 1, channel] = amount
            done += np.cumsum(energy, axis=0)[known]
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


def _evaluated(polynomials: Array, tau: Array) -> Array:
    """Values (k, channels) of polynomials (k, channels, terms) at tau (k,)."""
    powers = tau[:, None] ** np.arange(polynomials.shape[2])
    return np.asarray(np.einsum("kct,kt->kc", polynomials, powers))
