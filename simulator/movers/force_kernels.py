"""The force problem of bodies that touch or are joined: accelerations, and forces in the friction cones.

Wanted are accelerations a of m bodies and forces p of the contacts such that, with u = J a + b,

    M (a - a_f) = sum of J^T p,   p_n >= 0, u_n >= 0, one of them zero,   |p_t| <= mu p_n,
    p_t = -mu p_n u_t / |u_t| where u_t is not zero;   of joints J a + b = 0, with any force.

The same problem is that of a contact mode (u: accelerations), and of an implicit step (b holds velocities over the
step, so that u is the velocity after it over the step). A contact that already slides so fast that nothing stops it
within the step is a *slider*: its friction has a known direction d, p_t = -mu p_n d. What resists turning at a
contact (turns_kernels) is a row of its own without a normal motion, |p_t| <= mu p_n with p_n of its parent.

Method. The cone conditions say p = projection of z onto the cone, z = q - r (u + mu |u_t| n), for q = p and any r >
0 (De Saxce's form, in which the rule of Coulomb is a complementarity of a cone and its dual). For a given q they
leave 6 m equations in a, M (a - a_f) = J^T proj(z(a)), whose matrix has the blocks of the bodies that touch:
Newton's method solves these, however many contacts there are, and q becomes proj(z) (proximal points: of redundant
forces those near the first q come out). Where Newton's method does not reduce the residual, mu |u_t| and the normal
forces of sliders are kept from the round before: the rest is a convex minimisation, for which it always ends. In
contact space the same problems cost 4 to 20 times as much, and block Gauss-Seidel needs thousands of sweeps for
eight boxes.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...compiled import kernel
from ..kernels import matrix, matrix3x3, vector, vector3, wholes, zeros
from .blocks_kernels import factorise, solve_factors

Floats = NDArray[np.float64]
Wholes = NDArray[np.int64]

APART, SLIPS, STICKS = 0, 1, 2
"""Where z is: in the polar cone, outside both, in the cone."""

FIRM, SOFT, SOFTER = 1e3, 10.0, 0.1  # r, times the mean stiffness of a contact; by what it shrinks
FIRM_JOINT = 1e7
"""r of joints. Rows of a chain all but depend on each other: the least eigenvalue of J M^-1 J^T, of a single row 1,
is 1e-5 of ten links and 6e-7 of twenty, and a round leaves 1 / (1 + r times that) of a rate. Factors, which hold
inverses of blocks, may be off by rounding times r^2: with 1e8 some were of no use."""
ROUNDS = 200
NEARLY = 1e3  # residual [tolerance] below which that is rounding which rounds do not lessen
ROUNDING = 1e-16
SETTLED = 1e5  # [tolerance] accelerations that a round may leave of M (a - a_f) - J^T p


class Manner(NamedTuple):
    """How a force problem is solved.

    leaves: of the residual before a round, what Newton's method may leave in it; or, `of_shift`, of how far the
        round has moved q
    firmer, firmest: by what r grows each round, and up to what: where contacts slip by less than 1 / r of what
        pulls, a round turns their friction only part of its way
    softenings: how often r shrinks where Newton's method fails, before convex rounds
    newton_steps, halvings: of a round, and of a step; still: rounds that gain nothing
    """

    leaves: float
    of_shift: bool
    firmer: float
    firmest: float
    softenings: int
    newton_steps: int
    halvings: int
    still: int


EXACT = Manner(1e-5, False, 10.0, 1e4, 0, 30, 12, 10)
"""Redundant forces hang smoothly on those before."""
INEXACT = Manner(0.5, True, 5.0, 1e8, 3, 15, 6, 5)
"""Others may be taken as well. With fewer sweeps before, 3,785 problems of heaps and stacks took 0.5 to 0.7 of the
time, and 93 instead of 556 were not solved to 1e-9. Beyond that no forces agree with redundant rates, and what a
round adds to these grows with r: a tolerance of 1e-10 is no better."""


class Problem(NamedTuple):
    """Force problem of m bodies, nc contacts and nj rows of joints.

    mass, mobility (m, 6, 6): M and its inverse, world axes, of each body a mass and an inertia
    free (m, 6): accelerations without contacts and joints
    ends (nc, 2): the bodies of a contact, -1: fixed; jacobian (nc, 2, 3, 6); rate (nc, 3): b; friction (nc,);
    slider (nc,): whether it is one, direction (nc, 2): then of its slip; stiffness (nc,): 1 / mean mobility
    parent (nc,): of what resists turning the contact, which comes before it; -1 of contacts
    joint_ends (nj, 2), joint_jacobian (nj, 2, 6), joint_rate (nj,), joint_stiffness (nj,)
    order, degree, later, place: see `elimination`; diagonal (m, 6, 6), off (blocks, 6, 6): factors
    """

    mass: Floats
    mobility: Floats
    free: Floats
    ends: Wholes
    jacobian: Floats
    rate: Floats
    friction: Floats
    slider: Wholes
    direction: Floats
    stiffness: Floats
    parent: Wholes
    joint_ends: Wholes
    joint_jacobian: Floats
    joint_rate: Floats
    joint_stiffness: Floats
    order: Wholes
    degree: Wholes
    later: Wholes
    place: Wholes
    diagonal: Floats
    off: Floats


@kernel()
def mobility_along(W, J):
    """What a row J (6,) moves of a body per unit of force along it, of mobility W (6, 6)."""
    x, y, z = J[3], J[4], J[5]
    return (
        W[0, 0] * J[0] * J[0] + W[1, 1] * J[1] * J[1] + W[2, 2] * J[2] * J[2]
        + x * (W[3, 3] * x + W[3, 4] * y + W[3, 5] * z)
        + y * (W[4, 3] * x + W[4, 4] * y + W[4, 5] * z)
        + z * (W[5, 3] * x + W[5, 4] * y + W[5, 5] * z)
    )  # fmt: skip


@kernel()
def stiffnesses(s):
    """Fill the stiffness of contacts and rows of joints: the inverse of their mean mobility."""
    for c in range(s.ends.shape[0]):
        total = 0.0
        for side in range(2):
            k = s.ends[c, side]
            if k >= 0:
                for e in range(3):
                    total += mobility_along(s.mobility[k], s.jacobian[c, side, e])
        s.stiffness[c] = 3.0 / total if total > 0.0 else 0.0
    for c in range(s.joint_ends.shape[0]):
        total = 0.0
        for side in range(2):
            k = s.joint_ends[c, side]
            if k >= 0:
                total += mobility_along(s.mobility[k], s.joint_jacobian[c, side])
        s.joint_stiffness[c] = 1.0 / total if total > 0.0 else 0.0


@kernel()
def take_blocks(A, x, y):
    """Fill y (6,) with A x, A (6, 6) of a body: a mass and an inertia, or their inverses."""
    for i in range(3):
        y[i] = A[i, i] * x[i]
        y[3 + i] = A[3 + i, 3] * x[3] + A[3 + i, 4] * x[4] + A[3 + i, 5] * x[5]


@kernel()
def contact_rates(s, a, u):
    """Fill u (nc, 3) with J a + b of the contacts."""
    for c in range(s.ends.shape[0]):
        for e in range(3):
            u[c, e] = s.rate[c, e]
        for side in range(2):
            k = s.ends[c, side]
            if k >= 0:
                J = s.jacobian[c, side]
                for e in range(3):
                    u[c, e] += (
                        J[e, 0] * a[k, 0] + J[e, 1] * a[k, 1] + J[e, 2] * a[k, 2]
                        + J[e, 3] * a[k, 3] + J[e, 4] * a[k, 4] + J[e, 5] * a[k, 5]
                    )  # fmt: skip


@kernel()
def joint_rates(s, a, u):
    """Fill u (nj,) with J a + b of the joints."""
    for c in range(s.joint_ends.shape[0]):
        total = s.joint_rate[c]
        for side in range(2):
            k = s.joint_ends[c, side]
            if k >= 0:
                for i in range(6):
                    total += s.joint_jacobian[c, side, i] * a[k, i]
        u[c] = total


@kernel(forceinline=True)
def add_joint_force(s, c, force, sign, out):
    """Add to out (m, 6) the generalized forces, times a sign, of the force of row c of the joints."""
    for side in range(2):
        k = s.joint_ends[c, side]
        if k >= 0:
            for i in range(6):
                out[k, i] += sign * s.joint_jacobian[c, side, i] * force


@kernel()
def add_joint_forces(s, q, sign, out):
    """Add to out (m, 6) the generalized forces, times a sign, of joint forces q (nj,)."""
    for c in range(s.joint_ends.shape[0]):
        add_joint_force(s, c, q[c], sign, out)


@kernel(forceinline=True)
def joint_left(s, c, force, rate):
    """The force of row c of the joints, changed by what stiffness does against its rate."""
    return force - FIRM_JOINT * s.joint_stiffness[c] * rate


@kernel()
def add_forces(s, p, q, sign, out):
    """Add to out (m, 6) the generalized forces, times a sign, of contact forces p (nc, 3) and joint forces q
    (nj,)."""
    for c in range(s.ends.shape[0]):
        if p[c, 0] == 0.0 and p[c, 1] == 0.0 and p[c, 2] == 0.0:
            continue
        for side in range(2):
            k = s.ends[c, side]
            if k >= 0:
                J = s.jacobian[c, side]
                for i in range(6):
                    out[k, i] += sign * (J[0, i] * p[c, 0] + J[1, i] * p[c, 1] + J[2, i] * p[c, 2])
    add_joint_forces(s, q, sign, out)


@kernel()
def accelerations_of(s, p, joint, F, a):
    """Fill a (m, 6) with the accelerations under forces p (nc, 3) and joint (nj,), and F (m, 6) with what these
    are on the bodies."""
    for k in range(a.shape[0]):
        for i in range(6):
            F[k, i] = 0.0
    add_forces(s, p, joint, 1.0, F)
    for k in range(a.shape[0]):
        take_blocks(s.mobility[k], F[k], a[k])
        for i in range(6):
            a[k, i] += s.free[k, i]


@kernel()
def project(n, x, y, mu, out):
    """Fill out (3,) with the projection of (n, x, y) onto the friction cone; where it was."""
    tangential = np.sqrt(x * x + y * y)
    if tangential <= mu * n:
        out[0], out[1], out[2] = n, x, y
        return STICKS
    if mu * tangential <= -n or (mu == 0.0 and n <= 0.0):
        out[0] = out[1] = out[2] = 0.0
        return APART
    height = (n + mu * tangential) / (1.0 + mu * mu)
    out[0] = height
    out[1] = mu * height * x / tangential
    out[2] = mu * height * y / tangential
    return SLIPS


@kernel()
def project_turn(n, x, y, mu, out):
    """Fill out (3,) with the projection of (x, y) onto the disk of radius mu n, behind n; where it was."""
    length, most = np.sqrt(x * x + y * y), mu * n
    out[0] = n
    if length <= most:
        out[1], out[2] = x, y
        return STICKS if n > 0.0 else APART
    share = most / length
    out[1], out[2] = share * x, share * y
    return SLIPS if n > 0.0 else APART


@kernel()
def respond(s, r, q, u, slip, lag, whole, p, where):
    """Fill p (nc, 3) with the projections for forces q (nc, 3) at rates u, and where (nc,) they fell.

    slip (nc,): mu |u_t|, and lag (nc,): normal forces of sliders and parents, of the round before; taken unless
    `whole`.
    """
    for c in range(s.ends.shape[0]):
        mu, stiff, parent = s.friction[c], r * s.stiffness[c], s.parent[c]
        if parent >= 0 and not s.slider[c]:
            normal = p[parent, 0] if whole else lag[c]
            where[c] = project_turn(normal, q[c, 1] - stiff * u[c, 1], q[c, 2] - stiff * u[c, 2], mu, p[c])
            continue
        if s.slider[c]:
            normal = p[parent, 0] if parent >= 0 else max(0.0, q[c, 0] - stiff * u[c, 0])
            drag = mu * (normal if whole else lag[c])
            p[c, 0], p[c, 1], p[c, 2] = normal, -drag * s.direction[c, 0], -drag * s.direction[c, 1]
            where[c] = SLIPS if normal > 0.0 else APART
            continue
        more = mu * np.sqrt(u[c, 1] ** 2 + u[c, 2] ** 2) if whole else slip[c]
        where[c] = project(
            q[c, 0] - stiff * (u[c, 0] + more), q[c, 1] - stiff * u[c, 1], q[c, 2] - stiff * u[c, 2], mu, p[c]
        )


@kernel()
def inertial_forces(s, a, out):
    """Fill out (m, 6) with M (a - a_f)."""
    for k in range(a.shape[0]):
        y, M, f, b = out[k], s.mass[k], s.free[k], a[k]
        x3, x4, x5 = b[3] - f[3], b[4] - f[4], b[5] - f[5]
        for i in range(3):
            y[i] = M[i, i] * (b[i] - f[i])
            y[3 + i] = M[3 + i, 3] * x3 + M[3 + i, 4] * x4 + M[3 + i, 5] * x5


@kernel()
def residual_forces(s, a, p, joint, out):
    """Fill out (m, 6) with M (a - a_f) - J^T p; its square in the metric of the mobility."""
    inertial_forces(s, a, out)
    add_forces(s, p, joint, -1.0, out)
    square = 0.0
    for k in range(a.shape[0]):
        x, W = out[k], s.mobility[k]
        for i in range(3):
            square += W[i, i] * x[i] * x[i]
            square += x[3 + i] * (W[3 + i, 3] * x[3] + W[3 + i, 4] * x[4] + W[3 + i, 5] * x[5])
    return square


@kernel()
def add_block(s, i, j, first, second, D):
    """Add first^T D second (each (3, 6), D (3, 3)) to the block of bodies i and j."""
    X = s.diagonal[i] if i == j else s.off[s.place[i, j]]
    for q in range(6):
        x = D[0, 0] * second[0, q] + D[0, 1] * second[1, q] + D[0, 2] * second[2, q]
        y = D[1, 0] * second[0, q] + D[1, 1] * second[1, q] + D[1, 2] * second[2, q]
        z = D[2, 0] * second[0, q] + D[2, 1] * second[1, q] + D[2, 2] * second[2, q]
        for i_ in range(6):
            X[i_, q] += first[0, i_] * x + first[1, i_] * y + first[2, i_] * z


@kernel()
def add_contact(s, c, D):
    """Add what a contact of stiffness D (3, 3) couples to the blocks of its bodies."""
    add_across(s, c, c, D)


@kernel()
def add_across(s, c, other, D):
    """Add what couples the force of contact c to the rates of another of the same bodies, by D (3, 3)."""
    for side in range(2):
        i = s.ends[c, side]
        for end in range(2):
            j = s.ends[other, end]
            if i >= 0 and j >= 0:
                add_block(s, i, j, s.jacobian[c, side], s.jacobian[other, end], D)


@kernel()
def clear_blocks(s):
    """Let the matrix be M."""
    for k in range(s.mass.shape[0]):
        for i in range(6):
            for j in range(6):
                s.diagonal[k, i, j] = s.mass[k, i, j]
    for k in range(s.off.shape[0]):
        for i in range(6):
            for j in range(6):
                s.off[k, i, j] = 0.0


@kernel()
def add_joints(s):
    """Add what joints stiffen to the matrix."""
    for c in range(s.joint_ends.shape[0]):
        stiff = FIRM_JOINT * s.joint_stiffness[c]
        for side in range(2):
            i = s.joint_ends[c, side]
            for end in range(2):
                j = s.joint_ends[c, end]
                if i >= 0 and j >= 0:
                    X = s.diagonal[i] if i == j else s.off[s.place[i, j]]
                    for p in range(6):
                        for q in range(6):
                            X[p, q] += stiff * s.joint_jacobian[c, side, p] * s.joint_jacobian[c, end, q]


@kernel()
def newton_matrix(s, r, q, u, p, where, whole):
    """Factorise the derivative of `residual_forces` by a."""
    clear_blocks(s)
    add_joints(s)
    D, E = matrix3x3(), matrix3x3()
    for c in range(s.ends.shape[0]):
        if where[c] == APART:
            continue
        parent = s.parent[c]
        if parent < 0:
            contact_derivative(s, c, r, q, u, p, where, whole, D)
            add_contact(s, c, D)
            continue
        turn_derivative(s, c, r, q, u, p, where, D)
        add_contact(s, c, D)
        if whole and where[c] == SLIPS and where[parent] != APART:
            contact_derivative(s, parent, r, q, u, p, where, whole, E)
            share = 1.0 / p[c, 0] if p[c, 0] > 0.0 else 0.0
            for j in range(3):
                D[0, j], D[1, j], D[2, j] = 0.0, share * p[c, 1] * E[0, j], share * p[c, 2] * E[0, j]
            add_across(s, c, parent, D)
    factorise(s.mass.shape[0], s.order, s.degree, s.later, s.place, s.diagonal, s.off)


@kernel()
def contact_derivative(s, c, r, q, u, p, where, whole, D):
    """Fill D (3, 3) with minus the derivative of the force of a contact by its rates."""
    stiff, mu = r * s.stiffness[c], s.friction[c]
    for i in range(3):
        for j in range(3):
            D[i, j] = stiff if i == j else 0.0
    if s.slider[c]:
        D[1, 1] = D[2, 2] = 0.0
        if whole:
            D[1, 0], D[2, 0] = -mu * stiff * s.direction[c, 0], -mu * stiff * s.direction[c, 1]
    elif where[c] == SLIPS:
        x, y = q[c, 1] - stiff * u[c, 1], q[c, 2] - stiff * u[c, 2]
        length = np.sqrt(x * x + y * y)
        x, y = x / length, y / length
        share, turn = stiff / (1.0 + mu * mu), stiff * mu * p[c, 0] / length
        D[0, 0] = share
        D[0, 1] = D[1, 0] = share * mu * x
        D[0, 2] = D[2, 0] = share * mu * y
        D[1, 1] = share * mu * mu * x * x + turn * (1.0 - x * x)
        D[2, 2] = share * mu * mu * y * y + turn * (1.0 - y * y)
        D[1, 2] = D[2, 1] = (share * mu * mu - turn) * x * y
    if whole and not s.slider[c]:
        speed = np.sqrt(u[c, 1] ** 2 + u[c, 2] ** 2)
        if speed > 0.0:
            x, y = mu * u[c, 1] / speed, mu * u[c, 2] / speed
            for i in range(3):
                D[i, 1] += D[i, 0] * x
                D[i, 2] += D[i, 0] * y


@kernel()
def turn_derivative(s, c, r, q, u, p, where, D):
    """Fill D (3, 3) with minus the derivative of what resists turning by its own rates."""
    stiff = r * s.stiffness[c]
    for i in range(3):
        for j in range(3):
            D[i, j] = stiff if i == j and i > 0 and not s.slider[c] else 0.0
    if where[c] == SLIPS and not s.slider[c]:
        x, y = q[c, 1] - stiff * u[c, 1], q[c, 2] - stiff * u[c, 2]
        length = np.sqrt(x * x + y * y)
        x, y, turn = x / length, y / length, stiff * s.friction[c] * p[c, 0] / length
        D[1, 1], D[2, 2] = turn * (1.0 - x * x), turn * (1.0 - y * y)
        D[1, 2] = D[2, 1] = -turn * x * y


@kernel()
def shift_of(s, r, p, q):
    """How far forces p (nc, 3) of contacts have come from q in a round [of u]."""
    furthest = 0.0
    for c in range(s.ends.shape[0]):
        if s.stiffness[c] > 0.0:
            for e in range(3):
                furthest = max(furthest, abs(p[c, e] - q[c, e]) / s.stiffness[c])
    return furthest / r


@kernel()
def natural_residual(s, u, p, joint_rate, scratch):
    """Largest violation of the conditions [of u]: |p - proj(p - (u + mu |u_t| n) / stiffness)| times the
    mobility."""
    worst = 0.0
    for c in range(s.ends.shape[0]):
        k, mu = s.stiffness[c], s.friction[c]
        if k == 0.0:
            continue
        if s.parent[c] >= 0:
            if not s.slider[c]:
                normal = p[s.parent[c], 0]
                project_turn(normal, p[c, 1] - k * u[c, 1], p[c, 2] - k * u[c, 2], mu, scratch)
                worst = max(worst, abs(scratch[1] - p[c, 1]) / k, abs(scratch[2] - p[c, 2]) / k)
            continue
        if s.slider[c]:
            worst = max(worst, abs(p[c, 0] - max(0.0, p[c, 0] - k * u[c, 0])) / k)
            continue
        more = mu * np.sqrt(u[c, 1] ** 2 + u[c, 2] ** 2)
        project(p[c, 0] - k * (u[c, 0] + more), p[c, 1] - k * u[c, 1], p[c, 2] - k * u[c, 2], mu, scratch)
        for e in range(3):
            worst = max(worst, abs(scratch[e] - p[c, e]) / k)
    for c in range(s.joint_ends.shape[0]):
        worst = max(worst, abs(joint_rate[c]))
    return worst


@kernel(allocates=True)
def solve_forces(s, p, joint, a, warm, tolerance, manner):
    """Solve the force problem from forces p (nc, 3) and joint (nj,), which become the solution, as a (m, 6) does.

    `tolerance`: of the natural residual [of u]; `manner`: EXACT or INEXACT. Returns the residual reached, and how
    many factorisations were made.
    """
    m, nc, nj = s.mass.shape[0], s.ends.shape[0], s.joint_ends.shape[0]
    u, trial_u, q, trial_p = matrix(nc, 3), matrix(nc, 3), matrix(nc, 3), matrix(nc, 3)
    jq, ju, jp = vector(nj), vector(nj), vector(nj)
    F, step, trial = matrix(m, 6), matrix(m, 6), matrix(m, 6)
    where = wholes(nc)
    slip, lag, scratch = vector(nc), vector(nc), vector3()
    start_a = matrix(m, 6)
    accelerations_of(s, p, joint, F, a)
    contact_rates(s, a, u)
    for c in range(nc):
        slip[c] = s.friction[c] * np.sqrt(u[c, 1] ** 2 + u[c, 2] ** 2)
        lag[c] = p[s.parent[c] if s.parent[c] >= 0 else c, 0]
    whole, r, convex = warm, (FIRM if warm else SOFT), 0
    joint_rates(s, a, ju)
    least = 0.0  # of the square of what is left: rounding of what pulls
    for k in range(m):
        take_blocks(s.mass[k], s.free[k], F[k])
        for i in range(6):
            least += s.free[k, i] * F[k, i]
    least *= ROUNDING * ROUNDING
    most_left = 0.0
    for k in range(m):
        most_left += s.mass[k, 0, 0] * (SETTLED * tolerance) ** 2
    made, residual = 0, natural_residual(s, u, p, ju, scratch)
    still, smallest, changed, unsettled, softer = 0, np.inf, 0.0, False, 0
    for _ in range(ROUNDS):
        for c in range(nc):
            for e in range(3):
                q[c, e] = p[c, e]
        for c in range(nj):
            jq[c] = joint[c]
        for k in range(m):
            for i in range(6):
                start_a[k, i] = a[k, i]
        contact_rates(s, a, u)
        joint_rates(s, a, ju)
        for c in range(nj):
            jp[c] = joint_left(s, c, jq[c], ju[c])
        respond(s, r, q, u, slip, lag, whole, p, where)
        square = residual_forces(s, a, p, jp, F)
        # a round is not asked for more than it can win
        enough, solved = max(0.01 * tolerance, manner.leaves * residual), False
        for _ in range(manner.newton_steps):
            newton_matrix(s, r, q, u, p, where, whole)
            made += 1
            for k in range(m):
                for i in range(6):
                    step[k, i] = F[k, i]
            solve_factors(m, s.order, s.degree, s.later, s.place, s.diagonal, s.off, step)
            share, fell, largest, asked = 1.0, False, 0.0, enough
            for _ in range(manner.halvings):
                largest = 0.0
                for k in range(m):
                    for i in range(6):
                        trial[k, i] = a[k, i] - share * step[k, i]
                contact_rates(s, trial, trial_u)
                joint_rates(s, trial, ju)
                for c in range(nc):
                    for e in range(3):
                        largest = max(largest, abs(trial_u[c, e] - u[c, e]))
                for c in range(nj):
                    jp[c] = joint_left(s, c, jq[c], ju[c])
                respond(s, r, q, trial_u, slip, lag, whole, trial_p, where)
                following = residual_forces(s, trial, trial_p, jp, F)
                asked = enough * share if manner.of_shift else enough
                if following < square or largest <= asked:
                    fell = True
                    break
                share *= 0.5
            if not fell:
                break
            for k in range(m):
                for i in range(6):
                    a[k, i] = trial[k, i]
            for c in range(nc):
                for e in range(3):
                    u[c, e], p[c, e] = trial_u[c, e], trial_p[c, e]
            gained = following < 0.25 * square
            square = following
            if manner.of_shift:
                enough = max(0.01 * tolerance, manner.leaves * shift_of(s, r, p, q))
                asked = enough * share
            if largest <= asked or (square <= least and not gained):
                solved = True
                break
        if whole and not solved:  # again from softer ones, or from convex ones
            if softer < manner.softenings and SOFTER * r >= 1.0:
                r, softer = SOFTER * r, softer + 1
            else:
                whole, r, convex, softer = False, SOFT, 3 if convex == 0 else 2 * convex, 0
            for c in range(nc):
                for e in range(3):
                    p[c, e] = q[c, e]
            for c in range(nj):
                joint[c] = jq[c]
            for k in range(m):
                for i in range(6):
                    a[k, i] = start_a[k, i]
            contact_rates(s, a, u)
        else:
            for c in range(nj):
                joint[c] = jp[c]
            joint_rates(s, a, ju)
            for c in range(nc):  # friction of sliders follows their normal force
                if s.parent[c] >= 0:
                    p[c, 0] = p[s.parent[c], 0]
                if s.slider[c]:
                    drag = s.friction[c] * p[c, 0]
                    p[c, 1], p[c, 2] = -drag * s.direction[c, 0], -drag * s.direction[c, 1]
            # of accelerations that forces do not give, or of friction of other normal forces, it says nothing
            residual = natural_residual(s, u, p, ju, scratch)
            unsettled = square > most_left
            changed = 0.0
            for c in range(nc):
                if not whole and (s.slider[c] or s.parent[c] >= 0):
                    stiff = s.stiffness[s.parent[c] if s.parent[c] >= 0 else c]
                    changed = max(changed, abs(p[c, 0] - lag[c]) / max(stiff, 1e-300))
            if not unsettled and max(residual, changed) <= tolerance:
                return residual, made
            if whole:
                still = still + 1 if residual > 0.9 * smallest else 0
                smallest = min(smallest, residual)
                if still >= manner.still and residual <= NEARLY * tolerance:
                    return residual, made
            r = min(manner.firmer * r, manner.firmest) if whole else min(3.0 * r, FIRM)
            if not whole:
                convex -= 1
                if convex <= 0:
                    whole, r, convex = True, FIRM, 1
        for c in range(nc):
            slip[c] = s.friction[c] * np.sqrt(u[c, 1] ** 2 + u[c, 2] ** 2)
            lag[c] = p[s.parent[c] if s.parent[c] >= 0 else c, 0]
    if unsettled:
        return np.inf, made
    return max(residual, changed), made


# -- with known modes --------------------------------------------------------------------------------------

OPEN, SLIDING, STICKING, HELD, CARRIED = 0, 1, 2, 3, 4  # as in the table of contacts
STIFF = 1e4  # r where modes are known, times the mean stiffness of a contact
REFINEMENTS = 30
MOST_CONJUGATE = 60  # directions; of joints a thousand times less firm chains of twenty links took about ten
ROUNDED_RATE, NO_RATE = 1e-15, 1e-26  # [of the rates of parts; square of the rate at first]
DEPENDENT = 1e-10  # least eigenvalue, of which the largest is 1, of rows that do not depend on others


@kernel()
def mode_matrix(s, mode, direction):
    """Factorise M + sum of J^T C J: C holds sticking contacts in all directions, others along their normal, with
    friction against the direction (nc, 2) of those that slide."""
    clear_blocks(s)
    add_joints(s)
    D = matrix3x3()
    for c in range(s.ends.shape[0]):
        if mode[c] == OPEN or mode[c] == CARRIED:
            continue
        parent = s.parent[c]
        if parent >= 0 and mode[c] == SLIDING:
            stiff = STIFF * s.stiffness[parent]
            for i in range(3):
                for j in range(3):
                    D[i, j] = 0.0
            D[1, 0] = -s.friction[c] * stiff * direction[c, 0]
            D[2, 0] = -s.friction[c] * stiff * direction[c, 1]
            add_across(s, c, parent, D)
            continue
        stiff = STIFF * s.stiffness[c]
        for i in range(3):
            for j in range(3):
                D[i, j] = stiff if i == j and (i == 0 or mode[c] == STICKING) else 0.0
        if mode[c] == SLIDING:
            D[1, 0] = -s.friction[c] * stiff * direction[c, 0]
            D[2, 0] = -s.friction[c] * stiff * direction[c, 1]
        add_contact(s, c, D)
    factorise(s.mass.shape[0], s.order, s.degree, s.later, s.place, s.diagonal, s.off)


@kernel()
def held_back(s, c, mode, direction, p, u, normal, out):
    """Fill out (3,), which may be p, with the force p (3,) of contact c changed by what stiffness does against
    rates u (3,); `normal`: what that leaves of the normal force."""
    stiff, x, y = STIFF * s.stiffness[c], 0.0, 0.0
    if mode == STICKING:
        x, y = p[1] - stiff * u[1], p[2] - stiff * u[2]
    elif mode == SLIDING:
        drag = s.friction[c] * normal
        x, y = -drag * direction[0], -drag * direction[1]
    out[0], out[1], out[2] = normal, x, y


@kernel(forceinline=True)
def normal_left(s, c, p, u):
    """The normal force of contact c, of forces p (nc, 3) changed by what stiffness does against rates u (nc, 3)."""
    return p[c, 0] - STIFF * s.stiffness[c] * u[c, 0]


@kernel()
def hold_back(s, mode, direction, u, ju, p, joint):
    """Change forces p (nc, 3) and joint (nj,) by what stiffness does against rates u (nc, 3) and ju (nj,)."""
    for c in range(s.ends.shape[0]):
        if mode[c] == OPEN or mode[c] == CARRIED:
            p[c, 0] = p[c, 1] = p[c, 2] = 0.0
        else:
            k = s.parent[c]
            normal = p[k, 0] if k >= 0 else normal_left(s, c, p, u)
            held_back(s, c, mode[c], direction[c], p[c], u[c], normal, p[c])
    for c in range(s.joint_ends.shape[0]):
        joint[c] = joint_left(s, c, joint[c], ju[c])


@kernel()
def what_is_left(s, mode, direction, u, ju, p, joint, a, out):
    """Fill out (m, 6) with M (a - a_f) less what forces p and joint do, held back once more."""
    inertial_forces(s, a, out)
    q = vector3()
    for c in range(s.ends.shape[0]):
        if mode[c] == OPEN or mode[c] == CARRIED:
            continue
        normal = normal_left(s, s.parent[c] if s.parent[c] >= 0 else c, p, u)
        held_back(s, c, mode[c], direction[c], p[c], u[c], normal, q)
        for side in range(2):
            k = s.ends[c, side]
            if k >= 0:
                J, F = s.jacobian[c, side], out[k]
                for i in range(6):
                    F[i] -= J[0, i] * q[0] + J[1, i] * q[1] + J[2, i] * q[2]
    for c in range(s.joint_ends.shape[0]):
        add_joint_force(s, c, joint_left(s, c, joint[c], ju[c]), -1.0, out)


@kernel()
def largest_rate(s, mode, u, ju):
    """Of the rates that modes and joints hold at zero."""
    worst = 0.0
    for c in range(s.ends.shape[0]):
        if mode[c] != OPEN and mode[c] != CARRIED:
            worst = max(worst, abs(u[c, 0]))
        if mode[c] == STICKING:
            worst = max(worst, abs(u[c, 1]), abs(u[c, 2]))
    for c in range(s.joint_ends.shape[0]):
        worst = max(worst, abs(ju[c]))
    return worst


@kernel()
def solve_mode(s, mode, direction, p, joint, a, fresh, tolerance):
    """Accelerations a (m, 6) and forces of contacts in known modes, from forces p (nc, 3) and joint (nj,) to which
    redundant ones stay near. What is left of the rates that are held at zero.

    Augmented Lagrangian: every round solves M (a - a_f) = J^T (p - r u), and p becomes p - r u. Factors that are
    not `fresh` are those of states nearby: what they leave is solved for again, with fresh ones where that does not
    help. Where there are joints, so firm that a turn by 1e-4 is too much, they never do, and are not tried.
    """
    if not fresh and s.joint_ends.shape[0] == 0:
        left = refine_mode(s, mode, direction, p, joint, a, tolerance)
        if left <= tolerance:
            return left
    mode_matrix(s, mode, direction)
    return refine_mode(s, mode, direction, p, joint, a, tolerance)


@kernel(allocates=True)
def size_of(s, step):
    """How large a change (m, 6) of accelerations is [m/s^2], in the kinetic metric, of all mass."""
    worth = mass = 0.0
    y = vector(6)
    for k in range(s.mass.shape[0]):
        take_blocks(s.mass[k], step[k], y)
        mass += s.mass[k, 0, 0]
        for i in range(6):
            worth += step[k, i] * y[i]
    return np.sqrt(max(0.0, worth) / mass)


@kernel(allocates=True)
def refine_mode(s, mode, direction, p, joint, a, tolerance):
    """Rounds of `solve_mode` with one matrix, as long as they help."""
    m, nc, nj = s.mass.shape[0], s.ends.shape[0], s.joint_ends.shape[0]
    u, ju, F = matrix(nc, 3), vector(nj), matrix(m, 6)
    before = np.inf
    contact_rates(s, a, u)
    joint_rates(s, a, ju)
    for _ in range(REFINEMENTS):
        what_is_left(s, mode, direction, u, ju, p, joint, a, F)
        solve_factors(m, s.order, s.degree, s.later, s.place, s.diagonal, s.off, F)
        for k in range(m):
            for i in range(6):
                a[k, i] -= F[k, i]
        contact_rates(s, a, u)
        joint_rates(s, a, ju)
        hold_back(s, mode, direction, u, ju, p, joint)
        moved = largest_rate(s, mode, u, ju)
        if nj > 0:  # firm joints let rates vanish at once, before the rest of the accelerations is right
            moved = max(moved, size_of(s, F))
        if moved <= tolerance or not moved < 0.5 * before:
            return moved
        before = moved
    return before


@kernel()
def broken_rates(s, change, rate):
    """Fill rate (nj,) with how fast velocities change (m, 6) break the joints; the sum of its squares, each times
    the stiffness of the row, and what of that may be rounding."""
    worth, rounded = 0.0, 0.0
    for c in range(s.joint_ends.shape[0]):
        total = size = 0.0
        for side in range(2):
            k = s.joint_ends[c, side]
            if k >= 0:
                for i in range(6):
                    part = s.joint_jacobian[c, side, i] * change[k, i]
                    total += part
                    size += abs(part)
        rate[c] = total
        worth += s.joint_stiffness[c] * total * total
        rounded += s.joint_stiffness[c] * size * size
    return worth, rounded * ROUNDED_RATE * ROUNDED_RATE


@kernel(allocates=True)
def conjugate_impulses(s, joint, change, rate, F):
    """Change impulses joint (nj,) so that velocities change (m, 6), and their rates, break the joints no more.

    With the stiffened matrix K and rows J, this is J K^-1 J^T joint = -rate, by conjugate gradients, with the
    stiffness of the rows as preconditioner. In the norm that goes with it all eigenvalues are at most one, and near
    one but for the slow bending of long chains, of which there are few.
    """
    m, nj = s.mass.shape[0], s.joint_ends.shape[0]
    worth, rounded = broken_rates(s, change, rate)
    least = max(rounded, NO_RATE * worth)
    d = zeros(nj)
    along, q = 0.0, zeros(nj)
    for _ in range(MOST_CONJUGATE):
        if not worth > least:
            return
        turn = worth / along if along > 0.0 else 0.0
        along = worth
        for c in range(nj):
            d[c] = turn * d[c] - s.joint_stiffness[c] * rate[c]
        for k in range(m):
            for i in range(6):
                F[k, i] = 0.0
        size = 0.0
        for c in range(nj):
            if s.joint_stiffness[c] > 0.0:
                size += d[c] * d[c] / s.joint_stiffness[c]
        add_joint_forces(s, d, 1.0, F)
        solve_factors(m, s.order, s.degree, s.later, s.place, s.diagonal, s.off, F)
        broken_rates(s, F, q)
        curve = 0.0
        for c in range(nj):
            curve += d[c] * q[c]
        if not FIRM_JOINT * curve > DEPENDENT * size:  # rows that depend on others
            return
        far = worth / curve
        for c in range(nj):
            joint[c] += far * d[c]
        for k in range(m):
            for i in range(6):
                change[k, i] += far * F[k, i]
        worth, _ = broken_rates(s, change, rate)


@kernel(allocates=True)
def respond_joined(s, push, change, fresh):
    """Fill change (m, 6) with the velocities that generalized impulses push (m, 6) give to bodies that joints hold;
    `fresh`: factors are to be made anew."""
    m, nj = s.mass.shape[0], s.joint_ends.shape[0]
    if fresh:
        clear_blocks(s)
        add_joints(s)
        factorise(m, s.order, s.degree, s.later, s.place, s.diagonal, s.off)
    joint, rate, held, F = zeros(nj), zeros(nj), zeros(nj), matrix(m, 6)
    for k in range(m):
        for i in range(6):
            change[k, i] = push[k, i]
    solve_factors(m, s.order, s.degree, s.later, s.place, s.diagonal, s.off, change)
    if nj == 0:
        return
    conjugate_impulses(s, joint, change, rate, F)
    before = np.inf
    for _ in range(REFINEMENTS):
        for k in range(m):
            take_blocks(s.mass[k], change[k], F[k])
            for i in range(6):
                F[k, i] = push[k, i] - F[k, i]
        for c in range(nj):
            held[c] = joint_left(s, c, joint[c], rate[c])
        add_joint_forces(s, held, 1.0, F)
        solve_factors(m, s.order, s.degree, s.later, s.place, s.diagonal, s.off, F)
        for k in range(m):
            for i in range(6):
                change[k, i] += F[k, i]
        broken_rates(s, change, rate)
        worst = 0.0
        for c in range(nj):
            joint[c] = joint_left(s, c, joint[c], rate[c])
            worst = max(worst, abs(rate[c]))
        if worst == 0.0 or not worst < 0.5 * before:
            return
        before = worst
