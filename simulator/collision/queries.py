"""Questions about two bodies by themselves: how far apart they are, where they touch, when they meet."""

import copy
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...bodies import Body, HalfSpace, Mesh, Scene, Sphere, checks
from ...bodies.shapes import SURFACE_SEGMENTS
from .. import kernels
from ..event import ContactPatch
from ..state import Array, Model
from ..tolerances import CONTACT_GAP, OVERLAP
from . import cylinder_pairs, frames_kernels, mesh_kernels, mesh_pairs, separation_kernels
from .collision_shape import collision_shape
from .feature_mesh import FeatureMesh, feature_mesh
from .pairs import (
    Pair,
    contact_patch,
    half_space_impact,
    overlap,
    pair_impact,
    pair_size,
    refuse_unknown_distance,
    tangents_of,
)

_LONGEST_PIECE = 4.0  # [s] of a spinning body's motion at a time, as in the engine
_WELL_APART = 1e-6  # [of the size] from here on the difference of two points is a good direction
_TOUCH = 1e-12  # [of the size] within which features of bodies moved together meet
_POINT = collision_shape(Sphere(1.0))._replace(radius=0.0)


@dataclass(frozen=True, eq=False)
class Distance:
    """How far two bodies are apart.

    gap : signed distance [m]; where they overlap minus the depth
    normal : (3,), unit, from the second body to the first, world
    points : (2, 3) [m], closest points on the first and on the second, world; their difference is gap * normal
    """

    gap: float
    normal: Array
    points: Array


@dataclass(frozen=True, eq=False)
class TimeOfImpact:
    """Two bodies meet at ``time`` [s] from now, at these ``contacts`` (bodies are 0 and 1, first and second)."""

    time: float
    contacts: ContactPatch


def signed_distance(first: Body, second: Body) -> Distance:
    """Signed distance of two bodies where they are, with the closest points, in the world frame.

    Exact to rounding for bodies apart. The depth of overlapping convex shapes is the least translation that
    parts them; where a cylinder is in deep it is that along the best direction found, not less. Of a `Mesh` it is
    how deep the deepest corner or cut edge of one body lies in the other, for a cylinder those of a prism around
    it; the point of a capsule may then lie below its surface. Where an open mesh, which has no inside, cuts a body,
    the gap is 0 (of a capsule, minus its radius). The bodies swapped give the mirrored answer. Velocities, groups
    and sensors play no role.

    Raises TypeError for what is no `Body` or has a shape for which there is no distance yet, ValueError for two
    half-spaces.

    >>> import carom
    >>> ball = carom.Body(carom.Sphere(0.5), density=1000.0, position=(0, 0, 2))
    >>> floor = carom.Body(carom.HalfSpace((0, 0, 1)), fixed=True)
    >>> carom.signed_distance(ball, floor).gap
    1.5
    """
    model, _ = _model_of(first, second)
    # one order for both ways of asking, so that both answers are the same bits
    swapped = _order(second) < _order(first)
    pair = (1, 0) if swapped else (0, 1)
    normal, gap, points = closest_points(model, pair, model.initial_states())
    return Distance(gap, -normal, points[::-1].copy()) if swapped else Distance(gap, normal, points)


def contact_manifold(first: Body, second: Body, tolerance: float = CONTACT_GAP) -> ContactPatch:
    """All contacts of two bodies where they are: what an event at which they meet would hold.

    ``tolerance``, times the size of the larger body (the radius of its bounding ball, of a half-space none), is
    the gap up to which points touch. In the patch, body 0 is the first and 1 the second, and normals point to the
    first. It is empty where the bodies are apart. Velocities, groups and sensors play no role.

    Raises TypeError and ValueError as `signed_distance`, and for a tolerance that is no number >= 0.

    >>> import carom
    >>> box = carom.Body(carom.Box((1, 1, 1)), density=1000.0, position=(0, 0, 0.5))
    >>> floor = carom.Body(carom.HalfSpace((0, 0, 1)), fixed=True)
    >>> len(carom.contact_manifold(box, floor))
    4
    """
    within = checks.number("tolerance", tolerance, minimum=0.0)
    model, pair = _model_of(first, second)
    return _first_to_second(contact_patch(model, [pair], model.initial_states(), within))


