"""Which features of triangle meshes lasting contact keeps together: they are not looked for as impacts."""

import numpy as np
from numpy.typing import NDArray

from .. import kernels
from ..event import ContactPatch, Feature
from ..state import Array, Model
from ..tolerances import CONTACT_GAP, HELD_PLACE
from . import mesh_pairs
from .held_kernels import spanned
from .mesh_kernels import BESIDE, EDGES, POINT_A, POINT_B
from .pairs import Pair, pair_size

_SHIELDED = 1  # in the last column of a pair of features


def held_features(model: Model, patch: ContactPatch, states: Array) -> NDArray[np.int64] | None:
    """Pairs of features (k, 4) that touch where contacts of one pair of bodies are, as `mesh_impact` takes them;
    None where the pair has no features."""
    a, b = pair = (int(patch.bodies[0, 0]), int(patch.bodies[0, 1]))
    if not _has_features(model, a, b):
        return None
    held, shielded = _touching(model, patch, states)
    around = np.array([(*row, _SHIELDED) for row in shielded], dtype=np.int64).reshape(-1, 4)
    return np.concatenate([held, around, *(_beside(model, pair, row) for row in held)])


def kept(model: Model, patch: ContactPatch, lasting: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which contacts of a patch its lasting ones keep: these, and where they span a plane, what else lies in it.

    A search for impacts would stand still at a face whose other corners are held, as long as it slides.
    """
    if lasting.all() or lasting.sum() < 3:
        return lasting
    pair = (int(patch.bodies[0, 0]), int(patch.bodies[0, 1]))
    size, normal = pair_size(model, pair), patch.normal[lasting][0]
    level = CONTACT_GAP * size / float(min(model.size[body] for body in pair))  # over all of the smaller body
    even = np.linalg.norm(patch.normal - normal, axis=1) <= level
    if not even[lasting].all() or spanned(patch.point[lasting], size, np.empty((3, 3))) < 2:
        return lasting
    found: NDArray[np.bool_] = lasting | even
    return found


def slides_past(
    model: Model, patch: ContactPatch, lasting: NDArray[np.bool_], which: int, states: Array
) -> bool:
    """Whether sharp features are held with one contact of a patch that are none of those that last.

    They part from it as it slides on, and may close then: an edge that follows a corner across a ridge.
    """
    if not _has_features(model, int(patch.bodies[0, 0]), int(patch.bodies[0, 1])):
        return False
    own = {
        (POINT_A, i, j) if a == Feature.POINT else (POINT_B, j, i) if b == Feature.POINT else (EDGES, i, j)
        for (a, b), (i, j) in zip(
            patch.feature[lasting].tolist(), patch.feature_index[lasting].tolist(), strict=True
        )
    }
    _, shielded = _touching(model, patch.chosen([which]), states)
    return any(row not in own for row in shielded)


def _touching(
    model: Model, patch: ContactPatch, states: Array
) -> tuple[NDArray[np.int64], list[tuple[int, int, int]]]:
    """Rows (k, 4) of features that touch where contacts of one pair of bodies are, and all pairs of sharp ones that
    come together there."""
    a, b = pair = (int(patch.bodies[0, 0]), int(patch.bodies[0, 1]))
    size = pair_size(model, pair)
    rows = mesh_pairs.surface_contacts(
        model.surface(a), model.surface(b), states[[a, b]], float(patch.gap.max()) + CONTACT_GAP * size
    )
    places = rows[:, 4:7] @ kernels.rotation_matrix(states[b, 3:7]).T + states[b, :3]
    near = (np.linalg.norm(places[:, None] - patch.point[None], axis=2) <= HELD_PLACE * size).any(axis=1)
    held = rows[near, :4].astype(np.int64)
    held[:, 3] = 0
    return held, sorted({row for place in places[near] for row in _around(model, pair, place, states)})


def _around(model: Model, pair: Pair, place: Array, states: Array) -> set[tuple[int, int, int]]:
    """Pairs of sharp features that come together at a place, also those that others shield: the search for impacts
    could only creep past them."""
    first, second = (model.surface(body) for body in pair)
    if first.radius + second.radius > 0.0:
        return set()
    within = HELD_PLACE * pair_size(model, pair)
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
    found = {(EDGES, a, b) for a in edges[0] for b in edges[1]}
    found |= {(POINT_A, p, g) for p in points[0] for g in groups[1]}
    return found | {(POINT_B, p, g) for p in points[1] for g in groups[0]}


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
