"""One body of a run, by name."""

from typing import TYPE_CHECKING, Any

import numpy as np

from ..state import Array, BodyState

if TYPE_CHECKING:
    from ...bodies import Body
    from ..event import Event
    from .trajectory import Trajectory


class BodyRun:
    """What became of one body: ``trajectory["ball"]``.

    body, name, index : which it is, in the scene

    Times `t` [s] are a number, or an array (T,), which every answer then has as a leading axis; `side` is as in
    `Trajectory.sample`, which says what is raised.

    >>> import carom
    >>> scene = carom.Scene()
    >>> ball = scene.add(carom.Body(carom.Sphere(0.1), mass=1.0, position=(0, 0, 5), name="ball"))
    >>> run = carom.Simulator(scene, carom.AnitescuPotra()).run(0.5)
    >>> run["ball"].position([0.0, 0.5])[:, 2].round(6).tolist()
    [5.0, 3.77375]
    """

    def __init__(self, trajectory: "Trajectory", index: int):
        self._trajectory, self.index = trajectory, index
        self.body: Body = trajectory.scene.bodies[index]
        self.name = str(self.body.name)

    def __repr__(self) -> str:
        return (
            f"BodyRun({self.name!r}, {self._trajectory.start_time:g} to {self._trajectory.known_until:g} s)"
        )

    def sample(self, t: Any, side: str = "right") -> BodyState:
        """Everything about it at time(s) `t` [s]."""
        return self._trajectory.sample(t, side=side)[self.index]

    def position(self, t: Any, side: str = "right") -> Array:
        """Of its centre of mass, (3,) or (T, 3) [m], world frame."""
        return self.sample(t, side).position

    def orientation(self, t: Any, side: str = "right") -> Array:
        """Unit quaternion (w, x, y, z), (4,) or (T, 4), body to world."""
        return self.sample(t, side).orientation

    def velocity(self, t: Any, side: str = "right") -> Array:
        """Of its centre of mass, (3,) or (T, 3) [m/s], world frame."""
        return self.sample(t, side).velocity

    def angular_velocity(self, t: Any, side: str = "right") -> Array:
        """(3,) or (T, 3) [rad/s], world frame."""
        return self.sample(t, side).angular_velocity

    @property
    def events(self) -> "list[Event]":
        """Events with a contact of this body, in order of time."""
        return [event for event in self._trajectory.events if np.any(event.contacts.bodies == self.index)]
