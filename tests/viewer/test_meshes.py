import numpy as np
import pytest

from carom.viewer.meshes import mesh_of_surface, unit_arrow, unit_sphere


def volume(mesh):
    a, b, c = mesh.positions.astype(float).reshape(-1, 3, 3).transpose(1, 0, 2)
    return np.einsum("fi,fi->", a, np.cross(b, c)) / 6


def test_sphere_is_round_and_outward():
    mesh = unit_sphere(3)
    assert len(mesh.positions) == 3 * 20 * 4**3
    np.testing.assert_allclose(np.linalg.norm(mesh.positions, axis=1), 1, atol=1e-6)
    assert 0.98 * 4 / 3 * np.pi < volume(mesh) < 4 / 3 * np.pi


def test_box_is_flat(fakes):
    mesh = mesh_of_surface(*fakes.Box((1, 2, 3)).surface())
    assert not mesh.is_round
    np.testing.assert_allclose(np.abs(mesh.normals).max(axis=1), 1, atol=1e-6)
    assert volume(mesh) == pytest.approx(6)


def test_cylinder_is_smooth_around_and_sharp_at_its_rim(fakes):
    mesh = mesh_of_surface(*fakes.Cylinder(0.5, 2.0).surface())
    assert mesh.is_round
    on_side = np.abs(mesh.normals[:, 2]) < 0.5
    np.testing.assert_allclose(mesh.normals[~on_side], np.sign(mesh.normals[~on_side]) * [0, 0, 1], atol=1e-6)
    radial = mesh.positions[on_side, :2] / 0.5
    np.testing.assert_allclose(mesh.normals[on_side, :2], radial, atol=0.01)


def test_an_inside_out_surface_is_turned(fakes):
    vertices, faces = fakes.Box((1, 1, 1)).surface()
    assert volume(mesh_of_surface(vertices, faces[:, ::-1])) == pytest.approx(1)


def test_faces_without_area_and_separate_vertices_do_no_harm(fakes):
    vertices, faces = fakes.Cylinder(0.5, 2.0).surface()
    split = mesh_of_surface(vertices[faces].reshape(-1, 3), np.arange(faces.size).reshape(-1, 3))
    np.testing.assert_allclose(split.normals, mesh_of_surface(vertices, faces).normals, atol=1e-6)
    whole = mesh_of_surface(vertices, np.concatenate([faces, [[0, 0, 1]]]))
    assert len(whole.positions) == faces.size
    assert np.isfinite(whole.normals).all()


def test_arrow_has_length_one():
    mesh = unit_arrow()
    assert mesh.positions[:, 2].max() == 1
    assert mesh.positions[:, 2].min() == 0
    assert np.isfinite(mesh.normals).all()
