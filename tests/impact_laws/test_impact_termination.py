"""Net force and termination bounds: analytic cones, convex duality, and the tails of sampled impacts."""

import math

import numpy as np
import pytest
from scipy.optimize import linprog, minimize
from scipy.spatial import KDTree

from carom.impact_laws import (
    ImpactProblem,
    SetValuedRouth,
    dense_sampling_count,
    net_force_bound,
    termination_bound,
)

KINDS = ["regular", "rank_deficient", "badly_scaled", "duplicated"]


def _edges(problem, cone_edges):
    """Impulses along the edges of all friction pyramids, one a row, with normal impulse 1."""
    angles = 2 * np.pi * np.arange(cone_edges) / cone_edges
    around = (
        np.column_stack([np.cos(angles), np.sin(angles)]) if problem.dim == 3 else np.array([[1.0], [-1.0]])
    )
    edges = np.zeros((problem.contact_count, len(around), problem.u.size))
    for contact, friction in enumerate(problem.friction):
        first = problem.dim * contact
        edges[contact, :, first] = 1.0
        edges[contact, :, first + 1 : first + problem.dim] = friction * around
    return edges.reshape(-1, problem.u.size)


def _groove(angle, friction, mass=1.0):
    """A point mass on two walls whose normals are turned by ±angle from the vertical, falling."""
    J = []
    for side in (angle, -angle):
        J += [[np.sin(side), np.cos(side)], [np.cos(side), -np.sin(side)]]
    return ImpactProblem.from_generalized(mass * np.eye(2), J, [0.0, -1.0], friction=friction, dim=2)


@pytest.mark.parametrize("dim", [2, 3])
@pytest.mark.parametrize("friction", [0.0, 0.7])
def test_one_contact_pushes_along_its_normal(dim, friction):
    """A point of mass 4: r is the unit normal, |r|_M = √4; friction only adds at right angles."""
    bound = net_force_bound(ImpactProblem(0.25 * np.eye(dim), [-1.0] + [0.0] * (dim - 1), friction, dim=dim))
    assert bound.pointed
    assert bound.norm == pytest.approx(2.0, rel=1e-14)
    np.testing.assert_allclose(bound.direction, [1.0] + [0.0] * (dim - 1), atol=1e-14)
    assert bound.certificate is None
    assert bound.reason == ""


def test_two_normals_at_right_angles():
    """r = (1, 1) for a point of mass 3 in a corner without friction."""
    bound = net_force_bound(ImpactProblem(np.eye(4) / 3 + np.eye(4)[[3, 2, 1, 0]] / 3, np.zeros(4), dim=2))
    np.testing.assert_allclose(bound.direction, [1, 1, 1, 1], atol=1e-12)
    assert bound.norm == pytest.approx(np.sqrt(6), rel=1e-12)


def test_rocking_block_is_pushed_up(rocking_block):
    bound = net_force_bound(rocking_block)
    np.testing.assert_allclose(bound.direction, [1, 0, 1, 0], atol=1e-14)
    assert bound.norm == pytest.approx(1.0, rel=1e-14)


def test_a_groove_jams_beyond_the_friction_that_closes_its_cones():
    """Normals at 60 degrees from the vertical: the edges are horizontal at μ = cot 60°."""
    angle = np.pi / 3
    for friction in (0.0, 0.3, 0.57):
        bound = net_force_bound(_groove(angle, friction, mass=2.0))
        upward = 1.0 / (np.cos(angle) - friction * np.sin(angle))
        assert bound.norm == pytest.approx(np.sqrt(2.0) * upward, rel=1e-12)
    for friction in (1.0 / np.tan(angle), 0.6, 5.0):
        bound = net_force_bound(_groove(angle, friction))
        assert not bound.pointed
        assert bound.norm == np.inf
        assert bound.direction is None
        assert "contacts 0, 1 cancel" in bound.reason


