import struct
import sys

import numpy as np
import pytest

from carom.viewer import DisplayError, display, has_display, render, render_strip, view
from carom.viewer.moments import label_moment
from carom.viewer.pictures import draw_pictures
from carom.viewer.stage import Stage

SIZE = (320, 200)


def draw(trajectory, *times, size=SIZE):
    return draw_pictures(trajectory, [label_moment(trajectory, time) for time in times], size)


def redness(picture):
    """How much redder than green a pixel is; floor, sky and white octants are grey or blue."""
    return picture[..., 0].astype(int) - picture[..., 1]


def red_middle(picture):
    rows, columns = np.nonzero(redness(picture) > 60)
    return np.array([columns.mean(), rows.mean()])


def expected_middle(trajectory, time, body=1, size=SIZE):
    aspect = size[0] / size[1]
    camera = Stage(trajectory).camera(aspect)
    matrix = camera.projection(aspect, 0.01, 1000) @ camera.view()
    clip = matrix @ np.append(trajectory.sample(time).position[body], 1)
    return np.array([(1 + clip[0] / clip[3]) / 2 * size[0], (1 - clip[1] / clip[3]) / 2 * size[1]])


@pytest.mark.parametrize("scale", [1e-3, 1.0, 100.0])
def test_the_ball_is_where_it_should_be_at_any_scale(fakes, needs_gl, scale):
    trajectory = fakes.bouncing_ball(scale)
    times = [0.0, trajectory.events[0].time / 2, trajectory.end_time * 0.7]
    pictures = draw(trajectory, *times)
    for time, picture in zip(times, pictures, strict=True):
        assert np.abs(red_middle(picture) - expected_middle(trajectory, time)).max() < 0.04 * SIZE[0]
    assert red_middle(pictures[2])[0] > red_middle(pictures[0])[0] + 20


def test_body_is_shaded_and_throws_a_shadow(fakes, needs_gl):
    trajectory = fakes.bouncing_ball()
    (picture,) = draw(trajectory, trajectory.end_time)
    ball = picture[redness(picture) > 60]
    assert len(np.unique(ball // 4, axis=0)) > 20
    grey = picture.astype(int).sum(axis=2) / 3
    shadow = (grey < 145) & (np.abs(redness(picture)) < 25)
    assert shadow.sum() > 20


def test_floor_is_a_checker_below_and_sky_above(fakes, needs_gl):
    (picture,) = draw(fakes.bouncing_ball(), 0.0)
    floor, sky = picture[-50:, :, 1].astype(int), picture[:4, :, 1].astype(int)
    assert np.std(floor) > 6
    assert np.std(sky) < 6


def test_the_pattern_shows_spin(fakes, needs_gl):
    trajectory = fakes.bouncing_ball(sideways=0.0)
    before, after = draw(trajectory, trajectory.events[0].time, trajectory.events[1].time)
    assert np.abs(before.astype(int) - after).max() > 60


def test_labels_are_written(fakes, needs_gl):
    (picture,) = draw(fakes.bouncing_ball(), 0.0, size=(640, 400))
    assert (picture[:40, :200].max(axis=2) < 90).sum() > 30


def test_without_a_text_library_pictures_have_no_labels(fakes, needs_gl, fresh_python):
    code = """
import pyglet.lib, ctypes
load = pyglet.lib.load_library
def without_text(*names, **more):
    if any("freetype" in name or "fontconfig" in name for name in names):
        raise ImportError("no library " + names[0])
    return load(*names, **more)
pyglet.lib.load_library = pyglet.lib.loader.load_library = without_text
from fake_trajectory import bouncing_ball
from carom.viewer.moments import label_moment
from carom.viewer.pictures import draw_pictures
ball = bouncing_ball()
(picture,) = draw_pictures(ball, [label_moment(ball, 0.0)], (640, 400))
assert (picture[:40, :200].max(axis=2) < 90).sum() == 0
assert picture.std() > 5
"""
    result = fresh_python(code)
    assert result.returncode == 0, result.stderr


def test_mixed_bodies_and_walls_draw(fakes, needs_gl):
    trajectory = fakes.mixed_scene()
    (picture,) = draw(trajectory, 0.3)
    blue = picture[..., 2].astype(int) - picture[..., 0] > 70
    assert blue.sum() > 50


def test_render_and_render_strip_write_pictures(fakes, needs_gl, tmp_path):
    trajectory = fakes.bouncing_ball()
    one = render(trajectory, tmp_path / "one.png", size=SIZE)
    strip = render_strip(trajectory, str(tmp_path / "strip.png"), size=(160, 100))
    assert struct.unpack(">II", one.read_bytes()[16:24]) == SIZE
    assert struct.unpack(">II", strip.read_bytes()[16:24]) == (3 * 160 + 12, 2 * 100 + 6)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one.png", "strip.png"]


def test_pictures_are_the_same_every_time(fakes, needs_gl):
    trajectory = fakes.mixed_scene()
    np.testing.assert_array_equal(draw(trajectory, 0.3)[0], draw(trajectory, 0.3)[0])


@pytest.mark.parametrize("size", [(0, 100), (100,), (100.5, 100), "large", (100, 10**6)])
def test_sizes_are_checked(fakes, tmp_path, size):
    with pytest.raises(ValueError, match="size must be"):
        render(fakes.bouncing_ball(), tmp_path / "x.png", size=size)


@pytest.mark.parametrize("time", [-0.1, 1e9, float("nan")])
def test_times_outside_are_refused(fakes, tmp_path, time):
    with pytest.raises(ValueError, match="time must lie between"):
        render(fakes.bouncing_ball(), tmp_path / "x.png", time=time)


def test_importing_the_viewer_imports_no_pyglet(fresh_python):
    result = fresh_python(
        "import sys, carom.viewer; assert not any('pyglet' in name for name in sys.modules)"
    )
    assert result.returncode == 0, result.stderr


def test_has_display_looks_at_the_environment(monkeypatch):
    monkeypatch.setattr(display.sys, "platform", "linux")
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    assert not has_display()
    monkeypatch.setenv("WAYLAND_DISPLAY", "wayland-0")
    assert has_display()
    monkeypatch.setattr(display.sys, "platform", "darwin")
    monkeypatch.delenv("WAYLAND_DISPLAY")
    assert has_display()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux can lack a display")
def test_view_without_a_display_says_what_to_do(fakes, monkeypatch):
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    with pytest.raises(DisplayError, match="apt-get install libegl1 libgl1 libfontconfig1 libfreetype6"):
        view(fakes.bouncing_ball())


def test_missing_opengl_is_one_clear_error_twice_over(fresh_python, tmp_path):
    code = f"""
import sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name == "pyglet.gl":
            raise ImportError('Library "GL" not found.')
sys.meta_path.insert(0, Blocked())
from fake_trajectory import bouncing_ball
from carom.viewer import DisplayError, render, render_strip
for draw in (render, render_strip):
    try:
        draw(bouncing_ball(), {str(tmp_path / "x.png")!r})
    except DisplayError as error:
        assert 'Library "GL" not found' in str(error), error
        assert "apt-get install libegl1 libgl1" in str(error), error
        assert "\\n" not in str(error)
    else:
        raise AssertionError("nothing was raised")
"""
    result = fresh_python(code)
    assert result.returncode == 0, result.stderr
    assert list(tmp_path.iterdir()) == []
