"""Compiled linear complementarity problems: w = q + M z, w >= 0, z >= 0, w·z = 0.

Lemke's method on a condensed tableau (basic columns are not stored) with a lexicographic ratio test, which
cannot cycle. Variables are labelled w_j = j, z_j = n + j, covering variable z0 = 2n. Scaled matrices and the
tableau are kept transposed, so that the columns the method works on are contiguous.
"""

import numpy as np

from ..compiled import kernel
from .tolerances import (
    DISTINCT,
    ENUMERATION_FEASIBLE,
    ENUMERATION_SINGULAR,
    LCP_FINE_TIE,
    LCP_LEXICOGRAPHIC,
    LCP_NEARLY,
    LCP_PIVOT,
    LCP_POLISH,
    LCP_RESIDUAL,
    LCP_RESTART_PIVOTS,
    LCP_RESTART_TIES,
    LCP_RESTARTS,
    LCP_TIE,
    LCP_TIE_FLOOR,
    LCP_ZERO_DIAGONAL,
)

SOLVED, RAY, PIVOT_LIMIT, INACCURATE = 0, 1, 2, 3


@kernel(forceinline=True)
def scale_lcp(M, q, scaled, scaled_q, row, column):
    """Fill scaled = (row M column)ᵀ and scaled_q = row q / max|row q|; returns that maximum.

    Rows with a diagonal are scaled symmetrically to a unit diagonal. Rows without one (friction
    cones) are scaled by their couplings, row and column apart, since large friction makes the two differ by
    its size.
    """
    n = q.size
    for j in range(n):
        column[j] = 0.0  # at first the least entry of the diagonal that counts
        for i in range(n):
            scaled[j, i] = M[i, j]
    for i in range(n):  # sums, unlike maxima, are compiled to vector instructions
        for j in range(n):
            column[j] += LCP_ZERO_DIAGONAL * (abs(M[i, j]) + abs(scaled[i, j]))
    for i in range(n):
        row[i] = 1.0 / np.sqrt(abs(M[i, i])) if abs(M[i, i]) > column[i] else 0.0
        column[i] = row[i]
    for i in range(n):
        if row[i] == 0.0:
            across = 0.0
            down = 0.0
            for j in range(n):
                across = max(across, abs(M[i, j]) * column[j])
                down = max(down, abs(scaled[i, j]) * row[j])
            # negative marks rows of this kind until all are done, so that they do not scale each other
            row[i] = -1.0 / across if across > 0.0 else -1.0
            column[i] = -1.0 / down if down > 0.0 else -1.0
    largest = 0.0
    for i in range(n):
        row[i] = abs(row[i])
        column[i] = abs(column[i])
        scaled_q[i] = row[i] * q[i]
        largest = max(largest, abs(scaled_q[i]))
    for j in range(n):
        for i in range(n):
            scaled[j, i] = row[i] * scaled[j, i] * column[j]
    if largest > 0.0:
        for i in range(n):
            scaled_q[i] /= largest
    return largest


@kernel(allocates=True)
def eliminate(A, b, singular):
    """Solve A x = b in place by complete pivoting; x is left in b. False when a pivot is at most
    ``singular``."""
    n = b.size
    order = np.empty(n, np.int64)
    for k in range(n):
        order[k] = k
    for k in range(n):
        best = 0.0
        at_row = k
        at_column = k
        for i in range(k, n):
            for j in range(k, n):
                if abs(A[i, j]) > best:
                    best = abs(A[i, j])
                    at_row = i
                    at_column = j
        if not best > singular:
            return False
        if at_row != k:
            for j in range(n):
                A[k, j], A[at_row, j] = A[at_row, j], A[k, j]
            b[k], b[at_row] = b[at_row], b[k]
        if at_column != k:
            for i in range(n):
                A[i, k], A[i, at_column] = A[i, at_column], A[i, k]
            order[k], order[at_column] = order[at_column], order[k]
        for i in range(k + 1, n):
            factor = A[i, k] / A[k, k]
            if factor != 0.0:
                for j in range(k + 1, n):
                    A[i, j] -= factor * A[k, j]
                b[i] -= factor * b[k]
    for k in range(n - 1, -1, -1):
        for j in range(k + 1, n):
            b[k] -= A[k, j] * b[j]
        b[k] /= A[k, k]
    for k in range(n):  # undo the exchanges of columns, using the last row of A as storage
        A[n - 1, order[k]] = b[k]
    for k in range(n):
        b[k] = A[n - 1, k]
    return True


