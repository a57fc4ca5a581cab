import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
LINKS = HERE.parents[1] / ".links"


def run_python(code, **environment):
    """Run Python code in a fresh process that finds carom and the fake trajectories."""
    variables = os.environ | {"PYTHONPATH": f"{LINKS}{os.pathsep}{HERE}"} | environment
    variables = {name: value for name, value in variables.items() if value is not None}
    return subprocess.run(
        [sys.executable, "-c", code], env=variables, capture_output=True, text=True, timeout=120
    )


def _loaded(name):
    """A module beside the tests."""
    spec = importlib.util.spec_from_file_location(name, HERE / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def fakes():
    """The module of fake trajectories."""
    return _loaded("fake_trajectory")


@pytest.fixture(scope="session")
def fresh_python():
    return run_python


@pytest.fixture(scope="session")
def balls():
    """The class of closed-form bouncing balls."""
    return _loaded("bouncing_balls").BouncingBalls


@pytest.fixture(scope="session")
def browsers():
    """The module that drives a headless browser; skips where there is none."""
    module = _loaded("browser")
    if module.find_browser() is None:
        pytest.skip(f"no browser: none of {', '.join(module.PROGRAMS)}")
    return module
