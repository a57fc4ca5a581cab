"""The Zeno block of Halm & Posa: infinitely many impacts in finite time, over time and over accumulated impulse."""

import math
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..bodies import Body, Box, HalfSpace, Material, Scene
from ..impact_laws import AnitescuPotra
from ..simulator import Event, Simulator, Trajectory
from ..viewer.figures import new_figure, save_figure
from .demo import Check, Table
from .rocking_block import GRAVITY, HEIGHT, MASS, RATE, RATIO, WIDTH, impact_times, rest_time

Array = NDArray[np.float64]

DURATION = 4.0  # s
COMPARED_IMPACTS = 16
"""Rates of later impacts, below 1/300 rad/s, depend on how closed a closed gap is: 1e-14 m of 1e-6 m of height."""
_SAMPLES = 120  # of each rocking, for the curves
_LEFT, _RIGHT = "tab:blue", "tab:red"


def zeno_scene() -> Scene:
    """The block in the plane y = 0, turning about its lower left edge with RATE."""
    material = Material(friction=1.0)
    scene = Scene(gravity=(0.0, 0.0, -GRAVITY))
    scene.planar()
    scene.add(Body(HalfSpace(np.array([0.0, 0.0, 1.0])), fixed=True, material=material, name="floor"))
    scene.add(
        Body(
            Box((WIDTH, WIDTH, HEIGHT)), mass=MASS, position=(0.0, 0.0, 0.5 * HEIGHT), material=material,
            velocity=(-0.5 * HEIGHT * RATE, 0.0, 0.5 * WIDTH * RATE), angular_velocity=(0.0, -RATE, 0.0),
            name="block",
        )
    )  # fmt: skip
    return scene


@dataclass(frozen=True, eq=False)
class Curves:
    """The motion over s = t + all normal impulse, an impact being two rows of one time.

    time (n,) [s]; angle [rad] and rate [rad/s] of turning to the left; left, right : normal impulse [N s] that
    the corners have had since the start; domain (n,): s, over which velocity is continuous
    """

    time: Array
    angle: Array
    rate: Array
    left: Array
    right: Array
    domain: Array

    @classmethod
    def of(cls, trajectory: Trajectory) -> "Curves":
        """From a run over s; which corner an impulse is of, the law tells of an impact, and the rate between
        them."""
        domain = trajectory.over_impulse()
        impacts = [number for number, event in enumerate(trajectory.events) if event.kind == "impact"]
        parts, impulse, begin = [], np.zeros(2), domain.start
        for number in [*impacts, -1]:
            end = domain.event_s[number, 0] if number >= 0 else domain.end
            s = np.linspace(begin, end, _SAMPLES)
            if number < 0 and trajectory.rest_time is not None:
                s = np.unique(np.append(s, domain.s(trajectory.rest_time)))
            state = domain.sample(s)
            rate = -state.angular_velocity[:, 1, 1]
            pushed = (s - begin) - (state.time - state.time[0])
            # of the left corner: all or none; half of it where infinitely many impacts end, and at rest
            share = 0.5 if number < 0 else 0.5 * (1.0 + np.sign(rate[0]))
            both = impulse + pushed[:, None] * [share, 1.0 - share]
            turn = -2.0 * np.arctan2(state.orientation[:, 1, 2], state.orientation[:, 1, 0])
            parts.append((state.time, turn, rate, *both.T, s))
            if number >= 0:
                impulse = both[-1] + corner_impulses(trajectory.events[number])
                begin = domain.event_s[number, 1]
        return cls(*(np.concatenate(each) for each in zip(*parts, strict=True)))


def corner_impulses(event: Event) -> Array:
    """Normal impulse [N s] of the left and the right lower corner at an impact, both seen in the plane."""
    assert event.outcome is not None
    normal = event.outcome.impulse[::2]
    is_left = event.contacts.point[:, 0] < 0.0
    return np.array([normal[is_left].sum(), normal[~is_left].sum()])


def rates_around(event: Event) -> tuple[float, float]:
    """Rates [rad/s] before an impact and as the law leaves them."""
    assert event.problem is not None
    assert event.outcome is not None
    after = event.problem.generalized_velocity(event.outcome)
    return abs(float(event.before.angular_velocity[1, 1])), abs(float(after[4]))


