"""What is read back of a recording: start times and heads of events at once, all else when it is looked at."""

import json
from functools import cached_property
from itertools import pairwise
from typing import Any, NoReturn
from weakref import WeakValueDictionary

import h5py
import numpy as np
from numpy.typing import NDArray

from ...bodies import FileFormatError
from ...impact_laws import ImpactOutcome, ImpactProblem, ImpactStatus
from ..event import ContactPatch, Event, EventKind
from ..state import Array
from .event_log import KINDS
from .impact_records import ImpactRecords, in_space
from .ledger import WorkPiece, Works
from .stored_table import StoredFile, StoredTable, damaged
from .trajectory import BodyMotion, Pieces

_CONTACT_TABLES = ("bodies", "point", "frame", "gap", "feature", "feature_index", "along", "radius")


class RecordedPieces:
    """The pieces of all bodies, in the order in which they were written."""

    def __init__(self, stored: StoredFile, file: h5py.Group, bodies: int, count: int, coefficients: int):
        body, terms = file["piece/body"][:count], file["piece/terms"][:count]
        if count and not (body.min() >= 0 and body.max() < bodies):
            raise ValueError(
                f"piece/body: expected bodies 0 to {bodies - 1}, got {body.min()} to {body.max()}"
            )
        if bodies <= np.iinfo(np.uint16).max:
            body = body.astype(np.uint16)  # which sorts faster
        order = np.argsort(body, kind="stable")
        start = file["piece/start"][:count][order]
        bounds = np.searchsorted(body[order], np.arange(bodies + 1))
        self.state = StoredTable(stored, file["piece/state"], count)
        self.acceleration = StoredTable(stored, file["piece/acceleration"], count)
        self.terms = terms
        self.polynomial = StoredTable(stored, file["polynomial"], coefficients)
        self.polynomial_first = _offsets(13 * terms.astype(np.int64), coefficients, "polynomial")
        self.motions: list[BodyMotion] = [
            RecordedMotion(self, order[a:b], start[a:b]) for a, b in pairwise(bounds)
        ]

    def polynomial_of(self, row: int) -> Array | None:
        """Coefficients (13, terms) of the piece in a row, None for free flight."""
        terms = int(self.terms[row])
        if not terms:
            return None
        first = int(self.polynomial_first[row])
        return self.polynomial.rows(first, first + 13 * terms).reshape(13, terms)


class RecordedMotion(BodyMotion):
    """The pieces of one body in a recording."""

    def __init__(self, recorded: RecordedPieces, rows: NDArray[np.int64], start: Array):
        self._recorded, self._rows, self._starts = recorded, rows, start

    def append(self, start: float, state: Array, acceleration: Array, polynomial: Array | None) -> NoReturn:
        raise ValueError("a trajectory read from a recording takes no more pieces")

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def start(self) -> Array:
        return self._starts

    def pieces(self, first: int = 0) -> Pieces:
        recorded, rows = self._recorded, self._rows[first:].tolist()
        return Pieces(
            self._starts[first:],
            np.array([recorded.state.row(row) for row in rows]).reshape(-1, 13),
            np.array([recorded.acceleration.row(row) for row in rows]).reshape(-1, 3),
            [recorded.polynomial_of(row) for row in rows],
        )

    def piece(self, index: int) -> tuple[Array, Array, Array | None]:
        recorded, row = self._recorded, int(self._rows[index])
        return recorded.state.row(row), recorded.acceleration.row(row), recorded.polynomial_of(row)


