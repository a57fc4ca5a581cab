"""The first time of impact against a slow reference that shares nothing with the engine.

Free rotation is integrated by scipy's DOP853, gaps come from textbook formulas, or for two boxes from a
linear programme; the gap is sampled densely and its first zero refined by Brent's method.
"""

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq, linprog
from scipy.spatial.transform import Rotation

from carom import Body, Box, Capsule, HalfSpace, Material, Scene, SequentialReflection, Simulator, Sphere

AGREEMENT = 1e-12  # s, of impacts within 1 s; DOP853 at rtol 1e-13 is no better
GRAVITIES = {"no gravity": (0.0, 0.0, 0.0), "gravity": (0.0, 0.0, -9.81)}
MATERIAL = Material(friction=0.0, restitution=0.5)

gravities = pytest.mark.parametrize("gravity", GRAVITIES.values(), ids=GRAVITIES)


def body(shape, **motion):
    return Body(shape, density=700.0, material=MATERIAL, **motion)


def floor():
    return Body(HalfSpace((0.0, 0.0, 1.0)), fixed=True, material=MATERIAL)


def scene_of(gravity, *bodies):
    scene = Scene(gravity=gravity)
    for one in bodies:
        scene.add(one)
    return scene


def first_event(gravity, *bodies):
    return Simulator(scene_of(gravity, *bodies), law=SequentialReflection()).step_event()


def turned(random):
    orientation = random.standard_normal(4)
    return orientation / np.linalg.norm(orientation)


def direction(random):
    axis = random.standard_normal(3)
    return axis / np.linalg.norm(axis)


class FreeMotion:
    """Position and rotation matrix of a body in free flight."""

    def __init__(self, body, gravity, end):
        self.body, self.gravity = body, np.array(gravity)
        w, x, y, z = body.orientation
        start = Rotation.from_quat([x, y, z, w]).as_matrix()
        inertia = body.inertia

        def rate(_, y):
            turn, spin = y[:9].reshape(3, 3), y[9:]
            spun = np.cross(np.eye(3), spin)  # rows e_i x spin
            return np.concatenate(
                [(turn @ -spun.T).ravel(), np.linalg.solve(inertia, np.cross(inertia @ spin, spin))]
            )

        self.turn = None
        if body.fixed or not body.angular_velocity.any():
            self.still = start
            return
        self.turn = solve_ivp(
            rate,
            (0.0, end),
            np.concatenate([start.ravel(), start.T @ body.angular_velocity]),
            method="DOP853",
            rtol=1e-13,
            atol=1e-15,
            max_step=0.05 / np.linalg.norm(body.angular_velocity),  # dense output is of order 7 only
            dense_output=True,
        ).sol

    def __call__(self, t):
        body = self.body
        rotation = self.still if self.turn is None else self.turn(t)[:9].reshape(3, 3)
        pull = 0.0 if body.fixed else 0.5 * t * t * self.gravity
        return body.position + t * body.velocity + pull, rotation


def first_zero(gap, end, samples=400):
    """First zero of a gap that is positive at the start."""
    times = np.linspace(0.0, end, samples)
    for early, late in pairwise(times):
        if gap(late) <= 0.0:
            return brentq(gap, early, late, xtol=1e-14, rtol=4 * np.finfo(float).eps)
    raise AssertionError(f"no impact before {end} s")


def corners(box):
    signs = np.array(np.meshgrid(*[(-0.5, 0.5)] * 3)).reshape(3, 8).T
    return signs * np.array(box.lengths)


def lowest_point(motion):
    shape = motion.body.shape
    if isinstance(shape, Box):
        points, radius = corners(shape), 0.0
    else:
        points, radius = np.array([[0, 0, -0.5], [0, 0, 0.5]]) * shape.length, shape.radius

    def gap(t):
        position, rotation = motion(t)
        return position[2] + (points @ rotation[2]).min() - radius

    return gap


def sphere_to_box(sphere, box):
    half = 0.5 * np.array(box.body.shape.lengths)

    def gap(t):
        position, rotation = box(t)
        local = rotation.T @ (sphere(t)[0] - position)
        return np.linalg.norm(local - np.clip(local, -half, half)) - sphere.body.shape.radius

    return gap


