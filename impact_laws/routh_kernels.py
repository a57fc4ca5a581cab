"""Compiled set-valued Routh integration: random bounded normal impulses, one complementarity problem a step."""

import numba
import numpy as np

from ..compiled import kernel
from .lcp_kernels import SOLVED, assemble_impact_lcp, impulse_in_cones, solve_lcp_kernel

FINISHED, STEP_LIMIT, UNSOLVED = 0, 1, 2


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
def assemble_step(W, friction, directions, M, q):
    """Fill M, q of a step: slacks s of the bounds, then normal impulses, edge impulses and slip bounds.

    0 <= s ⟂ λ_max - λ >= 0 and 0 <= λ ⟂ J_n v⁺ + s >= 0 beside the rows of the simultaneous impact. Entries of
    q that depend on the state are filled by `fill_step`.
    """
    contacts = friction.size
    inner = q.size - contacts
    N = np.empty((inner, inner))
    p = np.empty(inner)
    assemble_impact_lcp(W, np.zeros(W.shape[0]), friction, directions, N, p)
    for i in range(q.size):
        q[i] = 0.0
        for j in range(q.size):
            M[i, j] = 0.0
    for i in range(inner):
        for j in range(inner):
            M[contacts + i, contacts + j] = N[i, j]
    for c in range(contacts):
        M[c, contacts + c] = -1.0
        M[contacts + c, c] = 1.0


@kernel()
def fill_step(u, friction, directions, bounds, q):
    """Fill q of a step from contact velocities u (dim*nc,) and the bounds of the normal impulses (nc,)."""
    contacts = friction.size
    dim = directions.shape[1] + 1
    row = 2 * contacts
    for c in range(contacts):
        q[c] = bounds[c]
        q[contacts + c] = u[dim * c]
        if friction[c] > 0.0:
            for k in range(directions.shape[0]):
                q[row] = 0.0
                for component in range(dim - 1):
                    q[row] += directions[k, component] * u[dim * c + 1 + component]
                row += 1


@kernel()
def one_sample(W, u0, friction, directions, M, q, scale, step, threshold, state, impulse, u, stages):
    """One impact by Algorithm 1 of the paper: random bounds, one step, until no contact approaches.

    `impulse` and `u` (dim*nc,) receive the outcome; the first rows of `stages` (at most its length) the
    cumulative impulses. Returns (status, steps).
    """
    contacts = friction.size
    dim = directions.shape[1] + 1
    size = u.size
    bounds = np.empty(contacts)
    z = np.empty(q.size)
    part = np.empty(size)
    for i in range(size):
        impulse[i] = 0.0
        u[i] = u0[i]
    steps = 0
    while True:
        least = 0.0
        for c in range(contacts):
            least = min(least, u[dim * c] / scale[c])
        if least >= threshold:
            return FINISHED, steps
        if steps == stages.shape[0]:
            return STEP_LIMIT, steps
        for c in range(contacts):
            state, word = scrambled(state)
            bounds[c] = step[c] * (np.float64(word >> np.uint64(11)) * 1.1102230246251565e-16)
        fill_step(u, friction, directions, bounds, q)
        status, _, _, _ = solve_lcp_kernel(M, q, z)
        if status != SOLVED:
            return UNSOLVED, steps
        impulse_in_cones(z[contacts:], friction, directions, part)
        for i in range(size):
            impulse[i] += part[i]
            for j in range(size):
                u[i] += W[i, j] * part[j]
            stages[steps, i] = impulse[i]
        steps += 1


@kernel(parallel=True)
def many_samples(
    W,
    u0,
    friction,
    directions,
    scale,
    step,
    threshold,
    limit,
    seed,
    first,
    impulses,
    velocities,
    solves,
    status,
):
    """Samples first..first + len(solves) - 1, in parallel; each has its own random sequence."""
    count = solves.size
    contacts = friction.size
    unknowns = 2 * contacts
    for c in range(contacts):
        if friction[c] > 0.0:
            unknowns += directions.shape[0] + 1
    chunks = (count + 255) // 256
    for chunk in numba.prange(chunks):
        M = np.empty((unknowns, unknowns))
        q = np.empty(unknowns)
        assemble_step(W, friction, directions, M, q)
        stages = np.empty((limit, u0.size))
        for k in range(256 * chunk, min(256 * (chunk + 1), count)):
            status[k], solves[k] = one_sample(
                W, u0, friction, directions, M, q, scale, step, threshold, first_state(seed, first + k),
                impulses[k], velocities[k], stages,
            )  # fmt: skip
