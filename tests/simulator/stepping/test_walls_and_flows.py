"""Fixed and moving walls, periodic axes, and spheres that enter and leave."""

import numpy as np
import pytest
import trimesh

import carom
from carom.simulator.stepping.cells import Cells
from carom.simulator.stepping.walls import Walls
from carom.simulator.stepping.walls_kernels import distances_from_wall

GRAVITY = 9.81
LAW = carom.MaximumDissipation(tolerance=1e-8, max_sweeps=2000)
CUBE = np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], float)
SHAPES = {
    "half-space": carom.HalfSpace((1, 2, -1), 0.3),
    "ball": carom.Sphere(0.7),
    "box": carom.Box((1.0, 0.6, 1.4)),
    "rounded box": carom.Box((1.0, 0.6, 1.4), radius=0.1),
    "cylinder": carom.Cylinder(0.5, 1.2),
    "capsule": carom.Capsule(0.4, 1.1),
    "hull": carom.ConvexMesh(np.vstack([CUBE * [0.5, 0.4, 0.3], [(0.1, 0.2, 0.9)]])),
    "mesh": carom.Mesh(trimesh.creation.torus(0.6, 0.25, major_sections=16, minor_sections=8)),
    "rounded hull": carom.ConvexMesh(CUBE * [0.5, 0.4, 0.3], radius=0.15),
}


def turned(shape, **more):
    return carom.Body(
        shape, fixed=True, position=(0.2, -0.1, 0.4), orientation=(0.5, -0.5, 0.1, 0.7), name="wall", **more
    )


@pytest.mark.parametrize("name", SHAPES)
def test_distances_and_directions_are_those_of_the_engine(name):
    shape = SHAPES[name]
    wall = turned(shape)
    walls = Walls([wall], [0], {}, 1.0, 0.1)
    points = np.random.default_rng(1).uniform(-1.5, 1.5, (300, 3))
    away, direction = distances_from_wall(walls.tables, 0, points)
    assert np.linalg.norm(direction, axis=1) == pytest.approx(1.0, abs=1e-12)
    radius = 1e-3
    for point, gap in zip(points, away, strict=True):
        if gap > 0.01:
            found = carom.signed_distance(wall, carom.Body(carom.Sphere(radius), density=1.0, position=point))
            assert found.gap + radius == pytest.approx(gap, abs=1e-8)
    # where the distance is smooth, its slope is the direction, outside and inside
    shift = 1e-6
    slope = np.empty_like(points)
    for axis in range(3):
        ends = [
            distances_from_wall(walls.tables, 0, points + s * shift * np.eye(3)[axis])[0] for s in (1, -1)
        ]
        slope[:, axis] = (ends[0] - ends[1]) / (2 * shift)
    smooth = np.abs(np.linalg.norm(slope, axis=1) - 1.0) < 1e-4
    assert smooth.mean() > 0.9
    assert slope[smooth] == pytest.approx(direction[smooth], abs=1e-2)


@pytest.mark.parametrize("name", SHAPES)
def test_a_ball_comes_to_rest_on_every_kind_of_wall(name):
    """Dropped along the direction in which the wall is nearest, it ends in touch with it."""
    scene = carom.Scene()
    wall = scene.add(turned(SHAPES[name]))
    walls = Walls([wall], [0], {}, 1.0, 0.1)
    points = np.random.default_rng(1).uniform(-2.5, 2.5, (300, 3))
    away, direction = distances_from_wall(walls.tables, 0, points)
    chosen = np.flatnonzero((away > 0.5) & (away < 0.8))[:1]
    away, direction, start = away[chosen], direction[chosen], points[chosen[0]]
    scene.gravity = -direction[0]
    grains = scene.add_spheres(
        0.05, density=1000.0, position=start[None], material=carom.Material(friction=5.0)
    )
    steps = carom.TimeSteps(scene, LAW, step=2e-3)
    until = np.sqrt(2 * away[0])
    steps.run(until + 0.02)
    gap = distances_from_wall(walls.tables, 0, steps.states.position)[0][0] - grains.radius[0]
    assert abs(gap) < 1e-4
    assert steps.log.rows["sticking"][-1] == 1


