"""A rigid body: a shape with mass, material and initial motion."""

import copy
import math
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any

import numpy as np

from . import checks
from .colour import checked_colour
from .material import Material, refuse_no_material
from .orientation import unit_quaternion
from .rotation import rotation_matrices
from .shapes import HalfSpace, Shape
from .tolerances import FASTEST_SPIN, INERTIA_RELATIVE

ALL_GROUPS = 2**63 - 1
"""The collision mask that lets a body meet every collision group: all 63 bits."""


@dataclass(frozen=True, eq=False)
class Body:
    """A rigid body.

    Give exactly one of ``density`` [kg/m³] and ``mass`` [kg]; with ``mass``, ``inertia`` (3, 3) [kg m²] about
    the centre of mass in body axes may follow, and is that of the uniform shape if left out. A fixed body
    needs none of these: its ``mass`` and inertia are then infinite. A half-space must be fixed.

    ``position`` (3,) [m] and ``velocity`` (3,) [m/s] are those of the centre of mass, ``angular_velocity`` (3,)
    [rad/s] is that of the body, all in the world frame; ``orientation`` (4,) is the unit quaternion (w, x, y, z)
    from body to world, normalised where its length is within 1e-3 of one, or a ``Rotation`` of scipy;
    ``axis_angle`` and ``euler_angles`` make one. The body frame has its origin at the centre of mass, and the axes
    of the shape.

    ``center_of_mass`` (3,) [m] is where the centre of mass lies in the shape's own frame: that in which its
    vertices were given, or whose origin is the middle of a ball, box, capsule or cylinder. By default it is that
    of the uniform solid. Anywhere else the solid is not uniform, so a body that can move then needs a ``mass``
    and an ``inertia`` (about this centre of mass, as always), and a ``density`` is refused. ``shape_position``
    and ``shape_velocity`` are those of the origin of the shape's frame; later on ``State.shape_position(scene)``
    and ``State.shape_velocity(scene)`` tell them.

    ``collision_group`` and ``collision_mask`` are sets of up to 63 groups, one a bit: the groups the body is in
    and the groups it meets. Two bodies can collide only if each is in a group that the other meets
    (``a.collision_group & b.collision_mask`` and the other way round; see ``Scene.collides``). By default
    every body is in group 1 and meets all.

    A ``sensor`` notices the bodies that touch it and pushes none: it passes through everything. Unless it is
    fixed it flies freely, and needs a mass as every body that can move.

    ``color`` is what the body looks like in windows, pictures and exports: a name such as "red", "#rrggbb", or red,
    green and blue from 0 to 1; it is kept as "#rrggbb", and None leaves the choice to the viewer. Half-spaces are
    drawn as tiled floors whatever theirs is.

    All arrays are read-only. Raises ValueError or TypeError that names the field.

    >>> import numpy as np
    >>> import carom
    >>> loaded = carom.Body(  # a ball that is heavier on one side
    ...     carom.Sphere(0.1), mass=1.0, inertia=0.004 * np.eye(3), center_of_mass=(0, 0, -0.02), position=(0, 0, 1)
    ... )
    >>> loaded.shape_position  # of its middle
    array([0.  , 0.  , 1.02])
    """

    shape: Shape
    _: KW_ONLY
    density: float | None = None
    mass: Any = None
    inertia: Any = None
    position: Any = (0.0, 0.0, 0.0)
    orientation: Any = (1.0, 0.0, 0.0, 0.0)
    velocity: Any = (0.0, 0.0, 0.0)
    angular_velocity: Any = (0.0, 0.0, 0.0)
    material: Material = field(default_factory=Material)
    fixed: bool = False
    name: str | None = None
    collision_group: int = 1
    collision_mask: int = ALL_GROUPS
    sensor: bool = False
    center_of_mass: Any = None
    color: Any = None

    def __post_init__(self) -> None:
        if not isinstance(self.shape, Shape):
            raise TypeError(f"shape: expected a shape such as Sphere(0.1), got {type(self.shape).__name__}")
        refuse_no_material(self.material)
        if self.name is not None and (not isinstance(self.name, str) or not self.name.strip()):
            raise TypeError(f"name: expected a text that is not empty, got {self.name!r}")
        assign = object.__setattr__
        for name in ("fixed", "sensor"):
            assign(self, name, checks.flag(name, getattr(self, name)))
        for name in ("collision_group", "collision_mask"):
            assign(self, name, checks.whole(name, getattr(self, name), ALL_GROUPS))
        for name in ("position", "velocity", "angular_velocity"):
            assign(self, name, _vector(name, getattr(self, name)))
        assign(self, "orientation", unit_quaternion("orientation", self.orientation))
        if self.fixed and (self.velocity.any() or self.angular_velocity.any()):
            raise ValueError("velocity: expected zero for a fixed body, which never moves")
        assign(self, "color", checked_colour(self.color))
        assign(self, "center_of_mass", self._checked_center())
        mass, inertia = self._checked_mass()
        if not self.fixed:
            _refuse_lost_mass(mass, inertia)
        assign(self, "mass", mass)
        inertia.setflags(write=False)
        assign(self, "inertia", inertia)

    def _checked_center(self) -> np.ndarray:
        uniform = self.shape.center_of_mass
        if self.center_of_mass is None:
            return uniform
        if isinstance(self.shape, HalfSpace):
            raise ValueError("center_of_mass: expected none for a HalfSpace, which is unbounded")
        center = checks.array("center_of_mass", self.center_of_mass, (3,))
        if self.fixed or (center == uniform).all():
            return center
        if self.density is not None or self.mass is None or self.inertia is None:
            raise ValueError(
                "center_of_mass: expected a mass and an inertia about it, and no density, where it is not that of "
                f"the uniform solid, {uniform.tolist()}, got {center.tolist()}"
            )
        return center

    def _checked_mass(self) -> tuple[float, np.ndarray]:
        if isinstance(self.shape, HalfSpace):
            if not self.fixed:
                raise ValueError("fixed: expected True for a body of shape HalfSpace, got False")
            for name in ("density", "mass", "inertia"):
                if getattr(self, name) is not None:
                    raise ValueError(f"{name}: expected none for a HalfSpace, which is unbounded")
        if self.density is not None and self.mass is not None:
            raise ValueError("density, mass: expected exactly one of the two, got both")
        if self.inertia is not None and self.mass is None:
            raise ValueError("inertia: expected together with mass, got it without")
        if self.density is not None:
            density = checks.number("density", self.density, above=0.0)
            object.__setattr__(self, "density", density)
            properties = self.shape.mass_properties(density)
            return properties.mass, np.array(properties.inertia)
        if self.mass is not None:
            mass = checks.number("mass", self.mass, above=0.0)
            if self.inertia is not None:
                return mass, _checked_inertia(self.inertia)
            return mass, mass * self.shape.unit_mass_inertia()
        if self.fixed:
            return math.inf, np.diag([math.inf] * 3)
        raise ValueError(
            "density, mass: expected exactly one of the two for a body that can move, got neither"
        )

    @property
    def inverse_mass(self) -> float:
        """1/mass [1/kg], zero for a fixed body."""
        return 0.0 if self.fixed else 1.0 / self.mass

    @property
    def shape_offset(self) -> np.ndarray:
        """Where in the body frame the shape has the centre of its uniform solid (3,) [m]; mostly zero.

        That centre is the origin of what the shape's own ``surface()``, ``core()`` and ``vertices`` say.
        """
        return self.shape.center_of_mass - self.center_of_mass

    @property
    def shape_position(self) -> np.ndarray:
        """World position (3,) [m] of the origin of the shape's own frame."""
        return self.position - rotation_matrices(self.orientation) @ self.center_of_mass

    @property
    def shape_velocity(self) -> np.ndarray:
        """World velocity (3,) [m/s] of the origin of the shape's own frame, as a point of the body."""
        arm = rotation_matrices(self.orientation) @ self.center_of_mass
        return self.velocity - np.cross(self.angular_velocity, arm)

    @property
    def bounding_radius(self) -> float:
        """Radius [m] of a ball about the centre of mass that holds the shape."""
        offset = self.shape_offset
        return self.shape.farthest_from(-offset) if offset.any() else self.shape.bounding_radius

    def surface(self) -> tuple[np.ndarray, np.ndarray]:
        """The shape's ``surface()`` in the body frame."""
        vertices, triangles = self.shape.surface()
        offset = self.shape_offset
        return vertices + offset if offset.any() else vertices, triangles

    def varied(self, fields: dict[str, Any]) -> "Body":
        """The same body with other values of these fields: see `Scene.varied`."""
        assign = object.__setattr__
        made = copy.copy(self)
        surface = {name: fields[name] for name in Material.__dataclass_fields__ if name in fields}
        if surface:
            assign(made, "material", replace(self.material, **surface))
        for name in fields.keys() - surface.keys():
            if name == "mass":
                mass = checks.number(name, fields[name], above=0.0)
                if math.isinf(self.mass):
                    raise ValueError("mass: expected that of a body that has one, got a fixed body without")
                inertia = self.inertia * (mass / self.mass)
                if not self.fixed:
                    _refuse_lost_mass(mass, inertia)
                inertia.setflags(write=False)
                assign(made, "inertia", inertia)
                assign(made, "mass", mass)
                assign(made, "density", None if self.density is None else self.density * (mass / self.mass))
            elif name == "orientation":
                assign(made, name, unit_quaternion(name, fields[name]))
            elif name in ("position", "velocity", "angular_velocity"):
                assign(made, name, _vector(name, fields[name]))
            else:
                raise ValueError(f"{name}: expected a field that can be varied")
        if made.fixed and (made.velocity.any() or made.angular_velocity.any()):
            raise ValueError("velocity: expected zero for a fixed body, which never moves")
        return made

    def __repr__(self) -> str:
        kind = "fixed" if self.fixed else f"mass={self.mass:g}"
        return f"Body({type(self.shape).__name__}, {kind}, name={self.name!r})"


