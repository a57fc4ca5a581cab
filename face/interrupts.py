"""Ctrl-C while kernels are compiled or read from the disk, while they run, or a file is written."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def interrupts_wait() -> Iterator[None]:
    """Let Ctrl-C be raised at the end of the block, or of the function that this decorates; where it comes
    twice, at once.

    In the midst of a compiled call it is raised in whatever compiled code calls back, such as what makes a table
    longer or takes an object down: there it would be lost, and what it cut short with it.
    """
    previous = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(previous):
        yield
        return
    caught: list[FrameType | None] = []

    def note(_: int, frame: FrameType | None) -> None:
        caught.append(frame)
        if len(caught) > 1:
            previous(signal.SIGINT, frame)

    signal.signal(signal.SIGINT, note)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)
        if len(caught) == 1:
            previous(signal.SIGINT, caught[0])
