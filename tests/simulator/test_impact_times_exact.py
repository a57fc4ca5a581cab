"""Times of impact of all pairs of shapes against 40-digit references, and near-grazing passes of known margin.

The references are those of exact_impact_times.py. The collision layer is asked as the engine asks it: pieces of
motion, renewed where they end, and `pair_impact` or `half_space_impact` on each.
"""

import importlib.util
import math
import time
from pathlib import Path

import numpy as np
import pytest
import trimesh
from scipy.spatial import ConvexHull
from scipy.spatial.transform import Rotation

from carom import Body, Box, Capsule, ConvexMesh, Cylinder, HalfSpace, Mesh, Scene, Sphere
from carom.simulator import kernels
from carom.simulator.collision import pairs as collision
from carom.simulator.state import Model

pytest.importorskip("mpmath", reason="mpmath is not installed: no 40-digit references")
_SPEC = importlib.util.spec_from_file_location(
    "exact_impact_times", Path(__file__).with_name("exact_impact_times.py")
)
exact = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(exact)

AGREEMENT = 1e-12  # s
ROUND = ("sphere", "capsule", "cylinder", "box", "hull")
PAIRS = (
    [(a, b) for i, a in enumerate(ROUND) for b in ROUND[i:]]
    + [(a, "half-space") for a in (*ROUND, "mesh")]
    + [(a, "mesh") for a in ("sphere", "capsule", "box", "hull", "mesh", "cylinder")]
)
TOO_SLOW = (("cylinder", "cylinder"), ("cylinder", "hull"))  # for the reference of grazing starts
KINDS = ("apart", "leaving", "returning", "grazing", "spinning", "thin")


# -- the engine's answer -----------------------------------------------------------------------------------


def model_of(shapes, gravity=(0.0, 0.0, 0.0), fixed=(False, False)):
    scene = Scene(gravity=gravity)
    for shape, still in zip(shapes, fixed, strict=True):
        if isinstance(shape, HalfSpace):
            scene.add(Body(shape, fixed=True))
        else:
            scene.add(Body(shape, density=700.0, fixed=still))
    return Model.of_scene(scene)


class Piece:
    """The current piece of one body's free flight."""

    def __init__(self, model, body, state, start):
        inertia, inverse = model.inertia[body], model.inverse_inertia[body]
        pull = model.gravity if model.movable[body] else np.zeros(3)
        self.start = start
        self.coefficients, span = kernels.free_piece(state, pull, inertia, inverse)
        self.end = start + span
        self.bounds = kernels.motion_bounds(self.coefficients, inertia, inverse)

    def state(self, now):
        return kernels.evaluate_piece(self.coefficients, now - self.start)


def impact(model, states, span):
    """First impact in [0, span] of bodies 0 and 1 in free flight as the collision layer tells it, or inf."""
    pieces = [Piece(model, body, states[body], 0.0) for body in range(2)]
    now, plane = 0.0, model.planes[1] is not None
    while now < span:
        end = min(pieces[0].end, pieces[1].end, span)
        if plane:
            none = np.zeros(len(model.shapes[0].points), dtype=bool)
            found, hit = collision.half_space_impact(
                model, (0, 1), pieces[0].coefficients, pieces[0].bounds, end - now, none
            )
            hit = -2 if hit == -2 else int(hit >= 0)
        else:
            found, hit = collision.pair_impact(
                model,
                (0, 1),
                (pieces[0].coefficients, pieces[1].coefficients),
                (pieces[0].bounds, pieces[1].bounds),
                (now - pieces[0].start, now - pieces[1].start),
                end - now,
            )
        assert hit >= 0, "the search did not end"
        if hit:
            return now + found
        now = end
        for body, piece in enumerate(pieces):
            if piece.end <= now:
                pieces[body] = Piece(model, body, piece.state(now), now)
    return math.inf


# -- shapes and starts -------------------------------------------------------------------------------------


