"""Rockfall on a slope with a ditch: a thousand blocks, where they come to lie, and what a fence would have to hold.

Hazard assessors draw such maps from many runs, each with a block, a start and a ground of its own, since none of
these is known well: where blocks stop, and with which energy and how high they pass the line of a barrier. Here
blocks are polyhedra that strike a mesh of triangles with friction and restitution; their turning and their shape
decide where they go, and no factor is fitted to any real slope.
"""

import math
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy.optimize import brentq

from ..bodies import Body, ConvexMesh, HalfSpace, Material, Mesh, Scene
from ..impact_laws import StrongeCoulomb
from ..simulator import RunStatus, Simulator, Trajectory, ensemble
from ..viewer.figures import new_figure, save_figure
from .demo import Check, Table

if TYPE_CHECKING:
    from pathlib import Path

    from ..simulator import Ensemble

BLOCKS = 1000
SEED = 5
PROFILE = ((-8.0, 40.0), (0.0, 36.0), (12.0, 23.0), (18.0, 20.0), (38.0, 1.5), (46.0, -2.0))
"""(x, z) [m] of the slope along its middle: a cliff with a ledge at x = 12 m; it ends below the ground z = 0."""
HALF_WIDTH = 32.0  # m
GULLY = 0.008  # 1/m: the slope rises to its sides by this times y²
CELLS = (10, 9)
DEPTH = 6.0  # m, of the slope's floor below the ground
FENCE = 44.0  # m, where it would stand: at the foot of the slope
DAM = ((58.0, -1.0), (60.0, 2.5), (61.0, 2.5), (64.0, -1.0))  # m, (x, z), behind the ditch
DENSITY = 2600.0  # kg/m³
VOLUMES = (0.15, 1.5)  # m³
FRICTION, RESTITUTION = (0.35, 0.55), (0.35, 0.5)
START = (-3.0, 38.8)  # m, (x, z) of the blocks' centres
SLOW = 1.0  # m/s, of all points of a block, which then has come to lie
LOOK = 0.25  # s, after which it is asked whether it has
LONGEST = 30.0  # s
BLOCK = 3  # index of the body
_SAMPLES = 400


def terrain() -> tuple[np.ndarray, np.ndarray]:
    """Vertices (n, 3) [m] and triangles (m, 3) of the slope's surface."""
    x = np.linspace(PROFILE[0][0], PROFILE[-1][0], CELLS[0])
    y = np.linspace(-HALF_WIDTH, HALF_WIDTH, CELLS[1])
    along, across = np.meshgrid(x, y, indexing="ij")
    ends = np.clip((PROFILE[-1][0] - 2.0 - along) / 20.0, 0.0, 1.0)  # even where it meets the ground
    height = np.interp(along, *np.array(PROFILE).T) + ends * GULLY * across**2
    number = np.arange(along.size).reshape(along.shape)
    a, b, c, d = (
        corner.ravel() for corner in (number[:-1, :-1], number[1:, :-1], number[1:, 1:], number[:-1, 1:])
    )
    triangles = np.concatenate([np.stack([a, b, c], axis=1), np.stack([a, c, d], axis=1)])
    return np.stack([along, across, height], axis=-1).reshape(-1, 3), triangles


def solid() -> tuple[np.ndarray, np.ndarray]:
    """The slope as a closed mesh: its surface, walls on all sides, and a floor deep below."""
    vertices, triangles = terrain()
    count, grid = len(vertices), np.arange(len(vertices)).reshape(CELLS)
    floor = vertices * [1.0, 1.0, 0.0] - [0.0, 0.0, DEPTH]
    rim = np.concatenate([grid[:, 0], grid[-1, 1:], grid[-2::-1, -1], grid[0, -2:0:-1]])
    following = np.roll(rim, -1)
    walls = np.concatenate(
        [
            np.stack([rim, rim + count, following + count], axis=1),
            np.stack([rim, following + count, following], axis=1),
        ]
    )
    return np.concatenate([vertices, floor]), np.concatenate([triangles, triangles[:, ::-1] + count, walls])


