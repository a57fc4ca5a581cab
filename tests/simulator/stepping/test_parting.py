"""Bodies that turn far within a step do not end inside each other, and what overlaps is parted without speed."""

import numpy as np
import pytest

import carom
from carom.bodies.rotation import rotation_matrices
from carom.impact_laws import ContactNetwork
from carom.simulator.collision.frames_kernels import POINT
from carom.simulator.stepping.convex_contacts import FLAT, ConvexContacts
from carom.simulator.stepping.parting import SHARE, move, parting_ways
from carom.simulator.stepping.step_record import RECORDED

LAW = carom.MaximumDissipation(tolerance=1e-4, max_sweeps=500)
FLOOR = carom.HalfSpace((0, 0, 1))


def spinning_boxes(seed, restitution=0.0):
    """Eight boxes of 0.1 m over a floor, each turning by 0.1 rad in a step of 2 ms."""
    random = np.random.default_rng(seed)
    material = carom.Material(friction=0.3, restitution=restitution)
    scene = carom.Scene()
    scene.add(carom.Body(FLOOR, fixed=True, material=material))
    for k in range(8):
        spin, turn = random.normal(size=3), random.normal(size=4)
        scene.add(
            carom.Body(
                carom.Box((0.1, 0.1, 0.1)),
                density=1000.0,
                position=(0.18 * (k % 2), 0.18 * (k // 2 % 2), 0.15 + 0.18 * (k // 4)),
                orientation=turn / np.linalg.norm(turn),
                velocity=random.normal(size=3) * [1.0, 1.0, 0.3] - [0.0, 0.0, 2.0],
                angular_velocity=50.0 * spin / np.linalg.norm(spin),
                material=material,
            )
        )
    return scene


@pytest.mark.parametrize("restitution", [0.0, 0.7])
@pytest.mark.parametrize("seed", range(6))
def test_boxes_that_turn_far_within_a_step_hardly_overlap(seed, restitution):
    # before ends of steps were looked at they overlapped by up to 3.3 mm
    simulator = carom.Simulator(spinning_boxes(seed, restitution), LAW, steps=2e-3)
    run = simulator.run(0.5)
    assert run.largest_overlap(250) < 3e-4
    assert simulator.step_log["gap"].min() > -3e-4


def side_by_side(**floor):
    """Two boxes that touch, one on top of them, on a floor without friction if none is given."""
    slippery = carom.Material(friction=floor.get("friction", 0.0))
    scene = carom.Scene()
    scene.add(carom.Body(FLOOR, fixed=True, material=slippery))
    for k in range(2):
        scene.add(
            carom.Body(
                carom.Box((0.2, 0.2, 0.2)),
                density=500.0,
                position=(0.2 * k, 0, 0.1),
                material=slippery,
                name=f"box {k}",
            )
        )
    return scene


def test_boxes_that_touch_at_the_start_are_parted_without_speed():
    run = carom.Simulator(side_by_side(), LAW, steps=2e-3).run(0.5, stop_at_rest=False)
    for time in np.linspace(0.0, 0.5, 26):
        state = run.sample(time)
        assert np.abs(state.velocity[1:]).max() < 2.5e-4  # CREEPING; gravity gives 2e-2 in a step
        assert np.abs(state.position[1:, 0] - [0.0, 0.2]).max() < 2e-3  # within the skins
    apart = np.diff(state.position[1:, 0])[0] - 0.2
    assert 5e-4 < apart < 3e-3


def test_what_is_at_rest_is_not_moved():
    simulator = carom.Simulator(side_by_side(friction=0.5), LAW, steps=2e-3)
    simulator.run(0.6, stop_at_rest=False)
    place = simulator.state.position.copy()
    simulator.run(1.6, stop_at_rest=False)
    assert np.abs(simulator.state.position - place).max() < 1e-7


def test_bodies_that_are_parted_rise_by_what_the_ledger_says():
    # boxes begin in the skin of each other and of the floor; places are recorded to RECORDED of a size
    run = carom.Simulator(side_by_side(friction=0.5), LAW, steps=2e-3).run(0.4, stop_at_rest=False)
    lifted = run.sample(0.4).position[1:, 2] - 0.1
    assert (lifted > 1e-4).all()
    ledger = run.ledger(np.linspace(0.001, 0.399, 200))  # amid steps
    weight, size = 8.0 * 9.81, 0.1 * np.sqrt(3.0)
    assert np.abs(ledger.residual).max() < weight * RECORDED * size < 0.01 * weight * lifted.max()


def chain(count, random):
    """A row of balls, each overlapping the next one and the first a wall: the network, and gaps."""
    place = np.column_stack([0.9 * np.arange(count) + 0.45, np.zeros(count), np.zeros(count)])
    bodies = [(0, -1), *((k + 1, k) for k in range(count - 1))]
    points = np.vstack([[0.0, 0.0, 0.0], 0.5 * (place[1:] + place[:-1])])
    network = ContactNetwork.of_points(
        bodies,
        points,
        np.tile([1.0, 0.0, 0.0], (count, 1)),
        place,
        random.uniform(0.5, 2.0, count),
        np.full(count, 0.1),
        np.zeros((count, 6)),
        0.5,
    )
    return network, np.array([-0.05] + (count - 1) * [-0.1])


def test_overlaps_are_parted_by_and_by_down_to_what_is_left():
    network, gaps = chain(5, np.random.default_rng(0))
    left, still = np.full(5, 1e-3), np.zeros((5, 6))
    for step in range(40):
        ways = parting_ways(network, gaps, left, still, 1e-3)
        if ways is None:
            break
        opened = network.contact_velocity(ways)[:, 0]
        if step == 0:
            assert ((0.5 * SHARE * -gaps < opened) & (opened < 1.1 * SHARE * -gaps)).all()
        gaps = gaps + opened
    assert ways is None
    assert ((-left <= gaps) & (gaps < 1e-3)).all()


def test_mutual_parting_moves_no_centre_of_mass():
    network, gaps = chain(5, np.random.default_rng(0))
    free = ContactNetwork(
        network.bodies[1:], network.jacobian[1:], network.inverse_mass, network.velocity, 0.5
    )
    ways = parting_ways(free, gaps[1:], np.full(4, 1e-3), np.zeros((5, 6)), 1e-3)
    assert np.abs(ways[:, 0]).max() > 0.01
    mass = 1.0 / network.inverse_mass[:, 0, 0]
    assert mass @ ways[:, :3] == pytest.approx(np.zeros(3), abs=1e-15)


def test_what_parts_by_itself_pushes_nothing():
    # two overlaps in a row; the second body leaves so fast that its neighbour is not reached
    network, _ = chain(2, np.random.default_rng(0))
    away = np.array([[0.0] * 6, [150.0, 0, 0, 0, 0, 0]])
    ways = parting_ways(network, np.array([-0.05, 0.0]), np.full(2, 1e-3), away, 1e-3)
    assert ways[0, 0] == pytest.approx(SHARE * 0.05, rel=1e-2)
    assert ways[1] == pytest.approx(np.zeros(6), abs=1e-12)


def test_bodies_are_moved_and_turned_as_they_are_told():
    random = np.random.default_rng(1)
    turn = random.normal(size=(4, 4))
    states = np.hstack(
        [random.normal(size=(4, 3)), turn / np.linalg.norm(turn, axis=1)[:, None], random.normal(size=(4, 6))]
    )
    before, ways = states.copy(), 1e-4 * random.normal(size=(4, 6))
    move(states, ways)
    assert states[:, :3] == pytest.approx(before[:, :3] + ways[:, :3], abs=1e-15)
    assert np.array_equal(states[:, 7:], before[:, 7:])
    rotations = rotation_matrices(states[:, 3:7])
    arms = rotation_matrices(before[:, 3:7]) @ np.array([1.0, -2.0, 0.5])
    turned = rotations @ np.array([1.0, -2.0, 0.5])
    assert turned - arms == pytest.approx(np.cross(ways[:, 3:], arms), abs=1e-7)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("sides", [24, 64])
def test_all_level_corners_of_a_hull_touch_the_face_under_them(sides, seed):
    """Of a prism of many sides that lies on a table, only the corners of one side did, so that it could rattle."""
    random = np.random.default_rng(seed)
    angle = 2.0 * np.pi * np.arange(sides) / sides
    corners = [(x, 0.05 * np.cos(t), 0.05 * np.sin(t)) for x in (-0.06, 0.06) for t in angle]
    half = random.uniform(0.0, np.pi)
    turn = np.array([np.cos(half), np.sin(half), *random.normal(size=2) * 1e-3])
    scene = carom.Scene()
    scene.add(carom.Body(carom.Box((1, 1, 0.1)), fixed=True, position=(0, 0, -0.05)))
    turn /= np.linalg.norm(turn)
    prism = scene.add(
        carom.Body(carom.ConvexMesh(corners), density=900.0, position=(0, 0, 0.0505), orientation=turn)
    )
    model = carom.Simulator(scene, LAW).model
    contacts = ConvexContacts(model)
    states = model.initial_states()[contacts.moving]
    keys, places, _ = contacts.within(states, np.array([True]), 2e-3, np.zeros((1, 6)))
    shape = prism.shape
    height = (states[:, :3] + shape.vertices @ rotation_matrices(states[:, 3:7])[0].T)[:, 2]
    level = FLAT * min(contacts.size.max(), 2.0 * contacts.size.min())
    sure = set(np.flatnonzero(height < height.min() + 0.999 * level).tolist())
    touching = {int(n) for f, n in zip(keys[:, 2], keys[:, 4], strict=True) if f == POINT}
    assert len(sure) > 4 or sides == 24
    assert sure <= touching <= set(np.flatnonzero(height < height.min() + 1.001 * level + 1e-4).tolist())
    found = dict(zip(keys[:, 4].tolist(), places[:, 6].tolist(), strict=True))
    for corner in sure:
        assert found[corner] == pytest.approx(height[corner] - contacts.skins(keys)[0], abs=1e-9)
