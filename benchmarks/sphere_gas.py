"""Impacts a second of hard spheres in a box on one core, and how an impact's cost grows with their number.

Elastic spheres of one size fill part of a cube. Timed are `SphereGas` runs of so many impacts after two a sphere,
the fastest of some rounds; building the scene, planning the first impacts and compiling are not timed. The
reference is the cost at 1000 spheres times the ratio of the logarithms: an event queue costs that, memory the rest.
Beside it, for the smallest gas, the general engine `Simulator`, which records everything and detects contact of any
shapes.
"""

import argparse
import itertools
import math
import time

import numpy as np
from rich.console import Console
from rich.table import Table

from carom import Body, HalfSpace, Material, Scene, SequentialReflection, Simulator, Sphere, SphereGas

MATERIAL = Material(friction=0.0, restitution=1.0)


def gas_scene(count: int, fill: float, seed: int) -> Scene:
    """Spheres of radius 1 and mass 1 with normal velocities on a lattice in a cube."""
    rng = np.random.default_rng(seed)
    side = math.ceil(count ** (1.0 / 3.0))
    edge = (count * 4.0 / 3.0 * math.pi / fill) ** (1.0 / 3.0)
    scene = Scene(gravity=(0.0, 0.0, 0.0))
    for axis, sign in itertools.product(range(3), (1.0, -1.0)):
        normal = np.zeros(3)
        normal[axis] = sign
        scene.add(Body(HalfSpace(normal, offset=-0.5 * edge), fixed=True, material=MATERIAL))
    shape = Sphere(1.0)
    for k in range(count):
        place = np.array([k // side**2, k // side % side, k % side])
        position = (place + 0.5) * edge / side - 0.5 * edge
        scene.add(Body(shape, mass=1.0, position=position, velocity=rng.normal(size=3), material=MATERIAL))
    return scene


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--spheres", type=int, nargs="+", default=[100, 1000, 10000, 100000], metavar="N")
    parser.add_argument("--fill", type=float, default=0.3, help="share of the cube that is filled (0.3)")
    parser.add_argument("--impacts", type=int, default=200_000, help="impacts of a round (200000)")
    parser.add_argument("--rounds", type=int, default=5, help="rounds, the fastest counts (5)")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    console = Console(width=120)
    SphereGas(gas_scene(8, options.fill, 0)).run(impacts=10)  # compile
    table = Table()
    for title in (
        "spheres",
        "an impact",
        "impacts/s",
        "over log n from 1000",
        "energy, relative error",
        "scene",
    ):
        table.add_column(title, justify="right")
    costs: dict[int, float] = {}
    for count in options.spheres:
        begin = time.perf_counter()
        scene = gas_scene(count, options.fill, options.seed)
        gas = SphereGas(scene)
        built = time.perf_counter() - begin
        energy = gas.energy
        gas.run(impacts=2 * count)
        spent = []
        for _ in range(options.rounds):
            begin = time.perf_counter()
            gas.run(impacts=options.impacts)
            spent.append((time.perf_counter() - begin) / options.impacts)
        costs[count] = min(spent)
        growth = ""
        if 1000 in costs:
            growth = f"{costs[count] / costs[1000] * math.log(1000) / math.log(count):.2f}"
        table.add_row(
            str(count), f"{1e6 * costs[count]:.2f} us", f"{1.0 / costs[count]:.0f}", growth,
            f"{abs(gas.energy / energy - 1.0):.1e}", f"{built:.1f} s",
        )  # fmt: skip
    console.print(table)
    count = min(options.spheres)
    scene = gas_scene(count, options.fill, options.seed)
    simulator = Simulator(scene, SequentialReflection())
    for _ in range(3):  # compile
        simulator.step_event()
    begin, known = time.perf_counter(), len(simulator.trajectory.events)
    while time.perf_counter() - begin < 5.0:
        simulator.step_event()
    spent_engine = (time.perf_counter() - begin) / max(len(simulator.trajectory.events) - known, 1)
    console.print(
        f"Simulator, {count} spheres: {1e6 * spent_engine:.0f} us an impact, "
        f"{spent_engine / costs[count]:.0f} times the gas"
    )


if __name__ == "__main__":
    main()
