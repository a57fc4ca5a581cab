"""Forces of contacts and joints as windows and pages show them."""

import numpy as np
import pytest

import carom
from carom.viewer import forces
from carom.viewer.actions import press
from carom.viewer.composition import compose
from carom.viewer.forces import forces_at, forces_over
from carom.viewer.html_player import player_html
from carom.viewer.picture import force_marks
from carom.viewer.replay import Replay
from carom.viewer.run import Run
from carom.viewer.theme import FORCE_COLOUR, TORQUE_COLOUR, UNDECIDED_COLOUR, UNDECIDED_TORQUE_COLOUR


@pytest.fixture(scope="module")
def pendulum():
    """Which swings above a floor on which a ball rolls to rest."""
    scene = carom.Scene()
    felt = carom.Material(friction=0.3, rolling_friction=0.004)
    scene.add(carom.Body(carom.HalfSpace((0, 0, 1)), fixed=True, material=felt))
    scene.add(
        carom.Body(
            carom.Sphere(0.08), mass=1.0, position=(0, 1, 0.08), velocity=(1, 0, 0),
            angular_velocity=(0, 12.5, 0), material=felt,
        )
    )  # fmt: skip
    bob = scene.add(carom.Body(carom.Sphere(0.1), mass=2.0, position=(0.4, 0, 1)))
    scene.add_joint(carom.RevoluteJoint(bob, anchor=(0, 0, 1), axis=(0, 1, 0), name="hinge"))
    return carom.Simulator(scene, carom.StrongeCoulomb()).run(1.0)


def test_forces_are_those_of_contacts_and_then_joints(pendulum):
    found, contacts, joints = (
        forces_at(pendulum, 0.3),
        pendulum.contact_forces(0.3),
        pendulum.joint_forces(0.3),
    )
    assert found.which.tolist() == [contacts.bodies[0].tolist(), [-1, 0]]
    assert np.array_equal(found.force, [contacts.force[0], joints.force[0]])
    assert np.array_equal(found.torque, [contacts.torque[0], joints.torque[0]])
    assert np.array_equal(found.point, [contacts.point[0], joints.point[0]])
    assert found.unique.all()


def between(known, time):
    """Forces that a page shows at a time."""
    at = np.searchsorted([one for one, _, _ in known], time, side="right") - 1
    begin, found, joined = known[at]
    if not joined:
        return found.force
    end, after, _ = known[at + 1]
    share = (time - begin) / (end - begin)
    return (1 - share) * found.force + share * after.force


def test_between_the_times_of_a_page_forces_are_near(pendulum):
    known = forces_over(pendulum, 0.0, pendulum.end_time)
    assert 10 < len(known) < forces.MOST_LOOKS + 2
    for time in np.linspace(0.0, pendulum.end_time, 83):
        exact = forces_at(pendulum, time).force
        assert np.abs(between(known, time) - exact).max() < forces.TOLERANCE * np.abs(exact).max()


def test_a_page_looks_no_more_often_than_is_worth_the_time(pendulum, monkeypatch):
    asked = []
    monkeypatch.setattr(forces, "forces_at", lambda *where: asked.append(where) or forces_at(*where))
    for most in (20, 40):
        asked.clear()
        monkeypatch.setattr(forces, "PATIENCE", 2 * most)  # two bodies move
        assert len(forces_over(pendulum, 0.0, 1.0)) >= len(asked)
        assert most <= len(asked) <= most + 2
    asked.clear()
    assert forces_over(pendulum, 0.0, 1.0, runs=10) == []  # 8 looks for each would show nothing
    assert asked == []


