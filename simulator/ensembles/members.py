"""Which members an ensemble has, and what the function that runs one is given."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ...bodies import checks

Columns = dict[str, np.ndarray]

MOST_MEMBERS = 2**40


class Members(Protocol):
    """Members by index, each of which is known without the others."""

    def __len__(self) -> int: ...

    def given(self, index: int) -> Any:
        """What is sent to a worker for a member."""

    def made(self, given: Any, index: int, seed: int) -> Any:
        """What `run` is called with, made by the worker from what it was sent."""

    def parameters(self, seed: int) -> Columns:
        """What distinguishes members, where that is numbers: by name, a row for each."""

    def maker(self) -> "Members":
        """The same without what `given` tells: what every worker needs to know once."""


def member_generator(seed: int, index: int) -> np.random.Generator:
    """The generator of a member, that of ``SeedSequence(seed).spawn(n)[index]`` for every n."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(index,)))


def start_generator(seed: int, start: int) -> np.random.Generator:
    """The generator of a perturbed start: members that share it differ in what happens afterwards alone."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(start, 0)))


@dataclass(frozen=True)
class Numbered:
    """So many members that differ by their generators; `run` is given the index."""

    count: int

    def __len__(self) -> int:
        return self.count

    def given(self, index: int) -> Any:
        return None

    def made(self, given: Any, index: int, seed: int) -> int:
        return index

    def parameters(self, seed: int) -> Columns:
        return {}

    def maker(self) -> "Numbered":
        return self


@dataclass(frozen=True)
class Listed:
    """A sequence of anything that can be pickled; `run` is given one of them."""

    items: tuple[Any, ...]

    def __len__(self) -> int:
        return len(self.items)

    def given(self, index: int) -> Any:
        return self.items[index]

    def made(self, given: Any, index: int, seed: int) -> Any:
        return given

    def parameters(self, seed: int) -> Columns:
        """Lists of numbers, of equal arrays, or of dicts of them are columns; others are not."""
        kept = {"member": self.items}
        if self.items and all(isinstance(item, Mapping) for item in self.items):
            names = list(self.items[0])
            if any(set(item) != set(names) for item in self.items):
                return {}
            kept = {str(name): tuple(item[name] for item in self.items) for name in names}
        columns = {}
        for name, values in kept.items():
            try:
                column = np.array(values)
            except ValueError:  # rows of unequal length
                continue
            if column.dtype.kind in "fiub":
                columns[name] = column.astype(float)
        return columns

    def maker(self) -> "Listed":
        return Listed(())


@dataclass(frozen=True)
class Designed:
    """Columns of parameters, a row a member; `run` is given a dict of one row."""

    columns: Columns

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def given(self, index: int) -> Any:
        return {
            name: column[index].item() if column.ndim == 1 else column[index]
            for name, column in self.columns.items()
        }

    def made(self, given: Any, index: int, seed: int) -> Any:
        return given

    def parameters(self, seed: int) -> Columns:
        return {
            name: column.astype(float) for name, column in self.columns.items() if column.dtype.kind in "fiub"
        }

    def maker(self) -> "Listed":
        return Listed(())


def members_of(members: Any) -> Members:
    """Members as a user gives them; TypeError or ValueError that says what was expected."""
    if isinstance(members, int | np.integer) and not isinstance(members, bool):
        return Numbered(_some(checks.whole("members", members, MOST_MEMBERS)))
    if isinstance(members, Mapping):
        return Designed(_design(members))
    if isinstance(members, Sequence | np.ndarray) and not isinstance(members, str | bytes):
        _some(len(members))
        return Listed(tuple(members))
    if all(callable(getattr(members, name, None)) for name in ("given", "made", "parameters", "maker")):
        _some(len(members))
        return members
    raise TypeError(
        "members: expected a number, a list of parameters, a dict of arrays or carom.perturbed(scene, ...), "
        f"got {type(members).__name__}"
    )


def _some(count: int) -> int:
    if count < 1:
        raise ValueError("members: expected at least one, got none")
    return count


def _design(members: Mapping[str, Any]) -> Columns:
    """Arrays of equal length; ValueError that names the one that is not."""
    if not members:
        raise ValueError("members: expected at least one array, got an empty dict")
    columns: Columns = {}
    for name, values in members.items():
        if not isinstance(name, str):
            raise TypeError(f"members: expected names of parameters, got {name!r}")
        column = np.asarray(values)
        if column.ndim < 1 or column.dtype.kind not in "fiubU":
            raise TypeError(
                f"members[{name!r}]: expected an array of numbers, a row a member, got {values!r}"
            )
        columns[name] = column
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError(
            f"members: expected arrays of equal length, got {lengths}; carom.grid makes every combination"
        )
    _some(next(iter(lengths.values())))
    return columns


def grid(**axes: Any) -> Columns:
    """Every combination of values on axes, as the dict of equally long columns that `carom.ensemble` takes.

    The last axis changes fastest. Raises ValueError for an axis that is not a row of values.

    >>> import carom
    >>> members = carom.grid(friction=[0.1, 0.3], speed=[1.0, 2.0, 3.0])
    >>> members["speed"].tolist()
    [1.0, 2.0, 3.0, 1.0, 2.0, 3.0]
    """
    rows = {name: np.asarray(values) for name, values in axes.items()}
    for name, row in rows.items():
        if row.ndim != 1 or not len(row):
            raise ValueError(f"{name}: expected a row of values, got {axes[name]!r}")
    crossed = np.meshgrid(*rows.values(), indexing="ij")
    return {name: column.ravel() for name, column in zip(rows, crossed, strict=True)}


def design(points: Any, **ranges: tuple[float, float]) -> Columns:
    """Points (n, d) of a unit cube, as scipy.stats.qmc samples them, scaled to the ranges of d parameters.

    Raises ValueError for another number of parameters than the points have, or a range that is none.

    >>> import carom
    >>> from scipy.stats import qmc
    >>> members = carom.design(qmc.Sobol(2, seed=0).random(8), friction=(0.1, 0.3), speed=(1.0, 3.0))
    >>> sorted(members), len(members["speed"])
    (['friction', 'speed'], 8)
    """
    unit = checks.array("points", points, (None, len(ranges)))
    columns = {}
    for column, (name, limits) in zip(unit.T, ranges.items(), strict=True):
        low, high = checked_range(name, limits)
        columns[name] = low + (high - low) * column
    return columns


def checked_range(name: str, limits: Any) -> tuple[float, float]:
    """The least and the greatest value, or ValueError."""
    low, high = checks.array(name, limits, (2,))
    if not low <= high:
        raise ValueError(f"{name}: expected a range (low, high) with low <= high, got {limits!r}")
    return float(low), float(high)


def drawn(count: int, seed: int, ranges: Mapping[str, tuple[float, float]]) -> Columns:
    """Parameters evenly drawn from ranges, each member's by a generator of its own: more members have the same
    first ones."""
    rows = np.array([start_generator(seed, index).random(len(ranges)) for index in range(count)])
    return {
        name: low + (high - low) * column
        for column, (name, (low, high)) in zip(rows.T, ranges.items(), strict=True)
    }
