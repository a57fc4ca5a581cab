"""The granular channel: its geometry, what it measures, and its command."""

import numpy as np
import pytest

import carom
from carom.command_line import main
from carom.demos.channel import (
    RADIUS,
    Channel,
    beside_obstacle,
    channel_steps,
    profile,
    radial_distribution,
)


def test_distance_from_the_obstacle_is_that_of_its_two_bodies():
    share = 0.3
    steps = channel_steps(share)
    bodies = {body.name: body for body in steps.scene.bodies}
    height = share * 0.02
    points = np.random.default_rng(0).uniform((0, 0, 0), (share * 0.15, share * 0.065, 0), (200, 3))
    points[:, 2] = 0.5 * height
    found = beside_obstacle(points, share)
    for point, away in zip(points, found, strict=True):
        if away > 0.1 * RADIUS:
            ball = carom.Body(carom.Sphere(0.05 * RADIUS), density=1.0, position=point)
            gaps = [carom.signed_distance(bodies[name], ball).gap for name in ("cylinder", "block")]
            assert min(gaps) + 0.05 * RADIUS == pytest.approx(away, abs=1e-9)


@pytest.mark.parametrize("fill", [None, 0.5, 0.6])
def test_the_start_is_as_dense_as_asked_and_nothing_overlaps(fill):
    steps = channel_steps(0.2, fill=fill)  # which refuses overlaps
    places = steps.states.position
    low, high = places.min(axis=0), places.max(axis=0)
    assert (low >= [3 * RADIUS - 1e-12, RADIUS - 1e-12, RADIUS - 1e-12]).all()
    assert (high <= np.array([0.03, 0.013 - RADIUS, 0.004 - RADIUS]) + 1e-12).all()
    inside = ((places > [0.014, 0.003, 0.001]) & (places < [0.028, 0.010, 0.003])).all(axis=1)
    dense = inside.sum() * 4 / 3 * np.pi * RADIUS**3 / (0.014 * 0.007 * 0.002)
    assert dense == pytest.approx(0.435 if fill is None else fill, rel=0.15)


def test_even_places_have_a_flat_distribution_whatever_the_box():
    random = np.random.default_rng(1)
    low, high = np.array([1.0, 0.0, -0.5]), np.array([2.0, 2.0, 0.0])
    places = random.uniform(low - 0.5, high + 0.5, (20_000, 3))
    distance, value = radial_distribution(places, low, high, 1.0)
    assert distance[-1] < 0.5  # no longer than the shortest edge
    far = distance > 0.1
    assert value[far] == pytest.approx(1.0, abs=0.08)
    assert np.average(value[far], weights=distance[far] ** 2) == pytest.approx(1.0, abs=0.03)


def test_a_lattice_has_its_neighbours_where_they_are():
    places = np.stack(np.meshgrid(*[np.arange(12.0)] * 3, indexing="ij"), -1).reshape(-1, 3)
    distance, value = radial_distribution(places, np.full(3, -0.5), np.full(3, 11.5), 1.2)
    assert (value > 0).sum() == 1
    assert distance[value > 0] == pytest.approx([1.0], abs=0.012)


def test_profiles_are_means_of_what_is_in_a_cell():
    share = 0.2
    places = np.array([(0.0005, 0.0005, 0.0), (0.0005, 0.0006, 0.003), (0.0295, 0.0125, 0.0)])
    mean = profile(places, np.array([1.0, 3.0, 7.0]), share)
    assert mean.shape == (30, 13)
    assert (mean[0, 0], mean[29, 12]) == (2.0, 7.0)
    assert np.isnan(mean).sum() == 30 * 13 - 2


def test_the_command_runs_stops_and_goes_on(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["demo", "channel", "--share", "0.1", "--duration", "0.001", "--no-view"]) == 0
    shown = capsys.readouterr().out
    assert "2.593" in shown
    assert "sticking" in shown
    assert sorted(path.name for path in tmp_path.iterdir()) == ["channel.h5", "channel.png"]
    first = carom.StepRecording.load("channel.h5")
    assert len(first.log) == 100
    assert main(["demo", "channel", "--share", "0.1", "--duration", "0.0015", "--resume", "--no-view"]) == 0
    went_on = carom.StepRecording.load("channel.h5")
    assert len(went_on.log) == 150
    at_once = Channel()
    at_once.begin(
        share=0.1, fill=None, duration=0.0015, seed=0, checkpoint=None, resume=False, progress=False
    )
    assert went_on.log.tobytes() == at_once.flow.log.rows.tobytes()
    assert all(check.holds for check in at_once.check())
    capsys.readouterr()
    for arguments, sentence in (
        (["channel", "--share", "0.2", "--resume"], "channel.h5 is of a run with other fixed bodies"),
        (["channel", "--law", "stronge-coulomb"], "--law: demo channel is no run of the engine"),
        (["hodograph", "--resume"], "--resume: demo hodograph does not take it"),
        (["sliding-block", "--share", "0.5"], "--share: demo sliding-block does not take it"),
    ):
        assert main(["demo", *arguments, "--no-view"]) == 2
        error = capsys.readouterr().err
        assert sentence in error
        assert error.count("\n") == 1
