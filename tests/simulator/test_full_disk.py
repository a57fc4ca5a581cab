"""A disk that is full: one sentence, a file that is readable to the last flush, and nothing partial."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import carom
from carom.command_line import main

from .cut_off import InPython, bouncing, simulator

LINKS = Path(__file__).parents[2] / ".links"
ROOM = 400  # KiB


@pytest.fixture
def small(tmp_path):
    """A folder on a file system of its own, with little room."""
    place = tmp_path / "small"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={ROOM}k", "tmpfs", str(place)]
    try:
        done = subprocess.run(mount, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        pytest.skip("there is no command mount")
    if done.returncode:
        pytest.skip(f"no small file system can be mounted ({done.stderr.strip()})")
    yield place
    subprocess.run(["umount", "--lazy", str(place)], check=True)


def filled(place, left):
    """Take all room but so many KiB."""
    (place / "others").write_bytes(bytes(1024 * (ROOM - left - 8)))


def test_a_recording_holds_the_run_up_to_the_last_flush_and_goes_on_when_there_is_room(small):
    path = small / "run.h5"
    filled(small, 260)
    found = simulator(path)
    found.on_event(lambda event, _: None)  # it flushes the more often
    with pytest.raises(OSError) as caught:
        found.run(1e9)
    said = str(caught.value)
    assert re.fullmatch(
        rf"recording {path}: cannot be written \(No space left on device\); "
        r"it holds the run up to t = [0-9.]+ s",
        said,
    )
    loaded = carom.Trajectory.load(path)
    assert loaded.status.value == "unfinished"
    assert f"t = {loaded.end_time:g} s" in said
    known = len(loaded.events)
    assert 0 < known < len(found.trajectory.events)
    assert loaded.event_times.tolist() == found.trajectory.event_times[:known].tolist()
    (small / "others").unlink()
    until = found.time + 1.0
    found.run(until)
    again = carom.Trajectory.load(path)
    assert again.end_time == until
    assert again.event_hash == found.trajectory.event_hash
    assert loaded.events[-1].time == found.trajectory.events[known - 1].time


def test_a_recording_that_finds_no_room_at_all_leaves_nothing(small):
    filled(small, 4)
    before = sorted(small.iterdir())
    with pytest.raises(OSError, match=r"run\.h5: cannot be written \(No space left on device\)$"):
        simulator(small / "run.h5")
    assert sorted(small.iterdir()) == before


@pytest.mark.parametrize("kind", ["trajectory", "tree"])
def test_a_save_that_finds_no_room_leaves_the_old_file(small, kind):
    short = carom.Simulator(bouncing(), InPython())
    what = short.branches(2, seed=0, until=40.0) if kind == "tree" else short.run(200.0)
    (small / "run.h5").write_bytes(b"what was there")
    filled(small, 20)
    before = sorted(small.iterdir())
    with pytest.raises(OSError, match=r"run\.h5: cannot be written \(No space left on device\)$"):
        what.save(small / "run.h5")
    assert sorted(small.iterdir()) == before
    assert (small / "run.h5").read_bytes() == b"what was there"


def test_a_command_says_one_sentence(small, capsys, monkeypatch):
    monkeypatch.chdir(small)
    filled(small, 100)
    assert main(["demo", "newtons-cradle", "--no-view"]) == 1
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "cannot be written (No space left on device); it holds the run up to t = " in error
    assert main(["info", "newtons-cradle.h5"]) == 0


LIMITED = """
import resource, signal, sys
import carom
from cut_off import simulator

resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, resource.RLIM_INFINITY))
found = simulator(sys.argv[1])
found.on_event(lambda event, _: None)  # it flushes the more often
try:
    found.run(1e9)
except OSError as error:
    print(error)
print(carom.Trajectory.load(sys.argv[1]).status.value)
"""


def test_a_limit_of_file_sizes_is_a_full_disk(tmp_path):
    pytest.importorskip("resource")
    path = tmp_path / "run.h5"
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(path)],
        env=os.environ | {"PYTHONPATH": f"{LINKS}{os.pathsep}{Path(__file__).parent}"},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
    said, status = done.stdout.splitlines()
    assert said.startswith(
        f"recording {path}: cannot be written (File too large); it holds the run up to t = "
    )
    assert status == "unfinished"
    assert len(carom.Trajectory.load(path).events) > 0
