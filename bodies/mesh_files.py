"""Geometry from mesh files. Nothing in a file is executed or fetched; materials and textures are never read."""

import codecs
import hashlib
import io
import logging
import re
import warnings
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from . import checks
from .files import FileFormatError, file_beside, read_bytes
from .gltf_geometry import gltf_triangles, is_whole
from .tolerances import LARGEST_COORDINATE, LARGEST_MESH_FILE, MERGE_DISTANCE

FORMATS = ("stl", "obj", "ply", "off", "glb", "gltf")
_VERTEX, _FACE = re.compile(rb"[^\S\n]*v\s"), re.compile(rb"[^\S\n]*f\s")
_UNUSUAL_FACE = re.compile(rb"(?m)^[^\S\n]*f[^\S\n][^\n]*[^\S\n][-+0]|^[^\S\n]*f[^\S\n]+[-+0]")
"""Maybe of an OBJ file, with a vertex of number 0, or counted back from the last."""
_PARTS = re.compile(rb"(?m)^[^\S\n]*(?:g|o|s|usemtl|mtllib)(?:[^\S\n][^\n]*)?$")
"""Names of parts and materials in an OBJ file. All are joined, and the square of their number would count."""

# Without a handler of its own, the logger of trimesh would print warnings to standard error.
logging.getLogger("trimesh").addHandler(logging.NullHandler())


def load_mesh(path: str | Path, *, size_limit: int = LARGEST_MESH_FILE) -> tuple[np.ndarray, np.ndarray]:
    """Vertices (V, 3) in the file's own unit and triangles (F, 3) of a mesh file.

    All parts of a scene are placed by their transforms and joined; vertices at one position are one vertex,
    triangles that collapse by this are dropped, and a triangle that is there twice is kept once. Formats:
    STL, OBJ, PLY, OFF, GLB, GLTF, told by the file's ending.

    size_limit : bytes that the file may have, with the buffers beside a .gltf; by default 2^28

    Nothing of a file is executed and nothing is fetched. Raises FileFormatError for what is no regular file, larger
    than the limit, malformed, or needs what carom does not read.

    >>> import carom, pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "corner.obj"
    ...     _ = path.write_text("v 0 0 0\\nv 1 0 0\\nv 0 1 0\\nf -3 -2 -1\\n")
    ...     vertices, triangles = carom.bodies.load_mesh(path, size_limit=1000)
    >>> vertices.shape, triangles.shape
    ((3, 3), (1, 3))
    """
    if not isinstance(path, str | PathLike):
        raise TypeError(f"path: expected a file's path, got {type(path).__name__}")
    path = Path(path)
    ending = path.suffix.lower().lstrip(".")
    _refuse_missing(path)
    if ending not in FORMATS:
        known = ", ".join(f".{name}" for name in FORMATS)
        raise FileFormatError(path, f"unknown ending {path.suffix!r}; known mesh formats are {known}")
    content = read_bytes(path, size_limit, "a mesh file")
    if ending in ("glb", "gltf"):
        vertices, faces = gltf_triangles(path, content, size_limit)
    else:
        vertices, faces = _parse(path, ending, content)
    if len(faces) == 0:
        raise FileFormatError(path, f"holds no faces, or is no {ending.upper()} file")
    if faces.min() < 0 or faces.max() >= len(vertices):
        raise FileFormatError(path, "has faces that name vertices it does not hold")
    used = vertices[np.unique(faces)]
    if not np.isfinite(used).all():
        raise FileFormatError(path, "has vertices that are NaN or infinite")
    largest = float(np.abs(used).max())
    if largest > LARGEST_COORDINATE:
        raise FileFormatError(
            path, f"has a coordinate of {largest:.3g}, beyond the largest of {LARGEST_COORDINATE:g}"
        )
    vertices, faces = merge_vertices(vertices, faces)
    if len(faces) == 0:
        raise FileFormatError(path, "has only faces without area")
    return vertices, faces


@dataclass(frozen=True)
class MeshFolder:
    """A folder in which the meshes that a file names are found, each of at most `size_limit` bytes."""

    path: Path
    size_limit: int

    def file(self, name: Any, digest: Any) -> Path:
        """The path of a mesh file whose content has this SHA-256, in hexadecimal; ValueError or TypeError for
        another."""
        for field, value in (("file", name), ("sha256", digest)):
            if not isinstance(value, str):
                raise TypeError(f"{field}: expected a text, got {checks.shown(value)}")
        try:
            path = file_beside(self.path, name)
        except ValueError as error:
            raise ValueError(f"file: {error}") from None
        content = read_bytes(path, self.size_limit, "a mesh file")
        if path.suffix.lower() in (".glb", ".gltf") and not is_whole(content):
            raise ValueError(
                f"file: expected all of a mesh in one file, got {name[:60]!r}, which names others"
            )
        found = hashlib.sha256(content).hexdigest()
        if found != digest.lower():
            raise ValueError(f"sha256: expected that of {name[:60]!r}, which is {found}, got {digest[:64]!r}")
        return path


def _refuse_missing(path: Path) -> None:
    """FileFormatError for a folder and for what is not there, whatever its ending."""
    try:
        if path.is_dir():
            raise FileFormatError(path, "is a folder, not a mesh file")
        if not path.exists():
            raise FileFormatError(path, "no such file")
    except OSError as error:
        raise FileFormatError(path, f"cannot be read ({error.strerror or error})") from None


