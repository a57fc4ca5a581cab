"""Cylinders and triangle meshes: distances, contacts, overlaps, bounces, seams.

The reference is the pair of the cylinder and a convex body whose surface the mesh is, and points sampled densely.
"""

import math

import numpy as np
import pytest
import trimesh
from scipy.spatial.transform import Rotation

from carom import Body, Box, ConvexMesh, Cylinder, MassProperties, Mesh, Scene
from carom.simulator import kernels
from carom.simulator.collision import convex_contacts_kernels, cylinder_pairs, separation_kernels
from carom.simulator.collision.collision_shape import collision_shape
from carom.simulator.collision.feature_mesh import feature_mesh
from carom.simulator.collision.pairs import contact_patch, overlap, pair_gap, pair_impact
from carom.simulator.event import Feature
from carom.simulator.state import Model

POINT, EDGE, FACE, RIM = Feature.POINT, Feature.EDGE, Feature.FACE, Feature.RIM
CYLINDER = Cylinder(0.3, 0.8)
COIN = Cylinder(0.4, 0.03)
SIZE = 1.0


def mesh_of(made):
    return Mesh((made.vertices, made.faces))


def torus():
    return mesh_of(trimesh.creation.torus(1.0, 0.3, major_sections=24, minor_sections=12))


def profile():
    """A closed prism with an L-shaped outline."""
    outline = np.array([(-1.0, -1.0), (2.0, -1.0), (2.0, 0.0), (0.0, 0.0), (0.0, 2.0), (-1.0, 2.0)]) / 2
    count = len(outline)
    points = np.concatenate([np.insert(outline, 1, y, axis=1) for y in (-0.8, 0.8)])
    caps = [(0, 1, 2), (0, 2, 3), (0, 3, 4), (0, 4, 5)]
    faces = [*caps, *[tuple(k + count for k in reversed(cap)) for cap in caps]]
    for k in range(count):
        m = (k + 1) % count
        faces += [(k, k + count, m + count), (k, m + count, m)]
    made = trimesh.Trimesh(points, faces)
    made.fix_normals()
    return mesh_of(made)


def sheet(size=2.0, cells=4):
    """A flat square in the plane z = 0, open, in many triangles."""
    line = np.linspace(-0.5 * size, 0.5 * size, cells + 1)
    x, y = np.meshgrid(line, line, indexing="ij")
    points = np.stack([x.ravel(), y.ravel(), np.zeros(x.size)], axis=1)
    corner = np.arange((cells + 1) * cells).reshape(cells, cells + 1)[:, :cells].ravel()
    halves = [(0, cells + 1, cells + 2), (0, cells + 2, 1)]
    faces = np.concatenate([np.stack([corner + k for k in half], axis=1) for half in halves])
    return Mesh((points, faces), mass_properties=MassProperties(1.0, np.eye(3), np.zeros(3)))


def fine_box(cells):
    """A cube of side one whose faces are divided."""
    made = trimesh.creation.box((1.0, 1.0, 1.0))
    for _ in range(cells):
        made = made.subdivide()
    return mesh_of(made)


def state(position, orientation=(1.0, 0.0, 0.0, 0.0), velocity=(0, 0, 0), spin=(0, 0, 0)):
    return np.concatenate([position, orientation, velocity, spin]).astype(float)


def turned(angle, axis):
    axis = np.asarray(axis, dtype=float) / np.linalg.norm(axis)
    return (math.cos(0.5 * angle), *(math.sin(0.5 * angle) * axis))


def unit(random, count=3):
    vector = random.standard_normal(count)
    return vector / np.linalg.norm(vector)


def placed_anywhere(states, random):
    """The same configuration elsewhere, turned at random, and the turn."""
    turn, offset = Rotation.random(random_state=random), random.normal(size=3)
    moved = states.copy()
    for row in moved:
        row[:3] = turn.apply(row[:3]) + offset
        row[3:7] = (turn * Rotation.from_quat(row[3:7], scalar_first=True)).as_quat(scalar_first=True)
    return moved, turn


