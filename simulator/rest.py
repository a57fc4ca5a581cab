"""Bodies that stand still: whether contact forces can balance what pulls at them, and their last small shift.

Nothing here is compiled: a body comes to rest once, and the kernels of lasting motion need seconds to compile.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from .collision import contact_jacobian
from .event import ContactPatch
from .state import Array, Model
from .tolerances import REST_ACCELERATION, REST_SPEED

_CONE_EDGES = 8
_BEARING_CONTACTS = 8  # of one pair


def spread_contacts(patch: ContactPatch) -> NDArray[np.bool_]:
    """Of every pair with many contacts the outermost ones, since more would not bear the load otherwise."""
    chosen = np.ones(len(patch), dtype=bool)
    for pair in np.unique(patch.bodies, axis=0):
        members = np.flatnonzero((patch.bodies == pair).all(axis=1))
        if len(members) <= _BEARING_CONTACTS:
            continue
        angles = 2 * np.pi * np.arange(_BEARING_CONTACTS) / _BEARING_CONTACTS
        axes = np.outer(np.cos(angles), patch.tangent[members[0]])
        axes += np.outer(np.sin(angles), patch.tangent2[members[0]])
        chosen[members] = False
        chosen[members[np.argmax(patch.point[members] @ axes.T, axis=0)]] = True
    return chosen


def is_at_rest(model: Model, patch: ContactPatch, friction: Array, states: Array) -> bool:
    """Whether the bodies that touch at these contacts stand still, and stay so.

    They do where forces in the friction cones (here pyramids inside them) balance gravity: non-negative least
    squares over the edges of the cones finds the smallest acceleration that forces can leave. Where other
    contact forces would set the bodies in motion too, which friction can allow, they are taken to stay at rest.
    """
    bodies = np.unique(patch.bodies)
    bodies = bodies[model.movable[bodies]]
    reach = model.size[bodies]
    speed = np.linalg.norm(states[bodies, 7:10], axis=1)
    speed += reach * np.linalg.norm(states[bodies, 10:13], axis=1)
    if np.any(speed > REST_SPEED):
        return False
    bearing = spread_contacts(patch)
    jacobian, inverse_mass, _, _ = contact_jacobian(model, patch.chosen(bearing), states)
    angles = 2 * np.pi * np.arange(_CONE_EDGES) / _CONE_EDGES
    edges = np.stack([np.ones(_CONE_EDGES), np.cos(angles), np.sin(angles)])
    scaled = edges[None] * np.stack([np.ones(len(bearing)), friction, friction], axis=1)[bearing][..., None]
    forces = np.einsum("cke,ckj->ecj", scaled, jacobian.reshape(-1, 3, jacobian.shape[1]))
    scale = np.stack([np.ones(len(bodies)), reach], axis=1).repeat(3, axis=1).ravel()
    pull = np.tile(np.concatenate([model.gravity, np.zeros(3)]), len(bodies))
    push = scale[:, None] * (inverse_mass @ forces.reshape(-1, len(scale)).T)
    sizes = np.linalg.norm(push, axis=0)  # of bodies very unlike in mass
    push /= np.where(sizes > 0.0, sizes, 1.0)
    weights, _ = nnls(push, -scale * pull)
    left = np.abs(scale * pull + push @ weights).max(initial=0.0)
    return bool(left <= REST_ACCELERATION * (float(np.linalg.norm(model.gravity)) or 1.0))


def stood_still(model: Model, patch: ContactPatch, states: Array) -> Array:
    """States (n, 13) in which the bodies of a patch have no velocity and its gaps, if any are left, are closed.

    The shift is the smallest in the kinetic metric; gaps are so small that one linear step closes them.
    """
    result = states.copy()
    jacobian, inverse_mass, _, bodies = contact_jacobian(model, patch, states)
    normals = jacobian[0::3]
    push = normals @ inverse_mass
    impulse = np.linalg.lstsq(normals @ push.T, -patch.gap, rcond=1e-11)[0]
    for body, shift in zip(bodies, (push.T @ impulse).reshape(-1, 6), strict=True):
        result[body, :3] += shift[:3]
        w, x, y, z = result[body, 3:7]
        turn = 0.5 * shift[3:]
        result[body, 3:7] += [
            -x * turn[0] - y * turn[1] - z * turn[2],
            w * turn[0] + turn[1] * z - turn[2] * y,
            w * turn[1] + turn[2] * x - turn[0] * z,
            w * turn[2] + turn[0] * y - turn[1] * x,
        ]
        result[body, 3:7] /= np.linalg.norm(result[body, 3:7])
        result[body, 7:13] = 0.0
    return result
