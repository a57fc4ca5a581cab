"""Ellipsoids spun on a floor: a rattleback that turns back, and an egg that stands up and jumps on the way.

Both are compared with equations of motion written down here and integrated apart from the engine (DOP853): the
force at the lowest point lets it rest, or is normal with friction against its slip.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from scipy.integrate import solve_ivp

from ..bodies import Body, Ellipsoid, HalfSpace, Material, Scene
from ..bodies.rotation import rotation_matrices
from ..simulator import Trajectory
from .demo import Check
from .measured import even_times, impact_times, ledger_check

GRAVITY = 9.81  # m/s²
UP = np.array([0.0, 0.0, 1.0])
_GRAVITY_VECTOR = GRAVITY * UP
_IDENTITY = np.eye(3)
_ACCURACY = 1e-13
_STANDS = math.radians(15.0)


@dataclass(frozen=True)
class TouchingEllipsoid:
    """Equations of an ellipsoid on a floor that rolls without slip, or slips with a coefficient of ``friction``.

    A state (18,) is the rotation to world axes by rows, position and velocity (world) and spin (body axes).
    """

    body: Body
    friction: float | None

    @cached_property
    def _shape(self) -> Ellipsoid:
        assert isinstance(self.body.shape, Ellipsoid)
        return self.body.shape

    @cached_property
    def _inverse_inertia(self) -> np.ndarray:
        return np.linalg.inv(self.body.inertia)

    @cached_property
    def _lightness(self) -> float:
        return 1.0 / self.body.mass

    def start(self) -> np.ndarray:
        """State of the body as it is."""
        rotation = rotation_matrices(self.body.orientation)
        spin = rotation.T @ self.body.angular_velocity
        return np.concatenate([rotation.ravel(), self.body.position, self.body.velocity, spin])

    def derivative(self, _: float, state: np.ndarray) -> np.ndarray:
        """Of a state, by time."""
        force, turning = self.pushed(state)
        return np.concatenate(
            [
                (state[:9].reshape(3, 3) @ _crossed(state[15:])).ravel(),
                state[12:15],
                force * self._lightness - _GRAVITY_VECTOR,
                turning,
            ]
        )

    def pushed(self, state: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Contact force (3,) [N], world axes, that gives the lowest point its acceleration, or its height, and the
        angular acceleration (3,) with it, body axes."""
        rotation, spin = state[:9].reshape(3, 3), state[15:]
        inverse, turns = self._inverse_inertia, _crossed(spin)
        arm, wandering = _arm(self._shape, rotation, spin)
        lever = _crossed(arm)
        swept = turns @ arm
        alone = -inverse @ (turns @ (self.body.inertia @ spin))
        free = rotation @ (turns @ (swept + wandering) - lever @ alone) - _GRAVITY_VECTOR
        turned = lever @ rotation.T
        response = self._lightness * _IDENTITY + turned.T @ inverse @ turned
        if self.friction is None:
            force = np.linalg.solve(response, -free)
        else:
            slip = state[12:15] + rotation @ swept
            slip[2] = 0.0
            direction = UP - self.friction * slip / math.sqrt(slip @ slip)
            force = -free[2] / (response[2] @ direction) * direction
        return force, alone + inverse @ (turned @ force)

    def lifts_off(self, _: float, state: np.ndarray) -> float:
        """Normal force [N], where integration ends once it falls to zero."""
        return float(self.pushed(state)[0][2])

    lifts_off.terminal = True  # type: ignore[attr-defined]

    def solved(self, until: float) -> Any:
        """Solution from the start to a time [s], or until it lifts off."""
        return solve_ivp(
            self.derivative, (0.0, until), self.start(), "DOP853",
            rtol=_ACCURACY, atol=0.1 * _ACCURACY, dense_output=True, events=self.lifts_off,
        )  # fmt: skip


