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


class Works:
    """Work [J] by channel: polynomials in the time since each piece began, and jumps."""

    def __init__(self) -> None:
        self.start: list[float] = []
        self.end: list[float] = []
        self.polynomial: list[Array] = []
        """(channels that have powers, terms), zero at the start."""
        self.jumps: list[tuple[float, int, float]] = []
        """Time, channel, energy."""

    def add_piece(self, start: float, end: float, polynomial: Array) -> int:
        """Work from `start` to `end`; its number."""
        self.start.append(start)
        self.end.append(end)
        self.polynomial.append(polynomial)
        return len(self.start) - 1

    def cut(self, number: int, time: float) -> None:
        """End a piece at `time`, where that is sooner."""
        self.end[number] = min(self.end[number], time)

    def add_jump(self, time: float, channel: str, energy: float) -> None:
        """Energy that a channel adds at one instant."""
        if energy != 0.0:
            self.jumps.append((time, CHANNELS.index(channel), energy))

    def until(self, times: Array, side: str) -> Array:
        """Work (T, channels) done until times (T,); jumps at a time count where `side` is right."""
        done = np.zeros((len(times), len(CHANNELS)))
        if self.start:
            start, end, polynomial = np.array(self.start), np.array(self.end), np.array(self.polynomial)
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


def _evaluated(polynomials: Array, tau: Array) -> Array:
    """Values (k, channels) of polynomials (k, channels, terms) at tau (k,)."""
    powers = tau[:, None] ** np.arange(polynomials.shape[2])
    return np.asarray(np.einsum("kct,kt->kc", polynomials, powers))
