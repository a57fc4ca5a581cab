import numpy as np
import pytest

from carom.impact_laws import ImpactProblem, ImpactStatus, SequentialReflection


@pytest.mark.parametrize("count", [2, 3, 5, 9])
@pytest.mark.parametrize("order", ["most_approaching", "least_approaching", "cyclic", "random"])
def test_newtons_cradle(row_of_balls, count, order):
    problem = row_of_balls(np.ones(count), np.eye(count)[0])
    outcome = SequentialReflection(order=order).resolve(problem)
    assert np.abs(problem.generalized_velocity(outcome) - np.eye(count)[-1]).max() <= 1e-14
    assert outcome.info["sequence"] == tuple(range(count - 1))


def test_unequal_balls(row_of_balls):
    problem = row_of_balls([1, 2, 3], [1, 0, 0])
    outcome = SequentialReflection().resolve(problem)
    np.testing.assert_allclose(problem.generalized_velocity(outcome), [-1 / 3, -2 / 15, 8 / 15], atol=1e-15)


def test_two_sequences_with_one_outcome(row_of_balls):
    problem = row_of_balls([1, 1, 1], [1, 0, -1])
    for order, sequence in (([0, 1], (0, 1, 0)), ([1, 0], (1, 0, 1))):
        outcome = SequentialReflection(order=order).resolve(problem)
        assert outcome.info["sequence"] == sequence
        np.testing.assert_allclose(problem.generalized_velocity(outcome), [-1, 0, 1], atol=1e-15)


def test_orders_choose_as_they_say(row_of_balls):
    """Four balls with contacts 0 and 2 approaching at different speeds."""
    problem = row_of_balls([1, 1, 1, 1], [1, 0, 0, -3])
    first = {
        order: SequentialReflection(order=order).resolve(problem).info["sequence"][0]
        for order in ("most_approaching", "least_approaching", "cyclic")
    }
    assert first == {"most_approaching": 2, "least_approaching": 0, "cyclic": 0}
    assert SequentialReflection(order=[2, 1, 0]).resolve(problem).info["sequence"][0] == 2


def test_most_approaching_uses_the_kinetic_metric():
    # u_n is larger at contact 0, u_n/√W_nn at contact 1
    problem = ImpactProblem(np.diag([100.0, 1, 1, 1]), [-2, 0, -1, 0], restitution=1.0, dim=2)
    assert SequentialReflection().resolve(problem).info["sequence"] == (1, 0)


def test_random_order_follows_the_generator(row_of_balls):
    problem = row_of_balls(np.arange(1.0, 9.0), [1, -1, 1, -1, 1, -1, 1, -1])
    law = SequentialReflection(order="random")
    runs = [law.resolve(problem, np.random.default_rng(seed)).info["sequence"] for seed in range(8)]
    assert len(set(runs)) > 1
    assert law.resolve(problem).info["sequence"] == law.resolve(problem).info["sequence"]


@pytest.mark.parametrize("e", [0.0, 0.3, 0.7, 0.95, 1.0])
def test_one_contact_is_newtons_restitution(e):
    outcome = SequentialReflection().resolve(
        ImpactProblem([[2.0, 0], [0, 1]], [-3.0, 1.0], restitution=e, dim=2)
    )
    np.testing.assert_allclose(outcome.velocity, [3.0 * e, 1.0], rtol=1e-14, atol=1e-15)
    np.testing.assert_allclose(outcome.energy_change, -(1 - e * e) * 9.0 / 4.0, atol=1e-14)


def test_energy_lost_is_the_restitution_share_of_the_plastic_loss(random_problem):
    """Equation (16): loss = (1 - R²) of the plastic loss, which e = 0 shows; α = R only without leftover
    b."""
    rng = np.random.default_rng(11)
    differs = 0
    for _ in range(100):
        drawn = random_problem(rng, "regular", 3)
        plastic = SequentialReflection().resolve(ImpactProblem(drawn.W, drawn.u, restitution=0.0))
        for e in (0.2, 0.6, 0.9):
            outcome = SequentialReflection().resolve(ImpactProblem(drawn.W, drawn.u, restitution=e))
            assert outcome.resolved
            assert outcome.info["restitution"] == (e if drawn.approaching().any() else 1.0)
            assert outcome.energy_change == pytest.approx(
                (1 - e * e) * plastic.energy_change, abs=1e-12 * (1 + abs(plastic.energy_change))
            )
            differs += abs(outcome.info["mixing"] - e) > 1e-6
    assert differs > 0


