"""Other processes compile what a start is going to need, and only where that is worth it."""

import importlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from carom import compile_ahead
from carom.compile_ahead import MOST, SETTING, Ahead, processes_allowed
from carom.compile_notice import CompileTimes, CompileWatch
from carom.compiled import Kernel, Part, argument_kinds, kinds_in_words

LINKS = Path(__file__).parents[2] / ".links"
SMALL = "simulator.kernels.rotation_matrix"
OTHER = "simulator.engine.kinds_kernels.slow_speed"
FIND = """
import sys, time
from carom.compile_notice import WATCH, CompileTimes
from carom.compile_ahead import AHEAD
from carom.simulator.kernels import rotation_matrix
import numpy as np

SMALL = "simulator.kernels.rotation_matrix"
if __name__ == "__main__":
    WATCH.times = CompileTimes({SMALL: 100.0}, {"start": ["first", "second", SMALL]}, {SMALL: ["float64 1"]})
    WATCH.asked.add("first")
    AHEAD.call_for_help()
    begun = time.monotonic()
    while SMALL not in WATCH.ahead and AHEAD._running and time.monotonic() < begun + 100.0:
        time.sleep(0.01)
    print(sorted(WATCH.ahead))
    rotation_matrix(np.array([1.0, 0.0, 0.0, 0.0]))
    print([name for name, _ in WATCH.compiled])
    while AHEAD._running and time.monotonic() < begun + 100.0:  # nothing is left, so it ends
        time.sleep(0.01)
    print(len(AHEAD._running))
"""


def run_script(script, tmp_path, **settings):
    made = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=200, cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(LINKS), "NUMBA_CACHE_DIR": str(tmp_path)} | settings,
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    return made.stdout.splitlines()


def test_a_kernel_is_there_when_it_is_needed(tmp_path):
    assert run_script(FIND, tmp_path, **{SETTING: "2"}) == [str([SMALL]), "[]", "0"]


def test_nobody_helps_a_process_that_may_have_no_other(tmp_path):
    assert run_script(FIND, tmp_path, **{SETTING: "1"}) == ["[]", str([SMALL]), "0"]


def test_a_process_of_others_is_not_helped(tmp_path):
    script = (
        "import multiprocessing\n"
        + FIND.replace('if __name__ == "__main__":', "def work():")
        + """
if __name__ == "__main__":
    child = multiprocessing.get_context("fork").Process(target=work)
    child.start()
    child.join()
"""
    )
    assert run_script(script, tmp_path, **{SETTING: "4"}) == ["[]", str([SMALL]), "0"]


@pytest.fixture
def started(monkeypatch):
    """The helpers that would be started."""
    made = []
    monkeypatch.setattr(Ahead, "_start", lambda self: (made.append(self._left()), self._running.append(None)))
    return made


def watch_of(seconds, arguments=()):
    watch = CompileWatch()
    watch.times = CompileTimes(seconds, {"one": list(seconds)}, dict.fromkeys(arguments or seconds))
    watch.asked.add(next(iter(seconds)))
    return watch


def test_the_largest_come_first_and_small_ones_are_not_worth_a_process(started, monkeypatch):
    monkeypatch.setenv(SETTING, "8")
    Ahead(watch_of({"a": 3.0, "next": 50.0, "b": 0.5, "c": 20.0, "d": 5.0})).call_for_help()
    assert started == [["c", "d", "b"]] * 2  # the second begins with d; b alone is worth none; next is ours
    started.clear()
    Ahead(watch_of({"a": 30.0, "next": 50.0, "b": 1.0, "c": 2.0})).call_for_help()
    cannot = watch_of({"a": 30.0, "next": 50.0, "b": 50.0}, ["a", "next"])  # be compiled before it is called
    Ahead(cannot).call_for_help()
    assert started == []


def test_no_more_processes_than_are_allowed(started, monkeypatch):
    watch = watch_of(dict.fromkeys("abcdefgh", 10.0))
    monkeypatch.setenv(SETTING, "3")
    ahead = Ahead(watch)
    ahead.call_for_help()
    ahead.call_for_help()
    assert len(started) == 2
    monkeypatch.delenv(SETTING)
    monkeypatch.setattr(compile_ahead, "cores", lambda: 64)
    assert processes_allowed() == MOST
    monkeypatch.setattr(compile_ahead, "cores", lambda: 1)
    assert processes_allowed() == 1


@pytest.mark.parametrize("setting", ["", "0", "-1", "two", "1.5"])
def test_a_setting_that_is_no_number_is_said(setting, monkeypatch):
    monkeypatch.setenv(SETTING, setting)
    with pytest.raises(
        ValueError, match=f"{SETTING}: expected a whole number of at least 1, got '{setting}'"
    ):
        processes_allowed()


def test_where_no_process_can_be_started_all_goes_on(monkeypatch):
    def refused(*_, **__):
        raise OSError("no more processes")

    monkeypatch.setattr(compile_ahead.subprocess, "Popen", refused)
    monkeypatch.setenv(SETTING, "3")
    ahead = Ahead(watch_of({"a": 10.0, "b": 10.0, "c": 10.0}))
    ahead.call_for_help()
    monkeypatch.undo()
    ahead.call_for_help()  # and is not tried again
    assert ahead._running == []


def test_helpers_end_with_the_process_that_they_help(tmp_path):
    script = FIND.partition("    begun =")[0] + "    print(AHEAD._running[0].pid)\n"
    (pid,) = run_script(script, tmp_path, **{SETTING: "2"})
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid), 0)


def test_kinds_of_arguments_in_words():
    words = ["int64", "float64", "bool", "float64 1", "int64 2", "float64 3"]
    assert kinds_in_words(argument_kinds(words)) == words
    assert kinds_in_words(argument_kinds(["float64 2"])[0].copy(layout="F") for _ in range(1)) is None
    assert kinds_in_words([Kernel]) is None


def test_what_is_compiled_ahead_is_there():
    """Parts without arguments, others with those that the table has for them."""
    table = CompileTimes.shipped()
    assert {"simulator.movers.hold_kernels.hold", "simulator.engine.loop_kernels.advance"} <= set(
        table.arguments
    )
    for kernel, arguments in table.arguments.items():
        module, _, name = kernel.rpartition(".")
        found = getattr(importlib.import_module(f"carom.{module}"), name)
        assert isinstance(found, Part if arguments is None else Kernel), kernel
        if arguments is not None:
            argument_kinds(arguments)
    json.dumps(table.arguments)


def test_what_is_left_is_shared_with_those_that_help(tmp_path):
    watch = CompileWatch()
    watch.times = CompileTimes({"a": 10.0, "b": 4.0, "c": 4.0, "d": 30.0}, {"one": ["a", "b", "c", "d"]})
    watch.asked.add("a")
    assert watch.left("a", tmp_path, 0.0)[1] == 48.0
    with watch.elsewhere("d"):
        assert watch.is_elsewhere("d")
        assert watch.left("a", tmp_path, 0.0)[1] == pytest.approx(30.0, abs=0.1)  # d takes as long as that
        assert watch.left("d", tmp_path, 99.0)[1] == pytest.approx(
            38.0, abs=0.1
        )  # awaited, as long as it takes
    watch.ahead.add("d")
    assert watch.left("a", tmp_path, 0.0)[1] == 18.0
