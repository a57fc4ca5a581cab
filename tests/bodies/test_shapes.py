"""Mass properties against exact references, surfaces, hulls with merged faces, and refusals."""

import itertools

import numpy as np
import pytest
import trimesh
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from carom.bodies import (
    Box,
    Capsule,
    ConvexMesh,
    Cylinder,
    Ellipsoid,
    HalfSpace,
    MassProperties,
    Mesh,
    Sphere,
)

GOLDEN = 0.5 * (1.0 + 5.0**0.5)
ICOSAHEDRON = np.array(
    [
        np.roll([0.0, one, golden], shift)
        for shift in range(3)
        for one in (-1.0, 1.0)
        for golden in (-GOLDEN, GOLDEN)
    ]
)


def subdivided_box_points(count: int, lengths) -> np.ndarray:
    grid = np.linspace(-0.5, 0.5, count)
    points = np.array(list(itertools.product(grid, repeat=3)))
    return points[np.abs(points).max(axis=1) == 0.5] * lengths


def revolution_integrals(profile, low: float, high: float) -> tuple[float, float, float]:
    """Volume and moments at density one across and along z, by Gauss-Legendre exact for these profiles."""
    nodes, weights = np.polynomial.legendre.leggauss(20)
    z = 0.5 * (high - low) * nodes + 0.5 * (high + low)
    weights = 0.5 * (high - low) * weights
    squared = profile(z)  # radius² is a polynomial in z
    volume = np.pi * weights @ squared
    along = 0.5 * np.pi * weights @ squared**2
    across = 0.5 * along + np.pi * weights @ (squared * z**2)
    return volume, across, along


def test_sphere_mass_properties():
    properties = Sphere(0.3).mass_properties(500.0)
    volume, across, along = revolution_integrals(lambda z: 0.09 - z**2, -0.3, 0.3)
    assert properties.mass == pytest.approx(500.0 * volume, rel=1e-14)
    np.testing.assert_allclose(
        properties.inertia, 500.0 * np.diag([across, across, along]), rtol=1e-14, atol=1e-14
    )


def test_cylinder_mass_properties():
    volume, across, along = revolution_integrals(lambda z: 0.04 + 0.0 * z, -0.35, 0.35)
    properties = Cylinder(0.2, 0.7).mass_properties(2.0)
    assert properties.mass == pytest.approx(2.0 * volume, rel=1e-14)
    np.testing.assert_allclose(
        np.diag(properties.inertia), 2.0 * np.array([across, across, along]), rtol=1e-14
    )


@pytest.mark.parametrize(("radius", "length"), [(0.2, 0.7), (1.0, 0.01), (0.01, 3.0)])
def test_capsule_mass_properties(radius, length):
    half = 0.5 * length
    pieces = [
        revolution_integrals(lambda z: radius**2 + 0.0 * z, -half, half),
        revolution_integrals(lambda z: radius**2 - (z - half) ** 2, half, half + radius),
        revolution_integrals(lambda z: radius**2 - (z + half) ** 2, -half - radius, -half),
    ]
    volume, across, along = np.sum(pieces, axis=0)
    properties = Capsule(radius, length).mass_properties(3.0)
    assert properties.mass == pytest.approx(3.0 * volume, rel=1e-13)
    np.testing.assert_allclose(
        np.diag(properties.inertia), 3.0 * np.array([across, across, along]), rtol=1e-13
    )


def test_box_mass_properties_agree_with_its_mesh():
    box = Box((0.1, 0.2, 0.4))
    exact, hull, mesh = (
        shape.mass_properties(700.0) for shape in (box, ConvexMesh(box.core()[0]), Mesh(box.surface()))
    )
    assert exact.mass == pytest.approx(700.0 * 0.008, rel=1e-14)
    np.testing.assert_allclose(
        np.diag(exact.inertia), exact.mass / 12.0 * np.array([0.2, 0.17, 0.05]), rtol=1e-13
    )
    for other in (hull, mesh):
        assert other.mass == pytest.approx(exact.mass, rel=1e-13)
        np.testing.assert_allclose(other.inertia, exact.inertia, rtol=1e-13, atol=1e-14)


