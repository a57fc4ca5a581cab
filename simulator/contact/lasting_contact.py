"""Bodies in contact or on joints: which contacts press, stick and slide, and the motion until that changes.

One acceleration-level LCP (friction pyramid) proposes the mode, which is made exact on the round cone and checked
(docs/motion.md says why). Its equations are integrated by Chebyshev collocation, so that a step is one polynomial,
its own dense output. Friction turns with the slip, except that very slow slip keeps its direction over one short
step: the direction is singular at zero. A step that leaves its mode ends there.
"""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...bodies.forces import ForceFunction
from ...impact_laws import solve_lcp
from .. import kernels
from ..collision.pairs import distinct_contacts, moving_bodies
from ..event import ContactPatch, EventKind, Feature
from ..state import Array, Model, State
from ..tolerances import (
    ACCELERATION_MATCH,
    CONTACT_GAP,
    FORCE_FUNCTION_MATCH,
    FORCE_MARGIN,
    FORCE_RANK,
    HELD_SLIP,
    HELD_TURN,
    LIMIT_GAP,
    SLIP_SPEED,
    STRAIGHT_SLIP,
)
from . import contact_kernels
from .balance import cone_forces
from .integrator import Integrator
from .joint_kernels import joint_rows
from .rest import spread_contacts

_CONE_EDGES = 8
_PROPOSALS = 6
_SHARPER = 1e-4
_FORCE_ROUNDS = 60
_GAP_POINTS = 17
_NODES = contact_kernels.NODES
_SMALLEST_STEP = 1e-10
_SHORT_STEP = 1e-6  # [s] held slip may turn freely over a step this short
_EASY_ITERATIONS = 9  # a step that needed no more lets the next one be twice as long
_CHANGES = {
    contact_kernels.LIFTS_OFF: EventKind.LIFT_OFF,
    contact_kernels.SLIPS: EventKind.SLIP,
    contact_kernels.STICKS: EventKind.STICK,
}
_CURVES = {
    Feature.POINT: contact_kernels.POINT,
    Feature.EDGE: contact_kernels.LINE,
    Feature.FACE: contact_kernels.FACE,
    Feature.RIM: contact_kernels.CIRCLE,
    Feature.ELLIPSOID: contact_kernels.ELLIPSOID,
}
_DEFAULT = Integrator()
_PLACES = slice(0, 3), slice(10, 13)  # in the kernels' geometry, of sides P and F
_DIRECTIONS = (slice(14, 17),), (slice(4, 7), slice(7, 10), slice(18, 21))
_NO_ENDS, _NO_GEOMETRY = np.zeros((0, 3), dtype=np.int64), np.zeros((0, contact_kernels.GEOMETRY))
_PARALLEL = 1e-3  # [rad] closer to parallel, edges have no safe crossing, and may touch at both ends instead


class ContactForceError(Exception):
    """No contact forces satisfy the acceleration-level problem; the text says where."""


class ForceFunctionError(Exception):
    """A force function of the user gave no finite forces; the text says which, for what body and when."""


