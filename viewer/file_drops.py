"""Files dragged onto a window under X, where pyglet 2.1 fails on some sources. Import only after pyglet is loaded.

It raises TypeError where a source names its up to three types of content without a list of them, and where what is
dropped is no file; and it tells the root window instead of the source that a drop is finished. All of that is put
right here, with what pyglet calls and keeps; on other systems nothing here is called.
"""

from ctypes import byref, c_int, c_uint
from typing import Any

import pyglet

INLINE_TYPES = slice(2, 5)  # of the numbers of an XdndEnter, where its types are without a list
HAS_LIST = 1  # bit of the second number: the types are in a list


class FileDropWindow(pyglet.window.Window):
    """A window that files can be dropped on."""

    def _event_drag_enter(self, event: Any) -> None:
        numbers = event.xclient.data.l
        if numbers[1] & HAS_LIST:
            super()._event_drag_enter(event)
            return
        files = self._xdnd_atoms["text/uri-list"]
        self._xdnd_source, self._xdnd_version = numbers[0], numbers[1] >> 24
        self._xdnd_format = files if files in numbers[INLINE_TYPES] else None

    def _event_drag_drop(self, event: Any) -> None:
        if self._xdnd_format:
            super()._event_drag_drop(event)
        else:
            self.finish_drop(taken=False)

    def finish_drop(self, *, taken: bool) -> None:
        """Tell the source of what was dropped that it may forget it."""
        if not getattr(self, "_xdnd_source", None):
            return
        from pyglet.libs.x11 import xlib

        message = xlib.XEvent()
        message.xclient.type = xlib.ClientMessage
        message.xclient.message_type = self._xdnd_atoms["XdndFinished"]
        message.xclient.window = self._xdnd_source
        message.xclient.format = 32
        message.xclient.data.l[0] = self._window
        message.xclient.data.l[1] = int(taken)
        message.xclient.data.l[2] = self._xdnd_atoms["XdndActionCopy"] if taken else 0
        xlib.XSendEvent(self._x_display, self._xdnd_source, False, xlib.NoEventMask, byref(message))
        xlib.XFlush(self._x_display)

    def shift_at_pointer(self) -> bool:
        """Whether shift is held, also while another program has the keyboard, as where files are dragged from."""
        if not hasattr(self, "_x_display"):
            return False
        from pyglet.libs.x11 import xlib

        root, child = xlib.Window(), xlib.Window()
        places = [c_int() for _ in range(4)]
        mask = c_uint()
        found = [byref(one) for one in (root, child, *places, mask)]
        xlib.XQueryPointer(self._x_display, self._window, *found)
        return bool(mask.value & xlib.ShiftMask)
