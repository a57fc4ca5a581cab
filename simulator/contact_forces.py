"""Forces of lasting contact and of joints at any time of a run, from its motion.

A recording keeps motion, not forces. Forces follow from it: what gravity, drag and functions of the user leave of
mass times acceleration is done by what touches and by joints. Contacts at that time are found anew; those that
slide push against their slip on the edge of the friction cone, others anywhere inside it. Of several answers the
one with the least sum of squares is given, and marked as not unique. What no forces in the cones explain is told,
which is a check of the motion that does not depend on how it was made. (Rows of forces with every piece of motion
would make recordings a third larger, and know forces at ends of steps only.)
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import lsq_linear
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from ..bodies.joints import PlacedJoint
from .collision.pairs import contact_patch, contact_rows, reach_of_pairs
from .engine.tables_kernels import IMPLICIT, STILL
from .event import ContactPatch
from .movers.joint_kernels import joint_rows
from .python_parts import given_forces
from .state import Array, Model, State, rotation_matrices
from .tolerances import CONTACT_GAP, FORCE_RANK, SLIDES

if TYPE_CHECKING:
    from .record.trajectory import Trajectory

Wholes = NDArray[np.int64]
_ROUNDS = 5000
_EXACT = 1e-12  # of the largest force: how far forces are from the cones
_INSIDE = 1e-9  # of a force: nearer to the edge of its cone it is on it
_JOINTS_HELD = 1e-9  # m or rad: limits of joints this near are reached
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(8)


@dataclass(frozen=True)
class ContactForces:
    """Forces of what touches at one time, k contacts.

    time : [s]
    bodies : (k, 2); forces are on the first body, the second has the opposite
    point : (k, 3) [m], world frame
    normal : (k, 3), unit vectors from the second body to the first
    normal_force : (k,) [N], at least 0
    friction_force : (k, 3) [N], across the normal, world frame
    sticks : (k,), whether there is no slip
    unique : (k,), whether the motion admits no other force here; else this is the one of least squares
    unexplained : [N] the largest force on a body that these and the forces of joints do not account for

    >>> import carom
    >>> scene = carom.Scene()
    >>> floor = scene.add(carom.Body(carom.HalfSpace((0, 0, 1)), fixed=True))
    >>> ball = scene.add(carom.Body(carom.Sphere(0.1), mass=2.0, position=(0, 0, 0.1)))
    >>> forces = carom.Simulator(scene, carom.StrongeCoulomb()).run(1.0).contact_forces(0.5)
    >>> forces.normal_force.round(9).tolist(), forces.unique.tolist()
    ([19.62], [True])
    """

    time: float
    bodies: Wholes
    point: Array
    normal: Array
    normal_force: Array
    friction_force: Array
    sticks: NDArray[np.bool_]
    unique: NDArray[np.bool_]
    unexplained: float

    def __len__(self) -> int:
        return len(self.bodies)

    @property
    def force(self) -> Array:
        """Force on the first body of each contact, (k, 3) [N], world frame."""
        return self.normal_force[:, None] * self.normal + self.friction_force

    def on(self, body: int) -> Array:
        """Sum of contact forces on a body, by number, (3,) [N], world frame."""
        first, second = (self.bodies == body).T
        return np.asarray(self.force[first].sum(axis=0) - self.force[second].sum(axis=0))


@dataclass(frozen=True)
class JointForces:
    """What joints do to their bodies at one time, with springs, drives and limits; one row a joint of the scene.

    time : [s]
    names : of the joints
    force : (j, 3) [N], on the joint's body, at the joint's point on it, world frame; its base has the opposite
    torque : (j, 3) [N m], on the joint's body about that point, world frame
    point : (j, 3) [m], that point
    unique : (j,), whether the motion admits nothing else
    unexplained : [N], as in `ContactForces`
    """

    time: float
    names: tuple[str, ...]
    force: Array
    torque: Array
    point: Array
    unique: NDArray[np.bool_]
    unexplained: float

    def __len__(self) -> int:
        return len(self.names)


def contact_forces(run: "Trajectory", time: float, side: str = "right") -> ContactForces:
    """Forces of lasting contact: see `Trajectory.contact_forces`."""
    return _Balance(run, time, side).contacts()


def joint_forces(run: "Trajectory", time: float, side: str = "right") -> JointForces:
    """Forces of joints: see `Trajectory.joint_forces`."""
    return _Balance(run, time, side).joints()


def contact_impulse(run: "Trajectory", start: float, end: float) -> Array:
    """Impulse of lasting contact on every body: see `Trajectory.contact_impulse`."""
    if not run.start_time <= start <= end <= run.known_until:
        raise ValueError(
            f"start, end: expected rising times within [{run.start_time:g}, {run.known_until:g}] s, "
            f"got {start:g} and {end:g}"
        )
    starts = run.log.pieces.column("start")
    ends = np.unique(np.concatenate([[start, end], starts[(starts > start) & (starts < end)]]))
    total = np.zeros((run.model.count, 3))
    for low, high in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True):
        for node, weight in zip(_NODES.tolist(), _WEIGHTS.tolist(), strict=True):
            forces = contact_forces(run, 0.5 * (low + high) + 0.5 * (high - low) * node)
            share = 0.5 * (high - low) * weight * forces.force
            np.add.at(total, forces.bodies[:, 0], share)
            np.add.at(total, forces.bodies[:, 1], -share)
    return total


class _Balance:
    """The equation of forces at one time: A x = b in the metric of mass, x the forces of contacts and joints."""

    def __init__(self, run: "Trajectory", time: float, side: str):
        if run.force_functions and not run.scene.force_functions:
            raise ValueError(
                f"forces: the functions {', '.join(run.force_functions)} acted in this run, and a recording does "
                "not keep them"
            )
        self.time, self.model = float(time), run.model
        self.state = run.sample(time, side)
        self.packed = self.state.packed()
        self.moving = np.flatnonzero(self.model.movable)
        self.column = np.full(self.model.count, -1, dtype=np.int64)
        self.column[self.moving] = np.arange(len(self.moving))
        wrench, near = _wrenches(run, self.time, side, self.state, self.packed)
        self.root = _roots(self.model, self.packed, self.moving)
        self.patch = _touching(run, self.packed, near)
        shape = len(self.patch), 3, len(self.moving), 6
        jacobian = contact_rows(self.patch, self.packed, self.moving).reshape(shape)
        velocity = np.concatenate(
            [self.state.velocity[self.moving], self.state.angular_velocity[self.moving]], axis=1
        )
        self.mu = np.array(
            [self.model.scene.pair_material(i, j).friction for i, j in self.patch.bodies.tolist()]
        )
        self.slips = self._slips(np.einsum("ceki,ki->cke", jacobian, velocity))
        self.owner, self.columns = self._columns(jacobian)
        self.A = np.einsum("kij,kic->kjc", self.root, self.columns)
        b = np.einsum("kij,ki->kj", self.root, wrench[self.moving])
        self.x, self.fixed = self._solved(b)
        left = b - self.A @ self.x
        mass = self.model.mass[self.moving]
        self.unexplained = float((np.linalg.norm(left, axis=1) * np.sqrt(mass)).max(initial=0.0))

    def _slips(self, own: Array) -> Array:
        """Direction of slip of every contact (k, 2) in its tangents, zero where it sticks; `own` (k, m, 3) is what
        each body has of the contact velocity."""
        slips = own.sum(axis=1)[:, 1:]
        falls = np.sqrt(float(np.linalg.norm(self.model.gravity)) * self.model.size[self.moving])
        part = (self.patch.bodies[:, :, None] == self.moving).any(axis=1)  # (k, m)
        pace = np.where(part, np.maximum(np.linalg.norm(own, axis=2), falls), 0.0).max(axis=1, initial=0.0)
        speed = np.linalg.norm(slips, axis=1)
        slides = speed > SLIDES * pace
        return np.where(slides[:, None], slips / np.where(slides, speed, 1.0)[:, None], 0.0)

    def _columns(self, jacobian: Array) -> tuple[list[tuple[str, int, int]], Array]:
        """What every unknown is (kind, of which contact or joint, how many columns), and the wrench on every moving
        body (m, 6, columns) that a unit of each is; `jacobian` (k, 3, m, 6) of the contacts."""
        rows: list[Array] = []
        owner: list[tuple[str, int, int]] = []
        across = 2 if self.model.scene.plane is not None else 3
        for c, frame in enumerate(jacobian):
            if self.mu[c] == 0.0 or self.slips[c].any():
                directions, kind = [frame[0] - self.mu[c] * np.tensordot(self.slips[c], frame[1:], 1)], "ray"
            else:
                directions, kind = list(frame[:across]), "cone"
            owner.append((kind, c, len(directions)))
            rows += directions
        articulation = self.model.articulation
        for table, joints, kind in (
            (articulation.held, articulation.joint_of_row, "held"),
            (articulation.forces, articulation.force_joint, "held"),
            (articulation.limits, articulation.limit_joint, "limit"),
        ):
            ends = table.numbered(self.column)
            J, _, _, value = joint_rows(self.packed[self.moving], ends, table.geometry)
            for k, joint in enumerate(joints.tolist()):
                if kind == "limit" and value[k] > _JOINTS_HELD:
                    continue
                owner.append(("ray" if kind == "limit" else "free", -1 - joint, 1))
                rows.append(J[k].reshape(-1, 6))
        return owner, np.array(rows).reshape(-1, len(self.moving), 6).transpose(1, 2, 0)

    def _solved(self, b: Array) -> tuple[Array, NDArray[np.bool_]]:
        """Unknowns, island by island, and which of them the motion fixes."""
        count = sum(width for _, _, width in self.owner)
        x, fixed = np.zeros(count), np.ones(count, dtype=bool)
        if not count:
            return x, fixed
        touched = (np.abs(self.A) > 0.0).any(axis=1)  # (m, unknowns)
        body, unknown = np.nonzero(touched)
        first = np.concatenate([[0], np.cumsum([width for _, _, width in self.owner])]).astype(int)
        graph = coo_array(
            (np.ones(len(body)), (body, len(self.moving) + unknown)), shape=2 * (len(self.moving) + count,)
        )
        _, island = connected_components(graph, directed=False)
        for n, (_, _, width) in enumerate(self.owner):  # the three of a cone are one
            island[len(self.moving) + first[n] : len(self.moving) + first[n] + width] = island[
                len(self.moving) + first[n]
            ]
        for label in np.unique(island[len(self.moving) :]).tolist():
            own = np.flatnonzero(island[len(self.moving) :] == label)
            bodies = np.flatnonzero(touched[:, own].any(axis=1))
            if not len(bodies):  # it only acts out of the plane of a planar scene
                continue
            A = self.A[bodies][:, :, own].reshape(6 * len(bodies), -1)
            cones = [
                (kind, width, self.mu[who] if kind == "cone" else 0.0)
                for n, (kind, who, width) in enumerate(self.owner)
                if first[n] in own
            ]
            x[own], fixed[own] = _least(A, b[bodies].ravel(), cones)
        return x, fixed

    def contacts(self) -> ContactForces:
        """The forces of contacts."""
        patch, count = self.patch, len(self.patch)
        force, unique = np.zeros((count, 3)), np.ones(count, dtype=bool)  # in the contacts' frames
        at = 0
        for kind, c, width in self.owner:
            if c >= 0:
                own = self.x[at : at + width]
                force[c, :width], unique[c] = own, self.fixed[at : at + width].all()
                if kind == "ray":
                    force[c, 1:] = -self.mu[c] * own[0] * self.slips[c]
            at += width
        return ContactForces(
            self.time,
            patch.bodies,
            patch.point,
            patch.normal,
            force[:, 0],
            force[:, 1:2] * patch.tangent + force[:, 2:] * patch.tangent2,
            np.asarray(~self.slips.any(axis=1)),
            unique,
            self.unexplained,
        )

    def joints(self) -> JointForces:
        """The forces of joints."""
        placed = self.model.scene.joints
        force, torque, point = (np.zeros((len(placed), 3)) for _ in range(3))
        unique = np.ones(len(placed), dtype=bool)
        for j, joint in enumerate(placed):
            point[j] = _place_of(joint, self.state)
        at = 0
        for _, who, width in self.owner:
            if who < 0:
                j = -1 - who
                joint = placed[j]
                body, sign = (joint.body, 1.0) if self.column[joint.body] >= 0 else (joint.base, -1.0)
                wrench = sign * self.columns[self.column[body], :, at] * self.x[at]
                force[j] += wrench[:3]
                torque[j] += wrench[3:] - np.cross(point[j] - self.state.position[body], wrench[:3])
                unique[j] &= self.fixed[at]
            at += width
        return JointForces(
            self.time, tuple(joint.name for joint in placed), force, torque, point, unique, self.unexplained
        )


def _place_of(joint: PlacedJoint, state: State) -> Array:
    """The joint's point on its body, world frame."""
    numbers = joint.rows[0].numbers()
    turn = rotation_matrices(state.orientation[joint.body])
    return np.asarray(state.position[joint.body] + turn @ numbers[6:9])


