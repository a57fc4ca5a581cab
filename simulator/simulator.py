"""A run as its user sees it: a scene under an impact law, step by step or to an end.

How a run goes on is in `run_in_progress.py`, what happens in it in `engine/loop_kernels.py`.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from ..bodies import Drive, PlacedJoint, Scene, checks
from ..bodies.files import file_path
from ..bodies.meant import answers_slips
from ..impact_laws import ImpactLaw
from .event import Event
from .given_state import packed_state
from .integrator import Integrator
from .laws import refuse_no_law
from .mixed_run import MixedRun
from .record.trajectory import Trajectory
from .run_in_progress import RunInProgress
from .state import Model, State
from .stepped_run import SteppedRun
from .stepping.steps import Steps
from .user_events import EventFunction, user_event

if TYPE_CHECKING:
    import os

    from .branches import BranchedRun

_LARGEST_WHOLE = 2**63 - 1  # that a recording and the engine keep
_EVENTS = 1_000_000


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
    steps : None: from event to event. A length [s]: by time steps of it, for heaps of hundreds of convex bodies. In
        each the law resolves what is struck, then one impact problem all contacts that could close within it.
        There are no events, and joints, sensors, triangle meshes, rolling and spinning friction, `integrator`,
        `event_limit` and what needs events are refused by name. Bodies that move are grown by half a percent of
        their size. `run` raises StepTooLongError where bodies overlap deeply.
        `Steps(length, above)`: so go islands of more than so many bodies, and all else from event to event, under
        `law`; what hits such an island is met at its exact time. Scenes are refused as above, and with drag and
        forces of a user.

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
        event_limit: int = _EVENTS,
        integrator: Integrator | None = None,
        steps: float | Steps | None = None,
    ):
        if not isinstance(scene, Scene):
            raise TypeError(f"scene: expected a Scene, got {type(scene).__name__}")
        refuse_no_law(law)
        scene.refuse_spheres("Simulator")
        if not scene.bodies:
            raise ValueError("scene: expected at least one body, got none")
        if not isinstance(integrator, Integrator | None):
            raise TypeError(f"integrator: expected an Integrator, got {type(integrator).__name__}")
        seed = checks.whole("seed", seed, _LARGEST_WHOLE)
        limit = checks.whole("event_limit", event_limit, _LARGEST_WHOLE)
        self._run: RunInProgress | SteppedRun
        if steps is None:
            self._run = RunInProgress(scene, law, seed, limit, integrator)
        elif isinstance(steps, Steps):
            self._run = MixedRun(scene, law, seed, limit, integrator, steps)
        elif integrator is not None or limit != _EVENTS:
            given = "event_limit" if integrator is None else "integrator"
            raise TypeError(f"{given}: a run by time steps has none; leave it out, or leave out steps")
        else:
            self._run = SteppedRun(scene, law, seed, steps)
        if record is not None:
            from .record.recording import Recorder

            self._run.recorder = Recorder(self.trajectory, file_path("record", record))

    @classmethod
    def of_run(cls, run: "RunInProgress | SteppedRun") -> "Simulator":
        """What shows a run that goes on already."""
        shown = cls.__new__(cls)
        shown._run = run
        return shown

    def _by_events(self, what: str, *, wholly: bool = False) -> RunInProgress:
        """The run; TypeError, which names what was asked for, where it is one by time steps, or is not `wholly` one
        by events."""
        if isinstance(self._run, SteppedRun) or (wholly and isinstance(self._run, MixedRun)):
            raise TypeError(
                f"{what}: expected a run from event to event, got one by time steps; leave out steps"
            )
        return self._run

    @property
    def model(self) -> Model:
        """The scene in arrays, as the engine takes it."""
        return self._run.model

    @property
    def law(self) -> ImpactLaw:
        """The impact law."""
        return self._run.law

    @property
    def integrator(self) -> Integrator | None:
        """How motion is integrated where it has no closed form; None by time steps."""
        return self._run.integrator

    @property
    def trajectory(self) -> Trajectory:
        """What has been simulated so far."""
        return self._run.trajectory

    @property
    def event_limit(self) -> int:
        """Events after which a run stops with a status; it can be set. ValueError for no whole number from 0 on."""
        return self._by_events("event_limit").event_limit

    @event_limit.setter
    def event_limit(self, limit: int) -> None:
        self._by_events("event_limit").event_limit = checks.whole("event_limit", limit, _LARGEST_WHOLE)

    def __repr__(self) -> str:
        return (
            f"Simulator({self.model.count} bodies, {self.law.name}, seed {self.trajectory.seed}, "
            f"at t = {self.time!r} s, {len(self.trajectory.events)} events)"
        )

    @property
    def time(self) -> float:
        """Simulated time [s]."""
        return self._run.time

    @property
    def state(self) -> State:
        """All bodies now.

        Its arrays cannot be written into; it can be set: ``sim.state = State(...)``, or a `State.copy` that was
        changed, lets the simulation go on from there, at the present time (that
        of the given state is not looked at). Fixed bodies keep what they have; everything is predicted anew, and
        an event of kind USER with the note "state set" is recorded. TypeError or ValueError that names the field
        and body, and nothing changed, for other shapes, values that are not finite, quaternions that are not of
        unit length within 1e-6 (else they are normalised) and bodies that overlap.
        """
        return self._run.state_at(self.time)

    @state.setter
    def state(self, state: State) -> None:
        self._run.set_packed(packed_state(self.model, state, self._run.packed()))

    @property
    def step_log(self) -> NDArray[Any]:
        """What every time step was like, a row each with the fields of `BODY_STEP`: TypeError without `steps`.

        time : at its end [s]
        contacts, sweeps : how many a step could close, and of how many sweeps its solution took
        impacts : islands that were struck, and that the law resolved before
        restitution_share : the least share of their restitution that these had, so that no energy was gained
        residual : that these left, relative to the largest impulse
        energy_before, energy_after : kinetic energy [J] with gravity's impulse, before and after the impacts
        beyond_cone : most friction above what the normal impulse allows, relative to the largest impulse
        gap : the smallest of two bodies at its start [m], negative where they overlap
        speed : of the fastest point of a body after it, a bound [m/s]
        support : force of fixed bodies on those that move, (3,) [N]
        """
        if not isinstance(self._run, SteppedRun | MixedRun):
            raise TypeError("step_log: expected a run by time steps, got one from event to event; pass steps")
        return self._run.log.rows

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
        known = self._by_events("add_event").functions.functions
        known.append(user_event(function, direction, terminal, name, resolution, known))

    def on_event(self, callback: "Callable[[Event, Simulator], None]") -> None:
        """Let ``callback(event, simulator)`` be called after every event, in order of registration.

        The simulator has then gone on to just after that event. A callback may set its `state`,
        of which no callback is told, and add event functions, but not advance it (RuntimeError). What it raises
        reaches whoever advances the simulator; a recording is readable up to there.
        """
        if not callable(callback):
            raise TypeError(f"callback: expected a function (event, simulator), got {callback!r}")
        self._by_events("on_event").callbacks.append(callback)

    def copy(self) -> "Simulator":
        """An independent simulator at the same instant, which would go on identically, bit for bit.

        It has the past of this one in its own trajectory, and calls the same event functions and callbacks. A
        recording stays with the original.
        """
        return Simulator.of_run(self._run.copy())

    def joint_state(self, joint: PlacedJoint | str) -> tuple[float, float]:
        """Coordinate [rad or m] and rate of a joint now: the angle of a hinge, the way of a slide, a distance.

        Raises ValueError for a joint that is not in the scene, or that has no one coordinate.
        """
        number = self.model.scene.joint_index(joint)
        return self.model.articulation.coordinate(number, self._run.packed())

    def set_drive(self, joint: PlacedJoint | str, drive: Drive) -> None:
        """Let a joint that has a drive be driven like this from now on.

        Bodies that rest are asked again whether they do. An event of kind USER is recorded, whose note says what
        the drive is. Raises ValueError for a joint that is not in the scene or has no drive, TypeError for what is
        no `Drive`.
        """
        self._by_events("set_drive").set_drive(joint, drive)

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

        return grow(
            self._by_events("branches", wholly=True),
            n,
            seed,
            until,
            tolerance,
            progress,
            stop_at_rest,
            (executor, workers),
        )

    def step(self, duration: float) -> State:
        """Advance by exactly `duration` [s], through every event inside, and return the state."""
        self.run(self.time + checks.number("duration", duration, minimum=0.0), stop_at_rest=False)
        return self.state

    def step_event(self) -> Event | None:
        """Advance to just after the next event and return it; None where nothing will happen any more.

        Where bodies stay apart for ever, zeros of event functions are awaited for another 60 s.
        """
        return self._by_events("step_event").go_to_next_event(self)

    @answers_slips
    def run(self, until: float, *, progress: bool = False, stop_at_rest: bool = True) -> Trajectory:
        """Go to the absolute simulated time `until` [s], or until everything is at rest.

        The returned trajectory carries the status; with `progress` a bar appears on a terminal when the run
        takes more than two seconds.
        """
        self._run.go_to(self._run.until_checked(until), stop_at_rest, progress, self)
        return self.trajectory