def prism(scale=1.0, depth=0.5):
    """A closed prism with an L-shaped outline."""
    outline = scale * np.array(
        [(-0.3, -0.3), (0.4, -0.3), (0.4, -0.05), (0.0, -0.05), (0.0, 0.5), (-0.3, 0.5)]
    )
    count = len(outline)
    points = np.concatenate([np.insert(outline, 1, y, axis=1) for y in (-0.5 * depth, 0.5 * depth)])
    caps = [(0, 1, 2), (0, 2, 3), (0, 3, 4), (0, 4, 5)]
    faces = [*caps, *[tuple(k + count for k in reversed(cap)) for cap in caps]]
    for k in range(count):
        m = (k + 1) % count
        faces += [(k, k + count, m + count), (k, m + count, m)]
    mesh = trimesh.Trimesh(points, faces)
    mesh.fix_normals()
    return Mesh((mesh.vertices, mesh.faces))


def torus():
    made = trimesh.creation.torus(0.4, 0.12, major_sections=9, minor_sections=5)
    return Mesh((made.vertices, made.faces))


def shape_of(name, random, thin=False):
    """A shape of the size of 0.5 m; thin ones are 1 mm thick."""
    if name == "half-space":
        normal = random.normal((0.0, 0.0, 2.0))
        return HalfSpace(normal / np.linalg.norm(normal), random.uniform(-0.2, 0.2))
    if name == "sphere":
        return Sphere(1e-3 if thin else random.uniform(0.1, 0.4))
    if name == "capsule":
        return Capsule(1e-3 if thin else random.uniform(0.05, 0.2), random.uniform(0.2, 0.8))
    if name == "cylinder":
        radius, length = random.uniform(0.1, 0.4), random.uniform(0.1, 0.8)
        if thin and random.random() < 0.5:
            return Cylinder(1e-3, length)
        return Cylinder(radius, 1e-3 if thin else length)
    if name == "box":
        if thin:
            return Box((*random.uniform(0.2, 0.8, 2), 1e-3))
        return Box([random.uniform(0.2, 0.6)] * 3 if random.random() < 0.3 else random.uniform(0.2, 0.6, 3))
    if name == "hull":
        return ConvexMesh(random.normal(size=(12, 3)) * (0.25, 0.25, 5e-4 if thin else 0.25))
    if thin:
        return prism(depth=1e-3)
    return prism(random.uniform(0.7, 1.2), random.uniform(0.2, 0.6)) if random.random() < 0.5 else torus()


def unit(random):
    way = random.normal(size=3)
    return way / np.linalg.norm(way)


def packed(position, velocity=(0, 0, 0), spin=(0, 0, 0), orientation=(1, 0, 0, 0)):
    return np.concatenate([position, orientation, velocity, spin]).astype(float)


def turned(random):
    return Rotation.random(random_state=random).as_quat()[[3, 0, 1, 2]]


class Case:
    """Two bodies in free flight: their model, states (2, 13), what the reference needs, and the span [s]."""

    def __init__(self, shapes, states, span, gravity=(0.0, 0.0, 0.0), fixed=(False, False)):
        self.shapes, self.states, self.span = shapes, np.array(states), span
        self.gravity, self.fixed = tuple(gravity), fixed
        for body, still in enumerate(fixed):
            if still:
                self.states[body, 7:] = 0.0
        self.model = model_of(shapes, gravity, fixed)
        self.surfaces = [exact.surface_of(shape) for shape in shapes]
        self.size = collision.pair_size(self.model, (0, 1))

    def flights(self):
        return [
            exact.FreeFlight(
                self.states[body],
                self.model.inertia[body],
                self.model.gravity if self.model.movable[body] else np.zeros(3),
            )
            for body in range(2)
        ]

    def gap(self, flights, t):
        return exact.gap_between(self.surfaces, [flight.pose(float(t)) for flight in flights])[0]


