"""The hand calculation of the pendulum at the wall; the demo's own checks run through the command line."""

import numpy as np
import pytest

import carom
from carom.demos.pendulum_and_wall import (
    FRICTION,
    PendulumAndWall,
    acceleration,
    contact_rows,
    gap,
    impact_by_hand,
    impacts_by_hand,
    inertia,
    rates_of,
)


@pytest.fixture(scope="module")
def trajectory():
    return carom.Simulator(PendulumAndWall().scene(), carom.StrongeCoulomb()).run(2.0)


def test_impact_by_hand_without_friction_is_newtons():
    mobility = np.array([[2.0, 0.7], [0.7, 3.0]])
    np.testing.assert_allclose(impact_by_hand(mobility, np.array([-3.0, 0.5]), 0.0, 0.6), [2.4, 0.0])


def test_impact_by_hand_of_a_ball_that_slips_or_sticks():
    """W = diag(1, 7/2): it slips on where |slip| > 7/2 μ (1 + e) |approach|, else slip ends at zero."""
    mobility, friction, restitution = np.diag([1.0, 3.5]), 0.2, 0.5
    impulse = impact_by_hand(mobility, np.array([-1.0, 2.0]), friction, restitution)
    np.testing.assert_allclose(impulse, [1.5, -0.3], atol=1e-15)
    impulse = impact_by_hand(mobility, np.array([-1.0, -0.7]), friction, restitution)
    np.testing.assert_allclose(impulse, [1.5, 0.2], atol=1e-15)


@pytest.mark.parametrize("seed", range(20))
def test_impact_by_hand_is_that_of_the_law(seed):
    """On contacts in which slip stops, turns round or goes on, before or after compression ends."""
    rng = np.random.default_rng(seed)
    mobility = np.array([[1.5, 0.6 * rng.uniform(-1, 1)], [0.0, 1.0]])
    mobility = mobility + np.triu(mobility, 1).T
    velocity, friction = np.array([-1.0, rng.normal()]), rng.uniform(0.0, 1.0)
    problem = carom.ImpactProblem(mobility, velocity, friction=friction, restitution=0.7, dim=2)
    expected = carom.StrongeCoulomb().resolve(problem).impulse
    np.testing.assert_allclose(impact_by_hand(mobility, velocity, friction, 0.7), expected, atol=1e-11)


def test_mobility_in_two_angles_is_the_projected_one_of_the_engine(trajectory):
    for event, (_, angles, *_) in zip(trajectory.events, impacts_by_hand(2, 2.0), strict=True):
        rows = contact_rows(angles)
        signs = np.array([1.0, event.contacts.tangent2[0, 2]])  # theirs may point down
        expected = rows @ np.linalg.solve(inertia(angles), rows.T) * np.outer(signs, signs)
        np.testing.assert_allclose(event.problem.W[np.ix_([0, 2], [0, 2])], expected, atol=1e-10)
        assert np.abs(event.problem.W[1]).max() < 1e-13  # nothing moves along the hinges
        assert event.problem.friction[0] == FRICTION
        assert gap(angles) == pytest.approx(0.0, abs=1e-12)


def test_acceleration_is_that_of_the_engine(trajectory):
    for t in (0.2, 0.5, 1.0):
        state = trajectory.sample(np.array([t - 1e-4, t, t + 1e-4]))
        rates = [rates_of(trajectory.sample(float(when))) for when in state.time]
        w, y = state.orientation[1, 1:, 0], state.orientation[1, 1:, 2]
        angles = -2.0 * np.arctan2(y, w)
        slope = (rates[2] - rates[0]) / 2e-4
        np.testing.assert_allclose(acceleration(angles, rates[1]), slope, rtol=1e-5)


def test_a_failed_check_is_seen():
    """Another law gives other impacts, from the first on."""
    demo = PendulumAndWall()
    trajectory = carom.Simulator(demo.scene(), carom.AnitescuPotra()).run(demo.duration)
    failed = [check.what for check in demo.check(trajectory) if not check.holds]
    assert len(failed) == 2
    assert all("by hand" in what for what in failed)
