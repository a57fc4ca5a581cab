"""Where a mesh's mass comes from, and which surfaces enclose a solid."""

import numpy as np
import pytest

from carom.bodies import Body, Box, ConvexMesh, FileFormatError, MassProperties, Mesh, load_mesh

VERTICES, FACES = Box((1.0, 2.0, 3.0)).surface()
OFFSET = np.array([5.0, -7.0, 11.0])
GIVEN = MassProperties(2.0, np.diag([1.0, 1.0, 1.5]), (0.1, 0.0, 0.0))


def joined(*parts):
    """Meshes (vertices, faces) as one."""
    starts = np.cumsum([0] + [len(vertices) for vertices, _ in parts])
    return (
        np.concatenate([vertices for vertices, _ in parts]),
        np.concatenate([faces + start for (_, faces), start in zip(parts, starts, strict=False)]),
    )


def test_open_box_has_the_mass_of_its_hull_and_its_own_triangles():
    mesh = Mesh((VERTICES + OFFSET, FACES[2:]), mass_from="hull")
    assert (mesh.mass_from, mesh.closed) == ("hull", False)
    assert len(mesh.triangles) == len(FACES) - 2
    assert mesh.volume == pytest.approx(6.0, rel=1e-13)
    np.testing.assert_allclose(mesh.center_of_mass, OFFSET, atol=1e-13)
    np.testing.assert_allclose(np.abs(mesh.vertices), np.tile([0.5, 1.0, 1.5], (8, 1)), rtol=1e-13)
    np.testing.assert_allclose(mesh.unit_mass_inertia(), Box((1.0, 2.0, 3.0)).unit_mass_inertia(), atol=1e-13)
    body = Body(mesh, density=500.0)
    assert body.mass == pytest.approx(3000.0, rel=1e-13)
    with pytest.raises(TypeError, match="has no convex core"):
        mesh.core()


def test_hull_of_a_solid_that_is_not_convex_weighs_more():
    outer, small = Box((2.0, 2.0, 2.0)).surface()[0], 0.5 * Box((2.0, 2.0, 2.0)).surface()[0]
    faces = Box((2.0, 2.0, 2.0)).surface()[1]
    shell = joined((outer + OFFSET, faces), (small + OFFSET + 0.25, faces[:, ::-1]))
    own, from_hull = Mesh(shell), Mesh(shell, mass_from="hull")
    assert own.closed
    assert from_hull.closed
    assert (own.mass_from, from_hull.mass_from) == ("surface", "hull")
    assert own.volume == pytest.approx(7.0, rel=1e-13)
    assert from_hull.volume == pytest.approx(8.0, rel=1e-13)
    np.testing.assert_allclose(own.center_of_mass, OFFSET - 0.25 / 7.0, atol=1e-13)
    np.testing.assert_allclose(from_hull.center_of_mass, OFFSET, atol=1e-13)
    assert own != from_hull
    assert own == Mesh(shell, mass_from="surface")


@pytest.mark.parametrize("winding", [1, -1])
def test_hull_gives_mass_to_surfaces_wound_in_any_way(winding):
    mesh = Mesh((VERTICES, FACES[:, ::winding]), mass_from="hull")
    assert mesh.closed is (winding == 1)
    assert mesh.volume == pytest.approx(6.0, rel=1e-13)
    assert Mesh((VERTICES, FACES[:, ::winding]), GIVEN).closed is (winding == 1)


@pytest.mark.parametrize("part", [slice(None), slice(2, None)])
def test_restored_is_the_same_mesh_bit_for_bit(part):
    random = np.random.default_rng(1)
    vertices = VERTICES + random.normal(scale=0.1, size=(8, 3))
    mesh = Mesh((vertices, FACES[part]), mass_from="hull")
    again = Mesh.restored(
        mesh.vertices, mesh.triangles, mesh.center_of_mass, from_hull=mesh.hull_mass_properties
    )
    assert again == mesh
    assert hash(again) == hash(mesh)
    assert (again.mass_from, again.volume, again.closed) == (mesh.mass_from, mesh.volume, mesh.closed)
    assert again.unit_mass_inertia().tobytes() == mesh.unit_mass_inertia().tobytes()
    with pytest.raises(ValueError, match="given, from_hull: expected at most one of the two, got both"):
        Mesh.restored(
            mesh.vertices, mesh.triangles, mesh.center_of_mass, GIVEN, from_hull=mesh.hull_mass_properties
        )
    if part.start:
        with pytest.raises(ValueError, match="mesh is open"):
            Mesh.restored(mesh.vertices, mesh.triangles, mesh.center_of_mass)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"mass_from": "volume"}, "mass_from: expected 'surface' or 'hull', got 'volume'"),
        ({"mass_from": 3}, "mass_from: expected 'surface' or 'hull', got 3"),
        ({"mass_from": "hull", "mass_properties": GIVEN}, "mass_from, mass_properties: .* got both"),
        ({"mass_from": "surface", "mass_properties": GIVEN}, "mass_from, mass_properties: .* got both"),
        ({"mass_from": "surface"}, "mesh is open: 4 of its edges .* ConvexMesh .* mass_from='hull'"),
    ],
)
def test_bad_sources_of_mass_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message) as caught:
        Mesh((VERTICES, FACES[2:]), **arguments)
    assert "\n" not in str(caught.value)


