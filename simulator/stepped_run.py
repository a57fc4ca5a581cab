"""A run of convex bodies by time steps, which `Simulator(scene, law, steps=...)` moves.

One step is in `stepping/convex_steps.py`; here is when steps are made, what is recorded of them, and when bodies
are at rest. Steps begin at whole multiples of their length, whatever times a run is asked to go to: between them
all motion is flight, so the state at any time is known, and a run in parts equals one in whole, bit for bit.
"""

import copy
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..bodies import Scene, checks
from ..impact_laws import ImpactLaw
from ..interrupts import interrupts_wait
from ..progress import ProgressBar
from .collision.pairs import refuse_unknown_distances
from .endings import can_go_on, end_lost, end_step
from .engine.log_kernels import USER
from .notes import STATE_SET
from .python_parts import ForceFunctionError
from .record.law_description import law_description
from .record.trajectory import RunStatus, Trajectory
from .remarks import remarks_on
from .state import Array, Model, State
from .stepping.convex_steps import ConvexSteps
from .stepping.errors import LawFailedError, StepTooLongError
from .stepping.scene_checks import refuse_convex_scene
from .stepping.step_log import BODY_STEP, StepLog
from .stepping.step_record import StepRecord
from .stepping.steps import LONGEST_STEP, MOST_STEPS
from .turn import Turn

if TYPE_CHECKING:
    from .record.recording import Recorder

_SAME = 1e-9
"""Of a step: times this near are one."""


