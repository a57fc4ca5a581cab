"""All simultaneous solutions against brute force over what contacts do, and what is said where they are not all."""

from itertools import product

import numpy as np
import pytest
from scipy.optimize import linprog

import carom
from carom.demos import impact_examples
from carom.impact_laws import AnitescuPotra, ImpactProblem
from carom.impact_laws.anitescu_potra import edge_directions


def _brute_force(problem, cone_edges):
    """Velocities of all solutions: a linear program for every choice of modes, written down once more.

    Modes: None for open, () for stuck, (k,) for slip against edge k, (k, k+1) against a side.
    """
    dim, count = problem.dim, problem.contact_count
    directions = edge_directions(dim, cone_edges)
    edges = len(directions)
    modes = [None, (), *((k,) for k in range(edges))]
    if dim == 3:
        modes += [(k, (k + 1) % edges) for k in range(edges)]
    found = []
    for choice in product(modes, repeat=count):
        columns, equal, above = [], [], []
        for c, mode in enumerate(choice):
            rows = np.zeros((dim, dim * count))
            rows[:, dim * c : dim * (c + 1)] = np.eye(dim)
            normal, tangential = rows[0], rows[1:]
            if mode is None:
                above.append((normal, 1e-8))
                continue
            acting = range(edges) if mode == () else mode
            columns += [normal + problem.friction[c] * directions[k] @ tangential for k in acting]
            equal.append(normal)
            if mode == ():
                equal += list(tangential)
                continue
            slip = directions @ tangential  # (edges, dim*nc)
            equal += [slip[k] - slip[mode[0]] for k in mode[1:]]
            above.append((-slip[mode[0]], 1e-8))
            above += [(slip[j] - slip[mode[0]], 0.0) for j in range(edges) if j not in mode]
        generators = np.array(columns).reshape(-1, dim * count).T
        system = {
            "A_eq": np.array(equal) @ problem.W @ generators if equal else None,
            "b_eq": -np.array(equal) @ problem.u if equal else None,
            "A_ub": np.array([-row for row, _ in above]) @ problem.W @ generators if above else None,
            "b_ub": np.array([row @ problem.u - least for row, least in above]) if above else None,
        }
        if not columns:
            if all(row @ problem.u >= least for row, least in above):
                found.append(problem.u)
            continue
        solved = linprog(np.zeros(generators.shape[1]), **system, method="highs")
        if solved.status == 0:
            found.append(problem.u + problem.W @ generators @ solved.x)
    distinct = []
    for velocity in found:
        if all(np.abs(velocity - known).max() > 1e-6 for known in distinct):
            distinct.append(velocity)
    return np.array(distinct)


def _mechanism(rng, dim, count, freedoms):
    """Contacts of one mechanism: of a body in the plane or in space W is rank deficient for more than a few. Levers
    and friction are large, so that several solutions are common."""
    J = rng.normal(size=(dim * count, freedoms))
    J[::dim] *= 0.5
    M = np.diag(np.exp(rng.normal(size=freedoms)))
    v = rng.normal(size=freedoms)
    return ImpactProblem.from_generalized(
        M, J, v / np.abs(J @ v).max(), friction=rng.uniform(0.3, 3.0, count), dim=dim
    )


def _found_all(problem, edges):
    """Assert that outcomes are those of brute force; whether they are several. A continuum has to be told."""
    expected = _brute_force(problem, edges)
    outcomes = AnitescuPotra(cone_edges=edges).outcomes(problem)
    if not outcomes.complete:
        assert "continuum" in outcomes.message
        return False
    assert len(outcomes) == len(expected)
    for velocity in expected:
        assert np.abs(outcomes.velocity - velocity).max(axis=1).min() < 1e-7
    return len(expected) > 1


@pytest.mark.parametrize(("dim", "most", "edges"), [(2, 4, 8), (3, 2, 4)])
def test_all_of_them_are_found(dim, most, edges):
    rng, several = np.random.default_rng(dim), 0
    for _ in range(24):
        count = int(rng.integers(2, most + 1))
        several += _found_all(_mechanism(rng, dim, count, int(rng.integers(3, 3 + dim * count))), edges)
    assert several >= 2


@pytest.mark.long
@pytest.mark.parametrize(("dim", "count", "edges"), [(2, 5, 8), (3, 2, 8)])
def test_all_of_them_are_found_for_many(dim, count, edges):
    rng, several = np.random.default_rng(10 * dim), 0
    for _ in range(20):
        several += _found_all(_mechanism(rng, dim, count, int(rng.integers(3, 3 + dim * count))), edges)
    assert several >= 2


def test_the_disk_stack_has_one_outcome():
    """Twenty unknowns: beyond the bases of the complementarity problem that can be tried."""
    outcomes = AnitescuPotra().outcomes(impact_examples.disk_stack().problem)
    assert outcomes.complete
    np.testing.assert_allclose(outcomes.velocity, np.zeros((1, 10)), atol=1e-9)


def test_a_box_that_comes_down_flat():
    """Four spatial contacts with a continuum of impulses and one velocity."""
    box = carom.Body(carom.Box((1.0, 0.6, 0.4)), mass=2.0, velocity=(0.1, 0.0, -1.0))
    corners = [(x, y, -0.2) for x in (-0.5, 0.5) for y in (-0.3, 0.3)]
    problem = carom.contact_problem(box, None, corners, (0, 0, 1), friction=0.5)
    outcomes = AnitescuPotra().outcomes(problem)
    assert outcomes.complete
    np.testing.assert_allclose(outcomes.velocity, np.zeros((1, 12)), atol=1e-9)


def test_a_limit_is_told():
    problem = impact_examples.disk_stack().problem
    outcomes = AnitescuPotra().outcomes(problem, most_cases=5)
    assert outcomes.complete is False
    assert outcomes.message == "the search was ended after 5 cases"
    with pytest.raises(ValueError, match="most_cases"):
        AnitescuPotra().outcomes(problem, most_cases=0)


def test_a_continuum_is_told():
    """A contact whose friction takes away all normal response (μ W_tn = W_nn): any pressure p that leaves it
    sliding, v_t = 2 - p, is a solution, up to that which stops it."""
    problem = ImpactProblem([[1.0, 1.0], [1.0, 2.0]], [0.0, 2.0], friction=1.0, dim=2)
    outcomes = AnitescuPotra().outcomes(problem)
    assert outcomes.complete is False
    assert "continuum" in outcomes.message
    np.testing.assert_allclose(outcomes.velocity[[0, -1]], [[0, 0], [0, 2]], atol=1e-7)


def test_numbering_changes_nothing():
    rng = np.random.default_rng(5)
    for _ in range(5):
        problem = _mechanism(rng, 2, 4, 5)
        order = rng.permutation(4)
        rows = np.concatenate([[2 * c, 2 * c + 1] for c in order])
        turned = ImpactProblem(
            problem.W[np.ix_(rows, rows)], problem.u[rows], friction=problem.friction[order], dim=2
        )
        one, other = AnitescuPotra().outcomes(problem), AnitescuPotra().outcomes(turned)
        assert len(one) == len(other)
        for velocity in one.velocity[:, rows]:
            assert np.abs(other.velocity - velocity).max(axis=1).min() < 1e-9
