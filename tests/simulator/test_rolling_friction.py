"""Rolling and spinning friction against closed forms, and where bodies touch in lines and faces."""

import dataclasses

import numpy as np
import pytest
import scipy.integrate

import carom
from carom.simulator.event import EventKind

GRAVITY = 9.81
RADIUS, ROLLING, SPINNING, FRICTION = 0.05, 0.004, 0.003, 0.3
LAW = carom.StrongeCoulomb()
ALONG_Y = np.cos(np.pi / 4), np.sin(np.pi / 4), 0.0, 0.0
"""Orientation of a cylinder that lies along y."""


def floor(normal=(0, 0, 1), **resists) -> carom.Body:
    return carom.Body(
        carom.HalfSpace(normal),
        fixed=True,
        material=carom.Material(friction=FRICTION, **resists),
        name="floor",
    )


def body(shape, **state) -> carom.Body:
    return carom.Body(shape, mass=1.5, material=carom.Material(friction=FRICTION), **state)


def lying_cylinder(angular_velocity) -> carom.Body:
    """On the floor, along y; it moves across its axis."""
    return body(
        carom.Cylinder(RADIUS, 0.2),
        position=(0, 0, RADIUS),
        orientation=ALONG_Y,
        velocity=(1, 0, 0),
        angular_velocity=angular_velocity,
    )


def run(*bodies, duration=10.0, planar=False) -> carom.Trajectory:
    scene = carom.Scene()
    if planar:
        scene.planar((0, 1, 0))
    for one in bodies:
        scene.add(one)
    return carom.Simulator(scene, LAW).run(duration)


def kinds(trajectory) -> list[EventKind]:
    return [event.kind for event in trajectory.events]


def balance(trajectory) -> float:
    """What the ledger leaves unaccounted for at the end [J]."""
    start, end = trajectory.ledger(0.0), trajectory.ledger(trajectory.known_until)
    done = sum(
        getattr(end, name)
        for name in ("friction", "damping", "drag", "drives", "applied", "closing", "impacts")
    )
    return abs(end.kinetic + end.potential - start.kinetic - start.potential - done)


def test_ball_that_slides_rolls_and_comes_to_rest():
    speed, share = 2.0, 0.4
    slowed = FRICTION * GRAVITY
    spun = (FRICTION * RADIUS - ROLLING) * GRAVITY / (share * RADIUS**2)
    sticks = speed / (slowed + spun * RADIUS)
    rolls = speed - slowed * sticks
    falls = ROLLING * GRAVITY / RADIUS / (1.0 + share)
    way = speed * sticks - 0.5 * slowed * sticks**2 + 0.5 * rolls**2 / falls
    found = run(
        floor(rolling_friction=ROLLING),
        body(carom.Sphere(RADIUS), position=(0, 0, RADIUS), velocity=(speed, 0, 0)),
    )
    assert found.status is carom.RunStatus.AT_REST
    assert kinds(found) == [EventKind.STICK, EventKind.HALT]
    np.testing.assert_allclose([e.time for e in found.events], [sticks, sticks + rolls / falls], rtol=1e-11)
    np.testing.assert_allclose(found.sample(10.0).position[1], (way, 0.0, RADIUS), rtol=0, atol=1e-11)
    assert balance(found) < 1e-12


@pytest.mark.parametrize(
    ("shape", "share"), [(carom.Sphere(RADIUS), 0.4), (carom.Cylinder(RADIUS, 0.2), 0.5)]
)
@pytest.mark.parametrize("of_critical", [0.5, 0.999, 1.001, 1.5])
def test_incline(shape, share, of_critical):
    """A ball and a cylinder stay where tan(slope) is below rolling friction over radius, and roll where above."""
    slope = np.arctan(of_critical * ROLLING / RADIUS)
    normal = np.array([np.sin(slope), 0.0, np.cos(slope)])
    found = run(
        floor(normal, rolling_friction=ROLLING),
        body(shape, position=RADIUS * normal, orientation=ALONG_Y),
        duration=1.0,
    )
    pull = (GRAVITY * np.sin(slope) - ROLLING * GRAVITY * np.cos(slope) / RADIUS) / (1.0 + share)
    assert np.linalg.norm(found.sample(1.0).velocity[1]) == pytest.approx(
        max(pull, 0.0), rel=1e-10, abs=1e-14
    )


