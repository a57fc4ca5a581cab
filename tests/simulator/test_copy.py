"""Copies of a running simulation: the same future, and neither disturbs the other."""

import pytest

import carom

from .equal_runs import assert_equal_runs, scene_of_three


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
