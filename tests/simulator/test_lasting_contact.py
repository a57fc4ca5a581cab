"""Bodies that stay in contact: kinematics against finite differences, motion against closed forms."""

import math

import numpy as np
import pytest

import carom
from carom.simulator import kernels
from carom.simulator.contact import contact_kernels

GRAVITY = 9.81


def random_states(rng, bodies):
    states = rng.normal(size=(bodies, 13))
    states[:, 3:7] /= np.linalg.norm(states[:, 3:7], axis=1)[:, None]
    return states


def random_contacts(rng, bodies, count):
    """Contacts of every kind: a point on a fixed face, a point on a moving face, two round bodies."""
    ends = np.zeros((count, 3), dtype=np.int64)
    geometry = rng.normal(size=(count, 14))
    for c in range(count):
        ends[c] = [(0, -1, 0), (0, 1, 0), (1, 0, 1)][c % 3]
        n, t = rng.normal(size=(2, 3))
        n /= np.linalg.norm(n)
        t -= (t @ n) * n
        geometry[c, 4:7], geometry[c, 7:10] = n, t / np.linalg.norm(t)
        geometry[c, [3, 13]] = rng.uniform(0.01, 0.1, 2)
    return ends, geometry


def moved(states, speed, span):
    """States after a short time at constant world velocity and angular velocity `speed` (m, 6)."""
    result = states.copy()
    for k, (linear, angular) in enumerate(zip(speed[:, :3], speed[:, 3:], strict=True)):
        result[k, :3] += span * linear
        angle = span * np.linalg.norm(angular)
        axis = angular / np.linalg.norm(angular)
        w, v = math.cos(angle / 2), math.sin(angle / 2) * axis
        q = states[k, 3:7]
        result[k, 3:7] = [w * q[0] - v @ q[1:], *(w * q[1:] + q[0] * v + np.cross(v, q[1:]))]
        R = kernels.rotation_matrix(result[k, 3:7])
        result[k, 7:10], result[k, 10:13] = linear, R.T @ angular
    return result


@pytest.mark.parametrize("seed", range(5))
def test_contact_rows_agree_with_finite_differences(seed):
    rng = np.random.default_rng(seed)
    states = random_states(rng, 2)
    ends, geometry = random_contacts(rng, 2, 6)
    speed = rng.normal(size=(2, 6))
    states = moved(states, speed, 0.0)
    J, bias, u, _ = contact_kernels.contact_rows(states, ends, geometry)
    np.testing.assert_allclose(J @ speed.ravel(), u, atol=1e-13)
    h = 1e-5
    ahead = contact_kernels.contact_rows(moved(states, speed, h), ends, geometry)
    behind = contact_kernels.contact_rows(moved(states, speed, -h), ends, geometry)
    np.testing.assert_allclose((ahead[3] - behind[3]) / (2 * h), u[0::3], atol=1e-8)
    pressed = ~ends[:, 2].astype(bool)  # of round pairs only the normal row keeps its direction by parallels
    rows = np.repeat(pressed, 3) | (np.arange(len(u)) % 3 == 0)
    change = (ahead[2] - behind[2]) / (2 * h)
    np.testing.assert_allclose(change[rows], bias[rows], atol=1e-7)


@pytest.mark.parametrize("seed", range(20))
def test_least_norm_solution_is_the_pseudoinverse(seed):
    rng = np.random.default_rng(seed)
    size = int(rng.integers(1, 9))
    rank = int(rng.integers(1, size + 1))
    G = rng.normal(size=(size, rank)) @ rng.normal(size=(rank, size))
    b = G @ rng.normal(size=size)
    x, unique = contact_kernels.least_norm_solution(G, b)
    assert unique == (rank == size)
    np.testing.assert_allclose(x, np.linalg.pinv(G, rcond=1e-11) @ b, rtol=1e-6, atol=1e-9)


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
    assert sticks[0] == pytest.approx(rolling, abs=2e-7)
    late = trajectory.sample(2.0)
    np.testing.assert_allclose(late.velocity[1], [5 / 7 * speed, 0, 0], atol=1e-6)
    np.testing.assert_allclose(late.angular_velocity[1], [0, 5 / 7 * speed / 0.1, 0], atol=1e-5)


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
    assert trajectory.rest_time == pytest.approx(speed / (friction * GRAVITY), abs=1e-6)
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
