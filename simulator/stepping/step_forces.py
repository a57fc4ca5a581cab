"""What pulls at bodies in a step: gravity, forces of a user's functions, and drag."""

import numpy as np
from numpy.typing import NDArray

from ..python_parts import given_forces
from ..state import Model, State

Array = NDArray[np.float64]


class StepForces:
    """What a step gives to the velocities (moving, 6) of the bodies of a model, world axes.

    Drag acts at the end of a step and is implicit, so that it takes energy at any length of the step.

    drags : whether there is any
    """

    def __init__(self, model: Model):
        self._model, self._moving = model, np.flatnonzero(model.movable)
        self._drag, self._mass = model.drag[self._moving], model.mass[self._moving]
        self.drags = bool(self._drag.any())
        self._gravity = model.gravity

    def acceleration(self, time: float, states: Array, inverse_mass: Array) -> Array:
        """(moving, 6) of gravity and of functions, for packed states (moving, 13) at a time [s]."""
        found = np.zeros((len(states), 6))
        found[:, :3] = self._gravity
        functions = self._model.scene.force_functions
        if functions:
            packed = self._model.initial_states()
            packed[self._moving] = states
            now = State.unpacked(time, packed, self._model.scene)
            wrench = np.sum([given_forces(self._model, function, now) for function in functions], axis=0)
            found += np.einsum("bij,bj->bi", inverse_mass, wrench[self._moving])
        return found

    def resisted(self, velocity: Array, inverse_mass: Array, span: float) -> Array:
        """Velocities (moving, 6) when drag has acted on these for a span [s]."""
        velocity = velocity.copy()
        linear, quadratic, rotational = self._drag.T
        speed = np.linalg.norm(velocity[:, :3], axis=1)
        # s (1 + h (c1 + c2 s) / m) is the speed before, where s is that after it
        a, b = 1.0 + span * linear / self._mass, span * quadratic / self._mass
        velocity[:, :3] *= (2.0 / (a + np.sqrt(a * a + 4.0 * b * speed)))[:, None]
        turns = np.flatnonzero(rotational > 0.0)
        if len(turns):
            slowed = np.eye(3) + (span * rotational[turns])[:, None, None] * inverse_mass[turns, 3:, 3:]
            velocity[turns, 3:] = np.linalg.solve(slowed, velocity[turns, 3:, None])[:, :, 0]
        return velocity
