"""What plots show of a trajectory, as plain arrays: energies, contact velocities and impulses.

Each can be drawn over time t [s], where impacts are jumps, or over s = t + the normal impulse of all impacts so
far [s + N s], in which an impact takes as long as its impulse grows and can be looked into.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

Over = Literal["time", "impulse"]
AXIS_NAMES: dict[Over, str] = {"time": "t [s]", "impulse": "s = t + ΣΛₙ [s + N s]"}
_MOST_STATES = 40_000  # of bodies that energies are summed over; about half a second of a recording
_LOOKS = 3  # at energies: before events, after them, and at even times
_MOST_OTHER_EVENTS = 5000  # than impacts; each is looked at by itself
_STEPS_A_STAGE = 8  # of an impact path, since energy is a parabola along a stage
WORKS = ("friction", "damping", "drag", "drives", "applied", "impacts", "closing", "springs")
_LEAST_WORK = 1e-9  # of the largest energy; less is rounding
_LEAST_TIMES = 50  # however many bodies there are


@dataclass(frozen=True, eq=False)
class Series:
    """Points (k,) over x, which never decreases; ``joined`` by a line or each for itself.

    kinds : (k,) the kind of each point's event, where the points are events
    """

    name: str
    unit: str
    x: np.ndarray
    y: np.ndarray
    joined: bool = True
    kinds: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.x)

    @cached_property
    def range(self) -> tuple[float, float]:
        """Least and largest finite value; (0, 1) where there is none."""
        finite = self.y[np.isfinite(self.y)]
        return (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 1.0)


class ImpulseClock:
    """The accumulated normal impulse ΣΛₙ [N s] of the impacts of a run, and with it s = t + ΣΛₙ.

    Impulses of lasting contact, which a recording does not hold, are not in it.
    """

    def __init__(self, trajectory: Any) -> None:
        records = trajectory.impacts
        self.events, impulse = records.per_event(records.impulse[:, 0])
        self.times = np.asarray(trajectory.event_times, dtype=float)[self.events]
        self.after = np.cumsum(impulse)
        """Accumulated just after each impact [N s]."""
        self.before = self.after - impulse
        self._totals = np.concatenate([[0.0], self.after])

    def impulse(self, times: Any, side: str = "right") -> np.ndarray:
        """Accumulated normal impulse [N s] at times [s], after ("right") or before what happens then."""
        return self._totals[np.searchsorted(self.times, times, side=side)]  # type: ignore[call-overload]

    def s(self, times: Any, side: str = "right") -> np.ndarray:
        """t + ΣΛₙ."""
        return np.asarray(times, dtype=float) + self.impulse(times, side)

    def place(self, time: float, over: Over, share: float = 1.0) -> float:
        """Where a time lies on the axis; ``share`` of what happens at that instant is over."""
        if over == "time":
            return time
        low, high = (float(self.s(time, side)) for side in ("left", "right"))
        return low + share * (high - low)

    def time_of(self, place: float, over: Over) -> float:
        """The time [s] at a place of the axis."""
        if over == "time":
            return place
        number = int(np.searchsorted(self.times + self.before, place, side="right")) - 1
        if number < 0:
            return place
        return max(float(self.times[number]), place - float(self.after[number]))


def energies(trajectory: Any, over: Over = "time", samples: int = 600) -> tuple[Series, Series, Series]:
    """Total, kinetic and potential energy [J], right up to and right after events.

    Over the impulse, impacts are followed along the paths of their law. Of a run with very many events or
    bodies, evenly chosen events are looked at.
    """
    return energies_and_works(trajectory, over, samples)[0]


def works(trajectory: Any, over: Over = "time", samples: int = 600) -> list[Series]:
    """Work since the start [J] of what has no potential, and energy in springs, each where it is not zero.

    Of a run with many events, evenly chosen ones are looked at. Work inside an impact is a straight line over the
    impulse.
    """
    return energies_and_works(trajectory, over, samples)[1]


def energies_and_works(
    trajectory: Any, over: Over = "time", samples: int = 600
) -> tuple[tuple[Series, Series, Series], list[Series]]:
    """What `energies` and `works` give, from one look at the ledger of the run."""
    most = max(_LEAST_TIMES, _MOST_STATES // (_LOOKS * len(trajectory.scene.bodies)))
    shown = _evenly(len(trajectory.events), most)
    instants = np.unique(np.asarray(trajectory.event_times, dtype=float)[shown])
    even = np.linspace(trajectory.start_time, trajectory.end_time, min(samples, most))
    looks = ((instants, "left"), (instants, "right"), (even, "right"))
    ledgers = [trajectory.ledger(times, side=side) for times, side in looks]
    clock = None if over == "time" else ImpulseClock(trajectory)
    x = np.concatenate([times if clock is None else clock.s(times, side) for times, side in looks])
    order = np.lexsort((np.arange(len(x)) >= len(instants), x))  # at one place, what is before comes first
    x = x[order]

    def column(name: str) -> np.ndarray:
        parts = [np.broadcast_to(getattr(one, name), one.kinetic.shape) for one in ledgers]
        return np.concatenate(parts)[order]

    kinetic, potential = column("kinetic"), column("potential") + column("springs")
    least = _LEAST_WORK * np.abs(kinetic + potential).max(initial=0.0)
    done = [Series(name, "J", x, column(name)) for name in WORKS if np.abs(column(name)).max() > least]
    if clock is not None:
        x, kinetic, potential = _with_paths(trajectory, clock, shown, x, kinetic, potential)
    energies = (
        Series("total", "J", x, kinetic + potential),
        Series("kinetic", "J", x, kinetic),
        Series("potential", "J", x, potential),
    )
    return energies, done


def _with_paths(
    trajectory: Any,
    clock: ImpulseClock,
    shown: np.ndarray,
    x: np.ndarray,
    kinetic: np.ndarray,
    potential: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The energies with those along the paths of impacts put where they belong."""
    impacts = np.flatnonzero(np.isin(clock.events, shown))
    before = trajectory.energy_parts(clock.times[impacts], side="left")[0]
    places, paths = [x], [kinetic]
    for impact, energy in zip(impacts.tolist(), before.tolist(), strict=True):
        event = trajectory.events[int(clock.events[impact])]
        impulse, velocity = walked(event.outcome.path)
        gained = 0.5 * (impulse * (velocity + velocity[0])).sum(axis=1)
        first = int(np.searchsorted(clock.times, event.time))  # of the impacts at this instant
        earlier = sum(
            trajectory.events[int(number)].outcome.energy_change for number in clock.events[first:impact]
        )
        places.append(event.time + clock.before[impact] + impulse[:, :: event.problem.dim].sum(axis=1))
        paths.append(energy + earlier + gained)
    place = np.concatenate(places)
    order = np.argsort(place, kind="stable")
    ordered = place[order]
    return ordered, np.concatenate(paths)[order], np.interp(ordered, x, potential)


