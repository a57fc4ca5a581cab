"""Compiled kinematics, accelerations and steps of bodies that stay in contact or hang on joints.

A contact has a side P, a curve, and a side F, a curve or a face. A curve is a point, a straight line or a
circle, and the surface is a radius away from it. The normal points from F to P. A face carries it; between
curves it lies along the line through their closest points, or, where sharp curves cross each other, across
both. On a face, P may be an ellipsoid too. `ends` (nc, 3) holds the moving bodies P and F (-1: fixed, and world
axes stand for body axes) and the kind, 4 * (curve of P - 1) + curve of F, each POINT, LINE, CIRCLE, ELLIPSOID (P
only) or FACE (F only). `geometry` (nc, GEOMETRY) holds, in body axes of the side each belongs to (normal and
tangent: of F),

    0 place of P (a circle or ellipsoid: its center), 3 radius of P, 4 normal, 7 tangent, 10 place of F,
    13 radius of F, 14 direction of P (of a line, or axis of a circle; semi-axes of an ellipsoid),
    17 its circle's radius, 18 direction of F,
    21 its circle's radius, 22 where sharp curves cross: 1 or -1, sign of their normal against the product of
    their directions, else 0.

Of a point on a face or a point, only the first 14 are read. The kind LIMIT + the kind of a joint's row stands for
a joint that comes to its limit, and its geometry is that of the row (see `joint_kernels`).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...compiled import kernel
from ...impact_laws.lcp_kernels import eliminate
from ..kernels import (
    cross,
    dot,
    ellipsoid_height,
    ellipsoid_lowest,
    rotation_matrix,
    turned,
    turned_back,
)
from ..tolerances import FORCE_MARGIN, FORCE_RANK, IMMOBILE, SLIP_SPEED, STOPPED
from .joint_kernels import in_basis, joint_basis, joint_row, joint_rows

NODES = 10
GEOMETRY = 23
FACE, POINT, LINE, CIRCLE, ELLIPSOID = 0, 1, 2, 3, 4
LIMIT = 16
ALTERNATIONS, NEWTON_STEPS = 3, 20
CONTINUES, LIFTS_OFF, SLIPS, STICKS = 0, 1, 2, 3
POWERS = 5
RELAXATIONS, DIRECTION_STEPS, DIRECTION_TURN = 12, 100, 1e-7

_Floats = NDArray[np.float64]
_Integers = NDArray[np.int64]
_Flags = NDArray[np.bool_]


class System(NamedTuple):
    """What moves m bodies apart from contact.

    inertias : (m, 27), inverse mass (3 x 3, world axes; not a multiple of one where motion is planar), inertia and
    inverse inertia (body axes)
    joint_ends, joint_geometry : rows that joints keep at zero, see `joint_kernels`
    force_ends, force_geometry : rows along which springs, dampers and drives act
    force_law : (rows, 7), force = 0 constant + 1 stiffness * (2 target - value) + 3 damping * (4 rate - rate),
    unless 5 says otherwise: 1 or -1 at the largest force, which is the constant then. 6: whether it is a drive
    drag : (m, 3), 0 force against the velocity [N s/m], 1 times the speed [N s^2/m^2], 2 torque against spin
    """

    inertias: _Floats
    gravity: _Floats
    joint_ends: _Integers
    joint_geometry: _Floats
    force_ends: _Integers
    force_geometry: _Floats
    force_law: _Floats
    drag: _Floats


class Mode(NamedTuple):
    """Contacts that stay closed: which stick, and how the others slip.

    Sticking contacts hold all three rows, sliding ones the normal row, with friction against `direction` (nc, 2),
    or against the slip itself where friction `follows` it. Where forces are not unique, they are those nearest to
    `reference` (3 nc,).
    """

    ends: _Integers
    geometry: _Floats
    stick: _Flags
    direction: _Floats
    follows: _Flags
    friction: _Floats
    reference: _Floats


@kernel()
def nearest_on_curve(curve, px, py, pz, dx, dy, dz, size, x, y, z):
    """Nearest to (x, y, z) on a curve: its place, the curve's unit tangent and curvature vector there.

    The curve is a point p, a line through p along d or a circle of radius `size` around p with axis d.
    """
    if curve == POINT:
        return px, py, pz, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    bx, by, bz = x - px, y - py, z - pz
    along = dot(bx, by, bz, dx, dy, dz)
    if curve == LINE:
        return px + along * dx, py + along * dy, pz + along * dz, dx, dy, dz, 0.0, 0.0, 0.0
    bx, by, bz = bx - along * dx, by - along * dy, bz - along * dz
    length = np.sqrt(dot(bx, by, bz, bx, by, bz))
    bx, by, bz = bx / length, by / length, bz / length
    tx, ty, tz = cross(dx, dy, dz, bx, by, bz)
    k = -1.0 / size
    return px + size * bx, py + size * by, pz + size * bz, tx, ty, tz, k * bx, k * by, k * bz


@kernel()
def closest_points(
    kind, crossing, px, py, pz, dx, dy, dz, size_p, fx, fy, fz, ex, ey, ez, size_f,
    bx, by, bz, vx, vy, vz, wx, wy, wz,
):  # fmt: skip
    """Contact of two curves: place on P and its rate, normal and its rate, distance along the normal.

    P has place p and direction d, F place f and direction e, each from the center of its body; that of P is b
    from that of F. Rates, v of b and the angular velocity w of P are those seen from F. Projections from
    curve to curve come near the closest points, Newton's method makes them exact, and its matrix gives their
    velocities along the curves.
    """
    curve_p, curve_f = kind // 4 + 1, kind % 4
    qx, qy, qz = fx - bx, fy - by, fz - bz
    rx, ry, rz = fx, fy, fz
    tx = ty = tz = kx = ky = kz = sx = sy = sz = lx = ly = lz = 0.0
    gx = gy = gz = m11 = m12 = m22 = det = 0.0
    near = False
    for iteration in range(ALTERNATIONS + NEWTON_STEPS):
        qx, qy, qz, tx, ty, tz, kx, ky, kz = nearest_on_curve(
            curve_p, px, py, pz, dx, dy, dz, size_p, qx, qy, qz
        )
        if iteration < ALTERNATIONS:
            rx, ry, rz = bx + qx, by + qy, bz + qz
        rx, ry, rz, sx, sy, sz, lx, ly, lz = nearest_on_curve(
            curve_f, fx, fy, fz, ex, ey, ez, size_f, rx, ry, rz
        )
        if iteration < ALTERNATIONS:
            qx, qy, qz = rx - bx, ry - by, rz - bz
            continue
        gx, gy, gz = bx + qx - rx, by + qy - ry, bz + qz - rz
        m11 = 1.0 + dot(kx, ky, kz, gx, gy, gz)
        m12 = -dot(tx, ty, tz, sx, sy, sz)
        m22 = dot(lx, ly, lz, gx, gy, gz) - 1.0
        det = m11 * m22 + m12 * m12
        if near:
            break
        i, j = dot(tx, ty, tz, gx, gy, gz), dot(sx, sy, sz, gx, gy, gz)
        i, j = (m12 * j - m22 * i) / det, -(m11 * j + m12 * i) / det
        near = abs(i) + abs(j) <= 1e-8 * (size_p + size_f) or size_p + size_f == 0.0
        qx, qy, qz = qx + i * tx, qy + i * ty, qz + i * tz
        rx, ry, rz = rx + j * sx, ry + j * sy, rz + j * sz
    # rates of P's place and tangent: first as the body carries them, then by the way i along the curve
    ax, ay, az = cross(wx, wy, wz, qx, qy, qz)
    ux, uy, uz = cross(wx, wy, wz, tx, ty, tz)
    vx, vy, vz = vx + ax, vy + ay, vz + az
    i = dot(ux, uy, uz, gx, gy, gz) + dot(tx, ty, tz, vx, vy, vz)
    j = dot(sx, sy, sz, vx, vy, vz)
    i, j = (m12 * j - m22 * i) / det, -(m11 * j + m12 * i) / det
    ax, ay, az = ax + i * tx, ay + i * ty, az + i * tz
    if crossing == 0.0:
        nx, ny, nz = gx, gy, gz
        vx, vy, vz = vx + i * tx - j * sx, vy + i * ty - j * sy, vz + i * tz - j * sz
    else:
        nx, ny, nz = cross(crossing * tx, crossing * ty, crossing * tz, sx, sy, sz)
        ux, uy, uz = cross(ux + i * kx, uy + i * ky, uz + i * kz, sx, sy, sz)
        vx, vy, vz = cross(tx, ty, tz, j * lx, j * ly, j * lz)
        vx, vy, vz = crossing * (ux + vx), crossing * (uy + vy), crossing * (uz + vz)
    length = np.sqrt(dot(nx, ny, nz, nx, ny, nz))
    nx, ny, nz = nx / length, ny / length, nz / length
    i = dot(nx, ny, nz, vx, vy, vz)
    vx, vy, vz = (vx - i * nx) / length, (vy - i * ny) / length, (vz - i * nz) / length
    return qx, qy, qz, ax, ay, az, nx, ny, nz, vx, vy, vz, dot(nx, ny, nz, gx, gy, gz)


@kernel()
def ellipsoid_foot(R, semi_axes, nx, ny, nz, wx, wy, wz):
    """Lowest point p = -A² m / |A m| of an ellipsoid along the normal, m in body axes, from its center, and the
    velocity at which it moves over the ellipsoid where that turns at w against the normal; both in world axes."""
    mx, my, mz = turned_back(R, nx, ny, nz)
    wx, wy, wz = turned_back(R, wx, wy, wz)
    rx, ry, rz = cross(mx, my, mz, wx, wy, wz)
    ax, ay, az = semi_axes[0] ** 2, semi_axes[1] ** 2, semi_axes[2] ** 2
    height = ellipsoid_height(semi_axes, mx, my, mz)
    px, py, pz = ellipsoid_lowest(semi_axes, mx, my, mz)
    growth = -(px * rx + py * ry + pz * rz) / height  # rate of the height, by the height
    vx, vy, vz = turned(
        R,
        -ax * rx / height - growth * px,
        -ay * ry / height - growth * py,
        -az * rz / height - growth * pz,
    )
    px, py, pz = turned(R, px, py, pz)
    return px, py, pz, vx, vy, vz


@kernel()
def contact_rows(states, ends, geometry):
    """Of each contact: Jacobian rows (3 nc, 6 m), bias d(Jv)/dt without accelerations, u, gap.

    Rows are (normal, tangent, tangent2). The contact point, and with it the material points whose velocity u
    is, moves along both surfaces. The tangent is what F carries, projected onto the plane of contact.
    """
    m = states.shape[0]
    nc = ends.shape[0]
    J = np.zeros((3 * nc, 6 * m))
    bias = np.zeros(3 * nc)
    u = np.zeros(3 * nc)
    gap = np.zeros(nc)
    identity = np.zeros((3, 3))
    for i in range(3):
        identity[i, i] = 1.0
    for c in range(nc):
        k, other, kind = ends[c, 0], ends[c, 1], ends[c, 2]
        g = geometry[c]
        if kind >= LIMIT:
            gap[c], u[3 * c], bias[3 * c] = joint_row(states, k, other, kind - LIMIT, g, J[3 * c])
            continue
        # b, v: place and velocity of the center of P against that of F; w, o: angular velocities of P and F
        bx = by = bz = vx = vy = vz = wx = wy = wz = ox = oy = oz = 0.0
        R = RF = identity
        if k >= 0:
            R = rotation_matrix(states[k, 3:7])
            bx, by, bz = states[k, 0], states[k, 1], states[k, 2]
            vx, vy, vz = states[k, 7], states[k, 8], states[k, 9]
            wx, wy, wz = turned(R, states[k, 10], states[k, 11], states[k, 12])
        if other >= 0:
            RF = rotation_matrix(states[other, 3:7])
            bx, by, bz = bx - states[other, 0], by - states[other, 1], bz - states[other, 2]
            vx, vy, vz = vx - states[other, 7], vy - states[other, 8], vz - states[other, 9]
            ox, oy, oz = turned(RF, states[other, 10], states[other, 11], states[other, 12])
            wx, wy, wz = wx - ox, wy - oy, wz - oz
        # from here on w and the rates m, h and r (of the normal, of a and of b) are those seen from F
        sx, sy, sz = cross(ox, oy, oz, bx, by, bz)
        rx, ry, rz = vx - sx, vy - sy, vz - sz
        ax, ay, az = turned(R, g[0], g[1], g[2])
        fx, fy, fz = turned(RF, g[10], g[11], g[12])
        nx, ny, nz = turned(RF, g[4], g[5], g[6])
        tx, ty, tz = turned(RF, g[7], g[8], g[9])
        dx = dy = dz = ex = ey = ez = crossing = size = size_f = 0.0
        if kind > 1:
            dx, dy, dz = turned(R, g[14], g[15], g[16])
            ex, ey, ez = turned(RF, g[18], g[19], g[20])
            size, size_f, crossing = g[17], g[21], g[22]
        if kind % 4 == FACE:
            mx = my = mz = way = sx = sy = sz = 0.0
            if kind // 4 + 1 == ELLIPSOID:
                lx, ly, lz, sx, sy, sz = ellipsoid_foot(R, g[14:17], nx, ny, nz, wx, wy, wz)
                ax, ay, az, way = ax + lx, ay + ly, az + lz, 1.0
            elif kind > 0:
                ax, ay, az, sx, sy, sz, kx, ky, kz = nearest_on_curve(
                    kind // 4 + 1, ax, ay, az, dx, dy, dz, size, ax - nx, ay - ny, az - nz
                )
                hx, hy, hz = cross(wx, wy, wz, sx, sy, sz)
                way = -dot(hx, hy, hz, nx, ny, nz) / dot(kx, ky, kz, nx, ny, nz)  # the tangent s stays level
            hx, hy, hz = cross(wx, wy, wz, ax, ay, az)
            hx, hy, hz = hx + way * sx, hy + way * sy, hz + way * sz
            distance = dot(nx, ny, nz, bx + ax - fx, by + ay - fy, bz + az - fz)
            qx, qy, qz = cross(nx, ny, nz, tx, ty, tz)
            ex, ey, ez = ox, oy, oz
        else:
            ax, ay, az, hx, hy, hz, nx, ny, nz, mx, my, mz, distance = closest_points(
                kind, crossing, ax, ay, az, dx, dy, dz, size, fx, fy, fz, ex, ey, ez, size_f,
                bx, by, bz, rx, ry, rz, wx, wy, wz,
            )  # fmt: skip
            along = dot(tx, ty, tz, nx, ny, nz)
            tx, ty, tz = tx - along * nx, ty - along * ny, tz - along * nz
            length = np.sqrt(dot(tx, ty, tz, tx, ty, tz))
            tx, ty, tz = tx / length, ty / length, tz / length
            qx, qy, qz = cross(nx, ny, nz, tx, ty, tz)
            along = -along * dot(mx, my, mz, qx, qy, qz) / length
            ex, ey, ez = cross(nx, ny, nz, mx, my, mz)
            ex, ey, ez = ox + ex + along * nx, oy + ey + along * ny, oz + ez + along * nz
        gap[c] = distance - g[3] - g[13]
        ax, ay, az = ax - g[3] * nx, ay - g[3] * ny, az - g[3] * nz
        hx, hy, hz = hx - g[3] * mx, hy - g[3] * my, hz - g[3] * mz
        # relative velocity, and its rate where a and b move and its components turn with the frame, by e
        fx, fy, fz = cross(wx, wy, wz, ax, ay, az)
        fx, fy, fz = rx + fx, ry + fy, rz + fz
        sx, sy, sz = cross(ox, oy, oz, ax, ay, az)
        hx, hy, hz = cross(wx, wy, wz, hx + sx, hy + sy, hz + sz)
        dx, dy, dz = cross(ox, oy, oz, vx, vy, vz)
        ex, ey, ez = cross(fx, fy, fz, ex, ey, ez)
        hx, hy, hz = hx - dx + ex, hy - dy + ey, hz - dz + ez
        for i in range(3 * c, 3 * c + 3):
            u[i] = dot(nx, ny, nz, fx, fy, fz)
            bias[i] = dot(nx, ny, nz, hx, hy, hz)
            if k >= 0:
                J[i, 6 * k], J[i, 6 * k + 1], J[i, 6 * k + 2] = nx, ny, nz
                sx, sy, sz = cross(ax, ay, az, nx, ny, nz)
                J[i, 6 * k + 3], J[i, 6 * k + 4], J[i, 6 * k + 5] = sx, sy, sz
            if other >= 0:
                j = 6 * other
                J[i, j], J[i, j + 1], J[i, j + 2] = -nx, -ny, -nz
                sx, sy, sz = cross(nx, ny, nz, bx + ax, by + ay, bz + az)
                J[i, j + 3], J[i, j + 4], J[i, j + 5] = sx, sy, sz
            nx, ny, nz, tx, ty, tz = tx, ty, tz, qx, qy, qz
    return J, bias, u, gap


@kernel()
def drive_force(law, value, rate):
    """Force along a row of which the value and rate are these."""
    if law[5] != 0.0:
        return law[0]
    return law[0] + law[1] * (law[2] - value) + law[3] * (law[4] - rate)


@kernel()
def element_forces(states, system, applied):
    """Generalized forces (6 m,), world axes: `applied` ones, those along rows, and drag."""
    forces = applied.copy()
    row = np.empty(forces.shape[0])
    for i in range(system.force_ends.shape[0]):
        first, second, kind = system.force_ends[i, 0], system.force_ends[i, 1], system.force_ends[i, 2]
        value, rate, _ = joint_row(states, first, second, kind, system.force_geometry[i], row)
        along = drive_force(system.force_law[i], value, rate)
        for j in range(row.shape[0]):
            forces[j] += along * row[j]
    for k in range(states.shape[0]):
        linear, quadratic, turning = system.drag[k, 0], system.drag[k, 1], system.drag[k, 2]
        if linear == 0.0 and quadratic == 0.0 and turning == 0.0:
            continue
        s = states[k]
        resistance = linear + quadratic * np.sqrt(dot(s[7], s[8], s[9], s[7], s[8], s[9]))
        x, y, z = turned(rotation_matrix(s[3:7]), s[10], s[11], s[12])
        for i, spin in enumerate((x, y, z)):
            forces[6 * k + i] -= resistance * s[7 + i]
            forces[6 * k + 3 + i] -= turning * spin
    return forces


@kernel()
def free_accelerations(states, system, applied):
    """Generalized accelerations (6 m,) without contacts and joints, world axes; `applied` (6 m,) forces."""
    m = states.shape[0]
    a = np.zeros(6 * m)
    forces = element_forces(states, system, applied)
    for k in range(m):
        R = rotation_matrix(states[k, 3:7])
        I = system.inertias[k]
        f = forces[6 * k : 6 * k + 6]
        x, y, z = states[k, 10], states[k, 11], states[k, 12]
        lx = I[9] * x + I[10] * y + I[11] * z
        ly = I[12] * x + I[13] * y + I[14] * z
        lz = I[15] * x + I[16] * y + I[17] * z
        x, y, z = cross(lx, ly, lz, x, y, z)
        lx, ly, lz = turned_back(R, f[3], f[4], f[5])
        x, y, z = x + lx, y + ly, z + lz
        lx = I[18] * x + I[19] * y + I[20] * z
        ly = I[21] * x + I[22] * y + I[23] * z
        lz = I[24] * x + I[25] * y + I[26] * z
        for i in range(3):
            a[6 * k + i] = system.gravity[i] + I[3 * i] * f[0] + I[3 * i + 1] * f[1] + I[3 * i + 2] * f[2]
        a[6 * k + 3], a[6 * k + 4], a[6 * k + 5] = turned(R, lx, ly, lz)
    return a


@kernel()
def mobility_rows(states, inertias, J):
    """J M^-1 (rows, 6 m): the generalized velocity that a unit impulse along each row of J gives."""
    m = states.shape[0]
    rows = np.empty(J.shape)
    for k in range(m):
        R = rotation_matrix(states[k, 3:7])
        I = inertias[k]
        for i in range(J.shape[0]):
            jx, jy, jz = J[i, 6 * k], J[i, 6 * k + 1], J[i, 6 * k + 2]
            for j in range(3):
                rows[i, 6 * k + j] = I[3 * j] * jx + I[3 * j + 1] * jy + I[3 * j + 2] * jz
            x, y, z = turned_back(R, J[i, 6 * k + 3], J[i, 6 * k + 4], J[i, 6 * k + 5])
            lx = I[18] * x + I[19] * y + I[20] * z
            ly = I[21] * x + I[22] * y + I[23] * z
            lz = I[24] * x + I[25] * y + I[26] * z
            rows[i, 6 * k + 3], rows[i, 6 * k + 4], rows[i, 6 * k + 5] = turned(R, lx, ly, lz)
    return rows


@kernel()
def barred(states, system):
    """Basis of what the joints bar at states (m, 13), as `joint_basis`, and what is left of their accelerations,
    rates and values in it."""
    J, bias, rate, value = joint_rows(states, system.joint_ends, system.joint_geometry)
    N, Q, factors, order = joint_basis(J, mobility_rows(states, system.inertias, J))
    return (
        N, Q, in_basis(factors, order, bias), in_basis(factors, order, rate), in_basis(factors, order, value)
    )  # fmt: skip


@kernel()
def allowed(J, rows, Q):
    """Make J M^-1 (`rows`) in place what joints allow of it, Q being their basis times M^-1."""
    for r in range(rows.shape[0]):
        for i in range(Q.shape[0]):
            along = 0.0
            for j in range(Q.shape[1]):
                along += J[r, j] * Q[i, j]
            for j in range(Q.shape[1]):
                rows[r, j] -= along * Q[i, j]


@kernel()
def free_motion(states, system, applied, J):
    """Generalized accelerations (6 m,) without contact forces, and J M^-1, both as the joints allow."""
    a = free_accelerations(states, system, applied)
    rows = mobility_rows(states, system.inertias, J)
    if system.joint_ends.shape[0] > 0:
        N, Q, bias, _, _ = barred(states, system)
        for i in range(N.shape[0]):
            along = bias[i]
            for j in range(a.shape[0]):
                along += N[i, j] * a[j]
            for j in range(a.shape[0]):
                a[j] -= along * Q[i, j]
        allowed(J, rows, Q)
    return a, rows


@kernel()
def least_norm_solution(G, b):
    """Solution of G x = b, of least norm and residual where G (n, n) is singular; and whether it is not.

    Elimination with complete pivoting; where a pivot vanishes, reflections from the left with exchanges of
    columns, then from the right (complete orthogonal factors: Golub & Van Loan, Matrix Computations, 5.4.7).
    """
    n = b.shape[0]
    x = np.zeros(n)
    if n == 0:
        return x, True
    largest = 0.0
    for i in range(n):
        for j in range(n):
            largest = max(largest, abs(G[i, j]))
    y = b.copy()
    if eliminate(G.copy(), y, FORCE_RANK * largest):
        return y, True
    A, c = G.copy(), b.copy()
    order = np.arange(n)
    v = np.empty(n)
    rank = 0
    first = 0.0
    for k in range(n):
        best, at = -1.0, k
        for j in range(k, n):
            square = 0.0
            for i in range(k, n):
                square += A[i, j] * A[i, j]
            if square > best:
                best, at = square, j
        length = np.sqrt(best)
        if k == 0:
            first = length
        if length <= FORCE_RANK * first:
            break
        rank += 1
        order[k], order[at] = order[at], order[k]
        for i in range(n):
            A[i, k], A[i, at] = A[i, at], A[i, k]
        # v reflects the rest of column k onto its first entry
        sign = 1.0 if A[k, k] >= 0.0 else -1.0
        for i in range(k, n):
            v[i] = A[i, k]
        v[k] += sign * length
        square = 2.0 * length * abs(v[k])
        for j in range(k, n + 1):
            along = 0.0
            for i in range(k, n):
                along += v[i] * (A[i, j] if j < n else c[i])
            along *= 2.0 / square
            for i in range(k, n):
                if j < n:
                    A[i, j] -= along * v[i]
                else:
                    c[i] -= along * v[i]
    # reflections of columns k and rank to n make the trapezoid a triangle, from the last row up, where each is kept
    scale = np.zeros(rank)
    lead = np.zeros(rank)
    for k in range(rank - 1, -1, -1):
        rest = 0.0
        for j in range(rank, n):
            rest += A[k, j] * A[k, j]
        if rest == 0.0:
            continue
        length = np.sqrt(A[k, k] * A[k, k] + rest)
        sign = 1.0 if A[k, k] >= 0.0 else -1.0
        lead[k] = A[k, k] + sign * length
        scale[k] = 2.0 / (lead[k] * lead[k] + rest)
        for i in range(k):
            along = A[i, k] * lead[k]
            for j in range(rank, n):
                along += A[i, j] * A[k, j]
            along *= scale[k]
            A[i, k] -= along * lead[k]
            for j in range(rank, n):
                A[i, j] -= along * A[k, j]
        A[k, k] = -sign * length
    for k in range(n):
        y[k] = 0.0
    for k in range(rank - 1, -1, -1):
        y[k] = c[k]
        for j in range(k + 1, rank):
            y[k] -= A[k, j] * y[j]
        y[k] /= A[k, k]
    for k in range(rank):
        if scale[k] == 0.0:
            continue
        along = y[k] * lead[k]
        for j in range(rank, n):
            along += y[j] * A[k, j]
        along *= scale[k]
        y[k] -= along * lead[k]
        for j in range(rank, n):
            y[j] -= along * A[k, j]
    for k in range(n):
        x[order[k]] = y[k]
    return x, False


@kernel()
def held_rows(rows, stick):
    """Numbers of the rows that hold contacts closed, and those that stick without slip.

    `rows` is J M^-1. Directions in which nothing moves, such as that out of the plane of a planar scene, need none:
    they would make the forces look undetermined.
    """
    held = np.empty(rows.shape[0], np.int64)
    n = 0
    for c in range(stick.shape[0]):
        mobility = np.zeros(3)
        for k in range(3 if stick[c] else 1):
            for j in range(rows.shape[1]):
                mobility[k] = max(mobility[k], abs(rows[3 * c + k, j]))
        for k in range(3 if stick[c] else 1):
            if k == 0 or mobility[k] > IMMOBILE * max(mobility[0], mobility[3 - k]):
                held[n] = 3 * c + k
                n += 1
    return held[:n]


@kernel()
def mode_accelerations(J, rows, bias, u, a, mode):
    """Accelerations (6 m,), contact forces (3 nc,) that keep a mode's contacts closed, and their uniqueness.

    `rows` is J M^-1, `a` are the accelerations without contact, both as joints allow.
    """
    stick, direction, follows = mode.stick, mode.direction, mode.follows
    friction, reference = mode.friction, mode.reference
    nc = stick.shape[0]
    width = J.shape[1]
    held = held_rows(rows, stick)
    size = held.shape[0]
    push = np.empty((size, width))  # M^-1 times the direction of each unknown force
    slip = np.zeros((nc, 2))
    n = 0
    for c in range(nc):
        while n < size and held[n] < 3 * c + 3:
            for j in range(width):
                push[n, j] = rows[held[n], j]
            n += 1
        if not stick[c]:
            slip[c, 0], slip[c, 1] = direction[c, 0], direction[c, 1]
            speed = np.sqrt(u[3 * c + 1] ** 2 + u[3 * c + 2] ** 2)
            if follows[c] and speed > 0.0:
                slip[c, 0], slip[c, 1] = u[3 * c + 1] / speed, u[3 * c + 2] / speed
            for j in range(width):
                push[n - 1, j] -= friction[c] * (
                    slip[c, 0] * rows[3 * c + 1, j] + slip[c, 1] * rows[3 * c + 2, j]
                )
    G = np.empty((size, size))
    target = np.empty(size)
    columns = np.empty(width, np.int64)  # where a row of J is not zero: it concerns two bodies
    for i in range(size):
        h = held[i]
        target[i] = -bias[h]
        used = 0
        for j in range(width):
            if J[h, j] != 0.0:
                columns[used] = j
                used += 1
        for p in range(used):
            target[i] -= J[h, columns[p]] * a[columns[p]]
        for k in range(size):
            entry = 0.0
            for p in range(used):
                entry += J[h, columns[p]] * push[k, columns[p]]
            G[i, k] = entry
    for i in range(size):
        for k in range(size):
            target[i] -= G[i, k] * reference[held[k]]
    solution, unique = least_norm_solution(G, target)
    for i in range(size):
        solution[i] += reference[held[i]]
    acceleration = a.copy()
    force = np.zeros(3 * nc)
    for i in range(size):
        force[held[i]] = solution[i]
        for j in range(width):
            acceleration[j] += push[i, j] * solution[i]
    for c in range(nc):
        if not stick[c]:
            force[3 * c + 1] = -friction[c] * force[3 * c] * slip[c, 0]
            force[3 * c + 2] = -friction[c] * force[3 * c] * slip[c, 1]
    return acceleration, force, unique


@kernel()
def slip_accelerations(J, rows, bias, a, mode, direction, which):
    """Slip accelerations (k, 2) of `which` contacts under friction against these directions of slip (nc, 2)."""
    trial = Mode(mode.ends, mode.geometry, mode.stick, direction, mode.follows, mode.friction, mode.reference)
    acceleration, _, _ = mode_accelerations(J, rows, bias, np.zeros(J.shape[0]), a, trial)
    pull = np.empty((which.shape[0], 2))
    for k in range(which.shape[0]):
        for side in range(2):
            row = 3 * which[k] + 1 + side
            pull[k, side] = bias[row]
            for j in range(J.shape[1]):
                pull[k, side] += J[row, j] * acceleration[j]
    return pull


@kernel()
def turned_directions(direction, which, turn):
    """The directions, `which` turned by these small angles."""
    result = direction.copy()
    for k in range(which.shape[0]):
        c = which[k]
        x, y = direction[c, 0] - turn[k] * direction[c, 1], direction[c, 1] + turn[k] * direction[c, 0]
        length = np.sqrt(x * x + y * y)
        result[c, 0], result[c, 1] = x / length, y / length
    return result


@kernel()
def settled_directions(J, rows, bias, a, mode, which):
    """Directions of slip (nc, 2) where very slow slip of `which` contacts turns to, and slip accelerations (k, 2).

    The direction of vanishing slip u obeys |u| d(angle)/dt = acceleration across it, so at no slip it has already
    reached an attracting root of that acceleration: relaxation leads there, Newton's method makes it exact. `mode`
    has the directions at first, and no contact's friction follows its slip.
    """
    count = which.shape[0]
    direction = mode.direction.copy()
    opposite = direction.copy()
    for k in range(count):
        opposite[which[k]] *= -1.0
    ahead = slip_accelerations(J, rows, bias, a, mode, direction, which)
    behind = slip_accelerations(J, rows, bias, a, mode, opposite, which)
    pull = ahead
    stiffness = np.empty(count)
    for k in range(count):
        sx, sy = ahead[k, 0] + behind[k, 0], ahead[k, 1] + behind[k, 1]
        dx, dy = ahead[k, 0] - behind[k, 0], ahead[k, 1] - behind[k, 1]
        stiffness[k] = 0.5 * (np.sqrt(sx * sx + sy * sy) + np.sqrt(dx * dx + dy * dy))
    off, turn, unit = np.empty(count), np.empty(count), np.zeros(count)
    slopes = np.empty((count, count))
    for iteration in range(DIRECTION_STEPS):
        pull = slip_accelerations(J, rows, bias, a, mode, direction, which)
        for k in range(count):
            c = which[k]
            off[k] = pull[k, 1] * direction[c, 0] - pull[k, 0] * direction[c, 1]
            turn[k] = off[k] / max(stiffness[k], 1e-300)
        if iteration >= RELAXATIONS:
            for i in range(count):
                unit[i] = DIRECTION_TURN
                aside = turned_directions(direction, which, unit)
                unit[i] = 0.0
                moved = slip_accelerations(J, rows, bias, a, mode, aside, which)
                for k in range(count):
                    c = which[k]
                    across = moved[k, 1] * aside[c, 0] - moved[k, 0] * aside[c, 1]
                    slopes[k, i] = (across - off[k]) / DIRECTION_TURN
            turn, _ = least_norm_solution(slopes, -off)
        largest = 0.0
        for k in range(count):
            largest = max(largest, abs(turn[k]))
            turn[k] = min(0.5, max(-0.5, turn[k]))
        direction = turned_directions(direction, which, turn)
        if largest <= 1e-13:
            break
    return direction, pull


@kernel()
def state_derivative(states, acceleration, D):
    """Fill D (m, 13), the time derivative of packed states under generalized accelerations (6 m,), world."""
    for k in range(states.shape[0]):
        w0, w1, w2 = states[k, 10], states[k, 11], states[k, 12]
        a, b, c, d = states[k, 3], states[k, 4], states[k, 5], states[k, 6]
        for i in range(3):
            D[k, i] = states[k, 7 + i]
            D[k, 7 + i] = acceleration[6 * k + i]
        D[k, 3] = 0.5 * (-b * w0 - c * w1 - d * w2)
        D[k, 4] = 0.5 * (a * w0 + c * w2 - d * w1)
        D[k, 5] = 0.5 * (a * w1 + d * w0 - b * w2)
        D[k, 6] = 0.5 * (a * w2 + b * w1 - c * w0)
        norm = np.sqrt(a * a + b * b + c * c + d * d)
        R = rotation_matrix(states[k, 3:7] / norm)
        D[k, 10], D[k, 11], D[k, 12] = turned_back(
            R, acceleration[6 * k + 3], acceleration[6 * k + 4], acceleration[6 * k + 5]
        )


@kernel()
def normalized(states):
    """The states with quaternions of unit length."""
    result = states.copy()
    for k in range(states.shape[0]):
        norm = np.sqrt(states[k, 3] ** 2 + states[k, 4] ** 2 + states[k, 5] ** 2 + states[k, 6] ** 2)
        for i in range(3, 7):
            result[k, i] /= norm
    return result


@kernel()
def motion_of_mode(states, system, mode, applied):
    """Generalized acceleration, contact forces, slip and uniqueness of a mode at states (m, 13)."""
    unit = normalized(states)
    J, bias, u, _ = contact_rows(unit, mode.ends, mode.geometry)
    a, rows = free_motion(unit, system, applied, J)
    acceleration, force, unique = mode_accelerations(J, rows, bias, u, a, mode)
    return acceleration, force, u, unique


@kernel()
def step_powers(nodes, system, mode, applied):
    """Power (NODES, POWERS) [W] at the nodes of a step: friction, damping in joints, drag, drives, applied forces.

    Springs and gravity are not here: they have potentials.
    """
    powers = np.zeros((NODES, POWERS))
    m = nodes.shape[1]
    row = np.empty(6 * m)
    for node in range(NODES):
        states = normalized(nodes[node])
        if mode.ends.shape[0] > 0:
            _, force, u, _ = motion_of_mode(states, system, mode, applied[node])
            for c in range(mode.ends.shape[0]):
                powers[node, 0] += force[3 * c + 1] * u[3 * c + 1] + force[3 * c + 2] * u[3 * c + 2]
        for i in range(system.force_ends.shape[0]):
            law = system.force_law[i]
            first, second, kind = system.force_ends[i, 0], system.force_ends[i, 1], system.force_ends[i, 2]
            value, rate, _ = joint_row(states, first, second, kind, system.force_geometry[i], row)
            if law[6] != 0.0:
                powers[node, 3] += drive_force(law, value, rate) * rate
            else:
                powers[node, 1] -= law[3] * rate * rate
        for k in range(m):
            s = states[k]
            square = dot(s[7], s[8], s[9], s[7], s[8], s[9])
            powers[node, 2] -= (system.drag[k, 0] + system.drag[k, 1] * np.sqrt(square)) * square
            powers[node, 2] -= system.drag[k, 2] * dot(s[10], s[11], s[12], s[10], s[11], s[12])
            x, y, z = turned(rotation_matrix(s[3:7]), s[10], s[11], s[12])
            f = applied[node, 6 * k : 6 * k + 6]
            powers[node, 4] += dot(f[0], f[1], f[2], s[7], s[8], s[9]) + dot(f[3], f[4], f[5], x, y, z)
    return powers


@kernel()
def collocated_step(states, h, integrate, last_terms, system, mode, applied, accuracy, rest, nodes):
    """Fill nodes (NODES, m, 13) with the collocation solution over a step h; iterations, 0 where it fails.

    Picard iteration of states + h * integrate @ derivative, under the forces applied (NODES, 6 m), from what the
    nodes are; accepted when the change is at most `accuracy` of the states, and the last two Chebyshev coefficients
    (`last_terms` @ nodes) at most `rest`.
    """
    m = states.shape[0]
    scale = 1.0
    for k in range(m):
        for i in range(13):
            scale = max(scale, 1.0 + abs(states[k, i]))
    D = np.empty((NODES, m, 13))
    previous = np.inf
    iterations = 0
    for iteration in range(40):
        for node in range(NODES):
            acceleration, _, _, _ = motion_of_mode(nodes[node], system, mode, applied[node])
            state_derivative(nodes[node], acceleration, D[node])
        change = 0.0
        for node in range(1, NODES):
            for k in range(m):
                for i in range(13):
                    value = 0.0
                    for j in range(NODES):
                        value += integrate[node, j] * D[j, k, i]
                    value = states[k, i] + h * value
                    change = max(change, abs(value - nodes[node, k, i]) / scale)
                    nodes[node, k, i] = value
        if not np.isfinite(change) or change > max(10.0, 4.0 * previous):
            return 0
        if change <= accuracy:
            iterations = iteration + 1
            break
        previous = change
    if iterations == 0:
        return 0
    for term in range(2):
        for k in range(m):
            for i in range(13):
                value = 0.0
                for j in range(NODES):
                    value += last_terms[term, j] * nodes[j, k, i]
                if abs(value) > rest * scale:
                    return 0
    return iterations


@kernel()
def mode_ends(force, u, mode, sliding):
    """What a mode no longer satisfies where it has these contact forces (3 nc,) and velocities u (3 nc,).

    sliding : (nc,), whether a contact slips already
    """
    stick, direction, follows, friction = mode.stick, mode.direction, mode.follows, mode.friction
    largest = 1e-300
    for c in range(stick.shape[0]):
        largest = max(largest, abs(force[3 * c]))
    for c in range(stick.shape[0]):
        if not stick[c] and friction[c] > 0.0:
            along = u[3 * c + 1] * direction[c, 0] + u[3 * c + 2] * direction[c, 1]
            least = 0.0 if sliding[c] else -STOPPED
            if follows[c]:
                along, least = np.sqrt(u[3 * c + 1] ** 2 + u[3 * c + 2] ** 2), 0.5 * SLIP_SPEED
            if along < least:
                return STICKS
    for c in range(stick.shape[0]):
        if force[3 * c] < -FORCE_MARGIN * largest:
            return LIFTS_OFF
    for c in range(stick.shape[0]):
        if stick[c]:
            drag = np.sqrt(force[3 * c + 1] ** 2 + force[3 * c + 2] ** 2)
            if drag > friction[c] * force[3 * c] + FORCE_MARGIN * largest:
                return SLIPS
    return CONTINUES


@kernel()
def move_by(states, change, velocities):
    """Move bodies by generalized velocities (6 m,) in world axes: add to their velocities, or shift and turn them.

    Turns are taken to first order, with quaternions of unit length after them.
    """
    for body in range(states.shape[0]):
        x, y, z = change[6 * body + 3], change[6 * body + 4], change[6 * body + 5]
        s = states[body]
        if velocities:
            x, y, z = turned_back(rotation_matrix(s[3:7]), x, y, z)
            for j in range(3):
                s[7 + j] += change[6 * body + j]
            s[10], s[11], s[12] = s[10] + x, s[11] + y, s[12] + z
            continue
        a, b, c, d = s[3], s[4], s[5], s[6]
        x, y, z = 0.5 * x, 0.5 * y, 0.5 * z
        s[3], s[4] = a - b * x - c * y - d * z, b + a * x + y * d - z * c
        s[5], s[6] = c + a * y + z * b - x * d, d + a * z + x * c - y * b
        norm = np.sqrt(s[3] ** 2 + s[4] ** 2 + s[5] ** 2 + s[6] ** 2)
        for j in range(3):
            s[j] += change[6 * body + j]
        for j in range(3, 7):
            s[j] /= norm


@kernel()
def hold_closed(states, system, ends, geometry, without_slip):
    """States nearest (in the kinetic metric) on the joints, with all gaps and normal velocities zero, and no slip
    where `without_slip` (nc,) says so."""
    result = states.copy()
    nc = ends.shape[0]
    width = 6 * states.shape[0]
    for iteration in range(3):
        velocities = iteration == 2
        change = np.zeros(width)
        Q = np.empty((0, width))
        if system.joint_ends.shape[0] > 0:
            _, Q, _, rate, value = barred(result, system)
            for i in range(Q.shape[0]):
                along = rate[i] if velocities else value[i]
                for j in range(width):
                    change[j] -= along * Q[i, j]
        J, _, u, gap = contact_rows(result, ends, geometry)
        rows = mobility_rows(result, system.inertias, J)
        allowed(J, rows, Q)
        held = held_rows(rows, without_slip)
        size = held.shape[0] if velocities else nc
        G = np.empty((size, size))
        b = np.empty(size)
        for i in range(size):
            h = held[i] if velocities else 3 * i
            b[i] = -u[h] if velocities else -gap[i]
            for j in range(width):
                b[i] -= J[h, j] * change[j]
            for k in range(size):
                q = held[k] if velocities else 3 * k
                G[i, k] = 0.0
                for j in range(width):
                    G[i, k] += J[h, j] * rows[q, j]
        x, _ = least_norm_solution(G, b)
        for k in range(size):
            q = held[k] if velocities else 3 * k
            for j in range(width):
                change[j] += rows[q, j] * x[k]
        move_by(result, change, velocities)
    return result
