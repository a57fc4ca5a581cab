"""The triangles of a glTF 2.0 file, and nothing else of it: materials, images, skins and animations are not read.

Written here rather than left to trimesh, which goes round in cyclic node graphs, leaves sparse values out, does not
look at required extensions, and opens images. Nothing is fetched: buffers are in the file, or in files beside it.
Source: Khronos, glTF 2.0 specification, sections 3.5 (nodes), 3.6 (buffers, accessors), 3.7.2 (meshes).
"""

import base64
import binascii
import json
import math
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np

from .files import FileFormatError, file_beside, read_bytes

_MAGIC, _JSON, _BINARY = b"glTF", 0x4E4F534A, 0x004E4942
_POINTS_AND_LINES, _TRIANGLES, _STRIP, _FAN = (0, 1, 2, 3), 4, 5, 6
_INDEX_TYPES: dict[int, np.dtype[Any]] = {5121: np.dtype("u1"), 5123: np.dtype("<u2"), 5125: np.dtype("<u4")}
_POSITION_TYPE: dict[int, np.dtype[Any]] = {5126: np.dtype("<f4")}
_LARGEST_COUNT = 2**53  # whole numbers that JSON keeps
_WORD = 4


class _Malformed(Exception):
    """What is wrong in a glTF file, to be said of the file as a whole."""


def gltf_triangles(path: Path, content: bytes, size_limit: int) -> tuple[np.ndarray, np.ndarray]:
    """Vertices (V, 3) and triangles (F, 3) of a glTF or GLB file whose bytes are given, every node placed.

    The default scene counts, else the first, else all nodes; in a file without nodes every mesh, once. Positions
    have to be floats. Buffers beside the file count towards the limit of its size. Raises FileFormatError, also
    for required extensions, by their name.
    """
    ending = path.suffix.upper().lstrip(".")
    try:
        document, binary = _chunks(content)
        return _Reader(path, document, binary, size_limit).triangles()
    except _Malformed as error:
        raise FileFormatError(path, f"is not a valid {ending} file ({error})") from None


def is_whole(content: bytes) -> bool:
    """Whether no buffer of a glTF or GLB file lies in another file; also of what is no such file."""
    try:
        document, _ = _chunks(content)
    except _Malformed:
        return True
    buffers = document.get("buffers")
    named = (
        [entry.get("uri") for entry in buffers if isinstance(entry, dict)]
        if isinstance(buffers, list)
        else []
    )
    return all(uri is None or (isinstance(uri, str) and uri.startswith("data:")) for uri in named)


def _chunks(content: bytes) -> tuple[dict[str, Any], bytes | None]:
    """The document and the binary chunk of a file, which may be plain JSON."""
    text, binary = content, None
    if content[:4] == _MAGIC:
        version, length = (int.from_bytes(content[k : k + _WORD], "little") for k in (4, 8))
        if version != 2 or length > len(content):
            raise _Malformed(
                f"expected version 2 and {length} bytes, got version {version} and {len(content)}"
            )
        place, text = 12, b""
        while place + 2 * _WORD <= length:
            size, kind = (int.from_bytes(content[k : k + _WORD], "little") for k in (place, place + _WORD))
            place += 2 * _WORD
            if size > length - place:
                raise _Malformed("a chunk is cut short")
            if kind == _JSON and not text:
                text = content[place : place + size]
            elif kind == _BINARY and binary is None:
                binary = content[place : place + size]
            place += size
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _Malformed(f"its JSON cannot be read: {str(error)[:80]}") from None
    if not isinstance(document, dict):
        raise _Malformed(f"expected a JSON object, got {type(document).__name__}")
    return document, binary


