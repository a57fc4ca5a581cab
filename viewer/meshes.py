"""Triangles ready to draw: positions and normals of every corner, from the surfaces of shapes."""

from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np

CREASE_ANGLE = np.radians(30.0)  # faces that meet at less are shaded as one smooth surface


@dataclass(frozen=True)
class Mesh:
    """Separate triangles: `positions` and unit `normals` (3 * faces, 3) float32, a row for each corner."""

    positions: np.ndarray
    normals: np.ndarray
    is_round: bool  # most of its surface is shaded smoothly
    is_sphere: bool = False


def mesh_of_surface(vertices: Any, faces: Any) -> Mesh:
    """Make a mesh of (V, 3) vertices and (F, 3) outward faces, smooth across edges under the crease angle."""
    vertices = np.asarray(vertices, dtype=float)
    faces = np.asarray(faces, dtype=np.int64)
    corners = vertices[faces]
    doubled_area = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    size = np.linalg.norm(doubled_area, axis=1)
    extent = np.ptp(vertices, axis=0).max() if len(vertices) else 0.0
    kept = size > 1e-14 * extent**2
    faces, corners, doubled_area, size = faces[kept], corners[kept], doubled_area[kept], size[kept]
    if np.einsum("fi,fi->", corners.mean(axis=1) - vertices.mean(axis=0), doubled_area) < 0:
        faces, corners, doubled_area = faces[:, ::-1], corners[:, ::-1], -doubled_area
    face_normals = doubled_area / size[:, None]
    normals = _corner_normals(_merged(vertices, extent)[faces], face_normals, _corner_angles(corners))
    turned = np.einsum("fci,fi->fc", normals, face_normals) < 1 - 1e-6
    is_round = bool(size[turned.any(axis=1)].sum() > 0.5 * size.sum())
    return Mesh(
        corners.reshape(-1, 3).astype(np.float32), normals.reshape(-1, 3).astype(np.float32), is_round
    )


@cache
def unit_sphere(subdivisions: int = 3) -> Mesh:
    """A sphere of radius 1 from an icosahedron whose faces are split in four `subdivisions` times."""
    golden = (1 + 5**0.5) / 2
    base = [(-1, golden), (1, golden), (-1, -golden), (1, -golden)]
    vertices = [(x, y, 0) for x, y in base] + [(0, x, y) for x, y in base] + [(y, 0, x) for x, y in base]
    points = np.array(vertices, dtype=float) / np.hypot(1, golden)
    edge = min(np.linalg.norm(points[0] - other) for other in points[1:])
    triangles = [
        [a, b, c] if np.linalg.det(points[[a, b, c]]) > 0 else [a, c, b]
        for a in range(12)
        for b in range(a + 1, 12)
        for c in range(b + 1, 12)
        if all(np.linalg.norm(points[i] - points[j]) < 1.01 * edge for i, j in ((a, b), (b, c), (a, c)))
    ]
    corners = points[np.array(triangles)]
    for _ in range(subdivisions):
        a, b, c = corners[:, 0], corners[:, 1], corners[:, 2]
        ab, bc, ca = (_unit(pair) for pair in (a + b, b + c, c + a))
        parts = [(a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca)]
        corners = np.concatenate([np.stack(part, axis=1) for part in parts])
    positions = corners.reshape(-1, 3).astype(np.float32)
    return Mesh(positions, positions, True, is_sphere=True)


@cache
def unit_arrow(sides: int = 20) -> Mesh:
    """An arrow of length 1 from the origin along z."""
    profile = [(0.0, 0.0), (0.035, 0.0), (0.035, 0.7), (0.09, 0.7), (0.0, 1.0)]  # radius, height
    angles = 2 * np.pi * np.arange(sides) / sides
    rings = [
        np.stack([r * np.cos(angles), r * np.sin(angles), np.full(sides, z)], axis=1) for r, z in profile
    ]
    step = np.arange(sides)
    following = (step + 1) % sides
    faces = []
    for lower, upper in pairwise(range(len(profile))):
        low, high = lower * sides, upper * sides
        faces.append(np.stack([low + step, low + following, high + following], axis=1))
        faces.append(np.stack([low + step, high + following, high + step], axis=1))
    return mesh_of_surface(np.concatenate(rings), np.concatenate(faces))


