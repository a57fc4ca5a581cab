"""Bodies that time steps move, among those that go from event to event.

Between two steps they fly without forces, and no gravity pulls at them: their steps give its impulse. They meet
each other and what is fixed in the steps alone; but when one of them and a body of the events meet is found as for
any two. The loop then stops with MEETS_STEPS, and `hand_over` lets everything that touches there go by steps.
"""

import numpy as np

from ...compiled import kernel
from .cells_kernels import settle_in
from .contacts_kernels import drop_contacts
from .flight_kernels import begin, bring, fly
from .gather_kernels import begin_event, join
from .islands_kernels import give_back_island
from .log_kernels import log_piece, log_work
from .loop_kernels import wake
from .meetings_kernels import plan
from .tables_kernels import STILL, bodies, contacts, found, header, islands, members, motions


@kernel()
def hand_over(world):
    """Let the members of the present event, and all that hold together with them, go by time steps from now on."""
    w = header(world)
    for k in range(w.found_count):
        drop_of(world, found(world)[k])
    w.found_count = w.aside_count = 0
    done = 0
    while done < w.members_count:
        island = motions(world)[members(world)[done]].island
        done += 1
        if island >= 0:
            hand_over_island(world, island)
    for k in range(w.members_count):
        body = members(world)[k]
        bring(world, body, w.time)
        m = motions(world)[body]
        if not m.stepped:
            m.stepped = 1
            w.stepped += 1
            begin(world, body, m.kind, np.inf)


@kernel()
def hand_over_island(world, island):
    """Let all bodies of an island be members, each alone and where it is now, and forget its contacts."""
    log_work(world, island)
    body = islands(world)[island].body
    while body >= 0:
        join(world, body)
        bring(world, body, header(world).time)
        following = motions(world)[body].fellow
        motions(world)[body].island = -1
        body = following
    row = islands(world)[island].contact
    while row >= 0:
        following = contacts(world)[row].fellow
        drop_of(world, row)
        row = following
    give_back_island(world, island)


@kernel()
def drop_of(world, row):
    """Forget all contacts of the pair that a contact is of."""
    if contacts(world)[row].pair >= 0:
        drop_contacts(world, contacts(world)[row].pair)


@kernel()
def hand_over_bodies(world, which):
    """Let these bodies, and all that hold together with them, go by time steps from now on."""
    begin_event(world)
    for body in which:
        join(world, body)
    hand_over(world)


@kernel()
def move_stepped(world, which, states, written):
    """Let bodies that time steps move fly from these packed states (k, 13) now, to the end of the step; those that
    are to be written have that noted."""
    for k in range(which.size):
        set_state(world, which[k], states[k])
        fly(world, which[k])
        if written[k]:
            log_piece(world, which[k])
    plan_stepped(world, which)


@kernel()
def note_stepped(world, which, states):
    """Note where bodies that time steps move are now, on their way: in packed states (k, 13)."""
    for k in range(which.size):
        set_state(world, which[k], states[k])
        log_piece(world, which[k])


@kernel()
def rest_stepped(world, which, states):
    """Let bodies that time steps move rest in these packed states (k, 13) till they are moved again."""
    for k in range(which.size):
        set_state(world, which[k], states[k])
        begin(world, which[k], STILL, np.inf)
        log_piece(world, which[k])
    plan_stepped(world, which)


@kernel()
def set_state(world, body, state):
    """Let a body be in a packed state (13,) now."""
    m = motions(world)[body]
    for i in range(13):
        m.state[i] = state[i]
    m.start = header(world).time


@kernel()
def plan_stepped(world, which):
    """Put bodies whose steps begin now into their cells, and look at all of the events that they may meet."""
    w, others = header(world), 0
    for body in range(w.bodies_count):
        others += bodies(world)[body].movable - motions(world)[body].stepped
    for body in which:
        if others > 0:
            plan(world, body, w.time, 0)
        else:
            settle_in(world, body)


@kernel()
def release(world, which, states):
    """Let bodies that time steps moved go on from event to event, from these packed states (k, 13) now."""
    w = header(world)
    for k in range(which.size):
        set_state(world, which[k], states[k])
        motions(world)[which[k]].stepped = 0
        w.stepped -= 1
        begin(world, which[k], STILL, np.inf)
        wake(world, which[k])