def approaching(random, names, speed, clearance, spins, span, thin=False, pull=None):
    """Bodies that fly towards each other from `clearance` [m] beyond their bounding spheres."""
    shapes = [shape_of(name, random, thin) for name in names]
    plane = isinstance(shapes[1], HalfSpace)
    way = shapes[1].normal if plane else unit(random)
    reach = [0.0 if isinstance(shape, HalfSpace) else shape.bounding_radius for shape in shapes]
    apart = sum(reach) + random.uniform(*clearance)
    aside = np.cross(way, unit(random))
    low = 1e-3 if thin else min(reach) if not plane else 1.0
    states = np.array(
        [
            packed(
                apart * way
                + random.uniform(0, 0.4 * low) * aside
                + (shapes[1].offset * way if plane else 0.0),
                -random.uniform(*speed) * way + 0.02 * random.normal(size=3),
                random.uniform(*spins) * unit(random),
                turned(random),
            ),
            packed((0, 0, 0))
            if plane
            else packed(
                0.1 * random.normal(size=3) * (0.0 if thin else 0.1),
                0.1 * random.normal(size=3),
                random.uniform(*spins) * unit(random),
                turned(random),
            ),
        ]
    )
    fixed = (False, plane or random.random() < 0.3)
    if pull is not None:
        gravity = -pull * way
    else:
        gravity = (0.0, 0.0, -9.81) if random.random() < 0.5 and not thin else (0.0, 0.0, 0.0)
    return Case(shapes, states, span, gravity, fixed)


def close_by(random, names):
    """Slow bodies so close that turning makes them meet, or one that gravity lets fall onto the other."""
    for _ in range(200):
        case = approaching(
            random, names, (0.2, 1.0), (0.0, 0.01), (5.0, 20.0), 1.0, pull=random.choice([0, 9.81])
        )
        if case.fixed[1] != bool(np.any(case.gravity)):
            continue
        case.states[0, :3] *= 1.0 if case.fixed[1] else random.uniform(0.6, 1.0)
        if case.gap(case.flights(), 0.0) > 0.01 and collision.overlap(case.model, (0, 1), case.states) == 0.0:
            return case
    raise exact.Undecided("no start")


def from_contact(case):
    """The same motion backwards from its first impact, and how long it is known to stay apart [s]."""
    contact = exact.first_contact(case.surfaces, case.flights(), case.span)
    if contact.time is None:
        raise exact.Undecided("no impact to start from")
    when = float(contact.time)
    states = []
    for body in range(2):
        piece = Piece(case.model, body, case.states[body], 0.0)
        while piece.end < when:
            piece = Piece(case.model, body, piece.state(piece.end), piece.end)
        state = piece.state(when)
        state[7:] *= -1.0
        states.append(state)
    return Case(case.shapes, states, case.span, case.gravity, case.fixed), when


def grazing(random, names):
    """Bodies that pass each other with a least gap near a small positive or negative margin."""
    case = approaching(random, names, (1.0, 2.0), (0.05, 0.2), (1.0, 4.0), 1.0)
    plane = case.fixed[1] and isinstance(case.shapes[1], HalfSpace)
    if plane:  # thrown along the plane, turning
        way = case.shapes[1].normal
        case.states[0, 7:10] -= (case.states[0, 7:10] @ way + 1.0) * way
        case.gravity = 2.0 * way  # away from it, lowest after 0.5 s
        case.states[0, :3] += way
    else:
        velocity = case.states[0, 7:10] - case.states[1, 7:10]
        aside = np.cross(velocity, unit(random))
        case.states[0, :3] += 1.2 * case.size * aside / np.linalg.norm(aside)
    case = Case(case.shapes, case.states, case.span, case.gravity, case.fixed)
    margin = case.size * 10.0 ** random.uniform(-5.0, -2.5) * random.choice([-1, -1, -1, 1])
    for aim in (0.05, 0.01, margin):
        flights = case.flights()
        times = np.linspace(0.0, case.span, 100)
        gaps = [case.gap(flights, t) for t in times]
        k = int(np.argmin(gaps))
        low, high = times[max(k - 1, 0)], times[min(k + 1, 99)]
        for _ in range(25):
            c, d = high - exact.GOLDEN * (high - low), low + exact.GOLDEN * (high - low)
            low, high = (low, d) if case.gap(flights, c) < case.gap(flights, d) else (c, high)
        least = 0.5 * (low + high)
        poses = [flight.pose(least) for flight in flights]
        gap = exact.gap_between(case.surfaces, poses)[0]
        if gap <= 0.0:
            raise exact.Undecided("they meet before they could graze")
        (x, R), other = poses
        slope = np.array(
            [
                (exact.gap_between(case.surfaces, [(x + step, R), other])[0] - gap) / 1e-7
                for step in 1e-7 * np.eye(3)
            ]
        )
        case.states[0, :3] -= slope / np.linalg.norm(slope) * (gap - aim)
    return case


