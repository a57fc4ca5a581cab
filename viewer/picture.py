"""What one picture shows, as meshes with instances and ribbons in stage coordinates."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .camera import perpendiculars
from .contact_view import ContactView
from .forces import Forces
from .meshes import Mesh, unit_arrow, unit_cone, unit_ring, unit_sphere
from .run import TRAIL_BODIES, Run
from .stage import Stage, make_instances
from .theme import (
    ACCENT,
    FORCE_COLOUR,
    IMPULSE_COLOUR,
    MODE_COLOURS,
    TORQUE_COLOUR,
    UNDECIDED_COLOUR,
    UNDECIDED_TORQUE_COLOUR,
    VELOCITY_COLOUR,
    Light,
    to_light,
)

SHORTEST_LEAD = 0.3  # of `Stage.arrow_length`: the longest arrow of an event or instant is never shorter
POINT_RADIUS = 0.045  # of `Stage.arrow_length`
LEAST_TORQUE = 1e-9  # of the force there times `Stage.scale`: a torque below it is none
TORQUE_ARROW = 0.7  # of `Stage.arrow_length`: that of the largest torque
CONE_SIDE = 0.6  # of `Stage.arrow_length`
TRAIL_SHARE = 0.3  # of the motion that a trail shows
GHOSTS = 5
PLAIN = 0.0  # no pattern
SAME_PLACE = 2e-3  # stage units, about a pixel: bodies of several runs that differ by less look the same


@dataclass(frozen=True)
class Solid:
    """A mesh with (n, 16) instances, see `Stage.instances`.

    opacity : below 1 it is drawn translucent
    shadow : whether it throws one
    outline : only its inside is drawn, in plain colour, so that it shows as a line around what it surrounds
    open_sided : both of its sides are to be seen
    """

    mesh: Mesh
    instances: np.ndarray
    opacity: float = 1.0
    shadow: bool = True
    outline: bool = False
    open_sided: bool = False


@dataclass
class Picture:
    """Bodies, marks that are seen through bodies, glass (cones) and ribbons (n, 11), all on one stage.

    counted : bodies of which only how many cover a pixel is shown, on a scale up to the number of `outcomes`

    A vertex of a ribbon is its place, its tangent, its side (-1 or 1) and its colour with opacity.
    """

    stage: Stage
    solids: list[Solid] = field(default_factory=list)
    marks: list[Solid] = field(default_factory=list)
    glass: list[Solid] = field(default_factory=list)
    ribbons: list[np.ndarray] = field(default_factory=list)
    counted: list[Solid] = field(default_factory=list)
    outcomes: int = 1

    @property
    def shadow_strength(self) -> float:
        """How dark all shadows are, from 0 to 1: as what throws them is opaque, bodies that move before others."""
        opacities = [solid.opacity for solid in self.solids if solid.shadow]
        return min(opacities, default=1.0)


def body_solids(
    run: Run,
    state: Any,
    *,
    opacity: float = 1.0,
    tint: Light = (0.0, 0.0, 0.0),
    tinted: float = 0.0,
    fixed: bool = True,
    shadow: bool = True,
    chosen: np.ndarray | None = None,
) -> list[Solid]:
    """The bodies of a run in a state, without the `fixed` ones where wanted; `tinted` is the share of a `tint`.

    chosen : (n,), which of the bodies that can move, by default all
    """
    solids = []
    bodies = run.stage.bodies
    for part, instances in zip(run.stage.parts, run.stage.instances_of(state), strict=True):
        movable = np.array([not bodies[index].fixed for index in part.bodies])
        if chosen is not None:
            movable &= chosen[part.bodies]
        if movable.any():
            solids.append(Solid(part.mesh, _tinted(instances[movable], tint, tinted), opacity, shadow))
    return [*solids, *fixed_solids(run)] if fixed else solids


def fixed_solids(run: Run) -> list[Solid]:
    """The bodies of a run that never move."""
    fixed = np.array([body.fixed for body in run.stage.bodies])
    solids = []
    for part, instances in zip(run.stage.parts, run.stage.instances_of(run.state(run.start)), strict=True):
        chosen = fixed[part.bodies]
        if chosen.any():
            solids.append(Solid(part.mesh, instances[chosen]))
    return solids


def merged(solids: Sequence[Solid]) -> list[Solid]:
    """The same with fewer solids: those that differ by nothing but their instances are joined."""
    groups: dict[tuple, list[Solid]] = {}
    for solid in solids:
        key = (id(solid.mesh), solid.opacity, solid.shadow, solid.outline, solid.open_sided)
        groups.setdefault(key, []).append(solid)
    return [
        replace(group[0], instances=np.concatenate([solid.instances for solid in group]))
        for group in groups.values()
    ]


def _tinted(instances: np.ndarray, tint: Light, share: float) -> np.ndarray:
    """Instances with a share of a colour mixed into theirs, and so much less of a pattern."""
    if share == 0.0:
        return instances
    result = instances.copy()
    result[:, 12:15] = (1 - share) * result[:, 12:15] + share * np.asarray(tint)
    result[:, 15] *= 1 - share
    return result


def same_places(runs: Sequence[Run], states: Sequence[Any]) -> np.ndarray:
    """For each run and body that can move (k, n), the number of the first run in which it looks the same, -1 else.

    Runs of other bodies than the first have none in common with others.
    """
    poses = [_poses(run, state) for run, state in zip(runs, states, strict=True)]
    count = max(len(pose) for pose, _ in poses)
    leaders = np.full((len(runs), count), -1)
    for number, (pose, mesh) in enumerate(poses):
        moving = runs[number].stage.moving
        leaders[number, moving] = number
        for earlier in range(number):
            other, other_mesh = poses[earlier]
            if len(other) != len(pose):
                continue
            same = (np.abs(other - pose).max(axis=1) < SAME_PLACE) & (mesh == other_mesh) & (mesh > 0)
            first = (
                same & (leaders[number, : len(pose)] == number) & (leaders[earlier, : len(pose)] == earlier)
            )
            leaders[number, : len(pose)][first] = earlier
    return leaders


def _poses(run: Run, state: Any) -> tuple[np.ndarray, np.ndarray]:
    """The matrix (n, 12) of each body to the stage, and which mesh it has, 0 for none."""
    poses = np.zeros((len(run.stage.bodies), 12))
    mesh = np.zeros(len(poses), dtype=np.int64)
    for part, instances in zip(run.stage.parts, run.stage.instances_of(state), strict=True):
        poses[part.bodies], mesh[part.bodies] = instances[:, :12], id(part.mesh)
    return poses, mesh


def picked_outline(stage: Stage, state: Any, body: int) -> Solid | None:
    """A line around the picked body."""
    return outline(stage, state, body, to_light(ACCENT))


def outline(stage: Stage, state: Any, body: int, colour: Light, width: float = 1.0) -> Solid | None:
    """A line around a body, so many times as wide as usual."""
    for part, instances in zip(stage.parts, stage.instances_of(state), strict=True):
        for member in np.flatnonzero(part.bodies == body):
            grown = instances[member : member + 1].copy()
            wider = 1.0 + width * 0.012 / max(part.radius[member] / stage.scale, 0.05)
            for column in (0, 1, 2, 4, 5, 6, 8, 9, 10):
                grown[:, column] *= wider
            return Solid(part.mesh, _tinted(grown, colour, 1.0), shadow=False, outline=True)
    return None


def arrows(stage: Stage, points: Any, vectors: Any, colour: Any, thickness: float = 1.0) -> np.ndarray:
    """Instances (n, 16) of arrows at points [m], whose `vectors` (n, 3) are in stage units."""
    vectors = np.asarray(vectors, dtype=float).reshape(-1, 3)
    lengths = np.linalg.norm(vectors, axis=1)
    kept = lengths > 0.01 * stage.arrow_length
    if not kept.any():
        return np.zeros((0, 16), dtype=np.float32)
    linear = []
    for vector, length in zip(vectors[kept], lengths[kept], strict=True):
        first, second = perpendiculars(vector / length)
        width = thickness * max(length, 0.6 * stage.arrow_length)
        linear.append(np.stack([width * first, width * second, vector], axis=1))
    places = stage.to_stage(np.asarray(points).reshape(-1, 3)[kept])
    colours = np.broadcast_to(np.asarray(colour, dtype=float), (len(vectors), len(np.atleast_2d(colour)[0])))
    patterned = np.concatenate([colours[kept][:, :3], np.full((int(kept.sum()), 1), PLAIN)], axis=1)
    return make_instances(np.array(linear), places, patterned)


def impulse_marks(stage: Stage, contacts: ContactView, strongest: float) -> Solid:
    """Arrows of contact impulses: within an event as their sizes, the largest by its share of `strongest`."""
    largest = float(np.linalg.norm(contacts.impulse, axis=1).max(initial=0.0))
    vectors = contacts.impulse * (lead_length(stage, largest, strongest) / largest if largest > 0 else 0.0)
    return Solid(unit_arrow(), arrows(stage, contacts.point, vectors, IMPULSE_COLOUR))


def force_marks(stage: Stage, forces: Forces, weight: float) -> list[Solid]:
    """Arrows of forces, and of torques with rings about them; both paler where the motion admits others.

    weight : [N], of all bodies: the longest arrow grows with the square root of the largest force's share of it
    """
    largest = forces.largest
    vectors = forces.force * (
        lead_length(stage, largest, weight or largest) / largest if largest > 0 else 0.0
    )
    colours = np.where(forces.unique[:, None], FORCE_COLOUR, UNDECIDED_COLOUR)
    solids = [Solid(unit_arrow(), arrows(stage, forces.point, vectors, colours))]
    sizes = np.linalg.norm(forces.torque, axis=1)
    turning = sizes > LEAST_TORQUE * np.linalg.norm(forces.force, axis=1) * stage.scale
    if not turning.any():
        return solids
    axes = forces.torque[turning] / sizes[turning, None]
    lengths = TORQUE_ARROW * stage.arrow_length * sizes[turning] / sizes.max()
    points = forces.point[turning]
    colours = np.where(forces.unique[turning, None], TORQUE_COLOUR, UNDECIDED_TORQUE_COLOUR)
    solids.append(Solid(unit_arrow(), arrows(stage, points, lengths[:, None] * axes, colours)))
    frames = np.array(
        [
            0.5 * size * np.stack([*perpendiculars(axis), axis], axis=1)
            for axis, size in zip(axes, lengths, strict=True)
        ]
    )
    middles = stage.to_stage(points) + 0.3 * lengths[:, None] * axes
    colours = np.column_stack([colours, np.full(len(points), PLAIN)])
    return [*solids, Solid(unit_ring(), make_instances(frames, middles, colours))]


def contact_marks(stage: Stage, contacts: ContactView) -> list[Solid]:
    """A point, a ring in the tangent plane and a thin normal for each contact, in the colour of its mode."""
    count, size = len(contacts), POINT_RADIUS * stage.arrow_length
    colours = np.array([(*MODE_COLOURS[mode], PLAIN) for mode in contacts.modes])
    places = stage.to_stage(contacts.point)
    points = make_instances(np.tile(size * np.eye(3), (count, 1, 1)), places, colours)
    frames = np.array([np.stack([*perpendiculars(n), n], axis=1) for n in contacts.normal])
    rings = make_instances(3.4 * size * frames, places, colours)
    normals = arrows(
        stage, contacts.point, 0.35 * stage.arrow_length * contacts.normal, colours[:, :3], thickness=0.35
    )
    return [Solid(unit_sphere(2), points), Solid(unit_ring(), rings), Solid(unit_arrow(), normals)]


def cone_glass(stage: Stage, contacts: ContactView) -> list[Solid]:
    """Friction cones about the normals; one that holds an impulse is as high as that impulse's arrow."""
    chosen = contacts.friction > 0
    if not chosen.any():
        return []
    colours = np.array([(*MODE_COLOURS[mode], PLAIN) for mode in contacts.modes])[chosen]
    linear = []
    for normal, friction in zip(contacts.normal[chosen], contacts.friction[chosen], strict=True):
        first, second = perpendiculars(normal)
        height = CONE_SIDE * stage.arrow_length / math.sqrt(1 + min(friction, 3.0) ** 2)
        width = friction * height
        linear.append(np.stack([width * first, width * second, height * normal], axis=1))
    instances = make_instances(np.array(linear), stage.to_stage(contacts.point[chosen]), colours)
    return [Solid(unit_cone(), instances, opacity=0.30, open_sided=True)]