@dataclass(frozen=True, eq=False)
class ContactSet:
    """Touching contacts among the movable bodies `bodies` of one island, as the kernels read them.

    system : what else moves the bodies
    time : [s], for forces that depend on it
    """

    model: Model
    bodies: NDArray[np.int64]
    patch: ContactPatch
    friction: Array
    ends: NDArray[np.int64]
    geometry: Array
    system: contact_kernels.System
    time: float

    @classmethod
    def of_patch(
        cls,
        model: Model,
        patch: ContactPatch,
        friction: Array,
        states: Array,
        time: float,
        bodies: NDArray[np.int64] | None = None,
    ) -> "ContactSet":
        """Attach the contacts of a patch to the bodies that carry them (n, 13), and to what these carry along."""
        if bodies is None:
            bodies = moving_bodies(model, patch)
        local = {int(body): k for k, body in enumerate(bodies)}
        ends = np.zeros((len(patch), 3), dtype=np.int64)
        geometry = np.zeros((len(patch), contact_kernels.GEOMETRY))
        limits = model.articulation.limits
        for c in range(len(patch)):
            if patch.feature[c, 0] == Feature.LIMIT:
                number = patch.feature_index[c, 0]
                base, body, kind = limits.ends[number].tolist()
                ends[c] = local.get(base, -1), local.get(body, -1), contact_kernels.LIMIT + kind
                geometry[c, : limits.geometry.shape[1]] = limits.geometry[number]
                continue
            middle = patch.point[c]
            if model.planes[patch.bodies[c, 1]] is not None:  # there the point is on the plane itself
                middle = middle + 0.5 * patch.gap[c] * patch.normal[c]
            sides, kind, geometry[c] = _world_geometry(patch, c, middle)
            ends[c, 2] = kind
            for k, side in enumerate(sides):
                body = int(patch.bodies[c, side])
                ends[c, k] = local.get(body, -1)
                if body in local:
                    R = kernels.rotation_matrix(states[body, 3:7])
                    geometry[c, _PLACES[k]] -= states[body, :3]
                    for where in (_PLACES[k], *_DIRECTIONS[k]):
                        geometry[c, where] = geometry[c, where] @ R
            if Feature.ELLIPSOID in patch.feature[c]:
                _put_ellipsoid(model, int(patch.bodies[c, sides[0]]), geometry[c])
        system = model.articulation.system_at(model, bodies, states[bodies])
        return cls(model, bodies, patch, friction, ends, geometry, system, time)

    def at(self, time: float, states: Array) -> "ContactSet":
        """The same contacts at another time and island states (m, 13)."""
        system = self.model.articulation.system_at(self.model, self.bodies, states)
        return replace(self, time=time, system=system)

    def applied(self, states: Array, later: float = 0.0) -> Array:
        """Generalized forces (6 m,) of the user's functions at island states (m, 13), `later` [s] than `time`."""
        forces = np.zeros(6 * len(self.bodies))
        functions = self.model.scene.force_functions
        if functions:
            everywhere = self.model.initial_states()
            everywhere[self.bodies] = states
            now = State.unpacked(self.time + later, everywhere)
            for function in functions:
                forces += _given_forces(self.model, function, now)[self.bodies].ravel()
        return forces

    def chosen(self, which: NDArray[np.bool_]) -> "ContactSet":
        """The contacts that a mask selects, for the same bodies."""
        fields = ("friction", "ends", "geometry")
        return replace(
            self, patch=self.patch.chosen(which), **{name: getattr(self, name)[which] for name in fields}
        )

    @property
    def can_turn(self) -> bool:
        """Whether the direction of slip can turn, which it cannot in a plane."""
        return self.model.scene.plane is None

    def rows(self, states: Array) -> tuple[Array, Array, Array, Array]:
        """Jacobian, acceleration bias, contact velocity, gaps at island states (m, 13)."""
        return contact_kernels.contact_rows(states, self.ends, self.geometry)

    def free(self, states: Array, jacobian: Array) -> tuple[Array, Array]:
        """Generalized acceleration without contact, and J M^-1, both as joints allow."""
        return contact_kernels.free_motion(states, self.system, self.applied(states), jacobian)


def _given_forces(model: Model, function: ForceFunction, state: State) -> Array:
    """What a function of the user says; ForceFunctionError where that is not one finite force for every body."""
    name = getattr(function, "__name__", repr(function))
    try:
        forces = np.asarray(function(state.time, state), dtype=float)
    except (ArithmeticError, LookupError, TypeError, ValueError, AttributeError, NameError) as error:
        raise ForceFunctionError(
            f"the force function {name} failed at t = {state.time:g} s: {type(error).__name__}: {error}"
        ) from error
    if forces.shape != (model.count, 6):
        raise ForceFunctionError(
            f"the force function {name}: expected shape ({model.count}, 6), got {forces.shape}"
        )
    bad = np.flatnonzero(~np.isfinite(forces).all(axis=1))
    if len(bad):
        body = model.scene.bodies[bad[0]].name
        raise ForceFunctionError(
            f"the force function {name} gave {forces[bad[0]].tolist()} for body {body!r} at t = {state.time:g} s"
        )
    return forces


def _world_geometry(patch: ContactPatch, c: int, middle: Array) -> tuple[tuple[int, int], int, Array]:
    """Sides (P, F) of contact c as columns of the patch, its kind, and its geometry for the kernels.

    Everything is in world axes; `middle` is halfway between the surfaces. An edge on a face touches with the
    material point there, and so does one of two round edges that are parallel (they touch all along). Sharp
    features that do not cross have no normal of their own: F then keeps the given one as a face.
    """
    P, F = 0, 1
    first, second = patch.feature[c]
    swapped = first == Feature.FACE or (second == Feature.RIM and first != Feature.RIM)
    sides = (1, 0) if swapped else (0, 1)
    normal, gap = -patch.normal[c] if swapped else patch.normal[c], float(patch.gap[c])
    curve = [_CURVES[Feature(int(patch.feature[c, side]))] for side in sides]
    along, radius = patch.along[c, list(sides)], patch.radius[c, list(sides)]
    surface = np.stack([middle + 0.5 * gap * normal, middle - 0.5 * gap * normal])
    outward = np.stack([-normal, normal])
    place, tangent, circle = surface.copy(), along.copy(), np.zeros(2)
    for k in (P, F):
        if curve[k] == contact_kernels.CIRCLE:
            level = outward[k] - (outward[k] @ along[k]) * along[k]
            length = float(np.linalg.norm(level))
            circle[k], radius[k] = radius[k], 0.0
            if length > CONTACT_GAP:
                place[k] -= circle[k] * level / length
                tangent[k] = np.cross(along[k], level / length)
            else:  # the whole circle touches
                curve[k] = contact_kernels.POINT
        place[k] -= radius[k] * outward[k]
    across = np.cross(*tangent)
    sharp, parallel = not radius.any(), float(np.linalg.norm(across)) <= _PARALLEL
    lines = curve == [contact_kernels.LINE, contact_kernels.LINE]
    crossing = 0.0
    if curve[F] != contact_kernels.FACE and sharp:
        if contact_kernels.POINT in curve or parallel:
            curve[F], place[F] = contact_kernels.FACE, surface[F]
        else:
            crossing = math.copysign(1.0, across @ normal)
    if curve[P] == contact_kernels.LINE and (curve[F] == contact_kernels.FACE or (lines and parallel)):
        curve[P] = contact_kernels.POINT
    kept = max(gap, 0.0)  # closing it would press other points in
    row = np.concatenate(
        [
            *(place[P], [radius[P]], normal, patch.tangent[c], place[F], [radius[F] + kept]),
            *(along[P], [circle[P]], along[F], [circle[F]], [crossing]),
        ]
    )
    return sides, 4 * (curve[P] - 1) + curve[F], row


