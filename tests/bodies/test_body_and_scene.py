"""Materials, bodies, scenes, and a scene's description."""

import json
import math

import numpy as np
import pytest

import carom
from carom.bodies import (
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
    Scene,
    Sphere,
)
from carom.bodies.material import combine

BALL = Sphere(0.1)


def test_equal_materials_keep_their_value_exactly():
    for value in (0.1, 0.3, 0.7, 1.0, 1e-300):
        material = Material(friction=value, restitution=value)
        assert combine(material, material) == material
    mixed = combine(Material(0.2, 0.5), Material(0.8, 0.0))
    assert mixed.friction == pytest.approx(0.4, rel=1e-15)
    assert mixed.restitution == 0.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"friction": -0.1}, "friction: expected a number of at least 0, got -0.1"),
        ({"restitution": 1.1}, "restitution: expected a number between 0 and 1, got 1.1"),
        ({"restitution": math.nan}, "restitution: expected a finite number"),
    ],
)
def test_bad_materials(arguments, message):
    with pytest.raises(ValueError, match=message):
        Material(**arguments)


def test_mass_from_density_or_uniform_shape():
    dense = Body(BALL, density=1000.0)
    same = Body(BALL, mass=dense.mass)
    assert dense.mass == pytest.approx(1000.0 * 4.0 / 3.0 * math.pi * 1e-3)
    np.testing.assert_array_equal(dense.inertia, same.inertia)
    assert dense.inverse_mass == 1.0 / dense.mass
    custom = Body(BALL, mass=2.0, inertia=np.diag([1.0, 1.0, 2.0]))
    np.testing.assert_array_equal(custom.inertia, np.diag([1.0, 1.0, 2.0]))


def test_fixed_bodies_need_no_mass():
    floor = Body(HalfSpace((0, 0, 1)), fixed=True)
    assert (floor.mass, floor.inverse_mass) == (math.inf, 0.0)
    assert Body(BALL, fixed=True, density=10.0).inverse_mass == 0.0


def test_bodies_are_read_only():
    body = Body(BALL, density=1.0, position=[1, 2, 3])
    with pytest.raises(AttributeError):
        body.mass = 2.0
    for name in ("position", "orientation", "velocity", "angular_velocity", "inertia"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(body, name)[0] = 1.0
    source = np.zeros(3)
    body = Body(BALL, density=1.0, position=source)
    source[0] = 5.0
    assert body.position[0] == 0.0


def test_orientation_is_normalised_once():
    rough = np.array([0.5, 0.5, 0.5, 0.5]) + 1e-8
    body = Body(BALL, density=1.0, orientation=rough)
    assert np.linalg.norm(body.orientation) == pytest.approx(1.0, abs=3e-16)
    random = np.random.default_rng(0).normal(size=(200, 4))
    for quaternion in random / np.linalg.norm(random, axis=1)[:, None]:
        once = Body(BALL, density=1.0, orientation=quaternion).orientation
        twice = Body(BALL, density=1.0, orientation=once).orientation
        np.testing.assert_array_equal(once, twice)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "density, mass: expected exactly one of the two for a body that can move, got neither"),
        ({"density": 1.0, "mass": 1.0}, "density, mass: expected exactly one of the two, got both"),
        ({"density": 1.0, "inertia": np.eye(3)}, "inertia: expected together with mass"),
        ({"density": 0.0}, "density: expected a number greater than 0"),
        ({"mass": math.inf}, "mass: expected a finite number"),
        ({"mass": 1.0, "inertia": np.ones(3)}, r"inertia: expected shape \(3, 3\), got \(3,\)"),
        ({"mass": 1.0, "inertia": [[1, 1, 0], [0, 1, 0], [0, 0, 1]]}, "inertia: expected a symmetric matrix"),
        ({"mass": 1.0, "inertia": np.diag([1.0, 1.0, 0.0])}, "inertia: expected positive principal moments"),
        ({"mass": 1.0, "inertia": np.diag([1.0, 1.0, 3.0])}, "no principal moment exceeds the sum"),
        ({"mass": 1.0, "orientation": (1, 0, 0, 0.1)}, "orientation: expected a unit quaternion"),
        ({"mass": 1.0, "position": (0, 0)}, r"position: expected shape \(3\), got \(2,\)"),
        ({"mass": 1.0, "velocity": (0, 0, math.nan)}, "velocity: expected finite numbers"),
        ({"fixed": True, "velocity": (0, 0, 1)}, "velocity: expected zero for a fixed body"),
        ({"fixed": True, "angular_velocity": (0, 0, 1)}, "expected zero for a fixed body"),
        ({"mass": 1.0, "collision_group": -1}, r"collision_group: .* from 0 to 2\^63 - 1, got -1"),
        (
            {"mass": 1.0, "collision_mask": 2**63},
            r"collision_mask: .* from 0 to 2\^63 - 1, got 9223372036854775808",
        ),
        ({"sensor": True}, "density, mass: expected exactly one of the two for a body that can move"),
    ],
)
def test_bad_bodies_are_refused_by_field(arguments, message):
    with pytest.raises(ValueError, match=message):
        Body(BALL, **arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"mass": "1"}, "mass: expected a number, got '1'"),
        ({"mass": 1.0, "material": 0.5}, "material: expected a Material, got float"),
        ({"mass": 1.0, "fixed": 1}, "fixed: expected True or False"),
        ({"mass": 1.0, "sensor": 1}, "sensor: expected True or False, got 1"),
        ({"mass": 1.0, "collision_group": True}, "collision_group: expected a whole number, got True"),
        ({"mass": 1.0, "collision_mask": 1.0}, r"collision_mask: expected a whole number, got 1.0 \(float\)"),
        ({"mass": 1.0, "collision_mask": None}, "collision_mask: expected a whole number, got None"),
        ({"mass": 1.0, "name": ""}, "name: expected a text"),
        ({"mass": 1.0, "position": "up"}, "position: expected numbers"),
    ],
)
def test_bad_types_are_refused_by_field(arguments, message):
    with pytest.raises(TypeError, match=message):
        Body(BALL, **arguments)


