"""Compiled impacts of several compliant contacts at once: events and steps between them."""

import numba
import numpy as np

from ..compiled import kernel
from .distributing_grip_kernels import expand, grip_inverse, grip_operator, settle_grips, slip_of
from .distributing_series_kernels import (
    ABSORBED,
    BASE,
    COMPRESSES,
    DEPTH,
    DIRECTION,
    EXPANDS,
    FORCE,
    FRICTION,
    GRIP,
    LEAST,
    LEAVES,
    LENGTH,
    OPEN,
    PHASE,
    PRESSED,
    RATE,
    REACH,
    RESTS,
    RETURNED,
    SLIDES,
    SLIP,
    STICKS,
    STIFFNESS,
    UNKNOWN,
    VELOCITY,
    first_fall,
    loose_forces,
    presses,
    response,
    step_length,
)
from .stronge_kernels import ORDER, horner
from .tolerances import (
    DISTRIBUTING_AT_REST,
    DISTRIBUTING_FADED,
    DISTRIBUTING_LEFT,
    DISTRIBUTING_LIGHT,
    DISTRIBUTING_LOCKED,
    DISTRIBUTING_RETURNED,
    DISTRIBUTING_RUNAWAY,
    DISTRIBUTING_SHARE,
    DISTRIBUTING_STARTED,
    DISTRIBUTING_STOPPED,
    DISTRIBUTING_ZERO,
)

COMPRESSION_ENDS, COMPRESSES_AGAIN, RESTITUTION_ENDS, PRESSES_AGAIN, SLIP_STOPS, SLIP_STARTS = (
    1,
    2,
    3,
    4,
    5,
    6,
)
RESOLVED, STEP_LIMIT, NEVER_RETURNS, WEDGED, IMMOVABLE = 0, 1, 2, 3, 4
BI_STIFFNESS, MONO_STIFFNESS = 0, 1


@kernel()
def stored(contacts, series, exponent, dim, i):
    """Potential energy of a contact, as far as force is concerned, K x^(η + 1)/(η + 1)."""
    x = series[DEPTH, dim * i, 0]
    return contacts[i, STIFFNESS] * x ** (exponent + 1.0) / (exponent + 1.0) if x > 0.0 else 0.0


@kernel()
def note(record, rows, i, code, impulse):
    """A row of the record: contact, what happened, impulse so far; the rows there are then."""
    if rows < record.shape[0]:
        record[rows, 0], record[rows, 1] = i, code
        for row in range(impulse.size):
            record[rows, 2 + row] = impulse[row]
        return rows + 1
    return rows


@kernel()
def end_compression(contacts, modes, series, exponent, dim, i, model):
    """A contact has ended its compression: what it does not return is lost. Whether nothing is returned."""
    energy = stored(contacts, series, exponent, dim, i)
    contacts[i, ABSORBED] += energy - contacts[i, BASE]
    share = contacts[i, RETURNED]
    modes[i, PHASE] = EXPANDS
    if share < DISTRIBUTING_RETURNED:
        modes[i, PHASE], modes[i, GRIP] = OPEN, UNKNOWN
        series[DEPTH, dim * i, 0] = 0.0
        return True
    if model == MONO_STIFFNESS:
        series[DEPTH, dim * i, 0] *= share ** (1.0 / (exponent + 1.0))
    else:
        contacts[i, RATE] = 1.0 / share
    return False


@kernel()
def slip_rate(series, dim, i):
    """γ·γ' of a contact, in the unit of the series."""
    rate = 0.0
    for e in range(1, dim):
        rate += series[VELOCITY, dim * i + e, 0] * series[VELOCITY, dim * i + e, 1]
    return rate


@kernel()
def stop_slip(contacts, modes, series, dim, i):
    """Slip of a contact has stopped; so has that of others that would stop by twice the time that is left here.
    False where it was only to start and was pushed back: friction just below its bound, that falls, holds it."""
    if modes[i, GRIP] == LEAVES:
        modes[i, GRIP] = UNKNOWN
        return False
    slip, rate = slip_of(series, dim, i), -slip_rate(series, dim, i)
    modes[i, GRIP] = RESTS
    for j in range(modes.shape[0]):
        if modes[j, GRIP] == SLIDES and presses(contacts, modes, series, dim, j):
            square, other = slip_of(series, dim, j) ** 2, -slip_rate(series, dim, j)
            if other > 0.0 and (square * rate <= 2.0 * slip * slip * other or square < DISTRIBUTING_ZERO**2):
                modes[j, GRIP] = RESTS
    return True


