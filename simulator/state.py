"""State of all bodies at one time, and the fixed parameters the engine reads from a scene.

Frames, once for the whole engine: position, velocity and angular velocity are in the world frame;
orientation is the unit quaternion (w, x, y, z) that turns body axes into world axes. Only packed states
(n, 13), internal to the engine, hold the angular velocity in body axes, where inertia is constant.
"""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..bodies import Body, HalfSpace, Mesh, Scene
from ..bodies.rotation import rotation_matrices
from .articulation import Articulation
from .collision.collision_shape import CollisionShape, collision_shape
from .collision.feature_mesh import FeatureMesh, feature_mesh
from .tolerances import PLANE_SPEED

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class BodyState:
    """One body at one time, or at several, of a `State`: then every array has a leading axis for the times.

    name : of the body
    time : float or (T,) [s]
    position : (3,) or (T, 3) [m], centre of mass, world frame
    orientation : (..., 4), unit quaternion (w, x, y, z), body to world
    velocity : (..., 3) [m/s], world frame
    angular_velocity : (..., 3) [rad/s], world frame
    """

    name: str
    time: Any
    position: Array
    orientation: Array
    velocity: Array
    angular_velocity: Array


@dataclass(frozen=True, eq=False)
class State:
    """All bodies at one time, or at several: then every array has a leading axis for the times.

    ``state["ball"]`` is one body of it, by name, index, or the body itself, as a `BodyState`.

    Arrays of a state that a simulator or a run hands out cannot be written into, since that would change nothing
    there: numpy raises ValueError. Write into a `copy`, and set that.

    time : float or (T,) [s]
    position : (n, 3) or (T, n, 3) [m], centre of mass, world frame
    orientation : (..., n, 4), unit quaternion (w, x, y, z), body to world
    velocity : (..., n, 3) [m/s], world frame
    angular_velocity : (..., n, 3) [rad/s], world frame
    """

    time: Any
    position: Array
    orientation: Array
    velocity: Array
    angular_velocity: Array
    scene: Scene | None = None
    """Which knows the names of the bodies, None where nobody said."""

    @classmethod
    def unpacked(cls, time: Any, packed: Array, scene: Scene | None = None) -> "State":
        """From packed rows (..., n, 13), whose angular velocity is in body axes."""
        rotation = rotation_matrices(packed[..., 3:7])
        spin = np.einsum("...ij,...j->...i", rotation, packed[..., 10:13])
        parts = packed[..., 0:3].copy(), packed[..., 3:7].copy(), packed[..., 7:10].copy(), spin
        for part in parts:
            part.flags.writeable = False  # what is handed out: writing there would have no effect
        return cls(time, *parts, scene)

    def copy(self) -> "State":
        """The same with arrays that can be written into.

        >>> import carom
        >>> scene = carom.Scene()
        >>> ball = scene.add(carom.Body(carom.Sphere(0.1), density=1000.0, name="ball"))
        >>> simulator = carom.Simulator(scene, law=carom.StrongeCoulomb())
        >>> state = simulator.state.copy()
        >>> state["ball"].velocity[:] = (0, 0, 5)
        >>> simulator.state = state
        >>> simulator.state["ball"].velocity.tolist()
        [0.0, 0.0, 5.0]
        """
        return State(
            self.time,
            np.array(self.position),
            np.array(self.orientation),
            np.array(self.velocity),
            np.array(self.angular_velocity),
            self.scene,
        )

    def __getitem__(self, body: Any) -> BodyState:
        if self.scene is None:
            raise ValueError(
                f"state: expected one that knows its scene, to find {body!r}; take its rows by index"
            )
        index = self.scene.index(body)
        parts = (self.position, self.orientation, self.velocity, self.angular_velocity)
        name = str(self.scene.bodies[index].name)
        return BodyState(name, self.time, *(part[..., index, :] for part in parts))

    def __repr__(self) -> str:
        if np.ndim(self.time):
            return f"State({self.position.shape[-2]} bodies at {len(self.time)} times)"
        return f"State({len(self.position)} bodies at t = {float(self.time)!r} s)"

    def shape_position(self, scene: Scene) -> Array:
        """World positions (..., n, 3) [m] of the origins of the shapes' own frames, which `Body.center_of_mass` is
        seen from."""
        return self.position - self._arms(scene)

    def shape_velocity(self, scene: Scene) -> Array:
        """World velocities (..., n, 3) [m/s] of the origins of the shapes' own frames, as points of the bodies."""
        return self.velocity - np.cross(self.angular_velocity, self._arms(scene))

    def _arms(self, scene: Scene) -> Array:
        """From these origins to the centres of mass, world."""
        centers = np.array([body.center_of_mass for body in scene.bodies]).reshape(-1, 3)
        return np.einsum("...ij,...j->...i", rotation_matrices(self.orientation), centers)

    def packed(self) -> Array:
        """Packed rows (..., n, 13), whose angular velocity is in body axes."""
        rotation = rotation_matrices(self.orientation)
        spin = np.einsum("...ji,...j->...i", rotation, self.angular_velocity)
        return np.concatenate([self.position, self.orientation, self.velocity, spin], axis=-1)


