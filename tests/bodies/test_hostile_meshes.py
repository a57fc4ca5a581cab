"""Mesh files that mean harm, or that a reader takes for something else: each found case, read right or refused."""

import json
import os
import struct
import time

import numpy as np
import pytest

import carom
from carom.bodies import load_mesh
from carom.bodies.files import read_bytes

POINTS = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], dtype="<f4")
FACES = np.array([0, 2, 1, 0, 1, 3, 1, 2, 3, 0, 3, 2], dtype="<u2")
BINARY = POINTS.tobytes() + FACES.tobytes()
VERTICES = b"v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\n"
VIEWS = [{"buffer": 0, "byteLength": 48}, {"buffer": 0, "byteOffset": 48, "byteLength": 24}]
POSITIONS = {"bufferView": 0, "componentType": 5126, "count": 4, "type": "VEC3"}
CORNERS = {"bufferView": 1, "componentType": 5123, "count": 12, "type": "SCALAR"}
PART = {"attributes": {"POSITION": 0}, "indices": 1}


def gltf(folder, **changes):
    """A tetrahedron as a .gltf with its buffer beside it, and some parts replaced."""
    (folder / "beside.bin").write_bytes(BINARY)
    document = {
        "asset": {"version": "2.0"},
        "scenes": [{"nodes": [0]}],
        "nodes": [{"mesh": 0}],
        "meshes": [{"primitives": [PART]}],
        "accessors": [POSITIONS, CORNERS],
        "bufferViews": VIEWS,
        "buffers": [{"byteLength": 72, "uri": "beside.bin"}],
    }
    path = folder / "model.gltf"
    path.write_text(json.dumps(document | changes))
    return path


def obj(folder, text):
    path = folder / "model.obj"
    path.write_bytes(text)
    return path


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"nodes": [{"mesh": 0, "children": [1]}, {"children": [0]}]}, "go round in a circle"),
        ({"nodes": [{"mesh": 0, "children": [0]}]}, "go round in a circle"),
        ({"scenes": [], "nodes": [{"mesh": 0, "children": [1]}, {"children": [0]}]}, "go round in a circle"),
        ({"nodes": [{"children": [2]}, {"children": [2]}, {"mesh": 0}]}, "two parents"),
        ({"scenes": [{"nodes": [0, 0]}]}, "names a node twice"),
        ({"nodes": [{"mesh": 0, "matrix": [float("nan")] * 16}]}, "expected 16 finite numbers"),
        ({"nodes": [{"mesh": 0, "matrix": [1e300] * 15 + [1]}]}, "last row"),
        ({"nodes": [{"mesh": 0, "scale": [1e300, 1, 1]}]}, r"coordinate of 1e\+300, beyond the largest"),
        ({"nodes": [{"mesh": 0, "scale": [1e300] * 3, "children": [1]}, {"scale": [1e300] * 3}]}, "not finite"),
        ({"nodes": [{"mesh": 0, "rotation": [0, 0, 0, 0]}]}, "rotation without direction"),
        ({"extensionsRequired": ["KHR_draco_mesh_compression"]}, "requires .* KHR_draco_mesh_compression"),
        ({"extensionsRequired": ["KHR_mesh_quantization"]}, "requires .* KHR_mesh_quantization"),
        ({"accessors": [POSITIONS | {"count": 10**10}, CORNERS]}, "more than its buffer view holds"),
        ({"accessors": [{"componentType": 5126, "type": "VEC3", "count": 10**12}, CORNERS]}, "does not hold"),
        ({"accessors": [POSITIONS, CORNERS | {"componentType": [5123]}]}, "component type"),
        ({"accessors": [POSITIONS, CORNERS | {"count": 11}]}, "three corners a triangle"),
        ({"bufferViews": [VIEWS[0] | {"byteStride": 4}, VIEWS[1]]}, "more than its buffer view holds"),
        ({"bufferViews": [VIEWS[0] | {"byteLength": 2**40}, VIEWS[1]]}, "byteLength"),
        ({"buffers": [{"byteLength": 73, "uri": "beside.bin"}]}, "expected 73 bytes, got 72"),
        ({"buffers": [{"byteLength": 72, "uri": "../beside.bin"}]}, "only files in its own folder"),
        ({"buffers": [{"byteLength": 72, "uri": "/etc/passwd"}]}, "only files in its own folder"),
        ({"buffers": [{"byteLength": 72, "uri": "%2e%2e/beside.bin"}]}, "only files in its own folder"),
        ({"buffers": [{"byteLength": 72, "uri": "http://example.org/x.bin"}]}, "only files in its own folder"),
        ({"buffers": [{"byteLength": 72, "uri": "file:///etc/passwd"}]}, "only files in its own folder"),
        ({"buffers": [{"byteLength": 72, "uri": "."}]}, "is a folder"),
        ({"buffers": [{"byteLength": 72, "uri": "data:application/octet-stream;base64,??"}]}, "not base64"),
        ({"buffers": [{"byteLength": 72}]}, "no URI"),
    ],
)  # fmt: skip
def test_gltf_files_that_no_reader_should_follow(changes, words, tmp_path):
    with pytest.raises(carom.FileFormatError, match=words) as caught:
        load_mesh(gltf(tmp_path, **changes))
    assert "\n" not in str(caught.value)


