"""Plots with matplotlib, which is imported only here and only when something is plotted."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .display import DisplayError
from .png import check_picture_path

CENTRIPETAL, CENTRIFUGAL, CURVE = "tab:blue", "tab:red", "black"


@dataclass(frozen=True)
class Ray:
    """An invariant direction of slip: a dashed ray from the origin with an arrow along slip's change.

    direction : (2,) unit vector
    outward : whether slip grows in it (red, arrow away from the origin), else blue, arrow to the origin
    """

    direction: np.ndarray
    outward: bool


def new_figure(width: float, height: float) -> Any:
    """An empty matplotlib figure of that size [inch] at 100 dots an inch, which needs no display.

    Raises DisplayError where matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise DisplayError('Plots need matplotlib: pip install "carom[plots]".') from None
    return Figure(figsize=(width, height), dpi=100, layout="constrained")


def save_figure(figure: Any, path: str | os.PathLike[str]) -> Path:
    """Write the figure as PNG; the file appears whole or not at all."""
    path = check_picture_path(path)
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        figure.savefig(unfinished, format="png", metadata={"Software": None})
        os.replace(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)
    return path


def draw_slip_plane(
    axes: Any,
    curves: Sequence[np.ndarray],
    rays: Sequence[Ray],
    marks: Sequence[tuple[str, np.ndarray]] = (),
    reach: float | None = None,
    colours: Sequence[str] = (),
) -> None:
    """Hodographs (n, 2) [m/s] in the plane of slip, each with an arrow, over rays; marks are named points.

    ``reach`` [m/s] is the length of the rays and half the extent shown; the default holds all curves.
    """
    if reach is None:
        reach = 1.2 * max(float(np.abs(curve).max()) for curve in curves)
    for ray in rays:
        colour = CENTRIFUGAL if ray.outward else CENTRIPETAL
        tip = reach / float(np.abs(ray.direction).max()) * ray.direction  # where the ray leaves the picture
        axes.plot([0.0, tip[0]], [0.0, tip[1]], "--", color=colour, linewidth=1.3, zorder=1)
        low, high = 0.88 * tip, 0.97 * tip
        start, end = (low, high) if ray.outward else (high, low)
        _arrow(axes, start, end, colour)
    for k, curve in enumerate(curves):
        colour = colours[k] if colours else CURVE
        axes.plot(curve[:, 0], curve[:, 1], color=colour, linewidth=1.6, zorder=3)
        lengths = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(curve, axis=0).T))])
        if lengths[-1] > 0.06 * reach:
            at = [np.interp(share * lengths[-1], lengths, np.arange(len(curve))) for share in (0.40, 0.46)]
            points = [
                np.array([np.interp(a, np.arange(len(curve)), column) for column in curve.T]) for a in at
            ]
            _arrow(axes, points[0], points[1], colour)
        axes.plot(*curve[0], "o", color=colour, markersize=3.5, zorder=4)
    for name, point in marks:
        axes.plot(*point, "o", color="tab:green", markersize=5, zorder=5)
        away = (-16, 5) if point[0] < 0.0 else (7, -13)  # of curves that run to the right or to the origin
        axes.annotate(name, point, xytext=away, textcoords="offset points", fontsize=12, zorder=6)
    axes.plot(0.0, 0.0, "+", color="black", markersize=10, zorder=5)
    axes.set(xlim=(-reach, reach), ylim=(-reach, reach), xlabel="$v_x$ [m/s]", ylabel="$v_y$ [m/s]")
    axes.set_aspect("equal")
    axes.tick_params(labelsize=8)
    axes.grid(color="0.92")


def draw_outcome_set(
    axes: Any,
    paths: Sequence[np.ndarray],
    outcomes: np.ndarray,
    marks: Mapping[str, np.ndarray],
) -> None:
    """Outcomes (n, 2) [m/s] in two components of contact velocity, over impact paths (k, 2); marks (m, 2) are other
    laws' outcomes, by name."""
    from matplotlib.collections import LineCollection

    axes.add_collection(LineCollection(list(paths), colors="0.80", linewidths=0.5, zorder=1))
    if paths:
        axes.plot(*paths[0][0], "o", color="black", markersize=6, zorder=5, label="before")
    axes.plot(*outcomes.T, ".", color="0.25", markersize=2.5, markeredgewidth=0, zorder=3)
    axes.plot([], [], "o", color="0.25", markersize=5, label="outcomes")
    shapes = ("s", "^", "D", "v")
    for (word, points), shape, colour in zip(
        marks.items(), shapes, ("tab:blue", "tab:red", "tab:orange", "tab:green"), strict=False
    ):
        axes.plot(
            *points.T, shape, color=colour, fillstyle="none", markersize=10, markeredgewidth=1.8, zorder=6,
            label=word,
        )  # fmt: skip
    everything = np.concatenate([*paths, outcomes, *marks.values()])
    low, high = everything.min(axis=0), everything.max(axis=0)
    margin = 0.06 * np.maximum(high - low, 1e-3 * max(float((high - low).max()), 1e-12))
    axes.set(xlim=(low[0] - margin[0], high[0] + margin[0]), ylim=(low[1] - margin[1], high[1] + margin[1]))
    axes.axhline(0.0, color="0.6", linewidth=0.8, zorder=0)
    axes.axvline(0.0, color="0.6", linewidth=0.8, zorder=0)
    axes.grid(color="0.93")


def draw_impulse_curve(
    axes: Any,
    curve: np.ndarray,
    marks: Sequence[tuple[str, np.ndarray]],
    compression: tuple[np.ndarray, float],
    sticking: np.ndarray,
) -> None:
    """An impulse curve (n, 3) [N s] in space, the plane n · I = c of compression, and the line of sticking.

    ``compression`` is (n, c); ``sticking`` (2, 3) holds two points of the line; marks are named points.
    """
    axes.plot(*curve.T, color=CURVE, linewidth=2.0, zorder=5)
    axes.plot(*sticking.T, "--", color="tab:purple", linewidth=1.3, label="line of sticking")
    low, high = curve.min(axis=0), curve.max(axis=0)
    margin = 0.15 * (high - low)
    x = np.array([low[0] - margin[0], high[0] + margin[0]])
    y = np.array([low[1] - margin[1], high[1] + margin[1]])
    X, Y = np.meshgrid(x, y)
    normal, constant = compression
    Z = (constant - normal[0] * X - normal[1] * Y) / normal[2]
    axes.plot_surface(X, Y, Z, color="tab:orange", alpha=0.25, linewidth=0, label="plane of compression")
    for name, point in marks:
        axes.plot(*[[c] for c in point], "o", color="tab:green", markersize=5)
        axes.text(*point, f"  {name}", fontsize=11, zorder=9)
    axes.set(xlabel="$I_x$ [N s]", ylabel="$I_y$ [N s]", zlabel="$I_z$ [N s]")
    axes.tick_params(labelsize=8)
    axes.set_box_aspect(None, zoom=0.85)


def _arrow(axes: Any, start: np.ndarray, end: np.ndarray, colour: str) -> None:
    style = {"arrowstyle": "-|>", "color": colour, "mutation_scale": 13, "linewidth": 1.3}
    axes.annotate("", xy=end, xytext=start, arrowprops=style, zorder=4)
