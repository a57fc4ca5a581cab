"""A recorded run is made again and compared; one hash of all events tells equal runs from others."""

import os
import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest

import carom
from carom.command_line import main
from carom.simulator.record.event_bits import CONTACT_COLUMNS, EVENT_COLUMNS

from .equal_runs import scene_of_three

LINKS = Path(__file__).parents[2] / ".links"
MATERIAL = carom.Material(friction=0.3, restitution=0.6)


def bouncing(law=None, **how):
    """Two balls and a box above a floor."""
    scene = carom.Scene()
    scene.add(carom.Body(carom.HalfSpace((0, 0, 1)), fixed=True, material=MATERIAL, name="floor"))
    scene.add(
        carom.Body(carom.Sphere(0.1), density=1.0, position=(-1, 0, 0.5), material=MATERIAL, name="ball")
    )
    box = carom.Box((0.1, 0.2, 0.3))
    turned = (0.8, 0.0, 0.6, 0.0)
    scene.add(
        carom.Body(box, density=1.0, position=(1, 0, 0.4), orientation=turned, material=MATERIAL, name="box")
    )
    return carom.Simulator(scene, law or carom.StrongeCoulomb(), **how)


@pytest.fixture(scope="module")
def run():
    found = bouncing().run(0.6)
    assert len(found.events) >= 4
    return found


def test_a_run_comes_out_the_same(run, tmp_path):
    path = run.save(tmp_path / "run.h5")
    for recording in (run, path, str(path), carom.Trajectory.load(path)):
        found = carom.verify(recording)
        assert found.equal
        assert found.events == len(run.events)
        assert found.event_hash == run.event_hash == carom.Trajectory.load(path).event_hash
    assert len(run.event_hash) == 64
    assert bouncing().run(0.6).event_hash == run.event_hash
    assert bouncing().run(0.5).event_hash != run.event_hash


@pytest.mark.parametrize(
    "law", [carom.SetValuedRouth(cone_edges=6), carom.SequentialReflection(order="random")]
)
def test_runs_that_draw_at_random_come_out_the_same_by_their_seed(law, tmp_path):
    path = tmp_path / "run.h5"
    carom.Simulator(scene_of_three(), law, seed=5, record=path).run(0.3)
    assert carom.verify(path).equal


def test_another_seed_is_found_out(tmp_path):
    run = carom.Simulator(scene_of_three(), carom.SetValuedRouth(cone_edges=6), seed=5).run(0.3)
    path = run.save(tmp_path / "run.h5")
    with h5py.File(path, "r+") as file:
        file.attrs["seed"] = 6
    found = carom.verify(path)
    assert not found.equal
    assert found.difference.event is not None


