"""Compiled rows of joints: how far two bodies are from what a joint allows, and how fast they leave it.

A row measures one coordinate of body B as seen from body A, in one of four ways (p: places fixed to the
bodies, n an axis of A, m one of B):

    SLIDE     (p_B - p_A) . n            DISTANCE  |p_B - p_A|
    ANGLE     n . m                      ROTATION  angle of B around n, from -2 pi to 2 pi

`ends` (rows, 3) holds the moving bodies A and B (-1: the world, and world axes stand for body axes) and the kind,
`geometry` (rows, JOINT_GEOMETRY): 0 place of A, 3 axis of A, 6 place of B, 9 axis of B (each in body axes),
12 offset, 13 sign, 14 quaternion of B seen from A where the angle is zero. The value of a row is sign *
(coordinate - offset). Angles are continuous because the quaternions of moving bodies are.
"""

import numpy as np

from ...compiled import kernel
from ..kernels import cross, dot, matrix3x3, rotation_matrix_into, turned

SLIDE, ANGLE, DISTANCE, ROTATION = 0, 1, 2, 3
JOINT_GEOMETRY = 18


@kernel()
def _pose(states, body, R):
    """Fill the rotation R of a body, or of the world; its place, velocity and angular velocity (world axes)."""
    if body < 0:
        for i in range(3):
            for j in range(3):
                R[i, j] = 1.0 if i == j else 0.0
        return 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    s = states[body]
    rotation_matrix_into(s[3:7], R)
    wx, wy, wz = turned(R, s[10], s[11], s[12])
    return s[0], s[1], s[2], s[7], s[8], s[9], wx, wy, wz


@kernel()
def _angle(states, first, second, g):
    """Angle [rad] of the second body around the axis, as the quaternions count it."""
    a, b, c, d = 1.0, 0.0, 0.0, 0.0
    if second >= 0:
        s = states[second]
        a, b, c, d = s[3], s[4], s[5], s[6]
    if first >= 0:
        s = states[first]
        w, x, y, z = s[3], -s[4], -s[5], -s[6]
        a, b, c, d = (
            w * a - x * b - y * c - z * d,
            w * b + x * a + y * d - z * c,
            w * c - x * d + y * a + z * b,
            w * d + x * c - y * b + z * a,
        )
    w, x, y, z = g[14], -g[15], -g[16], -g[17]
    real = a * w - b * x - c * y - d * z
    i = a * x + b * w + c * z - d * y
    j = a * y - b * z + c * w + d * x
    k = a * z + b * y - c * x + d * w
    return 2.0 * np.arctan2(dot(i, j, k, g[3], g[4], g[5]), real)


