"""How all bodies move now: the current piece of each, and their states at the instant of an event."""

import heapq
import math
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from . import kernels
from .contact.lasting_contact import ContactMotion
from .event import ContactPatch, EventKind
from .record.ledger import WorkPiece
from .state import Array, Model

Pair = tuple[int, int]
_FREE_TERMS = 3  # position and velocity of free flight are parabolas


@dataclass(eq=False)
class Motion:
    """Current piece of one body: Taylor coefficients (13, TERMS) that hold from `start` to `end` [s], and the
    `bounds` (5,) of `motion_bounds` over it."""

    start: float
    end: float
    coefficients: Array
    bounds: Array
    island: "Island | None" = None


@dataclass(eq=False)
class Island:
    """Bodies that stay in contact and move together in one contact mode, or rest (no motion).

    held : every contact that stays closed, also those whose forces the others bear
    """

    bodies: NDArray[np.int64]
    held: ContactPatch
    motion: ContactMotion | None = None
    next_span: float = math.inf
    change: EventKind | None = None
    held_points: dict[Pair, NDArray[np.bool_]] = field(default_factory=dict)
    held_features: dict[Pair, NDArray[np.int64] | None] = field(default_factory=dict)
    """None: the whole pair is held."""
    leaves: bool = False
    """Whether a held feature comes to its end with the current step."""
    reaches_limit: bool = False
    """Whether a joint comes to its limit then."""
    work: WorkPiece | None = None
    """Work done in the current step, where any is."""


class Motions:
    """The current pieces of all bodies, as objects and as arrays for the kernels.

    version : number of pieces that each body has begun; what was predicted from an earlier one is void
    states : packed states (n, 13), of which `bring` makes rows those of now
    """

    def __init__(self, model: Model):
        count = model.count
        self.model = model
        self.coefficients = np.zeros((count, 13, kernels.TERMS))
        self.terms = np.ones(count, dtype=np.int64)
        self.start, self.end = np.zeros(count), np.full(count, np.inf)
        self.bounds = np.zeros((count, 5))
        self.version = [0] * count
        self.states = model.initial_states()
        self.resting = 0
        self._of: list[Motion | None] = [None] * count
        self._rests = [False] * count
        self._brought = [math.nan] * count
        self._ends: list[tuple[float, int, int]] = []

    def __getitem__(self, body: int) -> Motion:
        motion = self._of[body]
        assert motion is not None
        return motion

    def island_of(self, body: int) -> Island | None:
        """What a body moves with now; None for free flight, or before it moves at all."""
        motion = self._of[body]
        return None if motion is None else motion.island

    def begin(self, body: int, state: Array, motion: Motion) -> None:
        """Let a body move so from its packed state (13,) at ``motion.start`` on."""
        self._of[body] = motion
        self.coefficients[body] = motion.coefficients
        self.terms[body] = kernels.TERMS if motion.island else _FREE_TERMS
        self.start[body], self.end[body] = motion.start, motion.end
        self.bounds[body] = motion.bounds
        self.version[body] += 1
        self.states[body] = state
        self._brought[body] = motion.start
        still = not self.model.gravity.any() and not motion.coefficients[7:13].any()
        rests = bool(motion.end == math.inf) or still
        self.resting += rests - self._rests[body]
        self._rests[body] = rests
        if motion.end < math.inf:
            heapq.heappush(self._ends, (motion.end, body, self.version[body]))
        if len(self._ends) > 64 + 16 * len(self.version):
            self._ends = [entry for entry in self._ends if self.version[entry[1]] == entry[2]]
            heapq.heapify(self._ends)

    def bring(self, bodies: Iterable[int], time: float) -> Array:
        """`states`, in which the rows of these bodies are those at `time` [s]."""
        for body in bodies:
            if self._brought[body] != time:
                self.states[body] = kernels.evaluate_piece(self.coefficients[body], time - self.start[body])
                self._brought[body] = time
        return self.states

    def all_states(self, time: float) -> Array:
        """Packed states (n, 13) of all bodies at `time` [s]."""
        return kernels.state_of_all(self.coefficients, self.start, time)

    def next_end(self) -> float:
        """When the first of the current pieces ends [s]."""
        ends = self._ends
        while ends and self.version[ends[0][1]] != ends[0][2]:
            heapq.heappop(ends)
        return ends[0][0] if ends else math.inf

    def ended(self, time: float) -> set[int]:
        """Bodies whose pieces end by `time` [s]; each is told once and needs a new piece."""
        due = set()
        while self.next_end() <= time:
            due.add(heapq.heappop(self._ends)[1])
        return due
