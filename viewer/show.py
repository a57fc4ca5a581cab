"""Opens the window of a replay."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .branched import spread
from .display import load_pyglet
from .meshes import Mesh
from .pictures import check_size, check_view_from
from .replay import Replay
from .run import Run, read_run


def view(
    trajectory: Any,
    *,
    labels: Sequence[str] | None = None,
    outcomes: Any = None,
    size: tuple[int, int] = (1280, 720),
    view_from: Any = None,
    title: str | None = None,
) -> None:
    """Replay a trajectory in a window; returns when the window is closed. Press H there for its keys.

    trajectory : one, or several that are overlaid as outcomes of each other; instead of a trajectory the file
        name of a recording, which is read again as long as its run goes on. A `BranchedRun`, or the file of one, is
        shown with all its ends over each other. A `Measured` beside a run moves the only body of the run's scene
        that can move (`ShownMotion` chooses among several).
    labels : what the runs are called in the window, by default their laws or file names
    outcomes : an `OutcomeSet` of the impact with as many contacts, or a dictionary from the number of an impact
        (from 1) to one: at that impact, the velocities that the bodies may have next are drawn as a fan
    size : width and height in pixels
    view_from : the direction (3,) in which the camera stands at first, as in `render`

    Raises DisplayError without a display or OpenGL, FileFormatError for a file that is no recording, and
    ValueError or TypeError for anything else that cannot be shown, naming the argument.
    """
    size = check_size(size)
    runs = make_runs(trajectory, labels, outcomes, view_from)
    load_pyglet(for_window=True)
    from .window import open_window, run_until_closed

    replay = Replay(runs, aspect=size[0] / size[1])
    open_window(replay, size, title or "carom", load_recording)
    run_until_closed()


def make_runs(
    trajectory: Any, labels: Sequence[str] | None = None, outcomes: Any = None, view_from: Any = None
) -> list[Run]:
    """The runs of a replay, see `view` and, for `view_from`, `render`."""
    direction = check_view_from(view_from)
    given, labels = spread(_with_trees(trajectory), labels)
    _check_outcomes(outcomes)
    pool: dict[Any, Mesh] = {}
    runs = []
    for number, one in enumerate(given):
        name = labels[number] if labels is not None else ""
        if isinstance(one, str | os.PathLike):
            runs.append(read_run(Path(one), load_recording, name, pool, outcomes))
        elif hasattr(one, "sample"):
            known = name or str(getattr(one, "law_name", "")) or "run"
            runs.append(Run(one, known, None, pool, outcomes))
        else:
            raise TypeError(
                f"trajectory: expected a Trajectory or the file name of one, got {type(one).__name__}"
            )
    if labels is None:
        _tell_apart(runs)
    for run in runs:
        run.stage.view_from = direction
    return runs


def _with_trees(trajectory: Any) -> list[Any]:
    """What was given as a list, in which files of branched runs are read."""
    from ..simulator.recordings import is_tree, load_run

    given = list(trajectory) if isinstance(trajectory, list | tuple) else [trajectory]
    return [
        load_run(Path(one)) if isinstance(one, str | os.PathLike) and is_tree(Path(one)) else one
        for one in given
    ]


def load_recording(path: Path) -> Any:
    """Read a recording."""
    from ..simulator import Trajectory

    return Trajectory.load(path)


def _tell_apart(runs: list[Run]) -> None:
    """Number runs of one name."""
    names = [run.name for run in runs]
    for number, run in enumerate(runs):
        if names.count(run.name) > 1:
            run.name = f"{run.name} {names[: number + 1].count(run.name)}"


def _check_outcomes(outcomes: Any) -> None:
    sets = list(outcomes.values()) if isinstance(outcomes, Mapping) else [outcomes]
    for one in sets:
        if one is not None and not hasattr(one, "impulse"):
            raise TypeError(
                f"outcomes: expected an OutcomeSet or a dictionary of them, got {type(one).__name__}"
            )
