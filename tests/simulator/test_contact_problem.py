"""Impact problems without a run: of two bodies at given points, by hand and as the engine asks them."""

import doctest
import importlib

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.transform import Rotation

import carom


def thrown_box(seed, **fields):
    random = np.random.default_rng(seed)
    x, y, z, w = Rotation.random(rng=random).as_quat()
    return carom.Body(
        carom.Box((0.2, 0.3, 0.5)),
        density=800.0,
        orientation=(w, x, y, z),
        velocity=random.normal(size=3),
        angular_velocity=random.normal(size=3),
        material=carom.Material(friction=0.4, restitution=0.3),
        **fields,
    )


@pytest.mark.parametrize("seed", range(4))
def test_two_bodies_by_hand(seed):
    """W = J M⁻¹ Jᵀ and u of two points of two boxes, with inertia and spin turned into the world by scipy."""
    random = np.random.default_rng(seed + 100)
    first, second = thrown_box(seed, position=(0, 0, 0.4)), thrown_box(seed + 50, position=(0.1, 0, -0.3))
    points, normals = random.normal(size=(2, 2, 3))
    problem = carom.contact_problem(first, second, points, normals, friction=[0.1, 0.2])
    assert problem.contact_names == (("box-0", "box-1"),) * 2
    assert_allclose(problem.friction, [0.1, 0.2])
    assert_allclose(problem.restitution, 0.3)
    rows, inverse, motion = np.zeros((6, 12)), np.zeros((12, 12)), []
    for k, (body, sign) in enumerate(((first, 1.0), (second, -1.0))):
        w, x, y, z = body.orientation
        turn = Rotation.from_quat([x, y, z, w]).as_matrix()
        inverse[6 * k : 6 * k + 3, 6 * k : 6 * k + 3] = np.eye(3) / body.mass
        inverse[6 * k + 3 : 6 * k + 6, 6 * k + 3 : 6 * k + 6] = np.linalg.inv(turn @ body.inertia @ turn.T)
        motion.append(np.concatenate([body.velocity, body.angular_velocity]))
        for c in range(2):
            n = normals[c] / np.linalg.norm(normals[c])
            t = np.eye(3)[np.argmin(np.abs(n))]
            t = (t - (t @ n) * n) / np.linalg.norm(t - (t @ n) * n)
            for r, axis in enumerate((n, t, np.cross(n, t))):
                arm = points[c] - body.position
                rows[3 * c + r, 6 * k : 6 * k + 6] = sign * np.concatenate([axis, np.cross(arm, axis)])
    assert_allclose(problem.u, rows @ np.concatenate(motion), atol=1e-12)
    assert_allclose(problem.W, rows @ inverse @ rows.T, rtol=1e-12, atol=1e-12)


def test_what_the_engine_asks_is_what_two_bodies_give():
    scene = carom.Scene()
    floor = carom.Body(carom.HalfSpace((0, 0, 1)), fixed=True, material=carom.Material(friction=0.2))
    scene.add(floor)
    scene.add(thrown_box(3, position=(0, 0, 1.0)))
    simulator = carom.Simulator(scene, carom.StrongeCoulomb())
    simulator.run(2.0)
    events = [event for event in simulator.trajectory.events if event.problem is not None][:5]
    assert len(events) == 5
    for event in events:
        before, patch = event.before, event.contacts
        body = carom.Body(
            carom.Box((0.2, 0.3, 0.5)),
            density=800.0,
            position=before.position[1],
            orientation=before.orientation[1],
            velocity=before.velocity[1],
            angular_velocity=before.angular_velocity[1],
            material=scene.bodies[1].material,
        )
        problem = carom.contact_problem(body, floor, patch.point, patch.normal)
        assert_allclose(problem.W, event.problem.W, rtol=1e-9, atol=1e-9)
        assert_allclose(problem.u, event.problem.u, atol=1e-12)
        assert_allclose(problem.friction, event.problem.friction)
        assert_allclose(problem.restitution, event.problem.restitution)


def test_the_example_and_the_ball_of_a_scene():
    ball = carom.Body(carom.Sphere(0.1), mass=2.0, position=(0, 0, 0.1), velocity=(1, 0, -3))
    problem = carom.contact_problem(ball, None, (0, 0, 0), (0, 0, 2.0), friction=0.3, restitution=0.5)
    assert_allclose(problem.u, [-3.0, 1.0, 0.0])
    assert problem.contact_names == (("sphere-0", "world"),)
    scene = carom.Scene()
    scene.add(ball)
    scene.add(carom.Body(carom.HalfSpace((0, 0, 1)), fixed=True))
    assert_allclose(carom.contact_problem(scene).W, problem.W, rtol=1e-14)
    outcome = carom.StrongeCoulomb().resolve(problem)
    assert_allclose(problem.generalized_velocity(outcome)[2], 1.5, rtol=1e-12)


def test_example_of_the_docstring():
    module = importlib.import_module("carom.simulator.contact_problem")
    assert doctest.testmod(module, extraglobs={"carom": carom}) == (0, 3)


FIXED = carom.Body(carom.Sphere(1.0), fixed=True)
BALL = carom.Body(carom.Sphere(1.0), mass=1.0)


@pytest.mark.parametrize(
    ("arguments", "options", "error", "words"),
    [
        ((3,), {}, TypeError, "first: expected a Scene or a Body, got int"),
        ((BALL, 3, (0, 0, 0), (0, 0, 1)), {}, TypeError, "second: expected a Body or None, got int"),
        ((BALL,), {}, TypeError, "point: expected"),
        ((BALL, None, (0, 0, 0)), {}, TypeError, "normal: expected"),
        ((BALL, None, (0, 0), (0, 0, 1)), {}, ValueError, "point: expected shape"),
        ((BALL, None, (0, 0, np.nan), (0, 0, 1)), {}, ValueError, "point: expected finite numbers"),
        ((BALL, None, [(0, 0, 0), (0, 1)], (0, 0, 1)), {}, ValueError, "point: expected numbers of shape"),
        ((BALL, None, (0, 0, 0), (0, 0, 0)), {}, ValueError, "normal: expected a direction, got the zero vector"),
        ((BALL, None, np.zeros((3, 3)), np.ones((2, 3))), {}, ValueError, "normal: expected one, or one for"),
        ((BALL, None, (0, 0, 0), (0, 0, 1)), {"friction": -1.0}, ValueError, "friction must be at least 0"),
        ((BALL, None, (0, 0, 0), (0, 0, 1)), {"restitution": 2.0}, ValueError, "restitution must lie within"),
        ((FIXED, None, (0, 0, 0), (0, 0, 1)), {}, ValueError, "expected a body that can move"),
        ((carom.Scene(), BALL), {}, TypeError, "expected of a scene no other arguments"),
    ],
)  # fmt: skip
def test_bad_arguments_are_named(arguments, options, error, words):
    with pytest.raises(error, match=words):
        carom.contact_problem(*arguments, **options)
