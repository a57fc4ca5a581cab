"""The engine: find the next event, advance to it, let the law resolve it, record."""

import math
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..bodies import Scene
from ..impact_laws import AnitescuPotra, ImpactLaw, ImpactProblem
from ..progress import ProgressBar
from . import broad_kernels, kernels
from .collision import Pair, collision_pairs, contact_jacobian, contact_patch, pair_gap, pair_size
from .event import ContactPatch, Event, EventKind
from .lasting_contact import (
    ContactForceError,
    ContactMode,
    ContactMotion,
    ContactSet,
    contact_mode,
    hold_closed,
    is_at_rest,
    slip_now,
)
from .state import Array, Model, State
from .tolerances import (
    ACCUMULATION_EXCURSION,
    ACCUMULATION_IMPACTS,
    APPROACH_SPEED,
    CHATTER_CHANGES,
    CHATTER_TIME,
    CONTACT_GAP,
    LASTING_SPEED,
    OVERLAP,
)
from .trajectory import RunStatus, Trajectory

_LONGEST_PIECE = 4.0
_EVENTS_WITHOUT_PROGRESS = 200
_RENEWALS_WITHOUT_EVENT = 100_000


@dataclass(eq=False)
class _Motion:
    """Current piece of one body."""

    start: float
    end: float
    coefficients: Array
    bounds: Array
    island: "_Island | None" = None


@dataclass(eq=False)
class _Island:
    """Bodies that move together in one contact mode."""

    motion: ContactMotion
    next_span: float
    change: EventKind | None = None
    held_points: dict[Pair, NDArray[np.bool_]] = field(default_factory=dict)
    held_pairs: set[Pair] = field(default_factory=set)