class ZenoBlock:
    """A block 1 m wide and 2 m high rocks between its lower corners, ever faster, until it stands."""

    name: ClassVar[str] = "zeno-block"
    ending: ClassVar[str] = ".png"

    @cached_property
    def trajectory(self) -> Trajectory:
        """The run until the block stands, from where it is known to rest."""
        return Simulator(zeno_scene(), AnitescuPotra()).run(DURATION)

    @cached_property
    def curves(self) -> Curves:
        """What is drawn."""
        return Curves.of(self.trajectory)

    @cached_property
    def impacts(self) -> list[Event]:
        """All of them; the last stands for the infinite tail as well."""
        return [event for event in self.trajectory.events if event.kind == "impact"]

    @property
    def accumulated(self) -> float:
        """When the impacts have accumulated [s]; infinite where the block did not come to rest."""
        return math.inf if self.trajectory.rest_time is None else self.trajectory.rest_time

    @cached_property
    def accumulated_domain(self) -> float:
        """The same as s."""
        if not self.accumulated <= self.trajectory.end_time:
            return math.inf
        return float(self.trajectory.over_impulse().s(self.accumulated))

    def tables(self) -> list[Table]:
        """Impacts one by one, and where they accumulate."""
        times = impact_times(len(self.impacts))
        rows = []
        for k, event in enumerate(self.impacts):
            before, after = rates_around(event)
            rows.append(
                (
                    f"{k + 1}", f"{event.time:.9f}", f"{event.time - times[k]:+.1e}", f"{before:.9f}",
                    f"{after / before - RATIO:+.1e}", f"{corner_impulses(event).sum():.9f}",
                )
            )  # fmt: skip
        ends = (
            ("t [s]", f"{rest_time():.12f}", f"{self.accumulated:.12f}"),
            ("s = t + impulse", f"{expected_domain():.12f}", f"{self.accumulated_domain:.12f}"),
        )
        return [
            Table(
                (
                    "impact", "time [s]", "off quadrature", "rate before [rad/s]", f"ratio - {RATIO}",
                    "impulse [N s]",
                ),
                tuple(rows),
            ),
            Table(("impacts accumulate at", "quadrature", "carom"), ends),
        ]  # fmt: skip

    def check(self) -> list[Check]:
        """Ratios, times by quadrature, impulses in closed form, and a ledger that closes."""
        rates = np.array([rates_around(event) for event in self.impacts]).reshape(-1, 2)
        count = len(rates)
        # the rising corner's speed reverses to 0.7 of it: m (1 + 0.7) rate w / 2
        pushed = MASS * (1.0 + RATIO) * 0.5 * WIDTH * RATE * RATIO ** np.arange(count)
        impulses = np.array([corner_impulses(event).sum() for event in self.impacts])
        times = np.array([event.time for event in self.impacts])
        residual = self.trajectory.ledger(np.linspace(0.0, self.trajectory.known_until, 401)).residual
        corner = self.trajectory.sample(self.trajectory.known_until).position[1, 0]
        return [
            Check("impacts fewer than 20", max(20 - count, 0), 0),
            Check(
                f"ratio of rates at an impact, off {RATIO}",
                _largest(rates[:, 1] / rates[:, 0] - RATIO),
                1e-10,
            ),
            Check(
                f"ratio of successive impacts, off {RATIO}",
                _largest(np.diff(np.log(rates[:COMPARED_IMPACTS, 0])) - math.log(RATIO)),
                1e-9,
            ),
            Check("impact times, off quadrature [s]", _largest(times - impact_times(count)), 1e-9),
            Check("accumulation time, off quadrature [s]", abs(self.accumulated - rest_time()), 1e-8),
            Check("accumulation in s, error [N s]", abs(self.accumulated_domain - expected_domain()), 1e-7),
            Check("impulses, off closed form [N s]", _largest(impulses - pushed), 1e-9),
            Check("energy ledger, residual [J]", _largest(residual), 1e-8),
            Check("block shifted at the end [m]", abs(float(corner)), 1e-12),
            Check("largest overlap [m]", self.trajectory.largest_overlap(), 1e-12),
        ]  # fmt: skip

    def write(self, path: Path) -> None:
        """Figure 7 above: four instants; figure 8 below: the motion over time and over s."""
        figure = new_figure(14.0, 13.0)
        figure.suptitle("Halm & Posa, section 4.3: a block rocks infinitely often", fontsize=15)
        instants, motion = figure.subfigures(2, 1, height_ratios=(1.0, 2.3))
        self._draw_instants(instants)
        self._draw_motion(motion)
        save_figure(figure, path)

    def _draw_instants(self, figure: Any) -> None:
        first = self.impacts[0].time
        curves = self.curves
        apex = float(curves.time[np.argmax(curves.angle)])
        for axes, time, side, words in zip(
            figure.subplots(1, 4, sharey=True),
            (0.0, apex, first, first),
            ("right", "right", "left", "right"),
            ("start", "highest", "before the first impact", "after it"),
            strict=True,
        ):
            state = self.trajectory.sample(time, side=side)
            axes.set_title(f"{words}, t = {time:.3f} s", fontsize=11)
            _draw_block(axes, state.position[1, ::2], state.velocity[1, ::2], _angle(state), _rate(state))

    def _draw_motion(self, figure: Any) -> None:
        curves = self.curves
        ends = (self.accumulated, self.accumulated_domain)
        words = ("time t [s]", "s = t + normal impulse")
        rows = figure.subplots(3, 2, sharex="col")
        for k, across in enumerate((curves.time, curves.domain)):
            angle, rate, sums = rows[:, k]
            angle.plot(across, 1e3 * curves.angle, color="black", linewidth=1.2)
            angle.set_ylabel("angle [mrad]")
            rate.plot(across, curves.rate, color="black", linewidth=1.2)
            rate.set_ylabel("rate [rad/s]")
            sums.plot(across, curves.left, color=_LEFT, label="normal impulse left [N s]")
            sums.plot(across, curves.right, color=_RIGHT, label="normal impulse right [N s]")
            sums.plot(across, curves.time, color="black", linestyle="--", label="time [s]")
            sums.legend(loc="upper left", fontsize=10)
            sums.set_xlabel(words[k])
            for axes in rows[:, k]:
                axes.axvline(ends[k], color="tab:orange", linewidth=1.2)
                axes.grid(color="0.93")
            angle.set_title(f"impacts accumulate at {ends[k]:.6f}", fontsize=11, color="tab:orange")
            angle.set_xlim(0.0, 1.15 * ends[k])
            sums.set_ylim(0.0, 1.15 * float(curves.left[across <= 1.15 * ends[k]].max()))


