"""A measured motion of one rigid body: times, places of a tracked point, and orientations."""

import array
import csv
import io
from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from ...bodies import checks
from ...bodies.files import FileFormatError, file_path, read_bytes
from ...bodies.rotation import rotation_matrices
from ...bodies.tolerances import LARGEST_COORDINATE
from . import tracking
from .flights import Flight, flights_of
from .impacts import MeasuredImpact, impacts_of
from .stored_arrays import LARGEST_FILE, StoredArrays

if TYPE_CHECKING:
    from ...bodies import Scene
    from .shown import ShownMotion

Array = NDArray[np.float64]

_UNITS = {"m": 1.0, "cm": 1e-2, "mm": 1e-3, "in": 0.0254}
_EVEN = 0.02
"""Share of a frame by which intervals between frames may differ; more are frames that are missing."""
_FEWEST = 8
"""Frames below which nothing can be told."""
_SHARPEST = 1e-6
"""[m], [rad] below which no noise is believed: that of motions without any would be rounding."""
_LENGTH = 1e-3
"""Of a measured quaternion, by which it may differ from one."""


@dataclass(frozen=True, eq=False)
class Measured:
    """A motion as it was measured, which splits itself into flights and contact.

    Parameters
    ----------
    time : (n,) [s], increasing, evenly spaced
    position : (n, 3) of the tracked point, in `unit`, in a frame that does not turn
    orientation : (n, 4) quaternions from body to world; both signs are the same orientation
    unit : "m", "cm", "mm" or "in", of the positions; everything else is in metres
    quaternion_order : "wxyz" or "xyzw"
    center_of_mass : (3,) [m], from the tracked point, in body axes
    gyration : (3, 3) [m²], inertia over mass about the centre of mass in body axes; None counts as a ball's,
    whose
        spin lasts in flight
    gravity : (3,) [m/s²], in the world
    name : of the motion, for messages

    All arrays are read-only. Raises ValueError or TypeError in one sentence: times that run backwards or
    leave out frames, shapes that do not fit, quaternions that are none, and a fall that no gravity makes,
    such as of positions in millimetres.

    Example
    -------
    >>> t = np.arange(40) / 200.0
    >>> fall = np.column_stack([0.5 * t, 0.0 * t, 1.0 - 4.905 * t**2])
    >>> measured = carom.Measured(t, fall, np.tile([1.0, 0, 0, 0], (40, 1)))
    >>> [(flight.first, flight.last) for flight in measured.flights]
    [(0, 39)]
    """

    time: Any
    position: Any
    orientation: Any
    _: KW_ONLY
    unit: Literal["m", "cm", "mm", "in"] = "m"
    quaternion_order: Literal["wxyz", "xyzw"] = "wxyz"
    center_of_mass: Any = (0.0, 0.0, 0.0)
    gyration: Any = None
    gravity: Any = (0.0, 0.0, -9.81)
    name: str = "motion"

    def __post_init__(self) -> None:
        put = object.__setattr__
        for name, known in (("unit", tuple(_UNITS)), ("quaternion_order", ("wxyz", "xyzw"))):
            value = getattr(self, name)
            if not isinstance(value, str) or value not in known:
                raise ValueError(f"{name}: expected one of {', '.join(known)}, got {checks.shown(value)}")
        put(self, "time", _checked_times(self.time))
        count = len(self.time)
        position = _in_range("position", checks.array("position", self.position, (None, 3)))
        orientation = checks.array("orientation", self.orientation, (None, 4))
        for field_name, rows in (("position", position), ("orientation", orientation)):
            if len(rows) != count:
                raise ValueError(
                    f"{field_name}: expected a row for each of {count} times, got {len(rows)} rows"
                )
        put(self, "position", _kept(position * _UNITS[self.unit]))
        put(self, "unit", "m")
        put(self, "orientation", _kept(_checked_quaternions(orientation, self.quaternion_order)))
        put(self, "quaternion_order", "wxyz")
        for field_name, shape in (("center_of_mass", (3,)), ("gravity", (3,)), ("gyration", (3, 3))):
            value = getattr(self, field_name)
            if field_name != "gyration" or value is not None:
                put(self, field_name, _in_range(field_name, checks.array(field_name, value, shape)))

    @classmethod
    def read(cls, path: str | PathLike[str], *, size_limit: int = LARGEST_FILE, **options: Any) -> Self:
        """A motion from a file: .npz with arrays `time`, `position` and `orientation`, or .csv with a header
        line and columns t, x, y, z, qw, qx, qy, qz in any order (others are ignored).

        ``size_limit`` [bytes] is that of the file, also unpacked, by default 2^28; ``options`` are those of the
        class. Raises FileFormatError, which is a ValueError, with the path for a file that is none of these, and
        ValueError that names file and field.
        """
        file = file_path("path", path)
        is_npz = file.suffix.lower() == ".npz"
        columns = _npz_columns(file, size_limit) if is_npz else _csv_columns(file, size_limit)
        options.setdefault("name", file.stem)
        try:
            return cls(*columns, **options)
        except (TypeError, ValueError) as error:
            raise type(error)(f"{file}: {error}") from None

    def of_body(self, center_of_mass: Any, gyration: Any, gravity: Any = None) -> "Measured":
        """The same motion of a body whose centre of mass (3,) [m] and inertia over mass (3, 3) [m²] are known
        better, under gravity (3,) [m/s²] that is."""
        return replace(
            self,
            center_of_mass=center_of_mass,
            gyration=gyration,
            gravity=self.gravity if gravity is None else gravity,
        )

    def shown_in(self, scene: "Scene") -> "ShownMotion":
        """The only body of a scene that can move, moving as it was measured: for windows and pictures."""
        from .shown import ShownMotion  # which knows this class

        return ShownMotion(self, scene)

    @property
    def interval(self) -> float:
        """Time from frame to frame [s]."""
        return float((self.time[-1] - self.time[0]) / (len(self.time) - 1))

    @cached_property
    def rotation(self) -> Array:
        """Rotation matrices (n, 3, 3), body to world."""
        return rotation_matrices(self.orientation)

    @cached_property
    def center(self) -> Array:
        """Places (n, 3) [m] of the centre of mass."""
        return self.position + self.rotation @ self.center_of_mass

    @cached_property
    def frame_noise(self) -> tuple[float, float]:
        """Standard deviations of one frame: of a coordinate [m] and of a component of turning [rad]; from
        fourth differences, so of what changes from frame to frame only."""
        position = tracking.high_differences(self.position)
        turning = 2.0 * tracking.high_differences(self.orientation)
        return max(position, _SHARPEST), max(turning, _SHARPEST)

    @cached_property
    def flights(self) -> list[Flight]:
        """Runs of frames that move as a free body does, in order; ValueError where there is none, or where
        flights fall so that positions must be in another unit."""
        found = flights_of(
            self.time, self.center, self.rotation, self.gravity, self.gyration_matrix, self.frame_noise
        )
        if not found:
            _explain_no_flight(self)
        return found

    @cached_property
    def impacts(self) -> list[MeasuredImpact]:
        """Impacts between flights that follow each other at once, with states before and after, in order."""
        return impacts_of(self)

    @property
    def gyration_matrix(self) -> Array:
        """Inertia over mass (3, 3) [m²]; of a ball where it is not known."""
        return np.eye(3) if self.gyration is None else np.asarray(self.gyration)


