"""The scene of every demo as a file: run from there, it has the same events bit for bit."""

import numpy as np
import pytest

from carom.bodies import Scene
from carom.demos import ComputedDemo, demo_by_name, demo_names
from carom.demos.break_odds import row_scene
from carom.demos.painleve_map import rod_scene
from carom.demos.pile import pile_scene
from carom.demos.rockfall import rock_scene
from carom.demos.variational_joints import double_pendulum, four_bar
from carom.demos.zeno_block import zeno_scene
from carom.impact_laws import law_by_name
from carom.simulator import Simulator

from ..bodies.equal_scenes import differences
from ..simulator.guard_scenes import SCENES

OTHERS = {
    "break-odds": row_scene,
    "painleve-map": lambda: rod_scene(0.7, 1.5),
    "pile": lambda: pile_scene(40),
    "rockfall": lambda: rock_scene(np.random.default_rng(0)),
    "double pendulum": double_pendulum,
    "four-bar linkage": four_bar,
    "zeno-block": zeno_scene,
} | {f"guard {name}": lambda make=make: make()[0] for name, make in SCENES.items()}
DEMOS = [name for name in demo_names() if not isinstance(demo_by_name(name), ComputedDemo)]


@pytest.mark.parametrize("name", DEMOS)
def test_a_demo_from_a_file_has_the_events_of_the_demo(name, tmp_path):
    demo = demo_by_name(name)
    path = demo.scene().save(tmp_path / "scene.json")
    runs = [
        Simulator(scene, law_by_name(demo.law)).run(demo.duration)
        for scene in (demo.scene(), Scene.load(path))
    ]
    assert runs[0].event_hash == runs[1].event_hash
    ends = [run.sample(run.end_time) for run in runs]
    assert runs[0].end_time == runs[1].end_time
    for field in ("position", "orientation", "velocity", "angular_velocity"):
        assert getattr(ends[0], field).tobytes() == getattr(ends[1], field).tobytes()
    assert runs[0].remarks == runs[1].remarks == []


@pytest.mark.parametrize("name", OTHERS)
def test_other_scenes_come_back_bit_for_bit(name, tmp_path):
    path = OTHERS[name]().save(tmp_path / "scene.json")
    assert differences(OTHERS[name](), Scene.load(path)) == []


def test_there_are_demos_with_joints_meshes_and_planes():
    scenes = [demo_by_name(name).scene() for name in DEMOS]
    assert any(scene.joints for scene in scenes)
    assert any(scene.plane is not None for scene in scenes)
    assert any(hasattr(body.shape, "vertices") for scene in scenes for body in scene.bodies)
