"""A block that rocks from edge to edge ever faster, until it stands."""

import math
from typing import ClassVar

import numpy as np

from ..bodies import Body, Box, HalfSpace, Material, Scene
from ..simulator import Trajectory
from .demo import Check

WIDTH = 1.0  # m
HEIGHT = 2.0  # m
MASS = 1.0  # kg
RATE = 1.0  # rad/s at the start
GRAVITY = 9.81  # m/s²
RATIO = 0.7  # of the rates after and before an impact: 1 - 3 w² / (2 (w² + h²))
COMPARED_IMPACTS = 8
SUMMED_IMPACTS = 24


def rocking_time(rate: float) -> float:
    """Time [s] from leaving the floor at `rate` [rad/s] about an edge to falling back onto it.

    The quadrature of the inverted pendulum, with θ = θ_max - x² so that the integrand is smooth.
    """
    radius = 0.5 * math.hypot(WIDTH, HEIGHT)  # from the edge to the centre
    lean = math.atan2(WIDTH, HEIGHT)  # of that line when the block stands
    stiffness = 1.5 * GRAVITY / radius  # 2 m g R / (inertia about the edge)
    highest = lean - math.acos(math.cos(lean) + rate * rate / stiffness)
    node, weight = np.polynomial.legendre.leggauss(60)
    x = 0.5 * math.sqrt(highest) * (node + 1.0)
    # θ'² = stiffness (cos(lean - θ_max) - cos(lean - θ)), as a product so that nothing cancels
    squared_rate = 2.0 * stiffness * np.sin(lean - highest + 0.5 * x * x) * np.sin(0.5 * x * x)
    return float(2.0 * np.sum(0.5 * math.sqrt(highest) * weight * 2.0 * x / np.sqrt(squared_rate)))


def impact_times(count: int) -> np.ndarray:
    """The first impact times [s] of a block that keeps RATIO of its rate at every impact."""
    return np.cumsum([rocking_time(RATE * RATIO**k) for k in range(count)])


def rest_time() -> float:
    """When infinitely many impacts have accumulated [s]; the last times shrink by RATIO itself."""
    last = rocking_time(RATE * RATIO**SUMMED_IMPACTS)
    return float(impact_times(SUMMED_IMPACTS)[-1]) + last / (1.0 - RATIO)


class RockingBlock:
    """A block 1 m wide and 2 m high rocks with friction 1; every impact keeps 0.7 of its rate."""

    name: ClassVar[str] = "rocking-block"
    law: ClassVar[str] = "anitescu-potra"
    duration: ClassVar[float] = 5.0

    def scene(self) -> Scene:
        """The block stands on the floor and already turns about its right edge."""
        material = Material(friction=1.0)
        scene = Scene(gravity=(0.0, 0.0, -GRAVITY))
        scene.add(Body(HalfSpace(np.array([0.0, 0.0, 1.0])), fixed=True, material=material, name="floor"))
        block = Body(
            Box((WIDTH, WIDTH, HEIGHT)),
            mass=MASS,
            position=(0.0, 0.0, 0.5 * HEIGHT),
            velocity=(0.5 * HEIGHT * RATE, 0.0, 0.5 * WIDTH * RATE),
            angular_velocity=(0.0, RATE, 0.0),
            material=material,
            name="block",
        )
        scene.add(block)
        return scene

    def check(self, trajectory: Trajectory) -> list[Check]:
        """Impact times by quadrature, energy that never rises, and a block that stands at the end."""
        impacts = [event for event in trajectory.events if event.kind == "impact"]
        late = math.inf
        if len(impacts) >= COMPARED_IMPACTS:
            times = np.array([event.time for event in impacts[:COMPARED_IMPACTS]])
            late = float(np.abs(times - impact_times(COMPARED_IMPACTS)).max())
        rises = [
            float(trajectory.energy(event.time) - trajectory.energy(event.time, side="left"))
            for event in trajectory.events
        ]
        end = trajectory.sample(trajectory.end_time)
        tilt = 2.0 * float(np.linalg.norm(end.orientation[1, 1:3]))
        rested = math.inf if trajectory.rest_time is None else trajectory.rest_time
        return [
            Check(f"first {COMPARED_IMPACTS} impact times, error [s]", late, 1e-8),
            Check("time of rest, error [s]", abs(rested - rest_time()), 1e-6),
            Check("largest rise of energy at an event [J]", max(rises, default=math.inf), 1e-12),
            Check("tilt at the end [rad]", tilt, 1e-9),
            Check("rate at the end [rad/s]", float(np.abs(end.angular_velocity[1]).max()), 1e-9),
            Check("largest overlap [m]", trajectory.largest_overlap(), 1e-9),
        ]
