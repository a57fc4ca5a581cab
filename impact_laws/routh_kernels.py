"""Compiled set-valued Routh integration: random bounded normal impulses, one complementarity problem a step."""

import numba
import numpy as np

from ..compiled import kernel
from .lcp_kernels import SOLVED, assemble_impact_lcp, impulse_in_cones, solve_lcp_from
from .tolerances import DISTINCT, ROUTH_RESTITUTIONS, STEP_FEASIBLE, STEP_GAIN, STEP_SINGULAR

FINISHED, STEP_LIMIT, UNSOLVED, GAINED = 0, 1, 2, 3
FIRST_BRANCH, ALL_BRANCHES, RANDOM_COVERS = 0, 1, 2
STEP, RESTITUTION = 0, 1
MODES = 7
"""Of a planar contact in a step: open, or pressing (v_n⁺ = 0), or at its bound (v_n⁺ <= 0), each of the last two
sticking, sliding forward or sliding backward."""
MOST_BRANCHES = 64


@kernel()
def scrambled(state):
    """The next state of a 64-bit counter and a well mixed word of it (splitmix64: Steele, Lea & Flood 2014)."""
    state = state + np.uint64(0x9E3779B97F4A7C15)
    word = state
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state, word ^ (word >> np.uint64(31))


@kernel()
def first_state(seed, index):
    """Start of the random sequence of one sample, the same on any number of threads."""
    _, word = scrambled(np.uint64(seed))
    _, word = scrambled(word ^ (np.uint64(index) * np.uint64(0xD1342543DE82EF95)))
    return word


@kernel(allocates=True)
def assemble_step(W, friction, directions, M, q):
    """Fill M, q of a step: slacks s of the bounds, then normal impulses, edge impulses and slip bounds.

    0 <= s ⟂ λ_max - λ >= 0 and 0 <= λ ⟂ J_n v⁺ + s >= 0 beside the rows of the simultaneous impact. Entries of
    q that depend on the state are filled by `fill_step`.
    """
    contacts = friction.size
    inner = q.size - contacts
    N = np.empty((inner, inner))
    p = np.empty(inner)
    assemble_impact_lcp(W, np.zeros(W.shape[0]), friction, directions, N, p)
    for i in range(q.size):
        q[i] = 0.0
        for j in range(q.size):
            M[i, j] = 0.0
    for i in range(inner):
        for j in range(inner):
            M[contacts + i, contacts + j] = N[i, j]
    for c in range(contacts):
        M[c, contacts + c] = -1.0
        M[contacts + c, c] = 1.0


@kernel()
def fill_step(u, friction, directions, bounds, q):
    """Fill q of a step from contact velocities u (dim*nc,) and the bounds of the normal impulses (nc,)."""
    contacts = friction.size
    dim = directions.shape[1] + 1
    row = 2 * contacts
    for c in range(contacts):
        q[c] = bounds[c]
        q[contacts + c] = u[dim * c]
        if friction[c] > 0.0:
            for k in range(directions.shape[0]):
                q[row] = 0.0
                for component in range(dim - 1):
                    q[row] += directions[k, component] * u[dim * c + 1 + component]
                row += 1


@kernel()
def eliminate_in_place(A, n):
    """Solve the n equations of A (.., n + 1) in place; the solution replaces column n. False where singular.

    Columns are of size about one.
    """
    for k in range(n):
        best = k
        for i in range(k + 1, n):
            if abs(A[i, k]) > abs(A[best, k]):
                best = i
        if not abs(A[best, k]) > STEP_SINGULAR:
            return False
        if best != k:
            for j in range(k, n + 1):
                A[k, j], A[best, j] = A[best, j], A[k, j]
        inverse = 1.0 / A[k, k]
        for i in range(k + 1, n):
            factor = A[i, k] * inverse
            if factor != 0.0:
                for j in range(k + 1, n + 1):
                    A[i, j] -= factor * A[k, j]
    for k in range(n - 1, -1, -1):
        total = A[k, n]
        for j in range(k + 1, n):
            total -= A[k, j] * A[j, n]
        A[k, n] = total / A[k, k]
    return True


