"""The engine: find the next event, advance to it, let the law resolve it, record."""

import copy
import math
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..bodies import Drive, Material, PlacedJoint, Scene
from ..impact_laws import AnitescuPotra, ImpactLaw, ImpactOutcome, ImpactProblem
from ..progress import ProgressBar
from . import kernels
from .apart import all_stay_apart
from .collision.pairs import (
    contact_jacobian,
    contact_patch,
    distinct_contacts,
    moving_bodies,
    pair_size,
    refuse_unknown_distances,
    speeds_apart,
)
from .contact.accumulation import Past, end_of_bounces, in_body_axes, normal_speed, repeats
from .contact.held_contacts import features_stay, held_features
from .contact.integrator import Integrator
from .contact.lasting_contact import (
    ContactForceError,
    ContactMode,
    ContactMotion,
    ContactSet,
    ForceFunctionError,
    contact_mode,
    first_limit,
    free_mode,
    hold_closed,
    slip_now,
    stopped,
)
from .contact.rest import closed_gaps, is_at_rest
from .event import ContactPatch, Event, EventKind, Feature
from .given_state import packed_state
from .motion import Island, Motion, Motions, Pair
from .notes import STATE_SET, drive_note
from .predictions import Predictions, SearchError
from .record.law_description import law_description
from .record.ledger import WorkPiece
from .record.trajectory import RunStatus, Trajectory
from .start_checks import ignored_properties, refuse_loose_joints, refuse_overlap
from .state import Array, Model, State
from .tolerances import (
    ACCUMULATION_EXCURSION,
    ACCUMULATION_IMPACTS,
    APPROACH_SPEED,
    CHATTER_CHANGES,
    CHATTER_SLIP,
    CHATTER_TIME,
    LASTING_SPEED,
    REMAINING_APPROACH,
    SAME_INSTANT,
    SLIP_SPEED,
)
from .touching import Touching
from .user_events import EventFunction, EventFunctionError, UserEvents, user_event

if TYPE_CHECKING:
    import os

    from .branches import BranchedRun

_LONGEST_PIECE = 4.0
_EVENTS_WITHOUT_PROGRESS = 200
_RENEWALS_WITHOUT_EVENT = 100_000
_LOOK_AHEAD = 60.0  # [s] that step_event goes on for the sake of event functions alone
_GOES_ON = (RunStatus.UNFINISHED, RunStatus.REACHED_END, RunStatus.AT_REST)