def time_of_impact(
    first: Body, second: Body, until: float, gravity: Any = (0.0, 0.0, 0.0)
) -> TimeOfImpact | None:
    """When two bodies in free flight meet, the earliest within ``until`` [s], or None where they do not.

    They start from their own positions and velocities; ``gravity`` (3,) [m/s²] pulls those that are not fixed. A
    meeting is a time at which they touch and approach. So bodies that touch at the start and leave do not meet
    then, and those that touch and approach meet at time 0. Groups and sensors play no role.

    Raises TypeError and ValueError as `signed_distance`, ValueError where the bodies overlap at the start, with
    the depth, and for an ``until`` that is not above 0, RuntimeError where the search does not end.

    >>> import carom
    >>> ball = carom.Body(carom.Sphere(0.5), density=1000.0, position=(0, 0, 2), velocity=(0, 0, -3))
    >>> floor = carom.Body(carom.HalfSpace((0, 0, 1)), fixed=True)
    >>> carom.time_of_impact(ball, floor, until=1.0).time
    0.5
    """
    until = checks.number("until", until, above=0.0)
    model, pair = _model_of(first, second, gravity)
    states = model.initial_states()
    depth = overlap(model, pair, states)
    if depth > OVERLAP * pair_size(model, pair):
        raise ValueError(f"first, second: expected bodies that do not overlap, got a depth of {depth:.6g} m")
    a, b = pair
    pieces = [_Piece(model, body, states[body]) for body in (0, 1)]
    now = 0.0
    while now < until:
        span = min(pieces[0].end, pieces[1].end, until) - now
        if model.planes[b] is not None:
            shape = model.shapes[a]
            assert shape is not None
            none_held = np.zeros(len(shape.points), dtype=bool)
            found, hit = half_space_impact(
                model, pair, pieces[a].coefficients, pieces[a].bounds, span, none_held
            )
        else:
            found, hit = pair_impact(
                model,
                pair,
                (pieces[a].coefficients, pieces[b].coefficients),
                (pieces[a].bounds, pieces[b].bounds),
                (now - pieces[a].start, now - pieces[b].start),
                span,
            )
        if hit == -2:
            raise RuntimeError("the search for the impact of the two bodies did not end")
        if found < math.inf:
            met = np.array([piece.state(now + found) for piece in pieces])
            return TimeOfImpact(now + found, _first_to_second(contact_patch(model, [pair], met)))
        now += span
        for piece in pieces:
            if piece.end <= now:
                piece.begin(piece.state(now), now)
    return None


class _Piece:
    """Free flight of one body from `start` to `end` [s]: Taylor coefficients and their bounds."""

    def __init__(self, model: Model, body: int, state: Array):
        self._pull = model.gravity if model.movable[body] else np.zeros(3)
        self._inertia = model.inertia[body], model.inverse_inertia[body]
        self.begin(state, 0.0)

    def begin(self, state: Array, now: float) -> None:
        """Fly on from a packed state (13,)."""
        self.start = now
        self.coefficients, span = kernels.free_piece(state, self._pull, *self._inertia)
        span = min(span, _LONGEST_PIECE)
        self.end = now + span
        self.bounds = kernels.motion_bounds(self.coefficients, *self._inertia)

    def state(self, time: float) -> Array:
        return kernels.evaluate_piece(self.coefficients, time - self.start)


def _model_of(first: Body, second: Body, gravity: Any = (0.0, 0.0, 0.0)) -> tuple[Model, Pair]:
    """Both bodies in a scene of their own, and their pair as collision code wants it, a half-space second."""
    for field, body in (("first", first), ("second", second)):
        if not isinstance(body, Body):
            raise TypeError(f"{field}: expected a Body, got {type(body).__name__}")
    if isinstance(first.shape, HalfSpace) and isinstance(second.shape, HalfSpace):
        raise ValueError("first, second: expected one half-space at most, got two")
    scene = Scene(gravity)
    for body in (first, second):
        unnamed = copy.copy(body)  # the two may share a name
        object.__setattr__(unnamed, "name", None)
        scene.add(unnamed)
    model = Model.of_scene(scene)
    pair = (1, 0) if model.planes[0] is not None else (0, 1)
    refuse_unknown_distance(model, pair)
    return model, pair


def _order(body: Body) -> tuple[Any, ...]:
    """Key that puts two bodies in one order, half-spaces last."""
    kind = isinstance(body.shape, HalfSpace), type(body.shape).__name__
    return (*kind, *body.position.tolist(), *body.orientation.tolist(), body.bounding_radius)


def _first_to_second(patch: ContactPatch) -> ContactPatch:
    """The same contacts with body 0 first."""
    if not len(patch) or patch.bodies[0, 0] == 0:
        return patch
    normal = -patch.normal
    tangent = tangents_of(normal)
    return ContactPatch(
        patch.bodies[:, ::-1],
        patch.point,
        normal,
        tangent,
        np.cross(normal, tangent),
        patch.gap,
        patch.feature[:, ::-1],
        patch.feature_index[:, ::-1],
        patch.along[:, ::-1],
        patch.radius[:, ::-1],
    )


# -- closest points ----------------------------------------------------------------------------------------


