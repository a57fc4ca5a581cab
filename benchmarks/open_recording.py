"""Seconds to open a long recording, to go to a time in it and to look at an event.

A gas of spheres in a box is simulated for some events; its pieces and events are then written again and again,
each time later, until the recording has as many events as asked for. Where one part ends and the next begins
bodies jump, which reading does not mind. Times are those of a process that has read another recording before;
the file is in the system's cache.
"""

import argparse
import os
import platform
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from carom import Body, HalfSpace, Material, Scene, SequentialReflection, Simulator, Sphere, Trajectory
from carom.simulator.recording import Recorder

SPACING = 0.3  # m between the centres of spheres at the start


def gas(count: int, seed: int) -> Scene:
    """Spheres on a cubic lattice with random velocities and spins in a closed box."""
    rng = np.random.default_rng(seed)
    elastic = Material(friction=0.0, restitution=1.0)
    scene = Scene(gravity=(0, 0, 0))
    side = int(np.ceil(count ** (1 / 3)))
    for axis in np.eye(3):
        scene.add(Body(HalfSpace(axis), fixed=True, material=elastic))
        scene.add(Body(HalfSpace(-axis, offset=-side * SPACING), fixed=True, material=elastic))
    for place in range(count):
        position = SPACING * (np.array(np.unravel_index(place, (side,) * 3)) + 0.5)
        velocity, spin = rng.normal(size=(2, 3))
        scene.add(
            Body(
                Sphere(0.1),
                density=1000.0,
                position=position,
                velocity=velocity,
                angular_velocity=spin,
                material=elastic,
            )
        )
    return scene


def repeated(part: Trajectory, events: int, path: Path) -> None:
    """Record a run, and the same later again, until there are that many events."""
    whole = Trajectory(part.scene, part.law_name, part.seed, part.model)
    recorder = Recorder(whole, path)
    pieces = [motion.pieces() for motion in part.motions]
    of_part = part.events[:]
    for shift in part.end_time * np.arange(-(-events // len(of_part))):
        for body, old in enumerate(pieces):
            for start, state, acceleration, polynomial in zip(*old, strict=True):
                whole.motions[body].append(start + shift, state, acceleration, polynomial)
        for event in of_part:
            whole.add_event(replace(event, time=event.time + shift))
        whole.end_time = part.end_time + shift
        recorder.flush()
    recorder.flush(final=True)
    recorder.close()


def seconds(action: Callable[[], Any]) -> float:
    """Wall time of an action."""
    begin = time.perf_counter()
    action()
    return time.perf_counter() - begin


def main() -> None:
    """Make the recording, measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bodies", type=int, default=200)
    parser.add_argument("--simulated", type=int, default=10_000, help="events that are simulated")
    parser.add_argument("--events", type=int, default=1_000_000, help="events of the recording")
    parser.add_argument("--looks", type=int, default=200, help="random times and events looked at")
    options = parser.parse_args()
    console = Console()
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "long.h5"
        simulator = Simulator(gas(options.bodies, 0), SequentialReflection(), event_limit=options.simulated)
        part = simulator.run(1e6)
        part.save(Path(folder) / "short.h5")
        repeated(part, options.events, path)
        short = Trajectory.load(Path(folder) / "short.h5")
        short.sample(0.0), short.events[0]
        opened = [seconds(lambda: Trajectory.load(path)) for _ in range(5)]
        run = Trajectory.load(path)
        times = rng.uniform(0.0, run.end_time, options.looks)
        chosen = rng.integers(0, len(run.events), options.looks)
        measured = {
            "open": opened,
            "state at a random time": [seconds(lambda t=t: run.sample(t)) for t in times],
            "random event": [seconds(lambda k=k: run.events[k]) for k in chosen.tolist()],
            "times and kinds of all events": [
                seconds(lambda: (run.event_times, run.event_kinds == "impact")) for _ in range(5)
            ],
            "state at 600 times": [seconds(lambda: run.sample(np.linspace(0, run.end_time, 600)))],
        }
        megabytes = path.stat().st_size / 1e6
    table = Table("", "median [ms]", "slowest [ms]", title=f"{platform.machine()}, {os.cpu_count()} cores")
    for name, values in measured.items():
        table.add_row(name, f"{1e3 * np.median(values):.2f}", f"{1e3 * max(values):.2f}")
    console.print(table)
    console.print(f"{len(run.events)} events, {options.bodies} spheres, {megabytes:.0f} MB")


if __name__ == "__main__":
    main()
