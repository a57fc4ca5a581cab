"""Measured motions: what is refused, how they split into flights, and what impacts they tell."""

import doctest
import importlib

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

import carom
from carom.simulator.measured.flights import turned_by, turning_rates
from carom.simulator.measured.tracking import rotation_of, vector_of

from . import simulated_tosses

RATE = 200.0


def thrown(count=40, spin=(1.0, -2.0, 3.0)):
    """Times, places and orientations of a ball in flight."""
    time = np.arange(count) / RATE
    place = np.column_stack([0.5 * time, -0.2 * time, 1.0 - 4.905 * time**2])
    turns = Rotation.from_rotvec(time[:, None] * np.array(spin))
    return time, place, turns.as_quat()[:, [3, 0, 1, 2]]


def bounced(moment=0.1013, noise=0.0, seed=0):
    """A ball that bounces between two frames, with noise; and its velocities before and after."""
    time, _, _ = thrown()
    before, after = np.array([0.5, 0.1, -1.2]), np.array([0.3, 0.2, 0.9])
    spins = np.array([[1.0, -2.0, 3.0], [4.0, 1.0, -2.0]])
    t = (time - moment)[:, None]
    place = np.where(t < 0, before * t, after * t) + 0.5 * t**2 * np.array([0, 0, -9.81])
    turns = Rotation.from_rotvec(np.where(t < 0, spins[0] * t, spins[1] * t))
    rng = np.random.default_rng(seed)
    turns = Rotation.from_rotvec(noise * 1e-4 * rng.normal(size=(len(time), 3))) * turns
    place = place + noise * 1e-5 * rng.normal(size=place.shape)
    return carom.Measured(time, place, turns.as_quat()[:, [3, 0, 1, 2]]), (before, after), spins


def test_a_throw_is_one_flight_with_its_velocity():
    time, place, turn = thrown()
    (flight,) = carom.Measured(time, place, turn).flights
    assert (flight.first, flight.last, flight.count) == (0, 39, 40)
    np.testing.assert_allclose(flight.velocity, [0.5, -0.2, -9.81 * flight.time], atol=1e-10)
    np.testing.assert_allclose(flight.angular_velocity, [1.0, -2.0, 3.0], atol=1e-9)


def test_a_bounce_is_found_between_frames_without_noise():
    measured, velocity, spin = bounced()
    (impact,) = measured.impacts
    assert impact.time == pytest.approx(0.1013, abs=1e-7)
    assert impact.clean
    assert impact.between == 0
    np.testing.assert_allclose(impact.velocity, velocity, atol=1e-4)
    np.testing.assert_allclose(impact.angular_velocity, spin, atol=1e-4)


def test_errors_of_velocities_are_what_noise_makes():
    off, spun = [], []
    for seed in range(40):
        measured, velocity, spin = bounced(noise=1.0, seed=seed)
        (impact,) = measured.impacts
        off.append((impact.velocity - velocity) / impact.velocity_error[:, None])
        spun.append((impact.angular_velocity - spin) / impact.angular_velocity_error[:, None])
    assert 0.6 < np.std(off) < 1.3
    assert 0.6 < np.std(spun) < 1.3


def test_signs_of_quaternions_do_not_count():
    time, place, turn = thrown()
    flipped = turn * np.where(np.arange(40) % 3 == 0, -1.0, 1.0)[:, None]
    one, other = (carom.Measured(time, place, q) for q in (turn, flipped))
    np.testing.assert_array_equal(np.abs(one.orientation), np.abs(other.orientation))
    assert (np.sum(other.orientation[1:] * other.orientation[:-1], axis=1) > 0.0).all()
    assert len(other.flights) == 1


def test_order_of_quaternions_and_unit():
    time, place, turn = thrown()
    one = carom.Measured(time, place, turn)
    other = carom.Measured(time, 1e3 * place, turn[:, [1, 2, 3, 0]], unit="mm", quaternion_order="xyzw")
    np.testing.assert_allclose(other.position, one.position, atol=1e-15)
    np.testing.assert_allclose(other.orientation, one.orientation, atol=1e-15)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t, p, q: (t[::-1], p, q), "time: expected increasing times, got 0.19 s after 0.195 s at frame 1"),
        (lambda t, p, q: (np.delete(t, 20), np.delete(p, 20, 0), np.delete(q, 20, 0)), "frames are missing there"),
        (lambda t, p, q: (t, 1e3 * p, q), "positions are in mm, so give unit='mm'"),
        (lambda t, p, q: (t, np.zeros_like(p), q), "expected a motion that flies somewhere"),
        (lambda t, p, q: (t, p, 1.01 * q), "expected unit quaternions, got one of length 1.01 at frame 0"),
        (lambda t, p, q: (t, p[:-1], q), "position: expected a row for each of 40 times, got 39 rows"),
        (lambda t, p, q: (t, np.where(t[:, None] > 0.1, np.nan, p), q), "position: expected finite numbers"),
        (lambda t, p, q: (t[:5], p[:5], q[:5]), "time: expected at least 8 frames, got 5"),
    ],
)  # fmt: skip
def test_bad_input_is_one_sentence(change, message):
    with pytest.raises(ValueError) as raised:
        _ = carom.Measured(*change(*thrown())).flights
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


