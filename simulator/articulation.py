"""Which bodies always move together, and the rows of their joints, limits, springs and drives as the kernels
read them."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..bodies import Drive, PlacedJoint, Scene
from ..bodies.joints import DrivenJoint, JointRow, RowKind
from ..bodies.rotation import conjugate, quaternion_product, rotation_matrices
from .movers.joint_kernels import JOINT_GEOMETRY, joint_rows
from .tolerances import JOINT_RANK

if TYPE_CHECKING:
    from .state import Model

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Rows:
    """Coordinates between bodies: `ends` (k, 3) are base and body (indices of moving bodies, -1: nothing that
    moves) and the kind, `geometry` (k, JOINT_GEOMETRY) as in `joint_kernels`."""

    ends: NDArray[np.int64]
    geometry: Array

    @classmethod
    def of(cls, scene: Scene, rows: list[tuple[PlacedJoint, JointRow, float, float]]) -> "Rows":
        """From rows of joints, each with the offset and the sign it is to have."""
        ends = np.full((len(rows), 3), -1, dtype=np.int64)
        geometry = np.zeros((len(rows), JOINT_GEOMETRY))
        for k, (joint, row, offset, sign) in enumerate(rows):
            ends[k, 2] = row.kind
            geometry[k] = _seen_from_what_moves(scene, joint, row)
            geometry[k, 12:14] = offset, sign
            for side, body in enumerate((joint.base, joint.body)):
                if body >= 0 and not scene.bodies[body].fixed:
                    ends[k, side] = body
        return cls(ends, geometry)

    def among(self, local: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64], Array]:
        """Which rows are between the bodies that `local` (n,) numbers from 0 on (-1: none), and their ends so
        numbered and geometry."""
        ends = self.numbered(local)
        which = np.flatnonzero((ends[:, :2] >= 0).any(axis=1))
        return which, ends[which], self.geometry[which]

    def numbered(self, local: NDArray[np.int64]) -> NDArray[np.int64]:
        """The ends with bodies numbered by `local` (n,), -1: none."""
        ends = self.ends.copy()
        ends[:, :2] = np.where(ends[:, :2] >= 0, local[ends[:, :2]], -1)
        return ends


def _seen_from_what_moves(scene: Scene, joint: PlacedJoint, row: JointRow) -> Array:
    """Numbers of a row in which a fixed body has become the world."""
    numbers = row.numbers()
    for side, body in enumerate((joint.base, joint.body)):
        if body < 0 or not scene.bodies[body].fixed:
            continue
        pose = scene.bodies[body]
        axes = rotation_matrices(pose.orientation)
        place = slice(6 * side, 6 * side + 3)
        axis = slice(6 * side + 3, 6 * side + 6)
        numbers[place] = pose.position + axes @ numbers[place]
        numbers[axis] = axes @ numbers[axis]
        reference = numbers[14:18]
        numbers[14:18] = (
            quaternion_product(reference, conjugate(pose.orientation))
            if side
            else quaternion_product(pose.orientation, reference)
        )
    return numbers


@dataclass(frozen=True, eq=False)
class Articulation:
    """Joints of a scene.

    groups : movable bodies that move together whatever touches, each sorted; group_of (n,): theirs, -1 for none
    held : rows that joints keep at zero; joint_of_row (k,): of which joint each is
    limits, limit_joint, limit_restitution : rows that must not become negative, one for each end of a range
    forces, law : rows along which springs, dampers and drives act, and how (k, 7), see `world.set_force_laws`
    largest, force_joint : (k,), at most this much force; of which joint
    coordinates, coordinate_joint : the coordinate of every joint that has one; of which joint
    """

    groups: tuple[NDArray[np.int64], ...]
    group_of: NDArray[np.int64]
    held: Rows
    joint_of_row: NDArray[np.int64]
    limits: Rows
    limit_joint: NDArray[np.int64]
    limit_restitution: Array
    forces: Rows
    law: Array
    largest: Array
    force_joint: NDArray[np.int64]
    coordinates: Rows
    coordinate_joint: NDArray[np.int64]

    @classmethod
    def of_scene(cls, scene: Scene) -> "Articulation":
        """Read the joints and forces of a scene."""
        held, limits, forces = [], [], []
        owner, limit_joint, restitution, law, largest, force_joint = [], [], [], [], [], []
        groups, group_of = _groups(scene)

        def group_of_joint(k: int) -> int:
            placed = scene.joints[k]
            return max(int(group_of[body]) for body in (placed.base, placed.body) if body >= 0)

        for k in sorted(range(len(scene.joints)), key=group_of_joint):  # rows stand group by group
            placed = scene.joints[k]
            joint, coordinate = placed.joint, placed.coordinate
            held += [(placed, row, row.offset, 1.0) for row in placed.rows]
            owner += [k] * len(placed.rows)
            if coordinate is None or not isinstance(joint, DrivenJoint):
                continue
            low, high = joint.limits or (-math.inf, math.inf)
            if coordinate.kind == RowKind.DISTANCE and low == 0.0:
                low = -math.inf  # no distance is shorter
            for bound, sign in ((low, 1.0), (high, -1.0)):
                if math.isfinite(bound):
                    limits.append((placed, coordinate, bound, sign))
                    limit_joint.append(k)
                    restitution.append(joint.restitution)
            spring, damping, drive = joint.spring, joint.damping, joint.drive
            if spring is not None or damping > 0.0:
                forces.append((placed, coordinate, 0.0, 1.0))
                stiffness, rest = (spring.stiffness, spring.rest) if spring else (0.0, 0.0)
                law.append([0.0, stiffness, rest, damping, 0.0, 0.0, 0.0])
                largest.append(math.inf)
                force_joint.append(k)
            if drive is not None:
                forces.append((placed, coordinate, 0.0, 1.0))
                law.append(_law_of(drive))
                largest.append(drive.limit)
                force_joint.append(k)
        coordinates = [(joint, joint.coordinate) for joint in scene.joints if joint.coordinate is not None]
        whole = np.dtype(np.int64)
        return cls(
            groups,
            group_of,
            Rows.of(scene, held),
            np.array(owner, dtype=whole),
            Rows.of(scene, limits),
            np.array(limit_joint, dtype=whole),
            np.array(restitution, dtype=float),
            Rows.of(scene, forces),
            np.array(law, dtype=float).reshape(-1, 7),
            np.array(largest, dtype=float),
            np.array(force_joint, dtype=whole),
            Rows.of(scene, [(joint, row, 0.0, 1.0) for joint, row in coordinates]),
            np.array([scene.joint_index(joint) for joint, _ in coordinates], dtype=whole),
        )

    @property
    def is_empty(self) -> bool:
        """Whether every body moves on its own where nothing touches."""
        return not self.groups

    def moving_with(self, bodies: Iterable[int]) -> set[int]:
        """Bodies, and all that always move with them."""
        found = set(bodies)
        if self.groups:
            for group in {int(self.group_of[body]) for body in found} - {-1}:
                found.update(self.groups[group].tolist())
        return found

    def violations(self, states: Array) -> tuple[Array, Array]:
        """Rates and values of all rows that joints hold at zero."""
        _, _, rate, value = joint_rows(states, self.held.ends, self.held.geometry)
        return rate, value

    def limit_gaps(self, states: Array) -> Array:
        """How far inside each limit joints are, negative beyond it."""
        return np.asarray(joint_rows(states, self.limits.ends, self.limits.geometry)[3])

    def coordinate(self, joint: int, states: Array) -> tuple[float, float]:
        """Coordinate and rate of a joint, by number, at states (n, 13) of all bodies; ValueError if it has none."""
        which = np.flatnonzero(self.coordinate_joint == joint)
        if not len(which):
            raise ValueError(f"joint: expected one with a coordinate, as a hinge has, got number {joint}")
        rows = self.coordinates
        _, _, rate, value = joint_rows(states, rows.ends[which], rows.geometry[which])
        return float(value[0]), float(rate[0])

    def with_drive(self, joint: int, drive: Drive) -> "Articulation":
        """The same with another drive in a joint, by number; ValueError for one that has none."""
        which = np.flatnonzero((self.force_joint == joint) & (self.law[:, 6] != 0.0))
        if not isinstance(drive, Drive):
            raise TypeError(f"drive: expected a Drive, got {type(drive).__name__}")
        if not len(which):
            raise ValueError("joint: expected one that has a drive from the start, got one without")
        law, largest = self.law.copy(), self.largest.copy()
        law[which], largest[which] = _law_of(drive), drive.limit
        return replace(self, law=law, largest=largest)

    def moved_by(self, joint: int) -> list[int]:
        """The bodies of a joint, by number, that can move."""
        which = np.flatnonzero(self.coordinate_joint == joint)
        return [body for body in self.coordinates.ends[which, :2].ravel().tolist() if body >= 0]

    def driving_forces(self, states: Array) -> tuple[Array, Array]:
        """Of springs, dampers and drives, one each row of `forces` [N or N m] at states (n, 13) of all bodies, and
        derivatives (k, 6 n) of their coordinates' rates by velocities of bodies."""
        J, _, rate, value = joint_rows(states, self.forces.ends, self.forces.geometry)
        effort, stiffness, target, damping, speed = self.law[:, :5].T
        with np.errstate(over="ignore", invalid="ignore"):
            force = effort + stiffness * (target - value) + damping * (speed - rate)
            return np.clip(force, -self.largest, self.largest), J

    @np.errstate(over="ignore", invalid="ignore")
    def spring_energy(self, states: Array) -> float:
        """Energy [J] of all springs in joints, at states (n, 13) of all bodies."""
        _, _, _, value = joint_rows(states, self.forces.ends, self.forces.geometry)
        stretch = np.where(self.law[:, 6] == 0.0, value - self.law[:, 2], 0.0)
        return float(0.5 * (self.law[:, 1] * stretch * stretch).sum())

    def allowed(self, bodies: NDArray[np.int64], states: Array, inverse_mass: Array) -> Array:
        """An inverse mass (6 m, 6 m) of these bodies, of states (n, 13) of all, without the motions that joints
        bar."""
        local = np.full(len(states), -1, dtype=np.int64)
        local[bodies] = np.arange(len(bodies))
        _, ends, geometry = self.held.among(local)
        return allowed_inverse(inverse_mass, joint_rows(states[bodies], ends, geometry)[0])

    def limit_rows(
        self, model: "Model", bodies: NDArray[np.int64], states: Array, which: Any
    ) -> tuple[Array, Array, Array]:
        """Of limits, by number: derivatives (k, 6 m) of their rates by velocities of bodies, rates and gaps."""
        rows = Rows(self.limits.ends[which], self.limits.geometry[which])
        local = np.full(model.count, -1, dtype=np.int64)
        local[bodies] = np.arange(len(bodies))
        J, _, rate, gap = joint_rows(states[bodies], rows.numbered(local), rows.geometry)
        return J, rate, gap