class _Reader:
    """Reads parts of one document, each checked when it is reached."""

    def __init__(self, path: Path, document: dict[str, Any], binary: bytes | None, size_limit: int):
        self._path, self._document, self._binary = path, document, binary
        self._bytes_left = size_limit
        self._triangles_left = size_limit // 8
        """A file of few bytes can name one mesh in many nodes."""
        self._buffers: dict[int, bytes] = {}

    def triangles(self) -> tuple[np.ndarray, np.ndarray]:
        """See `gltf_triangles`."""
        for extension in self._list(self._document, "extensionsRequired"):
            raise FileFormatError(
                self._path, f"requires the glTF extension {str(extension)[:60]}, which carom does not read"
            )
        vertices, faces, count = [np.empty((0, 3))], [np.empty((0, 3), dtype=np.int64)], 0
        parts: dict[int, list[tuple[np.ndarray, np.ndarray]]] = {}
        for mesh, matrix in self._placed_meshes():
            if mesh not in parts:
                parts[mesh] = self._mesh(mesh)
            for positions, corners in parts[mesh]:
                self._triangles_left -= len(corners) + len(positions)
                if self._triangles_left < 0:
                    raise FileFormatError(
                        self._path, "names its meshes so often that they are too many: raise size_limit"
                    )
                with np.errstate(over="ignore", invalid="ignore"):  # who asked for the file looks at them
                    vertices.append(positions @ matrix[:3, :3].T + matrix[:3, 3])
                faces.append((corners[:, ::-1] if _mirrors(matrix) else corners) + count)
                count += len(positions)
        return np.concatenate(vertices), np.concatenate(faces)

    # -- nodes -----------------------------------------------------------------------------------------------

    def _placed_meshes(self) -> list[tuple[int, np.ndarray]]:
        """Every mesh of the scene with the matrix (4, 4) that places it."""
        nodes = [self._item("nodes", k) for k in range(len(self._list(self._document, "nodes")))]
        if not nodes:
            return [(k, np.eye(4)) for k in range(len(self._list(self._document, "meshes")))]
        children = [
            [self._index(k, len(nodes), "node") for k in self._list(node, "children")] for node in nodes
        ]
        named = [child for each in children for child in each]
        if len(set(named)) < len(named):
            raise _Malformed("a node has two parents, so the nodes are no tree")
        roots = self._roots(sorted(set(range(len(nodes))) - set(named)), len(nodes))
        if set(roots) & set(named):
            raise _Malformed(
                "the scene names a node that is a child of another, or nodes go round in a circle"
            )
        if len(set(roots)) < len(roots):
            raise _Malformed("the scene names a node twice")
        found, waiting = [], [(root, np.eye(4)) for root in reversed(roots)]
        while waiting:  # ends, since no node has two parents and no root has one
            index, above = waiting.pop()
            with np.errstate(over="ignore", invalid="ignore"):
                matrix = above @ self._matrix(nodes[index])
            if not np.isfinite(matrix).all():
                raise _Malformed(f"node {index} is placed by numbers that are not finite")
            if "mesh" in nodes[index]:
                found.append((self._index(nodes[index]["mesh"], _LARGEST_COUNT, "mesh"), matrix))
            waiting += [(child, matrix) for child in reversed(children[index])]
        return found

    def _roots(self, orphans: list[int], count: int) -> list[int]:
        """Nodes at which the scene begins."""
        scenes = self._list(self._document, "scenes")
        if not scenes:
            if not orphans:
                raise _Malformed("nodes go round in a circle")
            return orphans
        scene = self._item("scenes", self._document.get("scene", 0))
        return [self._index(k, count, "node") for k in self._list(scene, "nodes")]

    def _matrix(self, node: dict[str, Any]) -> np.ndarray:
        """Matrix (4, 4) of a node in its parent."""
        if "matrix" in node:
            matrix = self._numbers(node, "matrix", 16).reshape(4, 4).T
            if not np.array_equal(matrix[3], [0.0, 0.0, 0.0, 1.0]):
                raise _Malformed("a node's matrix has a last row other than 0 0 0 1")
            return matrix
        matrix = np.eye(4)
        x, y, z, w = self._numbers(node, "rotation", 4, (0.0, 0.0, 0.0, 1.0)).tolist()
        length = math.hypot(x, y, z, w)
        if not 0.0 < length < math.inf:
            raise _Malformed("a node has a rotation without direction")
        x, y, z, w = (value / length for value in (x, y, z, w))
        rotation = [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
        matrix[:3, :3] = np.array(rotation) * self._numbers(node, "scale", 3, (1.0, 1.0, 1.0))
        matrix[:3, 3] = self._numbers(node, "translation", 3, (0.0, 0.0, 0.0))
        return matrix

    # -- meshes ----------------------------------------------------------------------------------------------

    def _mesh(self, index: int) -> list[tuple[np.ndarray, np.ndarray]]:
        """Positions and triangles of each part of a mesh that has any."""
        parts = []
        for primitive in self._list(self._item("meshes", index), "primitives"):
            if not isinstance(primitive, dict) or not isinstance(primitive.get("attributes"), dict):
                raise _Malformed(f"mesh {index} has a part without attributes")
            mode = primitive.get("mode", _TRIANGLES)
            if mode in _POINTS_AND_LINES or "POSITION" not in primitive["attributes"]:
                continue
            positions = self._positions(primitive)
            corners = np.arange(len(positions), dtype=np.int64)
            if "indices" in primitive:
                corners = self._accessor(primitive["indices"], "SCALAR", _INDEX_TYPES).astype(np.int64)[:, 0]
            if len(corners) and corners.max() >= len(positions):
                raise _Malformed(f"mesh {index} names vertices that it does not hold")
            parts.append((positions, _corners_of(corners, mode)))
        return parts

    def _positions(self, primitive: dict[str, Any]) -> np.ndarray:
        """Positions (V, 3) of a part; refused where only an extension knows them."""
        index = primitive["attributes"]["POSITION"]
        accessor, extensions = self._item("accessors", index), primitive.get("extensions")
        if extensions and "bufferView" not in accessor and "sparse" not in accessor:
            names = ", ".join(map(str, extensions))[:60]
            raise FileFormatError(
                self._path, f"keeps positions in the extension {names}, which carom does not read"
            )
        return self._accessor(index, "VEC3", _POSITION_TYPE).astype(float)

    # -- accessors and buffers -------------------------------------------------------------------------------

    def _accessor(self, index: Any, kind: str, types: dict[int, np.dtype[Any]]) -> np.ndarray:
        """Values (count, 1 or 3) of an accessor, with those put into it one by one."""
        accessor = self._item("accessors", index)
        width, component = {"SCALAR": 1, "VEC3": 3}[kind], accessor.get("componentType")
        if accessor.get("type") != kind or not isinstance(component, int) or component not in types:
            raise _Malformed(
                f"accessor {index}: expected {kind} of component type {' or '.join(map(str, types))}, "
                f"got {str(accessor.get('type'))[:20]} of {str(component)[:20]}"
            )
        dtype = types[component]
        count = self._index(accessor.get("count"), _LARGEST_COUNT, "count")
        if "bufferView" in accessor:
            values = self._values(accessor, count, width, dtype)
        elif count * width * dtype.itemsize > self._bytes_left:  # zeros, of which the file has none
            raise _Malformed(f"accessor {index} means {count} values that the file does not hold")
        else:
            values = np.zeros((count, width), dtype=dtype)
        return self._with_sparse(accessor, values, dtype) if "sparse" in accessor else values

    def _with_sparse(self, accessor: dict[str, Any], values: np.ndarray, dtype: np.dtype[Any]) -> np.ndarray:
        """Values with those that the file puts in place of others."""
        sparse = accessor["sparse"]
        if not (
            isinstance(sparse, dict) and all(isinstance(sparse.get(k), dict) for k in ("indices", "values"))
        ):
            raise _Malformed("a sparse accessor has no indices or no values")
        count = self._index(sparse.get("count"), len(values) + 1, "count")
        component = sparse["indices"].get("componentType")
        if not isinstance(component, int) or component not in _INDEX_TYPES:
            raise _Malformed(f"a sparse accessor has indices of component type {str(component)[:20]}")
        places = self._values(sparse["indices"], count, 1, _INDEX_TYPES[component])[:, 0].astype(np.int64)
        if len(places) and (places.max() >= len(values) or (np.diff(places) <= 0).any()):
            raise _Malformed("a sparse accessor has indices that do not rise or name values it does not hold")
        values = values.copy()
        values[places] = self._values(sparse["values"], count, values.shape[1], dtype)
        return values

    def _values(self, where: dict[str, Any], count: int, width: int, dtype: np.dtype[Any]) -> np.ndarray:
        """Values (count, width) from a place in a buffer view."""
        view = self._item("bufferViews", where.get("bufferView"))
        buffer = self._buffer(self._index(view.get("buffer"), _LARGEST_COUNT, "buffer"))
        start = self._index(view.get("byteOffset", 0), len(buffer) + 1, "byteOffset")
        length = self._index(view.get("byteLength"), len(buffer) - start + 1, "byteLength")
        offset = self._index(where.get("byteOffset", 0), length + 1, "byteOffset")
        size = width * dtype.itemsize
        stride = self._index(view.get("byteStride", size), _LARGEST_COUNT, "byteStride")
        if stride < size or (count and offset + (count - 1) * stride + size > length):
            raise _Malformed(f"an accessor names {count} values, more than its buffer view holds")
        raw = np.frombuffer(buffer, dtype=np.uint8, count=length - offset, offset=start + offset)
        if not count:
            return np.zeros((0, width), dtype=dtype)
        rows = np.lib.stride_tricks.as_strided(raw, (count, size), (stride, 1), writeable=False)
        return np.ascontiguousarray(rows).view(dtype)

    def _buffer(self, index: int) -> bytes:
        """The bytes of a buffer, read once."""
        if index not in self._buffers:
            entry = self._item("buffers", index)
            length = self._index(entry.get("byteLength"), _LARGEST_COUNT, "byteLength")
            content = self._content(entry.get("uri"), index)
            if len(content) < length:
                raise _Malformed(f"buffer {index}: expected {length} bytes, got {len(content)}")
            self._buffers[index] = content[:length]
        return self._buffers[index]

    def _content(self, uri: Any, index: int) -> bytes:
        """Bytes of the binary chunk, of a data URI, or of a file beside this one."""
        if uri is None:
            if index != 0 or self._binary is None:
                raise _Malformed(f"buffer {index} has no URI and is not in the file")
            return self._binary
        if not isinstance(uri, str):
            raise _Malformed(f"buffer {index}: expected a URI, got {type(uri).__name__}")
        if uri.startswith("data:"):
            head, comma, body = uri.partition(",")
            if not comma or not head.endswith(";base64"):
                raise _Malformed(f"buffer {index}: expected a data URI in base64")
            try:
                return base64.b64decode(body, validate=True)
            except (binascii.Error, ValueError):
                raise _Malformed(f"buffer {index}: its data URI is not base64") from None
        name = unquote(uri)
        try:
            beside = file_beside(self._path.parent, name)
        except ValueError as error:
            raise FileFormatError(self._path, f"names the buffer {error}") from None
        content = read_bytes(beside, self._bytes_left, "a buffer")
        self._bytes_left -= len(content)
        return content

    # -- what JSON may hold ----------------------------------------------------------------------------------

    def _list(self, owner: dict[str, Any], name: str) -> list[Any]:
        found = owner.get(name, [])
        if not isinstance(found, list):
            raise _Malformed(f"{name}: expected a list, got {type(found).__name__}")
        return found

    def _item(self, name: str, index: Any) -> dict[str, Any]:
        items = self._list(self._document, name)
        found = items[self._index(index, len(items), name)]
        if not isinstance(found, dict):
            raise _Malformed(f"{name}: expected objects, got {type(found).__name__}")
        return found

    def _index(self, value: Any, count: int, what: str) -> int:
        """A whole number from 0 to before `count`."""
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < count:
            raise _Malformed(
                f"{what}: expected a whole number from 0 to below {count}, got {str(value)[:20]}"
            )
        return value

    def _numbers(
        self, owner: dict[str, Any], name: str, count: int, default: tuple[float, ...] = ()
    ) -> np.ndarray:
        """Finite numbers (count,)."""
        found = owner.get(name, default)
        good = isinstance(found, list | tuple) and len(found) == count
        if not good or not all(isinstance(v, int | float) and abs(v) < 1e308 for v in found):
            raise _Malformed(f"a node's {name}: expected {count} finite numbers, got {str(found)[:60]}")
        return np.array(found, dtype=float)


def _mirrors(matrix: np.ndarray) -> bool:
    """Whether a matrix turns triangles inside out."""
    axes = matrix[:3, :3]
    return bool(np.linalg.det(axes / max(float(np.abs(axes).max()), np.finfo(float).tiny)) < 0.0)


def _corners_of(corners: np.ndarray, mode: Any) -> np.ndarray:
    """Triangles (F, 3) of a list, strip or fan of corners."""
    if mode == _TRIANGLES:
        if len(corners) % 3:
            raise _Malformed(f"expected three corners a triangle, got {len(corners)}")
        return corners.reshape(-1, 3)
    if mode == _STRIP:
        triangles = np.column_stack([corners[:-2], corners[1:-1], corners[2:]])
        triangles[1::2] = triangles[1::2, [1, 0, 2]]
        return triangles
    if mode == _FAN:
        first = np.full(max(len(corners) - 2, 0), corners[0] if len(corners) else 0)
        return np.column_stack([corners[1:-1], corners[2:], first])
    raise _Malformed(f"a mesh has the mode {str(mode)[:20]}, which glTF does not know")
