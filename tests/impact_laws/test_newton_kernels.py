"""Newton's method of `MaximumDissipation`: its elimination, its slopes, and that it depends on nothing else."""

import numpy as np
import pytest

from carom.impact_laws import anderson_kernels, newton_kernels, relaxation, relaxation_kernels


def dense_problem(random, count, rank):
    """W (n, n) of this rank, velocities, friction and frames of a problem in space."""
    G = random.normal(size=(3 * count, rank))
    W, friction = G @ G.T, random.uniform(0.2, 0.8, count)
    frames = np.empty((count, 10))
    relaxation_kernels.frames_of(W, friction, 3, frames)
    return W, random.normal(size=3 * count), friction, frames


@pytest.mark.parametrize("n", [1, 2, 5, 30, 120])
def test_elimination_solves(n):
    random = np.random.default_rng(n)
    A, x = random.normal(size=(n, n)), random.normal(size=n)
    b = A @ x
    assert newton_kernels.eliminate(A.copy(), b, n)
    assert b == pytest.approx(x, rel=1e-9, abs=1e-9 * np.linalg.cond(A) * 1e-4)


def test_elimination_tells_a_singular_matrix():
    A = np.ones((3, 3))
    assert not newton_kernels.eliminate(A, np.ones(3), 3)


def solution(W, u, friction, frames, contact, x):
    """The one-contact solution (3,) of a contact, given all others."""
    n = len(u)
    target, velocity = np.empty(n), np.empty(n)
    relaxation_kernels.residual_dense(W, u - W @ x, friction, frames, 0, 3, x, velocity, target)
    return target[3 * contact : 3 * contact + 3]


@pytest.mark.parametrize("seed", range(10))
def test_slopes_are_differences_of_solutions_whatever_memory_holds(seed):
    """Saved: slopes read a number that was never written, and were zero where it was not positive."""
    random = np.random.default_rng(seed)
    W, q, friction, frames = dense_problem(random, 3, 9)
    x = np.abs(random.normal(size=9))
    u = q + W @ x
    slopes, local = np.empty((2, 3, 3, 3))
    relaxation_kernels.local_blocks(W, 3, local)
    relaxation_kernels.solution_slopes(local, u, friction, frames, 0, 3, x, slopes)
    for contact in range(3):
        scale = np.abs(W[3 * contact : 3 * contact + 3, 3 * contact : 3 * contact + 3]).max()
        for axis in range(3):
            h = 1e-6 * scale
            sides = []
            for sign in (1.0, -1.0):
                changed = u.copy()
                changed[3 * contact + axis] -= sign * h  # b is minus the velocity without the contact
                sides.append(solution(W, changed, friction, frames, contact, x))
            expected = (sides[0] - sides[1]) / (2.0 * h)
            assert slopes[contact, :, axis] == pytest.approx(expected, abs=1e-3 / scale)


@pytest.mark.parametrize("rank", [4, 9])
def test_steps_are_the_same_again_and_end_at_a_solution_or_say_so(rank):
    random = np.random.default_rng(rank)
    solved = 0
    for _ in range(40):
        W, q, friction, frames = dense_problem(random, 3, rank)
        begin = np.abs(random.normal(size=9))
        outcomes = []
        for _ in range(3):
            np.full(int(random.integers(1, 200)), np.nan)  # memory with other numbers in it
            impulse = np.zeros(9)
            residual, made = newton_kernels.newton_dense(
                W, q, friction, frames, 0, 3, 1e-10, begin, impulse, np.inf
            )
            outcomes.append((residual, made, impulse.tobytes()))
        assert outcomes[0] == outcomes[1] == outcomes[2]
        u, target = np.empty(9), np.empty(9)
        if residual < np.inf:
            measured = relaxation_kernels.residual_dense(W, q, friction, frames, 0, 3, impulse, u, target)
            assert measured == pytest.approx(residual, rel=1e-6, abs=1e-13)
        solved += residual <= 1e-10
    assert solved >= 10