def closest_points(model: Model, pair: Pair, states: Array) -> tuple[Array, float, Array]:
    """Unit normal from the second body of a pair to the first, gap [m] and closest points (2, 3), world.

    Unlike `collision.pair_gap` exact for distant pairs, and minus the depth where a mesh overlaps. A half-space
    is second.
    """
    a, b = pair
    plane, shape = model.planes[b], model.shapes[a]
    assert shape is not None
    if plane is not None:
        normal, offset = plane
        gap = separation_kernels.half_space_gap(shape, states[a], normal, offset)
        frame = np.empty(18)
        frames_kernels.frame_of_state(states[a], frame)
        lowest = np.array(frames_kernels.lowest_point(shape, frame, *normal)[1:]) - shape.radius * normal
        return normal, gap, np.stack([lowest, lowest - gap * normal])
    size = pair_size(model, pair)
    meshes = model.is_mesh[a] or model.is_mesh[b]
    if meshes and not _has_disk(model, pair):
        return closest_on_surfaces(model.surface(a), model.surface(b), states[[a, b]], size)
    axis, gap = exact_separation(model, pair, states)
    if meshes and overlap(model, pair, states) > _TOUCH * size:
        first, second = (
            _prism_around(model.scene.bodies[body]) if _has_disk(model, (body,)) else model.surface(body)
            for body in pair
        )
        return closest_on_surfaces(first, second, states[[a, b]], size)
    return _closest_by_moving(model, pair, states, axis, gap)


def exact_separation(model: Model, pair: Pair, states: Array) -> tuple[Array, float]:
    """`collision.pair_gap` of two convex shapes, or of a cylinder and a mesh, also where they are distant."""
    a, b = pair
    first, second, size = model.shapes[a], model.shapes[b], pair_size(model, pair)
    assert first is not None
    assert second is not None
    if model.is_mesh[b]:
        return cylinder_pairs.surface_distance(first, model.surface(b), states[[a, b]], size)
    if model.is_mesh[a]:
        axis, gap = cylinder_pairs.surface_distance(second, model.surface(a), states[[b, a]], size)
        return -axis, gap
    return separation_kernels.pair_separation(first, states[a], second, states[b], size)


def _prism_around(body: Body) -> FeatureMesh:
    """The surface of a prism that holds a cylinder, 0.2 % wider, for depths in meshes."""
    vertices, triangles = body.shape.surface()
    wider = 1.0 / math.cos(math.pi / SURFACE_SEGMENTS)
    return feature_mesh(Mesh((vertices * (wider, wider, 1.0), triangles)), body.shape_offset)


def _has_disk(model: Model, bodies: Iterable[int]) -> bool:
    return any(shape is not None and shape.disk > 0.0 for shape in (model.shapes[body] for body in bodies))


def _closest_by_moving(
    model: Model, pair: Pair, states: Array, axis: Array, gap: float
) -> tuple[Array, float, Array]:
    """The first body is moved along the axis until both touch: a contact there is a point of both."""
    a, b = pair
    size = pair_size(model, pair)
    normal, sign = axis, gap
    moved, way = states.copy(), np.zeros(3)
    # once is enough where features define the axis; where GJK found it, it is only known to 1e-8, and the
    # best axis of a cylinder that is in deep may only be found at touch
    for _ in range(8):
        way += gap * axis
        moved[a, :3] = states[a, :3] - way
        axis, gap = exact_separation(model, pair, moved)
        if gap <= 0.1 * _TOUCH * size:
            break
    within = _TOUCH
    while not len(patch := contact_patch(model, [pair], moved, within)):
        within *= 10.0
    met = patch.point[np.argmin(np.abs(patch.gap))]
    if _has_disk(model, pair) and not (model.is_mesh[a] or model.is_mesh[b]):
        met = _within_both(model, pair, moved, met)
    distance = math.copysign(float(np.linalg.norm(way)), sign)
    if abs(distance) > _WELL_APART * size:
        normal = way / distance
    return normal, distance, np.stack([met + way, met])


def _within_both(model: Model, pair: Pair, states: Array, point: Array) -> Array:
    """A point of two touching shapes, from a contact: crossings of a rim that grazes an edge are inexact."""
    size = pair_size(model, pair)
    place = np.zeros(13)
    place[:4] = *point, 1.0
    for _ in range(200):
        worst = 0.0
        for body in pair:
            axis, gap = separation_kernels.pair_separation(
                _POINT, place, model.shapes[body], states[body], size
            )
            if gap > 0.0:
                place[:3] -= gap * axis
                worst = max(worst, gap)
        if worst <= 0.1 * _TOUCH * size:
            break
    return place[:3]


