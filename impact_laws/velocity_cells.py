"""Cells of contact velocity in which steps of the set-valued law have one kind of impulse, and their directions."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, combinations, product
from math import comb

import numpy as np
from numpy.typing import NDArray

from .anitescu_potra import edge_directions
from .impact_problem import ImpactProblem
from .tolerances import (
    BOUNDS_FACETS,
    BOUNDS_GRIP,
    BOUNDS_OFF_RANGE,
    BOUNDS_ON_BORDER,
    BOUNDS_PARALLEL,
    BOUNDS_RANK,
    BOUNDS_SLACK,
)

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Mode:
    """What one contact does in a cell: a cone of its velocity, and the impulses of steps that end there.

    normal, tangent : signs of its velocity; tangent None: any, or of a spatial contact that slips
    borders : (q, dim), rows with borders v <= 0
    equal : (e, dim), rows with equal v = 0, also among the borders
    impulses : (k, dim), edges of the cone of its impulse; none where it opens
    """

    normal: int
    tangent: int | None
    borders: Array
    equal: Array
    impulses: Array


@dataclass(frozen=True)
class Cell:
    """A cell of contact velocities in coordinates x of length 1 before the impact.

    modes : of every contact, in the order of the space
    inside : (q, r), rows with inside x <= 0
    basis : (r, d), orthonormal, of the cell's linear hull
    generators : (k, r), unit rows, changes of x by impulses of a step that ends here
    reach : bound of the multiples of generators that such a step within |x| <= 1 needs
    template, directions : (K, d) and (K, r), the unit directions whose support values are kept
    ceiling : (K,), support values of the part of the cell with |x| <= 1
    approaches, ends : whether steps start here, and whether outcomes lie here
    """

    modes: tuple[Mode, ...]
    inside: Array
    basis: Array
    generators: Array
    reach: float
    template: Array
    directions: Array
    ceiling: Array
    approaches: bool
    ends: bool


class ContactSpace:
    """Coordinates x of contact velocity, v = base + mobility x, |x| = 1 before the impact, and its cells.

    x covers what impulses can change: with W = L Lᵀ, u = L a and Q an orthonormal basis of the span of Lᵀ Λ,
    mobility = |Qᵀ a| L Q and x = Qᵀ a/|Qᵀ a| at the start. ``back`` takes v - base to x, rows of ``outside`` span
    what no x changes.
    """

    def __init__(self, problem: ImpactProblem, cone_edges: int) -> None:
        inertia, velocity, friction, _ = problem.kernel_arrays()
        count, dim = friction.size, problem.dim
        keys = [
            (
                *velocity[dim * i : dim * i + dim],
                *inertia[dim * i : dim * i + dim, dim * i : dim * i + dim].flat,
                friction[i],
            )
            for i in range(count)
        ]
        # an order that does not depend on the numbering makes the bounds independent of it
        order = sorted(range(count), key=keys.__getitem__)
        components = np.array([dim * i + k for i in order for k in range(dim)])
        W, u, mu = inertia[np.ix_(components, components)], velocity[components], friction[order]
        values, vectors = np.linalg.eigh(W)
        kept = values > BOUNDS_RANK * values[-1]
        factor = vectors[:, kept] * np.sqrt(values[kept])
        a = (vectors[:, kept] / np.sqrt(values[kept])).T @ u
        missed = float(np.linalg.norm(u - factor @ a))
        if missed > BOUNDS_OFF_RANGE * float(np.linalg.norm(u)):
            raise ValueError(f"u must lie in the range of W, got a part of {missed:.3g} m/s outside of it")
        self.dim, self.edges = dim, edge_directions(dim, cone_edges)
        impulses = np.vstack(
            [self._embedded(i, _pressing(mu[i], self.edges), dim * count) for i in range(count)]
        )
        changes = _unit(impulses @ factor)
        left, sizes, _ = np.linalg.svd(changes.T, full_matrices=False)
        Q = left[:, sizes > BOUNDS_PARALLEL * sizes[0]]
        length = float(np.linalg.norm(Q.T @ a))
        self.order, self.friction = order, mu
        self.start = Q.T @ a / length
        self.rows = factor @ Q
        self.generators = changes @ Q
        self.mobility, self.base = np.empty((dim * count, Q.shape[1])), np.empty(dim * count)
        self.mobility[components] = length * self.rows
        self.base[components] = u - length * self.rows @ self.start
        self.back = np.linalg.pinv(self.mobility)
        self.outside = np.linalg.svd(self.mobility)[0][:, self.start.size :].T
        self.speed = float(np.linalg.norm(self.mobility, axis=1).max())

    def cells(self, fineness: int) -> list[Cell]:
        """All cells that a step can start from or end in.

        Where one contact approaches, others approach too or open: what stops there lies in the closed cell of
        approach as well, and its steps are that cell's.
        """
        r, dim = self.start.size, self.dim
        natural, grid = self._natural_directions()
        modes = [_modes(mu, self.edges) for mu in self.friction]
        found = []
        for chosen in product(*modes):
            normals = [mode.normal for mode in chosen]
            if min(normals) > 0 or (min(normals) < 0 and 0 in normals):
                continue  # a step that nothing presses in leaves the approach it started with
            inside = np.vstack([self._effects(i, mode.borders) for i, mode in enumerate(chosen)])
            equal = np.vstack([self._effects(i, mode.equal) for i, mode in enumerate(chosen)])
            generators = _unit(np.vstack([self._changes(i, mode) for i, mode in enumerate(chosen)]))
            basis = _complement(equal)
            d = basis.shape[1]
            template = np.zeros((1, 0))
            if d:
                points = [natural @ basis, _grid(d, fineness)] if grid else [natural @ basis]
                template = _distinct(_unit(np.vstack(points)))
            ceiling = _cone_support(inside @ basis, template) + BOUNDS_SLACK
            rests = all(
                len(mode.equal) == (dim if mu > 0.0 else 1)
                for mode, mu in zip(chosen, self.friction, strict=True)
            )
            if not rests and ceiling.max() <= BOUNDS_ON_BORDER:
                continue  # only the point of rest, from which the cell of rest has all impulses
            found.append(
                Cell(
                    chosen,
                    inside,
                    basis,
                    generators,
                    _reach(generators, r),
                    template,
                    template @ basis.T,
                    ceiling,
                    min(normals) < 0,
                    min(normals) >= 0,
                )
            )
        return found

    def half_spaces(self, cell: Cell) -> Array:
        """Rows (n, dim*nc) with rows v <= 0 in a cell, of contact velocities in the order of the problem."""
        return np.vstack(
            [self._embedded(self.order[i], mode.borders, self.base.size) for i, mode in enumerate(cell.modes)]
        )

    def signs(self, cell: Cell) -> tuple[tuple[int, ...], tuple[int | None, ...]]:
        """Of normal and of tangential velocities, in the order of the problem."""
        modes = [cell.modes[self.order.index(i)] for i in range(len(self.order))]
        return tuple(mode.normal for mode in modes), tuple(mode.tangent for mode in modes)

    def _natural_directions(self) -> tuple[Array, bool]:
        """Unit directions, each with its opposite, and whether a grid of others is to be kept beside them.

        Normals of cells, changes by edges of impulse cones, and facets spanned by those, edges of cells and the
        start. Where these facets are too many: facets of what all impulses together span, impulses as they follow
        from velocities, and sums and differences of components.
        """
        r, dim = self.start.size, self.dim
        lines = _cell_lines(self.edges)
        borders = _distinct(
            np.vstack(
                [self._effects(i, lines if mu > 0.0 else lines[:1]) for i, mu in enumerate(self.friction)]
            )
        )
        spanned = comb(len(borders), r - 1) + len(self.generators) + 1
        if comb(spanned, r - 1) <= BOUNDS_FACETS:
            edges = _orthogonal(borders, r)
            spanning = _distinct(np.vstack([self.generators, edges, self.start]))
            natural = np.vstack([borders, self.generators, _orthogonal(spanning, r)])
            return _distinct(np.vstack([natural, -natural])), True
        impulses = np.linalg.pinv(self.rows.T)
        axes = _unit(self.rows)
        sums = [
            axes[i] + sign * axes[j] for i, j in combinations(range(len(axes)), 2) for sign in (1.0, -1.0)
        ]
        facets = [face for face in _orthogonal(self.generators, r) if _one_sided(self.generators @ face)]
        pressures = np.vstack([lines @ impulses[dim * i : dim * i + dim] for i in range(len(self.friction))])
        parts = [borders, self.generators, np.reshape(facets, (-1, r)), pressures, sums, self.start[None]]
        natural = _unit(np.vstack(parts))
        return _distinct(np.vstack([natural, -natural])), False

    def _effects(self, i: int, rows: Array) -> Array:
        """Rows of the velocity of contact i as unit rows of x."""
        found = rows @ self.rows[self.dim * i : self.dim * i + self.dim]
        return found / np.maximum(np.linalg.norm(found, axis=1), np.finfo(float).tiny)[:, None]

    def _changes(self, i: int, mode: Mode) -> Array:
        """Changes of x by impulses that span the cone of contact i in a mode."""
        dim, impulses = self.dim, mode.impulses
        along, across = self.rows[dim * i], self.rows[dim * i + 1 : dim * i + dim]
        grips = self.friction[i] * np.linalg.norm(across) > BOUNDS_GRIP * np.linalg.norm(along)
        if mode.tangent == 0 and len(impulses) and grips:
            impulses = np.vstack([np.eye(1, dim), _beside_normal(self.edges)])
        return impulses @ self.rows[dim * i : dim * i + dim]

    @staticmethod
    def _embedded(i: int, rows: Array, size: int) -> Array:
        """Rows (n, dim) of contact i among those of all, (n, size)."""
        dim = rows.shape[1]
        found = np.zeros((len(rows), size))
        found[:, dim * i : dim * i + dim] = rows
        return found


def _pressing(friction: float, directions: Array) -> Array:
    """Impulses (k, dim) with friction along some edges of its cone."""
    if friction == 0.0:
        return np.eye(1, directions.shape[1] + 1)
    return np.column_stack([np.ones(len(directions)), friction * directions])


def _modes(friction: float, edges: Array) -> list[Mode]:
    """All modes of a contact: friction acts along the edge most opposed to slip, between two where both are."""
    dim = edges.shape[1] + 1
    normal = np.eye(1, dim)
    slips: list[tuple[int | None, Array, Array, Array]] = []
    if friction == 0.0:
        slips.append((None, edges[:0], edges[:0], edges[:1]))
    else:
        for k in range(len(edges)):
            before, here, after = edges[k - 1], edges[k], edges[(k + 1) % len(edges)]
            sides = np.vstack([here - before, here - after])
            slips.append((2 * k - 1 if dim == 2 else None, sides, edges[:0], edges[k : k + 1]))
            if dim == 3:
                across = (here - after)[None]
                ray = np.vstack([across, -across, here + after])
                slips.append((None, ray, across, np.vstack([here, after])))
        axes = np.eye(dim - 1)
        slips.append((0, np.vstack([axes, -axes]), axes, edges))
    found = []
    for sign in (-1, 0, 1):
        signed = {-1: normal, 0: np.vstack([normal, -normal]), 1: -normal}[sign]
        for tangent, borders, equal, some in slips:
            if sign > 0 and len(equal):
                continue  # without an impulse the cells beside it say as much
            found.append(
                Mode(
                    sign,
                    tangent,
                    np.vstack([signed, _beside_normal(borders)]),
                    np.vstack([normal[: int(sign == 0)], _beside_normal(equal)]),
                    _pressing(friction, some) if sign <= 0 else np.zeros((0, dim)),
                )
            )
    return found


def _beside_normal(rows: Array) -> Array:
    """Rows of tangential components as rows of all."""
    return np.column_stack([np.zeros(len(rows)), rows])


def _cell_lines(edges: Array) -> Array:
    """The normal, and lines of slip: along edges, and between two of them."""
    lines: list[Array] = []
    for row in _unit(np.vstack([edges, edges - np.roll(edges, -1, axis=0)])):
        if all(abs(row @ other) < 1.0 - BOUNDS_PARALLEL for other in lines):
            lines.append(row)
    return np.vstack([np.eye(1, edges.shape[1] + 1), _beside_normal(np.array(lines))])


def _one_sided(heights: Array) -> bool:
    return bool(heights.max() <= BOUNDS_PARALLEL or heights.min() >= -BOUNDS_PARALLEL)


def _reach(generators: Array, r: int) -> float:
    """Bound of the multiples of unit generators (k, r) that a change of at most 2 needs.

    By Carathéodory independent ones suffice, whose multiples the smallest singular value bounds.
    """
    least = 1.0
    for size in range(1, min(len(generators), r) + 1):
        some = np.array(list(combinations(range(len(generators)), size)))
        sizes = np.linalg.svd(generators[some], compute_uv=False)[:, -1]
        least = min(least, sizes[sizes > BOUNDS_PARALLEL].min(initial=1.0))
    return 2.0 / least


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
    rows = _distinct(_unit(borders[np.linalg.norm(borders, axis=1) > BOUNDS_PARALLEL]))
    for some in _subsets(len(rows), d - 1):
        face = _complement(rows[list(some)])
        shadows = template @ face @ face.T
        lies_inside = (shadows @ rows.T).max(axis=1, initial=0.0) <= BOUNDS_PARALLEL
        best = np.where(lies_inside, np.maximum(best, np.linalg.norm(shadows, axis=1)), best)
    return best


def _subsets(count: int, largest: int) -> Sequence[tuple[int, ...]]:
    return list(
        chain.from_iterable(combinations(range(count), size) for size in range(min(count, largest) + 1))
    )
