"""Bodies that stay in contact: which contacts press, stick and slide, and the motion until that changes.

Provisional first version. At a time one acceleration-level LCP (friction pyramid) decides the mode; the
equations of that mode are integrated by Chebyshev collocation, so that a step is one polynomial (its own
dense output). Friction turns with the slip, except that very slow slip
keeps its direction over one short step: the equations are stiff there, and the error is of first order.
A step that the LCP no longer confirms ends at the time where it stops doing so.
"""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..impact_laws import solve_lcp
from . import contact_kernels, kernels
from .event import ContactPatch, EventKind
from .state import Array, Model
from .tolerances import (
    ACCELERATION_MATCH,
    CHATTER_SLIP,
    CHATTER_TIME,
    COLLOCATION_ACCURACY,
    FORCE_MARGIN,
    REST_ACCELERATION,
    REST_SPEED,
    SLIP_SPEED,
    SLOW_SLIP,
)

_CONE_EDGES = 8
_NODES = 10
_LARGEST_STEP = 0.1
_SMALLEST_STEP = 1e-9
_SHORT_STEP = 1e-4  # [s] the slip direction may turn freely over a step this short
_LARGEST_TURN = 0.02  # [rad] turn of the slip direction over one step


class ContactForceError(Exception):
    """No contact forces satisfy the acceleration-level problem; the text says where."""


