"""The break of a rack of fifteen balls: an impact at thirty-one contacts, then a hundred single ones."""

import math
from typing import ClassVar

import numpy as np

from ..bodies import Body, HalfSpace, Material, Scene, Sphere
from ..impact_laws import ImpactProblem, SequentialReflection
from ..simulator import Trajectory, contact_problem
from .demo import Check

RADIUS = 0.028575  # m, of a pool ball
LENGTH, WIDTH = 2.24, 1.12  # m, of the table between its cushions
ROWS = 5
SPEED = 8.0  # m/s of the cue ball
CUE_MASS = 0.17  # kg
BALL_MASSES = {
    (0, 0): 0.165,
    (1, 1): 0.161,
    (2, 0): 0.168,
    (2, 2): 0.158,
    (3, 1): 0.163,
    (3, 3): 0.166,
    (4, 0): 0.160,
    (4, 2): 0.169,
    (4, 4): 0.157,
}
"""[kg] of a ball by its row and its distance from the axis in radii: within what pool rules allow and equal on
both sides, yet not all equal, since equal balls pass impulses on so exactly that touching balls would be left
with nothing but rounding between their velocities."""
CUE = 5  # index of the cue ball, after the cloth and four cushions
_CUSHIONS = {
    "head": (1.0, 0.0, -0.5 * LENGTH),
    "foot": (-1.0, 0.0, -0.5 * LENGTH),
    "right": (0.0, 1.0, -0.5 * WIDTH),
    "left": (0.0, -1.0, -0.5 * WIDTH),
}
_RACK = [(row, place) for row in range(ROWS) for place in range(row + 1)]


def rack_scene(approach: float | None = None) -> Scene:
    """The table with the rack at its foot spot and the cue ball on the axis, that far [m] from the apex ball.

    The cue ball starts from the head spot where `approach` is left out; with 0 it touches the rack.
    """
    material = Material(friction=0.0, restitution=1.0)
    scene = Scene(gravity=(0.0, 0.0, 0.0))
    cloth = HalfSpace(np.array([0.0, 0.0, 1.0]), offset=-1.5 * RADIUS)  # out of reach: there to be seen
    scene.add(Body(cloth, fixed=True, material=material, name="cloth"))
    for name, (x, y, offset) in _CUSHIONS.items():
        cushion = HalfSpace(np.array([x, y, 0.0]), offset=offset)
        scene.add(Body(cushion, fixed=True, material=material, name=f"{name} cushion"))
    apex = 0.25 * LENGTH
    start = -apex if approach is None else apex - 2.0 * RADIUS - approach
    cue = Body(
        Sphere(RADIUS),
        mass=CUE_MASS,
        position=(start, 0.0, 0.0),
        velocity=(SPEED, 0.0, 0.0),
        material=material,
        name="cue ball",
    )
    scene.add(cue)
    for number, (row, place) in enumerate(_RACK, start=1):
        aside = 2 * place - row
        ball = Body(
            Sphere(RADIUS),
            mass=BALL_MASSES[row, abs(aside)],
            position=(apex + row * math.sqrt(3.0) * RADIUS, aside * RADIUS, 0.0),
            material=material,
            name=f"ball-{number}",
        )
        scene.add(ball)
    return scene


def break_problem() -> ImpactProblem:
    """The impact at the moment of the break; generalized velocities are those of the cue ball and the rack."""
    return contact_problem(rack_scene(approach=0.0))


def break_velocities(mirrored: bool = False) -> np.ndarray:
    """Velocities (16, 2) [m/s] in the plane of the table after the break, cue ball first.

    With `mirrored` the law is given the contacts in the order in which the mirror image would list them; which
    of two contacts that approach equally comes first is then the other choice.
    """
    problem = break_problem()
    if not mirrored:
        return _velocities(problem, SequentialReflection().resolve(problem).impulse)
    assert problem.jacobian is not None
    order = _mirrored_contacts(problem.jacobian[:: problem.dim])
    components = (problem.dim * order[:, None] + np.arange(problem.dim)).ravel()
    turned = ImpactProblem(
        problem.W[np.ix_(components, components)],
        problem.u[components],
        friction=0.0,
        restitution=1.0,
        dim=problem.dim,
    )
    impulse = np.empty(problem.u.size)
    impulse[components] = SequentialReflection().resolve(turned).impulse
    return _velocities(problem, impulse)


