"""Plots beside the view: energy and works, contact velocities and impulses, with a cursor at this instant.

Nothing here knows OpenGL: a `PlotPanel` draws with the verbs of a `Canvas`, in pixels from the lower left
corner, into whatever rectangle it is given.
"""

import math
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, Protocol

import numpy as np

from . import series
from .series import AXIS_NAMES, ImpulseClock, Over, Series

Colour = tuple[int, int, int, int]
_POINTS_A_PIXEL = 4  # of a line; beyond, only first, least, greatest and last of each pixel are kept
_STEMS_A_PIXEL = 2  # of points that are drawn one by one
_TICKS = 3
_WIDE = 1.4  # times as wide as high is a rectangle with two charts beside each other
_LINES_A_CHART = 3  # more names do not fit beside each other
_LEAST_SHARE = 1e-3  # of the largest work; less would be a line along zero
_ROUNDING = 1e-9  # of the largest value of a chart
_EVENTS_AT_ONCE = 5000  # a run of more is read chart after chart, a picture between each
_STILL_TO_COME = {"energy": 2, "contact velocity": 1, "impulse": 0}  # charts after these


class Canvas(Protocol):
    """What a panel is drawn with; colours are red, green, blue and opacity from 0 to 255."""

    def text(self, words: str, x: float, y: float, *, size: float, anchor: Literal["left", "center", "right"],
             colour: Colour) -> None: ...  # fmt: skip

    def width(self, words: str, size: float) -> float: ...

    def box(
        self, x: float, y: float, width: float, height: float, colour: Colour, radius: float = 0
    ) -> None: ...

    def line(self, x: float, y: float, x2: float, y2: float, thickness: float, colour: Colour) -> None: ...

    def disc(self, x: float, y: float, radius: float, colour: Colour) -> None: ...

    def sheet(self, key: Hashable, draw: Callable[["Canvas"], None]) -> None:
        """Draw what `draw` draws, which must be the same again for an equal key, so that it may be kept."""


@dataclass(frozen=True)
class PlotColours:
    """Colours of a panel; ``lines`` those of the series of a chart, in order."""

    paper: Colour = (30, 33, 42, 232)
    ink: Colour = (240, 243, 248, 255)
    faint: Colour = (164, 171, 186, 255)
    cursor: Colour = (96, 165, 250, 255)
    lines: tuple[Colour, ...] = ((240, 243, 248, 255), (255, 152, 72, 255), (100, 176, 255, 255))


@dataclass(frozen=True)
class Box:
    """A rectangle in pixels from the lower left corner."""

    left: float
    bottom: float
    width: float
    height: float

    def holds(self, x: float, y: float) -> bool:
        """Whether a point lies in it."""
        return self.left <= x <= self.left + self.width and self.bottom <= y <= self.bottom + self.height


@dataclass(frozen=True, eq=False)
class Chart:
    """Series that share a vertical axis, each under a short name."""

    title: str
    unit: str
    lines: dict[str, Series]

    @cached_property
    def range(self) -> tuple[float, float]:
        """Least and greatest value of all and 0, with room above and below."""
        ranges = [line.range for line in self.lines.values() if len(line)] or [(0.0, 1.0)]
        low, high = min(0.0, *(low for low, _ in ranges)), max(0.0, *(high for _, high in ranges))
        room = 0.05 * (high - low) or 1.0
        return low - room if low < 0.0 else low, high + room


@dataclass(frozen=True)
class Scale:
    """Takes the values `low` to `high` to the pixels from `first` on, `length` of them."""

    low: float
    high: float
    first: float
    length: float

    def pixel(self, value: Any) -> Any:
        """Where a value or an array of them lies."""
        return self.first + (value - self.low) / (self.high - self.low) * self.length

    def value(self, pixel: float) -> float:
        """What lies at a pixel, within the scale."""
        share = min(max((pixel - self.first) / self.length, 0.0), 1.0)
        return self.low + share * (self.high - self.low)