@kernel(allocates=True)
def planar_step_solutions(W, u, friction, bounds, scale, impulses, velocities):
    """All solutions of one step of planar contacts with distinct velocities, by trying every mode of every contact.

    Inequalities are weak, so of a continuum of impulses with one velocity a corner is found, whose mode is regular.
    Fills impulses and velocities (MOST_BRANCHES, 2*nc); returns how many. `scale` (2*nc,) are the √W_ii, by which
    velocities are divided and impulses multiplied, so that one tolerance fits all.
    """
    count = friction.size
    size = 2 * count
    A = np.empty((size, size + 1))
    column_of = np.empty(size, np.int64)
    part = np.empty(size)
    after = np.empty(size)
    mode = np.zeros(count, np.int64)
    largest = 0.0
    for i in range(size):
        largest = max(largest, abs(u[i]) / scale[i])
    slack = STEP_FEASIBLE * largest
    found = 0
    total = MODES**count
    for code in range(total):
        rest = code
        skipped = False
        unknowns = 0
        for c in range(count):
            mode[c] = rest % MODES
            rest //= MODES
            column_of[2 * c] = column_of[2 * c + 1] = -1
            state = mode[c]
            if friction[c] == 0.0 and state not in (0, 1, 4):
                skipped = True
                break
            part[2 * c] = part[2 * c + 1] = 0.0
            if 1 <= state <= 3:
                column_of[2 * c] = unknowns
                unknowns += 1
            elif state >= 4:
                part[2 * c] = bounds[c]
            if state in (1, 4) and friction[c] > 0.0:
                column_of[2 * c + 1] = unknowns
                unknowns += 1
            elif state >= 4:
                part[2 * c + 1] = (
                    friction[c] * bounds[c] * (-1.0 if state == 5 else 1.0 if state == 6 else 0.0)
                )
        if skipped:
            continue
        if unknowns > 0:
            row = 0
            for i in range(size):
                if column_of[i] < 0:
                    continue
                right = u[i]
                for c in range(count):
                    right += W[i, 2 * c] * part[2 * c] + W[i, 2 * c + 1] * part[2 * c + 1]
                A[row, unknowns] = -right / scale[i]
                for c in range(count):
                    if column_of[2 * c] >= 0:
                        coefficient = W[i, 2 * c] / scale[2 * c]
                        if mode[c] != 1:  # slides: friction follows the normal impulse
                            slip = friction[c] if mode[c] == 3 else -friction[c]
                            coefficient += slip * W[i, 2 * c + 1] / scale[2 * c]
                            coefficient /= 1.0 + friction[c] * scale[2 * c + 1] / scale[2 * c]
                        A[row, column_of[2 * c]] = coefficient / scale[i]
                    if column_of[2 * c + 1] >= 0:
                        A[row, column_of[2 * c + 1]] = W[i, 2 * c + 1] / (scale[2 * c + 1] * scale[i])
                row += 1
            if not eliminate_in_place(A, unknowns):
                continue
            for c in range(count):
                if column_of[2 * c] >= 0:
                    normal = A[column_of[2 * c], unknowns] / scale[2 * c]
                    if mode[c] != 1:
                        normal /= 1.0 + friction[c] * scale[2 * c + 1] / scale[2 * c]
                        part[2 * c + 1] = (friction[c] if mode[c] == 3 else -friction[c]) * normal
                    part[2 * c] = normal
                if column_of[2 * c + 1] >= 0:
                    part[2 * c + 1] = A[column_of[2 * c + 1], unknowns] / scale[2 * c + 1]
        feasible = True
        for c in range(count):
            if column_of[2 * c] >= 0:
                normal = part[2 * c] * scale[2 * c]
                feasible &= -slack <= normal <= bounds[c] * scale[2 * c] + slack
            if column_of[2 * c + 1] >= 0:
                ratio = friction[c] * scale[2 * c + 1] / scale[2 * c]
                room = ratio * part[2 * c] * scale[2 * c] + slack * (1.0 + ratio)
                feasible &= abs(part[2 * c + 1]) * scale[2 * c + 1] <= room
        if not feasible:
            continue
        for i in range(size):
            after[i] = u[i]
            for j in range(size):
                after[i] += W[i, j] * part[j]
        for c in range(count):
            state = mode[c]
            normal = after[2 * c] / scale[2 * c]
            slip = after[2 * c + 1] / scale[2 * c + 1]
            if (
                (state == 0 and normal < -slack)
                or (state >= 4 and normal > slack)
                or (state in (2, 5) and slip < -slack)
                or (state in (3, 6) and slip > slack)
            ):
                feasible = False
        if not feasible:
            continue
        for k in range(found):
            apart = 0.0
            for i in range(size):
                apart = max(apart, abs(after[i] - velocities[k, i]) / scale[i])
            if apart <= DISTINCT * largest:
                feasible = False
                break
        if feasible and found < impulses.shape[0]:
            for c in range(count):
                normal = max(part[2 * c], 0.0)
                limit = friction[c] * normal
                impulses[found, 2 * c] = normal
                impulses[found, 2 * c + 1] = min(max(part[2 * c + 1], -limit), limit)
            for i in range(size):
                velocities[found, i] = after[i]
            found += 1
    return found


