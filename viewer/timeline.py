"""The clock of a replay: playing, speed, scrubbing and steps from event to event."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable

SPEEDS = tuple(mantissa * 10.0**exponent for exponent in range(-7, 3) for mantissa in (1, 2, 5))


class Timeline:
    """Simulated time [s] between `start` and `end`, moved by the wall clock or by hand."""

    def __init__(self, start: float, end: float, event_times: Iterable[float] = ()) -> None:
        if not start <= end:
            raise ValueError(f"end must not lie before start, got start={start}, end={end}")
        self.start = float(start)
        self.end = float(end)
        self.event_times = sorted({float(time) for time in event_times})
        self.time = self.start
        self.playing = False
        self.speed = natural_speed(self.duration)

    @property
    def duration(self) -> float:
        """Length of the motion [s]."""
        return self.end - self.start

    @property
    def fraction(self) -> float:
        """Where the time stands between start (0) and end (1)."""
        return (self.time - self.start) / self.duration if self.duration > 0 else 0.0

    @property
    def event_count(self) -> int:
        """How many distinct event times have been reached."""
        return bisect_right(self.event_times, self.time)

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
        self.time = min(max(time, self.start), self.end)

    def seek_fraction(self, fraction: float) -> None:
        """Go to a fraction of the motion, 0 at its start and 1 at its end."""
        self.seek(self.start + fraction * self.duration)

    def step_frames(self, frames: int) -> None:
        """Pause and move by frames of 1/60 s of wall clock at the current speed."""
        self.playing = False
        self.seek(self.time + frames * self.speed / 60)

    def next_event(self) -> None:
        """Pause at the next event, or at the end when there is none."""
        self.playing = False
        index = bisect_right(self.event_times, self.time)
        self.seek(self.event_times[index] if index < len(self.event_times) else self.end)

    def previous_event(self) -> None:
        """Pause at the event before, or at the start when there is none."""
        self.playing = False
        index = bisect_left(self.event_times, self.time) - 1
        self.seek(self.event_times[index] if index >= 0 else self.start)

    def faster(self) -> None:
        """Take the next higher speed."""
        self.speed = next((speed for speed in SPEEDS if speed > self.speed * 1.001), self.speed)

    def slower(self) -> None:
        """Take the next lower speed."""
        self.speed = next((speed for speed in reversed(SPEEDS) if speed < self.speed * 0.999), self.speed)


def natural_speed(duration: float) -> float:
    """Real time for a motion of one second to a minute, else the speed that makes it last about that long."""
    if duration <= 0 or 1 <= duration <= 60:
        return 1.0
    wanted = duration / 4 if duration < 1 else duration / 60
    return min(SPEEDS, key=lambda speed: abs(speed - wanted) / speed)
