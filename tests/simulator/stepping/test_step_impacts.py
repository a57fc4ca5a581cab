"""Impacts of any law in time steps, with restitution, and what else pulls at bodies there."""

import pickle

import numpy as np
import pytest

import carom
from carom.impact_laws import law_by_name, law_names

LOOSE = carom.MaximumDissipation(tolerance=1e-4, max_sweeps=500)
LAWS = [LOOSE, *(law_by_name(name) for name in law_names() if name != "maximum-dissipation")]
ELASTIC = [law for law in LAWS if law.honours_restitution]
ROUGH = [law for law in LAWS if law.honours_friction]


def named(law) -> str:
    return law.name


def scene_of(material: carom.Material, *bodies: carom.Body, floor: bool = True, gravity=(0, 0, -9.81)):
    scene = carom.Scene(gravity=gravity)
    if floor:
        scene.add(carom.Body(carom.HalfSpace((0, 0, 1)), fixed=True, material=material, name="floor"))
    for body in bodies:
        scene.add(body)
    return scene


def ball(material: carom.Material, position, name: str = "ball", **state) -> carom.Body:
    return carom.Body(
        carom.Sphere(0.1), density=1000.0, position=position, material=material, name=name, **state
    )


def heights(run: carom.Trajectory, start: float, end: float) -> np.ndarray:
    return run.sample(np.linspace(start, end, 2001)).position[:, -1, 2]


def tossed(material: carom.Material, seed: int, count: int = 5) -> carom.Scene:
    """Bodies of several shapes that fall on a floor and on each other."""
    random = np.random.default_rng(seed)
    shapes = (
        carom.Box((0.1, 0.08, 0.05)),
        carom.Sphere(0.05),
        carom.Capsule(0.03, 0.1),
        carom.Cylinder(0.04, 0.1),
    )
    bodies = []
    for k in range(count):
        turn = random.normal(size=4)
        bodies.append(carom.Body(
            shapes[k % 4], density=800.0, position=(*random.uniform(-0.05, 0.05, 2), 0.2 + 0.2 * k),
            orientation=turn / np.linalg.norm(turn), velocity=random.normal(size=3), material=material,
            angular_velocity=3.0 * random.normal(size=3), name=f"body {k}",
        ))  # fmt: skip
    return scene_of(material, *bodies)


# -- one contact, and few: by analysis -------------------------------------------------------------------------


@pytest.mark.parametrize("law", ELASTIC, ids=named)
@pytest.mark.parametrize("step", [1e-3, 4e-3])
def test_a_ball_that_loses_nothing_rises_to_its_height_for_ever(law, step):
    """Exactly: what steps conserve is v²/2 + g z - g h v/2, and the impact acts where that is even in v."""
    material = carom.Material(friction=0.0, restitution=1.0)
    simulator = carom.Simulator(scene_of(material, ball(material, (0, 0, 1.0))), law, steps=step)
    run = simulator.run(4.0)
    assert simulator.step_log["impacts"].sum() == 5
    assert heights(run, 3.0, 4.0).max() == pytest.approx(
        1.0, abs=1e-9 if law.name == "compliant-contact" else 1e-12
    )


@pytest.mark.parametrize("law", ELASTIC, ids=named)
def test_heights_of_bounces_fall_as_they_should_to_first_order(law):
    """From 0.9 m of fall and e = 0.7: 0.441 m after the first bounce, 0.21609 m after the second."""
    material = carom.Material(friction=0.0, restitution=0.7)
    off = []
    for step in (2e-3, 1e-3, 5e-4):
        run = carom.Simulator(scene_of(material, ball(material, (0, 0, 1.0))), law, steps=step).run(1.6)
        fall, rise = np.sqrt(2 * 0.9 / 9.81), 2 * np.sqrt(2 * 0.441 / 9.81)
        tops = [heights(run, begin, end).max() - 0.1 for begin, end in ((fall, fall + rise), (1.15, 1.45))]
        off.append(np.abs(np.array(tops) - [0.441, 0.21609]).max())
    assert max(off) < 0.012
    assert off[2] < 0.6 * off[0]