def test_positions_that_only_an_extension_knows_are_refused_by_its_name(tmp_path):
    part = PART | {
        "extensions": {"KHR_draco_mesh_compression": {"bufferView": 0, "attributes": {"POSITION": 0}}}
    }
    accessor = {"componentType": 5126, "count": 4, "type": "VEC3"}
    path = gltf(tmp_path, meshes=[{"primitives": [part]}], accessors=[accessor, CORNERS])
    with pytest.raises(carom.FileFormatError, match="in the extension KHR_draco_mesh_compression"):
        load_mesh(path)


def test_sparse_values_are_put_in_place(tmp_path):
    """Vertices 1 and 3 are moved; without a buffer view the others are zero."""
    moved = np.array([[5, 0, 0], [0, 0, 7]], dtype="<f4")
    (tmp_path / "sparse.bin").write_bytes(np.array([1, 3], dtype="<u2").tobytes() + moved.tobytes())
    sparse = {
        "count": 2,
        "indices": {"bufferView": 2, "componentType": 5123},
        "values": {"bufferView": 3},
    }
    others = {
        "buffers": [{"byteLength": 72, "uri": "beside.bin"}, {"byteLength": 28, "uri": "sparse.bin"}],
        "bufferViews": [
            *VIEWS,
            {"buffer": 1, "byteLength": 4},
            {"buffer": 1, "byteOffset": 4, "byteLength": 24},
        ],
    }
    vertices, triangles = load_mesh(
        gltf(tmp_path, accessors=[POSITIONS | {"sparse": sparse}, CORNERS], **others)
    )
    assert sorted(vertices.tolist()) == [[0, 0, 0], [0, 0, 7], [0, 1, 0], [5, 0, 0]]
    assert len(triangles) == 4
    zeros = {key: value for key, value in POSITIONS.items() if key != "bufferView"} | {"sparse": sparse}
    vertices, _ = load_mesh(gltf(tmp_path, accessors=[zeros, CORNERS], **others))
    assert vertices.tolist() == [[0, 0, 0], [0, 0, 7], [5, 0, 0]]
    for wrong in (
        {"count": 5},
        {"count": 2, "indices": {"bufferView": 3, "componentType": 5123}},
        {"values": 3},
    ):
        path = gltf(tmp_path, accessors=[POSITIONS | {"sparse": sparse | wrong}, CORNERS], **others)
        with pytest.raises(carom.FileFormatError, match="is not a valid GLTF file"):
            load_mesh(path)


