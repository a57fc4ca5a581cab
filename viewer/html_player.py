"""The player: one HTML file that replays trajectories in a browser, without a server or a network."""

import base64
import gzip
import html
import json
import math
import os
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from ..progress import ProgressBar
from . import density, shaders, theme
from .actions import GROUPS, MOUSE
from .branched import spread
from .files import check_writable, whole_file
from .forces import forces_over, weight_of
from .keyframes import Keys, motion_keys
from .picture import GHOSTS, LEAST_TORQUE, SAME_PLACE, SHORTEST_LEAD, TORQUE_ARROW
from .pictures import check_view_from
from .plots import PlotColours, PlotPanel, thinned_line, thinned_points
from .replay import FRAME_MARGIN, SETTLED_SHARE
from .run import GHOST_TIMES
from .stage import Stage, event_table
from .timeline import natural_speed

MOST_STAGES = 48  # of an impulse path that are kept, evenly chosen
FRAME_TIMES = 200  # at which is known what still moves
PLOT_PIXELS = 1200, 400  # of a chart: points that would share one are left out
PLAYER_KEYS = (
    *("space", "left", "bracketleft", "down", "n", "comma", "home", "1", "0", "tab", "m"),
    *("c", "i", "k", "v", "l", "g", "x", "e", "b", "f", "z", "a"),
)
"""The first key of each action of the window that the player has too; there are no others in it but help."""
NOT_IN_PAGES = ("drop a file",)
FRAME_HEIGHT = 540  # pixels of the player in a notebook
INTEGER = 32767


def player_html(
    trajectories: Any,
    *,
    labels: Sequence[str] | None = None,
    start: float | None = None,
    end: float | None = None,
    speed: float | None = None,
    view_from: Any = None,
    title: str = "carom",
    progress: bool = False,
) -> str:
    """Return the page that replays one trajectory, or several laid over each other, or the ends of a `BranchedRun`.

    labels : a name for each, by default the name of its law
    start, end : the span [s] that is shown, by default all of it
    speed : simulated seconds for a second of watching, by default as in the window
    view_from : the direction (3,) in which the camera stands at first, as in `render`
    progress : show a bar on a terminal when it takes long
    """
    direction = check_view_from(view_from)
    runs, given = spread(trajectories, labels)
    names = [str(run.law_name) for run in runs] if given is None else given
    begin = min(float(run.start_time) for run in runs) if start is None else start
    finish = max(float(run.end_time) for run in runs) if end is None else end
    with ProgressBar(0, len(runs), "sampling") as bar:
        content = _payload(runs, names, (begin, finish), speed, direction, bar if progress else None)
    data = base64.b64encode(gzip.compress(content, mtime=0)).decode()
    page = _part("player.html")
    for mark, text in (
        ("<!--title-->", html.escape(title)),
        ("/*style*/", _part("player.css")),
        ("/*script*/", _part("player.js")),
        ("<!--data-->", data),
    ):
        page = page.replace(mark, text)
    return page


def write_player(trajectories: Any, path: str | os.PathLike[str], **options: Any) -> Path:
    """Write the page of `player_html` to a file, which appears whole or not at all; return the path."""
    path = check_writable(path)
    page = player_html(trajectories, title=path.stem, **options)
    with whole_file(path) as unfinished:
        unfinished.write_text(page, encoding="utf-8")
    return path


def player_frame(trajectories: Any, *, height: int = FRAME_HEIGHT, **options: Any) -> str:
    """Return the page of `player_html` inside a frame of `height` pixels, as notebooks show it."""
    page = html.escape(player_html(trajectories, **options))
    style = f"width:100%;height:{height:d}px;border:0;border-radius:8px"
    return f'<iframe srcdoc="{page}" sandbox="allow-scripts" allowfullscreen style="{style}"></iframe>'


def _part(name: str) -> str:
    return (files(__package__) / name).read_text(encoding="utf-8")


# -- what the page replays -----------------------------------------------------------------------------------


