"""What people see while kernels are compiled: which one, how far it is, and about how long it still takes.

`compiled` tells here what it does. Nothing is shown before a second of compiling, nor where errors do not go to a
terminal, nor in processes that another one started. How long a kernel takes is known from when this machine
compiled it last, which is kept beside the kernel; else from `compile_times.json`, whose seconds of another machine
are scaled by the pace of this one so far. Which kernels are still to come is known only from that file too: of the
starts that it lists, the one that is most like what has been asked for. So the time that is left is said to be
about so much.

Time that goes into compiling, and into reading kept kernels, is `spent`; `running_time` is a clock without it.
"""

import enum
import json
import multiprocessing
import sys
import threading
import time as clock
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

WARM = "warm"
"""The start that needs everything, which no other is taken for."""
_SHOWN_AFTER = 1.0  # s of compiling
_PAINTED_EVERY = 0.2  # s
_NO_WAIT = 0.5  # s for which a lock may be asked for before it is said that another process has it
_NAME_LENGTH = 24  # of a kernel: the line has room for it in 80 columns
_OVERRUN = 1.1  # times what has gone: the least that a kernel takes that takes longer than was thought


class Stage(enum.Enum):
    """How far a kernel is."""

    LOOKED_FOR = "on disk, or read from there"
    AWAITED = "being compiled by another process, perhaps"
    COMPILED = "being compiled"
    KEPT = "compiled, and on disk now"
    ENDED = "at its end, however that came"


class Moment(NamedTuple):
    """A kernel comes to a stage: its name, such as ``simulator.movers.hold_kernels.hold``, and where it is kept."""

    stage: Stage
    kernel: str
    folder: Path


_listeners: list[Callable[[Moment], Any]] = []


def when_compiling(listener: Callable[[Moment], Any]) -> None:
    """Let a function be called at every stage of every kernel that is looked for or compiled in this process."""
    _listeners.append(listener)


def tell(stage: Stage, kernel: str, folder: Path) -> None:
    """Call the listeners."""
    for listener in _listeners:
        listener(Moment(stage, kernel, folder))


