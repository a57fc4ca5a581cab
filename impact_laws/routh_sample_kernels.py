"""Compiled samples of the set-valued law: which contacts press how fast, and what each returns when it has stopped.

A sample is a loop: which contacts ask for an impulse, bounds of their impulses, one step, what it did to their
stores of energy. Three ways of drawing the bounds:

INDEPENDENT  every contact anew in every step, evenly between 0 and the step: Algorithm 1 of Halm & Posa.
PERSISTENT   every contact keeps its rate for a random length of impulse. A step is as long as the next change of a
             rate allows, at most the step of the law, and the fastest contact that asks takes all of it.
IN_TURN      one contact alone until it asks no more, then another, drawn among those that ask.
"""

from typing import NamedTuple

import numba
import numpy as np

from ..compiled import kernel
from .lcp_kernels import SOLVED, impulse_in_cones, solve_lcp_from
from .routh_kernels import MOST_BRANCHES, assemble_step, fill_step, planar_step_solutions
from .tolerances import (
    RETURN_ACCURACY,
    RETURN_JAMMED,
    RETURN_SPENT,
    RETURN_TRIES,
    ROUTH_IN_TURN,
    ROUTH_LONGEST,
    ROUTH_RESTITUTIONS,
    ROUTH_SHORTEST,
    ROUTH_SHORTEST_STEP,
    ROUTH_SPREAD,
    STEP_GAIN,
)

Floats = np.ndarray
Wholes = np.ndarray

FINISHED, STEP_LIMIT, UNSOLVED, GAINED = 0, 1, 2, 3
FIRST_BRANCH, ALL_BRANCHES, RANDOM_COVERS = 0, 1, 2
INDEPENDENT, PERSISTENT, IN_TURN = 0, 1, 2
INELASTIC, POISSON, ENERGETIC = 0, 1, 2
STEP, RESTITUTION = 0, 1

UNIT = 1.1102230246251565e-16  # 2**-53: words of 53 bits as numbers in [0, 1)
FAR = 16.0  # [largest velocity, or the first approach] a contact that returns energy does not get there in a step


class System(NamedTuple):
    """Arrays of a problem in the units of the law, and the law's choices.

    W (dim*nc, dim*nc); u0 (dim*nc,); friction, restitution (nc, 2): least and largest; directions (edges, dim - 1);
    scale (nc,): √W_nn; component_scale (dim*nc,): √W_ii; step (nc,): largest impulse of a step; stop (nc,): impulse
    that stops the fastest contact alone; threshold: approach u_n/√W_nn that counts; noise: of every solve;
    choices (4,): branches, rates, restitution, whether friction or restitution is drawn
    """

    W: Floats
    u0: Floats
    friction: Floats
    restitution: Floats
    directions: Floats
    scale: Floats
    component_scale: Floats
    step: Floats
    stop: Floats
    threshold: float
    noise: float
    choices: Wholes


class Work(NamedTuple):
    """What one sample changes.

    drawn (2, nc): its friction and restitution; M, q, z: its complementarity problem; impulses, velocities (k,
    dim*nc): solutions of a step; part, asked (dim*nc,): of the step its impulse, and the velocity before it, less
    what it is to have after it; bounds (nc,); asks (nc,) bool: contacts that approach or have energy to return;
    rates, left (nc,): rate and how much longer it holds [stop]; store, fresh (nc,): energy to return, before and
    after a step; habit (5,): mean length, share of contacts that press, share of rates that are all or nothing,
    which branch and how much longer; cover (1,): of Lemke's method; chosen (1,): the contact whose turn it is;
    compressed (dim*nc,): impulse of this compression; ready (1,): whether M is
    """

    drawn: Floats
    M: Floats
    q: Floats
    z: Floats
    impulses: Floats
    velocities: Floats
    part: Floats
    asked: Floats
    bounds: Floats
    asks: Floats
    rates: Floats
    left: Floats
    store: Floats
    fresh: Floats
    habit: Floats
    cover: Wholes
    chosen: Wholes
    compressed: Floats
    ready: Wholes


class Stream(NamedTuple):
    """Numbers in [0, 1): those of `points`, then random ones. state (2,): of the generator, and how many were
    used."""

    points: Floats
    state: Wholes


@kernel()
def scrambled(state):
    """The next state of a 64-bit counter and a well mixed word of it (splitmix64: Steele, Lea & Flood 2014)."""
    state = state + np.uint64(0x9E3779B97F4A7C15)
    word = state
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state, word ^ (word >> np.uint64(31))


