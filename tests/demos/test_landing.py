"""Every outcome of one landing: its demo, and what there is of it on the disk."""

import math

import numpy as np
import pytest

import carom
from carom.command_line import main
from carom.demos.landing import HEIGHT, MEMBERS, SIDE, SPEED, Landing
from carom.viewer import DisplayError


@pytest.fixture(scope="module")
def landing():
    return Landing()


def test_all_that_must_hold_holds(landing):
    assert all(check.holds for check in landing.check()), landing.check()
    (table,) = landing.tables()
    assert sum(int(row[0]) for row in table.rows) == MEMBERS
    assert len(table.rows) == len(landing.tree.ends)


def test_no_outcome_is_faster_than_that_of_one_corner_alone(landing):
    """The fastest rocking is that after a plastic impact of one corner: by balance of angular momentum about it."""
    down = math.sqrt(SPEED**2 + 2 * 9.81 * (0.6 - 0.5 * HEIGHT))
    arm = 0.5 * SIDE
    inertia = (SIDE**2 + HEIGHT**2) / 12 + arm**2 + (0.5 * HEIGHT) ** 2  # of a unit mass about a corner
    fastest = arm * down / inertia
    rates = [end.trajectory.events[0].after["block"].angular_velocity[1] for end in landing.tree.ends]
    assert max(np.abs(rates)) < 1.02 * fastest
    assert min(rates) < 0.0 < max(rates)


def test_the_same_seed_gives_the_same_tree_and_others_do_not(landing):
    hashes = [
        [run.event_hash for run in one.trajectories]
        for one in (landing.tree, Landing().run(0), Landing().run(1))
    ]
    assert hashes[0] == hashes[1] != hashes[2]


def test_the_command_leaves_a_branched_run_and_a_picture_of_all_its_ends(tmp_path, monkeypatch, capsys):
    drawn = []

    def picture(run, path):
        drawn.append((run, path))

    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    monkeypatch.setattr("carom.viewer.render", picture)
    assert main(["demo", "landing", "--seed", "4"]) == 0
    ((run, path),) = drawn
    assert len(run) == MEMBERS
    assert run.seed == 4
    assert path.name == "landing.png"
    assert len(carom.BranchedRun.load("landing.h5")) == MEMBERS
    assert "All ends: landing.png" in capsys.readouterr().out

    def no_picture(*_):
        raise DisplayError("OpenGL is not there.")

    monkeypatch.setattr("carom.viewer.render", no_picture)
    assert main(["demo", "landing"]) == 0
    assert "No picture: OpenGL is not there." in capsys.readouterr().out
