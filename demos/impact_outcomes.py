"""The sets of outcomes of Halm & Posa, section 5.4: sampled, drawn over their impact paths, and counted."""

import time
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from ..impact_laws import (
    AnitescuPotra,
    ImpactOutcome,
    OutcomeBounds,
    PostImpactSet,
    SequentialLCP,
    SetValuedRouth,
    outcome_bounds,
    post_impact_set,
)
from ..viewer.figures import draw_outcome_set, new_figure, save_figure
from . import impact_examples
from .demo import Check, Table
from .impact_examples import ImpactExample

_MOST = 1 << 18  # outcomes drawn; the paper's 2**20 add nothing that a figure shows
_PATHS = 1500
_NOISE = 1e-8  # m/s, error of every solve in the second column of solves
_TIMED = 1 << 14


class _ImpactOutcomes:
    """One example: subclasses say which, what the paper says of it, and what is drawn."""

    name: ClassVar[str]
    ending: ClassVar[str] = ".png"
    build: ClassVar[Callable[[], ImpactExample]]
    panels: ClassVar[tuple[tuple[int, int], ...]]
    """Pairs of components of contact velocity, across and up."""
    simultaneous: ClassVar[tuple[tuple[float, ...], ...]]
    """Contact velocities after the simultaneous impact, all of them, rounded to four digits."""
    bounded: ClassVar[bool] = True
    """Whether outer bounds are shown: for two contacts, where they end well below the energy's bound."""

    @cached_property
    def example(self) -> ImpactExample:
        """The impact."""
        return type(self).build()

    @cached_property
    def law(self) -> SetValuedRouth:
        """With the paper's step."""
        return SetValuedRouth(step=self.example.step)

    @cached_property
    def outcomes(self) -> PostImpactSet:
        """The set, from as many samples as the paper's or 2**18."""
        return post_impact_set(
            self.example.problem, self.law, min(self.example.samples, _MOST), keep=_MOST, progress=True
        )

    @cached_property
    def paths(self) -> list[ImpactOutcome]:
        """Some outcomes with their way there."""
        return [self.law.resolve(self.example.problem, np.random.default_rng(seed)) for seed in range(_PATHS)]

    @cached_property
    def marks(self) -> dict[str, np.ndarray]:
        """Contact velocities (n, dim*nc) of the simultaneous and the sequential impacts."""
        problem = self.example.problem
        return {
            "simultaneous": AnitescuPotra().outcomes(problem).velocity,
            "sequential": SequentialLCP().outcomes(problem).velocity,
        }

    @cached_property
    def bounds(self) -> OutcomeBounds | None:
        """Outer bounds of all outcomes, for any step."""
        return outcome_bounds(self.example.problem) if self.bounded else None

    def solve_counts(self) -> tuple[float, float, float, float, float]:
        """Problems a sample by the paper's draws: accurate, with noise, Lemke's branch only; then seconds a sample
        and a problem of the law's own draws."""
        problem = self.example.problem
        printed = replace(self.law, rates="independent")
        accurate = printed.sample(problem, 4 * _TIMED).solves.mean()
        noisy = next(
            printed.sample_pieces(problem, _TIMED, piece=_TIMED, velocity_noise=_NOISE)
        ).solves.mean()
        first = replace(printed, branches="first").sample(problem, _TIMED).solves.mean()
        begin = time.perf_counter()
        timed = self.law.sample(problem, _TIMED)
        spent = time.perf_counter() - begin
        return accurate, noisy, first, spent / _TIMED, spent / timed.solves.sum()

    def tables(self) -> list[Table]:
        """The row of table 3, and what every contact does."""
        example, found = self.example, self.outcomes
        accurate, noisy, first, sample_time, solve_time = self.solve_counts()
        solves = (f"{example.solves:.2f}", f"{accurate:.3f}", f"{noisy:.3f}", f"{first:.3f}")
        costs = (
            f"{100.0 * found.branched_share:.0f} %", f"{1e6 * sample_time:.2f} µs", f"{1e6 * solve_time:.2f} µs"
        )  # fmt: skip
        contacts = []
        for c, word in enumerate(example.contacts):
            normal, tangent = 2 * c, 2 * c + 1
            shares = [
                sum(number for modes, number in found.mode_counts.items() if modes[c] == mode) / found.count
                for mode in ("separate", "slide", "stick")
            ]
            contacts.append(
                (
                    word,
                    *(_range(found.lower[k], found.upper[k]) for k in (normal, tangent)),
                    *(f"{100.0 * share:.1f} %" for share in shares),
                )
            )
        modes = [
            (", ".join(words), f"{100.0 * number / found.count:.2f} %")
            for words, number in list(found.mode_counts.items())[:8]
        ]
        outer = []
        if self.bounds is not None:
            tightness = self.bounds.tightness(found.outcomes, self.panels[0])
            for c, word in enumerate(example.contacts):
                for k, direction in ((2 * c, "normal"), (2 * c + 1, "tangential")):
                    outer.append(
                        (
                            f"{word}, {direction}", _range(found.lower[k], found.upper[k]),
                            _range(self.bounds.lower[k], self.bounds.upper[k]),
                            f"{100.0 * tightness.width[k]:.1f} %",
                        )
                    )  # fmt: skip
        bound_table = [Table(("velocity after [m/s]", "samples", "outer bounds", "share"), tuple(outer))]
        return [
            Table(
                (example.title, "paper", "accurate", f"noise {_NOISE:g} m/s", "first branch"),
                (("problems a sample", *solves),),
            ),
            Table(("problems with several solutions", "time a sample", "time a problem"), (costs,)),
            Table(
                ("contact", "v_n after [m/s]", "v_t after [m/s]", "separates", "slides", "sticks"),
                tuple(contacts),
            ),
            *(bound_table if outer else []),
            Table((" | ".join(example.contacts), "share of outcomes"), tuple(modes)),
        ]  # fmt: skip

    def check(self) -> list[Check]:
        """What must hold of every sample, and the paper's other outcomes inside the set."""
        problem, found = self.example.problem, self.outcomes
        speed = float(np.abs(problem.u).max())
        rises, last = [], []
        for outcome in self.paths:
            impulses, velocities = outcome.path.impulse, outcome.path.velocity
            steps = np.diff(impulses, axis=0)
            rises.append(float((0.5 * steps * (velocities[1:] + velocities[:-1])).sum(axis=1).max()))
            last.append(outcome.energy_change)
        energy = abs(min(last))
        away = 0.0
        for across, up in self.panels:
            hull = found.hull_of((across, up))
            points = np.concatenate([velocity[:, [across, up]] for velocity in self.marks.values()])
            size = float(np.ptp(hull.points, axis=0).max())
            away = max(away, float(hull.outside(points).max()) / max(size, 1e-9 * speed))
        outside = 0.0
        if self.bounds is not None:
            inside = self.bounds.contains(found.outcomes.velocity)
            outside = float(np.count_nonzero(~inside)) if self.bounds.verified else np.inf
        expected = np.array(self.simultaneous)
        met = self.marks["simultaneous"]
        off = max(float(np.abs(met - row).max(axis=1).min()) for row in expected)
        return [
            Check("samples without a result", float(found.unresolved), 0.0),
            Check("energy gained in a step, over the largest loss", max(rises) / energy, 1e-12),
            Check("approach left [m/s]", -float(found.lower[::2].min()), 1e-8 * speed),
            Check("baselines outside the hull, over its size", away, 0.1),
            Check("samples outside verified outer bounds", outside, 0.0),
            Check("published simultaneous outcomes, error [m/s]", off, 5.1e-5),
        ]

    def write(self, path: Path) -> None:
        """Impact paths, outcomes and the baselines, in pairs of contact velocities."""
        example = self.example
        figure = new_figure(max(6.2 * len(self.panels), 8.0), 6.8)
        figure.suptitle(
            f"Halm & Posa, {example.title}: {self.outcomes.count} outcomes (dark)\n"
            f"at the end of their impact paths (light), steps up to {example.step:g} N s",
            fontsize=12,
        )
        axes = np.atleast_1d(figure.subplots(1, len(self.panels)))
        for panel, (across, up) in zip(axes, self.panels, strict=True):
            self._draw(panel, across, up)
        figure.legend(
            *axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=5, fontsize=10,
            markerscale=1.2,
        )  # fmt: skip
        save_figure(figure, path)

    def _draw(self, axes: Any, across: int, up: int) -> None:
        draw_outcome_set(
            axes,
            [outcome.path.velocity[:, [across, up]] for outcome in self.paths],
            self.outcomes.outcomes.velocity[:, [across, up]],
            {word: velocity[:, [across, up]] for word, velocity in self.marks.items()},
        )
        if self.bounds is not None:
            axes.plot(*_outline(self.bounds, across, up).T, "--", color="tab:purple", label="outer bounds")
        words = [
            f"$v_{'n' if k % 2 == 0 else 't'}$, {self.example.contacts[k // 2]} [m/s]" for k in (across, up)
        ]
        axes.set(xlabel=words[0], ylabel=words[1])
        axes.locator_params(nbins=6)


