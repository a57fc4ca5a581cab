"""Convex bodies among fixed ones, moved by time steps of one impact each.

Between two steps every body flies without forces, which is exact also for its turning. At a step the impulse of
gravity and of other forces is added to the velocities. What is struck then is resolved by the law
(`step_impacts.py`); and all contacts that are closed or could close within the step, by relaxation, change the
velocities so that none closes by more than its gap (Preclik, Eibl & Rüde, section 3.1, where the gap over the step
is added to the normal velocity). Relaxation begins with the impulses that the same features had a step before.

That was chosen by trying (the first hundred stones of `carom demo pile`, 1.6 s in steps of 2 ms, 10 s on one core).
Stopping contacts where they are instead of where their gap ends takes 21 s and leaves stones that fall shut
and open again for ever, at 0.1 m/s; with the gaps they come to rest at 4e-5 m/s. Without the impulses of the
step before it takes 26 s, and half of the steps instead of 7 % use up their sweeps.

Where the impact makes bodies so fast that they could reach others, contacts are looked for again, and all are
solved anew (a ball that another one hit went through a plate).

What it costs: a step is of first order. A body that turns quickly may reach into another where no contact was
expected; such places are looked for where it will be (`missed_contacts.py`). Grown shapes that overlap are moved
apart in their places (`parting.py`), which gives no speed, and at rest no two hulls overlap. Where other bodies go
from event to event that could move one into another: there they part at no more than half the speed that gravity
gives in a step, so that a contact that carries weight gains no energy.
"""

import copy
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...bodies.rotation import rotation_matrices
from ...impact_laws import ContactNetwork, ImpactLaw, MaximumDissipation
from ...impact_laws.contact_network import jacobian_of_points
from ..event import contact_names
from ..state import Model
from ..tolerances import OVERLAP
from . import convex_touches_kernels
from .convex_contacts import FLAT, ConvexContacts
from .errors import StepTooLongError
from .known_impulses import KnownImpulses, feature_codes
from .missed_contacts import MOST_LOOKS, missed_contacts, opening_speed, turn_far
from .near_pairs import NearPairs
from .pair_surfaces import PairSurfaces
from .parting import LEFT, move, parting_ways
from .step_forces import StepForces
from .step_impacts import MOST_ROUNDS, Asked, StepImpacts
from .step_log import BODY_STEP
from .steps import loose_law

Array = NDArray[np.float64]
Whole = NDArray[np.int64]

PARTING, CREEPING = 0.5, 0.01
"""Of the speed that gravity gives in a step, at which bodies that overlap part at most; and where they are moved
apart in places, for overlaps that rounding and the law's tolerance leave."""
DEEPEST = 0.2
"""Of the smaller of two sizes, by which they may overlap."""
LARGEST = 1e150
"""Whose square is a number."""
ROUNDS = 4
"""How often lasting contacts are looked for in a step, at most."""


Part = tuple[Whole, Array, Array, Array]
"""Keys, places, impulses (k, 3) and restitution (k,) of contacts."""


@dataclass(eq=False)
class Strike:
    """The impact of a step.

    row : of the log, but for the time
    keys, places : of its contacts, as `contacts_within_reach` has them
    velocity : (moving, 6) after it, world axes
    network, impulse : its contacts at the velocities before, and their impulses (nc, 3); None and none without
        contacts
    gained : kinetic energy [J] after it minus that before gravity's impulse, and what bodies rose by as they were
        moved apart
    """

    row: Any
    keys: Whole
    places: Array
    velocity: Array
    network: ContactNetwork | None = None
    impulse: Array = field(default_factory=lambda: np.zeros((0, 3)))
    gained: float = 0.0


