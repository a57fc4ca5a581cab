"""Contact forces by pivots, where sweeps and Newton's method do not find them.

Contacts that share their load, on chains of joints that are all but stretched, have forces that a residual hardly
tells from others: Newton's method goes astray between them. The same problem with pyramids in place of cones is
linear, and Lemke's method ends at a solution or shows that there is none; from there Newton's method needs a step
or two to the cones. It costs far more than these, so that it comes last.
"""

import numpy as np

from ...compiled import kernel, part
from ...impact_laws.lcp_kernels import SOLVED, solve_lcp_kernel
from ...impact_laws.sequential_lcp_kernels import pyramid
from ..engine.tables_kernels import OPEN, header, joint_force, local_acceleration, local_force
from ..kernels import matrix, vector, wholes, zeros
from .force_kernels import add_forces, contact_rates, respond_joined, solve_mode, take_blocks
from .system_kernels import problem

_EDGES = 8  # of a pyramid
_MOST_CONTACTS = 24


@part(allocates=True)
def pivot_forces(world, _i, _j):
    """Let forces and accelerations of the island that is open be those of Lemke's method; 1 where it finds none."""
    w = header(world)
    p, joint, a = local_force(world)[: w.nr], joint_force(world)[: w.nj], local_acceleration(world)[: w.m]
    return 0 if solve_by_pivots(problem(world), p, joint, a) else 1


@kernel(allocates=True)
def solve_by_pivots(s, p, joint, a):
    """Let p (nc, 3), joint (nj,) and a (m, 6) solve the force problem with pyramids for cones; whether that is
    possible."""
    m, nc = s.mass.shape[0], s.ends.shape[0]
    if nc > _MOST_CONTACTS:
        return False
    # what a force is made of: one along the normal, of sliders with their friction, and edges of pyramids
    count = nc
    for c in range(nc):
        if s.friction[c] > 0.0 and not s.slider[c]:
            count += _EDGES
    contact, made, edge = wholes(count), matrix(count, 3), pyramid(3, _EDGES)
    g = nc
    for c in range(nc):
        # of a turn: nothing, by its Jacobian
        contact[c], made[c, 0], made[c, 1], made[c, 2] = c, 1.0, 0.0, 0.0
        if s.slider[c]:
            for e in range(2):
                made[c, 1 + e] = -s.friction[c] * s.direction[c, e]
        elif s.friction[c] > 0.0:
            for k in range(_EDGES):
                contact[g], made[g, 0], made[g, 1], made[g, 2] = c, 0.0, edge[k, 0], edge[k, 1]
                g += 1
    slacks = (count - nc) // _EDGES
    M, q, z = np.zeros((count + slacks, count + slacks)), np.zeros(count + slacks), np.zeros(count + slacks)
    u, push, change = matrix(nc, 3), matrix(m, 6), matrix(m, 6)
    accelerations_apart(s, joint, a)
    contact_rates(s, a, u)
    for g in range(count):
        q[g] = rate_along(u[contact[g]], g < nc, made[g])
    none = zeros(joint.size)
    for g in range(count):
        for k in range(m):
            for i in range(6):
                push[k, i] = 0.0
        for c in range(nc):
            for e in range(3):
                p[c, e] = made[g, e] if c == contact[g] else 0.0
        add_forces(s, p, none, 1.0, push)
        respond_joined(s, push, change, g == 0)
        contact_rates(s, change, u)
        for c in range(nc):
            for e in range(3):
                u[c, e] -= s.rate[c, e]
        for row in range(count):
            M[row, g] = rate_along(u[contact[row]], row < nc, made[row])
    slack, g = count, nc
    for c in range(nc):
        if s.friction[c] > 0.0 and not s.slider[c]:
            M[slack, s.parent[c] if s.parent[c] >= 0 else c] = s.friction[c]
            for _ in range(_EDGES):
                M[slack, g], M[g, slack] = -1.0, 1.0
                g += 1
            slack += 1
    status, _, _, _ = solve_lcp_kernel(M, q, z)
    for c in range(nc):
        for e in range(3):
            p[c, e] = 0.0
    if status != SOLVED:
        return False
    for g in range(count):
        for e in range(3):
            p[contact[g], e] += z[g] * made[g, e]
    for c in range(nc):
        if s.parent[c] >= 0:
            p[c, 0] = p[s.parent[c], 0]
    accelerations_under(s, p, joint, a)
    return True


@kernel()
def rate_along(u, normal, made):
    """Of the rates u (3,) of a contact the one that a force works against: along its normal, or the edge `made`."""
    return u[0] if normal else made[1] * u[1] + made[2] * u[2]


@kernel(allocates=True)
def accelerations_apart(s, joint, a):
    """Let a (m, 6) and joint (nj,) be what they are without contact forces."""
    nc = s.ends.shape[0]
    none, p = wholes(nc), matrix(nc, 3)
    for c in range(nc):
        none[c] = OPEN
    for c in range(joint.size):
        joint[c] = 0.0
    for k in range(a.shape[0]):
        for i in range(6):
            a[k, i] = s.free[k, i]
    solve_mode(s, none, s.direction, p, joint, a, True, 0.0)


@kernel(allocates=True)
def accelerations_under(s, p, joint, a):
    """Let a (m, 6) and joint (nj,) be what they are under contact forces p (nc, 3)."""
    m = a.shape[0]
    push, by, kept, none = matrix(m, 6), vector(6), matrix(m, 6), zeros(joint.size)
    for k in range(m):
        for i in range(6):
            push[k, i], kept[k, i] = 0.0, s.free[k, i]
    add_forces(s, p, none, 1.0, push)
    for k in range(m):
        take_blocks(s.mobility[k], push[k], by)
        for i in range(6):
            s.free[k, i] += by[i]
    accelerations_apart(s, joint, a)
    for k in range(m):
        for i in range(6):
            s.free[k, i] = kept[k, i]
