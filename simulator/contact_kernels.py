"""Compiled kinematics and accelerations of bodies that stay in contact.

A contact has a *point* side P (core point `p`, body axes of P, grown by `radius`) and a *face* side F that
carries the normal (body axes of F, or world axes where F is not among the moving bodies, index -1). Where
both sides are round the normal is the line between the two core points instead.
"""

import numpy as np

from ..compiled import kernel
from .kernels import rotation_matrix
from .tolerances import SLOW_SLIP


@kernel()
def contact_rows(states, P, F, p, radius, normal, tangent, f, radius_f, is_round):
    """Of each contact: Jacobian rows (3 nc, 6 m), acceleration bias d(Jv)/dt without accelerations, u, gap.

    `f` is a point of the face (or the core point of the round side F), in the axes that carry the normal.
    """
    m = states.shape[0]
    nc = P.shape[0]
    J = np.zeros((3 * nc, 6 * m))
    bias = np.zeros(3 * nc)
    u = np.zeros(3 * nc)
    gap = np.zeros(nc)
    for c in range(nc):
        k = P[c]
        R = rotation_matrix(states[k, 3:7])
        core = R @ p[c]
        xP = states[k, 0:3]
        vP = states[k, 7:10]
        wP = R @ states[k, 10:13]
        xF = np.zeros(3)
        vF = np.zeros(3)
        wF = np.zeros(3)
        n = normal[c].copy()
        t = tangent[c].copy()
        face = f[c].copy()
        if F[c] >= 0:
            RF = rotation_matrix(states[F[c], 3:7])
            xF = states[F[c], 0:3]
            vF = states[F[c], 7:10]
            wF = RF @ states[F[c], 10:13]
            n = RF @ n
            t = RF @ t
            face = RF @ face
        between = xP + core - xF - face
        dn = np.cross(wF, n)
        if is_round[c]:
            distance = np.sqrt(np.sum(between * between))
            n = between / distance
            t = t - np.sum(t * n) * n
            t /= np.sqrt(np.sum(t * t))
            uc = vP + np.cross(wP, core) - vF - np.cross(wF, face)
            dn = (uc - n * np.sum(n * uc)) / distance
            gap[c] = distance - radius[c] - radius_f[c]
        else:
            gap[c] = np.sum(n * between) - radius[c]
        arm = core - radius[c] * n
        d_arm = np.cross(wP, core) - radius[c] * dn
        arm_f = xP + arm - xF
        d_arm_f = vP + d_arm - vF
        slip = vP + np.cross(wP, arm) - vF - np.cross(wF, arm_f)
        turning = np.cross(wP, d_arm) - np.cross(wF, d_arm_f)
        for row in range(3):
            if row == 0:
                axis = n
            elif row == 1:
                axis = t
            else:
                axis = np.cross(n, t)
            if is_round[c]:
                d_axis = dn if row == 0 else -np.sum(axis * dn) * n
            else:
                d_axis = np.cross(wF, axis)
            i = 3 * c + row
            J[i, 6 * k : 6 * k + 3] = axis
            J[i, 6 * k + 3 : 6 * k + 6] = np.cross(arm, axis)
            if F[c] >= 0:
                q = 6 * F[c]
                J[i, q : q + 3] = -axis
                J[i, q + 3 : q + 6] = -np.cross(arm_f, axis)
            u[i] = np.sum(axis * slip)
            bias[i] = np.sum(axis * turning) + np.sum(d_axis * slip)
    return J, bias, u, gap


@kernel()
def free_accelerations(states, inverse_mass, inertia, inverse_inertia, gravity):
    """Generalized acceleration (6 m,) without contact forces, inverse mass (6 m, 6 m); world axes."""
    m = states.shape[0]
    a = np.zeros(6 * m)
    B = np.zeros((6 * m, 6 * m))
    for k in range(m):
        R = rotation_matrix(states[k, 3:7])
        w = states[k, 10:13]
        L = inertia[k] @ w
        turn = inverse_inertia[k] @ np.cross(L, w)
        a[6 * k : 6 * k + 3] = gravity
        a[6 * k + 3 : 6 * k + 6] = R @ turn
        for i in range(3):
            B[6 * k + i, 6 * k + i] = inverse_mass[k]
        B[6 * k + 3 : 6 * k + 6, 6 * k + 3 : 6 * k + 6] = R @ inverse_inertia[k] @ R.T
    return a, B


