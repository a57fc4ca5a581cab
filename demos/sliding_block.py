"""A block slides on the floor until friction has stopped it."""

import math
from typing import ClassVar

import numpy as np

from ..bodies import Body, Box, HalfSpace, Material, Scene
from ..simulator import Trajectory
from .demo import Check

GRAVITY = 9.81  # m/s²
SPEED, FRICTION = 2.0, 0.3  # m/s
SIDES = (0.4, 0.3, 0.1)  # m


class SlidingBlock:
    """Constant friction stops the block after v / (μ g), on the way v² / (2 μ g)."""

    name: ClassVar[str] = "sliding-block"
    law: ClassVar[str] = "anitescu-potra"
    duration: ClassVar[float] = 2.0

    def scene(self) -> Scene:
        """A low block that stands on the floor, turned by 0.5 rad, and slides along x."""
        material = Material(friction=FRICTION)
        scene = Scene(gravity=(0.0, 0.0, -GRAVITY))
        scene.add(Body(HalfSpace(np.array([0.0, 0.0, 1.0])), fixed=True, material=material, name="floor"))
        scene.add(
            Body(
                Box(SIDES), density=700.0, material=material, name="block", position=(0.0, 0.0, 0.5 * SIDES[2]),
                orientation=(math.cos(0.25), 0.0, 0.0, math.sin(0.25)), velocity=(SPEED, 0.0, 0.0),
            )
        )  # fmt: skip
        return scene

    def check(self, trajectory: Trajectory) -> list[Check]:
        """Time and way of sliding against the closed forms."""
        stopped = math.inf if trajectory.rest_time is None else trajectory.rest_time
        way = float(trajectory.sample(trajectory.end_time).position[1, 0])
        return [
            Check("time of sliding, error [s]", abs(stopped - SPEED / (FRICTION * GRAVITY)), 1e-11),
            Check("way of sliding, error [m]", abs(way - SPEED**2 / (2.0 * FRICTION * GRAVITY)), 1e-10),
            Check("impacts", sum(event.kind == "impact" for event in trajectory.events), 0),
            Check("largest overlap [m]", trajectory.largest_overlap(), 1e-12),
        ]