class RecordedEvents:
    """The events of a recording, each made when it is asked for; the same object while someone holds it."""

    def __init__(
        self,
        stored: StoredFile,
        file: h5py.Group,
        dim: int,
        count: int,
        contacts: int,
        inertias: int,
        stages: int,
    ):
        self._dim = dim
        head = {
            name: file[f"event/{name}"][:count].astype(np.int64)
            for name in ("kind", "contacts", "solved", "stages", "text")
        }
        self.times: Array = file["event/time"][:count]
        if len(self.times) != count:
            raise ValueError("event/time: a table is shorter than the events need")
        kinds = json.loads(file["event/kind"].attrs["kinds"])
        self.kind_codes = np.array([KINDS.index(EventKind(kind)) for kind in kinds])[head["kind"]]
        self._solved = head["solved"] > 0
        asked = head["contacts"] * self._solved
        self._contact = _offsets(head["contacts"], contacts, "contact")
        self._asked = _offsets(asked, len(file["problem/friction"]), "problem/friction")
        self._inertia = _offsets((dim * asked) ** 2, inertias, "problem/W")
        self._path = _offsets(dim * asked * head["stages"], stages, "outcome/path")
        self._text = _offsets(head["text"], len(file["text"]), "text")
        asked_in_all = int(self._asked[-1])
        lengths = {f"contact/{name}": int(self._contact[-1]) for name in _CONTACT_TABLES} | {
            "problem/W": int(self._inertia[-1]),
            "problem/velocity": dim * asked_in_all,
            "problem/friction": asked_in_all,
            "problem/restitution": asked_in_all,
            "outcome/path": int(self._path[-1]),
            "text": int(self._text[-1]),
        }
        self._tables = {name: StoredTable(stored, file[name], length) for name, length in lengths.items()}
        self._file_path = stored.path
        self._made: WeakValueDictionary[int, Event] = WeakValueDictionary()

    def __len__(self) -> int:
        return len(self.times)

    def __getitem__(self, index: int) -> Event:
        k = range(len(self))[index]
        event = self._made.get(k)
        if event is None:
            event = self._made[k] = self._make(k)
        return event

    def impacts(self) -> ImpactRecords:
        """Every impact, from whole tables."""
        counts = np.diff(self._asked)
        number = np.repeat(np.arange(len(self)), counts)
        contact = np.arange(len(number)) + np.repeat(self._contact[:-1] - self._asked[:-1], counts)
        before = self._tables["problem/velocity"].all()
        impulse = self._impulses(counts)
        return ImpactRecords(
            number,
            self.times[number],
            self._tables["contact/bodies"].all()[contact].astype(np.int64),
            in_space(before, self._dim),
            in_space(before + self._responses(counts, impulse), self._dim),
            in_space(impulse, self._dim),
        )

    def _impulses(self, counts: NDArray[np.int64]) -> Array:
        """The last stages of all paths, one after the other."""
        path = self._tables["outcome/path"].all()
        component = np.arange(self._dim * counts.sum())
        ends = np.repeat(self._path[1:] - self._dim * self._asked[1:], self._dim * counts)
        return path[component + ends]

    def _responses(self, counts: NDArray[np.int64], impulse: Array) -> Array:
        """W times the impulse of every event, all events with the same number of contacts together."""
        inertia = self._tables["problem/W"].all()
        response = np.zeros_like(impulse)
        for count in np.unique(counts[counts > 0]).tolist():
            events = np.flatnonzero(counts == count)
            size = self._dim * count
            rows = self._dim * self._asked[events][:, None] + np.arange(size)
            matrices = inertia[self._inertia[events][:, None] + np.arange(size * size)]
            response[rows] = np.einsum("kij,kj->ki", matrices.reshape(-1, size, size), impulse[rows])
        return response

    def _make(self, k: int) -> Event:
        try:
            return self._read(k)
        except FileFormatError:
            raise
        except (KeyError, IndexError, ValueError, TypeError) as error:
            raise damaged(self._file_path, error) from error

    def _read(self, k: int) -> Event:
        words = json.loads(self._rows("text", self._text, k).tobytes())
        problem = outcome = None
        if self._solved[k]:
            problem = self._problem(k)
            outcome = self._outcome(k, problem, words)
        kind = KINDS[self.kind_codes[k]]
        return Event(float(self.times[k]), kind, self._patch(k), problem, outcome, words["note"])

    def _patch(self, k: int) -> ContactPatch:
        found = {name: self._rows(f"contact/{name}", self._contact, k) for name in _CONTACT_TABLES}
        frame = found["frame"]
        return ContactPatch(
            found["bodies"].astype(np.int64),
            found["point"],
            frame[:, 0],
            frame[:, 1],
            frame[:, 2],
            found["gap"],
            found["feature"].astype(np.int64),
            found["feature_index"].astype(np.int64),
            found["along"],
            found["radius"],
        )

    def _problem(self, k: int) -> ImpactProblem:
        size = self._dim * int(self._asked[k + 1] - self._asked[k])
        return ImpactProblem(
            self._rows("problem/W", self._inertia, k).reshape(size, size),
            self._rows("problem/velocity", self._asked, k, self._dim),
            self._rows("problem/friction", self._asked, k),
            self._rows("problem/restitution", self._asked, k),
            dim=self._dim,
        )

    def _outcome(self, k: int, problem: ImpactProblem, words: dict[str, Any]) -> ImpactOutcome:
        stages = self._rows("outcome/path", self._path, k).reshape(-1, len(problem.u))
        status = ImpactStatus[words["status"].upper()]
        return ImpactOutcome.from_stages(
            problem, stages[1:], words["labels"][1:], status, words["message"], words["info"]
        )

    def _rows(self, name: str, offsets: NDArray[np.int64], k: int, each: int = 1) -> NDArray[Any]:
        return self._tables[name].rows(each * int(offsets[k]), each * int(offsets[k + 1]))


class RecordedWorks(Works):
    """The works of a recording, read when they are first asked for."""

    def __init__(self, stored: StoredFile, file: h5py.Group, pieces: int, jumps: int):
        lengths = dict.fromkeys(("work/start", "work/end", "work/polynomial"), pieces)
        lengths |= dict.fromkeys(("jump/time", "jump/channel", "jump/energy"), jumps)
        self._tables = {name: StoredTable(stored, file[name], length) for name, length in lengths.items()}

    @cached_property
    def pieces(self) -> list[WorkPiece]:  # type: ignore[override]
        start, end, polynomial = self.piece_columns()
        return [WorkPiece(*row) for row in zip(start.tolist(), end.tolist(), polynomial, strict=True)]

    @cached_property
    def jumps(self) -> list[tuple[float, int, float]]:  # type: ignore[override]
        return list(zip(*(column.tolist() for column in self.jump_columns()), strict=True))

    @property
    def piece_count(self) -> int:
        return len(self._tables["work/start"])

    @property
    def jump_count(self) -> int:
        return len(self._tables["jump/time"])

    def piece_columns(self) -> tuple[Array, Array, Array]:
        start, end, polynomial = (
            self._tables[f"work/{name}"].all() for name in ("start", "end", "polynomial")
        )
        return start, end, polynomial

    def jump_columns(self) -> tuple[Array, NDArray[np.int64], Array]:
        time, channel, energy = (self._tables[f"jump/{name}"].all() for name in ("time", "channel", "energy"))
        return time, channel.astype(np.int64), energy


def _offsets(counts: NDArray[np.int64], rows: int, name: str) -> NDArray[np.int64]:
    """Where the rows of each begin and, last, where all end; ValueError where the table has fewer."""
    offsets = np.concatenate([[0], np.cumsum(counts)])
    if (counts < 0).any() or offsets[-1] > rows:
        raise ValueError(f"{name}: a table is shorter than the events and pieces need")
    return offsets