def test_tetrahedron_far_from_the_origin():
    corners = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
    offset = np.array([1000.0, -2000.0, 500.0])
    properties = ConvexMesh(corners + offset).mass_properties(6.0)
    assert properties.mass == pytest.approx(1.0, rel=1e-11)
    np.testing.assert_allclose(properties.center_of_mass, offset + 0.25, rtol=1e-14)
    # About the centre: ∫x² = 1/60 - 1/96 and ∫xy = 1/120 - 1/96 of six volumes.
    expected = 6.0 * ((1 / 60 - 1 / 96) * 2 * np.eye(3) - (1 / 120 - 1 / 96) * (np.ones((3, 3)) - np.eye(3)))
    np.testing.assert_allclose(properties.inertia, expected, rtol=1e-11)


@pytest.mark.parametrize(
    "shape",
    [Sphere(0.4), Capsule(0.2, 0.5), Cylinder(0.3, 0.1), Ellipsoid((0.2, 0.3, 0.1))],
    ids=lambda s: type(s).__name__,
)
def test_tessellated_surfaces_are_closed_outward_and_lie_on_the_shape(shape):
    vertices, faces = shape.surface()
    surface = trimesh.Trimesh(vertices, faces, process=False)
    assert surface.is_watertight
    assert surface.is_winding_consistent
    assert 0.99 < surface.volume / shape.volume < 1.0
    np.testing.assert_allclose(surface.center_mass, 0.0, atol=1e-15)
    assert np.linalg.norm(vertices, axis=1).max() == pytest.approx(shape.bounding_radius, rel=1e-14)


def assert_faces_bound_the_core(shape):
    points, radius = shape.core()
    polygons, normals = shape.faces()
    assert radius == 0.0
    np.testing.assert_allclose(np.linalg.norm(normals, axis=1), 1.0, rtol=1e-14)
    size = np.abs(points).max()
    directed = []
    for polygon, normal in zip(polygons, normals, strict=True):
        heights = (points - points[polygon].mean(axis=0)) @ normal
        assert heights.max() <= 2e-9 * size
        assert np.abs(heights[polygon]).max() <= 2e-9 * size
        outline = points[polygon]
        turns = np.cross(np.roll(outline, -1, 0) - outline, np.roll(outline, -2, 0) - np.roll(outline, -1, 0))
        assert (turns @ normal > 0.0).all()
        directed += zip(polygon.tolist(), np.roll(polygon, -1).tolist(), strict=True)
    assert len(set(directed)) == len(directed)
    assert {(end, start) for start, end in directed} == set(directed)


def test_box_faces():
    box = Box((1.0, 2.0, 3.0))
    assert_faces_bound_the_core(box)
    assert len(box.faces()[0]) == 6
    x, y, z = box.core()[0][6]
    assert (x, y, z) == (0.5, 1.0, -1.5)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("lengths", [(1.0, 1.0, 1.0), (1.0, 2.0, 1e-4), (1e-4, 2.0, 1e-4), (1.0, 2.0, 1e-6)])
def test_tessellated_box_has_eight_corners_and_six_faces(scale, lengths):
    rotation = Rotation.from_euler("xyz", [0.3, -1.0, 2.0]).as_matrix()
    hull = ConvexMesh(subdivided_box_points(6, lengths) @ rotation.T * scale)
    assert (len(hull.vertices), len(hull.polygons)) == (8, 6)
    assert_faces_bound_the_core(hull)


def test_box_in_single_precision_as_files_hold_it():
    hull = ConvexMesh(subdivided_box_points(7, (0.1, 0.3, 0.7)).astype(np.float32))
    assert (len(hull.vertices), len(hull.polygons)) == (8, 6)


def test_icosahedron_keeps_its_twenty_faces():
    hull = ConvexMesh(ICOSAHEDRON)
    assert (len(hull.vertices), len(hull.polygons)) == (12, 20)
    assert_faces_bound_the_core(hull)
    assert hull.volume == pytest.approx(8.0 * 5.0 / 12.0 * (3.0 + 5.0**0.5), rel=1e-14)