def _wrenches(
    run: "Trajectory", time: float, side: str, state: State, packed: Array
) -> tuple[Array, NDArray[np.bool_]]:
    """What contacts and joints do to every body, (n, 6) [N, N m], world frame; which go on by implicit steps."""
    model, log = run.model, run.log
    wrench, implicit = np.zeros((model.count, 6)), np.zeros(model.count, dtype=bool)
    number = log.pieces_at(model.count, np.array([time]), side)[:, 0]
    rows, offsets = log.pieces.taken(number), log.offsets("piece_numbers")
    applied = np.zeros((model.count, 6))
    for function in run.scene.force_functions:
        applied += given_forces(model, function, state)
    turns = rotation_matrices(packed[:, 3:7])
    for body in np.flatnonzero(model.movable).tolist():
        row, inertia, spin = rows[body], model.inertia[body], packed[body, 10:13]
        implicit[body] = row["kind"] == IMPLICIT
        terms = int(row["terms"])
        gyroscopic = np.cross(spin, inertia @ spin)
        if row["kind"] == STILL:
            velocity, turning = np.zeros(3), np.zeros(3)
        elif terms:
            numbers = log.piece_numbers.rows(int(offsets[number[body]]), int(offsets[number[body] + 1]))
            rates = _rate(numbers.reshape(-1, terms)[7:13], time - float(row["start"]))
            velocity, turning = rates[:3], rates[3:]
        else:
            velocity, turning = row["acceleration"], -np.linalg.solve(inertia, gyroscopic)
        speed = state.velocity[body]
        linear, quadratic, rotational = model.drag[body]
        drag = -(linear + quadratic * np.linalg.norm(speed)) * speed
        wrench[body, :3] = model.mass[body] * (velocity - model.gravity) - drag
        wrench[body, 3:] = turns[body] @ (inertia @ turning + gyroscopic + rotational * spin)
    return wrench - applied, implicit


