"""Newton's method of `MaximumDissipation`: its elimination, its slopes, and that it depends on nothing else."""

import numpy as np
import pytest

from carom.impact_laws import newton_kernels, relaxation_kernels


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
