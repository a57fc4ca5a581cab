"""How the rows of a log's tables stand in a recording.

An impact of two spheres with friction leaves some 60 numbers, hardly a bit of which can be packed. But some nearly
follow from others: the scalar part of a quaternion, a normal's last component and the tangent, the impulse of
spheres, the speed of separation and, of an impact at one contact, most of its stages. These are kept as differences
from what follows, counted in last digits. Every number is given back to its last bit, whatever was expected of it;
what is expected is computed with sums, products, quotients and roots alone, which are the same on every processor.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ...bodies import Body, Scene, Sphere
from ...impact_laws import MaximumDissipation, SequentialLCP, StrongeCoulomb
from ...impact_laws.stronge_kernels import COMPRESSION_ENDS, RESTITUTION_ENDS, SLIP_STOPS
from ..engine import tables_kernels as tables
from ..state import Array
from .row_table import Rows, RowTable

_MAGNITUDE = np.int64(2**63 - 1)
_HALF = np.int64(2**62)
_WIDTHS = (2, 3, 4, tables.STAGE)
"""Numbers of a stage that are known to have an impulse among them."""
_ROUNDS = 3
"""In which stages are restored: first what happened, then how far the normal impulse has grown, which is expected
by that, then the rest."""
Wholes = NDArray[np.int64]


def differences(values: Array, expected: Array) -> Wholes:
    """Whole numbers of the same shape that tell values from what is expected of them, near 0 where these are near.

    >>> differences(np.array([1.0, -1.0]), np.array([1.0, 1.0])).tolist()
    [0, 1]
    """
    bits, guess = _bits(values), _bits(_finite(expected))
    apart = (((bits & _MAGNITUDE) - (guess & _MAGNITUDE)) & _MAGNITUDE ^ _HALF) - _HALF
    folded = (apart << 1) ^ (apart >> 63)
    return (folded << 1) | ((bits ^ guess) < 0)


def restored(found: Wholes, expected: Array) -> Array:
    """The values that have these differences from what is expected of them."""
    guess = _bits(_finite(expected))
    folded = (found >> 1) & _MAGNITUDE
    apart = (folded >> 1) ^ -(folded & 1)
    magnitude = ((guess & _MAGNITUDE) + apart) & _MAGNITUDE
    sign = np.where((found & 1) ^ (guess < 0), ~_MAGNITUDE, 0)
    return (magnitude | sign).view(np.float64)


def _bits(values: Array) -> Wholes:
    return np.ascontiguousarray(values, dtype=np.float64).view(np.int64)


def _finite(values: Array) -> Array:
    """Zero where there is no number: what NaN looks like differs between processors."""
    return np.where(np.isfinite(values), values, 0.0)


class RowForm(Protocol):
    """How rows of one table stand in a file."""

    stored: np.dtype[Any]
    """Of a row in the file."""

    def span(self, first: int, last: int) -> tuple[int, int]:
        """The rows that have to be known together to pack or restore these."""

    def packed(self, rows: Rows, first: int) -> Rows:
        """Rows of the table, from the `first` of a span on, as they stand in the file."""

    def restored(self, rows: Rows, first: int) -> Rows:
        """Rows of the file, from the `first` of a span on, as they are in the table."""


class PlainRows:
    """Rows as they are, with whole numbers of half the length."""

    def __init__(self, dtype: np.dtype[Any]):
        self._dtype, self.stored = dtype, shorter(dtype)

    def span(self, first: int, last: int) -> tuple[int, int]:
        return first, last

    def packed(self, rows: Rows, first: int) -> Rows:
        return rows.astype(self.stored, copy=False)

    def restored(self, rows: Rows, first: int) -> Rows:
        return rows.astype(self._dtype, copy=False)


class PieceRows(PlainRows):
    """Pieces of motion; `scalar` is that of the quaternion in `state`, from what makes its length 1."""

    def __init__(self) -> None:
        self._dtype = tables.PIECE
        self.stored = _columns(tables.PIECE, state=[("state", "f8", (12,)), ("scalar", "i8")])

    def packed(self, rows: Rows, first: int) -> Rows:
        found = _taken_over(rows, self.stored, ("state",))
        state = rows["state"]
        found["state"][:, :3], found["state"][:, 3:] = state[:, :3], state[:, 4:]
        found["scalar"] = differences(state[:, 3], _last_of_unit(state[:, 4:7]))
        return found

    def restored(self, rows: Rows, first: int) -> Rows:
        found = _taken_over(rows, self._dtype, ("state",))
        state = rows["state"]
        found["state"][:, :3], found["state"][:, 4:] = state[:, :3], state[:, 3:]
        found["state"][:, 3] = restored(rows["scalar"], _last_of_unit(state[:, 3:6]))
        return found


class ContactRows(PlainRows):
    """Contacts of events between bodies; `upward` is the last component of the normal from what makes its length 1,
    `tangent` from the coordinate axis most across the normal, `impulse` from what spheres would have by Newton's
    restitution and Coulomb's friction, `separation` the normal part of `after` from Newton's restitution."""

    def __init__(self, bodies: Sequence[Body]) -> None:
        self._dtype = tables.EVENT_CONTACT
        # by what an impulse changes the velocity of each body there, and last of none; of spheres also by turning
        self._moves, self._turns = np.zeros(len(bodies) + 1), np.zeros(len(bodies) + 1)
        for number, body in enumerate(bodies):
            if not body.fixed:
                self._moves[number] = 1.0 / body.mass
                if isinstance(body.shape, Sphere):
                    self._turns[number] = body.shape.radius**2 / body.inertia[0, 0]
        self.stored = _columns(
            tables.EVENT_CONTACT,
            normal=[("normal", "f8", (2,)), ("upward", "i8")],
            tangent=[("tangent", "i8", (3,))],
            impulse=[("impulse", "i8", (3,))],
            after=[("after", "f8", (2,)), ("separation", "i8")],
        )

    def packed(self, rows: Rows, first: int) -> Rows:
        found = _taken_over(rows, self.stored, ("normal", "tangent", "impulse", "after"))
        normal, after = rows["normal"], rows["after"]
        found["normal"], found["after"] = normal[:, :2], after[:, 1:]
        found["upward"] = differences(normal[:, 2], _last_of_unit(normal[:, :2]))
        found["tangent"] = differences(rows["tangent"], _tangents(normal))
        found["impulse"] = differences(rows["impulse"], self._impulse(rows))
        found["separation"] = differences(after[:, 0], _separation(rows))
        return found

    def restored(self, rows: Rows, first: int) -> Rows:
        found = _taken_over(rows, self._dtype, ("normal", "tangent", "impulse", "after"))
        found["normal"][:, :2], found["after"][:, 1:] = rows["normal"], rows["after"]
        found["normal"][:, 2] = restored(rows["upward"], _last_of_unit(rows["normal"]))
        found["tangent"] = restored(rows["tangent"], _tangents(found["normal"]))
        found["impulse"] = restored(rows["impulse"], self._impulse(rows))
        found["after"][:, 0] = restored(rows["separation"], _separation(rows))
        return found

    def _impulse(self, rows: Rows) -> Array:
        """Of spheres, which slip all along or stop, from rows in either form."""
        none = len(self._moves) - 1
        bodies = np.column_stack([rows["first"], rows["second"]])
        bodies = np.where((bodies < 0) | (bodies > none), none, bodies)
        moves = self._moves[bodies].sum(axis=1)
        turns = moves + self._turns[bodies].sum(axis=1)
        velocity = rows["velocity"]
        with np.errstate(all="ignore"):
            normal = -(1.0 + rows["restitution"]) * velocity[:, 0] / moves
            x, y = velocity[:, 1], velocity[:, 2]
            speed = np.sqrt(x * x + y * y)
            across = -np.minimum(rows["friction"] * normal, speed / turns) / speed
            return np.column_stack([normal, across * x, across * y])


class StageNumbers:
    """Stages of resolutions, of an impact at one contact from what follows from its impulse.

    law_name, events, contacts : of the run, as far as it is known
    """

    stored = np.dtype("i8")

    def __init__(self, law_name: str, events: RowTable, contacts: RowTable):
        self._law_name, self._events, self._contacts = law_name, events, contacts
        self._known = 0
        self._width = np.zeros(0, dtype=np.int64)
        self._first_number = np.zeros(1, dtype=np.int64)
        self._first_contact = np.zeros(1, dtype=np.int64)

    def span(self, first: int, last: int) -> tuple[int, int]:
        """Those of whole events."""
        if first == last:
            return first, last
        self._look()
        begin = int(np.searchsorted(self._first_number, first, side="right")) - 1
        end = int(np.searchsorted(self._first_number, last, side="left"))
        return int(self._first_number[begin]), int(self._first_number[end])

    def packed(self, rows: Rows, first: int) -> Rows:
        found = np.empty(len(rows), dtype=self.stored)
        for which, stages in self._alike(first, len(rows)):
            values = rows[which]
            found[which] = differences(values, _expected(stages, values))
        return found

    def restored(self, rows: Rows, first: int) -> Rows:
        found = np.empty(len(rows))
        for which, stages in self._alike(first, len(rows)):
            values = np.zeros(which.shape)
            for _ in range(_ROUNDS):
                values = restored(rows[which], _expected(stages, values))
            found[which] = values
        return found

    def _look(self) -> None:
        """Know where the numbers of every event stand."""
        known, count = self._known, len(self._events)
        if known == count:
            return
        stages, width, contacts = (
            self._events.column(name, known)[: count - known] for name in ("stages", "width", "contacts")
        )
        self._known = count
        self._width = np.concatenate([self._width, width])
        self._first_number = _continued(self._first_number, stages * width)
        self._first_contact = _continued(self._first_contact, contacts)

    def _alike(self, first: int, count: int) -> "list[tuple[Wholes, _Stages | None]]":
        """Numbers of stages among so many numbers from the `first` on, those of impacts at one contact as a matrix
        (k, width) for each width, and the others (n,)."""
        self._look()
        begin, end = np.searchsorted(self._first_number, (first, first + count), side="left").tolist()
        sizes = np.diff(self._first_number[begin : end + 1])
        single = np.diff(self._first_contact[begin : end + 1]) == 1
        width = np.where(single & np.isin(self._width[begin:end], _WIDTHS), self._width[begin:end], 0)
        owner = np.repeat(np.arange(end - begin), sizes)
        rows = self._contacts.rows(int(self._first_contact[begin]), int(self._first_contact[end]))
        place = self._first_contact[begin:end] - self._first_contact[begin]
        found: list[tuple[Wholes, _Stages | None]] = [(np.flatnonzero(width[owner] == 0), None)]
        for each in np.unique(width[(width > 0) & (sizes > 0)]).tolist():
            which = np.flatnonzero(width[owner] == each).reshape(-1, each)
            event = owner[which[:, 0]]
            is_last = np.append(event[1:] != event[:-1], True)
            found.append((which, _Stages(self._law_name, rows[place[event]], event, is_last)))
        return found


class _Stages:
    """What is expected of stages (k,) of impacts at one contact.

    contacts : (k,) of their impacts
    event, is_last : (k,) which impact a stage is of, rising, and whether it is its last
    """

    def __init__(self, law_name: str, contacts: Rows, event: Wholes, is_last: NDArray[np.bool_]):
        self._law_name, self._contacts, self._event, self._is_last = law_name, contacts, event, is_last

    def expected(self, values: Array) -> Array:
        """From values (k, width), of which those are used that what is expected of them does not depend on."""
        found = np.zeros(values.shape)
        impulse, width = self._contacts["impulse"], values.shape[1]
        if self._law_name == StrongeCoulomb.name and width == tables.STAGE:
            self._of_stronge(found, values)
        elif self._law_name == SequentialLCP.name and width == 4:
            found[:, 1:] = impulse
        elif width < 4 and self._law_name != MaximumDissipation.name:
            found[:] = impulse[:, :width]  # of a law in Python
        return found

    def _of_stronge(self, found: Array, values: Array) -> None:
        """Of spheres to some last digits: slip keeps its direction and, where it has stopped, the impulse across
        stays."""
        impulse, code, last = self._contacts["impulse"], values[:, 1], np.flatnonzero(self._is_last)
        compressed = impulse[:, 0] / (1.0 + self._contacts["restitution"])
        found[:, 1] = np.where(self._is_last, RESTITUTION_ENDS, COMPRESSION_ENDS)
        found[:, 2] = np.where(code == COMPRESSION_ENDS, compressed, impulse[:, 0])
        ends = last[np.searchsorted(last, np.arange(len(code)))]
        stops = np.flatnonzero(code == SLIP_STOPS)
        slid_until = ends
        if len(stops):
            stop = stops[np.searchsorted(self._event[stops], self._event).clip(max=len(stops) - 1)]
            slid_until = np.where(self._event[stop] == self._event, stop, ends)
        share = np.where(np.arange(len(code)) < slid_until, values[:, 2] / values[slid_until, 2], 1.0)
        found[:, 3:5] = impulse[:, 1:] * share[:, None]
        found[:, 5] = -0.5 * self._contacts["velocity"][:, 0] * compressed


def _expected(stages: _Stages | None, values: Array) -> Array:
    """What is expected of values, nothing of those of several contacts."""
    if stages is None:
        return np.zeros(values.shape)
    with np.errstate(all="ignore"):
        return stages.expected(values)


def row_form(
    name: str, dtype: np.dtype[Any], scene: Scene, law_name: str, others: Mapping[str, RowTable]
) -> RowForm:
    """The form in which a recording keeps a table; `others` has the events and contacts that stages belong to."""
    if name == "pieces":
        return PieceRows()
    if name == "event_contacts":
        return ContactRows(scene.bodies)
    if name == "stage_log":
        return StageNumbers(law_name, others["events"], others["event_contacts"])
    return PlainRows(dtype)


def shorter(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The same columns with whole numbers of half the length, which suffice in a file."""
    return dtype if dtype.names is None else _columns(dtype)


