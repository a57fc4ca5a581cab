"""Functions of a user whose zeros are events, found on the exact motion between the engine's own events."""

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar

from ..bodies import checks
from .notes import is_reserved
from .state import State

EventFunction = Callable[[float, State], float]
_ROOT = 1e-13  # [s] width of the interval that a zero is halved into
_SAME_ROOT = 1e-9  # [s] after a zero, in which a change of sign is rounding of the function around it
_FEWEST_INTERVALS = 4
_MOST_INTERVALS = 64  # sampled at once: what lies behind a zero is sampled again
_DIPS = 0.5  # of the lowest sample: a parabola through three samples that falls below it may reach zero


class EventFunctionError(Exception):
    """An event function raised or returned no finite number; the text names it, `time` [s] says when."""

    def __init__(self, message: str, time: float):
        super().__init__(message)
        self.time = time


@dataclass(eq=False)
class UserEvent:
    """A function (t, state) -> float and how its zeros count.

    sign : that it had last; 0 where that is not known, or of no account because a zero has just been found
    found_at : [s] its last zero
    """

    function: EventFunction
    direction: int
    terminal: bool
    name: str
    resolution: float
    sign: int = 0
    found_at: float = -math.inf

    def value(self, time: float, state: State) -> float:
        """The function at `time` [s]; EventFunctionError where it has no finite value."""
        try:
            value = float(self.function(time, state))
        except Exception as error:
            raise EventFunctionError(
                f"event function {self.name!r} raised {type(error).__name__} at t = {time!r} s: {error}", time
            ) from error
        if not math.isfinite(value):
            raise EventFunctionError(f"event function {self.name!r} returned {value} at t = {time!r} s", time)
        return value


def user_event(
    function: Any, direction: Any, terminal: Any, name: str | None, resolution: Any, taken: list[UserEvent]
) -> UserEvent:
    """What a user asks for, checked; TypeError or ValueError that names the argument."""
    if not callable(function):
        raise TypeError(f"function: expected a function (t, state) -> float, got {function!r}")
    if isinstance(direction, bool) or not isinstance(direction, int) or direction not in (-1, 0, 1):
        raise ValueError(f"direction: expected -1, 0 or 1, got {direction!r}")
    if not isinstance(terminal, bool):
        raise TypeError(f"terminal: expected True or False, got {terminal!r}")
    resolution = checks.number("resolution", resolution, above=0.0)
    names = {other.name for other in taken}
    if name is None:
        own = getattr(function, "__name__", type(function).__name__)
        numbered = (f"{own} {k}" for k in itertools.count(2))
        name = next(word for word in itertools.chain([own], numbered) if word not in names)
    if not isinstance(name, str) or not name:
        raise TypeError(f"name: expected a word, got {name!r}")
    if is_reserved(name):
        raise ValueError(f"name: expected one that carom gives to no event of its own, got {name!r}")
    if name in names:
        raise ValueError(f"name: expected one that no other event function has, got {name!r}")
    return UserEvent(function, int(direction), terminal, name, float(resolution))


@dataclass(frozen=True, eq=False)
class Crossing:
    """A zero: the first time [s] at which a function no longer has the sign `before`."""

    time: float
    event: UserEvent
    before: int

    @property
    def counts(self) -> bool:
        """Whether its direction is the one asked for."""
        return self.event.direction in (0, -self.before)


