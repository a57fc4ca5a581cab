"""What a trajectory keeps of bodies that time steps move: new pieces of motion, and where their energy goes.

Between two steps nothing pulls at them, but they rise and fall: what gravity's potential gains there is work that
the steps do. At a step their velocities jump.
"""

import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..engine.tables_kernels import CLOSING
from ..record.trajectory import Trajectory
from ..state import Model
from .steps import MOST_STEPS

Array = NDArray[np.float64]

RECORDED = 1e-5
"""Of its size, by which the recorded place of a point of a body may be off between what is written; its velocity by
less than `slow`."""
CALM = 0.25
"""[s] for which nothing may be faster than SLOW before bodies are at rest."""
SLOW = 0.1
"""Of the speed that gravity gives in a step: what is slower is what the law's tolerance leaves."""


class StepRecord:
    """What has been written of the bodies that move, and the work of their steps.

    slow : [m/s], SLOW in numbers
    enough : steps in a row, none faster than that, after which bodies are at rest; more than there are where
        functions of a user push
    """

    def __init__(self, model: Model, step: float):
        moving = np.flatnonzero(model.movable)
        self.slow = SLOW * step * float(np.linalg.norm(model.gravity))
        self.enough = max(1, round(min(CALM / step, MOST_STEPS)))
        if model.scene.force_functions:  # which may push at any time
            self.enough = int(MOST_STEPS) + 1
        self._size, self._step = model.size[moving], step
        self._weight = model.mass[moving, None] * model.gravity
        self._written, self._written_at = np.zeros((len(moving), 13)), np.zeros(len(moving))
        self._since, self._power = 0.0, 0.0

    def copy(self) -> "StepRecord":
        """The same, which may go on otherwise."""
        copied = copy.copy(self)
        copied._written, copied._written_at = self._written.copy(), self._written_at.copy()
        return copied

    def note(self, bodies: NDArray[np.int64], time: float, states: Array) -> None:
        """That pieces of these bodies, by number among those that move, are written from packed states (k, 13)."""
        self._written[bodies], self._written_at[bodies] = states, time

    def changed(self, time: float, states: Array) -> NDArray[np.bool_]:
        """Which bodies, in packed states (moving, 13) at a time [s], are not where the last written pieces say, or
        will not be a step later."""
        passed = time - self._written_at
        off = self._written[:, :3] + passed[:, None] * self._written[:, 7:10] - states[:, :3]
        change = states[:, 7:13] - self._written[:, 7:13]
        change[:, 3:] *= self._size[:, None]
        soon = (passed + self._step) * np.linalg.norm(change[:, 3:], axis=1)
        soon += np.linalg.norm(off, axis=1) + self._step * np.linalg.norm(change[:, :3], axis=1)
        speed = np.linalg.norm(change[:, :3], axis=1) + np.linalg.norm(change[:, 3:], axis=1)
        found: NDArray[np.bool_] = (soon > RECORDED * self._size) | (speed > self.slow)
        return found

    def depart(self, trajectory: Trajectory, time: float, states: Array, gained: float, active: Any) -> None:
        """Note that bodies which are `active` (moving,) fly on from packed states (moving, 13) at a time [s], where
        their kinetic energy has jumped by what was gained [J]."""
        self.arrive(trajectory, time)
        if gained != 0.0:
            row = np.zeros(1, dtype=trajectory.log.jumps.dtype)
            row["time"], row["energy"] = time, gained
            trajectory.log.add("jumps", row)
        self._power = -float(np.einsum("bi,bi->b", self._weight, states[:, 7:10]).sum(where=active))

    def arrive(self, trajectory: Trajectory, time: float) -> None:
        """Note the work that was done by a time [s] since the bodies departed, or arrived last."""
        if time > self._since and self._power != 0.0:
            row = np.zeros(1, dtype=trajectory.log.works.dtype)
            row["origin"], row["start"], row["end"] = self._since, self._since, time
            row["work"][0, CLOSING, 1] = self._power
            trajectory.log.add("works", row)
        self._since = max(self._since, time)
