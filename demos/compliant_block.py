"""A block on stiff springs and dampers: small causes spread its outcomes over the set of the set-valued law."""

import math
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

from ..impact_laws import PostImpactSet, SetValuedRouth, post_impact_set
from ..viewer.figures import draw_outcome_set, new_figure, save_figure
from .demo import Check, Table
from .impact_examples import rocking_block

Array = NDArray[np.float64]

STIFFNESS = 1e6  # of the softer corner [N/m]
DAMPING_RATIO = 50.0  # of one corner under the whole mass; overdamped, so corners hardly return
SMOOTHING = 1e-5  # m/s, slip below which friction fades
NEARLY = 1e-4  # m/s, compression that counts as none
FRICTION, MASS, INERTIA, GRAVITY = 1.0, 1.0, 5.0 / 12.0, 9.81
_ERRORS = np.array([1e-13, 1e-13, 1e-13, 1e-8, 1e-8, 1e-8])  # m, rad, m/s, rad/s of one step
CORNERS = np.array([[-0.5, -1.0], [0.5, -1.0]])  # m
FALL = 0.01  # m

RATIOS = 10.0 ** np.linspace(-5.0, 5.0, 21)
"""Stiffness of the right corner over that of the left one."""
ANGLES = np.radians(0.01) * np.sign(np.linspace(-1.0, 1.0, 21)) * np.linspace(-1.0, 1.0, 21) ** 2
"""[rad] at first touch, denser around flat."""


@dataclass(frozen=True)
class CompliantImpact:
    """Contact velocities (4,) [m/s] when no closed corner is compressed any more, and how long that took [s]."""

    velocity: Array
    duration: float


def compliant_impact(ratio: float = 1.0, angle: float = 0.0) -> CompliantImpact:
    """The block's landing on Kelvin-Voigt corners with regularised friction.

    ``ratio`` is the stiffness of the right corner over that of the left, the softer of which has STIFFNESS;
    ``angle`` [rad] turns the block, which then touches with one corner, with the same energy.
    """
    stiffness = STIFFNESS * np.array([1.0, ratio]) / min(1.0, ratio)
    damping = 2.0 * DAMPING_RATIO * np.sqrt(stiffness * MASS)

    def corners(state: Array) -> tuple[Array, Array, Array]:
        """Arms, heights and velocities (2, 2) of both corners."""
        cosine, sine = math.cos(state[2]), math.sin(state[2])
        arms = CORNERS @ np.array([[cosine, sine], [-sine, cosine]])
        speeds = state[3:5] + state[5] * np.column_stack([-arms[:, 1], arms[:, 0]])
        return arms, state[1] + arms[:, 1], speeds

    def rates(_time: float, state: Array) -> Array:
        arms, heights, speeds = corners(state)
        normal = np.where(heights < 0.0, np.maximum(-stiffness * heights - damping * speeds[:, 1], 0.0), 0.0)
        tangential = -FRICTION * normal * speeds[:, 0] / np.hypot(speeds[:, 0], SMOOTHING)
        spin = float((arms[:, 0] * normal - arms[:, 1] * tangential).sum()) / INERTIA
        return np.array([*state[3:], tangential.sum() / MASS, normal.sum() / MASS - GRAVITY, spin])

    def slopes(_time: float, state: Array) -> Array:
        """Derivative (6, 6) of the rates; by differences it fails where springs are 1e11 N/m."""
        arms, heights, speeds = corners(state)
        result = np.zeros((6, 6))
        result[:3, 3:] = np.eye(3)
        for arm, height, (slip, rise), k, c in zip(arms, heights, speeds, stiffness, damping, strict=True):
            normal = -k * height - c * rise
            if height >= 0.0 or normal <= 0.0:
                continue
            of_height = np.array([0.0, 1.0, arm[0], 0.0, 0.0, 0.0])
            of_rise = np.array([0.0, 0.0, -state[5] * arm[1], 0.0, 1.0, arm[0]])
            of_slip = np.array([0.0, 0.0, -state[5] * arm[0], 1.0, 0.0, -arm[1]])
            length = math.hypot(slip, SMOOTHING)
            of_normal = -k * of_height - c * of_rise
            of_tangential = -FRICTION * (
                slip / length * of_normal + normal * SMOOTHING**2 / length**3 * of_slip
            )
            tangential = -FRICTION * normal * slip / length
            result[3] += of_tangential / MASS
            result[4] += of_normal / MASS
            result[5] += (arm[0] * of_normal - arm[1] * of_tangential) / INERTIA
            result[5, 2] += (-arm[1] * normal - arm[0] * tangential) / INERTIA
        return result

    def compression(_time: float, state: Array) -> float:
        """Fastest compression of a corner that touches; rises through zero as the last one stops."""
        _, heights, speeds = corners(state)
        return float(np.where(heights < 1e-9, speeds[:, 1], np.inf).min()) + NEARLY

    compression.terminal, compression.direction = True, 1.0  # type: ignore[attr-defined]
    lift = -float((CORNERS @ np.array([math.sin(angle), math.cos(angle)])).min())
    speed = math.sqrt(2.0 * GRAVITY * (FALL - (lift - 1.0)))
    state = np.array([0.0, lift, angle, 0.0, -speed, 0.0])
    begin = 0.0
    while True:  # a corner that lands later begins to compress again
        answer = solve_ivp(
            rates, (begin, 0.01), state, "BDF", events=compression, jac=slopes, rtol=1e-6, atol=_ERRORS
        )
        state, begin = answer.y[:, -1], float(answer.t[-1])
        _, heights, speeds = corners(state)
        waiting = (heights > 0.0) & (speeds[:, 1] < -NEARLY)
        if answer.status != 1 or not waiting.any():
            break
        begin, state = _until_touch(begin, state, heights[waiting].min() / -speeds[waiting, 1].min())
    return CompliantImpact(speeds[:, ::-1].ravel(), begin)


