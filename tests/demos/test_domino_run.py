"""The mechanism of leaning dominoes; the demo's own checks run through the command line."""

import math

import numpy as np
import pytest

import carom
from carom.demos.domino_run import (
    DEPTH,
    GRAVITY,
    HEIGHT,
    MASS,
    PITCH,
    DominoRun,
    fallen,
    first_touches,
    touch_times,
)


def test_the_first_falls_as_a_body_on_a_hinge():
    inertia, energy = fallen(0.2, 1)
    assert inertia == pytest.approx(MASS * (HEIGHT**2 + DEPTH**2) / 3)
    radius, lean = 0.5 * math.hypot(HEIGHT, DEPTH), math.atan2(DEPTH, HEIGHT)
    assert energy == pytest.approx(MASS * GRAVITY * radius * (math.cos(0.2 - lean) - math.cos(lean)))


def test_inertia_of_two_that_lean_follows_from_their_contact():
    """The angle of the first over that of the second, by differences of the corner on the back."""

    def first(front):
        return front + math.asin((PITCH * math.cos(front) - DEPTH) / HEIGHT)

    rate = (first(0.3 + 1e-6) - first(0.3 - 1e-6)) / 2e-6
    one = fallen(0.3, 1)[0]
    assert fallen(0.3, 2)[0] == pytest.approx(one * (1 + rate**2), rel=1e-9)
    corner = HEIGHT * np.array([math.sin(first(0.3)), math.cos(first(0.3))]) - [PITCH, 0.0]
    assert corner @ [math.cos(0.3), -math.sin(0.3)] == pytest.approx(-DEPTH)


def test_times_between_touches_fall_to_a_limit():
    between = np.diff(touch_times(40))
    assert (np.diff(between[:20]) < 0).all()
    assert between[-1] == pytest.approx(between[-2], rel=1e-6)


@pytest.mark.parametrize(
    "law", [carom.StrongeCoulomb(), carom.SequentialReflection()], ids=lambda law: law.name
)
def test_the_first_touches(law):
    trajectory = carom.Simulator(DominoRun().scene(), law).run(0.6)
    np.testing.assert_allclose(first_touches(trajectory), touch_times(3), atol=1e-12)


def test_a_failed_check_is_seen():
    scene = DominoRun().scene()
    scene.set_pair_material("domino-1", "domino-2", carom.Material(friction=0.0, restitution=0.5))
    trajectory = carom.Simulator(scene, carom.StrongeCoulomb()).run(0.5)
    failed = {check.what for check in DominoRun().check(trajectory) if not check.holds}
    assert {"times of 11 touches, off the quadrature [s]", "least lean at the end, below 1.2 rad"} <= failed
