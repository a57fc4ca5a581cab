"""A run over s = t + accumulated normal impulse, in which velocity is continuous through impacts.

Over time an impact is a jump. Halm & Posa (section 4) let time be a state: over s, time and normal impulse advance
together, ds = dt + sum of dL, so between impacts without contact forces s goes as time does, in an impact time
stands still, and under lasting contact both go on.
"""

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...bodies import checks
from ..collision.pairs import collision_pairs, pair_gap, pair_size
from ..engine.tables_kernels import STILL
from ..notes import STATE_SET
from ..state import Array, State
from ..tolerances import OVERLAP

if TYPE_CHECKING:
    from .trajectory import Trajectory

_HALVINGS = 60  # of a stretch of time, after which it is as short as rounding


class ImpulseDomain:
    """A trajectory over s = t + accumulated normal impulse [s + N s]; see `Trajectory.over_impulse`.

    start, end : the range of s
    left_out : names of bodies whose lasting contacts are not in s, since their forces are not known
    event_s : (E, 2), where each event begins and ends; only impacts take a stretch of s

    The impulse is that of all contacts of all bodies together since the start: of impacts as their law gave
    it, and of lasting contact where it follows from the momentum, see `LastingImpulse`. An impact takes as
    much of s as the sum of the normal impulses of its contacts. Through it velocity runs on a straight line
    from that before to that after, however many contacts there are; the way that the law took is in
    ``event.outcome.path``. Impacts of one instant come one after the other, in the order of the events.
    """

    def __init__(self, trajectory: "Trajectory"):
        self._trajectory = trajectory
        self._lasting = LastingImpulse(trajectory)
        self.left_out = self._lasting.left_out
        records = trajectory.impacts
        self._impacts, self._impulse = records.per_event(records.impulse[:, 0])
        self._times = trajectory.event_times[self._impacts]
        self._after = np.concatenate([[0.0], np.cumsum(self._impulse)])

    @property
    def start(self) -> float:
        """s at the start."""
        return self._trajectory.start_time

    @property
    def end(self) -> float:
        """s at the end, up to which the motion is known."""
        return float(self.s(self._trajectory.known_until))

    def s(self, t: Any, side: str = "right") -> Any:
        """s at time(s) `t` [s], after (``side="right"``) or before what happens then. ValueError for times outside
        the run."""
        self._trajectory.sample(t, side=side)  # which refuses what is none
        times = np.asarray(t, dtype=float)
        found = times + self._after[np.searchsorted(self._times, times, side=_side(side))]
        found = found + self._lasting(np.atleast_1d(times), side).reshape(times.shape)
        return float(found) if times.ndim == 0 else found

    def time(self, s: Any) -> Any:
        """Time(s) [s] at s, which stand still in impacts. ValueError for s outside the range."""
        places = self._checked(s)
        times = self._located(places)[0]
        return float(times[0]) if np.ndim(s) == 0 else times

    def sample(self, s: Any) -> State:
        """State at s, a number or an array (S,); its time is that at s, and its velocities are those on the way
        through an impact. ValueError for s outside the range."""
        places = self._checked(s)
        times, instant, share = self._located(places)
        packed = self._trajectory._packed(times, "right")
        for k in np.unique(instant[instant >= 0]).tolist():
            here = np.flatnonzero(instant == k)
            shares, states = self._way(k)
            packed[here] = states[0]
            for column in range(7, 13):
                for body in range(packed.shape[1]):
                    packed[here, body, column] = np.interp(share[here], shares, states[:, body, column])
        if np.ndim(s) == 0:
            return State.unpacked(float(times[0]), packed[0], self._trajectory.scene)
        return State.unpacked(times, packed, self._trajectory.scene)

    @cached_property
    def event_s(self) -> Array:
        """s before and after each event, (E, 2)."""
        times = self._trajectory.event_times
        impulse = np.zeros(len(times))
        impulse[self._impacts] = self._impulse
        after = np.cumsum(impulse)
        lasting = times + self._lasting(times, "left")
        return np.column_stack([lasting + after - impulse, lasting + after])

    # -- where a value of s is -----------------------------------------------------------------------------------

    @cached_property
    def _instants(self) -> tuple[Array, Array, Array]:
        """When velocity jumps, and s before and after, of each instant where s does."""
        log = self._trajectory.log
        times = np.unique(np.concatenate([self._times, log.jumps.column("time")]))
        before, after = self.s(times, "left"), self.s(times, "right")
        jumps = after > before
        return times[jumps], before[jumps], after[jumps]

    def _checked(self, s: Any) -> Array:
        places = checks.array("s", s if np.iterable(s) else [s], (None,))
        low, high = self.start, self.end
        outside = places[~((places >= low) & (places <= high))]
        if len(outside):
            raise ValueError(f"s: expected values within [{low:g}, {high:g}] s + N s, got {outside[0]:g}")
        return places

    def _located(self, places: Array) -> tuple[Array, NDArray[np.int64], Array]:
        """Times (S,) of values of s, the instant in which each is, -1 for none, and which share of it is over."""
        times, before, after = self._instants
        number = np.searchsorted(before, places, side="right") - 1
        known = np.maximum(number, 0)
        inside = (number >= 0) & (places < after[known]) if len(times) else np.zeros(len(places), dtype=bool)
        if len(times):
            begin = np.where(number >= 0, times[known], self.start)
            passed = np.where(number >= 0, after[known], self.start)
        else:
            begin, passed = np.full(len(places), self.start), np.full(len(places), self.start)
        following = np.append(times, np.nextafter(self._trajectory.known_until, np.inf))
        end = np.nextafter(following[number + 1], -np.inf)
        found = np.minimum(begin + (places - passed), end)
        free = ~inside
        if self._lasting and free.any():
            found[free] = self._halved(places[free], begin[free], np.maximum(found[free], begin[free]))
        if not inside.any():
            return found, np.full(len(places), -1), np.zeros(len(places))
        found[inside] = times[known[inside]]
        share = np.zeros(len(places))
        width = after[known] - before[known]
        share[inside] = (places[inside] - before[known[inside]]) / width[inside]
        return found, np.where(inside, known, -1), share

    def _halved(self, places: Array, low: Array, high: Array) -> Array:
        """Times between others at which s has values, where contacts last: time alone would be too late."""
        low, high = low.copy(), high.copy()
        for _ in range(_HALVINGS):
            middle = 0.5 * (low + high)
            early = self.s(middle) <= places
            low, high = np.where(early, middle, low), np.where(early, high, middle)
        return high

    def _way(self, instant: int) -> tuple[Array, Array]:
        """Shares (k,) of an instant that are over when its impacts begin, and at its end; packed states then."""
        trajectory, time = self._trajectory, self._instants[0][instant]
        first, last = (
            int(np.searchsorted(self._times, time, side=_side(side))) for side in ("left", "right")
        )
        bodies = list(range(trajectory.model.count))
        now = np.array([time])
        states = [trajectory._packed(now, "left")[0]]
        states += [trajectory.packed_before(int(event), bodies) for event in self._impacts[first + 1 : last]]
        states.append(trajectory._packed(now, "right")[0])
        done = np.concatenate([[0.0], np.cumsum(self._impulse[first : max(last - 1, first)])])
        width = self._instants[2][instant] - self._instants[1][instant]
        return np.append(np.minimum(done / width, 1.0), 1.0), np.array(states)