def model_of(first, second):
    scene = Scene(gravity=(0, 0, 0))
    for shape in (first, second):
        closed = not isinstance(shape, Mesh) or shape.closed
        scene.add(Body(shape, density=1.0) if closed else Body(shape, fixed=True))
    return Model.of_scene(scene)


def hull_and_mesh(seed, count=20):
    points = np.random.default_rng(seed).standard_normal((count, 3))
    hull = ConvexMesh(0.6 * points / np.linalg.norm(points, axis=1)[:, None])
    return hull, Mesh(hull.surface())


@pytest.mark.parametrize("shape", [CYLINDER, COIN], ids=["cylinder", "coin"])
def test_distance_from_a_convex_mesh_is_that_from_its_hull(shape):
    random = np.random.default_rng(1)
    first = collision_shape(shape)
    for seed in range(3):
        hull, mesh = hull_and_mesh(seed)
        convex, surface = collision_shape(hull), feature_mesh(mesh)
        for gap in (0.3, 1e-2, 1e-6, 1e-9, 0.0) * 4:
            states = np.array([state(unit(random) * 1.5, unit(random, 4)), state((0, 0, 0), unit(random, 4))])
            axis, here = separation_kernels.pair_separation(first, states[0], convex, states[1], SIZE)
            states[0, :3] += (gap - here) * axis
            axis, expected = separation_kernels.pair_separation(first, states[0], convex, states[1], SIZE)
            normal, found = cylinder_pairs.surface_distance(first, surface, states, SIZE)
            assert found == pytest.approx(expected, abs=1e-12)
            if gap > 1e-7:  # closer, a corner at a rim touches along any of many normals
                np.testing.assert_allclose(normal, axis, atol=1e-6)


def test_distance_is_that_of_the_closest_of_many_points():
    random = np.random.default_rng(2)
    made = trimesh.creation.torus(1.0, 0.3, major_sections=24, minor_sections=12)
    surface, first = feature_mesh(mesh_of(made)), collision_shape(CYLINDER)
    points = np.concatenate([made.vertices, trimesh.sample.sample_surface(made, 20000, seed=1)[0]])
    apart = 0
    for _ in range(30):
        states = np.array([state(unit(random) * random.uniform(0.0, 2.0), unit(random, 4)), state((0, 0, 0))])
        turn = kernels.rotation_matrix(states[0, 3:7])
        x, y, z = ((points - states[0, :3]) @ turn).T
        beside, over = np.hypot(x, y) - CYLINDER.radius, np.abs(z) - 0.5 * CYLINDER.length
        sampled = np.hypot(np.maximum(beside, 0), np.maximum(over, 0)).min()
        gap = cylinder_pairs.surface_distance(first, surface, states, SIZE)[1]
        assert sampled - 0.02 <= gap <= sampled + 1e-12
        if gap > 0:
            apart += 1
        else:
            assert cylinder_pairs.overlap_depth(first, surface, states, SIZE) > 0.0
    assert 5 < apart < 30


