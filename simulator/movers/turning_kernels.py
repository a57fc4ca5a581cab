"""Steps while slip turns fast: collocation of the motion and of the directions of friction together.

Slip of speed s turns under friction at a rate of μ n/(m s): after it starts, and where it nearly stops, explicit
steps are limited by that and not by the motion, to a few percent of the time since. The directions at all points of
a step are unknowns of their own here, beside the motion: where slip must point along them is solved by Newton's
method, the rest by Picard iteration, which converges since nothing else is fast.
"""

import numpy as np

from ...compiled import kernel
from ...impact_laws.newton_kernels import eliminate
from ..engine.tables_kernels import (
    CHANNELS,
    SLIDING,
    bodies,
    header,
    local_acceleration,
    local_bodies,
    local_direction,
    local_force,
    local_friction,
    local_mode,
    local_placed,
    local_slow,
)
from ..kernels import matrix, vector, wholes
from ..tolerances import LEAST_STEP, ROUNDED_STEP
from .derive_kernels import GROWTH, STRAIGHT, derive, resized, scale_of
from .force_kernels import contact_rates
from .radau_kernels import HIGHEST, NODES, POINTS, POWERS, WEIGHTS
from .system_kernels import problem

MOST_TURNING = 12
"""Contacts that turn together at most: 84 unknown directions."""

_ITERATIONS, _TRIES, _LONGEST_TURN, _NUDGE = 16, 8, 0.5, 1e-4


@kernel()
def turning_contacts(world, rows):
    """Fill rows with the contacts whose slip has a direction that may turn; how many, 0 where they are too many."""
    w, count = header(world), 0
    for c in range(w.nr):
        if (
            local_mode(world)[c] == SLIDING
            and local_friction(world)[c] > 0.0
            and local_slow(world)[c] != STRAIGHT
        ):
            if count == MOST_TURNING:
                return 0
            rows[count] = c
            count += 1
    return count


@kernel(allocates=True)
def friction_responses(world, y, rows, count, D, power, before, moved, slips):
    """Fill moved (count, 2, m, 6) and slips (count, 2, count, 2) with the accelerations of bodies, as states have
    them, and of the slip of contacts, that friction of one newton at each contact adds, along its own direction and
    across it; D (m, 13), power and before (nc, 3), rates of contacts, with what there is without. Whether all could
    be found."""
    w, s = header(world), problem(world)
    direction, friction, force = local_direction(world), local_friction(world), local_force(world)
    a, u = local_acceleration(world), matrix(w.nr, 3)
    other, work = matrix(w.m, 13), vector(CHANNELS)
    if not derive(world, y, w.time, D, power, True):
        return False
    contact_rates(s, a[: w.m], before)
    for r in range(count):
        c = rows[r]
        x, z, mu = direction[c, 0], direction[c, 1], friction[c]
        if not force[c, 0] > 0.0:
            return False
        for way in range(2):
            if way == 0:
                friction[c] = mu * (1.0 + _NUDGE)
            else:
                direction[c, 0], direction[c, 1] = x - _NUDGE * z, z + _NUDGE * x
            fine = derive(world, y, w.time, other, work, True)
            push = -mu * force[c, 0] * _NUDGE
            friction[c], direction[c, 0], direction[c, 1] = mu, x, z
            if not fine or push == 0.0:
                return False
            contact_rates(s, a[: w.m], u)
            for k in range(w.m):
                for i in range(6):
                    moved[r, way, k, i] = (other[k, 7 + i] - D[k, 7 + i]) / push
            for o in range(count):
                for e in range(2):
                    slips[r, way, o, e] = (u[rows[o], 1 + e] - before[rows[o], 1 + e]) / push
    return True


