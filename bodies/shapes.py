"""Shapes and their mass properties.

What a shape says of itself has its origin at the centre of mass of the uniform solid, and the axes of the shape or
file: the body frame, unless a body has its centre of mass elsewhere (`Body.shape_offset`). Lengths in metres,
densities in kg/m³, inertias in kg m² about the centre of mass in body axes.

Every shape has ``mass_properties(density)``, ``unit_mass_inertia()``, ``bounding_radius`` and ``surface()``.
Sphere, Capsule, Box and ConvexMesh also have ``core()``: points (k, 3) and a radius, the shape being the
convex hull of the points grown by the radius. Box and ConvexMesh have ``faces()``: flat polygons of that hull, as
indices into the core's points counter-clockwise seen from outside, and their outward unit normals (F, 3).
"""

import math
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from . import checks, hull
from .mesh_files import load_mesh, merge_vertices
from .orientation import unit_quaternion
from .rotation import is_unit, rotation_matrices
from .rounding import rounded_integrals, rounded_surface
from .tolerances import FLAT_THICKNESS, LARGEST_COORDINATE, LARGEST_MESH_FILE

if TYPE_CHECKING:
    from .decomposition import Decomposition

SURFACE_SEGMENTS = 48
"""Straight pieces to a full circle in the surface of a curved shape."""


@dataclass(frozen=True, eq=False)
class MassProperties:
    """Mass [kg], inertia (3, 3) [kg m²] about the centre of mass, and that centre (3,) [m].

    ``center_of_mass`` is in the coordinates in which a mesh was given, zero for the other shapes.
    """

    mass: float
    inertia: np.ndarray
    center_of_mass: np.ndarray

    def __post_init__(self) -> None:
        object.__setattr__(self, "mass", checks.number("mass", self.mass, above=0.0))
        object.__setattr__(self, "inertia", checks.array("inertia", self.inertia, (3, 3)))
        center = checks.array("center_of_mass", self.center_of_mass, (3,))
        object.__setattr__(self, "center_of_mass", center)


class Shape:
    """Base of all shapes; see the module's docstring for what each has."""

    @property
    def center_of_mass(self) -> np.ndarray:
        """Centre of mass (3,) of the uniform solid, in the coordinates the shape was given in."""
        return _read_only(np.zeros(3))

    @property
    def volume(self) -> float:
        """Enclosed volume [m³]."""
        raise NotImplementedError

    @property
    def bounding_radius(self) -> float:
        """Radius of a ball about the uniform solid's centre that holds the shape [m]."""
        raise NotImplementedError

    def farthest_from(self, point: np.ndarray) -> float:
        """Radius of a ball about any point (3,), seen from the uniform solid's centre, that holds the shape [m]."""
        points, radius = self.core()
        return float(np.linalg.norm(points - point, axis=1).max()) + radius

    def unit_mass_inertia(self) -> np.ndarray:
        """Inertia (3, 3) of the uniform solid, divided by its mass [m²]."""
        raise NotImplementedError

    def mass_properties(self, density: float) -> MassProperties:
        """Mass, inertia and centre of mass of the uniform solid of ``density`` [kg/m³]."""
        mass = checks.number("density", density, above=0.0) * self.volume
        with np.errstate(
            over="ignore", invalid="ignore"
        ):  # mass properties that are not finite are refused in words
            inertia = mass * self.unit_mass_inertia()
        return MassProperties(mass, inertia, self.center_of_mass)

    def surface(self) -> tuple[np.ndarray, np.ndarray]:
        """Vertices (V, 3) and outward triangles (F, 3) in the body frame; curved shapes are tessellated."""
        raise NotImplementedError

    def core(self) -> tuple[np.ndarray, float]:
        """Points (k, 3) in the body frame and radius [m]; TypeError for a shape that has no such form."""
        raise TypeError(
            f"{type(self).__name__} is not a convex hull of finitely many points grown by a radius"
        )

    def faces(self) -> tuple[list[np.ndarray], np.ndarray]:
        """Polygons and normals (F, 3) of a polyhedron; TypeError for other shapes."""
        raise TypeError(f"{type(self).__name__} is not a convex polyhedron: it has no flat faces")