def test_a_body_squeezed_between_walls_has_a_certificate():
    problem = ImpactProblem.from_generalized(np.eye(2), [[1, 0], [0, 1], [-1, 0], [0, 1]], [-1.0, 0], dim=2)
    bound = net_force_bound(problem)
    assert not bound.pointed
    np.testing.assert_allclose(bound.certificate, [0.5, 0, 0.5, 0], atol=1e-14)
    assert termination_bound(problem, 1.0, 10**6) == 1.0


@pytest.mark.parametrize(("friction", "pointed"), [(0.4, True), (0.5, False), (2.0, False)])
def test_a_body_on_a_rail_can_jam_at_one_contact(friction, pointed):
    """Motion along (normal, tangent) = (1, -2) only: the edge (1, μ) has the effect 1 - 2 μ."""
    bound = net_force_bound(ImpactProblem([[1, -2], [-2, 4]], [-1.0, 2.0], friction=friction, dim=2))
    assert bound.pointed == pointed
    if pointed:
        assert bound.norm == pytest.approx(1.0 / (1.0 - 2.0 * friction), rel=1e-12)
    else:
        assert bound.reason == "an impulse in the friction cone of contact 0 changes no velocity"
        assert bound.certificate[0] == 1.0
        assert abs(bound.certificate[0] - 2.0 * bound.certificate[1]) <= 1e-14


@pytest.mark.parametrize("speed", [0.0, -1.0])
def test_an_immovable_contact_can_be_pressed_for_nothing(speed):
    problem = ImpactProblem(np.diag([1.0, 1.0, 0, 0]), [-1.0, 0, speed, 0], friction=0.3, dim=2)
    bound = net_force_bound(problem)
    assert not bound.pointed
    assert "contact 1" in bound.reason
    np.testing.assert_array_equal(bound.certificate[[0, 2]], [0.0, 1.0])
    assert net_force_bound(ImpactProblem(np.zeros((2, 2)), [speed, 0.0], dim=2)).reason


def test_a_moving_floor_without_inertia_gets_no_bound():
    """A belt can feed energy for ever: the contact pushes, but u_t is no motion of a mass."""
    problem = ImpactProblem(np.diag([1.0, 0.0]), [-1.0, 2.0], friction=0.3, dim=2)
    assert net_force_bound(problem).pointed
    assert termination_bound(problem, 1.0, 1000) == 1.0


@pytest.mark.parametrize("dim", [2, 3])
@pytest.mark.parametrize("kind", KINDS)
def test_bounds_and_certificates_of_random_contacts(kind, dim, random_problem):
    """A linear program decides alike; bounds hold for random impulses; certificates move nothing."""
    rng = np.random.default_rng([17, KINDS.index(kind), dim])
    for _ in range(40):
        problem = random_problem(rng, kind, dim)
        bound = net_force_bound(problem, cone_edges=6)
        edges = _edges(problem, 6)
        effects = edges @ problem.W
        effects /= np.abs(effects).max(axis=1)[:, None]
        size = problem.u.size
        # with r = M⁻¹ Jᵀ y, g·J r = (W g)·y: a positive margin for all edges, or none
        program = linprog(
            np.r_[np.zeros(size), -1.0],
            A_ub=np.column_stack([-effects, np.ones(len(effects))]),
            b_ub=np.zeros(len(effects)),
            bounds=[(-1, 1)] * size + [(None, 1)],
        )
        if bound.pointed:
            assert program.x[-1] > 0.0
            impulses = rng.exponential(size=(200, len(edges))) ** 3 @ edges
            normal = impulses[:, problem.normal_index].sum(axis=1)
            assert (impulses @ bound.direction >= normal * (1 - 1e-12)).all()
        else:
            assert program.x[-1] <= 1e-7
            impulse = bound.certificate.reshape(-1, dim)
            assert impulse[:, 0].sum() == pytest.approx(1.0)
            assert impulse[:, 0].min() >= 0.0
            across = np.linalg.norm(impulse[:, 1:], axis=1)
            assert (across <= problem.friction * impulse[:, 0] * (1 + 1e-12)).all()
            moved = np.abs(problem.W @ bound.certificate).max()
            assert moved <= 1e-9 * (np.abs(problem.W) @ np.abs(bound.certificate)).max()