@dataclass(frozen=True, eq=False)
class Model:
    """What the engine needs of a scene and never changes during a run.

    mass (n,); inverse_mass (n, 3, 3), world axes; inertia, inverse_inertia (n, 3, 3), body axes, about the centre
    of mass; the inverses are zero for fixed bodies, and have no parts out of the plane where motion is planar. drag
    (n, 3), see `Scene.drag`. size (n,) [m] is the length that tolerances of a body scale with.
    """

    scene: Scene
    gravity: Array
    movable: NDArray[np.bool_]
    mass: Array
    inverse_mass: Array
    inertia: Array
    inverse_inertia: Array
    size: Array
    shapes: tuple[CollisionShape | None, ...]
    planes: tuple[tuple[Array, float] | None, ...]
    """Of a half-space: its unit normal and offset [m]."""
    is_mesh: tuple[bool, ...]
    drag: Array
    articulation: Articulation
    _surfaces: dict[tuple[int, bytes], FeatureMesh] = field(default_factory=dict)

    def surface(self, body: int) -> FeatureMesh:
        """The surface of a body by its features (TypeError for a half-space or cylinder)."""
        moved = self.scene.bodies[body]
        key = shape_key(moved)
        if key not in self._surfaces:
            self._surfaces[key] = feature_mesh(moved.shape, moved.shape_offset)
        return self._surfaces[key]

    @property
    def count(self) -> int:
        """Number of bodies."""
        return len(self.movable)

    @classmethod
    def of_scene(cls, scene: Scene) -> "Model":
        """Read a scene; ValueError for one with spheres in bulk."""
        scene.refuse_spheres("the engine")
        bodies = scene.bodies
        n = len(bodies)
        movable = np.array([not body.fixed for body in bodies], dtype=bool)
        mass, inverse_mass = np.full(n, np.inf), np.zeros((n, 3, 3))
        inertia, inverse_inertia = np.zeros((n, 3, 3)), np.zeros((n, 3, 3))
        size = np.ones(n)
        shapes: list[CollisionShape | None] = []
        planes: list[tuple[Array, float] | None] = []
        for index, body in enumerate(bodies):
            if movable[index]:
                mass[index] = body.mass
                inertia[index] = body.inertia
                inverse_mass[index], inverse_inertia[index] = _inverses(body, scene.plane)
            if isinstance(body.shape, HalfSpace):
                planes.append(plane_of(body.shape, body))
                shapes.append(None)
            else:
                planes.append(None)
                shapes.append(collision_shape(body.shape, body.shape_offset))
                size[index] = body.bounding_radius
        gravity = np.array(scene.gravity)
        if scene.plane is not None:
            gravity -= (gravity @ scene.plane) * scene.plane
        return cls(
            scene,
            gravity,
            movable,
            mass,
            inverse_mass,
            inertia,
            inverse_inertia,
            size,
            tuple(shapes),
            tuple(planes),
            tuple(isinstance(body.shape, Mesh) for body in bodies),
            scene.drag,
            Articulation.of_scene(scene),
        )

    def initial_states(self) -> Array:
        """Packed states (n, 13) that the scene describes."""
        return self._initial_states.copy()

    @cached_property
    def _initial_states(self) -> Array:
        states = np.empty((self.count, 13))
        for row, body in zip(states, self.scene.bodies, strict=True):
            rotation = rotation_matrices(body.orientation)
            row[0:3], row[3:7] = body.position, body.orientation
            row[7:10], row[10:13] = body.velocity, rotation.T @ body.angular_velocity
        return states

    @np.errstate(over="ignore", invalid="ignore")
    def energy(self, state: State) -> Any:
        """Kinetic plus gravitational energy [J] of all movable bodies; one number a time."""
        return np.sum(self._kinetic_energies(state) + self._potential_energies(state), axis=-1)

    @np.errstate(over="ignore", invalid="ignore")
    def kinetic_energy(self, state: State) -> Any:
        """Kinetic energy [J] of all movable bodies; one number a time."""
        return np.sum(self._kinetic_energies(state), axis=-1)

    @np.errstate(over="ignore", invalid="ignore")
    def potential_energy(self, state: State) -> Any:
        """Energy in gravity [J] of all movable bodies, 0 at the origin; one number a time."""
        return np.sum(self._potential_energies(state), axis=-1)

    def _potential_energies(self, state: State) -> Array:
        """Of each movable body, (..., movable)."""
        return -(state.position[..., self.movable, :] @ self.gravity) * self.mass[self.movable]

    def _kinetic_energies(self, state: State) -> Array:
        """Of each movable body, (..., movable)."""
        rotation = rotation_matrices(state.orientation)
        spin = np.einsum("...ji,...j->...i", rotation, state.angular_velocity)
        which = self.movable
        moving = 0.5 * self.mass[which] * np.sum(state.velocity[..., which, :] ** 2, axis=-1)
        spinning = 0.5 * np.einsum(
            "...i,...ij,...j->...", spin[..., which, :], self.inertia[which], spin[..., which, :]
        )
        return moving + spinning

    def spring_energy(self, state: State) -> Any:
        """Energy [J] of the springs in joints; one number a time."""
        if not len(self.articulation.law):
            return 0.0 * np.asarray(state.time)
        packed = state.packed()
        if packed.ndim == 2:
            return self.articulation.spring_energy(packed)
        return np.array([self.articulation.spring_energy(each) for each in packed])