def velocity_marks(
    run: Run, state: Any, velocity: np.ndarray, fastest: float, colour: Light = VELOCITY_COLOUR
) -> Solid:
    """Arrows of the velocities (n, 3) [m/s] of the bodies that can move, from their centres."""
    stage, moving = run.stage, run.stage.moving
    speeds = np.linalg.norm(velocity[moving], axis=1)
    lead = float(speeds.max(initial=0.0))
    vectors = velocity[moving] * (lead_length(stage, lead, fastest) / lead if lead > 0 else 0.0)
    points = np.asarray(state.position)[moving]
    return Solid(unit_arrow(), arrows(stage, points, vectors, colour, 0.8))


def fan_marks(stage: Stage, points: np.ndarray, velocities: np.ndarray, fastest: float) -> list[Solid]:
    """Thin translucent arrows for velocities (n, m, 3) [m/s] that m bodies at points (m, 3) may have next."""
    lead = float(np.linalg.norm(velocities, axis=2).max(initial=0.0))
    if lead <= 0:
        return []
    vectors = velocities * (1.3 * lead_length(stage, lead, fastest) / lead)
    places = np.broadcast_to(points, velocities.shape)
    opacity = min(0.85, max(0.10, 3.0 / len(velocities) ** 0.5))
    instances = arrows(stage, places, vectors.reshape(-1, 3), (0.85, 0.25, 0.55), 0.3)
    return [Solid(unit_arrow(8), instances, opacity=opacity)]