def on_belt(motion, position=(0, 0, 0.1), velocity=(0, 0, 0), spin=(0, 0, 0), step=1e-3):
    scene = carom.Scene()
    scene.add(carom.Body(carom.HalfSpace((0, 0, 1)), fixed=True, name="belt"))
    scene.add(
        carom.Body(
            carom.Sphere(0.1), density=1000.0, position=position, velocity=velocity, angular_velocity=spin
        )
    )
    return carom.TimeSteps(scene, LAW, step=step, motions={"belt": motion})


def test_a_belt_takes_a_ball_along_at_two_sevenths_of_its_speed():
    steps = on_belt(carom.WallMotion(velocity=(0.7, 0, 0)))
    steps.run(1.0)
    assert steps.states.velocity[0] == pytest.approx([0.2, 0, 0], abs=1e-9)


def test_a_ball_on_a_turntable_circles_at_two_sevenths_of_its_rate():
    # rolling: dv/dt = 2/7 rate z x v, so after half a period of that the velocity is opposite
    rate, velocity = 2.0, np.array([0.3, 0.0, 0.0])
    point = np.array([0.5, 0.0, 0.1])
    belt = rate * np.array([-point[1], point[0], 0.0])
    spin = np.cross([0, 0, 1], velocity - belt) / 0.1
    errors = []
    for step in (4e-3, 2e-3):
        steps = on_belt(carom.WallMotion(angular_velocity=(0, 0, rate)), point, velocity, spin, step)
        steps.run(3.5 * np.pi / rate)
        errors.append(np.linalg.norm(steps.states.velocity[0] + velocity))
    assert errors[1] < 0.01
    assert errors[1] < 0.6 * errors[0]


def test_a_wall_comes_back_after_its_period():
    steps = on_belt(carom.WallMotion(velocity=(0, 0, 0.5), period=0.01))
    heights = []
    for _ in range(20):
        steps.advance()
        heights.append(float(steps.states.position[0, 2]))
    assert heights[9] == pytest.approx(0.105, abs=1e-9)  # pushed along
    flight = 0.5 * 0.01 - 0.5 * GRAVITY * 1e-3 * 1e-3 * 10 * 11
    assert heights[19] == pytest.approx(
        0.105 + flight, abs=1e-9
    )  # and thrown, while the wall rises again below
    with pytest.raises(
        ValueError, match=r"period: expected a whole number of steps of 0.001 s, got 0.0105 s"
    ):
        on_belt(carom.WallMotion(velocity=(0, 0, 0.5), period=0.0105))
    with pytest.raises(ValueError, match="no fixed body is named 'lift'; known are: 'belt'"):
        carom.TimeSteps(steps.scene, LAW, step=1e-3, motions={"lift": carom.WallMotion()})


def pair(offset, periodic):
    scene = carom.Scene((0, 0, 0))
    scene.add_spheres(
        0.1, density=1000.0, position=[(0.7 + offset, 0, 0), (1.3 + offset, 0.05, 0)],
        velocity=[(1.0, 0, 0), (-1.0, 0, 0)],
        angular_velocity=[(1, 2, 3), (0, 0, 0)],
    )  # fmt: skip
    return carom.TimeSteps(scene, LAW, step=1e-3, periodic=periodic)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_spheres_meet_across_the_end_of_a_periodic_axis(axis):
    """The same encounter, far from the ends and across them, whichever axis repeats."""
    turn = np.roll(np.eye(3), axis, axis=1)  # takes x to that axis
    places = np.array([(0.7, 0, 0), (1.3, 0.05, 0)])
    results = []
    for shift in (0.0, 1.0):
        scene = carom.Scene((0, 0, 0))
        given = places + np.array([shift, 0, 0])
        given[:, 0] %= 2.0
        scene.add_spheres(
            0.1, density=1000.0, position=given @ turn, velocity=np.array([(1.0, 0, 0), (-1.0, 0, 0)]) @ turn
        )
        periodic = [None] * 3
        periodic[axis] = (0.0, 2.0)
        steps = carom.TimeSteps(scene, LAW, step=1e-3, periodic=periodic)
        steps.run(0.6)
        results.append(steps.states)
    assert np.abs(results[0].velocity).max() < 0.9  # they have met
    assert results[1].velocity == pytest.approx(results[0].velocity, abs=1e-9)
    assert ((results[1].position @ turn.T)[:, 0] >= 0.0).all()


