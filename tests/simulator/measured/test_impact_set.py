"""Impacts in contact space: the floor of any law, models of restitution, and robust fits with intervals."""

from dataclasses import replace

import numpy as np
import pytest

import carom
from carom.simulator.measured.robust_fit import median_estimate, robust_fit


def random_set(count=30, seed=0, model=None, scatter=0.0, loose=0.0):
    """Impacts of the corners of a box on a floor that obey a model, with errors of velocity [m/s]: `scatter` within
    what impulses at the corner give, and `loose` in all components."""
    rng = np.random.default_rng(seed)
    turns = np.linalg.qr(rng.normal(size=(count, 3, 3)))[0]
    turns *= np.linalg.det(turns)[:, None, None]
    point = 0.05 * np.sign(rng.normal(size=(count, 3)))
    down = np.einsum("nij,nj->ni", turns, point)[:, 2]
    point *= np.where(down > 0, -1.0, 1.0)[:, None]
    velocity, spin = rng.normal(size=(count, 2, 3)) * 0.3, rng.normal(size=(count, 2, 3))
    velocity[:, 0, 2] = -1.0 - rng.uniform(size=count)
    given = carom.ImpactSet(
        np.arange(count),
        np.zeros(count),
        turns,
        point,
        -np.sign(point),
        velocity,
        spin,
        np.array([0, 0, 1.0]),
        0.05,
    )
    states = given.states(parameters())
    impulse = (model or carom.ContactModel(carom.StrongeCoulomb())).impulses(states)[0]
    impulse = impulse + scatter * rng.normal(size=impulse.shape)
    change = np.einsum("nij,nj->ni", states.response, impulse) + loose * rng.normal(size=(count, 6))
    from_tracked = np.einsum("nij,j->ni", turns, parameters().center_of_mass)
    spin[:, 1] = spin[:, 0] + change[:, 3:] / 0.05
    center = velocity[:, 0] + np.cross(spin[:, 0], from_tracked) + change[:, :3]
    velocity[:, 1] = center - np.cross(spin[:, 1], from_tracked)
    return given, impulse


def parameters():
    return carom.BodyParameters(np.array([0.001, -0.002, 0.004]), np.diag([2e-3, 2.2e-3, 1.8e-3]), 0.003)


def test_the_floor_of_impulses_at_the_corner_is_zero_whatever_the_law():
    impacts, impulse = random_set(scatter=0.1)
    states = impacts.states(parameters())
    np.testing.assert_allclose(states.best_impulse(), impulse, atol=1e-10)
    assert states.floor().max() < 1e-12
    model = carom.ContactModel(carom.StrongeCoulomb())
    assert np.median(model.errors(states)) > 0.01


def test_no_law_is_below_the_floor():
    states = random_set(loose=0.05)[0].states(parameters())
    for law in (carom.StrongeCoulomb(), carom.CompliantContact(), carom.MaximumDissipation()):
        assert (carom.ContactModel(law).errors(states) >= states.floor() - 1e-12).all()


def test_contact_space_is_that_of_contact_problem():
    impacts, _ = random_set(1, seed=4)
    known = carom.BodyParameters(np.zeros(3), parameters().gyration)
    states = impacts.states(known)
    from scipy.spatial.transform import Rotation

    turn = Rotation.from_matrix(impacts.rotation[0]).as_quat()[[3, 0, 1, 2]]
    body = carom.Body(
        carom.Box((0.1,) * 3), mass=1.0, inertia=known.gyration, orientation=turn,
        velocity=impacts.velocity[0, 0], angular_velocity=impacts.angular_velocity[0, 0],
    )  # fmt: skip
    corner = impacts.rotation[0] @ impacts.point[0]
    problem = carom.contact_problem(body, None, corner, (0, 0, 1))
    assert states.before[0, 0] == pytest.approx(problem.u[0], abs=1e-12)
    assert states.W[0, 0, 0] == pytest.approx(problem.W[0, 0], abs=1e-12)
    np.testing.assert_allclose(np.linalg.eigvalsh(states.W[0]), np.linalg.eigvalsh(problem.W), rtol=1e-12)


def test_planar_impacts_stay_in_their_plane():
    impacts = carom.ImpactSet.planar([[0.5, -2.0, 3.0]], [[0.3, 1.0, -4.0]], [[0.01, -0.03]], 0.02)
    states = impacts.states(carom.BodyParameters(np.zeros(3), 3.7e-4 * np.eye(3)))
    assert states.before[0, 0] == pytest.approx(-2.0 + 3.0 * 0.01)
    assert abs(states.before[0, 1]) == pytest.approx(0.5 + 3.0 * 0.03)
    assert states.W[0, 0, 0] == pytest.approx(1.0 + 0.01**2 / 3.7e-4)
    impulse, _ = carom.ContactModel(carom.StrongeCoulomb()).impulses(states)
    assert impulse[0, 2] == pytest.approx(0.0, abs=1e-12)
    assert states.response[0, 5] @ impulse[0] / 0.02 == pytest.approx(
        (0.01 * impulse[0, 0] + 0.03 * impulse[0, 1] * np.sign(states.before[0, 1])) / 3.7e-4
    )