@kernel()
def joint_row(states, first, second, kind, g, row):
    """Fill the derivative (6 m,) of a row's rate by velocities; its value, rate and bias (as `contact_rows`)."""
    sign = g[13]
    RA, RB = matrix3x3(), matrix3x3()
    xa, ya, za, ua, va, wa, oax, oay, oaz = _pose(states, first, RA)
    xb, yb, zb, ub, vb, wb, obx, oby, obz = _pose(states, second, RB)
    nx, ny, nz = turned(RA, g[3], g[4], g[5])
    hx, hy, hz = cross(oax, oay, oaz, nx, ny, nz)  # rate of n
    for i in range(row.shape[0]):
        row[i] = 0.0
    if kind == ROTATION:
        wx, wy, wz = obx - oax, oby - oay, obz - oaz
        for i, n in enumerate((nx, ny, nz)):
            if first >= 0:
                row[6 * first + 3 + i] = -sign * n
            if second >= 0:
                row[6 * second + 3 + i] = sign * n
        value = _angle(states, first, second, g) - g[12]
        return sign * value, sign * dot(nx, ny, nz, wx, wy, wz), sign * dot(hx, hy, hz, wx, wy, wz)
    if kind == ANGLE:
        mx, my, mz = turned(RB, g[9], g[10], g[11])
        kx, ky, kz = cross(obx, oby, obz, mx, my, mz)
        tx, ty, tz = cross(nx, ny, nz, mx, my, mz)
        for i, t in enumerate((tx, ty, tz)):
            if first >= 0:
                row[6 * first + 3 + i] = sign * t
            if second >= 0:
                row[6 * second + 3 + i] = -sign * t
        rate = dot(oax - obx, oay - oby, oaz - obz, tx, ty, tz)
        ax, ay, az = cross(oax, oay, oaz, hx, hy, hz)
        bx, by, bz = cross(obx, oby, obz, kx, ky, kz)
        bias = dot(ax, ay, az, mx, my, mz) + 2.0 * dot(hx, hy, hz, kx, ky, kz) + dot(nx, ny, nz, bx, by, bz)
        return sign * (dot(nx, ny, nz, mx, my, mz) - g[12]), sign * rate, sign * bias
    ax, ay, az = turned(RA, g[0], g[1], g[2])
    bx, by, bz = turned(RB, g[6], g[7], g[8])
    dx, dy, dz = xb + bx - xa - ax, yb + by - ya - ay, zb + bz - za - az
    px, py, pz = cross(oax, oay, oaz, ax, ay, az)
    qx, qy, qz = cross(obx, oby, obz, bx, by, bz)
    sx, sy, sz = ub + qx - ua - px, vb + qy - va - py, wb + qz - wa - pz  # rate of d
    px, py, pz = cross(oax, oay, oaz, px, py, pz)
    qx, qy, qz = cross(obx, oby, obz, qx, qy, qz)
    cx, cy, cz = qx - px, qy - py, qz - pz  # centripetal part of the rate of s
    if kind == DISTANCE:
        value = np.sqrt(dot(dx, dy, dz, dx, dy, dz))
        nx, ny, nz = dx / value, dy / value, dz / value
        rate = dot(nx, ny, nz, sx, sy, sz)
        bias = dot(nx, ny, nz, cx, cy, cz) + (dot(sx, sy, sz, sx, sy, sz) - rate * rate) / value
        ex, ey, ez = ax, ay, az
    else:
        value = dot(dx, dy, dz, nx, ny, nz)
        rate = dot(sx, sy, sz, nx, ny, nz) + dot(dx, dy, dz, hx, hy, hz)
        px, py, pz = cross(oax, oay, oaz, hx, hy, hz)
        bias = dot(cx, cy, cz, nx, ny, nz) + 2.0 * dot(sx, sy, sz, hx, hy, hz) + dot(dx, dy, dz, px, py, pz)
        ex, ey, ez = ax + dx, ay + dy, az + dz  # n turns with A
    ex, ey, ez = cross(ex, ey, ez, nx, ny, nz)
    fx, fy, fz = cross(bx, by, bz, nx, ny, nz)
    if first >= 0:
        k = 6 * first
        row[k], row[k + 1], row[k + 2] = -sign * nx, -sign * ny, -sign * nz
        row[k + 3], row[k + 4], row[k + 5] = -sign * ex, -sign * ey, -sign * ez
    if second >= 0:
        k = 6 * second
        row[k], row[k + 1], row[k + 2] = sign * nx, sign * ny, sign * nz
        row[k + 3], row[k + 4], row[k + 5] = sign * fx, sign * fy, sign * fz
    return sign * (value - g[12]), sign * rate, sign * bias


@kernel(allocates=True)
def joint_rows(states, ends, geometry):
    """Of each row: derivative (rows, 6 m) by velocities, bias, rate, value at states (m, 13)."""
    count = ends.shape[0]
    J = np.empty((count, 6 * states.shape[0]))
    bias, rate, value = np.empty(count), np.empty(count), np.empty(count)
    for i in range(count):
        value[i], rate[i], bias[i] = joint_row(states, ends[i, 0], ends[i, 1], ends[i, 2], geometry[i], J[i])
    return J, bias, rate, value
