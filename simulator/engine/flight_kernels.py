"""Motion of bodies between events: pieces, where a body is on one, and flight."""

import numpy as np

from ...compiled import kernel
from ..kernels import TERMS, evaluate_piece_into, free_piece_into, turning_bound, vector13
from .pairs_kernels import ROUND
from .queue_kernels import enter_end
from .tables_kernels import (
    BALLISTIC,
    NUMBER,
    SERIES,
    STILL,
    bodies,
    coefficients,
    header,
    motions,
    reserve,
)

_COEFFICIENTS = NUMBER["coefficients"]
_INSTANT = 1e-15  # of the time: pieces that begin within a few roundings of it begin at one instant
FLIGHT_TERMS = 3  # position and velocity of free flight are parabolas


@kernel()
def turned_ball(state, tau, out):
    """Fill out (13,), of which position and velocity are known, with orientation and spin of a ball."""
    w0, w1, w2 = state[10], state[11], state[12]
    speed = np.sqrt(w0 * w0 + w1 * w1 + w2 * w2)
    half = 0.5 * speed * tau
    c = np.cos(half)
    s = np.sin(half) / speed if speed > 0.0 else 0.0
    x, y, z = s * w0, s * w1, s * w2
    a, b, d, e = state[3], state[4], state[5], state[6]
    out[3] = a * c - b * x - d * y - e * z
    out[4] = b * c + a * x + d * z - e * y
    out[5] = d * c + a * y + e * x - b * z
    out[6] = e * c + a * z + b * y - d * x
    norm = np.sqrt(out[3] ** 2 + out[4] ** 2 + out[5] ** 2 + out[6] ** 2)
    for i in range(3, 7):
        out[i] /= norm
    for i in range(10, 13):
        out[i] = state[i]


@kernel()
def state_on_piece(kind, state, acceleration, C, terms, tau, out):
    """Fill out (13,) with the packed state `tau` seconds after the start of a piece."""
    if kind == STILL or tau == 0.0:
        for i in range(13):
            out[i] = state[i]
        return
    if kind == BALLISTIC:
        for i in range(3):
            out[i] = state[i] + tau * (state[7 + i] + 0.5 * tau * acceleration[i])
            out[7 + i] = state[7 + i] + tau * acceleration[i]
        turned_ball(state, tau, out)
        return
    evaluate_piece_into(C, terms, terms, tau, out)


@kernel()
def state_at(world, body, time, out):
    """Fill out (13,) with the packed state of a body at `time` [s] within its piece."""
    m = motions(world)[body]
    slot = max(m.slot, 0)
    state_on_piece(m.kind, m.state, m.acceleration, coefficients(world)[slot], m.terms, time - m.start, out)


@kernel()
def states_at(world, which, time, out):
    """Fill the rows of `out` (n, 13) of some bodies with their packed states at `time` [s] within their pieces."""
    for body in which:
        state_at(world, body, time, out[body])


@kernel()
def place_at(world, body, time, out):
    """Fill out (6,) with position and velocity of a body at `time` [s]."""
    m = motions(world)[body]
    tau = time - m.start
    if m.kind >= SERIES:
        C = coefficients(world)[m.slot]
        terms = m.terms if m.island >= 0 else FLIGHT_TERMS
        for i in range(3):
            position = velocity = 0.0
            for k in range(terms - 1, -1, -1):
                position = position * tau + C[i, k]
                velocity = velocity * tau + C[7 + i, k]
            out[i], out[3 + i] = position, velocity
    else:
        for i in range(3):
            pull = m.acceleration[i] if m.kind == BALLISTIC else 0.0
            out[i] = m.state[i] + tau * (m.state[7 + i] + 0.5 * tau * pull)
            out[3 + i] = m.state[7 + i] + tau * pull


@kernel()
def bring(world, body, time):
    """Let the piece of a body begin anew at `time` [s], where it is then; its motion stays to be told."""
    m = motions(world)[body]
    if m.start != time:
        state = vector13()
        state_at(world, body, time, state)
        for i in range(13):
            m.state[i] = state[i]
        m.start = time
        m.kind = BALLISTIC  # nothing can be asked of it but its state now


@kernel()
def slot_of(world, body):
    """The row of coefficients of a body, which gets one where it has none."""
    m = motions(world)[body]
    if m.slot < 0:
        w = header(world)
        if w.free_slot >= 0:
            m.slot = w.free_slot
            w.free_slot = int(coefficients(world)[m.slot][0, 0])
        else:
            m.slot = w.coefficients_count
            w.coefficients_count += 1
            reserve(world, _COEFFICIENTS, m.slot + 1)
    return m.slot


@kernel()
def begin(world, body, kind, end):
    """A new piece of a body, from where it is now to `end` [s]."""
    w, m = header(world), motions(world)[body]
    m.kind, m.end = kind, end
    rests = 1 if kind == STILL else 0
    if bodies(world)[body].movable:
        w.moving += m.rests - rests
    m.rests = rests
    m.version += 1
    if w.time - m.stalled_at <= _INSTANT * abs(w.time):
        m.stalls += 1
    else:
        m.stalls, m.stalled_at = 1, w.time


@kernel()
def fly(world, body):
    """Let a body fly freely from its state now on; one that time steps move without gravity, and to their end."""
    w, m, b = header(world), motions(world)[body], bodies(world)[body]
    m.island = -1
    if b.shape_class == ROUND:  # whose rim, all but flat, is followed exactly where nothing else is with it
        m.implicit = 0
    m.deviation = m.turning = 0.0
    still = b.movable == 0
    if not still and m.stepped == 0:
        still = True
        for i in range(3):
            still = still and w.gravity[i] == 0.0 and m.state[7 + i] == 0.0 and m.state[10 + i] == 0.0
    if still:
        for i in range(3):
            m.acceleration[i] = 0.0
        begin(world, body, STILL, np.inf)
        return
    for i in range(3):
        m.acceleration[i] = 0.0 if m.stepped else w.gravity[i]
    last = w.step_end if m.stepped else np.inf
    if b.round:
        begin(world, body, BALLISTIC, last)
        return
    slot = slot_of(world, body)
    m = motions(world)[body]
    C = coefficients(world)[slot]
    span = free_piece_into(m.state, m.acceleration, b.inertia, b.inverse_inertia, C)
    m.turning = turning_bound(C, b.inertia, b.inverse_inertia)
    m.terms = TERMS if span < np.inf else FLIGHT_TERMS
    begin(world, body, SERIES, min(w.time + span, last))
    if w.time + span < last:
        enter_end(world, w.time + span, body)
