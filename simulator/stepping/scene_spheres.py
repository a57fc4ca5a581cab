"""The spheres of a scene as time steps take them."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from ...bodies import Body, Material, Scene, Sphere, Spheres
from ...bodies.material import combine
from .flows import Inflow
from .scene_checks import refuse_material
from .sphere_table import SphereTable, spheres, uniform_mass


def surfaces_of(scene: Scene, inflows: Sequence[Inflow]) -> tuple[list[Material], NDArray[np.float64]]:
    """All different materials, and the friction (m, m) of each with each."""
    for inflow in inflows:
        if not isinstance(inflow, Inflow):
            raise TypeError(f"inflows: expected Inflow(...), got {inflow!r}")
        refuse_material(f"inflow {inflow.name!r}", inflow.material)
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
