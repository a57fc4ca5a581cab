"""Which pairs of bodies meet next, and where exactly they touch at an event.

Choice of method (measured candidates: sampling, conservative advancement on distances, root brackets): one
quadratic that lies under every gap of a pair is advanced root by root. It can pass nothing, needs no
bracket, and near an impact converges like Newton's method because the quadratic is then exact to second
order. Directions come from separating axes where faces meet and from closest points elsewhere.
"""

import numpy as np
from numpy.typing import NDArray

from . import kernels
from .event import ContactPatch, Feature
from .state import Array, Model
from .tolerances import CONTACT_GAP

Pair = tuple[int, int]
_Contact = tuple[Pair, Array, Array, float, tuple[int, int], tuple[int, int], Array, tuple[float, float]]


def collision_pairs(model: Model) -> list[Pair]:
    """Pairs of bodies that can meet: at least one moves; a half-space is always the second."""
    pairs = []
    for i in range(model.count):
        for j in range(i + 1, model.count):
            if not (model.movable[i] or model.movable[j]):
                continue
            pairs.append((j, i) if model.planes[i] is not None else (i, j))
    return pairs


def pair_size(model: Model, pair: Pair) -> float:
    """Length [m] that the tolerances of a pair scale with."""
    a, b = pair
    return float(model.size[a] if model.planes[b] is not None else max(model.size[a], model.size[b]))


def pair_gap(model: Model, pair: Pair, states: Array) -> tuple[Array, float]:
    """Unit normal from the second body to the first and signed gap [m] of a pair."""
    a, b = pair
    shape = model.shapes[a]
    assert shape is not None
    points, _ = kernels.place_points(states[a], shape.points)
    plane = model.planes[b]
    if plane is not None:
        normal, offset = plane
        return normal, float((points @ normal).min() - offset - shape.radius)
    other = model.shapes[b]
    assert other is not None
    apart = float(np.linalg.norm(states[a, :3] - states[b, :3]))
    clear = apart - model.size[a] - model.size[b]
    if clear > 0.01 * apart:  # bounding spheres: a lower bound is all that a distant pair needs
        return (states[a, :3] - states[b, :3]) / apart, clear
    others, _ = kernels.place_points(states[b], other.points)
    return kernels.core_separation(
        states[a], points, shape.normals, shape.edges, shape.radius,
        states[b], others, other.normals, other.edges, other.radius, pair_size(model, pair),
    )  # fmt: skip


def contact_patch(
    model: Model, pairs: list[Pair], states: Array, tolerance: float = CONTACT_GAP
) -> ContactPatch:
    """All contacts of the given pairs whose gap is within `tolerance` times the pair's size."""
    rows: list[_Contact] = []
    for pair in pairs:
        rows.extend(_pair_contacts(model, pair, states, tolerance * pair_size(model, pair)))
    count = len(rows)
    normal = np.array([row[2] for row in rows]).reshape(count, 3)
    tangent = tangents_of(normal)
    return ContactPatch(
        np.array([row[0] for row in rows], dtype=np.int64).reshape(count, 2),
        np.array([row[1] for row in rows]).reshape(count, 3),
        normal,
        tangent,
        np.cross(normal, tangent),
        np.array([row[3] for row in rows]),
        np.array([row[4] for row in rows], dtype=np.int64).reshape(count, 2),
        np.array([row[5] for row in rows], dtype=np.int64).reshape(count, 2),
        np.array([row[6] for row in rows]).reshape(count, 2, 3),
        np.array([row[7] for row in rows], dtype=float).reshape(count, 2),
    )


def tangents_of(normal: Array) -> Array:
    """A unit tangent for each normal: the coordinate axis most across it, made orthogonal."""
    tangent = np.zeros_like(normal)
    axis = np.argmin(np.abs(normal), axis=1) if len(normal) else np.zeros(0, dtype=int)
    tangent[np.arange(len(normal)), axis] = 1.0
    tangent -= np.sum(tangent * normal, axis=1)[:, None] * normal
    return tangent / np.linalg.norm(tangent, axis=1)[:, None]


def _pair_contacts(model: Model, pair: Pair, states: Array, tolerance: float) -> list[_Contact]:
    a, b = pair
    shape = model.shapes[a]
    assert shape is not None
    plane = model.planes[b]
    if plane is not None:
        normal, offset = plane
        points, _ = kernels.place_points(states[a], shape.points)
        gaps = points @ normal - offset - shape.radius
        touching = np.flatnonzero(gaps <= tolerance)
        return [
            (
                pair,
                points[j] - (shape.radius + gaps[j]) * normal,
                normal,
                float(gaps[j]),
                (Feature.POINT, Feature.FACE),
                (int(j), 0),
                np.zeros((2, 3)),
                (shape.radius, 0.0),
            )
            for j in touching
        ]
    normal, gap = pair_gap(model, pair, states)
    if gap > tolerance:
        return []
    other = model.shapes[b]
    assert other is not None
    points, _ = kernels.place_points(states[a], shape.points)
    others, _ = kernels.place_points(states[b], other.points)
    along, along_other = points @ normal, others @ normal
    low, high = along.min(), along_other.max()
    face = points[along <= low + tolerance] - shape.radius * normal
    other_face = others[along_other >= high - tolerance] + other.radius * normal
    middle = 0.5 * (low - shape.radius + high + other.radius)
    found = _common_corners(face, other_face, normal, max(tolerance, 1e-12 * pair_size(model, pair)))
    found += (middle - found @ normal)[:, None] * normal
    flat = len(shape.normals) or len(other.normals)
    features = (Feature.POINT, Feature.FACE if flat else Feature.POINT)
    radii = (shape.radius, other.radius)
    return [(pair, point, normal, float(gap), features, (-1, -1), np.zeros((2, 3)), radii) for point in found]


