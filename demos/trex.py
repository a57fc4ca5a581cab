"""The tailed running robot Trex of Seghete & Murphey: its table I, made unique, and figure 8.

What the paper says: eight freedoms (place and angle of the front body, two hips, two knees, the joint of the tail),
densities of 1 g/cm³ (bodies) and 2 g/cm³ (limbs of 1.25 cm²), the length of the tail over the radii, gains at the
hips, springs in the knees and the body joint at rest in the configuration, elastic impacts.

What it does not say, and is assumed here. Angles turn counter-clockwise from x, each from the part before it: this
is the reading in which a foot of both rows of table I is on the floor within the digits printed. It is the foot of
the columns printed as left, with the knee printed as right in the second row, while the text has the right foot on
the floor; so the columns seem to be exchanged, and feet are told here as standing and free. Hips are in the middle
of the front body. Bodies are balls that touch; the tail begins in the middle of the rear one, where the body joint
is, and ends one limb's thickness short of the printed length, without which its tip is 6 mm below the floor in both
rows. Gains are taken in g, cm and s, as densities are; knees, the body joint and the speed of the hips are as named
below. Impacts have no friction, as their law has none, and the fall is left out: nothing bends in it.

With all that the rows have inner products of -4.3e-4 and 6.4e-4 instead of the printed 1.65e-3 and -2.28e-7. The
digits printed leave 4e-5 open, so the paper's robot has its masses elsewhere; whether its bodies are balls or
discs, say, is not told. The optimized robot here is therefore found anew, from the first row.
"""

import math
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..bodies import (
    Body,
    ConvexMesh,
    Drive,
    FixedJoint,
    HalfSpace,
    Material,
    RevoluteJoint,
    Scene,
    Sphere,
    Spring,
)
from ..impact_laws import SequentialReflection, contact_angles
from ..simulator import Simulator, Trajectory, UniqueDesign, contact_problem, make_unique
from ..viewer.figures import new_figure, save_figure
from .demo import Check, Table

Array = NDArray[np.float64]

GRAVITY = 9.81  # m/s²
FALL = 0.17  # m
BODY_DENSITY = 1000.0  # kg/m³
LIMB_SECTION = 1.25e-4  # m²
LIMB_LINE = 2000.0 * LIMB_SECTION  # kg/m
HIP_DAMPING = 1e4 * 1e-7  # N m s/rad: K_v in g cm²/s
HIP_STIFFNESS = 1e5 * 1e-7  # N m/rad: K_p in g cm²/s²
HIP_SPEED = 6.0  # rad/s, assumed
KNEE_SPRING, KNEE_DAMPING = 0.5, 0.002  # N m/rad, N m s/rad, assumed
DURATION = 0.6  # s after the landing
_AXIS = np.array([0.0, -1.0, 0.0])  # angles turn from x to z
_LEGS = ("standing", "free")
_DIFFERENCE = 1e-5  # rad, of the derivatives of the mass matrix


@dataclass(frozen=True)
class Stance:
    """A row of table I: angles [rad] and lengths [m]; of hips and knees that of the standing leg comes first."""

    height: float
    pitch: float
    hips: tuple[float, float]
    knees: tuple[float, float]
    tail: float
    front: float
    rear: float
    upper: float
    lower: float

    @property
    def tail_length(self) -> float:
        """By the paper's formula, less the thickness of a limb."""
        a, b = self.front, self.rear
        root = math.sqrt(2.0) * math.sqrt(a**4 * b**2 + a**3 * b**3)
        return (a**3 + a**2 * b + root) / (a**2 - b**2) - (a + b) - math.sqrt(LIMB_SECTION)

    @property
    def tail_drop(self) -> float:
        """How far the tip of the tail is below the middle of the front body [m]."""
        bent = self.tail_length * math.sin(self.pitch + self.tail)
        return -(self.front + self.rear) * math.sin(self.pitch) - bent

    @property
    def foot_drop(self) -> float:
        """How far the standing foot is."""
        leg = self.pitch + self.hips[0]
        return -self.upper * math.sin(leg) - self.lower * math.sin(leg + self.knees[0])

    def standing(self) -> "Stance":
        """With the height that puts the tail on the floor, and the standing hip that puts the foot there.

        ValueError where the leg is too short.
        """
        height, knee = self.tail_drop, self.knees[0]
        across = self.upper + self.lower * math.cos(knee)
        up = self.lower * math.sin(knee)
        reach = math.hypot(across, up)
        if not abs(height) < reach:
            raise ValueError(
                f"the leg reaches {reach:.4g} m, the tail puts the hip {height:.4g} m above the floor"
            )
        turn = math.asin(-height / reach)
        lean = math.atan2(up, across)
        choices = [
            (angle - lean - self.pitch - self.hips[0] + math.pi) % (2.0 * math.pi) - math.pi
            for angle in (turn, math.pi - turn)
        ]
        return replace(self, height=height, hips=(self.hips[0] + min(choices, key=abs), self.hips[1]))

    def parameters(self) -> Array:
        """All that may change while tail and foot stay on the floor, (9,)."""
        angles = (self.pitch, self.hips[1], *self.knees, self.tail)
        return np.array([*angles, self.front, self.rear, self.upper, self.lower])

    def with_parameters(self, values: Array) -> "Stance":
        """The inverse, on the floor."""
        pitch, hip, knee, free_knee, tail, front, rear, upper, lower = values.tolist()
        hips = (self.hips[0], hip)
        knees = (knee, free_knee)
        return Stance(self.height, pitch, hips, knees, tail, front, rear, upper, lower).standing()


