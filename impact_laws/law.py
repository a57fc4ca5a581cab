"""The contract of an impact law, and the laws by their command line names."""

import reprlib
from functools import cache
from importlib import import_module
from typing import Any, Protocol, runtime_checkable

import numpy as np

from .impact_problem import ImpactProblem, _real_array
from .outcome import ImpactOutcome


@runtime_checkable
class ImpactLaw(Protocol):
    """An impact law: a frozen dataclass whose fields are its parameters.

    The contract, which one test suite checks for every law. When the status of an outcome is RESOLVED:

    - Momentum balances exactly by construction: velocity is computed as u + W @ impulse, from nothing else.
    - No approaching contact is left, within 1e-8 of the largest approach measure before the impact.
    - Every contact's impulse lies in its cone: normal impulse >= 0, |tangential| <= friction * normal.
    - Energy is never gained, beyond rounding.
    - The same problem, parameters and random generator give the same outcome, bit for bit.

    Otherwise the status says why not and `ImpactStatus.advice` what to do; a law raises only for bad
    arguments.

    A law whose friction and restitution are its own, whatever the problem says, may have a method
    ``with_own_coefficients(problem)``: the `ImpactProblem` with these, by which its outcomes are then judged.
    """

    @property
    def name(self) -> str:
        """The class name in kebab-case, as the command line takes it."""

    @property
    def honours_friction(self) -> bool:
        """Whether the law uses the contacts' friction; if not, its impulses are normal."""

    @property
    def honours_restitution(self) -> bool:
        """Whether the law uses the contacts' restitution."""

    def resolve(self, problem: ImpactProblem, rng: np.random.Generator | None = None) -> ImpactOutcome:
        """One outcome; ``rng`` feeds laws with a random choice, None stands for a generator of seed 0."""


# Class name in kebab-case -> module and class. A new law is one line here.
_LAWS = {
    "anitescu-potra": ("anitescu_potra", "AnitescuPotra"),
    "liu-zhao-brogliato": ("liu_zhao_brogliato", "LiuZhaoBrogliato"),
    "maximum-dissipation": ("maximum_dissipation", "MaximumDissipation"),
    "sequential-lcp": ("sequential_lcp", "SequentialLCP"),
    "sequential-reflection": ("sequential_reflection", "SequentialReflection"),
    "set-valued-routh": ("set_valued_routh", "SetValuedRouth"),
    "stronge-coulomb": ("stronge_coulomb", "StrongeCoulomb"),
}


def law_names() -> tuple[str, ...]:
    """Names of all laws, sorted, as `law_by_name` and the command line take them."""
    return tuple(sorted(_LAWS))


def law_by_name(name: str, **parameters: Any) -> ImpactLaw:
    """The law of that name (class name in kebab-case) with the given parameters.

    Raises ValueError listing the names when there is no such law, TypeError for a parameter it does not have.
    """
    if not isinstance(name, str) or name not in _LAWS:
        raise ValueError(f"law must be one of {', '.join(law_names())}, got {reprlib.repr(name)}")
    module, law = _LAWS[name]
    return getattr(import_module(f".{module}", __package__), law)(**parameters)


@cache
def is_of_carom(kind: type) -> bool:
    """Whether a class is one of those that `law_by_name` knows."""
    return any(
        kind.__name__ == name and kind.__module__ == f"{__package__}.{module}"
        for module, name in _LAWS.values()
    )


quietly = np.errstate(over="ignore", divide="ignore", invalid="ignore")
"""Decorates what computes outcomes: of numbers beyond their range numpy says nothing, since the status tells it."""


def checked_count(name: str, value: Any, least: int) -> None:
    """Raise TypeError or ValueError that names a law's parameter unless it is an integer of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise TypeError(f"{name} must be an integer of at least {least}, got {reprlib.repr(value)}")
    if value < least:
        raise ValueError(f"{name} must be at least {least}, got {value}")
    if value >= 1 << 63:
        raise ValueError(f"{name} must be below 2^63, got one of {int(value).bit_length()} bits")


def checked_number(name: str, value: Any) -> float:
    """A finite real number as float; TypeError or ValueError that names what it is of."""
    array = _real_array(name, value)
    if array.ndim:
        raise TypeError(f"{name} must be a number, got shape {array.shape}")
    return float(array)


def power_of_two(x: Any) -> Any:
    """The power of two nearest to x > 0 (elementwise) in its exponent: a scale that rounds nothing."""
    return np.exp2(np.rint(np.log2(x)))


def generator_of(rng: np.random.Generator | None) -> np.random.Generator:
    """The generator given, or one of seed 0, so that resolving without one repeats."""
    if rng is None:
        return np.random.default_rng(0)
    if not isinstance(rng, np.random.Generator):
        raise TypeError(f"rng must be a numpy.random.Generator or None, got {type(rng).__name__}")
    return rng