def _common_corners(face: Array, other: Array, normal: Array, tolerance: float) -> Array:
    """Corners of the overlap of two touching features (point, edge or face each), seen along the normal."""
    if len(face) == 1:
        return face[:1].copy()
    if len(other) == 1:
        return other[:1].copy()
    frame_x = tangents_of(normal[None, :])[0]
    frame = np.stack([frame_x, np.cross(normal, frame_x)])
    first, second = _convex_polygon(face @ frame.T), _convex_polygon(other @ frame.T)
    if len(first) == 2 and len(second) == 2:
        corners = _segment_overlap(first, second, tolerance)
    elif len(first) == 2:
        corners = _clipped(first, second, tolerance)
    elif len(second) == 2:
        corners = _clipped(second, first, tolerance)
    else:
        corners = _clipped(first, second, tolerance)
    kept: list[Array] = []
    for corner in corners:
        if all(np.abs(corner - other_corner).max() > tolerance for other_corner in kept):
            kept.append(corner)
    if not kept:  # features that only graze each other: the middle of the closest corners
        distance = np.linalg.norm(first[:, None] - second[None], axis=2)
        i, j = np.unravel_index(np.argmin(distance), distance.shape)
        kept = [0.5 * (first[i] + second[j])]
    return np.array(kept) @ frame


def _convex_polygon(points: Array) -> Array:
    """Points of a feature in counter-clockwise order."""
    if len(points) <= 2:
        return points
    center = points.mean(axis=0)
    angle = np.arctan2(points[:, 1] - center[1], points[:, 0] - center[0])
    return points[np.argsort(angle, kind="stable")]


def _clipped(subject: Array, polygon: Array, tolerance: float) -> list[Array]:
    """Corners of a segment or convex polygon clipped by a convex polygon (Sutherland and Hodgman)."""
    corners = list(subject)
    closed = len(subject) > 2
    for start, end in zip(polygon, np.roll(polygon, -1, axis=0), strict=True):
        edge = end - start
        inward = np.array([-edge[1], edge[0]]) / np.hypot(*edge)
        heights = [float((corner - start) @ inward) for corner in corners]
        result: list[Array] = []
        for k in range(len(corners)):
            following = (k + 1) % len(corners)
            here, there = heights[k], heights[following]
            if here >= -tolerance:
                result.append(corners[k])
            if (closed or following) and min(here, there) < -tolerance and max(here, there) > tolerance:
                result.append(corners[k] + here / (here - there) * (corners[following] - corners[k]))
        corners = result
        if not corners:
            break
    return corners


def _segment_overlap(first: Array, second: Array, tolerance: float) -> list[Array]:
    """Common points of two touching segments: two if they are parallel, else where they cross."""
    d, e = first[1] - first[0], second[1] - second[0]
    cross = d[0] * e[1] - d[1] * e[0]
    between = second[0] - first[0]
    if abs(cross) > 1e-9 * np.hypot(*d) * np.hypot(*e):
        s = (between[0] * e[1] - between[1] * e[0]) / cross
        return [first[0] + np.clip(s, 0.0, 1.0) * d]
    s = np.sort((second - first[0]) @ d / (d @ d))
    low, high = max(0.0, s[0]), min(1.0, s[1])
    if high < low:
        return []
    return [first[0] + low * d, first[0] + high * d]


def contact_jacobian(
    model: Model, patch: ContactPatch, states: Array
) -> tuple[Array, Array, Array, NDArray[np.int64]]:
    """Contact Jacobian (3 nc, 6 m), inverse mass (6 m, 6 m), velocity (6 m,) and the m movable bodies.

    Rows are (normal, tangent, tangent2) a contact; columns velocity and
    angular velocity, world frame, a body.
    """
    bodies = np.array(sorted({int(b) for b in patch.bodies.ravel() if model.movable[b]}), dtype=np.int64)
    column = {int(body): 6 * k for k, body in enumerate(bodies)}
    jacobian = np.zeros((3 * len(patch), 6 * len(bodies)))
    inverse_mass = np.zeros((6 * len(bodies), 6 * len(bodies)))
    velocity = np.zeros(6 * len(bodies))
    for body, k in column.items():
        rotation = kernels.rotation_matrix(states[body, 3:7])
        inverse_mass[k : k + 3, k : k + 3] = model.inverse_mass[body] * np.eye(3)
        inertia = rotation @ model.inverse_inertia[body] @ rotation.T
        inverse_mass[k + 3 : k + 6, k + 3 : k + 6] = 0.5 * (inertia + inertia.T)
        velocity[k : k + 3] = states[body, 7:10]
        velocity[k + 3 : k + 6] = rotation @ states[body, 10:13]
    for c in range(len(patch)):
        frame = np.stack([patch.normal[c], patch.tangent[c], patch.tangent2[c]])
        for side, sign in ((0, 1.0), (1, -1.0)):
            body = int(patch.bodies[c, side])
            if body in column:
                k = column[body]
                arm = patch.point[c] - states[body, :3]
                jacobian[3 * c : 3 * c + 3, k : k + 3] = sign * frame
                jacobian[3 * c : 3 * c + 3, k + 3 : k + 6] = sign * np.cross(arm, frame)
    return jacobian, inverse_mass, velocity, bodies