def test_prism_with_points_inside_its_faces_and_edges():
    angle = 2.0 * np.pi * np.arange(64) / 64
    rings = [np.column_stack([np.cos(angle), np.sin(angle), np.full(64, z)]) for z in (0.0, 0.3, 1.0)]
    hull = ConvexMesh(np.concatenate([*rings, [[0.0, 0.0, 0.0], [0.1, 0.2, 1.0], [0.0, 0.0, 0.5]]]))
    assert (len(hull.vertices), len(hull.polygons)) == (128, 66)
    assert_faces_bound_the_core(hull)
    assert sorted({len(polygon) for polygon in hull.polygons}) == [4, 64]


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(4, 60), st.sampled_from(["normal", "grid", "sphere"]))
def test_random_hulls_are_closed_convex_and_as_large_as_trimesh_says(seed, count, kind):
    random = np.random.default_rng(seed)
    points = random.normal(size=(count, 3))
    if kind == "grid":
        points = np.round(2.0 * points)
    if kind == "sphere":
        points /= np.linalg.norm(points, axis=1)[:, None]
    if np.linalg.matrix_rank(points[1:] - points[0], tol=1e-6) < 3:
        with pytest.raises(ValueError, match="is flat"):
            ConvexMesh(points)
        return
    hull = ConvexMesh(points)
    assert_faces_bound_the_core(hull)
    reference = trimesh.convex.convex_hull(points)
    assert hull.volume == pytest.approx(reference.volume, rel=1e-9)
    np.testing.assert_allclose(hull.center_of_mass, reference.center_mass, atol=1e-9)
    np.testing.assert_allclose(
        hull.unit_mass_inertia() * reference.volume, reference.moment_inertia, atol=1e-8 * reference.volume
    )


def test_cores_of_round_shapes():
    points, radius = Capsule(0.1, 0.6).core()
    np.testing.assert_array_equal(points, [[0, 0, -0.3], [0, 0, 0.3]])
    assert radius == 0.1
    points, radius = Sphere(0.2).core()
    np.testing.assert_array_equal(points, [[0, 0, 0]])
    assert radius == 0.2


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Sphere(0.0), "radius: expected a number greater than 0, got 0"),
        (lambda: Sphere(float("nan")), "radius: expected a finite number, got nan"),
        (lambda: Box((1, 2)), r"lengths: expected shape \(3\), got \(2,\)"),
        (lambda: Box((1, 2, -1)), "lengths: expected three numbers greater than 0"),
        (lambda: Capsule(0.1, 0.0), "length: expected a number greater than 0, got 0"),
        (lambda: HalfSpace((0, 0, 0)), "normal: expected a vector other than zero"),
        (lambda: ConvexMesh(np.ones((5, 3))), "is flat: its points lie in a plane, so it encloses no volume"),
        (lambda: ConvexMesh(np.eye(3)), "is flat"),
        (lambda: ConvexMesh([[0, 0, np.inf]] * 4), "vertices: expected finite numbers"),
        (lambda: Mesh((np.eye(3), [[0, 1, 2]])), "is open: 3 of its edges border one face only.*ConvexMesh"),
        (lambda: Mesh((np.eye(3), [[0, 1, 3]])), "faces: expected vertex indices from 0 to 2"),
        (lambda: HalfSpace((0, 0, 1)).mass_properties(1.0), "unbounded"),
        (lambda: HalfSpace((0, 0, 1)).surface(), "unbounded"),
    ],
)
def test_bad_values_are_refused_by_name(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Sphere("big"), "radius: expected a number, got 'big'"),
        (lambda: Sphere(True), "radius: expected a number, got True"),
        (lambda: Box(["a", "b", "c"]), "lengths: expected numbers"),
        (lambda: Mesh(5), "mesh: expected a trimesh object"),
        (lambda: Cylinder(1, 1).core(), "Cylinder is not a convex hull"),
        (lambda: Ellipsoid((1, 2, 3)).core(), "Ellipsoid is not a convex hull"),
        (lambda: Mesh(Box((1, 1, 1)).surface()).core(), "ConvexMesh"),
        (lambda: Sphere(1).faces(), "no flat faces"),
    ],
)
def test_bad_types_are_refused_by_name(make, message):
    with pytest.raises(TypeError, match=message):
        make()


