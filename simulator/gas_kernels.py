"""Compiled event loop of hard spheres among planes: indexed heap of events, wrapped grid of cells.

Every sphere keeps its own time, at which its position and velocity hold, and one planned impact that its partner
plans too: a sphere takes another for partner only if it would be earlier than what that one plans (Lubachevsky).
A sphere that loses its partner keeps the time and looks again when it comes. Cells are at least a diameter wide, so
partners are looked for in 27 of them, and in the 9 new ones when a sphere crosses into another cell. An impact so
costs the logarithm of the number of spheres, and nothing that grows with it otherwise.
"""

from collections import namedtuple

import numpy as np

from ..compiled import kernel
from .tolerances import CONTACT_GAP

NONE, LOOK_AGAIN = -1, -2
FIRST_PLANE = -3
"""Partner of plane k is FIRST_PLANE - k."""

UNTIL, EVENTS, SEVERAL = 0, 1, 2
"""Why the loop ended: the time, the number of impacts, or an impact of more than one contact."""

TIME, RADIUS = 6, 7  # columns of spheres, after position and velocity
PLANNED, CROSSING = 0, 1  # columns of due
PARTNER, WAY = 0, 1  # columns of plans
REST = 3  # place in pull: an array of its own would be counted at every use

Gas = namedtuple(
    "Gas",
    [
        "spheres",  # (n, 8) position, velocity, the time they hold at, radius: one cache line a sphere
        "inverse_mass",  # (n,)
        "bounce",  # (n,) square root of restitution
        "pull",  # (4,) acceleration of all spheres, zero where any is fixed; approach at touch that counts as rest
        "normals",  # (m, 3) of the planes, towards the spheres
        "offsets",  # (m,)
        "plane_bounce",  # (m,)
        "width",  # (1,) of a cell
        "shape",  # (3,) cells along each axis, powers of two; beyond them the grid starts over
        "cells",  # (n, 3) of the spheres
        "head",  # (cells,) first sphere of each
        "links",  # (n, 2) next and previous sphere in the cell
        "due",  # (n, 2) times of the planned impact and of the next crossing into another cell
        "plans",  # (n, 2) partner of the impact, and ±(axis + 1) of the crossing
        "key",  # (n,) the earlier of both times
        "heap",  # (n,) spheres, earliest first
        "place",  # (n,) of each sphere in the heap
        "counts",  # (2,) crossings, and spheres that looked again
    ],
)


@kernel(forceinline=True)
def slot_of(gas, x, y, z):
    """Place of a cell in the wrapped grid; far cells share places, which costs only needless candidates."""
    return (x & (gas.shape[0] - 1)) + gas.shape[0] * (
        (y & (gas.shape[1] - 1)) + gas.shape[1] * (z & (gas.shape[2] - 1))
    )


@kernel()
def enter_cell(gas, i):
    """Put sphere i at the head of its cell's list."""
    slot = slot_of(gas, gas.cells[i, 0], gas.cells[i, 1], gas.cells[i, 2])
    first = gas.head[slot]
    gas.links[i, 0] = first
    gas.links[i, 1] = NONE
    if first >= 0:
        gas.links[first, 1] = i
    gas.head[slot] = i


@kernel()
def leave_cell(gas, i):
    """Take sphere i out of its cell's list."""
    after, before = gas.links[i, 0], gas.links[i, 1]
    if before >= 0:
        gas.links[before, 0] = after
    else:
        gas.head[slot_of(gas, gas.cells[i, 0], gas.cells[i, 1], gas.cells[i, 2])] = after
    if after >= 0:
        gas.links[after, 1] = before


@kernel()
def reschedule(gas, i):
    """Move sphere i in the heap to where the earlier of its times belongs."""
    key, heap, place = gas.key, gas.heap, gas.place
    mine = min(gas.due[i, PLANNED], gas.due[i, CROSSING])
    key[i] = mine
    k = place[i]
    while k > 0:
        parent = (k - 1) >> 1
        other = heap[parent]
        if key[other] <= mine:
            break
        heap[k] = other
        place[other] = k
        k = parent
    size = heap.size
    while True:
        child = 2 * k + 1
        if child >= size:
            break
        if child + 1 < size and key[heap[child + 1]] < key[heap[child]]:
            child += 1
        other = heap[child]
        if key[other] >= mine:
            break
        heap[k] = other
        place[other] = k
        k = child
    heap[k] = i
    place[i] = k


