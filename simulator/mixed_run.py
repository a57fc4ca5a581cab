"""A run in which large islands go by time steps, and all else from event to event.

`Simulator(scene, law, steps=Steps(...))` makes it. All bodies are in one world. Those of large islands fly there
from step to step, and the loop finds when one of the others meets them as exactly as any meeting; the impact is
then resolved at that instant by the law of the steps, together with all contacts that could close in the rest of
the step, and recorded as an event. What touched there is part of the island from then on. Bodies that have been
apart from large islands for a while go from event to event again. An island that rests makes no steps until it is
met.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..bodies import Scene
from ..impact_laws import ImpactLaw
from ..interrupts import interrupts_wait
from .apart import all_stay_apart
from .endings import can_go_on, end_lost, end_step
from .engine import loop_kernels as loop
from .engine import stepped_kernels
from .event import Event
from .integrator import Integrator
from .run_in_progress import LOOK_AHEAD, RunInProgress
from .state import Array
from .stepping.convex_steps import ConvexSteps, Strike
from .stepping.errors import LawFailedError
from .stepping.impact_event import note_impact
from .stepping.near_pairs import islands, sizes_of
from .stepping.scene_checks import refuse_convex_scene
from .stepping.step_log import BODY_STEP, StepLog
from .stepping.step_record import StepRecord
from .stepping.steps import Steps

ALONE = 10
"""Steps in a row in which bodies hold together with few others before events move them again."""
APART = 1e-3
"""Of its size, by which a body is apart from all others then."""
LEAST_SPAN = 1e-9
"""Of a step: in less no contact is given time to close."""


class MixedRun(RunInProgress):
    """A run of the convex bodies of a scene, in islands of which those of more than `above` bodies make steps.

    log : a row of BODY_STEP for every step, and for every impact within one
    """

    def __init__(
        self,
        scene: Scene,
        law: ImpactLaw,
        seed: int,
        event_limit: int,
        integrator: Integrator | None,
        steps: Steps,
    ):
        refuse_convex_scene(scene, forces=False)
        super().__init__(scene, law, seed, event_limit, integrator)
        self.step, self.above, self._law = float(steps.length), steps.above, steps.law
        self._seed = seed
        self.trajectory.integrator = None
        self.trajectory.remarks.append(
            f"Islands of more than {self.above} bodies are moved by time steps of {1e3 * self.step:g} ms, all else "
            "event by event."
        )
        self.log, self._record = StepLog(kind=BODY_STEP), StepRecord(self.model, self.step)
        self._begin_steps()

    def copy(self) -> Any:
        """An independent run at the same instant, with the past of this one; a recording stays here."""
        copied = super().copy()
        copied.log, copied._record, copied._steps = self.log.copy(), self._record.copy(), self._steps.copy()
        copied._alone, copied._free = self._alone.copy(), self._free.copy()
        return copied

    @interrupts_wait()
    def set_packed(self, packed: Array) -> None:
        """Go on from these packed states (n, 13)."""
        self._record.arrive(self.trajectory, self.time)
        super().set_packed(packed)
        self._begin_steps()

    @interrupts_wait()
    def advance(
        self, until: float, stop_at_rest: bool = True, turns: int = 1000, one_event: bool = False
    ) -> bool:
        """As a run from event to event, but at most to the next step, which is made where it is due."""
        if self._next <= self.time:
            self._make_step()
            if not can_go_on(self.trajectory):
                return False
        ended = super().advance(min(until, self._next), stop_at_rest, turns, one_event)
        resting = stop_at_rest and int(self.world.header["moving"]) == 0
        return ended and (resting or self.time >= until)

    def go_to_next_event(self, holder: Any) -> Event | None:
        """Go to just after the next event, on behalf of the holder; None where none comes for a minute, or
        everything rests."""
        with self.turn.taken(holder):
            self._ask_again()
            known, last = len(self.trajectory.events), self.time + LOOK_AHEAD
            while len(self.trajectory.events) == known and can_go_on(self.trajectory):
                if self.advance(last, one_event=True):
                    break
                if not self._steps.active.any() and all_stay_apart(self.world):
                    break
            self._record.arrive(self.trajectory, self.time)
            self.trajectory.end_time = self.time
            return self.trajectory.events[-1] if len(self.trajectory.events) > known else None

    # -- inside ------------------------------------------------------------------------------------------------

    @property
    def _next(self) -> float:
        """When the next step begins [s]."""
        return self._made * self.step

    def _steps_before(self, time: float) -> int:
        """How many steps begin before a time [s]."""
        made = int(time / self.step)
        return made + int(made * self.step < time)

    def _go(self, header: Any, turns: int) -> int:
        why = super()._go(header, turns)
        if why == loop.MEETS_STEPS:
            self._meet()
        return why

    @interrupts_wait()
    def _finish(self, until: float, whole: bool) -> None:
        run = self.trajectory
        self._record.arrive(run, self.time)
        super()._finish(until, whole)
        if can_go_on(run) and len(self.log.rows):
            run.message = f"{run.message} {self.log.convergence(self._steps.lasting.tolerance, self.step)}"

    # -- which bodies make steps -------------------------------------------------------------------------------

    def _begin_steps(self) -> None:
        """Let steps move large islands from now on, as bodies lie."""
        steps = self._steps = ConvexSteps(self.model, self._law, self.step, self._seed)
        self._calm, self._asleep = 0, False
        self._made = self._steps_before(self.time)
        steps.states = self.world.motions["state"][steps.moving]
        count = len(steps.moving)
        self._alone, self._free = np.zeros(count, np.int64), np.zeros(count, bool)
        large = np.flatnonzero(sizes_of(islands(steps.touching(), count)) > self.above)
        steps.leave(np.arange(count))
        self._departed, self._departed_at = steps.states.copy(), self.time
        stepped_kernels.hand_over_bodies(self.world.address, steps.moving[large])
        self._take()
        steps.owed[steps.active] = self._next - self.time
        if len(large):
            self._fly_on(0.0, steps.active)

    def _take(self) -> NDArray[np.int64]:
        """Let steps have the bodies that the world has handed over to them: which."""
        motions, steps = self.world.motions, self._steps
        new = np.flatnonzero((motions["stepped"][steps.moving] == 1) & ~steps.active)
        steps.take(new, motions["state"][steps.moving[new]])
        self._alone[new], self._free[new] = 0, False
        if len(new):
            self._calm, self._asleep = 0, False
        return new

    def _take_large(self) -> None:
        """Take over large islands of the world."""
        large = np.flatnonzero(self.world.islands["bodies"] > self.above)
        if len(large):
            which = np.flatnonzero(np.isin(self.world.motions["island"], large))
            stepped_kernels.hand_over_bodies(self.world.address, which)
            self._take()

    def _let_go(self) -> None:
        """Let bodies go from event to event again that have been in small islands for a while."""
        steps, free = self._steps, np.flatnonzero(self._free)
        if len(free):
            stepped_kernels.release(self.world.address, steps.moving[free], steps.states[free])
            steps.leave(free)
            self._free[free] = False
            self._record.depart(self.trajectory, self.time, steps.states, 0.0, steps.active)

    def _count_alone(self, made: Strike) -> None:
        """Count how long bodies have been in small islands, apart from all else."""
        steps = self._steps
        labels = islands(made.keys, len(steps.moving))
        small = steps.active & (sizes_of(labels) <= self.above)
        steps.parting[:] = small
        clear = steps.true_gaps(made) >= APART * steps.size[: len(labels)]
        self._alone = np.where(small & clear, self._alone + 1, 0)
        waits = labels[~(self._alone >= ALONE)]
        self._free = small & ~np.isin(labels, waits)

    # -- steps -------------------------------------------------------------------------------------------------

    def _make_step(self) -> None:
        """The step that is due now."""
        time, steps = self.time, self._steps
        if not self._arrive():
            return
        self._take_large()
        self._let_go()
        if steps.active.any() and not self._asleep:
            made = self._struck(time)
            if made is None:
                return
            self._made += 1
            made.row["time"] = self._next
            self.log.add(made.row)
            self._calm = self._calm + 1 if made.row["speed"] <= self._record.slow else 0
            if self._calm >= self._record.enough:
                self._fall_asleep(made)
            else:
                self._fly_on(made.gained, self._record.changed(time, steps.states))
                self._count_alone(made)
        else:  # none is due before events may make an island large
            due = min(float(loop.next_due(self.world.address)), time + LOOK_AHEAD)
            self._made = max(self._made + 1, self._steps_before(due))

    def _struck(self, time: float, span: float | None = None, pulls: bool = True) -> Strike | None:
        """As `ConvexSteps.strike`; None, and the run has ended, where the law has no answer."""
        try:
            return self._steps.strike(time, span, pulls)
        except LawFailedError as error:
            end_step(self.trajectory, error, time)
            return None

    def _arrive(self) -> bool:
        """Bring the bodies that make steps to now; whether they are somewhere."""
        steps = self._steps
        if steps.active.any():
            steps.states = steps.flown(self._departed, self.time - self._departed_at)
            lost = steps.lost()
            if lost is not None:
                end_lost(self.trajectory, lost, self.time)
                return False
        return True

    def _fly_on(self, gained: float, written: NDArray[np.bool_]) -> None:
        """Let the bodies that make steps fly on from now, where they gained kinetic energy [J]; begin pieces of
        motion of those that are to be `written` (moving,)."""
        which = self._depart(gained, written)
        self.world.header["step_end"] = self._next
        bodies, states = self._steps.moving[which], self._departed[which]
        stepped_kernels.move_stepped(self.world.address, bodies, states, written[which])

    def _fall_asleep(self, made: Strike) -> None:
        """Let the bodies that make steps rest till another meets them."""
        steps = self._steps
        steps.states[steps.active, 7:13] = 0.0
        which = self._depart(made.gained - float(made.row["energy_after"]), steps.active)
        stepped_kernels.rest_stepped(self.world.address, steps.moving[which], self._departed[which])
        self._asleep = True

    def _depart(self, gained: float, written: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Note that the bodies that make steps go on from now, as `_fly_on` has it: which."""
        steps, time = self._steps, self.time
        self._departed, self._departed_at = steps.states.copy(), time
        which = np.flatnonzero(steps.active)
        noted = which[written[which]]
        self._record.note(noted, time, steps.states[noted])
        self._record.depart(self.trajectory, time, steps.states, gained, steps.active)
        return which

    def _meet(self) -> None:
        """Bodies of the events meet some that make steps, or that rest between these: the impact, now."""
        steps, asleep = self._steps, self._asleep
        self._made = self._steps_before(self.time)
        if not self._arrive():
            return
        stepped_kernels.hand_over(self.world.address)
        known = steps.active.copy()
        new = self._take()
        rest = self._next - self.time
        steps.owed[steps.active if asleep else new] = rest
        before = steps.states.copy()
        made = self._struck(self.time, max(rest, LEAST_SPAN * self.step), pulls=False)
        if made is None:
            return
        made.row["time"] = self._next
        self.log.add(made.row)
        struck = np.flatnonzero(made.impulse[:, 0] > 0.0)
        ends = made.network.bodies[struck] if made.network is not None else np.zeros((0, 2), np.int64)
        touched = np.zeros(len(known), bool)
        touched[ends[ends >= 0]] = True
        if touched[new].any():
            if not asleep:
                moved = np.flatnonzero(touched & known)
                stepped_kernels.note_stepped(self.world.address, steps.moving[moved], before[moved])
            self.trajectory.log.take(self.world)
            note_impact(self.trajectory, self.world, steps, made, struck)
        gained = 0.0 if touched[new].any() else made.gained
        written = touched | ~known | self._record.changed(self.time, steps.states)
        self._fly_on(gained, steps.active if asleep else written)
        self._count_alone(made)
        self.trajectory.log.take(self.world)
