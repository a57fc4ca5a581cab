"""Springs, dampers, drives, drag, forces of the user, and motion in a plane, against closed forms."""

import math

import numpy as np
import pytest

import carom
from carom.simulator import Simulator
from carom.simulator.record.trajectory import RunStatus

GRAVITY = 9.81


def run(scene, until):
    trajectory = Simulator(scene, carom.StrongeCoulomb()).run(until)
    assert trajectory.status in (RunStatus.REACHED_END, RunStatus.AT_REST), trajectory.message
    times = np.linspace(0, trajectory.end_time, 101)
    assert np.abs(trajectory.ledger(times).residual).max() < 1e-10
    return trajectory


def slider(gravity=(0.0, 0.0, 0.0), mass=2.0, **options):
    scene = carom.Scene(gravity=gravity)
    scene.add(carom.Body(carom.Box((0.1, 0.1, 0.1)), mass=mass))
    scene.add_joint(carom.PrismaticJoint(0, axis=(0, 0, 1), **options))
    return scene


def test_damped_spring():
    mass, stiffness, damping = 2.0, 50.0, 0.4
    scene = slider((0, 0, -GRAVITY), mass, spring=carom.Spring(stiffness), damping=damping)
    trajectory = run(scene, 5.0)
    times = np.linspace(0, 5, 50)
    rate = math.sqrt(stiffness / mass)
    loss = damping / (2 * math.sqrt(stiffness * mass))
    turning = rate * math.sqrt(1 - loss**2)
    rest = -GRAVITY * mass / stiffness
    swing = np.cos(turning * times) + loss * rate / turning * np.sin(turning * times)
    expected = rest * (1 - np.exp(-loss * rate * times) * swing)
    np.testing.assert_allclose(trajectory.sample(times).position[:, 0, 2], expected, atol=1e-12)
    ledger = trajectory.ledger(times)
    assert (np.diff(ledger.damping) <= 1e-13).all()
    assert ledger.damping[-1] < -1.0
    np.testing.assert_allclose(trajectory.energy(times), ledger.energy, atol=1e-13)
    np.testing.assert_allclose(sum(trajectory.energy_parts(times)), ledger.energy, atol=1e-13)
    np.testing.assert_allclose(
        ledger.springs, 0.5 * stiffness * trajectory.sample(times).position[:, 0, 2] ** 2, atol=1e-12
    )


def test_a_drive_pushes_with_its_largest_force_until_it_asks_for_less():
    scene = slider(mass=1.0, drive=carom.Drive(stiffness=100, damping=20, target=1.0, limit=40.0))
    trajectory = run(scene, 5.0)
    early = trajectory.sample(0.05)
    assert early.position[0, 2] == pytest.approx(20.0 * 0.05**2, abs=1e-13)
    # 100 (1 - x) - 20 v = 40 where x = 20 t², v = 40 t: the push ends at the positive root
    ends = (-800 + math.sqrt(800**2 + 4 * 2000 * 60)) / 4000
    inside = trajectory.sample(np.linspace(0, ends, 20))
    np.testing.assert_allclose(inside.velocity[:, 0, 2], 40.0 * np.linspace(0, ends, 20), atol=1e-11)
    x, v, later = 20.0 * ends**2, 40.0 * ends, 0.4
    offset, slope = x - 1.0, v + 10.0 * (x - 1.0)  # critically damped with rate 10
    expected = 1.0 + (offset + slope * later) * math.exp(-10.0 * later)
    assert np.abs(slope) > 0
    assert trajectory.sample(ends + later).position[0, 2] == pytest.approx(expected, abs=1e-10)


def test_a_drive_can_be_changed_while_it_runs():
    """A weight that is held, let go, and held again where it is then."""
    hold = carom.Drive(stiffness=400, damping=40)
    simulator = Simulator(slider((0, 0, -GRAVITY), 1.0, name="lift", drive=hold), carom.StrongeCoulomb())
    simulator.run(1.0)
    start, rate = simulator.joint_state("lift")
    simulator.set_drive("lift", carom.Drive())
    simulator.run(1.5)
    assert simulator.joint_state("lift") == pytest.approx(
        (start + 0.5 * rate - GRAVITY / 8, rate - GRAVITY / 2), abs=1e-12
    )
    simulator.set_drive("lift", carom.Drive(stiffness=400, damping=40, target=-1.0, effort=GRAVITY))
    simulator.run(4.0)
    assert simulator.joint_state("lift") == pytest.approx((-1.0, 0.0), abs=1e-9)
    with pytest.raises(ValueError, match="'hoist' is not in the scene; known are: lift"):
        simulator.joint_state("hoist")
    with pytest.raises(ValueError, match="expected one that has a drive from the start"):
        Simulator(slider(), carom.StrongeCoulomb()).set_drive("prismatic-0", hold)


def test_a_motor_with_constant_torque():
    scene = carom.Scene(gravity=(0, 0, 0))
    body = scene.add(carom.Body(carom.Cylinder(0.3, 0.1), mass=2.0))
    scene.add_joint(
        carom.RevoluteJoint(body, anchor=(0, 0, 0), axis=(0, 0, 1), drive=carom.Drive(effort=0.7))
    )
    trajectory = run(scene, 3.0)
    assert trajectory.sample(3.0).angular_velocity[0, 2] == pytest.approx(
        0.7 * 3.0 / float(body.inertia[2, 2]), rel=1e-13
    )
    assert trajectory.ledger(3.0).drives == pytest.approx(trajectory.ledger(3.0).kinetic, rel=1e-12)


