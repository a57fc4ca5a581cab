"""Six point masses on rods strike an inclined plane: one contact with three Coulomb solutions."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from ..impact_laws import ImpactProblem, MaximumDissipation, coulomb_solutions
from ..viewer.figures import new_figure, save_figure
from .demo import Check, Table

DISTANCES = np.array([10.0, 1.0, 1.0])  # m, of the masses on each axis from the origin
MASSES = np.array([0.03, 65.0, 50.0])  # kg, each of the two on an axis
NORMAL = np.array([0.25, 0.36, -0.9])  # of the plane, not yet a unit vector
VELOCITY = -np.array([0.06, 0.7, 0.23])  # m/s, of the mass that touches the plane, before the impact
FRICTION = 3.7

NAMES = ("Coulomb 1", "Coulomb 2", "Coulomb 3", "dissipative")
# Table 1 as printed, by rows of NAMES.
PRINTED_IMPULSES = (
    ("0.12", "-0.44", "-0.065"),
    ("0.29", "-0.89", "-0.62"),
    ("1.56", "-0.99", "-5.7"),
    ("1.6", "-1.1", "-5.8"),
)  # N s
PRINTED_VELOCITIES = (
    ("0", "0.40", "0.060"),
    ("0", "0.082", "0.057"),
    ("0", "0.0061", "0.035"),
    ("0", "-0.057", "0.034"),
)  # m/s
PRINTED_OBJECTIVES = ("-0.252", "-0.393", "-0.631", "-0.634")  # J
_QUANTITIES = (
    *(f"impulse {axis} [N s]" for axis in "nto"),
    *(f"velocity {axis} [m/s]" for axis in "nto"),
    "objective [J]",
)

OBJECTIVE, UNIT_OBJECTIVE = -0.634007, -0.748317  # J, dissipative, computed independently to these digits

_SAMPLES = 200_001  # of the conic, for the check
_LEVELS = np.concatenate([np.arange(-0.75, -0.01, 0.05), [0.25, 0.5, 1.0, 2.0, 3.0]])  # J, of contour lines
_CLOSE_LEVELS = np.arange(-0.77, -0.5, 0.005)  # J


@dataclass(frozen=True)
class Frame:
    """The problem in one contact frame, with its solutions in the order of NAMES."""

    title: str
    problem: ImpactProblem
    impulse: np.ndarray  # (solutions, 3) N s
    velocity: np.ndarray  # (solutions, 3) m/s, after the impact

    @classmethod
    def of(cls, title: str, unit_tangents: bool, friction: float = FRICTION) -> "Frame":
        """Solve it with t = n x e_x and o = n x t, made unit vectors or left as they come."""
        normal = NORMAL / np.linalg.norm(NORMAL)
        tangent = np.cross(normal, [1.0, 0.0, 0.0])
        if unit_tangents:
            tangent /= np.linalg.norm(tangent)
        axes = np.stack([normal, tangent, np.cross(normal, tangent)])
        moments = MASSES * DISTANCES**2
        inertia = 2.0 * (moments.sum() - moments)
        J = np.hstack([axes, np.cross([DISTANCES[0], 0.0, 0.0], axes)])
        M = np.diag(np.concatenate([np.full(3, 2.0 * MASSES.sum()), inertia]))
        motion = np.concatenate([VELOCITY, np.zeros(3)])
        problem = ImpactProblem.from_generalized(M, J, motion, friction=friction)
        dissipative = MaximumDissipation().resolve(problem)
        coulomb = coulomb_solutions(problem)
        return cls(
            title,
            problem,
            np.vstack([coulomb.impulse, dissipative.impulse]),
            np.vstack([coulomb.velocity, dissipative.velocity]),
        )

    def objective(self, impulse: np.ndarray) -> np.ndarray:
        """Change of kinetic energy [J] by impulses (..., 3)."""
        return np.sum(impulse * (0.5 * impulse @ self.problem.W + self.problem.u), axis=-1)

    def on_plane(self, tangential: np.ndarray) -> np.ndarray:
        """Impulses (..., 3) of these tangential parts (..., 2) that end the approach exactly."""
        W, u = self.problem.W, self.problem.u
        normal = -(u[0] + tangential @ W[0, 1:]) / W[0, 0]
        return np.concatenate([normal[..., None], tangential], axis=-1)

    def on_conic(self, angles: np.ndarray) -> np.ndarray:
        """Impulses (n, 3) at those angles of the tangential part, on the cone and on the plane."""
        W, u, mu = self.problem.W, self.problem.u, float(self.problem.friction[0])
        directions = np.stack([np.cos(angles), np.sin(angles)], axis=-1)
        lengths = -mu * u[0] / (W[0, 0] + mu * directions @ W[0, 1:])
        return self.on_plane(lengths[:, None] * directions)


class SixMassBody:
    """Table 1 and figure 7, in the contact frame that the paper prints and in an orthonormal one."""

    name: ClassVar[str] = "six-mass-body"
    ending: ClassVar[str] = ".png"

    @cached_property
    def frames(self) -> tuple[Frame, Frame]:
        """The printed and the orthonormal one."""
        printed = "frame as printed: $t = n \\times e_x$, $o = n \\times t$"
        return Frame.of(printed, unit_tangents=False), Frame.of("orthonormal frame", unit_tangents=True)

    def tables(self) -> list[Table]:
        """Table 1: the paper's digits follow where the tangents are not made unit vectors."""
        rows = []
        for k, name in enumerate(NAMES):
            printed = (*PRINTED_IMPULSES[k], *PRINTED_VELOCITIES[k], PRINTED_OBJECTIVES[k])
            ours, unit = ([*f.impulse[k], *f.velocity[k], f.objective(f.impulse[k])] for f in self.frames)
            for row in zip(_QUANTITIES, printed, ours, unit, strict=True):
                rows.append((name, *row[:2], _word(row[2]), _word(row[3])))
        return [Table(("solution", "quantity", "paper", "carom", "carom, orthonormal frame"), tuple(rows))]

    def check(self) -> list[Check]:
        """The printed digits, the global minimum, and what makes a solution Coulomb's."""
        printed = self.frames[0]
        digits = 0.0
        for words, values in (
            (PRINTED_IMPULSES, printed.impulse),
            (PRINTED_VELOCITIES, printed.velocity),
            (
                [(word,) for word in PRINTED_OBJECTIVES],
                printed.objective(printed.impulse)[:, None],
            ),
        ):
            for row, value in zip(words, values, strict=True):
                digits = max(digits, *(_digits_off(w, float(v)) for w, v in zip(row, value, strict=True)))
        above, cone, approach, turn = 0.0, 0.0, 0.0, 0.0
        for frame in self.frames:
            lowest = frame.objective(frame.on_conic(np.linspace(-np.pi, np.pi, _SAMPLES))).min()
            above = max(above, float(frame.objective(frame.impulse[3]) - lowest))
            push = np.hypot(*frame.impulse[:, 1:].T)
            cone = max(cone, float(np.abs(push / (FRICTION * frame.impulse[:, 0]) - 1.0).max()))
            approach = max(approach, float(np.abs(frame.velocity[:, 0]).max()))
            slip = frame.velocity[:3, 1:]
            along = np.sum(slip * frame.impulse[:3, 1:], axis=1) / (np.hypot(*slip.T) * push[:3])
            turn = max(turn, float(np.abs(along + 1.0).max()))
        # Tangents of length s are unit tangents with friction s times as large.
        length = float(np.linalg.norm(np.cross(NORMAL, [1.0, 0.0, 0.0])) / np.linalg.norm(NORMAL))
        weaker = Frame.of("", unit_tangents=True, friction=FRICTION * length)
        objectives = [float(frame.objective(frame.impulse[3])) for frame in self.frames]
        return [
            Check(
                "Coulomb solutions beyond or short of three",
                float(max(abs(len(f.impulse) - 4) for f in self.frames)),
                0.0,
            ),
            Check("table 1 off, in last printed digits", digits, 0.5),
            Check("dissipative objective, error [J]", abs(objectives[0] - OBJECTIVE), 5e-7),
            Check("the same, orthonormal frame [J]", abs(objectives[1] - UNIT_OBJECTIVE), 5e-7),
            Check("objective above the least on the conic [J]", above, 1e-14),
            Check("impulses off the cone, relative", cone, 1e-13),
            Check("normal velocity left [m/s]", approach, 1e-14),
            Check("1 + cosine of Coulomb friction to slip", turn, 1e-13),
            Check(
                "printed frame as weaker friction, error [N s]",
                float(np.abs(weaker.impulse * [1.0, 1.0 / length, 1.0 / length] - printed.impulse).max()),
                1e-12,
            ),
        ]

    def write(self, path: Path) -> None:
        """Figure 7 in both frames, once more close to the best solution, and the objective along the conic."""
        figure = new_figure(19.0, 15.0)
        figure.suptitle(
            "Preclik, Eibl & Rüde, figure 7: tangential impulses in the plane that ends the approach.  Contour "
            "lines: objective [J], black zero.  Arrows: slip after the impact, which Coulomb friction opposes.",
            fontsize=14,
        )
        panels = figure.subplots(2, 3)
        for row, frame in zip(panels, self.frames, strict=True):
            best = frame.impulse[3, 1:]
            _draw_plane(row[0], frame, np.array([[-3.4, 1.1], [-15.0, 1.2]]), _LEVELS, 0.45)
            row[0].set_title(frame.title, fontsize=13)
            _draw_plane(row[1], frame, best[:, None] + [[-0.35, 0.35], [-0.7, 0.7]], _CLOSE_LEVELS, 0.16)
            row[1].set_title("close to the maximally dissipative solution", fontsize=13)
            _draw_along_conic(row[2], frame)
        figure.legend(
            *panels[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=5, fontsize=12
        )
        save_figure(figure, path)


def _word(value: float) -> str:
    return f"{0.0 if abs(value) < 1e-14 else value:.5f}"


def _digits_off(printed: str, value: float) -> float:
    """How far a value is from a printed one, in units of the last printed digit."""
    decimals = len(printed.partition(".")[2])
    return abs(value - float(printed)) * 10.0**decimals


def _draw_solutions(axes: Any, points: np.ndarray) -> None:
    axes.plot(
        *points[:3].T, "o", color="tab:red", fillstyle="none", markersize=11, markeredgewidth=1.8, zorder=6,
        label="Coulomb solutions 1 to 3",
    )  # fmt: skip
    axes.plot(
        *points[3], "x", color="tab:red", markersize=11, markeredgewidth=2.2, zorder=6,
        label="maximally dissipative solution",
    )  # fmt: skip


def _draw_plane(axes: Any, frame: Frame, window: np.ndarray, levels: np.ndarray, arrow: float) -> None:
    """The plane within ``window`` (2, 2), with slip as arrows of that length in units of impulse."""
    x, y = (np.linspace(low, high, 401) for low, high in window.tolist())
    values = frame.objective(frame.on_plane(np.stack(np.meshgrid(x, y), axis=-1)))
    lines = axes.contour(x, y, values, levels, colors="0.7", linewidths=0.9, linestyles="solid")
    axes.clabel(lines, lines.levels[::2], fontsize=9, colors="0.45")
    axes.contour(x, y, values, [0.0], colors="black", linewidths=1.3)
    conic = frame.on_conic(np.linspace(-np.pi, np.pi, 20001))[:, 1:]
    axes.plot(*conic.T, color="tab:blue", linewidth=1.9, label="conic: edge of the friction cone")
    at_rest = np.linalg.solve(frame.problem.W, -frame.problem.u)
    axes.plot(*at_rest[1:], "kx", markersize=10, label="least objective, outside the cone")
    axes.plot(0.0, 0.0, "k+", markersize=11, label="no friction")
    points, slips = frame.impulse[:, 1:], frame.velocity[:, 1:]
    _draw_solutions(axes, points)
    for k, (point, slip) in enumerate(zip(points, slips, strict=True)):
        if np.all((point > window[:, 0]) & (point < window[:, 1])):
            tip = point + arrow * slip / np.hypot(*slip)
            style = {"arrowstyle": "-|>", "color": "tab:red", "mutation_scale": 14, "linewidth": 1.4}
            axes.annotate("", xy=tip, xytext=point, arrowprops=style, zorder=5)
            if k < 3:
                beside = (9, -4) if k == 2 else (-18, -4)  # the dissipative solution is on the other side
                axes.annotate(
                    str(k + 1), point, beside, textcoords="offset points", fontsize=13, color="tab:red"
                )
    axes.set(xlabel="$x_t$ [N s]", ylabel="$x_o$ [N s]", xlim=window[0], ylim=window[1])
    beyond = float(conic[:, 1].min())
    if beyond < window[1, 0] and arrow > 0.3:
        axes.text(-3.3, -14.6, f"conic\nreaches\n$x_o$ = {beyond:.0f}", fontsize=11)


def _draw_along_conic(axes: Any, frame: Frame) -> None:
    angles = np.radians(np.linspace(-270.0, 90.0, 20001))
    values = frame.objective(frame.on_conic(angles))
    axes.plot(np.degrees(angles), values, color="tab:blue", linewidth=1.9)
    at = np.degrees(np.arctan2(frame.impulse[:, 2], frame.impulse[:, 1]))
    points = np.column_stack([at, frame.objective(frame.impulse)])
    _draw_solutions(axes, points)
    for k, point in enumerate(points[:3]):
        axes.annotate(str(k + 1), point, (-20, -4), textcoords="offset points", fontsize=13, color="tab:red")
    axes.set(
        xlabel="angle of the tangential impulse [°]", ylabel="objective along the conic [J]",
        xlim=(-270, 90), ylim=(-0.85, 0.45), xticks=np.arange(-270, 91, 45),
    )  # fmt: skip
    if values.max() > 0.45:
        axes.text(at[3] + 12.0, 0.40, f"the peak reaches {values.max():.0f} J", fontsize=11)
    axes.grid(color="0.92")
    axes.set_title("along the conic", fontsize=13)
