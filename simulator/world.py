"""The world of a run: every array that changes in it, and the fixed numbers of its scene, in named tables.

Copying a run is copying these tables; so are branching from it and going on from a checkpoint. What the columns
mean is said where the kernels read them, in ``engine/tables_kernels.py``.
"""

import ctypes
import math
import os
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..bodies import Body, Cylinder, Ellipsoid, HalfSpace, Material, Mesh, SpeedRestitution, Sphere
from ..bodies.joints import RowKind
from ..bodies.material import combine
from .engine import pairs_kernels, tables_kernels
from .engine.flight_kernels import states_at
from .engine.tables_kernels import HEADER, NUMBER, SCENE_TABLES, STILL, TABLES
from .kernels import TERMS
from .left_behind import WeakValues
from .scales import Scales
from .state import Array, Model, shape_key
from .tolerances import IMPLICIT_STEP

_GROW = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)
_FEW_BODIES = 24  # that are quicker to check all than to sort into cells
_LEVEL = 2.0  # ratio of the sizes in one level
_EDGE, _SLACK = (
    2.5,
    0.2,
)  # [largest radius of a level]; _EDGE - 2 _SLACK > 2 or touching bodies are overlooked
_NAMES = tuple(TABLES)
_ENDLESS = 1 << 62
_LEAST_ROOM = 16
_SPARE_BYTES = 1 << 24
_SPARE: list[NDArray[np.uint8]] = []  # kept so that a run can end in words where memory has run out
_FIRST_ROOM = {"pieces": 128, "piece_numbers": 8192, "events": 128, "event_contacts": 256, "stage_log": 512}
"""Rows that tables have at first: those of what is logged grow the most."""


