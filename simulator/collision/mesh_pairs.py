"""Pairs of bodies of which one is a triangle mesh: gap, overlap, contacts, next impact."""

from typing import Any

import numpy as np

from ...bodies import Sphere
from ...bodies.distance_kernels import windings
from ..event import Feature
from ..kernels import rotation_matrix
from ..state import Array
from ..tolerances import SAME_NORMAL, SAME_PLACE
from . import mesh_kernels
from .feature_mesh import FeatureMesh, Indices, feature_mesh
from .mesh_kernels import EDGES, POINT_A


def _point_mesh() -> FeatureMesh:
    return feature_mesh(Sphere(1.0))._replace(radius=0.0)


def surface_distance(first: FeatureMesh, second: FeatureMesh, states: Array) -> tuple[Array, float, Array]:
    """Unit normal from the second to the first, gap [m] and closest points (2, 3) of two surfaces, world axes.

    `states` (2, 13) are those of the two bodies. Where the features cross, their distance counts as zero and the
    line between the centres as normal: `overlap_depth` and `surface_contacts` say more.
    """
    pose = mesh_kernels.relative_pose(states[0], states[1])
    found = np.empty(8)
    core = mesh_kernels.mesh_distance(first, second, pose, np.inf, found)
    rotation = rotation_matrix(states[1, 3:7])
    closest = found[:6].reshape(2, 3) @ rotation.T + states[1, :3]
    if core > 0.0:
        normal = (closest[0] - closest[1]) / core
    else:
        centres = states[0, :3] - states[1, :3]
        length = float(np.linalg.norm(centres))
        normal = centres / length if length > 0.0 else np.array([0.0, 0.0, 1.0])
    closest += np.array([[-first.radius], [second.radius]]) * normal
    return normal, core - first.radius - second.radius, closest


def overlap_depth(first: FeatureMesh, second: FeatureMesh, states: Array) -> float:
    """How deep one body reaches into the other [m], 0 if they are apart; a lower bound where edges cross.

    The deepest of the corners of each inside the other, and of the middles of edges that pass through it.
    """
    pose = mesh_kernels.relative_pose(states[0], states[1])
    turn, place = pose[:9].reshape(3, 3), pose[9:12]
    found = np.empty(8)
    core = mesh_kernels.mesh_distance(first, second, pose, np.inf, found)
    depth = first.radius + second.radius - core
    in_second = first.points @ turn.T + place
    in_first = (second.points - place) @ turn
    closest = found[:3], (found[3:6] - place) @ turn
    for points, own, other, touching in (
        (in_second, first, second, closest[0]), (in_first, second, first, closest[1])
    ):  # fmt: skip
        if not len(other.triangles) or other.sheet:
            continue
        if core == 0.0:
            candidates = np.concatenate([points, _middles_inside(points, own, other)])
        else:  # one is inside the other as a whole or not at all; rounding decides about what touches
            candidates = points[[np.argmax(np.linalg.norm(points - touching, axis=1))]]
        box = (candidates >= other.low[0]).all(axis=1) & (candidates <= other.high[0]).all(axis=1)
        candidates = candidates[box]
        within = candidates[inside(candidates, other)]
        if core > 0.0 and len(within):
            within = points
        for point in within:
            depth = max(depth, own.radius + distance_of_point(point, other))
    return max(0.0, depth)


def distance_of_point(point: Array, mesh: FeatureMesh) -> float:
    """Distance of a point from a mesh's surface, in the mesh's axes."""
    pose = np.zeros(18)
    pose[[0, 4, 8]] = 1.0
    pose[9:12] = point
    return float(mesh_kernels.mesh_distance(_point_mesh(), mesh, pose, np.inf, np.empty(8)))


def _middles_inside(points: Array, own: FeatureMesh, other: FeatureMesh) -> Array:
    """Middles between consecutive places at which edges of `own` pass through the surface of `other`."""
    corners = other.points[other.triangles]
    middles = []
    for a, b in points[own.edges]:
        crossing = _crossings(a, b, corners)
        if len(crossing):
            stops = np.sort(np.concatenate([[0.0], crossing, [1.0]]))
            middles.append(a + (0.5 * (stops[1:] + stops[:-1]))[:, None] * (b - a))
    return np.concatenate(middles) if middles else np.zeros((0, 3))


