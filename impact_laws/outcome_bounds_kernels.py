"""Compiled support values of one step of the set-valued law between two cells of contact velocities."""

import numpy as np

from ..compiled import kernel

EMPTY, BOUNDED, UNCERTAIN = 0, 1, 2

_PIVOT = 1e-9  # entries below it are no pivots (rows and columns of order one)
_REDUCED = 1e-13  # reduced costs above minus this are optimal
_RESIDUAL = 1e-6  # a worse solution is none
_RESUMED = 3e-15  # a worse one after warm starts is found again from scratch
_RATIO = 1e-14  # ratios within it are one
_LARGEST_FIRST = 60  # pivots before Bland's rule, which cannot cycle
_PIVOTS = 400


@kernel()
def pivot_on(tableau, basis, leaving, entering):
    """Exchange the basic variable of a row for another."""
    rows, width = tableau.shape
    scale = 1.0 / tableau[leaving, entering]
    for j in range(width):
        tableau[leaving, j] *= scale
    for i in range(rows):
        if i != leaving:
            factor = tableau[i, entering]
            if factor != 0.0:
                for j in range(width):
                    tableau[i, j] -= factor * tableau[leaving, j]
    basis[leaving] = entering


@kernel()
def solve_anew(A, cost, rhs, reach, sign, y, tableau, basis):
    """The two-phase simplex method for least cost·y over A y = rhs, y >= 0; see `least_cost`."""
    m, n = A.shape
    width = n + m
    for i in range(m):
        sign[i] = 1.0 if rhs[i] >= 0.0 else -1.0
        for j in range(n):
            tableau[i, j] = sign[i] * A[i, j]
        for j in range(m):
            tableau[i, n + j] = 0.0
        tableau[i, n + i] = 1.0
        tableau[i, width] = abs(rhs[i])
        basis[i] = n + i
    pivots = 0
    for phase in range(2):
        if phase == 1 and -tableau[m, width] > _RESIDUAL:
            return UNCERTAIN
        for j in range(width + 1):
            tableau[m, j] = cost[j] if phase == 1 and j < n else 0.0
        for i in range(m):
            price = 0.0
            if phase == 0:
                price = 1.0
            elif basis[i] < n:
                price = cost[basis[i]]
            if price != 0.0:
                for j in range(width + 1):
                    tableau[m, j] -= price * tableau[i, j]
        while True:
            entering = -1
            best = -_REDUCED
            for j in range(n):
                if tableau[m, j] < best:
                    entering = j
                    if pivots > _LARGEST_FIRST:
                        break
                    best = tableau[m, j]
            if entering < 0:
                break
            leaving = -1
            ratio = np.inf
            for i in range(m):
                a = tableau[i, entering]
                if phase == 1 and basis[i] >= n and abs(a) > _PIVOT:
                    leaving = i  # an artificial variable at zero must not grow again
                    break
                if a > _PIVOT:
                    r = tableau[i, width] / a
                    if r < ratio - _RATIO or (r <= ratio + _RATIO and basis[i] < basis[leaving]):
                        ratio = min(r, ratio)
                        leaving = i
            pivots += 1
            if pivots > _PIVOTS:
                return UNCERTAIN
            if leaving >= 0:
                pivot_on(tableau, basis, leaving, entering)
                for i in range(m):
                    tableau[i, width] = max(tableau[i, width], 0.0)
            elif phase == 0:
                tableau[m, entering] = 0.0  # the sum of artificials is bounded, so this is rounding
            else:
                for j in range(n):
                    y[j] = 0.0
                y[entering] = 1.0
                for i in range(m):
                    if basis[i] < n:
                        y[basis[i]] = max(0.0, -tableau[i, entering])
                total = 0.0
                for j in range(n):
                    total += cost[j] * y[j]
                for i in range(m):
                    miss = 0.0
                    for j in range(n):
                        miss += A[i, j] * y[j]
                    total += reach * abs(miss)
                return EMPTY if total < 0.0 else UNCERTAIN
    return BOUNDED


