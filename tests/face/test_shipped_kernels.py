"""Kernels that come compiled with a wheel: which a processor takes, and that they are found, stale ones not."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import llvmlite.binding
import pytest

from carom import shipped_kernels

ROOT = Path(__file__).parents[2]
LINKS = ROOT / ".links"
KERNEL = "rotation_matrix"
WORK = """
import sys
from pathlib import Path
import numpy as np
from carom import shipped_kernels
shipped_kernels.SHIPPED = Path(sys.argv[1])
if "native" in sys.argv:
    shipped_kernels.ignore_shipped_kernels()
from carom.simulator.kernels import rotation_matrix
assert (rotation_matrix(np.array([1.0, 0.0, 0.0, 0.0])) == np.eye(3)).all()
"""


@pytest.fixture
def with_features(monkeypatch):
    """Pretend to have a processor with these instructions."""

    def pretend(names):
        monkeypatch.setattr(llvmlite.binding, "get_host_cpu_features", lambda: dict.fromkeys(names, True))
        shipped_kernels.usable_kinds.cache_clear()

    yield pretend
    shipped_kernels.usable_kinds.cache_clear()


def test_a_processor_takes_the_best_kind_that_it_can_run(with_features, tmp_path):
    for kind in ("x86-64-v3", "x86-64", "unheard-of"):
        (tmp_path / kind).mkdir()
    newest = shipped_kernels.KINDS["x86-64-v3"] | {"avx512f"}
    with_features(newest)
    assert shipped_kernels.usable_kinds(tmp_path) == ("x86-64-v3", "x86-64")
    for missing in sorted(shipped_kernels.KINDS["x86-64-v3"]):
        with_features(newest - {missing})
        assert shipped_kernels.usable_kinds(tmp_path) == ("x86-64",)
    with_features(newest)
    assert shipped_kernels.usable_kinds(tmp_path / "none") == ()


def test_where_numba_is_told_of_another_processor_none_are_taken(with_features, tmp_path, monkeypatch):
    (tmp_path / "x86-64").mkdir()
    monkeypatch.setattr("numba.config.CPU_NAME", "generic")
    with_features(())
    assert shipped_kernels.usable_kinds(tmp_path) == ()


def run(folder, shipped, *words, **settings):
    """Call one kernel in a process that keeps its own in a folder; return how many it compiled."""
    before = len(list(folder.rglob("*.nbc")))
    environment = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
    environment |= {"PYTHONPATH": str(LINKS), "NUMBA_CACHE_DIR": str(folder)} | settings
    subprocess.run([sys.executable, "-c", WORK, str(shipped), *words], env=environment, check=True)
    return len(list(folder.rglob("*.nbc"))) - before


@pytest.mark.skipif(
    "x86" not in llvmlite.binding.get_process_triple(), reason="the kind tried is one of x86 processors"
)
def test_what_is_shipped_is_found_and_nothing_is_compiled_but_what_is_stale(tmp_path):
    built, shipped = tmp_path / "built", tmp_path / "shipped"
    assert run(built, shipped, NUMBA_CPU_NAME="x86-64", NUMBA_CPU_FEATURES="") == 1
    place = shipped / "x86-64" / "simulator"
    place.mkdir(parents=True)
    for file in built.rglob(f"kernels.{KERNEL}*.nb?"):
        shutil.copy(file, place)
    assert run(tmp_path / "own", shipped) == 0
    assert run(tmp_path / "own", shipped, NUMBA_BOUNDSCHECK="1") == 1  # another stamp
    assert run(tmp_path / "native", shipped, "native") == 1
    for file in place.glob("*.nbi"):
        file.unlink()
    assert run(tmp_path / "without", shipped) == 1


@pytest.mark.long
def test_the_first_drop_from_a_wheel_in_an_empty_environment_compiles_nothing(tmp_path):
    """Minutes: everything is compiled for the wheel."""
    wheel = subprocess.run(
        [sys.executable, ROOT / ".ci" / "wheel.py", "--out", tmp_path],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.split()[-1]
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "empty"], check=True)
    programs = tmp_path / "empty" / ("Scripts" if os.name == "nt" else "bin")
    pip = [programs / "python", "-m", "pip", "install", "-q", "-c", ROOT / "constraints.txt", wheel]
    subprocess.run(pip, check=True)
    (tmp_path / "work").mkdir()
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("NUMBA_", "PYTHON"))
    }
    subprocess.run([programs / "carom", "drop"], cwd=tmp_path / "work", env=environment, check=True)
    assert (tmp_path / "work" / "drop.h5").exists()
    packages = next((tmp_path / "empty").rglob("carom/shipped_kernels")).parent
    compiled = [path for path in packages.rglob("*.nbc") if "shipped_kernels" not in path.parts]
    assert compiled == []
