"""Command lines of any words: an exit status of 0, 1 or 2, and one line on standard error where it is 2."""

import numpy as np
import pytest
from hypothesis import strategies as st

import carom
from carom.command_line import main

from .harness import HOSTILE_TEXTS, LONGEST, few, go_on, within
from .recordings import member

COMMANDS = ("drop", "demo", "run", "view", "render", "info", "verify", "sweep", "validate", "nothing", "")
OPTIONS = (
    *(
        "--law",
        "--duration",
        "--seed",
        "--out",
        "--no-view",
        "--height",
        "--scale",
        "--mass-from",
        "--size-limit",
    ),
    *("--members", "--vary", "--perturb", "--store", "--resume", "--rerun", "--laws", "--fitted-on"),
    *(
        "--time",
        "--strip",
        "--from",
        "--to",
        "--speed",
        "--fps",
        "--density",
        "--size",
        "--help",
        "--version",
        "--x",
    ),
)
WORDS = (
    *(text for text in HOSTILE_TEXTS if len(text) < 1000),
    *(
        "run.h5",
        "mesh.obj",
        "other.h5",
        "missing.h5",
        ".",
        "/",
        "/dev/null",
        "pipe.obj",
        "link.h5",
        "text.txt",
        "scene.json",
    ),
    *("1e309", "-5", "0.1", "1e-300", "3", "640x360", "0x0", "99999999x99999999", "9" * 5000, "٣", "１"),
    *(
        "anitescu-potra",
        "set-valued-routh",
        "hull",
        "newtons-cradle",
        "out.png",
        "out.glb",
        "out.html",
        "out.mp4",
    ),
    *("rows.h5", "data.npz", "position=1e-3", "friction=0.1:nan", "x=", "="),
    *("out.h5", "no/folder/out.h5", "out.", "%d", "%04d.png", "%s%n.png", "--", "-", "-h", "@x"),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Files that commands may find, in a folder of their own."""
    import os

    found = tmp_path_factory.mktemp("commands")
    scene = carom.Scene()
    scene.add(carom.Body(carom.HalfSpace((0, 0, 1)), fixed=True, name="\x1b[31mred\nfloor"))
    scene.add(carom.Body(carom.Sphere(0.1), density=1000.0, position=(0, 0, 0.3)))
    carom.Simulator(scene, carom.AnitescuPotra()).run(0.3).save(found / "run.h5")
    (found / "mesh.obj").write_text(
        "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 1 4 3\n"
    )
    (found / "text.txt").write_text("words")
    scene.save(found / "scene.json")
    carom.ensemble(member, {"x": [0.0, 1.0]}, workers=0).save(found / "rows.h5")
    np.savez(found / "data.npz", toss_1=np.zeros(3))
    (found / "other.h5").write_bytes((found / "run.h5").read_bytes()[:3000])
    os.mkfifo(found / "pipe.obj")
    (found / "link.h5").symlink_to("link.h5")
    return found


def command_lines():
    """Lists of words: a command, and options and words of all commands in any order."""
    word = st.sampled_from((*OPTIONS, *WORDS, *COMMANDS)) | st.text(max_size=8)
    return st.tuples(st.sampled_from(COMMANDS), st.lists(word, max_size=5)).map(
        lambda both: [both[0], *both[1]]
    )


def command(line, folder, monkeypatch, capsys):
    """One command line, in that folder, without a display; simulating and drawing are left out."""
    if line[0] == "view" or (line[0] in ("demo", "drop", "sweep") and not refused_at_once(line)):
        return
    monkeypatch.chdir(folder)
    with within(LONGEST):
        status = main(line)
    said = capsys.readouterr()
    assert status in (0, 1, 2)
    assert "Traceback" not in said.err
    assert "\x1b" not in said.out + said.err
    if status == 2:
        assert said.err.startswith("carom: ")
        assert said.err.count("\n") == 1


def refused_at_once(line):
    """Whether a command that simulates has a word that cannot be right, as most have."""
    if line[0] == "sweep":
        return "newtons-cradle" not in line and not {"--law", "--duration"} <= set(line)
    return line[0] == "drop" and any(
        word in ("pipe.obj", "text.txt", ".", "/", "missing.h5") for word in line[1:]
    )


@pytest.fixture
def surroundings(folder, monkeypatch, capsys):
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.setenv("COLUMNS", "200")
    return {"folder": folder, "monkeypatch": monkeypatch, "capsys": capsys}


def test_commands_end_with_a_status(surroundings):
    few(command, {"line": command_lines()}, 400, **surroundings)


@pytest.mark.long
def test_commands_end_with_a_status_for_long(surroundings):
    assert go_on(command, {"line": command_lines()}, **surroundings) > 0
