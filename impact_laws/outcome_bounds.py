"""Outer bounds of all outcomes of the set-valued law at a few contacts, whatever its steps."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import outcome_bounds_kernels
from .closed_sets import closed_sets
from .impact_problem import ImpactProblem
from .law import checked_count
from .outcome import OutcomeSet
from .tolerances import BOUNDS_ACCEPTED, BOUNDS_NO_ROOM, BOUNDS_SETTLED, BOUNDS_SLACK, ROUTH_APPROACH
from .velocity_cells import Cell, ContactSpace

Array = NDArray[np.float64]

_FREEDOMS_OF_THREE = 3  # of three contacts: with more, cells and their directions are too many


@dataclass(frozen=True, eq=False)
class OutcomeRegion:
    """Outcomes that end with the same signs of the contact velocities: a polytope A v <= b.

    normal_signs, tangent_signs : nc entries of -1, 0 or 1 (closed: 1 stands for >= 0); None: any sign, or where a
        spatial contact slips, in a wedge of directions
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


def outcome_bounds(
    problem: ImpactProblem, fineness: int = 1, max_sweeps: int = 400, cone_edges: int = 8
) -> OutcomeBounds:
    """Bounds of every outcome that `SetValuedRouth` can have, for all its steps, random numbers and solvers.

    Parameters
    ----------
    problem
        One or two contacts, or three planar ones whose impulses change at most three freedoms, as those of one body
        do; ValueError otherwise, or where no kinetic energy belongs to u.
    fineness : at least 1
        Density of a grid among the directions whose support values are kept. Finer is tighter and slower. Two
        contacts with friction in space have no grid, and it changes nothing there.
    max_sweeps : at least 1
        The answer after fewer sweeps than needed is not verified and bounds nothing.
    cone_edges : at least 3
        Edges of the friction pyramid of a spatial contact, as of the law.

    A step ends at v⁺ = v + W Λ, where a contact presses only if it ends with v_n⁺ <= 0 and friction is -μ l, μ l
    or between by the sign of v_t⁺; in space along the edge of the pyramid that v_t⁺ is most opposed to, or between
    two. So with space divided into closed cells R by those signs and wedges and C_R the cone of the impulses that
    go with R, a step from a set S that ends in R ends in (S + W C_R) ∩ R. The cell keeps the convex hull of what
    comes from all cells in which a contact approaches, until no step leaves these sets. The cells without approach
    then bound the outcomes. No solution of a step is left out, and no bound of the steps enters.

    In coordinates x with W = B Bᵀ and v = B x + constant, x·x is twice the kinetic energy that contacts can
    change, which no step raises: |x| never exceeds its start. Polytopes are kept as support values on fixed
    directions for every cell: normals of the cells, of facets spanned by impulses and edges of cells, and a grid.
    Each value of a step comes from the dual of a linear program, of which any feasible point is a valid bound.
    Sets that only converge are extrapolated, and shrunk again by steps from the closed sets, which stay closed.

    Two contacts in space take from seconds to hours, by how many wedges slip can come into.

    Source: reachability of linear hybrid automata (Alur et al. 1995) applied to the law of Halm & Posa; support
    values on template directions after Sankaranarayanan, Dang & Ivančić 2008.
    """
    most = 3 if problem.dim == 2 else 2
    if problem.contact_count > most:
        kind = "planar" if problem.dim == 2 else "spatial"
        raise ValueError(f"problem must have at most {most} {kind} contacts, got {problem.contact_count}")
    checked_count("fineness", fineness, 1)
    checked_count("max_sweeps", max_sweeps, 1)
    checked_count("cone_edges", cone_edges, 3)
    measure = problem.approach_measure()
    if measure.min() >= -ROUTH_APPROACH * np.abs(measure).max():
        return _unchanged(problem)
    space = ContactSpace(problem, cone_edges)
    if problem.contact_count == 3 and space.start.size > _FREEDOMS_OF_THREE:
        raise ValueError(
            f"problem of 3 contacts must have at most {_FREEDOMS_OF_THREE} freedoms that impulses change, got "
            f"{space.start.size}"
        )
    cells = space.cells(fineness)
    sets, sweeps, defect = closed_sets(cells, space.start, max_sweeps)
    regions = tuple(
        _region(space, cell, offsets)
        for cell, offsets in zip(cells, sets, strict=True)
        if cell.ends and offsets is not None
    )
    axes = np.eye(problem.u.size)
    upper = _support(regions, space.base, space.mobility, axes)
    lower = -_support(regions, space.base, space.mobility, -axes)
    return OutcomeBounds(
        regions,
        lower,
        upper,
        sweeps,
        defect <= BOUNDS_SETTLED,
        defect,
        space.speed,
        space.base,
        space.mobility,
    )


def _region(space: ContactSpace, cell: Cell, offsets: Array) -> OutcomeRegion:
    """The outcomes in a cell as half-spaces of contact velocity."""
    shifted = np.vstack([cell.directions @ space.back, space.outside, -space.outside])
    A = np.vstack([shifted, space.half_spaces(cell)])
    b = np.zeros(len(A))
    b[: len(offsets)] = offsets
    b[: len(shifted)] += shifted @ space.base
    lengths = np.linalg.norm(A, axis=1)
    kept = lengths > 0.0
    return OutcomeRegion(
        *space.signs(cell),
        A[kept] / lengths[kept, None],
        b[kept] / lengths[kept],
        cell.template,
        offsets + BOUNDS_SLACK,
        cell.basis,
    )


def _unchanged(problem: ImpactProblem) -> OutcomeBounds:
    """The bounds where no contact approaches: the velocity before the impact."""
    size = problem.u.size
    A = np.vstack([np.eye(size), -np.eye(size)])
    signs = np.sign(problem.u).astype(int).reshape(-1, problem.dim)
    planar = problem.dim == 2
    tangents = [int(row[0]) if planar else None if row.any() else 0 for row in signs[:, 1:]]
    region = OutcomeRegion(
        tuple(signs[:, 0].tolist()), tuple(tangents), A, A @ problem.u,
        np.zeros((1, 0)), np.zeros(1), np.zeros((0, 0)),
    )  # fmt: skip
    u = problem.u.copy()
    return OutcomeBounds(
        (region,), u, u.copy(), 0, True, 0.0, float(np.abs(u).max()), u.copy(), np.zeros((size, 0))
    )


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
