"""Distances, contacts and times of impact of every pair of convex shapes.

Distances of overlapping and distant polytopes, spheres and capsules are compared with coal, whose boxes must be
given as convex hulls. Everything apart, and cylinders, is checked by a certificate that shares nothing with the
kernels: the separation along the axis found is a lower bound of the distance, that of two points an upper bound.
Of overlapping shapes a polytope inside their difference gives the upper bound.
"""

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq, nnls
from scipy.spatial import ConvexHull, QhullError
from scipy.spatial.transform import Rotation

from carom import Body, Box, Capsule, ConvexMesh, Cylinder, HalfSpace, Scene, Sphere
from carom.simulator import kernels
from carom.simulator.collision import convex_contacts_kernels, separation_kernels
from carom.simulator.collision.collision_shape import collision_shape
from carom.simulator.collision.pairs import contact_patch, half_space_impact, pair_gap, pair_impact
from carom.simulator.event import Feature
from carom.simulator.state import Model


def hull_of(count, seed):
    points = np.random.default_rng(seed).standard_normal((count, 3))
    return ConvexMesh(0.5 * points / np.linalg.norm(points, axis=1)[:, None])


def prism(corners):
    angle = 2 * np.pi * np.arange(corners) / corners
    ring = np.column_stack([0.4 * np.cos(angle), 0.4 * np.sin(angle)])
    return ConvexMesh(np.concatenate([np.column_stack([ring, np.full(corners, z)]) for z in (-0.3, 0.3)]))


SHAPES = {
    "sphere": Sphere(0.3),
    "capsule": Capsule(0.1, 0.6),
    "box": Box((0.4, 0.6, 0.8)),
    "cube": Box((0.5, 0.5, 0.5)),
    "plate": Box((0.8, 0.7, 0.02)),
    "prism": prism(7),
    "hull": hull_of(42, 1),
    "large hull": hull_of(642, 2),
    "cylinder": Cylinder(0.3, 0.8),
    "coin": Cylinder(0.4, 0.03),
}
ROUND = {"cylinder", "coin"}
SIZE = 1.0


def packed(position, orientation):
    state = np.zeros(13)
    state[:3] = position
    state[3:7] = np.asarray(orientation) / np.linalg.norm(orientation)
    return state


def rotation(state):
    w, x, y, z = state[3:7]
    return Rotation.from_quat([x, y, z, w]).as_matrix()


def turned_by(orientation, vector):
    """Orientation (w, x, y, z) turned in the world by a rotation vector [rad]."""
    w, x, y, z = orientation
    x, y, z, w = (Rotation.from_rotvec(vector) * Rotation.from_quat([x, y, z, w])).as_quat()
    return np.array([w, x, y, z])


def direction(random):
    axis = random.standard_normal(3)
    return axis / np.linalg.norm(axis)


def placement(random, kind):
    """States of two bodies some way apart: turned at random, parallel, or parallel up to a small tilt."""
    common = random.standard_normal(4)
    common /= np.linalg.norm(common)
    if kind == "random":
        others = random.standard_normal(4)
    else:
        axis = np.eye(3)[random.integers(3)] * (0.5 * np.pi) * random.integers(4)
        w, x, y, z = common
        quarter = Rotation.from_quat([x, y, z, w]).apply(axis)
        others = turned_by(common, quarter)
        others = turned_by(others, TILTS[kind] * direction(random))
    away = direction(random)
    if kind != "random" and random.random() < 0.5:
        w, x, y, z = common
        away = Rotation.from_quat([x, y, z, w]).apply(np.eye(3)[random.integers(3)])
        away = away + 0.2 * random.standard_normal(3)
        away /= np.linalg.norm(away)
    center = random.uniform(-0.3, 0.3, 3)
    return packed(center + 1.6 * away, others), packed(center, common)


def separated(name_a, state_a, name_b, state_b):
    return separation_kernels.pair_separation(
        collision_shape(SHAPES[name_a]), state_a, collision_shape(SHAPES[name_b]), state_b, SIZE
    )


TILTS = {"parallel": 0.0, "tilt 1e-7": 1e-7, "tilt 1e-12": 1e-12}
KINDS = ("random", *TILTS)
GAPS = (0.3, 1e-3, 1e-9, 0.0, -1e-9, -1e-3)


