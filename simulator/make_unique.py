"""Designs whose simultaneous impact has one outcome: contact normals made orthogonal in the kinetic metric."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..bodies import Scene, checks
from ..impact_laws import ImpactProblem
from ..impact_laws.indeterminacy import contact_angles
from .contact_problem import contact_problem
from .state import Array

_SOLVER_ACCURACY = 1e-15  # relative; the least that the optimiser takes, so that it stops at rounding
_SOLVER_TRIALS = 100  # of one local search, for each parameter
_INDEPENDENT = 1e-9  # of the largest singular value; normals below it lie in the span of the others
_AT_BOUND = 1e-9  # of the width of the bounds


@dataclass(frozen=True, eq=False)
class UniqueDesign:
    """What `make_unique` found.

    parameters : (n,), the best within the bounds
    problem : the impact problem there
    scene : the scene there; None where the builder gives problems
    before, after : largest distance of an inner product ⟨u_i, u_j⟩ of the unit contact normals in the kinetic
        metric from its aim, at the parameters given (from 0) and at those found
    aims : (nc (nc - 1)/2,), what the inner products of all pairs i < j are to be: 0, or another -cos(π/m)
    succeeded : whether ``after`` is within the tolerance
    message : one sentence, with advice where it did not succeed
    trials : how often the builder was called
    """

    parameters: Array
    problem: ImpactProblem
    scene: Scene | None
    before: float
    after: float
    aims: Array
    succeeded: bool
    message: str
    trials: int


def make_unique(
    scene_builder: Callable[[Array], Scene | ImpactProblem],
    parameters: ArrayLike,
    bounds: ArrayLike,
    *,
    tolerance: float = 1e-9,
    restarts: int = 32,
    seed: int = 0,
    most_stages: int = 6,
) -> UniqueDesign:
    """Change parameters until the simultaneous impact has one outcome in whatever order its contacts are resolved.

    It has where all contacts are pairwise orthogonal under the kinetic metric, so that their reflections commute.
    The sum of squares of all inner products ⟨u_i, u_j⟩ of unit normals is minimised, first from the parameters
    given, which finds a design nearby, then from random points within the bounds, the nearest first, until one
    succeeds. Where none does, the same is tried with the other aims that `uniqueness` knows, -cos(π/m), for every
    pair the one nearest to its inner product where the search begins.

    Parameters
    ----------
    scene_builder : takes parameters (n,) and returns a Scene whose bodies touch, or an ImpactProblem
        The contacts must stay the same for all parameters. A trial with more or fewer, or for which the
        builder raises ValueError (a shape that cannot be built, bodies that overlap, NaN), counts as refused
        and the search stays away from it; other errors are the builder's own and are passed on.
    parameters : (n,), where the search starts
    bounds : (n, 2), least and largest value of each parameter, finite
    tolerance : largest distance of an inner product from its aim that counts as none
    restarts : further local searches, at least 0
    seed : of the points of restart; equal seeds give equal designs
    most_stages : the largest m of an aim, at least 2, which asks for orthogonal contacts; an impact of two contacts
        then has at most as many reflections

    Raises ValueError or TypeError that names the field, and ValueError where the parameters given are
    themselves refused.

    Source: Seghete & Murphey, theorems 2 and 3 and section VII.
    """
    from scipy.optimize import least_squares  # takes longer to import than the rest of the room

    if not callable(scene_builder):
        raise TypeError(
            f"scene_builder: expected a function of the parameters, got {type(scene_builder).__name__}"
        )
    start = checks.array("parameters", parameters, (None,))
    if start.size == 0:
        raise ValueError("parameters: expected at least one, got none")
    low, high = _checked_bounds(bounds, start)
    tolerance = checks.number("tolerance", tolerance, above=0.0)
    restarts = _checked_count("restarts", restarts)
    seed = _checked_count("seed", seed)
    if _checked_count("most_stages", most_stages) < 2:
        raise ValueError(f"most_stages: expected at least 2, got {most_stages}")

    search = _Search(scene_builder, start, low, high)
    begin = (start - low) / (high - low)
    points = [begin]
    if restarts and search.least > tolerance:
        spread = np.random.default_rng(seed).random((restarts, start.size))
        points += list(spread[np.argsort(np.linalg.norm(spread - begin, axis=1), kind="stable")])
    for stages in dict.fromkeys((2, int(most_stages))):
        for point in points:
            if search.least <= tolerance:
                break
            if not search.begins(point, stages):
                continue
            least_squares(
                search.residuals,
                point,
                bounds=(0.0, 1.0),
                ftol=_SOLVER_ACCURACY,
                xtol=_SOLVER_ACCURACY,
                gtol=_SOLVER_ACCURACY,
                max_nfev=_SOLVER_TRIALS * start.size,
            )
    return search.design(tolerance)


class _Search:
    """Trials of one search, on parameters scaled to their bounds, and the best of them."""

    def __init__(self, builder: Callable[[Array], Any], start: Array, low: Array, high: Array) -> None:
        self._builder = builder
        self._low, self._high = low, high
        self._trials, self._refused, self._reason = 1, 0, ""
        try:
            problem, _ = self._built(start)
            products = _inner_products(problem)
        except ValueError as error:
            raise ValueError(f"scene_builder: refused the parameters given: {error}") from error
        if products.size == 0:
            raise ValueError(
                "scene_builder: expected at least two contacts at the parameters given, got one; "
                "a single contact is always unique"
            )
        self._contacts = problem.contact_count
        self._aims = np.zeros(products.size)
        self.before = self.least = float(np.abs(products).max())
        self._best, self._best_aims = start, self._aims
        self._orthogonal = start  # the best that was nearest to orthogonal

    def _built(self, parameters: Array) -> tuple[ImpactProblem, Scene | None]:
        built = self._builder(parameters.copy())
        if isinstance(built, ImpactProblem):
            return built, None
        if isinstance(built, Scene):
            return contact_problem(built), built
        raise TypeError(f"scene_builder: expected a Scene or an ImpactProblem, got {type(built).__name__}")

    def _at(self, scaled: Array) -> Array:
        return np.clip(self._low + scaled * (self._high - self._low), self._low, self._high)

    def _tried(self, scaled: Array) -> Array | None:
        """Inner products at scaled parameters; None where they are refused."""
        parameters = self._at(scaled)
        self._trials += 1
        try:
            problem, _ = self._built(parameters)
            products = _inner_products(problem)
        except ValueError as error:
            self._refused, self._reason = self._refused + 1, str(error)
            return None
        if problem.contact_count != self._contacts:
            self._refused += 1
            self._reason = f"it has {problem.contact_count} contacts instead of {self._contacts}"
            return None
        largest = float(np.abs(products - self._aims).max())
        if largest < self.least and (not self._aims.any() or _finite_group(self._aims, self._contacts)):
            self.least, self._best, self._best_aims = largest, parameters, self._aims
            if not self._aims.any():
                self._orthogonal = parameters
        return products

    def begins(self, scaled: Array, stages: int) -> bool:
        """Whether a local search can start here; if so its aims are set, -cos(π/m) with m up to `stages`."""
        self._aims = np.zeros(self._aims.size)
        products = self._tried(scaled)
        if products is None:
            return False
        aims = -np.cos(np.pi / np.arange(3, stages + 1))
        aims = np.concatenate([[0.0], aims])
        self._aims = aims[np.argmin(np.abs(products[:, None] - aims), axis=1)]
        return stages == 2 or (bool(self._aims.any()) and _finite_group(self._aims, self._contacts))

    def residuals(self, scaled: Array) -> Array:
        """Inner products (pairs,) less their aims; where refused, 1, the worst there is of orthogonal contacts."""
        products = self._tried(scaled)
        return np.ones(self._aims.size) if products is None else products - self._aims

    def design(self, tolerance: float) -> UniqueDesign:
        """The best trial, built once more; of a search without success that nearest to orthogonal."""
        self._trials += 1
        if self.least > tolerance:
            self._best, self._best_aims = self._orthogonal, np.zeros(self._aims.size)
        problem, scene = self._built(self._best)
        products = _inner_products(problem)
        aims = self._best_aims
        after = float(np.abs(products - aims).max())
        succeeded = after <= tolerance
        if not succeeded:
            message = self._advice(problem, products)
        elif aims.any():
            message = f"all inner products of {self._contacts} contacts are -cos(π/m) within {after:.3g}"
        else:
            message = f"all {self._contacts} contacts are orthogonal within {after:.3g}"
        return UniqueDesign(
            self._best, problem, scene, self.before, after, aims, succeeded, message, self._trials
        )

    def _advice(self, problem: ImpactProblem, products: Array) -> str:
        """Why no trial was good enough, as far as the best of them tells."""
        rows, columns = np.triu_indices(self._contacts, 1)
        worst = int(np.argmax(np.abs(products)))
        parts = [
            f"no orthogonal contacts found within the bounds: contacts {rows[worst]} and {columns[worst]} "
            f"keep an inner product of {products[worst]:.3g}"
        ]
        rank = int(np.linalg.matrix_rank(_gram(problem), tol=_INDEPENDENT * self._contacts, hermitian=True))
        if rank < self._contacts:
            parts.append(
                f"{self._contacts} normals that span {rank} dimensions cannot be orthogonal: leave out contacts "
                "that repeat others, such as corners of one face, or free more bodies"
            )
        margin = _AT_BOUND * (self._high - self._low)
        ends = [
            int(k)
            for k in np.flatnonzero((self._best <= self._low + margin) | (self._best >= self._high - margin))
        ]
        if ends:
            parts.append(
                f"parameter{'s' if len(ends) > 1 else ''} {', '.join(map(str, ends))} ended at a bound: widen it"
            )
        elif rank == self._contacts:
            parts.append("free further parameters, such as masses, positions or angles")
        if self._refused:
            parts.append(
                f"{self._refused} of {self._trials} trials were refused, the last because {self._reason}"
            )
        return "; ".join(parts)


def _finite_group(aims: Array, contacts: int) -> bool:
    """Whether reflections across normals with these inner products generate a finite group: their Gram matrix is
    positive definite."""
    gram = np.eye(contacts)
    gram[np.triu_indices(contacts, 1)] = aims
    return bool(np.linalg.eigvalsh(gram, UPLO="U")[0] > _INDEPENDENT)


def _inner_products(problem: ImpactProblem) -> Array:
    """⟨u_i, u_j⟩ of all pairs i < j of unit normals, (nc (nc - 1)/2,)."""
    return _gram(problem)[np.triu_indices(problem.contact_count, 1)]


def _gram(problem: ImpactProblem) -> Array:
    """⟨u_i, u_j⟩ of the contacts' unit normals in the kinetic metric, (nc, nc)."""
    angles = contact_angles(problem)
    immovable = np.isnan(angles.diagonal())
    if immovable.any():
        raise ValueError(f"contact {int(np.argmax(immovable))} is between bodies that cannot move")
    return np.cos(angles)


def _checked_count(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise TypeError(f"{name}: expected a whole number, got {value!r}")
    if value < 0:
        raise ValueError(f"{name}: expected a whole number of at least 0, got {value}")
    return int(value)


def _checked_bounds(bounds: Any, start: Array) -> tuple[Array, Array]:
    limits = checks.array("bounds", bounds, (start.size, 2))
    low, high = limits.T
    for k in range(start.size):
        if not low[k] < high[k]:
            raise ValueError(f"bounds: expected least < largest for parameter {k}, got {limits[k].tolist()}")
        if not low[k] <= start[k] <= high[k]:
            raise ValueError(
                f"parameters: expected parameter {k} within its bounds {limits[k].tolist()}, got {start[k]:g}"
            )
    return low, high
