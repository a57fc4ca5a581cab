"""Forces in friction cones that together do what is asked, where many do or none: non-negative least squares.

Nothing here is compiled: it serves rare questions, and the kernels of lasting motion need seconds to compile.
"""

import numpy as np
from scipy.optimize import nnls

from ..state import Array
from ..tolerances import BALANCE_FOUND, BALANCE_WORTH

_CONE_EDGES = 8
_ROUNDS = 30


def cone_forces(
    push: Array, target: Array, friction: Array, slip: Array | None = None
) -> tuple[Array, Array]:
    """Contact forces (nc, 3) whose effect comes nearest to a target, and what is left of it.

    push : (rows, 3 nc), effect of a unit force along each normal, tangent and tangent2; target : (rows,)
    friction : (nc,); slip : (nc, 2), unit directions of contacts that slide, against which friction is full, or
    zero where friction may be anything in the cone

    The cones are spanned by edges, to which every round adds those that would diminish the rest most, so the
    answer is that of the round cones.
    """
    nc = len(friction)
    if nc == 0:
        return np.zeros((0, 3)), target
    blocks = push.T.reshape(nc, 3, -1)
    slides = np.zeros(nc, dtype=bool) if slip is None else slip.any(axis=1)
    sticky = np.flatnonzero(~slides & (friction > 0.0))
    directions = np.zeros((nc, 3))
    directions[:, 0] = 1.0
    if slip is not None:
        directions[:, 1:] = -friction[:, None] * slip
    single = np.flatnonzero(slides | (friction == 0.0))
    angles = 2 * np.pi * np.arange(_CONE_EDGES) / _CONE_EDGES
    around = np.stack([np.ones(_CONE_EDGES), np.cos(angles), np.sin(angles)], axis=1)
    owner = np.concatenate([single, np.repeat(sticky, _CONE_EDGES)])
    edges = np.concatenate([directions[single], np.tile(around, (len(sticky), 1))])
    edges[len(single) :, 1:] *= friction[owner[len(single) :], None]
    enough = BALANCE_FOUND * float(np.linalg.norm(target))
    before = np.inf
    for _ in range(_ROUNDS):
        effects = np.einsum("ei,eir->re", edges, blocks[owner])
        sizes = np.linalg.norm(effects, axis=0)  # of bodies very unlike in mass
        sizes[sizes == 0.0] = 1.0
        weights = nnls(effects / sizes, target)[0] / sizes
        left = target - effects @ weights
        slope = blocks[sticky] @ left
        across = np.linalg.norm(slope[:, 1:], axis=1)
        gain = slope[:, 0] + friction[sticky] * across
        better = np.flatnonzero((gain > 0.0) & (across > 0.0))
        size = float(np.linalg.norm(left))
        if size <= enough or size >= (1.0 - BALANCE_WORTH) * before or not len(better):
            break
        before = size
        added = np.ones((len(better), 3))
        added[:, 1:] = (friction[sticky[better]] / across[better])[:, None] * slope[better, 1:]
        owner, edges = np.concatenate([owner, sticky[better]]), np.concatenate([edges, added])
    forces = np.zeros((nc, 3))
    np.add.at(forces, owner[: len(weights)], weights[:, None] * edges[: len(weights)])
    return forces, left
