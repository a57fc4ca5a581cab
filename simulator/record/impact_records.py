"""All impacts of a run as arrays, one row a contact."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..event import Event
from ..state import Array


@dataclass(frozen=True, eq=False)
class ImpactRecords:
    """Contacts of every event that a law resolved, event after event, in the order of their problem.

    event : (k,), number of the event in ``trajectory.events``
    time : (k,) [s]
    bodies : (k, 2), the normal points from the second to the first
    velocity_before, velocity_after : (k, 3) [m/s], contact velocity (normal, tangent, tangent2)
    impulse : (k, 3) [N s]
    """

    event: NDArray[np.int64]
    time: Array
    bodies: NDArray[np.int64]
    velocity_before: Array
    velocity_after: Array
    impulse: Array

    def __len__(self) -> int:
        return len(self.event)

    @property
    def energy_change(self) -> Array:
        """Share of each contact in the change of kinetic energy, (k,) [J]; the sum over an event is its change."""
        return 0.5 * (self.impulse * (self.velocity_before + self.velocity_after)).sum(axis=1)

    def per_event(self, values: Array) -> tuple[NDArray[np.int64], Array]:
        """Numbers of the events (m,) and the sum over the contacts of each of values (k,)."""
        numbers, first = np.unique(self.event, return_index=True)
        return numbers, np.add.reduceat(values, first) if len(values) else np.zeros(0)

    @classmethod
    def of_events(cls, events: "list[Event]") -> "ImpactRecords":
        """From events in memory."""
        found = [(k, event) for k, event in enumerate(events) if event.outcome is not None]
        counts = [len(event.contacts) for _, event in found]
        number = np.repeat(np.array([k for k, _ in found], dtype=np.int64), counts)
        problems = [(event.problem, event.outcome) for _, event in found]
        return cls(
            number,
            np.repeat(np.array([event.time for _, event in found], dtype=float), counts),
            np.concatenate([np.empty((0, 2), np.int64), *(event.contacts.bodies for _, event in found)]),
            _rows([(problem.u, problem.dim) for problem, _ in problems if problem is not None]),
            _rows([(o.velocity, p.dim) for p, o in problems if p is not None and o is not None]),
            _rows([(o.impulse, p.dim) for p, o in problems if p is not None and o is not None]),
        )


def in_space(values: Array, dim: int) -> Array:
    """Contact vectors (k, 3) of their components, `dim` of each; planar ones have none along tangent2."""
    vectors = np.zeros((len(values) // dim, 3))
    vectors[:, :dim] = values.reshape(-1, dim)
    return vectors


def _rows(parts: list[tuple[Array, int]]) -> Array:
    return np.concatenate([np.zeros((0, 3)), *(in_space(values, dim) for values, dim in parts)])
