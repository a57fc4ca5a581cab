"""Convex bodies by time steps: `Simulator(steps=)`."""

import copy
import pickle

import numpy as np
import pytest

import carom
from carom.command_line import main
from carom.simulator.stepping.convex_contacts import SKIN, ConvexContacts

GRAVITY = 9.81
LAW = carom.MaximumDissipation(tolerance=1e-8)
LOOSE = carom.MaximumDissipation(tolerance=1e-4, max_sweeps=500)
STATES = ("position", "orientation", "velocity", "angular_velocity")


def with_floor(friction: float = 0.5, gravity=(0.0, 0.0, -GRAVITY)) -> tuple[carom.Scene, carom.Material]:
    """A scene with a floor, and the material of all."""
    material = carom.Material(friction=friction)
    scene = carom.Scene(gravity=gravity)
    scene.add(carom.Body(carom.HalfSpace((0, 0, 1)), fixed=True, material=material, name="floor"))
    return scene, material


def brick_on_floor(friction: float = 0.5, height: float = 0.0, **state) -> carom.Scene:
    """A brick of 0.2 x 0.2 x 0.1 m that lies on a floor or, level, that high [m] above it."""
    scene, material = with_floor(friction)
    brick, place = carom.Box((0.2, 0.2, 0.1)), (0, 0, 0.05 + height)
    scene.add(carom.Body(brick, density=1000.0, position=place, material=material, name="brick", **state))
    return scene


def tossed(count: int = 6, seed: int = 0) -> carom.Scene:
    """Bodies of several shapes above a floor and a table that stands on it."""
    scene, material = with_floor()
    table = carom.Box((0.6, 0.3, 0.2))
    scene.add(carom.Body(table, fixed=True, position=(0, 0, 0.1), material=material, name="table"))
    random = np.random.default_rng(seed)
    shapes = (
        carom.Box((0.1, 0.08, 0.05)), carom.Sphere(0.05), carom.Capsule(0.03, 0.1), carom.Cylinder(0.04, 0.1),
        carom.ConvexMesh(random.uniform(-0.06, 0.06, (12, 3))),
    )  # fmt: skip
    for k in range(count):
        turn = random.normal(size=4)
        scene.add(carom.Body(
            shapes[k % len(shapes)], density=800.0, position=(0.1 * (k % 3) - 0.1, 0.05 * (k % 2), 0.4 + 0.16 * k),
            orientation=turn / np.linalg.norm(turn), angular_velocity=3.0 * random.normal(size=3),
            material=material,
        ))  # fmt: skip
    return scene


def equal_at(one: carom.Trajectory, other: carom.Trajectory, times) -> bool:
    """Whether two runs are in the same states, bit for bit."""
    here, there = one.sample(times), other.sample(times)
    return all(np.array_equal(getattr(here, name), getattr(there, name)) for name in STATES)


# -- single bodies, of which the answer is known ---------------------------------------------------------------


def test_a_falling_body_gets_the_impulses_of_gravity_and_turns_exactly():
    scene = carom.Scene()
    spinning = carom.Body(
        carom.Box((0.1, 0.2, 0.3)), density=1000.0, position=(0, 0, 5), angular_velocity=(1.0, 7.0, 0.5)
    )
    scene.add(spinning)
    simulator = carom.Simulator(scene, LAW, steps=2e-3)
    end = simulator.run(0.5).sample(0.5)
    weightless = carom.Scene(gravity=(0, 0, 0))
    weightless.add(spinning)
    exact = carom.Simulator(weightless, LAW).run(0.5).sample(0.5)
    count = len(simulator.step_log)
    assert count == 250
    assert end.velocity[0, 2] == pytest.approx(-GRAVITY * 0.5, rel=1e-12)
    assert end.position[0, 2] == pytest.approx(5.0 - GRAVITY * 4e-6 * count * (count + 1) / 2, rel=1e-12)
    np.testing.assert_allclose(end.orientation, exact.orientation, atol=1e-12)
    np.testing.assert_allclose(end.angular_velocity, exact.angular_velocity, atol=1e-11)


