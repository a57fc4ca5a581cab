"""Impacts of a measured motion: two flights that meet at one place and orientation, and the kink between
them.

Both flights and the moment at which they meet are fitted together, so that their frames tell place,
orientation and time of the impact as well as the velocities before and after it.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from .flights import SLOW, Flight, turned_by, turning_rates
from .tracking import rotation_of, vector_of

if TYPE_CHECKING:
    from .measured import Measured

Array = NDArray[np.float64]
Frames = NDArray[np.intp]

LONGEST = 8
"""Frames of a flight that count for its velocity at an impact. More: slow errors of tracking. Fewer:
noise."""
BETWEEN = 1
"""Frames that may lie in neither flight: an impact lasts a few milliseconds. More: two impacts count as
one."""
BEYOND = 0.3
"""Of a frame, by which the meeting may lie outside the gap between the flights."""
MISFIT = 2.0
"""Root mean square residual, in standard deviations of a frame, up to which an impact is clean."""
_LOOKS = 9


@dataclass(frozen=True, eq=False)
class MeasuredImpact:
    """An impact: what a body did just before and just after, by the frames on both sides.

    time [s]; position (3,) [m] of the centre of mass and rotation (3, 3) at it; velocity (2, 3) [m/s] and
    angular_velocity (2, 3) [rad/s], world, before and after; velocity_error and angular_velocity_error (2,):
    standard deviations of each of their components, by the residuals; misfit [1]: root mean square residual
    of all frames, in standard deviations of a frame; frames (2,): how many were used before and after. An
    impact that is not `clean` says `why`: what lies between its flights is more than one kink.
    """

    time: float
    position: Array
    rotation: Array
    velocity: Array
    angular_velocity: Array
    velocity_error: Array
    angular_velocity_error: Array
    misfit: float
    frames: tuple[int, int]
    between: int
    clean: bool
    why: str = ""


@dataclass(frozen=True, eq=False)
class _Meeting:
    """Both flights fitted to meet at a time."""

    chi_squared: float
    place: Array
    velocity: Array
    rotation: Array
    spin: Array
    spread: Array


def impacts_of(measured: "Measured") -> list[MeasuredImpact]:
    """The impacts between neighbouring flights with at most `BETWEEN` frames between them, in order."""
    return [
        _impact(measured, before, after)
        for before, after in pairwise(measured.flights)
        if after.first - before.last - 1 <= BETWEEN
    ]


def _impact(measured: "Measured", before: Flight, after: Flight) -> MeasuredImpact:
    early = np.arange(max(before.first, before.last - LONGEST + 1), before.last + 1)
    late = np.arange(after.first, min(after.last, after.first + LONGEST - 1) + 1)
    noise = SLOW * np.array(measured.frame_noise)
    start = measured.rotation[before.last], np.array([before.angular_velocity, after.angular_velocity])

    def met(moment: float) -> _Meeting:
        return _meeting(measured, early, late, moment, *start, noise)

    margin = BEYOND * measured.interval
    looks = np.linspace(measured.time[before.last] - margin, measured.time[after.first] + margin, _LOOKS)
    best = int(np.argmin([met(float(moment)).chi_squared for moment in looks]))
    low, high = looks[max(best - 1, 0)], looks[min(best + 1, _LOOKS - 1)]
    found = minimize_scalar(
        lambda moment: met(moment).chi_squared, bounds=(low, high), method="bounded",
        options={"xatol": 1e-5 * measured.interval},
    )  # fmt: skip
    meeting = met(float(found.x))
    freedom = 6 * (len(early) + len(late)) - 19
    misfit = float(np.sqrt(meeting.chi_squared / freedom))
    errors = np.sqrt(np.diag(meeting.spread)[1:]) * max(misfit, 1.0 / SLOW)
    clean = misfit <= MISFIT
    return MeasuredImpact(
        float(found.x), meeting.place, meeting.rotation, meeting.velocity, meeting.spin,
        errors * noise[0], errors * noise[1], misfit, (len(early), len(late)),
        after.first - before.last - 1, clean,
        "" if clean else f"no single kink explains its frames: they are {misfit:.1f} standard deviations off",
    )  # fmt: skip


def _meeting(
    measured: "Measured",
    early: Frames,
    late: Frames,
    moment: float,
    rotation: Array,
    spin: Array,
    noise: Array,
) -> _Meeting:
    frames = np.concatenate([early, late])
    after = measured.time[frames] - moment
    second = np.arange(len(frames)) >= len(early)
    design = np.column_stack(
        [np.ones(len(frames)), np.where(second, 0.0, after), np.where(second, after, 0.0)]
    )
    free = measured.center[frames] - 0.5 * after[:, None] ** 2 * measured.gravity
    spread = np.linalg.inv(design.T @ design)
    fitted = spread @ design.T
    path = fitted @ free
    gyration = measured.gyration_matrix
    seen = measured.rotation[frames]
    left = np.zeros((len(frames), 3))
    for step in range(4):
        rates = [turning_rates(rotation, rate, gyration) for rate in spin]
        turn = np.where(
            second[:, None], turned_by(spin[1], rates[1], after), turned_by(spin[0], rates[0], after)
        )
        left = vector_of(seen @ (rotation_of(turn) @ rotation).transpose(0, 2, 1))
        if step == 3:
            break
        better = fitted @ left
        rotation, spin = rotation_of(better[:1])[0] @ rotation, spin + better[1:]
    squares = np.sum(((free - design @ path) / noise[0]) ** 2) + np.sum((left / noise[1]) ** 2)
    return _Meeting(float(squares), path[0], path[1:], rotation, spin, spread)