def _rate(polynomials: Array, age: float) -> Array:
    """Rates of polynomials (k, terms) in the age of a piece."""
    powers = np.arange(1, polynomials.shape[1])
    return np.asarray(polynomials[:, 1:] * powers @ age ** (powers - 1.0))


def _roots(model: Model, packed: Array, moving: Wholes) -> Array:
    """R (m, 6, 6) with R R^T the mobility of every moving body, world frame, without what a plane bars."""
    mobility = np.zeros((len(moving), 6, 6))
    turns = rotation_matrices(packed[moving, 3:7])
    mobility[:, :3, :3] = model.inverse_mass[moving]
    mobility[:, 3:, 3:] = turns @ model.inverse_inertia[moving] @ turns.transpose(0, 2, 1)
    values, vectors = np.linalg.eigh(0.5 * (mobility + mobility.transpose(0, 2, 1)))
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :])


def _touching(run: "Trajectory", packed: Array, implicit: NDArray[np.bool_]) -> ContactPatch:
    """All contacts at states (n, 13); of what goes on by implicit steps also what is only near."""
    model = run.model
    pairs = run._collision_pairs()
    one, other = pairs.T
    apart = np.linalg.norm(packed[one, :3] - packed[other, :3], axis=1)
    sensors = np.array([body.sensor for body in model.scene.bodies])
    near = (apart <= (1.0 + 1e-6) * reach_of_pairs(model, pairs)) & ~sensors[one] & ~sensors[other]
    stepped = implicit[one] | implicit[other]
    return ContactPatch.joined(
        [
            contact_patch(model, [(a, b) for a, b in pairs[near & chosen].tolist()], packed, gap)
            for chosen, gap in ((~stepped, 2.0 * CONTACT_GAP), (stepped, 2e3 * CONTACT_GAP))
        ]
    )