def _parse(path: Path, ending: str, content: bytes) -> tuple[np.ndarray, np.ndarray]:
    import trimesh

    if ending in ("obj", "off"):
        content = content.removeprefix(codecs.BOM_UTF8)
        if b"\0" in content:  # which the parsers would take for words that they do not know
            raise FileFormatError(path, f"is not a valid {ending.upper()} file (it holds a zero byte)")
    if ending == "obj":
        content = _PARTS.sub(b"", _absolute_indices(path, content))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            options: dict[str, Any] = {"skip_materials": True} if ending == "obj" else {}
            stream = io.BytesIO(_decodable(content, ending))
            scene = trimesh.load_scene(stream, file_type=ending, process=False, **options)
    except MemoryError:
        raise FileFormatError(path, "does not fit in memory") from None
    except ImportError as error:
        if error.name in ("charset_normalizer", "chardet"):  # asked to guess an encoding
            raise FileFormatError(path, "holds text that is not UTF-8") from None
        raise FileFormatError(path, f"needs the package {error.name}, which is not installed") from None
    except Exception as error:  # the parsers raise nearly everything on malformed input
        detail = " ".join(str(error).split())
        detail = f" ({type(error).__name__}: {detail[:120]})" if detail else f" ({type(error).__name__})"
        raise FileFormatError(path, f"is not a valid {ending.upper()} file{detail}") from None
    vertices = [np.empty((0, 3))]
    faces = [np.empty((0, 3), dtype=np.int64)]
    count = 0
    for part in scene.geometry.values():
        if not isinstance(part, trimesh.Trimesh) or len(part.faces) == 0:
            continue
        corners, triangles = np.asarray(part.vertices), np.asarray(part.faces)
        if any(rows.ndim != 2 or rows.shape[1] != 3 for rows in (corners, triangles)):
            raise FileFormatError(
                path, "has vertices that are not three numbers, or faces that are not triangles"
            )
        vertices.append(corners.astype(np.float64))
        faces.append(triangles.astype(np.int64) + count)
        count += len(part.vertices)
    return np.concatenate(vertices), np.concatenate(faces)


def _absolute_indices(path: Path, content: bytes) -> bytes:
    """An OBJ file whose faces count vertices from the first, not back from the last, which trimesh would take for
    the last of the whole file; FileFormatError for a vertex of number 0, which trimesh would take for the last."""
    if b"\\" in content:  # lines that go on
        content = content.replace(b"\\\r\n", b" ").replace(b"\\\n", b" ")
    if not _UNUSUAL_FACE.search(content):
        return content
    lines, vertices = content.split(b"\n"), 0
    for k, line in enumerate(lines):
        if _VERTEX.match(line):
            vertices += 1
        elif _FACE.match(line):
            words = line.split()
            lines[k] = b" ".join([b"f", *(_absolute(path, word, vertices) for word in words[1:])])
    return b"\n".join(lines)


def _absolute(path: Path, corner: bytes, vertices: int) -> bytes:
    """A corner of a face, such as 1, -3 or -3/2/-1, counted from the first vertex, after so many vertices."""
    text, slash, rest = corner.partition(b"/")
    try:
        number = int(text[:20])
    except ValueError:  # trimesh says so
        return corner
    if number == 0 or vertices + number < 0:
        raise FileFormatError(
            path, f"has a face with vertex {number}, after {vertices} vertices counted from 1"
        )
    return corner if number > 0 else b"%d" % (vertices + number + 1) + slash + rest


def _decodable(content: bytes, ending: str) -> bytes:
    """Text as UTF-8. For other encodings trimesh would need a package that may be missing."""
    if ending == "ply":
        header, end, body = content.partition(b"end_header")
        return header.decode("ascii", errors="replace").encode("ascii", errors="replace") + end + body
    if ending == "stl" and len(content) >= 84:
        triangle_count = int.from_bytes(content[80:84], "little")
        if len(content) == 84 + 50 * triangle_count:
            return content
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return content.decode("latin-1").encode("utf-8")
    return content


def merge_vertices(vertices: np.ndarray, faces: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Unite vertices closer than MERGE_DISTANCE of the mesh's size; drop unused ones, collapsed faces and repeats.

    A repeat has the corners of an earlier face in the same sense of rotation. The surface is the same
    without it, while a volume would count it twice.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components
    from scipy.spatial import cKDTree

    used, faces = np.unique(faces, return_inverse=True)
    faces = faces.reshape(-1, 3)
    # Adding zero makes -0.0 and 0.0 one value.
    vertices, renamed = np.unique(vertices[used] + 0.0, axis=0, return_inverse=True)
    faces = renamed.reshape(-1)[faces]
    size = float(np.ptp(vertices, axis=0).max(initial=0.0))
    pairs = cKDTree(vertices).query_pairs(MERGE_DISTANCE * size, output_type="ndarray")
    if len(pairs):
        links = coo_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(len(vertices),) * 2)
        _, group = connected_components(links, directed=False)
        _, first, group = np.unique(group, return_index=True, return_inverse=True)
        vertices, faces = vertices[first], group.reshape(-1)[faces]
    distinct = (faces[:, 0] != faces[:, 1]) & (faces[:, 1] != faces[:, 2]) & (faces[:, 2] != faces[:, 0])
    faces = faces[distinct]
    first_corner = np.argmin(faces, axis=1, keepdims=True)
    rotated = np.take_along_axis(faces, (first_corner + np.arange(3)) % 3, axis=1)
    faces = faces[np.sort(np.unique(rotated, axis=0, return_index=True)[1])]
    used, faces = np.unique(faces, return_inverse=True)
    return vertices[used], faces.reshape(-1, 3)
