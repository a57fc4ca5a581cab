"""Which pairs of bodies can collide: groups, masks, disabled pairs, and sensors."""

import itertools

import numpy as np
import pytest

from carom import ALL_GROUPS
from carom.bodies import Body, HalfSpace, Scene, Sphere

BALL = Sphere(0.1)


def scene_of(*groups_and_masks) -> Scene:
    scene = Scene()
    for group, mask in groups_and_masks:
        scene.add(Body(BALL, mass=1.0, collision_group=group, collision_mask=mask))
    return scene


def test_every_body_meets_every_other_by_default():
    scene = Scene()
    scene.add(Body(HalfSpace((0, 0, 1)), fixed=True))
    scene.add(Body(BALL, mass=1.0))
    scene.add(Body(BALL, mass=1.0, sensor=True))
    assert all(scene.collides(i, j) for i, j in itertools.permutations(range(3), 2))
    assert not any(scene.collides(k, k) for k in range(3))
    assert (scene.bodies[1].collision_group, scene.bodies[1].collision_mask) == (1, ALL_GROUPS)
    assert [body.sensor for body in scene.bodies] == [False, False, True]


@pytest.mark.parametrize(
    ("first", "second", "meet"),
    [
        ((1, 2), (2, 1), True),
        ((1, 2), (2, 2), False),  # the second does not meet the first
        ((1, 1), (2, 1), False),  # the first does not meet the second
        ((0b110, 0b100), (0b100, 0b010), True),  # one common group each way is enough
        ((0, ALL_GROUPS), (1, ALL_GROUPS), False),  # in no group
        ((1, 0), (1, ALL_GROUPS), False),  # meets no group
        ((2**62, 2**62), (2**62, 2**62), True),
        ((ALL_GROUPS, ALL_GROUPS ^ 1), (1, 1), False),
    ],
)
def test_both_must_meet_a_group_of_the_other(first, second, meet):
    scene = scene_of(first, second)
    assert scene.collides(0, 1) is meet
    assert scene.collides(1, 0) is meet


def test_groups_are_kept_as_plain_numbers():
    body = Body(BALL, mass=1.0, collision_group=np.uint64(2**62), collision_mask=np.int8(3))
    assert (body.collision_group, body.collision_mask) == (2**62, 3)
    assert type(body.collision_group) is type(body.collision_mask) is int


def test_single_pairs_can_be_disabled():
    scene = scene_of(*[(1, 1)] * 3)
    scene.disable_collision(scene.bodies[2], "sphere-0")
    scene.disable_collision(0, 2)
    assert [scene.collides(*pair) for pair in ((0, 1), (0, 2), (2, 0), ("sphere-1", 2))] == [
        True,
        False,
        False,
        True,
    ]
    assert scene.disabled_pairs == ((0, 2),)


@pytest.mark.parametrize(
    ("first", "second", "error", "message"),
    [
        (0, 0, ValueError, "second: expected another body than the first, got the same one"),
        (0, 7, ValueError, "body: expected an index below 2, got 7"),
        ("ball", 1, ValueError, "no body is named 'ball'"),
        (0.5, 1, TypeError, "body: expected a Body, a name or an index, got float"),
    ],
)
def test_pairs_that_are_none_are_refused(first, second, error, message):
    scene = scene_of((1, 1), (1, 1))
    with pytest.raises(error, match=message):
        scene.disable_collision(first, second)
    if first != second:
        with pytest.raises(error, match=message):
            scene.collides(first, second)
    assert scene.disabled_pairs == ()
