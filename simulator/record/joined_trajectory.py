"""Trajectories made of segments that others share."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..state import Array
from .ledger import Works
from .trajectory import BodyMotion, Pieces, Trajectory


class JoinedMotion(BodyMotion):
    """The pieces of several motions of one body, one after the other; only the last of them may still grow."""

    def __init__(self, parts: Sequence[BodyMotion]):
        self._parts = list(parts)
        self._first = np.cumsum([0, *(len(part) for part in parts[:-1])]).tolist()

    def append(self, start: float, state: Array, acceleration: Array, polynomial: Array | None) -> None:
        self._parts[-1].append(start, state, acceleration, polynomial)

    def __len__(self) -> int:
        return self._first[-1] + len(self._parts[-1])

    @property
    def start(self) -> Array:
        return np.concatenate([part.start for part in self._parts])

    def pieces(self, first: int = 0) -> Pieces:
        found = [
            part.pieces(max(0, first - before))
            for part, before in zip(self._parts, self._first, strict=True)
            if first < before + len(part)
        ] or [self._parts[-1].pieces(len(self._parts[-1]))]
        return Pieces(
            np.concatenate([part.start for part in found]),
            np.concatenate([part.state for part in found]),
            np.concatenate([part.acceleration for part in found]),
            [polynomial for part in found for polynomial in part.polynomial],
        )

    def piece(self, index: int) -> tuple[Array, Array, Array | None]:
        part = bisect_right(self._first, index) - 1
        return self._parts[part].piece(index - self._first[part])


def joined(segments: Sequence[Trajectory]) -> Trajectory:
    """One trajectory of consecutive segments, whose pieces it shares; what is added goes on from the last."""
    first, last = segments[0], segments[-1]
    whole = Trajectory(first.scene, first.law_name, first.seed, first.model)
    whole.law_description = first.law_description
    whole.motions = [JoinedMotion(parts) for parts in zip(*(s.motions for s in segments), strict=True)]
    for segment in segments:
        for event in segment.events:
            whole.add_event(replace(event))
    whole.start_time, whole.end_time = first.start_time, last.end_time
    whole.status, whole.message, whole.rest_time = last.status, last.message, last.rest_time
    whole.remarks = list(first.remarks)
    whole.works = Works.joined([(segment.works, segment.end_time) for segment in segments])
    return whole
