"""Cells, levels and queue: runs as with all pairs, bit for bit; events that cost what is near; sensors."""

import numpy as np
import pytest

from carom import (
    AnitescuPotra,
    Body,
    Box,
    Capsule,
    HalfSpace,
    Material,
    RunStatus,
    Scene,
    SequentialReflection,
    Simulator,
    Sphere,
    Trajectory,
)
from carom.simulator import world
from carom.simulator.event import EventKind


def with_cells(monkeypatch, scene, law, *, sorted_into_cells, until, event_limit=400):
    """A finished run in cells however few bodies there are, or in one cell for all."""
    monkeypatch.setattr(world, "_FEW_BODIES", 0 if sorted_into_cells else 10**9)
    simulator = Simulator(scene, law, event_limit=event_limit)
    simulator.run(until)
    return simulator


def work_of(simulator):
    """Bounds and exact searches made so far, and cells left."""
    header = simulator._run.world.header
    return [int(header[name]) for name in ("bounds_made", "searches_made", "cells_left")]


def assert_equal_runs(first, second):
    """Every event and every piece of motion is the same to the last bit."""
    one, other = first.trajectory, second.trajectory
    assert one.status == other.status
    assert [event.time for event in one.events] == [event.time for event in other.events]
    for mine, theirs in zip(one.events, other.events, strict=True):
        assert mine.kind == theirs.kind
        assert mine.contacts.bodies.tolist() == theirs.contacts.bodies.tolist()
        assert mine.contacts.point.tobytes() == theirs.contacts.point.tobytes()
    for mine, theirs in zip(one.motions, other.motions, strict=True):
        assert mine.rows.tobytes() == theirs.rows.tobytes()
    assert first.state.position.tobytes() == second.state.position.tobytes()


def random_scene(seed, count, gravity, floor, *, kinds=3, size_ratio=10.0, friction=0.0, restitution=1.0):
    """Spheres (kinds 1), also boxes and capsules (3), of mixed sizes and speeds that do not touch yet."""
    rng = np.random.default_rng(seed)
    material = Material(friction=friction, restitution=restitution)
    scene = Scene(gravity=gravity)
    sizes = 0.5 * size_ratio ** -rng.uniform(size=count)
    edge = (40.0 * np.sum(sizes**3)) ** (1.0 / 3.0) + 1.0
    placed = []
    for size in np.sort(sizes)[::-1]:
        while True:
            where = rng.uniform(-0.5 * edge, 0.5 * edge, 3) + np.array([0.0, 0.0, 0.5 * edge + 0.6])
            if all(np.linalg.norm(where - other) > 1.01 * (size + radius) for other, radius in placed):
                break
        placed.append((where, size))
        shape = [Sphere(size), Box(size * np.array([1.2, 1.0, 0.8])), Capsule(0.4 * size, 1.1 * size)]
        turned = rng.normal(size=4)
        scene.add(
            Body(
                shape[rng.integers(kinds)],
                density=1000.0,
                position=where,
                orientation=turned / np.linalg.norm(turned),
                velocity=rng.normal(size=3) * 10.0 ** rng.uniform(-1.0, 1.0) - 1.5 * where / edge,
                angular_velocity=rng.normal(size=3),
                material=material,
            )
        )
    if floor:
        scene.add(Body(HalfSpace((0, 0, 1)), fixed=True, material=material))
        for normal in ((1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0)):
            scene.add(Body(HalfSpace(normal, offset=-0.5 * edge - 0.6), fixed=True, material=material))
    return scene


def both_runs(monkeypatch, scene, law, until, event_limit):
    """The run in cells, after it was found equal to that in one cell for all."""
    runs = [
        with_cells(monkeypatch, scene, law, sorted_into_cells=cells, until=until, event_limit=event_limit)
        for cells in (True, False)
    ]
    assert_equal_runs(*runs)
    assert runs[0].trajectory.largest_overlap(20) < 1e-9
    assert work_of(runs[1])[2] == 0
    return runs[0]


@pytest.mark.parametrize("gravity", [(0, 0, 0), (0, 0, -9.81)])
@pytest.mark.parametrize("floor", [False, True])
@pytest.mark.parametrize("kinds", [1, 3])
@pytest.mark.parametrize(("seed", "count"), [(0, 2), (1, 20), (2, 60)])
def test_runs_are_those_of_all_pairs(monkeypatch, gravity, floor, kinds, seed, count):
    scene = random_scene(seed, count, gravity, floor, kinds=kinds)
    run = both_runs(monkeypatch, scene, SequentialReflection(), 1.0, 60)
    if count == 60 and kinds == 1 and floor:
        assert len(run.trajectory.events) > 20
        assert work_of(run)[2] > 20


@pytest.mark.parametrize("seed", [14, 16])
def test_runs_with_lasting_contact_are_those_of_all_pairs(monkeypatch, seed):
    scene = random_scene(seed, 12, (0, 0, -9.81), True, size_ratio=4.0, friction=0.4, restitution=0.0)
    run = both_runs(monkeypatch, scene, AnitescuPotra(), 1.0, 100)
    assert any(event.kind is not EventKind.IMPACT for event in run.trajectory.events)


