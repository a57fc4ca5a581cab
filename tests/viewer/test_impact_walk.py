import numpy as np
import pytest

from carom import (
    AnitescuPotra,
    Body,
    Box,
    HalfSpace,
    Material,
    Scene,
    SequentialReflection,
    Simulator,
    Sphere,
)
from carom.viewer.contact_view import SEPARATING, SLIDING, STICKING, ContactView, contact_modes
from carom.viewer.impact_walk import ImpactWalk


@pytest.fixture(scope="module")
def tilted_box():
    """A box that falls on one edge with a slip and a spin: two contacts, friction, a turned inertia."""
    scene = Scene()
    rough = Material(friction=0.4)
    scene.add(Body(HalfSpace((0, 0, 1)), fixed=True, material=rough, name="floor"))
    box = Body(
        Box((0.6, 0.3, 0.4)), density=500.0, position=(0, 0, 0.6), velocity=(1.2, 0.2, -1.0),
        angular_velocity=(0.0, 1.0, 0.0), material=rough, name="box",
    )  # fmt: skip
    scene.add(box)
    return Simulator(scene, AnitescuPotra()).run(0.3)


@pytest.fixture(scope="module")
def row_of_balls():
    """Three balls in a row struck by a fourth, without friction: a path of several reflections."""
    scene = Scene(gravity=(0, 0, 0))
    smooth = Material(friction=0.0, restitution=1.0)
    for number, x in enumerate((-1.0, 0.0, 0.2, 0.4)):
        speed = 2.0 if number == 0 else 0.0
        scene.add(Body(Sphere(0.1), mass=1.0, position=(x, 0, 0), velocity=(speed, 0, 0), material=smooth))
    return Simulator(scene, SequentialReflection()).run(1.0)


@pytest.mark.parametrize("name", ["tilted_box", "row_of_balls"])
def test_a_walk_leads_from_the_state_before_to_the_state_after(name, request):
    trajectory = request.getfixturevalue(name)
    event = trajectory.events[0]
    walk = ImpactWalk(trajectory, [event])
    after = walk.velocities()
    np.testing.assert_allclose(after.velocity, event.after.velocity, atol=1e-12)
    np.testing.assert_allclose(after.angular_velocity, event.after.angular_velocity, atol=1e-11)
    walk.step(1)
    assert walk.position == 0
    before = walk.velocities()
    np.testing.assert_allclose(before.velocity, event.before.velocity, atol=1e-12)
    assert np.abs(walk.contacts().impulse).max() == 0


def test_impulses_grow_step_by_step(row_of_balls):
    walk = ImpactWalk(row_of_balls, [row_of_balls.events[0]])
    walk.step(1)
    totals, labels = [], []
    while not walk.at_end:
        totals.append(np.linalg.norm(walk.contacts().impulse, axis=1).sum())
        labels.append(walk.label)
        walk.step(1)
    assert len(totals) >= 12
    assert (np.diff(totals) > 0).all()
    assert labels[0] == "before impact"
    assert len(set(labels)) == walk.stage_count


def test_steps_go_back_and_begin_again(row_of_balls):
    walk = ImpactWalk(row_of_balls, [row_of_balls.events[0]])
    walk.step(-1)
    assert 0 < walk.position < walk.length
    walk.step(1)
    assert walk.at_end
    walk.step(1)
    assert walk.position == 0
    walk.step(-1)
    assert walk.position == 0


def test_impacts_of_one_instant_follow_each_other(row_of_balls):
    first = row_of_balls.events[0]
    walk = ImpactWalk(row_of_balls, [first, first])
    stages = len(first.outcome.path) - 1
    assert walk.length == 2 * stages
    walk.position = stages + 1.0
    assert (walk.current, walk.row) == (1, 1.0)


def test_a_fan_of_the_own_outcome_is_the_velocity_after(tilted_box):
    event = tilted_box.events[0]
    walk = ImpactWalk(tilted_box, [event])
    bodies, velocities = walk.fan(event.outcome.impulse[None])
    assert bodies.tolist() == [1]
    np.testing.assert_allclose(velocities[0, 0], event.after.velocity[1], atol=1e-12)


def test_friction_work_and_modes(tilted_box):
    event = tilted_box.events[0]
    view = ContactView.of_event(event)
    assert len(view) == 2
    assert (view.friction_work < 0).all()
    half = ContactView.of_event(event, 0.5)
    np.testing.assert_allclose(half.impulse, view.impulse / 2)
    tangential = view.impulse - np.einsum("ci,ci->c", view.impulse, view.normal)[:, None] * view.normal
    assert (np.linalg.norm(tangential, axis=1) <= 0.4 * np.linalg.norm(view.impulse, axis=1) * 1.5).all()


def test_modes_by_velocity():
    velocity = np.array([[0.1, 0.0, 0.0], [1e-9, 0.2, 0.1], [0.0, 1e-9, 0.0]])
    assert contact_modes(velocity, 1.0) == (SEPARATING, SLIDING, STICKING)
    assert contact_modes(1e-5 * velocity, 1e-5) == (SEPARATING, SLIDING, STICKING)


def test_no_impact_is_refused(row_of_balls):
    with pytest.raises(ValueError, match="at least one event"):
        ImpactWalk(row_of_balls, [])
