"""A run while it goes on: its world, what has been recorded of it, and who is told or asked on the way.

`Simulator` is what a user sees of it; branching, repeating and verifying runs move it on their own. What happens
between two calls is in `engine/loop_kernels.py`.
"""

import copy
import math
import time as clock
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..bodies import Drive, PlacedJoint, Scene, checks
from ..impact_laws import ImpactLaw, ImpactOutcome, ImpactProblem
from ..interrupts import interrupts_wait
from ..progress import ProgressBar
from .apart import all_stay_apart
from .assembly import equip, equip_as
from .collision.pairs import refuse_unknown_distances
from .endings import can_go_on, close, end, judge, judge_answer
from .engine import loop_kernels as loop
from .engine.log_kernels import USER, log_works
from .event import Event
from .integrator import Integrator
from .laws import answer, problem_of, resolved
from .notes import STATE_SET, drive_note
from .record.law_description import law_description
from .record.trajectory import RunStatus, Trajectory
from .remarks import remarks_on
from .start_checks import refuse_force_without_end, refuse_loose_joints, refuse_overlap
from .state import Array, Model, State
from .turn import Turn
from .user_events import EventFunctionError, UserEvents
from .world import World, give_up_spare, set_force_laws

if TYPE_CHECKING:
    from .record.recording import Recorder

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
LOOK_AHEAD = 60.0  # [s] that is gone on to the next event for the sake of event functions alone


