"""A program from which files are dragged: the source's side of the protocol XDND, version 5."""

import ctypes
from pathlib import Path

from pyglet.libs.x11 import xlib

VERSION = 5
XA_ATOM = 4
NAMES = (
    *("XdndAware", "XdndEnter", "XdndPosition", "XdndStatus", "XdndDrop", "XdndFinished", "XdndSelection"),
    *("XdndActionCopy", "XdndTypeList"),
)


class FileDrag:
    """Files that are dragged onto a window of another connection to the server, offered as contents of some types.

    replies : names of the messages that the window has sent back
    accepted : whether it said that it takes what is dragged
    """

    def __init__(self, target, paths, types=("text/uri-list",)):
        self._display = xlib.XOpenDisplay(None)
        self._atoms = {
            name: xlib.XInternAtom(self._display, name.encode(), False) for name in (*NAMES, *types)
        }
        root = xlib.XDefaultRootWindow(self._display)
        self._source = xlib.XCreateSimpleWindow(self._display, root, 0, 0, 1, 1, 0, 0, 0)
        self._target = target
        self._content = "".join(f"{Path(path).absolute().as_uri()}\r\n" for path in paths).encode()
        self.replies = []
        self.accepted = None
        selection = self._atoms["XdndSelection"]
        xlib.XSetSelectionOwner(self._display, selection, self._source, 0)
        offered = [self._atoms[name] for name in types]
        if len(types) > 3:
            atoms = (xlib.Atom * len(offered))(*offered)
            kind, data = self._atoms["XdndTypeList"], ctypes.cast(atoms, ctypes.POINTER(ctypes.c_ubyte))
            xlib.XChangeProperty(self._display, self._source, kind, XA_ATOM, 32, 0, data, len(offered))
        self._send("XdndEnter", VERSION << 24 | (len(types) > 3), *offered[:3])

    def move(self, x, y):
        """Hold the pointer over a point of the screen."""
        self._send("XdndPosition", 0, int(x) << 16 | int(y), 0, self._atoms["XdndActionCopy"])

    def drop(self):
        """Let go."""
        self._send("XdndDrop", 0, 0)

    def answer(self):
        """Take what the window has sent, and give it the names of the files where it asks for them."""
        event = xlib.XEvent()
        xlib.XSync(self._display, False)
        while xlib.XPending(self._display):
            xlib.XNextEvent(self._display, ctypes.byref(event))
            if event.type == xlib.SelectionRequest:
                self._give_files(event.xselectionrequest)
            elif event.type == xlib.ClientMessage:
                kinds = {atom: name for name, atom in self._atoms.items()}
                self.replies.append(kinds[event.xclient.message_type])
                if self.replies[-1] == "XdndStatus":
                    self.accepted = bool(event.xclient.data.l[1] & 1)

    def close(self):
        """Leave the server."""
        xlib.XCloseDisplay(self._display)

    def _give_files(self, request):
        text = (ctypes.c_ubyte * len(self._content)).from_buffer_copy(self._content)
        xlib.XChangeProperty(
            self._display, request.requestor, request.property, request.target, 8, 0, text, len(text)
        )
        event = xlib.XEvent()
        event.xselection.type = xlib.SelectionNotify
        event.xselection.requestor = request.requestor
        event.xselection.selection = request.selection
        event.xselection.target = request.target
        event.xselection.property = request.property
        event.xselection.time = request.time
        xlib.XSendEvent(self._display, request.requestor, False, 0, ctypes.byref(event))
        xlib.XSync(self._display, False)

    def _send(self, kind, *numbers):
        event = xlib.XEvent()
        event.xclient.type = xlib.ClientMessage
        event.xclient.window = self._target
        event.xclient.message_type = self._atoms[kind]
        event.xclient.format = 32
        event.xclient.data.l[0] = self._source
        for place, number in enumerate(numbers, start=1):
            event.xclient.data.l[place] = number
        xlib.XSendEvent(self._display, self._target, False, 0, ctypes.byref(event))
        xlib.XSync(self._display, False)
