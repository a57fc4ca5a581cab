"""Ensembles on a cluster of Dask: a real scheduler and workers as processes of their own, on loopback."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import carom

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
import member_functions as functions  # noqa: E402

distributed = pytest.importorskip("distributed", reason="dask and distributed are not installed")
LINKS = HERE.parents[2] / ".links"


class Cluster:
    """`dask scheduler` and as many `dask worker` as are started."""

    def __init__(self, folder):
        self.folder, self.workers = folder, []
        self.file = folder / "scheduler.json"
        self.environment = os.environ | {
            "PYTHONPATH": f"{LINKS}{os.pathsep}{HERE}", "CAROM_TEST_FOLDER": str(folder)
        }  # fmt: skip
        self.scheduler = self.start(
            "scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard",
            "--scheduler-file", str(self.file),
        )  # fmt: skip
        deadline = time.monotonic() + 60.0
        while not self.file.exists():
            assert time.monotonic() < deadline, "the scheduler did not start"
            time.sleep(0.05)

    def start(self, *words):
        log = (self.folder / f"{words[0]}.log").open("ab")
        return subprocess.Popen(
            [sys.executable, "-m", "dask", *words],
            cwd=self.folder,
            env=self.environment,
            stdout=log,
            stderr=log,
        )

    def add_worker(self, *words):
        self.workers.append(
            self.start(
                "worker",
                "--scheduler-file",
                str(self.file),
                "--nthreads",
                "1",
                "--host",
                "127.0.0.1",
                "--no-dashboard",
                *words,
            )
        )
        return self.workers[-1]

    def close(self):
        for process in [*self.workers, self.scheduler]:
            process.terminate()
        for process in [*self.workers, self.scheduler]:
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    made = Cluster(tmp_path_factory.mktemp("cluster"))
    try:
        made.add_worker("--no-nanny")
        made.add_worker("--no-nanny")
        yield made
    finally:
        made.close()


@pytest.fixture
def client(cluster):
    with distributed.Client(scheduler_file=str(cluster.file), timeout=60) as made:
        made.wait_for_workers(2, timeout=60)
        yield made


def assert_equal(one, other):
    assert list(one.columns) == list(other.columns)
    for name in one.columns:
        assert one[name].tobytes() == other[name].tobytes(), name
    assert one.status.tolist() == other.status.tolist()


@pytest.mark.parametrize("way", ["client", "executor", "address"])
def test_a_cluster_gives_what_this_process_gives(client, way):
    executor = {
        "client": client, "executor": client.get_executor(), "address": client.scheduler.address
    }[way]  # fmt: skip
    members = carom.perturbed(functions.box_scene(), members=10, position=1e-2, friction=(0.1, 0.4))
    run = carom.SceneRun(carom.StrongeCoulomb(), 1.0)
    found = carom.ensemble(run, members, executor=executor, seed=4, chunk=None if way == "client" else 3)
    assert found.good.all()
    assert_equal(carom.ensemble(run, members, workers=0, seed=4), found)


def test_failures_are_rows_on_a_cluster_and_its_workers_live(client):
    before = set(client.scheduler_info()["workers"])
    found = carom.ensemble(
        functions.bad_members, 16, executor=client, seed=1, member_timeout=1.0, member_memory=2**30, chunk=4
    )
    assert {index: status for index, status, _ in found.failures} == {
        3: "raised", 5: "timed_out", 7: "worker_lost", 9: "out_of_memory", 11: "raised", 13: "raised",
    }  # fmt: skip
    assert set(client.scheduler_info()["workers"]) == before


def test_a_large_scene_is_sent_once(client):
    data = np.arange(20_000.0)
    found = carom.ensemble(lambda member, rng: data[member], 50, executor=client, chunk=1)
    assert found["value"].tolist() == data[:50].tolist()


def test_other_versions_are_one_sentence(client, monkeypatch):
    module = sys.modules["carom.simulator.ensembles.chunk"]
    mine = module.versions()
    monkeypatch.setattr(module, "versions", lambda: mine | {"numpy": "1.0"})
    with pytest.raises(carom.EnsembleStopped, match=r"has other versions than the client: numpy 1.0 there"):
        carom.ensemble(functions.numbers, 3, executor=client)


def test_a_module_that_workers_lack_is_one_sentence(client, tmp_path, monkeypatch):
    (tmp_path / "only_here.py").write_text("def run(member, rng):\n    return 1.0\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    import only_here

    with pytest.raises(carom.EnsembleStopped, match=r"cannot load what to run .*only_here"):
        carom.ensemble(only_here.run, 3, executor=client)


def test_a_worker_killed_in_the_middle_costs_no_row(cluster, client):
    doomed = cluster.workers.pop()
    store = cluster.folder / "sweep.h5"
    found = []
    thread = threading.Thread(
        target=lambda: found.append(
            carom.ensemble(
                functions.slow_numbers, 200, executor=client, seed=9, chunk=4, store=store, progress=False
            )
        )
    )
    thread.start()
    deadline = time.monotonic() + 60.0
    while time.monotonic() < deadline:
        time.sleep(0.05)
        if store.exists() and (carom.Ensemble.load(store).status != "not_run").sum() >= 20:
            break
    done = int((carom.Ensemble.load(store).status != "not_run").sum())
    doomed.send_signal(signal.SIGKILL)
    thread.join(120)
    cluster.add_worker("--no-nanny")
    doomed.wait()
    assert not thread.is_alive()
    assert 20 <= done < 200
    assert_equal(carom.ensemble(functions.numbers, 200, workers=0, seed=9), found[0])


def test_a_scheduler_that_has_gone_is_one_sentence():
    with pytest.raises(carom.EnsembleStopped, match=r"no scheduler of Dask answers at tcp://127.0.0.1:1 "):
        carom.ensemble(functions.numbers, 3, executor="tcp://127.0.0.1:1")


def test_carom_does_not_import_dask_and_says_what_to_install():
    script = (
        "import sys, carom\n"
        "carom.ensemble(lambda member, rng: 1.0, 2, workers=0)\n"
        "assert not {'dask', 'distributed', 'pandas', 'matplotlib'} & set(sys.modules)\n"
        "sys.modules['distributed'] = None\n"
        "try:\n"
        "    carom.ensemble(print, 2, executor='tcp://127.0.0.1:1')\n"
        "except ImportError as error:\n"
        "    print(error)\n"
    )
    environment = os.environ | {"PYTHONPATH": str(LINKS)}
    result = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env=environment, timeout=120
    )
    assert (
        result.stdout.strip() == 'A scheduler of Dask needs its packages: pip install "carom[distributed]".'
    )