@cache
def unit_cone(sides: int = 48) -> Mesh:
    """The side of a cone with its tip at the origin and a rim of radius 1 at z = 1."""
    angles = 2 * np.pi * np.arange(sides + 1) / sides
    middles = (angles[1:] + angles[:-1]) / 2
    rim = np.stack([np.cos(angles), np.sin(angles), np.ones(sides + 1)], axis=1)
    corners = np.stack([np.zeros((sides, 3)), rim[:-1], rim[1:]], axis=1)

    def normals(turn: np.ndarray) -> np.ndarray:
        return np.stack([np.cos(turn), np.sin(turn), np.full(len(turn), -1.0)], axis=1) / np.sqrt(2)

    facing = np.stack([normals(middles), normals(angles[:-1]), normals(angles[1:])], axis=1)
    shape = (-1, 3)
    return Mesh(corners.reshape(shape).astype(np.float32), facing.reshape(shape).astype(np.float32), True)


@cache
def unit_ring(sides: int = 48, thickness: float = 0.06) -> Mesh:
    """A flat ring of outer radius 1 about z."""
    angles = 2 * np.pi * np.arange(sides + 1) / sides
    outer = np.stack([np.cos(angles), np.sin(angles), np.zeros(sides + 1)], axis=1)
    inner = outer * (1 - thickness)
    first = np.stack([inner[:-1], outer[:-1], outer[1:]], axis=1)
    second = np.stack([inner[:-1], outer[1:], inner[1:]], axis=1)
    positions = np.concatenate([first, second]).reshape(-1, 3).astype(np.float32)
    return Mesh(positions, np.tile(np.array([0, 0, 1], dtype=np.float32), (len(positions), 1)), False)


def _corner_normals(faces: np.ndarray, face_normals: np.ndarray, angles: np.ndarray) -> np.ndarray:
    """Normals (F, 3 corners, 3): the mean, by angle, of the faces there within the crease angle."""
    corner_vertex = faces.reshape(-1)
    order = np.argsort(corner_vertex, kind="stable")
    _, first, count = np.unique(corner_vertex[order], return_index=True, return_counts=True)
    group = np.repeat(np.arange(len(count)), count)  # of each corner in `order`
    partners = count[group]
    one = np.repeat(np.arange(len(order)), partners)
    begin = np.cumsum(partners) - partners
    other = first[group[one]] + np.arange(len(one)) - begin[one]
    one_corner, other_corner = order[one], order[other]
    other_face = other_corner // 3
    near = np.einsum("pi,pi->p", face_normals[one_corner // 3], face_normals[other_face]) > np.cos(
        CREASE_ANGLE
    )
    one_corner, other_face, weight = (
        one_corner[near],
        other_face[near],
        angles.reshape(-1)[other_corner[near]],
    )
    sums = np.empty((len(corner_vertex), 3))
    for axis in range(3):
        sums[:, axis] = np.bincount(
            one_corner, weight * face_normals[other_face, axis], minlength=len(corner_vertex)
        )
    return _unit(sums).reshape(-1, 3, 3)


def _corner_angles(corners: np.ndarray) -> np.ndarray:
    """The angles (F, 3) of triangles (F, 3 corners, 3)."""
    following = _unit(np.roll(corners, -1, axis=1) - corners)
    return np.arccos(np.clip(-np.einsum("fci,fci->fc", following, np.roll(following, 1, axis=1)), -1, 1))


def _merged(vertices: np.ndarray, extent: float) -> np.ndarray:
    """For each vertex the number of its place, so that vertices at one place share a number."""
    if extent == 0:
        return np.zeros(len(vertices), dtype=np.int64)
    _, places = np.unique(np.round(vertices / (extent * 1e-7)), axis=0, return_inverse=True)
    return places.reshape(-1)


def _unit(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)
