"""What every fuzzing test shares: how long it goes on, what counts as a crash, and what hostile values are.

A test draws its input with hypothesis. By default its examples are always the same and few; marked `long`, it
goes on with other ones, seed after seed, for the seconds that the environment variable CAROM_FUZZ_SECONDS gives it
(450, which is an hour for all eight), from the seed CAROM_FUZZ_SEED (0) on. A crash names the seed that makes it
come again. Every crash found is a case in one of the files `test_hostile_....py`.
"""

import linecache
import math
import os
import random
import signal
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import hypothesis
import numpy as np
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st

SECONDS = float(os.environ.get("CAROM_FUZZ_SECONDS", "450"))
FIRST_SEED = int(os.environ.get("CAROM_FUZZ_SEED", "0"))
_EXAMPLES_AT_ONCE = 100
_LONGEST_SENTENCE = 1200
_COMMON: dict[str, Any] = {
    "database": None,
    "deadline": None,
    "phases": (Phase.generate, Phase.shrink),
    "suppress_health_check": (HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much),
}

HOSTILE_NUMBERS = (
    math.nan, math.inf, -math.inf, 1e308, -1e308, 1e200, 1e-320, -0.0, 0.0, -1.0, 0.5, 1.0, 1e30,
    2.0**31, -(2.0**31), 2.0**53, 2.0**63, 2.0**64,
)  # fmt: skip
HOSTILE_WHOLES = (
    -(2**63),
    -(2**31),
    -2,
    -1,
    0,
    1,
    2,
    7,
    63,
    64,
    255,
    2**16,
    2**31 - 1,
    2**31,
    2**53,
    2**63 - 1,
)
HOSTILE_TEXTS = (
    "", " ", "nan", "0", "\x00", "\x1b[31m", "a\nb", "\ud800", "é" * 40, "x" * 100_000, "../x", "{}", "[]", "[1]",
    '{"a": {}}', "[" * 100_000, "1e999", "-1", "null", "[[], [1]]", '"x"',
)  # fmt: skip
HOSTILE_VALUES: tuple[Any, ...] = (
    *HOSTILE_NUMBERS, *HOSTILE_WHOLES, *(text for text in HOSTILE_TEXTS if len(text) < 100),
    None, True, False, 1j, b"x", (), [], {}, set(), object(), [1.0, 2.0, 3.0], [[1.0, 2.0], [3.0]], (math.nan,) * 3,
    (1e308,) * 3, (0.0, 0.0, 0.0), [None] * 3, ["a"] * 3, np.zeros((3, 3)), np.zeros(3, dtype=complex),
    np.float32(2), np.int8(-1), np.array(1.0), np.array([[]]), 2**70, 10**400, lambda: None, str, "floor",
)  # fmt: skip


def few(check: Callable[..., None], strategies: dict[str, Any], examples: int, **fixed: Any) -> None:
    """Check so many examples of what the strategies draw, always the same ones; `fixed` is what is not drawn."""
    always = settings(max_examples=examples, derandomize=True, **_COMMON)
    always(_drawing(check, strategies, fixed))()


def go_on(check: Callable[..., None], strategies: dict[str, Any], **fixed: Any) -> int:
    """Check other examples, seed after seed, until the time is up; how many they were."""
    end, seed, tried = time.monotonic() + SECONDS, FIRST_SEED, 0
    while time.monotonic() < end:
        some = settings(max_examples=_EXAMPLES_AT_ONCE, print_blob=True, **_COMMON)
        hypothesis.seed(seed)(some(_drawing(check, strategies, fixed)))()
        seed, tried = seed + 1, tried + _EXAMPLES_AT_ONCE
    return tried


def _drawing(
    check: Callable[..., None], strategies: dict[str, Any], fixed: dict[str, Any]
) -> Callable[[], None]:
    """A test that draws what a check wants."""

    @hypothesis.given(**strategies)
    def test(**drawn: Any) -> None:
        check(**drawn, **fixed)

    return test


LONGEST = 300.0  # s that one case may take: the first of a kind compiles


@contextmanager
def silence() -> Iterator[None]:
    """Every warning is an error, but that a file is closed by nobody: errors that are kept keep files open."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ResourceWarning)
        yield


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """TimeoutError where something takes longer; an example that hangs is a crash too. One may stand within
    another."""

    def stop(*_: Any) -> None:
        raise TimeoutError(f"took longer than {seconds} s")

    before = signal.signal(signal.SIGALRM, stop)
    begun = time.monotonic()
    left, _ = signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
        if left > 0.0:
            signal.setitimer(signal.ITIMER_REAL, max(left - (time.monotonic() - begun), 1e-3))


def assert_sentence(error: BaseException) -> None:
    """What a user is told is one line, not endless, and readable."""
    text = str(error)
    assert text, "an error without words"
    assert len(text) <= _LONGEST_SENTENCE, text[:200]


def assert_ours(error: BaseException) -> None:
    """An error of ValueError or TypeError that was raised by carom itself, in a sentence: not by numpy, say."""
    assert isinstance(error, ValueError | TypeError), error
    assert_sentence(error)
    trace = error.__traceback__
    assert trace is not None
    while trace.tb_next is not None:
        trace = trace.tb_next
    module = trace.tb_frame.f_globals.get("__name__", "")
    line = linecache.getline(trace.tb_frame.f_code.co_filename, trace.tb_lineno).strip()
    ours = module.startswith("carom") and line.startswith("raise")  # compiled code has no frame of its own
    assert ours, f"raised by {module}: {line!r}: {type(error).__name__}: {error}"


def other_json(value: Any, rng: random.Random) -> Any:
    """The same with one value, somewhere inside, that is another, missing or there twice."""
    if isinstance(value, dict) and value and rng.random() < 0.9:
        key = rng.choice(list(value))
        if rng.random() < 0.1:
            return {k: v for k, v in value.items() if k != key}
        return value | {key: other_json(value[key], rng)}
    if isinstance(value, list) and value and rng.random() < 0.9:
        k = rng.randrange(len(value))
        way = rng.random()
        if way < 0.1:
            return value[:k] + value[k + 1 :]
        if way < 0.2:
            return [*value[: k + 1], *value[k:]]
        return [*value[:k], other_json(value[k], rng), *value[k + 1 :]]
    texts = tuple(text for text in HOSTILE_TEXTS if len(text) < 1000)
    return rng.choice((*HOSTILE_NUMBERS, *HOSTILE_WHOLES, *texts, None, True, [], {}, [[1.0]], {"x": 1}))


def seeds() -> Any:
    """Seeds of everything else that is drawn at random."""
    return st.integers(0, 2**48)
