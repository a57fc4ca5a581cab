"""How many random scenes end well: one to twelve bodies of all shapes, tossed, stacked, in rows, heaps and on
joints, in space and in a plane, under all impact laws, for one second each.

A run ends well where it reaches its end or comes to rest within the limit of processor time. Of each run are
checked energy (never gained between samples), overlap at sampled times, how far joints are loose then, and the
ledger, and of every fifth that it is the same to the bit when made again. Compiling is not counted: a scene that
was slow the first time is made again. Scenes are numbered; `--only` makes some of them and tells what happened.
"""

import argparse
import json
import multiprocessing
import signal
import time
from collections import Counter
from multiprocessing.connection import Connection
from types import FrameType
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import carom
from carom import (
    Body,
    Box,
    Capsule,
    ConvexMesh,
    Cylinder,
    Ellipsoid,
    HalfSpace,
    Material,
    Mesh,
    Scene,
    Sphere,
)

LAWS = {
    "Stronge": carom.StrongeCoulomb,
    "dissipation": carom.MaximumDissipation,
    "Anitescu-Potra": carom.AnitescuPotra,
    "sequential LCP": carom.SequentialLCP,
    "reflection": carom.SequentialReflection,
    "Routh": carom.SetValuedRouth,
}
GOOD = ("reached_end", "at_rest")
KILLED_AFTER = 6  # limits of time: a search that does not look up


def shape_of(random: np.random.Generator, size: float, *, meshes: bool) -> Any:
    """A shape of about this half-size [m]."""
    kind = random.integers(7 if meshes else 6)
    if kind == 0:
        return Sphere(size)
    if kind in (1, 2):
        return Box(size * random.uniform(0.6, 2.0, 3))
    if kind == 3:
        return Capsule(0.5 * size, size * random.uniform(0.5, 2.0))
    if kind == 4:
        return Cylinder(size * random.uniform(0.4, 1.0), size * random.uniform(0.4, 2.0))
    hull = ConvexMesh(size * random.uniform(0.6, 1.2, 3) * random.normal(size=(random.integers(6, 16), 3)))
    return hull if kind == 5 else Mesh(hull.surface())


def turned(random: np.random.Generator) -> Any:
    """A random orientation."""
    quaternion = random.normal(size=4)
    return quaternion / np.linalg.norm(quaternion)


def height_of(shape: Any) -> float:
    """How far above its lowest point the middle of a box, ball or upright cylinder is [m]."""
    if isinstance(shape, Box):
        return 0.5 * float(shape.lengths[2])
    return float(shape.radius) if isinstance(shape, Sphere) else 0.5 * float(shape.length)


