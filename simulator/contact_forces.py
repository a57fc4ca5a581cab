"""Forces of lasting contact and of joints at any time of a run, from its motion.

A recording keeps motion, not forces. Forces follow from it: what gravity, drag and functions of the user leave of
mass times acceleration is done by what touches and by joints. Contacts at that time are found anew; those that
slide push against their slip on the edge of the friction cone, others anywhere inside it. Of several answers the
one with the least sum of squares is given, and marked as not unique. What no forces in the cones explain is told,
which is a check of the motion that does not depend on how it was made. (Rows of forces with every piece of motion
would make recordings a third larger, and know forces at ends of steps only.)
"""

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from operator import itemgetter
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import lsq_linear
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from ..bodies import checks
from ..bodies.joints import PlacedJoint
from .articulation import Articulation
from .collision.pairs import contact_patch, contact_rows, pair_size, reach_of_pairs
from .engine.tables_kernels import IMPLICIT, STILL
from .event import ContactPatch
from .movers.joint_kernels import joint_rows
from .python_parts import given_forces
from .state import Array, Model, State, rotation_matrices
from .tolerances import CONTACT_GAP, FORCE_RANK, ON_LINE, SAME_PLANE, SLIDES

if TYPE_CHECKING:
    from .record.trajectory import Trajectory

Wholes = NDArray[np.int64]
_Cone = tuple[str, int, list[tuple[int, float]]]
_ROUNDS = 5000
_EXACT = 1e-12  # of the largest force: how far forces are from the cones
_INSIDE = 1e-9  # of a force: nearer to the edge of its cone it is on it
_AS_KNOWN = 1e-7  # of the forces there are: what those of springs and drives may leave unexplained
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
    torque : (k, 3) [N m], of rolling and spinning friction on the first body, world frame
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
    torque: Array
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
    start, end = checks.number("start", start), checks.number("end", end)
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


@dataclass(frozen=True)
class _Turn:
    """What resists rolling or spinning at a contact: a torque along axes (n, 3), of at most `share` of the normal
    force times the lever [m]; against a direction (n,), or any way where there is no turning."""

    axes: Array
    lever: float
    share: float
    direction: Array | None


def _rolling_axes(patch: ContactPatch, c: int, size: float) -> Array:
    """Axes (n, 3) about which rolling is resisted at contact c: two, one along a line of contacts of two bodies of
    this size [m], none where they touch in a face; as `line_of` in turns_kernels."""
    same = (patch.bodies == patch.bodies[c]).all(axis=1) & (patch.normal @ patch.normal[c] > SAME_PLANE)
    ways = patch.point[same] - patch.point[c]
    ways -= np.outer(ways @ patch.normal[c], patch.normal[c])
    lengths = np.linalg.norm(ways, axis=1)
    farthest = ways[lengths.argmax()]
    length = float(lengths.max())
    if length <= ON_LINE * size:
        return np.array([patch.tangent[c], patch.tangent2[c]])
    if (np.linalg.norm(np.cross(ways, farthest), axis=1) > ON_LINE * length * length).any():
        return np.zeros((0, 3))
    return np.asarray(farthest[None, :] / length)


