"""What exists: shapes, mass properties, materials, bodies, the scene, and mesh files."""

from .body import ALL_GROUPS, Body
from .decomposition import Decomposition
from .files import FileFormatError
from .forces import Drag
from .joints import (
    DistanceJoint,
    Drive,
    FixedJoint,
    Joint,
    PlacedJoint,
    PlanarJoint,
    PrismaticJoint,
    RevoluteJoint,
    SphericalJoint,
    Spring,
    UniversalJoint,
)
from .material import Material, SpeedRestitution
from .meant import says_how_to_change, says_what_was_meant, says_which_name
from .mesh_files import load_mesh
from .orientation import axis_angle, euler_angles
from .scene import Scene
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
from .spheres import Spheres

for _kind in (
    Body, Box, Capsule, ConvexMesh, Cylinder, DistanceJoint, Drag, Drive, Ellipsoid, FixedJoint, HalfSpace,
    Material, Mesh, PlanarJoint, PrismaticJoint, RevoluteJoint, Scene, SpeedRestitution, Sphere,
    Spheres, SphericalJoint, Spring, UniversalJoint,
):  # fmt: skip
    says_what_was_meant(_kind)
says_how_to_change(
    Body, "give it when the body is made, Body(shape, mass=...); a run moves no body of the scene"
)
says_which_name(Scene, {"add_body": "add", "add_shape": "add", "add_constraint": "add_joint"})

__all__ = [
    "ALL_GROUPS",
    "Body",
    "Box",
    "Capsule",
    "ConvexMesh",
    "Cylinder",
    "Decomposition",
    "DistanceJoint",
    "Drag",
    "Drive",
    "Ellipsoid",
    "FileFormatError",
    "FixedJoint",
    "HalfSpace",
    "Joint",
    "MassProperties",
    "Material",
    "Mesh",
    "PlacedJoint",
    "PlanarJoint",
    "PrismaticJoint",
    "RevoluteJoint",
    "Scene",
    "Shape",
    "SpeedRestitution",
    "Sphere",
    "Spheres",
    "SphericalJoint",
    "Spring",
    "UniversalJoint",
    "axis_angle",
    "euler_angles",
    "load_mesh",
]
