"""Recordings: one self-describing HDF5 file a run, readable after a kill up to the last flush.

All data sets are appended to in single-writer-multiple-reader mode, in which HDF5 orders its writes so that
the file is readable at any moment. The last row of `progress` says how much of every other data set is
whole; it is written after them. Frames and units are written beside each data set. Nothing in a file is
ever executed, and no wall clock is stored: equal runs are equal files in content.
"""

import json
import os
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from ...bodies import FileFormatError, Scene
from ..event import EventKind
from ..state import Model
from .log import LOG_TABLES, Log
from .recorded import recorded_log
from .stored_table import StoredFile, damaged
from .superblock import fault
from .trajectory import RunStatus, Trajectory

VERSION = 5
_KINDS = list(EventKind)
_EVENTS_PER_FLUSH, _PIECES_PER_FLUSH = 64, 4096
_CHUNK_BYTES, _SMALL_CHUNK_BYTES = 8192, 1024
"""Of one table of a file, and of one of many groups: more would make short recordings large, less would make long
ones slow to open."""
_ROWS_PER_WRITE = 65_536
"""Rows of a whole trajectory that are held together while it is saved."""

_MEANING: dict[str, dict[str, str]] = {
    "pieces": {
        "body": "index",
        "start": "s",
        "kind": "how it goes on: 0 stands still, 1 flies without turning otherwise, 2 by polynomials",
        "terms": "terms of each of the 13 polynomials in `piece_numbers`, 0 where the state alone tells",
        "state": "position m, quaternion w x y z body to world, velocity m/s, world; angular velocity rad/s body",
        "acceleration": "m/s^2 world, of free flight",
    },
    "piece_numbers": {
        "": "13 x terms coefficients of pieces, one after the other, in powers of the time since the start"
    },
    "events": {
        "time": "s",
        "kind": "index into the attribute `kinds`",
        "note": "more of it: 1 bodies meet, 2 no contact forces kept them apart, 3 infinitely many end",
        "status": "of the law, 0 resolved",
        "steps": "that the law took",
        "pieces": "pieces that had begun before",
        "contacts": "how many, in `event_contacts`",
        "stages": "rows of its resolution in `stage_log`",
        "width": "numbers in each",
        "text": "bytes of JSON in `texts`",
        "energy_change": "J",
        "until": "s, when impacts that accumulate end",
    },
    "event_contacts": {
        "first": "body",
        "second": "body; the normal points from it to the first",
        "feature": "what each touches with: 0 point, 1 edge, 2 face, 3 rim, 4 limit of a joint, 5 ellipsoid",
        "index": "number of that feature in the body's shape, else -1",
        "point": "m world",
        "normal": "world",
        "tangent": "world; the second tangent is normal x tangent",
        "velocity": "m/s before, in the frame normal, tangent, second tangent",
        "impulse": "N s on the first body, in that frame",
        "after": "m/s after, in that frame",
        "along": "direction of an edge, axis of a rim, else zero; world axes",
        "radius": "m, by which the surface is away from that feature; of a rim, its own",
        "gap": "m",
        "friction": "1",
        "restitution": "1",
    },
    "stage_log": {
        "": "as each law means them: what it recorded on its way, or its cumulative contact impulses N s"
    },
    "works": {
        "origin": "s",
        "start": "s",
        "end": "s",
        "work": "J by friction, damping, drag, drives and functions, in the powers of the time since the origin",
    },
    "jumps": {
        "time": "s",
        "energy": "J that bodies gained at once where bounces ended or drift was taken back",
    },
    "texts": {"": "UTF-8 JSON of events: note, or status, message, labels and info of a law's outcome"},
}
_STATUSES = list(RunStatus)
_PROGRESS = ("end time s", "rest time s or nan", "status", "bytes of the last message")
DAMAGE = (KeyError, IndexError, ValueError, TypeError, OSError, RuntimeError)
"""What reading a damaged file may raise."""


