"""What a run says of properties that have no effect: once, and only where they have none."""

import math

import pytest

import carom

BOUNCY, DEAD = carom.Material(friction=0.0, restitution=0.8), carom.Material()
LOST = (
    "the restitution 0.8 of 'ball' has no effect on 'floor', whose own is 0: two surfaces combine by the "
    "geometric mean, so give both one, or the pair a material"
)


def ball_on(floor=DEAD, ball=BOUNCY, count=1, **given):
    """Balls above a floor, in a row."""
    scene = carom.Scene()
    scene.add(carom.Body(carom.HalfSpace((0, 0, 1)), fixed=True, material=floor, name="floor"))
    for k in range(count):
        body = carom.Body(
            carom.Sphere(0.1),
            density=1000.0,
            position=(k, 0, 0.5),
            material=ball,
            name=f"ball{k or ''}",
            **given,
        )
        scene.add(body)
    return scene


def remarks(scene, law=None):
    return carom.Simulator(scene, law or carom.StrongeCoulomb()).trajectory.remarks


def test_a_floor_that_takes_restitution_away_is_said_once():
    assert remarks(ball_on()) == [LOST]
    assert remarks(ball_on(count=5)) == [LOST]
    run = carom.Simulator(ball_on(), carom.StrongeCoulomb()).run(0.5)
    assert run.remarks == [LOST]
    assert run.status is carom.RunStatus.AT_REST  # that is what it is about: the ball does not bounce


def test_it_is_said_of_the_body_that_has_none_whichever_that_is():
    [said] = remarks(ball_on(floor=BOUNCY, ball=DEAD))
    assert said.startswith("the restitution 0.8 of 'floor' has no effect on 'ball', whose own is 0")


def test_restitution_that_falls_with_speed_is_lost_too():
    falls = carom.Material(restitution=carom.SpeedRestitution(0.8, speed=0.5))
    assert remarks(ball_on(ball=falls)) == [LOST]
    assert remarks(ball_on(ball=falls, floor=falls)) == []


def test_nothing_is_said_where_nothing_is_lost():
    assert remarks(ball_on(floor=BOUNCY)) == []
    assert remarks(ball_on(ball=DEAD)) == []
    scene = ball_on()
    scene.set_pair_material("ball", "floor", DEAD)
    assert remarks(scene) == []
    scene = ball_on()
    scene.disable_collision("ball", "floor")
    assert remarks(scene) == []
    assert remarks(ball_on(sensor=True)) == []
    assert remarks(ball_on(collision_group=2, collision_mask=2)) == []
    two_fixed = carom.Scene()
    two_fixed.add(carom.Body(carom.HalfSpace((0, 0, 1)), fixed=True))
    two_fixed.add(carom.Body(carom.Sphere(0.1), fixed=True, position=(0, 0, 1), material=BOUNCY))
    two_fixed.add(carom.Body(carom.Sphere(0.1), density=1.0, position=(0, 0, 3)))
    two_fixed.disable_collision(1, 2)
    assert remarks(two_fixed) == []


def test_one_pair_of_many_is_found_behind_those_that_are_settled():
    scene = ball_on(count=4)
    for k in range(3):
        scene.set_pair_material("floor", f"ball{k or ''}", BOUNCY)
    assert [said[:40] for said in remarks(scene)] == ["the restitution 0.8 of 'ball3' has no ef"]
    scene.disable_collision("floor", "ball3")
    assert remarks(scene) == []


def test_a_law_without_restitution_says_nothing_of_it():
    law = next(
        law
        for law in (carom.SetValuedRouth(step=0.1), carom.AnitescuPotra(), carom.SequentialLCP())
        if not law.honours_restitution
    )
    assert not any("no effect" in said for said in remarks(ball_on(), law))


def hinged(drive, count=1):
    scene = carom.Scene()
    for k in range(count):
        body = carom.Body(carom.Box((1, 0.1, 0.1)), density=1000.0, position=(0, k, 0), name=f"arm{k}")
        scene.add(body)
        scene.add_joint(
            carom.RevoluteJoint(f"arm{k}", anchor=(0, k, 0), axis=(0, 1, 0), drive=drive, name=f"hinge{k}")
        )
    return scene


@pytest.mark.parametrize(
    ("drive", "words"),
    [
        (carom.Drive(rate=3.0), "has a rate without effect, since its damping is 0"),
        (carom.Drive(rate=3.0, stiffness=1.0), "has a rate without effect, since its damping is 0"),
        (carom.Drive(target=0.3, damping=1.0), "has a target without effect, since its stiffness is 0"),
        (carom.Drive(limit=5.0), "has a limit and no stiffness, damping or effort that it could limit"),
    ],
)
def test_a_drive_that_asks_for_what_it_has_no_means_for(drive, words):
    assert remarks(hinged(drive)) == [f"the drive of joint 'hinge0' {words}"]
    assert remarks(hinged(drive, 3)) == [f"the drive of joint 'hinge0' and of 2 more {words}"]


def test_such_a_drive_moves_nothing():
    asked, held = (
        carom.Simulator(hinged(drive), carom.StrongeCoulomb())
        for drive in (carom.Drive(rate=3.0), carom.Drive(rate=3.0, damping=50.0))
    )
    assert asked.run(0.1).rest_time == 0.0
    assert held.run(0.1).sample(0.1).angular_velocity[0, 1] > 0.1


@pytest.mark.parametrize(
    "drive",
    [
        carom.Drive(),
        carom.Drive(rate=3.0, damping=1.0),
        carom.Drive(effort=1.0, limit=3.0),
        carom.Drive(target=0.3, stiffness=1.0, limit=math.inf),
    ],
)
def test_a_drive_that_does_what_it_says_is_not_remarked(drive):
    assert remarks(hinged(drive)) == []


def test_remarks_are_kept_in_a_recording(tmp_path):
    path = carom.Simulator(ball_on(), carom.StrongeCoulomb()).run(0.1).save(tmp_path / "run.h5")
    assert carom.Trajectory.load(path).remarks == [LOST]