class _Columns:
    """Named arrays one after the other, each at a multiple of 8 bytes, and the words that say where."""

    def __init__(self) -> None:
        self.index: dict[str, list] = {}
        self.content = bytearray()

    def add(self, name: str, values: Any, kind: str) -> str:
        """Append an array of little-endian `kind`, such as "f4"; return its name."""
        array = np.ascontiguousarray(values, dtype=f"<{kind}").reshape(-1)
        self.index[name] = [kind, len(self.content), array.size]
        self.content += array.tobytes()
        self.content += bytes(-len(self.content) % 8)
        return name

    def packed(self, words: dict) -> bytes:
        """The length of the words, the words as JSON, and the arrays."""
        text = json.dumps(words | {"columns": self.index}, separators=(",", ":")).encode()
        text += b" " * (-(len(text) + 8) % 8)
        return len(text).to_bytes(8, "little") + text + bytes(self.content)


def _payload(
    runs: list[Any],
    names: list[str],
    span: tuple[float, float],
    speed: float | None,
    view_from: np.ndarray | None,
    bar: ProgressBar | None,
) -> bytes:
    stages = [Stage(run) for run in runs]
    stages[0].view_from = view_from
    camera = stages[0].camera(16 / 9)
    lower = np.min([stage.lower for stage in stages], axis=0)
    upper = np.max([stage.upper for stage in stages], axis=0)
    centre = (lower + upper) / 2
    scale = float(np.linalg.norm(upper - lower) / 2) or 1.0
    columns = _Columns()
    meshes = _Meshes(columns)
    words = {
        "start": span[0],
        "end": span[1],
        "speed": natural_speed(span[1] - span[0]) if speed is None else speed,
        "scale": scale,
        "tile": stages[0].tile / scale,
        "tileLength": stages[0].tile,
        "up": stages[0].up.tolist(),
        "lower": ((lower - centre) / scale).tolist(),
        "upper": ((upper - centre) / scale).tolist(),
        "centre": centre.tolist(),
        "azimuth": camera.azimuth,
        "elevation": camera.elevation,
        "arrow": stages[0].arrow_length * stages[0].scale / scale,
        "shadowReach": max(stage.shadow_reach * stage.scale for stage in stages) / scale,
        "planes": _planes(stages, centre, scale),
        "shaders": shaders.for_web(),
        "look": _look(),
        "help": _help(),
        "frames": _frames(stages, columns, span, centre, scale),
        "runs": [
            _run(run, stage, columns, meshes, span, (centre, scale), (number, name, len(runs)), bar)
            for number, (run, stage, name) in enumerate(zip(runs, stages, names, strict=True))
        ],
        "meshes": meshes.words,
    }
    return columns.packed(words)


def _look() -> dict:
    """Colours and shares that are those of the window."""
    surfaces = (
        "sky",
        "horizon",
        "ground",
        "dark_tile",
        "light_tile",
        "ambient_below",
        "ambient_above",
        "sun",
    )
    return {
        "themes": [{name: getattr(one, name) for name in surfaces} for one in (theme.LIGHT, theme.DARK)],
        "runs": theme.RUN_COLOURS,
        "modes": theme.MODE_COLOURS,
        "kinds": {kind: theme.to_light(colour) for kind, colour in theme.KIND_COLOURS.items()},
        "lines": [theme.to_light(colour) for colour in PlotColours().lines],
        "density": density.SCALE,
        "impulse": theme.IMPULSE_COLOUR,
        "velocity": theme.VELOCITY_COLOUR,
        "force": theme.FORCE_COLOUR,
        "undecided": theme.UNDECIDED_COLOUR,
        "torque": theme.TORQUE_COLOUR,
        "undecidedTorque": theme.UNDECIDED_TORQUE_COLOUR,
        "shortestLead": SHORTEST_LEAD,
        "torqueArrow": TORQUE_ARROW,
        "leastTorque": LEAST_TORQUE,
        "ghost": theme.GHOST_TINT,
        "tinted": theme.TINTED,
        "faded": theme.FADED,
        "seeThrough": theme.SEE_THROUGH,
        "same": SAME_PLACE,
        "compared": theme.COMPARED_RUNS,
        "ghosts": GHOSTS,
        "ghostTimes": GHOST_TIMES,
        "margin": FRAME_MARGIN,
    }


