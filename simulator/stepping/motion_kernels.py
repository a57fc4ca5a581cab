"""What a step does to spheres besides their touches, and what it measures of them, compiled."""

import numba
import numpy as np

from ...compiled import kernel
from .search_kernels import PIECES

SLIDES = 1.0 - 1e-9
"""Of the cone: with as much friction a touch slides, with less it sticks."""


@kernel(allocates=True, parallel=True)
def pull(motions, dx, dy, dz):
    """Add (dx, dy, dz) [m/s] to all velocities."""
    count = motions.shape[0]
    for piece in numba.prange(PIECES):
        for row in range(count * piece // PIECES, count * (piece + 1) // PIECES):
            own = motions[row]
            own.vx += dx
            own.vy += dy
            own.vz += dz


@kernel(allocates=True, parallel=True)
def move(places, motions, step, low, lengths):
    """Move all spheres on by a step [s]; along axes that repeat they come back to within low..low + length."""
    count = places.shape[0]
    for piece in numba.prange(PIECES):
        for row in range(count * piece // PIECES, count * (piece + 1) // PIECES):
            own = motions[row]
            places[row, 0] += step * own.vx
            places[row, 1] += step * own.vy
            places[row, 2] += step * own.vz
            for i in range(3):
                if lengths[i] > 0.0:
                    turns = np.floor((places[row, i] - low[i]) / lengths[i])
                    places[row, i] -= turns * lengths[i]


@kernel(allocates=True, parallel=True)
def kinetic_energy(motions):
    """Kinetic energy [J] of all spheres, summed in the same order on any number of threads."""
    count = motions.shape[0]
    parts = np.zeros(PIECES)
    for piece in numba.prange(PIECES):
        total = 0.0
        for row in range(count * piece // PIECES, count * (piece + 1) // PIECES):
            m = motions[row]
            moving = m.vx * m.vx + m.vy * m.vy + m.vz * m.vz
            turning = m.wx * m.wx + m.wy * m.wy + m.wz * m.wz
            total += 0.5 * (moving / m.inverse_mass + turning / m.inverse_inertia)
        parts[piece] = total
    total = 0.0
    for piece in range(PIECES):  # parts.sum() would be shared among threads
        total += parts[piece]
    return total


@kernel(allocates=True, parallel=True)
def judge(starts, others, touches, places, closed, walls, counts, impulses):
    """Fill the numbers of sticking, sliding and separating touches (3,), and the impulses on walls (w, 3) [N s].

    Separating ones are those without an impulse whose gap was at most `closed` radii.
    """
    count = starts.size - 1
    found = np.zeros((PIECES, 3), np.int64)
    pushed = np.zeros((PIECES, walls, 3))
    for piece in numba.prange(PIECES):
        for row in range(count * piece // PIECES, count * (piece + 1) // PIECES):
            for k in range(starts[row], starts[row + 1]):
                touch = touches[k]
                normal = touch.px * touch.nx + touch.py * touch.ny + touch.pz * touch.nz
                if not normal > 0.0:
                    if touch.gap <= closed * places[row, 3]:
                        found[piece, 2] += 1
                    continue
                square = touch.px**2 + touch.py**2 + touch.pz**2 - normal * normal
                bound = SLIDES * touch.friction * normal
                found[piece, 1 if square >= bound * bound else 0] += 1
                if others[k] < 0:
                    wall = -1 - others[k]
                    pushed[piece, wall, 0] -= touch.px
                    pushed[piece, wall, 1] -= touch.py
                    pushed[piece, wall, 2] -= touch.pz
    for i in range(3):
        counts[i] = 0
        for piece in range(PIECES):
            counts[i] += found[piece, i]
    for wall in range(walls):
        for i in range(3):
            impulses[wall, i] = 0.0
            for piece in range(PIECES):
                impulses[wall, i] += pushed[piece, wall, i]


@kernel()
def keep_pressing(starts, others, touches, kept_starts, kept):
    """Copy the touches that press, row by row, into kept (m,), which has room; how many."""
    at = 0
    for row in range(starts.size - 1):
        kept_starts[row] = at
        for k in range(starts[row], starts[row + 1]):
            touch = touches[k]
            if touch.px != 0.0 or touch.py != 0.0 or touch.pz != 0.0:
                kept[at].px, kept[at].py, kept[at].pz = touch.px, touch.py, touch.pz
                kept[at].other = others[k]
                at += 1
    kept_starts[starts.size - 1] = at
    return at


@kernel()
def count_pressing(starts, touches):
    """How many touches press."""
    count = 0
    for k in range(starts[starts.size - 1]):
        touch = touches[k]
        if touch.px != 0.0 or touch.py != 0.0 or touch.pz != 0.0:
            count += 1
    return count
