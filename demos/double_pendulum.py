"""A double pendulum over ten thousand steps: the variational integrator keeps its energy, an explicit one not."""

import math
from functools import cached_property
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ..simulator import LagrangianSystem, VariationalIntegrator
from ..viewer.figures import new_figure, save_figure
from .demo import Check, Table

Array = NDArray[np.float64]

GRAVITY = 9.81  # m/s²
STEP, STEPS = 0.04, 10_000  # s
START = np.array([0.9, -0.4])  # rad, both rods from hanging down, at rest


def pendulum_of_angles(**contacts: object) -> LagrangianSystem:
    """Two masses of 1 kg on rods of 1 m; coordinates are the angles of the rods from hanging down."""

    def inertia(q: Array) -> Array:
        coupling = math.cos(q[0] - q[1])
        return np.array([[2.0, coupling], [coupling, 1.0]])

    def inertia_derivative(q: Array) -> Array:
        slope = math.sin(q[0] - q[1])
        swap = np.array([[0.0, slope], [slope, 0.0]])
        return np.array([-swap, swap])

    return LagrangianSystem(
        inertia=inertia,
        inertia_derivative=inertia_derivative,
        potential=lambda q: -GRAVITY * (2.0 * math.cos(q[0]) + math.cos(q[1])),
        potential_gradient=lambda q: GRAVITY * np.array([2.0 * math.sin(q[0]), math.sin(q[1])]),
        **contacts,  # type: ignore[arg-type]
    )


def pendulum_of_points(**contacts: object) -> LagrangianSystem:
    """The same pendulum as two points in the plane, held by two distance constraints."""
    weight = np.array([0.0, GRAVITY, 0.0, GRAVITY])

    def constraints(q: Array) -> Array:
        x1, y1, x2, y2 = q.tolist()
        return 0.5 * np.array([x1**2 + y1**2 - 1.0, (x2 - x1) ** 2 + (y2 - y1) ** 2 - 1.0])

    def constraint_jacobian(q: Array) -> Array:
        x1, y1, x2, y2 = q.tolist()
        return np.array([[x1, y1, 0.0, 0.0], [x1 - x2, y1 - y2, x2 - x1, y2 - y1]])

    return LagrangianSystem(
        inertia=np.eye(4),
        potential=lambda q: float(weight @ q),
        potential_gradient=lambda q: weight,
        constraints=constraints,
        constraint_jacobian=constraint_jacobian,
        **contacts,  # type: ignore[arg-type]
    )


def points_of_angles(angles: Array) -> Array:
    """Where both masses are, (4,) [m]."""
    first = np.array([math.sin(angles[0]), -math.cos(angles[0])])
    return np.concatenate([first, first + np.array([math.sin(angles[1]), -math.cos(angles[1])])])


def explicit_energies(step: float, steps: int) -> Array:
    """Energy [J] of the classical Runge-Kutta method of order 4 with the same steps, from the same start."""

    def rates(state: Array) -> Array:
        a, b, da, db = state.tolist()
        cosine, sine = math.cos(a - b), math.sin(a - b)
        right_a = -sine * db * db - 2.0 * GRAVITY * math.sin(a)
        right_b = sine * da * da - GRAVITY * math.sin(b)
        determinant = 2.0 - cosine * cosine
        return np.array(
            [
                da,
                db,
                (right_a - cosine * right_b) / determinant,
                (2.0 * right_b - cosine * right_a) / determinant,
            ]
        )

    system = pendulum_of_angles()
    state = np.concatenate([START, [0.0, 0.0]])
    energies = np.empty(steps + 1)
    for k in range(steps + 1):
        velocity = state[2:]
        energies[k] = 0.5 * velocity @ system.inertia(state[:2]) @ velocity + system.potential(state[:2])  # type: ignore[operator]
        k1 = rates(state)
        k2 = rates(state + 0.5 * step * k1)
        k3 = rates(state + 0.5 * step * k2)
        k4 = rates(state + step * k3)
        state = state + step / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
    return energies


class DoublePendulum:
    """Energy of one motion in angles, with constraints, and by an explicit method of order 4, all with one step."""

    name: ClassVar[str] = "double-pendulum"
    ending: ClassVar[str] = ".png"

    @cached_property
    def runs(self) -> dict[str, Array]:
        """Energy [J] after every step, by what kept it."""
        energies = {}
        for words, system, start in (
            ("variational, angles", pendulum_of_angles(), START),
            ("variational, points on rods", pendulum_of_points(), points_of_angles(START)),
        ):
            integrator = VariationalIntegrator(system, start, step_size=STEP, velocity=np.zeros(start.size))
            trajectory = integrator.run(STEP * STEPS)
            energies[words] = trajectory.energy
            if system.constraints is not None:
                self.violation = float(np.abs(trajectory.constraint_violation).max())
        energies["explicit, order 4"] = explicit_energies(STEP, STEPS)
        return energies

    @staticmethod
    def drift(energy: Array) -> tuple[float, float]:
        """Change of a line fitted to the energy over the whole run, and the spread about it [J]."""
        where = np.linspace(-0.5, 0.5, energy.size)
        slope, _ = np.polyfit(where, energy, 1)
        return float(slope), float(np.ptp(energy - slope * where))

    def tables(self) -> list[Table]:
        """Drift and oscillation of each."""
        rows = []
        for words, energy in self.runs.items():
            drift, spread = self.drift(energy)
            rows.append((words, f"{drift:.2e}", f"{spread:.3f}"))
        return [Table((f"{STEPS} steps of {STEP:g} s", "drift [J]", "oscillation [J]"), tuple(rows))]

    def check(self) -> list[Check]:
        """No drift beyond a hundredth of the oscillation; the explicit method loses more than ten times as much."""
        drifts = {words: self.drift(energy) for words, energy in self.runs.items()}
        explicit = abs(drifts.pop("explicit, order 4")[0])
        largest = max(abs(drift) for drift, _ in drifts.values())
        return [
            Check(
                "drift over oscillation", max(abs(drift) / spread for drift, spread in drifts.values()), 0.01
            ),
            Check("oscillation [J]", max(spread for _, spread in drifts.values()), 0.5),
            Check("rods longer or shorter [m²]", self.violation, 1e-14),
            Check("drift over that of the explicit method", largest / explicit, 0.1),
        ]

    def write(self, path: Path) -> None:
        """Energy over time."""
        figure = new_figure(12.0, 6.0)
        axes = figure.subplots()
        time = STEP * np.arange(STEPS + 1)
        colours = ("tab:blue", "tab:green", "tab:red")
        for (words, energy), colour in zip(reversed(self.runs.items()), reversed(colours), strict=True):
            axes.plot(time, energy - energy[0], color=colour, linewidth=0.5, label=words)
        axes.set(xlabel="time [s]", ylabel="energy - energy at the start [J]", xlim=(0.0, time[-1]))
        axes.set_title(f"double pendulum, {STEPS} steps of {STEP:g} s")
        axes.grid(color="0.92")
        legend = axes.legend(loc="lower left", fontsize=11)
        for line in legend.get_lines():
            line.set_linewidth(2.5)
        save_figure(figure, path)
