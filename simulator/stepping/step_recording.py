"""A run of time steps in a file: what it was like step by step, and where its spheres were."""

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from ...bodies.files import file_path, replaced_when_whole
from ...interrupts import interrupts_wait
from ..record.recording import DAMAGE, opened
from ..record.schema import NUMBER, OR_NONE, Range, RowCheck, dataset_in, group_in, number_of, write_text
from ..record.stored_table import damaged
from .search_kernels import KEPT
from .sphere_table import SphereTable
from .step_log import STEP
from .step_state import StepState
from .touches_kernels import MOTION

Array = NDArray[np.float64]

FORMAT, VERSION = "carom run of time steps", 2
_TABLE = ("places", "motions", "surfaces", "ids", "rows")
_WHOLES = (("surfaces", "i4"), ("ids", "i8"), ("rows", "i8"))
_COUNTS = ("steps_made", "entered", "left", "next_number")
_FRAME = ("number", "radius", "position", "velocity", "angular_velocity")
_MOST = 2**53
"""Of steps and spheres that a file may count: whole numbers that JSON keeps."""
_LIGHT = Range(0.0, NUMBER.most)
_WHOLE = Range(-_MOST, _MOST)
_RANGES = {
    "motions": {name: _LIGHT if name.startswith("inverse") else NUMBER for name in MOTION.names or ()},
    "kept": {name: _WHOLE if name == "other" else NUMBER for name in KEPT.names or ()},
    "log": {name: Range(0, _MOST) if STEP[name].kind == "i" else OR_NONE for name in STEP.names or ()},
}
"""Of the columns of tables, whose types are `_ROWS`."""
_ROWS = {"motions": MOTION, "kept": KEPT, "log": STEP}


@dataclass(frozen=True, eq=False)
class SphereStates:
    """All spheres at a time [s], in the order of their numbers.

    number : (n,), which a sphere keeps; radius (n,) [m]; position (n, 3) [m]; velocity (n, 3) [m/s];
    angular_velocity (n, 3) [rad/s], in the world
    """

    time: float
    number: NDArray[np.int64]
    radius: Array
    position: Array
    velocity: Array
    angular_velocity: Array

    @classmethod
    def of_table(cls, table: SphereTable, time: float) -> "SphereStates":
        """Those of a table, copied."""
        order = np.argsort(table.ids)
        velocity = table.velocity[order]
        return cls(
            time,
            table.ids[order],
            table.places[order, 3],
            table.places[order, :3],
            velocity[:, :3].copy(),
            velocity[:, 3:].copy(),
        )


@dataclass(frozen=True, eq=False)
class StepRecording:
    """What `TimeSteps.save` wrote.

    setup : texts that say what the run was begun with
    log : (steps,) what every step was like, with named columns; see `STEP`
    frames : the spheres at the times that the run was told to note
    last : the spheres at the end
    names : of the spheres, (first number, name, whether of many)
    """

    setup: dict[str, str]
    log: NDArray
    frames: tuple[SphereStates, ...]
    last: SphereStates
    names: tuple[tuple[int, str, bool], ...]

    @classmethod
    def load(cls, path: "str | os.PathLike") -> "StepRecording":
        """Read a file; FileFormatError, with the path, for anything else."""
        found = read(file_path("path", path))
        last = SphereStates.of_table(found.state.table, found.state.steps_made * found.step)
        return cls(found.setup, found.log, tuple(found.frames), last, tuple(found.names))


@dataclass(frozen=True)
class StoredSteps:
    """All that is in a file.

    step : [s]
    """

    state: StepState
    log: NDArray
    frames: list[SphereStates]
    setup: dict[str, str]
    names: list[tuple[int, str, bool]]
    step: float


@interrupts_wait()
def write(
    path: Path, state: StepState, log: NDArray, frames: list[SphereStates], setup: dict[str, str], names: list
) -> None:
    """Write a run; the file appears whole or not at all, also where the process is killed."""
    meta = {
        "setup": setup, "names": names, "rng": state.rng.bit_generator.state,
        "counts": {name: getattr(state, name) for name in _COUNTS},
    }  # fmt: skip
    with replaced_when_whole(path) as partial, h5py.File(partial, "w", libver="latest") as file:
        write_text(file, "format", FORMAT)
        file.attrs["version"] = VERSION
        _put(file, "description", np.frombuffer(json.dumps(meta).encode(), dtype="u1"))
        for name in _TABLE:
            _put(file, name, getattr(state.table, name))
        pressing = int(state.kept_starts[-1])
        for name, array in (
            ("kept_starts", state.kept_starts),
            ("kept", state.kept[:pressing]),
            ("wall_impulses", state.wall_impulses),
            ("log", log),
        ):
            _put(file, name, array)
        for k, frame in enumerate(frames):
            group = file.create_group(f"frames/{k:06d}")
            group.attrs["time"] = frame.time
            for name in _FRAME:
                _put(group, name, getattr(frame, name))


def _put(group: h5py.Group, name: str, array: NDArray) -> None:
    group.create_dataset(name, data=array, track_times=False)


def read(path: Path) -> StoredSteps:
    """What a file holds; FileFormatError for one that is no such run, or is damaged."""
    with opened(path, FORMAT, expected=(VERSION,)) as file:
        try:
            return _read(file, _Reader(path.stat().st_size))
        except DAMAGE as error:
            raise damaged(path, error, "run of time steps") from error


