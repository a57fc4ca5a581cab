"""A truncated icosahedron strikes a tetrahedron at a corner: all variants of Jia & Wang."""

from typing import ClassVar

import numpy as np

from ..impact_laws import ImpactOutcome, paper_sequence, slip_curve, solution_condition, stick_possible
from .demo import Check, Table
from .jia_wang import PRINTED_IMPULSE, PaperImpact, icosahedron_impact, icosahedron_impacts, works, xyz

EXACT_IMPULSE = np.array([-0.0033828153, -0.0593378907, 0.1012106462])  # N s, 4(a), computed independently
EXACT_SEQUENCES = ("csr", "scr", "cr", "scr", "cr", "csr", "cr", "csr")
FRICTIONLESS_IMPULSE = 0.0580946  # N s, the same impact without friction


def impact_checks(impacts: list[tuple[PaperImpact, ImpactOutcome]]) -> list[Check]:
    """What must hold for every impact under the law, the worst of all impacts each."""
    gains, returned, approaches, cones, remains = [], [], [], [], []
    for impact, outcome in impacts:
        problem = impact.problem
        scale = 0.5 * float(outcome.impulse @ problem.W @ outcome.impulse)
        gains.append(outcome.energy_change / scale)
        compression, restitution = works(impact, outcome)
        returned.append(abs(restitution / (float(problem.restitution[0]) ** 2 * compression) - 1.0))
        approaches.append(-float(outcome.velocity[0]))
        curve = slip_curve(problem, outcome)
        _, impulse = curve.at(np.linspace(0.0, curve.end, 60))
        steps = np.diff(impulse, axis=0)
        bound = impact.friction * steps[:, 0]
        cones.append(float((np.hypot(steps[:, 1], steps[:, 2]) / bound).max()) - 1.0)
        if outcome.info["sticks"]:
            remains.append(float(np.abs(outcome.velocity[1:]).max()))
    return [
        Check("energy gained, relative", max(gains), 1e-12),
        Check("e² of the compression work returned, error", max(returned), 1e-10),
        Check("approach left [m/s]", max(approaches), 0.0),
        Check("friction beyond mu times normal impulse", max(cones), 1e-12),
        Check("slip left where the contact sticks [m/s]", max(remains, default=0.0), 1e-14),
    ]


class Icosahedron:
    """Eight impacts that differ in friction and velocity, each with its sequence of events."""

    name: ClassVar[str] = "icosahedron"

    def __init__(self) -> None:
        self.impacts = [(impact, impact.outcome()) for impact in icosahedron_impacts()]

    def tables(self) -> list[Table]:
        """A row for each variant: sequences, impulse, and whether it may stick and (18) holds."""
        rows = []
        for impact, outcome in self.impacts:
            condition = solution_condition(impact.problem)
            rows.append(
                (
                    impact.figure,
                    f"{impact.friction:g}",
                    impact.printed_sequence,
                    paper_sequence(impact.problem, outcome),
                    str(outcome.info["sequence"]),
                    ", ".join(f"{component:.7f}" for component in xyz(outcome.impulse)),
                    "yes" if stick_possible(impact.problem) else "no",
                    f"{condition.value:.3f}",
                )
            )
        header = ("figure", "mu", "printed", "named", "exact", "impulse x, y, z [N s]", "may stick", "(18)")
        return [Table(header, tuple(rows))]

    def check(self) -> list[Check]:
        """The law's own conditions, exact and printed sequences, and the impulse of 4(a)."""
        base = xyz(self.impacts[0][1].impulse)
        frictionless = icosahedron_impact("", 0.0, (-0.1, 0.5, 0.95), "").outcome().impulse[0]
        wrong = sum(
            outcome.info["sequence"] != exact
            for (_, outcome), exact in zip(self.impacts, EXACT_SEQUENCES, strict=True)
        )
        misnamed = sum(
            paper_sequence(impact.problem, outcome) != impact.printed_sequence
            for impact, outcome in self.impacts
        )
        return [
            *impact_checks(self.impacts),
            Check("wrong exact sequences", float(wrong), 0.0),
            Check("sequences named otherwise than printed", float(misnamed), 0.0),
            Check("impulse of 4(a), error [N s]", float(np.abs(base - EXACT_IMPULSE).max()), 1e-10),
            Check(
                "impulse of 4(a), distance to (15) [N s]", float(np.linalg.norm(base - PRINTED_IMPULSE)), 1e-3
            ),
            Check(
                "normal impulse of 4(a) without friction, error",
                abs(frictionless - FRICTIONLESS_IMPULSE),
                1e-7,
            ),
        ]
