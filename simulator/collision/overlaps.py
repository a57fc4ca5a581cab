"""Moves that part the bodies of a scene which overlap where they were put.

Along a fixed axis the separation of two convex shapes changes by exactly what they move apart along it, so one
linear condition a pair keeps it clear. Each sweep finds the smallest moves, weighted by mass, that meet the
conditions of all pairs near each other, a quadratic program; a few sweeps do, since only pairs that come
near on the way, and meshes, need another.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.spatial import cKDTree

from ...bodies import checks
from .. import kernels
from ..state import Array, Model
from ..tolerances import PENETRATION
from . import separation_kernels
from .pairs import Pair, pair_impact, pair_size, refuse_unknown_distances
from .queries import closest_points, exact_separation

if TYPE_CHECKING:
    from ...bodies import Scene

_SWEEPS = 60
_LOCAL_SWEEPS = 10  # in which meshes are pushed by their depth, which may lead into a dead end
_PATIENCE = 15  # sweeps that the worst overlap may take to become a tenth smaller
_ITERATIONS = 4000
_EXCESS = 1e-4  # [of the largest part that is needed] how much farther bodies may part, or they move too far
_SLACK = 1e-6  # [of the pair's size] by which overlapping bodies are moved farther, so that one sweep does


@dataclass(frozen=True, eq=False)
class Displacement:
    """The body ``name`` was moved by ``displacement`` (3,) [m], world."""

    name: str
    displacement: Array


@np.errstate(over="ignore", invalid="ignore")  # places that are not finite are refused in words
def parting_displacements(scene: "Scene", clearance: float = 0.0) -> list[Displacement]:
    """What to move so that no two bodies of a scene that can collide overlap, in the order of the bodies.

    The contract is that of `Scene.resolve_overlaps`, which calls this; the scene is left as it is.
    """
    clearance = checks.number("clearance", clearance, minimum=0.0)
    if not len(scene):
        return []
    model = Model.of_scene(scene)
    refuse_unknown_distances(model)
    states = model.initial_states()
    start = states[:, :3].copy()
    least, since, margin = np.inf, 0, 0.0
    for sweep in range(_SWEEPS):
        pairs = _near_pairs(model, states, clearance + margin)
        found = [_condition(model, pair, states, clearance, sweep < _LOCAL_SWEEPS) for pair in pairs]
        normals = np.array([normal for normal, _ in found]).reshape(-1, 3)
        lacking = np.array([lack for _, lack in found])
        sizes = np.array([pair_size(model, pair) for pair in pairs])
        overlapping = lacking > PENETRATION * sizes
        if not overlapping.any():
            moves = states[:, :3] - start
            return [
                Displacement(str(scene.bodies[k].name), moves[k]) for k in np.flatnonzero(moves.any(axis=1))
            ]
        worst = int(np.argmax(lacking))
        if lacking[worst] < 0.9 * least:
            least, since = lacking[worst], sweep
        if sweep - since >= _PATIENCE or sweep == _SWEEPS - 1:
            break
        # only what overlaps has to move; what touches must not come closer
        needed = np.where(overlapping, lacking + _SLACK * sizes, np.minimum(lacking + _SLACK * sizes, 0.0))
        allowed = needed - lacking + 0.5 * PENETRATION * sizes
        members = np.array(pairs, dtype=np.int64)
        chosen = needed >= 0.0
        while True:  # most pairs never come near: a condition counts once the others would break it
            moves = _smallest_moves(
                members[chosen], normals[chosen], needed[chosen], allowed[chosen], 1.0 / model.mass
            )
            parted = np.sum((moves[members[:, 0]] - moves[members[:, 1]]) * normals, axis=1)
            broken = (needed - parted > allowed) & ~chosen
            if not broken.any():
                break
            chosen |= broken
        states[:, :3] += moves
        if not np.isfinite(states[:, :3]).all():
            raise ValueError(
                f"clearance: expected one that leaves finite places to bodies, got {clearance:g}"
            )
        margin = float(np.linalg.norm(moves, axis=1).max())  # pairs that may come near in the next sweep
    first, second = (scene.bodies[body].name for body in sorted(pairs[worst]))
    raise ValueError(
        f"position: bodies {first!r} and {second!r} could not be parted: {lacking[worst]:.6g} m are left after "
        f"{sweep + 1} sweeps; give them more room, or disable their collision"
    )


def _near_pairs(model: Model, states: Array, reach: float) -> list[Pair]:
    """Pairs that can push each other, their bounding balls within `reach` [m], in order; half-spaces second."""
    bodies, collides = model.scene.bodies, model.scene.collides
    solid = np.array([body for body, plane in enumerate(model.planes) if plane is None], dtype=np.int64)
    found: list[Pair] = []
    if len(solid):
        centres, sizes = states[solid, :3], model.size[solid]
        tree = cKDTree(centres)
        # every pair is found from its larger body
        around = tree.query_ball_point(centres, 2.0 * sizes + reach, return_sorted=True)
        for i, others in enumerate(around):
            there = np.array(others, dtype=np.int64)
            there = there[(sizes[there] < sizes[i]) | ((sizes[there] == sizes[i]) & (there > i))]
            apart = np.linalg.norm(centres[there] - centres[i], axis=1)
            for j in there[apart < sizes[there] + sizes[i] + reach].tolist():
                a, b = sorted((int(solid[i]), int(solid[j])))
                found.append((a, b))
        for b, plane in enumerate(model.planes):
            if plane is not None:
                normal, offset = plane
                found += [(int(a), b) for a in solid[centres @ normal - offset - sizes < reach]]
    return sorted(
        (a, b)
        for a, b in found
        if (model.movable[a] or model.movable[b])
        and not (bodies[a].sensor or bodies[b].sensor)
        and collides(a, b)
    )


def _condition(model: Model, pair: Pair, states: Array, clearance: float, local: bool) -> tuple[Array, float]:
    """Axis from the second body of a pair to the first, and how far they have to part along it [m]."""
    a, b = pair
    plane, shape = model.planes[b], model.shapes[a]
    if plane is not None:
        normal, offset = plane
        return normal, clearance - separation_kernels.half_space_gap(shape, states[a], normal, offset)
    centres = states[a, :3] - states[b, :3]
    apart = float(np.linalg.norm(centres))
    # of what is far away a plane between the bounding balls is enough
    if apart > model.size[a] + model.size[b] + clearance:
        return centres / apart, clearance + model.size[a] + model.size[b] - apart
    if not (model.is_mesh[a] or model.is_mesh[b]):
        normal, gap = exact_separation(model, pair, states)
        return normal, clearance - gap
    normal, gap, _ = closest_points(model, pair, states)
    if gap < 0.0 and not local:
        return _way_out(model, pair, states, normal, clearance)
    return normal, clearance - gap


def _way_out(model: Model, pair: Pair, states: Array, normal: Array, clearance: float) -> tuple[Array, float]:
    """The shorter of the ways on which a mesh leaves altogether, along a normal or the line of the centres."""
    a, b = pair
    ways = [normal]
    centres = states[a, :3] - states[b, :3]
    if centres.any():
        ways.append(centres / np.linalg.norm(centres))
    reach = model.size[a] + model.size[b]
    best = np.inf
    for way in ways:
        # from outside, at speed one, until they touch
        far = float(np.sqrt(max(0.0, reach**2 - centres @ centres + (centres @ way) ** 2)) - centres @ way)
        far += 1e-3 * reach
        pieces = np.zeros((2, 13, kernels.TERMS))
        pieces[0, :, 0], pieces[1, :, 0] = states[a], states[b]
        pieces[:, 7:13] = 0.0
        pieces[0, :3, 0] += far * way
        pieces[0, :3, 1] = pieces[0, 7:10, 0] = -way
        bounds = np.zeros(5)
        met, _ = pair_impact(model, pair, (pieces[0], pieces[1]), (bounds, bounds), (0.0, 0.0), far)
        out = far - met if met < np.inf else 0.0
        if out < best:
            best, normal = out, way
    return normal, best + clearance


def _smallest_moves(
    members: NDArray[np.int64], normals: Array, needed: Array, allowed: Array, inverse_mass: Array
) -> Array:
    """Moves (n, 3) [m] of least mass-weighted square by which pairs (k, 2) part by what is `needed` (k,) [m].

    A lack of up to `allowed` [m] is left. The dual is solved by accelerated projected gradients, scaled to a
    unit diagonal and restarted where they overshoot.
    """
    count, bodies = len(members), len(inverse_mass)
    rows = np.repeat(np.arange(count), 3)
    along = np.arange(3)
    columns = [(3 * members[:, [side]] + along).ravel() for side in (0, 1)]
    apart = csr_array(
        (
            np.concatenate([normals.ravel(), -normals.ravel()]),
            (np.concatenate([rows, rows]), np.concatenate(columns)),
        ),
        shape=(count, 3 * bodies),
    )
    scale = 1.0 / np.sqrt(inverse_mass[members].sum(axis=1))
    lift = (apart.T * scale).tocsr() * np.repeat(inverse_mass, 3)[:, None]
    lift = csr_array(lift)
    drop = csr_array(apart.multiply(scale[:, None]))
    target = scale * needed
    stiff = float(abs(drop @ lift).sum(axis=1).max())
    excess = _EXCESS * float(target.max())
    pushes = ahead = np.zeros(count)
    pace = 1.0
    for _ in range(_ITERATIONS):
        lack = target - drop @ (lift @ ahead)
        new = np.maximum(0.0, ahead + lack / stiff)
        if lack @ (new - pushes) < 0.0:
            pace = 1.0
        following = 0.5 + np.sqrt(0.25 + pace * pace)
        ahead = new + (pace - 1.0) / following * (new - pushes)
        pushes, pace = new, following
        lack = target - drop @ (lift @ pushes)
        if (lack <= scale * allowed).all() and (lack[pushes > 0.0] >= -excess).all():
            break
    return (lift @ pushes).reshape(-1, 3)
