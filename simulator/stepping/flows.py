"""Spheres that enter a run by a rule, and spheres that leave it."""

from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np

from ...bodies import Material, checks
from ...bodies.material import refuse_no_material

BLOCKED = 0.05
"""Of its radius, by which a sphere that enters may overlap others: they are solved to a tolerance only."""


@dataclass(frozen=True, eq=False)
class Inflow:
    """Spheres that enter again and again, at the same places.

    radius : [m] of them all
    density : [kg/m³]
    position : (m, 3) [m] of the centres that enter together
    velocity : (3,) [m/s] that they enter with
    spread : (3,) [m/s]: up to so much, either way, is added to each component of each velocity, uniformly, by the
        generator of the run's seed
    every : [s] from one time to the next, a whole number of steps
    start : [s] of the first time, a whole number of steps
    material : friction of them all
    name : of them all; one of them is called ``name[k]``

    A place that is taken stops the run with a ValueError that names it: overlaps above a twentieth of the radius.

    >>> import carom
    >>> inlet = carom.Inflow(1e-3, density=2500.0, position=[(0, 0, 0.1)], velocity=(0, 0, -1.0), every=5e-3)
    """

    radius: float
    _: KW_ONLY
    density: float
    position: Any
    every: float
    velocity: Any = (0.0, 0.0, 0.0)
    spread: Any = (0.0, 0.0, 0.0)
    start: float = 0.0
    material: Material = field(default_factory=Material)
    name: str = "inflow"

    def __post_init__(self) -> None:
        assign = object.__setattr__
        for name in ("radius", "density", "every"):
            assign(self, name, checks.number(name, getattr(self, name), above=0.0))
        assign(self, "start", checks.number("start", self.start, minimum=0.0))
        assign(self, "position", checks.array("position", self.position, (None, 3)))
        for name in ("velocity", "spread"):
            assign(self, name, checks.array(name, getattr(self, name), (3,)))
        if (self.spread < 0.0).any():
            raise ValueError(f"spread: expected numbers of at least 0, got {self.spread.tolist()}")
        refuse_no_material(self.material)
        if not isinstance(self.name, str) or not self.name.strip():
            raise TypeError(f"name: expected a text that is not empty, got {self.name!r}")


@dataclass(frozen=True, eq=False)
class Outflow:
    """Where spheres leave: those whose centre comes behind the plane n·x = offset [m] are counted and gone.

    normal : (3,) towards the side on which spheres stay; normalised
    offset : [m]

    >>> import carom
    >>> outlet = carom.Outflow(normal=(-1, 0, 0), offset=-0.15)  # beyond x = 0.15 m they are gone
    """

    normal: Any
    offset: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "normal", checks.direction("normal", self.normal))
        object.__setattr__(self, "offset", checks.number("offset", self.offset))

    def left(self, places: np.ndarray) -> np.ndarray:
        """Which of the places (n, 3) are behind the plane (n,)."""
        return places @ self.normal < self.offset
