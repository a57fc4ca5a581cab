"""Whether two scenes are equal bit for bit, by all that they hold rather than by what they say of themselves."""

import struct
from typing import Any

import numpy as np

from carom.bodies import Joint, Scene

NOT_COMPARED = {"_added", "_before_moves", "_numbered", "_spheres"}
"""What a scene remembers of how it was made: which objects were added, and the next number of a name; and spheres
in bulk, with which files refuse it."""
REFERENCES = {"body", "base", "name"}
"""Of a joint as it was given, which may name bodies by other means; its placed form has indices and a name."""


def differences(one: Any, other: Any, place: str = "scene") -> list[str]:
    """Where two scenes, or parts of them, differ in a type or a bit."""
    if type(one) is not type(other):
        return [f"{place}: {type(one).__name__} and {type(other).__name__}"]
    if isinstance(one, np.ndarray):
        same = (one.dtype, one.shape, one.tobytes()) == (other.dtype, other.shape, other.tobytes())
        return [] if same else [f"{place}: {one} and {other}"]
    if isinstance(one, float):
        return [] if struct.pack("d", one) == struct.pack("d", other) else [f"{place}: {one} and {other}"]
    if isinstance(one, list | tuple):
        pairs = [(f"{place}[{k}]", a, b) for k, (a, b) in enumerate(zip(one, other, strict=False))]
        return ([] if len(one) == len(other) else [f"{place}: lengths"]) + _among(pairs)
    if isinstance(one, dict):
        pairs = [(f"{place}[{key!r}]", one[key], other.get(key)) for key in one]
        return ([] if one.keys() == other.keys() else [f"{place}: {set(one) ^ set(other)}"]) + _among(pairs)
    if hasattr(one, "__dict__") and not isinstance(one, type):
        left_out = NOT_COMPARED if isinstance(one, Scene) else REFERENCES if isinstance(one, Joint) else set()
        return differences(
            {name: value for name, value in vars(one).items() if name not in left_out},
            {name: value for name, value in vars(other).items() if name not in left_out},
            place,
        )
    return [] if one == other else [f"{place}: {one} and {other}"]


def _among(pairs: list[tuple[str, Any, Any]]) -> list[str]:
    return [found for place, one, other in pairs for found in differences(one, other, place)]
