"""Whether bodies in free flight stay apart for all time, so that nothing will happen any more."""

import numpy as np

from .state import Array
from .world import World


def all_stay_apart(world: World) -> bool:
    """Whether all bodies can be seen to stay apart from now on, each in free flight."""
    model = world.model
    moving = np.flatnonzero(model.movable)
    if (world.motions["island"][moving] >= 0).any():
        return False
    states, size, collides = world.states_at(float(world.header["time"])), model.size, model.scene.collides
    planes = [(k, plane) for k, plane in enumerate(model.planes) if plane is not None]
    solid = np.array([plane is None for plane in model.planes])
    for body in moving.tolist():
        for k, plane in planes:
            if collides(body, k) and not _leaves(states[body], size[body], model.gravity, *plane):
                return False
        others = np.flatnonzero(solid & ((np.arange(model.count) > body) | ~model.movable))
        apart, relative = states[body, :3] - states[others, :3], states[body, 7:10] - states[others, 7:10]
        closing, square = (apart * relative).sum(axis=1), (relative * relative).sum(axis=1)
        still = square == 0.0
        when = np.where(still, 0.0, np.maximum(0.0, -closing) / np.where(still, 1.0, square))
        may_meet = np.linalg.norm(apart + when[:, None] * relative, axis=1) <= size[body] + size[others]
        if model.gravity.any():
            may_meet |= ~model.movable[others]
        if any(collides(body, other) for other in others[may_meet].tolist()):
            return False
    return True


def _leaves(state: Array, size: float, pull: Array, normal: Array, offset: float) -> bool:
    """Whether a bounding sphere in free flight stays off a half-space for all time."""
    gap = float(normal @ state[:3]) - offset - size
    return _stays_positive(gap, float(normal @ state[7:10]), 0.5 * float(normal @ pull))


def _stays_positive(value: float, rate: float, half_curvature: float) -> bool:
    """Whether value + rate t + half_curvature t^2 > 0 for all t >= 0."""
    if value <= 0.0 or half_curvature < 0.0 or (half_curvature == 0.0 and rate < 0.0):
        return False
    return rate >= 0.0 or rate * rate < 4.0 * half_curvature * value
