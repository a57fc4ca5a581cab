"""Linkages moved twice: by the engine's joints, and by the variational integrator with constraints."""

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..bodies import Body, Box, RevoluteJoint, Scene
from ..impact_laws import AnitescuPotra
from ..simulator import LagrangianSystem, Simulator, State, Trajectory, VariationalIntegrator
from ..viewer.figures import new_figure, save_figure
from .demo import Check, Table

Array = NDArray[np.float64]

GRAVITY = 9.81  # m/s²
COMPARED = 1.0  # s
STEPS = 0.01 / 2.0 ** np.arange(5)  # s
LONG, LONG_STEP = 40.0, 0.01  # s
_AXIS = np.array([0.0, 1.0, 0.0])


@dataclass(frozen=True)
class Bar:
    """A uniform bar in the plane, and how it starts.

    ends (2, 2) : (x, z) [m]; velocities (2, 2) : of the ends [m/s], which keep its length; mass [kg]
    """

    ends: Array
    velocities: Array
    mass: float

    def body(self, name: str) -> Body:
        """The bar, turned about y."""
        (a, b), (va, vb) = self.ends, self.velocities
        length = float(np.linalg.norm(b - a))
        angle = math.atan2(a[1] - b[1], b[0] - a[0])
        spin = float((b - a)[1] * (vb - va)[0] - (b - a)[0] * (vb - va)[1]) / length**2
        return Body(
            Box((length, 0.05, 0.05)), mass=self.mass, position=_in_space(0.5 * (a + b)),
            orientation=(math.cos(0.5 * angle), 0.0, math.sin(0.5 * angle), 0.0),
            velocity=_in_space(0.5 * (va + vb)), angular_velocity=spin * _AXIS, name=name,
        )  # fmt: skip


def double_pendulum() -> Scene:
    """Two bars, the first turned by 0.9 rad from hanging down, the second by -0.4 rad, at rest."""
    places = [np.zeros(2)]
    for angle in (0.9, -0.4):
        places.append(places[-1] + np.array([math.sin(angle), -math.cos(angle)]))
    still = np.zeros((2, 2))
    bars = [Bar(np.array(places[k : k + 2]), still, 1.0) for k in range(2)]
    return _linkage(bars, [(0, None, places[0]), (1, 0, places[1])])


def four_bar() -> Scene:
    """A crank of 0.4 m at 1.2 rad turning with 6 rad/s, a coupler of 1.1 m, a rocker of 0.9 m, 1 m of ground."""
    ground, crank, coupler, rocker = 1.0, 0.4, 1.1, 0.9
    angle, rate = 1.2, 6.0
    pin = crank * np.array([math.cos(angle), math.sin(angle)])
    far = np.array([ground, 0.0])
    span = float(np.linalg.norm(far - pin))
    unit = (far - pin) / span
    along = (coupler**2 - rocker**2 + span**2) / (2.0 * span)
    tip = pin + along * unit + math.sqrt(coupler**2 - along**2) * np.array([-unit[1], unit[0]])
    pin_rate = rate * crank * np.array([-math.sin(angle), math.cos(angle)])
    tip_rate = np.linalg.solve(np.array([tip - pin, tip - far]), np.array([(tip - pin) @ pin_rate, 0.0]))
    bars = [
        Bar(np.array([[0.0, 0.0], pin]), np.array([[0.0, 0.0], pin_rate]), 1.0),
        Bar(np.array([pin, tip]), np.array([pin_rate, tip_rate]), 1.5),
        Bar(np.array([far, tip]), np.array([[0.0, 0.0], tip_rate]), 2.0),
    ]
    return _linkage(bars, [(0, None, np.zeros(2)), (1, 0, pin), (2, 1, tip), (2, None, far)])


def _linkage(bars: list[Bar], hinges: list[tuple[int, int | None, Array]]) -> Scene:
    """Bars that pass through each other, on hinges (bar, base, place)."""
    scene = Scene(gravity=(0.0, 0.0, -GRAVITY))
    scene.planar()
    for k, bar in enumerate(bars):
        scene.add(bar.body(f"bar {k}"))
        for other in range(k):
            scene.disable_collision(k, other)
    for bar_number, base, place in hinges:
        scene.add_joint(RevoluteJoint(bar_number, base, anchor=_in_space(place), axis=_AXIS))
    return scene