def _put_ellipsoid(model: Model, body: int, row: Array) -> None:
    """Center and semi-axes, in body axes, as side P of a contact."""
    shape = model.shapes[body]
    assert shape is not None
    row[_PLACES[0]], row[_DIRECTIONS[0][0]] = shape.points[0], shape.semi_axes


@dataclass(frozen=True, eq=False)
class ContactMode:
    """Contacts that press, which stick or already slide, and the slip direction (nc, 2) of the others."""

    contacts: ContactSet
    held: ContactPatch
    """Every contact that stays closed, also those whose forces the others bear."""
    stick: NDArray[np.bool_]
    sliding: NDArray[np.bool_]
    direction: Array
    follows: NDArray[np.bool_]
    """Sliding fast enough for friction to turn with the slip within a step."""
    reference: Array
    """(3 nc,) [N], nearest to which the forces are taken where they are not unique."""


def solve_accelerations(
    contacts: ContactSet, states: Array, edge: Array
) -> tuple[Array, Array, Array, Array]:
    """Accelerations of closed contacts from one LCP: (generalized, contact, forces (nc, 3), contact velocity).

    The normal forces and separation accelerations are complementary; a contact that slips has friction
    against its slip, one that does not has friction in an eight-edged pyramid inside its cone, with an edge at
    the angle `edge` (nc,) [rad] from the tangent. Raises `ContactForceError` where the LCP has no solution.
    """
    J, bias, u, _ = contacts.rows(states)
    a, mobility = contacts.free(states, J)
    nc = len(contacts.friction)
    N, T1, T2 = mobility[0::3], mobility[1::3], mobility[2::3]
    slip = np.hypot(u[1::3], u[2::3])
    mu = contacts.friction
    sliding = (slip > SLIP_SPEED) & (mu > 0)
    sticky = np.flatnonzero(~sliding & (mu > 0))
    drift = J @ a + bias
    planar = not contacts.can_turn
    if nc == 1 and len(sticky):  # one contact that sticks needs no search
        force: Array = np.zeros(3)
        free = slice(0, 2 if planar else 3)
        force[free] = np.linalg.solve(J[free] @ mobility[free].T, -drift[free])
        if drift[0] < 0.0 and math.hypot(force[1], force[2]) <= mu[0] * force[0]:
            generalized = a + mobility.T @ force
            return generalized, J @ generalized + bias, force[None], u
    force_n = N.copy()
    for c in np.flatnonzero(sliding):
        force_n[c] -= mu[c] * (u[3 * c + 1] * T1[c] + u[3 * c + 2] * T2[c]) / slip[c]
    count = 2 if planar else _CONE_EDGES
    angles = 2 * np.pi * np.arange(count) / count
    nb, ns = len(sticky) * count, len(sticky)
    edges = np.zeros((nb, 3 * nc))
    for k, c in enumerate(sticky):
        block = edges[k * count : (k + 1) * count]
        if planar:  # the tangent is in the plane
            block[:, 3 * c + 1] = 1.0, -1.0
        else:
            block[:, 3 * c + 1], block[:, 3 * c + 2] = np.cos(edge[c] + angles), np.sin(edge[c] + angles)
    push = np.concatenate([force_n, edges @ mobility])
    M = np.zeros((nc + nb + ns, nc + nb + ns))
    M[: nc + nb, : nc + nb] = np.concatenate([J[0::3], edges @ J]) @ push.T
    E = np.kron(np.eye(ns), np.ones((count, 1)))
    M[nc : nc + nb, nc + nb :] = E
    M[nc + nb :, nc : nc + nb] = -E.T
    M[nc + nb + np.arange(ns), sticky] = mu[sticky]
    q = np.concatenate([drift[0::3], edges @ drift, np.zeros(ns)])
    magnitude = float(np.abs(q).max(initial=0.0))
    if magnitude == 0.0:
        z = np.zeros(len(q))
    else:
        solution = solve_lcp(M, q)
        if not solution.solved:
            names = ", ".join(contacts.model.scene.bodies[b].name or "?" for b in contacts.bodies)
            raise ContactForceError(
                f"no contact forces keep {names} apart (acceleration-level problem without solution); "
                "lower the friction or use a law that jams the contact in an impact"
            )
        z = solution.z
    generalized = a + push.T @ z[: nc + nb]
    force = (z[nc : nc + nb] @ edges).reshape(nc, 3)
    force[:, 0] = z[:nc]
    return generalized, J @ generalized + bias, force, u


