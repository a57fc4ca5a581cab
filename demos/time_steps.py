"""Many convex bodies among half-spaces, moved by time steps of one impact each.

Between two steps every body flies without forces, which is exact also for its turning. At a step gravity's
impulse is added to the velocities, and the law, by relaxation over all contacts that are closed or could
close within the step, changes them so that no contact closes by more than its gap (Preclik, Eibl & Rüde,
section 3.1, where the gap over the step is added to the normal velocity). Relaxation begins with the impulses
that the same features had a step before.

That was chosen by trying (the first hundred stones of `pile`, 1.6 s in steps of 2 ms, 10 s on one core).
Stopping contacts where they are instead of where their gap ends takes 21 s and leaves stones that fall shut
and open again for ever, at 0.1 m/s; with the gaps they come to rest at 4e-5 m/s. Without the impulses of the
step before it takes 26 s, and half of the steps instead of 7 % use up their sweeps. Bodies are grown by SKIN,
because hulls that overlap are slower to search for contacts than hulls that are barely apart: without it
takes 13 s, and 3 mm of overlap.

What it costs: a step is of first order. A body that turns quickly may reach into another where no contact was
expected: 0.8 mm for these hundred, 4 mm for three hundred stones of 36 to 60 mm that meet at up to 8 m/s;
steps half as long bring 2.9 mm to 1.8 mm for a hundred and fifty. Overlaps of the grown shapes are parted at
no more than half the speed that gravity gives in a step, so that a contact that carries weight gains no
energy, and at rest no two hulls overlap.
"""

from dataclasses import dataclass

import numpy as np
from numba.typed import List
from numpy.typing import NDArray
from scipy.spatial import KDTree

from ..bodies import HalfSpace, Mesh, Scene
from ..bodies.rotation import rotation_matrices
from ..impact_laws import ContactNetwork, MaximumDissipation, relaxation_kernels
from ..simulator import RunStatus, Trajectory
from ..simulator.record.law_description import law_description
from . import time_step_kernels

Array = NDArray[np.float64]

SKIN = 0.005
"""Of its size, by which every body is grown."""
FLAT = 0.01
"""Of the size: features that are level within it touch together, such as corners of a face that comes down."""
CLEAR = 0.002
"""Of the size, apart from each other at which contacts of bodies are looked for: where they touch costs more."""
PARTING = 0.5
"""Of the speed that gravity gives in a step, at which bodies that overlap part at most."""
RECORDED = 1e-6
"""[m] by which the recorded place of a point of a body may be off between what is written."""


@dataclass(frozen=True)
class Step:
    """What one step was like.

    contacts, sweeps : their numbers
    residual : of the law, relative to the largest impulse
    energy_before, energy_change : kinetic energy before the impacts, with gravity's impulse, and their change [J]
    beyond_cone : largest friction above what the normal impulse allows, relative to the largest impulse
    gap : smallest between two hulls, or a hull and a half-space [m]; infinite without contacts
    speed : bound of the largest of any point of a body after the step [m/s]
    support : force of the half-spaces on the bodies (3,) [N]
    """

    contacts: int
    sweeps: int
    residual: float
    energy_before: float
    energy_change: float
    beyond_cone: float
    gap: float
    speed: float
    support: Array