@kernel()
def first_state(seed, index):
    """Start of the random sequence of one sample, the same on any number of threads."""
    _, word = scrambled(np.uint64(seed))
    _, word = scrambled(word ^ (np.uint64(index) * np.uint64(0xD1342543DE82EF95)))
    return word


@kernel()
def random_word(stream):
    """The next 64 bits."""
    state, word = scrambled(stream.state[0])
    stream.state[0] = state
    return word


@kernel()
def uniform(stream):
    """The next number in [0, 1): a given one, then random ones."""
    used = np.int64(stream.state[1])
    if used < stream.points.size:
        stream.state[1] += np.uint64(1)
        return stream.points[used]
    return np.float64(random_word(stream) >> np.uint64(11)) * UNIT


@kernel()
def log_uniform(x):
    """A length of impulse between the shortest and the longest, even in its logarithm for even x in [0, 1)."""
    return ROUTH_SHORTEST * (ROUTH_LONGEST / ROUTH_SHORTEST) ** x


@kernel(allocates=True)
def workspace(system):
    """Room for samples of a problem."""
    contacts, size = system.scale.size, system.u0.size
    unknowns = 2 * contacts
    for c in range(contacts):
        if system.friction[c, 1] > 0.0:
            unknowns += system.directions.shape[0] + 1
    several = MOST_BRANCHES if system.choices[0] == ALL_BRANCHES else 0
    return Work(
        np.empty((2, contacts)), np.empty((unknowns, unknowns)), np.empty(unknowns), np.empty(unknowns),
        np.empty((several, size)), np.empty((several, size)), np.empty(size), np.empty(size), np.empty(contacts),
        np.zeros(contacts, np.bool_), np.empty(contacts), np.empty(contacts), np.empty(contacts),
        np.empty(contacts), np.empty(5), np.empty(1, np.int64), np.empty(1, np.int64), np.empty(size),
        np.zeros(1, np.int64),
    )  # fmt: skip


@kernel()
def draw_coefficients(system, work, stream):
    """Friction and restitution of a sample, evenly within their intervals."""
    for c in range(system.scale.size):
        for row, interval in enumerate((system.friction[c], system.restitution[c])):
            width = interval[1] - interval[0]
            work.drawn[row, c] = interval[1]
            if width > 0.0:  # never 0 where friction can be more: the size of the problem depends on it
                work.drawn[row, c] -= width * uniform(stream)


@kernel()
def begin(system, work, stream):
    """What a sample keeps up: how it draws rates; returns one of the three ways."""
    rates = system.choices[1]
    work.store[:] = 0.0
    work.compressed[:] = 0.0
    work.rates[:] = 0.0
    work.left[:] = 0.0
    work.habit[4] = 0.0
    work.chosen[0] = -1
    if rates == INDEPENDENT:
        return rates
    if system.scale.size > 1 and uniform(stream) < ROUTH_IN_TURN:
        rates = IN_TURN
    work.habit[0] = log_uniform(uniform(stream))
    work.habit[1] = uniform(stream)
    work.habit[2] = uniform(stream)
    return rates


@kernel()
def find_asking(system, work, u):
    """Mark contacts that approach or have energy to return; returns how many."""
    dim = system.directions.shape[1] + 1
    count = 0
    for c in range(system.scale.size):
        approach = u[dim * c] / system.scale[c]
        work.asks[c] = approach < system.threshold or work.store[c] > 0.0
        count += work.asks[c]
    return count


@kernel()
def one_that_asks(work, count, stream):
    """One contact, drawn evenly among the `count` that ask."""
    place = np.int64(uniform(stream) * count)
    for c in range(work.asks.size):
        if work.asks[c]:
            if place == 0:
                return c
            place -= 1
    return -1


@kernel()
def draw_rate(work, c, stream):
    """A new rate of a contact, and for how long: all or nothing in a share of cases, else evenly in [0, 1)."""
    rate = uniform(stream)
    if uniform(stream) < work.habit[2]:
        rate = 1.0 if rate < work.habit[1] else 0.0
    work.rates[c] = rate
    work.left[c] = work.habit[0] * ROUTH_SPREAD ** (2.0 * uniform(stream) - 1.0)


