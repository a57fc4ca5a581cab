"""States that a user gives: checked, and packed as the engine keeps them."""

from typing import Any

import numpy as np

from ..bodies import checks
from .state import Array, Model, State, rotation_matrices

_UNIT = 1e-6  # deviation from unit length that a quaternion may have before it is normalised


def packed_state(model: Model, state: Any, now: Array) -> Array:
    """Packed states (n, 13) of a `State`, in which fixed bodies keep what they have `now` (n, 13).

    TypeError or ValueError, naming the field and body, for anything but finite arrays of the scene's number of
    bodies with unit quaternions.
    """
    if not isinstance(state, State):
        raise TypeError(f"state: expected a State, got {type(state).__name__}")
    packed = now.copy()
    orientation = _checked(model, "orientation", state.orientation, 4)
    length = np.linalg.norm(orientation, axis=1)
    for body in np.flatnonzero(model.movable & (np.abs(length - 1.0) > _UNIT)):
        raise ValueError(
            f"orientation: expected unit quaternions, got length {length[body]:.9g} for body {_name(model, body)}"
        )
    which = model.movable
    packed[which, 0:3] = _checked(model, "position", state.position, 3)[which]
    packed[which, 3:7] = orientation[which] / length[which, None]
    packed[which, 7:10] = _checked(model, "velocity", state.velocity, 3)[which]
    spin = _checked(model, "angular_velocity", state.angular_velocity, 3)[which]
    packed[which, 10:13] = np.einsum("nji,nj->ni", rotation_matrices(packed[which, 3:7]), spin)
    return packed


def _checked(model: Model, field: str, value: Any, width: int) -> Array:
    array = checks.numbers(field, value, (model.count, width))
    for body in np.flatnonzero(model.movable & ~np.isfinite(array).all(axis=1)):
        raise ValueError(f"{field}: expected finite numbers, got {array[body]} for body {_name(model, body)}")
    return array


def _name(model: Model, body: Any) -> str:
    return repr(model.scene.bodies[int(body)].name)