def _crossed(vector: np.ndarray) -> np.ndarray:
    """Matrix (3, 3) that takes u to vector x u, for one u sooner than `numpy.cross`."""
    x, y, z = vector.tolist()
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def _arm(shape: Ellipsoid, rotation: np.ndarray, spin: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """From the center of mass to the lowest point, c - A² n / |A n|, and its rate over the body; body axes."""
    squares, normal = np.square(shape.semi_axes), rotation[2]
    height = math.sqrt(squares @ normal**2)
    turning = _crossed(normal) @ spin
    rising = squares @ (normal * turning) / height
    return shape.center - squares * normal / height, -squares * (turning - normal * rising / height) / height


def _on_floor(body: Body) -> Scene:
    """A body on a floor of its own material."""
    scene = Scene(gravity=(0.0, 0.0, -GRAVITY))
    scene.add(Body(HalfSpace(UP), fixed=True, material=body.material, name="floor"))
    scene.add(body)
    return scene


def _difference(trajectory: Trajectory, solution: Any) -> tuple[float, float]:
    """Largest distance of rotations and of places [m] of a run from a solution, over its time."""
    times = np.linspace(0.0, min(trajectory.end_time, solution.t[-1]), 201)
    expected, state = solution.sol(times), trajectory.sample(times)
    rotation = rotation_matrices(state.orientation[:, 1]).reshape(-1, 9).T
    place = state.position[:, 1].T
    return float(np.abs(rotation - expected[:9]).max()), float(np.abs(place - expected[9:12]).max())


class Rattleback:
    """A rattleback spun the wrong way rattles, stops and turns back: Kane & Levinson (1982), their half ellipsoid.

    Its axes of inertia do not lie along those of its surface; without slip, energy goes from the spin into rattling
    and back into the other spin.
    """

    name: ClassVar[str] = "rattleback"
    law: ClassVar[str] = "stronge-coulomb"
    duration: ClassVar[float] = 8.0
    spin: ClassVar[float] = -5.0
    """[rad/s] about the vertical"""
    tilt: ClassVar[float] = math.radians(0.5)

    def scene(self) -> Scene:
        """The rattleback on a floor, spinning and a little tilted, its lowest point at rest."""
        shape = Ellipsoid((0.2, 0.03, 0.02), center=(0.0, 0.0, 0.01))
        inertia = np.array([[2e-4, -2e-5, 0.0], [-2e-5, 1.6e-3, 0.0], [0.0, 0.0, 1.7e-3]])
        orientation = np.array([math.cos(0.5 * self.tilt), math.sin(0.5 * self.tilt), 0.0, 0.0])
        rotation, spin = rotation_matrices(orientation), np.array([0.0, 0.0, self.spin])
        arm = rotation @ _arm(shape, rotation, np.zeros(3))[0]
        return _on_floor(
            Body(
                shape,
                mass=1.0,
                inertia=inertia,
                material=Material(friction=1.0),
                name="rattleback",
                position=(0.0, 0.0, -arm[2]),
                orientation=orientation,
                velocity=-np.cross(spin, arm),
                angular_velocity=spin,
            )
        )

    def check(self, trajectory: Trajectory) -> list[Check]:
        """It turns back, as its own equations say, and keeps its energy."""
        solution = TouchingEllipsoid(trajectory.scene.bodies[1], None).solved(self.duration)
        rotation, place = _difference(trajectory, solution)
        energy = trajectory.energy(even_times(trajectory))
        turned_back = trajectory.sample(self.duration).angular_velocity[1, 2] / -self.spin
        return [
            Check("rotation, error", rotation, 1e-8),
            Check("place, error [m]", place, 1e-9),
            Check("spin back in the end, short of half", 0.5 - float(turned_back), 0.0),
            Check("events", len(trajectory.events), 0),
            Check("energy, relative change", float(np.ptp(energy) / energy[0]), 1e-10),
            ledger_check(trajectory),
        ]


class SpinningEgg:
    """An egg spun on its side stands up by friction (Moffatt & Shimomura, 2002), and jumps while it does."""

    name: ClassVar[str] = "spinning-egg"
    law: ClassVar[str] = "stronge-coulomb"
    duration: ClassVar[float] = 4.0
    spin: ClassVar[float] = 200.0
    """[rad/s] about the vertical"""
    tilt: ClassVar[float] = math.radians(85.0)
    """of its long axis from the vertical"""
    semi_axes: ClassVar[tuple[float, float, float]] = (0.02, 0.02, 0.03)
    friction: ClassVar[float] = 0.1

    def scene(self) -> Scene:
        """The egg on a floor, spinning."""
        shape = Ellipsoid(self.semi_axes)
        orientation = np.array([math.cos(0.5 * self.tilt), math.sin(0.5 * self.tilt), 0.0, 0.0])
        rotation = rotation_matrices(orientation)
        arm = rotation[2] @ _arm(shape, rotation, np.zeros(3))[0]
        return _on_floor(
            Body(
                shape,
                density=1000.0,
                material=Material(friction=self.friction),
                name="egg",
                position=(0.0, 0.0, -arm),
                orientation=orientation,
                angular_velocity=(0.0, 0.0, self.spin),
            )
        )

    def check(self, trajectory: Trajectory) -> list[Check]:
        """As its own equations say until it lifts off, when it does so, and that it stands in the end."""
        solution = TouchingEllipsoid(trajectory.scene.bodies[1], self.friction).solved(self.duration)
        lift_off = next((e.time for e in trajectory.events if e.kind == "lift_off"), math.inf)
        rotation, place = _difference(trajectory, solution)
        axis = rotation_matrices(trajectory.sample(self.duration).orientation[1])[:, 2]
        return [
            Check("rotation until the first jump, error", rotation, 1e-8),
            Check("place until the first jump, error [m]", place, 1e-9),
            Check("time of the first jump, error [s]", abs(lift_off - solution.t[-1]), 1e-8),
            Check("long axis in the end, from vertical [rad]", math.acos(min(1.0, abs(axis[2]))), _STANDS),
            Check("jumps, short of one", 1 - len(impact_times(trajectory)), 0),
            ledger_check(trajectory),
            Check("largest overlap [m]", trajectory.largest_overlap(), 1e-9),
        ]
