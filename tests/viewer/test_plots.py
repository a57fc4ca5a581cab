"""Plots beside the view: what is drawn where, without OpenGL; and once for real."""

import numpy as np
import pytest

from carom import Body, HalfSpace, Material, Scene, SequentialReflection, Simulator, Sphere
from carom.viewer import plots, series
from carom.viewer.plots import (
    Box,
    PlotColours,
    PlotPanel,
    columns_of,
    header_places,
    thinned_line,
    thinned_points,
    ticks,
    value_at,
)

BOX = (100.0, 50.0, 420.0, 600.0)


class Paper:
    """Remembers what is drawn on it."""

    def __init__(self):
        self.texts, self.boxes, self.lines, self.discs = [], [], [], []

    def text(self, words, x, y, *, size, anchor, colour):
        self.texts.append((words, x, y))

    def width(self, words, size):
        return 0.6 * size * len(words)

    def box(self, x, y, width, height, colour, radius=0.0):
        self.boxes.append((x, y, width, height))

    def sheet(self, key, draw):
        draw(self)

    def line(self, x, y, x2, y2, thickness, colour):
        self.lines.append((x, y, x2, y2, colour))

    def disc(self, x, y, radius, colour):
        self.discs.append((x, y, colour))

    def cursors(self):
        """Where the cursor stands in each chart."""
        return [line[0] for line in self.lines if line[4] == PlotColours().cursor]

    @property
    def words(self):
        return [words for words, _, _ in self.texts]


@pytest.fixture(scope="module")
def run():
    """A ball of 2 kg that bounces on a floor, slipping."""
    material = Material(friction=0.0, restitution=0.8)
    scene = Scene()
    scene.add(Body(HalfSpace((0, 0, 1)), fixed=True, material=material))
    scene.add(Body(Sphere(0.1), mass=2.0, position=(0, 0, 1.0), velocity=(0.5, 0, 0), material=material))
    return Simulator(scene, SequentialReflection()).run(2.0)


@pytest.fixture
def panel(run):
    return PlotPanel(run)


def drawn(panel, time, **options):
    paper = Paper()
    panel.draw(paper, BOX, time, **options)
    return paper


def test_everything_lies_in_the_rectangle(panel):
    for over in ("time", "impulse"):
        panel.over = over
        paper = drawn(panel, 0.7)
        left, bottom, width, height = BOX
        points = np.array(
            [(x, y) for x, y, *_ in paper.lines + paper.discs]
            + [(x2, y2) for _, _, x2, y2, _ in paper.lines]
            + [(x, y) for _, x, y in paper.texts]
        )
        assert (points[:, 0] >= left).all()
        assert (points[:, 0] <= left + width).all()
        assert (points[:, 1] >= bottom).all()
        assert (points[:, 1] <= bottom + height).all()
        assert {"energy [J]", "contact velocity [m/s]", "impulse [N s]", series.AXIS_NAMES[over]} <= set(
            paper.words
        )


def test_impulses_are_drawn_at_their_values(panel, run):
    paper = drawn(panel, 0.0)
    normal, _ = series.impulses(run)
    colour = PlotColours().lines[0]
    zero = min(y for _, y, *_ in paper.lines)
    lowest = [(x, y) for x, y, tint in paper.discs if tint == colour][-len(normal) :]
    places, heights = np.array(lowest).T
    share = (places - places[0]) / (places[-1] - places[0])
    assert share == pytest.approx((normal.x - normal.x[0]) / (normal.x[-1] - normal.x[0]), abs=1e-9)
    assert (heights - zero) / (heights[0] - zero) == pytest.approx(normal.y / normal.y[0], rel=1e-9)


def test_the_cursor_follows_the_time_and_the_legend_tells_values(panel, run):
    total = series.energies(run)[0]
    for share in (0.0, 0.31, 1.0):
        time = share * run.end_time
        paper = drawn(panel, time)
        assert paper.cursors() == pytest.approx([158.0 + share * 348.0] * 4)
        value = float(np.interp(time, total.x, total.y))
        assert f"total {value:.3g}" in paper.words
        assert panel.time_at(paper.cursors()[0], 300.0) == pytest.approx(time, abs=1e-12)
    assert "before" in drawn(panel, 0.0).words
    time = float(run.event_times[0])
    assert f"normal {run.events[0].outcome.impulse[0]:.3g}" in drawn(panel, time).words