def mirror_image(velocities: np.ndarray) -> np.ndarray:
    """Velocities (16, 2) of the mirror image: balls change sides, velocities along y change sign."""
    return velocities[_mirrored_balls()] * [1.0, -1.0]


def _velocities(problem: ImpactProblem, impulse: np.ndarray) -> np.ndarray:
    return problem.generalized_velocity(impulse).reshape(-1, 6)[:, :2]


def _mirrored_balls() -> np.ndarray:
    """Of the cue ball and each ball, which one lies at its mirror image."""
    partners = [_RACK.index((row, row - place)) for row, place in _RACK]
    return np.array([0, *(1 + partner for partner in partners)])


def _mirrored_contacts(normals: np.ndarray) -> np.ndarray:
    """Of each contact, the one between the mirrored balls; normals are rows (nc, 6 balls) of a Jacobian."""
    partner = _mirrored_balls()
    pairs = [frozenset(np.flatnonzero(row.reshape(-1, 6).any(axis=1)).tolist()) for row in normals]
    return np.array([pairs.index(frozenset(int(partner[ball]) for ball in pair)) for pair in pairs])


class RackBreak:
    """A cue ball at 8 m/s meets the middle of the rack; everything is elastic and without friction.

    The balls slide on the cloth without weight. Scene and law are mirror images of themselves, the break is
    not: the apex ball meets two balls at 60°, where the order of two reflections decides most (see
    billiard-break), both approach equally, and the law takes the one with the lower index. With the other
    choice the outcome is the mirror image, which is checked.
    """

    name: ClassVar[str] = "rack-break"
    law: ClassVar[str] = "sequential-reflection"
    duration: ClassVar[float] = 3.0

    def scene(self) -> Scene:
        """The cue ball on the head spot, on its way to the rack."""
        return rack_scene()

    def check(self, trajectory: Trajectory) -> list[Check]:
        """The break against the same impact set up by itself, conserved quantities, and balls on the table."""
        impacts = [event for event in trajectory.events if event.kind == "impact"]
        if not impacts:
            return [Check("no impact found", math.inf, 0.0)]
        first = impacts[0]
        masses = np.array([body.mass for body in trajectory.scene.bodies[CUE:]])
        struck = (0.5 * LENGTH - 2.0 * RADIUS) / SPEED
        expected = break_velocities()
        break_error = float(np.abs(first.after.velocity[CUE:, :2] - expected).max())
        mirror_error = float(np.abs(mirror_image(break_velocities(mirrored=True)) - expected).max())

        cushions = [event.time for event in impacts if event.contacts.bodies.min() < CUE]
        until = cushions[0] if cushions else trajectory.end_time
        momentum = masses @ trajectory.sample(until, side="left").velocity[CUE:]
        sent = np.array([CUE_MASS * SPEED, 0.0, 0.0])

        times = np.append([event.time for event in trajectory.events], trajectory.end_time)
        energy = trajectory.energy(times)
        start = 0.5 * CUE_MASS * SPEED**2
        places = np.abs(trajectory.sample(times).position[:, CUE:, :2])
        beyond = float((places - 0.5 * np.array([LENGTH, WIDTH]) + RADIUS).max())
        overlap = trajectory.largest_overlap()
        return [
            Check("time of the break, error [s]", abs(first.time - struck), 1e-12),
            Check("contacts of the break, off 31", float(abs(len(first.contacts) - 31)), 0.0),
            Check("velocities after the break, error [m/s]", break_error, 1e-9),
            Check("mirrored order, mirrored break, error [m/s]", mirror_error, 1e-12),
            Check(
                "momentum before the first cushion, relative change",
                float(np.abs(momentum - sent).max() / sent[0]),
                1e-13,
            ),
            Check("energy at events, relative change", float(np.abs(energy / start - 1.0).max()), 1e-12),
            Check("balls beyond the cushions [m]", beyond, 1e-12),
            Check("largest overlap [m]", overlap, 1e-12),
        ]
