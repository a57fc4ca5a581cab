"""What time steps refuse of a scene."""

import numpy as np

from ...bodies import Body, Material, Mesh, Scene, Sphere
from ...bodies.body import ALL_GROUPS
from ...impact_laws import MaximumDissipation

EVEN = 1e-12
"""Of the inertia of a ball, by which its principal moments may differ."""


def refuse_law(law: object) -> None:
    """TypeError for a law that does not resolve all contacts of many bodies at once."""
    if not isinstance(law, MaximumDissipation):
        raise TypeError(
            "law: time steps solve all contacts at once without their matrix, which only "
            f"MaximumDissipation(...) does; got {type(law).__name__}"
        )


def refuse_sphere_scene(scene: Scene) -> None:
    """ValueError or TypeError for what time steps of many spheres do not do, by the name of the field."""
    if not isinstance(scene, Scene):
        raise TypeError(f"scene: expected a Scene, got {type(scene).__name__}")
    _refuse_fields(
        scene,
        {
            "joints": len(scene.joints),
            "drag": len(scene.drags),
            "force functions": len(scene.force_functions),
            "a plane of motion": int(scene.plane is not None),
            "materials of pairs": int(scene.has_pair_materials),
            "pairs that do not collide": len(scene.disabled_pairs),
        },
    )
    for body in scene.bodies:
        refuse_material(f"body {body.name!r}", body.material)
        _refuse_sensor(body)
        if body.collision_group != 1 or body.collision_mask != ALL_GROUPS:
            raise ValueError(
                f"body {body.name!r}: time steps of spheres have no collision groups, all bodies meet"
            )
        if not body.fixed:
            refuse_not_sphere(body)
    for each in scene.spheres:
        refuse_material(str(each.name), each.material)


def refuse_convex_scene(scene: Scene, forces: bool) -> None:
    """ValueError or TypeError for what time steps of convex bodies do not do, by the name of the field; `forces`
    says whether they have others than gravity."""
    fields = {"joints": len(scene.joints)}
    if not forces:
        fields |= {"drag": len(scene.drags), "force functions": len(scene.force_functions)}
    _refuse_fields(scene, fields)
    for body in scene.bodies:
        _refuse_resistance(f"body {body.name!r}", body.material)
        _refuse_sensor(body)
        if isinstance(body.shape, Mesh):
            raise TypeError(
                f"body {body.name!r}: expected a convex shape, since steps is given, got a Mesh; ConvexMesh is its "
                "hull, Mesh.decomposed gives convex parts"
            )
    for (i, j), material in scene.materials_of_pairs:
        _refuse_resistance(f"the pair of {scene.bodies[i].name!r} and {scene.bodies[j].name!r}", material)


def _refuse_fields(scene: Scene, fields: dict[str, int]) -> None:
    found = [name for name, count in fields.items() if count]
    if found:
        raise ValueError(f"scene: time steps do without {', '.join(fields)}; this one has {', '.join(found)}")


def _refuse_sensor(body: Body) -> None:
    if body.sensor:
        raise ValueError(f"body {body.name!r}: time steps have no sensors")


def refuse_not_sphere(body: Body) -> None:
    """TypeError or ValueError for a body that does not move as an even ball does."""
    if not isinstance(body.shape, Sphere):
        raise TypeError(
            f"body {body.name!r}: only spheres move by time steps, got a {type(body.shape).__name__} that is "
            "not fixed"
        )
    if body.shape_offset.any():
        raise ValueError(
            f"body {body.name!r}: expected its centre of mass in the middle, got {body.center_of_mass}"
        )
    off = np.abs(body.inertia - body.inertia[0, 0] * np.eye(3)).max()
    if off > EVEN * body.inertia[0, 0]:
        raise ValueError(
            f"body {body.name!r}: expected the same inertia about every axis, got {body.inertia}"
        )


def refuse_material(owner: str, material: Material) -> None:
    """ValueError for a surface that time steps of many spheres do not have."""
    if material.slow_restitution > 0.0:
        raise ValueError(
            f"{owner}: time steps know inelastic impacts only, expected restitution 0, "
            f"got {material.slow_restitution:g}"
        )
    if material.impact_friction not in (None, material.friction):
        raise ValueError(f"{owner}: time steps know one friction, got an impact_friction of its own")
    _refuse_resistance(owner, material)


def _refuse_resistance(owner: str, material: Material) -> None:
    if material.rolling_friction > 0.0 or material.spinning_friction > 0.0:
        raise ValueError(f"{owner}: time steps have no rolling_friction and no spinning_friction, expected 0")
