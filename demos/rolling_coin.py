"""Coins that roll: one about its own middle, as one that has been spun, and one around a circle."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..bodies import Body, Cylinder, HalfSpace, Material, Scene
from ..simulator import Trajectory
from .demo import Check
from .measured import even_times, ledger_check

GRAVITY = 9.81  # m/s²
RADIUS, THICKNESS, DENSITY = 0.125, 0.0125, 2000.0  # m, m, kg/m³
FRICTION = 0.6


@dataclass(frozen=True)
class Coin:
    """A coin tilted [rad] from lying flat; its middle goes around `centre` (x, y) at `distance` [m]."""

    name: str
    tilt: float
    distance: float
    centre: tuple[float, float]

    @property
    def contact(self) -> tuple[float, float]:
        """Where it touches, from its middle: outwards and upwards [m]."""
        s, c = math.sin(self.tilt), math.cos(self.tilt)
        return RADIUS * c - 0.5 * THICKNESS * s, -RADIUS * s - 0.5 * THICKNESS * c

    @property
    def precession(self) -> float:
        """Rate [rad/s] at which it goes around steadily, without slip, by the change of its angular momentum.

        For a thin coin that stays in its place it is √(4 g / (r sin tilt)).
        """
        s, c = math.sin(self.tilt), math.cos(self.tilt)
        outwards, upwards = self.contact
        across, _, along = np.diag(Cylinder(RADIUS, THICKNESS).unit_mass_inertia())
        inertia = along * s * (self.distance + outwards) / RADIUS - self.distance * upwards
        return math.sqrt(GRAVITY * outwards / float(inertia + (across - along) * s * c))

    @property
    def spin(self) -> float:
        """Rate about its axis, seen from what goes around with it, that lets it roll [rad/s]."""
        return -self.precession * (self.distance + self.contact[0]) / RADIUS

    def body(self) -> Body:
        """The coin outwards of its centre along x."""
        s, c = math.sin(self.tilt), math.cos(self.tilt)
        return Body(
            Cylinder(RADIUS, THICKNESS),
            density=DENSITY,
            material=Material(friction=FRICTION),
            name=self.name,
            position=(self.centre[0] + self.distance, self.centre[1], -self.contact[1]),
            orientation=(math.cos(0.5 * self.tilt), 0.0, math.sin(0.5 * self.tilt), 0.0),
            velocity=(0.0, self.precession * self.distance, 0.0),
            angular_velocity=(self.spin * s, 0.0, self.precession + self.spin * c),
        )

    def middle(self, times: np.ndarray) -> np.ndarray:
        """Where its middle is at times (T,), (T, 3) [m]."""
        turned = self.precession * times
        around = self.distance * np.stack([np.cos(turned), np.sin(turned)], axis=1) + self.centre
        return np.column_stack([around, np.full(len(times), -self.contact[1])])

    def axis(self, times: np.ndarray) -> np.ndarray:
        """Its upper axis at times (T,), (T, 3)."""
        turned = self.precession * times
        s, c = math.sin(self.tilt), math.cos(self.tilt)
        return np.stack([s * np.cos(turned), s * np.sin(turned), np.full(len(times), c)], axis=1)


COINS = (
    Coin("spun", math.radians(25.0), 0.0, (0.0, 0.0)),
    Coin("around", math.radians(60.0), 0.5, (1.0, 0.0)),
)


class RollingCoin:
    """A coin rolls on its rim in its place, another around a circle, both at the rate of steady precession."""

    name: ClassVar[str] = "rolling-coin"
    law: ClassVar[str] = "stronge-coulomb"
    duration: ClassVar[float] = 2.0

    def scene(self) -> Scene:
        """Both coins on one floor, already rolling."""
        scene = Scene(gravity=(0.0, 0.0, -GRAVITY))
        material = Material(friction=FRICTION)
        scene.add(Body(HalfSpace(np.array([0.0, 0.0, 1.0])), fixed=True, material=material, name="floor"))
        for coin in COINS:
            scene.add(coin.body())
        return scene

    def check(self, trajectory: Trajectory) -> list[Check]:
        """Place and axis of both over time, no slip, and energy."""
        times = even_times(trajectory)
        state = trajectory.sample(times)
        checks = []
        for number, coin in enumerate(COINS, start=1):
            w, x, y, z = state.orientation[:, number].T
            axis = np.stack([2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)], axis=1)
            turned = coin.precession * times
            outwards, upwards = coin.contact
            arm = np.column_stack(
                [outwards * np.cos(turned), outwards * np.sin(turned), np.full(len(times), upwards)]
            )
            slip = state.velocity[:, number] + np.cross(state.angular_velocity[:, number], arm)
            place = state.position[:, number] - coin.middle(times)
            checks += [
                Check(f"{coin.name}: place, error [m]", float(np.abs(place).max()), 1e-9),
                Check(f"{coin.name}: axis, error", float(np.abs(axis - coin.axis(times)).max()), 1e-9),
                Check(f"{coin.name}: slip [m/s]", float(np.abs(slip).max()), 1e-9),
            ]
        friction = float(np.abs(trajectory.ledger(times).friction).max())
        return [
            *checks,
            Check("simulated time, short of what was asked [s]", self.duration - trajectory.end_time, 0.0),
            Check("work of friction [J]", friction, 1e-9),
            ledger_check(trajectory),
            Check("largest overlap [m]", trajectory.largest_overlap(), 1e-9),
        ]
