"""Time steps of spheres against what must come out: closed forms, conserved quantities, hostile input."""

import numba
import numpy as np
import pytest

import carom

GRAVITY = 9.81
LAW = carom.MaximumDissipation(tolerance=1e-8, max_sweeps=2000)


def floor(friction=0.5, normal=(0, 0, 1), offset=0.0, name="floor"):
    return carom.Body(
        carom.HalfSpace(np.array(normal, float), offset),
        fixed=True, material=carom.Material(friction=friction), name=name,
    )  # fmt: skip


def ball_on_floor(friction, velocity=(0, 0, 0), spin=(0, 0, 0), height=0.1, gravity=(0, 0, -GRAVITY)):
    scene = carom.Scene(gravity)
    scene.add(floor(friction))
    scene.add_spheres(
        0.1, density=1000.0, position=[(0, 0, height)], velocity=velocity, angular_velocity=spin,
        material=carom.Material(friction=friction), name="ball",
    )  # fmt: skip
    return scene


def cloud(count=200, seed=0, speed=1.0, radius=0.05, walls=True, gravity=(0, 0, 0), friction=0.4):
    """Spheres on a loose lattice in a box, with random velocities and spins."""
    rng = np.random.default_rng(seed)
    side = int(np.ceil(count ** (1 / 3)))
    places = np.stack(np.meshgrid(*[np.arange(side)] * 3, indexing="ij"), -1).reshape(-1, 3)[:count]
    radii = radius * rng.uniform(0.6, 1.0, count)
    scene = carom.Scene(gravity)
    if walls:
        for axis in range(3):
            normal = np.eye(3)[axis]
            scene.add(floor(friction, normal, -1.2 * radius, f"low {axis}"))
            scene.add(floor(friction, -normal, -(2.2 * side - 1.0) * radius, f"high {axis}"))
    scene.add_spheres(
        radii, density=rng.uniform(500, 2000, count), position=2.2 * radius * places,
        velocity=rng.normal(size=(count, 3)) * speed, angular_velocity=rng.normal(size=(count, 3)) * speed / radius,
        material=carom.Material(friction=friction), name="cloud",
    )  # fmt: skip
    return scene


def momenta(steps):
    """Linear and angular momentum about the origin, from the public states."""
    states = steps.states
    (cloud,) = steps.scene.spheres
    mass = 4 / 3 * np.pi * cloud.radius**3 * cloud.density
    inertia = 0.4 * mass * cloud.radius**2
    linear = mass[:, None] * states.velocity
    angular = np.cross(states.position, linear) + inertia[:, None] * states.angular_velocity
    return linear.sum(axis=0), angular.sum(axis=0)


def test_a_sliding_ball_comes_to_roll_at_five_sevenths_of_its_speed():
    # friction slows it and turns it until v = r w: momentum about the line of contact points is kept
    steps = carom.TimeSteps(ball_on_floor(0.3, velocity=(2.0, 0, 0)), LAW, step=1e-3)
    steps.run(1.0)
    states = steps.states
    assert states.velocity[0] == pytest.approx([5 / 7 * 2.0, 0, 0], abs=1e-9)
    assert states.angular_velocity[0] == pytest.approx([0, 5 / 7 * 2.0 / 0.1, 0], abs=1e-8)


def test_sliding_time_is_met_to_a_step():
    steps = carom.TimeSteps(ball_on_floor(0.1, velocity=(2.0, 0, 0)), LAW, step=1e-3)
    steps.run(2.0)
    rolls = steps.log.rows["sticking"] == 1
    begins = steps.log.rows["time"][rolls][0]
    assert begins == pytest.approx(2 / 7 * 2.0 / (0.1 * GRAVITY), abs=1e-3 + 1e-12)


def test_on_a_slope_it_rolls_with_five_sevenths_of_the_pull_and_slides_beyond():
    tilt = 0.4
    for friction, pull in ((0.5, 5 / 7 * np.sin(tilt)), (0.05, np.sin(tilt) - 0.05 * np.cos(tilt))):
        gravity = GRAVITY * np.array([np.sin(tilt), 0, -np.cos(tilt)])
        steps = carom.TimeSteps(ball_on_floor(friction, gravity=gravity), LAW, step=1e-3)
        steps.run(0.5)
        assert steps.states.velocity[0, 0] == pytest.approx(GRAVITY * pull * 0.5, rel=1e-9)


def test_places_are_of_first_order_in_the_step():
    # free fall: x = x0 - g t (t + h) / 2, so halving the step halves the error
    errors = []
    for step in (1e-2, 5e-3, 2.5e-3):
        steps = carom.TimeSteps(ball_on_floor(0.5, height=10.0), LAW, step=step)
        steps.run(1.0)
        errors.append(steps.states.position[0, 2] - (10.0 - 0.5 * GRAVITY))
    assert errors == pytest.approx([-0.5 * GRAVITY * h for h in (1e-2, 5e-3, 2.5e-3)], rel=1e-9)


