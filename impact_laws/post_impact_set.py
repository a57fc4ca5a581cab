"""The set of outcomes of one impact, estimated from many samples that are reduced as they are drawn."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..progress import ProgressBar
from .impact_problem import ImpactProblem, _real_array
from .law import checked_count, checked_number, quietly
from .outcome import OutcomeSet
from .set_valued_routh import SetValuedRouth
from .tolerances import MODE_SPEED, SET_GROWTH, SET_RANK

Array = NDArray[np.float64]

SEPARATE, SLIDE, STICK = "separate", "slide", "stick"
_MODES = (SEPARATE, SLIDE, STICK)

_FIRST = 1 << 12  # outcomes before the first look at how the set grows; later ones are after twice as many
_AT_ONCE = 1 << 18  # or at least after so many
_TESTED = 1 << 14  # fresh outcomes at most, whose distance from the others measures the holes
_ROUNDING = float(np.finfo(np.float64).eps)
_DIMENSIONS = 4  # of the hull; more facets than points beyond


@dataclass(frozen=True, eq=False)
class OutcomeHull:
    """Convex hull of outcomes in the smallest flat space that holds them.

    points : (k, components), its corners [m/s]
    dimension : of that space
    measure : length, area, volume, ... [(m/s)**dimension]; 1 for a single point, as a count
    """

    points: Array
    dimension: int
    measure: float
    _centre: Array
    _basis: Array
    _equations: Array

    @quietly
    def outside(self, points: ArrayLike) -> Array:
        """Distance [m/s] of points (..., components) from the hull; zero within.

        Beyond a corner or an edge it is the distance from the farthest facet's plane, which is less.
        """
        away = np.atleast_2d(np.asarray(points, dtype=float)) - self._centre
        within = away @ self._basis.T
        across = np.linalg.norm(away - within @ self._basis, axis=-1)
        if self.dimension == 0:
            return across
        beyond = (within @ self._equations[:, :-1].T + self._equations[:, -1]).max(axis=-1)
        return np.hypot(across, np.maximum(beyond, 0.0))


def hull_of(points: ArrayLike, scale: float | None = None) -> OutcomeHull:
    """Convex hull of points (n, components) of up to 4 dimensions; ValueError beyond, naming what to do.

    Where they extend less than 1e-7 of ``scale``, by default the largest component, they count as flat. Raises
    TypeError or ValueError that names the argument.
    """
    cloud = _real_array("points", points)
    if cloud.ndim != 2 or not cloud.size:
        raise ValueError(f"points must have shape (n, components) with n at least 1, got shape {cloud.shape}")
    largest = float(np.abs(cloud).max()) if scale is None else checked_number("scale", scale)
    centre = 0.5 * cloud.min(axis=0) + 0.5 * cloud.max(axis=0)
    # a power of two, so that squares and volumes of extents are numbers whatever the extents
    unit = math.ldexp(1.0, math.frexp(float(np.abs(cloud - centre).max()) or 1.0)[1] - 1)
    within = (cloud - centre) / unit
    mean = within.mean(axis=0)  # in the flat space of the points, as the middle of their extents need not be
    centre, within = centre + unit * mean, within - mean
    _, sizes, axes = np.linalg.svd(within, full_matrices=False)
    flat = max(SET_RANK * (largest / unit) * math.sqrt(len(cloud)), len(cloud) * _ROUNDING * sizes[0])
    rank = int(np.count_nonzero(sizes > flat))
    if rank > _DIMENSIONS:
        raise ValueError(
            f"a hull is drawn in up to {_DIMENSIONS} dimensions, these outcomes fill {rank}: choose fewer "
            "components, such as the normal velocities"
        )
    basis = axes[:rank]
    inner = within @ basis.T
    if rank == 0:
        return OutcomeHull(cloud[:1], 0, 1.0, centre, basis, np.empty((0, 1)))
    if rank == 1:
        ends = [int(np.argmin(inner[:, 0])), int(np.argmax(inner[:, 0]))]
        low, high = unit * inner[ends, 0]
        equations = np.array([[-1.0, low], [1.0, -high]])
        return OutcomeHull(cloud[ends], 1, float(high - low), centre, basis, equations)
    from scipy.spatial import ConvexHull, QhullError

    extent = np.ptp(inner, axis=0)
    try:
        hull = ConvexHull(inner / extent, qhull_options="Qt Qs")
    except QhullError:  # so thin that rounding decides: move the points by a little
        hull = ConvexHull(inner / extent, qhull_options="QJ")
    corners = np.sort(hull.vertices)
    equations = hull.equations / np.append(extent, 1.0)
    equations /= np.linalg.norm(equations[:, :-1], axis=1)[:, None]
    equations[:, -1] *= unit
    with np.errstate(over="ignore"):
        measure = float(hull.volume * np.prod(unit * extent))
    return OutcomeHull(cloud[corners], rank, measure, centre, basis, equations)


@dataclass(frozen=True)
class Growth:
    """How the estimate stood after ``count`` outcomes: measure of the hull, largest hole found [m/s]."""

    count: int
    measure: float
    largest_hole: float


@dataclass(frozen=True, eq=False)
class PostImpactSet:
    """What is known of the set of outcomes after ``count`` samples.

    problem, law : what was sampled
    outcomes : OutcomeSet, the first of the samples, as many as were to be kept
    lower, upper : (dim*nc,) bounds of the contact velocities met [m/s]
    extremes : OutcomeSet of 2*dim*nc outcomes, those of the lower bounds, then those of the upper ones
    mean, covariance : (dim*nc,) and (dim*nc, dim*nc) of the contact velocities
    mode_counts : how often every combination of "separate", "slide" and "stick" was met, one word a contact
    hull : OutcomeHull of all samples in contact velocity, or None where they fill more than four dimensions
    growth : how the estimate grew
    largest_hole : [m/s] how far the farthest of the last fresh outcomes was from all earlier kept ones; where the
        law has several solutions or jumps this is an estimate, not a bound
    tested : how many fresh outcomes that is
    solves, branched_share : mean problems solved a sample, and share of these that had several solutions
    unresolved : samples that ended without a result; they are in nothing above
    stopped : why no more were drawn, in words
    """

    problem: ImpactProblem
    law: SetValuedRouth
    count: int
    outcomes: OutcomeSet
    lower: Array
    upper: Array
    extremes: OutcomeSet
    mean: Array
    covariance: Array
    mode_counts: dict[tuple[str, ...], int]
    hull: OutcomeHull | None
    growth: tuple[Growth, ...]
    largest_hole: float
    tested: int
    solves: float
    branched_share: float
    unresolved: int
    stopped: str

    @property
    def branching_mattered(self) -> bool | None:
        """Whether some step had several solutions, so that the set depends on which of them are drawn.

        None where steps were solved without knowing (more than three contacts, or in space).
        """
        return self.branched_share > 0.0 if self.law.draws_among_all(self.problem) else None

    def missed_share(self, confidence: float = 0.95) -> float:
        """Probability, at that confidence, of outcomes farther than `largest_hole` from the kept ones, at most.

        None of `tested` independent outcomes was; not valid for Sobol' sampling, whose outcomes are not
        independent.
        """
        _check_share("confidence", confidence)
        return -float(np.expm1(math.log1p(-confidence) / self.tested)) if self.tested else 1.0

    def quantiles(self, shares: ArrayLike) -> Array:
        """Quantiles (..., dim*nc) of each contact velocity over the kept outcomes, for shares in [0, 1]."""
        return np.quantile(self.outcomes.velocity, np.asarray(shares, dtype=float), axis=0)

    def hull_of(self, components: Sequence[int]) -> OutcomeHull:
        """Hull of the kept outcomes in some components of contact velocity, such as (0, 2) for two normals."""
        return hull_of(self.outcomes.velocity[:, list(components)], float(np.abs(self.problem.u).max()))


def post_impact_set(
    problem: ImpactProblem,
    law: SetValuedRouth | None = None,
    n: int | None = None,
    *,
    epsilon: float | None = None,
    confidence: float = 0.95,
    share: float = 1e-3,
    seed: int = 0,
    sampling: str = "uniform",
    keep: int = 1 << 17,
    most: int = 1 << 20,
    progress: bool = False,
) -> PostImpactSet:
    """Sample the outcomes of an impact until enough is known of their set; memory does not grow with n.

    Parameters
    ----------
    n : how many samples; then nothing else stops it
    epsilon : [m/s] without n, sampling ends when, with `confidence`, at most `share` of the outcomes lie farther
        than this from the kept ones: enough fresh outcomes in a row were all nearer
    confidence, share : between 0 and 1
    seed, sampling : as `SetValuedRouth.sample_pieces` takes them
    keep : outcomes kept one by one (at least 1)
    most : samples after which it ends in any case, without n
    progress : whether a bar appears on a terminal

    Without n and epsilon, sampling ends when twice as many outcomes enlarged the hull (its measure, else the box of
    bounds) by less than one percent, two times in a row.

    An approximation of Algorithm 2 of Halm & Posa: there, impacts stopped at a random time are ended by one small
    step. Here all samples run to their own end, which reaches those outcomes too, up to the size of that step.

    How well the set is known: all that is reported was seen, so bounds and hull lie inside the true ones. With the
    law's rates="persistent" they hardly depend on its step; with "independent" they shrink with it, and
    `largest_hole` tells only how dense the samples are where they fall. Corners of a set can be rarer than one
    sample in 10,000: compare with `outcome_bounds`. The number of samples that certainty would take is
    `dense_sampling_count`, which needs a Lipschitz constant that is not known.
    """
    law = SetValuedRouth() if law is None else law
    if not isinstance(law, SetValuedRouth):
        raise TypeError(f"law must be a SetValuedRouth, got {type(law).__name__}")
    if n is not None:
        checked_count("n", n, 1)
    checked_count("keep", keep, 1)
    checked_count("most", most, 1)
    _check_share("confidence", confidence)
    _check_share("share", share)
    if epsilon is not None and not 0.0 < epsilon < np.inf:
        raise ValueError(f"epsilon must be above 0 and finite, got {epsilon}")
    needed = math.ceil(math.log1p(-confidence) / math.log1p(-share))
    total = most if n is None else n
    reduction = _Reduction(problem, keep)
    stopped = f"{total} outcomes drawn"
    with ProgressBar(0, total if progress else 0, "sampling outcomes") as bar:
        for piece in _doubling(law, problem, total, seed, sampling):
            reduction.add(piece)
            if progress:
                bar.show(reduction.count)
            if n is not None:
                continue
            if epsilon is not None:
                if reduction.tested >= needed and reduction.growth[-1].largest_hole <= epsilon:
                    stopped = f"no hole above {epsilon:g} m/s among {reduction.tested} fresh outcomes"
                    break
            elif reduction.has_stopped_growing():
                stopped = "twice as many outcomes did not enlarge the set, two times in a row"
                break
    return reduction.result(law, stopped)


def _doubling(
    law: SetValuedRouth, problem: ImpactProblem, total: int, seed: int, sampling: str
) -> Iterator[OutcomeSet]:
    """Outcomes of `sample_pieces`, cut where their number has doubled."""
    look, done = _FIRST, 0
    held: list[OutcomeSet] = []
    for piece in law.sample_pieces(problem, total, seed, sampling, piece=_FIRST):
        held.append(piece)
        done += len(piece)
        if done >= look or done == total:
            yield OutcomeSet.joined(held)
            held = []
            look = min(2 * done, done + _AT_ONCE)


class _Reduction:
    """Everything of `PostImpactSet`, kept up to date as outcomes come."""

    def __init__(self, problem: ImpactProblem, keep: int):
        self.problem, self.keep = problem, keep
        self.count = self.drawn = self.tested = self.unresolved = 0
        self.growth: list[Growth] = []
        self._kept: list[OutcomeSet] = []
        self._extremes: OutcomeSet | None = None
        self._corners: OutcomeHull | None = None
        self._mean = np.zeros(problem.u.size)
        self._scatter = np.zeros((problem.u.size, problem.u.size))
        self._codes: dict[int, int] = {}
        self._solves = self._branched = 0

    def add(self, piece: OutcomeSet) -> None:
        self.drawn += len(piece)
        self.unresolved += int(np.count_nonzero(~piece.resolved))
        if not piece.resolved.all():
            piece = piece[piece.resolved]
        if not len(piece):
            return
        velocity = piece.velocity
        hole = self._hole(velocity)
        self._update_moments(velocity)
        both = piece if self._extremes is None else OutcomeSet.joined([self._extremes, piece])
        self._extremes = both[np.concatenate([both.velocity.argmin(axis=0), both.velocity.argmax(axis=0)])]
        for code, number in zip(*np.unique(self._mode_codes(velocity), return_counts=True), strict=True):
            self._codes[int(code)] = self._codes.get(int(code), 0) + int(number)
        self._solves += int(piece.solves.sum())
        if piece.branched_steps is not None:
            self._branched += int(piece.branched_steps.sum())
        kept = sum(map(len, self._kept))
        if kept < self.keep:
            self._kept.append(piece[: self.keep - kept])
        self.growth.append(Growth(self.count, self._measure(velocity), hole))

    def has_stopped_growing(self) -> bool:
        if len(self.growth) < 4:
            return False
        sizes = [entry.measure for entry in self.growth[-3:]]
        return all(after <= (1.0 + SET_GROWTH) * before for before, after in pairwise(sizes))

    def result(self, law: SetValuedRouth, stopped: str) -> PostImpactSet:
        if self._extremes is None:
            raise ValueError(
                f"none of {self.drawn} samples ended with a result: raise max_steps, or ask `net_force_bound` "
                "whether the contacts leave a separating motion"
            )
        size = self.problem.u.size
        return PostImpactSet(
            problem=self.problem,
            law=law,
            count=self.count,
            outcomes=OutcomeSet.joined(self._kept),
            lower=np.diag(self._extremes.velocity[:size]).copy(),
            upper=np.diag(self._extremes.velocity[size:]).copy(),
            extremes=self._extremes,
            mean=self._mean.copy(),
            covariance=self._scatter / max(self.count - 1, 1),
            mode_counts=self._mode_counts(),
            hull=self._corners,
            growth=tuple(self.growth),
            largest_hole=self.growth[-1].largest_hole,
            tested=self.tested,
            solves=self._solves / self.count,
            branched_share=self._branched / self._solves if self._solves else 0.0,
            unresolved=self.unresolved,
            stopped=stopped,
        )

    def _hole(self, velocity: Array) -> float:
        """Largest distance of fresh outcomes from the nearest kept one."""
        if not self._kept:
            return np.inf
        from scipy.spatial import KDTree

        known = np.concatenate([piece.velocity for piece in self._kept])
        fresh = velocity[:_TESTED]
        self.tested = len(fresh)
        cells = np.round(
            known / (SET_RANK * float(np.abs(self.problem.u).max()))
        )  # many outcomes are the same
        keys = np.ascontiguousarray(cells.astype(np.int64)).view([("", np.int64)] * known.shape[1]).ravel()
        known = known[np.unique(keys, return_index=True)[1]]
        return float(KDTree(known).query(fresh)[0].max())

    def _update_moments(self, velocity: Array) -> None:
        """Mean and scatter of two parts (Chan, Golub & LeVeque)."""
        number = len(velocity)
        mean = velocity.mean(axis=0)
        away = velocity - mean
        shift = mean - self._mean
        whole = self.count + number
        self._scatter += away.T @ away + np.outer(shift, shift) * (self.count * number / whole)
        self._mean += shift * (number / whole)
        self.count = whole

    def _mode_codes(self, velocity: Array) -> NDArray[np.int64]:
        """One number an outcome: digit c in base 3 is the mode of contact c."""
        dim = self.problem.dim
        contacts = velocity.reshape(len(velocity), -1, dim)
        slow = MODE_SPEED * float(np.abs(self.problem.u).max())
        modes = np.where(np.linalg.norm(contacts[..., 1:], axis=-1) > slow, 1, 2)
        modes[contacts[..., 0] > slow] = 0
        return modes @ 3 ** np.arange(modes.shape[1], dtype=np.int64)

    def _mode_counts(self) -> dict[tuple[str, ...], int]:
        """Most frequent first; ties in the order of the words."""
        counts = {
            tuple(_MODES[code // 3**c % 3] for c in range(self.problem.contact_count)): number
            for code, number in self._codes.items()
        }
        return dict(sorted(counts.items(), key=lambda entry: (-entry[1], entry[0])))

    def _measure(self, velocity: Array) -> float:
        """Measure of the hull with the new outcomes, or of the box of bounds where there is no hull."""
        known = velocity if self._corners is None else np.concatenate([self._corners.points, velocity])
        try:
            self._corners = hull_of(known, float(np.abs(self.problem.u).max()))
        except ValueError:
            self._corners = None
            assert self._extremes is not None
            size = velocity.shape[1]
            spread = self._extremes.velocity[size:] - self._extremes.velocity[:size]
            return float(np.prod(np.diag(spread)[np.diag(spread) > 0.0]))
        return self._corners.measure


def _check_share(name: str, value: Any) -> None:
    if not 0.0 < value < 1.0:
        raise ValueError(f"{name} must lie between 0 and 1, got {value}")
