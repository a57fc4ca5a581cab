"""How far a run is from a measured motion, over time and at the end."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...bodies import Scene
from ..record.trajectory import Trajectory
from .measured import Measured

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Comparison:
    """Errors of a run: time (n,) [s] of the frames that both have; distance (n,) [m] between the centres of
    mass; angle (n,) [rad] between the orientations. `settled_distance` [m] and `settled_angle` [rad] are
    those of the last frame in common."""

    time: Array
    distance: Array
    angle: Array

    @property
    def settled_distance(self) -> float:
        """Distance at the last frame in common [m]."""
        return float(self.distance[-1])

    @property
    def settled_angle(self) -> float:
        """Angle at the last frame in common [rad]."""
        return float(self.angle[-1])

    def table(self, rows: int = 10) -> list[tuple[float, float, float]]:
        """Evenly spaced rows of (time [s], distance [mm], angle [degrees]), the last frame among them."""
        which = np.unique(np.linspace(0, len(self.time) - 1, min(rows, len(self.time))).round().astype(int))
        return [
            (float(self.time[k]), 1e3 * float(self.distance[k]), float(np.degrees(self.angle[k])))
            for k in which
        ]


def compare(trajectory: Trajectory, measured: Measured, *, body: str | int | None = None) -> Comparison:
    """The errors of one body of a run against a measured motion, at the frames that lie within the run.

    ``body`` is a name or an index; by default the only body that can move. The run's body axes and origin
    must be those of the measurement: its orientation that of the tracked body, its position that of the
    centre of mass. Raises ValueError where body or times do not fit.

    Example
    -------
    >>> scene = carom.Scene()
    >>> ball = scene.add(carom.Body(carom.Sphere(0.1), mass=1.0, position=(0, 0, 1)))
    >>> run = carom.Simulator(scene, carom.StrongeCoulomb()).run(0.2)
    >>> t = np.arange(20) / 100.0
    >>> fall = np.column_stack([0 * t + 0.003, 0 * t, 1.0 - 4.905 * t**2])
    >>> compared = carom.compare(run, carom.Measured(t, fall, np.tile([1.0, 0, 0, 0], (20, 1))))
    >>> round(1e3 * compared.settled_distance, 6)
    3.0
    """
    number = body_number(trajectory.scene, body)
    inside = (measured.time >= trajectory.start_time) & (measured.time <= trajectory.end_time)
    if trajectory.rest_time is not None:
        inside |= measured.time >= trajectory.rest_time
    if not inside.any():
        raise ValueError(
            f"measured: expected frames between {trajectory.start_time:g} and {trajectory.end_time:g} s, where the "
            f"run is, got {measured.time[0]:g} to {measured.time[-1]:g} s"
        )
    times = measured.time[inside]
    state = trajectory.sample(np.clip(times, trajectory.start_time, trajectory.end_time))
    here = state.position[:, number], state.orientation[:, number]
    return Comparison(times, *apart(*here, measured.center[inside], measured.orientation[inside]))


def apart(position: Array, orientation: Array, place: Array, turned: Array) -> tuple[Array, Array]:
    """Distances (n,) [m] between positions (n, 3), and angles (n,) [rad] between unit quaternions (n, 4)."""
    overlap = np.abs(np.sum(orientation * turned, axis=1))
    return np.linalg.norm(position - place, axis=1), 2.0 * np.arccos(np.minimum(overlap, 1.0))


def body_number(scene: Scene, body: str | int | None) -> int:
    """The index of a body by name or index; by default of the only one that can move."""
    bodies = scene.bodies
    if isinstance(body, str):
        names = [one.name for one in bodies]
        if body not in names:
            raise ValueError(f"body: expected one of {', '.join(map(str, names))}, got {body!r}")
        return names.index(body)
    movable = [k for k, one in enumerate(bodies) if not one.fixed]
    if body is None:
        if len(movable) != 1:
            raise ValueError(f"body: expected a name, since {len(movable)} bodies can move")
        return movable[0]
    if not 0 <= body < len(bodies):
        raise ValueError(f"body: expected an index below {len(bodies)}, got {body}")
    return int(body)