def test_a_ball_stops_where_it_lands_and_stays():
    steps = carom.TimeSteps(ball_on_floor(0.5, height=0.5), LAW, step=1e-3)
    steps.run(1.0)
    assert steps.states.position[0] == pytest.approx([0, 0, 0.1], abs=1e-12)
    assert np.abs(steps.states.velocity).max() < 1e-12
    weight = 1000 * 4 / 3 * np.pi * 1e-3 * GRAVITY
    assert steps.wall_impulses()["floor"] == pytest.approx([0, 0, -weight * 1e-3], rel=1e-9)


def test_two_balls_share_momentum_and_part_with_none_of_their_approach():
    scene = carom.Scene((0, 0, 0))
    for x, v, density in ((0.0, 1.0, 1000.0), (0.21, 0.0, 3000.0)):
        scene.add(
            carom.Body(carom.Sphere(0.1), density=density, position=(x, 0, 0), velocity=(v, 0, 0),
                       material=carom.Material(friction=0.0))
        )  # fmt: skip
    steps = carom.TimeSteps(scene, LAW, step=1e-3)
    steps.run(0.1)
    assert steps.states.velocity == pytest.approx(np.array([[0.25, 0, 0], [0.25, 0, 0]]), abs=1e-12)
    assert steps.states.position[1, 0] - steps.states.position[0, 0] == pytest.approx(0.2, abs=1e-12)


def test_momentum_and_angular_momentum_are_kept_and_energy_never_grows():
    steps = carom.TimeSteps(cloud(walls=False), LAW, step=1e-3)
    linear, angular = momenta(steps)
    scale = np.abs(linear).sum() + np.abs(angular).sum()
    steps.run(0.3)
    rows = steps.log.rows
    assert (rows["sliding"] + rows["sticking"]).max() > 10
    assert rows["overlap"].max() < 1e-6  # beyond that, angular momentum is kept as exactly as places are
    after = momenta(steps)
    assert after[0] == pytest.approx(linear, abs=1e-13 * scale)
    assert after[1] == pytest.approx(angular, abs=1e-9 * scale)
    assert (rows["energy_after"] <= rows["energy_before"] * (1 + 1e-9)).all()
    assert rows["energy_after"][-1] < 0.9 * rows["energy_before"][0]


@pytest.mark.parametrize("rule", ["maximum-dissipation", "coulomb"])
def test_impulses_are_those_of_the_law_for_many_contacts(rule):
    """One step of touching spheres against `resolve_network`, which knows conics and slip, under both rules."""
    rng = np.random.default_rng(3)
    places = np.array(
        [(0, 0, 0), (0.1, 0, 0), (0.05, 0.0866026, 0), (0.05, 0.0288676, 0.0816497), (0.2, 0, 0)]
    )
    velocity, spin = rng.normal(size=(5, 3)), 20 * rng.normal(size=(5, 3))
    friction, step = 0.3, 1e-3
    law = carom.MaximumDissipation(friction_rule=rule, tolerance=1e-12)
    scene = carom.Scene((0, 0, 0))
    scene.add_spheres(
        0.05, density=1000.0, position=places, velocity=velocity, angular_velocity=spin,
        material=carom.Material(friction=friction),
    )  # fmt: skip
    steps = carom.TimeSteps(scene, law, step=step)
    steps.advance()

    pairs = [(a, b) for a in range(5) for b in range(a) if np.linalg.norm(places[a] - places[b]) < 0.101]
    way = np.array([places[a] - places[b] for a, b in pairs])
    distance = np.linalg.norm(way, axis=1)
    mass = 1000 * 4 / 3 * np.pi * 0.05**3
    network = carom.impact_laws.ContactNetwork.of_points(
        pairs, [0.5 * (places[a] + places[b]) for a, b in pairs], way / distance[:, None], places,
        np.full(5, mass), np.full(5, 0.4 * mass * 0.05**2), np.hstack([velocity, spin]), friction,
        np.maximum(distance - 0.1, 0) / step,
    )  # fmt: skip
    expected = law.resolve_network(network).velocity
    states = steps.states
    assert len(pairs) == 7
    assert np.hstack([states.velocity, states.angular_velocity]) == pytest.approx(expected, abs=1e-9)