def test_over_the_impulse_the_cursor_moves_while_time_stands_still(panel, run):
    panel.switch_axis()
    assert panel.over == "impulse"
    time = float(run.event_times[0])
    cursors = [drawn(panel, time, share=share).cursors()[0] for share in (0.0, 0.5, 1.0)]
    assert cursors[0] < cursors[1] < cursors[2]
    assert cursors[1] == pytest.approx((cursors[0] + cursors[2]) / 2)
    assert panel.time_at(cursors[1], 300.0) == time
    panel.switch_axis()
    assert panel.over == "time"


def test_points_beside_the_charts_are_no_time(panel):
    assert panel.time_at(300.0, 300.0) is None  # nothing drawn yet
    drawn(panel, 0.1)
    assert panel.time_at(300.0, 300.0) is not None
    for x, y in ((90.0, 300.0), (300.0, 40.0), (530.0, 300.0), (120.0, 300.0), (300.0, 655.0)):
        assert panel.time_at(x, y) is None


def test_a_rectangle_too_small_holds_paper_only(panel):
    paper = Paper()
    panel.draw(paper, (0.0, 0.0, 90.0, 600.0), 0.1)
    assert (len(paper.boxes), paper.lines, paper.texts) == (1, [], [])
    assert panel.time_at(45.0, 300.0) is None


def test_charts_of_a_wide_rectangle_stand_in_two_columns(panel, run):
    paper = Paper()
    panel.draw(paper, (0.0, 0.0, 1200.0, 500.0), 0.4 * run.end_time)
    places = sorted(set(np.round(paper.cursors(), 6)))
    assert len(paper.cursors()) == 4
    assert len(places) == 2
    assert places[1] - places[0] == pytest.approx(600.0)
    for x in places:
        for y in (100.0, 350.0):
            assert panel.time_at(x, y) == pytest.approx(0.4 * run.end_time, abs=1e-9)
    assert paper.words.count(series.AXIS_NAMES["time"]) == 2


def test_a_run_without_impacts_is_drawn():
    scene = Scene(gravity=(0, 0, 0))
    scene.add(Body(Sphere(0.1), density=1.0, velocity=(1, 0, 0)))
    panel = PlotPanel(Simulator(scene, SequentialReflection()).run(1.0), over="impulse")
    paper = drawn(panel, 0.5)
    assert paper.discs == []
    assert paper.cursors() == pytest.approx([158.0 + 0.5 * 348.0] * 3)


@pytest.mark.parametrize("low_high", [(0.0, 1.0), (-3.3, 4.2), (0.0, 1.7e-7), (1e5, 3.4e5), (-0.2, 0.0)])
def test_ticks_are_few_round_and_inside(low_high):
    low, high = low_high
    found = ticks(low, high)
    assert 2 <= len(found) <= 5
    assert low <= found[0] <= found[-1] <= high
    steps = np.diff(found)
    assert steps == pytest.approx([steps[0]] * len(steps), rel=1e-9)
    assert all(len(f"{value:g}") <= 8 for value in found)


def test_a_thinned_line_covers_the_same_pixels():
    rng = np.random.default_rng(6)
    x = np.sort(rng.uniform(0.0, 300.0, 50_000))
    y = 100.0 + 50.0 * np.sin(x / 7.0) + rng.normal(size=len(x))
    y[25_000] = 900.0
    points = np.column_stack([x, y])
    thin = thinned_line(points)
    assert len(thin) <= 4 * 301
    assert np.array_equal(thin[[0, -1]], points[[0, -1]])
    assert (np.diff(thin[:, 0]) >= 0.0).all()
    for column in range(300):
        inside, kept = y[np.floor(x) == column], thin[np.floor(thin[:, 0]) == column, 1]
        assert (inside.min(), inside.max()) == (kept.min(), kept.max())
    flat = np.column_stack([np.arange(50.0), np.full(50, 3.0)])
    assert thinned_line(flat).tolist() == [[0.0, 3.0], [49.0, 3.0]]


def test_thinned_points_keep_one_a_pixel():
    points = np.array([(1.1, 2.0), (1.2, 2.1), (5.0, 2.0), (1.0, 9.0)])
    assert thinned_points(points).tolist() == [[1.1, 2.0], [5.0, 2.0], [1.0, 9.0]]
    assert thinned_points(np.zeros((0, 2))).shape == (0, 2)


def test_values_between_and_before_points():
    line = series.Series("a", "J", np.array([1.0, 2.0, 2.0, 3.0]), np.array([0.0, 4.0, 8.0, 9.0]))
    assert [value_at(line, at) for at in (0.5, 1.5, 2.0, 2.5, 4.0)] == [None, 2.0, 8.0, 8.5, 9.0]
    points = series.Series("a", "J", line.x, line.y, joined=False)
    assert [value_at(points, at) for at in (0.5, 1.5, 2.0, 4.0)] == [None, 0.0, 8.0, 9.0]


