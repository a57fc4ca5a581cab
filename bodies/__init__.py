"""What exists: shapes, mass properties, materials, bodies, the scene, and mesh files."""

from .body import ALL_GROUPS, Body
from .decomposition import Decomposition
from .material import Material
from .mesh_files import FileFormatError, load_mesh
from .scene import Scene
from .shapes import Box, Capsule, ConvexMesh, Cylinder, HalfSpace, MassProperties, Mesh, Shape, Sphere

__all__ = [
    "ALL_GROUPS",
    "Body",
    "Box",
    "Capsule",
    "ConvexMesh",
    "Cylinder",
    "Decomposition",
    "FileFormatError",
    "HalfSpace",
    "MassProperties",
    "Material",
    "Mesh",
    "Scene",
    "Shape",
    "Sphere",
    "load_mesh",
]
