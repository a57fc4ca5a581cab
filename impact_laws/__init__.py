"""What happens at an impact: the problem, its outcome, and interchangeable laws.

A law knows contacts, impulses and velocities, never time, shapes or bodies.
"""

from .anitescu_potra import AnitescuPotra
from .impact_problem import ImpactProblem
from .law import ImpactLaw, law_by_name, law_names
from .lcp import LcpSolution, LcpStatus, enumerate_lcp_solutions, solve_lcp
from .outcome import ImpactOutcome, ImpactPath, ImpactStatus, OutcomeSet
from .sequential_reflection import SequentialReflection
from .stronge_coulomb import StrongeBatch, StrongeCoulomb

__all__ = [
    "AnitescuPotra",
    "ImpactLaw",
    "ImpactOutcome",
    "ImpactPath",
    "ImpactProblem",
    "ImpactStatus",
    "LcpSolution",
    "LcpStatus",
    "OutcomeSet",
    "SequentialReflection",
    "StrongeBatch",
    "StrongeCoulomb",
    "enumerate_lcp_solutions",
    "law_by_name",
    "law_names",
    "solve_lcp",
]
