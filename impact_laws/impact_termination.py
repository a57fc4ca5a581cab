"""How soon random impacts end: the least net force of the contacts, and the probability of many steps; how many
samples fill their set."""

import math
import reprlib
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .anitescu_potra import edge_directions
from .impact_problem import ImpactProblem, _real_array
from .law import checked_count, checked_number, quietly
from .tolerances import TERMINATION_POINTED, TERMINATION_RANK

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class NetForceBound:
    """A direction that every impulse in the friction cones pushes along, or the reason why there is none.

    pointed : whether there is one, that is, no impulses in the cones cancel
    direction : (dim*nc,), dimensionless, contact velocities J r of the direction r; None where not pointed
    norm : |r|_M = √(rᵀ M r), [kg^1/2]; infinite where not pointed
    reason : why the cone is not pointed, in words; empty where it is
    certificate : (dim*nc,), [N s], impulses in the cones, normal impulses summing to 1, that change no
        velocity; None where pointed
    """

    pointed: bool
    direction: Array | None
    norm: float
    reason: str = ""
    certificate: Array | None = None


@quietly
def net_force_bound(problem: ImpactProblem, cone_edges: int = 8) -> NetForceBound:
    """The r of least |r|_M with r·Jᵀ(n_i + μ_i d_ik) >= 1 for the edges k of all contacts i.

    Every impulse p in the friction pyramids with ``cone_edges`` edges is a sum of edges, so its effect
    M⁻¹ Jᵀ p has ⟨r, M⁻¹ Jᵀ p⟩_M = (J r)·p >= Σ_i p_n,i. Only the part of r in the range of M⁻¹ Jᵀ counts. With
    W = L Lᵀ that is a vector s, J r = L s and |r|_M = |s|, and the edges ask for a·s >= 1 with a = Lᵀ (n + μ d).
    The least s is c/|c|², c the point nearest to zero in the convex hull of all a (a nonnegative least squares
    problem); zero lies in the hull exactly when the cone is not pointed.

    The direction is scaled so that the constraints hold to rounding. Source: Halm & Posa, Lemma 6.
    """
    checked_count("cone_edges", cone_edges, 3)
    factor, _ = _factor(problem)
    return _net_force_bound(problem, factor, cone_edges)


@quietly
def termination_bound(problem: ImpactProblem, step: float, n: ArrayLike, cone_edges: int = 8) -> Array:
    """Bound on the probability that an impact by `SetValuedRouth` takes more than ``n`` steps; 1 says nothing.

        P(steps > n) <= exp(-2 (n/(m+1) - K/h)²/n)  for n > (m+1) K/h,   K = 2 |r|_M |v⁻|_M

    for m contacts, h the ``step`` [N s] of all contacts, above 0, and r from `net_force_bound`, for the law
    without restitution, with ``rates="independent"`` and these ``cone_edges``. ``n`` is an integer or an array of
    them, at least 0; the answer has its shape.

    A step in which no normal impulse λ_i meets its random bound λ_max,i has no slack s and leaves no approaching
    contact. So step k of n unfinished ones has Σ λ_i >= X_k = min_i λ_max,i, and from the net force

        X_1 + … + X_n <= ⟨r, v_n - v⁻⟩_M <= |r|_M (|v_n|_M + |v⁻|_M) <= K,

    since no step gains energy. The X are independent, within [0, h], of mean h/(m+1), and Hoeffding's
    inequality bounds the probability that their sum stays below K. Contacts change v only within the range of
    M⁻¹ Jᵀ. There r lies, and there alone ⟨r, v_n - v⁻⟩_M and the loss of energy are decided, so that |v|_M² may
    leave out the energy of all other motion: it is uᵀ W⁺ u.

    The bound is 1 throughout where the cone is not pointed, and where u lies outside the range of W, whose
    energy is then unknown. Source: Halm & Posa, Theorem 8 and equation (79).
    """
    checked_count("cone_edges", cone_edges, 3)
    if isinstance(step, bool) or not isinstance(step, int | float | np.integer | np.floating):
        raise TypeError(f"step must be a number of N s, got {reprlib.repr(step)}")
    if not 0.0 < step < np.inf:
        raise ValueError(f"step must be above 0 and finite, got {step}")
    steps = _real_array("n", n)
    if (steps < 0.0).any() or (steps != np.floor(steps)).any():
        raise ValueError(f"n must hold integers of at least 0, got {reprlib.repr(n)}")
    factor, speed = _factor(problem)
    bound = _net_force_bound(problem, factor, cone_edges)
    if not bound.pointed or not np.isfinite(speed):
        return np.ones(steps.shape)
    excess = steps / (problem.contact_count + 1) - 2.0 * bound.norm * speed / step
    excess = np.maximum(excess, 0.0)
    return np.exp(-2.0 * excess * (excess / np.maximum(steps, 1.0)))


