"""Scene files that were tampered with, by what they say and by bytes, and what a reader does with one."""

import hashlib
import json
import math
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import carom

from .harness import (
    HOSTILE_NUMBERS,
    HOSTILE_TEXTS,
    LONGEST,
    assert_ours,
    assert_sentence,
    other_json,
    silence,
    within,
)
from .recordings import tampered_bytes

OBJ = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 1 4 3\n"
_TOKENS = (
    "NaN", "Infinity", "-Infinity", "1e999", "-1e-999", "9" * 30, "9" * 5000, "0." + "3" * 2000, "tru", "'x'", "{",
    "]", '"\\ud800"', '"\\u0000"', '"\\x"', "\x00", "//", "é", "\ufeff", '{"a": 1, "a": 2}',
)  # fmt: skip


def whole_scene_files(folder: Path) -> dict[str, str]:
    """Texts of scene files with all shapes, joints, drag, pairs and meshes, one of them by its file beside them."""
    folder.mkdir(exist_ok=True)
    material = carom.Material(friction=0.4, restitution=0.3)
    scene = carom.Scene()
    scene.add(carom.Body(carom.HalfSpace((0, 0, 1)), fixed=True, material=material, name="floor"))
    box, place = carom.Box((0.1, 0.2, 0.3)), (0.0, 0.0, 0.5)
    scene.add(carom.Body(box, density=1000.0, position=place, angular_velocity=(1, 2, 3), name="box"))
    scene.add(carom.Body(carom.Sphere(0.05), mass=1.0, position=(1, 0, 0.4), sensor=True, name="gate"))
    scene.set_pair_material("floor", "box", material)
    scene.disable_collision("gate", "box")
    scene.add_force(carom.Drag("box", linear=0.1))
    scene.planar()
    texts = {"plain": _text(scene, folder)}
    joined = carom.Scene()
    for k in range(8):
        shape = (carom.Capsule(0.1, 0.3), carom.Cylinder(0.1, 0.3))[k % 2]
        joined.add(carom.Body(shape, density=500.0, position=(k, 0, 0), name=f"link {k}"))
    drive = carom.Drive(stiffness=1.0, damping=0.1, target=0.2, limit=9.0)
    limits = {"limits": (-1, math.inf), "spring": carom.Spring(1.0), "drive": drive, "damping": 0.1}
    for joint in (
        carom.RevoluteJoint(0, anchor=(0, 0, 0.2), axis=(0, 1, 0), drive=drive),
        carom.PrismaticJoint(1, 0, axis=(0, 0, 1), **limits),
        carom.DistanceJoint(2, 1, anchor=(2, 0, 0), base_anchor=(1, 0, 0), limits=(0, math.inf)),
        carom.SphericalJoint(3, 2, anchor=(2.5, 0, 0)),
        carom.UniversalJoint(4, 3, anchor=(3.5, 0, 0), axis=(0, 1, 0), base_axis=(0, 0, 1)),
        carom.PlanarJoint(5, 4, normal=(0, 1, 0)),
        carom.FixedJoint(6, 5, collide=True),
    ):
        joined.add_joint(joint)
    texts["joints"] = _text(joined, folder)
    texts["rows"] = _text(joined.varied({1: {"position": (1, 0, 0.1)}}), folder)
    meshes = carom.Scene()
    corners = [(0, 0, 0), (0.1, 0, 0), (0, 0.1, 0), (0, 0, 0.1)]
    triangles = [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)]
    for k, shape in enumerate(
        (
            carom.Mesh((corners, triangles)),
            carom.Mesh((corners, triangles[1:]), mass_from="hull"),
            carom.ConvexMesh(corners),
            carom.Ellipsoid((0.1, 0.2, 0.3)),
        )
    ):
        meshes.add(carom.Body(shape, density=1000.0, position=(k, 0, 1)))
    texts["meshes"] = _text(meshes, folder)
    (folder / "part.obj").write_text(OBJ)
    by_file = {"kind": "mesh", "file": "part.obj", "sha256": hashlib.sha256(OBJ.encode()).hexdigest()}
    by_hand = {"kind": "convex-mesh", "vertices": corners}
    texts["files"] = json.dumps(
        {
            "format": "carom scene", "version": 1, "shapes": {"part": by_file, "hull": by_hand},
            "bodies": [{"shape": "part", "density": 1000}, {"shape": "hull", "density": 1, "position": [3, 0, 0]}],
        }
    )  # fmt: skip
    return texts