def _crossings(a: Array, b: Array, corners: Array) -> Array:
    """Where along a-b (0 to 1) it passes through triangles (T, 3, 3)."""
    u, v = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    normal = np.cross(u, v)
    along = normal @ (b - a)
    with np.errstate(all="ignore"):
        s = np.einsum("ij,ij->i", normal, corners[:, 0] - a) / along
        hit = a + s[:, None] * (b - a) - corners[:, 0]
        square = np.einsum("ij,ij->i", normal, normal)
        gamma = np.einsum("ij,ij->i", np.cross(u, hit), normal) / square
        beta = np.einsum("ij,ij->i", np.cross(hit, v), normal) / square
        inside = (s > 0.0) & (s < 1.0) & (beta >= 0.0) & (gamma >= 0.0) & (beta + gamma <= 1.0)
    return s[inside]


def inside(points: Array, mesh: FeatureMesh) -> Any:
    """Which points (n, 3), in a closed mesh's axes, it encloses, by its winding number."""
    return windings(points, mesh.points[mesh.triangles]) > 0.5


def surface_contacts(first: FeatureMesh, second: FeatureMesh, states: Array, tolerance: float) -> Array:
    """Rows (n, 12) of all features within `tolerance` [m], as `mesh_kernels.mesh_contacts` fills them."""
    pose = mesh_kernels.relative_pose(states[0], states[1])
    rows = np.empty((64, 12))
    while True:
        count = mesh_kernels.mesh_contacts(first, second, pose, tolerance, rows)
        if count <= len(rows):
            return rows[:count]
        rows = np.empty((count, 12))