@kernel()
def mode_accelerations(J, bias, u, a, B, stick, direction, follows, friction):
    """Accelerations (6 m,) and contact forces (3 nc,) that keep the contacts of a mode closed.

    Sticking contacts hold all three rows, sliding ones the normal row, with friction against
    `direction` (nc, 2), or the slip itself where friction `follows` it. Forces are the
    least-norm ones where they are not unique.
    """
    nc = stick.shape[0]
    size = 0
    for c in range(nc):
        size += 3 if stick[c] else 1
    rows = np.zeros((size, J.shape[1]))
    forces = np.zeros((size, J.shape[1]))
    target = np.zeros(size)
    slip = np.zeros((nc, 2))
    i = 0
    for c in range(nc):
        rows[i] = J[3 * c]
        forces[i] = J[3 * c]
        target[i] = -bias[3 * c]
        if stick[c]:
            for k in range(1, 3):
                rows[i + k] = J[3 * c + k]
                forces[i + k] = J[3 * c + k]
                target[i + k] = -bias[3 * c + k]
            i += 3
        else:
            slip[c] = direction[c]
            speed = np.sqrt(u[3 * c + 1] ** 2 + u[3 * c + 2] ** 2)
            if follows[c] and speed > SLOW_SLIP:
                slip[c, 0] = u[3 * c + 1] / speed
                slip[c, 1] = u[3 * c + 2] / speed
            forces[i] -= friction[c] * (slip[c, 0] * J[3 * c + 1] + slip[c, 1] * J[3 * c + 2])
            i += 1
    target -= rows @ a
    G = rows @ (B @ np.ascontiguousarray(forces.T))
    solution = np.linalg.pinv(G, 1e-11) @ target
    acceleration = a + B @ (np.ascontiguousarray(forces.T) @ solution)
    force = np.zeros(3 * nc)
    i = 0
    for c in range(nc):
        force[3 * c] = solution[i]
        if stick[c]:
            force[3 * c + 1] = solution[i + 1]
            force[3 * c + 2] = solution[i + 2]
            i += 3
        else:
            force[3 * c + 1] = -friction[c] * solution[i] * slip[c, 0]
            force[3 * c + 2] = -friction[c] * solution[i] * slip[c, 1]
            i += 1
    return acceleration, force


@kernel()
def state_derivative(states, acceleration):
    """Time derivative (m, 13) of packed states under generalized accelerations (6 m,), world axes."""
    m = states.shape[0]
    D = np.empty((m, 13))
    for k in range(m):
        w0, w1, w2 = states[k, 10], states[k, 11], states[k, 12]
        a, b, c, d = states[k, 3], states[k, 4], states[k, 5], states[k, 6]
        D[k, 0:3] = states[k, 7:10]
        D[k, 3] = 0.5 * (-b * w0 - c * w1 - d * w2)
        D[k, 4] = 0.5 * (a * w0 + c * w2 - d * w1)
        D[k, 5] = 0.5 * (a * w1 + d * w0 - b * w2)
        D[k, 6] = 0.5 * (a * w2 + b * w1 - c * w0)
        D[k, 7:10] = acceleration[6 * k : 6 * k + 3]
        R = rotation_matrix(states[k, 3:7])
        D[k, 10:13] = R.T @ acceleration[6 * k + 3 : 6 * k + 6]
    return D


@kernel()
def mode_field(nodes, P, F, p, radius, normal, tangent, f, radius_f, is_round, stick, direction, follows,
               friction,
               inverse_mass, inertia, inverse_inertia, gravity):  # fmt: skip
    """Derivatives (K, m, 13) at states (K, m, 13) of a contact mode, with forces, slip and gaps at each."""
    K, m, _ = nodes.shape
    nc = P.shape[0]
    D = np.empty((K, m, 13))
    force = np.empty((K, 3 * nc))
    slip = np.empty((K, 3 * nc))
    gaps = np.empty((K, nc))
    motion = np.empty((K, 6 * m))
    for k in range(K):
        states = nodes[k].copy()
        for body in range(m):
            states[body, 3:7] /= np.sqrt(np.sum(states[body, 3:7] ** 2))
        J, bias, u, gap = contact_rows(states, P, F, p, radius, normal, tangent, f, radius_f, is_round)
        a, B = free_accelerations(states, inverse_mass, inertia, inverse_inertia, gravity)
        acceleration, force[k] = mode_accelerations(J, bias, u, a, B, stick, direction, follows, friction)
        D[k] = state_derivative(nodes[k], acceleration)
        slip[k] = u
        gaps[k] = gap
        motion[k] = acceleration
    return D, force, slip, gaps, motion
