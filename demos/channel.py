"""Spheres pushed through a channel around an obstacle: section 4.3 of Preclik, Eibl & Rüde, by time steps.

The paper gives spheres a *diameter* of 0.47 mm. Its other numbers ask for a *radius* of 0.47 mm: only then do
246,992 spheres fill 57.2 % of what the obstacle leaves of the channel, is 39.06 µm 8.31 % of the radius, and do
65 x 20 spheres on a grid of 1 mm, every 0.94 ms, make 1.4 million a second. So that is what is built here.

Both friction rules of the paper are one for spheres (`touches_kernels`), so there is one run; what the paper's two
differ by is then no matter of the rules.
"""

import math
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import KDTree

from ..bodies import Body, Box, Cylinder, HalfSpace, Material, Scene
from ..impact_laws import MaximumDissipation
from ..simulator import Inflow, Outflow, TimeSteps, WallMotion
from ..viewer.figures import new_figure, save_figure
from .demo import Check, Table

LENGTHS = np.array([0.15, 0.065, 0.02])  # m
RADIUS, DENSITY, FRICTION = 0.47e-3, 2650.0, 0.4  # m, kg/m³
SPACING = 1e-3  # m, of the grid
SPEED, NOISE = 1.0, 0.5  # m/s, along x and at most along y and z
STEP = 1e-5  # s
LAYER = 2.0 * RADIUS / SPEED  # s, from one layer of spheres to the next
OBSTACLE = np.array([0.04, 0.04])  # m: axis of the cylinder along z
OBSTACLE_RADIUS = 0.01  # m
SHARE, DURATION = 0.25, 0.05  # of the paper's lengths, and s, of the demo
LAW = MaximumDissipation(tolerance=1e-2, max_sweeps=100)
EXIT = (0.12, 0.14)  # m, along x, where the paper takes figure 12
FARTHEST = 5.0  # diameters in figure 12
BINS = 100
PAPER = {  # table 2: Coulomb, maximum dissipation
    "spheres": ("246,992", "247,005"),
    "solid volume fraction": ("57.2 %", "57.2 %"),
    "contacts": ("320,277", "320,197"),
    "contacts a sphere": ("2.593", "2.593"),
    "deepest overlap, of the radius": ("8.31 %", "9.89 %"),
}
LEAST = 1e-6  # drawn of what is drawn by its logarithm
DEEPEST = 0.05  # of a radius; the paper has 0.083 and 0.099
LEAST_FRACTION, MOST_FRACTION = 0.3, 0.66  # of the volume, once it flows


def channel_steps(share: float = SHARE, seed: int = 0, fill: float | None = None) -> TimeSteps:
    """The channel, its lengths times `share`, at the start: full of spheres on a grid that move with the piston.

    With `fill` they stand closer, on a face-centred lattice that fills so much of the volume: the flow is about
    that dense at once, while the paper's grid (0.43) has to be pushed together for 0.2 s first.
    """
    length, width, height = (share * LENGTHS).tolist()
    material = Material(friction=FRICTION)
    scene = Scene()
    planes = {
        "floor": ((0, 0, 1), 0.0), "lid": ((0, 0, -1), -height), "right side": ((0, 1, 0), 0.0),
        "left side": ((0, -1, 0), -width), "piston": ((1, 0, 0), 0.0),
    }  # fmt: skip
    for name, (normal, offset) in planes.items():
        scene.add(Body(HalfSpace(np.array(normal), offset), fixed=True, material=material, name=name))
    x, y = (share * OBSTACLE).tolist()
    radius = share * OBSTACLE_RADIUS
    scene.add(
        Body(
            Cylinder(radius, height),
            position=(x, y, 0.5 * height),
            fixed=True,
            material=material,
            name="cylinder",
        )
    )
    block = Box((radius, 2.0 * radius, height))
    place = (x + 0.5 * radius, y, 0.5 * height)
    scene.add(Body(block, position=place, fixed=True, material=material, name="block"))
    across = [_grid(width), _grid(height)]
    begin = 3.0 * RADIUS + 1e-6
    if fill is None:
        along = np.arange(begin, length, SPACING)
        places = np.stack(np.meshgrid(along, *across, indexing="ij"), axis=-1).reshape(-1, 3)
    else:
        places = _lattice(
            np.array([begin, RADIUS, RADIUS]), np.array([length, width - RADIUS, height - RADIUS]), fill
        )
    places = places[beside_obstacle(places, share) > RADIUS]
    velocity = np.random.default_rng(seed + 1).uniform(-NOISE, NOISE, (len(places), 3))
    velocity[:, 0] = SPEED
    scene.add_spheres(
        RADIUS, density=DENSITY, position=places, velocity=velocity, material=material, name="fill"
    )
    layer = np.stack(np.meshgrid([RADIUS], *across, indexing="ij"), axis=-1).reshape(-1, 3)
    inlet = Inflow(
        RADIUS, density=DENSITY, position=layer, velocity=(SPEED, 0, 0), spread=(0, NOISE, NOISE), every=LAYER,
        material=material, name="inlet",
    )  # fmt: skip
    return TimeSteps(
        scene, LAW, step=STEP, seed=seed, inflows=[inlet], outflows=[Outflow((-1, 0, 0), -length)],
        motions={"piston": WallMotion((SPEED, 0, 0), period=LAYER)}, largest_overlap=0.5,
    )  # fmt: skip


