"""``carom drop`` from start to end: the table, the ways a run ends, and the progress bar."""

import io
import itertools
import re
from pathlib import Path

import h5py
import numpy as np
import pytest
from rich.console import Console

from carom import AnitescuPotra, Box, ConvexMesh, Mesh, RunStatus, Trajectory, command_line, progress
from carom.command_line import main
from carom.demos import drop_scene, load_dropped_mesh


@pytest.fixture(autouse=True)
def folder(empty_folder):
    """All here are commands."""
    return empty_folder


def table(text):
    """Rows of the printed table: name -> value."""
    cells = [[c.strip() for c in line.split("│")[1:-1]] for line in text.splitlines() if "│" in line]
    return {row[0]: row[1] for row in cells if row[0]}


def write_box(name, faces=slice(None), dent=False):
    """A box 1 by 2 by 3 as an OBJ file; a dented one has the middle of its first face pushed in by 0.3."""
    vertices, triangles = Box((1.0, 2.0, 3.0)).surface()
    if dent:
        (a, b), (c, d) = triangles[0, :2], triangles[1, 1:]
        vertices = np.concatenate([vertices, [vertices[[a, b, c, d]].mean(axis=0) * 0.4]])
        ring = [(a, b), (b, c), (c, d), (d, a)]
        triangles = np.concatenate([triangles[2:], [(*edge, 8) for edge in ring]])
    lines = ["v {} {} {}".format(*vertex) for vertex in vertices.tolist()]
    lines += ["f {} {} {}".format(*face) for face in (triangles[faces] + 1).tolist()]
    Path(name).write_text("\n".join(lines) + "\n")


def said_by_drop(capsys, monkeypatch, *arguments):
    """What ``carom drop`` prints before it simulates."""

    def stop(*_):
        raise command_line.BadInput("stopped")

    monkeypatch.setattr(command_line, "_simulate", stop)
    assert main(["drop", *arguments, "--no-view"]) == 2
    captured = capsys.readouterr()
    assert captured.err == "carom: stopped\n"
    return captured.out


def data_sets(path):
    found = {}
    with h5py.File(path, "r") as file:
        file.visititems(
            lambda name, item: found.update({name: item[()]}) if isinstance(item, h5py.Dataset) else None
        )
    return found


def test_drop_to_rest_prints_what_happened(capsys):
    assert main(["drop", "--seed", "3", "--no-view"]) == 0
    text = capsys.readouterr().out
    assert "Shape and mass are those of the convex hull." in text
    rows = table(text)
    trajectory = Trajectory.load("drop.h5")
    assert trajectory.status is RunStatus.AT_REST
    assert int(rows["impacts"]) == sum(event.kind == "impact" for event in trajectory.events) > 0
    before, after = (float(part.removesuffix(" J")) for part in rows["energy before, after"].split(", "))
    assert before == pytest.approx(trajectory.energy(0.0), rel=1e-5)  # six digits are printed
    assert after == pytest.approx(trajectory.energy(trajectory.end_time), rel=1e-5)
    assert 0.0 < after < before
    assert float(rows["largest penetration"].removesuffix(" m")) < 1e-9
    assert float(rows["time to rest"].removesuffix(" s")) == pytest.approx(trajectory.rest_time, abs=1e-6)
    assert float(rows["wall time"].removesuffix(" s")) > 0.0
    assert rows["ended"].startswith("at_rest")


def test_drop_cut_short_reaches_its_end(capsys):
    assert main(["drop", "--duration", "0.05", "--no-view"]) == 0
    rows = table(capsys.readouterr().out)
    assert rows["ended"].startswith("reached_end")
    assert rows["time to rest"] == "still moving"
    trajectory = Trajectory.load("drop.h5")
    assert (trajectory.status, trajectory.end_time) == (RunStatus.REACHED_END, 0.05)