def merged_contacts(
    first: FeatureMesh, second: FeatureMesh, states: Array, rows: Array, size: float
) -> tuple[list[int], Array, Array]:
    """Which rows are contacts of their own, their normals (k, 3) in the second body's axes and gaps (k,) [m].

    Features that touch at one place with one normal are one contact. Where several normals are possible and one
    of them alone keeps the surfaces around the place apart (an edge or corner that meets an edge or corner),
    the contact has the mean of those; where none does (a corner in a concave corner) all of them are contacts.
    """
    kept: list[int] = []
    normals: list[Array] = []
    gaps: list[float] = []
    # at one place faces come before edges and corners: over a face that begins there the contact goes on
    order = np.lexsort((np.arange(len(rows)), (rows[:, 3] + 2) // 3, rows[:, 0] == EDGES))
    places: list[list[int]] = []
    for k in order:
        for group in places:
            if np.linalg.norm(rows[group[0], 4:7] - rows[k, 4:7]) <= SAME_PLACE * size:
                group.append(int(k))
                break
        else:
            places.append([int(k)])
    for group in places:
        distinct: list[int] = []
        for k in group:
            if all(np.linalg.norm(rows[k, 7:10] - rows[m, 7:10]) > SAME_NORMAL for m in distinct):
                distinct.append(k)
        if len(distinct) > 1:
            alone = [k for k in distinct if _separates(first, second, states, rows[k], size)]
            if alone:
                together = rows[alone, 7:11].sum(axis=0)
                together /= np.linalg.norm(together[:3])
                kept.append(alone[0])
                normals.append(together[:3])
                gaps.append(together[3])
                continue
        kept.extend(distinct)
        normals.extend(rows[k, 7:10] for k in distinct)
        gaps.extend(rows[k, 10] for k in distinct)
    ordered = sorted(range(len(kept)), key=lambda k: tuple(rows[kept[k], :3]))
    return [kept[k] for k in ordered], np.array(normals).reshape(-1, 3)[ordered], np.array(gaps)[ordered]


def _separates(first: FeatureMesh, second: FeatureMesh, states: Array, row: Array, size: float) -> bool:
    """Whether the plane of a contact has all triangles that meet at its place on their sides."""
    pose = mesh_kernels.relative_pose(states[0], states[1])
    turn, place = pose[:9].reshape(3, 3), pose[9:12]
    point, normal = row[4:7], row[7:10]
    for mesh, where, sign in ((first, (point - place) @ turn, 1.0), (second, point, -1.0)):
        axis = sign * (normal @ turn if mesh is first else normal)
        near = triangles_at(mesh, where, SAME_PLACE * size + mesh.radius)
        for t in near:
            arms = mesh.points[mesh.triangles[t]] - where
            if (arms @ axis < -mesh.radius - 1e-6 * np.linalg.norm(arms, axis=1) - SAME_PLACE * size).any():
                return False
    return True


def triangles_at(mesh: FeatureMesh, point: Array, reach: float) -> list[int]:
    found = []
    first_leaf = len(mesh.leaf) - 1
    waiting = [0]
    while waiting:
        node = waiting.pop()
        if ((mesh.low[node] - reach > point) | (mesh.high[node] + reach < point)).any():
            continue
        if node >= first_leaf:
            t = int(mesh.element_triangle[mesh.leaf[node - first_leaf]])
            if t >= 0:
                x, y, z, _ = mesh_kernels.closest_on_triangle(*point, *mesh.points[mesh.triangles[t]].ravel())
                if np.linalg.norm(point - (x, y, z)) <= reach:
                    found.append(t)
        else:
            waiting += [2 * node + 1, 2 * node + 2]
    return found


def features_of_row(
    first: FeatureMesh, second: FeatureMesh, states: Array, row: Array
) -> tuple[tuple[int, int], tuple[int, int], Array]:
    """What each body touches with in a row of contacts: features, their numbers, directions (2, 3) in the world."""
    kind, i, j, region = (int(value) for value in row[:4])
    along = np.zeros((2, 3))
    if kind == EDGES:
        for side, (mesh, edge) in enumerate(((first, i), (second, j))):
            along[side] = _edge_direction(mesh, states[side], mesh.edges[edge])
        return (Feature.EDGE, Feature.EDGE), (i, j), along
    side = 1 if kind == POINT_A else 0  # of the triangle
    other = Feature.FACE if region == 0 else Feature.EDGE if region <= 3 else Feature.POINT
    number = j
    if region > 0:
        mesh, element = (first, second)[side], int(row[11])
        t = int(mesh.element_triangle[element])
        corners = mesh.triangles[t] if t >= 0 else mesh.element_points[element]
        corners = np.where(
            corners >= 0, corners, corners[corners >= 0][-1]
        )  # an edge or point repeats its last
        if other is Feature.EDGE:
            ends = np.sort(corners[[region - 1, region % 3]])
            along[side] = _edge_direction(mesh, states[side], ends)
            same = np.flatnonzero((mesh.edges == ends).all(axis=1))
            number = int(same[0]) if len(same) else -1
        else:
            number = int(corners[region - 4])
    features = (Feature.POINT, other) if side == 1 else (other, Feature.POINT)
    return features, (i, number) if side == 1 else (number, i), along


def _edge_direction(mesh: FeatureMesh, state: Array, ends: Indices) -> Array:
    direction = rotation_matrix(state[3:7]) @ (mesh.points[ends[1]] - mesh.points[ends[0]])
    return direction / np.linalg.norm(direction)


def known_contacts(
    first: FeatureMesh, second: FeatureMesh, states: Array, tolerance: float, size: float
) -> Array:
    """Places and normals (k, 6), axes of the second body, of what touches now, as `mesh_impact` takes them."""
    rows = surface_contacts(first, second, states, tolerance)
    kept, normals, _ = merged_contacts(first, second, states, rows, size)
    return np.concatenate([rows[kept, 4:7], normals], axis=1)


def contacts_between(
    first: FeatureMesh, second: FeatureMesh, states: Array, tolerance: float, size: float
) -> tuple[Array, Array, Array, Indices, Indices, Array, Array]:
    """Contacts within `tolerance` [m]: points, normals, gaps, features, their numbers, directions, radii; world."""
    rows = surface_contacts(first, second, states, tolerance)
    kept, normals, gaps = merged_contacts(first, second, states, rows, size)
    rotation = rotation_matrix(states[1, 3:7])
    features = [features_of_row(first, second, states, row) for row in rows[kept]]
    count = len(kept)
    return (
        rows[kept, 4:7] @ rotation.T + states[1, :3],
        normals @ rotation.T,
        gaps,
        np.array([feature[0] for feature in features], dtype=np.int64).reshape(count, 2),
        np.array([feature[1] for feature in features], dtype=np.int64).reshape(count, 2),
        np.array([feature[2] for feature in features]).reshape(count, 2, 3),
        np.tile([first.radius, second.radius], (count, 1)),
    )
