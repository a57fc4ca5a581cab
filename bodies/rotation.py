"""Quaternions (w, x, y, z) and the rotations they stand for."""

import numpy as np
from numpy.typing import NDArray

from .tolerances import UNIT_ROUNDING

Array = NDArray[np.float64]


def is_unit(vector: Array) -> bool:
    """Whether a vector or quaternion is of unit length but for rounding: it is then kept bit for bit, so that one
    that is written and read again is the same."""
    with np.errstate(over="ignore"):
        return bool(abs(float(vector @ vector) - 1.0) <= UNIT_ROUNDING)


def rotation_matrices(orientation: Array) -> Array:
    """Rotation matrices (..., 3, 3) body to world of unit quaternions (..., 4)."""
    w, x, y, z = np.moveaxis(np.asarray(orientation, dtype=float), -1, 0)
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def conjugate(quaternion: Array) -> Array:
    """The unit quaternion (4,) that turns back."""
    return quaternion * np.array([1.0, -1.0, -1.0, -1.0])


def quaternion_product(first: Array, second: Array) -> Array:
    """Product (4,) of two quaternions: the turn of the second, then that of the first."""
    w, x, y, z = first
    a, b, c, d = second
    return np.array(
        [
            w * a - x * b - y * c - z * d,
            w * b + x * a + y * d - z * c,
            w * c - x * d + y * a + z * b,
            w * d + x * c - y * b + z * a,
        ]
    )
