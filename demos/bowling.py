"""A spinning bowling ball strikes a pin: the impact of Jia & Wang with shapes instead of a given W."""

import math
from typing import ClassVar

import numpy as np

from ..bodies import Body, ConvexMesh, HalfSpace, Material, Scene, Sphere
from ..impact_laws import ImpactProblem, StrongeCoulomb
from ..simulator import Event, State, Trajectory
from .demo import Check

BALL_RADIUS = 0.108458  # m, as in figure 11
BALL_MASS = 6.35029  # kg
PIN_MASS = 1.63293  # kg
FRICTION = 0.7
RESTITUTION = 0.7
SIDES = 36  # of the pin's polygonal cross-section
# Height and radius [m] of rings of a convex pin with a round belly and a narrower head; a neck, which would not
# be convex, is left out.
PROFILE = (
    (0.0, 0.026),
    (0.02, 0.036),
    (0.06, 0.051),
    (0.09, 0.058),
    (0.115, 0.0605),
    (0.15, 0.0585),
    (0.36, 0.030),
    (0.375, 0.018),
    (0.381, 0.0),
)
SPEED = 7.0  # m/s
ASIDE = 0.03  # m, of the ball's path from the pin's axis
DISTANCE = 0.5  # m, of the centres at the start, along the path


def pin_shape() -> ConvexMesh:
    """The convex body of revolution of PROFILE about z, as a polyhedron."""
    angles = 2.0 * np.pi * np.arange(SIDES) / SIDES
    points = [
        (radius * math.cos(angle), radius * math.sin(angle), height)
        for height, radius in PROFILE
        for angle in (angles if radius > 0.0 else angles[:1])
    ]
    return ConvexMesh(np.array(points))


def inverse_inertia(bodies: list[tuple[float, np.ndarray, np.ndarray]], frame: np.ndarray) -> np.ndarray:
    """W (3, 3) [1/kg] of (3) and (5) in the rows of `frame` (normal, tangent, tangent2), from each body's
    mass [kg], inertia (3, 3) [kg m²] and lever to the contact (3,) [m] in the world frame."""
    W = np.zeros((3, 3))
    for mass, inertia, (x, y, z) in bodies:
        lever = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
        W += np.eye(3) / mass - lever @ np.linalg.inv(inertia) @ lever
    return frame @ W @ frame.T


class Bowling:
    """A ball that slides and spins hits the pin beside its axis, and the tumbling pin hits the ball again.

    Friction and restitution are 0.7. As in the paper, nothing supports the two: there is no gravity, and the
    floor, just out of reach, is there to be seen.
    """

    name: ClassVar[str] = "bowling"
    law: ClassVar[str] = "stronge-coulomb"
    duration: ClassVar[float] = 0.2

    def scene(self) -> Scene:
        """The pin stands on the z axis; the ball comes along x."""
        material = Material(friction=FRICTION, restitution=RESTITUTION)
        scene = Scene(gravity=(0.0, 0.0, 0.0))
        floor = HalfSpace(np.array([0.0, 0.0, 1.0]), offset=-0.2)
        scene.add(Body(floor, fixed=True, material=material, name="floor"))
        shape = pin_shape()
        scene.add(
            Body(shape, mass=PIN_MASS, position=tuple(shape.center_of_mass), material=material, name="pin")
        )
        ball = Body(
            Sphere(BALL_RADIUS),
            mass=BALL_MASS,
            position=(-DISTANCE, ASIDE, BALL_RADIUS),
            velocity=(SPEED, 0.0, 0.0),
            angular_velocity=(20.0, 30.0, 15.0),
            material=material,
            name="ball",
        )
        scene.add(ball)
        return scene

    def check(self, trajectory: Trajectory) -> list[Check]:
        """Momenta, energy, and the law's answer to problems built here from the bodies; the first impact slips,
        then sticks before compression ends."""
        impacts = [event for event in trajectory.events if event.kind == "impact"]
        sequences = [str(event.outcome.info["sequence"]) for event in impacts if event.outcome is not None]
        momenta, impulses, energies, gains, approaches = [], [], [], [], []
        for event in impacts:
            if event.outcome is None or len(event.contacts) != 1:
                return [Check("impacts with more than one contact", math.inf, 0.0)]
            outcome = StrongeCoulomb().resolve(_problem(trajectory, event))
            before, after = (_momenta(trajectory, state) for state in (event.before, event.after))
            momenta.append(float(np.abs(after - before).max() / np.abs(before).max()))
            impulses.append(float(np.abs(event.outcome.impulse - outcome.impulse).max()))
            gained = float(trajectory.energy(event.time) - trajectory.energy(event.time, side="left"))
            gains.append(gained)
            energies.append(abs(gained - outcome.energy_change))
            approaches.append(-float(event.outcome.velocity[0]))
        start = trajectory.energy(trajectory.start_time)
        flight = abs(float(trajectory.energy(trajectory.end_time) - start) - sum(gains))
        return [
            Check("first sequences other than scr", float(sequences[:1] != ["scr"]), 0.0),
            Check("momentum and angular momentum, relative change", max(momenta, default=math.inf), 1e-12),
            Check("impulse, distance to that with W of (5) [N s]", max(impulses, default=math.inf), 1e-9),
            Check("energy change, difference to the law's [J]", max(energies, default=math.inf), 1e-9),
            Check("energy gained at an impact [J]", max(gains, default=math.inf), 0.0),
            Check("energy change between impacts [J]", flight, 1e-9),
            Check("approach left after an impact [m/s]", max(approaches, default=math.inf), 0.0),
            Check("largest overlap [m]", trajectory.largest_overlap(), 1e-9),
        ]


def _problem(trajectory: Trajectory, event: Event) -> ImpactProblem:
    """The impact at the only contact of an event, from the bodies alone."""
    contacts, state = event.contacts, event.before
    frame = np.array([contacts.normal[0], contacts.tangent[0], contacts.tangent2[0]])
    sides, u = [], np.zeros(3)
    for k, sign in zip(contacts.bodies[0], (1.0, -1.0), strict=True):
        body = trajectory.scene.bodies[k]
        lever = contacts.point[0] - state.position[k]
        turn = _rotation(state.orientation[k])
        sides.append((body.mass, turn @ body.inertia @ turn.T, lever))
        u += sign * frame @ (state.velocity[k] + np.cross(state.angular_velocity[k], lever))
    return ImpactProblem(inverse_inertia(sides, frame), u, FRICTION, RESTITUTION)


def _momenta(trajectory: Trajectory, state: State) -> np.ndarray:
    """Momentum [kg m/s] and angular momentum about the origin [kg m²/s] of pin and ball, (6,)."""
    total = np.zeros(6)
    for k, body in enumerate(trajectory.scene.bodies):
        if not body.fixed:
            momentum = body.mass * state.velocity[k]
            turn = _rotation(state.orientation[k])
            spin = turn @ body.inertia @ turn.T @ state.angular_velocity[k]
            total += np.concatenate([momentum, np.cross(state.position[k], momentum) + spin])
    return total


def _rotation(orientation: np.ndarray) -> np.ndarray:
    """The matrix (3, 3) of a unit quaternion (w, x, y, z)."""
    w, x, y, z = orientation
    return np.array(
        [
            [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)],
            [2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x)],
            [2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)],
        ]
    )
