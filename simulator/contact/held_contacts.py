"""Which features lasting contact keeps together, and how long they stay within their extents.

The motion of a contact mode knows points, lines and planes without ends. A corner that slides off its face or an
edge that slides past the end of another is noticed here, so that contacts are looked for anew.
"""

import numpy as np
from numpy.typing import NDArray

from .. import kernels
from ..collision import mesh_pairs
from ..collision.mesh_kernels import BESIDE, EDGES, POINT_A, POINT_B
from ..collision.pairs import Pair, contact_patch, pair_size
from ..event import ContactPatch
from ..state import Array, Model
from ..tolerances import CONTACT_GAP, HELD_DEPTH, HELD_PLACE

_SHIELDED = 1  # in the last column of a pair of features
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
    kinds = {tuple(row[:3]) for row in held.tolist() if row[0] < BESIDE and row[3] != _SHIELDED}
    # an edge or a corner of a triangle is another feature than the triangle itself
    touching = {(*(int(n) for n in row[:3]), (int(row[3]) + 2) // 3) for row in rows}
    # a round body that leaves an edge for the face beside it would sink into that
    deep = {
        (-1, *(int(n) for n in row[1:3]), 0) for row in rows if row[10] < -HELD_DEPTH * pair_size(model, pair)
    }
    return frozenset(row for row in touching if row[:3] in kinds) | deep


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


def features_stay(
    model: Model,
    held: dict[Pair, NDArray[np.int64] | None],
    states: Array,
    bodies: NDArray[np.int64],
    coefficients: Array,
    packed: Array,
    span: float,
) -> float:
    """How long, at most `span` [s], all features that lasting contact holds together stay so.

    held : features by pair; states : (n, 13), of bodies that do not move with these
    bodies, coefficients, packed : what moves, its step (m, 13, TERMS), and its states at the start (m, 13)
    """
    row_of = {body: row for row, body in enumerate(bodies.tolist())}

    def features(pair: Pair, tau: float) -> frozenset:
        there = states.copy()
        for body in pair:
            if body in row_of:
                row = row_of[body]
                there[body] = kernels.evaluate_piece(coefficients[row], tau) if tau else packed[row]
        return features_at(model, pair, there, held[pair])

    for pair in held:
        before = features(pair, 0.0)
        if features(pair, span) == before:
            continue
        stays, left = 0.0, span
        while left - stays > 1e-12 + 1e-15 * left:
            middle = 0.5 * (stays + left)
            if features(pair, middle) == before:
                stays = middle
            else:
                left = middle
        span = left
    return span
