"""The code in docs/engine.md runs, in order."""

import re
from pathlib import Path

import numpy as np
import pytest

import carom

TEXT = (Path(__file__).parents[2] / "docs" / "engine.md").read_text(encoding="utf-8")


def bouncing():
    material = carom.Material(friction=0.2, restitution=0.8)
    scene = carom.Scene()
    scene.add(carom.Body(carom.HalfSpace((0, 0, 1)), fixed=True, material=material))
    scene.add(carom.Body(carom.Sphere(0.1), mass=1.0, position=(0, 0, 0.5), material=material))
    return scene


def test_the_examples_run(tmp_path, monkeypatch):
    pandas = pytest.importorskip("pandas")
    monkeypatch.chdir(tmp_path)
    carom.Simulator(bouncing(), carom.SequentialReflection(), record="run.h5").run(2.5)
    blocks = re.findall(r"```python\n(.*?)```", TEXT, flags=re.DOTALL)
    assert len(blocks) == 10
    names = {"carom": carom, "np": np, "pandas": pandas, "scene": bouncing()}
    for block in blocks:
        exec(compile(block, "engine.md", "exec"), names)
        names["event"] = None
    assert len(names["run"]) == 50
    assert len(names["states"].time) == 501
    assert len(names["frame"]) > 0
    assert names["domain"].left_out == ()
    assert abs(names["halfway"].velocity[1, 2]) < 2.9
    assert names["found"].equal
    assert names["forces"].unexplained < 1e-9
    assert names["steel"].restitution.exponent == 0.25
    for name in re.findall(r"\| `(\w+)`", TEXT):
        if name.endswith(("impulse", "before", "after", "event", "time", "first")):
            assert name in names["frame"].columns


def test_what_the_page_names_exists():
    for name in re.findall(r"carom\.([A-Za-z_]+)", TEXT):
        assert hasattr(carom, name), name
