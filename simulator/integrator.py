"""How accurately motion is integrated where it has no closed form."""

from dataclasses import dataclass

from ..bodies import checks
from .tolerances import STEP_ACCURACY


@dataclass(frozen=True)
class Integrator:
    """Steps of motion in contact, on joints and under forces: explicit ones of order 8, with dense output of order
    7.

    accuracy : relative error of a step that is accepted, from 1e-14 on
    largest_step : [s], None for no limit but that of accuracy
    fixed_step : [s], steps of this length without control of their error, cut by events and halved only where their
        equations find no solution; or None

    Free flight and rest are exact and take no steps. Raises ValueError or TypeError naming the field.
    """

    accuracy: float = STEP_ACCURACY
    largest_step: float | None = None
    fixed_step: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "accuracy", checks.number("accuracy", self.accuracy, minimum=1e-14))
        for name in ("largest_step", "fixed_step"):
            if (length := getattr(self, name)) is not None:
                object.__setattr__(self, name, checks.number(name, length, above=0.0))
