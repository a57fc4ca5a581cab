"""Figures hold what the series and outcomes say, and none is blank."""

import re
import sys
from pathlib import Path

import numpy as np
import pytest

from carom import (
    AnitescuPotra,
    Body,
    Box,
    HalfSpace,
    ImpactProblem,
    Material,
    MaximumDissipation,
    Scene,
    SequentialLCP,
    SequentialReflection,
    SetValuedRouth,
    Simulator,
    Sphere,
    StrongeCoulomb,
    TimeSteps,
)
from carom.impact_laws import invariant_directions, post_impact_set, slip_curve
from carom.viewer import DisplayError, figures, series


@pytest.fixture(scope="module")
def run():
    """A box and a ball that meet a floor, with friction, until they slide."""
    material = Material(friction=0.4, restitution=0.0)
    scene = Scene()
    scene.add(Body(HalfSpace((0, 0, 1)), fixed=True, material=material, name="floor"))
    scene.add(Body(Box((0.2, 0.2, 0.1)), density=500.0, position=(0, 0, 0.2), velocity=(1, 0, 0), name="box"))
    scene.add(Body(Sphere(0.1), density=500.0, position=(1, 0, 0.4), velocity=(1, 0, 0), material=material))
    found = Simulator(scene, AnitescuPotra()).run(1.0)
    assert set(found.event_kinds.tolist()) >= {"impact", "stick"}
    return found


@pytest.fixture(scope="module")
def block():
    """A planar block that lands flat: both corners at once, friction 1."""
    M, J = np.diag([1.0, 1.0, 0.1]), np.array([[0, 1, -0.5], [1, 0, 0.5], [0, 1, 0.5], [1, 0, 0.5]])
    return ImpactProblem.from_generalized(M, J, np.array([0.3, -1.0, 0.0]), friction=1.0, dim=2)


def drawn(figure, label):
    """x and y of the line with a label."""
    (line,) = (line for line in figure.axes[0].get_lines() if line.get_label() == label)
    return np.column_stack(line.get_data())