class TimeSteps:
    """The bodies of a scene moved step by step [s] under a law, and the trajectory that they leave.

    Raises TypeError for a mesh that is not convex, ValueError for fixed bodies other than half-spaces.
    """

    def __init__(self, scene: Scene, law: MaximumDissipation, step: float):
        for body in scene.bodies:
            if isinstance(body.shape, Mesh):
                raise TypeError(f"body {body.name!r}: expected a convex shape, got a Mesh")
            if body.fixed and not isinstance(body.shape, HalfSpace):
                raise ValueError(f"body {body.name!r}: only half-spaces may be fixed")
            if body.material.impact_friction is not None:
                raise ValueError(f"body {body.name!r}: time steps know one friction, no impact_friction")
            for name in ("rolling_friction", "spinning_friction"):
                if getattr(body.material, name) > 0.0:
                    raise ValueError(f"body {body.name!r}: time steps know no {name}")
        self.law, self.step, self.time = law, step, 0.0
        self.trajectory = Trajectory(scene, law.name, 0)
        self.trajectory.law_description = law_description(law)
        self.trajectory.remarks.append(
            f"Moved by time steps of {1e3 * step:g} ms, not event by event; flight without forces between them."
        )
        model = self.trajectory.model
        self._moving = np.flatnonzero(model.movable)
        self._states = model.initial_states()[self._moving]
        self._mass, self._size = model.mass[self._moving], model.size[self._moving]
        self._inertia = model.inertia[self._moving]
        self._inverse_inertia = model.inverse_inertia[self._moving]
        shapes = [model.shapes[body] for body in self._moving]
        self._skin = SKIN * self._size
        self._shapes = List(
            shape._replace(radius=shape.radius + skin)
            for shape, skin in zip(shapes, self._skin.tolist(), strict=True)
            if shape is not None
        )
        numbered = [(body, *plane) for body, plane in enumerate(model.planes) if plane is not None]
        planes = [body for body, _, _ in numbered]
        self._normals = np.array([normal for _, normal, _ in numbered]).reshape(-1, 3)
        self._offsets = np.array([offset for _, _, offset in numbered], dtype=np.float64)
        roughness = np.sqrt([body.material.friction for body in scene.bodies])
        self._roughness, self._plane_roughness = roughness[self._moving], roughness[planes]
        self._tables = np.empty((1024, 6), np.int64), np.empty((1024, 7))
        self._known = np.zeros(0, np.int64), np.zeros((0, 3))
        self._written, self._written_at = self._states.copy(), np.zeros(len(self._states))
        for index, state in enumerate(model.initial_states()):
            self._write(index, state)

    def advance(self) -> Step:
        """Make one step."""
        rotation = rotation_matrices(self._states[:, 3:7])
        inertia = rotation @ self._inertia @ rotation.transpose(0, 2, 1)
        velocity = np.empty((len(self._states), 6))
        velocity[:, :3] = self._states[:, 7:10] + self.step * self.trajectory.model.gravity
        velocity[:, 3:] = np.einsum("bij,bj->bi", rotation, self._states[:, 10:13])
        before = self._energy(velocity, inertia)
        keys, places, gap = self._contacts(velocity)
        sweeps, residual, beyond_cone, support = 0, 0.0, 0.0, np.zeros(3)
        if len(keys):
            velocity, sweeps, residual, beyond_cone, support = self._impact(keys, places, velocity, inertia)
        speed = np.linalg.norm(velocity[:, :3], axis=1) + self._size * np.linalg.norm(velocity[:, 3:], axis=1)
        self._states[:, 7:10] = velocity[:, :3]
        self._states[:, 10:13] = np.einsum("bji,bj->bi", rotation, velocity[:, 3:])
        self._write_changed()
        time_step_kernels.fly_on(self._states, self._inertia, self._inverse_inertia, self.step)
        self.time += self.step
        self.trajectory.end_time = self.time
        return Step(
            contacts=len(keys),
            sweeps=sweeps,
            residual=residual,
            energy_before=before,
            energy_change=self._energy(velocity, inertia) - before,
            beyond_cone=beyond_cone,
            gap=gap,
            speed=float(speed.max()),
            support=support,
        )

    def finish(self) -> Trajectory:
        """The trajectory, which ends with the states of now."""
        for body, state in zip(self._moving.tolist(), self._states, strict=True):
            self._write(body, state)
        self.trajectory.status = RunStatus.REACHED_END
        return self.trajectory

    def _energy(self, velocity: Array, inertia: Array) -> float:
        moving = self._mass @ (velocity[:, :3] ** 2).sum(axis=1)
        return 0.5 * float(moving + np.einsum("bi,bij,bj->", velocity[:, 3:], inertia, velocity[:, 3:]))

    def _contacts(self, velocity: Array) -> tuple[NDArray[np.int64], Array, float]:
        """Keys and places, as `contacts_within_reach` has them, of all contacts that a step may close, and the
        smallest gap [m] of two bodies without their skins."""
        place, size = self._states[:, :3], self._size
        turning = self.step * size * np.linalg.norm(velocity[:, 3:], axis=1) + FLAT * size
        reach = self.step * np.linalg.norm(velocity[:, :3], axis=1) + turning
        pairs = KDTree(place).query_pairs(2.0 * float((size + reach).max()), output_type="ndarray")
        first, second = np.sort(pairs, axis=1).T
        pair_reach = self.step * np.linalg.norm(velocity[first, :3] - velocity[second, :3], axis=1)
        pair_reach += turning[first] + turning[second]
        apart = np.linalg.norm(place[first] - place[second], axis=1) - size[first] - size[second]
        chosen = np.flatnonzero(apart <= pair_reach)
        chosen = chosen[np.lexsort((second[chosen], first[chosen]))]
        pairs = np.stack([first[chosen], second[chosen]], axis=1)
        while True:
            count, gap = time_step_kernels.contacts_within_reach(
                self._shapes, size, self._skin, self._states, pairs, pair_reach[chosen], self._normals,
                self._offsets, reach, FLAT, CLEAR, *self._tables,
            )  # fmt: skip
            keys, places = self._tables
            if count <= len(keys):
                return keys[:count], places[:count], gap
            self._tables = np.empty((2 * count, 6), np.int64), np.empty((2 * count, 7))

    def _impact(
        self, keys: NDArray[np.int64], places: Array, velocity: Array, inertia: Array
    ) -> tuple[Array, int, float, float, Array]:
        """Velocities after the impact, sweeps, residual, friction beyond the cones and support of half-spaces."""
        first, second = keys[:, 0], keys[:, 1]
        on_plane = second == time_step_kernels.HALF_SPACE
        other = self._roughness[second]
        other[on_plane] = self._plane_roughness[keys[on_plane, 5]]
        network = ContactNetwork.of_points(
            keys[:, :2],
            places[:, :3],
            places[:, 3:6],
            self._states[:, :3],
            self._mass,
            inertia,
            velocity,
            self._roughness[first] * other,
            np.maximum(places[:, 6] / self.step, -PARTING * self.step * self._pull),
        )
        frame = network.jacobian[:, 0, :, :3]
        outcome = self.law.resolve_network(network, start=self._start(keys, frame, network.friction))
        self._keep(keys, frame, outcome.impulse)
        normal, friction = outcome.impulse[:, 0], np.linalg.norm(outcome.impulse[:, 1:], axis=1)
        beyond = float((friction - network.friction * normal).max() / max(normal.max(), 1e-300))
        support = np.einsum("crj,cr->j", frame[on_plane], outcome.impulse[on_plane]) / self.step
        return outcome.velocity, outcome.sweeps, outcome.residual, beyond, support

    @property
    def _pull(self) -> float:
        return float(np.linalg.norm(self.trajectory.model.gravity))

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

    def _write_changed(self) -> None:
        """Begin pieces of motion of bodies that the last written ones do not describe any more."""
        passed = self.time - self._written_at
        off = self._written[:, :3] + passed[:, None] * self._written[:, 7:10] - self._states[:, :3]
        change = self._states[:, 7:13] - self._written[:, 7:13]
        change[:, 3:] *= self._size[:, None]
        soon = (passed + self.step) * np.linalg.norm(change[:, 3:], axis=1)
        soon += np.linalg.norm(off, axis=1) + self.step * np.linalg.norm(change[:, :3], axis=1)
        for k in np.flatnonzero(soon > RECORDED).tolist():
            self._write(int(self._moving[k]), self._states[k])
            self._written[k], self._written_at[k] = self._states[k], self.time

    def _write(self, body: int, state: Array) -> None:
        self.trajectory.add_flight(body, self.time, state, np.zeros(3))


def _codes(keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """One number for each contact, which the same features have at every step."""
    limits = (1 << 15, 1 << 15, 1 << 2, 1 << 2, 1 << 14, 1 << 14)
    return np.ravel_multi_index(tuple((keys + 1).T), limits).astype(np.int64)
