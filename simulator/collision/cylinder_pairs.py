"""Pairs of a cylinder and a triangle mesh: gap, overlap, contacts, next impact. The cylinder is first here."""

from typing import Any

import numpy as np

from ...bodies import Capsule, Cylinder
from ..event import Feature
from ..kernels import rotation_matrix
from ..state import Array
from ..tolerances import APPROACH_SPEED, CONTACT_GAP, STAR_SLOPE
from . import cylinder_kernels, frames_kernels, mesh_kernels, mesh_pairs
from .collision_shape import CollisionShape, collision_shape
from .feature_mesh import FeatureMesh, Indices, feature_mesh
from .mesh_kernels import BAND

_ANGLES = 2.0 * np.pi * np.arange(16) / 16  # of the points of a rim that are looked at for overlap


def _around_its_middle(cylinder: CollisionShape) -> tuple[CollisionShape, Array]:
    """The cylinder with its middle as origin, and where that is from the body's centre of mass (3,) [m]."""
    middle = 0.5 * (cylinder.points[0] + cylinder.points[1])
    if middle.any():
        length = float(cylinder.points[1, 2] - cylinder.points[0, 2])
        cylinder = collision_shape(Cylinder(cylinder.disk, length))
    return cylinder, middle


def _seen_from_its_middle(cylinder: CollisionShape, states: Array) -> tuple[CollisionShape, Array]:
    """The cylinder with its middle as origin, and `states` (2, 13) with that of its middle."""
    cylinder, middle = _around_its_middle(cylinder)
    if middle.any():
        states = states.copy()
        frames_kernels.carry_to(states[0], middle)
    return cylinder, states


def surface_distance(
    cylinder: CollisionShape, mesh: FeatureMesh, states: Array, size: float
) -> tuple[Array, float]:
    """Unit normal from the mesh to the cylinder and gap [m]; `states` (2, 13).

    Where the mesh reaches into the cylinder the gap is zero and the normal is the line between the centres:
    `overlap_depth` and `contacts_between` say more.
    """
    cylinder, states = _seen_from_its_middle(cylinder, states)
    *axis, gap = cylinder_kernels.cylinder_distance(cylinder, states[0], mesh, states[1], size)
    if gap >= -BAND * size:
        return np.array(axis), float(gap)
    centres = states[0, :3] - states[1, :3]
    length = float(np.linalg.norm(centres))
    return (centres / length if length > 0.0 else np.array([0.0, 0.0, 1.0])), 0.0


def signed_gap(cylinder: CollisionShape, mesh: FeatureMesh, states: Array, size: float) -> float:
    """Gap to the closest triangle [m], or of the deepest where triangles reach into the cylinder."""
    cylinder, states = _seen_from_its_middle(cylinder, states)
    return float(cylinder_kernels.cylinder_distance(cylinder, states[0], mesh, states[1], size)[3])


def overlap_depth(cylinder: CollisionShape, mesh: FeatureMesh, states: Array, size: float) -> float:
    """How deep they reach into each other [m], 0 if they are apart; a lower bound.

    The deepest of triangles in the cylinder, of points of edges in it, and of points of the cylinder in a closed
    mesh.
    """
    cylinder, states = _seen_from_its_middle(cylinder, states)
    depth = -signed_gap(cylinder, mesh, states, size)
    turn, other = rotation_matrix(states[0, 3:7]), rotation_matrix(states[1, 3:7])
    shift = states[1, :3] - states[0, :3]
    points = (mesh.points @ other.T + shift) @ turn
    half = float(cylinder.points[1, 2])
    a, b = points[mesh.edges[:, 0]], points[mesh.edges[:, 1]]
    along = b - a
    middle = np.clip(-np.sum(a * along, axis=1) / np.sum(along * along, axis=1), 0.0, 1.0)
    within = np.concatenate([points, a + middle[:, None] * along])
    depths = np.minimum(cylinder.disk - np.hypot(within[:, 0], within[:, 1]), half - np.abs(within[:, 2]))
    depth = max(depth, float(depths.max()))
    if not mesh.sheet:
        rim = cylinder.disk * np.column_stack([np.cos(_ANGLES), np.sin(_ANGLES), 0.0 * _ANGLES])
        disk = np.append(rim, np.zeros((1, 3)), axis=0)
        samples = np.concatenate([disk + np.array([0.0, 0.0, z]) for z in (-half, 0.0, half)])
        samples = (samples @ turn.T - shift) @ other
        inside = (samples >= mesh.low[0]).all(axis=1) & (samples <= mesh.high[0]).all(axis=1)
        samples = samples[inside]
        for point in samples[mesh_pairs.inside(samples, mesh)]:
            depth = max(depth, mesh_pairs.distance_of_point(point, mesh))
    return max(0.0, depth)