class Simulator:
    """Event-driven simulation of a scene under one impact law.

    Parameters
    ----------
    scene : what exists at the start
    law : how impacts are resolved, such as ``SequentialReflection()``
    seed : feeds the law's random generator
    record : path of an HDF5 recording written while the run goes, or None
    event_limit : events after which a run stops with a status

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
        self.time = 0.0
        self.trajectory = Trajectory(scene, law.name, seed, self.model)
        self._rng = np.random.default_rng(seed)
        self._pairs = collision_pairs(self.model)
        self._number_of = {pair: number for number, pair in enumerate(self._pairs)}
        self._pair_array = np.array(self._pairs, dtype=np.int64).reshape(-1, 2)
        self._pairs_of = [
            np.flatnonzero((self._pair_array == body).any(axis=1)) for body in range(self.model.count)
        ]
        self._bounding = _bounding(self.model)
        states = self.model.initial_states()
        self._refuse_overlap(states)
        self._material = {pair: scene.pair_material(*pair) for pair in self._pairs}
        self._next = np.full(len(self._pairs), np.inf)
        self._only_bound = np.zeros(len(self._pairs), dtype=bool)
        self._history: dict[Pair, deque[tuple[float, Array]]] = {}
        self._changes: dict[int, deque[float]] = {}
        self._accumulated_at = -math.inf
        self._next_span = np.full(self.model.count, np.inf)
        self._stalled = 0
        count = self.model.count
        self._motions: list[_Motion] = []
        self._coefficients = np.zeros((count, 13, kernels.TERMS))
        self._starts, self._ends, self._motion_bounds = np.zeros(count), np.zeros(count), np.zeros((count, 5))
        self._remark_ignored_properties()
        for body in range(self.model.count):
            motion = self._free_motion(body, states[body])
            self._motions.append(motion)
            self._start_piece(body, states[body], motion)
        self._recorder = None
        if record is not None:
            from .recording import Recorder

            self._recorder = Recorder(self.trajectory, Path(record))
        movable = set(np.flatnonzero(self.model.movable).tolist())
        self._settle(movable, self._states())

    # -- what a user calls ---------------------------------------------------------------------------------

    @property
    def state(self) -> State:
        """All bodies now."""
        return State.unpacked(self.time, self._states())

    def step(self, duration: float) -> State:
        """Advance by exactly `duration` [s], through every event inside, and return the state."""
        if not (math.isfinite(duration) and duration >= 0.0):
            raise ValueError(f"duration: expected a finite number of seconds >= 0, got {duration!r}")
        self.run(self.time + duration, stop_at_rest=False)
        return self.state

    def step_event(self) -> Event | None:
        """Advance to just after the next event and return it; None where nothing will happen any more."""
        known = len(self.trajectory._events)
        renewals = 0
        while not self._at_rest() and len(self.trajectory._events) == known and self._can_go_on():
            if all(self._never_meet(pair) for pair in self._pairs):
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
        if not (math.isfinite(until) and until >= self.time):
            raise ValueError(f"until: expected a finite time of at least {self.time:g} s, got {until!r}")
        bar = ProgressBar(self.time, until, "simulating") if progress else None
        whole = False
        try:
            while self.time < until and self._can_go_on():
                if stop_at_rest and self._at_rest():
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

    # -- the loop ------------------------------------------------------------------------------------------

    def _advance(self, until: float) -> None:
        """One turn of the loop: the next event, or the next renewal of a piece, or `until`."""
        renewal = float(self._ends.min())
        pair, impact = self._earliest_pair(min(renewal, until))
        following = min(impact, renewal, until)
        self._stalled = 0 if following > self.time else self._stalled + 1
        self.time = following
        if impact <= min(renewal, until):
            self._impact(pair)
        elif renewal <= until:
            self._renew()
        if self._recorder:  # only now is the motion after the event known
            self._recorder.event_added()

    def _impact(self, index: int) -> None:
        """Everything that touches now, through the law, into new motion."""
        states = self._states()
        patch, touched = self._patch_around(self._pairs[index], states)
        jacobian, inverse_mass, velocity, bodies = contact_jacobian(self.model, patch, states)
        if (jacobian @ velocity)[0::3].min() >= -APPROACH_SPEED:  # rounding brought them here: no impact
            self._settle({int(b) for b in bodies} | touched, states)
            return
        problem = self._problem(patch, jacobian, inverse_mass, velocity)
        outcome = self.law.resolve(problem, self._rng)
        after = self._with_velocity(states, bodies, problem.generalized_velocity(outcome))
        note, after, patch_of_rest = self._accumulation(patch, bodies, states, after)
        self._add_event(Event(self.time, EventKind.IMPACT, patch, problem, outcome, note))
        if not outcome.resolved:
            self._fail(
                RunStatus.LAW_FAILED, f"{outcome.status.value}: {outcome.message or outcome.status.advice}"
            )
            return
        self._settle({int(b) for b in bodies} | touched, after, patch_of_rest)

    def _renew(self) -> None:
        """New pieces for bodies whose pieces end now; a mode that ended is an event."""
        states = self._states()
        due = {b for b, motion in enumerate(self._motions) if motion.end <= self.time}
        islands = {id(m.island): m.island for b in due if (m := self._motions[b]).island is not None}
        changed: set[int] = set()
        for island in islands.values():
            assert island is not None
            members = {int(b) for b in island.motion.mode.contacts.bodies}
            present = {b for b in members if self._motions[b].island is island}
            due |= present
            if present != members:  # an impact has taken some of its bodies out of it
                changed |= present
                due -= present
                continue
            if island.change is not None:
                self._count_change(members)
                self._add_event(
                    Event(self.time, island.change, island.motion.mode.contacts.patch, None, None)
                )
                changed |= members
            elif island.motion.mode.forced:
                changed |= members
            else:
                try:
                    self._continue_island(island, states, members)
                except ContactForceError as error:
                    self._fail(RunStatus.CONTACT_FAILED, str(error))
                    return
            due -= members
        for body in due:
            self._start_piece(body, states[body], self._free_motion(body, states[body]))
        self._predict(due)
        if changed:
            self._settle(changed, states)

    def _count_change(self, members: set[int]) -> None:
        for body in members:
            self._changes.setdefault(body, deque(maxlen=CHATTER_CHANGES)).append(self.time)

    def _chatters(self, members: set[int]) -> bool:
        """Whether the contact mode of these bodies has changed too often just now."""
        pasts = [self._changes[body] for body in members if body in self._changes]
        return any(len(past) == CHATTER_CHANGES and self.time - past[0] < CHATTER_TIME for past in pasts)

    # -- impact problem ------------------------------------------------------------------------------------

    def _patch_around(self, pair: Pair, states: Array) -> tuple[ContactPatch, set[int]]:
        """All contacts connected to a pair through movable bodies that touch, in the order of the pairs."""
        touched: set[int] = set()
        frontier = {body for body in pair if self.model.movable[body]}
        found = {pair}
        while frontier:
            touched |= frontier
            following: set[int] = set()
            for body in sorted(frontier):
                for k in self._near(body, states, CONTACT_GAP):
                    other = self._pairs[k]
                    if other in found:
                        continue
                    if pair_gap(self.model, other, states)[1] <= CONTACT_GAP * pair_size(self.model, other):
                        found.add(other)
                        following |= {b for b in other if self.model.movable[b]}
            frontier = following - touched
        ordered = sorted(found, key=self._number_of.__getitem__)
        return contact_patch(self.model, ordered, states), touched

    def _near(self, body: int, states: Array, tolerance: float) -> list[int]:
        """Pairs of a body whose bounding spheres come within `tolerance` of their size."""
        which = self._pairs_of[body]
        first, second = self._pair_array[which].T
        size, is_plane, normal, offset = self._bounding
        reach = size[first] + tolerance * np.maximum(size[first], size[second])
        away = states[first, :3] - states[second, :3]
        gap = np.sqrt((away * away).sum(axis=1)) - size[second]
        heights = (normal[second] * states[first, :3]).sum(axis=1) - offset[second]
        return which[np.where(is_plane[second], heights, gap) <= reach].tolist()

    def _pair_coefficients(self, patch: ContactPatch) -> tuple[Array, Array]:
        materials = [self._material[(int(a), int(b))] for a, b in patch.bodies]
        return np.array([m.friction for m in materials]), np.array([m.restitution for m in materials])

    def _problem(
        self, patch: ContactPatch, jacobian: Array, inverse_mass: Array, velocity: Array
    ) -> ImpactProblem:
        friction, restitution = self._pair_coefficients(patch)
        return ImpactProblem.from_generalized(
            None,
            jacobian,
            velocity,
            friction=friction,
            restitution=restitution,
            dim=3,
            inverse_mass=inverse_mass,
        )

    def _with_velocity(self, states: Array, bodies: NDArray[np.int64], velocity: Array) -> Array:
        after = states.copy()
        for k, body in enumerate(bodies):
            rotation = kernels.rotation_matrix(states[body, 3:7])
            after[body, 7:10] = velocity[6 * k : 6 * k + 3]
            after[body, 10:13] = rotation.T @ velocity[6 * k + 3 : 6 * k + 6]
        return after

    def _accumulation(
        self, patch: ContactPatch, bodies: NDArray[np.int64], states: Array, after: Array
    ) -> tuple[str, Array, ContactPatch | None]:
        """Recognise bounces that follow ever faster, and sum the rest of their infinite sequence.

        Bounces of a pair whose intervals shrink by the ratio r end after d r/(1 - r), d being the last
        interval. Once they stay below ACCUMULATION_EXCURSION the contact is closed for good.
        """
        accumulated: list[Pair] = []
        slow = math.inf
        remaining = 0.0
        for pair in sorted({(int(a), int(b)) for a, b in patch.bodies}):
            past = self._history.setdefault(pair, deque(maxlen=ACCUMULATION_IMPACTS + 1))
            chosen = patch.chosen((patch.bodies == pair).all(axis=1))
            past.append((self.time, self._in_body_axes(pair[0], chosen.point, states)))
            if len(past) <= ACCUMULATION_IMPACTS:
                continue
            intervals = np.diff(np.array([when for when, _ in past]))
            points = np.concatenate([where for _, where in past])
            speed = self._normal_speed(pair, points, chosen.normal[0], after)
            limit = 8 * ACCUMULATION_EXCURSION * pair_size(self.model, pair) / intervals.max()
            if speed > limit:
                continue
            slow = min(slow, limit)
            accumulated.append(pair)
            ratio, earlier = (
                intervals[-1] / max(intervals[-2], 1e-300),
                intervals[-2] / max(intervals[-3], 1e-300),
            )
            if ratio < 1.0 and abs(ratio - earlier) <= 1e-3 * ratio:
                remaining = max(remaining, intervals[-1] * ratio / (1.0 - ratio))
        if not accumulated:
            return "", after, None
        for pair in accumulated:
            self._history[pair].clear()
        closing = contact_patch(self.model, accumulated, states, 2 * ACCUMULATION_EXCURSION)
        settled = self._closed_for_good(closing, slow, after)
        if settled is None:
            return "", after, None
        self._accumulated_at = float(self.time + remaining)
        note = f"infinitely many impacts accumulate at t = {self._accumulated_at!r} s"
        return note, settled, closing

    def _closed_for_good(self, closing: ContactPatch, slow: float, states: Array) -> Array | None:
        """States at the limit of an accumulation: `slow` contacts without normal velocity, nearest in energy.

        Where friction acts, slip of the size of the bounces has vanished with them. A plastic impact would
        not do: a body that rocks from one contact to the other leaves each of them. Other contacts that this
        makes approach take a plastic impact; None where that has no solution.
        """
        jacobian, inverse_mass, velocity, moving = contact_jacobian(self.model, closing, states)
        speeds = np.abs(jacobian @ velocity).reshape(-1, 3)
        friction, _ = self._pair_coefficients(closing)
        closes = speeds[:, 0] <= slow
        sticks = closes & (friction > 0.0) & (speeds[:, 1:].max(axis=1) <= 10.0 * slow)
        rows = jacobian[np.stack([closes, sticks, sticks], axis=1).ravel()]
        push = rows @ inverse_mass
        impulse = np.linalg.lstsq(rows @ push.T, -rows @ velocity, rcond=1e-11)[0]
        settled = self._with_velocity(states, moving, velocity + push.T @ impulse)
        patch, _ = self._patch_around((int(closing.bodies[0, 0]), int(closing.bodies[0, 1])), settled)
        jacobian, inverse_mass, velocity, moving = contact_jacobian(self.model, patch, settled)
        if (jacobian @ velocity)[0::3].min(initial=0.0) >= -LASTING_SPEED:
            return settled
        problem = self._problem(patch, jacobian, inverse_mass, velocity)
        outcome = AnitescuPotra().resolve(problem)
        if not outcome.resolved:
            return None
        return self._with_velocity(settled, moving, problem.generalized_velocity(outcome))

    def _in_body_axes(self, body: int, points: Array, states: Array) -> Array:
        return (points - states[body, :3]) @ kernels.rotation_matrix(states[body, 3:7])

    def _normal_speed(self, pair: Pair, points: Array, normal: Array, states: Array) -> float:
        """Fastest relative motion along the normal of points in the axes of the first body [m/s]."""
        where, speeds = kernels.place_points(states[pair[0]], points)
        second = states[pair[1]]
        turning = kernels.rotation_matrix(second[3:7]) @ second[10:13]
        speeds = speeds - second[7:10] - np.cross(turning, where - second[:3])
        return float(np.abs(speeds @ normal).max())

    # -- motion between events -----------------------------------------------------------------------------

    def _settle(self, bodies: set[int], states: Array, closing: ContactPatch | None = None) -> None:
        """New motion of bodies from these states: in contact where contacts press, else in free flight."""
        free = set(bodies)
        for patch in self._resting_patches(bodies, states, closing):
            friction, _ = self._pair_coefficients(patch)
            contacts = ContactSet.of_patch(self.model, patch, friction, states)
            members = {int(b) for b in contacts.bodies}
            try:
                mode = contact_mode(contacts, states[contacts.bodies], self._chatters(members))
                if mode is None:
                    continue
                island = _Island(ContactMotion(mode), next_span=min(self._next_span[b] for b in members))
                self._hold(island)
                self._continue_island(island, states, members, starting=True)
            except ContactForceError as error:
                self._fail(RunStatus.CONTACT_FAILED, str(error))
                return
            free -= members
            bodies = bodies | members
        for body in sorted(free):
            self._start_piece(body, states[body], self._free_motion(body, states[body]))
        self._predict(bodies)

    def _resting_patches(
        self, bodies: set[int], states: Array, closing: ContactPatch | None
    ) -> list[ContactPatch]:
        """Touching contacts that do not separate, one patch an island of connected movable bodies."""
        seen: set[int] = set()
        patches = []
        for body in sorted(bodies):
            if body in seen or not self.model.movable[body]:
                continue
            found: set[Pair] = set()
            members = {body}
            frontier = [body]
            while frontier:
                current = frontier.pop()
                for k in self._near(current, states, 2 * ACCUMULATION_EXCURSION):
                    pair = self._pairs[k]
                    if pair in found:
                        continue
                    tolerance = CONTACT_GAP
                    if closing is not None and np.any((closing.bodies == pair).all(axis=1)):
                        tolerance = 2 * ACCUMULATION_EXCURSION
                    if pair_gap(self.model, pair, states)[1] > tolerance * pair_size(self.model, pair):
                        continue
                    found.add(pair)
                    for other in pair:
                        if self.model.movable[other] and other not in members:
                            members.add(other)
                            frontier.append(other)
            seen |= members
            ordered = sorted(found, key=self._number_of.__getitem__)
            parts = []
            for pair in ordered:
                wide = closing is not None and np.any((closing.bodies == pair).all(axis=1))
                part = contact_patch(
                    self.model, [pair], states, 2 * ACCUMULATION_EXCURSION if wide else CONTACT_GAP
                )
                if len(part):
                    jacobian, _, velocity, _ = contact_jacobian(self.model, part, states)
                    part = part.chosen((jacobian @ velocity)[0::3] <= LASTING_SPEED)
                parts.append(part)
            parts = [part for part in parts if len(part)]
            if parts:
                patches.append(ContactPatch.joined(parts))
        return patches

    def _hold(self, island: _Island) -> None:
        """Points and pairs whose gaps the contact mode keeps at zero are not looked for as impacts."""
        patch = island.motion.mode.held
        for (a, b), (point, _) in zip(patch.bodies, patch.feature_index, strict=True):
            pair = (int(a), int(b))
            if self.model.planes[pair[1]] is not None:
                shape = self.model.shapes[pair[0]]
                assert shape is not None
                mask = island.held_points.setdefault(pair, np.zeros(len(shape.points), dtype=bool))
                mask[point] = True
            else:
                island.held_pairs.add(pair)

    def _continue_island(
        self, island: _Island, states: Array, members: set[int], starting: bool = False
    ) -> None:
        """The next step of an island in its mode; a resting island stays where it is."""
        mode: ContactMode = island.motion.mode
        contacts = mode.contacts
        packed = hold_closed(mode, states[contacts.bodies], starting)
        at_rest = is_at_rest(contacts, packed)
        if at_rest:
            packed[:, 7:13] = 0.0
            span, change = math.inf, None
            coefficients = np.zeros((len(packed), 13, kernels.TERMS))
            coefficients[..., 0] = packed
        else:
            island.motion = ContactMotion(slip_now(mode, packed))
            step = island.motion.step(packed, _LONGEST_PIECE, island.next_span)
            island.next_span = step.next_span
            for body in contacts.bodies:
                self._next_span[body] = island.next_span
            span, change, coefficients = step.span, step.change, step.coefficients
        island.change = change
        for row, body in enumerate(contacts.bodies):
            bounds = (
                np.zeros(5)
                if at_rest
                else kernels.motion_bounds(
                    coefficients[row], span, self.model.inertia[body], self.model.inverse_inertia[body], False
                )
            )
            motion = _Motion(self.time, self.time + span, coefficients[row], bounds, island)
            self._start_piece(int(body), packed[row], motion)
        self._predict(members)

    def _free_motion(self, body: int, state: Array) -> _Motion:
        if not self.model.movable[body]:
            coefficients = np.zeros((13, kernels.TERMS))
            coefficients[:, 0] = state
            return _Motion(self.time, math.inf, coefficients, np.zeros(5))
        inertia, inverse = self.model.inertia[body], self.model.inverse_inertia[body]
        coefficients, span = kernels.free_piece(state, self.model.gravity, inertia, inverse)
        span = min(span, _LONGEST_PIECE)
        bounds = kernels.motion_bounds(coefficients, span, inertia, inverse, True)
        return _Motion(self.time, self.time + span, coefficients, bounds)

    def _start_piece(self, body: int, state: Array, motion: _Motion) -> None:
        self._motions[body] = motion
        self._coefficients[body] = motion.coefficients
        self._starts[body], self._ends[body] = motion.start, motion.end
        self._motion_bounds[body] = motion.bounds
        self._record_piece(body, state)

    def _record_piece(self, body: int, state: Array) -> None:
        motion = self._motions[body]
        in_contact = motion.island is not None or not self.model.movable[body]
        polynomial = None
        if in_contact:
            used = np.flatnonzero(motion.coefficients.any(axis=0))
            polynomial = motion.coefficients[:, : (used[-1] + 1 if len(used) else 1)]
        self.trajectory.motions[body].append(motion.start, state, self.model.gravity, polynomial)

    def _states(self) -> Array:
        return kernels.state_of_all(self._coefficients, self._starts, self.time)

    # -- predictions ---------------------------------------------------------------------------------------

    def _predict(self, bodies: set[int]) -> None:
        """Predict again the pairs of bodies that move differently now: at first only when they can meet."""
        if not bodies or not len(self._pairs):
            return
        which = np.unique(np.concatenate([self._pairs_of[body] for body in sorted(bodies)]))
        times = np.empty(len(which))
        broad_kernels.earliest_meetings(
            which, self._pair_array, self._states(), self._ends, self._motion_bounds, *self._bounding, self.time,
            times,
        )  # fmt: skip
        self._next[which] = times
        self._only_bound[which] = np.isfinite(times)

    def _earliest_pair(self, until: float) -> tuple[int, float]:
        """The pair that touches first and when; a lower bound is followed up only where it comes before `until`."""
        while len(self._next):
            index = int(np.argmin(self._next))
            when = float(self._next[index])
            if when > until or not self._only_bound[index]:
                return index, when
            self._next[index] = self._next_impact(self._pairs[index])
            self._only_bound[index] = False
        return -1, math.inf

    def _next_impact(self, pair: Pair) -> float:
        a, b = pair
        first, second = self._motions[a], self._motions[b]
        span = min(first.end, second.end) - self.time
        if not np.isfinite(span):
            return math.inf  # two bodies at rest
        island = first.island if first.island is second.island or self.model.planes[b] is not None else None
        shape = self.model.shapes[a]
        assert shape is not None
        plane = self.model.planes[b]
        if plane is not None:
            held = island.held_points.get(pair) if island else None
            ignored = held if held is not None else np.zeros(len(shape.points), dtype=bool)
            found, point = kernels.half_space_impact(
                first.coefficients, first.end - first.start, first.bounds, shape.points, shape.radius, ignored,
                plane[0], plane[1], pair_size(self.model, pair), shape.reach,
            )  # fmt: skip
            if point == -2:
                self._fail(
                    RunStatus.NO_PROGRESS, f"the search for the next impact of pair {pair} did not end"
                )
            return first.start + found
        held_by = first.island or second.island
        if held_by is not None and pair in held_by.held_pairs:
            return math.inf
        other = self.model.shapes[b]
        assert other is not None
        found, hit = kernels.pair_impact(
            first.coefficients, first.bounds, shape.points, shape.normals, shape.edges,
            shape.radius, shape.reach,
            second.coefficients, second.bounds, other.points, other.normals, other.edges,
            other.radius, other.reach,
            self.time - first.start, self.time - second.start, span, pair_size(self.model, pair),
        )  # fmt: skip
        if hit == -2:
            self._fail(RunStatus.NO_PROGRESS, f"the search for the next impact of pair {pair} did not end")
        return self.time + found

    def _never_meet(self, pair: Pair) -> bool:
        """Whether two bodies in free flight can be seen to stay apart for all time."""
        a, b = pair
        first, second = self._motions[a], self._motions[b]
        if first.island is not None or second.island is not None:
            return False
        states = self._states()
        here, there = states[a], states[b]
        fall = self.model.gravity * (float(self.model.movable[a]) - float(self.model.movable[b]))
        plane = self.model.planes[b]
        if plane is not None:
            normal, offset = plane
            gap = float(normal @ here[:3]) - offset - self.model.size[a]
            return _stays_positive(gap, float(normal @ here[7:10]), 0.5 * float(normal @ fall))
        if fall.any():
            return False
        apart, relative = here[:3] - there[:3], here[7:10] - there[7:10]
        square = float(relative @ relative)
        nearest = apart - relative * (min(0.0, float(apart @ relative)) / square if square > 0.0 else 0.0)
        return float(np.linalg.norm(nearest)) > self.model.size[a] + self.model.size[b]

    # -- how a run goes on and ends ------------------------------------------------------------------------

    def _at_rest(self) -> bool:
        """Whether every body rests and no accumulation is still to come."""
        resting = all(
            motion.end == math.inf or (not self.model.gravity.any() and not motion.coefficients[7:13].any())
            for motion in self._motions
        )
        if resting and self.trajectory.rest_time is None:
            self.trajectory.rest_time = max(self.time, self._accumulated_at)
        elif not resting:
            self.trajectory.rest_time = None
        return resting

    def _can_go_on(self) -> bool:
        if self.trajectory.status not in (RunStatus.UNFINISHED, RunStatus.REACHED_END, RunStatus.AT_REST):
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
        if trajectory.status in (RunStatus.UNFINISHED, RunStatus.REACHED_END, RunStatus.AT_REST):
            ended = RunStatus.AT_REST if resting else RunStatus.REACHED_END
            trajectory.status = ended if whole else RunStatus.UNFINISHED
            trajectory.message = trajectory.status.advice
        if self._recorder:
            self._recorder.flush(final=whole)

    def _add_event(self, event: Event) -> None:
        self.trajectory.add_event(event)
        self.trajectory.end_time = self.time

    def _refuse_overlap(self, states: Array) -> None:
        bodies = self.model.scene.bodies
        for pair in self._pairs:
            _, gap = pair_gap(self.model, pair, states)
            if gap < -OVERLAP * pair_size(self.model, pair):
                first, second = (bodies[b].name for b in sorted(pair))
                raise ValueError(
                    f"position: bodies {first!r} and {second!r} overlap by {-gap:.6g} m at the start; "
                    "move them apart"
                )

    def _remark_ignored_properties(self) -> None:
        ignored = [
            word
            for word, honoured, values in (
                ("friction", self.law.honours_friction, [m.friction for m in self._material.values()]),
                (
                    "restitution",
                    self.law.honours_restitution,
                    [m.restitution for m in self._material.values()],
                ),
            )
            if not honoured and any(values)
        ]
        if ignored:
            self.trajectory.remarks.append(f"the law {self.law.name} ignores {' and '.join(ignored)}")


def _bounding(model: Model) -> tuple[Array, NDArray[np.bool_], Array, Array]:
    """What the broad phase needs of every body: radius, whether it is a half-space, its normal and offset."""
    is_plane = np.array([plane is not None for plane in model.planes])
    normal, offset = np.zeros((model.count, 3)), np.zeros(model.count)
    for body, plane in enumerate(model.planes):
        if plane is not None:
            normal[body], offset[body] = plane
    return model.size, is_plane, normal, offset


def _stays_positive(value: float, rate: float, half_curvature: float) -> bool:
    """Whether value + rate t + half_curvature t^2 > 0 for all t >= 0."""
    if value <= 0.0 or half_curvature < 0.0 or (half_curvature == 0.0 and rate < 0.0):
        return False
    return rate >= 0.0 or rate * rate < 4.0 * half_curvature * value
