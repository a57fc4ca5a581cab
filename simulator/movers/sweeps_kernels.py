"""Sweeps of block Gauss-Seidel for the force problem: cheap, and soon near its solution.

A sweep over the contacts costs a tenth of a factorisation. Newton's method ends where sweeps would go on for
thousands, and is soon there once it is known which contacts press, stick and slip: where that has not changed for
STEADY sweeps, more of them are worth less than they cost (twenty boxes, two stacks of six: a tenth of the time).
"""

import numpy as np

from ...compiled import kernel
from ..kernels import matrix, vector, vector3, wholes, zeros
from .force_kernels import APART, SLIPS, STICKS, accelerations_of, take_blocks

SWEEPS, STEADY = 100, 20
MOST_SWEEPS = 20_000  # where nothing else finds forces
ON_CONE = 1.0 - 1e-6


@kernel(allocates=True)
def sweep_forces(s, p, joint, tolerance, most, steady):
    """Bring forces p (nc, 3) and joint (nj,) nearer to the solution of a problem, until they change by less than
    `tolerance` [of u] in a sweep, or no contact has begun to press, stick or slip in `steady` sweeps, or in `most`
    sweeps; they stay as they are where sweeps lead away."""
    m, nc, nj = s.mass.shape[0], s.ends.shape[0], s.joint_ends.shape[0]
    response, own = np.empty((nc, 2, 3, 6)), np.empty((nc, 3, 3))  # W J^T, J W J^T of each contact
    joint_response, joint_own = np.empty((nj, 2, 6)), zeros(nj)
    for c in range(nc):
        for e in range(3):
            for f in range(3):
                own[c, e, f] = 0.0
        for side in range(2):
            k = s.ends[c, side]
            if k < 0:
                continue
            for e in range(3):
                take_blocks(s.mobility[k], s.jacobian[c, side, e], response[c, side, e])
                for f in range(3):
                    for i in range(6):
                        own[c, e, f] += s.jacobian[c, side, f, i] * response[c, side, e, i]
    for c in range(nj):
        for side in range(2):
            k = s.joint_ends[c, side]
            if k >= 0:
                take_blocks(s.mobility[k], s.joint_jacobian[c, side], joint_response[c, side])
                for i in range(6):
                    joint_own[c] += s.joint_jacobian[c, side, i] * joint_response[c, side, i]
    a, u = matrix(m, 6), vector3()
    accelerations_of(s, p, joint, matrix(m, 6), a)
    kept, kept_joint, first = matrix(nc, 3), vector(nj), np.inf
    for c in range(nc):
        for e in range(3):
            kept[c, e] = p[c, e]
    for c in range(nj):
        kept_joint[c] = joint[c]
    change, same, where = np.inf, 0, wholes(nc)
    for c in range(nc):
        where[c] = -1
    for sweep in range(most):
        change, same = 0.0, same + 1
        for c in range(nc):
            change = max(change, sweep_contact(s, c, response, own, p, a, u))
            now = place_in_cone(s, c, p)
            if now != where[c]:
                where[c], same = now, 0
        for c in range(nj):
            if joint_own[c] == 0.0:
                continue
            rate = s.joint_rate[c]
            for side in range(2):
                k = s.joint_ends[c, side]
                if k >= 0:
                    for i in range(6):
                        rate += s.joint_jacobian[c, side, i] * a[k, i]
            joint[c] -= rate / joint_own[c]
            for side in range(2):
                k = s.joint_ends[c, side]
                if k >= 0:
                    for i in range(6):
                        a[k, i] -= joint_response[c, side, i] * rate / joint_own[c]
            change = max(change, abs(rate))
        if change <= tolerance or same >= steady:
            return
        if sweep == 0:
            first = change
    if not change <= first:
        for c in range(nc):
            for e in range(3):
                p[c, e] = kept[c, e]
        for c in range(nj):
            joint[c] = kept_joint[c]


@kernel()
def place_in_cone(s, c, p):
    """Whether the force of contact c among forces p (nc, 3) is none, on its cone, or within it."""
    normal = p[s.parent[c] if s.parent[c] >= 0 else c, 0]
    if normal == 0.0:
        return APART
    most = ON_CONE * s.friction[c] * normal
    return SLIPS if p[c, 1] * p[c, 1] + p[c, 2] * p[c, 2] >= most * most else STICKS


@kernel()
def sweep_contact(s, c, responses, stiffnesses, forces, a, u):
    """Change the force of contact c among forces (nc, 3) to what its rates u (3,) ask for, its normal part first,
    and the accelerations a (m, 6) with it; by how much, in rates."""
    p, own, response = forces[c], stiffnesses[c], responses[c]
    for e in range(3):
        u[e] = s.rate[c, e]
        for side in range(2):
            k = s.ends[c, side]
            if k >= 0:
                J, b = s.jacobian[c, side, e], a[k]
                u[e] += J[0] * b[0] + J[1] * b[1] + J[2] * b[2] + J[3] * b[3] + J[4] * b[4] + J[5] * b[5]
    mu, parent = s.friction[c], s.parent[c]
    if parent >= 0:
        n, by_n = forces[parent, 0], 0.0
    elif own[0, 0] == 0.0:
        return 0.0
    else:
        n = max(0.0, p[0] - u[0] / own[0, 0])
        by_n = n - p[0]
    x, y = p[1], p[2]
    stiff = own[1, 1] + own[2, 2]
    if s.slider[c]:
        x, y = -mu * n * s.direction[c, 0], -mu * n * s.direction[c, 1]
    elif stiff > 0.0:
        x -= 2.0 * (u[1] + own[0, 1] * by_n) / stiff
        y -= 2.0 * (u[2] + own[0, 2] * by_n) / stiff
        drag = np.sqrt(x * x + y * y)
        if drag > mu * n:
            x, y = x * mu * n / drag, y * mu * n / drag
    by_x, by_y = x - p[1], y - p[2]
    p[0], p[1], p[2] = n, x, y
    for side in range(2):
        k = s.ends[c, side]
        if k >= 0:
            b, R = a[k], response[side]
            for i in range(6):
                b[i] += R[0, i] * by_n + R[1, i] * by_x + R[2, i] * by_y
    return max(abs(by_n) * own[0, 0], max(abs(by_x), abs(by_y)) * 0.5 * stiff)
