"""How far a contact on a triangle mesh is from where its feature ends."""

import numpy as np
from numpy.typing import NDArray

from ..event import Feature
from . import mesh_kernels
from .feature_mesh import FeatureMesh

Array = NDArray[np.float64]
_NEAR = 1e-6  # [of the size] within which an edge is that of a contact


def mesh_room(
    mesh: FeatureMesh, feature: int, number: int, place: Array, normal: Array, rounded: bool, size: float
) -> float:
    """Room [m] of a contact at a place, with this outward normal, both in the mesh's axes: below zero it is beyond
    its feature.

    feature, number : what the mesh touches with, and which; rounded : whether what touches it is round
    size : [m] by which directions are measured
    """
    if feature == Feature.FACE:
        return -_distance_of_group(mesh, number, place)
    if feature == Feature.POINT:
        return _room_at_point(mesh, number, normal, size) if rounded and number >= 0 else np.inf
    if feature != Feature.EDGE:
        return np.inf
    edge = number if number >= 0 else _edge_at(mesh, place, size)
    if edge < 0:
        return -np.inf
    a, b = mesh.points[mesh.edges[edge]]
    length = float(np.linalg.norm(b - a))
    along = float((place - a) @ (b - a)) / length
    room = min(along, length - along)
    if rounded:
        spread = mesh.spread[mesh.spread_start[edge] : mesh.spread_start[edge + 1]]
        room = min(room, float(-size * (spread @ normal).max(initial=-np.inf)))
    return room


def _distance_of_group(mesh: FeatureMesh, group: int, place: Array) -> float:
    """Distance [m] of a place from the triangles of a group."""
    nearest = np.inf
    for triangle in np.flatnonzero(mesh.group == group).tolist():
        x, y, z, _ = mesh_kernels.closest_on_triangle(*place, *mesh.points[mesh.triangles[triangle]].ravel())
        nearest = min(nearest, float(np.hypot(np.hypot(x - place[0], y - place[1]), z - place[2])))
        if nearest == 0.0:
            break
    # a place on the face is off its plane by rounding, and by the gap
    return nearest


def _room_at_point(mesh: FeatureMesh, point: int, normal: Array, size: float) -> float:
    """What the normal at a corner leaves to the edges there, times the size."""
    others = mesh.star[mesh.star_start[point] : mesh.star_start[point + 1]]
    ways = mesh.points[others] - mesh.points[point]
    ways /= np.linalg.norm(ways, axis=1)[:, None]
    return float(-size * (ways @ normal).max(initial=-np.inf))


def _edge_at(mesh: FeatureMesh, place: Array, size: float) -> int:
    """The edge that passes through a place, -1 where none does."""
    if not len(mesh.edges):
        return -1
    a, b = mesh.points[mesh.edges[:, 0]], mesh.points[mesh.edges[:, 1]]
    way = b - a
    share = np.clip(np.einsum("ei,ei->e", place - a, way) / np.einsum("ei,ei->e", way, way), 0.0, 1.0)
    away = np.linalg.norm(place - a - share[:, None] * way, axis=1)
    nearest = int(np.argmin(away))
    return nearest if away[nearest] <= _NEAR * size else -1
