"""Bodies whose centre of mass is not that of their shape: motion, meetings and lasting contact."""

import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq
from scipy.spatial.transform import Rotation
from scipy.special import ellipk

import carom
from carom import (
    Body,
    Box,
    Capsule,
    ConvexMesh,
    Cylinder,
    Ellipsoid,
    HalfSpace,
    MassProperties,
    Material,
    Mesh,
    Sphere,
)
from carom.simulator.record.trajectory import RunStatus

OFF = np.array([0.11, -0.07, 0.13])
MATERIAL = Material(friction=0.4, restitution=0.5)
WEDGE = np.array([[0.0, 0, 0], [0.8, 0, 0], [0, 0.7, 0], [0, 0, 0.6]])
TURN = Rotation.from_rotvec([0.4, -0.7, 0.2])
SHAPES = {
    "ball": Sphere(0.4),
    "box": Box((0.7, 0.5, 0.4)),
    "rounded box": Box((0.7, 0.5, 0.4), radius=0.1),
    "capsule": Capsule(0.2, 0.6),
    "cylinder": Cylinder(0.35, 0.5),
    "hull": ConvexMesh(WEDGE),
    "mesh": Mesh(Box((0.7, 0.5, 0.4)).surface()),
}
TARGETS = {
    "half-space": HalfSpace((0.1, 0.3, 1.0)),
    "ball": Sphere(0.5),
    "box": Box((0.9, 0.8, 0.6)),
    "cylinder": Cylinder(0.5, 0.7),
    "mesh": Mesh(Box((0.9, 0.8, 0.6)).surface()),
}


def quaternion(rotation):
    return rotation.as_quat(scalar_first=True)


def loaded(shape, off=OFF, **motion):
    """A body with its centre of mass at `off` from that of the uniform solid, and equal moments about all axes."""
    options = {"mass": 2.0, "inertia": 0.3 * np.eye(3), "material": MATERIAL} | motion
    return Body(shape, center_of_mass=shape.center_of_mass + off, **options)


def shape_alone(body, time):
    """The shape, its own centre in its middle, where a body with equal moments has it after free flight."""
    spin = Rotation.from_rotvec(time * body.angular_velocity)
    turn = spin * Rotation.from_quat(body.orientation, scalar_first=True)
    middle = body.position + time * body.velocity + turn.apply(body.shape_offset)
    return Body(body.shape, fixed=True, position=middle, orientation=quaternion(turn))


def first_touch(body, target, until):
    """By the distance of the shape alone, sampled and then refined."""

    def gap(time):
        return carom.signed_distance(shape_alone(body, time), target).gap

    times = np.linspace(0.0, until, 150)
    before = None
    for time in times:
        if gap(time) < 0.0:
            return brentq(gap, before, time, xtol=1e-15, rtol=1e-14)
        before = time
    return None


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("shape", SHAPES)
def test_first_impact_is_where_the_shape_carried_along_touches(shape, target):
    random = np.random.default_rng(0)
    other = Body(
        TARGETS[target], fixed=True, orientation=[1, 0, 0, 0] if target == "half-space" else quaternion(TURN)
    )
    met = 0
    for _ in range(3):
        way = random.standard_normal(3)
        way[2] = abs(way[2]) + 1.0
        way /= np.linalg.norm(way)
        body = loaded(
            SHAPES[shape], position=1.8 * way, velocity=-1.2 * way + 0.1 * random.standard_normal(3),
            orientation=quaternion(Rotation.random(random_state=random)),
            angular_velocity=3.0 * random.standard_normal(3),
        )  # fmt: skip
        found, expected = carom.time_of_impact(body, other, until=2.0), first_touch(body, other, 2.0)
        if expected is None:
            assert found is None
            continue
        met += 1
        assert found.time == pytest.approx(expected, abs=1e-11)
        there = carom.contact_manifold(shape_alone(body, found.time), other)
        np.testing.assert_allclose(found.contacts.point, there.point, atol=1e-9)
        np.testing.assert_allclose(found.contacts.normal, there.normal, atol=1e-8)
    assert met >= 2


