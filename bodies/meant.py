"""Says what was meant where a class gets arguments that it does not have: names of other programs, or slips."""

import difflib
import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any

MEANT = {
    "mu": "friction",
    "coefficient_of_friction": "friction",
    "e": "restitution",
    "cor": "restitution",
    "bounciness": "restitution",
    "half_extents": "lengths, which are whole: twice the half extents",
    "size": "lengths",
    "extents": "lengths",
    "r": "radius",
    "m": "mass",
    "pos": "position",
    "vel": "velocity",
    "omega": "angular_velocity",
    "spin": "angular_velocity",
    "rotation": "orientation",
    "quaternion": "orientation, (w, x, y, z)",
    "static": "fixed",
    "kinematic": "fixed",
    "g": "gravity",
    "point": "anchor",
    "pivot": "anchor",
    "parent": "base",
    "motor": "drive",
}
"""Names of other programs, and what they are here; a class takes those that it has."""


def says_what_was_meant(kind: Any) -> None:
    """Let a class answer arguments that it does not have with the ones that were meant, in one sentence.

    The class is changed in place. What its constructor raises otherwise stays as it is.
    """
    original: Callable[..., None] = kind.__init__
    signature = inspect.signature(original)

    @wraps(original)
    def __init__(self: Any, *values: Any, **named: Any) -> None:
        try:
            original(self, *values, **named)
        except TypeError as error:
            if _fits(signature, self, values, named):
                raise
            raise TypeError(_sentence(kind, signature, values, named) or str(error)) from None

    kind.__init__ = __init__


def _fits(signature: inspect.Signature, *given: Any) -> bool:
    """Whether a constructor takes these arguments, whatever it makes of them."""
    self, values, named = given
    try:
        signature.bind(self, *values, **named)
    except TypeError:
        return False
    return True


def _sentence(
    kind: type, signature: inspect.Signature, values: tuple[Any, ...], named: dict[str, Any]
) -> str | None:
    """What to say of arguments that a constructor does not take, None where it says it best itself."""
    names = [name for name in signature.parameters if name != "self"]
    for name in named:
        if name not in names:
            guess = MEANT.get(name, "")
            if guess.split(",")[0] not in names:
                guess = next(iter(difflib.get_close_matches(name, names, 1)), "")
            return f"{kind.__name__}: no argument {name!r}" + (
                f": did you mean {guess}?" if guess else f"; it has {', '.join(names)}"
            )
    if len(values) == 3 and names and all(isinstance(value, int | float) for value in values):
        return f"{kind.__name__}: expected {names[0]} as one triple, {kind.__name__}({values})"
    return None