def thrown_with_backspin(speed, spin):
    """Time and speed at which a ball thrown with backspin begins to roll, and its way until then.

    Rolling friction helps to end the backspin, and resists the spin that follows.
    """
    slowed, inertia = FRICTION * GRAVITY, 0.4 * RADIUS**2
    spun = [(FRICTION * RADIUS + sign * ROLLING) * GRAVITY / inertia for sign in (1, -1)]
    time = (speed + spin * RADIUS) / (slowed + spun[0] * RADIUS)
    turns = spin / spun[0]
    if time > turns:
        time = turns + (speed - slowed * turns) / (slowed + spun[1] * RADIUS)
    return time, speed - slowed * time, speed * time - 0.5 * slowed * time**2


ROLLS_OUT = ROLLING * GRAVITY / RADIUS / 1.4
"""Deceleration of a ball that rolls [m/s^2]."""


@pytest.mark.parametrize(("speed", "spin"), [(2.0, 20.0), (2.0, 200.0), (0.5, 60.0)])
def test_ball_with_backspin(speed, spin):
    """It turns the other way before it rolls, or rolls back."""
    ball = body(
        carom.Sphere(RADIUS), position=(0, 0, RADIUS), velocity=(speed, 0, 0), angular_velocity=(0, -spin, 0)
    )
    found = run(floor(rolling_friction=ROLLING), ball, duration=30.0)
    time, rolls, way = thrown_with_backspin(speed, spin)
    assert kinds(found)[-2:] == [EventKind.STICK, EventKind.HALT]
    assert found.events[-2].time == pytest.approx(time, rel=1e-11)
    assert found.events[-1].time == pytest.approx(time + abs(rolls) / ROLLS_OUT, rel=1e-11)
    end = way + 0.5 * rolls * abs(rolls) / ROLLS_OUT
    np.testing.assert_allclose(found.sample(30.0).position[1], (end, 0, RADIUS), rtol=0, atol=1e-11)
    assert balance(found) < 1e-11


@pytest.mark.parametrize("of_critical", [0.5, 3.0])
def test_cylinder_rolls_up_an_incline_and_back_where_it_is_steep(of_critical):
    slope = np.arctan(of_critical * ROLLING / RADIUS)
    normal, downhill = (
        np.array([np.sin(slope), 0, np.cos(slope)]),
        np.array([np.cos(slope), 0, -np.sin(slope)]),
    )
    cylinder = body(
        carom.Cylinder(RADIUS, 0.2), position=RADIUS * normal, orientation=ALONG_Y,
        velocity=-downhill, angular_velocity=(0, -1.0 / RADIUS, 0),
    )  # fmt: skip
    pull, resists = np.array([np.sin(slope), ROLLING / RADIUS * np.cos(slope)]) * GRAVITY / 1.5
    turns, falls = 1.0 / (pull + resists), max(pull - resists, 0.0)
    found = run(floor(normal, rolling_friction=ROLLING), cylinder, duration=turns + 1.5)
    assert found.events[0].time == pytest.approx(turns, rel=1e-11)
    end = found.sample(turns + 1.5)
    assert end.velocity[1] @ downhill == pytest.approx(1.5 * falls, abs=1e-11)
    way = (end.position[1] - RADIUS * normal) @ downhill
    assert way == pytest.approx(-0.5 * turns + 0.5 * falls * 1.5**2, abs=1e-11)
    assert balance(found) < 1e-11


