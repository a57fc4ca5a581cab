"""Many members: equal bits however they are run, failures as rows, one file that survives."""

import doctest
import importlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import h5py
import numpy as np
import pytest

import carom
from carom.simulator.record.schema import text_of, write_text

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
import member_functions as functions  # noqa: E402

LINKS = HERE.parents[2] / ".links"
RUN = carom.SceneRun(carom.StrongeCoulomb(), 1.5)


def tossed(members=12, **options):
    return carom.perturbed(
        functions.box_scene(), members=members, position=1e-2, velocity={"box": (0.1, 0.2, 0.1)},
        friction=(0.1, 0.4), **options,
    )  # fmt: skip


def assert_equal(one, other):
    assert list(one.columns) == list(other.columns)
    for name in one.columns:
        assert one[name].tobytes() == other[name].tobytes(), name
    assert one.status.tolist() == other.status.tolist()
    assert one.messages == other.messages


@pytest.fixture(scope="module")
def serial():
    return carom.ensemble(RUN, tossed(), workers=0, seed=4)


@pytest.fixture(scope="module")
def serial_numbers():
    return carom.ensemble(functions.numbers, 200, workers=0, seed=9)


@pytest.mark.parametrize(("workers", "chunk"), [(1, None), (2, 1), (2, 5), (4, None)])
def test_workers_and_chunks_do_not_matter(serial, workers, chunk):
    assert serial.good.all()
    assert len(np.unique(serial["position"][:, 1, 0])) == len(serial)
    assert_equal(serial, carom.ensemble(RUN, tossed(), workers=workers, chunk=chunk, seed=4))


def loky_pool():
    loky = pytest.importorskip("loky", reason="loky is not installed")
    return loky.get_reusable_executor(max_workers=2)


@pytest.mark.parametrize(
    "make", [lambda: ThreadPoolExecutor(3), lambda: ProcessPoolExecutor(2), loky_pool],
    ids=["threads", "processes", "loky"],
)  # fmt: skip
def test_any_executor_gives_the_same(serial_numbers, make):
    with make() as executor:
        found = carom.ensemble(functions.numbers, 200, executor=executor, seed=9)
    assert_equal(serial_numbers, found)


MPI = """
import sys
sys.path[:0] = [{here!r}]
import carom, member_functions as functions
from mpi4py.futures import MPIPoolExecutor
from test_ensemble import RUN, assert_equal, tossed

if __name__ == "__main__":
    with MPIPoolExecutor(2) as executor:
        for run, members in ((functions.numbers, 200), (RUN, tossed())):
            found = carom.ensemble(run, members, executor=executor, seed=9)
            assert_equal(carom.ensemble(run, members, workers=0, seed=9), found)
    print("equal")
"""


def test_workers_that_speak_mpi_give_the_same(tmp_path):
    pytest.importorskip("mpi4py", reason="mpi4py is not installed")
    mpiexec = shutil.which("mpiexec")
    if mpiexec is None:
        pytest.skip("there is no command mpiexec")
    if subprocess.run([sys.executable, "-c", "import mpi4py.MPI"], capture_output=True).returncode:
        pytest.skip("mpi4py finds no library of MPI")
    script = tmp_path / "sweep.py"
    script.write_text(MPI.format(here=str(HERE)))
    command = [mpiexec, "-n", "3", sys.executable, "-m", "mpi4py.futures", str(script)]
    environment = os.environ | {"PYTHONPATH": str(LINKS)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout) == (0, "equal\n"), done.stderr


def test_threads_run_scenes(serial):
    with ThreadPoolExecutor(3) as executor:
        assert_equal(serial, carom.ensemble(RUN, tossed(), executor=executor, seed=4))


def test_each_member_has_the_generator_that_numpy_would_spawn(serial_numbers):
    spawned = [np.random.default_rng(own) for own in np.random.SeedSequence(9).spawn(200)]
    expected = np.array([rng.normal(size=2) for rng in spawned])
    assert np.array_equal(serial_numbers["drawn"], expected)
    assert np.array_equal(serial_numbers["index"], np.arange(200.0))
    assert np.isnan(serial_numbers["ragged"][1]).tolist() == [False, False, True]


def test_another_seed_gives_others(serial_numbers):
    other = carom.ensemble(functions.numbers, 5, workers=0, seed=10)
    assert not np.isclose(other["drawn"], serial_numbers["drawn"][:5]).any()


def test_default_columns_are_those_of_the_trajectory(serial):
    run = serial.rerun(3)
    end = run.sample(run.end_time)
    assert np.array_equal(serial["position"][3], end.position)
    assert np.array_equal(serial["orientation"][3], end.orientation)
    assert serial["energy_lost"][3] == run.energy(0.0) - run.energy(run.end_time) > 0.0
    assert serial["impacts"][3] == (run.event_kinds == "impact").sum() > 1
    assert serial.status[3] == run.status.value
    assert serial["end_time"][3] == run.end_time


