"""The engine as its user sees it: a run of a scene under an impact law, step by step or to an end.

What happens is in `engine/loop_kernels.py`; this is what a run is told, what it tells, and how it ends.
"""

import copy
import math
import threading
import time as clock
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..bodies import Drive, PlacedJoint, Scene, checks
from ..bodies.files import file_path
from ..bodies.meant import answers_slips
from ..impact_laws import ImpactLaw, ImpactOutcome, ImpactProblem, ImpactStatus
from ..progress import ProgressBar
from .apart import all_stay_apart
from .assembly import equip, equip_as
from .collision.pairs import refuse_unknown_distances
from .engine import loop_kernels as loop
from .engine.log_kernels import USER, log_works
from .event import Event
from .given_state import packed_state
from .integrator import Integrator
from .interrupts import interrupts_wait
from .laws import answer, problem_of, refuse_no_law, resolved
from .notes import STATE_SET, drive_note
from .python_parts import ForceFunctionError
from .record.law_description import law_description
from .record.trajectory import RunStatus, Trajectory
from .remarks import remarks_on
from .start_checks import refuse_loose_joints, refuse_overlap
from .state import Array, Model, State
from .user_events import EventFunction, EventFunctionError, UserEvents, user_event
from .world import World, set_force_laws

if TYPE_CHECKING:
    import os

    from .branches import BranchedRun

_LARGEST_WHOLE = 2**63 - 1  # that a recording and the engine keep
_TURNS = (
    20_000  # of the loop, after which a run looks whether it is interrupted, shows how far it is and writes
)
_FIRST_TURNS, _FIRST_SHOWN = (
    1000,
    16,
)  # the latter where the progress is shown, so that a slow run shows it soon
_LOOKS_AFTER = 0.5  # [s] of computing that a run goes on for, where its turns are slow
_PIECES = 20_000  # of motion that are noted before the trajectory takes them over
_TURNS_WITHOUT_EVENT = 100_000
_TURNS_AHEAD = 1000  # after which it is asked whether anything will happen any more
_LOOK_AHEAD = 60.0  # [s] that step_event goes on for the sake of event functions alone
_TURN = threading.Lock()  # for the look whether another thread advances a simulator
_GOES_ON = (RunStatus.UNFINISHED, RunStatus.REACHED_END, RunStatus.AT_REST)


