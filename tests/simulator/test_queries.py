"""Distance, contacts and time of impact of two bodies by themselves."""

import doctest
import math

import numpy as np
import pytest
import trimesh
from scipy.spatial.transform import Rotation

import carom
from carom import Body, Box, Capsule, ConvexMesh, Cylinder, HalfSpace, Mesh, Sphere
from carom.bodies import scene as scene_module
from carom.simulator.collision import queries
from carom.simulator.state import rotation_matrices

HULL = trimesh.creation.icosphere(subdivisions=1, radius=0.4)
TORUS = trimesh.creation.torus(0.6, 0.2, major_sections=16, minor_sections=8)
SHAPES = {
    "sphere": Sphere(0.3),
    "capsule": Capsule(0.1, 0.6),
    "cylinder": Cylinder(0.3, 0.8),
    "box": Box((0.4, 0.6, 0.8)),
    "hull": ConvexMesh(HULL.vertices),
    "mesh": Mesh((HULL.vertices, HULL.faces)),
    "torus": Mesh((TORUS.vertices, TORUS.faces)),
    "half-space": HalfSpace((0, 0.6, 0.8), 0.1),
}
PAIRS = [(a, b) for k, a in enumerate(SHAPES) for b in list(SHAPES)[k:] if (a, b) != ("half-space",) * 2]


def test_examples_in_docstrings():
    for module in (queries, scene_module):
        assert doctest.testmod(module).failed == 0


def body(name, position=(0, 0, 0), orientation=(1, 0, 0, 0), **options):
    shape = SHAPES[name]
    if isinstance(shape, HalfSpace):
        return Body(shape, position=position, orientation=orientation, fixed=True)
    return Body(shape, density=1000.0, position=position, orientation=orientation, **options)


def off_surface(of, point):
    """Distance [m] of a point from the surface of a body, by formulas of each shape."""
    shape, local = of.shape, rotation_matrices(of.orientation).T @ (point - of.position)
    match shape:
        case HalfSpace():
            return abs(shape.normal @ local - shape.offset)
        case Sphere():
            return abs(np.linalg.norm(local) - shape.radius)
        case Capsule():
            along = np.clip(local[2], -0.5 * shape.length, 0.5 * shape.length)
            return abs(np.linalg.norm(local - (0, 0, along)) - shape.radius)
        case Cylinder():
            return abs(max(math.hypot(*local[:2]) - shape.radius, abs(local[2]) - 0.5 * shape.length))
    vertices, triangles = shape.surface()
    nearest = trimesh.triangles.closest_point(vertices[triangles], np.tile(local, (len(triangles), 1)))
    return np.linalg.norm(nearest - local, axis=1).min()


def placed(pair, count, seed):
    """Two bodies each time, turned at random, from well apart to overlapping."""
    random = np.random.default_rng(seed)
    for k in range(count):
        turns = random.standard_normal((2, 4))
        turns /= np.linalg.norm(turns, axis=1)[:, None]
        away = random.standard_normal(3)
        away *= (3.0, 0.9, 0.5, 0.2)[k % 4] / np.linalg.norm(away)
        yield body(pair[0], away, turns[0]), body(pair[1], (0, 0, 0), turns[1])


@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
def test_closest_points_lie_on_the_surfaces_and_span_the_gap(pair):
    for first, second in placed(pair, 12, 5):
        found = carom.signed_distance(first, second)
        overlaps = found.gap < 0.0
        in_mesh = {"mesh", "torus"} & set(pair)
        # a rim of a cylinder that is in deep is only followed until it is near
        tolerance = 1e-9 if overlaps and "cylinder" in pair else 1e-12
        assert np.linalg.norm(found.normal) == pytest.approx(1.0, abs=1e-12)
        assert np.abs(found.points[0] - found.points[1] - found.gap * found.normal).max() <= tolerance
        if in_mesh and ((overlaps and "capsule" in pair) or "cylinder" in pair):
            continue  # on the segment of a capsule; of a prism around a cylinder; contacts of rims are inexact
        assert off_surface(first, found.points[0]) <= tolerance
        assert off_surface(second, found.points[1]) <= tolerance


@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
def test_swapped_bodies_give_the_mirrored_answer(pair):
    for first, second in placed(pair, 4, 6):
        there, back = carom.signed_distance(first, second), carom.signed_distance(second, first)
        assert there.gap == back.gap
        assert (there.normal == -back.normal).all()
        assert (there.points == back.points[::-1]).all()