def start_of(kind, names, random):
    """A case of this kind and the time up to which it is known to have no impact."""
    if kind == "apart":
        return approaching(random, names, (1.0, 3.0), (0.02, 0.5), (1.0, 8.0), 1.0), 0.0
    if kind == "spinning":
        return approaching(random, names, (4.0, 8.0), (0.01, 0.05), (200.0, 400.0), 0.3), 0.0
    if kind == "thin":
        return approaching(random, names, (80.0, 120.0), (0.1, 1.0), (0.0, 30.0), 0.05, thin=True), 0.0
    if kind == "grazing":
        return grazing(random, names), 0.0
    if kind == "leaving":
        case, free = from_contact(approaching(random, names, (1.0, 3.0), (0.0, 0.1), (1.0, 8.0), 1.0))
    else:
        case, free = from_contact(close_by(random, names))
    return case, 0.5 * free


def compare(kind, names, seed):
    """One case against its reference: (error [s], speed of approach in sizes per second, case, ms, reference)."""
    random = np.random.default_rng([KINDS.index(kind), PAIRS.index(names), seed])
    case, free = start_of(kind, names, random)
    contact = exact.first_contact(case.surfaces, case.flights(), case.span, start=free)
    begin = time.perf_counter()
    found = impact(case.model, case.states, case.span)
    took = 1e3 * (time.perf_counter() - begin)
    if contact.time is None:
        return (0.0 if found == math.inf else math.nan), math.inf, case, took, contact
    if found == math.inf:
        return math.inf, contact.rate / case.size, case, took, contact
    return abs(float(exact.mp.mpf(found) - contact.time)), contact.rate / case.size, case, took, contact


# -- near grazing: passes whose least gap is known in closed form ------------------------------------------


def margin_of(random, size, sign):
    """1e-12 to 1e-3 of the size [m], positive where the bodies are to miss each other."""
    return sign * size * 10.0 ** random.uniform(-12.0, -3.0)


def frame_along(way, random):
    """A right-handed frame, in columns, whose first axis is a unit vector, turned about it at random."""
    second = np.cross(way, unit(random))
    second /= np.linalg.norm(second)
    return np.stack([way, second, np.cross(way, second)], axis=1)


def quaternion(rotation):
    return Rotation.from_matrix(rotation).as_quat()[[3, 0, 1, 2]]


