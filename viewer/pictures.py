"""Pictures of a trajectory, drawn without a window."""

import math
import os
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ..interrupts import interrupts_wait
from .camera import OrbitCamera
from .density import KEY_HEIGHT, KEY_WIDTH, draw_key
from .moments import Moment, choose_moments, label_moments, time_decimals, time_text
from .offscreen import offscreen_window
from .plots import Box
from .png import check_picture_path, write_png
from .replay import Replay
from .run import Run
from .stage import Stage, length_text
from .theme import colour_of_run, to_bytes

LARGEST_SIDE = 8192  # pixels
STRIP_COLUMNS = 3
STRIP_GAP = 6  # pixels
MOST_NAMES = 9  # of overlaid runs that are written out


def render(
    runs: Sequence[Run],
    path: str | os.PathLike[str],
    *,
    time: float | None = None,
    size: tuple[int, int] = (1280, 720),
    density: bool = False,
) -> Path:
    """Write a PNG picture of runs, overlaid, at a time [s], by default the last end; return the path.

    density : show how many of several runs are at each place, instead of each by itself
    """
    path = check_picture_path(path)
    size = check_size(size)
    start, end = min(run.start for run in runs), max(run.end for run in runs)
    chosen = end if time is None else float(time)
    known = max(run.known_until for run in runs)
    if not start <= chosen <= known:
        raise ValueError(
            f"time must lie between {start} and {known} s, where the trajectory is, got {time!r}"
        )
    with closing(stream_runs(runs, [chosen], size, density=density)) as pictures:
        write_png(path, next(pictures))
    return path


def render_strip(
    trajectory: Any,
    path: str | os.PathLike[str],
    *,
    moments: int = 6,
    size: tuple[int, int] = (640, 400),
    view_from: Any = None,
) -> Path:
    """Write one PNG of labelled moments, three beside each other, each of `size` pixels; return the path.

    view_from : where the camera stands, as in `carom.render`
    """
    path = check_picture_path(path)
    size = check_size(size)
    chosen = choose_moments(trajectory, moments)
    run = Run(trajectory, "")
    run.stage.view_from = check_view_from(view_from)
    write_png(path, _grid(list(stream_pictures(run, chosen, size))))
    return path


def stream_runs(
    runs: Sequence[Run],
    times: Sequence[float],
    size: tuple[int, int],
    *,
    linger: float = 0.0,
    density: bool = False,
) -> Generator[np.ndarray]:
    """Draw one run, or several over each other, at times [s]; see `stream_pictures`."""
    if len(runs) > 1:
        return stream_overlaid(runs, times, size, linger=linger, density=density)
    return stream_pictures(runs[0], label_moments(runs[0].trajectory, times), size, linger=linger)


def draw_pictures(trajectory: Any, moments: list[Moment], size: tuple[int, int]) -> list[np.ndarray]:
    """Draw moments of a trajectory from one camera, as (height, width, 3) uint8 pixels each."""
    return list(stream_pictures(Run(trajectory, ""), moments, size))


def stream_pictures(
    run: Run, moments: Iterable[Moment], size: tuple[int, int], *, linger: float = 0.0
) -> Generator[np.ndarray]:
    """Draw as `draw_pictures`, one picture at a time; impulses of the last `linger` seconds are shown."""
    camera = run.stage.camera(size[0] / size[1])
    with _canvas(run.stage, size) as (renderer, new_overlay):
        from .renderer import plain_picture

        for moment in moments:
            with interrupts_wait():
                renderer.draw_pictures(camera, [plain_picture(run, moment.time, linger)])
                overlay = new_overlay()
                _write_top(overlay, moment.label, run.stage, size)
                overlay.draw()
                pixels = renderer.read()
            yield pixels


def stream_overlaid(
    runs: Sequence[Run],
    times: Iterable[float],
    size: tuple[int, int],
    *,
    linger: float = 0.0,
    density: bool = False,
) -> Generator[np.ndarray]:
    """Draw runs over each other at times [s], as the window does, with their names in their colours.

    density : how many runs are at each place, with the key of the colours, instead of each run by itself
    """
    replay = Replay(runs, aspect=size[0] / size[1])
    replay.linger = linger
    replay.shown.density = density
    decimals = time_decimals(replay.timeline.duration)
    with _canvas(runs[0].stage, size) as (renderer, new_overlay):
        from .composition import compose

        for time in times:
            with interrupts_wait():
                replay.seek(time)
                renderer.draw_pictures(replay.camera, compose(replay))
                overlay = new_overlay()
                _write_top(overlay, time_text(time, decimals), runs[0].stage, size)
                if density:
                    _draw_density_key(overlay, len(runs), size)
                else:
                    _write_names(overlay, [run.name for run in runs], size)
                overlay.draw()
                pixels = renderer.read()
            yield pixels