def _range(low: float, high: float) -> str:
    return f"{_zero(low):.4f} to {_zero(high):.4f}"


def _outline(bounds: OutcomeBounds, across: int, up: int) -> np.ndarray:
    """Corners (k, 2) of the bounds seen in two components: where neighbouring supports meet, closed."""
    angles = np.linspace(0.0, 2.0 * np.pi, 361)[:-1]
    directions = np.zeros((angles.size, 4))
    directions[:, across], directions[:, up] = np.cos(angles), np.sin(angles)
    heights = np.array([bounds.support(direction) for direction in directions])
    normals = directions[:, [across, up]]
    following = np.roll(normals, -1, axis=0), np.roll(heights, -1)
    corners = np.linalg.solve(
        np.stack([normals, following[0]], axis=1), np.stack([heights, following[1]], axis=1)[..., None]
    )[..., 0]
    return np.vstack([corners, corners[:1]])


def _zero(value: float) -> float:
    """Rounding around zero as zero, so that no sign is printed."""
    return 0.0 if abs(value) < 5e-5 else value


class BlockOutcomes(_ImpactOutcomes):
    """A block lands flat: it rests, or rocks on either corner at up to the sequential rate."""

    name = "block-outcomes"
    build = staticmethod(impact_examples.rocking_block)
    panels = ((0, 2),)
    simultaneous = ((0.0, 0.0, 0.0, 0.0),)