@kernel()
def residual_of(scaled, q, z, w):
    """Largest |min(z, w)|, infinite where w is not finite; fills w = q + scaledᵀ z."""
    for i in range(q.size):
        w[i] = q[i]
    for j in range(q.size):
        if z[j] != 0.0:
            for i in range(q.size):
                w[i] += scaled[j, i] * z[j]
    worst = 0.0
    for i in range(q.size):
        if not abs(w[i]) < np.inf:
            return np.inf
        worst = max(worst, abs(min(z[i], w[i])))
    return worst


@kernel(allocates=True)
def solve_basis(scaled, q, active, singular, z):
    """z with w = q + scaledᵀ z = 0 on the active set and z = 0 off it; False when that principal submatrix is
    singular."""
    n = q.size
    chosen = np.empty(n, np.int64)
    count = 0
    for i in range(n):
        z[i] = 0.0
        if active[i]:
            chosen[count] = i
            count += 1
    A = np.empty((count, count))
    b = np.empty(count)
    for i in range(count):
        b[i] = -q[chosen[i]]
        for j in range(count):
            A[i, j] = scaled[chosen[j], chosen[i]]
    if not eliminate(A, b, singular):
        return False
    for i in range(count):
        z[chosen[i]] = b[i]
    return True


@kernel(forceinline=True)
def exchange(T, entering, leaving, column):
    """Exchange a nonbasic and a basic variable in the tableau; ``column`` (n,) is storage."""
    n = column.size
    for i in range(n):  # a copy, so that the compiler need not fear that writing T changes it
        column[i] = T[entering, i]
    inverse = 1.0 / column[leaving]
    for j in range(n + 2):
        factor = T[j, leaving] * inverse
        if factor != 0.0:
            for i in range(n):
                T[j, i] -= column[i] * factor
        T[j, leaving] = factor
    for i in range(n):
        T[entering, i] = -column[i] * inverse
    T[entering, leaving] = inverse


@kernel(forceinline=True)
def lemke_attempt(scaled, q, cover, tie, pivot_tolerance, T, ratios, labels, z, active):
    """One run of Lemke's method on scaled data. Fills z and the active set; returns (status, pivots).

    Storage: T (n + 2, n) has a row for each nonbasic variable and one for the right-hand side, a column for each
    basic variable; ratios (n,); labels (5, 2n + 1) integers.
    """
    n = q.size
    basic, nonbasic = labels[0], labels[1]
    row_of = labels[2]  # -1 for nonbasic variables
    column_of = labels[3]  # -1 for basic variables
    tied = labels[4]
    values = T[n + 1]
    for j in range(n):
        for i in range(n):
            T[j, i] = -scaled[j, i]
    for i in range(n):
        T[n, i] = -cover[i]
        values[i] = q[i]
        z[i] = 0.0
    for i in range(n):
        active[i] = False
        basic[i] = i
        nonbasic[i] = n + i
        row_of[i] = i
        row_of[n + i] = -1
        column_of[i] = -1
        column_of[n + i] = i
    leaving = -1
    least = 0.0
    for i in range(n):
        # on a tie the last row is the lexicographic minimum, since the basis inverse is the identity
        if q[i] < 0.0 and (leaving < 0 or q[i] / cover[i] <= least):
            least = q[i] / cover[i]
            leaving = i
    nonbasic[n] = 2 * n
    row_of[2 * n] = -1
    column_of[2 * n] = n
    if leaving < 0:
        return SOLVED, 0
    entering = n
    status = PIVOT_LIMIT
    pivots = 0
    for _ in range(50 * n + 100):
        pivots += 1
        exchange(T, entering, leaving, ratios)
        out = basic[leaving]
        into = nonbasic[entering]
        basic[leaving] = into
        nonbasic[entering] = out
        row_of[into] = leaving
        column_of[into] = -1
        row_of[out] = -1
        column_of[out] = entering
        if out == 2 * n:
            status = SOLVED
            break
        entering = column_of[out + n if out < n else out - n]
        # ratio test with ties as wide as the tie tolerance
        column = T[entering]
        for i in range(n):
            quotient = max(values[i], 0.0) / column[i]
            ratios[i] = quotient if column[i] > pivot_tolerance else np.inf
        ratio = np.inf
        for i in range(n):
            ratio = min(ratio, ratios[i])
        if not ratio < np.inf:
            status = RAY
            break
        count = 0
        leaving = -1
        bound = (ratio + tie * (LCP_TIE_FLOOR + ratio)) / (1.0 - tie)
        for i in range(n):
            if ratios[i] <= bound:
                tied[count] = i
                count += 1
                if basic[i] == 2 * n:
                    leaving = i
        if leaving >= 0:
            continue
        for label in range(n):
            if count == 1:
                break
            at = column_of[label]
            if at < 0 and ratios[row_of[label]] > bound:
                continue
            lowest = np.inf
            for k in range(count):
                i = tied[k]
                entry = T[at, i] if at >= 0 else (1.0 if row_of[label] == i else 0.0)
                lowest = min(lowest, entry / column[i])
            kept = 0
            for k in range(count):
                i = tied[k]
                entry = T[at, i] if at >= 0 else (1.0 if row_of[label] == i else 0.0)
                if entry / column[i] <= lowest + LCP_LEXICOGRAPHIC:
                    tied[kept] = i
                    kept += 1
            count = kept
        leaving = tied[0]
    for i in range(n):
        if n <= basic[i] < 2 * n:
            z[basic[i] - n] = max(values[i], 0.0)
            active[basic[i] - n] = True
    return status, pivots


