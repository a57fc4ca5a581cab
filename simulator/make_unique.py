"""Designs whose simultaneous impact has one outcome: contact normals made orthogonal in the kinetic metric."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..bodies import Scene, checks
from ..impact_laws import ImpactProblem
from ..impact_laws.indeterminacy import contact_angles
from .collision.pairs import (
    collision_pairs,
    contact_jacobian,
    contact_patch,
    pair_gap,
    pair_size,
    refuse_unknown_distances,
)
from .state import Array, Model
from .tolerances import CONTACT_GAP, OVERLAP

_SOLVER_ACCURACY = 1e-15  # relative; the least that the optimiser takes, so that it stops at rounding
_SOLVER_TRIALS = 100  # of one local search, for each parameter
_INDEPENDENT = 1e-9  # of the largest singular value; normals below it lie in the span of the others
_AT_BOUND = 1e-9  # of the width of the bounds


def contact_problem(scene: Scene) -> ImpactProblem:
    """The impact problem of everything that touches in a scene as it stands, with the velocities it has.

    Contacts are those whose gap is within the engine's tolerance, in the order the engine gives them to a law
    (body pair by body pair). ValueError where nothing touches or bodies overlap.
    """
    if not isinstance(scene, Scene):
        raise TypeError(f"scene: expected a Scene, got {type(scene).__name__}")
    model = Model.of_scene(scene)
    refuse_unknown_distances(model)
    states = model.initial_states()
    sizes = {pair: pair_size(model, pair) for pair in collision_pairs(model)}
    gaps = {pair: pair_gap(model, pair, states)[1] for pair in sizes}
    for (first, second), gap in gaps.items():
        if gap < -OVERLAP * sizes[first, second]:
            names = [scene.bodies[body].name for body in sorted((first, second))]
            raise ValueError(f"scene: bodies {names[0]!r} and {names[1]!r} overlap by {-gap:.6g} m")
    touching = [pair for pair, gap in gaps.items() if gap <= CONTACT_GAP * sizes[pair]]
    if not touching:
        nearest = min(gaps.values(), default=math.inf)
        raise ValueError(
            f"scene: expected bodies that touch within {CONTACT_GAP:g} of their size, "
            f"got a least gap of {nearest:.6g} m"
        )
    patch = contact_patch(model, touching, states)
    jacobian, inverse_mass, velocity, _ = contact_jacobian(model, patch, states)
    materials = [scene.pair_material(int(a), int(b)) for a, b in patch.bodies]
    return ImpactProblem.from_generalized(
        None,
        jacobian,
        velocity,
        friction=[material.friction for material in materials],
        restitution=[material.restitution for material in materials],
        dim=3,
        inverse_mass=inverse_mass,
    )


@dataclass(frozen=True, eq=False)
class UniqueDesign:
    """What `make_unique` found.

    parameters : (n,), the best within the bounds
    problem : the impact problem there
    scene : the scene there; None where the builder gives problems
    before, after : largest |⟨u_i, u_j⟩| of the unit contact normals in the kinetic metric, at the parameters
        given and at those found; 0 is orthogonal, 1 parallel
    succeeded : whether ``after`` is within the tolerance
    message : one sentence, with advice where it did not succeed
    trials : how often the builder was called
    """

    parameters: Array
    problem: ImpactProblem
    scene: Scene | None
    before: float
    after: float
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
) -> UniqueDesign:
    """Change parameters until all simultaneous contacts are pairwise orthogonal under the kinetic metric.

    Reflections across orthogonal contacts commute, so the impact then has one outcome in whatever order its
    contacts are resolved. The sum of squares of all inner products ⟨u_i, u_j⟩ of unit normals is minimised,
    first from the parameters given, which finds a design nearby, then from random points within the
    bounds, the nearest first, until one succeeds.

    Parameters
    ----------
    scene_builder : takes parameters (n,) and returns a Scene whose bodies touch, or an ImpactProblem
        The contacts must stay the same for all parameters. A trial with more or fewer, or for which the
        builder raises ValueError (a shape that cannot be built, bodies that overlap, NaN), counts as refused
        and the search stays away from it; other errors are the builder's own and are passed on.
    parameters : (n,), where the search starts
    bounds : (n, 2), least and largest value of each parameter, finite
    tolerance : largest |⟨u_i, u_j⟩| that counts as orthogonal
    restarts : further local searches, at least 0
    seed : of the points of restart; equal seeds give equal designs

    Raises ValueError or TypeError that names the field, and ValueError where the parameters given are
    themselves refused.

    Source: Seghete & Murphey, theorem 2 and section VII.
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

    search = _Search(scene_builder, start, low, high)
    begin = (start - low) / (high - low)
    points = [begin]
    if restarts and search.least > tolerance:
        spread = np.random.default_rng(seed).random((restarts, start.size))
        points += list(spread[np.argsort(np.linalg.norm(spread - begin, axis=1), kind="stable")])
    for point in points:
        if search.least <= tolerance:
            break
        if search.refuses(point):
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
        self._products = products.size
        self.before = self.least = float(np.abs(products).max())
        self._best = start

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
        largest = float(np.abs(products).max())
        if largest < self.least:
            self.least, self._best = largest, parameters
        return products

    def refuses(self, scaled: Array) -> bool:
        """Whether no local search can start here."""
        return self._tried(scaled) is None

    def residuals(self, scaled: Array) -> Array:
        """Inner products (pairs,); where refused, those of parallel contacts, the worst there are."""
        products = self._tried(scaled)
        return np.ones(self._products) if products is None else products

    def design(self, tolerance: float) -> UniqueDesign:
        """The best trial, built once more."""
        self._trials += 1
        problem, scene = self._built(self._best)
        products = _inner_products(problem)
        after = float(np.abs(products).max())
        succeeded = after <= tolerance
        message = (
            f"all {self._contacts} contacts are orthogonal within {after:.3g}"
            if succeeded
            else self._advice(problem, products)
        )
        return UniqueDesign(self._best, problem, scene, self.before, after, succeeded, message, self._trials)

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