@pytest.mark.parametrize("law", ELASTIC, ids=named)
def test_speed_of_a_bounce_is_the_coefficient_times_that_at_mid_step(law):
    material = carom.Material(friction=0.0, restitution=carom.SpeedRestitution(0.8, speed=3.0))
    start = ball(material, (0, 0, 0.105), velocity=(0, 0, -2.0))
    simulator = carom.Simulator(scene_of(material, start), law, steps=5e-3)
    run = simulator.run(5e-3)
    met = 2.0 + 0.5 * 5e-3 * 9.81
    coefficient = carom.SpeedRestitution(0.8, speed=3.0).at(met)
    assert run.sample(2e-3).velocity[1, 2] == pytest.approx(coefficient * met - 0.5 * 5e-3 * 9.81, rel=1e-7)
    row = simulator.step_log[0]
    assert (row["impacts"], row["restitution_share"]) == (1, 1.0)
    lost = 0.5 * start.mass * met**2 * (1.0 - coefficient**2)
    assert row["energy_before"] - row["energy_after"] == pytest.approx(lost, rel=1e-7)
    assert row["support"][2] * 5e-3 == pytest.approx(start.mass * met * (1.0 + coefficient), rel=1e-7)


@pytest.mark.parametrize("law", ROUGH, ids=named)
def test_an_oblique_impact_is_that_of_the_law(law):
    """Four corners of a box that slides and spins come down at once: the answer to the problem of these."""
    material = carom.Material(
        friction=0.9, restitution=0.5 if law.honours_restitution else 0.0, impact_friction=0.2
    )
    box = carom.Body(
        carom.Box((0.2, 0.3, 0.1)), density=1000.0, position=(0, 0, 0.0505), velocity=(1.0, 0.4, -3.0),
        material=material, angular_velocity=(0, 0, 2.0), name="box",
    )  # fmt: skip
    scene = scene_of(material, box, gravity=(0, 0, 0))
    run = carom.Simulator(scene, law, steps=1e-2).run(1e-2)
    corners = [(x, y, 0.0) for x in (-0.1, 0.1) for y in (-0.15, 0.15)]
    problem = carom.contact_problem(
        box, None, corners, (0, 0, 1), friction=0.2, restitution=material.restitution
    )
    expected = problem.generalized_velocity(law.resolve(problem, np.random.default_rng(0)))
    after = run.sample(5e-3)
    found = np.concatenate([after.velocity[1], after.angular_velocity[1]])
    if law.name == "set-valued-routh":  # which draws: as much speed away, and no more energy
        assert found[2] >= 0.0
        assert run.energy(5e-3) <= run.energy(0.0)
    else:
        np.testing.assert_allclose(
            found, expected, atol=0.02
        )  # corners of the grown box are 1 mm farther out
    assert not np.allclose(found, np.concatenate([box.velocity, box.angular_velocity]))


@pytest.mark.parametrize("law", [LOOSE, carom.SequentialReflection(), carom.StrongeCoulomb()], ids=named)
@pytest.mark.parametrize("step", [1e-3, 2e-2])
def test_a_row_of_balls_hands_its_speed_on_within_a_step(law, step):
    """Newton's cradle with gaps of 1 mm, which a step of 20 ms crosses all."""
    material = carom.Material(friction=0.0, restitution=1.0)
    row = [
        ball(
            material,
            (0.205 * k - 0.02 * (k == 0), 0, 0),
            f"ball {k}",
            velocity=(1.0 if k == 0 else 0.0, 0, 0),
        )
        for k in range(5)
    ]
    simulator = carom.Simulator(scene_of(material, *row, floor=False, gravity=(0, 0, 0)), law, steps=step)
    run = simulator.run(0.2)
    np.testing.assert_allclose(run.sample(0.2).velocity[:, 0], [0, 0, 0, 0, 1], atol=1e-12)
    assert simulator.step_log["impacts"].sum() == 4


def test_what_lies_rests_beside_what_bounces():
    material = carom.Material(friction=0.5, restitution=0.9)
    lying = carom.Body(
        carom.Box((0.2, 0.2, 0.1)), density=1000.0, position=(1, 0, 0.05), material=material, name="box"
    )
    simulator = carom.Simulator(scene_of(material, lying, ball(material, (0, 0, 1.0))), LOOSE, steps=2e-3)
    run = simulator.run(1.0)
    assert np.abs(run.sample(np.linspace(0.1, 1.0, 50)).velocity[:, 1]).max() < 2e-2
    assert simulator.step_log["impacts"].sum() == 1
    assert heights(run, 0.5, 1.0).max() > 0.7


