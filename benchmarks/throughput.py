"""Contact updates per second of maximum dissipation's sweeps over piles of spheres, on one and two threads.

The pile is a cubic lattice of spheres on a floor, falling with seeded noise. Timed are only the sweeps
(`relaxation_kernels.relax_colours`), always from zero impulses: the fastest of some rounds and,
beside it, the median, which is far above it where something else kept a core busy. Building the pile, colouring
the contacts and compiling are not timed. A contact update solves one contact given all others and applies
the change to its bodies. The residual is that of `MaximumDissipation.resolve_network` after those sweeps: the
largest distance of a contact's impulse from its one-contact solution, relative to the largest impulse.
"""

import argparse
import os
import platform
import time

import numba
import numpy as np
from rich.console import Console
from rich.table import Table

from carom.impact_laws import ContactNetwork, relaxation_kernels
from carom.impact_laws.relaxation import NetworkRelaxation

RULES = {
    "maximum-dissipation": relaxation_kernels.MAXIMUM_DISSIPATION,
    "coulomb": relaxation_kernels.COULOMB,
}


def side_of(contacts: int) -> int:
    """Spheres along an edge of the pile with the number of contacts closest to that asked for."""
    return min(range(2, 200), key=lambda side: abs(3 * side**3 - 2 * side**2 - contacts))


def pile(side: int, seed: int) -> ContactNetwork:
    """Unit spheres on a cubic lattice over a floor: each touches its neighbours, the lowest the floor."""
    rng = np.random.default_rng(seed)
    index = np.arange(side**3).reshape(side, side, side)
    grid = np.stack(np.unravel_index(index.ravel(), index.shape), axis=1).astype(float)
    bodies, normals = [], []
    for axis in range(3):
        upper, lower = np.delete(index, 0, axis), np.delete(index, -1, axis)
        bodies.append(np.stack([upper.ravel(), lower.ravel()], axis=1))
        normals.append(np.broadcast_to(np.eye(3)[axis], (upper.size, 3)))
    lowest = index[:, :, 0].ravel()
    bodies.append(np.stack([lowest, np.full(lowest.size, -1)], axis=1))
    normals.append(np.broadcast_to(np.eye(3)[2], (lowest.size, 3)))
    pairs, normal = np.concatenate(bodies), np.concatenate(normals)
    order = np.argsort(
        pairs[:, 0], kind="stable"
    )  # contacts of a sphere close together, as a search finds them
    pairs, normal = pairs[order], normal[order]
    velocity = np.zeros((len(grid), 6))
    velocity[:, 2] = -1.0
    velocity[:, :3] += 0.2 * rng.normal(size=(len(grid), 3))
    mass = rng.uniform(0.5, 2.0, len(grid))
    point = grid[pairs[:, 0]] - 0.5 * normal
    return ContactNetwork.of_points(pairs, point, normal, grid, mass, 0.1 * mass, velocity, friction=0.4)


def timed(relaxation: NetworkRelaxation, sweeps: int) -> tuple[float, np.ndarray]:
    """Seconds of that many sweeps from zero, and the impulses in the order of the colours."""
    x = np.zeros((relaxation.network.contact_count, 3))
    start = time.perf_counter()
    relaxation.sweep(x, sweeps, 0.0)
    return time.perf_counter() - start, x


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--contacts", type=int, nargs="+", default=[1000, 10000, 100000], metavar="N",
                        help="contacts of each pile, about (1000 10000 100000)")  # fmt: skip
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2], metavar="N", help="threads (1 2)")
    parser.add_argument("--sweeps", type=int, default=100, help="sweeps timed at once (100)")
    parser.add_argument("--rounds", type=int, default=9, help="rounds, the fastest counts (9)")
    parser.add_argument("--rule", choices=RULES, default="maximum-dissipation", help="rule of one contact")
    parser.add_argument("--seed", type=int, default=0, help="of masses and velocities (0)")
    options = parser.parse_args()
    threads = sorted({min(number, numba.config.NUMBA_NUM_THREADS) for number in options.threads})
    console = Console(width=120)
    load = f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "unknown"
    console.print(
        f"{platform.machine()}, {os.cpu_count()} cores (load before: {load}), Python {platform.python_version()}, "
        f"numba {numba.__version__}; "
        f"rule {options.rule}; {options.sweeps} sweeps, fastest of {options.rounds}"
    )
    table = Table()
    for title in (
        "contacts",
        "spheres",
        "colours",
        "threads",
        "a sweep",
        "median",
        "updates/s",
        "speed-up",
        "residual",
    ):
        table.add_column(title, justify="right")
    timed(NetworkRelaxation(pile(2, 0), RULES[options.rule]), 1)  # compile
    for contacts in options.contacts:
        relaxation = NetworkRelaxation(pile(side_of(contacts), options.seed), RULES[options.rule])
        count = relaxation.network.contact_count
        spent: list[list[float]] = [[] for _ in threads]
        impulses: list[np.ndarray] = []
        for _ in range(options.rounds):  # in turn, so that a busy moment of the machine meets all alike
            for k, number in enumerate(threads):
                numba.set_num_threads(number)
                seconds, x = timed(relaxation, options.sweeps)
                spent[k].append(seconds)
                impulses.append(x)
        if not all(np.array_equal(x, impulses[0]) for x in impulses):
            raise RuntimeError(f"impulses of {count} contacts depend on the number of threads")
        residual = relaxation.residual(impulses[0])
        for number, times in zip(threads, spent, strict=True):
            seconds = min(times)
            table.add_row(
                str(count), str(len(relaxation.network.velocity)), str(relaxation.colour_count), str(number),
                f"{1e3 * seconds / options.sweeps:.3f} ms",
                f"{1e3 * float(np.median(times)) / options.sweeps:.3f} ms",
                f"{1e-6 * count * options.sweeps / seconds:.2f} million",
                f"{min(spent[0]) / seconds:.2f}", f"{residual:.1e}",
            )  # fmt: skip
    console.print(table)
    console.print(
        f"Threads are those of numba's layer {numba.threading_layer()}; colours of fewer than 256 contacts use one."
    )


if __name__ == "__main__":
    main()