def contact_mode(contacts: ContactSet, states: Array) -> ContactMode | None:
    """The mode in which the island leaves this state, or None where no contact presses.

    The LCP over pyramids proposes which contacts press, stick and start to slip; made exact on the round cone,
    that may contradict itself. The pyramids are then turned until they have edges where friction is.
    """
    edge = np.zeros(len(contacts.patch))
    for attempt in range(_PROPOSALS):
        mode, contradicts = _proposed_mode(contacts, states, edge, 1.0 if attempt == 0 else _SHARPER)
        if mode is None or not contradicts:
            return mode
    return mode


def _proposed_mode(
    everywhere: ContactSet, states: Array, edge: Array, sharpness: float
) -> tuple[ContactMode | None, bool]:
    """A mode as the LCP proposes it, exact on the round cone, and whether it contradicts itself.

    Contacts stick where they accelerate by less than ACCELERATION_MATCH times `sharpness`: one that only just
    starts to slip may have left its cone, though.

    Turns the pyramids in place, so that the friction of this mode is along one of their edges.
    """
    J, bias, _, _ = everywhere.rows(states)
    bearing = spread_contacts(everywhere.model, everywhere.patch)
    while True:  # contacts left out join where the motion would close them
        contacts = everywhere.chosen(bearing)
        generalized, acceleration, proposed, u = solve_accelerations(contacts, states, edge[bearing])
        elsewhere = (J @ generalized + bias)[0::3]
        missed = ~bearing & (elsewhere < -ACCELERATION_MATCH * max(1.0, float(np.abs(elsewhere).max())))
        if not missed.any():
            break
        bearing[np.argsort(np.where(missed, elsewhere, np.inf))[: min(4, int(missed.sum()))]] = True
    normal_force = proposed[:, 0]
    if not normal_force.any() or normal_force.max() <= 0.0:
        return None, False
    scale = max(float(np.linalg.norm(contacts.model.gravity)), float(np.abs(acceleration).max()), 1e-300)
    tolerance = ACCELERATION_MATCH * scale
    slip = np.hypot(u[1::3], u[2::3])
    starting = np.hypot(acceleration[1::3], acceleration[2::3])
    sliding = slip > SLIP_SPEED
    stick = ~sliding & (starting <= sharpness * tolerance) & (contacts.friction > 0)
    direction = np.zeros((len(stick), 2))
    for c in np.flatnonzero(~stick):
        if sliding[c]:
            direction[c] = u[3 * c + 1 : 3 * c + 3] / slip[c]
        elif starting[c] > 0.0:
            direction[c] = acceleration[3 * c + 1 : 3 * c + 3] / starting[c]
    # a contact that only just closes may be pulled if it is held: then only those that press, as the LCP found;
    # and where forces are not unique, those of least norm may pull or leave the cone
    pressing = normal_force > 0.0
    for closed, limit, near in (
        ((acceleration[0::3] <= tolerance) | pressing, tolerance, False),
        (pressing, 1e-4 * tolerance, False),
        (pressing, 1e-4 * tolerance, True),
    ):
        chosen = contacts.chosen(closed)
        sticks, slides, along = stick[closed], sliding[closed], direction[closed]
        reference = proposed[closed].ravel() if near else np.zeros(3 * len(sticks))
        _make_exact(chosen, states, sticks, slides, along, reference)
        held = elsewhere <= limit
        held[bearing] = closed | (acceleration[0::3] <= limit)
        follows = np.zeros(len(sticks), dtype=bool)
        mode = ContactMode(chosen, everywhere.patch.chosen(held), sticks, slides, along, follows, reference)
        if near:
            mode = replace(mode, reference=_inner_forces(mode, states))
        motion = ContactMotion(slip_now(mode, states))
        generalized, force = motion.forces(states)
        opening = (J @ generalized + bias)[0::3]
        if motion.ended(states) is None and opening.min() >= -10.0 * tolerance:
            return mode, False
    friction = force.reshape(-1, 3)[:, 1:]
    pulls = friction.any(axis=1)
    where = np.flatnonzero(bearing)[closed][pulls]
    edge[where] = np.arctan2(friction[pulls, 1], friction[pulls, 0])
    return mode, True


