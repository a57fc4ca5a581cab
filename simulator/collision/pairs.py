"""Which pairs of bodies meet next, and where exactly they touch at an event.

Choice of method (measured candidates: sampling, conservative advancement on distances, root brackets): one
quadratic that lies under every gap of a pair is advanced root by root. It can pass nothing, needs no
bracket, and near an impact converges like Newton's method because the quadratic is then exact to second
order. Directions come from the axes that features define where bodies are near contact and from closest points
elsewhere.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...bodies import Ellipsoid
from .. import kernels
from ..event import ContactPatch, Feature
from ..state import Array, Model
from ..tolerances import APPROACH_SPEED, CONTACT_GAP
from . import (
    convex_contacts_kernels,
    convex_impact_kernels,
    cylinder_pairs,
    mesh_kernels,
    mesh_pairs,
    separation_kernels,
)
from .collision_shape import CollisionShape

Pair = tuple[int, int]


def collision_pairs(model: Model) -> list[Pair]:
    """Pairs of bodies that push each other when they meet, at least one of which moves; a half-space is second."""
    pairs = []
    bodies, collides = model.scene.bodies, model.scene.collides
    for i in range(model.count):
        for j in range(i + 1, model.count):
            if not (model.movable[i] or model.movable[j]) or bodies[i].sensor or bodies[j].sensor:
                continue
            if not collides(i, j):
                continue
            pairs.append((j, i) if model.planes[i] is not None else (i, j))
    return pairs


def refuse_unknown_distances(model: Model) -> None:
    """TypeError for two bodies, sensors too, that can meet and between which there is no distance yet."""
    bodies = model.scene.bodies
    for first, body in enumerate(bodies):
        if not isinstance(body.shape, Ellipsoid):
            continue
        for second in range(model.count):
            moves = model.movable[first] or model.movable[second]
            if first != second and moves and model.scene.collides(first, second):
                refuse_unknown_distance(model, (first, second))


def refuse_unknown_distance(model: Model, pair: Pair) -> None:
    """TypeError for two bodies between which there is no distance yet; a half-space is second."""
    shapes = [model.scene.bodies[body].shape for body in pair]
    if model.planes[pair[1]] is None and any(isinstance(shape, Ellipsoid) for shape in shapes):
        kinds = " and ".join(type(shape).__name__ for shape in shapes)
        names = " and ".join(repr(model.scene.bodies[body].name or f"body {body}") for body in pair)
        raise TypeError(
            f"{names} ({kinds}): an Ellipsoid meets half-spaces only; take ConvexMesh(ellipsoid.surface()[0]), "
            "or put the two in groups that do not meet"
        )


def reach_of_pairs(model: Model, pairs: NDArray[np.int64]) -> Array:
    """Distance [m] of the centres of pairs of bodies (k, 2) beyond which they cannot touch; infinite with a
    half-space."""
    one, other = pairs.T
    reach = model.size[one] + model.size[other]
    reach[[model.planes[body] is not None for body in other]] = np.inf
    return np.asarray(reach)


def pair_size(model: Model, pair: Pair) -> float:
    """Length [m] that the tolerances of a pair scale with."""
    a, b = pair
    return float(model.size[a] if model.planes[b] is not None else max(model.size[a], model.size[b]))


def pair_gap(model: Model, pair: Pair, states: Array) -> tuple[Array, float]:
    """Unit normal from the second body to the first and signed gap [m] of a pair.

    Of distant pairs the gap is a lower bound, of a mesh that reaches into another body it is zero: see `overlap`.
    """
    a, b = pair
    plane = model.planes[b]
    if plane is not None:
        normal, offset = plane
        return normal, separation_kernels.half_space_gap(_shape(model, a), states[a], normal, offset)
    apart = float(np.linalg.norm(states[a, :3] - states[b, :3]))
    clear = apart - model.size[a] - model.size[b]
    if clear > 0.01 * apart:  # bounding spheres: a lower bound is all that a distant pair needs
        return (states[a, :3] - states[b, :3]) / apart, clear
    if ordered := _cylinder_and_mesh(model, pair):
        cylinder, mesh = ordered
        normal, gap = cylinder_pairs.surface_distance(
            _shape(model, cylinder), model.surface(mesh), states[[cylinder, mesh]], pair_size(model, pair)
        )
        return (normal if ordered == pair else -normal), gap
    if model.is_mesh[a] or model.is_mesh[b]:
        return mesh_pairs.surface_distance(model.surface(a), model.surface(b), states[[a, b]])[:2]
    return separation_kernels.pair_separation(
        _shape(model, a), states[a], _shape(model, b), states[b], pair_size(model, pair)
    )


def overlap(model: Model, pair: Pair, states: Array) -> float:
    """How deep two bodies reach into each other [m], 0 where they do not."""
    a, b = pair
    if model.planes[b] is None and (model.is_mesh[a] or model.is_mesh[b]):
        if np.linalg.norm(states[a, :3] - states[b, :3]) >= model.size[a] + model.size[b]:
            return 0.0
        if ordered := _cylinder_and_mesh(model, pair):
            cylinder, mesh = ordered
            return cylinder_pairs.overlap_depth(
                _shape(model, cylinder), model.surface(mesh), states[[cylinder, mesh]], pair_size(model, pair)
            )
        return mesh_pairs.overlap_depth(model.surface(a), model.surface(b), states[[a, b]])
    return max(0.0, -pair_gap(model, pair, states)[1])


def gap_of_cylinder_and_mesh(model: Model, pair: Pair, states: Array) -> float:
    """Gap [m] of a cylinder and the closest triangle of a mesh, with states (2, 13) in the order of the pair; where
    triangles reach into the cylinder, less than zero: that of the deepest."""
    ordered = _cylinder_and_mesh(model, pair)
    assert ordered is not None
    cylinder, mesh = ordered
    if ordered != pair:
        states = states[::-1]
    return cylinder_pairs.signed_gap(
        _shape(model, cylinder), model.surface(mesh), states, pair_size(model, pair)
    )


def half_space_impact(
    model: Model,
    pair: Pair,
    coefficients: Array,
    bounds: Array,
    span: float,
    ignored: NDArray[np.bool_],
    slow: float = APPROACH_SPEED,
) -> tuple[float, int]:
    """First time in [0, span] [s] of the first body's piece at which it meets its half-space: (time, point).

    `ignored` marks core points that lasting contact holds. Time is inf and the point -1 where they do not meet;
    point -2: the search did not end.
    """
    a, b = pair
    plane = model.planes[b]
    assert plane is not None
    return convex_impact_kernels.half_space_impact(
        *(_shape(model, a), coefficients, 0.0, span, bounds, ignored),
        *(*plane, pair_size(model, pair), slow),
    )


def pair_impact(
    model: Model,
    pair: Pair,
    pieces: tuple[Array, Array],
    bounds: tuple[Array, Array],
    ages: tuple[float, float],
    span: float,
    held: NDArray[np.int64] | None = None,
    slow: float = APPROACH_SPEED,
) -> tuple[float, int]:
    """First time in [0, span] [s] from now at which two bodies meet: (time, hit).

    `pieces` are the coefficients of their motions, `ages` [s] how long ago these began. `held`: features that
    lasting contact keeps together, as `held_features` tells. What approaches by less than `slow` [m/s] does not
    meet. hit: 1, 0 where they do not meet (time inf), -2 where the search did not end.

    Convex bodies that are apart are led by one axis (`convex_impact_kernels`, several times faster). From contact
    on, and for meshes, every pair of features is followed (`mesh_kernels`); cylinders are led by axes throughout.
    """
    a, b = pair
    size = pair_size(model, pair)
    if ordered := _cylinder_and_mesh(model, pair):
        cylinder, mesh = ordered
        way = slice(None, None, 1 if ordered == pair else -1)
        return cylinder_pairs.impact(
            _shape(model, cylinder),
            model.surface(mesh),
            pieces[way],
            bounds[way],
            ages[way],
            span,
            size,
            slow,
        )
    here = np.array([kernels.evaluate_piece(piece, age) for piece, age in zip(pieces, ages, strict=True)])
    if not (model.is_mesh[a] or model.is_mesh[b]):
        first, second = _shape(model, a), _shape(model, b)
        by_axis = first.disk > 0.0 or second.disk > 0.0 or len(first.points) == len(second.points) == 1
        if by_axis or (
            held is None
            and separation_kernels.pair_separation(first, here[0], second, here[1], size)[1]
            > CONTACT_GAP * size
        ):
            return convex_impact_kernels.pair_impact(
                first, pieces[0], bounds[0], second, pieces[1], bounds[1], *ages, span, size, slow
            )
    surfaces = model.surface(a), model.surface(b)
    known = mesh_pairs.known_contacts(*surfaces, here, CONTACT_GAP * size, size)
    return mesh_kernels.mesh_impact(
        surfaces[0], pieces[0], bounds[0], ages[0], surfaces[1], pieces[1], bounds[1], ages[1], span, size,
        slow, known,
        np.zeros((0, 4), dtype=np.int64) if held is None else held,
    )  # fmt: skip


def contact_patch(
    model: Model, pairs: list[Pair], states: Array, tolerance: float = CONTACT_GAP
) -> ContactPatch:
    """All contacts of the given pairs whose gap is within `tolerance` times the pair's size."""
    parts = []
    for pair in pairs:
        a, b = pair
        within = tolerance * pair_size(model, pair)
        shape, plane = _shape(model, a), model.planes[b]
        if plane is not None:
            found = _on_half_space(shape, states[a], plane, within)
        elif ordered := _cylinder_and_mesh(model, pair):
            cylinder, mesh = ordered
            found = cylinder_pairs.contacts_between(
                _shape(model, cylinder),
                model.surface(mesh),
                states[[cylinder, mesh]],
                within,
                pair_size(model, pair),
            )
            if ordered != pair:
                point, normal, gap, *sided = found
                found = (point, -normal, gap, *(np.ascontiguousarray(value[:, ::-1]) for value in sided))
        elif _by_features(model, pair):
            found = mesh_pairs.contacts_between(
                model.surface(a), model.surface(b), states[[a, b]], within, pair_size(model, pair)
            )
        else:
            other = _shape(model, b)
            found = convex_contacts_kernels.pair_contacts(
                shape, states[a], other, states[b], pair_size(model, pair), within, within
            )
        point, normal, gap, feature, index, along, radius = found
        tangent = tangents_of(normal, model.scene.plane)
        bodies = np.tile(np.array([pair], dtype=np.int64), (len(gap), 1))
        parts.append(
            ContactPatch(
                bodies, point, normal, tangent, np.cross(normal, tangent), gap, feature, index, along, radius
            )
        )
    if not parts:
        return ContactPatch.empty()
    return parts[0] if len(parts) == 1 else ContactPatch.joined(parts)


