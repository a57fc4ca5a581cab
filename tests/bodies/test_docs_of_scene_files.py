"""The code and the file in docs/scene_files.md work as the page says."""

import json
import re
from pathlib import Path

import pytest

import carom

TEXT = (Path(__file__).parents[2] / "docs" / "scene_files.md").read_text(encoding="utf-8")


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", TEXT, flags=re.DOTALL)


def last_value(block, names):
    """What the last line of a block is, after the block has run."""
    *lines, last = block.strip().splitlines()
    exec(compile("\n".join(lines), "scene_files.md", "exec"), names)
    return eval(last, names)


def test_the_examples_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    found = blocks("python")
    assert len(found) == 2
    assert last_value(found[0], names) is True
    assert len(names["runs"][0].events) > 0
    assert last_value(found[1], names) is True
    names["runs"][1].save("slide.h5")
    carom.Trajectory.load("slide.h5").scene.save("again.json")
    assert Path("again.json").read_bytes() == Path("slide.json").read_bytes()


def test_the_file_that_has_everything_is_a_scene_that_runs(tmp_path):
    [text] = blocks("json")
    path = tmp_path / "everything.json"
    path.write_text(text)
    scene = carom.Scene.load(path)
    assert [body.name for body in scene.bodies] == ["floor", "cart", "arm", "gate", "stone"]
    assert [joint.name for joint in scene.joints] == ["shoulder", "rope"]
    run = carom.Simulator(scene, carom.StrongeCoulomb()).run(1.0)
    assert run.status is carom.RunStatus.REACHED_END
    assert run.remarks == []
    assert len(run.events) > 3
    head = set(json.loads(text))
    described = set(scene.describe()[0])
    assert head == described  # all fields that there are


def test_the_sentence_of_the_page_is_what_is_said(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    last_value(blocks("python")[0], names)
    meta = json.loads(Path("slide.json").read_text())
    meta["bodies"][1]["position"] = [0, 0]
    Path("slide.json").write_text(json.dumps(meta))
    with pytest.raises(carom.FileFormatError) as caught:
        carom.Scene.load("slide.json")
    assert blocks("text")[0].strip() == str(caught.value)


def test_kinds_that_the_page_names_are_all_that_there_are():
    from carom.bodies.description import _JOINTS, SHAPES

    listed = TEXT.split("Kinds of shapes are")[1].split("A limit that")[0]
    assert set(re.findall(r"`([a-z-]+)`", listed)) == {*SHAPES, *_JOINTS}
