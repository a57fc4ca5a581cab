"""What happens at an impact: the problem, its outcome, and interchangeable laws.

A law knows contacts, impulses and velocities, never time, shapes or bodies.
"""

from .anitescu_potra import AnitescuPotra
from .contact_network import ContactNetwork, NetworkOutcome
from .coulomb_solutions import coulomb_solutions
from .impact_problem import ImpactProblem
from .law import ImpactLaw, law_by_name, law_names
from .lcp import LcpSolution, LcpStatus, enumerate_lcp_solutions, solve_lcp
from .maximum_dissipation import MaximumDissipation
from .outcome import ImpactOutcome, ImpactPath, ImpactStatus, OutcomeSet
from .sequential_reflection import SequentialReflection
from .set_valued_routh import SetValuedRouth
from .slip_curve import SlipCurve, slip_curve
from .slip_directions import (
    InvariantDirection,
    InvariantDirections,
    SolutionCondition,
    invariant_directions,
    paper_sequence,
    solution_condition,
    stick_possible,
    sticking_friction,
)
from .stronge_coulomb import StrongeBatch, StrongeCoulomb

__all__ = [
    "AnitescuPotra",
    "ContactNetwork",
    "ImpactLaw",
    "ImpactOutcome",
    "ImpactPath",
    "ImpactProblem",
    "ImpactStatus",
    "InvariantDirection",
    "InvariantDirections",
    "LcpSolution",
    "LcpStatus",
    "MaximumDissipation",
    "NetworkOutcome",
    "OutcomeSet",
    "SequentialReflection",
    "SetValuedRouth",
    "SlipCurve",
    "SolutionCondition",
    "StrongeBatch",
    "StrongeCoulomb",
    "coulomb_solutions",
    "enumerate_lcp_solutions",
    "invariant_directions",
    "law_by_name",
    "law_names",
    "paper_sequence",
    "slip_curve",
    "solution_condition",
    "solve_lcp",
    "stick_possible",
    "sticking_friction",
]