def dense_sampling_count(dimension: int, lipschitz: float, epsilon: float, confidence: float = 0.95) -> int:
    """How many even, independent samples of a unit box are an ``epsilon``-net of its image, with that confidence.

    ``dimension`` of the box, at least 1: bounds drawn along an impact, contacts times steps for Algorithm 2 of
    Halm & Posa (Theorem 9). ``lipschitz`` [m/s], above 0, is the Lipschitz constant L of the map from the box [0,
    1]^d to velocities, ``epsilon`` [m/s], above 0, the distance within which a sample is to lie of every velocity
    of the image, ``confidence`` between 0 and 1. The answer is exact for the argument below, however large.

    The box is cut into C = k^d cells with k = ceil(L √d/ε). Two points of a cell are at most √d/k apart, their
    images at most ε; so a sample in every cell is enough. That misses a given cell n times in a row has the
    probability (1 - 1/C)^n <= exp(-n/C), that it misses any at most C exp(-n/C), which is 1 - confidence at n = C
    ln(C/(1 - confidence)).

    L is not known in general, and no such map exists where a step has several solutions, so this is what certainty
    would cost, not what `post_impact_set` draws: the numbers are beyond reach for all but the smallest d. The
    theorem counts impacts stopped after a random number of steps, of which it takes those that a small step ends.

    Source: Halm & Posa, Lemma 1 and Theorem 9.

    >>> dense_sampling_count(1, 1.0, 0.1)
    53
    """
    checked_count("dimension", dimension, 1)
    for name, value in (("lipschitz", lipschitz), ("epsilon", epsilon)):
        if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
            raise TypeError(f"{name} must be a number of m/s, got {reprlib.repr(value)}")
        if not 0.0 < value < np.inf:
            raise ValueError(f"{name} must be above 0 and finite, got {value}")
    confidence = checked_number("confidence", confidence)
    if not 0.0 < confidence < 1.0:
        raise ValueError(f"confidence must lie between 0 and 1, got {confidence}")
    across = float(lipschitz) * math.sqrt(dimension) / float(epsilon)
    if math.isinf(across):
        raise ValueError(
            f"epsilon must be a share of lipschitz that is a number, got {epsilon} of {lipschitz}"
        )
    along = max(math.ceil(across), 1)
    cells = along**dimension
    logarithm = dimension * math.log(along) - math.log1p(-confidence)
    return math.ceil(cells * Fraction(math.nextafter(logarithm, math.inf)))


def _factor(problem: ImpactProblem) -> tuple[Array, float]:
    """L (dim*nc, rank) with L Lᵀ = W, and √(uᵀ W⁺ u) [kg^1/2 m/s], infinite for u outside the range of W.

    For u = W y, uᵀ W⁺ u = y·u with any such y. Directions that rounding cannot tell from immovable ones are
    left out of L: what remains is a part of W, in which a direction found is one of W.
    """
    scale = np.sqrt(np.maximum(problem.W.diagonal(), 0.0))
    movable = scale > 0.0
    unit = np.where(movable, scale, 1.0)
    values, vectors = np.linalg.eigh(problem.W / np.outer(unit, unit))
    kept = values > max(TERMINATION_RANK * values[-1], -2.0 * values[0])
    velocity = problem.u / unit
    left_out = vectors[:, ~kept].T @ np.where(movable, velocity, 0.0)
    parts = vectors[:, kept].T @ velocity / np.sqrt(values[kept])
    factor = unit[:, None] * vectors[:, kept] * np.sqrt(values[kept])
    outside = problem.u[~movable].any() or np.linalg.norm(left_out) > TERMINATION_POINTED * np.linalg.norm(
        velocity
    )
    return factor, np.inf if outside else float(np.linalg.norm(parts))