@dataclass(frozen=True, eq=False)
class ContactSet:
    """Touching contacts among the movable bodies `bodies` of one island, as the kernels read them."""

    model: Model
    bodies: NDArray[np.int64]
    patch: ContactPatch
    friction: Array
    P: NDArray[np.int64]
    F: NDArray[np.int64]
    p: Array
    radius: Array
    normal: Array
    tangent: Array
    f: Array
    radius_f: Array
    is_round: NDArray[np.bool_]

    @classmethod
    def of_patch(cls, model: Model, patch: ContactPatch, friction: Array, states: Array) -> "ContactSet":
        """Attach the contacts of a patch to the bodies that carry them."""
        bodies = np.array(sorted({int(b) for b in patch.bodies.ravel() if model.movable[b]}), dtype=np.int64)
        local = {int(body): k for k, body in enumerate(bodies)}
        nc = len(patch)
        P, F = np.zeros(nc, dtype=np.int64), np.zeros(nc, dtype=np.int64)
        p, normal, tangent, f = (np.zeros((nc, 3)) for _ in range(4))
        radius, radius_f = np.zeros(nc), np.zeros(nc)
        is_round = np.zeros(nc, dtype=bool)
        for c in range(nc):
            a, b = (int(body) for body in patch.bodies[c])
            n, t, point, gap = patch.normal[c], patch.tangent[c], patch.point[c], patch.gap[c]
            shape_a, shape_b = model.shapes[a], model.shapes[b]
            assert shape_a is not None
            flat_b = model.planes[b] is not None or (shape_b is not None and len(shape_b.normals) > 0)
            point_body, face_body, sign = (a, b, 1.0) if flat_b else (b, a, -1.0)
            if not flat_b and not len(shape_a.normals):
                is_round[c] = True
                point_body, face_body, sign = a, b, 1.0
            if not model.movable[point_body]:  # the carried side must move: let the other carry the normal
                point_body, face_body, sign = face_body, point_body, -sign
            round_p, round_f = model.shapes[point_body], model.shapes[face_body]
            assert round_p is not None
            radius[c] = round_p.radius
            radius_f[c] = round_f.radius if round_f is not None else 0.0
            outward = sign * n
            R = kernels.rotation_matrix(states[point_body, 3:7])
            surface_p = point + 0.5 * gap * outward if model.planes[b] is None else point + gap * outward
            surface_f = point - 0.5 * gap * outward if model.planes[b] is None else point
            p[c] = R.T @ (surface_p + radius[c] * outward - states[point_body, :3])
            on_face = surface_f - (radius_f[c] * outward if is_round[c] else 0.0)
            P[c], F[c] = local[point_body], local.get(face_body, -1)
            if F[c] >= 0:
                RF = kernels.rotation_matrix(states[face_body, 3:7])
                normal[c], tangent[c] = RF.T @ outward, RF.T @ t
                f[c] = RF.T @ (on_face - states[face_body, :3])
            else:
                normal[c], tangent[c], f[c] = outward, t, on_face
        return cls(model, bodies, patch, friction, P, F, p, radius, normal, tangent, f, radius_f, is_round)

    def chosen(self, which: NDArray[np.bool_]) -> "ContactSet":
        """The contacts that a mask selects, for the same bodies."""
        fields = ["friction", "P", "F", "p", "radius", "normal", "tangent", "f", "radius_f", "is_round"]
        return replace(
            self, patch=self.patch.chosen(which), **{name: getattr(self, name)[which] for name in fields}
        )

    def rows(self, states: Array) -> tuple[Array, Array, Array, Array]:
        """Jacobian, acceleration bias, contact velocity, gaps at island states (m, 13)."""
        return contact_kernels.contact_rows(
            states, self.P, self.F, self.p, self.radius, self.normal, self.tangent, self.f, self.radius_f,
            self.is_round,
        )  # fmt: skip

    def free(self, states: Array) -> tuple[Array, Array]:
        """Generalized acceleration without contact, inverse mass."""
        model = self.model
        return contact_kernels.free_accelerations(
            states, model.inverse_mass[self.bodies], model.inertia[self.bodies],
            model.inverse_inertia[self.bodies], model.gravity,
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class ContactMode:
    """Contacts that press, which stick or already slide, and the slip direction (nc, 2) of the others."""

    contacts: ContactSet
    stick: NDArray[np.bool_]
    sliding: NDArray[np.bool_]
    direction: Array
    follows: NDArray[np.bool_]
    """Sliding fast enough for friction to turn with the slip within a step."""
    forced: bool = False
    """Slow contacts are held although the cone would let them slip, because they chatter between both."""


def solve_accelerations(contacts: ContactSet, states: Array) -> tuple[Array, Array, Array, Array]:
    """Accelerations of closed contacts from one LCP: (generalized, contact, normal forces, contact velocity).

    The normal forces and separation accelerations are complementary; a contact that slips has friction
    against its slip, one that does not has friction in an eight-edged pyramid inside its cone. Raises
    `ContactForceError` where the LCP has no solution.
    """
    J, bias, u, _ = contacts.rows(states)
    a, B = contacts.free(states)
    nc = len(contacts.friction)
    N, T1, T2 = J[0::3], J[1::3], J[2::3]
    slip = np.hypot(u[1::3], u[2::3])
    mu = contacts.friction
    sliding = (slip > SLIP_SPEED) & (mu > 0)
    sticky = np.flatnonzero(~sliding & (mu > 0))
    force_n = N.copy()
    for c in np.flatnonzero(sliding):
        force_n[c] -= mu[c] * (u[3 * c + 1] * T1[c] + u[3 * c + 2] * T2[c]) / slip[c]
    angles = 2 * np.pi * np.arange(_CONE_EDGES) / _CONE_EDGES
    D = np.concatenate(
        [np.outer(np.cos(angles), T1[c]) + np.outer(np.sin(angles), T2[c]) for c in sticky]
        or [np.zeros((0, J.shape[1]))]
    )
    b_D = np.concatenate(
        [np.cos(angles) * bias[3 * c + 1] + np.sin(angles) * bias[3 * c + 2] for c in sticky] or [np.zeros(0)]
    )
    nb, ns = len(D), len(sticky)
    G = np.concatenate([N, D]) @ B @ np.concatenate([force_n, D]).T
    M = np.zeros((nc + nb + ns, nc + nb + ns))
    M[: nc + nb, : nc + nb] = G
    E = np.kron(np.eye(ns), np.ones((_CONE_EDGES, 1)))
    M[nc : nc + nb, nc + nb :] = E
    M[nc + nb :, nc : nc + nb] = -E.T
    M[nc + nb + np.arange(ns), sticky] = mu[sticky]
    q = np.concatenate([N @ a + bias[0::3], D @ a + b_D, np.zeros(ns)])
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
    generalized = a + B @ (force_n.T @ z[:nc] + D.T @ z[nc : nc + nb])
    return generalized, J @ generalized + bias, z[:nc], u


def contact_mode(contacts: ContactSet, states: Array, forced: bool = False) -> ContactMode | None:
    """The mode in which the island leaves this state, or None where no contact presses.

    `forced` holds every contact that slips slower than CHATTER_SLIP.
    """
    _, acceleration, normal_force, u = solve_accelerations(contacts, states)
    if not normal_force.any() or normal_force.max() <= 0.0:
        return None
    a, _ = contacts.free(states)
    scale = max(float(np.abs(a).max()), float(np.abs(acceleration).max()), 1e-300)
    tolerance = ACCELERATION_MATCH * scale
    closed = (acceleration[0::3] <= tolerance) | (normal_force > 0.0)
    slip = np.hypot(u[1::3], u[2::3])
    starting = np.hypot(acceleration[1::3], acceleration[2::3])
    sliding = slip > (CHATTER_SLIP if forced else SLIP_SPEED)
    stick = ~sliding & ((starting <= tolerance) | forced) & (contacts.friction > 0)
    direction = np.zeros((len(closed), 2))
    for c in np.flatnonzero(~stick):
        if sliding[c]:
            direction[c] = u[3 * c + 1 : 3 * c + 3] / slip[c]
        elif starting[c] > 0.0:
            direction[c] = acceleration[3 * c + 1 : 3 * c + 3] / starting[c]
    pressing = contacts.chosen(closed)
    direction = _slip_directions(pressing, states, stick[closed], sliding[closed], direction[closed])
    return ContactMode(pressing, stick[closed], sliding[closed], direction, ~closed[closed], forced)


def _slip_directions(
    contacts: ContactSet, states: Array, stick: NDArray[np.bool_], sliding: NDArray[np.bool_], guess: Array
) -> Array:
    """Slip directions in which friction on the exact cone makes a contact at zero slip accelerate.

    The pyramid of the LCP only guesses them; a direction that slip does not keep would be singular at once.
    """
    starting = np.flatnonzero(~stick & ~sliding & (contacts.friction > 0))
    direction = guess.copy()
    follows = np.zeros(len(stick), dtype=bool)
    if not len(starting):
        return direction
    J, bias, _, _ = contacts.rows(states)
    a, B = contacts.free(states)
    for _ in range(60):
        generalized, _ = contact_kernels.mode_accelerations(
            J, bias, np.zeros(len(J)), a, B, stick, direction, follows, contacts.friction
        )
        contact = J @ generalized + bias
        change = 0.0
        for c in starting:
            pull = contact[3 * c + 1 : 3 * c + 3]
            size = float(np.linalg.norm(pull))
            if size == 0.0:
                continue
            mean = direction[c] + pull / size
            if not mean.any():
                continue
            mean /= np.linalg.norm(mean)
            change = max(change, float(np.abs(mean - direction[c]).max()))
            direction[c] = mean
        if change <= 1e-14:
            break
    return direction


def is_at_rest(contacts: ContactSet, states: Array) -> bool:
    """Whether the island stands still and its contact forces balance."""
    model = contacts.model
    reach = model.size[contacts.bodies]
    speed = np.linalg.norm(states[:, 7:10], axis=1) + reach * np.linalg.norm(states[:, 10:13], axis=1)
    if np.any(speed > REST_SPEED):
        return False
    still = states.copy()
    still[:, 7:13] = 0.0
    parts = solve_accelerations(contacts, still)[0].reshape(-1, 2, 3)
    pull = np.linalg.norm(parts[:, 0], axis=1) + reach * np.linalg.norm(parts[:, 1], axis=1)
    return bool(np.all(pull <= REST_ACCELERATION * (float(np.linalg.norm(model.gravity)) or 1.0)))


def slip_now(mode: ContactMode, states: Array) -> ContactMode:
    """The same mode with slip directions as they are at these states."""
    _, _, u, _ = mode.contacts.rows(states)
    slip = np.hypot(u[1::3], u[2::3])
    sliding = ~mode.stick & (slip > SLIP_SPEED)
    direction = mode.direction.copy()
    direction[sliding] = np.stack([u[1::3], u[2::3]], axis=1)[sliding] / slip[sliding, None]
    return replace(mode, sliding=sliding, direction=direction, follows=sliding & (slip > 10 * SLOW_SLIP))


def hold_closed(contacts: ContactSet, mode: ContactMode, states: Array, starting: bool) -> Array:
    """States nearest (in the kinetic metric) with the mode's gaps zero and held velocities zero.

    Where the mode is `starting`, slip too slow to have a direction is taken as none.
    """
    result = states.copy()
    for _ in range(2):
        J, _, _, gap = mode.contacts.rows(result)
        _, B = mode.contacts.free(result)
        N = J[0::3]
        step = -B @ N.T @ np.linalg.pinv(N @ B @ N.T, rcond=1e-11, hermitian=True) @ gap
        for k in range(len(result)):
            result[k, 0:3] += step[6 * k : 6 * k + 3]
            result[k, 3:7] = _turned(result[k, 3:7], step[6 * k + 3 : 6 * k + 6])
    J, _, u, _ = mode.contacts.rows(result)
    _, B = mode.contacts.free(result)
    held = np.zeros(len(u), dtype=bool)
    held[0::3] = True
    still = mode.stick.copy()
    if starting:
        still |= (np.hypot(u[1::3], u[2::3]) <= SLIP_SPEED) & (mode.contacts.friction > 0)
    held[1::3] = held[2::3] = still
    rows = J[held]
    change = -B @ rows.T @ np.linalg.pinv(rows @ B @ rows.T, rcond=1e-11, hermitian=True) @ u[held]
    for k in range(len(result)):
        R = kernels.rotation_matrix(result[k, 3:7])
        result[k, 7:10] += change[6 * k : 6 * k + 3]
        result[k, 10:13] += R.T @ change[6 * k + 3 : 6 * k + 6]
    return result


def _turned(q: Array, angle: Array) -> Array:
    """Orientation turned by a small rotation vector [rad], world axes."""
    size = float(np.linalg.norm(angle))
    if size == 0.0:
        return q
    w, v = math.cos(0.5 * size), math.sin(0.5 * size) * angle / size
    turned = np.concatenate([[w * q[0] - v @ q[1:]], w * q[1:] + q[0] * v + np.cross(v, q[1:])])
    return turned / np.linalg.norm(turned)


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
    """One step: coefficients (m, 13, TERMS), its span [s], and what ends it (None: nothing)."""

    coefficients: Array
    span: float
    change: EventKind | None


class ContactMotion:
    """Integrates one mode step by step."""

    def __init__(self, mode: ContactMode):
        self.mode = mode

    def _field(self, nodes: Array) -> tuple[Array, Array, Array, Array, Array]:
        c, model = self.mode.contacts, self.mode.contacts.model
        return contact_kernels.mode_field(
            nodes, c.P, c.F, c.p, c.radius, c.normal, c.tangent, c.f, c.radius_f, c.is_round,
            self.mode.stick, self.mode.direction, self.mode.follows, c.friction, model.inverse_mass[c.bodies],
            model.inertia[c.bodies], model.inverse_inertia[c.bodies], model.gravity,
        )  # fmt: skip

    def step(self, states: Array, span: float, guess: float = _LARGEST_STEP) -> ContactStep:
        """The longest accurate step of at most `span` and `guess`, cut where the mode ends."""
        h = min(span, CHATTER_TIME if self.mode.forced else min(guess, _LARGEST_STEP))
        while True:
            nodes = self._collocated(states, h)
            if nodes is not None and (h <= _SHORT_STEP or self._turns_little(nodes[-1])):
                break
            h *= 0.5
            if h < _SMALLEST_STEP:
                raise ContactForceError(
                    "motion in contact could not be integrated: its equations are singular here"
                )
        coefficients = np.zeros((*states.shape, kernels.TERMS))
        powers = np.linalg.solve(_POWERS, nodes.reshape(_NODES, -1))
        scale = h ** -np.arange(_NODES, dtype=float)
        coefficients[..., :_NODES] = np.moveaxis(
            (powers * scale[:, None]).reshape(_NODES, *states.shape), 0, -1
        )
        coefficients[..., 0] = states
        return self._cut(coefficients, nodes, h)

    def _turns_little(self, states: Array) -> bool:
        """Whether slip still runs nearly along the direction that friction had over the step."""
        mode = self.mode
        slip = mode.contacts.rows(states)[2].reshape(-1, 3)[:, 1:]
        speed = np.linalg.norm(slip, axis=1)
        across = np.abs(slip[:, 0] * mode.direction[:, 1] - slip[:, 1] * mode.direction[:, 0])
        return not np.any(
            ~mode.stick & ~mode.follows & (mode.contacts.friction > 0) & (across > _LARGEST_TURN * speed)
        )

    def _collocated(self, states: Array, h: float) -> Array | None:
        nodes = np.broadcast_to(states, (_NODES, *states.shape)).copy()
        scale = 1.0 + np.abs(states).max()
        previous = np.inf
        for _ in range(40):
            derivative = self._field(nodes)[0].reshape(_NODES, -1)
            following = states + (h * (_INTEGRATE @ derivative)).reshape(nodes.shape)
            following[0] = states
            change = float(np.abs(following - nodes).max()) / scale
            nodes = following
            if not np.isfinite(change) or change > max(10.0, 4.0 * previous):
                return None
            if change <= COLLOCATION_ACCURACY:
                break
            previous = change
        else:
            return None
        tail = _TAIL @ nodes.reshape(_NODES, -1)
        return nodes if float(np.abs(tail).max()) <= 10 * COLLOCATION_ACCURACY * scale else None

    def _broken(self, states: Array) -> EventKind | None:
        """What the mode no longer satisfies at these states; the LCP confirms (forces may not be unique)."""
        mode = self.mode
        _, force, slip, _, motion = (part[0] for part in self._field(states[None]))
        normal = force[0::3]
        largest = max(float(np.abs(normal).max()), 1e-300)
        if mode.forced:
            return EventKind.LIFT_OFF if force[0::3].max() <= 0.0 else None
        for c in np.flatnonzero(~mode.stick & (mode.contacts.friction > 0)):
            along = slip[3 * c + 1 : 3 * c + 3] @ mode.direction[c]
            if along < (0.5 * SLIP_SPEED if mode.sliding[c] else -0.5 * SLIP_SPEED):
                return EventKind.STICK
        kind = None
        if normal.min() < -FORCE_MARGIN * largest:
            kind = EventKind.LIFT_OFF
        else:
            drag = np.hypot(force[1::3], force[2::3])
            limit = mode.contacts.friction * math.cos(math.pi / _CONE_EDGES) * normal
            if np.any(mode.stick & (drag > limit + FORCE_MARGIN * largest)):
                kind = EventKind.SLIP
        if kind is None:
            return None
        wanted, *_ = solve_accelerations(mode.contacts, states)
        scale = max(float(np.abs(motion).max()), float(np.abs(wanted).max()))
        return kind if float(np.abs(wanted - motion).max()) > 10 * ACCELERATION_MATCH * scale else None

    def _cut(self, coefficients: Array, nodes: Array, h: float) -> ContactStep:
        good = 0.0
        for s, states in zip(_S[1:] * h, nodes[1:], strict=True):
            kind = self._broken(states)
            if kind is None:
                good = float(s)
                continue
            bad = float(s)
            while bad - good > 1e-13 + 1e-15 * bad:
                middle = 0.5 * (good + bad)
                if middle in (good, bad):
                    break
                found = self._broken(_evaluated(coefficients, middle))
                if found is None:
                    good = middle
                else:
                    bad, kind = middle, found
            return ContactStep(coefficients, bad, kind)
        return ContactStep(coefficients, h, None)


def _evaluated(coefficients: Array, tau: float) -> Array:
    return np.array([kernels.evaluate_piece(body, tau) for body in coefficients])
