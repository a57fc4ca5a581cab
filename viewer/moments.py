"""Which moments of a motion a strip of pictures shows, and what is written on them."""

import math
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Moment:
    """A time [s] and what is written on its picture."""

    time: float
    label: str


def choose_moments(trajectory: Any, count: int = 6) -> list[Moment]:
    """Choose `count` moments in order: start, end, impacts well apart in time and the motion after each."""
    if not isinstance(count, int) or count < 1:
        raise ValueError(f"moments must be a whole number of at least 1, got {count!r}")
    start, end = float(trajectory.start_time), float(trajectory.end_time)
    if count == 1:
        return [label_moment(trajectory, end)]
    times = [start, end]
    impacts = [time for time in impact_numbers(trajectory) if start < time < end]
    following = dict(zip(impacts, [*impacts[1:], end], strict=False))
    while len(times) < count and any(time not in times for time in impacts):
        left = [time for time in impacts if time not in times]
        chosen = left[0] if len(times) == 2 else max(left, key=lambda time: _distance(time, times))
        times.append(chosen)
        if len(times) < count:
            flight = max((following[chosen] - chosen) / 2, 0.03 * (end - start))
            times.append(min(chosen + flight, (chosen + end) / 2))
    while len(times) < count:
        times.sort()
        gap = max(range(len(times) - 1), key=lambda index: times[index + 1] - times[index])
        times.insert(gap + 1, (times[gap] + times[gap + 1]) / 2)
    return [label_moment(trajectory, time) for time in sorted(times)]


def _distance(time: float, times: list[float]) -> float:
    return min(abs(time - other) for other in times)


def label_moment(trajectory: Any, time: float) -> Moment:
    """Label a time [s] with the impact that happens then or was the last before, or as start or end."""
    return label_moments(trajectory, [time])[0]


def label_moments(trajectory: Any, times: Iterable[float]) -> list[Moment]:
    """Label each of several times [s] as `label_moment` does."""
    start, end = float(trajectory.start_time), float(trajectory.end_time)
    numbers = impact_numbers(trajectory)
    impacts = sorted(numbers)
    decimals = time_decimals(end - start)
    moments = []
    for time in times:
        words = [time_text(time, decimals)]
        before = bisect_left(impacts, time)
        if time in numbers:
            words.append(f"impact {numbers[time]}")
        elif time == start:
            words.append("start")
        elif time == end:
            words.append("end")
        elif before:
            words.append(f"after impact {numbers[impacts[before - 1]]}")
        moments.append(Moment(time, "   ".join(words)))
    return moments


def impact_numbers(trajectory: Any) -> dict[float, int]:
    """Map the time of every impact [s] to its number from 1; impacts at one instant share the first."""
    numbers: dict[float, int] = {}
    impacts = (event for event in trajectory.events if event.kind == "impact")
    for number, event in enumerate(impacts, start=1):
        numbers.setdefault(float(event.time), number)
    return numbers


def time_text(time: float, decimals: int = 3) -> str:
    """Write a time [s] as a label."""
    return f"t = {time:.{decimals}f} s"


def time_decimals(duration: float) -> int:
    """Give the decimals that show a thousandth of a duration [s], at least 3."""
    if duration <= 0:
        return 3
    return min(max(3, 3 - math.floor(math.log10(duration))), 12)
