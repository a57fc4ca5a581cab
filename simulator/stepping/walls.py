"""Fixed bodies of a scene as the walls of a step, and walls that move as they are told."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from ...bodies import Body, Box, Capsule, ConvexMesh, Cylinder, HalfSpace, Mesh, Sphere, checks
from ...bodies.rotation import rotation_matrices
from ..tolerances import SLIVER
from .mesh_grid import MeshGrid, mesh_grid
from .walls_kernels import BALL, BOX, CAPSULE, CYLINDER, HULL, MESH, PLANE, WALL

Array = NDArray[np.float64]
SHAPES = "HalfSpace, Box, Sphere, Cylinder, Capsule, ConvexMesh and Mesh"

SEAM = 1e-10
"""Of the size of a mesh: two of its places that are nearer to each other are one."""


@dataclass(frozen=True)
class WallMotion:
    """How a fixed body moves, whatever pushes it: steadily, and from the start again after each period.

    velocity : (3,) [m/s] of its centre of mass, in the world
    angular_velocity : (3,) [rad/s] about that, in the world
    period : [s] after which it is where it was at the start; None: never. A whole number of steps

    >>> import carom
    >>> piston = carom.WallMotion(velocity=(1.0, 0, 0), period=9.4e-4)
    """

    velocity: Any = (0.0, 0.0, 0.0)
    angular_velocity: Any = (0.0, 0.0, 0.0)
    period: float | None = None

    def __post_init__(self) -> None:
        assign = object.__setattr__
        for name in ("velocity", "angular_velocity"):
            assign(self, name, tuple(checks.array(name, getattr(self, name), (3,)).tolist()))
        if self.period is not None:
            assign(self, "period", checks.number("period", self.period, above=0.0))


class WallTables(NamedTuple):
    """The fixed bodies as kernels read them.

    rows (w,) : WALL, where they are now
    faces (F, 13) : triangles of hulls and meshes: three corners, unit normal and offset of the plane
    cell_starts, cell_faces, cell_inside : of the grids of meshes, see `MeshGrid`, one after the other
    most_places : of a wall near a ball, at most
    """

    rows: NDArray
    faces: Array
    cell_starts: NDArray[np.int64]
    cell_faces: NDArray[np.int32]
    cell_inside: NDArray[np.bool_]
    most_places: int


class Walls:
    """The fixed bodies: their tables, and where they are at a time.

    bodies : fixed, in the order of the scene
    surfaces : of each the row in the table of friction
    motions : of those that move, by name
    step : [s]; periods are whole numbers of it
    reach : [m] distance from a centre up to which places on meshes are asked for

    TypeError for a shape whose distance from a ball is not known here, ValueError for a motion of no such body.
    """

    def __init__(
        self,
        bodies: Sequence[Body],
        surfaces: Sequence[int],
        motions: Mapping[str, WallMotion],
        step: float,
        reach: float,
    ):
        self.names = [str(body.name) for body in bodies]
        rows = np.zeros(len(bodies), WALL)
        faces, grids = [np.zeros((0, 13))], _Grids()
        self._offset = np.zeros((len(bodies), 3))
        for row, offset, body, surface in zip(rows, self._offset, bodies, surfaces, strict=True):
            row["surface"] = surface
            offset[:] = _fill(row, body, faces)
            if row["kind"] == MESH:
                grids.add(row, mesh_grid(faces[-1], reach, bool(row["closed"])))
            _fill_box(row)
        self.tables = WallTables(rows, np.concatenate(faces), *grids.joined())
        self._start = rows.copy()
        self._centre = np.array([body.position for body in bodies]).reshape(-1, 3)
        self._moving: list[tuple[int, WallMotion, int]] = []
        for name, motion in motions.items():
            if name not in self.names:
                known = ", ".join(map(repr, self.names)) or "none"
                raise ValueError(f"motions: no fixed body is named {name!r}; known are: {known}")
            if not isinstance(motion, WallMotion):
                raise TypeError(f"motions[{name!r}]: expected a WallMotion, got {type(motion).__name__}")
            steps = 0 if motion.period is None else whole_steps("period", motion.period, step)
            self._moving.append((self.names.index(name), motion, steps))
        self.place(0, step)

    def place(self, steps: int, step: float) -> None:
        """Put every wall where it is after so many steps [s]."""
        for k, motion, period in self._moving:
            time = step * (steps % period if period else steps)
            row = self.tables.rows[k]
            turn = Rotation.from_rotvec(time * np.array(motion.angular_velocity)).as_matrix()
            offset = turn @ self._start["turn"][k] @ self._offset[k]
            row["turn"] = turn @ self._start["turn"][k]
            row["position"] = self._centre[k] + time * np.array(motion.velocity) + offset
            row["velocity"] = np.array(motion.velocity) + np.cross(motion.angular_velocity, offset)
            row["spin"] = motion.angular_velocity
            _fill_box(row)


class _Grids:
    """Grids of several meshes, one after the other."""

    def __init__(self) -> None:
        self._starts, self._members = [np.zeros(0, np.int64)], [np.zeros(0, np.int32)]
        self._inside = [np.zeros(0, bool)]
        self._most = 1

    def add(self, row: Any, grid: MeshGrid) -> None:
        """Put a grid behind the others and fill where it is into the row of its wall."""
        row["first_cell"] = sum(map(len, self._starts))
        row["cells"], row["grid_low"], row["inverse_edge"] = grid.cells, grid.low, 1.0 / grid.edge
        self._starts.append(grid.starts + sum(map(len, self._members)))
        self._members.append(grid.members + row["first_face"].astype(np.int32))
        self._inside.append(np.append(grid.inside, [False, False]))
        self._most = max(self._most, int(np.diff(grid.starts[:-1]).max()))

    def joined(self) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.bool_], int]:
        """As `WallTables` has them."""
        return (
            np.concatenate(self._starts), np.concatenate(self._members), np.concatenate(self._inside), self._most,
        )  # fmt: skip


def whole_steps(field: str, time: float, step: float) -> int:
    """How many steps [s] a time [s] takes; ValueError where that is no whole number, or 0."""
    count = round(time / step)
    if count < 1 or abs(time - count * step) > 1e-6 * step:
        raise ValueError(f"{field}: expected a whole number of steps of {step:g} s, got {time:g} s")
    return count


def _fill(row: Any, body: Body, faces: list[Array]) -> Array:
    """Fill the row of a wall and add its faces; where the origin of its kernels lies in body axes (3,)."""
    shape = body.shape
    turn = rotation_matrices(body.orientation)
    offset = np.asarray(body.shape_offset)
    kind, size, radius = -1, (0.0, 0.0, 0.0), 0.0
    if isinstance(shape, HalfSpace):
        kind, size = PLANE, tuple(shape.normal)
        offset = shape.offset * shape.normal
    elif isinstance(shape, Sphere):
        kind, radius = BALL, shape.radius
    elif isinstance(shape, Box):
        kind, size, radius = BOX, tuple(0.5 * np.array(shape.lengths) - shape.radius), shape.radius
    elif isinstance(shape, Cylinder):
        kind, size = CYLINDER, (shape.radius, 0.5 * shape.length, 0.0)
    elif isinstance(shape, Capsule):
        kind, size, radius = CAPSULE, (0.0, 0.5 * shape.length, 0.0), shape.radius
    elif isinstance(shape, ConvexMesh | Mesh):
        kind, radius = (MESH, 0.0) if isinstance(shape, Mesh) else (HULL, shape.radius)
        row["first_face"] = sum(map(len, faces))
        faces.append(_mesh_triangles(shape) if isinstance(shape, Mesh) else _triangles(shape))
        row["last_face"] = row["first_face"] + len(faces[-1])
        corners = faces[-1][:, :9].reshape(-1, 3)
        low, high = corners.min(axis=0), corners.max(axis=0)
        size, row["middle"] = tuple(0.5 * (high - low)), 0.5 * (low + high)
        row["closed"] = isinstance(shape, ConvexMesh) or shape.closed
        row["seam"] = SEAM * shape.bounding_radius
    else:
        raise TypeError(
            f"body {body.name!r}: time steps know the distance of spheres from {SHAPES}, "
            f"got {type(shape).__name__}"
        )
    row["kind"], row["size"], row["radius"], row["turn"] = kind, size, radius, turn
    row["position"] = body.position + turn @ offset
    return offset


def _triangles(shape: ConvexMesh) -> Array:
    """Faces (F, 13): three corners, unit normal and offset of the plane of every triangle of a hull."""
    polygons, normals = shape.faces()
    rows = []
    for polygon, normal in zip(polygons, normals, strict=True):
        corners = shape.vertices[polygon]
        offset = float((corners @ normal).mean())
        for k in range(1, len(polygon) - 1):
            rows.append(np.concatenate([corners[0], corners[k], corners[k + 1], normal, [offset]]))
    return np.array(rows)


def _mesh_triangles(shape: Mesh) -> Array:
    """As `_triangles`, of a mesh, without those that are so thin that they have no direction."""
    corners = shape.vertices[shape.triangles]
    sides = corners[:, [1, 2, 0]] - corners
    area = np.cross(sides[:, 0], sides[:, 1])
    twice = np.linalg.norm(area, axis=1)
    size = float(np.ptp(shape.vertices, axis=0).max())
    thick = twice > SLIVER * size * np.linalg.norm(sides, axis=2).max(axis=1)
    corners, normal = corners[thick], area[thick] / twice[thick, None]
    offset = np.einsum("fi,fi->f", corners.mean(axis=1), normal)
    return np.hstack([corners.reshape(-1, 9), normal, offset[:, None]])


def _fill_box(row: Any) -> None:
    """Fill the box in the world that holds a wall."""
    kind, size, turn = int(row["kind"]), row["size"], row["turn"]
    if kind == PLANE:
        row["low"], row["high"], row["normal"] = -np.inf, np.inf, turn @ size
        return
    half = {BALL: (0, 0, 0), CYLINDER: (size[0], size[0], size[1]), CAPSULE: (0, 0, size[1])}.get(kind, size)
    around = np.abs(turn) @ np.asarray(half, dtype=float) + row["radius"]
    middle = row["position"] + turn @ row["middle"]
    row["low"], row["high"] = middle - around, middle + around
