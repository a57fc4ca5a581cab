"""Decide whether and how OpenGL can be reached, before pyglet is imported.

A failed import of `pyglet.gl` cannot be repeated in the same process, so the choice between a window system
and a context without a display (EGL) is made here once, and everything that draws comes through here.
"""

import ctypes
import ctypes.util
import importlib
import os
import sys

INSTALL_ADVICE = "apt-get install libegl1 libgl1 libfontconfig1 libfreetype6"


class DisplayError(RuntimeError):
    """There is no display or no OpenGL to draw with; the message says what to install."""


def has_display() -> bool:
    """Tell whether a window can open: on Linux when DISPLAY or WAYLAND_DISPLAY is set, elsewhere always."""
    if sys.platform.startswith("linux"):
        return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
    return True


def load_pyglet(*, for_window: bool) -> None:
    """Import pyglet with or without a window system, or raise DisplayError."""
    global _headless
    if _failure is not None:
        raise DisplayError(_failure)
    if _headless is None:
        headless = sys.platform.startswith("linux") and not _reaches_x_server()
    else:
        headless = _headless
    if for_window and headless:
        reason = "DISPLAY leads to no X server" if has_display() else "DISPLAY is not set"
        raise DisplayError(
            f"A window needs a display, but {reason}: write pictures with `carom render` or carom.render() "
            f"instead, which without a display need `{INSTALL_ADVICE}`."
        )
    if _headless is None:
        try:
            import pyglet

            pyglet.options["headless"] = headless
            pyglet.options["debug_gl"] = False
            importlib.import_module("pyglet.gl")
            importlib.import_module("pyglet.window")
        except Exception as error:  # pyglet raises its own and ctypes' errors, depending on what is missing
            raise remember_failure(error) from error
        _headless = headless


def remember_failure(error: Exception) -> DisplayError:
    """Record that OpenGL cannot be used in this process, and give the error that says so."""
    global _failure
    reason = " ".join(str(error).split()).rstrip(".") or type(error).__name__
    _failure = f"OpenGL cannot be used here ({reason}): install it with `{INSTALL_ADVICE}`."
    return DisplayError(_failure)


def _reaches_x_server() -> bool:
    """Tell whether the X server that DISPLAY names answers."""
    if not os.environ.get("DISPLAY"):
        return False
    name = ctypes.util.find_library("X11")
    if name is None:
        return False
    library = ctypes.CDLL(name)
    library.XOpenDisplay.restype = ctypes.c_void_p
    library.XOpenDisplay.argtypes = [ctypes.c_char_p]
    library.XCloseDisplay.argtypes = [ctypes.c_void_p]
    connection = library.XOpenDisplay(None)
    if not connection:
        return False
    library.XCloseDisplay(connection)
    return True


_failure: str | None = None  # why OpenGL cannot be used in this process, once that is known
_headless: bool | None = None  # how pyglet was imported; None before
