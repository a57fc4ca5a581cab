"""Records, such as materials, joints and simple shapes, as plain data: dicts, lists, numbers and texts.

What fields a record has is declared once, by its dataclass: its plain data has the same names, of which those at
their default may be missing.
"""

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import MISSING, fields, is_dataclass
from enum import IntEnum
from typing import Any

import numpy as np

from . import checks
from .joints import Drive, Spring
from .material import Material, SpeedRestitution
from .meant import meant

_RECORDS: dict[str, type] = {"material": Material, "spring": Spring, "drive": Drive}
"""Fields of other records that are records themselves."""
_MAYBE_RECORDS: dict[str, type] = {"restitution": SpeedRestitution}
"""Fields that are records or numbers."""
_UNBOUNDED = ("limits", "limit")
"""Fields that can be infinite, which JSON has no number for: they hold the text "inf" or "-inf" then."""
_INFINITE = {"inf": math.inf, "-inf": -math.inf}


@contextmanager
def at(place: str) -> Iterator[None]:
    """Let a refusal inside say where: a ValueError whose sentence begins with the place."""
    try:
        yield
    except ArithmeticError:
        raise ValueError(
            f"{place}: expected numbers to compute with, got one too large or too small"
        ) from None
    except (TypeError, ValueError) as error:
        raise ValueError(f"{place}: {error}") from None


def plain(value: Any) -> Any:
    """A field's value as plain data; TypeError for what has none, such as a function."""
    match value:
        case IntEnum():
            return value.name.lower()
        case None | bool() | str():
            return value
        case int() | np.integer():
            return int(value)
        case float() if math.isinf(value):
            return str(float(value))
        case float():
            return float(value)
        case np.ndarray():
            return value.tolist()
        case tuple() | list():
            return [plain(each) for each in value]
    if is_dataclass(value) and not isinstance(value, type):
        shown = [
            f
            for f in fields(value)
            if not (checks.SELDOM in f.metadata and getattr(value, f.name) == f.default)
        ]
        whole = {item.name: plain(getattr(value, item.name)) for item in shown}
        return {name: each for name, each in whole.items() if each is not None}
    raise TypeError(f"expected plain data, got {type(value).__name__}")


def written(record: Any, skip: tuple[str, ...] = (), always: tuple[str, ...] = ()) -> dict[str, Any]:
    """The fields of a dataclass as plain data, without those at their default but for what is written `always`."""
    found = {}
    for item in fields(record):
        value = plain(getattr(record, item.name)) if item.name not in skip else None
        default = item.default if item.default_factory is MISSING else item.default_factory()
        # as texts, since -0.0 equals 0.0
        if item.name in skip or (
            item.name not in always
            and default is not MISSING
            and json.dumps(value) == json.dumps(plain(default))
        ):
            continue
        found[item.name] = value
    return found


def named(entry: Any, required: Iterable[str], optional: Iterable[str] = ()) -> dict[str, Any]:
    """A dict of which those names are there and no others; ValueError or TypeError that says which is not."""
    required, optional = tuple(required), tuple(optional)
    if not isinstance(entry, dict):
        raise TypeError(f"expected names and values, got {checks.shown(entry)}")
    for name in entry:
        if name not in required and name not in optional:
            known = (*required, *optional)
            raise ValueError(
                f"expected no other fields than {', '.join(known)}, got {quoted(name)}{meant(name, known)}"
            )
    for name in required:
        if name not in entry:
            raise ValueError(f"{name}: expected it, got nothing")
    return entry


def made(kind: type, entry: Any) -> Any:
    """The record of a dataclass from its fields as `written` or by hand; ValueError or TypeError naming a field."""
    needed = [
        item.name for item in fields(kind) if item.default is MISSING and item.default_factory is MISSING
    ]
    values = named(entry, needed, (item.name for item in fields(kind) if item.name not in needed))
    return kind(**{name: _value(name, value) for name, value in values.items()})


def _value(name: str, value: Any) -> Any:
    """The value of a field, from plain data."""
    record = _MAYBE_RECORDS.get(name) if isinstance(value, dict) else None
    record = _RECORDS.get(name, record)
    if record is not None and value is not None:
        with at(name):
            return made(record, value)
    if name in _UNBOUNDED:
        if isinstance(value, list):
            return tuple(_value(name, each) for each in value)
        return _INFINITE.get(value, value) if isinstance(value, str) else value
    return value


def kind_in(entry: Any, kinds: Mapping[str, type]) -> tuple[Any, dict[str, Any]]:
    """Which kind an entry says it is of, and its other fields."""
    if not isinstance(entry, dict):
        raise TypeError(f"expected names and values, got {checks.shown(entry)}")
    word = entry.get("kind")
    if not isinstance(word, str) or word not in kinds:
        came = checks.shown(word) if "kind" in entry else "nothing"
        guess = meant(word, kinds) if isinstance(word, str) else ""
        raise ValueError(f"kind: expected one of {', '.join(kinds)}, got {came}{guess}")
    return kinds[word], {name: value for name, value in entry.items() if name != "kind"}


def each_of(field: str, entries: Any) -> Iterator[tuple[str, Any]]:
    """The entries of a list, each with words that say where it stands."""
    if not isinstance(entries, list):
        raise TypeError(f"{field}: expected a list, got {checks.shown(entries)}")
    for number, entry in enumerate(entries):
        name = entry.get("name") if isinstance(entry, dict) else None
        yield f"{field}[{number}]" + (f" {quoted(name)}" if isinstance(name, str) else ""), entry


def quoted(name: str) -> str:
    """A name in quotation marks, short enough for a sentence."""
    return repr(name if len(name) <= 60 else f"{name[:57]}...")