def test_half_space_must_be_fixed_and_has_no_mass():
    with pytest.raises(ValueError, match="fixed: expected True for a body of shape HalfSpace"):
        Body(HalfSpace((0, 0, 1)), mass=1.0)
    with pytest.raises(ValueError, match="mass: expected none for a HalfSpace"):
        Body(HalfSpace((0, 0, 1)), mass=1.0, fixed=True)


def test_names_and_indices():
    scene = Scene()
    plain = Body(BALL, density=1.0)
    named = Body(BALL, density=1.0, name="sphere-1")
    first, second, third = scene.add(plain), scene.add(named), scene.add(Body(BALL, density=1.0))
    assert [body.name for body in scene.bodies] == ["sphere-0", "sphere-1", "sphere-2"]
    assert second is named
    assert plain.name is None
    assert [scene.index(body) for body in (plain, first, named, third, "sphere-2", 1)] == [0, 0, 1, 2, 2, 1]
    with pytest.raises(ValueError, match="'sphere-1' again"):
        scene.add(named)
    with pytest.raises(ValueError, match="no body is named 'ball'; known are: sphere-0"):
        scene.index("ball")
    with pytest.raises(ValueError, match="is not in the scene"):
        scene.index(Body(BALL, density=1.0))
    with pytest.raises(TypeError, match="body: expected a Body, got Sphere"):
        scene.add(BALL)  # type: ignore[arg-type]
    scene.add(plain)
    with pytest.raises(ValueError, match="added several times"):
        scene.index(plain)


def test_pair_materials():
    scene = Scene()
    a = scene.add(Body(BALL, density=1.0, material=Material(0.3, 0.8)))
    b = scene.add(Body(BALL, density=1.0, material=Material(0.3, 0.2)))
    assert scene.pair_material(0, 1).friction == 0.3
    assert scene.pair_material(0, 1).restitution == pytest.approx(0.4)
    scene.set_pair_material(b, a, Material(0.0, 0.0))
    assert scene.pair_material(0, 1) == scene.pair_material("sphere-1", a) == Material(0.0, 0.0)
    with pytest.raises(ValueError, match="another body"):
        scene.set_pair_material(a, a, Material())


