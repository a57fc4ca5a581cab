"""Seconds to open a long recording, to go to a time in it, to look at an event and to see it in the window.

Run with a display to measure the window too, such as
`xvfb-run -a -s "-screen 0 1400x900x24" python benchmarks/open_recording.py`; without one, pictures are left out.

A gas of spheres in a box is simulated for some events; its pieces and events are then written again and again,
each time later, until the recording has as many events as asked for. Where one part ends and the next begins
bodies jump, which reading does not mind. Times are those of a process that has read another recording before;
the file is in the system's cache. Beside the wall clock stands the time of all processors, which a busy machine
lengthens less; pictures drawn in software use several of them at once.
"""

import argparse
import os
import platform
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console
from rich.table import Table

from carom import Body, HalfSpace, Material, Scene, SequentialReflection, Simulator, Sphere, Trajectory
from carom.simulator.record.recording import Recorder
from carom.viewer import has_display
from carom.viewer.actions import press
from carom.viewer.display import load_pyglet
from carom.viewer.replay import Replay
from carom.viewer.show import make_runs

if TYPE_CHECKING:
    from carom.viewer.window import ReplayWindow

SIZE = (1280, 720)  # pixels of the window
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
    own, log = part.log, whole.log
    for turn in range(-(-events // len(own.events))):
        shift, following = part.end_time * turn, part.end_time * (turn + 1)
        first = len(log.pieces)  # pieces that are there before this turn
        for name, length in own.lengths().items():
            rows = getattr(own, name).rows(0, length).copy()
            if name == "pieces":
                rows["start"] = np.minimum(rows["start"] + shift, following)  # rounding must not pass it
            elif name == "events":
                rows["time"] = np.minimum(rows["time"] + shift, following)
                rows["pieces"] += first
            log.add(name, rows)
        whole.end_time = part.end_time + shift
        recorder.flush()
    recorder.flush(final=True)
    recorder.close()


def seconds(action: Callable[[], Any]) -> tuple[float, float]:
    """Wall time and processor time of an action."""
    begin, begin_processor = time.perf_counter(), time.process_time()
    action()
    return time.perf_counter() - begin, time.process_time() - begin_processor


def in_the_window(path: Path, looks: int, rng: np.random.Generator) -> dict[str, list[tuple[float, float]]]:
    """Times of the window: to open, from there to the first picture, and from a scrub to its picture."""
    load_pyglet(for_window=True)
    from carom.viewer.window import open_window

    opened: list[ReplayWindow] = []

    def open_first() -> None:
        replay = Replay(make_runs(path))
        opened.append(open_window(replay, SIZE, "benchmark"))
        show()

    def show() -> None:
        window = opened[0]
        window.dispatch_events()
        window.update()

    def jump(action: Callable[[], None]) -> Callable[[], None]:
        def run() -> None:
            action()
            show()

        return run

    found = {"the window with its first picture": [seconds(open_first)]}
    replay = opened[0].replay
    press(replay, "e")
    found["a step of reading the charts"] = []
    while not replay.main_run.plots.is_complete:
        found["a step of reading the charts"].append(seconds(jump(lambda: replay.tick(0.0))))
    for name, plots in (("picture after a scrub, with charts", True), ("picture after a scrub", False)):
        replay.shown.plots = plots
        fractions = rng.uniform(0.0, 1.0, looks)
        scrubs = [seconds(jump(lambda at=at: replay.seek_fraction(at))) for at in fractions]
        impacts = [seconds(jump(lambda: press(replay, "bracketright"))) for _ in range(looks)]
        found |= {name: scrubs, name.replace("a scrub", "] to an impact"): impacts}
    opened[0].close()
    return found


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
        short_path = Path(folder) / "short.h5"
        part.save(short_path)
        repeated(part, options.events, path)
        short = Trajectory.load(short_path)
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
        if has_display():
            measured |= in_the_window(path, options.looks // 5, rng)
        megabytes = path.stat().st_size / 1e6
    columns = ("", "median, ms", "slowest, ms", "processors, ms")
    table = Table(*columns, title=f"{platform.machine()}, {os.cpu_count()} cores")
    for name, values in measured.items():
        wall, processors = 1e3 * np.array(values).T
        table.add_row(name, *(f"{time:.2f}" for time in (np.median(wall), wall.max(), np.median(processors))))
    console.print(table)
    console.print(f"{len(run.events)} events, {options.bodies} spheres, {megabytes:.0f} MB")


if __name__ == "__main__":
    main()