@pytest.mark.parametrize("dim", [2, 3])
def test_no_shorter_direction_is_found_by_a_convex_solver(dim, random_problem):
    rng = np.random.default_rng([18, dim])
    for _ in range(15):
        problem = random_problem(rng, "regular", dim)
        bound = net_force_bound(problem, cone_edges=4)
        start = np.linalg.solve(problem.W, bound.direction)
        assert np.sqrt(start @ bound.direction) == pytest.approx(bound.norm, rel=1e-9)
        effects = _edges(problem, 4) @ problem.W
        answer = minimize(
            lambda y, W=problem.W: y @ W @ y,
            1.3 * start,
            jac=lambda y, W=problem.W: 2 * W @ y,
            constraints={
                "type": "ineq",
                "fun": lambda y, A=effects: A @ y - 1,
                "jac": lambda y, A=effects: A,
            },
            method="SLSQP",
            options={"maxiter": 500, "ftol": 1e-13},
        )
        assert (effects @ answer.x).min() >= 1 - 1e-6
        assert bound.norm <= np.sqrt(answer.fun) * (1 + 1e-5)


def test_termination_bound_is_its_formula():
    """A point of mass 1 at one contact: K = 2 |v|, and n/2 steps' worth of impulse on average."""
    problem = ImpactProblem(np.eye(2), [-3.0, 4.0], friction=0.5, dim=2)
    n = np.array([0, 10, 20, 21, 40, 400])
    expected = np.where(n > 20, np.exp(-2 * (n / 2 - 10.0) ** 2 / np.maximum(n, 1)), 1.0)
    np.testing.assert_allclose(termination_bound(problem, 1.0, n), expected, rtol=1e-12)
    assert termination_bound(problem, 1.0, 40) == pytest.approx(np.exp(-2 * 100 / 40))
    # twice the step takes half as long
    assert termination_bound(problem, 2.0, 20) == pytest.approx(np.exp(-2 * 25 / 20))


def test_motion_that_no_contact_sees_does_not_count(rocking_block):
    """Momentum along free directions, as of a second block far away, leaves the bound alone."""
    J = np.column_stack([rocking_block.jacobian, np.zeros(4)])
    v = [*rocking_block.velocity_before, 1e3]
    more = ImpactProblem.from_generalized(np.diag([1, 1, 5 / 12, 7.0]), J, v, friction=1.0, dim=2)
    n = np.arange(60)
    bound = termination_bound(more, 0.3, n)
    np.testing.assert_allclose(bound, termination_bound(rocking_block, 0.3, n), rtol=1e-9)
    speed = np.sqrt(2 * 9.81 * 0.01)
    excess = n / 3 - 2 * speed / 0.3
    expected = np.where(excess > 0, np.exp(-2 * excess**2 / np.maximum(n, 1)), 1.0)
    np.testing.assert_allclose(bound, expected, rtol=1e-9)


def test_velocities_that_no_mass_has_get_no_bound():
    """W lets the two contacts move alike only, u has them move apart."""
    problem = ImpactProblem(np.kron(np.ones((2, 2)), np.eye(2)), [-1.0, 0, 1.0, 0], dim=2)
    assert net_force_bound(problem).pointed
    assert termination_bound(problem, 1.0, 1000) == 1.0


def _excess_of_the_tail(problem, step, samples):
    """Largest excess of the observed probability of more than n steps over its bound."""
    outcomes = SetValuedRouth(step=step, max_steps=2000, rates="independent").sample(problem, samples, seed=9)
    assert outcomes.resolved.all()
    n = np.arange(outcomes.solves.max() + 2)
    observed = (outcomes.solves > n[:, None]).mean(axis=1)
    return (observed - termination_bound(problem, step, n)).max()