def test_bounces_end():
    material = carom.Material(friction=0.5, restitution=0.8)
    simulator = carom.Simulator(scene_of(material, ball(material, (0, 0, 0.5))), LOOSE, steps=1e-3)
    run = simulator.run(10.0)
    assert run.status is carom.RunStatus.AT_REST
    fall = np.sqrt(2 * 0.4 / 9.81)
    assert run.rest_time == pytest.approx(fall * (1 + 0.8) / (1 - 0.8), rel=0.03)  # Zeno's


# -- many: what is kept -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("law", LAWS, ids=named)
@pytest.mark.parametrize("seed", range(3))
def test_energy_is_never_gained_and_the_ledger_closes(law, seed):
    restitution = 0.7 if law.honours_restitution else 0.0
    scene = tossed(carom.Material(friction=0.4, restitution=restitution), seed)
    simulator = carom.Simulator(scene, law, seed=seed, steps=1e-3)
    run = simulator.run(0.8)
    assert run.status in (carom.RunStatus.REACHED_END, carom.RunStatus.AT_REST), run.message
    rows = simulator.step_log
    assert rows["impacts"].sum() > 10
    assert (rows["energy_after"] - rows["energy_before"]).max() <= 1e-9 * rows["energy_before"].max()
    assert rows["gap"].min() > -2e-3
    ledger = run.ledger(np.linspace(0.0, run.end_time, 201))
    assert np.abs(ledger.residual).max() < 2e-5 * ledger.energy[0]
    assert np.abs(ledger.closing[-1]) > 0.1 * ledger.energy[0]