def _inner_forces(mode: ContactMode, states: Array) -> Array:
    """Forces (3 nc,) that move bodies as those nearest to the mode's reference do, but lie deeper in the cones."""
    contacts, stick = mode.contacts, mode.stick
    mode = slip_now(mode, states)
    force = ContactMotion(mode).forces(states)[1].reshape(-1, 3)
    J, _, _, _ = contacts.rows(states)
    push = contacts.free(states, J)[1].reshape(len(force), 3, -1).copy()
    push[~stick, 0] -= contacts.friction[~stick, None] * np.einsum(
        "ck,ckj->cj", mode.direction[~stick], push[~stick, 1:]
    )
    used = np.ones((len(force), 3), dtype=bool)
    used[~stick, 1:] = False
    _, sizes, directions = np.linalg.svd(push[used].T)
    rank = int((sizes > FORCE_RANK * sizes.max(initial=0.0)).sum())
    idle = directions[rank:].T  # combinations of forces that do nothing
    if not idle.shape[1]:
        return force.ravel()
    total = max(float(force[:, 0].sum()), 1e-300)
    weight = np.full(force.shape, 1.0 / total)
    weight[stick, 1:] = 1.0 / np.maximum(force[stick, :1], 1e-3 * total)
    change = np.zeros(force.shape)
    change[used] = (
        -idle @ np.linalg.lstsq(weight[used][:, None] * idle, (weight * force)[used], rcond=None)[0]
    )
    for part in (1.0, 0.5, 0.25, 0.1, 0.01):
        inner = force + part * change
        room = contacts.friction * inner[:, 0] - np.linalg.norm(inner[:, 1:], axis=1) * stick
        if inner[:, 0].min() >= 0.0 and room.min() >= 0.0:
            return inner.ravel()
    return force.ravel()


def _make_exact(
    contacts: ContactSet,
    states: Array,
    stick: NDArray[np.bool_],
    sliding: NDArray[np.bool_],
    direction: Array,
    reference: Array,
) -> None:
    """Correct in place what the pyramid only guesses about contacts that start to slip.

    Their directions become those in which friction on the exact cone makes them accelerate (any other would
    be singular at once); a contact that friction on the exact cone holds back sticks.
    """
    J, bias, _, _ = contacts.rows(states)
    a, mobility = contacts.free(states, J)
    for _ in range(len(stick) + 1):
        starting = np.flatnonzero(~stick & ~sliding & (contacts.friction > 0))
        pull = _settle_directions(
            J, mobility, bias, a, stick, direction, contacts.friction, reference, starting
        )
        held = np.einsum("ck,ck->c", pull, direction[starting]) <= 0.0
        if not held.any():
            return
        stick[starting[held]] = True


def _settle_directions(
    J: Array, mobility: Array, bias: Array, a: Array, stick: NDArray[np.bool_], direction: Array,
    friction: Array, reference: Array, which: NDArray[np.int64],
) -> Array:  # fmt: skip
    """Turn in place the directions of `which` contacts to where slow slip turns; slip accelerations (k, 2)."""
    mode = contact_kernels.Mode(
        _NO_ENDS, _NO_GEOMETRY, stick, direction, np.zeros(len(stick), dtype=bool), friction, reference
    )
    if not len(which):
        return np.zeros((0, 2))
    direction[:], pull = contact_kernels.settled_directions(J, mobility, bias, a, mode, which)
    return np.asarray(pull)


def free_mode(contacts: ContactSet) -> ContactMode:
    """The mode of bodies that joints or forces move and that no contact touches."""
    none = np.zeros(0, dtype=bool)
    return ContactMode(contacts, contacts.patch, none, none, np.zeros((0, 2)), none, np.zeros(0))


def slip_now(mode: ContactMode, states: Array) -> ContactMode:
    """The same mode with slip directions as they are at these states.

    Very slow slip takes the direction to which it turns at once, if that is nearly where it goes. In a planar scene
    slip cannot turn, so that friction is smooth up to the end of slip.
    """
    contacts = mode.contacts
    J, bias, u, _ = contacts.rows(states)
    slip = u.reshape(-1, 3)[:, 1:]
    speed = np.linalg.norm(slip, axis=1)
    sliding = ~mode.stick & (speed > SLIP_SPEED)
    direction = mode.direction.copy()
    direction[sliding] = slip[sliding] / speed[sliding, None]
    if not contacts.can_turn:
        return replace(mode, sliding=sliding, direction=direction, follows=np.zeros_like(sliding))
    follows = sliding & (speed > HELD_SLIP)
    slow = np.flatnonzero(sliding & ~follows & (contacts.friction > 0))
    if len(slow):
        settled = direction.copy()
        a, mobility = contacts.free(states, J)
        pull = _settle_directions(
            J, mobility, bias, a, mode.stick, settled, contacts.friction, mode.reference, slow
        )
        # where nothing pulls along the new direction, slip is not free to turn there (held elsewhere)
        along = np.abs(np.einsum("ck,ck->c", pull, settled[slow]))
        turns = along > 1e-3 * float(np.linalg.norm(contacts.model.gravity))
        near = slow[turns & (np.einsum("ck,ck->c", settled[slow], direction[slow]) > 0.5)]
        direction[near] = settled[near]
    return replace(mode, sliding=sliding, direction=direction, follows=follows)


