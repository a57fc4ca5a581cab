"""Triangle meshes as walls of spheres: contacts, sides, and runs against the same walls of other kinds."""

from pathlib import Path

import numba
import numpy as np
import pytest
import trimesh
from scipy.spatial.transform import Rotation

import carom
from carom.bodies.distance_kernels import distances, windings
from carom.simulator.stepping.mesh_grid import mesh_grid
from carom.simulator.stepping.mesh_walls_kernels import PLACE
from carom.simulator.stepping.walls import Walls
from carom.simulator.stepping.walls_kernels import (
    MESH,
    beside_mesh_wall,
    beside_wall,
    distances_from_wall,
)

LAW = carom.MaximumDissipation(tolerance=1e-9, max_sweeps=3000)
LOOSE = carom.MaximumDissipation(tolerance=1e-5, max_sweeps=500)
DATA = Path(__file__).resolve().parents[4] / "shared" / "data" / "meshes"
FLOOR = carom.HalfSpace((0, 0, 1))


def divided(mesh, times):
    for _ in range(times):
        mesh = mesh.subdivide()
    return mesh


def cut_up(mesh, times, seed):
    """The same surface, edges of which are cut at random places: triangles of all shapes, many of them thin."""
    rng = np.random.default_rng(seed)
    vertices, faces = np.array(mesh.vertices), [tuple(face) for face in mesh.faces]
    for _ in range(times):
        a, b, _ = faces[rng.integers(len(faces))]
        share = rng.uniform(0.1, 0.9)
        vertices = np.vstack([vertices, (1 - share) * vertices[a] + share * vertices[b]])
        middle, parts = len(vertices) - 1, []
        for face in faces:
            for k in range(3):
                one, other, third = face[k], face[(k + 1) % 3], face[(k + 2) % 3]
                if {one, other} == {a, b}:
                    parts += [(one, middle, third), (middle, other, third)]
                    break
            else:
                parts.append(face)
        faces = parts
    return vertices, np.array(faces)


def torus():
    return trimesh.creation.torus(1.0, 0.35, major_sections=24, minor_sections=12)


def angle():
    """An L of two boxes, one solid."""
    outline = [(0, 0), (2, 0), (2, 0.5), (0.5, 0.5), (0.5, 2), (0, 2)]
    caps = [(0, 1, 2), (0, 2, 3), (0, 3, 4), (0, 4, 5)]
    vertices = [(x, y, z) for z in (0.0, 1.0) for x, y in outline]
    faces = [(c, b, a) for a, b, c in caps] + [(a + 6, b + 6, c + 6) for a, b, c in caps]
    for k in range(6):
        n = (k + 1) % 6
        faces += [(k, n, n + 6), (k, n + 6, k + 6)]
    return np.array(vertices, float), np.array(faces)


def hollow():
    """A box within a box, one solid with a cavity."""
    outer, inner = trimesh.creation.box((2, 2, 2)), trimesh.creation.box((1.6, 1.6, 1.6))
    inner.invert()
    both = trimesh.util.concatenate([outer, inner])
    return both.vertices, both.faces


def rough_stone(seed, least=0.6, most=1.3):
    """A ball with dents and spikes."""
    mesh = trimesh.creation.icosphere(subdivisions=2)
    radius = np.random.default_rng(seed).uniform(least, most, (len(mesh.vertices), 1))
    return np.array(mesh.vertices) * radius, np.array(mesh.faces)


SOLIDS = {
    "torus": torus, "angle": angle, "hollow": hollow, "stone": lambda: rough_stone(0),
    "spikes": lambda: rough_stone(1, 0.1, 1.5),
}  # fmt: skip


def fixed(source, **more):
    """A wall whose corners are where they are given, if it is not turned."""
    shape = carom.Mesh(source) if isinstance(source, tuple | trimesh.Trimesh) else source
    position = shape.center_of_mass if isinstance(shape, carom.Mesh) else (0, 0, 0)
    return carom.Body(shape, fixed=True, position=position, name="wall", **more)


def touches(walls, point, far):
    """Directions and distances of places near a point on a mesh or box, nearest first."""
    wall = walls.tables.rows[0]
    places = np.zeros((walls.tables.most_places, PLACE))
    if wall["kind"] == MESH:
        count = beside_mesh_wall(wall, walls.tables, *point, far, np.empty((3, 3)), places)
    else:
        count = 1
        places[0, 3] = beside_wall(wall, walls.tables.faces, *point, *np.empty((2, 3)), places[0])
    found = [(*place[:3], place[3]) for place in places[:count] if place[3] <= far]
    return np.array(sorted(found, key=lambda place: place[3])).reshape(-1, 4)


