"""Compiled kinematics, accelerations and steps of bodies that stay in contact.

A contact has a side P, a curve, and a side F, a curve or a face. A curve is a point, a straight line or a
circle, and the surface is a radius away from it. The normal points from F to P. A face carries it; between
curves it lies along the line through their closest points, or, where sharp curves cross each other, across
both. `ends` (nc, 3) holds the moving bodies P and F (-1: fixed, and world axes stand for body axes) and the
kind, 4 * (curve of P - 1) + curve of F, each POINT, LINE, CIRCLE or (F only) FACE. `geometry` (nc, GEOMETRY)
holds, in body axes of the side each belongs to (normal and tangent: of F),

    0 place of P (a circle: its center), 3 radius of P, 4 normal, 7 tangent, 10 place of F, 13 radius of F,
    14 direction of P (of a line, or axis of a circle), 17 its circle's radius, 18 direction of F,
    21 its circle's radius, 22 where sharp curves cross: 1 or -1, sign of their normal against the product of
    their directions, else 0.

Of a point on a face or a point, only the first 14 are read. `inertias` (m, 19) holds inverse mass, inertia
and inverse inertia (body axes) of the m moving bodies.
"""

import numpy as np

from ..compiled import kernel
from ..impact_laws.lcp_kernels import eliminate
from .kernels import rotation_matrix
from .tolerances import (
    COLLOCATION_ACCURACY,
    FORCE_MARGIN,
    FORCE_RANK,
    SLIP_SPEED,
    STOPPED,
)

NODES = 10
GEOMETRY = 23
FACE, POINT, LINE, CIRCLE = 0, 1, 2, 3
ALTERNATIONS, NEWTON_STEPS = 3, 20
CONTINUES, LIFTS_OFF, SLIPS, STICKS = 0, 1, 2, 3


@kernel()
def cross(ax, ay, az, bx, by, bz):
    """Vector product, by components."""
    return ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx


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
            if kind > 0:
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
def free_accelerations(states, inertias, gravity):
    """Generalized accelerations (6 m,) without contact forces, world axes."""
    m = states.shape[0]
    a = np.zeros(6 * m)
    for k in range(m):
        R = rotation_matrix(states[k, 3:7])
        I = inertias[k]
        x, y, z = states[k, 10], states[k, 11], states[k, 12]
        lx = I[1] * x + I[2] * y + I[3] * z
        ly = I[4] * x + I[5] * y + I[6] * z
        lz = I[7] * x + I[8] * y + I[9] * z
        x, y, z = cross(lx, ly, lz, x, y, z)
        lx = I[10] * x + I[11] * y + I[12] * z
        ly = I[13] * x + I[14] * y + I[15] * z
        lz = I[16] * x + I[17] * y + I[18] * z
        for i in range(3):
            a[6 * k + i] = gravity[i]
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
            for j in range(3):
                rows[i, 6 * k + j] = I[0] * J[i, 6 * k + j]
            x, y, z = turned_back(R, J[i, 6 * k + 3], J[i, 6 * k + 4], J[i, 6 * k + 5])
            lx = I[10] * x + I[11] * y + I[12] * z
            ly = I[13] * x + I[14] * y + I[15] * z
            lz = I[16] * x + I[17] * y + I[18] * z
            rows[i, 6 * k + 3], rows[i, 6 * k + 4], rows[i, 6 * k + 5] = turned(R, lx, ly, lz)
    return rows


