"""What a run leaves behind: pieces of exact motion for each body, and the events between them."""

from collections.abc import Sequence
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..bodies import Scene
from . import kernels
from .collision import collision_pairs, overlap
from .event import Event
from .state import Array, Model, State

if TYPE_CHECKING:
    import os


class RunStatus(Enum):
    """How a run ended: ``value`` is the name in files and tables, ``advice`` what to do about it."""

    REACHED_END = "reached_end", "The asked time was reached; run further to go on."
    AT_REST = "at_rest", "Every body is at rest, so nothing more can happen."
    EVENT_LIMIT = "event_limit", "The event limit was reached: raise event_limit, or look for a wedged body."
    NO_PROGRESS = (
        "no_progress",
        "Events follow each other without time passing: try another law, or more restitution.",
    )
    LAW_FAILED = "law_failed", "The impact law found no outcome: see the last event, and try another law."
    CONTACT_FAILED = (
        "contact_failed",
        "Lasting contact could not be continued: lower the friction, or look at the last event.",
    )
    UNFINISHED = (
        "unfinished",
        "The run was cut off while it was recorded; everything up to the last flush is here.",
    )

    advice: str

    def __new__(cls, value: str, advice: str) -> "RunStatus":
        member = object.__new__(cls)
        member._value_ = value
        member.advice = advice
        return member


class BodyMotion:
    """The pieces of one body: start times and, of each, the packed state with what continues it.

    A free piece is its state and acceleration; its Taylor series is made again when it is read. A piece in
    contact keeps its polynomial.
    """

    def __init__(self) -> None:
        self.start: list[float] = []
        self.state: list[Array] = []
        self.acceleration: list[Array] = []
        self.polynomial: list[Array | None] = []

    def append(self, start: float, state: Array, acceleration: Array, polynomial: Array | None) -> None:
        """Continue from `start` [s] with this motion."""
        self.start.append(start)
        self.state.append(state.copy())
        self.acceleration.append(acceleration.copy())
        self.polynomial.append(None if polynomial is None else polynomial.copy())

    def coefficients(self, piece: int, inertia: Array, inverse_inertia: Array) -> Array:
        """Taylor coefficients (13, TERMS) of a piece."""
        polynomial = self.polynomial[piece]
        if polynomial is not None:
            full = np.zeros((13, kernels.TERMS))
            full[:, : polynomial.shape[1]] = polynomial
            return full
        return kernels.free_piece(self.state[piece], self.acceleration[piece], inertia, inverse_inertia)[0]


class Trajectory:
    """A finished (or growing) run: exact state at any time, and every event with its problem and outcome.

    scene : the scene that was simulated
    events : in order of time
    start_time, end_time : [s]
    status, message : how the run ended, and in words
    rest_time : [s] since when everything is at rest, or None
    law_name, seed : what the run was made with
    """

    def __init__(self, scene: Scene, law_name: str, seed: int, model: Model | None = None):
        self.scene = scene
        self.law_name = law_name
        self.seed = seed
        self.model = model or Model.of_scene(scene)
        self.motions = [BodyMotion() for _ in scene.bodies]
        self._events: list[Event] = []
        self.start_time = 0.0
        self.end_time = 0.0
        self.status = RunStatus.UNFINISHED
        self.message = ""
        self.rest_time: float | None = None
        self.remarks: list[str] = []

    @property
    def events(self) -> Sequence[Event]:
        """Every event so far, in order of time."""
        return tuple(self._events)

    @property
    def duration(self) -> float:
        """Simulated time [s]."""
        return self.end_time - self.start_time

    def add_event(self, event: Event) -> None:
        """Append an event, which will sample its neighbourhood from this trajectory."""
        object.__setattr__(event, "_sample", self.sample)
        self._events.append(event)

    def sample(self, t: Any, side: str = "right") -> State:
        """Exact state at time `t` [s], a number or an array (T,).

        At an event time ``side="right"`` (default) is the state after it, ``"left"`` before it. Raises
        ValueError for times outside the run or another side.
        """
        if side not in ("left", "right"):
            raise ValueError(f"side: expected 'left' or 'right', got {side!r}")
        times = np.atleast_1d(np.asarray(t, dtype=float))
        if times.ndim != 1:
            raise ValueError(f"t: expected a number or an array of shape (T,), got shape {times.shape}")
        outside = times[~((times >= self.start_time) & (times <= self.end_time))]
        if len(outside):
            raise ValueError(
                f"t: expected times within [{self.start_time:g}, {self.end_time:g}] s, got {outside[0]:g}"
            )
        packed = np.empty((len(times), len(self.motions), 13))
        for body, motion in enumerate(self.motions):
            piece = np.searchsorted(np.array(motion.start), times, side=side) - 1  # type: ignore[call-overload]
            piece = np.maximum(piece, 0)
            for k in np.unique(piece):
                which = np.flatnonzero(piece == k)
                coefficients = motion.coefficients(
                    int(k), self.model.inertia[body], self.model.inverse_inertia[body]
                )
                for row in which:
                    packed[row, body] = kernels.evaluate_piece(coefficients, times[row] - motion.start[k])
        if np.ndim(t) == 0:
            return State.unpacked(float(times[0]), packed[0])
        return State.unpacked(times, packed)

    def energy(self, t: Any, side: str = "right") -> Any:
        """Kinetic plus gravitational energy [J] at time(s) `t`."""
        return self.model.energy(self.sample(t, side=side))

    def largest_overlap(self, samples: int = 200) -> float:
        """Deepest overlap [m] of any pair at `samples` even times and every event, 0 where none overlaps."""
        times = np.unique(
            np.concatenate(
                [np.linspace(self.start_time, self.end_time, samples), [e.time for e in self._events]]
            )
        )
        state = self.sample(times)
        pairs = collision_pairs(self.model)
        deepest = 0.0
        for position, orientation in zip(state.position, state.orientation, strict=True):
            packed = np.concatenate([position, orientation, np.zeros((len(position), 6))], axis=1)
            for pair in pairs:
                deepest = max(deepest, overlap(self.model, pair, packed))
        return deepest

    def save(self, path: "str | os.PathLike") -> Path:
        """Write the recording as one HDF5 file and return its path; OSError where that is impossible."""
        from .recording import save

        return save(self, path)

    def _repr_html_(self) -> str:
        """What a notebook shows: the replay."""
        from ..notebook import trajectory_html

        return trajectory_html(self)

    @classmethod
    def load(cls, path: "str | os.PathLike") -> "Trajectory":
        """Read a recording; FileFormatError with one sentence for anything that is not one."""
        from .recording import load

        return load(path)