@pytest.mark.parametrize("name", SOLIDS)
def test_distances_have_the_sign_of_the_winding_number(name):
    wall = fixed(SOLIDS[name](), orientation=(0.5, -0.5, 0.1, 0.7))
    walls = Walls([wall], [0], {}, 1.0, 0.2)
    points = wall.position + np.random.default_rng(0).uniform(-1.7, 1.7, (3000, 3))
    away, direction = distances_from_wall(walls.tables, 0, points)
    within = Rotation.from_matrix(walls.tables.rows[0]["turn"]).inv().apply(points - wall.position)
    corners = wall.shape.vertices[wall.shape.triangles]
    expected = np.where(windings(within, corners) > 0.5, -1.0, 1.0) * distances(within, corners)
    assert away == pytest.approx(expected, abs=1e-12)
    assert (expected < 0.0).sum() > 100
    assert np.linalg.norm(direction, axis=1) == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("reach", [0.01, 0.2, 1.5])
@pytest.mark.parametrize("name", SOLIDS)
def test_the_grid_finds_what_looking_at_all_triangles_finds(name, reach):
    """Least distances within reach, and the sides of all points, also far within and far outside."""
    wall = fixed(SOLIDS[name]())
    walls = Walls([wall], [0], {}, 1.0, reach)
    points = np.random.default_rng(1).uniform(-2.5, 2.5, (4000, 3)) + wall.position
    away, direction = distances_from_wall(walls.tables, 0, points)
    inside = 0
    for point, expected, way in zip(points, away, direction, strict=True):
        found = touches(walls, point, reach)
        if expected > reach:
            assert not len(found)
            continue
        inside += expected < 0.0
        assert found[0, 3] == pytest.approx(expected, abs=1e-12)
        smooth = np.sum(found[:, 3] < expected + 1e-9) == 1
        assert not smooth or found[0, :3] == pytest.approx(way, abs=1e-9)
        assert expected >= 0.0 or len(found) == 1
    assert inside > 30


@pytest.mark.parametrize("seed", range(6))
def test_a_face_is_touched_once_however_it_is_cut(seed):
    """Spheres near a box and near the same surface of many triangles have the same touches."""
    mesh = trimesh.creation.box((1.0, 0.6, 1.4))
    source = cut_up(mesh, 40, seed)
    walls = Walls([fixed(source)], [0], {}, 1.0, 0.6)
    box = Walls([fixed(carom.Box((1.0, 0.6, 1.4)))], [0], {}, 1.0, 0.6)
    rng = np.random.default_rng(seed)
    points = rng.uniform(-1.0, 1.0, (400, 3))
    # over corners and edges of triangles, too
    shape = carom.Mesh(source)
    corners = shape.vertices[shape.triangles]
    on = np.concatenate([corners[:, 0], 0.5 * (corners[:, 0] + corners[:, 1])])
    points = np.concatenate([points, on + 0.1 * np.sign(on) * (np.abs(np.abs(on) - [0.5, 0.3, 0.7]) < 1e-9)])
    seen = 0
    for point in points:
        expected = touches(box, point, 0.5)
        if not len(expected) or expected[0, 3] < 0.0:
            continue
        found = touches(walls, point, 0.5)
        assert len(found) == len(expected) == 1
        assert found == pytest.approx(expected, abs=1e-11)
        seen += 1
    assert seen > 200


def test_flanks_and_corners_are_all_touched():
    """In the corner of the cavity of a hollow box a ball touches three faces, on its outside one."""
    walls = Walls([fixed(cut_up(trimesh.Trimesh(*hollow()), 30, 0))], [0], {}, 1.0, 0.4)
    for sides, count in (((1, 1, 1), 3), ((-1, 1, 0), 2), ((0, 0, -1), 1)):
        signs = np.array(sides, float)
        found = touches(walls, 0.7 * signs + 1e-3 * (signs == 0), 0.2)
        assert len(found) == count
        assert found[:, 3] == pytest.approx(0.1, abs=1e-12)
        assert sorted(map(tuple, np.round(found[:, :3], 9) + 0.0)) == sorted(
            map(tuple, -np.diag(signs)[signs != 0] + 0.0)
        )
    assert len(touches(walls, (1.1, 0.3, 0.2), 0.39)) == 1  # not the skin of the cavity behind it
    within = touches(walls, (0.95, 0.3, 0.2), 0.39)
    assert within == pytest.approx(np.array([[1, 0, 0, -0.05]]), abs=1e-12)


