"""What a recording may hold, declared in one place: names, ranks, types, and the range of every number.

Recordings come from anywhere. What is in a file is looked at before anything is read: links and storage that
lead to other files, virtual data sets, filters, other ranks and types, and sizes that the file does not have are
refused.
Numbers are looked at when their rows are read. All of it raises ValueError, in one sentence.
"""

import math
from dataclasses import dataclass
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from ..engine.tables_kernels import IMPLICIT
from ..event import EventKind, Feature
from ..kernels import TERMS

_WORD = 8
_MOST_ROWS = 2**31 - 1
_LARGEST = 1e150
"""Of any number of a recording: squares of it still are numbers."""
PACKED = {"shuffle": True, "compression": "gzip", "compression_opts": 4}
"""How tables of a recording are packed: bytes of equal worth together, then deflated. Numbers that hardly
change, such as normals of a floor, take next to no room."""
_UNIT = 1e-6
"""By which the length of a recorded quaternion may differ from one."""


@dataclass(frozen=True)
class Range:
    """What numbers of a column can be.

    blank : whether they can also be NaN or infinite, which means that there is none
    """

    least: float
    most: float
    blank: bool = False


NUMBER = Range(-_LARGEST, _LARGEST)
OR_NONE = Range(-_LARGEST, _LARGEST, blank=True)
COUNT = Range(0, _MOST_ROWS)
WHOLE = Range(-_MOST_ROWS, _MOST_ROWS)


def table_ranges(bodies: int) -> dict[str, dict[str, Range]]:
    """Of each table of a recording of so many bodies, the range of each of its columns; "" of one without names."""
    body = Range(-1, bodies)  # that of a limit may be none
    return {
        "pieces": {
            "body": Range(0, bodies - 1),
            "start": NUMBER,
            "kind": Range(0, IMPLICIT),
            "terms": Range(0, TERMS),
            "state": NUMBER,
            "acceleration": NUMBER,
        },
        "piece_numbers": {"": NUMBER},
        "events": {
            "time": NUMBER,
            "kind": Range(0, len(EventKind) - 1),
            "note": COUNT,
            "status": WHOLE,
            "steps": WHOLE,
            "pieces": COUNT,
            "contacts": COUNT,
            "stages": COUNT,
            "width": COUNT,
            "text": COUNT,
            "energy_change": NUMBER,
            "until": OR_NONE,
        },
        "event_contacts": {
            "first": body,
            "second": body,
            "feature": Range(0, max(Feature)),
            "index": WHOLE,
            "point": NUMBER,
            "normal": NUMBER,
            "tangent": NUMBER,
            "velocity": NUMBER,
            "impulse": NUMBER,
            "after": NUMBER,
            "along": NUMBER,
            "radius": NUMBER,
            "gap": NUMBER,
            "friction": Range(0.0, _LARGEST),
            "restitution": Range(0.0, 1.0),
        },
        "stage_log": {"": NUMBER},
        "works": {"origin": NUMBER, "start": NUMBER, "end": NUMBER, "work": NUMBER},
        "jumps": {"time": NUMBER, "energy": NUMBER},
        "texts": {},
    }