def test_strides_single_steps_and_resuming_leave_the_same_events(run, tmp_path):
    strides = bouncing()
    for until in (0.1, 0.25, 0.6):
        strides.run(until, stop_at_rest=False)
    steps = bouncing()
    while steps.time < 0.55:
        steps.step_event()
    again = carom.Simulator.resume(run, len(run.events) // 2, record=tmp_path / "resumed.h5")
    resumed = again.run(0.6)
    assert strides.trajectory.event_hash == resumed.event_hash == run.event_hash
    for recording in (strides.trajectory, steps.trajectory, resumed, tmp_path / "resumed.h5"):
        assert carom.verify(recording).equal


def test_states_and_drives_that_were_set_are_set_again(tmp_path):
    scene = carom.Scene()
    scene.add(carom.Body(carom.HalfSpace((0, 0, 1)), fixed=True, material=MATERIAL))
    arm = scene.add(carom.Body(carom.Box((0.1, 0.1, 1.0)), density=10.0, position=(0, 0, 2)))
    scene.add(carom.Body(carom.Sphere(0.1), density=10.0, position=(2, 0, 1), material=MATERIAL))
    drive = carom.Drive(stiffness=3.0, damping=0.1)
    scene.add_joint(
        carom.RevoluteJoint(arm, anchor=(0, 0, 2.5), axis=(0, 1, 0), drive=drive, name="shoulder")
    )
    simulator = carom.Simulator(
        scene, carom.AnitescuPotra(), integrator=carom.Integrator(accuracy=1e-9), record=tmp_path / "run.h5"
    )
    simulator.run(0.3)
    simulator.set_drive("shoulder", carom.Drive(effort=1.0))
    state = simulator.state.copy()
    state.velocity[2] = (0.5, 0.0, 1.0)
    simulator.state = state
    simulator.run(1.0)
    assert {event.note for event in simulator.trajectory.events} > {"state set"}
    assert carom.verify(tmp_path / "run.h5").equal
    assert carom.Trajectory.load(tmp_path / "run.h5").integrator.accuracy == 1e-9


@pytest.mark.parametrize(
    ("table", "column", "what"),
    [
        *(("events", name, "") for name in EVENT_COLUMNS if name not in ("kind", "note", "status", "time")),
        *(("event_contacts", name, "of contact 0") for name in CONTACT_COLUMNS if name != "restitution"),
    ],
)
def test_the_first_difference_is_told(table, column, what, run, tmp_path):
    """One number of one event is changed in its last bit, or by one: the hash differs, and verify names it."""
    path = run.save(tmp_path / "run.h5")
    number = next(k for k, event in enumerate(run.events) if k and len(event.contacts))
    row = number if table == "events" else int(run.log.offsets("event_contacts")[number])
    with h5py.File(path, "r+") as file:
        rows = file[table][()]
        value = np.atleast_1d(rows[column][row]).copy()
        flat = value.reshape(-1)
        flat[-1] = (
            flat[-1] + 1
            if flat.dtype.kind == "i" and flat[-1] < 1
            else (flat[-1] - 1 if flat.dtype.kind == "i" else np.nextafter(flat[-1], 1e100))
        )
        rows[column][row] = value.reshape(np.shape(rows[column][row]))
        file[table][()] = rows
    assert carom.Trajectory.load(path).event_hash != run.event_hash
    difference = carom.verify(path).difference
    assert difference.event == number
    assert difference.recorded != difference.found
    assert what in difference.what
    assert f"event {number} of the recording" in str(difference)


def test_an_event_too_few_or_too_many_and_another_end_are_told(run, tmp_path):
    shorter = bouncing().run(run.events[3].time - 1e-6)
    path = shorter.save(tmp_path / "run.h5")
    with h5py.File(path, "r+") as file:
        file["progress"][-1, 1] = run.events[3].time + 1e-6
    difference = carom.verify(path).difference
    assert difference.event == len(shorter.events)
    assert "comes another" in str(difference)
    path = run.save(tmp_path / "run.h5")
    with h5py.File(path, "r+") as file:
        pieces = file["pieces"][()]
        pieces["state"][-1, 0] += 1e-9
        file["pieces"][()] = pieces
    difference = carom.verify(path).difference
    assert difference.event is None
    assert difference.what.startswith("state of")


@pytest.mark.parametrize("limit", [1, 3])
def test_how_a_run_failed_is_compared(limit, tmp_path):
    path = tmp_path / "run.h5"
    ended = bouncing(event_limit=limit, record=path).run(1.0)
    assert ended.status is carom.RunStatus.EVENT_LIMIT
    assert carom.verify(path).equal
    with h5py.File(path, "r+") as file:
        file["progress"][-1, 4] = float(list(carom.RunStatus).index(carom.RunStatus.NO_PROGRESS))
    found = carom.verify(path)
    assert not found.equal
    assert found.events == limit


def wind(t, state):
    return np.zeros((3, 6))


def test_what_a_recording_does_not_hold_is_refused_by_its_name(tmp_path):
    simulator = bouncing()
    simulator.add_event(lambda t, state: state.velocity[1, 2], name="highest point")
    with pytest.raises(
        ValueError, match="found by the function 'highest point', which a recording does not hold"
    ):
        carom.verify(simulator.run(1.0))
    scene = bouncing().model.scene
    scene.add_force(wind)
    whole = carom.Simulator(scene, carom.StrongeCoulomb()).run(0.5)
    assert carom.verify(whole).equal  # the function is still there
    path = whole.save(tmp_path / "run.h5")
    for call in (carom.verify, lambda path: carom.Simulator.resume(path, 0)):
        with pytest.raises(ValueError, match="force functions 'wind', which it does not hold"):
            call(path)
    ordered = bouncing(carom.SequentialReflection(order=lambda problem: range(len(problem.friction)))).run(
        0.5
    )
    with pytest.raises(ValueError, match="does not describe its law 'sequential-reflection'"):
        carom.verify(ordered)
    with pytest.raises(ValueError, match="got one by time steps"):
        carom.verify(carom.Trajectory(scene, "anitescu-potra", 0))
    with pytest.raises(TypeError, match="recording: expected the path of a file, got int"):
        carom.verify(3)


def test_every_member_of_a_branched_run_is_made_again(tmp_path):
    scene = bouncing().model.scene
    tree = carom.Simulator(scene, carom.SetValuedRouth(step=0.05, cone_edges=4)).branches(3, 1, 0.4)
    assert len(tree.nodes) > 1
    path = tree.save(tmp_path / "tree.h5")
    found = carom.verify(path)
    assert found.equal
    assert found.events == sum(len(tree.nodes[leaf].trajectory.events) for leaf in set(tree.leaves))
    with h5py.File(path, "r+") as file:
        file.attrs["branch_seed"] = 2
    assert "member" in str(carom.verify(path).difference)


@pytest.fixture(scope="module")
def close_tree():
    """Members that part with a tolerance, after a common past with an event."""
    simulator = bouncing(carom.SetValuedRouth(step=0.1, cone_edges=4))
    simulator.run(0.2)
    simulator.state = simulator.state.copy()
    tree = simulator.branches(4, 1, 0.35, tolerance=0.3)
    assert tree.first_event == 1
    assert len(tree.ends) == 4
    assert len(tree.nodes) == 6
    return tree


def test_members_that_parted_with_a_tolerance_are_grown_again_together(close_tree, tmp_path):
    assert carom.verify(close_tree).equal
    path = close_tree.save(tmp_path / "tree.h5")
    found = carom.verify(path)
    assert found.equal
    assert found.events == close_tree.first_event + sum(len(node.events) for node in close_tree.nodes)
    simulator = bouncing(carom.SetValuedRouth(step=0.1, cone_edges=4), event_limit=3)
    limited = simulator.branches(2, 1, 0.6, tolerance=0.3)
    assert {end.trajectory.status for end in limited.ends} == {carom.RunStatus.EVENT_LIMIT}
    assert carom.verify(limited).equal


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("branch_seed", 2, "branch"),
        ("tolerance", 0.9999, "branch"),
        ("tolerance", 1e-9, "branch"),
        ("seed", None, "branch 1: event"),
    ],
)
def test_another_tree_is_found_out(name, value, words, close_tree, tmp_path):
    path = close_tree.save(tmp_path / "tree.h5")
    with h5py.File(path, "r+") as file:
        if value is None:
            number = next(k for k in range(1, len(close_tree.nodes)) if len(close_tree.nodes[k].events))
            rows = file[f"node/{number:06d}/events"][()]
            rows["energy_change"][0] -= 1e-9
            file[f"node/{number:06d}/events"][()] = rows
            words = f"branch {number}: event {close_tree.nodes[number].first_event} of the recording"
        else:
            file.attrs[name] = value
    found = carom.verify(path)
    assert not found.equal
    assert str(found.difference).startswith(words)


