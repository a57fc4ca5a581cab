"""Least distances with rare outliers: the constants that make residuals small, and how far data of the kind
move them.

Minimised is the sum over impacts of s² (√(1 + E²/s²) - 1), E the length of an impact's residual: squares
below the softness s, lengths above it (pseudo-Huber). Intervals are of a bootstrap over groups that belong
together, such as the impacts of one toss: each resample moves the constants by one Newton step of its own
(Shao & Tu, The Jackknife and Bootstrap, 1995, chapter 7), which costs no evaluation of the model.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..ensembles.statistics import Estimate

Array = NDArray[np.float64]

RESAMPLES = 999
CONFIDENCE = 0.95
_ROUNDS = 60
_SETTLED = 1e-5
"""Step, of each constant's scale, at which a search ends."""
_DIFFERENCE = 1e-4
"""Step of difference quotients, of each constant's scale."""
_FLAT = 1e-9
"""Curvature, of the largest, with both measured in the constants' scales, below which nothing is
determined."""


@dataclass(frozen=True, eq=False)
class RobustFit:
    """Constants (p,), their resamples (r, p) by the bootstrap, the residual (n, k), and the curvature (p, p)
    of the sum in the constants' scales (p,)."""

    value: Array
    resamples: Array
    residual: Array
    curvature: Array
    scale: Array

    def interval(self, confidence: float = CONFIDENCE) -> Array:
        """Lower and upper ends (p, 2): quantiles of the bootstrap, as wide as Student's for so few groups."""
        tail = 0.5 - 0.5 * confidence
        return np.quantile(self.resamples, [tail, 1.0 - tail], axis=0).T

    def flat(self) -> NDArray[np.bool_]:
        """Which constants (p,) take part in a direction in which the sum does not change."""
        values, vectors = np.linalg.eigh(self.curvature)
        loose = values < _FLAT * max(values[-1], 1e-300)
        return (np.abs(vectors[:, loose]) > 0.1).any(axis=1)


@dataclass(frozen=True, eq=False)
class Earlier:
    """A fit on which a later one depends: `residual(later, earlier)` gives (n, k) for constants of both."""

    fit: RobustFit
    residual: Callable[[Array, Array], Array]


def robust_fit(
    residual: Callable[[Array], Array],
    start: Array,
    scale: Array,
    bounds: Array,
    softness: float,
    groups: NDArray[np.int64],
    seed: int = 0,
    earlier: Earlier | None = None,
) -> RobustFit:
    """Constants from `start` (p,) within `bounds` (p, 2); `residual` gives (n, k), `groups` (n,) says what
    belongs together. The search is that of Levenberg and Marquardt, with reweighting. Resamples follow those of an
    `earlier` fit to the same groups, on which the residual depends."""
    value = np.clip(start, bounds[:, 0], bounds[:, 1])
    rows = residual(value)
    damping, cost = 1e-3, _cost(rows, softness)
    for _ in range(_ROUNDS):
        slopes = _slopes(residual, value, scale, bounds)
        weight = 1.0 / np.sqrt(1.0 + np.sum(rows**2, axis=1) / softness**2)
        gradient = np.einsum("n,nk,nkp->p", weight, rows, slopes)
        matrix = np.einsum("n,nkp,nkq->pq", weight, slopes, slopes)
        while True:
            damped = matrix + damping * np.diag(np.diag(matrix) + 1e-12 * np.trace(matrix) + 1e-300)
            step = -np.linalg.solve(damped, gradient) * scale
            tried = np.clip(value + step, bounds[:, 0], bounds[:, 1])
            new = residual(tried)
            better = _cost(new, softness) < cost
            if better or damping > 1e8:
                break
            damping *= 8.0
        moved = float(np.abs((tried - value) / scale).max())
        if not better:
            break
        value, rows, cost, damping = tried, new, _cost(new, softness), max(damping / 5.0, 1e-9)
        if moved < _SETTLED:
            break
    slopes = _slopes(residual, value, scale, bounds)
    weight = 1.0 / np.sqrt(1.0 + np.sum(rows**2, axis=1) / softness**2)
    pulled = np.einsum("nk,nkp->np", rows, slopes)

    def curvature(other: Array) -> Array:
        """Second derivatives (n, p, q) of each impact's part of the sum, by the constants and by others."""
        along = np.einsum("nk,nkq->nq", rows, other)
        flattened = (weight**3 / softness**2)[:, None, None] * pulled[:, :, None] * along[:, None, :]
        return np.einsum("n,nkp,nkq->npq", weight, slopes, other) - flattened

    names, index = np.unique(groups, return_inverse=True)
    gradient = _summed(weight[:, None] * pulled, index)
    own = _summed(curvature(slopes), index)
    pull, shifts = np.zeros((len(names), len(value), 1)), np.zeros((RESAMPLES, 1))
    if earlier is not None:
        fit = earlier.fit
        wide = np.column_stack([fit.value - fit.scale, fit.value + fit.scale])
        others = _slopes(lambda x: earlier.residual(value, x), fit.value, fit.scale, wide)
        pull, shifts = _summed(curvature(others), index), (fit.resamples - fit.value) / fit.scale
    even = np.full(len(names), 1.0 / len(names))
    draws = np.random.default_rng(seed).multinomial(len(names), even, size=RESAMPLES)
    # As wide as deviations from a mean of so few groups are: the variance of a resample is (g - 1)/g of the
    # true one. What the constants have used up shows in the resampled curvatures (measured: dividing by what
    # is left of the groups as well made seven intervals of nine 1.1 to 1.45 times too wide).
    wider = np.sqrt(len(names) / max(len(names) - 1, 1))
    matrices = np.tensordot(draws, own, axes=1)
    sides = wider * (draws @ gradient) + np.einsum("rpq,rq->rp", np.tensordot(draws, pull, axes=1), shifts)
    steps = -np.einsum("rpq,rq->rp", np.linalg.pinv(matrices, rcond=1e-12, hermitian=True), sides)
    resamples = np.clip(value + steps * scale, bounds[:, 0], bounds[:, 1])
    return RobustFit(value, resamples, rows, own.sum(axis=0), scale)


