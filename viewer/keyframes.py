"""Few exact states of each body between which its motion is interpolated, never across an impact.

Between two keys the place is the cubic with the places and velocities of both. The orientation is
exp(r(s)) exp(s h w0) q0, the spin of the first key continued and corrected by a cubic r that ends in the
orientation and spin of the second, so that steady spin is exact at any rate. Both are exact in free flight of
a sphere. Where a velocity jumps there are two keys of one time: before and after.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import Any

import numpy as np

from .stage import event_table

SAMPLES = 600  # of the motion, besides all events, at which the interpolation is checked
TIMES_AT_ONCE = 1000
PLACE_TOLERANCE = 5e-4  # of the body's radius
TURN_TOLERANCE = 2e-3  # rad
JUMP = 1e-9  # of the largest speed; less is no jump


@dataclass(frozen=True)
class Keys:
    """States of one body: sample (k,) indices of times, place, velocity, spin (k, 3), orientation (k, 4)."""

    sample: np.ndarray
    place: np.ndarray
    velocity: np.ndarray
    orientation: np.ndarray
    spin: np.ndarray

    def __len__(self) -> int:
        return len(self.sample)

    def chosen(self, which: Any) -> "Keys":
        """The keys that an index array selects."""
        return Keys(
            self.sample[which],
            self.place[which],
            self.velocity[which],
            self.orientation[which],
            self.spin[which],
        )


@dataclass(frozen=True)
class Motion:
    """The keys of every body and the times [s] their `sample` refers to."""

    times: np.ndarray
    bodies: list[Keys]


@dataclass(frozen=True)
class States:
    """States of all n bodies at T times: position, velocity, angular_velocity (T, n, 3), orientation (T, n, 4)."""

    position: np.ndarray
    velocity: np.ndarray
    orientation: np.ndarray
    angular_velocity: np.ndarray


def sample_states(
    trajectory: Any, times: np.ndarray, side: str = "right", show: Callable[[float], None] | None = None
) -> States:
    """Sample a trajectory at times (T,) [s], in parts; `show` is told which share is done."""
    parts = []
    for first in range(0, len(times), TIMES_AT_ONCE):
        parts.append(trajectory.sample(times[first : first + TIMES_AT_ONCE], side=side))
        if show is not None:
            show(min((first + TIMES_AT_ONCE) / len(times), 1.0))
    return States(
        *(np.concatenate([getattr(part, field.name) for part in parts]) for field in fields(States))
    )


def motion_keys(
    trajectory: Any,
    start: float,
    end: float,
    radius: np.ndarray,
    show: Callable[[float], None] | None = None,
) -> Motion:
    """Choose keys of a trajectory between two times [s].

    `radius` (n,) [m] of the bodies sets the tolerance; `show` is told which share is done.
    """
    show = show or (lambda share: None)
    events, _ = event_table(trajectory)
    events = events[(start <= events) & (events <= end)]
    times = np.unique(np.concatenate([np.linspace(start, end, SAMPLES + 1), events]))
    instants = np.unique(events)
    after = sample_states(trajectory, times, show=lambda share: show(0.4 * share))
    before = None
    if len(instants):
        before = sample_states(trajectory, instants, "left", lambda share: show(0.4 + 0.2 * share))
    at_event = np.searchsorted(times, instants)
    bodies = []
    count = len(trajectory.scene.bodies)
    for body in range(count):
        show(0.6 + 0.4 * body / count)
        right = _keys_of(after, body, np.arange(len(times)))
        if before is None:
            bodies.append(right.chosen(_fitted(right, times, [], float(radius[body]))))
            continue
        left = _keys_of(before, body, at_event)
        jumps = np.flatnonzero(_jumps(left, right.chosen(at_event)))
        both = _with_jumps(left.chosen(jumps), right, at_event[jumps])
        breaks = (at_event[jumps] + np.arange(len(jumps))).tolist()
        bodies.append(both.chosen(_fitted(both, times, breaks, float(radius[body]))))
    return Motion(times, bodies)


def interpolate(
    first: Keys, second: Keys, times: np.ndarray, at: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Places (n, 3) and orientations (n, 4) at times `at` (n,) between keys, n of each, or one for all."""
    begin = times[first.sample]
    span = times[second.sample] - begin
    s = ((at - begin) / span)[:, None]
    span = span[:, None]
    place = (
        (1 + 2 * s) * (1 - s) ** 2 * first.place
        + s * (1 - s) ** 2 * span * first.velocity
        + s * s * (3 - 2 * s) * second.place
        + s * s * (s - 1) * span * second.velocity
    )
    steady = span * first.spin
    rest = _vector_of(
        _product(second.orientation, _conjugate(_product(_quaternion_of(steady), first.orientation)))
    )
    excess = span * second.spin - _turned(_quaternion_of(rest), steady)
    slope = excess - np.cross(rest, excess) / 2
    correction = (3 * rest - slope) * s**2 + (slope - 2 * rest) * s**3
    turned = _product(_quaternion_of(s * steady), first.orientation)
    return place, _product(_quaternion_of(correction), turned)