@kernel()
def happens(contacts, modes, series, law, dim, i, code, impulse, record, rows):
    """Let an event happen at a contact, and note it; how many rows the record has then."""
    exponent, model = law
    known = contacts[i, ABSORBED] > 0.0 or code == COMPRESSION_ENDS
    if code == COMPRESSION_ENDS:
        if end_compression(contacts, modes, series, exponent, dim, i, model):
            rows = note(record, rows, i, code, impulse)
            code = RESTITUTION_ENDS
    elif code == COMPRESSES_AGAIN or code == PRESSES_AGAIN:
        modes[i, PHASE], contacts[i, RATE] = COMPRESSES, 1.0
        contacts[i, BASE] = stored(contacts, series, exponent, dim, i)
    elif code == RESTITUTION_ENDS:
        modes[i, PHASE], modes[i, GRIP] = OPEN, UNKNOWN
        series[DEPTH, dim * i, 0] = 0.0
    elif code == SLIP_STOPS:
        known = stop_slip(contacts, modes, series, dim, i)
    return note(record, rows, i, code, impulse) if known else rows


@kernel()
def due_event(contacts, modes, series, dim, i):
    """What has happened at a contact by now and is not yet known of it, 0 for nothing."""
    velocity, presses_now = series[VELOCITY, dim * i, 0], presses(contacts, modes, series, dim, i)
    phase, switch = modes[i, PHASE], 0.9 * DISTRIBUTING_ZERO  # of those that switch together, all do
    if phase == OPEN:
        return PRESSES_AGAIN if velocity <= -switch else 0
    if phase == COMPRESSES and velocity >= switch:
        return COMPRESSION_ENDS if presses_now else RESTITUTION_ENDS
    if phase == EXPANDS and not presses_now:
        return RESTITUTION_ENDS
    return COMPRESSES_AGAIN if phase == EXPANDS and velocity <= -switch else 0


@kernel()
def know_grips(contacts, modes, series, dim):
    """Let contacts that slip be known to, with their directions; whether there are others that may stick or
    slip."""
    unknown = False
    for i in range(modes.shape[0]):
        if not modes[i, PRESSED]:
            continue
        slip, grip = slip_of(series, dim, i), modes[i, GRIP]
        if contacts[i, FRICTION] == 0.0:
            modes[i, GRIP] = SLIDES
            continue
        if grip in (UNKNOWN, LEAVES) and slip > DISTRIBUTING_STARTED:
            modes[i, GRIP] = SLIDES
        elif grip == SLIDES and slip < DISTRIBUTING_ZERO:
            modes[i, GRIP] = RESTS
        if modes[i, GRIP] == SLIDES:
            for e in range(1, dim):
                contacts[i, DIRECTION + e - 1] = series[VELOCITY, dim * i + e, 0] / slip
        unknown = unknown or modes[i, GRIP] in (UNKNOWN, RESTS)
    return unknown


@kernel()
def light_limit(contacts, modes, series, exponent, dim, unit, reach):
    """The step that leaves forces of contacts that begin too small to count."""
    for i in range(modes.shape[0]):
        if modes[i, PHASE] != COMPRESSES or modes[i, PRESSED]:
            continue
        for _ in range(200):
            x = horner(series[DEPTH, dim * i], ORDER, reach)
            force = contacts[i, STIFFNESS] * x**exponent if x > 0.0 else 0.0
            excess = force * contacts[i, REACH] * unit * reach / DISTRIBUTING_LIGHT
            if excess <= 1.0:
                break
            reach *= max(1e-3, 0.9 * excess ** (-1.0 / (exponent + 1.0)))
    return reach


@kernel()
def slip_fall(contacts, modes, series, work, dim, i, reach):
    """When slip of a contact in the direction that it has now stops, in units of the series."""
    row = dim * i
    for k in range(ORDER + 1):
        total = 0.0
        for e in range(1, dim):
            total += contacts[i, DIRECTION + e - 1] * series[VELOCITY, row + e, k]
        work[k] = total
    if modes[i, GRIP] == LEAVES:
        work[0] = max(work[0], 0.0) + DISTRIBUTING_STOPPED
    else:
        work[0] += -DISTRIBUTING_STOPPED if work[0] > DISTRIBUTING_STOPPED else DISTRIBUTING_STOPPED
    return first_fall(work, reach)