INITIAL = Stance(0.1238, 5.78, (5.13, 1.99), (5.24, 5.24), 0.0, 0.07, 0.04, 0.08, 0.10)
OPTIMIZED = Stance(0.1369, 5.92, (4.79, 2.85), (5.67, 5.71), -0.19, 0.0669, 0.0422, 0.0781, 0.0986)


def straight_legs(stance: Stance) -> Stance:
    """The same robot with straight knees, the legs half a turn apart."""
    leaning = replace(stance, knees=(0.0, 0.0)).standing()
    return replace(leaning, hips=(leaning.hips[0], leaning.hips[0] - math.pi))


def trex_scene(stance: Stance) -> Scene:
    """The robot with tail and foot on the floor, just before it lands after its fall, legs about to be spun."""
    scene = Scene(gravity=(0.0, 0.0, -GRAVITY))
    scene.planar()
    elastic = Material(friction=0.0, restitution=1.0)
    floor = HalfSpace(np.array([0.0, 0.0, 1.0]))
    scene.add(Body(floor, fixed=True, material=elastic, name="floor", collision_group=2))
    middle = np.array([0.0, stance.height])
    rear = middle + (stance.front + stance.rear) * _along(stance.pitch)
    for name, radius, place, pitch in (
        ("front", stance.front, middle, stance.pitch), ("rear", stance.rear, rear, stance.pitch + stance.tail)
    ):  # fmt: skip
        _add(scene, name, Sphere(radius), place, pitch, elastic, density=BODY_DENSITY)
    joint: dict[str, Any] = {"axis": _AXIS, "spring": Spring(KNEE_SPRING), "damping": KNEE_DAMPING}
    scene.add_joint(RevoluteJoint("rear", "front", anchor=_in_space(rear), name="body", **joint))
    _add_limb(scene, "tail", rear, stance.pitch + stance.tail, stance.tail_length, elastic)
    scene.add_joint(FixedJoint("tail", "rear", name="tail"))
    drive = Drive(stiffness=HIP_STIFFNESS, damping=HIP_DAMPING, rate=HIP_SPEED)
    for k, word in enumerate(_LEGS):
        leg = stance.pitch + stance.hips[k]
        knee = middle + stance.upper * _along(leg)
        _add_limb(scene, f"{word} thigh", middle, leg, stance.upper, elastic)
        _add_limb(scene, f"{word} shank", knee, leg + stance.knees[k], stance.lower, elastic)
        hip: dict[str, Any] = {
            "anchor": _in_space(middle),
            "axis": _AXIS,
            "name": f"{word} hip",
            "drive": drive,
        }
        scene.add_joint(RevoluteJoint(f"{word} thigh", "front", **hip))
        shin: dict[str, Any] = {"anchor": _in_space(knee), "name": f"{word} knee", **joint}
        scene.add_joint(RevoluteJoint(f"{word} shank", f"{word} thigh", **shin))
    return scene


