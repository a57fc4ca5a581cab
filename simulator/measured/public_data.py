"""Reading the two public data sets of measured impacts: tosses of a cube, and bounces of a planar ellipse."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ...bodies import Body, Box
from .impact_set import BodyParameters, ImpactSet
from .measured import Measured

CUBE_RATE = 148.0
CUBE_SIDE, CUBE_MASS, CUBE_MOMENT = 0.1048, 0.37, 0.81e-3


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


def read_public_data(path: str | Path) -> CubeTosses | EllipseBounces:
    """What a file holds, by the names of its arrays: ``toss_<id>`` (frames, 13) of position [m], quaternion
    (w, x, y, z) and velocities, at 148 Hz; or ``velocity_before``, ``velocity_after``, ``lever``, ``clean``
    and ``gyration_squared`` of bounces.

    Raises FileNotFoundError, and ValueError for a file that holds neither.
    """
    file = Path(path)
    try:
        stored = np.load(file, allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise ValueError(f"{file}: expected an .npz file of arrays, {error}") from None
    if not isinstance(stored, np.lib.npyio.NpzFile):
        raise ValueError(f"{file}: expected an .npz file of several arrays, got one array")
    with stored:
        tosses = [name for name in stored.files if name.startswith("toss_")]
        if tosses:
            return CubeTosses([_toss(name, stored[name]) for name in tosses], published_cube())
        wanted = ("velocity_before", "velocity_after", "lever", "clean", "gyration_squared")
        if all(name in stored for name in wanted):
            before, after, lever, clean, gyration = (stored[name] for name in wanted)
            impacts = ImpactSet.planar(
                before[clean], after[clean], lever[clean], float(np.sqrt(gyration)), np.flatnonzero(clean)
            )
            return EllipseBounces(impacts, BodyParameters(np.zeros(3), float(gyration) * np.eye(3)))
        raise ValueError(
            f"{file}: expected arrays toss_<id>, or {', '.join(wanted)}, got {', '.join(stored.files)}"
        )


def published_cube() -> Body:
    """The cube as its authors describe it."""
    return Body(Box((CUBE_SIDE,) * 3), mass=CUBE_MASS, inertia=CUBE_MOMENT * np.eye(3))


def _toss(name: str, frames: np.ndarray) -> Measured:
    return Measured(np.arange(len(frames)) / CUBE_RATE, frames[:, :3], frames[:, 3:7], name=name)