@kernel(forceinline=True)
def meeting_time(gas, i, j, now):
    """When spheres i and j touch, moving freely, at or after `now`; infinite if they do not."""
    a, b, pull = gas.spheres[i], gas.spheres[j], gas.pull
    si, sj = now - a[TIME], now - b[TIME]
    turn = sj - si
    fall = 0.5 * (sj + si) * turn
    w0 = b[3] - a[3] + pull[0] * turn
    w1 = b[4] - a[4] + pull[1] * turn
    w2 = b[5] - a[5] + pull[2] * turn
    r0 = b[0] + b[3] * sj - a[0] - a[3] * si + pull[0] * fall
    r1 = b[1] + b[4] * sj - a[1] - a[4] * si + pull[1] * fall
    r2 = b[2] + b[5] * sj - a[2] - a[5] * si + pull[2] * fall
    closing = r0 * w0 + r1 * w1 + r2 * w2
    if closing >= 0.0:
        return np.inf
    reach = a[RADIUS] + b[RADIUS]
    c0, c1, c2 = r1 * w2 - r2 * w1, r2 * w0 - r0 * w2, r0 * w1 - r1 * w0
    square = w0 * w0 + w1 * w1 + w2 * w2
    under = reach * reach * square - (c0 * c0 + c1 * c1 + c2 * c2)  # no cancellation for grazing pairs
    if under <= 0.0:
        return np.inf
    apart = np.sqrt(r0 * r0 + r1 * r1 + r2 * r2)
    if apart <= reach * (1.0 + CONTACT_GAP) and -closing <= pull[REST] * apart:
        return np.inf
    gap = (apart - reach) * (apart + reach)
    return now + max(gap, 0.0) / (np.sqrt(under) - closing)


@kernel()
def first_root(gap, rate, half):
    """The least s >= 0 at which gap + rate s + half s² is zero and falls; infinite if none."""
    if half == 0.0:
        return max(gap, 0.0) / -rate if rate < 0.0 else np.inf
    under = rate * rate - 4.0 * half * gap
    if under <= 0.0:
        return np.inf
    root = np.sqrt(under)
    if half > 0.0:
        return max(2.0 * gap / (root - rate), 0.0) if rate < 0.0 else np.inf
    if rate <= 0.0:
        return max(2.0 * gap / (root - rate), 0.0)
    return (rate + root) / (-2.0 * half)


@kernel()
def plane_time(gas, i, k, now):
    """When sphere i touches plane k at or after `now`."""
    sphere = gas.spheres[i]
    s = now - sphere[TIME]
    height = -gas.offsets[k] - sphere[RADIUS]
    rate = half = 0.0
    for axis in range(3):
        n = gas.normals[k, axis]
        height += n * (sphere[axis] + s * (sphere[3 + axis] + 0.5 * s * gas.pull[axis]))
        rate += n * (sphere[3 + axis] + s * gas.pull[axis])
        half += 0.5 * n * gas.pull[axis]
    return now + first_root(height, rate, half)


@kernel()
def plan_crossing(gas, i, now):
    """When sphere i leaves its cell, and which way."""
    gas.due[i, CROSSING] = np.inf
    if gas.inverse_mass[i] == 0.0:
        return
    sphere, width = gas.spheres[i], gas.width[0]
    s = now - sphere[TIME]
    best = np.inf
    for axis in range(3):
        x = sphere[axis] + s * (sphere[3 + axis] + 0.5 * s * gas.pull[axis])
        v = sphere[3 + axis] + s * gas.pull[axis]
        half = 0.5 * gas.pull[axis]
        up = first_root((gas.cells[i, axis] + 1) * width - x, -v, -half)
        down = first_root(x - gas.cells[i, axis] * width, v, half)
        if up < best:
            best = up
            gas.plans[i, WAY] = axis + 1
        if down < best:
            best = down
            gas.plans[i, WAY] = -axis - 1
    gas.due[i, CROSSING] = now + best


