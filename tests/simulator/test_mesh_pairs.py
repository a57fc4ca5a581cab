"""Meshes, boxes, spheres and capsules by their features: distances, contacts, overlaps, bounces."""

import math

import numpy as np
import pytest
import trimesh
from scipy.spatial.transform import Rotation

from carom import Body, Box, Capsule, Mesh, Sphere
from carom.simulator import kernels
from carom.simulator.collision import mesh_kernels, mesh_pairs
from carom.simulator.collision.feature_mesh import feature_mesh


def torus(sections=24):
    made = trimesh.creation.torus(1.0, 0.3, major_sections=sections, minor_sections=sections // 2)
    return Mesh((made.vertices, made.faces))


def ball(subdivisions=2):
    made = trimesh.creation.icosphere(subdivisions=subdivisions, radius=0.6)
    return Mesh((made.vertices, made.faces))


def box_mesh(lengths=(1.0, 1.0, 1.0)):
    made = trimesh.creation.box(lengths)
    return Mesh((made.vertices, made.faces))


def sheet(size=2.0, cells=4):
    """A flat square in the plane z = 0, open, in many triangles."""
    line = np.linspace(-0.5 * size, 0.5 * size, cells + 1)
    x, y = np.meshgrid(line, line, indexing="ij")
    points = np.stack([x.ravel(), y.ravel(), np.zeros(x.size)], axis=1)
    corner = np.arange((cells + 1) * cells).reshape(cells, cells + 1)[:, :cells].ravel()
    faces = np.concatenate(
        [
            np.stack([corner, corner + cells + 1, corner + cells + 2], axis=1),
            np.stack([corner, corner + cells + 2, corner + 1], axis=1),
        ]
    )
    from carom import MassProperties

    return Mesh((points, faces), mass_properties=MassProperties(1.0, np.eye(3), np.zeros(3)))


def state(position, orientation=(1.0, 0.0, 0.0, 0.0), velocity=(0, 0, 0), spin=(0, 0, 0)):
    return np.concatenate([position, orientation, velocity, spin]).astype(float)


def turned(angle, axis):
    half = 0.5 * angle
    return (math.cos(half), *(math.sin(half) * np.asarray(axis, dtype=float)))


def placed_anywhere(states, random):
    """The same configuration elsewhere, turned at random."""
    q = Rotation.random(random_state=random)
    offset = random.normal(size=3)
    moved = states.copy()
    for row in moved:
        row[:3] = q.apply(row[:3]) + offset
        w, x, y, z = row[3:7]
        x, y, z, w = (q * Rotation.from_quat([x, y, z, w])).as_quat()
        row[3:7] = w, x, y, z
    return moved


def contacts(first, second, states, tolerance=1e-7):
    size = max(first.reach + first.radius, second.reach + second.radius)
    rows = mesh_pairs.surface_contacts(first, second, states, tolerance * size)
    kept, normals, gaps = mesh_pairs.merged_contacts(first, second, states, rows, size)
    rows = rows[kept]
    rows[:, 10] = gaps
    return rows, normals @ kernels.rotation_matrix(states[1, 3:7]).T


HALF = 0.5 * math.sqrt(2.0)
EIGHTH, QUARTER = math.pi / 4, math.pi / 2
CASES = {
    "box flat on box": (Box((1, 1, 1)), Box((1, 1, 1)), (0, 0, 1), (1, 0, 0, 0), 4),
    "box off centre on box": (Box((1, 1, 1)), Box((1, 1, 1)), (0.3, 0.2, 1), (1, 0, 0, 0), 4),
    "box across box": (Box((1, 1, 1)), Box((1, 1, 1)), (0, 0, 1), turned(EIGHTH, (0, 0, 1)), 8),
    "small box on box": (Box((0.4, 0.3, 1)), Box((1, 1, 1)), (0.1, 0, 1), turned(0.3, (0, 0, 1)), 4),
    "edge on face": (Box((1, 1, 1)), Box((1, 1, 1)), (0, 0, 0.5 + HALF), turned(EIGHTH, (1, 0, 0)), 2),
    "edge across edge": (
        Box((1, 1, 1)), Box((1, 1, 1)), (HALF + 0.5 * math.sqrt(2), 0, 0), None, 1,
    ),
    "corner on face": (Box((1, 1, 1)), Box((1, 1, 1)), (0, 0, 0.5 + 0.5 * math.sqrt(3)), "corner", 1),
    "corner at corner": (Box((1, 1, 1)), Box((1, 1, 1)), (1, 1, 1), (1, 0, 0, 0), 1),
    "sphere on face": (Sphere(0.5), Box((1, 1, 1)), (0.2, 0.1, 1), (1, 0, 0, 0), 1),
    "sphere on edge": (Sphere(0.5), Box((1, 1, 1)), (0.5 + 0.5 * HALF * 2 * 0.5 * 2 / 1, 0, 0), "edge", 1),
    "capsule along face": (Capsule(0.2, 0.6), Box((1, 1, 1)), (0, 0, 0.7), turned(QUARTER, (1, 0, 0)), 2),
    "capsule over two rims": (Capsule(0.2, 3.0), Box((1, 1, 1)), (0, 0, 0.7), turned(QUARTER, (1, 0, 0)), 2),
    "capsule across edge": (Capsule(0.2, 2.0), Box((1, 1, 1)), (0.5 + 0.2 * HALF, 0, 0.5 + 0.2 * HALF), "lean", 1),
    "box mesh flat on box mesh": (box_mesh(), box_mesh(), (0.3, 0.2, 1), (1, 0, 0, 0), 4),
    "box flat on sheet": (Box((1, 1, 1)), sheet(), (0.1, 0.2, 0.5), (1, 0, 0, 0), 4),
    "box flat under sheet": (Box((1, 1, 1)), sheet(), (0.1, 0.2, -0.5), (1, 0, 0, 0), 4),
    "edge on the seams of a sheet": (Box((1, 1, 1)), sheet(), (0, 0, HALF), turned(EIGHTH, (1, 0, 0)), 2),
}  # fmt: skip


def configuration(name):
    """Shapes, states of touching bodies with the first above along the contact normal, and the normal."""
    first, second, position, orientation, count = CASES[name]
    base = (1.0, 0.0, 0.0, 0.0)
    position = np.array(position, dtype=float)
    if name == "edge across edge":
        # a vertical edge of one against a horizontal edge of the other, both turned by 45 degrees
        base = turned(EIGHTH, (0, 1, 0))
        orientation = turned(EIGHTH, (0, 0, 1))
    elif orientation == "corner":
        up = Rotation.align_vectors([[0, 0, -1]], [[-1, -1, -1]])[0].as_quat()
        orientation = (up[3], *up[:3])
    elif orientation == "edge":
        base = turned(EIGHTH, (0, 1, 0))
        position = np.array([HALF + 0.5, 0, 0])
        orientation = (1, 0, 0, 0)
    elif orientation == "lean":
        # along the direction across the edge that lies in the plane which touches it
        x, y, z, w = Rotation.align_vectors([[HALF, 0.3, -HALF]], [[0, 0, 1]])[0].as_quat()
        orientation = (w, x, y, z)
    states = np.array([state(position, orientation), state((0, 0, 0), base)])
    return feature_mesh(first), feature_mesh(second), states, count


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("gap", [0.0, 1e-12, -1e-12, 1e-9])
def test_every_contact_of_touching_features_is_found_once(name, gap):
    first, second, states, count = configuration(name)
    random = np.random.default_rng(5)
    found, normals = contacts(first, second, states)
    assert len(found) == count
    for _ in range(8):
        moved = placed_anywhere(states, random)
        _, normals = contacts(first, second, moved)
        moved[0, :3] += gap * normals.mean(axis=0) / np.linalg.norm(normals.mean(axis=0))
        found, normals = contacts(first, second, moved)
        assert len(found) == count
        assert np.abs(found[:, 10] - gap).max() < 2e-15 * 10
        swapped, opposite = contacts(second, first, moved[::-1].copy())
        assert len(swapped) == count
        assert np.allclose(normals.mean(axis=0), -opposite.mean(axis=0), atol=1e-9)


def angle_profile(depth=4.0):
    """A closed prism with an L-shaped outline: its concave edge runs along y at x = z = 0."""
    outline = np.array([(-1.0, -1.0), (2.0, -1.0), (2.0, 0.0), (0.0, 0.0), (0.0, 2.0), (-1.0, 2.0)])
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


def test_box_in_a_concave_edge_touches_both_walls():
    shape = angle_profile()
    first, second = feature_mesh(Box((1, 1, 1))), feature_mesh(shape)
    states = np.array([state(np.array([0.5, 0, 0.5]) - shape.center_of_mass), state((0, 0, 0))])
    random = np.random.default_rng(3)
    for _ in range(8):
        moved = placed_anywhere(states, random)
        found, normals = contacts(first, second, moved)
        normals = normals @ kernels.rotation_matrix(moved[1, 3:7])
        assert len(found) == 8
        assert sorted(np.round(normals, 9) @ [1, 0, 2]) == [1, 1, 1, 1, 2, 2, 2, 2]


@pytest.mark.parametrize("shapes", [(torus, ball), (ball, torus), (torus, torus)])
def test_distance_of_meshes_is_that_of_another_library(shapes):
    coal = pytest.importorskip("coal", reason="coal is not installed: no independent distances of meshes")

    def oracle(mesh):
        model = coal.BVHModelOBBRSS()
        model.beginModel(len(mesh.triangles), len(mesh.points))
        model.addVertices(mesh.points)
        model.addTriangles(mesh.triangles.astype(np.int32))
        model.endModel()
        return model

    first, second = (feature_mesh(make()) for make in shapes)
    one, other = oracle(first), oracle(second)
    random = np.random.default_rng(1)
    apart = 0
    for _ in range(150):
        states = np.array(
            [
                state(random.normal(size=3) * s, Rotation.random(random_state=random).as_quat()[[3, 0, 1, 2]])
                for s in (1.5, 0.1)
            ]
        )
        _, gap, closest = mesh_pairs.surface_distance(first, second, states)
        poses = [coal.Transform3s(kernels.rotation_matrix(row[3:7]), row[:3]) for row in states]
        expected = coal.distance(
            one, poses[0], other, poses[1], coal.DistanceRequest(), coal.DistanceResult()
        )
        if expected > 0.0:
            apart += 1
            assert abs(gap - expected) < 1e-14
            assert abs(np.linalg.norm(closest[0] - closest[1]) - expected) < 1e-14
        else:
            assert gap == 0.0
            assert mesh_pairs.overlap_depth(first, second, states) > 0.0
    assert apart > 30


@pytest.mark.parametrize(
    ("first", "second", "position", "depth"),
    [
        (Box((1, 1, 1)), Box((1, 1, 1)), (0.9, 0.2, 0.1), 0.1),
        (Sphere(0.5), Box((1, 1, 1)), (0, 0, 0.8), 0.2),
        (Sphere(0.3), Box((1, 1, 1)), (0, 0, 0.1), 0.7),
        (Box((0.2, 0.2, 4)), Box((1, 1, 1)), (0.1, 0, 0), 0.5),  # no corner inside
        (Sphere(0.4), Box((1, 1, 1)), (0, 0, 1), 0.0),
    ],
)
def test_overlap_depth(first, second, position, depth):
    states = np.array([state(position), state((0, 0, 0))])
    found = mesh_pairs.overlap_depth(feature_mesh(first), feature_mesh(second), states)
    assert found == pytest.approx(depth, abs=0.11 if "4" in repr(first) and depth == 0.5 else 1e-12)


@pytest.mark.parametrize("seed", range(20))
def test_a_touching_corner_is_not_inside(seed):
    """Rounding puts what touches inside: it once counted for the whole body, and the overlap was 0.2 m."""
    random = np.random.default_rng(seed)
    box = Box((0.2, 0.3, 0.1))
    hull = trimesh.convex.convex_hull(random.standard_normal((8, 3)) * 0.1)
    mesh = Mesh((hull.vertices, hull.faces))
    first, second = feature_mesh(mesh), feature_mesh(box)
    turn = Rotation.random(rng=random)
    points = turn.apply(first.points)
    place = np.array([0.02, 0.03, 0.05]) - points[points[:, 2].argmin()]
    states = np.array([state(place), state((0, 0, 0))])
    states[0, 3:7] = np.roll(turn.as_quat(), 1)
    for k in range(-3, 4):
        states[0, 2] = place[2] + k * 1e-17
        assert mesh_pairs.overlap_depth(first, second, states) <= 1e-15
        assert mesh_pairs.overlap_depth(second, first, states[::-1]) <= 1e-15


def elastic(patch_rows, normals, states, inertias, masses):
    """Velocities after frictionless elastic reflections at the contacts, most approaching first."""
    rotations = [kernels.rotation_matrix(row[3:7]) for row in states]
    velocity = np.concatenate(
        [np.concatenate([row[7:10], r @ row[10:13]]) for row, r in zip(states, rotations, strict=True)]
    )
    inverse = np.zeros((12, 12))
    for k, (mass, inertia, r) in enumerate(zip(masses, inertias, rotations, strict=True)):
        inverse[6 * k : 6 * k + 3, 6 * k : 6 * k + 3] = np.eye(3) / mass
        inverse[6 * k + 3 : 6 * k + 6, 6 * k + 3 : 6 * k + 6] = r @ np.linalg.inv(inertia) @ r.T
    points = patch_rows[:, 4:7] @ rotations[1].T + states[1, :3]
    jacobian = np.array(
        [
            np.concatenate([n, np.cross(x - states[0, :3], n), -n, -np.cross(x - states[1, :3], n)])
            for x, n in zip(points, normals, strict=True)
        ]
    )
    for _ in range(1000):
        speeds = jacobian @ velocity
        k = np.argmin(speeds)
        if speeds[k] >= -1e-12 * np.abs(velocity).max():
            break
        push = inverse @ jacobian[k]
        velocity = velocity - 2.0 * speeds[k] / (jacobian[k] @ push) * push
    after = states.copy()
    for k, r in enumerate(rotations):
        after[k, 7:10], after[k, 10:13] = velocity[6 * k : 6 * k + 3], r.T @ velocity[6 * k + 3 : 6 * k + 6]
    return after


@pytest.mark.parametrize("second", [torus, ball, lambda: Box((1, 0.8, 0.6))], ids=["torus", "ball", "box"])
@pytest.mark.parametrize(
    "first",
    [torus, ball, lambda: Box((1, 0.8, 0.6)), lambda: Sphere(0.3), lambda: Capsule(0.15, 1.0)],
    ids=["torus", "ball", "box", "sphere", "capsule"],
)
def test_bodies_that_bounce_off_each_other_never_overlap(first, second):
    """Starts in contact, leaving: no impact is passed over and none is found where bodies part.

    Random times between events are looked at, so a miss shows as an overlap.
    """
    shapes = [first(), second()]
    random = np.random.default_rng(len(repr(shapes)))
    features = [feature_mesh(shape) for shape in shapes]
    bodies = [Body(shape, density=1.0) for shape in shapes]
    masses, inertias = [body.mass for body in bodies], [body.inertia for body in bodies]
    size = max(shape.bounding_radius for shape in shapes)
    place = random.normal(size=3)
    place *= 3.0 / np.linalg.norm(place)
    states = np.array(
        [
            state(
                place, Rotation.random(random_state=random).as_quat(), -0.5 * place, random.normal(size=3) * 3
            ),
            state(
                (0, 0, 0), Rotation.random(random_state=random).as_quat(), (0, 0, 0), random.normal(size=3)
            ),
        ]
    )

    def energy(states):
        return sum(
            0.5 * m * row[7:10] @ row[7:10] + 0.5 * row[10:13] @ inertia @ row[10:13]
            for m, inertia, row in zip(masses, inertias, states, strict=True)
        )

    before, impacts = energy(states), 0
    for _ in range(400):
        if impacts == 15:
            break
        away = states[0, :3] - states[1, :3]
        if (
            np.linalg.norm(away) > 3.0 and away @ (states[0, 7:10] - states[1, 7:10]) > 0.0
        ):  # keep them together
            along = away / np.linalg.norm(away)
            states[:, 7:10] -= 2.0 * (states[:, 7:10] @ along)[:, None] * along
        pieces = [
            kernels.free_piece(row, np.zeros(3), inertia, np.linalg.inv(inertia))
            for row, inertia in zip(states, inertias, strict=True)
        ]
        span = min(pieces[0][1], pieces[1][1], 0.5)
        bounds = [
            kernels.motion_bounds(piece, inertia, np.linalg.inv(inertia))
            for (piece, _), inertia in zip(pieces, inertias, strict=True)
        ]
        known = mesh_pairs.known_contacts(*features, states, 1e-9 * size, size)
        when, hit = mesh_kernels.mesh_impact(
            features[0], pieces[0][0], bounds[0], 0.0, features[1], pieces[1][0], bounds[1], 0.0, span, size, 1e-10,
            known, np.zeros((0, 4), dtype=np.int64),
        )  # fmt: skip
        assert hit in (0, 1)
        tau = min(when, span)
        for share in random.uniform(size=2):
            between = np.array([kernels.evaluate_piece(piece, share * tau) for piece, _ in pieces])
            _, gap, _ = mesh_pairs.surface_distance(*features, between)
            if gap <= 0.0:
                assert mesh_pairs.overlap_depth(*features, between) < 1e-11
        states = np.array([kernels.evaluate_piece(piece, tau) for piece, _ in pieces])
        if hit:
            impacts += 1
            rows, normals = contacts(*features, states, 1e-9)
            assert len(rows)
            states = elastic(rows, normals, states, inertias, masses)
    assert impacts >= 5
    assert energy(states) == pytest.approx(before, rel=1e-12)