def test_ball_rolls_to_a_wall_and_back():
    """It leaves a wall without friction with the spin that it had."""
    bouncy = carom.Material(friction=0.0, restitution=0.7)
    wall = carom.Body(carom.HalfSpace((-1, 0, 0), -0.5), fixed=True, name="wall")
    scene = carom.Scene()
    scene.add(floor(rolling_friction=ROLLING))
    scene.add(wall)
    turning = {"velocity": (1, 0, 0), "angular_velocity": (0, 1 / RADIUS, 0)}
    ball = scene.add(body(carom.Sphere(RADIUS), position=(0, 0, RADIUS), **turning))
    scene.set_pair_material(wall, ball, bouncy)
    found = carom.Simulator(scene, LAW).run(30.0)
    before = np.sqrt(1.0 - 2.0 * ROLLS_OUT * (0.5 - RADIUS))
    time, rolls, way = thrown_with_backspin(0.7 * before, before / RADIUS)
    halts = (1.0 - before) / ROLLS_OUT + time + abs(rolls) / ROLLS_OUT
    assert found.events[-1].time == pytest.approx(halts, rel=1e-11)
    end = 0.5 - RADIUS - way - 0.5 * rolls * abs(rolls) / ROLLS_OUT
    assert found.sample(30.0).position[2, 0] == pytest.approx(end, abs=1e-11)


def rolling(shape=None, **state) -> carom.Body:
    """A ball, or another shape, that rolls along x at 1 m/s."""
    return body(
        shape or carom.Sphere(RADIUS), velocity=(1, 0, 0), angular_velocity=(0, 1 / RADIUS, 0), **state
    )


def test_rolling_ball_hits_one_at_rest():
    """Without loss or friction they exchange velocities, not spins: both slide, roll and come to rest."""
    gap, inertia = 0.3, 0.4 * RADIUS**2
    before = np.sqrt(1.0 - 2.0 * ROLLS_OUT * gap)
    helped, resisted = ((FRICTION * RADIUS + sign * ROLLING) * GRAVITY * RADIUS / inertia for sign in (1, -1))
    slowed = FRICTION * GRAVITY
    times = before / (slowed + helped), before / (slowed + resisted)
    rolls = slowed * times[0], before - slowed * times[1]
    ways = 0.5 * rolls[0] * times[0], 0.5 * (before + rolls[1]) * times[1]
    scene = carom.Scene()
    scene.add(floor(rolling_friction=ROLLING))
    first = scene.add(rolling(position=(0, 0, RADIUS)))
    second = scene.add(body(carom.Sphere(RADIUS), position=(gap + 2 * RADIUS, 0, RADIUS)))
    scene.set_pair_material(first, second, carom.Material(friction=0.0, restitution=1.0))
    found = carom.Simulator(scene, LAW).run(30.0)
    ends = [gap, gap + 2 * RADIUS] + np.array(ways) + 0.5 * np.square(rolls) / ROLLS_OUT
    np.testing.assert_allclose(found.sample(30.0).position[1:, 0], ends, rtol=0, atol=1e-11)
    assert balance(found) < 1e-11


def test_ball_that_is_pressed_down_more_and_more():
    """Rolling friction grows with the normal force; the speed falls by a parabola."""
    growth = 6.0  # N/s
    share = ROLLING / RADIUS / (1.4 * 1.5)
    weight = 1.5 * GRAVITY
    halts = (np.sqrt(weight**2 + 2.0 * growth / share) - weight) / growth
    scene = carom.Scene()
    scene.add(floor(rolling_friction=ROLLING))
    scene.add(rolling(position=(0, 0, RADIUS)))
    scene.add_force(lambda t, state: np.array([np.zeros(6), [0, 0, -growth * t, 0, 0, 0]]))
    found = carom.Simulator(scene, LAW).run(halts + 0.5)
    assert kinds(found) == [EventKind.HALT]
    assert found.events[0].time == pytest.approx(halts, rel=1e-11)
    way = halts - share * (0.5 * weight * halts**2 + growth * halts**3 / 6.0)
    assert found.sample(halts + 0.5).position[1, 0] == pytest.approx(way, abs=1e-11)
    assert balance(found) < 1e-10


