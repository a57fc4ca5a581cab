"""Linear systems over bodies: a matrix of 6 x 6 blocks, one for each two bodies that touch or are joined.

However many contacts two bodies have, they add into the same blocks, so redundant contacts cost nothing and make
nothing singular. Factors are block LU in an order of minimum degree, without exchanges of blocks: the diagonal ones
are inertias plus what contacts stiffen, and dominate where there is a solution to be found.
"""

import numpy as np

from ...compiled import kernel
from ..kernels import matrix6x6, vector6, wholes, wholes6


@kernel(allocates=True)
def elimination(count, links, more, order, degree, later, place):
    """Order in which bodies are eliminated, with the blocks that this fills: the number of blocks off the diagonal.

    links (k, 2), more (j, 2): bodies that are coupled, -1 for none. Fills order (count,), degree (count,) and later
    (count, count): of the body eliminated s-th, how many and which bodies come later and are coupled to it then;
    place (count, count): the number of the block of two bodies, -1 where there is none.
    """
    for i in range(count):
        degree[i] = 0
        for j in range(count):
            place[i, j] = -1
    for k in range(links.shape[0] + more.shape[0]):
        if k < links.shape[0]:
            i, j = links[k, 0], links[k, 1]
        else:
            i, j = more[k - links.shape[0], 0], more[k - links.shape[0], 1]
        if i >= 0 and j >= 0 and i != j and place[i, j] < 0:
            place[i, j] = place[j, i] = 0
            degree[i] += 1
            degree[j] += 1
    done = wholes(count)
    for i in range(count):
        done[i] = 0
    blocks = 0
    counts = wholes(count)
    for step in range(count):
        chosen = -1
        for i in range(count):
            if done[i] == 0 and (chosen < 0 or degree[i] < degree[chosen]):
                chosen = i
        order[step], done[chosen] = chosen, 1
        found = 0
        for j in range(count):
            if done[j] == 0 and place[chosen, j] >= 0:
                later[step, found] = j
                found += 1
        counts[step] = found
        for p in range(found):
            i = later[step, p]
            degree[i] -= 1
            for q in range(p + 1, found):
                j = later[step, q]
                if place[i, j] < 0:
                    place[i, j] = place[j, i] = 0
                    degree[i] += 1
                    degree[j] += 1
    for step in range(count):
        i = order[step]
        degree[step] = counts[step]
        for p in range(counts[step]):
            j = later[step, p]
            place[i, j], place[j, i] = blocks, blocks + 1
            blocks += 2
    return blocks


@kernel()
def invert(A):
    """Turn A (6, 6) into its inverse in place, by elimination with exchanges of rows.

    Rows are compared in shares of the roots of their diagonals, or the unit of length would choose among them.
    """
    size, row = vector6(), wholes6()
    for i in range(6):
        size[i] = np.sqrt(abs(A[i, i])) if A[i, i] != 0.0 else 1.0
        row[i] = i
    for k in range(6):
        p = k
        for i in range(k + 1, 6):
            if abs(A[i, k]) * size[p] > abs(A[p, k]) * size[i]:
                p = i
        if p != k:
            size[k], size[p] = size[p], size[k]
            row[k], row[p] = row[p], row[k]
            for j in range(6):
                A[k, j], A[p, j] = A[p, j], A[k, j]
        inverse = 1.0 / A[k, k]
        A[k, k] = 1.0
        for j in range(6):
            A[k, j] *= inverse
        for i in range(6):
            if i != k:
                factor = A[i, k]
                if factor != 0.0:
                    A[i, k] = 0.0
                    for j in range(6):
                        A[i, j] -= factor * A[k, j]
    for k in range(5, -1, -1):  # the inverse of the matrix with its rows exchanged has its columns exchanged
        while row[k] != k:
            p = row[k]
            for i in range(6):
                A[i, k], A[i, p] = A[i, p], A[i, k]
            row[k], row[p] = row[p], row[k]


@kernel()
def factorise(count, order, degree, later, place, diagonal, off):
    """Factors in place: diagonal (count, 6, 6) becomes the inverses of the pivots, off (blocks, 6, 6) L and U."""
    product = matrix6x6()
    for step in range(count):
        k = order[step]
        pivot = diagonal[k]
        invert(pivot)
        for p in range(degree[step]):
            i = later[step, p]
            L = off[place[i, k]]
            for r in range(6):
                for c in range(6):
                    total = 0.0
                    for q in range(6):
                        total += L[r, q] * pivot[q, c]
                    product[r, c] = total
            for r in range(6):
                for c in range(6):
                    L[r, c] = product[r, c]
            for q in range(degree[step]):
                j = later[step, q]
                U = off[place[k, j]]
                X = diagonal[i] if i == j else off[place[i, j]]
                for r in range(6):
                    for s in range(6):
                        factor = product[r, s]
                        if factor != 0.0:
                            for c in range(6):
                                X[r, c] -= factor * U[s, c]


@kernel()
def take_product(A, x, y):
    """Take A x from y (6,)."""
    for r in range(6):
        total = 0.0
        for q in range(6):
            total += A[r, q] * x[q]
        y[r] -= total


@kernel()
def solve_factors(count, order, degree, later, place, diagonal, off, x):
    """Solve in place for x (count, 6)."""
    t0 = t1 = t2 = t3 = t4 = t5 = 0.0
    for step in range(count):
        k = order[step]
        for p in range(degree[step]):
            i = later[step, p]
            take_product(off[place[i, k]], x[k], x[i])
    for step in range(count - 1, -1, -1):
        k = order[step]
        for p in range(degree[step]):
            j = later[step, p]
            take_product(off[place[k, j]], x[j], x[k])
        t0, t1, t2, t3, t4, t5 = x[k, 0], x[k, 1], x[k, 2], x[k, 3], x[k, 4], x[k, 5]
        D = diagonal[k]
        for r in range(6):
            x[k, r] = D[r, 0] * t0 + D[r, 1] * t1 + D[r, 2] * t2 + D[r, 3] * t3 + D[r, 4] * t4 + D[r, 5] * t5
