"""Real mesh files, formats, encodings, and files that are not meshes."""

import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import trimesh

from carom.bodies import ConvexMesh, FileFormatError, Mesh, load_mesh

MESHES = Path(__file__).resolve().parents[3] / "shared" / "data" / "meshes"
FILES = sorted(MESHES.glob("*.*")) if MESHES.is_dir() else []
OPEN = {"bunny.ply", "monkey.glb", "notenoughindices.obj", "soup.stl", "teapot.stl"}

needs_meshes = pytest.mark.skipif(
    not FILES, reason="the folder ../shared/data/meshes is not beside this checkout"
)


@needs_meshes
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_real_file_loads_or_is_refused_in_one_sentence(path, capfd):
    if path.name == "empty.stl":
        with pytest.raises(FileFormatError, match="holds no faces"):
            load_mesh(path)
        return
    vertices, faces = load_mesh(path)
    assert vertices.shape[1] == faces.shape[1] == 3
    assert faces.max() < len(vertices)
    assert np.isfinite(vertices).all()
    if path.name == "notenoughindices.obj":
        with pytest.raises(ValueError, match="is flat: its points lie in a plane"):
            ConvexMesh(path)
    else:
        hull = ConvexMesh(path)
        assert hull.volume == pytest.approx(trimesh.convex.convex_hull(vertices).volume, rel=1e-6)
        polygons, normals = hull.faces()
        heights = hull.vertices @ normals.T
        supports = np.array(
            [normal @ hull.vertices[polygon[0]] for polygon, normal in zip(polygons, normals, strict=True)]
        )
        assert (heights - supports).max() < 1e-8 * hull.bounding_radius
    if path.name in OPEN:
        with pytest.raises(ValueError, match=r"is open: .* ConvexMesh"):
            Mesh(path)
    else:
        mesh = Mesh(path)
        reference = trimesh.Trimesh(vertices, faces, process=False)
        assert mesh.volume == pytest.approx(reference.volume, rel=1e-9)
        np.testing.assert_allclose(
            mesh.unit_mass_inertia(),
            reference.moment_inertia / reference.volume,
            atol=1e-7 * mesh.bounding_radius**2,
        )
    assert capfd.readouterr() == ("", "")


@needs_meshes
@pytest.mark.parametrize("name", ["unit_cube.STL", "nancolor.obj", "20mm-xyz-cube.stl"])
def test_hulls_of_real_cubes_have_six_faces_and_eight_corners(name):
    hull = ConvexMesh(MESHES / name)
    assert (len(hull.vertices), len(hull.polygons)) == (8, 6)


@needs_meshes
def test_materials_are_not_needed():
    script = (
        "import sys\n"
        "for name in ('PIL', 'charset_normalizer', 'chardet', 'networkx', 'lxml'): sys.modules[name] = None\n"
        "from pathlib import Path\n"
        "from carom.bodies import load_mesh\n"
        "for name in ('wallhole.obj', 'monkey.glb', 'bunny.ply', 'ballA.off', 'unit_cube.STL'):\n"
        "    load_mesh(Path(sys.argv[1]) / name)\n"
    )
    path = [sys.executable, "-W", "error::RuntimeWarning", "-c", script, str(MESHES)]
    links = Path(__file__).resolve().parents[2] / ".links"
    subprocess.run(path, check=True, cwd=links, timeout=120)


def box_in(folder: Path, ending: str) -> Path:
    path = folder / f"box.{ending}"
    trimesh.creation.box((1.0, 2.0, 3.0)).export(path)
    return path


@pytest.mark.parametrize("ending", ["stl", "obj", "ply", "off", "glb", "STL"])
def test_formats(ending, tmp_path):
    mesh = Mesh(box_in(tmp_path, ending))
    assert mesh.volume == pytest.approx(6.0, rel=1e-6)
    assert len(mesh.vertices) == 8