class Supports:
    """Outermost features of a shape: points of its surface, with a plane through each that leaves all below it."""

    def __init__(self, shape):
        self.shape, self.features = shape, []
        if isinstance(shape, Sphere | Capsule | Cylinder):
            return
        points, triangles = shape.surface()
        points = np.array(points)
        hull = ConvexHull(points)
        normals = np.unique(np.round(hull.equations[:, :3], 9), axis=0, return_index=True)[1]
        normals = hull.equations[normals, :3]
        touching = np.abs(points @ normals.T - (points @ normals.T).max(axis=0)) < 1e-9
        solid = not isinstance(shape, Mesh)
        for k in np.flatnonzero(touching.any(axis=1)):
            if touching[k].sum() > 2:
                self.features.append((normals[touching[k]], points[k : k + 1], solid))
            for j in range(k) if solid else ():
                both = touching[k] & touching[j]
                if both.sum() == 2:
                    self.features.append((normals[both], points[[k, j]], True))
        for triangle in triangles:
            corners = points[triangle]
            normal = np.cross(corners[1] - corners[0], corners[2] - corners[0])
            if np.linalg.norm(normal) > 0.0:
                normal /= np.linalg.norm(normal)
                if (points @ normal).max() <= corners[0] @ normal + 1e-12:
                    self.features.append((normal[None], corners, True))

    def pick(self, random, inward=False):
        """Outward normal, point, and whether the body is just inside of the point against the normal."""
        shape = self.shape
        if isinstance(shape, Sphere):
            way = unit(random)
            return way, shape.radius * way, True
        if isinstance(shape, Capsule | Cylinder):
            angle, half = random.uniform(0, 2 * np.pi), 0.5 * shape.length
            across = np.array([math.cos(angle), math.sin(angle), 0.0])
            if random.random() < 0.4:
                return across, shape.radius * across + (0, 0, random.uniform(-half, half)), True
            end = random.choice([-1.0, 1.0]) * np.array([0, 0, 1.0])
            tilt = random.uniform(0.05, 1.5)
            way = math.cos(tilt) * across + math.sin(tilt) * end
            if isinstance(shape, Capsule):
                return way, half * end + shape.radius * way, True
            if random.random() < 0.2:
                return end, half * end + random.uniform(0, shape.radius) * across, True
            return way, half * end + shape.radius * across, True
        while True:
            normals, points, solid = self.features[random.integers(len(self.features))]
            way = random.uniform(0.1, 1.0, len(normals)) @ normals
            way /= np.linalg.norm(way)
            inside = solid and (normals @ way).min() > 0.05
            if inside or not inward:
                share = random.uniform(0.05, 1.0, len(points))
                return way, share @ points / share.sum(), inside


class Pool:
    """A few shapes of each pair of names with their models, since making these takes longer than a search."""

    def __init__(self, seed, variants):
        self.seed, self.variants = seed, variants
        self.made = {}

    def get(self, names, which, make=None):
        """Model and outermost features of variant `which` of a pair; `make` gives its shapes from a generator."""
        which %= self.variants
        if (names, which) not in self.made:
            random = np.random.default_rng([self.seed, which, *"/".join(names).encode()])
            shapes = make(random) if make else [shape_of(name, random, which % 3 == 2) for name in names]
            supports = [None if isinstance(shape, HalfSpace) else Supports(shape) for shape in shapes]
            self.made[names, which] = model_of(shapes), supports
        return self.made[names, which]


PASSING = [pair for pair in PAIRS if pair[1] != "half-space"]