def test_a_brick_that_lies_stays_and_is_carried():
    simulator = carom.Simulator(brick_on_floor(), LAW, steps=2e-3)
    end = simulator.run(0.4, stop_at_rest=False).sample(0.4)
    last = simulator.step_log[-1]
    assert last["contacts"] == 4
    assert last["speed"] <= 1e-9
    np.testing.assert_allclose(last["support"], (0.0, 0.0, 4.0 * GRAVITY), atol=1e-6)
    # it is grown by half a percent of its size, and was let go without that
    assert end.position[1, 2] == pytest.approx(0.05 + SKIN * 0.15, abs=1e-9)


@pytest.mark.parametrize("friction", [0.2, 0.5])
def test_a_sliding_brick_stops_where_it_should_to_first_order_in_the_step(friction):
    errors = []
    for step in (4e-3, 2e-3, 1e-3):
        scene = brick_on_floor(friction, height=SKIN * 0.15, velocity=(1.0, 0.0, 0.0))
        law = carom.MaximumDissipation("coulomb", tolerance=1e-8)
        run = carom.Simulator(scene, law, steps=step).run(2.0)
        assert run.status is carom.RunStatus.AT_REST
        errors.append(abs(run.sample(run.end_time).position[1, 0] - 1.0 / (2.0 * friction * GRAVITY)))
    order = np.log2(np.array(errors[:-1]) / errors[1:])
    assert np.abs(order - 1.0).max() < 0.02, errors
    assert errors[-1] < 0.55 * 1e-3  # which is half of the way in a step


def test_a_brick_comes_down_without_stopping_above_the_floor_or_going_into_it():
    scene = brick_on_floor(height=0.25, velocity=(0.0, 0.0, -3.0))
    simulator = carom.Simulator(scene, LAW, steps=2e-3)
    run = simulator.run(0.3, stop_at_rest=False)
    heights = run.sample(np.linspace(0.0, run.end_time, 400)).position[:, 1, 2]
    assert heights.min() >= 0.05 + SKIN * 0.15 - 1e-9
    assert heights[-1] == pytest.approx(0.05 + SKIN * 0.15, abs=1e-9)
    assert (simulator.step_log["energy_after"] - simulator.step_log["energy_before"]).max() <= 1e-12


@pytest.mark.parametrize("shape", [carom.Cylinder(0.05, 0.1), carom.Box((0.1, 0.1, 0.1))])
@pytest.mark.parametrize("lies", [False, True])
def test_what_stands_or_lies_on_a_fixed_box_stays(shape, lies):
    scene, material = with_floor()
    table = carom.Box((0.5, 0.5, 0.1))
    scene.add(carom.Body(table, fixed=True, position=(0, 0, 0.05), material=material, name="table"))
    turn = (np.sqrt(0.5), np.sqrt(0.5), 0, 0) if lies else (1, 0, 0, 0)
    skin = SKIN * carom.Body(shape, density=1.0).bounding_radius
    scene.add(
        carom.Body(shape, density=800.0, position=(0, 0, 0.15 + skin), orientation=turn, material=material)
    )
    simulator = carom.Simulator(scene, LAW, steps=2e-3)
    run = simulator.run(1.0, stop_at_rest=False)
    assert run.status is carom.RunStatus.AT_REST
    assert np.abs(run.sample(1.0).position[2] - (0, 0, 0.15 + skin)).max() < 1e-6
    weight = scene.bodies[2].mass * GRAVITY
    np.testing.assert_allclose(simulator.step_log["support"][-1], (0.0, 0.0, weight), atol=1e-5 * weight)


def test_a_stack_that_rests_does_not_creep():
    scene, material = with_floor()
    for k in range(6):
        size = 0.1 * np.array((1.0, 1.0, 0.5))
        scene.add(carom.Body(
            carom.Box(size), density=800.0, position=(0, 0, 0.025 + 0.052 * k), material=material,
        ))  # fmt: skip
    simulator = carom.Simulator(scene, LAW, steps=2e-3)
    places = simulator.step(1.0).position
    assert np.abs(simulator.step(2.0).position - places).max() < 1e-9


