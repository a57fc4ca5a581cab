import os
import signal
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

LINKS = Path(__file__).parents[1] / ".links"

os.environ.setdefault("CAROM_COMPILE_PROCESSES", "1")  # as many processes as cores run tests already

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as of jobs in the background; tests press Ctrl-C
    signal.signal(signal.SIGINT, signal.default_int_handler)


@cache
def missing_gl():
    """Why nothing can be drawn here, or None; asked in a process of its own, which a failure would spoil."""
    code = "from carom.viewer.offscreen import offscreen_window; offscreen_window()"
    result = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"PYTHONPATH": str(LINKS)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    return None if result.returncode == 0 else result.stderr.strip().splitlines()[-1]


def pytest_collection_modifyitems(items):
    for item in items:
        if "needs_gl" in getattr(item, "fixturenames", ()) and missing_gl():
            item.add_marker(pytest.mark.skip(reason=f"no OpenGL: {missing_gl()}"))


@pytest.fixture
def needs_gl():
    """Skip the test where there is no OpenGL, see pytest_collection_modifyitems."""
