"""The spheres of a run as arrays, in the order of their cells."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from . import search_kernels
from .touches_kernels import MOTION

Array = NDArray[np.float64]
SOLID = 0.4
"""Inertia of a uniform ball over mass times radius squared."""


@dataclass
class SphereTable:
    """One row a sphere; all arrays change places together.

    places : (n, 4) [m] centre and radius
    motions : (n,) MOTION
    surfaces : (n,) rows in the table of friction
    ids : (n,) that a sphere keeps
    rows : (n,) its row in the step before, -1 for one that has entered since
    """

    places: Array
    motions: NDArray
    surfaces: NDArray[np.int32]
    ids: NDArray[np.int64]
    rows: NDArray[np.int64]

    @classmethod
    def empty(cls, count: int) -> Self:
        """Room for so many spheres."""
        return cls(
            np.empty((count, 4)),
            np.empty(count, MOTION),
            np.empty(count, np.int32),
            np.empty(count, np.int64),
            np.empty(count, np.int64),
        )

    def __len__(self) -> int:
        return len(self.places)

    @property
    def velocity(self) -> Array:
        """(n, 6) [m/s] and [rad/s], a view."""
        return self.motions.view(np.float64).reshape(-1, 8)[:, :6]

    def in_order(self, order: NDArray[np.int64], into: Self) -> Self:
        """The same spheres in another order, written over a table of as many rows."""
        search_kernels.take_rows(
            order, self.places, self.motions, self.surfaces, self.ids, self.rows,
            into.places, into.motions, into.surfaces, into.ids, into.rows,
        )  # fmt: skip
        return into

    def kept(self, stays: NDArray[np.bool_]) -> Self:
        """Only those that stay (n,)."""
        return type(self)(
            self.places[stays], self.motions[stays], self.surfaces[stays], self.ids[stays], self.rows[stays]
        )

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """One after the other, in one table."""
        return cls(
            np.concatenate([part.places for part in parts]),
            np.concatenate([part.motions for part in parts]),
            np.concatenate([part.surfaces for part in parts]),
            np.concatenate([part.ids for part in parts]),
            np.concatenate([part.rows for part in parts]),
        )


def spheres(
    position: Array, radius: Array, mass: Array, inertia: Array, velocity: Array, surface: int, first_id: int
) -> SphereTable:
    """A table of spheres at places (n, 3), of radius, mass and inertia (n,), velocity (n, 6), numbered on."""
    made = SphereTable.empty(len(position))
    made.places[:, :3], made.places[:, 3] = position, radius
    made.velocity[:] = velocity
    made.motions["inverse_mass"], made.motions["inverse_inertia"] = 1.0 / mass, 1.0 / inertia
    made.surfaces[:] = surface
    made.ids[:] = np.arange(first_id, first_id + len(position))
    made.rows[:] = -1
    return made


def uniform_mass(radius: Array, density: Array) -> tuple[Array, Array]:
    """Mass [kg] and inertia [kg m²] of uniform balls."""
    mass = 4.0 / 3.0 * np.pi * radius**3 * density
    return mass, SOLID * mass * radius**2
