"""Surface materials and how two of them combine."""

import math
from dataclasses import dataclass

from . import checks


@dataclass(frozen=True)
class Material:
    """Coulomb friction (at least 0) and restitution (0 to 1), both without unit."""

    friction: float = 0.5
    restitution: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "friction", checks.number("friction", self.friction, minimum=0.0))
        restitution = checks.number("restitution", self.restitution, minimum=0.0)
        if restitution > 1.0:
            raise ValueError(f"restitution: expected a number between 0 and 1, got {restitution:g}")
        object.__setattr__(self, "restitution", restitution)


def combine(first: Material, second: Material) -> Material:
    """The material of a pair: geometric means; equal values are kept exactly."""
    return Material(
        friction=_geometric_mean(first.friction, second.friction),
        restitution=min(1.0, _geometric_mean(first.restitution, second.restitution)),
    )


def _geometric_mean(first: float, second: float) -> float:
    # Two roots, not the root of the product, which could underflow or overflow.
    return first if first == second else math.sqrt(first) * math.sqrt(second)
