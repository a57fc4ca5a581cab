"""Convex bodies among fixed ones, moved by time steps of one impact each.

Between two steps every body flies without forces, which is exact also for its turning. At a step gravity's
impulse is added to the velocities, and the law, by relaxation over all contacts that are closed or could
close within the step, changes them so that no contact closes by more than its gap (Preclik, Eibl & Rüde,
section 3.1, where the gap over the step is added to the normal velocity). Relaxation begins with the impulses
that the same features had a step before.

That was chosen by trying (the first hundred stones of `carom demo pile`, 1.6 s in steps of 2 ms, 10 s on one core).
Stopping contacts where they are instead of where their gap ends takes 21 s and leaves stones that fall shut
and open again for ever, at 0.1 m/s; with the gaps they come to rest at 4e-5 m/s. Without the impulses of the
step before it takes 26 s, and half of the steps instead of 7 % use up their sweeps. Bodies are grown by SKIN,
because hulls that overlap are slower to search for contacts than hulls that are barely apart: without it
takes 13 s, and 3 mm of overlap.

Where the impact makes bodies so fast that they could reach others, contacts are looked for again, and all are
solved anew (a ball that another one hit went through a plate).

What it costs: a step is of first order. A body that turns quickly may reach into another where no contact was
expected: 0.8 mm for these hundred, 4 mm for three hundred stones of 36 to 60 mm that meet at up to 8 m/s;
steps half as long bring 2.9 mm to 1.8 mm for a hundred and fifty. Overlaps of the grown shapes are parted at
no more than half the speed that gravity gives in a step, so that a contact that carries weight gains no
energy, and at rest no two hulls overlap.
"""

import copy
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numba.typed import List
from numpy.typing import NDArray
from scipy.spatial import KDTree

from ...bodies.rotation import rotation_matrices
from ...impact_laws import ContactNetwork, MaximumDissipation, relaxation_kernels
from ..collision.collision_shape import CollisionShape
from ..state import Model
from ..tolerances import OVERLAP
from . import convex_touches_kernels
from .errors import StepTooLongError
from .near_pairs import NearPairs
from .scene_spheres import surfaces_of
from .step_log import BODY_STEP

Array = NDArray[np.float64]

SKIN = 0.005
"""Of its size, by which every body that moves is grown."""
FLAT = 0.01
"""Of the larger size, but of no more than twice the smaller one: features that are level within it touch together,
such as corners of a face that comes down. Else small bodies on large ones would touch with their far side."""
FLATTEST = 0.03
"""Of the same: up to so much where the bodies may close by it within the step. 0.05 and 0.1 leave less overlap of
boxes, but hulls of many faces overlap more, and do not come to rest."""
CLEAR = 0.002
"""Of the same, apart from each other at which contacts of bodies are looked for: where they touch costs more."""
PARTING = 0.5
"""Of the speed that gravity gives in a step, at which bodies that overlap part at most."""
DEEPEST = 0.2
"""Of the smaller of two sizes, by which they may overlap."""
LARGE = 4.0
"""Median sizes, from which on a body is looked at with every other, and not by cells."""
LARGEST = 1e150
"""Whose square is a number."""
ROUNDS = 4
"""How often contacts are looked for in a step, at most."""
_SPREAD, _SHIFT = np.uint64(0x9E3779B97F4A7C15), np.uint64(32)


@dataclass(eq=False)
class Strike:
    """The impact of a step.

    row : of the log, but for the time
    keys, places : of its contacts, as `contacts_within_reach` has them
    velocity : (moving, 6) after it, world axes
    network, impulse : what the law was asked, and its impulses (nc, 3); None and none without contacts
    gained : kinetic energy [J] after it minus that before gravity's impulse
    """

    row: Any
    keys: NDArray[np.int64]
    places: Array
    velocity: Array
    network: ContactNetwork | None = None
    impulse: Array = field(default_factory=lambda: np.zeros((0, 3)))
    gained: float = 0.0


