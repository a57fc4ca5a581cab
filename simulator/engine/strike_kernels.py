"""The impact problem of an event: what a law is asked about, and what its impulses do.

The bodies and contacts of the event are those that are shown, see `system_kernels`. W and the velocities stand in
the table of numbers, in the order and layout of `ImpactProblem`.
"""

import numpy as np

from ...compiled import kernel
from ...impact_laws.outcome_kernels import judge, kinetic_scales
from ..kernels import matrix, vector, vector6
from ..movers.force_kernels import respond_joined
from ..movers.system_kernels import place, problem
from ..tolerances import JOINT_RANK
from .shapes_kernels import float_matrix, float_numbers
from .tables_kernels import (
    NUMBER,
    contacts,
    found,
    header,
    local_bodies,
    local_ends,
    local_jacobian,
    local_mobility,
    local_placed,
    local_state,
    local_turn,
    motions,
    reserve,
)

_NUMBERS = NUMBER["numbers"]
VERDICT = 100  # added to what `judge` found, where the law itself saw no failure


@kernel(allocates=True, lends=True)
def problem_matrix(world):
    """W (n, n) of the event's problem."""
    w = header(world)
    return float_matrix(w.numbers, w.dim * w.found_count, w.dim * w.found_count)


@kernel(allocates=True, lends=True)
def problem_part(world, which):
    """Vectors of the event's problem: 0 velocity (n,); 1 friction, 2 restitution, 3 kinetic scale (contacts,)."""
    w = header(world)
    count = w.found_count
    n = w.dim * count
    at = n * n + (n + (which - 1) * count if which > 0 else 0)
    return float_numbers(w.numbers, at, n if which == 0 else count)


@kernel()
def pose_problem(world):
    """Fill the problem of the contacts that were found, in place."""
    w = header(world)
    w.dim = 2 if w.planar else 3
    count, dim = w.found_count, w.dim
    n = dim * count
    reserve(world, _NUMBERS, n * n + n + 3 * count)
    W, u = problem_matrix(world), problem_part(world, 0)
    friction, restitution, scale = problem_part(world, 1), problem_part(world, 2), problem_part(world, 3)
    table, placed = contacts(world), local_placed(world)
    for k in range(count):
        c = table[found(world)[k]]
        friction[k] = c.impact_friction
        for i in range(dim):
            u[dim * k + i] = placed[k, 15 + i]
    if w.nj > 0:
        joined_matrix(world, W)
        drop_barred(world, W, u)
    else:
        fill_matrix(world, W)
    for k in range(count):
        c = table[found(world)[k]]
        c.felt = restitution_at(c, -u[dim * k], W[dim * k, dim * k])
        restitution[k] = c.felt
    kinetic_scales(W, dim, scale)


@kernel()
def graze(world, slow):
    """Let contacts of the event's problem that part no faster than `slow` [m/s] graze: of two that touch lastingly
    it is rounding, and a law resolves no contact that parts."""
    w, u = header(world), problem_part(world, 0)
    for k in range(w.found_count):
        if 0.0 < u[w.dim * k] <= slow:
            u[w.dim * k] = 0.0


@kernel()
def restitution_at(c, approach, mobility):
    """Restitution of a contact that approaches so fast [m/s], where a unit impulse changes that by its mobility
    [1/kg]."""
    if c.fall[0] == 0.0 or approach <= 0.0:
        return c.restitution
    load = approach * approach * c.fall[1]
    if c.fall[2] > 0.0:
        if mobility <= 0.0:
            return c.restitution
        load *= c.fall[2] / mobility
    return c.restitution * (1.0 + load) ** (-0.5 * c.fall[0])


@kernel()
def fill_matrix(world, W):
    """Fill W of bodies that no joints hold."""
    w = header(world)
    dim, ends, J = w.dim, local_ends(world), local_jacobian(world)
    n = dim * w.found_count
    for i in range(n):
        for j in range(n):
            W[i, j] = 0.0
    response = vector6()
    for c in range(w.found_count):
        for side in range(2):
            k = ends[c, side]
            if k < 0:
                continue
            M = local_mobility(world)[k]
            for e in range(dim):
                row = J[c, side, e]
                for i in range(6):
                    response[i] = (
                        M[i, 0] * row[0] + M[i, 1] * row[1] + M[i, 2] * row[2]
                        + M[i, 3] * row[3] + M[i, 4] * row[4] + M[i, 5] * row[5]
                    )  # fmt: skip
                for q in range(c + 1):
                    for end in range(2):
                        if ends[q, end] != k:
                            continue
                        for f in range(dim):
                            other = J[q, end, f]
                            W[dim * c + e, dim * q + f] += (
                                other[0] * response[0] + other[1] * response[1] + other[2] * response[2]
                                + other[3] * response[3] + other[4] * response[4] + other[5] * response[5]
                            )  # fmt: skip
    for i in range(n):
        for j in range(i):
            W[j, i] = W[i, j]