def test_drops_to_rest_with_one_seed_have_equal_data_sets():
    for out in ("a.h5", "b.h5"):
        assert main(["drop", "--seed", "4", "--no-view", "--out", out]) == 0
    first, second = data_sets("a.h5"), data_sets("b.h5")
    assert first.keys() == second.keys()
    for name, values in first.items():
        np.testing.assert_array_equal(values, second[name], err_msg=name)


def raise_at_second_impact(monkeypatch, error):
    resolve = AnitescuPotra.resolve
    calls = itertools.count(1)

    def raising(self, problem, rng=None):
        if next(calls) > 1:
            raise error
        return resolve(self, problem, rng)

    monkeypatch.setattr(AnitescuPotra, "resolve", raising)


def check_recording_up_to_the_second_impact():
    """The recording holds the first impact, and the motion from it to where the run stopped."""
    trajectory = Trajectory.load("drop.h5")
    impacts = [event.time for event in trajectory.events if event.kind == "impact"]
    assert len(impacts) == 1
    assert 0.0 < impacts[0] < trajectory.end_time < 1.0  # s, of ten asked for
    heights = trajectory.sample(np.linspace(0.0, trajectory.end_time, 50)).position[:, 1, 2]
    assert np.isfinite(heights).all()
    assert main(["info", "drop.h5"]) == 0


def test_interrupted_drop_says_so_and_keeps_its_recording(capsys, monkeypatch):
    raise_at_second_impact(monkeypatch, KeyboardInterrupt())
    assert main(["drop", "--seed", "3", "--no-view"]) == 130
    said = capsys.readouterr().err
    assert re.fullmatch(
        r"carom: interrupted, cut off at t = 0\.\d+ s; drop\.h5 holds the run up to there\n", said
    )
    check_recording_up_to_the_second_impact()


def test_error_inside_the_engine_keeps_the_recording(monkeypatch):
    raise_at_second_impact(monkeypatch, RuntimeError("broken law"))
    with pytest.raises(RuntimeError, match="broken law"):
        main(["drop", "--seed", "3", "--no-view"])
    check_recording_up_to_the_second_impact()


class Clock:
    """Every look at it takes `tick` seconds."""

    def __init__(self, tick):
        self.looks = itertools.count()
        self.tick = tick

    def monotonic(self):
        return next(self.looks) * self.tick


def bar_of_a_drop(monkeypatch, tick, terminal):
    """What a progress bar writes during a drop whose every turn takes `tick` seconds."""
    written = io.StringIO()
    console = Console(file=written, force_terminal=terminal, width=80)
    monkeypatch.setattr("rich.progress.get_console", lambda: console)
    monkeypatch.setattr(progress, "running_time", Clock(tick).monotonic)
    assert main(["drop", "--seed", "3", "--duration", "0.5", "--no-view"]) == 0
    return written.getvalue()


def test_progress_appears_on_a_terminal_when_a_run_takes_long(monkeypatch):
    text = bar_of_a_drop(monkeypatch, 1.0, terminal=True)
    assert "simulating" in text
    assert "events" in text
    assert re.search(r"[1-9]\d*%", text)  # and it moves


def test_no_progress_in_a_run_of_under_two_seconds(monkeypatch):
    assert bar_of_a_drop(monkeypatch, 1e-4, terminal=True) == ""


def test_no_progress_without_a_terminal(monkeypatch):
    assert bar_of_a_drop(monkeypatch, 1.0, terminal=False) == ""


OF_HULL = "Shape and mass are those of the convex hull."


