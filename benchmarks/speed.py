"""What carom's exact events cost beside MuJoCo's time steps on the same scenes, as ratios of processor time.

Both run in one process, in turns; the fastest of some rounds counts for each. Compiling, building the scene and
setting up are not timed (set-up is told beside). MuJoCo makes steps of 1 ms with elliptic cones over the same
simulated time; its contacts are soft, so its deepest overlap is told beside carom's. Every row of carom is checked
while it is timed, outside of the clock: how it ended, overlap at sampled times, energy gained, the ledger, and the
most events within 1e-4 s. MuJoCo comes with the extra `bench`.
"""

import argparse
import json
import math
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import carom
from carom import Body, Box, HalfSpace, Material, Scene, Simulator, Sphere

STEP = 1e-3  # [s] of MuJoCo
WINDOW = 1e-4  # [s] within which events are counted


# -- scenes ------------------------------------------------------------------------------------------------


def tossed(seed: int) -> Scene:
    """A cube of 0.1 m, thrown from 0.3 m."""
    random, material = np.random.default_rng(seed), Material(0.5, 0.4)
    quaternion = random.normal(size=4)
    scene = Scene()
    scene.add(Body(HalfSpace((0, 0, 1)), fixed=True, material=material))
    scene.add(
        Body(
            Box((0.1, 0.1, 0.1)), density=1000.0, position=(0, 0, 0.3),
            orientation=quaternion / np.linalg.norm(quaternion),
            velocity=(*random.normal(size=2), 0.0), angular_velocity=5.0 * random.normal(size=3), material=material,
        )
    )  # fmt: skip
    return scene


