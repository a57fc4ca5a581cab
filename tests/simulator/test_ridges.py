"""Bodies that slide over ridges of triangle meshes: a corner passes, and its edges follow in contact."""

import numpy as np
import pytest

import carom
from carom.demos import rockfall
from carom.simulator.collision.pairs import overlap

# A roof whose sides fall by 14 and 27 degrees: convex, so that it is also a hull, whose contacts and searches are
# found by other kernels.
ROOF = np.array(
    [(x, y, z) for y in (-4.0, 4.0) for x, z in ((-4.0, -1.0), (0.0, 0.0), (4.0, -2.0), (0.0, -3.0))]
)
SIDES = [(0, 1, 2), (0, 2, 3)]
WALLS = [(0, 1, 5, 4), (1, 2, 6, 5), (2, 3, 7, 6), (3, 0, 4, 7)]


def roof_triangles():
    triangles = [side[::-1] for side in SIDES] + [tuple(4 + k for k in side) for side in SIDES]
    for a, b, c, d in WALLS:
        triangles += [(a, b, c), (a, c, d)]
    return np.array(triangles)


def sliding_box(roof, yaw, friction):
    """A box that comes up the flat side towards the ridge, turned about its normal."""
    material = carom.Material(friction=friction, restitution=0.2)
    scene = carom.Scene()
    place = ROOF.min(axis=0) - roof.vertices.min(axis=0)
    scene.add(carom.Body(roof, fixed=True, position=place, material=material, name="roof"))
    up = np.array([-1.0, 0.0, 4.0]) / np.sqrt(17.0)
    along = np.array([4.0, 0.0, 1.0]) / np.sqrt(17.0)
    turn, lean = np.array([np.cos(yaw / 2), 0, 0, np.sin(yaw / 2)]), np.arctan2(1.0, 4.0)
    tilt = np.array([np.cos(lean / 2), 0.0, -np.sin(lean / 2), 0.0])
    orientation = quaternion_product(tilt, turn)
    box = carom.Body(
        carom.Box((0.8, 0.5, 0.3)),
        density=1000.0,
        position=-1.5 * along + 0.15 * up,
        orientation=orientation,
        velocity=5.0 * along,
        material=material,
        name="box",
    )
    scene.add(box)
    return scene


def quaternion_product(a, b):
    return np.concatenate(
        [[a[0] * b[0] - a[1:] @ b[1:]], a[0] * b[1:] + b[0] * a[1:] + np.cross(a[1:], b[1:])]
    )


@pytest.mark.parametrize("yaw", [0.0, 0.3, 1.2])
@pytest.mark.parametrize("friction", [0.0, 0.3])
def test_over_a_ridge_of_a_mesh_as_over_that_of_a_hull(yaw, friction):
    mesh = carom.Mesh((ROOF, roof_triangles()))
    hull = carom.ConvexMesh(ROOF)
    runs = []
    for shape in (mesh, hull):
        scene = sliding_box(shape, yaw, friction)
        simulator = carom.Simulator(scene, law=carom.StrongeCoulomb())
        runs.append(simulator.run(0.9))
        assert runs[-1].status is carom.RunStatus.REACHED_END
        times = np.linspace(0.0, 0.9, 181)
        deepest = max(overlap(simulator.model, (0, 1), runs[-1].sample(time).packed()) for time in times)
        assert deepest <= 1e-9 * simulator.model.size[0]
        # three contacts come to lie in line, and their forces pass through infinity (saved: 900 N of pull)
        for time in np.linspace(0.3, 0.45, 151):
            assert runs[-1].contact_forces(time).unexplained <= 1e-6
    on_mesh, on_hull = (run.sample(times) for run in runs)
    # once it has left the ridge behind, chance grows from rounding with each of many bounces
    together = times <= 0.6
    assert np.abs(on_mesh.position - on_hull.position)[together].max() < 1e-7


PASSED = {7: 4.6, 22: 5.05, 27: 1.85, 28: 3.15, 32: 2.1}
"""Rockfall's members that went through a ridge, or stood still on one (32), and when [s]."""


@pytest.mark.parametrize(("member", "end"), list(PASSED.items()))
def test_blocks_that_went_through_a_ridge(member, end):
    stay_above(member, end, 30)


@pytest.mark.long
@pytest.mark.parametrize("member", [*PASSED, 16, 24])
def test_blocks_that_went_through_a_ridge_come_to_rest(member):
    assert stay_above(member, 14.0, 200) is carom.RunStatus.AT_REST


def stay_above(member, end, samples):
    """Run a block of the demo and look for overlap in the last 0.1 s, or all the time; how it ends."""
    rng = np.random.default_rng(np.random.SeedSequence(rockfall.SEED).spawn(member + 1)[member])
    simulator = carom.Simulator(rockfall.rock_scene(rng), law=carom.StrongeCoulomb())
    run = simulator.run(end)
    assert run.status in (carom.RunStatus.REACHED_END, carom.RunStatus.AT_REST)
    begin = run.end_time - 0.1 if samples <= 30 else 0.0
    for time in np.linspace(begin, run.end_time, samples):
        assert overlap(simulator.model, (1, 3), run.sample(time).packed()) <= 1e-9 * simulator.model.size[1]
    return run.status
