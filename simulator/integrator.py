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
    implicit_step : [s], longest implicit step; 0 for none; None takes 2 % of the scene's duration

    Several bodies whose contacts stick, slip or part faster than explicit steps follow go on by implicit steps of
    second order, with forces in the friction cones at their ends, until they calm down; impacts remain events.
    `Trajectory.implicit_share` tells how much of the motion was found so.

    Free flight and rest are exact and take no steps. Raises ValueError or TypeError naming the field.
    """

    accuracy: float = STEP_ACCURACY
    largest_step: float | None = None
    fixed_step: float | None = None
    implicit_step: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "accuracy", checks.number("accuracy", self.accuracy, minimum=1e-14))
        for name in ("largest_step", "fixed_step"):
            if (length := getattr(self, name)) is not None:
                object.__setattr__(self, name, checks.number(name, length, above=0.0))
        if self.implicit_step is not None:
            object.__setattr__(
                self, "implicit_step", checks.number("implicit_step", self.implicit_step, minimum=0.0)
            )