def _help() -> list[list[str]]:
    """Keys and what they do, as the window says it."""
    rows = [
        [action.sign, action.meaning]
        for group in GROUPS.values()
        for action in group
        if action.keys[0] in PLAYER_KEYS
    ]
    return [*rows, *(list(row) for row in MOUSE if row[0] not in NOT_IN_PAGES), ["H", "this help"]]


def _frames(
    stages: list[Stage], columns: _Columns, span: tuple[float, float], centre: np.ndarray, scale: float
) -> dict:
    """The box of what moves from each of some even times on, and whether the last is small against all of it."""
    boxes = []
    for time in np.linspace(*span, FRAME_TIMES):
        found = [stage.bounds_from(float(time)) for stage in stages]
        lower, upper = np.min([one for one, _ in found], axis=0), np.max([one for _, one in found], axis=0)
        boxes.append(np.concatenate([(lower - centre) / scale, (upper - centre) / scale]))
    last = float(np.linalg.norm(boxes[-1][3:] - boxes[-1][:3]))
    columns.add("frames", np.array(boxes), "f4")
    return {"settlesSmall": last < SETTLED_SHARE * 2.0}


def _plots(run: Any, prefix: str, columns: _Columns) -> list[dict]:
    """The charts of a run, over time; none of a run without a ledger."""
    if not hasattr(run, "ledger"):
        return []
    charts = []
    for number, chart in enumerate(PlotPanel(run).charts):
        lines = []
        low, high = chart.range
        for name, line in chart.lines.items():
            if not len(line):
                continue
            start, end = float(run.start_time), float(run.end_time)
            sizes = np.array([(end - start) or 1.0, high - low]) / PLOT_PIXELS
            points = np.column_stack([line.x - start, line.y]) / sizes
            points = (thinned_line(points) if line.joined else thinned_points(points)) * sizes
            at = f"{prefix}plot/{number}/{name}"
            columns.add(f"{at}/x", points[:, 0] + start, "f8")
            columns.add(f"{at}/y", points[:, 1], "f4")
            lines.append({"name": name, "columns": at, "joined": bool(line.joined)})
        charts.append({"title": chart.title, "unit": chart.unit, "low": low, "high": high, "lines": lines})
    return charts


def _planes(stages: list[Stage], centre: np.ndarray, scale: float) -> list[dict]:
    """Every plane once, in stage coordinates."""
    found: dict[tuple, dict] = {}
    for stage in stages:
        for plane in stage.planes:
            offset = (plane.offset - float(plane.normal @ centre)) / scale
            key = (*np.round(plane.normal, 9), round(offset, 9))
            found[key] = {"normal": plane.normal.tolist(), "offset": offset}
    return list(found.values())


class _Meshes:
    """The meshes of all runs, each once. Spheres are left to the player."""

    def __init__(self, columns: _Columns) -> None:
        self._columns = columns
        self._known: dict[bytes, int] = {}
        self.words: list[dict] = [{"sphere": True}]

    def number(self, mesh: Any) -> int:
        """The number of a mesh whose radius about its origin is 1."""
        if mesh.is_sphere:
            return 0
        key = mesh.positions.tobytes()
        if key not in self._known:
            self._known[key] = len(self.words)
            name = f"mesh{len(self.words)}/"
            corners = np.concatenate([mesh.positions * INTEGER, mesh.normals * 127], axis=1)
            corners, indices = np.unique(np.round(corners).astype("i2"), axis=0, return_inverse=True)
            self._columns.add(name + "places", corners[:, :3], "i2")
            self._columns.add(name + "normals", corners[:, 3:], "i1")
            self._columns.add(name + "indices", indices.reshape(-1), "u4")
            self.words.append({"columns": name})
        return self._known[key]


