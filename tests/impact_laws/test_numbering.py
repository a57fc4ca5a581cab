"""How contacts are numbered changes no answer of `MaximumDissipation`."""

import doctest
import importlib

import numpy as np
import pytest

import carom
from carom.impact_laws import ImpactProblem, MaximumDissipation, numbering_kernels

RULES = ["maximum-dissipation", "coulomb"]


def random_problem(rng, dim):
    """Up to eight contacts that leave a separating motion, mostly more than there are freedoms."""
    count = int(rng.integers(2, 9))
    freedoms = int(rng.choice([3 * (dim - 1), dim * count // 2 + 2, dim * count + 2]))
    jacobian, separating = rng.normal(size=(dim * count, freedoms)), rng.normal(size=freedoms)
    normals = jacobian[::dim]
    normals[normals @ separating < 0.0] *= -1.0
    velocity = rng.normal(size=freedoms) + rng.choice([-2.0, 0.5]) * separating
    restitution = rng.choice([0.0, 0.3, 0.8, 1.0], size=count) * rng.choice([0.0, 1.0], p=[0.7, 0.3])
    friction = rng.choice([0.0, 0.2, 0.5, 1.0], size=count)
    return ImpactProblem(jacobian @ jacobian.T, jacobian @ velocity, friction, restitution, dim=dim)


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(1, 6))])
@pytest.mark.parametrize("dim", [2, 3])
@pytest.mark.parametrize("rule", RULES)
def test_random_problems_have_the_same_answer_bit_for_bit(rule, dim, seed):
    """Saved: two of a hundred planar problems of one body on several contacts moved on otherwise."""
    rng = np.random.default_rng([dim, seed] if seed else dim)
    law = MaximumDissipation(rule, max_sweeps=1000)
    for _ in range(150):
        problem = random_problem(rng, dim)
        order = rng.permutation(problem.contact_count)
        first, again = law.resolve(problem), law.resolve(problem.renumbered(order))
        assert first.status is again.status
        assert np.array_equal(first.impulse[problem.rows_of(order)], again.impulse)
        terms = np.abs(problem.u) + np.abs(problem.W) @ np.abs(first.impulse)
        assert again.velocity == pytest.approx(
            first.velocity[problem.rows_of(order)], abs=1e-14 * terms.max()
        )


@pytest.mark.parametrize("rule", RULES)
def test_more_than_a_hundred_contacts_too(rule):
    """Solved by their blocks, and in two parts that do not move each other."""
    rng = np.random.default_rng(5)
    count = 120
    jacobian = np.zeros((2 * count, 100))
    for c in range(count):
        half = 50 * (c % 2)
        for body in half // 2 + rng.choice(25, size=2, replace=False):
            jacobian[2 * c : 2 * c + 2, 2 * body : 2 * body + 2] = rng.normal(size=(2, 2))
    separating = rng.normal(size=100)
    jacobian[::2][jacobian[::2] @ separating < 0.0] *= -1.0
    velocity = 0.3 * rng.normal(size=100) - separating
    problem = ImpactProblem(jacobian @ jacobian.T, jacobian @ velocity, friction=0.4, dim=2)
    order = rng.permutation(count)
    law = MaximumDissipation(rule)
    first, again = law.resolve(problem), law.resolve(problem.renumbered(order))
    assert first.resolved
    assert np.array_equal(first.impulse[problem.rows_of(order)], again.impulse)


def four_corners(velocity):
    """A box on the four corners of a face: all contacts approach alike."""
    box = carom.Body(carom.Box((1.0, 1.0, 0.5)), mass=1.0, velocity=velocity)
    corners = [(x, y, -0.25) for x in (-0.5, 0.5) for y in (-0.5, 0.5)]
    return carom.contact_problem(box, None, corners, (0, 0, 1), friction=[0.5, 0.5, 0.5, 0.2])


@pytest.mark.parametrize("velocity", [(0.0, 0.0, -1.0), (0.3, 0.0, -1.0), (0.7, -0.2, -0.1)])
def test_contacts_that_approach_alike_are_told_apart(velocity):
    problem = four_corners(velocity)
    rng = np.random.default_rng(0)
    law = MaximumDissipation()
    first = law.resolve(problem)
    for _ in range(10):
        order = rng.permutation(4)
        again = law.resolve(problem.renumbered(order))
        assert np.array_equal(first.impulse[problem.rows_of(order)], again.impulse)


