"""A row of free dominoes with friction: each slides, sticks and leans on the next, down to a fixed post."""

import math
from typing import ClassVar

import numpy as np

from ..bodies import Body, Box, HalfSpace, Material, Scene
from ..impact_laws import AnitescuPotra
from ..simulator import RunStatus, Simulator, Trajectory
from .demo import Check
from .domino_run import DEPTH, HEIGHT, MASS, PITCH, PUSH, WIDTH, first_touches, touch_times
from .measured import ledger_check

DOMINOES = 10
FRICTION = 0.4
_IN_SPACE = 3  # touches that are compared with those of the row in space


def domino_row(count: int = DOMINOES, friction: float = FRICTION, planar: bool = True) -> Scene:
    """Dominoes along x on a floor, the first of which falls, and a post of their size after the last."""
    material = Material(friction=friction)
    scene = Scene()
    floor = HalfSpace(np.array([0.0, 0.0, 1.0]))
    scene.add(Body(floor, fixed=True, material=material, name="floor"))
    for number in range(count + 1):
        rate = 0.0 if number else PUSH
        post = number == count
        scene.add(
            Body(
                Box((DEPTH, WIDTH, HEIGHT)),
                mass=None if post else MASS,
                fixed=post,
                material=material,
                name="post" if post else f"domino-{number + 1}",
                position=(PITCH * number - 0.5 * DEPTH, 0.0, 0.5 * HEIGHT),
                velocity=(0.5 * HEIGHT * rate, 0.0, 0.5 * DEPTH * rate),
                angular_velocity=(0.0, rate, 0.0),
            )
        )
    if planar:
        scene.planar()
    return scene


class FreeDominoes:
    """Ten dominoes that stand on a floor, all with friction 0.4; the first is pushed.

    At each touch all that have fallen begin to slip on each other and stop again, one contact after the other. When
    the last leans on the post, everything rests.
    """

    name: ClassVar[str] = "free-dominoes"
    law: ClassVar[str] = "anitescu-potra"
    duration: ClassVar[float] = 3.0

    def scene(self) -> Scene:
        """The row in its plane."""
        return domino_row()

    def check(self, trajectory: Trajectory) -> list[Check]:
        """The first touch by quadrature, the wave, how all lean at rest, the same row in space, and energy."""
        touches = first_touches(trajectory)
        came = math.inf if not len(touches) else abs(float(touches[0] - touch_times(2)[0]))
        early = math.inf if len(touches) < DOMINOES else -float(np.diff(touches).min())
        end = trajectory.sample(trajectory.end_time)
        lean = 2.0 * np.arctan2(end.orientation[1:, 2], end.orientation[1:, 0])
        return [
            Check("first touch, off the quadrature [s]", came, 1e-9),
            Check("touches that are missing", float(DOMINOES - len(touches)), 0.0),
            Check("a touch before the one in front [s]", early, 0.0),
            Check("not at rest", float(trajectory.status is not RunStatus.AT_REST), 0.0),
            Check("off leaning on the next, at rest [m]", _off_the_next(end.position[1:], lean), 1e-9),
            Check("touches in space, off those in the plane [s]", _off_in_space(touches), 1e-12),
            ledger_check(trajectory),
            Check("largest overlap [m]", trajectory.largest_overlap(), 1e-9),
        ]


def _off_the_next(middle: np.ndarray, lean: np.ndarray) -> float:
    """How far the upper edges (n, 3) of dominoes at angles (n,) are from the faces behind the next, at most [m]."""
    along, up = np.cos(lean), np.sin(lean)
    edge = middle + 0.5 * np.stack(
        [DEPTH * along + HEIGHT * up, np.zeros_like(lean), HEIGHT * along - DEPTH * up], axis=1
    )
    from_next = edge[:-1] - middle[1:]
    gap = -from_next[:, 0] * along[1:] + from_next[:, 2] * up[1:] - 0.5 * DEPTH
    return float(np.abs(gap).max())


def _off_in_space(touches: np.ndarray) -> float:
    """The largest difference [s] between these first touches and those of the same row in space."""
    if len(touches) < _IN_SPACE:
        return math.inf
    until = float(touches[_IN_SPACE - 1]) + 1e-3
    row = domino_row(_IN_SPACE + 1, planar=False)
    there = first_touches(Simulator(row, AnitescuPotra()).run(until))
    return float(np.abs(there - touches[:_IN_SPACE]).max()) if len(there) == _IN_SPACE else math.inf
