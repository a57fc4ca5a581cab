"""What many members say together: estimates with intervals, distributions, and where spread comes from."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from ...bodies import checks
from .members import Columns, checked_range

_LEAST = 2  # values, of which spread has a meaning
_RESAMPLES = 999
_CONFIDENCE = 0.95


@dataclass(frozen=True)
class Estimate:
    """A value of a population as a sample tells it, with the interval that holds it with the given confidence."""

    value: float
    low: float
    high: float
    confidence: float


@dataclass(frozen=True, eq=False)
class Histogram:
    """count of values between edges (bins + 1,), and density: count over number of values and width."""

    edges: np.ndarray
    count: np.ndarray
    density: np.ndarray


@dataclass(frozen=True, eq=False)
class FirstPassage:
    """Share of members that have passed by each time (k,) [s], with pointwise intervals; the others never did."""

    time: np.ndarray
    share: np.ndarray
    low: np.ndarray
    high: np.ndarray


@dataclass(frozen=True, eq=False)
class Convergence:
    """Of the first so many members: mean with its interval, and spread."""

    members: np.ndarray
    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray
    spread: np.ndarray


@dataclass(frozen=True, eq=False)
class EndDensity:
    """density (nx, ny) [1/m²] of where a body ends, between edges [m]; its sum over cells is 1."""

    x: np.ndarray
    y: np.ndarray
    density: np.ndarray


@dataclass(frozen=True)
class VarianceShares:
    """Variance by the start and by undecided impacts after equal starts, and the share of the former."""

    start: float
    outcomes: float
    share_of_start: Estimate


def _in_unit(values: np.ndarray) -> tuple[np.ndarray, float]:
    """The values in a unit, a power of two, in which the largest is near one, and the unit: squares of any values
    then are numbers, and others differ in nothing."""
    exponent = math.frexp(float(np.abs(values).max(initial=0.0)))[1] - 1
    return np.ldexp(values, -exponent), math.ldexp(1.0, exponent)


class Statistics:
    """Of a row of values, one a member.

    values : those that are finite, in the order of members
    missing : how many others there are: of members that ended well but never came to have this value
    """

    def __init__(self, values: Any):
        numbers = _numbers("values", values)
        if numbers.ndim != 1:
            raise ValueError(
                f"values: expected one number a member, got shape {numbers.shape}; name a component"
            )
        self.values = numbers[np.isfinite(numbers)]
        self.missing = len(numbers) - len(self.values)

    def mean(self, confidence: float = _CONFIDENCE) -> Estimate:
        """The mean, with Student's interval."""
        (values, unit), level = _in_unit(self._enough()), _level(confidence)
        middle = float(values.mean())
        reach = float(stats.t.ppf(0.5 + 0.5 * level, len(values) - 1) * stats.sem(values))
        return Estimate(middle * unit, (middle - reach) * unit, (middle + reach) * unit, level)

    def spread(self, confidence: float = _CONFIDENCE) -> Estimate:
        """The standard deviation; its interval, by the fourth moment, is that of large samples of any kind."""
        (values, unit), level = _in_unit(self._enough()), _level(confidence)
        n, variance = len(values), float(values.var(ddof=1))
        if variance == 0.0:
            return Estimate(0.0, 0.0, 0.0, level)
        fourth = float(np.mean((values - values.mean()) ** 4))
        relative = max(0.0, fourth / variance**2 - (n - 3) / (n - 1)) / n
        factor = float(np.exp(stats.norm.ppf(0.5 + 0.5 * level) * 0.5 * np.sqrt(relative)))
        spread = variance**0.5 * unit
        return Estimate(spread, spread / factor, spread * factor, level)

    def quantile(self, q: float, confidence: float = _CONFIDENCE) -> Estimate:
        """The value below which a share `q` lies; the interval is between values of the sample, for any
        distribution, and ends at the least or greatest where the sample is too small for the confidence."""
        (values, unit), level = _in_unit(np.sort(self._enough())), _level(confidence)
        share = checks.number("q", q, minimum=0.0)
        if share > 1.0:
            raise ValueError(f"q: expected a share between 0 and 1, got {q}")
        low, high = stats.binom.ppf([0.5 - 0.5 * level, 0.5 + 0.5 * level], len(values), share)
        low, high = max(int(low) - 1, 0), min(int(high), len(values) - 1)
        found = np.quantile(values, share), values[low], values[high]
        value, least, greatest = (float(each) * unit for each in found)
        return Estimate(value, least, greatest, level)

    def histogram(self, bins: Any = "auto") -> Histogram:
        """Counts of values; `bins` as numpy takes them."""
        count, edges = np.histogram(self._enough(), bins=bins)
        return Histogram(edges, count, count / (max(1, count.sum()) * np.diff(edges)))

    def first_passage(self, confidence: float = _CONFIDENCE) -> FirstPassage:
        """The values as times of passage; members that miss one have not passed. Intervals: Clopper and Pearson."""
        level = _level(confidence)
        time, passed = np.unique(self.values, return_counts=True)
        k, n = np.cumsum(passed), len(self.values) + self.missing
        low = stats.beta.ppf(0.5 - 0.5 * level, k, n - k + 1)
        high = np.where(k < n, stats.beta.ppf(0.5 + 0.5 * level, k + 1, np.maximum(n - k, 1)), 1.0)
        return FirstPassage(time, k / n, low, high)

    def convergence(self, points: int = 40, confidence: float = _CONFIDENCE) -> Convergence:
        """How mean and spread settle as members come in, in their order."""
        values, level = self._enough(), _level(confidence)
        points = max(2, checks.whole("points", points, 10**6))
        count = np.unique(np.geomspace(_LEAST, len(values), points).round().astype(int))
        shifted = values - values.mean()  # else squares of large values would cancel
        mean = np.cumsum(shifted)[count - 1] / count
        square = np.cumsum(shifted**2)[count - 1] - count * mean**2
        spread = np.sqrt(np.maximum(square, 0.0) / (count - 1))
        reach = stats.t.ppf(0.5 + 0.5 * level, count - 1) * spread / np.sqrt(count)
        mean = mean + values.mean()
        return Convergence(count, mean, mean - reach, mean + reach, spread)

    def _enough(self) -> np.ndarray:
        if len(self.values) < _LEAST:
            raise ValueError(f"values: expected at least {_LEAST} finite ones, got {len(self.values)}")
        return self.values


