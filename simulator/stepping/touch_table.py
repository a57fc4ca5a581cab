"""The touches of a step: found, solved for, and remembered for the next."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...bodies import checks
from . import mesh_touches_kernels, motion_kernels, search_kernels
from .cells import Cells
from .sphere_table import SphereTable
from .step_state import StepState
from .touches_kernels import TOUCH
from .walls import Walls
from .walls_kernels import MESH, PLANE

SKIN = 0.02
"""Of the radius: gap beyond what the velocities before a step may close, up to which touches take part in it."""
FARTHEST = 1.0
"""Of the smallest radius: largest gap of a touch that takes part, whatever the velocities."""
REACH = 1.0 + FARTHEST
"""Of the largest radius: distance from a centre up to which walls are touched."""
ROOM = 1.2
"""Times what is needed, that a table is made for when it has become too small."""
LEVEL = 1e-12
"""Part of the normal of a half-space along an axis that repeats, which is rounding."""


class TouchTable:
    """Touches by the rows of their spheres.

    starts : (n + 1,) where those of each row begin
    rows, others : (m,) TOUCH, and the other sphere's row or -1 - k for wall k
    slabs : (s + 1,) rows at which the slabs of `solve_kernels` begin
    origin, lengths : (3,) [m] between which places repeat, 0 along axes where they do not
    """

    def __init__(self, walls: Walls, friction: NDArray[np.float64], periodic: Sequence[Any]) -> None:
        self.origin, self.lengths = _periods(periodic)
        _refuse_planes_across(walls, self.lengths)
        self.starts = np.zeros(1, np.int64)
        self.slabs = np.zeros(2, np.int64)
        self._walls, self._friction = walls, friction
        self._room, self._other_room = np.empty(0, TOUCH), np.empty(0, np.int32)
        self._spare = SphereTable.empty(0)

    def periods(self) -> list[list[float]]:
        """Where places begin to repeat and after what length, 0 for never, as plain numbers."""
        return [self.origin.tolist(), self.lengths.tolist()]

    @property
    def surfaces(self) -> int:
        """How many kinds of surfaces there are."""
        return len(self._friction)

    @property
    def rows(self) -> NDArray:
        """All touches, a view."""
        return self._room[: self.starts[-1]]

    @property
    def others(self) -> NDArray[np.int32]:
        """Their other sides, a view."""
        return self._other_room[: self.starts[-1]]

    def find(self, state: StepState, step: float) -> float:
        """Sort the spheres and find what may touch within a step [s]; the deepest overlap relative to a radius."""
        table = state.table
        low, high = np.empty(3), np.empty(3)
        radius, speed = search_kernels.extent(table.places, table.motions, low, high)
        most = min(2.0 * step * speed + SKIN * radius, FARTHEST * float(table.places[:, 3].min()))
        most = max(most, self._wall_reach(step, float(speed), float(radius)))
        edge = 2.0 * radius + most
        self._refuse_short(edge)
        cells = Cells(low, high, edge, self.origin, self.lengths, len(table))
        if len(self._spare) != len(table):
            self._spare = SphereTable.empty(len(table))
        order = cells.sort(table.places)
        state.table, self._spare = table.in_order(order, self._spare), table
        self.slabs = cells.slabs()
        return self._fill(state, cells, step, most)

    def keep(self, state: StepState) -> None:
        """Remember the touches that press, and that rows are those of now."""
        count = motion_kernels.count_pressing(self.starts, self.rows)
        if len(state.kept) < count or len(state.kept) > 2 * count + 1024:
            state.kept = np.empty(int(ROOM * count), search_kernels.KEPT)
        state.kept_starts = np.empty(len(state.table) + 1, np.int64)
        motion_kernels.keep_pressing(self.starts, self.others, self.rows, state.kept_starts, state.kept)
        state.table.rows[:] = np.arange(len(state.table))

    def _fill(self, state: StepState, cells: Cells, step: float, most: float) -> float:
        table, tables = state.table, self._walls.tables
        self.starts = np.zeros(len(table) + 1, np.int64)
        known = (
            table.places, table.motions, table.surfaces, table.rows, state.kept_starts, state.kept, self._friction,
        )  # fmt: skip
        near = (
            *known, tables.rows, tables.faces, cells.low, cells.inverse_edge, cells.cells, cells.axes, cells.wraps,
            self.lengths, cells.starts, step, SKIN, most, self.starts,
        )  # fmt: skip
        on_meshes = (*known, tables, self.lengths, step, SKIN, most, self.starts)
        meshes = bool((tables.rows["kind"] == MESH).any())
        search_kernels.find_touches(False, *near, self._other_room, self._room)
        if meshes:
            mesh_touches_kernels.find_mesh_touches(False, *on_meshes, self._other_room, self._room)
        search_kernels.sum_up(self.starts)
        if len(self._room) < self.starts[-1]:
            self._room = np.empty(int(ROOM * self.starts[-1]), TOUCH)
            self._other_room = np.empty(len(self._room), np.int32)
        overlap = search_kernels.find_touches(True, *near, self._other_room, self._room)
        if meshes:
            deep = mesh_touches_kernels.find_mesh_touches(True, *on_meshes, self._other_room, self._room)
            overlap = max(overlap, deep)
        return float(overlap)

    def _wall_reach(self, step: float, speed: float, radius: float) -> float:
        """Gap [m] that a moving wall may close in a step, at most a radius."""
        walls = self._walls.tables.rows
        if not len(walls):
            return 0.0
        fastest = float(np.sqrt((walls["velocity"] ** 2).sum(axis=1)).max())
        return min(step * (fastest + speed) + SKIN * radius, FARTHEST * radius)

    def _refuse_short(self, edge: float) -> None:
        for axis, length in zip("xyz", self.lengths.tolist(), strict=True):
            if 0.0 < length < 3.0 * edge:
                raise ValueError(
                    f"periodic: expected a length along {axis} of at least {3.0 * edge:.3g} m, three times what a "
                    f"sphere and its reach take, got {length:g} m"
                )


def _refuse_planes_across(walls: Walls, lengths: NDArray[np.float64]) -> None:
    """ValueError for a half-space that is not the same everywhere along an axis that repeats."""
    for name, wall in zip(walls.names, walls.tables.rows, strict=True):
        if wall["kind"] == PLANE and (np.abs(wall["normal"]) > LEVEL)[lengths > 0.0].any():
            raise ValueError(
                f"periodic: body {name!r} is a half-space whose normal {wall['normal'].tolist()} has a part along "
                "an axis that repeats"
            )


def _periods(periodic: Sequence[Any]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Where places begin to repeat, and after what length, 0 for never."""
    if not isinstance(periodic, Sequence) or isinstance(periodic, str):
        raise TypeError(
            f"periodic: expected None or (low, high) for each of three axes, got {checks.shown(periodic)}"
        )
    if len(periodic) != 3:
        raise ValueError(
            f"periodic: expected None or (low, high) for each of three axes, got {len(periodic)}"
        )
    origin, lengths = np.zeros(3), np.zeros(3)
    for axis, given in enumerate(periodic):
        if given is not None:
            low, high = checks.array(f"periodic[{axis}]", given, (2,))
            if not high > low:
                raise ValueError(f"periodic[{axis}]: expected low < high, got {low:g} and {high:g}")
            origin[axis], lengths[axis] = low, high - low
    return origin, lengths
