"""A camera that orbits a point: its frame, its matrices, and how it is moved by hand.

World coordinates in metres, angles in radians. Matrices are (4, 4) float64 and act on columns.
"""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

STEEPEST = math.pi / 2


@dataclass
class OrbitCamera:
    """Looks at `target` from `distance`; azimuth turns about `up`, elevation rises towards it."""

    target: np.ndarray = field(default_factory=lambda: np.zeros(3))
    distance: float = 1.0
    azimuth: float = math.radians(-65.0)
    elevation: float = math.radians(18.0)
    up: np.ndarray = field(default_factory=lambda: np.array([0.0, 0.0, 1.0]))
    field_of_view: float = math.radians(38.0)  # vertical
    orthographic: bool = False  # all rays parallel; what lies in the target's plane keeps its size

    @property
    def eye(self) -> np.ndarray:
        """Where the camera stands, (3,)."""
        return self.target + self.distance * self._backward()

    def axes(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Unit vectors of the camera in the world: right, up and backward, (3,) each."""
        east, north = perpendiculars(self.up)
        backward = self._backward()
        right = math.cos(self.azimuth) * north - math.sin(self.azimuth) * east  # also seen from the pole
        return right, np.cross(backward, right), backward

    def view(self) -> np.ndarray:
        """World to camera; the camera looks along its own -z."""
        matrix = np.eye(4)
        matrix[:3, :3] = self.axes()
        matrix[:3, 3] = -matrix[:3, :3] @ self.eye
        return matrix

    def projection(self, aspect: float, near: float, far: float) -> np.ndarray:
        """Camera to OpenGL clip coordinates, for a picture of width / height = aspect."""
        scale = 1 / math.tan(self.field_of_view / 2)
        matrix = np.zeros((4, 4))
        if self.orthographic:
            matrix[0, 0] = scale / (aspect * self.distance)
            matrix[1, 1] = scale / self.distance
            matrix[2, 2] = -1 / far  # from as far behind the camera as before it, so that nothing is cut off
            matrix[3, 3] = 1
            return matrix
        matrix[0, 0] = scale / aspect
        matrix[1, 1] = scale
        matrix[2, 2] = (far + near) / (near - far)
        matrix[2, 3] = 2 * far * near / (near - far)
        matrix[3, 2] = -1
        return matrix

    def rays(self, aspect: float, corners: np.ndarray) -> np.ndarray:
        """Directions in the world, not normalised, seen at picture corners (n, 2) in [-1, 1]; as in perspective."""
        right, above, backward = self.axes()
        half_height = math.tan(self.field_of_view / 2)
        return corners[:, :1] * half_height * aspect * right + corners[:, 1:] * half_height * above - backward

    def ray_at(self, aspect: float, spot: tuple[float, float]) -> tuple[np.ndarray, np.ndarray]:
        """Origin and unit direction (3,) in the world of what is seen at a spot of the picture in [-1, 1]."""
        direction = self.rays(aspect, np.array([spot]))[0]
        if self.orthographic:
            backward = self._backward()
            return self.eye + self.distance * (direction + backward), -backward
        return self.eye, direction / np.linalg.norm(direction)

    def project(self, points: np.ndarray, aspect: float) -> np.ndarray:
        """Where points (n, 3) are in the picture, (n, 2) in [-1, 1] if seen; NaN where behind the camera."""
        across, above, towards = np.asarray(self.axes()) @ (np.asarray(points) - self.eye).T
        depth = np.full_like(towards, self.distance) if self.orthographic else -towards
        depth = np.where(depth > 1e-9 * self.distance, depth, np.nan) * math.tan(self.field_of_view / 2)
        return np.stack([across / (depth * aspect), above / depth], axis=1)

    def look_along(self, axis: Any) -> None:
        """Look along a direction (3,) of the world at the target, with `up` above where that can be."""
        axis = np.asarray(axis, dtype=float) / np.linalg.norm(axis)
        east, north = perpendiculars(self.up)
        self.elevation = math.asin(min(max(float(-axis @ self.up), -1.0), 1.0))
        level = -axis - (-axis @ self.up) * self.up
        if np.linalg.norm(level) > 1e-9:
            self.azimuth = math.atan2(float(level @ north), float(level @ east))
        else:
            self.azimuth = -math.pi / 2  # from above, with east to the right

    def orbit(self, azimuth: float, elevation: float) -> None:
        """Turn about the target by two angles."""
        self.azimuth = (self.azimuth + azimuth) % (2 * math.pi)
        self.elevation = min(max(self.elevation + elevation, -STEEPEST), STEEPEST)

    def pan(self, right: float, above: float) -> None:
        """Move the target across the picture by fractions of the picture's height."""
        height = 2 * self.distance * math.tan(self.field_of_view / 2)
        axis_right, axis_up, _ = self.axes()
        self.target = self.target + height * (right * axis_right + above * axis_up)

    def zoom(self, factor: float, spot: tuple[float, float] = (0.0, 0.0), aspect: float = 1.0) -> None:
        """Multiply the distance to the target; what lies in its plane at a spot in [-1, 1] stays there."""
        before = self.distance
        self.distance = max(self.distance * factor, 1e-12)
        half_height = math.tan(self.field_of_view / 2) * (before - self.distance)
        right, above, _ = self.axes()
        self.target = self.target + half_height * (spot[0] * aspect * right + spot[1] * above)

    def frame_all(self, lower: Any, upper: Any, aspect: float, margin: float = 1.12) -> None:
        """Look at the middle of a box, from just so far that all of its corners are in the picture."""
        lower, upper = np.asarray(lower, dtype=float), np.asarray(upper, dtype=float)
        self.target = (lower + upper) / 2
        half = (upper - lower) / 2
        signs = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
        across, above, towards = ((signs * half) @ axis for axis in self.axes())
        half_height = math.tan(self.field_of_view / 2) / margin
        needed = np.maximum(np.abs(above), np.abs(across) / aspect) / half_height
        if not self.orthographic:
            needed = needed + towards
        self.distance = float(max(needed.max(), 1e-9))

    def _backward(self) -> np.ndarray:
        east, north = perpendiculars(self.up)
        level = math.cos(self.azimuth) * east + math.sin(self.azimuth) * north
        return math.cos(self.elevation) * level + math.sin(self.elevation) * self.up


def perpendiculars(axis: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Two unit vectors that make a right-handed frame with a unit axis; x and y when the axis is z."""
    helper = np.array([1.0, 0.0, 0.0]) if abs(axis[0]) < 0.9 else np.array([0.0, 1.0, 0.0])
    first = helper - axis * (helper @ axis)
    first /= np.linalg.norm(first)
    return first, np.cross(axis, first)
