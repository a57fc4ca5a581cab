"""Commands and the viewer take the files that `BranchedRun.save` writes."""

import re

import numpy as np
import pytest

import carom
from carom.command_line import main
from carom.viewer.branched import spread
from carom.viewer.show import make_runs


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """A block that lands flat, with eight members; and its file."""
    scene = carom.Scene()
    scene.planar()
    surface = carom.Material(friction=0.4)
    scene.add(carom.Body(carom.HalfSpace((0, 0, 1)), fixed=True, material=surface, name="floor"))
    block = {"density": 500.0, "position": (0, 0, 0.3), "material": surface, "name": "block"}
    scene.add(carom.Body(carom.Box((0.2, 0.2, 0.2)), velocity=(0.3, 0, 0), **block))
    run = carom.Simulator(scene, carom.SetValuedRouth()).branches(8, 5, 0.3, tolerance=1e-6)
    assert len(run.ends) > 1
    return run, str(run.save(tmp_path_factory.mktemp("tree") / "tree.h5"))


def test_ends_hold_every_member_once(tree):
    run, _ = tree
    members = [member for end in run.ends for member in end.members]
    assert sorted(members) == list(range(8))
    assert {id(end.trajectory) for end in run.ends} == {id(one) for one in run.trajectories}
    assert repr(run) == f"BranchedRun(8 members, {len(run.nodes)} branches, {len(run.ends)} ends, seed 5)"


def test_info_says_how_members_part(tree, capsys):
    run, path = tree
    assert main(["info", path]) == 0
    text = capsys.readouterr().out
    assert re.search(r"members\s+│ 8, seed 5", text)
    assert re.search(rf"branches\s+│ {len(run.nodes)}, with {len(run.ends)} ends", text)
    for end in run.ends:
        assert re.search(rf"│ {len(end.members)}\s+│ {end.end_time:.6f} s", text)
        assert end.trajectory.event_hash[:12] in text


def test_render_draws_all_ends(tree, tmp_path, capsys):
    run, path = tree
    out = tmp_path / "tree.html"
    assert main(["render", path, "--out", str(out)]) == 0
    assert out.stat().st_size > 20_000
    assert main(["render", path, "--out", str(tmp_path / "tree.glb")]) == 2
    assert f"a glTF scene shows one run, got {len(run.ends)} for tree.glb" in capsys.readouterr().err
    assert main(["render", path, "--strip", "--out", str(tmp_path / "a.png")]) == 2
    assert "--strip draws six moments of one recording" in capsys.readouterr().err


def test_a_window_would_show_all_ends(tree):
    run, path = tree
    for given in (run, path, [path]):
        shown = make_runs(given)
        assert [one.name for one in shown] == [f"{len(end.members)} in 8" for end in run.ends] or len(
            {one.name for one in shown}
        ) == len(shown)
        for one, end in zip(shown, run.ends, strict=True):
            time = 0.5 * end.end_time
            assert np.array_equal(one.trajectory.sample(time).position, end.trajectory.sample(time).position)


def test_labels_of_trees_and_single_runs(tree):
    run, _ = tree
    alone = run.trajectories[0]
    given, labels = spread([alone, run], ["one", "all"])
    assert len(given) == 1 + len(run.ends)
    assert labels[0] == "one"
    assert labels[1:] == [f"all: {len(end.members)} in 8" for end in run.ends]
    assert spread([alone, run])[1][0] == "set-valued-routh"
    assert spread(alone) == ([alone], None)
    with pytest.raises(ValueError, match="labels: expected 1, one for each trajectory, got 2"):
        spread(run, ["a", "b"])
    with pytest.raises(ValueError, match="expected at least one"):
        spread([])


@pytest.mark.parametrize("command", [["info"], ["view"], ["render", "--out", "a.html"]])
def test_what_is_no_recording_is_refused_in_one_line(command, tmp_path, capsys):
    path = tmp_path / "no.h5"
    path.write_bytes(b"nothing")
    assert main([command[0], str(path), *command[1:]]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "no.h5" in error