class CompileTimes:
    """How long kernels take to compile, and which of them a start needs.

    seconds : of kernels, on the machine that wrote the table
    starts : kernels that were needed, of each start that was tried, in their order
    arguments : of those that can be compiled before they are called, see `compile_ahead.compile_kernel`
    """

    def __init__(
        self,
        seconds: dict[str, float],
        starts: dict[str, list[str]],
        arguments: dict[str, list[str] | None] | None = None,
    ):
        self.seconds, self.starts, self.arguments = seconds, starts, arguments or {}
        ordered = sorted(seconds.values())
        self._usual = ordered[len(ordered) // 2] if ordered else 1.0
        self._measured = self._thought = 0.0

    @classmethod
    def shipped(cls) -> "CompileTimes":
        """Those that come with the package."""
        text = Path(__file__).resolve().with_name("compile_times.json").read_text(encoding="utf-8")
        table = json.loads(text)
        return cls(table["seconds"], table["starts"], table["arguments"])

    def learn(self, kernel: str, seconds: float) -> None:
        """How long a kernel took here, from which the pace of this machine follows."""
        if kernel in self.seconds:
            self._measured += seconds
            self._thought += self.seconds[kernel]

    def of(self, kernel: str, folder: Path | None = None) -> float:
        """About how long a kernel takes here [s], by its own record in a folder, else by the table."""
        kept = folder and _own_record(kernel, folder)
        if kept:
            return kept
        pace = self._measured / self._thought if self._thought else 1.0
        return pace * self.seconds.get(kernel, self._usual)

    def expected(self, asked: set[str], likely: str = "") -> list[str]:
        """Kernels that are still to come after those that were asked for, in the start that is most like it; of
        several, in the likely one."""
        starts = [name for name in self.starts if name != WARM or name == likely]
        if not starts:
            return []

        def unlikeness(name: str) -> tuple[int, bool, int]:
            known = set(self.starts[name])
            return len(asked - known), name != likely, len(known - asked)

        return [kernel for kernel in self.starts[min(starts, key=unlikeness)] if kernel not in asked]


class CompileWatch:
    """Knows what is compiled in this process, since when, and how much time went there."""

    def __init__(self) -> None:
        self.times: CompileTimes | None = None
        self.asked: set[str] = set()
        self.ahead: set[str] = set()
        """Kernels that other processes have compiled for this one."""
        self.compiled: list[tuple[str, float]] = []
        self.likely = ""
        """Which of the starts of `CompileTimes` this one is, where that is known."""
        self._elsewhere: dict[str, float] = {}
        self._open = 0
        self._opened = self._spent = 0.0
        self._began: dict[int, float] = {}

    @property
    def spent(self) -> float:
        """Seconds that went into compiling and reading kernels, up to now."""
        return self._spent + (clock.monotonic() - self._opened if self._open else 0.0)

    def hear(self, moment: Moment) -> None:
        """Be told of a stage of a kernel."""
        now, thread = clock.monotonic(), threading.get_ident()
        if moment.stage is Stage.LOOKED_FOR:
            self.asked.add(moment.kernel)
            self._opened = self._opened if self._open else now
            self._open += 1
        elif moment.stage is Stage.COMPILED:
            self._began[thread] = now
        elif moment.stage is Stage.KEPT:
            seconds = now - self._began[thread]
            self.compiled.append((moment.kernel, seconds))
            _keep_record(moment.kernel, moment.folder, seconds)
            if self.times:
                self.times.learn(moment.kernel, seconds)
        elif self._open and moment.stage is Stage.ENDED:
            self._open -= 1
            if not self._open:
                self._spent += now - self._opened

    def known_times(self) -> CompileTimes:
        """The table, read when it is first needed."""
        self.times = self.times or CompileTimes.shipped()
        return self.times

    @contextmanager
    def elsewhere(self, kernel: str) -> Iterator[None]:
        """While another process compiles a kernel for this one."""
        self._elsewhere[kernel] = clock.monotonic()
        try:
            yield
        finally:
            del self._elsewhere[kernel]

    def is_elsewhere(self, kernel: str) -> bool:
        """Whether another process compiles it for this one."""
        return kernel in self._elsewhere

    def left(self, kernel: str, folder: Path, gone: float) -> tuple[list[str], float]:
        """Kernels that are expected after this one, and about how many seconds are left in all [s]: as long as the
        longest takes, or as all do that this process and those that help share."""
        times = self.known_times()
        coming = times.expected(self.asked, self.likely)
        since = dict(self._elsewhere)
        if kernel in since:
            gone = clock.monotonic() - since.pop(kernel)
        open_now: list[tuple[str, Path | None, float]] = [(kernel, folder, gone)]
        open_now += [(one, None, clock.monotonic() - begun) for one, begun in since.items()]
        takes = [max(times.of(one, place) - gone, (_OVERRUN - 1.0) * gone) for one, place, gone in open_now]
        takes += [
            times.of(one) for one in coming if one != kernel and one not in since and one not in self.ahead
        ]
        return coming, max(max(takes), sum(takes) / len(open_now))


class _Painter:
    """Paints the line, in a thread of its own, while one kernel is compiled."""

    def __init__(self, watch: CompileWatch):
        self._watch = watch
        self._thread: threading.Thread | None = None
        self._over = threading.Event()

    def hear(self, moment: Moment) -> None:
        """Begin with a kernel that is not on disk, end with it."""
        if moment.stage in (Stage.AWAITED, Stage.COMPILED) and _may_be_seen():
            self._end()
            waits = moment.stage is Stage.AWAITED
            self._over = threading.Event()
            arguments = (self._over, moment.kernel, moment.folder, waits)
            self._thread = threading.Thread(target=self._paint, args=arguments, daemon=True)
            self._thread.start()
        elif moment.stage is Stage.ENDED:
            self._end()

    def _end(self) -> None:
        if self._thread is not None:
            self._over.set()
            self._thread.join()
            self._thread = None

    def _paint(self, over: threading.Event, kernel: str, folder: Path, waits: bool) -> None:
        begun = clock.monotonic()
        if over.wait(max(_SHOWN_AFTER - self._watch.spent, _NO_WAIT if waits else 0.0)):
            return
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn

        def words() -> dict[str, Any]:
            gone, spent, asked = clock.monotonic() - begun, self._watch.spent, len(self._watch.asked)
            coming, left = self._watch.left(kernel, folder, gone)
            name = kernel.rpartition(".")[2][:_NAME_LENGTH]
            return {
                "description": f"waiting for a process that compiles {name}"
                if waits and not self._watch.is_elsewhere(kernel)
                else f"compiling {name}, {asked} of about {asked + len(coming)}, once",
                "completed": spent / (spent + left),
                "still": f"about {_rounded(left)} left",
            }

        columns = TextColumn("{task.description}"), BarColumn(10), TextColumn("{task.fields[still]}")
        with _others_wait(), Progress(*columns, console=Console(stderr=True), transient=True) as bar:
            line = bar.add_task(total=1.0, **words())
            while not over.wait(_PAINTED_EVERY):
                bar.update(line, **words())


def _rounded(seconds: float) -> str:
    """No more digits than are known."""
    if seconds < 10.0:
        return f"{max(seconds, 1.0):.0f} s"
    return f"{5 * round(seconds / 5.0)} s" if seconds < 120.0 else f"{seconds / 60.0:.0f} min"


_in_the_way: list[Any] = []
"""Bars on the same terminal, that wait while something is compiled: each has ``pause`` and ``resume``."""


def shares_the_terminal(bar: Any, shown: bool) -> None:
    """Let a bar that is shown wait with its ``pause()`` until its ``resume()`` while something is compiled."""
    if shown:
        _in_the_way.append(bar)
    elif bar in _in_the_way:
        _in_the_way.remove(bar)


@contextmanager
def _others_wait() -> Iterator[None]:
    waiting = list(_in_the_way)
    for bar in waiting:
        bar.pause()
    try:
        yield
    finally:
        for bar in waiting:
            bar.resume()


@cache
def is_first_process() -> bool:
    """Whether no other process of ours has started this one."""
    return multiprocessing.parent_process() is None


def _may_be_seen() -> bool:
    return is_first_process() and sys.stderr is not None and sys.stderr.isatty()


def _record_path(kernel: str, folder: Path) -> Path:
    return folder / f"{kernel}.seconds"


def _own_record(kernel: str, folder: Path) -> float | None:
    try:
        seconds = float(_record_path(kernel, folder).read_text(encoding="ascii"))
    except (OSError, ValueError):  # none yet, or not ours
        return None
    return seconds if 0.0 < seconds < 3600.0 else None


def _keep_record(kernel: str, folder: Path, seconds: float) -> None:
    try:
        _record_path(kernel, folder).write_text(f"{seconds:.3f}\n", encoding="ascii")
    except OSError:  # what cannot be kept is only an estimate
        return


WATCH = CompileWatch()
when_compiling(WATCH.hear)
when_compiling(_Painter(WATCH).hear)


def running_time() -> float:
    """A clock [s] that stands still while kernels are compiled or read from disk."""
    return clock.monotonic() - WATCH.spent
