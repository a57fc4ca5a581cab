"""The rod of Painlevé in time; the demo's own checks run through the command line."""

import math

import numpy as np
import pytest

from carom.demos import painleve_map
from carom.demos.painleve_map import PainleveMap, started, stops
from carom.demos.painleve_rod import critical_friction


@pytest.mark.parametrize(("degrees", "friction"), [(20.0, 0.8), (45.0, 1.2), (60.0, 1.3), (75.0, 1.0)])
def test_acceleration_below_the_boundary_is_that_of_newton(degrees, friction):
    """The tip slides: N from no acceleration of it along the normal, in closed form."""
    angle = math.radians(degrees)
    s, c = math.sin(angle), math.cos(angle)
    simulator = started(angle, friction)
    assert not simulator.trajectory.events
    normal = 9.81 / (1.0 + 3.0 * c * (c - friction * s))
    step = 1e-6
    simulator.step(step)
    change = simulator.state.velocity[1] - [-1.0, 0.0, 0.0]
    np.testing.assert_allclose(change[[0, 2]] / step, [friction * normal, normal - 9.81], rtol=1e-4)


@pytest.mark.parametrize("degrees", [10.0, 63.43494882, 80.0])
def test_boundary_by_bisection_of_the_simulation(degrees):
    angle = math.radians(degrees)
    low, high = 0.5, 8.0
    while high - low > 1e-9:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if stops(angle, middle) else (middle, high)
    assert high == pytest.approx(critical_friction(angle), abs=2e-9)


def test_a_failed_check_is_seen(monkeypatch, tmp_path):
    """A boundary that is off is seen, in the map and beside it."""
    monkeypatch.setattr(painleve_map, "ANGLES", np.radians([45.0, 60.0]))
    monkeypatch.setattr(painleve_map, "critical_friction", lambda angle: critical_friction(angle) + 0.2)
    demo = PainleveMap()
    failed = [check.what for check in demo.check() if not check.holds]
    assert len(failed) == 2
    assert all("wrong mode" in what for what in failed)
