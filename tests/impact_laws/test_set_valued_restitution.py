"""Energetic restitution of the set-valued law and coefficients known as intervals: single contacts and sequences
against Stronge's law, cradles, energy, wedged contacts, draws, refusals."""

import numpy as np
import pytest

from carom.impact_laws import (
    AnitescuPotra,
    ImpactProblem,
    MaximumDissipation,
    SequentialLCP,
    SequentialReflection,
    SetValuedRouth,
    StrongeCoulomb,
    coulomb_solutions,
    outcome_bounds,
)


def fine(problem, share=0.02, **parameters):
    """The law with steps of that share of the usual ones."""
    law = SetValuedRouth(restitution="energetic", **parameters)
    return SetValuedRouth(
        step=share * float(law.step_of(problem).max()), restitution="energetic", **parameters
    )


def two_contacts(seed, most_friction=0.8):
    """A random planar problem of two contacts that approach and that some motion separates."""
    rng = np.random.default_rng(seed)
    freedoms = int(rng.integers(3, 6))
    J, separating = rng.normal(size=(4, freedoms)), rng.normal(size=freedoms)
    J[::2][J[::2] @ separating < 0.0] *= -1.0
    v = rng.normal(size=freedoms) - 2.0 * separating
    return ImpactProblem.from_generalized(
        np.eye(freedoms), J, v, friction=rng.uniform(0.0, most_friction, 2), restitution=rng.uniform(), dim=2
    )


def loss_of(problem, outcomes):
    return -(outcomes.impulse * (problem.u + 0.5 * outcomes.impulse @ problem.W)).sum(axis=1)


def test_one_planar_contact_returns_exactly_where_slip_keeps_its_way():
    problem = ImpactProblem([[1.5, 0.4], [0.4, 2.0]], [-1.0, 5.0], friction=0.3, restitution=0.6, dim=2)
    outcome = SetValuedRouth(restitution="energetic").resolve(problem)
    np.testing.assert_allclose(outcome.velocity, StrongeCoulomb().resolve(problem).velocity, rtol=1e-10)


@pytest.mark.parametrize("dim", [2, 3])
def test_one_contact_converges_to_stronge(dim):
    """The error of slip that turns or stops falls with the step; in space the cone is a pyramid of 64 edges."""
    rng = np.random.default_rng(dim)
    errors = []
    for _ in range(60):
        J, v = rng.normal(size=(dim, dim + 2)), rng.normal(size=dim + 2)
        v -= J[0] * (J[0] @ v + 0.3) / (J[0] @ J[0])
        problem = ImpactProblem.from_generalized(
            np.eye(dim + 2), J, v, friction=rng.uniform(), restitution=rng.uniform(), dim=dim
        )
        expected = StrongeCoulomb().resolve(problem)
        errors.append(
            [
                np.abs(
                    fine(problem, share, cone_edges=64).resolve(problem).velocity - expected.velocity
                ).max()
                for share in (0.1, 0.01)
            ]
        )
    coarse, small = np.max(errors, axis=0)
    assert coarse <= 0.15
    assert small <= (0.012 if dim == 2 else 0.03)


@pytest.mark.parametrize("seed", range(12))
def test_sequences_of_single_impacts_are_in_the_set(seed):
    """One contact after the other by Stronge's law, in both orders: some sample comes as near as its step
    allows."""
    assert max(away_from_sequences(seed)) <= 0.02


@pytest.mark.long
def test_sequences_of_a_thousand_problems_are_in_the_set():
    away = np.array([away_from_sequences(seed) for seed in range(1000)])
    assert np.mean(away <= 0.01) >= 0.99
    assert away.max() <= 0.05


def away_from_sequences(seed):
    """How far the outcomes of both orders of Stronge's law are from the nearest sample, over the largest velocity
    before."""
    problem = two_contacts(seed)
    outcomes = fine(problem).sample(problem, 2000)
    assert outcomes.resolved.all()
    away = []
    for order in ((0, 1), (1, 0)):
        expected = StrongeCoulomb(order=order).resolve(problem)
        assert expected.resolved
        nearest = np.abs(outcomes.velocity - expected.velocity).max(axis=1).min()
        away.append(nearest / np.abs(problem.u).max())
    return away


def test_energy_is_never_gained_and_kept_without_friction():
    for seed in range(25):
        problem = two_contacts(100 + seed, most_friction=3.0)
        outcomes = SetValuedRouth(restitution="energetic").sample(problem, 500)
        assert outcomes.resolved.all()
        before = np.abs(outcomes.impulse @ problem.u)
        assert (loss_of(problem, outcomes) >= -1e-11 * before).all()
        elastic = ImpactProblem(problem.W, problem.u, friction=0.0, restitution=1.0, dim=2)
        outcomes = SetValuedRouth(restitution="energetic").sample(elastic, 500)
        assert outcomes.resolved.all()
        assert np.abs(loss_of(elastic, outcomes)).max() <= 1e-8 * before.max()


