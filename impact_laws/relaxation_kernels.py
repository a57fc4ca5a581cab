"""Compiled block relaxation over frictional contacts: each contact in turn takes its one-contact solution.

Two forms of the same sweep. Dense: u = q + W x is kept up to date by columns of the symmetric W, so that no
contact needs a matrix product. Sparse: W is never formed, bodies keep their velocities and a contact reads and
moves only its two. Contacts of one colour share no movable body, so a colour is solved in parallel with the
result of the sequential sweep, whatever the number of threads.
"""

import numba
import numpy as np

from ..compiled import kernel
from .dissipation_kernels import coulomb_in_frame, dissipate_from, dissipation_frame
from .numbering_kernels import order_by_state, ordered_matrix, ordered_rows, put_back
from .tolerances import (
    ALIKE,
    CONJUGATE_ASTRAY,
    CONJUGATE_LOOK,
    CONJUGATE_STAYS,
    DISSIPATION_DEGENERATE,
    DISSIPATION_PARABOLA,
    DISSIPATION_POLISH,
    PLANAR_SINGULAR,
    RELAXATION_ALIGNED,
    RELAXATION_POLISH,
    RELAXATION_SLIDING,
)

MAXIMUM_DISSIPATION, COULOMB = 0, 1
FEW_SWEEPS = 25  # before the first Newton step
TOGETHER_SWEEPS = 3  # times as many of all contacts at once, which come less far
ALIKE_CONTACTS = 16  # up to so many contacts move at once where some approach alike


@kernel()
def planar_contact(A, b, mu, rule, old, x):
    """One planar contact: x (2,) with A (2, 2), b (2,), order (normal, tangent); `old` (2,) is where it was.

    Zero normal velocity leaves n = k - g t of the tangential impulse t, and the cone an interval of t. Energy is a
    parabola on it: its minimum is where the contact sticks, or else the end nearest to that, where friction opposes
    slip. Beyond the critical friction, μ|g| >= 1, the interval has one end only: grazing contacts jam, and with
    Coulomb's friction those that were closed stay closed if they can.
    """
    x[0] = x[1] = 0.0
    largest = max(abs(b[0]), abs(b[1]))
    if not A[0, 0] > 0.0 or largest < 1e-307:
        return
    k, g = b[0] / A[0, 0], A[0, 1] / A[0, 0]
    closed = rule == COULOMB and old[0] > 0.0 and mu * abs(g) >= 1.0
    if abs(b[0]) <= DISSIPATION_DEGENERATE * largest:
        k = 0.0
    if (k < 0.0 or (k == 0.0 and rule == COULOMB)) and not closed:
        return
    if mu == 0.0:
        x[0] = k
        return
    least, most = -np.inf, np.inf
    for side in range(2):  # of the cone: sign t <= μ (k - g t)
        sign = 1.0 if side == 0 else -1.0
        f = sign + mu * g
        if f > 0.0:
            most = min(most, mu * k / f)
        elif f < 0.0:
            least = max(least, mu * k / f)
        elif k < 0.0:
            return
    pull, stiffness = b[1] - g * b[0], A[1, 1] - g * A[0, 1]
    t = 0.0
    if stiffness > PLANAR_SINGULAR * A[1, 1]:
        t = pull / stiffness
    elif abs(pull) > PLANAR_SINGULAR * largest:
        t = np.inf if pull > 0.0 else -np.inf
    if rule == COULOMB and k < 0.0:  # it sticks, or slides against friction, where both can be as it did
        edge = least if least > 0.0 else most
        if (t - edge) * edge < 0.0:
            return
        if abs(old[1]) >= RELAXATION_SLIDING * mu * old[0]:
            t = edge
    t = min(max(t, least), most)
    if not abs(t) < np.inf:  # a singular contact whose energy would fall forever: no velocity J v leads here
        t = min(max(0.0, least), most)
    x[0], x[1] = k - g * t, t
    if t in (least, most) or abs(t) > mu * x[0]:
        x[0] = abs(t) / mu
        if mu * x[0] < abs(t):
            x[0] *= 1.0 + 2.3e-16


