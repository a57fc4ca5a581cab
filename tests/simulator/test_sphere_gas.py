"""Gas of hard spheres: the engine and an all-pairs reference beside it, energy, overlap, clusters, refusals."""

import itertools
import math

import numpy as np
import pytest
from scipy.spatial.distance import pdist, squareform

from carom import (
    Body,
    Box,
    HalfSpace,
    Material,
    Scene,
    SequentialReflection,
    Simulator,
    Sphere,
    SphereGas,
    StrongeCoulomb,
)
from carom.simulator import GasStatus

ELASTIC = Material(friction=0.0, restitution=1.0)


def gas_scene(
    count, fill=0.2, seed=0, *, gravity=(0.0, 0.0, 0.0), walls=True, material=ELASTIC, uneven=False
):
    """Spheres of random velocity on a lattice in a box."""
    rng = np.random.default_rng(seed)
    side = math.ceil(count ** (1 / 3))
    edge = (count * 4.0 / 3.0 * math.pi / fill) ** (1 / 3)
    scene = Scene(gravity=gravity)
    if walls:
        for axis, sign in itertools.product(range(3), (1.0, -1.0)):
            normal = np.zeros(3)
            normal[axis] = sign
            scene.add(Body(HalfSpace(normal, offset=-0.5 * edge), fixed=True, material=material))
    for k in range(count):
        place = np.array([k // side**2, k // side % side, k % side])
        radius = rng.uniform(0.4, 1.0) if uneven else 1.0
        scene.add(
            Body(
                Sphere(radius),
                mass=rng.uniform(0.5, 2.0) if uneven else 1.0,
                position=(place + 0.5) * edge / side - 0.5 * edge,
                velocity=rng.normal(size=3),
                angular_velocity=rng.normal(size=3),
                material=material,
            )
        )
    return scene


def overlap(scene, state):
    """Deepest overlap of any two spheres or of one with a half-space, over the largest radius."""
    balls = [k for k, body in enumerate(scene.bodies) if isinstance(body.shape, Sphere)]
    radius = np.array([scene.bodies[k].shape.radius for k in balls])
    where = state.position[balls]
    gaps = squareform(pdist(where)) - radius[:, None] - radius
    np.fill_diagonal(gaps, np.inf)
    least = gaps.min()
    for body in scene.bodies:
        if isinstance(body.shape, HalfSpace):
            least = min(least, (where @ body.shape.normal - body.shape.offset - radius).min())
    return max(0.0, -least / radius.max())


def all_pairs_reference(scene, events):
    """Times and pairs of the first impacts of equal-restitution spheres and planes, by looking at every pair."""
    balls = [body for body in scene.bodies if isinstance(body.shape, Sphere)]
    planes = [body for body in scene.bodies if isinstance(body.shape, HalfSpace)]
    x = np.array([body.position for body in balls], dtype=np.longdouble)
    v = np.array([body.velocity for body in balls], dtype=np.longdouble)
    mass = np.array([body.mass for body in balls], dtype=np.longdouble)
    radius = np.array([body.shape.radius for body in balls], dtype=np.longdouble)
    now, found = np.longdouble(0), []
    for _ in range(events):
        best = (np.inf, None)
        for i, j in itertools.combinations(range(len(balls)), 2):
            r, w = x[j] - x[i], v[j] - v[i]
            b, a = r @ w, w @ w
            c = r @ r - (radius[i] + radius[j]) ** 2
            if b < 0 and b * b - a * c > 0:
                best = min(best, (c / (-b + np.sqrt(b * b - a * c)), (i, j)), key=lambda entry: entry[0])
        for i, k in itertools.product(range(len(balls)), range(len(planes))):
            normal = planes[k].shape.normal.astype(np.longdouble)
            if normal @ v[i] < 0:
                height = normal @ x[i] - planes[k].shape.offset - radius[i]
                best = min(best, (height / -(normal @ v[i]), (i, -1 - k)), key=lambda entry: entry[0])
        step, (i, j) = best
        x, now = x + step * v, now + step
        found.append((float(now), (i, j)))
        if j >= 0:
            normal = (x[i] - x[j]) / np.linalg.norm((x[i] - x[j]).astype(float))
            impulse = -2 * (normal @ (v[i] - v[j])) / (1 / mass[i] + 1 / mass[j])
            v[i] += impulse / mass[i] * normal
            v[j] -= impulse / mass[j] * normal
        else:
            normal = planes[-1 - j].shape.normal.astype(np.longdouble)
            v[i] -= 2 * (normal @ v[i]) * normal
    return found, x.astype(float)


@pytest.mark.parametrize("uneven", [False, True])
def test_first_impacts_are_those_of_all_pairs(uneven):
    scene = gas_scene(27, seed=3, uneven=uneven)
    expected, where = all_pairs_reference(scene, 60)
    gas = SphereGas(scene)
    for time, _ in expected:
        gas.run(impacts=1)
        assert gas.time == pytest.approx(time, abs=1e-9)
    np.testing.assert_allclose(gas.state.position[6:], where, atol=1e-7)


@pytest.mark.parametrize("gravity", [(0.0, 0.0, 0.0), (0.5, -0.3, -2.0)])
def test_the_engine_ends_where_the_gas_does(gravity):
    scene = gas_scene(8, seed=1, gravity=gravity)
    gas, simulator = SphereGas(scene), Simulator(scene, SequentialReflection())
    assert gas.run(2.0) is GasStatus.REACHED_END
    simulator.run(2.0)
    ours, theirs = gas.state, simulator.state
    assert gas.impacts == sum(event.outcome is not None for event in simulator.trajectory.events) > 10
    np.testing.assert_allclose(ours.position, theirs.position, atol=1e-8)
    np.testing.assert_allclose(ours.velocity, theirs.velocity, atol=1e-8)
    np.testing.assert_allclose(ours.angular_velocity, theirs.angular_velocity, atol=1e-10)
    sign = np.sign(np.sum(ours.orientation * theirs.orientation, axis=1))
    np.testing.assert_allclose(ours.orientation * sign[:, None], theirs.orientation, atol=1e-9)


@pytest.mark.parametrize(
    ("gravity", "uneven", "walls"),
    [((0, 0, 0), False, True), ((0, 0, -1), True, True), ((0, 0, 0), True, False)],
)
def test_energy_stays_and_nothing_overlaps(gravity, uneven, walls):
    scene = gas_scene(150, seed=5, gravity=gravity, uneven=uneven, walls=walls)
    gas = SphereGas(scene)
    before = gas.energy
    rng = np.random.default_rng(0)
    for _ in range(40):
        gas.run(gas.time + rng.exponential(0.3))
        assert overlap(scene, gas.state) <= 1e-12
    assert gas.impacts > (3000 if walls else 30)
    assert gas.energy == pytest.approx(before, rel=1e-12)


def test_momentum_and_energy_lost_without_walls():
    scene = gas_scene(100, 0.35, 2, walls=False, material=Material(friction=0.0, restitution=0.64))
    gas = SphereGas(scene)
    before = gas.state
    energy = gas.energy
    assert gas.run(3.0) is GasStatus.REACHED_END
    np.testing.assert_allclose(gas.state.velocity.sum(axis=0), before.velocity.sum(axis=0), atol=1e-12)
    assert gas.energy < energy
    assert overlap(scene, gas.state) <= 1e-12


def test_dense_gas_of_a_hundred_thousand_impacts():
    scene = gas_scene(200, 0.45, 7)
    gas = SphereGas(scene)
    before = gas.energy
    assert gas.run(impacts=100_000) is GasStatus.IMPACT_LIMIT
    assert gas.impacts == 100_000
    assert overlap(scene, gas.state) <= 1e-12
    assert gas.energy == pytest.approx(before, rel=1e-11)


def test_runs_in_parts_are_one_run():
    whole, parts = SphereGas(gas_scene(64, seed=9)), SphereGas(gas_scene(64, seed=9))
    whole.run(impacts=3000)
    for _ in range(30):
        parts.run(impacts=100)
    assert whole.time == parts.time
    assert np.array_equal(whole.state.position, parts.state.position)


def row_of_balls(count, speed=1.0):
    scene = Scene(gravity=(0.0, 0.0, 0.0))
    for k in range(count):
        velocity = (speed, 0.0, 0.0) if k == 0 else (0.0, 0.0, 0.0)
        gap = 1.0 if k == 0 else 0.0
        scene.add(
            Body(Sphere(0.5), mass=1.0, position=(k - gap, 0.0, 0.0), velocity=velocity, material=ELASTIC)
        )
    return scene


@pytest.mark.parametrize("count", [3, 5])
def test_touching_balls_are_one_impact_of_the_law(count):
    gas = SphereGas(row_of_balls(count))
    assert gas.run(3.0) is GasStatus.REACHED_END
    assert gas.simultaneous == 1
    np.testing.assert_allclose(gas.state.velocity[:, 0], [0.0] * (count - 1) + [1.0], atol=1e-14)
    assert gas.state.position[-1, 0] == pytest.approx(count - 1 + 2.0, abs=1e-9)


def test_fixed_spheres_reflect():
    scene = Scene(gravity=(0.0, 0.0, 0.0))
    scene.add(Body(Sphere(0.5), mass=1.0, position=(0, 0, 0), velocity=(1, 0, 0), material=ELASTIC))
    scene.add(Body(Sphere(0.5), fixed=True, position=(3, 0, 0), material=ELASTIC))
    gas = SphereGas(scene)
    gas.run(5.0)
    np.testing.assert_allclose(gas.state.velocity[0], [-1.0, 0.0, 0.0], atol=1e-15)
    assert gas.state.position[0, 0] == pytest.approx(-1.0, abs=1e-14)


def test_far_spheres_share_places_of_the_grid_but_not_impacts():
    """Two pairs a million radii apart, in a grid that starts over long before."""
    scene = Scene(gravity=(0.0, 0.0, 0.0))
    for x in (0.0, 1e6):
        scene.add(Body(Sphere(0.5), mass=1.0, position=(x, 0, 0), velocity=(1, 0, 0), material=ELASTIC))
        scene.add(Body(Sphere(0.5), mass=1.0, position=(x + 3, 0, 0), velocity=(-1, 0, 0), material=ELASTIC))
    gas = SphereGas(scene)
    gas.run(10.0)
    assert gas.impacts == 2
    np.testing.assert_allclose(gas.state.velocity[:, 0], [-1.0, 1.0, -1.0, 1.0], atol=1e-12)


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"law": StrongeCoulomb()}, TypeError, "SequentialReflection"),
        ({"body": Body(Box((1, 1, 1)), density=1.0, position=(50, 0, 0))}, TypeError, "Box"),
        ({"body": Body(Sphere(1.0), density=1.0, position=(1.0, 1.0, 1.0))}, ValueError, "overlap"),
        ({"body": Body(Sphere(1.0), density=1.0, position=(0, 0, 500))}, ValueError, "half-space"),
        (
            {"body": Body(Sphere(0.1), density=1.0, position=(9, 9, 9), sensor=True)},
            ValueError,
            "push each other",
        ),
        (
            {"body": Body(Sphere(0.1), density=1.0, position=(9, 9, 9), collision_group=2, collision_mask=2)},
            ValueError,
            "push each other",
        ),
        ({"gravity": (0, 0, -1), "material": Material(restitution=0.5)}, ValueError, "restitution"),
        (
            {"gravity": (0, 0, -1), "body": Body(Sphere(0.1), fixed=True, material=ELASTIC)},
            ValueError,
            "fixed",
        ),
    ],
)
def test_what_a_gas_cannot_hold_is_named(change, error, words):
    scene = gas_scene(8, gravity=change.get("gravity", (0, 0, 0)), material=change.get("material", ELASTIC))
    if "body" in change:
        scene.add(change["body"])
    with pytest.raises(error, match=words):
        SphereGas(scene, change.get("law"))


def test_bad_ends_are_named():
    gas = SphereGas(gas_scene(8))
    with pytest.raises(ValueError, match="until"):
        gas.run(-1.0)
    with pytest.raises(ValueError, match="until"):
        gas.run()
    with pytest.raises(ValueError, match="impacts"):
        gas.run(impacts=-1)
    with pytest.raises(ValueError, match="sphere"):
        SphereGas(Scene())
