"""Compiled kernels of the engine: rotation series, motion pieces, places of points.

A *piece* of motion is an array (13, TERMS) of Taylor coefficients in the time since its start: position
[m, world], unit quaternion (w, x, y, z) body to world, velocity [m/s, world], angular velocity [rad/s, body].
"""

import math

import numpy as np

from ..compiled import kernel, on_stack
from .tolerances import SERIES_ACCURACY

TERMS = 25


vector2, vector3, vector4, vector6 = on_stack(2), on_stack(3), on_stack(4), on_stack(6)
vector7, vector12, vector13, vector18 = on_stack(7), on_stack(12), on_stack(13), on_stack(18)
matrix2x3, matrix3x3, matrix4x3, matrix6x6 = on_stack(2, 3), on_stack(3, 3), on_stack(4, 3), on_stack(6, 6)
matrix2x13, matrix3x10 = on_stack(2, 13), on_stack(3, 10)
wholes2, wholes4, wholes6 = on_stack(2, whole=True), on_stack(4, whole=True), on_stack(6, whole=True)
_three_series = on_stack(3, TERMS)
"""Arrays of these shapes that last as long as the call of the kernel that makes them."""


@kernel(allocates=True)
def vector(n):
    """A new array of n floats. (Numba compiles a function of its own for every constant in ``np.empty(13)``.)"""
    return np.empty(n)


@kernel(allocates=True)
def zeros(n):
    """n zeros."""
    values = np.empty(n)
    for i in range(n):
        values[i] = 0.0
    return values


@kernel(allocates=True)
def matrix(rows, columns):
    """A new array of floats, by rows."""
    return np.empty((rows, columns))


@kernel(allocates=True)
def wholes(n):
    """A new array of n whole numbers."""
    return np.empty(n, np.int64)


@kernel(allocates=True)
def rotation_matrix(q):
    """Rotation body to world of a unit quaternion (w, x, y, z)."""
    R = matrix(3, 3)
    rotation_matrix_into(q, R)
    return R


@kernel()
def rotation_matrix_into(q, R):
    """Fill R (3, 3) with the rotation body to world of a unit quaternion (w, x, y, z)."""
    w, x, y, z = q[0], q[1], q[2], q[3]
    R[0, 0] = 1 - 2 * (y * y + z * z)
    R[0, 1] = 2 * (x * y - w * z)
    R[0, 2] = 2 * (x * z + w * y)
    R[1, 0] = 2 * (x * y + w * z)
    R[1, 1] = 1 - 2 * (x * x + z * z)
    R[1, 2] = 2 * (y * z - w * x)
    R[2, 0] = 2 * (x * z - w * y)
    R[2, 1] = 2 * (y * z + w * x)
    R[2, 2] = 1 - 2 * (x * x + y * y)


@kernel()
def cross(ax, ay, az, bx, by, bz):
    """Vector product, by components."""
    return ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx


@kernel(forceinline=True)
def ellipsoid_height(semi_axes, mx, my, mz):
    """How far an ellipsoid reaches along a body direction, times the direction's length [m]."""
    ax, ay, az = semi_axes[0] * mx, semi_axes[1] * my, semi_axes[2] * mz
    return np.sqrt(ax * ax + ay * ay + az * az)


@kernel(forceinline=True)
def ellipsoid_lowest(semi_axes, mx, my, mz):
    """Point of an ellipsoid that lies lowest along a body direction, from its middle; zero where there is none."""
    height = ellipsoid_height(semi_axes, mx, my, mz)
    if height == 0.0:
        return 0.0, 0.0, 0.0
    ax, ay, az = semi_axes[0], semi_axes[1], semi_axes[2]
    return -ax * ax * mx / height, -ay * ay * my / height, -az * az * mz / height


@kernel()
def dot(ax, ay, az, bx, by, bz):
    """Scalar product, by components."""
    return ax * bx + ay * by + az * bz


