"""Contacts that may go on approaching, each at a speed of its own."""

import numpy as np
import pytest

from carom.impact_laws import ContactNetwork, MaximumDissipation

RULES = ["maximum-dissipation", "coulomb"]


def falling_ball(speed: float, slack: float, friction: float = 0.0, sideways: float = 0.0) -> ContactNetwork:
    """A ball of 2 kg and radius 1 on a plane."""
    return ContactNetwork.of_points(
        [[0, -1]], [[0, 0, -1]], [[0, 0, 1]], [[0, 0, 0]], [2.0], [0.8], [[sideways, 0, -speed, 0, 0, 0]], friction,
        slack,
    )  # fmt: skip


def column(slack, seed: int = 0) -> ContactNetwork:
    """Twenty balls of different masses, one on the other on a plane, with friction and any velocities."""
    rng = np.random.default_rng(seed)
    count = 20
    place = np.zeros((count, 3))
    place[:, 2] = 2.0 * np.arange(count)
    pairs = np.stack([np.arange(count), np.arange(count) - 1], axis=1)
    mass = rng.uniform(1.0, 3.0, count)
    velocity = rng.normal(size=(count, 6)) - np.array([0, 0, 2.0, 0, 0, 0])
    return ContactNetwork.of_points(
        pairs,
        place - [0, 0, 1],
        np.tile([0.0, 0.0, 1.0], (count, 1)),
        place,
        mass,
        0.4 * mass,
        velocity,
        0.3,
        slack,
    )


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(("slack", "after"), [(0.0, 0.0), (1.0, -1.0), (2.5, -2.5), (4.0, -3.0), (-0.5, 0.5)])
def test_one_contact_ends_at_its_slack(rule, slack, after):
    outcome = MaximumDissipation(rule).resolve_network(falling_ball(3.0, slack))
    assert outcome.resolved
    assert outcome.velocity[0, 2] == pytest.approx(after, abs=1e-14)
    assert outcome.impulse[0, 0] == pytest.approx(2.0 * (3.0 + after), abs=1e-13)
    assert outcome.energy_change == pytest.approx(after**2 - 9.0, abs=1e-13)


def test_friction_follows_the_impulse_that_is_left():
    outcome = MaximumDissipation().resolve_network(falling_ball(3.0, 2.0, friction=0.1, sideways=5.0))
    normal, *tangential = outcome.impulse[0]
    assert normal == pytest.approx(2.0)
    assert np.linalg.norm(tangential) == pytest.approx(0.1 * normal)
    assert outcome.velocity[0, 0] == pytest.approx(5.0 - 0.1)


@pytest.mark.parametrize("rule", RULES)
def test_many_contacts_press_only_where_they_have_used_their_slack(rule):
    slack = np.random.default_rng(5).uniform(0.0, 3.0, 20)
    network = column(slack)
    outcome = MaximumDissipation(rule).resolve_network(network)
    assert outcome.resolved
    left = network.contact_velocity(outcome.velocity)[:, 0] + slack
    pressed = outcome.impulse[:, 0] > 0.0
    assert 0 < pressed.sum() < 20
    assert np.abs(left[pressed]).max() <= 1e-8
    assert left[~pressed].min() >= -1e-8
    size = np.linalg.norm(outcome.impulse[:, 1:], axis=1)
    assert (size <= network.friction * outcome.impulse[:, 0] * (1 + 1e-14)).all()
    assert outcome.energy_change < 0.0


@pytest.mark.parametrize("rule", RULES)
def test_hardly_any_slack_is_no_slack(rule):
    law = MaximumDissipation(rule)
    none, hardly = (law.resolve_network(column(slack)) for slack in (0.0, 1e-13))
    np.testing.assert_allclose(hardly.impulse, none.impulse, atol=1e-7)


def test_slack_is_the_motion_of_a_plane_that_gives_way():
    """A plane that sinks at the slack's speed is the same contact in another frame."""
    slack = 0.7
    outcome = MaximumDissipation().resolve_network(falling_ball(3.0, slack, friction=0.4, sideways=1.0))
    seen = MaximumDissipation().resolve_network(falling_ball(3.0 - slack, 0.0, friction=0.4, sideways=1.0))
    np.testing.assert_allclose(outcome.impulse, seen.impulse, atol=1e-12)
    np.testing.assert_allclose(outcome.velocity, seen.velocity - [[0, 0, slack, 0, 0, 0]], atol=1e-12)


def test_a_start_is_taken_up():
    network = column(np.linspace(0.0, 2.0, 20))
    law = MaximumDissipation()
    first = law.resolve_network(network)
    again = law.resolve_network(network, start=first.impulse)
    assert first.sweeps > 0 == again.sweeps
    np.testing.assert_array_equal(again.impulse, first.impulse)


def test_bad_slack_and_its_dense_form_are_refused():
    with pytest.raises(ValueError, match=r"slack must be a number or have shape \(20,\), got shape \(3,\)"):
        column(np.zeros(3))
    with pytest.raises(ValueError, match="slack must be finite"):
        column(np.inf)
    with pytest.raises(ValueError, match="slack must be 0 at every contact of a dense problem"):
        column(1.0).dense()
    assert column(0.0).dense().contact_count == 20
