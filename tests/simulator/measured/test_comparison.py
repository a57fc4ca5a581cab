"""Errors of a run against a measured motion."""

import numpy as np
import pytest

import carom

from . import simulated_tosses


def test_a_run_compared_with_what_was_seen_of_it_is_off_by_noise():
    rng = np.random.default_rng(1)
    run = simulated_tosses.toss(rng)
    seen = simulated_tosses.measured(run, rng, center_of_mass=simulated_tosses.CENTER)
    compared = carom.compare(run, seen)
    assert 0.0 < np.median(compared.distance) < 3.0 * simulated_tosses.POSITION_NOISE
    assert 0.0 < np.median(compared.angle) < 3.0 * simulated_tosses.TURNING_NOISE
    assert len(compared.table()) == 10
    assert compared.table()[-1][1] == pytest.approx(1e3 * compared.settled_distance)
    assert compared.table()[-1][2] == pytest.approx(np.degrees(compared.settled_angle))


def test_a_shift_and_a_turn_are_what_they_are():
    run = simulated_tosses.toss(np.random.default_rng(2))
    time = np.arange(80) / simulated_tosses.RATE
    state = run.sample(time)
    turned = state.orientation[:, 1] @ np.array(  # by 90 degrees about the body's x
        [[1, 1, 0, 0], [-1, 1, 0, 0], [0, 0, 1, -1], [0, 0, 1, 1]]
    ) / np.sqrt(2.0)  # fmt: skip
    seen = carom.Measured(time, state.position[:, 1] + [3e-3, 0, 4e-3], turned)
    compared = carom.compare(run, seen, body=1)
    np.testing.assert_allclose(compared.distance, 5e-3, rtol=1e-9)
    np.testing.assert_allclose(compared.angle, 0.5 * np.pi, rtol=1e-9)


def test_what_does_not_fit_is_refused():
    run = simulated_tosses.toss(np.random.default_rng(2), duration=0.2)
    time = 5.0 + np.arange(20) / simulated_tosses.RATE
    seen = carom.Measured(time, np.zeros((20, 3)), np.tile([1.0, 0, 0, 0], (20, 1)))
    with pytest.raises(ValueError, match=r"expected frames between 0 and 0.2 s, where the run is, got 5 to"):
        carom.compare(run, seen)
    with pytest.raises(ValueError, match="body: expected an index below 2, got 2"):
        carom.compare(run, seen, body=2)
    with pytest.raises(ValueError, match=r"body: expected one of .*, got 'cup'"):
        carom.compare(run, seen, body="cup")


def test_a_measured_motion_is_shown_where_it_was_seen(tmp_path):
    rng = np.random.default_rng(4)
    run = simulated_tosses.toss(rng, duration=0.3)
    seen = simulated_tosses.measured(run, rng, center_of_mass=simulated_tosses.CENTER)
    shown = carom.ShownMotion(seen, run.scene)
    state = shown.sample(seen.time)
    np.testing.assert_allclose(state.position[:, 1], seen.center, atol=1e-12)
    np.testing.assert_allclose(
        np.abs(np.sum(state.orientation[:, 1] * seen.orientation, axis=1)), 1.0, atol=1e-12
    )
    flying = run.sample(0.02)
    assert np.linalg.norm(shown.sample(0.02).velocity[1] - flying.velocity[1]) < 0.1
    assert np.linalg.norm(shown.sample(0.02).angular_velocity[1] - flying.angular_velocity[1]) < 0.3
    for name, second in (("shown.png", shown), ("seen.png", seen)):
        try:
            picture = carom.render([run, second], tmp_path / name)
        except carom.DisplayError as error:
            pytest.skip(str(error))
        assert (tmp_path / name).stat().st_size > 5_000, picture
    assert (tmp_path / "shown.png").read_bytes() == (tmp_path / "seen.png").read_bytes()


def test_a_measured_motion_is_shown_beside_a_run_only(tmp_path):
    seen = simulated_tosses.tosses(1)[0]
    for given in (seen, [seen, seen]):
        with pytest.raises(TypeError, match="trajectory: expected a run beside a Measured, whose scene"):
            carom.render(given, tmp_path / "alone.html")