LYING, ACROSS = turned(0.5 * math.pi, (0, 1, 0)), turned(0.5 * math.pi, (1, 0, 0))
CORNER_UP = tuple(Rotation.align_vectors([[0, 0, 1]], [[1, 1, 1]])[0].as_quat(scalar_first=True))
EDGE_UP = turned(0.25 * math.pi, (1, 0, 0))
LEAN = 0.5
TOP = math.sqrt(0.75)
# name -> shape; lateral place and orientation of the cylinder, orientation of the cube; contacts by features
ON_CUBE = {
    "stands": (CYLINDER, (0.1, 0.05), (1, 0, 0, 0), None, {(POINT, FACE): 8}),
    "stands out over an edge": (CYLINDER, (0.4, 0.05), (1, 0, 0, 0), None, {(POINT, FACE): 5, (RIM, EDGE): 2}),
    "stands out over a corner": (
        CYLINDER, (0.4, 0.35), (1, 0, 0, 0), None, {(POINT, FACE): 3, (FACE, POINT): 1, (RIM, EDGE): 2},
    ),
    "covers the face": (Cylinder(0.9, 0.4), (0.05, 0.02), (1, 0, 0, 0), None, {(FACE, POINT): 4}),
    "lies": (CYLINDER, (0.03, 0.1), LYING, None, {(RIM, FACE): 2}),
    "lies out over an edge": (CYLINDER, (0.4, 0.1), LYING, None, {(RIM, FACE): 1, (EDGE, EDGE): 1}),
    "lies out over two edges": (Cylinder(0.3, 2.0), (0.1, 0.1), LYING, None, {(EDGE, EDGE): 2}),
    "leans": (CYLINDER, (0.1, 0.05), turned(LEAN, (1, 0.2, 0)), None, {(RIM, FACE): 1}),
    "lies across an edge": (CYLINDER, (0.1, 0.0), ACROSS, EDGE_UP, {(EDGE, EDGE): 1}),
    "lies along an edge": (CYLINDER, (0.02, 0.0), LYING, EDGE_UP, {(RIM, EDGE): 2}),
    "stands on an edge": (CYLINDER, (0.05, 0.02), (1, 0, 0, 0), EDGE_UP, {(RIM, EDGE): 2}),
    "stands on a corner": (CYLINDER, (0.05, 0.02), (1, 0, 0, 0), CORNER_UP, {(FACE, POINT): 1}),
    "lies on a corner": (CYLINDER, (0.05, 0.0), LYING, CORNER_UP, {(EDGE, POINT): 1}),
}  # fmt: skip


def height_of(shape, orientation):
    """How far below its centre a cylinder reaches."""
    axis = Rotation.from_quat(orientation, scalar_first=True).apply((0, 0, 1))
    return 0.5 * shape.length * abs(axis[2]) + shape.radius * math.hypot(axis[0], axis[1])


@pytest.mark.parametrize("cells", [0, 2])
@pytest.mark.parametrize("name", ON_CUBE)
@pytest.mark.parametrize("gap", [0.0, 1e-12, -1e-12, 1e-10])
def test_contacts_do_not_depend_on_the_triangles(name, gap, cells):
    shape, place, orientation, base, expected = ON_CUBE[name]
    top = 0.5 if base is None else TOP if base == CORNER_UP else math.sqrt(0.5)
    states = np.array(
        [
            state((*place, top + height_of(shape, orientation) + gap), orientation),
            state((0, 0, 0), (1, 0, 0, 0) if base is None else base),
        ]
    )
    model, random = model_of(shape, fine_box(cells)), np.random.default_rng(3)
    other_way = model_of(fine_box(cells), shape)
    for _ in range(4):
        moved, turn = placed_anywhere(states, random)
        patch = contact_patch(model, [(0, 1)], moved)
        counted = {}
        for pair in patch.feature.tolist():
            counted[tuple(pair)] = counted.get(tuple(pair), 0) + 1
        assert counted == expected
        np.testing.assert_allclose(patch.gap, gap, rtol=0, atol=1e-13)
        np.testing.assert_allclose(patch.normal, np.tile(turn.apply((0, 0, 1)), (len(patch), 1)), atol=1e-8)
        height = turn.inv().apply(patch.point - moved[1, :3])[:, 2]
        np.testing.assert_allclose(height, top + 0.5 * gap, rtol=0, atol=1e-12)
        np.testing.assert_allclose(
            np.linalg.norm(patch.along, axis=2), np.isin(patch.feature, (EDGE, RIM)), atol=1e-14
        )
        swapped = contact_patch(other_way, [(0, 1)], moved[::-1].copy())
        np.testing.assert_array_equal(swapped.normal, -patch.normal)
        np.testing.assert_array_equal(swapped.feature, patch.feature[:, ::-1])
        assert pair_gap(model, (0, 1), moved)[1] == pytest.approx(gap, abs=1e-13)
        assert pair_gap(other_way, (0, 1), moved[::-1].copy())[1] == pytest.approx(gap, abs=1e-13)