def test_the_cradle_has_the_real_outcome_among_its_outcomes(row_of_balls):
    """Three equal balls: (0, 0, 1) comes of one contact after the other, (-1/3, 2/3, 2/3) of both at once."""
    problem = row_of_balls([1.0, 1.0, 1.0], [1.0, 0.0, 0.0])
    outcomes = SetValuedRouth(restitution="energetic").sample(problem, 1000)
    velocity = problem.velocity_before + outcomes.impulse @ np.linalg.solve(np.eye(3), problem.jacobian.T).T
    assert np.abs(velocity - [0.0, 0.0, 1.0]).max(axis=1).min() <= 1e-9
    np.testing.assert_allclose(velocity.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_allclose((velocity**2).sum(axis=1), 1.0, rtol=1e-9)


def test_a_contact_returns_while_another_is_still_compressed():
    """Two separate balls: the sooner stopped one rebounds before the other has stopped, in some samples."""
    problem = ImpactProblem(np.eye(4), [-0.2, 0.0, -1.0, 0.0], restitution=0.5, dim=2)
    law = fine(problem)
    seen = 0
    for seed in range(40):
        outcome = law.resolve(problem, np.random.default_rng(seed))
        np.testing.assert_allclose(outcome.velocity, [0.1, 0.0, 0.5, 0.0], atol=1e-10)
        velocities = outcome.path.velocity
        seen += bool(((velocities[:, 0] > 0.05) & (velocities[:, 2] < -0.1)).any())
    assert seen > 5


def test_wedged_contacts_return_nothing_and_end():
    W = np.outer([0.76, 0.67], [0.76, 0.67])
    problem = ImpactProblem(W, [-0.44, -0.44 * 0.67 / 0.76], friction=3.0, restitution=1.0, dim=2)
    outcome = SetValuedRouth(restitution="energetic").resolve(problem)
    assert outcome.resolved, outcome.message
    np.testing.assert_allclose(outcome.velocity, 0.0, atol=1e-12)


def test_intervals_are_drawn_for_each_sample_and_contact():
    """Two separate frictionless balls rebound with e of their own; slip of a third problem shows friction."""
    problem = ImpactProblem(np.eye(4), [-1.0, 0.0, -1.0, 0.0], restitution=[(0.2, 0.6), (0.5, 0.5)], dim=2)
    outcomes = SetValuedRouth(restitution="energetic").sample(problem, 4000)
    first, second = outcomes.velocity[:, 0], outcomes.velocity[:, 2]
    assert 0.2 <= first.min() < 0.202
    assert 0.598 < first.max() <= 0.6 + 1e-9
    assert first.mean() == pytest.approx(0.4, abs=0.01)
    np.testing.assert_allclose(second, 0.5, atol=1e-9)
    sliding = ImpactProblem(np.eye(6), [-1.0, 3.0, 0.0] * 2, friction=[(0.1, 0.4)])
    outcomes = SetValuedRouth().sample(sliding, 2000)
    slip = 3.0 - outcomes.velocity.reshape(-1, 2, 3)[..., 1]
    assert 0.1 - 1e-9 <= slip.min() < 0.103
    assert 0.397 < slip.max() <= 0.4 + 1e-9
    assert abs(np.corrcoef(slip.T)[0, 1]) < 0.1
    drawn = SetValuedRouth().resolve(sliding, np.random.default_rng(3))
    np.testing.assert_allclose(3.0 - drawn.velocity[[1, 4]], drawn.info["friction"], rtol=1e-9)


def test_intervals_of_no_width_are_numbers():
    problem = ImpactProblem(np.eye(4), -np.ones(4), friction=[(0.3, 0.3)], restitution=[(0.0, 0.0)], dim=2)
    assert problem.friction.shape == (2,)
    assert AnitescuPotra().resolve(problem).resolved


@pytest.mark.parametrize("name", ["friction", "restitution"])
@pytest.mark.parametrize(
    "law",
    [AnitescuPotra(), MaximumDissipation(), SequentialLCP(), SequentialReflection(), StrongeCoulomb()],
    ids=lambda law: law.name,
)
def test_other_laws_refuse_intervals(law, name):
    problem = ImpactProblem(np.eye(4), -np.ones(4), **{name: [(0.1, 0.2)]}, dim=2)
    with pytest.raises(ValueError, match=f"{name} must be one number a contact .*SetValuedRouth"):
        law.resolve(problem)


def test_questions_of_one_number_refuse_intervals():
    problem = ImpactProblem(np.eye(4), -np.ones(4), friction=[(0.1, 0.2), (0.1, 0.1)], dim=2)
    with pytest.raises(ValueError, match="friction must be one number"):
        outcome_bounds(problem)
    with pytest.raises(ValueError, match="friction must be one number"):
        coulomb_solutions(ImpactProblem(np.eye(3), [-1.0, 0.0, 0.0], friction=[(0.1, 0.2)]))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"friction": [(0.3, 0.1)]}, "friction must hold intervals"),
        ({"friction": [(-0.1, 0.1)]}, "friction must be at least 0"),
        ({"restitution": [(0.5, 1.2)]}, "restitution must lie within"),
        ({"friction": np.zeros((3, 2))}, "friction must be a number"),
        ({"friction": np.zeros((2, 3))}, "friction must be a number"),
        ({"restitution": [(0.5, np.nan)]}, "restitution must be finite"),
    ],
)
def test_bad_intervals_are_named(change, message):
    with pytest.raises(ValueError, match=message):
        ImpactProblem(np.eye(4), -np.ones(4), **change, dim=2)
