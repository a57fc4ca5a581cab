"""Sensors: bodies that notice what comes into them, and push nothing."""

import numpy as np

from ...compiled import call, kernel
from ..kernels import first_root, vector6
from ..tolerances import CONTACT_GAP
from .contacts_kernels import drop_contacts
from .flight_kernels import place_at
from .gather_kernels import begin_event
from .log_kernels import SENSOR, log_event
from .meetings_kernels import search
from .pairs_kernels import inside_row, is_second, kind_of, pair_row, size_of
from .queue_kernels import INSIDE, enter_pair
from .tables_kernels import NUMBER, bodies, contacts, found, header, motions, pairs, reserve

_FOUND = NUMBER["found"]
LEAVING = 1e-3  # [of the size] how deep inside a body counts that is about to leave


@kernel()
def is_sensor(world, i, j):
    """Whether one of two bodies is a sensor."""
    return bodies(world)[i].sensor != 0 or bodies(world)[j].sensor != 0


@kernel()
def notice(world, i, j):
    """A sensor and a body begin to overlap."""
    w = header(world)
    begin_event(world)
    a, b = (i, j) if is_second(world, i, j) else (j, i)
    row = pair_row(world, a, b)
    if call(w.touch[kind_of(world, i, j)], world, a, b) > 0:
        c = pairs(world)[row].contact
        while c >= 0:
            reserve(world, _FOUND, w.found_count + 1)
            found(world)[w.found_count] = c
            w.found_count += 1
            c = contacts(world)[c].next
    w.law_code = 0
    log_event(world, SENSOR, 0)
    drop_contacts(world, row)
    pairs(world)[row].inside = 1
    return look_inside(world, i, j)


@kernel()
def look_inside(world, i, j):
    """Whether a body has left a sensor: then await when it enters again, else look again later; False where a
    search does not end."""
    w = header(world)
    call(w.gap[kind_of(world, i, j)], world, i, j)
    gap, size = w.span, size_of(world, i, j)
    if gap > CONTACT_GAP * size:
        pairs(world)[inside_row(world, i, j)].inside = 0
        return search(world, i, j, w.time, False)
    here, there = vector6(), vector6()
    place_at(world, i, w.time, here)
    place_at(world, j, w.time, there)
    speed = pull = 0.0
    for k in range(3):
        speed += (here[3 + k] - there[3 + k]) ** 2
        pull += (motions(world)[i].acceleration[k] - motions(world)[j].acceleration[k]) ** 2
    speed, pull = np.sqrt(speed), np.sqrt(pull)
    for side in range(2):
        body = i if side == 0 else j
        m, reach = motions(world)[body], bodies(world)[body].size
        if bodies(world)[body].level >= 0:
            # the spin is at most the root of the bound on its square
            speed += reach * np.sqrt(m.turning)
            pull += m.deviation + reach * m.turning
    later = w.time + first_root(max(-gap, LEAVING * size), -speed, -0.5 * pull)
    if later == w.time:
        later = np.nextafter(w.time, np.inf)
    if later < min(motions(world)[i].end, motions(world)[j].end):
        enter_pair(world, later, i, j, INSIDE)
    return True