def _add(
    scene: Scene, name: str, shape: Any, place: Array, pitch: float, material: Material, **mass: Any
) -> None:
    """A part of the robot, which meets the floor only, falling."""
    scene.add(
        Body(
            shape, position=_in_space(place), material=material, name=name, collision_mask=2,
            orientation=(math.cos(0.5 * pitch), 0.0, -math.sin(0.5 * pitch), 0.0),
            velocity=(0.0, 0.0, -math.sqrt(2.0 * GRAVITY * FALL)), **mass,
        )
    )  # fmt: skip


def _add_limb(scene: Scene, name: str, start: Array, pitch: float, length: float, material: Material) -> None:
    """A slender rod with pointed ends, along its x axis."""
    half, wide = 0.5 * length, 0.5 * math.sqrt(LIMB_SECTION)
    corners = np.array(
        [(half, 0, 0), (-half, 0, 0), (0, wide, 0), (0, -wide, 0), (0, 0, wide), (0, 0, -wide)]
    )
    mass = LIMB_LINE * length
    inertia = mass * length**2 / 12.0 * np.eye(3)
    place = start + half * _along(pitch)
    _add(scene, name, ConvexMesh(corners), place, pitch, material, mass=mass, inertia=inertia)


def generalized(stance: Stance) -> tuple[Array, Array]:
    """Mass matrix (8, 8) and normals (2, 8) of tail and foot in the robot's own coordinates."""
    count = 8  # x, z, pitch, standing hip and knee, free hip and knee, tail
    inertia = np.zeros((count, count))
    front, pitch = np.eye(2, count), np.eye(count)[2]

    def add(mass: float, moment: float, place: Array, turning: Array) -> None:
        nonlocal inertia
        inertia = inertia + mass * place.T @ place + moment * np.outer(turning, turning)

    def further(place: Array, turning: Array, angle: float, way: float) -> Array:
        return place + way * np.outer([-math.sin(angle), math.cos(angle)], turning)

    def add_limb(start: Array, turning: Array, angle: float, length: float) -> Array:
        mass = LIMB_LINE * length
        add(mass, mass * length**2 / 12.0, further(start, turning, angle, 0.5 * length), turning)
        return further(start, turning, angle, length)

    def add_ball(place: Array, turning: Array, radius: float) -> None:
        mass = BODY_DENSITY * 4.0 / 3.0 * math.pi * radius**3
        add(mass, 0.4 * mass * radius**2, place, turning)

    add_ball(front, pitch, stance.front)
    rear, bent = further(front, pitch, stance.pitch, stance.front + stance.rear), pitch + np.eye(count)[7]
    add_ball(rear, bent, stance.rear)
    normals = [add_limb(rear, bent, stance.pitch + stance.tail, stance.tail_length)[1]]
    for k in range(2):
        thigh = pitch + np.eye(count)[3 + 2 * k]
        shank = thigh + np.eye(count)[4 + 2 * k]
        angle = stance.pitch + stance.hips[k]
        knee = add_limb(front, thigh, angle, stance.upper)
        normals.append(add_limb(knee, shank, angle + stance.knees[k], stance.lower)[1])
    return inertia, np.array(normals[:2])


def inner_product(stance: Stance) -> float:
    """⟨u, v⟩ of the unit normals of tail and foot."""
    inertia, rows = generalized(stance)
    gram = rows @ np.linalg.solve(inertia, rows.T)
    return float(gram[0, 1] / math.sqrt(gram[0, 0] * gram[1, 1]))


def landed(stance: Stance, first: int) -> Array:
    """Momentum (8,) after the landing, by reflections across tail (0) and foot (1) in turn, from `first` on."""
    inertia, rows = generalized(stance)
    units = rows / np.sqrt(np.einsum("ij,ij->i", rows, np.linalg.solve(inertia, rows.T).T))[:, None]
    momentum = inertia @ (-math.sqrt(2.0 * GRAVITY * FALL) * np.eye(len(inertia))[1])
    rounding = 1e-12 * math.sqrt(_inner(inertia, momentum, momentum))
    contact = first
    while min(_inner(inertia, momentum, unit) for unit in units) < -rounding:
        approach = min(_inner(inertia, momentum, units[contact]), 0.0)
        momentum = momentum - 2.0 * approach * units[contact]
        contact = 1 - contact
    return momentum


def most_approaching(stance: Stance) -> int:
    """Whether tail (0) or foot (1) approaches more, for its normal's size."""
    inertia, rows = generalized(stance)
    sizes = np.sqrt(np.einsum("ij,ij->i", rows, np.linalg.solve(inertia, rows.T).T))
    return int(np.argmax(rows[:, 1] / sizes))