@pytest.mark.parametrize("scene", ["rocking_block", "box_and_wall", "compass_gait"])
@pytest.mark.parametrize("step", [0.02, 0.3, 2.0])
def test_scenes_end_sooner_than_the_bound(scene, step, request):
    assert _excess_of_the_tail(request.getfixturevalue(scene), step, 2000) <= 0.0


def test_random_impacts_end_sooner_than_the_bound(random_problem):
    rng = np.random.default_rng(19)
    compared = 0
    while compared < 50:
        problem = random_problem(rng, "regular", int(rng.integers(2, 4)))
        problem = ImpactProblem(problem.W, problem.u, problem.friction, dim=problem.dim)
        if not net_force_bound(problem).pointed:
            continue
        assert _excess_of_the_tail(problem, float(rng.choice([0.1, 0.5])), 400) <= 0.0
        compared += 1


def test_the_bound_bites_where_impacts_take_long():
    """A point mass brought to rest by small steps: observed steps cross the region where the bound falls."""
    problem = ImpactProblem(np.eye(2), [-1.0, 0.0], dim=2)
    outcomes = SetValuedRouth(step=0.01, rates="independent").sample(problem, 2000)
    assert 190 < outcomes.solves.mean() < 210  # uniform steps of mean 0.005
    assert termination_bound(problem, 0.01, 400) == 1.0
    assert termination_bound(problem, 0.01, 500) < 1e-4


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"step": 0.0}, ValueError),
        ({"step": "long"}, TypeError),
        ({"step": np.inf}, ValueError),
        ({"n": -1}, ValueError),
        ({"n": 1.5}, ValueError),
        ({"n": "many"}, TypeError),
        ({"cone_edges": 2}, ValueError),
    ],
)
def test_bad_arguments_are_named(change, error, rocking_block):
    with pytest.raises(error, match=next(iter(change))):
        termination_bound(rocking_block, **{"step": 1.0, "n": 3, **change})
    with pytest.raises(ValueError, match="cone_edges"):
        net_force_bound(rocking_block, cone_edges=2)


def test_dense_sampling_count_is_its_formula():
    """C = ceil(L √d/ε)^d cells and C ln(C/δ) samples (Halm & Posa, Lemma 1)."""
    assert dense_sampling_count(1, 1.0, 0.1) == math.ceil(10 * math.log(10 / 0.05))
    cells = math.ceil(2.0 * math.sqrt(3.0) / 0.3) ** 3
    assert dense_sampling_count(3, 2.0, 0.3, 0.9) == math.ceil(cells * math.log(cells / 0.1))
    assert dense_sampling_count(2, 1.0, 10.0, 0.5) == 1
    large = dense_sampling_count(400, 3.0, 1e-3)  # no float holds it
    assert len(str(large)) == math.floor(math.log10(large)) + 1 > 1900


def test_so_many_samples_are_a_net():
    """Of 400 sets of as many samples as asked for, no more than the share allowed leaves a hole of epsilon."""
    rng = np.random.default_rng(0)
    epsilon, confidence = 0.25, 0.9
    count = dense_sampling_count(2, 1.0, epsilon, confidence)
    grid = np.stack(np.meshgrid(*[np.linspace(0.0, 1.0, 21)] * 2), axis=-1).reshape(-1, 2)
    holes = [KDTree(rng.uniform(size=(count, 2))).query(grid)[0].max() > epsilon for _ in range(400)]
    assert np.mean(holes) <= 1.0 - confidence


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"dimension": 0}, ValueError),
        ({"lipschitz": 0.0}, ValueError),
        ({"lipschitz": "much"}, TypeError),
        ({"epsilon": np.inf}, ValueError),
        ({"confidence": 1.0}, ValueError),
    ],
)
def test_bad_counts_are_named(change, error):
    with pytest.raises(error, match=next(iter(change))):
        dense_sampling_count(**{"dimension": 2, "lipschitz": 1.0, "epsilon": 0.1, **change})
