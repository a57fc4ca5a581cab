"""Impact laws as the loop calls them: each reads the event's problem and leaves impulses in its contacts.

A law returns RESOLVED, a code of its own that `laws.py` turns into its status and message, or NEEDS_PYTHON where
its class has to resolve the event: what it does beyond these kernels is seldom needed. What happened on the way
goes into the table of stages.
"""

import numpy as np

from ...compiled import call, kernel, part
from ...impact_laws.lcp_kernels import SOLVED, solve_lcp_kernel
from ...impact_laws.newton_kernels import NEWTON_AT_ONCE, good_enough, newton_dense, passes
from ...impact_laws.outcome_kernels import meets, work_of
from ...impact_laws.reflection_kernels import FEASIBLE, IMMOVABLE, TOO_MANY, reflect
from ...impact_laws.relaxation_kernels import (
    FEW_SWEEPS,
    MAXIMUM_DISSIPATION,
    ask_for_normal_velocity,
    frames_of,
    relax_and_judge,
)
from ...impact_laws.sequential_lcp_kernels import RECORD_FULL as ROOM_USED
from ...impact_laws.sequential_lcp_kernels import resolve_in_turn
from ...impact_laws.stronge_kernels import RECORD_FULL, RESTITUTION_ENDS, go_on_with_contacts
from ...impact_laws.tolerances import APPROACH, RELAXATION_ACCEPTED, RESTITUTION_GAIN
from ..kernels import matrix, vector, wholes, wholes2, zeros
from ..tolerances import LEAST_APPROACH
from .shapes_kernels import float_matrix, float_numbers
from .strike_kernels import problem_matrix, problem_part
from .tables_kernels import NUMBER, STAGE, contacts, found, header, reserve, stages

RESOLVED, NEEDS_PYTHON = 0, -1
MOST_STAGES = 8192
_STAGES = NUMBER["stages"]


@kernel()
def approach_threshold(world, u, scale):
    """Measure u_n / scale below which a contact approaches, as `ImpactProblem.approach_threshold`."""
    w, largest, longest = header(world), 0.0, 0.0
    for k in range(scale.size):
        largest, longest = max(largest, abs(u[w.dim * k] / scale[k])), max(longest, scale[k])
    return -max(APPROACH * largest, LEAST_APPROACH * w.speed / longest)


@kernel()
def set_impulses(world, impulse):
    """Let the contacts that were found have these impulses (n,)."""
    w, table = header(world), contacts(world)
    for k in range(w.found_count):
        c = table[found(world)[k]]
        for i in range(3):
            c.impulse[i] = impulse[w.dim * k + i] if i < w.dim else 0.0


@kernel(allocates=True)
def in_turn(count):
    """The contacts in turn."""
    order = wholes(count)
    for k in range(count):
        order[k] = k
    return order


@part(allocates=True)
def law_stronge(world, i, j):
    """`StrongeCoulomb`: contacts one after the other, each along its normal impulse. Stages as `resolve_contacts`
    records them."""
    w = header(world)
    count, dim = w.found_count, w.dim
    W, before = problem_matrix(world), problem_part(world, 0)
    friction, restitution, scale = problem_part(world, 1), problem_part(world, 2), problem_part(world, 3)
    u, cursor, made = vector(dim * count), wholes2(), wholes(3)
    for k in range(dim * count):
        u[k] = before[k]
    cursor[0], cursor[1] = 0, 2  # as of the first seed
    made[0] = made[1] = made[2] = 0
    threshold, order = approach_threshold(world, before, scale), in_turn(count)
    room = 64
    while True:
        reserve(world, _STAGES, room)
        status = go_on_with_contacts(
            W, u, friction, restitution, scale, threshold, w.law_order if count > 1 else 0, order, cursor, dim,
            w.law_limit if count > 1 else 1, stages(world), made,
        )  # fmt: skip
        if status != RECORD_FULL:
            break
        room = 4 * stages(world).shape[0]
        if room > MOST_STAGES:
            return NEEDS_PYTHON
    rows, w.law_steps = made[1], made[2]
    impulse = zeros(dim * count)
    record = stages(world)
    for k in range(rows):
        if k + 1 == rows or record[k, 1] == RESTITUTION_ENDS:
            for e in range(dim):
                impulse[dim * int(record[k, 0]) + e] += record[k, 2 + e]
    w.stages_count, w.stage_width = rows, STAGE
    set_impulses(world, impulse)
    return status