@kernel()
def plan(gas, i, now, way):
    """Look for an impact of sphere i earlier than the planned one, and enter it in the heap.

    `way` 0 looks in all cells around, ±(axis + 1) in the layer on that side. Former partners of both are left
    to look again.
    """
    due, plans = gas.due, gas.plans
    low0, low1, low2 = -1, -1, -1
    high0, high1, high2 = 1, 1, 1
    side = 1 if way > 0 else -1
    if abs(way) == 1:
        low0 = high0 = side
    elif abs(way) == 2:
        low1 = high1 = side
    elif abs(way) == 3:
        low2 = high2 = side
    best = due[i, PLANNED]
    chosen = plans[i, PARTNER]
    x0, y0, z0 = gas.cells[i, 0], gas.cells[i, 1], gas.cells[i, 2]
    for z in range(z0 + low2, z0 + high2 + 1):
        for y in range(y0 + low1, y0 + high1 + 1):
            for x in range(x0 + low0, x0 + high0 + 1):
                j = gas.head[slot_of(gas, x, y, z)]
                while j >= 0:
                    if j != i:
                        meets = meeting_time(gas, i, j, now)
                        if meets < best and meets < due[j, PLANNED]:
                            best = meets
                            chosen = j
                    j = gas.links[j, 0]
    if way == 0 and gas.inverse_mass[i] > 0.0:
        for k in range(gas.offsets.size):
            meets = plane_time(gas, i, k, now)
            if meets < best:
                best = meets
                chosen = FIRST_PLANE - k
    if chosen != plans[i, PARTNER]:
        if plans[i, PARTNER] >= 0:
            plans[plans[i, PARTNER], PARTNER] = LOOK_AGAIN
        if chosen >= 0:
            if plans[chosen, PARTNER] >= 0:
                plans[plans[chosen, PARTNER], PARTNER] = LOOK_AGAIN
            due[chosen, PLANNED] = best
            plans[chosen, PARTNER] = i
            reschedule(gas, chosen)
        due[i, PLANNED] = best
        plans[i, PARTNER] = chosen
    reschedule(gas, i)


@kernel()
def bring(gas, i, now):
    """Position and velocity of sphere i at `now`."""
    sphere = gas.spheres[i]
    s = now - sphere[TIME]
    for axis in range(3):
        sphere[axis] += s * (sphere[3 + axis] + 0.5 * s * gas.pull[axis])
        sphere[3 + axis] += s * gas.pull[axis]
    sphere[TIME] = now


@kernel()
def touching(gas, i, now, found):
    """Fill found with what sphere i touches now: spheres, and planes as FIRST_PLANE - k. Returns how many."""
    count = 0
    bring(gas, i, now)
    sphere = gas.spheres[i]
    x0, y0, z0 = gas.cells[i, 0], gas.cells[i, 1], gas.cells[i, 2]
    for z in range(z0 - 1, z0 + 2):
        for y in range(y0 - 1, y0 + 2):
            for x in range(x0 - 1, x0 + 2):
                j = gas.head[slot_of(gas, x, y, z)]
                while j >= 0:
                    if j != i:
                        other = gas.spheres[j]
                        s = now - other[TIME]
                        square = 0.0
                        for axis in range(3):
                            d = other[axis] + s * (other[3 + axis] + 0.5 * s * gas.pull[axis]) - sphere[axis]
                            square += d * d
                        near = (sphere[RADIUS] + other[RADIUS]) * (1.0 + CONTACT_GAP)
                        if square <= near * near and count < found.size:
                            found[count] = j
                            count += 1
                    j = gas.links[j, 0]
    for k in range(gas.offsets.size):
        height = -gas.offsets[k]
        for axis in range(3):
            height += gas.normals[k, axis] * sphere[axis]
        if height <= sphere[RADIUS] * (1.0 + CONTACT_GAP) and count < found.size:
            found[count] = FIRST_PLANE - k
            count += 1
    return count


@kernel()
def start(gas, now):
    """Fill grid, plans and heap from positions and velocities, which all hold at `now`."""
    count = gas.key.size
    for i in range(count):
        gas.spheres[i, TIME] = now
        for axis in range(3):
            gas.cells[i, axis] = int(np.floor(gas.spheres[i, axis] / gas.width[0]))
        enter_cell(gas, i)
        gas.due[i, PLANNED] = np.inf
        gas.plans[i, PARTNER] = NONE
        gas.key[i] = np.inf
        gas.heap[i] = i
        gas.place[i] = i
        plan_crossing(gas, i, now)
    for i in range(count):
        plan(gas, i, now, 0)