def box_to_box(first, second):
    """Least scale about their own centres at which the boxes touch, less 1: a linear programme."""

    def gap(t):
        rows, bounds = [], []
        for motion in (first, second):
            position, rotation = motion(t)
            half = 0.5 * np.array(motion.body.shape.lengths)
            for sign in (1.0, -1.0):
                rows.append(np.column_stack([sign * rotation.T / half[:, None], -np.ones(3)]))
                bounds.append(sign * rotation.T @ position / half)
        found = linprog(
            (0, 0, 0, 1),
            np.concatenate(rows),
            np.concatenate(bounds),
            bounds=[(None, None)] * 3 + [(0, None)],
        )
        assert found.success
        return found.x[3] - 1.0

    return gap


def tumbling(shape, random, gravity, height):
    """Falls from `height`, turning at up to 8 rad/s in any direction."""
    return body(
        shape,
        position=(0.0, 0.0, height),
        orientation=turned(random),
        velocity=(*random.uniform(-1, 1, 2), 0.5 if any(gravity) else -1.5),
        angular_velocity=random.uniform(2, 8) * direction(random),
    )


@gravities
@pytest.mark.parametrize("seed", range(6))
def test_tumbling_box_meets_the_floor_when_its_lowest_corner_does(gravity, seed):
    random = np.random.default_rng(seed)
    box = tumbling(Box(random.uniform(0.05, 0.4, 3)), random, gravity, 0.8)
    event = first_event(gravity, floor(), box)
    assert event.time == pytest.approx(
        first_zero(lowest_point(FreeMotion(box, gravity, 1.0)), 1.0), abs=AGREEMENT
    )
    assert abs(event.contacts.gap).max() <= 1e-13


@gravities
@pytest.mark.parametrize("seed", range(3))
def test_tumbling_capsule_meets_the_floor_when_its_lower_cap_does(gravity, seed):
    random = np.random.default_rng(100 + seed)
    capsule = tumbling(Capsule(0.04, 0.3), random, gravity, 0.8)
    event = first_event(gravity, floor(), capsule)
    assert event.time == pytest.approx(
        first_zero(lowest_point(FreeMotion(capsule, gravity, 1.0)), 1.0), abs=AGREEMENT
    )


@gravities
@pytest.mark.parametrize("seed", range(4))
def test_sphere_meets_a_tumbling_box(gravity, seed):
    random = np.random.default_rng(200 + seed)
    box = body(
        Box(random.uniform(0.1, 0.4, 3)),
        orientation=turned(random),
        angular_velocity=random.uniform(2, 8) * direction(random),
    )
    way = direction(random)
    ball = body(Sphere(0.07), position=0.8 * way, velocity=-2.0 * way + random.uniform(-0.1, 0.1, 3))
    gap = sphere_to_box(FreeMotion(ball, gravity, 0.5), FreeMotion(box, gravity, 0.5))
    event = first_event(gravity, ball, box)
    assert event.time == pytest.approx(first_zero(gap, 0.5), abs=AGREEMENT)


def touching_features(event, bodies):
    """Dimension of the feature of each box at the contact: 0 corner, 1 edge, 2 face."""
    found = []
    for k, one in enumerate(bodies):
        w, x, y, z = event.before.orientation[k]
        local = (
            Rotation.from_quat([x, y, z, w]).inv().apply(event.contacts.point[0] - event.before.position[k])
        )
        at_side = np.abs(np.abs(local) - 0.5 * np.array(one.shape.lengths)) < 1e-9
        found.append(3 - int(at_side.sum()))
    return sorted(found)


@gravities
@pytest.mark.parametrize("seed", range(8))
def test_two_tumbling_boxes_meet(gravity, seed):
    random = np.random.default_rng(300 + seed)
    way = direction(random)
    boxes = [
        body(
            Box(random.uniform(0.1, 0.3, 3) if seed % 2 else (0.2, 0.2, 0.2)),
            position=side * 0.5 * way,
            velocity=-side * way + random.uniform(-0.05, 0.05, 3),
            orientation=turned(random),
            angular_velocity=random.uniform(2, 8) * direction(random),
        )
        for side in (1, -1)
    ]
    event = first_event(gravity, *boxes)
    gap = box_to_box(*(FreeMotion(box, gravity, 0.5) for box in boxes))
    assert event.time == pytest.approx(first_zero(gap, 0.5, samples=150), abs=AGREEMENT)
    assert touching_features(event, boxes) == ([0, 2] if seed in (0, 1, 4) else [1, 1])