@kernel()
def grip_margin(contacts, series, dim, i, x):
    """By how much the largest friction of a contact exceeds its friction, at x."""
    row = dim * i
    first = horner(series[FORCE, row + 1], ORDER, x)
    second = horner(series[FORCE, row + 2], ORDER, x) if dim == 3 else 0.0
    return contacts[i, FRICTION] * horner(series[FORCE, row], ORDER, x) - np.sqrt(
        first * first + second * second
    )


@kernel()
def grip_fall(contacts, series, dim, i, reach, unit):
    """When friction of a contact that sticks reaches its bound, in units of the series."""
    if not grip_margin(contacts, series, dim, i, 0.0) > 0.0:
        return np.inf
    low = 0.0
    rounding = (
        -100.0 * DISTRIBUTING_ZERO / (unit * reach * contacts[i, REACH])
    )  # of the force that velocities show
    rounding -= DISTRIBUTING_SHARE * contacts[i, FRICTION] * series[FORCE, dim * i, 0]
    for part in range(1, 9):
        high = reach * part / 8
        if horner(series[FORCE, dim * i], ORDER, high) < DISTRIBUTING_FADED * series[FORCE, dim * i, 0]:
            break
        if grip_margin(contacts, series, dim, i, high) < rounding:
            for _ in range(60):
                middle = 0.5 * (low + high)
                if grip_margin(contacts, series, dim, i, middle) < rounding:
                    high = middle
                else:
                    low = middle
            return high
        low = high
    return np.inf


@kernel()
def normal_fall(modes, series, work, dim, i, reach):
    """The next event of the normal motion of a contact: (when, in units of the series, and what)."""
    phase = modes[i, PHASE]
    sign = -1.0 if phase == COMPRESSES else 1.0
    for k in range(ORDER + 1):
        work[k] = sign * series[VELOCITY, dim * i, k]
    work[0] += DISTRIBUTING_ZERO
    at = first_fall(work, reach)
    if phase == OPEN:
        return at, PRESSES_AGAIN
    if phase == COMPRESSES:
        return at, COMPRESSION_ENDS
    ends = first_fall(series[DEPTH, dim * i], reach)
    if ends <= at:
        return ends, RESTITUTION_ENDS
    return at, COMPRESSES_AGAIN


@kernel()
def first_event(contacts, modes, series, work, dim, reach, unit):
    """The first event within `reach`: (when, contact, what), contact -1 where there is none."""
    who, code = -1, 0
    for i in range(modes.shape[0]):
        light = modes[i, PHASE] == COMPRESSES and not modes[i, PRESSED]
        if not light:
            at, what = normal_fall(modes, series, work, dim, i, reach)
            if at < reach or (at == reach and who < 0):
                reach, who, code = at, i, what
        if not modes[i, PRESSED] or contacts[i, FRICTION] == 0.0:
            continue
        if modes[i, GRIP] in (SLIDES, LEAVES):
            at = slip_fall(contacts, modes, series, work, dim, i, reach)
            if at < reach or (at == reach and who < 0):
                reach, who, code = at, i, SLIP_STOPS
        elif modes[i, GRIP] == STICKS:
            at = grip_fall(contacts, series, dim, i, reach, unit)
            if at < reach or (at == reach and who < 0):
                reach, who, code = at, i, SLIP_STARTS
    return reach, who, code


@kernel()
def advance(contacts, modes, series, impulse, dim, unit, reach):
    """Go on by `reach` units: impulses, velocities and compressions. The rates of slip stay in the series."""
    for row in range(impulse.size):
        force = series[FORCE, row]
        total = force[ORDER] / (ORDER + 1)
        for k in range(ORDER - 1, -1, -1):
            total = total * reach + force[k] / (k + 1)
        impulse[row] += unit * reach * total
        velocity = series[VELOCITY, row]
        slope = ORDER * velocity[ORDER]
        for k in range(ORDER - 1, 0, -1):
            slope = slope * reach + k * velocity[k]
        velocity[0] = horner(velocity, ORDER, reach)
        velocity[1] = slope
    for i in range(modes.shape[0]):
        if dim == 3 and modes[i, GRIP] == LEAVES and modes[i, PRESSED]:
            c = horner(series[SLIP, dim * i + 1], ORDER, reach)
            s = horner(series[SLIP, dim * i + 2], ORDER, reach)
            length = np.sqrt(c * c + s * s)
            contacts[i, DIRECTION], contacts[i, DIRECTION + 1] = c / length, s / length
        depth = series[DEPTH, dim * i]
        depth[0] = max(horner(depth, ORDER, reach), 0.0) if modes[i, PHASE] != OPEN else 0.0


