"""Ellipsoids on half-spaces: distance, impact, lasting contact; what they do not meet yet."""

import math

import numpy as np
import pytest
from scipy.integrate import quad

import carom
from carom.bodies.rotation import rotation_matrices
from carom.simulator.collision.pairs import tangents_of
from carom.simulator.event import ContactPatch, Feature
from carom.simulator.state import Model

from .test_contact_kinds import check_rates_at, random_states, unit

GRAVITY = 9.81
FLOOR = carom.HalfSpace((0, 0, 1))


def random_body(rng, **more):
    return carom.Body(
        carom.Ellipsoid(rng.uniform(0.05, 0.4, 3), center=0.1 * rng.normal(size=3)),
        mass=2.0,
        inertia=np.diag([0.02, 0.03, 0.04]),
        orientation=unit(rng.normal(size=4)),
        **more,
    )


def on_floor(*bodies, friction=0.3):
    scene = carom.Scene(gravity=(0, 0, -GRAVITY))
    material = carom.Material(friction=friction, restitution=0.5)
    scene.add(carom.Body(FLOOR, fixed=True, material=material))
    for body in bodies:
        scene.add(body)
    return scene


def test_distance_to_a_half_space_is_that_of_its_lowest_point():
    """Against the lowest of very many points of its surface, and a point that lies on it."""
    rng = np.random.default_rng(3)
    for _ in range(20):
        body = random_body(rng, position=(*rng.normal(size=2), 2.0))
        plane = carom.HalfSpace(unit(rng.normal(size=3)), offset=rng.normal())
        found = carom.signed_distance(body, carom.Body(plane, fixed=True))
        rotation = rotation_matrices(body.orientation)
        sphere = rng.normal(size=(200_000, 3))
        sphere /= np.linalg.norm(sphere, axis=1)[:, None]
        points = (sphere * body.shape.semi_axes + body.shape.center) @ rotation.T + body.position
        sampled = (points @ plane.normal).min() - plane.offset
        assert found.gap <= sampled + 1e-14
        assert found.gap == pytest.approx(sampled, abs=1e-3)
        there = (found.points[0] - body.position) @ rotation - body.shape.center
        assert np.sum((there / body.shape.semi_axes) ** 2) == pytest.approx(1.0, abs=1e-13)
        np.testing.assert_allclose(found.points[0] - found.points[1], found.gap * plane.normal, atol=1e-14)


def test_a_spinning_ellipsoid_meets_the_floor_when_its_height_says_so():
    """Against bisection of the first sign change of the gap over dense times, in torque-free flight."""
    rng = np.random.default_rng(5)
    floor = carom.Body(FLOOR, fixed=True)
    for _ in range(6):
        body = random_body(
            rng,
            position=(0, 0, 1.0),
            velocity=(0, 0, rng.uniform(-1, 2)),
            angular_velocity=4 * rng.normal(size=3),
        )
        found = carom.time_of_impact(body, floor, 5.0, gravity=(0, 0, -GRAVITY))
        scene = carom.Scene(gravity=(0, 0, -GRAVITY))
        scene.add(body)
        flight = carom.Simulator(scene, carom.SequentialReflection()).run(1.5)

        def gap(time, body=body, flight=flight):
            state = flight.sample(time)
            normal = rotation_matrices(state.orientation[0])[2]
            axes = np.array(body.shape.semi_axes)
            return state.position[0, 2] + normal @ body.shape.center - np.linalg.norm(axes * normal)

        times = np.linspace(0, 1.5, 3001)
        after = next(k for k, t in enumerate(times) if gap(t) < 0)
        low, high = times[after - 1], times[after]
        for _ in range(50):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if gap(middle) > 0 else (low, middle)
        assert found.time == pytest.approx(high, abs=1e-12)
        assert found.contacts.feature.tolist() == [[Feature.ELLIPSOID, Feature.FACE]]


@pytest.mark.parametrize("fixed", [False, True])
def test_rows_and_bias_agree_with_finite_differences(fixed):
    rng = np.random.default_rng(11)
    for _ in range(5):
        scene = carom.Scene(gravity=(0, 0, 0))
        scene.add(random_body(rng))
        scene.add(carom.Body(carom.Sphere(0.1), density=1000.0, position=(3, 0, 0), fixed=fixed))
        model, states = Model.of_scene(scene), random_states(rng, 2)
        states[~model.movable, 7:13] = 0.0
        normal = unit(rng.normal(size=3))
        there = carom.Body(
            scene.bodies[0].shape, fixed=True, position=states[0, :3], orientation=states[0, 3:7]
        )
        plane = carom.Body(carom.HalfSpace(normal), fixed=True)
        point = carom.signed_distance(there, plane).points[0]
        tangent = tangents_of(normal[None])
        patch = ContactPatch(
            np.array([[0, 1]]), point[None], normal[None], tangent, np.cross(normal, tangent), np.zeros(1),
            np.array([[Feature.ELLIPSOID, Feature.FACE]]), np.zeros((1, 2), dtype=np.int64),
            np.zeros((1, 2, 3)), np.zeros((1, 2)),
        )  # fmt: skip
        check_rates_at(model, patch, states, rng)


