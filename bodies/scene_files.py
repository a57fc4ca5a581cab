"""Scene files: a scene as JSON that people can read and write. Nothing in a file is executed."""

import json
import math
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from .files import FileFormatError, read_bytes

_WIDTH = 110
"""Letters of a line within which a list, or names and values, stand together."""
_LONGEST_WHOLE, _LONGEST_NUMBER = 19, 1000
"""Digits: a longer whole number is read as one of floating point, of which the longest exact one has 770."""
_LONGEST_REASON = 400


def scene_text(meta: dict[str, Any], arrays: dict[str, np.ndarray]) -> str:
    """The description of a scene as the text of a file, with the arrays of its meshes in their places."""
    shapes = {
        name: {
            field: arrays[value].tolist() if isinstance(value, str) and value in arrays else value
            for field, value in entry.items()
        }
        for name, entry in meta.get("shapes", {}).items()
    }
    whole = meta | {"shapes": shapes} if shapes else meta
    fields = (f"  {_word(name)}: {_laid_out(value, 2, len(name) + 6)}" for name, value in whole.items())
    return "{\n" + ",\n".join(fields) + "\n}\n"


def _laid_out(value: Any, margin: int, before: int) -> str:
    """JSON in lines that are not long, whose first one begins behind so many letters, others behind a margin."""
    if isinstance(value, dict):
        words = [(_word(name), each) for name, each in value.items()]
        parts = [f"{word}: {_laid_out(each, margin + 2, margin + len(word) + 4)}" for word, each in words]
        opening, closing = "{", "}"
    elif isinstance(value, list):
        if not any(isinstance(each, dict | list | str) for each in value):
            line = _word(value)  # at once, since meshes have many such rows
            if before + len(line) <= _WIDTH:
                return line
        parts = [_laid_out(each, margin + 2, margin + 2) for each in value]
        opening, closing = "[", "]"
    else:
        return _word(value)
    if sum(map(len, parts)) + 2 * len(parts) + before <= _WIDTH and not any("\n" in part for part in parts):
        return opening + ", ".join(parts) + closing
    pad = "\n" + " " * (margin + 2)
    return opening + pad + f",{pad}".join(parts) + "\n" + " " * margin + closing


def _word(value: Any) -> str:
    """A text, number or such, as JSON has it: letters as they are, where UTF-8 has them."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    try:
        text.encode()
    except UnicodeEncodeError:  # half of a character
        return json.dumps(value)
    return text


def read_scene_file(path: Path, size_limit: int) -> Any:
    """What a JSON file holds; FileFormatError for what is no regular file, too large, or not strictly JSON.

    Names that are there twice are refused, and numbers that are not finite.
    """
    content = read_bytes(path, size_limit, "a scene file")
    if not content.strip():
        raise FileFormatError(path, "is empty")
    try:
        found = json.loads(
            content.decode("utf-8-sig"),
            object_pairs_hook=_without_repeats,
            parse_constant=_refused_constant,
            parse_int=_whole,
            parse_float=_finite,
        )
        _refuse_flags(found)
        return found
    except UnicodeDecodeError:
        raise FileFormatError(path, "is no scene file: it is not text in UTF-8") from None
    except json.JSONDecodeError as error:
        raise FileFormatError(
            path,
            f"is no scene file: not JSON from line {error.lineno}, column {error.colno} on ({error.msg})",
        ) from None
    except RecursionError:
        raise FileFormatError(path, "is no scene file: it is nested too deeply") from None
    except MemoryError:
        raise FileFormatError(path, "does not fit in memory") from None
    except ValueError as error:
        raise refused(path, error) from None


def refused(path: Path, error: Exception) -> FileFormatError:
    """The error that says in one sentence why a scene file cannot be used."""
    reason = " ".join(str(error).split())
    if len(reason) > _LONGEST_REASON:
        reason = f"{reason[:_LONGEST_REASON]}..."
    return FileFormatError(path, f"cannot be used: {reason}")


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        counts = Counter(name for name, _ in pairs)
        twice = next(name for name in found if counts[name] > 1)
        raise ValueError(f"expected every name once, got {twice[:60]!r} twice")
    return found


def _refused_constant(word: str) -> float:
    raise ValueError(f'expected finite numbers, got {word}; a limit that there is not is "inf" or "-inf"')


def _refuse_flags(value: Any) -> None:
    """ValueError for true and false in a list, since numpy takes them for numbers."""
    if isinstance(value, list) and any(each is True or each is False for each in value):
        raise ValueError(f"expected no true or false in a list, got {str(value)[:60]}")
    for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        if isinstance(each, dict | list):
            _refuse_flags(each)


def _whole(digits: str) -> int | float:
    return int(digits) if len(digits) <= _LONGEST_WHOLE else _finite(digits)


def _finite(digits: str) -> float:
    if len(digits) > _LONGEST_NUMBER:
        raise ValueError(f"expected numbers of at most {_LONGEST_NUMBER} digits, got one of {len(digits)}")
    value = float(digits)
    if not math.isfinite(value):
        raise ValueError(f"expected finite numbers, got {digits[:60]}")
    return value
