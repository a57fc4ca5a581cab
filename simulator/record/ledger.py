"""Where the energy of a run goes: work of what has no potential, piece by piece and event by event."""

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

CHANNELS = ("friction", "damping", "drag", "drives", "applied", "closing", "impacts")
"""In the order of `engine/tables_kernels.py`, with those of impacts last."""


@dataclass(frozen=True, eq=False, repr=False)
class EnergyLedger:
    """Energy of all bodies [J] at times [s], and the work done on them since the start: of `Trajectory.ledger`.

    At one time all are floats, at times (T,) arrays (T,), but for `begun`.

    kinetic, potential, springs : energy now, of motion, in gravity, and in the springs of joints
    begun : all energy when the run began
    friction, damping, drag, drives, applied : work since the start: of friction, dampers in joints, drag,
    drives, and functions of the user; what dissipates is negative
    closing : change by ends of infinitely many bounces, of slip too slow to matter and of drift, and by time steps
    impacts : by impact laws

    Example
    -------
    >>> scene = carom.Scene()
    >>> floor = scene.add(carom.Body(carom.HalfSpace((0, 0, 1)), fixed=True))
    >>> ball = scene.add(carom.Body(carom.Sphere(0.1), mass=2.0, position=(0, 0, 1)))
    >>> run = carom.Simulator(scene, carom.AnitescuPotra()).run(1.0)
    >>> run.ledger(0.25)
    EnergyLedger(at 0.25 s: kinetic 6.01476, potential 13.6052, begun 19.62, residual 0 J)
    >>> ledger = run.ledger([0.25, 1.0])
    >>> ledger.impacts.round(6).tolist(), bool(abs(ledger.residual).max() < 1e-12)
    ([0.0, -17.658], True)
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

    def __repr__(self) -> str:
        if np.ndim(self.time):
            largest = float(np.abs(self.residual).max(initial=0.0))
            return f"EnergyLedger(at {len(self.time)} times, largest residual {largest:.2g} J)"
        values = {one.name: getattr(self, one.name) for one in fields(self) if one.name != "time"}
        parts = "".join(f"{name} {value:.6g}, " for name, value in values.items() if value)
        return f"EnergyLedger(at {self.time:g} s: {parts}residual {self.residual:.2g} J)"
