"""Bodies that rest by forces in friction cones, and those that do not."""

import math

import numpy as np
import pytest

import carom


@pytest.mark.parametrize("turn", np.linspace(0.0, 2.0, 9))
@pytest.mark.parametrize(("share", "rests"), [(1.0 - 1e-5, True), (1.0 + 1e-5, False)])
def test_a_block_on_an_incline_rests_up_to_the_critical_slope(turn, share, rests):
    """Whatever way the block is turned, so whatever angle friction has to its contacts' tangents."""
    friction, gravity = 0.4, 9.81
    slope = math.atan(share * friction)
    scene = carom.Scene(gravity=(-gravity * math.sin(slope), 0.0, -gravity * math.cos(slope)))
    material = carom.Material(friction=friction)
    scene.add(carom.Body(carom.HalfSpace((0, 0, 1)), fixed=True, material=material))
    scene.add(
        carom.Body(
            carom.Box((0.4, 0.3, 0.2)),
            density=700.0,
            position=(0, 0, 0.1),
            orientation=(math.cos(turn / 2), 0, 0, math.sin(turn / 2)),
            material=material,
        )
    )
    trajectory = carom.Simulator(scene, carom.MaximumDissipation()).run(1.0)
    moved = trajectory.sample(trajectory.end_time).position[1] - [0, 0, 0.1]
    if rests:
        assert trajectory.status is carom.RunStatus.AT_REST
        assert not moved.any()
    else:
        pull = gravity * (math.sin(slope) - friction * math.cos(slope))
        np.testing.assert_allclose(moved, [-0.5 * pull, 0, 0], rtol=1e-4, atol=1e-7)


def dropped(until, record=None, height=0.6):
    """A ball that falls on the floor and stays there; the simulator and its run."""
    scene = carom.Scene()
    scene.add(carom.Body(carom.HalfSpace((0, 0, 1)), fixed=True))
    scene.add(carom.Body(carom.Sphere(0.1), mass=1.0, position=(0, 0, height), name="ball"))
    simulator = carom.Simulator(scene, carom.AnitescuPotra(), record=record)
    return simulator, simulator.run(until)


def test_a_run_at_rest_can_be_sampled_up_to_the_time_that_was_asked(tmp_path):
    landed = math.sqrt(2.0 * 0.5 / 9.81)
    path = tmp_path / "run.h5"
    simulator, run = dropped(5.0, path)
    saved = run.save(tmp_path / "saved.h5")
    for found in (run, carom.Trajectory.load(path), carom.Trajectory.load(saved)):
        assert found.status is carom.RunStatus.AT_REST
        assert found.end_time == found.rest_time == pytest.approx(landed, rel=1e-12)
        assert found.asked_time == found.known_until == 5.0
        states = found.sample(np.linspace(landed + 1e-9, 5.0, 7))
        assert (states.position[:, 1] == states.position[0, 1]).all()
        assert not states.velocity.any()
        assert found.energy(5.0) == pytest.approx(9.81 * 0.1)
        assert found.ledger(5.0).impacts == pytest.approx(-9.81 * 0.5)
        with pytest.raises(ValueError, match=r"expected times within \[0, 5\] s, got 5.1"):
            found.sample(5.1)
    assert carom.verify(path).equal
    assert simulator.time == pytest.approx(landed)


def test_what_moves_again_is_no_longer_known_to_rest():
    simulator, run = dropped(5.0)
    state = simulator.state.copy()
    state.velocity[1, 2] = 1.0
    simulator.state = state
    assert run.known_until == run.end_time < 1.0
    simulator.run(0.5)
    assert run.status is carom.RunStatus.REACHED_END
    assert (run.known_until, run.asked_time) == (0.5, 0.5)
    with pytest.raises(ValueError, match=r"expected times within \[0, 0.5\] s, got 5"):
        run.sample(5.0)


def test_a_run_that_is_asked_for_less_than_it_has_reached_keeps_its_end():
    _, run = dropped(0.2)
    assert (run.end_time, run.known_until, run.asked_time) == (0.2, 0.2, 0.2)
    simulator, run = dropped(5.0)
    simulator.step_event()
    assert run.known_until == run.end_time


def test_pictures_and_commands_know_that_it_rests(tmp_path, monkeypatch, capsys):
    from carom.command_line import main
    from carom.viewer.exports import frame_times, render

    _, run = dropped(5.0)
    path = run.save(tmp_path / "run.h5")
    assert main(["info", str(path)]) == 0
    assert "0 to 0.319" in (said := capsys.readouterr().out)
    assert "at rest up to 5 s, as asked" in said
    page = tmp_path / "run.html"
    assert main(["render", str(path), "--to", "5", "--out", str(page)]) == 0
    assert main(["render", str(path), "--to", "5.1", "--out", str(page)]) == 2
    assert "within 0 to 5 s" in capsys.readouterr().err
    with pytest.raises(ValueError, match=r"time must lie between 0\.0 and 5\.0 s"):
        render(run, tmp_path / "run.png", time=5.5)
    assert frame_times(0.0, 5.0, 1, 1.0)[-1] == 5.0
    render(run, tmp_path / "run.glb", end=5.0, fps=2)