def _grid(width: float) -> NDArray[np.float64]:
    """Places along a width, in the middle of it, as many as have room."""
    count = max(1, math.floor((width - 2.0 * RADIUS) / SPACING + 1e-9) + 1)
    return np.array([0.5 * width + SPACING * (k - 0.5 * (count - 1)) for k in range(count)])


def _lattice(low: NDArray[np.float64], high: NDArray[np.float64], fill: float) -> NDArray[np.float64]:
    """Places (n, 3) of a face-centred cubic lattice of spheres that fill so much, within low..high."""
    edge = (4.0 * 4.0 / 3.0 * math.pi * RADIUS**3 / fill) ** (1.0 / 3.0)
    cells = np.stack(
        np.meshgrid(*(np.arange(n) for n in np.ceil((high - low) / edge)), indexing="ij"), axis=-1
    )
    corner = np.array([(0, 0, 0), (0.5, 0.5, 0), (0.5, 0, 0.5), (0, 0.5, 0.5)])
    places = low + edge * (cells.reshape(-1, 1, 3) + corner).reshape(-1, 3)
    return np.array(places[(places <= high).all(axis=1)], dtype=np.float64)


def beside_obstacle(places: NDArray[np.float64], share: float) -> NDArray[np.float64]:
    """Distance (n,) [m] of places (n, 3) from the obstacle: a cylinder whose right half is a block."""
    way = places[:, :2] - share * OBSTACLE
    radius = share * OBSTACLE_RADIUS
    round_half = np.hypot(*way.T) - radius
    over = np.abs(way - [0.5 * radius, 0.0]) - [0.5 * radius, radius]
    block = np.linalg.norm(np.maximum(over, 0.0), axis=1) + np.minimum(over.max(axis=1), 0.0)
    return np.minimum(round_half, block)


def free_volume(share: float) -> float:
    """Volume [m³] of the channel without the obstacle."""
    obstacle = (0.5 * math.pi + 2.0) * OBSTACLE_RADIUS**2 * LENGTHS[2]
    return float(share**3 * (LENGTHS.prod() - obstacle))


