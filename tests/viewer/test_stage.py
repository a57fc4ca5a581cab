import itertools

import numpy as np
import pytest

from carom.viewer.pictures import check_view_from
from carom.viewer.stage import Stage, length_text, rotation_matrices, round_length


def test_bounds_hold_the_whole_motion_but_no_fixed_body(fakes):
    stage = Stage(fakes.bouncing_ball())
    np.testing.assert_allclose([stage.lower[2], stage.upper[2]], [0.0, 1.1], atol=1e-6)
    np.testing.assert_allclose([stage.lower[1], stage.upper[1]], [-0.1, 0.1])


@pytest.mark.parametrize("scale", [1e-3, 1.0, 100.0])
def test_stage_coordinates_do_not_depend_on_the_scale(fakes, scale):
    stage = Stage(fakes.bouncing_ball(scale))
    reference = Stage(fakes.bouncing_ball())
    time = stage.trajectory.events[2].time
    (instances,) = stage.instances(time)
    (expected,) = reference.instances(reference.trajectory.events[2].time)
    np.testing.assert_allclose(instances, expected, rtol=1e-4, atol=1e-4)
    assert 0.15 < stage.tile / stage.scale < 0.6


def test_equal_shapes_share_a_mesh(fakes):
    box = fakes.Box((1, 1, 1))
    bodies = [fakes.body(fakes.Box((1, 1, 1))), fakes.body(box), fakes.body(fakes.Box((2, 2, 2)))]
    stage = Stage(fakes.FakeTrajectory(bodies, [lambda _: np.zeros(3)] * 3, 1.0))
    (part,) = stage.parts
    np.testing.assert_allclose(part.radius, np.sqrt(3) / 2 * np.array([1, 1, 2]))


def test_half_space_moves_with_its_body(fakes):
    bodies = [fakes.body(fakes.HalfSpace((0, 0, 2), 0.5), True), fakes.body(fakes.Sphere(1.0))]
    motions = [lambda _: np.array([5.0, 0, 0.25]), lambda _: np.array([0, 0, 2.0])]
    (plane,) = Stage(fakes.FakeTrajectory(bodies, motions, 1.0)).planes
    np.testing.assert_allclose(plane.normal, [0, 0, 1])
    assert plane.offset == 0.75


def test_the_camera_stands_before_the_walls(fakes):
    bodies = [fakes.body(fakes.HalfSpace((-0.5, 0.8, 0), -2.0), True), fakes.body(fakes.Sphere(1.0))]
    stage = Stage(fakes.FakeTrajectory(bodies, [lambda _: np.zeros(3)] * 2, 1.0))
    plane = stage.planes[0]
    assert plane.normal @ stage.camera(1.5).eye > plane.offset


@pytest.mark.parametrize("direction", [(1, 0, 0.3), (0, 0, 1), (-2e-200, 1e-200, 0), (0, 0, -3e200)])
def test_the_camera_stands_where_it_is_asked_to_and_sees_all(fakes, direction):
    stage = Stage(fakes.bouncing_ball())
    stage.view_from = check_view_from(direction)
    camera = stage.camera(1.5)
    away = camera.eye - (stage.lower + stage.upper) / 2
    scaled = np.array(direction) / np.abs(direction).max()
    np.testing.assert_allclose(away / np.linalg.norm(away), scaled / np.linalg.norm(scaled), atol=1e-12)
    corners = np.array(list(itertools.product(*zip(stage.lower, stage.upper, strict=True))))
    assert np.abs(camera.project(corners, 1.5)).max() < 1


@pytest.mark.parametrize(
    "direction", [(0, 0, 0), (1, 2), 3.0, "above", (1, 0, np.nan), (np.inf, 0, 0), [[1, 0, 0]], (1, None, 0)]
)
def test_what_is_no_direction_to_look_from_is_refused(direction):
    with pytest.raises(ValueError, match="view_from: expected three numbers that are not all 0"):
        check_view_from(direction)


def test_a_scene_with_nothing_but_a_floor(fakes):
    trajectory = fakes.FakeTrajectory([fakes.body(fakes.HalfSpace(), True)], [lambda _: np.zeros(3)], 1.0)
    assert Stage(trajectory).scale > 0


def test_rotation_matrices():
    half = np.sqrt(0.5)
    np.testing.assert_allclose(
        rotation_matrices([[half, 0, 0, half]])[0], [[0, -1, 0], [1, 0, 0], [0, 0, 1]], atol=1e-12
    )


@pytest.mark.parametrize(
    ("length", "rounded", "text"),
    [(0.23, 0.2, "0.2 m"), (0.0045, 0.005, "5 mm"), (88, 100, "100 m"), (3e-6, 2e-6, "2 µm")],
)
def test_tiles_have_round_lengths(length, rounded, text):
    assert round_length(length) == pytest.approx(rounded)
    assert length_text(round_length(length)) == text
