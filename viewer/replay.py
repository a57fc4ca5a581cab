"""Opens the window of a replay."""

from typing import Any

from .display import load_pyglet
from .pictures import check_size


def view(trajectory: Any, *, size: tuple[int, int] = (1280, 720), title: str | None = None) -> None:
    """Replay a trajectory in a window; returns when the window is closed. Press H there for its keys."""
    size = check_size(size)
    load_pyglet(for_window=True)
    from .window import open_window, run_until_closed

    open_window(trajectory, size, title or "carom")
    run_until_closed()