def test_measure_adds_columns_and_recordings_are_written(serial, tmp_path):
    found = carom.ensemble(
        RUN, tossed(4), workers=2, seed=4, measure=functions.measured, recordings=tmp_path / "runs"
    )
    assert np.array_equal(found["height"], serial["position"][:4, 1, 2])
    for index, run in enumerate(found.trajectories([0, 3])):
        assert run.source == tmp_path / "runs" / f"member-{3 * index:06d}.h5"
        assert run.end_time == serial["end_time"][3 * index]
    again = found.rerun(2, record=tmp_path / "two.h5")
    assert carom.Trajectory.load(tmp_path / "two.h5").end_time == again.end_time


# -- failures ----------------------------------------------------------------------------------------------------


def test_failures_are_rows_and_the_others_go_on():
    found = carom.ensemble(
        functions.bad_members, 24, workers=2, seed=1, member_timeout=1.0, member_memory=2**30, chunk=4
    )
    status = {index: (status, message) for index, status, message in found.failures}
    assert {index: row[0] for index, row in status.items()} == {
        3: "raised", 5: "timed_out", 7: "worker_lost", 9: "out_of_memory", 11: "raised", 13: "raised",
    }  # fmt: skip
    assert status[3][1].startswith("ValueError: three is no good (member_functions.py, line ")
    assert "member_timeout, 1 s" in status[5][1]
    assert "3 times" in status[7][1]
    assert "SIGKILL" in status[7][1]
    assert "Trajectory, a number" in status[11][1]
    healthy = np.flatnonzero(found.good)
    expected = [carom.simulator.ensembles.members.member_generator(1, k).normal() for k in healthy]
    assert np.array_equal(found["value"][healthy], expected)
    with pytest.raises(ValueError, match="three is"):
        found.rerun(3)


def test_a_member_within_one_compiled_call_is_ended():
    begun = time.monotonic()
    found = carom.ensemble(functions.endless_in_c, 6, workers=2, member_timeout=1.0, chunk=3)
    assert found.status.tolist() == ["finished"] * 2 + ["timed_out"] + ["finished"] * 3
    assert time.monotonic() - begun < 60.0


def test_members_that_lose_their_worker_once_are_whole_again(tmp_path, monkeypatch):
    monkeypatch.setenv("CAROM_TEST_FOLDER", str(tmp_path))
    script = (
        "import carom, member_functions as f, numpy as np\n"
        "if __name__ == '__main__':\n"
        "    found = carom.ensemble(f.dies_once, 40, workers=2, seed=9, chunk=7)\n"
        "    np.save('drawn.npy', found['drawn']); print(found.good.sum())\n"
    )
    result = run_script(tmp_path, script)
    assert result.stdout.split() == ["40"], result.stderr
    expected = carom.ensemble(functions.numbers, 40, workers=0, seed=9)
    assert np.array_equal(np.load(tmp_path / "drawn.npy"), expected["drawn"])
    assert len(list(tmp_path.glob("died-*"))) == 4


def test_a_broken_executor_is_made_again_or_said_to_be_broken(tmp_path, monkeypatch):
    monkeypatch.setenv("CAROM_TEST_FOLDER", str(tmp_path))
    found = carom.ensemble(
        functions.dies_once, 20, executor=lambda: ProcessPoolExecutor(2), workers=2, seed=9, chunk=3
    )
    assert_equal(carom.ensemble(functions.numbers, 20, workers=0, seed=9), found)
    for path in tmp_path.iterdir():
        path.unlink()
    with (
        ProcessPoolExecutor(2) as executor,
        pytest.raises(
            carom.EnsembleStopped, match=r"give executor a function.*members have a row"
        ) as stopped,
    ):
        carom.ensemble(functions.dies_once, 20, executor=executor, seed=9, chunk=3)
    assert "not_run" in stopped.value.ensemble.status


def test_members_that_cannot_travel_are_one_sentence():
    with pytest.raises(TypeError, match=r"run, measure, members: expected what can be sent.*lock"):
        carom.ensemble(functions.with_lock(), 3, workers=2)
    assert carom.ensemble(functions.with_lock(), 3, workers=0)["value"].tolist() == [0.0] * 3
    with pytest.raises((TypeError, carom.EnsembleStopped), match="generator"):
        carom.ensemble(functions.numbers, [1, (k for k in range(3))], workers=2)


def test_columns_that_do_not_fit_are_one_sentence():
    with pytest.raises(ValueError, match="column 'value': expected as many dimensions"):
        carom.ensemble(functions.different_dimensions, 4, workers=0)