class UserEvents:
    """All event functions of a simulation."""

    def __init__(self) -> None:
        self.functions: list[UserEvent] = []

    def __bool__(self) -> bool:
        return bool(self.functions)

    def copy(self) -> "UserEvents":
        """The same functions, whose signs are followed on their own."""
        copied = UserEvents()
        copied.functions = [replace(event) for event in self.functions]
        return copied

    def forget(self) -> None:
        """The state has been set: signs from before say nothing about what follows."""
        for event in self.functions:
            event.sign, event.found_at = 0, -math.inf

    def next(self, time: float, until: float, state_at: Callable[[float], State]) -> list[Crossing]:
        """The first zeros in [time, until] that count, all of one instant; none where there are none.

        Their functions are then known to have crossed. Raises EventFunctionError only where no zero comes before.
        """
        for start, end in _windows(time, until, min(event.resolution for event in self.functions)):
            while crossings := self._first(start, end, state_at):
                for crossing in crossings:
                    crossing.event.sign, crossing.event.found_at = 0, crossing.time
                if counting := [crossing for crossing in crossings if crossing.counts]:
                    return counting
                start = crossings[0].time
        return []

    def _first(self, start: float, end: float, state_at: Callable[[float], State]) -> list[Crossing]:
        """The earliest zeros within one window, whatever their direction; signs are carried to its end if none."""
        states: dict[float, State] = {}

        def value(event: UserEvent, at: float) -> float:
            if at not in states:
                states[at] = state_at(at)
            return event.value(at, states[at])

        found: list[Crossing] = []
        last_signs: list[tuple[UserEvent, int]] = []
        failure: EventFunctionError | None = None
        for event in self.functions:
            search = _Search(event, partial(value, event))
            try:
                crossing = search.first(start, end)
            except EventFunctionError as error:
                failure = error if failure is None or error.time < failure.time else failure
                continue
            last_signs.append((event, search.sign))
            if crossing is not None:
                found.append(crossing)
        earliest = min((crossing.time for crossing in found), default=math.inf)
        if failure is not None and failure.time < earliest:
            raise failure
        if not found:
            for event, sign in last_signs:
                event.sign = sign
        return [crossing for crossing in found if crossing.time == earliest]


class _Search:
    """The search for the first zero of one function in one window."""

    def __init__(self, event: UserEvent, value: Callable[[float], float]):
        self._event, self._value = event, value
        self.sign = event.sign

    def first(self, start: float, end: float) -> Crossing | None:
        """The first zero in [start, end]; where there is none, `sign` is that at the end."""
        skipped = self._event.found_at + _SAME_ROOT
        if end <= skipped:  # rounding around the last zero is not another one
            return None
        times = _chebyshev_points(max(start, skipped), end, self._event.resolution)
        values: list[float] = []
        for k, at in enumerate(times):
            values.append(self._value(at))
            if not self.sign:
                self.sign = _sign(values[-1])
            elif values[-1] * self.sign <= 0.0:
                return self._located(times[k - 1] if k else at, at)
            elif k >= 2 and (dip := self._dip(times[k - 2 : k + 1], values[k - 2 :])):
                return dip
        return None

    def _dip(self, times: list[float], values: list[float]) -> Crossing | None:
        """A zero between three samples of one sign, which fall towards zero and rise again."""
        before, middle, after = (self.sign * value for value in values)
        if not before > middle < after or _lowest(times, [before, middle, after]) > _DIPS * middle:
            return None
        lowest = minimize_scalar(
            lambda at: self.sign * self._value(float(at)),
            bounds=(times[0], times[2]),
            method="bounded",
            options={"xatol": 1e-6 * (times[2] - times[0])},
        )
        return self._located(times[0], float(lowest.x)) if lowest.fun <= 0.0 else None

    def _located(self, same: float, other: float) -> Crossing:
        """Halve the interval from a time with the sign to one without it."""
        while other - same > _ROOT:
            middle = 0.5 * (same + other)
            if middle in (same, other):
                break
            if self._value(middle) * self.sign > 0.0:
                same = middle
            else:
                other = middle
        return Crossing(other, self._event, self.sign)


def _windows(start: float, end: float, resolution: float) -> Iterator[tuple[float, float]]:
    longest = resolution * _MOST_INTERVALS * 2.0 / math.pi
    while end - start > longest:
        yield start, start + longest
        start += longest
    yield start, end


def _chebyshev_points(start: float, end: float, resolution: float) -> list[float]:
    """Times [s] from start to end, at most `resolution` apart and denser at the ends."""
    span = end - start
    if span <= 0.0:
        return [end]
    intervals = max(_FEWEST_INTERVALS, math.ceil(0.5 * math.pi * span / resolution))
    share = 0.5 - 0.5 * np.cos(np.pi * np.arange(intervals + 1) / intervals)
    times = (start + span * share).tolist()
    times[-1] = end
    return times


def _lowest(times: list[float], values: list[float]) -> float:
    """Value at the vertex of the parabola through three points."""
    (a, b, c), (p, q, r) = times, values
    left, right = (q - p) / (b - a), (r - q) / (c - b)
    curvature = (right - left) / (c - a)
    slope = left + curvature * (b - a)  # at the middle
    return q - slope * slope / (4.0 * curvature)


def _sign(value: float) -> int:
    return (value > 0.0) - (value < 0.0)
