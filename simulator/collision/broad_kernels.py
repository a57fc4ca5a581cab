"""Compiled broad phase: how far apart the bounding spheres of bodies are, and when they can meet at the earliest.

Bounding spheres are about the centres of mass, so no turning matters; of a half-space its plane does.
"""

import numpy as np

from ...compiled import kernel
from ..kernels import first_root

EARLY = 1e-9  # share of a span by which a meeting is put earlier, for rounding


@kernel()
def place(coefficients, terms, body, tau, out):
    """Fill out (6,) with position and velocity of a body `tau` seconds after the start of its piece."""
    for i in range(3):
        position = velocity = 0.0
        for k in range(terms[body] - 1, -1, -1):
            position = position * tau + coefficients[body, i, k]
            velocity = velocity * tau + coefficients[body, 7 + i, k]
        out[i] = position
        out[3 + i] = velocity


@kernel()
def earliest_meetings(
    body, others, coefficients, terms, start, end, bounds, size, is_plane, normal, offset, since, gaps, times
):
    """Fill gaps with the distances [m] of a body's bounding sphere from those of others, or from their planes,
    negative where they overlap; and times with lower bounds of when they touch, infinite if not within their
    current pieces.

    Both are seen from `since` [s], but not from before the start of the later piece of the two. `bounds` (n, 5)
    are those of `motion_bounds`. Exact for spheres in free flight under the same gravity.
    """
    here, there = np.empty(6), np.empty(6)
    for index in range(others.size):
        b = others[index]
        times[index] = np.inf
        begin = max(since, max(start[body], start[b]))
        place(coefficients, terms, body, begin - start[body], here)
        tau = np.inf
        if is_plane[b]:
            gap = -offset[b] - size[body]
            rate = 0.0
            pull = -bounds[body, 3]
            for i in range(3):
                gap += normal[b, i] * here[i]
                rate += normal[b, i] * here[3 + i]
                pull += normal[b, i] * bounds[body, i]
            under = rate * rate - 2.0 * pull * gap
            if gap <= 0.0:
                tau = 0.0
            elif pull <= 0.0:
                tau = first_root(gap, rate, 0.5 * pull)
            elif rate < 0.0 and under >= 0.0:
                tau = 2.0 * gap / (np.sqrt(under) - rate)
        else:
            place(coefficients, terms, b, begin - start[b], there)
            square = closing = speed = pull = 0.0
            for i in range(3):
                r = here[i] - there[i]
                w = here[3 + i] - there[3 + i]
                square += r * r
                closing += r * w
                speed += w * w
                pull += (bounds[body, i] - bounds[b, i]) ** 2
            pull = np.sqrt(pull) + (bounds[body, 3] + bounds[b, 3])  # equal for both orders of the pair
            reach = size[body] + size[b]
            apart = np.sqrt(square)
            gap = apart - reach
            under = closing * closing - speed * gap * (apart + reach)
            if gap <= 0.0:
                tau = 0.0
            elif pull > 0.0:
                tau = first_root(gap, -np.sqrt(speed), -0.5 * pull)
            elif closing < 0.0 and under >= 0.0:
                tau = gap * (apart + reach) / (np.sqrt(under) - closing)
        gaps[index] = gap
        span = min(end[body], end[b]) - begin
        if tau <= span and span < np.inf:  # else two bodies at rest, or apart for as long as is known
            times[index] = begin + max(tau - EARLY * span, 0.0)
