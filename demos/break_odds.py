"""How sure is a break? A rack with errors of a millimetre, a thousand times; and a row of balls, where chance grows
by a known factor from ball to ball.

A ball that moves at a small angle θ to the row and y beside it comes to the next one, y' beside it, after a free
path L. The line of centres, along which the struck ball leaves, then has the angle θ' = (y' - y - L θ) / 2R: an
error grows by L / 2R with each ball, as between the scatterers of a dispersing billiard, whose Lyapunov exponent is
this factor's logarithm for each collision (Sinai; here once a ball, since equal elastic balls pass all their motion
on).
"""

import math
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..bodies import Body, Material, Scene, Sphere
from ..impact_laws import SequentialReflection
from ..simulator import Simulator, Trajectory, ensemble, perturbed
from ..viewer.figures import new_figure, save_figure
from .demo import Check, Table
from .rack_break import CUE, LENGTH, RADIUS, WIDTH, rack_scene

if TYPE_CHECKING:
    from pathlib import Path

    from ..simulator import Ensemble

ERROR = 1e-3  # m, standard deviation of a ball's place in the rack, along both sides of the table
DURATION = 0.8  # s, after the cue ball leaves the head spot; the break is at 0.13 s
ROW = 7  # balls after the cue ball
FREE_PATH = 4.0 * RADIUS  # m, so errors double
ROW_SPEED = 2.0  # m/s
TINY, SMALL = 1e-9, 1e-3  # m, errors of places across the row
SEED = 7
EXPONENT = math.log(FREE_PATH / (2.0 * RADIUS))
_FAR = 1.5  # rad, beyond which a struck ball counts as missed


def break_run(scene: Scene, rng: np.random.Generator) -> Trajectory:
    """One break."""
    return Simulator(scene, SequentialReflection()).run(DURATION)


def row_scene() -> Scene:
    """Equal balls in a row along x, the first of which moves."""
    material = Material(friction=0.0, restitution=1.0)
    scene = Scene(gravity=(0.0, 0.0, 0.0))
    for k in range(ROW + 1):
        ball = Body(
            Sphere(RADIUS),
            mass=0.16,
            position=(k * (FREE_PATH + 2.0 * RADIUS), 0.0, 0.0),
            velocity=(ROW_SPEED if k == 0 else 0.0, 0.0, 0.0),
            material=material,
            name=f"ball-{k}",
        )
        scene.add(ball)
    return scene