@kernel()
def bound_in_turn(system, work, count, stream):
    """The contact whose turn it is may press, others not."""
    chosen = work.chosen[0]
    if chosen < 0 or not work.asks[chosen]:
        chosen = one_that_asks(work, count, stream)
        work.chosen[0] = chosen
    work.bounds[:] = 0.0
    work.bounds[chosen] = system.step[chosen]
    return 0.0


@kernel()
def bound_persistently(system, work, count, stream):
    """Bounds at the rates of the contacts, up to the next change of one that asks; returns the length [stop]."""
    contacts = system.scale.size
    longest, fastest, step = np.inf, 0.0, 0.0
    for c in range(contacts):
        if work.left[c] <= 0.0:
            draw_rate(work, c, stream)
        if work.asks[c]:
            longest = min(longest, work.left[c])
            fastest = max(fastest, work.rates[c])
        step = max(step, system.step[c] / system.stop[c])
    if fastest == 0.0:
        work.rates[one_that_asks(work, count, stream)] = fastest = 1.0
    length = step
    if contacts > 1:
        length = min(step, max(longest, ROUTH_SHORTEST_STEP * step))
    for c in range(contacts):
        work.bounds[c] = system.step[c] * (length / step) * min(work.rates[c] / fastest, 1.0)
        work.left[c] -= length
    return length


@kernel()
def choose_bounds(system, work, rates, count, stream):
    """Bounds of the impulses of a step, and which of its solutions is taken."""
    length = np.inf
    if rates == INDEPENDENT:
        for c in range(system.scale.size):
            work.bounds[c] = system.step[c] * uniform(stream)
    elif rates == IN_TURN:
        length = bound_in_turn(system, work, count, stream)
    else:
        length = bound_persistently(system, work, count, stream)
    if system.choices[0] == FIRST_BRANCH:
        work.cover[0] = 0
    elif work.habit[4] <= 0.0:
        word = random_word(stream)
        work.cover[0] = np.int64(1 + word % np.uint64(2147483646))
        work.habit[3] = np.float64(word >> np.uint64(11)) * UNIT
        word = random_word(stream)
        if rates != INDEPENDENT:
            work.habit[4] = log_uniform(np.float64(word >> np.uint64(11)) * UNIT)
    if rates != INDEPENDENT:
        work.habit[4] -= length


@kernel(allocates=True)
def solve_pressing(work, edges):
    """Solve the complementarity problem of a step for its contacts that may press; others, often most of them, have
    no impulse. Whether it is solved."""
    friction, bounds, contacts = work.drawn[0], work.bounds, work.bounds.size
    rows, count, rubbing = np.empty(work.q.size, np.int64), 0, 0
    for part in range(2):  # slacks and normal impulses
        for c in range(contacts):
            rubbing += part == 0 and friction[c] > 0.0
            if bounds[c] > 0.0:
                rows[count] = part * contacts + c
                count += 1
    for part in range(2):  # impulses along edges and bounds of slip
        row, size = 2 * contacts + part * edges * rubbing, 1 if part else edges
        for c in range(contacts):
            if friction[c] > 0.0:
                for k in range(size if bounds[c] > 0.0 else 0):
                    rows[count] = row + k
                    count += 1
                row += size
    if count == work.q.size:
        ended, _, _, _ = solve_lcp_from(work.M, work.q, work.cover[0], work.z)
        return ended == SOLVED
    M, q, z = np.empty((count, count)), np.empty(count), np.empty(count)
    for i in range(count):
        q[i] = work.q[rows[i]]
        for j in range(count):
            M[i, j] = work.M[rows[i], rows[j]]
    ended, _, _, _ = solve_lcp_from(M, q, work.cover[0], z)
    work.z[:] = 0.0
    for i in range(count):
        work.z[rows[i]] = z[i]
    return ended == SOLVED


@kernel(allocates=True)
def solve_step(system, work):
    """The impulse of a step from `asked` velocities; returns how many solutions were known, 0 none found."""
    found = 0
    if system.choices[0] == ALL_BRANCHES:
        found = planar_step_solutions(
            system.W, work.asked, work.drawn[0], work.bounds, system.component_scale, work.impulses,
            work.velocities,
        )  # fmt: skip
    if found > 0:
        chosen = min(np.int64(work.habit[3] * found), found - 1)
        work.part[:] = work.impulses[chosen]
        return found
    fill_step(work.asked, work.drawn[0], system.directions, work.bounds, work.q)
    if not solve_pressing(work, system.directions.shape[0]):
        return 0
    impulse_in_cones(work.z[work.bounds.size :], work.drawn[0], system.directions, work.part)
    return 1