def test_ball_rolls_down_a_slope_while_its_spin_ends():
    """About the normal of the slope; neither changes the other."""
    slope, spin = 0.3, 30.0
    normal, downhill = (
        np.array([np.sin(slope), 0, np.cos(slope)]),
        np.array([np.cos(slope), 0, -np.sin(slope)]),
    )
    pressed = GRAVITY * np.cos(slope)
    halts = 0.4 * RADIUS**2 * spin / (SPINNING * pressed)
    pull = (GRAVITY * np.sin(slope) - ROLLING * pressed / RADIUS) / 1.4
    ball = body(carom.Sphere(RADIUS), position=RADIUS * normal, angular_velocity=tuple(spin * normal))
    found = run(
        floor(normal, rolling_friction=ROLLING, spinning_friction=SPINNING), ball, duration=halts + 0.1
    )
    assert kinds(found) == [EventKind.HALT]
    assert found.events[0].time == pytest.approx(halts, rel=1e-11)
    end = found.sample(0.5 * halts)
    way = 0.5 * pull * (0.5 * halts) ** 2
    np.testing.assert_allclose(end.position[1], (RADIUS * normal + way * downhill), rtol=0, atol=1e-11)
    assert end.angular_velocity[1] @ normal == pytest.approx(0.5 * spin, rel=1e-10)
    assert balance(found) < 1e-11


def test_cart_on_four_wheels_rolls_to_rest():
    """Its weight is on the wheels, whose spin has its share of what is slowed."""
    heavy, inertia = 5.0, 0.5 * 1.5 * RADIUS**2
    scene = carom.Scene()
    scene.add(floor(rolling_friction=ROLLING))
    deck = scene.add(
        carom.Body(carom.Box((0.5, 0.3, 0.05)), mass=heavy, position=(0, 0, 0.12), velocity=(1, 0, 0))
    )
    for x, y in ((0.2, 0.2), (0.2, -0.2), (-0.2, 0.2), (-0.2, -0.2)):
        wheel = scene.add(rolling(position=(x, y, RADIUS), inertia=inertia * np.eye(3)))
        scene.add_joint(carom.RevoluteJoint(wheel, deck, anchor=(x, y, RADIUS), axis=(0, 1, 0)))
    falls = ROLLING * (heavy + 6.0) * GRAVITY / RADIUS / (heavy + 6.0 + 4.0 * inertia / RADIUS**2)
    found = carom.Simulator(scene, LAW).run(1.0 / falls + 0.5)
    assert found.status is carom.RunStatus.AT_REST
    assert found.sample(0.5 / falls).velocity[1, 0] == pytest.approx(0.5, rel=1e-10)
    assert found.sample(1.0 / falls + 0.3).position[1, 0] == pytest.approx(0.5 / falls, abs=1e-10)
    assert balance(found) < 1e-11


@pytest.mark.parametrize("of_critical", [0.99, 1.01])
def test_loaded_ball_rests_where_its_weight_is_no_further_off_than_rolling_friction(of_critical):
    off = 0.01
    angle = np.arcsin(of_critical * ROLLING / off)
    away = off * np.array([np.sin(angle), 0.0, -np.cos(angle)])
    ball = body(
        carom.Sphere(RADIUS), inertia=1e-3 * np.eye(3), center_of_mass=away,
        position=np.array([0, 0, RADIUS]) + away,
    )  # fmt: skip
    found = run(floor(rolling_friction=ROLLING), ball, duration=1.0)
    moved = np.linalg.norm(found.sample(1.0).position[1] - ball.position)
    assert (moved == 0.0) == (of_critical < 1.0)


@pytest.mark.parametrize(
    ("shape", "height"), [(carom.Cylinder(0.1, 0.02), 0.01), (carom.Box((0.2, 0.2, 0.1)), 0.05)]
)
def test_spun_on_a_face_without_sliding_friction(shape, height):
    """Spinning friction of all contacts together is that of the weight."""
    smooth = carom.Material(friction=0.0, spinning_friction=SPINNING)
    scene = carom.Scene()
    scene.add(carom.Body(carom.HalfSpace((0, 0, 1)), fixed=True, material=smooth))
    disk = carom.Body(shape, mass=1.5, position=(0, 0, height), angular_velocity=(0, 0, 8), material=smooth)
    scene.add(disk)
    found = carom.Simulator(scene, LAW).run(30.0)
    assert kinds(found) == [EventKind.HALT]
    expected = 8.0 * disk.inertia[2, 2] / (SPINNING * 1.5 * GRAVITY)
    assert found.events[0].time == pytest.approx(expected, rel=1e-11)


