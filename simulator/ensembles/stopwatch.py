"""How long a member takes, and since when it runs, for whoever watches this process from outside.

While kernels are compiled or read from disk the watch stands still: what that takes says nothing about members, and
a limit on their time must not end what all of them wait for.
"""

import math
import time as clock
from collections.abc import Callable, MutableSequence
from typing import Any

from ...compile_notice import Moment, Stage, when_compiling

IDLE = -1.0


class Stopwatch:
    """Of this process.

    shown : two numbers that another process may read: index of the member that runs, or -1, and since when [s] on
        the clock of all processes, infinity while the watch stands still
    paused, resumed : called when compilation begins and ends
    """

    def __init__(self) -> None:
        self.shown: MutableSequence[float] = [IDLE, math.inf]
        self.paused: Callable[[], Any] = _nothing
        self.resumed: Callable[[], Any] = _nothing
        self._away = 0.0
        self._since: float | None = None

    def start(self, index: int) -> float:
        """Begin with a member; what `stop` wants to be told."""
        now = clock.monotonic()
        self._away = 0.0
        self.shown[0], self.shown[1] = float(index), now
        return now

    def stop(self, begun: float) -> float:
        """Seconds since then but for compilation."""
        self.shown[0], self.shown[1] = IDLE, math.inf
        return clock.monotonic() - begun - self._away

    def compiling(self, moment: Moment) -> None:
        """Be told how far the compilation of a kernel is."""
        now, begins = clock.monotonic(), moment.stage is not Stage.ENDED
        if begins and self._since is None:
            self._since = now
            self._begun, self.shown[1] = self.shown[1], math.inf
            self.paused()
        elif not begins and self._since is not None:
            away, self._since = now - self._since, None
            self._away += away
            self.shown[1] = self._begun + away
            self.resumed()


def _nothing() -> None:
    """Nobody wants to know."""


STOPWATCH = Stopwatch()
when_compiling(STOPWATCH.compiling)
