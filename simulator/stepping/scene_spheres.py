"""What time steps take from a scene, and what they refuse."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from ...bodies import Body, Material, Scene, Sphere, Spheres
from ...bodies.body import ALL_GROUPS
from ...bodies.material import combine
from ...impact_laws import MaximumDissipation
from .flows import Inflow
from .sphere_table import SphereTable, spheres, uniform_mass

EVEN = 1e-12
"""Of the inertia of a ball, by which its principal moments may differ."""


def refuse_law(law: object) -> None:
    """TypeError for a law that does not resolve all contacts of many bodies at once."""
    if not isinstance(law, MaximumDissipation):
        raise TypeError(
            "law: time steps solve all contacts at once without their matrix, which only "
            f"MaximumDissipation(...) does; got {type(law).__name__}"
        )


def refuse_scene(scene: Scene) -> None:
    """ValueError or TypeError for what time steps of spheres do not do, by the name of the field."""
    if not isinstance(scene, Scene):
        raise TypeError(f"scene: expected a Scene, got {type(scene).__name__}")
    fields = {
        "joints": len(scene.joints),
        "drag": len(scene.drags),
        "force functions": len(scene.force_functions),
        "a plane of motion": int(scene.plane is not None),
        "materials of pairs": int(scene.has_pair_materials),
        "pairs that do not collide": len(scene.disabled_pairs),
    }
    found = [name for name, count in fields.items() if count]
    if found:
        raise ValueError(f"scene: time steps do without {', '.join(fields)}; this one has {', '.join(found)}")
    for body in scene.bodies:
        _refuse_body(body)
    for each in scene.spheres:
        _refuse_material(str(each.name), each.material)


def _refuse_body(body: Body) -> None:
    _refuse_material(f"body {body.name!r}", body.material)
    if body.sensor:
        raise ValueError(f"body {body.name!r}: time steps have no sensors")
    if body.collision_group != 1 or body.collision_mask != ALL_GROUPS:
        raise ValueError(f"body {body.name!r}: time steps have no collision groups, all bodies meet")
    if body.fixed:
        return
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


def _refuse_material(owner: str, material: Material) -> None:
    if material.slow_restitution > 0.0:
        raise ValueError(
            f"{owner}: time steps know inelastic impacts only, expected restitution 0, "
            f"got {material.slow_restitution:g}"
        )
    if material.impact_friction not in (None, material.friction):
        raise ValueError(f"{owner}: time steps know one friction, got an impact_friction of its own")
    if material.rolling_friction > 0.0 or material.spinning_friction > 0.0:
        raise ValueError(f"{owner}: time steps have no rolling_friction and no spinning_friction, expected 0")


def surfaces_of(scene: Scene, inflows: Sequence[Inflow]) -> tuple[list[Material], NDArray[np.float64]]:
    """All different materials, and the friction (m, m) of each with each."""
    for inflow in inflows:
        if not isinstance(inflow, Inflow):
            raise TypeError(f"inflows: expected Inflow(...), got {inflow!r}")
        _refuse_material(f"inflow {inflow.name!r}", inflow.material)
    known: list[Material] = []
    owners: list[Body | Spheres | Inflow] = [*scene.bodies, *scene.spheres, *inflows]
    for owner in owners:
        if owner.material not in known:
            known.append(owner.material)
    friction = [[combine(one, other).friction for other in known] for one in known]
    return known, np.array(friction, dtype=np.float64).reshape(len(known), len(known))


def table_of(scene: Scene, materials: list[Material]) -> tuple[SphereTable, list[tuple[int, str, bool]]]:
    """All spheres of a scene, single ones first, and their names: (first number, name, whether of many)."""
    parts, names, count = [SphereTable.empty(0)], [], 0
    for body in scene.bodies:
        if body.fixed:
            continue
        assert isinstance(body.shape, Sphere)
        names.append((count, str(body.name), False))
        velocity = np.concatenate([body.velocity, body.angular_velocity])[None]
        single = spheres(
            body.position[None], np.array([body.shape.radius]), np.array([body.mass]),
            body.inertia[:1, 0], velocity, materials.index(body.material), count,
        )  # fmt: skip
        parts.append(single)
        count += 1
    for each in scene.spheres:
        names.append((count, str(each.name), True))
        velocity = np.hstack([each.velocity, each.angular_velocity])
        mass, inertia = uniform_mass(each.radius, each.density)
        surface = materials.index(each.material)
        parts.append(spheres(each.position, each.radius, mass, inertia, velocity, surface, count))
        count += len(each)
    return SphereTable.joined(parts), names


def names_of(walls: Sequence[str], other: int, name: Callable[[int], str], ids: NDArray[np.int64]) -> str:
    """What the other side of a touch is called, of which `other` is the row, or -1 - k for wall k."""
    return f"body {walls[-1 - other]!r}" if other < 0 else f"sphere {name(int(ids[other]))!r}"