@kernel()
def turned(R, x, y, z):
    """R (x, y, z), by components."""
    return (
        R[0, 0] * x + R[0, 1] * y + R[0, 2] * z,
        R[1, 0] * x + R[1, 1] * y + R[1, 2] * z,
        R[2, 0] * x + R[2, 1] * y + R[2, 2] * z,
    )


@kernel()
def turned_back(R, x, y, z):
    """R^T (x, y, z), by components."""
    return (
        R[0, 0] * x + R[1, 0] * y + R[2, 0] * z,
        R[0, 1] * x + R[1, 1] * y + R[2, 1] * z,
        R[0, 2] * x + R[1, 2] * y + R[2, 2] * z,
    )


@kernel()
def root_of(x, k):
    """The k-th root of x > 0; that of x times 2**(k n) is 2**n times as much, to the bit, so that the unit of time
    does not matter."""
    share, power = math.frexp(x)
    whole = power // k
    return math.ldexp(math.ldexp(share, power - whole * k) ** (1.0 / k), whole)


@kernel()
def _size_of(C, first, count, k):
    """Length of so many coefficients of order k; whatever their unit, their squares can be held."""
    largest = 0.0
    for i in range(first, first + count):
        largest = max(largest, abs(C[i, k]))
    if not 0.0 < largest < np.inf:
        return largest
    power = -math.frexp(largest)[1]
    total = 0.0
    for i in range(first, first + count):
        total += math.ldexp(C[i, k], power) ** 2
    return math.ldexp(np.sqrt(total), -power)


@kernel()
def _turns_finite(C, k):
    """Whether numbers can hold the coefficients of order k of rotation."""
    for i in range(3, 13):
        if not abs(C[i, k]) < np.inf:
            return False
    return True


@kernel()
def free_piece_into(state, acceleration, inertia, inverse_inertia, C):
    """Fill C (13 or more, TERMS) with the Taylor series of free flight from `state` (13,); how long they hold [s].

    Euler's equations w' = J^-1 (J w x w) and q' = q (0, w) / 2 are products of series, so every further
    coefficient is a Cauchy product of the earlier ones.
    """
    for i in range(13):
        for k in range(TERMS):
            C[i, k] = 0.0
        C[i, 0] = state[i]
    for i in range(3):
        C[i, 1] = state[7 + i]
        C[i, 2] = 0.5 * acceleration[i]
        C[7 + i, 1] = acceleration[i]
    spinning = state[10] != 0.0 or state[11] != 0.0 or state[12] != 0.0
    if not spinning:
        return np.inf
    L = _three_series()
    for k in range(TERMS):
        for i in range(3):
            L[i, k] = inertia[i, 0] * C[10, k] + inertia[i, 1] * C[11, k] + inertia[i, 2] * C[12, k]
        if k == TERMS - 1:
            break
        t0 = t1 = t2 = 0.0
        p0 = p1 = p2 = p3 = 0.0
        for i in range(k + 1):
            j = k - i
            w0, w1, w2 = C[10, j], C[11, j], C[12, j]
            t0 += L[1, i] * w2 - L[2, i] * w1
            t1 += L[2, i] * w0 - L[0, i] * w2
            t2 += L[0, i] * w1 - L[1, i] * w0
            a, b, c, d = C[3, i], C[4, i], C[5, i], C[6, i]
            p0 += -b * w0 - c * w1 - d * w2
            p1 += a * w0 + c * w2 - d * w1
            p2 += a * w1 + d * w0 - b * w2
            p3 += a * w2 + b * w1 - c * w0
        for i in range(3):
            C[10 + i, k + 1] = (
                inverse_inertia[i, 0] * t0 + inverse_inertia[i, 1] * t1 + inverse_inertia[i, 2] * t2
            ) / (k + 1)
        half = 0.5 / (k + 1)
        C[3, k + 1] = half * p0
        C[4, k + 1] = half * p1
        C[5, k + 1] = half * p2
        C[6, k + 1] = half * p3
    speed = np.sqrt(state[10] ** 2 + state[11] ** 2 + state[12] ** 2)
    span, last = np.inf, TERMS - 1
    # of fast spin the last terms overflow: fewer do, for less long
    while last > 2 and not _turns_finite(C, last):
        for i in range(3, 13):
            C[i, last] = 0.0
        last -= 1
    for k in (last - 1, last):
        size = max(_size_of(C, 3, 4, k), _size_of(C, 10, 3, k) / speed)
        if size > 0.0:
            span = min(span, root_of(SERIES_ACCURACY / size, k))
    return span if span < np.inf else 1.0 / speed  # spin so slow that these terms are below what numbers hold


