"""Infinitely many impacts: telling that bounces accumulate, how fast they are, and how long the rest of them takes.

Bounces that follow each other ever faster end together. Once they are so slow and so frequent that bodies stay
within CONTACT_GAP of each other between them, the rest is one implicit step of as long as they last, with forces in
the friction cones: what it takes away is the motion of the bounces and nothing else.
"""

from ...compiled import kernel
from ..tolerances import BOUNCE_SPEED, BOUNCE_WAY, CLOSING_SPAN, ROUNDED_WAY, SAME_RATIO
from .contacts_kernels import may_be_near, may_wait
from .kinds_kernels import slow_speed
from .pairs_kernels import has_cylinder
from .tables_kernels import BOUNCES, contacts, found, header, local_placed, pairs


@kernel()
def note_bounces(world):
    """Note the impacts of this event, before their impulses act, in their pairs; find those whose bounces
    accumulate."""
    w, table, placed = header(world), contacts(world), local_placed(world)
    w.closing_span = w.closing_speed = 0.0
    slow = slow_speed(world)
    before = -1
    for k in range(w.found_count):
        row = table[found(world)[k]].pair
        if row < 0 or row == before:
            continue
        before = row
        approach = 0.0
        for q in range(k, w.found_count):  # the contacts of a pair stand together
            if table[found(world)[q]].pair != row:
                break
            approach = max(approach, -placed[q, 15])
        if approach <= slow:
            continue
        p = pairs(world)[row]
        for n in range(BOUNCES - 1, 0, -1):
            p.bounce_time[n], p.bounce_speed[n] = p.bounce_time[n - 1], p.bounce_speed[n - 1]
        p.bounce_time[0], p.bounce_speed[0] = w.time, approach
        p.bounces = min(p.bounces + 1, BOUNCES)
        c = table[found(world)[k]]
        waits = may_be_near(world, c) and has_cylinder(
            world, c.first, c.second
        )  # whose rims move on meanwhile
        waits = waits and may_wait(world, c.first, c.second) and not accumulates(world, row, ROUNDED_WAY)
        if p.bounces == BOUNCES and accumulates(world, row, BOUNCE_WAY) and not waits:
            left, sure = what_is_left(world, row)
            if left <= CLOSING_SPAN * w.duration:
                w.closing_speed = max(w.closing_speed, approach, p.bounce_speed[1])
                w.closing_span = max(w.closing_span, left)
                if sure:
                    w.accumulated_at = max(w.accumulated_at, w.time + left)


@kernel()
def accumulates(world, row, way):
    """Whether the bounces of a pair are so small by now that they may end, none higher than `way` [of its size]."""
    w, p = header(world), pairs(world)[row]
    longest = fastest = 0.0
    for n in range(3):
        longest = max(longest, p.bounce_time[n] - p.bounce_time[n + 1])
        fastest = max(fastest, p.bounce_speed[n])
    if fastest > BOUNCE_SPEED * w.speed or longest <= 0.0:
        return False
    return fastest * longest <= way * p.size


@kernel()
def what_is_left(world, row):
    """How long [s] the bounces of a pair go on: the sum of intervals that shrink by one ratio, else the longest;
    whether it is such a sum."""
    p = pairs(world)[row]
    last = p.bounce_time[0] - p.bounce_time[1]
    before = p.bounce_time[1] - p.bounce_time[2]
    earlier = p.bounce_time[2] - p.bounce_time[3]
    if last > 0.0 and before > 0.0 and earlier > 0.0:
        ratio, other = last / before, before / earlier
        if ratio < 1.0 and abs(ratio - other) <= SAME_RATIO * ratio:
            return last * ratio / (1.0 - ratio), True
    return max(last, before, earlier), False


@kernel()
def mark_closing(world):
    """Mark contacts that are to stay closed with the bounces that end: those no faster than these."""
    w, table, placed = header(world), contacts(world), local_placed(world)
    for k in range(w.found_count):
        c = table[found(world)[k]]
        c.closing = 1 if w.closing_span > 0.0 and abs(placed[k, 15]) <= 2.0 * w.closing_speed else 0
