"""A ball that bounces infinitely often in finite time."""

import math
from typing import ClassVar

import numpy as np

from ..bodies import Body, HalfSpace, Material, Scene, Sphere
from ..simulator import Trajectory
from .demo import Check

GRAVITY = 9.81  # m/s²
HEIGHT = 1.0  # m, of the lowest point
RADIUS = 0.1  # m
RESTITUTION = 0.8
COMPARED_IMPACTS = 20


def impact_times(count: int) -> np.ndarray:
    """Closed form of the first impact times [s]: a fall, then flights that shrink by the restitution."""
    fall = math.sqrt(2.0 * HEIGHT / GRAVITY)
    flights = 2.0 * fall * RESTITUTION ** np.arange(1, count)
    return np.concatenate([[fall], fall + np.cumsum(flights)])


def rest_time() -> float:
    """Closed form of the time [s] at which the bounces have accumulated: 4.063712768871579."""
    return math.sqrt(2.0 * HEIGHT / GRAVITY) * (1.0 + RESTITUTION) / (1.0 - RESTITUTION)


class BouncingBall:
    """A ball falls by 1 m and bounces with restitution 0.8; its flights are a geometric series."""

    name: ClassVar[str] = "bouncing-ball"
    law: ClassVar[str] = "sequential-reflection"
    duration: ClassVar[float] = 5.0

    def scene(self) -> Scene:
        """A ball of radius 0.1 m whose lowest point is 1 m above the floor."""
        material = Material(friction=0.0, restitution=RESTITUTION)
        scene = Scene(gravity=(0.0, 0.0, -GRAVITY))
        scene.add(Body(HalfSpace(np.array([0.0, 0.0, 1.0])), fixed=True, material=material, name="floor"))
        ball = Body(
            Sphere(RADIUS),
            density=1000.0,
            position=(0.0, 0.0, HEIGHT + RADIUS),
            material=material,
            name="ball",
        )
        scene.add(ball)
        return scene

    def check(self, trajectory: Trajectory) -> list[Check]:
        """Impact times and rest time against the closed form, and no overlap."""
        times = np.array([event.time for event in trajectory.events if event.kind == "impact"])
        expected = impact_times(COMPARED_IMPACTS)
        worst = math.inf
        if len(times) >= COMPARED_IMPACTS:
            worst = float(np.abs(times[:COMPARED_IMPACTS] / expected - 1.0).max())
        rested = math.inf if trajectory.rest_time is None else trajectory.rest_time
        return [
            Check(f"first {COMPARED_IMPACTS} impact times, relative error", worst, 1e-10),
            Check("time of rest, error [s]", abs(rested - rest_time()), 1e-8),
            Check("largest overlap [m]", trajectory.largest_overlap(), 1e-12),
        ]