def test_a_groove_seen_through_the_solid_is_not_touched():
    """A plate with a groove in its underside: over it, what is near through the plate is not met."""
    outline = [(-1, 0), (-0.2, 0), (0, 0.15), (0.2, 0), (1, 0), (1, 0.2), (0, 0.2), (-1, 0.2)]
    solid = carom.Mesh(extruded(outline))
    walls = Walls([fixed(solid)], [0], {}, 1.0, 0.5)
    found = touches(walls, (0.01, 0.0, 0.3), 0.4)
    assert found == pytest.approx(np.array([[0, 0, 1, 0.1]]), abs=1e-12)
    below = touches(walls, (0.01, 0.0, -0.3), 0.45)  # both rims of the groove
    assert len(below) == 2
    assert below[:, 0] == pytest.approx(np.array([-0.19, 0.21]) / np.hypot(0.3, [0.19, 0.21]), abs=1e-12)


def extruded(outline):
    """A solid over an outline in the x-z plane, from y = -1 to 1; the outline is cut into triangles by scanning."""
    points = np.array(outline, float)
    count = len(points)
    left, faces = list(range(count)), []
    while len(left) > 2:
        for k in range(len(left)):
            a, b, c = left[k - 1], left[k], left[(k + 1) % len(left)]
            turn = cross(points[b] - points[a], points[c] - points[b])
            others = [p for p in left if p not in (a, b, c)]
            if turn > 1e-12 and not any(in_triangle(points[p], points[[a, b, c]]) for p in others):
                faces.append((a, b, c))
                left.pop(k)
                break
        else:
            faces.append(tuple(left[:3]))
            left.pop(1)
    vertices = [(x, y, z) for y in (-1.0, 1.0) for x, z in points]
    solid = [(a, b, c) for a, b, c in faces] + [(c + count, b + count, a + count) for a, b, c in faces]
    for k in range(count):
        n = (k + 1) % count
        solid += [(n, k, k + count), (n, k + count, n + count)]
    return np.array(vertices), np.array(solid)


def in_triangle(point, corners):
    return min(cross(corners[(k + 1) % 3] - corners[k], point - corners[k]) for k in range(3)) >= 0.0


def cross(one, other):
    return one[0] * other[1] - one[1] * other[0]


@pytest.mark.parametrize("seed", range(3))
def test_a_ball_rolls_over_a_cut_up_floor_as_over_a_plane(seed):
    """It does not catch at edges: place and spin are those over a half-space."""
    plate = trimesh.creation.box((6.0, 6.0, 1.0))
    plate.apply_translation((0, 0, -0.5))
    ends = []
    for shape in (carom.Mesh(cut_up(plate, 60, seed)), FLOOR):
        scene = carom.Scene()
        scene.add(fixed(shape, material=carom.Material(friction=0.3)))
        velocity = np.array([(1.5, 0.7, 0.0), (-1.0, 0.4, 0.0)])
        scene.add_spheres(
            0.1,
            density=1000.0,
            position=[(-1, -1, 0.1), (1, 0.3, 0.15)],
            velocity=velocity,
            material=carom.Material(friction=0.3),
        )
        steps = carom.TimeSteps(scene, LAW, step=1e-3)
        steps.run(1.0)
        ends.append(steps)
        assert steps.log.rows["near"].max() == 2
    one, other = (steps.states for steps in ends)
    assert one.position == pytest.approx(other.position, abs=1e-9)
    assert one.velocity == pytest.approx(other.velocity, abs=1e-9)
    assert one.angular_velocity == pytest.approx(other.angular_velocity, abs=1e-8)


def funnel(segments=24):
    """An open cone, upper radius 1, lower radius 0.2, from z = 0 to 1, a sheet."""
    angles = 2.0 * np.pi * np.arange(segments) / segments
    circle = np.column_stack([np.cos(angles), np.sin(angles)])
    vertices = np.vstack(
        [np.hstack([0.2 * circle, np.zeros((segments, 1))]), np.hstack([circle, np.ones((segments, 1))])]
    )
    k, n = np.arange(segments), np.roll(np.arange(segments), -1)
    faces = np.vstack(
        [np.column_stack([k, n, n + segments]), np.column_stack([k, n + segments, k + segments])]
    )
    return vertices, faces