class World:
    """Tables of a run, by name as attributes, and their addresses for the kernels.

    model : the scene that it is of
    header : the one record of numbers that are not in tables, see ``tables_kernels.HEADER``
    address : what every kernel takes
    failure : what a part in Python raised
    touched : of pairs with triangle meshes, what their contacts hold together, see `python_parts`
    """

    _alive: ClassVar[WeakValues["World"]] = WeakValues()

    def __init__(self, model: Model, tables: dict[str, NDArray[Any]], header: NDArray[Any]):
        self.model = model
        self._tables = tables
        self._header = header
        self.failure: BaseException | None = None
        self.touched: dict[tuple[int, int], Any] = {}
        header["grow"] = ctypes.cast(_grown, ctypes.c_void_p).value
        if not _SPARE:
            _SPARE.append(np.empty(_SPARE_BYTES, dtype=np.uint8))
        for name in TABLES:
            self._attach(name)
        self._alive.put(self.address, self)

    @classmethod
    def at(cls, address: int) -> "World":
        """The world whose header lies at an address."""
        found = cls._alive.get(address)
        if found is None:
            raise KeyError(f"no world lies at {address}")
        return found

    @property
    def header(self) -> Any:
        """The header, a record whose fields can be read and set."""
        return self._header[0]

    @property
    def address(self) -> int:
        """The address of the header."""
        return int(self._header.ctypes.data)

    def __getattr__(self, name: str) -> NDArray[Any]:
        tables = self.__dict__.get("_tables", {})
        if name in tables:
            return tables[name][: int(self._header[0][f"{name}_count"])]
        raise AttributeError(f"{type(self).__name__} has no table {name!r}")

    def table(self, name: str, count: int) -> NDArray[Any]:
        """The first rows of a table, whose count of rows in use stands elsewhere."""
        return self._tables[name][:count]

    def states_at(self, time: float, bodies: Any = None) -> Array:
        """Packed states (n, 13) at a time [s] within the present pieces, or those of these bodies alone."""
        count = self.model.count
        which = np.arange(count) if bodies is None else np.array(bodies, dtype=np.int64)
        out = np.empty((count, 13)) if bodies is None else np.zeros((count, 13))
        states_at(self.address, which, time, out)
        return out

    def asked_states(self, count: int) -> Array:
        """The packed states (m, 13) of the bodies that are shown, about which a part is asked."""
        kept = (ctypes.c_double * (13 * count)).from_address(int(self.header["asked_state"]))
        return np.ctypeslib.as_array(kept).reshape(count, 13)

    def copy(self) -> "World":
        """An independent world at the same instant; what the scene fixes is shared."""
        tables = {
            name: table if name in SCENE_TABLES else table.copy() for name, table in self._tables.items()
        }
        copied = World(self.model, tables, self._header.copy())
        copied.touched = dict(self.touched)
        return copied

    def __reduce__(self) -> Any:
        """As tables; whoever takes it over elsewhere equips it anew, since parts lie at other addresses there."""
        return _arrived, (self.model, self._tables, self._header, self.touched)

    def reserve(self, name: str, rows: int) -> None:
        """Make room for so many rows of a table."""
        if rows > len(self._tables[name]):
            self._grow(NUMBER[name], rows)

    def _attach(self, name: str) -> None:
        table = self._tables[name]
        self._header[name] = table.ctypes.data
        self._header[f"{name}_room"] = len(table)

    def grow_or_fail(self, number: int, rows: int) -> None:
        """Make room in a table while the loop runs, which cannot go back on its way: where memory has run out, what
        is kept for this is given up, and the loop ends at its next turn with MemoryError in `failure`."""
        try:
            self._grow(number, rows)
        except MemoryError as error:
            self.failure = error
            self.header["failed"] = 1
            give_up_spare()
            try:
                self._grow(number, rows, ahead=False)
            except MemoryError:  # the loop would write behind the table
                os.write(2, b"carom: no memory is left, not even to end the run\n")
                os.abort()

    def _grow(self, number: int, rows: int, ahead: bool = True) -> None:
        """Make a table longer, twice as long at least if `ahead`; the index of pairs grows with these."""
        name = _NAMES[number]
        old = self._tables[name]
        room = max(rows, 2 * len(old), _LEAST_ROOM) if ahead else rows
        new = np.zeros((room, *old.shape[1:]), dtype=old.dtype)
        new[: len(old)] = old
        self._tables[name] = new
        self._attach(name)
        if name == "pairs":
            self._index_pairs()

    def _index_pairs(self) -> None:
        """Fill the index of pairs anew, with room to spare."""
        room = 1 << max(6, int(4 * len(self._tables["pairs"])).bit_length())
        index = np.full(room, -1, dtype=np.int64)
        self._tables["pair_index"] = index
        self._header["pair_index_count"] = room
        self._attach("pair_index")
        pairs_kernels.index_pairs(self.address)

    @classmethod
    def of_model(cls, model: Model, states: Array | None = None, time: float = 0.0) -> "World":
        """The world of a scene, every body where it starts, or in these packed states (n, 13), and none in motion
        yet."""
        n = model.count
        tables: dict[str, NDArray[Any]] = {
            name: np.zeros((_FIRST_ROOM.get(name, _LEAST_ROOM), *row), dtype=kind)
            for name, (kind, row) in TABLES.items()
        }
        header = np.zeros(1, dtype=HEADER)
        _fill_bodies(model, tables, header)
        _fill_shapes(model, tables, header)
        levels = _fill_levels(tables, header)
        tables["motions"] = np.zeros(n, dtype=tables_kernels.MOTION)
        motions = tables["motions"]
        motions["state"] = model.initial_states() if states is None else states
        motions["end"] = math.inf
        motions["kind"] = STILL
        motions["rests"] = 1
        motions["start"] = time
        motions["slot"] = motions["island"] = -1
        motions["stalled_at"] = -math.inf
        tables["places"] = np.zeros(n * levels, dtype=tables_kernels.PLACE)
        tables["places"]["bucket"] = -1
        own = tables["bodies"]["level"]
        for level in range(levels):
            tables["places"]["home"][level::levels] = own == level
        tables["heads"] = np.full(1 << max(4, int(2 * n * levels).bit_length()), -1, dtype=np.int64)
        tables["coefficients"] = np.zeros((max(1, min(n, 64)), tables_kernels.COEFFICIENT_ROWS, TERMS))
        tables["others"] = np.zeros(max(n, 1), dtype=np.int64)
        tables["pair_index"] = np.full(64, -1, dtype=np.int64)
        for name in ("motions", "places", "heads", "pair_index"):
            header[f"{name}_count"] = len(tables[name])
        for name in ("free_contact", "free_pair", "free_island", "free_slot"):
            header[name] = -1
        _fill_joints(model, tables, header)
        motions["bound"] = tables["bodies"]["joined"] >= 0
        scales = Scales.of(model, motions["state"])
        header["length"], header["speed"], header["duration"] = scales.length, scales.speed, scales.duration
        header["time"] = time
        header["log_limit"] = header["event_limit"] = header["turn_limit"] = _ENDLESS
        header["logs"] = 1
        header["accuracy"], header["longest_step"] = 1e-13, math.inf
        header["longest_micro_step"] = 1e-4 * scales.duration
        header["longest_implicit_step"] = IMPLICIT_STEP * scales.duration
        return cls(model, tables, header)


def _arrived(
    model: Model, tables: dict[str, NDArray[Any]], header: NDArray[Any], touched: dict[tuple[int, int], Any]
) -> World:
    """A world that came from another process, not yet equipped."""
    world = World(model, {name: np.array(table) for name, table in tables.items()}, np.array(header))
    world.touched = touched
    return world


def give_up_spare() -> None:
    """Memory has run out: use what was kept for this."""
    _SPARE.clear()


@_GROW
def _grown(address: int, table: int, rows: int) -> int:
    World.at(address).grow_or_fail(table, rows)
    return 0


