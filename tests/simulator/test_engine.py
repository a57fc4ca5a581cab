"""Stepping, sampling, refusal of bad starts, run endings, and the cache of compiled kernels."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from carom import (
    AnitescuPotra,
    Body,
    HalfSpace,
    Material,
    RunStatus,
    Scene,
    SequentialReflection,
    Simulator,
    Sphere,
    StrongeCoulomb,
    Trajectory,
)
from carom.compiled import kernel

ROOT = Path(__file__).parents[2]


def bouncing(event_limit=1000):
    material = Material(friction=0.0, restitution=0.8)
    scene = Scene()
    scene.add(Body(HalfSpace((0, 0, 1)), fixed=True, material=material, name="floor"))
    scene.add(
        Body(
            Sphere(0.1),
            density=1000.0,
            position=(0, 0, 1.1),
            velocity=(0.3, 0, 0),
            angular_velocity=(0, 2, 1),
            material=material,
            name="ball",
        )
    )
    return Simulator(scene, law=SequentialReflection(), event_limit=event_limit)


def test_ten_steps_end_where_one_run_ends():
    stepped, run = bouncing(), bouncing()
    for _ in range(10):
        state = stepped.step(0.1)
    trajectory = run.run(stepped.time)
    expected = trajectory.sample(trajectory.end_time)
    assert stepped.time == pytest.approx(1.0, abs=1e-15)
    for name in ("position", "orientation", "velocity", "angular_velocity"):
        np.testing.assert_allclose(getattr(state, name), getattr(expected, name), rtol=0, atol=1e-12)


def test_scalar_and_vector_sampling_agree_bit_for_bit():
    trajectory = bouncing().run(1.5)
    times = np.linspace(0.0, 1.5, 37)
    together = trajectory.sample(times)
    for k, t in enumerate(times):
        alone = trajectory.sample(t)
        for name in ("position", "orientation", "velocity", "angular_velocity"):
            assert np.array_equal(getattr(alone, name), getattr(together, name)[k])
    assert trajectory.sample(0.5).position.shape == (2, 3)
    assert together.orientation.shape == (37, 2, 4)


def test_sampling_takes_the_asked_side_of_an_event():
    trajectory = bouncing().run(1.0)
    event = trajectory.events[0]
    left = trajectory.sample(event.time, side="left")
    right = trajectory.sample(event.time)
    assert left.velocity[1, 2] < 0 < right.velocity[1, 2]
    assert right.velocity[1, 2] == pytest.approx(-0.8 * left.velocity[1, 2], rel=1e-12)
    np.testing.assert_allclose(left.position, right.position, rtol=0, atol=1e-15)
    assert np.array_equal(event.before.velocity, left.velocity)
    assert np.array_equal(event.after.velocity, right.velocity)


def test_sampling_outside_the_run_is_refused():
    trajectory = bouncing().run(1.0)
    for t in (-1e-9, 1.0 + 1e-9, np.nan, [0.5, 2.0]):
        with pytest.raises(ValueError, match="t: expected times within"):
            trajectory.sample(t)
    with pytest.raises(ValueError, match="side"):
        trajectory.sample(0.5, side="middle")


def test_overlap_at_the_start_names_both_bodies_and_the_depth():
    scene = Scene()
    scene.add(Body(HalfSpace((0, 0, 1)), fixed=True, name="ground"))
    scene.add(Body(Sphere(0.1), density=1.0, position=(0, 0, 0.075), name="marble"))
    with pytest.raises(ValueError, match=r"'ground'.*'marble'.*0\.025 m"):
        Simulator(scene, law=SequentialReflection())


def test_event_limit_is_a_status_with_advice():
    trajectory = bouncing(event_limit=5).run(5.0)
    assert trajectory.status is RunStatus.EVENT_LIMIT
    assert len(trajectory.events) == 5
    assert trajectory.end_time == trajectory.events[-1].time
    assert "event_limit" in trajectory.message


def test_kernels_outside_kernel_files_are_refused():
    with pytest.raises(ValueError, match=r"must live in a file ending in 'kernels\.py'"):

        @kernel()
        def doubled(x):
            return 2 * x


PROBE = """
from carom.compiled import kernel_stamp
from carom.impact_laws.probe_kernels import caller
print(kernel_stamp(), caller(1.0))
"""


def test_edit_of_a_callee_reaches_cached_callers_in_other_files(tmp_path):
    package = tmp_path / "carom"
    shutil.copytree(ROOT / "face", package, ignore=shutil.ignore_patterns("__pycache__"))
    for room in ("bodies", "impact_laws", "simulator"):
        shutil.copytree(ROOT / room, package / room, ignore=shutil.ignore_patterns("__pycache__"))
    callee = package / "simulator" / "callee_kernels.py"
    caller = package / "impact_laws" / "probe_kernels.py"
    head = "from carom.compiled import kernel\n"
    caller.write_text(
        f"{head}from carom.simulator.callee_kernels import callee\n\n"
        "@kernel()\ndef caller(x):\n    return callee(x) + 1.0\n"
    )
    environment = os.environ | {
        "PYTHONPATH": str(tmp_path),
        "NUMBA_CACHE_DIR": str(tmp_path / "cache"),
        "PYTHONDONTWRITEBYTECODE": "1",
    }

    def probe():
        done = subprocess.run(
            [sys.executable, "-c", PROBE], env=environment, capture_output=True, text=True, timeout=100
        )
        assert done.returncode == 0, done.stderr
        stamp, value = done.stdout.split()
        return stamp, float(value)

    def edit_callee(factor):
        callee.write_text(f"{head}\n@kernel()\ndef callee(x):\n    return {factor} * x\n")

    edit_callee(2.0)
    stamp, value = probe()
    assert value == 3.0
    assert probe() == (stamp, 3.0)
    assert list((tmp_path / "cache").rglob("*caller*.nbi"))
    edit_callee(5.0)
    edited, value = probe()
    assert (edited != stamp, value) == (True, 6.0)
    tolerances = package / "simulator" / "tolerances.py"
    tolerances.write_text(tolerances.read_text() + "\n# changed\n")
    assert probe()[0] != edited


@pytest.mark.parametrize("floor", [False, True])
def test_no_next_event_where_nothing_can_meet(floor):
    scene = Scene(gravity=(0, 0, 0) if floor else (0, 0, -9.81))
    if floor:
        scene.add(Body(HalfSpace((0, 0, 1)), fixed=True))
    scene.add(Body(Sphere(0.1), density=1.0, position=(0, 0, 1), velocity=(0, 0, 1)))
    assert Simulator(scene, SequentialReflection()).step_event() is None


def test_a_run_cut_off_by_an_error_is_not_called_finished(tmp_path):
    def broken(event, simulator):
        raise RuntimeError("broken callback")

    scene = Scene()
    scene.add(Body(HalfSpace((0, 0, 1)), fixed=True))
    scene.add(Body(Sphere(0.1), density=1.0, position=(0, 0, 1)))
    simulator = Simulator(scene, AnitescuPotra(), record=tmp_path / "run.h5")
    simulator.on_event(broken)
    with pytest.raises(RuntimeError, match="broken callback"):
        simulator.run(5.0)
    assert simulator.trajectory.status is RunStatus.UNFINISHED
    assert Trajectory.load(tmp_path / "run.h5").status is RunStatus.UNFINISHED


@pytest.mark.parametrize("gravity", [0.0, -9.81])
def test_break_of_a_rack_of_equal_balls(gravity):
    """Balls that pass impulses on exactly are left touching with rounding between them; balls that an impact takes
    out of contact with others must not be moved with these any more."""
    radius, length, width = 0.03, 2.24, 1.12
    material = Material(friction=0.0, restitution=1.0)
    scene = Scene(gravity=(0.0, 0.0, gravity))
    scene.add(Body(HalfSpace((0, 0, 1), offset=-radius), fixed=True, material=material))
    for x, y, reach in ((1, 0, length), (-1, 0, length), (0, 1, width), (0, -1, width)):
        scene.add(Body(HalfSpace((x, y, 0), offset=-0.5 * reach), fixed=True, material=material))
    ball = Sphere(radius)
    scene.add(Body(ball, mass=0.17, position=(-0.56, 0, 0), velocity=(8, 0, 0), material=material))
    for row in range(5):
        for place in range(row + 1):
            position = (0.56 + row * 3**0.5 * radius, (2 * place - row) * radius, 0.0)
            scene.add(Body(ball, mass=0.17, position=position, material=material))
    trajectory = Simulator(scene, SequentialReflection()).run(1.0)
    assert trajectory.status is RunStatus.REACHED_END, trajectory.message
    assert len(trajectory.events) > 10
    energy = trajectory.energy(np.linspace(0.0, 1.0, 20))
    np.testing.assert_allclose(energy, energy[0], rtol=1e-12)
    assert trajectory.largest_overlap() <= 1e-12


@pytest.mark.parametrize("restitution", [0.0, 0.5])
def test_touching_bodies_that_approach_at_the_start_have_an_impact(restitution):
    material = Material(friction=0.3, restitution=restitution)
    scene = Scene()
    scene.add(Body(HalfSpace((0, 0, 1)), fixed=True, material=material))
    for k in range(2):
        scene.add(
            Body(
                Sphere(0.5),
                mass=2.0,
                position=(3.0 * k, 0, 0.5),
                velocity=(0, 0, -2.0),
                material=material,
            )
        )
    simulator = Simulator(scene, StrongeCoulomb())
    event = simulator.step_event()
    assert event.time == 0.0
    assert event.before.velocity[1, 2] == -2.0
    assert event.after.velocity[1, 2] == pytest.approx(2.0 * restitution, abs=1e-9)
