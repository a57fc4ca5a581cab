"""A slender rod grazes a plane: above a critical friction it must stop by an impulse without a collision."""

import math
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from ..impact_laws import ContactNetwork, MaximumDissipation, NetworkOutcome
from ..viewer.figures import new_figure, save_figure
from .demo import Check, Table

MASS, LENGTH, SPEED = 1.0, 1.0, 1.0  # kg, m, m/s towards -x

LEAST_ANGLE = 0.5 * math.acos(-0.6)  # rad, where the critical friction is least
LEAST_FRICTION = 4.0 / 3.0

_BISECTIONS = 50
_ANGLES = (20.0, 40.0, 55.0, math.degrees(LEAST_ANGLE), 70.0, 80.0)  # of the table [°]


def critical_friction(angle: float) -> float:
    """The least friction at which no motion without an impulse exists, in closed form."""
    return (math.cos(angle) + 1.0 / (3.0 * math.cos(angle))) / math.sin(angle)


def stopping_impulse(angle: float) -> np.ndarray:
    """The impulse (3,) along (n, t, o) that stops the rod's tip, in closed form [N s]."""
    double = 2.0 * angle
    return MASS * SPEED / 8.0 * np.array([3.0 * math.sin(double), 5.0 + 3.0 * math.cos(double), 0.0])


def rod(angle: float, friction: float) -> ContactNetwork:
    """The rod at that angle [rad] above the plane y = 0, its lower tip on it, sliding along it."""
    axis = np.array([math.cos(angle), math.sin(angle), 0.0])
    inverse_mass = np.zeros((1, 6, 6))
    inverse_mass[0, :3, :3] = np.eye(3) / MASS
    inverse_mass[0, 3:, 3:] = 12.0 / (MASS * LENGTH**2) * (np.eye(3) - np.outer(axis, axis))
    frame = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])  # n, t, o as in the paper
    jacobian = np.zeros((1, 2, 3, 6))
    jacobian[0, 0, :, :3] = frame
    jacobian[0, 0, :, 3:] = np.cross(-0.5 * LENGTH * axis, frame)
    velocity = [[-SPEED, 0.0, 0.0, 0.0, 0.0, 0.0]]
    return ContactNetwork([[0, -1]], jacobian, inverse_mass, velocity, friction)


def resolved(angle: float, friction: float) -> NetworkOutcome:
    """What the law answers."""
    return MaximumDissipation().resolve_network(rod(angle, friction))


def bisected_friction(angle: float) -> float:
    """The friction above which the law gives an impulse, found by bisection with the law alone."""
    low, high = 0.0, 1.0
    while not resolved(angle, high).impulse.any():
        low, high = high, 2.0 * high
    for _ in range(_BISECTIONS):
        middle = 0.5 * (low + high)
        if resolved(angle, middle).impulse.any():
            high = middle
        else:
            low = middle
    return 0.5 * (low + high)


