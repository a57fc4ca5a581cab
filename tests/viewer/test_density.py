"""Density of overlaid outcomes: the colour scale, its key, and how many outcomes a pixel shows."""

import numpy as np
import pytest
from PIL import Image

from carom.viewer import render
from carom.viewer.actions import press
from carom.viewer.composition import compose
from carom.viewer.density import SCALE, colour_of, level, ticks
from carom.viewer.offscreen import offscreen_window
from carom.viewer.replay import Replay
from carom.viewer.run import Run

SIZE = (480, 300)


def lightness(colour):
    """CIE L* of a colour in sRGB, from 0 to 100."""
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in colour]
    luminance = float(np.dot(linear, (0.2126, 0.7152, 0.0722)))
    return 116 * luminance ** (1 / 3) - 16 if luminance > 0.008856 else 903.3 * luminance


def test_the_scale_rises_evenly_in_lightness():
    steps = np.diff([lightness(colour_of(share)) for share in np.linspace(0, 1, 17)])
    assert (steps > 0).all()
    assert steps.max() < 1.6 * steps.mean()
    assert colour_of(0.0) == SCALE[0]
    assert colour_of(1.0) == pytest.approx(SCALE[-1])


@pytest.mark.parametrize("most", [2, 3, 7, 10, 12, 50, 99, 500, 2000, 12345])
def test_ticks_go_from_one_to_all_and_do_not_touch(most):
    found = ticks(most)
    assert found[0] == 1
    assert found[-1] == most
    assert found == sorted(set(found))
    assert len(found) <= 6
    assert min(np.diff([level(count, most) for count in found])) > 0.1


@pytest.fixture
def resting(fakes):
    """Five runs of one ball that is seen from near at its start."""
    runs = [Run(fakes.bouncing_ball(), f"run {number}") for number in range(5)]
    replay = Replay(runs, aspect=SIZE[0] / SIZE[1])
    replay.camera.target = np.asarray(runs[0].state(0.0).position[1])
    replay.camera.distance = 2.0
    replay.camera.orthographic = True
    return replay


def drawn(replay):
    """The picture of a replay, from 0 to 1."""
    offscreen_window()
    from carom.viewer.renderer import DRAFT, Renderer

    renderer = Renderer(replay.runs[0].stage, SIZE, DRAFT)
    try:
        renderer.draw_pictures(replay.camera, compose(replay))
        return renderer.read().astype(float) / 255
    finally:
        renderer.close()


def middle(picture):
    """The colour in the middle of a picture, where the ball is."""
    height, width, _ = picture.shape
    return picture[height // 2 - 2 : height // 2 + 2, width // 2 - 2 : width // 2 + 2].mean(axis=(0, 1))


def test_a_place_where_all_outcomes_are_has_the_colour_of_the_end_of_the_scale(resting, needs_gl):
    without = middle(drawn(resting))
    press(resting, "m")
    assert resting.shows_density
    everywhere = middle(drawn(resting))
    assert everywhere == pytest.approx(SCALE[-1], abs=0.1)
    assert np.abs(everywhere - without).max() > 0.2
    press(resting, "m")
    assert middle(drawn(resting)) == pytest.approx(without, abs=0.01)


@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_the_colour_tells_how_many_outcomes_are_there(resting, needs_gl, count):
    for run in resting.runs[count:]:
        run.state = lambda time, run=run: run.trajectory.sample(run.end)  # far from the middle
    press(resting, "m")
    expected = np.array(colour_of(level(count, 5)))
    assert np.abs(middle(drawn(resting)) - expected).max() < 0.1


def test_what_lies_behind_the_floor_is_not_counted(resting, needs_gl):
    press(resting, "m")
    seen = middle(drawn(resting))
    plane = resting.runs[0].stage.planes[0]
    height = float(resting.camera.target @ plane.normal) + 0.5
    raised = type(plane)(plane.normal, plane.offset + height)
    resting.runs[0].stage.planes[:] = [raised]
    resting.camera.elevation = 1.0
    assert np.abs(middle(drawn(resting)) - seen).max() > 0.3


def test_one_run_has_no_density_and_side_by_side_ends_it(fakes):
    one = Replay([Run(fakes.bouncing_ball(), "alone")])
    press(one, "m")
    assert not one.shows_density
    assert "several outcomes" in one.message.text
    two = Replay([Run(fakes.bouncing_ball(), name) for name in ("a", "b")])
    press(two, "d")
    press(two, "m")
    assert two.shows_density
    assert not two.side_by_side
    press(two, "d")
    assert not two.shows_density


def test_who_is_followed_is_seen_over_the_density(resting):
    press(resting, "m")
    press(resting, "2")
    (picture,) = compose(resting)
    assert sum(len(solid.instances) for solid in picture.counted) == 5
    followed = [solid for solid in picture.solids if solid.opacity < 1]
    assert sum(len(solid.instances) for solid in followed) == 1


def test_a_file_shows_the_density_with_its_key(fakes, tmp_path, needs_gl):
    runs = [fakes.bouncing_ball(restitution=e) for e in (0.8, 0.6, 0.4)]
    render(runs, tmp_path / "plain.png", time=0.6, size=SIZE)
    render(runs, tmp_path / "density.png", time=0.6, size=SIZE, density=True)
    plain, density = (
        np.asarray(Image.open(tmp_path / f"{name}.png")).astype(int) for name in ("plain", "density")
    )
    colours = [255 * np.array(colour) for colour in SCALE]
    key = [np.abs(density[:90, :230] - colour).max(axis=2).min() for colour in colours]
    assert max(key) < 12, "every colour of the scale is in the key"
    assert np.abs(plain - density).max() > 100


def test_a_density_of_one_run_or_of_a_page_is_refused(fakes, tmp_path):
    run = fakes.bouncing_ball()
    with pytest.raises(ValueError, match="density: expected several trajectories, got 1"):
        render(run, tmp_path / "a.png", density=True)
    with pytest.raises(ValueError, match=r"density: a \.html file does not take it"):
        render([run, run], tmp_path / "a.html", density=True)
    assert not list(tmp_path.iterdir())
