"""Colours of bodies in what is drawn and exported, without a picture."""

import gzip
import json
import re
import struct
from base64 import b64decode

import numpy as np
import pytest

import carom
from carom.viewer.stage import FIXED_COLOUR, PALETTE, Stage

TEAL = np.array((0x21, 0xAD, 0xB3)) / 255


@pytest.fixture
def run():
    """Two balls and a post, of which one ball and the post have a colour, over a floor of some name."""
    scene = carom.Scene()
    scene.add(carom.Body(carom.HalfSpace((0, 0, 1)), fixed=True, name="the hall"))
    scene.add(carom.Body(carom.Sphere(0.1), mass=1.0, position=(0, 0, 1), color="teal", name="ball"))
    scene.add(carom.Body(carom.Sphere(0.1), mass=1.0, position=(1, 0, 1), name="plain"))
    scene.add(
        carom.Body(carom.Box((0.1, 0.1, 1)), fixed=True, position=(2, 0, 0.5), color="#21adb3", name="post")
    )
    scene.add(carom.Body(carom.Box((0.1, 0.1, 2)), fixed=True, position=(3, 0, 1), name="grey post"))
    return carom.Simulator(scene, carom.AnitescuPotra()).run(0.2)


def colours_of(run):
    stage = Stage(run)
    return {
        int(body): colour[:3]
        for part in stage.parts
        for body, colour in zip(part.bodies, part.colour, strict=True)
    }


def test_a_stage_has_the_colours_that_bodies_have(run):
    found = colours_of(run)
    assert found[1] == pytest.approx(TEAL)
    assert found[2] == pytest.approx(PALETTE[1])
    assert found[3] == pytest.approx(TEAL)
    assert found[4] == pytest.approx(FIXED_COLOUR)


def test_the_player_has_them_too(run):
    page = carom.player_html(run)
    data = max(re.findall(r"[A-Za-z0-9+/=]{400,}", page), key=len)
    content = gzip.decompress(b64decode(data))
    assert json.dumps([round(float(part), 3) for part in TEAL])[1:-1].replace(" ", "") in content.decode(
        errors="replace"
    ).replace(" ", "")


def test_gltf_has_them_and_names_floors_as_they_are(run, tmp_path):
    content = carom.render(run, tmp_path / "run.glb").read_bytes()
    (length,) = struct.unpack("<I", content[12:16])
    document = json.loads(content[20 : 20 + length])
    names = {node["name"]: node for node in document["nodes"]}
    assert {"the hall", "ball", "plain", "post"} <= set(names)
    assert "plane" not in names
    materials = {
        tuple(document["materials"][primitive["material"]]["pbrMetallicRoughness"]["baseColorFactor"][:3])
        for primitive in document["meshes"][names["ball"]["mesh"]]["primitives"]
    }
    linear = ((TEAL + 0.055) / 1.055) ** 2.4  # of sRGB, IEC 61966-2-1
    assert any(np.allclose(colour, linear, atol=2e-3) for colour in materials)