def test_an_ellipsoid_with_equal_axes_moves_as_a_sphere():
    """Two of them, one in flight and one that slips, with bounces, slip and rolling."""

    def run(shape):
        common = {"density": 800.0, "material": carom.Material(friction=0.3, restitution=0.5)}
        common |= {"collision_group": 2, "collision_mask": 1}
        return carom.Simulator(
            on_floor(
                carom.Body(
                    shape, position=(0, 0, 0.5), velocity=(1, 0, 0), angular_velocity=(3, 1, 2), **common
                ),
                carom.Body(shape, position=(5, 0, 0.2), velocity=(0, 1, 0), **common),
            ),
            carom.StrongeCoulomb(),
        ).run(3.0)

    first, second = run(carom.Sphere(0.2)), run(carom.Ellipsoid((0.2, 0.2, 0.2)))
    assert [e.kind for e in first.events] == [e.kind for e in second.events]
    assert len(first.events) > 4
    np.testing.assert_allclose(
        [e.time for e in first.events], [e.time for e in second.events], rtol=0, atol=1e-9
    )
    for time in (0.3, 0.7, 1.5, 3.0):
        np.testing.assert_allclose(first.sample(time).packed(), second.sample(time).packed(), atol=1e-9)


@pytest.mark.parametrize("swing", [0.02, 0.5, 1.2])
def test_an_elliptic_rocker_has_the_period_of_its_quadrature(swing):
    """Rolling in a plane it is a pendulum: energy (I + m |r|²) θ'²/2 + m g h(θ) is kept."""
    a, c, mass = 0.3, 0.2, 1.7
    shape = carom.Ellipsoid((a, 0.25, c))
    inertia = mass * shape.unit_mass_inertia()

    def height(angle):
        return math.hypot(a * math.sin(angle), c * math.cos(angle))

    def arm(angle):  # distance of the lowest point from the middle, squared
        s, k = math.sin(angle), math.cos(angle)
        return (a**4 * s * s + c**4 * k * k) / height(angle) ** 2

    def slowness(phase):
        angle, left = swing * math.sin(phase), 2 * swing * math.sin(math.pi / 4 - phase / 2) ** 2
        fall = (a * a - c * c) * math.sin(swing + angle) * math.sin(left) / (height(swing) + height(angle))
        fall *= 2 * mass * GRAVITY
        span = swing * math.cos(phase)
        return span * math.sqrt((inertia[1, 1] + mass * arm(angle)) / fall)

    quarter = quad(slowness, 0, math.pi / 2 * (1 - 1e-9), epsabs=1e-12, epsrel=1e-12)[0]
    body = carom.Body(
        shape, mass=mass, position=(0, 0, height(swing)), material=carom.Material(friction=2.0),
        orientation=(math.cos(swing / 2), 0, math.sin(swing / 2), 0),
    )  # fmt: skip
    simulator = carom.Simulator(on_floor(body, friction=2.0), carom.StrongeCoulomb())
    simulator.add_event(lambda t, s: s.orientation[1, 2], name="flat")
    trajectory = simulator.run(2 * quarter)
    crossings = [event.time for event in trajectory.events if event.kind == "user"]
    assert crossings[0] == pytest.approx(quarter, rel=1e-7)
    assert trajectory.sample(2 * quarter).orientation[1, 2] == pytest.approx(-math.sin(swing / 2), abs=1e-6)


def test_what_an_ellipsoid_does_not_meet_is_said():
    egg = carom.Body(carom.Ellipsoid((0.1, 0.1, 0.2)), density=1000.0, position=(0, 0, 1), name="egg")
    box = carom.Body(carom.Box((1, 1, 1)), density=1000.0, position=(3, 0, 1), name="box")
    with pytest.raises(TypeError, match=r"'egg' and 'box' .*meets half-spaces only"):
        carom.Simulator(on_floor(egg, box), carom.StrongeCoulomb())
    with pytest.raises(TypeError, match="meets half-spaces only"):
        on_floor(egg, box).resolve_overlaps()
    for question in (carom.signed_distance, carom.contact_manifold):
        with pytest.raises(TypeError, match="meets half-spaces only"):
            question(egg, box)
    hull = carom.Body(carom.ConvexMesh(egg.shape.surface()[0]), density=1.0, position=(0, 0, 1))
    assert carom.signed_distance(hull, box).gap == pytest.approx(2.4, abs=1e-3)


def test_an_ellipsoid_comes_to_rest_on_its_flat_side():
    egg = carom.Body(
        carom.Ellipsoid((0.3, 0.2, 0.1)), density=1000.0, position=(0, 0, 0.1),
        material=carom.Material(friction=0.5),
    )  # fmt: skip
    trajectory = carom.Simulator(on_floor(egg), carom.StrongeCoulomb()).run(10.0)
    assert trajectory.status == carom.RunStatus.AT_REST
    assert trajectory.end_time == 0.0