def draw_replay(
    replay: Replay, size: tuple[int, int], camera: OrbitCamera | None = None, unit: float = 1.0
) -> np.ndarray:
    """Draw what a window of `size` pixels shows of a replay, with all that lies over it, (height, width, 3).

    unit : pixels for a unit of what lies over the scene
    """
    if replay.shown.plots:
        replay.main_run.plots.complete()
    with _canvas(replay.runs[0].stage, size) as (renderer, new_overlay), interrupts_wait():
        from .composition import compose
        from .heads_up import HeadsUp

        renderer.theme = replay.look.theme
        renderer.draw_pictures(camera or replay.camera, compose(replay))
        overlay = new_overlay(replay.look.theme)
        HeadsUp(replay, size, unit).draw(overlay)
        overlay.draw()
        return renderer.read()


@contextmanager
def _canvas(stage: Stage, size: tuple[int, int]) -> Iterator[tuple[Any, Callable[..., Any]]]:
    """A renderer in a hidden window, and what makes what lies over its picture.

    Ctrl-C waits while they are made and let go, and has to where they draw: pyglet lets objects of OpenGL go where
    Python collects garbage, and there it would be lost.
    """
    with ExitStack() as left:
        with interrupts_wait():
            window = offscreen_window()
            from .overlay import Overlay
            from .renderer import Renderer

            renderer = Renderer(stage, size)
            left.callback(interrupts_wait()(renderer.close))
        yield renderer, partial(Overlay, window, size)


def _text_size(size: tuple[int, int]) -> float:
    return max(8.0, 0.019 * min(size[1], 1.2 * size[0]))


def _write_top(overlay: Any, label: str, stage: Stage, size: tuple[int, int]) -> None:
    """The label in one corner, the size of the floor's tiles in the other."""
    (width, height), text_size = size, _text_size(size)
    line = height - 2.2 * text_size
    overlay.text(label, 2 * text_size, line, size=text_size, paper=True)
    if stage.planes:
        tile = f"tile {length_text(stage.tile)}"
        overlay.text(tile, width - 2 * text_size, line, size=0.8 * text_size, anchor="right", paper=True)


def _draw_density_key(overlay: Any, outcomes: int, size: tuple[int, int]) -> None:
    """What the colours of a density mean, below the label."""
    unit = _text_size(size) / 12
    top = size[1] - 4.2 * _text_size(size)
    box = Box(1.3 * _text_size(size), top - KEY_HEIGHT * unit, KEY_WIDTH * unit, KEY_HEIGHT * unit)
    draw_key(overlay, box, outcomes, unit)


def _write_names(overlay: Any, names: Sequence[str], size: tuple[int, int]) -> None:
    """The names of overlaid runs below the label, or how many there are."""
    text_size = _text_size(size)
    line = size[1] - 5.0 * text_size
    if len(names) > MOST_NAMES:
        words = f"{len(names)} outcomes"
        overlay.text(words, 2 * text_size, line, size=0.8 * text_size, paper=True)
        return
    for number, name in enumerate(names):
        overlay.disc(2.2 * text_size, line, 0.5 * text_size, to_bytes(colour_of_run(number)))
        overlay.text(name, 3.6 * text_size, line, size=0.8 * text_size, paper=True)
        line -= 1.9 * text_size


def check_size(size: Any) -> tuple[int, int]:
    """Return (width, height) in pixels, or raise ValueError."""
    try:
        width, height = (int(side) for side in size)
        valid = (
            (width, height) == tuple(size) and min(width, height) >= 16 and max(width, height) <= LARGEST_SIDE
        )
    except (TypeError, ValueError):
        valid = False
    if not valid:
        raise ValueError(
            f"size must be (width, height), whole pixels from 16 to {LARGEST_SIDE}, got {size!r}"
        )
    return width, height


def check_view_from(view_from: Any) -> np.ndarray | None:
    """Return a unit vector (3,), or None where none was given, or raise ValueError."""
    if view_from is None:
        return None
    try:
        direction = np.array(view_from, dtype=float)
        largest = float(np.abs(direction).max()) if direction.shape == (3,) else 0.0
    except (TypeError, ValueError):
        largest = 0.0
    if not 0.0 < largest < math.inf:
        raise ValueError(
            f"view_from: expected three numbers that are not all 0, the direction in which the camera stands, "
            f"got {view_from!r}"
        )
    direction /= largest
    return direction / np.linalg.norm(direction)


def _grid(pictures: list[np.ndarray]) -> np.ndarray:
    """Put pictures of one size in rows of three, on white."""
    height, width, _ = pictures[0].shape
    columns = min(STRIP_COLUMNS, len(pictures))
    rows = math.ceil(len(pictures) / columns)
    shape = (rows * (height + STRIP_GAP) - STRIP_GAP, columns * (width + STRIP_GAP) - STRIP_GAP, 3)
    grid = np.full(shape, 255, dtype=np.uint8)
    for number, picture in enumerate(pictures):
        top, left = number // columns * (height + STRIP_GAP), number % columns * (width + STRIP_GAP)
        grid[top : top + height, left : left + width] = picture
    return grid
