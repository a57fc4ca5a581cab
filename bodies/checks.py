"""Checks of input where it enters: each names the field, what was expected and what came."""

import math
from numbers import Real
from typing import Any

import numpy as np

from .rotation import is_unit

SELDOM = "seldom"
"""In the metadata of a field of a dataclass: it is written where it has not its default."""


def number(
    field: str,
    value: Any,
    *,
    minimum: float = -math.inf,
    above: float | None = None,
    maximum: float = math.inf,
) -> float:
    """A finite real number from ``minimum`` (or strictly above ``above``) to ``maximum`` as float."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real | np.floating | np.integer):
        raise TypeError(f"{field}: expected a number, got {shown(value)}{_number_in(value)}")
    try:
        result = float(value)
    except OverflowError:
        result = math.inf
    if not math.isfinite(result):
        raise ValueError(f"{field}: expected a finite number, got {result}")
    if above is not None and not result > above:
        raise ValueError(f"{field}: expected a number greater than {above:g}, got {result:g}")
    if result < minimum:
        raise ValueError(f"{field}: expected a number of at least {minimum:g}, got {result:g}")
    if result > maximum:
        raise ValueError(f"{field}: expected a number of at most {maximum:g}, got {result:g}")
    return result


def whole(field: str, value: Any, maximum: int) -> int:
    """A whole number from 0 to ``maximum`` as int."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | np.integer):
        raise TypeError(f"{field}: expected a whole number, got {shown(value)}")
    if not 0 <= value <= maximum:
        raise ValueError(f"{field}: expected a whole number from 0 to {_power(maximum)}, got {int(value)}")
    return int(value)


def each(field: str, value: Any, count: int, row: tuple[int, ...]) -> np.ndarray:
    """Rows (count, *row), read-only, given so or once for all."""
    if np.ndim(value) == len(row):
        return np.broadcast_to(array(field, value, row), (count, *row))
    return array(field, value, (count, *row))


def array(field: str, value: Any, shape: tuple[int | None, ...]) -> np.ndarray:
    """A read-only float64 copy of ``value`` with the given shape (None: any length) and finite entries."""
    result = numbers(field, value, shape)
    if not np.isfinite(result).all():
        raise ValueError(f"{field}: expected finite numbers, got NaN or infinity")
    result.setflags(write=False)
    return result


def numbers(field: str, value: Any, shape: tuple[int | None, ...]) -> np.ndarray:
    """A float64 copy of ``value`` with the given shape (None: any length), finite or not."""
    expected = "(" + ", ".join("n" if length is None else str(length) for length in shape) + ")"
    try:
        raw = np.asarray(value)
    except ValueError:
        raise ValueError(
            f"{field}: expected numbers of shape {expected}, got rows of unequal length"
        ) from None
    if raw.dtype.kind not in "fiu":
        raise TypeError(f"{field}: expected numbers of shape {expected}, got {shown(value)}")
    if raw.ndim != len(shape) or any(
        length is not None and length != got for length, got in zip(shape, raw.shape, strict=True)
    ):
        raise ValueError(f"{field}: expected shape {expected}, got {raw.shape}")
    return np.array(raw, dtype=np.float64, order="C")


def direction(field: str, value: Any) -> np.ndarray:
    """A read-only unit vector (3,) along a vector other than zero; one that is unit already is kept bit for bit."""
    vector = array(field, value, (3,))
    largest = float(np.abs(vector).max())
    if largest == 0.0:
        raise ValueError(f"{field}: expected a direction, got the zero vector")
    if is_unit(vector):
        return vector
    with np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore"):
        unit = vector / np.linalg.norm(vector)
    if not is_unit(unit):  # the square of its length was too large or too small
        scaled = vector / largest
        unit = scaled / np.linalg.norm(scaled)
    unit.setflags(write=False)
    return unit


def flag(field: str, value: Any) -> bool:
    """True or False, and nothing that merely counts as such."""
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{field}: expected True or False, got {shown(value)}")
    return bool(value)


def _power(value: int) -> str:
    """A number, written as 2^k - 1 where it is one of many digits."""
    bits = (value + 1).bit_length() - 1
    return f"2^{bits} - 1" if bits >= 16 and value + 1 == 1 << bits else str(value)


def _number_in(value: Any) -> str:
    """A question after the number that a text is, empty where it is none."""
    try:
        return f": did you mean {float(value):g}?" if isinstance(value, str) else ""
    except ValueError:
        return ""


def shown(value: Any) -> str:
    """A value and its type, short enough for a sentence."""
    text = repr(value)
    return f"{text if len(text) <= 60 else text[:57] + '...'} ({type(value).__name__})"
