"""What is equal for equal events, bit by bit: for comparing runs, and as one hash."""

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .log import LOG_TABLES, Log

EVENT_COLUMNS = ("time", "kind", "note", "status", "energy_change", "until")
CONTACT_COLUMNS = (
    *("first", "second", "feature", "index", "point", "normal", "tangent", "velocity", "impulse", "after"),
    *("along", "radius", "gap", "friction", "restitution"),
)
"""In the order in which they are compared."""
_ROWS_AT_ONCE = 16_384


def event_hash(log: Log) -> str:
    """SHA-256, in hexadecimal, of the events of a log: see `Trajectory.event_hash`."""
    digest = hashlib.sha256(b"carom events 1")
    count = len(log.events)
    offsets = log.offsets("event_contacts"), log.offsets("texts")
    for first in range(0, count, _ROWS_AT_ONCE):
        last = min(count, first + _ROWS_AT_ONCE)
        rows = log.events.rows(first, last)
        counts = np.stack([rows["contacts"], rows["text"]])
        digest.update(packed(rows, EVENT_COLUMNS).tobytes() + counts.astype("<i8").tobytes())
        contacts, texts = ((int(known[first]), int(known[last])) for known in offsets)
        digest.update(packed(log.event_contacts.rows(*contacts), CONTACT_COLUMNS).tobytes())
        digest.update(log.texts.rows(*texts).tobytes())
    return digest.hexdigest()


def packed(rows: NDArray[Any], columns: tuple[str, ...]) -> NDArray[Any]:
    """Some columns of rows of events or contacts, one after the other, little-endian, without gaps."""
    dtype = rows.dtype
    kinds: list[Any] = [(name, np.dtype(f"<{dtype[name].base.kind}8"), dtype[name].shape) for name in columns]
    found = np.empty(len(rows), dtype=np.dtype(kinds))
    for name in columns:
        found[name] = rows[name]
    return found


def first_difference(one: Log, other: Log, number: int) -> tuple[str, str, str] | None:
    """In what an event, by number, of one log differs from that of another: the word for it, and both values; None
    where all of it is equal, bit for bit."""
    rows = [log.events.rows(number, number + 1) for log in (one, other)]
    if found := _differing(rows, EVENT_COLUMNS[:2]):
        return found
    contacts = [log.numbers_of_event("event_contacts", number) for log in (one, other)]
    if len(contacts[0]) != len(contacts[1]):
        return "contacts", str(len(contacts[0])), str(len(contacts[1]))
    texts = [log.numbers_of_event("texts", number).tobytes() for log in (one, other)]
    if found := _differing(contacts, CONTACT_COLUMNS) or _differing(rows, EVENT_COLUMNS[2:]):
        return found
    if texts[0] != texts[1]:
        return "note", *(text.decode(errors="replace") for text in texts)  # type: ignore[return-value]
    return None


def _differing(rows: list[NDArray[Any]], columns: tuple[str, ...]) -> tuple[str, str, str] | None:
    """The first of the columns in which rows differ, as above."""
    for name in columns:
        one, other = (packed(each, (name,)) for each in rows)
        if one.tobytes() == other.tobytes():
            continue
        row = next(k for k in range(len(one)) if one[k].tobytes() != other[k].tobytes())
        word = _WORDS.get(name, name.replace("_", " "))
        if len(one) > 1 or name in CONTACT_COLUMNS:
            word = f"{word} of contact {row}"
        return word, *(str(each[name][row].tolist()) for each in (one, other))  # type: ignore[return-value]
    return None


_WORDS = {
    "kind": "kind", "note": "kind of note", "status": "law's status", "until": "end of the bounces",
    "first": "first body", "second": "second body", "velocity": "velocity before", "after": "velocity after",
    "index": "number of the feature", "along": "direction of the feature", "radius": "radius of the feature",
}  # fmt: skip
assert set(EVENT_COLUMNS) < set(np.dtype(LOG_TABLES["events"]).names or ())
assert set(CONTACT_COLUMNS) == set(np.dtype(LOG_TABLES["event_contacts"]).names or ())
