"""Compiled steps of the set-valued Routh integration: bounded normal impulses, one complementarity problem each."""

import numpy as np

from ..compiled import kernel
from .lcp_kernels import assemble_impact_lcp
from .tolerances import DISTINCT, STEP_FEASIBLE, STEP_SINGULAR

MODES = 7
"""Of a planar contact in a step: open, or pressing (v_n⁺ = 0), or at its bound (v_n⁺ <= 0), each of the last two
sticking, sliding forward or sliding backward."""
MOST_BRANCHES = 64


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