def closest_on_surfaces(
    first: FeatureMesh, second: FeatureMesh, states: Array, size: float
) -> tuple[Array, float, Array]:
    """Unit normal from the second to the first, gap [m] and closest points (2, 3) of two surfaces, world.

    `states` (2, 13) are those of the two bodies, `size` [m] is the length that tolerances scale with.
    """
    pose = mesh_kernels.relative_pose(states[0], states[1])
    found = np.empty(8)
    core = float(mesh_kernels.mesh_distance(first, second, pose, np.inf, found))
    rotation = kernels.rotation_matrix(states[1, 3:7])
    radius = first.radius + second.radius
    cores = found[:6].reshape(2, 3) @ rotation.T + states[1, :3]
    deepest = _deepest(first, second, states)
    if deepest is not None:
        cores, core = deepest, -float(np.linalg.norm(deepest[0] - deepest[1]))
    normal = states[0, :3] - states[1, :3] if core == 0.0 else (cores[0] - cores[1]) / core
    if abs(core) <= (_WELL_APART if radius == 0.0 else _TOUCH) * size:
        rows = mesh_pairs.surface_contacts(
            first, second, states, CONTACT_GAP * size + max(core - radius, 0.0)
        )
        if len(rows):
            normal = rotation @ rows[np.argmin(np.abs(rows[:, 10] + radius - core)), 7:10]
        elif core == 0.0:  # a sheet cuts the other body
            cores[:], normal = _cut(first, second, pose, found, normal @ rotation)
            cores, normal = cores @ rotation.T + states[1, :3], rotation @ normal
    length = float(np.linalg.norm(normal))
    normal = normal / length if length > 0.0 else np.array([0.0, 0.0, 1.0])
    return normal, core - radius, cores + np.array([[-first.radius], [second.radius]]) * normal


def _deepest(first: FeatureMesh, second: FeatureMesh, states: Array) -> Array | None:
    """The point of one body deepest inside the other, and that of its surface nearest to it, world.

    (2, 3): on the first and on the second; None where neither has a corner or a cut edge inside the other.
    """
    best, depth = None, -1.0
    for side, own, other in ((0, first, second), (1, second, first)):
        if not len(other.triangles) or other.sheet:
            continue
        pose = mesh_kernels.relative_pose(states[side], states[1 - side])
        points = own.points @ pose[:9].reshape(3, 3).T + pose[9:12]
        low, high = np.minimum(*points[own.edges.T]), np.maximum(*points[own.edges.T])
        near = (low <= other.high[0]).all(axis=1) & (high >= other.low[0]).all(axis=1)
        middles = mesh_pairs._middles_inside(points, own._replace(edges=own.edges[near]), other)
        candidates = np.concatenate([points, middles])
        candidates = candidates[
            (candidates >= other.low[0]).all(axis=1) & (candidates <= other.high[0]).all(axis=1)
        ]
        rotation, place = kernels.rotation_matrix(states[1 - side, 3:7]), states[1 - side, :3]
        pose, found = np.zeros(18), np.empty(8)
        pose[[0, 4, 8]] = 1.0
        for point in candidates[mesh_pairs.inside(candidates, other)]:
            pose[9:12] = point
            distance = mesh_kernels.mesh_distance(mesh_pairs._point_mesh(), other, pose, np.inf, found)
            if distance > depth:
                depth = distance
                both = np.stack([point, found[3:6]]) @ rotation.T + place
                best = both if side == 0 else both[::-1]
    return best


def _cut(
    first: FeatureMesh, second: FeatureMesh, pose: Array, found: Array, towards: Array
) -> tuple[Array, Array]:
    """A point at which two surfaces cross and a normal there, on the side of `towards`, axes of the second.

    `found` is what `mesh_distance` left. Across the edge of a capsule, which has a side of its own.
    """
    corners = np.empty((2, 3, 3))
    for side, mesh in enumerate((first, second)):
        mesh_kernels.element_corners(
            mesh.points, mesh.triangles, mesh.element_points, mesh.element_triangle, int(found[6 + side]),
            pose, side == 0, corners[side],
        )  # fmt: skip
    for own, other in ((0, 1), (1, 0)):
        normal = np.cross(corners[other, 1] - corners[other, 0], corners[other, 2] - corners[other, 0])
        for a, b in zip(corners[own], np.roll(corners[own], -1, axis=0), strict=True):
            along = mesh_pairs._crossings(a, b, corners[other][None])
            if not len(along):
                continue
            if (first, second)[own].radius > 0.0:
                edge = (b - a) / np.linalg.norm(b - a)
                normal = normal - (normal @ edge) * edge
                if np.linalg.norm(normal) < 1e-9 * np.linalg.norm(towards):
                    normal = tangents_of(edge[None])[0]
            return a + along[0] * (b - a), normal if normal @ towards >= 0.0 else -normal
    return 0.5 * (found[:3] + found[3:6]), towards