def _vector(name: str, value: Any) -> np.ndarray:
    """A position, velocity or angular velocity (3,); a spin that no clock could follow is refused."""
    vector = checks.array(name, value, (3,))
    if name == "angular_velocity" and (fastest := float(np.abs(vector).max())) > FASTEST_SPIN:
        raise ValueError(f"angular_velocity: expected at most {FASTEST_SPIN:g} rad/s, got {fastest:.3g}")
    return vector


def _refuse_lost_mass(mass: float, inertia: np.ndarray) -> None:
    """ValueError where a mass or moment of inertia, or what divides by one, is no number any more."""
    numbers = np.array([mass, *np.diag(inertia)])
    with np.errstate(over="ignore", divide="ignore"):
        kept = np.isfinite(numbers) & (numbers > 0.0) & np.isfinite(1.0 / numbers)
    if not kept.all():
        raise ValueError(
            "density, mass: expected a body whose mass and moments of inertia can be told from zero and infinity, "
            f"got mass {mass:g} and moments {np.diag(inertia).tolist()}"
        )


def _checked_inertia(value: Any) -> np.ndarray:
    inertia = checks.array("inertia", value, (3, 3))
    allowed = INERTIA_RELATIVE * float(np.abs(inertia).max())
    if np.abs(inertia - inertia.T).max() > allowed:
        raise ValueError(f"inertia: expected a symmetric matrix, got {inertia.tolist()}")
    inertia = 0.5 * (inertia + inertia.T)
    moments = np.linalg.eigvalsh(inertia)
    if not moments[0] > 0.0:
        raise ValueError(f"inertia: expected positive principal moments, got {moments.tolist()}")
    if moments[0] + moments[1] < moments[2] - allowed:
        raise ValueError(
            "inertia: expected that no principal moment exceeds the sum of the other two "
            f"(no distribution of mass does otherwise), got {moments.tolist()}"
        )
    return inertia
