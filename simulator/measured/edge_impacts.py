"""Measured impacts of a box on one of its edges, beside the sets of outcomes of a law that is not single-valued.

Two points touch at once, so no law tells one outcome, and a set is judged by two numbers: how many measured
outcomes it holds, and how large it is, since a set of everything holds all of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import KDTree

from ...bodies import Body
from ...impact_laws import ImpactProblem, SetValuedRouth
from ...progress import ProgressBar
from .identification import Identification
from .impact_set import LEVEL, NEAR_SURFACE, SINGLE, axes_of
from .measured import Measured
from .robust_fit import mean_estimate, median_estimate
from .tracking import cross_matrices

Array = NDArray[np.float64]

NEAR = 0.05
"""[m/s] within which an outcome of a set counts as what was measured."""
EXPLAINED = 0.5 * NEAR
"""[m/s] up to which impulses at both ends explain an impact, whatever the law. More: something else happened."""
FAST = 0.3
"""[m/s] of approach of single corners from which coefficients of edges are taken."""
MIDDLE = ((0.5, 0.5), (0.1, 0.9), (0.025, 0.975))
"""Quantiles of friction and of restitution of single corners between which a set draws its coefficients."""
SAMPLES, POSSIBLE = 4096, 2000
"""Outcomes drawn of each set, and admissible outcomes of each impact."""
STEP = 0.01
WIDEST = 0.25
"""Friction within which admissible outcomes are drawn."""
_DRAWN = 100_000


@dataclass(frozen=True, eq=False)
class EdgeImpact:
    """An impact of both ends of an edge, per unit of mass: what a law is asked, and what was measured after it.

    toss : number of its motion; after (6,) [m/s]: velocity of the centre of mass and lever times spin; floor [m/s]:
    distance of that from what impulses at both ends can give.
    """

    toss: int
    W: Array
    u: Array
    start: Array
    response: Array
    after: Array
    floor: float

    def outcomes(self, impulses: Array) -> Array:
        """(n, 6) [m/s] after impulses (n, 6)."""
        return self.start + impulses @ self.response

    def problem(self, friction: tuple[float, float], restitution: tuple[float, float]) -> ImpactProblem:
        """The impact with coefficients from intervals."""
        both = [value[0] if value[0] == value[1] else [value, value] for value in (friction, restitution)]
        return ImpactProblem(self.W, self.u, both[0], both[1])


@dataclass(frozen=True, eq=False)
class SetOnEdges:
    """A set of outcomes on all impacts of edges: friction and restitution from which to which, nearest (n,) [m/s]
    distance of an outcome from what was measured, and the share (n,) of admissible outcomes within `NEAR` of it."""

    label: str
    friction: tuple[float, float]
    restitution: tuple[float, float]
    toss: NDArray[np.int64]
    nearest: Array
    share: Array

    def row(self) -> list[str]:
        """Label, coefficients, share covered with its interval, nearest outcome, size: mean and median."""
        covered = mean_estimate(np.where(self.nearest <= NEAR, 100.0, 0.0), self.toss)
        return [
            self.label,
            f"friction {self.friction[0]:.2f} to {self.friction[1]:.2f}, restitution {self.restitution[0]:.2f} to "
            f"{self.restitution[1]:.2f}",
            f"{covered.value:.0f} ({covered.low:.0f} to {covered.high:.0f}) %",
            f"{median_estimate(self.nearest, self.toss).value:.3f}",
            f"{100.0 * np.mean(self.share):.1f} % ({100.0 * np.median(self.share):.1f} %)",
        ]


HEADER = [
    "set",
    "coefficients",
    f"covered at E ≤ {NEAR:g}",
    "nearest, median [m/s]",
    "of admissible outcomes",
]


def edge_impacts(found: Identification, motions: Sequence[Measured], body: Body) -> list[EdgeImpact]:
    """Impacts at which both ends of one edge are at the plane and approach, and which impulses there explain.

    The plane is where the lowest points of most of these are, so that kinks of a body that leaves a hand are none.
    """
    parameters, lever = found.parameters, found.impacts.lever
    axes = axes_of(found.impacts.normal)
    corners = body.shape.core()[0] + body.shape.center_of_mass
    size = body.shape.bounding_radius
    rho = parameters.corner_radius
    seen_edges: list[tuple[float, EdgeImpact]] = []
    for number, motion in enumerate(motions):
        seen = motion.of_body(parameters.center_of_mass, parameters.gyration, found.gravity)
        for impact in seen.impacts:
            turn = impact.rotation
            heights = (corners @ turn.T) @ found.impacts.normal
            order = np.argsort(heights)
            low, second, third = heights[order[:3]]
            if second - low > LEVEL * size or third - second < SINGLE * size:
                continue
            ends = corners[order[:2]]
            arm = (
                ends - rho * np.sign(ends) - parameters.center_of_mass
            ) @ turn.T - rho * found.impacts.normal
            jacobian = np.concatenate(
                [np.broadcast_to(axes, (2, 3, 3)), -axes @ cross_matrices(arm)], axis=2
            ).reshape(6, 6)
            inverse = np.eye(6)
            inverse[3:, 3:] = turn @ np.linalg.inv(parameters.gyration) @ turn.T
            scale = np.array([1.0] * 3 + [lever] * 3)
            before, after = np.concatenate([impact.velocity, impact.angular_velocity], axis=1)
            u = jacobian @ before
            if u[::3].max() >= 0.0:
                continue
            W = jacobian @ inverse @ jacobian.T
            response = (jacobian @ inverse) * scale
            change = (after - before) * scale
            best = np.linalg.lstsq(response.T, change, rcond=1e-9)[0]
            floor = float(np.linalg.norm(change - best @ response))
            if floor <= EXPLAINED:
                edge = EdgeImpact(number, 0.5 * (W + W.T), u, before * scale, response, after * scale, floor)
                center = impact.position - turn @ parameters.center_of_mass
                seen_edges.append((float(center @ found.impacts.normal + low), edge))
    if not seen_edges:
        return []
    surface = float(np.median([height for height, _ in seen_edges]))
    return [edge for height, edge in seen_edges if abs(height - surface) < NEAR_SURFACE * size]


def sets_on_edges(found: Identification, edges: Sequence[EdgeImpact], seed: int = 0) -> list[SetOnEdges]:
    """`SetValuedRouth` on impacts of edges, with friction and restitution from the middle of what single corners
    show. Nothing is fitted to edges. ValueError where there is none."""
    if not edges:
        raise ValueError("motions: expected impacts of edges that impulses at both ends explain, got none")
    friction, restitution = _coefficients(found)
    law = SetValuedRouth(step=STEP, restitution="energetic")
    toss = np.array([edge.toss for edge in edges])
    rows = []
    with ProgressBar(0.0, float(len(MIDDLE)), "edges") as bar:
        for number, (low, high) in enumerate(MIDDLE):
            mu = float(np.quantile(friction, low)), float(np.quantile(friction, high))
            e = float(np.quantile(restitution, low)), float(np.quantile(restitution, high))
            nearest, share = [], []
            for k, edge in enumerate(edges):
                drawn = law.sample(edge.problem(mu, e), SAMPLES, seed=seed + k)
                tree = KDTree(edge.outcomes(drawn.impulse[drawn.resolved]))
                nearest.append(float(tree.query(edge.after)[0]))
                possible = edge.outcomes(_admissible(edge, seed + k))
                share.append(float(np.mean(tree.query(possible, distance_upper_bound=NEAR)[0] <= NEAR)))
            label = "middle" if low == high else f"{100 * low:g} to {100 * high:g} %"
            rows.append(SetOnEdges(label, mu, e, toss, np.array(nearest), np.array(share)))
            bar.show(number + 1.0)
    return rows


def _coefficients(found: Identification) -> tuple[Array, Array]:
    """Friction and restitution (n,) of single corners, whatever the law: ratios of impulses and of velocities."""
    states = found.states
    impulse = states.best_impulse()
    after = states.before + np.einsum("nij,nj->ni", states.W, impulse)
    fast = (states.before[:, 0] < -FAST) & (impulse[:, 0] > 0.0)
    ratio = np.linalg.norm(impulse[fast, 1:], axis=1) / impulse[fast, 0]
    return ratio, np.clip(-after[fast, 0] / states.before[fast, 0], 0.0, 1.0)


def _admissible(edge: EdgeImpact, seed: int) -> Array:
    """Impulses (n, 6), even in cones of friction, after which nothing approaches and no energy is gained."""
    random = np.random.default_rng(seed)
    most = 4.0 * float(np.abs(edge.u[::3]).max()) / float(edge.W.diagonal()[::3].min())
    kept: list[Array] = []
    while sum(map(len, kept)) < POSSIBLE:
        normal = most * random.uniform(size=(_DRAWN, 2))
        angle = random.uniform(0.0, 2.0 * np.pi, normal.shape)
        across = WIDEST * normal * np.sqrt(random.uniform(size=normal.shape))
        draws = np.stack([normal, across * np.cos(angle), across * np.sin(angle)], axis=-1).reshape(-1, 6)
        after = edge.u + draws @ edge.W
        gain = np.einsum("ni,ni->n", draws, edge.u + after)
        kept.append(draws[(after[:, ::3].min(axis=1) >= 0.0) & (gain <= 0.0)])
    return np.concatenate(kept)[:POSSIBLE]
