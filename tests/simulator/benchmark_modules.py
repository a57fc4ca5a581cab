"""Modules of the folder benchmarks, whose scenes tests make too."""

import importlib.util
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"
needs_benchmarks = pytest.mark.skipif(
    not FOLDER.exists(), reason="the benchmarks are not part of this installation"
)


def benchmark(name):
    """The module of a benchmark by its name."""
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(FOLDER))  # benchmarks use each other's scenes
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(FOLDER))
    return module