class Simulator:
    """Event-driven simulation of a scene under one impact law.

    Parameters
    ----------
    scene : what exists at the start
    law : how impacts are resolved, such as ``SequentialReflection()``
    seed : feeds the law's random generator, a whole number from 0 to 2^63 - 1
    record : path of an HDF5 recording written while the run goes, or None
    event_limit : events after which a run stops with a status, a whole number from 0 on
    integrator : how motion is integrated where it has no closed form; None takes ``Integrator()``

    Raises ValueError where bodies overlap or a joint is beyond its limits at the start, TypeError for shapes that
    cannot collide yet, and either for a bad argument, which it names.
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
        refuse_no_law(law)
        scene.refuse_spheres("Simulator")
        if not scene.bodies:
            raise ValueError("scene: expected at least one body, got none")
        if not isinstance(integrator, Integrator | None):
            raise TypeError(f"integrator: expected an Integrator, got {type(integrator).__name__}")
        self.model = Model.of_scene(scene)
        self.law = law
        seed = checks.whole("seed", seed, _LARGEST_WHOLE)
        self.event_limit = checks.whole("event_limit", event_limit, _LARGEST_WHOLE)
        self.integrator = integrator or Integrator()
        self.trajectory = Trajectory(scene, law.name, seed, self.model)
        self.trajectory.law_description = law_description(law)
        self.trajectory.integrator = self.integrator
        self._rng = np.random.default_rng(seed)
        self._functions = UserEvents()
        self._callbacks: list[Callable[[Event, Simulator], None]] = []
        self._calling = False
        self._thread: int | None = None  # in which it is advanced just now
        self._recorder = None
        refuse_unknown_distances(self.model)
        self._world = self._begun(self.model.initial_states(), 0.0, "at the start")
        self.trajectory.log.take(self._world)
        self.trajectory.remarks += remarks_on(self.model, law)
        if record is not None:
            from .record.recording import Recorder

            self._recorder = Recorder(self.trajectory, file_path("record", record))

    # -- what a user calls ---------------------------------------------------------------------------------

    def __repr__(self) -> str:
        return (
            f"Simulator({self.model.count} bodies, {self.law.name}, seed {self.trajectory.seed}, "
            f"at t = {self.time!r} s, {len(self.trajectory.events)} events)"
        )

    @property
    def time(self) -> float:
        """Simulated time [s]."""
        return float(self._world.header["time"])

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
        self._set_packed(packed_state(self.model, state, self._world.states_at(self.time)))

    @interrupts_wait()
    def _set_packed(self, packed: Array) -> None:
        """Go on from these packed states (n, 13)."""
        self._refuse_other_threads()
        before = self._world
        world = self._begun(packed, self.time, f"at t = {self.time:g} s", before)
        log_works(before.address)
        self.trajectory.log.take(before)
        world.header["happened"] = before.header["happened"]
        world.header["begun"] += before.header["begun"]
        self._world = world
        self.trajectory.log.take(world)
        self._functions.forget()
        self._note(STATE_SET)
        self._tell_recorder()

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
            densely or more, at Chebyshev points (at least five) of the time to the next change of motion that the
            engine knows of; closer pairs of zeros are found where a parabola through three samples comes near zero.

        A function that raises or is not finite ends the run with the status USER_FUNCTION_FAILED, which names it
        and the time. A run that stops at rest waits for no zeros: pass ``stop_at_rest=False``. Raises TypeError
        or ValueError for bad arguments.
        """
        known = self._functions.functions
        known.append(user_event(function, direction, terminal, name, resolution, known))

    def on_event(self, callback: "Callable[[Event, Simulator], None]") -> None:
        """Let ``callback(event, simulator)`` be called after every event, in order of registration.

        The simulator has then gone on to just after that event. A callback may set its `state`,
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
        self._refuse_other_threads()
        copied = copy.copy(self)
        copied._thread = None
        copied.trajectory = self.trajectory.copy()
        copied._world = self._world.copy()
        copied._rng = copy.deepcopy(self._rng)
        copied._functions = self._functions.copy()
        copied._callbacks = list(self._callbacks)
        copied._recorder = None
        return copied

    def __getstate__(self) -> dict[str, Any]:
        """What another process needs to go on identically; a recording stays here."""
        return self.__dict__ | {"_recorder": None, "_thread": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        equip(self._world, self.law)

    def joint_state(self, joint: PlacedJoint | str) -> tuple[float, float]:
        """Coordinate [rad or m] and rate of a joint now: the angle of a hinge, the way of a slide, a distance.

        Raises ValueError for a joint that is not in the scene, or that has no one coordinate.
        """
        number = self.model.scene.joint_index(joint)
        return self.model.articulation.coordinate(number, self._world.states_at(self.time))

    def set_drive(self, joint: PlacedJoint | str, drive: Drive) -> None:
        """Let a joint that has a drive be driven like this from now on.

        Bodies that rest are asked again whether they do. An event of kind USER is recorded, whose note says what
        the drive is. Raises ValueError for a joint that is not in the scene or has no drive, TypeError for what is
        no `Drive`.
        """
        self._refuse_other_threads()
        number = self.model.scene.joint_index(joint)
        articulation = self.model.articulation.with_drive(number, drive)
        self.model = self._world.model = replace(self.model, articulation=articulation)
        self._note(drive_note(self.model.scene.joints[number].name, drive))
        set_force_laws(self._world.force_rows, articulation.law, articulation.largest)
        for body in articulation.moved_by(number):
            loop.wake(self._world.address, body)
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
        executor: Any = None,
        workers: int = 0,
    ) -> "BranchedRun":
        """The same run with different outcomes at undecided impacts, `n` members of a tree.

        Every member goes on from now to `until` [s] as a copy of this simulator would, member i with a generator
        of its own, ``default_rng(SeedSequence(seed).spawn(n)[i])``, and equals that copy bit for bit. Members whose
        outcomes are equal, bit for bit, are simulated once; with others they part. This simulator stays where it
        is. Callbacks are called once for all members of a node.

        tolerance : [of the largest impulse] outcomes whose impulses differ by less count as one, that of the
            lowest member. Above 0, members equal their copies only so closely, but impacts that are decided but
            for rounding, such as those of one contact under a law that draws its way, part nobody.

        workers : processes that grow branches at the same time, with the same tree, bit for bit; 0 for none
        executor : where else they are grown: a client of Dask or an executor as in concurrent.futures

        Raises TypeError or ValueError for bad arguments; ValueError for callbacks where branches are grown in other
        processes, which would not be called here, TypeError for event functions that cannot be sent there.
        """
        from .branches import grow

        return grow(self, n, seed, until, tolerance, progress, stop_at_rest, (executor, workers))

    def step(self, duration: float) -> State:
        """Advance by exactly `duration` [s], through every event inside, and return the state."""
        self.run(self.time + checks.number("duration", duration, minimum=0.0), stop_at_rest=False)
        return self.state

    def step_event(self) -> Event | None:
        """Advance to just after the next event and return it; None where nothing will happen any more.

        Where bodies stay apart for ever, zeros of event functions are awaited for another 60 s.
        """
        with self._going_on():
            return self._to_next_event()

    def _to_next_event(self) -> Event | None:
        known = len(self.trajectory.events)
        last = self.time + _LOOK_AHEAD if self._functions else math.inf
        turns, at_once = 0, 1 if self._functions else _TURNS_AHEAD + 10 * self.model.count
        while len(self.trajectory.events) == known and self._can_go_on():
            if self._advance(math.inf, turns=at_once, one_event=True):
                break
            turns += at_once
            if (self.time >= last or (not self._functions and turns == at_once)) and all_stay_apart(
                self._world
            ):
                break
            if turns > _TURNS_WITHOUT_EVENT + 100 * self.model.count:
                self._fail(RunStatus.NO_PROGRESS, f"no event by t = {self.time:g} s")
        self.trajectory.end_time = self.time
        return self.trajectory.events[-1] if len(self.trajectory.events) > known else None

    @answers_slips
    def run(self, until: float, *, progress: bool = False, stop_at_rest: bool = True) -> Trajectory:
        """Go to the absolute simulated time `until` [s], or until everything is at rest.

        The returned trajectory carries the status; with `progress` a bar appears on a terminal when the run
        takes more than two seconds.
        """
        until = self.check_until(until)
        with self._going_on():
            bar = ProgressBar(self.time, until, "simulating") if progress else None
            whole, turns = False, _FIRST_SHOWN if bar else _FIRST_TURNS
            began = clock.monotonic()
            try:
                while self._can_go_on() and not self._advance(until, stop_at_rest, turns):
                    ended = clock.monotonic()
                    turns = min(2 * turns, _TURNS) if ended - began < _LOOKS_AFTER else max(turns // 2, 1)
                    began = ended
                    if bar:
                        bar.show(self.time, f"{len(self.trajectory.events)} events")
                whole = True
            finally:
                if bar:
                    bar.close()
                self._finish(until, whole)
        return self.trajectory

    def check_until(self, until: float) -> float:
        """The time `until` [s]; TypeError or ValueError unless the simulation can go on to it."""
        time = checks.number("until", until)
        if time < self.time:
            raise ValueError(f"until: expected a finite time of at least {self.time:g} s, got {until!r}")
        return time

    # -- the loop ------------------------------------------------------------------------------------------

    @interrupts_wait()
    def _advance(
        self, until: float, stop_at_rest: bool = True, turns: int = _TURNS, one_event: bool = False
    ) -> bool:
        """Go on for a while, at most to `until` [s] or for so many turns, and tell those who want to know of
        events; whether nothing is left to do by then."""
        header, known = self._world.header, len(self.trajectory.events)
        if self._functions and not header["asked"] and self._user_event(until):
            self._call_back(known)
            return False
        header["until"], header["stops_at_rest"], header["event_limit"] = (
            until,
            stop_at_rest,
            self.event_limit,
        )
        header["waits_for"] = one_event or bool(self._callbacks)
        header["turn_limit"] = 1 if self._functions else turns
        why = self._go(header, turns)
        if why == loop.AT_REST and self._functions:  # what stopped just now may have a zero
            self._user_event(self.time)
        self._call_back(known)
        if self._recorder:  # only now is the motion after the event known
            self._recorder.event_added()
        return why in (loop.REACHED, loop.AT_REST)

    def _go(self, header: Any, turns: int) -> int:
        """Let the loop go on until it needs no law in Python, or has asked one so many times; why it stopped."""
        world, outcome = self._world, None
        why = loop.ASK_LAW if header["asked"] else int(loop.advance(world.address))
        asked = 0
        while why == loop.ASK_LAW and asked < turns:  # then it waits for its answer till the next call
            asked += 1
            outcome = self._resolve(problem_of(world, self.model.scene))
            text = answer(world, outcome)
            why = int(loop.advance(world.address))
            if header["text"] == 0:  # the event has been noted
                self.trajectory.log.add("texts", np.frombuffer(text, dtype="u1"))
            header["text"] = 0
        self.trajectory.log.take(world)
        self.trajectory.end_time = self.time
        if outcome is not None and outcome.status is ImpactStatus.CONTRACT_BROKEN:
            self._fail(RunStatus.LAW_FAILED, f"{outcome.message} at t = {self.time!r} s")
        else:
            self._judge(why)
        return why

    def _resolve(self, problem: ImpactProblem) -> ImpactOutcome:
        """Ask the law."""
        return resolved(self.law, problem, self._rng)

    def _judge(self, why: int) -> None:
        """Note how the loop ended, where it cannot go on; raise what a function of the user raised."""
        world, at = self._world, f"at t = {self.time!r} s"
        failure = world.failure
        if failure is not None:
            world.failure = None
            if not isinstance(failure, ForceFunctionError):
                raise failure
            self._fail(RunStatus.USER_FUNCTION_FAILED, str(failure))
        elif why == loop.NO_PROGRESS:
            self._fail(RunStatus.NO_PROGRESS, f"more events than can be followed {at}")
        elif why == loop.SEARCH_FAILED:
            names = [
                self.model.scene.bodies[int(world.header[f"failed_{end}"])].name
                for end in ("first", "second")
            ]
            self._fail(
                RunStatus.NO_PROGRESS,
                f"the search for the next impact of {names[0]!r} and {names[1]!r} did not end {at}",
            )
        elif why == loop.HOLD_FAILED:
            members = world.members[:3].tolist()
            jammed = " and ".join(str(self.model.scene.bodies[body].name) for body in members)
            self._fail(RunStatus.CONTACT_FAILED, f"no contact forces keep {jammed} apart {at}")
        elif why == loop.LAW_FAILED:
            outcome = self.trajectory.events[-1].outcome
            assert outcome is not None
            said = outcome.message or outcome.status.advice
            self._fail(RunStatus.LAW_FAILED, f"{outcome.status.value}: {said}")
        elif why == loop.EVENT_LIMIT:
            self._fail(RunStatus.EVENT_LIMIT, f"{self.event_limit} events by t = {self.time:g} s")

    def _user_event(self, until: float) -> bool:
        """Whether an event function has a zero before motion changes again, or fails: time is then there."""
        following = min(until, float(loop.next_due(self._world.address)))
        if following == math.inf:
            following = self.time + _LOOK_AHEAD
        try:
            crossings = self._functions.next(self.time, following, self._state_at)
        except EventFunctionError as error:
            self._come_to(error.time)
            self._fail(RunStatus.USER_FUNCTION_FAILED, str(error))
            return True
        for crossing in crossings:
            self._come_to(crossing.time)
            name = crossing.event.name
            self._note(name)
            if crossing.event.terminal:
                self._fail(RunStatus.STOPPED, f"event {name!r} at t = {self.time!r} s")
        return bool(crossings)

    def _come_to(self, time: float) -> None:
        """Let it be this time [s], before which nothing is due."""
        self._world.header["time"] = self.trajectory.end_time = time

    def _call_back(self, known: int) -> None:
        """Tell the callbacks of all events after the first `known`."""
        for event in self.trajectory.events[known:] if self._callbacks else ():
            for callback in self._callbacks:
                self._calling = True
                try:
                    callback(event, self)
                finally:
                    self._calling = False

    def _note(self, note: str) -> None:
        """An event of the user's, who may let what rested move."""
        self.trajectory.asked_time = None
        header = self._world.header
        header["happened"] += 1
        self.trajectory.add_note(self.time, USER, note, int(header["begun"]))

    def _tell_recorder(self) -> None:
        """That there is a new event, which it will be told anyway where a callback made it."""
        if self._recorder and not self._calling:
            self._recorder.event_added()

    def _begun(self, states: Array, time: float, when: str, earlier: World | None = None) -> World:
        """A world in which all bodies go on from these packed states (n, 13) alone, at a time [s], instead of in an
        earlier one.

        ValueError, which says `when`, where bodies overlap or are not as joints want them.
        """
        world = World.of_model(self.model, states, time)
        header, integrator = world.header, self.integrator
        header["log_limit"] = _PIECES
        header["accuracy"], header["fixed_step"] = integrator.accuracy, integrator.fixed_step or 0.0
        if integrator.largest_step is not None:
            header["longest_step"] = integrator.largest_step
        if integrator.implicit_step is not None:
            header["longest_implicit_step"] = integrator.implicit_step
        if earlier is None:
            equip(world, self.law)
        else:
            equip_as(world, earlier)
        loop.start(world.address)
        refuse_overlap(world, when)
        refuse_loose_joints(self.model, states, when)
        return world

    # -- how a run goes on and ends ------------------------------------------------------------------------

    @contextmanager
    def _going_on(self) -> Iterator[None]:
        """A user asks for more, in this thread alone."""
        with _TURN:
            self._refuse_other_threads()
            if self._thread is not None:
                raise RuntimeError(
                    "a callback on an event, a law or a function for forces may not advance the simulator that "
                    "calls it; a callback may set its state"
                )
            self._thread = threading.get_ident()
        try:
            self.trajectory.asked_time = None
            if self.trajectory.status is RunStatus.STOPPED:
                self.trajectory.status = RunStatus.UNFINISHED
            yield
        finally:
            self._thread = None

    def _refuse_other_threads(self) -> None:
        """RuntimeError where another thread advances the simulator just now."""
        if self._thread not in (None, threading.get_ident()):
            raise RuntimeError(
                "simulator: another thread is advancing it; let each thread have its own copy()"
            )

    def _can_go_on(self) -> bool:
        return self.trajectory.status in _GOES_ON

    def _fail(self, status: RunStatus, message: str) -> None:
        self.trajectory.status = status
        self.trajectory.message = f"{message}. {status.advice}"

    @interrupts_wait()
    def _finish(self, until: float, whole: bool) -> None:
        world, trajectory = self._world, self.trajectory
        log_works(world.address)
        trajectory.log.take(world)
        resting = int(world.header["moving"]) == 0
        trajectory.rest_time = None
        if resting:
            begun = world.motions["start"][self.model.movable].max(initial=trajectory.start_time)
            trajectory.rest_time = max(float(begun), float(world.header["accumulated_at"]))
        trajectory.end_time = max(self.time, trajectory.rest_time or 0.0) if resting else self.time
        trajectory.end_time = min(max(trajectory.end_time, trajectory.start_time), max(until, self.time))
        trajectory.asked_time = until
        lost = np.flatnonzero(~np.isfinite(world.states_at(self.time)).all(axis=1))
        if len(lost) and trajectory.status in _GOES_ON:
            name = self.model.scene.bodies[int(lost[0])].name
            self._fail(RunStatus.NOT_FINITE, f"body {name!r} has no finite state at t = {self.time!r} s")
        if trajectory.status in _GOES_ON:
            ended = RunStatus.AT_REST if resting else RunStatus.REACHED_END
            trajectory.status = ended if whole else RunStatus.UNFINISHED
            trajectory.message = trajectory.status.advice
        if self._recorder:
            self._recorder.flush(final=whole)

    def _state_at(self, time: float) -> State:
        """All bodies at a time [s] within their current pieces."""
        return State.unpacked(time, self._world.states_at(time), self.model.scene)
