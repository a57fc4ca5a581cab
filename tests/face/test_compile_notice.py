"""What is seen while kernels are compiled, when, and what it says; and that times of runs leave it out."""

import importlib
import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from carom import compile_notice, progress
from carom.command_line import main
from carom.compile_notice import CompileTimes, CompileWatch, Moment, Stage

HERE = Path(__file__).parent
LINKS = HERE.parents[1] / ".links"
COMPILE = """
import importlib.util, multiprocessing, sys
import numpy as np
from carom import compile_notice

compile_notice._SHOWN_AFTER = float(sys.argv[2])

def compile_it():
    spec = importlib.util.spec_from_file_location("probe_kernels", sys.argv[1])
    module = importlib.util.module_from_spec(spec)
    sys.modules["probe_kernels"] = module
    spec.loader.exec_module(module)
    assert module.norm_by_way_of_the_stack(np.array([2.0, 3.0, 6.0])) == 7.0

if sys.argv[3] == "here":
    compile_it()
else:
    child = multiprocessing.get_context("fork").Process(target=compile_it)
    child.start()
    child.join()
    assert child.exitcode == 0
"""


@pytest.fixture
def clock(monkeypatch):
    """A clock that a test sets."""

    class Clock:
        now = 100.0

        def monotonic(self):
            return self.now

    made = Clock()
    monkeypatch.setattr(compile_notice, "clock", made)
    return made


