"""A box slides over the edge of a table, tips where its support ends, and falls."""

import math
from typing import ClassVar

import numpy as np

from ..bodies import Body, Box, HalfSpace, Material, Scene
from ..simulator import Trajectory
from .demo import Check

EDGE = 0.5  # m, of the table
HALF = 0.1  # m, half an edge of the box
START, SPEED = 0.2, 1.5  # m, m/s
FRICTION = 0.1
GRAVITY = 9.81  # m/s²


def tipping_time() -> float:
    """When the box begins to tip [s].

    Friction FRICTION m g at its bottom moves the centre of pressure FRICTION * HALF ahead of the centre of mass;
    the box tips as soon as that is over the edge.
    """
    way = EDGE - FRICTION * HALF - START
    return (SPEED - math.sqrt(SPEED**2 - 2.0 * FRICTION * GRAVITY * way)) / (FRICTION * GRAVITY)


class OverTheEdge:
    """Corners of the box leave the table one after the other; edge on edge carries it then."""

    name: ClassVar[str] = "over-the-edge"
    law: ClassVar[str] = "anitescu-potra"
    duration: ClassVar[float] = 3.0

    def scene(self) -> Scene:
        """A table one metre square, 0.6 m high, and a cube of 0.2 m that slides along x."""
        material = Material(friction=FRICTION)
        scene = Scene(gravity=(0.0, 0.0, -GRAVITY))
        scene.add(Body(HalfSpace(np.array([0.0, 0.0, 1.0])), fixed=True, material=material, name="floor"))
        scene.add(
            Body(Box((1.0, 1.0, 0.2)), fixed=True, material=material, name="table", position=(0.0, 0.0, 0.5))
        )
        scene.add(
            Body(
                Box((2 * HALF, 2 * HALF, 2 * HALF)), density=1000.0, material=material, name="box",
                position=(START, 0.05, 0.6 + HALF), velocity=(SPEED, 0.0, 0.0),
            )
        )  # fmt: skip
        return scene

    def check(self, trajectory: Trajectory) -> list[Check]:
        """The time at which it tips by the balance of moments, and rest on the floor beside the table."""
        lifts = [event.time for event in trajectory.events if event.kind == "lift_off"]
        late = abs(lifts[0] - tipping_time()) if lifts else math.inf
        end = trajectory.sample(trajectory.end_time)
        return [
            Check("time of tipping, error [s]", late, 1e-9),
            Check(
                "height at the end, error [m]",
                abs(end.position[2, 2] - HALF),
                1e-9,
            ),
            Check("way short of the edge [m]", EDGE - float(end.position[2, 0]), 0.0),
            Check("speed at the end [m/s]", float(np.abs(end.velocity[2]).max()), 1e-9),
            Check("largest overlap [m]", trajectory.largest_overlap(), 1e-9),
        ]