SPINNING = Box((0.1, 0.2, 0.3))


@pytest.mark.parametrize("angle", [0.0, 0.3], ids=["face", "edge"])
@pytest.mark.parametrize("spin", [0.0, 4.0])
def test_box_that_leaves_the_floor_it_starts_on_has_no_event_until_it_falls_back(angle, spin):
    gravity = GRAVITIES["gravity"]
    box = body(
        SPINNING,
        position=(0.0, 0.0, 0.05 * (2 * math.sin(angle) + 3 * math.cos(angle))),
        orientation=(math.cos(angle / 2), math.sin(angle / 2), 0.0, 0.0),
        velocity=(0.0, 0.0, 3.0),  # faster than any corner sinks by the spin
        angular_velocity=(0.0, spin, 0.3 * spin),
    )
    event = first_event(gravity, floor(), box)
    gap = lowest_point(FreeMotion(box, gravity, 1.0))
    assert abs(gap(0.0)) <= 1e-16
    assert event.time == pytest.approx(brentq(gap, 0.3, 0.7, xtol=1e-14), abs=AGREEMENT)
    assert all(gap(t) > 0.0 for t in np.linspace(1e-3, event.time - 1e-3, 200))


@gravities
def test_spheres_that_part_from_touch_have_no_event(gravity):
    parting = [body(Sphere(0.1), position=(0.1 * s, 0, 0), velocity=(0.2 * s, 0, 0)) for s in (-1, 1)]
    trajectory = Simulator(scene_of(gravity, *parting), law=SequentialReflection()).run(1.0)
    assert not trajectory.events


@gravities
def test_boxes_that_part_from_a_shared_face_have_no_event(gravity):
    parting = [body(SPINNING, position=(0.05 * s, 0.02 * s, 0), velocity=(0.1 * s, 0, 0)) for s in (-1, 1)]
    trajectory = Simulator(scene_of(gravity, *parting), law=SequentialReflection()).run(1.0)
    assert not trajectory.events


@gravities
@pytest.mark.parametrize("spin", [0.0, 5.0])
@pytest.mark.parametrize("speed", [50.0, 1000.0])
def test_fast_plate_does_not_pass_through_a_thin_one(gravity, spin, speed):
    plate = Box((0.5, 0.5, 0.001))  # at 1000 m/s it takes 2 us to pass
    fast = body(
        plate,
        position=(0.03, 0.02, 2.0),
        orientation=turned(np.random.default_rng(7)),
        velocity=(0.0, 0.0, -speed),
        angular_velocity=(spin, 0.5 * spin, -spin),
    )
    still = Body(plate, fixed=True, material=MATERIAL)
    event = first_event(gravity, fast, still)
    end = 2.0 / speed
    gap = box_to_box(FreeMotion(fast, gravity, end), FreeMotion(still, gravity, end))
    assert event.time == pytest.approx(first_zero(gap, end, samples=150), abs=AGREEMENT)


@pytest.mark.parametrize("speed", [50.0, 1000.0])
def test_fast_sphere_does_not_pass_through_a_thin_tumbling_plate(speed):
    gravity = GRAVITIES["gravity"]
    ball = body(Sphere(0.002), position=(0.05, 0.02, 2.0), velocity=(0, 0, -speed))
    plate = body(Box((0.5, 0.5, 0.001)), orientation=(0.8, 0.6, 0, 0), angular_velocity=(3, 2, 1))
    event = first_event(gravity, ball, plate)
    gap = sphere_to_box(FreeMotion(ball, gravity, 2.2 / speed), FreeMotion(plate, gravity, 2.2 / speed))
    samples = 2200  # 1 mm apart, the ball being 4 mm across
    assert event.time == pytest.approx(first_zero(gap, 2.2 / speed, samples), abs=AGREEMENT)