def test_spheres_run_through_a_funnel_that_is_a_sheet():
    """None goes through it, all leave by its mouth, and what falls on it from outside stays outside."""
    scene = carom.Scene()
    scene.add(fixed(carom.Mesh(funnel(), mass_from="hull")))
    rng = np.random.default_rng(0)
    grid = np.stack(np.meshgrid(*[np.arange(-2, 3)] * 2, np.arange(6), indexing="ij"), -1).reshape(-1, 3)
    places = 0.13 * grid + [0, 0, 1.0] + rng.uniform(-0.01, 0.01, grid.shape)
    scene.add_spheres(
        0.04, density=1000.0, position=places, material=carom.Material(friction=0.1), name="inside"
    )
    scene.add_spheres(
        0.05,
        density=1000.0,
        position=[(-1.2, 0, 0.9), (0.6, 0.0, 0.25)],
        velocity=(1.0, 0, 0),
        name="outside",
    )
    steps = carom.TimeSteps(
        scene, LOOSE, step=1e-3,
        outflows=[carom.Outflow((0, 0, 1), -0.3)],
    )  # fmt: skip
    slope = 1.0 / 0.8
    for _ in range(1500):
        steps.advance()
        states = steps.states
        level = (states.position[:, 2] > 0.06) & (states.position[:, 2] < 0.94)
        radius = np.linalg.norm(states.position[:, :2], axis=1)
        # distance from the cone; facets lie within it
        off = (radius - 0.2 - states.position[:, 2] / slope) * slope / np.hypot(slope, 1.0)
        inside = states.number < len(places)
        assert off[level & inside].max(initial=-1.0) < -0.03
        assert off[level & ~inside].min(initial=1.0) > 0.035
    assert steps.log.rows["left"][-1] == len(places) + 2
    assert steps.log.rows["overlap"].max() < 0.02


def drum(sides=12, length=0.4, radius=1.0, thickness=0.1):
    """A closed drum about y, hollow, of flat sides."""
    outer = trimesh.creation.cylinder(radius + thickness, length + 2 * thickness, sections=sides)
    inner = trimesh.creation.cylinder(radius, length, sections=sides)
    inner.invert()
    both = trimesh.util.concatenate([outer, inner])
    both.apply_transform(trimesh.transformations.rotation_matrix(np.pi / 2, (1, 0, 0)))
    return both.vertices, both.faces


def in_drum():
    scene = carom.Scene()
    scene.add(fixed(drum(), material=carom.Material(friction=0.5)))
    grid = np.stack(np.meshgrid(range(-4, 5), range(-1, 2), range(-4, 5), indexing="ij"), -1).reshape(-1, 3)
    scene.add_spheres(0.05, density=1000.0, position=0.125 * grid, material=carom.Material(friction=0.5))
    motions = {"wall": carom.WallMotion(angular_velocity=(0, 3.0, 0))}
    return carom.TimeSteps(scene, LOOSE, step=2e-3, motions=motions)


def test_a_turning_drum_takes_spheres_up_and_lets_none_out():
    steps = in_drum()
    steps.run(1.5)
    states = steps.states
    walls = steps._walls
    walls.place(len(steps.log.rows), steps.step)
    away = distances_from_wall(walls.tables, 0, states.position)[0]
    assert away.min() > 0.05 - 0.02 * 0.05
    # a face that leans is met where it is, a step after the one before: at most its slope times the way in a step
    assert steps.log.rows["overlap"].max() < np.sin(np.pi / 6) * 3.3 * 2e-3 / 0.05
    # what lies in it leans, up where the wall goes up: the side of -x, since z x x = y
    assert states.position[:, 0].mean() < -0.1