class ConvexSteps:
    """The convex bodies of a model that move, from one step [s] to the next under a law.

    moving, fixed : which bodies of the model these are, and which convex ones stand still
    states : (moving, 13) packed, at the time to which the last step went
    active : (moving,) which of them steps move; the others are as if they were not there
    owed : (moving,) [s] of gravity's pull that the next step gives beside its own
    parting : (moving,) which of them are parted to their skins, however near they were when steps took them
    """

    def __init__(self, model: Model, law: MaximumDissipation, step: float):
        self.law, self.step = law, step
        self.moving = np.flatnonzero(model.movable)
        planes = [body for body, plane in enumerate(model.planes) if plane is not None]
        self._planes = np.array([*planes, -1], dtype=np.int64)
        self.fixed = np.setdiff1d(np.flatnonzero(~model.movable), planes)
        self._convex = np.concatenate([self.moving, self.fixed])
        self.states = model.initial_states()[self.moving]
        self._standing = model.initial_states()[self.fixed]
        self._gravity, self._mass = model.gravity, model.mass[self.moving]
        self._inertia = model.inertia[self.moving]
        self._inverse_inertia = model.inverse_inertia[self.moving]
        self.size = model.size[self._convex]
        self._skin = np.where(model.movable[self._convex], SKIN * self.size, 0.0)
        shapes = [model.shapes[body] for body in self._convex]
        self._shapes = _typed(
            shape._replace(radius=shape.radius + skin)
            for shape, skin in zip(shapes, self._skin.tolist(), strict=True)
            if shape is not None
        )
        numbered = [plane for plane in model.planes if plane is not None]
        self._normals = np.array([normal for normal, _ in numbered]).reshape(-1, 3)
        self._offsets = np.array([offset for _, offset in numbered], dtype=np.float64)
        self._names = [str(model.scene.bodies[body].name) for body in self._convex]
        self._plane_names = [str(model.scene.bodies[body].name) for body in planes]
        self._boxes = self._boxes_of_fixed(model)
        materials, self._friction = surfaces_of(model.scene, ())
        kinds = np.array([materials.index(body.material) for body in model.scene.bodies], dtype=np.int64)
        self._kind, self._plane_kind = kinds[self._convex], kinds[planes]
        self._tables = np.empty((1024, 6), np.int64), np.empty((1024, 7))
        self._deepest = np.zeros(4)
        self._known = np.zeros(0, np.uint64), np.zeros((0, 3))
        self.active, self.owed = np.ones(len(self.moving), bool), np.zeros(len(self.moving))
        self.parting, self._fresh = np.zeros(len(self.moving), bool), np.zeros(len(self.moving), bool)
        self._nearer = NearPairs()

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_shapes": list(self._shapes)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state | {"_shapes": _typed(state["_shapes"])})

    def copy(self) -> "ConvexSteps":
        """The same, which may go on otherwise."""
        copied = copy.copy(self)
        copied.states, copied.active, copied.owed = self.states.copy(), self.active.copy(), self.owed.copy()
        copied.parting, copied._fresh = self.parting.copy(), self._fresh.copy()
        copied._tables = self._tables[0].copy(), self._tables[1].copy()
        copied._deepest = self._deepest.copy()
        return copied

    def forget(self) -> None:
        """The impulses of the last step say nothing of the next one: states were set."""
        self._known = np.zeros(0, np.uint64), np.zeros((0, 3))

    def refuse_overlap(self, when: str) -> None:
        """ValueError, which says `when`, where bodies overlap."""
        self._contacts(self.step, np.zeros((len(self.states), 6)))
        share, gap, first, second = self._deepest.tolist()
        if share < -OVERLAP:
            raise ValueError(
                f"position: bodies {self._name(first)!r} and {self._name(second)!r} overlap by {-gap:.6g} m "
                f"{when}; move them apart, or let scene.resolve_overlaps() do it"
            )

    def lost(self) -> str | None:
        """The name of a body that has come where squares of lengths are no numbers, if there is one."""
        lost = np.flatnonzero(~(np.abs(self.states) < LARGEST).all(axis=1))
        return self._names[lost[0]] if len(lost) else None

    def take(self, bodies: NDArray[np.int64], states: Array) -> None:
        """Let steps move more of the bodies, by number among those that move, from packed states (k, 13) on."""
        self.states[bodies] = states
        self.active[bodies] = self._fresh[bodies] = True
        self.owed[bodies], self.parting[bodies] = 0.0, False

    def leave(self, bodies: NDArray[np.int64]) -> None:
        """Let steps move these bodies no more."""
        self.active[bodies], self.states[bodies, 7:13] = False, 0.0

    def touching(self) -> NDArray[np.int64]:
        """Keys, as `contacts_within_reach` has them, of the contacts of bodies that are near each other now."""
        return self._contacts(self.step, np.zeros((len(self.states), 6)))[0]

    def bodies_of(self, keys: NDArray[np.int64]) -> NDArray[np.int64]:
        """The bodies (k, 2) of contacts, as the model counts them."""
        second = np.where(
            keys[:, 1] < 0, self._planes[keys[:, 5] * (keys[:, 1] < 0)], self._convex[keys[:, 1]]
        )
        return np.column_stack([self._convex[keys[:, 0]], second])

    def true_gaps(self, made: "Strike") -> Array:
        """The smallest gap (moving,) [m] of each body without the skins, of those that an impact knows of."""
        least = np.full(len(self.states), np.inf)
        if len(made.keys):
            first, second = made.keys[:, 0], made.keys[:, 1]
            gap = made.places[:, 6] + self.skins(made.keys)
            np.minimum.at(least, first, gap)
            moves = (second >= 0) & (second < len(least))
            np.minimum.at(least, second[moves], gap[moves])
        return least

    def skins(self, keys: NDArray[np.int64]) -> Array:
        """By how much [m] the shapes of the two bodies of each contact are grown."""
        other = np.where(keys[:, 1] >= 0, self._skin[np.maximum(keys[:, 1], 0)], 0.0)
        total: Array = self._skin[keys[:, 0]] + other
        return total

    @np.errstate(over="ignore", invalid="ignore")
    def strike(self, time: float, span: float | None = None, pulls: bool = True) -> "Strike":
        """The impact of a step that begins now, at a time [s], which changes the velocities.

        Contacts may close by their gap within a `span` [s], the step where nothing else is said; gravity's impulse
        of a whole step comes first if it `pulls`. StepTooLongError, and nothing changes, where bodies overlap by
        more than DEEPEST.
        """
        span = self.step if span is None else span
        active = self.active
        rotation = rotation_matrices(self.states[:, 3:7])
        inertia = rotation @ self._inertia @ rotation.transpose(0, 2, 1)
        velocity = np.empty((len(self.states), 6))
        velocity[:, :3] = self.states[:, 7:10]
        velocity[:, 3:] = np.einsum("bij,bj->bi", rotation, self.states[:, 10:13])
        row = np.zeros((), BODY_STEP)
        known = self._energy(velocity, inertia)
        if pulls:
            velocity[:, :3] += np.where(active, self.step + self.owed, 0.0)[:, None] * self._gravity
        row["energy_before"] = self._energy(velocity, inertia)
        keys, places, row["gap"] = self._contacts(span, velocity)
        self._refuse_depth(velocity, time)
        if pulls:
            self.owed[:] = 0.0
        made = self._resolved(keys, places, velocity, inertia, row, span)
        velocity = made.velocity
        row["energy_after"] = self._energy(velocity, inertia)
        made.gained = float(row["energy_after"]) - known
        size = self.size[: len(velocity)]
        speed = np.linalg.norm(velocity[:, :3], axis=1) + size * np.linalg.norm(velocity[:, 3:], axis=1)
        row["speed"] = speed.max(initial=0.0, where=active)
        self.states[:, 7:10] = velocity[:, :3]
        self.states[:, 10:13] = np.einsum("bji,bj->bi", rotation, velocity[:, 3:])
        return made

    @np.errstate(over="ignore", invalid="ignore")
    def flown(self, states: Array, span: float) -> Array:
        """Packed states (moving, 13) after so many seconds of flight without forces."""
        flown = states.copy()
        convex_touches_kernels.fly_on(flown, self._inertia, self._inverse_inertia, span)
        return flown

    # -- inside ------------------------------------------------------------------------------------------------

    def _energy(self, velocity: Array, inertia: Array) -> float:
        mass = np.where(self.active, self._mass, 0.0)
        turning = np.einsum("bi,bij,bj->b", velocity[:, 3:], inertia, velocity[:, 3:])
        return 0.5 * float(mass @ (velocity[:, :3] ** 2).sum(axis=1) + turning.sum(where=self.active))

    def _boxes_of_fixed(self, model: Model) -> tuple[Array, Array, Array]:
        """Of each fixed convex body: its rotation (f, 3, 3), and the lowest and highest coordinates (f, 3) of its
        surface in its own axes."""
        low, high = np.zeros((len(self.fixed), 3)), np.zeros((len(self.fixed), 3))
        for k, body in enumerate(self.fixed.tolist()):
            shape = model.shapes[body]
            assert shape is not None
            around = shape.radius + np.array([shape.disk, shape.disk, 0.0]) + np.abs(shape.semi_axes)
            low[k], high[k] = shape.points.min(axis=0) - around, shape.points.max(axis=0) + around
        return rotation_matrices(self._standing[:, 3:7]), low, high

    def _near(self, reach: Array) -> tuple[NDArray[np.int64], Array]:
        """Pairs (m, 2) of bodies whose bounding spheres, each grown by its `reach` (moving,) [m], meet, in order,
        and how far these spheres are apart without it (m,) [m]; of fixed bodies boxes."""
        place, count = self.states[:, :3], len(self.states)
        size = self.size[:count]
        grown, active = size + reach, self.active
        large = active & (grown > LARGE * np.median(grown[active])) if active.any() else active
        some, found = np.flatnonzero(active & ~large), [np.zeros((0, 2), np.int64)]
        if len(some):
            widest = 2.0 * float(grown[some].max())
            found.append(some[KDTree(place[some]).query_pairs(widest, output_type="ndarray")])
        for body in np.flatnonzero(large).tolist():
            others = np.flatnonzero(active & (~large | (np.arange(count) > body)))
            others = others[others != body]
            found.append(np.column_stack([np.full(len(others), body), others]))
        pairs = np.sort(np.concatenate(found), axis=1)
        first, second = pairs.T
        apart = np.linalg.norm(place[first] - place[second], axis=1) - size[first] - size[second]
        meet = apart <= reach[first] + reach[second]
        pairs, apart = pairs[meet], apart[meet]
        rotation, low, high = self._boxes
        for k in range(len(self.fixed)):
            own = (place - self._standing[k, :3]) @ rotation[k]
            off = np.maximum(np.maximum(low[k] - own, own - high[k]), 0.0)
            room = np.linalg.norm(off, axis=1) - size
            near = np.flatnonzero(room <= reach)
            pairs = np.concatenate([pairs, np.column_stack([near, np.full(len(near), count + k)])])
            apart = np.concatenate([apart, room[near]])
        order = np.lexsort((pairs[:, 1], pairs[:, 0]))
        return pairs[order], apart[order]

    def _contacts(self, span: float, *velocities: Array) -> tuple[NDArray[np.int64], Array, float]:
        """Keys and places, as `contacts_within_reach` has them, of all contacts that may close within a span [s] at
        any of these velocities (moving, 6), and the smallest gap [m] of two bodies without their skins."""
        count = len(self.states)
        if not count:
            return np.zeros((0, 6), np.int64), np.zeros((0, 7)), np.inf
        turning = FLAT * self.size
        spin = np.max([np.linalg.norm(each[:, 3:], axis=1) for each in velocities], axis=0)
        speed = np.max([np.linalg.norm(each[:, :3], axis=1) for each in velocities], axis=0)
        turning[:count] += span * self.size[:count] * spin
        reach = np.where(self.active, span * speed + turning[:count], -np.inf)
        pairs, apart = self._near(reach)
        first, second = pairs.T
        pair_reach = np.zeros(len(pairs))
        for velocity in velocities:
            moves = np.zeros((len(self.size), 3))
            moves[:count] = velocity[:, :3]
            way = span * np.linalg.norm(moves[first] - moves[second], axis=1)
            pair_reach = np.maximum(pair_reach, way)
        pair_reach += turning[first] + np.where(second < count, turning[second], 0.0)
        chosen = apart <= pair_reach
        states = np.concatenate([self.states, self._standing])
        while True:
            found, gap = convex_touches_kernels.contacts_within_reach(
                self._shapes, self.size, self._skin, states, pairs[chosen], pair_reach[chosen], self._normals,
                self._offsets, reach, FLAT, FLATTEST, CLEAR, *self._tables, self._deepest,
            )  # fmt: skip
            keys, places = self._tables
            if found <= len(keys):
                return keys[:found], places[:found], gap
            self._tables = np.empty((2 * found, 6), np.int64), np.empty((2 * found, 7))

    def _name(self, number: float) -> str:
        """Of a body, or of the half-space -1 - number."""
        which = int(number)
        return self._names[which] if which >= 0 else self._plane_names[-1 - which]

    def _refuse_depth(self, velocity: Array, time: float) -> None:
        share, gap, first, second = self._deepest.tolist()
        if share >= -DEEPEST:
            return
        fastest = float(np.linalg.norm(velocity[:, :3], axis=1).max())
        safe = min(0.5 * self.step, 0.1 * gap / share / max(fastest, 1e-300))
        raise StepTooLongError(
            f"steps: {self.step:g} s has let {self._name(first)!r} and {self._name(second)!r} overlap by "
            f"{-gap:.3g} m, {-100.0 * share:.0f} % of the smaller one; take at most {safe:.1g} s, or a smaller "
            f"tolerance of the law (at t = {time:g} s)"
        )

    def _resolved(
        self,
        keys: NDArray[np.int64],
        places: Array,
        velocity: Array,
        inertia: Array,
        row: Any,
        span: float,
    ) -> "Strike":
        """The impact of all contacts that may close within a span [s], at these velocities or at those after it;
        fills the row of the log."""
        made = Strike(row, keys[:0], places[:0], velocity)
        for _ in range(ROUNDS):
            row["contacts"] = len(keys)
            if not len(keys):
                break
            self._mind_near(keys, places)
            made = self._impact(keys, places, velocity, inertia, row, span)
            gained = np.linalg.norm(made.velocity[:, :3] - velocity[:, :3], axis=1)
            gained += self.size[: len(gained)] * np.linalg.norm(
                made.velocity[:, 3:] - velocity[:, 3:], axis=1
            )
            if (span * gained <= 0.5 * FLAT * self.size[: len(gained)]).all():
                break  # they reach no farther than was looked
            codes = _codes(keys)
            keys, places, _ = self._contacts(span, velocity, made.velocity)
            if np.isin(_codes(keys), codes).all():
                break
        self._fresh[:] = False
        return made

    def _mind_near(self, keys: NDArray[np.int64], places: Array) -> None:
        """Let pairs of bodies that steps move only from now on stay as near each other as they are; those that know
        each other longer part no more where they have parted."""
        if not (self._fresh.any() or self._nearer.count):
            return
        first, second = keys[:, 0], keys[:, 1]
        moves = (second >= 0) & (second < len(self.states))
        fresh = self._fresh[first] | (moves & self._fresh[np.where(moves, second, 0)])
        skin = self.skins(keys)
        near = self._nearer.shrunk(keys, places[:, 6], ~fresh & ~self.parting[first])
        self._nearer = near.with_contacts(keys[fresh], places[fresh, 6], skin[fresh])

    def _impact(
        self,
        keys: NDArray[np.int64],
        places: Array,
        velocity: Array,
        inertia: Array,
        row: Any,
        span: float,
    ) -> "Strike":
        """The impact of these contacts; fills the row of the log."""
        first, second, count = keys[:, 0], keys[:, 1], len(self.states)
        on_plane, moves = second == convex_touches_kernels.HALF_SPACE, second < count
        other = self._kind[second]
        other[on_plane] = self._plane_kind[keys[on_plane, 5]]
        friction = self._friction[self._kind[first], other]
        gap = places[:, 6] + self._nearer.room(keys)
        network = ContactNetwork.of_points(
            np.column_stack([first, np.where(moves, second, -1)]),
            places[:, :3],
            places[:, 3:6],
            self.states[:, :3],
            self._mass,
            inertia,
            velocity,
            friction,
            np.maximum(gap / span, -PARTING * self.step * float(np.linalg.norm(self._gravity))),
        )
        frame = network.jacobian[:, 0, :, :3]
        outcome = self.law.resolve_network(network, start=self._start(keys, frame, friction))
        self._keep(keys, frame, outcome.impulse)
        normal, slip = outcome.impulse[:, 0], np.linalg.norm(outcome.impulse[:, 1:], axis=1)
        by_fixed = on_plane | ~moves
        row["sweeps"], row["residual"] = outcome.sweeps, outcome.residual
        row["beyond_cone"] = (slip - friction * normal).max() / max(normal.max(), 1e-300)
        row["support"] = np.einsum("crj,cr->j", frame[by_fixed], outcome.impulse[by_fixed]) / self.step
        return Strike(row, keys, places, outcome.velocity, network, outcome.impulse)

    def _start(self, keys: NDArray[np.int64], frame: Array, friction: Array) -> Array:
        """Impulses (nc, 3) in the contacts' frames that the same features had a step before, else zero."""
        codes, impulses = self._known
        start = np.zeros((len(keys), 3))
        if len(codes):
            sought = _codes(keys)
            at = np.minimum(np.searchsorted(codes, sought), len(codes) - 1)
            same = codes[at] == sought
            start[same] = np.einsum("crj,cj->cr", frame[same], impulses[at[same]])
            relaxation_kernels.within_cones(start.reshape(-1), friction, 3)
        return start

    def _keep(self, keys: NDArray[np.int64], frame: Array, impulse: Array) -> None:
        """Remember impulses in world axes."""
        codes = _codes(keys)
        order = np.argsort(codes, kind="stable")
        self._known = codes[order], np.einsum("crj,cr->cj", frame, impulse)[order]


def _typed(shapes: Iterable[CollisionShape]) -> Any:
    """A list of shapes for kernels, or one that is empty."""
    found = list(shapes)
    return List(found) if found else found


def _codes(keys: NDArray[np.int64]) -> NDArray[np.uint64]:
    """One number for each contact, which the same features have at every step; two that agree by chance only begin
    with each other's impulses."""
    codes = np.zeros(len(keys), np.uint64)
    for column in keys.T:
        codes = (codes ^ column.astype(np.uint64)) * _SPREAD
        codes ^= codes >> _SHIFT
    return codes
