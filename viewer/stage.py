"""What a trajectory looks like: its extent, and at any time the instances of meshes to draw.

The renderer works in stage coordinates: world coordinates less the middle of the motion, divided by
`scale`, so that a motion of a millimetre and one of a hundred metres are drawn with the same numbers.
Stages of runs that are drawn together share them (`share_frame`).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .camera import OrbitCamera
from .meshes import Mesh, mesh_of_surface, unit_sphere
from .theme import light_of

PALETTE = np.array(
    [
        (0.89, 0.33, 0.31),
        (0.20, 0.53, 0.83),
        (0.97, 0.76, 0.20),
        (0.22, 0.65, 0.45),
        (0.64, 0.40, 0.80),
        (0.13, 0.68, 0.70),
        (0.95, 0.55, 0.22),
    ]
)
FIXED_COLOUR = np.array((0.60, 0.60, 0.62))
ARROW_RADII = 5.0  # the longest arrow, in radii of a typical body
SHORTEST_ARROW, LONGEST_ARROW = 0.08, 0.42  # stage units, bounds of the longest arrow
MOTION_SAMPLES = 160  # times at which the extent of the motion is read, beside the events
LEAST_MOTION_SAMPLES = 30  # however many bodies there are
MOTION_STATES = 16_000  # of bodies, read for the extent: about a quarter of a second
WEIGHED_EVENTS = 400  # of a long run, whose impulses scale the arrows: a tenth of a second
LEAST_FRAME = 2.5  # radii of the largest moving body that half a frame is wide at least
AZIMUTHS = tuple(math.radians(angle) for angle in (-65.0, -115.0, 65.0, 115.0))


@dataclass(frozen=True)
class Plane:
    """The plane of a half-space in the world: n·x = offset, the normal leaving the solid."""

    normal: np.ndarray
    offset: float


@dataclass(frozen=True)
class Part:
    """The bodies that share a mesh of radius 1, with `radius` [m] and `colour` (n, 4), alpha the pattern."""

    mesh: Mesh
    bodies: np.ndarray
    radius: np.ndarray
    colour: np.ndarray


class Stage:
    """The drawable side of a trajectory."""

    def __init__(self, trajectory: Any, pool: dict[Any, Mesh] | None = None) -> None:
        """Read a trajectory; stages that are given one pool share equal meshes."""
        self.trajectory = trajectory
        self.view_from: np.ndarray | None = None  # (3,), where cameras stand as seen from the middle
        self.bodies = bodies = list(trajectory.scene.bodies)
        start = trajectory.sample(float(trajectory.start_time))
        self.planes: list[Plane] = []
        solids = []
        for index, body in enumerate(bodies):
            if type(body.shape).__name__ == "HalfSpace":
                self.planes.append(_world_plane(body.shape, start.position[index], start.orientation[index]))
            else:
                solids.append(index)
        self.up = _up_direction(trajectory.scene, self.planes)
        self.parts, self.radius = _parts(bodies, solids, {} if pool is None else pool)
        self.solids = solids
        self.moving = [index for index in solids if not bodies[index].fixed]
        self._start_position = np.asarray(start.position)
        self._boxes = _motion_boxes(trajectory, self.moving or solids, self.radius)
        self.use_bounds(self._boxes[1].min(axis=0), self._boxes[2].max(axis=0))

    @cached_property
    def strongest(self) -> float:
        """The largest normal impulse of one contact [N s], 0 without impacts; of long runs, of some events."""
        events = self.trajectory.events
        chosen = range(0, len(events), max(1, len(events) // WEIGHED_EVENTS))
        return max((_impulses(events[number]).max(initial=0.0) for number in chosen), default=0.0)

    def use_bounds(self, lower: np.ndarray, upper: np.ndarray) -> None:
        """Draw with the box from `lower` to `upper` (3,) [m] in the middle."""
        self.lower, self.upper = lower, upper
        self.centre = (lower + upper) / 2
        self.scale = float(np.linalg.norm(upper - lower) / 2) or 1.0
        self.tile = round_length(0.3 * self.scale)
        radii = self.radius[self.moving or self.solids]
        typical = float(np.median(radii)) / self.scale if len(radii) else 1.0
        self.arrow_length = min(max(ARROW_RADII * typical, SHORTEST_ARROW), LONGEST_ARROW)
        self.shadow_reach = self._shadow_reach()

    def bounds_from(self, time: float) -> tuple[np.ndarray, np.ndarray]:
        """The box (lower, upper) [m] of what moves from a time [s] on, and a little room about it."""
        times, lower, upper, lower_from, upper_from = self._boxes
        number = int(np.clip(np.searchsorted(times, time, side="right") - 1, 0, len(times) - 1))
        later = min(number + 1, len(times) - 1)
        span = times[later] - times[number]
        share = min(max((time - times[number]) / span, 0.0), 1.0) if span > 0 else 0.0
        least = np.minimum((1 - share) * lower[number] + share * lower[later], lower_from[later])
        most = np.maximum((1 - share) * upper[number] + share * upper[later], upper_from[later])
        reach = LEAST_FRAME * float(self.radius[self.moving or self.solids].max(initial=0.0)) or 1.0
        room = np.maximum(reach - (most - least) / 2, 0.0)
        return least - room, most + room

    def to_stage(self, points: Any) -> np.ndarray:
        """Turn points (..., 3) of the world [m] into stage coordinates."""
        return (np.asarray(points, dtype=float) - self.centre) / self.scale

    def camera(self, aspect: float) -> OrbitCamera:
        """A camera that sees the whole motion, from `view_from` or else where most planes show their front."""
        best = OrbitCamera(up=self.up)
        if self.view_from is not None:
            best.look_along(-self.view_from)
            best.frame_all(self.lower, self.upper, aspect)
            return best
        most = -1
        for azimuth in AZIMUTHS:
            camera = OrbitCamera(up=self.up, azimuth=azimuth)
            camera.frame_all(self.lower, self.upper, aspect)
            fronts = sum(plane.normal @ camera.eye > plane.offset for plane in self.planes)
            if fronts > most:
                best, most = camera, fronts
        return best

    def stage_from_world(self) -> np.ndarray:
        """The matrix (4, 4) from world to stage coordinates."""
        matrix = np.eye(4) / self.scale
        matrix[:3, 3] = -self.centre / self.scale
        matrix[3, 3] = 1
        return matrix

    def instances(self, time: float) -> list[np.ndarray]:
        """For each part (n, 16) float32: three rows of the matrix from mesh to stage, then the colour."""
        return self.instances_of(self.trajectory.sample(time))

    def instances_of(self, state: Any) -> list[np.ndarray]:
        """The same for a state."""
        result = []
        for part in self.parts:
            rotation = rotation_matrices(np.asarray(state.orientation)[part.bodies])
            position = self.to_stage(np.asarray(state.position)[part.bodies])
            result.append(
                make_instances(rotation * (part.radius / self.scale)[:, None, None], position, part.colour)
            )
        return result

    def _shadow_reach(self) -> float:
        """How far from the middle shadows fall, in stage units: the motion, and fixed bodies of its size."""
        reach = 1.0
        for index in self.solids:
            if self.bodies[index].fixed and self.radius[index] < 2 * self.scale:
                away = self._start_position[index] - self.centre
                distance = float(np.linalg.norm(away)) + self.radius[index]
                if distance < 3 * self.scale:
                    reach = max(reach, distance / self.scale)
        return reach


def rotation_matrices(quaternions: Any) -> np.ndarray:
    """Turn (n, 4) unit quaternions (w, x, y, z) into (n, 3, 3) rotations."""
    w, x, y, z = np.asarray(quaternions, dtype=float).T
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    return np.moveaxis(np.array(rows), 2, 0)


def round_length(length: float) -> float:
    """The nearest of 1, 2 or 5 times a power of ten."""
    decade = 10.0 ** math.floor(math.log10(length))
    return min((decade * step for step in (1, 2, 5, 10)), key=lambda value: abs(math.log(value / length)))


def length_text(length: float) -> str:
    """Write a length [m] in m, mm or µm."""
    if length >= 0.1:
        return f"{length:g} m"
    return f"{length * 1e3:g} mm" if length >= 1e-4 else f"{length * 1e6:g} µm"


def make_instances(linear: np.ndarray, position: np.ndarray, colour: np.ndarray) -> np.ndarray:
    """Instances (n, 16) float32 from (n, 3, 3) mesh to stage, places (n, 3) and colours (n, 4)."""
    result = np.empty((len(position), 16), dtype=np.float32)
    rows = np.concatenate([linear, position[:, :, None]], axis=2)
    result[:, :12] = rows.reshape(len(position), 12)
    result[:, 12:] = colour
    return result


def event_table(trajectory: Any) -> tuple[np.ndarray, np.ndarray]:
    """Times (E,) [s] and names of kinds (E,) of all events, without making events where that can be."""
    if hasattr(trajectory, "event_times"):
        return np.asarray(trajectory.event_times, dtype=float), np.asarray(trajectory.event_kinds, dtype=str)
    times = np.array([event.time for event in trajectory.events], dtype=float)
    return times, np.array([str(event.kind) for event in trajectory.events], dtype=str)


def share_frame(stages: Sequence["Stage"]) -> None:
    """Let stages be drawn into one picture, with the box that holds all of their motions in the middle."""
    lower = np.min([stage.lower for stage in stages], axis=0)
    upper = np.max([stage.upper for stage in stages], axis=0)
    for stage in stages:
        stage.use_bounds(lower, upper)
    reach = max(stage.shadow_reach for stage in stages)
    for stage in stages:
        stage.shadow_reach = reach


def _parts(bodies: list, solids: list[int], pool: dict[Any, Mesh]) -> tuple[list[Part], np.ndarray]:
    """Group bodies by mesh; also the radius about its origin of every body, (n,), 0 for half-spaces."""
    radius = np.zeros(len(bodies))
    groups: dict[Any, tuple[Mesh, list[int], list[np.ndarray]]] = {}
    spheres = [
        index
        for index in solids
        if type(bodies[index].shape).__name__ == "Sphere" and not bodies[index].shape_offset.any()
    ]
    sphere_detail = 4 if len(spheres) <= 12 else 3 if len(spheres) <= 150 else 2
    for number, index in enumerate(solids):
        body = bodies[index]
        if index in spheres:
            radius[index] = body.shape.radius
            key: Any = "sphere"
            mesh = unit_sphere(sphere_detail)
        else:
            vertices, faces = (np.asarray(array) for array in body.surface())
            radius[index] = float(np.linalg.norm(vertices, axis=1).max())
            vertices = vertices / radius[index]
            key = (vertices.astype(np.float32).tobytes(), faces.tobytes())
            if key not in pool:
                pool[key] = mesh_of_surface(vertices, faces)
            mesh = pool[key]
        pattern = 1.0 if index in spheres else 0.55 if mesh.is_round else 0.16
        colour = _colour_of(body, number, pattern)
        _, members, colours = groups.setdefault(key, (mesh, [], []))
        members.append(index)
        colours.append(np.array(colour))
    parts = [
        Part(mesh, np.array(members), radius[members], np.array(colours))
        for mesh, members, colours in groups.values()
    ]
    return parts, radius


def _colour_of(body: Any, number: int, pattern: float) -> tuple[float, ...]:
    """Its own, else one for fixed bodies, else one of the palette by its number; then how strong its pattern is."""
    own = getattr(body, "color", None)
    plain = PALETTE[number % len(PALETTE)] if own is None else light_of(own)
    if body.fixed:
        return (*(FIXED_COLOUR if own is None else plain), 0.3 * pattern)
    return (*plain, pattern)


def _motion_boxes(trajectory: Any, bodies: list[int], radius: np.ndarray) -> tuple[np.ndarray, ...]:
    """Times (k,) of samples of the motion, and the boxes, lower and upper (k, 3) each, of the given bodies then and
    from then on."""
    start, end = float(trajectory.start_time), float(trajectory.end_time)
    if not bodies:
        lower, upper = np.full((1, 3), -1.0), np.full((1, 3), 1.0)
        return np.array([start]), lower, upper, lower, upper
    count = min(MOTION_SAMPLES, max(LEAST_MOTION_SAMPLES, MOTION_STATES // (2 * len(radius))))
    corners = event_table(trajectory)[0]
    corners = corners[:: max(1, len(corners) // count)]
    times = np.unique(np.clip(np.concatenate([np.linspace(start, end, count), corners]), start, end))
    positions = np.asarray(trajectory.sample(times).position)[:, bodies]
    lower = (positions - radius[bodies, None]).min(axis=1)
    upper = (positions + radius[bodies, None]).max(axis=1)
    from_then_on = np.minimum.accumulate(lower[::-1])[::-1], np.maximum.accumulate(upper[::-1])[::-1]
    return times, lower, upper, *from_then_on


def _world_plane(shape: Any, position: Any, orientation: Any) -> Plane:
    normal = rotation_matrices(np.asarray(orientation)[None])[0] @ np.asarray(shape.normal, dtype=float)
    normal /= np.linalg.norm(normal)
    return Plane(normal, float(shape.offset) + float(normal @ np.asarray(position)))


def _up_direction(scene: Any, planes: list[Plane]) -> np.ndarray:
    """Against gravity; without gravity the first plane's normal, else z."""
    gravity = np.asarray(getattr(scene, "gravity", (0, 0, 0)), dtype=float)
    if np.linalg.norm(gravity) > 0:
        return -gravity / np.linalg.norm(gravity)
    return planes[0].normal if planes else np.array([0.0, 0.0, 1.0])


def _impulses(event: Any) -> np.ndarray:
    """Normal impulse of each contact of an event, (nc,) [N s]; empty when it has none."""
    contacts, outcome = getattr(event, "contacts", None), getattr(event, "outcome", None)
    if contacts is None or outcome is None or len(contacts.point) == 0:
        return np.zeros(0)
    return np.asarray(outcome.impulse, dtype=float).reshape(len(contacts.point), -1)[:, 0]
