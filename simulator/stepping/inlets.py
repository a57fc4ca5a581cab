"""What enters and leaves a run of time steps, and what spheres are called."""

import bisect
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import KDTree

from ...bodies import Material
from . import walls_kernels
from .flows import BLOCKED, Inflow, Outflow
from .sphere_table import SphereTable, spheres, uniform_mass
from .step_state import StepState
from .walls import Walls, whole_steps


class Inlets:
    """Inflows and outflows of a run of steps [s].

    names : of the spheres at the start: (first number, name, whether of many)
    """

    def __init__(
        self, inflows: Sequence[Inflow], outflows: Sequence[Outflow], materials: Sequence[Material], step: float,
        names: list[tuple[int, str, bool]],
    ):  # fmt: skip
        for each in outflows:
            if not isinstance(each, Outflow):
                raise TypeError(f"outflows: expected Outflow(...), got {each!r}")
        self._inflows, self._outflows, self.names = tuple(inflows), tuple(outflows), names
        self._surfaces = [materials.index(each.material) for each in inflows]
        self._every = [whole_steps("every", each.every, step) for each in inflows]
        self._first = [0 if each.start == 0.0 else whole_steps("start", each.start, step) for each in inflows]

    def name(self, number: int) -> str:
        """What a sphere is called."""
        at = bisect.bisect_right([first for first, _, _ in self.names], number) - 1
        first, name, many = self.names[at]
        return f"{name}[{number - first}]" if many else name

    def enter(self, state: StepState, walls: Walls) -> None:
        """Add what is due before the next step; ValueError where its place is taken."""
        for inflow, surface, every, first in zip(
            self._inflows, self._surfaces, self._every, self._first, strict=True
        ):
            since = state.steps_made - first
            if since < 0 or since % every:
                continue
            self._refuse_blocked(inflow, state, walls)
            count = len(inflow.position)
            velocity = np.zeros((count, 6))
            velocity[:, :3] = inflow.velocity + inflow.spread * state.rng.uniform(-1.0, 1.0, (count, 3))
            radius = np.full(count, inflow.radius)
            mass, inertia = uniform_mass(radius, np.full(count, inflow.density))
            more = spheres(inflow.position, radius, mass, inertia, velocity, surface, state.next_number)
            self.names.append((state.next_number, f"{inflow.name}, time {since // every}", True))
            state.table = SphereTable.joined([state.table, more])
            state.next_number += count
            state.entered += count

    def leave(self, state: StepState) -> None:
        """Take out what is behind a plane where spheres leave."""
        gone = np.zeros(len(state.table), bool)
        for outflow in self._outflows:
            gone |= outflow.left(state.table.places[:, :3])
        if gone.any():
            state.left += int(gone.sum())
            state.table = state.table.kept(~gone)

    def _refuse_blocked(self, inflow: Inflow, state: StepState, walls: Walls) -> None:
        allowed = BLOCKED * inflow.radius
        for k, name in enumerate(walls.names):
            away = walls_kernels.distances_from_wall(walls.tables, k, inflow.position)[0]
            worst = int(away.argmin()) if len(away) else 0
            if len(away) and inflow.radius - away[worst] > allowed:
                self._refuse(inflow, worst, f"body {name!r}", inflow.radius - away[worst], state)
        near = self._near(inflow, state)
        if not len(near):
            return
        places = state.table.places[near]
        distance, nearest = KDTree(places[:, :3]).query(inflow.position)
        overlap = inflow.radius + places[nearest, 3] - distance
        worst = int(overlap.argmax())
        if overlap[worst] > allowed:
            number = int(state.table.ids[near[nearest[worst]]])
            self._refuse(inflow, worst, f"sphere {self.name(number)!r}", overlap[worst], state)

    def _near(self, inflow: Inflow, state: StepState) -> NDArray[np.int64]:
        """Rows that may be where the inflow is."""
        places = state.table.places
        if not len(places) or not len(inflow.position):
            return np.zeros(0, np.int64)
        far = inflow.radius + places[:, 3].max()
        low, high = inflow.position.min(axis=0) - far, inflow.position.max(axis=0) + far
        return np.flatnonzero(((places[:, :3] > low) & (places[:, :3] < high)).all(axis=1))

    def _refuse(self, inflow: Inflow, place: int, what: str, overlap: float, state: StepState) -> None:
        where = np.round(inflow.position[place], 6).tolist()
        raise ValueError(
            f"inflow {inflow.name!r}: place {place}, {where}, is taken by {what} after "
            f"{state.steps_made} steps: what enters there would overlap it by {overlap:.3g} m"
        )