@pytest.mark.parametrize("law", [LOOSE, carom.StrongeCoulomb(), carom.SequentialReflection()], ids=named)
def test_momentum_is_kept(law):
    random = np.random.default_rng(2)
    material = carom.Material(friction=0.4, restitution=0.8)
    places = 0.25 * np.stack(np.meshgrid(*[np.arange(3)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    bodies = [
        carom.Body(
            carom.Box((0.2, 0.15, 0.1)) if k % 2 else carom.Sphere(0.1), density=1000.0, position=place,
            velocity=-4.0 * (place - 0.25) + random.normal(size=3), angular_velocity=random.normal(size=3),
            material=material, name=f"body {k}",
        )
        for k, place in enumerate(places)
    ]  # fmt: skip
    simulator = carom.Simulator(scene_of(material, *bodies, floor=False, gravity=(0, 0, 0)), law, steps=1e-3)
    run = simulator.run(0.3)
    assert simulator.step_log["impacts"].sum() > 20
    mass = np.array([body.mass for body in bodies])
    spin = np.array([body.inertia for body in bodies])

    def momentum(time: float) -> np.ndarray:
        state = run.sample(time)
        turn = carom.bodies.rotation.rotation_matrices(state.orientation)
        own = np.einsum("bij,bjk,blk,bl->bi", turn, spin, turn, state.angular_velocity)
        linear = mass[:, None] * state.velocity
        return np.concatenate([linear.sum(axis=0), (np.cross(state.position, linear) + own).sum(axis=0)])

    size = np.abs(mass[:, None] * run.sample(0.0).velocity).sum()
    for time in (0.1, 0.2, 0.3):
        np.testing.assert_allclose(momentum(time), momentum(0.0), atol=2e-5 * size)


def test_more_contacts_than_have_a_matrix_share_no_energy_that_is_not_there():
    """Thirty-six balls that lie close in a bed on a floor, hit by a plate: one island of many contacts."""
    material = carom.Material(friction=0.3, restitution=0.6)
    places = np.array([(0.202 * i, 0.202 * j, 0.1) for i in range(6) for j in range(6)])
    scene = scene_of(material)
    scene.add_copies(ball(material, (0, 0, 0.1), "grain"), position=places)
    plate = carom.Box((1.3, 1.3, 0.1))
    scene.add(
        carom.Body(plate, density=1000.0, position=(0.5, 0.5, 0.26), velocity=(0, 0, -3.0), material=material)
    )
    simulator = carom.Simulator(scene, LOOSE, steps=5e-3)
    simulator.run(0.02)
    rows = simulator.step_log
    assert rows["impacts"].sum() >= 1
    assert (rows["energy_after"] <= rows["energy_before"] * (1 + 1e-9)).all()
    assert simulator.state.velocity[-1, 2] > 0.5  # the plate is back on its way up
    with_reflection = carom.Simulator(scene, carom.SequentialReflection(), steps=5e-3).run(0.02)
    assert with_reflection.status is carom.RunStatus.REACHED_END


# -- how runs go --------------------------------------------------------------------------------------------------


def equal(first: carom.Trajectory, second: carom.Trajectory, end: float) -> bool:
    times = np.linspace(0.0, end, 41)
    one, other = first.sample(times), second.sample(times)
    return all(
        np.array_equal(getattr(one, name), getattr(other, name))
        for name in ("position", "orientation", "velocity", "angular_velocity")
    )


@pytest.mark.parametrize("law", [LOOSE, carom.StrongeCoulomb(), carom.SetValuedRouth()], ids=named)
def test_parts_copies_and_other_processes_equal_the_whole(law):
    scene = tossed(carom.Material(friction=0.4, restitution=0.5), 1)
    whole = carom.Simulator(scene, law, seed=7, steps=1e-3).run(0.5)
    simulator = carom.Simulator(scene, law, seed=7, steps=1e-3)
    simulator.run(0.2503)
    copies = [simulator.copy(), pickle.loads(pickle.dumps(simulator))]
    for each in (simulator, *copies):
        assert equal(each.run(0.5), whole, 0.5)
    other = carom.Simulator(scene, law, seed=8, steps=1e-3).run(0.5)
    assert equal(other, whole, 0.5) is not isinstance(law, carom.SetValuedRouth)


@pytest.mark.parametrize("law", [LOOSE, carom.StrongeCoulomb()], ids=named)
@pytest.mark.parametrize("power", [-10, 10])
def test_the_unit_of_length_does_not_matter(law, power):
    scale = 2.0**power
    material = carom.Material(friction=0.4, restitution=0.5)
    runs = []
    for factor in (1.0, scale):
        scene = tossed(material, 3)
        other = carom.Scene(gravity=factor * scene.gravity)
        other.add(carom.Body(carom.HalfSpace((0, 0, 1)), fixed=True, material=material, name="floor"))
        for body in scene.bodies[1:]:
            shape = body.shape
            lengths = {
                carom.Box: lambda s, f=factor: carom.Box(f * np.asarray(s.lengths)),
                carom.Sphere: lambda s, f=factor: carom.Sphere(f * s.radius),
                carom.Capsule: lambda s, f=factor: carom.Capsule(f * s.radius, f * s.length),
                carom.Cylinder: lambda s, f=factor: carom.Cylinder(f * s.radius, f * s.length),
            }
            other.add(carom.Body(
                lengths[type(shape)](shape), density=800.0 / factor**3, position=factor * body.position,
                orientation=body.orientation, velocity=factor * body.velocity, material=material,
                angular_velocity=body.angular_velocity, name=body.name,
            ))  # fmt: skip
        runs.append(carom.Simulator(other, law, steps=1e-3).run(0.5))
    times = np.linspace(0.0, 0.5, 21)
    assert np.array_equal(scale * runs[0].sample(times).position, runs[1].sample(times).position)


def test_a_law_without_an_answer_ends_the_run_in_words():
    material = carom.Material(friction=0.3, restitution=0.9)
    row = [ball(material, (0.2 * k, 0, 0.1), f"ball {k}") for k in range(5)]
    row.append(ball(material, (0.1, 0, 0.5), "last", velocity=(0, 0, -3.0)))
    run = carom.Simulator(scene_of(material, *row), carom.StrongeCoulomb(max_impacts=1), steps=2e-3).run(1.0)
    assert run.status is carom.RunStatus.LAW_FAILED
    assert "at t = 0." in run.message
    assert 0.05 < run.end_time < 0.15


def test_more_contacts_than_other_laws_take_end_the_run_in_words():
    material = carom.Material(friction=0.3, restitution=0.5)
    scene = scene_of(material)
    plate = carom.Body(carom.Box((0.2, 0.2, 0.1)), density=500.0, material=material, name="plate")
    scene.add_copies(plate, position=[(0, 0, 0.05 + 0.1 * k) for k in range(60)])
    scene.add(ball(material, (0, 0, 6.12), "last", velocity=(0, 0, -3.0)))
    run = carom.Simulator(scene, carom.SequentialReflection(), steps=2e-3).run(1.0)
    assert run.status is carom.RunStatus.LAW_FAILED
    assert (
        "contacts hold together where sequential-reflection is to resolve an impact, more than the 200"
        in run.message
    )


# -- mixed runs ---------------------------------------------------------------------------------------------------


def test_a_ball_bounces_off_a_heap_that_makes_steps_at_its_exact_time():
    """Bodies of a wall of four bricks, of which steps move all; the ball's own time is that of free fall."""
    material = carom.Material(friction=0.4, restitution=0.6)
    bricks = [
        carom.Body(
            carom.Box((0.4, 0.4, 0.1)), density=2000.0, position=(0, 0, 0.05 + 0.1 * k), material=material,
            name=f"brick {k}",
        )
        for k in range(4)
    ]  # fmt: skip
    thrown = ball(material, (0, 0, 1.5))
    scene = scene_of(material, *bricks, thrown)
    simulator = carom.Simulator(scene, carom.StrongeCoulomb(), steps=carom.Steps(2e-3, above=3))
    run = simulator.run(0.8)
    first = run["ball"].events[0]
    assert first.time == pytest.approx(np.sqrt(2.0 * 1.0 / 9.81), abs=1e-6)
    before, after = (run.sample(first.time, side=side).velocity[-1, 2] for side in ("left", "right"))
    assert before == pytest.approx(-np.sqrt(2.0 * 9.81), rel=1e-6)
    assert 0.1 * abs(before) < after <= 0.6 * abs(before) * (1 + 1e-9)
    own = (first.contacts.bodies == 5).any(axis=1)
    assert own.any()
    assert (first.problem.restitution[own] == 0.6).all()
    normal = first.outcome.impulse.reshape(-1, 3)[own, 0].sum()
    assert normal == pytest.approx(thrown.mass * (after - before), rel=1e-9)
    ledger = run.ledger(np.linspace(0.0, 0.8, 201))
    assert np.abs(ledger.residual).max() < 2e-5 * ledger.energy[0]


# -- what pulls, and what meets what ------------------------------------------------------------------------------


def test_drag_brings_a_falling_ball_to_its_terminal_speed():
    material = carom.Material()
    falling = ball(material, (0, 0, 0), angular_velocity=(0, 0, 5.0))
    scene = scene_of(material, falling, floor=False)
    scene.add_force(carom.Drag("ball", linear=2.0, quadratic=8.0, rotational=0.05))
    run = carom.Simulator(scene, LOOSE, steps=1e-3).run(8.0)
    terminal = (-2.0 + np.sqrt(4.0 + 32.0 * falling.mass * 9.81)) / 16.0
    assert run.sample(8.0).velocity[0, 2] == pytest.approx(-terminal, rel=1e-3)
    spin = 5.0 * np.exp(-0.05 / falling.inertia[2, 2] * 0.2)
    assert run.sample(0.2).angular_velocity[0, 2] == pytest.approx(spin, rel=2e-2)


def test_drag_takes_energy_at_any_length_of_the_step():
    material = carom.Material()
    scene = scene_of(material, ball(material, (0, 0, 0), velocity=(5, 0, 0)), floor=False, gravity=(0, 0, 0))
    scene.add_force(carom.Drag("ball", linear=1e6, rotational=1e6))
    run = carom.Simulator(scene, LOOSE, steps=0.1).run(1.0)
    speed = run.sample(np.linspace(0.05, 1.0, 20)).velocity[:, 0, 0]
    assert (speed >= 0.0).all()
    assert speed[-1] < 1e-12


def test_forces_of_a_function_act():
    """A spring to the origin: symplectic steps keep its amplitude, and its period to second order."""
    material = carom.Material()
    scene = scene_of(material, ball(material, (0.5, 0, 0)), floor=False, gravity=(0, 0, 0))
    mass = scene.bodies[0].mass

    def spring(time: float, state: carom.State) -> np.ndarray:
        return np.hstack([-mass * 4.0 * state.position, np.zeros((1, 3))])

    scene.add_force(spring)
    run = carom.Simulator(scene, LOOSE, steps=1e-3).run(10.0)
    times = np.linspace(0.0, 10.0, 101)
    np.testing.assert_allclose(run.sample(times).position[:, 0, 0], 0.5 * np.cos(2.0 * times), atol=2e-3)
    assert run.force_functions == ["spring"]


def test_a_function_that_fails_ends_the_run_in_words():
    material = carom.Material()
    scene = scene_of(material, ball(material, (0, 0, 1.0)))

    def broken(time: float, state: carom.State) -> np.ndarray:
        return np.zeros((2, 6)) if time < 0.1 else np.full((2, 6), np.nan)

    scene.add_force(broken)
    run = carom.Simulator(scene, LOOSE, steps=1e-3).run(1.0)
    assert run.status is carom.RunStatus.USER_FUNCTION_FAILED
    assert "the force function broken gave" in run.message
    assert run.end_time == pytest.approx(0.1)


def test_what_functions_push_is_not_at_rest():
    """A force that begins after a second of rest."""
    material = carom.Material(friction=0.1)
    box = carom.Body(
        carom.Box((0.2, 0.2, 0.1)), density=1000.0, position=(0, 0, 0.05), material=material, name="box"
    )
    scene = scene_of(material, box)
    scene.add_force(lambda t, state: np.array([[0.0] * 6, [100.0 if t >= 1.0 else 0.0, 0, 0, 0, 0, 0]]))
    run = carom.Simulator(scene, LOOSE, steps=2e-3).run(1.5)
    assert run.end_time == 1.5
    push = 100.0 / box.mass - 0.1 * 9.81
    assert run.sample(1.5).position[1, 0] == pytest.approx(0.5 * push * 0.25, rel=2e-2)


def test_pairs_that_do_not_collide_pass():
    material = carom.Material()
    one = ball(material, (0, 0, 0.1), "one", collision_group=1, collision_mask=3)
    above = ball(material, (0, 0, 0.5), "above", collision_group=2, collision_mask=1)
    ghost = ball(material, (1, 0, 0.5), "ghost", collision_group=4, collision_mask=4)
    for floor_groups, ghost_rests in ((None, False), ({"collision_group": 7, "collision_mask": 7}, True)):
        scene = carom.Scene()
        groups = floor_groups or {}
        scene.add(
            carom.Body(carom.HalfSpace((0, 0, 1)), fixed=True, material=material, name="floor", **groups)
        )
        for body in (one, above, ghost):
            scene.add(body)
        run = carom.Simulator(scene, LOOSE, steps=2e-3).run(1.0)
        heights = run.sample(1.0).position[:, 2]
        assert heights[1] == pytest.approx(0.1, abs=2e-3)
        assert heights[2] == pytest.approx(0.3, abs=4e-3)  # one meets it
        assert (heights[3] > 0.0) is np.bool_(ghost_rests)
        scene.disable_collision("one", "above")
        run = carom.Simulator(scene, LOOSE, steps=2e-3).run(1.0)
        assert run.sample(1.0).position[2, 2] == pytest.approx(0.1, abs=2e-3)


def test_pairs_have_their_own_material():
    """Two bricks slide on a floor, one of them on ice."""
    material = carom.Material(friction=0.5)
    bricks = [
        carom.Body(
            carom.Box((0.2, 0.2, 0.1)), density=1000.0, position=(0, y, 0.05), velocity=(2, 0, 0),
            material=material, name=name,
        )
        for y, name in ((0.0, "brick"), (1.0, "on ice"))
    ]  # fmt: skip
    scene = scene_of(material, *bricks)
    scene.set_pair_material("on ice", "floor", carom.Material(friction=0.05))
    run = carom.Simulator(scene, LOOSE, steps=1e-3).run(0.3)
    speed = run.sample(0.3).velocity[1:, 0]
    np.testing.assert_allclose(speed, 2.0 - 0.3 * 9.81 * np.array([0.5, 0.05]), atol=2e-2)


def test_planar_scenes_stay_in_their_plane():
    scene = tossed(carom.Material(friction=0.4, restitution=0.3), 0, count=0)
    scene.planar((0, 1, 0))
    random = np.random.default_rng(0)
    for k in range(4):
        angle = random.uniform(0, np.pi)
        scene.add(carom.Body(
            carom.Box((0.1, 0.05, 0.08)), density=800.0, position=(0.02 * k, 0, 0.2 + 0.15 * k), name=f"tile {k}",
            orientation=(np.cos(angle), 0, np.sin(angle), 0), velocity=(0.5, 0, 0), angular_velocity=(0, 4.0, 0),
            material=carom.Material(friction=0.4, restitution=0.3),
        ))  # fmt: skip
    simulator = carom.Simulator(scene, LOOSE, steps=1e-3)
    run = simulator.run(1.0)
    state = run.sample(np.linspace(0.0, 1.0, 51))
    assert np.abs(state.position[:, 1:, 1]).max() < 1e-12
    assert np.abs(state.angular_velocity[:, 1:, [0, 2]]).max() < 1e-9
    assert simulator.step_log["impacts"].sum() > 4
    assert simulator.step_log["gap"].min() > -2e-3
    rows = simulator.step_log
    assert (rows["energy_after"] <= rows["energy_before"] * (1 + 1e-9)).all()