def _net_force_bound(problem: ImpactProblem, factor: Array, cone_edges: int) -> NetForceBound:
    edges = _cone_edges(problem, cone_edges)
    columns = edges @ factor
    sizes = np.linalg.norm(columns, axis=1)
    if not np.isfinite(sizes).all():
        raise ValueError(f"friction must leave impulses that are numbers, got {problem.friction.max():g}")
    # rounding of a column that cancels, relative to what it is a sum of
    terms = np.abs(edges) @ np.linalg.norm(factor, axis=1)
    still = sizes <= TERMINATION_POINTED * terms
    if still.any():
        return _not_pointed(problem, edges[int(np.argmax(still))])
    unit = columns / sizes[:, None]
    cancelling, nearest = _nearest_to_zero(unit, np.ones(len(unit)))
    if not (unit @ nearest).min() > TERMINATION_POINTED * np.linalg.norm(nearest):
        return _not_pointed(problem, (cancelling / sizes) @ edges)
    # where columns differ much in size, the short ones decide
    weights, shortest = _nearest_to_zero(unit, sizes.min() / sizes)
    pressed = weights > 0.0
    # their own equations lose fewer digits than `shortest`
    tight = np.linalg.lstsq(unit[pressed], sizes.min() / sizes[pressed])[0]
    bounds = []
    for candidate in (tight, shortest, nearest):
        direction = factor @ candidate
        least = float((edges @ direction).min())
        if least > 0.0:
            bounds.append(NetForceBound(True, direction / least, float(np.linalg.norm(candidate)) / least))
    if not bounds:  # the margin is lost in rounding
        return _not_pointed(problem, (cancelling / sizes) @ edges)
    return min(bounds, key=lambda bound: bound.norm)


def _cone_edges(problem: ImpactProblem, cone_edges: int) -> Array:
    """Impulses n + μ d along every edge of the friction pyramids, (edges, dim*nc), normal impulse 1."""
    dim = problem.dim
    rows = []
    for contact, friction in enumerate(problem.friction):
        tangential = friction * edge_directions(dim, cone_edges) if friction > 0.0 else np.zeros((1, dim - 1))
        edge = np.zeros((len(tangential), problem.u.size))
        edge[:, dim * contact] = 1.0
        edge[:, dim * contact + 1 : dim * contact + dim] = tangential
        rows.append(edge)
    return np.vstack(rows)


def _nearest_to_zero(points: Array, sizes: Array) -> tuple[Array, Array]:
    """Weights x >= 0 with x·sizes = 1, (n,), and their sum Σ x_j points_j of least length.

    The minimiser of |Σ x_j points_j|² + (x·sizes - 1)² is a multiple of it.
    """
    from scipy.optimize import nnls  # takes longer to import than the rest of the laws

    system = np.vstack([points.T, sizes])
    target = np.zeros(len(system))
    target[-1] = 1.0
    weights, _ = nnls(system, target, maxiter=100 * len(points))
    weights /= weights @ sizes
    return weights, weights @ points


def _not_pointed(problem: ImpactProblem, impulse: Array) -> NetForceBound:
    certificate = impulse / impulse[problem.normal_index].sum()
    contacts = np.flatnonzero(certificate[problem.normal_index] > 0.0).tolist()
    if len(contacts) == 1:
        reason = f"an impulse in the friction cone of contact {contacts[0]} changes no velocity"
    else:
        listed = ", ".join(map(str, contacts))
        reason = f"impulses in the friction cones of contacts {listed} cancel and change no velocity"
    return NetForceBound(False, None, np.inf, reason, certificate)
