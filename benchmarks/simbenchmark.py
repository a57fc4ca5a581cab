"""Scenes on which rigid-body engines are compared, after the SimBenchmark suite: error and cost beside MuJoCo.

`rolling`: a slab on 25 balls, pushed along an axis or a diagonal; where nothing slips its acceleration is
F / (M + 25 m (1 + 2/5) / 4) exactly. `bouncing`: 49 elastic balls, whose energy should stay. `666` and `elastic
666`: 6 x 6 x 6 balls that fall into a heap, and that bounce for ever; the former by time steps. Dimensions are
chosen here (m, kg, s). MuJoCo makes steps of 1 ms with elliptic cones; where contacts are elastic, its own are
undamped springs. Both in one process, the second of two runs; it comes with the extra `bench`.
"""

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from speed import STEP, mujoco_model

from carom import (
    Body,
    Box,
    HalfSpace,
    Material,
    MaximumDissipation,
    Scene,
    Simulator,
    Sphere,
    StrongeCoulomb,
    TimeSteps,
)

SLAB, BALL, RADIUS, PUSH = 10.0, 1.0, 0.5, 20.0  # kg, kg, m, N
ACCELERATION = PUSH / (SLAB + 25 * BALL * 1.4 / 4.0)
STIFFNESS = 1e5  # of MuJoCo's undamped contacts [1/s^2]
LOOSE = MaximumDissipation(tolerance=1e-4, max_sweeps=500)


