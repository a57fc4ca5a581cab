"""All impacts of a run as one table, one row a contact."""

from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from ..engine.log_kernels import IMPACT
from ..state import Array
from .log import Log

_COMPONENTS = ("normal", "tangent", "tangent2")
_VECTORS = {"velocity_before": "velocity", "velocity_after": "after", "impulse": "impulse"}
_ROW = np.dtype(
    [("event", "i8"), ("time", "f8"), ("first", "i8"), ("second", "i8")]
    + [(f"{component}_{vector}", "f8") for vector in _VECTORS for component in _COMPONENTS]
)


class ImpactRecords(np.ndarray):
    """Contacts of every event that a law resolved, event after event, in the order of their problem.

    A structured array of k rows, which ``pandas.DataFrame(trajectory.impacts)`` takes as it is. Its columns:

    event : number of the event in ``trajectory.events``
    time : [s]
    first, second : bodies; the normal points from the second to the first
    normal_velocity_before, tangent_velocity_before, tangent2_velocity_before : [m/s], of the contact
    normal_velocity_after, tangent_velocity_after, tangent2_velocity_after : [m/s]
    normal_impulse, tangent_impulse, tangent2_impulse : [N s], on the first body

    What belongs together is also there as one array:

    bodies : (k, 2), first and second
    velocity_before, velocity_after : (k, 3) [m/s]
    impulse : (k, 3) [N s]

    Example
    -------
    >>> scene = carom.Scene(gravity=(0, 0, 0))
    >>> wall = scene.add(carom.Body(carom.HalfSpace((1, 0, 0)), fixed=True))
    >>> ball = scene.add(carom.Body(carom.Sphere(0.5), mass=2.0, position=(1, 0, 0), velocity=(-1, 0, 0)))
    >>> impacts = carom.Simulator(scene, carom.AnitescuPotra()).run(1.0).impacts
    >>> impacts["time"].tolist(), impacts["normal_impulse"].tolist(), impacts.velocity_before.tolist()
    ([0.5], [2.0], [[-1.0, 0.0, 0.0]])
    """

    def __getitem__(self, key: Any) -> Any:
        found = super().__getitem__(key)
        if isinstance(found, ImpactRecords) and found.dtype != _ROW:  # columns are plain arrays
            return found.view(np.ndarray)
        return found

    @property
    def event(self) -> NDArray[np.int64]:
        """Number of the event of each contact, (k,)."""
        return self["event"]

    @property
    def time(self) -> Array:
        """(k,) [s]."""
        return self["time"]

    @property
    def bodies(self) -> NDArray[np.int64]:
        """(k, 2), the normal points from the second to the first."""
        return np.stack([self["first"], self["second"]], axis=1)

    @property
    def velocity_before(self) -> Array:
        """(k, 3) [m/s], of the contact: normal, tangent, tangent2."""
        return self._vector("velocity_before")

    @property
    def velocity_after(self) -> Array:
        """(k, 3) [m/s]."""
        return self._vector("velocity_after")

    @property
    def impulse(self) -> Array:
        """(k, 3) [N s]."""
        return self._vector("impulse")

    @property
    def energy_change(self) -> Array:
        """Share of each contact in the change of kinetic energy, (k,) [J]; the sum over an event is its change."""
        return 0.5 * (self.impulse * (self.velocity_before + self.velocity_after)).sum(axis=1)

    def per_event(self, values: Array) -> tuple[NDArray[np.int64], Array]:
        """Numbers of the events (m,) and the sum over the contacts of each of values (k,)."""
        numbers, first = np.unique(self.event, return_index=True)
        return numbers, np.add.reduceat(values, first) if len(values) else np.zeros(0)

    @classmethod
    def of_log(cls, log: Log) -> "ImpactRecords":
        """From the tables of a run."""
        kind, counts = log.events.columns(["kind", "contacts"])
        number = np.repeat(np.arange(len(counts)), counts)
        of_impact = kind[number] == IMPACT
        number = number[of_impact]
        found = cast("ImpactRecords", np.empty(len(number), dtype=_ROW).view(cls))
        found["event"], found["time"] = number, log.events.column("time")[number]
        first, second, *vectors = log.event_contacts.columns(["first", "second", *_VECTORS.values()])
        found["first"], found["second"] = first[of_impact], second[of_impact]
        for vector, values in zip(_VECTORS, vectors, strict=True):
            for k, component in enumerate(_COMPONENTS):
                found[f"{component}_{vector}"] = values[of_impact, k]
        return found

    def _vector(self, name: str) -> Array:
        return np.stack([self[f"{component}_{name}"] for component in _COMPONENTS], axis=1)