# -- impacts ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_momentum_is_kept_and_energy_never_gained(seed):
    random = np.random.default_rng(seed)
    scene = carom.Scene(gravity=(0, 0, 0))
    for k in range(8):
        place = 0.3 * np.array([k & 1, (k >> 1) & 1, k >> 2]) - 0.15
        shape = carom.Box(random.uniform(0.08, 0.2, 3)) if k % 2 else carom.Capsule(0.05, 0.1)
        scene.add(carom.Body(
            shape, density=random.uniform(100, 5000), position=place,
            velocity=-4.0 * place + 0.3 * random.normal(size=3), angular_velocity=random.normal(size=3),
        ))  # fmt: skip
    simulator = carom.Simulator(scene, LAW, steps=2e-3)
    run = simulator.run(0.3)
    mass = np.array([body.mass for body in scene.bodies])
    states = [run.sample(time) for time in (0.0, 0.3)]
    before, after = (mass @ state.velocity for state in states)
    assert np.abs(after - before).max() < 1e-13 * mass @ np.linalg.norm(states[0].velocity, axis=1)
    log = simulator.step_log
    assert log["contacts"].max() > 4
    assert (log["energy_after"] <= log["energy_before"] * (1.0 + 1e-14)).all()
    assert log["energy_after"][-1] < 0.9 * log["energy_before"][0]
    assert log["beyond_cone"].max() <= 1e-14


@pytest.mark.parametrize("seed", range(4))
def test_many_shapes_come_to_rest_on_floor_and_table(seed):
    simulator = carom.Simulator(tossed(10, seed), LOOSE, steps=2e-3)
    run = simulator.run(4.0)
    assert simulator.step_log["gap"].min() > -0.01  # of bodies of 0.1 m that turn by 0.1 rad in a step
    assert run.overlap_at(run.end_time) == 0.0
    weight = sum(body.mass for body in run.scene.bodies if not body.fixed) * GRAVITY
    if run.status is carom.RunStatus.AT_REST:  # what is round rolls on
        support = simulator.step_log["support"][-100:].mean(axis=0)
        assert abs(support[2] - weight) < 0.01 * weight
        assert not run.sample(run.end_time).velocity.any()
    heights = run.sample(np.linspace(0.0, run.end_time, 50)).position[:, 2:, 2]
    assert heights.min() > 0.0


def test_pairs_near_each_other_are_those_that_all_pairs_give():
    random = np.random.default_rng(0)
    for large in (0, 3):
        scene = carom.Scene()
        sizes = np.concatenate([random.uniform(0.02, 0.06, 40), random.uniform(0.5, 1.0, large)])
        for size in sizes:
            scene.add(carom.Body(
                carom.Sphere(size), density=1.0, position=random.uniform(-1, 1, 3),
            ))  # fmt: skip
        model = carom.simulator.state.Model.of_scene(scene)
        reach = random.uniform(0.0, 0.1, len(sizes))
        states = model.initial_states()[model.movable]
        pairs, apart = ConvexContacts(model).near(states, np.ones(len(states), bool), reach)
        place = model.initial_states()[:, :3]
        first, second = np.triu_indices(len(sizes), 1)
        gap = np.linalg.norm(place[first] - place[second], axis=1) - sizes[first] - sizes[second]
        meet = gap <= reach[first] + reach[second]
        assert np.array_equal(pairs, np.column_stack([first, second])[meet])
        np.testing.assert_allclose(apart, gap[meet], atol=1e-15)


SMALL = (
    carom.Capsule(0.015, 0.04), carom.Box((0.05, 0.04, 0.03)), carom.Cylinder(0.02, 0.05), carom.Sphere(0.02),
    carom.ConvexMesh(np.random.default_rng(1).uniform(-0.03, 0.03, (12, 3))),
)  # fmt: skip


@pytest.mark.parametrize("shape", SMALL, ids=lambda shape: type(shape).__name__)
@pytest.mark.parametrize("width", [2.0, 20.0])
def test_small_bodies_do_not_fall_into_large_ones(shape, width):
    """Saved: features that were level within a share of the larger body, which was more than the small one."""
    material = carom.Material(friction=0.5)
    scene = carom.Scene()
    ground = carom.Box((width, width, 1.0))
    scene.add(carom.Body(ground, position=(0, 0, -0.5), fixed=True, material=material, name="ground"))
    random = np.random.default_rng(0)
    for k in range(4):
        turn = random.normal(size=4)
        scene.add(carom.Body(
            shape, density=2600.0, position=(0.11 * k + 0.013, 0.02, 0.1 + 0.05 * k), material=material,
            orientation=turn / np.linalg.norm(turn),
        ))  # fmt: skip
    simulator = carom.Simulator(scene, LOOSE, steps=2e-3)
    run = simulator.run(1.0, stop_at_rest=False)
    assert run.largest_overlap() < 2e-3
    assert run.overlap_at(1.0) == 0.0


