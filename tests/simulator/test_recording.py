"""Recordings: equal after a round trip, equal for equal seeds, whole after a kill, refused when foreign."""

import os
import random
import subprocess
import sys
import time
from dataclasses import fields
from pathlib import Path

import h5py
import numpy as np
import pytest

from carom import (
    AnitescuPotra,
    Body,
    Box,
    FileFormatError,
    HalfSpace,
    Material,
    Scene,
    Simulator,
    Sphere,
    Trajectory,
)
from carom.simulator.record.log import LOG_TABLES
from carom.simulator.record.recording import opened_to_append

LINKS = Path(__file__).parents[2] / ".links"


def tumbling(seed=3, record=None):
    """A box and a ball thrown onto a floor; returns the simulator."""
    rng = np.random.default_rng(seed)
    material = Material(friction=0.4, restitution=0.3)
    scene = Scene()
    scene.add(Body(HalfSpace((0, 0, 1)), fixed=True, material=material, name="floor"))
    orientation = rng.normal(size=4)
    box = Body(
        Box((0.1, 0.2, 0.3)),
        density=1000.0,
        position=(0, 0, 0.5),
        orientation=orientation / np.linalg.norm(orientation),
        angular_velocity=rng.normal(size=3),
        material=material,
        name="box",
    )
    scene.add(box)
    scene.add(Body(Sphere(0.05), density=500.0, position=(1, 0, 0.4), velocity=(-1, 0, 0), material=material))
    return Simulator(scene, law=AnitescuPotra(), seed=seed, record=record)


DURATION = 0.45


@pytest.fixture(scope="module")
def trajectory():
    found = tumbling().run(DURATION)
    assert len(found.events) >= 2
    return found


def content(path):
    """Every dataset and attribute of an HDF5 file as bytes, by name."""
    found = {}
    with h5py.File(path, "r") as file:

        def collect(name, item):
            for key, value in item.attrs.items():
                found[f"{name}@{key}"] = np.asarray(value).tobytes() if not isinstance(value, str) else value
            if isinstance(item, h5py.Dataset):
                found[name] = (item.shape, str(item.dtype), item[()].tobytes())

        collect("", file)
        file.visititems(collect)
    return found


def assert_equal(first, second):
    assert len(first.events) == len(second.events)
    for one, other in zip(first.events, second.events, strict=True):
        assert (one.time, one.kind, one.note) == (other.time, other.kind, other.note)
        for name in (field.name for field in fields(one.contacts)):
            assert np.array_equal(getattr(one.contacts, name), getattr(other.contacts, name)), name
        assert (one.problem is None) == (other.problem is None)
        if one.problem is not None:
            for name in ("W", "u", "friction", "restitution"):
                assert np.array_equal(getattr(one.problem, name), getattr(other.problem, name)), name
            assert np.array_equal(one.outcome.impulse, other.outcome.impulse)
            assert one.outcome.status is other.outcome.status
            assert list(one.outcome.path.labels) == list(other.outcome.path.labels)
            assert np.array_equal(one.outcome.path.impulse, other.outcome.path.impulse)
    assert (first.start_time, first.end_time, first.rest_time) == (
        second.start_time,
        second.end_time,
        second.rest_time,
    )
    times = np.linspace(first.start_time, first.end_time, 101)
    times = np.concatenate([times, [event.time for event in first.events]])
    for side in ("left", "right"):
        one, other = first.sample(times, side=side), second.sample(times, side=side)
        for name in ("position", "orientation", "velocity", "angular_velocity"):
            assert np.array_equal(getattr(one, name), getattr(other, name)), name


def test_save_and_load_keep_every_bit(trajectory, tmp_path):
    path = trajectory.save(tmp_path / "run.h5")
    loaded = Trajectory.load(path)
    assert_equal(trajectory, loaded)
    assert loaded.status is trajectory.status
    assert (loaded.law_name, loaded.seed) == (trajectory.law_name, trajectory.seed)
    assert [body.name for body in loaded.scene.bodies] == [body.name for body in trajectory.scene.bodies]
    again = loaded.save(tmp_path / "again.h5")
    assert content(path) == content(again)


def test_equal_seeds_write_equal_recordings(tmp_path):
    for name in ("first.h5", "second.h5"):
        tumbling(seed=5).run(DURATION).save(tmp_path / name)
    assert content(tmp_path / "first.h5") == content(tmp_path / "second.h5")


def test_recording_while_running_holds_what_saving_afterwards_holds(tmp_path):
    recorded = tmp_path / "recorded.h5"
    trajectory = tumbling(record=recorded).run(DURATION)
    saved = trajectory.save(tmp_path / "saved.h5")
    first, second = Trajectory.load(recorded), Trajectory.load(saved)
    assert_equal(first, second)
    one, other = content(recorded), content(saved)
    for name in LOG_TABLES:
        assert one[name] == other[name], name


def test_files_that_are_no_recordings_are_refused_with_their_path(trajectory, tmp_path):
    text = tmp_path / "text.h5"
    text.write_text("not a recording\n")
    foreign = tmp_path / "foreign.h5"
    with h5py.File(foreign, "w") as file:
        file["x"] = np.arange(3)
    whole = trajectory.save(tmp_path / "whole.h5")
    for path in (text, foreign, tmp_path / "missing.h5"):
        with pytest.raises(FileFormatError) as caught:
            Trajectory.load(path)
        assert str(path) in str(caught.value)
        assert "\n" not in str(caught.value)
    data = whole.read_bytes()
    for share in (0.0,):
        cut = tmp_path / f"cut-{share}.h5"
        cut.write_bytes(data[: int(share * len(data))])
        with pytest.raises(FileFormatError):
            Trajectory.load(cut)


