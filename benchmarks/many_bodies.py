"""Impacts a second of the general engine, and how the cost of one grows with the number of bodies far away.

Elastic spheres of one size fill part of a cube, as many in a volume whatever their number. Timed are runs of
`Simulator`, which records everything and takes any shapes, of so many impacts after a first round; the fastest of
some rounds counts; building the scene, predicting the first impacts and compiling are not timed. Counted are the
pairs whose meeting is bounded, and followed up exactly, for one impact. Beside it the gas of hard spheres,
`SphereGas`, in the same scene.
"""

import argparse
import time

from rich.console import Console
from rich.table import Table
from sphere_gas import gas_scene

from carom import SequentialReflection, Simulator, SphereGas

TITLES = (
    "spheres",
    "an impact",
    "impacts/s",
    "over the first",
    "bounds an impact",
    "searches an impact",
    "SphereGas impacts/s",
    "times slower",
    "start",
)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--spheres", type=int, nargs="+", default=[100, 1000, 10000], metavar="N")
    parser.add_argument("--fill", type=float, default=0.3, help="share of the cube that is filled (0.3)")
    parser.add_argument("--impacts", type=int, default=1000, help="impacts of a round (1000)")
    parser.add_argument("--rounds", type=int, default=5, help="rounds, the fastest counts (5)")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    table = Table()
    for title in TITLES:
        table.add_column(title, justify="right")
    SphereGas(gas_scene(8, options.fill, 0)).run(impacts=10)  # compile
    costs: list[float] = []
    for count in options.spheres:
        scene = gas_scene(count, options.fill, options.seed)
        begin = time.perf_counter()
        simulator = Simulator(scene, SequentialReflection())
        built = time.perf_counter() - begin
        predictions = simulator._predictions
        spent: list[float] = []
        for turn in range(options.rounds + 1):
            if turn == 1:
                known = predictions.bounds_made, predictions.searches_made
            begin = time.perf_counter()
            for _ in range(options.impacts):
                simulator.step_event()
            spent.append(time.perf_counter() - begin)
        costs.append(min(spent[1:]) / options.impacts)
        made = options.rounds * options.impacts
        gas = SphereGas(scene)
        gas.run(impacts=2 * count)
        begin = time.perf_counter()
        gas.run(impacts=100_000)
        gas_cost = (time.perf_counter() - begin) / 100_000
        table.add_row(
            str(count), f"{1e6 * costs[-1]:.0f} us", f"{1.0 / costs[-1]:.0f}", f"{costs[-1] / costs[0]:.2f}",
            f"{(predictions.bounds_made - known[0]) / made:.1f}",
            f"{(predictions.searches_made - known[1]) / made:.2f}",
            f"{1.0 / gas_cost:.0f}", f"{costs[-1] / gas_cost:.0f}", f"{built:.1f} s",
        )  # fmt: skip
    Console(width=140).print(table)


if __name__ == "__main__":
    main()
