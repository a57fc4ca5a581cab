"""What a run leaves behind: pieces of motion, events and their contacts, as rows that are only added."""

from ...compiled import kernel
from .shapes_kernels import float_numbers
from .tables_kernels import (
    CHANNELS,
    DEGREE,
    NUMBER,
    SERIES,
    coefficients,
    contacts,
    event_contacts,
    events,
    found,
    header,
    islands,
    jumps,
    local_placed,
    motions,
    piece_numbers,
    pieces,
    reserve,
    stage_log,
    works,
)

_PIECES, _PIECE_NUMBERS = NUMBER["pieces"], NUMBER["piece_numbers"]
_WORKS, _JUMPS = NUMBER["works"], NUMBER["jumps"]
_EVENTS, _EVENT_CONTACTS, _STAGE_LOG = NUMBER["events"], NUMBER["event_contacts"], NUMBER["stage_log"]
IMPACT, LIFT_OFF, STICK, SLIP, USER, SENSOR, ROLL, HALT = range(8)  # as the kinds of event.EventKind
IN_IMPACT, IN_CONTACT, ACCUMULATES, SHOCK = 1, 2, 3, 4
"""Notes of impacts, of which the first two say what a law is asked about: bodies meet; no contact forces keep
bodies apart, though nothing approaches; with this one infinitely many end. The last, of slip that ends: no contact
forces exist, and the law has no impulse."""


@kernel()
def log_piece(world, body):
    """Note the piece that a body begins now."""
    w, m = header(world), motions(world)[body]
    if not w.logs:
        return
    reserve(world, _PIECES, w.pieces_count + 1)
    p = pieces(world)[w.pieces_count]
    p.body, p.start, p.kind, p.terms = body, m.start, m.kind, 0
    for i in range(13):
        p.state[i] = m.state[i]
    for i in range(3):
        p.acceleration[i] = m.acceleration[i]
    if m.kind >= SERIES and m.island >= 0:
        p.terms = m.terms
        reserve(world, _PIECE_NUMBERS, w.piece_numbers_count + 13 * m.terms)
        kept, C = piece_numbers(world), coefficients(world)[m.slot]
        k = w.piece_numbers_count
        for i in range(13):
            for term in range(m.terms):
                kept[k] = C[i, term]
                k += 1
        w.piece_numbers_count = k
    w.pieces_count += 1
    w.begun += 1


@kernel()
def log_work(world, island):
    """Note the work that was done in the piece of an island since it was noted last."""
    w, e = header(world), islands(world)[island]
    end = min(w.time, e.end)
    if not w.logs or end <= e.noted:
        return
    done = False
    for n in range(CHANNELS):
        for p in range(DEGREE):
            done = done or e.work[n, p] != 0.0
    if done:
        reserve(world, _WORKS, w.works_count + 1)
        kept = works(world)[w.works_count]
        kept.origin, kept.start, kept.end = e.start, e.noted, end
        for n in range(CHANNELS):
            for p in range(DEGREE):
                kept.work[n, p] = e.work[n, p]
        w.works_count += 1
    e.noted = end


@kernel()
def log_works(world):
    """Note the work that was done by now in the pieces of all islands."""
    for island in range(header(world).islands_count):
        if islands(world)[island].bodies > 0:
            log_work(world, island)


@kernel()
def log_jump(world, energy):
    """Note energy [J] that bodies gained at once."""
    w = header(world)
    if w.logs and energy != 0.0:
        reserve(world, _JUMPS, w.jumps_count + 1)
        jumps(world)[w.jumps_count].time, jumps(world)[w.jumps_count].energy = w.time, energy
        w.jumps_count += 1


@kernel()
def log_event(world, kind, note):
    """Note an event of the contacts that were found; of an impact with its velocities, impulses and stages."""
    w = header(world)
    w.happened += 1
    if not w.logs:
        return
    reserve(world, _EVENTS, w.events_count + 1)
    reserve(world, _EVENT_CONTACTS, w.event_contacts_count + w.found_count)
    e = events(world)[w.events_count]
    e.time, e.kind, e.note, e.status = w.time, kind, note, w.law_code
    e.pieces, e.contacts, e.stages, e.width, e.text, e.energy_change, e.until = (
        w.begun,
        w.found_count,
        0,
        0,
        w.text,
        0.0,
        w.accumulated_at,
    )
    table, kept = contacts(world), event_contacts(world)
    for k in range(w.found_count):
        c, o = table[found(world)[k]], kept[w.event_contacts_count + k]
        o.first, o.second, o.friction, o.restitution, o.gap = (
            c.first,
            c.second,
            c.impact_friction if kind == IMPACT else c.friction,
            c.felt,
            c.gap,
        )
        for side in range(2):
            o.feature[side], o.index[side], o.radius[side] = c.feature[side], c.index[side], c.radius[side]
            for i in range(3):
                o.along[side, i] = c.along[side, i]
        for i in range(3):
            o.point[i], o.normal[i], o.tangent[i] = c.point[i], c.normal[i], c.tangent[i]
            o.velocity[i] = o.after[i] = c.velocity[i]
            o.impulse[i] = c.impulse[i] if kind == IMPACT else 0.0
    w.event_contacts_count += w.found_count
    w.events_count += 1
    if kind == IMPACT:
        e.energy_change, e.stages, e.steps = w.energy_change, w.stages_count, w.law_steps
        e.width = w.stage_width
        reserve(world, _STAGE_LOG, w.stage_log_count + w.stages_count * e.width)
        numbers, kept = float_numbers(w.stages, 0, w.stages_count * e.width), stage_log(world)
        for k in range(numbers.size):
            kept[w.stage_log_count + k] = numbers[k]
        w.stage_log_count += numbers.size
    w.text = 0


@kernel()
def log_after(world):
    """Note the velocities after an impact in the event that was noted last."""
    w = header(world)
    if not w.logs:
        return
    e = events(world)[w.events_count - 1]
    first = w.event_contacts_count - e.contacts
    for k in range(e.contacts):
        o = event_contacts(world)[first + k]
        for i in range(3):
            o.after[i] = local_placed(world)[k, 15 + i]
