"""Geometry from mesh files. Nothing in a file is executed; materials and textures are never read."""

import io
import json
import logging
import warnings
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from .tolerances import MERGE_DISTANCE

FORMATS = ("stl", "obj", "ply", "off", "glb", "gltf")

# Without a handler of its own, the logger of trimesh would print warnings to standard error.
logging.getLogger("trimesh").addHandler(logging.NullHandler())


class FileFormatError(ValueError):
    """A file that cannot be used, with its ``path`` and the ``reason`` in one sentence."""

    def __init__(self, path: Any, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = path
        self.reason = reason

    def __reduce__(self) -> tuple:
        return type(self), (self.path, self.reason)


def load_mesh(path: str | Path) -> tuple[np.ndarray, np.ndarray]:
    """Vertices (V, 3) in the file's own unit and triangles (F, 3) of a mesh file.

    All parts of a scene are placed by their transforms and joined; vertices at one position are one vertex,
    triangles that collapse by this are dropped, and a triangle that is there twice is kept once. Formats:
    STL, OBJ, PLY, OFF, GLB, GLTF, told by the file's ending. Raises FileFormatError.
    """
    if not isinstance(path, str | PathLike):
        raise TypeError(f"path: expected a file's path, got {type(path).__name__}")
    path = Path(path)
    ending = path.suffix.lower().lstrip(".")
    try:
        if path.is_dir():
            raise FileFormatError(path, "is a folder, not a mesh file")
        if not path.exists():
            raise FileFormatError(path, "no such file")
    except OSError as error:
        raise FileFormatError(path, f"cannot be read ({error.strerror or error})") from None
    if ending not in FORMATS:
        known = ", ".join(f".{name}" for name in FORMATS)
        raise FileFormatError(path, f"unknown ending {path.suffix!r}; known mesh formats are {known}")
    try:
        with path.open("rb") as file:
            file.read(1)
    except OSError as error:
        raise FileFormatError(path, f"cannot be read ({error.strerror or error})") from None

    vertices, faces = _parse(path, ending)
    if len(faces) == 0:
        raise FileFormatError(path, f"holds no faces, or is no {ending.upper()} file")
    if faces.min() < 0 or faces.max() >= len(vertices):
        raise FileFormatError(path, "has faces that name vertices it does not hold")
    used = vertices[np.unique(faces)]
    if not np.isfinite(used).all():
        raise FileFormatError(path, "has vertices that are NaN or infinite")
    vertices, faces = merge_vertices(vertices, faces)
    if len(faces) == 0:
        raise FileFormatError(path, "has only faces without area")
    return vertices, faces


def _parse(path: Path, ending: str) -> tuple[np.ndarray, np.ndarray]:
    import trimesh

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if ending in ("obj", "off", "ply", "stl"):
                options: dict[str, Any] = {"skip_materials": True} if ending == "obj" else {}
                content = io.BytesIO(_decodable(path.read_bytes(), ending))
                scene = trimesh.load_scene(content, file_type=ending, process=False, **options)
            else:  # by name, so that a GLTF file finds its buffers
                if ending == "gltf":
                    json.loads(path.read_bytes())
                scene = trimesh.load_scene(str(path), process=False)
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
    for node in sorted(scene.graph.nodes_geometry):
        transform, name = scene.graph[node]
        part = scene.geometry[name]
        if not isinstance(part, trimesh.Trimesh) or len(part.faces) == 0:
            continue
        placed = np.asarray(part.vertices, dtype=np.float64)
        placed_faces = np.asarray(part.faces, dtype=np.int64)
        transform = np.asarray(transform, dtype=np.float64)
        if not np.array_equal(transform, np.eye(4)):
            placed = placed @ transform[:3, :3].T + transform[:3, 3]
            if np.linalg.det(transform[:3, :3]) < 0.0:  # a mirror turns triangles inside out
                placed_faces = placed_faces[:, ::-1]
        vertices.append(placed)
        faces.append(placed_faces + count)
        count += len(placed)
    return np.concatenate(vertices), np.concatenate(faces)


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