def _least(A: Array, b: Array, cones: list[tuple[str, int, float]]) -> tuple[Array, NDArray[np.bool_]]:
    """The least x (n,) in its cones (kind, width, friction) with A x nearest to b, and which parts have no other
    value."""
    lower = np.concatenate(
        [[-np.inf] if kind == "free" else [0.0] + [-np.inf] * (width - 1) for kind, width, _ in cones]
    )
    x = lsq_linear(A, b, bounds=(lower, np.inf), method="bvls", tol=1e-15, max_iter=50 * len(lower)).x
    left, sizes, right = np.linalg.svd(A, full_matrices=True)
    rank = int((sizes > FORCE_RANK * sizes.max(initial=0.0)).sum())
    free = right[rank:]
    fixed = np.linalg.norm(free, axis=0) <= np.sqrt(FORCE_RANK)
    inside = np.abs(_into_cones(x, cones) - x).max(initial=0.0) <= _EXACT * max(
        np.abs(x).max(initial=0.0), 1e-300
    )
    if fixed.all() and inside:
        return x, fixed
    inverse = right[:rank].T @ ((left[:, :rank] / sizes[:rank]).T)
    target = A @ x
    z, u = x.copy(), np.zeros_like(x)
    for _ in range(_ROUNDS):  # alternating directions: least squares on the plane A x = b, and the cones
        y = 0.5 * (z - u)
        x = y - inverse @ (A @ y - target)
        z = _into_cones(x + u, cones)
        u += x - z
        if np.abs(x - z).max() <= _EXACT * max(np.abs(z).max(), 1e-300):
            break
    return _polished(A, target, z, cones), fixed


