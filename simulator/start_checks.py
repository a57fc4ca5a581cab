"""What a start must satisfy, and what a law does not regard of it."""

import itertools

import numpy as np

from ..bodies import Material
from ..bodies.joints import DrivenJoint
from ..impact_laws import ImpactLaw
from .collision.pairs import overlap, pair_gap, pair_size
from .engine.loop_kernels import begin_inside, close_pairs
from .state import Array, Model
from .tolerances import JOINT_START, OVERLAP
from .world import World


def refuse_overlap(world: World, when: str) -> None:
    """ValueError, which says `when`, where bodies overlap; sensors note what is inside them."""
    model, count = world.model, int(close_pairs(world.address))
    bodies, states = model.scene.bodies, world.motions["state"]
    for low, high in world.table("members", 2 * count).reshape(-1, 2).tolist():
        pair = (high, low) if model.planes[low] is not None else (low, high)
        if bodies[low].sensor or bodies[high].sensor:
            if pair_gap(model, pair, states)[1] <= 0.0 or overlap(model, pair, states) > 0.0:
                begin_inside(world.address, low, high)
            continue
        depth = overlap(model, pair, states)
        if depth > OVERLAP * pair_size(model, pair):
            first, second = (bodies[b].name for b in sorted(pair))
            raise ValueError(
                f"position: bodies {first!r} and {second!r} overlap by {depth:.6g} m {when}; "
                "move them apart, or let scene.resolve_overlaps() do it"
            )


def refuse_loose_joints(model: Model, states: Array, when: str) -> None:
    """ValueError, which says `when`, where bodies are not as joints want them, move as these do not allow, or are
    beyond the limits of one."""
    scene, articulation = model.scene, model.articulation
    rate, value = articulation.violations(states)
    for off, unit, word in ((value, "m or rad", "are"), (rate, "m/s or rad/s", "move")):
        if np.abs(off).max(initial=0.0) > JOINT_START:
            row = int(np.abs(off).argmax())
            joint = scene.joints[articulation.joint_of_row[row]]
            base = "the world" if joint.base < 0 else repr(scene.bodies[joint.base].name)
            raise ValueError(
                f"joint {joint.name!r}: {when}, bodies {scene.bodies[joint.body].name!r} and {base} "
                f"{word} not as it allows, by {abs(off[row]):.3g} {unit}"
            )
    gaps = articulation.limit_gaps(states)
    if gaps.min(initial=0.0) < -JOINT_START:
        number = int(articulation.limit_joint[gaps.argmin()])
        joint = scene.joints[number].joint
        assert isinstance(joint, DrivenJoint)  # no other has limits
        coordinate = articulation.coordinate(number, states)[0]
        raise ValueError(
            f"joint {scene.joints[number].name!r}: {when}, expected its coordinate within its limits "
            f"{joint.limits}, got {coordinate:.9g}"
        )


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