def seen_on_a_terminal(tmp_path, where, after):
    """What a process writes where errors go, a terminal, and elsewhere."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", COMPILE, str(HERE / "probe_kernels.py"), str(after), where],
        stderr=theirs, stdout=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": str(LINKS), "NUMBA_CACHE_DIR": str(tmp_path), "TERM": "xterm"},
    )  # fmt: skip
    os.close(theirs)
    text = b""
    while True:
        try:
            more = os.read(ours, 65536)
        except OSError:  # the other end is closed
            break
        if not more:
            break
        text += more
    said = process.communicate(timeout=120)[0]
    assert process.returncode == 0, text
    return text.decode(), said


def test_what_is_compiled_is_said_on_a_terminal(tmp_path):
    text, said = seen_on_a_terminal(tmp_path, "here", 0.0)
    assert "compiling norm_by_way_of_the_stack, 1 of about" in text
    assert " s left" in text  # all of it, in 80 columns
    assert said == b""
    record = next(tmp_path.rglob("*.norm_by_way_of_the_stack.seconds"))
    assert 0.01 < float(record.read_text()) < 60.0
    again, _ = seen_on_a_terminal(tmp_path, "here", 0.0)  # it is on disk now
    assert again == ""


@pytest.mark.parametrize(("where", "after"), [("here", 600.0), ("elsewhere", 0.0)])
def test_nothing_is_said_of_short_times_nor_by_processes_of_others(tmp_path, where, after):
    assert seen_on_a_terminal(tmp_path, where, after) == ("", b"")


def test_nothing_is_said_into_pipes(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", COMPILE, str(HERE / "probe_kernels.py"), "0", "here"], capture_output=True,
        env=os.environ | {"PYTHONPATH": str(LINKS), "NUMBA_CACHE_DIR": str(tmp_path)}, check=True,
    )  # fmt: skip
    assert (done.stdout, done.stderr) == (b"", b"")


def test_time_is_counted_from_the_search_to_the_end(clock, tmp_path):
    watch = CompileWatch()

    def hear(*stages):
        for stage in stages:
            watch.hear(Moment(stage, "room.kernels.one", tmp_path))

    hear(Stage.LOOKED_FOR)
    clock.now += 1.0
    assert watch.spent == 1.0
    hear(Stage.AWAITED, Stage.COMPILED)
    clock.now += 4.0
    hear(Stage.KEPT, Stage.ENDED)
    clock.now += 100.0
    assert watch.spent == 5.0
    assert watch.compiled == [("room.kernels.one", 4.0)]
    hear(Stage.ENDED)  # of a failure that has been told before
    hear(Stage.LOOKED_FOR)
    clock.now += 0.5
    hear(Stage.ENDED)
    assert watch.spent == 5.5
    assert len(watch.compiled) == 1
    assert watch.left("room.kernels.one", tmp_path, 0.0) == ([], 4.0) or watch.times.starts


def test_a_compilation_that_fails_is_at_its_end(clock, tmp_path):
    watch = CompileWatch()
    for stage in (Stage.LOOKED_FOR, Stage.AWAITED, Stage.COMPILED, Stage.ENDED):
        clock.now += 1.0
        watch.hear(Moment(stage, "room.kernels.one", tmp_path))
    clock.now += 50.0
    assert watch.spent == 3.0
    assert watch.compiled == []
    assert not list(tmp_path.iterdir())


def test_the_clock_of_runs_stands_still_meanwhile(clock, tmp_path, monkeypatch):
    watch = CompileWatch()
    monkeypatch.setattr(compile_notice, "WATCH", watch)
    begun = compile_notice.running_time()
    clock.now += 2.0
    watch.hear(Moment(Stage.LOOKED_FOR, "k", tmp_path))
    clock.now += 70.0
    assert compile_notice.running_time() - begun == 2.0
    watch.hear(Moment(Stage.ENDED, "k", tmp_path))
    clock.now += 1.0
    assert compile_notice.running_time() - begun == 3.0


def test_a_bar_of_a_run_does_not_appear_for_compilation(clock, tmp_path, monkeypatch):
    watch = CompileWatch()
    monkeypatch.setattr(compile_notice, "WATCH", watch)
    with progress.ProgressBar(0.0, 1.0, "simulating") as bar:
        watch.hear(Moment(Stage.LOOKED_FOR, "k", tmp_path))
        clock.now += 70.0
        watch.hear(Moment(Stage.ENDED, "k", tmp_path))
        bar.show(0.1)
        assert bar._bar is None
        clock.now += 3.0
        bar.show(0.2)
        assert bar._bar is not None


def test_estimates_come_from_this_machine_first_then_from_its_pace(tmp_path):
    times = CompileTimes({"a": 1.0, "b": 4.0, "c": 7.0}, {})
    assert times.of("b") == 4.0
    times.learn("a", 3.0)
    assert times.of("b") == 12.0
    assert times.of("unheard of") == 12.0  # the usual one, at this pace
    (tmp_path / "b.seconds").write_text("5.5\n")
    assert times.of("b", tmp_path) == 5.5
    for nonsense in ("", "-3", "nan", "1e9", "soon"):
        (tmp_path / "b.seconds").write_text(nonsense)
        assert times.of("b", tmp_path) == 12.0
    assert CompileTimes({}, {}).of("anything") == 1.0


def test_what_is_to_come_is_that_of_the_start_most_like_this_one():
    times = CompileTimes({}, {"ball": ["a", "b", "c"], "joints": ["a", "d", "e", "f"]})
    assert times.expected({"a"}) == ["b", "c"]
    assert times.expected({"a"}, "joints") == ["d", "e", "f"]
    assert times.expected({"a", "e"}, "ball") == ["d", "f"]
    assert times.expected({"a", "b", "c"}) == []
    assert CompileTimes({}, {}).expected({"a"}) == []
    times = CompileTimes({}, {"ball": ["a", "b"], "warm": ["a", "b", "law", "joints"]})
    assert times.expected({"a", "law"}) == ["b"]  # and not everything, for one kernel that no start had
    assert times.expected({"a", "law"}, "warm") == ["b", "joints"]
    assert CompileTimes({}, {"warm": ["a", "b"]}).expected({"a"}) == []


def test_what_is_left_never_vanishes_while_it_lasts(tmp_path):
    watch = CompileWatch()
    watch.times = CompileTimes({"a": 2.0, "b": 3.0}, {"ball": ["a", "b"]})
    watch.asked = {"a"}
    assert watch.left("a", tmp_path, 0.5) == (["b"], 4.5)
    assert watch.left("a", tmp_path, 100.0)[1] > 3.0 + 5.0  # ten are likely still to come, and b


def test_the_table_knows_the_kernels_that_there_are():
    """A few may have been renamed since; where many have, run benchmarks/compile_times.py."""
    table = json.loads((HERE.parents[1] / "face" / "compile_times.json").read_text())
    there = []
    for kernel in table["seconds"]:
        module, _, name = kernel.rpartition(".")
        try:
            there.append(hasattr(importlib.import_module(f"carom.{module}"), name))
        except ModuleNotFoundError:
            there.append(False)
    assert sum(there) > 0.75 * len(there) > 30
    assert all(set(kernels) <= set(table["seconds"]) for kernels in table["starts"].values())
    assert {"drop", "warm"} <= set(table["starts"])


def test_the_table_reads_as_json_numbers():
    table = CompileTimes.shipped()
    assert all(0.0 < seconds < 600.0 for seconds in table.seconds.values())


def test_warm_says_what_there_was_to_do(monkeypatch, capsys):
    monkeypatch.setattr("carom.warm_up.warm_ups", lambda: iter([("nothing", lambda: None)]))
    monkeypatch.setattr("carom.warm_command.WATCH", CompileWatch())
    assert main(["warm"]) == 0
    assert capsys.readouterr().out == "Nothing to compile: 0 kernels were there already.\n"


def test_warm_counts_what_others_compiled_for_it(monkeypatch, capsys):
    watch = CompileWatch()
    watch.asked, watch.ahead, watch.compiled = {"a", "b", "c"}, {"b"}, [("a", 7.0)]
    monkeypatch.setattr("carom.warm_up.warm_ups", lambda: iter([("nothing", lambda: None)]))
    monkeypatch.setattr("carom.warm_command.WATCH", watch)
    assert main(["warm"]) == 0
    assert capsys.readouterr().out == "2 kernels compiled in 0 s, 1 were there already.\n"


@pytest.mark.long
def test_after_warm_nothing_is_compiled(tmp_path):
    """Everything in a folder of its own; then a drop and demos with other shapes and laws find all there."""
    environment = os.environ | {"PYTHONPATH": str(LINKS), "NUMBA_CACHE_DIR": str(tmp_path / "kept")}
    environment.pop("DISPLAY", None)
    count = (
        "import sys; from carom.command_line import main; from carom.compile_notice import WATCH; "
        "status = main(sys.argv[1:]); print('compiled', [name for name, _ in WATCH.compiled]); sys.exit(status)"
    )
    said = ""
    for arguments in (
        ["warm"], ["drop"], ["demo", "bouncing-ball"], ["demo", "double-pendulum"], ["demo", "newtons-cradle"],
    ):  # fmt: skip
        options = [] if arguments == ["warm"] else ["--no-view"]
        said = subprocess.run(
            [sys.executable, "-c", count, *arguments, *options], env=environment, cwd=tmp_path,
            capture_output=True, text=True, check=True,
        ).stdout  # fmt: skip
        if arguments != ["warm"]:
            assert "compiled []" in said, arguments
