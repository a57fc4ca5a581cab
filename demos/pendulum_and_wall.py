"""A double pendulum swings into a wall again and again."""

import math
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

from ..bodies import Body, Capsule, HalfSpace, Material, RevoluteJoint, Scene
from ..simulator import State, Trajectory
from .demo import Check
from .measured import impact_times, joints_check, ledger_check

Array = NDArray[np.float64]

GRAVITY = 9.81  # m/s²
LENGTH, RADIUS, MASS = 0.5, 0.03, 1.0  # m, m, kg of both rods
WALL = 0.6  # m beside the upper hinge: only the tip of the lower rod reaches it
START = (-2.4, -2.4)  # rad of both rods from hanging down, at rest
FRICTION, RESTITUTION = 0.3, 0.7
COMPARED = 6  # impacts


def rod() -> Capsule:
    """Each rod: between the hinges at the middles of its caps."""
    return Capsule(RADIUS, LENGTH)


def inertia(angles: Array) -> Array:
    """Mass matrix (2, 2) of the angles of both rods from hanging down [kg m²]."""
    own = MASS * float(rod().unit_mass_inertia()[0, 0])
    coupling = 0.5 * MASS * LENGTH**2 * math.cos(angles[0] - angles[1])
    return np.array([[own + 1.25 * MASS * LENGTH**2, coupling], [coupling, own + 0.25 * MASS * LENGTH**2]])


def acceleration(angles: Array, rates: Array) -> Array:
    """Of both angles in free swinging (2,) [rad/s²]."""
    turning = 0.5 * MASS * LENGTH**2 * math.sin(angles[0] - angles[1])
    weight = MASS * GRAVITY * LENGTH * np.array([1.5, 0.5])
    moment = turning * np.array([-1.0, 1.0]) * rates[::-1] ** 2 - weight * np.sin(angles)
    return np.asarray(np.linalg.solve(inertia(angles), moment))


def gap(angles: Array) -> float:
    """Of the lower rod's tip and the wall [m]."""
    return WALL - RADIUS - LENGTH * float(np.sin(angles).sum())


def contact_rows(angles: Array) -> Array:
    """(2, 2): the rates of the angles to velocity away from the wall and upwards, where the rod touches it [m]."""
    upwards = LENGTH * np.sin(angles) + [0.0, RADIUS]
    return np.array([-LENGTH * np.cos(angles), upwards])


def impact_by_hand(mobility: Array, velocity: Array, friction: float, restitution: float) -> Array:
    """Impulse (normal, tangential) [N s] of Stronge's law for one planar contact whose slip does not start at zero.

    Velocity is linear in the normal impulse until slip stops, and then again. The work that restitution gives back
    is restitution² of what compression has taken.
    """
    (toward, slip), one_way = velocity, -math.copysign(friction, velocity[1])
    holding = -mobility[1, 0] / mobility[1, 1]  # ratio of the impulses that keep slip at zero
    then = holding if abs(holding) <= friction else math.copysign(friction, holding)
    (slope, braking), (later_slope, _) = mobility @ [1.0, one_way], mobility @ [1.0, then]
    stop = -slip / braking if slip * braking < 0.0 else math.inf
    if toward + slope * stop >= 0.0:
        taken = -0.5 * toward**2 / slope
    else:
        taken = toward * stop + 0.5 * slope * stop**2 - 0.5 * (toward + slope * stop) ** 2 / later_slope
    left = (1.0 - restitution**2) * taken
    whole = _impulse_of_work(toward, slope, left)
    if whole > stop:
        rest = left - toward * stop - 0.5 * slope * stop**2
        whole = stop + _impulse_of_work(toward + slope * stop, later_slope, rest)
    return np.array([whole, one_way * min(whole, stop) + then * max(whole - stop, 0.0)])


def _impulse_of_work(velocity: float, slope: float, work: float) -> float:
    """The larger p with velocity p + slope p²/2 = work."""
    return (math.sqrt(velocity**2 + 2.0 * slope * work) - velocity) / slope