def test_cylinder_in_a_concave_edge_touches_both_walls():
    mesh = profile()
    model = model_of(Cylinder(0.3, 0.8), mesh)
    at = np.array([0.3, 0.0, 0.3]) - mesh.center_of_mass
    states = np.array([state(at, turned(0.5 * math.pi, (1, 0, 0))), state((0, 0, 0))])
    patch = contact_patch(model, [(0, 1)], states)
    assert sorted(np.round(patch.normal, 9) @ [1, 0, 2]) == [1, 1, 2, 2]
    assert overlap(model, (0, 1), states) == pytest.approx(0.0, abs=1e-15)


@pytest.mark.parametrize("side", [1, -1])
def test_sheets_are_touched_from_both_sides(side):
    model = model_of(CYLINDER, sheet())
    patch = contact_patch(model, [(0, 1)], np.array([state((0.1, 0.2, 0.4 * side)), state((0, 0, 0))]))
    assert len(patch) == 8
    np.testing.assert_allclose(patch.normal, np.tile([0, 0, side], (8, 1)), atol=1e-15)


@pytest.mark.parametrize(
    ("place", "orientation", "depth"),
    [
        ((0.1, 0.1, 0.7), (1, 0, 0, 0), 0.2),
        ((0.0, 0.1, 0.75), LYING, 0.05),
        ((0.0, 0.0, 0.0), (1, 0, 0, 0), 0.1),
        ((0.0, 0.0, 1.0), (1, 0, 0, 0), 0.0),
    ],
)
def test_overlap_depth(place, orientation, depth):
    for first, second, order in ((CYLINDER, fine_box(1), 1), (fine_box(1), CYLINDER, -1)):
        states = np.array([state(place, orientation), state((0, 0, 0))])[::order]
        found = overlap(model_of(first, second), (0, 1), states.copy())
        assert (found > 0.0) == (depth > 0.0)
        assert found >= depth - 1e-12


# -- times of impact ---------------------------------------------------------------------------------------


def flown(bodies, states, longest):
    """Pieces of free flight, their bounds and how long they hold."""
    pieces, bounds, span = [], [], longest
    for body, row in zip(bodies, states, strict=True):
        if body.fixed:
            piece = np.zeros((13, kernels.TERMS))
            piece[:, 0] = row
        else:
            piece, holds = kernels.free_piece(row, np.zeros(3), body.inertia, np.linalg.inv(body.inertia))
            span = min(span, holds)
        pieces.append(piece)
    for body, piece in zip(bodies, pieces, strict=True):
        still = np.zeros(5)
        bounds.append(
            still if body.fixed
            else kernels.motion_bounds(piece, body.inertia, np.linalg.inv(body.inertia))
        )  # fmt: skip
    return tuple(pieces), tuple(bounds), span


@pytest.mark.parametrize("shape", [CYLINDER, COIN], ids=["cylinder", "coin"])
def test_impact_on_a_convex_mesh_is_that_on_its_hull(shape):
    random = np.random.default_rng(4)
    hits = 0
    for seed in range(12):
        hull, mesh = hull_and_mesh(seed % 3)
        one, other = model_of(shape, hull), model_of(shape, mesh)
        swapped = model_of(mesh, shape)
        way = unit(random)
        states = np.array(
            [
                state(
                    1.2 * way,
                    unit(random, 4),
                    -2 * way + 0.3 * random.standard_normal(3),
                    3 * random.standard_normal(3),
                ),
                state((0, 0, 0), unit(random, 4), (0, 0, 0), 3 * random.standard_normal(3)),
            ]
        )  # fmt: skip
        pieces, bounds, span = flown(one.scene.bodies, states, 0.4)
        expected = pair_impact(one, (0, 1), pieces, bounds, (0.0, 0.0), span)
        found = pair_impact(other, (0, 1), pieces, bounds, (0.0, 0.0), span)
        again = pair_impact(swapped, (0, 1), pieces[::-1], bounds[::-1], (0.0, 0.0), span)
        assert found == again
        assert found[1] == expected[1]
        if found[1]:
            hits += 1
            assert found[0] == pytest.approx(expected[0], abs=1e-12)
    assert hits > 3


