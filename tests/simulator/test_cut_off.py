"""Files of runs that are interrupted or killed at any moment: readable to the last flush."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from shutil import which

import pytest

import carom

HERE = Path(__file__).parent
LINKS = HERE.parents[1] / ".links"
WRITERS = (
    *("run", "run_law_in_python", "run_with_callback", "step_events", "run_again_and_again"),
    *(
        "save",
        "save_tree",
        "save_scene",
        "save_steps",
        "ensemble",
        "write_page",
        "write_glb",
        "write_picture",
    ),
)
DRAWERS = (
    *("draw_picture", "draw_frames", "draw_video", "draw_gif"),
    *("draw_video_by_package", "draw_gif_by_package"),
)


def cut_off(how, writer, rounds, seed, folder):
    """What `cut_off.py` says."""
    done = subprocess.run(
        [sys.executable, str(HERE / "cut_off.py"), how, writer, str(rounds), str(seed), str(folder)],
        env=os.environ | {"PYTHONPATH": str(LINKS)},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert "Exception ignored" not in done.stderr
    return json.loads(done.stdout)


def judge(how, writer, rounds, seed, folder):
    found = cut_off(how, writer, rounds, seed, folder)
    assert found["ends"] == [{"interrupt": "KeyboardInterrupt", "kill": "SIGKILL"}[how]] * rounds
    assert any(events for events in found["events"])


@pytest.mark.parametrize(("how", "writer"), [("interrupt", "run_again_and_again"), ("kill", "step_events")])
def test_files_of_runs_that_are_cut_off_load(how, writer, tmp_path):
    judge(how, writer, 8, 1, tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("how", ["interrupt", "kill"])
@pytest.mark.parametrize("writer", WRITERS)
def test_files_of_fifty_runs_that_are_cut_off_load(how, writer, tmp_path):
    judge(how, writer, 50, 2, tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("how", ["interrupt", "kill"])
@pytest.mark.parametrize("writer", DRAWERS)
def test_pictures_and_videos_that_are_cut_off_fifty_times_are_whole(how, writer, needs_gl, tmp_path):
    if writer in ("draw_video", "draw_gif") and which("ffmpeg") is None:
        pytest.skip("no ffmpeg")
    judge(how, writer, 50, 2, tmp_path)


AT_ONCE = """
import sys
from cut_off import simulator
for _ in range(60):
    simulator(sys.argv[1])
"""


def test_a_recording_can_be_read_from_its_first_moment(tmp_path):
    """Found by a kill: HDF5 had marked it as open, but not yet as one that can be read meanwhile."""
    path = tmp_path / "run.h5"
    environment = os.environ | {"PYTHONPATH": f"{LINKS}{os.pathsep}{HERE}"}
    writer = subprocess.Popen([sys.executable, "-c", AT_ONCE, str(path)], env=environment)
    seen = set()
    while writer.poll() is None:
        if path.exists():
            with path.open("rb", buffering=0) as stream:
                seen.add(stream.read(12)[11])  # of the superblock: 1 open for writing, 4 by one writer
    assert writer.returncode == 0
    assert 5 in seen
    assert seen <= {0, 5}


@pytest.mark.parametrize("delay", [0.0, 0.7])
def test_a_command_that_is_interrupted_says_one_sentence(delay, tmp_path):
    path = tmp_path / "run.h5"
    program = (
        "import signal, sys\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # which shells take from background jobs
        "from carom.command_line import main\n"
        "from carom.demos.bouncing_ball import BouncingBall\n"
        "from cut_off import bouncing\n"
        "BouncingBall.scene = lambda self: bouncing()\n"  # which never ends
        f"sys.exit(main(['demo', 'bouncing-ball', '--duration', '1e9', '--no-view', '--out', {str(path)!r}]))"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program],
        env=os.environ | {"PYTHONPATH": f"{LINKS}{os.pathsep}{HERE}"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    while not path.exists():
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)
    time.sleep(delay)
    process.send_signal(signal.SIGINT)
    said, error = process.communicate(timeout=120)
    assert process.returncode == 130, error
    assert error.count("\n") == 1
    assert error.startswith("carom: interrupted")
    assert carom.Trajectory.load(path).status.value == "unfinished"
    assert "Traceback" not in said + error
