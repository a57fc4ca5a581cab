"""One process compiles a kernel, the others wait for it, also where the one that compiled is killed."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from carom.kernel_lock import KernelLock

HERE = Path(__file__).parent
LINKS = HERE.parents[1] / ".links"
COMPILE = """
import importlib.util, sys, time, numpy, pathlib
spec = importlib.util.spec_from_file_location("probe_kernels", sys.argv[1])
module = importlib.util.module_from_spec(spec)
sys.modules["probe_kernels"] = module
spec.loader.exec_module(module)
pathlib.Path(sys.argv[2]).touch()
while len(list(pathlib.Path(sys.argv[2]).parent.glob("ready-*"))) < int(sys.argv[3]):
    time.sleep(0.005)
kernel = module.norm_by_way_of_the_stack
assert kernel(numpy.array([2.0, 3.0, 6.0])) == 7.0
print(sum(kernel.entry.stats.cache_misses.values()), sum(kernel.entry.stats.cache_hits.values()))
"""
HOLD = """
import sys, time
from pathlib import Path
from carom.kernel_lock import KernelLock
lock = KernelLock(Path(sys.argv[1]))
lock.acquire()
print("held", flush=True)
time.sleep(600)
"""


def started(script, *arguments, **settings):
    return subprocess.Popen(
        [sys.executable, "-c", script, *map(str, arguments)], stdout=subprocess.PIPE, text=True,
        env=os.environ | {"PYTHONPATH": str(LINKS)} | settings,
    )  # fmt: skip


def test_of_several_processes_one_compiles(tmp_path):
    processes = [
        started(
            COMPILE,
            HERE / "probe_kernels.py",
            tmp_path / f"ready-{k}",
            3,
            NUMBA_CACHE_DIR=str(tmp_path / "kept"),
        )
        for k in range(3)
    ]
    said = [process.communicate(timeout=120)[0].split() for process in processes]
    assert sorted(said) == [["0", "1"], ["0", "1"], ["1", "0"]]


def test_a_killed_holder_gives_its_lock_back(tmp_path):
    path = tmp_path / "kernel.lock"
    holder = started(HOLD, path)
    assert holder.stdout.readline() == "held\n"
    waiting = started(HOLD, path)
    time.sleep(0.5)
    assert waiting.poll() is None
    holder.send_signal(signal.SIGKILL)
    assert waiting.stdout.readline() == "held\n"
    waiting.kill()
    for process in (holder, waiting):
        process.communicate()


def test_where_no_lock_can_be_had_work_goes_on(tmp_path):
    lock = KernelLock(tmp_path / "nowhere" / "kernel.lock")
    lock.acquire()
    lock.release()
    assert not (tmp_path / "nowhere").exists()
    again = KernelLock(tmp_path / "kernel.lock")
    for _ in range(2):
        again.acquire()
        again.release()