@kernel()
def changed(gas, i, now):
    """Plan anew for sphere i, whose velocity has changed; its partners in an impact are not left to look again."""
    gas.due[i, PLANNED] = np.inf
    gas.plans[i, PARTNER] = NONE
    plan_crossing(gas, i, now)
    reschedule(gas, i)


@kernel()
def change_velocities(gas, members, velocities, now):
    """New velocities (k, 3) of spheres that meet several at once; who planned with them looks again."""
    for i in members:
        partner = gas.plans[i, PARTNER]
        if partner >= 0:
            gas.plans[partner, PARTNER] = LOOK_AGAIN
    for k in range(members.size):
        for axis in range(3):
            gas.spheres[members[k], 3 + axis] = velocities[k, axis]
        changed(gas, members[k], now)
    for i in members:
        plan(gas, i, now, 0)


@kernel()
def bounce_pair(gas, i, j):
    """Velocities of two touching spheres after their impact."""
    a, b = gas.spheres[i], gas.spheres[j]
    n0, n1, n2 = a[0] - b[0], a[1] - b[1], a[2] - b[2]
    speed = n0 * (a[3] - b[3]) + n1 * (a[4] - b[4]) + n2 * (a[5] - b[5])
    square = n0 * n0 + n1 * n1 + n2 * n2
    ia, ib = gas.inverse_mass[i], gas.inverse_mass[j]
    impulse = -(1.0 + gas.bounce[i] * gas.bounce[j]) * speed / (square * (ia + ib))
    a[3] += impulse * ia * n0
    a[4] += impulse * ia * n1
    a[5] += impulse * ia * n2
    b[3] -= impulse * ib * n0
    b[4] -= impulse * ib * n1
    b[5] -= impulse * ib * n2


@kernel()
def bounce_plane(gas, i, k):
    """Velocity of a sphere after its impact on a plane."""
    sphere = gas.spheres[i]
    speed = 0.0
    for axis in range(3):
        speed += gas.normals[k, axis] * sphere[3 + axis]
    change = (1.0 + gas.bounce[i] * gas.plane_bounce[k]) * speed
    for axis in range(3):
        sphere[3 + axis] -= change * gas.normals[k, axis]


@kernel()
def run(gas, now, until, limit):
    """Impacts of one contact each, at most `limit` > 0, in order of time, until something else is due.

    Returns (why, time, impacts, sphere, partner); the last two where several contacts meet at once.
    """
    found = np.empty(3, np.int64)
    impacts = 0
    while True:
        i = gas.heap[0]
        if gas.key[i] > until:
            return UNTIL, until, impacts, NONE, NONE
        now = max(now, gas.key[i])
        if gas.due[i, CROSSING] <= gas.due[i, PLANNED]:
            gas.counts[0] += 1
            way = gas.plans[i, WAY]
            leave_cell(gas, i)
            gas.cells[i, abs(way) - 1] += 1 if way > 0 else -1
            enter_cell(gas, i)
            plan_crossing(gas, i, now)
            plan(gas, i, now, way)
            continue
        j = gas.plans[i, PARTNER]
        if j in (LOOK_AGAIN, NONE):
            gas.counts[1] += 1
            gas.due[i, PLANNED] = np.inf
            gas.plans[i, PARTNER] = NONE
            plan(gas, i, now, 0)
            continue
        if touching(gas, i, now, found) > 1 or (j >= 0 and touching(gas, j, now, found) > 1):
            return SEVERAL, now, impacts, i, j
        impacts += 1
        if j >= 0:
            bounce_pair(gas, i, j)
            changed(gas, j, now)
        else:
            bounce_plane(gas, i, FIRST_PLANE - j)
        changed(gas, i, now)
        plan(gas, i, now, 0)
        if j >= 0:
            plan(gas, j, now, 0)
        if impacts == limit:
            return EVENTS, now, impacts, NONE, NONE
