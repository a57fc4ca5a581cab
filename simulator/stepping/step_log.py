"""What every step was like, one row each."""

import numpy as np
from numpy.typing import NDArray

_COUNTS = ("spheres", "near", "sticking", "sliding", "separating", "sweeps", "entered", "left")
_NUMBERS = ("time", "residual", "overlap", "energy_before", "energy_after")

STEP = np.dtype([(name, np.int64) for name in _COUNTS] + [(name, np.float64) for name in _NUMBERS])
"""Of a step: spheres in it; touches that were looked at, that stick, that slide, and that were closed and part;
sweeps; spheres that had entered and left since the start; the time at its end [s]; the residual that the sweeps
left, relative to the largest impulse; the deepest overlap at its start, relative to the smaller radius; kinetic
energy [J] with gravity's impulse, before and after the impacts."""


BODY_STEP = np.dtype(
    [(name, np.int64) for name in ("contacts", "sweeps", "impacts")]
    + [
        (name, np.float64)
        for name in ("time", "residual", "energy_before", "energy_after", "beyond_cone", "gap", "speed")
    ]
    + [("restitution_share", np.float64)]
    + [("support", np.float64, (3,))]
)
"""Of a step of convex bodies: contacts that it could close; sweeps; islands whose impact a law resolved before; the
time at its end [s]; the residual that the sweeps left, relative to the largest impulse; kinetic energy [J] with the
impulse of gravity and other forces, before and after the impacts; the most friction above what the normal impulse
allows, relative to the largest impulse; the smallest gap of two hulls at its start [m], infinite without any near;
a bound of the speed of the fastest point of a body after it [m/s]; the least share of their restitution that what
was struck had, so that no energy was gained; the force of fixed bodies on those that move [N], world axes."""


class StepLog:
    """Rows of one kind, in the order of time."""

    def __init__(self, rows: NDArray | None = None, kind: np.dtype = STEP) -> None:
        self._rows = np.zeros(1024, kind) if rows is None else rows
        self._count = 0 if rows is None else len(rows)

    @property
    def rows(self) -> NDArray:
        """(steps,) of the kind, a view."""
        return self._rows[: self._count]

    def copy(self) -> "StepLog":
        """The same rows, to which others may be added."""
        return StepLog(self.rows.copy())

    def convergence(self, tolerance: float, step: float) -> str:
        """How well a law of this tolerance has solved steps of this length [s], in a sentence."""
        residual = self.rows["residual"]
        above = int((residual > tolerance).sum())
        said = f"{len(residual)} steps of {step:g} s, {above} of which left more than the law's tolerance"
        return f"{said} of {tolerance:g}, at most {residual.max(initial=0.0):.1g}."

    def add(self, row: NDArray) -> None:
        """Note a step."""
        if self._count == len(self._rows):
            self._rows = np.concatenate([self._rows, np.zeros(max(1024, self._count), self._rows.dtype)])
        self._rows[self._count] = row
        self._count += 1