@kernel(allocates=True)
def free_piece(state, acceleration, inertia, inverse_inertia):
    """Taylor series of free flight from `state` (13,): returns coefficients (13, TERMS) and how long they hold
    [s]."""
    C = np.empty((13, TERMS))
    span = free_piece_into(state, acceleration, inertia, inverse_inertia, C)
    return C, span


@kernel()
def evaluate_piece_into(C, moving, turning, tau, state):
    """Fill state (13,) with that of a piece, of so many terms of translation and of rotation, `tau` seconds after
    its start; the quaternion has unit length."""
    for i in range(13):
        terms = turning if 3 <= i < 7 or i >= 10 else moving
        value = C[i, terms - 1]
        for k in range(terms - 2, -1, -1):
            value = value * tau + C[i, k]
        state[i] = value
    norm = np.sqrt(state[3] ** 2 + state[4] ** 2 + state[5] ** 2 + state[6] ** 2)
    for i in range(3, 7):
        state[i] /= norm


@kernel(allocates=True)
def evaluate_piece(C, tau):
    """State (13,) of a piece `tau` seconds after its start; the quaternion has unit length."""
    state = vector(13)
    evaluate_piece_into(C, TERMS, TERMS, tau, state)
    return state


@kernel(allocates=True)
def motion_bounds(C, inertia, inverse_inertia):
    """Bounds over a piece of free flight: nominal acceleration (3,), deviation from it [m/s^2], which is none, and
    |w|^2 + |w'| [1/s^2]."""
    bounds = zeros(5)
    for i in range(3):
        bounds[i] = C[7 + i, 1]
    bounds[4] = turning_bound(C, inertia, inverse_inertia)
    return bounds


@kernel()
def turning_bound(C, inertia, inverse_inertia):
    """Bound of |w|^2 + |w'| [1/s^2] over a piece of free flight."""
    L2 = 0.0
    twice_energy = 0.0
    for i in range(3):
        Li = inertia[i, 0] * C[10, 0] + inertia[i, 1] * C[11, 0] + inertia[i, 2] * C[12, 0]
        L2 += Li * Li
        twice_energy += Li * C[10 + i, 0]
    if L2 == 0.0:
        return 0.0
    largest_inverse = 0.0
    for i in range(3):
        for j in range(3):
            largest_inverse += inverse_inertia[i, j] ** 2
    largest_inverse = np.sqrt(largest_inverse)
    w2 = twice_energy * largest_inverse
    off = 0.0
    for i in range(3):
        for j in range(3):
            d = inertia[i, j] - (inertia[0, 0] if i == j else 0.0)
            off += d * d
    # J w x w = (J - J00) w x w, so the bound vanishes for spherical inertia
    return w2 * (1.0 + np.sqrt(off) * largest_inverse)


@kernel()
def first_root(f, rate, half_curvature):
    """Smallest tau >= 0 where f + rate tau + half_curvature tau^2 (half_curvature <= 0, f >= 0) is zero."""
    if half_curvature == 0.0:
        return -f / rate if rate < 0.0 else np.inf
    root = np.sqrt(max(0.0, rate * rate - 4.0 * half_curvature * f))
    if rate > 0.0:
        return (rate + root) / (-2.0 * half_curvature)
    return 2.0 * f / (root - rate) if root - rate > 0.0 else 0.0