class LastingImpulse:
    """Accumulated normal impulse [N s] of lasting contact, where it follows from the momentum.

    A recording does not hold contact forces. Of a body that nothing touches but half-spaces of one normal n,
    and that no joint, drag or function pushes, they follow: what its momentum along n has gained beyond
    gravity and the impulses of impacts. That includes the ends of infinitely many bounces. This is the one
    place that is to read forces once recordings hold them.

    left_out : names of other bodies that may have had lasting contacts; theirs are not included
    """

    def __init__(self, trajectory: "Trajectory"):
        self._trajectory = trajectory
        self._bodies: list[int] = []
        self._normals: list[Array] = []
        left_out = []
        held = _held(trajectory)
        at_start, moved = _touched_at_start(trajectory, held), STATE_SET in _notes(trajectory)
        for body in held:
            normal = _only_normal(trajectory, body, at_start[body], moved)
            if normal is None:
                left_out.append(str(trajectory.scene.bodies[body].name))
            elif normal.any():
                self._bodies.append(body)
                self._normals.append(normal)
        self.left_out = tuple(left_out)

    def __bool__(self) -> bool:
        """Whether there is any that is known."""
        return bool(self._bodies)

    def __call__(self, times: Array, side: str) -> Array:
        """At times (T,) [s], after or before what happens then."""
        found = np.zeros(len(times))
        if not self._bodies or not len(times):
            return found
        run = self._trajectory
        velocity, before = (
            run.sample(times, side=side).velocity,
            run.sample(run.start_time, side="left").velocity,
        )
        records = run.impacts
        for body, normal in zip(self._bodies, self._normals, strict=True):
            gained = (velocity[:, body] - before[body]) @ normal
            own = (records["first"] == body) | (records["second"] == body)
            given = np.concatenate([[0.0], np.cumsum(records["normal_impulse"][own])])
            known = given[np.searchsorted(records["time"][own], times, side=_side(side))]
            pulled = float(run.model.gravity @ normal) * (times - run.start_time)
            found += run.model.mass[body] * (gained - pulled) - known
        return found