def _keys_of(state: Any, body: int, sample: np.ndarray) -> Keys:
    return Keys(
        sample,
        state.position[:, body],
        state.velocity[:, body],
        state.orientation[:, body],
        state.angular_velocity[:, body],
    )


def _jumps(left: Keys, right: Keys) -> np.ndarray:
    """Whether the motion jumps, (n,), between its states just before and just after instants."""

    def differs(one: np.ndarray, other: np.ndarray) -> np.ndarray:
        size = max(np.abs(one).max(initial=0), np.abs(other).max(initial=0))
        return np.abs(one - other).max(axis=1) > JUMP * size

    return (
        differs(left.velocity, right.velocity)
        | differs(left.spin, right.spin)
        | differs(left.place, right.place)
    )


def _with_jumps(left: Keys, right: Keys, samples: np.ndarray) -> Keys:
    """All states in order of time, those before jumps in front of those after."""

    def inserted(name: str) -> np.ndarray:
        return np.insert(getattr(right, name), samples, getattr(left, name), axis=0)

    return Keys(*(inserted(name) for name in ("sample", "place", "velocity", "orientation", "spin")))


def _fitted(keys: Keys, times: np.ndarray, breaks: list[int], radius: float) -> np.ndarray:
    """The indices of the keys to keep: `breaks`, what follows each, and as many more as the tolerances need."""
    kept = {0, len(keys) - 1, *breaks, *(index + 1 for index in breaks)}
    spans = np.array(list(pairwise(sorted(kept)))).reshape(-1, 2)
    spans = spans[np.diff(spans)[:, 0] > 1]
    while len(spans):
        low, high = spans[_out_of_tolerance(keys, times, spans, radius)].T
        middle = (low + high) // 2
        kept.update(middle.tolist())
        spans = np.concatenate([np.stack([low, middle], axis=1), np.stack([middle, high], axis=1)])
        spans = spans[np.diff(spans)[:, 0] > 1]
    return np.array(sorted(kept))


def _out_of_tolerance(keys: Keys, times: np.ndarray, spans: np.ndarray, radius: float) -> np.ndarray:
    """Whether interpolation between the keys (low, high) of each span (n, 2) misses a state between, (n,)."""
    counts = np.diff(spans)[:, 0] - 1
    span = np.repeat(np.arange(len(spans)), counts)
    inner = spans[span, 0] + 1 + np.arange(len(span)) - (np.cumsum(counts) - counts)[span]
    exact = keys.chosen(inner)
    ends = keys.chosen(spans[span, 0]), keys.chosen(spans[span, 1])
    place, orientation = interpolate(*ends, times, times[exact.sample])
    agreement = np.abs(np.einsum("ni,ni->n", orientation, exact.orientation))
    wrong = np.abs(place - exact.place).max(axis=1) > PLACE_TOLERANCE * radius
    wrong |= agreement < np.cos(TURN_TOLERANCE / 2)
    return np.bincount(span, wrong, minlength=len(spans)) > 0


# -- quaternions (n, 4), (w, x, y, z), and rotation vectors (n, 3) [rad] --------------------------------------


def _product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    scalar = a[:, :1] * b[:, :1] - np.einsum("ni,ni->n", *np.broadcast_arrays(a[:, 1:], b[:, 1:]))[:, None]
    vector = a[:, :1] * b[:, 1:] + b[:, :1] * a[:, 1:] + np.cross(a[:, 1:], b[:, 1:])
    return np.concatenate([scalar, vector], axis=1)


def _conjugate(q: np.ndarray) -> np.ndarray:
    return q * np.array([1.0, -1.0, -1.0, -1.0])


def _quaternion_of(vector: np.ndarray) -> np.ndarray:
    angle = np.linalg.norm(vector, axis=1, keepdims=True)
    return np.concatenate([np.cos(angle / 2), np.sinc(angle / (2 * np.pi)) / 2 * vector], axis=1)


def _vector_of(q: np.ndarray) -> np.ndarray:
    q = np.where(q[:, :1] < 0, -q, q)
    sine = np.linalg.norm(q[:, 1:], axis=1, keepdims=True)
    angle = 2 * np.arctan2(sine, q[:, :1])
    return np.where(sine > 1e-12, angle / np.maximum(sine, 1e-300), 2.0) * q[:, 1:]


def _turned(q: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """Vectors (n, 3) turned by quaternions."""
    across = 2 * np.cross(q[:, 1:], vector)
    return vector + q[:, :1] * across + np.cross(q[:, 1:], across)