@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
def test_a_move_by_the_gap_makes_bodies_touch(pair):
    for first, second in placed(pair, 4, 7):
        found = carom.signed_distance(first, second)
        if found.gap <= 0.0:
            continue
        moved = body(pair[0], first.position - found.gap * found.normal, first.orientation)
        assert abs(carom.signed_distance(moved, second).gap) <= 1e-12
        patch = carom.contact_manifold(moved, second)
        assert len(patch) > 0
        assert (patch.bodies == (0, 1)).all()
        assert (patch.normal @ found.normal).max() > 0.0  # where corners meet, one normal of many
        np.testing.assert_allclose(np.cross(patch.normal, patch.tangent), patch.tangent2, atol=1e-15)


def test_known_distances():
    cube = Body(Box((1, 1, 1)), density=1.0)
    ball = Body(Sphere(0.5), density=1.0, position=(0, 0, 3))
    found = carom.signed_distance(ball, cube)
    assert found.gap == pytest.approx(2.0, abs=1e-15)
    np.testing.assert_allclose(found.normal, (0, 0, 1), atol=1e-15)
    np.testing.assert_allclose(found.points, [(0, 0, 2.5), (0, 0, 0.5)], atol=1e-15)
    within = Body(Box((0.2, 0.2, 0.2)), density=1.0, position=(0.1, 0, 0))
    assert carom.signed_distance(within, cube).gap == pytest.approx(-0.5, abs=1e-14)  # out through +x
    np.testing.assert_allclose(carom.signed_distance(within, cube).normal, (1, 0, 0), atol=1e-14)
    assert carom.signed_distance(cube, cube).gap == pytest.approx(-1.0, abs=1e-14)


def test_depth_in_a_mesh_and_sheets():
    made = trimesh.creation.box((2, 2, 2))
    block = Body(Mesh((made.vertices, made.faces)), density=1.0)
    ball = Body(Sphere(0.1), density=1.0, position=(0.7, 0.1, 0.2))
    found = carom.signed_distance(ball, block)
    assert found.gap == pytest.approx(-0.4, abs=1e-14)
    np.testing.assert_allclose(found.normal, (1, 0, 0), atol=1e-14)
    rod = Body(Cylinder(0.1, 3.0), density=1.0)
    assert carom.signed_distance(rod, block).gap < -0.5
    corners = np.array([(-1, -1, 0), (1, -1, 0), (1, 1, 0), (-1, 1, 0)], dtype=float)
    hull = carom.MassProperties(1.0, np.eye(3), np.zeros(3))
    sheet = Body(Mesh((corners, np.array([(0, 1, 2), (0, 2, 3)])), hull), mass=1.0)
    above = carom.signed_distance(Body(Sphere(0.1), density=1.0, position=(0, 0, 0.3)), sheet)
    below = carom.signed_distance(Body(Sphere(0.1), density=1.0, position=(0, 0, -0.3)), sheet)
    assert above.gap == pytest.approx(0.2) and below.gap == pytest.approx(0.2)  # noqa: PT018
    assert above.normal[2] == 1.0 and below.normal[2] == -1.0  # noqa: PT018
    cut = carom.signed_distance(Body(Box((0.5, 0.5, 0.5)), density=1.0, position=(0.1, 0, 0.1)), sheet)
    assert cut.gap == 0.0
    assert np.abs(cut.points[:, 2]).max() <= 1e-15
    assert np.linalg.norm(cut.points[0] - cut.points[1]) <= 1e-15
    rod = Body(Capsule(0.1, 1.0), density=1.0, position=(0.1, 0, 0.2))
    cut = carom.signed_distance(rod, sheet)
    assert cut.gap == pytest.approx(-0.1)
    assert np.linalg.norm(cut.points[0] - cut.points[1]) == pytest.approx(0.1)


def test_manifold_order_and_tolerance():
    box = Body(Box((1, 1, 1)), density=1.0, position=(0, 0, 0.5 + 1e-4))
    floor = Body(HalfSpace((0, 0, 1)), fixed=True)
    assert len(carom.contact_manifold(box, floor)) == 0
    there, back = (carom.contact_manifold(*pair, tolerance=1e-3) for pair in ((box, floor), (floor, box)))
    assert len(there) == len(back) == 4
    assert (there.normal[:, 2] == 1.0).all() and (back.normal[:, 2] == -1.0).all()  # noqa: PT018
    assert (there.bodies == (0, 1)).all() and (back.bodies == (0, 1)).all()  # noqa: PT018
    np.testing.assert_array_equal(there.feature, back.feature[:, ::-1])
    np.testing.assert_allclose(there.gap, 1e-4)


