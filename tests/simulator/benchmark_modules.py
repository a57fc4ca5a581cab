"""Modules of the folder benchmarks, whose scenes tests make too."""

import importlib.util
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
    spec.loader.exec_module(module)
    return module
