"""W as blocks against W in full, parts against the whole, and problems that only so are solved in time."""

import numpy as np
import pytest
from scipy.sparse import coo_array, csr_matrix

from carom.impact_laws import ImpactProblem, MaximumDissipation, relaxation_kernels
from carom.impact_laws.contact_matrices import (
    BlockMatrix,
    DenseMatrix,
    contact_matrix,
    coupled,
    coupled_if_many,
    parts_of,
)
from carom.impact_laws.relaxation import Relaxation


def chains(random, lengths, dim=3):
    """W (n, n) of contacts between neighbours in rows of bodies, and velocities."""
    freedoms = 3 * (dim - 1)
    rows, columns = 0, 0
    parts = []
    for length in lengths:
        J = np.zeros((dim * length, freedoms * (length + 1)))
        for c in range(length):
            J[dim * c : dim * (c + 1), freedoms * c : freedoms * (c + 2)] = random.normal(
                size=(dim, 2 * freedoms)
            )
        parts.append(J)
        rows, columns = rows + J.shape[0], columns + J.shape[1]
    whole, row, column = np.zeros((rows, columns)), 0, 0
    for J in parts:
        whole[row : row + J.shape[0], column : column + J.shape[1]] = J
        row, column = row + J.shape[0], column + J.shape[1]
    return whole @ whole.T, whole @ random.normal(size=columns)


@pytest.mark.parametrize("dim", [2, 3])
def test_blocks_do_what_the_full_matrix_does(dim):
    random = np.random.default_rng(dim)
    W, q = chains(random, [120, 30], dim)
    blocks = contact_matrix(W, dim, coupled_if_many(W, dim))
    assert isinstance(blocks, BlockMatrix)
    full, count = DenseMatrix(W, dim), len(q) // dim
    friction = random.uniform(0.0, 0.8, count)
    np.testing.assert_array_equal(blocks.local, full.local)
    x = np.abs(random.normal(size=q.size))
    np.testing.assert_allclose(blocks.velocity(q, x), full.velocity(q, x), atol=1e-12)
    np.testing.assert_allclose(blocks.plus(0.5).velocity(q, x), full.velocity(q, x) + 0.5 * x, atol=1e-12)
    slopes, own = random.normal(size=(2, count, dim, dim))
    slopes[::4] = 0.0
    gap = random.normal(size=q.size)
    np.testing.assert_allclose(
        blocks.newton_step(slopes, own, gap, 1e-9), full.newton_step(slopes, own, gap, 1e-9), rtol=1e-6
    )
    assert blocks.newton_step(0.0 * slopes, own, gap, 0.0).tolist() == gap.tolist()
    frames = np.empty((count, 10))
    if dim == 3:
        relaxation_kernels.contact_frames(full.local, friction, frames)
    for omega in (1.0, 0.7):
        swept, expected = np.zeros(q.size), np.zeros(q.size)
        for rule in (0, 1):
            assert blocks.sweep(q, friction, frames, rule, omega, 1, 0.0, swept) == 1
            assert full.sweep(q, friction, frames, rule, omega, 1, 0.0, expected) == 1
            np.testing.assert_allclose(swept, expected, atol=1e-12 * np.abs(expected).max())


def test_an_immovable_contact_has_a_block_too():
    W, _ = chains(np.random.default_rng(0), [150])
    W[30:33] = W[:, 30:33] = 0.0
    blocks = contact_matrix(W, 3, coupled_if_many(W, 3))
    assert isinstance(blocks, BlockMatrix)
    assert not blocks.local[10].any()
    assert [len(part) for part in parts_of(coupled_if_many(W, 3), 150)] == [10, 1, 139]


def test_few_contacts_and_full_matrices_stay_full():
    random = np.random.default_rng(0)
    G = random.normal(size=(450, 450))
    assert isinstance(contact_matrix(G @ G.T, 3, coupled_if_many(G @ G.T, 3)), DenseMatrix)
    W, _ = chains(random, [50])
    assert isinstance(contact_matrix(W, 3, coupled_if_many(W, 3)), DenseMatrix)
    assert coupled(W, 3).sum() == 50 + 2 * 49


@pytest.mark.parametrize("rule", ["coulomb", "maximum-dissipation"])
def test_parts_are_solved_as_if_alone(rule):
    random = np.random.default_rng(4)
    lengths = [70, 20, 1, 40]
    W, q = chains(random, lengths)
    problem = ImpactProblem(W, q, friction=0.4)
    law = MaximumDissipation(rule)
    together = law.resolve(problem)
    assert together.resolved
    first = 0
    for length in lengths:
        rows = slice(3 * first, 3 * (first + length))
        alone = law.resolve(ImpactProblem(W[rows, rows], q[rows], friction=0.4))
        np.testing.assert_allclose(
            together.impulse[rows], alone.impulse, atol=1e-8 * np.abs(alone.impulse).max()
        )
        first += length


@pytest.mark.parametrize("seed", range(5))
def test_newton_of_many_contacts_solves_what_that_of_few_does(seed):
    """The steps that large problems take, on some that are small enough for the compiled ones."""
    random = np.random.default_rng(seed)
    W, q = chains(random, [60])
    solver = Relaxation(W, q, np.full(60, 0.5), relaxation_kernels.MAXIMUM_DISSIPATION, 3, np.zeros(q.size))
    x = solver._relaxed(np.zeros(q.size), 1.0, 4, 1e-10)
    assert solver._keep(x) > 1e-10
    solver._newton_of_many(x, 1e-10)
    assert solver.residual <= 1e-10
    few = MaximumDissipation().resolve(ImpactProblem(W, q, friction=0.5))
    np.testing.assert_allclose(solver.impulse, few.impulse, atol=1e-7 * np.abs(few.impulse).max())


@pytest.mark.parametrize("form", [coo_array, csr_matrix])
def test_a_sparse_matrix_is_taken(form):
    W, q = chains(np.random.default_rng(0), [4])
    np.testing.assert_array_equal(ImpactProblem(form(W), q).W, ImpactProblem(W, q).W)
