"""The engine against closed forms: bounces, chains of spheres, a free top, and how a cube lands."""

import math

import numpy as np
import pytest

from carom import (
    AnitescuPotra,
    Body,
    Box,
    HalfSpace,
    Material,
    RunStatus,
    Scene,
    SequentialReflection,
    Simulator,
    Sphere,
    StrongeCoulomb,
)

GRAVITY = 9.81


def floor(material):
    return Body(HalfSpace((0.0, 0.0, 1.0)), fixed=True, material=material, name="floor")


def quaternion(axis, angle):
    axis = np.asarray(axis, dtype=float)
    axis = axis / np.linalg.norm(axis)
    return np.concatenate([[math.cos(angle / 2)], math.sin(angle / 2) * axis])


@pytest.fixture(scope="module")
def bounces():
    material = Material(friction=0.0, restitution=0.8)
    scene = Scene()
    scene.add(floor(material))
    scene.add(Body(Sphere(0.1), density=1000.0, position=(0, 0, 1.1), material=material, name="ball"))
    return Simulator(scene, law=SequentialReflection()).run(5.0)


def test_bouncing_ball_hits_at_the_times_of_the_geometric_series(bounces):
    fall = math.sqrt(2.0 / GRAVITY)
    expected = [fall]
    for k in range(1, 20):
        expected.append(expected[-1] + 2.0 * fall * 0.8**k)
    times = [event.time for event in bounces.events if event.kind == "impact"][:20]
    np.testing.assert_allclose(times, expected, rtol=1e-10, atol=0)


def test_bouncing_ball_rests_when_its_infinitely_many_bounces_are_over(bounces):
    assert bounces.status is RunStatus.AT_REST
    assert bounces.rest_time == pytest.approx(4.063712768871579, abs=1e-8)
    at_rest = bounces.sample(bounces.end_time)
    assert not at_rest.velocity.any()
    assert at_rest.position[1, 2] == pytest.approx(0.1, abs=1e-9)


def test_bouncing_ball_never_enters_the_floor(bounces):
    times = np.concatenate(
        [np.linspace(0.0, bounces.end_time, 4001), [event.time for event in bounces.events]]
    )
    for side in ("left", "right"):
        gap = bounces.sample(times, side=side).position[:, 1, 2] - 0.1
        assert gap.min() >= -1e-12


@pytest.mark.parametrize("count", [3, 5])
def test_newtons_cradle_hands_the_velocity_to_the_last_sphere(count):
    material = Material(friction=0.0, restitution=1.0)
    scene = Scene(gravity=(0, 0, 0))
    for k in range(count):
        scene.add(
            Body(
                Sphere(0.05),
                mass=0.3,
                position=(0.1 * k - (0.2 if k == 0 else 0.0), 0, 0),
                velocity=(1.0 if k == 0 else 0.0, 0, 0),
                material=material,
            )
        )
    trajectory = Simulator(scene, law=SequentialReflection()).run(1.0)
    assert len(trajectory.events) == 1
    assert trajectory.events[0].time == pytest.approx(0.2, abs=1e-12)
    velocity = trajectory.events[0].after.velocity
    expected = np.zeros((count, 3))
    expected[-1, 0] = 1.0
    np.testing.assert_allclose(velocity, expected, rtol=0, atol=1e-12)
    assert 0.3 * velocity[:, 0].sum() == pytest.approx(0.3, rel=1e-13)
    assert 0.15 * (velocity**2).sum() == pytest.approx(0.15, rel=1e-13)


def test_free_asymmetric_top_keeps_energy_and_angular_momentum_over_100_rotations():
    scene = Scene(gravity=(0, 0, 0))
    speed = 2 * math.pi
    top = scene.add(
        Body(
            Box((0.1, 0.2, 0.3)),
            density=1000.0,
            orientation=quaternion((1, 2, -1), 0.7),
            angular_velocity=(0.0, 0.0, 0.0),
        )
    )
    inertia = top.inertia
    scene = Scene(gravity=(0, 0, 0))
    turn = _matrix(quaternion((1, 2, -1), 0.7))
    spin = turn @ np.array([1e-3, speed, 2e-3])  # y is the middle axis, about which rotation is unstable
    scene.add(
        Body(
            Box((0.1, 0.2, 0.3)),
            density=1000.0,
            orientation=quaternion((1, 2, -1), 0.7),
            angular_velocity=spin,
        )
    )
    sim = Simulator(scene, law=AnitescuPotra())
    trajectory = sim.run(100.0, stop_at_rest=False)
    assert not trajectory.events
    sampled = trajectory.sample(np.linspace(0.0, 100.0, 500))
    momentum, energy, tipped = [], [], []
    for q, w in zip(sampled.orientation[:, 0], sampled.angular_velocity[:, 0], strict=True):
        R = _matrix(q)
        world = R @ inertia @ R.T @ w
        momentum.append(world)
        energy.append(0.5 * w @ world)
        tipped.append((R.T @ w)[1])
    momentum, energy = np.array(momentum), np.array(energy)
    assert np.abs(energy / energy[0] - 1).max() <= 1e-12
    assert np.linalg.norm(momentum - momentum[0], axis=1).max() <= 1e-12 * np.linalg.norm(momentum[0])
    assert min(tipped) < -0.9 * speed  # it did tumble over
    assert np.abs(np.linalg.norm(sampled.orientation, axis=-1) - 1).max() <= 1e-15 * 4