def swung(angles: Array, rates: Array, until: float) -> tuple[float, Array, Array]:
    """Time until the tip meets the wall, angles and rates then, by integration in the angles."""

    def motion(_: float, state: Array) -> Array:
        return np.concatenate([state[2:], acceleration(state[:2], state[2:])])

    def meets(_: float, state: Array) -> float:
        return gap(state[:2])

    meets.terminal, meets.direction = True, -1.0  # type: ignore[attr-defined]
    start = np.concatenate([angles, rates])
    found = solve_ivp(motion, (0.0, until), start, "DOP853", events=meets, rtol=3e-14, atol=1e-15)
    return float(found.t[-1]), found.y[:2, -1], found.y[2:, -1]


def impacts_by_hand(count: int, until: float) -> list[tuple[float, Array, Array, Array]]:
    """Time, angles, and rates before and after, of the first impacts."""
    time, angles, rates = 0.0, np.array(START), np.zeros(2)
    found = []
    for _ in range(count):
        passed, angles, before = swung(angles, rates, until - time)
        time += passed
        rows = contact_rows(angles)
        response = np.linalg.solve(inertia(angles), rows.T)
        rates = before + response @ impact_by_hand(rows @ response, rows @ before, FRICTION, RESTITUTION)
        found.append((time, angles, before, rates))
    return found


class PendulumAndWall:
    """Two rods on hinges fall towards a wall, which the tip of the lower one hits with friction and restitution.

    Joints enter every impact through the projected inverse mass. The same motion in two angles, its impacts solved
    by hand, must meet the wall at the same times with the same rates.
    """

    name: ClassVar[str] = "pendulum-and-wall"
    law: ClassVar[str] = "stronge-coulomb"
    duration: ClassVar[float] = 8.0

    def scene(self) -> Scene:
        """Hinges along y; the wall stands at the side of positive x."""
        material = Material(friction=FRICTION, restitution=RESTITUTION)
        scene = Scene(gravity=(0.0, 0.0, -GRAVITY))
        wall = HalfSpace(np.array([-1.0, 0.0, 0.0]), offset=-WALL)
        scene.add(Body(wall, fixed=True, material=material, name="wall"))
        hinge = np.zeros(3)
        base = None
        for name, angle in zip(("upper", "lower"), START, strict=True):
            along = np.array([math.sin(angle), 0.0, -math.cos(angle)])
            body = Body(
                rod(),
                mass=MASS,
                material=material,
                name=name,
                position=hinge + 0.5 * LENGTH * along,
                orientation=(math.cos(0.5 * angle), 0.0, -math.sin(0.5 * angle), 0.0),
            )
            scene.add(body)
            scene.add_joint(RevoluteJoint(name, base, anchor=hinge, axis=(0.0, 1.0, 0.0)))
            hinge, base = hinge + LENGTH * along, name
        return scene

    def check(self, trajectory: Trajectory) -> list[Check]:
        """Times and rates of the first impacts, joints, and energy."""
        late, off = math.inf, math.inf
        events = [event for event in trajectory.events if event.kind == "impact"]
        if len(events) >= COMPARED:
            expected = impacts_by_hand(COMPARED, trajectory.end_time)
            late = float(np.abs(impact_times(trajectory)[:COMPARED] - [time for time, *_ in expected]).max())
            off = max(
                float(np.abs(rates_of(state) - rates).max())
                for event, (_, _, *both) in zip(events, expected, strict=False)
                for state, rates in zip((event.before, event.after), both, strict=True)
            )
        return [
            Check(f"times of {COMPARED} impacts, off those by hand [s]", late, 1e-9),
            Check("rates before and after, off those by hand [rad/s]", off, 1e-8),
            joints_check(trajectory),
            ledger_check(trajectory),
            Check("largest overlap [m]", trajectory.largest_overlap(), 1e-9),
        ]


def rates_of(state: State) -> Array:
    """Rates of both angles in a state of the scene (2,) [rad/s]."""
    return np.asarray(-state.angular_velocity[1:, 1])
