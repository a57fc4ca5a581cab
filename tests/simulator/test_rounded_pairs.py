"""Rounded boxes and hulls meet others as the union of their parts does, and roll on their edges."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

import carom
from carom import Body, Box, Capsule, ConvexMesh, Cylinder, HalfSpace, Material, Mesh, Sphere
from carom.simulator.record.trajectory import RunStatus

LENGTHS, RADIUS = np.array([0.8, 0.6, 0.5]), 0.12
ROUNDED = Box(tuple(LENGTHS), radius=RADIUS)
INNER = LENGTHS - 2.0 * RADIUS
OCTAHEDRON = np.concatenate([np.eye(3), -np.eye(3)])
PLATE = Box((4.0, 4.0, 0.4))
TARGETS = {
    "half-space": HalfSpace((0.1, -0.2, 1.0)),
    "ball": Sphere(0.5),
    "box": Box((0.9, 0.7, 0.5)),
    "capsule": Capsule(0.2, 1.0),
    "cylinder": Cylinder(0.4, 0.6),
    "hull": ConvexMesh(0.6 * OCTAHEDRON),
    "rounded hull": ConvexMesh(0.5 * OCTAHEDRON, radius=0.15),
    "rounded box": Box((0.9, 0.7, 0.5), radius=0.2),
    "mesh": Mesh(Box((0.9, 0.7, 0.5)).surface()),
    "sheet": Mesh(
        (Box((0.9, 0.7, 0.5)).surface()[0], Box((0.9, 0.7, 0.5)).surface()[1][2:]), mass_from="hull"
    ),
}
MATERIAL = Material(friction=0.3, restitution=0.6)


def quaternion(rotation):
    return rotation.as_quat(scalar_first=True)


def turned(random):
    return quaternion(Rotation.random(random_state=random))


def parts_of(whole):
    """Bodies that move as a rounded box and whose shapes have it as their union: three boxes, twelve capsules."""
    pieces = [
        (Box(tuple(INNER + 2.0 * RADIUS * np.eye(3)[k])), np.zeros(3), Rotation.identity()) for k in range(3)
    ]
    for axis, turn in enumerate(
        (
            Rotation.from_euler("y", 90, degrees=True),
            Rotation.from_euler("x", 90, degrees=True),
            Rotation.identity(),
        )
    ):
        for signs in ((-1, -1), (-1, 1), (1, -1), (1, 1)):
            place = 0.5 * np.insert(np.array(signs) * np.delete(INNER, axis), axis, 0.0)
            pieces.append((Capsule(RADIUS, float(INNER[axis])), place, turn))
    found = []
    here = Rotation.from_quat(whole.orientation, scalar_first=True)
    for shape, place, turn in pieces:
        matrix = turn.as_matrix()
        found.append(
            Body(
                shape, mass=whole.mass, inertia=matrix.T @ whole.inertia @ matrix,
                center_of_mass=matrix.T @ (whole.center_of_mass - place),
                position=whole.position, orientation=quaternion(here * turn),
                velocity=whole.velocity, angular_velocity=whole.angular_velocity, material=MATERIAL,
            )
        )  # fmt: skip
    return found


def thrown(random, shape=ROUNDED):
    way = random.standard_normal(3)
    way[2] = abs(way[2]) + 0.5
    way /= np.linalg.norm(way)
    return Body(
        shape, density=700.0, position=2.0 * way, orientation=turned(random),
        velocity=-1.5 * way + 0.1 * random.standard_normal(3), angular_velocity=2.0 * random.standard_normal(3),
        material=MATERIAL,
    )  # fmt: skip


def target_of(name, random):
    shape = TARGETS[name]
    if isinstance(shape, HalfSpace):
        return Body(shape, fixed=True, material=MATERIAL)
    return Body(shape, fixed=True, orientation=turned(random), material=MATERIAL)


def first_impulse(body, target, law):
    scene = carom.Scene(gravity=(0, 0, 0))
    scene.add(body)
    scene.add(target)
    event = carom.Simulator(scene, law=law).step_event()
    return event.time, event.after.velocity[0], event.after.angular_velocity[0]


@pytest.mark.parametrize("name", TARGETS)
def test_first_impact_is_that_of_the_union_of_boxes_and_capsules(name):
    random = np.random.default_rng(0)
    met = 0
    for _ in range(4):
        whole, target = thrown(random), target_of(name, random)
        found = carom.time_of_impact(whole, target, until=3.0)
        parts = [carom.time_of_impact(part, target, until=3.0) for part in parts_of(whole)]
        times = np.array([np.inf if one is None else one.time for one in parts])
        if found is None:
            assert not np.isfinite(times).any()
            continue
        met += 1
        assert found.time == pytest.approx(times.min(), abs=1e-10)
        # several parts may have the place in common, with the same normal
        first = parts[int(times.argmin())]
        np.testing.assert_allclose(found.contacts.point, first.contacts.point, rtol=0.0, atol=1e-9)
        np.testing.assert_allclose(found.contacts.normal, first.contacts.normal, rtol=0.0, atol=1e-9)
    assert met >= 3


@pytest.mark.parametrize("name", ["half-space", "box", "cylinder", "mesh"])
def test_first_impulse_is_that_of_the_part_that_meets(name):
    random = np.random.default_rng(1)
    law = carom.StrongeCoulomb()
    whole, target = thrown(random), target_of(name, random)
    time, velocity, spin = first_impulse(whole, target, law)
    parts = [(carom.time_of_impact(part, target, until=3.0), part) for part in parts_of(whole)]
    part = min((one.time, k) for k, (one, _) in enumerate(parts) if one is not None)[1]
    other_time, other_velocity, other_spin = first_impulse(parts[part][1], target, law)
    assert time == pytest.approx(other_time, abs=1e-10)
    np.testing.assert_allclose(velocity, other_velocity, rtol=0.0, atol=1e-10)
    np.testing.assert_allclose(spin, other_spin, rtol=0.0, atol=1e-9)


@pytest.mark.parametrize("name", ["ball", "box", "capsule", "cylinder", "rounded hull", "mesh"])
def test_distance_is_that_of_the_inner_box_less_the_radius(name):
    random = np.random.default_rng(2)
    for _ in range(4):
        whole, target = thrown(random), target_of(name, random)
        inner = Body(Box(tuple(INNER)), fixed=True, position=whole.position, orientation=whole.orientation)
        apart, core = carom.signed_distance(whole, target), carom.signed_distance(inner, target)
        assert apart.gap == pytest.approx(core.gap - RADIUS, abs=1e-13)
        np.testing.assert_allclose(apart.points[1], core.points[1], atol=1e-7)
        np.testing.assert_allclose(apart.points[0], core.points[0] - RADIUS * apart.normal, atol=1e-7)


def test_rounded_faces_lie_on_each_other_by_their_flat_parts():
    below = Body(Box((2.0, 2.0, 1.0), radius=0.3), fixed=True)
    above = Body(ROUNDED, density=1.0, position=(0.9, 0.0, 0.5 + 0.5 * LENGTHS[2]))
    found = carom.contact_manifold(above, below)
    assert len(found) == 4
    np.testing.assert_allclose(found.normal, np.tile([0.0, 0.0, 1.0], (4, 1)), atol=1e-12)
    np.testing.assert_allclose(found.point[:, 2], 0.5, atol=1e-12)
    low, high = found.point.min(axis=0), found.point.max(axis=0)
    np.testing.assert_allclose([low[0], high[0]], [0.9 - 0.5 * INNER[0], 0.7], atol=1e-12)
    np.testing.assert_allclose([low[1], high[1]], [-0.5 * INNER[1], 0.5 * INNER[1]], atol=1e-12)


FLOORS = {
    "half-space": (HalfSpace((0, 0, 1)), (0.0, 0.0, 0.0)),
    "box": (PLATE, (0.0, 0.0, -0.2)),
    "rounded box": (Box((4.0, 4.0, 0.4), radius=0.1), (0.0, 0.0, -0.2)),
    "cylinder": (Cylinder(3.0, 0.4), (0.0, 0.0, -0.2)),
    "mesh": (Mesh(PLATE.surface()), (0.0, 0.0, -0.2)),
}


def rolling_scene(floor, friction):
    shape, place = FLOORS[floor]
    rough = Material(friction=friction, restitution=0.0)
    scene = carom.Scene(gravity=(0, 0, -9.81))
    scene.add(Body(shape, fixed=True, position=place, material=rough))
    arm = 0.5 * INNER[[0, 2]]
    lean = 0.9  # of the face from the floor, about -y: the box stands on the edge below its middle
    turn = Rotation.from_rotvec([0.0, -lean, 0.0])
    # from the edge's inner line, which is the radius above the floor, to the middle
    up = turn.apply([arm[0], 0.0, arm[1]])
    scene.add(
        Body(ROUNDED, density=700.0, position=np.array([0.0, 0.0, RADIUS]) + up, orientation=quaternion(turn),
             material=rough)
    )  # fmt: skip
    return scene, up


@pytest.mark.parametrize("floor", FLOORS)
@pytest.mark.parametrize("friction", [5.0, 0.0])
def test_a_box_rolls_or_slides_on_its_rounded_edge_as_its_equation_of_motion_says(floor, friction):
    scene, up = rolling_scene(floor, friction)
    body = scene.bodies[1]
    distance = float(np.hypot(up[0], up[2]))
    start = float(np.arctan2(up[0], up[2]))  # of the arm from the vertical, about y
    mass, inertia, pull = body.mass, float(body.inertia[1, 1]), 9.81

    def rates(_, y):
        angle, spin = y
        sine, cosine = np.sin(angle), np.cos(angle)
        if friction:  # about the line that rests: x = r + d cos, z = -d sin, times the spin
            effective = inertia + mass * (RADIUS**2 + distance**2 + 2.0 * RADIUS * distance * cosine)
            torque = mass * distance * sine * (pull + RADIUS * spin**2)
        else:  # the middle only moves up and down
            effective = inertia + mass * (distance * sine) ** 2
            torque = mass * distance * sine * (pull - distance * cosine * spin**2)
        return [spin, torque / effective]

    end = 0.12
    expected = solve_ivp(rates, (0.0, end), [start, 0.0], method="DOP853", rtol=1e-12, atol=1e-14).y[:, -1]
    trajectory = carom.Simulator(scene, law=carom.MaximumDissipation()).run(end)
    assert trajectory.status is RunStatus.REACHED_END
    state = trajectory.sample(end)
    assert state.angular_velocity[1, 1] == pytest.approx(expected[1], abs=1e-9)
    middle = state.position[1] - scene.bodies[1].position
    slid = RADIUS * (expected[0] - start) if friction else -distance * (np.sin(expected[0]) - np.sin(start))
    away = slid + distance * (np.sin(expected[0]) - np.sin(start))
    raised = distance * (np.cos(expected[0]) - np.cos(start))
    np.testing.assert_allclose(middle, [away, 0.0, raised], rtol=0.0, atol=1e-9)
    assert abs(trajectory.ledger(end).residual) < 1e-9


@pytest.mark.parametrize("floor", FLOORS)
def test_a_tilted_box_falls_on_its_face_and_comes_to_rest(floor):
    scene, _ = rolling_scene(floor, 0.8)
    trajectory = carom.Simulator(scene, law=carom.MaximumDissipation()).run(3.0)
    end = trajectory.sample(trajectory.end_time)
    assert np.abs(end.velocity).max() < 1e-9
    lowest = end.position[1, 2]
    assert (
        min(abs(lowest - 0.5 * length) for length in LENGTHS[[0, 2]]) < 1e-8
    )  # touching is 1e-9 of the size


@pytest.mark.parametrize("of_critical", [0.999, 1.001])
def test_a_rounded_box_tips_on_a_slope_over_the_edge_of_its_flat_part(of_critical):
    half, height, radius = 0.1, 0.15, 0.03
    slope = np.arctan(of_critical * (half - radius) / height)
    normal = np.array([np.sin(slope), 0.0, np.cos(slope)])
    rough = Material(friction=2.0)
    scene = carom.Scene()
    scene.add(Body(HalfSpace(normal), fixed=True, material=rough))
    turn = Rotation.from_rotvec([0.0, slope, 0.0])
    box = Box((2 * half, 0.2, 2 * height), radius=radius)
    scene.add(
        Body(box, density=700.0, position=height * normal, orientation=quaternion(turn), material=rough)
    )
    spin = np.abs(carom.Simulator(scene, carom.StrongeCoulomb()).run(1.0).sample(1.0).angular_velocity[1])
    assert spin.max() < 1e-12 if of_critical < 1.0 else spin[1] > 1e-3


TABLES = {
    "round edge": Box((2.0, 2.0, 1.0), radius=0.2),
    "sharp edge": Box((2.0, 2.0, 1.0)),
}


@pytest.mark.parametrize("table", TABLES)
def test_a_rounded_block_slides_off_a_table(table):
    """Pushed over the edge of a table it tips over the edge, and leaves it with energy accounted for."""
    smooth = Material(friction=0.1, restitution=0.0)
    scene = carom.Scene(gravity=(0, 0, -9.81))
    scene.add(Body(TABLES[table], fixed=True, position=(-1.0, 0, -0.5), material=smooth))
    start = (-0.7, 0, 0.5 * LENGTHS[2])
    scene.add(Body(ROUNDED, density=700.0, position=start, velocity=(1.5, 0, 0), material=smooth))
    trajectory = carom.Simulator(scene, law=carom.MaximumDissipation()).run(1.2)
    assert trajectory.status is RunStatus.REACHED_END
    assert trajectory.sample(1.2).position[1, 2] < -0.5
    for time in np.linspace(0.0, 1.2, 25):
        state = trajectory.sample(time)
        moved = Body(ROUNDED, fixed=True, position=state.position[1], orientation=state.orientation[1])
        assert carom.signed_distance(moved, scene.bodies[0]).gap > -1e-8
    assert abs(trajectory.ledger(1.2).residual) < 1e-7


def test_torque_free_motion_keeps_energy_and_angular_momentum():
    body = Body(
        ConvexMesh(0.5 * OCTAHEDRON * [1.0, 2.0, 3.0], radius=0.2), density=3.0, angular_velocity=(1, 5, 2)
    )
    scene = carom.Scene(gravity=(0, 0, 0))
    scene.add(body)
    trajectory = carom.Simulator(scene, law=carom.StrongeCoulomb()).run(20.0)
    spins = []
    for time in (0.0, 7.0, 20.0):
        state = trajectory.sample(time)
        turn = Rotation.from_quat(state.orientation[0], scalar_first=True).as_matrix()
        momentum = turn @ body.inertia @ turn.T @ state.angular_velocity[0]
        spins.append(np.append(momentum, 0.5 * momentum @ state.angular_velocity[0]))
    np.testing.assert_allclose(spins[1:], [spins[0]] * 2, rtol=1e-12)


def test_recorded_run_is_read_and_repeated(tmp_path):
    random = np.random.default_rng(3)
    scene = carom.Scene()
    scene.add(Body(HalfSpace((0, 0, 1)), fixed=True, material=MATERIAL))
    scene.add(thrown(random))
    scene.add(
        Body(ConvexMesh(0.3 * OCTAHEDRON, radius=0.1), density=500.0, position=(0, 0, 3), material=MATERIAL)
    )
    run = carom.Simulator(scene, law=carom.SequentialLCP()).run(1.5)
    run.save(tmp_path / "run.h5")
    read = carom.Trajectory.load(tmp_path / "run.h5")
    assert [body.shape for body in read.scene.bodies[1:]] == [body.shape for body in scene.bodies[1:]]
    assert carom.verify(tmp_path / "run.h5").equal