def test_cylinder_comes_to_rest():
    falls = ROLLING * GRAVITY / RADIUS / 1.5
    found = run(
        floor(rolling_friction=ROLLING),
        lying_cylinder((0, 1 / RADIUS, 0)),
    )
    assert kinds(found) == [EventKind.HALT]
    assert found.events[0].time == pytest.approx(1.0 / falls, rel=1e-12)
    np.testing.assert_allclose(found.sample(10.0).position[1], (0.5 / falls, 0, RADIUS), rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("shape", "height", "inertia"),
    [
        (carom.Sphere(RADIUS), RADIUS, 0.4 * RADIUS**2),
        (carom.Ellipsoid((0.03, 0.03, 0.05)), 0.05, 0.4 * 0.03**2),
    ],
)
def test_top_slows_on_its_point(shape, height, inertia):
    found = run(
        floor(spinning_friction=SPINNING),
        body(shape, position=(0, 0, height), angular_velocity=(0, 0, -10)),
        duration=2,
    )
    assert kinds(found)[:1] == [EventKind.HALT]
    assert found.events[0].time == pytest.approx(10.0 * inertia / (SPINNING * GRAVITY), rel=1e-12)


def test_rolling_and_spinning_at_once():
    """Of a ball neither changes the other: spin ends when it would, and it rolls as far as without spin."""
    turning = {"velocity": (1.0, 0.5, 0.0), "angular_velocity": (-0.5 / RADIUS, 1.0 / RADIUS, 10.0)}
    found = run(
        floor(rolling_friction=ROLLING, spinning_friction=SPINNING),
        body(carom.Sphere(RADIUS), position=(0, 0, RADIUS), **turning),
    )
    falls = ROLLING * GRAVITY / RADIUS / 1.4
    assert kinds(found) == [EventKind.HALT, EventKind.HALT]
    assert found.events[0].time == pytest.approx(10.0 * 0.4 * RADIUS**2 / (SPINNING * GRAVITY), rel=1e-11)
    assert found.events[1].time == pytest.approx(np.hypot(1.0, 0.5) / falls, rel=1e-11)
    assert balance(found) < 1e-12


def test_planar_scene_moves_as_the_spatial_one():
    ball = body(
        carom.Sphere(RADIUS), position=(0, 0, RADIUS), velocity=(1, 0, 0), angular_velocity=(0, 30, 0)
    )
    resists = floor(rolling_friction=ROLLING, spinning_friction=SPINNING)
    spatial, planar = run(resists, ball), run(resists, ball, planar=True)
    assert kinds(spatial) == kinds(planar) == [EventKind.STICK, EventKind.HALT]
    np.testing.assert_allclose(
        [event.time for event in planar.events], [event.time for event in spatial.events], rtol=1e-12
    )
    np.testing.assert_allclose(planar.sample(10.0).position[1], spatial.sample(10.0).position[1], atol=1e-12)
    forces = planar.contact_forces(0.5)
    assert forces.unique.all()
    assert abs(forces.torque[0, 1]) == pytest.approx(ROLLING * 1.5 * GRAVITY)


def test_ball_on_a_body_that_moves():
    """Momentum of a ball that spins and rolls to rest on a plate that slides freely."""
    ball = dataclasses.replace(
        body(
            carom.Sphere(RADIUS),
            position=(0, 0, 0.1 + RADIUS),
            velocity=(0.3, 0.1, 0),
            angular_velocity=(0, 0, 10),
        ),
        material=carom.Material(friction=FRICTION, rolling_friction=ROLLING, spinning_friction=SPINNING),
    )
    plate = carom.Body(carom.Box((2, 2, 0.2)), mass=5.0, material=carom.Material(friction=0.5), name="plate")
    smooth = carom.Body(
        carom.HalfSpace((0, 0, 1), -0.1), fixed=True, material=carom.Material(friction=0.0), name="ice"
    )
    found = run(smooth, plate, ball, duration=5.0)
    assert kinds(found).count(EventKind.HALT) == 2
    end = found.sample(5.0)
    np.testing.assert_allclose(end.velocity[1] * 5 + end.velocity[2] * 1.5, (0.45, 0.15, 0), atol=1e-12)
    np.testing.assert_allclose(end.angular_velocity[2], end.angular_velocity[1], atol=1e-12)
    about = sum(
        m * np.cross(end.position[k], end.velocity[k])[2] + i * end.angular_velocity[k, 2]
        for k, m, i in ((1, 5.0, 5.0 * 8 / 12), (2, 1.5, 0.4 * 1.5 * RADIUS**2))
    )
    assert about == pytest.approx(0.4 * 1.5 * RADIUS**2 * 10, abs=1e-9)
    assert balance(found) < 1e-11


