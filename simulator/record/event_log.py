"""The events of a run while it grows, and what everyone may read of them."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol, overload

import numpy as np
from numpy.typing import NDArray

from ..event import Event, EventKind
from ..state import Array, State
from .growing_array import GrowingArray
from .impact_records import ImpactRecords

KINDS = tuple(EventKind)
_KIND_NAMES = np.array([kind.value for kind in KINDS])


class EventStore(Protocol):
    """Events in order of time, wherever they are kept.

    times : (E,) [s]
    kind_codes : (E,), indices into `KINDS`
    """

    @property
    def times(self) -> Array: ...

    @property
    def kind_codes(self) -> NDArray[Any]: ...

    def __len__(self) -> int: ...

    def __getitem__(self, index: int) -> Event: ...


class EventLog:
    """Events in memory, to which more are added."""

    def __init__(self) -> None:
        self._events: list[Event] = []
        self._times = GrowingArray()
        self._kind_codes = GrowingArray(dtype=np.int8)

    def append(self, event: Event) -> None:
        """Add the latest event."""
        self._events.append(event)
        self._times.append(event.time)
        self._kind_codes.append(KINDS.index(event.kind))

    @property
    def times(self) -> Array:
        """Of all events, (E,) [s]."""
        return self._times.values

    @property
    def kind_codes(self) -> NDArray[Any]:
        """Of all events, (E,), indices into `KINDS`."""
        return self._kind_codes.values

    def __len__(self) -> int:
        return len(self._events)

    def __getitem__(self, index: int) -> Event:
        return self._events[index]

    def impacts(self) -> ImpactRecords:
        """Every impact so far."""
        return ImpactRecords.of_events(self._events)


class Events(Sequence[Event]):
    """The events that there were when this was asked for, each made when it is looked at."""

    def __init__(self, store: EventStore, sample: Callable[..., State]):
        self._store, self._sample, self._count = store, sample, len(store)

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> Event: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[Event, ...]: ...

    def __getitem__(self, index: int | slice) -> Event | tuple[Event, ...]:
        if isinstance(index, slice):
            return tuple(self._event(k) for k in range(self._count)[index])
        return self._event(range(self._count)[index])

    def __iter__(self) -> Iterator[Event]:
        return map(self._event, range(self._count))

    def __repr__(self) -> str:
        return f"<{self._count} events>"

    def _event(self, index: int) -> Event:
        event = self._store[index]
        event.sample_from(self._sample)
        return event


def kind_names(codes: NDArray[Any]) -> NDArray[np.str_]:
    """Names of kinds, comparable with `EventKind`."""
    return _KIND_NAMES[codes]