class CompassGaitOutcomes(_ImpactOutcomes):
    """The leading foot of a wide step lands: the trailing one rests, slides or lifts, or the leading one slips."""

    name = "compass-gait-outcomes"
    build = staticmethod(impact_examples.compass_gait)
    panels = ((0, 2), (1, 0), (3, 2))
    simultaneous = ((0.0, 0.0, 0.0, 0.0), (0.0996, 0.1980, 0.0, 0.0), (0.0, 0.1285, 0.0, 0.0))


class BoxAndWallOutcomes(_ImpactOutcomes):
    """A box that slides into a wall stops, or goes on sliding while it leaves the wall or slides along it."""

    name = "box-and-wall-outcomes"
    build = staticmethod(impact_examples.box_and_wall)
    panels = ((0, 2), (1, 0), (3, 2))
    simultaneous = ((0.0, 0.0, 0.0, 0.0),)


class RamoneOutcomes(_ImpactOutcomes):
    """A footstep of a robot with seven freedoms: each of three solutions is drawn in nearly every step."""

    name = "ramone-outcomes"
    build = staticmethod(impact_examples.ramone)
    panels = ((0, 2), (1, 0))
    simultaneous = ((0.0, 0.0, 0.0, 0.0), (0.0003, -0.0274, 0.0, 0.0), (0.0, -0.0195, 0.0, 0.0))
    bounded = False  # with friction 1e5 the bounds grow to that of the energy


class DiskStackOutcomes(_ImpactOutcomes):
    """A disk falls on two others: the stack rests or falls apart to either side."""

    name = "disk-stack-outcomes"
    build = staticmethod(impact_examples.disk_stack)
    panels = ((0, 2), (6, 8), (4, 6))
    simultaneous = ((0.0,) * 10,)
    bounded = False
