"""Mesh files of every format, whole and tampered with."""

import base64
import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import trimesh

from .harness import HOSTILE_NUMBERS, HOSTILE_TEXTS, HOSTILE_WHOLES

POINTS = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], dtype="<f4")
FACES = np.array([0, 2, 1, 0, 1, 3, 1, 2, 3, 0, 3, 2], dtype="<u2")


def gltf(**changes: Any) -> dict[str, Any]:
    """A tetrahedron as a glTF document, with some of its parts replaced."""
    content = POINTS.tobytes() + FACES.tobytes()
    uri = "data:application/octet-stream;base64," + base64.b64encode(content).decode()
    document: dict[str, Any] = {
        "asset": {"version": "2.0"},
        "scene": 0,
        "scenes": [{"nodes": [0]}],
        "nodes": [
            {"mesh": 0, "children": [1], "rotation": [0, 0, 0, 1]},
            {"mesh": 0, "translation": [3, 0, 0]},
        ],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}, "indices": 1, "mode": 4}]}],
        "accessors": [
            {"bufferView": 0, "byteOffset": 0, "componentType": 5126, "count": 4, "type": "VEC3"},
            {"bufferView": 1, "componentType": 5123, "count": 12, "type": "SCALAR"},
        ],
        "bufferViews": [
            {"buffer": 0, "byteOffset": 0, "byteLength": 48, "byteStride": 12},
            {"buffer": 0, "byteOffset": 48, "byteLength": 24},
        ],
        "buffers": [{"byteLength": 72, "uri": uri}],
    }
    return document | changes


def glb(document: dict[str, Any], binary: bytes = b"") -> bytes:
    """A document and binary as one GLB file."""
    text = json.dumps(document).encode()
    text += b" " * (-len(text) % 4)
    chunks = len(text).to_bytes(4, "little") + b"JSON" + text
    if binary:
        chunks += len(binary).to_bytes(4, "little") + b"BIN\x00" + binary
    return b"glTF" + (2).to_bytes(4, "little") + (12 + len(chunks)).to_bytes(4, "little") + chunks


def whole_meshes() -> dict[str, bytes]:
    """Files of a small mesh, by name: several of a format where it has several ways."""
    box = trimesh.creation.icosahedron()
    binary = POINTS.tobytes() + FACES.tobytes()
    own = gltf(buffers=[{"byteLength": 72}])
    sparse = gltf()
    sparse["accessors"][0]["sparse"] = {
        "count": 1,
        "indices": {"bufferView": 1, "componentType": 5123},
        "values": {"bufferView": 0, "byteOffset": 12},
    }
    return {
        "binary.stl": box.export(file_type="stl"),
        "text.stl": box.export(file_type="stl_ascii").encode(),
        "plain.obj": box.export(file_type="obj").encode(),
        "back.obj": b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf -3 -2 -1\nv 0 0 1\nf 1//1 2//2 \\\n4//1\nf -1 2/1/1 3\n",
        "binary.ply": box.export(file_type="ply"),
        "text.ply": box.export(file_type="ply", encoding="ascii"),
        "plain.off": box.export(file_type="off").encode(),
        "whole.glb": glb(own, binary),
        "library.glb": box.export(file_type="glb"),
        "data.gltf": json.dumps(gltf()).encode(),
        "sparse.gltf": json.dumps(sparse).encode(),
    }