def _level(confidence: float) -> float:
    level = checks.number("confidence", confidence, above=0.0)
    if level >= 1.0:
        raise ValueError(f"confidence: expected a share below 1, got {confidence}")
    return level


def variance_shares(values: np.ndarray, start: np.ndarray, confidence: float = _CONFIDENCE) -> VarianceShares:
    """How much of the variance of `values` (n,) comes from their `start` (n,), by one-way analysis of variance.

    The interval of the share is the bootstrap's over starts, with a fixed seed. Raises ValueError for fewer than
    two starts, or none with several values.
    """
    level = _level(confidence)
    finite = np.isfinite(values)
    starts, group = np.unique(start[finite], return_inverse=True)
    count = np.bincount(group)
    if len(starts) < _LEAST or count.max() < _LEAST:
        raise ValueError(
            "outcomes: expected at least two starts, some with at least two outcomes: "
            "carom.perturbed(scene, outcomes=...)"
        )
    middle = values[finite].mean()
    value = values[finite] - middle
    mean = np.bincount(group, value) / count
    within = np.bincount(group, (value - mean[group]) ** 2)
    rng = np.random.default_rng(0)
    drawn = rng.integers(len(starts), size=(_RESAMPLES, len(starts)))
    parts = _components(count, mean, within)
    shares = [_share(*_components(count[one], mean[one], within[one])) for one in drawn]
    ends = np.nanquantile(shares, [0.5 - 0.5 * level, 0.5 + 0.5 * level])
    return VarianceShares(*parts, Estimate(_share(*parts), float(ends[0]), float(ends[1]), level))


def _components(count: np.ndarray, mean: np.ndarray, within: np.ndarray) -> tuple[float, float]:
    """Variances between and within groups, from the size, mean and sum of squares of each."""
    groups, total = len(count), count.sum()
    inner = float(within.sum() / (total - groups)) if total > groups else 0.0
    grand = (count * mean).sum() / total
    between = float((count * (mean - grand) ** 2).sum() / (groups - 1))
    size = float((total - (count**2).sum() / total) / (groups - 1))
    return (max(0.0, (between - inner) / size) if size > 0.0 else 0.0), inner


def _share(start: float, outcomes: float) -> float:
    return start / (start + outcomes) if start + outcomes > 0.0 else np.nan