class PainleveRod:
    """Impulse without collision at and above the critical friction, none below, and the map over the angle."""

    name: ClassVar[str] = "painleve-rod"
    ending: ClassVar[str] = ".png"

    angles = LEAST_ANGLE + np.radians(4.0 * np.arange(-14, 6))  # rad, of the map

    @cached_property
    def bisected(self) -> np.ndarray:
        """Critical frictions at these angles, by bisection."""
        return np.array([bisected_friction(angle) for angle in self.angles])

    def tables(self) -> list[Table]:
        """Critical friction and impulses at some angles, in closed form and by the law."""
        frictions, impulses = [], []
        for degrees in _ANGLES:
            angle = math.radians(degrees)
            critical = critical_friction(angle)
            frictions.append((f"{degrees:.4f}", f"{critical:.12f}", f"{bisected_friction(angle):.12f}"))
            answers = (resolved(angle, factor * critical).impulse[0] for factor in (1.0, 0.999))
            impulses.append((f"{degrees:.4f}", *(_words(p) for p in (stopping_impulse(angle), *answers))))
        return [
            Table(("angle [°]", "critical friction, paper", "carom, by bisection"), tuple(frictions)),
            Table(("angle [°]", "impulse n, t [N s], paper", "carom", "at 0.999 of it"), tuple(impulses)),
        ]

    def check(self) -> list[Check]:
        """The closed forms, at all angles of the map."""
        critical = np.array([critical_friction(angle) for angle in self.angles])
        error, slip, work, below = 0.0, 0.0, 0.0, 0.0
        for angle, friction in zip(self.angles, critical, strict=True):
            stop = stopping_impulse(angle)
            for factor in (1.0, 1.0 + 1e-12, 1.001, 2.0):
                outcome = resolved(angle, factor * friction)
                error = max(error, float(np.abs(outcome.impulse[0] - stop).max() / np.abs(stop).max()))
                after = rod(angle, friction).contact_velocity(outcome.velocity)
                slip = max(slip, float(np.abs(after).max()))
                work = max(work, abs(outcome.energy_change + 0.5 * SPEED * float(stop[1])))
            for factor in (0.0, 0.5, 0.999, 1.0 - 1e-12):
                below = max(below, float(np.abs(resolved(angle, factor * friction).impulse).max()))
        approach = max(abs(float(rod(angle, 1.0).contact_velocity()[0, 0])) for angle in self.angles)
        return [
            Check("approach before [m/s]", approach, 0.0),
            Check(
                "critical friction, relative error",
                float(np.abs(self.bisected / critical - 1.0).max()),
                1e-12,
            ),
            Check(
                "critical friction at 63.4349°, off 4/3",
                abs(float(self.bisected.min()) - LEAST_FRICTION),
                1e-12,
            ),
            Check(
                "angle where it is least, error [rad]",
                abs(float(self.angles[np.argmin(self.bisected)]) - LEAST_ANGLE),
                0.0,
            ),
            Check("impulse at and above it, relative error", error, 1e-13),
            Check("impulse below it [N s]", below, 0.0),
            Check("velocity left of the stopped tip [m/s]", slip, 1e-14),
            Check("energy lost, error [J]", work, 1e-14),
        ]

    def write(self, path: Path) -> None:
        """The rod, the map of critical friction, and the impulse over friction and angle."""
        figure = new_figure(15.0, 12.0)
        figure.suptitle("Preclik, Eibl & Rüde, section 4.2: the rod of Painlevé", fontsize=15)
        panels = figure.subplots(2, 2)
        _draw_rod(panels[0, 0])
        self._draw_map(panels[0, 1])
        _draw_over_friction(panels[1, 0])
        _draw_over_angle(panels[1, 1])
        save_figure(figure, path)

    def _draw_map(self, axes: Any) -> None:
        angles = np.radians(np.linspace(4.0, 87.5, 600))
        critical = np.array([critical_friction(angle) for angle in angles])
        top = 5.0
        degrees = np.degrees(angles)
        axes.fill_between(degrees, critical, top, where=critical < top, color="tab:red", alpha=0.12)
        axes.plot(degrees, critical, color="black", linewidth=1.8, label="closed form")
        axes.plot(
            np.degrees(self.angles), self.bisected, "o", color="tab:red", fillstyle="none", markersize=8,
            markeredgewidth=1.6, label="bisection with the law",
        )  # fmt: skip
        axes.annotate(
            "least: 4/3 at 63.4349°", (math.degrees(LEAST_ANGLE), LEAST_FRICTION), (38.0, 0.75), fontsize=11,
            arrowprops={"arrowstyle": "->", "color": "0.3"},
        )  # fmt: skip
        axes.text(50.0, 3.4, "impulse that stops the tip", fontsize=12, ha="center")
        axes.text(14.0, 1.1, "no impulse", fontsize=12)
        axes.set(xlim=(0, 90), ylim=(0, top), xlabel="angle θ [°]", ylabel="friction μ")
        axes.set_title("critical friction", fontsize=13)
        axes.legend(loc="lower right", fontsize=11)
        axes.grid(color="0.92")


