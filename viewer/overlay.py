"""Text and flat shapes over a drawn scene. Import only after `display.load_pyglet`."""

import math
from collections.abc import Callable, Hashable
from functools import cache, lru_cache
from typing import Any, Literal
from weakref import WeakKeyDictionary

import numpy as np
import pyglet
from pyglet import gl

from . import shaders
from .gl_objects import Program, Strips
from .theme import LIGHT, Colour, Theme

_Quads = tuple[int, Any]
"""A texture, and what `_Painter` draws with it: one quad of 16 numbers, a list of them, or an array (k, 16)."""
_SHEETS = 24  # that are kept of a window
FONTS = ["DejaVu Sans", "Segoe UI", "Helvetica Neue", "Arial"]
Anchor = Literal["left", "center", "right"]
DOTS_PER_INCH = 96
CAPITAL_HEIGHT = 0.365  # half the height of a capital letter, in units of the font's size
_BOX, _TRIANGLE, _LETTER = 0.0, 1.0, 2.0


class Overlay:
    """Things drawn in order, in pixels from the lower left corner, over a picture of `size` pixels."""

    def __init__(self, window: Any, size: tuple[int, int], theme: Theme = LIGHT) -> None:
        self._window = window
        self._size = size
        self.theme = theme
        self._quads: list[_Quads] = []

    def text(self, words: str, x: float, y: float, *, size: float = 13, anchor: Anchor = "left",
             colour: Colour | None = None, paper: bool = False) -> None:  # fmt: skip
        """Write a line about the height y, on paper when wanted; nothing without a text library."""
        line = _line(words, _rounded(size))
        if line is None:
            return
        letters, width = line
        left = x - {"left": 0.0, "right": width, "center": width / 2}[anchor]
        if paper:
            self.box(left - 0.7 * size, y - 1.0 * size, width + 1.4 * size, 2.0 * size, self.theme.paper)
        tint = [part / 255 for part in colour or self.theme.ink]
        left, base = round(left), round(y - CAPITAL_HEIGHT * size * DOTS_PER_INCH / 72)
        for texture, (low_x, low_y, high_x, high_y), corners in letters:
            box = [left + (low_x + high_x) / 2, base + (low_y + high_y) / 2]
            box += [(high_x - low_x) / 2, (high_y - low_y) / 2]
            self._quads.append((texture, [*box, 1.0, 0.0, 0.0, _LETTER, *corners, *tint]))

    def width(self, words: str, size: float) -> float:
        """Width of a line [pixels]; 0 without a text library."""
        line = _line(words, _rounded(size))
        return line[1] if line else 0.0

    def box(self, x: float, y: float, width: float, height: float, colour: Colour, radius: float = 6) -> None:
        """Draw a rectangle with rounded corners."""
        radius = min(radius, width / 2, height / 2)
        self._shape((x + width / 2, y + height / 2, width / 2, height / 2), 0.0, radius, _BOX, colour)

    def line(self, x: float, y: float, x2: float, y2: float, thickness: float, colour: Colour) -> None:
        """Draw a line."""
        half = math.hypot(x2 - x, y2 - y) / 2
        angle = math.atan2(y2 - y, x2 - x)
        self._shape(((x + x2) / 2, (y + y2) / 2, half, thickness / 2), angle, 0.0, _BOX, colour)

    def disc(self, x: float, y: float, radius: float, colour: Colour) -> None:
        """Draw a disc."""
        self._shape((x, y, radius, radius), 0.0, radius, _BOX, colour)

    def play_sign(self, x: float, y: float, height: float, colour: Colour) -> None:
        """Draw a triangle that points right, its left side in the middle at (x, y)."""
        half = 0.95 * height / 2
        self._shape((x + half, y, half, height / 2), 0.0, 0.0, _TRIANGLE, colour)

    def sheet(self, key: Hashable, draw: Callable[["Overlay"], None]) -> None:
        """Draw what `draw` draws, which must be the same again for an equal key: of that, the latest are kept."""
        painter = _painter(self._window)
        key = (key, self.theme.name)
        if key not in painter.sheets:
            while len(painter.sheets) >= _SHEETS:
                painter.sheets.pop(next(iter(painter.sheets)))
            sheet = Overlay(self._window, self._size, self.theme)
            draw(sheet)
            painter.sheets[key] = [
                (texture, np.array(part, dtype=np.float32)) for texture, part in _runs(sheet._quads)
            ]
        self._quads += painter.sheets[key]

    def draw(self) -> None:
        """Draw everything into the bound framebuffer."""
        gl.glViewport(0, 0, *self._size)
        _painter(self._window).draw(self._size, self._quads)

    def _shape(self, box: tuple, angle: float, radius: float, kind: float, colour: Colour) -> None:
        tint = [part / 255 for part in colour]
        turn = [math.cos(angle), math.sin(angle), radius, kind]
        self._quads.append((0, [*box, *turn, 0.0, 0.0, 0.0, 0.0, *tint]))