def coordinates(state: State) -> Array:
    """(x, z, angle about y) [m, m, rad] of every body, (..., 3 n), angles within half a turn of zero."""
    angle = 2.0 * np.arctan2(state.orientation[..., 2], state.orientation[..., 0])
    angle = np.remainder(angle + np.pi, 2.0 * np.pi) - np.pi
    found = np.stack([state.position[..., 0], state.position[..., 2], angle], axis=-1)
    return np.asarray(found.reshape(*found.shape[:-2], -1))


def lagrangian_system(scene: Scene) -> LagrangianSystem:
    """A planar scene of bodies on revolute joints, in x, z and angle of each: a joint is two constraints."""
    count = len(scene.bodies)
    masses = [(b.mass, b.mass, float(b.inertia[1, 1])) for b in scene.bodies]
    weight = np.array([(0.0, b.mass * GRAVITY, 0.0) for b in scene.bodies]).ravel()
    start = coordinates(_start(scene)).reshape(count, 3)
    pins: list[list[tuple[float, int, Array]]] = []
    fixed = np.zeros((len(scene.joints), 2))
    for k, placed in enumerate(scene.joints):
        anchor = np.asarray(placed.joint.anchor)[[0, 2]]  # type: ignore[attr-defined]
        ends = [(1.0, placed.body), *([(-1.0, placed.base)] if placed.base >= 0 else [])]
        pins.append([(s, b, _turn(-start[b, 2]) @ (anchor - start[b, :2])) for s, b in ends])
        if placed.base < 0:
            fixed[k] = anchor

    def constraints(q: Array) -> Array:
        found = -fixed
        for row, ends in zip(found, pins, strict=True):
            for sign, body, arm in ends:
                x, z, angle = q[3 * body : 3 * body + 3]
                row += sign * (np.array([x, z]) + _turn(angle) @ arm)
        return np.asarray(found.ravel())

    def constraint_jacobian(q: Array) -> Array:
        rows = np.zeros((len(pins), 2, 3 * count))
        for row, ends in zip(rows, pins, strict=True):
            for sign, body, arm in ends:
                row[:, 3 * body : 3 * body + 2] = sign * np.eye(2)
                row[:, 3 * body + 2] = sign * _turn(q[3 * body + 2] + 0.5 * np.pi) @ arm
        return rows.reshape(-1, 3 * count)

    return LagrangianSystem(
        inertia=np.diag(np.ravel(masses)),
        potential=lambda q: float(weight @ q),
        potential_gradient=lambda q: weight,
        constraints=constraints,
        constraint_jacobian=constraint_jacobian,
    )


