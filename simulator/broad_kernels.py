"""Compiled broad phase: when the bounding spheres of pairs can meet at the earliest.

Bounding spheres are about the centres of mass, so no turning matters; of a half-space its plane does.
"""

import numpy as np

from ..compiled import kernel
from .kernels import first_root

EARLY = 1e-12  # share of a span by which a meeting is put earlier, for rounding


@kernel()
def earliest_meetings(which, pairs, states, end, bounds, size, is_plane, normal, offset, now, times):
    """Fill times, of the pairs numbered in `which`, with a lower bound of when they touch; infinite if they do not
    within their current pieces.

    `states` (n, 13) are those of now, `bounds` (n, 5) those of `motion_bounds`. Exact for spheres in free flight
    under the same gravity.
    """
    for index in range(which.size):
        a, b = pairs[which[index], 0], pairs[which[index], 1]
        times[index] = np.inf
        span = min(end[a], end[b]) - now
        if span == np.inf:
            continue  # two bodies at rest
        if is_plane[b]:
            gap = -offset[b] - size[a]
            rate = 0.0
            pull = -bounds[a, 3]
            for i in range(3):
                gap += normal[b, i] * states[a, i]
                rate += normal[b, i] * states[a, 7 + i]
                pull += normal[b, i] * bounds[a, i]
            under = rate * rate - 2.0 * pull * gap
            if gap <= 0.0:
                tau = 0.0
            elif pull <= 0.0:
                tau = first_root(gap, rate, 0.5 * pull)
            elif rate < 0.0 and under >= 0.0:
                tau = 2.0 * gap / (np.sqrt(under) - rate)
            else:
                tau = np.inf
        else:
            square = closing = speed = pull = 0.0
            for i in range(3):
                r = states[a, i] - states[b, i]
                w = states[a, 7 + i] - states[b, 7 + i]
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
                tau = first_root(gap, -np.sqrt(speed), -0.5 * pull)
            else:
                under = closing * closing - speed * gap * (apart + reach)
                tau = np.inf
                if closing < 0.0 and under >= 0.0:
                    tau = gap * (apart + reach) / (np.sqrt(under) - closing)
        if tau <= span:
            times[index] = now + max(tau - EARLY * span, 0.0)