def walked(path: Any, steps: int = _STEPS_A_STAGE) -> tuple[np.ndarray, np.ndarray]:
    """Impulse and velocity along a path, each stage (along which both are straight) in so many steps."""
    stages = np.arange(len(path.impulse))
    fine = np.linspace(0.0, stages[-1], steps * stages[-1] + 1)
    impulse, velocity = (
        np.column_stack([np.interp(fine, stages, column) for column in rows.T])
        for rows in (path.impulse, path.velocity)
    )
    return impulse, velocity


def contact_velocities(
    trajectory: Any, over: Over = "time", when: Literal["before", "after"] = "before"
) -> tuple[Series, Series]:
    """Normal velocity and slip speed [m/s] of every contact of every impact, before or after it."""
    records = trajectory.impacts
    velocity = records.velocity_before if when == "before" else records.velocity_after
    x = _places(trajectory, records, over, when)
    kinds = trajectory.event_kinds[records.event]
    return (
        Series(f"normal velocity {when}", "m/s", x, velocity[:, 0], False, kinds),
        Series(f"slip speed {when}", "m/s", x, np.linalg.norm(velocity[:, 1:], axis=1), False, kinds),
    )


def impulses(trajectory: Any, over: Over = "time") -> tuple[Series, Series]:
    """Normal and frictional impulse [N s] of every contact of every impact."""
    records = trajectory.impacts
    x = _places(trajectory, records, over)
    kinds = trajectory.event_kinds[records.event]
    friction = np.linalg.norm(records.impulse[:, 1:], axis=1)
    return (
        Series("normal impulse", "N s", x, records.impulse[:, 0], False, kinds),
        Series("frictional impulse", "N s", x, friction, False, kinds),
    )


@dataclass(frozen=True, eq=False)
class EventMarks:
    """Which body (m,) takes part in an event at which place x (m,), and of which kind (m,) that is."""

    body: np.ndarray
    x: np.ndarray
    kinds: np.ndarray


def event_marks(trajectory: Any, over: Over = "time") -> EventMarks:
    """Every body of every impact, and those of other events, of which evenly chosen ones if there are many."""
    records = trajectory.impacts
    kinds = np.asarray(trajectory.event_kinds)
    others = np.setdiff1d(np.arange(len(kinds)), records.event)
    others = others[_evenly(len(others), _MOST_OTHER_EVENTS)]
    bodies = [np.unique(trajectory.events[number].contacts.bodies) for number in others.tolist()]
    number = np.concatenate(
        [np.repeat(records.event, 2), np.repeat(others, [len(some) for some in bodies])]
    ).astype(int)
    body = np.concatenate([records.bodies.ravel(), *bodies]).astype(int)
    number, body = np.unique(np.column_stack([number, body]), axis=0).T
    x = np.asarray(trajectory.event_times, dtype=float)[number]
    if over == "impulse":
        x = ImpulseClock(trajectory).s(x)
    return EventMarks(body, x, kinds[number])


def _places(
    trajectory: Any, records: Any, over: Over, when: Literal["before", "after"] = "after"
) -> np.ndarray:
    """Where the contacts of impacts lie on the axis: over the impulse, at the beginning or end of their impact."""
    if over == "time":
        return records.time
    clock = ImpulseClock(trajectory)
    accumulated = clock.before if when == "before" else clock.after
    return records.time + accumulated[np.searchsorted(clock.events, records.event)]


def _evenly(count: int, most: int) -> np.ndarray:
    """At most so many of the numbers below `count`, evenly chosen with the first and the last."""
    return np.unique(np.linspace(0, count - 1, min(count, most)).astype(int))
