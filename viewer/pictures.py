"""Pictures of a trajectory, drawn without a window."""

import math
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from .moments import Moment, choose_moments, label_moment
from .offscreen import offscreen_window
from .png import check_picture_path, write_png
from .stage import Stage, length_text

LARGEST_SIDE = 8192  # pixels
STRIP_COLUMNS = 3
STRIP_GAP = 6  # pixels


def render(
    trajectory: Any,
    path: str | os.PathLike[str],
    *,
    time: float | None = None,
    size: tuple[int, int] = (1280, 720),
) -> Path:
    """Write a PNG picture of a trajectory at a time [s], by default its end; return the path."""
    path = check_picture_path(path)
    size = check_size(size)
    start, end = float(trajectory.start_time), float(trajectory.end_time)
    chosen = end if time is None else float(time)
    if not start <= chosen <= end:
        raise ValueError(f"time must lie between {start} and {end} s, where the trajectory is, got {time!r}")
    write_png(path, draw_pictures(trajectory, [label_moment(trajectory, chosen)], size)[0])
    return path


def render_strip(
    trajectory: Any, path: str | os.PathLike[str], *, moments: int = 6, size: tuple[int, int] = (640, 400)
) -> Path:
    """Write one PNG of labelled moments, three beside each other, each of `size` pixels; return the path."""
    path = check_picture_path(path)
    size = check_size(size)
    chosen = choose_moments(trajectory, moments)
    write_png(path, _grid(draw_pictures(trajectory, chosen, size)))
    return path


def draw_pictures(trajectory: Any, moments: list[Moment], size: tuple[int, int]) -> list[np.ndarray]:
    """Draw moments of a trajectory from one camera, as (height, width, 3) uint8 pixels each."""
    return list(stream_pictures(trajectory, moments, size))


def stream_pictures(
    trajectory: Any, moments: Iterable[Moment], size: tuple[int, int], *, linger: float = 0.0
) -> Iterator[np.ndarray]:
    """Draw as `draw_pictures`, one picture at a time; impulses of the last `linger` seconds are shown."""
    window = offscreen_window()
    from .overlay import Overlay
    from .renderer import Renderer

    width, height = size
    stage = Stage(trajectory)
    camera = stage.camera(width / height)
    renderer = Renderer(stage, size)
    text_size = max(8.0, 0.019 * min(height, 1.2 * width))
    try:
        for moment in moments:
            renderer.draw(camera, moment.time, linger=linger)
            overlay = Overlay(window, size)
            line = height - 2.2 * text_size
            overlay.text(moment.label, 2 * text_size, line, size=text_size, paper=True)
            tile = f"tile {length_text(stage.tile)}"
            if stage.planes:
                overlay.text(
                    tile, width - 2 * text_size, line, size=0.8 * text_size, anchor="right", paper=True
                )
            overlay.draw()
            yield renderer.read()
    finally:
        renderer.close()


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
