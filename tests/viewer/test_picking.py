import numpy as np
import pytest

from carom.viewer.picking import pick_body
from carom.viewer.stage import Stage


@pytest.fixture
def stage(fakes):
    return Stage(fakes.mixed_scene())


def pick(stage, origin, towards):
    origin = np.array(origin, dtype=float)
    direction = np.array(towards, dtype=float) - origin
    return pick_body(stage, stage.trajectory.sample(0.0), origin, direction / np.linalg.norm(direction))


def test_each_body_is_picked_at_its_middle(stage):
    positions = stage.trajectory.sample(0.0).position
    for body in stage.solids:
        assert pick(stage, positions[body] + [0.0, 0.0, 5.0], positions[body]) == body


def test_the_nearer_of_two_is_picked(stage):
    positions = stage.trajectory.sample(0.0).position
    box, cylinder = positions[2], positions[3]
    beyond = box + 2.0 * (box - cylinder)
    assert pick(stage, beyond, cylinder) == 2
    assert pick(stage, cylinder + 2.0 * (cylinder - box), box) == 3


def test_beside_and_behind_nothing_is_picked(stage):
    positions = stage.trajectory.sample(0.0).position
    assert pick(stage, positions[1] + [0.0, -3.0, 0.0], positions[1] + [0.0, -4.0, 0.0]) is None
    assert pick(stage, positions[1] + [0.11, 0.0, 5.0], positions[1] + [0.11, 0.0, 4.0]) is None


def test_the_corner_of_a_turned_box_counts_and_what_is_beside_it_does_not(stage, fakes):
    state = stage.trajectory.sample(0.0)
    from carom.viewer.stage import rotation_matrices

    rotation = rotation_matrices(state.orientation[2:3])[0]
    for share, found in ((0.98, 2), (1.02, None)):
        corner = state.position[2] + rotation @ (share * np.array([0.15, 0.1, 0.0]))
        edge = rotation @ np.array([0.0, 0.0, 1.0])
        assert pick(stage, corner + 3 * edge, corner) == found
