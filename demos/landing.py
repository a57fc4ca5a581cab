"""A block lands flat on two corners at once: twenty outcomes of one landing, over each other.

Which of the corners is struck first is not decided by rigid-body mechanics (Halm & Posa, Set-valued rigid-body
dynamics for simultaneous, inelastic, frictional impacts, section 5.4.1), so a run has no single future here.
"""

import math
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from ..bodies import Body, Box, HalfSpace, Material, Scene
from ..impact_laws import SetValuedRouth
from ..simulator import BranchedRun, Simulator
from .demo import Check, Table

MEMBERS = 20
DURATION = 1.2  # s
GRAVITY = 9.81  # m/s²
SIDE, HEIGHT, START = 0.3, 0.6, 0.6  # m: edges of the block, and how high its centre is at the start
SPEED = 6.0  # m/s, down
_ONE = 1e-9  # of the largest impulse: outcomes that differ by less count as one


def landing_scene() -> Scene:
    """The block above the floor, in a plane."""
    surface = Material(friction=0.8)
    scene = Scene(gravity=(0.0, 0.0, -GRAVITY))
    scene.planar()
    scene.add(Body(HalfSpace(np.array([0.0, 0.0, 1.0])), fixed=True, material=surface, name="floor"))
    scene.add(
        Body(
            Box((SIDE, SIDE, HEIGHT)), density=500.0, position=(0.0, 0.0, START), velocity=(0.0, 0.0, -SPEED),
            material=surface, name="block",
        )
    )  # fmt: skip
    return scene


class Landing:
    """Every member falls alike, lands at one time on two corners, and goes on as its own outcome says."""

    name: ClassVar[str] = "landing"
    ending: ClassVar[str] = ".h5"

    def __init__(self) -> None:
        self._seed, self._progress = 0, False

    def run(self, seed: int = 0, progress: bool = False) -> BranchedRun:
        """The tree of runs from that seed."""
        self._seed, self._progress = seed, progress
        return self.tree

    @cached_property
    def tree(self) -> BranchedRun:
        """All members."""
        simulator = Simulator(landing_scene(), SetValuedRouth())
        return simulator.branches(MEMBERS, self._seed, DURATION, tolerance=_ONE, progress=self._progress)

    def tables(self) -> list[Table]:
        """Of every end: how many members have it, and how the block comes off the landing."""
        rows = []
        for end in sorted(self.tree.ends, key=lambda end: -len(end.members)):
            after = end.trajectory.events[0].after["block"]
            rows.append(
                (
                    str(len(end.members)),
                    f"{after.angular_velocity[1]:+.4f}",
                    f"{math.degrees(_tilt(end, DURATION)):+.2f}",
                )
            )
        return [
            Table(("members", "rate after landing [rad/s]", f"tilt at {DURATION:g} s [degrees]"), tuple(rows))
        ]

    def check(self) -> list[Check]:
        """One time of landing for all, in closed form; several outcomes; no energy from nowhere."""
        landings = np.array([run.events[0].time for run in self.tree.trajectories])
        fall = (math.sqrt(SPEED**2 + 2.0 * GRAVITY * (START - 0.5 * HEIGHT)) - SPEED) / GRAVITY
        gained = max(
            float(np.diff(run.energy(np.linspace(0.0, run.known_until, 200))).max())
            for run in self.tree.trajectories
        )
        overlap = max(run.largest_overlap() for run in self.tree.trajectories)
        return [
            Check("time of landing, off closed form [s]", float(np.abs(landings - fall).max()), 1e-12),
            Check("different outcomes fewer than 5", float(max(5 - len(self.tree.ends), 0)), 0.0),
            Check("energy gained [J]", gained, 1e-9),
            Check("largest overlap [m]", overlap, 1e-9),
        ]

    def write(self, path: Path) -> None:
        """The tree, which ``carom view`` shows again."""
        self.tree.save(path)


def _tilt(end: Any, time: float) -> float:
    """Angle [rad] of the block around y in a run, at a time [s] or where it ends before."""
    w, _, y, _ = end.trajectory["block"].orientation(min(time, end.trajectory.known_until))
    return 2.0 * math.atan2(float(y), float(w))
