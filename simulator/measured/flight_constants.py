"""Gravity and centre of mass from flights alone: a tracked point circles the centre of mass, which falls."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..ensembles.statistics import Estimate
from .impact_set import BodyParameters
from .measured import Measured
from .robust_fit import CONFIDENCE, robust_fit

Array = NDArray[np.float64]

LONG_ENOUGH = 8
"""Frames of a flight that bends enough to tell of gravity."""


def flight_constants(
    motions: Sequence[Measured], parameters: BodyParameters, with_center: bool, seed: int
) -> tuple[Array, int, dict[str, Estimate]]:
    """Gravity (3,) [m/s²] that flights fall with, how many flights told it, and it and, if asked for, the
    centre of mass [m] with their intervals.

    In a flight p = s + v t + ½ g t² - R c, with the tracked point p and rotation R measured: linear in all
    unknowns, of which s and v of each flight are projected out.
    """
    rows, sides, groups, count = [], [], [], 0
    for number, motion in enumerate(motions):
        motion = motion.of_body(parameters.center_of_mass, parameters.gyration)
        for flight in motion.flights:
            if flight.count < LONG_ENOUGH:
                continue
            count += 1
            frames = slice(flight.first, flight.last + 1)
            t = motion.time[frames] - flight.time
            design = np.column_stack([np.ones_like(t), t])
            outside = np.eye(len(t)) - design @ np.linalg.pinv(design)
            for axis in range(3):
                gravity = np.zeros((len(t), 3))
                gravity[:, axis] = 0.5 * t**2
                rows.append(outside @ np.column_stack([gravity, -motion.rotation[frames, axis]]))
                sides.append(outside @ motion.position[frames, axis])
                groups.append(np.full(len(t), number))
    if not count:
        raise ValueError(
            f"measured: expected flights of at least {LONG_ENOUGH} frames, which tell of gravity, got none in "
            f"{len(motions)} motions"
        )
    known = np.concatenate([np.zeros(3), parameters.center_of_mass])
    matrix, side, group = np.concatenate(rows), np.concatenate(sides), np.concatenate(groups)
    unknown = 6 if with_center else 3
    scale = np.array([1.0, 1.0, 1.0, 1e-2, 1e-2, 1e-2])[:unknown]

    def residual(x: Array) -> Array:
        full = known.copy()
        full[:unknown] = x
        return (matrix @ full - side)[:, None]

    start = np.concatenate([motions[0].gravity, parameters.center_of_mass])[:unknown]
    bounds = np.column_stack([start - 1e3 * scale, start + 1e3 * scale])
    softness = 2.0 * float(np.median([motion.frame_noise[0] for motion in motions]))
    fit = robust_fit(residual, start, scale, bounds, softness, group, seed)
    names = [f"{what}.{axis}" for what in ("gravity", "center_of_mass") for axis in "xyz"][:unknown]
    ends = fit.interval()
    found = {
        name: Estimate(float(value), float(low), float(high), CONFIDENCE)
        for name, value, (low, high) in zip(names, fit.value, ends, strict=True)
    }
    return fit.value[:3], count, found
