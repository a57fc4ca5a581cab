"""What exists: shapes, mass properties, materials, bodies, the scene, and mesh files."""

from .body import Body
from .material import Material
from .mesh_files import FileFormatError, load_mesh
from .scene import Scene
from .shapes import Box, Capsule, ConvexMesh, Cylinder, HalfSpace, MassProperties, Mesh, Shape, Sphere

__all__ = [
    "Body",
    "Box",
    "Capsule",
    "ConvexMesh",
    "Cylinder",
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