@kernel()
def gain_of(W, u, part):
    """Kinetic energy that an impulse adds from velocities u."""
    gain = 0.0
    for i in range(u.size):
        response = 0.0
        for j in range(u.size):
            response += W[i, j] * part[j]
        gain += part[i] * (u[i] + 0.5 * response)
    return gain


@kernel()
def response_at(W, part, i):
    """Velocity that an impulse adds to component i."""
    response = 0.0
    for j in range(part.size):
        response += W[i, j] * part[j]
    return response


@kernel()
def returning_impulse(energy, velocity, slope):
    """The impulse b in which a velocity that grows by `slope` returns an energy: b (velocity + slope b/2) = energy.

    Infinite where velocity falls to zero before.
    """
    square = velocity * velocity + 2.0 * slope * energy
    if square <= 0.0:
        return np.inf
    bottom = velocity + np.sqrt(square)
    return 2.0 * energy / bottom if bottom > 0.0 else np.inf


@kernel()
def velocity_of_return(system, u, c):
    """Normal velocity of a contact that has stopped; what rounding leaves of its approach is none."""
    velocity = u[(system.directions.shape[1] + 1) * c]
    return velocity if velocity > -system.threshold * system.scale[c] else 0.0


@kernel()
def ask_for_returns(system, work, u, allowed):
    """Let contacts with energy to return press beyond zero velocity; bounds at most `allowed` (nc,).

    Others ask to be stopped. `asked` becomes the velocity less what the contact is to have.
    """
    dim = system.directions.shape[1] + 1
    largest = system.stop[0] * system.scale[0]
    for i in range(u.size):
        work.asked[i] = u[i]
        largest = max(largest, abs(u[i]) / system.component_scale[i])
    for c in range(allowed.size):
        if returns(system, work, u, c):
            work.asked[dim * c] -= FAR * largest * system.scale[c]
            work.bounds[c] = allowed[c]


@kernel()
def energy_alone(system):
    """The energy of the fastest contact alone."""
    return 0.5 * (system.stop[0] * system.scale[0]) ** 2


@kernel()
def returns(system, work, u, c):
    """Whether a contact has stopped and has energy to return."""
    dim = system.directions.shape[1] + 1
    return work.store[c] > 0.0 and u[dim * c] / system.scale[c] >= system.threshold


@kernel()
def account(system, work, u, lost, safely):
    """Fill `fresh`, the energy that contacts have to return after a step; False where the step gained energy.

    `lost` is what the impact has taken from the motion before this step. A contact's work is its normal impulse
    times its mean normal velocity: what it stores counts with e², what it returns in full.
    """
    dim = system.directions.shape[1] + 1
    lost -= gain_of(system.W, u, work.part)
    kept = stored = 0.0
    for c in range(work.store.size):
        done = normal_work(system, work, u, c)
        own = 0.5 * system.W[dim * c, dim * c] * work.part[dim * c] ** 2
        work.fresh[c] = work.store[c]
        if own > 0.0 and abs(done) <= RETURN_JAMMED * own and returns(system, work, u, c):
            work.fresh[c] = 0.0
        elif done < 0.0:
            stored -= work.drawn[1, c] ** 2 * done
        elif returns(system, work, u, c):
            if safely:
                done += 0.5 * work.part[dim * c] * max(response_at(system.W, work.part, dim * c), 0.0)
            left = work.store[c] - done
            work.fresh[c] = left if left > RETURN_SPENT * work.store[c] else 0.0
        kept += work.fresh[c]
    if lost < -RETURN_SPENT * energy_alone(system) and not safely:
        return False
    if kept > lost:
        for c in range(work.store.size):
            work.fresh[c] *= max(lost, 0.0) / kept
        return True
    share = min(1.0, (lost - kept) / stored) if stored > 0.0 else 0.0
    for c in range(work.store.size):
        work.fresh[c] -= share * work.drawn[1, c] ** 2 * min(normal_work(system, work, u, c), 0.0)
    return True


@kernel()
def normal_work(system, work, u, c):
    """Work of a contact's normal impulse in a step: the impulse times the mean normal velocity."""
    i = (system.directions.shape[1] + 1) * c
    return work.part[i] * (u[i] + 0.5 * response_at(system.W, work.part, i))