def rich_scene() -> Scene:
    random = np.random.default_rng(3)
    scene = Scene(gravity=(0.1, 1e-300, -9.81))
    scene.add(Body(HalfSpace((0.1, 0.2, 0.9), 0.3), fixed=True, name="floor"))
    hull = ConvexMesh(random.normal(size=(40, 3)) + 5.0)
    open_mesh = Mesh(
        (np.eye(3), [[0, 1, 2]]),
        mass_properties=MassProperties(1.0, np.diag([0.3, 0.4, 0.5]), (0.1, 0.2, 0.3)),
    )
    shapes = (
        BALL,
        Box((0.1, 0.2, 1 / 3)),
        Capsule(0.1, 0.7),
        Cylinder(0.1, 0.7),
        Ellipsoid((0.1, 1 / 3, 0.7)),
        hull,
        hull,
        Mesh(Box((1 / 3, 0.2, 0.7)).surface()),
    )
    for shape in shapes:
        quaternion = random.normal(size=4)
        scene.add(
            Body(
                shape,
                density=random.uniform(1, 9),
                position=random.normal(size=3),
                orientation=quaternion / np.linalg.norm(quaternion),
                velocity=random.normal(size=3),
                angular_velocity=random.normal(size=3),
                material=Material(*random.uniform(size=2)),
            )
        )
    scene.add(Body(open_mesh, mass=2.0, name="sheet", collision_group=2**62, collision_mask=6))
    vertices, faces = Box((0.3, 1 / 7, 0.7)).surface()
    scene.add(Body(Mesh((vertices + 1 / 3, faces[1:]), mass_from="hull"), density=1 / 3, name="scan"))
    scene.add(Body(BALL, fixed=True, sensor=True, name="gate"))
    scene.add(Body(BALL, mass=1.0, inertia=[[1, 0.1, 0], [0.1, 1, 0], [0, 0, 1 / 3]], name="loaded"))
    scene.set_pair_material("floor", "loaded", Material(0.123, 0.456))
    scene.disable_collision("scan", "floor")
    scene.disable_collision("gate", "loaded")
    return scene


def test_description_rebuilds_the_scene_bit_for_bit(tmp_path):
    scene = rich_scene()
    meta, arrays = scene.describe()
    text = json.dumps(meta, allow_nan=False)
    np.savez(tmp_path / "arrays.npz", **arrays)
    with np.load(tmp_path / "arrays.npz", allow_pickle=False) as kept:
        again = Scene.from_description(json.loads(text), dict(kept))
    assert again.gravity.tobytes() == scene.gravity.tobytes()
    for old, new in zip(scene.bodies, again.bodies, strict=True):
        assert old.shape == new.shape
        assert (old.name, old.mass, old.density, old.fixed) == (new.name, new.mass, new.density, new.fixed)
        assert old.material == new.material
        assert (old.collision_group, old.collision_mask) == (new.collision_group, new.collision_mask)
        assert old.sensor is new.sensor
        for name in ("inertia", "position", "orientation", "velocity", "angular_velocity"):
            assert getattr(old, name).tobytes() == getattr(new, name).tobytes(), name
        if not isinstance(old.shape, HalfSpace):
            assert old.shape.unit_mass_inertia().tobytes() == new.shape.unit_mass_inertia().tobytes()
            for kept_array, read in zip(old.shape.surface(), new.shape.surface(), strict=True):
                np.testing.assert_array_equal(kept_array, read)
    count = len(scene)
    for i in range(count):
        for j in range(i):
            assert scene.pair_material(i, j) == again.pair_material(i, j)
            assert scene.collides(i, j) == again.collides(i, j)
    assert scene.disabled_pairs == again.disabled_pairs != ()
    assert json.dumps(again.describe()[0]) == text


def test_bodies_of_one_shape_share_its_description():
    meta, arrays = rich_scene().describe()
    hulls = [body["shape"] for body in meta["bodies"] if str(body["shape"]).startswith("convex")]
    assert hulls == ["convex-mesh-0"] * 2
    assert sorted(meta["shapes"]) == ["convex-mesh-0", "mesh-1", "mesh-2", "mesh-3"]
    assert sum(key.startswith("convex") for key in arrays) == 1


@pytest.mark.parametrize(
    "damage",
    [
        lambda meta, arrays: meta.update(gravity=3),
        lambda meta, arrays: meta.update(version=99),
        lambda meta, arrays: meta.pop("bodies"),
        lambda meta, arrays: meta.update(disabled_pairs=[["scan", "scan"]]),
        lambda meta, arrays: meta.update(disabled_pairs=[["scan", "nobody"]]),
        lambda meta, arrays: meta["bodies"][1].update(sensor=3),
        lambda meta, arrays: meta["bodies"][1].update(collision_mask=-1),
        lambda meta, arrays: meta["shapes"]["mesh-3"].pop("mass_properties"),
        lambda meta, arrays: meta["shapes"]["mesh-3"]["mass_properties"].update(mass=0.0),
        lambda meta, arrays: meta["bodies"][1].update(shape=99),
        lambda meta, arrays: meta["bodies"][1].update(mass=-1.0),
        lambda meta, arrays: meta["shapes"]["mesh-1"].update(kind="teapot"),
        lambda meta, arrays: arrays.clear(),
        lambda meta, arrays: arrays.update(
            {k: v[::-1] for k, v in arrays.items() if k.endswith("_vertices")}
        ),
        lambda meta, arrays: meta.update(bodies=3),
    ],
)
def test_damaged_descriptions_are_refused(damage):
    meta, arrays = rich_scene().describe()
    meta = json.loads(json.dumps(meta))
    damage(meta, arrays)
    with pytest.raises((ValueError, TypeError)):
        Scene.from_description(meta, arrays)