@kernel()
def least_norm_solution(G, b):
    """Solution of G x = b, of least norm and residual where G (n, n) is singular; and whether it is not.

    Elimination with complete pivoting; where a pivot vanishes, the singular values by one-sided Jacobi
    rotations (Golub & Van Loan, Matrix Computations, section 8.6.3).
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
    A = G.copy()
    V = np.zeros((n, n))
    for i in range(n):
        V[i, i] = 1.0
    for _ in range(60):
        turns = 0
        for p in range(n - 1):
            for q in range(p + 1, n):
                alpha = beta = gamma = 0.0
                for i in range(n):
                    alpha += A[i, p] * A[i, p]
                    beta += A[i, q] * A[i, q]
                    gamma += A[i, p] * A[i, q]
                if abs(gamma) <= 1e-15 * np.sqrt(alpha * beta):
                    continue
                turns += 1
                zeta = (beta - alpha) / (2.0 * gamma)
                t = (1.0 if zeta >= 0.0 else -1.0) / (abs(zeta) + np.sqrt(1.0 + zeta * zeta))
                cosine = 1.0 / np.sqrt(1.0 + t * t)
                sine = cosine * t
                for i in range(n):
                    A[i, p], A[i, q] = cosine * A[i, p] - sine * A[i, q], sine * A[i, p] + cosine * A[i, q]
                    V[i, p], V[i, q] = cosine * V[i, p] - sine * V[i, q], sine * V[i, p] + cosine * V[i, q]
        if turns == 0:
            break
    largest = 0.0
    for j in range(n):
        square = 0.0
        for i in range(n):
            square += A[i, j] * A[i, j]
        y[j] = square
        largest = max(largest, square)
    for j in range(n):
        if y[j] > FORCE_RANK * FORCE_RANK * largest:
            along = 0.0
            for i in range(n):
                along += A[i, j] * b[i]
            for i in range(n):
                x[i] += V[i, j] * along / y[j]
    return x, False


@kernel()
def mode_accelerations(J, rows, bias, u, a, stick, direction, follows, friction, reference):
    """Accelerations (6 m,), contact forces (3 nc,) that keep a mode's contacts closed, and their uniqueness.

    Sticking contacts hold all three rows of J, sliding ones the normal row, with friction against
    `direction` (nc, 2), or against the slip itself where friction `follows` it. Where forces are not unique,
    they are those nearest to `reference` (3 nc,). `rows` is J M^-1.
    """
    nc = stick.shape[0]
    width = J.shape[1]
    size = 0
    for c in range(nc):
        size += 3 if stick[c] else 1
    held = np.empty(size, np.int64)
    push = np.empty((size, width))  # M^-1 times the direction of each unknown force
    slip = np.zeros((nc, 2))
    n = 0
    for c in range(nc):
        for k in range(3 if stick[c] else 1):
            held[n] = 3 * c + k
            for j in range(width):
                push[n, j] = rows[3 * c + k, j]
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
    for i in range(size):
        h = held[i]
        target[i] = -bias[h]
        for j in range(width):
            target[i] -= J[h, j] * a[j]
        for k in range(size):
            entry = 0.0
            for j in range(width):
                entry += J[h, j] * push[k, j]
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
def motion_of_mode(
    states, ends, geometry, inertias, gravity, stick, direction, follows, friction, reference
):  # fmt: skip
    """Generalized acceleration, contact forces, slip and uniqueness of a mode at states (m, 13)."""
    unit = normalized(states)
    J, bias, u, _ = contact_rows(unit, ends, geometry)
    a = free_accelerations(unit, inertias, gravity)
    rows = mobility_rows(unit, inertias, J)
    acceleration, force, unique = mode_accelerations(
        J, rows, bias, u, a, stick, direction, follows, friction, reference
    )
    return acceleration, force, u, unique


@kernel()
def collocated_step(
    states, h, integrate, last_terms, ends, geometry, inertias, gravity, stick, direction, follows, friction,
    reference, nodes,
):  # fmt: skip
    """Fill nodes (NODES, m, 13) with the collocation solution over a step h; iterations, 0 where it fails.

    Picard iteration of states + h * integrate @ derivative; accepted when the change and the last two
    Chebyshev coefficients (`last_terms` @ nodes) vanish against the states.
    """
    m = states.shape[0]
    scale = 1.0
    for k in range(m):
        for i in range(13):
            scale = max(scale, 1.0 + abs(states[k, i]))
            for node in range(NODES):
                nodes[node, k, i] = states[k, i]
    D = np.empty((NODES, m, 13))
    previous = np.inf
    iterations = 0
    for iteration in range(40):
        for node in range(NODES):
            acceleration, _, _, _ = motion_of_mode(
                nodes[node], ends, geometry, inertias, gravity, stick, direction, follows, friction, reference
            )
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
        if change <= COLLOCATION_ACCURACY:
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
                if abs(value) > 10.0 * COLLOCATION_ACCURACY * scale:
                    return 0
    return iterations


@kernel()
def mode_ends(force, u, stick, sliding, direction, follows, friction):
    """What a mode no longer satisfies where it has these contact forces (3 nc,) and velocities u (3 nc,)."""
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
def hold_closed(states, ends, geometry, inertias, without_slip):
    """States nearest (in the kinetic metric) with all gaps and normal velocities zero, and no slip where
    `without_slip` (nc,) says so."""
    result = states.copy()
    nc = ends.shape[0]
    count = 0
    for c in range(nc):
        count += 3 if without_slip[c] else 1
    held = np.empty(count, np.int64)
    n = 0
    for c in range(nc):
        for k in range(3 if without_slip[c] else 1):
            held[n] = 3 * c + k
            n += 1
    for iteration in range(3):
        J, _, u, gap = contact_rows(result, ends, geometry)
        rows = mobility_rows(result, inertias, J)
        velocities = iteration == 2
        size = count if velocities else nc
        G = np.empty((size, size))
        b = np.empty(size)
        for i in range(size):
            h = held[i] if velocities else 3 * i
            b[i] = -u[h] if velocities else -gap[i]
            for k in range(size):
                q = held[k] if velocities else 3 * k
                G[i, k] = 0.0
                for j in range(J.shape[1]):
                    G[i, k] += J[h, j] * rows[q, j]
        x, _ = least_norm_solution(G, b)
        for body in range(states.shape[0]):
            change = np.zeros(6)
            for k in range(size):
                q = held[k] if velocities else 3 * k
                for j in range(6):
                    change[j] += rows[q, 6 * body + j] * x[k]
            if velocities:
                R = rotation_matrix(result[body, 3:7])
                lx, ly, lz = turned_back(R, change[3], change[4], change[5])
                for j in range(3):
                    result[body, 7 + j] += change[j]
                result[body, 10] += lx
                result[body, 11] += ly
                result[body, 12] += lz
            else:
                a, b0, c0, d = result[body, 3], result[body, 4], result[body, 5], result[body, 6]
                x0, y0, z0 = 0.5 * change[3], 0.5 * change[4], 0.5 * change[5]
                # first order in the small turn, then back to unit length
                result[body, 3] = a - b0 * x0 - c0 * y0 - d * z0
                result[body, 4] = b0 + a * x0 + y0 * d - z0 * c0
                result[body, 5] = c0 + a * y0 + z0 * b0 - x0 * d
                result[body, 6] = d + a * z0 + x0 * c0 - y0 * b0
                norm = np.sqrt(
                    result[body, 3] ** 2 + result[body, 4] ** 2 + result[body, 5] ** 2 + result[body, 6] ** 2
                )
                for j in range(3):
                    result[body, j] += change[j]
                for j in range(3, 7):
                    result[body, j] /= norm
    return result