def rolling(push: tuple[float, float]) -> Scene:
    """A slab on 25 balls that do not slip, and a force [N] on it."""
    scene = Scene()
    scene.add(Body(HalfSpace((0, 0, 1)), fixed=True, material=Material(0.8)))
    for k in range(25):
        place = (2.0 * (k % 5) - 4.0, 2.0 * (k // 5) - 4.0, RADIUS)
        scene.add(Body(Sphere(RADIUS), mass=BALL, position=place, material=Material(0.8)))
    slab = Box((20.0, 20.0, 1.0))
    scene.add(Body(slab, mass=SLAB, position=(0, 0, 1.5), material=Material(0.8), name="slab"))
    wrench = np.zeros((len(scene), 6))
    wrench[-1, :2] = push
    scene.add_force(lambda t, state: wrench)
    return scene


def balls(counts: tuple[int, int, int], height: float, apart: float, material: Material) -> Scene:
    """Rows of balls a little beside each other, the lowest at a height [m] above a floor."""
    random, scene = np.random.default_rng(0), Scene()
    scene.add(Body(HalfSpace((0, 0, 1)), fixed=True, material=material))
    for place in np.ndindex(*counts):
        position = apart * np.array(place) + (0, 0, height + RADIUS)
        position[:2] += 0.02 * random.uniform(-1.0, 1.0, 2)
        scene.add(Body(Sphere(RADIUS), mass=BALL, position=position, material=material))
    return scene


def peer(scene: Scene, duration: float, push: tuple[float, float], elastic: bool) -> dict[str, Any]:
    """MuJoCo's run of a scene: seconds, deepest overlap [m], energies while nothing touches, velocities at the
    end."""
    import mujoco

    model, velocity = mujoco_model(scene)
    model.opt.enableflags |= mujoco.mjtEnableBit.mjENBL_ENERGY
    if elastic:
        model.geom_solref[:] = (-STIFFNESS, -1e-12)
    spent = 0.0
    for _ in range(2):
        data = mujoco.MjData(model)
        data.qvel[:] = velocity
        data.xfrc_applied[-1, :2] = push
        deepest, energies = 0.0, []
        spent = 0.0
        for _ in range(round(duration / STEP)):
            begin = time.process_time()
            mujoco.mj_step(model, data)
            spent += time.process_time() - begin
            if data.ncon:  # and energy may be in its springs
                deepest = max(deepest, -float(data.contact.dist.min()))
            else:
                energies.append(data.energy.sum())
    return {
        "seconds": spent,
        "overlap": deepest,
        "energy": np.array(energies),
        "velocity": data.qvel.reshape(-1, 6),
    }


def events(make: Callable[[], Scene], law: Any, duration: float) -> dict[str, Any]:
    """A run from event to event, as `peer` tells it."""
    spent = 0.0
    for _ in range(2):
        simulator = Simulator(make(), law)
        begin = time.process_time()
        run = simulator.run(duration, stop_at_rest=False)
        spent = time.process_time() - begin
    times = np.linspace(0.0, run.end_time, 201)
    state = run.sample(run.end_time)
    return {
        "seconds": spent, "overlap": run.largest_overlap(), "energy": run.energy(times),
        "velocity": np.hstack([state.velocity, state.angular_velocity])[1:], "status": run.status.value,
    }  # fmt: skip


def steps(make: Callable[[], Scene], duration: float) -> dict[str, Any]:
    """A run of spheres by time steps of 1 ms; overlap in metres."""
    spent = 0.0
    for _ in range(2):
        moved = TimeSteps(make(), LOOSE, step=STEP)
        begin = time.process_time()
        moved.run(duration)
        spent = time.process_time() - begin
    overlap = RADIUS * float(moved.log.rows["overlap"].max())
    return {"seconds": spent, "overlap": overlap, "status": "steps"}


def speed_off(run: dict[str, Any], duration: float) -> str:
    """The largest error of the speed of slab and balls at the end [m/s]."""
    speeds = np.linalg.norm(run["velocity"][:, :2], axis=1)
    slab = ACCELERATION * duration
    return f"{max(abs(speeds[-1] - slab), np.abs(speeds[:-1] - 0.5 * slab).max()):.1e} m/s"


def energy_off(run: dict[str, Any], duration: float) -> str:
    """By how much of itself energy has changed at most."""
    energy = run["energy"]
    return f"{np.abs(energy / energy[0] - 1.0).max():.1e} of the energy"


def overlap_of(run: dict[str, Any], duration: float) -> str:
    """The deepest overlap, of a radius."""
    return f"{run['overlap'] / RADIUS:.1e} of a radius overlap"


def main() -> None:
    """Print the table."""
    argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    ).parse_args()
    table = Table(title="SimBenchmark's scenes")
    for column in ("scene", "law", "carom", "error", "MuJoCo", "error", "ratio"):
        table.add_column(column)
    elastic, rough = Material(0.0, 1.0), Material(0.4)
    straight, diagonal = (PUSH, 0.0), (PUSH / np.sqrt(2.0), PUSH / np.sqrt(2.0))
    stronge, wide, tall = StrongeCoulomb(), (7, 7, 1), (6, 6, 6)
    rows = [
        ("rolling, 1 s", lambda: rolling(straight), stronge, 1.0, straight, speed_off),
        ("rolling, diagonal", lambda: rolling(diagonal), stronge, 1.0, diagonal, speed_off),
        ("bouncing, 4 s", lambda: balls(wide, 2.0, 2.0, elastic), stronge, 4.0, (0, 0), energy_off),
        ("elastic 666, 2 s", lambda: balls(tall, 1.0, 1.1, elastic), stronge, 2.0, (0, 0), energy_off),
        ("666, 3 s", lambda: balls(tall, 0.1, 1.1, rough), None, 3.0, (0, 0), overlap_of),
    ]
    for name, make, law, duration, push, error in rows:
        mine = steps(make, duration) if law is None else events(make, law, duration)
        theirs = peer(make(), duration, push, error is energy_off)
        table.add_row(
            name, "maximum-dissipation, steps of 1 ms" if law is None else law.name,
            f"{mine['seconds']:.3f} s, {mine['status']}", error(mine, duration), f"{theirs['seconds']:.3f} s",
            error(theirs, duration), f"{mine['seconds'] / theirs['seconds']:.2g}",
        )  # fmt: skip
    Console(width=150).print(table)


if __name__ == "__main__":
    main()