def radial_distribution(
    places: NDArray[np.float64], low: NDArray[np.float64], high: NDArray[np.float64], farthest: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Distances [m] and g(r) of places (n, 3) in a box, relative to places spread evenly in that box.

    The paper divides by what an unbounded space would hold, which falls with r near walls. Here the share of pairs
    that a box holds at a distance r, no longer than its edges a, b, c, is divided out:
    1 - r/2 (1/a + 1/b + 1/c) + 2 r²/(3 pi) (1/ab + 1/bc + 1/ca) - r³/(4 pi abc).
    """
    inside = places[((places >= low) & (places <= high)).all(axis=1)]
    a, b, c = high - low
    edges = np.linspace(0.0, min(farthest, a, b, c), BINS + 1)
    pairs = KDTree(inside).query_pairs(edges[-1], output_type="ndarray")
    count = np.histogram(np.linalg.norm(inside[pairs[:, 0]] - inside[pairs[:, 1]], axis=1), edges)[0]
    middle = 0.5 * (edges[1:] + edges[:-1])
    shell = 4.0 / 3.0 * math.pi * np.diff(edges**3)
    held = 1.0 - 0.5 * middle * (1 / a + 1 / b + 1 / c)
    held += 2.0 * middle**2 / (3.0 * math.pi) * (1 / (a * b) + 1 / (b * c) + 1 / (c * a))
    held -= middle**3 / (4.0 * math.pi * a * b * c)
    expected = 0.5 * len(inside) * (len(inside) - 1) / (a * b * c) * shell * held
    return middle, count / np.maximum(expected, 1e-300)


def profile(places: NDArray[np.float64], values: NDArray[np.float64], share: float) -> NDArray[np.float64]:
    """Mean of values (n,) over the spheres in each of the paper's cells, (150, 65) at full size; else NaN."""
    length, width, _ = share * LENGTHS
    shape = (max(1, round(share * 150)), max(1, round(share * 65)))
    box = [(0.0, length), (0.0, width)]
    total = np.histogram2d(places[:, 0], places[:, 1], shape, box, weights=values)[0]
    count = np.histogram2d(places[:, 0], places[:, 1], shape, box)[0]
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


class Channel:
    """Spheres are pushed through a channel, around an obstacle, and leave at its open end."""

    name: ClassVar[str] = "channel"
    ending: ClassVar[str] = ".png"

    def __init__(self) -> None:
        self.share = SHARE
        self._run: TimeSteps | None = None

    def begin(
        self, *, share: float | None, fill: float | None, duration: float | None, seed: int,
        checkpoint: Path | None, resume: bool, progress: bool,
    ) -> None:  # fmt: skip
        """Make the run, or go on with the one in the checkpoint, up to a simulated time [s]."""
        self.share = SHARE if share is None else share
        self._run = channel_steps(self.share, seed, fill)
        if resume and checkpoint is not None:
            self._run.restore(checkpoint)
        until = DURATION if duration is None else duration
        self._run.run(until, progress=progress, checkpoint=checkpoint)

    @property
    def flow(self) -> TimeSteps:
        """The run, made where there is none yet."""
        if self._run is None:
            self.begin(
                share=None, fill=None, duration=None, seed=0, checkpoint=None, resume=False, progress=False
            )
            assert self._run is not None
        return self._run

    @property
    def late(self) -> NDArray:
        """Rows of the log of the second half of the run."""
        rows = self.flow.log.rows
        return rows[len(rows) // 2 :]

    def volume_fraction(self) -> float:
        """Solid share of the free volume, mean over the second half."""
        solid = float(self.late["spheres"].mean()) * 4.0 / 3.0 * math.pi * RADIUS**3
        return solid / free_volume(self.share)

    def tables(self) -> list[Table]:
        """Table 2 of the paper beside this run, whose means are over its second half; and how it was solved."""
        rows = self.late
        closed = rows["sticking"] + rows["sliding"] + rows["separating"]
        deepest = float(self.flow.log.rows["overlap"].max())
        mine = {
            "spheres": f"{rows['spheres'].mean():,.0f}",
            "solid volume fraction": f"{100 * self.volume_fraction():.1f} %",
            "contacts": f"{closed.mean():,.0f}",
            "contacts a sphere": f"{2 * (closed / rows['spheres']).mean():.3f}",
            "deepest overlap, of the radius": f"{100 * deepest:.2g} %",
        }
        first = Table(
            ("table 2", "paper, Coulomb", "paper, dissipation", "here, either rule"),
            tuple((what, *PAPER[what], mine[what]) for what in PAPER),
        )
        above = float((rows["residual"] > LAW.tolerance).mean())
        second = Table(
            ("of a step, mean", "here"),
            (
                ("sticking", f"{rows['sticking'].mean():,.0f}"),
                ("sliding", f"{rows['sliding'].mean():,.0f}"),
                ("separating", f"{rows['separating'].mean():,.0f}"),
                ("sweeps", f"{rows['sweeps'].mean():.0f}"),
                (f"steps above the tolerance {LAW.tolerance:g}", f"{100 * above:.1f} %"),
                ("entered, left", f"{rows['entered'][-1]:,}, {rows['left'][-1]:,}"),
            ),
        )
        return [first, second]

    def check(self) -> list[Check]:
        """Overlap below the paper's, energy, counts, and a channel that is as full as it should be."""
        rows = self.flow.log.rows
        states = self.flow.states
        inside = beside_obstacle(states.position, self.share) - RADIUS
        (fill,) = self.flow.scene.spheres
        balance = len(fill) + rows["entered"][-1] - rows["left"][-1] - len(self.flow)
        return [
            Check("deepest overlap, in radii", float(rows["overlap"].max()), DEEPEST),
            Check("overlap with the obstacle, in radii", float(-inside.min()) / RADIUS, DEEPEST),
            Check("spheres unaccounted for", float(abs(balance)), 0.0),
            Check("volume fraction", self.volume_fraction(), MOST_FRACTION),
            Check("volume fraction, below 0.3 by", LEAST_FRACTION - self.volume_fraction(), 0.0),
        ]

    def write(self, path: Path) -> None:
        """Draw figures 9 to 12 of the paper and how the steps converged."""
        save_figure(self.figure(), path)

    def figure(self) -> Any:
        """Figures 9 to 12 and the convergence, as one matplotlib figure."""
        figure = new_figure(13.0, 11.5)
        grid = figure.subplot_mosaic([["9", "10"], ["11", "12"], ["steps", "steps"]])
        states = self.flow.states
        speed = np.linalg.norm(states.velocity, axis=1)
        self._draw_spheres(grid["9"], speed)
        for axes, values, title, unit in (
            (grid["10"], speed, "figure 10: speed", "m/s"),
            (
                grid["11"],
                np.linalg.norm(states.angular_velocity, axis=1),
                "figure 11: angular speed",
                "rad/s",
            ),
        ):
            self._draw_profile(axes, values, title, unit)
        self._draw_distribution(grid["12"])
        self._draw_steps(grid["steps"])
        return figure

    def _draw_spheres(self, axes: Any, speed: NDArray[np.float64]) -> None:
        places = self.flow.states.position
        order = np.argsort(places[:, 2])
        self._frame(axes, f"figure 9: {len(places):,} spheres from above, by speed")
        from matplotlib.collections import EllipseCollection

        size = 2e3 * RADIUS * np.ones(len(places))
        drawn = EllipseCollection(
            size, size, np.zeros(len(places)), units="xy", offsets=1e3 * places[order, :2], array=speed[order],
            offset_transform=axes.transData, cmap="viridis", linewidths=0.0,
        )  # fmt: skip
        axes.add_collection(drawn)
        axes.figure.colorbar(drawn, ax=axes, label="m/s", shrink=0.6)

    def _draw_profile(self, axes: Any, values: NDArray[np.float64], title: str, unit: str) -> None:
        length, width, _ = 1e3 * self.share * LENGTHS
        mean = profile(self.flow.states.position, values, self.share)
        drawn = axes.imshow(mean.T, origin="lower", extent=(0.0, length, 0.0, width), cmap="viridis")
        self._frame(axes, f"{title}, largest {np.nanmax(mean):.3g} {unit}")
        axes.figure.colorbar(drawn, ax=axes, label=unit, shrink=0.6)

    def _draw_distribution(self, axes: Any) -> None:
        wall = np.array([0.0, RADIUS, RADIUS])
        low = self.share * np.array([EXIT[0], 0.0, 0.0]) + wall
        high = self.share * np.array([EXIT[1], LENGTHS[1], LENGTHS[2]]) - wall
        distance, value = radial_distribution(self.flow.states.position, low, high, FARTHEST * 2.0 * RADIUS)
        axes.plot(0.5 * distance / RADIUS, value, color="black")
        axes.axhline(1.0, linestyle=":", color="tab:gray")
        axes.set(title="figure 12: near the exit", xlabel="distance in diameters", ylabel="g")

    def _draw_steps(self, axes: Any) -> None:
        rows = self.flow.log.rows
        time = 1e3 * rows["time"]
        axes.semilogy(
            time, np.maximum(rows["residual"], LEAST), ".", markersize=1, color="tab:red", label="residual"
        )
        axes.axhline(LAW.tolerance, linestyle=":", color="tab:gray", label="tolerance")
        axes.semilogy(
            time, np.maximum(rows["overlap"], LEAST), color="tab:blue", label="deepest overlap, in radii"
        )
        axes.semilogy(time, np.maximum(rows["sweeps"], 1), ".", markersize=1, color="black", label="sweeps")
        axes.set(title="every step", xlabel="time [ms]")
        axes.legend(loc="lower right", markerscale=8)

    def _frame(self, axes: Any, title: str) -> None:
        length, width, _ = 1e3 * self.share * LENGTHS
        x, y = 1e3 * self.share * OBSTACLE
        radius = 1e3 * self.share * OBSTACLE_RADIUS
        angle = np.linspace(0.5 * math.pi, 1.5 * math.pi, 40)
        outline = [(x + radius * math.cos(a), y + radius * math.sin(a)) for a in angle]
        axes.fill(
            *np.array([*outline, (x + radius, y - radius), (x + radius, y + radius)]).T, color="tab:gray"
        )
        axes.set(
            title=title, xlabel="x [mm]", ylabel="y [mm]", xlim=(0, length), ylim=(0, width), aspect="equal"
        )
