"""Which moments of a motion a strip of pictures shows, and what is written on them."""

import math
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Moment:
    """A time [s] and what is written on its picture."""

    time: float
    label: str


def choose_moments(trajectory: Any, count: int = 6) -> list[Moment]:
    """Choose `count` moments in order: start, impacts well apart in time, end, and times between them."""
    if not isinstance(count, int) or count < 1:
        raise ValueError(f"moments must be a whole number of at least 1, got {count!r}")
    start, end = float(trajectory.start_time), float(trajectory.end_time)
    numbers = impact_numbers(trajectory)
    if count == 1:
        times = [end]
    else:
        times = [start, end]
        impacts = [time for time in numbers if start < time < end]
        if impacts and count > 2:
            times.append(impacts[0])
        while len(times) < count and any(time not in times for time in impacts):
            times.append(max(impacts, key=lambda time: min(abs(time - chosen) for chosen in times)))
        while len(times) < count:
            times.sort()
            gap = max(range(len(times) - 1), key=lambda index: times[index + 1] - times[index])
            times.insert(gap + 1, (times[gap] + times[gap + 1]) / 2)
    return [label_moment(trajectory, time) for time in sorted(times)]


def label_moment(trajectory: Any, time: float) -> Moment:
    """Label a time [s] with the impact that happens then, or as start or end."""
    start, end = float(trajectory.start_time), float(trajectory.end_time)
    words = [time_text(time, time_decimals(end - start))]
    number = impact_numbers(trajectory).get(time)
    if number is not None:
        words.append(f"impact {number}")
    elif time == start:
        words.append("start")
    elif time == end:
        words.append("end")
    return Moment(time, "   ".join(words))


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
