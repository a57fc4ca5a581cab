"""Compiled broad phase: when the bounding spheres of pairs can meet at the earliest, and which are near now.

Bounding spheres are about the centres of mass, so no turning matters; of a half-space its plane does.
"""

import numpy as np

from ..compiled import kernel

EARLY = 1e-12  # share of a span by which a meeting is put earlier, for rounding


@kernel()
def centre(C, tau, state):
    """Fill position and velocity (6,) of a piece `tau` seconds after its start."""
    last = C.shape[1] - 1
    for i in range(3):
        x = C[i, last]
        v = C[7 + i, last]
        for k in range(last - 1, -1, -1):
            x = x * tau + C[i, k]
            v = v * tau + C[7 + i, k]
        state[i] = x
        state[3 + i] = v


@kernel()
def earliest_meetings(which, pairs, C, start, end, bounds, size, is_plane, normal, offset, now, times):
    """Fill times, of the pairs numbered in `which`, with a lower bound of when they touch; infinite if they do not
    within their current pieces.

    `bounds` (n, 5) are those of `motion_bounds`. Exact for spheres in free flight under the same gravity.
    """
    first = np.empty(6)
    second = np.empty(6)
    for index in range(which.size):
        a, b = pairs[which[index], 0], pairs[which[index], 1]
        times[index] = np.inf
        span = min(end[a], end[b]) - now
        if span == np.inf:
            continue  # two bodies at rest
        centre(C[a], now - start[a], first)
        if is_plane[b]:
            gap = -offset[b] - size[a]
            rate = 0.0
            pull = -bounds[a, 3]
            for i in range(3):
                gap += normal[b, i] * first[i]
                rate += normal[b, i] * first[3 + i]
                pull += normal[b, i] * bounds[a, i]
            tau = 0.0
            if gap > 0.0:  # gap + rate t + pull t²/2 = 0
                under = rate * rate - 2.0 * pull * gap
                tau = np.inf
                if rate < 0.0 and under >= 0.0:
                    tau = 2.0 * gap / (np.sqrt(under) - rate)
                elif rate >= 0.0 and pull < 0.0:
                    tau = (rate + np.sqrt(under)) / -pull
        else:
            centre(C[b], now - start[b], second)
            square = closing = speed = pull = 0.0
            for i in range(3):
                r = first[i] - second[i]
                w = first[3 + i] - second[3 + i]
                square += r * r
                closing += r * w
                speed += w * w
                pull += (bounds[a, i] - bounds[b, i]) ** 2
            pull = np.sqrt(pull) + bounds[a, 3] + bounds[b, 3]
            reach = size[a] + size[b]
            apart = np.sqrt(square)
            gap = apart - reach
            if gap <= 0.0:
                tau = 0.0
            elif pull > 0.0:
                speed = np.sqrt(speed)
                tau = 2.0 * gap / (speed + np.sqrt(speed * speed + 2.0 * pull * gap))
            else:
                under = closing * closing - speed * gap * (apart + reach)
                tau = np.inf
                if closing < 0.0 and under >= 0.0:
                    tau = gap * (apart + reach) / (np.sqrt(under) - closing)
        if tau <= span:
            times[index] = now + max(tau - EARLY * span, 0.0)


@kernel()
def near_pairs(which, pairs, states, size, is_plane, normal, offset, tolerance, near):
    """Fill near with whether the bounding spheres of pairs come within `tolerance` times their size."""
    for index in range(which.size):
        a, b = pairs[which[index], 0], pairs[which[index], 1]
        if is_plane[b]:
            gap = -offset[b] - size[a]
            for i in range(3):
                gap += normal[b, i] * states[a, i]
            near[index] = gap <= tolerance * size[a]
        else:
            square = 0.0
            for i in range(3):
                square += (states[a, i] - states[b, i]) ** 2
            near[index] = np.sqrt(square) <= size[a] + size[b] + tolerance * max(size[a], size[b])