@kernel()
def solve_on(n, rhs, sign, tableau, basis):
    """The dual simplex method from the optimal basis of another right-hand side; False where it fails."""
    m = rhs.size
    width = n + m
    for i in range(m):
        if basis[i] >= n:
            return False
        tableau[i, width] = 0.0
        for j in range(m):
            tableau[i, width] += tableau[i, n + j] * sign[j] * rhs[j]
    for _ in range(_LARGEST_FIRST):
        leaving = -1
        least = -_RATIO
        for i in range(m):
            if tableau[i, width] < least:
                least = tableau[i, width]
                leaving = i
        if leaving < 0:
            return True
        entering = -1
        ratio = np.inf
        for j in range(n):
            a = -tableau[leaving, j]
            if a > _PIVOT:
                r = max(tableau[m, j], 0.0) / a
                if r < ratio:
                    ratio = r
                    entering = j
        if entering < 0:
            return False
        pivot_on(tableau, basis, leaving, entering)
    return False


@kernel()
def valued(A, cost, rhs, reach, y, tableau, basis):
    """cost·y of the basic solution and its residual times ``reach``, and the largest residual."""
    m, n = A.shape
    for j in range(n):
        y[j] = 0.0
    for i in range(m):
        if basis[i] < n:
            y[basis[i]] = max(0.0, tableau[i, n + m])
    total = 0.0
    for j in range(n):
        total += cost[j] * y[j]
    worst = 0.0
    for i in range(m):
        miss = -rhs[i]
        for j in range(n):
            miss += A[i, j] * y[j]
        worst = max(worst, abs(miss))
        total += reach * abs(miss)
    return total, worst


@kernel()
def least_cost(A, cost, rhs, reach, resume, sign, y, tableau, basis):
    """Least cost·y over A y = rhs, y >= 0; returns (status, value).

    The problem is the dual of a bound max d·x, so any y >= 0 with A y = rhs bounds that from above. ``reach``
    bounds the primal variables: the residual of y times it is added to the value, so that rounding only
    loosens. EMPTY, no x at all, needs a ray whose cost outweighs its residual. With ``resume``, ``tableau``
    (m + 1, n + m + 1), ``basis`` (m,) and ``sign`` (m,) hold the optimum of another right-hand side.
    """
    if resume and solve_on(A.shape[1], rhs, sign, tableau, basis):
        total, worst = valued(A, cost, rhs, reach, y, tableau, basis)
        if worst <= _RESUMED:
            return BOUNDED, total
    status = solve_anew(A, cost, rhs, reach, sign, y, tableau, basis)
    if status != BOUNDED:
        return status, np.inf
    total, worst = valued(A, cost, rhs, reach, y, tableau, basis)
    if worst > _RESIDUAL:
        return UNCERTAIN, np.inf
    return BOUNDED, total


@kernel(allocates=True)
def step_support(template, offsets, basis_from, generators, inside, slack, directions, reach, values):
    """Support values of (S + cone(generators)) ∩ R in some directions; False when that set is empty.

    S = {basis_from σ: template σ <= offsets}, R = {x: inside x <= slack}. Rows of ``generators`` (k, r),
    ``inside`` (q, r) and ``directions`` (D, r); ``values`` (D,) receives infinity where nothing certain was
    found. Linear programming duality: the maximum of d·x is the least offsets·y + slack Σα over y, α >= 0 with
    templateᵀ y = basisᵀ (d - insideᵀ α) and generators (d - insideᵀ α) <= 0.
    """
    rows, free = template.shape
    k = generators.shape[0]
    q = inside.shape[0]
    r = directions.shape[1]
    m = free + k
    n = rows + q + k
    A = np.zeros((m, n))
    cost = np.zeros(n)
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
    for i in range(k):
        A[free + i, rows + q + i] = -1.0
    rhs = np.empty(m)
    sign = np.empty(m)
    y = np.empty(n)
    tableau = np.zeros((m + 1, n + m + 1))
    basis = np.empty(m, np.int64)
    status = UNCERTAIN
    for d in range(directions.shape[0]):
        for i in range(m):
            rhs[i] = 0.0
        for c in range(r):
            for i in range(free):
                rhs[i] += basis_from[c, i] * directions[d, c]
            for i in range(k):
                rhs[free + i] += generators[i, c] * directions[d, c]
        status, values[d] = least_cost(A, cost, rhs, reach, status == BOUNDED, sign, y, tableau, basis)
        if status == EMPTY:
            return False
    return True