@pytest.mark.parametrize("ratio", [100.0, 200.0])
def test_a_small_cube_falls_onto_a_large_one(ratio):
    scene, material = with_floor()
    for side, height in ((1.0, 0.52), (1.0 / ratio, 1.3)):
        cube = carom.Box((side,) * 3)
        scene.add(carom.Body(cube, density=1000.0, position=(0.1, 0, height), material=material))
    law = carom.MaximumDissipation(tolerance=1e-10, max_sweeps=2000)  # of the weight of the large one
    run = carom.Simulator(scene, law, steps=2e-3).run(1.5)
    assert run.status is carom.RunStatus.AT_REST
    assert run.largest_overlap() < 1e-3
    assert run.sample(1.5).position[2, 2] == pytest.approx(1.01 + 0.5 / ratio, abs=0.01)


@pytest.mark.parametrize(("thickness", "gap", "speed"), [(0.002, 1e-3, 50.0), (0.05, 1.5e-3, 20.0)])
def test_what_another_body_hits_does_not_go_through_a_plate(thickness, gap, speed):
    """Saved: contacts were looked for with the velocities before the impact."""
    scene = carom.Scene(gravity=(0, 0, 0))
    plate = carom.Box((2.0, 2.0, thickness))
    scene.add(carom.Body(plate, fixed=True, position=(0, 0, -0.5 * thickness), name="plate"))
    for name, density, place, velocity in (("light", 1e3, 0.02 + gap, 0.0), ("heavy", 2e4, 0.3, -speed)):
        scene.add(carom.Body(
            carom.Sphere(0.02), density=density, position=(0, 0, place), velocity=(0, 0, velocity), name=name,
        ))  # fmt: skip
    law = carom.MaximumDissipation(tolerance=1e-10, max_sweeps=5000)
    simulator = carom.Simulator(scene, law, steps=2e-3)
    run = simulator.run(0.1, stop_at_rest=False)
    assert run.largest_overlap(1000) < 1e-6
    assert (run.sample(np.linspace(0, 0.1, 200)).position[:, 1:, 2] > 0.02 - 1e-6).all()


# -- time, parts, copies ---------------------------------------------------------------------------------------


def test_a_run_in_parts_equals_one_in_whole():
    whole = carom.Simulator(tossed(), LOOSE, steps=2e-3)
    parts = carom.Simulator(tossed(), LOOSE, steps=2e-3)
    whole.run(0.6)
    for until in (0.0, 0.1, 0.1013, 0.1014, 0.3, 0.6):
        parts.run(until)
        assert parts.time == until
        assert parts.state.time == until
    times = np.linspace(0.0, 0.6, 97)
    assert equal_at(whole.trajectory, parts.trajectory, times)
    assert np.array_equal(whole.step_log, parts.step_log)
    assert np.array_equal(parts.state.position, whole.state.position)


def test_state_in_mid_step_is_that_of_the_trajectory():
    simulator = carom.Simulator(tossed(), LOOSE, steps=5e-3)
    for until in (0.0, 0.0021, 0.1, 0.2513):
        state = simulator.step(until - simulator.time)
        recorded = simulator.trajectory.sample(until)
        np.testing.assert_allclose(state.position, recorded.position, atol=2e-6)
        np.testing.assert_allclose(state.velocity, recorded.velocity, atol=1e-3)


def test_a_copy_goes_on_as_the_original_does():
    simulator = carom.Simulator(tossed(), LOOSE, steps=2e-3)
    simulator.run(0.25)
    other = simulator.copy()
    simulator.run(0.5)
    assert other.time == 0.25
    assert len(other.step_log) == 125
    other.run(0.5)
    assert equal_at(simulator.trajectory, other.trajectory, np.linspace(0.0, 0.5, 31))
    assert np.array_equal(simulator.step_log, other.step_log)