@pytest.mark.parametrize("rule", [relaxation_kernels.MAXIMUM_DISSIPATION, relaxation_kernels.COULOMB])
@pytest.mark.parametrize("rank", [3, 9, 15])
def test_compiled_steps_and_mixed_sweeps_are_those_of_the_slow_versions(rule, rank, monkeypatch):
    """Up to digits that each step may lose; the slow ones serve from `NEWTON_AT_ONCE` unknowns on."""
    random = np.random.default_rng(rank)
    followed = 0
    for _ in range(10):
        W, q, friction, _ = dense_problem(random, 5, rank)
        q = W @ q  # so that a solution exists
        begin, lean = np.abs(random.normal(size=15)), 0.1 * random.normal(size=(5, 2))
        found = []
        for most in (relaxation.NEWTON_AT_ONCE, 0):
            monkeypatch.setattr(relaxation, "NEWTON_AT_ONCE", most)
            of = relaxation.Relaxation(W, q, friction, rule, 3, begin.copy())
            steps = [of._natural_newton(of.matrix, q, lean, begin, k, 1e-10) for k in (1, 3)]
            mixed = [of._accelerated(begin.copy(), k, 1e-10) for k in (2, 12)]
            found.append((steps, mixed, of.sweeps, of.newton_steps))
        monkeypatch.undo()
        (steps, mixed, *counts), (slow_steps, slow_mixed, *slow_counts) = found
        assert counts == slow_counts
        for (x, made, solved), (slow, slow_made, slow_solved) in zip(steps, slow_steps, strict=True):
            assert (made, solved) == (slow_made, slow_solved)
            assert x == pytest.approx(slow, abs=1e-6 * np.abs(slow).max())
        assert mixed[0] == pytest.approx(slow_mixed[0], abs=1e-9 * np.abs(slow_mixed[0]).max())
        followed += np.abs(mixed[1] - slow_mixed[1]).max() <= 1e-6 * np.abs(slow_mixed[1]).max()
    assert followed >= 8


def test_mixing_takes_the_combination_that_leaves_least():
    """Beside a general least-squares solver; of steps that are all alike, and of one point, nothing is taken."""
    random = np.random.default_rng(0)
    for kept in range(2, 9):
        points, changes = random.normal(size=(2, kept, 12))
        x = points[-1].copy()
        anderson_kernels.mix(points, changes, kept, x)
        shares = np.linalg.lstsq(np.diff(changes, axis=0).T, changes[-1], rcond=1e-12)[0]
        assert x == pytest.approx(points[-1] - np.diff(points, axis=0).T @ shares, rel=1e-9, abs=1e-9)
    points, changes = random.normal(size=(2, 1, 12))
    for rows in (1, 4):
        x = points[0].copy()
        anderson_kernels.mix(np.repeat(points, rows, 0), np.repeat(changes, rows, 0), rows, x)
        assert np.array_equal(x, points[0])
    huge = 1e300 * random.normal(size=(3, 12))
    x = huge[-1].copy()
    anderson_kernels.mix(huge, huge, 3, x)
    assert np.isfinite(x).all()


def test_mixed_sweeps_gain_on_sweeps_alone():
    """Of problems that lack ranks, where sweeps creep."""
    random = np.random.default_rng(2)
    gained = 0
    for _ in range(20):
        W, q, friction, frames = dense_problem(random, 5, 6)
        q = W @ q
        ends = []
        for mixed in (True, False):
            x, u, target = np.zeros(15), np.empty(15), np.empty(15)
            if mixed:
                made = anderson_kernels.relax_accelerated(W, q, friction, frames, 1, 3, 100, 1e-12, x)
            else:
                made, _ = relaxation_kernels.relax_dense(W, q, friction, frames, 1, 3, 1.0, 100, 1e-12, x, u)
            assert made <= 100
            ends.append(relaxation_kernels.residual_dense(W, q, friction, frames, 1, 3, x, u, target))
        gained += ends[0] <= ends[1] or ends[0] <= 1e-11
    assert gained >= 12