@pytest.mark.parametrize(("mode", "corners"), [(5, [0, 1, 2, 3]), (6, [0, 1, 2, 3])])
def test_strips_and_fans_keep_their_sense(mode, corners, tmp_path):
    """A square in the plane z = 0 that is seen counter-clockwise from above."""
    square = {
        5: [(0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 1, 0)],
        6: [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0)],
    }[mode]
    (tmp_path / "square.bin").write_bytes(
        np.array(square, dtype="<f4").tobytes() + np.array(corners, dtype="u1").tobytes()
    )
    path = gltf(
        tmp_path,
        buffers=[{"byteLength": 52, "uri": "square.bin"}],
        bufferViews=[{"buffer": 0, "byteLength": 48}, {"buffer": 0, "byteOffset": 48, "byteLength": 4}],
        accessors=[POSITIONS, {"bufferView": 1, "componentType": 5121, "count": 4, "type": "SCALAR"}],
        meshes=[{"primitives": [PART | {"mode": mode}]}],
    )
    vertices, triangles = load_mesh(path)
    areas = [np.cross(*(vertices[t[1:]] - vertices[t[0]])).tolist() for t in triangles]
    assert areas == [[0, 0, 1], [0, 0, 1]]


def test_a_mesh_that_many_nodes_name_counts_often(tmp_path):
    nodes = [{"mesh": 0, "translation": [2 * k, 0, 0]} for k in range(300)]
    path = gltf(tmp_path, nodes=nodes, scenes=[{"nodes": list(range(300))}])
    assert len(load_mesh(path)[1]) == 1200
    with pytest.raises(carom.FileFormatError, match="raise size_limit"):
        load_mesh(path, size_limit=16_500)


def test_buffers_beside_a_file_count_towards_its_limit(tmp_path):
    path = gltf(tmp_path)
    (tmp_path / "beside.bin").write_bytes(bytes(10_000))
    with pytest.raises(
        carom.FileFormatError, match=r"beside\.bin: has 10000 bytes, more than the size limit"
    ):
        load_mesh(path, size_limit=9_999)


def test_obj_faces_count_back_from_where_they_stand(tmp_path):
    """trimesh counts back from the end of the file: the first triangle was the second one, twice."""
    text = b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf -3 -2 -1\nv 5 0 0\nv 6 0 0\nv 5 1 0\nf -3/1/-1 \\\n-2//1 -1\n"
    vertices, triangles = load_mesh(obj(tmp_path, text))
    assert vertices.tolist() == [[0, 0, 0], [0, 1, 0], [1, 0, 0], [5, 0, 0], [5, 1, 0], [6, 0, 0]]
    assert triangles.tolist() == [[0, 2, 1], [3, 5, 4]]


@pytest.mark.parametrize(
    ("face", "words"),
    [
        (b"f 0 2 3", "vertex 0, after 4 vertices"),
        (b"f 1 2/1 00/1", "vertex 0, after 4"),
        (b"f 1 -9 3", "vertex -9, after 4"),
        (b"f\t1 -0\t3", "vertex 0, after 4"),
        (b"v 1 2\nf 1 2 3", "not three numbers|not a valid OBJ"),
        (b"v 1e200 0 0\nf 1 2 5", r"coordinate of 1e\+200"),
    ],
)
def test_obj_files_with_vertices_that_there_are_not(face, words, tmp_path):
    with pytest.raises(carom.FileFormatError, match=words):
        load_mesh(obj(tmp_path, VERTICES + face + b"\n"))
    flat = b"v 0 0\nv 1 0\nv 0 1\nf 1 2 3\n"
    with pytest.raises(carom.FileFormatError, match="not three numbers"):
        load_mesh(obj(tmp_path, flat))