def boxed(count: int, restitution: float) -> Scene:
    """Spheres with friction, four a layer, in a box that is 2.5 spheres wide."""
    random, radius, material = np.random.default_rng(0), 0.05, Material(0.3, restitution)
    scene = Scene()
    scene.add(Body(HalfSpace((0, 0, 1)), fixed=True, material=material))
    for normal in ((1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0)):
        scene.add(Body(HalfSpace(normal, offset=-0.125), fixed=True, material=material))
    for k in range(count):
        layer, place = divmod(k, 4)
        x, y = 0.06 * (2 * (place % 2) - 1), 0.06 * (2 * (place // 2) - 1)
        x, y = (x, y) + 0.008 * random.uniform(-1.0, 1.0, 2)
        position = (x, y, radius + 0.002 + 0.11 * layer)
        scene.add(Body(Sphere(radius), density=1000.0, position=position, material=material))
    return scene


def heaped(count: int, restitution: float) -> Scene:
    """Boxes of 5 to 12 cm that fall, turned at random, between four walls."""
    random, material = np.random.default_rng(count), Material(0.5, restitution)
    width = 0.16 * max(1.0, (count / 8.0) ** (1.0 / 3.0))
    scene = Scene()
    scene.add(Body(HalfSpace((0, 0, 1)), fixed=True, material=material))
    for normal in ((1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0)):
        scene.add(Body(HalfSpace(normal, offset=-width), fixed=True, material=material))
    top = 0.02
    layer = max(1, round(width / 0.1) ** 2 // 2)
    for _ in range(0, count, layer):
        tallest = 0.0
        for place in range(layer):
            if len(scene.bodies) == count + 5:
                break
            shape = Box(random.uniform(0.05, 0.12, 3))
            quaternion = random.normal(size=4)
            reach = width - shape.bounding_radius
            if layer == 1:
                x, y = random.uniform(-0.6 * reach, 0.6 * reach, 2)
            else:
                angle = 2.0 * math.pi * place / layer
                x, y = 0.9 * reach * math.cos(angle), 0.9 * reach * math.sin(angle)
            scene.add(
                Body(
                    shape, density=1000.0, position=(x, y, top + shape.bounding_radius),
                    orientation=quaternion / np.linalg.norm(quaternion), material=material,
                    velocity=0.1 * random.normal(size=3), angular_velocity=random.normal(size=3),
                )
            )  # fmt: skip
            tallest = max(tallest, 2.0 * shape.bounding_radius)
        top += 1.02 * tallest
    return scene


# -- the peer ----------------------------------------------------------------------------------------------


def mujoco_model(scene: Scene) -> tuple[Any, np.ndarray]:
    """The same scene of spheres, boxes and half-spaces for MuJoCo, and its velocities at the start."""
    import mujoco

    def numbers(values: Any) -> str:
        return " ".join(repr(float(value)) for value in values)

    world = []
    for body in scene.bodies:
        friction = f'friction="{body.material.friction} 0 0"'
        shape = body.shape
        if isinstance(shape, HalfSpace):
            at = numbers(shape.offset * np.asarray(shape.normal))
            world.append(
                f'<geom type="plane" size="5 5 1" pos="{at}" zaxis="{numbers(shape.normal)}" {friction}/>'
            )
            continue
        if isinstance(shape, Sphere):
            kind, size = "sphere", numbers([shape.radius])
        elif isinstance(shape, Box):
            kind, size = "box", numbers(0.5 * np.asarray(shape.lengths))
        else:
            raise TypeError(
                f"shape: expected a sphere, a box or a half-space for MuJoCo, got {type(shape).__name__}"
            )
        world.append(
            f'<body pos="{numbers(body.position)}" quat="{numbers(body.orientation)}"><freejoint/>'
            f'<geom type="{kind}" size="{size}" mass="{body.mass!r}" {friction}/></body>'
        )
    model = mujoco.MjModel.from_xml_string(
        f'<mujoco><option timestep="{STEP}" cone="elliptic" gravity="{numbers(scene.gravity)}"/>'
        f'<default><geom condim="3"/></default><worldbody>{"".join(world)}</worldbody></mujoco>'
    )
    free = [body for body in scene.bodies if not isinstance(body.shape, HalfSpace)]
    velocities = []
    for body in free:
        w, v = body.orientation[0], np.asarray(body.orientation[1:])
        spin = np.asarray(body.angular_velocity)  # MuJoCo wants it in the body's frame
        local = spin - 2.0 * w * np.cross(v, spin) + 2.0 * np.cross(v, np.cross(v, spin))
        velocities.append(np.concatenate([body.velocity, local]))
    return model, np.concatenate(velocities)


def mujoco_seconds(scene: Scene, duration: float) -> tuple[float, float]:
    """Processor time [s] of so many simulated seconds, and the deepest overlap [m]."""
    import mujoco

    model, velocity = mujoco_model(scene)
    steps, spent, deepest = math.ceil(duration / STEP), 0.0, 0.0
    for look in (False, True):
        data = mujoco.MjData(model)
        data.qvel[:] = velocity
        begin = time.process_time()
        for _ in range(steps):
            mujoco.mj_step(model, data)
            if look and data.ncon:
                deepest = max(deepest, -float(data.contact.dist.min()))
        if not look:
            spent = time.process_time() - begin
    return spent, deepest


# -- what is timed -----------------------------------------------------------------------------------------


def examined(trajectory: carom.Trajectory) -> dict[str, Any]:
    """What is seen of a run beside its time."""
    end, model = trajectory.end_time, trajectory.model
    energy = np.array([model.energy(trajectory.sample(t)) for t in np.linspace(0.0, end, 300)])
    scale = max(np.ptp(energy), model.kinetic_energy(trajectory.sample(0.0)), 1e-300)
    times = np.asarray(trajectory.event_times)
    within = np.searchsorted(times, times + WINDOW, side="right") - np.arange(len(times))
    bodies = [body for body in trajectory.scene.bodies if not body.fixed]
    size = min(2.0 * body.shape.bounding_radius for body in bodies)
    return {
        "status": trajectory.status.value,
        "simulated": end,
        "events": len(times),
        "pieces": len(trajectory.log.pieces),
        "most_events_within_1e-4_s": int(within.max(initial=0)),
        "overlap": float(trajectory.largest_overlap(100)) / size,
        "gained": float(max(0.0, np.diff(energy).max())) / scale,
        "residual": float(np.abs(trajectory.ledger(np.array([0.0, end])).residual).max()) / scale,
    }


def timed_run(scene: Scene, law: Any, duration: float) -> tuple[float, float, carom.Trajectory]:
    """Processor time [s] of setting up and of running, and the run."""
    begin = time.process_time()
    simulator = Simulator(scene, law)
    ready = time.process_time()
    trajectory = simulator.run(duration)
    return ready - begin, time.process_time() - ready, trajectory


def beside(name: str, scenes: list[Scene], law: Any, duration: float, rounds: int) -> dict[str, Any]:
    """Scenes run to the end, or to rest, by carom and by MuJoCo over the same simulated time, in turns."""
    spent = np.full((len(scenes), 3), np.inf)
    deepest, worst = 0.0, {}
    for turn in range(rounds + 1):
        for k, scene in enumerate(scenes):
            built, run, trajectory = timed_run(scene, law, duration)
            peer, depth = mujoco_seconds(scene, trajectory.end_time)
            if turn == 0:  # which may compile
                for what, value in examined(trajectory).items():
                    before = worst.get(what)
                    if what == "status":
                        good = value in ("at_rest", "reached_end")
                        worst[what] = value if before is None or not good else before
                    else:
                        worst[what] = value if before is None else max(before, value)
                deepest = max(deepest, depth)
            else:
                spent[k] = np.minimum(spent[k], (built, run, peer))
    built, run, peer = spent.mean(axis=0)
    return {
        "work": name, "runs": len(scenes), "seconds": run, "set_up": built, "mujoco": peer, "ratio": run / peer,
        "mujoco_overlap_m": deepest, **worst,
    }  # fmt: skip


def tosses(rounds: int) -> Iterator[dict[str, Any]]:
    """Cubes thrown, to rest."""
    scenes = [tossed(seed) for seed in range(30)]
    for law in (carom.StrongeCoulomb(), carom.MaximumDissipation()):
        yield beside(f"30 cube tosses to rest, {law.name}", scenes, law, 10.0, rounds)


def spheres(rounds: int) -> Iterator[dict[str, Any]]:
    """Spheres with friction in a narrow box, one second."""
    for count in (10, 50, 200):
        for law, restitution in ((carom.StrongeCoulomb(), 0.3), (carom.MaximumDissipation(), 0.0)):
            scene = boxed(count, restitution)
            yield beside(f"{count} spheres in a narrow box, 1 s, {law.name}", [scene], law, 1.0, rounds)


def heaps(rounds: int) -> Iterator[dict[str, Any]]:
    """Boxes between walls, one and a half seconds."""
    for count in (8, 20, 50):
        for law, restitution in ((carom.MaximumDissipation(), 0.0), (carom.StrongeCoulomb(), 0.1)):
            scene = heaped(count, restitution)
            yield beside(f"heap of {count} boxes, 1.5 s, {law.name}", [scene], law, 1.5, min(rounds, 1))


def drop(rounds: int) -> Iterator[dict[str, Any]]:
    """The run of `carom drop`."""
    mesh = carom.demos.load_dropped_mesh(carom.demos.shipped_mesh())
    scene = carom.demos.drop_scene([mesh], height=None, restitution=0.0, seed=0)
    runs = [timed_run(scene, carom.AnitescuPotra(), 10.0) for _ in range(rounds + 1)]
    yield {
        "work": "the shipped block, the run alone", "seconds": min(run for _, run, _ in runs[1:]),
        "set_up": min(built for built, _, _ in runs[1:]), **examined(runs[0][2]),
    }  # fmt: skip


def ball(rounds: int) -> Iterator[dict[str, Any]]:
    """An event of a ball that bounces to rest, recorded in a file and not."""
    material = Material(0.3, 0.99)
    scene = Scene()
    scene.add(Body(HalfSpace((0, 0, 1)), fixed=True, material=material))
    scene.add(Body(Sphere(0.1), mass=1.0, position=(0, 0, 1.0), velocity=(1.0, 0, 0), material=material))
    with tempfile.TemporaryDirectory() as folder:
        for recorded in (False, True):
            costs = []
            for turn in range(rounds + 1):
                path = Path(folder) / f"{turn}.h5" if recorded else None
                simulator = Simulator(scene, carom.StrongeCoulomb(), record=path)
                begin = time.process_time()
                events = len(simulator.run(100.0).events)
                costs.append((time.process_time() - begin) / events)
            how = "recorded in a file" if recorded else "in memory"
            yield {
                "work": f"bouncing ball with friction, an event, {how}",
                "seconds": min(costs[1:]),
                "events": events,
            }


class _InPython(carom.StrongeCoulomb):
    """The same law, which the engine takes for one that only Python knows."""


def python_law(rounds: int) -> Iterator[dict[str, Any]]:
    """What an impact costs more under a law written in Python, beside what its own `resolve` costs."""
    scene, law = tossed(0), carom.StrongeCoulomb()
    spent: dict[str, float] = {}
    impacts, problems = 0, []
    for name, one in (("compiled", law), ("python", _InPython())):
        for turn in range(rounds + 1):
            _, run, trajectory = timed_run(scene, one, 10.0)
            if turn:
                spent[name] = min(spent.get(name, math.inf), run)
        impacts = int((trajectory.event_kinds == carom.simulator.EventKind.IMPACT).sum())
        problems = [event.problem for event in trajectory.events if event.problem is not None]
    begin = time.process_time()
    for problem in problems:
        law.resolve(problem, None)
    alone = (time.process_time() - begin) / len(problems)
    more = (spent["python"] - spent["compiled"]) / impacts
    yield {"work": "a law in Python, an impact more than compiled", "seconds": more, "events": impacts}
    yield {"work": "of which `resolve` itself", "seconds": alone}


def gas(rounds: int) -> Iterator[dict[str, Any]]:
    """An impact of elastic spheres, and set-up."""
    from many_bodies import cost_of_impact

    cost_of_impact(8, 0.3, 0, 200, 1)  # compile
    for count in (8, 100, 1000, 10_000, 100_000):
        cost, built = cost_of_impact(count, 0.3, 0, 20_000, rounds)[:2]
        yield {"work": f"{count} elastic spheres, an impact", "seconds": cost, "set_up": built}


def starts(rounds: int) -> Iterator[dict[str, Any]]:
    """Command line to result of `carom drop`, with nothing compiled and with all."""
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"NUMBA_CACHE_DIR": folder}
        for which in range(rounds + 1):
            before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
            command = [sys.executable, "-m", "carom", "drop", "--no-view"]
            subprocess.run(command, env=environment, check=True, capture_output=True, cwd=folder)
            after, wall = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter() - begin
            cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            yield {"work": f"start {which + 1} of `carom drop`", "seconds": cpu, "wall": wall}


SECTIONS: dict[str, Callable[[int], Iterator[dict[str, Any]]]] = {
    "tosses": tosses, "drop": drop, "spheres": spheres, "heaps": heaps, "gas": gas, "ball": ball,
    "python-law": python_law, "starts": starts,
}  # fmt: skip


def told_time(seconds: float) -> str:
    """A time in a fitting unit."""
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-6:.3g} us"


def main() -> None:
    """Measure, print a table and keep the results."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sections", nargs="*", metavar="SECTION", help=f"of {', '.join(SECTIONS)} (all)")
    parser.add_argument("--rounds", type=int, default=3, help="rounds, the fastest counts (3)")
    parser.add_argument("--output", help="file for a line of JSON a row, added to what is there")
    options = parser.parse_args()
    if unknown := set(options.sections) - set(SECTIONS):
        parser.error(f"sections: expected some of {', '.join(SECTIONS)}, got {', '.join(sorted(unknown))}")
    console = Console(width=150)
    machine = f"{platform.machine()}, {os.cpu_count()} cores, load before {os.getloadavg()[0]:.1f}"
    console.print(f"{machine}, Python {platform.python_version()}")
    table = Table("work", "carom", "set-up", "MuJoCo", "ratio", "simulated", "ended", "events", "in 1e-4 s",
                  "overlap/size", "gained", "residual")  # fmt: skip
    for name in options.sections or SECTIONS:
        for row in SECTIONS[name](options.rounds):
            console.print_json(data=row, indent=None)
            if options.output:
                with open(options.output, "a", encoding="utf-8") as file:
                    file.write(json.dumps({"machine": machine, **row}) + "\n")
            table.add_row(
                row["work"], told_time(row["seconds"]), told_time(row["set_up"]) if "set_up" in row else "",
                told_time(row["mujoco"]) if "mujoco" in row else "",
                f"{row['ratio']:.2f}" if "ratio" in row else "",
                f"{row['simulated']:.3f} s" if "simulated" in row else "", row.get("status", ""),
                str(row.get("events", "")), str(row.get("most_events_within_1e-4_s", "")),
                *(f"{row[what]:.1e}" if what in row else "" for what in ("overlap", "gained", "residual")),
            )  # fmt: skip
    console.print(table)


if __name__ == "__main__":
    main()