def _on_half_space(shape: CollisionShape, state: Array, plane: tuple[Array, float], within: float) -> Any:
    """Point, normal, gap, features, their numbers, directions and radii of a shape's contacts with a half-space."""
    rows = convex_contacts_kernels.half_space_contacts(shape, state, *plane, within, within, False)
    point, gap = np.ascontiguousarray(rows[:, :3]), rows[:, 3].copy()
    count, rim = len(rows), rows[:, 5] > 0.0
    feature = np.full((count, 2), Feature.FACE, dtype=np.int64)
    index = np.zeros((count, 2), dtype=np.int64)
    along, radius = np.zeros((count, 2, 3)), np.zeros((count, 2))
    feature[:, 0] = Feature.ELLIPSOID if shape.semi_axes.any() else np.where(rim, Feature.RIM, Feature.POINT)
    index[:, 0] = rows[:, 4]
    if rim.any():
        along[rim, 0] = kernels.rotation_matrix(state[3:7])[:, 2]
    radius[:, 0] = shape.radius + np.where(rim, shape.disk, 0.0)
    return point, np.tile(plane[0], (count, 1)), gap, feature, index, along, radius


def _by_features(model: Model, pair: Pair) -> bool:
    """Whether contacts of a pair are those of its features: all but pairs with a cylinder, and of two points or
    edges, which have no faces whose ends lasting contact could come to."""
    shapes = [_shape(model, body) for body in pair]
    meshes = any(model.is_mesh[body] for body in pair)
    return meshes or (all(s.disk == 0.0 for s in shapes) and any(len(s.points) > 2 for s in shapes))


