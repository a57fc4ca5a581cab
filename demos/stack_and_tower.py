"""A stack of boxes and a tower of planks come down, and then stand while a pendulum counts a hundred seconds."""

import math
from typing import ClassVar

import numpy as np
from scipy.special import ellipj, ellipk

from ..bodies import Body, Box, DistanceJoint, HalfSpace, Material, Scene, Shape, Sphere
from ..simulator import Trajectory
from .demo import Check
from .measured import even_times, impact_times, joints_check, ledger_check

GRAVITY = 9.81  # m/s²
DENSITY = 500.0  # kg/m³
DROP = 1.0 / 64.0  # m between a body and the one below it at the start
BOXES, BOX = 10, (0.5, 0.5, 0.25)  # m
LAYERS, PLANK = 4, (0.75, 0.25, 0.125)  # m
TOWER, CLOCK = 2.0, -2.0  # m, where they are along x
PENDULUM, SWING = 2.0, 0.5  # m, rad


class StackAndTower:
    """Ten boxes, turned and off the middle, and four layers of planks fall a little and stand for 100 s.

    The pendulum beside them keeps the run going: with everything at rest it would be over.
    """

    name: ClassVar[str] = "stack-and-tower"
    law: ClassVar[str] = "anitescu-potra"
    duration: ClassVar[float] = 100.0

    def scene(self) -> Scene:
        """Every body is a small way above the one below it; the pendulum is let go."""
        material = Material(friction=0.5)
        scene = Scene(gravity=(0.0, 0.0, -GRAVITY))
        scene.add(Body(HalfSpace(np.array([0.0, 0.0, 1.0])), fixed=True, material=material, name="floor"))

        def add(name: str, shape: Shape, level: int, height: float, x: float, y: float, turn: float) -> None:
            place = (x, y, height * (level + 0.5) + DROP * (level + 1))
            turned = (math.cos(0.5 * turn), 0.0, 0.0, math.sin(0.5 * turn))
            body = Body(
                shape, density=DENSITY, material=material, name=name, position=place, orientation=turned
            )
            scene.add(body)

        for k in range(BOXES):
            x, y = 0.05 * math.cos(2.0 * k), 0.05 * math.sin(2.0 * k)
            add(f"box-{k + 1}", Box(BOX), k, BOX[2], x, y, 0.3 * k)
        for layer in range(LAYERS):
            for side in (-1, 1):
                turn, across = (layer % 2) * 0.5 * math.pi, side * 0.5 * (PLANK[0] - PLANK[1])
                x, y = (across, 0.0) if turn else (0.0, across)
                add(f"plank-{layer + 1} {side:+d}", Box(PLANK), layer, PLANK[2], TOWER + x, y, turn)
        hook = np.array([CLOCK, 0.0, PENDULUM + 0.5])
        place = hook + PENDULUM * np.array([math.sin(SWING), 0.0, -math.cos(SWING)])
        bob = Body(Sphere(0.15), density=DENSITY, material=material, name="pendulum", position=place)
        scene.add_joint(DistanceJoint(scene.add(bob), anchor=place, base_anchor=hook))
        return scene

    def check(self, trajectory: Trajectory) -> list[Check]:
        """Times at which bodies land, where they then stay, the pendulum's closed form, and energy."""
        landings = np.sqrt(2.0 * DROP * np.arange(1, BOXES + 1) / GRAVITY)
        found = impact_times(trajectory)
        late = max(float(np.abs(found - landing).min(initial=math.inf)) for landing in landings)
        after = [event for event in trajectory.events if event.time > landings[-1] + 1e-6]
        start, times = trajectory.sample(trajectory.start_time), even_times(trajectory)
        standing = trajectory.sample(times[times > landings[-1]])
        expected = start.position[1:-1].copy()
        expected[:BOXES, 2] -= DROP * np.arange(1, BOXES + 1)
        expected[BOXES:, 2] -= DROP * np.repeat(np.arange(1, LAYERS + 1), 2)
        drift = float(np.abs(standing.position[:, 1:-1] - expected).max())
        turned = float(np.abs(standing.orientation[:, 1:-1] - start.orientation[1:-1]).max())
        angle = math.asin((trajectory.sample(trajectory.end_time).position[-1, 0] - CLOCK) / PENDULUM)
        return [
            Check("simulated time, short of 100 s", self.duration - trajectory.end_time, 0.0),
            Check("times of landing, error [s]", late, 1e-9),
            Check("events after the last landing", float(len(after)), 5.0),
            Check("drift of what stands [m]", drift, 1e-9),
            Check("turning of what stands, of its quaternion", turned, 1e-9),
            Check("pendulum at the end, error [rad]", abs(angle - swing(trajectory.end_time)), 1e-8),
            joints_check(trajectory),
            ledger_check(trajectory),
            Check("largest overlap [m]", trajectory.largest_overlap(), 1e-9),
        ]


def swing(time: float) -> float:
    """Angle [rad] of the pendulum, let go at SWING, at that time [s]."""
    parameter = math.sin(0.5 * SWING) ** 2
    phase = float(ellipk(parameter)) - math.sqrt(GRAVITY / PENDULUM) * time
    return 2.0 * math.asin(math.sin(0.5 * SWING) * float(ellipj(phase, parameter)[0]))