def test_only_regular_files_are_opened(tmp_path):
    pipe = tmp_path / "pipe.obj"
    os.mkfifo(pipe)
    with pytest.raises(carom.FileFormatError, match=r"pipe\.obj: is not a regular file"):
        load_mesh(pipe)  # would wait for ever for somebody who writes
    device = tmp_path / "device.stl"
    device.symlink_to("/dev/zero")
    with pytest.raises(carom.FileFormatError, match="is not a regular file"):
        load_mesh(device)
    with pytest.raises(carom.FileFormatError, match="is a folder, not a mesh file"):
        read_bytes(tmp_path, 5, "a mesh file")
    with pytest.raises(carom.FileFormatError, match=r"cannot be read|no such file"):
        load_mesh("nul\x00.stl")


def test_sizes_are_limited_before_anything_is_read(tmp_path):
    path = tmp_path / "hole.stl"
    count = 40_000_000
    with path.open("wb") as file:
        file.write(bytes(80) + struct.pack("<I", count))
        file.truncate(84 + 50 * count)  # 2 GB, all of it a hole
    with pytest.raises(
        carom.FileFormatError, match="has 2000000084 bytes, more than the size limit of 268435456"
    ):
        load_mesh(path)
    small = obj(tmp_path, VERTICES + b"f 1 3 2\nf 1 2 4\nf 2 3 4\nf 1 4 3\n")
    size = small.stat().st_size
    for shape in (carom.Mesh, carom.ConvexMesh):
        assert shape(small, size_limit=size).volume == pytest.approx(1 / 6)
        with pytest.raises(carom.FileFormatError, match="size limit"):
            shape(small, size_limit=size - 1)
    for wrong, error in ((-1, ValueError), (1.5, TypeError), (float("nan"), TypeError)):
        with pytest.raises(error, match="size_limit: expected a whole number"):
            load_mesh(small, size_limit=wrong)


def test_meshes_that_have_no_size_to_speak_of():
    far = [(0, 0, 0), (1e200, 0, 0), (0, 1e200, 0), (0, 0, 1e200)]
    faces = [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)]
    for make in (lambda: carom.Mesh((far, faces)), lambda: carom.ConvexMesh(far)):
        with pytest.raises(ValueError, match=r"vertices: expected numbers of at most 1e\+30, got 1e\+200"):
            make()
    needle = [(0, 0, 0), (1e-9, 0, 0), (0, 0, 1.0)]
    with pytest.raises(ValueError, match="got slivers"):
        carom.Mesh((needle, [(0, 1, 2)]), mass_properties=carom.MassProperties(1.0, np.eye(3), (0, 0, 0)))


def test_text_with_a_mark_of_its_encoding_keeps_its_first_vertex(tmp_path):
    """Saved: behind the mark the first line was none of OBJ's, and faces had the corners of others."""
    faces = b"f 1 3 2\nf 1 2 4\nf 2 3 4\nf 1 4 3\n"
    for mark in (b"", b"\xef\xbb\xbf"):
        vertices, _ = load_mesh(obj(tmp_path, mark + VERTICES + b"v 9 9 9\n" + faces))
        assert vertices.max() == 1.0


@pytest.mark.parametrize("ending", ["obj", "off"])
def test_text_that_is_none_is_refused(ending, tmp_path):
    """Saved: a zero byte made a line one that the parser does not know, and its face was missing."""
    path = tmp_path / f"mesh.{ending}"
    path.write_bytes(VERTICES + b"\0f 1 3 2\n")
    with pytest.raises(carom.FileFormatError, match="holds a zero byte"):
        load_mesh(path)


def test_names_of_parts_take_no_time(tmp_path):
    """Saved: thousands of parts and materials took the square of their number."""
    named = b"".join(b"g a%d\n o b%d\r\nusemtl c%d\nf 1 3 2\ns\n" % (k, k, k) for k in range(20_000))
    begin = time.perf_counter()
    vertices, triangles = load_mesh(obj(tmp_path, VERTICES + named + b"f 1 2 4\nf 2 3 4\nf 1 4 3\n"))
    assert time.perf_counter() - begin < 4.0
    assert (len(vertices), len(triangles)) == (4, 4)
