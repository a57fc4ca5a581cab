"""Impacts a second in a gas of hard spheres, and how the cost of one grows with the number of bodies far away.

Elastic spheres of one size fill part of a cube, as many in a volume whatever their number. Timed are runs of
`Simulator` of so many impacts after a first round, its log included, by processor time; the fastest of some rounds
counts; building the scene, predicting the first impacts and compiling are not timed, but setting up is, beside.
Counted are the pairs whose meeting is bounded, and followed up exactly, for one impact.
"""

import argparse
import itertools
import math
import time

import numpy as np
from rich.console import Console
from rich.table import Table

from carom import Body, HalfSpace, Material, Scene, SequentialReflection, Simulator, Sphere

MATERIAL = Material(friction=0.0, restitution=1.0)
TITLES = (
    "spheres",
    "an impact",
    "impacts/s",
    "over the first",
    "bounds an impact",
    "searches an impact",
    "set-up",
)


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


def cost_of_impact(
    count: int, fill: float, seed: int, impacts: int, rounds: int
) -> tuple[float, float, float, float]:
    """Processor time [s] of an impact and of setting up; bounds and searches that an impact takes."""
    scene = gas_scene(count, fill, seed)
    begin = time.process_time()
    simulator = Simulator(scene, SequentialReflection(), event_limit=impacts)
    built = time.process_time() - begin
    header = simulator._run.world.header
    spent: list[float] = []
    known = 0, 0
    for turn in range(rounds + 1):
        if turn == 1:
            known = int(header["bounds_made"]), int(header["searches_made"])
        begin = time.process_time()
        while int(header["happened"]) < (turn + 1) * impacts:
            simulator.event_limit = (turn + 1) * impacts + 1
            simulator._run.advance(math.inf, stop_at_rest=False, turns=impacts)
        spent.append((time.process_time() - begin) / impacts)
    bounds, searches = int(header["bounds_made"]) - known[0], int(header["searches_made"]) - known[1]
    return min(spent[1:]), built, bounds / (rounds * impacts), searches / (rounds * impacts)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--spheres", type=int, nargs="+", default=[100, 1000, 10000], metavar="N")
    parser.add_argument("--fill", type=float, default=0.3, help="share of the cube that is filled (0.3)")
    parser.add_argument("--impacts", type=int, default=20_000, help="impacts of a round (20,000)")
    parser.add_argument("--rounds", type=int, default=5, help="rounds, the fastest counts (5)")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    table = Table()
    for title in TITLES:
        table.add_column(title, justify="right")
    cost_of_impact(8, options.fill, 0, 200, 1)  # compile
    first = None
    for count in options.spheres:
        cost, built, bounds, searches = cost_of_impact(
            count, options.fill, options.seed, options.impacts, options.rounds
        )
        first = cost if first is None else first
        table.add_row(
            str(count), f"{1e6 * cost:.1f} us", f"{1.0 / cost:.0f}", f"{cost / first:.2f}",
            f"{bounds:.1f}", f"{searches:.2f}", f"{built:.2f} s",
        )  # fmt: skip
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
