"""Constants of contact from whole tosses: those with which runs end nearest to where bodies did.

How far one run ends from where its body did jumps with every constant, since a cube that tips otherwise ends
elsewhere: slopes of single tosses tell nothing. So the mean over tosses of log(1 + E²/s²), E the distance of the
ends, is looked at in points spread evenly over a box of constants, a paraboloid is laid through these (G. E. P.
Box, K. B. Wilson, J. Royal Stat. Soc. B 13, 1951), and its lowest place in the box is taken. Tosses drawn anew give
another paraboloid without another run: so intervals cost nothing. Boxes shrink about the best place as long as
intervals fit into them: where the law is right, ends tell constants far better than the first box does.
"""

from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from ...bodies import Body
from ...progress import ProgressBar
from ..ensembles.statistics import Estimate
from .contact_model import RANGES
from .identification import FEWEST, SLIDING, Identification, Stage, UndeterminedError, split
from .measured import Measured
from .robust_fit import CONFIDENCE, median_estimate
from .whole_tosses import of_identified, toss_errors

Array = NDArray[np.float64]

SPAN = 0.2
"""Half the width of the first box, of each constant's value. More: tosses land otherwise, and no paraboloid fits.
Less: intervals do not fit into it."""
DETERMINED = 0.8
"""Share of the box up to which an interval tells anything."""
LEAST_RISE = 0.02
"""Rise of the mean of log(1 + E²/s²) within the box below which a constant counts as without effect: a percent of
distances. The paraboloid's own misfit counts as well."""
POINTS_EACH = 2.0
"""Points of the box for each coefficient of the paraboloid, at least."""
ROUNDS = 3
"""Boxes at most: the next is half as wide about the best place, for the constants that this one tells."""
RESAMPLES = 200
_AT_BORDER = 1e-9
_STARTS = 4
"""Places from which the lowest of a paraboloid is looked for."""
_RIDGE = 0.1
"""Of a coefficient that is not constant, what it counts beside what was measured: without it those of few points
could be anything."""


def identify_on_rollouts(
    found: Identification,
    measured: Sequence[Measured],
    body: Body,
    free: Sequence[str] = ("friction", "restitution", "sliding_friction"),
    *,
    span: float = SPAN,
    seed: int = 0,
    executor: Executor | None = None,
) -> Identification:
    """The same body and law with constants `free`, all together, with which runs of whole tosses end nearest.

    Parameters
    ----------
    found : by `identify`, of these or other motions of the body; its constants are the middle of what is looked at
    measured, body : as for `identify`
    free : constants of `ContactModel` that the law honours, slow_friction among them, and sliding_friction
    span : half the width of what is looked at, as a share of each constant; less than 1
    seed : of the points that are run, and of the bootstrap over tosses whose 95 % are the intervals
    executor : of concurrent.futures, to run tosses in several processes; the result is the same

    Every toss is run 32 times a box of three constants, in one to three boxes: ten minutes and more for a hundred
    tosses. Tosses that some constants do not bring to their end are left out. The result has one more stage, whose
    residual is the distance [m] of ends with the new constants, one radian counted as `lever`.

    Raises `UndeterminedError` for constants that ends do not move, by name, and ValueError for names that are none,
    constants that are zero (give them a value by `ContactModel.with_values`), a span that is none, and fewer than 5
    tosses that can be run.
    """
    from scipy.stats import qmc  # a third of a second that other commands need not wait

    names = tuple(dict.fromkeys(free))
    middle = np.array([_value(found, name) for name in names])
    if not names or not (middle > 0.0).all():
        raise ValueError(
            f"free: expected constants that are above zero, got {dict(zip(names, middle.tolist(), strict=True))}"
        )
    if not 0.0 < span < 1.0:
        raise ValueError(f"span: expected a share between 0 and 1, got {span}")
    seen = [of_identified(found, motion) for motion in measured]
    motions = split(seen, "flights", executor)
    count = 1 + len(names) + len(names) * (len(names) + 1) // 2
    sobol = qmc.Sobol(len(names), seed=seed)
    places = 2.0 * sobol.random_base2(int(np.ceil(np.log2(POINTS_EACH * count)))) - 1.0
    limits = np.array([RANGES.get(name, RANGES["friction"])[1] for name in names])
    with ProgressBar(0.0, float((ROUNDS * len(places) + 1) * len(motions)), "roll-outs") as bar:
        ends = _Ends(found, names, motions, body, executor, bar)
        known, used = _looked_for(ends, places, middle, span, limits, seed)
        runs = ends.runs
        loose = [name for name in names if name not in known]
        if loose:
            raise UndeterminedError(
                f"free: ends of these tosses do not determine {', '.join(loose)} within {span:.0%} of the value "
                "before; leave it out of free, or give another span"
            )
        values = np.array([known[name].value for name in names])
        left = ends.distances(values)
    better = _with(found, names, values)
    if SLIDING in known:
        better = replace(better, sliding=known[SLIDING])
    left = left[np.isfinite(left)]
    words = f"ends of {used} tosses, {runs} runs of each, {found.model.law.name}"
    stage = Stage("roll-outs", words, known, median_estimate(left, np.arange(len(left)), seed), "m")
    return replace(better, stages=[*found.stages, stage], free=(*found.free, *names))


