"""Two legs on a hip walk down a slope, driven by gravity alone: the compass gait of Goswami et al.

Goswami's legs are massless rods with a point mass in their middle, under a point mass at the hip. Here half the
hip's mass belongs to either leg: the mass matrix is the same, and bodies have inertia. A leg that swings past the
other would scuff the slope. So the slope is tiles in two lanes, one for each foot, with none where that foot passes
3.6 mm below the slope; walking machines are shown on such tiles. The walker is planar: its lanes are not.
"""

import math
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ..bodies import Body, Box, ConvexMesh, Material, RevoluteJoint, Scene
from ..bodies.rotation import rotation_matrices
from ..simulator import Event, Trajectory
from .demo import Check

Array = NDArray[np.float64]

GRAVITY = 9.81  # m/s²
SLOPE = math.radians(3.0)
LEG_MASS, HIP_MASS = 5.0, 10.0  # kg
LEG_LENGTH, MASS_BELOW_HIP = 1.0, 0.5  # m
STEPS = 7
LANE, TILE = 0.1, (0.4, 0.15, 0.1)  # m from the middle; m along, across and below the slope
_LONGEST_STEP, _SETTLING_STEPS = (
    0.05,
    80,
)  # longest step of the integration [s]; steps until a gait repeats itself

FORWARD = np.array([math.cos(SLOPE), 0.0, -math.sin(SLOPE)])
UPWARD = np.array([math.sin(SLOPE), 0.0, math.cos(SLOPE)])


@dataclass(frozen=True, eq=False)
class Gait:
    """A step that repeats itself, by the walker's own equations in the angles of its legs from the vertical.

    start (4,) : angles [rad] of standing and swinging leg, forward at the hip, and rates, just after a heel strike
    end (4,) : the same just before the next
    period [s], length [m] along the slope
    times (k,), states (k, 4) : the motion of one step
    """

    start: Array
    end: Array
    period: float
    length: float
    times: Array
    states: Array


def rates(_: float, state: Array) -> list[float]:
    """Rates of angles and rates (standing leg, swinging leg) while the standing foot stays."""
    standing, swinging, standing_rate, swinging_rate = state
    above, coupling = LEG_LENGTH - MASS_BELOW_HIP, LEG_MASS * LEG_LENGTH * MASS_BELOW_HIP
    cosine, sine = math.cos(standing - swinging), math.sin(standing - swinging)
    first = (HIP_MASS + LEG_MASS) * LEG_LENGTH**2 + LEG_MASS * above**2
    second = LEG_MASS * MASS_BELOW_HIP**2
    moment = GRAVITY * (LEG_MASS * above + (LEG_MASS + HIP_MASS) * LEG_LENGTH)
    forces = [
        coupling * sine * swinging_rate**2 + moment * math.sin(standing),
        -coupling * sine * standing_rate**2 - GRAVITY * LEG_MASS * MASS_BELOW_HIP * math.sin(swinging),
    ]
    matrix = [[first, -coupling * cosine], [-coupling * cosine, second]]
    return [standing_rate, swinging_rate, *np.linalg.solve(matrix, forces)]


def struck(state: Array) -> Array:
    """The state after the swinging foot has struck and stays, the legs having changed their parts."""
    inertia = np.zeros((4, 4))  # of the hip's place and the angles
    inertia[:2, :2] = HIP_MASS * np.eye(2)
    feet = []
    for k, angle in enumerate(state[:2]):
        along = np.array([math.cos(angle), -math.sin(angle)])
        middle, foot = np.eye(2, 4), np.eye(2, 4)
        middle[:, 2 + k], foot[:, 2 + k] = -MASS_BELOW_HIP * along, -LEG_LENGTH * along
        inertia += LEG_MASS * middle.T @ middle
        feet.append(foot)
    velocity = np.array([0.0, 0.0, *state[2:]])
    velocity[:2] = -feet[0][:, 2:] @ state[2:]
    response = np.linalg.solve(inertia, feet[1].T)
    velocity -= response @ np.linalg.solve(feet[1] @ response, feet[1] @ velocity)
    return np.array([state[1], state[0], velocity[3], velocity[2]])