@kernel(vectorised=True)
def solve_lcp_kernel(M, q, z):
    """Scaled, safeguarded Lemke. Fills z; returns (status, pivots, restarts, residual of the scaled
    problem)."""
    return solve_lcp_from(M, q, 0, z)


@kernel(allocates=True)
def solve_lcp_from(M, q, draw, z):
    """As `solve_lcp_kernel`, whose first covering vector is one everywhere, with one drawn for `draw` > 0.

    Of several solutions Lemke's method meets that on which the ray of its covering vector ends. Components are
    drawn over four decades, so that each of them may lead.
    """
    n = q.size
    least = 0.0
    for i in range(n):
        z[i] = 0.0
        least = min(least, q[i])
    if least == 0.0:
        return SOLVED, 0, 0, 0.0
    # in two pieces: with one for each array, small problems spend a third of their time on allocation
    store = np.empty((2 * n + 10, n))
    scaled, T = store[:n], store[n : 2 * n + 2]
    scaled_q, row, column, cover = store[2 * n + 2], store[2 * n + 3], store[2 * n + 4], store[2 * n + 5]
    trial, polished, w, ratios = store[2 * n + 6], store[2 * n + 7], store[2 * n + 8], store[2 * n + 9]
    labels = np.empty((6, 2 * n + 1), np.int64)
    active = labels[5]
    largest = scale_lcp(M, q, scaled, scaled_q, row, column)
    state = draw
    for i in range(n):
        cover[i] = 1.0
        if draw > 0:
            state = state * 48271 % 2147483647
            cover[i] = 10.0 ** (4.0 * (state / 2147483647.0) - 2.0)
    tie = LCP_TIE
    pivot_tolerance = LCP_PIVOT
    best = np.inf
    status = RAY
    pivots = 0
    restarts = 0
    state = 1
    while True:
        ended, made = lemke_attempt(
            scaled, scaled_q, cover, tie, pivot_tolerance, T, ratios, labels, trial, active
        )
        pivots += made
        residual = residual_of(scaled, scaled_q, trial, w)
        if ended == SOLVED and residual > LCP_POLISH:  # noqa: SIM102
            if solve_basis(scaled, scaled_q, active, 0.0, polished):
                for i in range(n):
                    polished[i] = max(polished[i], 0.0)
                again = residual_of(scaled, scaled_q, polished, w)
                if again < residual:
                    residual = again
                    for i in range(n):
                        trial[i] = polished[i]
        if residual < best:
            best = residual
            for i in range(n):
                z[i] = trial[i]
            status = ended
        if best <= LCP_RESIDUAL:
            status = SOLVED
            if best <= LCP_POLISH or tie == LCP_FINE_TIE:
                break
            tie = LCP_FINE_TIE  # small but real differences may have passed for ties
            continue
        nearly = status == SOLVED and best <= LCP_NEARLY
        if nearly and restarts == 0 and tie == LCP_TIE:
            tie = LCP_FINE_TIE
            continue
        if restarts == LCP_RESTARTS:
            if status == SOLVED:
                status = INACCURATE
            break
        restarts += 1
        for i in range(n):  # a fixed pseudo-random sequence (Park & Miller), so that answers repeat
            state = state * 48271 % 2147483647
            cover[i] = 0.5 + state / 2147483647.0
        tie = LCP_FINE_TIE if nearly and restarts % 2 == 1 else LCP_RESTART_TIES[restarts % 4]
        pivot_tolerance = LCP_RESTART_PIVOTS[restarts % 3]
    for i in range(n):
        if z[i] != 0.0:  # the factor may be infinite
            z[i] *= column[i] * largest
            if status == SOLVED and not z[i] < np.inf:
                status = INACCURATE
    return status, pivots, restarts, best


