"""Golden pictures by coarse statistics: what is drawn, drawn where it should be."""

import numpy as np
import pytest

from carom.viewer.actions import press
from carom.viewer.composition import compose
from carom.viewer.offscreen import offscreen_window
from carom.viewer.replay import Replay
from carom.viewer.run import Run

SIZE = (480, 300)


@pytest.fixture
def draw(needs_gl):
    """Draw a replay as (height, width, 3) integers."""

    def drawn(replay, quality=None, size=SIZE):
        offscreen_window()
        from carom.viewer.renderer import FULL, Renderer

        replay.aspect = size[0] / size[1]
        renderer = Renderer(replay.runs[0].stage, size, quality or FULL)
        renderer.theme = replay.look.theme
        try:
            renderer.draw_pictures(replay.camera, compose(replay))
            return renderer.read().astype(int)
        finally:
            renderer.close()

    return drawn


@pytest.fixture
def ball(fakes):
    replay = Replay([Run(fakes.bouncing_ball(), "ball")], aspect=SIZE[0] / SIZE[1])
    replay.frame_all()
    return replay


@pytest.fixture
def three(fakes):
    runs = [Run(fakes.bouncing_ball(restitution=e), f"e = {e}") for e in (0.8, 0.5, 0.2)]
    replay = Replay(runs, aspect=SIZE[0] / SIZE[1])
    replay.frame_all()
    replay.timeline.seek(0.75)
    return replay


def changed(one, other, least=12):
    """Where two pictures differ."""
    return np.abs(one - other).max(axis=2) > least


def pixels_across(replay, size=SIZE):
    """Pixels for a metre in the plane of the camera's target."""
    return size[1] / (2 * replay.camera.distance * np.tan(replay.camera.field_of_view / 2))


@pytest.mark.parametrize("orthographic", [True, False])
def test_a_computed_ball_is_exactly_as_large_as_it_should_be(ball, draw, orthographic):
    camera = ball.camera
    camera.orthographic = orthographic
    camera.target = ball.runs[0].state(0.0).position[1]
    camera.distance = 1.0
    press(ball, "b")  # no part of the ball is as dark as what is behind it
    with_ball = draw(ball)
    ball.timeline.seek(ball.timeline.end)
    there = changed(with_ball, draw(ball), 10)
    seen = there[:, 130:350]
    radius = 0.1 if orthographic else 0.1 / np.sqrt(1 - 0.1**2)
    assert seen.sum() == pytest.approx(np.pi * (radius * pixels_across(ball)) ** 2, rel=0.03)
    rows, columns = np.nonzero(seen)
    assert abs(rows.mean() - SIZE[1] / 2) < 1.5
    assert abs(columns.mean() + 130 - SIZE[0] / 2) < 1.5


def test_edges_of_balls_are_smooth(ball, draw):
    picture = draw(ball)
    redness = picture[..., 0] - picture[..., 1]
    strong, weak = (redness > 90).sum(), ((redness > 15) & (redness < 70)).sum()
    assert strong > 50
    assert 10 < weak < 3 * strong


def test_drafts_have_no_shadow_but_everything_else(ball, draw):
    from carom.viewer.renderer import Quality

    ball.timeline.seek(ball.timeline.end)
    full = draw(ball, Quality())
    plain = draw(ball, Quality(shadow_size=0))
    darker = (plain - full).max(axis=2) > 20
    assert 30 < darker.sum() < 0.1 * darker.size
    assert np.abs(full - plain).mean() < 4


def test_a_lower_resolution_gives_the_same_picture_smaller(ball, draw):
    from carom.viewer.renderer import Quality

    full = draw(ball, Quality())
    small = draw(ball, Quality(resolution=0.5))
    assert small.shape == (150, 240, 3)
    reduced = full.reshape(150, 2, 240, 2, 3).mean(axis=(1, 3))
    assert np.abs(reduced - small).mean() < 4