def stopped(contacts: ContactSet, states: Array, slow: float) -> Array:
    """States nearest (in the kinetic metric) with all gaps and normal velocities zero, and no slip below `slow`
    [m/s] where there is friction."""
    contacts = contacts.chosen(distinct_contacts(contacts.model, contacts.patch))
    u = contacts.rows(states)[2]
    still = (np.hypot(u[1::3], u[2::3]) <= slow) & (contacts.friction > 0)
    return contact_kernels.hold_closed(states, contacts.system, contacts.ends, contacts.geometry, still)


def hold_closed(mode: ContactMode, states: Array) -> Array:
    """States nearest (in the kinetic metric) with the mode's gaps zero and held velocities zero."""
    contacts = mode.contacts
    return contact_kernels.hold_closed(states, contacts.system, contacts.ends, contacts.geometry, mode.stick)


def _collocation() -> tuple[Any, Any, Any]:
    """Chebyshev-Lobatto nodes on [0, 1], integration matrix from 0, and Vandermonde matrix of powers."""
    s = 0.5 * (1.0 - np.cos(np.pi * np.arange(_NODES) / (_NODES - 1)))
    V = np.polynomial.chebyshev.chebvander(2 * s - 1, _NODES - 1)
    integrals = np.empty_like(V)
    for k in range(_NODES):
        unit = np.zeros(_NODES)
        unit[k] = 1.0
        antiderivative = np.polynomial.chebyshev.chebint(unit, lbnd=-1)
        integrals[:, k] = 0.5 * np.polynomial.chebyshev.chebval(2 * s - 1, antiderivative)
    return s, np.linalg.solve(V.T, integrals.T).T, np.vander(s, _NODES, increasing=True)


_S, _INTEGRATE, _POWERS = _collocation()
_TAIL = np.linalg.inv(np.polynomial.chebyshev.chebvander(2 * _S - 1, _NODES - 1))[-2:]


@dataclass(frozen=True, eq=False)
class ContactStep:
    """One step: coefficients (m, 13, TERMS), span [s], what ends it (None: nothing), a span to try next.

    work : (POWERS, NODES + 1), polynomials in time of the work done since its start, see `step_powers`; or None
    """

    coefficients: Array
    span: float
    change: EventKind | None
    next_span: float
    work: Array | None = None