def test_fixed_bodies_repeat_too():
    """A ball rolls over a post that stands at the end of the period as over one in its middle."""
    ends = []
    for shift in (0.0, 0.5):
        scene = carom.Scene()
        scene.add(carom.Body(carom.HalfSpace((0, 0, 1)), fixed=True))
        scene.add(carom.Body(carom.Sphere(0.05), position=(0.5 + shift, 0, -0.03), fixed=True))
        scene.add_spheres(0.1, density=1000.0, position=[((0.2 + shift) % 1.0, 0, 0.1)], velocity=(1.5, 0, 0))
        steps = carom.TimeSteps(scene, LAW, step=1e-3, periodic=[(0.0, 1.0), None, None])
        steps.run(0.5)
        ends.append(steps.states)
        assert steps.log.rows["near"].max() == 2  # it has met the post
    assert ends[1].velocity == pytest.approx(ends[0].velocity, abs=1e-9)
    assert ends[1].position[0, 2] == pytest.approx(ends[0].position[0, 2], abs=1e-9)
    scene.add(carom.Body(carom.HalfSpace((1, 0, 1)), fixed=True, name="slope"))
    with pytest.raises(
        ValueError, match=r"periodic: body 'slope' is a half-space whose normal .* along an axis that"
    ):
        carom.TimeSteps(scene, LAW, step=1e-3, periodic=[(0.0, 1.0), None, None])


def test_search_finds_what_comparing_all_pairs_finds():
    """Touches of a dense periodic cloud against all pairs, at the first step."""
    rng = np.random.default_rng(2)
    side, spacing = 8, 0.22
    places = spacing * np.stack(np.meshgrid(*[np.arange(side)] * 3, indexing="ij"), -1).reshape(-1, 3)
    places = places + rng.uniform(-0.009, 0.009, places.shape)
    scene = carom.Scene((0, 0, 0))
    velocity = rng.normal(size=places.shape)
    scene.add_spheres(0.1, density=1000.0, position=places, velocity=velocity)
    length, step = side * spacing, 1e-2
    steps = carom.TimeSteps(scene, LAW, step=step, periodic=[(0, length)] * 3)
    way = places[:, None] - places[None]
    way -= length * np.round(way / length)
    gap = np.linalg.norm(way, axis=2) - 0.2
    speed = np.linalg.norm(velocity[:, None] - velocity[None], axis=2)
    near = gap <= step * speed + 0.02 * 0.1
    np.fill_diagonal(near, False)
    assert steps.advance()["near"] == near.sum() // 2 > 300


def fountain(seed=0, **more):
    scene = carom.Scene()
    inlet = carom.Inflow(
        0.05, density=1000.0, position=[(0, 0, 1.0), (0.2, 0, 1.0)], velocity=(0, 0, -1.0), spread=(0.1, 0, 0),
        every=0.2, start=0.1, name="inlet",
    )  # fmt: skip
    return carom.TimeSteps(
        scene, LAW, step=1e-2, seed=seed, inflows=[inlet], outflows=[carom.Outflow((0, 0, 1), 0.0)], **more
    )


