"""Real input for a window under X: keys and mouse through the XTEST extension, as if from the devices."""

import ctypes
import ctypes.util

LEFT, MIDDLE, RIGHT, WHEEL_UP, WHEEL_DOWN = 1, 2, 3, 4, 5


class XInput:
    """The keyboard and mouse of the display that the environment names."""

    def __init__(self):
        self._x = ctypes.CDLL(ctypes.util.find_library("X11"))
        self._test = ctypes.CDLL(ctypes.util.find_library("Xtst"))
        self._x.XOpenDisplay.restype = ctypes.c_void_p
        self._x.XStringToKeysym.restype = ctypes.c_ulong
        self._x.XKeysymToKeycode.argtypes = [ctypes.c_void_p, ctypes.c_ulong]
        self._x.XKeysymToKeycode.restype = ctypes.c_ubyte
        self._x.XSync.argtypes = [ctypes.c_void_p, ctypes.c_int]
        self._display = ctypes.c_void_p(self._x.XOpenDisplay(None))
        self._now = ctypes.c_ulong(0)

    def key(self, name, *held):
        """Press and release a key, such as "bracketright", with others held."""
        for one in held:
            self._key(one, True)
        self._key(name, True)
        self._key(name, False)
        for one in held:
            self._key(one, False)
        self._finish()

    def hold(self, name):
        """Press a key."""
        self._key(name, True)
        self._finish()

    def release(self, name):
        """Let a key go."""
        self._key(name, False)
        self._finish()

    def move(self, x, y):
        """Move the pointer to a point of the screen, from its upper left corner."""
        self._test.XTestFakeMotionEvent(self._display, -1, int(x), int(y), self._now)
        self._finish()

    def button(self, number, down):
        """Press or release a button of the mouse."""
        self._test.XTestFakeButtonEvent(self._display, number, int(down), self._now)
        self._finish()

    def click(self, number=LEFT):
        """Press and release a button."""
        self.button(number, True)
        self.button(number, False)

    def drag(self, points, number=LEFT):
        """Move along points with a button held."""
        self.move(*points[0])
        self.button(number, True)
        for point in points[1:]:
            self.move(*point)
        self.button(number, False)

    def _finish(self):
        """Wait until the server has passed everything on."""
        self._x.XSync(self._display, 0)

    def _key(self, name, down):
        symbol = self._x.XStringToKeysym(name.encode())
        assert symbol, name
        code = self._x.XKeysymToKeycode(self._display, symbol)
        self._test.XTestFakeKeyEvent(self._display, code, int(down), self._now)