class Simulator:
    """Event-driven simulation of a scene under one impact law.

    Parameters
    ----------
    scene : what exists at the start
    law : how impacts are resolved, such as ``SequentialReflection()``
    seed : feeds the law's random generator
    record : path of an HDF5 recording written while the run goes, or None
    event_limit : events after which a run stops with a status
    integrator : how motion is integrated where it has no closed form; None takes ``Integrator()``

    Raises ValueError where bodies overlap at the start, TypeError for shapes that cannot collide yet.
    """

    def __init__(
        self,
        scene: Scene,
        law: ImpactLaw,
        seed: int = 0,
        *,
        record: Any = None,
        event_limit: int = 1_000_000,
        integrator: Integrator | None = None,
    ):
        if not isinstance(scene, Scene):
            raise TypeError(f"scene: expected a Scene, got {type(scene).__name__}")
        if not callable(getattr(law, "resolve", None)):
            raise TypeError(f"law: expected an impact law such as SequentialReflection(), got {law!r}")
        if not scene.bodies:
            raise ValueError("scene: expected at least one body, got none")
        self.model = Model.of_scene(scene)
        self.law = law
        self.event_limit = event_limit
        self.integrator = integrator or Integrator()
        if not isinstance(self.integrator, Integrator):
            raise TypeError(f"integrator: expected an Integrator, got {type(integrator).__name__}")
        self.time = 0.0
        self.trajectory = Trajectory(scene, law.name, seed, self.model)
        self.trajectory.law_description = law_description(law)
        self._rng = np.random.default_rng(seed)
        self._material: dict[Pair, Material] = {}
        self._history: dict[Pair, Past] = {}
        self._changes: dict[int, deque[float]] = {}
        self._accumulated_at = -math.inf
        self._next_span = np.full(self.model.count, np.inf)
        self._stalled = 0
        self._functions = UserEvents()
        self._callbacks: list[Callable[[Event, Simulator], None]] = []
        self._calling = False
        refuse_unknown_distances(self.model)
        self._begin(self.model.initial_states(), "at the start")
        self.trajectory.remarks += ignored_properties(self.model, law)
        self._recorder = None
        if record is not None:
            from .record.recording import Recorder

            self._recorder = Recorder(self.trajectory, Path(record))
        self._settle_all()

    # -- what a user calls ---------------------------------------------------------------------------------

    @property
    def state(self) -> State:
        """All bodies now.

        It can be set: ``sim.state = State(...)`` lets the simulation go on from there, at the present time (that
        of the given state is not looked at). Fixed bodies keep what they have; everything is predicted anew, and
        an event of kind USER with the note "state set" is recorded. TypeError or ValueError that names the field
        and body, and nothing changed, for other shapes, values that are not finite, quaternions that are not of
        unit length within 1e-6 (else they are normalised) and bodies that overlap.
        """
        return self._state_at(self.time)

    @state.setter
    def state(self, state: State) -> None:
        self._set_packed(packed_state(self.model, state, self._motions.all_states(self.time)))

    def _set_packed(self, packed: Array) -> None:
        """Go on from these packed states (n, 13)."""
        self._begin(packed, f"at t = {self.time:g} s")
        self._note(STATE_SET)
        self._settle_all()
        self._tell_recorder()

    def _note(self, note: str) -> None:
        """An event of the user's."""
        self._add_event(Event(self.time, EventKind.USER, ContactPatch.empty(), None, None, note))

    def _tell_recorder(self) -> None:
        """That there is a new event, which it will be told anyway where a callback made it."""
        if self._recorder and not self._calling:
            self._recorder.event_added()

    def add_event(
        self,
        function: EventFunction,
        direction: int = 0,
        terminal: bool = False,
        name: str | None = None,
        *,
        resolution: float = 0.01,
    ) -> None:
        """Make an event of every zero of ``function(t, state) -> float``, as in scipy's solve_ivp.

        A zero is where the function loses the sign it had: by going through zero, by reaching it (and staying,
        say) or by jumping across at an impact, after which the event then follows. It is found to 1e-13 s on the
        exact motion and recorded as an event of kind USER whose note is the name. A function that is zero at the
        start has no zero there, and two zeros of one function are at least 1e-9 s apart. `state` is a `State`.

        direction : 1 counts only rising zeros, -1 only falling ones, 0 both
        terminal : whether the run stops there, with the status STOPPED; another `run` goes on
        name : of the event; by default that of the function
        resolution : [s] no zero is missed that is further than this from the next. The function is sampled so
            densely or more, at Chebyshev points (at least five) of the time to the engine's next event; closer
            pairs of zeros are found where a parabola through three samples comes near zero.

        A function that raises or is not finite ends the run with the status USER_FUNCTION_FAILED, which names it
        and the time. A run that stops at rest waits for no zeros: pass ``stop_at_rest=False``. Raises TypeError
        or ValueError for bad arguments.
        """
        known = self._functions.functions
        known.append(user_event(function, direction, terminal, name, resolution, known))

    def on_event(self, callback: "Callable[[Event, Simulator], None]") -> None:
        """Let ``callback(event, simulator)`` be called after every event, in order of registration.

        The simulator has then gone on to just after all events of that instant. A callback may set its `state`,
        of which no callback is told, and add event functions, but not advance it (RuntimeError). What it raises
        reaches whoever advances the simulator; a recording is readable up to there.
        """
        if not callable(callback):
            raise TypeError(f"callback: expected a function (event, simulator), got {callback!r}")
        self._callbacks.append(callback)

    def copy(self) -> "Simulator":
        """An independent simulator at the same instant, which would go on identically, bit for bit.

        It has the past of this one in its own trajectory, and calls the same event functions and callbacks. A
        recording stays with the original.
        """
        return self._copied()

    def _copied(self, past: Trajectory | None = None) -> "Simulator":
        """A copy, with this trajectory for a past or one of its own."""
        functions = (event.function for event in self._functions.functions)
        shared = (self.model, self.model.scene, self.law, *functions, *self._callbacks)
        memo: dict[int, Any] = {id(part): part for part in shared}
        memo[id(self._recorder)] = None
        if past is None:
            return copy.deepcopy(self, memo)
        memo[id(self.trajectory)] = past
        copied = copy.deepcopy(self, memo)
        past.works.pieces += copied._running_work()
        return copied

    def _running_work(self) -> list[WorkPiece]:
        """Work of the steps that bodies are in now."""
        found = (self._motions.island_of(body) for body in range(self.model.count))
        islands = {id(island): island for island in found if island is not None}
        return [island.work for island in islands.values() if island.work is not None]

    def joint_state(self, joint: PlacedJoint | str) -> tuple[float, float]:
        """Coordinate [rad or m] and rate of a joint now: the angle of a hinge, the way of a slide, a distance.

        Raises ValueError for a joint that is not in the scene, or that has no one coordinate.
        """
        number = self.model.scene.joint_index(joint)
        return self.model.articulation.coordinate(number, self._motions.all_states(self.time))

    def set_drive(self, joint: PlacedJoint | str, drive: Drive) -> None:
        """Let a joint that has a drive be driven like this from now on.

        Bodies that rest are asked again whether they do. An event of kind USER is recorded, whose note says what
        the drive is. Raises ValueError for a joint that is not in the scene or has no drive, TypeError for what is
        no `Drive`.
        """
        number = self.model.scene.joint_index(joint)
        articulation = self.model.articulation.with_drive(number, drive)
        self.model = replace(self.model, articulation=articulation)
        self._note(drive_note(self.model.scene.joints[number].name, drive))
        self._settle(set(articulation.moved_by(number)))
        self._tell_recorder()

    @classmethod
    def resume(
        cls,
        recording: "Trajectory | str | os.PathLike",
        event: int,
        law: ImpactLaw | None = None,
        *,
        record: Any = None,
        event_limit: int = 1_000_000,
    ) -> "Simulator":
        """A simulator just after an event of a recorded run, which goes on as that run did, bit for bit.

        The run is made again from its start and compared with the recording at every event, so this costs what
        the run did up to there. States and drives that were set are set again. Event functions and callbacks are
        not in a recording: what they found is copied, but they have to be added anew to go on.

        recording : a trajectory or the path of a file
        event : index into its events, also from the end as -1; events of the same instant may be included
        law : None takes the recorded one, if it is one of carom's
        record, event_limit : as for a new simulator; the new recording has the past too

        Raises ReplayError, a ValueError, where an event is not repeated, ValueError or TypeError for bad arguments,
        FileFormatError for a file that is no recording.
        """
        from .replay import resume

        return resume(recording, event, law, {"record": record, "event_limit": event_limit})

    def branches(
        self,
        n: int,
        seed: int,
        until: float,
        *,
        tolerance: float = 0.0,
        progress: bool = False,
        stop_at_rest: bool = True,
    ) -> "BranchedRun":
        """The same run with different outcomes at undecided impacts, `n` members of a tree.

        Every member goes on from now to `until` [s] as a copy of this simulator would, member i with a generator
        of its own, ``default_rng(SeedSequence(seed).spawn(n)[i])``, and equals that copy bit for bit. Members whose
        outcomes are equal, bit for bit, are simulated once; with others they part. This simulator stays where it
        is. Callbacks are called once for all members of a node.

        tolerance : [of the largest impulse] outcomes whose impulses differ by less count as one, that of the
            lowest member. Above 0, members equal their copies only so closely, but impacts that are decided but
            for rounding, such as those of one contact under a law that draws its way, part nobody.

        Raises TypeError or ValueError for bad arguments.
        """
        from .branches import grow

        return grow(self, n, seed, until, tolerance, progress, stop_at_rest)

    def step(self, duration: float) -> State:
        """Advance by exactly `duration` [s], through every event inside, and return the state."""
        if not (math.isfinite(duration) and duration >= 0.0):
            raise ValueError(f"duration: expected a finite number of seconds >= 0, got {duration!r}")
        self.run(self.time + duration, stop_at_rest=False)
        return self.state

    def step_event(self) -> Event | None:
        """Advance to just after the next event and return it; None where nothing will happen any more.

        Where bodies stay apart for ever, zeros of event functions are awaited for another 60 s.
        """
        self._go_on()
        known = len(self.trajectory._events)
        last = self.time + _LOOK_AHEAD if self._functions else -math.inf
        renewals = 0
        while not self._at_rest() and len(self.trajectory._events) == known and self._can_go_on():
            if self.time >= last and all_stay_apart(self._motions, self._predictions, self.time):
                break
            self._advance(math.inf)
            renewals += 1
            if renewals > _RENEWALS_WITHOUT_EVENT:
                self._fail(RunStatus.NO_PROGRESS, f"no event by t = {self.time:g} s")
        return self.trajectory._events[-1] if len(self.trajectory._events) > known else None

    def run(self, until: float, *, progress: bool = False, stop_at_rest: bool = True) -> Trajectory:
        """Go to the absolute simulated time `until` [s], or until everything is at rest.

        The returned trajectory carries the status; with `progress` a bar appears on a terminal when the run
        takes more than two seconds.
        """
        self.check_until(until)
        self._go_on()
        bar = ProgressBar(self.time, until, "simulating") if progress else None
        whole = False
        try:
            while self.time < until and self._can_go_on():
                resting = self._at_rest()  # also asked when nobody waits for it: it notes since when
                if resting and stop_at_rest:
                    break
                self._advance(until)
                if bar:
                    bar.show(self.time, f"{len(self.trajectory._events)} events")
            whole = True
        finally:
            if bar:
                bar.close()
            self._finish(until, whole)
        return self.trajectory

    def check_until(self, until: float) -> None:
        """Raise ValueError unless the simulation can go on to the time `until` [s]."""
        if not (math.isfinite(until) and until >= self.time):
            raise ValueError(f"until: expected a finite time of at least {self.time:g} s, got {until!r}")

    # -- the loop ------------------------------------------------------------------------------------------

    def _advance(self, until: float) -> None:
        """One turn of the loop, and those told who want to know of its events."""
        known = len(self.trajectory._events)
        self._turn(until)
        self._call_back(known)
        if self._recorder:  # only now is the motion after the event known
            self._recorder.event_added()

    def _turn(self, until: float) -> None:
        """The next event, or the next renewal of a piece, or `until`."""
        renewal = self._motions.next_end()
        try:
            impact, pair = self._predictions.next(min(renewal, until))
        except SearchError as error:
            self._fail(RunStatus.NO_PROGRESS, str(error))
            return
        following = max(self.time, float(min(impact, renewal, until)))
        if self._functions and self._user_event(following):
            return
        self._stalled = 0 if following > self.time + SAME_INSTANT else self._stalled + 1
        self.time = following
        self._touching.forget()
        if pair is None:
            if renewal <= until:
                self._renew()
        elif self._predictions.is_sensor(pair):
            self._notice(pair)
        else:
            self._impact({pair}, set(pair))

    def _user_event(self, until: float) -> bool:
        """Whether an event function has a zero by then or fails: time is then there."""
        try:
            crossings = self._functions.next(self.time, until, self._state_at)
        except EventFunctionError as error:
            self.time = self.trajectory.end_time = error.time
            self._fail(RunStatus.USER_FUNCTION_FAILED, str(error))
            return True
        for crossing in crossings:
            self.time = crossing.time
            name = crossing.event.name
            self._note(name)
            if crossing.event.terminal:
                self._fail(RunStatus.STOPPED, f"event {name!r} at t = {self.time!r} s")
        return bool(crossings)

    def _call_back(self, known: int) -> None:
        """Tell the callbacks of all events after the first `known`."""
        for event in self.trajectory.events[known:] if self._callbacks else ():
            for callback in self._callbacks:
                self._calling = True
                try:
                    callback(event, self)
                finally:
                    self._calling = False

    def _impact(self, pairs: set[Pair], bodies: set[int]) -> None:
        """Everything that touches these pairs and bodies now, through the law, into new motion."""
        patch, touched = self._touching.around(pairs, bodies, self.time)
        states = self._motions.states
        jacobian, inverse_mass, velocity, moving = contact_jacobian(self.model, patch, states)
        approach = -(jacobian @ velocity)[0::3]
        if approach.max() <= APPROACH_SPEED:  # rounding brought them here: no impact
            self._settle(touched)
            return
        problem = self._problem(patch, jacobian, inverse_mass, velocity)
        outcome = self._resolve(problem)
        self._set_velocity(moving, problem.generalized_velocity(outcome))
        note, closing = self._accumulation(patch, approach)
        self._add_event(Event(self.time, EventKind.IMPACT, patch, problem, outcome, note))
        if not outcome.resolved:
            self._fail(
                RunStatus.LAW_FAILED, f"{outcome.status.value}: {outcome.message or outcome.status.advice}"
            )
            return
        if closing is not None:
            touched |= {body for body in closing.bodies.ravel().tolist() if self.model.movable[body]}
        self._settle(touched, closing)

    def _resolve(self, problem: ImpactProblem, settling: bool = False) -> ImpactOutcome:
        """Ask the law; `settling`, in the midst of finding new motion."""
        return self.law.resolve(problem, self._rng)

    def _notice(self, pair: Pair) -> None:
        """A sensor and a body begin to overlap."""
        patch = contact_patch(self.model, [pair], self._motions.bring(pair, self.time))
        self._add_event(Event(self.time, EventKind.SENSOR, patch, None, None))
        self._predictions.entered(pair, self.time)

    def _renew(self) -> None:
        """New pieces for bodies whose pieces end now; a mode that ended is an event."""
        due = self._motions.ended(self.time)
        self._motions.bring(due, self.time)
        islands = {id(island): island for b in sorted(due) if (island := self._motions[b].island)}
        changed: set[int] = set()
        continued: set[int] = set()
        at_limit: set[int] = set()
        for island in islands.values():
            assert island.motion is not None  # what rests does not end
            members = set(island.bodies.tolist())
            present = {b for b in members if self._motions[b].island is island}
            due |= present
            if island.reaches_limit and present == members:
                at_limit |= members
            elif present != members:  # an impact has taken some of its bodies out of it
                changed |= present
                due -= present
                continue
            elif island.change is not None:
                self._count_change(members)
                self._add_event(
                    Event(self.time, island.change, island.motion.mode.contacts.patch, None, None)
                )
                changed |= members
            elif island.leaves:
                changed |= members
            else:
                try:
                    self._continue_island(island)
                except ContactForceError:  # forces have grown beyond all bounds: perhaps an impulse helps
                    changed |= members
                except ForceFunctionError as error:
                    self._fail(RunStatus.USER_FUNCTION_FAILED, str(error))
                    return
                else:
                    continued |= members
            due -= members
        for body in sorted(due):
            state = self._motions.states[body]
            self._start_piece(body, state, self._free_motion(body, state))
        self._predictions.changed(due | continued, self.time)
        if changed:
            self._settle(changed)
        if at_limit:
            self._impact(set(), at_limit)

    def _count_change(self, members: set[int]) -> None:
        for body in members:
            self._changes.setdefault(body, deque(maxlen=CHATTER_CHANGES)).append(self.time)

    def _chatters(self, members: Iterable[int]) -> bool:
        """Whether the contact mode of these bodies has changed too often just now."""
        pasts = [self._changes[body] for body in members if body in self._changes]
        return any(len(past) == CHATTER_CHANGES and self.time - past[0] < CHATTER_TIME for past in pasts)

    # -- impact problem ------------------------------------------------------------------------------------

    def _pair_coefficients(self, patch: ContactPatch) -> tuple[Array, Array]:
        materials = [self._pair_material((int(a), int(b))) for a, b in patch.bodies]
        friction = np.array([m.friction for m in materials])
        restitution = np.array([m.restitution for m in materials])
        if not self.model.articulation.is_empty:
            limits = patch.feature[:, 0] == Feature.LIMIT
            friction[limits] = 0.0
            restitution[limits] = self.model.articulation.limit_restitution[patch.feature_index[limits, 0]]
        return friction, restitution

    def _pair_material(self, pair: Pair) -> Material:
        if pair not in self._material:
            self._material[pair] = self.model.scene.pair_material(*pair)
        return self._material[pair]

    def _problem(
        self, patch: ContactPatch, jacobian: Array, inverse_mass: Array, velocity: Array
    ) -> ImpactProblem:
        friction, restitution = self._pair_coefficients(patch)
        dim = 3 if self.model.scene.plane is None else 2
        return ImpactProblem.from_generalized(
            None,
            jacobian.reshape(len(patch), 3, -1)[:, :dim].reshape(dim * len(patch), -1),
            velocity,
            friction=friction,
            restitution=restitution,
            dim=dim,
            inverse_mass=inverse_mass,
        )

    def _set_velocity(self, bodies: NDArray[np.int64], velocity: Array) -> None:
        """Let bodies have this generalized velocity now."""
        states = self._motions.states
        for k, body in enumerate(bodies):
            rotation = kernels.rotation_matrix(states[body, 3:7])
            states[body, 7:10] = velocity[6 * k : 6 * k + 3]
            states[body, 10:13] = rotation.T @ velocity[6 * k + 3 : 6 * k + 6]

    def _accumulation(self, patch: ContactPatch, approach: Array) -> tuple[str, ContactPatch | None]:
        """Recognise bounces that follow ever faster, and sum the rest of their infinite sequence.

        Bounces of a pair whose intervals shrink by the ratio r end after d r/(1 - r), d being the last
        interval. Once they stay below ACCUMULATION_EXCURSION the contact is closed for good. What does not
        approach, at `approach` (nc,) [m/s] before the impact, only passes it on; and what stops at once may be
        thrown up by bounces elsewhere, as fast as its approach. Limits of joints are treated as pairs are.
        """
        states = self._motions.states
        accumulated: set[int] = set()
        slow = math.inf
        remaining = 0.0
        limits = patch.feature[:, 0] == Feature.LIMIT
        for pair in sorted(_pairs_in(patch.chosen(~limits))):
            chosen = (patch.bodies == pair).all(axis=1) & ~limits
            before = float(approach[chosen].max())
            if before <= APPROACH_SPEED:
                continue
            places = in_body_axes(pair[0], patch.point[chosen], states)
            past = self._past(pair, places)
            if not repeats(past):
                continue
            points = np.concatenate([where for _, where in past])
            speed = max(before, normal_speed(pair, points, patch.normal[chosen][0], states))
            limit, rest = end_of_bounces(past, pair_size(self.model, pair))
            if speed <= limit:
                slow, remaining = min(slow, limit), max(remaining, rest)
                accumulated.update(pair)
        for number, before in zip(
            patch.feature_index[limits, 0].tolist(), approach[limits].tolist(), strict=True
        ):
            if before <= APPROACH_SPEED:
                continue
            bodies, size = self.model.articulation.at_limit(self.model, number)
            past = self._past((-1, number), np.zeros(0))
            if not repeats(past):
                continue
            _, rate, _ = self.model.articulation.limit_rows(self.model, bodies, states, [number])
            limit, rest = end_of_bounces(past, size)
            if max(before, abs(rate[0])) <= limit:
                slow, remaining = min(slow, limit), max(remaining, rest)
                accumulated.update(bodies.tolist())
        if not accumulated:
            return "", None
        closing = self._touching.nearly(accumulated, 2 * ACCUMULATION_EXCURSION, self.time)
        for pair in _pairs_in(closing):
            self._history.pop(pair, None)
        for number in closing.feature_index[closing.feature[:, 0] == Feature.LIMIT, 0].tolist():
            self._history.pop((-1, number), None)
        if not self._close_for_good(closing, slow):
            return "", None
        self._accumulated_at = float(self.time + remaining)
        note = f"infinitely many impacts accumulate at t = {self._accumulated_at!r} s"
        return note, closing

    def _past(self, key: Pair, places: Array) -> Past:
        """Times and places (in body axes) of the last impacts of a pair or of the limit (-1, number), with this."""
        past = self._history.setdefault(key, deque(maxlen=ACCUMULATION_IMPACTS + 1))
        past.append((self.time, places))
        return past

    def _close_for_good(self, closing: ContactPatch, slow: float) -> bool:
        """Go to the limit of an accumulation: `slow` contacts closed without normal velocity, nearest in energy.

        Where friction acts, slip of the size of the bounces has vanished with them. A plastic impact would
        not do: a body that rocks from one contact to the other leaves each of them. Faster contacts that this
        makes approach take a plastic impact; False, and nothing moved, where that has no solution.
        """
        states = self._motions.states
        jacobian, inverse_mass, velocity, moving = contact_jacobian(self.model, closing, states)
        before, energy = states[moving], self.model.energy_of(moving, states)
        speeds = np.abs(jacobian @ velocity).reshape(-1, 3)
        friction, _ = self._pair_coefficients(closing)
        closes = speeds[:, 0] <= slow
        sticks = closes & (friction > 0.0) & (speeds[:, 1:].max(axis=1) <= 10.0 * slow)
        rows = jacobian[np.stack([closes, sticks, sticks], axis=1).ravel()]
        push = rows @ inverse_mass
        impulse = np.linalg.lstsq(rows @ push.T, -rows @ velocity, rcond=1e-11)[0]
        velocity = velocity + push.T @ impulse
        self._set_velocity(moving, velocity)
        if (jacobian @ velocity)[0::3].min() < -LASTING_SPEED:
            problem = self._problem(closing, jacobian, inverse_mass, velocity)
            outcome = AnitescuPotra().resolve(problem)
            if not outcome.resolved:
                states[moving] = before
                return False
            self._set_velocity(moving, problem.generalized_velocity(outcome))
        states[moving] = closed_gaps(self.model, closing, closes, states)[moving]
        change = self.model.energy_of(moving, states) - energy
        self.trajectory.works.add_jump(self.time, "closing", change)
        self._touching.forget()
        return True

    # -- motion between events -----------------------------------------------------------------------------

    def _settle(self, bodies: set[int], closing: ContactPatch | None = None) -> None:
        """New motion of bodies from their states now: in contact where contacts press, else in free flight."""
        bodies = self.model.articulation.moving_with(bodies)
        for body in sorted(bodies):  # what a body leaves behind moves on without its forces
            island = self._motions.island_of(body)
            if island is not None:
                bodies = bodies | set(island.bodies.tolist())
        states = self._motions.bring(bodies, self.time)
        free = set(bodies)
        try:
            for patch in self._touching.islands(
                bodies, _pairs_in(closing), 2 * ACCUMULATION_EXCURSION, self.time
            ):
                members = self._started(patch)
                free -= members
                bodies = bodies | members
            for group in self.model.articulation.groups_among(free):
                self._start_group(group)
                free -= set(group.tolist())
        except ContactForceError as error:
            self._fail(RunStatus.CONTACT_FAILED, str(error))
            return
        except ForceFunctionError as error:
            self._fail(RunStatus.USER_FUNCTION_FAILED, str(error))
            return
        for body in sorted(free):
            self._start_piece(body, states[body], self._free_motion(body, states[body]))
        self._predictions.changed(bodies, self.time)

    def _impact_without_collision(self, patch: ContactPatch) -> bool:
        """Let the law find the impulse without which contacts cannot stay closed; whether it found one.

        Where no contact forces keep bodies apart (Painlevé), velocities have to jump although nothing
        approaches.
        """
        patch = patch.chosen(distinct_contacts(self.model, patch))
        jacobian, inverse_mass, velocity, bodies = contact_jacobian(self.model, patch, self._motions.states)
        problem = self._problem(patch, jacobian, inverse_mass, velocity)
        outcome = self._resolve(problem, settling=True)
        if not (outcome.resolved and outcome.impulse.any()):
            return False
        self._set_velocity(bodies, problem.generalized_velocity(outcome))
        note = "impact without collision: no contact forces keep the bodies apart"
        self._add_event(Event(self.time, EventKind.IMPACT, patch, problem, outcome, note))
        return True

    def _started(self, patch: ContactPatch) -> set[int]:
        """What `_start_island` starts; energy that goes with what it stops is noted."""
        bodies, states, works = moving_bodies(self.model, patch), self._motions.states, self.trajectory.works
        before, known = self.model.energy_of(bodies, states), len(works.jumps)
        members = self._start_island(patch)
        change = self.model.energy_of(bodies, states) - before
        works.add_jump(self.time, "closing", change - sum(energy for *_, energy in works.jumps[known:]))
        return members

    def _start_island(self, patch: ContactPatch) -> set[int]:
        """Let bodies that touch rest or move in contact from now on; those that do so, which may be none.

        Where no contact forces exist, the law is asked for an impulse first.
        """
        try:
            return self._start_in_contact(patch)
        except ContactForceError:
            if not self._impact_without_collision(patch):
                raise
            return self._start_in_contact(patch)

    def _start_in_contact(self, patch: ContactPatch) -> set[int]:
        states = self._motions.states
        apart = speeds_apart(self.model, patch, self._motions.states)
        lasts = apart <= LASTING_SPEED
        if not lasts.any() or apart.min() < -REMAINING_APPROACH:  # or an impact comes first
            return set()
        while True:
            lasting = patch.chosen(lasts)
            friction, _ = self._pair_coefficients(lasting)
            if is_at_rest(self.model, lasting, friction, states):
                return self._stand_still(lasting)
            contacts = ContactSet.of_patch(self.model, lasting, friction, states, self.time)
            bodies = contacts.bodies
            slow = CHATTER_SLIP if self._chatters(bodies.tolist()) else SLIP_SPEED
            states[bodies] = stopped(contacts, states[bodies], slow)
            pressed = ~lasts & (speeds_apart(self.model, patch, self._motions.states) < -LASTING_SPEED)
            if not pressed.any():
                break
            lasts |= pressed  # what has stopped now presses on them
        self._touching.forget()
        if is_at_rest(self.model, lasting, friction, states):
            return self._stand_still(lasting)
        mode = contact_mode(contacts, states[bodies])
        if mode is None:
            return set()
        self._begin_island(mode)
        return set(bodies.tolist())

    def _start_group(self, bodies: NDArray[np.int64]) -> None:
        """Let bodies that always move together, and that nothing holds in contact, rest or move from now on."""
        states = self._motions.states
        nothing = contact_patch(self.model, [], states)
        if is_at_rest(self.model, nothing, np.zeros(0), states, bodies):
            self._stand_still(nothing, bodies)
            return
        contacts = ContactSet.of_patch(self.model, nothing, np.zeros(0), states, self.time, bodies)
        self._begin_island(free_mode(contacts))

    def _begin_island(self, mode: ContactMode) -> None:
        """Let bodies move in a mode from now on."""
        bodies = mode.contacts.bodies
        island = Island(
            bodies, mode.held, ContactMotion(mode, self.integrator), self._next_span[bodies].min()
        )
        self._hold(island)
        self._continue_island(island)

    def _hold(self, island: Island) -> None:
        """Features whose gaps the contact mode keeps at zero are not looked for as impacts."""
        patch = island.held.chosen(island.held.feature[:, 0] != Feature.LIMIT)
        for pair in sorted(_pairs_in(patch)):
            part = patch.chosen((patch.bodies == pair).all(axis=1))
            if self.model.planes[pair[1]] is not None:
                shape = self.model.shapes[pair[0]]
                assert shape is not None
                island.held_points[pair] = np.zeros(len(shape.points), dtype=bool)
                island.held_points[pair][part.feature_index[:, 0]] = True
            else:
                island.held_features[pair] = held_features(self.model, part, self._motions.states)

    def _stand_still(self, patch: ContactPatch, bodies: NDArray[np.int64] | None = None) -> set[int]:
        """Let the bodies of a patch, or these, rest where they are; those bodies."""
        island = Island(moving_bodies(self.model, patch) if bodies is None else bodies, patch)
        self._hold(island)
        states = self._motions.states
        states[island.bodies, 7:13] = 0.0
        for body in island.bodies.tolist():
            coefficients = np.zeros((13, kernels.TERMS))
            coefficients[:, 0] = states[body]
            self._start_piece(
                body, states[body], Motion(self.time, math.inf, coefficients, np.zeros(5), island)
            )
        return set(island.bodies.tolist())

    def _continue_island(self, island: Island) -> None:
        """The next step of an island in its mode."""
        assert island.motion is not None
        mode = island.motion.mode
        packed = hold_closed(mode, self._motions.bring(island.bodies.tolist(), self.time)[island.bodies])
        self._touching.forget()
        mode = replace(mode, contacts=mode.contacts.at(self.time, packed))
        island.motion = ContactMotion(slip_now(mode, packed), self.integrator)
        step = island.motion.step(packed, _LONGEST_PIECE, island.next_span)
        island.next_span = step.next_span
        self._next_span[island.bodies] = step.next_span
        span, island.change = step.span, step.change
        island.reaches_limit = False
        if len(self.model.articulation.limit_joint):
            reached = first_limit(mode.contacts, step.coefficients, span, self._limits_held(island))
            if reached < math.inf:
                span, island.change, island.reaches_limit = reached, None, True
        stays = features_stay(
            self.model,
            island.held_features,
            self._motions.states,
            island.bodies,
            step.coefficients,
            packed,
            span,
        )
        if stays < span:
            span, island.change, island.leaves = stays, None, True
            island.reaches_limit = False
        works = self.trajectory.works
        if island.work is not None:
            island.work.cut(self.time)
        island.work = None if step.work is None else works.add_piece(self.time, self.time + span, step.work)
        for row, body in enumerate(island.bodies.tolist()):
            coefficients = step.coefficients[row]
            bounds = kernels.motion_bounds(
                coefficients, span, self.model.inertia[body], self.model.inverse_inertia[body], False
            )
            motion = Motion(self.time, self.time + span, coefficients, bounds, island)
            self._start_piece(body, packed[row], motion)

    def _limits_held(self, island: Island) -> NDArray[np.bool_]:
        """Which limits of joints the mode of an island keeps at zero."""
        held = np.zeros(len(self.model.articulation.limit_joint), dtype=bool)
        held[island.held.feature_index[island.held.feature[:, 0] == Feature.LIMIT, 0]] = True
        return held

    def _free_motion(self, body: int, state: Array) -> Motion:
        if not self.model.movable[body]:
            coefficients = np.zeros((13, kernels.TERMS))
            coefficients[:, 0] = state
            return Motion(self.time, math.inf, coefficients, np.zeros(5))
        inertia, inverse = self.model.inertia[body], self.model.inverse_inertia[body]
        coefficients, span = kernels.free_piece(state, self.model.gravity, inertia, inverse)
        span = min(span, _LONGEST_PIECE)
        bounds = kernels.motion_bounds(coefficients, span, inertia, inverse, True)
        return Motion(self.time, self.time + span, coefficients, bounds)

    def _begin(self, states: Array, when: str) -> None:
        """Let all bodies fly on from these packed states (n, 13) alone, until they are settled.

        ValueError, which says `when`, and nothing changed, where bodies overlap.
        """
        motions = Motions(self.model)
        for body, state in enumerate(states):
            motions.begin(body, state, self._free_motion(body, state))
        predictions = Predictions(motions)
        refuse_overlap(motions, predictions, when)
        refuse_loose_joints(self.model, states, when)
        self._motions, self._predictions = motions, predictions
        self._touching = Touching(motions, predictions)
        for body, state in enumerate(states):
            self._record_piece(body, state)
        for past in (self._history, self._changes):
            past.clear()
        self._accumulated_at = -math.inf
        self._next_span[:] = np.inf
        self._functions.forget()

    def _settle_all(self) -> None:
        self._settle(set(np.flatnonzero(self.model.movable).tolist()))

    def _start_piece(self, body: int, state: Array, motion: Motion) -> None:
        before = self._motions.island_of(body)
        if before is not None and before is not motion.island and before.work is not None:
            before.work.cut(self.time)
        self._motions.begin(body, state, motion)
        self._record_piece(body, state)

    def _record_piece(self, body: int, state: Array) -> None:
        motion = self._motions[body]
        in_contact = motion.island is not None or not self.model.movable[body]
        polynomial = None
        if in_contact:
            used = np.flatnonzero(motion.coefficients.any(axis=0))
            polynomial = motion.coefficients[:, : (used[-1] + 1 if len(used) else 1)]
        self.trajectory.motions[body].append(motion.start, state, self.model.gravity, polynomial)

    # -- how a run goes on and ends ------------------------------------------------------------------------

    def _at_rest(self) -> bool:
        """Whether every body rests and no accumulation is still to come."""
        resting = self._motions.resting == self.model.count
        if resting and self.trajectory.rest_time is None:
            self.trajectory.rest_time = max(self.time, self._accumulated_at)
        elif not resting:
            self.trajectory.rest_time = None
        return resting

    def _go_on(self) -> None:
        """A user asks for more."""
        if self._calling:
            raise RuntimeError("a callback on an event may set the state, but not advance the simulator")
        if self.trajectory.status is RunStatus.STOPPED:
            self.trajectory.status = RunStatus.UNFINISHED

    def _can_go_on(self) -> bool:
        if self.trajectory.status not in _GOES_ON:
            return False
        if len(self.trajectory._events) >= self.event_limit:
            self._fail(RunStatus.EVENT_LIMIT, f"{self.event_limit} events by t = {self.time:g} s")
            return False
        if self._stalled > _EVENTS_WITHOUT_PROGRESS:
            self._fail(RunStatus.NO_PROGRESS, f"{self._stalled} events at t = {self.time!r} s")
            return False
        return True

    def _fail(self, status: RunStatus, message: str) -> None:
        self.trajectory.status = status
        self.trajectory.message = f"{message}. {status.advice}"

    def _finish(self, until: float, whole: bool) -> None:
        trajectory = self.trajectory
        resting = self._at_rest()
        trajectory.end_time = max(self.time, trajectory.rest_time or 0.0) if resting else self.time
        trajectory.end_time = min(max(trajectory.end_time, trajectory.start_time), max(until, self.time))
        if trajectory.status in _GOES_ON:
            ended = RunStatus.AT_REST if resting else RunStatus.REACHED_END
            trajectory.status = ended if whole else RunStatus.UNFINISHED
            trajectory.message = trajectory.status.advice
        if self._recorder:
            self._recorder.flush(final=whole)

    def _state_at(self, time: float) -> State:
        """All bodies at a time [s] within their current pieces."""
        return State.unpacked(time, self._motions.all_states(time))

    def _add_event(self, event: Event) -> None:
        self.trajectory.add_event(event)
        if event.outcome is not None:
            self.trajectory.works.add_jump(self.time, "impacts", event.outcome.energy_change)
        self.trajectory.end_time = self.time


def _pairs_in(patch: ContactPatch | None) -> set[Pair]:
    """The pairs of bodies of contacts, if there are any."""
    return set() if patch is None else {(int(a), int(b)) for a, b in patch.bodies}