@kernel()
def corrected(system, work, u, allowed, full):
    """Bring the impulses of contacts that return energy nearer to what returns all of it; whether any changed."""
    dim = system.directions.shape[1] + 1
    changed = False
    for c in range(allowed.size):
        force = work.part[dim * c]
        if force <= 0.0 or not returns(system, work, u, c):
            continue
        rise = response_at(system.W, work.part, dim * c)
        over = normal_work(system, work, u, c) - work.store[c]
        if over > RETURN_ACCURACY * work.store[c] or (
            over < -RETURN_ACCURACY * work.store[c] and allowed[c] < full[c]
        ):
            wanted = min(
                returning_impulse(work.store[c], velocity_of_return(system, u, c), rise / force), full[c]
            )
            changed |= wanted != allowed[c]
            allowed[c] = wanted
    return changed


@kernel(allocates=True)
def energetic_step(system, work, u, lost, solves):
    """A step in which contacts that approach are compressed and contacts that have stopped return energy.

    Impulses that return energy are corrected until each returns what it has, or all that its rate allows. Where
    stores would hold more than was lost, the step is repeated with contacts kept below a velocity at which they
    return no more than they have; see `SetValuedRouth`. Returns (solutions known, problems solved).
    """
    dim = system.directions.shape[1] + 1
    full, allowed = work.bounds.copy(), work.bounds.copy()
    for c in range(full.size):
        if returns(system, work, u, c):
            inertia = system.W[dim * c, dim * c]
            free = returning_impulse(work.store[c], velocity_of_return(system, u, c), inertia)
            allowed[c] = min(full[c], free)
    for _ in range(RETURN_TRIES):
        ask_for_returns(system, work, u, allowed)
        found = solve_step(system, work)
        solves += 1
        if found == 0:
            return found, solves
        if not corrected(system, work, u, allowed, full):
            break
    if account(system, work, u, lost, False):
        return found, solves
    work.bounds[:] = allowed
    for c in range(full.size):
        work.asked[dim * c] = u[dim * c]
        if returns(system, work, u, c) and allowed[c] > 0.0:
            work.asked[dim * c] -= work.store[c] / allowed[c]
    found = solve_step(system, work)
    if not account(system, work, u, lost, False):
        account(system, work, u, lost, True)
    return found, solves + 1


@kernel()
def restitution_share(W, u0, impulse, extra):
    """The largest share, at most 1, of `extra` impulse that leaves the kinetic energy at most what it was."""
    constant = linear = square = 0.0
    for i in range(u0.size):
        of_impulse = of_extra = 0.0
        for j in range(u0.size):
            of_impulse += W[i, j] * impulse[j]
            of_extra += W[i, j] * extra[j]
        constant += impulse[i] * (u0[i] + 0.5 * of_impulse)
        linear += extra[i] * (u0[i] + of_impulse)
        square += 0.5 * extra[i] * of_extra
    if constant + linear + square <= 0.0:
        return 1.0
    if constant >= 0.0 or square <= 0.0:
        return 0.0
    root = np.sqrt(linear * linear - 4.0 * square * constant)
    share = -2.0 * constant / (linear + root) if linear > 0.0 else (root - linear) / (2.0 * square)
    return min(1.0, share * (1.0 - 1e-14))