def row_of(count):
    """`count` contacts of a row of equal balls, the first of which comes in: all others are at rest alike."""
    W = 2.0 * np.eye(count) - np.eye(count, k=1) - np.eye(count, k=-1)
    planar = np.zeros((2 * count, 2 * count))
    planar[::2, ::2], planar[1::2, 1::2] = W, W
    return ImpactProblem(planar, np.eye(2 * count)[0] * -1.0, friction=0.1, dim=2)


def order_of(problem):
    W, u, friction, _ = problem.kernel_arrays()
    order = np.empty(problem.contact_count, dtype=np.int64)
    changes = numbering_kernels.order_by_state(W, u, friction, problem.dim, order)
    assert changes == (not np.array_equal(order, np.arange(len(order))))
    return order


def test_neighbours_of_neighbours_tell_contacts_apart():
    """In a row at rest only the distance from the contact that is struck differs."""
    problem = row_of(12)
    order = np.random.default_rng(1).permutation(12)
    first, again = order_of(problem), order_of(problem.renumbered(order))
    assert first[0] == 0
    assert np.array_equal(order[again], first)


def test_zeros_of_both_signs_are_one_number():
    problem = row_of(6)
    signed = ImpactProblem(
        np.where(problem.W == 0.0, -0.0, problem.W), np.where(problem.u == 0.0, -0.0, problem.u), 0.1, dim=2
    )
    assert np.array_equal(order_of(problem), order_of(signed))


def test_what_looks_the_same_from_everywhere_keeps_its_order():
    """A ring of equal contacts."""
    W = 2.0 * np.eye(5) + 0.5 * (np.roll(np.eye(5), 1, axis=0) + np.roll(np.eye(5), -1, axis=0))
    planar = np.kron(W, np.eye(2))
    problem = ImpactProblem(planar, np.tile([-1.0, 0.2], 5), friction=0.3, dim=2)
    assert np.array_equal(order_of(problem), np.arange(5))
    outcome = MaximumDissipation().resolve(problem)
    turned = MaximumDissipation().resolve(problem.renumbered([2, 3, 4, 0, 1]))
    assert turned.velocity == pytest.approx(outcome.velocity[problem.rows_of([2, 3, 4, 0, 1])], abs=1e-12)


def test_a_start_follows_its_contacts():
    rng = np.random.default_rng(3)
    law = MaximumDissipation()
    for _ in range(30):
        problem = random_problem(rng, 3)
        order = rng.permutation(problem.contact_count)
        start = law.resolve(problem).impulse
        first = law.resolve(problem, start=start)
        again = law.resolve(problem.renumbered(order), start=start[problem.rows_of(order)])
        assert np.array_equal(first.impulse[problem.rows_of(order)], again.impulse)


@pytest.mark.parametrize("order", [[0, 0], [0], [0, 2], [0.0, 1.0], "ba"])
def test_orders_that_are_none_are_refused(order):
    problem = ImpactProblem(np.eye(4), [-1.0, 0.0, -2.0, 0.0], dim=2)
    with pytest.raises(ValueError, match="order must hold each of 0 to 1 once"):
        problem.renumbered(order)


def test_a_renumbered_problem_keeps_names_and_intervals():
    problem = ImpactProblem(
        np.diag([1.0, 2.0, 3.0, 4.0]), [-1.0, 0.0, -2.0, 0.0], [(0.1, 0.2), (0.3, 0.3)], [0.5, 0.0], dim=2,
        contact_names=[("a", "b"), ("b", "c")],
    )  # fmt: skip
    other = problem.renumbered(np.array([1, 0]))
    assert other.contact_names == (("b", "c"), ("a", "b"))
    assert other.friction.tolist() == [[0.3, 0.3], [0.1, 0.2]]
    assert other.restitution.tolist() == [0.0, 0.5]
    assert other.W.diagonal().tolist() == [3.0, 4.0, 1.0, 2.0]
    assert other.approach_threshold == problem.approach_threshold


def test_example_of_the_docstring():
    module = importlib.import_module("carom.impact_laws.impact_problem")
    assert doctest.testmod(module, extraglobs={"np": np}).failed == 0
