"""Kernels that this process is going to need, compiled by others while it compiles the first of them.

Compiling takes one core, and a start needs some twenty kernels one after the other, a few of which take most of the
time. Which ones is known once the first has been asked for, see `CompileTimes.expected`. So processes are started
that compile the largest of these and keep them on disk, where this one finds them; a kernel that it needs meanwhile
it waits for, see `kernel_lock`. The result is the same to the bit: it is the same code that is kept.

Helped is the first process alone, so that those of an ensemble are not, and as long as what is left is worth it.
Helpers end when nothing is left, and with the process that they help. ``CAROM_COMPILE_PROCESSES`` says how many may
compile at a time, this one counted; 1 means none besides. The default is one a core, and at most four.
"""

import atexit
import importlib
import json
import os
import subprocess
import sys
import threading
from typing import IO, Any

from .compile_notice import WATCH, CompileWatch, is_first_process
from .cores import cores

SETTING = "CAROM_COMPILE_PROCESSES"
MOST = 4
"""Processes that compile at a time, this one counted: more would wait for the largest kernel."""
_WORTH = 4.0  # s of compiling that are worth a process, which takes two to start
_HELPER = """
import json, sys
sys.path[:] = json.loads(sys.stdin.readline())
from carom.compile_ahead import help_out
help_out()
"""


def processes_allowed() -> int:
    """How many processes may compile at a time, this one counted; ValueError for a setting that is no number."""
    setting = os.environ.get(SETTING)
    if setting is None:
        return min(cores(), MOST)
    if not setting.isdecimal() or int(setting) < 1:
        raise ValueError(f"{SETTING}: expected a whole number of at least 1, got {setting!r}")
    return int(setting)


class Ahead:
    """The processes that help, and what is left for them to do."""

    def __init__(self, watch: CompileWatch):
        self._watch = watch
        self._lock = threading.Lock()
        self._running: list[subprocess.Popen[str]] = []
        self._given: set[str] = set()
        self._refused = False

    def call_for_help(self) -> None:
        """A kernel is about to be compiled: start helpers where what comes after it is worth that."""
        if self._refused or not is_first_process():
            return
        with self._lock:
            room = processes_allowed() - 1 - len(self._running)
            if room < 1:
                return
            times, left = self._watch.known_times(), self._left()
            for _ in range(room):
                if sum(map(times.of, left)) <= _WORTH:
                    return
                self._start()
                left = left[1:]  # about: what this helper begins with

    def end(self) -> None:
        """End the helpers; what they have kept stays."""
        self._refused = True
        for process in list(self._running):
            self._take_down(process)

    def _left(self) -> list[str]:
        """Kernels that are still to come and can be compiled ahead, the largest first. The very next is not among
        them: this process would wait for it, as soon as it has what it compiles now."""
        times = self._watch.known_times()
        coming = times.expected(self._watch.asked, self._watch.likely)[1:]
        able = [one for one in coming if one in times.arguments and one not in self._given]
        return sorted(able, key=times.of, reverse=True)

    def _start(self) -> None:
        try:
            process = subprocess.Popen(
                [sys.executable, "-P", "-c", _HELPER], text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,  # what goes wrong there goes wrong here too, and is said here
                env=os.environ | {SETTING: "1"}, start_new_session=True,
            )  # fmt: skip
        except OSError:  # no processes can be started here: everything is compiled by this one
            self._refused = True
            return
        self._running.append(process)
        threading.Thread(target=self._feed, args=(process,), daemon=True).start()

    def _feed(self, process: "subprocess.Popen[str]") -> None:
        """Give a helper one kernel after the other, as long as there are any."""
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            _say(process.stdin, sys.path)
            while (kernel := self._next()) is not None:
                _say(process.stdin, [kernel, self._watch.known_times().arguments[kernel]])
                with self._watch.elsewhere(kernel):
                    answer = process.stdout.readline()
                if not answer:
                    break
                self._watch.ahead.add(kernel)
        except (OSError, ValueError):  # it has ended, or this process ends
            pass
        self._take_down(process)

    def _take_down(self, process: "subprocess.Popen[str]") -> None:
        with self._lock:
            if process in self._running:
                self._running.remove(process)
                process.kill()
                process.wait()

    def _next(self) -> str | None:
        with self._lock:
            left = self._left()
            if not left or self._refused:
                return None
            self._given.add(left[0])
            return left[0]


def _say(pipe: IO[str], words: Any) -> None:
    pipe.write(json.dumps(words) + "\n")
    pipe.flush()


def help_out() -> None:
    """Be a helper: compile the kernels that are named on standard input, until it is closed."""
    for line in sys.stdin:
        kernel, arguments = json.loads(line)
        compile_kernel(kernel, arguments)
        print(kernel, flush=True)  # noqa: T201


def compile_kernel(kernel: str, arguments: list[str] | None) -> None:
    """Compile a kernel, such as ``simulator.engine.loop_kernels.advance``, for arguments of these kinds, and keep
    it; a part of the engine, whose arguments are known, for None."""
    from .compiled import Part, argument_kinds

    module, _, name = kernel.rpartition(".")
    found = getattr(importlib.import_module(f"carom.{module}"), name)
    if arguments is None:
        assert isinstance(found, Part)
        _ = found.address
    else:
        found.entry.compile(argument_kinds(arguments))


AHEAD = Ahead(WATCH)
atexit.register(AHEAD.end)