def _fill_bodies(model: Model, tables: dict[str, NDArray[Any]], header: NDArray[Any]) -> None:
    """What the scene says of bodies, their surfaces and which of them collide."""
    scene, n = model.scene, model.count
    bodies = tables["bodies"] = np.zeros(n, dtype=tables_kernels.BODY)
    header["bodies_count"] = n
    bodies["movable"], bodies["mass"], bodies["size"] = model.movable, model.mass, model.size
    for name in ("inverse_mass", "inertia", "inverse_inertia", "drag"):
        bodies[name] = getattr(model, name)
    materials: dict[Material, int] = {}
    for row, body in zip(bodies, scene.bodies, strict=True):
        row["shape_class"] = _shape_class(body)
        row["material"] = materials.setdefault(body.material, len(materials))
        row["group"], row["mask"], row["sensor"] = body.collision_group, body.collision_mask, body.sensor
    bodies["joined"] = model.articulation.group_of
    for k, plane in enumerate(model.planes):
        if plane is not None:
            bodies["normal"][k], bodies["offset"][k] = plane
    inertia = model.inertia
    same = inertia[:, 0, 0, None, None] * np.eye(3)
    bodies["round"] = (bodies["shape_class"] == pairs_kernels.BALL) & (inertia == same).all(axis=(1, 2))
    tables["planes"] = np.flatnonzero(bodies["shape_class"] == pairs_kernels.PLANE).astype(np.int64)
    header["planes_count"] = len(tables["planes"])
    kinds = list(materials)
    combined = [combine(one, other) for one in kinds for other in kinds]
    columns = len(_surface(Material()))
    tables["materials"] = np.array([_surface(m) for m in combined], dtype=float).reshape(-1, columns)
    header["materials_kinds"], header["materials_count"] = len(kinds), len(combined)
    own = scene.materials_of_pairs
    tables["pair_materials"] = np.array([(*pair, *_surface(m)) for pair, m in own], dtype=float).reshape(
        -1, 2 + columns
    )
    header["pair_materials_count"] = len(own)
    tables["disabled"] = np.array(scene.disabled_pairs, dtype=np.int64).reshape(-1, 2)
    header["disabled_count"] = len(tables["disabled"])
    groups = {(body.collision_group, body.collision_mask) for body in scene.bodies}
    alike = len(groups) == 1 and all(group & mask for group, mask in groups)
    header["all_collide"] = alike and not scene.disabled_pairs
    header["gravity"] = model.gravity
    if scene.plane is not None:
        header["planar"], header["plane"] = 1, scene.plane


def _surface(material: Material) -> tuple[float, ...]:
    """A row of the table of materials."""
    falls = material.restitution
    told = (material.friction, material.friction_of_impacts, material.slow_restitution)
    fall = 0.0, 0.0, 0.0
    if isinstance(falls, SpeedRestitution):
        fall = falls.exponent, falls.speed**-2.0, 0.0 if falls.mass is None else 1.0 / falls.mass
    return (*told, *fall, material.rolling_friction, material.spinning_friction)


def _fill_joints(model: Model, tables: dict[str, NDArray[Any]], header: NDArray[Any]) -> None:
    """Bodies that always move together, and rows of their joints, group by group."""
    articulation, n = model.articulation, model.count
    groups = tables["groups"] = np.zeros(len(articulation.groups), dtype=tables_kernels.GROUP)
    counts = [len(members) for members in articulation.groups]
    groups["members"][:, 0], groups["members"][:, 1] = np.cumsum([0, *counts])[:-1], counts
    tables["group_members"] = np.concatenate([np.zeros(0, dtype=np.int64), *articulation.groups])
    restitution, joints = articulation.limit_restitution, articulation
    for name, rows, joint_of in (
        ("held", joints.held, joints.joint_of_row),
        ("limits", joints.limits, joints.limit_joint),
        ("forces", joints.forces, joints.force_joint),
    ):
        table = np.zeros(len(rows.ends), dtype=tables_kernels.JOINT_ROW)
        table["base"], table["body"], table["kind"] = rows.ends.T
        table["geometry"], table["joint"] = rows.geometry, joint_of
        if name == "held":
            turns = np.isin(table["kind"], (RowKind.ANGLE, RowKind.ROTATION))
            ends = rows.ends[:, :2]
            sizes = np.where(ends >= 0, model.size[ends], 0.0).max(axis=1, initial=0.0)
            table["length"] = np.where(turns, sizes, 1.0)
        elif name == "limits":
            table["restitution"] = restitution
            for row in table:
                placed = model.scene.joints[row["joint"]]
                row["shown"] = placed.body, placed.body if placed.base < 0 else placed.base
        elif name == "forces":
            set_force_laws(table, joints.law, joints.largest)
        group = articulation.group_of[np.maximum(rows.ends[:, 0], rows.ends[:, 1])].astype(np.int64)
        held = np.bincount(group, minlength=len(groups)).astype(np.int64)[: len(groups)]
        groups[name][:, 0], groups[name][:, 1] = np.cumsum([0, *held.tolist()])[:-1], held
        tables[f"{name.removesuffix('s')}_rows" if name != "held" else "held_rows"] = table
    limits = tables["limit_rows"]
    limits["pair"] = np.arange(len(limits))
    pairs = tables["pairs"] = np.zeros(max(16, len(limits)), dtype=tables_kernels.PAIR)
    for number, limit in enumerate(limits):
        pair = pairs[number]
        pair["first"], pair["second"], pair["next"], pair["contact"] = n, number, -1, -1
        moving = [body for body in (limit["base"], limit["body"]) if body >= 0]
        pair["size"] = 1.0 if limit["kind"] == RowKind.ROTATION else model.size[moving].max()
    header["pairs_count"] = len(limits)
    for name in ("groups", "group_members", "held_rows", "limit_rows", "force_rows"):
        header[f"{name}_count"] = len(tables[name])


