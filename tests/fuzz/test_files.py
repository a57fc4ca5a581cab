"""Damaged and hostile files: each is read, or refused in one sentence, and nothing else happens."""

import random

import pytest

import carom
from carom.bodies import load_mesh

from . import count, measured, scene_files
from .harness import LONGEST, assert_ours, assert_sentence, few, go_on, seeds, silence, within
from .meshes import tampered, whole_meshes, write
from .recordings import look_at, tampered_with_bytes, tampered_with_structures, whole_recordings

MESHES = whole_meshes()
MEASUREMENTS = measured.whole_measurements()


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Recordings by name, and a folder for those that are tampered with."""
    folder = tmp_path_factory.mktemp("recordings")
    paths = whole_recordings(folder / "whole")
    for path in paths:
        assert look_at(path, thoroughly=True)
    return {path.name: path.read_bytes() for path in paths}, folder


def structure(seed, whole):
    """One to three edits of what HDF5 holds, in each of ten files."""
    for _ in tampered_with_structures(range(seed, seed + 10), whole):
        pass


def mesh_files(seed, folder):
    """A file of any format, and what is made of what it holds."""
    rng = random.Random(seed)
    name = rng.choice(sorted(MESHES))
    path = write(folder, name, tampered(name, MESHES[name], rng))
    with within(LONGEST), silence():
        try:
            vertices, triangles = load_mesh(path, size_limit=1 << 22)
        except carom.FileFormatError as error:
            assert_sentence(error)
            return
        assert vertices.shape[1] == triangles.shape[1] == 3
        assert triangles.max() < len(vertices)
        for shape in (carom.Mesh, carom.ConvexMesh):
            try:
                made = shape(path, size_limit=1 << 22)
                carom.Body(made, density=1000.0)
            except ValueError as error:
                assert_ours(error)


def scenes(seed, folder, texts):
    """A scene file with other values, fields or bytes."""
    rng = random.Random(seed)
    path = folder / "scene.json"
    path.write_bytes(scene_files.tampered(rng.choice(texts), rng))
    scene_files.look_at(path, thoroughly=rng.random() < 0.1)


def measurements(seed, folder):
    """A file of a measured motion, or of public data, in which bytes, arrays or words are others."""
    rng = random.Random(seed)
    name = rng.choice(sorted(MEASUREMENTS))
    measured.look_at(write(folder, name, measured.tampered(name, MEASUREMENTS[name], rng)))


CHECKS = {
    "structure": (structure, 30),
    "bytes": (tampered_with_bytes, 150),
    "meshes": (mesh_files, 400),
    "scenes": (scenes, 400),
    "measurements": (measurements, 200),
}


def fixed(name, whole, tmp_path):
    """What a check needs beside a seed."""
    if name == "scenes":
        return {"folder": tmp_path, "texts": list(scene_files.whole_scene_files(tmp_path).values())}
    return {"folder": tmp_path} if name in ("meshes", "measurements") else {"whole": whole}


def test_scene_files_that_are_not_tampered_with_are_read(tmp_path):
    for text in scene_files.whole_scene_files(tmp_path).values():
        (tmp_path / "scene.json").write_text(text, encoding="utf-8")
        assert scene_files.look_at(tmp_path / "scene.json")


def test_measurements_that_are_not_tampered_with_are_read(tmp_path):
    for name, content in MEASUREMENTS.items():
        assert measured.look_at(write(tmp_path, name, content))


def test_what_was_tried_is_counted(whole):
    assert count.tried("edits", whole, 5, 0)["edits"] >= 5
    assert count.tried("bytes", whole, 500, 0)["bytes"] >= 500


@pytest.mark.parametrize("name", CHECKS)
def test_files_are_read_or_refused(name, whole, tmp_path):
    check, examples = CHECKS[name]
    few(check, {"seed": seeds()}, examples, **fixed(name, whole, tmp_path))


@pytest.mark.long
@pytest.mark.parametrize("name", CHECKS)
def test_files_are_read_or_refused_for_long(name, whole, tmp_path):
    assert go_on(CHECKS[name][0], {"seed": seeds()}, **fixed(name, whole, tmp_path)) > 0