class RunInProgress:
    """A run of a scene under a law, from its start on.

    model, world, trajectory : the scene, its motion now and its past
    functions, callbacks : event functions, and what is called with (event, whoever moves the run)
    turn : who moves it just now
    recorder : what writes a recording, or None
    """

    def __init__(
        self, scene: Scene, law: ImpactLaw, seed: int, event_limit: int, integrator: Integrator | None
    ):
        self.model = Model.of_scene(scene)
        self.law, self.event_limit = law, event_limit
        self.integrator = integrator or Integrator()
        self.trajectory = Trajectory(scene, law.name, seed, self.model)
        self.trajectory.law_description = law_description(law)
        self.trajectory.integrator = self.integrator
        self.generator = np.random.default_rng(seed)
        self.functions = UserEvents()
        self.callbacks: list[Callable[[Event, Any], None]] = []
        self.turn = Turn()
        self.recorder: Recorder | None = None
        self._calling = False
        refuse_unknown_distances(self.model)
        self.world = self._begun(self.model.initial_states(), 0.0, "at the start")
        self.trajectory.log.take(self.world)
        self.trajectory.remarks += remarks_on(self.model, law)

    @property
    def time(self) -> float:
        """Simulated time [s]."""
        return float(self.world.header["time"])

    def packed(self) -> Array:
        """Packed states (n, 13) of all bodies now."""
        return self.world.states_at(self.time)

    def state_at(self, time: float) -> State:
        """All bodies at a time [s] within their current pieces."""
        return State.unpacked(time, self.world.states_at(time), self.model.scene)

    def copy(self) -> Any:
        """An independent run at the same instant, with the past of this one; a recording stays here."""
        self.turn.refuse_others()
        copied = object.__new__(type(self))
        copied.__dict__.update(self.__getstate__())
        copied.trajectory = self.trajectory.copy()
        copied.world = self.world.copy()
        copied.generator = copy.deepcopy(self.generator)
        copied.functions = self.functions.copy()
        copied.callbacks = list(self.callbacks)
        copied.turn = Turn()
        return copied

    def __getstate__(self) -> dict[str, Any]:
        """What a copy, here or in another process, needs to go on identically."""
        return self.__dict__ | {"recorder": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        equip(self.world, self.law)

    # -- to a time, or an event ------------------------------------------------------------------------------

    def until_checked(self, until: float) -> float:
        """The time `until` [s]; TypeError or ValueError unless the run can go on to it."""
        time = checks.number("until", until)
        if time < self.time:
            raise ValueError(f"until: expected a finite time of at least {self.time:g} s, got {until!r}")
        return time

    def go_to(self, until: float, stop_at_rest: bool, progress: bool, holder: Any) -> None:
        """Go to this time [s], or to rest, on behalf of the holder."""
        with self.turn.taken(holder):
            self._ask_again()
            bar = ProgressBar(self.time, until, "simulating") if progress else None
            whole, turns = False, _FIRST_SHOWN if bar else _FIRST_TURNS
            began = clock.monotonic()
            try:
                while can_go_on(self.trajectory) and not self.advance(until, stop_at_rest, turns):
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

    def go_to_next_event(self, holder: Any) -> Event | None:
        """Go to just after the next event, on behalf of the holder; None where nothing will happen any more."""
        with self.turn.taken(holder):
            self._ask_again()
            known = len(self.trajectory.events)
            last = self.time + LOOK_AHEAD if self.functions else math.inf
            turns, at_once = 0, 1 if self.functions else _TURNS_AHEAD + 10 * self.model.count
            while len(self.trajectory.events) == known and can_go_on(self.trajectory):
                if self.advance(math.inf, turns=at_once, one_event=True):
                    break
                turns += at_once
                at_last = self.time >= last or (not self.functions and turns == at_once)
                if at_last and all_stay_apart(self.world):
                    break
                if turns > _TURNS_WITHOUT_EVENT + 100 * self.model.count:
                    end(self.trajectory, RunStatus.NO_PROGRESS, f"no event by t = {self.time:g} s")
            self.trajectory.end_time = self.time
            return self.trajectory.events[-1] if len(self.trajectory.events) > known else None

    def _ask_again(self) -> None:
        """Go on also after an event that stopped the run."""
        self.trajectory.asked_time = None
        if self.trajectory.status is RunStatus.STOPPED:
            self.trajectory.status = RunStatus.UNFINISHED

    @interrupts_wait()
    def _finish(self, until: float, whole: bool) -> None:
        with self._memory_told():
            close(self.trajectory, self.world, until, whole)
        if self.recorder:
            self.recorder.flush(final=whole)

    # -- turns of the loop -----------------------------------------------------------------------------------

    @interrupts_wait()
    def advance(
        self, until: float, stop_at_rest: bool = True, turns: int = _TURNS, one_event: bool = False
    ) -> bool:
        """Go on for a while, at most to `until` [s] or for so many turns, and tell those who want to know of
        events; whether nothing is left to do by then."""
        header, known = self.world.header, len(self.trajectory.events)
        if self.functions and not header["asked"] and self._user_event(until):
            self._call_back(known)
            return False
        header["until"], header["stops_at_rest"] = until, stop_at_rest
        header["event_limit"] = self.event_limit
        header["waits_for"] = one_event or bool(self.callbacks)
        header["turn_limit"] = 1 if self.functions else turns
        with self._memory_told():
            why = self._go(header, turns)
        if why == loop.AT_REST and self.functions:  # what stopped just now may have a zero
            self._user_event(self.time)
        self._call_back(known)
        if self.recorder:  # only now is the motion after the event known
            self.recorder.event_added()
        return why in (loop.REACHED, loop.AT_REST)

    def _go(self, header: Any, turns: int) -> int:
        """Let the loop go on until it needs no law in Python, or has asked one so many times; why it stopped."""
        world, outcome = self.world, None
        why = loop.ASK_LAW if header["asked"] else int(loop.advance(world.address))
        asked = 0
        while why == loop.ASK_LAW and asked < turns:  # then it waits for its answer till the next call
            asked += 1
            outcome = self.resolve(problem_of(world, self.model.scene))
            text = answer(world, outcome)
            why = int(loop.advance(world.address))
            if header["text"] == 0:  # the event has been noted
                self.trajectory.log.add("texts", np.frombuffer(text, dtype="u1"))
            header["text"] = 0
        self.trajectory.log.take(world)
        self.trajectory.end_time = self.time
        if not judge_answer(self.trajectory, world, outcome):
            judge(self.trajectory, world, why, self.event_limit)
        return why

    @contextmanager
    def _memory_told(self) -> Iterator[None]:
        """Say in words that memory ran out; what has happened up to then is kept."""
        try:
            yield
        except MemoryError as error:
            give_up_spare()
            said = (
                f"no memory is left for what happened by t = {self.time:g} s: record=PATH keeps it in a file"
            )
            raise MemoryError(said) from error

    def resolve(self, problem: ImpactProblem) -> ImpactOutcome:
        """Ask the law."""
        return resolved(self.law, problem, self.generator)

    # -- what is told and changed on the way -----------------------------------------------------------------

    def come_to(self, time: float) -> None:
        """Let it be this time [s], before which nothing is due."""
        self.world.header["time"] = self.trajectory.end_time = time

    def note(self, note: str) -> None:
        """An event of the user's, who may let what rested move."""
        self.trajectory.asked_time = None
        header = self.world.header
        header["happened"] += 1
        self.trajectory.add_note(self.time, USER, note, int(header["begun"]))

    @interrupts_wait()
    def set_packed(self, packed: Array) -> None:
        """Go on from these packed states (n, 13)."""
        self.turn.refuse_others()
        before = self.world
        world = self._begun(packed, self.time, f"at t = {self.time:g} s", before)
        log_works(before.address)
        self.trajectory.log.take(before)
        world.header["happened"] = before.header["happened"]
        world.header["begun"] += before.header["begun"]
        self.world = world
        self.trajectory.log.take(world)
        self.functions.forget()
        self.note(STATE_SET)
        self._tell_recorder()

    def set_drive(self, joint: PlacedJoint | str, drive: Drive) -> None:
        """See `Simulator.set_drive`."""
        self.turn.refuse_others()
        number = self.model.scene.joint_index(joint)
        articulation = self.model.articulation.with_drive(number, drive)
        model, states = replace(self.model, articulation=articulation), self.world.states_at(self.time)
        refuse_force_without_end(model, states, f"at t = {self.time:g} s")
        self.model = self.world.model = model
        self.note(drive_note(self.model.scene.joints[number].name, drive))
        set_force_laws(self.world.force_rows, articulation.law, articulation.largest)
        for body in articulation.moved_by(number):
            loop.wake(self.world.address, body)
        self._tell_recorder()

    def _user_event(self, until: float) -> bool:
        """Whether an event function has a zero before motion changes again, or fails: time is then there."""
        following = min(until, float(loop.next_due(self.world.address)))
        if following == math.inf:
            following = self.time + LOOK_AHEAD
        try:
            crossings = self.functions.next(self.time, following, self.state_at)
        except EventFunctionError as error:
            self.come_to(error.time)
            end(self.trajectory, RunStatus.USER_FUNCTION_FAILED, str(error))
            return True
        for crossing in crossings:
            self.come_to(crossing.time)
            name = crossing.event.name
            self.note(name)
            if crossing.event.terminal:
                end(self.trajectory, RunStatus.STOPPED, f"event {name!r} at t = {self.time!r} s")
        return bool(crossings)

    def _call_back(self, known: int) -> None:
        """Tell the callbacks of all events after the first `known`."""
        for event in self.trajectory.events[known:] if self.callbacks else ():
            for callback in self.callbacks:
                self._calling = True
                try:
                    callback(event, self.turn.holder)
                finally:
                    self._calling = False

    def _tell_recorder(self) -> None:
        """That there is a new event, which it will be told anyway where a callback made it."""
        if self.recorder and not self._calling:
            self.recorder.event_added()

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
        refuse_force_without_end(self.model, states, when)
        return world
