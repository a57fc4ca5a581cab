"""Which bodies can meet, and when the next two do.

Broad phase: hashed grids of cells, one for each level of body sizes (a body is at home in the level of its size
and visits the coarser ones), and a list of half-spaces. Bodies whose cells are not neighbours cannot touch before
one of them leaves its cell by more than a slack, and the earliest time of that is an entry of the queue as are the
earliest meetings of neighbours. So an event costs what the bodies near it cost, however many are far away.

The queue is a heap of bounds and exact times. An entry is void once one of its bodies moves otherwise, and a
bound is followed up only when it comes first. Exact times depend on the two motions alone, not on when or why they
were asked for: runs with other cells, or with one cell for all, are equal bit for bit.
"""

import heapq
import math
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from . import kernels
from .collision import broad_kernels
from .collision.pairs import half_space_impact, pair_gap, pair_impact, pair_size
from .motion import Motions, Pair
from .state import Array
from .tolerances import CONTACT_GAP

_FEW_BODIES = 24  # that are quicker to check all than to sort into cells
_LEVEL = 2.0  # ratio of the sizes in one level
_EDGE, _SLACK = (
    2.5,
    0.2,
)  # [largest radius of a level]; _EDGE - 2 _SLACK > 2 or touching bodies are overlooked
_LEAVING = 1e-3  # [pair size] how far a body may leave a sensor before that counts as having left

# A cell (x, y, z) has the key x + _ROW y + _ROW^2 z: distant cells that share one only add candidates.
_ROW = 1 << 21
_AROUND = [x + _ROW * (y + _ROW * z) for z in (-1, 0, 1) for y in (-1, 0, 1) for x in (-1, 0, 1)]
_AROUND_SET = frozenset(_AROUND)

# what an entry (time, first, second, what, versions of both) of the queue stands for
_BOUND, _IMPACT, _INSIDE = 0, 1, 2
_CELL = -1  # entries (time, _CELL, body, level, version, 0) come before those of pairs


class SearchError(Exception):
    """The search for an impact took too many steps; the text says of which pair."""


def pair_order(pair: Pair) -> Pair:
    """Key that puts pairs in the order of their bodies."""
    return (pair[0], pair[1]) if pair[0] < pair[1] else (pair[1], pair[0])


class _Level:
    """Cells of one edge [m], with the bodies at home in them and the smaller ones that visit."""

    def __init__(self, largest: float):
        self.edge, self.slack = _EDGE * largest, _SLACK * largest
        self.at_home: dict[int, list[int]] = {}
        self.visiting: dict[int, list[int]] = {}
        self.cell: dict[int, tuple[int, int, int]] = {}
        self.key: dict[int, int] = {}

    def put(self, body: int, x: float, y: float, z: float, at_home: bool) -> int | None:
        """Put a body at (x, y, z) [m] into its cell; the key of the cell it was in if that is another."""
        edge = self.edge
        cell = (math.floor(x / edge), math.floor(y / edge), math.floor(z / edge))
        if self.cell.get(body) == cell:
            return None
        where = self.at_home if at_home else self.visiting
        before = self.key.get(body)
        if before is not None:
            where[before].remove(body)
            if not where[before]:
                del where[before]
        key = cell[0] + _ROW * (cell[1] + _ROW * cell[2])
        self.cell[body], self.key[body] = cell, key
        where.setdefault(key, []).append(body)
        return before

    def neighbours(self, keys: Iterable[int], at_home: bool) -> list[int]:
        """Bodies in cells that one at home, or a visitor, can meet."""
        found: list[int] = []
        for key in keys:
            if key in self.at_home:
                found += self.at_home[key]
        if at_home and self.visiting:
            for key in keys:
                if key in self.visiting:
                    found += self.visiting[key]
        return found

    def leaves_after(self, body: int, state: list[float], bounds: list[float]) -> float:
        """Lower bound [s] of how long a body of this packed state stays within the slack of its cell."""
        if self.edge == math.inf:
            return math.inf
        first = math.inf
        for axis in range(3):
            low = self.cell[body][axis] * self.edge
            x, rate = state[axis], state[7 + axis]
            above, below = low + self.edge + self.slack - x, x - low + self.slack
            first = min(first, _first_zero(above, -rate, -0.5 * (bounds[axis] + bounds[3])))
            first = min(first, _first_zero(below, rate, 0.5 * (bounds[axis] - bounds[3])))
        return first


