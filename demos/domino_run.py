"""A row of dominoes on hinges: each falls onto the next, and the wave takes on a speed of its own."""

import math
from typing import ClassVar

import numpy as np
from scipy.integrate import quad

from ..bodies import Body, Box, HalfSpace, Material, RevoluteJoint, Scene
from ..simulator import Trajectory
from .demo import Check
from .measured import even_times, joints_check, ledger_check

GRAVITY = 9.81  # m/s²
DOMINOES = 12
HEIGHT, DEPTH, WIDTH = 0.4, 0.06, 0.2  # m
PITCH = 0.2  # m from one to the next
MASS = 1.0  # kg
PUSH = 1.5  # rad/s of the first
LARGEST = 1.4  # rad, where a domino that nothing holds comes to its limit

_INERTIA = MASS * (HEIGHT**2 + DEPTH**2) / 3.0  # about the foot
_TOUCH = math.asin((PITCH - DEPTH) / HEIGHT)  # rad at which one touches the next, which stands


def fallen(front: float, count: int) -> tuple[float, float]:
    """Of `count` dominoes that lean on each other: inertia [kg m²] and potential energy above standing [J] over the
    angle `front` [rad] of the one that fell last.

    The upper edge of a domino at θ lies on the back of one at φ: HEIGHT sin(θ - φ) = PITCH cos φ - DEPTH.
    """
    angle, rate, inertia, energy = front, 1.0, 0.0, 0.0
    for _ in range(count):
        inertia += _INERTIA * rate**2
        rise = HEIGHT * (math.cos(angle) - 1.0) + DEPTH * math.sin(angle)
        energy += 0.5 * MASS * GRAVITY * rise
        between = math.asin((PITCH * math.cos(angle) - DEPTH) / HEIGHT)
        rate *= 1.0 - PITCH * math.sin(angle) / (HEIGHT * math.cos(between))
        angle += between
    return inertia, energy


def touch_times(dominoes: int = DOMINOES) -> np.ndarray:
    """When each domino of a row touches the next, (dominoes - 1,) [s].

    Between touches all that fall are one mechanism that keeps its energy; a touch keeps its momentum.
    """
    times, rate = [0.0], PUSH
    for count in range(1, dominoes):
        inertia, potential = fallen(0.0, count)
        energy = 0.5 * inertia * rate**2 + potential

        def slowness(angle: float, count: int = count, energy: float = energy) -> float:
            inertia, potential = fallen(angle, count)
            return math.sqrt(0.5 * inertia / (energy - potential))

        times.append(times[-1] + quad(slowness, 0.0, _TOUCH, epsabs=1e-13, epsrel=1e-13)[0])
        inertia, _ = fallen(_TOUCH, count)
        rate = inertia / (inertia + _INERTIA) / slowness(_TOUCH)
    return np.array(times[1:])


class DominoRun:
    """Twelve dominoes, hinged at their feet as on a rough floor and smooth on their faces; the first is pushed.

    Touches are plastic, so all that have fallen go on together. The times between touches come to a limit, as more
    and more of them push.
    """

    name: ClassVar[str] = "domino-run"
    law: ClassVar[str] = "stronge-coulomb"
    duration: ClassVar[float] = 3.0

    def scene(self) -> Scene:
        """Dominoes along x, hinged at the lower edge towards the next, over a floor just out of reach."""
        material = Material(friction=0.0)
        scene = Scene(gravity=(0.0, 0.0, -GRAVITY))
        floor = HalfSpace(np.array([0.0, 0.0, 1.0]), offset=-0.01)
        scene.add(Body(floor, fixed=True, material=material, name="floor"))
        for number in range(DOMINOES):
            rate = 0.0 if number else PUSH
            foot = PITCH * number
            domino = Body(
                Box((DEPTH, WIDTH, HEIGHT)),
                mass=MASS,
                material=material,
                name=f"domino-{number + 1}",
                position=(foot - 0.5 * DEPTH, 0.0, 0.5 * HEIGHT),
                velocity=(0.5 * HEIGHT * rate, 0.0, 0.5 * DEPTH * rate),
                angular_velocity=(0.0, rate, 0.0),
            )
            hinge = RevoluteJoint(
                scene.add(domino), anchor=(foot, 0.0, 0.0), axis=(0.0, 1.0, 0.0), limits=(0.0, LARGEST)
            )
            scene.add_joint(hinge)
        return scene

    def check(self, trajectory: Trajectory) -> list[Check]:
        """Times of all touches by quadrature, the order, the limit of the speed, and energy."""
        touches = first_touches(trajectory)
        expected = touch_times()
        late, slow = math.inf, math.inf
        if len(touches) == len(expected):
            late = float(np.abs(touches - expected).max())
            limit = float(np.diff(touch_times(4 * DOMINOES))[-1])
            slow = float(np.diff(touches)[-1]) / limit - 1.0
        times = even_times(trajectory)
        state = trajectory.sample(times)
        lean = 2.0 * np.arctan2(state.orientation[:, 1:, 2], state.orientation[:, 1:, 0])
        falling = lean[times <= expected[-1]]  # later those at the end lie flatter than those before them
        return [
            Check(f"times of {len(expected)} touches, off the quadrature [s]", late, 1e-9),
            Check("last time between touches, above their limit", slow, 0.05),
            Check("out of order [rad]", float(np.diff(falling, axis=1).max()), 1e-9),
            Check("least lean at the end, below 1.2 rad", 1.2 - float(lean[-1].min()), 0.0),
            joints_check(trajectory),
            ledger_check(trajectory),
            Check("largest overlap [m]", trajectory.largest_overlap(), 1e-9),
        ]


def first_touches(trajectory: Trajectory) -> np.ndarray:
    """When each domino first met the next [s], as far as they did."""
    first: dict[int, float] = {}
    for event in trajectory.events:
        if event.kind == "impact":
            for one, other in np.sort(event.contacts.bodies, axis=1).tolist():
                if one >= 1 and other == one + 1:
                    first.setdefault(one, event.time)
    return np.array([first[one] for one in sorted(first)])