@part(allocates=True)
def law_sequential_lcp(world, i, j):
    """`SequentialLCP`: contacts one after the other, each as if alone. Stages as `resolve_in_turn` records them."""
    w = header(world)
    count, dim = w.found_count, w.dim
    W, u = problem_matrix(world), problem_part(world, 0)
    friction, restitution, scale = problem_part(world, 1), problem_part(world, 2), problem_part(world, 3)
    velocity, impulse, cursor = vector(dim * count), zeros(dim * count), wholes2()
    for k in range(dim * count):
        velocity[k] = u[k]
    cursor[0] = cursor[1] = 0
    width, made, room = 1 + dim, 0, 64
    while True:
        reserve(world, _STAGES, (room * width + STAGE - 1) // STAGE)
        record = float_matrix(w.stages, room, width)
        status, made = resolve_in_turn(
            W, u, friction, restitution, scale, approach_threshold(world, u, scale), w.law_order, in_turn(count),
            cursor, dim, w.law_edges, w.law_limit, velocity, impulse, record, made,
        )  # fmt: skip
        if status != ROOM_USED:
            break
        room *= 4
    w.stages_count, w.stage_width, w.law_steps = made, width, made
    set_impulses(world, impulse)
    return status


@part(allocates=True)
def law_reflection(world, i, j):
    """`SequentialReflection` of contacts without loss, or of one alone. Stages: the contacts reflected."""
    w = header(world)
    count = w.found_count
    W, u = problem_matrix(world), problem_part(world, 0)
    restitution, scale = problem_part(world, 2), problem_part(world, 3)
    if count == 1 and restitution[0] < 1.0:
        approaches = u[0] / scale[0] < approach_threshold(world, u, scale)
        return reflect_with_loss(world, W[0, 0], u[0], restitution[0], approaches)
    loses = False
    for k in range(count):
        loses = loses or restitution[k] < 1.0
    if loses:
        return call(w.law_with_loss, world, 0, 0)
    N, before, elastic = matrix(count, count), vector(count), vector(count)
    normal_problem(world, N, before)
    ended = reflect_all(world, N, before, elastic)
    if ended != NEEDS_PYTHON:
        set_normal_impulses(world, elastic)
    return RESOLVED if ended == FEASIBLE else ended


@kernel()
def normal_problem(world, N, before):
    """Fill normal inverse inertia N (nc, nc) and normal velocities (nc,) of the problem."""
    w, W, u = header(world), problem_matrix(world), problem_part(world, 0)
    for k in range(w.found_count):
        before[k] = u[w.dim * k]
        for q in range(w.found_count):
            N[k, q] = W[w.dim * k, w.dim * q]


@kernel()
def set_normal_impulses(world, normal):
    """Let the contacts that were found have these normal impulses (nc,)."""
    w, table = header(world), contacts(world)
    for k in range(w.found_count):
        c = table[found(world)[k]]
        c.impulse[0], c.impulse[1], c.impulse[2] = normal[k], 0.0, 0.0


@kernel(allocates=True)
def reflect_all(world, N, before, elastic):
    """Fill elastic (nc,) with the normal impulses of reflections, summed as `SequentialReflection` does, and note
    the contacts reflected; how it ended."""
    w, count, scale = header(world), before.size, problem_part(world, 3)
    velocity = vector(count)
    for k in range(count):
        velocity[k], elastic[k] = before[k], 0.0
    sequence = wholes(min(w.law_limit, MOST_STAGES if count > 1 else 2))
    threshold = approach_threshold(world, problem_part(world, 0), scale)
    made, ended = reflect(N, velocity, scale, threshold, w.law_order, in_turn(count), 1, sequence)
    if ended == TOO_MANY and sequence.size < w.law_limit:
        return NEEDS_PYTHON
    reserve(world, _STAGES, made)
    numbers = float_numbers(w.stages, 0, made)
    for k in range(count):
        velocity[k] = before[k]
    for k in range(made):
        contact = sequence[k]
        numbers[k] = contact
        approach = velocity[contact]
        step = -2.0 * approach / N[contact, contact]
        elastic[contact] += step
        for q in range(count):
            velocity[q] += step * N[contact, q]
        velocity[contact] = -approach
    w.stages_count, w.stage_width = made, 1
    return ended


@part(allocates=True)
def law_reflection_with_loss(world, i, j):
    """`SequentialReflection` of several contacts that lose energy: between their plastic impact and reflections.
    Stages: the contacts reflected."""
    w = header(world)
    count = w.found_count
    u, restitution, scale = problem_part(world, 0), problem_part(world, 2), problem_part(world, 3)
    threshold, approaches = approach_threshold(world, u, scale), False
    for k in range(count):
        approaches = approaches or u[w.dim * k] / scale[k] < threshold
    N, before, plastic, elastic = matrix(count, count), vector(count), zeros(count), zeros(count)
    if not approaches:
        set_normal_impulses(world, plastic)
        return RESOLVED
    normal_problem(world, N, before)
    status, _, _, _ = solve_lcp_kernel(N, before, plastic)
    if status != SOLVED:
        return NEEDS_PYTHON
    overall = overall_restitution(before, plastic, restitution)
    if overall > 0.0:
        ended = reflect_all(world, N, before, elastic)
        if ended != FEASIBLE:
            w.stages_count = 0
            return NEEDS_PYTHON
        mix(N, before, plastic, elastic, overall)
    set_normal_impulses(world, plastic)
    return RESOLVED


@kernel()
def overall_restitution(before, plastic, restitution):
    """The coefficient of an impact as a whole, as `SequentialReflection` has it: of the squares of those of the
    contacts that press in the plastic impact the mean by their work."""
    least, largest, work, kept = np.inf, 0.0, 0.0, 0.0
    for k in range(before.size):
        if plastic[k] > 0.0:
            least, largest = min(least, restitution[k]), max(largest, restitution[k])
        lost = -0.5 * plastic[k] * before[k]
        work, kept = work + lost, kept + lost * restitution[k] ** 2
    if least == np.inf:
        for k in range(before.size):
            largest = max(largest, restitution[k])
        return largest
    if least == largest or work <= 0.0:
        return largest
    return min(max(np.sqrt(max(kept / work, 0.0)), least), largest)


@kernel(allocates=True)
def mix(N, before, plastic, elastic, overall):
    """Let the impulses `plastic` (nc,) be those between them and `elastic` that lose 1 - R² of what the plastic
    impact loses, with R = `overall`: see `SequentialReflection`."""
    count, c, b, pulls = before.size, 0.0, 0.0, False
    difference = vector(count)
    for k in range(count):
        difference[k] = elastic[k] - plastic[k]
        pulls = pulls or elastic[k] < 0.0
    for k in range(count):
        after, changed = before[k], 0.0
        for q in range(count):
            after += N[k, q] * plastic[q]
            changed += N[k, q] * difference[q]
        c += difference[k] * changed
        b += difference[k] * after
    if not pulls:
        b = max(b, 0.0)
    square = overall * overall
    root = np.sqrt(b * b + c * square * (c + 2.0 * b)) if c > 0.0 else 0.0
    if b < 0.0 and c > 0.0:
        share = min((root - b) / c, 1.0)
    else:  # this form of the root has no cancellation for small c
        share = min(square * (c + 2.0 * b) / (b + root), 1.0) if b + root > 0.0 else overall
    for k in range(count):
        plastic[k] += share * difference[k]


@kernel(allocates=True)
def reflect_with_loss(world, N, u, e, approaches):
    """One contact that loses energy: between its plastic and its elastic impact."""
    w = header(world)
    impulse = zeros(w.dim)
    if approaches:
        if not N > 0.0:
            return IMMOVABLE
        plastic, elastic = -u / N, -2.0 * u / N
        impulse[0] = plastic + e * (elastic - plastic)
        if e > 0.0:
            reserve(world, _STAGES, 1)
            stages(world)[0, 0] = 0.0
            w.stages_count = w.stage_width = 1
    set_impulses(world, impulse)
    return RESOLVED


@part(allocates=True)
def law_dissipation(world, i, j):
    """`MaximumDissipation`, where few sweeps of relaxation find it, or Newton's method after them. One stage:
    residual, sweeps, steps of Newton's method."""
    w = header(world)
    count, dim = w.found_count, w.dim
    u = problem_part(world, 0)
    impulse = zeros(dim * count)
    reserve(world, _STAGES, 1)
    w.stages_count, w.stage_width = 1, 3
    numbers = float_numbers(w.stages, 0, 3)
    numbers[0] = numbers[1] = numbers[2] = 0.0
    least = np.inf
    for k in range(count):
        least = min(least, u[dim * k])
    if least <= 0.0:
        W, friction, restitution = problem_matrix(world), problem_part(world, 1), problem_part(world, 2)
        before, normal, bounces = u, vector(count), False
        for k in range(count):
            normal[k] = restitution[k] * max(-u[dim * k], 0.0)
            bounces = bounces or normal[k] > 0.0
        if bounces:
            u = vector(dim * count)
            for k in range(dim * count):
                u[k] = before[k]
            ask_for_normal_velocity(W, normal, w.law_order, dim, u)
        sweeps, residual = relax_and_judge(
            W, u, friction, w.law_order, dim, min(FEW_SWEEPS, w.law_limit), w.law_accuracy, impulse
        )
        most = w.law_accuracy
        if residual > most and u.size <= NEWTON_AT_ONCE and w.law_order == MAXIMUM_DISSIPATION:
            frames = np.empty((count, 10))
            frames_of(W, friction, dim, frames)
            residual, numbers[2] = newton_dense(
                W, u, friction, frames, w.law_order, dim, w.law_accuracy, impulse, impulse, residual
            )
            most *= RELAXATION_ACCEPTED
        if residual > most:
            solved = False
        elif bounces:  # with all of the coefficients, or else Python finds the share of them
            given, stored = work_of(W, impulse, before)
            scale = problem_part(world, 3)
            solved = good_enough(W, u, dim, impulse, residual, w.law_accuracy) and meets(
                W, u, impulse, scale, dim, approach_threshold(world, u, scale)
            )
            solved = solved and given + stored <= RESTITUTION_GAIN * abs(given)
        else:  # a small share of impulses that wedge bodies may be all of the impact
            solved = passes(W, u, dim, impulse)
        if not solved:
            w.stages_count = 0
            return NEEDS_PYTHON
        numbers[0], numbers[1] = residual, sweeps
    set_impulses(world, impulse)
    return RESOLVED
