"""One call for every file that shows a trajectory: its ending decides what is written."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from . import pictures
from .branched import spread
from .files import check_writable
from .gltf import write_glb
from .html_player import write_player
from .pictures import check_size, check_view_from
from .show import make_runs
from .video import FRAME_NUMBER, frame_times, numbered, write_sequence, write_video

DEFAULT_SIZE = (1280, 720)
DEFAULT_FPS = {".mp4": 60, ".gif": 25, ".png": 60, ".glb": 60}
ENDINGS = (".png", ".mp4", ".gif", ".glb", ".html")
SPAN = {"start", "end", "speed"}
OPTIONS = {
    "picture": {"time", "size", "density", "view_from"},
    "sequence": {"size", "fps", "density", "view_from"} | SPAN,
    ".mp4": {"size", "fps", "density", "view_from"} | SPAN,
    ".gif": {"size", "fps", "density", "view_from"} | SPAN,
    ".glb": {"fps"} | SPAN,
    ".html": {"view_from"} | SPAN,
}
FRAME_NAME = "frame_%05d.png"


def render(
    trajectory: Any,
    path: str | os.PathLike[str],
    *,
    time: float | None = None,
    size: tuple[int, int] | None = None,
    fps: int | None = None,
    start: float | None = None,
    end: float | None = None,
    speed: float | None = None,
    labels: Sequence[str] | None = None,
    density: bool = False,
    view_from: Any = None,
    progress: bool = False,
) -> Path:
    """Draw a trajectory without a display; the ending of the path decides what is written. Return the path.

    Several trajectories, given as a sequence, are overlaid as in the window, each in its colour under its label; so
    are the ends of a `BranchedRun`, and a `Measured` beside a run.

    .png : one picture at `time` [s], by default the end; a folder, or a name with %d or %04d in it: a
        sequence of pictures, a frame each
    .mp4, .gif : a video
    .glb : a glTF scene with animation of one trajectory, for Blender and other programs
    .html : the player, one file that needs no server and no network
    labels : what each of several trajectories is called, by default its law
    size : (width, height) in pixels, by default 1280 x 720
    fps : frames for a second of watching
    start, end : the span [s] that is shown, by default all of it
    speed : simulated seconds for a second of watching, by default as in the window
    density : show how many of several trajectories are at each place, instead of each in its colour
    view_from : the direction (3,), from the middle of the motion and in the world frame, in which the camera
        stands, such as (1, 0, 0.3) or, from above, (0, 0, 1); by default where most half-spaces show their front
    progress : show a bar on a terminal when it takes long

    Raises ValueError for options that do not fit, OSError where the file cannot be written, DisplayError
    without OpenGL, and VideoError without a program that writes videos.
    """
    given = {"time": time, "size": size, "fps": fps, "start": start, "end": end, "speed": speed}
    kind, target = _kind_of_file(path)
    given["density"] = True if density else None
    given["view_from"] = view_from
    _check_options(kind, {name for name, value in given.items() if value is not None})
    runs, labels = spread(trajectory, labels)
    if density and len(runs) < 2:
        raise ValueError(f"density: expected several trajectories, got {len(runs)}")
    if len(runs) != 1 and kind == ".glb":
        raise ValueError(f"a glTF scene shows one run, got {len(runs)} for {target.name}")
    direction = check_view_from(view_from)
    if kind == "picture":
        shown = make_runs(runs, labels, view_from=direction)
        return pictures.render(shown, target, time=time, size=size or DEFAULT_SIZE, density=density)
    begin, finish = _span(runs, start, end)
    if speed is not None and not 0 < speed < float("inf"):
        raise ValueError(f"speed: expected a number greater than 0, got {speed!r}")
    if kind == ".html":
        write_player(
            runs,
            check_writable(target),
            labels=labels,
            start=begin,
            end=finish,
            speed=speed,
            view_from=direction,
            progress=progress,
        )
        return target
    fps = _check_fps(DEFAULT_FPS[target.suffix.lower()] if fps is None else fps)
    times = frame_times(begin, finish, fps, speed)
    pixels = check_size(size or DEFAULT_SIZE)
    if kind == ".glb":
        write_glb(runs[0], check_writable(target), times, fps=fps, progress=progress)
    else:
        write = write_sequence if kind == "sequence" else write_video
        place = _prepared_sequence(target) if kind == "sequence" else check_writable(target)
        shown = make_runs(runs, labels, view_from=direction)
        write(shown, place, times, size=pixels, fps=fps, density=density, progress=progress)
    return target


def _kind_of_file(path: str | os.PathLike[str]) -> tuple[str, Path]:
    """What is written for a path, a key of OPTIONS, and the path; of a folder, the pattern of its frames."""
    text, target = os.fspath(path), Path(path)
    if target.is_dir() or text.endswith(("/", os.sep)):
        return "sequence", target / FRAME_NAME
    ending = target.suffix.lower()
    if ending not in ENDINGS:
        raise ValueError(f"expected an ending {', '.join(ENDINGS)}, or a folder, got {ending or 'no ending'}")
    if ending == ".png":
        return ("sequence" if FRAME_NUMBER.search(target.name) else "picture"), target
    return ending, target


def _check_options(kind: str, given: set[str]) -> None:
    wrong = sorted(given - OPTIONS[kind])
    if wrong:
        named = {"picture": "one picture", "sequence": "a sequence of pictures"}.get(kind, f"a {kind} file")
        raise ValueError(f"{wrong[0]}: {named} does not take it, but {', '.join(sorted(OPTIONS[kind]))}")


def _check_fps(fps: Any) -> int:
    if not isinstance(fps, int) or not 1 <= fps <= 240:
        raise ValueError(f"fps: expected a whole number from 1 to 240, got {fps!r}")
    return fps


def _span(runs: list[Any], start: float | None, end: float | None) -> tuple[float, float]:
    """The span [s] to show, within where the runs are known; by default up to where the last of them ends."""
    first = min(float(run.start_time) for run in runs)
    finish = max(float(run.end_time) for run in runs) if end is None else float(end)
    last = max(float(getattr(run, "known_until", run.end_time)) for run in runs)
    begin = first if start is None else float(start)
    if not first <= begin <= finish <= last:
        raise ValueError(
            f"start and end: expected a span within {first:g} to {last:g} s, where the run is, "
            f"got {begin:g} to {finish:g}"
        )
    return begin, finish


def _prepared_sequence(pattern: Path) -> Path:
    """Make the folder of a sequence where it is missing, and refuse one that holds frames already."""
    folder = pattern.parent
    if not folder.exists():
        folder.mkdir()
    check_writable(numbered(pattern, 0))
    head, tail = FRAME_NUMBER.split(pattern.name, maxsplit=1)
    taken = [
        path.name
        for path in folder.iterdir()
        if path.name.startswith(head)
        and path.name.endswith(tail)
        and path.name[len(head) : len(path.name) - len(tail)].isdecimal()
    ]
    if taken:
        raise FileExistsError(
            f"the folder {str(folder)!r} holds frames already, such as {min(taken)}: remove them, or name another"
        )
    return pattern