def contacts_between(
    cylinder: CollisionShape, mesh: FeatureMesh, states: Array, tolerance: float, size: float
) -> tuple[Array, Array, Array, Indices, Indices, Array, Array]:
    """Contacts within `tolerance` [m]: points, normals, gaps, features, their numbers, directions, radii; world."""
    cylinder, states = _seen_from_its_middle(cylinder, states)
    rows = np.empty((64, cylinder_kernels.ROW))
    count = cylinder_kernels.cylinder_contacts(cylinder, states[0], mesh, states[1], size, tolerance, rows)
    if count > len(rows):
        rows = np.empty((count, cylinder_kernels.ROW))
        cylinder_kernels.cylinder_contacts(cylinder, states[0], mesh, states[1], size, tolerance, rows)
    rows = rows[:count]
    if not count:
        rows = _grazing(cylinder, mesh, states, tolerance, size)
    return (
        rows[:, 4:7].copy(),
        rows[:, 7:10].copy(),
        rows[:, 10].copy(),
        rows[:, [0, 2]].astype(np.int64),
        rows[:, [1, 3]].astype(np.int64),
        rows[:, 11:17].reshape(-1, 2, 3).copy(),
        np.column_stack([rows[:, 17], np.zeros(len(rows))]),
    )


def _grazing(
    cylinder: CollisionShape, mesh: FeatureMesh, states: Array, tolerance: float, size: float
) -> Array:
    """Where no features lie on each other but the bodies touch (a corner at a rim): the one closest place."""
    *axis, gap = cylinder_kernels.cylinder_distance(cylinder, states[0], mesh, states[1], size)
    if abs(gap) > tolerance + CONTACT_GAP * size:
        return np.zeros((0, cylinder_kernels.ROW))
    turn = rotation_matrix(states[0, 3:7])
    x, y, z = turn.T @ np.array(axis)
    across = np.hypot(x, y)
    share = cylinder.disk / across if across > 0.0 else 0.0
    end = int(z < 0.0)
    height = cylinder.points[end, 2]
    lies = abs(z) <= STAR_SLOPE  # the side touches: where along it, the closest point of the axis tells
    if lies:
        found = np.empty(8)
        line = feature_mesh(Capsule(1.0, 2.0 * cylinder.points[1, 2]))
        mesh_kernels.mesh_distance(line, mesh, mesh_kernels.relative_pose(*states), np.inf, found)
        place = rotation_matrix(states[1, 3:7]) @ found[:3] + states[1, :3] - states[0, :3]
        height = float(turn[:, 2] @ place)
    lowest = np.array([-share * x, -share * y, height])
    row = np.zeros((1, cylinder_kernels.ROW))
    row[0, :4] = Feature.EDGE if lies else Feature.RIM, 0 if lies else end, Feature.POINT, -1
    row[0, 4:7] = states[0, :3] + turn @ lowest - 0.5 * gap * np.array(axis)
    row[0, 7:11] = *axis, gap
    row[0, 11:14], row[0, 17] = turn[:, 2], cylinder.disk
    return row


def impact(
    cylinder: CollisionShape,
    mesh: FeatureMesh,
    pieces: Any,
    bounds: Any,
    ages: Any,
    span: float,
    size: float,
    slow: float = APPROACH_SPEED,
) -> tuple[float, int]:
    """First time in [0, span] [s] at which they meet, as `collision.pair_impact` tells it."""
    cylinder, middle = _around_its_middle(cylinder)
    own = bounds[0].copy()
    own[3] += own[4] * np.linalg.norm(middle)  # which goes round the centre of mass
    return cylinder_kernels.cylinder_impact(
        cylinder,
        middle,
        pieces[0],
        own,
        ages[0],
        mesh,
        pieces[1],
        bounds[1],
        ages[1],
        span,
        size,
        slow,
    )
