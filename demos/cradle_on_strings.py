"""Newton's cradle on strings: balls that swing, each on two light strings."""

import math
from typing import ClassVar

import numpy as np
from scipy.special import ellipk

from ..bodies import Body, DistanceJoint, HalfSpace, Material, Scene, Sphere
from ..simulator import Trajectory
from .demo import Check
from .measured import even_times, impact_times, joints_check, ledger_check

BALLS = 5
RADIUS = 0.125  # m, a binary fraction: neighbours touch exactly
LENGTH = 1.0  # m, of the pendulum: a ball's centre below the line through its two hooks
SPREAD = 0.5  # m, of each hook to the side
SWING = math.radians(40.0)  # from hanging down
GRAVITY = 9.81  # m/s²
DENSITY = 1000.0  # kg/m³
IMPACTS = 6


def period() -> float:
    """Of one full swing of a pendulum of that length and amplitude [s]."""
    return 4.0 * math.sqrt(LENGTH / GRAVITY) * float(ellipk(math.sin(0.5 * SWING) ** 2))


def highest() -> float:
    """How far a ball that swings rises above where it hangs [m]."""
    return LENGTH * (1.0 - math.cos(SWING))


class CradleOnStrings:
    """Five balls hang in a row; the first is let go, and last and first take turns to swing out to its height.

    Each ball has two strings, to hooks on both sides, so that it keeps to the plane. Every half period there is one
    impact, of all balls at once, after which only the ball at the other end moves.
    """

    name: ClassVar[str] = "cradle-on-strings"
    law: ClassVar[str] = "sequential-reflection"
    duration: ClassVar[float] = 0.5 * IMPACTS * period()

    def scene(self) -> Scene:
        """Balls along x, the first swung out towards -x, over a floor just out of reach."""
        material = Material(friction=0.0, restitution=1.0)
        scene = Scene(gravity=(0.0, 0.0, -GRAVITY))
        floor = HalfSpace(np.array([0.0, 0.0, 1.0]), offset=-LENGTH - 1.5 * RADIUS)
        scene.add(Body(floor, fixed=True, material=material, name="floor"))
        for k in range(BALLS):
            hook = 2.0 * RADIUS * k
            angle = SWING if k == 0 else 0.0
            place = np.array([hook - LENGTH * math.sin(angle), 0.0, -LENGTH * math.cos(angle)])
            name = f"ball-{k + 1}"
            scene.add(Body(Sphere(RADIUS), density=DENSITY, position=place, material=material, name=name))
            for side in (-SPREAD, SPREAD):
                scene.add_joint(DistanceJoint(name, anchor=place, base_anchor=(hook, side, 0.0)))
        return scene

    def check(self, trajectory: Trajectory) -> list[Check]:
        """Impacts every half period, the heights reached in turns, the balls between at rest, and energy."""
        impacts = impact_times(trajectory)
        expected = 0.5 * period() * (np.arange(IMPACTS) + 0.5)
        late = float(np.abs(impacts - expected).max()) if len(impacts) == IMPACTS else math.inf
        after = trajectory.sample(expected[0] + 1e-9).velocity[1:, 0] / math.sqrt(2.0 * GRAVITY * highest())
        turns = trajectory.sample(0.5 * period() * np.arange(IMPACTS)).position[:, 1:, 2] + LENGTH
        reached = np.where(np.arange(IMPACTS) % 2 == 0, turns[:, 0], turns[:, -1])
        between = trajectory.sample(even_times(trajectory)).velocity[:, 2:-1]
        return [
            Check(f"times of {IMPACTS} impacts, error [s]", late, 1e-9),
            Check(
                "after the first, off (0, 0, 0, 0, 1) of its speed",
                float(np.abs(after - np.eye(BALLS)[-1]).max()),
                1e-8,
            ),
            Check("heights reached in turns, error [m]", float(np.abs(reached - highest()).max()), 1e-9),
            Check("speed of the balls between [m/s]", float(np.abs(between).max()), 1e-9),
            joints_check(trajectory),
            ledger_check(trajectory),
            Check("largest overlap [m]", trajectory.largest_overlap(), 1e-9),
        ]
