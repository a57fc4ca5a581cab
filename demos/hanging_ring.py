"""A ring, as a mesh of triangles, falls onto a round peg through its hole and swings there."""

import math
from typing import ClassVar

import numpy as np

from ..bodies import Body, Capsule, HalfSpace, Material, Mesh, Scene
from ..simulator import Trajectory
from .demo import Check

RING_RADIUS, TUBE_RADIUS = 0.08, 0.03  # m
SECTIONS, SIDES = 24, 12  # around the ring, around its tube
PEG_RADIUS, PEG_HEIGHT = 0.02, 0.5  # m


def ring_mesh() -> tuple[np.ndarray, np.ndarray]:
    """Vertices (n, 3) [m] and triangles of a torus about the z axis."""
    around, across = np.meshgrid(
        2.0 * np.pi * np.arange(SECTIONS) / SECTIONS, 2.0 * np.pi * np.arange(SIDES) / SIDES, indexing="ij"
    )
    out = RING_RADIUS + TUBE_RADIUS * np.cos(across)
    vertices = np.stack([out * np.cos(around), out * np.sin(around), TUBE_RADIUS * np.sin(across)], axis=-1)
    i, j = np.meshgrid(np.arange(SECTIONS), np.arange(SIDES), indexing="ij")

    def number(i: np.ndarray, j: np.ndarray) -> np.ndarray:
        return ((i % SECTIONS) * SIDES + j % SIDES).ravel()

    a, b, c, d = number(i, j), number(i + 1, j), number(i + 1, j + 1), number(i, j + 1)
    return vertices.reshape(-1, 3), np.concatenate([np.stack([a, b, c], 1), np.stack([a, c, d], 1)])


class HangingRing:
    """The hole of the ring is real: its triangles collide, not their convex hull."""

    name: ClassVar[str] = "hanging-ring"
    law: ClassVar[str] = "anitescu-potra"
    duration: ClassVar[float] = 3.0

    def scene(self) -> Scene:
        """The peg, along y, is already in the hole; the ring, about y, is off centre and turns a little."""
        material = Material(friction=0.5)
        along_y = (math.sqrt(0.5), math.sqrt(0.5), 0.0, 0.0)
        scene = Scene()
        scene.add(Body(HalfSpace(np.array([0.0, 0.0, 1.0])), fixed=True, material=material, name="floor"))
        scene.add(
            Body(
                Capsule(PEG_RADIUS, 0.5), fixed=True, material=material, name="peg",
                position=(0.0, 0.0, PEG_HEIGHT), orientation=along_y,
            )
        )  # fmt: skip
        scene.add(
            Body(
                Mesh(ring_mesh()), density=1000.0, material=material, name="ring",
                position=(0.005, 0.01, 0.49), orientation=along_y, angular_velocity=(0.3, 1.0, 0.2),
            )
        )  # fmt: skip
        return scene

    def check(self, trajectory: Trajectory) -> list[Check]:
        """The ring hangs on the peg, touches nothing else, gains no energy and enters nothing."""
        end = trajectory.sample(trajectory.end_time)
        hangs = PEG_HEIGHT + PEG_RADIUS - (RING_RADIUS - TUBE_RADIUS)  # height of its centre, were it round
        times = np.linspace(0.0, trajectory.end_time, 200)
        rises = np.diff([float(trajectory.energy(t)) for t in times])
        floor = [event for event in trajectory.events if (event.contacts.bodies == 0).any()]
        return [
            Check(
                "height of the ring, error [m]",
                abs(end.position[2, 2] - hangs),
                0.003,
            ),
            Check("contacts with the floor", float(len(floor)), 0.0),
            Check("largest rise of energy [J]", float(rises.max()), 1e-9),
            Check("largest overlap [m]", trajectory.largest_overlap(), 1e-9),
        ]
