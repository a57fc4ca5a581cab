"""What a user can ask of the integration of joints and contact."""

import math

import numpy as np
import pytest
from scipy.special import ellipk

import carom
from carom.simulator import Simulator
from carom.simulator.record.trajectory import RunStatus


def pendulum():
    """A rod of 1 m on a hinge, let go when level, beside a block that slides: two islands."""
    scene = carom.Scene()
    material = carom.Material(0.3, 0.0)
    scene.add(carom.Body(carom.Box((1.0, 0.05, 0.05)), mass=1.0, position=(0.5, 0, 0)))
    scene.add_joint(carom.RevoluteJoint(0, anchor=(0, 0, 0), axis=(0, 1, 0)))
    scene.add(carom.Body(carom.HalfSpace((0, 0, 1)), position=(0, 0, -3), fixed=True, material=material))
    scene.add(
        carom.Body(
            carom.Box((0.2, 0.2, 0.2)),
            mass=1.0,
            position=(0, 3, -2.9),
            velocity=(2.0, 0.5, 0),
            material=material,
        )
    )
    return scene


def quarter():
    inertia = (1.0 + 0.05**2) / 12 + 0.25
    return math.sqrt(inertia / (9.81 * 0.5)) * ellipk(0.5)


def error_and_steps(**options):
    trajectory = Simulator(pendulum(), carom.StrongeCoulomb(), integrator=carom.Integrator(**options)).run(
        1.0
    )
    assert trajectory.status == RunStatus.REACHED_END
    place = trajectory.sample(quarter()).position[0]
    return float(np.linalg.norm(place - [0, 0, -0.5])), len(trajectory.motions[0])


def test_accuracy_buys_longer_steps():
    coarse, few = error_and_steps(accuracy=1e-6)
    fine, many = error_and_steps()
    assert few < many
    assert fine < 1e-12 < coarse < 1e-4


def test_fixed_steps_are_of_eighth_order():
    errors = [error_and_steps(fixed_step=step)[0] for step in (0.2, 0.1, 0.05)]
    assert errors[0] > 1e-9  # or there would be nothing to see
    assert errors[1] < errors[0] / 2**7
    assert errors[2] < errors[1] / 2**7


def test_fixed_steps_are_cut_only_by_events():
    simulator = Simulator(pendulum(), carom.StrongeCoulomb(), integrator=carom.Integrator(fixed_step=0.05))
    trajectory = simulator.run(1.0)
    assert trajectory.status == RunStatus.REACHED_END
    lengths = np.diff(np.asarray(trajectory.motions[0].start))
    assert lengths[1] < 1e-8  # modes are chosen over a micro-step
    np.testing.assert_allclose(lengths[2:-1], 0.05, rtol=1e-12)
    slid = np.diff(np.asarray(trajectory.motions[2].start))
    assert np.isclose(slid, 0.05).sum() >= 10


def test_longest_steps():
    simulator = Simulator(
        pendulum(), carom.StrongeCoulomb(), integrator=carom.Integrator(accuracy=1e-4, largest_step=0.01)
    )
    assert np.diff(np.asarray(simulator.run(0.5).motions[0].start)).max() < 0.01 + 1e-12


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"accuracy": 0.0}, "accuracy: expected a number of at least 1e-14"),
        ({"fixed_step": 0.0}, "fixed_step: expected a number greater than 0"),
        ({"largest_step": -1.0}, "largest_step: expected a number greater than 0"),
    ],
)
def test_bad_options_are_refused(options, words):
    with pytest.raises(ValueError, match=words):
        carom.Integrator(**options)


def test_what_is_no_integrator_is_refused():
    with pytest.raises(TypeError, match="integrator: expected an Integrator, got str"):
        Simulator(pendulum(), carom.StrongeCoulomb(), integrator="rk45")
