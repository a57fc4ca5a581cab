"""The five simultaneous impacts of Halm & Posa, section 5.4, from their inertia, contact rows and velocity."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..impact_laws import ImpactProblem

Array = NDArray[np.float64]


@dataclass(frozen=True)
class ImpactExample:
    """One impact with what the paper reports of it.

    name : of the demo that shows it
    title : the paper's name
    problem : the impact, planar
    contacts : a word for each contact
    step : largest normal impulse of a step [N s]
    samples : how many outcomes the paper drew
    solves : complementarity problems a sample in the paper's table 3
    """

    name: str
    title: str
    problem: ImpactProblem
    contacts: tuple[str, ...]
    step: float
    samples: int
    solves: float


def rocking_block() -> ImpactExample:
    """A block of width 1, height 2 and mass 1, flat on the floor, that has fallen 1 cm."""
    rows = [[0.0, 1.0, -0.5], [1.0, 0.0, 1.0], [0.0, 1.0, 0.5], [1.0, 0.0, 1.0]]
    velocity = [0.0, -math.sqrt(2.0 * 9.81 * 0.01), 0.0]
    return ImpactExample(
        "block-outcomes", "rocking block",
        _planar(np.diag([1.0, 1.0, 5.0 / 12.0]), rows, velocity, 1.0),
        ("left corner", "right corner"), 0.3, 2**14, 2.67,
    )  # fmt: skip


def compass_gait() -> ImpactExample:
    """Two massless legs of length 1 with a mass of 1 in their middle, hinged at the hip, in a wide step."""
    angle = math.radians(78.0)
    inertia, rows = np.zeros((4, 4)), []
    for leg, lean in enumerate(
        (angle, -angle)
    ):  # coordinates: hip, rate of the trailing leg, of the leading one
        along = np.array([math.cos(lean), math.sin(lean)])
        foot, middle = np.eye(2, 4), np.eye(2, 4)
        foot[:, 2 + leg], middle[:, 2 + leg] = along, 0.5 * along
        inertia += middle.T @ middle
        rows += [foot[1], foot[0]]
    velocity = [-0.25 * math.cos(angle), -0.25 * math.sin(angle), 0.25, 0.25]
    return ImpactExample(
        "compass-gait-outcomes", "compass gait",
        _planar(inertia, rows, velocity, 5.0), ("trailing foot", "leading foot"), 0.25, 2**20, 2.27,
    )  # fmt: skip


def box_and_wall() -> ImpactExample:
    """A unit square of mass 1, tilted by 10 degrees, sliding on one corner while another meets a wall."""
    turn = math.radians(80.0)
    rotation = np.array([[math.cos(turn), -math.sin(turn)], [math.sin(turn), math.cos(turn)]])
    corners = np.array([[x, y] for x in (-0.5, 0.5) for y in (-0.5, 0.5)]) @ rotation.T
    floor, wall = corners[np.argmin(corners[:, 1])], corners[np.argmax(corners[:, 0])]
    rows = [
        [*direction, arm[0] * direction[1] - arm[1] * direction[0]]
        for arm, frame in ((floor, ((0.0, 1.0), (1.0, 0.0))), (wall, ((-1.0, 0.0), (0.0, 1.0))))
        for direction in frame
    ]
    return ImpactExample(
        "box-and-wall-outcomes", "box and wall",
        _planar(np.diag([1.0, 1.0, 1.0 / 6.0]), rows, [1.0, 0.0, 0.0], 1.0),
        ("floor", "wall"), 2.0, 2**18, 1.97,
    )  # fmt: skip


def ramone() -> ImpactExample:
    """The walking robot RAMone: trunk, two thighs, two shanks with round feet; the leading foot lands.

    Angles counter-clockwise: the trunk leans by 16 degrees, thighs are at ±70 degrees from it, knees bend
    clockwise.
    """
    masses, inertias = (7.9026, 0.7887, 0.510), (0.08, 0.00221, 0.00652)
    thigh, shank, radius = 0.2, 0.2385, 0.02815
    trunk = math.radians(16.0)
    hips = (
        trunk + math.radians(70.0),
        trunk - math.radians(70.0),
    )  # trailing, leading: direction from vertical
    leading_shank = hips[1] - math.radians(2.0)
    height = thigh * math.cos(hips[1]) + shank * math.cos(leading_shank)
    trailing_shank = -math.acos((height - thigh * math.cos(hips[0])) / shank)

    def below(angle: float) -> Array:
        return np.array([math.sin(angle), -math.cos(angle)])

    def turned(arm: Array) -> Array:
        return np.array([-arm[1], arm[0]])

    inertia = np.diag([masses[0], masses[0], inertias[0], 0.0, 0.0, 0.0, 0.0])
    hip = np.eye(2, 7)
    hip[:, 2] = turned(0.137675 * below(trunk))
    feet = []
    for leg, (upper, lower) in enumerate(((hips[0], trailing_shank), (hips[1], leading_shank))):
        upper_rate = np.zeros(7)
        upper_rate[[2, 3 + leg]] = 1.0
        lower_rate = upper_rate.copy()
        lower_rate[5 + leg] = 1.0
        knee = hip + np.outer(turned(thigh * below(upper)), upper_rate)
        for part, centre, rate in (
            (1, hip + np.outer(turned(0.019399 * below(upper)), upper_rate), upper_rate),
            (2, knee + np.outer(turned(0.165235 * below(lower)), lower_rate), lower_rate),
        ):
            inertia += masses[part] * centre.T @ centre + inertias[part] * np.outer(rate, rate)
        lowest = shank * below(lower) + np.array([0.0, -radius])
        feet.append(knee + np.outer(turned(lowest), lower_rate))
    velocity = np.zeros(7)
    velocity[2] = 1.0
    velocity[:2] = -(feet[0] @ velocity)
    rows = [feet[0][1], feet[0][0], feet[1][1], feet[1][0]]
    return ImpactExample(
        "ramone-outcomes", "RAMone",
        _planar(inertia, rows, velocity, 1e5), ("trailing foot", "leading foot"), 1.0, 2**20, 3.20,
    )  # fmt: skip


def disk_stack() -> ImpactExample:
    """Three disks of radius 1 and mass 1: one falls on two that touch each other on the floor."""
    centres = np.array([[-1.0, 1.0], [1.0, 1.0], [0.0, 1.0 + math.sqrt(3.0)]])
    rows = []
    for first, second in ((0, -1), (1, -1), (0, 1), (2, 0), (2, 1)):
        normal = np.array([0.0, 1.0])
        if second >= 0:
            normal = 0.5 * (centres[first] - centres[second])
        for direction in (normal, np.array([normal[1], -normal[0]])):
            row = np.zeros(9)
            for body, sign in ((first, 1.0), (second, -1.0)):
                if body >= 0:
                    arm = -sign * normal  # of radius 1
                    row[3 * body : 3 * body + 2] += sign * direction
                    row[3 * body + 2] += sign * (arm[0] * direction[1] - arm[1] * direction[0])
            rows.append(row)
    velocity = np.zeros(9)
    velocity[7] = -1.0
    return ImpactExample(
        "disk-stack-outcomes", "disk stacking",
        _planar(np.diag([1.0, 1.0, 0.5] * 3), rows, velocity, math.sqrt(3.0)),
        ("floor, left", "floor, right", "left and right", "top and left", "top and right"), 1.0, 2**20, 9.04,
    )  # fmt: skip


EXAMPLES = {
    "rocking_block": rocking_block,
    "compass_gait": compass_gait,
    "box_and_wall": box_and_wall,
    "ramone": ramone,
    "disk_stack": disk_stack,
}


def _planar(inertia: Array, rows: ArrayLike, velocity: ArrayLike, friction: float) -> ImpactProblem:
    return ImpactProblem.from_generalized(inertia, rows, velocity, friction=friction, dim=2)
