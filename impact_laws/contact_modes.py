"""All solutions of the simultaneous problem with friction pyramids, by branching over what each contact does.

A contact separates, sticks, or slides against one edge of its pyramid or, with slip square to a side of it,
against any direction of that side. Velocities tell these apart, so no solution is met twice. When all contacts have
such a mode the problem is linear: impulses are sums of the mode's edges with weights y >= 0, and the mode asks for
equalities and inequalities of v = u + W p. A contact without a mode yet is relaxed to an impulse in its pyramid and
v_n >= 0. So modes are chosen contact by contact, and a choice whose relaxation has no solution ends there; what is
left at the end are all solutions, also those that belong to singular bases.

Whether A y = b has a solution y >= 0 is told by least squares over y >= 0 (Lawson & Hanson, Solving Least Squares
Problems, 1974), whose residual r proves that there is none: Aᵀ r <= 0 and b·r > 0.

Rejected: all complementary bases of the linear complementarity problem (2^20 for five planar contacts, 2^40 for
four spatial ones, and none of the singular ones, of which a rank-deficient W has many).
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog, nnls

from .tolerances import DISTINCT, ENUMERATION_FEASIBLE, ENUMERATION_MISS, MOVES

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class _Mode:
    """What a contact does: edges of its pyramid that may act (dim, k), functionals of its velocity (rows, dim) that
    are to be zero, and such that are not to be below ``least``."""

    edges: Array
    zero: Array
    positive: Array
    least: float = MOVES


@dataclass(frozen=True, eq=False)
class SimultaneousSolutions:
    """Distinct solutions of a simultaneous problem.

    impulse, velocity : (n, dim*nc), in the units of the problem given
    complete : whether these are all; False where the limit of cases was reached or velocities form a continuum
    reason : one sentence on why not, empty where complete
    """

    impulse: Array
    velocity: Array
    complete: bool
    reason: str


def simultaneous_solutions(
    W: Array, u: Array, friction: Array, directions: Array, most_cases: int
) -> SimultaneousSolutions:
    """All p in the friction pyramids with v = u + W p, 0 <= p_n ⟂ v_n >= 0 and friction of most dissipation.

    W (dim*nc, dim*nc) and u (dim*nc,) in units in which W_nn and the largest |u| are about 1, friction (nc,),
    directions (edges, dim-1) of the pyramids, at equal angles. At most ``most_cases`` relaxations are looked at.
    """
    search = _Search(W, u, friction, directions)
    pending: list[tuple[int, ...]] = [()]
    velocities: list[Array] = []
    impulses: list[Array] = []
    looked, reason = 0, ""
    while pending:
        chosen = pending.pop()
        if looked == most_cases:
            reason = f"the search was ended after {most_cases} cases"
            break
        looked += 1
        system = search.system(chosen)
        weights = _feasible(system)
        if weights is None:
            continue
        if len(chosen) < len(friction):
            pending.extend((*chosen, mode) for mode in range(len(search.modes_at(len(chosen)))))
            continue
        points, spread = _extremes(search, system, weights)
        if spread:
            reason = "velocities of some solutions form a continuum, of which extreme ones are listed"
        for impulse in points:
            velocity = u + W @ impulse
            largest = max(float(np.abs(velocity).max()), float(np.abs(u).max()))
            if all(np.abs(velocity - known).max() > DISTINCT * largest for known in velocities):
                velocities.append(velocity)
                impulses.append(impulse)
    shape = (-1, u.size)
    return SimultaneousSolutions(
        np.array(impulses).reshape(shape), np.array(velocities).reshape(shape), not reason, reason
    )


@dataclass(frozen=True, eq=False)
class _System:
    """A y = b, y >= 0: y are weights of ``edges`` (dim*nc, k), then slacks of inequalities."""

    A: Array
    b: Array
    edges: Array


class _Search:
    """The linear systems of cases: modes of the first contacts, in the order of the most approaching."""

    def __init__(self, W: Array, u: Array, friction: Array, directions: Array):
        self.W, self.u = W, u
        self.dim = directions.shape[1] + 1
        self._order = np.argsort(u[:: self.dim], kind="stable")
        self._modes = [_modes_of(mu, directions) for mu in friction]
        self._relaxed = [
            _Mode(modes[1].edges, np.empty((0, self.dim)), np.eye(1, self.dim), 0.0) for modes in self._modes
        ]

    def modes_at(self, depth: int) -> list[_Mode]:
        """The modes of the contact that is decided at a depth of the search."""
        return self._modes[self._order[depth]]

    def system(self, chosen: tuple[int, ...]) -> _System:
        """The system of modes chosen for the first contacts, the others relaxed."""
        modes = list(self._relaxed)
        for depth, mode in enumerate(chosen):
            modes[self._order[depth]] = self.modes_at(depth)[mode]
        edges, zero, positive = (
            _stacked(self.dim, list(_parts(modes, name))) for name in ("edges", "zero", "positive")
        )
        asked = np.vstack([zero.T, positive.T])
        slack = np.vstack([np.zeros((zero.shape[1], positive.shape[1])), -np.eye(positive.shape[1])])
        least = np.zeros(len(asked))
        least[zero.shape[1] :] = np.repeat(
            [mode.least for mode in modes], [len(mode.positive) for mode in modes]
        )
        return _System(np.hstack([asked @ self.W @ edges, slack]), least - asked @ self.u, edges)


def _parts(modes: list[_Mode], name: str) -> Iterator[Array]:
    """Of each mode its edges, or its functionals as columns (dim, k)."""
    for mode in modes:
        part = getattr(mode, name)
        yield part if name == "edges" else part.T


def _stacked(dim: int, parts: list[Array]) -> Array:
    """Columns (dim*nc, k) of all contacts from those of each, (dim, k_c)."""
    stacked = np.zeros((dim * len(parts), sum(part.shape[1] for part in parts)))
    column = 0
    for c, part in enumerate(parts):
        stacked[dim * c : dim * (c + 1), column : column + part.shape[1]] = part
        column += part.shape[1]
    return stacked


def _modes_of(mu: float, directions: Array) -> list[_Mode]:
    """Open, pressed (or stuck), then slides against each edge, then against each side."""
    count, dim = len(directions), directions.shape[1] + 1
    normal, none = np.eye(1, dim), np.empty((0, dim))
    opened = _Mode(np.empty((dim, 0)), none, normal)
    if mu == 0.0:
        return [opened, _Mode(normal.T, normal, none)]
    edges = np.vstack([np.ones(count), mu * directions.T]) / max(mu, 1.0)
    along = np.hstack([np.zeros((count, 1)), directions])  # d·v of the tangential velocity
    modes = [opened, _Mode(edges, np.eye(dim), none)]
    for k in range(count):  # d_k·v is the least and negative; of a regular polygon neighbours tell
        neighbours = [j % count for j in (k - 1, k + 1)] if dim == 3 else []
        modes.append(_Mode(edges[:, [k]], normal, np.vstack([-along[k], *(along[neighbours] - along[k])])))
    for k in range(count if dim == 3 else 0):
        pair = [k, (k + 1) % count]
        level = along[pair[1]] - along[k]
        modes.append(_Mode(edges[:, pair], np.vstack([normal, level]), -along[[k]]))
    return modes


def _feasible(system: _System) -> Array | None:
    """Some y >= 0 with A y = b, or None where there is none."""
    if not system.b.size or not system.A.shape[1]:
        return (
            np.zeros(system.A.shape[1]) if not np.abs(system.b).max(initial=0.0) > ENUMERATION_MISS else None
        )
    weights, miss = nnls(system.A, system.b)
    return weights if miss <= ENUMERATION_MISS else None


def _extremes(search: _Search, system: _System, weights: Array) -> tuple[list[Array], bool]:
    """Impulses of a case that has the solution ``weights``: that one where velocity is unique, else those of the
    extremes of each component of velocity; whether it is not unique."""
    count = system.edges.shape[1]
    impulse = system.edges @ weights[:count]
    _, values, rows = np.linalg.svd(system.A)
    rank = int(np.count_nonzero(values > ENUMERATION_FEASIBLE * values.max(initial=0.0)))
    free = rows[rank:, :count]
    response = search.W @ system.edges
    if np.abs(response @ free.T).max(initial=0.0) <= DISTINCT:
        return [impulse], False
    points, lowest, highest = [impulse], search.u + search.W @ impulse, search.u + search.W @ impulse
    for component in range(search.u.size):
        for sign in (1.0, -1.0):
            cost = np.concatenate([sign * response[component], np.zeros(system.A.shape[1] - count)])
            found = linprog(cost, A_eq=system.A, b_eq=system.b, method="highs")
            if found.status == 0:
                points.append(system.edges @ np.maximum(found.x[:count], 0.0))
                velocity = search.u + search.W @ points[-1]
                lowest, highest = np.minimum(lowest, velocity), np.maximum(highest, velocity)
    spread = bool((highest - lowest).max() > DISTINCT)
    return (points if spread else [impulse]), spread