def test_the_dark_theme_is_dark(ball, draw):
    light = draw(ball)
    press(ball, "b")
    dark = draw(ball)
    assert light.mean() > 170
    assert dark.mean() < 90
    assert (dark[..., 0] - dark[..., 1] > 60).sum() > 30


def test_overlaid_outcomes_are_seen_through_and_the_chosen_one_is_not(three, draw):
    press(three, "1")
    only = draw(three)
    press(three, "0")
    every = draw(three)
    assert changed(only, every).sum() > 100
    strong = only[..., 0] - only[..., 1] > 90
    assert strong.sum() > 30
    assert not (every[..., 0] - every[..., 1] > 120)[strong].any()


def test_side_by_side_halves_show_their_own_run(three, draw):
    three.timeline.seek(0.2)  # before the first impact all runs are the same
    press(three, "d")
    thirds = np.split(draw(three), 3, axis=1)
    assert np.abs(thirds[0] - thirds[2]).mean() < 0.5
    three.timeline.seek(0.75)
    thirds = np.split(draw(three), 3, axis=1)
    assert changed(thirds[0], thirds[2]).sum() > 50


@pytest.mark.parametrize(
    ("key", "least"), [("k", 100), ("t", 30), ("g", 100), ("x", 100), ("c", 10), ("i", 60)]
)
def test_what_is_shown_is_seen(ball, draw, key, least):
    press(ball, "bracketright")
    press(ball, "bracketright")
    before = draw(ball)
    press(ball, key)
    after = draw(ball)
    assert least < changed(before, after).sum() < 0.2 * SIZE[0] * SIZE[1]


def test_impulses_are_seen_through_the_body(fakes, draw):
    trajectory = fakes.bouncing_ball()
    replay = Replay([Run(trajectory, "ball")], aspect=SIZE[0] / SIZE[1])
    press(replay, "bracketright")
    point = trajectory.events[0].contacts.point[0]
    replay.camera.target = point + np.array([0, 0, 0.1])
    replay.camera.distance = 0.8
    replay.shown.contacts = False
    arrow = draw(replay)
    replay.shown.impulses = False
    where = changed(arrow, draw(replay), 20)
    inside = where[SIZE[1] // 2 - 20 : SIZE[1] // 2 + 20, SIZE[0] // 2 - 8 : SIZE[0] // 2 + 8]
    assert inside.mean() > 0.3


def test_impulses_grow_in_the_picture(ball, draw):
    press(ball, "bracketright")
    ball.shown.contacts = False
    press(ball, "down")
    nothing = draw(ball)
    sizes = []
    for _ in range(3):
        for _ in range(4):
            press(ball, "down")
        sizes.append(changed(draw(ball), nothing).sum())
    assert 0 < sizes[0] < sizes[1] < sizes[2]


def test_a_picked_body_has_a_line_around_it(ball, draw):
    before = draw(ball)
    ball.picked = 1
    line = changed(draw(ball), before)
    assert 20 < line.sum() < 0.02 * line.size


def test_a_floor_from_its_side_is_a_line_and_from_above_a_checker(ball, draw):
    press(ball, "p")
    side = draw(ball)
    flat = np.abs(np.diff(side[:, 20:100].mean(axis=(1, 2))))
    assert flat.max() > 15
    press(ball, "p")
    press(ball, "p")
    above = draw(ball)
    assert above.std() > 6


def test_translucent_bodies_do_not_depend_on_their_order(fakes, draw):
    runs = [fakes.bouncing_ball(restitution=e) for e in (0.8, 0.5)]
    pictures = []
    for order in (runs, runs[::-1]):
        replay = Replay([Run(one, "run") for one in order], aspect=SIZE[0] / SIZE[1])
        replay.timeline.seek(0.75)
        replay.frame_all()
        pictures.append(draw(replay))
    assert np.abs(pictures[0].mean(axis=2) - pictures[1].mean(axis=2)).mean() < 1.0
