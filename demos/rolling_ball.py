"""A ball that is thrown along the floor slips, and then rolls."""

import math
from typing import ClassVar

import numpy as np

from ..bodies import Body, HalfSpace, Material, Scene, Sphere
from ..simulator import Trajectory
from .demo import Check

GRAVITY = 9.81  # m/s²
SPEED, FRICTION = 3.0, 0.2  # m/s
RADIUS = 0.11  # m


class RollingBall:
    """A solid ball thrown without spin rolls after 2 v / (7 μ g), with 5/7 of its speed."""

    name: ClassVar[str] = "rolling-ball"
    law: ClassVar[str] = "stronge-coulomb"
    duration: ClassVar[float] = 2.0

    def scene(self) -> Scene:
        """A ball on the floor that moves along x and does not spin yet."""
        material = Material(friction=FRICTION)
        scene = Scene(gravity=(0.0, 0.0, -GRAVITY))
        scene.add(Body(HalfSpace(np.array([0.0, 0.0, 1.0])), fixed=True, material=material, name="floor"))
        scene.add(
            Body(
                Sphere(RADIUS), density=1200.0, material=material, name="ball", position=(0.0, 0.0, RADIUS),
                velocity=(SPEED, 0.0, 0.0),
            )
        )  # fmt: skip
        return scene

    def check(self, trajectory: Trajectory) -> list[Check]:
        """Time and speed at which it begins to roll, and rolling to the end without loss."""
        rolls = [event.time for event in trajectory.events if event.kind == "stick"]
        late = abs(rolls[0] - 2.0 * SPEED / (7.0 * FRICTION * GRAVITY)) if rolls else math.inf
        end = trajectory.sample(trajectory.end_time)
        slip = end.velocity[1] + np.cross(end.angular_velocity[1], (0.0, 0.0, -RADIUS))
        return [
            Check("time at which it rolls, error [s]", late, 1e-11),
            Check("speed of rolling, error [m/s]", abs(end.velocity[1, 0] - 5.0 / 7.0 * SPEED), 1e-11),
            Check("slip at the end [m/s]", float(np.abs(slip).max()), 1e-9),
            Check("events", len(trajectory.events), 1),
            Check("largest overlap [m]", trajectory.largest_overlap(), 1e-12),
        ]
