"""Newton's cradle: equal balls in contact pass an impact on."""

import math
from typing import ClassVar

import numpy as np

from ..bodies import Body, HalfSpace, Material, Scene, Sphere
from ..simulator import Trajectory
from .demo import Check

BALLS = 5
RADIUS = 0.125  # m, a binary fraction: neighbours touch exactly
APPROACH = 0.5  # m, gap in front of the first ball
SPEED = 1.0  # m/s
DENSITY = 1000.0  # kg/m³


class NewtonsCradle:
    """The first of five equal balls arrives at 1 m/s; the last leaves at 1 m/s, the others rest.

    The four balls that wait touch each other, so the law decides about all contacts at one instant. There is
    no gravity; the floor, just out of reach, is there to be seen.
    """

    name: ClassVar[str] = "newtons-cradle"
    law: ClassVar[str] = "sequential-reflection"
    duration: ClassVar[float] = 1.5

    def scene(self) -> Scene:
        """Balls along x, the first one apart and arriving."""
        material = Material(friction=0.0, restitution=1.0)
        scene = Scene(gravity=(0.0, 0.0, 0.0))
        floor = HalfSpace(np.array([0.0, 0.0, 1.0]), offset=-1.5 * RADIUS)
        scene.add(Body(floor, fixed=True, material=material, name="floor"))
        for k in range(BALLS):
            first = k == 0
            ball = Body(
                Sphere(RADIUS),
                density=DENSITY,
                position=(2.0 * RADIUS * k - (APPROACH if first else 0.0), 0.0, 0.0),
                velocity=(SPEED if first else 0.0, 0.0, 0.0),
                material=material,
                name=f"ball-{k + 1}",
            )
            scene.add(ball)
        return scene

    def check(self, trajectory: Trajectory) -> list[Check]:
        """Final velocities (0, 0, 0, 0, 1) m/s, energy, momentum and the time of the impact."""
        velocity = trajectory.sample(trajectory.end_time).velocity[1:]
        expected = np.zeros((BALLS, 3))
        expected[-1, 0] = SPEED
        before, after = trajectory.energy(np.array([trajectory.start_time, trajectory.end_time]))
        impacts = [event.time for event in trajectory.events if event.kind == "impact"]
        first = impacts[0] if impacts else math.inf
        return [
            Check(
                "final velocities (0, 0, 0, 0, 1), error [m/s]",
                float(np.abs(velocity - expected).max()),
                1e-12,
            ),
            Check("energy, relative change", abs(float(after / before) - 1.0), 1e-13),
            Check("momentum, relative change", abs(float(velocity[:, 0].sum()) / SPEED - 1.0), 1e-13),
            Check("time of the first impact, error [s]", abs(first - APPROACH / SPEED), 1e-12),
        ]
