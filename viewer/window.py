"""The window of a replay. Import only after `display.load_pyglet`."""

import time as wall_clock
from typing import Any

import pyglet
from pyglet import gl
from pyglet.window import key, mouse

from .display import remember_failure
from .moments import time_decimals, time_text
from .overlay import Overlay
from .renderer import Renderer
from .stage import Stage, length_text
from .timeline import Timeline

HELP = (
    ("space", "play or pause"),
    ("← →", "one frame back or on (shift: ten)"),
    ("[ ]", "previous or next event"),
    (", .", "slower or faster"),
    ("Home End", "to the start or the end"),
    ("drag", "orbit"),
    ("right drag", "pan"),
    ("scroll", "zoom"),
    ("F", "frame the whole motion"),
    ("C", "contact impulses on or off"),
    ("H", "this help"),
    ("Esc", "close"),
)
ARROW_SECONDS = 0.25  # of wall clock that an impulse stays visible after its event
TICK = 1 / 60
PANEL = (38, 40, 50, 225)
PANEL_INK = (240, 243, 248, 255)
TRACK = (120, 124, 145, 255)
PLAYED = (96, 165, 250, 255)
EVENT = (240, 125, 50, 255)


class ReplayWindow(pyglet.window.Window):
    """Replays one trajectory; draws only when something changed."""

    def __init__(self, trajectory: Any, size: tuple[int, int], title: str) -> None:
        super().__init__(width=size[0], height=size[1], caption=title, resizable=True, vsync=False)
        self.events = sorted(trajectory.events, key=lambda event: event.time)
        self.timeline = Timeline(
            trajectory.start_time, trajectory.end_time, (event.time for event in self.events)
        )
        self.stage = Stage(trajectory)
        self.renderer = Renderer(self.stage, self.get_framebuffer_size())
        self.camera = self.stage.camera(self._aspect())
        self.shows_help = False
        self.shows_impulses = True
        self.frames_drawn = 0
        self._decimals = time_decimals(self.timeline.duration)
        self._scrubbing = False
        self._changed = True
        self._last_tick = wall_clock.monotonic()
        self.timeline.toggle()
        pyglet.clock.schedule_interval(self._tick, TICK)

    def draw_picture(self) -> None:
        """Draw the scene and everything over it into the window."""
        self.switch_to()
        width, height = self.get_framebuffer_size()
        self.renderer.resize((width, height))
        linger = ARROW_SECONDS * self.timeline.speed if self.shows_impulses else -1.0
        self.renderer.draw(self.camera, self.timeline.time, linger=linger)
        gl.glBindFramebuffer(gl.GL_READ_FRAMEBUFFER, self.renderer.framebuffer)
        gl.glBindFramebuffer(gl.GL_DRAW_FRAMEBUFFER, 0)
        whole = (0, 0, width, height)
        gl.glBlitFramebuffer(*whole, *whole, gl.GL_COLOR_BUFFER_BIT, gl.GL_NEAREST)
        gl.glBindFramebuffer(gl.GL_FRAMEBUFFER, 0)
        self._overlay(width, height).draw()
        self.frames_drawn += 1

    def on_key_press(self, symbol: int, modifiers: int) -> None:
        frames = 10 if modifiers & key.MOD_SHIFT else 1
        actions = {
            key.SPACE: self.timeline.toggle,
            key.LEFT: lambda: self.timeline.step_frames(-frames),
            key.RIGHT: lambda: self.timeline.step_frames(frames),
            key.BRACKETLEFT: self.timeline.previous_event,
            key.BRACKETRIGHT: self.timeline.next_event,
            key.COMMA: self.timeline.slower,
            key.PERIOD: self.timeline.faster,
            key.HOME: lambda: self.timeline.seek_fraction(0),
            key.END: lambda: self.timeline.seek_fraction(1),
            key.F: lambda: self.camera.frame_all(self.stage.lower, self.stage.upper, self._aspect()),
            key.C: self._toggle_impulses,
            key.H: self._toggle_help,
            key.ESCAPE: self.close,
        }
        if symbol in actions:
            actions[symbol]()
            self._changed = True

    def on_mouse_press(self, x: int, y: int, button: int, modifiers: int) -> None:
        scale = self._pixel_scale()
        if button == mouse.LEFT and y < 64 * scale:
            if x < 72 * scale:
                self.timeline.toggle()
            else:
                self._scrubbing = True
                self._scrub(x)
            self._changed = True

    def on_mouse_release(self, x: int, y: int, button: int, modifiers: int) -> None:
        self._scrubbing = False

    def on_mouse_drag(self, x: int, y: int, dx: int, dy: int, buttons: int, modifiers: int) -> None:
        if self._scrubbing:
            self._scrub(x)
        elif buttons & mouse.LEFT:
            self.camera.orbit(-dx * 4 / self.height, -dy * 4 / self.height)
        elif buttons & (mouse.RIGHT | mouse.MIDDLE):
            self.camera.pan(-dx / self.height, -dy / self.height)
        self._changed = True

    def on_mouse_scroll(self, x: int, y: int, scroll_x: float, scroll_y: float) -> None:
        self.camera.zoom(0.9**scroll_y)
        self._changed = True

    def on_resize(self, width: int, height: int) -> None:
        self._changed = True

    def on_expose(self) -> None:
        self._changed = True

    def close(self) -> None:
        """Free the graphics memory and close."""
        pyglet.clock.unschedule(self._tick)
        self.switch_to()
        self.renderer.close()
        super().close()

    def _tick(self, _: float) -> None:
        now = wall_clock.monotonic()
        passed, self._last_tick = now - self._last_tick, now
        was_playing = self.timeline.playing
        self._changed |= self.timeline.advance(min(passed, 0.25)) or was_playing != self.timeline.playing
        if self._changed:
            self._changed = False
            self.draw_picture()
            self.flip()

    def _scrub(self, x: float) -> None:
        left, right = self._track()
        self.timeline.playing = False
        self.timeline.seek_fraction((x - left) / (right - left))

    def _track(self) -> tuple[float, float]:
        """The ends of the time bar [pixels]."""
        scale = self._pixel_scale()
        return 170 * scale, max(self.width - 190 * scale, 200 * scale)

    def _pixel_scale(self) -> float:
        """Pixels for a unit of the layout: more on dense screens."""
        return max(float(self.get_pixel_ratio()), 1.0)

    def _aspect(self) -> float:
        width, height = self.get_framebuffer_size()
        return width / height

    def _toggle_help(self) -> None:
        self.shows_help = not self.shows_help

    def _toggle_impulses(self) -> None:
        self.shows_impulses = not self.shows_impulses

    def _overlay(self, width: int, height: int) -> Overlay:
        overlay = Overlay(self, (width, height))
        unit = self._pixel_scale()
        top = height - 28 * unit
        overlay.text(self._event_text(), 26 * unit, top, size=12 * unit, paper=True)
        hint = "space play   ←/→ frame   [ ] event   H help"
        if self.stage.planes:
            hint = f"tile {length_text(self.stage.tile)}   {hint}"
        if width > 760 * unit:
            overlay.text(hint, width - 26 * unit, top, size=9.5 * unit, anchor="right", paper=True)
        self._add_time_bar(overlay, width, unit)
        if self.shows_help:
            self._add_help(overlay, width, height, unit)
        return overlay

    def _event_text(self) -> str:
        reached = [event for event in self.events if event.time <= self.timeline.time]
        if not reached:
            return f"before the first of {len(self.events)} events" if self.events else "no events"
        latest = reached[-1]
        words = f"event {len(reached)}/{len(self.events)}   {str(latest.kind).replace('_', '-')}"
        contacts = getattr(latest, "contacts", None)
        if contacts is not None and len(contacts.point):
            count = len(contacts.point)
            words += f"   {count} contact{'s' if count > 1 else ''}"
        return words

    def _add_time_bar(self, overlay: Overlay, width: int, unit: float) -> None:
        timeline = self.timeline
        overlay.box(16 * unit, 14 * unit, width - 32 * unit, 44 * unit, PANEL)
        middle = 36 * unit
        x = 34 * unit
        if timeline.playing:
            overlay.box(x, middle - 9 * unit, 5 * unit, 18 * unit, PANEL_INK)
            overlay.box(x + 10 * unit, middle - 9 * unit, 5 * unit, 18 * unit, PANEL_INK)
        else:
            overlay.play_sign(x, middle, 18 * unit, PANEL_INK)
        overlay.text(f"{timeline.speed:g}x", 72 * unit, middle, size=11 * unit, colour=PANEL_INK)
        left, right = self._track()
        overlay.line(left, middle, right, middle, 4 * unit, TRACK)
        now = left + timeline.fraction * (right - left)
        overlay.line(left, middle, now, middle, 4 * unit, PLAYED)
        for x in self._event_places(left, right):
            overlay.line(x, middle + 5 * unit, x, middle + 14 * unit, 1.5 * unit, EVENT)
        overlay.disc(now, middle, 7 * unit, PANEL_INK)
        text = time_text(timeline.time, self._decimals)
        overlay.text(text, width - 34 * unit, middle, size=11 * unit, anchor="right", colour=PANEL_INK)

    def _event_places(self, left: float, right: float) -> list[int]:
        """Where on the time bar events lie, in whole pixels, each once."""
        timeline = self.timeline
        length = timeline.duration or 1.0
        places = {
            round(left + (time - timeline.start) / length * (right - left)) for time in timeline.event_times
        }
        return sorted(places)

    def _add_help(self, overlay: Overlay, width: int, height: int, unit: float) -> None:
        line = 27 * unit
        box_width, box_height = 470 * unit, (len(HELP) + 1.2) * line
        left, top = (width - box_width) / 2, (height + box_height) / 2 + 20 * unit
        overlay.box(left, top - box_height, box_width, box_height, PANEL)
        for number, (keys, meaning) in enumerate(HELP, start=1):
            y = top - number * line
            overlay.text(keys, left + 28 * unit, y, size=12 * unit, colour=PLAYED)
            overlay.text(meaning, left + 150 * unit, y, size=12 * unit, colour=PANEL_INK)


def open_window(trajectory: Any, size: tuple[int, int], title: str) -> ReplayWindow:
    """Open a window that starts to play the trajectory."""
    try:
        return ReplayWindow(trajectory, size, title)
    except (pyglet.window.WindowException, pyglet.gl.ContextException) as error:
        raise remember_failure(error) from error


def run_until_closed() -> None:
    """Let the window live until it is closed."""
    pyglet.app.run(interval=None)
