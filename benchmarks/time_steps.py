"""What a time step of many spheres costs, by processor time: beside MuJoCo, and a sphere and a touch.

`settling` are spheres that fall into a box, one simulated second in steps of 1 ms, beside MuJoCo's with elliptic
cones and its soft contacts; overlaps are told, in radii. `flow` is the channel of `carom demo channel`, filled as
densely as it flows, after some steps in which its spheres have met: processor time of a step, and of its parts a
sphere or a touch and sweep. Beside stands how much memory a sweep reads and writes in a second, over what a copy of
an array as large does. Times are those of all threads together; NUMBA_NUM_THREADS says how many there are.
"""

import argparse
import time
from typing import Any

import numba
import numpy as np
from rich.console import Console
from rich.table import Table

import carom
from carom import Body, HalfSpace, MaximumDissipation, Scene, TimeSteps
from carom.demos.channel import channel_steps
from carom.simulator.stepping import motion_kernels, search_kernels, solve_kernels
from carom.simulator.stepping.touches_kernels import MOTION, TOUCH

STEP = 1e-3  # s, of the settling
RADIUS, FRICTION = 0.05, 0.5


def settling(count: int) -> tuple[Scene, np.ndarray, np.ndarray]:
    """Spheres on a loose lattice above the floor of a box; the scene, their places and velocities."""
    random = np.random.default_rng(0)
    side = max(2, round((count / 2) ** (1 / 3)))
    k = np.arange(count)
    places = 2.2 * RADIUS * np.stack([k % side, k // side % side, k // side**2], axis=-1) + 1.1 * RADIUS
    velocity = 0.5 * random.normal(size=places.shape)
    material = carom.Material(friction=FRICTION)
    scene = Scene()
    scene.add(Body(HalfSpace((0, 0, 1)), fixed=True, material=material))
    for axis in range(2):
        for sign, offset in ((1.0, 0.0), (-1.0, -2.2 * RADIUS * side)):
            scene.add(Body(HalfSpace(sign * np.eye(3)[axis], offset), fixed=True, material=material))
    scene.add_spheres(RADIUS, density=1000.0, position=places, velocity=velocity, material=material)
    return scene, places, velocity


def mujoco_seconds(count: int, duration: float, solver: str) -> tuple[float, float]:
    """Processor time [s] of MuJoCo, and its deepest overlap in radii."""
    import mujoco

    scene, places, velocity = settling(count)
    world = []
    for body in scene.bodies:
        assert isinstance(body.shape, HalfSpace)
        place, axis = (
            " ".join(map(repr, map(float, v)))
            for v in (body.shape.offset * body.shape.normal, body.shape.normal)
        )
        world.append(
            f'<geom type="plane" size="5 5 1" pos="{place}" zaxis="{axis}" friction="{FRICTION} 0 0"/>'
        )
    for place in places:
        at = " ".join(map(repr, place.tolist()))
        world.append(
            f'<body pos="{at}"><freejoint/><geom type="sphere" size="{RADIUS}" density="1000" '
            f'friction="{FRICTION} 0 0"/></body>'
        )
    model = mujoco.MjModel.from_xml_string(
        f'<mujoco><option timestep="{STEP}" cone="elliptic" solver="{solver}"/><size memory="2G"/>'
        '<default><geom condim="3"/></default>'
        f"<worldbody>{''.join(world)}</worldbody></mujoco>"
    )
    data = mujoco.MjData(model)
    data.qvel.reshape(-1, 6)[:, :3] = velocity
    deepest, begin = 0.0, time.process_time()
    for _ in range(round(duration / STEP)):
        mujoco.mj_step(model, data)
        if data.ncon:
            deepest = max(deepest, -float(data.contact.dist.min()))
    return time.process_time() - begin, deepest / RADIUS


def carom_seconds(count: int, duration: float, law: MaximumDissipation) -> tuple[float, float, float]:
    """Processor time [s] of time steps, their deepest overlap in radii, share of steps above the tolerance."""
    steps = TimeSteps(settling(count)[0], law, step=STEP)
    steps.advance()
    begin = time.process_time()
    steps.run(duration)
    spent = time.process_time() - begin
    rows = steps.log.rows
    return spent, float(rows["overlap"].max()), float((rows["residual"] > law.tolerance).mean())


class Clock:
    """Processor time of calls of kernels, by their names."""

    def __init__(self) -> None:
        self.spent: dict[str, float] = {}

    def watch(self, module: Any, name: str) -> None:
        """Let calls of a kernel be timed from now on."""
        kernel = getattr(module, name)

        def timed(*arguments: Any) -> Any:
            begin = time.process_time()
            result = kernel(*arguments)
            self.spent[name] = self.spent.get(name, 0.0) + time.process_time() - begin
            return result

        setattr(module, name, timed)


def copied(size: int) -> float:
    """Bytes a second that a copy of so many bytes reads and writes."""
    source, target = np.ones(size // 8), np.empty(size // 8)
    best = np.inf
    for _ in range(5):
        begin = time.process_time()
        np.copyto(target, source)
        best = min(best, time.process_time() - begin)
    return 2.0 * source.nbytes / best


def flow(share: float, first: int, more: int, clock: Clock) -> list[str]:
    """A row of the table of flows."""
    steps = channel_steps(share, fill=0.6)
    for _ in range(first):
        steps.advance()
    clock.spent.clear()
    begin, updates, spheres, sweeps = time.process_time(), 0, 0, 0
    clock_begin = time.perf_counter()
    for _ in range(more):
        row = steps.advance()
        updates += int(row["near"]) * (int(row["sweeps"]) + 1)
        sweeps += int(row["sweeps"])
        spheres += int(row["spheres"])
    spent, wall = time.process_time() - begin, time.perf_counter() - clock_begin
    search = sum(
        clock.spent[name] for name in ("extent", "sort_into_cells", "take_rows", "find_touches", "sum_up")
    )
    row = steps.log.rows[-1]
    # a sweep that leaves nothing out reads every touch, the motions of both sides, and writes half of that
    passed = updates * (1.5 * TOUCH.itemsize + 2 * MOTION.itemsize)
    bandwidth = passed / clock.spent["relax"] / copied(max(2**25, int(row["near"]) * TOUCH.itemsize))
    state, touches = steps._state, steps._touches
    tables = [getattr(state.table, name).nbytes for name in ("places", "motions", "surfaces", "ids", "rows")]
    tables += tables  # the spare ones, into which they are sorted
    tables += [
        a.nbytes for a in (touches._room, touches._other_room, touches.starts, state.kept, state.kept_starts)
    ]
    return [
        f"{row['spheres']:,}", f"{row['near']:,}", f"{row['sticking'] + row['sliding']:,}", f"{sweeps / more:.0f}",
        f"{1e3 * spent / more:.1f} ms", f"{1e6 * search / spheres:.2f} us",
        f"{1e9 * clock.spent['relax'] / updates:.0f} ns", f"{bandwidth:.2f}",
        f"{float(row['overlap']):.1e}", f"{1e3 * wall / more:.1f} ms", f"{sum(tables) / len(steps):.0f} B",
    ]  # fmt: skip


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--settling", type=int, nargs="*", default=[1000], metavar="N", help="spheres that settle"
    )
    parser.add_argument("--duration", type=float, default=1.0, help="simulated time of the settling [s]")
    parser.add_argument("--tolerance", type=float, default=1e-4, help="of the settling (1e-4)")
    parser.add_argument(
        "--solver", choices=["Newton", "CG", "PGS"], default="Newton", help="of MuJoCo (Newton, its default)"
    )
    parser.add_argument("--flows", type=float, nargs="*", default=[0.275, 0.436], metavar="SHARE",
                        help="lengths of channels over the paper's; 1 is 250,000 spheres")  # fmt: skip
    parser.add_argument(
        "--steps", type=int, nargs=2, default=[300, 50], help="of a flow before and while it is timed"
    )
    options = parser.parse_args()
    console = Console(width=130)
    law = MaximumDissipation(tolerance=options.tolerance, max_sweeps=500)
    if options.settling:
        carom_seconds(27, 0.2, law)  # compile
        table = titled(
            "settling", "spheres", "carom", "MuJoCo", "ratio", "overlap", "MuJoCo's", "above tolerance"
        )
        for count in options.settling:
            mine, overlap, above = carom_seconds(count, options.duration, law)
            theirs, soft = mujoco_seconds(count, options.duration, options.solver)
            table.add_row(
                str(count), f"{mine:.2f} s", f"{theirs:.2f} s", f"{mine / theirs:.2f}", f"{overlap:.1e}",
                f"{soft:.1e}", f"{100 * above:.1f} %",
            )  # fmt: skip
        console.print(table)
    clock = Clock()
    for module, names in (
        (search_kernels, ("extent", "sort_into_cells", "take_rows", "find_touches", "sum_up")),
        (solve_kernels, ("relax", "begin", "part")),
        (motion_kernels, ("pull", "move", "judge", "kinetic_energy", "keep_pressing")),
    ):
        for name in names:
            clock.watch(module, name)
    channel_steps(0.1).run(2e-3)  # compile
    table = titled(
        f"flow, {numba.get_num_threads()} threads", "spheres", "near", "pressing", "sweeps", "a step",
        "search a sphere", "a touch and sweep", "of a copy's bandwidth", "overlap",
        "a step, by the clock", "tables a sphere",
    )  # fmt: skip
    for share in options.flows:
        table.add_row(*flow(share, *options.steps, clock))
    console.print(table)


def titled(title: str, *columns: str) -> Table:
    """An empty table."""
    table = Table(title=title)
    for column in columns:
        table.add_column(column, justify="right")
    return table


if __name__ == "__main__":
    main()