def _numbers(field: str, value: Any) -> np.ndarray:
    """Real numbers of any shape, which may be NaN."""
    try:
        raw = np.asarray(value)
    except ValueError:
        raise ValueError(f"{field}: expected numbers, got rows of unequal length") from None
    if raw.dtype.kind not in "fiub":
        raise TypeError(f"{field}: expected numbers, got {checks.shown(value)}")
    return raw.astype(float)


def end_density(position: np.ndarray, axes: tuple[int, int] = (0, 1), bins: Any = 40) -> EndDensity:
    """Where a body ends, from its places (n, 3) [m], counted in cells along two axes."""
    position = _numbers("position", position)
    if position.ndim != 2 or position.shape[1] != 3:
        raise ValueError(f"position: expected places (n, 3) of one body, got shape {position.shape}")
    places = position[np.isfinite(position).all(axis=1)][:, list(axes)]
    if not len(places):
        raise ValueError("position: expected at least one member that has one, got none")
    with np.errstate(all="ignore"):  # cells without an area have no density
        density, x, y = np.histogram2d(places[:, 0], places[:, 1], bins=bins, density=True)
    return EndDensity(x, y, density)


def sobol_design(n: int, seed: int = 0, **ranges: tuple[float, float]) -> Columns:
    """Members for Sobol's indices of d parameters, evenly distributed in their ranges: n (d + 2) of them.

    n : a power of two; the first n rows are one sample, the next another, and n for each parameter are the first
        with that parameter of the other, as Saltelli (2010) has it

    `Ensemble.sensitivity` of what comes out gives the indices.

    >>> import carom
    >>> members = carom.sobol_design(16, friction=(0.1, 0.3), speed=(1.0, 3.0))
    >>> len(members["speed"])
    64
    """
    count = checks.whole("n", n, 2**30)
    if count < 2 or count & (count - 1):
        raise ValueError(f"n: expected a power of two of at least 2, got {n}")
    if not ranges:
        raise ValueError("ranges: expected at least one parameter with its range, got none")
    width = len(ranges)
    both = stats.qmc.Sobol(2 * width, seed=checks.whole("seed", seed, 2**63 - 1)).random(count)
    first, second = both[:, :width], both[:, width:]
    mixed = []
    for k in range(width):
        one = first.copy()
        one[:, k] = second[:, k]
        mixed.append(one)
    unit = np.concatenate([first, second, *mixed])
    columns = {}
    for column, (name, limits) in zip(unit.T, ranges.items(), strict=True):
        low, high = checked_range(name, limits)
        columns[name] = low + (high - low) * column
    return columns


@dataclass(frozen=True)
class Sensitivity:
    """Sobol's indices by parameter: first_order is the share of the variance that its value alone decides,
    total_order that in which it has a part."""

    first_order: dict[str, Estimate]
    total_order: dict[str, Estimate]


def sobol_indices(values: np.ndarray, names: list[str], confidence: float = _CONFIDENCE) -> Sensitivity:
    """Sobol's indices from values (n (d + 2),) of the members of `sobol_design`, with bootstrap intervals by
    scipy.stats.sobol_indices."""
    level = _level(confidence)
    width = len(names)
    if len(values) % (width + 2):
        raise ValueError(
            f"values: expected a number of members divisible by {width + 2}, as carom.sobol_design makes them, "
            f"got {len(values)}"
        )
    lost = np.flatnonzero(~np.isfinite(values))
    if len(lost):
        raise ValueError(f"values: expected one of every member, got none of member {lost[0]}")
    n = len(values) // (width + 2)
    parts = (values - values.mean()).reshape(width + 2, n)
    given = {"f_A": parts[:1], "f_B": parts[1:2], "f_AB": parts[2:].reshape(width, 1, n)}
    found = stats.sobol_indices(func=given, n=n, rng=np.random.default_rng(0))
    drawn = found.bootstrap(confidence_level=level, n_resamples=_RESAMPLES)
    orders = []
    for order in ("first_order", "total_order"):
        middle, interval = np.ravel(getattr(found, order)), getattr(drawn, order).confidence_interval
        low, high = np.ravel(interval.low), np.ravel(interval.high)
        orders.append(
            {
                name: Estimate(float(middle[k]), float(low[k]), float(high[k]), level)
                for k, name in enumerate(names)
            }
        )
    return Sensitivity(*orders)