def tangents_of(normal: Array, plane: Array | None = None) -> Array:
    """A unit tangent for each normal: the coordinate axis most across it, made orthogonal; where motion is planar,
    that in the plane, the normal of which is given."""
    if plane is not None and len(normal):
        tangent = np.cross(plane, normal)
        length = np.linalg.norm(tangent, axis=1)[:, None]
        return np.where(length > 0.0, tangent / np.where(length > 0.0, length, 1.0), tangents_of(normal))
    tangent = np.zeros_like(normal)
    axis = np.argmin(np.abs(normal), axis=1) if len(normal) else np.zeros(0, dtype=int)
    tangent[np.arange(len(normal)), axis] = 1.0
    tangent -= np.sum(tangent * normal, axis=1)[:, None] * normal
    return tangent / np.linalg.norm(tangent, axis=1)[:, None]


def contact_rows(patch: ContactPatch, states: Array, bodies: NDArray[np.int64]) -> Array:
    """Contact Jacobian (3 nc, 6 m) for these bodies, as `contact_jacobian` has it; zero of limits of joints."""
    column = {int(body): 6 * k for k, body in enumerate(bodies)}
    jacobian = np.zeros((3 * len(patch), 6 * len(bodies)))
    for c in range(len(patch)):
        if patch.feature[c, 0] == Feature.LIMIT:
            continue
        frame = np.stack([patch.normal[c], patch.tangent[c], patch.tangent2[c]])
        for side, sign in ((0, 1.0), (1, -1.0)):
            body = int(patch.bodies[c, side])
            if body in column:
                k = column[body]
                arm = patch.point[c] - states[body, :3]
                jacobian[3 * c : 3 * c + 3, k : k + 3] = sign * frame
                jacobian[3 * c : 3 * c + 3, k + 3 : k + 6] = sign * np.cross(arm, frame)
    return jacobian