def _in_range(field_name: str, numbers: Array) -> Array:
    """ValueError where a number is so large that squares of it could leave the range of numbers."""
    largest = float(np.abs(numbers).max(initial=0.0))
    if largest > LARGEST_COORDINATE:
        raise ValueError(f"{field_name}: expected numbers of at most {LARGEST_COORDINATE:g}, got {largest:g}")
    return numbers


def _checked_times(value: Any) -> Array:
    time = _in_range("time", checks.array("time", value, (None,)))
    if len(time) < _FEWEST:
        raise ValueError(f"time: expected at least {_FEWEST} frames, got {len(time)}")
    steps = np.diff(time)
    if not (steps > 0.0).all():
        where = int(np.argmin(steps > 0.0))
        raise ValueError(
            f"time: expected increasing times, got {time[where + 1]:g} s after {time[where]:g} s at frame "
            f"{where + 1}"
        )
    typical = float(np.median(steps))
    uneven = np.abs(steps / typical - 1.0) > _EVEN
    if uneven.any():
        where = int(np.argmax(uneven))
        raise ValueError(
            f"time: expected a frame every {typical:.6g} s, got {steps[where]:.6g} s before frame {where + 1}: "
            "frames are missing there, so give the parts before and after as motions of their own"
        )
    return time