def test_a_column_at_rest_does_not_creep():
    scene = carom.Scene()
    scene.add(floor())
    count = 20
    places = [(0, 0, 0.05 + 0.1 * k) for k in range(count)]
    scene.add_spheres(0.05, density=1000.0, position=places)
    steps = carom.TimeSteps(scene, carom.MaximumDissipation(tolerance=1e-6, max_sweeps=500), step=1e-3)
    steps.run(3.0)
    settled = steps.states.position
    assert settled == pytest.approx(np.array(places), abs=1e-8)
    steps.run(4.0)
    assert np.abs(steps.states.position - settled).max() < 1e-10


@pytest.mark.parametrize(("friction", "stands"), [(0.33, True), (0.30, False)])
def test_four_balls_stand_on_three_where_friction_is_above_the_tangent_of_half_the_angle(friction, stands):
    """Each lower ball is held by the floor and the upper one, whose forces both pass through one point of it: with
    the upper one at an angle a from the vertical, both act at a / 2 from their normals. Here sin a = 1 / sqrt 3."""
    radius, high = 0.05, 0.05 + 0.1 * np.sqrt(2 / 3)
    ring = 0.1 / np.sqrt(3)
    angles = 2 * np.pi / 3 * np.arange(3)
    places = [(ring * np.cos(a), ring * np.sin(a), radius) for a in angles] + [(0, 0, high)]
    assert np.tan(0.5 * np.arcsin(1 / np.sqrt(3))) == pytest.approx(0.3178, abs=1e-4)
    scene = carom.Scene()
    scene.add(floor(friction))
    scene.add_spheres(radius, density=1000.0, position=places, material=carom.Material(friction=friction))
    steps = carom.TimeSteps(scene, carom.MaximumDissipation(tolerance=1e-8, max_sweeps=5000), step=1e-3)
    steps.run(0.5)
    fallen = high - steps.states.position[3, 2]
    assert (abs(fallen) < 1e-6) if stands else (fallen > 0.01)


def test_a_heap_carries_its_weight_without_overlap():
    scene = cloud(gravity=(0, 0, -GRAVITY), speed=0.2)
    steps = carom.TimeSteps(scene, carom.MaximumDissipation(tolerance=1e-5, max_sweeps=2000), step=1e-3)
    steps.run(3.0)
    assert steps.log.rows["overlap"][-500:].max() < 1e-3
    last = steps.log.rows[-500:]
    assert last["residual"][last["sweeps"] < 2000].max() <= 1e-5
    assert (last["sweeps"] < 2000).mean() > 0.95  # now and then a grain still moves
    pushed = np.zeros(3)
    for _ in range(100):
        steps.advance()
        pushed += sum(steps.wall_impulses().values()) / 0.1
    (grains,) = scene.spheres
    weight = (4 / 3 * np.pi * grains.radius**3 * grains.density).sum() * GRAVITY
    assert pushed == pytest.approx([0, 0, -weight], abs=2e-3 * weight)


def test_threads_do_not_change_a_bit():
    count = 5000
    runs = []
    before = numba.get_num_threads()
    try:
        for threads in (1, min(2, numba.config.NUMBA_NUM_THREADS)):
            numba.set_num_threads(threads)
            law = carom.MaximumDissipation(tolerance=1e-3, max_sweeps=30)
            steps = carom.TimeSteps(cloud(count, speed=2.0), law, step=1e-3)
            steps.run(0.03)
            runs.append((steps.states, steps.log.rows.tobytes()))
    finally:
        numba.set_num_threads(before)
    (one, log), (two, other_log) = runs
    assert numba.config.NUMBA_NUM_THREADS >= 2, "this machine has one core: nothing is compared"
    assert log == other_log
    for name in ("number", "position", "velocity", "angular_velocity"):
        assert getattr(one, name).tobytes() == getattr(two, name).tobytes()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"step": 1e308}, r"step: expected a number of at most 1e\+30"),
        ({"periodic": 3.0}, "periodic: expected None or .* three axes, got 3.0"),
        ({"periodic": "xyz"}, "periodic: expected None or .* three axes, got 'xyz'"),
    ],
)
def test_steps_and_periods_that_nothing_can_have_are_refused(changes, words):
    scene = carom.Scene()
    scene.add_spheres(0.1, density=1.0, position=[(0, 0, 0)])
    with pytest.raises((TypeError, ValueError), match=words):
        carom.TimeSteps(scene, carom.MaximumDissipation(), **({"step": 1e-3} | changes))


def test_more_steps_than_are_told_apart_are_refused():
    scene = carom.Scene()
    scene.add_spheres(0.1, density=1.0, position=[(0, 0, 0)])
    for step, until in ((1e-320, 1.0), (1e-3, 1e308)):
        with pytest.raises(ValueError, match=r"until: expected a time of at most 2\^53 steps"):
            carom.TimeSteps(scene, carom.MaximumDissipation(), step=step).run(until)