def set_force_laws(table: NDArray[Any], law: NDArray[Any], largest: NDArray[Any]) -> None:
    """Say how forces act along rows, from the articulation's columns."""
    for column, name in enumerate(("effort", "stiffness", "target", "damping", "speed", "full", "driven")):
        table[name] = law[:, column]
    table["largest"] = largest


def _shape_class(body: Body) -> int:
    shape = body.shape
    if isinstance(shape, HalfSpace):
        return pairs_kernels.PLANE
    if isinstance(shape, Sphere):
        # balls are taken to have their middle at the body's origin; any other is the hull of one point
        return pairs_kernels.HULL if body.shape_offset.any() else pairs_kernels.BALL
    if isinstance(shape, Mesh):
        return pairs_kernels.MESH
    if isinstance(shape, Ellipsoid):
        return pairs_kernels.ELLIPSOID
    return pairs_kernels.ROUND if isinstance(shape, Cylinder) else pairs_kernels.HULL


def _fill_shapes(model: Model, tables: dict[str, NDArray[Any]], header: NDArray[Any]) -> None:
    """Shapes in pools, those that several bodies have once."""
    pools: dict[str, list[NDArray[Any]]] = {
        name: []
        for name in ("points", "normals", "edges", "edge_ends", "edge_faces", "face_starts", "face_corners")
    }
    rows: list[tuple[Any, ...]] = []
    known: dict[tuple[int, bytes], int] = {}
    for k, (body, shape) in enumerate(zip(model.scene.bodies, model.shapes, strict=True)):
        tables["bodies"]["shape"][k] = tables["bodies"]["surface"][k] = -1
        if shape is None:
            continue
        key = shape_key(body)
        if key not in known:
            known[key] = len(rows)
            entry = []
            for pool in ("points", "normals", "edges", "face_starts", "face_corners"):
                values = getattr(shape, pool)
                entry.append((sum(map(len, pools[pool])), len(values)))
                pools[pool].append(values)
            pools["edge_ends"].append(shape.edge_ends)
            pools["edge_faces"].append(shape.edge_faces)
            rows.append((*entry, shape.disk, shape.radius, shape.reach, tuple(shape.semi_axes)))
        tables["bodies"]["shape"][k] = known[key]
    tables["shapes"] = np.array(rows, dtype=tables_kernels.SHAPE)
    header["shapes_count"] = len(rows)
    for name, parts in pools.items():
        kind, row = TABLES[name]
        tables[name] = (
            np.ascontiguousarray(np.concatenate(parts), dtype=kind)
            if parts
            else np.zeros((0, *row), dtype=kind)
        )
        header[f"{name}_count"] = len(tables[name])


def _fill_levels(tables: dict[str, NDArray[Any]], header: NDArray[Any]) -> int:
    """One level of cells for every octave of sizes that occurs, the largest first; how many."""
    bodies = tables["bodies"]
    solid = np.flatnonzero(bodies["shape_class"] != pairs_kernels.PLANE)
    sizes = bodies["size"]
    bodies["level"] = -1
    found: list[tuple[float, float]] = []
    smallest = math.inf
    one_cell = len(solid) <= _FEW_BODIES
    for body in solid[np.argsort(-sizes[solid], kind="stable")].tolist():
        size = float(sizes[body])
        if size < smallest:
            found.append((math.inf, math.inf) if one_cell else (_EDGE * size, _SLACK * size))
            smallest = 0.0 if one_cell else size / _LEVEL
        bodies["level"][body] = len(found) - 1
    tables["levels"] = np.array(found or [(math.inf, math.inf)], dtype=tables_kernels.LEVEL)
    header["levels_count"] = len(tables["levels"])
    return len(tables["levels"])
