"""A run of time steps in a file: what it was like step by step, and where its spheres were."""

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...bodies.files import FileFormatError, file_path, replaced_when_whole
from ...interrupts import interrupts_wait
from .search_kernels import KEPT
from .sphere_table import SphereTable
from .step_log import STEP
from .step_state import StepState
from .touches_kernels import MOTION

if TYPE_CHECKING:
    import h5py

Array = NDArray[np.float64]

FORMAT, VERSION = "carom time steps", 1
_TABLE = ("places", "motions", "surfaces", "ids", "rows")
_KINDS = {"motions": MOTION, "kept": KEPT, "log": STEP}


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
        state, log, frames, meta = read(file_path("path", path))
        last = SphereStates.of_table(state.table, state.steps_made * float(meta["setup"]["step"]))
        names = tuple((int(first), str(name), bool(many)) for first, name, many in meta["names"])
        return cls(meta["setup"], log, tuple(frames), last, names)


@interrupts_wait()
def write(
    path: Path, state: StepState, log: NDArray, frames: list[SphereStates], setup: dict[str, str], names: list
) -> None:
    """Write a run; the file appears whole or not at all, also where the process is killed."""
    import h5py

    meta = {
        "format": FORMAT, "version": VERSION, "setup": setup, "names": names,
        "rng": state.rng.bit_generator.state,
        "counts": {name: getattr(state, name) for name in ("steps_made", "entered", "left", "next_number")},
    }  # fmt: skip
    with replaced_when_whole(path) as partial, h5py.File(partial, "w", libver="latest") as file:
        file.attrs["carom"] = json.dumps(meta)
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
            for name in ("number", "radius", "position", "velocity", "angular_velocity"):
                _put(group, name, getattr(frame, name))


def _put(group: "h5py.Group", name: str, array: NDArray) -> None:
    group.create_dataset(name, data=array, track_times=False)


def read(path: Path) -> tuple[StepState, NDArray, list[SphereStates], dict[str, Any]]:
    """State, log, frames and what else is told; FileFormatError for a file that is no such run."""
    import h5py

    try:
        with h5py.File(path, "r", locking=False) as file:
            meta = json.loads(str(file.attrs["carom"]))
            if meta["format"] != FORMAT or meta["version"] != VERSION:
                raise ValueError(f"expected {FORMAT} of version {VERSION}")
            arrays = {name: _get(file, name) for name in (*_TABLE, "kept_starts", "kept", "wall_impulses")}
            log = _get(file, "log")
            groups = [file["frames"][key] for key in sorted(file["frames"])] if "frames" in file else []
            frames = [
                SphereStates(
                    float(group.attrs["time"]),
                    *(
                        _get(group, n)
                        for n in ("number", "radius", "position", "velocity", "angular_velocity")
                    ),
                )
                for group in groups
            ]
        rng = np.random.default_rng()
        rng.bit_generator.state = meta["rng"]
        table = SphereTable(*(arrays[name] for name in _TABLE))
        state = StepState(
            table, arrays["kept_starts"], arrays["kept"], arrays["wall_impulses"], rng,
            **{name: int(value) for name, value in meta["counts"].items()},
        )  # fmt: skip
        _check(state)
    except FileNotFoundError:
        raise FileFormatError(path, "no such file") from None
    except (OSError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise FileFormatError(path, f"is no run of time steps that can be read ({error})") from None
    return state, log, frames, meta


def _get(group: "h5py.Group", name: str) -> NDArray:
    array = group[name][()]
    if name in _KINDS and array.dtype != _KINDS[name]:
        raise ValueError(f"{name}: expected columns {_KINDS[name].names}, got {array.dtype}")
    return array


def _check(state: StepState) -> None:
    """ValueError where arrays do not belong together."""
    table = state.table
    count = len(table)
    for name, shape in (("places", (count, 4)), *((name, (count,)) for name in _TABLE[1:])):
        if getattr(table, name).shape != shape:
            raise ValueError(f"{name}: expected shape {shape}, got {getattr(table, name).shape}")
    if not (np.isfinite(table.places).all() and np.isfinite(table.motions.view(np.float64)).all()):
        raise ValueError("places: expected finite numbers")
    rows = len(state.kept_starts) - 1
    starts = state.kept_starts
    if rows < 0 or starts[0] != 0 or (np.diff(starts) < 0).any() or starts[-1] != len(state.kept):
        raise ValueError("kept_starts: expected rising numbers up to that of the touches")
    if len(table.rows) and (table.rows.min() < -1 or table.rows.max() >= rows):
        raise ValueError("rows: expected rows of the last step")
