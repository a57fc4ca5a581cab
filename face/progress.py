"""A progress bar for what takes more than two seconds, on a terminal only."""

import math
from types import TracebackType
from typing import Any, Self

from .compile_notice import running_time, shares_the_terminal


class ProgressBar:
    """A bar from `start` to `end` in any unit that appears after two seconds; use it as a context.

    Its times leave out what goes into compiling, and while something is compiled that is shown in its place.
    """

    def __init__(self, start: float, end: float, description: str):
        self._start, self._end, self._description = start, end, description
        self._began = self._shown = running_time()
        self._bar: Any = None

    def show(self, done: float, description: str | None = None) -> None:
        """Move the bar to `done`."""
        now = running_time()
        if now - self._began < 2.0 or now - self._shown < 0.1:
            return
        self._shown = now
        if self._bar is None:
            from rich.progress import Progress

            self._bar = Progress(transient=True, get_time=running_time)
            if not self._bar.console.is_terminal:
                self._began = math.inf
                return
            self._bar.start()
            shares_the_terminal(self, True)
            self._task = self._bar.add_task(self._description, total=self._end - self._start)
        self._bar.update(
            self._task, completed=done - self._start, description=description or self._description
        )

    def pause(self) -> None:
        """Take the bar off the terminal until `resume`."""
        self._bar.stop()

    def resume(self) -> None:
        """Show the bar again."""
        self._bar.start()

    def close(self) -> None:
        """Take the bar off the terminal."""
        if self._bar is not None and self._bar.live.is_started:
            shares_the_terminal(self, False)
            self._bar.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()
