"""Newton's method, compiled, on the one-contact solutions of a dense problem: what sweeps of relaxation leave."""

import numpy as np

from ..compiled import kernel
from .numbering_kernels import order_by_state, ordered_matrix, ordered_rows, put_back
from .outcome_kernels import FINE, judge, kinetic_scales
from .relaxation_kernels import (
    local_blocks,
    natural_map,
    residual_dense,
    solution_slopes,
    velocity_given,
    within_cones,
)
from .tolerances import NEWTON_SHIFTS, RELAXATION_ACCEPTED, RELAXATION_GAIN

NEWTON_STEPS, HALVINGS = 20, 9
GAPS_KEPT, SMALLEST_STEP = 5, 1e-3  # of `natural_newton`
NEWTON_AT_ONCE = 300  # unknowns; larger problems are first relaxed with acceleration


@kernel()
def eliminate(A, b, n):
    """Solve A x = b, of n unknowns, by elimination with exchanges of rows, in place: b becomes x. False where A is
    singular."""
    for k in range(n):
        p = k
        for i in range(k + 1, n):
            if abs(A[i, k]) > abs(A[p, k]):
                p = i
        if not abs(A[p, k]) > 0.0:
            return False
        if p != k:
            for j in range(k, n):
                A[k, j], A[p, j] = A[p, j], A[k, j]
            b[k], b[p] = b[p], b[k]
        inverse = 1.0 / A[k, k]
        for i in range(k + 1, n):
            factor = A[i, k] * inverse
            if factor != 0.0:
                for j in range(k + 1, n):
                    A[i, j] -= factor * A[k, j]
                b[i] -= factor * b[k]
    for k in range(n - 1, -1, -1):
        total = b[k]
        for j in range(k + 1, n):
            total -= A[k, j] * b[j]
        b[k] = total / A[k, k]
    return True


@kernel(allocates=True)
def newton_matrix(W, slopes, own, gap, rows, m, dim, matrix, right):
    """Fill matrix (m, m) with I + slopes W - own, slopes and own (nc, dim, dim) block by block, and right (m,),
    over the m unknowns `rows` of contacts that a slope lets move; the others take their gap (n,)."""
    n = gap.size
    line = np.empty(n)
    for a in range(m):
        row = rows[a]
        c, r = row // dim, row % dim
        for j in range(n):
            total = 0.0
            for s in range(dim):
                total += slopes[c, r, s] * W[dim * c + s, j]
            line[j] = total
        for s in range(dim):
            line[dim * c + s] -= own[c, r, s]
        right[a] = gap[row]
        for j in range(n):
            right[a] -= line[j] * gap[j]
        for b in range(m):
            right[a] += line[rows[b]] * gap[rows[b]]
            matrix[a, b] = line[rows[b]] + (1.0 if a == b else 0.0)


@kernel()
def moving_rows(slopes, rows):
    """Fill rows with the unknowns of contacts with a slope (nc, dim, dim); how many."""
    count, dim, _ = slopes.shape
    m = 0
    for c in range(count):
        moves = False
        for r in range(dim):
            for s in range(dim):
                moves = moves or slopes[c, r, s] != 0.0
        if moves:
            for r in range(dim):
                rows[m] = dim * c + r
                m += 1
    return m


@kernel(allocates=True)
def good_enough(W, q, dim, impulse, residual, tolerance):
    """Whether an impulse (n,) of this residual solves the problem: within the tolerance, or within
    RELAXATION_ACCEPTED times that, where it leaves no approach and gains no energy."""
    if residual <= tolerance:
        return True
    return residual <= RELAXATION_ACCEPTED * tolerance and passes(W, q, dim, impulse)


@kernel(allocates=True)
def passes(W, q, dim, impulse):
    """Whether an impulse (n,) leaves no approach and gains no energy."""
    n, count = q.size, q.size // dim
    scale, response, velocity = np.empty(count), np.empty(n), np.empty(n)
    kinetic_scales(W, dim, scale)
    velocity_given(W, q, impulse, velocity)
    for i in range(n):
        response[i] = velocity[i] - q[i]
    code, _, _ = judge(W, impulse, q, response, velocity, scale, dim, 0.0)
    return code == FINE


@kernel(allocates=True)
def newton_dense(W, q, friction, frames, rule, dim, tolerance, begin, impulse, residual):
    """Newton steps on x - S(x) from impulses `begin` (n,), S the one-contact solutions, with slopes of S by
    differences; impulse (n,), of this residual, becomes the best met. Returns (its residual, steps made).
    Contacts are taken as `order_by_state` orders them."""
    order = np.empty(friction.size, np.int64)
    if not order_by_state(W, q, friction, dim, order):
        return newton_as_numbered(W, q, friction, frames, rule, dim, tolerance, begin, impulse, residual)
    ordered = ordered_rows(impulse, dim, order)
    residual, made = newton_as_numbered(
        ordered_matrix(W, dim, order), ordered_rows(q, dim, order), ordered_rows(friction, 1, order),
        ordered_frames(frames, order), rule, dim, tolerance, ordered_rows(begin, dim, order), ordered, residual,
    )  # fmt: skip
    put_back(ordered, dim, order, impulse)
    return residual, made