def passing(pool, index):
    """A body passes another without turning, a margin away from a plane between: (model, states, margin, span).

    The plane touches a corner, edge, face or round place of each, and the bodies move along it, so the margin is
    the least distance, or the bodies overlap for sure where it is negative.
    """
    random = np.random.default_rng([1, index])
    names = PASSING[index % len(PASSING)]
    model, supports = pool.get(names, index // len(PASSING))
    size = collision.pair_size(model, (0, 1))
    margin = margin_of(random, size, random.choice([-1.0, 1.0]))
    first, at_first, inside = supports[0].pick(random)
    second, at_second, _ = supports[1].pick(random, inward=margin < 0.0 and not inside)
    way = unit(random)
    orientations = [
        quaternion(frame_along(sign * way, random) @ frame_along(normal, random).T)
        for sign, normal in ((-1.0, first), (1.0, second))
    ]
    rotations = [exact.matrix_of(*orientation) for orientation in orientations]
    way = rotations[1] @ second
    here = 0.1 * random.normal(size=3)
    meeting = here + rotations[1] @ at_second + margin * way - rotations[0] @ at_first
    along = np.cross(way, unit(random))
    along /= np.linalg.norm(along)
    slides = margin > 0.0 and random.random() < 0.3  # from the middle of the pass
    speed = random.uniform(4.2, 6.0) * sum(
        model.size[:2]
    )  # so that the start, half a second before, is apart
    drift = random.normal(size=3) if random.random() < 0.5 else np.zeros(3)
    if not slides:
        meeting, here = meeting - 0.5 * speed * along - 0.5 * drift, here - 0.5 * drift
    states = [
        packed(meeting, speed * along + drift, orientation=orientations[0]),
        packed(here, drift, orientation=orientations[1]),
    ]
    return model, np.array(states), margin, 1.0


def turning(pool, index):
    """A body that spins next to a half-space or a large face without moving on: (model, states, margin, span).

    A symmetric top precesses, another body spins about the principal axis of largest or least inertia; how far it
    reaches then is known. The span is more than a full turn.
    """
    random = np.random.default_rng([2, index])
    name = ("box", "hull", "capsule", "cylinder", "mesh")[index % 5]
    ground = ("half-space", "box", "mesh")[index // 5 % 3]

    def make(random):
        shape = shape_of(name, random)
        if ground == "half-space":
            return shape, shape_of(ground, random)
        return shape, Box((3, 4, 1)) if ground == "box" else prism(6.0, 4.0)

    model, supports = pool.get((name, ground, "turning"), index // 15, make)
    size = collision.pair_size(model, (0, 1))
    margin = margin_of(random, size, random.choice([-1.0, 1.0]))
    shape = supports[0].shape
    if ground == "half-space":
        way, offset = model.planes[1]
        below = packed((0, 0, 0))
        top = offset * way
    else:
        below = packed(0.1 * random.normal(size=3), orientation=turned(random))
        rotation = exact.matrix_of(*below[3:7])
        if ground == "box":
            corner, local = np.array([0, 0, 0.5]), np.array([0, 0, 1.0])
        else:  # the middle of its largest face
            corner = np.array([0.3, 0.0, -1.8]) - supports[1].shape.center_of_mass
            local = np.array([0, 0, -1.0])
        way, top = rotation @ local, below[:3] + rotation @ corner
    spin = random.choice([-1, 1]) * 10.0 ** random.uniform(0.0, 2.5)
    for _ in range(100):
        orientation = turned(random)
        rotation = exact.matrix_of(*orientation)
        if name in ("capsule", "cylinder"):
            inertia = np.diag(model.inertia[0])
            angular = spin * unit(random)
            momentum = rotation @ (inertia * angular)
            rate = np.linalg.norm(momentum) / inertia[0]
            a, b = rotation[:, 2] @ momentum, way @ momentum
            a, b = a / np.linalg.norm(momentum), b / np.linalg.norm(momentum)
            swing = math.sqrt((1 - a * a) * (1 - b * b))
            low, high = a * b - swing, a * b + swing
            half = 0.5 * shape.length
            if name == "capsule":
                reach = half * max(abs(low), abs(high)) + shape.radius
                start = half * abs(rotation[:, 2] @ way) + shape.radius
            else:
                best = half / math.hypot(half, shape.radius)
                tilts = [abs(low), abs(high), *(best for tilt in (best, -best) if low < tilt < high)]
                reach, start = (
                    max(half * tilt + shape.radius * math.sqrt(1 - tilt * tilt) for tilt in found)
                    for found in (tilts, [abs(rotation[:, 2] @ way)])
                )
        else:
            axis = np.linalg.eigh(model.inertia[0])[1][:, random.choice([0, 2])]
            angular, rate = spin * axis, abs(spin)
            points = supports[0].shape.surface()[0]
            steady, lift = points @ axis, (rotation @ axis) @ way
            swung = np.linalg.norm(points - np.outer(steady, axis), axis=1)
            reach = (-steady * lift + swung * math.sqrt(max(0.0, 1 - lift * lift))).max()
            start = -(points @ (rotation.T @ way)).min()
        if reach - start > 1e-3 * size:
            break
    else:
        raise AssertionError("no start that is clear of the ground")
    states = np.array([packed(top + (reach + margin) * way, spin=angular, orientation=orientation), below])
    return model, states, margin, 1.1 * 2 * math.pi / rate


def misjudged(family, pool, indices):
    """Cases in which a hit is reported although the margin is positive, or none although it is negative."""
    wrong, slowest = [], 0.0
    for index in indices:
        model, states, margin, span = family(pool, index)
        begin = time.perf_counter()
        try:
            found = impact(model, states, span)
        except AssertionError:
            found = math.nan
        slowest = max(slowest, time.perf_counter() - begin)
        if math.isnan(found) or (found < math.inf) != (margin < 0.0):
            wrong.append((index, margin, found))
    return wrong, slowest


# -- tests -------------------------------------------------------------------------------------------------


def disagreements(choices):
    """Of (kind, pair, seed): cases with another answer than the reference, and how many were compared.

    Left out are starts that the reference cannot decide: too slow a graze, or no motion of the kind wanted.
    """
    wrong, compared = [], 0
    for kind, names, seed in choices:
        try:
            error, rate, _, _, contact = compare(kind, names, seed)
        except exact.Undecided:
            continue
        compared += 1
        if not error <= AGREEMENT:
            wrong.append((kind, names, seed, error, rate, contact.time))
    return wrong, compared


def choices(seeds, kinds=KINDS):
    return [
        (kind, names, seed)
        for seed in seeds
        for kind in kinds
        for names in PAIRS
        if not (kind == "grazing" and names in TOO_SLOW)
    ]


TOPS = {"ball": Sphere(0.3), "rod": Capsule(0.1, 0.4), "box": Box((0.3, 0.3, 0.7))}


@pytest.mark.parametrize("shape", TOPS.values(), ids=TOPS)
def test_reference_series_agree_with_the_closed_form_to_40_digits(shape):
    random = np.random.default_rng(8)
    model = model_of((shape, Sphere(1.0)))
    state = packed(random.normal(size=3), random.normal(size=3), 9.0 * unit(random), turned(random))
    closed, series = (
        exact.FreeFlight(state, model.inertia[0], np.zeros(3), series=series) for series in (False, True)
    )
    assert closed.is_top
    assert not series.is_top
    for t in ("0.013", "0.77"):
        difference = closed.pose(exact.mp.mpf(t))[1] - series.pose(exact.mp.mpf(t))[1]
        assert max(abs(value) for value in difference.ravel()) < exact.mp.mpf(10) ** -40


def test_times_of_impact_are_those_of_40_digit_references():
    wrong, compared = disagreements(choices((0,), ("apart", "leaving", "returning", "thin")))
    assert not wrong
    assert compared >= 90


@pytest.mark.long
def test_a_thousand_times_of_impact_are_those_of_40_digit_references():
    wrong, compared = disagreements(choices(range(8)))
    assert not wrong
    assert compared >= 1185


FAMILIES = pytest.mark.parametrize("family", [passing, turning])


@FAMILIES
def test_near_grazing_bodies_hit_if_and_only_if_their_margin_is_negative(family):
    assert misjudged(family, Pool(5, 8), range(1000 if family is turning else 400))[0] == []


def test_a_corner_cuts_a_rim_although_bodies_can_part_along_the_mean_of_the_normals():
    """Saved cases: they passed through each other 2e-11 and 3e-12 m deep."""
    assert misjudged(passing, Pool(5, 8), (5333, 6383))[0] == []


@pytest.mark.long
@FAMILIES
def test_50000_near_grazing_bodies_hit_if_and_only_if_their_margin_is_negative(family):
    assert misjudged(family, Pool(5, 8), range(50000))[0] == []