def test_plastic_impact_pulls_nowhere_and_is_complementary(random_problem):
    rng = np.random.default_rng(12)
    for _ in range(100):
        drawn = random_problem(rng, "rank_deficient", 2)
        outcome = SequentialReflection().resolve(ImpactProblem(drawn.W, drawn.u, dim=2))
        normal, impulse = outcome.velocity[::2], outcome.impulse[::2]
        scale = np.abs(drawn.u).max() + 1.0
        assert impulse.min() >= 0.0
        assert normal.min() > -1e-9 * scale
        assert np.abs(np.minimum(normal, impulse * drawn.W.diagonal()[::2])).max() < 1e-8 * scale


def test_unequal_restitution_is_weighted_by_work():
    """Two contacts that do not feel each other: work ½ u²/W_nn each."""
    problem = ImpactProblem(np.diag([1.0, 1, 4, 1]), [-1.0, 0, -4.0, 0], restitution=[0.0, 1.0], dim=2)
    outcome = SequentialReflection().resolve(problem)
    assert outcome.info["restitution"] == pytest.approx(np.sqrt(2.0 / 2.5))
    assert outcome.energy_change == pytest.approx(-0.5)


def test_wedged_body_does_not_terminate():
    W = np.array([[1.0, 0, -1, 0], [0, 1, 0, 1], [-1, 0, 1, 0], [0, 1, 0, 1]])
    problem = ImpactProblem(W, [-1.0, 0, 1, 0], restitution=1.0, dim=2)
    outcome = SequentialReflection(max_reflections=50).resolve(problem)
    assert outcome.status is ImpactStatus.NOT_TERMINATED
    assert len(outcome.info["sequence"]) == 50
    assert "wedged" in outcome.status.advice


def test_immovable_contact_has_no_solution():
    for e in (0.0, 0.5, 1.0):
        problem = ImpactProblem(np.zeros((2, 2)), [-1.0, 0.0], restitution=e, dim=2)
        assert SequentialReflection().resolve(problem).status is ImpactStatus.NO_SOLUTION


def test_two_contacts_need_no_more_than_the_tight_bound():
    """Theorem 1 with the bound that occurs: ceil(π/(2γ)) reflections, ⟨u, v⟩ = -cos 2γ for unit normals."""
    rng = np.random.default_rng(4)
    attained = 0
    for _ in range(300):
        half_angle = rng.uniform(0.02, np.pi / 2 - 0.02)
        product = -np.cos(2 * half_angle)
        W = np.eye(4)
        W[0, 2] = W[2, 0] = product
        problem = ImpactProblem(W, [*rng.normal(size=4)], restitution=1.0, dim=2)
        made = len(SequentialReflection().resolve(problem).info["sequence"])
        bound = int(np.ceil(np.pi / (2 * half_angle)))
        assert made <= bound
        attained += made == bound
    assert attained > 0


@pytest.mark.parametrize(
    ("fields", "error", "words"),
    [
        ({"order": "fastest"}, ValueError, "order must be one of most_approaching"),
        ({"order": 3}, TypeError, "order must be a word"),
        ({"order": [0.5]}, TypeError, "order must hold contact indices"),
        ({"max_reflections": 0}, ValueError, "max_reflections must be at least 1"),
        ({"max_reflections": 1.5}, TypeError, "max_reflections must be an integer"),
    ],
)
def test_bad_parameters_are_refused(fields, error, words):
    with pytest.raises(error, match=words):
        SequentialReflection(**fields)


def test_order_must_name_every_contact(row_of_balls):
    with pytest.raises(ValueError, match="every contact from 0 to 1"):
        SequentialReflection(order=[0]).resolve(row_of_balls([1, 1, 1], [1, 0, 0]))
    with pytest.raises(TypeError, match="rng must be"):
        SequentialReflection(order="random").resolve(row_of_balls([1, 1], [1, 0]), 5)
