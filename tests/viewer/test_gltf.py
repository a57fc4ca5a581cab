"""GLB files, read back byte by byte and by another reader."""

import io
import json
import struct

import numpy as np
import pytest
import trimesh

from carom.viewer import render
from carom.viewer.gltf import glb

KINDS = {5126: ("<f4", 4), 5125: ("<u4", 4)}
WIDTHS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4}


class File:
    """A GLB file taken apart, every size and offset checked."""

    def __init__(self, content):
        magic, version, size = struct.unpack("<4sII", content[:12])
        assert (magic, version, size) == (b"glTF", 2, len(content))
        length, kind = struct.unpack("<I4s", content[12:20])
        assert (kind, length % 4) == (b"JSON", 0)
        self.document = json.loads(content[20 : 20 + length])
        rest = content[20 + length :]
        binary, kind = struct.unpack("<I4s", rest[:8])
        assert (kind, binary % 4, binary) == (b"BIN\0", 0, len(rest) - 8)
        assert self.document["buffers"] == [{"byteLength": binary}]
        self.binary = rest[8:]

    def array(self, number):
        accessor = self.document["accessors"][number]
        view = self.document["bufferViews"][accessor["bufferView"]]
        kind, size = KINDS[accessor["componentType"]]
        width = WIDTHS[accessor["type"]]
        assert view["byteOffset"] % 4 == 0
        assert view["byteLength"] == accessor["count"] * width * size
        assert view["byteOffset"] + view["byteLength"] <= len(self.binary)
        values = np.frombuffer(self.binary, kind, accessor["count"] * width, view["byteOffset"])
        values = values.reshape(-1, width)
        if "min" in accessor:
            np.testing.assert_array_equal(values.min(axis=0), np.float32(accessor["min"]))
            np.testing.assert_array_equal(values.max(axis=0), np.float32(accessor["max"]))
        return values[:, 0] if width == 1 else values

    def node(self, name):
        return next(k for k, node in enumerate(self.document["nodes"]) if node["name"] == name)

    def keys(self, name, path):
        """Times and values of the animation of a node."""
        animation = self.document["animations"][0]
        (channel,) = [
            one for one in animation["channels"] if one["target"] == {"node": self.node(name), "path": path}
        ]
        sampler = animation["samplers"][channel["sampler"]]
        assert sampler["interpolation"] == "LINEAR"
        return self.array(sampler["input"]), self.array(sampler["output"])


@pytest.fixture
def run(balls):
    return balls(3)


def frames(run, fps=60, speed=1.0):
    return np.arange(0.0, run.end_time, speed / fps)


def test_all_arrays_are_sound_and_meshes_are_closed_surfaces(run):
    file = File(glb(run, frames(run), fps=60))
    for number in range(len(file.document["accessors"])):
        assert np.isfinite(file.array(number)).all()
    for mesh in file.document["meshes"]:
        for primitive in mesh["primitives"]:
            places = file.array(primitive["attributes"]["POSITION"])
            normals = file.array(primitive["attributes"]["NORMAL"])
            indices = file.array(primitive["indices"])
            np.testing.assert_allclose(np.linalg.norm(normals, axis=1), 1, atol=1e-5)
            assert indices.max() == len(places) - 1
            a, b, c = places[indices.reshape(-1, 3)].transpose(1, 0, 2)
            outward = np.cross(b - a, c - a)
            assert (np.einsum("ni,ni->n", outward, normals[indices[::3]]) > 0).all()


def test_halves_of_a_ball_make_a_whole_one(run):
    file = File(glb(run, frames(run), fps=60))
    ball = file.document["meshes"][file.document["nodes"][file.node("ball 0")]["mesh"]]
    areas = []
    for primitive in ball["primitives"]:
        corners = file.array(primitive["attributes"]["POSITION"])[file.array(primitive["indices"])]
        a, b, c = corners.reshape(-1, 3, 3).transpose(1, 0, 2)
        areas.append(np.linalg.norm(np.cross(b - a, c - a), axis=1).sum() / 2)
    np.testing.assert_allclose(areas, 2 * np.pi, rtol=0.01)
    colours = [file.document["materials"][p["material"]] for p in ball["primitives"]]
    assert colours[0] != colours[1]


def test_keys_are_exact_states_at_frames_and_impacts(run):
    speed = 0.5
    times = frames(run, 60, speed)
    file = File(glb(run, times, fps=60))
    for number in range(3):
        seconds, places = file.keys(f"ball {number}", "translation")
        assert (np.diff(seconds) > 0).all()
        assert seconds[0] == 0
        shown = [event.time for event in run.events if event.time <= times[-1]]
        expected = np.unique(np.concatenate([times, shown])) / speed
        np.testing.assert_allclose(seconds, expected, atol=1e-6)
        exact = run.sample(np.minimum(speed * seconds.astype(float), run.end_time))
        np.testing.assert_allclose(places, exact.position[:, number + 1], atol=1e-5)
        impacts = [event.time for event in run.events if event.contacts.bodies[0, 0] == number + 1]
        for time in (time for time in impacts if time <= times[-1]):
            lowest = places[np.argmin(np.abs(seconds - time / speed)), 2]
            assert lowest == pytest.approx(0.1, abs=1e-6)


def test_rotations_are_unit_quaternions_x_y_z_w_without_jumps(run):
    file = File(glb(run, frames(run), fps=60))
    seconds, turns = file.keys("ball 1", "rotation")
    np.testing.assert_allclose(np.linalg.norm(turns, axis=1), 1, atol=1e-6)
    assert (np.einsum("ni,ni->n", turns[1:], turns[:-1]) > 0.7).all()
    exact = run.sample(seconds.astype(float)).orientation[:, 2]
    agreement = np.abs(np.einsum("ni,ni->n", turns, exact[:, [1, 2, 3, 0]]))
    np.testing.assert_allclose(agreement, 1, atol=1e-6)
    assert np.abs(turns[:, 1]).max() > 0.5  # they turn about y, the second number
    assert np.abs(turns[:, [0, 2]]).max() == 0


def test_spin_too_fast_for_the_frames_gets_keys_in_between(balls):
    run = balls(1, end_time=0.5, spin=300.0)
    file = File(glb(run, frames(run, 20), fps=20))
    seconds, _ = file.keys("ball 0", "rotation")
    assert (np.diff(seconds) * 300.0 < 1.6).all()


def test_the_up_of_the_run_is_the_y_axis_of_the_file(run):
    file = File(glb(run, frames(run), fps=60))
    (root,) = file.document["scenes"][0]["nodes"]
    x, y, z, w = file.document["nodes"][root]["rotation"]
    up = np.array([2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)])
    np.testing.assert_allclose(up, [0, 1, 0], atol=1e-12)


def test_another_reader_finds_the_bodies_where_they_are(run, tmp_path):
    path = render(run, tmp_path / "run.glb", start=0.3, end=0.5)
    scene = trimesh.load_scene(io.BytesIO(path.read_bytes()), file_type="glb", process=False)
    graph = scene.graph
    for number in range(3):
        matrix, _ = graph.get(f"ball {number}")
        place = run.sample(0.3).position[number + 1]
        np.testing.assert_allclose(matrix[:3, 3], [place[0], place[2], -place[1]], atol=1e-6)


def test_one_instant_has_no_animation(run):
    assert "animations" not in File(glb(run, np.array([0.2]), fps=60)).document
