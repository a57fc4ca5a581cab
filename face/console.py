"""What commands share: what they say, how they end, and what words of a command line mean."""

import argparse
import math
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .bodies import Scene

DONE, ENDED_BADLY, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130
MEBIBYTE = 1 << 20


class BadInput(Exception):
    """What the user gave cannot be used; the message is one sentence."""


class BadEnd(Exception):
    """What was begun ended badly; the message is one sentence."""


def finite_number(text: str) -> float:
    """A finite number."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise argparse.ArgumentTypeError(f"expected a finite number, got {text!r}")
    return value


def positive_number(text: str) -> float:
    """A number greater than 0."""
    value = finite_number(text)
    if not value > 0.0:
        raise argparse.ArgumentTypeError(f"expected a number greater than 0, got {text!r}")
    return value


def positive_whole(text: str) -> int:
    """A whole number greater than 0."""
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"expected a whole number greater than 0, got {text!r}")
    return int(text)


def pixels(text: str) -> tuple[int, int]:
    """Width and height, such as 1280x720."""
    width, cross, height = text.lower().partition("x")
    if not (cross and width.isdecimal() and height.isdecimal()):
        raise argparse.ArgumentTypeError(f"expected WIDTHxHEIGHT in pixels, such as 1280x720, got {text!r}")
    return int(width), int(height)


def seed_number(text: str) -> int:
    """A whole number from 0 to 2^63 - 1."""
    if not text.isdecimal() or int(text) >= 2**63:
        raise argparse.ArgumentTypeError(f"expected a whole number from 0 to 2^63 - 1, got {text!r}")
    return int(text)


def size_limit(options: argparse.Namespace) -> dict[str, int]:
    """The limit of files' sizes that was given, if one was, in bytes."""
    if options.size_limit is None:
        return {}
    return {"size_limit": int(min(options.size_limit * MEBIBYTE, sys.maxsize))}


def load_scene(path: str, **limit: int) -> "Scene":
    """The scene of a file."""
    from .bodies import FileFormatError, Scene

    try:
        return Scene.load(path, **limit)
    except FileFormatError as error:
        raise BadInput(str(error)) from None


def say(text: str) -> None:
    """Print a line."""
    print(printable(text))


def printable(text: str) -> str:
    """The text with what could steer a terminal, or has no code, written out: it may come from a file."""
    return "".join(c if c.isprintable() or c == "\n" else repr(c)[1:-1] for c in text)


def complain(text: str, status: int) -> int:
    """Print one line where errors go; the exit status."""
    print(printable(f"carom: {' '.join(text.split())}"), file=sys.stderr)
    return status


def say_table(header: list[str], rows: list[list[str]], fold_first: bool = False) -> None:
    """Print a table."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(header_style="bold")
    for k, title in enumerate(header):
        table.add_column(Text(printable(title)), overflow="fold", no_wrap=k == 0 and not fold_first)
    for row in rows:
        table.add_row(*(Text(printable(cell)) for cell in row))
    Console().print(table)