@cache
def _ground() -> tuple[tuple[Any, np.ndarray, str], ...]:
    """Shapes that do not move, their places and names; made once a process."""
    vertices, triangles = solid()
    slope = Mesh((vertices, triangles))
    dam = np.array([(x, y, z) for y in (-45.0, 45.0) for x, z in DAM])
    hull = ConvexMesh(dam)
    return (
        (HalfSpace(np.array([0.0, 0.0, 1.0])), np.zeros(3), "ground"),
        (slope, vertices.min(axis=0) - slope.vertices.min(axis=0), "slope"),
        (hull, dam.min(axis=0) - hull.vertices.min(axis=0), "dam"),
    )


def rock_scene(rng: np.random.Generator) -> Scene:
    """The slope with a block of its own shape, size, surface and start."""
    material = Material(friction=rng.uniform(*FRICTION), restitution=rng.uniform(*RESTITUTION))
    scene = Scene()
    for shape, place, name in _ground():
        scene.add(Body(shape, fixed=True, position=place, material=material, name=name))
    corners = rng.normal(size=(int(rng.integers(8, 13)), 3))
    corners *= rng.uniform(0.6, 1.0, 3) / np.linalg.norm(corners, axis=1)[:, None]
    hull = ConvexMesh(corners)
    volume = math.exp(rng.uniform(*np.log(VOLUMES)))
    size = (volume / hull.mass_properties(1.0).mass) ** (1.0 / 3.0)
    turn = rng.normal(size=4)
    block = Body(
        ConvexMesh(size * corners),
        density=DENSITY,
        position=(START[0], rng.uniform(-5.0, 5.0), START[1] + rng.uniform(0.5, 1.5)),
        orientation=turn / np.linalg.norm(turn),
        velocity=(rng.uniform(1.5, 2.5), rng.normal(0.0, 0.3), 0.0),
        angular_velocity=rng.normal(0.0, 1.0, 3),
        material=material,
        name="block",
    )
    scene.add(block)
    return scene


def fall(member: int, rng: np.random.Generator) -> Trajectory:
    """One block, until it has come to lie."""
    simulator = Simulator(rock_scene(rng), StrongeCoulomb())
    reach = simulator.model.size[BLOCK]
    while simulator.time < LONGEST:
        run = simulator.run(simulator.time + LOOK)
        state = simulator.state
        fastest = np.linalg.norm(state.velocity[BLOCK])
        fastest += reach * np.linalg.norm(state.angular_velocity[BLOCK])
        if run.status is not RunStatus.REACHED_END or (fastest < SLOW and len(run.events)):
            break
    _refuse_lost(run)
    return run