@kernel()
def contact_frames(blocks, friction, frames):
    """Fill frames (nc, 10) with the `dissipation_frame` of every contact's own block (nc, 3, 3) of W."""
    for c in range(friction.size):
        if blocks[c, 0, 0] > 0.0:
            frame = dissipation_frame(blocks[c], friction[c])
            for k in range(10):
                frames[c, k] = frame[k]


@kernel(allocates=True)
def frames_of(W, friction, dim, frames):
    """Fill frames (nc, 10) as `contact_frames`, from the whole W; planar contacts need none."""
    if dim == 2:
        return
    local = np.empty((friction.size, 3, 3))
    local_blocks(W, 3, local)
    contact_frames(local, friction, frames)


@kernel(forceinline=True)
def one_contact(A, b, mu, frame, rule, dim, old, x, polish):
    """The solution x of one contact, given b = -(velocity without it); `old` (dim,) is where it was.

    A is read only in the plane; in space the frame stands for it. `polish` as in `dissipate_from`.
    """
    if dim == 2:
        planar_contact(A, b, mu, rule, old, x)
        return
    kept = (
        frame[0], frame[1], frame[2], frame[3], frame[4], frame[5], frame[6], frame[7], frame[8], frame[9]
    )  # fmt: skip
    guess_x, guess_y = old[1], old[2]
    found = False
    if rule == COULOMB:
        bound = RELAXATION_SLIDING * mu * old[0]
        closed = old[0] > 0.0
        sliding = closed and guess_x * guess_x + guess_y * guess_y >= bound * bound
        found = coulomb_in_frame(kept, b, x, guess_x, guess_y, closed, sliding, polish)
    if not found:
        dissipate_from(kept, b, x, guess_x, guess_y, polish)


@kernel()
def within_cone(x, mu, dim):
    """Project x (dim,) back onto its cone along the tangent, after over-relaxation or rounding."""
    x[0] = max(x[0], 0.0)
    square = x[1] * x[1]
    if dim == 3:
        square += x[2] * x[2]
    bound = mu * x[0]
    if square > bound * bound:
        factor = bound / np.sqrt(square) * (1.0 - 2.3e-16)
        x[1] *= factor
        if dim == 3:
            x[2] *= factor


@kernel()
def within_cones(x, friction, dim):
    """Project every contact's impulse in x (dim*nc,) into its cone, in place."""
    for c in range(friction.size):
        within_cone(x[dim * c : dim * (c + 1)], friction[c], dim)


@kernel()
def ask_for_normal_velocity(W, normal, rule, dim, velocity):
    """Change velocities (n,) to those whose solution without restitution leaves normal velocities of at least
    `normal` (nc,).

    Coulomb's friction opposes the slip that is left, whatever the normal velocity. Kinetic energy over the plane
    v_n = b of a contact has the slope of that with v_n = 0 for the velocity u - b W e_n / W_nn: half of W p² + u p
    along p_n = (b - u_n - W_nt p_t) / W_nn has the slope S p_t + u_t - W_tn u_n / W_nn.
    """
    for c in range(normal.size):
        first = dim * c
        own = W[first, first]
        for i in range(dim if rule == MAXIMUM_DISSIPATION and own > 0.0 else 1):
            velocity[first + i] -= normal[c] * (W[first + i, first] / own if i > 0 else 1.0)


@kernel()
def velocity_given(W, q, x, u):
    """Fill u = q + W x from the rows of the symmetric W, skipping contacts without impulse."""
    size = q.size
    for i in range(size):
        u[i] = q[i]
    for j in range(size):
        impulse = x[j]
        if impulse != 0.0:
            for i in range(size):
                u[i] += impulse * W[j, i]


@kernel()
def local_blocks(W, dim, local):
    """Fill local (nc, dim, dim) with every contact's own block of W."""
    for c in range(local.shape[0]):
        for r in range(dim):
            for s in range(dim):
                local[c, r, s] = W[dim * c + r, dim * c + s]


@kernel(forceinline=True)
def solution_given_others(local, u, friction, frames, rule, dim, c, x, b, old, new, polish):
    """Fill new (dim,) with the one-contact solution of contact c given all others, where u = q + W x, and the
    contacts' own blocks of W are local (nc, dim, dim)."""
    i = dim * c
    A = local[c]
    if dim == 3:
        old[0], old[1], old[2] = x[i], x[i + 1], x[i + 2]
        for r in range(3):
            b[r] = A[r, 0] * old[0] + A[r, 1] * old[1] + A[r, 2] * old[2] - u[i + r]
    else:
        old[0], old[1] = x[i], x[i + 1]
        for r in range(2):
            b[r] = A[r, 0] * old[0] + A[r, 1] * old[1] - u[i + r]
    if A[0, 0] > 0.0:
        one_contact(A, b, friction[c], frames[c], rule, dim, old, new, polish)
    else:
        for r in range(dim):
            new[r] = 0.0