def test_a_run_among_meshes_goes_on_from_a_file_bit_for_bit(tmp_path):
    whole, first = in_drum(), in_drum()
    whole.run(0.4)
    first.run(0.2)
    first.save(tmp_path / "run.npz")
    second = in_drum()
    second.restore(tmp_path / "run.npz")
    second.run(0.4)
    assert second.states.position.tobytes() == whole.states.position.tobytes()
    scene = carom.Scene()
    scene.add(fixed(drum(sides=13), material=carom.Material(friction=0.5)))
    scene.add_spheres(0.05, density=1000.0, position=[(0, 0, 0)])
    with pytest.raises(ValueError, match="is of a run with other fixed bodies"):
        carom.TimeSteps(scene, LOOSE, step=2e-3).restore(tmp_path / "run.npz")


def test_threads_do_not_change_a_bit_among_meshes():
    places = np.stack(np.meshgrid(*[range(-14, 15), range(-3, 4), range(-14, 15)], indexing="ij"), -1)
    places = 0.045 * places.reshape(-1, 3)
    runs, before = [], numba.get_num_threads()
    try:
        for threads in (1, min(2, numba.config.NUMBA_NUM_THREADS)):
            numba.set_num_threads(threads)
            scene = carom.Scene()
            scene.add(fixed(drum()))
            scene.add_spheres(0.02, density=1000.0, position=places, velocity=5.0 * places)
            steps = carom.TimeSteps(
                scene, carom.MaximumDissipation(tolerance=1e-3, max_sweeps=30), step=1e-3,
                motions={"wall": carom.WallMotion(angular_velocity=(0, 3.0, 0))},
            )  # fmt: skip
            steps.run(0.03)
            runs.append((steps.states.position.tobytes(), steps.log.rows.tobytes()))
    finally:
        numba.set_num_threads(before)
    assert len(places) > 4000
    assert np.linalg.norm(steps.wall_impulses()["wall"]) > 0.0
    assert numba.config.NUMBA_NUM_THREADS >= 2, "this machine has one core: nothing is compared"
    assert runs[0] == runs[1]


def test_lengths_times_a_power_of_two_change_no_bit():
    ends = []
    for factor in (1.0, 4.0, 0.125):
        scene = carom.Scene((0, 0, -9.81 * factor))
        vertices, faces = angle()
        scene.add(fixed((factor * vertices, faces)))
        places = np.array([(0.8, 0.9, 0.5), (0.25, 2.2, 0.4), (1.5, 0.7, 0.6)])
        scene.gravity = np.array([0.1, -9.81, 0.2]) * factor
        scene.add_spheres(0.125 * factor, density=1000.0 / factor**3, position=factor * places)
        steps = carom.TimeSteps(scene, LAW, step=1e-3)
        steps.run(0.5)
        ends.append(steps.states.position / factor)
    assert ends[1].tobytes() == ends[0].tobytes()
    assert ends[2].tobytes() == ends[0].tobytes()


def test_what_starts_within_a_solid_is_refused():
    for place, depth in (((0.25, 0.25, 0.5), 0.25), ((0.05, 1.0, 0.5), 0.05)):
        scene = carom.Scene()
        scene.add(fixed(angle()))
        scene.add_spheres(0.01, density=1000.0, position=[place])
        message = rf"sphere 'spheres-0\[0\]' and body 'wall' overlap by {depth + 0.01:.6g} m at the start"
        with pytest.raises(ValueError, match=message):
            carom.TimeSteps(scene, LAW, step=1e-3)
    inlet = carom.Inflow(0.01, density=1000.0, position=[(0.25, 0.25, 0.5)], every=0.1)
    scene = carom.Scene()
    scene.add(fixed(angle()))
    with pytest.raises(ValueError, match=r"is taken by body 'wall' after 0 steps.* overlap it by 0.26 m"):
        carom.TimeSteps(scene, LAW, step=1e-3, inflows=[inlet]).advance()


def test_a_step_too_long_into_a_solid_is_said():
    scene = carom.Scene((0, 0, 0))
    scene.add(fixed(angle()))
    scene.add_spheres(0.01, density=1000.0, position=[(-0.1, 1.0, 0.5)], velocity=(200.0, 0, 0))
    steps = carom.TimeSteps(scene, LAW, step=1e-3)
    with pytest.raises(carom.StepTooLongError, match="and body 'wall' overlap by"):
        steps.run(0.01)


