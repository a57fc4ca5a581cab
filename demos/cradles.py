"""Four cradles side by side: three balls, five struck by two, three struck at both ends, and unequal masses."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..bodies import Body, HalfSpace, Material, Scene, Sphere
from ..simulator import Trajectory
from .demo import Check

RADIUS = 0.125  # m of a ball of mass 1, a binary fraction: equal neighbours touch exactly
APPROACH = 0.5  # m, gap in front of the balls that move
APART = 0.75  # m, between the lines


@dataclass(frozen=True)
class Cradle:
    """Balls in a line: their masses [kg], and velocities [m/s] before and after the impact."""

    title: str
    masses: tuple[float, ...]
    before: tuple[float, ...]
    after: tuple[float, ...]

    def places(self) -> np.ndarray:
        """Where the centres start [m]: those at rest touch each other, those that move are a gap away."""
        radii = self.radii()
        centres = np.concatenate([[0.0], np.cumsum(radii[1:] + radii[:-1])])
        return centres - APPROACH * np.array(self.before)

    def radii(self) -> np.ndarray:
        """Radii [m] of balls of equal density."""
        return RADIUS * np.cbrt(np.array(self.masses))


CRADLES = (
    Cradle("three equal balls", (1.0,) * 3, (1.0, 0.0, 0.0), (0.0, 0.0, 1.0)),
    Cradle("five struck by two", (1.0,) * 5, (1.0, 1.0, 0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0, 1.0)),
    Cradle("three struck twice", (1.0,) * 3, (1.0, 0.0, -1.0), (-1.0, 0.0, 1.0)),
    Cradle("masses 1, 2, 3", (1.0, 2.0, 3.0), (1.0, 0.0, 0.0), (-1.0 / 3.0, -2.0 / 15.0, 8.0 / 15.0)),
)


class Cradles:
    """Each line is struck at 1 m/s at the same instant and ends as reflections one after the other say.

    The lines do not touch, so each is an impact of its own. There is no gravity; the floor, just out of reach,
    is there to be seen.
    """

    name: ClassVar[str] = "cradles"
    law: ClassVar[str] = "sequential-reflection"
    duration: ClassVar[float] = 1.25

    def scene(self) -> Scene:
        """The lines along x, the first at y = 0."""
        material = Material(friction=0.0, restitution=1.0)
        scene = Scene(gravity=(0.0, 0.0, 0.0))
        floor = HalfSpace(np.array([0.0, 0.0, 1.0]), offset=-2.0 * RADIUS)
        scene.add(Body(floor, fixed=True, material=material, name="floor"))
        for line, cradle in enumerate(CRADLES):
            rows = zip(cradle.masses, cradle.radii(), cradle.places(), cradle.before, strict=True)
            for number, (mass, radius, place, speed) in enumerate(rows, start=1):
                ball = Body(
                    Sphere(radius),
                    mass=mass,
                    position=(place, -APART * line, 0.0),
                    velocity=(speed, 0.0, 0.0),
                    material=material,
                    name=f"line-{line + 1} ball-{number}",
                )
                scene.add(ball)
        return scene

    def check(self, trajectory: Trajectory) -> list[Check]:
        """Final velocities of each line, energy, and one impact a line at the moment of contact."""
        velocity = trajectory.sample(trajectory.end_time).velocity
        before, after = trajectory.energy(np.array([trajectory.start_time, trajectory.end_time]))
        times = np.array([event.time for event in trajectory.events if event.kind == "impact"])
        checks = []
        first = 1
        for cradle in CRADLES:
            expected = np.zeros((len(cradle.masses), 3))
            expected[:, 0] = cradle.after
            error = float(np.abs(velocity[first : first + len(expected)] - expected).max())
            checks.append(Check(f"{cradle.title}, error [m/s]", error, 1e-12))
            first += len(expected)
        return [
            *checks,
            Check("impacts, off one a line", float(abs(len(times) - len(CRADLES))), 0.0),
            Check("times of the impacts, error [s]", float(np.abs(times - APPROACH).max(initial=0.0)), 1e-12),
            Check("energy, relative change", abs(float(after / before) - 1.0), 1e-13),
        ]