def measure(run: Trajectory) -> dict[str, Any]:
    """The block's mass and path; energy [J], height above the ground [m] and place where it passes the fence."""
    times = np.linspace(run.start_time, run.end_time, _SAMPLES)
    path = run.sample(times).position[:, BLOCK]
    found = {
        "mass": run.scene.bodies[BLOCK].mass,
        "path": path[:: _SAMPLES // 80],
        "energy": math.nan,
        "height": math.nan,
        "across": math.nan,
    }
    past = np.flatnonzero(path[:, 0] >= FENCE)
    if len(past):
        low, high = times[past[0] - 1], times[past[0]]
        time = brentq(lambda t: run.sample(t).position[BLOCK, 0] - FENCE, low, high, xtol=1e-9)
        place = run.sample(time).position[BLOCK]
        found |= {
            "energy": run.energy_parts(time)[0],
            "height": place[2] - max(0.0, float(height_of_slope(place[0], place[1]))),
            "across": place[1],
        }
    works = run.ledger(run.end_time)
    lost = run.energy(run.start_time) - run.energy(run.end_time)
    done = works.friction + works.impacts + works.closing
    return found | {"unbalanced": abs(lost + done) / abs(lost)}


def height_of_slope(x: Any, y: Any) -> Any:
    """Height [m] of the surface at places, minus infinity beside it."""
    vertices, _ = terrain()
    grid = vertices.reshape(*CELLS, 3)
    sides = grid[:, 0, 0], grid[0, :, 1]
    i, j = (
        np.clip(np.searchsorted(side, at, side="right") - 1, 0, len(side) - 2)
        for side, at in zip(sides, (x, y), strict=True)
    )
    u, v = ((at - side[k]) / (side[1] - side[0]) for side, at, k in zip(sides, (x, y), (i, j), strict=True))
    z = grid[:, :, 2]
    a, b, c, d = z[i, j], z[i + 1, j], z[i + 1, j + 1], z[i, j + 1]
    height = np.where(u >= v, a + (b - a) * u + (c - b) * v, a + (c - d) * u + (d - a) * v)
    inside = (u >= 0.0) & (u <= 1.0) & (v >= 0.0) & (v <= 1.0)
    return np.where(inside, height, -np.inf)


def _refuse_lost(run: Trajectory) -> None:
    """RuntimeError where the middle of the block has come below the surface."""
    path = run.sample(np.linspace(run.start_time, run.end_time, _SAMPLES)).position[:, BLOCK]
    below = path[:, 2] < height_of_slope(path[:, 0], path[:, 1])
    if below.any():
        x, y, _ = path[int(np.argmax(below))]
        raise RuntimeError(f"the block went through the slope at x = {x:.1f} m, y = {y:.1f} m")


class Rockfall:
    """A thousand polyhedral blocks on a mesh with a slope, a ledge, a gully and a ditch before a dam."""

    name: ClassVar[str] = "rockfall"
    ending: ClassVar[str] = ".png"

    def __init__(self, blocks: int = BLOCKS, workers: int | None = None):
        self.blocks, self.workers = blocks, workers

    @cached_property
    def runs(self) -> "Ensemble":
        """Every block with a generator of its own."""
        return ensemble(fall, self.blocks, seed=SEED, measure=measure, workers=self.workers)

    @property
    def ends(self) -> np.ndarray:
        """(n, 3) [m] where blocks come to lie."""
        return self.runs["position"][self.runs.good, BLOCK]

    def tables(self) -> list[Table]:
        """Where blocks stop, and energy and height at the fence, as quantiles with their intervals."""
        x = self.ends[:, 0]
        parts = (
            ("on the slope", x < FENCE),
            ("in the ditch", (x >= FENCE) & (x < DAM[1][0])),
            ("beyond the dam's crest", x >= DAM[1][0]),
        )
        where = [(words, str(int(there.sum())), f"{there.mean():.1%}") for words, there in parts]
        rows = []
        for name, words, unit in (
            ("energy", "energy [kJ]", 1e-3),
            ("height", "height of the centre [m]", 1.0),
        ):
            known = self.runs.statistics(name)
            for q in (0.5, 0.95, 0.99):
                found = known.quantile(q)
                rows.append(
                    (
                        f"{words}, {q:.0%}",
                        *(f"{unit * each:.3g}" for each in (found.value, found.low, found.high)),
                    )
                )
        passed = len(self.runs.statistics("energy").values)
        return [
            Table(("blocks come to lie", "number", "share"), tuple(where)),
            Table((f"at the fence, {passed} blocks", "estimate", "95 % from", "to"), tuple(rows)),
        ]

    def check(self) -> list[Check]:
        """All come to lie, on the surface, with the energy that friction and impacts have left them."""
        runs = self.runs
        good = runs.good
        mass, energy = runs["mass"][good], runs["energy"][good]
        fallen = mass * 9.81 * (START[1] + 1.5 - np.minimum(0.0, PROFILE[-1][1])) + 40.0 * mass
        passed = np.isfinite(energy)
        statistics = runs.statistics("energy")
        mean = statistics.mean()
        again = runs.rerun(0)
        return [
            Check("blocks whose runs failed", float((~good).sum()), 0.0),
            Check(
                "still moving after 30 s", float((runs["end_time"][good] >= LONGEST).sum()), 0.01 * len(runs)
            ),
            Check("energy not accounted for, relative", float(runs["unbalanced"][good].max()), 1e-6),
            Check("below the ground [m]", -float(self.ends[:, 2].min()), 0.0),
            Check("energy at the fence over that of the fall", float((energy / fallen)[passed].max()), 1.0),
            Check("passing the fence, below a tenth", 0.1 - passed.mean(), 0.0),
            Check(
                "mean energy at the fence, half interval, relative",
                (mean.high - mean.value) / mean.value,
                0.5,
            ),
            Check(
                "block 0 run again, end [m]",
                float(np.abs(again.sample(again.end_time).position - runs["position"][0]).max()),
                0.0,
            ),
        ]

    def write(self, path: "Path") -> None:
        """The map of run-out with trails, a section, and energy and height at the fence."""
        figure = new_figure(14.0, 9.6)
        grid = figure.add_gridspec(3, 2, width_ratios=(1.75, 1.0))
        figure.suptitle(f"rockfall: {len(self.runs)} blocks of 0.15 to 1.5 m³", fontsize=15)
        self._draw_map(figure, figure.add_subplot(grid[:, 0]))
        self._draw_section(figure.add_subplot(grid[0, 1]))
        self._draw_exceedance(figure.add_subplot(grid[1, 1]))
        self._draw_fence(figure, figure.add_subplot(grid[2, 1]))
        save_figure(figure, path)

    def _draw_map(self, figure: Any, axes: Any) -> None:
        from matplotlib.colors import LogNorm

        vertices, triangles = terrain()
        above = vertices[triangles][:, :, 2].max(axis=1) > 0.0
        axes.tripcolor(
            vertices[:, 0], vertices[:, 1], triangles[above], facecolors=_shade(vertices, triangles[above]),
            cmap="Greys_r", vmin=0.0, vmax=1.0, zorder=0,
        )  # fmt: skip
        contours = axes.tricontour(
            vertices[:, 0], vertices[:, 1], triangles, np.maximum(vertices[:, 2], 0.0),
            levels=np.arange(5, 46, 5), colors="0.35", linewidths=0.8, zorder=2,
        )  # fmt: skip
        axes.clabel(contours, fmt="%g m", fontsize=9)
        paths = self.runs["path"][self.runs.good][: max(150, len(self.runs) // 6)]
        for path in paths:
            axes.plot(path[:, 0], path[:, 1], color="tab:blue", alpha=0.13, linewidth=0.8, zorder=3)
        x, y = np.arange(-8.0, 72.0, 1.0), np.arange(-34.0, 35.0, 1.0)
        count, *_ = np.histogram2d(self.ends[:, 0], self.ends[:, 1], bins=(x, y))
        shown = np.ma.masked_equal(count.T, 0.0)
        mesh = axes.pcolormesh(x, y, shown, cmap="YlOrRd", norm=LogNorm(0.8, count.max()), zorder=4)
        figure.colorbar(
            mesh,
            ax=axes,
            label="blocks that come to lie, a square metre",
            orientation="horizontal",
            shrink=0.6,
        )
        axes.axvline(FENCE, color="tab:green", linewidth=2.0, zorder=5)
        axes.axvspan(DAM[0][0], DAM[3][0], color="0.55", alpha=0.6, zorder=1)
        axes.axvline(DAM[1][0] + 0.5, color="0.25", linewidth=1.2, zorder=5)
        axes.text(FENCE + 0.4, 31.0, "fence", color="tab:green", fontsize=12, rotation=90, va="top", zorder=6)
        axes.text(51.0, 31.0, "ditch", fontsize=12, ha="center", va="top", zorder=6)
        axes.text(DAM[1][0] + 0.9, 31.0, "dam", fontsize=12, rotation=90, va="top", zorder=6)
        axes.plot([START[0]] * 2, [-5.0, 5.0], color="black", linewidth=3.0, zorder=6)
        axes.text(START[0] - 0.6, 0.0, "start", fontsize=12, rotation=90, ha="right", va="center", zorder=6)
        axes.set_aspect("equal")
        axes.set(xlim=(-8, 71), ylim=(-33, 33), xlabel="x [m]", ylabel="y [m]")
        axes.set_title("where blocks come to lie, and paths of some", fontsize=13)

    def _draw_section(self, axes: Any) -> None:
        x = np.array([corner[0] for corner in PROFILE])
        z = np.maximum(0.0, [corner[1] for corner in PROFILE])
        axes.fill_between([*x, 71.0], [*z, 0.0], -4.0, color="0.8", zorder=0)
        axes.fill(*zip(*DAM, strict=True), color="0.6", zorder=1)
        for path in self.runs["path"][self.runs.good][:60]:
            axes.plot(path[:, 0], path[:, 2], color="tab:blue", alpha=0.25, linewidth=0.8)
        axes.axvline(FENCE, color="tab:green", linewidth=1.5)
        axes.set(xlim=(-8, 71), ylim=(-3, 46), xlabel="x [m]", ylabel="z [m]")
        axes.set_title("section along the middle, 60 paths", fontsize=13)
        axes.grid(color="0.92")

    def _draw_exceedance(self, axes: Any) -> None:
        energy = self.runs.statistics("energy")
        value = np.sort(energy.values) * 1e-3
        share = 1.0 - np.arange(len(value)) / len(value)
        axes.step(value, share, where="post", color="tab:red", linewidth=1.8)
        for q in (0.5, 0.95, 0.99):
            found = energy.quantile(q)
            low, high = max(found.low, 1e-9) * 1e-3, found.high * 1e-3
            axes.plot([low, high], [1.0 - q] * 2, color="0.2", linewidth=2.5, solid_capstyle="butt")
            axes.annotate(
                f"{q:.0%}: {found.value * 1e-3:.0f} kJ", (high, 1.0 - q), xytext=(5, 3), textcoords="offset points",
                fontsize=11,
            )  # fmt: skip
        axes.set_yscale("log")
        axes.set(
            xlabel="kinetic energy at the fence [kJ]", ylabel="share of passing blocks above", xlim=(0, None),
            ylim=(0.5 / len(value), 1.3),
        )  # fmt: skip
        axes.set_title("energy at the fence; bars: 95 %", fontsize=13)
        axes.grid(color="0.92")

    def _draw_fence(self, figure: Any, axes: Any) -> None:
        across, height, energy = (self.runs[name] for name in ("across", "height", "energy"))
        order = np.argsort(np.nan_to_num(energy))
        points = axes.scatter(
            across[order], height[order], c=energy[order] * 1e-3, s=14, cmap="plasma_r", linewidths=0.0
        )
        figure.colorbar(points, ax=axes, label="energy [kJ]")
        high = self.runs.statistics("height").quantile(0.95)
        axes.axhline(high.value, color="0.3", linewidth=1.2, linestyle="--")
        axes.text(
            0.02, high.value, f"95 %: {high.value:.1f} m", fontsize=11, va="bottom",
            transform=axes.get_yaxis_transform(),
        )  # fmt: skip
        axes.set(xlabel="along the fence, y [m]", ylabel="height of its centre [m]", ylim=(0, None))
        axes.set_title("where and how high blocks pass", fontsize=13)
        axes.grid(color="0.92")


def _shade(vertices: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """Brightness (m,) of triangles in light from the north-west."""
    a, b, c = (vertices[triangles[:, k]] for k in range(3))
    normal = np.cross(b - a, c - a)
    normal /= np.linalg.norm(normal, axis=1)[:, None]
    normal *= np.sign(normal[:, 2:])
    return 0.55 + 0.4 * normal @ np.array([0.35, 0.55, 0.76])
