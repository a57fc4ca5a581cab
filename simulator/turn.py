"""Whose turn it is to advance a run: one thread's at a time, and of nobody whom it calls."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_LOOK = threading.Lock()  # for the look whether somebody has the turn


class Turn:
    """Who advances a run just now.

    holder : on whose behalf, None while nobody does
    """

    def __init__(self) -> None:
        self._thread: int | None = None
        self.holder: Any = None

    def __reduce__(self) -> Any:
        """Elsewhere, and in a copy, nobody has it."""
        return Turn, ()

    @contextmanager
    def taken(self, holder: Any) -> Iterator[None]:
        """Have the turn within the block; RuntimeError where somebody has it already."""
        with _LOOK:
            self.refuse_others()
            if self._thread is not None:
                raise RuntimeError(
                    "a callback on an event, a law or a function for forces may not advance the simulator that "
                    "calls it; a callback may set its state"
                )
            self._thread, self.holder = threading.get_ident(), holder
        try:
            yield
        finally:
            self._thread = self.holder = None

    def refuse_others(self) -> None:
        """RuntimeError where another thread has the turn."""
        if self._thread not in (None, threading.get_ident()):
            raise RuntimeError(
                "simulator: another thread is advancing it; let each thread have its own copy()"
            )