def _checked_quaternions(orientation: Array, order: str) -> Array:
    _in_range("orientation", orientation)
    length = np.linalg.norm(orientation, axis=1)
    bad = np.abs(length - 1.0) > _LENGTH
    if bad.any():
        where = int(np.argmax(bad))
        raise ValueError(
            f"orientation: expected unit quaternions, got one of length {length[where]:.4g} at frame {where}"
        )
    unit = orientation / length[:, None]
    return tracking.continuous(unit if order == "wxyz" else unit[:, [3, 0, 1, 2]])


def _kept(array: Array) -> Array:
    array.setflags(write=False)
    return array


def _explain_no_flight(measured: Measured) -> None:
    """Raise ValueError that says why there is no flight."""
    true = float(np.linalg.norm(measured.gravity))
    for unit, scale in (("mm", 1e3), ("cm", 1e2), ("in", 1.0 / 0.0254)):
        shrunk = measured.frame_noise[0] / scale, measured.frame_noise[1]
        found = flights_of(
            measured.time, measured.center / scale, measured.rotation, measured.gravity,
            measured.gyration_matrix, shrunk,
        )  # fmt: skip
        if found:
            raise ValueError(
                f"position: expected metres, but the flights of {measured.name} fall with {true * scale:.4g} "
                f"per s²: positions are in {unit}, so give unit={unit!r}"
            )
    raise ValueError(
        f"position: expected a motion that flies somewhere, but no {_FEWEST // 2} frames of {measured.name} in a "
        f"row fall with {true:.4g} m/s²"
    )


def _npz_columns(path: Path, size_limit: int) -> tuple[Array, Array, Array]:
    stored = StoredArrays(path, size_limit)
    for name in ("time", "position", "orientation"):
        if name not in stored:
            found = ", ".join(stored.names)[:200]
            raise FileFormatError(
                path, f"expected arrays time, position and orientation, got {found or 'none'}"
            )
    return stored["time"], stored["position"], stored["orientation"]


def _csv_columns(path: Path, size_limit: int) -> tuple[Array, Array, Array]:
    content = read_bytes(path, size_limit, "a .csv file")
    numbers, wanted = array.array("d"), ("t", "x", "y", "z", "qw", "qx", "qy", "qz")
    try:
        rows = csv.reader(io.StringIO(content.decode("utf-8-sig"), newline=""))
        header = [name.strip().lower() for name in next(rows, [])]
        missing = [name for name in wanted if name not in header]
        if missing:
            raise FileFormatError(
                path, f"expected columns {', '.join(wanted)}, got none named {', '.join(missing)}"
            )
        columns = [header.index(name) for name in wanted]
        for row in rows:
            if row:
                numbers.extend([float(row[k]) for k in columns])
    except FileFormatError:
        raise
    except (UnicodeDecodeError, csv.Error) as error:
        raise FileFormatError(path, f"is not a .csv file of numbers ({error})") from None
    except (ValueError, IndexError) as error:
        raise FileFormatError(
            path, f"expected a number in every row and column, {str(error)[:200]}"
        ) from None
    if not numbers:
        raise FileFormatError(path, "expected rows of numbers below the header, got none")
    table = np.array(numbers).reshape(-1, len(wanted))
    return table[:, 0], table[:, 1:4], table[:, 4:8]