def test_restitution_falls_as_its_model_says():
    states = random_set()[0].states(parameters())
    approach, slip = -states.before[:, 0], np.linalg.norm(states.before[:, 1:], axis=1)
    model = carom.ContactModel(
        carom.StrongeCoulomb(), restitution=0.4, speed_exponent=0.25, mass_exponent=0.5, slip_loss=0.1
    )
    expected = 0.4 * approach**-0.25 * states.W[:, 0, 0] ** 0.5 * (1 - 0.1 * slip / approach)
    fast = approach > 1.0
    friction, restitution = model.coefficients_of(states)
    assert (friction == model.friction).all()
    # A power of speed above a tenth of a metre a second, at which `SpeedRestitution` levels off: 1/800 at 1 m/s.
    np.testing.assert_allclose(restitution[fast], np.clip(expected, 0, 1)[fast], rtol=1.5e-3)
    falls = carom.SpeedRestitution(1.0, speed=0.1, exponent=0.25)
    plain = carom.ContactModel(carom.StrongeCoulomb(), restitution=0.4, speed_exponent=0.25)
    speeds = np.geomspace(1e-3, 3.0, 20)
    found = plain.coefficients_at(speeds, 0 * speeds, 1 + 0 * speeds)[1]
    np.testing.assert_allclose(
        found, [min(1.0, 0.4 * falls.at(v) / falls.at(1.0)) for v in speeds], rtol=1e-14
    )


def test_slow_impacts_have_constants_of_their_own():
    model = carom.ContactModel(
        carom.StrongeCoulomb(), friction=0.16, restitution=0.25, transition_speed=0.15, slow_friction=0.22,
        slow_restitution=1.0,
    )  # fmt: skip
    speeds = np.array([0.0, 1e-6, 0.15, 0.45, 1e6])
    friction, restitution = model.coefficients_at(speeds, np.ones(5), np.ones(5))
    share = np.array([1.0, 1.0, 0.5, 0.1, 0.0])
    np.testing.assert_allclose(friction, 0.16 + 0.06 * share, atol=1e-10)
    np.testing.assert_allclose(restitution, 0.25 + 0.75 * share, atol=1e-10)
    alike = replace(model, slow_friction=None, slow_restitution=None)
    friction, restitution = alike.coefficients_at(speeds, np.ones(5), np.ones(5))
    assert (friction == 0.16).all()
    assert (restitution == 0.25).all()
    assert "transition_speed" in model.constants()


def test_a_fit_of_lengths_is_the_median_and_its_interval_holds_in_95_of_100():
    rng, held, trials = np.random.default_rng(0), 0, 200
    for trial in range(trials):
        values = 3.0 + rng.standard_t(3, size=60)
        fit = robust_fit(
            lambda x, v=values: (x[0] - v)[:, None], np.zeros(1), np.ones(1), np.array([[-99.0, 99.0]]), 0.3,
            np.arange(60), trial,
        )  # fmt: skip
        low, high = fit.interval()[0]
        held += low <= 3.0 <= high
        assert abs(fit.value[0] - np.median(values)) < 0.3
    assert 0.90 <= held / trials <= 0.99


def test_groups_that_belong_together_make_intervals_wider():
    rng = np.random.default_rng(1)
    shared = np.repeat(rng.normal(size=12), 20)
    values = shared + 0.1 * rng.normal(size=240)

    def width(groups):
        low, high = robust_fit(
            lambda x: (x[0] - values)[:, None], np.zeros(1), np.ones(1), np.array([[-9.0, 9.0]]), 1.0, groups
        ).interval()[0]
        return high - low

    assert width(np.repeat(np.arange(12), 20)) > 2.0 * width(np.arange(240))
    median = median_estimate(values, np.repeat(np.arange(12), 20))
    assert median.low < median.value < median.high


def test_a_constant_without_effect_is_flat():
    values = np.random.default_rng(2).normal(size=(40, 2))
    fit = robust_fit(
        lambda x: values - x[0], np.zeros(2), np.ones(2), np.array([[-9.0, 9.0]] * 2), 1.0, np.arange(40)
    )
    assert fit.flat().tolist() == [False, True]