def pixels(figure):
    """The figure as it is written."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())[..., :3]


def assert_shows_something(figure):
    """Whether, inside the axes, more than the frame and grid is drawn, in colour."""
    picture = pixels(figure).astype(int)
    saturation = picture.max(axis=2) - picture.min(axis=2)
    assert (saturation > 60).sum() > 60
    axes = figure.axes[0]
    assert axes.get_xlabel()
    low, high = axes.get_xlim()
    assert low < high


@pytest.mark.parametrize("over", ["time", "impulse"])
def test_energy_is_drawn_from_its_series(run, over):
    figure = figures.energy(run, over)
    works = series.works(run, over)
    assert "impacts" in [line.name for line in works]
    for line in (*series.energies(run, over), *works):
        assert np.array_equal(drawn(figure, line.name), np.column_stack([line.x, line.y]))
    assert figure.axes[0].get_xlabel() == series.AXIS_NAMES[over]
    assert figure.axes[0].get_ylabel() == "energy [J]"
    assert_shows_something(figure)


@pytest.mark.parametrize("over", ["time", "impulse"])
def test_impulses_and_velocities_are_drawn_from_their_series(run, over):
    figure = figures.impulses(run, over)
    for line in series.impulses(run, over):
        assert np.array_equal(drawn(figure, line.name), np.column_stack([line.x, line.y]))
    assert_shows_something(figure)
    figure = figures.contact_velocities(run, over)
    after = series.contact_velocities(run, over, when="after")[0]
    for line in (*series.contact_velocities(run, over), after):
        assert np.array_equal(drawn(figure, line.name), np.column_stack([line.x, line.y]))
    assert_shows_something(figure)


def test_raster_marks_every_body_of_every_event(run):
    figure = figures.events_raster(run)
    axes = figure.axes[0]
    marks = {
        label.get_text(): place
        for place, label in zip(axes.get_yticks(), axes.get_yticklabels(), strict=True)
    }
    names = [str(body.name) for body in run.scene.bodies]
    for kind in set(run.event_kinds.tolist()):
        expected = {
            (float(event.time), marks[names[body]])
            for event in run.events
            if event.kind == kind
            for body in event.contacts.bodies.ravel().tolist()
        }
        points = drawn(figure, kind.replace("_", "-"))
        assert {(x, y) for x, y in points.tolist()} <= expected
        assert {y for _, y in points.tolist()} == {y for _, y in expected}
        assert len(points) > 0
    assert_shows_something(figure)


def test_raster_draws_few_marks_for_many_events():
    axes = figures.new_figure(4.0, 3.0).subplots()
    many = 100_000
    marks = series.EventMarks(np.arange(many) % 2, np.linspace(0.0, 1.0, many), np.full(many, "impact"))
    figures.draw_raster(axes, marks, ["first", "second"])
    (line,) = axes.get_lines()
    assert 2000 <= len(line.get_xdata()) <= 2 * 2001
    assert {label.get_text() for label in axes.get_yticklabels()} == {"first", "second"}


def test_paths_of_several_laws_begin_together_and_end_at_their_outcomes(block):
    outcomes = {"at once": AnitescuPotra().resolve(block), "in turn": SequentialLCP().resolve(block)}
    figure = figures.impact_paths(outcomes, dim=2)
    assert drawn(figure, "before").tolist() == [[block.u[0], block.u[2]]]
    for name, outcome in outcomes.items():
        assert drawn(figure, f"after: {name}").tolist() == [[outcome.velocity[0], outcome.velocity[2]]]
        path = outcome.path.velocity[:, [0, 2]]
        assert any(np.array_equal(np.column_stack(l.get_data()), path) for l in figure.axes[0].get_lines())
    assert figure.axes[0].get_ylabel() == "$v_{n}$, contact 2 [m/s]"
    assert_shows_something(figure)
    other = figures.impact_paths(outcomes["at once"], (1, 3), dim=2)
    assert drawn(other, "after").tolist() == [
        [outcomes["at once"].velocity[1], outcomes["at once"].velocity[3]]
    ]


def test_post_impact_set_lies_within_its_hull(block):
    law = SetValuedRouth(step=0.2)
    found = post_impact_set(block, law, 2048, keep=256)
    figure = figures.post_impact_set(found, paths=[law.resolve(block, np.random.default_rng(1))])
    hull = drawn(figure, "hull")
    assert np.array_equal(hull[0], hull[-1])
    edges, away = np.diff(hull, axis=0), found.outcomes.velocity[:, None, [0, 2]] - hull[:-1]
    side = edges[:, 0] * away[..., 1] - edges[:, 1] * away[..., 0]
    assert (side >= -1e-9).all()  # counter-clockwise
    assert figure.axes[0].get_title() == "2048 outcomes"
    assert figure.axes[0].get_xlabel() == "$v_{n}$, contact 1 [m/s]"
    low, high = figure.axes[0].get_xlim()
    assert low < hull[:, 0].min() <= hull[:, 0].max() < high
    assert_shows_something(figure)
    assert_shows_something(figures.post_impact_set(found.outcomes, dim=2))


def test_outline_of_flat_sets():
    rng = np.random.default_rng(4)
    line = np.outer(rng.uniform(-1, 1, 50), (0.6, 0.8)) + 2.0
    ends = figures.outline(line)
    assert len(ends) == 2
    assert np.linalg.norm(ends[1] - ends[0]) == pytest.approx(np.ptp((line - 2.0) @ (0.6, 0.8)), rel=1e-12)
    assert figures.outline(np.full((9, 2), 0.3)).shape == (1, 2)
    square = np.array([(0, 0), (1, 0), (1, 1), (0, 1), (0.5, 0.5)], dtype=float)
    assert {tuple(corner) for corner in figures.outline(square)} == {(0, 0), (1, 0), (1, 1), (0, 1)}


def test_hodograph_draws_slip_and_invariant_directions():
    W = np.array([[2.0, 0.3, 0.1], [0.3, 1.5, 0.2], [0.1, 0.2, 3.0]])
    problem = ImpactProblem(W, [-1.0, 0.8, 0.5], friction=0.3, restitution=0.5)
    outcome = StrongeCoulomb().resolve(problem)
    rays = [figures.Ray(each.direction, each.centrifugal) for each in invariant_directions(problem)]
    curve = slip_curve(problem, outcome)
    slip = curve.at(np.linspace(0.0, curve.end, 200))[0]
    for given, expected in ((slip, slip), (outcome, outcome.path.velocity[:, 1:3])):
        figure = figures.hodograph(given, rays)
        lines = [np.column_stack(line.get_data()) for line in figure.axes[0].get_lines()]
        assert sum(np.array_equal(line, expected) for line in lines) == 1
        assert sum(line.get_linestyle() == "--" for line in figure.axes[0].get_lines()) == len(rays) > 0
        assert_shows_something(figure)


def test_figures_of_a_run_without_events_say_so():
    scene = Scene(gravity=(0, 0, 0))
    scene.add(Body(Sphere(0.1), density=1.0, velocity=(1, 0, 0)))
    run = Simulator(scene, SequentialReflection()).run(1.0)
    for figure, words in (
        (figures.impulses(run), "no impacts"),
        (figures.contact_velocities(run, "impulse"), "no impacts"),
        (figures.events_raster(run), "no events"),
    ):
        assert words in [text.get_text() for text in figure.axes[0].texts]
        pixels(figure)


@pytest.mark.parametrize("bulk", [False, True])
def test_how_well_time_steps_were_solved_is_drawn(bulk):
    scene = Scene()
    scene.add(Body(HalfSpace((0, 0, 1)), fixed=True))
    law, places = MaximumDissipation(tolerance=1e-4), [(0, 0, 0.12), (0.01, 0, 0.35)]
    if bulk:
        scene.add_spheres(0.1, density=1.0, position=places)
        steps = TimeSteps(scene, law, step=2e-3)
        steps.run(0.5)
        log, contacts, overlap = steps.log.rows, steps.log.rows["near"], steps.log.rows["overlap"]
    else:
        for place in places:
            scene.add(Body(Sphere(0.1), density=1.0, position=place))
        simulator = Simulator(scene, law, steps=2e-3)
        simulator.run(0.5, stop_at_rest=False)
        log, contacts = simulator.step_log, simulator.step_log["contacts"]
        overlap = np.maximum(-log["gap"], 0.0)
    assert contacts.max() == 2
    figure = figures.convergence(log, 1e-4)
    above, work, depth = figure.axes
    assert above.get_title().startswith("250 time steps, ")
    assert f"{(log['residual'] > 1e-4).sum()} of which left more than 0.0001" in above.get_title()
    assert np.array_equal(drawn(figure, "tolerance")[:, 1], [1e-4, 1e-4])
    lines = {line.get_label(): np.column_stack(line.get_data()) for line in work.get_lines()}
    assert np.array_equal(lines["contacts"], np.column_stack([log["time"], contacts]))
    assert np.array_equal(lines["sweeps"], np.column_stack([log["time"], log["sweeps"]]))
    assert np.array_equal(depth.get_lines()[0].get_ydata(), overlap)
    assert depth.get_xlabel() == series.AXIS_NAMES["time"]
    with pytest.raises(ValueError, match="log: expected at least one step"):
        figures.convergence(log[:0])


def test_without_matplotlib_one_sentence_says_what_to_install(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(
        ImportError, match=r'^Figures need matplotlib: pip install "carom\[figures\]"\.$'
    ) as caught:
        figures.energy(run)
    assert isinstance(caught.value, DisplayError)


def test_the_examples_of_the_docs_run(tmp_path, monkeypatch):
    text = (Path(__file__).parents[2] / "docs" / "viewer.md").read_text()
    monkeypatch.chdir(tmp_path)
    names = {}
    blocks = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    for block in blocks:
        exec(compile(block, "viewer.md", "exec"), names)
    assert {path.name for path in tmp_path.iterdir()} == set(re.findall(r'savefig\("(.*?)"\)', text))
    assert all(path.stat().st_size > 5000 for path in tmp_path.iterdir())
    assert len(blocks) == 2
    for name in re.findall(r"^\| `(\w+)\(", text, flags=re.MULTILINE):
        assert callable(getattr(figures, name))
    for name in re.findall(r"\]\((\w+\.png)\)", text):
        assert (Path(__file__).parents[2] / "docs" / name).is_file()