def test_a_script_without_guard_is_one_sentence(tmp_path):
    script = "import carom, member_functions as f\ncarom.ensemble(f.numbers, 4, workers=2)\n"
    result = run_script(tmp_path, script)
    assert result.returncode == 1
    assert 'if __name__ == "__main__":' in result.stderr.splitlines()[-1]


def _started(folder, script, **how):
    """A process that runs a script in a folder, where it finds the functions of members."""
    path = folder / "script.py"
    path.write_text(script)
    environment = os.environ | {"PYTHONPATH": f"{LINKS}{os.pathsep}{HERE}"}
    return subprocess.Popen([sys.executable, str(path)], cwd=folder, env=environment, **how)


def run_script(folder, text):
    process = _started(folder, text, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    said, complained = process.communicate(timeout=120)
    return subprocess.CompletedProcess(process.args, process.returncode, said, complained)


# -- one file ----------------------------------------------------------------------------------------------------


def test_a_store_holds_all_and_loads(serial, tmp_path):
    path = tmp_path / "sweep.h5"
    found = carom.ensemble(RUN, tossed(), workers=2, chunk=2, seed=4, store=path)
    assert_equal(serial, found)
    loaded = carom.Ensemble.load(path)
    assert_equal(serial, loaded)
    for name, column in serial.parameters.items():
        assert np.array_equal(loaded.parameters[name], column)
    assert_equal(serial, carom.Ensemble.load(serial.save(tmp_path / "saved.h5")))
    with pytest.raises(ValueError, match="resume=True"):
        loaded.rerun(0)
    with pytest.raises(carom.FileFormatError, match="no carom recording"):
        carom.Trajectory.load(path)
    path.write_bytes(b"no HDF5")
    with pytest.raises(carom.FileFormatError, match="it is not a carom ensemble"):
        carom.Ensemble.load(path)


@pytest.mark.parametrize("count", [10**12, -1, 2.5, "many", None])
def test_a_file_that_claims_members_without_end_is_refused(tmp_path, count):
    path = tmp_path / "sweep.h5"
    carom.ensemble(RUN, tossed(2), workers=0, seed=4, store=path)
    with h5py.File(path, "r+", libver="latest", locking=False) as file:
        identity = json.loads(text_of(file, "identity")) | {"count": count}
        write_text(file, "identity", json.dumps(identity))
    with pytest.raises(carom.FileFormatError, match="identity: expected a number of members up to"):
        carom.Ensemble.load(path)


def test_resume_refuses_what_is_another_and_adds_members(serial, tmp_path):
    path = tmp_path / "sweep.h5"
    carom.ensemble(RUN, tossed(5), workers=0, seed=4, store=path)
    with pytest.raises(ValueError, match="store: expected a new file"):
        carom.ensemble(RUN, tossed(5), workers=0, seed=4, store=path)
    for change, name in (({"seed": 5}, "seed"), ({"members": tossed(4)}, "members"), ({"run": print}, "run")):
        given = {"run": RUN, "members": tossed(5), "seed": 4} | change
        with pytest.raises(ValueError, match=rf"^{name}: expected .* begun"):
            carom.ensemble(workers=0, store=path, resume=True, **given)
    with pytest.raises(ValueError, match=r"^what: expected 'scene"):
        carom.ensemble(RUN, tossed(5, outcomes=2), workers=0, seed=4, store=path, resume=True)
    assert_equal(serial, carom.ensemble(RUN, tossed(), workers=0, seed=4, store=path, resume=True))


def test_a_column_that_comes_late_finds_its_place(tmp_path):
    path = tmp_path / "sweep.h5"
    found = carom.ensemble(functions.numbers, 30, workers=0, seed=9, store=path)
    assert_equal(found, carom.Ensemble.load(path))


def _rows_after_a_while(folder):
    """How many rows the file of a sweep has, when these are some or a minute has passed."""
    deadline = time.monotonic() + 60.0
    done = 0
    while done < 60 and time.monotonic() < deadline:
        time.sleep(0.1)
        if (folder / "sweep.h5").exists():
            done = int((carom.Ensemble.load(folder / "sweep.h5").status != "not_run").sum())
    return done


def test_the_client_killed_in_the_middle_resumes_with_equal_bits(tmp_path):
    script = (
        "import carom, member_functions as f\n"
        "if __name__ == '__main__':\n"
        "    carom.ensemble(f.slow_numbers, 400, workers=2, seed=9, store='sweep.h5', progress=False)\n"
    )
    process = _started(tmp_path, script)
    _rows_after_a_while(tmp_path)
    process.send_signal(signal.SIGKILL)
    process.wait()
    killed = carom.Ensemble.load(tmp_path / "sweep.h5")
    assert 60 <= (killed.status != "not_run").sum() < 400
    found = carom.ensemble(
        functions.slow_numbers, 400, workers=2, seed=9, store=tmp_path / "sweep.h5", resume=True
    )
    assert_equal(carom.ensemble(functions.numbers, 400, workers=0, seed=9), found)
    assert_equal(found, carom.Ensemble.load(tmp_path / "sweep.h5"))


def test_ctrl_c_keeps_what_is_there(tmp_path):
    script = (
        "import carom, member_functions as f, sys\n"
        "if __name__ == '__main__':\n"
        "    try:\n"
        "        carom.ensemble(f.slow_numbers, 4000, workers=2, seed=9, store='sweep.h5', progress=False)\n"
        "    except carom.EnsembleInterrupted as stop:\n"
        "        print(stop, '|', (stop.ensemble.status != 'not_run').sum())\n"
    )
    process = _started(tmp_path, script, stdout=subprocess.PIPE, text=True, start_new_session=True)
    done = _rows_after_a_while(tmp_path)
    os.killpg(process.pid, signal.SIGINT)
    said, _ = process.communicate(timeout=60)
    kept = int(said.split("|")[1])
    assert done <= kept < 4000
    assert (carom.Ensemble.load(tmp_path / "sweep.h5").status != "not_run").sum() == kept


# -- members -----------------------------------------------------------------------------------------------------


def test_members_in_every_form():
    drawn = carom.ensemble(
        lambda member, rng: member["speed"] * 2.0, carom.grid(speed=[1, 2], way=[0, 1, 2]), workers=0
    )
    assert drawn["value"].tolist() == [2.0] * 3 + [4.0] * 3
    assert drawn["way"].tolist() == [0.0, 1.0, 2.0] * 2
    listed = carom.ensemble(lambda member, rng: member["a"], [{"a": 3.0}, {"a": 5.0}], workers=0)
    assert (listed["value"].tolist(), listed.parameters["a"].tolist()) == ([3.0, 5.0],) * 2
    vectors = carom.ensemble(lambda member, rng: member, [np.arange(3), np.ones(3)], workers=0)
    assert np.array_equal(vectors["value"], vectors["member"])


@pytest.mark.parametrize(
    ("members", "error", "words"),
    [
        (0, ValueError, "members: expected at least one"),
        ([], ValueError, "members: expected at least one"),
        ({}, ValueError, "empty dict"),
        ({"a": [1, 2], "b": [1]}, ValueError, "equal length"),
        ({"a": 3}, TypeError, r"members\['a'\]"),
        (2.5, TypeError, "members: expected a number, a list"),
        ("words", TypeError, "members: expected a number, a list"),
        (-1, ValueError, "members"),
    ],
)
def test_members_that_are_none_are_refused(members, error, words):
    with pytest.raises(error, match=words):
        carom.ensemble(functions.numbers, members, workers=0)


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"workers": 0, "member_timeout": 1.0}, ValueError, "workers: expected at least 1"),
        ({"member_timeout": 0.0}, ValueError, "member_timeout"),
        ({"member_memory": -1}, ValueError, "member_memory"),
        ({"seed": -1}, ValueError, "seed"),
        ({"workers": -1}, ValueError, "workers"),
        ({"chunk": 0}, ValueError, "chunk"),
        ({"executor": object()}, TypeError, "executor|callable"),
        ({"measure": 3}, TypeError, "measure"),
        ({"resume": True}, ValueError, "resume: expected together with store"),
        ({"store": "/nowhere/at/all.h5"}, OSError, "does not exist"),
    ],
)
def test_bad_arguments_are_refused(options, error, words):
    with pytest.raises(error, match=words):
        carom.ensemble(functions.numbers, 3, **options)


def test_examples_in_docstrings():
    for name in ("ensemble", "members", "perturbation", "statistics"):
        module = importlib.import_module(f"carom.simulator.ensembles.{name}")
        result = doctest.testmod(module)
        assert result.attempted
        assert not result.failed


@pytest.mark.parametrize("place", ["columns/square", "parameters/x", "index"])
def test_a_file_that_leads_elsewhere_is_refused(tmp_path, place):
    path = tmp_path / "sweep.h5"
    carom.ensemble(lambda member, rng: {"square": member["x"] ** 2}, {"x": [1.0, 2.0]}, workers=0, store=path)
    with h5py.File(tmp_path / "other.h5", "w") as other:
        other["x"] = np.array([3.0, 4.0])
    with h5py.File(path, "r+") as file:
        del file[place]
        file[place] = h5py.ExternalLink("other.h5", "x")
    with pytest.raises(carom.FileFormatError, match="a link to elsewhere"):
        carom.Ensemble.load(path)