def _run(
    run: Any,
    stage: Stage,
    columns: _Columns,
    meshes: _Meshes,
    span: tuple[float, float],
    place: tuple[np.ndarray, float],
    who: tuple[int, str, int],
    bar: ProgressBar | None,
) -> dict:
    """The words of one run, the number and name `who`, of so many; `place` is the middle and size of the common
    stage."""
    centre, scale = place
    number, name, count = who
    prefix = f"{number}/"
    bodies = list(run.scene.bodies)
    shown = []
    radius = np.zeros(len(bodies))
    for part in stage.parts:
        for body, size, colour in zip(part.bodies.tolist(), part.radius, part.colour, strict=True):
            radius[body] = size
            mesh = meshes.number(part.mesh)
            colours = np.round(colour, 3).tolist()
            shown.append({"body": body, "mesh": mesh, "radius": size / scale, "colour": colours})
    shown.sort(key=lambda one: one["body"])
    first = min(max(span[0], float(run.start_time)), float(run.end_time))
    last = max(min(span[1], float(run.end_time)), first)
    show = None if bar is None else lambda share: bar.show(number + share)
    motion = motion_keys(run, first, last, np.where(radius > 0, radius, math.inf), show)
    columns.add(prefix + "times", motion.times, "f8")
    chosen = [motion.bodies[one["body"]] for one in shown]
    for one, keys in zip(shown, chosen, strict=True):
        one["keys"] = len(keys)
        one["speed"] = float(np.abs(keys.velocity).max(initial=1e-300)) / scale
        one["rate"] = float(np.abs(keys.spin).max(initial=1e-300))
    _add_keys(columns, prefix, shown, chosen, centre, scale)
    return {
        "label": name,
        "law": str(run.law_name),
        "columns": prefix,
        "start": first,
        "end": last,
        "shown": shown,
        "bodies": [
            {
                "name": str(body.name),
                "mass": None if body.fixed else float(body.mass),
                "fixed": bool(body.fixed),
            }
            for body in bodies
        ],
        "charts": _plots(run, prefix, columns),
        **_forces(run, count, prefix, columns, (first, last), centre, scale),
        **_events(run, prefix, columns, (first, last), centre, scale),
    }


def _add_keys(
    columns: _Columns, prefix: str, shown: list[dict], keys: list[Keys], centre: np.ndarray, scale: float
) -> None:
    """The keys of all shown bodies, one after the other, in stage coordinates."""

    def joined(arrays: list[np.ndarray], width: int) -> np.ndarray:
        return np.concatenate(arrays) if arrays else np.zeros((0, width))

    columns.add(prefix + "sample", joined([one.sample for one in keys], 1), "u4")
    columns.add(prefix + "place", joined([(one.place - centre) / scale for one in keys], 3), "f4")
    orientation = joined([one.orientation for one in keys], 4)
    columns.add(prefix + "orientation", np.round(orientation * INTEGER), "i2")
    for name, of_body, values in (
        ("velocity", "speed", [one.velocity / scale for one in keys]),
        ("spin", "rate", [one.spin for one in keys]),
    ):
        whole = [value / body[of_body] * INTEGER for body, value in zip(shown, values, strict=True)]
        columns.add(prefix + name, np.round(joined(whole, 3)), "i2")


def _forces(
    run: Any,
    count: int,
    prefix: str,
    columns: _Columns,
    span: tuple[float, float],
    centre: np.ndarray,
    scale: float,
) -> dict:
    """The forces of contacts and joints of a run, of so many, over time, or why there are none."""
    try:
        found = forces_over(run, *span, count)
    except ValueError as error:  # functions acted that a recording does not keep
        return {"weight": 0.0, "noForces": str(error)}
    if not found:
        return {"weight": 0.0, "noForces": "This page has no forces: the run has none, or too many bodies."}
    forces = [one for _, one, _ in found]
    table = {
        "force/times": ([time for time, _, _ in found], "f8"),
        "force/joined": ([joined for _, _, joined in found], "u1"),
        "force/counts": ([len(one) for one in forces], "u4"),
        "force/point": (_stacked([(one.point - centre) / scale for one in forces]), "f4"),
        "force/force": (_stacked([one.force for one in forces]), "f4"),
        "force/torque": (_stacked([one.torque for one in forces]), "f4"),
        "force/unique": (_stacked([one.unique for one in forces]), "u1"),
    }
    for name, (values, kind) in table.items():
        columns.add(prefix + name, values, kind)
    return {"weight": weight_of(run), "noForces": ""}