def test_the_overlay_of_the_viewer_is_a_canvas(needs_gl, fresh_python):
    code = """
import numpy as np
from carom import Body, HalfSpace, Material, Scene, SequentialReflection, Simulator, Sphere
from carom.viewer.offscreen import offscreen_window
window = offscreen_window()
from carom.viewer.overlay import Overlay
from carom.viewer.plots import PlotPanel
from carom.viewer.renderer import Renderer
from carom.viewer.stage import Stage
material = Material(friction=0.0, restitution=0.8)
scene = Scene()
scene.add(Body(HalfSpace((0, 0, 1)), fixed=True, material=material))
scene.add(Body(Sphere(0.1), mass=2.0, position=(0, 0, 1.0), material=material))
run = Simulator(scene, SequentialReflection()).run(2.0)
size = (640, 480)
stage = Stage(run)
renderer = Renderer(stage, size)
renderer.draw(stage.camera(4 / 3), 0.5)
before = renderer.read().astype(int)
overlay = Overlay(window, size)
PlotPanel(run).draw(overlay, (300, 20, 320, 440), 0.5)
overlay.draw()
after = renderer.read().astype(int)
changed = (abs(after - before) > 8).any(axis=2)
rows, columns = np.nonzero(changed)
print(columns.min(), columns.max(), rows.min(), rows.max(), changed[20:460, 300:620].mean())
orange = (after[..., 0] > 200) & (after[..., 2] < 130) & (after[..., 1] > 100)
print(orange.sum())
"""
    result = fresh_python(code)
    assert result.returncode == 0, result.stderr
    left, right, top, bottom, share, orange = (float(word) for word in result.stdout.split())
    assert 299 <= left <= 301
    assert 618 <= right <= 621
    assert 19 <= top <= 21
    assert 458 <= bottom <= 461
    assert share > 0.98
    assert orange > 100


def test_the_works_of_the_ledger_are_a_chart_of_their_own(panel, run):
    (work,) = [chart for chart in panel.charts if chart.title == "work"]
    assert list(work.lines) == ["impacts"]
    for time in (0.2, 0.9, 1.9):
        expected = run.ledger(time).impacts
        assert value_at(work.lines["impacts"], time) == pytest.approx(expected, abs=1e-9)
        words = f"{expected:.3g}".replace("-", "−")
        assert f"impacts {words}" in drawn(panel, time).words


def test_a_long_run_is_read_chart_after_chart_and_says_so(run, monkeypatch):
    monkeypatch.setattr(plots, "_EVENTS_AT_ONCE", 0)
    panel = PlotPanel(run)
    assert not panel.compute_next(), "nothing is computed before a picture says that it is coming"
    pictures = [drawn(panel, 0.3)]
    while panel.compute_next():
        pictures.append(drawn(panel, 0.3))
    told = [any("reading" in words for words in paper.words) for paper in pictures]
    assert told == [True, True, True, False]
    assert [len(paper.cursors()) for paper in pictures] == [0, 2, 3, 4]
    monkeypatch.undo()
    assert pictures[-1].words == drawn(PlotPanel(run), 0.3).words


def test_very_many_points_are_drawn_as_columns_from_lowest_to_highest(panel, monkeypatch):
    points = np.array([[10.2, 5.0], [11.1, 8.0], [10.9, 2.0], [14.0, 7.0]])
    assert columns_of(points, 2.0).tolist() == [[11.0, 2.0, 8.0], [15.0, 7.0, 7.0]]
    discs, boxes = len(drawn(panel, 0.0).discs), len(drawn(panel, 0.0).boxes)
    monkeypatch.setattr(plots, "_STEMS_A_PIXEL", 0)
    few = drawn(panel, 0.0)
    assert discs > 10
    assert not few.discs
    assert len(few.boxes) == boxes + discs


@pytest.mark.parametrize(
    "header",
    [
        ["before", "after"],
        ["before −4.25e−05", "after −1.2e−07", "slip 3.0"],
        ["before −4.25e−05 and more", "after", "slip 3.1415926535"],
        ["one"],
    ],
)
def test_words_over_a_chart_are_apart_and_inside(header):
    paper, frame = Paper(), Box(40.0, 0.0, 250.0, 80.0)
    starts, size = header_places(paper, header, frame, 1.0)
    ends = [start + paper.width(words, size) for start, words in zip(starts, header, strict=True)]
    assert all(start - end > 9.9 for start, end in zip(starts[1:], ends[:-1], strict=True))
    assert starts[0] == frame.left
    assert ends[-1] <= frame.left + frame.width + 1e-9
    assert 4.0 < size <= 10.0