def test_face_on_a_face_is_not_resisted():
    """A box that slides and spins on its face moves as without rolling friction: its corners hold it."""
    box = body(
        carom.Box((0.1, 0.1, 0.1)), position=(0, 0, 0.05), velocity=(0.4, 0.5, 0), angular_velocity=(0, 0, -5)
    )
    plain, resisted = run(floor(), box), run(floor(rolling_friction=ROLLING), box)
    assert kinds(resisted) == kinds(plain)
    np.testing.assert_allclose(resisted.sample(10).position, plain.sample(10).position, rtol=0, atol=1e-10)


def test_box_tips_over_its_edge_later():
    """A box pushed at its top tips about an edge where the push exceeds what weight and rolling friction hold."""
    half, mass = 0.05, 1.5
    for of_critical in (0.98, 1.02):
        push = of_critical * mass * GRAVITY * (half + ROLLING) / (2 * half)
        scene = carom.Scene()
        rough = carom.Material(friction=2.0, rolling_friction=ROLLING)
        scene.add(carom.Body(carom.HalfSpace((0, 0, 1)), fixed=True, material=rough))
        scene.add(carom.Body(carom.Box((0.1, 0.1, 0.1)), mass=mass, position=(0, 0, half), material=rough))

        def at_the_top(t, state, push=push):
            force = np.zeros((2, 6))
            force[1, 0], force[1, 4] = push, push * half
            return force

        scene.add_force(at_the_top)
        found = carom.Simulator(scene, LAW).run(0.1)
        turned = found.sample(0.1).angular_velocity[1, 1]
        if of_critical < 1.0:
            assert abs(turned) < 1e-12
            continue

        def tips(t, state, push=push):
            """The same by moments about the edge, whose normal force resists its rolling."""
            up, along = np.cos(state[0]) + np.sin(state[0]), np.cos(state[0]) - np.sin(state[0])
            moment = push * half * (1 + up) - mass * GRAVITY * half * along
            moment -= ROLLING * mass * (GRAVITY - half * up * state[1] ** 2)
            about_edge = 8 / 3 * mass * half**2 + ROLLING * mass * half * along
            return state[1], moment / about_edge

        exact = scipy.integrate.solve_ivp(tips, (0, 0.1), (0, 0), rtol=1e-12, atol=1e-14).y[1, -1]
        assert exact > 0.1
        assert turned == pytest.approx(exact, abs=1e-9)
        assert sum(len(motion) for motion in found.motions) < 100


def test_spinning_cylinder_is_the_mirror_image_of_its_mirror_image():
    """Two contacts of a line share what tips it in one way only."""
    ends = []
    for sign in (-1.0, 1.0):
        found = run(
            floor(rolling_friction=ROLLING),
            lying_cylinder((0, 0, 20 * sign)),
        )
        assert found.status is carom.RunStatus.AT_REST
        assert balance(found) < 1e-11
        ends.append(found.sample(10.0).position[1] * (1, sign, 1))
    np.testing.assert_allclose(*ends, rtol=0, atol=1e-7)


@pytest.mark.parametrize(
    "shape",
    [
        carom.Sphere(0.05),
        carom.Box((0.08, 0.1, 0.12)),
        carom.Capsule(0.03, 0.1),
    ],
)
def test_heaps_come_to_rest(shape):
    rng = np.random.default_rng(0)
    scene = carom.Scene()
    material = carom.Material(0.3, 0.4, rolling_friction=1e-3, spinning_friction=1e-3)
    scene.add(carom.Body(carom.HalfSpace((0, 0, 1)), fixed=True, material=material))
    for level in range(4):
        scene.add(
            carom.Body(
                shape,
                mass=1.0,
                position=(*rng.uniform(-0.03, 0.03, 2), 0.15 + 0.2 * level),
                angular_velocity=rng.normal(0, 5, 3),
                material=material,
            )
        )
    found = carom.Simulator(scene, LAW).run(30.0)
    assert found.status is carom.RunStatus.AT_REST
    assert sum(len(motion) for motion in found.motions) < 20_000  # a box flat on the floor took 10^5 and more
    assert balance(found) < 1e-8
    end = found.ledger(found.known_until)
    assert end.friction < 0.0
    assert end.impacts < 0.0
    assert end.closing <= 1e-8