def test_unknown_words_are_refused():
    with pytest.raises(ValueError, match="unit: expected one of m, cm, mm, in, got 'km'"):
        carom.Measured(*thrown(), unit="km")
    with pytest.raises(ValueError, match="quaternion_order: expected one of wxyz, xyzw, got"):
        carom.Measured(*thrown(), quaternion_order="zyxw")


def test_files(tmp_path):
    time, place, turn = thrown()
    np.savez(tmp_path / "throw.npz", time=time, position=place, orientation=turn)
    table = np.column_stack([turn, time, place])
    np.savetxt(tmp_path / "throw.csv", table, delimiter=",", header="qw,qx,qy,qz,t,x,y,z", comments="")
    for name in ("throw.npz", "throw.csv"):
        read = carom.Measured.read(tmp_path / name)
        assert read.name == "throw"
        np.testing.assert_allclose(read.position, place, atol=1e-12)
        np.testing.assert_allclose(read.time, time, atol=1e-12)
    (tmp_path / "bad.csv").write_text("t,x,y\n1,2,3\n")
    with pytest.raises(ValueError, match=r"bad.csv: expected columns .* none named z, qw, qx, qy, qz"):
        carom.Measured.read(tmp_path / "bad.csv")
    np.savez(tmp_path / "bad.npz", time=time)
    with pytest.raises(ValueError, match="expected arrays time, position and orientation, got time"):
        carom.Measured.read(tmp_path / "bad.npz")


def test_turning_without_torque_follows_eulers_equations():
    gyration, spin = np.diag([2.7e-3, 2.6e-3, 2.3e-3]), np.array([3.0, 5.0, -4.0])
    start = Rotation.from_rotvec([0.3, -0.5, 0.8])

    def rates(_, state):
        turn = Rotation.from_quat(state[:4])
        rate = Rotation.from_matrix(turn.as_matrix())
        x, y, z = state[4:]
        qx, qy, qz, qw = state[:4]
        quaternion = 0.5 * np.array(
            [
                x * qw + y * qz - z * qy,
                y * qw + z * qx - x * qz,
                z * qw + x * qy - y * qx,
                -x * qx - y * qy - z * qz,
            ]
        )
        return [*quaternion, *turning_rates(rate.as_matrix(), state[4:], gyration)[0]]

    exact = solve_ivp(rates, (0.0, 0.06), [*start.as_quat(), *spin], rtol=1e-12, atol=1e-14, method="DOP853")
    rates_there = turning_rates(start.as_matrix(), spin, gyration)
    turned = rotation_of(turned_by(spin, rates_there, np.array([0.06])))[0] @ start.as_matrix()
    left = turned @ Rotation.from_quat(exact.y[:4, -1]).as_matrix().T
    assert np.linalg.norm(vector_of(left[None])) < 1e-4


def test_rotation_vectors_go_back_and_forth():
    vectors = np.random.default_rng(0).normal(size=(200, 3))
    vectors = np.concatenate(
        [vectors, 1e-12 * vectors, vectors / np.linalg.norm(vectors, axis=1)[:, None] * 3.14]
    )
    np.testing.assert_allclose(rotation_of(vectors), Rotation.from_rotvec(vectors).as_matrix(), atol=1e-14)
    for rows in (vectors[:400], vectors):
        short = rows[np.linalg.norm(rows, axis=1) < 3.1415]
        np.testing.assert_allclose(vector_of(rotation_of(short)), short, atol=1e-10)


def test_an_impact_of_a_simulated_toss_is_measured_as_it_was():
    rng = np.random.default_rng(3)
    run = simulated_tosses.toss(rng)
    seen = simulated_tosses.measured(
        run, rng, center_of_mass=simulated_tosses.CENTER, gyration=simulated_tosses.GYRATION
    )
    first = run.events[0]
    impact = min(seen.impacts, key=lambda one: abs(one.time - first.time))
    assert impact.time == pytest.approx(first.time, abs=3e-4)
    for side, state in enumerate((first.before, first.after)):
        error = impact.velocity[side] - np.asarray(state.velocity)[1]
        assert np.linalg.norm(error) < 6.0 * impact.velocity_error[side]
        spun = impact.angular_velocity[side] - np.asarray(state.angular_velocity)[1]
        assert np.linalg.norm(spun) < 6.0 * impact.angular_velocity_error[side]


@pytest.mark.parametrize("name", ["measured", "comparison"])
def test_examples_are_right(name):
    module = importlib.import_module(f"carom.simulator.measured.{name}")
    result = doctest.testmod(module, extraglobs={"carom": carom, "np": np})
    assert result.attempted >= 4
    assert result.failed == 0