def _first_zero(value: float, rate: float, half_curvature: float) -> float:
    """Smallest tau > 0 where value + rate tau + half_curvature tau^2 is zero, for value > 0."""
    under = rate * rate - 4.0 * half_curvature * value
    if under < 0.0:
        return math.inf
    root = math.sqrt(under)
    if half_curvature < 0.0 and rate > 0.0:
        return (rate + root) / (-2.0 * half_curvature)
    return 2.0 * value / (root - rate) if root > rate else math.inf


def _later(time: float, span: float) -> float:
    """time + span, at least the next number, so that looking again and again comes to an end."""
    return max(time + span, math.nextafter(time, math.inf))


class Predictions:
    """Earliest meetings of all bodies under their current motions.

    bounds_made, searches_made, cells_left : how many pairs were bounded, how many followed up exactly, and how
    often a body came into another cell, since the start
    """

    def __init__(self, motions: Motions):
        self._motions = motions
        self._model = model = motions.model
        bodies = model.scene.bodies
        self._sensor = [body.sensor for body in bodies]
        # where all bodies are in the same groups, any two tell whether all collide
        same = len({(body.collision_group, body.collision_mask) for body in bodies}) == 1
        self._all_collide = (
            same and not model.scene.disabled_pairs and model.scene.collides(0, len(bodies) - 1)
        )
        self._plane_bodies = [body for body, plane in enumerate(model.planes) if plane is not None]
        is_plane = np.array([plane is not None for plane in model.planes])
        normal, offset = np.zeros((model.count, 3)), np.zeros(model.count)
        for body in self._plane_bodies:
            plane = model.planes[body]
            assert plane is not None
            normal[body], offset[body] = plane
        self._extent = (model.size, is_plane, normal, offset)
        self._queue: list[tuple[float, int, int, int, int, int]] = []
        self._inside: set[Pair] = set()
        self.bounds_made = self.searches_made = self.cells_left = 0
        self._levels: list[_Level] = []
        self._level_of = [-1] * model.count
        self._sort_by_size()
        for body in range(model.count):
            self._put(body, motions.states[body].tolist())

    def _sort_by_size(self) -> None:
        """One level for every octave of sizes that occurs, the largest first."""
        round_bodies = [body for body, plane in enumerate(self._model.planes) if plane is None]
        size = self._model.size
        smallest = math.inf
        for body in sorted(round_bodies, key=lambda body: -size[body]):
            if size[body] < smallest:
                one_cell = len(round_bodies) <= _FEW_BODIES
                self._levels.append(_Level(math.inf if one_cell else float(size[body])))
                smallest = 0.0 if one_cell else float(size[body]) / _LEVEL
            self._level_of[body] = len(self._levels) - 1

    def _put(self, body: int, state: list[float]) -> None:
        own = self._level_of[body]
        for number in range(own + 1):
            self._levels[number].put(body, state[0], state[1], state[2], number == own)

    # -- pairs ---------------------------------------------------------------------------------------------

    def _around(self, body: int) -> list[int]:
        """Every body that this one may meet before one of them leaves its cell."""
        own = self._level_of[body]
        found: list[int] = []
        for number in range(own + 1):
            level = self._levels[number]
            key = level.key[body]
            found += level.neighbours([key + offset for offset in _AROUND], number == own)
        found.remove(body)
        return found + self._plane_bodies

    def _pair(self, a: int, b: int) -> Pair:
        if self._model.planes[a] is not None or (b < a and self._model.planes[b] is None):
            return b, a
        return a, b

    def _collide(self, a: int, b: int) -> bool:
        return self._all_collide or self._model.scene.collides(a, b)

    def is_sensor(self, pair: Pair) -> bool:
        """Whether one of two bodies only notices the other."""
        return self._sensor[pair[0]] or self._sensor[pair[1]]

    def near(self, body: int, time: float, tolerance: float) -> list[Pair]:
        """Pairs of a body that moves and those it can push, whose bounding spheres are at `time` [s] within
        `tolerance` of their size."""
        return [pair for pair in self._close(body, time, tolerance) if not self.is_sensor(pair)]

    def _close(self, body: int, time: float, tolerance: float) -> list[Pair]:
        others = self._around(body)
        if not others:
            return []
        which = np.array(others)
        gaps, _ = self._meetings(body, which, time)
        size = self._model.size
        close = gaps <= tolerance * np.maximum(size[body], size[which])
        return [self._pair(body, other) for other in which[close].tolist() if self._collide(body, other)]

    def close_at_start(self) -> list[Pair]:
        """Pairs whose bounding spheres overlap now, in order; sensors too."""
        found: set[Pair] = set()
        for body in np.flatnonzero(self._model.movable).tolist():
            found.update(self._close(body, float(self._motions.start[body]), 0.0))
        return sorted(found, key=pair_order)

    # -- queue ---------------------------------------------------------------------------------------------

    def changed(self, bodies: set[int], time: float) -> None:
        """Predict again for movable bodies whose current pieces begin now."""
        ordered = sorted(bodies)
        for body in ordered:
            state, bounds = self._motions.states[body].tolist(), self._motions.bounds[body].tolist()
            self._put(body, state)
            for number in range(self._level_of[body] + 1):
                self._await_leaving(body, number, time, state, bounds)
        for body in ordered:
            others = self._around(body)
            if len(ordered) > 1:
                others = [other for other in others if other > body or other not in bodies]
            self._look_at(body, others, time)
        if len(self._queue) > 64 + 16 * self._model.count:
            self._queue = [entry for entry in self._queue if self._holds(entry)]
            heapq.heapify(self._queue)

    def next(self, until: float) -> tuple[float, Pair | None]:
        """The pair that touches first and when [s], or (inf, None) where none does by `until`."""
        queue = self._queue
        while queue and queue[0][0] <= until:
            time, i, j, what, _, _ = entry = queue[0]
            if not self._holds(entry):
                heapq.heappop(queue)
            elif what == _IMPACT and i != _CELL:
                return time, self._pair(i, j)
            else:
                heapq.heappop(queue)
                if i == _CELL:
                    self._leave_cell(j, what, time)
                elif what == _BOUND:
                    self._push(self._search(self._pair(i, j), time), i, j, _IMPACT)
                else:
                    self._look_inside(i, j, time)
        return math.inf, None

    def entered(self, pair: Pair, time: float) -> None:
        """The next pair was that of a sensor: it is noticed again only after the two have been apart."""
        heapq.heappop(self._queue)
        i, j = pair_order(pair)
        self._inside.add((i, j))
        self._push(time, i, j, _INSIDE)

    def _holds(self, entry: tuple[float, int, int, int, int, int]) -> bool:
        _, i, j, _, first, second = entry
        version = self._motions.version
        if i == _CELL:
            return version[j] == first
        return version[i] == first and version[j] == second

    def _push(self, time: float, i: int, j: int, what: int) -> None:
        if time < math.inf:
            version = self._motions.version
            heapq.heappush(self._queue, (time, i, j, what, version[i], version[j]))

    def _look_at(self, body: int, others: list[int], time: float) -> None:
        """Enter the earliest meetings of a body with others."""
        if not others:
            return
        self.bounds_made += len(others)
        _, times = self._meetings(body, np.array(others), -math.inf)
        if self._inside:
            self._forget_left(body, others, times, time)
        meeting = np.flatnonzero(times < math.inf).tolist()
        for index in meeting:
            other = others[index]
            if not self._collide(body, other):
                continue
            i, j = (body, other) if body < other else (other, body)
            if self._inside and (i, j) in self._inside:
                self._push(time, i, j, _INSIDE)
            else:
                self._push(float(times[index]), i, j, _BOUND)

    def _meetings(self, body: int, others: NDArray[np.int64], since: float) -> tuple[Array, Array]:
        """Distances [m] of bounding spheres and earliest meetings [s], as of `since` or of the later piece."""
        motions = self._motions
        gaps, times = np.empty(len(others)), np.empty(len(others))
        broad_kernels.earliest_meetings(
            body, others, motions.coefficients, motions.terms, motions.start, motions.end, motions.bounds,
            *self._extent, since, gaps, times,
        )  # fmt: skip
        return gaps, times

    def _leave_cell(self, body: int, number: int, time: float) -> None:
        """Put a body into the cell it is in now, and look at the bodies that are neighbours only now."""
        motions, level = self._motions, self._levels[number]
        state = kernels.evaluate_piece(motions.coefficients[body], time - motions.start[body]).tolist()
        at_home = number == self._level_of[body]
        before = level.put(body, state[0], state[1], state[2], at_home)
        self._await_leaving(body, number, time, state, motions.bounds[body].tolist())
        if before is None:
            return
        self.cells_left += 1
        here = level.key[body]
        new = [here + offset for offset in _AROUND if here + offset - before not in _AROUND_SET]
        self._look_at(body, level.neighbours(new, at_home), time)

    def _await_leaving(
        self, body: int, number: int, time: float, state: list[float], bounds: list[float]
    ) -> None:
        leaves = _later(time, self._levels[number].leaves_after(body, state, bounds))
        if leaves < self._motions.end[body]:
            heapq.heappush(self._queue, (leaves, _CELL, body, number, self._motions.version[body], 0))

    # -- exact search --------------------------------------------------------------------------------------

    def _search(self, pair: Pair, since: float) -> float:
        """When a pair meets within its current pieces, of which it does not before `since` [s]."""
        self.searches_made += 1
        a, b = pair
        first, second = self._motions[a], self._motions[b]
        island = first.island or second.island
        held = None
        if island is not None and pair in island.held_features:
            held = island.held_features[pair]
            if held is None:
                return math.inf
        shape = self._model.shapes[a]
        assert shape is not None
        if self._model.planes[b] is not None:
            ignored = first.island.held_points.get(pair) if first.island else None
            if ignored is None:
                ignored = np.zeros(len(shape.points), dtype=bool)
            start, coefficients = first.start, first.coefficients
            if self.is_sensor(pair):  # it may have been inside before
                start, coefficients = since, _seen_from(coefficients, since - first.start)
            found, hit = half_space_impact(
                self._model, pair, coefficients, first.bounds, first.end - start, ignored
            )
        else:
            start = since
            found, hit = pair_impact(
                self._model,
                pair,
                (first.coefficients, second.coefficients),
                (first.bounds, second.bounds),
                (since - first.start, since - second.start),
                min(first.end, second.end) - since,
                held,
            )
        if hit == -2:
            raise SearchError(f"the search for the next impact of pair {pair} did not end")
        return start + found

    # -- sensors -------------------------------------------------------------------------------------------

    def start_inside(self, pair: Pair) -> None:
        """A sensor and a body that overlap at the start, before anything is predicted."""
        self._inside.add(pair_order(pair))

    def _forget_left(self, body: int, others: list[int], times: Array, time: float) -> None:
        """Sensors whose bounding spheres are clear of a body now have been left."""
        end = self._motions.end
        for other, meets in zip(others, times.tolist(), strict=True):
            key = pair_order((body, other))
            if meets > time and key in self._inside and min(end[body], end[other]) < math.inf:
                self._inside.discard(key)

    def _look_inside(self, i: int, j: int, time: float) -> None:
        """Whether a body has left a sensor: then await when it enters again, else look again later."""
        motions, pair = self._motions, self._pair(i, j)
        states = motions.bring(pair, time)
        gap, size = pair_gap(self._model, pair, states)[1], pair_size(self._model, pair)
        if gap > CONTACT_GAP * size:
            self._inside.discard((i, j))
            self._push(self._search(pair, time), i, j, _IMPACT)
            return
        reach = np.where(self._extent[1][[i, j]], 0.0, self._model.size[[i, j]])
        bounds = motions.bounds[[i, j]]
        speed = np.linalg.norm(states[i, 7:10] - states[j, 7:10]) + reach @ np.linalg.norm(
            states[[i, j], 10:13], axis=1
        )
        pull = np.linalg.norm(bounds[0, :3] - bounds[1, :3]) + bounds[:, 3].sum() + reach @ bounds[:, 4]
        later = _later(time, _first_zero(max(-gap, _LEAVING * size), -float(speed), -0.5 * float(pull)))
        if later < min(motions.end[i], motions.end[j]):
            self._push(later, i, j, _INSIDE)


def _seen_from(coefficients: Array, tau: float) -> Array:
    """Taylor coefficients of the same motion in the time since `tau` seconds later."""
    moved = coefficients.copy()
    terms = moved.shape[1]
    for first in range(terms - 1):
        for k in range(terms - 2, first - 1, -1):
            moved[:, k] += tau * moved[:, k + 1]
    return moved