def _words(impulse: np.ndarray) -> str:
    return ", ".join(f"{component:.7f}" if component else "0" for component in impulse[:2])


def _draw_rod(axes: Any) -> None:
    angle = LEAST_ANGLE
    tip = LENGTH * np.array([math.cos(angle), math.sin(angle)])
    axes.axhspan(-0.15, 0.0, color="0.85")
    axes.plot([0.0, tip[0]], [0.0, tip[1]], color="tab:blue", linewidth=7.0, solid_capstyle="round")
    axes.plot(*(0.5 * tip), "o", color="white", markersize=4)
    turn = np.linspace(0.0, angle, 60)
    axes.plot(0.2 * np.cos(turn), 0.2 * np.sin(turn), color="0.3", linewidth=1.0)
    axes.text(0.20, 0.10, "θ", fontsize=14)
    push = stopping_impulse(angle)
    for start, end, words, at, colour in (
        (0.5 * tip, 0.5 * tip - [0.35, 0.0], "$v_0$", 0.5 * tip - [0.33, -0.03], "tab:green"),
        (np.zeros(2), np.array([push[1], push[0]]), "impulse", [push[1] + 0.02, push[0]], "tab:red"),
    ):
        style = {"arrowstyle": "-|>", "color": colour, "mutation_scale": 18, "linewidth": 2.0}
        axes.annotate("", xy=end, xytext=start, arrowprops=style, zorder=5)
        axes.text(*at, words, fontsize=13, color=colour)
    axes.set(xlim=(-0.35, 0.95), ylim=(-0.1, 1.0), xlabel="x [m]", ylabel="y [m]")
    axes.set_aspect("equal")
    axes.set_title("the rod at 63.4349°; an impulse of 1 N s is drawn as 1 m", fontsize=13)


def _draw_over_friction(axes: Any) -> None:
    for degrees, colour in ((30.0, "tab:blue"), (math.degrees(LEAST_ANGLE), "tab:red"), (80.0, "tab:green")):
        angle = math.radians(degrees)
        critical = critical_friction(angle)
        stop = stopping_impulse(angle)[0]
        axes.plot([0.0, critical, np.nan, critical, 4.0], [0.0, 0.0, np.nan, stop, stop], color=colour)
        axes.plot([critical, critical], [0.0, stop], ":", color=colour)
        friction = np.concatenate([np.arange(0.0, 4.0, 0.2), [critical]])
        axes.plot(
            friction, [resolved(angle, mu).impulse[0, 0] for mu in friction], "o", color=colour,
            fillstyle="none", markersize=7, label=f"θ = {degrees:.4g}°",
        )  # fmt: skip
    axes.set(xlim=(0, 4), xlabel="friction μ", ylabel="normal impulse [N s]")
    axes.set_title("normal impulse; lines: closed form, circles: law", fontsize=13)
    axes.legend(loc="upper left", fontsize=11)
    axes.grid(color="0.92")


def _draw_over_angle(axes: Any) -> None:
    degrees = np.linspace(4.0, 87.0, 300)
    lines = np.array([stopping_impulse(angle) for angle in np.radians(degrees)])
    places = PainleveRod.angles
    points = np.array([resolved(angle, critical_friction(angle)).impulse[0] for angle in places])
    for k, name, colour in ((0, "normal", "tab:blue"), (1, "along x", "tab:red")):
        axes.plot(degrees, lines[:, k], color=colour, linewidth=1.6)
        axes.plot(
            np.degrees(places), points[:, k], "o", color=colour, fillstyle="none", markersize=7, label=name
        )
    axes.set(xlim=(0, 90), ylim=(0, 1.05), xlabel="angle θ [°]", ylabel="impulse [N s]")
    axes.set_title("impulse at the critical friction; lines: closed form, circles: law", fontsize=13)
    axes.legend(loc="upper right", fontsize=11)
    axes.grid(color="0.92")
