"""Three hundred stones, let go in the corner of two walls, settle into a heap: maximum dissipation at every step.

From event to event, which is exact, so many would take hours. So this demo moves its stones by time steps
(`Simulator(steps=)`), each of them one impact problem over all contacts.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..bodies import Body, Box, ConvexMesh, HalfSpace, Material, Scene, Shape
from ..impact_laws import MaximumDissipation
from ..simulator import Simulator, Trajectory
from .demo import Check, Table
from .drop import load_dropped_mesh, shipped_mesh

STONES = 300
RADIUS = 0.06  # m, of the ball around the largest stone
SMALLEST = 0.6  # of that, around the smallest
DENSITY = 2600.0  # kg/m³
FRICTION = 0.5
SPACING = 2.1  # distance of neighbours at the start, in RADIUS
STEEPNESS = 1.5  # height over radius of the cone of stones at the start
STEP = 2e-3  # s
SLOW, CALM = 2e-3, 0.25  # m/s; what is at rest has been slower for so long [s]
LONGEST = 6.0  # s
TOLERANCE = 1e-4
"""Of the law's residual. At rest it leaves speeds of 4e-5 m/s, 1e-3 would leave 6e-4 m/s; 1e-6 takes nine times as
long for a heap of the same slope."""
SWEEPS = 500  # at most, in one step
LARGEST_RESIDUAL = 1e-2  # where so many were not enough
BALANCE = 1e-3  # of the weight
FARTHEST = 2.0  # m, along x or y, where a stone counts as lost
DEEPEST = 0.1  # of RADIUS, by which stones may overlap while they strike each other


def stone(kind: int, radius: float, random: np.random.Generator) -> Shape:
    """A stone that a ball of that radius [m] holds: 0 a chipped block, 1 a brick, else a hull of random points."""
    if kind == 0:
        corners = _chipped_block()
    elif kind == 1:
        lengths = random.uniform(0.5, 1.0, 3)
        return Box(tuple(2.0 * radius * lengths / np.linalg.norm(lengths)))
    else:
        corners = random.normal(size=(int(random.integers(8, 22)), 3))
        corners /= np.linalg.norm(corners, axis=1)[:, None]
        corners *= random.uniform(0.55, 1.0, 3) * random.uniform(0.85, 1.0, len(corners))[:, None]
    return ConvexMesh(corners * radius / ConvexMesh(corners).bounding_radius)


@cache
def _chipped_block() -> np.ndarray:
    return load_dropped_mesh(shipped_mesh()).shape.vertices


def slots(count: int) -> np.ndarray:
    """Places (count, 3) in units of SPACING * RADIUS, the lowest at height 0.

    Layers of a quarter of a cone that stands in the corner between the x and y axes, each a triangular lattice that
    lies in the hollows of the one below.
    """
    rise = math.sqrt(2.0 / 3.0)
    height = 1
    while True:
        widest = math.ceil(height * rise / STEEPNESS)
        i, j = np.meshgrid(np.arange(-1, widest + 1), np.arange(2 * widest + 1))
        flat = np.stack([i + 0.5 * (j % 2), math.sqrt(0.75) * j], axis=-1).reshape(-1, 2)
        layers = []
        for layer in range(height):
            places = flat + (layer % 2) * np.array([0.5, math.sqrt(1.0 / 12.0)])
            near = np.linalg.norm(places, axis=1) <= (height - layer) * rise / STEEPNESS
            within = near & (places >= 0.0).all(axis=1)
            layers.append(np.column_stack([places[within], np.full(within.sum(), rise * layer)]))
        found = np.concatenate(layers)
        if len(found) >= count:
            return found[:count]
        height += 1


def pile_scene(count: int = STONES, seed: int = 0, shapes: Sequence[Shape] | None = None) -> Scene:
    """Stones in a loose cone above a floor, from a seed; `shapes`, if given, are used in turn instead."""
    random = np.random.default_rng(seed)
    material = Material(friction=FRICTION)
    scene = Scene()
    for name, normal in (
        ("floor", (0.0, 0.0, 1.0)),
        ("left wall", (1.0, 0.0, 0.0)),
        ("right wall", (0.0, 1.0, 0.0)),
    ):
        scene.add(Body(HalfSpace(np.array(normal)), fixed=True, material=material, name=name))
    for number, place in enumerate(slots(count)):
        radius = RADIUS * random.uniform(SMALLEST, 1.0)
        turn = random.normal(size=4)
        shape = shapes[number % len(shapes)] if shapes else stone(int(random.integers(5)), radius, random)
        body = Body(
            shape,
            density=DENSITY,
            position=SPACING * RADIUS * (place + 0.5),
            orientation=turn / np.linalg.norm(turn),
            material=material,
            name=f"stone-{number + 1}",
        )
        scene.add(body)
    return scene


@dataclass(frozen=True, eq=False)
class PileRun:
    """Stones that have settled: their trajectory, and what every step was like (`Simulator.step_log`)."""

    trajectory: Trajectory
    steps: NDArray[Any]

    @property
    def last(self) -> NDArray[Any]:
        """The steps of the last CALM seconds."""
        return self.steps[-round(CALM / STEP) :]


def settle(scene: Scene, seed: int = 0, progress: bool = False) -> PileRun:
    """Step until nothing has moved for CALM, at most for LONGEST; the seed is only noted."""
    law = MaximumDissipation(tolerance=TOLERANCE, max_sweeps=SWEEPS)
    simulator = Simulator(scene, law, seed, steps=STEP)
    return PileRun(simulator.run(LONGEST, progress=progress), simulator.step_log)


def slope(trajectory: Trajectory) -> float:
    """Slope [degrees] of the quarter of a cone with the same mean height and mean distance from the corner."""
    stones = [index for index, body in enumerate(trajectory.scene.bodies) if not body.fixed]
    mass = np.array([trajectory.scene.bodies[index].mass for index in stones])
    place = trajectory.sample(trajectory.end_time).position[stones]
    return math.degrees(math.atan2(2.0 * float(mass @ place[:, 2]), float(mass @ np.hypot(*place[:, :2].T))))


class Pile:
    """Stones of many shapes, a loose quarter of a cone, are let go in the corner of two walls and come to rest."""

    name: ClassVar[str] = "pile"
    ending: ClassVar[str] = ".h5"

    def __init__(self, count: int = STONES, shapes: Sequence[Shape] | None = None):
        self.count, self.shapes = count, shapes
        self._settled: PileRun | None = None

    @property
    def settled(self) -> PileRun:
        """The run, made where there is none yet."""
        if self._settled is None:
            self.run()
            assert self._settled is not None
        return self._settled

    def run(self, seed: int = 0, progress: bool = False) -> Trajectory:
        """Let the stones of that seed settle."""
        self._settled = settle(pile_scene(self.count, seed, self.shapes), seed, progress)
        return self._settled.trajectory

    def write(self, path: Path) -> None:
        """Save the recording."""
        self.settled.trajectory.save(path)

    def tables(self) -> list[Table]:
        """Contacts, sweeps, residual (median and largest, steps at which the tolerance was not reached), deepest
        overlap and largest speed, quarter second by quarter second."""
        steps, length = self.settled.steps, round(CALM / STEP)
        rows = []
        for first in range(0, len(steps), length):
            some = steps[first : first + length]
            residuals = some["residual"]
            rows.append(
                (
                    f"{(first + len(some)) * STEP:.2f}",
                    str(some["contacts"][-1]),
                    f"{some['sweeps'].mean():.0f}",
                    f"{np.median(residuals):.0e}",
                    f"{residuals.max():.0e}",
                    str((residuals > TOLERANCE).sum()),
                    f"{1e3 * max(-some['gap'].min(), 0.0):.2g}",
                    f"{some['speed'].max():.1g}",
                )
            )
        header = (
            "until [s]",
            "contacts",
            "sweeps a step",
            "residual",
            "largest",
            "not reached",
            "overlap [mm]",
            "speed [m/s]",
        )
        return [Table(header, tuple(rows))]

    def check(self) -> list[Check]:
        """Rest, balance of forces, overlaps, the law's residual, cones and energy at every step, and the heap."""
        run = self.settled
        trajectory, steps, last = run.trajectory, run.steps, run.last
        bodies = trajectory.scene.bodies
        weight = sum(body.mass for body in bodies if not body.fixed) * -trajectory.scene.gravity
        support = last["support"].mean(axis=0)
        unbalanced = float(np.abs(support - weight).max() / np.abs(weight).max())
        place = trajectory.sample(trajectory.end_time).position[[not body.fixed for body in bodies]]
        lost = ((place < 0.0) | (place > FARTHEST)).any(axis=1).sum()
        gained = (steps["energy_after"] / np.maximum(steps["energy_before"], 1e-300)).max() - 1.0
        return [
            Check("speed in the last 0.25 s [m/s]", last["speed"].max(), SLOW),
            Check("force of floor and walls over the weight, off", unbalanced, BALANCE),
            Check("deepest overlap at any step, in radii", -steps["gap"].min() / RADIUS, DEEPEST),
            Check("overlap at the end, by the engine [m]", trajectory.overlap_at(trajectory.end_time), 0.0),
            Check("residual of the law at any step", steps["residual"].max(), LARGEST_RESIDUAL),
            Check("residual in the last 0.25 s, median", float(np.median(last["residual"])), TOLERANCE),
            Check("friction beyond the cones at any step", steps["beyond_cone"].max(), 1e-14),
            Check("kinetic energy gained at any step", gained, 1e-14),
            Check("stones outside the corner", float(lost), 0.0),
            Check("slope of the heap, below 10 degrees by", 10.0 - slope(trajectory), 0.0),
        ]
