"""Many spheres at once, as arrays instead of one `Body` each."""

from dataclasses import KW_ONLY, dataclass, field
from typing import Any

from . import checks
from .material import Material, refuse_no_material


@dataclass(frozen=True, eq=False)
class Spheres:
    """Many uniform balls of one material, which `Scene.add_spheres` adds to a scene.

    radius : [m], one number or (n,), greater than 0
    density : [kg/m³], one number or (n,), greater than 0
    position : (n, 3) [m] of their centres, in the world
    velocity, angular_velocity : (3,) of all or (n, 3) [m/s], [rad/s], in the world
    material : friction and restitution of them all
    name : of them all; one of them is called ``name[k]``

    All arrays are read-only, and (n,) or (n, 3) however they were given. ValueError or TypeError names the field.

    >>> import carom
    >>> grains = carom.Spheres(0.01, density=2500.0, position=[(0, 0, 0), (0, 0, 0.03)])
    >>> len(grains), grains.radius
    (2, array([0.01, 0.01]))
    """

    radius: Any
    _: KW_ONLY
    density: Any
    position: Any
    velocity: Any = (0.0, 0.0, 0.0)
    angular_velocity: Any = (0.0, 0.0, 0.0)
    material: Material = field(default_factory=Material)
    name: str | None = None

    def __post_init__(self) -> None:
        refuse_no_material(self.material)
        if self.name is not None and (not isinstance(self.name, str) or not self.name.strip()):
            raise TypeError(f"name: expected a text that is not empty, got {self.name!r}")
        assign = object.__setattr__
        assign(self, "position", checks.array("position", self.position, (None, 3)))
        for name in ("radius", "density"):
            assign(self, name, checks.each(name, getattr(self, name), len(self), ()))
            if not (getattr(self, name) > 0.0).all():
                worst = float(getattr(self, name).min())
                raise ValueError(f"{name}: expected numbers greater than 0, got {worst:g}")
        for name in ("velocity", "angular_velocity"):
            assign(self, name, checks.each(name, getattr(self, name), len(self), (3,)))

    def __len__(self) -> int:
        return len(self.position)