@kernel()
def restitution_share(W, u0, impulse, extra):
    """The largest share, at most 1, of `extra` impulse that leaves the kinetic energy at most what it was."""
    constant = linear = square = 0.0
    for i in range(u0.size):
        of_impulse = of_extra = 0.0
        for j in range(u0.size):
            of_impulse += W[i, j] * impulse[j]
            of_extra += W[i, j] * extra[j]
        constant += impulse[i] * (u0[i] + 0.5 * of_impulse)
        linear += extra[i] * (u0[i] + of_impulse)
        square += 0.5 * extra[i] * of_extra
    if constant + linear + square <= 0.0:
        return 1.0
    if constant >= 0.0 or square <= 0.0:
        return 0.0
    root = np.sqrt(linear * linear - 4.0 * square * constant)
    share = -2.0 * constant / (linear + root) if linear > 0.0 else (root - linear) / (2.0 * square)
    return min(1.0, share * (1.0 - 1e-14))


@kernel(allocates=True)
def one_sample(
    W, u0, friction, restitution, directions, M, q, scale, tangent_scale, step, threshold, branches, noise, state,
    points, impulse, u, stages, kinds
):  # fmt: skip
    """One impact by Algorithm 1 of the paper: random bounds, one step, until no contact approaches.

    `points` (d,) are numbers in [0, 1) used, before random ones, for the first bounds. `impulse` and `u`
    (dim*nc,) receive the outcome; the first rows of `stages` (at most its length) the cumulative impulses and
    `kinds` whether each was a step or restitution. With `noise` every solve leaves an error of that standard
    deviation in u. A step that gains energy, against Theorem 7, ends the sample. Returns (status, stages, solved
    problems, branched steps).
    """
    contacts = friction.size
    dim = directions.shape[1] + 1
    size = u.size
    bounds = np.empty(contacts)
    z = np.empty(q.size)
    part = np.empty(size)
    compressed = np.zeros(size)
    several = MOST_BRANCHES if branches == ALL_BRANCHES else 0
    found_impulses = np.empty((several, size))
    found_velocities = np.empty((several, size))
    elastic = False
    energy = 0.0  # that the fastest contact has alone
    for c in range(contacts):
        elastic |= restitution[c] > 0.0
        energy = max(energy, 0.5 * (u0[dim * c] / scale[c]) ** 2)
    for i in range(size):
        impulse[i] = 0.0
        u[i] = u0[i]
    made = solves = branched = returned = used = 0
    while True:
        least = 0.0
        for c in range(contacts):
            least = min(least, u[dim * c] / scale[c])
        if least >= threshold:
            if not elastic or solves == 0 or returned == ROUTH_RESTITUTIONS:
                return FINISHED, made, solves, branched
            if made == stages.shape[0]:
                return STEP_LIMIT, made, solves, branched
            total = 0.0
            for i in range(size):
                part[i] = restitution[i // dim] * compressed[i]
                compressed[i] = 0.0
                total += abs(part[i])
            if total == 0.0:
                return FINISHED, made, solves, branched
            share = restitution_share(W, u0, impulse, part)
            for i in range(size):
                part[i] *= share
            kinds[made] = RESTITUTION
            returned += 1
        else:
            if made == stages.shape[0]:
                return STEP_LIMIT, made, solves, branched
            for c in range(contacts):
                if used < points.size:
                    bounds[c] = step[c] * points[used]
                    used += 1
                else:
                    state, word = scrambled(state)
                    bounds[c] = step[c] * (np.float64(word >> np.uint64(11)) * 1.1102230246251565e-16)
            found = 0
            if branches == ALL_BRANCHES:
                found = planar_step_solutions(
                    W, u, friction, bounds, tangent_scale, found_impulses, found_velocities
                )
            if found > 0:
                chosen = np.int64(0)
                if found > 1:
                    branched += 1
                    state, word = scrambled(state)
                    chosen = np.int64(word % np.uint64(found))
                for i in range(size):
                    part[i] = found_impulses[chosen, i]
            else:
                fill_step(u, friction, directions, bounds, q)
                draw = np.int64(0)
                if branches == RANDOM_COVERS:
                    state, word = scrambled(state)
                    draw = np.int64(1 + word % np.uint64(2147483646))
                status, _, _, _ = solve_lcp_from(M, q, draw, z)
                if status != SOLVED:
                    return UNSOLVED, made, solves, branched
                impulse_in_cones(z[contacts:], friction, directions, part)
            solves += 1
            kinds[made] = STEP
            for i in range(size):
                compressed[i] += part[i]
        gain = 0.0
        for i in range(size):
            impulse[i] += part[i]
            response = 0.0
            for j in range(size):
                response += W[i, j] * part[j]
            gain += part[i] * (u[i] + 0.5 * response)  # u before the step: rows are updated one by one
            u[i] += response
            if noise > 0.0 and kinds[made] == STEP:
                state, word = scrambled(state)
                first = (np.float64(word >> np.uint64(11)) + 0.5) * 1.1102230246251565e-16
                state, word = scrambled(state)
                second = np.float64(word >> np.uint64(11)) * 1.1102230246251565e-16
                u[i] += noise * np.sqrt(-2.0 * np.log(first)) * np.cos(2.0 * np.pi * second)
            stages[made, i] = impulse[i]
        if kinds[made] == STEP and gain > STEP_GAIN * energy:
            return GAINED, made + 1, solves, branched
        made += 1
        if elastic and kinds[made - 1] == RESTITUTION:
            least = 0.0
            for c in range(contacts):
                least = min(least, u[dim * c] / scale[c])
            if least >= threshold:
                return FINISHED, made, solves, branched


@kernel(allocates=True, parallel=True)
def many_samples(
    W, u0, friction, restitution, directions, scale, tangent_scale, step, threshold, limit, branches, noise, seed,
    first, points, impulses, velocities, solves, branched, status
):  # fmt: skip
    """Samples first..first + len(solves) - 1, in parallel; each has its own random sequence."""
    count = solves.size
    contacts = friction.size
    unknowns = 2 * contacts
    for c in range(contacts):
        if friction[c] > 0.0:
            unknowns += directions.shape[0] + 1
    chunks = (count + 255) // 256
    for chunk in numba.prange(chunks):
        M = np.empty((unknowns, unknowns))
        q = np.empty(unknowns)
        assemble_step(W, friction, directions, M, q)
        stages = np.empty((limit, u0.size))
        kinds = np.empty(limit, np.int64)
        for k in range(256 * chunk, min(256 * (chunk + 1), count)):
            status[k], _, solves[k], branched[k] = one_sample(
                W, u0, friction, restitution, directions, M, q, scale, tangent_scale, step, threshold, branches,
                noise, first_state(seed, first + k), points[k], impulses[k], velocities[k], stages, kinds,
            )  # fmt: skip