class PlotPanel:
    """Charts of one trajectory, over time or over s = t + ΣΛₙ.

    They are computed when they are first drawn; of a long run one after the other, see `compute_next`.
    """

    def __init__(self, trajectory: Any, over: Over = "time") -> None:
        self.trajectory = trajectory
        self.over: Over = over
        self._charts: dict[Over, list[Chart]] = {"time": [], "impulse": []}
        self._coming: dict[Over, Iterator[list[Chart]]] = {}
        self._is_announced = False
        self._frames: list[Box] = []
        self._across: dict[float, Scale] = {}  # by where frames begin
        self._drawn: dict[Any, np.ndarray] = {}

    def switch_axis(self) -> None:
        """From time to accumulated impulse, or back."""
        self.over = "impulse" if self.over == "time" else "time"

    @property
    def charts(self) -> list[Chart]:
        """What is shown, from top to bottom."""
        self.complete()
        return self._charts[self.over]

    def complete(self) -> None:
        """Compute all charts of this axis now."""
        while not self.is_complete:
            self._compute_next()

    @property
    def is_complete(self) -> bool:
        """Whether all charts of this axis are there."""
        return self._still_to_come == 0

    def compute_next(self) -> bool:
        """Compute the next chart, once a picture has told that it is coming; return whether there is a new one."""
        if self.is_complete or not self._is_announced:
            return False
        self._compute_next()
        return True

    @property
    def _still_to_come(self) -> int:
        known = self._charts[self.over]
        return _STILL_TO_COME.get(known[-1].title, 2) if known else 3

    def _compute_next(self) -> None:
        if self.over not in self._coming:
            self._coming[self.over] = _charts(self.trajectory, self.over)
        self._charts[self.over] += next(self._coming[self.over])

    @cached_property
    def _clock(self) -> ImpulseClock:
        return ImpulseClock(self.trajectory)

    def _place(self, time: float, share: float = 1.0) -> float:
        """Where a time lies on the axis; ``share`` of what happens at that instant is over."""
        return time if self.over == "time" else self._clock.place(time, self.over, share)

    def draw(
        self,
        canvas: Canvas,
        box: tuple[float, float, float, float],
        time: float,
        *,
        unit: float = 1.0,
        share: float = 1.0,
        colours: PlotColours = PlotColours(),
    ) -> None:
        """Draw the charts into a rectangle (left, bottom, width, height), with a cursor at a time [s].

        unit : pixels for a unit of lengths and of text, more on dense screens
        share : how much of what happens at that instant is over, 0 to 1, which moves the cursor over s
        """
        if len(self.trajectory.events) <= _EVENTS_AT_ONCE:
            shown = self.charts
        else:
            shown = self._charts[self.over]
            self._is_announced = True
        self._lay_out(box, unit, len(shown))
        key = (self, self.over, len(shown), box, unit, colours)
        canvas.sheet(key, lambda sheet: self._draw_standing(sheet, box, unit, colours, shown))
        if not shown:
            return
        place = self._place(time, share)
        for chart, frame in zip(shown, self._frames, strict=False):
            self._draw_now(canvas, chart, frame, place, unit, colours)

    def _lay_out(self, box: tuple[float, float, float, float], unit: float, shown: int) -> None:
        """Say where the charts lie; nowhere in a rectangle that is too small for them."""
        left, bottom, width, height = box
        foot, head, margin, gap = 38 * unit, 46 * unit, 58 * unit, 14 * unit
        count = shown + self._still_to_come
        columns = 2 if width > _WIDE * height and count > 2 else 1
        rows = math.ceil(count / columns)
        frame_width = width / columns - margin - gap
        each = (height - foot) / rows
        self._frames, self._across = [], {}
        if frame_width < 40 * unit or each < head + 24 * unit:
            return
        for number in range(shown):
            row, column = divmod(number, columns)
            frame_left = left + column * width / columns + margin
            frame_bottom = bottom + foot + (rows - 1 - row) * each
            self._frames.append(Box(frame_left, frame_bottom, frame_width, each - head))
            if frame_left not in self._across:
                self._across[frame_left] = self._horizontal(frame_left, frame_width)

    def _draw_standing(
        self,
        canvas: Canvas,
        box: tuple[float, float, float, float],
        unit: float,
        colours: PlotColours,
        shown: list[Chart],
    ) -> None:
        """What stays the same while time goes on."""
        left, bottom, width, height = box
        canvas.box(left, bottom, width, height, colours.paper)
        for chart, frame in zip(shown, self._frames, strict=False):
            self._draw_chart(canvas, chart, frame, unit, colours)
        if self._frames:
            self._draw_axis(canvas, bottom, unit, colours)
        if self._still_to_come:
            words = f"reading {grouped(len(self.trajectory.events))} events …"
            y = bottom + 0.5 * height * self._still_to_come / (self._still_to_come + len(shown))
            canvas.text(words, left + width / 2, y, size=9.5 * unit, anchor="center", colour=colours.ink)

    def time_at(self, x: float, y: float) -> float | None:
        """The time [s] at a point of the charts last drawn, or None beside them."""
        frame = next((frame for frame in self._frames if frame.holds(x, y)), None)
        if frame is None:
            return None
        found = self._clock.time_of(self._across[frame.left].value(x), self.over)
        return min(max(found, float(self.trajectory.start_time)), float(self.trajectory.end_time))

    def _horizontal(self, left: float, width: float) -> Scale:
        start = self._place(float(self.trajectory.start_time), 0.0)
        end = self._place(float(self.trajectory.end_time))
        return Scale(start, end if end > start else start + 1.0, left, width)

    def _draw_chart(
        self, canvas: Canvas, chart: Chart, frame: Box, unit: float, colours: PlotColours
    ) -> None:
        up = Scale(*chart.range, frame.bottom, frame.height)
        right = frame.left + frame.width
        for value in ticks(up.low, up.high):
            y = up.pixel(value)
            canvas.line(frame.left, y, right, y, 1.0 * unit, (*colours.faint[:3], 90))
            canvas.text(
                f"{value:g}".replace("-", "−"),
                frame.left - 6 * unit,
                y,
                size=9 * unit,
                anchor="right",
                colour=colours.faint,
            )
        title = f"{chart.title} [{chart.unit}]"
        y = frame.bottom + frame.height + 30 * unit
        canvas.text(title, frame.left, y, size=10.5 * unit, anchor="left", colour=colours.ink)
        for number, line in enumerate(chart.lines.values()):
            colour = colours.lines[number % len(colours.lines)]
            self._draw_line(canvas, line, (self._across[frame.left], up), unit, colour)

    def _draw_now(
        self, canvas: Canvas, chart: Chart, frame: Box, place: float, unit: float, colours: PlotColours
    ) -> None:
        """The cursor, and the values there."""
        top = frame.bottom + frame.height
        header = []
        for name, line in chart.lines.items():
            now = value_at(line, place)
            header.append(name if now is None else f"{name} {reading(now, chart)}")
        starts, size = header_places(canvas, header, frame, unit)
        for number, (words, start) in enumerate(zip(header, starts, strict=True)):
            colour = colours.lines[number % len(colours.lines)]
            canvas.text(words, start, top + 12 * unit, size=size, anchor="left", colour=colour)
        x = self._across[frame.left].pixel(place)
        canvas.line(x, frame.bottom, x, top, 1.5 * unit, colours.cursor)

    def _draw_line(
        self, canvas: Canvas, line: Series, scales: tuple[Scale, Scale], unit: float, colour: Colour
    ) -> None:
        across, up = scales
        points = self._pixels(line, across, up)
        if not line.joined:
            if len(points) > _STEMS_A_PIXEL * across.length / unit:
                self._draw_columns(canvas, points, unit, colour)
            else:
                self._draw_stems(canvas, points, up.pixel(0.0), unit, colour)
            return
        for (x, y), (x2, y2) in zip(points[:-1].tolist(), points[1:].tolist(), strict=True):
            canvas.line(x, y, x2, y2, 1.5 * unit, colour)

    def _draw_columns(self, canvas: Canvas, points: np.ndarray, unit: float, colour: Colour) -> None:
        """Very many points: from the lowest to the highest of each pixel's width."""
        for x, low, high in columns_of(points, unit).tolist():
            canvas.box(x - unit / 2, low - unit / 2, unit, high - low + unit, (*colour[:3], 150), 0.0)

    def _draw_stems(
        self, canvas: Canvas, points: np.ndarray, zero: float, unit: float, colour: Colour
    ) -> None:
        """Each point on a stem from zero."""
        for x, y in points.tolist():
            canvas.line(x, zero, x, y, 1.0 * unit, (*colour[:3], 70))
            canvas.disc(x, y, 2.2 * unit, colour)

    def _pixels(self, line: Series, across: Scale, up: Scale) -> np.ndarray:
        """The points of a line to draw, (k, 2) pixels, remembered for as long as nothing is moved."""
        key = line, up, across
        if key not in self._drawn:
            if len(self._drawn) > 64:
                self._drawn.clear()
            points = np.column_stack([across.pixel(line.x), up.pixel(line.y)])
            self._drawn[key] = thinned_line(points) if line.joined else thinned_points(points)
        return self._drawn[key]

    def _draw_axis(self, canvas: Canvas, bottom: float, unit: float, colours: PlotColours) -> None:
        for across in self._across.values():
            for value in ticks(across.low, across.high, 4):
                x, y = across.pixel(value), bottom + 28 * unit
                canvas.text(f"{value:g}", x, y, size=9 * unit, anchor="center", colour=colours.faint)
            middle, name = across.first + across.length / 2, AXIS_NAMES[self.over]
            canvas.text(name, middle, bottom + 11 * unit, size=10 * unit, anchor="center", colour=colours.ink)


