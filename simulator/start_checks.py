"""What a start must satisfy."""

import numpy as np

from ..bodies.joints import DrivenJoint
from ..bodies.rotation import rotation_matrices
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


def refuse_force_without_end(model: Model, states: Array, when: str) -> None:
    """ValueError, which says `when`, where a spring, damper or drive in a joint accelerates a body so much that the
    square of that is no number.

    The engine takes squares of accelerations, and bodies under such a force would count as at rest: nothing is
    large beside infinity.
    """
    articulation = model.articulation
    if not len(articulation.law):
        return
    force, J = articulation.driving_forces(states)
    turn = rotation_matrices(states[:, 3:7])
    J = J.reshape(len(force), len(states), 2, 3)
    with np.errstate(over="ignore", invalid="ignore"):
        pushed = np.einsum("nij,knj->kni", model.inverse_mass, J[:, :, 0] * force[:, None, None])
        inverse_inertia = turn @ model.inverse_inertia @ turn.transpose(0, 2, 1)
        turned = np.einsum("nij,knj->kni", inverse_inertia, J[:, :, 1] * force[:, None, None])
        squares = (pushed**2).sum(axis=(1, 2)) + (turned**2).sum(axis=(1, 2))
    for row in np.flatnonzero(~np.isfinite(squares)):
        joint = model.scene.joints[int(articulation.force_joint[row])]
        raise ValueError(
            f"joint {joint.name!r}: {when}, expected a force of its spring, damping and drive under which squares "
            f"of accelerations are numbers, got {force[row]:g} N or N m"
        )
