"""The compass gait: its equations and its scene; its own checks run through the command line."""

import math

import numpy as np
import pytest

from carom.demos.compass_gait import (
    GRAVITY,
    HIP_MASS,
    LEG_LENGTH,
    LEG_MASS,
    MASS_BELOW_HIP,
    SLOPE,
    CompassGait,
    periodic_gait,
    struck,
)
from carom.impact_laws import SequentialReflection, StrongeCoulomb
from carom.simulator import Simulator


def places_and_rates(state, stands=0):
    """Three point masses: (mass, place, velocity), seen from the foot of the leg that stands."""
    along = [np.array([math.sin(q), math.cos(q)]) for q in state[:2]]
    across = [w * np.array([math.cos(q), -math.sin(q)]) for q, w in zip(state[:2], state[2:], strict=True)]
    hip, speed = LEG_LENGTH * along[stands], LEG_LENGTH * across[stands]
    legs = [
        (LEG_MASS, hip - MASS_BELOW_HIP * a, speed - MASS_BELOW_HIP * v)
        for a, v in zip(along, across, strict=True)
    ]
    return [(HIP_MASS, hip, speed), *legs]


def energy(state):
    return sum(m * (0.5 * v @ v + GRAVITY * x[1]) for m, x, v in places_and_rates(state))


def angular_momentum(bodies, about):
    return sum(m * ((x - about)[0] * v[1] - (x - about)[1] * v[0]) for m, x, v in bodies)


def test_equations_keep_the_energy_of_three_point_masses():
    energies = [energy(state) for state in periodic_gait().states]
    assert np.ptp(energies) < 1e-10


def test_the_gait_repeats_itself_and_is_the_known_one():
    gait = periodic_gait()
    np.testing.assert_allclose(struck(gait.end), gait.start, atol=1e-12)
    assert gait.period == pytest.approx(0.734, abs=5e-4)
    assert gait.length == pytest.approx(0.535, abs=5e-4)
    assert gait.start.sum() - gait.start[2:].sum() == pytest.approx(2.0 * SLOPE, abs=1e-12)


def test_a_strike_keeps_angular_momentum_about_the_foot_and_of_the_trailing_leg_about_the_hip():
    gait = periodic_gait()
    before, after = places_and_rates(gait.end), places_and_rates(struck(gait.end))
    foot = LEG_LENGTH * np.array(
        [math.sin(gait.end[0]) - math.sin(gait.end[1]), math.cos(gait.end[0]) - math.cos(gait.end[1])]
    )
    assert angular_momentum(before, foot) == pytest.approx(angular_momentum(after, np.zeros(2)), rel=1e-12)
    hip = before[0][1]
    trailing_before, trailing_after = before[1:2], after[2:3]
    assert angular_momentum(trailing_before, hip) == pytest.approx(
        angular_momentum(trailing_after, hip - foot), rel=1e-12
    )


def test_bodies_have_the_kinetic_energy_and_momentum_of_the_point_masses():
    scene, gait = CompassGait().scene(), periodic_gait()
    points = places_and_rates(gait.start)
    legs = [body for body in scene.bodies if not body.fixed]
    assert sum(leg.mass for leg in legs) == pytest.approx(HIP_MASS + 2.0 * LEG_MASS)
    kinetic = sum(
        0.5 * leg.mass * leg.velocity @ leg.velocity + 0.5 * leg.inertia[1, 1] * leg.angular_velocity[1] ** 2
        for leg in legs
    )
    assert kinetic == pytest.approx(sum(0.5 * m * v @ v for m, _, v in points), rel=1e-13)
    momentum = sum(leg.mass * leg.velocity[[0, 2]] for leg in legs)
    np.testing.assert_allclose(momentum, sum(m * v for m, _, v in points), rtol=1e-13)
    assert all(abs(leg.shape.vertices[:, 2].min() + 0.75) < 1e-15 for leg in legs)


def test_another_law_walks_alike_and_one_without_friction_does_not():
    demo = CompassGait()
    walked = Simulator(demo.scene(), StrongeCoulomb()).run(demo.duration)
    assert [check for check in demo.check(walked) if not check.holds] == []
    slipped = Simulator(demo.scene(), SequentialReflection()).run(1.0)
    failed = {check.what for check in demo.check(slipped) if not check.holds}
    assert "steps other than 7" in failed
