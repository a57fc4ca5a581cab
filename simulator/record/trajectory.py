"""What a run leaves behind: pieces of exact motion for each body, and the events between them."""

from collections.abc import Sequence
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...bodies import Scene
from .. import kernels
from ..collision.pairs import collision_pairs, overlap
from ..event import Event
from ..state import Array, Model, State
from .event_log import EventLog, Events, kind_names
from .growing_array import GrowingArray
from .impact_records import ImpactRecords
from .ledger import EnergyLedger, Works

if TYPE_CHECKING:
    import os

    from .recorded import RecordedEvents

_ROWS_AT_ONCE = 1024
"""States evaluated together: their coefficients fill a few megabytes."""


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
    STOPPED = "stopped", "A terminal event ended the run; run further to go on."
    USER_FUNCTION_FAILED = (
        "user_function_failed",
        "A function given by the user failed: correct it; everything up to then is here.",
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


class Pieces(NamedTuple):
    """Pieces of motion of one body.

    start : (k,) [s]
    state : (k, 13), packed
    acceleration : (k, 3) [m/s^2], of free flight
    polynomial : k arrays (13, terms), None for free flight
    """

    start: Array
    state: Array
    acceleration: Array
    polynomial: Sequence[Array | None]


class BodyMotion:
    """The pieces of one body: start times and, of each, the packed state with what continues it.

    A free piece is its state and acceleration; its Taylor series is made again when it is read. A piece in
    contact keeps its polynomial.
    """

    def __init__(self) -> None:
        self._start = GrowingArray()
        self._state = GrowingArray(13)
        self._acceleration = GrowingArray(3)
        self._polynomial: list[Array | None] = []

    def append(self, start: float, state: Array, acceleration: Array, polynomial: Array | None) -> None:
        """Continue from `start` [s] with this motion."""
        self._start.append(start)
        self._state.append(state)
        self._acceleration.append(acceleration)
        self._polynomial.append(None if polynomial is None else polynomial.copy())

    def __len__(self) -> int:
        return len(self._polynomial)

    @property
    def start(self) -> Array:
        """When each piece begins, (k,) [s]."""
        return self._start.values

    def pieces(self, first: int = 0) -> Pieces:
        """All pieces from the `first` on."""
        return Pieces(
            self.start[first:],
            self._state.values[first:],
            self._acceleration.values[first:],
            self._polynomial[first:],
        )

    def coefficients(self, piece: int, inertia: Array, inverse_inertia: Array) -> Array:
        """Taylor coefficients (13, TERMS) of a piece."""
        state, acceleration, polynomial = self.piece(piece)
        if polynomial is None:
            return kernels.free_piece(state, acceleration, inertia, inverse_inertia)[0]
        full = np.zeros((13, kernels.TERMS))
        full[:, : polynomial.shape[1]] = polynomial
        return full

    def piece(self, index: int) -> tuple[Array, Array, Array | None]:
        """Packed state (13,), acceleration (3,) and polynomial (13, terms) or None of a piece."""
        return self._state[index], self._acceleration[index], self._polynomial[index]


class Trajectory:
    """A finished (or growing) run: exact state at any time, and every event with its problem and outcome.

    scene : the scene that was simulated
    events : in order of time
    start_time, end_time : [s]
    status, message : how the run ended, and in words
    rest_time : [s] since when everything is at rest, or None
    law_name, seed : what the run was made with
    law_description : JSON of the law's parameters, empty where the law is not one of carom's
    """

    def __init__(self, scene: Scene, law_name: str, seed: int, model: Model | None = None):
        self.scene = scene
        self.law_name = law_name
        self.law_description = ""
        self.seed = seed
        self.model = model or Model.of_scene(scene)
        self.motions = [BodyMotion() for _ in scene.bodies]
        self._events: EventLog | RecordedEvents = EventLog()
        self._impacts: tuple[int, ImpactRecords] | None = None
        self.start_time = 0.0
        self.end_time = 0.0
        self.status = RunStatus.UNFINISHED
        self.message = ""
        self.rest_time: float | None = None
        self.remarks: list[str] = []
        self.works = Works()

    @property
    def events(self) -> Sequence[Event]:
        """Every event so far, in order of time; of a recording each is read when it is looked at."""
        return Events(self._events, self.sample)

    @property
    def event_times(self) -> Array:
        """Of every event so far, (E,) [s]."""
        return self._events.times

    @property
    def event_kinds(self) -> NDArray[np.str_]:
        """Of every event so far, (E,), the names of `EventKind`, so ``kinds == EventKind.IMPACT`` is a mask."""
        return kind_names(self._events.kind_codes)

    @property
    def impacts(self) -> ImpactRecords:
        """Every impact so far as arrays, one row a contact; made once for as long as no event comes."""
        if self._impacts is None or self._impacts[0] != len(self._events):
            self._impacts = len(self._events), self._events.impacts()
        return self._impacts[1]

    @property
    def duration(self) -> float:
        """Simulated time [s]."""
        return self.end_time - self.start_time

    def add_event(self, event: Event) -> None:
        """Append an event, which will sample its neighbourhood from this trajectory."""
        if not isinstance(self._events, EventLog):
            raise ValueError("a trajectory read from a recording takes no more events")
        event.sample_from(self.sample)
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
        packed = self._packed(times, side)
        if np.ndim(t) == 0:
            return State.unpacked(float(times[0]), packed[0])
        return State.unpacked(times, packed)

    def _packed(self, times: Array, side: str) -> Array:
        """Packed states (T, n, 13) at times (T,)."""
        order = np.argsort(times, kind="stable")
        ordered = times[order]
        piece = np.empty((len(self.motions), len(times)), dtype=np.int64)
        elapsed = np.empty(piece.shape)
        for body, motion in enumerate(self.motions):
            start = motion.start
            piece[body] = np.maximum(np.searchsorted(start, ordered, side=side) - 1, 0)  # type: ignore[call-overload]
            elapsed[body] = ordered - start[piece[body]]
        packed = np.empty((len(times), len(self.motions), 13))
        packed[order] = self._evaluated(piece, elapsed).transpose(1, 0, 2)
        return packed

    def _evaluated(self, piece: NDArray[np.int64], elapsed: Array) -> Array:
        """Packed states (n, T, 13) `elapsed` seconds after the start of pieces, both (n, T)."""
        begins = np.ones(piece.shape, dtype=bool)  # a run of times in one piece
        begins[:, 1:] = piece[:, 1:] != piece[:, :-1]
        run = np.cumsum(begins.ravel()) - 1
        body_of, time_of = np.nonzero(begins)
        piece_of = piece[body_of, time_of]
        tau = elapsed.ravel()
        states = np.empty((tau.size, 13))
        for first in range(0, tau.size, _ROWS_AT_ONCE):
            rows = slice(first, first + _ROWS_AT_ONCE)
            runs = range(run[rows][0], run[rows][-1] + 1)
            coefficients = np.stack([self._coefficients(int(body_of[k]), int(piece_of[k])) for k in runs])
            # with the time 0, a piece that began at -tau is evaluated at exactly tau
            states[rows] = kernels.state_of_all(coefficients[run[rows] - runs.start], -tau[rows], 0.0)
        return states.reshape(*piece.shape, 13)

    def _coefficients(self, body: int, piece: int) -> Array:
        model = self.model
        return self.motions[body].coefficients(piece, model.inertia[body], model.inverse_inertia[body])

    def energy(self, t: Any, side: str = "right") -> Any:
        """Kinetic energy plus that in gravity and in the springs of joints [J] at time(s) `t`."""
        state = self.sample(t, side=side)
        return self.model.energy(state) + self.model.spring_energy(state)

    def energy_parts(self, t: Any, side: str = "right") -> tuple[Any, Any]:
        """Kinetic energy, and that in gravity and in the springs of joints [J] at time(s) `t`."""
        state = self.sample(t, side=side)
        return (
            self.model.kinetic_energy(state),
            self.model.potential_energy(state) + self.model.spring_energy(state),
        )

    def ledger(self, t: Any, side: str = "right") -> EnergyLedger:
        """Where the energy is at time(s) `t` [s], and what work has been done since the start."""
        state = self.sample(t, side=side)
        model = self.model
        works = self.works.until(np.atleast_1d(np.asarray(t, dtype=float)), side)
        done = works[0].tolist() if np.ndim(t) == 0 else works.T
        energies = (model.kinetic_energy(state), model.potential_energy(state), model.spring_energy(state))
        return EnergyLedger(t, *energies, *done)

    def largest_overlap(self, samples: int = 200, looks: int | None = None) -> float:
        """Deepest overlap [m] of any pair at `samples` even times and every event, 0 where none overlaps.

        Where that means more than so many `looks` at pairs, only evenly chosen ones of these times are taken.
        """
        times = np.unique(
            np.concatenate([np.linspace(self.start_time, self.end_time, samples), self.event_times])
        )
        pairs = self._collision_pairs()
        if looks is not None and len(times) * len(pairs) > looks:
            count = max(2, looks // len(pairs))
            times = times[np.linspace(0, len(times) - 1, count).astype(int)]
        return self._deepest_overlap(times, pairs)

    def overlap_at(self, t: Any) -> float:
        """Deepest overlap [m] of any pair at time(s) `t` [s], 0 where none overlaps."""
        return self._deepest_overlap(np.atleast_1d(np.asarray(t, dtype=float)), self._collision_pairs())

    def _collision_pairs(self) -> NDArray[np.int64]:
        return np.array(collision_pairs(self.model), dtype=np.int64).reshape(-1, 2)

    def _deepest_overlap(self, times: Array, pairs: NDArray[np.int64]) -> float:
        one, other = pairs.T
        reach = self.model.size[one] + self.model.size[other]
        reach[[self.model.planes[body] is not None for body in other]] = np.inf
        deepest = 0.0
        for first in range(0, len(times), _ROWS_AT_ONCE):
            state = self.sample(times[first : first + _ROWS_AT_ONCE])
            for position, orientation in zip(state.position, state.orientation, strict=True):
                packed = np.concatenate([position, orientation, np.zeros((len(position), 6))], axis=1)
                near = np.linalg.norm(position[one] - position[other], axis=1) < reach
                for a, b in pairs[near].tolist():
                    deepest = max(deepest, overlap(self.model, (a, b), packed))
        return deepest

    def save(self, path: "str | os.PathLike") -> Path:
        """Write the recording as one HDF5 file and return its path; OSError where that is impossible."""
        from .recording import save

        return save(self, path)

    def _repr_html_(self) -> str:
        """What a notebook shows: the replay."""
        from ...notebook import trajectory_html

        return trajectory_html(self)

    @classmethod
    def load(cls, path: "str | os.PathLike") -> "Trajectory":
        """Read a recording; FileFormatError with one sentence for anything that is not one."""
        from .recording import load

        return load(path)