def test_of_many_stretches_the_longest_have_forces(monkeypatch):
    """A ball bounces ever more quickly beside one that lies there; its force is known in the longest flights."""
    scene = carom.Scene()
    bouncy = carom.Material(friction=0.3, restitution=0.9)
    scene.add(carom.Body(carom.HalfSpace((0, 0, 1)), fixed=True, material=bouncy))
    scene.add(carom.Body(carom.Sphere(0.1), mass=1.0, position=(0, 0, 1), material=bouncy))
    scene.add(carom.Body(carom.Sphere(0.1), mass=1.0, position=(1, 0, 0.1), material=bouncy))
    run = carom.Simulator(scene, carom.SequentialReflection()).run(5.0)
    monkeypatch.setattr(forces, "MOST_LOOKS", 8)
    known = forces_over(run, 0.0, run.end_time)
    times = np.array([time for time, _, _ in known])
    assert (np.diff(times) >= 0).all()
    spans = np.diff(run.event_times)
    longest = run.event_times[:-1][np.argsort(-spans)]
    assert len(spans) > 4
    for number, expected in ((longest[1], 9.81), (longest[-1], 0.0)):
        at = np.searchsorted(times, number, side="right") - 1
        assert known[at][1].largest == pytest.approx(expected)


def test_forces_of_which_there_are_several_answers_are_pale():
    scene = carom.Scene()
    scene.add(carom.Body(carom.HalfSpace((0, 0, 1)), fixed=True))
    scene.add(carom.Body(carom.Box((0.4, 0.4, 0.1)), mass=1.0, position=(0, 0, 0.05)))
    scene.add(carom.Body(carom.Sphere(0.1), mass=1.0, position=(1, 0, 0.1)))
    run = carom.Simulator(scene, carom.StrongeCoulomb()).run(0.1)
    found = forces_at(run, 0.05)
    assert sorted(found.unique.tolist()) == [False] * 4 + [True]
    arrows = force_marks(Run(run, "").stage, found, 20.0)[0].instances
    expected = np.where(found.unique[:, None], FORCE_COLOUR, UNDECIDED_COLOUR)
    np.testing.assert_allclose(arrows[:, 12:15], expected, atol=1e-6)


def test_torques_of_which_there_are_several_answers_are_pale():
    """Of a bar that one hinge holds beside its middle, and of one that two hold."""
    scene = carom.Scene()
    for y, hinges in ((0.0, 1), (1.0, 2)):
        bar = scene.add(carom.Body(carom.Box((0.1, 0.4, 0.1)), mass=1.0, position=(0.3, y, 0)))
        for k in range(hinges):
            anchor = (0, y + 0.1 + 0.1 * k, 0)
            scene.add_joint(carom.RevoluteJoint(bar, anchor=anchor, axis=(0, 1, 0), name=f"{y:g} {k}"))
    run = carom.Simulator(scene, carom.StrongeCoulomb()).run(0.1)
    found = forces_at(run, 0.05)
    assert found.unique.tolist() == [True, False, False]
    _, arrows, rings = (solid.instances for solid in force_marks(Run(run, "").stage, found, 20.0))
    expected = [TORQUE_COLOUR, UNDECIDED_TORQUE_COLOUR, UNDECIDED_TORQUE_COLOUR]
    np.testing.assert_allclose(arrows[:, 12:15], expected, atol=1e-6)
    np.testing.assert_allclose(rings[:, 12:15], expected, atol=1e-6)


def test_forces_that_a_recording_does_not_tell_are_refused_in_words(tmp_path):
    scene = carom.Scene()
    scene.add(carom.Body(carom.HalfSpace((0, 0, 1)), fixed=True))
    scene.add(carom.Body(carom.Sphere(0.1), mass=1.0, position=(0, 0, 0.1)))

    def wind(time, state):
        return np.array([np.zeros(6), [0.1, 0, 0, 0, 0, 0]])

    scene.add_force(wind)
    run = carom.Simulator(scene, carom.StrongeCoulomb()).run(0.2)
    loaded = carom.Trajectory.load(run.save(tmp_path / "run.h5"))
    assert len(forces_at(run, 0.1)) == 1
    replay = Replay([Run(loaded, "wind")])
    press(replay, "l")
    assert "wind" in replay.message.text
    assert "a recording does not keep them" in replay.message.text
    (picture,) = compose(replay)
    assert picture.marks == []
    assert "<html" in player_html(loaded)