def test_grids_hold_what_they_promise_and_stay_small():
    """Every cell has the nearest triangle of each of its points; long triangles do not fill memory."""
    rng = np.random.default_rng(0)
    corners = rng.uniform(-1, 1, (3000, 3, 3))  # each as large as the whole
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normal /= np.linalg.norm(normal, axis=1)[:, None]
    offset = np.einsum("fi,fi->f", corners[:, 0], normal)
    faces = np.hstack([corners.reshape(-1, 9), normal, offset[:, None]])
    grid = mesh_grid(faces, 0.01, False)
    assert len(grid.members) <= 64 * (3000 + grid.cells.prod()) + 3000
    assert not grid.inside.any()
    points = rng.uniform(grid.low, grid.low + grid.edge * grid.cells, (300, 3))
    for point in points:
        layer = ((point - grid.low) / grid.edge).astype(int)
        cell = (layer[2] * grid.cells[1] + layer[1]) * grid.cells[0] + layer[0]
        listed = grid.members[grid.starts[cell] : grid.starts[cell + 1]]
        least = distances(point[None], corners)[0]
        if len(listed):
            assert distances(point[None], corners[listed])[0] == least
        else:
            assert least > 0.01
    assert sorted(grid.members[grid.starts[-2] :].tolist()) == list(range(3000))


@pytest.mark.skipif(not DATA.exists(), reason="needs the meshes beside the checkout")
@pytest.mark.parametrize("name", ["featuretype.STL", "rabbit.obj", "torus.STL", "fandisk.obj"])
def test_spheres_fall_on_real_meshes(name):
    """On meshes as people have them nothing gets in, and places are where all triangles say."""
    shape = carom.Mesh(DATA / name)
    size = float(np.ptp(shape.vertices, axis=0).max())
    shape = carom.Mesh((shape.vertices / size, shape.triangles))
    scene = carom.Scene()
    scene.add(carom.Body(shape, fixed=True, name="wall"))
    grid = np.stack(np.meshgrid(*[np.arange(-7, 8)] * 2, range(3), indexing="ij"), -1).reshape(-1, 3)
    top = shape.vertices[:, 2].max()
    scene.add_spheres(0.02, density=1000.0, position=0.05 * grid + [0.001, 0.002, top + 0.03])
    steps = carom.TimeSteps(scene, LOOSE, step=5e-4)
    steps.run(0.4)
    walls = Walls(scene.bodies, [0], {}, 1.0, 0.04)
    near = (np.abs(steps.states.position) < 0.6).all(axis=1)
    away = distances_from_wall(walls.tables, 0, steps.states.position[near])[0]
    assert away.min() > 0.02 * 0.98
    assert steps.log.rows["overlap"].max() < 0.05
    assert (away < 0.021).sum() > 5


def nearest_points(point, corners):
    """Nearest point (F, 3) of each triangle (F, 3, 3): the foot within it, or the best of its three edges."""
    found, least = np.zeros((len(corners), 3)), np.full(len(corners), np.inf)
    for k in range(3):
        start, along = corners[:, k], corners[:, (k + 1) % 3] - corners[:, k]
        share = np.clip(((point - start) * along).sum(1) / (along * along).sum(1), 0.0, 1.0)
        on = start + share[:, None] * along
        away = np.linalg.norm(point - on, axis=1)
        found[away < least], least = on[away < least], np.minimum(least, away)
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normal /= np.linalg.norm(normal, axis=1)[:, None]
    foot = point - ((point - corners[:, 0]) * normal).sum(1)[:, None] * normal
    within = np.ones(len(corners), bool)
    for k in range(3):
        side = np.cross(corners[:, (k + 1) % 3] - corners[:, k], foot - corners[:, k])
        within &= (side * normal).sum(1) > 0.0
    found[within] = foot[within]
    return found


def least_of_all_around(point, vertices, triangles, far):
    """Distances of local minima in sight, by neighbours: all triangles at a place must have it as nearest point."""
    corners = vertices[triangles]
    places = nearest_points(point, corners)
    away = np.linalg.norm(point - places, axis=1)
    kept = []
    for k in np.argsort(away):
        if away[k] > far:
            break
        holds = np.linalg.norm(nearest_points(places[k], corners) - places[k], axis=1) < 1e-9
        if (np.linalg.norm(places[holds] - places[k], axis=1) > 1e-7).any():
            continue
        outside = windings((places[k] + 1e-6 * (point - places[k]) / away[k])[None], corners)[0] < 0.5
        if outside and not any(np.linalg.norm(places[k] - places[other]) < 1e-7 for other in kept):
            kept.append(k)
    return away[kept]


