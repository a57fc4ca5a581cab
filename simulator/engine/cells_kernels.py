"""Which bodies are near each other: cells of one edge for every level of body sizes.

A body is at home in the level of its size and visits the coarser ones. Bodies whose cells are not neighbours cannot
touch before one of them leaves its cell by more than a slack; when that is at the earliest stands in the queue. So
an event costs what the bodies near it cost. The lists of a level's cells hang in buckets that all share; entries
compare their cells, so sharing costs time but finds nothing else.
"""

import numpy as np

from ...compiled import kernel
from ..kernels import vector6, wholes, wholes4
from .flight_kernels import place_at
from .queue_kernels import enter_cell_change
from .tables_kernels import bodies, header, heads, levels, motions, others, places, planes


@kernel()
def bucket_of(level, x, y, z, room):
    """The bucket of a cell; `room` is a power of two."""
    mixed = (x * 73856093) ^ (y * 19349663) ^ (z * 83492791) ^ (level * 2654435761)
    return (mixed ^ (mixed >> 15)) & (room - 1)


@kernel()
def leave_list(world, row):
    """Take the place of a body out of the list that it is in."""
    table = places(world)
    place = table[row]
    if place.before >= 0:
        table[place.before].next = place.next
    else:
        heads(world)[place.bucket] = place.next
    if place.next >= 0:
        table[place.next].before = place.before


@kernel()
def enter_list(world, row, level, x, y, z):
    """Put a place into the list of its new cell."""
    w, table, lists = header(world), places(world), heads(world)
    place = table[row]
    place.cell[0], place.cell[1], place.cell[2] = x, y, z
    bucket = bucket_of(level, x, y, z, w.heads_room)
    place.bucket, place.before, place.next = bucket, -1, lists[bucket]
    if lists[bucket] >= 0:
        table[lists[bucket]].before = row
    lists[bucket] = row


@kernel()
def put(world, body, level, x, y, z):
    """Put a body at (x, y, z) [m] into its cell of a level; whether that is another one than before."""
    edge = levels(world)[level].edge
    row = body * header(world).levels_count + level
    place = places(world)[row]
    cx, cy, cz = int(np.floor(x / edge)), int(np.floor(y / edge)), int(np.floor(z / edge))
    if place.bucket >= 0:
        if place.cell[0] == cx and place.cell[1] == cy and place.cell[2] == cz:
            return False
        leave_list(world, row)
    enter_list(world, row, level, cx, cy, cz)
    return True


@kernel()
def first_zero(value, rate, half_curvature):
    """Smallest tau > 0 where value + rate tau + half_curvature tau^2 is zero, for value > 0."""
    under = rate * rate - 4.0 * half_curvature * value
    if under < 0.0:
        return np.inf
    root = np.sqrt(under)
    if half_curvature < 0.0 and rate > 0.0:
        return (rate + root) / (-2.0 * half_curvature)
    return 2.0 * value / (root - rate) if root > rate else np.inf


@kernel()
def await_leaving(world, body, level, time, here):
    """Enter when a body, with place and velocity `here` (6,) now, may leave its cell of a level by the slack."""
    w, m = header(world), motions(world)[body]
    edge, slack = levels(world)[level].edge, levels(world)[level].slack
    if edge == np.inf:
        return
    place = places(world)[body * w.levels_count + level]
    soonest = np.inf
    for axis in range(3):
        low = place.cell[axis] * edge
        x, rate = here[axis], here[3 + axis]
        pull = m.acceleration[axis]
        soonest = min(soonest, first_zero(low + edge + slack - x, -rate, -0.5 * (pull + m.deviation)))
        soonest = min(soonest, first_zero(x - low + slack, rate, 0.5 * (pull - m.deviation)))
    leaves = max(time + soonest, np.nextafter(time, np.inf))
    if leaves < m.end:
        enter_cell_change(world, leaves, body, level)


@kernel()
def settle_in(world, body):
    """Put a body into its cells where its piece begins now, and await that it leaves them."""
    w, m = header(world), motions(world)[body]
    here = vector6()
    for i in range(3):
        here[i], here[3 + i] = m.state[i], m.state[7 + i]
    own = bodies(world)[body].level
    for level in range(own + 1):
        put(world, body, level, here[0], here[1], here[2])
        if bodies(world)[body].movable:
            await_leaving(world, body, level, w.time, here)


@kernel()
def list_around(world, body, level, x, y, z, count, skip):
    """Append to `others` the bodies in cells around (x, y, z) that a body of this level can meet; how many then.

    Of the cells around, those around the cell in `skip` (4,) are left out where skip[3] is not zero.
    """
    w, table, lists, found = header(world), places(world), heads(world), others(world)
    at_home = bodies(world)[body].level == level
    for dz in range(-1, 2):
        for dy in range(-1, 2):
            for dx in range(-1, 2):
                cx, cy, cz = x + dx, y + dy, z + dz
                if (
                    skip[3] != 0
                    and abs(cx - skip[0]) <= 1
                    and abs(cy - skip[1]) <= 1
                    and abs(cz - skip[2]) <= 1
                ):
                    continue
                row = lists[bucket_of(level, cx, cy, cz, w.heads_room)]
                while row >= 0:
                    place = table[row]
                    other = row // w.levels_count
                    if (
                        row - other * w.levels_count == level
                        and place.cell[0] == cx and place.cell[1] == cy and place.cell[2] == cz
                        and other != body
                        and (at_home or place.home == 1)
                    ):  # fmt: skip
                        found[count] = other
                        count += 1
                    row = place.next
    return count


@kernel()
def list_others(world, body):
    """Fill `others` with every body that this one may meet before one of them leaves its cell; how many."""
    w, table, b = header(world), places(world), bodies(world)[body]
    found, flat = others(world), planes(world)
    nowhere = wholes4()
    nowhere[3] = 0
    count = 0
    if levels(world)[0].edge == np.inf:  # few bodies: all in one cell
        for other in range(w.bodies_count):
            if other != body:
                found[count] = other
                count += 1
        return count
    for level in range(b.level + 1):
        cell = table[body * w.levels_count + level].cell
        count = list_around(world, body, level, cell[0], cell[1], cell[2], count, nowhere)
    for k in range(w.planes_count):
        found[count] = flat[k]
        count += 1
    return count


@kernel(allocates=True)
def change_cell(world, body, level, time):
    """Put a body into the cell it is in now; fill `others` with its new neighbours and return how many."""
    w = header(world)
    place = places(world)[body * w.levels_count + level]
    before = wholes(4)
    before[0], before[1], before[2], before[3] = place.cell[0], place.cell[1], place.cell[2], 1
    here = vector6()
    place_at(world, body, time, here)
    moved = put(world, body, level, here[0], here[1], here[2])
    await_leaving(world, body, level, time, here)
    if not moved:
        return 0
    w.cells_left += 1
    return list_around(world, body, level, place.cell[0], place.cell[1], place.cell[2], 0, before)