def tampered(name: str, content: bytes, rng: random.Random) -> bytes:
    """A mesh file with bytes, numbers or, of a glTF document, parts that are others."""
    if name.endswith(".gltf") and rng.random() < 0.7:
        document = json.loads(content)
        for _ in range(rng.choice((1, 1, 2, 3))):
            document = _other(document, rng)
        return json.dumps(document).encode("utf-8", "replace")
    if name == "whole.glb" and rng.random() < 0.5:
        document = gltf(buffers=[{"byteLength": 72}])
        for _ in range(rng.choice((1, 1, 2))):
            document = _other(document, rng)
        return glb(
            document, rng.choice((POINTS.tobytes() + FACES.tobytes(), b"", b"\x00" * 72, b"\xff" * 72))
        )
    binary = name.startswith("binary") or name.endswith(".glb")
    if not binary and rng.random() < 0.7:
        return _other_words(content, rng)
    data = bytearray(content)
    for _ in range(rng.choice((1, 1, 2, 8))):
        place, way = rng.randrange(len(data) + 1), rng.randrange(5)
        if way == 0:
            data[place : place + 4] = rng.randbytes(4)
        elif way == 1:
            del data[place : place + rng.choice((1, 4, 100))]
        elif way == 2:
            data[place:place] = data[rng.randrange(len(data) + 1) :][: rng.choice((1, 4, 100))]
        elif way == 3:
            data[place : place + 4] = rng.choice(
                (b"\xff\xff\xff\xff", b"\x00\x00\x00\x00", b"\xff\xff\xff\x7f")
            )
        else:
            data[place : place + 8] = np.array(rng.choice(HOSTILE_NUMBERS), dtype="<f8").tobytes()
        data = data or bytearray(1)
    return bytes(data)


def _other_words(content: bytes, rng: random.Random) -> bytes:
    """A text with some words or lines that are others."""
    lines = content.split(b"\n")
    numbers = [repr(value).encode() for value in (*HOSTILE_NUMBERS, *HOSTILE_WHOLES)]
    words = [
        *numbers,
        b"",
        b"f",
        b"v",
        b"\x00",
        b"1/0",
        b"-1/-1",
        b"\\",
        b"9999999999",
        b"end_header",
        b"facet",
        b"#",
    ]
    for _ in range(rng.choice((1, 1, 2, 4))):
        k = rng.randrange(len(lines))
        parts = lines[k].split(b" ")
        way = rng.random()
        if way < 0.6:
            parts[rng.randrange(len(parts))] = rng.choice(words)
            lines[k] = b" ".join(parts)
        elif way < 0.7:
            del lines[k]
        elif way < 0.8:
            lines[k:k] = [rng.choice(lines)] * rng.choice((1, 2, 1000))
        elif way < 0.9:
            lines[k] = b" ".join(parts * rng.choice((2, 50)))
        else:
            lines[k] = rng.choice(HOSTILE_TEXTS).encode("utf-8", "replace")
        lines = lines or [b""]
    return b"\n".join(lines)


def _other(value: Any, rng: random.Random) -> Any:
    """The same with a value inside that is another, missing, or there twice."""
    if isinstance(value, dict) and value and rng.random() < 0.93:
        key = rng.choice(list(value))
        if rng.random() < 0.1:
            return {k: v for k, v in value.items() if k != key}
        if rng.random() < 0.1:
            extra = rng.choice(
                ("sparse", "extensions", "extensionsRequired", "matrix", "scale", "uri", "children")
            )
            return value | {extra: _leaf(rng)}
        return value | {key: _other(value[key], rng)}
    if isinstance(value, list) and value and rng.random() < 0.93:
        k = rng.randrange(len(value))
        if rng.random() < 0.2:
            return [*value[: k + 1], *value[k:]]
        return [*value[:k], _other(value[k], rng), *value[k + 1 :]]
    return _leaf(rng)


def _leaf(rng: random.Random) -> Any:
    texts = [text for text in HOSTILE_TEXTS if len(text) < 1000]
    others = (
        None,
        True,
        [],
        {},
        [0],
        [0, 1],
        [1, 0],
        {"bufferView": 0},
        5121,
        5125,
        5126,
        "VEC3",
        "../x.bin",
    )
    return rng.choice(
        (*HOSTILE_NUMBERS, *HOSTILE_WHOLES, *texts, *others, *range(8), [rng.choice(HOSTILE_NUMBERS)] * 16)
    )


def write(folder: Path, name: str, content: bytes) -> Path:
    """A file of these bytes."""
    path = folder / name
    path.write_bytes(content)
    return path
