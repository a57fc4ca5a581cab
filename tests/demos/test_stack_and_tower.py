"""What stands goes on standing; the demo's own checks run through the command line."""

import numpy as np
import pytest

import carom
from carom.demos.stack_and_tower import BOXES, DROP, GRAVITY, PENDULUM, SWING, StackAndTower, swing

LAWS = [carom.AnitescuPotra(), carom.MaximumDissipation()]


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)
def test_all_lands_and_stands(law):
    demo = StackAndTower()
    trajectory = carom.Simulator(demo.scene(), law).run(3.0)
    failed = [check.what for check in demo.check(trajectory) if not check.holds]
    assert failed == ["simulated time, short of 100 s"]
    lost = trajectory.ledger(trajectory.end_time).impacts
    bodies = demo.scene().bodies[1:-1]
    falls = DROP * np.concatenate([np.arange(1, BOXES + 1), np.repeat(np.arange(1, 5), 2)])
    weights = GRAVITY * np.array([body.mass for body in bodies])
    assert lost == pytest.approx(-float(weights @ falls), rel=1e-12)


def test_closed_form_of_the_pendulum():
    assert swing(0.0) == pytest.approx(SWING)
    h = 1e-4
    for t in (0.7, 3.1):
        acceleration = (swing(t + h) - 2 * swing(t) + swing(t - h)) / h**2
        assert acceleration == pytest.approx(-GRAVITY / PENDULUM * np.sin(swing(t)), abs=1e-6)


def test_a_failed_check_is_seen():
    """A slanting pull moves what falls to the side."""
    scene = StackAndTower().scene()
    scene.gravity = np.array([0.5, 0.0, -GRAVITY])
    trajectory = carom.Simulator(scene, carom.AnitescuPotra()).run(0.3)
    failed = [check.what for check in StackAndTower().check(trajectory) if not check.holds]
    assert "drift of what stands [m]" in failed
    assert "pendulum at the end, error [rad]" in failed