@dataclass(frozen=True)
class Sphere(Shape):
    """A ball of ``radius`` [m]."""

    radius: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", _length("radius", self.radius, above=0.0))

    @property
    def volume(self) -> float:
        return 4.0 / 3.0 * math.pi * self.radius**3

    @property
    def bounding_radius(self) -> float:
        return self.radius

    def unit_mass_inertia(self) -> np.ndarray:
        return 0.4 * self.radius**2 * np.eye(3)

    def surface(self) -> tuple[np.ndarray, np.ndarray]:
        angle = np.linspace(0.0, math.pi, SURFACE_SEGMENTS // 2 + 1)[1:-1]
        return _revolved(self.radius * np.sin(angle), -self.radius * np.cos(angle), -self.radius, self.radius)

    def core(self) -> tuple[np.ndarray, float]:
        return _read_only(np.zeros((1, 3))), self.radius


@dataclass(frozen=True)
class Box(Shape):
    """A cuboid with full edge ``lengths`` (lx, ly, lz) [m] along the body axes.

    With a ``radius`` [m] its edges and corners are rounded: it is the sum of a smaller cuboid and a ball. Lengths
    are outer lengths, from face to face, whatever the radius, which must be less than half the shortest (a ball is
    a ``Sphere``, a rod with round ends a ``Capsule``).

    Corner ``4*(x > 0) + 2*(y > 0) + (z > 0)`` of ``core()`` is the one with these signs.

    >>> import carom
    >>> die = carom.Box((0.02, 0.02, 0.02), radius=0.002)
    >>> corners, radius = die.core()
    >>> float(corners.max()), radius
    (0.008, 0.002)
    """

    lengths: tuple[float, float, float]
    radius: float = 0.0

    def __post_init__(self) -> None:
        values = _in_reach("lengths", checks.array("lengths", self.lengths, (3,)))
        if not (values > 0.0).all():
            raise ValueError(f"lengths: expected three numbers greater than 0, got {values.tolist()}")
        object.__setattr__(self, "lengths", tuple(values.tolist()))
        radius = _length("radius", self.radius, minimum=0.0)
        if radius > 0.0 and values.min() - 2.0 * radius <= FLAT_THICKNESS * values.max():
            raise ValueError(
                f"radius: expected less than half the shortest length, {0.5 * values.min():g}, got {radius:g}"
            )
        object.__setattr__(self, "radius", radius)

    @property
    def volume(self) -> float:
        return self._rounded[0] if self.radius else math.prod(self.lengths)

    @property
    def bounding_radius(self) -> float:
        return 0.5 * math.hypot(*(length - 2.0 * self.radius for length in self.lengths)) + self.radius

    def unit_mass_inertia(self) -> np.ndarray:
        if self.radius:
            volume, _, inertia = self._rounded
            return np.diag(np.diag(inertia) / volume)
        x, y, z = (length**2 for length in self.lengths)
        return np.diag([y + z, x + z, x + y]) / 12.0

    @cached_property
    def _rounded(self) -> tuple[float, np.ndarray, np.ndarray]:
        return rounded_integrals(self.core()[0], *self.faces(), self.radius)

    def surface(self) -> tuple[np.ndarray, np.ndarray]:
        return _polytope_surface(self)

    def core(self) -> tuple[np.ndarray, float]:
        x, y, z = (0.5 * length - self.radius for length in self.lengths)
        corners = [(sx * x, sy * y, sz * z) for sx in (-1, 1) for sy in (-1, 1) for sz in (-1, 1)]
        return _read_only(np.array(corners)), self.radius

    def faces(self) -> tuple[list[np.ndarray], np.ndarray]:
        corners = ((4, 6, 7, 5), (0, 1, 3, 2), (2, 3, 7, 6), (0, 4, 5, 1), (1, 5, 7, 3), (0, 2, 6, 4))
        normals = np.kron(np.eye(3), [[1.0], [-1.0]]) + 0.0
        return [_read_only(np.array(corner)) for corner in corners], _read_only(normals)


@dataclass(frozen=True)
class Capsule(Shape):
    """A cylinder of ``radius`` and ``length`` [m] along z with half-ball caps, which ``length`` excludes."""

    radius: float
    length: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", _length("radius", self.radius, above=0.0))
        object.__setattr__(self, "length", _length("length", self.length, above=0.0))

    @property
    def volume(self) -> float:
        return math.pi * self.radius**2 * (self.length + 4.0 / 3.0 * self.radius)

    @property
    def bounding_radius(self) -> float:
        return self.radius + 0.5 * self.length

    def unit_mass_inertia(self) -> np.ndarray:
        r, h = self.radius, self.length
        # Shares of the mass in the cylinder and in the two caps; a cap's own centre is 3r/8 from its base.
        cylinder = h / (h + 4.0 / 3.0 * r)
        caps = (4.0 / 3.0 * r) / (h + 4.0 / 3.0 * r)
        along = cylinder * 0.5 * r**2 + caps * 0.4 * r**2
        across = cylinder * (h**2 / 12.0 + r**2 / 4.0) + caps * (0.4 * r**2 + h**2 / 4.0 + 0.375 * h * r)
        return np.diag([across, across, along])

    def surface(self) -> tuple[np.ndarray, np.ndarray]:
        angle = np.linspace(0.0, 0.5 * math.pi, SURFACE_SEGMENTS // 4 + 1)[1:]
        ring, rise = self.radius * np.sin(angle), self.radius * np.cos(angle)
        top = 0.5 * self.length
        height = np.concatenate([-top - rise, (top + rise)[::-1]])
        return _revolved(np.concatenate([ring, ring[::-1]]), height, -top - self.radius, top + self.radius)

    def core(self) -> tuple[np.ndarray, float]:
        half = 0.5 * self.length
        return _read_only(np.array([[0.0, 0.0, -half], [0.0, 0.0, half]])), self.radius


@dataclass(frozen=True)
class Cylinder(Shape):
    """A cylinder of ``radius`` and ``length`` [m] along z with flat ends."""

    radius: float
    length: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", _length("radius", self.radius, above=0.0))
        object.__setattr__(self, "length", _length("length", self.length, above=0.0))

    @property
    def volume(self) -> float:
        return math.pi * self.radius**2 * self.length

    @property
    def bounding_radius(self) -> float:
        return math.hypot(self.radius, 0.5 * self.length)

    def farthest_from(self, point: np.ndarray) -> float:
        x, y, z = point
        return math.hypot(self.radius + math.hypot(x, y), 0.5 * self.length + abs(z))

    def unit_mass_inertia(self) -> np.ndarray:
        across = self.radius**2 / 4.0 + self.length**2 / 12.0
        return np.diag([across, across, self.radius**2 / 2.0])

    def surface(self) -> tuple[np.ndarray, np.ndarray]:
        half = 0.5 * self.length
        return _revolved(np.array([self.radius] * 2), np.array([-half, half]), -half, half)


@dataclass(frozen=True)
class Ellipsoid(Shape):
    """An ellipsoid with semi-axes (a, b, c) [m] along the body axes. It meets half-spaces, and nothing else yet.

    ``center`` (3,) [m] is its middle in the body frame. Where that is not the origin, the mass is not that of a
    uniform solid, and its body needs a mass and an inertia, as a rattleback does.
    """

    semi_axes: tuple[float, float, float]
    center: tuple[float, float, float] = (0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        for name in ("semi_axes", "center"):
            object.__setattr__(
                self, name, tuple(_in_reach(name, checks.array(name, getattr(self, name), (3,))).tolist())
            )
        if min(self.semi_axes) <= 0.0:
            raise ValueError(f"semi_axes: expected three numbers greater than 0, got {list(self.semi_axes)}")

    @property
    def volume(self) -> float:
        return 4.0 / 3.0 * math.pi * math.prod(self.semi_axes)

    @property
    def bounding_radius(self) -> float:
        return max(self.semi_axes) + math.hypot(*self.center)

    def farthest_from(self, point: np.ndarray) -> float:
        return max(self.semi_axes) + float(np.linalg.norm(self.center - point))

    def unit_mass_inertia(self) -> np.ndarray:
        if any(self.center):
            raise ValueError(
                f"center: expected (0, 0, 0) for a uniform Ellipsoid, got {self.center}: "
                "give its body a mass and an inertia"
            )
        x, y, z = (axis**2 for axis in self.semi_axes)
        return np.diag([y + z, x + z, x + y]) / 5.0

    def surface(self) -> tuple[np.ndarray, np.ndarray]:
        vertices, triangles = Sphere(1.0).surface()
        return vertices * self.semi_axes + self.center, triangles


class _ArrayShape(Shape):
    """Equality of shapes that hold arrays, and what they keep besides their fields."""

    _center_of_mass: np.ndarray
    _volume: float
    _inertia: np.ndarray
    _normals: np.ndarray
    given_mass_properties: MassProperties | None

    def _content(self) -> tuple:
        raise NotImplementedError

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self._content() == other._content()

    def __hash__(self) -> int:
        return hash((type(self), self._content()))


@dataclass(frozen=True, eq=False)
class HalfSpace(_ArrayShape):
    """Everything behind a plane: the solid is n·x ≤ offset, the gap of a point is n·x − offset [m].

    ``normal`` (3,) leaves the solid and is normalised. x is in the body frame; a body's default position
    makes this the world. A half-space has no mass: its body must be fixed.
    """

    normal: np.ndarray
    offset: float = 0.0

    def __post_init__(self) -> None:
        normal = checks.array("normal", self.normal, (3,))
        largest = float(np.abs(normal).max())
        if largest == 0.0:
            raise ValueError("normal: expected a vector other than zero, got [0, 0, 0]")
        if not is_unit(normal):
            normal = normal / largest
            normal = normal / np.linalg.norm(normal)
        object.__setattr__(self, "normal", _read_only(normal + 0.0))
        object.__setattr__(self, "offset", checks.number("offset", self.offset))

    def _content(self) -> tuple:
        return (*self.normal.tolist(), self.offset)

    @property
    def volume(self) -> float:
        raise ValueError("a HalfSpace is unbounded: it has no volume, mass or inertia")

    @property
    def bounding_radius(self) -> float:
        return math.inf

    def unit_mass_inertia(self) -> np.ndarray:
        raise ValueError("a HalfSpace is unbounded: it has no volume, mass or inertia")

    def surface(self) -> tuple[np.ndarray, np.ndarray]:
        raise ValueError("a HalfSpace is unbounded: it has no closed surface")


@dataclass(frozen=True, eq=False, init=False)
class ConvexMesh(_ArrayShape):
    """The convex hull of points (n, 3) [m], or of a mesh file's vertices (its unit taken as metres).

    With a ``radius`` [m] it is the sum of that hull and a ball: the surface lies ``radius`` outside the hull, and
    edges and corners are round. (A ``Box`` is given by its outer lengths instead.)

    ``vertices`` (V, 3) are the hull's corners relative to the centre of mass of the whole; ``center_of_mass`` (3,)
    is that centre in the coordinates given. Coplanar triangles are one face, and points inside a face or an edge
    are no corners.

    ``scale`` [m for one unit of the points] and then ``orientation``, as a body has one, change the points before
    anything else. ``size_limit`` is that of ``load_mesh``. Raises ValueError for points without volume,
    FileFormatError for a file that cannot be used.

    >>> import carom
    >>> corners = [(x, y, z) for x in (0, 20) for y in (0, 20) for z in (0, 30)]  # in millimetres
    >>> round(carom.ConvexMesh(corners, scale=0.001).volume, 9)  # m³
    1.2e-05
    """

    vertices: np.ndarray
    polygons: tuple[tuple[int, ...], ...]
    radius: float

    def __init__(
        self,
        vertices: Any,
        radius: float = 0.0,
        *,
        scale: float = 1.0,
        orientation: Any = None,
        size_limit: int = LARGEST_MESH_FILE,
    ) -> None:
        if isinstance(vertices, str | PathLike):
            source, points = str(vertices), load_mesh(Path(vertices), size_limit=size_limit)[0]
        else:
            source, points = "vertices", _checked_points(vertices)
        points = _scaled_and_turned(points, scale, orientation)
        corners, polygons = hull.convex_polyhedron(points, source)
        radius = _length("radius", radius, minimum=0.0)
        center = _polytope_integrals(corners, polygons, _normals_of(corners, polygons), radius)[1]
        self._set(corners - center, polygons, radius, center)

    @classmethod
    def restored(cls, vertices: np.ndarray, polygons: Any, radius: float, center_of_mass: np.ndarray) -> Self:
        """A hull from its own attributes, bit for bit; ValueError if they do not describe one."""
        points = checks.array("vertices", vertices, (None, 3))
        polygons = [np.asarray(polygon, dtype=np.int64) for polygon in polygons]
        hull.check_polyhedron(points, polygons)
        shape = cls.__new__(cls)
        radius = _length("radius", radius, minimum=0.0)
        shape._set(points, polygons, radius, checks.array("center_of_mass", center_of_mass, (3,)))
        return shape

    def _set(
        self, vertices: np.ndarray, polygons: list[np.ndarray], radius: float, center: np.ndarray
    ) -> None:
        assign = object.__setattr__
        assign(self, "vertices", _read_only(vertices))
        assign(self, "polygons", tuple(tuple(int(i) for i in polygon) for polygon in polygons))
        assign(self, "radius", radius)
        assign(self, "_center_of_mass", _read_only(center))
        assign(self, "_normals", _read_only(_normals_of(vertices, polygons)))
        volume, _, inertia = _polytope_integrals(vertices, polygons, self._normals, radius)
        assign(self, "_volume", volume)
        assign(self, "_inertia", _read_only(inertia / volume))

    def _content(self) -> tuple:
        return self.vertices.tobytes(), self.polygons, self.radius, self.center_of_mass.tobytes()

    @property
    def center_of_mass(self) -> np.ndarray:
        return self._center_of_mass

    @property
    def volume(self) -> float:
        return self._volume

    @property
    def bounding_radius(self) -> float:
        return float(np.linalg.norm(self.vertices, axis=1).max()) + self.radius

    def unit_mass_inertia(self) -> np.ndarray:
        return self._inertia

    def surface(self) -> tuple[np.ndarray, np.ndarray]:
        return _polytope_surface(self)

    def core(self) -> tuple[np.ndarray, float]:
        return self.vertices, self.radius

    def faces(self) -> tuple[list[np.ndarray], np.ndarray]:
        return [_read_only(np.array(polygon)) for polygon in self.polygons], self._normals


@dataclass(frozen=True, eq=False, init=False)
class Mesh(_ArrayShape):
    """A triangle mesh: a trimesh object, a file, or (vertices (V, 3), faces (F, 3)) [m].

    Its surface is its true triangles, whatever its mass comes from, which ``mass_from`` chooses:

    - "surface", the default: the uniform solid that a closed mesh encloses, exactly; parts that overlap count
      twice.
    - "hull": the uniform solid of the convex hull. The mesh may be open, and wound in any way.

    Or give ``mass_properties``, in the mesh's coordinates; the attribute ``mass_from`` is then "given", and a
    body needs a mass, not a density.

    ``vertices`` (V, 3) are kept relative to the centre of mass, ``center_of_mass`` (3,) is that centre in the
    coordinates given. Vertices at one position are one vertex, a triangle given twice counts once, and one
    whose corners coincide is dropped; other triangles without area stay, since the surface would not close
    without them. ``closed`` says whether ``triangles`` (F, 3) enclose a solid, all wound outward (cavities
    towards their inside).

    ``scale`` [m for one unit of the source], such as 0.001 for millimetres, and then ``orientation``, as a body has
    one, such as ``axis_angle((1, 0, 0), 90, degrees=True)`` for a file whose y axis points up, change the vertices
    before anything else: ``mass_properties`` are those of the scaled and turned mesh. ``size_limit`` is that of
    ``load_mesh``.

    Raises ValueError for mass from the surface of a mesh that is not closed, mass from a hull without volume,
    or both ``mass_from`` and ``mass_properties``; FileFormatError for a file that cannot be used.
    """

    vertices: np.ndarray
    triangles: np.ndarray
    closed: bool
    mass_from: str
    hull_mass_properties: MassProperties | None

    def __init__(
        self,
        source: Any,
        mass_properties: MassProperties | None = None,
        *,
        mass_from: Literal["surface", "hull"] | None = None,
        scale: float = 1.0,
        orientation: Any = None,
        size_limit: int = LARGEST_MESH_FILE,
    ) -> None:
        name = "mesh"
        if isinstance(source, str | PathLike):
            name = str(source)
            vertices, triangles = load_mesh(Path(source), size_limit=size_limit)
        elif hasattr(source, "vertices") and hasattr(source, "faces"):
            vertices, triangles = _checked_mesh(source.vertices, source.faces)
        elif isinstance(source, tuple | list) and len(source) == 2:
            vertices, triangles = _checked_mesh(*source)
        else:
            raise TypeError(
                f"mesh: expected a trimesh object, a file or (vertices, faces), got {type(source).__name__}"
            )
        vertices = _scaled_and_turned(vertices, scale, orientation)
        if mass_properties is not None and not isinstance(mass_properties, MassProperties):
            raise TypeError(f"mass_properties: expected MassProperties, got {type(mass_properties).__name__}")
        if mass_from is not None and not (isinstance(mass_from, str) and mass_from in ("surface", "hull")):
            raise ValueError(f"mass_from: expected 'surface' or 'hull', got {mass_from!r}")
        if mass_from is not None and mass_properties is not None:
            raise ValueError("mass_from, mass_properties: expected at most one of the two, got both")
        if mass_properties is not None:
            center = mass_properties.center_of_mass
            self._set(vertices - center, triangles, center, given=mass_properties)
        elif mass_from == "hull":
            properties = _hull_mass_properties(vertices, name)
            center = properties.center_of_mass
            self._set(vertices - center, triangles, center, from_hull=properties)
        else:
            _check_closed(triangles, name)
            center = hull.integrals(vertices, triangles)[1]
            vertices = vertices - center
            _check_outward(vertices, triangles, name)
            self._set(vertices, triangles, center)

    @classmethod
    def restored(
        cls,
        vertices: np.ndarray,
        triangles: np.ndarray,
        center_of_mass: np.ndarray,
        given: MassProperties | None = None,
        from_hull: MassProperties | None = None,
    ) -> Self:
        """A mesh from its own attributes, bit for bit.

        ``given`` and ``from_hull`` are its ``given_mass_properties`` and ``hull_mass_properties``, of which
        one at least is None. ValueError if they do not describe a mesh.
        """
        if given is not None and from_hull is not None:
            raise ValueError("given, from_hull: expected at most one of the two, got both")
        vertices = checks.array("vertices", vertices, (None, 3))
        triangles = _checked_triangles(triangles, len(vertices))
        if given is None and from_hull is None:
            _check_closed(triangles, "mesh")
            _check_outward(vertices, triangles, "mesh")
        shape = cls.__new__(cls)
        center = checks.array("center_of_mass", center_of_mass, (3,))
        shape._set(vertices, triangles, center, given=given, from_hull=from_hull)
        return shape

    def _set(
        self,
        vertices: np.ndarray,
        triangles: np.ndarray,
        center: np.ndarray,
        given: MassProperties | None = None,
        from_hull: MassProperties | None = None,
    ) -> None:
        _refuse_slivers(vertices, triangles)
        assign = object.__setattr__
        assign(self, "vertices", _read_only(vertices))
        assign(self, "triangles", _read_only(triangles))
        assign(self, "_center_of_mass", _read_only(center))
        assign(self, "closed", hull.enclosure_problem(vertices, triangles) is None)
        assign(self, "mass_from", "given" if given else "hull" if from_hull else "surface")
        assign(self, "given_mass_properties", given)
        # Of density one. Kept rather than found again, since another version of Qhull may round differently.
        assign(self, "hull_mass_properties", from_hull)
        if given is None:
            if from_hull is None:
                volume, _, inertia = hull.integrals(vertices, triangles)
            else:
                volume, inertia = from_hull.mass, from_hull.inertia
            assign(self, "_volume", volume)
            assign(self, "_inertia", _read_only(inertia / volume))

    def _content(self) -> tuple:
        properties = self.given_mass_properties or self.hull_mass_properties
        kept = None if properties is None else (properties.mass, properties.inertia.tobytes())
        return (
            self.vertices.tobytes(),
            self.triangles.tobytes(),
            self.center_of_mass.tobytes(),
            self.mass_from,
            kept,
        )

    @property
    def center_of_mass(self) -> np.ndarray:
        return self._center_of_mass

    @property
    def volume(self) -> float:
        if self.given_mass_properties is not None:
            raise ValueError("mesh: its mass properties were given, so give the body a mass, not a density")
        return self._volume

    @property
    def bounding_radius(self) -> float:
        return float(np.linalg.norm(self.vertices, axis=1).max())

    def farthest_from(self, point: np.ndarray) -> float:
        return float(np.linalg.norm(self.vertices - point, axis=1).max())

    def unit_mass_inertia(self) -> np.ndarray:
        given = self.given_mass_properties
        return self._inertia if given is None else given.inertia / given.mass

    def surface(self) -> tuple[np.ndarray, np.ndarray]:
        return self.vertices, self.triangles

    def decomposed(self, threshold: float = 0.05, seed: int = 0) -> "Decomposition":
        """Convex parts that together are nearly this mesh, found by CoACD, and how far they are from it.

        ``threshold`` is the concavity [1] up to which a part is left whole, from 0.01 to 1, where the mesh is
        two across its longest side; smaller gives more parts. ``seed`` is a whole number below 2^32. Raises
        ValueError for a mesh that is not closed, ImportError without the package coacd.
        """
        from .decomposition import decompose

        return decompose(self, threshold, seed)

    def core(self) -> tuple[np.ndarray, float]:
        raise TypeError(
            "Mesh may be non-convex, so it has no convex core: use ConvexMesh for its convex hull"
        )


def _scaled_and_turned(points: np.ndarray, scale: float, orientation: Any) -> np.ndarray:
    """Points (n, 3) times a scale, then turned about the origin; the same bits where neither changes them."""
    factor = checks.number("scale", scale, above=0.0)
    if factor != 1.0:
        with np.errstate(over="ignore"):
            points = factor * points
    if orientation is not None:
        points = points @ rotation_matrices(unit_quaternion("orientation", orientation)).T
    return _in_reach("scale", points)


_INSTEAD = (
    "use ConvexMesh for its convex hull, give mass_from='hull' to take only its mass from there, "
    "or give mass_properties"
)


def _check_closed(triangles: np.ndarray, name: str) -> None:
    problem = hull.solid_problem(triangles)
    if problem:
        raise ValueError(f"{name} {problem}, so it encloses no well-defined volume: {_INSTEAD}")


def _check_outward(vertices: np.ndarray, triangles: np.ndarray, name: str) -> None:
    problem = hull.orientation_problem(vertices, triangles)
    if problem:
        raise ValueError(f"{name} {problem}: reverse its faces, {_INSTEAD}")


def _refuse_slivers(vertices: np.ndarray, triangles: np.ndarray) -> None:
    """ValueError for a mesh whose triangles are all so thin that its surface has no direction anywhere."""
    corners = vertices[triangles]
    size = float(np.ptp(corners.reshape(-1, 3), axis=0).max())
    sides = (corners[:, [1, 2, 0]] - corners) / (size or 1.0)
    height = np.linalg.norm(np.cross(sides[:, 0], sides[:, 1]), axis=1)
    if not (height > FLAT_THICKNESS * np.linalg.norm(sides, axis=2).max(axis=1)).any():
        raise ValueError(
            f"mesh: expected a triangle at least that is thicker than {FLAT_THICKNESS:g} of its size, got slivers"
        )


def _hull_mass_properties(vertices: np.ndarray, name: str) -> MassProperties:
    """Of the convex hull at density one, in the coordinates of the vertices."""
    try:
        corners, triangles = hull.hull_triangles(vertices, name)
    except ValueError as error:
        raise ValueError(f"mass_from: expected a mesh whose convex hull has a volume, but {error}") from None
    volume, center, inertia = hull.integrals(corners, triangles)
    return MassProperties(volume, inertia, center)


def _checked_points(vertices: Any) -> np.ndarray:
    return _in_reach("vertices", checks.array("vertices", vertices, (None, 3)))


def _length(field: str, value: Any, **least: float) -> float:
    """A length [m] that is no larger than a mesh can be."""
    return checks.number(field, value, maximum=LARGEST_COORDINATE, **least)


def _in_reach(field: str, lengths: np.ndarray) -> np.ndarray:
    """Lengths or coordinates [m], none of which is larger than a mesh can be."""
    if (largest := float(np.abs(lengths).max(initial=0.0))) > LARGEST_COORDINATE:
        raise ValueError(f"{field}: expected numbers of at most {LARGEST_COORDINATE:g}, got {largest:.3g}")
    return lengths


def _checked_mesh(vertices: Any, faces: Any) -> tuple[np.ndarray, np.ndarray]:
    points = _checked_points(vertices)
    merged, triangles = merge_vertices(points, _checked_triangles(faces, len(points)))
    if len(triangles) == 0:
        raise ValueError("faces: expected one at least whose three corners differ, got none")
    return merged, triangles


def _checked_triangles(faces: Any, count: int) -> np.ndarray:
    triangles = np.asarray(faces)
    if triangles.dtype.kind not in "iu":
        raise TypeError(f"faces: expected integers of shape (n, 3), got {triangles.dtype}")
    if triangles.ndim != 2 or triangles.shape[1] != 3 or len(triangles) == 0:
        raise ValueError(f"faces: expected shape (n, 3) with at least one row, got {triangles.shape}")
    if triangles.min() < 0 or triangles.max() >= count:
        raise ValueError(
            f"faces: expected vertex indices from 0 to {count - 1}, "
            f"got {triangles.min()} to {triangles.max()}"
        )
    return triangles.astype(np.int64)


def _normals_of(vertices: np.ndarray, polygons: list[np.ndarray]) -> np.ndarray:
    return np.array([hull.polygon_normal(vertices[list(polygon)]) for polygon in polygons])


def _polytope_integrals(
    corners: np.ndarray, polygons: list[np.ndarray], normals: np.ndarray, radius: float
) -> tuple[float, np.ndarray, np.ndarray]:
    if radius:
        return rounded_integrals(corners, polygons, normals, radius)
    return hull.integrals(corners, hull.fan_triangles(polygons))


def _polytope_surface(shape: Box | ConvexMesh) -> tuple[np.ndarray, np.ndarray]:
    (corners, radius), (polygons, normals) = shape.core(), shape.faces()
    if radius:
        return rounded_surface(corners, polygons, normals, radius, 2.0 * math.pi / SURFACE_SEGMENTS)
    return corners, hull.fan_triangles(polygons)


def _revolved(
    ring: np.ndarray, height: np.ndarray, bottom: float, top: float
) -> tuple[np.ndarray, np.ndarray]:
    """A closed outward surface of revolution about z: rings of given radius and height between two poles."""
    n, rings = SURFACE_SEGMENTS, len(ring)
    angle = 2.0 * math.pi * np.arange(n) / n
    circle = np.column_stack([np.cos(angle), np.sin(angle)])
    body = np.concatenate(
        [np.column_stack([r * circle, np.full(n, z)]) for r, z in zip(ring, height, strict=True)]
    )
    vertices = np.concatenate([body, [[0.0, 0.0, bottom], [0.0, 0.0, top]]])
    here, there = np.arange(n), np.roll(np.arange(n), -1)
    pole = rings * n
    faces = [np.column_stack([np.full(n, pole), there, here])]
    for k in range(rings - 1):
        low, high = k * n, (k + 1) * n
        faces.append(np.column_stack([low + here, low + there, high + there]))
        faces.append(np.column_stack([low + here, high + there, high + here]))
    last = (rings - 1) * n
    faces.append(np.column_stack([np.full(n, pole + 1), last + here, last + there]))
    return vertices, np.concatenate(faces)


def _read_only(values: np.ndarray) -> np.ndarray:
    values = np.ascontiguousarray(values)
    values.setflags(write=False)
    return values
