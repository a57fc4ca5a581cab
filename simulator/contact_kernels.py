"""Compiled kinematics, accelerations and steps of bodies that stay in contact.

A contact has a *point* side P (core point `p`, body axes of P, grown by `radius`) and a *face* side F that
carries the normal (body axes of F, or world axes where F is not among the moving bodies, index -1). Where
both sides are round the normal is the line between the two core points instead. `ends` (nc, 3) holds P, F
and whether both are round; `geometry` (nc, 14) holds p, radius, normal, tangent, f, radius of F, where `f` is
a point of the face (or the core point of the round side F) in the axes that carry the normal. `inertias`
(m, 19) holds inverse mass, inertia and inverse inertia (body axes) of the m moving bodies.
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
)

NODES = 10
CONTINUES, LIFTS_OFF, SLIPS, STICKS = 0, 1, 2, 3


@kernel()
def cross(ax, ay, az, bx, by, bz):
    """Vector product, by components."""
    return ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx


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
def contact_rows(states, ends, geometry):
    """Of each contact: Jacobian rows (3 nc, 6 m), bias d(Jv)/dt without accelerations, u, gap."""
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
        k, other, is_round = ends[c, 0], ends[c, 1], ends[c, 2]
        g = geometry[c]
        R = rotation_matrix(states[k, 3:7])
        cx, cy, cz = turned(R, g[0], g[1], g[2])
        wx, wy, wz = turned(R, states[k, 10], states[k, 11], states[k, 12])
        vx, vy, vz = states[k, 7], states[k, 8], states[k, 9]
        sx = sy = sz = 0.0  # position, velocity, angular velocity of the face side
        px = py = pz = 0.0
        ox = oy = oz = 0.0
        RF = identity
        if other >= 0:
            RF = rotation_matrix(states[other, 3:7])
            sx, sy, sz = states[other, 0], states[other, 1], states[other, 2]
            px, py, pz = states[other, 7], states[other, 8], states[other, 9]
            ox, oy, oz = turned(RF, states[other, 10], states[other, 11], states[other, 12])
        nx, ny, nz = turned(RF, g[4], g[5], g[6])
        tx, ty, tz = turned(RF, g[7], g[8], g[9])
        fx, fy, fz = turned(RF, g[10], g[11], g[12])
        bx = states[k, 0] + cx - sx - fx
        by = states[k, 1] + cy - sy - fy
        bz = states[k, 2] + cz - sz - fz
        dnx, dny, dnz = cross(ox, oy, oz, nx, ny, nz)
        wcx, wcy, wcz = cross(wx, wy, wz, cx, cy, cz)
        if is_round:
            distance = np.sqrt(bx * bx + by * by + bz * bz)
            nx, ny, nz = bx / distance, by / distance, bz / distance
            along = tx * nx + ty * ny + tz * nz
            tx, ty, tz = tx - along * nx, ty - along * ny, tz - along * nz
            length = np.sqrt(tx * tx + ty * ty + tz * tz)
            tx, ty, tz = tx / length, ty / length, tz / length
            ofx, ofy, ofz = cross(ox, oy, oz, fx, fy, fz)
            rx, ry, rz = vx + wcx - px - ofx, vy + wcy - py - ofy, vz + wcz - pz - ofz
            closing = nx * rx + ny * ry + nz * rz
            dnx = (rx - nx * closing) / distance
            dny = (ry - ny * closing) / distance
            dnz = (rz - nz * closing) / distance
            gap[c] = distance - g[3] - g[13]
        else:
            gap[c] = nx * bx + ny * by + nz * bz - g[3]
        ax, ay, az = cx - g[3] * nx, cy - g[3] * ny, cz - g[3] * nz
        dax, day, daz = wcx - g[3] * dnx, wcy - g[3] * dny, wcz - g[3] * dnz
        ex, ey, ez = states[k, 0] + ax - sx, states[k, 1] + ay - sy, states[k, 2] + az - sz
        dex, dey, dez = vx + dax - px, vy + day - py, vz + daz - pz
        wax, way, waz = cross(wx, wy, wz, ax, ay, az)
        oex, oey, oez = cross(ox, oy, oz, ex, ey, ez)
        ux, uy, uz = vx + wax - px - oex, vy + way - py - oey, vz + waz - pz - oez
        w1x, w1y, w1z = cross(wx, wy, wz, dax, day, daz)
        w2x, w2y, w2z = cross(ox, oy, oz, dex, dey, dez)
        for row in range(3):
            if row == 0:
                qx, qy, qz = nx, ny, nz
            elif row == 1:
                qx, qy, qz = tx, ty, tz
            else:
                qx, qy, qz = cross(nx, ny, nz, tx, ty, tz)
            if not is_round:
                dqx, dqy, dqz = cross(ox, oy, oz, qx, qy, qz)
            elif row == 0:
                dqx, dqy, dqz = dnx, dny, dnz
            else:
                along = qx * dnx + qy * dny + qz * dnz
                dqx, dqy, dqz = -along * nx, -along * ny, -along * nz
            i = 3 * c + row
            J[i, 6 * k], J[i, 6 * k + 1], J[i, 6 * k + 2] = qx, qy, qz
            mx, my, mz = cross(ax, ay, az, qx, qy, qz)
            J[i, 6 * k + 3], J[i, 6 * k + 4], J[i, 6 * k + 5] = mx, my, mz
            if other >= 0:
                q = 6 * other
                J[i, q], J[i, q + 1], J[i, q + 2] = -qx, -qy, -qz
                mx, my, mz = cross(ex, ey, ez, qx, qy, qz)
                J[i, q + 3], J[i, q + 4], J[i, q + 5] = -mx, -my, -mz
            u[i] = qx * ux + qy * uy + qz * uz
            bias[i] = qx * (w1x - w2x) + qy * (w1y - w2y) + qz * (w1z - w2z) + dqx * ux + dqy * uy + dqz * uz
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
def mode_accelerations(J, rows, bias, u, a, stick, direction, follows, friction):
    """Accelerations (6 m,), contact forces (3 nc,) that keep a mode's contacts closed, and their uniqueness.

    Sticking contacts hold all three rows of J, sliding ones the normal row, with friction against
    `direction` (nc, 2), or against the slip itself where friction `follows` it. Forces are the least-norm
    ones where they are not unique. `rows` is J M^-1.
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
    solution, unique = least_norm_solution(G, target)
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
def motion_of_mode(states, ends, geometry, inertias, gravity, stick, direction, follows, friction):
    """Generalized acceleration, contact forces, slip and uniqueness of a mode at states (m, 13)."""
    unit = normalized(states)
    J, bias, u, _ = contact_rows(unit, ends, geometry)
    a = free_accelerations(unit, inertias, gravity)
    rows = mobility_rows(unit, inertias, J)
    acceleration, force, unique = mode_accelerations(J, rows, bias, u, a, stick, direction, follows, friction)
    return acceleration, force, u, unique