def contact_jacobian(
    model: Model, patch: ContactPatch, states: Array, bodies: NDArray[np.int64] | None = None
) -> tuple[Array, Array, Array, NDArray[np.int64]]:
    """Contact Jacobian (3 nc, 6 m), inverse mass (6 m, 6 m), velocity (6 m,) and the m movable bodies.

    Rows are (normal, tangent, tangent2) a contact; columns velocity and angular velocity, world frame, a body. The
    bodies, if not given, are those of the contacts and all that joints move with them; the inverse mass is that of
    motions which joints allow.
    """
    if bodies is None:
        bodies = moving_bodies(model, patch)
    jacobian = contact_rows(patch, states, bodies)
    inverse_mass = np.zeros((6 * len(bodies), 6 * len(bodies)))
    velocity = np.zeros(6 * len(bodies))
    for k, body in zip(range(0, 6 * len(bodies), 6), bodies.tolist(), strict=True):
        rotation = kernels.rotation_matrix(states[body, 3:7])
        inverse_mass[k : k + 3, k : k + 3] = model.inverse_mass[body]
        inertia = rotation @ model.inverse_inertia[body] @ rotation.T
        inverse_mass[k + 3 : k + 6, k + 3 : k + 6] = 0.5 * (inertia + inertia.T)
        velocity[k : k + 3] = states[body, 7:10]
        velocity[k + 3 : k + 6] = rotation @ states[body, 10:13]
    articulation = model.articulation
    if not articulation.is_empty:
        limits = np.flatnonzero(patch.feature[:, 0] == Feature.LIMIT)
        jacobian[3 * limits] = articulation.limit_rows(model, bodies, states, patch.feature_index[limits, 0])[
            0
        ]
        inverse_mass = articulation.allowed(bodies, states, inverse_mass)
    return jacobian, inverse_mass, velocity, bodies


def moving_bodies(model: Model, patch: ContactPatch) -> NDArray[np.int64]:
    """The movable bodies of contacts, and all that joints move with them, in rising order."""
    touching = {int(body) for body in patch.bodies.ravel() if model.movable[body]}
    return np.array(sorted(model.articulation.moving_with(touching)), dtype=np.int64)


def _cylinder_and_mesh(model: Model, pair: Pair) -> Pair | None:
    """The bodies of a pair with its cylinder first, where one is a cylinder and the other a mesh."""
    for first, second in (pair, pair[::-1]):
        shape = model.shapes[first]
        if shape is not None and shape.disk > 0.0 and model.is_mesh[second]:
            return first, second
    return None


def _shape(model: Model, body: int) -> CollisionShape:
    shape = model.shapes[body]
    assert shape is not None
    return shape