def lead_length(stage: Stage, value: float, largest: float) -> float:
    """Length [stage units] of the longest arrow, for a value that may be up to `largest`."""
    if value <= 0:
        return 0.0
    share = math.sqrt(min(value / largest, 1.0)) if largest > 0 else 1.0
    return stage.arrow_length * max(share, SHORTEST_LEAD)


def trail_ribbons(run: Run, time: float, bodies: list[int], colour: Light | None = None) -> list[np.ndarray]:
    """Where bodies have come from, fading with age; in their own colours where no `colour` is given."""
    begin = max(run.start, time - TRAIL_SHARE * (run.end - run.start))
    end = min(time, run.end)
    if end <= begin or not bodies or len(bodies) > TRAIL_BODIES:
        return []
    places = run.stage.to_stage(run.trail(bodies, begin, end))
    age = np.linspace(0.0, 0.95, len(places)) ** 1.5
    own = {int(body): part.colour[k, :3] for part in run.stage.parts for k, body in enumerate(part.bodies)}
    ribbons = []
    for number, body in enumerate(bodies):
        base = own[body] if colour is None else np.asarray(colour)
        colours = np.column_stack([np.tile(0.85 * base, (len(places), 1)), age])
        ribbons.append(ribbon(places[:, number], colours))
    return [piece for piece in ribbons if len(piece)]