def placements(name_a, name_b, count, seed):
    """States of two bodies whose axis and gap were moved to one of GAPS, about exactly."""
    random = np.random.default_rng(seed)
    for k in range(count):
        first, second = placement(random, KINDS[k % len(KINDS)])
        axis, gap = separated(name_a, first, name_b, second)
        first[:3] += (GAPS[k // len(KINDS) % len(GAPS)] - gap) * axis
        yield first, second


# -- certificate -------------------------------------------------------------------------------------------


def lowest(shape, state, n):
    """Least n.x over a shape."""
    turn = rotation(state)
    height = n @ state[:3]
    if isinstance(shape, Cylinder):
        along = n @ turn[:, 2]
        across = np.linalg.norm(np.cross(n, turn[:, 2]))
        return height - 0.5 * shape.length * abs(along) - shape.radius * across
    points, radius = shape.core()
    return height + (points @ (turn.T @ n)).min() - radius


def exposed(shape, state, n, near=1e-6):
    """Points (k, 3) of a shape less its ball, about lowest along n; a ring of the rim where an end is."""
    turn = rotation(state)
    down = turn.T @ n
    if isinstance(shape, Cylinder):
        half = 0.5 * shape.length
        ends = [z for z in (-half, half) if z * down[2] <= -half * abs(down[2]) + near]
        across = math.hypot(*down[:2])
        if 2 * shape.radius * across <= near:
            angle = 2 * np.pi * np.arange(96) / 96
        else:
            # the axis of nearly touching bodies is not known better than the rounding of places over the gap
            angle = math.atan2(-down[1], -down[0]) + np.array([-1e-6, 0.0, 1e-6])
        ring = shape.radius * np.column_stack([np.cos(angle), np.sin(angle)])
        points = np.concatenate([np.column_stack([ring, np.full(len(ring), z)]) for z in ends])
        return state[:3] + points @ turn.T
    points, _ = shape.core()
    height = points @ down
    return state[:3] + points[height <= height.min() + near] @ turn.T


def projected_on_end(shape, state, n, others):
    """Of points, those under which the end of a cylinder lies that is lowest along n, projected on it."""
    turn = rotation(state)
    local = (others - state[:3]) @ turn
    over = np.hypot(local[:, 0], local[:, 1])
    local[:, :2] *= np.minimum(1.0, shape.radius / np.maximum(over, 1e-300))[:, None]
    local[:, 2] = -0.5 * shape.length * np.sign((turn.T @ n)[2])
    return state[:3] + local @ turn.T


def upper_bound(shape_a, state_a, shape_b, state_b, n):
    """Distance of two points of the shapes less their balls, which must be apart, less the radii of these.

    They are the nearest points of the hulls of the exposed ones.
    """
    A, B = exposed(shape_a, state_a, n), exposed(shape_b, state_b, -n)
    added = []
    for shape, state, axis, others in ((shape_a, state_a, n, B), (shape_b, state_b, -n, A)):
        end = isinstance(shape, Cylinder) and abs(rotation(state)[:, 2] @ axis) > 1 - 1e-9
        added.append(projected_on_end(shape, state, axis, others) if end else np.zeros((0, 3)))
    A, B = np.concatenate([A, added[0]]), np.concatenate([B, added[1]])
    middle = 0.5 * (A.mean(axis=0) + B.mean(axis=0))
    A, B = A - middle, B - middle
    ones, none = np.ones(len(A)), np.zeros(len(B))
    rows = np.vstack([np.hstack([A.T, -B.T]), np.append(ones, none), np.append(0 * ones, none + 1)])
    right = np.array([0.0, 0.0, 0.0, 1.0, 1.0])
    weights, _ = nnls(rows, right)
    used = weights > 1e-6  # nnls stops at a residual of 1e-10 or so: once more without its inequalities
    refined = np.zeros(len(weights))
    refined[used] = np.linalg.lstsq(rows[:, used], right, rcond=None)[0]
    if refined.min() >= 0.0:
        weights = refined
    alpha, beta = weights[: len(A)], weights[len(A) :]
    return float(np.linalg.norm(alpha @ A / alpha.sum() - beta @ B / beta.sum())) - balls(shape_a, shape_b)


def balls(*shapes):
    return sum(shape.radius for shape in shapes if isinstance(shape, Sphere | Capsule))


def assert_certified(name_a, state_a, name_b, state_b, tolerance):
    axis, gap = separated(name_a, state_a, name_b, state_b)
    shape_a, shape_b = SHAPES[name_a], SHAPES[name_b]
    assert abs(np.linalg.norm(axis) - 1.0) <= 1e-15
    lower = lowest(shape_a, state_a, axis) + lowest(shape_b, state_b, -axis)
    assert gap == pytest.approx(lower, abs=1e-14)
    assert upper_bound(shape_a, state_a, shape_b, state_b, axis) - gap <= tolerance, (name_a, name_b)


POLYTOPE_PAIRS = [
    (a, b)
    for k, a in enumerate(SHAPES)
    for b in list(SHAPES)[: k + 1]
    if not {a, b} & ROUND and (a, b) != ("large hull", "large hull")
]
CYLINDER_PAIRS = [(a, b) for k, a in enumerate(SHAPES) for b in list(SHAPES)[: k + 1] if {a, b} & ROUND]


def check_apart(pairs, each, tolerance):
    for number, (a, b) in enumerate(pairs):
        for first, second in placements(a, b, each, 1000 + number):
            if separated(a, first, b, second)[1] + balls(SHAPES[a], SHAPES[b]) > 1e-12:
                assert_certified(a, first, b, second, tolerance)


def test_distance_of_polytopes_apart_is_certified():
    check_apart(POLYTOPE_PAIRS, 24, 1e-12)


def test_distance_of_cylinders_apart_is_certified():
    check_apart(CYLINDER_PAIRS, 24, 1e-10)


def check_touching(pairs, each):
    """Pairs moved into touch along their axis are no deeper than they were moved.

    The distance of cylinders apart is asked to 1e-12. Where they touch and an edge lies along a rim, axes far apart
    differ in separation by less than rounding lets tell, and the best is asked to 1e-11, as of DEPTHS.
    """
    for number, (a, b) in enumerate(pairs):
        random = np.random.default_rng(number)
        below, above = (1e-11, 1e-12) if {a, b} & ROUND else (1e-14, 1e-14)
        for k in range(each):
            first, second = placement(random, KINDS[k % len(KINDS)])
            axis, gap = separated(a, first, b, second)
            for depth in (0.0, 1e-12, 1e-9):
                moved = first.copy()
                moved[:3] -= (gap + depth) * axis
                found = separated(a, moved, b, second)[1]
                assert -depth - below <= found <= above, (a, b, depth, first, second)


def test_pairs_moved_into_touch_have_no_gap():
    check_touching(POLYTOPE_PAIRS + CYLINDER_PAIRS, 4)


def outermost(shape, state, n):
    """Point of a shape less its ball that lies lowest along n."""
    turn = rotation(state)
    down = turn.T @ n
    if isinstance(shape, Cylinder):
        across = math.hypot(*down[:2])
        ring = -shape.radius / across * down[:2] if across > 0.0 else np.zeros(2)
        return state[:3] + turn @ (*ring, -0.5 * shape.length * np.sign(down[2]))
    points, _ = shape.core()
    return state[:3] + turn @ points[np.argmin(points @ down)]


def bounds_of_overlap(shape_a, state_a, shape_b, state_b, axis):
    """Lower and upper bound of the negative distance of overlapping shapes less their balls.

    A polytope inside the difference of the shapes grows at its face nearest to the origin, until this face lies on
    the surface. None where rounding stops qhull, which makes the polytope.
    """

    def lowest_difference(n):
        return outermost(shape_a, state_a, n) - outermost(shape_b, state_b, -n)

    random = np.random.default_rng(0)
    ways = [axis, *random.standard_normal((200, 3))]
    ways += [
        axis + spread * way for spread in (1e-9, 1e-7, 1e-5, 1e-3) for way in random.standard_normal((12, 3))
    ]
    lower = -np.inf
    try:
        hull = ConvexHull([lowest_difference(way / np.linalg.norm(way)) for way in ways], incremental=True)
        while True:
            nearest = np.argmax(hull.equations[:, 3])
            n, upper = -hull.equations[nearest, :3], hull.equations[nearest, 3]
            point = lowest_difference(n)
            lower = max(lower, n @ point)
            if upper - lower <= 1e-13:
                return lower, upper
            hull.add_points(point[None])
    except QhullError:
        return None


OVERLAP_PAIRS = [(a, b) for a, b in POLYTOPE_PAIRS + CYLINDER_PAIRS if "large hull" not in (a, b)]
DEPTHS = {1e-11: 1e-11, 1e-10: 2e-11, 1e-9: 1e-12, 1e-6: 1e-12, 1e-3: 1e-12, 0.03: 1e-12}
"""Depth -> allowed error of that of cylinders."""


def check_overlapping(pairs, each, seed):
    """Depths of parallel, nearly parallel and other shapes moved into each other; how many were compared."""
    compared = 0
    for number, (a, b) in enumerate(pairs):
        random = np.random.default_rng([seed, number])
        for k in range(each):
            first, second = placement(random, KINDS[k % len(KINDS)])
            if k % 8 > 3:
                first[3:7] = turned_by(second[3:7], 10.0 ** random.uniform(-9, -3) * direction(random))
            axis, gap = separated(a, first, b, second)
            ball = balls(SHAPES[a], SHAPES[b])
            for depth, allowed in DEPTHS.items():
                moved = first.copy()
                moved[:3] -= (gap + ball + depth) * axis
                axis_now, found = separated(a, moved, b, second)
                lower = lowest(SHAPES[a], moved, axis_now) + lowest(SHAPES[b], second, -axis_now)
                assert found == pytest.approx(lower, abs=1e-14)
                bounds = bounds_of_overlap(SHAPES[a], moved, SHAPES[b], second, axis_now)
                if bounds is None or bounds[1] > 0.0:
                    continue
                compared += 1
                if not {a, b} & ROUND:
                    allowed = 1e-12
                assert bounds[1] - (found + ball) <= allowed, (a, b, depth, moved, second)
    return compared


def test_depths_are_certified():
    assert check_overlapping(OVERLAP_PAIRS[::3], 4, 1) > 300


def test_depth_where_edges_are_nearly_parallel():
    """Saved case: the product of edges 7e-8 apart had no digits left, and the depth was 2e-11 too large."""
    first = packed(
        (0.45852723968140163, 0.39783466310040744, -0.6190835077158708),
        (-0.3901469321456743, -0.7339121103916365, -0.2030358948945581, 0.5176241985670482),
    )
    second = packed(
        (-0.17175641906108546, 0.0900321783031034, -0.18082993138907505),
        (-0.39014690856012985, -0.7339120991433976, -0.20303587951534985, 0.5176242383248043),
    )
    exact = -9.4777398043389e-10  # all products of edges, in 50 digits
    assert separated("prism", first, "cube", second)[1] == pytest.approx(exact, abs=1e-15)


# -- coal --------------------------------------------------------------------------------------------------


def coal_shape(coal, shape):
    if isinstance(shape, Sphere):
        return coal.Sphere(shape.radius)
    if isinstance(shape, Capsule):
        return coal.Capsule(shape.radius, shape.length)
    corners, triangles = coal.StdVec_Vec3s(), coal.StdVec_Triangle()
    vertices, faces = shape.surface()
    for vertex in vertices:
        corners.append(vertex)
    for face in faces:
        triangles.append(coal.Triangle(*(int(i) for i in face)))
    return coal.Convex(corners, triangles)


def check_against_coal(each):
    coal = pytest.importorskip("coal", reason="coal, an independent distance library, is not installed")
    request = coal.DistanceRequest()
    request.gjk_tolerance = request.epa_tolerance = 1e-13
    request.gjk_max_iterations = request.epa_max_iterations = 1000
    request.enable_signed_distance = True
    compared = 0
    for number, (a, b) in enumerate(POLYTOPE_PAIRS):
        shapes = [coal_shape(coal, SHAPES[name]) for name in (a, b)]
        for first, second in placements(a, b, each, 2000 + number):
            places = [coal.Transform3s(rotation(state), state[:3]) for state in (first, second)]
            _, gap = separated(a, first, b, second)
            near = gap + balls(SHAPES[a], SHAPES[b])
            if 1e-12 < near < 1e-6 or a == b == "capsule":
                continue  # coal may call hulls touching there, and is off by 1e-8 for capsules; certified above
            expected = coal.distance(
                shapes[0], places[0], shapes[1], places[1], request, coal.DistanceResult()
            )
            if abs(expected) > 1e300:
                continue  # coal gives up on a few hulls that touch exactly
            assert gap == pytest.approx(expected, abs=1e-12), (a, b, first, second)
            compared += 1
    return compared


def test_distances_agree_with_coal():
    assert check_against_coal(12) > 300


@pytest.mark.long
def test_distances_of_many_placements():
    assert check_against_coal(360) > 10_000
    check_apart(POLYTOPE_PAIRS, 240, 1e-12)
    check_apart(CYLINDER_PAIRS, 240, 1e-10)
    check_touching(POLYTOPE_PAIRS + CYLINDER_PAIRS, 100)
    assert check_overlapping(OVERLAP_PAIRS, 24, 2) > 5_000


# -- contacts ----------------------------------------------------------------------------------------------

FLAT = (1.0, 0.0, 0.0, 0.0)
LYING = (math.sqrt(0.5), 0.0, math.sqrt(0.5), 0.0)  # axis along x
ACROSS = (math.sqrt(0.5), math.sqrt(0.5), 0.0, 0.0)  # axis along y
POINT, EDGE, FACE, RIM = Feature.POINT, Feature.EDGE, Feature.FACE, Feature.RIM
S8 = math.pi / 8


def about(axis, angle):
    w, x, y, z = turned_by(np.array(FLAT), np.asarray(axis) * angle)
    return (w, x, y, z)


# name -> shapes; orientation and lateral place of the first over the second; contacts; features counted
TOUCHING = {
    "equal faces": ("cube", "cube", FLAT, (0, 0), {(POINT, FACE): 4}),
    "shifted faces": ("cube", "cube", FLAT, (0.2, 0.1), {(POINT, FACE): 1, (FACE, POINT): 1, (EDGE, EDGE): 2}),
    "octagon": ("cube", "cube", about((0, 0, 1), 2 * S8), (0, 0), {(EDGE, EDGE): 8}),
    "small on large face": ("cube", "plate", FLAT, (0.05, 0.05), {(POINT, FACE): 4}),
    "large on small face": ("plate", "cube", FLAT, (0.05, 0.05), {(FACE, POINT): 4}),
    "edge on face": ("cube", "plate", about((1, 0, 0), 2 * S8), (0, 0), {(POINT, FACE): 2}),
    "edge across a face": ("box", "cube", about((0, 1, 0), 2 * S8), (0, 0), {(EDGE, EDGE): 2}),
    "corner on face": ("cube", "plate", about((1, 0.3, 0), 0.7), (0, 0), {(POINT, FACE): 1}),
    "ball on face": ("sphere", "cube", FLAT, (0.1, 0.1), {(POINT, FACE): 1}),
    "balls": ("sphere", "sphere", FLAT, (0, 0), {(POINT, POINT): 1}),
    "capsule lies on face": ("capsule", "plate", LYING, (0.01, 0.02), {(POINT, FACE): 2}),
    "capsule longer than the face": ("capsule", "cube", LYING, (0, 0.05), {(EDGE, EDGE): 2}),
    "capsule stands": ("capsule", "cube", FLAT, (0.1, 0), {(POINT, FACE): 1}),
    "cylinder stands": ("cylinder", "plate", FLAT, (0.02, 0.01), {(POINT, FACE): 8}),
    "face on an end": ("box", "coin", FLAT, (0, 0), {(POINT, FACE): 4}),
    "equal ends": ("cylinder", "cylinder", FLAT, (0, 0), {(POINT, FACE): 8}),
    "cylinder lies on face": ("cylinder", "plate", LYING, (0, 0.02), {(RIM, FACE): 2}),
    "leaning cylinder": ("cylinder", "plate", about((1, 0.2, 0), 0.5), (0, 0), {(RIM, FACE): 1}),
}  # fmt: skip


@pytest.mark.parametrize("name", TOUCHING)
@pytest.mark.parametrize("gap", [0.0, 1e-12, -1e-12, 1e-9])
def test_contacts_of_features(name, gap):
    first, second, orientation, place, expected = TOUCHING[name]
    a, b = collision_shape(SHAPES[first]), collision_shape(SHAPES[second])
    height = -lowest(SHAPES[first], packed((0, 0, 0), orientation), np.array([0.0, 0.0, 1.0]))
    height -= lowest(SHAPES[second], packed((0, 0, 0), FLAT), np.array([0.0, 0.0, -1.0]))
    random = np.random.default_rng(5)
    for _ in range(12):
        turn = Rotation.random(random_state=random)
        offset = random.uniform(-1, 1, 3)
        states = []
        for position, own in (((*place, height + gap), orientation), ((0, 0, 0), FLAT)):
            w, x, y, z = own
            x, y, z, w = (turn * Rotation.from_quat([x, y, z, w])).as_quat()
            states.append(packed(offset + turn.apply(position), (w, x, y, z)))
        point, normal, gaps, feature, _, along, _ = convex_contacts_kernels.pair_contacts(
            a, states[0], b, states[1], SIZE, 1e-7, 1e-7
        )
        counted = {}
        for pair in feature.tolist():
            counted[tuple(pair)] = counted.get(tuple(pair), 0) + 1
        assert counted == expected
        np.testing.assert_allclose(gaps, gap, rtol=0, atol=1e-14)
        np.testing.assert_allclose(normal, turn.apply(np.tile([0.0, 0.0, 1.0], (len(gaps), 1))), atol=1e-11)
        surface = -lowest(SHAPES[second], packed((0, 0, 0), FLAT), np.array([0.0, 0.0, -1.0]))
        np.testing.assert_allclose(
            turn.inv().apply(point - offset)[:, 2], surface + 0.5 * gap, rtol=0, atol=1e-12
        )
        lengths = np.linalg.norm(along, axis=2)
        np.testing.assert_allclose(lengths, np.isin(feature, (EDGE, RIM)), atol=1e-14)


def test_crossed_edges_touch_at_one_point():
    a, b = collision_shape(SHAPES["cube"]), collision_shape(SHAPES["plate"])
    seen = 0
    for first, second in placements("cube", "plate", 400, 7):
        axis, gap = separated("cube", first, "plate", second)
        first[:3] -= gap * axis
        point, _, _, feature, index, along, _ = convex_contacts_kernels.pair_contacts(
            a, first, b, second, SIZE, 1e-9, 1e-9
        )
        if feature.tolist() != [[EDGE, EDGE]]:
            continue
        seen += 1
        for side, (shape, state) in enumerate(((a, first), (b, second))):
            ends = state[:3] + shape.points[shape.edge_ends[index[0, side]]] @ rotation(state).T
            assert np.linalg.norm(np.cross(along[0, side], point[0] - ends[0])) <= 1e-12
            assert 0.0 <= along[0, side] @ (point[0] - ends[0]) <= np.linalg.norm(ends[1] - ends[0])
    assert seen > 20


@pytest.mark.parametrize("beyond", [-1.5e-9, 1e-8])
def test_a_line_that_crosses_a_wall_a_hair_beyond_its_end_touches_its_rim(beyond):
    """Saved: their contact was that of their nearest corners, 3 mm apart, which were then pulled together."""
    shape, other = Cylinder(0.3, 0.8), Capsule(0.1, 0.6)
    a, b = collision_shape(shape), collision_shape(other)
    for tilt in (0.0, 0.4, 1.0):
        across = np.array([0.0, np.cos(tilt), np.sin(tilt)])
        state = packed((0.4, 0, -0.4 + beyond) + 0.07 * across, about((1, 0, 0), tilt - 0.5 * np.pi))
        for swapped in (False, True):
            pair = (a, packed((0, 0, 0), FLAT), b, state)
            pair = pair[2:] + pair[:2] if swapped else pair
            point, normal, gaps, feature, _, along, _ = convex_contacts_kernels.pair_contacts(
                *pair, SIZE, 1e-9, 1e-9
            )
            assert len(gaps) == 1
            np.testing.assert_allclose(point, [[0.3, 0, -0.4 + beyond]], rtol=0, atol=5e-9)
            np.testing.assert_allclose(abs(normal), [[1, 0, 0]], rtol=0, atol=1e-7)
            line = 0 if swapped else 1
            assert feature[0, line] == EDGE
            assert feature[0, 1 - line] == (RIM if beyond < 0.0 else EDGE)
            np.testing.assert_allclose(abs(along[0, line] @ across), 1.0, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("orientation", "height", "expected"),
    [
        (FLAT, 0.4, [(POINT, k) for k in range(8)]),
        (LYING, 0.3, [(RIM, 0), (RIM, 1)]),
        (ACROSS, 0.3, [(RIM, 0), (RIM, 1)]),
        (about((1, 0, 0), 0.4), 0.4 * math.cos(0.4) + 0.3 * math.sin(0.4), [(RIM, 0)]),
    ],
    ids=["stands", "lies", "lies across", "leans"],
)
def test_cylinder_on_a_floor(orientation, height, expected):
    scene = Scene()
    scene.add(Body(HalfSpace((0, 0, 1)), fixed=True))
    scene.add(Body(SHAPES["cylinder"], density=1.0, position=(1, 2, height), orientation=orientation))
    model = Model.of_scene(scene)
    states = model.initial_states()
    patch = contact_patch(model, [(1, 0)], states)
    assert (
        list(zip(patch.feature[:, 0].tolist(), patch.feature_index[:, 0].tolist(), strict=True)) == expected
    )
    assert (patch.feature[:, 1] == FACE).all()
    np.testing.assert_allclose(patch.gap, 0.0, atol=1e-15)
    np.testing.assert_allclose(patch.point[:, 2], 0.0, atol=1e-15)
    assert pair_gap(model, (1, 0), states)[1] == pytest.approx(0.0, abs=1e-15)


def test_parallel_cylinders_touch_along_a_line_with_two_ends():
    a, b = collision_shape(SHAPES["cylinder"]), collision_shape(SHAPES["capsule"])
    for other, reach in ((a, 0.6), (b, 0.4)):
        found = convex_contacts_kernels.pair_contacts(
            a, packed((reach, 0, 0.1), FLAT), other, packed((0, 0, 0), FLAT), SIZE, 1e-9, 1e-9
        )
        assert len(found[0]) == 2
        np.testing.assert_allclose(found[1], [[1, 0, 0]] * 2, atol=1e-14)
    crossed = convex_contacts_kernels.pair_contacts(
        a, packed((0, 0, 0.6), LYING), a, packed((0, 0, 0), ACROSS), SIZE, 1e-9, 1e-9
    )
    assert crossed[3].tolist() == [[EDGE, EDGE]]
    np.testing.assert_allclose(crossed[0], [[0, 0, 0.3]], atol=1e-15)
    assert crossed[6].tolist() == [[0.3, 0.3]]


# -- time of impact ----------------------------------------------------------------------------------------


def first_meeting(scene, pair, end):
    """When two bodies of a scene meet in free flight, piece after piece, as the engine asks for it."""
    model = Model.of_scene(scene)
    states = model.initial_states()
    time = 0.0
    while time < end:
        pieces, bounds, spans = [], [], []
        for body in pair:
            if model.movable[body]:
                inertia, inverse = model.inertia[body], model.inverse_inertia[body]
                piece, span = kernels.free_piece(states[body], model.gravity, inertia, inverse)
                span = min(span, 1.0)
                bounds.append(kernels.motion_bounds(piece, inertia, inverse))
            else:
                piece, span = np.zeros((13, kernels.TERMS)), math.inf
                piece[:, 0] = states[body]
                bounds.append(np.zeros(5))
            pieces.append(piece)
            spans.append(span)
        span = min(spans)
        if model.planes[pair[1]] is not None:
            ignored = np.zeros(len(model.shapes[pair[0]].points), dtype=bool)
            found, hit = half_space_impact(model, pair, pieces[0], bounds[0], span, ignored)
        else:
            found, hit = pair_impact(model, pair, tuple(pieces), tuple(bounds), (0.0, 0.0), span)
        assert hit != -2
        if found < math.inf:
            return time + found
        for body, piece in zip(pair, pieces, strict=True):
            states[body] = kernels.evaluate_piece(piece, span)
        time += span
    return math.inf


class FreeFlight:
    """Position and rotation matrix of a body in free flight, by scipy's DOP853."""

    def __init__(self, body, gravity, end):
        self.body, self.gravity = body, np.array(gravity)
        w, x, y, z = body.orientation
        start = Rotation.from_quat([x, y, z, w]).as_matrix()
        inertia = body.inertia

        def rate(_, y):
            turn, spin = y[:9].reshape(3, 3), y[9:]
            turning = turn @ -np.cross(np.eye(3), spin).T  # columns spin x e_i
            return np.append(turning.ravel(), np.linalg.solve(inertia, np.cross(inertia @ spin, spin)))

        self.turn = solve_ivp(
            rate,
            (0.0, end),
            np.append(start.ravel(), start.T @ body.angular_velocity),
            method="DOP853",
            rtol=1e-13,
            atol=1e-15,
            max_step=0.05 / np.linalg.norm(body.angular_velocity),
            dense_output=True,
        ).sol

    def __call__(self, t):
        position = self.body.position + t * self.body.velocity + 0.5 * t * t * self.gravity
        return position, self.turn(t)[:9].reshape(3, 3)


def first_zero(gap, end, samples=400):
    """First zero of a gap that is positive at the start, inf where it has none."""
    for early, late in pairwise(np.linspace(0.0, end, samples)):
        if gap(late) <= 0.0:
            return brentq(gap, early, late, xtol=1e-14, rtol=4 * np.finfo(float).eps)
    return math.inf


def tumbling(shape, random, position, velocity):
    orientation = random.standard_normal(4)
    return Body(
        shape,
        density=700.0,
        position=position,
        orientation=orientation / np.linalg.norm(orientation),
        velocity=velocity,
        angular_velocity=random.uniform(2, 8) * direction(random),
    )


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", sorted(ROUND))
def test_tumbling_cylinder_meets_the_floor_when_its_lowest_point_does(name, seed):
    random = np.random.default_rng(seed)
    gravity = (0.0, 0.0, -9.81)
    scene = Scene(gravity=gravity)
    scene.add(Body(HalfSpace((0, 0, 1)), fixed=True))
    body = tumbling(SHAPES[name], random, (0, 0, 1.0), (0.3, 0.1, 0.5))
    scene.add(body)
    flight = FreeFlight(body, gravity, 1.0)

    def gap(t):
        position, turn = flight(t)
        tilt = turn[2, 2]
        return position[2] - 0.5 * body.shape.length * abs(tilt) - body.shape.radius * math.sqrt(1 - tilt**2)

    assert first_meeting(scene, (1, 0), 1.0) == pytest.approx(first_zero(gap, 1.0), abs=1e-12)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", sorted(ROUND))
def test_ball_meets_a_tumbling_cylinder(name, seed):
    random = np.random.default_rng(20 + seed)
    scene = Scene(gravity=(0, 0, 0))
    way = direction(random)
    ball = tumbling(Sphere(0.1), random, 1.2 * way, -2.0 * way + random.uniform(-0.2, 0.2, 3))
    body = tumbling(SHAPES[name], random, (0, 0, 0), (0, 0, 0))
    scene.add(ball)
    scene.add(body)
    flights = [FreeFlight(one, (0, 0, 0), 0.8) for one in (ball, body)]

    def gap(t):
        (center, _), (position, turn) = (flight(t) for flight in flights)
        x, y, z = turn.T @ (center - position)
        across = max(math.hypot(x, y) - body.shape.radius, 0.0)
        along = max(abs(z) - 0.5 * body.shape.length, 0.0)
        return math.hypot(across, along) - 0.1

    assert first_meeting(scene, (0, 1), 0.8) == pytest.approx(first_zero(gap, 0.8), abs=1e-12)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("pair", [("cylinder", "cube"), ("cylinder", "coin"), ("coin", "capsule")])
def test_tumbling_cylinders_meet_others(pair, seed):
    random = np.random.default_rng(40 + seed)
    scene = Scene(gravity=(0, 0, 0))
    way = direction(random)
    bodies = [
        tumbling(SHAPES[name], random, side * 0.7 * way, -side * way + random.uniform(-0.1, 0.1, 3))
        for name, side in zip(pair, (1, -1), strict=True)
    ]
    for body in bodies:
        scene.add(body)
    flights = [FreeFlight(body, (0, 0, 0), 0.8) for body in bodies]

    def states(t):
        packs = []
        for flight in flights:
            position, turn = flight(t)
            x, y, z, w = Rotation.from_matrix(turn).as_quat()
            packs.append(packed(position, (w, x, y, z)))
        return packs

    def gap(t):
        first, second = states(t)
        return separated(pair[0], first, pair[1], second)[1]  # certified above

    met = first_meeting(scene, (0, 1), 0.8)
    assert met == pytest.approx(first_zero(gap, 0.8, 200), abs=1e-11)
    first, second = states(met - 1e-6)
    assert_certified(pair[0], first, pair[1], second, 1e-10)


def test_cylinders_that_touch_and_part_do_not_meet():
    for velocity, meets in (
        ((0, 0, 0.5), False),
        ((0, 0, -0.5), True),
        ((0.5, 0, 0), False),
        ((0, 0, 0), False),
    ):
        scene = Scene(gravity=(0, 0, 0))
        scene.add(Body(SHAPES["cylinder"], density=1.0, position=(0, 0, 0.8), velocity=velocity))
        scene.add(Body(SHAPES["cylinder"], density=1.0))
        assert first_meeting(scene, (0, 1), 1.0) == (0.0 if meets else math.inf)


# -- bounces -----------------------------------------------------------------------------------------------


def reflected(points, normals, states, bodies):
    """States after frictionless elastic reflections at contacts, the fastest approaching first."""
    turns = [rotation(state) for state in states]
    velocity = np.concatenate(
        [np.append(state[7:10], turn @ state[10:13]) for state, turn in zip(states, turns, strict=True)]
    )
    inverse = np.zeros((12, 12))
    for k, (body, turn) in enumerate(zip(bodies, turns, strict=True)):
        inverse[6 * k : 6 * k + 3, 6 * k : 6 * k + 3] = np.eye(3) / body.mass
        inverse[6 * k + 3 : 6 * k + 6, 6 * k + 3 : 6 * k + 6] = turn @ np.linalg.inv(body.inertia) @ turn.T
    rows = np.array(
        [
            np.concatenate([n, np.cross(x - states[0][:3], n), -n, -np.cross(x - states[1][:3], n)])
            for x, n in zip(points, normals, strict=True)
        ]
    )
    for _ in range(2000):
        speeds = rows @ velocity
        k = np.argmin(speeds)
        if speeds[k] >= -1e-12 * np.abs(velocity).max():
            break
        push = inverse @ rows[k]
        velocity = velocity - 2.0 * speeds[k] / (rows[k] @ push) * push
    after = np.array(states)
    for k, turn in enumerate(turns):
        after[k, 7:10], after[k, 10:13] = (
            velocity[6 * k : 6 * k + 3],
            turn.T @ velocity[6 * k + 3 : 6 * k + 6],
        )
    return after


def kinetic_energy(states, bodies):
    return sum(
        0.5 * body.mass * state[7:10] @ state[7:10] + 0.5 * state[10:13] @ body.inertia @ state[10:13]
        for body, state in zip(bodies, states, strict=True)
    )


def bounced(model, states, random, wanted, gap_of, allowed=1e-11):
    """Impacts and energy drift of two bodies that bounce until `wanted` impacts; looks for overlap in between."""
    bodies = model.scene.bodies
    before, impacts, soon = kinetic_energy(states, bodies), 0, 0
    for _ in range(60 * wanted):
        if impacts == wanted:
            break
        away = states[0, :3] - states[1, :3]
        reach = model.size.sum()
        if np.linalg.norm(away) > 1.3 * reach and away @ (states[0, 7:10] - states[1, 7:10]) > 0.0:
            along = away / np.linalg.norm(away)  # keep them together
            states[:, 7:10] -= 2.0 * (states[:, 7:10] @ along)[:, None] * along
        pieces, bounds, span = [], [], 0.3
        for body, state in zip(bodies, states, strict=True):
            inverse = np.linalg.inv(body.inertia)
            piece, holds = kernels.free_piece(state, np.zeros(3), body.inertia, inverse)
            span = min(span, holds)
            pieces.append(piece)
            bounds.append(kernels.motion_bounds(piece, body.inertia, inverse))
        when, hit = pair_impact(model, (0, 1), tuple(pieces), tuple(bounds), (0.0, 0.0), span)
        assert hit in (0, 1)
        tau = min(when, span)
        for share in (*random.uniform(size=3), random.uniform(0.0, 1e-6), 1.0):
            between = np.array([kernels.evaluate_piece(piece, share * tau) for piece in pieces])
            assert gap_of(model, between) >= -allowed
        states = np.array([kernels.evaluate_piece(piece, tau) for piece in pieces])
        if hit:
            impacts += 1
            soon = soon + 1 if tau < 1e-9 else 0
            assert soon < 5
            patch = contact_patch(model, [(0, 1)], states)
            assert len(patch)
            states = reflected(patch.point, patch.normal, states, bodies)
    return impacts, kinetic_energy(states, bodies) / before - 1.0


def thrown_together(first, second, random):
    """Two free bodies that fly towards each other and tumble: their model and states."""
    scene = Scene(gravity=(0, 0, 0))
    way = direction(random)
    reach = first.bounding_radius + second.bounding_radius
    for shape, side in ((first, 1), (second, -1)):
        scene.add(
            tumbling(shape, random, 0.55 * side * reach * way, -side * way + 0.2 * random.standard_normal(3))
        )
    model = Model.of_scene(scene)
    return model, model.initial_states()


@pytest.mark.parametrize("second", ["cylinder", "coin", "cube", "plate", "sphere", "capsule", "hull"])
@pytest.mark.parametrize("first", sorted(ROUND))
def test_cylinders_that_bounce_off_others_never_overlap(first, second):
    """Starts in contact, leaving: no impact is passed over and none is found where bodies part."""
    random = np.random.default_rng(len(first) + 7 * len(second))
    for _ in range(3):
        model, states = thrown_together(SHAPES[first], SHAPES[second], random)
        found, drift = bounced(model, states, random, 12, lambda m, s: pair_gap(m, (0, 1), s)[1])
        assert found == 12
        assert abs(drift) < 1e-12


# name -> shapes, orientation and place of the first on the second, both turning
STARTS = {
    "stands": ("cylinder", "cube", FLAT, (0.02, 0.01, 0.65)),
    "stands out over an edge": ("cylinder", "cube", FLAT, (0.2, 0.1, 0.65)),
    "lies": ("cylinder", "plate", LYING, (0.0, 0.02, 0.31)),
    "lies out over an edge": ("cylinder", "cube", LYING, (0.2, 0.02, 0.55)),
    "stands on an end": ("cylinder", "coin", FLAT, (0.25, 0.0, 0.415)),
    "lies across another": ("cylinder", "cylinder", LYING, (0.05, 0.0, 0.7)),
    "ball on an end": ("sphere", "cylinder", FLAT, (0.1, 0.1, 0.7)),
}


@pytest.mark.parametrize("name", STARTS)
def test_what_turns_off_a_touching_face_does_not_meet_it(name):
    """Bodies part where they touch, though corners of the touching faces elsewhere come closer."""
    first, second, orientation, place = STARTS[name]
    random = np.random.default_rng(9)
    for _ in range(60):
        scene = Scene(gravity=(0, 0, 0))
        scene.add(Body(SHAPES[first], density=1.0, position=place, orientation=orientation))
        scene.add(Body(SHAPES[second], density=1.0))
        model = Model.of_scene(scene)
        states = model.initial_states()
        states[:, 7:13] = random.standard_normal((2, 6))
        states[0, 9] += 0.5
        patch = contact_patch(model, [(0, 1)], states)
        states = reflected(patch.point, patch.normal, states, scene.bodies)
        # of an end that lies flat the law knows RIM_POINTS points, between which its rim may come closer
        allowed = 5e-9 if "stands" in name else 1e-11
        _, drift = bounced(model, states, random, 3, lambda m, s: pair_gap(m, (0, 1), s)[1], allowed)
        assert abs(drift) < 1e-12


@pytest.mark.parametrize("other", [Box((0.1, 0.3, 0.1)), Capsule(0.05, 0.3), Cylinder(0.05, 0.3)])
def test_crossing_edges_that_leave_each_other_are_not_searched_without_end(other):
    """Axes at rest, or turning with one body, see the edge of the other swing: steps of a hundred-thousandth."""
    random, left = np.random.default_rng(0), 0
    for _ in range(40):
        scene = Scene(gravity=(0, 0, 0))
        turns = [
            Rotation.from_euler("y", 0.25 * np.pi),
            Rotation.from_euler("xz", [np.pi / 2, random.uniform(0.3, 1.3)]),
        ]
        edge = 0.05 * np.sqrt(2.0)
        top = edge if isinstance(other, Box) else 0.05
        if isinstance(other, Box):
            turns[1] = Rotation.from_euler("yz", [0.25 * np.pi, random.uniform(0.3, 1.3)])
        spins = 5.0 * random.standard_normal((2, 3))
        for shape, turn, spin, height in zip(
            (Box((0.1, 0.3, 0.1)), other), turns, spins, (edge, -top), strict=True
        ):
            scene.add(
                Body(
                    shape, density=1000.0, position=(0, 0, height), orientation=np.roll(turn.as_quat(), 1),
                    angular_velocity=spin, velocity=0.3 * random.standard_normal(3) * (1, 1, 0),
                )
            )  # fmt: skip
        model = Model.of_scene(scene)
        states = model.initial_states()
        pieces, bounds, span = [], [], 1e-3
        for body, state in zip(scene.bodies, states, strict=True):
            inverse = np.linalg.inv(body.inertia)
            piece, holds = kernels.free_piece(state, np.zeros(3), body.inertia, inverse)
            span = min(span, holds)
            pieces.append(piece)
            bounds.append(kernels.motion_bounds(piece, body.inertia, inverse))

        def gap_at(time, model=model, pieces=pieces):
            return pair_gap(
                model, (0, 1), np.array([kernels.evaluate_piece(piece, time) for piece in pieces])
            )[1]

        when, hit = pair_impact(model, (0, 1), tuple(pieces), tuple(bounds), (0.0, 0.0), span)
        assert hit in (0, 1)
        times = np.geomspace(1e-9, span, 200)
        assert min(gap_at(time) for time in times[times <= when]) >= -1e-12
        if hit == 0:
            left += 1
        else:
            assert abs(gap_at(when)) <= 1e-12
    assert left > 5