def reflected(patch, states, bodies):
    """States after frictionless elastic reflections at contacts, the fastest approaching first."""
    turns = [kernels.rotation_matrix(row[3:7]) for row in states]
    velocity = np.concatenate(
        [np.append(row[7:10], R @ row[10:13]) for row, R in zip(states, turns, strict=True)]
    )
    inverse = np.zeros((12, 12))
    for k, (body, R) in enumerate(zip(bodies, turns, strict=True)):
        inverse[6 * k : 6 * k + 3, 6 * k : 6 * k + 3] = np.eye(3) / body.mass
        inverse[6 * k + 3 : 6 * k + 6, 6 * k + 3 : 6 * k + 6] = R @ np.linalg.inv(body.inertia) @ R.T
    rows = np.array(
        [
            np.concatenate([n, np.cross(x - states[0, :3], n), -n, -np.cross(x - states[1, :3], n)])
            for x, n in zip(patch.point, patch.normal, strict=True)
        ]
    )
    for _ in range(2000):
        speeds = rows @ velocity
        k = np.argmin(speeds)
        if speeds[k] >= -1e-12 * np.abs(velocity).max():
            break
        push = inverse @ rows[k]
        velocity = velocity - 2.0 * speeds[k] / (rows[k] @ push) * push
    after = states.copy()
    for k, R in enumerate(turns):
        after[k, 7:10], after[k, 10:13] = velocity[6 * k : 6 * k + 3], R.T @ velocity[6 * k + 3 : 6 * k + 6]
    return after


@pytest.mark.parametrize("second", [torus, profile, lambda: fine_box(1)], ids=["torus", "profile", "box"])
@pytest.mark.parametrize("first", [CYLINDER, COIN, Cylinder(0.1, 1.5)], ids=["cylinder", "coin", "rod"])
def test_bodies_that_bounce_off_each_other_never_overlap(first, second):
    """Starts in contact, leaving: no impact is passed over and none is found where bodies part.

    Random times between events are looked at, so a miss shows as an overlap.
    """
    model = model_of(first, second())
    bodies = model.scene.bodies
    random = np.random.default_rng(5)
    place = 2.2 * unit(random)
    states = np.array(
        [
            state(place, unit(random, 4), -0.6 * place, 3 * random.standard_normal(3)),
            state((0, 0, 0), unit(random, 4), (0, 0, 0), random.standard_normal(3)),
        ]
    )

    def energy(states):
        return sum(
            0.5 * body.mass * row[7:10] @ row[7:10] + 0.5 * row[10:13] @ body.inertia @ row[10:13]
            for body, row in zip(bodies, states, strict=True)
        )

    before, impacts = energy(states), 0
    for _ in range(1200):
        if impacts == 25:
            break
        away = states[0, :3] - states[1, :3]
        if np.linalg.norm(away) > 2.5 and away @ (states[0, 7:10] - states[1, 7:10]) > 0.0:
            along = away / np.linalg.norm(away)  # keep them together
            states[:, 7:10] -= 2.0 * (states[:, 7:10] @ along)[:, None] * along
        pieces, bounds, span = flown(bodies, states, 0.5)
        when, hit = pair_impact(model, (0, 1), pieces, bounds, (0.0, 0.0), span)
        assert hit in (0, 1)
        tau = min(when, span)
        for share in (*random.uniform(size=2), 1e-6 * random.uniform()):
            between = np.array([kernels.evaluate_piece(piece, share * tau) for piece in pieces])
            if pair_gap(model, (0, 1), between)[1] <= 0.0:
                assert overlap(model, (0, 1), between) < 1e-11
        states = np.array([kernels.evaluate_piece(piece, tau) for piece in pieces])
        if hit:
            impacts += 1
            patch = contact_patch(model, [(0, 1)], states)
            assert len(patch)
            states = reflected(patch, states, bodies)
    assert impacts == 25
    assert energy(states) == pytest.approx(before, rel=1e-12)