def landing_indeterminacy(stance: Stance) -> float:
    """ξ of the landing, between both orders; reflections keep the size of the momentum."""
    inertia, _ = generalized(stance)
    end = landed(stance, 0)
    away = end - landed(stance, 1)
    return math.sqrt(_inner(inertia, away, away) / _inner(inertia, end, end))


def _inner(inertia: Array, a: Array, b: Array) -> float:
    return float(a @ np.linalg.solve(inertia, b))


def own_motion(stance: Stance, until: float) -> Array:
    """The robot's own coordinates (8,) at a time [s] after the landing, as long as nothing touches.

    Lagrange's equations with the derivatives of the mass matrix by differences, integrated by another method.
    """
    from scipy.integrate import solve_ivp

    start = np.array(
        [0.0, stance.height, stance.pitch, stance.hips[0], stance.knees[0], stance.hips[1], stance.knees[1],
         stance.tail]
    )  # fmt: skip
    hips, springs = [3, 5], [4, 6, 7]

    def inertia(q: Array) -> Array:
        hips, knees = (float(q[3]), float(q[5])), (float(q[4]), float(q[6]))
        return generalized(replace(stance, pitch=float(q[2]), hips=hips, knees=knees, tail=float(q[7])))[0]

    def rates(_: float, state: Array) -> Array:
        q, v = state[:8], state[8:]
        mass = inertia(q)
        force = -GRAVITY * mass[:, 1]
        force[springs] -= KNEE_SPRING * (q - start)[springs] + KNEE_DAMPING * v[springs]
        force[hips] += HIP_DAMPING * (HIP_SPEED - v[hips]) - HIP_STIFFNESS * (q - start)[hips]
        turning = np.zeros((8, 8, 8))
        for k in range(2, 8):
            shift = _DIFFERENCE * np.eye(8)[k]
            turning[k] = (inertia(q + shift) - inertia(q - shift)) / (2.0 * _DIFFERENCE)
        force += 0.5 * (turning @ v) @ v - np.einsum("kij,k,j->i", turning, v, v)
        return np.concatenate([v, np.linalg.solve(mass, force)])

    velocity = np.linalg.solve(inertia(start), landed(stance, most_approaching(stance)))
    run = solve_ivp(
        rates, (0.0, until), np.concatenate([start, velocity]), rtol=1e-10, atol=1e-12, method="DOP853"
    )
    return np.asarray(run.y[:8, -1])


def engine_coordinates(trajectory: Trajectory, time: float) -> Array:
    """The same coordinates from the engine's bodies; angles within a turn."""
    state = trajectory.sample(time)
    front, rear, _, *legs = -2.0 * np.arctan2(state.orientation[1:, 2], state.orientation[1:, 0])
    bent = [legs[0] - front, legs[1] - legs[0], legs[2] - front, legs[3] - legs[2], rear - front]
    return np.array([state.position[1, 0], state.position[1, 2], front, *bent])


class Gait:
    """One stance, landed twice: the approaching contact that is first is the other one in the second run."""

    def __init__(self, title: str, stance: Stance):
        self.title = title
        self.stance = stance

    @cached_property
    def runs(self) -> tuple[Trajectory, Trajectory]:
        """With the most approaching contact first, and the least."""
        first, second = (
            Simulator(trex_scene(self.stance), SequentialReflection(order)).run(DURATION)
            for order in ("most_approaching", "least_approaching")
        )
        return first, second

    @cached_property
    def times(self) -> Array:
        """Of the curve [s], up to where both runs are."""
        return np.linspace(0.0, min(run.end_time for run in self.runs), 3001)

    @cached_property
    def indeterminacy(self) -> Array:
        """Distance of both runs' momenta over the momentum, in the kinetic metric."""
        first, second = (run.sample(self.times) for run in self.runs)
        masses = np.array([body.mass for body in self.runs[0].scene.bodies[1:]])
        moments = np.array([body.inertia[1, 1] for body in self.runs[0].scene.bodies[1:]])

        def size(velocity: Array, spin: Array) -> Array:
            return np.asarray(np.sqrt((velocity**2).sum(axis=2) @ masses + spin**2 @ moments))

        velocity, spin = first.velocity[:, 1:], first.angular_velocity[:, 1:, 1]
        away = size(velocity - second.velocity[:, 1:], spin - second.angular_velocity[:, 1:, 1])
        return np.asarray(away / size(velocity, spin))

    @property
    def off_own_equations(self) -> float:
        """Difference [m or rad] of engine and own equations just before the second impact."""
        run = self.runs[0]
        time = 0.99 * min([run.end_time, *(event.time for event in run.events if event.time > 0.0)])
        away = engine_coordinates(run, time) - own_motion(self.stance, time)
        away[2:] -= 2.0 * np.pi * np.round(away[2:] / (2.0 * np.pi))
        return float(np.abs(away).max())

    @property
    def residual(self) -> float:
        """Largest energy [J] that a ledger does not account for."""
        return max(float(np.abs(run.ledger(self.times).residual).max()) for run in self.runs)


