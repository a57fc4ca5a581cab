"""What a run leaves behind: pieces of exact motion for each body, and the events between them."""

import copy
import json
from collections.abc import Sequence
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...bodies import Scene, checks
from ...bodies.forces import function_name
from ...interrupts import interrupts_wait
from ..collision.pairs import collision_pairs, overlap, reach_of_pairs
from ..engine.tables_kernels import IMPLICIT, SERIES, STILL
from ..event import Event, EventKind
from ..integrator import Integrator
from ..state import Array, Model, State
from .body_run import BodyRun
from .event_bits import event_hash
from .events import EventLog, Events, kind_names
from .impact_records import ImpactRecords
from .impulse_domain import ImpulseDomain
from .ledger import EnergyLedger
from .log import Log
from .sample_kernels import states_on_pieces
from .works import work_until

if TYPE_CHECKING:
    import os

    from ..contact_forces import ContactForces, JointForces

_ROWS_AT_ONCE = 1024
"""States evaluated together: with the numbers of their pieces they fill a few megabytes."""
_MOST_SAMPLES = 10_000_000


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
    NOT_FINITE = (
        "not_finite",
        "A number has left the range of double precision: look at the last event, at masses, speeds and forces.",
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
    """The pieces of motion of one body, read from the log of a run."""

    def __init__(self, log: Log, body: int):
        self._log, self._body = log, body

    def __len__(self) -> int:
        return len(self._log.pieces_of(self._body))

    @property
    def start(self) -> Array:
        """When each piece begins, (k,) [s]."""
        return np.ascontiguousarray(self.rows["start"])

    @property
    def rows(self) -> NDArray[Any]:
        """Rows of all pieces, with the columns of the table of pieces in `engine/tables_kernels.py`."""
        return self._log.pieces.taken(self._log.pieces_of(self._body))

    def polynomial(self, piece: int) -> Array | None:
        """Polynomials (13, terms) of a piece in the time since its start [s]; None of free flight and rest."""
        number = int(self._log.pieces_of(self._body)[piece])
        offsets = self._log.offsets("piece_numbers")
        numbers = self._log.piece_numbers.rows(int(offsets[number]), int(offsets[number + 1]))
        terms = int(self._log.pieces.rows(number, number + 1)["terms"][0])
        return numbers.reshape(-1, terms) if terms else None


class Trajectory:
    """A finished (or growing) run: exact state at any time, and every event with its problem and outcome.

    ``trajectory["ball"]`` is one body of it, see `BodyRun`.

    scene : the scene that was simulated
    events : in order of time
    start_time, end_time : [s], when the run began and ended; one that came to rest ends there
    asked_time : [s] up to which the run was asked to go, None before it was
    known_until : [s], up to where the motion is known: `end_time`, or `asked_time` where everything rests till then
    status, message : how the run ended, and in words
    rest_time : [s] since when everything is at rest, or None
    remarks : sentences on what of the scene has no effect in this run, such as friction that the law ignores
    law_name, seed : what the run was made with
    law_description : JSON of the law's parameters, empty where the law is not one of carom's
    integrator : how motion was integrated where it has no closed form; None of a run by time steps
    force_functions : names of the user's functions that acted; a recording keeps no more of them
    """

    def __init__(self, scene: Scene, law_name: str, seed: int, model: Model | None = None):
        self.scene = scene
        self.law_name = law_name
        self.law_description = ""
        self.seed = seed
        self.model = model or Model.of_scene(scene)
        self.log = Log.empty()
        self.source: Path | None = None  # the file that it was read from
        self._events = EventLog(self)
        self._impacts: tuple[int, ImpactRecords] | None = None
        self.start_time = 0.0
        self.end_time = 0.0
        self.asked_time: float | None = None
        self.status = RunStatus.UNFINISHED
        self.message = ""
        self.rest_time: float | None = None
        self.remarks: list[str] = []
        self.integrator: Integrator | None = None
        self.force_functions = [function_name(function) for function in scene.force_functions]

    def __getitem__(self, body: Any) -> BodyRun:
        """What became of one body, by name, index, or the body itself; ValueError for one that is not there."""
        return BodyRun(self, self.scene.index(body))

    def __repr__(self) -> str:
        impacts = np.count_nonzero(self.event_kinds == EventKind.IMPACT)
        return (
            f"Trajectory({len(self.scene)} bodies, {self.law_name}, {self.start_time:g} to {self.known_until:g} s, "
            f"{len(self._events)} events of which {impacts} impacts, {self.status.value})"
        )

    @property
    def events(self) -> Sequence[Event]:
        """Every event so far, in order of time; each is read when it is looked at."""
        return Events(self._events)

    @property
    def event_times(self) -> Array:
        """Of every event so far, (E,) [s]."""
        return self.log.events.column("time")

    @property
    def event_kinds(self) -> NDArray[np.str_]:
        """Of every event so far, (E,), the names of `EventKind`, so ``kinds == EventKind.IMPACT`` is a mask."""
        return kind_names(self.log.events.column("kind"))

    @property
    def impacts(self) -> ImpactRecords:
        """Every impact so far as a table, one row a contact; made once for as long as no event comes."""
        if self._impacts is None or self._impacts[0] != len(self._events):
            self._impacts = len(self._events), ImpactRecords.of_log(self.log)
        return self._impacts[1]

    @property
    def event_hash(self) -> str:
        """SHA-256, in hexadecimal, of all events so far: equal for equal events, bit for bit.

        It covers of each event its time, kind, note, the law's status, change of energy and end of accumulating
        bounces; of each of its contacts, in order, bodies, features, place, frame, gap, friction, restitution,
        impulse, and velocity before and after; and the text that a law in Python or a user's event left. Not the
        scene, the law, the seed, the motion between events, nor how the run was divided into steps.
        """
        return event_hash(self.log)

    def add_note(self, time: float, kind: int, note: str, pieces: int) -> None:
        """Note an event without contacts at a time [s], before which so many pieces had begun."""
        text = json.dumps({"note": note}).encode()
        row = np.zeros(1, dtype=self.log.events.dtype)
        row["time"], row["kind"], row["pieces"], row["text"] = time, kind, pieces, len(text)
        self.log.add("events", row)
        self.log.add("texts", np.frombuffer(text, dtype="u1"))
        self.end_time = max(self.end_time, time)

    def add_flights(self, bodies: NDArray[np.int64], start: float, states: Array) -> None:
        """Note that bodies (k,) fly on without forces from packed states (k, 13) at a time [s]."""
        rows = np.zeros(len(bodies), dtype=self.log.pieces.dtype)
        rows["body"], rows["start"], rows["state"] = bodies, start, states
        rows["kind"] = np.where(self.model.movable[bodies], SERIES, STILL)
        self.log.add("pieces", rows)

    def refuse_steps(self, what: str) -> None:
        """ValueError, which names `what` was asked for, of a run by time steps."""
        if self.integrator is None:
            raise ValueError(
                f"{what}: expected a run from event to event, got one by time steps, whose contacts only act in "
                "the impacts of its steps: see Simulator.step_log"
            )

    def copy(self) -> "Trajectory":
        """The same run so far, which may go on otherwise; rows that are there are shared."""
        copied = copy.copy(self)
        copied.log = Log.joined([(self.log, None)])
        copied._events, copied._impacts = EventLog(copied), None
        copied.remarks = list(self.remarks)
        return copied

    @property
    def motions(self) -> list[BodyMotion]:
        """The pieces of motion of every body."""
        return [BodyMotion(self.log, body) for body in range(self.model.count)]

    @property
    def duration(self) -> float:
        """Simulated time [s]."""
        return self.end_time - self.start_time

    @property
    def known_until(self) -> float:
        """Time [s] up to which the motion is known, and `sample` tells it.

        That is `end_time`, but where a run came to rest before the time that it was asked to reach, everything
        rests up to there.

        Example
        -------
        >>> scene = carom.Scene()
        >>> floor = scene.add(carom.Body(carom.HalfSpace((0, 0, 1)), fixed=True))
        >>> ball = scene.add(carom.Body(carom.Sphere(0.5), mass=1.0, position=(0, 0, 1.0)))
        >>> run = carom.Simulator(scene, carom.AnitescuPotra()).run(5.0)
        >>> round(run.end_time, 3), run.known_until, run.sample(5.0).position[1].tolist()
        (0.319, 5.0, [0.0, 0.0, 0.5])
        """
        if self.status is RunStatus.AT_REST and self.asked_time is not None:
            return max(self.end_time, self.asked_time)
        return self.end_time

    @interrupts_wait()
    def sample(self, t: Any, side: str = "right") -> State:
        """Exact state at time `t` [s], a number or an array (T,), from `start_time` to `known_until`.

        At an event time ``side="right"`` (default) is the state after it, ``"left"`` before it. Raises
        ValueError for times outside the run or another side.
        """
        if not (isinstance(side, str) and side in ("left", "right")):
            raise ValueError(f"side: expected 'left' or 'right', got {side!r}")
        times = self._checked_times(t)
        packed = self._packed(times, side)
        if np.ndim(t) == 0:
            return State.unpacked(float(times[0]), packed[0], self.scene)
        return State.unpacked(times, packed, self.scene)

    def _checked_times(self, t: Any) -> Array:
        """Times (T,) [s], of one number too; TypeError or ValueError for anything but times within the run."""
        try:
            given = np.asarray(t)
        except ValueError:  # rows of unequal length
            given = np.asarray(None)
        times = np.atleast_1d(given.astype(float)) if given.dtype.kind in "fiu" else None
        if times is None:
            raise TypeError(f"t: expected a number or an array of numbers, got {str(t)[:60]}")
        if times.ndim != 1:
            raise ValueError(f"t: expected a number or an array of shape (T,), got shape {times.shape}")
        outside = times[~((times >= self.start_time) & (times <= self.known_until))]
        if len(outside):
            raise ValueError(
                f"t: expected times within [{self.start_time:g}, {self.known_until:g}] s, got {outside[0]:g}"
            )
        return times

    def _packed(self, times: Array, side: str) -> Array:
        """Packed states (T, n, 13) at times (T,)."""
        count = self.model.count
        number = self.log.pieces_at(count, times, side)
        packed = np.empty((len(times), count, 13))
        at_once = max(1, _ROWS_AT_ONCE // count)
        for first in range(0, len(times), at_once):
            some = slice(first, first + at_once)
            packed[some] = self._on_pieces(
                number[:, some], np.broadcast_to(times[some], number[:, some].shape)
            )
        return packed

    def packed_before(self, event: int, bodies: Sequence[int]) -> Array:
        """Packed states (n, 13) just before an event, by number, and before none of others at its time; only those
        of these bodies are right."""
        row = self.log.events.rows(event, event + 1)[0]
        number = np.array(
            [[self.log.last_piece(body, int(row["pieces"]))] for body in bodies], dtype=np.int64
        )
        states = self.model.initial_states()
        if len(bodies):
            states[list(bodies)] = self._on_pieces(number, np.full(number.shape, float(row["time"])))[0]
        return states

    def _on_pieces(self, number: NDArray[np.int64], times: Array) -> Array:
        """Packed states (T, n, 13) on pieces of these numbers (n, T) at times (n, T)."""
        distinct, which = np.unique(number, return_inverse=True)
        rows = self.log.pieces.taken(distinct)
        offsets = self.log.offsets("piece_numbers")
        counts = offsets[distinct + 1] - offsets[distinct]
        numbers = np.concatenate(
            [np.zeros(0)]
            + [
                self.log.piece_numbers.rows(int(offsets[k]), int(offsets[k + 1]))
                for k in distinct[counts > 0].tolist()
            ]
        )
        which = which.ravel()
        out = np.empty((len(which), 13))
        states_on_pieces(
            which, np.ascontiguousarray(rows["body"]), rows, np.concatenate([[0], np.cumsum(counts)[:-1]]), numbers,
            np.maximum(times.ravel() - rows["start"][which], 0.0), self.model.inertia,
            self.model.inverse_inertia, out,
        )  # fmt: skip
        return out.reshape(*number.shape, 13).transpose(1, 0, 2)

    def over_impulse(self) -> ImpulseDomain:
        """The run over s = t + accumulated normal impulse, in which impacts take as long as their impulse.

        Of bodies in lasting contact whose forces do not follow from the record, `ImpulseDomain.left_out` tells the
        names; s does not count these forces. ValueError for a run by time steps, which has no impacts of its own.

        Source: Halm & Posa, Set-valued rigid-body dynamics for simultaneous, inelastic, frictional impacts,
        section 4.

        Example
        -------
        >>> scene = carom.Scene(gravity=(0, 0, 0))
        >>> wall = scene.add(carom.Body(carom.HalfSpace((1, 0, 0)), fixed=True))
        >>> ball = scene.add(carom.Body(carom.Sphere(0.5), mass=2.0, position=(1, 0, 0), velocity=(-1, 0, 0)))
        >>> domain = carom.Simulator(scene, carom.AnitescuPotra()).run(1.0, stop_at_rest=False).over_impulse()
        >>> domain.event_s.tolist(), domain.end  # the ball is stopped at 0.5 s by 2 N s
        ([[0.5, 2.5]], 3.0)
        >>> halfway = domain.sample(1.5)
        >>> halfway.time, halfway.velocity[1].tolist(), domain.left_out
        (0.5, [-0.5, 0.0, 0.0], ())
        """
        self.refuse_steps("over_impulse")
        return ImpulseDomain(self)

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
        """Where the energy is at time(s) `t` [s], and what work has been done since the start.

        What time steps do is in `closing`: their impacts, and gravity, which acts in jumps; known up to the time of
        the run, and to as much as recorded places of bodies may be off (1e-5 of their size).
        """
        state = self.sample(t, side=side)
        model = self.model
        times = np.asarray(t, dtype=float)
        works = work_until(self.log, np.atleast_1d(times), side)
        energies = (model.kinetic_energy(state), model.potential_energy(state), model.spring_energy(state))
        begun = float(self.energy(self.start_time, "left"))
        if times.ndim == 0:
            kinetic, potential, springs = map(float, energies)
            return EnergyLedger(float(times), kinetic, potential, springs, begun, *works[0].tolist())
        return EnergyLedger(times, *energies, begun, *works.T)

    @interrupts_wait()
    def contact_forces(self, t: float, side: str = "right") -> "ContactForces":
        """Forces of lasting contact at a time [s], from the motion: see `ContactForces`.

        Impacts have impulses instead, in `impacts`; `side` as in `sample`. ValueError for a time outside the run,
        and where functions of the user acted that a recording does not keep.
        """
        from ..contact_forces import contact_forces

        return contact_forces(self, t, side)

    @interrupts_wait()
    def joint_forces(self, t: float, side: str = "right") -> "JointForces":
        """What joints do to their bodies at a time [s]: see `JointForces`; `side`, errors: `contact_forces`."""
        from ..contact_forces import joint_forces

        return joint_forces(self, t, side)

    def contact_impulse(self, start: float, end: float) -> Array:
        """Impulse of lasting contact on every body from one time [s] to another, (n, 3) [N s], world frame.

        Without that of impacts. With that, gravity, joints and drag it makes the change of momentum. Integrated by
        quadrature with eight nodes a piece of motion, so a long interval takes time.
        """
        from ..contact_forces import contact_impulse

        return contact_impulse(self, start, end)

    @property
    def implicit_share(self) -> float:
        """Share of the time of all bodies that can move, from 0 to 1, in which they went on by implicit steps: see
        `Integrator`."""
        pieces, whole = (
            self.log.pieces,
            (self.end_time - self.start_time) * np.count_nonzero(self.model.movable),
        )
        if not whole > 0.0:
            return 0.0
        body, start, kind = pieces.columns(["body", "start", "kind"])
        order = np.argsort(body, kind="stable")
        last = np.append(body[order][1:] != body[order][:-1], True)
        end = np.where(last, self.end_time, np.append(start[order][1:], self.end_time))
        spans = np.minimum(end, self.end_time) - np.minimum(start[order], self.end_time)
        return float(np.sum(spans[kind[order] == IMPLICIT]) / whole)

    def largest_overlap(self, samples: int = 200, looks: int | None = None) -> float:
        """Deepest overlap [m] of any pair at `samples` even times and every event, 0 where none overlaps.

        Where that means more than so many `looks` at pairs, only evenly chosen ones of these times are taken.
        """
        samples = checks.whole("samples", samples, _MOST_SAMPLES)
        looks = None if looks is None else checks.whole("looks", looks, 2**63 - 1)
        times = np.unique(
            np.concatenate([np.linspace(self.start_time, self.end_time, samples), self.event_times])
        )
        pairs = self._collision_pairs()
        if looks is not None and len(times) * len(pairs) > looks:
            count = max(2, looks // len(pairs))
            times = times[np.linspace(0, len(times) - 1, count).astype(int)]
        return self._deepest_overlap(times, pairs)

    def overlap_at(self, t: Any) -> float:
        """Deepest overlap [m] of any pair at a time `t` [s], 0 where none overlaps; the deepest of all times where
        there are several."""
        return self._deepest_overlap(self._checked_times(t), self._collision_pairs())

    def _collision_pairs(self) -> NDArray[np.int64]:
        return np.array(collision_pairs(self.model), dtype=np.int64).reshape(-1, 2)

    def _deepest_overlap(self, times: Array, pairs: NDArray[np.int64]) -> float:
        one, other = pairs.T
        reach, deepest = reach_of_pairs(self.model, pairs), 0.0
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
