"""Painlevé's rod in time: where it keeps sliding, and where an impact without a collision stops its tip."""

import math
from functools import cached_property
from pathlib import Path
from typing import ClassVar

import numpy as np

from ..bodies import Body, ConvexMesh, HalfSpace, Material, Scene
from ..impact_laws import MaximumDissipation
from ..simulator import Simulator, Trajectory
from ..viewer.figures import new_figure, save_figure
from .demo import Check, Table
from .measured import even_times, ledger_check
from .painleve_rod import LENGTH, MASS, SPEED, critical_friction, stopping_impulse

ANGLES = np.radians(np.arange(10.0, 80.5, 2.5))  # rad
FRICTIONS = np.linspace(0.5, 3.0, 26)
LEFT_OUT = 1e-9  # of friction, on both sides of the boundary
SIDES = np.array([-1e-3, -1e-6, -1.01e-9, 1.01e-9, 1e-6, 1e-3])  # of friction from the boundary
RUNS = ((63.4, 1.25), (63.4, 1.6), (30.0, 2.0), (75.0, 1.0), (75.0, 2.5))  # °, friction
DURATION = 0.3  # s, of these
_THIN = 1e-3  # m


def rod_scene(angle: float, friction: float) -> Scene:
    """A needle with one corner on the floor, sliding towards -x at 1 m/s without turning, at an angle [rad]."""
    middle = ((0.0, _THIN, 0.0), (0.0, -_THIN, 0.0), (0.0, 0.0, _THIN), (0.0, 0.0, -_THIN))
    corners = np.array([(0.5 * LENGTH, 0.0, 0.0), (-0.5 * LENGTH, 0.0, 0.0), *middle])
    across = MASS * LENGTH**2 / 12.0
    material = Material(friction=friction)
    scene = Scene()
    scene.add(Body(HalfSpace(np.array([0.0, 0.0, 1.0])), fixed=True, material=material, name="floor"))
    rod = Body(
        ConvexMesh(corners),
        mass=MASS,
        inertia=np.diag([MASS * _THIN**2, across, across]),
        position=(0.5 * LENGTH * math.cos(angle), 0.0, 0.5 * LENGTH * math.sin(angle)),
        orientation=(math.cos(0.5 * angle), 0.0, -math.sin(0.5 * angle), 0.0),
        velocity=(-SPEED, 0.0, 0.0),
        material=material,
        name="rod",
    )
    scene.add(rod)
    return scene


def started(angle: float, friction: float) -> Simulator:
    """A simulation of the rod at its start, where lasting contact or an impact has been decided."""
    simulator = Simulator(rod_scene(angle, friction), MaximumDissipation())
    simulator.run(0.0)
    return simulator


def stops(angle: float, friction: float) -> bool:
    """Whether the simulation begins with an impact without collision."""
    events = started(angle, friction).trajectory.events
    return bool(events) and events[0].kind == "impact" and "without collision" in events[0].note


