"""How far outcomes of set-valued impacts reach, against schedules of rates that are driven there.

An independent reference for the width of the sampled set: the differential inclusion of an impact at two planar
contacts (Halm & Posa, section 4) integrated here by small steps, whose rates are not drawn step by step but follow
schedules of few switches, most of them between one contact alone and the other. What no schedule reaches and the
outer bounds still hold is slack of the bounds.
"""

import numpy as np
import pytest
from numba import njit

from carom.demos.impact_examples import EXAMPLES
from carom.impact_laws import SetValuedRouth, outcome_bounds

STEP = 0.002  # of the impulse that one contact alone would take to stop, about


@njit
def driven(W, u, friction, switches, shares, step):
    """Contact velocities (4,) after an impact whose first contact has shares of the normal impulse, which change at
    switches; and whether it ended. Friction holds a contact where it can, else opposes its slip."""
    velocity, impulse, spent, now = u.copy(), np.zeros(4), 0.0, 0
    for _ in range(20_000):
        if velocity[0] >= -1e-9 and velocity[2] >= -1e-9:
            return velocity, True
        while now < switches.size - 1 and spent > switches[now]:
            now += 1
        first = shares[now] if velocity[0] <= 1e-12 else 0.0
        second = 1.0 - shares[now] if velocity[2] <= 1e-12 else 0.0
        if first == 0.0 and second == 0.0:  # the one that was asked for has parted
            first, second = (1.0, 0.0) if velocity[0] <= 1e-12 else (0.0, 1.0)
        impulse[:] = 0.0
        impulse[0], impulse[2] = first * step, second * step
        for _ in range(100):
            change = 0.0
            for row in (1, 3):
                slip, most = velocity[row], friction[row // 2] * impulse[row - 1]
                for k in range(4):
                    slip += W[row, k] * impulse[k]
                held = min(max(impulse[row] - slip / W[row, row], -most), most)
                change += abs(held - impulse[row])
                impulse[row] = held
            if change < 1e-15:
                break
        for i in range(4):
            for k in range(4):
                velocity[i] += W[i, k] * impulse[k]
        spent += step
    return velocity, False


def reached(problem, schedules: int, step: float, seed: int):
    """Lowest and highest contact velocities (2, 4) over random schedules."""
    random = np.random.default_rng(seed)
    W, u, friction = (np.array(values, dtype=float) for values in (problem.W, problem.u, problem.friction))
    found = []
    for _ in range(schedules):
        count = int(random.integers(1, 6))
        switches = np.cumsum(random.exponential(1.0, count)) * 10.0 ** random.uniform(-2.0, 0.7)
        shares = random.choice([0.0, 1.0, random.uniform()], count, p=[0.4, 0.4, 0.2])
        velocity, ended = driven(W, u, np.broadcast_to(friction, 2).copy(), switches, shares, step)
        if ended:  # a contact that only drives itself in is not the last one
            found.append(velocity)
    assert len(found) > schedules // 3
    return np.array([np.min(found, axis=0), np.max(found, axis=0)])


@pytest.mark.parametrize("name", ["rocking_block", "box_and_wall", "compass_gait"])
def test_no_schedule_reaches_farther_than_samples(name):
    """Of box and wall samples fill 90 % of the bounds of the lower slip: schedules reach no farther, so it is the
    bounds that are wide there."""
    example = EXAMPLES[name]()
    problem, fastest = example.problem, float(np.abs(example.problem.u).max())
    lowest, highest = reached(problem, 3000, STEP * fastest / float(np.abs(problem.W).max()), seed=0)
    outcomes = SetValuedRouth(step=0.1 * example.step).sample(problem, 20_000, seed=0)
    sampled, bounds = outcomes.velocity[outcomes.resolved], outcome_bounds(problem)
    beyond = 0.005 * fastest  # a step of a schedule ends that much beyond the stop
    assert (lowest > sampled.min(axis=0) - beyond).all()
    assert (highest < sampled.max(axis=0) + beyond).all()
    assert (lowest > bounds.lower - beyond).all()
    assert (highest < bounds.upper + beyond).all()
    moves = np.ptp(sampled, axis=0) > beyond
    assert ((highest - lowest)[moves] > 0.9 * np.ptp(sampled, axis=0)[moves]).all()  # it is driven far
