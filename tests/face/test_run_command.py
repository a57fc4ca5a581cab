"""`carom run`: a scene file is run, recorded, and refused where it is none."""

from pathlib import Path

import pytest

import carom
from carom.command_line import main

LAW = ("--law", "stronge-coulomb")


def scene(height=0.5, restitution=0.5):
    material = carom.Material(friction=0.3, restitution=restitution)
    made = carom.Scene()
    made.add(carom.Body(carom.HalfSpace((0, 0, 1)), fixed=True, material=material, name="floor"))
    box = carom.Body(
        carom.Box((0.2, 0.1, 0.1)), density=1000.0, position=(0, 0, height), velocity=(1, 0, 0),
        material=material, name="box",
    )  # fmt: skip
    made.add(box)
    return made


@pytest.fixture(autouse=True)
def folder(empty_folder, monkeypatch):
    """A current folder with a scene file."""
    monkeypatch.setenv("COLUMNS", "200")
    scene().save("slide.json")
    return empty_folder


def refused(capsys, *words):
    before = sorted(Path().iterdir())
    assert main(["run", *words]) == 2
    said = capsys.readouterr().err
    assert said.startswith("carom: ")
    assert said.count("\n") == 1
    assert sorted(Path().iterdir()) == before
    return said


def test_a_scene_file_runs_as_the_scene_in_code(capsys):
    assert main(["run", "slide.json", *LAW, "--duration", "1", "--seed", "5"]) == 0
    out = capsys.readouterr().out
    assert "stronge-coulomb, seed 5" in out
    assert "Recording: slide.h5" in out
    run = carom.Trajectory.load("slide.h5")
    expected = carom.Simulator(scene(), carom.StrongeCoulomb(), seed=5).run(1.0)
    assert run.event_hash == expected.event_hash
    assert len(run.events) > 2
    assert (run.seed, run.end_time) == (5, expected.end_time)
    assert main(["verify", "slide.h5"]) == 0
    assert main(["info", "slide.h5"]) == 0
    assert run.event_hash in capsys.readouterr().out


def test_options_of_a_run(capsys):
    assert main(["run", "slide.json", *LAW, "--duration", "0.1", "--out", "other.h5", "--no-view"]) == 0
    assert carom.Trajectory.load("other.h5").end_time == 0.1
    words = ("--duration", "1", "--event-limit", "1", "--out", "other.h5")
    assert main(["run", "slide.json", *LAW, *words]) == 1
    assert "event_limit" in capsys.readouterr().out
    scene(height=0.02).save("low.json")
    assert "overlap" in refused(capsys, "low.json", *LAW, "--duration", "1")
    assert main(["run", "low.json", *LAW, "--duration", "0.1", "--part-overlaps"]) == 0
    assert "box was moved by [0.0, 0.0, 0.03" in capsys.readouterr().out


def test_remarks_are_said_once_by_run_and_info(capsys):
    text = Path("slide.json").read_text().replace('"restitution": 0.5', '"restitution": 0.0', 1)
    Path("dead.json").write_text(text)
    for command in (["run", "dead.json", *LAW, "--duration", "0.1"], ["info", "dead.h5"]):
        assert main(command) == 0
        assert capsys.readouterr().out.count("has no effect on 'floor', whose own is 0") == 1


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("slide.json", "--duration", "1"), "the following arguments are required: --law"),
        (("slide.json", *LAW), "the following arguments are required: --duration"),
        (("slide.json", "--law", "glue", "--duration", "1"), "law must be one of"),
        (("slide.json", *LAW, "--duration", "-1"), "expected a number greater than 0"),
        (("nothing.json", *LAW, "--duration", "1"), "nothing.json: no such file"),
        ((".", *LAW, "--duration", "1"), "is a folder, not a scene file"),
        (
            ("slide.json", *LAW, "--duration", "1", "--out", "slide.json"),
            "expected another file than the scene's",
        ),
        (("slide.json", *LAW, "--duration", "1", "--out", "no/where.h5"), "a folder that does not exist"),
        (("slide.json", *LAW, "--duration", "1", "--size-limit", "1e-6"), "more than the size limit of 1"),
        (("slide.json", *LAW, "--duration", "1", "--event-limit", "0"), "a whole number greater than 0"),
    ],
)
def test_what_cannot_be_run_is_refused_in_one_line(words, sentence, capsys):
    assert sentence in refused(capsys, *words)


def test_scenes_that_no_simulator_takes_are_refused(capsys):
    carom.Scene().save("empty.json")
    assert "expected at least one body, got none" in refused(capsys, "empty.json", *LAW, "--duration", "1")
    pair = carom.Scene()
    for place in ((0, 0, 1), (0, 0, 3)):
        pair.add(carom.Body(carom.Ellipsoid((0.1, 0.2, 0.3)), density=1.0, position=place))
    pair.save("pair.json")
    assert "llipsoid" in refused(capsys, "pair.json", *LAW, "--duration", "1")


def test_names_in_a_scene_do_not_steer_a_terminal(capsys):
    text = Path("slide.json").read_text().replace('"restitution": 0.5', '"restitution": 0.0', 1)
    text = text.replace('"box"', '"\\u001b[31m"')
    text = text.replace('"kind": "\\u001b[31m"', '"kind": "box"')
    Path("red.json").write_text(text)
    assert main(["run", "red.json", *LAW, "--duration", "0.1"]) == 0
    said = capsys.readouterr()
    assert "\x1b[31m" not in said.out + said.err
    Path("red.json").write_text(text.replace('"restitution"', '"\\u001b[31m"'))
    assert "\x1b" not in refused(capsys, "red.json", *LAW, "--duration", "1")
