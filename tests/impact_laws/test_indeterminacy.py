import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from carom.impact_laws import ImpactProblem, SequentialReflection, contact_angles, indeterminacy, uniqueness

CUE_ENERGY = 0.5


def billiard(theta, masses=(1.0, 1.0, 1.0)):
    """Figure 4: balls a and b at rest, cue ball c of unit velocity along the bisector of the angle at c."""
    a, b, c = masses
    J = np.zeros((4, 6))
    for ball, angle in enumerate((0.5 * theta, -0.5 * theta)):
        normal = np.array([np.cos(angle), np.sin(angle)])
        for row, direction in ((2 * ball, normal), (2 * ball + 1, np.array([-normal[1], normal[0]]))):
            J[row, 2 * ball : 2 * ball + 2] = direction
            J[row, 4:] = -direction
    velocity = [0.0, 0.0, 0.0, 0.0, 1.0, 0.0]
    return ImpactProblem.from_generalized(np.diag([a, a, b, b, c, c]), J, velocity, restitution=1.0, dim=2)


def two_contacts(product, u):
    W = np.eye(4)
    W[0, 2] = W[2, 0] = product
    return ImpactProblem(W, [u[0], 0.0, u[1], 0.0], restitution=1.0, dim=2)


@pytest.mark.parametrize(("theta", "expected"), [(np.pi / 3, 0.75), (np.pi / 2, 0.0), (np.pi, 0.0)])
def test_billiard_break_of_equal_balls(theta, expected):
    assert indeterminacy(billiard(theta)) == pytest.approx(expected, abs=1e-14)
    assert indeterminacy(billiard(theta), CUE_ENERGY) == pytest.approx(expected, abs=1e-14)


def test_billiard_break_has_its_kink_where_three_stages_begin():
    """Between π/2 and π the largest ξ is 0.618 = (√5 - 1)/2, at cos θ = -0.618: from there on three stages."""
    golden = 0.5 * (np.sqrt(5.0) - 1.0)
    kink = np.arccos(-golden)
    assert indeterminacy(billiard(kink), CUE_ENERGY) == pytest.approx(golden, abs=1e-12)
    values = [indeterminacy(billiard(theta), CUE_ENERGY) for theta in np.linspace(np.pi / 2, np.pi, 400)]
    assert max(values) <= golden
    for theta, stages in ((kink - 0.01, 2), (kink + 0.01, 3)):
        assert len(SequentialReflection().resolve(billiard(theta)).info["sequence"]) == stages


def test_orthogonal_break_is_determinate_whatever_the_masses():
    rng = np.random.default_rng(1)
    for masses in rng.uniform(0.1, 10.0, size=(20, 3)):
        problem = billiard(np.pi / 2, masses)
        assert indeterminacy(problem, 0.5 * masses[2]) < 1e-14
        assert contact_angles(problem)[0, 1] == pytest.approx(np.pi / 2, abs=1e-14)
        assert uniqueness(problem).theorem == 2


def test_angles_between_normals_in_the_kinetic_metric(row_of_balls):
    """Equal balls in a row 2π/3, and cos θ/2 for the break (equation 31 with unit normals)."""
    angles = contact_angles(row_of_balls(np.ones(4), np.zeros(4)))
    third = 2.0 * np.pi / 3.0
    expected = [[0.0, third, np.pi / 2], [third, 0.0, third], [np.pi / 2, third, 0.0]]
    np.testing.assert_allclose(angles, expected, atol=1e-15)
    for theta in np.linspace(np.pi / 3, np.pi, 7):
        assert np.cos(contact_angles(billiard(theta))[0, 1]) == pytest.approx(np.cos(theta) / 2, abs=1e-15)
    immovable = ImpactProblem(np.diag([1.0, 1.0, 0.0, 0.0]), np.zeros(4), dim=2)
    assert np.array_equal(contact_angles(immovable), [[0.0, np.nan], [np.nan, np.nan]], equal_nan=True)


def test_indeterminacy_is_the_distance_of_both_orders_and_its_closed_form():
    """ξ = ‖p_ab - p_ba‖/‖p_0‖ by resolving in both orders, and 2 |sin 2nγ| where both take n reflections."""
    rng = np.random.default_rng(2)
    alike = unlike = 0
    for _ in range(500):
        product = rng.uniform(-0.99, 0.9)
        problem = two_contacts(product, rng.normal(size=2))
        first, second = (SequentialReflection(order=order).resolve(problem) for order in ([0, 1], [1, 0]))
        apart = first.impulse - second.impulse
        before = np.sqrt(problem.u @ np.linalg.solve(problem.W, problem.u))
        found = indeterminacy(problem)
        assert found == pytest.approx(np.sqrt(max(apart @ problem.W @ apart, 0.0)) / before, abs=1e-12)
        stages = len(first.info["sequence"])
        if not problem.approaching().all():
            assert found == 0.0
        elif stages == len(second.info["sequence"]):
            assert found == pytest.approx(2.0 * abs(np.sin(stages * np.arccos(-product))), abs=1e-11)
            alike += 1
        else:
            unlike += 1
    assert min(alike, unlike) > 30