def test_convex_mesh_falls_as_its_hull_in_any_case(capsys, monkeypatch):
    write_box("box.obj")
    for source in ("surface", "hull"):
        text = said_by_drop(capsys, monkeypatch, "box.obj", "--mass-from", source)
        assert text == f"box.obj: 12 triangles; closed and convex. Rescaled to 0.2 m across. {OF_HULL}\n"
        mesh = load_dropped_mesh("box.obj", mass_from=source)
        assert isinstance(mesh.shape, ConvexMesh)
        assert len(mesh.shape.polygons) == 6


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        ("surface", "Shape is the true triangles, mass that of the solid they enclose."),
        ("hull", "Shape is the true triangles, mass that of the convex hull."),
    ],
)
def test_dented_mesh_keeps_its_triangles(capsys, monkeypatch, source, sentence):
    write_box("dented.obj", dent=True)
    text = said_by_drop(capsys, monkeypatch, "dented.obj", "--mass-from", source, "--scale", "1")
    assert text.startswith("dented.obj: 14 triangles; closed, not convex: it fills 90 % of its hull. ")
    assert text.endswith(f" m across. {sentence}\n")
    mesh = load_dropped_mesh("dented.obj", 2.0, source)
    body = drop_scene([mesh], height=0.5).bodies[1]
    assert isinstance(mesh.shape, Mesh)
    assert len(mesh.shape.triangles) == 14
    assert body.mass == pytest.approx(1000.0 * 48.0 * (0.9 if source == "surface" else 1.0), rel=1e-12)


def test_open_mesh_has_the_mass_of_its_hull(capsys, monkeypatch):
    write_box("open.obj", slice(2, None))
    remark = "10 triangles; is open: 4 of its edges border one face only"
    assert main(["drop", "open.obj", "--no-view", "--mass-from", "surface"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == (
        "carom: open.obj: is open: 4 of its edges border one face only, so it encloses no solid to take mass "
        "from: take it from its hull, --mass-from hull\n"
    )
    for options in ([], ["--mass-from", "hull"]):
        text = said_by_drop(capsys, monkeypatch, "open.obj", *options)
        sentence = "Shape is the true triangles, mass that of the convex hull."
        assert text == f"open.obj: {remark}. Rescaled to 0.2 m across. {sentence}\n"
    for source in (None, "hull"):
        mesh = load_dropped_mesh("open.obj", mass_from=source)
        assert mesh.diameter == pytest.approx(0.2)
        assert mesh.shape.mass_from == "hull"


def test_nearly_convex_meshes_are_not_called_convex():
    write_box("box.obj")
    text = Path("box.obj").read_text()
    slit = "v 0.5 0 0\nv 0.5 0 1e-9\nv -0.4 0 0\nf 9 10 11\nf 9 11 10\n"  # no volume, but deep
    Path("slit.obj").write_text(text + slit)
    notched = np.array([[0, 0, 0], [2, 0, 0], [2, 2, 0], [0, 2, 0], [1, 1, 2], [1, 1, 0.5]])
    faces = [(0, 1, 4), (1, 2, 4), (2, 3, 4), (3, 0, 4), (1, 0, 5), (2, 1, 5), (3, 2, 5), (0, 3, 5)]
    lines = ["v {} {} {}".format(*v) for v in notched] + ["f {} {} {}".format(*np.add(f, 1)) for f in faces]
    Path("hollow.obj").write_text("\n".join(lines))
    assert load_dropped_mesh("slit.obj").remark.endswith(
        "; closed, not quite convex: it fills nearly all of its hull"
    )
    assert (
        load_dropped_mesh("hollow.obj").remark == "8 triangles; closed, not convex: it fills 75 % of its hull"
    )


@pytest.mark.parametrize(
    ("arguments", "part"), [(["--mass-from", "guess"], "'guess'"), (["--mass-from"], "expected one")]
)
def test_bad_sources_of_mass_are_refused(capsys, arguments, part):
    assert main(["drop", *arguments]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "--mass-from" in error
    assert part in error
    with pytest.raises(ValueError, match="mass_from: expected 'surface' or 'hull', got 'guess'"):
        load_dropped_mesh("any.stl", mass_from="guess")


def test_help_says_what_is_used(capsys):
    assert main(["drop", "--help"]) == 0
    text = capsys.readouterr().out
    assert "--mass-from {surface,hull}" in text
    assert "true triangles" in text
