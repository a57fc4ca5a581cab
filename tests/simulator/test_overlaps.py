"""Bodies put into each other are parted: who moves, how far, and what cannot be parted."""

import time

import numpy as np
import pytest
import trimesh

import carom
from carom import Body, Box, Capsule, ConvexMesh, Cylinder, HalfSpace, Mesh, Scene, Simulator, Sphere
from carom.simulator.collision.pairs import collision_pairs, overlap
from carom.simulator.state import Model


def floor():
    return Body(HalfSpace((0, 0, 1)), fixed=True, name="floor")


def body(shape, position, **options):
    if not options.get("fixed") and "mass" not in options:
        options.setdefault("density", 1000.0)
    return Body(shape, position=position, **options)


def scene_of(*bodies):
    scene = Scene()
    for each in bodies:
        scene.add(each)
    return scene


def torus():
    made = trimesh.creation.torus(1.0, 0.3, major_sections=20, minor_sections=10)
    return Mesh((made.vertices, made.faces))


def deepest(scene):
    model = Model.of_scene(scene)
    states = model.initial_states()
    return max((overlap(model, pair, states) for pair in collision_pairs(model)), default=0.0)


def assert_parted(scene):
    assert deepest(scene) <= 1e-12
    Simulator(scene, carom.SequentialReflection())  # which refuses overlap


SHAPES = [Sphere(0.12), Box((0.2, 0.2, 0.2)), Capsule(0.08, 0.15), Cylinder(0.1, 0.2)]
HULL = trimesh.creation.icosphere(subdivisions=1, radius=0.12)
SHAPES += [ConvexMesh(HULL.vertices), Mesh((HULL.vertices, HULL.faces))]


def pile(count, seed, shapes):
    random = np.random.default_rng(seed)
    scene = scene_of(floor())
    for k in range(count):
        turn = random.standard_normal(4)
        place = random.uniform(0.0, 0.25 * count ** (1 / 3), 3)
        scene.add(body(shapes[k % len(shapes)], place, orientation=turn / np.linalg.norm(turn)))
    return scene


def test_light_bodies_move_more():
    scene = scene_of(body(Sphere(1.0), (0, 0, 0), mass=3.0), body(Sphere(1.0), (1.5, 0, 0), mass=1.0))
    heavy, light = scene.resolve_overlaps()
    np.testing.assert_allclose(heavy.displacement, [-0.125, 0, 0], atol=2e-6)
    np.testing.assert_allclose(light.displacement, [0.375, 0, 0], atol=2e-6)
    assert_parted(scene)


def test_moves_of_a_chain_are_the_smallest_ones():
    # three unit masses in a line, each pair 0.3 too close: the ends give way, the middle one stays
    scene = scene_of(*(body(Sphere(0.5), (0.7 * k, 0, 0), mass=1.0) for k in range(3)))
    moved = {each.name: each.displacement[0] for each in scene.resolve_overlaps()}
    assert moved["sphere-0"] == pytest.approx(-0.3, abs=1e-4)
    assert moved.get("sphere-1", 0.0) == pytest.approx(0.0, abs=1e-4)
    assert moved["sphere-2"] == pytest.approx(0.3, abs=1e-4)


def test_what_touches_or_is_clear_stays():
    tower = [body(Box((1, 1, 1)), (0, 0, 0.5 + k)) for k in range(4)]
    scene = scene_of(floor(), *tower)
    before = scene.bodies
    assert scene.resolve_overlaps() == []
    assert scene.bodies == before
    assert Scene().resolve_overlaps() == []


def test_clearance_is_kept():
    scene = scene_of(floor(), *(body(Sphere(0.5), (0, 0, 0.3 + 0.6 * k)) for k in range(5)))
    scene.resolve_overlaps(clearance=0.01)
    heights = [each.position[2] for each in scene.bodies[1:]]
    assert heights[0] >= 0.51 - 1e-9
    assert np.diff(heights).min() >= 1.01 - 1e-9
    assert heights[-1] <= 0.51 + 4 * 1.01 + 1e-3


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: type(shape).__name__)
def test_stack_into_each_other_stands_up(shape):
    scene = scene_of(floor(), *(body(shape, (0, 0, 0.05 + 0.13 * k)) for k in range(4)))
    scene.resolve_overlaps()
    assert_parted(scene)


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: type(shape).__name__)
def test_body_inside_another_comes_out(shape):
    for outer in (Box((1, 1, 1)), torus()):
        place = (1.0, 0.1, 0.02) if isinstance(outer, Mesh) else (0.1, 0.2, 0.05)
        scene = scene_of(body(outer, (0, 0, 0), fixed=True), body(shape, place))
        [moved] = scene.resolve_overlaps()
        assert moved.name == scene.bodies[1].name
        assert np.linalg.norm(moved.displacement) < 1.0
        assert_parted(scene)


def test_bodies_at_one_place():
    scene = scene_of(*(body(shape, (0, 0, 0)) for shape in (*SHAPES, *SHAPES)))
    assert len(scene.resolve_overlaps()) >= 11
    assert_parted(scene)