@kernel()
def ended(contacts, series, threshold, exponent, dim):
    """Whether nothing approaches any more and what is stored cannot move anything."""
    for i in range(contacts.shape[0]):
        if series[VELOCITY, dim * i, 0] < threshold[i]:
            return False
        energy = stored(contacts, series, exponent, dim, i)
        if 2.0 * contacts[i, REACH] * energy > DISTRIBUTING_LEFT * DISTRIBUTING_LEFT:
            return False
    return True


@kernel()
def stuck(W, contacts, modes, series, dim):
    """How the impact can go on for ever, RESOLVED where that is not seen: a contact runs away, or all are
    wedged."""
    moves, pressed = False, False
    for i in range(modes.shape[0]):
        row = dim * i
        if series[DEPTH, row, 0] > DISTRIBUTING_RUNAWAY * contacts[i, LENGTH]:
            return NEVER_RETURNS
        if modes[i, PRESSED]:
            pull = 0.0
            pressed = True
            for j in range(series.shape[1]):
                pull = max(pull, abs(W[row, j] * series[FORCE, j, 0]))
            moves = moves or abs(series[VELOCITY, row, 0]) > DISTRIBUTING_AT_REST
            moves = moves or abs(response(W, modes, series, dim, row, 0)) > DISTRIBUTING_LOCKED * pull
        else:
            moves = moves or series[VELOCITY, row, 0] < -DISTRIBUTING_ZERO
    return RESOLVED if moves or not pressed else WEDGED


@kernel()
def start(W, contacts, modes, series, u, exponent, dim):
    """Contacts before the impact: all open; lengths, responses, velocities. Whether one cannot move that
    approaches."""
    series[:, :, :] = 0.0
    barred = False
    for i in range(contacts.shape[0]):
        row = dim * i
        modes[i, PHASE], modes[i, GRIP] = OPEN, UNKNOWN
        contacts[i, RATE], contacts[i, BASE], contacts[i, ABSORBED] = 1.0, 0.0, 0.0
        own = W[row, row]
        contacts[i, LENGTH] = (
            (1.0 / (own * contacts[i, STIFFNESS])) ** (1.0 / (exponent + 1.0)) if own > 0.0 else 1e300
        )
        contacts[i, LEAST] = contacts[i, LENGTH] * DISTRIBUTING_LIGHT ** (1.0 / exponent)
        contacts[i, REACH] = 0.0
        for j in range(u.size):
            contacts[i, REACH] = max(contacts[i, REACH], abs(W[j, row]))
        barred = barred or (not own > 0.0 and u[row] < 0.0)
    for row in range(u.size):
        series[VELOCITY, row, 0] = u[row]
    return barred


@kernel()
def cut_back(contacts, impulse, dim):
    """Bring impulses that rounding has put outside their cones back into them."""
    for i in range(contacts.shape[0]):
        row = dim * i
        square = 0.0
        for e in range(1, dim):
            square += impulse[row + e] * impulse[row + e]
        length, bound = np.sqrt(square), contacts[i, FRICTION] * impulse[row]
        if length > bound:
            for e in range(1, dim):
                impulse[row + e] *= bound / length


@kernel()
def due_events(contacts, modes, series, law, dim, impulse, record, rows):
    """Let all happen that has happened by now: (rows of the record, whether anything did)."""
    switched = False
    for i in range(modes.shape[0]):
        code = due_event(contacts, modes, series, dim, i)
        if code:
            rows = happens(contacts, modes, series, law, dim, i, code, impulse, record, rows)
            switched = True
    return rows, switched


