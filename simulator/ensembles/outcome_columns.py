"""What one member leaves behind as numbers: by default, or by a function of the user's."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..record.trajectory import RunStatus, Trajectory

GOOD_RUNS = (RunStatus.REACHED_END, RunStatus.AT_REST, RunStatus.STOPPED)
FINISHED = "finished"  # the status of a member whose `run` returns no trajectory
GOOD = (*(status.value for status in GOOD_RUNS), FINISHED)
_MOST_DIMENSIONS = 4

Values = dict[str, np.ndarray]


def default_columns(trajectory: Trajectory) -> Values:
    """End time, pose of every body there, since when all rest, energy lost and number of impacts."""
    end = trajectory.sample(trajectory.end_time)
    before, after = trajectory.energy(np.array([trajectory.start_time, trajectory.end_time]))
    rest = np.nan if trajectory.rest_time is None else trajectory.rest_time
    return {
        "end_time": np.asarray(trajectory.end_time),
        "rest_time": np.asarray(rest),
        "position": end.position,
        "orientation": end.orientation,
        "energy_lost": np.asarray(before - after),
        "impacts": np.asarray(float(np.count_nonzero(trajectory.event_kinds == "impact"))),
    }


def columns_of(result: Any, measure: Callable[[Any], Any] | None) -> tuple[str, str, Values]:
    """Status, message and columns of what `run` returned; TypeError or ValueError for what is none of numbers."""
    status, message, values = FINISHED, "", {}
    if isinstance(result, Trajectory):
        status = result.status.value
        message = "" if status in GOOD else result.message
        values = default_columns(result)
    elif measure is None:
        values = _named("run", "value", result)
    if measure is not None:
        values |= _named("measure", "measure", measure(result))
    return status, message, values


def _named(where: str, name: str, found: Any) -> Values:
    """Columns by name of a dict, or of one number or array, or none."""
    if found is None:
        return {}
    if not isinstance(found, Mapping):
        return {name: _numbers(where, found)}
    for key in found:
        if not isinstance(key, str) or not key or "/" in key:
            raise TypeError(f"{where}: expected names of columns without '/', got {key!r}")
    return {key: _numbers(f"{where}[{key!r}]", value) for key, value in found.items()}


def _numbers(where: str, value: Any) -> np.ndarray:
    try:
        array = np.asarray(value)
    except ValueError:
        raise ValueError(f"{where}: expected numbers, got rows of unequal length") from None
    if array.dtype.kind not in "fiub":
        expected = "a Trajectory, a number, an array or a dict of them" if where == "run" else "numbers"
        raise TypeError(f"{where}: expected {expected}, got {type(value).__name__}")
    if array.ndim > _MOST_DIMENSIONS:
        raise ValueError(f"{where}: expected at most {_MOST_DIMENSIONS} dimensions, got {array.ndim}")
    return array.astype(np.float64)
