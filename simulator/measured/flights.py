"""Runs of frames that move as a free body: ballistic centre of mass, rotation without torque.

A frame belongs to a flight as long as the frames before it foretell it within noise. A kink of velocity ends
the flight even between two frames, since frames are known a hundred times better than the way between them is
long.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from .tracking import rotation_of, vector_of

Array = NDArray[np.float64]

FEWEST = 4
"""Frames of a flight. Fewer: three, which leave one measurement over in each coordinate, are free by
chance."""
LOOKED_BACK = 10
"""Frames from which the next is foretold. More: slow errors of tracking count as kinks. Fewer: small kinks
pass."""
SURPRISE = 5.0
"""Standard deviations by which a frame of the same flight may be off what is foretold."""
ROUGH = 1.6
"""Root mean square misfit, in standard deviations, with which the first frames of a flight are ballistic."""
SLOW = 2.5
"""Of the frame noise: tracking also has errors that last for some frames."""


@dataclass(frozen=True, eq=False)
class Flight:
    """A flight from frame `first` to frame `last`, and its state at one time, fitted to all of its frames.

    time [s]; position (3,) [m] of the centre of mass; velocity (3,) [m/s]; rotation (3, 3) from body to
    world; angular_velocity (3,) [rad/s], world. misfit : root mean square of the residuals, of places [m] and
    turning [rad].
    """

    first: int
    last: int
    time: float
    position: Array
    velocity: Array
    rotation: Array
    angular_velocity: Array
    misfit: tuple[float, float]

    @property
    def count(self) -> int:
        """Number of frames."""
        return self.last - self.first + 1


def turning_rates(rotation: Array, spin: Array, gyration: Array) -> tuple[Array, Array]:
    """World angular acceleration (3,) [rad/s²] without torque (Euler), and its rate of change (3,) [rad/s³];
    gyration (3, 3) [m²] in body axes."""
    body = rotation.T @ spin
    rate = np.linalg.solve(gyration, np.cross(gyration @ body, body))
    change = np.linalg.solve(gyration, np.cross(gyration @ rate, body) + np.cross(gyration @ body, rate))
    acceleration = rotation @ rate
    return acceleration, np.cross(spin, acceleration) + rotation @ change


def turned_by(spin: Array, rates: tuple[Array, Array], after: Array) -> Array:
    """Rotation vectors (n, 3) [rad] by which a body turns in times (n,) [s] from spin (3,) and its
    `turning_rates`.

    The series of Magnus to third order in time; what is left out is below 1e-4 rad for a fifteenth of a turn
    and moments within a fifth of each other.
    """
    t = np.asarray(after)[:, None]
    acceleration, change = rates
    cubic = change / 6.0 - np.cross(spin, acceleration) / 12.0
    return spin * t + 0.5 * acceleration * t**2 + cubic * t**3


@lru_cache(maxsize=4096)
def _line(count: int, ahead: int) -> tuple[Array, Array, float]:
    """Pseudo-inverse (2, count) of a line through frames -count+1..0, the line's design, and by how much what
    it foretells `ahead` frames on, against the frame there, spreads more than a frame."""
    times = np.arange(count) - (count - 1.0)
    design = np.column_stack([np.ones(count), times])
    at = np.array([1.0, float(ahead)])
    return np.linalg.pinv(design), design, float(np.sqrt(1.0 + at @ np.linalg.inv(design.T @ design) @ at))


def _foretold(
    center: Array,
    rotation: Array,
    start: int,
    stop: int,
    fall: Array,
    gyration: Array,
    noise: tuple[float, float],
) -> tuple[float, float]:
    """How far frame `stop` is off what frames start..stop-1 foretell, and their own misfit, in standard
    deviations; time is in frames. Without a frame at `stop`, infinity."""
    count = stop - start
    inverse, design, spread = _line(count, 1)
    times = design[:, 1:]
    free = center[start:stop] - 0.5 * times**2 * fall
    line = inverse @ free
    last = rotation[stop - 1]
    turned = vector_of(rotation[start:stop] @ last.T)
    spin = (inverse @ turned)[1]
    curve = 0.5 * turning_rates(last, spin, gyration)[0] * times**2
    turn = inverse @ (turned - curve)
    rough = np.concatenate([(free - design @ line) / noise[0], (turned - curve - design @ turn) / noise[1]])
    misfit = float(np.sqrt(6.0 * np.mean(rough**2) * count / (6.0 * count - 12.0)))
    if stop >= len(center):
        return np.inf, misfit
    place = center[stop] - 0.5 * fall - line.sum(axis=0)
    angle = vector_of((rotation[stop] @ last.T)[None])[0] - 0.5 * turning_rates(last, turn[1], gyration)[0]
    off = np.concatenate([place / noise[0], (angle - turn.sum(axis=0)) / noise[1]])
    return float(np.abs(off).max()) / spread, misfit


def flights_of(
    time: Array,
    center: Array,
    rotation: Array,
    gravity: Array,
    gyration: Array,
    frame_noise: tuple[float, float],
) -> list[Flight]:
    """All flights of a motion: time (n,) [s], evenly spaced, places of the centre of mass (n, 3) [m],
    rotations (n, 3, 3), gravity (3,), inertia over mass (3, 3), and noise of a frame [m], [rad]."""
    interval = float((time[-1] - time[0]) / (len(time) - 1))
    fall = np.asarray(gravity) * interval**2
    noise = SLOW * frame_noise[0], SLOW * frame_noise[1]
    found, start = [], 0
    while start + FEWEST <= len(time):
        stop = start + FEWEST
        off, misfit = _foretold(center, rotation, start, stop, fall, gyration, noise)
        if misfit > ROUGH:
            start += 1
            continue
        while off <= SURPRISE:
            stop += 1
            off, _ = _foretold(center, rotation, max(start, stop - LOOKED_BACK), stop, fall, gyration, noise)
        found.append(fit_flight(time, center, rotation, gravity, gyration, start, stop - 1))
        start = stop
    return found


def fit_flight(
    time: Array, center: Array, rotation: Array, gravity: Array, gyration: Array, first: int, last: int
) -> Flight:
    """The flight of frames first..last, with its state at their middle."""
    frames = slice(first, last + 1)
    middle = 0.5 * (time[first] + time[last])
    after = time[frames] - middle
    design = np.column_stack([np.ones_like(after), after])
    free = center[frames] - 0.5 * after[:, None] ** 2 * gravity
    path = np.linalg.lstsq(design, free, rcond=None)[0]
    base, spin = rotation[(first + last) // 2], np.zeros(3)
    for _ in range(3):
        turn = rotation_of(turned_by(spin, turning_rates(base, spin, gyration), after)) @ base
        left = vector_of(rotation[frames] @ turn.transpose(0, 2, 1))
        step = np.linalg.lstsq(design, left, rcond=None)[0]
        base, spin = rotation_of(step[:1])[0] @ base, spin + step[1]
    turn = rotation_of(turned_by(spin, turning_rates(base, spin, gyration), after)) @ base
    left = vector_of(rotation[frames] @ turn.transpose(0, 2, 1))
    misfit = (
        float(np.sqrt(np.mean((free - design @ path) ** 2))),
        float(np.sqrt(np.mean(left**2))),
    )
    return Flight(first, last, float(middle), path[0], path[1], base, spin, misfit)