def random_scene(number: int) -> tuple[Scene, str, str]:
    """Scene, law and family of a number."""
    random = np.random.default_rng(number)
    law, family = list(LAWS)[number % len(LAWS)], list(FAMILIES)[number // len(LAWS) % len(FAMILIES)]
    friction = (
        0.0 if law == "reflection" else float(random.choice([0.0, random.uniform(0.05, 0.9)], p=[0.15, 0.85]))
    )
    restitution = float(random.choice([0.0, random.uniform(0.0, 0.95)]))
    material = Material(friction, restitution)
    scene = Scene()
    scene.add(Body(HalfSpace((0, 0, 1)), fixed=True, material=material, name="floor"))
    if family in ("heap", "toss") and random.random() < 0.6:
        for x, y in ((1, 0), (-1, 0), (0, 1), (0, -1)):
            scene.add(Body(HalfSpace((x, y, 0), offset=-0.35), fixed=True, material=material))
    count = int(random.integers(1, 13))
    size = 10.0 ** random.uniform(-1.5, -0.8)
    FAMILIES[family](scene, random, count, size, material)
    return scene, law, family


def _thrown(random: np.random.Generator, shape: Any, position: Any, material: Material, speed: float) -> Body:
    return Body(
        shape, density=10.0 ** random.uniform(2.0, 3.9), position=position, orientation=turned(random),
        velocity=speed * random.normal(size=3), angular_velocity=4.0 * random.normal(size=3), material=material,
    )  # fmt: skip


def _toss(scene: Scene, random: np.random.Generator, count: int, size: float, material: Material) -> None:
    top = 0.2
    for _ in range(min(count, 3)):
        ellipsoid = min(count, 3) == 1 and random.random() < 0.2
        shape = (
            Ellipsoid(size * random.uniform(0.4, 1.3, 3))
            if ellipsoid
            else shape_of(random, size, meshes=True)
        )
        place = (0.0, 0.0, top + shape.bounding_radius)
        scene.add(_thrown(random, shape, place, material, 0.7))
        top += 2.5 * shape.bounding_radius


def _heap(scene: Scene, random: np.random.Generator, count: int, size: float, material: Material) -> None:
    top = 0.05
    for _ in range(count):
        shape = shape_of(random, min(size, 0.08), meshes=random.random() < 0.3)
        radius = shape.bounding_radius
        scene.add(_thrown(random, shape, (*random.uniform(-0.08, 0.08, 2), top + radius), material, 0.2))
        top += 2.05 * radius


def _stack(scene: Scene, random: np.random.Generator, count: int, size: float, material: Material) -> None:
    top, gap = 0.0, float(random.choice([0.0, 1e-3]))
    for k in range(min(count, 7)):
        box = Box(size * random.uniform(1.0, 2.5, 3))
        upright = Cylinder(size * random.uniform(0.6, 1.2), size * random.uniform(0.6, 2.0))
        shape = box if random.random() < 0.7 else upright
        if k == min(count, 7) - 1 and random.random() < 0.3:
            shape = Sphere(size)
        half = height_of(shape)
        at = (*(0.2 * size * random.uniform(-1.0, 1.0, 2)), top + gap + half)
        scene.add(Body(shape, density=10.0 ** random.uniform(2.0, 3.9), position=at, material=material))
        top += gap + 2.0 * half


def _row(scene: Scene, random: np.random.Generator, count: int, size: float, material: Material) -> None:
    dominoes = random.random() < 0.5
    apart = size * random.uniform(0.7, 1.6)
    for k in range(count):
        if dominoes:
            scene.add(Body(Box((0.3 * size, size, 2.0 * size)), density=500.0, position=(k * apart, 0, size),
                           angular_velocity=(0, 3.0 if k == 0 else 0.0, 0), material=material))  # fmt: skip
        else:
            speed = random.uniform(0.5, 3.0) if k == 0 else 0.0
            scene.add(Body(Sphere(0.3 * size), density=500.0, position=(k * max(apart, 0.61 * size), 0, 0.3 * size),
                           velocity=(speed, 0, 0), material=material))  # fmt: skip


def _joints(scene: Scene, random: np.random.Generator, count: int, size: float, material: Material) -> None:
    before, count = None, min(count, 5)
    for k in range(count):
        shape = Box(size * np.array([2.0, 0.4, 0.4]))
        body = scene.add(
            Body(shape, density=800.0, position=((2 * k + 1) * size, 0, 4 * size), material=material)
        )
        anchor = (2 * k * size, 0, 4 * size)
        if random.random() < 0.3 and (k or random.random() < 0.5):
            scene.add_joint(carom.SphericalJoint(body, before, anchor=anchor))
        else:
            limits = (-0.5, 0.7) if random.random() < 0.5 and k else None
            scene.add_joint(
                carom.RevoluteJoint(
                    body, before, anchor=anchor, axis=(0, 1, 0), limits=limits,
                    damping=float(random.choice([0.0, 0.01])),
                )
            )  # fmt: skip
        before = body
    shape = shape_of(random, size, meshes=False)
    scene.add(_thrown(random, shape, (size * count, 0, 5 * size + 2 * shape.bounding_radius), material, 0.3))


def _plane(scene: Scene, random: np.random.Generator, count: int, size: float, material: Material) -> None:
    scene.planar()
    top = 0.02
    for _ in range(min(count, 6)):
        kind = random.integers(3)
        if kind == 0:
            shape: Any = Box(size * np.array([random.uniform(0.5, 2.0), 1.0, random.uniform(0.5, 2.0)]))
        else:
            shape = Sphere(size) if kind == 1 else Capsule(0.2 * size, 2.0 * size)
        half = 0.5 * random.uniform(-np.pi, np.pi)
        speed = 0.5 * random.normal(size=2)
        scene.add(
            Body(
                shape, density=500.0, position=(random.uniform(-size, size), 0, top + shape.bounding_radius),
                orientation=(np.cos(half), 0, np.sin(half), 0), velocity=(speed[0], 0, speed[1]),
                angular_velocity=(0, 4.0 * random.normal(), 0), material=material,
            )
        )  # fmt: skip
        top += 2.05 * shape.bounding_radius


def _slide(scene: Scene, random: np.random.Generator, count: int, size: float, material: Material) -> None:
    for k in range(min(count, 4)):
        box = Box(size * random.uniform(1.0, 2.5, 3))
        shape = box if random.random() < 0.6 else Sphere(size)
        velocity, spin = random.normal(size=3), 3.0 * random.normal(size=3)
        velocity[2] = 0.0
        if isinstance(shape, Box):
            spin[:2] = 0.0
        scene.add(Body(shape, density=800.0, position=(4 * size * k, 0, height_of(shape)), velocity=velocity,
                       angular_velocity=spin, material=material))  # fmt: skip


FAMILIES = {
    "toss": _toss, "stack": _stack, "row": _row, "heap": _heap, "joints": _joints, "plane": _plane, "slide": _slide,
}  # fmt: skip


# -- making one --------------------------------------------------------------------------------------------


def examined(number: int, limit: float) -> dict[str, Any]:
    """What happened in the run of a number."""
    scene, law, family = random_scene(number)
    told: dict[str, Any] = {"number": number, "law": law, "family": family, "bodies": len(scene.bodies)}
    begin = time.process_time()
    simulator = carom.Simulator(scene, LAWS[law](), seed=number)
    signal.setitimer(signal.ITIMER_PROF, limit, 1.0)
    try:
        trajectory = simulator.run(1.0)
    except TimeoutError:
        told.update(status="too_slow", message=f"at t = {simulator.time:.6f} s", cpu=limit)
        told["events"] = len(simulator.trajectory.events)
        return told
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
    told.update(status=trajectory.status.value, message=trajectory.message, cpu=time.process_time() - begin)
    told.update(events=len(trajectory.events), pieces=len(trajectory.log.pieces))
    end = trajectory.end_time
    times = np.linspace(0.0, end, 200)
    energy = np.array([simulator.model.energy(trajectory.sample(t)) for t in times])
    kinetic = simulator.model.kinetic_energy(trajectory.sample(0.0))
    scale = max(np.ptp(energy), kinetic)
    if scale == 0.0:  # nothing moves: of a fall by a thousandth of a body's size
        pull = float(np.linalg.norm(simulator.model.gravity))
        moving = [body for body in trajectory.scene.bodies if not body.fixed]
        scale = max(1e-3 * pull * max(body.mass * body.shape.bounding_radius for body in moving), 1e-300)
    ledger = trajectory.ledger(np.array([0.0, end]))
    told["gained"] = float(max(0.0, np.diff(energy).max())) / scale
    told["residual"] = float(np.abs(ledger.residual).max()) / scale
    told["overlap"] = float(trajectory.largest_overlap(100))
    joined = simulator.model.articulation
    if not joined.is_empty:
        off = [np.abs(joined.violations(trajectory.sample(t).packed())[1]).max(initial=0.0) for t in times]
        told["loose"] = float(max(off))
    if number % 5 == 0:
        again = carom.Simulator(random_scene(number)[0], LAWS[law](), seed=number).run(1.0)
        same = len(again.events) == len(trajectory.events)
        told["repeats"] = same and np.array_equal(again.sample(end).packed(), trajectory.sample(end).packed())
    return told


def _raise(signum: int, frame: FrameType | None) -> None:
    """Stop what runs, unless it is being compiled or called from compiled code."""
    while frame is not None:
        name = frame.f_code.co_filename
        if "numba" in name or name.endswith(("world.py", "python_parts.py")):
            signal.setitimer(signal.ITIMER_PROF, 1.0)
            return
        frame = frame.f_back
    raise TimeoutError


def _work(orders: Connection, limit: float) -> None:
    """Examine the numbers that come, each within so much time."""
    signal.signal(signal.SIGPROF, _raise)
    while (number := orders.recv()) is not None:
        signal.alarm(int(KILLED_AFTER * limit) + 120)
        try:
            told = examined(number, limit)
            if (told["status"] in GOOD and told["cpu"] > 0.5 * limit) or told["status"] == "too_slow":
                told = examined(number, limit)  # it may have compiled
        except Exception as error:  # whatever goes wrong is what is looked for
            told = {"number": number, "status": "raised", "message": f"{type(error).__name__}: {error}"}
        signal.alarm(0)
        orders.send(told)


def main() -> None:
    """Make the scenes, print a table and write what happened."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--scenes", type=int, default=500, help="how many (500)")
    parser.add_argument("--first", type=int, default=0, help="number of the first (0)")
    parser.add_argument("--only", type=int, nargs="+", help="these numbers only")
    parser.add_argument("--limit", type=float, default=10.0, help="[s] of processor time a run may take (10)")
    parser.add_argument("--output", help="file for a line of JSON a scene")
    options = parser.parse_args()
    numbers = options.only or range(options.first, options.first + options.scenes)
    console, results = Console(), []
    context = multiprocessing.get_context("spawn")
    worker = None
    for number in numbers:
        if worker is None:
            ours, theirs = context.Pipe()
            worker = context.Process(target=_work, args=(theirs, options.limit), daemon=True)
            worker.start()
            theirs.close()
        ours.send(number)
        try:
            told = ours.recv()
        except EOFError:
            _, law, family = random_scene(number)
            told = {"number": number, "law": law, "family": family, "status": "no_end", "message": "killed"}
            worker = None
        results.append(told)
        if told["status"] not in GOOD or options.only:
            console.print_json(data=told, indent=None)
        if options.output:
            with open(options.output, "a", encoding="utf-8") as file:
                file.write(json.dumps(told) + "\n")
    if worker is not None:
        ours.send(None)
    table = Table("how it ended", "runs")
    for status, runs in Counter(told["status"] for told in results).most_common():
        table.add_row(status, str(runs))
    console.print(table)
    ended = [told for told in results if told["status"] in GOOD]
    console.print(f"{len(ended)} of {len(results)} end well" + ("; of these the worst:" if ended else ""))
    for name in ("cpu", "gained", "residual", "overlap", "loose") if ended else ():
        worst = max(ended, key=lambda told: told.get(name, 0.0))
        console.print(f"  {name} {worst.get(name, 0.0):.3g} (scene {worst['number']})")
    if apart := [told["number"] for told in ended if told.get("repeats") is False]:
        console.print(f"not the same when made again: {apart}")


if __name__ == "__main__":
    main()
