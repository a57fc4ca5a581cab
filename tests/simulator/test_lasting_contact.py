"""Bodies that stay in contact: motion against closed forms."""

import math

import numpy as np
import pytest

import carom

from .benchmark_modules import benchmark, needs_benchmarks

GRAVITY = 9.81


def scene_with_floor(friction, tilt=0.0):
    material = carom.Material(friction=friction, restitution=0.0)
    scene = carom.Scene(gravity=(GRAVITY * math.sin(tilt), 0.0, -GRAVITY * math.cos(tilt)))
    scene.add(carom.Body(carom.HalfSpace(normal=(0, 0, 1)), fixed=True, name="floor", material=material))
    return scene, material


@pytest.mark.parametrize("speed", [0.3, 1.0, 4.0])
def test_a_slipping_sphere_starts_to_roll(speed):
    friction = 0.2
    scene, material = scene_with_floor(friction)
    scene.add(
        carom.Body(
            carom.Sphere(0.1), density=500.0, position=(0, 0, 0.1), velocity=(speed, 0, 0), material=material
        )
    )
    simulator = carom.Simulator(scene, carom.AnitescuPotra())
    trajectory = simulator.run(2.0)
    rolling = 2 * speed / (7 * friction * GRAVITY)
    sticks = [event.time for event in trajectory.events if event.kind == "stick"]
    assert sticks[0] == pytest.approx(rolling, abs=1e-12)
    late = trajectory.sample(2.0)
    np.testing.assert_allclose(late.velocity[1], [5 / 7 * speed, 0, 0], atol=1e-10)
    np.testing.assert_allclose(late.angular_velocity[1], [0, 5 / 7 * speed / 0.1, 0], atol=1e-9)


@pytest.mark.parametrize("tilt", [0.02, 0.1, 0.14])
@pytest.mark.parametrize("heading", [0.5, 2.0, 4.0])
def test_a_ball_on_an_incline_starts_to_roll_after_slip_that_turns(tilt, heading):
    """Of slip u' = b - a u/|u|, |u| (a + b cos φ) falls at the rate a² - b², φ its angle to b."""
    friction, radius = 0.25, 0.1
    scene, material = scene_with_floor(friction, tilt)
    velocity, spin = np.array([math.cos(heading), math.sin(heading), 0.0]), np.array([3.0, -8.0, 2.0])
    scene.add(
        carom.Body(
            carom.Sphere(radius), density=500.0, position=(0, 0, radius), velocity=velocity, angular_velocity=spin,
            material=material,
        )
    )  # fmt: skip
    trajectory = carom.Simulator(scene, carom.MaximumDissipation()).run(3.0)
    slip = velocity + np.cross(spin, (0.0, 0.0, -radius))
    slowing, pull = 3.5 * friction * GRAVITY * math.cos(tilt), GRAVITY * math.sin(tilt)
    rolling = (np.linalg.norm(slip) * slowing + pull * slip[0]) / (slowing**2 - pull**2)
    sticks = [event.time for event in trajectory.events if event.kind == "stick"]
    assert sticks[0] == pytest.approx(rolling, abs=1e-11)


@needs_benchmarks
def test_slides_stop_when_their_own_equations_say():
    """Prisms on three points that slide and turn, corners that slide, balls: beside DOP853."""
    rows = list(benchmark("guarantees").slides(12))[:-1]
    assert {row["kind"] for row in rows} == {"ball", "prism", "corner"}
    for row in rows:
        assert row["error"] < 1e-10, row


@pytest.mark.parametrize("angle", [0.0, 0.7])
def test_a_sliding_box_stops_at_the_analytic_place(angle):
    friction, speed = 0.3, 2.0
    scene, material = scene_with_floor(friction)
    direction = np.array([math.cos(angle), math.sin(angle), 0.0])
    scene.add(
        carom.Body(
            carom.Box((1.0, 1.0, 0.2)), density=100.0, position=(0, 0, 0.1), velocity=speed * direction,
            material=material,
        )
    )  # fmt: skip
    trajectory = carom.Simulator(scene, carom.AnitescuPotra()).run(3.0)
    assert trajectory.status.value == "at_rest"
    assert trajectory.rest_time == pytest.approx(speed / (friction * GRAVITY), abs=1e-11)
    way = trajectory.sample(trajectory.end_time).position[1] - [0, 0, 0.1]
    np.testing.assert_allclose(way, speed**2 / (2 * friction * GRAVITY) * direction, atol=1e-9)


@pytest.mark.parametrize(("excess", "rests"), [(-1e-3, True), (1e-3, False)])
def test_a_box_on_an_incline_slides_only_beyond_the_friction_angle(excess, rests):
    friction = 0.4
    tilt = math.atan(friction) + excess
    scene, material = scene_with_floor(friction, tilt)
    scene.add(carom.Body(carom.Box((1.0, 1.0, 0.2)), density=100.0, position=(0, 0, 0.1), material=material))
    trajectory = carom.Simulator(scene, carom.AnitescuPotra()).run(1.0)
    way = trajectory.sample(trajectory.end_time).position[1, 0]
    if rests:
        assert trajectory.status.value == "at_rest"
        assert way == 0.0
    else:
        pull = GRAVITY * (math.sin(tilt) - friction * math.cos(tilt))
        assert way == pytest.approx(0.5 * pull, abs=1e-7)