def _inverses(body: Body, plane: Array | None) -> tuple[Array, Array]:
    """Inverse mass (3, 3), world axes, and inverse inertia (3, 3), body axes; ValueError where it moves out
    of a plane."""
    if plane is None:
        return np.eye(3) / body.mass, np.linalg.inv(body.inertia)
    along = float(plane @ body.velocity)
    tilting = body.angular_velocity - (plane @ body.angular_velocity) * plane
    if abs(along) > PLANE_SPEED * np.linalg.norm(body.velocity) or np.linalg.norm(
        tilting
    ) > PLANE_SPEED * np.linalg.norm(body.angular_velocity):
        raise ValueError(
            f"velocity: expected body {body.name!r} to move in the plane of the scene, got velocity "
            f"{body.velocity.tolist()} and angular velocity {body.angular_velocity.tolist()}"
        )
    axis = rotation_matrices(body.orientation).T @ plane
    return (np.eye(3) - np.outer(plane, plane)) / body.mass, np.outer(axis, axis) / (
        axis @ body.inertia @ axis
    )


def shape_key(body: Body) -> tuple[int, bytes]:
    """Equal for bodies that have one shape at one place; to compare meshes by what they hold would cost more than
    what it saves."""
    return id(body.shape), body.shape_offset.tobytes()


def plane_of(shape: HalfSpace, body: Body) -> tuple[Array, float]:
    """Unit normal and offset [m], world frame, of a body's half-space."""
    normal = rotation_matrices(body.orientation) @ shape.normal
    return normal, float(shape.offset + normal @ body.position)