def _events(
    run: Any, prefix: str, columns: _Columns, span: tuple[float, float], centre: np.ndarray, scale: float
) -> dict:
    """The events of a run: when, of which kind, at which contacts, and the impulse path of each impact."""
    times, _ = event_table(run)
    low, high = np.searchsorted(times, span[0], side="left"), np.searchsorted(times, span[1], side="right")
    events = run.events[int(low) : int(high)]  # each is in the page with its contacts and path
    kinds = sorted({str(event.kind) for event in events})
    labels: dict[str, int] = {}
    notes: dict[int, str] = {}
    contacts = [event.contacts for event in events]
    paths = [_thinned_path(event.outcome) for event in events]
    for number, event in enumerate(events):
        if event.note:
            notes[number] = event.note
    table = {
        "event/time": ([event.time for event in events], "f8"),
        "event/kind": ([kinds.index(str(event.kind)) for event in events], "u1"),
        "event/contacts": ([len(patch) for patch in contacts], "u4"),
        "event/stages": ([len(path[2]) for path in paths], "u4"),
        "event/energy": (
            [0.0 if event.outcome is None else event.outcome.energy_change for event in events],
            "f4",
        ),
        "event/impulseScale": ([_largest(path[0]) for path in paths], "f4"),
        "event/velocityScale": ([_largest(path[1]) for path in paths], "f4"),
        "contact/bodies": (_stacked([patch.bodies for patch in contacts]), "u4"),
        "contact/point": (_stacked([(patch.point - centre) / scale for patch in contacts]), "f4"),
        "contact/normal": (_stacked([patch.normal for patch in contacts]), "f4"),
        "contact/tangent": (_stacked([patch.tangent for patch in contacts]), "f4"),
        "contact/friction": (
            _stacked(
                [
                    np.zeros(len(patch)) if event.problem is None else event.problem.friction
                    for event, patch in zip(events, contacts, strict=True)
                ]
            ),
            "f4",
        ),
        "path/impulse": (_stacked([_whole(path[0]) for path in paths]), "i2"),
        "path/velocity": (_stacked([_whole(path[1]) for path in paths]), "i2"),
        "path/label": ([labels.setdefault(word, len(labels)) for path in paths for word in path[2]], "u4"),
    }
    for name, (values, kind) in table.items():
        columns.add(prefix + name, values, kind)
    return {"kinds": kinds, "labels": list(labels), "notes": notes}


def _thinned_path(outcome: Any) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Impulses and velocities (k, 3 nc) and the labels of a path, at most MOST_STAGES of its stages."""
    if outcome is None:
        return np.zeros((0, 0)), np.zeros((0, 0)), []
    path = outcome.path
    chosen = np.arange(len(path))
    if len(path) > MOST_STAGES + 1:
        chosen = np.unique(np.round(np.linspace(0, len(path) - 1, MOST_STAGES + 1)).astype(int))
    return path.impulse[chosen], path.velocity[chosen], [path.labels[k] for k in chosen]


def _largest(values: np.ndarray) -> float:
    return float(np.abs(values).max(initial=0.0)) or 1.0


def _whole(values: np.ndarray) -> np.ndarray:
    return np.round(values / _largest(values) * INTEGER).reshape(-1)


def _stacked(arrays: list[np.ndarray]) -> np.ndarray:
    flat = [np.asarray(array, dtype=float).reshape(-1) for array in arrays]
    return np.concatenate(flat) if flat else np.zeros(0)
