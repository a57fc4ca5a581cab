"""Orientations in the ways people have them, colours, and meshes that are scaled and turned."""

import math

import numpy as np
import pytest
import trimesh
from scipy.spatial.transform import Rotation

import carom

BALL = carom.Sphere(0.1)
WEDGE = np.array([(0, 0, 0), (1, 0, 0), (0, 2, 0), (0, 0, 3)], dtype=float)
FACES = np.array([(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)])


def turned(orientation, vector):
    """A vector of the body, seen from the world, by quaternion products written out."""
    w, *axis = carom.Body(BALL, mass=1.0, orientation=orientation).orientation
    axis, vector = np.array(axis), np.asarray(vector, dtype=float)
    return vector + 2.0 * w * np.cross(axis, vector) + 2.0 * np.cross(axis, np.cross(axis, vector))


def test_axis_and_angle_turn_by_the_right_hand():
    quarter = carom.axis_angle((0, 0, 5), 0.5 * math.pi)
    assert turned(quarter, (1, 0, 0)) == pytest.approx((0, 1, 0), abs=1e-15)
    assert np.array_equal(carom.axis_angle((0, 0, 1), 90.0, degrees=True), quarter)
    assert carom.axis_angle((1, 2, 3), 0.0).tolist() == [1.0, 0.0, 0.0, 0.0]


def test_euler_angles_are_turns_one_after_the_other():
    roll, pitch, yaw = 0.3, -0.7, 1.9
    vector = np.array([0.3, -1.2, 0.5])
    fixed = vector
    for axis, angle in (((1, 0, 0), roll), ((0, 1, 0), pitch), ((0, 0, 1), yaw)):
        fixed = turned(carom.axis_angle(axis, angle), fixed)
    assert turned(carom.euler_angles((roll, pitch, yaw)), vector) == pytest.approx(fixed, abs=1e-15)
    moving = carom.euler_angles((yaw, pitch, roll), "ZYX")  # the same, about axes that turn along
    assert turned(moving, vector) == pytest.approx(fixed, abs=1e-15)
    degrees = carom.euler_angles(np.degrees((roll, pitch, yaw)), degrees=True)
    assert turned(degrees, vector) == pytest.approx(fixed, abs=1e-14)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (((1, 2, 3), "xYz"), "axes: expected three letters of 'xyz' or of 'XYZ'"),
        (((1, 2, 3), "xy"), "axes: expected three letters"),
        (((1, 2, 3), "xxz"), "axes: expected another axis after each"),
        (((1, 2),), r"angles: expected shape \(3\)"),
        (((1, 2, math.nan),), "angles: expected finite numbers"),
    ],
)
def test_euler_angles_that_are_none(arguments, message):
    with pytest.raises(ValueError, match=message):
        carom.euler_angles(*arguments)


def test_axes_and_angles_that_are_none():
    with pytest.raises(ValueError, match="axis: expected a direction, got the zero vector"):
        carom.axis_angle((0, 0, 0), 1.0)
    with pytest.raises(TypeError, match="angle: expected a number"):
        carom.axis_angle((0, 0, 1), "half")


def test_a_rotation_of_scipy_is_an_orientation():
    for rotation in Rotation.random(20, random_state=3):
        body = carom.Body(BALL, mass=1.0, orientation=rotation)
        vector = np.array([0.3, -1.2, 0.5])
        assert turned(body.orientation, vector) == pytest.approx(rotation.apply(vector), abs=1e-14)
    with pytest.raises(ValueError, match="orientation: expected one rotation, got 2"):
        carom.Body(BALL, mass=1.0, orientation=Rotation.random(2, random_state=0))


def test_quaternions_of_three_decimals_are_normalised_and_others_refused():
    body = carom.Body(BALL, mass=1.0, orientation=(0.707, 0.0, 0.0, 0.707))
    assert body.orientation == pytest.approx((math.sqrt(0.5), 0, 0, math.sqrt(0.5)), abs=1e-15)
    carom.Body(BALL, mass=1.0, orientation=(1.00099, 0, 0, 0))
    with pytest.raises(ValueError, match="orientation: expected a unit quaternion"):
        carom.Body(BALL, mass=1.0, orientation=(1.0011, 0, 0, 0))