class ContactMotion:
    """Integrates one mode step by step."""

    def __init__(self, mode: ContactMode, integrator: Integrator = _DEFAULT):
        self.mode = mode
        self.integrator = integrator
        c = mode.contacts
        self._mode = contact_kernels.Mode(
            c.ends, c.geometry, mode.stick, mode.direction, mode.follows, c.friction, mode.reference
        )

    def _at(self, states: Array, later: float = 0.0) -> tuple[Array, Array, Array, bool]:
        """Generalized acceleration, contact forces, contact velocity and uniqueness of the forces at states."""
        c = self.mode.contacts
        return contact_kernels.motion_of_mode(states, c.system, self._mode, c.applied(states, later))

    def step(self, states: Array, span: float, guess: float = math.inf) -> ContactStep:
        """The longest accurate step of at most `span` and `guess`, or of fixed length, cut where the mode ends."""
        fixed = self.integrator.fixed_step
        h = min(span, self._held_time(states), fixed or min(guess, self.integrator.largest_step))
        nodes = np.empty((_NODES, *states.shape))
        while True:
            iterations = self._collocate(states, h, nodes)
            if iterations and (h <= _SHORT_STEP or self._turns_little(nodes[0], nodes[-1])):
                break
            if not iterations and self._goes_straight(states, h):
                iterations = self._straight_step(states, h, nodes)
                if iterations:
                    break
            h *= 0.5
            if h < _SMALLEST_STEP:
                raise ContactForceError(
                    "motion in contact or on joints could not be integrated: its equations are singular here"
                )
        coefficients = np.zeros((*states.shape, kernels.TERMS))
        powers = np.linalg.solve(_POWERS, nodes.reshape(_NODES, -1))
        scale = h ** -np.arange(_NODES, dtype=float)
        coefficients[..., :_NODES] = np.moveaxis(
            (powers * scale[:, None]).reshape(_NODES, *states.shape), 0, -1
        )
        coefficients[..., 0] = states
        step = self._cut(coefficients, nodes, h, h * (2.0 if iterations <= _EASY_ITERATIONS else 1.0))
        return replace(step, work=self._work(nodes, h, scale))

    def _work(self, nodes: Array, h: float, scale: Array) -> Array | None:
        """Work of what has no potential over a step of h [s], or None where there is nothing that does any."""
        contacts = self.mode.contacts
        system, functions = contacts.system, contacts.model.scene.force_functions
        slides = bool((~self.mode.stick & (contacts.friction > 0)).any())
        if not (slides or functions or len(system.force_ends) or system.drag.any()):
            return None
        applied = np.stack([contacts.applied(node, h * s) for s, node in zip(_S, nodes, strict=True)])
        powers = contact_kernels.step_powers(nodes, system, self._mode, applied)
        series = np.linalg.solve(_POWERS, powers) * scale[:, None]
        work = np.zeros((contact_kernels.POWERS, _NODES + 1))
        work[:, 1:] = series.T / np.arange(1, _NODES + 1)
        return work

    def _collocate(self, states: Array, h: float, nodes: Array) -> int:
        """Fill nodes (NODES, m, 13) with the solution over h [s]; iterations, 0 where there is none so long.

        Forces that only Python knows are held at the nodes while the kernel solves, until they change no more.
        """
        contacts = self.mode.contacts
        nodes[:] = states
        before = nodes
        for _ in range(_FORCE_ROUNDS):
            applied = np.stack([contacts.applied(node, h * s) for s, node in zip(_S, nodes, strict=True)])
            before = nodes.copy()
            iterations = int(
                contact_kernels.collocated_step(
                    *(states, h, _INTEGRATE, _TAIL, contacts.system, self._mode, applied),
                    *(self.integrator.accuracy, self.integrator.rest, nodes),
                )
            )
            change = float(np.abs(nodes - before).max())
            if not iterations or not contacts.model.scene.force_functions:
                return iterations
            if change <= FORCE_FUNCTION_MATCH * (1.0 + float(np.abs(nodes).max())):
                return iterations
        return 0

    def _goes_straight(self, states: Array, h: float) -> bool:
        """Whether no slip that friction follows begins to turn within h [s]."""
        mode = self.mode
        if not mode.follows.any():
            return False
        J, bias, _, _ = mode.contacts.rows(states)
        change = h * (J @ self._at(states)[0] + bias)
        return bool(_across(mode, change).max() <= STRAIGHT_SLIP)

    def _straight_step(self, states: Array, h: float, nodes: Array) -> int:
        """As `_collocate`, with friction along the slip of now, for slip that stays on its line over the step.

        Friction that follows slip is not smooth where that stops; this is, and slip that stops turns back, which
        ends the mode. From a step so found on, friction keeps these directions.
        """
        mode = self.mode
        straight = ContactMotion(replace(mode, follows=np.zeros_like(mode.follows)), self.integrator)
        iterations = straight._collocate(states, h, nodes)
        if not (iterations and (h <= _SHORT_STEP or straight._turns_little(nodes[0], nodes[-1]))):
            return 0
        if any(_across(mode, mode.contacts.rows(node)[2]).max() > STRAIGHT_SLIP for node in nodes[1:]):
            return 0
        self.mode, self._mode = straight.mode, straight._mode
        return iterations

    def _held_time(self, states: Array) -> float:
        """How long slip that keeps its direction of friction stays slow [s]."""
        held = ~self.mode.stick & ~self.mode.follows & (self.mode.contacts.friction > 0)
        if not (held.any() and self.mode.contacts.can_turn):
            return math.inf
        J, bias, _, _ = self.mode.contacts.rows(states)
        motion, _, _, _ = self._at(states)
        pull = np.linalg.norm((J @ motion + bias).reshape(-1, 3)[held, 1:], axis=1).max()
        return 2.0 * HELD_SLIP / pull if pull > 0.0 else math.inf

    def _turns_little(self, before: Array, after: Array) -> bool:
        """Whether held slip goes on nearly along the direction that friction has over the step."""
        mode = self.mode
        if not mode.contacts.can_turn:
            return True
        gained = (mode.contacts.rows(after)[2] - mode.contacts.rows(before)[2]).reshape(-1, 3)[:, 1:]
        speed = np.linalg.norm(mode.contacts.rows(after)[2].reshape(-1, 3)[:, 1:], axis=1)
        across = np.abs(gained[:, 0] * mode.direction[:, 1] - gained[:, 1] * mode.direction[:, 0])
        held = ~mode.stick & ~mode.follows & (mode.contacts.friction > 0)
        return not np.any(held & (across > HELD_TURN * np.maximum(speed, HELD_SLIP)))

    def forces(self, states: Array) -> tuple[Array, Array]:
        """Generalized accelerations and contact forces (3 nc,), of least norm where they are not unique."""
        return self._at(states)[:2]

    def ended(self, states: Array, later: float = 0.0) -> EventKind | None:
        """What the mode no longer satisfies at these states, `later` [s] than its start.

        Where contact forces are not unique, other ones that do the same may satisfy it.
        """
        mode = self.mode
        motion, force, u, unique = self._at(states, later)
        code = contact_kernels.mode_ends(force, u, self._mode, mode.sliding)
        if code == contact_kernels.CONTINUES:
            return None
        if not unique and code != contact_kernels.STICKS and self._can_be(motion, states, u):
            return None
        return _CHANGES[code]

    def _can_be(self, motion: Array, states: Array, u: Array) -> bool:
        """Whether forces in the friction cones can give this motion."""
        contacts = self.mode.contacts
        J, _, _, _ = contacts.rows(states)
        free, mobility = contacts.free(states, J)
        slip = self.mode.direction.copy()
        fast = self.mode.follows
        slip[fast] = u.reshape(-1, 3)[fast, 1:]
        slip[fast] /= np.linalg.norm(slip[fast], axis=1)[:, None]
        slip[self.mode.stick] = 0.0
        _, left = cone_forces(mobility.T, motion - free, contacts.friction, slip)
        scale = max(float(np.abs(motion).max()), float(np.abs(motion - free).max()))
        return bool(np.abs(left).max() <= FORCE_MARGIN * scale)

    def _cut(self, coefficients: Array, nodes: Array, h: float, next_span: float) -> ContactStep:
        good = 0.0
        for s, states in zip(_S[1:] * h, nodes[1:], strict=True):
            leaves, kind = self._leaves(states, float(s))
            if not leaves:
                good = float(s)
                continue
            bad = float(s)
            while bad - good > 1e-13 + 1e-15 * bad:
                middle = 0.5 * (good + bad)
                if middle in (good, bad):
                    break
                leaves, found = self._leaves(_evaluated(coefficients, middle), middle)
                if leaves:
                    bad, kind = middle, found
                else:
                    good = middle
            return ContactStep(coefficients, bad, kind, next_span)
        return ContactStep(coefficients, h, None, next_span)

    def _leaves(self, states: Array, later: float) -> tuple[bool, EventKind | None]:
        """Whether a step must end here, and the event that this is."""
        kind = self.ended(states, later)
        c = self.mode.contacts
        return kind is not None or c.model.articulation.drives_change(
            c.model, c.bodies, c.system, states
        ), kind


