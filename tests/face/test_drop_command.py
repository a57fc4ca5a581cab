"""``carom drop`` from start to end: the table, the ways a run ends, and the progress bar."""

import io
import itertools
import re

import h5py
import numpy as np
import pytest
from rich.console import Console

from carom import AnitescuPotra, RunStatus, Trajectory, progress
from carom.command_line import main
from carom.viewer import DisplayError


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """An empty current folder, no display, and no pictures, which have tests of their own."""

    def no_picture(*_, **__):
        raise DisplayError("OpenGL is not there.")

    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    monkeypatch.setattr("carom.viewer.render_strip", no_picture)
    return tmp_path


def table(text):
    """Rows of the printed table: name -> value."""
    cells = [[c.strip() for c in line.split("│")[1:-1]] for line in text.splitlines() if "│" in line]
    return {row[0]: row[1] for row in cells if row[0]}


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
    assert main(["drop", "--seed", "3", "--no-view"]) == 1
    said = capsys.readouterr().err
    assert said.startswith("carom: cut off at t = ")
    assert said.endswith("\ncarom: interrupted\n")
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
    monkeypatch.setattr(progress, "clock", Clock(tick))
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
