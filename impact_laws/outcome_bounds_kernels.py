"""Compiled support values of one step of the set-valued law between two cells of contact velocities."""

import numpy as np

from ..compiled import kernel

EMPTY, BOUNDED = 0, 1

_PIVOT = 1e-10  # share of the largest entry of a column below which an entry is no pivot
_SINGULAR = 1e-13  # share of a column below which a basis counts as singular
_ROUNDING = 1e-14  # share of the terms of a sum that may be rounding
_BELOW = -1.0 - 1e-6  # a bound below it, in a unit direction, belongs to no point within length 1
_LARGEST_FIRST = 60  # pivots before Bland's rule, which cannot cycle
_PIVOTS = 400


@kernel()
def factorize(A, basis, L, order):
    """LU factors with pivoting of the columns ``basis`` of A in L (m, m), ``order`` (m,); False where singular."""
    m = basis.size
    for i in range(m):
        order[i] = i
        for j in range(m):
            L[i, j] = A[i, basis[j]]
    for k in range(m):
        best, size = k, 0.0
        for i in range(k, m):
            if abs(L[i, k]) > size:
                best, size = i, abs(L[i, k])
        whole = 0.0
        for i in range(m):
            whole = max(whole, abs(A[i, basis[k]]))
        if size <= _SINGULAR * whole:
            return False
        if best != k:
            order[k], order[best] = order[best], order[k]
            for j in range(m):
                L[k, j], L[best, j] = L[best, j], L[k, j]
        for i in range(k + 1, m):
            L[i, k] /= L[k, k]
            factor = L[i, k]
            if factor != 0.0:
                for j in range(k + 1, m):
                    L[i, j] -= factor * L[k, j]
    return True


@kernel()
def solve_columns(L, order, rhs, x):
    """x (m,) with B x = rhs, of a factorized basis B."""
    m = order.size
    for i in range(m):
        value = rhs[order[i]]
        for j in range(i):
            value -= L[i, j] * x[j]
        x[i] = value
    for i in range(m - 1, -1, -1):
        value = x[i]
        for j in range(i + 1, m):
            value -= L[i, j] * x[j]
        x[i] = value / L[i, i]


@kernel()
def solve_rows(L, order, rhs, spare, x):
    """x (m,) with Bᵀ x = rhs, of a factorized basis B."""
    m = order.size
    for i in range(m):
        value = rhs[i]
        for j in range(i):
            value -= L[j, i] * spare[j]
        spare[i] = value / L[i, i]
    for i in range(m - 1, -1, -1):
        value = spare[i]
        for j in range(i + 1, m):
            value -= L[j, i] * spare[j]
        spare[i] = value
    for i in range(m):
        x[order[i]] = spare[i]


@kernel()
def valued(A, cost, rhs, limit, basis, x):
    """The bound that a basis with multiples x gives: negative ones count as zero, residuals at the limits."""
    m = basis.size
    total = 0.0
    for k in range(m):
        if x[k] > 0.0:
            total += cost[basis[k]] * x[k]
    for i in range(m):
        miss = -rhs[i]
        for k in range(m):
            if x[k] > 0.0:
                miss += A[i, basis[k]] * x[k]
        total += limit[i] * abs(miss)
    return total


@kernel()
def priced(A, cost, price, j):
    """The reduced cost of column j, and what of it may be rounding."""
    value, size = cost[j], abs(cost[j])
    for i in range(price.size):
        term = price[i] * A[i, j]
        value -= term
        size += abs(term)
    return value, _ROUNDING * size


@kernel()
def from_limits(free, n, rhs, basis):
    """The basis of the limits on the variables alone; see `step_support` for the columns."""
    m = rhs.size
    for i in range(free):
        basis[i] = (n - m - free if rhs[i] >= 0.0 else n - m) + i
    for i in range(free, m):
        basis[i] = (n - m if rhs[i] >= 0.0 else n - 2 * m - free) + i


@kernel()
def leaving_row(x, w, basis, pivots):
    """The row at which x - t w, t >= 0, first meets zero, of several the largest entry; -1 where none does."""
    largest = 0.0
    for k in range(x.size):
        largest = max(largest, abs(w[k]))
    ratio = np.inf
    for k in range(x.size):
        if w[k] > _PIVOT * largest:
            ratio = min(ratio, max(x[k], 0.0) / w[k])
    leaving = -1
    for k in range(x.size):
        if w[k] > _PIVOT * largest and max(x[k], 0.0) / w[k] <= ratio * (1.0 + _ROUNDING):
            if leaving < 0:
                leaving = k
            elif pivots > _LARGEST_FIRST:
                leaving = k if basis[k] < basis[leaving] else leaving
            elif w[k] > w[leaving]:
                leaving = k
    return leaving


@kernel()
def solve_anew(A, cost, rhs, limit, floor, free, basis, L, order, x, price, spare):
    """The simplex method from the basis of limits; returns (status, bound), see `least_cost`."""
    m, n = A.shape
    from_limits(free, n, rhs, basis)
    best = np.inf
    for pivots in range(_PIVOTS):
        if not factorize(A, basis, L, order):
            break
        solve_columns(L, order, rhs, x)
        best = min(best, valued(A, cost, rhs, limit, basis, x))
        if best < floor:
            return EMPTY, best
        for k in range(m):
            spare[k] = cost[basis[k]]
        solve_rows(L, order, spare, spare, price)
        entering = -1
        least = 0.0
        for j in range(n):
            value, rounding = priced(A, cost, price, j)
            if value < min(least, -rounding):
                entering, least = j, value
                if pivots > _LARGEST_FIRST:
                    break
        if entering < 0:
            break
        solve_columns(L, order, A[:, entering], spare)
        leaving = leaving_row(x, spare, basis, pivots)
        if leaving < 0:
            ray = cost[entering]
            for k in range(m):
                ray += cost[basis[k]] * max(-spare[k], 0.0)
            for i in range(m):
                miss = A[i, entering]
                for k in range(m):
                    miss += A[i, basis[k]] * max(-spare[k], 0.0)
                ray += limit[i] * abs(miss)
            return EMPTY if ray < 0.0 else BOUNDED, best
        basis[leaving] = entering
    return BOUNDED, best


