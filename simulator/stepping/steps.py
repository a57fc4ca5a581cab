"""How large islands are moved by time steps."""

from dataclasses import dataclass, field

from ...bodies import checks
from ...impact_laws import ImpactLaw, MaximumDissipation
from ..laws import refuse_no_law

LONGEST_STEP = 1e30
"""[s]: the way in a longer one is no number."""
MOST_STEPS = 2.0**53
"""That a run is made of: more are not told apart by their times."""


def loose_law() -> MaximumDissipation:
    """The law of contacts in time steps where no other is given: to 1e-10 it would take a hundred times as long."""
    return MaximumDissipation(tolerance=1e-4, max_sweeps=500)


@dataclass(frozen=True)
class Steps:
    """Time steps for islands of many bodies, all else from event to event: ``Simulator(..., steps=Steps(...))``.

    length : of a step [s]
    above : islands of more bodies than this make steps, at least 1
    law : of the impacts of the steps, and of those in which a body meets such an island, of any kind; a
        `MaximumDissipation` need not be as exact as that of the events, which would take a hundred times as long.
        Other laws resolve what is struck, up to 200 contacts of an island at once, and the default all else.

    Raises TypeError or ValueError that names the field.

    Example
    -------
    >>> carom.Steps(2e-3, above=20).law.tolerance
    0.0001
    """

    length: float
    above: int
    law: ImpactLaw = field(default_factory=loose_law)

    def __post_init__(self) -> None:
        checks.number("length", self.length, above=0.0, maximum=LONGEST_STEP)
        checks.whole("above", self.above, 2**62)
        if self.above < 1:
            raise ValueError(f"above: expected at least 1 body, got {self.above}")
        refuse_no_law(self.law)