@kernel(allocates=True)
def make_turning_step(world, y, longest, C, work):
    """A step of at most `longest` [s] from states y (m, 13) in the modes shown. Fills C and work as `make_step`
    does. Returns (its length, 0 where none could be made, the length to try next)."""
    w = header(world)
    rows, slow, direction = wholes(MOST_TURNING), local_slow(world), local_direction(world)
    count = turning_contacts(world, rows)
    if count == 0 or longest < LEAST_STEP * w.duration:
        return 0.0, longest
    kept = wholes(count)
    for r in range(count):
        c = rows[r]
        kept[r] = slow[c]
        x, z = local_placed(world)[c, 16], local_placed(world)[c, 17]
        speed = np.sqrt(x * x + z * z)
        if slow[c] == 0 and speed > 0.0:
            direction[c, 0], direction[c, 1] = x / speed, z / speed
        slow[c] = 1  # directions are given to `derive`
    D, power, rates = matrix(w.m, 13), vector(CHANNELS), matrix(w.nr, 3)
    moved, slips = np.empty((count, 2, w.m, 6)), np.empty((count, 2, count, 2))
    begin, h, done = matrix(count, 2), longest, 0.0
    for r in range(count):
        begin[r, 0], begin[r, 1] = direction[rows[r], 0], direction[rows[r], 1]
    following = longest
    if friction_responses(world, y, rows, count, D, power, rates, moved, slips):
        K, P = np.empty((POINTS, w.m, 13)), matrix(POINTS, CHANNELS)
        tried, before = np.inf, np.inf
        for _ in range(_TRIES):
            error = np.inf
            if collocate(world, y, h, D, rates, begin, rows, count, moved, slips, K, P):
                error = error_of_collocation(world, K, h)
            # slip that begins is rounding, and turns at once to where friction lets it: no step resolves that
            rounded = before < np.inf and error <= ROUNDED_STEP and error > before * (h / tried) ** 2
            if error <= w.accuracy or rounded:
                done, following = h, GROWTH * h if rounded else resized(h, error, w.accuracy)
                break
            tried, before = h, error
            h = resized(h, error, w.accuracy)
            if h < LEAST_STEP * w.duration:
                break
        if done > 0.0:
            for k in range(w.m):
                for i in range(13):
                    C[k, i, 0] = y[k, i]
                    for n in range(POINTS):
                        total = 0.0
                        for j in range(POINTS):
                            total += POWERS[n, j] * K[j, k, i]
                        C[k, i, n + 1] = h * total
            for channel in range(CHANNELS):
                work[channel, 0] = 0.0
                for n in range(POINTS):
                    total = 0.0
                    for j in range(POINTS):
                        total += POWERS[n, j] * P[j, channel]
                    work[channel, n + 1] = h * total
    for r in range(count):
        slow[rows[r]] = 0 if done > 0.0 else kept[r]
        direction[rows[r], 0], direction[rows[r], 1] = begin[r, 0], begin[r, 1]
    return done, following


