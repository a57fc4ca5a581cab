"""The table of islands, and which members of an event hold together."""

from ...compiled import kernel
from ..tolerances import IMPLICIT_AT_ONCE, MOST_SHORT, MOST_SHORT_ALONE, SHORT_AGAIN, SHORT_STEP
from .contacts_kernels import LIMIT, may_be_near, rim_on_face
from .pairs_kernels import has_cylinder
from .tables_kernels import NUMBER, bodies, contacts, groups, header, islands, motions, reserve

_ISLANDS = NUMBER["islands"]


@kernel()
def new_island(world):
    """A free row of the table of islands."""
    w = header(world)
    if w.free_island >= 0:
        row = w.free_island
        w.free_island = islands(world)[row].next
    else:
        row = w.islands_count
        w.islands_count += 1
        reserve(world, _ISLANDS, w.islands_count)
        islands(world)[row].version = 0
    e = islands(world)[row]
    e.body = e.contact = -1
    e.bodies = e.contacts = 0
    e.cause = e.cause_turns = -1
    return row


@kernel()
def give_back_island(world, island):
    """Let the row of an island be free; what was due of it is void."""
    w, e = header(world), islands(world)[island]
    e.version += 1
    e.bodies = 0
    e.next = w.free_island
    w.free_island = island


@kernel()
def root_of(world, body):
    """The member that stands for all that hold together with one."""
    m = motions(world)
    while m[body].root != body:
        body = m[body].root
    return body


@kernel()
def unite(world, one, other):
    """Let two members hold together."""
    one, other = root_of(world, one), root_of(world, other)
    motions(world)[max(one, other)].root = min(one, other)


@kernel()
def unite_group(world, body):
    """Let a member hold together with those of its group that come before it."""
    w, g = header(world), groups(world)[bodies(world)[body].joined]
    if g.look != w.looks:
        g.look, g.root = w.looks, body
    else:
        unite(world, g.root, body)


@kernel()
def counted_short(world, short, span):
    """How many pieces in a row were short, after one of `span` [s]."""
    return short + 1 if span < SHORT_STEP * header(world).duration else 0


@kernel()
def tell_stiff(world, island):
    """Let an island go on by implicit steps where so many explicit ones, or pieces that impacts end, were short;
    and no longer where it has contacts that cannot. Whether it does only from now on.

    One body alone is followed exactly, its contacts are few; unless it is wedged and has chattered for much longer.
    So are bodies on joints that are at their limits, until then. And so are, for ever, bodies whose contacts, where
    they part and touch again, would be an impact each step.
    """
    w, e = header(world), islands(world)[island]
    most = MOST_SHORT if e.bodies > 1 else MOST_SHORT_ALONE
    if e.implicit == 0 and (e.short < most or w.longest_implicit_step == 0.0 or w.fixed_step > 0.0):
        return False
    may = e.bodies > 1 or is_wedged(world, island)
    row = e.contact
    while row >= 0:
        c = contacts(world)[row]
        if c.feature[0] == LIMIT:
            most = MOST_SHORT_ALONE
        else:
            may = may and may_be_near(world, c)
        row = c.fellow
    if e.implicit == 0 and e.short < most:
        return False
    if not may:
        e.implicit = 0
        return False
    begins = e.implicit == 0
    if begins:
        e.implicit, e.short = IMPLICIT_AT_ONCE, most - SHORT_AGAIN
    return begins


@kernel()
def is_wedged(world, island):
    """Whether the contacts of an island are with more than one other body, and none is of a cylinder: rims are
    followed better as they are."""
    first = row = islands(world)[island].contact
    wedged = False
    while row >= 0:
        c = contacts(world)[row]
        if has_cylinder(world, c.first, c.second):
            return False
        wedged = wedged or c.pair != contacts(world)[first].pair
        row = c.fellow
    return wedged


@kernel()
def leaning_rim(world, island):
    """A contact of an island where a rim is on a face, -1 where it has none: implicit steps know the points of an
    end that is all but flat instead."""
    row = islands(world)[island].contact
    while row >= 0:
        if rim_on_face(contacts(world)[row]) >= 0:
            return row
        row = contacts(world)[row].fellow
    return -1


@kernel()
def begin_together(world, island):
    """Tell whether an island that begins goes on by implicit steps, as some of its bodies did or as `tell_stiff`
    has it. Where a rim is on a face its pairs want another look first, unless all its bodies went on so when they
    were looked at: as a rim of its own, all but flat, the end would be pushed by where its lowest point runs."""
    e = islands(world)[island]
    if leaning_rim(world, island) >= 0:
        body = e.body
        while body >= 0 and motions(world)[body].implicit > 0:
            body = motions(world)[body].fellow
        if body >= 0:
            if e.implicit > 0:
                e.implicit, e.short = 0, max(e.short, MOST_SHORT)
            return
    tell_stiff(world, island)