def _matrix(q):
    w, x, y, z = q
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


LANDINGS = {
    "face": ((1.0, 0.0, 0.0, 0.0), 0.1, 4),
    "edge": (quaternion((1, 0, 0), math.pi / 4), 0.1 * math.sqrt(2), 2),
    "corner": (quaternion((1, -1, 0), math.atan(math.sqrt(2))), 0.1 * math.sqrt(3), 1),
}


@pytest.mark.parametrize("landing", LANDINGS)
def test_cube_lands_with_all_its_contacts_in_one_event(landing):
    orientation, reach, contacts = LANDINGS[landing]
    material = Material(friction=0.3, restitution=0.0)
    scene = Scene()
    scene.add(floor(material))
    scene.add(
        Body(
            Box((0.2, 0.2, 0.2)),
            density=1000.0,
            position=(0, 0, 1 + reach),
            orientation=orientation,
            material=material,
        )
    )
    event = Simulator(scene, law=AnitescuPotra()).step_event()
    assert event.kind == "impact"
    assert len(event.contacts) == contacts
    assert event.time == pytest.approx(math.sqrt(2 / GRAVITY), rel=1e-12)
    assert np.abs(event.contacts.gap).max() <= 1e-12
    np.testing.assert_allclose(event.contacts.normal, np.tile([0.0, 0.0, 1.0], (contacts, 1)), atol=1e-14)


def two_boxes(turn, upper_position, height):
    scene = Scene()
    scene.add(Body(Box((0.2, 0.2, 0.2)), fixed=True, name="lower", orientation=turn[0]))
    scene.add(
        Body(
            Box((0.2, 0.2, 0.2)),
            density=500.0,
            position=(*upper_position, height),
            orientation=turn[1],
            name="upper",
        )
    )
    return Simulator(scene, law=AnitescuPotra())


def test_box_lands_on_the_face_of_a_box_with_four_contacts_at_the_overlap():
    upright = (1.0, 0.0, 0.0, 0.0)
    event = two_boxes((upright, upright), (0.05, 0.02), 0.2 + 0.5).step_event()
    assert event.time == pytest.approx(math.sqrt(1 / GRAVITY), rel=1e-12)
    found = sorted(map(tuple, np.round(event.contacts.point, 9).tolist()))
    assert found == [(-0.05, -0.08, 0.1), (-0.05, 0.1, 0.1), (0.1, -0.08, 0.1), (0.1, 0.1, 0.1)]


def test_crossed_boxes_meet_edge_on_edge_with_one_contact():
    along_x = quaternion((1, 0, 0), math.pi / 4)
    along_y = quaternion((0, 1, 0), math.pi / 4)
    event = two_boxes((along_x, along_y), (0.02, 0.03), 0.2 * math.sqrt(2) + 0.5).step_event()
    assert event.time == pytest.approx(math.sqrt(1 / GRAVITY), rel=1e-12)
    assert len(event.contacts) == 1
    np.testing.assert_allclose(event.contacts.point[0], (0.02, 0.0, 0.1 * math.sqrt(2)), atol=1e-9)
    assert abs(event.contacts.normal[0, 2]) == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("restitution", [0.1, 0.3, 0.5, 0.7, 0.9, 0.95, 0.99])
def test_infinitely_many_bounces_end_at_the_sum_of_their_series(restitution):
    """Two balls from different heights, which come to rest at different times in one scene."""
    scene = Scene()
    material = Material(friction=0.3, restitution=restitution)
    scene.add(Body(HalfSpace((0, 0, 1)), fixed=True, material=material))
    for x, height in ((0.0, 1.0), (3.0, 0.4)):
        scene.add(Body(Sphere(0.1), mass=1.0, position=(x, 0, 0.1 + height), material=material))
    trajectory = Simulator(scene, StrongeCoulomb()).run(150.0)
    ends = [math.sqrt(2 * h / 9.81) * (1 + restitution) / (1 - restitution) for h in (1.0, 0.4)]
    assert trajectory.rest_time == pytest.approx(ends[0], abs=1e-8)
    noted = [event for event in trajectory.events if "accumulate" in event.note]
    assert [float(event.note.split("=")[1].split()[0]) for event in noted] == pytest.approx(
        ends[::-1], abs=1e-8
    )
    onward = Simulator(scene, StrongeCoulomb()).run(ends[0] + 1.0, stop_at_rest=False)
    assert onward.rest_time == trajectory.rest_time
    ledger = trajectory.ledger(trajectory.end_time)
    assert ledger.impacts + ledger.closing == pytest.approx(-9.81 * 1.4, abs=1e-8)
