"""Outer bounds of all outcomes of the set-valued law at one to three planar contacts, whatever its steps."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import chain, combinations, product

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import outcome_bounds_kernels
from .impact_problem import ImpactProblem
from .law import checked_count
from .outcome import OutcomeSet
from .tolerances import (
    BOUNDS_ACCEPTED,
    BOUNDS_GRIP,
    BOUNDS_HURRY,
    BOUNDS_NARROWED,
    BOUNDS_NARROWINGS,
    BOUNDS_NO_ROOM,
    BOUNDS_OFF_RANGE,
    BOUNDS_ON_BORDER,
    BOUNDS_PARALLEL,
    BOUNDS_PATIENCE,
    BOUNDS_RANK,
    BOUNDS_SETTLED,
    BOUNDS_SLACK,
    ROUTH_APPROACH,
)

Array = NDArray[np.float64]

_FREEDOMS_OF_THREE = 3  # of three contacts: with more, cells and their directions are too many


@dataclass(frozen=True, eq=False)
class OutcomeRegion:
    """Outcomes that end with the same signs of the contact velocities: a polytope A v <= b.

    normal_signs, tangent_signs : nc entries of -1, 0 or 1 (closed: 1 stands for >= 0); None: any sign
    A : (k, dim*nc), rows of unit length
    b : (k,), [m/s]
    """

    normal_signs: tuple[int, ...]
    tangent_signs: tuple[int | None, ...]
    A: Array
    b: Array
    _template: Array = field(repr=False)
    _offsets: Array = field(repr=False)
    _basis: Array = field(repr=False)


@dataclass(frozen=True, eq=False)
class Tightness:
    """How much of the bounds samples fill; 1 where the bounds leave no room.

    width : (dim*nc,), width of the samples over width of the bounds, per component
    area : the same for the areas of the convex hulls in the plane of two components
    components : those two
    """

    width: Array
    area: float
    components: tuple[int, int]


@dataclass(frozen=True, eq=False)
class OutcomeBounds:
    """A set of contact velocities that no outcome of the set-valued law leaves; see `outcome_bounds`.

    regions : polytopes whose union is the set
    lower, upper : (dim*nc,), [m/s], least and largest value of every component over the union
    iterations : sweeps until the sets closed, those that shrank them again included
    verified : whether one more step from every set was found to stay inside, within 1e-9 of the speed before
    defect : largest distance by which it did not, as a share of that speed (0 when none)
    speed : [m/s], largest contact velocity that the energy before the impact allows
    """

    regions: tuple[OutcomeRegion, ...]
    lower: Array
    upper: Array
    iterations: int
    verified: bool
    defect: float
    speed: float
    _base: Array = field(repr=False)
    _mobility: Array = field(repr=False)

    def support(self, direction: ArrayLike) -> Array:
        """Largest direction·v over the union, for one direction (dim*nc,) or several (n, dim*nc)."""
        rows = np.asarray(direction, dtype=float)
        if rows.ndim not in (1, 2) or rows.shape[-1] != self._base.size:
            raise ValueError(
                f"direction must have shape ({self._base.size},) or (n, {self._base.size}), got {rows.shape}"
            )
        return _support(self.regions, self._base, self._mobility, rows)

    def contains(self, velocity: ArrayLike, tolerance: float | None = None) -> NDArray[np.bool_]:
        """Whether velocities (n, dim*nc) lie in the union, (n,).

        ``tolerance`` [m/s] is the distance from every half-space that is still accepted; None takes 1e-7 of
        `speed`, since the law ends at approaches of 1e-9 that are not quite zero.
        """
        points = np.asarray(velocity, dtype=float)
        if points.ndim != 2 or points.shape[1] != self._base.size:
            raise ValueError(f"velocity must have shape (n, {self._base.size}), got {points.shape}")
        allowed = BOUNDS_ACCEPTED * self.speed if tolerance is None else tolerance
        inside = np.zeros(len(points), dtype=bool)
        for region in self.regions:
            left = np.flatnonzero(~inside)
            inside[left] = (points[left] @ region.A.T <= region.b + allowed).all(axis=1)
        return inside

    def tightness(self, outcomes: OutcomeSet | ArrayLike, components: tuple[int, int] = (0, 1)) -> Tightness:
        """How much of the bounds outcomes fill: an OutcomeSet, of which the resolved count, or (n, dim*nc).

        Samples are an inner and this an outer approximation, so values near 1 show that both are good. A small
        value does not tell which of the two is not.
        """
        if isinstance(outcomes, OutcomeSet):
            points = outcomes.velocity[outcomes.resolved]
        else:
            points = np.asarray(outcomes, dtype=float)
        size = self._base.size
        if points.ndim != 2 or points.shape[1] != size or not len(points):
            raise ValueError(f"outcomes must have shape (n, {size}) with n at least 1, got {points.shape}")
        if len(components) != 2 or not all(0 <= c < size for c in components) or len(set(components)) != 2:
            raise ValueError(f"components must be two different indices below {size}, got {components}")
        room = self.upper - self.lower
        none = BOUNDS_NO_ROOM * self.speed
        width = np.where(room > none, np.ptp(points, axis=0) / np.maximum(room, none), 1.0)
        plane = np.zeros((2, size))
        plane[[0, 1], list(components)] = 1.0
        area = 1.0
        if min(room[list(components)]) > none:
            flat = points[:, list(components)]
            area = _area(lambda rows: (rows @ flat.T).max(axis=1)) / _area(
                lambda rows: self.support(rows @ plane)
            )
        return Tightness(width, area, (int(components[0]), int(components[1])))


def outcome_bounds(problem: ImpactProblem, fineness: int = 1, max_sweeps: int = 400) -> OutcomeBounds:
    """Bounds of every outcome that `SetValuedRouth` can have, for all its steps, random numbers and solvers.

    Parameters
    ----------
    problem
        Planar, one or two contacts, or three whose impulses change at most three freedoms, as those of one body do;
        ValueError otherwise, or where no kinetic energy belongs to u.
    fineness : at least 1
        Density of the directions whose support values are kept. Finer is tighter and slower.
    max_sweeps : at least 1
        The answer after fewer sweeps than needed is not verified and bounds nothing.

    A step ends at v⁺ = v + W Λ, where a contact presses only if it ends with v_n⁺ <= 0 and friction is -μ l, μ l
    or between by the sign of v_t⁺. So with space divided into closed cells R by those signs and C_R the cone of
    the impulses that go with R, a step from a set S that ends in R ends in (S + W C_R) ∩ R. The cell keeps the
    convex hull of what comes from all cells in which a contact approaches, until no step leaves these sets. The
    cells without approach then bound the outcomes. No solution of a step is left out, and no bound of the steps
    enters.

    In coordinates x with W = B Bᵀ and v = B x + constant, x·x is twice the kinetic energy that contacts can
    change, which no step raises: |x| never exceeds its start. Polytopes are kept as support values on fixed
    directions for every cell: normals of the cells, of facets spanned by impulses and edges of cells, and a grid.
    Each value of a step comes from the dual of a linear program, of which any feasible point is a valid bound.
    Sets that only converge are extrapolated, and shrunk again by steps from the closed sets, which stay closed.

    Source: reachability of linear hybrid automata (Alur et al. 1995) applied to the law of Halm & Posa; support
    values on template directions after Sankaranarayanan, Dang & Ivančić 2008.
    """
    if problem.dim != 2:
        raise ValueError(f"problem must be planar (dim 2), got dim {problem.dim}")
    if problem.contact_count > 3:
        raise ValueError(f"problem must have at most 3 contacts, got {problem.contact_count}")
    checked_count("fineness", fineness, 1)
    checked_count("max_sweeps", max_sweeps, 1)
    measure = problem.approach_measure()
    if measure.min() >= -ROUTH_APPROACH * np.abs(measure).max():
        return _unchanged(problem)
    space = _ContactSpace(problem)
    if problem.contact_count == 3 and space.start.size > _FREEDOMS_OF_THREE:
        raise ValueError(
            f"problem of 3 contacts must have at most {_FREEDOMS_OF_THREE} freedoms that impulses change, got "
            f"{space.start.size}"
        )
    cells = space.cells(fineness)
    start: list[Array | None] = [
        cell.directions @ space.start
        if cell.approaches and (cell.inside @ space.start).max(initial=0.0) <= BOUNDS_ON_BORDER
        else None
        for cell in cells
    ]
    closed, sweeps = _closed(cells, start, max_sweeps)
    narrowed, defect, rounds = _narrowed(cells, start, closed)
    regions = tuple(
        space.region(cell, offsets)
        for cell, offsets in zip(cells, narrowed, strict=True)
        if cell.ends and offsets is not None
    )
    axes = np.eye(problem.u.size)
    upper = _support(regions, space.base, space.mobility, axes)
    lower = -_support(regions, space.base, space.mobility, -axes)
    speed = space.speed
    return OutcomeBounds(
        regions,
        lower,
        upper,
        sweeps + rounds,
        defect <= BOUNDS_SETTLED,
        defect,
        speed,
        space.base,
        space.mobility,
    )


@dataclass(frozen=True)
class _Cell:
    """A cell of contact velocities in coordinates x of length 1 before the impact.

    inside : (q, r), rows with inside x <= 0
    basis : (r, d), orthonormal, of the cell's linear hull
    generators : (k, r), unit rows, changes of x by impulses of a step that ends here
    reach : bound of the multiples of generators that such a step within |x| <= 1 needs
    template, directions : (K, d) and (K, r), the unit directions whose support values are kept
    ceiling : (K,), support values of the part of the cell with |x| <= 1
    approaches, ends : whether steps start here, and whether outcomes lie here
    """

    normal_signs: tuple[int, ...]
    tangent_signs: tuple[int | None, ...]
    inside: Array
    basis: Array
    generators: Array
    reach: float
    template: Array
    directions: Array
    ceiling: Array
    approaches: bool
    ends: bool


class _ContactSpace:
    """Coordinates x of contact velocity, v = base + mobility x, |x| = 1 before the impact, and its cells.

    x covers what impulses can change: with W = L Lᵀ, u = L a and Q an orthonormal basis of the span of Lᵀ Λ,
    mobility = |Qᵀ a| L Q and x = Qᵀ a/|Qᵀ a| at the start.
    """

    def __init__(self, problem: ImpactProblem) -> None:
        inertia, velocity, friction, _ = problem.kernel_arrays()
        count = friction.size
        keys = [
            (
                velocity[2 * i],
                velocity[2 * i + 1],
                *inertia[2 * i : 2 * i + 2, 2 * i : 2 * i + 2].flat,
                friction[i],
            )
            for i in range(count)
        ]
        # an order that does not depend on the numbering makes the bounds independent of it
        order = sorted(range(count), key=keys.__getitem__)
        components = np.array([2 * i + k for i in order for k in (0, 1)])
        W, u, mu = inertia[np.ix_(components, components)], velocity[components], friction[order]
        values, vectors = np.linalg.eigh(W)
        kept = values > BOUNDS_RANK * values[-1]
        factor = vectors[:, kept] * np.sqrt(values[kept])
        a = (vectors[:, kept] / np.sqrt(values[kept])).T @ u
        missed = float(np.linalg.norm(u - factor @ a))
        if missed > BOUNDS_OFF_RANGE * float(np.linalg.norm(u)):
            raise ValueError(f"u must lie in the range of W, got a part of {missed:.3g} m/s outside of it")
        impulses = []
        for i in range(count):
            for share in (mu[i], -mu[i]) if mu[i] > 0.0 else (0.0,):
                impulse = np.zeros(2 * count)
                impulse[2 * i : 2 * i + 2] = 1.0, share
                impulses.append(impulse)
        changes = _unit(np.array(impulses) @ factor)
        left, sizes, _ = np.linalg.svd(changes.T, full_matrices=False)
        Q = left[:, sizes > BOUNDS_PARALLEL * sizes[0]]
        length = float(np.linalg.norm(Q.T @ a))
        self.order, self.friction = order, mu
        self.start = Q.T @ a / length
        self.rows = factor @ Q
        self.generators = changes @ Q
        self.mobility, self.base = np.empty((2 * count, Q.shape[1])), np.empty(2 * count)
        self.mobility[components] = length * self.rows
        self.base[components] = u - length * self.rows @ self.start
        self.speed = float(np.linalg.norm(self.mobility, axis=1).max())

    def cells(self, fineness: int) -> list[_Cell]:
        """All cells that a step can start from or end in."""
        r, count = self.start.size, self.friction.size
        rows = self.rows / np.maximum(np.linalg.norm(self.rows, axis=1), np.finfo(float).tiny)[:, None]
        used = [k for i in range(count) for k in ((2 * i, 2 * i + 1) if self.friction[i] > 0.0 else (2 * i,))]
        borders = _unit(rows[used])
        edges = _orthogonal(borders, r)
        spanning = _distinct(np.vstack([self.generators, edges, self.start]))
        natural = np.vstack([borders, self.generators, _orthogonal(spanning, r)])
        natural = _distinct(np.vstack([natural, -natural]))
        modes = [list(product((-1, 0, 1), (-1, 0, 1) if mu > 0.0 else (None,))) for mu in self.friction]
        found = []
        for signs in product(*modes):
            normals = tuple(normal for normal, _ in signs)
            if min(normals) > 0:
                continue  # a step that nothing presses in leaves the approach it started with
            inside, equal, generators = [], [], []
            for i, (normal, tangent) in enumerate(signs):
                for row, sign in ((rows[2 * i], normal), (rows[2 * i + 1], tangent)):
                    if sign is not None:
                        inside += [row] * (sign <= 0) + [-row] * (sign >= 0)
                        equal += [row] * (sign == 0)
                if normal <= 0:
                    generators += self._edges(i, tangent)
            basis = _complement(np.reshape(equal, (-1, r)))
            d = basis.shape[1]
            template = (
                _distinct(_unit(np.vstack([natural @ basis, _grid(d, fineness)]))) if d else np.zeros((1, 0))
            )
            directions = template @ basis.T
            borders_inside = np.array(inside)
            ceiling = _cone_support(borders_inside @ basis, template) + BOUNDS_SLACK
            rests = all(sign in (0, None) for signs_of in signs for sign in signs_of)
            if not rests and ceiling.max() <= BOUNDS_ON_BORDER:
                continue  # only the point of rest, from which the cell of rest has all impulses
            edges_here = _unit(np.array(generators))
            found.append(
                _Cell(
                    self._reordered(normals),
                    self._reordered(tuple(tangent for _, tangent in signs)),
                    borders_inside,
                    basis,
                    edges_here,
                    _reach(edges_here),
                    template,
                    directions,
                    ceiling,
                    min(normals) < 0,
                    min(normals) >= 0,
                )
            )
        return found

    def _edges(self, i: int, tangent: int | None) -> list[Array]:
        """Changes of x by impulses that span the cone of contact i where it slips by the given sign."""
        along, across, mu = self.rows[2 * i], self.rows[2 * i + 1], self.friction[i]
        if tangent == 0 and mu * np.linalg.norm(across) > BOUNDS_GRIP * np.linalg.norm(along):
            return [along, across, -across]
        shares = {None: (0.0,), -1: (mu,), 0: (mu, -mu), 1: (-mu,)}[tangent]
        return [along + share * across for share in shares]

    def region(self, cell: _Cell, offsets: Array) -> OutcomeRegion:
        """The outcomes in a cell as half-spaces of contact velocity."""
        size = self.base.size
        back = np.linalg.pinv(self.mobility)
        outside = np.linalg.svd(self.mobility)[0][:, self.start.size :].T
        signs = list(chain.from_iterable(zip(cell.normal_signs, cell.tangent_signs, strict=True)))
        axes = [
            -np.eye(size)[k] * way
            for k, s in enumerate(signs)
            if s is not None
            for way in ((1, -1) if s == 0 else (s,))
        ]
        A = np.vstack([cell.directions @ back, outside, -outside, np.reshape(axes, (-1, size))])
        b = np.zeros(len(A))
        b[: len(offsets)] = offsets
        b[: len(offsets) + 2 * len(outside)] += A[: len(offsets) + 2 * len(outside)] @ self.base
        lengths = np.linalg.norm(A, axis=1)
        kept = lengths > 0.0
        return OutcomeRegion(
            cell.normal_signs,
            cell.tangent_signs,
            A[kept] / lengths[kept, None],
            b[kept] / lengths[kept],
            cell.template,
            offsets + BOUNDS_SLACK,
            cell.basis,
        )

    def _reordered(self, entries: tuple) -> tuple:
        """Entries of contacts in the order of the problem."""
        return tuple(entries[self.order.index(i)] for i in range(len(entries)))


def _unchanged(problem: ImpactProblem) -> OutcomeBounds:
    """The bounds where no contact approaches: the velocity before the impact."""
    size = problem.u.size
    A = np.vstack([np.eye(size), -np.eye(size)])
    signs = np.sign(problem.u).astype(int)
    region = OutcomeRegion(
        tuple(signs[::2].tolist()), tuple(signs[1::2].tolist()), A, A @ problem.u,
        np.zeros((1, 0)), np.zeros(1), np.zeros((0, 0)),
    )  # fmt: skip
    u = problem.u.copy()
    return OutcomeBounds(
        (region,), u, u.copy(), 0, True, 0.0, float(np.abs(u).max()), u.copy(), np.zeros((size, 0))
    )


def _step(source: _Cell, offsets: Array, target: _Cell) -> Array | None:
    """Support values of where one step from a set in one cell ends in another; None where it cannot."""
    values = np.empty(len(target.directions))
    reached = outcome_bounds_kernels.step_support(
        source.template, offsets, source.basis, target.generators, target.inside, BOUNDS_SLACK,
        target.directions, target.reach, values,
    )  # fmt: skip
    return np.minimum(values, target.ceiling) if reached else None


def _closed(
    cells: Sequence[_Cell], start: Sequence[Array | None], max_sweeps: int
) -> tuple[list[Array | None], int]:
    """Sets that contain the start and that no step leaves, and the sweeps it took."""
    sets = list(start)
    waiting = {k for k, offsets in enumerate(sets) if offsets is not None}
    sweep = 0
    while waiting and sweep < max_sweeps:
        sweep += 1
        before = list(sets)
        for k in sorted(waiting):
            waiting.discard(k)
            for j, target in enumerate(cells):
                source, old = sets[k], sets[j]
                assert source is not None  # what waits has one
                values = _step(cells[k], source, target)
                if values is None:
                    continue
                if old is not None:
                    if (values - old).max() <= BOUNDS_SETTLED:
                        continue
                    values = np.maximum(values, old)
                sets[j] = values
                if target.approaches:
                    waiting.add(j)
        if sweep > BOUNDS_PATIENCE and waiting:
            ahead = BOUNDS_HURRY ** (sweep - BOUNDS_PATIENCE) - 1.0
            for j, (new, old) in enumerate(zip(sets, before, strict=True)):
                if new is not None and old is not None and (new > old).any():
                    sets[j] = np.maximum(new, np.minimum(new + ahead * (new - old), cells[j].ceiling))
                    if cells[j].approaches:
                        waiting.add(j)
    return sets, sweep


def _narrowed(
    cells: Sequence[_Cell], start: Sequence[Array | None], sets: list[Array | None]
) -> tuple[list[Array | None], float, int]:
    """Smaller closed sets, by how much one step leaves them, and the rounds.

    A step is monotone: from closed sets X it reaches F(X) ⊂ X, so F(F(X)) ⊂ F(X), which is closed too. The last
    sets that one step was seen to keep are the answer: of very small ones rounding may show otherwise.
    """
    rounds = 0
    closed = sets, np.inf
    while True:
        image = list(start)
        for k, offsets in enumerate(sets):
            if offsets is None or not cells[k].approaches:
                continue
            for j, target in enumerate(cells):
                values, known = _step(cells[k], offsets, target), image[j]
                if values is not None:
                    image[j] = values if known is None else np.maximum(known, values)
        rounds += 1
        defect = shrunk = 0.0
        for new, old in zip(image, sets, strict=True):
            if new is not None:
                defect = max(defect, np.inf if old is None else float((new - old).max(initial=0.0)))
            if old is not None:
                shrunk = max(shrunk, np.inf if new is None else float((old - new).max(initial=0.0)))
        if defect <= BOUNDS_SETTLED or rounds == 1:
            closed = sets, defect
        if shrunk <= BOUNDS_NARROWED or defect > BOUNDS_SETTLED or rounds == BOUNDS_NARROWINGS:
            return *closed, rounds
        sets = [
            None if new is None or old is None else np.minimum(new, old)
            for new, old in zip(image, sets, strict=True)
        ]


def _support(regions: Sequence[OutcomeRegion], base: Array, mobility: Array, rows: Array) -> Array:
    """Largest rows·v over the union of regions."""
    stacked = np.atleast_2d(rows)
    r = mobility.shape[1]
    none = np.zeros((0, r))
    directions = np.ascontiguousarray(stacked @ mobility)
    best = np.full(len(stacked), -np.inf)
    values = np.empty(len(stacked))
    for region in regions:
        outcome_bounds_kernels.step_support(
            region._template, region._offsets, region._basis, none, none, 0.0, directions, 1.0, values
        )
        best = np.maximum(best, values)
    return (best + stacked @ base).reshape(rows.shape[:-1])


def _area(support: Callable[[Array], Array]) -> float:
    """Area of a convex set in the plane from its support values, by tangents that are added at false corners."""
    angles = np.arange(0.0, 2.0 * np.pi, np.pi / 8.0)
    normals = np.column_stack([np.cos(angles), np.sin(angles)])
    heights = support(normals)
    size = float(np.abs(heights).max())
    while True:
        gaps = np.diff(angles, append=angles[0] + 2.0 * np.pi)
        tangents = np.column_stack([-normals[:, 1], normals[:, 0]])
        along = (np.roll(heights, -1) - np.cos(gaps) * heights) / np.sin(gaps)
        corners = heights[:, None] * normals + along[:, None] * tangents
        middle = angles + 0.5 * gaps
        between = np.column_stack([np.cos(middle), np.sin(middle)])
        found = support(between)
        false = (gaps > 1e-7) & ((between * corners).sum(axis=1) - found > 1e-12 * size)
        if not false.any():
            x, y = corners.T
            return 0.5 * float(x @ np.roll(y, -1) - y @ np.roll(x, -1))
        angles = np.concatenate([angles, middle[false]])
        normals = np.vstack([normals, between[false]])
        heights = np.concatenate([heights, found[false]])
        sorting = np.argsort(angles)
        angles, normals, heights = angles[sorting], normals[sorting], heights[sorting]


def _reach(generators: Array) -> float:
    """Bound of the multiples of unit generators (k, r) that a change of at most 2 needs.

    By Carathéodory independent ones suffice, whose multiples the smallest singular value bounds.
    """
    least = 1.0
    for some in _subsets(*generators.shape):
        sizes = np.linalg.svd(generators[list(some)], compute_uv=False)
        if some and sizes[-1] > BOUNDS_PARALLEL:
            least = min(least, sizes[-1])
    return 2.0 / least


def _subsets(count: int, largest: int) -> list[tuple[int, ...]]:
    return [some for size in range(min(count, largest) + 1) for some in combinations(range(count), size)]


def _unit(rows: Array) -> Array:
    """The rows at unit length, without those that vanish."""
    sizes = np.linalg.norm(rows, axis=1)
    kept = sizes > BOUNDS_PARALLEL * sizes.max(initial=0.0)
    return rows[kept] / sizes[kept, None]


def _distinct(rows: Array) -> Array:
    """The rows without repetitions, in an order that depends on their values only."""
    _, first = np.unique(np.round(rows, 8) + 0.0, axis=0, return_index=True)
    return rows[first]


def _complement(rows: Array) -> Array:
    """Orthonormal basis (r, d) of what is orthogonal to all rows (n, r)."""
    _, sizes, right = np.linalg.svd(rows)
    return np.ascontiguousarray(right[int((sizes > BOUNDS_PARALLEL).sum()) :].T)


def _orthogonal(vectors: Array, r: int) -> Array:
    """Unit vectors (n, r) orthogonal to r - 1 independent ones of some vectors."""
    found = [
        complement[:, 0]
        for some in combinations(range(len(vectors)), r - 1)
        if (complement := _complement(vectors[list(some)])).shape[1] == 1
    ]
    return np.reshape(found, (-1, r))


def _grid(d: int, fineness: int) -> Array:
    """Directions all around in d dimensions: a circle of 8 fineness, or points on the faces of a cube."""
    if d == 2:
        angles = np.arange(8 * fineness) * (np.pi / (4 * fineness))
        return np.column_stack([np.cos(angles), np.sin(angles)])
    half = fineness if d == 3 else (fineness + 1) // 2  # the number of points grows with its power d - 1
    points = np.array(list(product(range(-half, half + 1), repeat=d)), dtype=float)
    return points[np.abs(points).max(axis=1) == half]


def _cone_support(borders: Array, template: Array) -> Array:
    """Support values of {σ: borders σ <= 0, |σ| <= 1} in unit directions (K, d).

    That is the length of the direction's projection on the cone, the longest of those projections on
    its faces that lie in the cone.
    """
    d = template.shape[1]
    best = np.zeros(len(template))
    if d == 0:
        return best
    rows = _distinct(_unit(borders))
    for some in _subsets(len(rows), d - 1):
        face = _complement(rows[list(some)])
        shadows = template @ face @ face.T
        lies_inside = (shadows @ rows.T).max(axis=1, initial=0.0) <= BOUNDS_PARALLEL
        best = np.where(lies_inside, np.maximum(best, np.linalg.norm(shadows, axis=1)), best)
    return best