def test_spheres_enter_by_a_rule_with_a_seed_and_leave_counted():
    runs = []
    for seed in (0, 0, 1):
        steps = fountain(seed)
        steps.run(1.0)
        runs.append(steps)
        rows = steps.log.rows
        assert rows["entered"][-1] == 10  # at 0.1, 0.3, 0.5, 0.7 and 0.9 s
        assert (rows["entered"] == 2 * np.minimum(5, (np.arange(100) + 10) // 20)).all()
        # each falls 1 m from 1 m/s in 0.36 s, so three of five have left
        assert rows["left"][-1] == 6
        assert len(steps) == 4
        assert steps.states.number.tolist() == [6, 7, 8, 9]
    assert runs[0].states.position.tobytes() == runs[1].states.position.tobytes()
    assert runs[0].states.position.tobytes() != runs[2].states.position.tobytes()
    assert runs[0].name(7) == "inlet, time 3[1]"


def test_an_inflow_into_a_place_that_is_taken_says_so():
    scene = carom.Scene()
    scene.add(carom.Body(carom.HalfSpace((0, 0, 1)), fixed=True, name="floor"))
    inlet = carom.Inflow(0.05, density=1000.0, position=[(0, 0, 0.06)], every=0.1, name="inlet")
    steps = carom.TimeSteps(scene, LAW, step=1e-2, inflows=[inlet])
    with pytest.raises(
        ValueError,
        match=r"inflow 'inlet': place 0, \[0.0, 0.0, 0.06\], is taken by sphere 'inlet, time 0\[0\]' after 10 st",
    ):
        steps.run(0.5)
    assert steps.time == pytest.approx(0.1)
    low = carom.Inflow(0.05, density=1000.0, position=[(0, 0, 0.02)], every=0.1)
    with pytest.raises(ValueError, match=r"is taken by body 'floor' after 0 steps.* overlap it by 0.03 m"):
        carom.TimeSteps(scene, LAW, step=1e-2, inflows=[low]).advance()


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"radius": -1.0}, "radius: expected a number greater than 0"),
        ({"position": [(0, 0)]}, r"position: expected shape \(n, 3\)"),
        ({"spread": (-1, 0, 0)}, "spread: expected numbers of at least 0"),
        ({"every": 0.0}, "every: expected a number greater than 0"),
        ({"name": " "}, "name: expected a text"),
        ({"material": 3}, "material: expected a Material"),
    ],
)
def test_bad_inflows(fields, message):
    good = {"radius": 0.1, "density": 1.0, "position": [(0, 0, 0)], "every": 1.0}
    with pytest.raises((TypeError, ValueError), match=message):
        carom.Inflow(**{**good, **fields})
    with pytest.raises(ValueError, match=r"every: expected a whole number of steps of 0.3 s, got 1 s"):
        carom.TimeSteps(carom.Scene(), LAW, step=0.3, inflows=[carom.Inflow(**good)])
    bouncing = carom.Inflow(**good, material=carom.Material(restitution=0.5))
    with pytest.raises(ValueError, match="inflow 'inflow': time steps know inelastic impacts only"):
        carom.TimeSteps(carom.Scene(), LAW, step=0.5, inflows=[bouncing])


@pytest.mark.parametrize(
    ("periodic", "message"),
    [
        ((None, None), "expected None or .* for each of three axes, got 2"),
        (((1.0, 0.0), None, None), r"periodic\[0\]: expected low < high, got 1 and 0"),
        (((0.0, 0.5), None, None), "expected a length along x of at least"),
    ],
)
def test_bad_periods(periodic, message):
    with pytest.raises(ValueError, match=message):
        pair(0.0, periodic)


@pytest.mark.parametrize("repeats", [False, True])
def test_every_sphere_is_in_one_slab_wherever_it_is(repeats):
    random = np.random.default_rng(0)
    lengths = np.array([1.0 if repeats else 0.0, 0.0, 0.0])
    for count in (1, 2, 3, 7, 40, 300):
        for _ in range(5):
            places = np.hstack([random.uniform(0, 1, (count, 3)) * [1, 0.2, 0.2], np.full((count, 1), 0.01)])
            cells = Cells(
                places[:, :3].min(axis=0), places[:, :3].max(axis=0), 0.03, np.zeros(3), lengths, count
            )
            order = cells.sort(places)
            slabs = cells.slabs()
            assert sorted(order.tolist()) == list(range(count))
            assert (slabs[0], slabs[-1]) == (0, count)
            assert (np.diff(slabs) >= 0).all()
            assert cells.axes[0] == 0
            assert not repeats or len(slabs) == 2 or len(slabs) % 2 == 1
            # a slab is at least a cell wide: spheres two slabs apart are more than an edge apart
            x = places[order, 0]
            for first in range(len(slabs) - 3):
                left, right = x[slabs[first] : slabs[first + 1]], x[slabs[first + 2] : slabs[first + 3]]
                assert not len(left) or not len(right) or right.min() - left.max() > 0.03
