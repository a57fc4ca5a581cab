"""Steps inside one instant: along the impulse paths of its impacts, while time stands still."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from .contact_view import ContactView, to_world
from .stage import rotation_matrices

LEAST_STEPS = 12  # a path of fewer stages is walked in parts of stages
MOST_STEPS = 60  # a path of more stages is walked several at a time


@dataclass(frozen=True)
class BodyVelocities:
    """Of all bodies: velocity (n, 3) [m/s] and angular_velocity (n, 3) [rad/s], world frame."""

    velocity: np.ndarray
    angular_velocity: np.ndarray


class ImpactWalk:
    """Walks through the impacts of one time, in their order, each along the path of its law.

    ``position`` runs from 0, before the first impact, to ``length``, after the last; every stage of a path is
    one unit. It starts at the end, where the impact is over.
    """

    def __init__(self, trajectory: Any, impacts: list[Any]) -> None:
        if not impacts:
            raise ValueError("impacts: expected at least one event with an outcome, got none")
        self.impacts = impacts
        self.time = float(impacts[0].time)
        self._stages = [max(len(event.outcome.path.impulse) - 1, 1) for event in impacts]
        self.length = float(sum(self._stages))
        self.position = self.length
        self._before = trajectory.sample(self.time, side="left")
        self._bodies = list(trajectory.scene.bodies)

    @property
    def at_end(self) -> bool:
        """Whether all impacts are over."""
        return self.position >= self.length

    @property
    def current(self) -> int:
        """Which of the impacts is going on, from 0."""
        passed = 0.0
        for number, stages in enumerate(self._stages):
            passed += stages
            if self.position <= passed:
                return number
        return len(self._stages) - 1

    @property
    def row(self) -> float:
        """Where on the path of the current impact the walk stands."""
        return self.position - sum(self._stages[: self.current])

    @property
    def stage_count(self) -> int:
        """Stages of the current impact."""
        return self._stages[self.current]

    @property
    def label(self) -> str:
        """What has just happened on the path of the current impact."""
        labels = self.impacts[self.current].outcome.path.labels
        return str(labels[min(int(self.row + 1e-9), len(labels) - 1)])

    def step(self, steps: int) -> None:
        """Go on (or back, where negative); from the end, going on starts again before the impact."""
        if steps > 0 and self.at_end:
            self.position = 0.0
            return
        size = self._step_size()
        self.move((round(self.position / size) + steps) * size - self.position)

    def move(self, stages: float) -> None:
        """Go on by stages, whole or in part."""
        self.position = min(max(self.position + stages, 0.0), self.length)

    def contacts(self) -> ContactView | None:
        """Contacts of the current impact with the impulses so far."""
        return ContactView.of_event(self.impacts[self.current], self.row)

    def velocities(self) -> BodyVelocities:
        """Velocities of all bodies with the impulses so far."""
        velocity = np.array(self._before.velocity, dtype=float)
        spin = np.array(self._before.angular_velocity, dtype=float)
        for number, event in enumerate(self.impacts[: self.current + 1]):
            view = ContactView.of_event(event, self.row if number == self.current else None)
            if view is not None:
                self._add_impulses(view.bodies, view.point, view.impulse, velocity, spin)
        return BodyVelocities(velocity, spin)

    def fan(self, impulses: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Bodies (m,) that the current impact concerns, and their velocities (n, m, 3) [m/s] after each of n
        outcomes with contact impulses (n, dim*nc) [N s]."""
        contacts = self.impacts[self.current].contacts
        count = len(contacts.point)
        world = to_world(contacts, np.asarray(impulses, dtype=float).reshape(len(impulses), count, -1))
        touched = np.unique(np.asarray(contacts.bodies))
        moving = np.array([body for body in touched if not self._bodies[body].fixed], dtype=int)
        velocities = np.repeat(np.asarray(self._before.velocity, dtype=float)[None], len(world), axis=0)
        for number, (first, second) in enumerate(np.asarray(contacts.bodies)):
            velocities[:, first] += world[:, number] * self._inverse_mass(first)
            velocities[:, second] -= world[:, number] * self._inverse_mass(second)
        return moving, velocities[:, moving]

    def _inverse_mass(self, body: int) -> float:
        return 0.0 if self._bodies[body].fixed else 1.0 / self._bodies[body].mass

    def _add_impulses(
        self, bodies: Any, points: Any, impulses: Any, velocity: np.ndarray, spin: np.ndarray
    ) -> None:
        """Change velocities (n, 3) by impulses (nc, 3) [N s] on the first bodies, and back on the second."""
        for pair, point, impulse in zip(bodies, points, impulses, strict=True):
            for body, push in ((pair[0], impulse), (pair[1], -impulse)):
                solid = self._bodies[body]
                if solid.fixed:
                    continue
                velocity[body] += push / solid.mass
                rotation = rotation_matrices(self._before.orientation[body][None])[0]
                twist = np.cross(point - self._before.position[body], push)
                spin[body] += rotation @ np.linalg.solve(np.asarray(solid.inertia), rotation.T @ twist)

    def _step_size(self) -> float:
        if self.length < LEAST_STEPS:
            return 1.0 / np.ceil(LEAST_STEPS / self.length)
        return max(float(np.ceil(self.length / MOST_STEPS)), 1.0)
