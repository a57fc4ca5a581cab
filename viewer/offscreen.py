"""An OpenGL context without a visible window, one for the whole process."""

from typing import Any

from .display import load_pyglet, remember_failure


def offscreen_window() -> Any:
    """Make current, and return, a hidden pyglet window whose context pictures are drawn in."""
    global _window
    load_pyglet(for_window=False)
    import pyglet

    if _window is None:
        try:
            _window = pyglet.window.Window(width=64, height=64, visible=False, vsync=False)
        except Exception as error:  # pyglet has no common base for the failures of the platforms
            raise remember_failure(error) from error
        pyglet.app.windows.discard(
            _window
        )  # a hidden window must not keep the event loop of a visible one alive
    _window.switch_to()
    return _window


_window: Any = None
