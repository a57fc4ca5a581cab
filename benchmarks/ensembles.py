"""What an ensemble costs beyond its members, how much faster two cores are, and what many small members hold.

Members burn a given processor time in a loop. Overhead is the wall time of one worker over the sum of the members'
own times, so that a busy machine counts on both sides; speed-up is one worker against several, in turns, on members
that simulate. `--dask` also runs them on a scheduler and worker processes of Dask on this machine. Compilation and
the start of workers are not timed: both are paid in a first ensemble on the same executor, which is kept.
"""

import argparse
import os
import platform
import resource
import time
from concurrent.futures import Executor

import numpy as np
from rich.console import Console
from rich.table import Table

import carom
from carom.simulator.ensembles.process_pool import ProcessPool


def burn(member: int, rng: np.random.Generator, seconds: float) -> float:
    """Compute for so much processor time."""
    end, found = time.process_time() + seconds, 0.0
    while time.process_time() < end:
        found += rng.random()
    return found


class Burn:
    """`burn` with a time, as a function of a member."""

    def __init__(self, seconds: float):
        self.seconds = seconds

    def __call__(self, member: int, rng: np.random.Generator) -> float:
        return burn(member, rng, self.seconds)


def tossed_box() -> carom.Scene:
    """A box that tumbles to rest."""
    material = carom.Material(friction=0.3, restitution=0.6)
    scene = carom.Scene()
    scene.add(carom.Body(carom.HalfSpace((0, 0, 1)), fixed=True, material=material))
    box = carom.Body(
        carom.Box((0.2, 0.1, 0.1)),
        density=1000.0,
        position=(0, 0, 0.5),
        angular_velocity=(1, 2, 3),
        material=material,
    )
    scene.add(box)
    return scene


def timed(run, members, executor: Executor, workers: int) -> tuple[float, float]:
    """Wall time and the sum of the members' own [s]."""
    begun = time.perf_counter()
    found = carom.ensemble(run, members, executor=executor, workers=workers, progress=False)
    wall = time.perf_counter() - begun
    if not found.good.all():
        raise RuntimeError(f"members failed: {found.failures[:3]}")
    return wall, float(found.computing_time.sum())


def overhead(executor: Executor, seconds: float, total: float, rounds: int) -> float:
    """Smallest share of wall time, of some rounds, that one worker spends on anything but members."""
    count = max(8, round(total / seconds))
    shares = []
    for _ in range(rounds):
        wall, own = timed(Burn(seconds), count, executor, 1)
        shares.append(wall / own - 1.0)
    return min(shares)


def loop_time(seconds: float, total: float) -> float:
    """The same of a plain loop, for comparison."""
    count = max(8, round(total / seconds))
    run, begun, own = Burn(seconds), time.perf_counter(), 0.0
    for index in range(count):
        one = time.perf_counter()
        run(index, np.random.default_rng(index))
        own += time.perf_counter() - one
    return (time.perf_counter() - begun) / own - 1.0


def speed_up(pools: dict[int, Executor], members: int, rounds: int) -> dict[int, float]:
    """Median of wall times of one worker over those of several, in turns."""
    run = carom.SceneRun(carom.StrongeCoulomb(), 2.0)
    scene = carom.perturbed(tossed_box(), members=members, position=1e-2, velocity=0.1)
    walls: dict[int, list[float]] = {workers: [] for workers in pools}
    for _ in range(rounds):
        for workers, pool in pools.items():
            walls[workers].append(timed(run, scene, pool, workers)[0])
    alone = np.array(walls[min(pools)])
    return {workers: float(np.median(alone / np.array(wall))) for workers, wall in walls.items()}


def memory() -> float:
    """Most memory that this process has held [MB]."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0


def growth(executor, workers: int, members: int) -> tuple[float, float]:
    """Wall time [s] of so many members of 1 ms, and by how much they raise the memory of this process [MB], beyond
    what a tenth of them do."""
    timed(Burn(1e-3), members // 10, executor, workers)
    before = memory()
    wall, _ = timed(Burn(1e-3), members, executor, workers)
    return wall, memory() - before


def main() -> None:
    """Time and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--total", type=float, default=6.0, help="seconds of members in a round")
    parser.add_argument("--members", type=int, default=800, help="simulated for the speed-up")
    parser.add_argument("--small", type=int, default=0, help="members of 1 ms, such as 100000")
    parser.add_argument("--dask", action="store_true")
    options = parser.parse_args()
    pools: dict[int, Executor] = {workers: ProcessPool(workers) for workers in (1, 2)}
    clusters = []
    executors: dict[str, tuple[object, object]] = {"processes": (pools[1], pools[2])}
    if options.dask:
        from distributed import Client, LocalCluster

        clusters = [
            LocalCluster(n_workers=count, threads_per_worker=1, dashboard_address=None) for count in (1, 2)
        ]
        executors["Dask"] = (Client(clusters[0]), Client(clusters[1]))
    table = Table("members of", "plain loop", *executors, title=f"overhead, {machine()}")
    for name, (one, two) in executors.items():
        timed(Burn(0.01), 100, one, 1)
        timed(carom.SceneRun(carom.StrongeCoulomb(), 2.0), carom.perturbed(tossed_box(), members=20), two, 2)
        timed(carom.SceneRun(carom.StrongeCoulomb(), 2.0), carom.perturbed(tossed_box(), members=20), one, 1)
        Console().print(f"{name} ready")
    for seconds in (0.005, 0.05, 0.5):
        shares = [overhead(one, seconds, options.total, options.rounds) for one, _ in executors.values()]
        plain = loop_time(seconds, options.total)
        table.add_row(f"{1e3 * seconds:g} ms", f"{plain:.2%}", *(f"{share:.2%}" for share in shares))
    Console().print(table)
    table = Table("executor", "workers", "speed-up over one")
    for name, (one, two) in executors.items():
        for workers, ratio in speed_up({1: one, 2: two}, options.members, options.rounds).items():
            table.add_row(name, str(workers), f"{ratio:.2f}")
    Console().print(table)
    if options.small:
        table = Table(
            f"{options.small} members of 1 ms", "wall time [s]", "memory of the client, growth [MB]"
        )
        for name, (_, two) in executors.items():
            wall, more = growth(two, 2, options.small)
            table.add_row(name, f"{wall:.1f}", f"{more:.1f}")
        Console().print(table)
    for pool in pools.values():
        pool.shutdown()
    for cluster in clusters:
        cluster.close()


def machine() -> str:
    """Where this is timed."""
    return f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"


if __name__ == "__main__":
    main()