@kernel()
def solve_on(A, cost, rhs, basis, L, order, x, price, spare):
    """The dual simplex method from the optimal basis of another right-hand side; False where it fails."""
    m, n = A.shape
    for _ in range(_LARGEST_FIRST):
        if not factorize(A, basis, L, order):
            return False
        solve_columns(L, order, rhs, x)
        leaving, least, size = -1, 0.0, 0.0
        for k in range(m):
            size = max(size, abs(x[k]))
        for k in range(m):
            if x[k] < min(least, -_ROUNDING * size):
                leaving, least = k, x[k]
        if leaving < 0:
            return True
        for k in range(m):
            spare[k] = cost[basis[k]]
        solve_rows(L, order, spare, spare, price)
        for k in range(m):
            x[k] = 1.0 if k == leaving else 0.0
        solve_rows(L, order, x, spare, x)
        entering, ratio, pivot = -1, np.inf, 0.0
        for j in range(n):
            entry, size = 0.0, 0.0
            for i in range(m):
                term = x[i] * A[i, j]
                entry -= term
                size += abs(term)
            if entry > _PIVOT * size:
                r = max(priced(A, cost, price, j)[0], 0.0) / entry
                if r < ratio or (r == ratio and entry > pivot):
                    entering, ratio, pivot = j, r, entry
        if entering < 0:
            return False
        basis[leaving] = entering
    return False


@kernel()
def least_cost(A, cost, rhs, limit, floor, free, resume, basis, L, order, x, price, spare):
    """Least cost·y over A y = rhs, y >= 0; returns (status, bound).

    The problem is the dual of max rhs·z over Aᵀ z <= cost, of which any y >= 0 gives an upper bound: ``limit``
    (m,) bounds |z|, and the residual of y times it is added, so that rounding and an early end only loosen.
    EMPTY, no z at all, is told by a bound below ``floor``, which no point within length 1 has, or a ray whose
    cost outweighs its residual. Every pivot factorizes the basis anew (m is at most about ten), since under a
    friction of 1e5 tables carried from pivot to pivot lose all digits. With ``resume``, ``basis`` (m,) is the
    optimum of another right-hand side.
    """
    if resume and solve_on(A, cost, rhs, basis, L, order, x, price, spare):
        return BOUNDED, valued(A, cost, rhs, limit, basis, x)
    return solve_anew(A, cost, rhs, limit, floor, free, basis, L, order, x, price, spare)


@kernel(allocates=True)
def step_support(template, offsets, basis_from, generators, inside, slack, directions, reach, values):
    """Support values of (S + cone(generators)) ∩ R in some directions; False when that set is empty.

    S = {basis_from σ: template σ <= offsets}, R = {x: inside x <= slack}. Rows of ``generators`` (k, r),
    ``inside`` (q, r) and ``directions`` (D, r); ``values`` (D,). Linear programming duality: the maximum of d·x is
    the least offsets·y + slack Σα over y, α >= 0 with templateᵀ y = basisᵀ (d - insideᵀ α) and
    generators (d - insideᵀ α) <= 0. Points have length 1 at most, multiples of generators ``reach``: these limits
    are the last columns, with which every d has a bound.
    """
    rows, free = template.shape
    k = generators.shape[0]
    q = inside.shape[0]
    r = directions.shape[1]
    m = free + k
    n = rows + q + 2 * m
    A = np.zeros((m, n))
    cost = np.zeros(n)
    limit = np.empty(m)
    for j in range(rows):
        cost[j] = offsets[j]
        for i in range(free):
            A[i, j] = template[j, i]
    for j in range(q):
        cost[rows + j] = slack
        for c in range(r):
            for i in range(free):
                A[i, rows + j] += basis_from[c, i] * inside[j, c]
            for i in range(k):
                A[free + i, rows + j] += generators[i, c] * inside[j, c]
    at = rows + q
    for i in range(k):
        A[free + i, at + i] = -1.0
        A[free + i, n - k + i] = 1.0
        limit[free + i] = cost[n - k + i] = reach
    at += k
    for i in range(free):
        A[i, at + i] = 1.0
        A[i, at + free + i] = -1.0
        limit[i] = cost[at + i] = cost[at + free + i] = 1.0
    rhs = np.empty(m)
    basis = np.empty(m, np.int64)
    L = np.empty((m, m))
    order = np.empty(m, np.int64)
    x, price, spare = np.empty(m), np.empty(m), np.empty(m)
    for d in range(directions.shape[0]):
        for i in range(m):
            rhs[i] = 0.0
        length = 0.0
        for c in range(r):
            length += directions[d, c] * directions[d, c]
            for i in range(free):
                rhs[i] += basis_from[c, i] * directions[d, c]
            for i in range(k):
                rhs[free + i] += generators[i, c] * directions[d, c]
        floor = _BELOW * np.sqrt(length)
        status, values[d] = least_cost(
            A, cost, rhs, limit, floor, free, d > 0, basis, L, order, x, price, spare
        )
        if status == EMPTY:
            return False
    return True