def ribbon(points: np.ndarray, colours: np.ndarray) -> np.ndarray:
    """Vertices (n, 11) float32 of a ribbon through points (k, 3) with colours (k, 4)."""
    away = np.linalg.norm(np.diff(points, axis=0), axis=1)
    kept = np.concatenate([[True], away > 1e-7])
    points, colours = points[kept], colours[kept]
    if len(points) < 2:
        return np.zeros((0, 11), dtype=np.float32)
    tangent = np.gradient(points, axis=0)
    tangent /= np.maximum(np.linalg.norm(tangent, axis=1, keepdims=True), 1e-12)
    left = np.column_stack([points, tangent, np.full(len(points), -1.0), colours])
    right = np.column_stack([points, tangent, np.full(len(points), 1.0), colours])
    corners = [left[:-1], right[:-1], right[1:], left[:-1], right[1:], left[1:]]
    return np.stack(corners, axis=1).reshape(-1, 11).astype(np.float32)


def plane_line(
    stage: Stage, normal: np.ndarray, offset: float, forward: np.ndarray, target: Any
) -> np.ndarray:
    """A ribbon where a plane is seen edge on."""
    along = np.cross(normal, forward)
    along /= np.linalg.norm(along)
    middle = stage.to_stage(np.asarray(target) - normal * (normal @ target - offset))
    places = middle + np.linspace(-12.0, 12.0, 3)[:, None] * along
    return ribbon(places, np.tile((0.45, 0.48, 0.54, 0.9), (3, 1)))
