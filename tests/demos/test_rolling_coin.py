"""Rolling coins on and off their steady motion; the demo's own checks run through the command line."""

import math
from dataclasses import replace

import numpy as np
import pytest

import carom
from carom.demos import rolling_coin
from carom.demos.rolling_coin import COINS, GRAVITY, RADIUS, RollingCoin


@pytest.mark.parametrize("tilt", [0.1, 0.4, 1.0])
def test_a_thin_coin_that_stays_in_its_place_has_the_known_rate(monkeypatch, tilt):
    monkeypatch.setattr(rolling_coin, "THICKNESS", 1e-9)
    coin = replace(COINS[0], tilt=tilt)
    assert coin.precession == pytest.approx(math.sqrt(4 * GRAVITY / (RADIUS * math.sin(tilt))), rel=1e-7)


def test_an_almost_upright_thin_coin_leans_into_its_turn(monkeypatch):
    """tan(lean) = 3/2 V Ω / g for a large circle, where gyroscopic torque adds a half to the centrifugal."""
    monkeypatch.setattr(rolling_coin, "THICKNESS", 1e-9)
    lean = 1e-3
    coin = replace(COINS[1], tilt=0.5 * math.pi - lean, distance=100.0)
    assert math.tan(lean) == pytest.approx(1.5 * coin.distance * coin.precession**2 / GRAVITY, rel=2e-3)


def test_a_coin_off_its_rate_nods_and_keeps_its_energy():
    coin = COINS[0]
    body = coin.body()
    scene = carom.Scene(gravity=(0, 0, -GRAVITY))
    material = carom.Material(friction=5.0)
    scene.add(carom.Body(carom.HalfSpace((0, 0, 1)), fixed=True, material=material))
    scene.add(
        carom.Body(
            body.shape, density=body.density, position=body.position, orientation=body.orientation,
            angular_velocity=1.05 * body.angular_velocity, material=material,
        )
    )  # fmt: skip
    trajectory = carom.Simulator(scene, carom.StrongeCoulomb()).run(1.0)
    times = np.linspace(0.0, trajectory.end_time, 2001)
    height = trajectory.sample(times).position[:, 1, 2]
    assert np.ptp(height) > 1e-3
    assert np.abs(trajectory.ledger(times).residual).max() < 1e-10
    assert np.ptp(trajectory.energy(times)) < 1e-10
    # it comes back to its first height, which is where it nods from
    turning = np.flatnonzero(np.diff(np.sign(np.diff(height))) > 0) + 1
    assert len(turning) >= 2
    np.testing.assert_allclose(height[turning], height.min(), atol=1e-5)


def test_a_failed_check_is_seen(monkeypatch):
    monkeypatch.setattr(rolling_coin, "FRICTION", 0.01)
    demo = RollingCoin()
    trajectory = carom.Simulator(demo.scene(), carom.StrongeCoulomb()).run(0.1)
    failed = {check.what for check in demo.check(trajectory) if not check.holds}
    assert {"around: place, error [m]", "around: slip [m/s]", "work of friction [J]"} <= failed
    assert not any(what.startswith("spun") for what in failed)  # it needs no friction