class Linkage:
    """One scene, moved by both."""

    def __init__(self, title: str, scene: Scene):
        self.title = title
        self.scene = scene

    @cached_property
    def engine(self) -> Trajectory:
        """By the engine's joints."""
        return Simulator(self.scene, AnitescuPotra()).run(LONG, stop_at_rest=False)

    def variational(self, step: float, until: float) -> VariationalIntegrator:
        """By the variational integrator, already run."""
        state = _start(self.scene)
        velocity = np.stack(
            [state.velocity[:, 0], state.velocity[:, 2], state.angular_velocity[:, 1]], axis=1
        )
        integrator = VariationalIntegrator(
            lagrangian_system(self.scene), coordinates(state), step_size=step, velocity=velocity.ravel()
        )
        integrator.run(until)
        return integrator

    @cached_property
    def ends(self) -> Array:
        """Where the steps STEPS bring it by COMPARED, (steps, 3 n)."""
        return np.array([self.variational(float(h), COMPARED).state.position for h in STEPS])

    @cached_property
    def errors(self) -> Array:
        """Largest difference of these to the engine [m or rad]."""
        return np.abs(_near(self.ends - coordinates(self.engine.sample(COMPARED)))).max(axis=1)

    @property
    def orders(self) -> Array:
        """Of convergence, between one step and the next."""
        return np.asarray(np.log2(self.errors[:-1] / self.errors[1:]))

    @property
    def extrapolated(self) -> float:
        """Difference to the engine [m or rad] of the limit for small steps; errors are even powers of these."""
        values = list(self.ends)
        for power in range(1, len(values)):
            factor = 4.0**power
            values = [(factor * b - a) / (factor - 1.0) for a, b in pairwise(values)]
        return float(np.abs(_near(values[0] - coordinates(self.engine.sample(COMPARED)))).max())

    @cached_property
    def long_energy(self) -> tuple[Array, Array, float]:
        """Times, energy [J] of the variational run over LONG, and its largest violation of a joint."""
        trajectory = self.variational(LONG_STEP, LONG).trajectory
        return trajectory.times, trajectory.energy, float(trajectory.constraint_violation.max())

    @cached_property
    def drift(self) -> tuple[float, float]:
        """Change of a line fitted to that energy over the run, and the spread about it [J]."""
        times, energy, _ = self.long_energy
        where = times / LONG - 0.5
        slope, _ = np.polyfit(where, energy, 1)
        return float(slope), float(np.ptp(energy - slope * where))

    @cached_property
    def engine_energy(self) -> tuple[Array, Array]:
        """Times, and what the engine's energy changes by [J]."""
        times = np.linspace(0.0, LONG, 2001)
        return times, np.asarray(self.engine.ledger(times).residual)

    @property
    def engine_violation(self) -> float:
        """Largest violation of a joint [m] in the engine's run, by the constraints of the other."""
        constraints = lagrangian_system(self.scene).constraints
        assert constraints is not None
        states = coordinates(self.engine.sample(np.linspace(0.0, LONG, 401)))
        return max(float(np.abs(constraints(q)).max()) for q in states)


class VariationalJoints:
    """A double pendulum and a closed four-bar linkage: one motion to the second order, energy without drift."""

    name: ClassVar[str] = "variational-joints"
    ending: ClassVar[str] = ".png"

    @cached_property
    def linkages(self) -> list[Linkage]:
        """Both."""
        return [Linkage("double pendulum", double_pendulum()), Linkage("four-bar linkage", four_bar())]

    def tables(self) -> list[Table]:
        """Convergence, and what both keep."""
        convergence = [
            (
                f"{h:g} s",
                *(
                    word
                    for each in self.linkages
                    for word in (f"{each.errors[k]:.2e}", _order(each.orders, k))
                ),
            )
            for k, h in enumerate(STEPS)
        ]
        kept = []
        for each in self.linkages:
            drift, spread = each.drift
            _, energy = each.engine_energy
            kept += [
                (f"{each.title}, variational", f"{drift:.1e}", f"{spread:.1e}", f"{each.long_energy[2]:.1e}"),
                (
                    f"{each.title}, engine", f"{energy[-1]:.1e}", f"{np.ptp(energy):.1e}",
                    f"{each.engine_violation:.1e}",
                ),
            ]  # fmt: skip
        names = [each.title for each in self.linkages]
        return [
            Table((f"step, {COMPARED:g} s", names[0], "order", names[1], "order"), tuple(convergence)),
            Table(
                (f"{LONG:g} s, step {LONG_STEP:g} s", "drift [J]", "spread [J]", "joints off"), tuple(kept)
            ),
        ]

    def check(self) -> list[Check]:
        """Second order towards the engine's motion, joints kept by both, and their energies."""
        each = self.linkages
        return [
            Check("order of convergence, off 2", max(float(np.abs(e.orders[1:] - 2.0).max()) for e in each), 0.05),
            Check("limit of small steps, off the engine", max(e.extrapolated for e in each), 1e-8),
            Check("variational: joints off [m]", max(e.long_energy[2] for e in each), 1e-12),
            Check("variational: drift over oscillation", max(abs(e.drift[0]) / e.drift[1] for e in each), 0.02),
            Check("engine: joints off [m]", max(e.engine_violation for e in each), 1e-10),
            Check(
                "engine: energy ledger, residual [J]",
                max(float(np.abs(e.engine_energy[1]).max()) for e in each),
                1e-8,
            ),
        ]  # fmt: skip

    def write(self, path: Path) -> None:
        """Motions, convergence and energies."""
        figure = new_figure(15.0, 9.0)
        figure.suptitle("Linkages on revolute joints, moved by two integrators", fontsize=15)
        for row, linkage in zip(figure.subplots(2, 3), self.linkages, strict=True):
            _draw_motion(row[0], linkage)
            _draw_convergence(row[1], linkage)
            _draw_energy(row[2], linkage)
        save_figure(figure, path)