@kernel(forceinline=True)
def relax_one(local, u, friction, frames, rule, dim, omega, c, x, b, old, new):
    """Change the impulse of contact c in x from `old` to `new` (dim,), omega of the way to its solution given all
    others: (square of the whole way, square of its length)."""
    solution_given_others(local, u, friction, frames, rule, dim, c, x, b, old, new, RELAXATION_POLISH)
    way = length = 0.0
    for r in range(dim):
        way += (new[r] - old[r]) ** 2
    if omega != 1.0:
        for r in range(dim):
            new[r] = old[r] + omega * (new[r] - old[r])
        within_cone(new, friction[c], dim)
    for r in range(dim):
        length += new[r] * new[r]
        x[dim * c + r] = new[r]
    return way, length


@kernel()
def least_scale(local, q, dim):
    """Square of the impulse that residuals are at least relative to, which would stop the contact that moves
    fastest: where an impact is tiny beside slip, or contacts of a face contradict each other by rounding, impulses
    cannot be told closer."""
    fastest = stiffest = 0.0
    for c in range(q.size // dim):
        square = 0.0
        for r in range(dim):
            square += q[dim * c + r] ** 2
        fastest, stiffest = max(fastest, square), max(stiffest, local[c, 0, 0])
    return fastest / stiffest**2 if stiffest > 0.0 else 0.0


@kernel(allocates=True)
def relax_dense(W, q, friction, frames, rule, dim, omega, sweeps, tolerance, x, u):
    """Sweep over all contacts until the largest change of an impulse in a sweep is below tolerance times the
    largest impulse, or times what `least_scale` says.

    x and u = q + W x are updated in place; u is refreshed every 50 sweeps. Two sweeps that move x along nearly
    the same line are taken for a geometric series and followed by its sum (Aitken). Returns (sweeps made, last
    relative change).
    """
    size = q.size
    count = friction.size
    local = np.empty((count, dim, dim))
    local_blocks(W, dim, local)
    b = np.empty(dim)
    old = np.empty(dim)
    new = np.empty(dim)
    x_before = np.empty(size)
    u_before = np.empty(size)
    step_before = np.empty(size)
    square_before = 0.0  # of step_before; 0 where it belongs to another line
    change = np.inf
    least = least_scale(local, q, dim)
    for sweep in range(sweeps):
        if sweep % 50 == 0:
            velocity_given(W, q, x, u)
        for i in range(size):
            x_before[i] = x[i]
            u_before[i] = u[i]
        moved = 0.0
        largest = least
        for c in range(count):
            way, length = relax_one(local, u, friction, frames, rule, dim, omega, c, x, b, old, new)
            moved, largest = max(moved, way), max(largest, length)
            i = dim * c
            stays = True
            for r in range(dim):
                stays &= new[r] == old[r]
            if stays:
                continue
            s0, s1 = new[0] - old[0], new[1] - old[1]
            if dim == 2:
                for j in range(size):
                    u[j] += s0 * W[i, j] + s1 * W[i + 1, j]
            else:
                s2 = new[2] - old[2]
                for j in range(size):
                    u[j] += s0 * W[i, j] + s1 * W[i + 1, j] + s2 * W[i + 2, j]
        if largest == 0.0:
            return sweep + 1, 0.0
        change = np.sqrt(moved / largest)
        if change <= tolerance:
            return sweep + 1, change
        if omega != 1.0 or sweep + 1 == sweeps:  # the last sweep ends on the cones
            continue
        along = 0.0
        square = 0.0
        for i in range(size):
            step = x[i] - x_before[i]
            along += step * step_before[i]
            square += step * step
            step_before[i] = step
        aligned = along > 0.0 and along * along > RELAXATION_ALIGNED * square * square_before
        if aligned and along < 0.95 * square_before:
            factor = along / (square_before - along)
            for i in range(size):
                x[i] += factor * (x[i] - x_before[i])
                u[i] += factor * (u[i] - u_before[i])
            square = 0.0
        square_before = square
    return sweeps, change


@kernel(allocates=True)
def residual_given(local, q, u, friction, frames, rule, dim, x, target):
    """Fill target with every contact's solution given all others, where u = q + W x, and return the largest
    distance of an impulse from it relative to the largest impulse, or to what `least_scale` says."""
    b = np.empty(dim)
    old = np.empty(dim)
    new = np.empty(dim)
    worst = 0.0
    largest = least_scale(local, q, dim)
    for c in range(friction.size):
        solution_given_others(local, u, friction, frames, rule, dim, c, x, b, old, new, DISSIPATION_POLISH)
        distance = 0.0
        length = 0.0
        for r in range(dim):
            target[dim * c + r] = new[r]
            distance += (new[r] - old[r]) ** 2
            length += max(old[r] * old[r], new[r] * new[r])
        worst = max(worst, distance)
        largest = max(largest, length)
    return np.sqrt(worst / largest) if largest > 0.0 else 0.0


@kernel(allocates=True)
def residual_dense(W, q, friction, frames, rule, dim, x, u, target):
    """Refresh u = q + W x; the rest as `residual_given`."""
    local = np.empty((friction.size, dim, dim))
    local_blocks(W, dim, local)
    velocity_given(W, q, x, u)
    return residual_given(local, q, u, friction, frames, rule, dim, x, target)


@kernel()
def together_if_alike(W, q, dim):
    """The most contacts that one moves, itself among them, where two or more of a few approach alike, as the
    corners of a face do; else 0.

    In turn, such contacts take shares that depend on which is first, or on digits that were rounded, and with
    restitution even a box that comes down flat spins. All at once they take equal shares.
    """
    count = q.size // dim
    if count > ALIKE_CONTACTS:
        return 0
    fastest, alike, most = 0.0, False, 0
    for i in range(q.size):
        fastest = max(fastest, abs(q[i]))
    for c in range(count):
        moved = 0
        for d in range(count):
            moves = False
            for r in range(dim):
                for s in range(dim):
                    moves = moves or W[dim * c + r, dim * d + s] != 0.0
            moved += moves
            near = abs(q[dim * c] - q[dim * d]) <= ALIKE * fastest
            alike = alike or (c != d and moves and near and q[dim * c] < -ALIKE * fastest)
        most = max(most, moved)
    return most if alike else 0


@kernel(allocates=True)
def relax_together(W, q, friction, frames, rule, dim, together, sweeps, tolerance, x, u, target):
    """Sweeps in which all contacts move at once, 1/`together` of the way to their solutions given all others, until
    the residual is within tolerance, or for so many; returns (sweeps made, residual).

    That is the mean of changes that each bring kinetic energy down, so it falls as well (it is convex). Steps along
    one line are followed by the sum of their geometric series.
    """
    size = q.size
    step_before = np.zeros(size)
    square_before = 0.0
    for sweep in range(sweeps):
        residual = residual_dense(W, q, friction, frames, rule, dim, x, u, target)
        if residual <= tolerance:
            return sweep, residual
        along = square = 0.0
        for i in range(size):
            step = (target[i] - x[i]) / together
            along += step * step_before[i]
            square += step * step
            step_before[i] = step
        factor = 1.0
        aligned = along > 0.0 and along * along > RELAXATION_ALIGNED * square * square_before
        if aligned and along < 0.99 * square_before:
            factor += along / (square_before - along)
            square = 0.0
        for i in range(size):
            x[i] += factor * step_before[i]
        within_cones(x, friction, dim)
        square_before = square
    return sweeps, residual_dense(W, q, friction, frames, rule, dim, x, u, target)


@kernel(allocates=True)
def relax_and_judge(W, q, friction, rule, dim, sweeps, tolerance, x):
    """Sweep over the contacts, as `order_by_state` orders them, until the residual is within tolerance; returns
    (sweeps made, residual)."""
    order = np.empty(friction.size, np.int64)
    if not order_by_state(W, q, friction, dim, order):
        return relax_as_numbered(W, q, friction, rule, dim, sweeps, tolerance, x)
    ordered = ordered_rows(x, dim, order)
    made, residual = relax_as_numbered(
        ordered_matrix(W, dim, order), ordered_rows(q, dim, order), ordered_rows(friction, 1, order), rule, dim,
        sweeps, tolerance, ordered,
    )  # fmt: skip
    put_back(ordered, dim, order, x)
    return made, residual


@kernel(allocates=True)
def relax_as_numbered(W, q, friction, rule, dim, sweeps, tolerance, x):
    """As `relax_and_judge`, contacts in the order of their numbers; first all at once where some approach alike."""
    frames = np.empty((friction.size, 10))
    u = np.empty(q.size)
    target = np.empty(q.size)
    frames_of(W, friction, dim, frames)
    first = made = 0
    together = together_if_alike(W, q, dim)
    if together > 1:
        first, residual = relax_together(
            W, q, friction, frames, rule, dim, together, TOGETHER_SWEEPS * sweeps, tolerance, x, u, target
        )
        if residual <= tolerance:
            return first, residual
    while True:
        more, change = relax_dense(
            W, q, friction, frames, rule, dim, 1.0, sweeps - made, 0.5 * tolerance, x, u
        )
        made += more
        residual = residual_dense(W, q, friction, frames, rule, dim, x, u, target)
        if residual <= tolerance or made >= sweeps or change == 0.0:
            return first + made, residual


@kernel(allocates=True)
def solution_slopes(local, u, friction, frames, rule, dim, x, slopes):
    """Derivative (nc, dim, dim) of every contact's solution with respect to its b, by central differences.

    A kink inside the difference gives one of the slopes around it, as a semismooth Newton step wants.
    """
    b = np.empty(dim)
    old = np.empty(dim)
    new = np.empty(dim)
    high = np.empty(dim)
    low = np.empty(dim)
    for c in range(friction.size):
        solution_given_others(local, u, friction, frames, rule, dim, c, x, b, old, new, DISSIPATION_POLISH)
        scale = 0.0
        for r in range(dim):
            scale = max(scale, abs(b[r]))
        for s in range(dim):
            h = 1e-7 * scale
            if h == 0.0 or not local[c, 0, 0] > 0.0:
                for r in range(dim):
                    slopes[c, r, s] = 0.0
                continue
            centre = b[s]
            b[s] = centre + h
            one_contact(local[c], b, friction[c], frames[c], rule, dim, new, high, DISSIPATION_POLISH)
            b[s] = centre - h
            one_contact(local[c], b, friction[c], frames[c], rule, dim, new, low, DISSIPATION_POLISH)
            b[s] = centre
            for r in range(dim):
                slopes[c, r, s] = (high[r] - low[r]) / (2.0 * h)


@kernel()
def lean_of_friction(local, friction, dim, lean):
    """Fill lean (nc, 2) with m = μ W_tn / W_nn of every contact, as `natural_map` takes it of maximum dissipation;
    whether it says what that asks for: not beyond the critical friction, |m| >= 1.

    Where a contact slides, its kinetic energy over the plane of zero normal velocity is least on the cone with
    u_t = -λ (x_t / |x_t| + m), λ >= 0: then w = u_t + λ m opposes x_t as slip does with Coulomb's friction. Of a
    velocity u_t that has one λ, the root of |u_t + λ m| = λ.
    """
    applies = True
    for c in range(friction.size):
        lean[c, 0] = lean[c, 1] = square = 0.0
        for r in range(1, dim):
            part = friction[c] * local[c, r, 0] / local[c, 0, 0] if local[c, 0, 0] > 0.0 else 0.0
            lean[c, r - 1] = part if dim == 3 else 0.0  # in the plane w and u_t have one sign
            square += part * part
        applies = applies and square < (1.0 - DISSIPATION_PARABOLA) ** 2
    return applies


@kernel(forceinline=True)
def leant(u1, u2, m1, m2):
    """The velocity w of `lean_of_friction` of a tangential velocity (u1, u2): (w1, w2, the derivatives of λ)."""
    rest, along = (1.0 - m1 * m1) - m2 * m2, u1 * m1 + u2 * m2
    root = np.sqrt(along * along + rest * (u1 * u1 + u2 * u2))
    if root == 0.0:
        return u1, u2, 0.0, 0.0
    size = (along + root) / rest
    d1, d2 = (m1 + (along * m1 + rest * u1) / root) / rest, (m2 + (along * m2 + rest * u2) / root) / rest
    return u1 + size * m1, u2 + size * m2, d1, d2


@kernel()
def natural_map(local, friction, lean, dim, x, u, target, own, slopes):
    """Projections of x - ρ u on the cones, u = q + W x: fixed points are all solutions with Coulomb's friction, or,
    with the `lean` (nc, 2) of `lean_of_friction` and not zero, with that of maximum dissipation.

    Tangential projections use the disk of the projected normal impulse (Alart & Curnier). Fills target and its
    derivative (nc, dim, dim): `own` by x at fixed u, `slopes` by -u. Returns |x - target|². `local` as in
    `solution_given_others`.
    """
    total = 0.0
    for c in range(friction.size):
        i = dim * c
        tangential = local[c, 1, 1] if dim == 2 else 0.5 * (local[c, 1, 1] + local[c, 2, 2])
        rn = 1.0 / local[c, 0, 0] if local[c, 0, 0] > 0.0 else 1.0
        rt = 1.0 / tangential if tangential > 0.0 else rn
        for r in range(dim):
            target[i + r] = 0.0
            for s in range(dim):
                own[c, r, s] = 0.0
                slopes[c, r, s] = 0.0
        normal = x[i] - rn * u[i]
        if normal > 0.0:
            target[i] = normal
            own[c, 0, 0] = 1.0
            slopes[c, 0, 0] = rn
            bound = friction[c] * normal
            m1, m2 = lean[c, 0], lean[c, 1]
            leans = m1 != 0.0 or m2 != 0.0
            w1, w2, d1, d2 = u[i + 1], u[i + 2] if dim == 3 else 0.0, 0.0, 0.0
            if leans:
                w1, w2, d1, d2 = leant(w1, w2, m1, m2)
            t1 = x[i + 1] - rt * w1
            t2 = x[i + 2] - rt * w2 if dim == 3 else 0.0
            length = np.sqrt(t1 * t1 + t2 * t2)
            if length <= bound:
                target[i + 1] = t1
                if dim == 3:
                    target[i + 2] = t2
                for r in range(1, dim):
                    own[c, r, r] = 1.0
                    slopes[c, r, r] = rt
            else:
                t1 /= length
                t2 /= length
                target[i + 1] = bound * t1
                own[c, 1, 0] = friction[c] * t1
                slopes[c, 1, 0] = friction[c] * t1 * rn
                if dim == 3:
                    share = bound / length
                    target[i + 2] = bound * t2
                    own[c, 2, 0] = friction[c] * t2
                    slopes[c, 2, 0] = friction[c] * t2 * rn
                    own[c, 1, 1] = share * t2 * t2
                    own[c, 1, 2] = own[c, 2, 1] = -share * t1 * t2
                    own[c, 2, 2] = share * t1 * t1
                    for r in range(1, 3):
                        for s in range(1, 3):
                            slopes[c, r, s] = rt * own[c, r, s]
            if leans:
                for r in range(1, 3):
                    by_size = slopes[c, r, 1] * m1 + slopes[c, r, 2] * m2
                    slopes[c, r, 1] += by_size * d1
                    slopes[c, r, 2] += by_size * d2
        for r in range(dim):
            total += (x[i + r] - target[i + r]) ** 2
    return total


@kernel()
def contact_blocks(bodies, jacobian, inverse_mass, blocks, response):
    """Fill blocks (nc, 3, 3) with every contact's own W and response (nc, 2, 3, 6) with J M^-1 of its sides."""
    for c in range(bodies.shape[0]):
        for r in range(3):
            for s in range(3):
                blocks[c, r, s] = 0.0
        for side in range(2):
            body = bodies[c, side]
            for r in range(3):
                for j in range(6):
                    total = 0.0
                    if body >= 0:
                        for k in range(6):
                            total += jacobian[c, side, r, k] * inverse_mass[body, k, j]
                    response[c, side, r, j] = total
            for r in range(3):
                for s in range(3):
                    for j in range(6):
                        blocks[c, r, s] += response[c, side, r, j] * jacobian[c, side, s, j]


@kernel()
def relax_contact(
    c, bodies, jacobian, response, blocks, friction, frames, rule, shift, x, velocity, apply, b, old, new
):
    """One update of contact c in velocity space; returns (square of the distance to its solution, of its size).

    Its solution is that of contact velocities to which its `shift` (nc, 3) is added.
    """
    for r in range(3):
        free = 0.0
        for side in range(2):
            body = bodies[c, side]
            if body >= 0:
                for j in range(6):
                    free += jacobian[c, side, r, j] * velocity[body, j]
        old[r] = x[c, r]
        b[r] = -free - shift[c, r]
    block = blocks[c]
    for r in range(3):
        b[r] += block[r, 0] * old[0] + block[r, 1] * old[1] + block[r, 2] * old[2]
    if block[0, 0] > 0.0:
        polish = RELAXATION_POLISH if apply else DISSIPATION_POLISH
        one_contact(block, b, friction[c], frames[c], rule, 3, old, new, polish)
    else:
        for r in range(3):
            new[r] = 0.0
    distance = 0.0
    length = 0.0
    for r in range(3):
        distance += (new[r] - old[r]) ** 2
        length += max(new[r] * new[r], old[r] * old[r])
    if apply:
        for side in range(2):
            body = bodies[c, side]
            if body >= 0:
                for r in range(3):
                    step = new[r] - old[r]
                    if step != 0.0:
                        for j in range(6):
                            velocity[body, j] += step * response[c, side, r, j]
        for r in range(3):
            x[c, r] = new[r]
    return distance, length


@kernel(allocates=True)
def relax_range(
    first, last, bodies, jacobian, response, blocks, friction, frames, rule, shift, x, velocity, apply
):  # fmt: skip
    """Update contacts first..last - 1 in turn; returns the largest squares of `relax_contact`."""
    b = np.empty(3)
    old = np.empty(3)
    new = np.empty(3)
    worst = 0.0
    largest = 0.0
    for c in range(first, last):
        distance, length = relax_contact(
            c,
            bodies,
            jacobian,
            response,
            blocks,
            friction,
            frames,
            rule,
            shift,
            x,
            velocity,
            apply,
            b,
            old,
            new,
        )
        worst = max(worst, distance)
        largest = max(largest, length)
    return worst, largest


@kernel(allocates=True, parallel=True)
def relax_colours(
    starts,
    bodies,
    jacobian,
    response,
    blocks,
    friction,
    frames,
    rule,
    shift,
    x,
    velocity,
    apply,
    sweeps,
    tolerance,
):
    """Sweeps over contacts sorted by colour (colour k is starts[k]..starts[k + 1] - 1), each in parallel.

    Contacts of a colour touch different bodies, so the order within it does not matter. Returns (sweeps made,
    last largest distance relative to the largest impulse).
    """
    change = np.inf
    pieces = 64
    worst = np.empty(pieces)
    largest = np.empty(pieces)
    for sweep in range(sweeps):
        far = 0.0
        size = 0.0
        for colour in range(starts.size - 1):
            first = starts[colour]
            count = starts[colour + 1] - first
            if count < 256:
                distance, length = relax_range(
                    first, first + count, bodies, jacobian, response, blocks, friction, frames, rule, shift, x,
                    velocity, apply,
                )  # fmt: skip
                far = max(far, distance)
                size = max(size, length)
                continue
            for piece in numba.prange(pieces):
                low = first + count * piece // pieces
                high = first + count * (piece + 1) // pieces
                worst[piece], largest[piece] = relax_range(
                    low,
                    high,
                    bodies,
                    jacobian,
                    response,
                    blocks,
                    friction,
                    frames,
                    rule,
                    shift,
                    x,
                    velocity,
                    apply,
                )
            for piece in range(pieces):
                far = max(far, worst[piece])
                size = max(size, largest[piece])
        if size == 0.0:
            return sweep + 1, 0.0
        change = np.sqrt(far / size)
        if change <= tolerance:
            return sweep + 1, change
    return sweeps, change


@kernel(allocates=True)
def relax_conjugate(
    starts, bodies, jacobian, response, blocks, friction, frames, rule, shift, x, velocity, sweeps, tolerance
):  # fmt: skip
    """Sweeps as of `relax_colours`, each of which begins where conjugate directions lead from the one before, until
    the residual, looked at now and then, is within the tolerance; else x ends where it was least. Returns (sweeps
    made, the least residual seen).

    What a sweep changes is taken for a gradient, as if it were smooth, and the direction of Fletcher and Reeves
    begins anew where that grows (Silcowitz, Niebe & Erleben 2010). Networks of 1,300 contacts of a heap of stones
    take 40 % of the sweeps to a residual of 1e-4, and none is left above it after 1,500, where sweeps alone leave
    8 %. Anderson's mixing (`anderson_kernels`) is no better there than sweeps alone. A direction that leads astray
    is left, and all begins anew at the best; where the residual stays as it is, sweeps alone follow.
    """
    begun, was = np.empty_like(x), np.empty_like(velocity)
    direction, pushed = np.zeros_like(x), np.zeros_like(velocity)
    best, best_velocity = x.copy(), velocity.copy()
    before, least = np.inf, np.inf
    conjugate, halved, half = True, 0, np.inf
    for sweep in range(sweeps + 1):
        if sweep > 0 and (sweep % CONJUGATE_LOOK == 0 or sweep == sweeps):
            residual = relax_colours(
                starts, bodies, jacobian, response, blocks, friction, frames, rule, shift, x, velocity, False,
                1, 0.0,
            )[1]  # fmt: skip
            if residual < least:
                least = residual
                best[:], best_velocity[:] = x, velocity
            elif residual > CONJUGATE_ASTRAY * least or sweep == sweeps:
                x[:], velocity[:] = best, best_velocity
                direction[:], pushed[:] = 0.0, 0.0
                before = np.inf
            if least <= tolerance or sweep == sweeps:
                break
            if least < half:
                halved, half = sweep, 0.5 * least
            elif sweep - halved >= CONJUGATE_STAYS:
                conjugate = False
        begun[:], was[:] = x, velocity
        relax_colours(
            starts, bodies, jacobian, response, blocks, friction, frames, rule, shift, x, velocity, True, 1, 0.0,
        )  # fmt: skip
        size = 0.0
        for c in range(x.shape[0]):
            for r in range(3):
                size += blocks[c, 0, 0] * (x[c, r] - begun[c, r]) ** 2
        share = size / before if 0.0 < before < np.inf else 0.0
        before = size
        if size == 0.0:
            return sweep + 1, 0.0
        if share > 1.0 or not conjugate:
            direction[:], pushed[:] = 0.0, 0.0
            continue
        for c in range(x.shape[0]):
            for r in range(3):
                old = share * direction[c, r]
                direction[c, r] = old + x[c, r] - begun[c, r]
                x[c, r] += old
        for body in range(velocity.shape[0]):
            for j in range(6):
                old = share * pushed[body, j]
                pushed[body, j] = old + velocity[body, j] - was[body, j]
                velocity[body, j] += old
        for c in range(x.shape[0]):
            begun[c] = x[c]
            within_cone(x[c], friction[c], 3)
            for side in range(2):
                body = bodies[c, side]
                if body >= 0:
                    for r in range(3):
                        step = x[c, r] - begun[c, r]
                        if step != 0.0:
                            for j in range(6):
                                velocity[body, j] += step * response[c, side, r, j]
    return sweep, least


@kernel(allocates=True)
def colour_contacts(bodies, movable, colours):
    """Fill colours (nc,) greedily so that contacts of one colour share no movable body; returns how many."""
    nc = bodies.shape[0]
    count = np.zeros(movable.size, np.int64)
    for c in range(nc):
        for side in range(2):
            if bodies[c, side] >= 0 and movable[bodies[c, side]]:
                count[bodies[c, side]] += 1
    start = np.zeros(movable.size + 1, np.int64)
    for body in range(movable.size):
        start[body + 1] = start[body] + count[body]
        count[body] = 0
    used = np.empty(start[movable.size], np.int64)
    most = 0
    for c in range(nc):
        colour = 0
        while True:
            free = True
            for side in range(2):
                body = bodies[c, side]
                if body >= 0 and movable[body]:
                    for k in range(start[body], start[body] + count[body]):
                        if used[k] == colour:
                            free = False
            if free:
                break
            colour += 1
        colours[c] = colour
        most = max(most, colour + 1)
        for side in range(2):
            body = bodies[c, side]
            if body >= 0 and movable[body]:
                used[start[body] + count[body]] = colour
                count[body] += 1
    return most
