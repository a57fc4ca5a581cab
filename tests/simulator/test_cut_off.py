"""Files of runs that are interrupted or killed at any moment: readable to the last flush."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
LINKS = HERE.parents[1] / ".links"
WRITERS = (
    *("run", "run_law_in_python", "run_with_callback", "step_events", "run_again_and_again"),
    *("save", "save_tree"),
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