def header_places(canvas: Canvas, header: list[str], frame: Box, unit: float) -> tuple[list[float], float]:
    """Where the words over a chart begin [pixels], and their size.

    In even slots where that leaves a gap between them, else one after the other, and smaller where the frame has no
    room for all.
    """
    size, gap = 10 * unit, 12 * unit
    widths = [canvas.width(words, size) for words in header]
    slot = frame.width / max(len(header), 2)
    if all(width + gap <= slot for width in widths[:-1]) and sum(widths[-1:]) <= slot:
        return [frame.left + number * slot for number in range(len(header))], size
    gaps = gap * (len(header) - 1)
    shrunk = min(1.0, (frame.width - gaps) / max(sum(widths), 1.0))
    starts, left = [], frame.left
    for width in widths:
        starts.append(left)
        left += shrunk * width + gap
    return starts, shrunk * size


def _charts(trajectory: Any, over: Over) -> Iterator[list[Chart]]:
    """The charts of an axis, in as many steps as take long."""
    energies, works = series.energies_and_works(trajectory, over)
    found = [Chart("energy", "J", {line.name: line for line in energies})]
    works = sorted(works, key=lambda line: -_largest(line))
    works = [line for line in works if _largest(line) > _LEAST_SHARE * _largest(works[0])]
    for first in range(0, len(works), _LINES_A_CHART):
        lines = {line.name: line for line in works[first : first + _LINES_A_CHART]}
        found.append(Chart("lesser work" if first else "work", "J", lines))
    yield found
    normal, slip = series.contact_velocities(trajectory, over)
    after, _ = series.contact_velocities(trajectory, over, when="after")
    yield [Chart("contact velocity", "m/s", {"before": normal, "after": after, "slip": slip})]
    impulse, friction = series.impulses(trajectory, over)
    yield [Chart("impulse", "N s", {"normal": impulse, "friction": friction})]


