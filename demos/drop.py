"""Meshes that fall onto a floor, each turned and spinning at random from a seed."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..bodies import Body, ConvexMesh, FileFormatError, HalfSpace, Material, Scene, load_mesh
from ..bodies.hull import integrals, solid_problem

DIAMETER = 0.2  # m, about the centre of mass, of a mesh that is rescaled
DENSITY = 1000.0  # kg/m³
FRICTION = 0.5
LARGEST_SPIN = 3.0  # rad/s
SPACING = 1.1  # distance of neighbours, in the sum of their bounding radii
CONVEX_VOLUME = 1e-6  # share of the hull's volume that a convex mesh may miss by rounding


@dataclass(frozen=True)
class DroppedMesh:
    """A mesh file as it will fall: its convex hull, in metres.

    scale : metres for one unit of the file
    remark : what kind of mesh the file holds, in a few words
    """

    path: Path
    shape: ConvexMesh
    scale: float
    remark: str

    @property
    def diameter(self) -> float:
        """Of the ball about the centre of mass that holds it [m]."""
        return 2.0 * self.shape.bounding_radius


def shipped_mesh() -> Path:
    """The mesh that comes with the package."""
    return Path(__file__).with_name("chipped_block.stl")


def load_dropped_mesh(path: str | Path, scale: float | None = None) -> DroppedMesh:
    """The convex hull of a mesh file times `scale`, by default such that it is DIAMETER across.

    Raises FileFormatError, also for a mesh without volume.
    """
    path = Path(path)
    vertices, triangles = load_mesh(path)
    try:
        hull = ConvexMesh(vertices)
        factor = 0.5 * DIAMETER / hull.bounding_radius if scale is None else scale
        shape = ConvexMesh(factor * vertices)
    except FileFormatError:
        raise
    except ValueError as error:
        raise FileFormatError(path, str(error).removeprefix("vertices ")) from None
    return DroppedMesh(path, shape, factor, _kind(vertices, triangles, hull.volume))


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


def _kind(vertices: np.ndarray, triangles: np.ndarray, hull_volume: float) -> str:
    problem = solid_problem(triangles)
    if problem:
        return f"{len(triangles)} triangles; {problem}"
    volume = abs(integrals(vertices, triangles)[0])
    share = volume / hull_volume
    if share < 1.0 - CONVEX_VOLUME:
        return f"{len(triangles)} triangles; closed, not convex: it fills {100.0 * share:.0f} % of its hull"
    return f"{len(triangles)} triangles; closed and convex"