class SteppedRun:
    """A run of the convex bodies of a scene in steps [s] of one length, from its start on.

    model, trajectory : the scene, and its motion so far
    time : [s]
    log : a row of BODY_STEP for every step
    recorder : what writes a recording, or None
    """

    integrator = None

    def __init__(self, scene: Scene, law: ImpactLaw, seed: int, step: float):
        self.step = checks.number("steps", step, above=0.0, maximum=LONGEST_STEP)
        refuse_convex_scene(scene, forces=True)
        self.model, self.law, self.time = Model.of_scene(scene), law, 0.0
        refuse_unknown_distances(self.model)
        self.trajectory = Trajectory(scene, law.name, seed, self.model)
        self.trajectory.law_description = law_description(law)
        self.trajectory.remarks.append(
            f"Moved by time steps of {1e3 * self.step:g} ms, not event by event; flight without forces between "
            "them."
        )
        self.trajectory.remarks += remarks_on(self.model, law)
        self.log, self.turn = StepLog(kind=BODY_STEP), Turn()
        self.recorder: Recorder | None = None
        self._bodies = ConvexSteps(self.model, law, self.step, seed, in_places=True)
        self._bodies.refuse_overlap("at the start")
        self._made = self._calm = 0
        self._record = StepRecord(self.model, self.step)
        if not self.model.movable.any():
            self._calm = self._record.enough
        fixed = np.flatnonzero(~self.model.movable)
        self.trajectory.add_flights(fixed, 0.0, self.model.initial_states()[fixed])
        self._depart(self._bodies.states.copy(), 0.0, 0.0)
        self._write(np.arange(len(self._departed)))

    def packed(self) -> Array:
        """Packed states (n, 13) of all bodies now."""
        return self._packed_at(self.time)

    def state_at(self, time: float) -> State:
        """All bodies at a time [s] before the next step begins."""
        return State.unpacked(time, self._packed_at(time), self.model.scene)

    @interrupts_wait()
    def set_packed(self, packed: Array) -> None:
        """Go on from these packed states (n, 13)."""
        self.turn.refuse_others()
        before = self._bodies.states
        self._bodies.states = packed[self._bodies.moving].copy()
        try:
            self._bodies.refuse_overlap(f"at t = {self.time:g} s")
        except ValueError:
            self._bodies.states = before
            raise
        self.trajectory.add_note(self.time, USER, STATE_SET, len(self.trajectory.log.pieces))
        self._bodies.forget()
        run = self.trajectory
        run.asked_time = run.rest_time = None
        run.status, self._calm = RunStatus.UNFINISHED, 0
        self._depart(self._bodies.states.copy(), self.time, 0.0)
        self._write(np.arange(len(self._departed)))
        if self.recorder:
            self.recorder.event_added()

    def copy(self) -> "SteppedRun":
        """An independent run at the same instant, with the past of this one; a recording stays here."""
        self.turn.refuse_others()
        copied = copy.copy(self)
        copied.recorder, copied.turn = None, Turn()
        copied.trajectory, copied.log = self.trajectory.copy(), self.log.copy()
        copied._bodies = self._bodies.copy()
        copied._record = self._record.copy()
        return copied

    def until_checked(self, until: float) -> float:
        """The time `until` [s]; TypeError or ValueError unless the run can go on to it."""
        time = checks.number("until", until)
        if not self.time <= time <= MOST_STEPS * self.step:
            raise ValueError(
                f"until: expected a time of at least {self.time:g} s, at most 2^53 steps of {self.step:g} s, got "
                f"{until!r}"
            )
        return time

    def go_to(self, until: float, stop_at_rest: bool, progress: bool, holder: Any) -> None:
        """Go to this time [s], or to rest, on behalf of the holder."""
        with self.turn.taken(holder):
            whole = False
            try:
                with ProgressBar(self.time, until, "time steps") as bar:
                    while self._goes_on(until, stop_at_rest):
                        self._make_step(until)
                        if progress:
                            bar.show(self.time, f"{self.log.rows[-1]['contacts']} contacts")
                whole = True
            finally:
                self._finish(until, stop_at_rest, whole)

    # -- inside ------------------------------------------------------------------------------------------------

    @property
    def _next(self) -> float:
        """When the next step begins [s]."""
        return self._made * self.step

    @property
    def _resting(self) -> bool:
        return self._calm >= self._record.enough

    def _goes_on(self, until: float, stop_at_rest: bool) -> bool:
        if not can_go_on(self.trajectory) or (stop_at_rest and self._resting):
            return False
        return self._next < until - _SAME * self.step

    def _packed_at(self, time: float) -> Array:
        states = self.model.initial_states()
        states[self._bodies.moving] = self._flown(time)
        return states

    def _flown(self, time: float) -> Array:
        """Packed states (moving, 13) at a time [s] before the next step begins."""
        return self._bodies.flown(self._departed, time - self._departed_at)

    @interrupts_wait()
    def _make_step(self, until: float) -> None:
        bodies, time = self._bodies, self._next
        span = self.step if self._departed_at == (self._made - 1) * self.step else time - self._departed_at
        bodies.states = bodies.flown(self._departed, span)
        if self._is_lost(time):
            return
        try:
            made = bodies.strike(time)
        except StepTooLongError:
            self._come_to(time)
            raise
        except (LawFailedError, ForceFunctionError) as error:
            end_step(self.trajectory, error, time)
            return
        if self._is_lost(time):
            return
        self._depart(bodies.states.copy(), time, made.gained)
        self._made += 1
        self._calm = self._calm + 1 if made.row["speed"] <= self._record.slow else 0
        made.row["time"] = self._next
        self.log.add(made.row)
        self._write(np.flatnonzero(self._record.changed(time, self._departed)))
        self._come_to(min(self._next, until))
        if self.recorder:
            self.recorder.event_added()

    def _is_lost(self, time: float) -> bool:
        """Whether a body has come where squares of lengths are no numbers, which ends the run."""
        lost = self._bodies.lost()
        if lost is not None:
            end_lost(self.trajectory, lost, time)
        return lost is not None

    def _come_to(self, time: float) -> None:
        self.time = self.trajectory.end_time = time

    @interrupts_wait()
    def _finish(self, until: float, stop_at_rest: bool, whole: bool) -> None:
        """Note how far the run came, and whether it is at rest."""
        run, rests = self.trajectory, self._resting
        if can_go_on(run):
            if whole and not (rests and stop_at_rest):
                self._come_to(until)
            elif whole:
                still = self._flown(self.time)
                if still[:, 7:13].any():
                    moved = self.model.kinetic_energy(self.state_at(self.time))
                    still[:, 7:13] = 0.0
                    self._depart(still, self.time, -moved)
                    self._write(np.arange(len(still)))
            run.asked_time = until
            run.rest_time = max(self.time - self._calm * self.step, 0.0) if rests else None
            ended = RunStatus.AT_REST if rests else RunStatus.REACHED_END
            run.status = ended if whole else RunStatus.UNFINISHED
            run.message = (
                f"{run.status.advice} {self.log.convergence(self._bodies.lasting.tolerance, self.step)}"
            )
        self._record.arrive(run, self.time)
        if self.recorder:
            self.recorder.flush(final=whole)

    # -- what is recorded --------------------------------------------------------------------------------------

    def _depart(self, states: Array, time: float, gained: float) -> None:
        """Let bodies fly from these states (moving, 13) from a time [s] on, where they gain kinetic energy [J]."""
        self._departed, self._departed_at = states, time
        self._record.depart(self.trajectory, time, states, gained, self._bodies.active)

    def _write(self, which: NDArray[np.int64]) -> None:
        """Begin pieces of motion of these bodies."""
        states, time = self._departed[which], self._departed_at
        self._record.note(which, time, states)
        self.trajectory.add_flights(self._bodies.moving[which], time, states)