def test_time_of_impact_of_falling_balls():
    floor = Body(HalfSpace((0, 0, 1)), fixed=True)
    ball = Body(Sphere(0.5), density=1.0, position=(0, 0, 2.5), name="one")
    gravity = (0, 0, -9.81)
    for pair in ((ball, floor), (floor, ball)):
        met = carom.time_of_impact(*pair, until=10.0, gravity=gravity)
        assert met.time == pytest.approx(math.sqrt(2 * 2.0 / 9.81), abs=1e-13)
        assert len(met.contacts) == 1
        assert (met.contacts.bodies == (0, 1)).all()
    assert carom.time_of_impact(ball, floor, until=0.6, gravity=gravity) is None
    assert carom.time_of_impact(ball, floor, until=100.0) is None
    other = Body(Sphere(0.5), density=1.0, position=(3, 0, 2.5), velocity=(-2, 0, 0), name="one")
    assert carom.time_of_impact(ball, other, until=5.0, gravity=gravity).time == pytest.approx(1.0, abs=1e-14)
    # a fixed body is not pulled
    shelf = Body(Sphere(0.5), fixed=True, position=(0, 0, 0.5))
    assert carom.time_of_impact(ball, shelf, until=1.0, gravity=gravity).time == pytest.approx(
        math.sqrt(2.0 / 9.81), abs=1e-13
    )


@pytest.mark.parametrize("pair", [pair for pair in PAIRS if "half-space" not in pair], ids="-".join)
def test_spinning_bodies_meet_where_their_gap_ends(pair):
    first = body(pair[0], (12.0, 0.1, 0.2), velocity=(-1, 0, 0), angular_velocity=(0.5, 2.0, -1.0))
    second = body(pair[1], (0, 0, 0), angular_velocity=(-1.0, 0.2, 1.5))
    met = carom.time_of_impact(first, second, until=20.0)
    assert 9.0 < met.time < 12.5  # over several pieces of motion
    assert len(met.contacts) >= 1
    assert np.abs(met.contacts.gap).max() <= 1e-8
    back = carom.time_of_impact(second, first, until=20.0)
    assert back.time == pytest.approx(met.time, abs=1e-10)
    assert carom.time_of_impact(first, second, until=met.time - 1e-6) is None


def test_long_flight_agrees_with_the_simulator():
    scene = carom.Scene(gravity=(0, 0, 0))
    floor = scene.add(Body(HalfSpace((0, 0, 1)), fixed=True))
    turn = Rotation.from_euler("xyz", (0.3, 0.4, 0.5)).as_quat()[[3, 0, 1, 2]]
    box = scene.add(
        Body(Box((1, 2, 3)), density=1.0, position=(0, 0, 30), velocity=(0, 0, -1.5), orientation=turn,
             angular_velocity=(1, 2, 0.5))
    )  # fmt: skip
    simulator = carom.Simulator(scene, carom.SequentialReflection())
    event = simulator.step_event()
    met = carom.time_of_impact(box, floor, until=100.0)
    assert met.time == pytest.approx(event.time, abs=1e-12)
    np.testing.assert_allclose(met.contacts.point, event.contacts.point, atol=1e-11)


def test_starts_in_contact():
    floor = Body(HalfSpace((0, 0, 1)), fixed=True)

    def ball(height, speed):
        return Body(Sphere(0.5), density=1.0, position=(0, 0, height), velocity=(0, 0, speed))

    gravity = (0, 0, -10.0)
    leaves = carom.time_of_impact(ball(0.5, 3.0), floor, until=2.0, gravity=gravity)
    assert leaves.time == pytest.approx(0.6, abs=1e-12)
    assert carom.time_of_impact(ball(0.5, 3.0), floor, until=0.5, gravity=gravity) is None
    assert carom.time_of_impact(ball(0.5, -3.0), floor, until=0.5).time == 0.0
    with pytest.raises(ValueError, match=r"depth of 0\.1 m"):
        carom.time_of_impact(ball(0.4, -3.0), floor, until=0.5)


def test_bad_input_is_refused():
    ball, floor = Body(Sphere(1.0), density=1.0), Body(HalfSpace((0, 0, 1)), fixed=True)
    for query in (carom.signed_distance, carom.contact_manifold):
        with pytest.raises(TypeError, match="second: expected a Body, got Sphere"):
            query(ball, Sphere(1.0))
        with pytest.raises(ValueError, match="one half-space at most"):
            query(floor, floor)
    with pytest.raises(TypeError, match="first: expected a Body"):
        carom.time_of_impact("ball", ball, 1.0)
    with pytest.raises(ValueError, match="until"):
        carom.time_of_impact(ball, ball, 0.0)
    with pytest.raises(ValueError, match="gravity"):
        carom.time_of_impact(ball, ball, 1.0, gravity=(0, 0))
    with pytest.raises(ValueError, match="tolerance"):
        carom.contact_manifold(ball, floor, tolerance=-1.0)