def _text(scene: carom.Scene, folder: Path) -> str:
    return scene.save(folder / "whole.json").read_text(encoding="utf-8")


def look_at(path: Path, thoroughly: bool = False) -> bool:
    """Read a scene file; whether it is one. What is read is written and read again the same, and a run can begin,
    or is refused in our words. It does not go on, since gravity of 1e16 m/s² alone means endlessly many steps."""
    with within(LONGEST), silence():
        try:
            scene = carom.Scene.load(path)
        except carom.FileFormatError as error:
            assert_sentence(error)
            return False
        once = scene.save(path.with_name("once.json"))
        twice = carom.Scene.load(once).save(path.with_name("twice.json"))
        assert once.read_bytes() == twice.read_bytes()
        if thoroughly:
            try:
                carom.Simulator(scene, carom.MaximumDissipation())
            except (ValueError, TypeError) as error:
                assert_ours(error)
    return True


def tampered(text: str, rng: random.Random) -> bytes:
    """A scene file with other values, fields or bytes in a few places."""
    meta: Any = json.loads(text)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        edit, places = rng.choice(_EDITS), [name for name in meta if name not in ("format", "version")]
        if rng.random() < 0.1 or not places:
            meta = edit(meta, rng)
            break
        place = rng.choice(places)  # what says that it is a scene stays as it is
        meta = meta | {place: edit(meta[place], rng)}
    content = json.dumps(meta, ensure_ascii=rng.random() < 0.5).encode("utf-8", "surrogatepass")
    if rng.random() < 0.1:
        place = rng.randrange(len(content))
        token = rng.choice(_TOKENS).encode("utf-8", "surrogatepass")
        content = content[:place] + token + content[place + rng.choice((0, 1, len(token))) :]
    if rng.random() < 0.1:
        content = tampered_bytes(content, rng)[0]
    return content


def _renamed(value: Any, rng: random.Random) -> Any:
    """The same with a field of another name, somewhere inside."""
    return _inside(value, rng, lambda found: _with_other_name(found, rng))


def _grafted(value: Any, rng: random.Random) -> Any:
    """The same with a part of it at a place of another one."""
    parts = list(_parts(value))
    return _inside(value, rng, lambda found: rng.choice(parts))


def _number(value: Any, rng: random.Random) -> Any:
    """The same with another number in place of one."""
    return _inside(value, rng, lambda found: rng.choice(HOSTILE_NUMBERS), numbers=True)


def _with_other_name(found: Any, rng: random.Random) -> Any:
    if not isinstance(found, dict) or not found:
        return rng.choice(HOSTILE_TEXTS)[:1000]
    name = rng.choice(list(found))
    other = rng.choice((*found, "x", "", "kind", "mass", "rows", "file", "shape"))
    return {other if key == name else key: each for key, each in found.items()}


def _parts(value: Any) -> list[Any]:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [value, *(part for each in inner for part in _parts(each))]


def _inside(value: Any, rng: random.Random, change: Callable[[Any], Any], numbers: bool = False) -> Any:
    """The same with something inside, or with `numbers` a number, that is changed."""
    deeper = numbers or rng.random() < 0.8
    if isinstance(value, dict) and value and deeper:
        key = rng.choice(list(value))
        return value | {key: _inside(value[key], rng, change, numbers)}
    if isinstance(value, list) and value and deeper:
        k = rng.randrange(len(value))
        return [*value[:k], _inside(value[k], rng, change, numbers), *value[k + 1 :]]
    return change(value)


_EDITS: tuple[Callable[[Any, random.Random], Any], ...] = (
    *[other_json] * 3, _renamed, _grafted, _grafted, *[_number] * 3,
)  # fmt: skip
