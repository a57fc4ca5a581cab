"""Reading the two public data sets of measured impacts: tosses of a cube, and bounces of a planar ellipse."""

import os
from dataclasses import dataclass

import numpy as np

from ...bodies import Body, Box, checks
from ...bodies.files import FileFormatError, file_path
from ...bodies.tolerances import LARGEST_COORDINATE
from .impact_set import BodyParameters, ImpactSet
from .measured import Measured
from .stored_arrays import LARGEST_FILE, StoredArrays

CUBE_RATE = 148.0
CUBE_SIDE, CUBE_MASS, CUBE_MOMENT = 0.1048, 0.37, 0.81e-3
_BOUNCES = ("velocity_before", "velocity_after", "lever", "clean", "gyration_squared")


@dataclass(frozen=True, eq=False)
class CubeTosses:
    """Tosses of an acrylic cube (ContactNets: Pfrommer, Halm, Posa, CoRL 2020), and the cube as it was
    published."""

    motions: list[Measured]
    body: Body


@dataclass(frozen=True, eq=False)
class EllipseBounces:
    """Bounces of a planar ellipse (Fazeli, Donlon, Drumwright, Rodriguez, arXiv 1710.05947) that no flag
    marks."""

    impacts: ImpactSet
    parameters: BodyParameters


def read_public_data(
    path: "str | os.PathLike", *, size_limit: int = LARGEST_FILE
) -> CubeTosses | EllipseBounces:
    """What a file holds, by the names of its arrays: ``toss_<id>`` (frames, 13) of position [m], quaternion
    (w, x, y, z) and velocities, at 148 Hz; or ``velocity_before``, ``velocity_after``, ``lever``, ``clean``
    and ``gyration_squared`` of bounces.

    size_limit : bytes that the file may have, also unpacked; by default 2^28

    Raises FileFormatError, a ValueError, for a file that holds neither.
    """
    file = file_path("path", path)
    stored = StoredArrays(file, size_limit)
    try:
        tosses = [name for name in stored.names if name.startswith("toss_")]
        if tosses:
            return CubeTosses([_toss(name, stored[name]) for name in tosses], published_cube())
        if all(name in stored for name in _BOUNCES):
            return _bounces(stored)
    except FileFormatError:
        raise
    except (TypeError, ValueError) as error:
        raise FileFormatError(file, str(error)) from None
    found = ", ".join(stored.names)[:200] or "none"
    raise FileFormatError(file, f"expected arrays toss_<id>, or {', '.join(_BOUNCES)}, got {found}")


def published_cube() -> Body:
    """The cube as its authors describe it."""
    return Body(Box((CUBE_SIDE,) * 3), mass=CUBE_MASS, inertia=CUBE_MOMENT * np.eye(3))


def _toss(name: str, frames: np.ndarray) -> Measured:
    if frames.ndim != 2 or frames.shape[1] < 7:
        raise ValueError(f"{name[:60]}: expected shape (frames, 13), got {frames.shape}")
    try:
        return Measured(np.arange(len(frames)) / CUBE_RATE, frames[:, :3], frames[:, 3:7], name=name)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name[:60]}: {error}") from None


def _bounces(stored: StoredArrays) -> EllipseBounces:
    before = checks.array("velocity_before", stored["velocity_before"], (None, 3))
    after = checks.array("velocity_after", stored["velocity_after"], (len(before), 3))
    lever = checks.array("lever", stored["lever"], (len(before), 2))
    clean = stored["clean"]
    if clean.dtype != np.bool_ or clean.shape != (len(before),):
        raise ValueError(
            f"clean: expected {len(before)} truth values, got {clean.dtype} of shape {clean.shape}"
        )
    gyration = float(checks.array("gyration_squared", stored["gyration_squared"], ()))
    if not 0.0 < gyration <= LARGEST_COORDINATE:
        raise ValueError(
            f"gyration_squared: expected a number greater than 0, at most {LARGEST_COORDINATE:g}, got {gyration:g}"
        )
    for name, rows in (("velocity_before", before), ("velocity_after", after), ("lever", lever)):
        if np.abs(rows).max(initial=0.0) > LARGEST_COORDINATE:
            raise ValueError(f"{name}: expected numbers of at most {LARGEST_COORDINATE:g}")
    impacts = ImpactSet.planar(
        before[clean], after[clean], lever[clean], float(np.sqrt(gyration)), np.flatnonzero(clean)
    )
    return EllipseBounces(impacts, BodyParameters(np.zeros(3), gyration * np.eye(3)))
