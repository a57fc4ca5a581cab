"""How many overlaid outcomes lie at each place of a picture: the colour scale, and its key.

The scale is logarithmic, from one outcome to all, so that what happens once is seen beside what always happens.
"""

import math
from typing import Any

from .plots import Box
from .theme import PANEL, PANEL_FAINT, PANEL_INK, Light, to_bytes

SCALE: tuple[Light, ...] = tuple(
    (red / 255, green / 255, blue / 255)
    for red, green, blue in (
        (68, 1, 84),
        (71, 44, 122),
        (59, 81, 139),
        (44, 113, 142),
        (33, 144, 141),
        (39, 173, 129),
        (92, 200, 99),
        (170, 220, 50),
        (253, 231, 37),
    )
)
"""Even steps of the colour map viridis, whose lightness rises evenly: it is read the same without colours."""

KEY_WIDTH, KEY_HEIGHT = 262, 58  # units
_STEPS = 64  # of the key


def level(count: float, most: int) -> float:
    """Where a number of outcomes lies on the scale, 0 for one and 1 for `most`."""
    return min(max(math.log(max(count, 1.0)) / math.log(max(most, 2)), 0.0), 1.0)


def colour_of(share: float) -> Light:
    """The colour at a place of the scale from 0 to 1."""
    place = min(max(share, 0.0), 1.0) * (len(SCALE) - 1)
    low = min(int(place), len(SCALE) - 2)
    red, green, blue = (
        (1 - place + low) * a + (place - low) * b for a, b in zip(SCALE[low], SCALE[low + 1], strict=True)
    )
    return red, green, blue


def ticks(most: int) -> list[int]:
    """Round numbers of outcomes from one to all, at most six, that are well apart on the scale."""
    found = [1]
    power = 1
    while power <= most:
        found += [step * power for step in (2, 5, 10) if step * power < most]
        power *= 10
    while len(found) > 5:
        found = found[::2]
    while len(found) > 1 and level(found[-1], most) > 0.88:
        found.pop()
    return [*found, most]


def draw_key(overlay: Any, box: Box, most: int, unit: float) -> None:
    """Draw the scale with numbers and what they mean, `unit` pixels for a unit of lengths."""
    overlay.box(box.left, box.bottom, box.width, box.height, PANEL, 8 * unit)
    left, length = box.left + 14 * unit, box.width - 28 * unit
    bottom, step = box.bottom + 22 * unit, length / _STEPS
    for number in range(_STEPS):
        colour = to_bytes(colour_of((number + 0.5) / _STEPS))
        overlay.box(left + number * step, bottom, step + 0.5, 11 * unit, colour, 0.0)
    for count in ticks(most):
        x = left + level(count, most) * length
        anchor = "left" if count == 1 else "right" if count == most else "center"
        overlay.text(
            str(count), x, box.bottom + 11 * unit, size=8.5 * unit, anchor=anchor, colour=PANEL_FAINT
        )
    words = f"of {most} outcomes, how many are here"
    overlay.text(words, left, box.bottom + 45 * unit, size=9 * unit, colour=PANEL_INK)
