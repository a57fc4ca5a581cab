"""Figures for papers, drawn with matplotlib, which is imported only here and only when something is drawn.

`impact_paths`, `post_impact_set`, `hodograph`, `events_raster`, `energy`, `contact_velocities`, `impulses` and
`convergence` each return a matplotlib figure, which `save_figure` or its own ``savefig`` writes. The functions
`draw_...` draw the same into axes of one's own.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from . import series
from .display import DisplayError
from .png import check_picture_path
from .series import AXIS_NAMES, Over, Series

CENTRIPETAL, CENTRIFUGAL, CURVE = "tab:blue", "tab:red", "black"
KIND_COLOURS = {
    "impact": "tab:orange",
    "lift_off": "tab:green",
    "stick": "tab:blue",
    "slip": "goldenrod",
    "user": "0.4",
    "sensor": "tab:cyan",
    "roll": "tab:pink",
    "halt": "tab:purple",
}
_SERIES_COLOURS = {
    "total": "black",
    "kinetic": "tab:orange",
    "potential": "tab:blue",
    "normal": "tab:orange",
    "frictional": "tab:blue",
    "slip": "tab:blue",
    "friction": "tab:red",
    "impacts": "tab:purple",
    "damping": "tab:brown",
    "drag": "tab:cyan",
    "drives": "tab:green",
    "applied": "tab:olive",
    "closing": "tab:gray",
    "springs": "tab:pink",
}
_FLAT = 1e-9  # of the extent of points, across which they count as a line
_RASTER_COLUMNS = 2000  # marks of one body and kind closer than this share of the run are one
_ROWS_WITH_NAMES = 30
_END_SHAPES = ("s", "^", "D", "v")
_PATH_COLOURS = ("tab:blue", "tab:orange", "tab:green", "tab:purple", "tab:red", "tab:brown", "tab:cyan")


class MissingPackageError(DisplayError, ImportError):
    """A package is not installed; the message says how to get it."""


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

    Raises MissingPackageError, an ImportError, where matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingPackageError('Figures need matplotlib: pip install "carom[figures]".') from None
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


# -- of one impact -------------------------------------------------------------------------------------------


def impact_paths(outcomes: Any, components: tuple[int, int] | None = None, *, dim: int = 3) -> Any:
    """Figure of the ways in contact velocity on which laws or samples resolved one impact.

    outcomes : ImpactOutcome or several, or a mapping from a name to one
    components : which two of the dim*nc contact velocities are across and up; by default the normal velocities
        of the first two contacts, of a single contact its tangential and its normal velocity
    dim : components a contact
    """
    named = _named(outcomes)
    size = len(next(iter(named.values())).velocity)
    across, up = components or _default_components(size, dim)
    figure = new_figure(6.4, 5.6)
    axes = figure.subplots()
    draw_paths(axes, {name: outcome.path.velocity[:, [across, up]] for name, outcome in named.items()})
    axes.set(xlabel=component_name(across, dim), ylabel=component_name(up, dim))
    return figure


def post_impact_set(
    found: Any, components: tuple[int, int] | None = None, *, dim: int = 3, paths: Any = ()
) -> Any:
    """Figure of the set of outcomes of one impact, with the hull that they span in these two components.

    found : PostImpactSet, whose hull is that of all its samples, or OutcomeSet
    components, dim : as of `impact_paths`; of a PostImpactSet, ``dim`` is that of its problem
    paths : some ImpactOutcomes, whose paths are drawn beneath
    """
    outcomes = getattr(found, "outcomes", found)
    dim = found.problem.dim if hasattr(found, "problem") else dim
    across, up = components or _default_components(outcomes.velocity.shape[1], dim)
    which = [across, up]
    hull = getattr(found, "hull", None)
    spanned = outcomes.velocity if hull is None else np.vstack([hull.points, outcomes.velocity])
    figure = new_figure(6.8, 5.8)
    axes = figure.subplots()
    draw_outcome_set(
        axes,
        [outcome.path.velocity[:, which] for outcome in paths],
        outcomes.velocity[:, which],
        {},
        outline(spanned[:, which]),
    )
    axes.set(xlabel=component_name(across, dim), ylabel=component_name(up, dim))
    axes.set_title(f"{getattr(found, 'count', len(outcomes))} outcomes", fontsize=12)
    axes.legend(loc="best", fontsize=10)
    return figure


def hodograph(
    curves: Any, rays: "Sequence[Ray]" = (), *, contact: int = 0, dim: int = 3, reach: float | None = None
) -> Any:
    """Figure of how slip goes during impacts of one contact, over invariant directions.

    curves : ImpactOutcome or array (n, 2) of slip velocity [m/s], or several of them. The path of an outcome
        holds only where something changes; `impact_laws.slip_curve` follows slip between.
    rays : as ``[Ray(each.direction, each.centrifugal) for each in impact_laws.invariant_directions(problem)]``
    contact, dim : which contact of the outcomes, and how many components each has; reach as `draw_slip_plane`
    """
    several = [curves] if hasattr(curves, "path") or isinstance(curves, np.ndarray) else list(curves)
    first = dim * contact + 1
    slips = [
        each.path.velocity[:, first : first + 2] if hasattr(each, "path") else np.asarray(each, dtype=float)
        for each in several
    ]
    figure = new_figure(6.0, 6.0)
    draw_slip_plane(figure.subplots(), slips, rays, reach=reach)
    return figure


def component_name(component: int, dim: int) -> str:
    """Label of a component of contact velocity; contacts count from 1."""
    letters = ("n", "t") if dim == 2 else ("n", "t_1", "t_2")
    return f"$v_{{{letters[component % dim]}}}$, contact {component // dim + 1} [m/s]"


def _default_components(size: int, dim: int) -> tuple[int, int]:
    return (0, dim) if size > dim else (1, 0)


def _named(outcomes: Any) -> dict[str, Any]:
    if isinstance(outcomes, Mapping):
        return dict(outcomes)
    several = [outcomes] if hasattr(outcomes, "path") else list(outcomes)
    return {"" if len(several) == 1 else str(number): each for number, each in enumerate(several, start=1)}


# -- of a whole run ------------------------------------------------------------------------------------------


def energy(trajectory: Any, over: Over = "time") -> Any:
    """Figure of energies and of work since the start [J], where there is any, over time, or over s = t + ΣΛₙ."""
    energies, works = series.energies_and_works(trajectory, over)
    lines = (*energies, *works)
    return _over(lines, over, "energy", f"{trajectory.law_name}: energy")


def contact_velocities(trajectory: Any, over: Over = "time") -> Any:
    """Figure of normal velocity before and after, and slip speed before, of every contact of every impact [m/s]."""
    normal, slip = series.contact_velocities(trajectory, over)
    after, _ = series.contact_velocities(trajectory, over, when="after")
    return _over(
        (normal, after, slip), over, "contact velocity", f"{trajectory.law_name}: contact velocities"
    )


def impulses(trajectory: Any, over: Over = "time") -> Any:
    """Figure of normal and frictional impulse [N s] of every contact of every impact."""
    return _over(series.impulses(trajectory, over), over, "impulse", f"{trajectory.law_name}: impulses")


def events_raster(trajectory: Any, over: Over = "time") -> Any:
    """Figure with a row for each body that takes part in events, and a mark for each of them in its colour."""
    marks = series.event_marks(trajectory, over)
    bodies = np.unique(marks.body)
    figure = new_figure(9.0, min(max(2.4, 1.4 + 0.3 * len(bodies)), 10.0))
    axes = figure.subplots()
    draw_raster(axes, marks, [str(body.name) for body in trajectory.scene.bodies])
    axes.set(xlabel=AXIS_NAMES[over], title=f"{trajectory.law_name}: {len(trajectory.events)} events")
    return figure


def convergence(log: Any, tolerance: float | None = None) -> Any:
    """Figure of how well time steps were solved: the residual of each, contacts and sweeps, and overlap.

    log : rows of `Simulator.step_log`, or of `TimeSteps.log`
    tolerance : of the law, drawn as a line; the title tells how many steps left more

    ValueError for a log without steps.
    """
    if not len(log):
        raise ValueError("log: expected at least one step, got none")
    spheres = "overlap" in log.dtype.names
    overlap = log["overlap"] if spheres else np.maximum(-log["gap"], 0.0)
    figure = new_figure(9.0, 7.0)
    residual, work, depth = figure.subplots(3, sharex=True)
    time, solved = log["time"], log["residual"] > 0.0
    residual.semilogy(time[solved], log["residual"][solved], ".", markersize=2, color="tab:blue")
    residual.set_ylabel("residual, of the largest impulse")
    title = f"{len(log)} time steps"
    if tolerance is not None:
        residual.axhline(tolerance, color="tab:red", linestyle="--", linewidth=1, label="tolerance")
        residual.legend(loc="best", fontsize=10)
        title += f", {np.count_nonzero(log['residual'] > tolerance)} of which left more than {tolerance:g}"
    residual.set_title(title, fontsize=12)
    work.plot(time, log["near" if spheres else "contacts"], color="black", linewidth=1, label="contacts")
    work.plot(time, log["sweeps"], ".", markersize=2, color="tab:orange", label="sweeps")
    work.legend(loc="best", fontsize=10)
    depth.plot(time, overlap, color="tab:green", linewidth=1)
    depth.set_ylabel("overlap, of the radius" if spheres else "overlap [m]")
    depth.set_xlabel(AXIS_NAMES["time"])
    return figure


def _over(lines: Sequence[Series], over: Over, what: str, title: str) -> Any:
    figure = new_figure(9.0, 4.6)
    axes = figure.subplots()
    draw_series(axes, lines)
    axes.set(xlabel=AXIS_NAMES[over], ylabel=f"{what} [{lines[0].unit}]", title=title)
    return figure


# -- into axes of one's own ----------------------------------------------------------------------------------


def draw_series(axes: Any, lines: Sequence[Series]) -> None:
    """Series over one axis: lines, or marks with a stem from zero where there are few."""
    for line in lines:
        colour = _SERIES_COLOURS[line.name.split()[0]]
        if line.joined:
            axes.plot(line.x, line.y, color=colour, linewidth=1.5, label=line.name)
            continue
        shape, fill = ("^", "none") if line.name.endswith("after") else ("o", "full")
        if line.name.startswith("slip") or line.name.startswith("frictional"):
            shape = "D"
        axes.plot(
            line.x,
            line.y,
            shape,
            color=colour,
            fillstyle=fill,
            markersize=4.5,
            linestyle="none",
            label=line.name,
        )
    axes.axhline(0.0, color="0.6", linewidth=0.8, zorder=0)
    axes.margins(x=0.02)
    axes.grid(color="0.93")
    if any(len(line) for line in lines):
        axes.legend(loc="best", fontsize=10)
    else:
        axes.text(0.5, 0.5, "no impacts", transform=axes.transAxes, ha="center", fontsize=12)


def draw_raster(axes: Any, marks: series.EventMarks, names: Sequence[str]) -> None:
    """Marks of events in a row for each body, first body on top; marks too close to tell apart are one."""
    bodies, row = np.unique(marks.body, return_inverse=True)
    extent = float(np.ptp(marks.x)) if len(marks.x) else 0.0
    column = np.round((marks.x - marks.x.min(initial=np.inf)) / (extent or 1.0) * _RASTER_COLUMNS)
    for kind, colour in KIND_COLOURS.items():
        which = np.flatnonzero(marks.kinds == kind)
        _, first = np.unique(np.column_stack([row[which], column[which]]), axis=0, return_index=True)
        which = which[first]
        if len(which):
            word = kind.replace("_", "-")
            axes.plot(
                marks.x[which], row[which], "|", color=colour, markersize=11, markeredgewidth=1.4, label=word
            )
    step = -(-len(bodies) // _ROWS_WITH_NAMES) or 1
    ticks = np.arange(0, len(bodies), step)
    axes.set_yticks(ticks, [names[body] for body in bodies[ticks]])
    axes.set_ylim(max(len(bodies), 1) - 0.4, -0.6)
    axes.grid(axis="x", color="0.93")
    if len(bodies):
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize=10, frameon=False)
    else:
        axes.text(0.5, 0.5, "no events", transform=axes.transAxes, ha="center", fontsize=12)


def draw_paths(axes: Any, paths: Mapping[str, np.ndarray]) -> None:
    """Impact paths (k, 2) [m/s] by name, each with a mark at every stage and an arrow along its longest one."""
    before = next(iter(paths.values()))[0]
    axes.plot(*before, "o", color="black", markersize=7, linestyle="none", zorder=5, label="before")
    for number, (name, path) in enumerate(paths.items()):
        colour = _PATH_COLOURS[number % len(_PATH_COLOURS)]
        few = len(path) <= 40
        axes.plot(*path.T, "o-" if few else "-", color=colour, linewidth=1.4, markersize=3.5, zorder=3)
        along = np.diff(path, axis=0)
        longest = int(np.argmax(np.hypot(*along.T)))
        if along[longest].any():
            start, end = (path[longest] + share * along[longest] for share in (0.45, 0.6))
            _arrow(axes, start, end, colour)
        axes.plot(
            *path[-1], _END_SHAPES[number % len(_END_SHAPES)], color=colour, fillstyle="none", markersize=10,
            markeredgewidth=1.8, linestyle="none", zorder=4, label=f"after: {name}" if name else "after",
        )  # fmt: skip
    axes.axhline(0.0, color="0.6", linewidth=0.8, zorder=0)
    axes.axvline(0.0, color="0.6", linewidth=0.8, zorder=0)
    axes.margins(0.08)
    axes.grid(color="0.93")
    axes.legend(loc="best", fontsize=10)


def outline(points: np.ndarray) -> np.ndarray:
    """Corners (k, 2) of the convex hull of points (n, 2), in order around it; two where all lie on a line."""
    middle = points.mean(axis=0)
    _, sizes, directions = np.linalg.svd(points - middle, full_matrices=False)
    scale = float(np.abs(points).max()) * len(points) ** 0.5
    if sizes[0] <= _FLAT * scale:
        return points[:1]
    if len(sizes) < 2 or sizes[1] <= _FLAT * sizes[0]:
        along = (points - middle) @ directions[0]
        return points[[int(along.argmin()), int(along.argmax())]]
    from scipy.spatial import ConvexHull

    return points[ConvexHull(points).vertices]


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
    hull: np.ndarray | None = None,
) -> None:
    """Outcomes (n, 2) [m/s] in two components of contact velocity, over impact paths (k, 2); marks (m, 2) are other
    laws' outcomes, by name; hull holds corners (h, 2) in order."""
    from matplotlib.collections import LineCollection

    axes.add_collection(LineCollection(list(paths), colors="0.80", linewidths=0.5, zorder=1))
    if paths:
        axes.plot(*paths[0][0], "o", color="black", markersize=6, zorder=5, label="before")
    axes.plot(*outcomes.T, ".", color="0.25", markersize=2.5, markeredgewidth=0, zorder=3)
    axes.plot([], [], "o", color="0.25", markersize=5, label="outcomes")
    for (word, points), shape, colour in zip(
        marks.items(), _END_SHAPES, ("tab:blue", "tab:red", "tab:orange", "tab:green"), strict=False
    ):
        axes.plot(
            *points.T, shape, color=colour, fillstyle="none", markersize=10, markeredgewidth=1.8, zorder=6,
            label=word,
        )  # fmt: skip
    if hull is not None:
        axes.fill(*hull.T, facecolor="tab:blue", alpha=0.10, zorder=0)
        axes.plot(*np.vstack([hull, hull[:1]]).T, color="tab:blue", linewidth=1.4, zorder=2, label="hull")
    everything = np.concatenate([*paths, outcomes, *marks.values(), *([] if hull is None else [hull])])
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