def row_run(scene: Scene, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Angles (ROW,) [rad] at which the balls of a row leave when they are struck, NaN for those that are missed."""
    run = Simulator(scene, SequentialReflection()).run(1.2 * ROW * (FREE_PATH + 2.0 * RADIUS) / ROW_SPEED)
    angles = np.full(ROW, np.nan)
    for event in run.events:
        for first, second in event.contacts.bodies.tolist():
            struck = max(first, second)
            if struck and np.isnan(angles[struck - 1]):
                x, y, _ = event.after.velocity[struck]
                angles[struck - 1] = math.atan2(y, x)
    places = np.array([body.position[1] for body in scene.bodies])
    return {"angle": np.where(np.abs(angles) < _FAR, angles, np.nan), "place": places}


def growth() -> np.ndarray:
    """(ROW, ROW + 1): by how much each place [m] across the row changes each angle [rad], for small errors."""
    angles = np.zeros((ROW + 1, ROW + 1))
    for k in range(1, ROW + 1):
        angles[k] = -FREE_PATH * angles[k - 1]
        angles[k, k] += 1.0
        angles[k, k - 1] -= 1.0
        angles[k] /= 2.0 * RADIUS
    return angles[1:]


class BreakOdds:
    """A thousand breaks with errors of a millimetre, and rows of balls whose errors double from ball to ball.

    In a run without friction, drag in proportion to speed would only stretch time, so that the places after 0.8 s
    are also those where balls end on a cloth that slows them at a rate of 1.25 a second.
    """

    name: ClassVar[str] = "break-odds"
    ending: ClassVar[str] = ".png"

    def __init__(self, breaks: int = 1000, rows: int = 1000, workers: int | None = None):
        self.breaks_count, self.rows_count, self.workers = breaks, rows, workers

    @cached_property
    def breaks(self) -> "Ensemble":
        """Every ball of the rack with an error of its own."""
        errors = {f"ball-{k}": (ERROR, ERROR, 0.0) for k in range(1, 16)}
        members = perturbed(rack_scene(), members=self.breaks_count, position=errors, part_overlaps=True)
        return ensemble(break_run, members, seed=SEED, workers=self.workers)

    @cached_property
    def rows(self) -> "dict[float, Ensemble]":
        """Rows with errors of these sizes [m]."""
        found = {}
        for error in (TINY, SMALL):
            members = perturbed(row_scene(), members=self.rows_count, position=(0.0, error, 0.0))
            found[error] = ensemble(row_run, members, seed=SEED, workers=self.workers)
        return found

    @property
    def ends(self) -> np.ndarray:
        """(n, 15, 2) [m] where the balls of the rack end."""
        return self.breaks["position"][self.breaks.good][:, CUE + 1 :, :2]

    @property
    def spreads(self) -> np.ndarray:
        """(15,) [m] by ball of the rack: how far it ends from its mean place, root mean square."""
        ends = self.ends
        return np.sqrt(((ends - ends.mean(axis=0)) ** 2).sum(axis=2).mean(axis=0))

    def angle_spreads(self, error: float) -> list[Any]:
        """Of the balls of rows with errors of that size: spread of their angles with its interval."""
        return [self.rows[error].statistics("angle", k).spread(confidence=0.99) for k in range(ROW)]

    def tables(self) -> list[Table]:
        """Rows beside the theory, and where the balls of the rack end."""
        theory = np.linalg.norm(growth(), axis=1)
        tiny, small = self.angle_spreads(TINY), self.angle_spreads(SMALL)
        rows = []
        for k in range(ROW):
            exponent = math.log(tiny[k].value / tiny[k - 1].value) if k else math.nan
            missed = self.rows[SMALL].statistics("angle", k).missing
            rows.append(
                (
                    str(k + 1),
                    f"{theory[k] * TINY:.4g}",
                    f"{tiny[k].value:.4g} ({tiny[k].low:.4g} to {tiny[k].high:.4g})",
                    f"{exponent:.3f}" if k else "",
                    f"{small[k].value:.4g}",
                    f"{missed / len(self.rows[SMALL]):.1%}",
                )
            )
        head = self.head_odds()
        balls = [
            (
                f"ball-{k + 1}",
                f"{self.spreads[k]:.3f}",
                f"{head[k][0]:.1%} ({head[k][1]:.1%} to {head[k][2]:.1%})",
            )
            for k in range(15)
        ]
        heading = f"exponent, theory {EXPONENT:.3f}"
        return [
            Table(
                (
                    "ball of a row",
                    "theory, 1 nm [rad]",
                    "spread, 1 nm [rad]",
                    heading,
                    "spread, 1 mm [rad]",
                    "missed",
                ),
                tuple(rows),
            ),
            Table(("ball of the rack", "spread of its end [m]", "ends in the head half"), tuple(balls)),
        ]

    def head_odds(self) -> list[tuple[float, float, float]]:
        """Of each ball of the rack: how often it ends in the half from which the cue ball came, with an interval of
        95 %."""
        from scipy.stats import binomtest

        found = []
        for ball in (self.ends[:, :, 0] < 0.0).T:
            result = binomtest(int(ball.sum()), len(ball))
            interval = result.proportion_ci(method="wilson")
            found.append((float(result.statistic), float(interval.low), float(interval.high)))
        return found

    def check(self) -> list[Check]:
        """Rows against linear theory, member by member and as spread; breaks: ends on the table, energy kept."""
        rows, matrix = self.rows[TINY], growth()
        expected = rows["place"] @ matrix.T
        angles = rows["angle"]
        off = np.abs(angles - expected).max(axis=0) / np.abs(expected).max(axis=0)
        outside = [
            not each.low <= theory <= each.high
            for each, theory in zip(
                self.angle_spreads(TINY), TINY * np.linalg.norm(matrix, axis=1), strict=True
            )
        ]
        spreads = np.array([each.value for each in self.angle_spreads(TINY)])
        exponent = float(np.log(spreads[-1] / spreads[-3]) / 2.0)
        breaks = self.breaks
        limits = 0.5 * np.array([LENGTH, WIDTH]) - RADIUS
        beyond = float((np.abs(self.ends) - limits).max())
        return [
            Check("members that did not end well", float(len(breaks.failures) + len(rows.failures)), 0.0),
            Check("angles off the linear theory, relative", float(off.max()), 1e-4),
            Check("spreads outside 99 % of theory, of 7", float(sum(outside)), 1.0),
            Check("exponent off ln(L / 2R)", abs(exponent - EXPONENT), 0.02),
            Check(
                "energy lost in a break, relative", float(np.abs(breaks["energy_lost"]).max() / 5.44), 1e-12
            ),
            Check("balls beyond the cushions [m]", beyond, 1e-12),
            Check(
                "least spread of a ball of the rack, below 5 cm [m]", 0.05 - float(self.spreads.min()), 0.0
            ),
        ]

    def write(self, path: "Path") -> None:
        """Where balls end, how uncertain each is, how chance grows along a row, and odds."""
        figure = new_figure(14.0, 9.6)
        grid = figure.add_gridspec(2, 2, width_ratios=(1.5, 1.0))
        figure.suptitle(f"{len(self.breaks)} breaks with errors of 1 mm in the rack", fontsize=15)
        self._draw_table(figure, figure.add_subplot(grid[0, 0]))
        self._draw_rack(figure, figure.add_subplot(grid[0, 1]))
        self._draw_row(figure.add_subplot(grid[1, 0]))
        self._draw_odds(figure.add_subplot(grid[1, 1]))
        save_figure(figure, path)

    def _draw_table(self, figure: Any, axes: Any) -> None:
        from matplotlib.patches import Circle, Rectangle

        ends = self.ends.reshape(-1, 2)
        cells = (56, 28)
        density, x, y = np.histogram2d(
            ends[:, 0], ends[:, 1], bins=cells,
            range=[[-0.5 * LENGTH, 0.5 * LENGTH], [-0.5 * WIDTH, 0.5 * WIDTH]],
        )  # fmt: skip
        shown = density.T / len(self.ends) / (LENGTH * WIDTH / math.prod(cells))
        mesh = axes.pcolormesh(x, y, shown, cmap="viridis", rasterized=True)
        figure.colorbar(mesh, ax=axes, label="balls a square metre", shrink=0.85)
        for body in rack_scene().bodies[CUE:]:
            place = body.position[:2]
            axes.add_patch(Circle(place, RADIUS, fill=False, edgecolor="white", linewidth=1.0))
        axes.add_patch(
            Rectangle(
                (-0.5 * LENGTH, -0.5 * WIDTH), LENGTH, WIDTH, fill=False, edgecolor="0.2", linewidth=2.5
            )
        )
        axes.set_aspect("equal")
        axes.margins(0.02)
        axes.set(xlabel="x [m]", ylabel="y [m]")
        axes.set_title(f"where fifteen balls are after {DURATION:g} s; circles: the start", fontsize=13)

    def _draw_rack(self, figure: Any, axes: Any) -> None:
        from matplotlib.collections import PatchCollection
        from matplotlib.patches import Circle

        bodies = rack_scene().bodies[CUE + 1 :]
        circles = PatchCollection(
            [Circle(body.position[:2], RADIUS) for body in bodies], cmap="magma_r", edgecolor="0.2"
        )
        circles.set_array(self.spreads)
        axes.add_collection(circles)
        low, high = self.spreads.min(), self.spreads.max()
        for number, (body, spread) in enumerate(zip(bodies, self.spreads, strict=True), start=1):
            dark = spread - low > 0.55 * (high - low)
            axes.text(
                *body.position[:2], f"{number}\n{spread:.2f}", ha="center", va="center", fontsize=9,
                color="white" if dark else "black",
            )  # fmt: skip
        figure.colorbar(circles, ax=axes, label="spread of a ball's end [m]", shrink=0.85)
        axes.set_aspect("equal")
        axes.autoscale_view()
        axes.margins(0.06)
        axes.set(xlabel="x [m]", ylabel="y [m]")
        axes.set_title("how uncertain each ball's end is", fontsize=13)

    def _draw_row(self, axes: Any) -> None:
        balls = np.arange(1, ROW + 1)
        theory = np.linalg.norm(growth(), axis=1)
        for error, words, colour in ((SMALL, "1 mm", "tab:red"), (TINY, "1 nm", "tab:blue")):
            spreads = self.angle_spreads(error)
            value = np.array([each.value for each in spreads])
            reach = np.array([[s.value - s.low, s.high - s.value] for s in spreads]).T
            axes.errorbar(
                balls,
                value,
                yerr=reach,
                fmt="o",
                color=colour,
                capsize=4,
                label=f"rows with errors of {words}",
            )
            axes.plot(balls, theory * error, color=colour, linewidth=1.2, alpha=0.7)
        axes.plot([], [], color="0.4", linewidth=1.2, label="theory of small errors")
        last = theory[-1] * TINY
        axes.plot(
            balls[2:], last * np.exp(EXPONENT * (balls[2:] - ROW)) * 0.2, "k--", linewidth=1.3,
            label=f"exponent ln(L/2R) = ln 2 = {EXPONENT:.3f} a ball",
        )  # fmt: skip
        axes.axhline(0.5 * math.pi, color="0.6", linewidth=0.9, linestyle=":")
        axes.text(1.0, 1.05, "a quarter turn", fontsize=10, color="0.4", va="top")
        axes.set_yscale("log")
        axes.set(xlabel="ball of the row", ylabel="spread of its direction [rad]", ylim=(5e-9, 4.0))
        axes.set_title("chance grows from ball to ball: rows, free path L = 4 R", fontsize=13)
        axes.legend(fontsize=11, loc="center left", bbox_to_anchor=(0.02, 0.58))
        axes.grid(color="0.92")

    def _draw_odds(self, axes: Any) -> None:
        odds = np.array(self.head_odds())
        balls = np.arange(1, len(odds) + 1)
        reach = np.abs(odds[:, 1:] - odds[:, :1]).T
        axes.barh(balls, odds[:, 0], xerr=reach, color="tab:green", alpha=0.75, capsize=3)
        axes.invert_yaxis()
        axes.set(
            xlim=(0, 1), xlabel="share of breaks, interval of 95 %", ylabel="ball of the rack", yticks=balls
        )
        axes.set_title("odds that it is then in the head half", fontsize=13)
        axes.grid(axis="x", color="0.92")
