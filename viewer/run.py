"""One run of a replay: its trajectory, its stage, and what is asked of it again and again."""

from collections.abc import Callable
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from .forces import Forces, forces_at, weight_of
from .meshes import Mesh
from .plots import PlotPanel
from .stage import Stage, event_table

TRAIL_SAMPLES = 600  # times at which trails are known, beside the events
TRAIL_BODIES = 200  # more bodies get no trail
SEARCHED_EVENTS = 500  # among which the last impacts of a body are looked for
GHOST_TIMES = 18  # in the whole motion, at which a body leaves its image behind


Stamp = tuple[int, int]  # when a file was changed last [ns], and its size [bytes]


def read_run(
    path: Path, load: Callable[[Path], Any], name: str = "", pool: Any = None, outcomes: Any = None
) -> "Run":
    """Read a recording as a run, by default under the name of its file; raises what `load` raises."""
    stamp = file_stamp(path)  # before it is read, so that nothing written meanwhile goes unnoticed
    run = Run(load(path), name or path.name, path, pool, outcomes)
    run.stamp = stamp
    return run


def file_stamp(path: Path) -> Stamp | None:
    """What changes when a file does, None where there is none."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size


class Run:
    """A trajectory to draw, under a name; ``path`` is the recording it was read from, if any."""

    stamp: Stamp | None = None

    def __init__(
        self,
        trajectory: Any,
        name: str,
        path: Path | None = None,
        pool: dict[Any, Mesh] | None = None,
        outcomes: Any = None,
        stage: Stage | None = None,
    ) -> None:
        self.trajectory = trajectory
        self.name = name
        self.path = path
        self.outcomes = outcomes
        self.stage = stage or Stage(trajectory, pool)
        self.events = trajectory.events
        self.event_times, self.event_kinds = event_table(trajectory)
        self.impact_times = self.event_times[self.event_kinds == "impact"]
        self.start, self.end = float(trajectory.start_time), float(trajectory.end_time)
        self.known_until = float(getattr(trajectory, "known_until", self.end))  # [s], at rest from the end on
        self._trails: tuple[np.ndarray, np.ndarray] | None = None
        self._sampled = lru_cache(maxsize=64)(trajectory.sample)
        self._refused = ""
        self._found_forces = lru_cache(maxsize=16)(self._find_forces)
        self._found_impacts = lru_cache(maxsize=16)(self._find_impacts)

    @property
    def unfinished(self) -> bool:
        """Whether this was read from a recording whose run was still going on, or was cut off."""
        status = getattr(self.trajectory, "status", None)
        return self.path is not None and getattr(status, "value", "") == "unfinished"

    @property
    def is_outdated(self) -> bool:
        """Whether the recording it was read from has changed."""
        return self.path is not None and file_stamp(self.path) not in (None, self.stamp)

    @property
    def law_name(self) -> str:
        """The impact law it was made with, empty where that is not known."""
        return str(getattr(self.trajectory, "law_name", ""))

    def state(self, time: float) -> Any:
        """The state at a time [s], or at the nearest end of this run."""
        return self._sampled(min(max(time, self.start), self.end))

    def forces(self, time: float) -> Forces | None:
        """Forces of contacts and joints at a time [s], or at the nearest end of this run; None where there are
        none."""
        return self._found_forces(min(max(time, self.start), self.end))

    @property
    def forces_refused(self) -> str:
        """Why forces of this run are not known, in a sentence; empty where they are."""
        self.forces(self.start)
        return self._refused

    @cached_property
    def weight(self) -> float:
        """Of all bodies that can move [N]."""
        return weight_of(self.trajectory)

    def events_at(self, time: float) -> list[Any]:
        """The events of exactly this time."""
        low, high = (int(np.searchsorted(self.event_times, time, side=side)) for side in ("left", "right"))
        return [self.events[number] for number in range(low, high)]

    def impacts_at(self, time: float) -> list[Any]:
        """The events of exactly this time for which a law has answered."""
        return [
            event for event in self.events_at(time) if event.outcome is not None and len(event.contacts.point)
        ]

    def latest_event(self, time: float) -> int | None:
        """Number of the last event not after a time, or None."""
        number = int(np.searchsorted(self.event_times, time, side="right")) - 1
        return number if number >= 0 else None

    def impacts_of_body(self, body: int, time: float, count: int) -> list[Any]:
        """The last `count` impacts of a body up to a time, latest first, not far back in long runs."""
        latest = self.latest_event(time)
        return [] if latest is None else self._found_impacts(body, latest, count)

    def _find_forces(self, time: float) -> Forces | None:
        try:
            forces = forces_at(self.trajectory, time)
        except ValueError as error:  # functions acted that a recording does not keep
            self._refused = str(error)
            return None
        return forces if forces is not None and len(forces) else None

    def _find_impacts(self, body: int, latest: int, count: int) -> list[Any]:
        found: list[Any] = []
        for number in range(latest, max(latest - SEARCHED_EVENTS, -1), -1):
            event = self.events[number]
            if str(event.kind) == "impact" and (np.asarray(event.contacts.bodies) == body).any():
                found.append(event)
                if len(found) == count:
                    break
        return found

    def trail(self, bodies: list[int], begin: float, end: float) -> np.ndarray:
        """Places (k, len(bodies), 3) [m] from one time to another [s], in order."""
        times, positions = self._trail_samples()
        inside = (times > begin) & (times < end)
        ends = [np.asarray(self.state(time).position)[None, bodies] for time in (begin, end)]
        return np.concatenate([ends[0], positions[inside][:, bodies], ends[1]])

    def ghost_times(self, time: float, count: int) -> list[float]:
        """The last `count` times before a time [s] of an even grid over the motion, latest first."""
        step = (self.end - self.start) / GHOST_TIMES
        if step <= 0:
            return []
        latest = int(np.ceil((min(time, self.end) - self.start) / step - 1e-9)) - 1
        return [self.start + number * step for number in range(latest, max(latest - count, -1), -1)]

    @cached_property
    def plots(self) -> PlotPanel:
        """Charts of this run."""
        return PlotPanel(self.trajectory)

    @property
    def fastest(self) -> float:
        """The highest speed of a body at sampled times [m/s]."""
        if not hasattr(self, "_fastest"):
            times = np.linspace(self.start, self.end, 60)
            speeds = np.linalg.norm(np.asarray(self.trajectory.sample(times).velocity), axis=-1)
            self._fastest = float(speeds.max(initial=0.0))
        return self._fastest

    def _trail_samples(self) -> tuple[np.ndarray, np.ndarray]:
        if self._trails is None:
            times = np.linspace(self.start, self.end, TRAIL_SAMPLES)
            corners = self.event_times[:: max(1, len(self.event_times) // TRAIL_SAMPLES)]
            inside = corners[(corners >= self.start) & (corners <= self.end)]
            times = np.unique(np.concatenate([times, inside]))
            self._trails = times, np.asarray(self.trajectory.sample(times).position)
        return self._trails
