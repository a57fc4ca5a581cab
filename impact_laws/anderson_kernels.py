"""Sweeps of relaxation over a dense W, mixed by Anderson's method."""

import numpy as np

from ..compiled import kernel
from .relaxation_kernels import relax_dense, within_cones

MIXED = 8  # sweeps
ASTRAY = 10.0  # times the least change of a sweep so far, above which mixing has led away and begins anew
SAME_CHANGE = 1e-12  # of the largest: what a change differs by from those mixed already is rounding


@kernel(allocates=True)
def relax_accelerated(W, q, friction, frames, rule, dim, sweeps, tolerance, x):
    """Sweeps from x (n,), in place, as long as one changes it by more than the tolerance: each begins where the
    last few combine so that their changes cancel best. How many were made."""
    n = q.size
    points, changes = np.empty((2, MIXED, n))
    swept, u = np.empty((2, n))
    kept, least = 0, np.inf
    for sweep in range(sweeps):
        swept[:] = x
        relax_dense(W, q, friction, frames, rule, dim, 1.0, 1, 0.0, swept, u)
        kept, least, stays = go_on(points, changes, kept, least, tolerance, swept, x)
        if stays:
            return sweep + 1
        within_cones(x, friction, dim)
    return sweeps


@kernel(allocates=True)
def go_on(points, changes, kept, least, tolerance, swept, x):
    """Let x (n,), which a sweep has changed to `swept` (n,), be where the next begins. Returns how many points and
    changes (MIXED, n) are kept then, the least change so far, and whether this one is within the tolerance: then x
    is what was swept."""
    n, size, largest = x.size, 0.0, 0.0
    if kept == MIXED:
        for k in range(1, MIXED):
            points[k - 1], changes[k - 1] = points[k], changes[k]
        kept -= 1
    for i in range(n):
        changes[kept, i] = swept[i] - x[i]
        size, largest = max(size, abs(changes[kept, i])), max(largest, abs(swept[i]))
        points[kept, i] = x[i] = swept[i]
    if size <= tolerance * largest:
        return kept, least, True
    if size > ASTRAY * least:
        points[0], changes[0] = points[kept], changes[kept]
        kept = 0
    mix(points, changes, kept + 1, x)
    return kept + 1, min(least, size), False


@kernel(allocates=True)
def mix(points, changes, kept, x):
    """Take from x (n,), the last of the points (kept, n), the combination of the steps between them that leaves
    least of the last of the changes (kept, n). By Gram and Schmidt, later steps first: what these span already
    counts no more. Where numbers end, x stays."""
    n, columns, longest = x.size, 0, 0.0
    basis, upper = np.empty((kept, n)), np.zeros((kept, kept))
    which, share = np.empty(kept, np.int64), np.empty(kept)
    for k in range(kept - 2, -1, -1):
        column = basis[columns]
        for i in range(n):
            column[i] = changes[k + 1, i] - changes[k, i]
        longest = max(longest, norm(column))
        for j in range(columns):
            upper[j, columns] = 0.0
        for _ in range(2):  # the second takes what rounding of the first has left
            for j in range(columns):
                part = along(basis[j], column)
                upper[j, columns] += part
                for i in range(n):
                    column[i] -= part * basis[j, i]
        length = norm(column)
        if not length > SAME_CHANGE * longest:
            continue
        for i in range(n):
            column[i] /= length
        upper[columns, columns], which[columns] = length, k
        columns += 1
    for j in range(columns - 1, -1, -1):
        share[j] = along(basis[j], changes[kept - 1])
        for m in range(j + 1, columns):
            share[j] -= upper[j, m] * share[m]
        share[j] /= upper[j, j]
        if not abs(share[j]) < np.inf:
            return
    for j in range(columns):
        k = which[j]
        for i in range(n):
            x[i] -= share[j] * (points[k + 1, i] - points[k, i])
    for i in range(n):
        if not abs(x[i]) < np.inf:
            x[:] = points[kept - 1]
            return


@kernel()
def along(a, b):
    """The product of two rows."""
    total = 0.0
    for i in range(a.size):
        total += a[i] * b[i]
    return total


@kernel()
def norm(a):
    """The length of a row."""
    return np.sqrt(along(a, a))