@kernel(allocates=True)
def enumerate_lcp_kernel(M, q, found):
    """Fill the rows of ``found`` with all distinct basic solutions; returns how many, or -1 when they do not
    fit."""
    n = q.size
    scaled = np.empty((n, n))
    scaled_q = np.empty(n)
    row = np.empty(n)
    column = np.empty(n)
    largest = scale_lcp(M, q, scaled, scaled_q, row, column)
    active = np.empty(n, np.bool_)
    z = np.empty(n)
    count = 0
    for mask in range(1 << n):
        for i in range(n):
            active[i] = (mask >> i) & 1 == 1
        if not solve_basis(scaled, scaled_q, active, ENUMERATION_SINGULAR, z):
            continue
        feasible = True
        for i in range(n):
            if z[i] < -ENUMERATION_FEASIBLE:
                feasible = False
                break
            if not active[i]:
                w = scaled_q[i]
                for j in range(n):
                    w += scaled[j, i] * z[j]
                if w < -ENUMERATION_FEASIBLE:
                    feasible = False
                    break
        if not feasible:
            continue
        for i in range(n):
            z[i] = max(z[i], 0.0)
        new = True
        for k in range(count):
            distance = 0.0
            size = 1.0
            for i in range(n):
                distance = max(distance, abs(found[k, i] - z[i]))
                size = max(size, z[i])
            if distance <= DISTINCT * size:
                new = False
                break
        if new:
            if count == found.shape[0]:
                return -1
            for i in range(n):
                found[count, i] = z[i]
            count += 1
    for k in range(count):
        for i in range(n):
            found[k, i] *= column[i] * largest
    return count


@kernel(allocates=True)
def assemble_impact_lcp(W, u, friction, directions, M, q):
    """Fill the simultaneous inelastic impact LCP: normal impulses, edge impulses contact by contact, cone
    slacks.

    ``directions`` (edges, dim-1) are the unit tangential directions; contacts without friction have no edges.
    """
    dim = directions.shape[1] + 1
    edges = directions.shape[0]
    contacts = friction.size
    generators = q.size
    for c in range(contacts):
        if friction[c] > 0.0:
            generators -= 1
    index = np.empty(generators, np.int64)  # first component of W that a generator acts on
    weight = np.empty((generators, 2))
    for a in range(generators):
        weight[a, 0] = 0.0
        weight[a, 1] = 0.0
    for a in range(q.size):
        for b in range(q.size):
            M[a, b] = 0.0
    edge = contacts
    slack = generators
    for c in range(contacts):
        index[c] = c * dim
        weight[c, 0] = 1.0
        if friction[c] > 0.0:
            M[slack, c] = friction[c]
            for k in range(edges):
                index[edge] = c * dim + 1
                for component in range(dim - 1):
                    weight[edge, component] = directions[k, component]
                M[slack, edge] = -1.0
                M[edge, slack] = 1.0
                edge += 1
            q[slack] = 0.0
            slack += 1
    for a in range(generators):
        q[a] = 0.0
        for i in range(2):
            if weight[a, i] != 0.0:
                q[a] += weight[a, i] * u[index[a] + i]
        for b in range(a + 1):
            entry = 0.0
            for i in range(2):
                if weight[a, i] != 0.0:
                    for j in range(2):
                        if weight[b, j] != 0.0:
                            entry += weight[a, i] * weight[b, j] * W[index[a] + i, index[b] + j]
            M[a, b] = entry
            M[b, a] = entry


@kernel()
def impulse_in_cones(z, friction, directions, impulse):
    """Contact impulse of an assembled LCP's z, with rounding outside the cones cut back along each
    tangent."""
    dim = directions.shape[1] + 1
    edges = directions.shape[0]
    edge = friction.size
    for c in range(friction.size):
        first = c * dim
        for component in range(1, dim):
            impulse[first + component] = 0.0
        impulse[first] = max(z[c], 0.0)
        if friction[c] > 0.0:
            total = 0.0
            for k in range(edges):
                amount = max(z[edge], 0.0)
                edge += 1
                for component in range(dim - 1):
                    impulse[first + 1 + component] += amount * directions[k, component]
            for component in range(dim - 1):
                total += impulse[first + 1 + component] ** 2
            total = np.sqrt(total)
            bound = friction[c] * impulse[first]
            if total > bound:
                for component in range(dim - 1):
                    impulse[first + 1 + component] *= bound / total