def test_meshes_wound_the_wrong_way_are_refused():
    vertices, faces = Box((1, 1, 1)).surface()
    with pytest.raises(ValueError, match="inside out"):
        Mesh((vertices, faces[:, ::-1]))
    mixed = faces.copy()
    mixed[0] = mixed[0, ::-1]
    with pytest.raises(ValueError, match="wound inconsistently"):
        Mesh((vertices, mixed))


def test_hollow_mesh_counts_its_cavity_once():
    outer, faces = Box((2, 2, 2)).surface()
    inner = 0.5 * outer
    shell = Mesh((np.concatenate([outer, inner]), np.concatenate([faces, faces[:, ::-1] + 8])))
    assert shell.volume == pytest.approx(7.0, rel=1e-14)
    np.testing.assert_allclose(
        np.diag(shell.mass_properties(1.0).inertia), 8.0 * 8.0 / 12.0 - 2.0 / 12.0, rtol=1e-14
    )


def test_open_mesh_with_given_mass_properties():
    given = MassProperties(2.0, np.diag([1.0, 1.0, 1.5]), (0.1, 0.0, 0.0))
    mesh = Mesh((np.eye(3), [[0, 1, 2]]), mass_properties=given)
    assert not mesh.closed
    np.testing.assert_array_equal(mesh.center_of_mass, [0.1, 0.0, 0.0])
    np.testing.assert_allclose(np.sort(mesh.vertices[:, 0]), [-0.1, -0.1, 0.9])
    np.testing.assert_array_equal(mesh.unit_mass_inertia(), np.diag([0.5, 0.5, 0.75]))
    with pytest.raises(ValueError, match="give the body a mass"):
        mesh.mass_properties(1000.0)


def test_half_space_normal_is_normalised_and_shapes_compare_by_content():
    assert HalfSpace((0, 0, 5)) == HalfSpace((0, 0, 1))
    assert hash(HalfSpace((0, 0, 5))) == hash(HalfSpace((0, 0, 1)))
    assert HalfSpace((0, 0, 1)) != HalfSpace((0, 0, 1), 0.1)
    assert ConvexMesh(ICOSAHEDRON) == ConvexMesh(ICOSAHEDRON)
    assert Box((1, 2, 3)) == Box((1.0, 2.0, 3.0))
    with pytest.raises(ValueError, match="read-only"):
        HalfSpace((0, 0, 1)).normal[0] = 1.0


def test_ellipsoid_is_a_stretched_ball():
    ball, egg = Sphere(1.0), Ellipsoid((0.2, 0.3, 0.5), center=(0.1, 0, -0.2))
    assert egg.volume == pytest.approx(ball.volume * 0.03, rel=1e-14)
    assert Ellipsoid((0.3, 0.3, 0.3)).unit_mass_inertia() == pytest.approx(Sphere(0.3).unit_mass_inertia())
    stretched = Mesh((lambda v, f: (v * egg.semi_axes, f))(*ball.surface())).unit_mass_inertia()
    whole = Ellipsoid(egg.semi_axes)
    np.testing.assert_allclose(whole.unit_mass_inertia(), stretched, atol=1e-3)
    vertices, _ = egg.surface()
    np.testing.assert_allclose(
        np.sum(((vertices - egg.center) / egg.semi_axes) ** 2, axis=1), 1.0, rtol=1e-14
    )
    assert np.linalg.norm(vertices, axis=1).max() <= egg.bounding_radius
    with pytest.raises(ValueError, match=r"center: expected \(0, 0, 0\) for a uniform Ellipsoid"):
        egg.mass_properties(1000.0)
    with pytest.raises(ValueError, match="semi_axes: expected three numbers greater than 0"):
        Ellipsoid((1, 0, 1))
    with pytest.raises(ValueError, match="center"):
        Ellipsoid((1, 1, 1), center=(0, 0))