def test_description_keeps_the_middle_of_an_ellipsoid():
    scene = Scene()
    scene.add(Body(Ellipsoid((0.1, 0.2, 1 / 3), center=(0, 1 / 7, 0.1)), mass=1.0, inertia=np.eye(3)))
    again = Scene.from_description(*scene.describe())
    assert again.bodies[0].shape == scene.bodies[0].shape


# -- many copies of a body -------------------------------------------------------------------------------------


def test_copies_are_the_bodies_that_one_would_have_added():
    random = np.random.default_rng(0)
    stone = carom.Body(
        carom.ConvexMesh(random.normal(size=(20, 3))), density=2000.0, color="red", name="stone",
        velocity=(0, 0, -1), material=carom.Material(friction=0.7), collision_group=2,
    )  # fmt: skip
    places, turns = random.normal(size=(50, 3)), random.normal(size=(50, 4))
    turns /= np.linalg.norm(turns, axis=1)[:, None]
    scene = carom.Scene()
    made = scene.add_copies(stone, position=places, orientation=turns, angular_velocity=(0, 1, 0))
    assert made == scene.bodies
    assert [body.name for body in made] == [f"stone-{k}" for k in range(50)]
    for k, body in enumerate(made):
        alone = carom.Body(
            stone.shape, density=2000.0, color="red", velocity=(0, 0, -1), material=stone.material,
            collision_group=2, position=places[k], orientation=turns[k], angular_velocity=(0, 1, 0),
        )  # fmt: skip
        for name in ("position", "orientation", "velocity", "angular_velocity", "inertia"):
            assert np.array_equal(getattr(body, name), getattr(alone, name))
            assert not getattr(body, name).flags.writeable
        for name in ("mass", "color", "material", "collision_group", "fixed", "density"):
            assert getattr(body, name) == getattr(alone, name)
        assert body.shape is stone.shape


def test_copies_of_a_body_without_a_name_are_named_as_ever():
    scene = carom.Scene()
    scene.add(carom.Body(carom.Sphere(0.1), mass=1.0))
    made = scene.add_copies(carom.Body(carom.Sphere(0.1), mass=1.0), position=[(1, 0, 0), (2, 0, 0)])
    assert [body.name for body in made] == ["sphere-1", "sphere-2"]
    assert scene.add_copies(made[0], position=np.zeros((0, 3))) == ()


def test_copies_that_cannot_be_are_refused_whole():
    scene, stone = carom.Scene(), carom.Body(carom.Sphere(0.1), mass=1.0, name="stone")
    scene.add_copies(stone, position=[(0, 0, 0)])
    two = [(0, 0, 1), (0, 0, 2)]
    for given, error, words in (
        (
            {"position": two},
            ValueError,
            "name: expected one that is not in the scene yet, got 'stone-0' again",
        ),
        ({"position": (0, 0, 1)}, ValueError, r"position: expected shape \(n, 3\)"),
        ({"position": [(0, 0, np.nan)]}, ValueError, "position: expected finite"),
        ({"position": two, "velocity": [(0, 0, 1)]}, ValueError, r"velocity: expected shape \(2, 3\)"),
        ({"position": two, "orientation": (2, 0, 0, 0)}, ValueError, "orientation: expected"),
        ({"position": "here"}, TypeError, "position: expected numbers"),
    ):
        other = stone if "stone-0" in words else carom.Body(carom.Sphere(0.1), mass=1.0, name="other")
        with pytest.raises(error, match=words):
            scene.add_copies(other, **given)
        assert len(scene) == 1
    with pytest.raises(TypeError, match="body: expected a Body, got Sphere"):
        scene.add_copies(carom.Sphere(0.1), position=two)
    with pytest.raises(ValueError, match="velocity: expected zero for a fixed body"):
        scene.add_copies(carom.Body(carom.Sphere(0.1), fixed=True), position=two, velocity=(1, 0, 0))
    assert len(scene) == 1
