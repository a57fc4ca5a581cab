import math

import numpy as np
import pytest

from carom.viewer.camera import OrbitCamera, perpendiculars


def projected(camera, points, aspect):
    matrix = camera.projection(aspect, 0.01 * camera.distance, 100 * camera.distance) @ camera.view()
    clip = np.hstack([points, np.ones((len(points), 1))]) @ matrix.T
    return clip[:, :3] / clip[:, 3:]


def corners(lower, upper):
    return np.array(
        [[x, y, z] for x in (lower[0], upper[0]) for y in (lower[1], upper[1]) for z in (lower[2], upper[2])]
    )


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e2])
@pytest.mark.parametrize("aspect", [0.5, 16 / 9])
def test_frame_all_shows_every_corner_and_fills_the_picture(scale, aspect):
    lower, upper = scale * np.array([-1.0, 2.0, 0.0]), scale * np.array([3.0, 2.5, 1.0])
    camera = OrbitCamera()
    camera.frame_all(lower, upper, aspect)
    seen = projected(camera, corners(lower, upper), aspect)
    assert np.abs(seen).max() < 1
    assert np.abs(seen[:, :2]).max() > 0.8


def test_frame_all_of_a_point_keeps_a_distance():
    camera = OrbitCamera()
    camera.frame_all([1, 1, 1], [1, 1, 1], 1.0)
    assert camera.distance > 0
    assert np.isfinite(camera.view()).all()


def test_target_is_in_the_middle_and_up_is_up():
    camera = OrbitCamera(target=np.array([1.0, 2.0, 3.0]), distance=5.0)
    seen = projected(camera, np.array([[1.0, 2.0, 3.0], [1.0, 2.0, 3.5]]), 1.5)
    np.testing.assert_allclose(seen[0, :2], 0, atol=1e-12)
    assert seen[1, 1] > 0.1
    assert abs(seen[1, 0]) < 1e-12


@pytest.mark.parametrize("up", [(0, 0, 1), (1, 0, 0), (0, 1, 0), (0.6, 0, 0.8)])
def test_axes_are_right_handed_for_any_up(up):
    camera = OrbitCamera(up=np.array(up, dtype=float))
    axes = np.array(camera.axes())
    np.testing.assert_allclose(axes @ axes.T, np.eye(3), atol=1e-12)
    assert np.linalg.det(axes) == pytest.approx(1)
    assert axes[1] @ up > 0.9


def test_perpendiculars_of_z_are_x_and_y():
    first, second = perpendiculars(np.array([0.0, 0.0, 1.0]))
    np.testing.assert_allclose([first, second], [[1, 0, 0], [0, 1, 0]])


def test_orbit_keeps_distance_and_stops_at_the_pole():
    camera = OrbitCamera(distance=3.0)
    camera.orbit(1.0, 10.0)
    assert np.linalg.norm(camera.eye - camera.target) == pytest.approx(3.0)
    assert camera.elevation == math.pi / 2
    axes = np.array(camera.axes())
    np.testing.assert_allclose(axes @ axes.T, np.eye(3), atol=1e-12)


def test_pan_moves_the_picture_by_the_fraction_asked():
    camera = OrbitCamera(distance=2.0)
    before = camera.target.copy()
    camera.pan(0.25, 0.0)
    seen = projected(camera, before[None], 1.0)
    np.testing.assert_allclose(seen[0, :2], [-0.5, 0], atol=1e-9)


def test_zoom_multiplies_the_distance():
    camera = OrbitCamera(distance=2.0)
    camera.zoom(0.5)
    assert camera.distance == 1.0


def test_rays_agree_with_the_projection():
    camera = OrbitCamera(distance=2.0)
    spots = np.array([[0.0, 0.0], [0.7, -0.4], [-1.0, 1.0]])
    points = camera.eye + 3.0 * camera.rays(1.6, spots)
    np.testing.assert_allclose(projected(camera, points, 1.6)[:, :2], spots, atol=1e-9)


@pytest.mark.parametrize("orthographic", [False, True])
def test_zoom_keeps_what_is_under_the_pointer(orthographic):
    camera = OrbitCamera(distance=3.0, orthographic=orthographic)
    spot, aspect = (0.6, -0.4), 1.6
    origin, direction = camera.ray_at(aspect, spot)
    axes = camera.axes()
    length = (camera.target - origin) @ axes[2] / (direction @ axes[2])
    point = origin + length * direction
    camera.zoom(0.5, spot, aspect)
    np.testing.assert_allclose(projected(camera, point[None], aspect)[0, :2], spot, atol=1e-9)
    np.testing.assert_allclose(camera.project(point[None], aspect)[0], spot, atol=1e-9)


def test_parallel_projection_keeps_sizes_at_any_depth():
    camera = OrbitCamera(distance=5.0, orthographic=True)
    _, _, backward = camera.axes()
    right = camera.axes()[0]
    near = projected(camera, np.array([2 * backward, 2 * backward + right]), 1.0)
    far = projected(camera, np.array([-2 * backward, -2 * backward + right]), 1.0)
    np.testing.assert_allclose(near[1, :2] - near[0, :2], far[1, :2] - far[0, :2], atol=1e-12)
    assert np.abs(near).max() < 1
    assert near[0, 2] < far[0, 2]


@pytest.mark.parametrize("axis", [(1, 0, 0), (0, 1, 0), (0, -1, 0), (0, 0, -1), (0, 0, 1), (0.6, 0, -0.8)])
def test_look_along_an_axis(axis):
    camera = OrbitCamera()
    camera.look_along(axis)
    np.testing.assert_allclose(-camera.axes()[2], axis, atol=1e-12)


@pytest.mark.parametrize("orthographic", [False, True])
def test_rays_meet_what_is_projected_there(orthographic):
    camera = OrbitCamera(distance=2.0, orthographic=orthographic)
    origin, direction = camera.ray_at(1.5, (0.3, 0.7))
    point = origin + 1.7 * direction
    np.testing.assert_allclose(projected(camera, point[None], 1.5)[0, :2], (0.3, 0.7), atol=1e-9)


def test_what_is_behind_the_camera_is_nowhere_in_the_picture():
    camera = OrbitCamera(distance=2.0)
    assert np.isnan(camera.project(camera.eye[None] + camera.axes()[2], 1.0)).all()
