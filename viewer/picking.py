"""Which body lies under the pointer."""

from typing import Any

import numpy as np

from .stage import Stage, rotation_matrices


def pick_body(stage: Stage, state: Any, origin: np.ndarray, direction: np.ndarray) -> int | None:
    """The first body that a ray from `origin` along the unit `direction` (3,) meets, or None; no half-spaces."""
    nearest, found = np.inf, None
    for part in stage.parts:
        position = np.asarray(state.position)[part.bodies]
        for member in np.flatnonzero(_may_meet(origin, direction, position, part.radius)):
            body = int(part.bodies[member])
            rotation = rotation_matrices(np.asarray(state.orientation)[body][None])[0]
            own_origin = rotation.T @ (origin - position[member]) / part.radius[member]
            distance = _meet_mesh(own_origin, rotation.T @ direction, part.mesh.positions)
            distance *= part.radius[member]
            if distance < nearest:
                nearest, found = distance, body
    return found


def _may_meet(
    origin: np.ndarray, direction: np.ndarray, middle: np.ndarray, radius: np.ndarray
) -> np.ndarray:
    """Which of the balls (n,) the ray comes through."""
    to_middle = middle - origin
    along = to_middle @ direction
    aside = np.linalg.norm(to_middle - along[:, None] * direction, axis=1)
    return (aside <= radius) & (along >= -radius)


def _meet_mesh(origin: np.ndarray, direction: np.ndarray, positions: np.ndarray) -> float:
    """The distance at which a ray first meets triangles given by their corners (3 F, 3), infinite if never."""
    corners = positions.astype(float).reshape(-1, 3, 3)
    first, second = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    across = np.cross(direction, second)
    volume = np.einsum("fi,fi->f", first, across)
    volume = np.where(np.abs(volume) > 1e-300, volume, np.nan)
    away = origin - corners[:, 0]
    with np.errstate(invalid="ignore"):
        u = np.einsum("fi,fi->f", away, across) / volume
        turned = np.cross(away, first)
        v = turned @ direction / volume
        distance = np.einsum("fi,fi->f", second, turned) / volume
        hit = (u >= -1e-9) & (v >= -1e-9) & (u + v <= 1 + 1e-9) & (distance > 0)
    return float(distance[hit].min()) if hit.any() else np.inf
