"""A measured motion as the viewer takes it, to be overlaid on runs."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation, Slerp

from ...bodies import Scene
from ..state import State
from .comparison import body_number
from .measured import Measured

Array = NDArray[np.float64]


class ShownMotion:
    """The bodies of a scene, one of which moves as it was measured; the others stay where the scene has them.

    ``body`` is a name or an index, by default the only body that can move. Between frames places are on
    straight lines and rotations on shortest arcs; velocities are differences of frames. There are no events:
    what happened between frames is not known.

    Example
    -------
    ``carom.view([run, carom.ShownMotion(measured, run.scene, body="cube")])`` overlays a run and what was measured;
    where one body only can move, ``carom.view([run, measured])`` does.
    """

    law_name = "measured"

    def __init__(self, measured: Measured, scene: Scene, *, body: str | int | None = None):
        self.scene = scene
        self.measured = measured
        self._body = body_number(scene, body)
        self.start_time, self.end_time = float(measured.time[0]), float(measured.time[-1])
        self.events: list[Any] = []
        self.event_times = np.zeros(0)
        self.event_kinds = np.zeros(0, dtype="<U8")
        self._turns = Slerp(measured.time, Rotation.from_matrix(measured.rotation))
        self._velocity = np.gradient(measured.center, measured.time, axis=0)

    def sample(self, t: Any, side: str = "right") -> State:
        """The state at times t [s], a number or (T,), within the frames; `side` makes no difference."""
        times = np.clip(np.atleast_1d(np.asarray(t, dtype=float)), self.start_time, self.end_time)
        shape = (len(times), len(self.scene.bodies))
        position, orientation = np.empty((*shape, 3)), np.empty((*shape, 4))
        velocity, spin = np.zeros((*shape, 3)), np.zeros((*shape, 3))
        for number, one in enumerate(self.scene.bodies):
            position[:, number], orientation[:, number] = one.position, one.orientation
        frames = self.measured
        for axis in range(3):
            position[:, self._body, axis] = np.interp(times, frames.time, frames.center[:, axis])
            velocity[:, self._body, axis] = np.interp(times, frames.time, self._velocity[:, axis])
        turned = self._turns(times)
        orientation[:, self._body] = turned.as_quat()[:, [3, 0, 1, 2]]
        step = 0.5 * frames.interval
        low, high = np.maximum(times - step, self.start_time), np.minimum(times + step, self.end_time)
        spin[:, self._body] = (self._turns(high) * self._turns(low).inv()).as_rotvec() / (high - low)[:, None]
        if np.ndim(t) == 0:
            return State(float(t), position[0], orientation[0], velocity[0], spin[0])
        return State(np.asarray(t), position, orientation, velocity, spin)