class PainleveMap:
    """Mode of the rod over friction and angle, by simulation, against the closed form of the critical friction."""

    name: ClassVar[str] = "painleve-map"
    ending: ClassVar[str] = ".png"

    @cached_property
    def modes(self) -> np.ndarray:
        """Whether the rod stops (angles, frictions)."""
        return np.array([[stops(angle, friction) for friction in FRICTIONS] for angle in ANGLES])

    @cached_property
    def runs(self) -> list[Trajectory]:
        """The rod in time, for the angles and frictions of RUNS."""
        return [started(math.radians(degrees), friction).run(DURATION) for degrees, friction in RUNS]

    def tables(self) -> list[Table]:
        """What happened in the runs."""
        rows = []
        for (degrees, friction), run in zip(RUNS, self.runs, strict=True):
            words = ", ".join(f"{event.kind} at {event.time:.6f} s" for event in run.events[:4]) or "none"
            critical = f"{critical_friction(math.radians(degrees)):.6f}"
            lost = float(run.ledger(run.end_time).impacts)
            rows.append((f"{degrees:g}", f"{friction:g}", critical, words, f"{lost:.6f}"))
        header = ("angle [°]", "friction", "critical", "first events", "energy of impacts [J]")
        return [Table(header, tuple(rows))]

    def check(self) -> list[Check]:
        """The map, both sides of its boundary, the impulse, and the energy of runs."""
        critical = np.array([critical_friction(angle) for angle in ANGLES])
        away = np.abs(FRICTIONS - critical[:, None]) >= LEFT_OUT
        wrong = int(((self.modes != (critical[:, None] <= FRICTIONS)) & away).sum())
        beside = sum(
            stops(angle, friction + side) != (side > 0.0)
            for angle, friction in zip(ANGLES, critical, strict=True)
            for side in SIDES
        )
        impulse = max(_impulse_error(angle, 1.1 * critical_friction(angle)) for angle in ANGLES)
        ended = sum(run.status.value not in ("reached_end", "at_rest") for run in self.runs)
        ledger = max((ledger_check(run) for run in self.runs), key=lambda check: check.value)
        return [
            Check(f"points of {away.sum()} in the wrong mode", float(wrong), 0.0),
            Check(f"points of {len(ANGLES) * len(SIDES)} beside the boundary in the wrong mode", beside, 0.0),
            Check("impulse that stops the tip, error [N s]", impulse, 1e-12),
            Check("runs that did not reach their end", float(ended), 0.0),
            ledger,
            Check("largest overlap [m]", max(run.largest_overlap() for run in self.runs), 1e-9),
        ]

    def write(self, path: Path) -> None:
        """The map, and the energy of the rod that an impact stops."""
        figure = new_figure(15.0, 6.5)
        left, right = figure.subplots(1, 2)
        degrees, frictions = np.meshgrid(np.degrees(ANGLES), FRICTIONS, indexing="ij")
        for stopped, words, colour in (
            (False, "keeps sliding", "tab:blue"),
            (True, "impact without collision", "tab:red"),
        ):
            shown = self.modes == stopped
            left.plot(degrees[shown], frictions[shown], ".", color=colour, markersize=7, label=words)
        fine = np.radians(np.linspace(8.0, 82.0, 400))
        critical = [critical_friction(angle) for angle in fine]
        left.plot(np.degrees(fine), critical, color="black", linewidth=1.6, label="closed form")
        left.set(xlim=(8, 82), ylim=(0.4, 3.1), xlabel="angle θ [°]", ylabel="friction μ")
        left.set_title("how a rod that slides at 1 m/s goes on")
        left.legend(loc="upper center", bbox_to_anchor=(0.5, -0.1), ncols=3)
        run = self.runs[1]
        times = even_times(run)
        ledger = run.ledger(times)
        lines = (
            (ledger.kinetic, "kinetic"),
            (ledger.potential - ledger.potential[0], "potential, from the start"),
            (ledger.friction, "work of friction"),
            (ledger.impacts, "impacts"),
        )
        for values, words in lines:
            right.plot(times, values, label=words)
        right.axhline(0.5 * MASS * SPEED**2, color="0.6", linestyle=":", label="kinetic, before the impact")
        right.set(xlabel="time [s]", ylabel="energy [J]", xlim=(0.0, run.end_time))
        right.set_title(
            f"θ = {RUNS[1][0]:g}°, μ = {RUNS[1][1]:g}: the impact at the start, then the rod rises"
        )
        right.legend()
        right.grid(color="0.92")
        save_figure(figure, path)


def _impulse_error(angle: float, friction: float) -> float:
    """Of the impulse that the simulation begins with, from the closed form [N s]."""
    event = started(angle, friction).trajectory.events[0]
    if event.outcome is None:
        return math.inf
    patch = event.contacts
    frame = np.stack([patch.normal[0], patch.tangent[0], patch.tangent2[0]])
    normal, along, other = stopping_impulse(angle)
    return float(np.abs(event.outcome.impulse @ frame - [along, other, normal]).max())