class ConvexSteps:
    """The convex bodies of a model that move, from one step [s] to the next under a law.

    contacts : which bodies these are, and where they could touch
    lasting : the law of all contacts that are not struck: the law itself, or where it is no `MaximumDissipation`
        the one that `loose_law` gives
    states : (moving, 13) packed, at the time to which the last step went
    active : (moving,) which of them steps move; the others are as if they were not there
    owed : (moving,) [s] of gravity's pull that the next step gives beside its own
    parting : (moving,) which of them are parted to their skins, however near they were when steps took them

    Bodies that overlap are moved apart `in_places`, or else by velocities.
    """

    def __init__(self, model: Model, law: ImpactLaw, step: float, seed: int = 0, *, in_places: bool = False):
        self.lasting = law if isinstance(law, MaximumDissipation) else loose_law()
        self.step, self._in_places = step, in_places
        self.contacts = ConvexContacts(model)
        self.moving = self.contacts.moving
        self.states = model.initial_states()[self.moving]
        self._scene = model.scene
        self._forces = StepForces(model)
        self._gravity, self._pull = model.gravity, float(np.linalg.norm(model.gravity))
        self._parting_speed = (CREEPING if in_places else PARTING) * step * self._pull
        self._mass, self._inertia = model.mass[self.moving], model.inertia[self.moving]
        self._inverse_mass = model.inverse_mass[self.moving]
        self._inverse_inertia = model.inverse_inertia[self.moving]
        self._surfaces = PairSurfaces(model.scene)
        self._impacts = StepImpacts(law, step, self._pull, seed)
        self._known = KnownImpulses()
        count = len(self.moving)
        self.size = self.contacts.size[:count]
        self.active, self.owed = np.ones(count, bool), np.zeros(count)
        self.parting, self._fresh = np.zeros(count, bool), np.zeros(count, bool)
        self._nearer = NearPairs()

    def copy(self) -> "ConvexSteps":
        """The same, which may go on otherwise."""
        copied = copy.copy(self)
        copied.states, copied.active, copied.owed = self.states.copy(), self.active.copy(), self.owed.copy()
        copied.parting, copied._fresh = self.parting.copy(), self._fresh.copy()
        copied.contacts, copied._impacts = self.contacts.copy(), self._impacts.copy()
        return copied

    def forget(self) -> None:
        """The impulses of the last step say nothing of the next one: states were set."""
        self._known = KnownImpulses()

    def refuse_overlap(self, when: str) -> None:
        """ValueError, which says `when`, where bodies overlap."""
        self._contacts(self.step, np.zeros((len(self.states), 6)))
        share, gap, first, second = self.contacts.deepest.tolist()
        if share < -OVERLAP:
            name = self.contacts.name
            raise ValueError(
                f"position: bodies {name(first)!r} and {name(second)!r} overlap by {-gap:.6g} m {when}; move them "
                "apart, or let scene.resolve_overlaps() do it"
            )

    def lost(self) -> str | None:
        """The name of a body that has come where squares of lengths are no numbers, if there is one."""
        lost = np.flatnonzero(~(np.abs(self.states) < LARGEST).all(axis=1))
        return self.contacts.name(lost[0]) if len(lost) else None

    def take(self, bodies: Whole, states: Array) -> None:
        """Let steps move more of the bodies, by number among those that move, from packed states (k, 13) on."""
        self.states[bodies] = states
        self.active[bodies] = self._fresh[bodies] = True
        self.owed[bodies], self.parting[bodies] = 0.0, False

    def leave(self, bodies: Whole) -> None:
        """Let steps move these bodies no more."""
        self.active[bodies], self.states[bodies, 7:13] = False, 0.0

    def touching(self) -> Whole:
        """Keys, as `contacts_within_reach` has them, of the contacts of bodies that are near each other now."""
        return self._contacts(self.step, np.zeros((len(self.states), 6)))[0]

    def true_gaps(self, made: "Strike") -> Array:
        """The smallest gap (moving,) [m] of each body without the skins, of those that an impact knows of."""
        least = np.full(len(self.states), np.inf)
        if len(made.keys):
            first, second = self.contacts.moving_of(made.keys).T
            gap = made.places[:, 6] + self.contacts.skins(made.keys)
            np.minimum.at(least, first, gap)
            np.minimum.at(least, second[second >= 0], gap[second >= 0])
        return least

    @np.errstate(over="ignore", invalid="ignore")
    def strike(self, time: float, span: float | None = None, pulls: bool = True) -> "Strike":
        """The impact of a step that begins now, at a time [s], which changes the velocities.

        Contacts may close by their gap within a `span` [s], the step where nothing else is said; the impulse of a
        whole step of gravity and other forces is given too if it `pulls`. StepTooLongError, and nothing changes,
        where bodies overlap by more than DEEPEST; LawFailedError where the law has no answer.
        """
        span = self.step if span is None else span
        rotation = rotation_matrices(self.states[:, 3:7])
        inertia = rotation @ self._inertia @ rotation.transpose(0, 2, 1)
        inverse = np.zeros((len(self.states), 6, 6))
        inverse[:, :3, :3] = self._inverse_mass
        inverse[:, 3:, 3:] = rotation @ self._inverse_inertia @ rotation.transpose(0, 2, 1)
        before = np.empty((len(self.states), 6))
        before[:, :3] = self.states[:, 7:10]
        before[:, 3:] = np.einsum("bij,bj->bi", rotation, self.states[:, 10:13])
        row = np.zeros((), BODY_STEP)
        row["restitution_share"] = 1.0
        pull = np.zeros_like(before)
        if pulls:
            acceleration = self._forces.acceleration(time, self.states, inverse)
            pull = np.where(self.active, self.step + self.owed, 0.0)[:, None] * acceleration
        struck: list[Part] = []
        velocity, taken, near = before + pull, 0.0, None
        if self._impacts.acts(self._surfaces.elastic):
            half = before + 0.5 * pull
            struck, velocity, near = self._struck(half, 0.5 * pull, inverse, row, span, time)
            taken = self._energy(half, inertia) - self._energy(velocity, inertia)
            velocity = velocity + 0.5 * pull
        residual = float(row["residual"])
        if pulls and self._forces.drags:
            velocity, near = self._forces.resisted(velocity, inverse, self.step), None
        row["energy_before"] = self._energy(velocity, inertia) + taken
        if near is None:
            near = self._contacts(span, velocity)
            self._refuse_depth(velocity, time)
        keys, places, row["gap"] = near
        made = self._resolved(keys, places, velocity, inverse, row, span)
        row["residual"] = max(residual, float(row["residual"]))
        if pulls:
            self.owed[:] = 0.0
        velocity = made.velocity
        row["energy_after"] = self._energy(velocity, inertia)
        made.gained = float(row["energy_after"]) - self._energy(before, inertia)
        speed = np.linalg.norm(velocity[:, :3], axis=1) + self.size * np.linalg.norm(velocity[:, 3:], axis=1)
        row["speed"] = speed.max(initial=0.0, where=self.active)
        _set_velocity(self.states, rotation, velocity)
        if self._in_places and made.network is not None:
            made.gained += self._part(made, span)
        self._sum_up(made, struck, before, inverse)
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

    def _contacts(self, span: float, *velocities: Array) -> tuple[Whole, Array, float]:
        return self.contacts.within(self.states, self.active, span, *velocities)

    def _refuse_depth(self, velocity: Array, time: float) -> None:
        share, gap, first, second = self.contacts.deepest.tolist()
        if share >= -DEEPEST:
            return
        fastest = float(np.linalg.norm(velocity[:, :3], axis=1).max())
        safe = min(0.5 * self.step, 0.1 * gap / share / max(fastest, 1e-300))
        name = self.contacts.name
        raise StepTooLongError(
            f"steps: {self.step:g} s has let {name(first)!r} and {name(second)!r} overlap by "
            f"{-gap:.3g} m, {-100.0 * share:.0f} % of the smaller one; take at most {safe:.1g} s, or a smaller "
            f"tolerance of the law (at t = {time:g} s)"
        )

    def _network(
        self, keys: Whole, places: Array, velocity: Array, inverse: Array, friction: Any, slack: Any = 0.0
    ) -> ContactNetwork:
        pairs = self.contacts.moving_of(keys)
        jacobian = jacobian_of_points(pairs, places[:, :3], places[:, 3:6], self.states[:, :3])
        return ContactNetwork(pairs, jacobian, inverse, velocity, friction, slack)

    def _struck(
        self, velocity: Array, rest: Array, inverse: Array, row: Any, span: float, time: float
    ) -> tuple[list[Part], Array, tuple[Whole, Array, float] | None]:
        """Keys, places, impulses and restitution of what is struck at these velocities (moving, 6), one after the
        other, and the velocities after it; they change by `rest` in the rest of the step. Last the contacts then,
        as `ConvexContacts.within` has them, where they are known. Adds to the row of the log."""
        found: list[Part] = []
        for _ in range(MOST_ROUNDS):
            near = keys, places, _ = self._contacts(span, velocity + rest)
            self._refuse_depth(velocity, time)
            if not len(keys):
                return found, velocity, near
            asked = self._asked(keys, places, velocity, rest, inverse, span)
            fastest = float(np.linalg.norm(velocity[:, :3], axis=1).max(where=self.active, initial=0.0))
            impulse = self._impacts.resolve(asked, fastest, row)
            if impulse is None:
                missed = self._missed(keys, places, velocity + rest, span)
                if missed is None:
                    return found, velocity, near
                keys, places = missed
                asked = self._asked(keys, places, velocity, rest, inverse, span)
                impulse = self._impacts.resolve(asked, fastest, row)
                if impulse is None:
                    return found, velocity, near
            velocity = asked.network.velocity_after(impulse)
            found.append((keys, places, impulse, asked.network.restitution))
        return found, velocity, None

    def _asked(
        self, keys: Whole, places: Array, velocity: Array, rest: Array, inverse: Array, span: float
    ) -> Asked:
        bodies = self.contacts.bodies_of(keys)
        material = self._surfaces.of(bodies)
        network = self._network(keys, places, velocity, inverse, self._surfaces.impact_friction(material))
        mobility = np.zeros(len(keys))
        for side in range(2):
            there = network.bodies[:, side]
            normal = network.jacobian[:, side, 0]
            mobility += np.where(there >= 0, np.einsum("ci,cij,cj->c", normal, inverse[there], normal), 0.0)
        approach = -network.contact_velocity()[:, 0]
        network.restitution = self._surfaces.restitution(material, approach, mobility)
        gap = places[:, 6] + self._nearer.room(keys)
        return Asked(
            network,
            gap + span * network.contact_velocity(velocity + rest)[:, 0],
            np.minimum(self.contacts.size[keys[:, 0]], self.contacts.size[keys[:, 1]]),
            contact_names(self._scene, bodies),
        )

    def _sum_up(self, made: Strike, struck: list[Part], before: Array, inverse: Array) -> None:
        """Let the impact of a step have the impulses of what was struck, and its row the force of fixed bodies."""
        if struck:
            parts = [*struck, (made.keys, made.places, made.impulse, np.zeros(len(made.keys)))]
            keys, places, impulses, restitution = (np.concatenate(part) for part in zip(*parts, strict=True))
            _, first, which = np.unique(feature_codes(keys), return_index=True, return_inverse=True)
            made.keys, made.places = keys[first], places[first]
            made.impulse = np.zeros((len(first), 3))
            np.add.at(made.impulse, which, impulses)
            friction = self._surfaces.impact_friction(self._surfaces.of(self.contacts.bodies_of(made.keys)))
            made.network = self._network(made.keys, made.places, before, inverse, friction)
            np.maximum.at(made.network.restitution, which, restitution)
        if made.network is not None:
            by_fixed = made.network.bodies[:, 1] < 0
            frame = made.network.jacobian[by_fixed, 0, :, :3]
            made.row["support"] = np.einsum("crj,cr->j", frame, made.impulse[by_fixed]) / self.step

    def _resolved(
        self, keys: Whole, places: Array, velocity: Array, inverse: Array, row: Any, span: float
    ) -> Strike:
        """The impact of all contacts that may close within a span [s], at these velocities or at those after it;
        fills the row of the log."""
        made = Strike(row, keys[:0], places[:0], velocity)
        for _ in range(ROUNDS):
            row["contacts"] = len(keys)
            if not len(keys):
                break
            self._mind_near(keys, places)
            made = self._impact(keys, places, velocity, inverse, row, span)
            gained = np.linalg.norm(made.velocity[:, :3] - velocity[:, :3], axis=1)
            gained += self.size * np.linalg.norm(made.velocity[:, 3:] - velocity[:, 3:], axis=1)
            if (span * gained <= 0.5 * FLAT * self.size).all():
                break  # they reach no farther than was looked
            codes = feature_codes(keys)
            keys, places, _ = self._contacts(span, velocity, made.velocity)
            new = ~np.isin(feature_codes(keys), codes)
            opening = opening_speed(self.contacts, keys[new], places[new], self.states, made.velocity)
            if (places[new, 6] + self._nearer.room(keys[new]) + span * opening >= 0.0).all():
                break  # nothing else presses
        for _ in range(MOST_LOOKS):
            missed = self._missed(made.keys, made.places, made.velocity, span)
            if missed is None:
                break
            row["contacts"] = len(missed[0])
            made = self._impact(*missed, velocity, inverse, row, span)
        self._fresh[:] = False
        return made

    def _missed(self, keys: Whole, places: Array, velocity: Array, span: float) -> tuple[Whole, Array] | None:
        """These contacts and those that bodies of such velocities (moving, 6) have after a span [s] and nothing
        announced; None where there are none."""
        turning = self.active & turn_far(velocity, span)
        if not len(keys) or not turning.any():
            return None
        starts = self.states.copy()
        _set_velocity(starts, rotation_matrices(starts[:, 3:7]), velocity)
        ends = self.flown(starts, span)
        return missed_contacts(
            self.contacts, self.active, turning, starts, ends, velocity, span, keys, places
        )

    def _part(self, made: Strike, span: float) -> float:
        """Part grown shapes that overlap, in their places; the potential energy [J] that bodies gain by it."""
        assert made.network is not None
        gaps, skins = made.places[:, 6], self.contacts.skins(made.keys)
        left = LEFT * skins + span * self._parting_speed
        ways = parting_ways(made.network, gaps, left, made.velocity, span)
        if ways is None:
            return 0.0
        move(self.states, ways)
        return -float(self._mass @ (ways[:, :3] @ self._gravity))

    def _mind_near(self, keys: Whole, places: Array) -> None:
        """Let pairs of bodies that steps move only from now on stay as near each other as they are; those that know
        each other longer part no more where they have parted."""
        if not (self._fresh.any() or self._nearer.count):
            return
        first, second = self.contacts.moving_of(keys).T
        fresh = self._fresh[first] | ((second >= 0) & self._fresh[second])
        skin = self.contacts.skins(keys)
        near = self._nearer.shrunk(keys, places[:, 6], ~fresh & ~self.parting[first])
        self._nearer = near.with_contacts(keys[fresh], places[fresh, 6], skin[fresh])

    def _impact(
        self, keys: Whole, places: Array, velocity: Array, inverse: Array, row: Any, span: float
    ) -> Strike:
        """The impact of these contacts; fills the row of the log."""
        friction = self._surfaces.friction(self._surfaces.of(self.contacts.bodies_of(keys)))
        gap = places[:, 6] + self._nearer.room(keys)
        slack = np.maximum(gap / span, -self._parting_speed)
        network = self._network(keys, places, velocity, inverse, friction, slack)
        frame = network.jacobian[:, 0, :, :3]
        outcome = self.lasting.resolve_network(network, start=self._known.begin(keys, frame, friction))
        self._known = KnownImpulses.of(keys, frame, outcome.impulse)
        normal, slip = outcome.impulse[:, 0], np.linalg.norm(outcome.impulse[:, 1:], axis=1)
        row["sweeps"], row["residual"] = outcome.sweeps, outcome.residual
        row["beyond_cone"] = (slip - friction * normal).max() / max(normal.max(), 1e-300)
        return Strike(row, keys, places, outcome.velocity, network, outcome.impulse)


def _set_velocity(states: Array, rotation: Array, velocity: Array) -> None:
    """Give bodies in packed states (n, 13) with these rotations (n, 3, 3) velocities (n, 6), world axes."""
    states[:, 7:10] = velocity[:, :3]
    states[:, 10:13] = np.einsum("bji,bj->bi", rotation, velocity[:, 3:])