def _across(mode: ContactMode, u: Array) -> Array:
    """Components of contact vectors (3 nc,) across the slip of contacts whose friction follows it."""
    slip = u.reshape(-1, 3)[mode.follows, 1:]
    direction = mode.direction[mode.follows]
    return np.abs(slip[:, 0] * direction[:, 1] - slip[:, 1] * direction[:, 0])


def first_limit(contacts: ContactSet, coefficients: Array, span: float, held: NDArray[np.bool_]) -> float:
    """When, within `span` [s] of a step, the first limit of a joint not `held` (limits,) is reached; inf for none.

    The gap of each is interpolated at Chebyshev points; between the extrema of that it is monotone, so no crossing
    is missed that the step itself resolves.
    """
    model = contacts.model
    which, ends, geometry = model.articulation.limits_among(model, contacts.bodies)
    first = math.inf
    free = np.flatnonzero(~held[which])
    if not len(free):
        return first

    def gaps(tau: float) -> Array:
        return np.asarray(joint_rows(_evaluated(coefficients, tau), ends[free], geometry[free])[3])

    points = 0.5 * span * (1.0 - np.cos(np.pi * np.arange(_GAP_POINTS) / (_GAP_POINTS - 1)))
    values = np.array([gaps(tau) for tau in points])
    for column in range(len(free)):
        series = np.polynomial.Chebyshev.fit(points, values[:, column], _GAP_POINTS - 1, domain=[0.0, span])
        if values[:, column].min() > np.abs(np.diff(values[:, column])).max():
            continue  # far from it
        turns = series.deriv().roots()
        turns = np.sort(
            turns.real[(np.abs(turns.imag) < 1e-9 * span) & (turns.real > 0) & (turns.real < span)]
        )
        before = 0.0
        for tau in [*turns.tolist(), span]:
            if tau > before and float(gaps(tau)[column]) < -LIMIT_GAP:
                low, high = before, tau
                while high - low > 1e-13 + 1e-15 * high:
                    middle = 0.5 * (low + high)
                    if middle in (low, high):
                        break
                    if float(gaps(middle)[column]) < 0.0:
                        high = middle
                    else:
                        low = middle
                first = min(first, high)
                break
            before = tau
    return first


def _evaluated(coefficients: Array, tau: float) -> Array:
    return np.array([kernels.evaluate_piece(body, tau) for body in coefficients])
