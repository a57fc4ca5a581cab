"""Impulses of contacts by their features, with which the next step begins."""

import numpy as np
from numpy.typing import NDArray

from ...impact_laws import relaxation_kernels
from .sorted_codes import found_in

Array = NDArray[np.float64]

_SPREAD, _SHIFT = np.uint64(0x9E3779B97F4A7C15), np.uint64(32)


class KnownImpulses:
    """Impulses in world axes that contacts had; nothing is known at first, and it is never changed."""

    def __init__(self) -> None:
        self._codes, self._impulses = np.zeros(0, np.uint64), np.zeros((0, 3))

    @classmethod
    def of(cls, keys: NDArray[np.int64], frame: Array, impulse: Array) -> "KnownImpulses":
        """Impulses (nc, 3) in the frames (nc, 3, 3) of contacts with these keys."""
        made, codes = cls(), feature_codes(keys)
        order = np.argsort(codes, kind="stable")
        made._codes, made._impulses = codes[order], np.einsum("crj,cr->cj", frame, impulse)[order]
        return made

    def begin(self, keys: NDArray[np.int64], frame: Array, friction: Array) -> Array:
        """Impulses (nc, 3) in frames, within friction cones, that the same features had, else zero."""
        start = np.zeros((len(keys), 3))
        at, same = found_in(self._codes, feature_codes(keys))
        start[same] = np.einsum("crj,cj->cr", frame[same], self._impulses[at[same]])
        relaxation_kernels.within_cones(start.reshape(-1), friction, 3)
        return start


def feature_codes(keys: NDArray[np.int64]) -> NDArray[np.uint64]:
    """One number for each contact, which the same features have at every step; two that agree by chance only begin
    with each other's impulses."""
    codes = np.zeros(len(keys), np.uint64)
    for column in keys.T:
        codes = (codes ^ column.astype(np.uint64)) * _SPREAD
        codes ^= codes >> _SHIFT
    return codes