@pytest.mark.parametrize("seed", range(8))
def test_touches_of_rough_stones_are_the_least_distances_of_all_around(seed):
    """Solids with dents and spikes against a search by neighbours and winding numbers."""
    rng = np.random.default_rng(seed)
    wall = fixed(rough_stone(seed))
    walls = Walls([wall], [0], {}, 1.0, 0.7)
    several = 0
    for point in rng.uniform(-1.4, 1.4, (60, 3)):
        own = point - wall.position
        if windings(own[None], wall.shape.vertices[wall.shape.triangles])[0] > 0.5:
            continue
        expected = least_of_all_around(own, wall.shape.vertices, wall.shape.triangles, 0.6)
        found = touches(walls, point, 0.6)
        assert found[:, 3] == pytest.approx(expected, abs=1e-9)
        several += len(found) > 1
    assert several > 10


@pytest.mark.parametrize("seed", range(4))
def test_momentum_is_balanced_and_energy_never_gained_on_a_rough_stone(seed):
    """What spheres lose the stone gets, to rounding, also where one touches it at several places."""
    scene = carom.Scene((0.3, -0.2, -9.81))
    scene.add(fixed(rough_stone(seed), material=carom.Material(friction=0.4)))
    grid = np.stack(np.meshgrid(range(-5, 6), range(-5, 6), range(2), indexing="ij"), -1).reshape(-1, 3)
    scene.add_spheres(
        0.06, density=1000.0, position=0.13 * grid + [0, 0, 1.4], velocity=(0, 0, -2.0),
        material=carom.Material(friction=0.4),
    )  # fmt: skip
    steps = carom.TimeSteps(scene, LOOSE, step=1e-3)
    mass = 1000.0 * 4.0 / 3.0 * np.pi * 0.06**3
    total, pulled, several = mass * len(grid), 0.0, 0
    for _ in range(500):
        before = mass * steps.states.velocity.sum(axis=0)
        row = steps.advance()
        gained = mass * steps.states.velocity.sum(axis=0) - before - 1e-3 * total * scene.gravity
        assert np.abs(gained + steps.wall_impulses()["wall"]).max() < 1e-12 * total
        assert row["energy_after"] <= row["energy_before"] * (1.0 + 1e-12)
        pulled += np.linalg.norm(steps.wall_impulses()["wall"])
        owner = np.repeat(np.arange(len(steps)), np.diff(steps._touches.starts))
        several += len(owner[steps._touches.others < 0]) - len(set(owner[steps._touches.others < 0]))
    assert pulled > 0.1 * total
    assert several > 100


@pytest.mark.parametrize("seed", range(9))
def test_sides_are_right_beside_edges_and_corners_of_any_size(seed):
    """Points at all distances from faces, edges and corners of rough stones of 1e-6 to 1e6 m."""
    rng = np.random.default_rng(seed)
    vertices, faces = rough_stone(seed, *((0.6, 1.3), (0.1, 1.5), (0.02, 2.0))[seed % 3])
    scale = 10.0 ** rng.uniform(-6, 6)
    wall = fixed((scale * vertices, faces), orientation=(0.5, -0.5, 0.1, 0.7))
    walls = Walls([wall], [0], {}, 1.0, 0.3 * scale)
    corners = wall.shape.vertices[wall.shape.triangles]
    share = rng.dirichlet((0.3, 0.3, 0.3), 1500)
    share[rng.random(1500) < 0.3, 0] = 0.0
    share /= share.sum(axis=1, keepdims=True)
    points = np.einsum("nk,nki->ni", share, corners[rng.integers(len(corners), size=1500)])
    points += scale * 10.0 ** rng.uniform(-7, -0.5, (1500, 1)) * rng.normal(size=(1500, 3))
    placed = points @ walls.tables.rows[0]["turn"].T + wall.position
    away = distances_from_wall(walls.tables, 0, placed)[0]
    expected = np.where(windings(points, corners) > 0.5, -1.0, 1.0) * distances(points, corners)
    clear = np.abs(expected) > 1e-9 * scale
    assert away[clear] == pytest.approx(expected[clear], abs=1e-11 * scale, rel=1e-9)
    assert clear.sum() > 1400
    for point, gap in zip(placed[clear][::5], away[clear][::5], strict=True):
        found = touches(walls, point, 0.3 * scale)
        assert len(found) == 0 if gap > 0.3 * scale else found[0, 3] == pytest.approx(gap, rel=1e-9)
