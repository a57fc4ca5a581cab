"""The command line, as a user meets it: statuses, sentences, and what is left on the disk."""

import platform
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import h5py
import numpy as np
import pytest

import carom
from carom import command_line, demos
from carom.command_line import main
from carom.demos import THEMES, ComputedDemo, demo_by_name, demo_names, demo_summary, shipped_mesh
from carom.viewer import DisplayError

COMPUTED = [name for name in demo_names() if isinstance(demo_by_name(name), ComputedDemo)]
QUICK = [
    name
    for name in COMPUTED
    if not name.endswith("-outcomes") and name not in ("pile", "break-odds", "rockfall", "landing", "channel")
]  # they have tests of their own


@pytest.fixture(autouse=True)
def folder(empty_folder):
    """All here are commands."""
    return empty_folder


def refused(capsys, *arguments: str) -> str:
    """Run what must be refused with status 2, and return the one sentence on standard error."""
    before = sorted(Path().rglob("*"))
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "Traceback" not in error
    assert sorted(Path().rglob("*")) == before
    return error


def content(path: str) -> dict:
    found = {}

    def visit(name, item):
        values = np.asarray(item[()]).tobytes() if isinstance(item, h5py.Dataset) else None
        found[name] = (values, sorted((key, repr(value)) for key, value in item.attrs.items()))

    with h5py.File(path, "r") as file:
        file.visititems(visit)
        found["/"] = sorted((key, repr(value)) for key, value in file.attrs.items())
    return found


@pytest.mark.parametrize("command", ["", "drop", "demo", "view", "render", "info"])
def test_help_shows_an_example(capsys, command):
    assert main([*command.split(), "--help"]) == 0
    text = capsys.readouterr().out
    assert "example" in text
    assert "carom" in text