class RowCheck:
    """Looks whether rows of a table are within the ranges of its columns.

    name, dtype : of the table
    ranges : of its columns; those that have none can be anything
    """

    def __init__(self, name: str, dtype: np.dtype[Any], ranges: dict[str, Range]):
        self._name = name
        self._words = dtype.itemsize // _WORD
        self._columns: list[str] = []  # of each word
        kinds: list[str] = []
        for column in ranges and (dtype.names or ("",)):
            base = dtype[column] if column else dtype
            self._columns += [column] * (base.itemsize // _WORD)
            kinds += [base.base.kind] * (base.itemsize // _WORD)
        found = [ranges[column] for column in self._columns]
        self._parts = []
        for kind, number in (("i", np.dtype("i8")), ("f", np.dtype("f8"))):  # by wholes others are restored
            which = np.flatnonzero([known == kind for known in kinds])
            if len(which):
                least = np.array([found[k].least for k in which], dtype=number)
                most = np.array([found[k].most for k in which], dtype=number)
                blank = np.array([found[k].blank for k in which], dtype=np.bool_)
                self._parts.append((number, which, least, most, blank))

    def refuse(self, rows: NDArray[Any]) -> None:
        """ValueError, naming column, row and value, for a number that is out of its range."""
        for number, which, least, most, blank in self._parts:
            words = rows.view(number).reshape(-1, self._words)
            if len(which) < self._words:
                words = words[:, which]
            good = (words >= least) & (words <= most)
            if blank.any():
                good |= blank & ~np.isfinite(words)
            if not good.all():
                row, word = (int(k) for k in np.argwhere(~good)[0])
                column = self._columns[int(which[word])]
                raise ValueError(
                    f"{self._name}: expected {column + ' ' if column else ''}from {least[word]:g} to "
                    f"{most[word]:g}, got {words[row, word]}"
                )


def refuse_turned(states: NDArray[np.float64]) -> None:
    """ValueError where the quaternion of a packed state (n, 13) is not of unit length."""
    length = np.linalg.norm(states[:, 3:7], axis=1)
    wrong = np.flatnonzero(~(np.abs(length - 1.0) <= _UNIT))
    if len(wrong):
        raise ValueError(f"pieces: expected quaternions of unit length, got {length[wrong[0]]:.9g}")


# -- what an HDF5 file is asked for --------------------------------------------------------------------------


def group_in(parent: h5py.Group, name: str) -> h5py.Group:
    """A group in another one, of the same file."""
    _refuse_elsewhere(parent, name)
    found = parent[name]
    if not isinstance(found, h5py.Group):
        raise ValueError(f"{name}: expected a group, got a {type(found).__name__.lower()}")
    return found


def dataset_in(
    parent: h5py.Group,
    name: str,
    dtypes: tuple[np.dtype[Any], ...],
    rank: int | tuple[int, ...] = 1,
    size: int | None = None,
    packed: bool = False,
) -> h5py.Dataset:
    """A data set in a group, of the same file, of one of these types and ranks; nothing of it is read.

    size : bytes of the file; where it is given, the data set may not have more, as one may that is to be read whole
    packed : whether it may be packed, as `PACKED` says
    """
    _refuse_elsewhere(parent, name)
    found = parent[name]
    if not isinstance(found, h5py.Dataset):
        raise ValueError(f"{name}: expected a data set, got a {type(found).__name__.lower()}")
    ranks = rank if isinstance(rank, tuple) else (rank,)
    if found.shape is None or found.ndim not in ranks:
        raise ValueError(f"{name}: expected rank {' or '.join(map(str, ranks))}, got shape {found.shape}")
    if found.dtype not in dtypes:
        raise ValueError(f"{name}: expected numbers of type {dtypes[0]}, got {found.dtype}"[:300])
    created = found.id.get_create_plist()
    if found.is_virtual or created.get_external_count():
        raise ValueError(f"{name}: expected its numbers in the file itself, got a reference to another file")
    if created.get_nfilters() and not (packed and is_packed(found)):
        raise ValueError(f"{name}: expected numbers as they are, got compressed ones")
    if size is not None and math.prod(found.shape) * found.dtype.itemsize > size:
        raise ValueError(f"{name}: expected no more than the file's {size} bytes, got shape {found.shape}")
    return found


def is_packed(dataset: h5py.Dataset) -> bool:
    """Whether the chunks of a data set are packed as a recorder packs them."""
    created = dataset.id.get_create_plist()
    found = [created.get_filter(k)[0] for k in range(created.get_nfilters())]
    return found == [h5py.h5z.FILTER_SHUFFLE, h5py.h5z.FILTER_DEFLATE]


def _refuse_elsewhere(parent: h5py.Group, name: str) -> None:
    """ValueError for what is not there, and for soft and external links."""
    link = parent.get(name, getlink=True)
    if link is None:
        raise ValueError(f"{name}: not in the file")
    if not isinstance(link, h5py.HardLink):
        raise ValueError(f"{name}: expected it in the file itself, got a link to elsewhere")


def number_of(owner: Any, name: str) -> float:
    """An attribute that is one finite number."""
    value = float(_attribute(owner, name, "fiu"))  # the least whole number has no absolute value of its type
    if not abs(value) <= _LARGEST:
        raise ValueError(f"{name}: expected a finite number, got {value}")
    return value


def whole_of(owner: Any, name: str, least: int = 0, most: int = 2**63 - 1) -> int:
    """An attribute that is one whole number."""
    value = int(_attribute(owner, name, "iu"))
    if not least <= value <= most:
        raise ValueError(f"{name}: expected a whole number from {least} to {most}, got {value}")
    return value


def write_text(owner: Any, name: str, text: str) -> None:
    """Make a text an attribute, of its own length.

    Texts of any length would lie in HDF5's global heap, which has no checksum: one damaged byte there lets HDF5
    search for ever.
    """
    content = text.encode()
    owner.attrs.create(name, np.bytes_(content), dtype=h5py.string_dtype("utf-8", max(1, len(content))))


def text_of(owner: Any, name: str) -> str:
    """An attribute that is a text, as `write_text` makes it."""
    return bytes(_attribute(owner, name, "S")).rstrip(b"\x00").decode()


def _attribute(owner: Any, name: str, kinds: str) -> Any:
    """A scalar attribute of one of these kinds of numpy's types."""
    if name not in owner.attrs:
        raise ValueError(f"{name}: not in the file")
    stored = owner.attrs.get_id(name)
    if stored.shape != () or stored.dtype.kind not in kinds:
        raise ValueError(f"{name}: expected one {'text' if kinds == 'S' else 'number'}, got {stored.dtype}")
    return owner.attrs[name]