def test_a_state_can_be_set_in_mid_step():
    simulator = carom.Simulator(brick_on_floor(height=1.0), LAW, steps=4e-3)
    simulator.run(0.101)
    state = simulator.state.copy()
    state["brick"].position[:] = (0, 0, 3.0)
    state["brick"].velocity[:] = (1.0, 0, 0)
    simulator.state = state
    assert simulator.state["brick"].position.tolist() == [0, 0, 3.0]
    assert [event.note for event in simulator.trajectory.events] == ["state set"]
    end = simulator.run(0.201).sample(0.201)["brick"]
    assert end.position[0] == pytest.approx(0.1, rel=1e-12)
    assert end.velocity[2] == pytest.approx(-25 * 4e-3 * GRAVITY, rel=1e-12)
    state["brick"].position[2] = 0.0
    with pytest.raises(ValueError, match=r"'brick' and 'floor' overlap by 0.05 m at t = 0.201 s"):
        simulator.state = state
    assert np.array_equal(simulator.state.position, simulator.trajectory.sample(0.201).position)


def test_what_rests_has_no_speed_and_goes_on_from_there():
    simulator = carom.Simulator(tossed(1), LOOSE, steps=2e-3)
    run = simulator.run(9.0)
    assert run.status is carom.RunStatus.AT_REST
    assert run.rest_time == pytest.approx(simulator.time - 0.25, abs=2e-3)
    assert run.known_until == 9.0
    assert not simulator.state.velocity.any()
    places = simulator.state.position
    assert simulator.run(9.0).end_time == run.end_time
    assert np.abs(simulator.step(0.5).position - places).max() < 1e-4
    assert (
        "0 of which left more" in run.message or "of which left more than the law's tolerance" in run.message
    )


def test_a_state_that_is_set_after_rest_ends_what_was_known():
    simulator = carom.Simulator(tossed(1), LOOSE, steps=2e-3)
    run = simulator.run(9.0)
    assert run.known_until == 9.0
    state = simulator.state.copy()
    state.velocity[2] = (0, 0, 1.0)
    simulator.state = state
    assert run.known_until == simulator.time < 9.0
    assert run.rest_time is None
    with pytest.raises(ValueError, match=r"t: "):
        run.sample(9.0)
    assert simulator.run(9.0).status is carom.RunStatus.AT_REST


def test_a_simulator_goes_to_another_process():
    simulator = carom.Simulator(tossed(), LOOSE, steps=2e-3)
    simulator.run(0.2)
    for other in (pickle.loads(pickle.dumps(simulator)), copy.deepcopy(simulator)):
        other.run(0.4)
        assert other.time == 0.4
        np.testing.assert_array_equal(other.state.position, simulator.copy().step(0.2).position)


@pytest.mark.parametrize("scale", [1e-4, 1.0, 1e3])
def test_the_unit_of_length_does_not_matter(scale):
    """Saved: what is recorded may be off by a share of a body's size, not by a length."""
    runs = []
    for unit in (1.0, scale):
        scene = carom.Scene(gravity=(0, 0, -GRAVITY * unit))
        scene.add(carom.Body(carom.HalfSpace((0, 0, 1)), fixed=True))
        for k in range(3):
            scene.add(carom.Body(
                carom.Box(unit * np.array((0.1, 0.08, 0.06))), density=1000.0 / unit**3,
                position=unit * np.array((0.03 * k, 0, 0.2 + 0.15 * k)), angular_velocity=(1, 2, 3),
                orientation=np.array((0.9, 0.3, 0.3, 0.1)),
            ))  # fmt: skip
        simulator = carom.Simulator(scene, LOOSE, steps=2e-3)
        run = simulator.run(0.5, stop_at_rest=False)
        times = np.linspace(0.0, 0.5, 101)
        ends = simulator.state.position
        assert np.abs(run.sample(0.5).position - ends).max() < 2e-6 * unit
        runs.append((run.sample(times).position / unit, run.largest_overlap() / unit))
    assert np.abs(runs[0][0] - runs[1][0]).max() < 1e-3
    assert abs(runs[0][1] - runs[1][1]) < 1e-4


def test_nothing_that_moves_is_at_rest():
    scene = carom.Scene()
    scene.add(carom.Body(carom.HalfSpace((0, 0, 1)), fixed=True))
    for step in (2e-3, 1e-310):
        assert carom.Simulator(scene, LOOSE, steps=step).run(step).status is carom.RunStatus.AT_REST


