"""How accurately motion is integrated where it has no closed form."""

import math
from dataclasses import dataclass

from ...bodies import checks
from ..tolerances import COLLOCATION_ACCURACY


@dataclass(frozen=True)
class Integrator:
    """Steps of motion in contact, on joints and under forces: polynomials of degree 9, their own dense output.

    accuracy : relative error of a step that is accepted, from 1e-14 on
    largest_step : [s]
    fixed_step : [s], steps of this length without control of their error, cut by events and halved only where their
        equations find no solution, as where slip stops; or None

    Free flight and rest are exact and take no steps. Raises ValueError or TypeError naming the field.
    """

    accuracy: float = COLLOCATION_ACCURACY
    largest_step: float = 0.1
    fixed_step: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "accuracy", checks.number("accuracy", self.accuracy, minimum=1e-14))
        object.__setattr__(self, "largest_step", checks.number("largest_step", self.largest_step, above=0.0))
        if self.fixed_step is not None:
            object.__setattr__(self, "fixed_step", checks.number("fixed_step", self.fixed_step, above=0.0))

    @property
    def rest(self) -> float:
        """Largest last Chebyshev term of a step that is accepted, against the states."""
        return 10.0 * self.accuracy if self.fixed_step is None else math.inf
