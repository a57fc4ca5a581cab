"""The window of a replay: passes input on to it and draws it. Import only after `display.load_pyglet`."""

import time as wall_clock
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyglet
from pyglet import gl
from pyglet.window import key, mouse

from .actions import press
from .composition import compose
from .display import remember_failure
from .file_drops import FileDropWindow
from .gl_objects import copy_picture
from .heads_up import HeadsUp
from .overlay import Overlay
from .png import write_png
from .renderer import COARSE, DRAFT, FULL, Quality, Renderer
from .replay import Replay

TICK = 1 / 60
CLICK_PIXELS = 4  # a press that moves less is a click
SLOW_PICTURE = 0.06  # s: while anything changes, slower pictures are drawn as drafts first
SLOW_DRAFT = 0.08  # s: slower drafts are drawn coarser
NAMED_RUNS = 3  # while the first picture is drawn
QUIET_SECONDS = 0.25  # after which a draft is drawn again in full

_KEY_NAMES = {
    **{getattr(key, letter.upper()): letter for letter in "abcdefghijklmnopqrstuvwxyz"},
    **{getattr(key, f"_{digit}"): str(digit) for digit in range(10)},
    **{getattr(key, f"NUM_{digit}"): str(digit) for digit in range(10)},
    key.SPACE: "space", key.LEFT: "left", key.RIGHT: "right", key.UP: "up", key.DOWN: "down",
    key.BRACKETLEFT: "bracketleft", key.BRACKETRIGHT: "bracketright",
    key.COMMA: "comma", key.PERIOD: "period", key.HOME: "home", key.END: "end", key.TAB: "tab", key.F1: "f1",
}  # fmt: skip