def test_the_command_says_what_it_found(run, tmp_path, capsys):
    path = str(run.save(tmp_path / "run.h5"))
    assert main(["verify", path]) == 0
    said = capsys.readouterr().out
    assert "events and the end are equal bit for bit" in said
    assert run.event_hash in said
    assert main(["info", path]) == 0
    assert run.event_hash in capsys.readouterr().out.replace("\n", "").replace("│", "").replace(" ", "")
    with h5py.File(path, "r+") as file:
        rows = file["events"][()]
        rows["energy_change"][1] -= 1e-9
        file["events"][()] = rows
    assert main(["verify", path]) == 1
    assert "1 events are equal; event 1 of the recording" in capsys.readouterr().out
    assert main(["verify", str(tmp_path / "missing.h5")]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    simulator = bouncing()
    simulator.add_event(lambda t, state: state.velocity[1, 2], name="apex")
    simulator.run(1.0).save(path)
    assert main(["verify", path]) == 2
    assert f"carom: {path}: recording: its event" in capsys.readouterr().err


HASH = """
import sys, numba
import carom
run = carom.Trajectory.load(sys.argv[1])
print(numba.config.NUMBA_NUM_THREADS, carom.verify(run).equal, run.event_hash)
"""


def in_process(path, **environment):
    """Verify in a process of its own: threads, whether equal, hash."""
    done = subprocess.run(
        [sys.executable, "-c", HASH, str(path)],
        env=os.environ | {"PYTHONPATH": str(LINKS)} | environment,
        capture_output=True,
        text=True,
        check=True,
    )
    threads, equal, found = done.stdout.split()
    return int(threads), equal == "True", found


def test_any_process_with_any_number_of_threads_finds_the_same(run, tmp_path):
    path = run.save(tmp_path / "run.h5")
    for threads in (1, 2):
        assert in_process(path, NUMBA_NUM_THREADS=str(threads)) == (threads, True, run.event_hash)


@pytest.mark.long  # compiles the engine for a processor that is not this one
def test_kernels_for_another_processor_find_the_same(run, tmp_path):
    """Without AVX, with it, and for this processor, whatever it is: the engine rounds the same."""
    path = run.save(tmp_path / "run.h5")
    for name in ("generic", "haswell"):
        found = in_process(path, NUMBA_CPU_NAME=name, NUMBA_CPU_FEATURES="")
        assert found[1:] == (True, run.event_hash), name