def allowed_inverse(inverse_mass: Array, rows: Array) -> Array:
    """An inverse mass (n, n) without the motions in which rows of joints (k, n) have a rate; rows may depend on
    each other."""
    if not len(rows):
        return inverse_mass
    values, vectors = np.linalg.eigh(inverse_mass)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    across = root.T @ rows.T
    size = np.linalg.norm(across, axis=0)
    scaled = across / np.where(size > 0.0, size, 1.0)
    left, sizes, _ = np.linalg.svd(scaled, full_matrices=False)
    kept = np.flatnonzero(sizes**2 > JOINT_RANK)
    basis = left[:, kept]
    root = root - (root @ basis) @ basis.T
    return np.asarray(root @ root.T)


def _law_of(drive: Drive) -> list[float]:
    return [drive.effort, drive.stiffness, drive.target, drive.damping, drive.rate, 0.0, 1.0]


def _groups(scene: Scene) -> tuple[tuple[NDArray[np.int64], ...], NDArray[np.int64]]:
    """Movable bodies connected by joints, that have drag, or that forces of the user couple."""
    movable = [k for k, body in enumerate(scene.bodies) if not body.fixed]
    parent = dict(zip(movable, movable, strict=True))

    def root(body: int) -> int:
        while parent[body] != body:
            body = parent[body]
        return body

    drag = np.atleast_1d(scene.drag.any(axis=1))
    driven = {k for k in movable if drag[k]}
    if scene.force_functions:
        driven.update(movable)
        for body in movable[1:]:
            parent[root(body)] = root(movable[0])
    for joint in scene.joints:
        ends = [body for body in (joint.base, joint.body) if body in parent]
        driven.update(ends)
        if len(ends) == 2:
            parent[root(ends[0])] = root(ends[1])
    members: dict[int, list[int]] = {}
    for body in sorted(driven):
        members.setdefault(root(body), []).append(body)
    groups = tuple(np.array(group, dtype=np.int64) for group in members.values())
    group_of = np.full(len(scene), -1, dtype=np.int64)
    for number, group in enumerate(groups):
        group_of[group] = number
    return groups, group_of