@pytest.mark.parametrize("ending", ["glb", "gltf"])
def test_scene_files_place_every_part(ending, tmp_path):
    scene = trimesh.Scene()
    box = trimesh.creation.box((1.0, 2.0, 3.0))
    mirrored = np.diag([1.0, -1.0, 1.0, 1.0])
    mirrored[0, 3] = -5.0
    scene.add_geometry(box)
    scene.add_geometry(box, transform=trimesh.transformations.translation_matrix((5, 0, 0)))
    scene.add_geometry(box, transform=mirrored)
    if ending == "glb":
        scene.export(tmp_path / "model.glb")
    else:
        for name, content in scene.export(None, file_type="gltf").items():
            (tmp_path / name).write_bytes(content)
    mesh = Mesh(tmp_path / f"model.{ending}")
    assert mesh.volume == pytest.approx(18.0, rel=1e-6)
    assert np.ptp(mesh.vertices[:, 0]) == pytest.approx(11.0, rel=1e-6)


def test_comments_in_other_encodings(tmp_path):
    comment = "Würfel".encode("latin-1")
    path = box_in(tmp_path, "obj")
    path.write_bytes(b"# " + comment + b"\n" + path.read_bytes())
    assert Mesh(path).volume == pytest.approx(6.0)
    text = trimesh.creation.box((1.0, 2.0, 3.0)).export(file_type="stl_ascii").encode()
    path = tmp_path / "text.stl"
    path.write_bytes(text.replace(b"solid", b"solid " + comment, 1))
    assert Mesh(path).volume == pytest.approx(6.0)
    path = box_in(tmp_path, "ply")
    path.write_bytes(path.read_bytes().replace(b"\nelement", b"\ncomment " + comment + b"\nelement", 1))
    assert Mesh(path).volume == pytest.approx(6.0)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("poem.stl", b"hello\nworld\n", "holds no faces, or is no STL file"),
        ("poem.obj", b"hello\nworld\n", "holds no faces, or is no OBJ file"),
        ("poem.ply", b"hello\nworld\n", "is not a valid PLY file"),
        ("poem.off", b"hello\nworld\n", "is not a valid OFF file"),
        ("poem.glb", b"hello\nworld\n", "is not a valid GLB file"),
        ("poem.gltf", b"hello\nworld\n", "is not a valid GLTF file"),
        ("nothing.obj", b"", "holds no faces"),
        ("shape.step", b"ISO-10303-21;", r"unknown ending '.step'; known mesh formats are .stl"),
        ("nan.obj", b"v 0 0 nan\nv 1 0 0\nv 0 1 0\nf 1 2 3\n", "has vertices that are NaN or infinite"),
        ("index.obj", b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 9\n", "is not a valid OBJ file"),
        ("line.obj", b"v 0 0 0\nv 1 0 0\nv 1 0 0\nf 1 2 3\n", "has only faces without area"),
        ("evil.glb", b"\x80\x04cposix\nsystem\n.", "is not a valid GLB file"),
    ],
)
def test_files_that_are_no_meshes(name, content, message, tmp_path, capfd):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(FileFormatError, match=message) as caught:
        load_mesh(path)
    assert caught.value.path == path
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)
    assert capfd.readouterr() == ("", "")


def test_missing_files_and_folders(tmp_path):
    with pytest.raises(FileFormatError, match="no such file"):
        ConvexMesh(tmp_path / "missing.stl")
    with pytest.raises(FileFormatError, match="is a folder"):
        load_mesh(tmp_path)
    with pytest.raises(TypeError, match="path: expected a file's path, got int"):
        load_mesh(3)  # type: ignore[arg-type]


def test_damaged_files_never_raise_anything_else(tmp_path):
    random = np.random.default_rng(0)
    for ending in ("stl", "obj", "ply", "off", "glb"):
        content = box_in(tmp_path, ending).read_bytes()
        path = tmp_path / f"damaged.{ending}"
        for _ in range(40):
            damaged = bytearray(content[: random.integers(1, len(content) + 1)])
            for place in random.integers(0, len(damaged), size=4):
                damaged[place] = random.integers(256)
            path.write_bytes(damaged)
            try:
                load_mesh(path)
            except FileFormatError as error:
                assert "charset_normalizer" not in str(error)  # noqa: PT017


def test_error_survives_pickling_between_processes():
    error = pickle.loads(pickle.dumps(FileFormatError("a.stl", "is odd")))
    assert (error.path, error.reason, str(error)) == ("a.stl", "is odd", "a.stl: is odd")
