"""Says what was meant where a class or function gets arguments that it does not have, or is asked for attributes:
names of other programs, or slips; and how to change what is not written into."""

import difflib
import inspect
from collections.abc import Callable, Collection, Iterable
from dataclasses import FrozenInstanceError
from functools import wraps
from typing import Any

_NONE = "none: "  # before a word on what has no counterpart here
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
    "diameter": "radius, which is half of it",
    "height": "length",
    "speed": "rate",
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
    "duration": "until, which is a time and not how long",
    "time": "until",
    "t": "until",
    "solver": "law",
    "impact_law": "law",
    "timestep": _NONE + "none is needed, since impacts are found exactly in time",
    "dt": _NONE + "none is needed, since impacts are found exactly in time",
    "stiffness": "spring",
    "type": "kind",
    "hinge": "revolute",
    "slider": "prismatic",
    "rope": "distance",
    "weld": "fixed",
    "plane": "half-space",
    "ball": "sphere",
    "cube": "box",
    "hull": "convex-mesh",
}
"""Names of other programs, and what they are here; each class, function or kind takes those that it has."""

_EXAMPLES = {
    "law": "law=carom.StrongeCoulomb()",
    "until": "until=2.0 [s]",
    "normal": "normal=(0, 0, 1)",
    "lengths": "lengths=(1, 1, 1)",
    "radius": "radius=0.1",
    "shape": "carom.Sphere(radius=0.1)",
    "axis": "axis=(0, 0, 1)",
    "anchor": "anchor=(0, 0, 0)",
}
"""Of arguments that are needed."""


def meant(word: str, names: Collection[str]) -> str:
    """How a refusal of a word that is none of these names goes on: with the one that was meant, ``": did you mean
    friction?"``, or ``""`` where none seems to be."""
    guess = MEANT.get(word, "")
    if guess.startswith(_NONE):
        return f": {guess.removeprefix(_NONE)}"
    if guess.split(",")[0] not in names:
        guess = nearest(word.lower(), names)
    return f": did you mean {guess}?" if guess else ""


def did_you_mean(word: str, names: Iterable[str], otherwise: str = "", share: float = 0.6) -> str:
    """How a refusal of a word goes on that is none of these names: ``": did you mean 'sphere'?"`` after the nearest
    one, of whose letters at least this share are the word's, `otherwise` where there is none.

    >>> did_you_mean("sphre", ["box", "sphere"])
    ": did you mean 'sphere'?"
    """
    guess = nearest(word, names, share)
    return f": did you mean {guess!r}?" if guess else otherwise


def nearest(word: str, names: Iterable[str], share: float = 0.6) -> str:
    """The name most like a word, of whose letters at least this share are the word's; "" where there is none."""
    return next(iter(difflib.get_close_matches(word, names, 1, share)), "")


def says_what_was_meant(kind: Any) -> None:
    """Let a class answer arguments that it does not have with the ones that were meant, in one sentence.

    The class is changed in place. What its constructor raises otherwise stays as it is.
    """
    kind.__init__ = _answering(kind.__init__, kind.__name__)


def says_how_to_change(kind: Any, advice: str) -> None:
    """Let a frozen dataclass answer what is written into its fields with how that is done, in one sentence.

    The class is changed in place.
    """

    def refuse(self: Any, name: str, value: Any) -> None:
        raise FrozenInstanceError(f"{type(self).__name__}.{name} cannot be written into: {advice}")

    kind.__setattr__ = refuse


def says_which_name(kind: Any, others: dict[str, str]) -> None:
    """Let a class answer attributes that it does not have with the ones that were meant: `others` are names of
    other programs, and what they are here.

    The class is changed in place.
    """

    def answer(self: Any, name: str) -> Any:
        names = [known for known in dir(self) if not known.startswith("_")]
        hint = "" if name.startswith("_") else did_you_mean(others.get(name, name), names)
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}{hint}")

    kind.__getattr__ = answer


def answers_slips(method: Any) -> Any:
    """The same for one method of a class."""
    return _answering(method, method.__name__)


def _answering(original: Callable[..., Any], title: str) -> Callable[..., Any]:
    """A function that calls another, and answers arguments that do not fit it."""
    signature = inspect.signature(original)

    @wraps(original)
    def answering(*values: Any, **named: Any) -> Any:
        try:
            return original(*values, **named)
        except TypeError as error:
            if _fits(signature, values, named):
                raise
            raise TypeError(_sentence(title, signature, values[1:], named) or str(error)) from None

    return answering


def _fits(signature: inspect.Signature, values: tuple[Any, ...], named: dict[str, Any]) -> bool:
    """Whether a function takes these arguments, whatever it makes of them."""
    try:
        signature.bind(*values, **named)
    except TypeError:
        return False
    return True


def _sentence(
    title: str, signature: inspect.Signature, values: tuple[Any, ...], named: dict[str, Any]
) -> str | None:
    """What to say of arguments that a function does not take, None where it says it best itself."""
    parameters = [parameter for name, parameter in signature.parameters.items() if name != "self"]
    names = [parameter.name for parameter in parameters]
    for name in named:
        if name not in names:
            return f"{title}: no argument {name!r}" + (meant(name, names) or f"; it has {', '.join(names)}")
    if len(values) == 3 and names and all(isinstance(value, int | float) for value in values):
        return f"{title}: expected {names[0]} as one triple, {title}({values})"
    places = [each.name for each in parameters if each.kind is not inspect.Parameter.KEYWORD_ONLY]
    if len(values) > len(places) < len(names):
        by_name = [name for name in names if name not in places and name not in named]
        return f"{title}: expected at most {len(places)} arguments without a name, and by name {', '.join(by_name)}"
    lacking = [
        each.name
        for each in parameters
        if each.default is inspect.Parameter.empty and each.name not in {*named, *places[: len(values)]}
    ]
    if not lacking:
        return None
    example = _EXAMPLES.get(lacking[0], "")
    return f"{title}: expected {' and '.join(lacking)}" + (
        f", such as {example}" if example else ", got nothing"
    )
