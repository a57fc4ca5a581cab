"""The Zeno block: what its curves must satisfy; that it runs and draws is tested through the command line."""

import numpy as np
import pytest
from scipy.integrate import quad

from carom.demos.rocking_block import GRAVITY, MASS, RATE, RATIO, WIDTH, impact_times
from carom.demos.zeno_block import Curves, ZenoBlock, expected_domain, zeno_scene
from carom.impact_laws import SequentialReflection
from carom.simulator import Simulator


@pytest.fixture(scope="module")
def demo():
    return ZenoBlock()


def test_checks_hold(demo):
    assert [check for check in demo.check() if not check.holds] == []


def test_tables_have_as_many_words_as_their_header(demo):
    for table in demo.tables():
        assert table.rows
        assert all(len(row) == len(table.header) for row in table.rows)


def test_velocity_is_continuous_over_the_impulse_domain(demo):
    """Where t stands still the rate changes linearly with s, by w/2 m over the inertia about the standing edge."""
    curves = demo.curves
    step = np.diff(curves.domain)
    assert step.min() >= -1e-14
    still = np.flatnonzero((np.diff(curves.time) < 1e-14) & (step > 1e-3))
    assert len(still) >= 15
    # m (1 + r) rate w/2 of impulse takes (1 - r) rate off
    slope = (1.0 - RATIO) / (MASS * (1.0 + RATIO) * 0.5 * WIDTH)
    np.testing.assert_allclose(np.abs(np.diff(curves.rate)[still]) / step[still], slope, rtol=1e-9)
    assert np.abs(np.diff(curves.rate)).max() == pytest.approx((1.0 - RATIO) * RATE, rel=1e-9)


def test_the_run_over_s_is_the_closed_form(demo):
    """Every impact begins and ends at the s of its closed form: by quadrature in time, and by momentum in
    impulse."""
    domain = demo.trajectory.over_impulse()
    assert domain.left_out == ()
    for k, event in enumerate(demo.impacts[:10]):
        time = impact_times(k + 1)[-1]
        # what the corners have pushed so far is what gravity and the change of the rising speed ask for
        rising = RATE * 0.5 * WIDTH
        before = MASS * (GRAVITY * time - (RATIO**k + 1.0) * rising)
        width = MASS * (1.0 + RATIO) * RATIO**k * rising
        number = demo.trajectory.events.index(event)
        assert domain.event_s[number] == pytest.approx([time + before, time + before + width], abs=1e-8)
        middle = domain.sample(time + before + 0.5 * width)
        halfway = 0.5 * RATE * RATIO**k * (1.0 + RATIO)
        assert abs(middle.angular_velocity[1, 1]) == pytest.approx(halfway, abs=1e-8)
        assert middle.time == pytest.approx(time, abs=1e-9)
    assert domain.s(demo.accumulated) == pytest.approx(expected_domain(), abs=1e-7)


def test_impulse_of_the_standing_corner_is_the_integral_of_its_force(demo):
    """Between start and first impact: force from the acceleration of the centre, by differences of its velocity."""
    end = demo.impacts[0].time

    def force(t):
        h = 1e-4
        rising = demo.trajectory.sample(np.array([t - h, t + h])).velocity[:, 1, 2]
        return MASS * (GRAVITY + (rising[1] - rising[0]) / (2.0 * h))

    expected = quad(force, 0.01, end - 0.01)[0]
    curves = demo.curves
    first = curves.time < end
    left = np.interp([0.01, end - 0.01], curves.time[first], curves.left[first])
    assert left[1] - left[0] == pytest.approx(expected, rel=1e-4)
    assert not curves.right[first].any()


def test_standing_block_presses_on_both_corners(demo):
    curves = demo.curves
    late = curves.time > 3.0
    slopes = [np.polyfit(curves.time[late], side[late], 1)[0] for side in (curves.left, curves.right)]
    np.testing.assert_allclose(slopes, 0.5 * MASS * GRAVITY, rtol=1e-9)


def test_a_law_that_bounces_fails_the_checks():
    """Elastic impacts keep the rate instead of seven tenths of it."""
    scene = zeno_scene()
    demo = ZenoBlock()
    demo.trajectory = Simulator(scene, SequentialReflection()).run(1.2)
    demo.curves = Curves.of(demo.trajectory)
    assert any(not check.holds for check in demo.check())