@dataclass(eq=False)
class _Ends:
    """Runs of all motions with other values of the constants `names`, as a bar shows them; `runs` of each so
    far."""

    found: Identification
    names: Sequence[str]
    motions: Sequence[Measured]
    body: Body
    executor: Executor | None
    bar: ProgressBar
    runs: int = 0

    def distances(self, values: Array) -> Array:
        """Distances (n,) [m] of the ends of all motions from where they were measured, NaN for those that were not
        run."""
        given = _with(self.found, self.names, values)
        already = float(self.runs * len(self.motions))
        errors = toss_errors(
            given, self.motions, self.body, None, None, self.executor,
            lambda done: self.bar.show(already + done),
        )  # fmt: skip
        self.runs += 1
        distance = np.full(len(self.motions), np.nan)
        settled = errors.settled
        distance[errors.number] = np.hypot(settled[:, 0], given.impacts.lever * settled[:, 1])
        return distance


def _looked_for(
    ends: _Ends, places: Array, middle: Array, span: float, limits: Array, seed: int
) -> tuple[dict[str, Estimate], int]:
    """The constants that ends of runs tell, looked for in boxes of `places` (n, p) from -1 to 1 about `middle` (p,)
    and at most at `limits` (p,), and how many motions were run at all places of the last."""
    known: dict[str, Estimate] = {}
    half = span * middle
    used = 0
    for _ in range(ROUNDS):
        distance = [ends.distances(np.minimum(middle + half * place, limits)) for place in places]
        low, best, high, told, used = _resampled(places, np.array(distance), seed)
        if not told.any():
            break
        inside = np.abs(best) < 1.0 - _AT_BORDER
        for k in np.flatnonzero(told & inside):
            value, least, most = (
                float(min(middle[k] + half[k] * at[k], limits[k])) for at in (best, low, high)
            )
            known[ends.names[int(k)]] = Estimate(value, least, most, CONFIDENCE)
        middle = np.where(told, middle + half * best, middle)
        half = np.where(told & inside, 0.5 * half, half)
    return known, used


def _resampled(
    places: Array, distance: Array, seed: int
) -> tuple[Array, Array, Array, NDArray[np.bool_], int]:
    """Lower end, best and upper end (p,) in the box from -1 to 1 by the distances (n, m) [m] of ends of m tosses at
    n places, which of the constants (p,) these tell, and how many tosses were run at all places."""
    run = np.isfinite(distance).all(axis=0)
    if run.sum() < FEWEST:
        raise ValueError(
            f"measured: expected at least {FEWEST} tosses that run to their last frame, got {run.sum()}"
        )
    distance = distance[:, run]
    softness = max(float(np.median(distance, axis=1).min()), 1e-9)
    loss = np.log1p((distance / softness) ** 2)
    best, rise, misfit = _lowest(places, loss.mean(axis=1))
    random = np.random.default_rng([seed, 1])
    drawn = random.integers(loss.shape[1], size=(RESAMPLES, loss.shape[1]))
    tail = 0.5 - 0.5 * CONFIDENCE
    resampled = [_lowest(places, loss[:, which].mean(axis=1))[0] for which in drawn]
    low, high = np.quantile(resampled, [tail, 1.0 - tail], axis=0)
    told = (high - low <= 2.0 * DETERMINED) & (rise > max(LEAST_RISE, misfit))
    return low, best, high, told, int(run.sum())


def _value(found: Identification, name: str) -> float:
    """The constant of what was found; ValueError for a name that is none."""
    model = found.model
    slow = ["slow_friction"] if model.slow_friction is not None else []
    known = [*model.constants(), *slow, SLIDING]
    if name not in known:
        raise ValueError(f"free: expected names among {', '.join(known)} for {model.law.name}, got {name!r}")
    if name == SLIDING:
        return model.friction if found.sliding is None else found.sliding.value
    return float(getattr(model, name))


def _with(found: Identification, names: Sequence[str], values: Array) -> Identification:
    given: dict[str, Any] = dict(zip(names, values.tolist(), strict=True))
    slides = given.pop(SLIDING, None)
    if slides is not None:
        found = replace(found, sliding=Estimate(slides, slides, slides, CONFIDENCE))
    return replace(found, model=found.model.with_values(given))


def _paraboloid(places: Array) -> Array:
    """Rows (n, c) whose coefficients are those of a polynomial of second degree."""
    first, second = np.triu_indices(places.shape[1])
    return np.column_stack([np.ones(len(places)), places, places[:, first] * places[:, second]])


def _lowest(places: Array, loss: Array) -> tuple[Array, Array, float]:
    """The place (p,) in the box from -1 to 1 where the paraboloid through losses (n,) is lowest, how far it rises
    from there to the sides of the box along each constant (p,), and the root mean square that it misses."""
    rows = _paraboloid(places)
    small = _RIDGE * np.eye(rows.shape[1])[1:]
    level = loss.mean()
    coefficients = np.linalg.lstsq(
        np.vstack([rows, small]), np.concatenate([loss - level, np.zeros(len(small))]), rcond=None
    )[0]
    count = places.shape[1]
    linear = coefficients[1 : 1 + count]
    curved = np.zeros((count, count))
    curved[np.triu_indices(count)] = coefficients[1 + count :]
    curved = curved + curved.T

    def height(x: Array) -> float:
        return float(linear @ x + 0.5 * x @ curved @ x)

    starts = places[np.argsort(loss, kind="stable")[:_STARTS]]
    tried = [
        minimize(
            height, start, jac=lambda x: linear + curved @ x, bounds=[(-1.0, 1.0)] * count, method="L-BFGS-B"
        )
        for start in starts
    ]
    best = np.asarray(min(tried, key=lambda one: float(one.fun)).x)
    sides = np.where(np.eye(count, dtype=bool)[:, None, :], np.array([-1.0, 1.0])[None, :, None], best)
    rise = np.array([max(map(height, both)) for both in sides]) - height(best)
    misfit = float(np.sqrt(np.mean((rows @ coefficients - (loss - level)) ** 2)))
    return best, rise, misfit