@kernel(allocates=True)
def collocate(world, y, h, D, rates, begin, rows, count, moved, slips, K, P):
    """Fill K (POINTS, m, 13) and P (POINTS, CHANNELS) with derivatives and powers at the points of a step of h [s]
    from states y, at which friction opposes slip; whether the iteration converged. D and `rates` (nc, 3) are those
    at its begin, where friction opposes `begin` (count, 2)."""
    w, n = header(world), POINTS * count
    mode_direction, force, placed = local_direction(world), local_force(world), local_placed(world)
    Y, following = np.empty((POINTS, w.m, 13)), np.empty((POINTS, w.m, 13))
    turns, slip = np.empty((POINTS, count, 2)), np.empty((POINTS, count, 2))
    found, used = np.empty((POINTS, count, 2)), np.empty((POINTS, count, 2))
    push, own = np.empty((POINTS, count, 2)), matrix(POINTS, count)
    u, A, b = matrix(w.nr, 3), matrix(n, n), vector(n)
    for i in range(POINTS):
        for k in range(w.m):
            for e in range(13):
                Y[i, k, e] = y[k, e] + NODES[i] * h * D[k, e]
        for r in range(count):
            for e in range(2):
                turns[i, r, e], used[i, r, e] = begin[r, e], rates[rows[r], 1 + e]
    before = np.inf
    for _ in range(_ITERATIONS):
        for i in range(POINTS):
            for r in range(count):
                mode_direction[rows[r], 0], mode_direction[rows[r], 1] = turns[i, r, 0], turns[i, r, 1]
            if not derive(world, Y[i], w.time + h * NODES[i], K[i], P[i], False):
                return False
            contact_rates(problem(world), local_acceleration(world)[: w.m], u)
            for r in range(count):
                own[i, r] = local_friction(world)[rows[r]] * force[rows[r], 0]
                for e in range(2):
                    slip[i, r, e], found[i, r, e] = placed[rows[r], 16 + e], u[rows[r], 1 + e]
        for i in range(POINTS):  # the slip that these derivatives lead to
            for r in range(count):
                for e in range(2):
                    for j in range(POINTS):
                        slip[i, r, e] += h * WEIGHTS[i, j] * (found[j, r, e] - used[j, r, e])
        for i in range(POINTS):
            for r in range(count):
                dx, dz = turns[i, r, 0], turns[i, r, 1]
                row = i * count + r
                b[row] = dx * slip[i, r, 1] - dz * slip[i, r, 0]
                for j in range(POINTS):
                    for o in range(count):
                        # friction at o turns by -own (-dz, dx), which has these parts along and across `begin`
                        ox, oz = own[j, o] * turns[j, o, 1], -own[j, o] * turns[j, o, 0]
                        along = ox * begin[o, 0] + oz * begin[o, 1]
                        across = oz * begin[o, 0] - ox * begin[o, 1]
                        x = slips[o, 0, r, 0] * along + slips[o, 1, r, 0] * across
                        z = slips[o, 0, r, 1] * along + slips[o, 1, r, 1] * across
                        A[row, j * count + o] = h * WEIGHTS[i, j] * (x * dz - z * dx)
                A[row, row] += slip[i, r, 0] * dx + slip[i, r, 1] * dz
        if not eliminate(A, b, n):
            return False
        turned = 0.0
        for j in range(POINTS):
            for r in range(count):
                angle = min(max(b[j * count + r], -_LONGEST_TURN), _LONGEST_TURN)
                turned = max(turned, abs(angle))
                dx, dz = turns[j, r, 0], turns[j, r, 1]
                ox, oz = own[j, r] * dz * angle, -own[j, r] * dx * angle
                push[j, r, 0] = ox * begin[r, 0] + oz * begin[r, 1]
                push[j, r, 1] = oz * begin[r, 0] - ox * begin[r, 1]
                x, z = dx - angle * dz, dz + angle * dx
                length = np.sqrt(x * x + z * z)
                turns[j, r, 0], turns[j, r, 1] = x / length, z / length
        for j in range(POINTS):
            for o in range(count):
                for e in range(2):
                    used[j, o, e] = found[j, o, e]
            for r in range(count):
                for way in range(2):
                    f = push[j, r, way]
                    for k in range(w.m):
                        for e in range(6):
                            K[j, k, 7 + e] += moved[r, way, k, e] * f
                    for o in range(count):
                        for e in range(2):
                            used[j, o, e] += slips[r, way, o, e] * f
        change = 0.0
        for k in range(w.m):
            size = bodies(world)[local_bodies(world)[k]].size
            for e in range(13):
                scale = scale_of(e, size, w.pace)
                for i in range(POINTS):
                    total = 0.0
                    for j in range(POINTS):
                        total += WEIGHTS[i, j] * K[j, k, e]
                    following[i, k, e] = y[k, e] + h * total
                    if not abs(following[i, k, e]) < np.inf:
                        return False
                    change = max(change, abs(following[i, k, e] - Y[i, k, e]) / scale)
        for i in range(POINTS):
            for k in range(w.m):
                for e in range(13):
                    Y[i, k, e] = following[i, k, e]
        if turned < 0.1 and (
            change <= 0.1 * w.accuracy or (change <= 10.0 * w.accuracy and change > 0.5 * before)
        ):
            for i in range(POINTS):
                for r in range(count):
                    if slip[i, r, 0] * turns[i, r, 0] + slip[i, r, 1] * turns[i, r, 1] <= 0.0:
                        return False  # friction along slip
            return True
        before = change
    return False


@kernel()
def error_of_collocation(world, K, h):
    """Error of the polynomials of a step, relative to sizes and the speed of the island: their parts of highest
    degree shrink by about one ratio, and the next is missing."""
    w, last, before = header(world), 0.0, 0.0
    for k in range(w.m):
        size = bodies(world)[local_bodies(world)[k]].size
        for e in range(13):
            first = second = 0.0
            for j in range(POINTS):
                first += HIGHEST[0, j] * K[j, k, e]
                second += HIGHEST[1, j] * K[j, k, e]
            scale = scale_of(e, size, w.pace)
            if not abs(first) + abs(second) < np.inf:  # the largest of numbers and none would be a number
                return np.inf
            last, before = max(last, h * abs(first) / scale), max(before, h * abs(second) / scale)
    if last == 0.0:
        return 0.0
    return last * min(1.0, last / before if before > 0.0 else 1.0) / POINTS