@kernel(allocates=True)
def ordered_frames(frames, order):
    """Frames (nc, 10) of the contacts in an order (nc,)."""
    ordered = np.empty(frames.shape)
    for c in range(order.size):
        for k in range(frames.shape[1]):
            ordered[c, k] = frames[order[c], k]
    return ordered


@kernel(allocates=True)
def newton_as_numbered(W, q, friction, frames, rule, dim, tolerance, begin, impulse, residual):
    """As `newton_dense`, contacts in the order of their numbers."""
    n, count = q.size, friction.size
    slopes, own, local = np.empty((3, count, dim, dim))
    local_blocks(W, dim, local)
    x = np.empty(n)
    for i in range(n):
        x[i] = begin[i]
    u = np.empty(n)
    target = np.empty(n)
    gap = np.empty(n)
    step = np.empty(n)
    trial = np.empty(n)
    right = np.empty(n)
    rows = np.empty(n, np.int64)
    matrix = np.empty((n, n))
    factors = np.empty((n, n))
    here = residual_dense(W, q, friction, frames, rule, dim, x, u, target)
    first, made = here, 0
    for _ in range(NEWTON_STEPS):
        for i in range(n):
            gap[i] = target[i] - x[i]
        solution_slopes(local, u, friction, frames, rule, dim, x, slopes)
        for c in range(count):  # a one-contact solution does not move with its own impulse
            for r in range(dim):
                for s in range(dim):
                    own[c, r, s] = 0.0
                    for t in range(dim):
                        own[c, r, s] += slopes[c, r, t] * local[c, t, s]
        m = moving_rows(slopes, rows)
        newton_matrix(W, slopes, own, gap, rows, m, dim, matrix, right)
        made += 1
        found = np.inf
        for shift in NEWTON_SHIFTS:
            for a in range(m):
                step[a] = right[a]
                for b in range(m):
                    factors[a, b] = matrix[a, b] + (shift if a == b else 0.0)
            if not eliminate(factors, step, m):
                continue
            size = 1.0
            for _ in range(HALVINGS):
                for i in range(n):
                    trial[i] = x[i] + size * gap[i]
                for a in range(m):
                    trial[rows[a]] = x[rows[a]] + size * step[a]
                sound = True
                for i in range(n):
                    sound = sound and abs(trial[i]) < np.inf
                if sound:
                    within_cones(trial, friction, dim)
                    found = residual_dense(W, q, friction, frames, rule, dim, trial, u, target)
                    if found < here:
                        break
                size *= 0.5
            if found < here:
                break
        if not found < here:
            break
        gained = found / here
        here = found
        for i in range(n):
            x[i] = trial[i]
        if here < residual:
            residual = here
            for i in range(n):
                impulse[i] = x[i]
        if residual <= tolerance or (gained > 0.9 and here > RELAXATION_GAIN * first):
            break
    return residual, made


@kernel(allocates=True)
def natural_newton(W, local, q, friction, lean, dim, x, most, tolerance):
    """Newton steps on x - P(x - ρ (q + W x)), at most so many, that change x (n,) in place: how many were made, and
    whether x is a zero. The slow version, for any W, is `Relaxation._natural_newton`."""
    n, count = q.size, friction.size
    own, slopes = np.empty((2, count, dim, dim))
    u, target, gap, step, trial, right = np.empty((6, n))
    rows = np.empty(n, np.int64)
    matrix = np.empty((n, n))
    squares = np.empty(GAPS_KEPT)
    velocity_given(W, q, x, u)
    squares[:] = natural_map(local, friction, lean, dim, x, u, target, own, slopes)
    made, solved = 0, False
    for k in range(most):
        largest, worst = 0.0, 0.0
        for i in range(n):
            gap[i] = target[i] - x[i]
            worst, largest = max(worst, abs(gap[i])), max(largest, abs(x[i]))
        solved = worst <= 0.1 * tolerance * largest
        if solved:
            break
        m = moving_rows(slopes, rows)
        newton_matrix(W, slopes, own, gap, rows, m, dim, matrix, right)
        for a in range(m):
            matrix[a, a] += NEWTON_SHIFTS[1]
        if not eliminate(matrix, right, m):
            break
        for i in range(n):
            step[i] = gap[i]
        for a in range(m):
            step[rows[a]] = right[a]
        sound = True
        for i in range(n):
            sound = sound and abs(step[i]) < np.inf
        if not sound:
            break
        made += 1
        size, most_square = 1.0, squares.max()
        while True:
            for i in range(n):
                trial[i] = x[i] + size * step[i]
            velocity_given(W, q, trial, u)
            square = natural_map(local, friction, lean, dim, trial, u, target, own, slopes)
            if square <= (1.0 - 1e-4 * size) * most_square or size < SMALLEST_STEP:
                break
            size *= 0.5
        x[:] = trial
        squares[(k + 1) % GAPS_KEPT] = square
    within_cones(x, friction, dim)
    return made, solved
