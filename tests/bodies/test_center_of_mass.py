"""A centre of mass that a body is given: what follows from it, and what is refused."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from carom.bodies import Body, Box, Capsule, ConvexMesh, Cylinder, Ellipsoid, HalfSpace, Mesh, Scene, Sphere

OFF = (0.03, -0.02, 0.05)
CORNERS = np.array([[1.0, 1, 1], [2, 1, 1], [1, 3, 1], [1, 1, 2]])
SHAPES = [
    Sphere(0.4),
    Box((0.3, 0.4, 0.5)),
    Box((0.3, 0.4, 0.5), radius=0.1),
    Capsule(0.2, 0.5),
    Cylinder(0.3, 0.1),
    Ellipsoid((0.2, 0.3, 0.1)),
    ConvexMesh(CORNERS),
    ConvexMesh(CORNERS, radius=0.2),
    Mesh(ConvexMesh(CORNERS).surface()),
]
GIVEN = {"mass": 2.0, "inertia": np.diag([1.0, 2.0, 2.5])}


def name_of(shape):
    return type(shape).__name__


@pytest.mark.parametrize("shape", SHAPES, ids=name_of)
def test_surface_and_radius_are_seen_from_the_centre_of_mass(shape):
    center = shape.center_of_mass + OFF
    body = Body(shape, center_of_mass=center, **GIVEN)
    np.testing.assert_allclose(body.shape_offset, -np.array(OFF), atol=1e-15)
    own, triangles = shape.surface()
    vertices, same = body.surface()
    np.testing.assert_array_equal(same, triangles)
    np.testing.assert_allclose(vertices, own - OFF, atol=1e-15)
    farthest = np.linalg.norm(vertices, axis=1).max()
    assert farthest <= body.bounding_radius * (1.0 + 1e-12)
    assert body.bounding_radius <= shape.bounding_radius + np.linalg.norm(OFF) + 1e-12
    if not isinstance(shape, Ellipsoid):  # of which it is a bound
        assert body.bounding_radius == pytest.approx(farthest, rel=5e-3)


@pytest.mark.parametrize("shape", SHAPES, ids=name_of)
def test_the_default_is_the_uniform_solid(shape):
    plain = Body(shape, density=3.0)
    said = Body(shape, density=3.0, center_of_mass=shape.center_of_mass)
    for body in (plain, said):
        assert body.center_of_mass.tobytes() == shape.center_of_mass.tobytes()
        assert not body.shape_offset.any()
        assert body.bounding_radius == shape.bounding_radius
        assert body.surface()[0].tobytes() == shape.surface()[0].tobytes()


def test_the_frame_of_the_shape_is_where_it_was_given():
    turn = Rotation.from_rotvec([0.3, 0.5, -0.2])
    shape = ConvexMesh(CORNERS)
    body = Body(
        shape, center_of_mass=(1.0, 2.0, 1.5), position=(4, 5, 6), velocity=(1, 0, 0), angular_velocity=(0, 0, 2),
        orientation=turn.as_quat(scalar_first=True), **GIVEN,
    )  # fmt: skip
    corners = turn.apply(body.surface()[0]) + body.position
    np.testing.assert_allclose(
        corners, turn.apply(shape.vertices + shape.center_of_mass) + body.shape_position
    )
    arm = body.shape_position - body.position
    np.testing.assert_allclose(body.shape_velocity, [1.0 - 2.0 * arm[1], 2.0 * arm[0], 0.0], atol=1e-15)


@pytest.mark.parametrize(
    "given",
    [{"density": 5.0}, {"mass": 5.0}, {"density": 5.0, "inertia": np.eye(3)}],
    ids=["density", "mass alone", "density and inertia"],
)
@pytest.mark.parametrize("shape", SHAPES, ids=name_of)
def test_what_a_body_that_is_not_uniform_lacks_is_refused(shape, given):
    with pytest.raises(
        ValueError, match="center_of_mass: expected a mass and an inertia about it, and no density"
    ):
        Body(shape, center_of_mass=shape.center_of_mass + OFF, **given)


def test_fixed_bodies_need_no_mass_for_it():
    body = Body(Box((1, 1, 1)), fixed=True, center_of_mass=(0, 0, 0.5), position=(0, 0, 2))
    np.testing.assert_allclose(body.shape_position, [0.0, 0.0, 1.5])


@pytest.mark.parametrize("center", [(0, 0), (0, 0, np.nan), "middle"])
def test_bad_centres_are_refused(center):
    with pytest.raises((ValueError, TypeError), match="center_of_mass: expected"):
        Body(Sphere(1.0), center_of_mass=center, **GIVEN)


def test_half_spaces_have_none():
    with pytest.raises(ValueError, match="center_of_mass: expected none for a HalfSpace"):
        Body(HalfSpace((0, 0, 1)), fixed=True, center_of_mass=(0, 0, 0))


def test_description_gives_the_same_bodies_back():
    scene = Scene()
    scene.add(Body(HalfSpace((0, 0, 1)), fixed=True))
    for shape in SHAPES:
        scene.add(Body(shape, center_of_mass=shape.center_of_mass + OFF, **GIVEN))
        scene.add(Body(shape, density=2.0))
    read = Scene.from_description(*scene.describe())
    for before, after in zip(scene.bodies, read.bodies, strict=True):
        assert after.center_of_mass.tobytes() == before.center_of_mass.tobytes()
        assert after.inertia.tobytes() == before.inertia.tobytes()
        assert (after.density, after.mass) == (before.density, before.mass)


def test_varied_bodies_keep_it():
    scene = Scene()
    scene.add(Body(Sphere(0.1), center_of_mass=OFF, **GIVEN))
    varied = scene.varied({0: {"mass": 4.0, "position": (1, 2, 3)}}).bodies[0]
    np.testing.assert_array_equal(varied.center_of_mass, OFF)
    np.testing.assert_allclose(varied.inertia, 2.0 * GIVEN["inertia"])


@pytest.mark.parametrize(
    ("fixed", "mass", "words"),
    [
        (True, 2.0, "mass: expected that of a body that has one, got a fixed body without"),
        (False, 1e-320, "mass and moments of inertia can be told from zero"),
        (False, 5e-324, "mass and moments of inertia can be told from zero"),
    ],
)
def test_masses_that_cannot_be_varied_are_named(fixed, mass, words):
    """Saved: a fixed body got a mass, and moments that were no numbers; others got moments of zero."""
    scene = Scene()
    for shape in (Sphere(0.1), Sphere(0.2)):
        scene.add(Body(shape, density=None if fixed else 1000.0, fixed=fixed))
    with pytest.raises(ValueError, match=words):
        scene.varied({0: {"mass": mass}, 1: {"mass": mass}})


def test_the_mass_of_a_fixed_body_that_has_one_is_varied():
    scene = Scene()
    scene.add(Body(Sphere(0.1), mass=2.0, fixed=True))
    varied = scene.varied({0: {"mass": 3.0}}).bodies[0]
    assert (varied.mass, varied.inverse_mass) == (3.0, 0.0)
    np.testing.assert_allclose(varied.inertia, 1.5 * scene.bodies[0].inertia)
