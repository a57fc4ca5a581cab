"""The code in docs/engine.md, docs/collision.md and docs/joints.md runs, in order."""

import re
from pathlib import Path

import pytest

import carom

DOCS = Path(__file__).parents[2] / "docs"


def blocks(page):
    return re.findall(r"```python\n(.*?)```", (DOCS / page).read_text(encoding="utf-8"), flags=re.DOTALL)


def tossed_box(height=0.3, velocity=(0.3, 0, 0.5)):
    material = carom.Material(friction=0.4, restitution=0.3)
    scene = carom.Scene()
    scene.add(carom.Body(carom.HalfSpace((0, 0, 1)), fixed=True, material=material))
    box = carom.Body(
        carom.Box((0.2, 0.1, 0.1)),
        density=1000.0,
        position=(0, 0, height),
        velocity=velocity,
        material=material,
    )
    scene.add(box)
    return scene


def test_working_with_a_running_simulation(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    scene = tossed_box()
    recorded = carom.Simulator(scene, carom.StrongeCoulomb(), record="run.h5").run(2.0)
    assert len(recorded.events) > 12
    names = {"carom": carom, "scene": tossed_box(1.0)}
    given = blocks("engine.md")
    assert len(given) == 7
    found = {}
    for number, block in enumerate(given):
        text = block.replace("branches(50", "branches(8").replace(
            "StrongeCoulomb(), seed=3", "StrongeCoulomb()"
        )
        if "contact_forces" in block:
            sliding = tossed_box(0.05, velocity=(3, 0.2, 0))
            names["trajectory"] = carom.Simulator(sliding, carom.StrongeCoulomb()).run(0.5)
        exec(compile(text, f"engine.md, block {number}", "exec"), names)
        found |= {number: dict(names)}
    assert any(event.note == "highest point" for event in found[0]["trajectory"].events)
    assert found[2]["forces"].unexplained < 1e-6
    assert found[3]["steel"].restitution.exponent == 0.25
    assert len(found[4]["run"].trajectories) == 8
    assert found[6]["found"].equal


def test_collision_and_queries():
    names = {}
    for block in blocks("collision.md"):
        exec(compile(block, "collision.md", "exec"), names)
    assert names["distance"].gap == pytest.approx(2.0, abs=1e-12)
    assert names["met"].time == pytest.approx(1.0, abs=1e-12)


def test_joints():
    other = carom.Body(carom.Box((1.0, 0.05, 0.05)), mass=1.0, position=(1.5, 0, 0))
    names = {"carom": carom, "other": other}
    (block,) = blocks("joints.md")
    scene_line, rest = block.split("\n", 1)
    exec(compile(scene_line, "joints.md", "exec"), names)
    names["scene"].add(other)
    exec(compile(rest, "joints.md", "exec"), names)
    assert len(names["scene"].joints) == 2
