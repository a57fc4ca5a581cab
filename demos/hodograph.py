"""Pictures of Jia & Wang: hodographs with their invariant directions, bundles, and the impulse curve."""

import math
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from ..impact_laws import ImpactOutcome, ImpactProblem, invariant_directions, slip_curve
from ..viewer.figures import Ray, draw_impulse_curve, draw_slip_plane, new_figure, save_figure
from .demo import Check, Table
from .jia_wang import PRINTED_IMPULSE, PaperImpact, bundle, icosahedron_impacts, xyz

SAMPLES = 400
LEAST_SLIP_OF_FIGURE_7 = 4.4e-3  # m/s, where the paper lets slip vanish


class Hodograph:
    """The icosahedron and tetrahedron: figure 5, the bundles of figures 6 and 8, and figures 4, 7 and 10."""

    name: ClassVar[str] = "hodograph"
    ending: ClassVar[str] = ".png"

    def __init__(self) -> None:
        self.impacts = [(impact, impact.outcome()) for impact in icosahedron_impacts()]
        self.sticking = [(impact, impact.outcome()) for impact in bundle(0.8, -0.2, 15)]
        self.sliding = [(impact, impact.outcome()) for impact in bundle(0.25, -0.8, 13)]

    def tables(self) -> list[Table]:
        """How many curves of each bundle reach zero slip, beside what the paper says."""
        return [
            Table(
                ("bundle", "curves", "reach zero slip", "the paper says"),
                (
                    ("figure 6, mu = 0.8, v_z⁻ = -0.2 m/s", "15", str(_stops(self.sticking)), "11"),
                    ("figure 8, mu = 0.25, v_z⁻ = -0.8 m/s", "13", str(_stops(self.sliding)), "2"),
                ),
            )
        ]

    def check(self) -> list[Check]:
        """Curves stay within their sector, straight ones stay straight, and figure 7 misses the origin."""
        crossings, bends = 0, 0.0
        for impact, outcome in [*self.sticking, *self.sliding]:
            slip = _slip(impact, outcome)
            slip = slip[np.hypot(*slip.T) > 1e-9]
            if any(
                _is_along(impact.problem, each.direction) for each in invariant_directions(impact.problem)
            ):
                start = slip[0] / np.hypot(*slip[0])
                before = slip[slip @ start > 0.0]
                bends = max(bends, float(np.abs(before[:, 0] * start[1] - before[:, 1] * start[0]).max()))
            elif "slip stops" not in outcome.path.labels:
                for each in invariant_directions(impact.problem):
                    side = slip[:, 0] * each.direction[1] - slip[:, 1] * each.direction[0]
                    ahead = slip @ each.direction > 0.0
                    crossings += int(np.any(np.sign(side[ahead][1:]) != np.sign(side[ahead][:-1])))
        impact, outcome = self.impacts[4]
        curve = slip_curve(impact.problem, outcome)
        early = curve.at(np.linspace(0.0, 0.3, 20_001))[0]
        least = float(np.hypot(*early.T).min())
        return [
            Check("invariant directions crossed", float(crossings), 0.0),
            Check("bend of slip that starts straight [m/s]", bends, 1e-9),
            Check("least slip of figure 7, error [m/s]", abs(least - LEAST_SLIP_OF_FIGURE_7), 5e-5),
        ]

    def write(self, path: Path) -> None:
        """One picture of all panels."""
        figure = new_figure(20.0, 18.5)
        figure.suptitle(
            "Jia & Wang, truncated icosahedron and tetrahedron: slip plane and impulse.  Dashed: invariant "
            "directions, blue centripetal, red centrifugal.",
            fontsize=15,
        )
        large, small = figure.subfigures(2, 1, height_ratios=(7.6, 10.4))
        self._draw_impulse(large.add_subplot(1, 3, 1, projection="3d"))
        self._draw_bundle(large.add_subplot(1, 3, 2), self.sticking, "Figure 6: mu = 0.8, $v_z^-$ = -0.2 m/s")
        self._draw_bundle(large.add_subplot(1, 3, 3), self.sliding, "Figure 8: mu = 0.25, $v_z^-$ = -0.8 m/s")
        panels = small.subplots(2, 4)
        for axes, (impact, outcome) in zip(panels.ravel(), self.impacts, strict=True):
            self._draw_variant(axes, impact, outcome)
        save_figure(figure, path)

    def _draw_impulse(self, axes: Any) -> None:
        impact, outcome = self.impacts[0]
        problem = impact.problem
        curve = slip_curve(problem, outcome)
        _, impulse = curve.at(np.linspace(0.0, curve.end, SAMPLES))
        points = [xyz(point) for point in outcome.path.impulse[1:]]
        marks = [("0", np.zeros(3))] + [
            (f"$I_{letter}$", point)
            for letter, point in zip(str(outcome.info["sequence"]), points, strict=True)
        ]
        normal = xyz(problem.W[0])
        ends = np.array(
            [points[1] - 1.1 * (points[2] - points[1]), points[2] + 0.15 * (points[2] - points[1])]
        )
        constant = -float(problem.u[0])
        draw_impulse_curve(axes, impulse[:, [1, 2, 0]], marks, (normal, constant), ends)
        axes.plot(
            *[[c] for c in PRINTED_IMPULSE], "x", color="tab:red", markersize=8, label="(15), as printed"
        )
        axes.legend(loc="upper left", fontsize=10)
        axes.view_init(elev=18.0, azim=35.0)
        exact = ", ".join(f"{component:.5f}" for component in points[2])
        printed = ", ".join(f"{component:.5f}" for component in PRINTED_IMPULSE)
        axes.set_title(
            f"Figure 5: impulse curve, mu = 0.8\nexact ({exact})\nprinted ({printed})", fontsize=12
        )

    def _draw_bundle(self, axes: Any, impacts: list[tuple[PaperImpact, ImpactOutcome]], title: str) -> None:
        curves = [_slip(impact, outcome) for impact, outcome in impacts]
        draw_slip_plane(axes, curves, _rays(impacts[0][0].problem), reach=1.3)
        for (impact, _), curve in zip(impacts, curves, strict=True):
            x, y = 1.09 * curve[0]
            beside = (x - 0.08 * y, y + 0.08 * x)  # off the straight ones
            axes.annotate(rf"$\gamma_{{{impact.figure}}}$", beside, fontsize=12, ha="center", va="center")
        axes.set_title(f"{title}\n{_stops(impacts)} of {len(impacts)} reach zero slip", fontsize=12)

    def _draw_variant(self, axes: Any, impact: PaperImpact, outcome: ImpactOutcome) -> None:
        slip = _slip(impact, outcome)
        exact = str(outcome.info["sequence"])
        marks = [(r"$\gamma^-$", slip[0])] + [
            (f"$g_{letter}$", velocity[1:])
            for letter, velocity in zip(exact, outcome.path.velocity[1:], strict=True)
            if letter != "s" and np.hypot(*velocity[1:]) > 1e-9
        ]
        draw_slip_plane(axes, [slip], _rays(impact.problem), marks)
        title = f"Figure {impact.figure}: mu = {impact.friction:g}\nexact {exact}"
        if exact != impact.printed_sequence:
            title += f", printed {impact.printed_sequence}"
        axes.set_title(title, fontsize=12)
        if impact.figure == "7":
            inset = axes.inset_axes((0.56, 0.07, 0.41, 0.41))
            draw_slip_plane(inset, [slip], _rays(impact.problem), reach=0.02)
            inset.set(xlabel="", ylabel="")
            inset.text(-0.018, 0.014, "passes at\n0.0044 m/s", fontsize=9)
            inset.text(0.0, -0.018, "zoomed", fontsize=9)


def _slip(impact: PaperImpact, outcome: ImpactOutcome) -> np.ndarray:
    curve = slip_curve(impact.problem, outcome)
    moments = np.linspace(0.0, curve.end, SAMPLES)
    if impact.figure == "7":  # a sharp turn close to zero
        moments = np.union1d(moments, np.linspace(0.1, 0.25, 4 * SAMPLES))
    if math.isfinite(curve.stop):
        moments = np.union1d(moments, curve.stop)
    return curve.at(moments)[0]


def _rays(problem: ImpactProblem) -> list[Ray]:
    return [Ray(each.direction, each.centrifugal) for each in invariant_directions(problem)]


def _stops(impacts: list[tuple[PaperImpact, ImpactOutcome]]) -> int:
    return sum("slip stops" in outcome.path.labels for _, outcome in impacts)


def _is_along(problem: ImpactProblem, direction: np.ndarray) -> bool:
    slip = problem.u[1:]
    return bool(slip @ direction > 0.0 and abs(slip[0] * direction[1] - slip[1] * direction[0]) < 1e-14)
