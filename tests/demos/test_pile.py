"""The pile of stones and the time steps that move it."""

from pathlib import Path

import numpy as np
import pytest

import carom
from carom.command_line import main
from carom.demos import pile
from carom.simulator.stepping.convex_contacts import SKIN
from carom.simulator.stepping.parting import SHARE

MESHES = Path(__file__).resolve().parents[3] / "shared" / "data" / "meshes"
FILES = (
    "20mm-xyz-cube.stl",
    "fandisk.obj",
    "featuretype.STL",
    "monkey.glb",
    "rabbit.obj",
    "teapot.stl",
    "torus.STL",
)


@pytest.fixture(scope="module")
def small():
    """Thirty stones that have settled."""
    demo = pile.Pile(30)
    demo.run(seed=2)
    return demo


def test_thirty_stones_settle(small):
    assert [check for check in small.check() if not check.holds] == []


@pytest.mark.long
def test_the_whole_pile_settles():
    assert [check for check in pile.Pile().check() if not check.holds] == []


@pytest.mark.long
@pytest.mark.parametrize("seed", [1, 2])
def test_a_hundred_stones_of_other_seeds_settle(seed):
    demo = pile.Pile(100)
    demo.run(seed)
    assert [check for check in demo.check() if not check.holds] == []


@pytest.mark.skipif(
    not MESHES.exists(), reason="the folder ../shared/data/meshes is not beside this checkout"
)
@pytest.mark.parametrize("count", [12, pytest.param(72, marks=pytest.mark.long)])
def test_hulls_of_real_meshes_settle(count):
    hulls = [carom.ConvexMesh(MESHES / name) for name in FILES]
    shapes = [carom.ConvexMesh(0.06 * hull.vertices / hull.bounding_radius) for hull in hulls]
    assert [check for check in pile.Pile(count, shapes).check() if not check.holds] == []


def test_tables_tell_every_step(small):
    (table,) = small.tables()
    assert all(len(row) == len(table.header) for row in table.rows)
    assert float(table.rows[-1][0]) == pytest.approx(small.settled.trajectory.end_time, abs=0.006)


def test_a_pile_that_is_stopped_too_early_fails_its_checks(monkeypatch):
    monkeypatch.setattr(pile, "LONGEST", 0.3)
    failed = {check.what for check in pile.Pile(12).check() if not check.holds}
    assert "speed in the last 0.25 s [m/s]" in failed
    assert "force of floor and walls over the weight, off" in failed


def test_one_seed_one_motion(small):
    again, other = pile.settle(pile.pile_scene(30, 2)), pile.settle(pile.pile_scene(30, 3))
    first = small.settled
    for moment in np.linspace(0.0, first.trajectory.end_time, 7):
        ours, theirs = (run.trajectory.sample(moment) for run in (first, again))
        assert np.array_equal(ours.position, theirs.position)
        assert np.array_equal(ours.orientation, theirs.orientation)
    assert np.array_equal(again.steps, first.steps)
    assert not np.array_equal(
        other.trajectory.sample(0.0).orientation, first.trajectory.sample(0.0).orientation
    )


def test_places_jump_in_the_record_by_no_more_than_steps_part(small, tmp_path):
    trajectory = small.settled.trajectory
    small.write(tmp_path / "pile.h5")
    read = carom.Trajectory.load(tmp_path / "pile.h5")
    assert read.rest_time == trajectory.rest_time < trajectory.end_time
    assert "time steps of 2 ms" in read.remarks[0]
    moments = pile.STEP * np.arange(0, len(small.settled.steps), 7)
    left, right = read.sample(moments, side="left"), read.sample(moments)
    assert np.array_equal(right.position, trajectory.sample(moments).position)
    skins = 2.0 * SKIN * pile.RADIUS - small.settled.steps["gap"].min()
    assert np.abs(left.position - right.position).max() <= SHARE * skins
    assert np.abs(left.orientation - right.orientation).max() <= 1e-2


def test_command_runs_checks_and_records(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("carom.demos.demo_by_name", lambda name: pile.Pile(8))
    monkeypatch.setattr(
        "carom.viewer.render_strip", lambda trajectory, path: path.write_bytes(b"six moments")
    )
    assert main(["demo", "pile", "--no-view", "--seed", "5"]) == 0
    text = capsys.readouterr().out
    assert "Written: pile.h5" in text
    assert "Six moments: pile.png" in text
    assert "NO" not in text
    assert carom.Trajectory.load("pile.h5").seed == 5
    assert main(["info", "pile.h5"]) == 0
    assert main(["demo", "pile", "--law", "anitescu-potra"]) == 2
    assert main(["demo", "pile", "--out", "pile.txt"]) == 2


@pytest.mark.parametrize("count", [1, 7, 100])
def test_stones_start_apart_and_inside_the_corner(count):
    scene = pile.pile_scene(count, seed=4)
    stones = [body for body in scene.bodies if not body.fixed]
    assert len(stones) == count
    place = np.array([body.position for body in stones])
    radius = np.array([body.shape.bounding_radius for body in stones])
    assert (place >= radius[:, None]).all()
    apart = np.linalg.norm(place[:, None] - place, axis=2) - radius[:, None] - radius
    assert apart[~np.eye(count, dtype=bool)].min(initial=1.0) > 0.0


def test_stones_differ_in_shape_and_size():
    shapes = [body.shape for body in pile.pile_scene(60).bodies if not body.fixed]
    assert any(isinstance(shape, carom.Box) for shape in shapes)
    corners = {len(shape.vertices) for shape in shapes if isinstance(shape, carom.ConvexMesh)}
    assert len(corners) >= 8
    radii = [shape.bounding_radius for shape in shapes]
    assert pile.SMALLEST * pile.RADIUS <= min(radii) < 0.7 * max(radii)
    assert max(radii) <= pile.RADIUS * (1 + 1e-12)