def expected_domain() -> float:
    """s at the accumulation time of the quadrature: all impulse there is what gravity and the start ask for."""
    return rest_time() * (1.0 + MASS * GRAVITY) - MASS * 0.5 * WIDTH * RATE


def _largest(errors: Array) -> float:
    """Of any sign; infinite where there is none."""
    return float(np.abs(errors).max()) if errors.size else math.inf


def _angle(state: Any) -> float:
    return -2.0 * math.atan2(state.orientation[1, 2], state.orientation[1, 0])


def _rate(state: Any) -> float:
    return -float(state.angular_velocity[1, 1])


def _draw_block(axes: Any, center: Array, velocity: Array, angle: float, rate: float) -> None:
    """Outline, and the velocities of its centre and lower corners."""
    turn = np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
    half = 0.5 * np.array([WIDTH, HEIGHT])
    corners = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1], [-1, -1]]) * half @ turn.T
    axes.axhline(0.0, color="0.5", linewidth=4)
    axes.fill(*(center + corners).T, facecolor="0.88", edgecolor="black", linewidth=1.5)
    for arm, colour in ((np.zeros(2), "black"), (corners[0], _LEFT), (corners[1], _RIGHT)):
        speed = velocity + rate * np.array([-arm[1], arm[0]])
        start = center + arm
        if np.hypot(*speed) > 0.05:
            axes.annotate(
                "", xy=start + 0.6 * speed, xytext=start,
                arrowprops={"arrowstyle": "-|>", "color": colour, "linewidth": 1.8}, zorder=4,
            )  # fmt: skip
        axes.plot(*start, "o", color=colour, markersize=5, zorder=5)
    axes.set(xlim=(-1.35, 1.1), ylim=(-0.45, 2.3), xlabel="x [m]")
    axes.set_aspect("equal")
