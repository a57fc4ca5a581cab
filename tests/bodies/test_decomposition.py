"""Convex parts of a mesh, and how far they are from it."""

import sys

import numpy as np
import pytest
import trimesh

from carom.bodies import Box, MassProperties, Mesh
from carom.bodies.distance_kernels import distances, windings


def prism(outline, height=1.0):
    """An upright prism over a polygon that its first corner sees whole, as (vertices, faces)."""
    count = len(outline)
    plane = np.array(outline, dtype=float)
    vertices = np.concatenate(
        [np.column_stack([plane, np.zeros(count)]), np.column_stack([plane, np.full(count, height)])]
    )
    here, there = np.arange(count), np.roll(np.arange(count), -1)
    fan = np.array([(0, k, k + 1) for k in range(1, count - 1)])
    return vertices, np.concatenate(
        [
            fan[:, ::-1],
            fan + count,
            np.column_stack([here, there, there + count]),
            np.column_stack([here, there + count, here + count]),
        ]
    )


ANGLE = prism([(1, 1), (1, 2), (0, 2), (0, 0), (2, 0), (2, 1)])


def test_angle_is_two_boxes_in_the_coordinates_given():
    pytest.importorskip("coacd", reason="the package coacd, an optional extra, is not installed")
    offset = np.array([10.0, -20.0, 30.0])
    mesh = Mesh((ANGLE[0] + offset, ANGLE[1]))
    result = mesh.decomposed()
    assert len(result.parts) == 2
    assert sum(part.volume for part in result.parts) == pytest.approx(3.0, rel=1e-2)
    assert result.volume_ratio == pytest.approx(1.0, rel=1e-2)
    weighted = sum(part.volume * part.center_of_mass for part in result.parts)
    np.testing.assert_allclose(weighted / (3.0 * result.volume_ratio), mesh.center_of_mass, atol=1e-2)
    assert 0.0 <= result.largest_protrusion < 1e-2
    assert 0.0 <= result.largest_uncovered < 1e-2
    assert result.remark.startswith("2 convex parts with ")
    assert result.remark.count(".\n") == 0
    assert result.remark.endswith(" m outside them.")
    assert mesh.decomposed(seed=0) == result


def test_coarse_parts_of_an_angle_protrude_by_its_notch():
    pytest.importorskip("coacd", reason="the package coacd, an optional extra, is not installed")
    result = Mesh(ANGLE).decomposed(threshold=1.0)
    assert len(result.parts) == 1
    assert result.volume_ratio == pytest.approx(3.5 / 3.0, rel=1e-9)
    # The hull's slanted side, from (1, 2) to (2, 1), is furthest from both walls of the notch in its middle.
    assert result.largest_protrusion == pytest.approx(0.5, abs=0.02)
    assert result.largest_protrusion <= 0.5
    assert result.largest_uncovered == pytest.approx(0.0, abs=1e-9)


def test_mass_given_or_from_a_hull_does_not_change_the_parts():
    pytest.importorskip("coacd", reason="the package coacd, an optional extra, is not installed")
    given = Mesh(ANGLE, MassProperties(1.0, np.eye(3), (0.5, 0.5, 0.5)))
    for mesh in (given, Mesh(ANGLE, mass_from="hull")):
        result = mesh.decomposed()
        assert len(result.parts) == 2
        assert result.volume_ratio == pytest.approx(1.0, rel=1e-2)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"threshold": 0.0}, ValueError, "threshold: expected a number of at least 0.01, got 0"),
        ({"threshold": 2.0}, ValueError, "threshold: expected a number from 0.01 to 1, got 2"),
        ({"threshold": "fine"}, TypeError, "threshold: expected a number, got 'fine'"),
        ({"seed": -1}, ValueError, r"seed: expected a whole number from 0 to 2\^32 - 1, got -1"),
        ({"seed": 0.5}, TypeError, "seed: expected a whole number, got 0.5"),
    ],
)
def test_bad_arguments_are_refused_by_name(arguments, error, message):
    with pytest.raises(error, match=message):
        Mesh(ANGLE).decomposed(**arguments)


def test_open_mesh_is_refused():
    with pytest.raises(ValueError, match="mesh: expected one that is closed and wound outward to decompose"):
        Mesh((ANGLE[0], ANGLE[1][2:]), mass_from="hull").decomposed()


def test_without_coacd_one_sentence_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "coacd", None)
    with pytest.raises(ImportError) as caught:
        Mesh(ANGLE).decomposed()
    sentence = 'Convex decomposition needs the package coacd: pip install "carom[decomposition]".'
    assert str(caught.value) == sentence


def test_distances_from_triangles_have_closed_forms():
    triangle = np.array([[[0.0, 0, 0], [1, 0, 0], [0, 1, 0]]])
    points = np.array([[0.2, 0.2, 0.7], [1, 1, 0], [-3, -4, 0], [2, 0, 0], [0.5, -1, 0], [0.3, 0.3, 0]])
    expected = [0.7, 0.5**0.5, 5.0, 1.0, 1.0, 0.0]
    np.testing.assert_allclose(distances(points, triangle), expected, atol=1e-15)
    needle = np.array([[[0.0, 0, 0], [1, 0, 0], [3, 0, 0]]])
    np.testing.assert_allclose(distances(np.array([[2.0, 1, 0], [5, 0, 0]]), needle), [1.0, 2.0])
    both = np.concatenate([triangle, needle + np.array([0.0, 0.0, 1.0])])
    np.testing.assert_allclose(distances(points, both).max(), np.linalg.norm([3, 4]), rtol=1e-15)


def test_windings_and_distances_agree_with_a_box():
    vertices, faces = Box((1.0, 2.0, 3.0)).surface()
    points = np.random.default_rng(0).uniform(-2.0, 2.0, (500, 3))
    beyond = np.abs(points) - [0.5, 1.0, 1.5]
    inside = (beyond < 0.0).all(axis=1)
    np.testing.assert_allclose(windings(points, vertices[faces]), inside, atol=1e-12)
    outside_distance = np.linalg.norm(np.maximum(beyond, 0.0), axis=1)
    expected = np.where(inside, -beyond.max(axis=1), outside_distance)
    np.testing.assert_allclose(distances(points, vertices[faces]), expected, atol=1e-14)
    sphere = trimesh.creation.icosphere(subdivisions=2)
    np.testing.assert_allclose(windings(np.zeros((1, 3)), np.array(sphere.triangles)), 1.0, rtol=1e-12)
