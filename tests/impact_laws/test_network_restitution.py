"""Restitution of many contacts whose matrix is never formed, beside the same problem with its matrix."""

import numpy as np
import pytest

from carom.impact_laws import ContactNetwork, MaximumDissipation

RULES = ["maximum-dissipation", "coulomb"]


def boxes(seed: int, friction: float, restitution) -> ContactNetwork:
    """Five boxes that stand on each other by four corners each, on a plane, with any masses and velocities."""
    rng = np.random.default_rng(seed)
    count = 5
    place = np.zeros((count, 3))
    place[:, 2] = np.arange(count) + 0.5
    pairs = np.repeat(np.stack([np.arange(count), np.arange(count) - 1], axis=1), 4, axis=0)
    corners = np.array([[x, y, -0.5] for x in (-0.4, 0.4) for y in (-0.3, 0.3)])
    points = (place[:, None] + corners).reshape(-1, 3)
    mass = rng.uniform(1.0, 3.0, count)
    inertia = mass[:, None, None] * np.diag([0.1, 0.12, 0.14])
    velocity = 0.3 * rng.normal(size=(count, 6))
    velocity[:, 2] -= 1.0 + np.arange(count)
    return ContactNetwork.of_points(
        pairs, points, np.tile([0.0, 0.0, 1.0], (len(points), 1)), place, mass, inertia, velocity, friction,
        restitution=restitution,
    )  # fmt: skip


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("e", [0.0, 0.3, 0.8, 1.0])
def test_two_balls_that_meet_the_floor_rise_with_their_share(rule, e):
    network = ContactNetwork.of_points(
        [[0, -1], [1, -1]], [[0, 0, -1], [5, 0, -1]], np.tile([0.0, 0.0, 1.0], (2, 1)), [[0, 0, 0], [5, 0, 0]],
        [2.0, 1.0], [0.8, 0.4], [[0, 0, -3.0, 0, 0, 0], [0, 0, -1.0, 0, 0, 0]], 0.3, restitution=[e, 0.5 * e],
    )  # fmt: skip
    outcome = MaximumDissipation(rule).resolve_network(network)
    assert outcome.resolved
    assert outcome.restitution_share == 1.0
    np.testing.assert_allclose(outcome.velocity[:, 2], [3.0 * e, 0.5 * e], atol=1e-13)
    lost = 0.5 * 2.0 * 9.0 * (1.0 - e**2) + 0.5 * (1.0 - 0.25 * e**2)
    assert outcome.energy_change == pytest.approx(-lost, abs=1e-12)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("friction", [0.0, 0.4])
@pytest.mark.parametrize("seed", range(6))
def test_a_network_and_its_matrix_agree(rule, friction, seed):
    """Velocities are unique without friction; with it, several solutions may be, so both are judged by what they
    ask for: normal velocities of all contacts, no energy, and the same share."""
    restitution = np.random.default_rng(100 + seed).uniform(0.0, 1.0, 20)
    network = boxes(seed, friction, restitution)
    law = MaximumDissipation(rule, max_sweeps=100_000)
    outcome = law.resolve_network(network)
    assert outcome.residual <= 1e-6  # relaxation alone may cycle above its tolerance (docs/laws.md)
    before, after = network.contact_velocity()[:, 0], network.contact_velocity(outcome.velocity)[:, 0]
    wanted = outcome.restitution_share * restitution * np.maximum(-before, 0.0)
    assert (after - wanted).min() >= -1e-5
    pressed = outcome.impulse[:, 0] > 1e-6 * outcome.impulse.max()
    assert np.abs(after - wanted)[pressed].max() <= 1e-5
    slip = np.linalg.norm(outcome.impulse[:, 1:], axis=1)
    assert (slip <= friction * outcome.impulse[:, 0] * (1 + 1e-9) + 1e-12).all()
    taken = abs(float(np.sum(outcome.impulse * network.contact_velocity())))
    assert outcome.energy_change <= 1e-12 * taken
    dense = law.resolve(network.dense())
    assert dense.resolved
    if friction == 0.0:
        np.testing.assert_allclose(
            dense.velocity[::3], network.contact_velocity(outcome.velocity)[:, 0], atol=1e-5
        )
        assert outcome.restitution_share == pytest.approx(dense.info.get("restitution_share", 1.0), abs=1e-6)


@pytest.mark.parametrize("rule", RULES)
def test_the_share_is_below_one_where_all_of_it_would_gain_energy(rule):
    """Boxes that leave those above are pressed by those below, and friction gives back what slip had. (Friction
    leaves the last digits of the share open.)"""
    shares = []
    for seed in range(6):
        network = boxes(seed, 0.6, 1.0)
        network.velocity[::2, 2] += 6.0  # some separate
        outcome = MaximumDissipation(rule, tolerance=1e-8).resolve_network(network)
        assert outcome.resolved
        assert outcome.energy_change <= 1e-9
        shares.append(outcome.restitution_share)
        dense = MaximumDissipation(rule).resolve(network.dense())
        assert dense.info.get("restitution_share", 1.0) == pytest.approx(outcome.restitution_share, abs=1e-3)
    assert 0.1 < min(shares) <= max(shares) < 0.999


def test_what_cannot_be_is_refused_by_name():
    for bad in (-0.1, 1.5, np.nan, [0.5, 0.5]):
        with pytest.raises(ValueError, match="restitution"):
            boxes(0, 0.0, bad)
    network = boxes(0, 0.0, 0.5)
    with pytest.raises(ValueError, match="slack must be 0 at every contact of a problem with restitution"):
        ContactNetwork(
            network.bodies, network.jacobian, network.inverse_mass, network.velocity, 0.0, 0.1, 0.5
        )