@kernel()
def prepare(W, contacts, modes, series, hold, exponent, dim, unsettled, ready):
    """Know which contacts press, slide, stick and start to slip, and what is needed to hold those that stick;
    whether the operator of `grip_operator` serves, `ready` if it did before."""
    for i in range(modes.shape[0]):
        modes[i, PRESSED] = presses(contacts, modes, series, dim, i)
    unsettled = know_grips(contacts, modes, series, dim) or unsettled
    resting = 0
    for i in range(modes.shape[0]):
        if modes[i, PRESSED] and modes[i, GRIP] != SLIDES:
            resting += 1
    if resting == 0 or (resting == 1 and not unsettled):
        return ready
    loose_forces(contacts, modes, series, exponent, dim, 0)
    if unsettled:
        settle_grips(W, contacts, modes, series, hold, dim)
    grip_inverse(W, contacts, modes, series, hold, dim, 0)
    return grip_operator(modes, hold, dim)


@kernel(allocates=True)
def distribute(W, u, contacts, threshold, law, dim, most, record, impulse):
    """One impact of contacts (n, COLUMNS), of which STIFFNESS, FRICTION and RETURNED are given.

    `threshold` (n,) is the normal velocity below which a contact approaches; `law` the exponent and how energy is
    lost. Fills the impulse and a row of `record` for each event: (contact, code, impulse so far). Returns (how it
    ended, rows, steps)."""
    exponent = law[0]
    series, hold = np.empty((4, u.size, ORDER + 1)), np.zeros((4, u.size, max(u.size, 6)))
    modes, work = np.zeros((threshold.size, 3), np.int64), np.empty(ORDER + 1)
    impulse[:] = 0.0
    if start(W, contacts, modes, series, u, exponent, dim):
        return IMMOVABLE, 0, 0
    unit = np.inf
    for i in range(threshold.size):
        unit = min(unit, contacts[i, LENGTH])
    rows, who, code = 0, -1, 0
    unsettled, ready = True, False
    for steps in range(most):
        rows, switched = due_events(contacts, modes, series, law, dim, impulse, record, rows)
        if ended(contacts, series, threshold, exponent, dim):
            for i in range(threshold.size):
                if presses(contacts, modes, series, dim, i):
                    rows = happens(
                        contacts, modes, series, law, dim, i, RESTITUTION_ENDS, impulse, record, rows
                    )
            cut_back(contacts, impulse, dim)
            return RESOLVED, rows, steps
        ready = prepare(W, contacts, modes, series, hold, exponent, dim, unsettled or switched, ready)
        if code == SLIP_STARTS and modes[who, GRIP] == LEAVES:
            rows = note(record, rows, who, code, impulse)
        reach = 0.0
        for _ in range(100):
            expand(W, contacts, modes, series, hold, (exponent, unit, ready), dim)
            reach = step_length(contacts, modes, series, dim, unit)
            if reach > 0.0:
                break
            unit *= 1e-3
        ending = stuck(W, contacts, modes, series, dim)
        if ending != RESOLVED or not reach > 0.0:
            cut_back(contacts, impulse, dim)
            return (ending if ending != RESOLVED else NEVER_RETURNS), rows, steps
        reach = light_limit(contacts, modes, series, exponent, dim, unit, reach)
        at, who, code = first_event(contacts, modes, series, work, dim, reach, unit)
        advance(contacts, modes, series, impulse, dim, unit, at)
        unsettled = who >= 0
        if who >= 0 and code != SLIP_STARTS:
            rows = happens(contacts, modes, series, law, dim, who, code, impulse, record, rows)
        unit = min(max(unit * reach, 1e-3 * unit), 1e3 * unit)
    return STEP_LIMIT, rows, most


@kernel(allocates=True, parallel=True)
def distribute_batch(W, u, contacts, threshold, law, dim, most, impulses, endings):
    """Independent impacts: contacts (N, n, COLUMNS), W and u of all or of one that all share, threshold (N or 1,
    n). Fills impulses (N, m) and endings (N, 2): how each ended, and its steps."""
    count = impulses.shape[0]
    for k in numba.prange(count):
        record = np.empty((0, 2 + impulses.shape[1]))
        status, _, steps = distribute(
            W[k % W.shape[0]], u[k % u.shape[0]], contacts[k], threshold[k % threshold.shape[0]], law, dim, most,
            record, impulses[k],
        )  # fmt: skip
        endings[k, 0] = status
        endings[k, 1] = steps