def _draw_motion(axes: Any, linkage: Linkage) -> None:
    """Bars at the start, and the ways of their middles by both."""
    times = np.linspace(0.0, COMPARED, 400)
    motion = coordinates(linkage.engine.sample(times)).reshape(len(times), -1, 3)
    steps = linkage.variational(float(STEPS[0]), COMPARED).trajectory.positions.reshape(
        -1, motion.shape[1], 3
    )
    colours = ("tab:blue", "tab:red", "tab:green")
    for k, body in enumerate(linkage.scene.bodies):
        reach = 0.5 * float(body.shape.lengths[0]) * _turn(motion[0, k, 2])[:, 0]  # type: ignore[attr-defined]
        ends = np.array([motion[0, k, :2] - reach, motion[0, k, :2] + reach])
        axes.plot(*ends.T, color=colours[k], linewidth=5, alpha=0.35, solid_capstyle="round")
        axes.plot(*motion[:, k, :2].T, color=colours[k], linewidth=1.2, label="engine" if k == 0 else None)
        axes.plot(
            *steps[::4, k, :2].T, ".", color="black", markersize=4, zorder=4,
            label=f"variational, 4 steps of {STEPS[0]:g} s" if k == 0 else None,
        )  # fmt: skip
    axes.set(xlabel="x [m]", ylabel="z [m]", title=f"{linkage.title}, {COMPARED:g} s, from the wide bars")
    axes.margins(0.05, 0.25)  # room for the legend
    axes.set_aspect("equal", adjustable="datalim")
    axes.legend(loc="upper left", fontsize=9)
    axes.grid(color="0.93")


def _draw_convergence(axes: Any, linkage: Linkage) -> None:
    axes.loglog(STEPS, linkage.errors, "o-", color="tab:blue", label="variational - engine")
    axes.loglog(
        STEPS, 0.5 * linkage.errors[-1] * (STEPS / STEPS[-1]) ** 2, "--", color="0.5", label="second order"
    )
    axes.set(
        xlabel="step [s]", ylabel="largest difference [m or rad]", title=f"{linkage.title}, at {COMPARED:g} s"
    )
    axes.legend(fontsize=10)
    axes.grid(which="both", color="0.93")


def _draw_energy(axes: Any, linkage: Linkage) -> None:
    times, energy, _ = linkage.long_energy
    axes.plot(
        times, energy - energy[0], color="tab:blue", linewidth=0.5, label=f"variational, step {LONG_STEP:g} s"
    )
    times, residual = linkage.engine_energy
    axes.plot(
        times,
        residual,
        color="tab:red",
        linewidth=1.5,
        label=f"engine, within {np.abs(residual).max():.0e} J",
    )
    axes.set(xlabel="time [s]", ylabel="energy - energy at the start [J]", title=f"{linkage.title}, energy")
    axes.margins(y=0.25)  # room for the legend
    legend = axes.legend(loc="lower right", fontsize=10)
    legend.get_lines()[0].set_linewidth(2.5)
    axes.grid(color="0.93")


def _order(orders: Array, k: int) -> str:
    return f"{orders[k - 1]:.3f}" if k else ""


def _start(scene: Scene) -> State:
    """The state in which a scene starts."""
    bodies = scene.bodies
    return State(
        0.0,
        np.array([body.position for body in bodies]),
        np.array([body.orientation for body in bodies]),
        np.array([body.velocity for body in bodies]),
        np.array([body.angular_velocity for body in bodies]),
        scene,
    )


def _near(difference: Array) -> Array:
    """Differences of coordinates, those of angles without whole turns."""
    found = difference.copy()
    angles = found[..., 2::3]
    angles -= 2.0 * np.pi * np.round(angles / (2.0 * np.pi))
    return np.asarray(found)


def _turn(angle: float) -> Array:
    """(2, 2), turns (x, z) about y."""
    cosine, sine = math.cos(angle), math.sin(angle)
    return np.array([[cosine, sine], [-sine, cosine]])


def _in_space(place: Array) -> Array:
    return np.array([place[0], 0.0, place[1]])
