"""What happens at an impact: the problem, its outcome, and interchangeable laws.

A law knows contacts, impulses and velocities, never time, shapes or bodies.
"""

from .anitescu_potra import AnitescuPotra
from .check_law import LawReport, check_law
from .compliant_contact import CompliantContact
from .contact_network import ContactNetwork, NetworkOutcome
from .coulomb_solutions import coulomb_solutions
from .impact_problem import ImpactProblem
from .impact_termination import NetForceBound, dense_sampling_count, net_force_bound, termination_bound
from .indeterminacy import Uniqueness, contact_angles, indeterminacy, uniqueness
from .law import ImpactLaw, law_by_name, law_names
from .lcp import LcpSolution, LcpStatus, enumerate_lcp_solutions, solve_lcp
from .liu_zhao_brogliato import DistributedBatch, LiuZhaoBrogliato
from .maximum_dissipation import MaximumDissipation
from .outcome import ImpactOutcome, ImpactPath, ImpactStatus, OutcomeSet
from .outcome_bounds import OutcomeBounds, OutcomeRegion, outcome_bounds
from .post_impact_set import Growth, OutcomeHull, PostImpactSet, hull_of, post_impact_set
from .sequential_lcp import SequentialLCP
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
    "CompliantContact",
    "ContactNetwork",
    "DistributedBatch",
    "Growth",
    "ImpactLaw",
    "ImpactOutcome",
    "ImpactPath",
    "ImpactProblem",
    "ImpactStatus",
    "InvariantDirection",
    "InvariantDirections",
    "LawReport",
    "LcpSolution",
    "LcpStatus",
    "LiuZhaoBrogliato",
    "MaximumDissipation",
    "NetForceBound",
    "NetworkOutcome",
    "OutcomeBounds",
    "OutcomeHull",
    "OutcomeRegion",
    "OutcomeSet",
    "PostImpactSet",
    "SequentialLCP",
    "SequentialReflection",
    "SetValuedRouth",
    "SlipCurve",
    "SolutionCondition",
    "StrongeBatch",
    "StrongeCoulomb",
    "Uniqueness",
    "check_law",
    "contact_angles",
    "coulomb_solutions",
    "dense_sampling_count",
    "enumerate_lcp_solutions",
    "hull_of",
    "indeterminacy",
    "invariant_directions",
    "law_by_name",
    "law_names",
    "net_force_bound",
    "outcome_bounds",
    "paper_sequence",
    "post_impact_set",
    "slip_curve",
    "solution_condition",
    "solve_lcp",
    "stick_possible",
    "sticking_friction",
    "termination_bound",
    "uniqueness",
]
