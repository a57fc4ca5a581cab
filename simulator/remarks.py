"""What of a scene has no effect in a run, said once in `Trajectory.remarks`."""

import itertools
import math
from collections.abc import Iterator

from ..bodies import ConvexMesh, Drive, Material, Mesh, Scene
from ..bodies.joints import DrivenJoint
from ..impact_laws import ImpactLaw
from .state import Model

HUGE = 20.0
"""[m] Movable meshes that are larger are remarked on. Smaller: boulders are. Larger: parts of 30 mm are not."""


def remarks_on(model: Model, law: ImpactLaw) -> list[str]:
    """Sentences on what the law ignores, on restitution that another body takes away, on idle drives, and on a mesh
    that seems to be in millimetres."""
    lost = lost_restitution(model.scene) if law.honours_restitution else []
    return ignored_properties(model, law) + lost + idle_drives(model.scene) + huge_meshes(model.scene)


def ignored_properties(model: Model, law: ImpactLaw) -> list[str]:
    """Remarks on properties of materials that the law does not regard."""
    materials = _materials_of_pairs(model)
    ignored = [
        word
        for word, honoured, values in (
            ("friction", law.honours_friction, [m.friction_of_impacts for m in materials]),
            ("restitution", law.honours_restitution, [m.slow_restitution for m in materials]),
        )
        if not honoured and any(values)
    ]
    return [f"the law {law.name} ignores {' and '.join(ignored)}"] if ignored else []


def lost_restitution(scene: Scene) -> list[str]:
    """A remark where two bodies that can meet have a restitution of zero together because one of them has.

    The geometric mean leaves nothing of the other's then, and zero is what a `Material` has by default.
    """
    for i, j in _half_elastic_pairs(scene):
        lost, whose = scene.bodies[i].material.slow_restitution, scene.bodies[i].name
        return [
            f"the restitution {lost:g} of {whose!r} has no effect on {scene.bodies[j].name!r}, whose own is 0: "
            "two surfaces combine by the geometric mean, so give both one, or the pair a material"
        ]
    return []


def _half_elastic_pairs(scene: Scene) -> Iterator[tuple[int, int]]:
    """Pairs of bodies that can push each other, of which only the first has a restitution, without a material of
    their own."""
    kinds: dict[tuple[bool, bool, int, int], list[int]] = {}
    for k, body in enumerate(scene.bodies):
        if not body.sensor:
            key = (
                body.material.slow_restitution > 0.0,
                body.fixed,
                body.collision_group,
                body.collision_mask,
            )
            kinds.setdefault(key, []).append(k)
    apart = {pair for pair, _ in scene.materials_of_pairs} | set(scene.disabled_pairs)
    for one, other in itertools.product(kinds, kinds):
        if one[0] and not other[0] and not (one[1] and other[1]) and one[2] & other[3] and other[2] & one[3]:
            for i, j in itertools.product(kinds[one], kinds[other]):
                if (min(i, j), max(i, j)) not in apart:
                    yield i, j


def idle_drives(scene: Scene) -> list[str]:
    """Remarks on drives that ask for what they have no means for."""
    found: dict[str, list[str]] = {}
    for placed in scene.joints:
        drive = placed.joint.drive if isinstance(placed.joint, DrivenJoint) else None
        for lack in [] if drive is None else _lacks(drive):
            found.setdefault(lack, []).append(placed.name)
    return [
        f"the drive of joint {names[0]!r}{f' and of {len(names) - 1} more' if names[1:] else ''} has {lack}"
        for lack, names in found.items()
    ]


def huge_meshes(scene: Scene) -> list[str]:
    """A remark on the first mesh of a body that moves and is larger than what people throw about."""
    for body in scene.bodies:
        if body.fixed or not isinstance(body.shape, Mesh | ConvexMesh):
            continue
        across = 2.0 * body.bounding_radius
        if across > HUGE:
            return [
                f"{body.name!r} is {across:.3g} m across: if its file is in millimetres, pass scale=0.001 to "
                f"{type(body.shape).__name__}"
            ]
    return []


def _lacks(drive: Drive) -> list[str]:
    """What a drive asks for without effect, and why; one without any field is a place for `set_drive`."""
    lacks = []
    if drive.rate != 0.0 and drive.damping == 0.0:
        lacks.append("a rate without effect, since its damping is 0")
    if drive.target != 0.0 and drive.stiffness == 0.0:
        lacks.append("a target without effect, since its stiffness is 0")
    if drive.limit < math.inf and not (drive.stiffness or drive.damping or drive.effort):
        lacks.append("a limit and no stiffness, damping or effort that it could limit")
    return lacks


def _materials_of_pairs(model: Model) -> list[Material]:
    """Every material that a contact between two bodies can have."""
    scene = model.scene
    if scene.has_pair_materials:
        pairs = itertools.combinations(range(len(scene)), 2)
    else:  # two bodies of every kind stand for all
        kinds: dict[tuple[Material, bool], list[int]] = {}
        for k, body in enumerate(scene.bodies):
            kinds.setdefault((body.material, body.fixed), []).append(k)
        pairs = itertools.combinations([k for members in kinds.values() for k in members[:2]], 2)
    movable = model.movable
    return [scene.pair_material(i, j) for i, j in pairs if movable[i] or movable[j]]