def test_a_mesh_is_scaled_and_then_turned():
    turn = carom.axis_angle((1, 0, 0), 90.0, degrees=True)
    plain, changed = carom.Mesh((WEDGE, FACES)), carom.Mesh((WEDGE, FACES), scale=0.001, orientation=turn)
    assert changed.volume == pytest.approx(1e-9 * plain.volume, rel=1e-12)
    x, y, z = plain.center_of_mass
    assert changed.center_of_mass == pytest.approx((0.001 * x, -0.001 * z, 0.001 * y), abs=1e-18)
    expected = 0.001 * plain.vertices @ np.array([(1, 0, 0), (0, 0, 1), (0, -1, 0)])
    assert changed.vertices == pytest.approx(expected, abs=1e-15)
    same = carom.Mesh((WEDGE, FACES), scale=1.0)
    assert np.array_equal(same.vertices, plain.vertices)


def test_a_hull_is_scaled_and_then_turned(tmp_path):
    path = tmp_path / "wedge.stl"
    trimesh.Trimesh(1000.0 * WEDGE, FACES).export(path)
    hull = carom.ConvexMesh(path, scale=0.001, orientation=Rotation.from_euler("x", 90, degrees=True))
    assert hull.volume == pytest.approx(1.0, rel=1e-6)
    assert hull.center_of_mass == pytest.approx((0.25, -0.75, 0.5), rel=1e-6)


@pytest.mark.parametrize("scale", [0.0, -1.0, math.inf, math.nan])
def test_scales_that_are_none(scale):
    for kind, source in ((carom.Mesh, (WEDGE, FACES)), (carom.ConvexMesh, WEDGE)):
        with pytest.raises(ValueError, match="scale: expected a"):
            kind(source, scale=scale)


@pytest.mark.parametrize(
    ("color", "kept"),
    [
        (None, None), ("red", "#e3544f"), (" Gray ", "#999a9e"), ("#12AbFf", "#12abff"),
        ((1.0, 0.0, 0.5), "#ff0080"), (np.zeros(3), "#000000"), ((0, 1, 0), "#00ff00"),
    ],
)  # fmt: skip
def test_colours(color, kept):
    assert carom.Body(BALL, mass=1.0, color=color).color == kept


@pytest.mark.parametrize(
    "color", ["#12345", "#gggggg", "", (0.1, 0.2), (0.0, 0.0, 1.1), (-0.1, 0, 0), 7, True]
)
def test_colours_that_are_none(color):
    with pytest.raises((TypeError, ValueError), match=r"^color: expected"):
        carom.Body(BALL, mass=1.0, color=color)


def test_a_colour_goes_with_scenes_files_and_recordings(tmp_path):
    scene = carom.Scene()
    scene.add(carom.Body(BALL, mass=1.0, color="teal", name="ball"))
    scene.add(carom.Body(BALL, mass=1.0, position=(1, 0, 0), name="other"))
    again = carom.Scene.load(scene.save(tmp_path / "scene.json"))
    run = carom.Simulator(scene, carom.AnitescuPotra(), record=tmp_path / "run.h5").run(0.1)
    for kept in (again, carom.Trajectory.load(tmp_path / "run.h5").scene, run.scene):
        assert [body.color for body in kept] == ["#21adb3", None]
    assert "color" not in (tmp_path / "scene.json").read_text().split('"other"')[1]
    hostile = (tmp_path / "scene.json").read_text().replace("#21adb3", "url(x)")
    (tmp_path / "hostile.json").write_text(hostile)
    with pytest.raises(carom.FileFormatError, match="color: expected a name"):
        carom.Scene.load(tmp_path / "hostile.json")


def test_a_colour_changes_nothing_that_happens():
    hashes = set()
    for color in (None, "red", "blue"):
        scene = carom.Scene()
        scene.add(carom.Body(carom.HalfSpace((0, 0, 1)), fixed=True, color=color))
        scene.add(carom.Body(BALL, mass=1.0, position=(0, 0, 1), color=color))
        hashes.add(carom.Simulator(scene, carom.AnitescuPotra()).run(1.0).event_hash)
    assert len(hashes) == 1