LONG_RUN = """
import sys, time
from carom import Body, HalfSpace, Material, Scene, SequentialReflection, Simulator, Sphere
material = Material(friction=0.0, restitution=0.99)
scene = Scene()
scene.add(Body(HalfSpace((0, 0, 1)), fixed=True, material=material))
for k in range(4):
    scene.add(Body(Sphere(0.1), density=1000.0, position=(k, 0, 0.2 + 0.05 * k), material=material))
sim = Simulator(scene, law=SequentialReflection(), record=sys.argv[1])
sim.step_event()
print("ready", flush=True)
while sim.step_event() is not None:
    pass
time.sleep(60)
"""


def kill_and_load(path, delay):
    """Kill a recording run some seconds after it began and check what is left; number of events."""
    process = subprocess.Popen(
        [sys.executable, "-c", LONG_RUN, str(path)],
        env=os.environ | {"PYTHONPATH": str(LINKS)},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout.readline() == "ready\n"
        time.sleep(delay)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
    trajectory = Trajectory.load(path)
    impacts = trajectory.impacts
    times = impacts.time
    assert (np.diff(times) >= 0).all()
    assert np.array_equal(impacts.event, np.arange(len(trajectory.events)))
    assert trajectory.status.value == "unfinished"
    for event in trajectory.events:
        assert event.outcome.resolved
        assert len(event.contacts) == 1
    plain = np.array([not event.note for event in trajectory.events], dtype=bool)
    before, after = impacts["normal_velocity_before"][plain], impacts["normal_velocity_after"][plain]
    np.testing.assert_allclose(after, -0.99 * before, rtol=1e-9, atol=1e-9)
    for event in trajectory.events[::50]:
        body = event.contacts.bodies[0].max()
        before, after = event.before.velocity[body, 2], event.after.velocity[body, 2]
        assert event.note or after == pytest.approx(-0.99 * before, rel=1e-9, abs=1e-9)
    if len(times):
        assert trajectory.end_time >= times[-1]
        trajectory.sample(np.linspace(0.0, trajectory.end_time, 50))
    return len(times)


def test_recordings_of_killed_runs_load_up_to_the_last_flush(tmp_path):
    delays = random.Random(7)
    counts = [kill_and_load(tmp_path / f"{k}.h5", delays.uniform(0.0, 1.0)) for k in range(10)]
    assert max(counts) > 0


@pytest.mark.long
def test_recordings_of_fifty_killed_runs_load(tmp_path):
    delays = random.Random(11)
    counts = [kill_and_load(tmp_path / f"{k}.h5", delays.uniform(0.0, 1.5)) for k in range(50)]
    assert max(counts) > 0


@pytest.mark.parametrize("how", [{}, {"locking": False}, {"libver": "latest", "swmr": True}, {"mode": "r+"}])
def test_a_recording_loads_while_it_is_looked_at_with_h5py(tmp_path, how):
    """Saved: it was "not a carom recording (no HDF5 file)", since HDF5 opens a file in one way only."""
    path = tumbling().run(0.3).save(tmp_path / "run.h5")
    expected = Trajectory.load(path).sample(0.2)
    with h5py.File(path, **{"mode": "r"} | how):
        assert np.array_equal(Trajectory.load(path).sample(0.2).position, expected.position)


def test_a_recording_is_looked_at_with_h5py_while_its_run_is_there(tmp_path):
    """Saved: "file locking flag values don't match" until the run was gone, and sometimes for longer."""
    path = tmp_path / "run.h5"
    simulator = Simulator(tumbling().model.scene, AnitescuPotra(), record=path)
    for until in (0.2, 0.4):
        run = simulator.run(until, stop_at_rest=False)
        with h5py.File(path) as file:
            assert len(file["pieces"]) == len(run.log.pieces) > 0


def test_a_file_that_another_program_has_locked_is_written_to(tmp_path):
    fcntl = pytest.importorskip("fcntl", reason="no flock on this system")
    path = tmp_path / "file.h5"
    with h5py.File(path, "w", libver="latest", locking=False) as file:
        file.create_dataset("rows", dtype="f8", shape=(0,), maxshape=(None,), chunks=(8,))
    with open(path, "rb") as other:
        fcntl.flock(other, fcntl.LOCK_SH)
        with opened_to_append(path) as file:
            file["rows"].resize((3,))
    with h5py.File(path) as file:
        assert file["rows"].shape == (3,)


def test_a_recording_that_is_open_in_a_way_that_cannot_be_shared_says_so(tmp_path):
    path = tumbling().run(0.3).save(tmp_path / "run.h5")
    with (
        h5py.File(path, "r", locking=True),
        pytest.raises(FileFormatError, match=r"run\.h5: this process has it open in another way: "),
    ):
        Trajectory.load(path)


@pytest.mark.parametrize("share", [0.0, 0.01, 0.3, 0.7, 0.95, 0.999])
def test_truncated_recording_is_refused_at_once(tmp_path, share):
    whole = tumbling().run(0.3).save(tmp_path / "whole.h5").read_bytes()
    cut = tmp_path / "cut.h5"
    cut.write_bytes(whole[: int(share * len(whole))])
    with pytest.raises(FileFormatError, match=r"cut\.h5"):
        Trajectory.load(cut)


def test_why_a_run_ended_is_kept(tmp_path):
    """Words of a failure name what happened; a run that was told to stop in strides keeps the last ones."""
    path = tmp_path / "run.h5"
    simulator = Simulator(tumbling().model.scene, AnitescuPotra(), event_limit=5, record=path)
    simulator.run(0.01)
    ended = simulator.run(5.0)
    assert "5" in ended.message
    for loaded in (Trajectory.load(path), Trajectory.load(ended.save(tmp_path / "saved.h5"))):
        assert (loaded.status, loaded.message) == (ended.status, ended.message)
