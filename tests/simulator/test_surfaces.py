"""What surfaces do: friction of impacts apart from that of lasting contact, restitution that falls with speed."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import carom
from carom import Body, Box, HalfSpace, Material, Scene, Simulator, SpeedRestitution, Sphere
from carom.bodies.material import combine

STEEL = SpeedRestitution(0.9, speed=0.7, exponent=0.25, mass=0.3)


def dropped(material, ground, velocity=(0.0, 0.0, -4.0), mass=2.0, shape=None):
    scene = Scene()
    scene.add(Body(HalfSpace((0, 0, 1)), fixed=True, material=ground))
    shape = Sphere(0.1) if shape is None else shape
    ball = Body(shape, mass=mass, position=(0, 0, 0.3), velocity=velocity, material=material)
    scene.add(ball)
    return scene


def first_impact(scene, law=None):
    run = Simulator(scene, law=law or carom.StrongeCoulomb()).run(0.2)
    return next(event for event in run.events if event.kind == "impact")


@pytest.mark.parametrize("speed", [0.01, 0.7, 4.0, 300.0])
def test_restitution_of_one_impact_is_that_of_its_speed_and_mass(speed):
    surface = Material(friction=0.0, restitution=STEEL)
    scene = dropped(surface, surface, velocity=(0.0, 0.0, -speed))
    scene.gravity = (0.0, 0.0, 0.0)
    run = Simulator(scene, law=carom.StrongeCoulomb()).run(30.0)
    event = next(event for event in run.events if event.kind == "impact")
    expected = 0.9 * (1.0 + (speed / 0.7) ** 2 * 2.0 / 0.3) ** -0.125
    assert event.problem.restitution == pytest.approx([expected], rel=1e-14)
    assert run.sample(30.0).velocity[1, 2] == pytest.approx(expected * speed, rel=1e-12)
    assert STEEL.at(speed, 2.0) == pytest.approx(expected, rel=1e-15)


def test_effective_mass_of_a_box_that_lands_on_a_corner():
    surface = Material(friction=0.0, restitution=STEEL)
    turned = np.array((0.9, 0.3, 0.2, 0.1))
    shape = Box((0.3, 0.2, 0.1))
    scene = Scene()
    scene.add(Body(HalfSpace((0, 0, 1)), fixed=True, material=surface))
    box = Body(
        shape,
        mass=2.0,
        position=(0, 0, 0.4),
        orientation=turned / np.linalg.norm(turned),
        velocity=(0, 0, -3.0),
        material=surface,
    )
    scene.add(box)
    event = first_impact(scene)
    arm = event.contacts.point[0] - event.before.position[1]
    w, x, y, z = event.before.orientation[1]
    rotation = Rotation.from_quat([x, y, z, w]).as_matrix()
    lever = rotation.T @ np.cross(arm, (0.0, 0.0, 1.0))
    mass = 1.0 / (0.5 + lever @ np.linalg.solve(box.inertia, lever))
    assert mass < 1.5
    approach = -event.before.velocity[1, 2]
    assert event.problem.restitution == pytest.approx([STEEL.at(approach, mass)], rel=1e-12)
    assert event.outcome.velocity[0] == pytest.approx(STEEL.at(approach, mass) * approach, rel=1e-10)


def test_impacts_use_impact_friction_and_sliding_the_other():
    surface = Material(friction=0.1, restitution=0.5, impact_friction=0.4)
    event = first_impact(dropped(surface, surface, velocity=(50.0, 0.0, -1.0)))
    assert event.problem.friction == pytest.approx([0.4], abs=0.0)
    normal, along, across = event.outcome.impulse
    assert np.hypot(along, across) == pytest.approx(0.4 * normal, rel=1e-12)
    scene = Scene()
    scene.add(Body(HalfSpace((0, 0, 1)), fixed=True, material=surface))
    scene.add(
        Body(Box((0.2, 0.2, 0.1)), mass=1.0, position=(0, 0, 0.05), velocity=(1, 0, 0), material=surface)
    )
    run = Simulator(scene, law=carom.StrongeCoulomb()).run(3.0)
    way = 1.0 / (2.0 * 0.1 * 9.81)
    assert run.sample(run.end_time).position[1, 0] == pytest.approx(way, rel=1e-9)


def test_a_law_in_python_is_asked_with_the_same_numbers():
    asked = []

    class Watching(carom.StrongeCoulomb):
        def resolve(self, problem, rng=None):
            asked.append((problem.friction.copy(), problem.restitution.copy()))
            return super().resolve(problem, rng)

    surface = Material(friction=0.1, restitution=STEEL, impact_friction=0.4)
    scene = dropped(surface, surface)
    event = first_impact(scene, Watching())
    assert asked[0][0].tolist() == event.problem.friction.tolist()
    assert asked[0][1].tolist() == event.problem.restitution.tolist()
    assert 0.0 < asked[0][1][0] < 0.9


def test_pairs_combine_by_geometric_means():
    slow = Material(restitution=SpeedRestitution(0.4, speed=2.0, exponent=0.5), impact_friction=0.9)
    number = Material(friction=0.4, restitution=0.9)
    mixed = combine(slow, number)
    assert mixed.impact_friction == pytest.approx(np.sqrt(0.9 * 0.4))
    for speed in (0.0, 1.0, 9.0):
        expected = np.sqrt(0.9 * slow.restitution.at(speed))
        assert mixed.restitution.at(speed) == pytest.approx(expected, rel=1e-15)
        assert combine(number, slow).restitution.at(speed) == mixed.restitution.at(speed)
    assert combine(slow, slow) == slow
    other = Material(restitution=SpeedRestitution(0.8, speed=2.0, exponent=0.1))
    for speed in (0.0, 1.0, 9.0):
        expected = np.sqrt(other.restitution.at(speed) * slow.restitution.at(speed))
        assert combine(slow, other).restitution.at(speed) == pytest.approx(expected, rel=1e-15)
    with pytest.raises(ValueError, match="one of two materials falls with mass"):
        combine(slow, Material(restitution=STEEL))


def test_a_pair_can_have_a_surface_of_its_own():
    scene = dropped(Material(), Material())
    scene.set_pair_material(0, 1, Material(friction=0.2, restitution=STEEL, impact_friction=0.6))
    event = first_impact(scene)
    assert event.problem.friction == pytest.approx([0.6])
    assert 0.0 < event.problem.restitution[0] < 0.9


def test_surfaces_are_recorded_and_runs_repeat(tmp_path):
    surface = Material(friction=0.1, restitution=STEEL, impact_friction=0.4)
    scene = dropped(surface, Material(friction=0.2, restitution=0.5))
    path = tmp_path / "run.h5"
    run = Simulator(scene, law=carom.StrongeCoulomb(), record=path).run(1.0)
    loaded = carom.Trajectory.load(path)
    assert loaded.scene.bodies[1].material == surface
    assert loaded.event_hash == run.event_hash
    assert carom.verify(path).equal


def test_the_problem_of_a_scene_has_the_same_numbers():
    surface = Material(friction=0.1, restitution=STEEL, impact_friction=0.4)
    ball = Body(Sphere(0.1), mass=2.0, velocity=(0, 0, -4.0), material=surface)
    ground = Body(HalfSpace((0, 0, 1)), fixed=True, material=surface, position=(0, 0, -0.1))
    scene = Scene()
    scene.add(ground)
    scene.add(ball)
    problem = carom.contact_problem(scene)
    assert problem.friction.tolist() == [0.4]
    assert problem.restitution == pytest.approx([STEEL.at(4.0, 2.0)], rel=1e-14)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: SpeedRestitution(1.2, speed=1.0), "restitution: expected a number between 0 and 1, got 1.2"),
        (lambda: SpeedRestitution(0.5, speed=0.0), "speed: expected a number greater than 0, got 0"),
        (
            lambda: SpeedRestitution(0.5, speed=1.0, exponent=-1.0),
            "exponent: expected a number of at least 0",
        ),
        (
            lambda: SpeedRestitution(0.5, speed=1.0, mass=-1.0),
            "mass: expected a number greater than 0, got -1",
        ),
        (
            lambda: Material(impact_friction=-0.1),
            "impact_friction: expected a number of at least 0, got -0.1",
        ),
    ],
)
def test_numbers_that_make_no_sense(make, words):
    with pytest.raises(ValueError, match=words):
        make()
