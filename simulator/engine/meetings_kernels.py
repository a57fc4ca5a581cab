"""When two bodies may meet at the earliest, and when they do.

Bounding spheres, moving as the bodies do, give a bound: a closed form for free flight, from speed and acceleration
otherwise. The exact search is made only when that bound comes first of all that is due. Its time depends on the two
motions alone, not on when or why it was asked for, so that runs with other cells are equal bit for bit.
"""

import numpy as np

from ...compiled import call, kernel
from ..kernels import first_root, vector6
from ..tolerances import LEAST_CRAWL
from .cells_kernels import list_others, settle_in
from .flight_kernels import place_at
from .pairs_kernels import collide, inside_row, kind_of
from .queue_kernels import BOUND, CRAWLS, INSIDE, MEETING, enter_pair
from .tables_kernels import BALLISTIC, STILL, bodies, header, motions, others, pairs

EARLY = 1e-9  # share of a span by which a meeting is put earlier, for rounding
BALLS = 1


@kernel()
def earliest_meeting(world, body, other, since):
    """Distance [m] of two bounding spheres (of one and a plane), and a lower bound of when [s] they touch.

    Infinite if not within their pieces. Both are seen from `since`, but not from before the start of the later
    piece. Exact for spheres in free flight under the same gravity.
    """
    m, n, a, b = motions(world)[body], motions(world)[other], bodies(world)[body], bodies(world)[other]
    here, there = vector6(), vector6()
    begins = max(since, max(m.start, n.start))
    place_at(world, body, begins, here)
    tau = np.inf
    if b.level < 0:
        gap = -b.offset - a.size
        rate, pull = 0.0, -m.deviation
        for i in range(3):
            gap += b.normal[i] * here[i]
            rate += b.normal[i] * here[3 + i]
            pull += b.normal[i] * m.acceleration[i]
        under = rate * rate - 2.0 * pull * gap
        if gap <= 0.0:
            tau = 0.0
        elif pull <= 0.0:
            tau = first_root(gap, rate, 0.5 * pull)
        elif rate < 0.0 and under >= 0.0:
            tau = 2.0 * gap / (np.sqrt(under) - rate)
    else:
        place_at(world, other, begins, there)
        square = closing = speed = pull = 0.0
        for i in range(3):
            r = here[i] - there[i]
            v = here[3 + i] - there[3 + i]
            square += r * r
            closing += r * v
            speed += v * v
            pull += (m.acceleration[i] - n.acceleration[i]) ** 2
        pull = np.sqrt(pull) + (m.deviation + n.deviation)  # equal for both orders of the pair
        reach = a.size + b.size
        apart = np.sqrt(square)
        gap = apart - reach
        under = closing * closing - speed * gap * (apart + reach)
        if gap <= 0.0:
            tau = 0.0
        elif pull > 0.0:
            tau = first_root(gap, -np.sqrt(speed), -0.5 * pull)
        elif closing < 0.0 and under >= 0.0:
            tau = gap * (apart + reach) / (np.sqrt(under) - closing)
    span = min(m.end, n.end) - begins
    if tau <= span and (tau < np.inf or span < np.inf):
        early = EARLY * (span if span < np.inf else tau)
        return gap, begins + max(tau - early, 0.0)
    return gap, np.inf


@kernel()
def move_together(world, body, other):
    """Whether two bodies cannot come nearer each other as they move now: both rest."""
    return motions(world)[body].kind == STILL and motions(world)[other].kind == STILL


@kernel()
def look_at(world, body, other, time):
    """Enter when a body may meet another at the earliest."""
    if move_together(world, body, other) or not collide(world, body, other):
        return
    w = header(world)
    w.bounds_made += 1
    sensor = bodies(world)[body].sensor or bodies(world)[other].sensor
    if sensor:
        row = inside_row(world, body, other)
        if row >= 0 and pairs(world)[row].inside:
            enter_pair(world, time, body, other, INSIDE)
            return
    kind = kind_of(world, body, other)
    m, n = motions(world)[body], motions(world)[other]
    if kind == BALLS and not sensor and m.kind <= BALLISTIC and n.kind <= BALLISTIC and (
        m.kind == n.kind or not has_pull(world)
    ):  # fmt: skip
        # exact at once: the search would cost no more than the bound
        w.span = min(m.end, n.end)
        if call(w.search[BALLS], world, body, other) > 0:
            enter_pair(world, w.span, body, other, MEETING)
        return
    _, when = earliest_meeting(world, body, other, -np.inf)
    if when < np.inf:
        enter_pair(world, max(when, time), body, other, BOUND)


@kernel()
def has_pull(world):
    """Whether there is gravity."""
    gravity = header(world).gravity
    return gravity[0] != 0.0 or gravity[1] != 0.0 or gravity[2] != 0.0


@kernel()
def plan(world, body, time, beside):
    """Look at everything that a body whose piece begins now may meet; but not at bodies below it whose mark is
    `beside`: they look at it."""
    settle_in(world, body)
    count = list_others(world, body)
    for k in range(count):
        other = others(world)[k]
        if other < body and beside > 0 and motions(world)[other].mark == beside:
            continue
        look_at(world, body, other, time)


@kernel()
def search(world, i, j, since, crawls):
    """Find when two bodies meet, not before `since` [s], and enter it; False where the search does not end.

    Bodies that touch all the time and hardly leave, as a box does that slides along a wall which nothing presses it
    against, are searched for in small steps: where these are too many, the search goes on from where it has come
    (`crawls`) when all else that is due before has happened, which often ends it.
    """
    w = header(world)
    w.searches_made += 1
    w.span, w.crawls = since, 1 if crawls else 0
    answer = call(w.search[kind_of(world, i, j)], world, i, j)
    if answer > 0:
        enter_pair(world, w.span, i, j, MEETING)
    elif answer < 0 and w.span - since >= LEAST_CRAWL * w.duration:
        enter_pair(world, w.span, i, j, CRAWLS)
        answer = 0
    return answer >= 0
