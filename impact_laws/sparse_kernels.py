"""Compiled sweeps over contacts whose W has few blocks: as of `relaxation_kernels`, at the cost of those there are.

W is kept as blocks (nb, dim, dim) row by row: those of contact c are starts[c] to starts[c + 1], each with the
contact that columns names.
"""

import numpy as np

from ..compiled import kernel
from .relaxation_kernels import least_scale, relax_one


@kernel()
def velocity_of_blocks(blocks, columns, starts, dim, q, x, u):
    """Fill u = q + W x."""
    for c in range(starts.size - 1):
        for r in range(dim):
            u[dim * c + r] = q[dim * c + r]
        for k in range(starts[c], starts[c + 1]):
            first = dim * columns[k]
            for r in range(dim):
                for s in range(dim):
                    u[dim * c + r] += blocks[k, r, s] * x[first + s]


@kernel(allocates=True)
def relax_blocks(
    blocks, columns, starts, local, q, friction, frames, rule, dim, omega, sweeps, tolerance, x, u
):  # fmt: skip
    """Sweeps as of `relax_dense`, without the sum of geometric series: (sweeps made, last relative change)."""
    b = np.empty(dim)
    old = np.empty(dim)
    new = np.empty(dim)
    change = np.inf
    least = least_scale(local, q, dim)
    for sweep in range(sweeps):
        if sweep % 50 == 0:
            velocity_of_blocks(blocks, columns, starts, dim, q, x, u)
        moved = 0.0
        largest = least
        for c in range(friction.size):
            way, length = relax_one(local, u, friction, frames, rule, dim, omega, c, x, b, old, new)
            moved, largest = max(moved, way), max(largest, length)
            for r in range(dim):
                old[r] = new[r] - old[r]  # from here on the change
            for k in range(starts[c], starts[c + 1]):
                first = dim * columns[k]
                for r in range(dim):
                    for s in range(dim):
                        u[first + s] += old[r] * blocks[k, r, s]
        if largest == 0.0:
            return sweep + 1, 0.0
        change = np.sqrt(moved / largest)
        if change <= tolerance:
            return sweep + 1, change
    return sweeps, change
