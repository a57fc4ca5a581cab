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
from ..engine.tables_kernels import (
    OPEN,
    header,
    joint_force,
    local_acceleration,
    local_force,
    local_free,
)
from ..kernels import matrix, vector, wholes
from .force_kernels import add_forces, contact_rates, respond_joined, solve_mode, take_blocks
from .system_kernels import problem

_EDGES = 8  # of a pyramid
_MOST_CONTACTS = 24
_FOUND, _NONE = 0, 1


@part(allocates=True)
def pivot_forces(world, _i, _j):
    """Let forces and accelerations of the island that is open be those of Lemke's method; 1 where it finds none."""
    w, s = header(world), problem(world)
    m, nc = w.m, w.nc
    if nc > _MOST_CONTACTS:
        return _NONE
    # what a force is made of: one along the normal, of sliders with their friction, and edges of pyramids
    count = nc
    for c in range(nc):
        if s.friction[c] > 0.0 and not s.slider[c]:
            count += _EDGES
    contact, made, edge = wholes(count), matrix(count, 3), pyramid(3, _EDGES)
    g = nc
    for c in range(nc):
        contact[c], made[c, 0], made[c, 1], made[c, 2] = c, 1.0, 0.0, 0.0
        if s.slider[c]:
            for e in range(2):
                made[c, 1 + e] = -s.friction[c] * s.direction[c, e]
        elif s.friction[c] > 0.0:
            for k in range(_EDGES):
                contact[g], made[g, 0], made[g, 1], made[g, 2] = c, 0.0, edge[k, 0], edge[k, 1]
                g += 1
    u, slacks = matrix(nc, 3), (count - nc) // _EDGES
    M, q, z = np.zeros((count + slacks, count + slacks)), np.zeros(count + slacks), np.zeros(count + slacks)
    accelerations_apart(world, u)
    for g in range(count):
        q[g] = rate_along(u[contact[g]], g < nc, made[g])
    push, change, p = matrix(m, 6), matrix(m, 6), matrix(nc, 3)
    joint = vector(w.nj)
    for c in range(w.nj):
        joint[c] = 0.0
    for g in range(count):
        for k in range(m):
            for i in range(6):
                push[k, i] = 0.0
        set_force(p, contact, made, g)
        add_forces(s, p, joint, 1.0, push)
        respond_joined(s, push, change, g == 0)
        rates_of(s, change, u)
        for row in range(count):
            M[row, g] = rate_along(u[contact[row]], row < nc, made[row])
    slack, g = count, nc
    for c in range(nc):
        if s.friction[c] > 0.0 and not s.slider[c]:
            M[slack, c] = s.friction[c]
            for _ in range(_EDGES):
                M[slack, g], M[g, slack] = -1.0, 1.0
                g += 1
            slack += 1
    status, _, _, _ = solve_lcp_kernel(M, q, z)
    if status != SOLVED:
        return _NONE
    force = local_force(world)
    for c in range(nc):
        for e in range(3):
            force[c, e] = 0.0
    for g in range(count):
        for e in range(3):
            force[contact[g], e] += z[g] * made[g, e]
    under_forces(world)
    return _FOUND


@kernel()
def rate_along(u, normal, made):
    """Of the rates u (3,) of a contact the one that a force works against: along its normal, or the edge `made`."""
    return u[0] if normal else made[1] * u[1] + made[2] * u[2]


@kernel()
def set_force(p, contact, made, g):
    """Let forces p (nc, 3) be none but the unit force g."""
    for c in range(p.shape[0]):
        for e in range(3):
            p[c, e] = made[g, e] if c == contact[g] else 0.0


@kernel()
def rates_of(s, change, u):
    """Fill u (nc, 3) with the rates of contacts that accelerations `change` (m, 6) bring."""
    contact_rates(s, change, u)
    for c in range(u.shape[0]):
        for e in range(3):
            u[c, e] -= s.rate[c, e]


@kernel(allocates=True)
def accelerations_apart(world, u):
    """Fill u (nc, 3) with the rates of contacts without contact forces, where joints hold."""
    w, s = header(world), problem(world)
    none, p = wholes(w.nc), matrix(w.nc, 3)
    for c in range(w.nc):
        none[c] = OPEN
    a, joint = local_acceleration(world)[: w.m], joint_force(world)[: w.nj]
    for c in range(w.nj):
        joint[c] = 0.0
    for k in range(w.m):
        for i in range(6):
            a[k, i] = s.free[k, i]
    solve_mode(s, none, s.direction, p, joint, a, True, 0.0)
    contact_rates(s, a, u)


@kernel(allocates=True)
def under_forces(world):
    """Let accelerations and forces of joints be those under the forces of contacts."""
    w, s = header(world), problem(world)
    free, push, kept = local_free(world), matrix(w.m, 6), matrix(w.m, 6)
    p, joint, by = matrix(w.nc, 3), vector(w.nj), matrix(w.m, 6)
    for c in range(w.nj):
        joint[c] = 0.0
    for c in range(w.nc):
        for e in range(3):
            p[c, e] = local_force(world)[c, e]
    for k in range(w.m):
        for i in range(6):
            push[k, i] = 0.0
    add_forces(s, p, joint, 1.0, push)
    for k in range(w.m):
        take_blocks(s.mobility[k], push[k], by[k])
        for i in range(6):
            kept[k, i] = free[k, i]
            free[k, i] += by[k, i]
    accelerations_apart(world, p)
    for k in range(w.m):
        for i in range(6):
            free[k, i] = kept[k, i]
