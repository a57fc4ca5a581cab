"""Recordings: one self-describing HDF5 file a run, readable after a kill up to the last flush.

All data sets are appended to in single-writer-multiple-reader mode, in which HDF5 orders its writes so that
the file is readable at any moment. The last whole row of `progress` says how much of every other data set is
whole; it is written after them. Frames and units are written beside each data set. Nothing in a file is
ever executed, and no wall clock is stored: equal runs are equal files in content.

HDF5 does not survive a disk that is full: what it could not write it tries to write again when the process ends,
which crashes there. So the beginning of a file is made in memory, and the room for a flush is taken from the disk
before HDF5 writes any of it. A flush that finds no room changes nothing, and can be tried again.
"""

import contextlib
import errno
import json
import os
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from ...bodies import FileFormatError, Scene
from ...bodies.files import file_path, replaced_when_whole
from ...interrupts import interrupts_wait
from ..event import EventKind
from ..integrator import Integrator
from ..left_behind import Held
from ..state import Model
from .log import LOG_TABLES, Log
from .recorded import recorded_log
from .row_forms import PlainRows, RowForm, row_form
from .schema import (
    PACKED,
    RowCheck,
    dataset_in,
    group_in,
    is_packed,
    number_of,
    text_of,
    whole_of,
    write_text,
)
from .stored_table import DAMAGE, StoredFile, StoredTable, can_be_packed, damaged
from .superblock import fault
from .trajectory import RunStatus, Trajectory

VERSION = 10
_READABLE = 8, 9, VERSION
"""Versions that are read: up to 9 what describes the scene is not packed, in 8 all numbers stand as they are."""
_KINDS = list(EventKind)
_EVENTS_PER_FLUSH, _PIECES_PER_FLUSH = 64, 4096
_EVENTS_BETWEEN = 8
"""A flush leaves the chunks that were not full yet where they were, so flushes become rarer in a long run:
each brings an eighth of all events, up to so many times the least."""
_CHUNK_BYTES, _SMALL_CHUNK_BYTES = 16_384, 1024
"""Of one table of a file, and of one of many groups: more would make short recordings large, less would pack
worse."""
_MESSAGE_CHUNK_BYTES = 128
"""Of what says how a run ended, a sentence or two."""
_ROWS_PER_WRITE = 65_536
"""Rows of a whole trajectory that are held together while it is saved."""
_ROOM_BESIDES = 131_072
"""[bytes] that HDF5 may need in a flush beside the rows, for indices and chunks that are not full."""

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
_MEANING_OF_DIFFERENCES: dict[str, dict[str, str]] = {
    "pieces": {
        "state": "position m, quaternion x y z body to world, velocity m/s, world; angular velocity rad/s body",
        "scalar": "difference of w of the quaternion from sqrt(1 - x x - y y - z z)",
    },
    "event_contacts": {
        "normal": "x y world",
        "upward": "difference of z of the normal from sqrt(1 - x x - y y)",
        "tangent": "difference, world, from the first of the coordinate axes most across the normal, made "
        "orthogonal and as long as 1; the second tangent is normal x tangent",
        "impulse": "difference, N s on the first body, in the frame, from that of spheres: normal n = -(1 + "
        "restitution) x normal velocity / (sum of 1/m); across, against the velocity, the least of friction x n "
        "and speed / (sum of 1/m and, of spheres, r r / inertia)",
        "after": "m/s after, in the tangent and second tangent",
        "separation": "difference of the normal velocity after, m/s, from -restitution x that before",
    },
    "stage_log": {
        "": "as each law means them: what it recorded on its way, or its cumulative contact impulses N s. "
        "Differences: at several contacts from 0, at one from what carom/simulator/record/row_forms.py says"
    },
}
_DIFFERENCE = (
    "of a number from what is expected: magnitudes, read as whole numbers of 63 bits, are subtracted modulo 2^63, "
    "0 -1 1 -2 ... counted as 0 1 2 3 ..., doubled, and 1 is added where signs differ; where nothing finite is "
    "expected, from 0"
)
_MEANING_OF_MESSAGE = {"": "UTF-8, how the run ended in words"}
_STATUSES = list(RunStatus)
_PROGRESS = (
    "number of the flush, from 1",
    "end time s",
    "asked time s or nan",
    "rest time s or nan",
    "status",
    "bytes of the last message",
)