def test_a_body_that_is_lost_ends_the_run_in_words():
    simulator = carom.Simulator(tossed(2), LOOSE, steps=2e-3)
    state = simulator.state.copy()
    state.velocity[2] = (1e307, 0, 0)
    simulator.state = state
    run = simulator.run(0.1)
    assert run.status is carom.RunStatus.NOT_FINITE
    assert "has no finite state at t = 0.0" in run.message


def test_a_recording_while_it_runs_equals_one_that_is_saved(tmp_path):
    recorded = carom.Simulator(tossed(), LOOSE, seed=3, steps=2e-3, record=tmp_path / "while.h5")
    recorded.run(0.5)
    whole = carom.Simulator(tossed(), LOOSE, seed=3, steps=2e-3).run(0.5)
    whole.save(tmp_path / "saved.h5")
    for name in ("while.h5", "saved.h5"):
        read = carom.Trajectory.load(tmp_path / name)
        assert equal_at(read, whole, np.linspace(0.0, 0.5, 41))
        assert read.status is carom.RunStatus.REACHED_END
        assert "250 steps of 0.002 s" in read.message
        assert read.seed == 3
        with pytest.raises(ValueError, match="expected a run from event to event, got one by time steps"):
            carom.verify(read)
        with pytest.raises(ValueError, match="expected a run from event to event, got one by time steps"):
            carom.Simulator.resume(read, 0)


# -- what is refused -------------------------------------------------------------------------------------------


def scene_with(**change) -> carom.Scene:
    scene = brick_on_floor(height=0.2)
    body = {"density": 1.0, "position": (1, 0, 1), "name": "other"} | change
    scene.add(carom.Body(body.pop("shape", carom.Sphere(0.1)), **body))
    return scene


CORNERS = np.array([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)], dtype=float)
FACES = np.array([(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)])


@pytest.mark.parametrize(
    ("change", "error", "said"),
    [
        ({"shape": carom.Mesh((CORNERS, FACES))}, TypeError, "'other': expected a convex shape"),
        (
            {"shape": carom.Mesh((CORNERS, FACES)), "fixed": True, "density": None},
            TypeError,
            "'other': expected a",
        ),
        ({"material": carom.Material(rolling_friction=0.1)}, ValueError, "'other'.*no rolling_friction"),
        ({"sensor": True}, ValueError, "'other': time steps have no sensors"),
        ({"shape": carom.Ellipsoid((0.1, 0.2, 0.3))}, TypeError, "llipsoid"),
        ({"position": (0, 0, 0.3)}, ValueError, "'brick' and 'other' overlap by .* at the start"),
        ({"position": (1, 0, 0.05)}, ValueError, "'other' and 'floor' overlap by 0.05 m at the start"),
    ],
)
def test_what_steps_cannot_move_is_refused_by_name(change, error, said):
    with pytest.raises(error, match=said):
        carom.Simulator(scene_with(**change), LAW, steps=1e-3)


def test_scenes_that_steps_cannot_move_are_refused_by_name():
    hinged = brick_on_floor(height=1.0)
    hinged.add_joint(carom.RevoluteJoint(hinged.bodies[1], anchor=(0, 0, 1), axis=(0, 1, 0)))
    with pytest.raises(ValueError, match="this one has joints"):
        carom.Simulator(hinged, LAW, steps=1e-3)
    with pytest.raises(TypeError, match=r"law: expected an instance such as StrongeCoulomb\(\)"):
        carom.Simulator(brick_on_floor(), carom.StrongeCoulomb, steps=1e-3)
    soft = brick_on_floor(height=1.0)
    soft.set_pair_material("brick", "floor", carom.Material(spinning_friction=0.1))
    with pytest.raises(
        ValueError, match="the pair of 'floor' and 'brick': time steps have no rolling_friction"
    ):
        carom.Simulator(soft, LAW, steps=1e-3)
    for step, error in ((0.0, ValueError), (-1e-3, ValueError), (np.nan, ValueError), ("1", TypeError)):
        with pytest.raises(error, match="steps: expected"):
            carom.Simulator(brick_on_floor(), LAW, steps=step)
    for name, value in (("event_limit", 7), ("integrator", carom.Integrator())):
        with pytest.raises(TypeError, match=f"{name}: a run by time steps has none"):
            carom.Simulator(brick_on_floor(), LAW, steps=1e-3, **{name: value})