def test_sunk_terrain_pushes_up():
    random = np.random.default_rng(3)
    made = trimesh.creation.box((4, 4, 1)).subdivide().subdivide().subdivide()
    vertices = made.vertices.copy()
    top = vertices[:, 2] > 0.49
    vertices[top, 2] += 0.1 * np.sin(3 * vertices[top, 0]) * np.cos(2 * vertices[top, 1])
    ground = body(Mesh((vertices, made.faces)), (0, 0, 0), fixed=True)
    scene = scene_of(ground)
    for k in range(4):
        scene.add(body(SHAPES[k], (*random.uniform(-1.5, 1.5, 2), 0.55)))
    moved = scene.resolve_overlaps()
    assert len(moved) == 4
    assert all(abs(each.displacement[2]) > np.linalg.norm(each.displacement[:2]) for each in moved)
    assert_parted(scene)


def test_fixed_pairs_sensors_and_groups_may_overlap():
    pairs = [
        (body(Sphere(1), (0, 0, 0), fixed=True), body(Sphere(1), (0.5, 0, 0), fixed=True)),
        (body(Sphere(1), (9, 0, 0)), body(Sphere(1), (9.5, 0, 0), sensor=True)),
        (body(Sphere(1), (18, 0, 0)), body(Sphere(1), (18.5, 0, 0), collision_group=2, collision_mask=2)),
        (body(Sphere(1), (27, 0, 0), name="a"), body(Sphere(1), (27.5, 0, 0), name="b")),
    ]
    scene = scene_of(*(each for pair in pairs for each in pair))
    scene.disable_collision("a", "b")
    before = scene.bodies
    assert scene.resolve_overlaps() == []
    assert scene.bodies == before


def test_squeezed_body_is_an_error_and_nothing_moves():
    scene = scene_of(
        body(Box((1, 10, 10)), (-0.9, 0, 0), fixed=True, name="left"),
        body(Box((1, 10, 10)), (0.9, 0, 0), fixed=True, name="right"),
        body(Box((1, 1, 1)), (0, 0, 0), name="between"),
    )
    with pytest.raises(
        ValueError, match=r"'(left|right)' and 'between' could not be parted: 0\.\d+ m are left"
    ):
        scene.resolve_overlaps()
    assert scene.bodies[2].position.tolist() == [0, 0, 0]


def test_clearance_is_checked():
    with pytest.raises(ValueError, match="clearance"):
        Scene().resolve_overlaps(-0.1)
    with pytest.raises(TypeError, match="clearance"):
        Scene().resolve_overlaps("wide")


def test_scene_still_knows_moved_bodies():
    scene = Scene()
    given = body(Sphere(1.0), (0, 0, 0), velocity=(1, 2, 3))
    returned = scene.add(given)
    scene.add(body(Sphere(1.0), (1, 0, 0)))
    scene.disable_collision(0, 1)
    third = scene.add(body(Sphere(1.0), (-1, 0, 0), name="third"))
    first_move = scene.resolve_overlaps()
    between = scene.bodies[0]
    assert between is not returned
    scene.resolve_overlaps(clearance=1.0)
    assert [scene.index(each) for each in (given, returned, between, scene.bodies[0], third, "sphere-0")] == [
        0, 0, 0, 0, 2, 0,
    ]  # fmt: skip
    assert first_move[0].name == "sphere-0"
    assert scene.bodies[0].velocity.tolist() == [1, 2, 3]
    assert not scene.bodies[0].position.flags.writeable
    assert scene.disabled_pairs == ((0, 1),)


def test_hundreds_of_bodies_take_seconds_and_repeat_bit_for_bit():
    runs = []
    for _ in range(2):
        scene = pile(300, 7, SHAPES[:5])
        begin = time.perf_counter()
        moved = scene.resolve_overlaps()
        assert time.perf_counter() - begin < 60.0  # seconds, with room for compiling and a busy machine
        assert_parted(scene)
        runs.append([(each.name, each.displacement.tobytes()) for each in moved])
    assert runs[0] == runs[1]


def test_pile_with_meshes():
    scene = pile(40, 5, SHAPES)
    scene.resolve_overlaps()
    assert_parted(scene)


def test_the_largest_overlap_of_a_long_run_is_looked_for_at_evenly_chosen_times(monkeypatch):
    from carom.simulator.record import trajectory as module

    bouncy = carom.Material(friction=0.0, restitution=0.9)
    scene = scene_of(
        Body(HalfSpace((0, 0, 1)), fixed=True, material=bouncy),
        body(Sphere(0.1), (0, 0, 0.5), material=bouncy),
        body(Sphere(0.1), (1, 0, 0.5), material=bouncy),
    )
    run = Simulator(scene, carom.SequentialReflection()).run(1.0)
    looked = []

    def noted(model, pair, packed):
        looked.append(packed[1, 2])
        return overlap(model, pair, packed)

    monkeypatch.setattr(module, "overlap", noted)
    pairs = len(collision_pairs(run.model))
    near = pairs - 1  # the balls are never near each other
    whole = run.largest_overlap()
    every = len(looked)
    assert every > 200 * near
    looked.clear()
    assert run.largest_overlap(looks=10 * pairs) <= whole
    assert len(looked) == 10 * near
    assert looked[0] == 0.5
    assert looked[-1] == run.sample(1.0).position[1, 2]
    looked.clear()
    assert run.largest_overlap(looks=every * pairs) == whole
    assert len(looked) == every
