"""Recordings: one self-describing HDF5 file a run, readable after a kill up to the last flush.

All data sets are appended to in single-writer-multiple-reader mode, in which HDF5 orders its writes so that
the file is readable at any moment. The last row of `progress` says how much of every other data set is
whole; it is written after them. Frames and units are written beside each data set. Nothing in a file is
ever executed, and no wall clock is stored: equal runs are equal files in content.
"""

import json
import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from ...bodies import FileFormatError, Scene
from ..contact.contact_kernels import NODES, POWERS
from ..event import Event, EventKind
from ..state import Model
from .ledger import CHANNELS
from .recorded import RecordedEvents, RecordedPieces, RecordedWorks
from .stored_table import StoredFile, damaged
from .superblock import fault
from .trajectory import RunStatus, Trajectory

VERSION = 4
_KINDS = list(EventKind)
_EVENTS_PER_FLUSH = 64
_CHUNK_BYTES, _SMALL_CHUNK_BYTES = 8192, 1024
"""Of one table of a file, and of one of many groups: more would make short recordings large, less would make long
ones slow to open."""
_EVENTS_PER_WRITE = 4096
"""Events of a whole trajectory that are held together while it is saved."""

_LAYOUT: dict[str, tuple[Any, tuple[int, ...], str]] = {
    "piece/body": ("i4", (), "index of the body"),
    "piece/start": ("f8", (), "s"),
    "piece/state": (
        "f8",
        (13,),
        "position m world, quaternion w x y z body to world, velocity m/s world, angular velocity rad/s body",
    ),
    "piece/acceleration": ("f8", (3,), "m/s^2 world, of free flight"),
    "piece/terms": ("i4", (), "terms of the polynomial in `polynomial`, 0: free flight"),
    "polynomial": ("f8", (), "13 x terms Taylor coefficients of each piece in contact, in order"),
    "event/time": ("f8", (), "s"),
    "event/kind": ("i1", (), "index into the attribute `kinds`"),
    "event/contacts": ("i4", (), "number of contacts"),
    "event/solved": ("i1", (), "1 where a law was asked: W, velocity, impulses and text follow"),
    "event/stages": ("i4", (), "rows of the impulse path"),
    "event/text": ("i4", (), "bytes of JSON in `text`"),
    "contact/bodies": ("i4", (2,), "indices; the normal points from the second to the first"),
    "contact/point": ("f8", (3,), "m world"),
    "contact/frame": ("f8", (3, 3), "normal, tangent, tangent2; world"),
    "contact/gap": ("f8", (), "m"),
    "contact/feature": (
        "i1",
        (2,),
        "what each body touches with: 0 point, 1 edge, 2 face, 3 rim, 4 limit of a joint, 5 ellipsoid",
    ),
    "contact/feature_index": ("i4", (2,), "number of that feature in the body's shape, else -1"),
    "contact/along": ("f8", (2, 3), "direction of an edge, axis of a rim, else zero; world axes"),
    "contact/radius": ("f8", (2,), "m, by which the surface is away from that feature; of a rim, its own"),
    "problem/W": ("f8", (), "1/kg, Delassus matrices, row by row"),
    "problem/velocity": ("f8", (), "m/s, contact velocities before"),
    "problem/friction": ("f8", (), "1"),
    "problem/restitution": ("f8", (), "1"),
    "outcome/path": ("f8", (), "N s, cumulative contact impulses, stage by stage"),
    "text": ("u1", (), "UTF-8 JSON of each event: note, status, message, labels, info"),
    "work/start": ("f8", (), "s, of a step in which work is done that has no potential"),
    "work/end": ("f8", (), "s"),
    "work/polynomial": (
        "f8",
        (POWERS, NODES + 1),
        "J, by channel, in the powers of the time since the start",
    ),
    "jump/time": ("f8", (), "s, of energy gained at once"),
    "jump/channel": ("i1", (), "index into the attribute `channels`"),
    "jump/energy": ("f8", (), "J"),
    "message": ("u1", (), "UTF-8, how the run ended in words"),
    "progress": (
        "f8",
        (13,),
        "end time s, rest time s or nan, status, bytes of the last message, whole rows of the tables below",
    ),
}
_TABLES = (
    *("piece/body", "polynomial", "event/time", "contact/gap", "problem/W", "outcome/path"),
    *("work/start", "jump/time", "message"),
)
_STATUSES = list(RunStatus)
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
        self._prepare(trajectory, file, _CHUNK_BYTES)
        write_scene(file, trajectory.scene)
        file.swmr_mode = True
        self.flush()

    @classmethod
    def within(cls, trajectory: Trajectory, group: h5py.Group) -> None:
        """Write a whole trajectory, but not its scene, into a group of an open file."""
        recorder = cls.__new__(cls)
        recorder._prepare(trajectory, group, _SMALL_CHUNK_BYTES)
        recorder.flush(final=True)

    def _prepare(self, trajectory: Trajectory, file: h5py.Group, chunk_bytes: int) -> None:
        """Empty tables in a file or a group of one."""
        self._trajectory, self._file = trajectory, file
        self._pieces_written = [0] * len(trajectory.motions)
        self._events_written = 0
        self._work_running = 0
        self._describe()
        for name, (dtype, tail, unit) in _LAYOUT.items():
            rows = max(1, chunk_bytes // (np.dtype(dtype).itemsize * math.prod(tail)))
            data = file.create_dataset(
                name, (0, *tail), dtype=dtype, maxshape=(None, *tail), chunks=(rows, *tail)
            )
            data.attrs["meaning"] = unit
        file["event/kind"].attrs["kinds"] = json.dumps([kind.value for kind in _KINDS])
        for name in ("work/polynomial", "jump/channel"):
            file[name].attrs["channels"] = json.dumps(CHANNELS)
        file["progress"].attrs["tables"] = json.dumps(_TABLES)
        file["progress"].attrs["statuses"] = json.dumps([status.value for status in _STATUSES])

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
        """Flush when enough events have come in."""
        if len(self._trajectory._events) - self._events_written >= _EVENTS_PER_FLUSH:
            self.flush()

    def flush(self, final: bool = False) -> None:
        """Bring everything so far to disk; `final` also records how the run ended."""
        trajectory = self._trajectory
        self._write_pieces()
        events = trajectory.events
        while self._events_written < len(events):
            new = events[self._events_written : self._events_written + _EVENTS_PER_WRITE]
            self._write_events(new)
            self._events_written += len(new)
        self._write_works()
        self._file.file.flush()
        status = trajectory.status if final else RunStatus.UNFINISHED
        rest = np.nan if trajectory.rest_time is None else trajectory.rest_time
        message = trajectory.message.encode() if final else b""
        self._append("message", np.frombuffer(message, dtype="u1"))
        row = [trajectory.end_time, rest, _STATUSES.index(status), len(message)]
        row += [len(self._file[table]) for table in _TABLES]
        self._append("progress", np.array([row], dtype=float))
        self._file.file.flush()

    def close(self) -> None:
        """Finish the file."""
        self._file.close()

    def _append(self, name: str, values: Any) -> None:
        data = self._file[name]
        values = np.asarray(values, dtype=data.dtype).reshape(-1, *data.shape[1:])
        if len(values):
            data.resize(len(data) + len(values), axis=0)
            data[-len(values) :] = values

    def _write_pieces(self) -> None:
        """All new pieces, by start and then by body."""
        grown = [
            (body, motion.pieces(self._pieces_written[body]))
            for body, motion in enumerate(self._trajectory.motions)
            if len(motion) > self._pieces_written[body]
        ]
        if not grown:
            return
        start = np.concatenate([new.start for _, new in grown])
        order = np.argsort(start, kind="stable")
        polynomials = [polynomial for _, new in grown for polynomial in new.polynomial]
        polynomials = [polynomials[k] for k in order.tolist()]
        self._append(
            "piece/body", np.concatenate([np.full(len(new.start), body) for body, new in grown])[order]
        )
        self._append("piece/start", start[order])
        self._append("piece/state", np.concatenate([new.state for _, new in grown])[order])
        self._append("piece/acceleration", np.concatenate([new.acceleration for _, new in grown])[order])
        self._append("piece/terms", [0 if p is None else p.shape[1] for p in polynomials])
        kept = [p.ravel() for p in polynomials if p is not None]
        if kept:
            self._append("polynomial", np.concatenate(kept))
        for body, new in grown:
            self._pieces_written[body] += len(new.start)

    def _write_works(self) -> None:
        """New work, and where that which was still running has ended since."""
        works, known = self._trajectory.works, len(self._file["work/start"])
        open_ends = [piece.end for piece in works.pieces[self._work_running : known]]
        if open_ends:
            self._file["work/end"][self._work_running : known] = open_ends
        new = works.pieces[known:]
        self._append("work/start", [piece.start for piece in new])
        self._append("work/end", [piece.end for piece in new])
        if new:
            self._append("work/polynomial", np.stack([piece.polynomial for piece in new]))
        runs = (
            k for k, piece in enumerate(works.pieces) if k >= self._work_running and piece.end > self._now
        )
        self._work_running = next(runs, len(works.pieces))
        jumps = works.jumps[len(self._file["jump/time"]) :]
        for column, name in enumerate(("time", "channel", "energy")):
            self._append(f"jump/{name}", [jump[column] for jump in jumps])

    @property
    def _now(self) -> float:
        return self._trajectory.end_time

    def _write_events(self, events: Sequence[Event]) -> None:
        texts = [_event_text(event) for event in events]
        self._append("event/time", [e.time for e in events])
        self._append("event/kind", [_KINDS.index(e.kind) for e in events])
        self._append("event/contacts", [len(e.contacts) for e in events])
        self._append("event/solved", [e.problem is not None for e in events])
        self._append("event/stages", [0 if e.outcome is None else len(e.outcome.path) for e in events])
        self._append("event/text", [len(text) for text in texts])
        self._append("text", np.frombuffer(b"".join(texts), dtype="u1"))
        patches = [e.contacts for e in events]
        self._append("contact/bodies", np.concatenate([p.bodies for p in patches]))
        self._append("contact/point", np.concatenate([p.point for p in patches]))
        frames = [np.stack([p.normal, p.tangent, p.tangent2], axis=1) for p in patches]
        self._append("contact/frame", np.concatenate(frames))
        self._append("contact/gap", np.concatenate([p.gap for p in patches]))
        for name in ("feature", "feature_index", "along", "radius"):
            self._append(f"contact/{name}", np.concatenate([getattr(p, name) for p in patches]))
        solved = [(e.problem, e.outcome) for e in events if e.problem is not None and e.outcome is not None]
        if solved:
            self._append("problem/W", np.concatenate([p.W.ravel() for p, _ in solved]))
            self._append("problem/velocity", np.concatenate([p.u for p, _ in solved]))
            self._append("problem/friction", np.concatenate([p.friction for p, _ in solved]))
            self._append("problem/restitution", np.concatenate([p.restitution for p, _ in solved]))
            self._append("outcome/path", np.concatenate([o.path.impulse.ravel() for _, o in solved]))


def write_scene(file: h5py.Group, scene: Scene) -> None:
    """Describe a scene in the group "scene"."""
    meta, arrays = scene.describe()
    group = file.create_group("scene")
    group.create_dataset("description", data=np.frombuffer(json.dumps(meta).encode(), dtype="u1"))
    for name, array in sorted(arrays.items()):
        group.create_dataset(f"arrays/{name}", data=array)


def _event_text(event: Event) -> bytes:
    text: dict[str, Any] = {"note": event.note}
    if event.outcome is not None:
        info = {
            k: v for k, v in event.outcome.info.items() if isinstance(v, int | float | str | tuple | list)
        }
        text |= {
            "status": event.outcome.status.value,
            "message": event.outcome.message,
            "labels": event.outcome.path.labels,
            "info": info,
        }
    return json.dumps(text, default=lambda number: number.item()).encode()


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


def opened(path: Path, kind: str) -> h5py.File:
    """A file of carom of a kind, open for reading; FileFormatError where it is none."""
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
    if found == kind and version == VERSION:
        return file
    file.close()
    if found != kind:
        what = f"a {found}" if isinstance(found, str) and found.startswith("carom ") else "an HDF5 file"
        raise FileFormatError(path, f"it is {what}, but no {kind}")
    raise FileFormatError(path, f"expected format version {VERSION}, got {version!r}")


def read_trajectory(
    file: h5py.Group, stored: StoredFile, scene: Scene, model: Model | None = None
) -> Trajectory:
    """What a recorder wrote into a file or group; one of the errors DAMAGE where it is not that."""
    trajectory = Trajectory(scene, str(file.attrs["law"]), int(file.attrs["seed"]), model)
    trajectory.law_description = str(file.attrs.get("law_description", ""))
    trajectory.start_time = float(file.attrs["start_time"])
    trajectory.remarks = json.loads(file.attrs["remarks"])
    last = file["progress"][-1]
    trajectory.end_time = float(last[0])
    trajectory.rest_time = None if np.isnan(last[1]) else float(last[1])
    trajectory.status = RunStatus[json.loads(file["progress"].attrs["statuses"])[int(last[2])].upper()]
    said, pieces, polynomials, events, contacts, inertias, paths, works, jumps, words = (
        int(value) for value in last[3:]
    )
    message = file["message"][words - said : words].tobytes().decode()
    trajectory.message = message or trajectory.status.advice
    trajectory.motions = RecordedPieces(stored, file, len(scene.bodies), pieces, polynomials).motions
    dim = 3 if scene.plane is None else 2
    trajectory._events = RecordedEvents(stored, file, dim, events, contacts, inertias, paths)
    trajectory.works = RecordedWorks(stored, file, works, jumps)
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
