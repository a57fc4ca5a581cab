"""The impacts of Jia & Wang, "Analysis and Computation of Two Body Impact in Three Dimensions".

Frame (x, y, z) with z normal, as printed; a problem's components are (z, x, y). Rotations of the bodies are
not printed, so the contact velocities before the impact cannot be derived from the text; those here were
recovered from the printed results.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ..impact_laws import ImpactOutcome, ImpactProblem, StrongeCoulomb, invariant_directions, slip_curve

_PRINTED_W = (  # (13), as printed: unsymmetric in its last digit
    (11.5984, -0.910367, 2.44236),
    (-0.910367, 9.90134, 1.95747),
    (2.44235, 1.95746, 2.59042),
)
_PRINTED_PIN_W = (
    (1.55465, 0.00238675, -0.360808),
    (0.00238676, 5.15191, -0.00313296),
    (-0.360808, -0.00313296, 1.105),
)
ICOSAHEDRON_W = np.array(_PRINTED_W)  # 1/kg
PIN_W = np.array(_PRINTED_PIN_W)  # 1/kg
BASE_VELOCITY = np.array([-0.26197634, 0.38632873, -0.07717411])  # m/s, recovered
BASE_BODY_VELOCITY = np.array([-0.1, 0.5, 0.95])  # m/s, V1⁻ of (14)
PIN_VELOCITY = np.array([-0.20691338, 0.11765509, -1.506903])  # m/s, recovered
ICOSAHEDRON_RESTITUTION = 0.95
PIN_RESTITUTION = 0.7
PRINTED_IMPULSE = np.array([-0.00326657, -0.0592263, 0.1007])  # N s, (15)
PRINTED_PIN_IMPULSE = np.array([0.7330654, -0.0216048, 2.585018])  # N s, section 6.4

_NORMAL_FIRST = [2, 0, 1]
_NORMAL_LAST = [1, 2, 0]


@dataclass(frozen=True)
class PaperImpact:
    """One impact of the paper.

    figure : as the paper numbers it
    friction : mu
    printed_sequence : the event sequence the paper gives, "" where it gives none
    problem : the impact, components (z, x, y)
    """

    figure: str
    friction: float
    printed_sequence: str
    problem: ImpactProblem

    def outcome(self) -> ImpactOutcome:
        """The outcome by `StrongeCoulomb`."""
        return StrongeCoulomb().resolve(self.problem)


def xyz(vector: np.ndarray) -> np.ndarray:
    """Components (z, x, y) of the problems in the paper's order (x, y, z)."""
    return np.asarray(vector)[_NORMAL_LAST]


def paper_problem(W: np.ndarray, velocity: np.ndarray, friction: float, restitution: float) -> ImpactProblem:
    """A problem from the printed W (3, 3) [1/kg] and a contact velocity (3,) [m/s], both in (x, y, z)."""
    inertia = W[np.ix_(_NORMAL_FIRST, _NORMAL_FIRST)]
    return ImpactProblem.symmetrised(inertia, np.asarray(velocity)[_NORMAL_FIRST], friction, restitution)


def icosahedron_impact(
    figure: str, friction: float, body_velocity: tuple[float, float, float], printed_sequence: str
) -> PaperImpact:
    """The icosahedron of figure 3 with another friction and velocity V1⁻ [m/s]."""
    velocity = BASE_VELOCITY + np.array(body_velocity) - BASE_BODY_VELOCITY
    problem = paper_problem(ICOSAHEDRON_W, velocity, friction, ICOSAHEDRON_RESTITUTION)
    return PaperImpact(figure, friction, printed_sequence, problem)


def icosahedron_impacts() -> tuple[PaperImpact, ...]:
    """The variants of figures 4, 7 and 10; 4(a) is the base case of figures 3 and 5 and of (15)."""
    return (
        icosahedron_impact("4(a)", 0.8, (-0.1, 0.5, 0.95), "csr"),
        icosahedron_impact("4(b)", 0.4, (-0.1, 0.5, 0.2), "lscr"),
        icosahedron_impact("4(c)", 0.25, (-0.1, 0.5, 0.2), "clr"),
        icosahedron_impact("4(d)", 3.0, (-0.1, 0.5, 0.5), "scr"),
        icosahedron_impact("7", 0.25, (-0.7, -0.35, -0.5), "scr"),
        icosahedron_impact("10(a)", 0.35, (-0.1, 0.5, 0.2), "lcsr"),
        icosahedron_impact("10(b)", 0.25, (-0.1, 0.5, -1.0), "lcr"),
        icosahedron_impact("10(c)", 0.55, (-0.1, 0.5, 0.9), "clsr"),
    )


def pin_impact() -> PaperImpact:
    """The pin and ball of figure 11."""
    problem = paper_problem(PIN_W, PIN_VELOCITY, 0.7, PIN_RESTITUTION)
    return PaperImpact("11", 0.7, "", problem)


def bundle(friction: float, normal_velocity: float, count: int) -> list[PaperImpact]:
    """Impacts of the icosahedron with unit slip in `count` directions, as in figures 6 and 8.

    The figures print no directions. Here two or more are the invariant ones, as in the figures; the others
    divide the sectors between them evenly.
    """
    still = paper_problem(ICOSAHEDRON_W, np.array([0.0, 0.0, normal_velocity]), friction, 0.0)
    straight = invariant_directions(still)
    edges = np.array([each.angle for each in straight])
    sectors = np.diff(edges, append=edges[0] + 2.0 * np.pi)
    shares = np.round((count - len(straight)) * np.cumsum(sectors) / (2.0 * np.pi)).astype(int)
    slips = []
    for each, sector, inside in zip(straight, sectors, np.diff(shares, prepend=0), strict=True):
        slips.append(each.direction)
        for k in range(1, inside + 1):
            angle = each.angle + sector * k / (inside + 1)
            slips.append(np.array([np.cos(angle), np.sin(angle)]))
    impacts = []
    for k, slip in enumerate(slips, 1):
        velocity = np.array([*slip, normal_velocity])
        problem = paper_problem(ICOSAHEDRON_W, velocity, friction, ICOSAHEDRON_RESTITUTION)
        impacts.append(PaperImpact(str(k), friction, "", problem))
    return impacts


def works(impact: PaperImpact, outcome: ImpactOutcome) -> tuple[float, float]:
    """Work of compression and of restitution [J], by quadrature of v_z over the curve of impulse."""
    curve = slip_curve(impact.problem, outcome)
    ends = outcome.path.impulse[:, 0]
    compressed = float(ends[outcome.path.labels.index("compression ends")])
    edges = np.unique(np.concatenate([ends, curve.step_starts()[curve.step_starts() < ends[-1]]]))
    node, weight = np.polynomial.legendre.leggauss(12)
    sums = [0.0, 0.0]
    for low, high in pairwise(edges):
        _, impulse = curve.at(0.5 * (low + high) + 0.5 * (high - low) * node)
        normal = impact.problem.u[0] + impulse @ impact.problem.W[0]
        sums[int(low >= compressed)] += 0.5 * float(high - low) * float(weight @ normal)
    return -sums[0], sums[1]
