"""`carom sweep`: programs, demos, what is varied, and what is refused."""

import numpy as np
import pytest

import carom
from carom.command_line import main

PROGRAM = """
import carom

def scene():
    material = carom.Material(friction=0.3, restitution=0.5)
    made = carom.Scene()
    made.add(carom.Body(carom.HalfSpace((0, 0, 1)), fixed=True, material=material, name="floor"))
    made.add(carom.Body(carom.Box((0.2, 0.1, 0.1)), density=1000.0, position=(0, 0, 0.5), velocity=(1, 0, 0),
                        material=material, name="box"))
    return made
"""
RUN = """
def run(scene, rng):
    return carom.Simulator(scene, carom.StrongeCoulomb()).run(1.0)

def measure(trajectory):
    return {"run_out": trajectory.sample(trajectory.end_time).position[1, 0]}
"""
NUMBERS = """
def run(member, rng):
    if isinstance(member, dict):
        return {"twice": 2 * member["speed"], "drawn": rng.normal()}
    if member == 2:
        raise ValueError("two is no good")
    return {"drawn": rng.normal()}
"""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "toss.py").write_text(PROGRAM + RUN)
    (tmp_path / "scene_only.py").write_text(PROGRAM)
    (tmp_path / "numbers.py").write_text(NUMBERS)
    (tmp_path / "broken.json").write_text('{"format": ')
    names: dict = {}
    exec(PROGRAM, names)
    names["scene"]().save(tmp_path / "toss.json")
    return tmp_path


def swept(*words):
    assert main(["sweep", *words, "--store", "sweep.h5"]) == 0
    return carom.Ensemble.load("sweep.h5")


def test_a_program_with_a_scene_and_errors(capsys):
    words = ["--vary", "floor.friction=0.1:0.3", "--perturb", "box.position=1e-3", "--seed", "3"]
    found = swept("toss.py", "--members", "5", *words, "--workers", "2")
    assert "run_out" in capsys.readouterr().out
    assert ((found["floor.friction"] >= 0.1) & (found["floor.friction"] <= 0.3)).all()
    assert 0.0 < np.abs(found["box.position"]).max() < 0.01
    assert found.good.all()
    more = ["--members", "7", *words, "--workers", "1", "--resume"]
    assert main(["sweep", "toss.py", *more, "--store", "sweep.h5"]) == 0
    longer = carom.Ensemble.load("sweep.h5")
    assert np.array_equal(longer["run_out"][:5], found["run_out"])
    assert len(np.unique(longer["run_out"])) == 7
    assert main(["sweep", "toss.py", *words, "--rerun", "6", "--out", "six.h5"]) == 0
    six = carom.Trajectory.load("six.h5")
    assert six.sample(six.end_time).position[1, 0] == longer["run_out"][6]


def test_a_scene_without_run_takes_law_and_duration():
    found = swept(
        "scene_only.py", "--law", "stronge-coulomb", "--duration", "0.2", "--perturb", "position=1e-3",
        "--members", "4", "--outcomes", "2", "--workers", "1",
    )  # fmt: skip
    assert found.status.tolist() == ["reached_end"] * 8
    assert np.array_equal(found["position"][::2], found["position"][1::2])  # a law without chance


def test_a_scene_file_is_what_a_program_with_its_scene_is():
    words = [
        "--law",
        "stronge-coulomb",
        "--duration",
        "0.5",
        "--seed",
        "3",
        "--workers",
        "1",
        "--members",
        "3",
    ]
    words += ["--vary", "floor.friction=0.1:0.3", "--perturb", "box.position=1e-3"]
    of_file = swept("toss.json", *words)
    assert main(["sweep", "scene_only.py", *words, "--store", "program.h5"]) == 0
    of_program = carom.Ensemble.load("program.h5")
    for name in ("floor.friction", "box.position", "position", "orientation", "end_time", "energy_lost"):
        assert np.array_equal(of_file[name], of_program[name]), name
    assert len(np.unique(of_file["floor.friction"])) == 3
    assert main(["sweep", "toss.json", *words, "--members", "5", "--resume", "--store", "sweep.h5"]) == 0
    assert np.array_equal(carom.Ensemble.load("sweep.h5")["end_time"][:3], of_file["end_time"])
    assert main(["sweep", "toss.json", *words, "--rerun", "2", "--out", "two.h5"]) == 0
    assert carom.Trajectory.load("two.h5").end_time == of_file["end_time"][2]