@kernel()
def collocated_step(
    states, h, integrate, last_terms, ends, geometry, inertias, gravity, stick, direction, follows, friction,
    nodes,
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
                nodes[node], ends, geometry, inertias, gravity, stick, direction, follows, friction
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
def mode_ends(states, ends, geometry, inertias, gravity, stick, sliding, direction, follows, friction):
    """What a mode no longer satisfies at these states, whether its forces are unique, its accelerations."""
    motion, force, u, unique = motion_of_mode(
        states, ends, geometry, inertias, gravity, stick, direction, follows, friction
    )
    largest = 1e-300
    for c in range(stick.shape[0]):
        largest = max(largest, abs(force[3 * c]))
    for c in range(stick.shape[0]):
        if not stick[c] and friction[c] > 0.0:
            along = u[3 * c + 1] * direction[c, 0] + u[3 * c + 2] * direction[c, 1]
            if follows[c]:
                along = np.sqrt(u[3 * c + 1] ** 2 + u[3 * c + 2] ** 2)
            if along < (0.5 if sliding[c] else -0.5) * SLIP_SPEED:
                return STICKS, True, motion
    for c in range(stick.shape[0]):
        if force[3 * c] < -FORCE_MARGIN * largest:
            return LIFTS_OFF, unique, motion
    for c in range(stick.shape[0]):
        if stick[c]:
            drag = np.sqrt(force[3 * c + 1] ** 2 + force[3 * c + 2] ** 2)
            if drag > friction[c] * force[3 * c] + FORCE_MARGIN * largest:
                return SLIPS, unique, motion
    return CONTINUES, unique, motion


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
