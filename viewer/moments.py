"""Which moments of a motion a strip of pictures shows, and what is written on them."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .stage import event_table


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
    impacts, _ = _impacts(trajectory)
    impacts = impacts[(start < impacts) & (impacts < end)]
    while len(times) < count and not np.isin(impacts, times).all():
        left = impacts[~np.isin(impacts, times)]
        away = np.min([np.abs(left - time) for time in times], axis=0)
        chosen = float(left[0] if len(times) == 2 else left[np.argmax(away)])
        times.append(chosen)
        if len(times) < count:
            following = np.append(impacts[impacts > chosen], end)[0]
            flight = max((following - chosen) / 2, 0.03 * (end - start))
            times.append(min(chosen + flight, (chosen + end) / 2))
    while len(times) < count:
        times.sort()
        gap = max(range(len(times) - 1), key=lambda index: times[index + 1] - times[index])
        times.insert(gap + 1, (times[gap] + times[gap + 1]) / 2)
    return [label_moment(trajectory, time) for time in sorted(times)]


def label_moment(trajectory: Any, time: float) -> Moment:
    """Label a time [s] with the impact that happens then or was the last before, or as start or end."""
    return label_moments(trajectory, [time])[0]


def label_moments(trajectory: Any, times: Iterable[float]) -> list[Moment]:
    """Label each of several times [s] as `label_moment` does."""
    start, end = float(trajectory.start_time), float(trajectory.end_time)
    impacts, numbers = _impacts(trajectory)
    decimals = time_decimals(end - start)
    moments = []
    for time in times:
        words = [time_text(time, decimals)]
        before = int(np.searchsorted(impacts, time))
        if before < len(impacts) and impacts[before] == time:
            words.append(f"impact {numbers[before]}")
        elif time == start:
            words.append("start")
        elif time == end:
            words.append("end")
        elif before:
            words.append(f"after impact {numbers[before - 1]}")
        moments.append(Moment(time, "   ".join(words)))
    return moments


def _impacts(trajectory: Any) -> tuple[np.ndarray, np.ndarray]:
    """Times [s] of impacts, each once and in order, and the number from 1 of the first impact at each."""
    times, kinds = event_table(trajectory)
    instants, first = np.unique(times[kinds == "impact"], return_index=True)
    return instants, first + 1


def time_text(time: float, decimals: int = 3) -> str:
    """Write a time [s] as a label."""
    return f"t = {time:.{decimals}f} s"


def time_decimals(duration: float) -> int:
    """Give the decimals that show a thousandth of a duration [s], at least 3."""
    if duration <= 0:
        return 3
    return min(max(3, 3 - math.floor(math.log10(duration))), 12)
