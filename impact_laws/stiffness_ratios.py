"""How stiff contacts are beside each other, of the law that shares impulses by their potential energies."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .impact_problem import ImpactProblem
from .outcome import ImpactOutcome, ImpactStatus

Array = NDArray[np.float64]

StiffnessRatios = (
    None
    | Sequence[float]
    | Mapping[str | tuple[str, ...], float]
    | Sequence[tuple[str | tuple[str, ...], float]]
    | Callable[[ImpactProblem], ArrayLike]
)
"""A rule of the stiffnesses of contacts, of which only ratios count:

- None: all are equal;
- numbers by contact, for problems of as many contacts;
- names with numbers, such as ``{("cue", "red"): 2.0, "floor": 0.1}`` or pairs of these: the first entry whose
  bodies a contact has, by `ImpactProblem.contact_names`, and 1 where none has, so that one rule serves a whole
  run;
- a function of the problem that returns a number for each contact.

Where numbers do not fit a problem, its outcome has the status RATIO_MISFIT. A sole contact needs none.
"""


class RatioMisfit(ValueError):
    """Stiffness ratios that do not fit the contacts of a problem."""

    def outcome(self, problem: ImpactProblem) -> ImpactOutcome:
        """What a law answers then: no impulse, and why."""
        return ImpactOutcome.from_stages(
            problem, np.empty((0, problem.u.size)), (), ImpactStatus.RATIO_MISFIT, str(self)
        )


def checked_ratios(ratios: Any) -> Any:
    """Stiffness ratios as laws keep them, or an error that names the field."""
    if ratios is None or callable(ratios):
        return ratios
    if isinstance(ratios, Mapping):
        ratios = tuple(ratios.items())
    try:
        entries = tuple(ratios.tolist() if isinstance(ratios, np.ndarray) else ratios)
    except TypeError:
        entries = ()
    if not entries or isinstance(ratios, str):
        raise TypeError(
            "stiffness_ratios must be None, numbers by contact, names with numbers, or a function of the problem, "
            f"got {ratios!r}"
        )
    if all(_is_number(entry) for entry in entries):
        return tuple(_positive(entry) for entry in entries)
    return tuple(_named(entry, ratios) for entry in entries)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


def _positive(value: Any) -> float:
    number = float(value)
    if not 0.0 < number < math.inf:
        raise ValueError(f"stiffness_ratios must be above 0 and finite, got {number:g}")
    return number


def _named(entry: Any, ratios: Any) -> tuple[tuple[str, ...], float]:
    if isinstance(entry, tuple | list) and len(entry) == 2 and _is_number(entry[1]):
        names = (entry[0],) if isinstance(entry[0], str) else entry[0]
        pair = isinstance(names, tuple | list) and 1 <= len(names) <= 2
        if pair and all(isinstance(name, str) for name in names):
            return tuple(names), _positive(entry[1])
    raise TypeError(
        "stiffness_ratios must hold numbers only, or only names and pairs of names of bodies with a number each, "
        f"got {ratios!r}"
    )


def stiffnesses_of(ratios: Any, problem: ImpactProblem) -> Array:
    """The stiffnesses (nc,) of a problem's contacts, the largest 1; `RatioMisfit` where they do not fit."""
    count = problem.contact_count
    if callable(ratios):
        ratios = checked_ratios(np.asarray(ratios(problem), dtype=float).ravel())
    if ratios is None or count == 1:
        return np.ones(count)
    if isinstance(ratios[0], tuple):
        known = problem.contact_names
        if known is None:
            raise RatioMisfit(
                "stiffness_ratios hold names, but this problem knows none: give it contact_names, or numbers"
            )
        found = [next((k for names, k in ratios if set(names) <= set(bodies)), 1.0) for bodies in known]
    elif len(ratios) == count:
        found = list(ratios)
    else:
        raise RatioMisfit(
            f"stiffness_ratios must hold a number for each of {count} contacts, got {len(ratios)}: names of "
            "bodies or a function of the problem give any number of contacts theirs"
        )
    return np.array(found) / max(found)