def test_kinetic_energy_outside_the_contacts_lowers_indeterminacy():
    problem = two_contacts(0.3, [-1.0, -1.0])
    energy = 0.5 * problem.u @ np.linalg.solve(problem.W, problem.u)
    assert indeterminacy(problem) == pytest.approx(indeterminacy(problem, energy))
    assert indeterminacy(problem, 4.0 * energy) == pytest.approx(0.5 * indeterminacy(problem))
    with pytest.raises(ValueError, match="kinetic_energy must be finite and at least"):
        indeterminacy(problem, 0.5 * energy)


def test_indeterminacy_of_more_contacts_is_the_largest_of_all_orders(row_of_balls):
    rng = np.random.default_rng(3)
    for _ in range(20):
        problem = row_of_balls(rng.uniform(0.2, 5.0, size=4), -np.sort(rng.normal(size=4)))
        impulses = [
            SequentialReflection(order="random").resolve(problem, np.random.default_rng(seed)).impulse
            for seed in range(60)
        ]
        apart = np.array([a - b for a in impulses for b in impulses])
        seen = np.sqrt(np.einsum("ki,ij,kj->k", apart, problem.W, apart).max() / 2.0)
        energy = 10.0
        found = indeterminacy(problem, energy)
        assert found * np.sqrt(energy) >= seen - 1e-12
        outcomes = SequentialReflection().outcomes(problem).impulse
        apart = outcomes[:, None] - outcomes
        minimal = np.sqrt(np.einsum("abi,ij,abj->ab", apart, problem.W, apart).max() / 2.0)
        assert found * np.sqrt(energy) >= minimal - 1e-12


def test_indeterminacy_without_impact_and_without_outcome(row_of_balls):
    assert indeterminacy(row_of_balls([1, 1, 1], [0, 1, 2])) == 0.0
    assert indeterminacy(row_of_balls([1, 1, 1], [0, 0, 0])) == 0.0
    assert np.isnan(indeterminacy(two_contacts(-1.0, [-1.0, 1.0])))


@settings(derandomize=True, deadline=None, max_examples=200)
@given(st.integers(2, 12), st.floats(-10.0, 10.0), st.floats(-10.0, 10.0))
def test_planes_that_divide_a_half_turn_are_unique(order, first, second):
    answer = uniqueness(two_contacts(-np.cos(np.pi / order), [first, second]))
    assert answer.unique
    assert answer.theorem == {2: 2, 3: 3}.get(order)
    assert indeterminacy(two_contacts(-np.cos(np.pi / order), [first, second])) < 1e-9


@settings(derandomize=True, deadline=None, max_examples=300)
@given(st.floats(-0.999, 0.999), st.floats(-1.0, 1.0))
def test_other_two_contacts_are_not_unique(product, place):
    """Directions between the two that need as many reflections in either order: ξ is their 2 |sin 2nγ| > 0."""
    turn = np.arccos(-product)
    multiples = np.round(np.pi / turn)
    answer = uniqueness(two_contacts(product, [0.0, 0.0]))
    assert answer.unique == (multiples >= 2 and abs(multiples * turn - np.pi) <= 1e-9)
    if not answer.unique and (multiples < 2 or abs(multiples * turn - np.pi) > 1e-4):
        bisector = two_contacts(product, [-1.0, -1.0])
        assert indeterminacy(bisector) > 1e-5
        assert f"{product:.6g}" in answer.reason


def test_uniqueness_says_why(row_of_balls):
    assert uniqueness(ImpactProblem(np.eye(2), [-1.0, 0.0], dim=2)).unique
    assert uniqueness(ImpactProblem(np.eye(6), np.zeros(6), dim=2)).theorem == 2
    cradle = uniqueness(row_of_balls(np.ones(3), np.zeros(3)))
    assert (cradle.unique, cradle.theorem) == (True, 3)
    assert "theorem 3" in cradle.reason
    longer = uniqueness(row_of_balls(np.ones(6), np.zeros(6)))
    assert (longer.unique, longer.theorem) == (True, None)
    assert "finite reflection group" in longer.reason
    unequal = uniqueness(row_of_balls([1, 2, 3], np.zeros(3)))
    assert (unequal.unique, unequal.theorem) == (False, None)
    assert "contacts 0 and 1" in unequal.reason
    immovable = uniqueness(ImpactProblem(np.diag([1.0, 1.0, 0.0, 0.0]), np.zeros(4), dim=2))
    assert not immovable.unique
    assert "Contact 1 is immovable" in immovable.reason
    plus_half = uniqueness(two_contacts(0.5, [-1.0, -1.0]))
    assert not plus_half.unique
    triangle = np.eye(6)
    for i, j in ((0, 2), (0, 4), (2, 4)):
        triangle[i, j] = triangle[j, i] = -0.5
    assert not uniqueness(ImpactProblem(triangle, np.zeros(6), dim=2)).unique


def test_tolerance_of_uniqueness():
    nearly = two_contacts(-0.5 + 1e-6, [-1.0, -1.0])
    assert not uniqueness(nearly).unique
    assert uniqueness(nearly, tolerance=1e-5).theorem == 3
    assert indeterminacy(nearly) < 2e-5
    with pytest.raises(ValueError, match="tolerance must lie within"):
        uniqueness(nearly, tolerance=1.0)
