"""Which features lasting contact keeps together, and how long they stay within their extents.

The motion of a contact mode knows points, lines and planes without ends. A corner that slides off its face or an
edge that slides past the end of another is noticed here, so that contacts are looked for anew.
"""

import numpy as np
from numpy.typing import NDArray

from . import kernels, mesh_pairs
from .collision import Pair, contact_patch, pair_size
from .event import ContactPatch
from .mesh_kernels import BESIDE, EDGES, POINT_A
from .state import Array, Model
from .tolerances import CONTACT_GAP, SAME_PLACE

_STAY = 2.0  # times CONTACT_GAP: features this far apart or beyond their ends are no longer held


def held_features(model: Model, patch: ContactPatch, states: Array) -> NDArray[np.int64] | None:
    """Pairs of features (k, 4) that touch where contacts of one pair of bodies are, as `mesh_impact` takes them;
    None where the pair has no features."""
    a, b = pair = (int(patch.bodies[0, 0]), int(patch.bodies[0, 1]))
    if not _has_features(model, a, b):
        return None
    size = pair_size(model, pair)
    rows = mesh_pairs.surface_contacts(
        model.surface(a), model.surface(b), states[[a, b]], float(patch.gap.max()) + CONTACT_GAP * size
    )
    places = rows[:, 4:7] @ kernels.rotation_matrix(states[b, 3:7]).T + states[b, :3]
    near = np.linalg.norm(places[:, None] - patch.point[None], axis=2) <= SAME_PLACE * size
    held = rows[near.any(axis=1), :4].astype(np.int64)
    held[:, 3] = 0
    return np.concatenate([held, *(_beside(model, pair, row) for row in held)])


def features_at(model: Model, pair: Pair, states: Array, held: NDArray[np.int64] | None) -> frozenset:
    """What tells whether a pair still touches with the same features: those held that do, or all that touch."""
    a, b = pair
    within = _STAY * CONTACT_GAP * pair_size(model, pair)
    if held is None:
        patch = contact_patch(model, [pair], states, _STAY * CONTACT_GAP)
        return frozenset(
            (*feature, *number)
            for feature, number in zip(patch.feature.tolist(), patch.feature_index.tolist(), strict=True)
        )
    rows = mesh_pairs.surface_contacts(model.surface(a), model.surface(b), states[[a, b]], within)
    kinds = {tuple(row[:3]) for row in held.tolist() if row[0] < BESIDE}
    # an edge or a corner of a triangle is another feature than the triangle itself
    touching = {(*(int(n) for n in row[:3]), (int(row[3]) + 2) // 3) for row in rows}
    return frozenset(row for row in touching if row[:3] in kinds)


def _beside(model: Model, pair: Pair, row: NDArray[np.int64]) -> NDArray[np.int64]:
    """Of a round point that is held on a triangle: which corners the triangles around share with it."""
    kind, point, group, _ = row.tolist()
    a, b = (model.surface(body) for body in pair)
    mesh = b if kind == POINT_A else a
    if kind == EDGES or group < 0 or a.radius + b.radius == 0.0:
        return np.zeros((0, 4), dtype=np.int64)
    own = mesh.group == group
    corners = np.zeros(len(mesh.points), dtype=bool)
    corners[mesh.triangles[own]] = True
    shared = corners[mesh.triangles] @ np.array([1, 2, 4])
    around = np.flatnonzero((shared > 0) & ~own)
    return np.stack(
        [np.full_like(around, kind + BESIDE), np.full_like(around, point), around, shared[around]], axis=1
    )


def _has_features(model: Model, a: int, b: int) -> bool:
    shapes = model.shapes[a], model.shapes[b]
    return all(shape is not None and shape.disk == 0.0 for shape in shapes)