def test_version(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == (
        f"carom {carom.__version__} (Python {platform.python_version()}, numba {version('numba')}, "
        f"numpy {version('numpy')})\n"
    )
    assert version("carom") == carom.__version__


def test_demo_alone_lists_every_demo_on_one_line_under_its_theme(capsys):
    assert main(["demo"]) == 0
    *lines, last = capsys.readouterr().out.splitlines()
    assert last == "Run one with `carom demo NAME`."
    listed = [line.split()[0] for line in lines if line.startswith(" ")]
    assert sorted(listed) == list(demo_names())
    assert [line.removesuffix(":") for line in lines if not line.startswith(" ")] == list(THEMES)
    assert all(len(line) <= 80 for line in lines)
    assert all(demo_summary(name) for name in demo_names())


def test_a_list_of_demos_imports_nothing_that_takes_long():
    script = (
        "import sys; from carom.command_line import main; main(['demo']); "
        "assert not {'numpy', 'scipy', 'numba', 'trimesh', 'h5py', 'rich'} & set(sys.modules), sys.modules.keys()"
    )
    subprocess.run([sys.executable, "-c", script], check=True, stdout=subprocess.DEVNULL)


def test_a_slip_in_the_name_of_a_demo(capsys):
    assert main(["demo", "bounsing-ball"]) == 2
    assert capsys.readouterr().err.endswith("got 'bounsing-ball': did you mean 'bouncing-ball'?\n")


@pytest.mark.parametrize("name", [name for name in demo_names() if name not in COMPUTED])
def test_demo_runs_checks_itself_and_records(capsys, name):
    assert main(["demo", name, "--no-view"]) == 0
    text = capsys.readouterr().out
    assert "NO" not in text.replace("No picture", "")
    assert "No picture: OpenGL is not there." in text
    assert main(["info", f"{name}.h5"]) == 0
    assert "impact" in capsys.readouterr().out


@pytest.mark.parametrize("name", QUICK)
def test_computed_demo_checks_itself_and_writes_its_file(capsys, name):
    assert main(["demo", name]) == 0
    text = capsys.readouterr().out
    assert "holds" in text
    assert "NO" not in text
    starts = {".png": b"\x89PNG", ".md": b"# Jia & Wang"}
    assert [path.name for path in Path().iterdir()] == [
        f"{name}{ending}" for ending in starts if f"Written: {name}{ending}\n" in text
    ]
    for path in Path().iterdir():
        assert path.read_bytes().startswith(starts[path.suffix])


def test_figures_without_matplotlib_end_badly_in_one_sentence(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert main(["demo", "hodograph"]) == 1
    assert capsys.readouterr().err == 'carom: Figures need matplotlib: pip install "carom[figures]".\n'
    assert list(Path().iterdir()) == []


def test_demo_that_misses_its_check_ends_badly(capsys, monkeypatch):
    from carom.demos.bouncing_ball import BouncingBall

    monkeypatch.setattr(BouncingBall, "check", lambda *_: [demos.Check("never", 1.0, 0.0)])
    assert main(["demo", "bouncing-ball", "--no-view"]) == 1


def test_same_seed_same_recording(capsys):
    for out in ("a.h5", "b.h5"):
        main(["drop", "--duration", "0.3", "--seed", "5", "--no-view", "--out", out])
    main(["drop", "--duration", "0.3", "--seed", "6", "--no-view", "--out", "c.h5"])
    assert content("a.h5") == content("b.h5")
    assert content("a.h5") != content("c.h5")


def test_drop_says_what_it_simulates(capsys):
    assert main(["drop", "--duration", "0.1"]) == 0
    text = capsys.readouterr().out
    assert "convex hull" in text
    assert "closed and convex" in text
    assert "still moving" in text
    assert Path("drop.h5").exists()


def test_bad_meshes_are_refused(capsys, folder):
    (folder / "words.stl").write_text("this is no mesh\n")
    (folder / "empty.stl").write_text("solid nothing\nendsolid nothing\n")
    (folder / "flat.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 1 1 0\nf 1 2 3\nf 2 4 3\n")
    for file in ("missing.stl", ".", "words.stl", "empty.stl", "flat.obj"):
        assert file in refused(capsys, "drop", file, "--no-view")


def test_bad_out_is_refused_before_anything_runs(capsys, folder, monkeypatch):
    monkeypatch.setattr(command_line, "_simulate", lambda *_: pytest.fail("simulated"))
    (folder / "file").write_text("")
    (folder / "dir.h5").mkdir()
    for out in ("dir.h5", ".", "file/run.h5", "nowhere/run.h5"):
        for command in (["drop"], ["demo", "bouncing-ball"]):
            assert "--out" in refused(capsys, *command, "--out", out)


@pytest.mark.parametrize(
    "arguments",
    [
        ["juggle"],
        ["demo", "perpetuum-mobile"],
        ["demo", "bouncing-ball", "--law", "wishful"],
        ["demo", "icosahedron", "--law", "stronge-coulomb"],
        ["demo", "icosahedron", "--out", "icosahedron.h5"],
        ["demo", "hodograph", "--duration", "1"],
        ["demo", "hodograph", "--out", "picture.jpg"],
        ["drop", "--law", "wishful"],
        ["drop", "--duration", "-1"],
        ["drop", "--duration", "nan"],
        ["drop", "--height", "0"],
        ["drop", "--scale", "x"],
        ["drop", "--seed", "-3"],
        ["drop", "--scale", "1e-200"],
        ["info", "missing.h5"],
        ["view", "missing.h5"],
        ["render", "missing.h5", "--out", "a.png"],
        ["render", "missing.h5", "--out", "a.mp4"],
        ["render", "missing.h5", "--out", "a.txt"],
        ["render", "missing.h5"],
        ["render", "missing.h5", "--out", "a.gif", "--size", "big"],
        ["render", "missing.h5", "--out", "a.gif", "--fps", "0"],
        ["render", "missing.h5", "--out", "a.gif", "--speed", "-1"],
        ["render", "missing.h5", "--out", "a.gif", "--from", "nan"],
        ["info", str(shipped_mesh())],
    ],
)
def test_bad_input_is_one_sentence(capsys, arguments):
    refused(capsys, *arguments)


@pytest.fixture
def recording(folder):
    """A short recording."""
    scene = carom.Scene(gravity=(0, 0, -9.81))
    scene.add(carom.Body(carom.HalfSpace(normal=(0, 0, 1)), fixed=True, name="floor"))
    scene.add(carom.Body(carom.Sphere(0.1), density=1000.0, position=(0, 0, 0.5), name="ball"))
    carom.Simulator(scene, carom.SequentialReflection()).run(0.4).save("ball.h5")
    return folder / "ball.h5"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ["--out", "a.txt"],
            "--out a.txt: expected an ending .png, .mp4, .gif, .glb, .html, or a folder, got .txt",
        ),
        (["--out", "a"], "got no ending"),
        (["--out", "a.mp4", "--from", "0.3", "--to", "0.2"], "expected a span within 0 to"),
        (["--out", "a.html", "--to", "9"], "expected a span within 0 to"),
        (["--out", "a.png", "--time", "9"], "time must lie between"),
        (["--out", "a.png", "--fps", "9"], "fps: one picture does not take it"),
        (["--out", "a.gif", "--fps", "30"], "hundredths of a second"),
        (["--out", "a.png", "--strip", "--fps", "9"], "--strip draws six moments"),
        (["--out", "a.html", "--view-from", "0", "0", "0"], "view_from: expected three numbers"),
        (["--out", "a.html", "--view-from", "0", "up", "0"], "expected a finite number, got 'up'"),
        (["--out", "a.glb", "--view-from", "0", "0", "1"], "view_from: a .glb file does not take it"),
        (["--out", "nowhere/a.html"], "the folder of 'nowhere/a.html' does not exist"),
        (["ball.h5", "--out", "a.glb"], "a glTF scene shows one run, got 2"),
    ],
)
def test_what_cannot_be_rendered_is_one_sentence(capsys, recording, arguments, words):
    before = recording.read_bytes()
    assert words in refused(capsys, "render", "ball.h5", *arguments)
    assert recording.read_bytes() == before


