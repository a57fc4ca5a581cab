"""Copies of a running simulation: the same future, and neither disturbs the other."""

import numpy as np
import pytest

import carom


def scene_of_three():
    scene = carom.Scene()
    material = carom.Material(friction=0.4, restitution=0.5)
    scene.add(carom.Body(carom.HalfSpace((0, 0, 1)), fixed=True, material=material))
    for k in range(3):
        turn = np.array([1.0, 0.2 * k, 0.3, 0.1])
        scene.add(
            carom.Body(
                carom.Box((0.3, 0.2, 0.1)),
                density=800.0,
                position=(0.15 * k, 0.0, 0.4 + 0.3 * k),
                orientation=turn / np.linalg.norm(turn),
                material=material,
            )
        )
    return scene


def assert_equal_runs(first, second):
    assert [event.time for event in first.events] == [event.time for event in second.events]
    assert [event.kind for event in first.events] == [event.kind for event in second.events]
    a, b = first.sample(first.end_time), second.sample(second.end_time)
    for name in ("position", "orientation", "velocity", "angular_velocity"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))


@pytest.mark.parametrize("law", [carom.StrongeCoulomb(), carom.SetValuedRouth()], ids=["one", "drawn"])
@pytest.mark.parametrize("instant", [0.0, 0.2, 0.45])
def test_a_copy_goes_on_as_the_original_does(law, instant, tmp_path):
    original = carom.Simulator(scene_of_three(), law, seed=5, record=tmp_path / "run.h5")
    original.run(instant, stop_at_rest=False)
    twin = original.copy()
    known = len(twin.trajectory.events)
    alone = twin.run(0.8, stop_at_rest=False)
    assert len(original.trajectory.events) == known
    assert original.time == instant
    assert_equal_runs(alone, original.run(0.8, stop_at_rest=False))
    assert_equal_runs(carom.Trajectory.load(tmp_path / "run.h5"), alone)
    event = alone.events[-1]
    assert event.after.time == event.time  # sampled from the copy's own trajectory


def test_a_copy_can_take_another_way():
    original = carom.Simulator(scene_of_three(), carom.StrongeCoulomb())
    original.run(0.25)
    twin = original.copy()
    twin.run(0.3)
    again = twin.copy()
    twin.run(0.7)
    again.run(0.7)
    original.run(0.7)
    assert_equal_runs(twin.trajectory, original.trajectory)
    assert_equal_runs(again.trajectory, original.trajectory)