@kernel()
def poisson_return(system, work, impulse):
    """What all contacts return of the compression that has ended; False where there is nothing."""
    dim = system.directions.shape[1] + 1
    total = 0.0
    for i in range(impulse.size):
        work.part[i] = work.drawn[1, i // dim] * work.compressed[i]
        work.compressed[i] = 0.0
        total += abs(work.part[i])
    if total == 0.0:
        return False
    share = restitution_share(system.W, system.u0, impulse, work.part)
    for i in range(impulse.size):
        work.part[i] *= share
    return True


@kernel()
def advance(system, work, u, impulse, noisy, stream):
    """Add a step to the impulse and the velocities; returns the energy gained.

    `noisy` steps leave an error in the velocities, as an inaccurate solver does.
    """
    gain = gain_of(system.W, u, work.part)
    for i in range(u.size):
        impulse[i] += work.part[i]
        u[i] += response_at(system.W, work.part, i)
        if noisy and system.noise > 0.0:
            first = (np.float64(random_word(stream) >> np.uint64(11)) + 0.5) * UNIT
            second = np.float64(random_word(stream) >> np.uint64(11)) * UNIT
            u[i] += system.noise * np.sqrt(-2.0 * np.log(first)) * np.cos(2.0 * np.pi * second)
    return gain


@kernel()
def redraw_if_stalled(system, work):
    """Give up rates and branch after a step that stopped nothing, which rounding near the end can repeat for
    ever."""
    dim = system.directions.shape[1] + 1
    for c in range(work.left.size):
        if work.part[dim * c] * system.scale[c] >= -system.threshold:
            return
    work.left[:] = 0.0
    work.habit[4] = 0.0
    work.chosen[0] = -1


@kernel(allocates=True)
def one_sample(system, work, stream, limit, impulse, u, stages, kinds):
    """One impact: steps until no contact asks for an impulse.

    `impulse` and `u` (dim*nc,) receive the outcome; `stages` (limit or 0, dim*nc) the cumulative impulses and
    `kinds` whether each was a step or all contacts' restitution. A step that gains energy where none is returned,
    against Theorem 7, ends the sample. Returns (status, stages, solved problems, branched steps).
    """
    restitution = system.choices[2]
    impulse[:] = 0.0
    u[:] = system.u0
    draw_coefficients(system, work, stream)
    if system.choices[3] != 0 or work.ready[0] == 0:
        assemble_step(system.W, work.drawn[0], system.directions, work.M, work.q)
        work.ready[0] = 1
    rates = begin(system, work, stream)
    energy = energy_alone(system)
    lost = 0.0
    made = solves = branched = returned = 0
    closing = False
    while True:
        count = find_asking(system, work, u)
        kind = STEP
        if count == 0:
            if restitution != POISSON or closing or returned == ROUTH_RESTITUTIONS:
                return FINISHED, made, solves, branched
            if not poisson_return(system, work, impulse):
                return FINISHED, made, solves, branched
            kind = RESTITUTION
            returned += 1
        if made == limit:
            return STEP_LIMIT, made, solves, branched
        storing = False
        if kind == STEP:
            choose_bounds(system, work, rates, count, stream)
            for c in range(work.store.size):
                storing |= work.store[c] > 0.0
            if restitution == ENERGETIC:
                found, solves = energetic_step(system, work, u, lost, solves)
            else:
                work.asked[:] = u
                found, solves = solve_step(system, work), solves + 1
            if found == 0:
                return UNSOLVED, made, solves, branched
            branched += found > 1
            work.compressed[:] += work.part
        redraw_if_stalled(system, work)
        gain = advance(system, work, u, impulse, kind == STEP, stream)
        lost -= gain
        if restitution == ENERGETIC:
            for c in range(work.store.size):
                work.store[c] = work.fresh[c] if work.fresh[c] > RETURN_SPENT * energy else 0.0
        if stages.shape[0] > 0:
            stages[made] = impulse
            kinds[made] = kind
        made += 1
        if kind == STEP and not storing and gain > STEP_GAIN * energy:
            return GAINED, made, solves, branched
        closing = kind == RESTITUTION


@kernel(allocates=True, vectorised=True)
def sample_with_path(system, seed, stages, kinds, drawn):
    """The first sample of a seed with its stages, at most as many as there is room; `drawn` (2, nc) receives its
    friction and restitution. Returns as `one_sample`."""
    work = workspace(system)
    state = np.zeros(2, np.uint64)
    state[0] = first_state(seed, 0)
    stream = Stream(np.empty(0), state)
    impulse, u = np.empty(system.u0.size), np.empty(system.u0.size)
    ended = one_sample(system, work, stream, stages.shape[0], impulse, u, stages, kinds)
    drawn[:] = work.drawn
    return ended


@kernel(allocates=True, parallel=True, vectorised=True)
def many_samples(system, seed, first, limit, points, impulses, velocities, counts):
    """Samples first..first + n - 1, in parallel; each has its own random sequence.

    `counts` (3, n) receives status, solved problems and branched steps.
    """
    count = counts.shape[1]
    chunks = (count + 255) // 256
    for chunk in numba.prange(chunks):
        work = workspace(system)
        stages, kinds = np.empty((0, system.u0.size)), np.empty(0, np.int64)
        state = np.empty(2, np.uint64)
        for k in range(256 * chunk, min(256 * (chunk + 1), count)):
            state[0] = first_state(seed, first + k)
            state[1] = 0
            stream = Stream(points[k], state)
            counts[0, k], _, counts[1, k], counts[2, k] = one_sample(
                system, work, stream, limit, impulses[k], velocities[k], stages, kinds
            )