def test_render_without_opengl_or_ffmpeg_is_bad_input(capsys, recording, monkeypatch):
    monkeypatch.setattr("carom.viewer.video.shutil.which", lambda _: None)
    monkeypatch.setitem(sys.modules, "av", None)
    assert "an MP4 needs the program ffmpeg" in refused(capsys, "render", "ball.h5", "--out", "a.mp4")

    def no_opengl(*_, **__):
        raise DisplayError("OpenGL is not there.")

    monkeypatch.setattr("carom.viewer.video.stream_runs", no_opengl)
    assert "OpenGL is not there." in refused(capsys, "render", "ball.h5", "--out", "a_%d.png")


def test_damaged_recording_is_one_sentence_and_stays_as_it_is(capsys, recording):
    content = recording.read_bytes()
    damaged = content[: len(content) // 2]
    recording.write_bytes(damaged)
    for out in ("a.html", "a.glb", "a.mp4"):
        assert "ball.h5" in refused(capsys, "render", "ball.h5", "--out", out)
    assert recording.read_bytes() == damaged


def test_files_that_need_no_opengl_are_written_from_a_recording(capsys, recording):
    assert main(["render", "ball.h5", "--out", "ball.glb", "--speed", "0.1"]) == 0
    assert main(["render", "ball.h5", "ball.h5", "--out", "both.html", "--view-from", "-1", "0", "0.3"]) == 0
    assert capsys.readouterr().out == "Written: ball.glb\nWritten: both.html\n"
    assert Path("ball.glb").read_bytes().startswith(b"glTF")
    assert Path("both.html").read_text().startswith("<!doctype html>")


def test_a_notebook_shows_a_trajectory_as_the_player(recording):
    shown = carom.Trajectory.load(recording)._repr_html_()
    assert shown.startswith("<iframe srcdoc=")
    assert "&lt;canvas id=&quot;scene&quot;" in shown


def test_a_command_that_is_another(capsys):
    assert "no command 'viewer': did you mean 'view'?" in refused(capsys, "viewer")
    assert "no command 'qq', expected one of 'drop', " in refused(capsys, "qq")


def test_no_command_prints_help(capsys):
    assert main(()) == 0
    said = capsys.readouterr()
    assert "usage: carom" in said.out
    assert not said.err