def _summed(rows: Array, index: NDArray[np.intp]) -> Array:
    """Sums of rows (n, ...) over groups, by the number (n,) of the group of each."""
    total = np.zeros((int(index.max(initial=-1)) + 1, *rows.shape[1:]))
    np.add.at(total, index, rows)
    return total


def median_estimate(values: Array, groups: NDArray[np.int64], seed: int = 0) -> Estimate:
    """The median of values (n,), with the interval of a bootstrap over groups (n,)."""
    names, index = np.unique(groups, return_inverse=True)
    members = [np.flatnonzero(index == k) for k in range(len(names))]
    rng = np.random.default_rng(seed)
    medians = [
        np.median(values[np.concatenate([members[k] for k in rng.integers(len(names), size=len(names))])])
        for _ in range(499)
    ]
    low, high = np.quantile(medians, [0.5 - 0.5 * CONFIDENCE, 0.5 + 0.5 * CONFIDENCE])
    return Estimate(float(np.median(values)), float(low), float(high), CONFIDENCE)


def mean_estimate(values: Array, groups: NDArray[np.int64], seed: int = 0) -> Estimate:
    """The mean of values (n,) with the interval of a bootstrap over groups (n,)."""
    names, index = np.unique(groups, return_inverse=True)
    sums = np.bincount(index, weights=values)
    counts = np.bincount(index)
    even = np.full(len(names), 1.0 / len(names))
    draws = np.random.default_rng(seed).multinomial(len(names), even, size=999)
    low, high = np.quantile(
        (draws @ sums) / (draws @ counts), [0.5 - 0.5 * CONFIDENCE, 0.5 + 0.5 * CONFIDENCE]
    )
    return Estimate(float(np.mean(values)), float(low), float(high), CONFIDENCE)


def _cost(rows: Array, softness: float) -> float:
    return float(softness**2 * np.sum(np.sqrt(1.0 + np.sum(rows**2, axis=1) / softness**2) - 1.0))


def _slopes(residual: Callable[[Array], Array], value: Array, scale: Array, bounds: Array) -> Array:
    """Derivatives (n, k, p) in the constants' scales, by differences on both sides, or inside the bounds."""
    columns = []
    for k, size in enumerate(scale):
        up, down = value.copy(), value.copy()
        up[k] = min(value[k] + _DIFFERENCE * size, bounds[k, 1])
        down[k] = max(value[k] - _DIFFERENCE * size, bounds[k, 0])
        columns.append((residual(up) - residual(down)) * (size / (up[k] - down[k])))
    return np.stack(columns, axis=-1)