@pytest.mark.parametrize("shape", SHAPES)
def test_torque_free_motion_carries_the_shape_around_the_centre_of_mass(shape):
    body = loaded(SHAPES[shape], position=(1, 2, 3), velocity=(0.5, 0, -1), angular_velocity=(1, -2, 3))
    scene = carom.Scene(gravity=(0, 0, 0))
    scene.add(body)
    trajectory = carom.Simulator(scene, law=carom.StrongeCoulomb()).run(3.0)
    state = trajectory.sample([0.0, 1.0, 3.0])
    for k, time in enumerate(state.time):
        np.testing.assert_allclose(
            state.position[k, 0], body.position + time * body.velocity, rtol=0.0, atol=1e-13
        )
        origin = body.position + time * body.velocity
        spin = Rotation.from_rotvec(time * body.angular_velocity)
        arm = spin.apply(np.array(body.center_of_mass))
        np.testing.assert_allclose(state.shape_position(scene)[k, 0], origin - arm, rtol=0.0, atol=1e-12)
        velocity = body.velocity - np.cross(body.angular_velocity, arm)
        np.testing.assert_allclose(state.shape_velocity(scene)[k, 0], velocity, rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(state.shape_position(scene)[0, 0], body.shape_position, atol=1e-15)
    np.testing.assert_allclose(state.shape_velocity(scene)[0, 0], body.shape_velocity, atol=1e-15)


def test_physical_pendulum_has_its_period():
    """A ball hung at its own middle swings because its centre of mass is below it."""
    inertia, mass, off = 0.03, 2.0, 0.05
    ball = Body(
        Sphere(0.1),
        mass=mass,
        inertia=inertia * np.eye(3),
        center_of_mass=(0, 0, -off),
        position=(0.0, 0.0, -off),
    )
    swung = Rotation.from_rotvec([0.0, 1.2, 0.0])
    scene = carom.Scene(gravity=(0, 0, -9.81))
    ball = scene.add(
        Body(
            ball.shape, mass=mass, inertia=ball.inertia, center_of_mass=ball.center_of_mass,
            position=swung.apply(np.array(ball.position)), orientation=quaternion(swung),
        )
    )  # fmt: skip
    np.testing.assert_allclose(ball.shape_position, 0.0, atol=1e-16)
    scene.add_joint(carom.RevoluteJoint(ball, anchor=(0, 0, 0), axis=(0, 1, 0)))
    period = 4.0 * math.sqrt((inertia + mass * off**2) / (mass * 9.81 * off)) * ellipk(math.sin(0.6) ** 2)
    trajectory = carom.Simulator(scene, law=carom.StrongeCoulomb()).run(1.2 * period)

    def spin(time):
        return float(trajectory.sample(time).angular_velocity[0, 1])

    assert brentq(spin, 0.9 * period, 1.1 * period, xtol=1e-13) == pytest.approx(period, abs=1e-9)
    np.testing.assert_allclose(trajectory.sample(period).shape_position(scene)[0], 0.0, atol=1e-9)


def runs_of(bodies, floor=None, until=1.5, law=None):
    """The end of a run of each of some bodies above a floor, and all times of events."""
    found = []
    for body in bodies:
        scene = carom.Scene(gravity=(0.3, 0, -9.81))
        scene.add(floor or Body(HalfSpace((0, 0, 1)), fixed=True, material=MATERIAL))
        scene.add(body)
        trajectory = carom.Simulator(scene, law=law or carom.StrongeCoulomb()).run(until)
        end = trajectory.sample(trajectory.end_time)
        state = np.concatenate(
            [end.position[1], end.orientation[1], end.velocity[1], end.angular_velocity[1]]
        )
        found.append((state, np.array([event.time for event in trajectory.events])))
    return found


MOTION = {
    "mass": 2.0,
    "inertia": [[0.08, 0.01, 0.0], [0.01, 0.06, 0.005], [0.0, 0.005, 0.05]],
    "material": MATERIAL,
    "position": (0.0, 0.0, 0.9),
    "orientation": quaternion(TURN),
    "velocity": (0.4, 0.1, -0.5),
    "angular_velocity": (1.0, -2.0, 0.7),
}


def test_box_moves_as_the_mesh_and_the_hull_whose_vertices_are_moved():
    box = Box((0.5, 0.4, 0.3))
    vertices, triangles = box.surface()
    properties = MassProperties(MOTION["mass"], MOTION["inertia"], OFF)
    bodies = [
        Body(box, center_of_mass=OFF, **MOTION),
        Body(ConvexMesh(vertices + 1.0), center_of_mass=OFF + 1.0, **MOTION),
        Body(Mesh((vertices, triangles), properties), **MOTION),
        Body(Mesh((vertices, triangles)), center_of_mass=OFF, **MOTION),
    ]
    np.testing.assert_allclose(bodies[2].surface()[0], bodies[0].surface()[0], atol=1e-16)
    ends = runs_of(bodies, until=0.4)
    for state, times in ends[1:]:
        np.testing.assert_allclose(times, ends[0][1], rtol=0.0, atol=1e-12)
        np.testing.assert_allclose(state, ends[0][0], rtol=0.0, atol=1e-11)
    # of one mesh, said in two ways, the numbers are the same
    assert ends[2][0].tobytes() == ends[3][0].tobytes()


@pytest.mark.parametrize("friction", [0.0, 0.4])
def test_loaded_ball_rolls_as_the_ellipsoid_with_its_middle_there(friction):
    """An ellipsoid with equal semi-axes is another code's ball, and may have its middle anywhere."""
    motion = MOTION | {"material": Material(friction=friction, restitution=0.3)}
    floor = Body(HalfSpace((0, 0, 1)), fixed=True, material=motion["material"])
    ball = Body(Sphere(0.3), center_of_mass=OFF, **motion)
    oval = Body(Ellipsoid((0.3, 0.3, 0.3), tuple(-OFF)), **motion)
    moved = Body(Ellipsoid((0.3, 0.3, 0.3)), center_of_mass=OFF, **motion)
    (state, times), *others = runs_of([ball, oval, moved], floor, until=1.2)
    for other, other_times in others:
        np.testing.assert_allclose(other_times[:4], times[:4], rtol=0.0, atol=1e-11)
        np.testing.assert_allclose(other, state, rtol=0.0, atol=1e-7)


FLOORS = {
    "half-space": (HalfSpace((0, 0, 1)), (0.0, 0.0, 0.0)),
    "box": (Box((4.0, 4.0, 0.4)), (0.0, 0.0, -0.2)),
    "mesh": (Mesh(Box((4.0, 4.0, 0.4)).surface()), (0.0, 0.0, -0.2)),
}


@pytest.mark.parametrize("floor", FLOORS)
@pytest.mark.parametrize("shape", ["ball", "cylinder", "capsule"])
@pytest.mark.parametrize("friction", [5.0, 0.0])
def test_loaded_wheel_wobbles_as_its_equation_of_motion_says(floor, shape, friction):
    """A ball, cylinder or capsule that rolls or slides along x with its centre of mass off its middle."""
    radius, off, mass, inertia, pull = 0.3, 0.12, 2.0, 0.07, 9.81
    rough = Material(friction=friction, restitution=0.0)
    solid = {"ball": Sphere(radius), "cylinder": Cylinder(radius, 0.5), "capsule": Capsule(radius, 0.5)}[
        shape
    ]
    lying = Rotation.from_euler("x", 90, degrees=True)  # its axis along -y
    arm = np.array(
        [off * math.sin(0.8), 0.0, off * math.cos(0.8)]
    )  # to the centre of mass, 0.8 rad from the top
    scene = carom.Scene(gravity=(0, 0, -pull))
    solid_floor, place = FLOORS[floor]
    scene.add(Body(solid_floor, fixed=True, position=place, material=rough))
    scene.add(
        Body(
            solid, mass=mass, inertia=inertia * np.eye(3), center_of_mass=lying.inv().apply(arm),
            position=np.array([0.0, 0.0, radius]) + arm, orientation=quaternion(lying), material=rough,
        )
    )  # fmt: skip

    def rates(_, y):
        angle, spin = y
        sine, cosine = math.sin(angle), math.cos(angle)
        if friction:
            effective = inertia + mass * (radius**2 + off**2 + 2.0 * radius * off * cosine)
            torque = mass * off * sine * (pull + radius * spin**2)
        else:
            effective = inertia + mass * (off * sine) ** 2
            torque = mass * off * sine * (pull - off * cosine * spin**2)
        return [spin, torque / effective]

    end = 0.8
    angle, spin = solve_ivp(rates, (0.0, end), [0.8, 0.0], method="DOP853", rtol=1e-12, atol=1e-14).y[:, -1]
    trajectory = carom.Simulator(scene, law=carom.MaximumDissipation()).run(end)
    assert trajectory.status is RunStatus.REACHED_END
    state = trajectory.sample(end)
    assert state.angular_velocity[1, 1] == pytest.approx(spin, abs=1e-8)
    middle = state.shape_position(scene)[1]
    away = radius * (angle - 0.8) if friction else off * (math.sin(0.8) - math.sin(angle))
    np.testing.assert_allclose(middle, [away, 0.0, radius], rtol=0.0, atol=1e-8)


@pytest.mark.parametrize("shape", ["ball", "cylinder", "capsule", "rounded box"])
@pytest.mark.parametrize("floor", ["box", "mesh"])
def test_loaded_bodies_fall_on_plates_as_on_half_spaces(shape, floor):
    motion = MOTION | {"material": Material(friction=0.5, restitution=0.2)}
    body = Body(SHAPES[shape], center_of_mass=OFF, **motion)
    below = [
        Body(solid, fixed=True, position=place, material=motion["material"])
        for solid, place in (FLOORS["half-space"], FLOORS[floor])
    ]
    ends = [runs_of([body], one, until=0.7, law=carom.StrongeCoulomb())[0] for one in below]
    np.testing.assert_allclose(ends[1][1][:2], ends[0][1][:2], rtol=0.0, atol=1e-10)
    np.testing.assert_allclose(ends[1][0], ends[0][0], rtol=0.0, atol=1e-6)


def test_two_loaded_balls_collide_as_two_balls_with_that_velocity():
    """Frictionless balls push each other along the line of their middles, wherever their weight is."""
    smooth = Material(friction=0.0, restitution=1.0)
    scene = carom.Scene(gravity=(0, 0, 0))
    scene.add(loaded(Sphere(0.3), (0.1, 0, 0), position=(-1.0, 0, 0), velocity=(1, 0, 0), material=smooth))
    scene.add(loaded(Sphere(0.2), (-0.1, 0, 0), position=(1.0, 0, 0), velocity=(-1, 0, 0), material=smooth))
    event = carom.Simulator(scene, law=carom.SequentialReflection()).step_event()
    # middles at -1.1 and 1.1, so the gap is 1.7
    assert event.time == pytest.approx(0.85, abs=1e-14)
    np.testing.assert_allclose(event.after.velocity[:, 0], [-1.0, 1.0], atol=1e-13)
    np.testing.assert_allclose(event.after.angular_velocity, 0.0, atol=1e-13)


def test_recorded_run_is_read_and_repeated(tmp_path):
    scene = carom.Scene()
    scene.add(Body(HalfSpace((0, 0, 1)), fixed=True, material=MATERIAL))
    for k, shape in enumerate(SHAPES.values()):
        scene.add(loaded(shape, position=(2.0 * k, 0, 1.2), angular_velocity=(1, 2, 3)))
    run = carom.Simulator(scene, law=carom.SequentialLCP()).run(1.0)
    run.save(tmp_path / "run.h5")
    read = carom.Trajectory.load(tmp_path / "run.h5")
    for before, after in zip(scene.bodies, read.scene.bodies, strict=True):
        assert after.center_of_mass.tobytes() == before.center_of_mass.tobytes()
        assert after.shape_offset.tobytes() == before.shape_offset.tobytes()
    assert carom.verify(tmp_path / "run.h5").equal
