"""Bodies that stand still: whether contact forces balance what pulls at them; closing the last small gaps."""

import numpy as np
from numpy.typing import NDArray

from ..collision.pairs import contact_jacobian, distinct_contacts, moving_bodies
from ..event import ContactPatch
from ..state import Array, Model
from ..tolerances import REST_ACCELERATION, REST_SPEED
from .balance import cone_forces

_BEARING_CONTACTS = 8  # of one pair


def spread_contacts(model: Model, patch: ContactPatch) -> NDArray[np.bool_]:
    """Of every pair with many contacts the outermost ones, since more would not bear the load otherwise; in a
    planar scene one of those behind each other."""
    chosen = distinct_contacts(model, patch)
    for pair in np.unique(patch.bodies, axis=0):
        members = np.flatnonzero(chosen & (patch.bodies == pair).all(axis=1))
        if len(members) <= _BEARING_CONTACTS:
            continue
        angles = 2 * np.pi * np.arange(_BEARING_CONTACTS) / _BEARING_CONTACTS
        axes = np.outer(np.cos(angles), patch.tangent[members[0]])
        axes += np.outer(np.sin(angles), patch.tangent2[members[0]])
        chosen[members] = False
        chosen[members[np.argmax(patch.point[members] @ axes.T, axis=0)]] = True
    return chosen


def is_at_rest(
    model: Model, patch: ContactPatch, friction: Array, states: Array, bodies: NDArray[np.int64] | None = None
) -> bool:
    """Whether the bodies that touch at these contacts, or the given ones, stand still, and stay so.

    They do where forces in the friction cones balance what else acts on them. Where other contact forces would set
    the bodies in motion too, which friction can allow, they are taken to stay at rest. Forces that are functions of
    the user may change at any time, so nothing rests under them.
    """
    if bodies is None:
        bodies = moving_bodies(model, patch)
    reach = model.size[bodies]
    speed = np.linalg.norm(states[bodies, 7:10], axis=1)
    speed += reach * np.linalg.norm(states[bodies, 10:13], axis=1)
    if np.any(speed > REST_SPEED) or model.scene.force_functions:
        return False
    bearing = spread_contacts(model, patch)
    jacobian, inverse_mass, _, _ = contact_jacobian(model, patch.chosen(bearing), states, bodies)
    scale = np.stack([np.ones(len(bodies)), reach], axis=1).repeat(3, axis=1).ravel()
    if model.articulation.is_empty:
        pull = np.tile(np.concatenate([model.gravity, np.zeros(3)]), len(bodies))
    else:
        pull = model.articulation.pull(model, bodies, states)
    push = scale[:, None] * (inverse_mass @ jacobian.T)
    left = np.abs(cone_forces(push, -scale * pull, friction[bearing])[1]).max(initial=0.0)
    return bool(left <= REST_ACCELERATION * (float(np.linalg.norm(model.gravity)) or 1.0))


def closed_gaps(model: Model, patch: ContactPatch, closes: NDArray[np.bool_], states: Array) -> Array:
    """States (n, 13) in which the gaps of contacts that `closes` (nc,) marks are closed, and none is negative.

    The shift is the smallest in the kinetic metric; gaps are so small that one linear step closes them.
    """
    jacobian, inverse_mass, _, bodies = contact_jacobian(model, patch, states)
    normals = jacobian[0::3]
    push = normals @ inverse_mass
    closes = closes | (patch.gap < 0.0)
    shift = np.zeros(normals.shape[1])
    while closes.any():
        matrix = normals[closes] @ push[closes].T
        shift = push[closes].T @ np.linalg.lstsq(matrix, -patch.gap[closes], rcond=1e-11)[0]
        pressed = ~closes & (patch.gap + normals @ shift < -1e-3 * float(np.abs(patch.gap).max()))
        if not pressed.any():
            break
        closes = closes | pressed
    result = states.copy()
    for body, moved in zip(bodies, shift.reshape(-1, 6), strict=True):
        result[body, :3] += moved[:3]
        w, x, y, z = states[body, 3:7]
        turn = 0.5 * moved[3:]
        result[body, 3:7] += [
            -x * turn[0] - y * turn[1] - z * turn[2],
            w * turn[0] + turn[1] * z - turn[2] * y,
            w * turn[1] + turn[2] * x - turn[0] * z,
            w * turn[2] + turn[0] * y - turn[1] * x,
        ]
        result[body, 3:7] /= np.linalg.norm(result[body, 3:7])
    return result
