"""Colours of bodies: names, "#rrggbb", or red, green and blue from 0 to 1."""

import re
from typing import Any

from . import checks
from .meant import did_you_mean

NAMES = {
    "red": "#e3544f",
    "orange": "#f28c38",
    "yellow": "#f7c233",
    "green": "#38a673",
    "teal": "#21adb3",
    "blue": "#3387d4",
    "purple": "#a366cc",
    "pink": "#e986b4",
    "brown": "#8a6242",
    "black": "#26282c",
    "grey": "#999a9e",
    "white": "#f4f4f2",
}
"""Names and what they mean here: shades that go together and can be told apart in light and shadow."""
_HEXADECIMAL = re.compile(r"#[0-9a-f]{6}")


def checked_colour(value: Any) -> str | None:
    """A colour as "#rrggbb", in sRGB; None stays. TypeError or ValueError for anything else."""
    if value is None:
        return None
    if isinstance(value, str):
        text = value.strip().lower().replace("gray", "grey")
        if text in NAMES:
            return NAMES[text]
        if _HEXADECIMAL.fullmatch(text):
            return text
        hint = did_you_mean(text, NAMES, f"; names are {', '.join(NAMES)}")
        raise ValueError(
            f"color: expected a name, '#rrggbb', or red, green and blue from 0 to 1, got {value[:40]!r}{hint}"
        )
    parts = checks.array("color", value, (3,))
    if parts.min() < 0.0 or parts.max() > 1.0:
        raise ValueError(f"color: expected red, green and blue from 0 to 1, got {parts.tolist()}")
    return "#" + "".join(f"{round(255 * float(part)):02x}" for part in parts)