def test_hulls_without_volume_are_refused():
    sheet = (np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]]), np.array([[0, 1, 2], [2, 1, 3]]))
    with pytest.raises(
        ValueError, match="mass_from: expected a mesh whose convex hull has a volume, but mesh"
    ):
        Mesh(sheet, mass_from="hull")
    two_sided = (sheet[0], np.concatenate([sheet[1], sheet[1][:, ::-1]]))
    with pytest.raises(ValueError, match="is inside out or has no volume"):
        Mesh(two_sided)


def test_part_that_is_inside_out_is_refused_unless_it_is_a_cavity():
    aside = joined((VERTICES, FACES), (0.5 * VERTICES + OFFSET, FACES[:, ::-1]))
    with pytest.raises(ValueError, match=r"has a part that is inside out \(signed volume -0.75\)"):
        Mesh(aside)
    assert not Mesh(aside, mass_from="hull").closed
    cavity = joined((0.5 * VERTICES, FACES[:, ::-1]), (VERTICES, FACES))
    assert Mesh(cavity).volume == pytest.approx(5.25, rel=1e-13)
    touching = joined((VERTICES, FACES), (0.5 * VERTICES + (0.25, 0.0, 0.0), FACES[:, ::-1]))
    assert Mesh(touching).volume == pytest.approx(5.25, rel=1e-13)
    kernel = joined((VERTICES, FACES), (0.5 * VERTICES, FACES[:, ::-1]), (0.1 * VERTICES, FACES))
    assert Mesh(kernel).volume == pytest.approx(5.256, rel=1e-13)


def test_repeated_faces_count_once():
    repeated = np.concatenate([FACES, np.roll(FACES, 1, axis=1), FACES[:3]])
    mesh = Mesh((VERTICES, repeated))
    assert mesh == Mesh((VERTICES, FACES))
    assert mesh.volume == pytest.approx(6.0, rel=1e-13)


def test_face_without_area_closes_a_seam_of_two_against_one():
    """A box with a vertex in the middle of an edge of one side only: a flat triangle fills the seam."""
    start, end = FACES[0, 0], FACES[0, 1]
    vertices = np.concatenate([VERTICES, [(VERTICES[start] + VERTICES[end]) / 2.0]])
    rest = FACES[0, 2]
    halves = [[start, 8, rest], [8, end, rest]]
    open_seam = np.concatenate([halves, FACES[1:]])
    with pytest.raises(ValueError, match="mesh is open: 3 of its edges"):
        Mesh((vertices, open_seam))
    mesh = Mesh((vertices, np.concatenate([open_seam, [[start, end, 8]]])))
    assert mesh.closed
    assert len(mesh.triangles) == 14
    assert mesh.volume == pytest.approx(6.0, rel=1e-13)


def test_faces_whose_corners_all_coincide_are_no_mesh(tmp_path):
    for mass_from in ("surface", "hull"):
        with pytest.raises(
            ValueError, match="faces: expected one at least whose three corners differ, got none"
        ):
            Mesh((np.zeros((3, 3)), [[0, 1, 2]]), mass_from=mass_from)
    (tmp_path / "open.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 2 3\nf 1 2 4\nf 1 2 4\n")
    vertices, faces = load_mesh(tmp_path / "open.obj")
    assert len(faces) == 2
    mesh = Mesh(tmp_path / "open.obj", mass_from="hull")
    assert mesh.volume == pytest.approx(ConvexMesh(vertices).volume, rel=1e-14)
    with pytest.raises(ValueError, match=r"open\.obj is open: 4 of its edges"):
        Mesh(tmp_path / "open.obj")
    with pytest.raises(FileFormatError, match="no such file"):
        Mesh(tmp_path / "missing.obj", mass_from="hull")


@pytest.mark.parametrize("seed", range(5))
def test_mass_from_a_hull_is_that_of_the_convex_mesh(seed):
    random = np.random.default_rng(seed)
    points = random.normal(size=(60, 3)) * (1.0, 2.0, 0.1) + OFFSET
    faces = np.array([random.choice(60, 3, replace=False) for _ in range(300)])
    mesh, hull = Mesh((points, faces), mass_from="hull"), ConvexMesh(points[np.unique(faces)])
    assert mesh.volume == pytest.approx(hull.volume, rel=1e-12)
    np.testing.assert_allclose(mesh.center_of_mass, hull.center_of_mass, rtol=1e-13)
    np.testing.assert_allclose(mesh.unit_mass_inertia(), hull.unit_mass_inertia(), atol=1e-11)
