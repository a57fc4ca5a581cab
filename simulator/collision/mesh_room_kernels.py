"""How far a contact on a triangle mesh is from where its feature ends."""

import numpy as np

from ...compiled import kernel
from ..engine.contacts_kernels import EDGE, FACE, POINT
from ..kernels import dot
from .mesh_kernels import closest_on_segment, closest_on_triangle

_NEAR = 1e-6  # [of the size] within which an edge is that of a contact


@kernel()
def mesh_room(mesh, feature, number, x, y, z, nx, ny, nz, rounded, size):
    """Room [m] of a contact at a place (x, y, z) with the outward normal n, both in the mesh's axes: below zero it
    is beyond its feature.

    feature, number : what the mesh touches with, and which; rounded : whether what touches it is round
    size : [m] by which directions are measured
    """
    if feature == FACE:
        return -distance_of_group(mesh, number, x, y, z)
    if feature == POINT:
        return room_at_corner(mesh, number, nx, ny, nz, size) if rounded and number >= 0 else np.inf
    if feature != EDGE:
        return np.inf
    edge = number if number >= 0 else edge_at(mesh, x, y, z, size)
    if edge < 0:
        return -np.inf
    a, b = mesh.points[mesh.edges[edge, 0]], mesh.points[mesh.edges[edge, 1]]
    ux, uy, uz = b[0] - a[0], b[1] - a[1], b[2] - a[2]
    length = np.sqrt(dot(ux, uy, uz, ux, uy, uz))
    along = dot(x - a[0], y - a[1], z - a[2], ux, uy, uz) / length
    room = min(along, length - along)
    if rounded:
        for k in range(mesh.spread_start[edge], mesh.spread_start[edge + 1]):
            s = mesh.spread[k]
            room = min(room, -size * dot(s[0], s[1], s[2], nx, ny, nz))
    return room


@kernel()
def distance_of_group(mesh, group, x, y, z):
    """Distance [m] of a place from the triangles of a group; on the face it is off its plane by rounding, and by
    the gap."""
    nearest = np.inf
    for t in range(mesh.triangles.shape[0]):
        if mesh.group[t] != group:
            continue
        a, b, c = (
            mesh.points[mesh.triangles[t, 0]], mesh.points[mesh.triangles[t, 1]], mesh.points[mesh.triangles[t, 2]],
        )  # fmt: skip
        px, py, pz, _ = closest_on_triangle(x, y, z, a[0], a[1], a[2], b[0], b[1], b[2], c[0], c[1], c[2])
        dx, dy, dz = px - x, py - y, pz - z
        nearest = min(nearest, dot(dx, dy, dz, dx, dy, dz))
        if nearest == 0.0:
            break
    return np.sqrt(nearest)


@kernel()
def room_at_corner(mesh, point, nx, ny, nz, size):
    """What the normal at a corner leaves to the edges there, times the size."""
    p, steepest = mesh.points[point], -np.inf
    for k in range(mesh.star_start[point], mesh.star_start[point + 1]):
        q = mesh.points[mesh.star[k]]
        dx, dy, dz = q[0] - p[0], q[1] - p[1], q[2] - p[2]
        steepest = max(steepest, dot(dx, dy, dz, nx, ny, nz) / np.sqrt(dot(dx, dy, dz, dx, dy, dz)))
    return -size * steepest


@kernel()
def edge_at(mesh, x, y, z, size):
    """The edge that passes through a place, -1 where none does."""
    nearest, which = (_NEAR * size) ** 2, -1
    for e in range(mesh.edges.shape[0]):
        a, b = mesh.points[mesh.edges[e, 0]], mesh.points[mesh.edges[e, 1]]
        px, py, pz, _ = closest_on_segment(x, y, z, a[0], a[1], a[2], b[0], b[1], b[2])
        dx, dy, dz = px - x, py - y, pz - z
        away = dot(dx, dy, dz, dx, dy, dz)
        if away <= nearest:
            nearest, which = away, e
    return which