class _Balance:
    """The equation of forces at one time: A x = b in the metric of mass, x the forces of contacts and joints."""

    def __init__(self, run: "Trajectory", time: float, side: str):
        if run.force_functions and not run.scene.force_functions:
            raise ValueError(
                f"forces: the functions {', '.join(run.force_functions)} acted in this run, and a recording does "
                "not keep them"
            )
        run.refuse_steps("forces")
        self.time, self.model = checks.number("t", time), run.model
        self.state = run.sample(self.time, side)
        self.packed = self.state.packed()
        if not np.isfinite(self.packed).all():
            raise ValueError(f"t: expected a time at which states are numbers, got {self.time:g} s")
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
        surfaces = [self.model.scene.pair_material(i, j) for i, j in self.patch.bodies.tolist()]
        self.mu = np.array([surface.friction for surface in surfaces])
        own = np.einsum("ceki,ki->cke", jacobian, velocity)
        pace = self._pace(own)
        self.slips = self._slips(own, pace)
        resists = [(surface.rolling_friction, surface.spinning_friction) for surface in surfaces]
        self.turns = self._turns(np.array(resists).reshape(-1, 2), pace)
        self.articulation = _articulation_at(run, self.time, side)
        self.owner, self.columns = self._columns(jacobian)
        self.A = np.einsum("kij,kic->kjc", self.root, self.columns)
        b = np.einsum("kij,ki->kj", self.root, wrench[self.moving])
        self.x, self.fixed = self._solved(b)
        left = b - self.A @ self.x
        mass = self.model.mass[self.moving]
        self.unexplained = float((np.linalg.norm(left, axis=1) * np.sqrt(mass)).max(initial=0.0))

    def _slips(self, own: Array, pace: Array) -> Array:
        """Direction of slip of every contact (k, 2) in its tangents, zero where it sticks; `own` (k, m, 3) is what
        each body has of the contact velocity, and `pace` (k,) that of `_pace`."""
        slips = own.sum(axis=1)[:, 1:]
        speed = np.linalg.norm(slips, axis=1)
        slides = speed > SLIDES * pace
        return np.where(slides[:, None], slips / np.where(slides, speed, 1.0)[:, None], 0.0)

    def _pace(self, own: Array) -> Array:
        """Speed by which it is told whether a contact slips or rolls, (k,) [m/s]."""
        falls = np.sqrt(float(np.linalg.norm(self.model.gravity)) * self.model.size[self.moving])
        part = (self.patch.bodies[:, :, None] == self.moving).any(axis=1)  # (k, m)
        return np.where(part, np.maximum(np.linalg.norm(own, axis=2), falls), 0.0).max(axis=1, initial=0.0)

    def _turns(self, resists: Array, pace: Array) -> list[list[_Turn]]:
        """What resists turning at every contact, of coefficients (k, 2) [m] of rolling and spinning; `pace` (k,) as
        in `_slips`."""
        found: list[list[_Turn]] = [[] for _ in self.patch.gap]
        if not resists.any():
            return found
        plane, spin = self.model.scene.plane, self.state.angular_velocity
        for c, (i, j) in enumerate(self.patch.bodies.tolist()):
            lever = pair_size(self.model, (i, j))
            rolling, spinning = _rolling_axes(self.patch, c, lever), self.patch.normal[c : c + 1]
            if plane is not None:
                rolling, spinning = plane[None, :] if len(rolling) else rolling, spinning[:0]
            for resist, axes in zip(resists[c].tolist(), (rolling, spinning), strict=True):
                if resist > 0.0 and len(axes):
                    speed = axes @ (spin[i] - spin[j])
                    turns = lever * float(np.linalg.norm(speed)) > SLIDES * pace[c]
                    direction = speed / np.linalg.norm(speed) if turns else None
                    found[c].append(_Turn(axes, lever, resist / lever, direction))
        return found

    def _torque_rows(self, c: int, axes: Array) -> list[Array]:
        """The wrenches (m, 6) of torques of a newton metre about axes (n, 3) at contact c."""
        rows = []
        for axis in axes:
            row = np.zeros((len(self.moving), 6))
            for body, sign in zip(self.patch.bodies[c].tolist(), (1.0, -1.0), strict=True):
                if self.column[body] >= 0:
                    row[self.column[body], 3:] += sign * axis
            rows.append(row)
        return rows

    def _columns(self, jacobian: Array) -> tuple[list[tuple[str, int, int]], Array]:
        """What every unknown is (kind, of which contact or joint, how many columns), and the wrench on every moving
        body (m, 6, columns) that a unit of each is; `jacobian` (k, 3, m, 6) of the contacts."""
        rows: list[Array] = []
        owner: list[tuple[str, int, int]] = []
        across = 2 if self.model.scene.plane is not None else 3
        for c, frame in enumerate(jacobian):
            slides = self.mu[c] == 0.0 or self.slips[c].any()
            pressed = (
                frame[0] - self.mu[c] * np.tensordot(self.slips[c], frame[1:], 1) if slides else frame[0]
            )
            directions = [] if slides else list(frame[1:across])
            for turn in self.turns[c]:
                torques = [turn.lever * row for row in self._torque_rows(c, turn.axes)]
                if turn.direction is None:
                    directions += torques
                else:
                    pressed = pressed - turn.share * np.tensordot(turn.direction, torques, 1)
            owner.append(("cone", c, 1 + len(directions)))
            rows += [pressed, *directions]
        articulation = self.articulation
        for table, joints, kind in (
            (articulation.held, articulation.joint_of_row, "free"),
            (articulation.forces, articulation.force_joint, "driven"),
            (articulation.limits, articulation.limit_joint, "cone"),
        ):
            ends = table.numbered(self.column)
            J, _, _, value = joint_rows(self.packed[self.moving], ends, table.geometry)
            for k, joint in enumerate(joints.tolist()):
                if kind == "cone" and value[k] > _JOINTS_HELD:
                    continue
                owner.append((kind, -1 - joint, 1))
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
        driven = np.repeat([kind == "driven" for kind, _, _ in self.owner], np.diff(first))
        x[driven] = self.articulation.driving_forces(self.packed)[0]
        for n, (_, _, width) in enumerate(self.owner):  # the three of a cone are one
            island[len(self.moving) + first[n] : len(self.moving) + first[n] + width] = island[
                len(self.moving) + first[n]
            ]
        for label in np.unique(island[len(self.moving) :]).tolist():
            own = np.flatnonzero(island[len(self.moving) :] == label)
            bodies = np.flatnonzero(touched[:, own].any(axis=1))
            if not len(bodies):  # it only acts out of the plane of a planar scene
                x[own] = 0.0
                continue
            A = self.A[bodies][:, :, own].reshape(6 * len(bodies), -1)
            cones = [
                (kind, width, self._blocks(who) if width > 1 else [])
                for n, (kind, who, width) in enumerate(self.owner)
                if first[n] in own
            ]
            x[own], fixed[own] = _beside_known(A, b[bodies].ravel(), cones, x[own])
        return x, fixed

    def _blocks(self, c: int) -> list[tuple[int, float]]:
        """Widths of what a normal force bounds at contact c, and by which share of it."""
        blocks = []
        if self.mu[c] > 0.0 and not self.slips[c].any():
            blocks.append((1 if self.model.scene.plane is not None else 2, float(self.mu[c])))
        return blocks + [(len(turn.axes), turn.share) for turn in self.turns[c] if turn.direction is None]

    def contacts(self) -> ContactForces:
        """The forces of contacts."""
        patch, count = self.patch, len(self.patch)
        force, unique = np.zeros((count, 3)), np.ones(count, dtype=bool)  # in the contacts' frames
        torque = np.zeros((count, 3))
        at = 0
        for _, c, width in self.owner:
            if c >= 0:
                own, used = self.x[at : at + width], 1
                force[c, 0], unique[c] = own[0], self.fixed[at : at + width].all()
                if self.mu[c] == 0.0 or self.slips[c].any():
                    force[c, 1:] = -self.mu[c] * own[0] * self.slips[c]
                else:
                    across = 1 if self.model.scene.plane is not None else 2
                    force[c, 1 : 1 + across], used = own[1 : 1 + across], 1 + across
                for turn in self.turns[c]:
                    if turn.direction is None:
                        along, used = own[used : used + len(turn.axes)], used + len(turn.axes)
                    else:
                        along = -turn.share * own[0] * turn.direction
                    torque[c] += turn.lever * along @ turn.axes
            at += width
        return ContactForces(
            self.time,
            patch.bodies,
            patch.point,
            patch.normal,
            force[:, 0],
            force[:, 1:2] * patch.tangent + force[:, 2:] * patch.tangent2,
            torque,
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
    row = joint.rows[0] if joint.rows else joint.coordinate  # a rope holds nothing but its limit
    assert row is not None
    numbers = row.numbers()
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


def _articulation_at(run: "Trajectory", time: float, side: str) -> Articulation:
    """The joints, with the drives that they had at a time."""
    articulation = run.model.articulation
    if not articulation.law[:, 6].any():
        return articulation
    changes = run._events.drives()
    upto = (bisect_left if side == "left" else bisect_right)(changes, time, key=itemgetter(0))
    for joint, drive in {joint: drive for _, joint, drive in changes[:upto]}.items():
        articulation = articulation.with_drive(run.scene.joint_index(joint), drive)
    return articulation


def _beside_known(A: Array, b: Array, cones: list[_Cone], known: Array) -> tuple[Array, NDArray[np.bool_]]:
    """As `_least`, beside the `known` forces (n,) of springs and drives, zero for the others.

    Known are what the state says, where that explains the motion: so a motor that stalls, or a spring that presses
    something against a wall, has its own force, which motion alone does not tell. Over implicit steps they are
    means, which differ from that: then they are found as the others are.
    """
    driven = np.array([kind == "driven" for kind, width, _ in cones for _ in range(width)])
    left = b - A @ known
    if driven.any():
        rest = [cone for cone in cones if cone[0] != "driven"]
        added, fixed = np.zeros(len(known)), np.ones(len(known), dtype=bool)
        if rest:
            added[~driven], fixed[~driven] = _least(A[:, ~driven], left, rest)
        scale = np.linalg.norm(b) + np.linalg.norm(A * known, axis=0).sum()
        if np.linalg.norm(left - A @ added) <= _AS_KNOWN * scale:
            return known + added, fixed
    added, fixed = _least(A, left, cones)
    return known + added, fixed


def _least(A: Array, b: Array, cones: list[_Cone]) -> tuple[Array, NDArray[np.bool_]]:
    """The least x (n,) in its cones (kind, width, blocks) with A x nearest to b, and which parts have no other
    value."""
    lower = np.concatenate(
        [[0.0] + [-np.inf] * (width - 1) if kind == "cone" else [-np.inf] for kind, width, _ in cones]
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


def _into_cones(x: Array, cones: list[_Cone]) -> Array:
    """The nearest point of the cones."""
    found, at = x.copy(), 0
    for kind, width, blocks in cones:
        if kind == "cone":
            found[at : at + width] = _into_cone(x[at : at + width], blocks)
        at += width
    return found


def _into_cone(x: Array, blocks: list[tuple[int, float]]) -> Array:
    """The nearest point of one cone: a normal part, which is not negative, and blocks of at most a share of it."""
    parts, at = [], 1
    for width, share in blocks:
        parts.append((share, x[at : at + width], float(np.linalg.norm(x[at : at + width]))))
        at += width
    top, bottom = float(x[0]), 1.0
    normal = top
    for share, _, length in sorted(parts, key=lambda part: part[2] / max(part[0], 1e-300), reverse=True):
        if length <= share * normal:
            break
        top, bottom = top + share * length, bottom + share * share
        normal = top / bottom
    if normal <= 0.0:
        return np.zeros_like(x)
    return np.concatenate(
        [
            [normal],
            *(part * min(1.0, share * normal / length) if length else part for share, part, length in parts),
        ]
    )


def _polished(A: Array, target: Array, z: Array, cones: list[_Cone]) -> Array:
    """Forces in the cones made to fit exactly, by the smallest change of those that press inside them."""
    free, at = np.zeros(len(z), dtype=bool), 0
    small = _INSIDE * np.abs(z).max(initial=0.0)
    for kind, width, blocks in cones:
        inside, begin = kind != "cone" or z[at] > small, at + 1
        for wide, share in blocks:
            inside &= float(np.linalg.norm(z[begin : begin + wide])) < (1.0 - _INSIDE) * share * z[at]
            begin += wide
        free[at : at + width] = inside
        at += width
    if not free.any():
        return z
    changed = z.copy()
    changed[free] += np.linalg.lstsq(A[:, free], target - A @ z, rcond=FORCE_RANK)[0]
    inside = np.abs(_into_cones(changed, cones) - changed).max() <= _EXACT * np.abs(changed).max()
    return changed if inside else z
