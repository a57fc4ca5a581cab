"""What a motion looks like when it is tracked: differences of rotations, and noise from high differences."""

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

Array = NDArray[np.float64]

_HALF_TURN = -0.999
"""Cosine of an angle beyond which the axis does not follow from the difference to the inverse turn."""


def rotation_of(vectors: Array) -> Array:
    """Rotation matrices (n, 3, 3) of rotation vectors (n, 3) [rad]."""
    return Rotation.from_rotvec(vectors).as_matrix()


def vector_of(rotations: Array) -> Array:
    """Rotation vectors (n, 3) [rad], at most π long, of rotation matrices (n, 3, 3), which are orthogonal: scipy
    sees to that first, and takes three times as long."""
    across = 0.5 * np.stack(
        [
            rotations[:, 2, 1] - rotations[:, 1, 2],
            rotations[:, 0, 2] - rotations[:, 2, 0],
            rotations[:, 1, 0] - rotations[:, 0, 1],
        ],
        axis=-1,
    )
    cosine = 0.5 * (rotations[:, 0, 0] + rotations[:, 1, 1] + rotations[:, 2, 2] - 1.0)
    if cosine.min(initial=1.0) < _HALF_TURN:
        return Rotation.from_matrix(rotations).as_rotvec()
    sine = np.sqrt(np.einsum("ij,ij->i", across, across))
    small = sine < 1e-9
    return across * np.where(small, 1.0, np.arctan2(sine, cosine) / np.where(small, 1.0, sine))[:, None]


def cross_matrices(vectors: Array) -> Array:
    """Matrices (..., 3, 3) whose product with x is the cross product of `vectors` (..., 3) and x."""
    x, y, z = np.moveaxis(np.asarray(vectors, dtype=float), -1, 0)
    zero = np.zeros_like(x)
    rows = [[zero, -z, y], [z, zero, -x], [-y, x, zero]]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def continuous(quaternions: Array) -> Array:
    """The same rotations (n, 4), with signs such that neighbours are near each other."""
    turned = np.einsum("ij,ij->i", quaternions[1:], quaternions[:-1]) < 0.0
    signs = np.concatenate([[1.0], np.where(np.cumsum(turned) % 2, -1.0, 1.0)])
    return quaternions * signs[:, None]


def high_differences(values: Array) -> float:
    """Standard deviation of white noise on rows (n, k) that are smooth otherwise, from their fourth
    differences.

    A median, so that a kink here and there does not count; 70 is the sum of the squared binomials.
    """
    return float(1.4826 * np.median(np.abs(np.diff(values, 4, axis=0))) / np.sqrt(70.0))