def _into_cones(x: Array, cones: list[tuple[str, int, float]]) -> Array:
    """The nearest point of the cones."""
    found, at = x.copy(), 0
    for kind, width, mu in cones:
        if kind == "ray":
            found[at] = max(found[at], 0.0)
        elif kind == "cone":
            normal, across = float(x[at]), x[at + 1 : at + width]
            length = float(np.linalg.norm(across))
            if length > mu * normal:
                if mu * length <= -normal:
                    found[at : at + width] = 0.0
                else:
                    found[at] = (normal + mu * length) / (1.0 + mu * mu)
                    found[at + 1 : at + width] = mu * found[at] * across / length
        at += width
    return found


def _polished(A: Array, target: Array, z: Array, cones: list[tuple[str, int, float]]) -> Array:
    """Forces in the cones made to fit exactly, by the smallest change of those that press inside them."""
    free, at = np.zeros(len(z), dtype=bool), 0
    small = _INSIDE * np.abs(z).max(initial=0.0)
    for kind, width, mu in cones:
        across = float(np.linalg.norm(z[at + 1 : at + width])) if kind == "cone" else 0.0
        presses = kind == "free" or z[at] > small
        free[at : at + width] = presses and (kind != "cone" or across < (1.0 - _INSIDE) * mu * z[at])
        at += width
    if not free.any():
        return z
    changed = z.copy()
    changed[free] += np.linalg.lstsq(A[:, free], target - A @ z, rcond=FORCE_RANK)[0]
    inside = np.abs(_into_cones(changed, cones) - changed).max() <= _EXACT * np.abs(changed).max()
    return changed if inside else z