def one_step(start: Array) -> Gait:
    """The motion from one heel strike to the next, which comes where the swinging foot is in front and sinks."""
    from scipy.integrate import solve_ivp

    def strikes(_: float, state: Array) -> float:
        return float(state[0] + state[1] - 2.0 * SLOPE)

    strikes.terminal, strikes.direction = True, 1.0  # type: ignore[attr-defined]
    run = solve_ivp(
        rates, (0.0, 2.0), start, method="DOP853", rtol=1e-13, atol=1e-14, max_step=_LONGEST_STEP,
        events=strikes, dense_output=True,
    )  # fmt: skip
    end, state = float(run.t_events[0][-1]), run.y_events[0][-1]
    times = np.linspace(0.0, end, 41)[:-1]
    length = 2.0 * LEG_LENGTH * math.sin(0.5 * float(state[0] - state[1]))
    return Gait(start, state, end, length, times, run.sol(times).T)


@cache
def periodic_gait() -> Gait:
    """The gait that steps from the start of a known one settle to."""
    step = one_step(_both_down(np.array([-0.2187, 0.3234, 1.0918, 0.3772])))
    for _ in range(_SETTLING_STEPS):
        step = one_step(_both_down(struck(step.end)))
    return step


def _both_down(state: Array) -> Array:
    """The state with the same spread of the legs and both feet on the slope, to rounding."""
    half = 0.5 * (state[1] - state[0])
    return np.array([SLOPE - half, SLOPE + half, *state[2:]])


class CompassGait:
    """Seven steps of a periodic gait, from heel strike to heel strike."""

    name: ClassVar[str] = "compass-gait"
    law: ClassVar[str] = "anitescu-potra"
    duration: ClassVar[float] = 5.6

    def scene(self) -> Scene:
        """The walker just after a heel strike of its left foot, at the origin, and its tiles."""
        gait = periodic_gait()
        material = Material(friction=1.5)
        scene = Scene(gravity=(0.0, 0.0, -GRAVITY))
        scene.planar()
        for k in range(-1, STEPS + 2):
            middle = k * gait.length * FORWARD - 0.5 * TILE[2] * UPWARD + _lane(k)
            scene.add(
                Body(
                    Box(TILE), fixed=True, material=material, position=middle, orientation=_turned(SLOPE),
                    name=f"tile {k + 1}",
                )
            )  # fmt: skip
        hip = LEG_LENGTH * _along(gait.start[0])
        hip_velocity = LEG_LENGTH * gait.start[2] * _across(gait.start[0])
        mass, below = LEG_MASS + 0.5 * HIP_MASS, LEG_MASS * MASS_BELOW_HIP / (LEG_MASS + 0.5 * HIP_MASS)
        inertia = LEG_MASS * MASS_BELOW_HIP**2 - mass * below**2
        for k, word in enumerate(("left", "right")):
            angle, rate = float(gait.start[k]), float(gait.start[2 + k])
            scene.add(
                Body(
                    _leg_shape(), mass=mass, inertia=inertia * np.eye(3), material=material, name=f"{word} leg",
                    position=hip - below * _along(angle) + _lane(k), orientation=_turned(angle),
                    velocity=hip_velocity - below * rate * _across(angle), angular_velocity=(0.0, rate, 0.0),
                )
            )  # fmt: skip
        scene.add_joint(RevoluteJoint("right leg", "left leg", anchor=hip, axis=(0.0, 1.0, 0.0), name="hip"))
        return scene

    def check(self, trajectory: Trajectory) -> list[Check]:
        """Period, length and motion of the steps against the equations; what a step loses; feet that stay."""
        gait = periodic_gait()
        strikes = [event for event in trajectory.events if event.kind == "impact"]
        times = np.array([0.0, *(event.time for event in strikes)])
        places = np.array([0.0, *(_struck_place(event) for event in strikes)])
        lost = -float(np.sum(trajectory.ledger(trajectory.end_time).impacts))
        falls = (2.0 * LEG_MASS + HIP_MASS) * GRAVITY * gait.length * math.sin(SLOPE)
        residual = trajectory.ledger(np.linspace(0.0, trajectory.end_time, 401)).residual
        return [
            Check("steps other than 7", abs(len(strikes) - STEPS), 0),
            Check("other events", len(trajectory.events) - len(strikes), 0),
            Check("period of a step, error [s]", _largest(np.diff(times) - gait.period), 1e-8),
            Check("length of a step, error [m]", _largest(np.diff(places) - gait.length), 1e-8),
            Check("angles and rates of all steps, error", self._away(trajectory, times), 1e-8),
            Check("impulse of trailing feet [N s]", max(map(_trailing_impulse, strikes), default=math.inf), 1e-9),
            Check("loss of a step, off its fall [J]", abs(lost / STEPS - falls), 1e-8),
            Check("standing feet move [m]", self._slip(trajectory, times, places), 1e-9),
            Check("energy ledger, residual [J]", _largest(residual), 1e-8),
            Check("largest overlap [m]", trajectory.largest_overlap(), 1e-9),
        ]  # fmt: skip

    @staticmethod
    def _away(trajectory: Trajectory, times: Array) -> float:
        """Largest difference of angles [rad] and rates [rad/s] to the periodic gait, in any whole step."""
        gait, away = periodic_gait(), 0.0
        for k, start in enumerate(times[:-1]):
            state = trajectory.sample(start + gait.times)
            legs = [-2, -1] if k % 2 == 0 else [-1, -2]
            turned = 2.0 * np.arctan2(state.orientation[:, legs, 2], state.orientation[:, legs, 0])
            motion = np.concatenate([turned, state.angular_velocity[:, legs, 1]], axis=1)
            away = max(away, _largest(motion - gait.states))
        return away

    @staticmethod
    def _slip(trajectory: Trajectory, times: Array, places: Array) -> float:
        """How far a foot that stands is from where it struck [m]."""
        moved = 0.0
        for k, (start, end) in enumerate(pairwise(times)):
            leg = -2 if k % 2 == 0 else -1
            for time in np.linspace(start, end, 12)[:-1]:
                state = trajectory.sample(time)
                foot = state.position[leg] + rotation_matrices(state.orientation[leg]) @ _foot()
                away = foot - _lane(k) - places[k] * FORWARD
                moved = max(moved, _largest(away))
        return moved