def test_linear_and_quadratic_drag():
    for drag, exact in (
        (carom.Drag(linear=0.5), lambda t: -GRAVITY / 0.5 * (1 - math.exp(-0.5 * t))),
        (
            carom.Drag(0, quadratic=0.2),
            lambda t: -math.sqrt(GRAVITY / 0.2) * math.tanh(math.sqrt(GRAVITY * 0.2) * t),
        ),
    ):
        scene = carom.Scene()
        scene.add(carom.Body(carom.Sphere(0.1), mass=1.0))
        scene.add_force(drag)
        trajectory = run(scene, 2.0)
        for t in (0.3, 1.0, 2.0):
            assert trajectory.sample(t).velocity[0, 2] == pytest.approx(exact(t), rel=1e-12)
    scene = carom.Scene(gravity=(0, 0, 0))
    body = scene.add(carom.Body(carom.Sphere(0.1), mass=1.0, angular_velocity=(1.0, 2.0, 3.0)))
    scene.add_force(carom.Drag(rotational=0.01))
    spin = run(scene, 1.0).sample(1.0).angular_velocity[0]
    np.testing.assert_allclose(
        spin, np.array([1, 2, 3]) * math.exp(-0.01 / float(body.inertia[0, 0])), rtol=1e-11
    )


def test_a_function_of_time_and_state():
    scene = carom.Scene(gravity=(0, 0, 0))
    scene.add(carom.Body(carom.Sphere(0.1), mass=1.0, position=(1, 0, 0)))
    scene.add(carom.Body(carom.Sphere(0.1), mass=2.0, position=(0, 3, 0)))

    def forces(t, state):
        result = np.zeros((2, 6))
        result[0, :3] = -4.0 * state.position[0] + [0.0, math.sin(t), 0.0]
        result[1, 5] = 1e-3 * math.cos(t)
        return result

    scene.add_force(forces)
    trajectory = run(scene, 3.0)
    times = np.linspace(0, 3, 30)
    states = trajectory.sample(times)
    np.testing.assert_allclose(states.position[:, 0, 0], np.cos(2 * times), atol=1e-12)
    np.testing.assert_allclose(
        states.position[:, 0, 1], (np.sin(times) - np.sin(2 * times) / 2) / 3, atol=1e-12
    )
    inertia = float(scene.bodies[1].inertia[2, 2])
    np.testing.assert_allclose(states.angular_velocity[:, 1, 2], 1e-3 * np.sin(times) / inertia, atol=1e-12)


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda t, state: np.full((1, 6), np.nan if t > 0.5 else 0.0), "for body 'ball' at t = 0."),
        (lambda t, state: np.zeros((2, 6)), r"expected shape \(1, 6\), got \(2, 6\)"),
        (lambda t, state: 1 / 0, "failed at t = 0 s: ZeroDivisionError"),
        (lambda t, state: np.zeros((1, 6)) * 1j, "failed at t = 0 s: TypeError: expected real numbers"),
    ],
)
def test_bad_force_functions_end_the_run_in_words(function, words):
    scene = carom.Scene()
    scene.add(carom.Body(carom.Sphere(0.1), mass=1.0, name="ball"))
    scene.add_force(function)
    trajectory = Simulator(scene, carom.StrongeCoulomb()).run(2.0)
    assert trajectory.status == RunStatus.USER_FUNCTION_FAILED
    import re

    assert re.search(words, trajectory.message)
    trajectory.sample(trajectory.end_time)  # readable up to there


def test_planar_motion_stays_in_its_plane_and_needs_a_start_in_it():
    scene = carom.Scene()
    scene.planar()
    floor = carom.Material(0.5, 0.2)
    scene.add(carom.Body(carom.HalfSpace((0, 0, 1)), fixed=True, material=floor))
    for x in (0.0, 0.1):  # one falls onto the other, off its middle
        scene.add(
            carom.Body(
                carom.Box((0.4, 0.3, 0.2)), mass=1.0, position=(x, 0, 0.6 + 4 * x), angular_velocity=(0, 3.0, 0),
                velocity=(1, 0, 0), material=floor,
            )
        )  # fmt: skip
    trajectory = run(scene, 3.0)
    assert any(
        len(event.contacts) > 1 and event.problem.dim == 2 for event in trajectory.events if event.problem
    )
    states = trajectory.sample(np.linspace(0, trajectory.end_time, 200))
    assert not states.position[:, 1:, 1].any()
    assert not states.orientation[:, 1:, [1, 3]].any()
    assert trajectory.largest_overlap() < 1e-10

    scene.add(carom.Body(carom.Sphere(0.1), mass=1.0, position=(0, 5, 5), velocity=(0, 1, 0), name="stray"))
    with pytest.raises(ValueError, match="expected body 'stray' to move in the plane"):
        Simulator(scene, carom.StrongeCoulomb())


def test_planar_inertia_is_that_about_the_normal():
    """A box turned out of its principal axes, free to turn only around y."""
    half = 0.3
    scene = carom.Scene(gravity=(0, 0, 0))
    scene.planar((0, 2, 0))
    body = scene.add(
        carom.Body(
            carom.Box((0.5, 0.3, 0.1)), mass=1.0, orientation=(math.cos(half), math.sin(half), 0, 0),
            angular_velocity=(0, 2.0, 0),
        )
    )  # fmt: skip
    scene.add_force(lambda t, state: np.array([[0, 1.0, 0, 0.3, 0.2, 0.1]]))
    normal = np.array([0.0, math.cos(2 * half), -math.sin(2 * half)])
    trajectory = Simulator(scene, carom.StrongeCoulomb()).run(1.0)
    end = trajectory.sample(1.0)
    assert end.angular_velocity[0, 1] == pytest.approx(
        2.0 + 0.2 / float(normal @ body.inertia @ normal), rel=1e-12
    )
    assert np.abs(end.angular_velocity[0, [0, 2]]).max() < 1e-14
    assert not end.velocity.any()