class Trex:
    """Table I with tail and foot on the floor, a design near it whose landing is unique, and its indeterminacy."""

    name: ClassVar[str] = "trex"
    ending: ClassVar[str] = ".png"

    @cached_property
    def designs(self) -> tuple[UniqueDesign, UniqueDesign]:
        """Near both rows of table I."""
        first, second = (_made_unique(row.standing()) for row in (INITIAL, OPTIMIZED))
        return first, second

    @cached_property
    def unique(self) -> Stance:
        """The design found from the first row."""
        return INITIAL.with_parameters(self.designs[0].parameters)

    @cached_property
    def gaits(self) -> tuple[Gait, Gait]:
        """Of the unique design: as found, and with straight legs."""
        return Gait("optimized gait", self.unique), Gait("initial gait", straight_legs(self.unique))

    def tables(self) -> list[Table]:
        """Table I as read here, the designs, and what their landings leave open."""
        rows = []
        for word, printed, product in (("initial", INITIAL, "1.65e-3"), ("optimized", OPTIMIZED, "-2.28e-7")):
            rows.append(
                (
                    word, f"{1e3 * (printed.height - printed.tail_drop):+.2f}",
                    f"{1e3 * (printed.height - printed.foot_drop):+.2f}", product,
                    f"{inner_product(printed.standing()):.2e}",
                )
            )  # fmt: skip
        names = ("pitch", "free hip", "knee", "free knee", "tail joint", "r1", "r2", "upper leg", "lower leg")
        begins = [row.standing() for row in (INITIAL, OPTIMIZED)]
        found = [begin.with_parameters(d.parameters) for begin, d in zip(begins, self.designs, strict=True)]
        stances = (begins[0], found[0], begins[1], found[1])
        lines = [
            ("hip above the floor", *(f"{stance.height:.5f}" for stance in stances)),
            ("standing hip", *(f"{stance.hips[0]:.5f}" for stance in stances)),
            *(
                (name, *(f"{stance.parameters()[k]:.5f}" for stance in stances))
                for k, name in enumerate(names)
            ),
            ("inner product", *(f"{inner_product(stance):.1e}" for stance in stances)),
        ]
        landings = [
            (gait.title, f"{landing_indeterminacy(gait.stance):.2e}", f"{gait.indeterminacy.max():.2e}")
            for gait in self.gaits
        ]
        header = ("row of table I", "tail above floor [mm]", "foot above floor [mm]", "⟨u, v⟩, paper", "here")
        return [
            Table(header, tuple(rows)),
            Table(("[m], [rad]", "row 1", "made unique", "row 2", "made unique"), tuple(lines)),
            Table(("gait", "ξ at landing", f"largest in {DURATION:g} s"), tuple(landings)),
        ]

    def check(self) -> list[Check]:
        """Table I stands as read, designs are unique, figure 8 has its five orders, ledgers close."""
        rows = (INITIAL, OPTIMIZED)
        off = max(abs(row.height - drop) for row in rows for drop in (row.tail_drop, row.foot_drop))
        optimized, initial = self.gaits
        stances = [*(row.standing() for row in rows), *(gait.stance for gait in self.gaits)]
        engine = [
            float(np.cos(contact_angles(contact_problem(trex_scene(stance)))[0, 1])) for stance in stances
        ]
        own = [inner_product(stance) for stance in stances]
        landing = landing_indeterminacy(initial.stance)
        runs = [run for gait in self.gaits for run in gait.runs]
        return [
            Check("table I, tail or foot off the floor [m]", off, 1.6e-3),
            Check("inner products, engine off mass matrix", float(np.abs(np.subtract(engine, own)).max()), 1e-12),
            Check("inner products of the designs", max(design.after for design in self.designs), 1e-9),
            Check("first value of figure 8, relative error", abs(initial.indeterminacy[0] / landing - 1.0), 1e-9),
            Check("motion after landing, off own equations", max(g.off_own_equations for g in self.gaits), 1e-8),
            Check("runs cut short [s]", max(DURATION - run.end_time for run in runs), 0.0),
            Check("optimized over initial gait, at any time", self.ratio, 1e-5),
            Check("energy ledger, residual [J]", max(optimized.residual, initial.residual), 1e-8),
            Check("largest overlap [m]", max(run.largest_overlap() for run in runs), 1e-9),
        ]  # fmt: skip

    @property
    def ratio(self) -> float:
        """The largest indeterminacy of the optimized gait over the least of the initial one."""
        optimized, initial = self.gaits
        return float(optimized.indeterminacy.max() / initial.indeterminacy.min())

    def write(self, path: Path) -> None:
        """The robots as in figure 7, and figure 8."""
        figure = new_figure(14.0, 9.0)
        figure.suptitle("Seghete & Murphey: Trex lands on its tail and a foot", fontsize=15)
        robots, curves = figure.subfigures(2, 1, height_ratios=(1.0, 1.3))
        optimized, initial = self.gaits
        for axes, stance, words in zip(
            robots.subplots(1, 4, sharey=True),
            (INITIAL.standing(), OPTIMIZED.standing(), optimized.stance, initial.stance),
            ("table I, initial", "table I, optimized", "made unique here", "the same, straight legs"),
            strict=True,
        ):
            _draw_robot(axes, stance)
            axes.set_title(f"{words}\n⟨u, v⟩ = {inner_product(stance):.1e}", fontsize=11)
        axes = curves.subplots()
        for gait, colour in zip(self.gaits, ("tab:blue", "tab:red"), strict=True):
            axes.semilogy(1e3 * gait.times, gait.indeterminacy, color=colour, linewidth=1.3, label=gait.title)
        axes.set(xlabel="time after landing [ms]", ylabel="indeterminacy ξ", ylim=(1e-14, 1.0))
        axes.set_title(
            "figure 8: distance of the momenta of two runs, one for each order of reflections", fontsize=11
        )
        axes.legend(loc="center right", fontsize=11)
        axes.grid(color="0.93")
        save_figure(figure, path)