def _leg_shape() -> ConvexMesh:
    """A spike that ends in a point, the foot: its middle is three quarters of its length above it."""
    wide = 0.04
    top = [(x, y, 0.0) for x in (-wide, wide) for y in (-wide, wide)]
    return ConvexMesh(np.array([(0.0, 0.0, -LEG_LENGTH), *top]))


def _foot() -> Array:
    """The foot in the axes of the leg [m]."""
    return np.array([0.0, 0.0, -0.75 * LEG_LENGTH])


def _lane(k: int) -> Array:
    """Where the leg that stands in step k is, beside the middle [m]."""
    return np.array([0.0, LANE if k % 2 == 0 else -LANE, 0.0])


def _along(angle: float) -> Array:
    """From foot to hip."""
    return np.array([math.sin(angle), 0.0, math.cos(angle)])


def _across(angle: float) -> Array:
    return np.array([math.cos(angle), 0.0, -math.sin(angle)])


def _turned(angle: float) -> tuple[float, float, float, float]:
    return (math.cos(0.5 * angle), 0.0, math.sin(0.5 * angle), 0.0)


def _struck_place(event: Event) -> float:
    """Where along the slope the foot has struck [m]: the contact with the larger impulse."""
    assert event.outcome is not None
    struck_contact = int(np.argmax(event.outcome.impulse[::2]))
    return float(event.contacts.point[struck_contact] @ FORWARD)


def _trailing_impulse(event: Event) -> float:
    """All impulse [N s] of the contacts that did not strike; infinite where there is none."""
    assert event.outcome is not None
    sizes = np.linalg.norm(event.outcome.impulse.reshape(-1, 2), axis=1)
    return float(np.sort(sizes)[:-1].sum()) if len(sizes) > 1 else math.inf


def _largest(errors: Array) -> float:
    """Of any sign; infinite where there is none."""
    return float(np.abs(errors).max()) if errors.size else math.inf