def _until_touch(begin: float, state: Array, span: float) -> tuple[float, Array]:
    """Free flight over a span so short that gravity and turning are straight."""
    after = state.copy()
    after[:3] += span * state[3:]
    return begin + span, after


class CompliantBlock:
    """Outcomes of stiff compliant contacts beside the set, over stiffness ratios and initial angles."""

    name: ClassVar[str] = "compliant-block"
    ending: ClassVar[str] = ".png"

    @cached_property
    def outcomes(self) -> PostImpactSet:
        """The rigid block's set."""
        example = rocking_block()
        return post_impact_set(example.problem, SetValuedRouth(step=example.step), 2**16)

    @cached_property
    def by_ratio(self) -> Array:
        """Contact velocities (21, 4) over RATIOS."""
        return np.array([compliant_impact(ratio=ratio).velocity for ratio in RATIOS])

    @cached_property
    def by_angle(self) -> Array:
        """Contact velocities (21, 4) over ANGLES."""
        return np.array([compliant_impact(angle=angle).velocity for angle in ANGLES])

    def _outside(self, velocity: Array) -> Array:
        """Distance of normal velocities from the hull of the set's, over its size."""
        hull = self.outcomes.hull_of((0, 2))
        return hull.outside(velocity[:, [0, 2]]) / float(np.ptp(hull.points, axis=0).max())

    def tables(self) -> list[Table]:
        """Normal velocities of both corners."""
        rows = []
        for values, words, velocity in (
            (RATIOS, "stiffness ratio {:.0e}", self.by_ratio),
            (np.degrees(ANGLES), "angle {:+.4f}°", self.by_angle),
        ):
            away = self._outside(velocity)
            for k in range(0, len(values), 5):
                rows.append(
                    (
                        words.format(values[k]), f"{velocity[k, 0]:.4f}", f"{velocity[k, 2]:.4f}",
                        f"{100.0 * away[k]:.1f} %",
                    )
                )  # fmt: skip
        top = self.outcomes.upper
        rows.append(("largest of the set", f"{top[0]:.4f}", f"{top[2]:.4f}", ""))
        return [
            Table(
                ("block on springs", "v_n left [m/s]", "v_n right [m/s]", "outside the set's hull"),
                tuple(rows),
            )
        ]

    def check(self) -> list[Check]:
        """Compliant outcomes lie in the set and reach its ends; equal corners bring the block to rest."""
        top = self.outcomes.upper[[0, 2]]
        reached = [
            float((1.0 - velocity[:, [0, 2]].max(axis=0) / top).max())
            for velocity in (self.by_ratio, self.by_angle)
        ]
        middle = len(RATIOS) // 2
        return [
            Check("stiffness ratios outside the hull, over size", float(self._outside(self.by_ratio).max()), 0.05),
            Check("initial angles outside the hull, over size", float(self._outside(self.by_angle).max()), 0.1),
            Check("end of the set not reached by ratios, share", reached[0], 0.05),
            Check("end of the set not reached by angles, share", reached[1], 0.05),
            Check("equal corners, flat: speed left [m/s]", float(np.abs(self.by_ratio[middle]).max()), 1e-3),
        ]  # fmt: skip

    def write(self, path: Path) -> None:
        """Normal velocities after the impact: the set, and compliant outcomes over it."""
        figure = new_figure(13.0, 6.8)
        figure.suptitle(
            "Halm & Posa, figure 12: a block on stiff springs and dampers beside the set of the rigid impact",
            fontsize=13,
        )
        points = self.outcomes.outcomes.velocity[:, [0, 2]]
        panels = figure.subplots(1, 2)
        for axes, word, velocity in (
            (panels[0], "stiffness ratio 1e-5 to 1e5", self.by_ratio),
            (panels[1], "initial angle ±0.01°", self.by_angle),
        ):
            draw_outcome_set(axes, [], points, {word: velocity[:, [0, 2]]})
            axes.set(xlabel="$v_n$, left corner [m/s]", ylabel="$v_n$, right corner [m/s]")
            axes.set_aspect("equal")
            axes.legend(loc="upper right", fontsize=11)
        save_figure(figure, path)
