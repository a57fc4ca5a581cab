"""Opens a replay in a window and lets a script of real input act on it, step by step.

A script is a generator function of a `Session`. After every `yield` the window has handled all input and drawn.
"""

import numpy as np
import pyglet
from x_input import XInput

from carom.viewer.display import load_pyglet
from carom.viewer.replay import Replay
from carom.viewer.run import Run
from carom.viewer.show import load_recording

PAUSE = 0.12  # s, for events to come through the X server
LONGEST = 60.0  # s


class Session:
    """The window, its replay and the input devices."""

    def __init__(self, trajectories, size, names=None):
        load_pyglet(for_window=True)
        from carom.viewer.window import open_window

        names = names or [f"run {number + 1}" for number in range(len(trajectories))]
        runs = [Run(one, name) for one, name in zip(trajectories, names, strict=True)]
        self.replay = Replay(runs, aspect=size[0] / size[1])
        self.window = open_window(self.replay, size, "test", load_recording)
        self.input = XInput()
        self.expects_to_be_closed = False  # by what the script does last

    def at(self, x, y):
        """A point of the screen for a point of the window from its lower left corner."""
        left, top = self.window.get_location()
        return left + x, top + self.window.height - y

    def pixels(self):
        """What the window shows, (height, width, 3), first row on top."""
        self.window.switch_to()
        from ctypes import c_void_p

        from pyglet import gl

        self.window.draw_picture()
        width, height = self.window.get_framebuffer_size()
        pixels = np.empty((height, width, 3), dtype=np.uint8)
        gl.glPixelStorei(gl.GL_PACK_ALIGNMENT, 1)
        gl.glReadPixels(0, 0, width, height, gl.GL_RGB, gl.GL_UNSIGNED_BYTE, pixels.ctypes.data_as(c_void_p))
        return pixels[::-1]


def play(trajectories, script, size=(640, 400), names=None):
    """Open the window, run the script to its end and close; what the script raises is raised here."""
    session = Session(trajectories, size, names)
    steps, failures, ended = script(session), [], []

    def go_on(_):
        try:
            session.window.dispatch_events()
            next(steps)
        except StopIteration:
            ended.append(True)
            session.window.close()
        except BaseException as error:
            failures.append(error)
            session.window.close()
        else:
            pyglet.clock.schedule_once(go_on, PAUSE)

    def give_up(_):
        failures.append(TimeoutError(f"the script took more than {LONGEST} s"))
        session.window.close()

    pyglet.clock.schedule_once(go_on, 3 * PAUSE)
    pyglet.clock.schedule_once(give_up, LONGEST)
    pyglet.app.run(interval=None)
    pyglet.clock.unschedule(go_on)
    pyglet.clock.unschedule(give_up)
    if failures:
        raise failures[0]
    assert bool(ended) != session.expects_to_be_closed, "the window was closed too early, or not at all"
