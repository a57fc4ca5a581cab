"""Where the energy of a run goes: work of what has no potential, piece by piece and event by event."""

from dataclasses import dataclass
from typing import Any

CHANNELS = ("friction", "damping", "drag", "drives", "applied", "closing", "impacts")
"""In the order of `engine/tables_kernels.py`, with those of impacts last."""


@dataclass(frozen=True, eq=False)
class EnergyLedger:
    """Energy of all bodies [J] at times [s], and the work done on them since the start.

    kinetic, potential, springs : energy now, of motion, in gravity, and in the springs of joints
    begun : all energy when the run began
    friction, damping, drag, drives, applied : work since the start: of friction, dampers in joints, drag,
    drives, and functions of the user; what dissipates is negative
    closing : change by ends of infinitely many bounces, of slip too slow to matter and of drift, and by time steps
    impacts : by impact laws
    """

    time: Any
    kinetic: Any
    potential: Any
    springs: Any
    begun: float
    friction: Any
    damping: Any
    drag: Any
    drives: Any
    applied: Any
    closing: Any
    impacts: Any

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
        """What does not close: energy now, minus work, minus energy when the run began."""
        return self.energy - self.work - self.begun