class Recorder:
    """Writes a trajectory to a file while it grows."""

    def __init__(self, trajectory: Trajectory, path: Path):
        if path.is_dir():
            raise IsADirectoryError(f"recording {path}: expected a file name, got a folder")
        if not path.parent.is_dir():
            raise FileNotFoundError(f"recording {path}: the folder {path.parent} does not exist")
        try:
            if path.is_file() and os.access(path, os.W_OK):
                path.resolve().unlink()  # who reads the old recording keeps it
            file = h5py.File(path, "w", libver="latest", locking=False)
        except OSError as error:
            raise OSError(f"recording {path}: cannot be written ({error.strerror or error})") from error
        self._prepare(trajectory, file, _CHUNK_BYTES, dict.fromkeys(LOG_TABLES, 0))
        write_scene(file, trajectory.scene)
        file.swmr_mode = True
        self.flush()

    @classmethod
    def within(cls, trajectory: Trajectory, group: h5py.Group, first: dict[str, int]) -> None:
        """Write a trajectory, but not its scene, from these rows of its tables on, into a group of an open file."""
        recorder = cls.__new__(cls)
        recorder._prepare(trajectory, group, _SMALL_CHUNK_BYTES, first)
        recorder.flush(final=True)

    def _prepare(
        self, trajectory: Trajectory, file: h5py.Group, chunk_bytes: int, first: dict[str, int]
    ) -> None:
        """Empty tables in a file or a group of one, for rows from the `first` of each on."""
        self._trajectory, self._file = trajectory, file
        self._written = dict(first)
        self._first = first
        self._describe()
        tables: dict[str, Any] = {name: _shorter(np.dtype(dtype)) for name, dtype in LOG_TABLES.items()}
        for name, dtype in (tables | {"message": np.dtype("u1")}).items():
            rows = max(1, chunk_bytes // dtype.itemsize)
            data = file.create_dataset(name, (0,), dtype=dtype, maxshape=(None,), chunks=(rows,))
            data.attrs["meaning"] = json.dumps(_MEANING.get(name, {"": "UTF-8, how the run ended in words"}))
        width = len(_PROGRESS) + len(LOG_TABLES) + 1
        data = file.create_dataset(
            "progress", (0, width), dtype="f8", maxshape=(None, width), chunks=(8, width)
        )
        data.attrs["meaning"] = json.dumps(
            [*_PROGRESS, *(f"whole rows of {name}" for name in (*LOG_TABLES, "message"))]
        )
        data.attrs["statuses"] = json.dumps([status.value for status in _STATUSES])
        file["events"].attrs["kinds"] = json.dumps([kind.value for kind in _KINDS])

    def _describe(self) -> None:
        from ... import __version__

        self._file.attrs["format"] = "carom recording"
        self._file.attrs["version"] = VERSION
        self._file.attrs["written_by"] = f"carom {__version__}"
        self._file.attrs["law"] = self._trajectory.law_name
        self._file.attrs["law_description"] = self._trajectory.law_description
        self._file.attrs["seed"] = self._trajectory.seed
        self._file.attrs["start_time"] = self._trajectory.start_time
        self._file.attrs["remarks"] = json.dumps(self._trajectory.remarks)

    def event_added(self) -> None:
        """Flush when enough has come in."""
        log = self._trajectory.log
        new_events = len(log.events) - self._written["events"]
        if new_events >= _EVENTS_PER_FLUSH or len(log.pieces) - self._written["pieces"] >= _PIECES_PER_FLUSH:
            self.flush()

    def flush(self, final: bool = False) -> None:
        """Bring everything so far to disk; `final` also records how the run ended."""
        trajectory = self._trajectory
        lengths = trajectory.log.lengths()
        for name, upto in lengths.items():
            table = getattr(trajectory.log, name)
            while self._written[name] < upto:
                last = min(upto, self._written[name] + _ROWS_PER_WRITE)
                self._append(name, table.rows(self._written[name], last))
                self._written[name] = last
        self._file.file.flush()
        status = trajectory.status if final else RunStatus.UNFINISHED
        rest = np.nan if trajectory.rest_time is None else trajectory.rest_time
        message = trajectory.message.encode() if final else b""
        self._append("message", np.frombuffer(message, dtype="u1"))
        row = [trajectory.end_time, rest, _STATUSES.index(status), len(message)]
        row += [lengths[name] - self._first[name] for name in LOG_TABLES] + [len(self._file["message"])]
        self._append("progress", np.array([row], dtype=float))
        self._file.file.flush()

    def close(self) -> None:
        """Finish the file."""
        self._file.close()

    def _append(self, name: str, values: Any) -> None:
        data = self._file[name]
        if len(values):
            data.resize(len(data) + len(values), axis=0)
            data[-len(values) :] = values.astype(data.dtype, copy=False)


def _shorter(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The same columns with whole numbers of half the length, which suffice in a file."""
    if dtype.names is None:
        return dtype
    columns: list[Any] = []
    for name in dtype.names:
        column = dtype[name]
        columns.append((name, np.dtype("i4") if column.base.kind == "i" else column.base, column.shape))
    return np.dtype(columns)


def write_scene(file: h5py.Group, scene: Scene) -> None:
    """Describe a scene in the group "scene"."""
    meta, arrays = scene.describe()
    group = file.create_group("scene")
    group.create_dataset("description", data=np.frombuffer(json.dumps(meta).encode(), dtype="u1"))
    for name, array in sorted(arrays.items()):
        group.create_dataset(f"arrays/{name}", data=array)


def save(trajectory: Trajectory, path: "str | os.PathLike") -> Path:
    """Write a whole trajectory; the file appears under its name only when it is complete."""
    target = Path(path)
    partial = target.with_name(target.name + ".partial")
    if target.is_dir():
        raise IsADirectoryError(f"recording {target}: expected a file name, got a folder")
    recorder = Recorder(trajectory, partial)
    try:
        recorder.flush(final=True)
        recorder.close()
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)
    return target


def load(path: "str | os.PathLike") -> Trajectory:
    """Read a recording, also one whose run was killed or is still going on.

    Times and kinds of events are read at once, all else when it is looked at. The file may be deleted or
    recorded anew meanwhile; FileFormatError comes then from what was written over by other means.

    Raises FileFormatError with one sentence for a missing, foreign or damaged file.
    """
    source = Path(path)
    with opened(source, "carom recording") as file:
        try:
            return read_trajectory(file, StoredFile(source), read_scene(file["scene"]))
        except DAMAGE as error:
            raise damaged(source, error) from error


def opened(path: Path, kind: str, expected: int = VERSION) -> h5py.File:
    """A file of carom of a kind and format version, open for reading; FileFormatError where it is none."""
    if not path.is_file():
        raise FileFormatError(path, "no such file" if not path.exists() else "it is not a file")
    if reason := fault(path):
        raise FileFormatError(path, reason)
    try:
        try:
            file = h5py.File(path, "r", locking=False)
        except OSError:  # a writer was killed or is still at work
            file = h5py.File(path, "r", libver="latest", swmr=True, locking=False)
    except OSError:
        raise FileFormatError(path, f"it is not a {kind} (no HDF5 file)") from None
    try:
        found, version = file.attrs.get("format"), file.attrs.get("version")
    except DAMAGE as error:
        file.close()
        raise damaged(path, error) from error
    if found == kind and version == expected:
        return file
    file.close()
    if found != kind:
        what = f"a {found}" if isinstance(found, str) and found.startswith("carom ") else "an HDF5 file"
        raise FileFormatError(path, f"it is {what}, but no {kind}")
    raise FileFormatError(path, f"expected format version {expected}, got {version!r}")


def read_trajectory(
    file: h5py.Group, stored: StoredFile, scene: Scene, model: Model | None = None, before: Log | None = None
) -> Trajectory:
    """What a recorder wrote into a file or group, after what was `before`; one of the errors DAMAGE where it is not
    that."""
    trajectory = Trajectory(scene, str(file.attrs["law"]), int(file.attrs["seed"]), model)
    trajectory.source = stored.path
    trajectory.law_description = str(file.attrs.get("law_description", ""))
    trajectory.start_time = float(file.attrs["start_time"])
    trajectory.remarks = json.loads(file.attrs["remarks"])
    last = file["progress"][-1]
    trajectory.end_time = float(last[0])
    trajectory.rest_time = None if np.isnan(last[1]) else float(last[1])
    trajectory.status = RunStatus[json.loads(file["progress"].attrs["statuses"])[int(last[2])].upper()]
    said, *rows, words = (int(value) for value in last[3:])
    message = file["message"][words - said : words].tobytes().decode()
    trajectory.message = message or trajectory.status.advice
    if json.loads(file["events"].attrs["kinds"]) != [kind.value for kind in _KINDS]:
        raise ValueError("events: expected the kinds of events that carom knows")
    counts = dict(zip(LOG_TABLES, rows, strict=True))
    trajectory.log = recorded_log(stored, file, counts, len(scene.bodies), before)
    return trajectory


def read_scene(group: h5py.Group) -> Scene:
    """The scene that `write_scene` described; one of the errors DAMAGE where it is not that."""
    arrays: dict[str, np.ndarray] = {}

    def collect(name: str, item: Any) -> None:
        if isinstance(item, h5py.Dataset):
            arrays[name] = item[()]

    if "arrays" in group:
        group["arrays"].visititems(collect)
    return Scene.from_description(json.loads(group["description"][()].tobytes()), arrays)