MOVING = {
    "slides standing": (CYLINDER, (1, 0, 0, 0), (1.0, 0.3, 0.0), (0, 0, 0)),
    "turns standing": (CYLINDER, (1, 0, 0, 0), (1.0, 0.3, 0.0), (0, 0, 5.0)),
    "slides lying": (CYLINDER, LYING, (0.7, 0.8, 0.0), (0, 0, 0)),
    "rolls": (CYLINDER, ACROSS, (1.0, 0.0, 0.0), (0, 1.0 / 0.3, 0)),
    "spins lying": (CYLINDER, LYING, (0.2, 0.1, 0.0), (7.0, 0, 0)),
    "turns lying": (CYLINDER, LYING, (0.2, 0.1, 0.0), (0, 0, 4.0)),
    "slides leaning": (CYLINDER, turned(LEAN, (1, 0.2, 0)), (1.0, 0.3, 0.0), (0, 0, 0)),
}


@pytest.mark.parametrize("ground", [sheet, lambda: fine_box(2)], ids=["sheet", "box"])
@pytest.mark.parametrize("name", MOVING)
def test_seams_of_a_flat_face_stop_nothing(name, ground):
    shape, orientation, velocity, spin = MOVING[name]
    mesh = ground()
    top = 0.5 if mesh.closed else 0.0
    spin = Rotation.from_quat(orientation, scalar_first=True).inv().apply(spin)
    model = model_of(shape, mesh)
    start = np.array([-0.11, -0.17, top + height_of(shape, orientation)])
    states = np.array([state(start, orientation, velocity, spin), state((0, 0, 0))])
    moved, turn = placed_anywhere(states, np.random.default_rng(6))
    moved[0, 7:10] = turn.apply(velocity)
    # what turns in contact has curved ways, along which only small steps are safe: the engine holds such contacts
    pieces, bounds, span = flown(model.scene.bodies, moved, 3e-4 if any(spin) else 0.3)
    when, hit = pair_impact(model, (0, 1), pieces, bounds, (0.0, 0.0), span)
    assert (when, hit) == (math.inf, 0)


def test_cylinder_falls_on_a_tessellated_face_with_an_exact_time():
    model = model_of(CYLINDER, fine_box(2))
    states = np.array([state((0.1, 0.03, 1.1), LYING, (0.3, 0.0, -2.0), (4.0, 0, 0)), state((0, 0, 0))])
    pieces, bounds, span = flown(model.scene.bodies, states, 0.5)
    found, hit = pair_impact(model, (0, 1), pieces, bounds, (0.0, 0.0), span)
    assert hit == 1

    def gap(t):
        row = kernels.evaluate_piece(pieces[0], t)
        return row[2] - height_of(CYLINDER, row[3:7]) - 0.5

    assert abs(gap(found)) < 1e-13


def test_box_of_triangles_and_box_agree_in_contacts():
    random = np.random.default_rng(8)
    first, box = collision_shape(CYLINDER), Box((1.0, 1.0, 1.0))
    convex, surface = collision_shape(box), feature_mesh(fine_box(0))
    for _ in range(60):
        states = np.array([state(unit(random) * 2, unit(random, 4)), state((0, 0, 0), unit(random, 4))])
        axis, gap = separation_kernels.pair_separation(first, states[0], convex, states[1], SIZE)
        states[0, :3] -= gap * axis
        expected = convex_contacts_kernels.pair_contacts(
            first, states[0], convex, states[1], SIZE, 1e-9, 1e-9
        )
        found = cylinder_pairs.contacts_between(first, surface, states, 1e-9, SIZE)
        np.testing.assert_allclose(found[0], expected[0], atol=1e-8)
        if found[3].tolist() == [[RIM, POINT]]:
            continue  # a corner at a rim touches along any of many normals
        np.testing.assert_allclose(found[1], expected[1], atol=1e-7)
        np.testing.assert_allclose(found[2], expected[2], atol=1e-12)
        np.testing.assert_array_equal(found[3], expected[3])
