"""All impacts of a run as arrays, one row a contact."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..engine.log_kernels import IMPACT
from ..state import Array
from .log import Log


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
    def of_log(cls, log: Log) -> "ImpactRecords":
        """From the tables of a run."""
        kind, counts = log.events.column("kind"), log.events.column("contacts")
        number = np.repeat(np.arange(len(counts)), counts)
        of_impact = kind[number] == IMPACT
        number = number[of_impact]
        columns = {
            name: log.event_contacts.column(name)[of_impact]
            for name in ("first", "second", "velocity", "after", "impulse")
        }
        return cls(
            number,
            log.events.column("time")[number],
            np.stack([columns["first"], columns["second"]], axis=1),
            columns["velocity"],
            columns["after"],
            columns["impulse"],
        )
