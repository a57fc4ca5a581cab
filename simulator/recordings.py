"""Files of runs, of whichever kind."""

from pathlib import Path

from .branches import BranchedRun
from .record.recording import kind_of
from .record.trajectory import Trajectory


def is_tree(path: Path) -> bool:
    """Whether a file holds a tree of runs, or one run; FileFormatError for anything that holds neither."""
    return kind_of(path) == "carom branched run"


def load_run(path: Path) -> Trajectory | BranchedRun:
    """The run of a file, or its tree of runs; FileFormatError with one sentence for anything that is neither."""
    return BranchedRun.load(path) if is_tree(path) else Trajectory.load(path)