class ReplayWindow(FileDropWindow):
    """Shows a replay; draws only when something changed."""

    def __init__(
        self,
        replay: Replay,
        size: tuple[int, int],
        title: str,
        load: Callable[[Path], Any] | None = None,
    ) -> None:
        super().__init__(
            width=size[0], height=size[1], caption=title, resizable=True, vsync=False, file_drops=True
        )
        self.replay = replay
        self.frames_drawn = 0
        self.last_picture_seconds = 0.0
        self._load = load
        self._say_that_it_draws()
        self._renderer = Renderer(replay.runs[0].stage, self.get_framebuffer_size())
        self._is_closed = False
        self._pressed_at: tuple[int, int] | None = None
        self._scrubbing = False
        self._shift = False
        self._pointer: tuple[float, float] | None = None
        self._is_draft = False
        self._full_is_slow = False
        self._drafts_are_slow = False
        self._changed_at = -1.0
        self._last_tick = wall_clock.monotonic()
        replay.aspect = self._aspect()
        replay.frame()
        pyglet.clock.schedule_interval(self._tick, TICK)

    def _say_that_it_draws(self) -> None:
        """A first picture of words alone, since the first of the scene takes a while."""
        self.switch_to()
        self.dispatch_events()
        size, theme = self.get_framebuffer_size(), self.replay.look.theme
        gl.glClearColor(*theme.horizon, 1.0)
        gl.glClear(gl.GL_COLOR_BUFFER_BIT)
        overlay = Overlay(self, size, theme)
        names = ", ".join(run.name for run in self.replay.runs[:NAMED_RUNS])
        words = f"Drawing {names}{' …' if len(self.replay.runs) > NAMED_RUNS else ''}"
        unit = self._pixel_scale()
        overlay.text(words, size[0] / 2, size[1] / 2, size=13 * unit, anchor="center")
        overlay.draw()
        self.flip()

    # -- drawing ---------------------------------------------------------------------------------------------

    def draw_picture(self) -> None:
        """Draw the scene and everything over it into the window; nothing once it is closed."""
        if self._is_closed:
            return
        begin = wall_clock.perf_counter()
        self.switch_to()
        size = self.get_framebuffer_size()
        quality = self._quality()
        self._is_draft = quality is not FULL
        self.draw_scene(size, quality)
        copy_picture(self._renderer.framebuffer, 0, self._renderer.drawn_size, size)
        gl.glBindFramebuffer(gl.GL_FRAMEBUFFER, 0)
        overlay = Overlay(self, size, self.replay.look.theme)
        self.heads_up().draw(overlay, self._pointer)
        overlay.draw()
        gl.glFinish()
        self.frames_drawn += 1
        self.last_picture_seconds = wall_clock.perf_counter() - begin
        self._learn_speed(quality, self.last_picture_seconds)

    def draw_scene(self, size: tuple[int, int], quality: Quality) -> None:
        """Draw what the replay shows, without anything over it, into the renderer's picture."""
        self._renderer.theme = self.replay.look.theme
        self._renderer.resize(size, quality)
        self._renderer.draw_pictures(self.replay.camera, compose(self.replay))

    def heads_up(self) -> HeadsUp:
        """What lies over the scene, laid out for the present size."""
        return HeadsUp(self.replay, self.get_framebuffer_size(), self._pixel_scale())

    def save_picture(self) -> None:
        """Save what is seen, without what lies over it, beside where the program runs."""
        self.switch_to()
        self.draw_scene(self.get_framebuffer_size(), FULL)
        path = Path(f"carom-{wall_clock.strftime('%Y%m%d-%H%M%S')}.png")
        try:
            write_png(path, self._renderer.read())
        except OSError as error:
            self.replay.say(f"No picture: {path} cannot be written ({error.strerror or error}).")
        else:
            self.replay.say(f"Picture: {path}")

    # -- input -----------------------------------------------------------------------------------------------

    def on_key_press(self, symbol: int, modifiers: int) -> None:
        """Do what the key stands for."""
        self._shift = bool(modifiers & key.MOD_SHIFT)
        if symbol in (key.LSHIFT, key.RSHIFT):
            self._shift = True
        elif symbol == key.ESCAPE:
            self._leave()
        elif symbol == key.S:
            self.save_picture()
        elif symbol in _KEY_NAMES:
            press(self.replay, _KEY_NAMES[symbol], self._shift)

    def on_key_release(self, symbol: int, modifiers: int) -> None:
        """Notice that shift is let go."""
        if symbol in (key.LSHIFT, key.RSHIFT):
            self._shift = False

    def on_mouse_press(self, x: int, y: int, button: int, modifiers: int) -> None:
        """Play, scrub, choose an outcome, or begin to move the camera."""
        self._pressed_at = None
        found = self.heads_up().hit(x, y) if button == mouse.LEFT else None
        if found is None:
            self._pressed_at = (x, y)
        elif found[0] == "play":
            self.replay.toggle_play()
        elif found[0] == "track":
            self._scrubbing = True
            self.replay.seek_fraction(found[1])
        elif found[0] == "time":
            self.replay.seek(found[1])
        elif found[0] == "plots":
            self.replay.next_plots()
        elif found[0] == "outcome":
            self.replay.choose(None if found[1] < 0 else int(found[1]))
        self.replay.changed = True

    def on_mouse_release(self, x: int, y: int, button: int, modifiers: int) -> None:
        """Pick a body where the mouse was clicked."""
        if self._pressed_at is not None and button == mouse.LEFT:
            self.replay.pick_at(self._spot(*self._pressed_at))
        self._pressed_at = None
        self._scrubbing = False

    def on_mouse_drag(self, x: int, y: int, dx: int, dy: int, buttons: int, modifiers: int) -> None:
        """Scrub, or move the camera."""
        self._pointer = (x, y)
        if self._scrubbing:
            self.replay.seek_fraction(self.heads_up().fraction_at(x))
            return
        if self._pressed_at is not None:
            moved = max(abs(x - self._pressed_at[0]), abs(y - self._pressed_at[1]))
            if moved < CLICK_PIXELS * self._pixel_scale():
                return
            self._pressed_at = None
        if buttons & mouse.LEFT and not modifiers & key.MOD_SHIFT:
            self.replay.orbit(-dx * 4 / self.height, -dy * 4 / self.height)
        elif buttons:
            self.replay.pan(-dx / self.height, -dy / self.height)

    def on_mouse_scroll(self, x: int, y: int, scroll_x: float, scroll_y: float) -> None:
        """Zoom to the pointer."""
        self.replay.zoom(0.9**scroll_y, self._spot(x, y))

    def on_mouse_motion(self, x: int, y: int, dx: int, dy: int) -> None:
        """Tell the time where the pointer is over the time bar."""
        was_over, self._pointer = self._over_track(), (x, y)
        if was_over or self._over_track():
            self.replay.changed = True

    def on_mouse_leave(self, x: int, y: int) -> None:
        """Tell no time any more."""
        self._pointer = None
        self.replay.changed = True

    def on_file_drop(self, x: int, y: int, paths: list[str]) -> None:
        """Open recordings; with shift, beside those that are open."""
        if self._load is not None:
            add = self._shift or self.shift_at_pointer()
            self.replay.open_recordings(paths, self._load, add=add)
        self.finish_drop(taken=self._load is not None)

    def on_resize(self, width: int, height: int) -> None:
        """Draw again in the new size."""
        self.replay.aspect = self._aspect()
        self.replay.changed = True

    def on_expose(self) -> None:
        """Draw again what was hidden."""
        self.replay.changed = True

    def close(self) -> None:
        """Free the graphics memory and close."""
        if self._is_closed:
            return
        self._is_closed = True
        pyglet.clock.unschedule(self._tick)
        self.switch_to()
        self._renderer.close()
        super().close()

    # -- inside ----------------------------------------------------------------------------------------------

    def _tick(self, _: float) -> None:
        now = wall_clock.monotonic()
        passed, self._last_tick = now - self._last_tick, now
        self.replay.tick(min(passed, 0.25))
        self.update()

    def update(self) -> None:
        """Draw and show what has changed since the last picture, or a draft in full once all is quiet."""
        if self._is_closed:
            return
        if self.replay.changed:
            self._changed_at = wall_clock.monotonic()
        if self.replay.changed or (self._is_draft and self._quality() is FULL):
            self.replay.changed = False
            self.draw_picture()
            self.flip()

    def _quality(self) -> Quality:
        """Full, or a draft where that is asked for, or where full pictures are slow and something changes."""
        wanted = self.replay.look.quality
        if wanted != "auto":
            return FULL if wanted == "full" else DRAFT
        quiet_for = wall_clock.monotonic() - self._changed_at
        changing = self.replay.changed or self.replay.timeline.playing or self._scrubbing
        if self._full_is_slow and (changing or quiet_for < QUIET_SECONDS):
            return COARSE if self._drafts_are_slow else DRAFT
        return FULL

    def _learn_speed(self, quality: Quality, seconds: float) -> None:
        """Judge by a picture how to draw the next ones."""
        if quality is FULL:
            self._full_is_slow = seconds > SLOW_PICTURE
        else:
            as_draft = seconds * (DRAFT.resolution / quality.resolution) ** 2
            self._drafts_are_slow = as_draft > SLOW_DRAFT

    def _leave(self) -> None:
        """Close what is open over the scene, else the window."""
        if self.replay.look.help:
            self.replay.look.help = False
            self.replay.changed = True
        else:
            self.close()

    def _spot(self, x: float, y: float) -> tuple[float, float]:
        """A point of the window in [-1, 1]."""
        width, height = self.get_framebuffer_size()
        return 2 * x / width - 1, 2 * y / height - 1

    def _over_track(self) -> bool:
        found = self.heads_up().hit(*self._pointer) if self._pointer is not None else None
        return found is not None and found[0] == "track"

    def _pixel_scale(self) -> float:
        """Pixels for a unit of the layout: more on dense screens."""
        return max(float(self.get_pixel_ratio()), 1.0)

    def _aspect(self) -> float:
        width, height = self.get_framebuffer_size()
        return width / height


def open_window(
    replay: Replay, size: tuple[int, int], title: str, load: Callable[[Path], Any] | None = None
) -> ReplayWindow:
    """Open a window that stands at the start and says how to play; files dropped on it are read by `load`."""
    try:
        window = ReplayWindow(replay, size, title, load)
    except (pyglet.window.WindowException, pyglet.gl.ContextException) as error:
        raise remember_failure(error) from error
    replay.invites = True
    return window


def run_until_closed() -> None:
    """Let the window live until it is closed."""
    pyglet.app.run(interval=None)