@kernel(allocates=True)
def joined_matrix(world, W):
    """Fill W of bodies that joints hold: the response to a unit impulse is what these allow of it."""
    w, s = header(world), problem(world)
    dim, ends, J = w.dim, local_ends(world), local_jacobian(world)
    n = dim * w.found_count
    push, response = matrix(w.m, 6), matrix(w.m, 6)
    for c in range(w.found_count):
        for e in range(dim):
            for k in range(w.m):
                for i in range(6):
                    push[k, i] = 0.0
            for side in range(2):
                k = ends[c, side]
                if k >= 0:
                    for i in range(6):
                        push[k, i] += J[c, side, e, i]
            respond_joined(s, push, response, c == 0 and e == 0)
            for q in range(w.found_count):
                for f in range(dim):
                    total = 0.0
                    for end in range(2):
                        k = ends[q, end]
                        if k >= 0:
                            for i in range(6):
                                total += J[q, end, f, i] * response[k, i]
                    W[dim * q + f, dim * c + e] = total
    for i in range(n):
        for j in range(i):
            W[i, j] = W[j, i] = 0.5 * (W[i, j] + W[j, i])


@kernel()
def drop_barred(world, W, u):
    """Make zero what rounding leaves of W and u in directions that joints bar: scaled, it would count as much as
    others."""
    w, s, ends, J = header(world), problem(world), local_ends(world), local_jacobian(world)
    for c in range(w.found_count):
        for e in range(w.dim):
            alone, row = 0.0, w.dim * c + e
            for side in range(2):
                k = ends[c, side]
                if k >= 0:
                    for i in range(6):
                        for j in range(6):
                            alone += J[c, side, e, i] * s.mobility[k, i, j] * J[c, side, e, j]
            if W[row, row] <= JOINT_RANK * alone:
                u[row] = 0.0
                for j in range(w.dim * w.found_count):
                    W[row, j] = W[j, row] = 0.0


@kernel()
def largest_approach(world):
    """Of the contacts that were found [m/s]."""
    w, placed = header(world), local_placed(world)
    approach = -np.inf
    for k in range(w.found_count):
        approach = max(approach, -placed[k, 15])
    return approach


@kernel(allocates=True)
def judge_impulses(world, slow):
    """Whether the impulses in the contacts leave no approach and gain no energy, by the law's contract: its
    code. Approach that is no faster than `slow` [m/s] is none: that of an impact may be hardly more, and what is
    left of it rounding."""
    w = header(world)
    n = w.dim * w.found_count
    W, u = problem_matrix(world), problem_part(world, 0)
    impulse, response, velocity = vector(n), vector(n), vector(n)
    table = contacts(world)
    for k in range(w.found_count):
        for i in range(w.dim):
            impulse[w.dim * k + i] = table[found(world)[k]].impulse[i]
    for i in range(n):
        response[i] = 0.0
        for j in range(n):
            response[i] += W[i, j] * impulse[j]
        velocity[i] = u[i] + response[i]
        if i % w.dim == 0 and -slow <= velocity[i] < 0.0:
            velocity[i] = 0.0
    code, _, energy = judge(W, impulse, u, response, velocity, problem_part(world, 3), w.dim, 0.0)
    w.energy_change = energy
    return code


@kernel(allocates=True)
def apply_impulses(world):
    """Change the velocities of the members by the impulses in the contacts, and place them anew."""
    w, s = header(world), problem(world)
    table, ends, J, state = contacts(world), local_ends(world), local_jacobian(world), local_state(world)
    push, change = matrix(w.m, 6), matrix(w.m, 6)
    for k in range(w.m):
        for i in range(6):
            push[k, i] = 0.0
    for c in range(w.found_count):
        p = table[found(world)[c]].impulse
        for side in range(2):
            k = ends[c, side]
            if k >= 0:
                for i in range(6):
                    push[k, i] += J[c, side, 0, i] * p[0] + J[c, side, 1, i] * p[1] + J[c, side, 2, i] * p[2]
    if w.nj > 0:
        respond_joined(s, push, change, True)
    else:
        for k in range(w.m):
            M = local_mobility(world)[k]
            for i in range(6):
                change[k, i] = (
                    M[i, 0] * push[k, 0] + M[i, 1] * push[k, 1] + M[i, 2] * push[k, 2]
                    + M[i, 3] * push[k, 3] + M[i, 4] * push[k, 4] + M[i, 5] * push[k, 5]
                )  # fmt: skip
    for k in range(w.m):
        R, y, a = local_turn(world)[k], state[k], change[k]
        now = motions(world)[local_bodies(world)[k]].state
        for i in range(3):
            y[7 + i] += a[i]
            y[10 + i] += R[0, i] * a[3] + R[1, i] * a[4] + R[2, i] * a[5]
        for i in range(7, 13):
            now[i] = y[i]
    place(world, state[: w.m])
