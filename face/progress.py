"""A progress bar for what takes more than two seconds, on a terminal only."""

import math
import time as clock
from types import TracebackType
from typing import Any, Self


class ProgressBar:
    """A bar from `start` to `end` in any unit that appears after two seconds; use it as a context."""

    def __init__(self, start: float, end: float, description: str):
        self._start, self._end, self._description = start, end, description
        self._began = self._shown = clock.monotonic()
        self._bar: Any = None

    def show(self, done: float, description: str | None = None) -> None:
        """Move the bar to `done`."""
        now = clock.monotonic()
        if now - self._began < 2.0 or now - self._shown < 0.1:
            return
        self._shown = now
        if self._bar is None:
            from rich.progress import Progress

            self._bar = Progress(transient=True)
            if not self._bar.console.is_terminal:
                self._began = math.inf
                return
            self._bar.start()
            self._task = self._bar.add_task(self._description, total=self._end - self._start)
        self._bar.update(
            self._task, completed=done - self._start, description=description or self._description
        )

    def close(self) -> None:
        """Take the bar off the terminal."""
        if self._bar is not None and self._bar.live.is_started:
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
