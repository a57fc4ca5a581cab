"""glTF scenes with animation (.glb), for Blender and everything else that reads them.

Lengths are metres. glTF's y axis is the up of the run: one node above all bodies turns the world. A body moves
by keys at exact times, frames and all of its events, straight in between, so that no impact is smoothed over.
"""

import json
import math
import os
import struct
from pathlib import Path
from typing import Any

import numpy as np

from ..progress import ProgressBar
from .camera import perpendiculars
from .files import check_writable, whole_file
from .keyframes import States, sample_states
from .meshes import Mesh
from .png import encode_png
from .stage import Plane, Stage, event_table

FLOAT, UNSIGNED_INT = 5126, 5125
VERTICES, INDICES = 34962, 34963
NEAREST, MIPMAPPED, REPEAT = 9728, 9987, 10497
LIGHT = (0.97, 0.96, 0.94)  # of the octants of the pattern
FLOOR_COLOURS = ((190, 195, 203), (221, 224, 232))
FLOOR_REACH = 8  # of the motion's extent
STILL = 1e-12  # of the extent or of a quaternion; keys that differ by less are one
MOST_TURN = math.radians(90)  # between two keys, so that the shorter way round is the true one


def write_glb(
    trajectory: Any, path: str | os.PathLike[str], times: np.ndarray, *, fps: int, progress: bool = False
) -> Path:
    """Write a scene whose animation shows the run at ascending `times` [s] with `fps` of them a second.

    Events in between get keys of their own. The animation starts at 0 s.
    """
    path = check_writable(path)
    content = glb(trajectory, times, fps=fps, progress=progress)
    with whole_file(path) as unfinished:
        unfinished.write_bytes(content)
    return path


def glb(trajectory: Any, times: np.ndarray, *, fps: int, progress: bool = False) -> bytes:
    """Return the file that `write_glb` writes."""
    stage = Stage(trajectory)
    document = _Document()
    world = document.add(
        "nodes",
        {"name": "world", "rotation": _rotation_between(stage.up, np.array([0.0, 1.0, 0.0])), "children": []},
    )
    children = document.parts["nodes"][world]["children"]
    bodies = list(trajectory.scene.bodies)
    nodes: dict[int, int] = {}
    for part in stage.parts:
        shape = _Shape(document, part.mesh)
        for body, radius, colour in zip(part.bodies.tolist(), part.radius, part.colour, strict=True):
            node = {"name": str(bodies[body].name), "mesh": shape.mesh(colour), "scale": [float(radius)] * 3}
            nodes[body] = document.add("nodes", node)
    children += sorted(nodes.values())
    if stage.planes:
        floor = _floor_mesh(document, FLOOR_REACH * stage.scale / stage.tile / 2)
        names = [str(body.name) for body in bodies if type(body.shape).__name__ == "HalfSpace"]
        for name, plane in zip(names, stage.planes, strict=True):
            children.append(_plane_node(document, name, plane, stage, floor))
    keys = _key_times(trajectory, times)
    with ProgressBar(0, 1, "sampling") as bar:
        states = sample_states(trajectory, keys, show=bar.show if progress else None)
    speed = fps * float(times[1] - times[0]) if len(times) > 1 else 1.0
    _animate(document, states, nodes, (keys - keys[0]) / speed)
    return document.packed(world)


class _Document:
    """A glTF document that is being filled: named lists, and the bytes they refer to."""

    def __init__(self) -> None:
        self.parts: dict[str, list[dict]] = {}
        self._content = bytearray()
        self._materials: dict[tuple, int] = {}

    def add(self, part: str, entry: dict) -> int:
        """Append an entry to a list of the document; return its number."""
        entries = self.parts.setdefault(part, [])
        entries.append(entry)
        return len(entries) - 1

    def view(self, content: bytes, target: int | None = None) -> int:
        """Append bytes, at a multiple of 4; return the number of their buffer view."""
        view = {"buffer": 0, "byteOffset": len(self._content), "byteLength": len(content)}
        if target is not None:
            view["target"] = target
        self._content += content + bytes(-len(content) % 4)
        return self.add("bufferViews", view)

    def accessor(self, values: np.ndarray, target: int | None = None, *, bounds: bool = False) -> int:
        """Append an array (n,) or (n, k) of float32 or uint32; return the number of its accessor."""
        component, kind = (UNSIGNED_INT, "<u4") if values.dtype.kind == "u" else (FLOAT, "<f4")
        array = np.ascontiguousarray(values, dtype=kind)
        entry: dict[str, Any] = {
            "bufferView": self.view(array.tobytes(), target),
            "componentType": component,
            "count": len(array),
            "type": {1: "SCALAR", 2: "VEC2", 3: "VEC3", 4: "VEC4"}[array[:1].size],
        }
        if bounds:
            rows = array.reshape(len(array), -1)
            entry |= {"min": rows.min(axis=0).tolist(), "max": rows.max(axis=0).tolist()}
        return self.add("accessors", entry)

    def material(self, colour: tuple) -> int:
        """The number of the material of an sRGB colour."""
        if colour not in self._materials:
            linear = [round(((c + 0.055) / 1.055) ** 2.4 if c > 0.04045 else c / 12.92, 5) for c in colour]
            surface = {"baseColorFactor": [*linear, 1.0], "metallicFactor": 0.0, "roughnessFactor": 0.55}
            self._materials[colour] = self.add("materials", {"pbrMetallicRoughness": surface})
        return self._materials[colour]

    def packed(self, root: int) -> bytes:
        """The bytes of a GLB file whose scene is a node."""
        document: dict[str, Any] = {
            "asset": {"version": "2.0", "generator": "carom"},
            "scene": 0,
            "scenes": [{"nodes": [root]}],
            "buffers": [{"byteLength": len(self._content)}],
            **self.parts,
        }
        text = json.dumps(document, separators=(",", ":")).encode()
        text += b" " * (-len(text) % 4)
        content = bytes(self._content)
        head = struct.pack("<4sII", b"glTF", 2, 12 + 8 + len(text) + 8 + len(content))
        return (
            head
            + struct.pack("<I4s", len(text), b"JSON")
            + text
            + struct.pack("<I4s", len(content), b"BIN\0")
            + content
        )


