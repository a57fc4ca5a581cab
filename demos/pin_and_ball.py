"""A bowling ball strikes a pin, as a single impact: figure 11 of Jia & Wang."""

from typing import ClassVar

import numpy as np

from ..impact_laws import paper_sequence, solution_condition, sticking_friction
from .demo import Check, Table
from .icosahedron import impact_checks
from .jia_wang import PRINTED_PIN_IMPULSE, pin_impact, xyz


class PinAndBall:
    """One impact, with the printed W and the contact velocity that gives the printed impulse."""

    name: ClassVar[str] = "pin-and-ball"

    def __init__(self) -> None:
        self.impact = pin_impact()
        self.result = self.impact.outcome()

    def tables(self) -> list[Table]:
        """The impact in numbers."""
        problem, outcome = self.impact.problem, self.result
        rows = [
            ("contact velocity before, x, y, z [m/s]", _numbers(xyz(problem.u))),
            ("sequence, exact", str(outcome.info["sequence"])),
            ("sequence, as the paper names it", paper_sequence(problem, outcome)),
        ]
        for label, impulse in zip(outcome.path.labels[1:], outcome.path.impulse[1:], strict=True):
            rows.append((f"impulse when {label} [N s]", _numbers(xyz(impulse))))
        rows += [
            ("impulse printed [N s]", _numbers(PRINTED_PIN_IMPULSE)),
            ("contact velocity after [m/s]", _numbers(xyz(outcome.velocity))),
            ("compression work [J]", f"{outcome.info['compression_work']:.9f}"),
            ("energy change [J]", f"{outcome.energy_change:.9f}"),
            ("friction that suffices to stick", f"{sticking_friction(problem):.6f}"),
            ("condition (18), W_zz - mu |d| [1/kg]", f"{solution_condition(problem).value:.6f}"),
        ]
        return [Table(("figure 11", "carom"), tuple(rows))]

    def check(self) -> list[Check]:
        """The law's own conditions, the sequence, and the printed impulse."""
        error = float(np.abs(xyz(self.result.impulse) - PRINTED_PIN_IMPULSE).max())
        return [
            *impact_checks([(self.impact, self.result)]),
            Check("sequences other than scr", float(self.result.info["sequence"] != "scr"), 0.0),
            Check("printed impulse, error [N s]", error, 1e-7),
        ]


def _numbers(vector: np.ndarray) -> str:
    return ", ".join(f"{component:.7f}" for component in vector)