def grouped(count: int) -> str:
    """A number with narrow spaces between its thousands."""
    return f"{count:,}".replace(",", "\u202f")


def _largest(line: Series) -> float:
    return max(map(abs, line.range))


def reading(value: float, chart: Chart) -> str:
    """A value in three digits; what is only rounding beside the others of its chart is 0."""
    if abs(value) < _ROUNDING * max(map(abs, chart.range)):
        return "0"
    return (f"{value:.0f}" if 1e3 <= abs(value) < 1e5 else f"{value:.3g}").replace("-", "−")


def value_at(line: Series, place: float) -> float | None:
    """The value of a line at a place of its axis, of separate points the latest; None before the first."""
    number = int(np.searchsorted(line.x, place, side="right")) - 1
    if number < 0:
        return None
    if line.joined and number + 1 < len(line):
        return float(np.interp(place, line.x[number : number + 2], line.y[number : number + 2]))
    return float(line.y[number])


def ticks(low: float, high: float, count: int = _TICKS) -> list[float]:
    """About `count` round values from `low` to `high`."""
    if not high > low:
        return [low]
    rough = (high - low) / count
    power = 10.0 ** math.floor(math.log10(rough))
    step = min((1.0, 2.0, 2.5, 5.0, 10.0), key=lambda factor: abs(math.log(factor * power / rough))) * power
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(number * step, 12 - math.floor(math.log10(step))) for number in range(first, last + 1)]


def thinned_line(points: np.ndarray) -> np.ndarray:
    """What of a line (k, 2) in pixels makes a difference: of each column first, last, least and greatest."""
    if len(points) > _POINTS_A_PIXEL * np.ptp(points[:, 0]):
        points = points[_extremes(points)]
    level = (points[1:-1, 1] == points[:-2, 1]) & (points[1:-1, 1] == points[2:, 1])
    return points[np.concatenate([[True], ~level, [True]])] if len(points) > 2 else points


def _extremes(points: np.ndarray) -> np.ndarray:
    """Numbers of the first, last, lowest and highest point of every column of pixels, in order."""
    column = np.floor(points[:, 0]).astype(np.int64)
    first = np.flatnonzero(np.concatenate([[True], column[1:] != column[:-1]]))
    last = np.concatenate([first[1:], [len(points)]]) - 1
    by_height = np.lexsort((points[:, 1], np.cumsum(np.isin(np.arange(len(points)), first))))
    return np.unique(np.concatenate([first, last, by_height[first], by_height[last]]))


def thinned_points(points: np.ndarray) -> np.ndarray:
    """The first of all points (k, 2) that share a pixel."""
    if not len(points):
        return points
    across, up = (np.round(points) - np.round(points.min(axis=0))).astype(np.int64).T
    pixel = across * (int(up.max()) + 1) + up
    first = np.full(int(pixel.max()) + 1, -1)
    first[pixel[::-1]] = np.arange(len(points))[::-1]  # of numbers for one place the last stays
    return points[np.sort(first[first >= 0])]


def columns_of(points: np.ndarray, width: float) -> np.ndarray:
    """Where points (k, 2) lie in columns so wide: the middle of each, and its lowest and highest, (columns, 3)."""
    number = np.floor(points[:, 0] / width).astype(np.int64)
    order = np.argsort(number, kind="stable")
    columns, first = np.unique(number[order], return_index=True)
    up = points[order, 1]
    return np.column_stack(
        [(columns + 0.5) * width, np.minimum.reduceat(up, first), np.maximum.reduceat(up, first)]
    )
