"""A scene as plain data: dicts, lists, numbers and texts, with the arrays of meshes beside them.

Recordings and scene files both hold this. Most of it are records, whose fields are those of their dataclasses.
Meshes have entries of their own, since they can come from arrays, from a file, or as they were kept.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from . import checks
from .body import Body
from .forces import Drag
from .joints import (
    DistanceJoint,
    FixedJoint,
    Joint,
    JointRow,
    PlacedJoint,
    PlanarJoint,
    PrismaticJoint,
    RevoluteJoint,
    RowKind,
    SphericalJoint,
    UniversalJoint,
)
from .material import Material
from .mesh_files import MeshFolder
from .records import at, each_of, kind_in, made, named, plain, quoted, written
from .shapes import (
    Box,
    Capsule,
    ConvexMesh,
    Cylinder,
    Ellipsoid,
    HalfSpace,
    MassProperties,
    Mesh,
    Shape,
    Sphere,
)
from .tolerances import MASS_RELATIVE

if TYPE_CHECKING:
    from .scene import Scene

FORMAT, VERSION = "carom scene", 1
SHAPES: dict[str, type[Shape]] = {
    "sphere": Sphere,
    "box": Box,
    "capsule": Capsule,
    "cylinder": Cylinder,
    "ellipsoid": Ellipsoid,
    "half-space": HalfSpace,
    "convex-mesh": ConvexMesh,
    "mesh": Mesh,
}
WORDS = {shape: word for word, shape in SHAPES.items()}
_JOINTS: dict[str, type[Joint]] = {
    kind.word: kind
    for kind in (
        *(RevoluteJoint, PrismaticJoint, DistanceJoint, SphericalJoint),
        *(FixedJoint, UniversalJoint, PlanarJoint),
    )
}
Arrays = Mapping[str, np.ndarray]


# -- shapes --------------------------------------------------------------------------------------------------


def describe_shapes(shapes: Iterable[Shape]) -> tuple[list[Any], dict[str, Any], dict[str, np.ndarray]]:
    """What stands for each shape, all of it or the name of a mesh; the meshes by name, each once; their arrays."""
    found: list[Any] = []
    names: dict[Shape, str] = {}
    meshes: dict[str, Any] = {}
    arrays: dict[str, np.ndarray] = {}
    for shape in shapes:
        word = WORDS.get(type(shape))
        if word is None:
            raise TypeError(f"shape: {type(shape).__name__} cannot be written to a description")
        if not isinstance(shape, ConvexMesh | Mesh):
            found.append({"kind": word} | written(shape))
            continue
        if shape not in names:
            names[shape] = f"{word}-{len(names)}"
            meshes[names[shape]] = {"kind": word} | _describe_mesh(shape, names[shape], arrays)
        found.append(names[shape])
    return found, meshes, arrays


def _describe_mesh(shape: ConvexMesh | Mesh, name: str, arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    """A mesh as it is kept: its vertices are relative to its centre of mass."""
    entry: dict[str, Any] = {}
    properties = None
    if isinstance(shape, Mesh):
        properties = shape.given_mass_properties or shape.hull_mass_properties
        if shape.hull_mass_properties is not None:
            entry["mass_from"] = "hull"
    if properties is not None:
        entry["mass_properties"] = {"mass": properties.mass, "inertia": properties.inertia.tolist()}
    entry["center_of_mass"] = shape.center_of_mass.tolist()
    entry["vertices"] = f"{name}_vertices"
    arrays[f"{name}_vertices"] = shape.vertices
    if isinstance(shape, Mesh):
        entry["triangles"] = f"{name}_triangles"
        arrays[f"{name}_triangles"] = shape.triangles
    else:
        entry["polygons"] = [list(polygon) for polygon in shape.polygons]
        if shape.radius > 0.0:
            entry["radius"] = shape.radius
    return entry


def read_shape(entry: Any, arrays: Arrays, folder: MeshFolder | None) -> Shape:
    """The shape of an entry; a mesh by its file only where there is a folder for it."""
    kind, given = kind_in(entry, SHAPES)
    if kind is not ConvexMesh and kind is not Mesh:
        return made(kind, given)
    more = ("mass_from", "mass_properties") if kind is Mesh else ("radius",)
    if "file" in given:
        return _mesh_of_file(kind, named(given, ("file", "sha256"), more), folder)
    faces = "triangles" if kind is Mesh else "polygons"
    if "center_of_mass" in given:
        named(given, ("center_of_mass", "vertices", faces), more)
        return _kept_mesh(kind, given, arrays)
    if kind is ConvexMesh:
        vertices = named(given, ("vertices",), more)["vertices"]
        return ConvexMesh(_array("vertices", vertices, arrays), radius=given.get("radius", 0.0))
    named(given, ("vertices", "triangles"), more)
    source = tuple(_array(name, given[name], arrays) for name in ("vertices", "triangles"))
    return Mesh(source, _given_mass(given), mass_from=given.get("mass_from"))


def _mesh_of_file(kind: Any, given: dict[str, Any], folder: MeshFolder | None) -> Shape:
    if folder is None:
        raise ValueError("file: expected the mesh itself in a recording, got the name of a file")
    path = folder.file(given["file"], given["sha256"])
    if kind is ConvexMesh:
        return ConvexMesh(path, radius=given.get("radius", 0.0), size_limit=folder.size_limit)
    return Mesh(path, _given_mass(given), mass_from=given.get("mass_from"), size_limit=folder.size_limit)


def _kept_mesh(kind: Any, given: dict[str, Any], arrays: Arrays) -> Shape:
    """A mesh as `_describe_mesh` wrote it, bit for bit."""
    center, vertices = given["center_of_mass"], _array("vertices", given["vertices"], arrays)
    if kind is ConvexMesh:
        return ConvexMesh.restored(vertices, _polygons(given["polygons"]), given.get("radius", 0.0), center)
    properties = None
    if given.get("mass_properties") is not None:
        with at("mass_properties"):
            kept = named(given["mass_properties"], ("mass", "inertia"))
            properties = MassProperties(kept["mass"], kept["inertia"], center)
    from_hull = given.get("mass_from") == "hull"
    if from_hull and properties is None:
        raise ValueError("mass_properties: expected those of the hull, got nothing")
    if not from_hull and given.get("mass_from") is not None:
        raise ValueError(f"mass_from: expected 'hull' or nothing, got {checks.shown(given['mass_from'])}")
    return Mesh.restored(
        vertices,
        _array("triangles", given["triangles"], arrays),
        center,
        None if from_hull else properties,
        properties if from_hull else None,
    )


def _given_mass(given: dict[str, Any]) -> MassProperties | None:
    if given.get("mass_properties") is None:
        return None
    with at("mass_properties"):
        return made(MassProperties, given["mass_properties"])


def _array(name: str, value: Any, arrays: Arrays) -> np.ndarray:
    """Rows of numbers, given as such or by the name of an array."""
    if isinstance(value, str):
        if value not in arrays:
            raise ValueError(f"{name}: expected rows of numbers, got {checks.shown(value)}")
        return arrays[value]
    try:
        return np.asarray(value)
    except ValueError:
        raise ValueError(f"{name}: expected rows of numbers, got rows of unequal length") from None


def _polygons(value: Any) -> list[list[int]]:
    if not isinstance(value, list) or not all(
        isinstance(polygon, list) and all(type(corner) is int for corner in polygon) for polygon in value
    ):
        raise TypeError(f"polygons: expected lists of whole numbers, got {checks.shown(value)}")
    return value


# -- bodies --------------------------------------------------------------------------------------------------


def describe_body(body: Body, shape: Any) -> dict[str, Any]:
    """A body, whose shape is described already; with mass and inertia as they were computed."""
    unknown = ("mass", "inertia") if math.isinf(body.mass) else ()
    if np.array_equal(body.center_of_mass, body.shape.center_of_mass):
        unknown = (*unknown, "center_of_mass")
    return {"name": body.name, "shape": shape} | written(
        body, skip=("name", "shape", *unknown), always=("position", "material")
    )


def read_body(entry: Any, shapes: Mapping[str, Shape], folder: MeshFolder | None) -> Body:
    """The body of an entry, whose shape may be one of those by name.

    Where both density and mass are there, these are kept bit for bit: a newer numpy may round its sums otherwise.
    """
    given = dict(named(entry, ("shape",), (item.name for item in fields(Body) if item.name != "shape")))
    with at("shape"):
        if not isinstance(given["shape"], str):
            given["shape"] = read_shape(given["shape"], {}, folder)
        elif given["shape"] in shapes:
            given["shape"] = shapes[given["shape"]]
        else:
            known = ", ".join(shapes) or "none"
            raise ValueError(f"no shape is named {quoted(given['shape'])}; known are: {known}")
    density = given.pop("density") if None not in (given.get("density"), given.get("mass")) else None
    body = made(Body, given)
    if density is not None:
        density = checks.number("density", density, above=0.0)
        _refuse_other_density(body, density)
        object.__setattr__(body, "density", density)
    return body


def _refuse_other_density(body: Body, density: float) -> None:
    """ValueError where mass and inertia are not those of the uniform shape, as after a change of one in a file."""
    found = body.shape.mass_properties(density)
    for name, kept, expected in (("mass", body.mass, found.mass), ("inertia", body.inertia, found.inertia)):
        off = np.abs(kept - expected).max()
        if not off <= MASS_RELATIVE * np.abs(expected).max():
            raise ValueError(
                f"{name}: expected that of the shape at density {density:g}, {plain(np.asarray(expected))}, got "
                f"{plain(np.asarray(kept))}; left out, mass and inertia are computed"
            )


# -- joints --------------------------------------------------------------------------------------------------


def describe_joint(placed: PlacedJoint, bodies: tuple[Body, ...]) -> dict[str, Any]:
    """A joint between two of these bodies, with its rows, which tell where the bodies were when it was added."""
    entry: dict[str, Any] = {"kind": placed.joint.word, "name": placed.name, "body": bodies[placed.body].name}
    if placed.base >= 0:
        entry["base"] = bodies[placed.base].name
    entry |= written(placed.joint, skip=("name", "body", "base"))
    entry["rows"] = [plain(row) for row in placed.rows]
    if placed.coordinate is not None:
        entry["coordinate"] = plain(placed.coordinate)
    return entry


def read_joint(entry: Any) -> tuple[Joint, dict[str, Any]]:
    """The joint of an entry, and the rows that it has, if any, for `with_rows`."""
    kind, given = kind_in(entry, _JOINTS)
    rows: dict[str, Any] = {name: given.pop(name) for name in ("rows", "coordinate") if name in given}
    for name in ("body", "base"):
        if given.get(name) is not None:
            _name(name, given[name])
    return made(kind, given), rows


def with_rows(fresh: PlacedJoint, rows: dict[str, Any]) -> PlacedJoint:
    """A joint as its bodies are now, with the rows that it had."""
    if not rows:
        return fresh
    found = tuple(_read_row(place, row) for place, row in each_of("rows", rows.get("rows")))
    coordinate = None
    if "coordinate" in rows:
        coordinate = _read_row("coordinate", rows["coordinate"])
    if [row.kind for row in found] != [row.kind for row in fresh.rows] or (
        getattr(coordinate, "kind", None) != getattr(fresh.coordinate, "kind", None)
    ):
        raise ValueError(f"rows: expected those of a {fresh.joint.word} joint, and its coordinate")
    return replace(fresh, rows=found, coordinate=coordinate)


def _read_row(place: str, entry: Any) -> JointRow:
    kinds = {kind.name.lower(): kind for kind in RowKind}
    with at(place):
        given = named(entry, (item.name for item in fields(JointRow)))
        if given["kind"] not in kinds:
            raise ValueError(f"kind: expected one of {', '.join(kinds)}, got {checks.shown(given['kind'])}")
        lengths = dict.fromkeys(("base_place", "base_axis", "body_place", "body_axis"), 3) | {"reference": 4}
        vectors = {name: checks.array(name, given[name], (length,)) for name, length in lengths.items()}
        return JointRow(kinds[given["kind"]], offset=checks.number("offset", given["offset"]), **vectors)


# -- the whole -----------------------------------------------------------------------------------------------


def describe(scene: "Scene") -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """See `Scene.describe`."""
    bodies, names = scene.bodies, [body.name for body in scene.bodies]
    shapes, meshes, arrays = describe_shapes(body.shape for body in bodies)
    joined = {tuple(sorted((each.body, each.base))) for each in scene.joints if not each.joint.collide}
    meta: dict[str, Any] = {"format": FORMAT, "version": VERSION, "gravity": scene.gravity.tolist()}
    if scene.plane is not None:
        meta["plane"] = scene.plane.tolist()
    meta["bodies"] = [describe_body(body, shape) for body, shape in zip(bodies, shapes, strict=True)]
    more: dict[str, Any] = {
        "joints": [describe_joint(joint, bodies) for joint in scene.joints],
        "pair_materials": [
            {"bodies": [names[i], names[j]], "material": plain(material)}
            for (i, j), material in scene.materials_of_pairs
        ],
        "disabled_pairs": [[names[i], names[j]] for i, j in scene.disabled_pairs if (i, j) not in joined],
        "drag": [written(drag) for drag in scene.drags],
        "shapes": meshes,
    }
    return meta | {name: entries for name, entries in more.items() if entries}, arrays


def read_into(scene: "Scene", meta: dict[str, Any], arrays: Arrays, folder: MeshFolder | None) -> None:
    """Fill an empty scene with what was described, but for its gravity; see `Scene.from_description`."""
    if meta.get("plane") is not None:
        with at("plane"):
            scene.planar(meta["plane"])
    shapes = {}
    for name, entry in _names_and_entries("shapes", meta):
        with at(f"shapes {quoted(name)}"):
            shapes[name] = read_shape(entry, arrays, folder)
    for place, entry in each_of("bodies", meta["bodies"]):
        with at(place):
            scene.add(read_body(entry, shapes, folder))
    for place, entry in each_of("joints", meta.get("joints", [])):
        with at(place):
            joint, rows = read_joint(entry)
            added = scene.add_joint(joint)
            if rows:
                scene._keep_rows(added, with_rows(added, rows))
    _read_pairs(scene, meta)
    _read_drag(scene, meta)


def checked_head(meta: Any) -> dict[str, Any]:
    """A description, if it is of this version and has the fields of a scene; else ValueError or TypeError."""
    if not isinstance(meta, dict) or meta.get("format") != FORMAT:
        given = meta.get("format") if isinstance(meta, dict) else meta
        raise ValueError(f"format: expected {FORMAT!r}, got {checks.shown(given)}")
    if type(meta.get("version")) is not int or meta["version"] != VERSION:
        raise ValueError(f"version: expected {VERSION}, got {checks.shown(meta.get('version'))}")
    lists = ("joints", "pair_materials", "disabled_pairs", "drag")
    return named(meta, ("format", "version", "bodies"), ("gravity", "plane", "shapes", *lists))


def _names_and_entries(field: str, meta: dict[str, Any]) -> list[tuple[str, Any]]:
    entries = meta.get(field, {})
    if not isinstance(entries, dict):
        raise TypeError(f"{field}: expected names and values, got {checks.shown(entries)}")
    return list(entries.items())


def _read_pairs(scene: "Scene", meta: dict[str, Any]) -> None:
    """Materials of pairs, and pairs that pass each other."""
    known: set[frozenset[str]] = set()
    for place, entry in each_of("pair_materials", meta.get("pair_materials", [])):
        with at(place):
            given = named(entry, ("bodies", "material"))
            pair = _two_names("bodies", given["bodies"])
            if frozenset(pair) in known:
                raise ValueError(
                    f"bodies: expected every pair once, got {' and '.join(map(quoted, pair))} again"
                )
            known.add(frozenset(pair))
            with at("material"):
                material = made(Material, given["material"])
            scene.set_pair_material(*pair, material)
    for place, entry in each_of("disabled_pairs", meta.get("disabled_pairs", [])):
        with at(place):
            scene.disable_collision(*_two_names("bodies", entry))


def _read_drag(scene: "Scene", meta: dict[str, Any]) -> None:
    known: set[str | None] = set()
    for place, entry in each_of("drag", meta.get("drag", [])):
        with at(place):
            drag = made(Drag, entry)
            if drag.body is not None:
                _name("body", drag.body)
            if drag.body in known:
                whose = "every body" if drag.body is None else quoted(drag.body)
                raise ValueError(f"body: expected drag once, got that of {whose} again")
            known.add(drag.body)
            scene.add_force(drag)


def _name(field: str, value: Any) -> str:
    """The name of a body; bodies go by no other means."""
    if not isinstance(value, str):
        raise TypeError(f"{field}: expected the name of a body, got {checks.shown(value)}")
    return value


def _two_names(field: str, value: Any) -> tuple[str, str]:
    """The names of two bodies."""
    if not isinstance(value, list) or len(value) != 2:
        raise TypeError(f"{field}: expected the names of two bodies, got {checks.shown(value)}")
    return _name(field, value[0]), _name(field, value[1])
