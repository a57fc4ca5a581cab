"""How a run ends: what the loop's reasons to stop mean, and what a trajectory says of its end."""

import numpy as np

from ..impact_laws import ImpactOutcome, ImpactStatus
from .engine import loop_kernels as loop
from .engine.log_kernels import log_works
from .python_parts import ForceFunctionError
from .record.trajectory import RunStatus, Trajectory
from .stepping.errors import LawFailedError
from .world import World

_GOES_ON = (RunStatus.UNFINISHED, RunStatus.REACHED_END, RunStatus.AT_REST)


def can_go_on(trajectory: Trajectory) -> bool:
    """Whether nothing has ended the run."""
    return trajectory.status in _GOES_ON


def end(trajectory: Trajectory, status: RunStatus, message: str) -> None:
    """Let the run have ended, with a message and the advice that its status has."""
    trajectory.status = status
    trajectory.message = f"{message}. {status.advice}"


def end_lost(trajectory: Trajectory, body: str | None, time: float) -> None:
    """Let the run have ended because a body, by name, is nowhere at a time [s]."""
    end(trajectory, RunStatus.NOT_FINITE, f"body {body!r} has no finite state at t = {time!r} s")


def end_step(trajectory: Trajectory, failure: LawFailedError | ForceFunctionError, time: float) -> None:
    """Let the run have ended because a time step could not be made at a time [s]."""
    if isinstance(failure, ForceFunctionError):
        end(trajectory, RunStatus.USER_FUNCTION_FAILED, str(failure))
    else:
        end(trajectory, RunStatus.LAW_FAILED, f"{failure} at t = {time!r} s")


def judge(trajectory: Trajectory, world: World, why: int, event_limit: int) -> None:
    """End the run where the loop, which stopped for this reason, cannot go on; raise what a function of the user
    raised."""
    at, bodies = f"at t = {float(world.header['time'])!r} s", trajectory.scene.bodies
    failure = world.failure
    if failure is not None:
        world.failure, world.header["failed"] = None, 0
        if not isinstance(failure, ForceFunctionError):
            raise failure
        end(trajectory, RunStatus.USER_FUNCTION_FAILED, str(failure))
    elif why == loop.NO_PROGRESS:
        end(trajectory, RunStatus.NO_PROGRESS, f"more events than can be followed {at}")
    elif why == loop.SEARCH_FAILED:
        first, second = (bodies[int(world.header[f"failed_{side}"])].name for side in ("first", "second"))
        said = f"the search for the next impact of {first!r} and {second!r} did not end {at}"
        end(trajectory, RunStatus.NO_PROGRESS, said)
    elif why == loop.TOO_FAST:
        name = bodies[int(world.header["failed_first"])].name
        end(trajectory, RunStatus.NOT_FINITE, f"{name!r} spins too fast to be followed {at}")
    elif why == loop.HOLD_FAILED:
        jammed = " and ".join(str(bodies[body].name) for body in world.members[:3].tolist())
        end(trajectory, RunStatus.CONTACT_FAILED, f"no contact forces keep {jammed} apart {at}")
    elif why == loop.LAW_FAILED:
        members = world.members  # whose impulses have acted: the record ends with what the run ends with
        trajectory.add_flights(members, float(world.header["time"]), world.motions["state"][members])
        outcome = trajectory.events[-1].outcome
        assert outcome is not None
        said = outcome.message or outcome.status.advice
        end(trajectory, RunStatus.LAW_FAILED, f"{outcome.status.value}: {said}")
    elif why == loop.EVENT_LIMIT:
        end(
            trajectory,
            RunStatus.EVENT_LIMIT,
            f"{event_limit} events by t = {float(world.header['time']):g} s",
        )


def judge_answer(trajectory: Trajectory, world: World, outcome: ImpactOutcome | None) -> bool:
    """End the run where a law broke its contract in what it answered last; whether it did."""
    if outcome is None or outcome.status is not ImpactStatus.CONTRACT_BROKEN:
        return False
    end(trajectory, RunStatus.LAW_FAILED, f"{outcome.message} at t = {float(world.header['time'])!r} s")
    return True


def close(trajectory: Trajectory, world: World, until: float, whole: bool) -> None:
    """Note how far a run came that was asked to go to `until` [s], and whether it is at rest; `whole` unless it was
    cut short."""
    log_works(world.address)
    trajectory.log.take(world)
    time, resting = float(world.header["time"]), int(world.header["moving"]) == 0
    trajectory.rest_time = None
    if resting:
        begun = world.motions["start"][world.model.movable].max(initial=trajectory.start_time)
        trajectory.rest_time = max(float(begun), float(world.header["accumulated_at"]))
    trajectory.end_time = max(time, trajectory.rest_time or 0.0) if resting else time
    trajectory.end_time = min(max(trajectory.end_time, trajectory.start_time), max(until, time))
    trajectory.asked_time = until
    lost = np.flatnonzero(~np.isfinite(world.states_at(time)).all(axis=1))
    if len(lost):  # also where the run has ended for another reason: this one came first
        name = trajectory.scene.bodies[int(lost[0])].name
        end_lost(trajectory, name, time)
        trajectory.end_time = _last_finite(trajectory)
    if can_go_on(trajectory):
        ended = RunStatus.AT_REST if resting else RunStatus.REACHED_END
        trajectory.status = ended if whole else RunStatus.UNFINISHED
        trajectory.message = trajectory.status.advice


def _last_finite(trajectory: Trajectory) -> float:
    """The time [s] up to which all states are numbers: what is not finite once stays so."""
    starts = np.unique(trajectory.log.pieces.column("start"))
    middles = 0.5 * (starts + np.append(starts[1:], trajectory.end_time))
    first, beyond = 0, len(starts)
    while first < beyond:  # bisection
        k = (first + beyond) // 2
        if _finite_at(trajectory, middles[k]):
            first = k + 1
        else:
            beyond = k
    if first == len(starts):
        return trajectory.end_time
    begins = starts[first]
    if not _finite_at(trajectory, begins):
        begins = np.nextafter(begins, -np.inf)
    return max(float(begins), trajectory.start_time)


def _finite_at(trajectory: Trajectory, time: float) -> bool:
    return bool(np.isfinite(trajectory.sample(float(time)).packed()).all())