def refuse_unfit(path: Path, state: StepState, walls: int, surfaces: int) -> None:
    """FileFormatError for a state that kernels cannot go on with among so many walls and kinds of surfaces."""
    known = state.table.surfaces
    try:
        if state.wall_impulses.shape != (walls, 3):
            raise ValueError(f"wall_impulses: expected shape {(walls, 3)}, got {state.wall_impulses.shape}")
        if len(known) and known.max() >= surfaces:
            raise ValueError(f"surfaces: expected numbers below {surfaces}, got {known.max()}")
    except ValueError as error:
        raise damaged(path, error, "run of time steps") from error


class _Reader:
    """Reads data sets, which together have no more bytes than the file: none is read again and again."""

    def __init__(self, size: int):
        self._left = size

    def array(self, group: h5py.Group, name: str, dtype: Any, *shape: int | None) -> NDArray:
        """All of a data set of that type and shape, None for any length, with finite numbers."""
        kind = np.dtype(dtype)
        data = dataset_in(group, name, (kind,), len(shape), self._left)
        if any(length not in (None, found) for length, found in zip(shape, data.shape, strict=True)):
            expected = ", ".join("n" if length is None else str(length) for length in shape)
            raise ValueError(f"{name}: expected shape ({expected}), got {data.shape}")
        self._left -= data.size * kind.itemsize
        rows = data[()]
        if name in _ROWS:
            RowCheck(name, kind, _RANGES[name]).refuse(rows)
        elif kind.kind == "f":
            RowCheck(name, kind, {"": NUMBER}).refuse(rows.reshape(-1))
        return rows


def _read(file: h5py.File, reader: _Reader) -> StoredSteps:
    """All of a file; one of the errors DAMAGE where it is no such run."""
    meta = json.loads(reader.array(file, "description", "u1", None).tobytes())
    setup, names = _setup_in(meta["setup"]), _names_in(meta["names"])
    step = json.loads(setup["step"])
    if not (isinstance(step, int | float) and 0.0 < step <= NUMBER.most):
        raise ValueError(f"step: expected a number greater than 0, got {str(step)[:60]}")
    places = reader.array(file, "places", "f8", None, 4)
    count = len(places)
    motions = reader.array(file, "motions", MOTION, count)
    whole = [reader.array(file, name, dtype, count) for name, dtype in _WHOLES]
    rng = np.random.default_rng()
    rng.bit_generator.state = meta["rng"]
    state = StepState(
        SphereTable(places, motions, *whole),
        reader.array(file, "kept_starts", "i8", None),
        reader.array(file, "kept", KEPT, None),
        reader.array(file, "wall_impulses", "f8", None, 3),
        rng,
        **_counts_in(meta["counts"]),
    )
    _check(state)
    log = reader.array(file, "log", STEP, None)
    groups = group_in(file, "frames") if "frames" in file else {}
    frames = [_frame(group_in(groups, key), reader) for key in sorted(groups)]
    return StoredSteps(state, log, frames, setup, names, float(step))


def _frame(group: h5py.Group, reader: _Reader) -> SphereStates:
    number = reader.array(group, "number", "i8", None)
    radius = reader.array(group, "radius", "f8", len(number))
    vectors = (reader.array(group, name, "f8", len(number), 3) for name in _FRAME[2:])
    return SphereStates(number_of(group, "time"), number, radius, *vectors)


def _setup_in(found: Any) -> dict[str, str]:
    if not (isinstance(found, dict) and all(isinstance(text, str) for text in found.values())):
        raise ValueError(f"setup: expected texts by name, got {str(found)[:60]}")
    return found


def _names_in(found: Any) -> list[tuple[int, str, bool]]:
    """Names with the first number that each stands for, which never fall and begin with 0."""
    names = [(first, name, many) for first, name, many in found]
    firsts = [first for first, _, _ in names]
    good = all(type(a) is int and isinstance(b, str) and isinstance(c, bool) for a, b, c in names)
    if not good or firsts[:1] not in ([], [0]) or firsts != sorted(firsts):
        raise ValueError(
            f"names: expected names of spheres in the order of their numbers, got {str(found)[:60]}"
        )
    return names


def _counts_in(found: Any) -> dict[str, int]:
    if set(found) != set(_COUNTS) or any(type(n) is not int or not 0 <= n <= _MOST for n in found.values()):
        raise ValueError(f"counts: expected whole numbers {', '.join(_COUNTS)}, got {str(found)[:60]}")
    return found


def _check(state: StepState) -> None:
    """ValueError where arrays do not belong together."""
    table = state.table
    if len(table) and not table.places[:, 3].min() > 0.0:
        raise ValueError(f"places: expected radii greater than 0, got {table.places[:, 3].min():g}")
    if len(table) and table.surfaces.min() < 0:
        raise ValueError(f"surfaces: expected numbers from 0 on, got {table.surfaces.min()}")
    if len(table) and not 0 <= table.ids.min() <= table.ids.max() < state.next_number:
        raise ValueError(f"ids: expected numbers from 0 to below {state.next_number}")
    rows = len(state.kept_starts) - 1
    starts = state.kept_starts
    if rows < 0 or starts[0] != 0 or (np.diff(starts) < 0).any() or starts[-1] != len(state.kept):
        raise ValueError("kept_starts: expected rising numbers up to that of the touches")
    if len(table.rows) and (table.rows.min() < -1 or table.rows.max() >= rows):
        raise ValueError("rows: expected rows of the last step")