def test_a_demo_is_a_scene():
    found = swept("bouncing-ball", "--perturb", "position=1e-3", "--members", "3", "--workers", "1")
    assert found.status.tolist() == ["at_rest"] * 3
    assert len(np.unique(found["end_time"])) == 3


def test_numbers_and_failures_of_a_program_without_a_scene(capsys):
    found = swept("numbers.py", "--members", "4", "--workers", "2")
    assert found.status.tolist() == ["finished", "finished", "raised", "finished"]
    assert "two is no good" in capsys.readouterr().out


def test_values_drawn_for_a_program_without_a_scene():
    found = swept("numbers.py", "--members", "4", "--workers", "2", "--vary", "speed=1:3")
    assert np.array_equal(found["twice"], 2.0 * found["speed"])
    assert 1.0 <= found["speed"].min() < found["speed"].max() <= 3.0


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("nothing.py",), "nothing.py: no such file"),
        (("nothing.json", "--law", "stronge-coulomb", "--duration", "1"), "nothing.json: no such file"),
        (("toss.json",), "--law, --duration: expected both, since toss.json has a scene"),
        (
            ("broken.json", "--law", "stronge-coulomb", "--duration", "1"),
            "broken.json: is no scene file: not JSON",
        ),
        (("toss.json", "--law", "x", "--duration", "1"), "law must be one of"),
        (
            ("nothing",),
            "expected a scene file such as slide.json, a program such as sweep.py, or the name of a",
        ),
        (("hodograph",), "expected a demo with a scene"),
        (("toss.py", "--vary", "floor.friction"), "expected NAME=LOW:HIGH"),
        (("toss.py", "--vary", "floor.friction=3:1"), "a lower value before a higher"),
        (("toss.py", "--perturb", "box.position=small"), "expected NAME=S"),
        (("toss.py", "--perturb", "ball.position=1"), "no body is named 'ball'"),
        (("toss.py", "--perturb", "floor.velocity=1"), "expected a body that can move"),
        (("toss.py", "--vary", "size=0:1"), "size: expected one of position"),
        (("toss.py", "--vary", "friction=0:1", "--vary", "floor.friction=0:1"), "for all bodies already"),
        (("toss.py", "--law", "stronge-coulomb"), "run of the program decides"),
        (("scene_only.py", "--duration", "1"), "expected both"),
        (("numbers.py", "--perturb", "position=1"), "expected a program with scene()"),
        (("numbers.py", "--resume"), "together with store"),
        (("numbers.py", "--scheduler", "tcp://x", "--workers", "2"), "not allowed with"),
        (("toss.py", "--rerun", "100"), "expected a member from 0 to 99"),
        (("numbers.py", "--rerun", "1"), "no trajectory to record"),
    ],
)
def test_what_is_refused(words, sentence, capsys):
    assert main(["sweep", *words]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert sentence in error


def test_a_program_that_cannot_be_loaded(folder, capsys):
    (folder / "bad.py").write_text("import nothing_of_this_name\n")
    assert main(["sweep", "bad.py"]) == 2
    assert "bad.py: cannot be loaded (ModuleNotFoundError" in capsys.readouterr().err
    (folder / "empty.py").write_text("")
    assert main(["sweep", "empty.py"]) == 2
    assert "expected a function run(member, rng), or scene()" in capsys.readouterr().err