def _made_unique(start: Stance) -> UniqueDesign:
    """Within half a radian and a centimetre."""
    values = start.parameters()
    reach = np.array([0.5] * 5 + [0.01] * 4)
    bounds = np.stack([values - reach, values + reach], axis=1)
    return make_unique(lambda trial: trex_scene(start.with_parameters(trial)), values, bounds)


def _draw_robot(axes: Any, stance: Stance) -> None:
    """Bodies, legs and tail in centimetres, the legs' ends marked."""
    from matplotlib.patches import Circle

    middle = 100.0 * np.array([0.0, stance.height])
    rear = middle + 100.0 * (stance.front + stance.rear) * _along(stance.pitch)
    axes.axhline(0.0, color="0.5", linewidth=3)
    for place, radius in ((middle, stance.front), (rear, stance.rear)):
        axes.add_patch(
            Circle((float(place[0]), float(place[1])), 100.0 * radius, facecolor="0.88", edgecolor="black")
        )
    tip = rear + 100.0 * stance.tail_length * _along(stance.pitch + stance.tail)
    axes.plot(*np.array([rear, tip]).T, color="black", linewidth=2.5)
    for k, colour in enumerate(("tab:red", "tab:blue")):
        leg = stance.pitch + stance.hips[k]
        knee = middle + 100.0 * stance.upper * _along(leg)
        foot = knee + 100.0 * stance.lower * _along(leg + stance.knees[k])
        axes.plot(*np.array([middle, knee, foot]).T, "o-", color=colour, linewidth=2.5, markersize=4)
    axes.set(xlim=(-20.0, 30.0), ylim=(-2.0, 32.0), xlabel="x [cm]")
    axes.set_aspect("equal")


def _along(angle: float) -> Array:
    return np.array([math.cos(angle), math.sin(angle)])


def _in_space(place: Array) -> Array:
    return np.array([place[0], 0.0, place[1]])
