"""The code in docs/collision.md and docs/joints.md runs, in order."""

import re
from pathlib import Path

import pytest

import carom

DOCS = Path(__file__).parents[2] / "docs"


def blocks(page):
    return re.findall(r"```python\n(.*?)```", (DOCS / page).read_text(encoding="utf-8"), flags=re.DOTALL)


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