def test_forces_tell_the_torque():
    """Torque at the edge of what is allowed while it rolls, what balances the slope while it does not."""
    ball = body(
        carom.Sphere(RADIUS), position=(0, 0, RADIUS), velocity=(1, 0, 0), angular_velocity=(0, 20, 5)
    )
    found = run(floor(rolling_friction=ROLLING, spinning_friction=SPINNING), ball)
    weight = 1.5 * GRAVITY
    rolling = found.contact_forces(0.01)
    np.testing.assert_allclose(
        rolling.torque, [[0, -ROLLING * weight, -SPINNING * weight]], rtol=1e-9, atol=1e-12
    )
    assert rolling.unexplained < 1e-9
    assert rolling.unique.all()
    assert rolling.sticks.all()
    slope = np.arctan(0.5 * ROLLING / RADIUS)
    normal = np.array([np.sin(slope), 0.0, np.cos(slope)])
    held = run(floor(normal, rolling_friction=ROLLING), body(carom.Sphere(RADIUS), position=RADIUS * normal))
    forces = held.contact_forces(1.0)
    np.testing.assert_allclose(
        forces.torque, [[0, -weight * RADIUS * np.sin(slope), 0]], rtol=1e-9, atol=1e-12
    )
    assert forces.unexplained < 1e-9
    assert forces.unique.all()


def test_units():
    """Lengths times 2^10 and times 2^5 as long: the same events, bit for bit but for these powers."""
    times = []
    for scale in (1.0, 1024.0):
        ball = body(
            carom.Sphere(RADIUS * scale),
            position=(0, 0, RADIUS * scale),
            velocity=(32.0 * 0.7 * np.sqrt(scale) / 32.0, 0, 0),
            angular_velocity=(0, 3.0 / np.sqrt(scale), 7.0 / np.sqrt(scale)),
        )
        found = run(
            floor(rolling_friction=ROLLING * scale, spinning_friction=SPINNING * scale),
            ball,
            duration=10.0 * np.sqrt(scale),
        )
        times.append([event.time / np.sqrt(scale) for event in found.events])
    assert len(times[0]) == 3
    assert times[0] == times[1]


def test_recording_keeps_the_events(tmp_path):
    found = run(
        floor(rolling_friction=ROLLING),
        body(carom.Sphere(RADIUS), position=(0, 0, RADIUS), velocity=(1, 0, 0), angular_velocity=(0, 20, 0)),
    )
    found.save(tmp_path / "ball.h5")
    loaded = carom.Trajectory.load(tmp_path / "ball.h5")
    assert kinds(loaded) == [EventKind.HALT]
    assert loaded.scene.pair_material(0, 1).rolling_friction == ROLLING
    loaded.scene.save(tmp_path / "ball.json")
    assert carom.Scene.load(tmp_path / "ball.json").bodies[0].material.rolling_friction == ROLLING


def test_surfaces_combine_by_the_larger():
    scene = carom.Scene()
    scene.add(floor(rolling_friction=0.001, spinning_friction=0.02))
    scene.add(dataclasses.replace(body(carom.Sphere(1)), material=carom.Material(rolling_friction=0.003)))
    pair = scene.pair_material(0, 1)
    assert (pair.rolling_friction, pair.spinning_friction) == (0.003, 0.02)


@pytest.mark.parametrize("name", ["rolling_friction", "spinning_friction"])
@pytest.mark.parametrize("value", [-1e-3, np.nan, np.inf, "much"])
def test_bad_values_are_refused(name, value):
    with pytest.raises((ValueError, TypeError), match=name):
        carom.Material(**{name: value})
