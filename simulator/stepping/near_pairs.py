"""Which bodies hold together, and pairs that are nearer each other than the skins by which time steps grow bodies.

Bodies that events let touch are grown into each other when steps take them over. To part them would give them speed
that nothing gave them; so their gap counts from where they are, and is never let shrink again once they part.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from .convex_touches_kernels import HALF_SPACE
from .sorted_codes import found_in, pair_code

Array = NDArray[np.float64]


def islands(keys: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """For each of `count` bodies that move the number of its island: contacts with these keys hold it together."""
    pairs = keys[(keys[:, 1] >= 0) & (keys[:, 1] < count), :2]
    graph = coo_array((np.ones(len(pairs)), pairs.T), shape=(count, count))
    labels: NDArray[np.int64] = connected_components(graph, directed=False)[1].astype(np.int64)
    return labels


def sizes_of(labels: NDArray[np.int64]) -> NDArray[np.int64]:
    """For each body of how many its island is."""
    sizes: NDArray[np.int64] = np.bincount(labels)[labels]
    return sizes


class NearPairs:
    """Pairs of bodies, by a number each, and how far [m] the grown shapes of each may overlap."""

    def __init__(self) -> None:
        self._codes = np.zeros(0, np.int64)
        self._room = np.zeros(0)

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self._codes)

    def room(self, keys: NDArray[np.int64]) -> Array:
        """For contacts with these keys (k, 6) how far [m] the grown shapes of a pair may overlap: 0 of most."""
        found = np.zeros(len(keys))
        at, same = found_in(self._codes, pair_codes(keys))
        found[same] = self._room[at[same]]
        return found

    def with_contacts(self, keys: NDArray[np.int64], gaps: Array, most: Array) -> "NearPairs":
        """These, and the pairs of contacts that have gaps below 0, by no more than `most` (k,) [m]."""
        room = np.minimum(np.maximum(-gaps, 0.0), most)
        return _of(
            np.concatenate([self._codes, pair_codes(keys)[room > 0.0]]),
            np.concatenate([self._room, room[room > 0.0]]),
        )

    def shrunk(self, keys: NDArray[np.int64], gaps: Array, stay: NDArray[np.bool_]) -> "NearPairs":
        """Those of contacts that `stay` (k,), with no more room than their gaps (k,) [m] need."""
        room = np.minimum(np.maximum(-gaps, 0.0), self.room(keys))
        kept = stay & (room > 0.0)
        return _of(pair_codes(keys)[kept], room[kept])


def _of(codes: NDArray[np.int64], room: Array) -> NearPairs:
    """Pairs of these numbers, with the most room that any of equal ones has."""
    made = NearPairs()
    made._codes, which = np.unique(codes, return_inverse=True)
    made._room = np.zeros(len(made._codes))
    np.maximum.at(made._room, which, room)
    return made


def pair_codes(keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """A number of the pair of each contact."""
    other = np.where(keys[:, 1] == HALF_SPACE, (1 << 31) + keys[:, 5], keys[:, 1])
    codes: NDArray[np.int64] = pair_code(keys[:, 0], other)
    return codes
