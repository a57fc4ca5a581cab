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
    quaternion = np.asarray(orientation, dtype=float)
    w, x, y, z = (quaternion[..., k] for k in range(4))
    matrix = np.empty((*quaternion.shape[:-1], 3, 3))  # filled in place: stacking takes twice as long
    xx, yy, zz, xy, xz, yz = x * x, y * y, z * z, x * y, x * z, y * z
    wx, wy, wz = w * x, w * y, w * z
    matrix[..., 0, 0], matrix[..., 1, 1], matrix[..., 2, 2] = (
        1 - 2 * (yy + zz),
        1 - 2 * (xx + zz),
        1 - 2 * (xx + yy),
    )
    matrix[..., 0, 1], matrix[..., 1, 0] = 2 * (xy - wz), 2 * (xy + wz)
    matrix[..., 0, 2], matrix[..., 2, 0] = 2 * (xz + wy), 2 * (xz - wy)
    matrix[..., 1, 2], matrix[..., 2, 1] = 2 * (yz - wx), 2 * (yz + wx)
    return matrix


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