class Recorder:
    """Writes a trajectory to a file while it grows.

    Raises OSError in one sentence where that is impossible, which leaves the file as it was.
    """

    _path: Path | None

    @interrupts_wait()
    def __init__(self, trajectory: Trajectory, path: Path, saved_as: Path | None = None):
        """saved_as : where the file goes when it is whole, of a trajectory that is saved and keeps its rows"""
        self._name = f"recording {saved_as or path}"
        refuse_target(path, self._name)
        self._keeps = saved_as is not None
        image = _image(lambda file: self._begin(trajectory, file))
        if self._keeps:
            _write_bytes(path, image, self._name)
        else:
            _replace(path, image, self._name)
        self._path = path
        try:
            self._file = opened_to_append(path)
            self._held_file = Held(self, self._file.close)
            self._bytes = StoredFile(path)
        except OSError as error:
            raise OSError(f"{self._name}: cannot be written ({error.strerror or error})") from error
        self._kept = {
            name: StoredTable(
                self._bytes,
                self._file[name],
                0,
                np.dtype(dtype),
                RowCheck(name, np.dtype(dtype), {}),
                self._forms[name],
            )
            for name, dtype in LOG_TABLES.items()
        }

    @classmethod
    def within(cls, trajectory: Trajectory, group: h5py.Group, first: dict[str, int]) -> None:
        """Write a trajectory, but not its scene, from these rows of its tables on, into a group of a file in
        memory."""
        recorder = cls.__new__(cls)
        recorder._prepare(trajectory, group, _SMALL_CHUNK_BYTES, first)
        recorder._note_progress(recorder._put_rows(), final=True)

    def _begin(self, trajectory: Trajectory, file: h5py.File) -> None:
        """Make a file in memory; it holds the little that there is at the start of a run."""
        self._prepare(trajectory, file, _CHUNK_BYTES, dict.fromkeys(LOG_TABLES, 0))
        write_scene(file, trajectory.scene)
        if not self._keeps:
            self._note_progress(self._put_rows(), final=False)

    def _prepare(
        self, trajectory: Trajectory, file: h5py.Group, chunk_bytes: int, first: dict[str, int]
    ) -> None:
        """Empty tables in a file or a group of one, for rows from the `first` of each on."""
        self._trajectory, self._file = trajectory, file
        self._path = None  # of a file in memory
        self._first, self._written = first, dict(first)
        self._flushes = self._words = 0
        self._pending = self._room = 0  # bytes that HDF5 holds back, and up to which the disk has given room
        self._held = trajectory.end_time
        self._describe()
        packing = PACKED if chunk_bytes == _CHUNK_BYTES else {}
        log = {name: getattr(trajectory.log, name) for name in LOG_TABLES}
        self._forms: dict[str, RowForm] = {
            name: row_form(name, np.dtype(dtype), trajectory.scene, trajectory.law_name, log)
            if packing
            else PlainRows(np.dtype(dtype))
            for name, dtype in LOG_TABLES.items()
        }
        for name, form in self._forms.items():
            count = max(1, chunk_bytes // form.stored.itemsize)
            data = file.create_dataset(
                name, (0,), dtype=form.stored, maxshape=(None,), chunks=(count,), **packing
            )
            write_text(data, "meaning", json.dumps(_meaning(name, form)))
        data = file.create_dataset(
            "message", (0,), dtype="u1", maxshape=(None,), chunks=(_MESSAGE_CHUNK_BYTES,)
        )
        write_text(data, "meaning", json.dumps(_MEANING_OF_MESSAGE))
        width = len(_PROGRESS) + len(LOG_TABLES) + 1
        data = file.create_dataset(
            "progress", (0, width), dtype="f8", maxshape=(None, width), chunks=(8, width)
        )
        rows = (f"whole rows of {name}" for name in (*LOG_TABLES, "message"))
        write_text(data, "meaning", json.dumps([*_PROGRESS, *rows]))
        write_text(data, "statuses", json.dumps([status.value for status in _STATUSES]))
        write_text(file["events"], "kinds", json.dumps([kind.value for kind in _KINDS]))

    def _describe(self) -> None:
        from ... import __version__

        trajectory = self._trajectory
        integrator = None if trajectory.integrator is None else asdict(trajectory.integrator)
        for name, text in (
            ("format", "carom recording"),
            ("written_by", f"carom {__version__}"),
            ("law", trajectory.law_name),
            ("law_description", trajectory.law_description),
            ("integrator", json.dumps(integrator)),
            ("force_functions", json.dumps(trajectory.force_functions)),
            ("remarks", json.dumps(trajectory.remarks)),
            ("difference", _DIFFERENCE),
        ):
            write_text(self._file, name, text)
        self._file.attrs["version"], self._file.attrs["seed"] = VERSION, trajectory.seed
        self._file.attrs["start_time"] = trajectory.start_time

    def event_added(self) -> None:
        """Flush when enough has come in."""
        log = self._trajectory.log
        known = self._written["events"]
        enough = min(max(_EVENTS_PER_FLUSH, known // 8), _EVENTS_BETWEEN * _EVENTS_PER_FLUSH)
        if (
            len(log.events) - known >= enough
            or len(log.pieces) - self._written["pieces"] >= _PIECES_PER_FLUSH
        ):
            self.flush()

    @interrupts_wait()
    def flush(self, final: bool = False) -> None:
        """Bring everything so far to disk; `final` also records how the run ended.

        The trajectory keeps no rows in memory that the file holds. OSError where the disk has no room: the file
        is as the last flush left it, and another one can be tried.
        """
        try:
            lengths = self._put_rows()
            self._file.flush()
            self._note_progress(lengths, final)
            self._file.flush()
            self._give_room_back()
        except (OSError, RuntimeError) as error:  # HDF5 raises either
            reason = getattr(error, "strerror", None) or " ".join(str(error).split())[:200]
            held = "" if self._keeps else f"; it holds the run up to t = {self._held:g} s"
            raise OSError(f"{self._name}: cannot be written ({reason}){held}") from error
        self._pending, self._held = 0, self._trajectory.end_time
        if not self._keeps:
            self._let_go(lengths)

    def _let_go(self, lengths: dict[str, int]) -> None:
        """Let the trajectory keep in memory only what the file does not hold in full chunks, which stay where they
        are."""
        for name, upto in lengths.items():
            kept = self._kept[name]
            kept.extend(self._file[name], upto)
            getattr(self._trajectory.log, name).let_go(len(kept), kept.rows)

    def close(self) -> None:
        """Finish the file."""
        self._held_file.finish()

    def _put_rows(self) -> dict[str, int]:
        """Write all rows that are not written yet; how many there are now."""
        lengths = self._trajectory.log.lengths()
        for name, upto in lengths.items():
            table, form = getattr(self._trajectory.log, name), self._forms[name]
            while self._written[name] < upto:
                first = self._written[name]
                last = min(upto, first + _ROWS_PER_WRITE)
                begin, end = form.span(first, last)
                rows = form.packed(table.rows(begin, end), begin)[first - begin : last - begin]
                self._put(name, first - self._first[name], rows)
                self._written[name] = last
        return lengths

    def _note_progress(self, lengths: dict[str, int], final: bool) -> None:
        """Say that so many rows of every table are whole."""
        trajectory = self._trajectory
        status = trajectory.status if final else RunStatus.UNFINISHED
        rest = np.nan if trajectory.rest_time is None else trajectory.rest_time
        asked = np.nan if trajectory.asked_time is None else trajectory.asked_time
        message = trajectory.message.encode() if final else b""
        self._put("message", self._words, np.frombuffer(message, dtype="u1"))
        words = self._words + len(message)
        row = [self._flushes + 1, trajectory.end_time, asked, rest, _STATUSES.index(status), len(message)]
        row += [lengths[name] - self._first[name] for name in LOG_TABLES] + [words]
        self._put("progress", self._flushes, np.array([row], dtype=float))
        self._flushes, self._words = self._flushes + 1, words

    def _put(self, name: str, first: int, values: Any) -> None:
        """Write rows from the `first` on, also again where a flush was cut short."""
        if not len(values):
            return
        data = self._file[name]
        values = values.astype(data.dtype, copy=False)
        if self._path is not None:
            self._pending += values.nbytes
            self._take_room(self._pending + _ROOM_BESIDES)
        if len(data) < first + len(values):
            data.resize(first + len(values), axis=0)
        data[first : first + len(values)] = values

    def _take_room(self, count: int) -> None:
        """Take so many bytes behind the end of the file from the disk; OSError where it has not got them."""
        assert self._path is not None
        end = self._file.id.get_filesize()
        if end + count > self._room and hasattr(os, "posix_fallocate"):
            with self._path.open("r+b") as stream:
                os.posix_fallocate(stream.fileno(), end, count)
            self._room = end + count

    def _give_room_back(self) -> None:
        """Let the file end where HDF5 ends it."""
        if self._room:
            assert self._path is not None
            os.truncate(self._path, self._file.id.get_filesize())
            self._room = 0


def opened_to_append(path: Path) -> h5py.File:
    """A file to append to in single-writer-multiple-reader mode from the first byte on: one that was killed between
    opening it and entering that mode could not be read. Locked, for that moment, as ``h5py.File(path)`` does it, so
    that this process can open it so as well; not where another program has locked it."""
    access = h5py.h5p.create(h5py.h5p.FILE_ACCESS)
    access.set_libver_bounds(h5py.h5f.LIBVER_LATEST, h5py.h5f.LIBVER_LATEST)
    access.set_file_locking(True, True)
    mode = h5py.h5f.ACC_RDWR | h5py.h5f.ACC_SWMR_WRITE
    try:
        opened = h5py.h5f.open(os.fsencode(path), mode, fapl=access)
    except BlockingIOError:
        access.set_file_locking(False, True)
        opened = h5py.h5f.open(os.fsencode(path), mode, fapl=access)
    return h5py.File(opened)


def _meaning(name: str, form: RowForm) -> dict[str, str]:
    """What the columns of a table are, in this form."""
    if type(form) is PlainRows:
        return _MEANING[name]
    columns = form.stored.names or ("",)
    known = _MEANING[name] | _MEANING_OF_DIFFERENCES[name]
    return {column: known[column] for column in columns}


def refuse_target(path: Path, name: str) -> None:
    """OSError or ValueError for a path under which no file, which has that name in words, can appear."""
    try:
        if b"\x00" in os.fsencode(path):  # HDF5 would take the name up to there
            raise ValueError("it has a NUL")
        if path.is_dir():
            raise IsADirectoryError(f"{name}: expected a file name, got a folder")
        if not path.parent.is_dir():
            raise FileNotFoundError(f"{name}: the folder {path.parent} does not exist")
        if path.exists() and not path.is_file():
            raise OSError(f"{name}: expected the name of a file, got a device or pipe")
        if path.exists() and not os.access(path, os.W_OK):
            raise PermissionError(f"{name}: cannot be written ({os.strerror(errno.EACCES)})")
    except ValueError as error:  # a NUL, or half of a character
        raise ValueError(f"record: {str(path)!r} is no file's name ({error})") from None


@interrupts_wait()
def write_whole(path: Path, name: str, fill: Callable[[h5py.File], None]) -> None:
    """Make a file in memory and write it; it appears under its name only when it is complete.

    OSError, with that name in words, where it cannot be written.
    """
    refuse_target(path, name)
    _replace(path, _image(fill), name)


def _image(fill: Callable[[h5py.File], None]) -> bytes:
    """The bytes of a file that is made in memory."""
    with h5py.File("image", "w", libver="latest", driver="core", backing_store=False) as file:
        fill(file)
        file.flush()
        return file.id.get_file_image()


def _replace(path: Path, content: bytes, name: str) -> None:
    """Let a file have this content, whole or not at all; who reads the old one keeps it."""
    with replaced_when_whole(path.resolve()) as partial:
        _write_bytes(partial, content, name)


def _write_bytes(path: Path, content: bytes, name: str) -> None:
    try:
        path.write_bytes(content)
    except OSError as error:
        raise OSError(f"{name}: cannot be written ({error.strerror or error})") from error


def write_scene(file: h5py.Group, scene: Scene) -> None:
    """Describe a scene in the group "scene"."""
    meta, arrays = scene.describe()
    group = file.create_group("scene")
    text = np.frombuffer(json.dumps(meta).encode(), dtype="u1")
    packing = PACKED | {"chunks": (min(len(text), _CHUNK_BYTES),)} if can_be_packed(text) else {}
    group.create_dataset("description", data=text, **packing)
    for name, array in sorted(arrays.items()):
        group.create_dataset(f"arrays/{name}", data=array)


@interrupts_wait()
def save(trajectory: Trajectory, path: "str | os.PathLike") -> Path:
    """Write a whole trajectory; the file appears under its name only when it is complete."""
    target = file_path("path", path)
    refuse_target(target, f"recording {target}")
    with replaced_when_whole(target) as partial:
        recorder = Recorder(trajectory, partial, target)
        try:
            recorder.flush(final=True)
        finally:
            recorder.close()
    return target


def load(path: "str | os.PathLike") -> Trajectory:
    """Read a recording, also one whose run was killed or is still going on.

    Times and kinds of events are read at once, all else when it is looked at. The file may be deleted or
    recorded anew meanwhile; FileFormatError comes then from what was written over by other means.

    Raises FileFormatError with one sentence for a missing, foreign or damaged file.
    """
    source = file_path("path", path)
    with opened(source, "carom recording") as file:
        try:
            stored = StoredFile(source)
            return read_trajectory(file, stored, read_scene(file, stored))
        except DAMAGE as error:
            raise damaged(source, error) from error


def kind_of(path: Path) -> str:
    """Which kind of carom's files this is: a recording or a branched run; FileFormatError where it is neither."""
    with opened(path, "carom recording", "carom branched run") as file:
        return text_of(file, "format")


def _opened_somehow(path: Path) -> h5py.File:
    """An HDF5 file, open for reading in one of the ways that there are; what HDF5 raises where none is left, and
    FileFormatError where this process has it open in another way."""
    try:
        return h5py.File(path, "r", locking=False)
    except OSError:  # a writer was killed or is still at work
        with contextlib.suppress(OSError):
            return h5py.File(path, "r", libver="latest", swmr=True, locking=False)
    try:
        return h5py.File(path, "r")  # as others in this process may have it open
    except OSError as error:
        if "already open" in str(error) or "don't match" in str(error):
            raise FileFormatError(path, f"this process has it open in another way: {error}") from None
        raise


def opened(path: Path, *kinds: str, expected: tuple[int, ...] = _READABLE) -> h5py.File:
    """A file of carom of one of these kinds and format versions, open for reading; else FileFormatError."""
    kind = kinds[0]
    Held.settle()
    try:
        if not path.is_file():
            raise FileFormatError(path, "no such file" if not path.exists() else "it is not a file")
        if reason := fault(path):
            raise FileFormatError(path, reason)
        file = _opened_somehow(path)
    except FileFormatError:
        raise
    except DAMAGE:
        raise FileFormatError(path, f"it is not a {kind} (no HDF5 file)") from None
    try:
        if (
            "format" in file.attrs and file.attrs.get_id("format").dtype.kind == "S"
        ):  # else of an earlier version
            _refuse_other_kinds(path, text_of(file, "format"), kinds)
        version = whole_of(file, "version", -(2**63)) if "version" in file.attrs else None
        if "format" in file.attrs and version is not None and version not in expected:
            known = " or ".join(map(str, expected))
            raise FileFormatError(path, f"expected format version {known}, got {version}")
        _refuse_other_kinds(path, text_of(file, "format") if "format" in file.attrs else "", kinds)
        whole_of(file, "version")
    except DAMAGE as error:
        file.close()
        raise damaged(path, error) from error
    return file


def _refuse_other_kinds(path: Path, found: str, kinds: tuple[str, ...]) -> None:
    """FileFormatError where what a file calls itself is none of these kinds."""
    if found not in kinds:
        what = f"a {found[:60]}" if found.startswith("carom ") else "an HDF5 file"
        raise FileFormatError(path, f"it is {what}, but no {kinds[0]}")


def read_trajectory(
    file: h5py.Group, stored: StoredFile, scene: Scene, model: Model | None = None, before: Log | None = None
) -> Trajectory:
    """What a recorder wrote into a file or group, after what was `before`; one of the errors DAMAGE where it is not
    that."""
    trajectory = Trajectory(scene, text_of(file, "law"), whole_of(file, "seed"), model)
    trajectory.source = stored.path
    trajectory.law_description = text_of(file, "law_description")
    integrator = json.loads(text_of(file, "integrator"))
    trajectory.integrator = None if integrator is None else Integrator(**integrator)
    trajectory.force_functions = _texts_of(file, "force_functions")
    trajectory.start_time = number_of(file, "start_time")
    trajectory.remarks = _texts_of(file, "remarks")
    (_, end, asked, rest, status, length), rows, words = _progress(file)
    trajectory.end_time = float(end)
    trajectory.asked_time = None if np.isnan(asked) else float(asked)
    trajectory.rest_time = None if np.isnan(rest) else float(rest)
    if not trajectory.start_time <= trajectory.end_time < np.inf or np.isinf(rest) or np.isinf(asked):
        raise ValueError(
            f"progress: expected an end after the start and finite times, got {end}, {asked}, {rest}"
        )
    trajectory.status = RunStatus[_texts_of(file["progress"], "statuses")[int(status)].upper()]
    message = dataset_in(file, "message", (np.dtype("u1"),))
    said = _count(length)
    if not said <= words <= min(len(message), stored.size):
        raise ValueError(f"message: expected {words} bytes with {said} of the last, got {len(message)}")
    trajectory.message = message[words - said : words].tobytes().decode() or trajectory.status.advice
    trajectory.log = recorded_log(
        stored,
        file,
        rows,
        scene,
        (trajectory.start_time, trajectory.end_time),
        trajectory.law_name,
        before,
    )
    if _texts_of(file["events"], "kinds") != [kind.value for kind in _KINDS]:
        raise ValueError("events: expected the kinds of events that carom knows")
    return trajectory


def _progress(file: h5py.Group) -> tuple[np.ndarray, dict[str, int], int]:
    """Of the last whole row of what tells how much is whole, what it says of the run; how many rows of each
    table, and bytes of messages, that is."""
    progress = dataset_in(file, "progress", (np.dtype("f8"),), rank=2)
    width = len(_PROGRESS) + len(LOG_TABLES) + 1
    if progress.shape[0] < 1 or progress.shape[1] != width:
        raise ValueError(f"progress: expected rows of {width} numbers, got shape {progress.shape}")
    number = progress.shape[0]
    last = progress[number - 1]
    if number > 1 and not last.any():  # it was about to be written
        number -= 1
        last = progress[number - 1]
    if last[0] != number:
        raise ValueError(f"progress: expected row {number} to have this number, got {last[0]}")
    *rows, words = (_count(value) for value in last[len(_PROGRESS) :])
    return last[: len(_PROGRESS)], dict(zip(LOG_TABLES, rows, strict=True)), words


def _count(value: float) -> int:
    """A number of rows in the table of progress."""
    if not (0.0 <= value < 2**53 and value == int(value)):
        raise ValueError(f"progress: expected numbers of rows, got {value}")
    return int(value)


def _texts_of(owner: Any, name: str) -> list[str]:
    """An attribute that is a JSON list of texts."""
    found = json.loads(text_of(owner, name))
    if not (isinstance(found, list) and all(isinstance(text, str) for text in found)):
        raise ValueError(f"{name}: expected a list of texts, got {str(found)[:60]}")
    return found


def read_scene(file: h5py.Group, stored: StoredFile) -> Scene:
    """The scene that `write_scene` described, in a file; one of the errors DAMAGE where it is not that."""
    size = stored.size
    group = group_in(file, "scene")
    arrays: dict[str, np.ndarray] = {}
    if "arrays" in group:
        tables = group_in(group, "arrays")
        for name in tables:
            data = dataset_in(tables, name, (np.dtype("f8"), np.dtype("i8")), (1, 2), size)
            size -= data.size * data.dtype.itemsize
            arrays[name] = data[()]
    return Scene.from_description(json.loads(_description(group, stored, size)), arrays)


def _description(group: h5py.Group, stored: StoredFile, size: int) -> bytes:
    """The text that describes a scene; where it is not packed it has at most `size` bytes."""
    byte = np.dtype("u1")
    data = dataset_in(group, "description", (byte,), packed=True)
    if is_packed(data):
        table = StoredTable(stored, data, len(data), byte, RowCheck("description", byte, {}))
        return table.rows(0, len(data)).tobytes()
    return bytes(dataset_in(group, "description", (byte,), size=size)[()].tobytes())