def test_what_needs_events_is_refused_by_name():
    simulator = carom.Simulator(brick_on_floor(), LAW, steps=1e-3)
    run = simulator.run(0.01)
    for name, call in {
        "add_event": lambda: simulator.add_event(lambda t, state: 1.0),
        "on_event": lambda: simulator.on_event(print),
        "step_event": simulator.step_event,
        "branches": lambda: simulator.branches(2, 0, 0.1),
        "event_limit": lambda: simulator.event_limit,
    }.items():
        with pytest.raises(TypeError, match=f"{name}: expected a run from event to event"):
            call()
    for call in (lambda: run.contact_forces(0.0), lambda: run.contact_impulse(0.0, 0.01)):
        with pytest.raises(ValueError, match="forces: expected a run from event to event"):
            call()
    with pytest.raises(ValueError, match="over_impulse: expected a run from event to event"):
        run.over_impulse()
    with pytest.raises(TypeError, match="step_log: expected a run by time steps"):
        _ = carom.Simulator(brick_on_floor(), LAW).step_log
    with pytest.raises(ValueError, match=r"until: expected a time of at least 0.01 s"):
        simulator.run(0.005)


@pytest.mark.parametrize("bouncing", [False, True])
def test_a_stick_that_comes_around_from_behind_does_not_end_in_a_ball(bouncing):
    """It turns away from the ball, by 124 degrees in a step; they overlapped where ends were not looked at.

    Where other bodies bounce, what overlaps at the end was said to overlap now."""
    scene = carom.Scene(gravity=(0, 0, 0))
    if bouncing:
        rubber = carom.Material(restitution=0.8)
        for x, speed in ((5.0, 1.0), (5.11, -1.0)):
            ball = carom.Sphere(0.05)
            scene.add(
                carom.Body(ball, density=800.0, position=(x, 5, 0), velocity=(speed, 0, 0), material=rubber)
            )
    stick = carom.Box((0.4, 0.02, 0.02))
    scene.add(carom.Body(stick, density=800.0, angular_velocity=(0, 0, -108.0), name="stick"))
    scene.add(carom.Body(carom.Sphere(0.05), density=800.0, position=(0.1, 0.15, 0), name="ball"))
    simulator = carom.Simulator(scene, LOOSE, steps=0.02)
    simulator.run(1.0)
    assert simulator.step_log["gap"].min() > 0.0


def test_steps_that_are_too_long_end_in_words():
    """Within the law's tolerance, a thousandth of a gram does not carry a tonne."""
    scene, material = with_floor()
    for name, size, density, height in (("small", 0.1, 1.0, 0.05), ("heavy", 1.0, 1e3, 0.61)):
        box = carom.Box((size, size, size))
        scene.add(carom.Body(box, density=density, position=(0, 0, height), material=material, name=name))
    simulator = carom.Simulator(scene, LOOSE, steps=2e-3)
    with pytest.raises(
        carom.StepTooLongError, match=r"steps: 0.002 s has let 'small' and 'heavy' overlap by .* take"
    ):
        simulator.run(1.0)
    assert simulator.time == simulator.trajectory.end_time == pytest.approx(2e-3 * len(simulator.step_log))
    assert np.isfinite(simulator.state.position).all()
    assert 0 < len(simulator.step_log) < 100


def test_the_command_runs_a_scene_by_steps(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(
        "carom.viewer.render_strip", lambda trajectory, path: path.write_bytes(b"six moments")
    )
    tossed(3).save("heap.json")
    command = ["run", "heap.json", "--duration", "0.2", "--no-view", "--steps", "0.002"]
    assert main([*command, "--law", "maximum-dissipation"]) == 0
    assert "100 steps of 0.002 s" in " ".join(capsys.readouterr().out.split())
    assert "time steps of 2 ms" in carom.Trajectory.load("heap.h5").remarks[0]
    assert main([*command, "--law", "stronge-coulomb"]) == 0
    assert "100 steps of 0.002 s" in " ".join(capsys.readouterr().out.split())
