"""Friction of sliding: how fast a body loses speed that lies on a face and does not turn."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..ensembles.statistics import Estimate
from .measured import Measured
from .robust_fit import median_estimate

Array = NDArray[np.float64]

FRAMES = 8
"""Frames of a stretch of sliding."""
SLOWEST = 0.1
"""[m/s] of the speed at its end: slower bodies stop within it."""
LEVEL = 0.03
"""[m/s] of the normal velocity, and of the bounding speed of turning times 0.1 m, up to which a body slides
only."""
TURNING = 0.5
"""[rad/s] of spin, up to which a body slides without turning."""


def sliding_friction(motions: Sequence[Measured], normal: Any, seed: int) -> tuple[Estimate, str]:
    """Friction of sliding, median of all stretches, with an interval over motions; and what it is from.

    Raises ValueError where no body slides.
    """
    up = np.asarray(normal, dtype=float) / np.linalg.norm(normal)
    values: list[float] = []
    groups: list[int] = []
    for number, motion in enumerate(motions):
        flown = np.zeros(len(motion.time), dtype=bool)
        for flight in motion.flights:
            flown[flight.first : flight.last + 1] = True
        first = 0
        while first + FRAMES <= len(motion.time):
            frames = slice(first, first + FRAMES)
            friction = None if flown[frames].any() else _deceleration(motion, frames, up)
            if friction is None:
                first += 1
                continue
            values.append(friction)
            groups.append(number)
            first += FRAMES
    if not values:
        raise ValueError(
            f"free: the data do not determine sliding_friction: no motion slides for {FRAMES} frames on a face"
        )
    known = median_estimate(np.array(values), np.array(groups), seed)
    return known, f"{len(values)} stretches of {FRAMES} frames in {len(set(groups))} motions"


def _deceleration(motion: Measured, frames: slice, up: Array) -> float | None:
    """Deceleration along the way over gravity, None where the body does more than slide, or stops."""
    t = motion.time[frames] - motion.time[frames].mean()
    places = motion.center[frames]
    path = np.polynomial.polynomial.polyfit(t, places, 2)
    turned = np.linalg.norm(motion.rotation[frames][-1] - motion.rotation[frames][0]) / np.sqrt(2.0)
    if turned > TURNING * (t[-1] - t[0]) or abs(path[1] @ up) > LEVEL:
        return None
    along = path[1] - (path[1] @ up) * up
    last = along + 2.0 * t[-1] * (path[2] - (path[2] @ up) * up)
    speed = float(np.linalg.norm(along))
    if float(last @ along) < SLOWEST * speed:
        return None
    return float(-2.0 * path[2] @ along / speed / np.linalg.norm(motion.gravity))
