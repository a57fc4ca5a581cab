"""Boxes and hulls grown by a ball: moments against quadrature, sampling and limits; surfaces; refusals."""

import math

import numpy as np
import pytest
import trimesh
from scipy.spatial.transform import Rotation

from carom import Body, Box, Capsule, ConvexMesh, Scene, Sphere
from carom.bodies import hull
from carom.bodies.rounding import rounded_surface

WEDGE = np.array([[0.0, 0, 0], [1.5, 0, 0], [0, 1, 0], [0, 0, 0.7], [1.2, 0.3, 0.9]])


def distances(points: np.ndarray, vertices: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """Of points (n, 3) from a closed convex surface: to the nearest of its planes, sides and corners; 0 inside."""
    a, b, c = np.moveaxis(vertices[triangles], 1, 0)
    normal = np.cross(b - a, c - a)
    normal /= np.linalg.norm(normal, axis=1)[:, None]
    height = np.einsum("ntj,tj->nt", points[:, None] - a, normal)
    over = np.ones_like(height, dtype=bool)
    best = np.full(len(points), np.inf)
    for p, q in ((a, b), (b, c), (c, a)):
        over &= np.einsum("ntj,tj->nt", points[:, None] - p, np.cross(normal, q - p)) >= 0.0
        along = np.einsum("ntj,tj->nt", points[:, None] - p, q - p) / np.sum((q - p) ** 2, axis=1)
        nearest = p + np.clip(along, 0.0, 1.0)[..., None] * (q - p)
        best = np.minimum(best, np.linalg.norm(points[:, None] - nearest, axis=2).min(axis=1))
    best = np.minimum(best, np.where(over, np.abs(height), np.inf).min(axis=1))
    return np.where((height <= 0.0).all(axis=1), 0.0, best)


def octant_moments(half: np.ndarray, radius: float) -> tuple[float, np.ndarray]:
    """Volume and moments of x^2, y^2, z^2 of a rounded cuboid with inner half lengths, piece by piece.

    The pieces of one octant are products of intervals, quarters of disks and an eighth of a ball, each by
    Gauss-Legendre quadrature in coordinates in which it is a cuboid.
    """
    nodes, weights = np.polynomial.legendre.leggauss(24)
    nodes, weights = 0.5 * (nodes + 1.0), 0.5 * weights
    volume, squares = 0.0, np.zeros(3)
    for rounded in np.ndindex(2, 2, 2):
        outside = [k for k in range(3) if rounded[k]]
        u = np.stack(np.meshgrid(nodes, nodes, nodes, indexing="ij"), axis=-1).reshape(-1, 3)
        w = np.prod(np.stack(np.meshgrid(weights, weights, weights, indexing="ij"), axis=-1), axis=-1).ravel()
        x = u * half
        w = w * np.prod([half[k] for k in range(3) if not rounded[k]])
        if len(outside) == 1:
            x[:, outside[0]] = half[outside[0]] + radius * u[:, outside[0]]
            w = w * radius
        elif len(outside) == 2:
            i, j = outside
            rho, angle = radius * u[:, i], 0.5 * math.pi * u[:, j]
            x[:, i], x[:, j] = half[i] + rho * np.cos(angle), half[j] + rho * np.sin(angle)
            w = w * 0.5 * math.pi * radius * rho
        elif len(outside) == 3:
            rho, angle, polar = radius * u[:, 0], 0.5 * math.pi * u[:, 1], 0.5 * math.pi * u[:, 2]
            way = [np.sin(polar) * np.cos(angle), np.sin(polar) * np.sin(angle), np.cos(polar)]
            x = half + rho[:, None] * np.stack(way, axis=-1)
            w = w * 0.25 * math.pi**2 * radius * rho**2 * np.sin(polar)
        volume += w.sum()
        squares += w @ x**2
    return 8.0 * volume, 8.0 * squares


@pytest.mark.parametrize("radius", [0.02, 0.2, 0.39])
def test_rounded_box_has_the_moments_of_its_pieces(radius):
    lengths = np.array([0.8, 1.1, 2.0])
    box = Box(tuple(lengths), radius=radius)
    volume, squares = octant_moments(0.5 * lengths - radius, radius)
    assert box.volume == pytest.approx(volume, rel=1e-13)
    expected = (squares.sum() - squares) / volume
    np.testing.assert_allclose(box.unit_mass_inertia(), np.diag(expected), rtol=1e-13, atol=0.0)


def test_limits_are_a_box_a_ball_and_a_capsule():
    sharp, blunt = Box((0.3, 0.4, 0.5)), Box((0.3, 0.4, 0.5), radius=1e-12)
    assert blunt.volume == pytest.approx(sharp.volume, rel=1e-11)
    np.testing.assert_allclose(blunt.unit_mass_inertia(), sharp.unit_mass_inertia(), rtol=1e-11)
    for shape, lengths in ((Sphere(0.2), (0.4, 0.4, 0.4)), (Capsule(0.2, 0.7), (0.4, 0.4, 1.1))):
        nearly = Box(lengths, radius=0.2 * (1.0 - 1e-7))
        assert nearly.volume == pytest.approx(shape.volume, rel=1e-6)
        np.testing.assert_allclose(nearly.unit_mass_inertia(), shape.unit_mass_inertia(), rtol=1e-6)
        assert nearly.bounding_radius == pytest.approx(shape.bounding_radius, rel=1e-6)


def test_a_rounded_hull_of_the_inner_corners_is_the_rounded_box():
    box = Box((0.8, 1.1, 2.0), radius=0.3)
    turn, place = Rotation.from_rotvec([0.3, -0.8, 0.5]).as_matrix(), np.array([3.0, -2.0, 5.0])
    mesh = ConvexMesh(box.core()[0] @ turn.T + place, radius=0.3)
    assert mesh.volume == pytest.approx(box.volume, rel=1e-12)
    np.testing.assert_allclose(mesh.center_of_mass, place, rtol=1e-13)
    np.testing.assert_allclose(
        turn.T @ mesh.unit_mass_inertia() @ turn, box.unit_mass_inertia(), rtol=1e-11, atol=1e-12
    )


@pytest.mark.parametrize("radius", [0.01, 0.2, 2.0])
def test_rounded_hull_has_the_moments_that_its_surfaces_converge_to(radius):
    shape = ConvexMesh(WEDGE, radius=radius)
    found = []
    for steps in (48, 96):
        vertices, triangles = rounded_surface(
            *shape.core()[:1], *shape.faces(), radius, 2.0 * math.pi / steps
        )
        volume, center, inertia = hull.integrals(vertices, triangles)
        found.append(np.concatenate([[volume], center, (inertia / volume).ravel()]))
    limit = found[1] + (found[1] - found[0]) / 3.0
    exact = np.concatenate([[shape.volume], np.zeros(3), shape.unit_mass_inertia().ravel()])
    scale = np.abs(exact).max()
    # whole numbers of triangles are not exactly doubled, so what is left of the error is not of fourth order
    assert np.abs(limit - exact).max() < 0.1 * np.abs(found[1] - exact).max() + 1e-12 * scale
    np.testing.assert_allclose(found[1], exact, rtol=0.0, atol=5e-3 * scale)


def test_rounded_hull_has_the_moments_of_random_points_in_it():
    radius = 0.5
    shape = ConvexMesh(WEDGE, radius=radius)
    random = np.random.default_rng(0)
    low, high = WEDGE.min(axis=0) - radius, WEDGE.max(axis=0) + radius
    points = random.uniform(low, high, size=(40000, 3))
    corners = shape.core()[0] + shape.center_of_mass
    inside = points[distances(points, corners, hull.fan_triangles(shape.faces()[0])) <= radius]
    volume = np.prod(high - low) * len(inside) / len(points)
    assert shape.volume == pytest.approx(volume, rel=0.02)
    np.testing.assert_allclose(inside.mean(axis=0), shape.center_of_mass, atol=0.02)
    about = inside - shape.center_of_mass
    second = about.T @ about / len(inside)
    np.testing.assert_allclose(np.trace(second) * np.eye(3) - second, shape.unit_mass_inertia(), atol=0.02)


@pytest.mark.parametrize(
    "shape", [Box((1, 2, 3), radius=0.4), ConvexMesh(WEDGE, radius=0.3)], ids=["box", "hull"]
)
def test_surface_is_closed_and_within_its_bound_of_the_shape(shape):
    vertices, triangles = shape.surface()
    surface = trimesh.Trimesh(vertices, triangles, process=False)
    assert surface.is_watertight
    assert surface.is_winding_consistent
    assert surface.volume == pytest.approx(shape.volume, rel=3e-3)
    points, radius = shape.core()
    core = points, hull.fan_triangles(shape.faces()[0])
    middles = np.concatenate([vertices[triangles].mean(axis=1), vertices[triangles[:, [0, 2]]].mean(axis=1)])
    bound = radius * (1.0 - math.cos(2.0 * math.pi / 48))
    for places, slack in ((vertices, 0.0), (middles, bound)):
        away = distances(places, *core)
        assert away.max() <= radius * (1.0 + 1e-9)
        assert away.min() >= radius * (1.0 - 1e-9) - slack
    assert np.linalg.norm(vertices, axis=1).max() == pytest.approx(shape.bounding_radius, rel=1e-3)


def test_lengths_are_outer_lengths():
    box = Box((1.0, 2.0, 3.0), radius=0.4)
    np.testing.assert_allclose(np.ptp(box.surface()[0], axis=0), [1.0, 2.0, 3.0], rtol=1e-15)
    np.testing.assert_allclose(np.ptp(box.core()[0], axis=0), [0.2, 1.2, 2.2], rtol=1e-14)


@pytest.mark.parametrize("radius", [0.5, 0.6, -0.1, math.nan])
def test_radius_that_leaves_no_box_is_refused(radius):
    with pytest.raises(ValueError, match="radius: expected"):
        Box((1.0, 2.0, 3.0), radius=radius)


def test_negative_radius_of_a_hull_is_refused():
    with pytest.raises(ValueError, match="radius: expected a number of at least 0"):
        ConvexMesh(WEDGE, radius=-1.0)


def test_description_gives_the_same_shapes_back():
    scene = Scene()
    for k, shape in enumerate((Box((1, 2, 3), radius=0.1), ConvexMesh(WEDGE, radius=0.2), ConvexMesh(WEDGE))):
        scene.add(Body(shape, density=10.0, position=(10.0 * k, 0, 0)))
    read = Scene.from_description(*scene.describe())
    for before, after in zip(scene.bodies, read.bodies, strict=True):
        assert after.shape == before.shape
        assert after.shape.unit_mass_inertia().tobytes() == before.shape.unit_mass_inertia().tobytes()
    assert scene.bodies[1].shape != scene.bodies[2].shape