class _Painter:
    """Draws quads of one window's context."""

    def __init__(self) -> None:
        self._program = Program(shaders.OVERLAY_VERTEX, shaders.OVERLAY_FRAGMENT)
        self._strips = Strips((4, 4, 4, 4), divisor=1)
        self.sheets: dict[Hashable, list[_Quads]] = {}

    def draw(self, size: tuple[int, int], quads: "list[_Quads]") -> None:
        gl.glDisable(gl.GL_DEPTH_TEST)
        gl.glDisable(gl.GL_CULL_FACE)
        gl.glEnable(gl.GL_BLEND)
        gl.glBlendFunc(gl.GL_SRC_ALPHA, gl.GL_ONE_MINUS_SRC_ALPHA)
        gl.glActiveTexture(gl.GL_TEXTURE0)
        self._program.use()
        self._program.set("pixels", size)
        self._program.set("letters", 0)
        for texture, part in _runs(quads):
            gl.glBindTexture(gl.GL_TEXTURE_2D, texture)
            self._strips.place(np.array(part, dtype=np.float32))
            self._strips.draw_quads()


def _runs(quads: "list[_Quads]") -> "list[_Quads]":
    """Quads in order, split where the texture changes; shapes need none and go along with any."""
    runs: list[_Quads] = []
    for texture, quad in quads:
        if isinstance(quad, np.ndarray):
            runs.append((texture, quad))
            continue
        if not runs or texture not in (0, runs[-1][0]) or isinstance(runs[-1][1], np.ndarray):
            if runs and runs[-1][0] == 0 and not isinstance(runs[-1][1], np.ndarray):
                runs[-1] = (texture, runs[-1][1])
            else:
                runs.append((texture, []))
        runs[-1][1].append(quad)
    return runs


def _painter(window: Any) -> _Painter:
    if window not in _painters:
        _painters[window] = _Painter()
    return _painters[window]


def _rounded(size: float) -> float:
    """A size of which there are few, since each has textures of its own."""
    return round(2 * size) / 2


@lru_cache(maxsize=4096)
def _line(words: str, size: float) -> tuple[list[tuple], float] | None:
    """The letters of a line (texture, box, texture corners) from its left end on its base line, and its width.

    None where no text can be drawn because freetype or fontconfig is missing.
    """
    global _text_works
    if not _text_works:
        return None
    try:
        glyphs, offsets = _font(size).get_glyphs(words)
    except Exception:  # whatever ctypes or pyglet raises: a picture without labels is better than none
        _text_works = False
        return None
    letters, x = [], 0.0
    for glyph, offset in zip(glyphs, offsets, strict=True):
        left, bottom, right, top = glyph.vertices
        corners = (glyph.tex_coords[0], glyph.tex_coords[1], glyph.tex_coords[6], glyph.tex_coords[7])
        place = (x + left + offset.x_offset, bottom, x + right + offset.x_offset, top)
        letters.append((glyph.owner.id, place, corners))
        x += glyph.advance + offset.x_advance
    return letters, x


@cache
def _font(size: float) -> Any:
    """The font of a size, kept for good: without it pyglet would drop the textures of its letters."""
    return pyglet.font.load(FONTS, size, dpi=DOTS_PER_INCH)


_text_works = True
_painters: "WeakKeyDictionary[Any, _Painter]" = WeakKeyDictionary()