def _side(side: str) -> Any:
    """What counts as over at a time, as `np.searchsorted` has it."""
    return "left" if side == "left" else "right"


def _held(trajectory: "Trajectory") -> list[int]:
    """Bodies that may have had a lasting contact: their motion was not always free flight."""
    pieces, movable = trajectory.log.pieces, trajectory.model.movable
    held = (pieces.column("terms") > 0) | (pieces.column("kind") == STILL)
    return [body for body in np.unique(pieces.column("body")[held]).tolist() if movable[body]]


def _only_normal(trajectory: "Trajectory", body: int, at_start: set[int], moved: bool) -> Array | None:
    """The one normal of all that a body touches, `at_start` or later, zero where it touches nothing; None where its
    forces do not follow from its momentum, as where a user has `moved` bodies."""
    model, scene = trajectory.model, trajectory.scene
    contacts = trajectory.log.event_contacts
    first, second = contacts.column("first"), contacts.column("second")
    own = (first == body) | (second == body)
    touched = set(np.where(first == body, second, first)[own].tolist()) | at_start
    if not touched:
        return np.zeros(3)
    jointed = any(body in (joint.body, joint.base) for joint in scene.joints)
    pushed = bool(trajectory.force_functions) or bool(model.drag[body].any())
    planes = [model.planes[other] if other >= 0 else None for other in touched]
    if jointed or pushed or moved or any(plane is None for plane in planes):
        return None
    normals = np.array([plane[0] for plane in planes if plane is not None])
    return normals[0] if (normals == normals[0]).all() else None


def _touched_at_start(trajectory: "Trajectory", bodies: list[int]) -> dict[int, set[int]]:
    """What each of these bodies touches when the run begins, of which no event tells."""
    model = trajectory.model
    states = trajectory._packed(np.array([trajectory.start_time]), "right")[0]
    found: dict[int, set[int]] = {body: set() for body in bodies}
    for pair in collision_pairs(model):
        if not (pair[0] in found or pair[1] in found):
            continue
        if pair_gap(model, pair, states)[1] <= 10.0 * OVERLAP * pair_size(model, pair):
            for body, other in (pair, pair[::-1]):
                if body in found:
                    found[body].add(int(other))
    return found


def _notes(trajectory: "Trajectory") -> list[str]:
    """Notes of a user's events."""
    numbers = np.flatnonzero(trajectory.event_kinds == "user")
    return [trajectory.events[number].note for number in numbers.tolist()]
