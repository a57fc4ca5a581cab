"""Infinitely many impacts: telling that bounces accumulate, and when the rest of them ends."""

from collections import deque

import numpy as np

from .. import kernels
from ..state import Array
from ..tolerances import ACCUMULATION_EXCURSION, ACCUMULATION_IMPACTS

Past = deque[tuple[float, Array]]
"""Times [s] of the last impacts of one pair, and where they were, in the axes of its first body."""


def repeats(past: Past) -> bool:
    """Whether enough impacts followed each other to tell how they go on, not all at one time."""
    return len(past) > ACCUMULATION_IMPACTS and past[-1][0] > past[0][0]


def end_of_bounces(past: Past, size: float) -> tuple[float, float]:
    """Speed at most which bounces stay below ACCUMULATION_EXCURSION times a size, and how long [s] the rest lasts.

    Bounces whose intervals shrink by the ratio r end after d r/(1 - r), d being the last interval.
    """
    intervals = np.diff(np.array([when for when, _ in past]))
    limit = 8 * ACCUMULATION_EXCURSION * size / intervals.max()
    ratio = intervals[-1] / max(intervals[-2], 1e-300)
    earlier = intervals[-2] / max(intervals[-3], 1e-300)
    shrinks = ratio < 1.0 and abs(ratio - earlier) <= 1e-3 * ratio
    return limit, float(intervals[-1] * ratio / (1.0 - ratio)) if shrinks else 0.0


def in_body_axes(body: int, points: Array, states: Array) -> Array:
    """Points (k, 3) of the world in the axes of a body."""
    return (points - states[body, :3]) @ kernels.rotation_matrix(states[body, 3:7])


def normal_speed(pair: tuple[int, int], points: Array, normal: Array, states: Array) -> float:
    """Fastest relative motion along the normal of points in the axes of the first body [m/s]."""
    where, speeds = kernels.place_points(states[pair[0]], points)
    second = states[pair[1]]
    turning = kernels.rotation_matrix(second[3:7]) @ second[10:13]
    speeds = speeds - second[7:10] - np.cross(turning, where - second[:3])
    return float(np.abs(speeds @ normal).max())
