"""Sweeps over all touches of a step, on any number of threads with the same bits.

Spheres stand in the order of their cells, layer after layer along one axis, and layers are gathered into slabs of
at least the width of a cell. A touch belongs to a sphere of its own slab and reaches at most into the next slab. So
every other slab may be worked on at the same time, then the ones between: inside a slab the order is that of the
spheres, and what a sweep does depends on the slabs, never on who works on them. Two rounds a sweep; colours of
contacts would be ten, each of which reads all spheres again.
"""

import numba
import numpy as np

from ...compiled import kernel
from .touches_kernels import begin_row, part_row, relax_row

MOVES = 0.25
"""Of the tolerance: smaller changes of an impulse do not make the neighbours be looked at again."""


@kernel()
def relax_slab(first, last, backward, starts, others, touches, motions, rate, sweep, moved, least):
    """One sweep over spheres first..last - 1; largest squares of a change and of an impulse."""
    worst = largest = 0.0
    for step in range(last - first):
        row = last - 1 - step if backward else first + step
        far, size = relax_row(row, backward, starts, others, touches, motions, rate, sweep, moved, least)
        worst, largest = max(worst, far), max(largest, size)
    return worst, largest


@kernel()
def begin_slab(first, last, starts, others, touches, motions):
    """Give spheres first..last - 1 the impulses that their touches begin with."""
    for row in range(first, last):
        begin_row(row, starts, others, touches, motions)


@kernel()
def part_slab(first, last, backward, starts, others, touches, motions, moved, share):
    """Part spheres first..last - 1 from what they overlap."""
    for step in range(last - first):
        part_row(
            last - 1 - step if backward else first + step,
            backward,
            starts,
            others,
            touches,
            motions,
            moved,
            share,
        )


@kernel(allocates=True, parallel=True)
def relax(slabs, starts, others, touches, motions, rate, tolerance, most):
    """Sweep until the residual is within `tolerance`, or `most` times: (sweeps made, residual).

    slabs : (s + 1,) rows at which slabs begin, and the number of rows; of an even number where the axis is periodic
    rate : 1 over the step [1/s]
    residual : the largest distance of an impulse from its solution given all others, over the largest impulse

    A sweep comes by only where something has moved; when all is quiet, all is looked at, and swept again if need
    be.
    """
    count = slabs.size - 1
    worst, largest = np.zeros(count), np.zeros(count)
    moved = np.zeros(slabs[count], np.int32)
    made, looks = 0, False
    least = size = 0.0
    while True:
        sweep = 0 if looks else made + 1
        for half in range(2):
            for k in numba.prange((count - half + 1) // 2):
                s = 2 * k + half
                worst[s], largest[s] = relax_slab(
                    slabs[s],
                    slabs[s + 1],
                    made % 2 == 1,
                    starts,
                    others,
                    touches,
                    motions,
                    rate,
                    sweep,
                    moved,
                    least,
                )
        far = found = 0.0
        for s in range(count):
            far, found = max(far, worst[s]), max(found, largest[s])
        size = found if looks or made == 0 else max(size, found)
        least = (MOVES * tolerance) ** 2 * size
        change = np.sqrt(far / size) if size > 0.0 else 0.0
        if looks:
            if change <= tolerance or made >= most:
                return made, change
            looks = False
            moved[:] = made
        else:
            made += 1
            looks = change <= 0.5 * tolerance or made >= most


@kernel(allocates=True, parallel=True)
def begin(slabs, starts, others, touches, motions):
    """Give all spheres the impulses that their touches begin with."""
    count = slabs.size - 1
    for half in range(2):
        for k in numba.prange((count - half + 1) // 2):
            s = 2 * k + half
            begin_slab(slabs[s], slabs[s + 1], starts, others, touches, motions)


@kernel(allocates=True, parallel=True)
def part(slabs, starts, others, touches, motions, places, share):
    """Move overlapping spheres (n, 4) apart by about a `share` of what they overlap, forwards, then backwards."""
    count = slabs.size - 1
    rows = slabs[count]
    moved = np.zeros((rows, 3))
    for turn in range(2):
        for half in range(2):
            for k in numba.prange((count - half + 1) // 2):
                s = 2 * k + half
                part_slab(slabs[s], slabs[s + 1], turn == 1, starts, others, touches, motions, moved, share)
    for k in numba.prange(count):
        for row in range(slabs[k], slabs[k + 1]):
            for i in range(3):
                places[row, i] += moved[row, i]
