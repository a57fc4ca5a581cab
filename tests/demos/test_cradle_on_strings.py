"""The cradle on strings under several laws; its checks under its own law run through the command line."""

import math

import numpy as np
import pytest

import carom
from carom.demos import demo_by_name
from carom.demos.cradle_on_strings import BALLS, GRAVITY, highest, period
from carom.demos.newtons_cradle import NewtonsCradle

ELASTIC = [carom.SequentialReflection(), carom.StrongeCoulomb()]
AT_ONCE = [carom.AnitescuPotra(), carom.MaximumDissipation()]
PLASTIC = [carom.AnitescuPotra(), carom.MaximumDissipation(), carom.SequentialLCP()]
NAMED = {"ids": lambda law: law.name}


def run(law, until, restitution=None):
    scene = demo_by_name("cradle-on-strings").scene()
    for k in range(BALLS - 1) if restitution is not None else ():
        scene.set_pair_material(f"ball-{k + 1}", f"ball-{k + 2}", carom.Material(0.0, restitution))
    return carom.Simulator(scene, law).run(until)


@pytest.mark.parametrize("law", ELASTIC, **NAMED)
def test_laws_that_honour_restitution_pass_the_swing_on(law):
    demo = demo_by_name("cradle-on-strings")
    failed = [check for check in demo.check(run(law, demo.duration)) if not check.holds]
    assert failed == []


@pytest.mark.parametrize("law", ELASTIC, **NAMED)
def test_the_first_impact_is_that_of_the_cradle_without_strings(law):
    free = NewtonsCradle()
    velocity = carom.Simulator(free.scene(), law).run(free.duration).sample(free.duration).velocity[1:, 0]
    after = run(law, 0.3 * period()).events[0].after.velocity[1:, 0]
    np.testing.assert_allclose(after / math.sqrt(2 * GRAVITY * highest()), velocity, atol=1e-13)


@pytest.mark.parametrize("law", PLASTIC, **NAMED)
def test_without_restitution_all_swing_together_with_a_fifth_of_the_speed(law):
    """They rise to 1/25 of the height."""
    trajectory = run(law, 0.6 * period(), restitution=0.0)
    event = trajectory.events[0]
    speed = math.sqrt(2 * GRAVITY * highest())
    np.testing.assert_allclose(event.after.velocity[1:, 0], speed / BALLS, atol=1e-13)
    rise = (
        trajectory.sample(np.linspace(event.time, trajectory.end_time, 2000)).position[:, 1:, 2].max(axis=0)
    )
    np.testing.assert_allclose(rise + 1.0, highest() / BALLS**2, atol=1e-8)
    demo = demo_by_name("cradle-on-strings")
    mass = float(demo.scene().bodies[1].mass)
    lost = trajectory.ledger(trajectory.end_time).impacts
    assert lost == pytest.approx(-0.8 * mass * GRAVITY * highest(), rel=1e-13)


@pytest.mark.parametrize("law", AT_ONCE, **NAMED)
def test_laws_with_contacts_at_once_send_all_others_on(law):
    """Newton's restitution: the ball that comes is left with (2 - n)/n of its speed, all others with 2/n; the next
    impact, of the ball that comes back, is after half a period."""
    trajectory = run(law, 0.3 * period())
    speed = math.sqrt(2 * GRAVITY * highest())
    expected = np.full(BALLS, 2.0 / BALLS)
    expected[0] = (2.0 - BALLS) / BALLS
    np.testing.assert_allclose(trajectory.events[0].after.velocity[1:, 0] / speed, expected, atol=1e-9)
    assert abs(trajectory.ledger(trajectory.end_time).impacts) < 1e-9


def test_a_failed_check_is_seen():
    demo = demo_by_name("cradle-on-strings")
    failed = [
        check.what for check in demo.check(run(carom.AnitescuPotra(), demo.duration)) if not check.holds
    ]
    assert len(failed) == 4
    assert "heights reached in turns, error [m]" in failed