# -- shapes --------------------------------------------------------------------------------------------------


class _Shape:
    """A mesh in two halves, the octants of its own axes whose signs have an even and an odd product."""

    def __init__(self, document: _Document, mesh: Mesh) -> None:
        self._document = document
        corners = np.concatenate([mesh.positions, mesh.normals], axis=1).astype(float).reshape(-1, 3, 6)
        for axis in range(3):
            corners = _split(corners, axis)
        odd = np.prod(corners[:, :, :3].mean(axis=1), axis=1) < 0
        self._halves = [
            _primitive(document, corners[which]) if which.any() else None for which in (~odd, odd)
        ]
        self._meshes: dict[tuple, int] = {}

    def mesh(self, colour: np.ndarray) -> int:
        """The number of the mesh whose halves have a colour (r, g, b, pattern) and its lighter mate."""
        key = tuple(np.round(colour, 4).tolist())
        if key not in self._meshes:
            base = np.array(key[:3])
            tints = (base, base + key[3] * (np.array(LIGHT) - base))
            primitives = [
                half | {"material": self._document.material(tuple(np.round(tint, 4).tolist()))}
                for half, tint in zip(self._halves, tints, strict=True)
                if half is not None
            ]
            self._meshes[key] = self._document.add("meshes", {"primitives": primitives})
        return self._meshes[key]


def _split(corners: np.ndarray, axis: int) -> np.ndarray:
    """Cut triangles (n, 3 corners, 6) where a coordinate is zero; normals are interpolated."""
    height = corners[:, :, axis]
    low, high = height.min(axis=1), height.max(axis=1)
    crossing = (low < -1e-7) & (high > 1e-7)
    pieces = [corners[~crossing]]
    for triangle in corners[crossing]:
        for side in (1.0, -1.0):
            polygon: list[np.ndarray] = []
            for one, other in zip(triangle, np.roll(triangle, -1, axis=0), strict=True):
                a, b = side * one[axis], side * other[axis]
                if a >= 0:
                    polygon.append(one)
                if a * b < 0:
                    polygon.append(one + (other - one) * (a / (a - b)))
            pieces.extend(
                np.array([[polygon[0], polygon[k], polygon[k + 1]]]) for k in range(1, len(polygon) - 1)
            )
    return np.concatenate(pieces)


def _primitive(document: _Document, corners: np.ndarray) -> dict:
    vertices, indices = np.unique(corners.reshape(-1, 6).astype(np.float32), axis=0, return_inverse=True)
    normals = vertices[:, 3:] / np.linalg.norm(vertices[:, 3:], axis=1, keepdims=True)
    return {
        "attributes": {
            "POSITION": document.accessor(vertices[:, :3], VERTICES, bounds=True),
            "NORMAL": document.accessor(normals, VERTICES),
        },
        "indices": document.accessor(indices.reshape(-1).astype(np.uint32), INDICES),
    }