def test_sizes_from_a_floor_of_boxes_to_a_grain(monkeypatch):
    scene = Scene()
    material = Material(friction=0.0, restitution=1.0)
    scene.add(Body(Box((200.0, 200.0, 20.0)), fixed=True, position=(0, 0, -10.0), material=material))
    scene.add(Body(Sphere(5.0), density=1.0, position=(8.0, 0, 7.0), velocity=(-3, 0, 0), material=material))
    rng = np.random.default_rng(5)
    for k in range(30):
        where = (0.3 * (k % 6) - 1.0, 0.3 * (k // 6) - 0.7, 1.0 + 0.02 * k)
        scene.add(
            Body(
                Sphere(0.005 * 3.0 ** (k % 4)),
                density=1.0,
                position=where,
                velocity=rng.normal(size=3),
                material=material,
            )
        )
    run = both_runs(monkeypatch, scene, SequentialReflection(), 2.0, 150)
    assert len(run._run.world.levels) > 4
    assert len(run.trajectory.events) > 50


def test_a_fast_small_body_crosses_many_cells_and_misses_nothing(monkeypatch):
    scene = Scene(gravity=(0.0, 0.0, -9.81))
    material = Material(friction=0.0, restitution=1.0)
    bullet = Body(Sphere(0.01), mass=0.01, position=(-40, 0, 0), velocity=(300, 0, 0), material=material)
    scene.add(bullet)
    fall = 0.5 * 9.81 * (79.98 / 300) ** 2
    target = Body(Sphere(0.01), mass=0.01, position=(40, 0, -fall), fixed=True, material=material)
    scene.add(target)
    for k in range(30):
        scene.add(Body(Sphere(0.01), mass=1.0, fixed=True, position=(2.0 * k - 30.0, 0.5, 0)))
    simulator = with_cells(monkeypatch, scene, SequentialReflection(), sorted_into_cells=True, until=0.3)
    first = simulator.trajectory.events[0]
    assert first.contacts.bodies.tolist() == [[0, 1]]
    assert first.time == pytest.approx(79.98 / 300, abs=1e-9)
    assert work_of(simulator)[2] > 1000


def gas(count, edge, seed):
    """Elastic spheres of radius 0.1 in a cube of walls."""
    rng = np.random.default_rng(seed)
    material = Material(friction=0.0, restitution=1.0)
    scene = Scene(gravity=(0, 0, 0))
    for axis in np.vstack([np.eye(3), -np.eye(3)]):
        scene.add(Body(HalfSpace(axis, offset=-0.5 * edge), fixed=True, material=material))
    side = int(np.ceil(count ** (1.0 / 3.0)))
    for k in range(count):
        place = np.array([k // side**2, k // side % side, k % side])
        where = (place + 0.5) * edge / side - 0.5 * edge
        scene.add(Body(Sphere(0.1), mass=1.0, position=where, velocity=rng.normal(size=3), material=material))
    return scene


def test_bodies_far_away_change_neither_the_run_nor_its_cost():
    alone, with_more = gas(64, 1.6, 1), gas(64, 1.6, 1)
    rng = np.random.default_rng(2)
    for k in range(500):  # beyond the walls these would be inside them
        with_more.add(
            Body(
                Sphere(0.1),
                mass=1.0,
                position=(-50.0 - k, rng.normal(), 0),
                collision_group=2,
                collision_mask=2,
            )
        )
    counts = []
    for scene in (alone, with_more):
        simulator = Simulator(scene, SequentialReflection(), event_limit=200)
        before = work_of(simulator)
        simulator.run(100.0)
        assert simulator.trajectory.status is RunStatus.EVENT_LIMIT
        motions = [motion.rows.tobytes() for motion in simulator.trajectory.motions[:70]]
        counts.append((np.subtract(work_of(simulator), before).tolist(), motions))
    assert counts[0] == counts[1]


def test_an_event_costs_no_more_predictions_in_a_larger_gas():
    costs = []
    for count in (125, 1000):
        scene = gas(count, 0.4 * count ** (1.0 / 3.0), 3)
        simulator = Simulator(scene, SequentialReflection(), event_limit=300)
        simulator.run(0.0)  # all bodies are predicted
        before = work_of(simulator)
        simulator.run(100.0)
        costs.append(np.subtract(work_of(simulator), before)[:2] / 300)
    assert costs[1][0] < 1.2 * costs[0][0] < 120.0
    assert costs[1][1] < 1.2 * costs[0][1] < 6.0


def test_impacts_at_one_instant_come_in_the_order_of_their_pairs():
    scene = Scene(gravity=(0, 0, 0))
    material = Material(friction=0.0, restitution=1.0)
    places = [(0, 20.0), (0, 0.0), (3, 0.0), (3, 20.0), (0, 10.0), (3, 10.0)]
    for x, y in places:
        scene.add(
            Body(Sphere(1.0), mass=1.0, position=(x, y, 0), velocity=(0.5 - x / 3.0, 0, 0), material=material)
        )
    trajectory = Simulator(scene, SequentialReflection()).run(3.0)
    assert len({event.time for event in trajectory.events}) == 1
    found = [event.contacts.bodies[0].tolist() for event in trajectory.events]
    assert found == [[0, 3], [1, 2], [4, 5]]


def test_overlap_at_the_start_is_found_among_many():
    scene = gas(125, 2.0, 4)
    scene.add(Body(Sphere(0.1), mass=1.0, position=scene.bodies[60].position + 0.05, name="late"))
    with pytest.raises(ValueError, match="'late' overlap by"):
        Simulator(scene, SequentialReflection())


def test_step_event_tells_that_spheres_drift_apart():
    scene = Scene(gravity=(0, 0, 0))
    for k in range(30):
        scene.add(Body(Sphere(0.1), mass=1.0, position=(k, 0, 0), velocity=(k, 0, 0)))
    simulator = Simulator(scene, SequentialReflection())
    assert simulator.step_event() is None
    assert simulator.trajectory.status is RunStatus.UNFINISHED


def crossing_scene(velocity=(0, 0, 0), **sensor):
    """A ball that falls through a sensor onto an elastic floor."""
    material = Material(friction=0.0, restitution=1.0)
    scene = Scene(gravity=(0, 0, -10.0))
    scene.add(Body(HalfSpace((0, 0, 1)), fixed=True, material=material))
    scene.add(Body(Sphere(0.1), mass=1.0, position=(0, 0, 5.1), velocity=velocity, material=material))
    scene.add(Body(position=(0, 0, 2.0), fixed=True, sensor=True, **sensor))
    return scene


@pytest.mark.parametrize("shape", [Sphere(0.5), Box((1.0, 1.0, 1.0))])
def test_a_sensor_notices_each_passage_once_and_pushes_nothing(tmp_path, shape):
    trajectory = Simulator(crossing_scene(shape=shape), SequentialReflection()).run(2.8)
    kinds = [event.kind for event in trajectory.events]
    # down through the sensor, bounce at t = 1, up through it, at the top at t = 2, down through it again
    assert kinds == [EventKind.SENSOR, EventKind.IMPACT, EventKind.SENSOR, EventKind.SENSOR]
    enters = [np.sqrt(2 * (5.1 - 2.6) / 10.0), 1.0 + 1.0 - np.sqrt(2 * (5.1 - 1.4) / 10.0)]
    enters.append(2.0 + enters[0])
    found = [event.time for event in trajectory.events if event.kind is EventKind.SENSOR]
    np.testing.assert_allclose(found, enters, atol=1e-9)
    assert trajectory.events[0].contacts.bodies.tolist() == [[1, 2]]
    assert trajectory.events[0].outcome is None
    assert trajectory.sample(2.0).position[1, 2] == pytest.approx(5.1, abs=1e-9)
    again = Trajectory.load(trajectory.save(tmp_path / "sensor.h5"))
    assert [event.kind for event in again.events] == kinds


def test_a_sensor_may_hold_a_body_at_the_start():
    trajectory = Simulator(crossing_scene(shape=Sphere(4.0)), SequentialReflection()).run(1.9)
    assert [event.kind for event in trajectory.events] == [EventKind.IMPACT]


def test_a_body_that_leaves_and_enters_within_one_flight_is_noticed():
    scene = crossing_scene(velocity=(0, 0, 4.0), shape=HalfSpace((0, 0, 1), offset=3.0))
    trajectory = Simulator(scene, SequentialReflection()).run(0.9)
    assert [event.kind for event in trajectory.events] == [EventKind.SENSOR]
    assert trajectory.events[0].time == pytest.approx(0.8, abs=1e-12)


def test_a_sensor_is_no_part_of_lasting_contact():
    scene = Scene()
    scene.add(Body(HalfSpace((0, 0, 1)), fixed=True))
    scene.add(Body(Box((1, 1, 1)), density=1.0, position=(0, 0, 0.5)))
    scene.add(Body(Box((2, 2, 2)), fixed=True, sensor=True, position=(0, 0, 1.0)))
    trajectory = Simulator(scene, AnitescuPotra()).run(1.0)
    assert trajectory.status is RunStatus.AT_REST
    assert not trajectory.events


def test_bodies_of_other_groups_and_disabled_pairs_pass():
    scene = Scene(gravity=(0, 0, 0))
    scene.add(Body(Sphere(0.1), mass=1.0, velocity=(1, 0, 0)))
    scene.add(Body(Sphere(0.1), mass=1.0, position=(1, 0, 0), collision_group=2, collision_mask=2))
    scene.add(Body(Sphere(0.1), mass=1.0, position=(2, 0, 0)))
    scene.add(Body(Sphere(0.1), mass=1.0, position=(3, 0, 0)))
    scene.disable_collision(0, 2)
    trajectory = Simulator(scene, SequentialReflection()).run(5.0)
    assert [event.contacts.bodies.tolist() for event in trajectory.events] == [[[0, 3]]]
    assert trajectory.events[0].time == pytest.approx(2.8, abs=1e-12)