def _columns(dtype: np.dtype[Any], **instead: list[Any]) -> np.dtype[Any]:
    """Columns with whole numbers of half the length, and others instead of some."""
    columns: list[Any] = []
    for name in dtype.names or ():
        column = dtype[name]
        own = (name, np.dtype("i4") if column.base.kind == "i" else column.base, column.shape)
        columns += instead.get(name, [own])
    return np.dtype(columns)


def _taken_over(rows: Rows, dtype: np.dtype[Any], but: tuple[str, ...]) -> Rows:
    """Rows of another type with the same values in all columns that both have, but some."""
    found = np.zeros(len(rows), dtype=dtype)
    for name in dtype.names or ():
        if name not in but and name in (rows.dtype.names or ()):
            found[name] = rows[name]
    return found


def _last_of_unit(others: Array) -> Array:
    """The component, not negative, with which vectors (n, k) are of unit length."""
    with np.errstate(all="ignore"):
        left = np.ones(len(others))
        for component in others.T:
            left = left - component * component
        return np.sqrt(np.maximum(left, 0.0))


def _tangents(normal: Array) -> Array:
    """A tangent for each normal (n, 3), nearly as the engine chooses it."""
    rows, axis = np.arange(len(normal)), np.argmin(np.abs(normal), axis=1)
    with np.errstate(all="ignore"):
        tangent = -normal[rows, axis][:, None] * normal
        tangent[rows, axis] += 1.0
        x, y, z = tangent.T
        return tangent / np.sqrt(x * x + y * y + z * z)[:, None]


def _separation(rows: Rows) -> Array:
    """Speed after an impact by Newton's restitution, of contacts in either form."""
    with np.errstate(all="ignore"):
        return np.asarray(-rows["restitution"] * rows["velocity"][:, 0])


def _continued(ends: Wholes, counts: Wholes) -> Wholes:
    """Where each of some rows begins and, last, where all end, after those that are known."""
    return np.concatenate([ends, ends[-1] + np.cumsum(counts)])
