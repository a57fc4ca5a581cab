"""The clock of a replay: playing, speed, scrubbing and steps from event to event."""

from collections.abc import Iterable
from typing import Any

import numpy as np

SPEEDS = tuple(mantissa * 10.0**exponent for exponent in range(-7, 3) for mantissa in (1, 2, 5))
FRAME = 1 / 60  # s of wall clock


class Timeline:
    """Simulated time [s] between `start` and `end`, moved by the wall clock or by hand.

    ``event_times`` [s] may come in any order; ``event_kinds`` says of each what kind it is, "impact" where
    left out.
    """

    def __init__(
        self,
        start: float,
        end: float,
        event_times: Iterable[float] = (),
        event_kinds: Any = None,
    ) -> None:
        if not start <= end:
            raise ValueError(f"end must not lie before start, got start={start}, end={end}")
        self.time = self.start = float(start)
        self.playing = False
        self.edition = 0  # of the events: another number whenever they are others
        self._marks: dict[int, dict[str, list[int]]] = {}
        self._set_events(end, event_times, event_kinds)
        self.speed = natural_speed(self.duration)

    @property
    def duration(self) -> float:
        """Length of the motion [s]."""
        return self.end - self.start

    @property
    def fraction(self) -> float:
        """Where the time stands between start (0) and end (1)."""
        return self.fraction_of(self.time)

    @property
    def event_count(self) -> int:
        """How many distinct event times have been reached."""
        return int(np.searchsorted(self.event_times, self.time, side="right"))

    def fraction_of(self, time: float) -> float:
        """Where a time lies between start (0) and end (1)."""
        return (time - self.start) / self.duration if self.duration > 0 else 0.0

    def extend(self, end: float, event_times: Iterable[float], event_kinds: Any = None) -> None:
        """Take the events of a motion that has grown to `end` [s]; time and speed stay."""
        self._set_events(max(end, self.start), event_times, event_kinds)
        self.seek(self.time)

    def toggle(self) -> None:
        """Play or pause; playing from the end starts over."""
        if not self.playing and self.time >= self.end:
            self.time = self.start
        self.playing = not self.playing

    def advance(self, wall_seconds: float) -> bool:
        """Let the wall clock run; return whether the time changed."""
        if not self.playing:
            return False
        before = self.time
        self.seek(self.time + wall_seconds * self.speed)
        if self.time >= self.end:
            self.playing = False
        return self.time != before

    def seek(self, time: float) -> None:
        """Go to a time [s], clipped to the motion."""
        self.time = min(max(float(time), self.start), self.end)

    def seek_fraction(self, fraction: float) -> None:
        """Go to a fraction of the motion, 0 at its start and 1 at its end."""
        self.seek(self.start + fraction * self.duration)

    def step_frames(self, frames: int) -> None:
        """Pause and move by frames of 1/60 s of wall clock at the current speed."""
        self.playing = False
        self.seek(self.time + frames * self.speed * FRAME)

    def next_event(self) -> None:
        """Pause at the next event of any kind, or at the end when there is none."""
        self._jump_on(self.event_times)

    def previous_event(self) -> None:
        """Pause at the event before, of any kind, or at the start when there is none."""
        self._jump_back(self.event_times)

    def next_impact(self) -> None:
        """Pause at the next impact, or at the end when there is none."""
        self._jump_on(self.impact_times)

    def previous_impact(self) -> None:
        """Pause at the impact before, or at the start when there is none."""
        self._jump_back(self.impact_times)

    def impact_within(self, begin: float, end: float) -> float | None:
        """The first impact time after `begin` and not after `end` [s], or None."""
        index = int(np.searchsorted(self.impact_times, begin, side="right"))
        if index < len(self.impact_times) and self.impact_times[index] <= end:
            return float(self.impact_times[index])
        return None

    def faster(self) -> None:
        """Take the next higher speed."""
        self.speed = next((speed for speed in SPEEDS if speed > self.speed * 1.001), self.speed)

    def slower(self) -> None:
        """Take the next lower speed."""
        self.speed = next((speed for speed in reversed(SPEEDS) if speed < self.speed * 0.999), self.speed)

    def marks(self, columns: int) -> dict[str, list[int]]:
        """For each kind of event, in which of so many columns of the time bar (0 to columns - 1) it occurs."""
        if columns not in self._marks:
            self._marks = {columns: self._find_marks(max(columns, 1))}
        return self._marks[columns]

    def counts(self) -> dict[str, int]:
        """How many events there are of each kind, the most frequent first."""
        return dict(sorted(self._counts.items(), key=lambda pair: -pair[1]))

    def _find_marks(self, columns: int) -> dict[str, list[int]]:
        places = (self._all_times - self.start) / (self.duration or 1.0) * (columns - 1)
        places = np.clip(np.round(places), 0, columns - 1).astype(int)
        found = {}
        for kind in self._counts:
            occupied = np.zeros(columns, dtype=bool)
            occupied[places[self._all_kinds == kind]] = True
            found[kind] = np.flatnonzero(occupied).tolist()
        return found

    def _set_events(self, end: float, event_times: Iterable[float], event_kinds: Any) -> None:
        self.end = float(end)
        times = np.asarray(event_times if hasattr(event_times, "__len__") else list(event_times), dtype=float)
        if event_kinds is None:
            kinds = np.full(len(times), "impact")
        else:
            kinds = np.asarray(event_kinds, dtype=str).reshape(-1)
        if len(kinds) != len(times):
            raise ValueError(f"event_kinds must name {len(times)} events, got {len(kinds)}")
        self.edition += 1
        self._all_times, self._all_kinds = times, kinds
        self._counts = _counts(kinds)
        self._marks = {}
        self.event_times = instants(times)
        self.impact_times = instants(times[kinds == "impact"])

    def _jump_on(self, times: np.ndarray) -> None:
        self.playing = False
        index = int(np.searchsorted(times, self.time, side="right"))
        self.seek(times[index] if index < len(times) else self.end)

    def _jump_back(self, times: np.ndarray) -> None:
        self.playing = False
        index = int(np.searchsorted(times, self.time, side="left")) - 1
        self.seek(times[index] if index >= 0 else self.start)


def instants(times: np.ndarray) -> np.ndarray:
    """Distinct times (n,) in order; a million that are in order already, as those of one run, need no sorting."""
    if (times[1:] < times[:-1]).any():
        return np.unique(times)
    return times[np.concatenate([[True], times[1:] != times[:-1]])] if len(times) else times


def _counts(kinds: np.ndarray) -> dict[str, int]:
    """How often each name occurs; names are taken off one by one, since to sort a million of them is slow."""
    counts: dict[str, int] = {}
    while len(kinds):
        kind = str(kinds[0])
        others = kinds[kinds != kind]
        counts[kind] = len(kinds) - len(others)
        kinds = others
    return counts


def natural_speed(duration: float) -> float:
    """Real time for a motion of one second to a minute, else the speed that makes it last about that long."""
    if duration <= 0 or 1 <= duration <= 60:
        return 1.0
    wanted = duration / 4 if duration < 1 else duration / 60
    return min(SPEEDS, key=lambda speed: abs(speed - wanted) / speed)
