"""Which features of triangle meshes lasting contact keeps together: they are not looked for as impacts."""

import numpy as np
from numpy.typing import NDArray

from .. import kernels
from ..event import ContactPatch
from ..state import Array, Model
from ..tolerances import CONTACT_GAP, HELD_PLACE
from . import mesh_pairs
from .mesh_kernels import BESIDE, EDGES, POINT_A, POINT_B
from .pairs import Pair, pair_size

_SHIELDED = 1  # in the last column of a pair of features


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
    near = np.linalg.norm(places[:, None] - patch.point[None], axis=2) <= HELD_PLACE * size
    held = rows[near.any(axis=1), :4].astype(np.int64)
    held[:, 3] = 0
    return np.concatenate(
        [
            held,
            _around(model, pair, places[near.any(axis=1)], states),
            *(_beside(model, pair, row) for row in held),
        ]
    )


def _around(model: Model, pair: Pair, places: Array, states: Array) -> NDArray[np.int64]:
    """Pairs of sharp features that come together at the places, also those that others shield: the search for
    impacts could only creep past them."""
    first, second = (model.surface(body) for body in pair)
    if first.radius + second.radius > 0.0:
        return np.zeros((0, 4), dtype=np.int64)
    within = HELD_PLACE * pair_size(model, pair)
    found: set[tuple[int, int, int]] = set()
    for place in places:
        points, edges, groups = [], [], []
        for body, surface in zip(pair, (first, second), strict=True):
            where = (place - states[body, :3]) @ kernels.rotation_matrix(states[body, 3:7])
            points.append(np.flatnonzero(np.linalg.norm(surface.points - where, axis=1) <= within).tolist())
            ends = surface.points[surface.edges]
            along = ends[:, 1] - ends[:, 0]
            share = np.einsum("ei,ei->e", where - ends[:, 0], along) / np.einsum("ei,ei->e", along, along)
            away = where - ends[:, 0] - np.clip(share, 0.0, 1.0)[:, None] * along
            edges.append(np.flatnonzero(np.linalg.norm(away, axis=1) <= within).tolist())
            groups.append(np.unique(surface.group[mesh_pairs.triangles_at(surface, where, within)]).tolist())
        found |= {(EDGES, a, b) for a in edges[0] for b in edges[1]}
        found |= {(POINT_A, p, g) for p in points[0] for g in groups[1]}
        found |= {(POINT_B, p, g) for p in points[1] for g in groups[0]}
    return np.array([(*row, _SHIELDED) for row in sorted(found)], dtype=np.int64).reshape(-1, 4)


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
    """Whether a pair can touch at several places that its features tell apart."""
    shapes = [
        shape for shape in (model.shapes[a], model.shapes[b]) if shape is not None and shape.disk == 0.0
    ]
    return len(shapes) == 2 and any(len(shape.points) > 1 for shape in shapes)
