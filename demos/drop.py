"""Meshes that fall onto a floor, each turned and spinning at random from a seed."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from ..bodies import Body, ConvexMesh, FileFormatError, HalfSpace, Material, Mesh, Scene, load_mesh
from ..bodies.hull import enclosure_problem, integrals
from ..bodies.tolerances import LARGEST_MESH_FILE

DIAMETER = 0.2  # m, about the centre of mass, of a mesh that is rescaled
DENSITY = 1000.0  # kg/m³
FRICTION = 0.5
LARGEST_SPIN = 3.0  # rad/s
SPACING = 1.1  # distance of neighbours, in the sum of their bounding radii
CONVEX_ROUNDING = 1e-9  # of a hull's volume and, in its bounding radius, of its faces' places


@dataclass(frozen=True)
class DroppedMesh:
    """A mesh file as it will fall, in metres: its true triangles, or its convex hull if it is convex.

    scale : metres for one unit of the file
    remark : what kind of mesh the file holds, in a few words
    """

    path: Path
    shape: ConvexMesh | Mesh
    scale: float
    remark: str

    @property
    def diameter(self) -> float:
        """Of the ball about the centre of mass that holds it [m]."""
        return 2.0 * self.shape.bounding_radius

    @property
    def used(self) -> str:
        """One sentence: what its shape and its mass are."""
        if isinstance(self.shape, ConvexMesh):
            return "Shape and mass are those of the convex hull."
        if self.shape.mass_from == "hull":
            return "Shape is the true triangles, mass that of the convex hull."
        return "Shape is the true triangles, mass that of the solid they enclose."


def shipped_mesh() -> Path:
    """The mesh that comes with the package."""
    return Path(__file__).with_name("chipped_block.stl")


def load_dropped_mesh(
    path: str | Path,
    scale: float | None = None,
    mass_from: Literal["surface", "hull"] | None = None,
    size_limit: int = LARGEST_MESH_FILE,
) -> DroppedMesh:
    """A mesh file times `scale`, by default such that it is DIAMETER across, with mass as `Mesh` has it: by default
    that of the solid it encloses, or of its hull where it is open.

    `size_limit` [bytes] is that of `load_mesh`.

    Raises FileFormatError, also for a mesh without volume, and for one that is not closed where mass from its
    surface is asked for.
    """
    if mass_from not in (None, "surface", "hull"):
        raise ValueError(f"mass_from: expected 'surface' or 'hull', got {mass_from!r}")
    path = Path(path)
    vertices, triangles = load_mesh(path, size_limit=size_limit)
    problem = enclosure_problem(vertices, triangles)
    if problem and mass_from == "surface":
        raise FileFormatError(
            path,
            f"{problem}, so it encloses no solid to take mass from: take it from its hull, --mass-from hull",
        )
    mass_from = mass_from or ("hull" if problem else "surface")
    try:
        hull = ConvexMesh(vertices)
    except ValueError as error:
        raise FileFormatError(path, str(error).removeprefix("vertices ")) from None
    convex = problem is None and _is_convex(vertices, triangles, hull)

    def shape(factor: float) -> ConvexMesh | Mesh:
        if convex:
            return ConvexMesh(factor * vertices)
        return Mesh((factor * vertices, triangles), mass_from=mass_from)

    try:
        factor = 0.5 * DIAMETER / shape(1.0).bounding_radius if scale is None else scale
        scaled = shape(factor)
    except ValueError as error:
        raise FileFormatError(path, f"cannot be used at this scale: {error}") from None
    kind = problem or _kind(vertices, triangles, hull, convex)
    return DroppedMesh(path, scaled, factor, f"{len(triangles)} triangles; {kind}")


def drop_scene(
    meshes: Sequence[DroppedMesh], *, height: float | None = None, restitution: float = 0.0, seed: int = 0
) -> Scene:
    """Meshes side by side along x, their lowest points `height` [m] above the floor.

    The default height is each one's own diameter. Orientation is uniform, spin uniform up to LARGEST_SPIN.
    """
    random = np.random.default_rng(seed)
    material = Material(friction=FRICTION, restitution=restitution)
    scene = Scene()
    scene.add(Body(HalfSpace(np.array([0.0, 0.0, 1.0])), fixed=True, material=material, name="floor"))
    place = 0.0
    earlier = 0.0
    names: set[str] = {"floor"}
    for mesh in meshes:
        radius = mesh.shape.bounding_radius
        if earlier:
            place += SPACING * (earlier + radius)
        earlier = radius
        orientation = random.standard_normal(4)
        orientation /= np.linalg.norm(orientation)
        spin = random.standard_normal(3)
        spin *= random.uniform(0.0, LARGEST_SPIN) / np.linalg.norm(spin)
        above = mesh.diameter if height is None else height
        body = Body(
            mesh.shape,
            density=DENSITY,
            position=(place, 0.0, above - float((mesh.shape.vertices @ _vertical(orientation)).min())),
            orientation=orientation,
            angular_velocity=spin,
            material=material,
            name=_free_name(mesh.path.stem or "mesh", names),
        )
        scene.add(body)
    return scene


def _vertical(orientation: np.ndarray) -> np.ndarray:
    """Third row of the rotation matrix: the world's vertical in the body frame."""
    w, x, y, z = orientation
    return np.array([2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)])


def _free_name(stem: str, taken: set[str]) -> str:
    name, number = stem, 2
    while name in taken:
        name, number = f"{stem}-{number}", number + 1
    taken.add(name)
    return name


def _is_convex(vertices: np.ndarray, triangles: np.ndarray, hull: ConvexMesh) -> bool:
    """Whether a mesh that encloses a solid is the surface of its hull."""
    # Volume alone would miss a deep slit too thin to have any, and vertices alone a notch between vertices that
    # are all on the hull. CONVEX_ROUNDING is as exactly as the hull is known: coplanar faces were merged.
    if abs(integrals(vertices, triangles)[0] - hull.volume) > CONVEX_ROUNDING * hull.volume:
        return False
    polygons, normals = hull.faces()
    highest = np.full(len(vertices), -np.inf)
    for polygon, normal in zip(polygons, normals, strict=True):
        place = hull.vertices[polygon[0]] + hull.center_of_mass
        np.maximum(highest, (vertices - place) @ normal, out=highest)
    return bool((highest > -CONVEX_ROUNDING * hull.bounding_radius).all())


def _kind(vertices: np.ndarray, triangles: np.ndarray, hull: ConvexMesh, convex: bool) -> str:
    """What kind of solid a mesh encloses."""
    if convex:
        return "closed and convex"
    share = 100.0 * integrals(vertices, triangles)[0] / hull.volume
    if share > 100.5:
        return f"closed, with parts that overlap: they add up to {share:.0f} % of its hull"
    if share > 99.5:
        return "closed, not quite convex: it fills nearly all of its hull"
    return f"closed, not convex: it fills {share:.0f} % of its hull"
