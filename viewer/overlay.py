"""Text and flat shapes over a drawn scene. Import only after `display.load_pyglet`."""

from typing import Any, Literal

import pyglet
from pyglet import gl
from pyglet.math import Mat4

FONTS = ["DejaVu Sans", "Segoe UI", "Helvetica Neue", "Arial"]
Anchor = Literal["left", "center", "right"]
INK = (28, 34, 44, 255)
PAPER = (248, 250, 253, 205)


class Overlay:
    """Things drawn in pixels from the lower left corner over a picture of `size` pixels."""

    def __init__(self, window: Any, size: tuple[int, int]) -> None:
        self._window = window
        self._size = size
        self._kept: list[Any] = []
        self._shapes = pyglet.graphics.Batch()
        self._text = pyglet.graphics.Batch()

    def text(self, words: str, x: float, y: float, *, size: float = 13, anchor: Anchor = "left",
             colour: tuple[int, int, int, int] = INK, paper: bool = False) -> None:  # fmt: skip
        """Write a line about the height y, on light paper when wanted; nothing without a text library."""
        label = make_label(words, x, y, size, anchor, colour, self._text)
        if label is None:
            return
        self._kept.append(label)
        if paper:
            left = {"left": x, "right": x - label.content_width, "center": x - label.content_width / 2}[
                anchor
            ]
            height = label.content_height
            self.box(
                left - 0.7 * size, y - 0.62 * height, label.content_width + 1.4 * size, 1.24 * height, PAPER
            )

    def box(self, x: float, y: float, width: float, height: float, colour: tuple[int, int, int, int]) -> None:
        """Draw a rectangle with rounded corners."""
        radius = min(6, width / 2, height / 2)
        shape = pyglet.shapes.RoundedRectangle(x, y, width, height, radius, color=colour, batch=self._shapes)
        self._kept.append(shape)

    def line(self, x: float, y: float, x2: float, y2: float, thickness: float, colour: tuple) -> None:
        """Draw a line."""
        self._kept.append(pyglet.shapes.Line(x, y, x2, y2, thickness, color=colour, batch=self._shapes))

    def disc(self, x: float, y: float, radius: float, colour: tuple) -> None:
        """Draw a disc."""
        self._kept.append(pyglet.shapes.Circle(x, y, radius, color=colour, batch=self._shapes))

    def play_sign(self, x: float, y: float, height: float, colour: tuple) -> None:
        """Draw a triangle that points right, its left side in the middle at (x, y)."""
        half = height / 2
        corners = (x, y - half, x, y + half, x + 0.95 * height, y)
        self._kept.append(pyglet.shapes.Triangle(*corners, colour, batch=self._shapes))

    def draw(self) -> None:
        """Draw everything into the bound framebuffer."""
        width, height = self._size
        before = self._window.projection
        self._window.projection = Mat4.orthogonal_projection(0, width, 0, height, -255, 255)
        gl.glViewport(0, 0, width, height)
        gl.glDisable(gl.GL_DEPTH_TEST)
        gl.glEnable(gl.GL_BLEND)
        gl.glBlendFunc(gl.GL_SRC_ALPHA, gl.GL_ONE_MINUS_SRC_ALPHA)
        self._shapes.draw()
        self._text.draw()
        self._window.projection = before


def make_label(words: str, x: float, y: float, size: float, anchor: Anchor, colour: tuple, batch: Any) -> Any:
    """Make a pyglet label, or None where no text can be drawn because freetype or fontconfig is missing."""
    global _text_works
    if not _text_works:
        return None
    try:
        return pyglet.text.Label(
            words, x=x, y=y, font_name=FONTS, font_size=size, anchor_x=anchor, anchor_y="center",
            color=colour, batch=batch,
        )  # fmt: skip
    except Exception:  # whatever ctypes or pyglet raises: a picture without labels is better than none
        _text_works = False
        return None


_text_works = True