def _floor_mesh(document: _Document, tiles: float) -> int:
    """A square from -1 to 1 with a checker of so many pairs of tiles; the number of its mesh."""
    image = encode_png(np.array([FLOOR_COLOURS, FLOOR_COLOURS[::-1]], dtype=np.uint8))
    document.add("images", {"bufferView": document.view(image), "mimeType": "image/png"})
    document.add("samplers", {"magFilter": NEAREST, "minFilter": MIPMAPPED, "wrapS": REPEAT, "wrapT": REPEAT})
    document.add("textures", {"sampler": 0, "source": 0})
    surface = {"baseColorTexture": {"index": 0}, "metallicFactor": 0.0, "roughnessFactor": 0.9}
    material = document.add("materials", {"name": "tiles", "pbrMetallicRoughness": surface})
    square = np.array([[-1, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0]], dtype=np.float32)
    primitive = {
        "attributes": {
            "POSITION": document.accessor(square, VERTICES, bounds=True),
            "NORMAL": document.accessor(np.tile([0.0, 0.0, 1.0], (4, 1)), VERTICES),
            "TEXCOORD_0": document.accessor(square[:, :2] * tiles, VERTICES),
        },
        "indices": document.accessor(np.array([0, 1, 2, 0, 2, 3], dtype=np.uint32), INDICES),
        "material": material,
    }
    return document.add("meshes", {"name": "tiles", "primitives": [primitive]})


def _plane_node(document: _Document, name: str, plane: Plane, stage: Stage, mesh: int) -> int:
    """The floor's square in a plane, under the middle of the motion; the number of its node."""
    middle = stage.centre - plane.normal * (plane.normal @ stage.centre - plane.offset)
    reach = FLOOR_REACH * stage.scale
    node = {
        "name": name,
        "mesh": mesh,
        "translation": middle.tolist(),
        "rotation": _rotation_between(np.array([0.0, 0.0, 1.0]), plane.normal),
        "scale": [reach, reach, 1.0],
    }
    return document.add("nodes", node)


def _rotation_between(one: np.ndarray, other: np.ndarray) -> list[float]:
    """The quaternion (x, y, z, w) of the shortest rotation that takes a unit vector to another."""
    w = 1 + float(one @ other)
    if w < 1e-9:  # opposite: half a turn about any axis across
        return [*perpendiculars(one)[0].tolist(), 0.0]
    quaternion = np.array([*np.cross(one, other), w])
    return (quaternion / np.linalg.norm(quaternion)).tolist()


# -- motion --------------------------------------------------------------------------------------------------


def _animate(document: _Document, states: States, nodes: dict[int, int], seconds: np.ndarray) -> None:
    """Give the nodes of bodies their places, and the animation of those that move."""
    channels: list[dict] = []
    samplers: list[dict] = []
    inputs: dict[bytes, int] = {}
    for body, node in nodes.items():
        place = states.position[:, body]
        turn = _continuous(states.orientation[:, body])[:, [1, 2, 3, 0]]
        entry = document.parts["nodes"][node]
        entry |= {"translation": place[0].tolist(), "rotation": turn[0].tolist()}
        for name, values in (("translation", place), ("rotation", turn)):
            kept = _needed(values)
            if len(kept) < 2:
                continue
            mark = kept.tobytes()
            if mark not in inputs:
                inputs[mark] = document.accessor(seconds[kept], bounds=True)
            samplers.append(
                {"input": inputs[mark], "output": document.accessor(values[kept]), "interpolation": "LINEAR"}
            )
            channels.append({"sampler": len(samplers) - 1, "target": {"node": node, "path": name}})
    if channels:
        document.add("animations", {"name": "run", "channels": channels, "samplers": samplers})


def _key_times(trajectory: Any, times: np.ndarray) -> np.ndarray:
    """The given times, all events between, and as many more as the fastest spin needs."""
    events, _ = event_table(trajectory)
    events = events[(times[0] <= events) & (events <= times[-1])]
    keys = np.unique(np.concatenate([times, events]))
    if len(keys) < 2:
        return keys
    spin = np.linalg.norm(trajectory.sample(keys).angular_velocity, axis=2).max(axis=1)
    turns = np.diff(keys) * np.maximum(spin[1:], spin[:-1])
    parts = np.ceil(turns / MOST_TURN).astype(int)
    between = [
        np.linspace(keys[k], keys[k + 1], parts[k] + 1)[1:-1] for k in np.flatnonzero(parts > 1).tolist()
    ]
    return np.unique(np.concatenate([keys, *between]))


def _continuous(quaternions: np.ndarray) -> np.ndarray:
    """Quaternions (n, 4) with signs such that neighbours are near."""
    flips = np.where(np.einsum("ni,ni->n", quaternions[1:], quaternions[:-1]) < 0, -1.0, 1.0)
    return quaternions * np.cumprod(np.concatenate([[1.0], flips]))[:, None]


def _needed(values: np.ndarray) -> np.ndarray:
    """The keys that differ from a neighbour; empty where nothing moves."""
    moved = np.abs(np.diff(values, axis=0)).max(axis=1, initial=0.0) > STILL * max(np.abs(values).max(), 1.0)
    if not moved.any():
        return np.zeros(0, dtype=np.int64)
    kept = np.concatenate([[True], moved]) | np.concatenate([moved, [True]])
    return np.flatnonzero(kept)
