"""Files of a run: what the ending decides, exact frame times, and what is refused without leaving anything."""

import json
import os
import shutil
import signal
import subprocess
import sys
from time import sleep

import numpy as np
import pytest
from PIL import Image

from carom import Body, Scene, SequentialReflection, Simulator, Sphere
from carom.viewer import VideoError, render, render_strip, video
from carom.viewer.moments import label_moment
from carom.viewer.pictures import stream_pictures
from carom.viewer.run import Run
from carom.viewer.video import frame_times, numbered

SIZE = (160, 100)
needs_ffmpeg = pytest.mark.skipif(shutil.which("ffmpeg") is None, reason="no ffmpeg")


@pytest.fixture
def run(fakes):
    return fakes.bouncing_ball(bounces=2)


def picture(run, time, linger=0.0):
    """What the renderer draws at a time, before any coding."""
    (pixels,) = stream_pictures(Run(run, ""), [label_moment(run, time)], SIZE, linger=linger)
    return pixels.astype(int)


def pixels_of(path):
    return np.asarray(Image.open(path).convert("RGB")).astype(int)


def decoded(path):
    """All frames of a video (n, height, width, 3) as ffmpeg reads them."""
    command = ["ffmpeg", "-v", "error", "-i", str(path), "-fps_mode", "passthrough", "-f", "rawvideo"]
    result = subprocess.run([*command, "-pix_fmt", "rgb24", "-"], capture_output=True, check=True, timeout=60)
    return np.frombuffer(result.stdout, dtype=np.uint8).reshape(-1, SIZE[1], SIZE[0], 3).astype(int)


def stream_of(path):
    command = ["ffprobe", "-v", "error", "-show_streams", "-show_format", "-of", "json", str(path)]
    result = subprocess.run(command, capture_output=True, check=True, timeout=60)
    return json.loads(result.stdout)["streams"][0]


def assert_alike(one, other, mean=8.0):
    """Two pictures are the same but for coding: tiles of 10 x 10 pixels have nearly the same mean colour."""
    assert np.abs(one - other).mean() < mean

    def tiles(pixels):
        return pixels.reshape(SIZE[1] // 10, 10, SIZE[0] // 10, 10, 3).mean(axis=(1, 3))

    assert np.abs(tiles(one) - tiles(other)).max() < 5 * mean


# -- times ---------------------------------------------------------------------------------------------------


def test_frame_times_are_exact():
    times = frame_times(0.0, 1.0, 60, 0.1)
    assert len(times) == 601
    assert times[-1] == 1.0
    np.testing.assert_array_equal(times[:600], np.arange(600) * (0.1 / 60))
    assert frame_times(0.0, 0.99, 10, 1.0).tolist() == [k * 0.1 for k in range(10)]
    assert frame_times(2.0, 2.0, 60).tolist() == [2.0]


def test_frames_beyond_all_reason_are_refused():
    with pytest.raises(ValueError, match="makes 6e\\+09 frames, more than 100000: choose a higher speed"):
        frame_times(0.0, 1.0, 60, 1e-8)


# -- videos --------------------------------------------------------------------------------------------------


@needs_ffmpeg
@pytest.mark.parametrize("ending", ["mp4", "gif"])
def test_a_video_has_every_frame_and_the_first_and_last_pictures(run, needs_gl, tmp_path, ending):
    path = render(run, tmp_path / f"ball.{ending}", size=SIZE, fps=20, speed=0.5, start=0.1, end=0.6)
    frames = decoded(path)
    assert len(frames) == 21
    stream = stream_of(path)
    assert (stream["width"], stream["height"]) == SIZE
    assert stream["r_frame_rate"] == "20/1"
    assert_alike(frames[0], picture(run, 0.1))
    assert_alike(frames[-1], picture(run, 0.6))
    assert np.abs(frames[0] - frames[-1]).mean() > 1
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


@needs_ffmpeg
def test_an_mp4_plays_everywhere(run, needs_gl, tmp_path):
    stream = stream_of(render(run, tmp_path / "ball.mp4", size=SIZE, fps=5, end=0.4))
    assert (stream["codec_name"], stream["pix_fmt"]) == ("h264", "yuv420p")


def test_without_ffmpeg_the_package_av_writes_the_same_video(run, needs_gl, tmp_path, monkeypatch):
    pytest.importorskip("av", reason="the package av is not installed")
    import av

    monkeypatch.setattr(video.shutil, "which", lambda _: None)
    path = render(run, tmp_path / "ball.mp4", size=SIZE, fps=20, speed=0.5, end=0.5)
    with av.open(str(path)) as container:
        frames = [frame.to_ndarray(format="rgb24").astype(int) for frame in container.decode(video=0)]
        assert container.streams.video[0].average_rate == 20
    assert len(frames) == 21
    assert_alike(frames[0], picture(run, 0.0))
    assert_alike(frames[-1], picture(run, 0.5))


def test_without_ffmpeg_pillow_writes_the_same_gif(run, needs_gl, tmp_path, monkeypatch):
    monkeypatch.setattr(video.shutil, "which", lambda _: None)
    path = render(run, tmp_path / "ball.gif", size=SIZE, fps=20, speed=0.5, end=0.5)
    with Image.open(path) as image:
        assert image.n_frames == 21
        assert image.info["duration"] == 50
        assert_alike(np.asarray(image.convert("RGB")).astype(int), picture(run, 0.0))
        image.seek(20)
        assert_alike(np.asarray(image.convert("RGB")).astype(int), picture(run, 0.5))


@pytest.mark.parametrize(("ending", "package"), [("mp4", "av"), ("gif", "PIL")])
def test_without_a_writer_one_sentence_says_what_to_install(run, tmp_path, monkeypatch, ending, package):
    monkeypatch.setattr(video.shutil, "which", lambda _: None)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(VideoError, match=r'program ffmpeg or the package \w+: pip install "carom\[video\]"$'):
        render(run, tmp_path / f"ball.{ending}", size=SIZE)
    assert list(tmp_path.iterdir()) == []


def test_a_failing_ffmpeg_is_one_sentence_and_leaves_what_was_there(run, needs_gl, tmp_path, monkeypatch):
    program = tmp_path / "ffmpeg"
    program.write_text("#!/bin/sh\necho 'Unknown encoder libx264' >&2\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setattr(video.shutil, "which", lambda _: str(program))
    kept = tmp_path / "ball.mp4"
    kept.write_bytes(b"an older video")
    with pytest.raises(VideoError, match="ffmpeg could not write the video: Unknown encoder libx264"):
        render(run, kept, size=SIZE)
    assert kept.read_bytes() == b"an older video"
    assert sorted(file.name for file in tmp_path.iterdir()) == ["ball.mp4", "ffmpeg"]


@needs_ffmpeg
def test_an_interrupted_video_leaves_nothing(run, needs_gl, tmp_path, monkeypatch):
    def interrupted(*_, **__):
        yield np.zeros((SIZE[1], SIZE[0], 3), dtype=np.uint8)
        raise KeyboardInterrupt

    monkeypatch.setattr(video, "stream_runs", interrupted)
    with pytest.raises(KeyboardInterrupt):
        render(run, tmp_path / "ball.mp4", size=SIZE)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("before", ["", "cat > /dev/null; "], ids=["begins", "ends"])
def test_ctrl_c_where_a_program_begins_or_ends_leaves_nothing(run, needs_gl, tmp_path, monkeypatch, before):
    """It made its file after that had been removed."""
    program, folder = tmp_path / "ffmpeg", tmp_path / "out"
    folder.mkdir()
    late = 'kill -INT $PPID; sleep 0.3; for last; do :; done; echo late > "${last#file:}"'
    program.write_text(f"#!/bin/sh\n{before}{late}\n")
    program.chmod(0o755)
    monkeypatch.setattr(video.shutil, "which", lambda _: str(program))
    with pytest.raises(KeyboardInterrupt):
        render(run, folder / "ball.mp4", size=SIZE, end=0.1)
    sleep(0.5)
    assert list(folder.iterdir()) == []


def test_ctrl_c_while_what_drew_a_picture_is_let_go_is_not_lost(run, needs_gl, tmp_path, monkeypatch):
    from carom.viewer.renderer import Renderer

    closed = Renderer.close

    def interrupted(renderer):
        os.kill(os.getpid(), signal.SIGINT)
        closed(renderer)

    monkeypatch.setattr(Renderer, "close", interrupted)
    with pytest.raises(KeyboardInterrupt):
        render(run, tmp_path / "ball.png", size=SIZE)


@needs_ffmpeg
def test_ctrl_c_at_a_command_that_writes_a_video_leaves_nothing(needs_gl, tmp_path):
    """A terminal sends it to ffmpeg as well."""
    scene = Scene()
    scene.add(Body(Sphere(0.1), mass=1.0))
    recording = Simulator(scene, SequentialReflection()).run(1.0).save(tmp_path / "run.h5")
    folder = tmp_path / "out"
    folder.mkdir()
    options = ["--out", str(folder / "run.mp4"), "--size", "160x100", "--speed", "0.001"]
    program = (
        "import signal, sys\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # which shells take from background jobs
        "from carom.command_line import main\n"
        f"sys.exit(main(['render', {str(recording)!r}, *{options!r}]))"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    while not list(folder.iterdir()):
        assert process.poll() is None, process.communicate()
        sleep(0.01)
    os.killpg(process.pid, signal.SIGINT)
    _, error = process.communicate(timeout=60)
    assert (process.returncode, error) == (130, "carom: interrupted\n")
    assert list(folder.iterdir()) == []


# -- sequences -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["frames/", "f_%03d.png"])
def test_a_sequence_is_numbered_pictures(run, needs_gl, tmp_path, name):
    pattern = render(run, f"{tmp_path}/{name}", size=SIZE, fps=10, start=0.2, end=0.6, speed=1.0)
    files = sorted(pattern.parent.iterdir())
    assert files == [numbered(pattern, k) for k in range(5)]
    for file, time in ((files[0], 0.2), (files[4], 0.6)):
        with Image.open(file) as image:
            np.testing.assert_array_equal(np.asarray(image), picture(run, time, linger=0.25))
    assert np.abs(picture(run, 0.6, linger=0.25) - picture(run, 0.6)).max() > 60  # the impact lingers


def test_a_folder_with_frames_is_not_mixed_with_others(run, tmp_path):
    (tmp_path / "frame_00007.png").write_bytes(b"")
    with pytest.raises(FileExistsError, match=r"holds frames already, such as frame_00007\.png"):
        render(run, tmp_path, size=SIZE)
    assert [file.name for file in tmp_path.iterdir()] == ["frame_00007.png"]


# -- what is refused -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("a.txt", {}, "expected an ending .png, .mp4, .gif, .glb, .html, or a folder, got .txt"),
        ("a", {}, "got no ending"),
        ("a.png", {"fps": 3}, "fps: one picture does not take it, but density, size, time"),
        ("a.mp4", {"time": 0.1}, "time: a .mp4 file does not take it"),
        ("a.glb", {"size": SIZE}, "size: a .glb file does not take it"),
        ("a.html", {"fps": 3}, "fps: a .html file does not take it"),
        ("a.mp4", {"fps": 0}, "fps: expected a whole number from 1 to 240, got 0"),
        ("a.mp4", {"fps": 29.97}, "fps: expected a whole number"),
        ("a.mp4", {"size": (161, 100)}, "size: an MP4 needs an even width and height, got 161x100"),
        ("a.gif", {"fps": 30}, "hundredths of a second, expected 10, 20, 25 or 50, got 30"),
        ("a.gif", {"start": 0.5, "end": 0.1}, "expected a span within 0 to"),
        ("a.mp4", {"end": 99.0}, "expected a span within 0 to"),
        ("a.mp4", {"start": float("nan")}, "expected a span within 0 to"),
        ("a.mp4", {"speed": -1.0}, "speed: expected a number greater than 0, got -1.0"),
        ("a.html", {"speed": float("inf")}, "speed: expected a number greater than 0"),
        ("frames/", {"size": (4, 4)}, "size must be"),
        ("a.glb", {"view_from": (0, 0, 1)}, "view_from: a .glb file does not take it"),
        *(
            (name, {"view_from": (0, 0, 0)}, "view_from: expected three numbers")
            for name in ("a.png", "a.mp4", "a.gif", "a.html", "frames/")
        ),
    ],
)
def test_options_that_do_not_fit_are_refused(run, tmp_path, name, options, words):
    with pytest.raises(ValueError) as error:
        render(run, f"{tmp_path}/{name}", **options)
    assert words in str(error.value)
    assert list(tmp_path.iterdir()) == []


def test_several_runs_are_overlaid_each_in_its_colour(balls, needs_gl, tmp_path):
    one, other = balls(1), balls(1)
    alone = pixels_of(render(one, tmp_path / "one.png", time=0.2, size=SIZE))
    names = ["the one", "the other"]
    both = pixels_of(render([one, other], tmp_path / "both.png", time=0.2, size=SIZE, labels=names))
    frames = tmp_path / "frames"
    render([one, other], f"{frames}/", start=0.2, end=0.2, size=SIZE, labels=names)
    (frame,) = frames.iterdir()
    assert alone.shape == both.shape
    assert np.abs(alone - both).mean() > 0.5
    assert np.array_equal(pixels_of(frame), both)


def test_all_files_are_seen_from_where_they_are_asked_to_be(fakes, needs_gl, tmp_path):
    """From above a ball that falls stays in the middle, and from there its floor hides the sky."""
    run = fakes.bouncing_ball(bounces=2)
    usual = pixels_of(render(run, tmp_path / "usual.png", time=0.0, size=SIZE))
    above = pixels_of(render(run, tmp_path / "above.png", time=0.0, size=SIZE, view_from=(0, 0, 1)))
    assert np.abs(above - usual).mean() > 5
    middle = (slice(SIZE[1] // 2 - 4, SIZE[1] // 2 + 4), slice(SIZE[0] // 2 - 4, SIZE[0] // 2 + 4))
    assert np.abs(above[middle].mean(axis=(0, 1)) - usual[middle].mean(axis=(0, 1))).max() > 10
    render(run, f"{tmp_path}/frames/", end=0.0, size=SIZE, view_from=(0, 0, 1))
    assert np.array_equal(pixels_of(tmp_path / "frames" / "frame_00000.png"), above)
    over = [
        pixels_of(render([run, run], tmp_path / f"{k}.png", time=0.0, size=SIZE, view_from=direction))
        for k, direction in enumerate([None, (0, 0, 1)])
    ]
    assert np.abs(over[0] - over[1]).mean() > 5
    strip = [
        pixels_of(render_strip(run, tmp_path / f"strip{k}.png", moments=1, size=SIZE, view_from=direction))
        for k, direction in enumerate([None, (0, 0, 1), (0, 0, 2.0)])
    ]
    assert np.abs(strip[0] - strip[1]).mean() > 5
    assert np.array_equal(strip[1], strip[2])


def test_a_gltf_scene_shows_one_run(run, tmp_path):
    with pytest.raises(ValueError, match=r"a glTF scene shows one run, got 2"):
        render([run, run], tmp_path / "two.glb")


@pytest.mark.parametrize("name", ["a.mp4", "a.gif", "a.glb", "a.html", "a.png", "a_%d.png"])
def test_folders_that_are_missing_are_refused(run, tmp_path, name):
    with pytest.raises(FileNotFoundError, match=r"does not exist|No such file"):
        render(run, tmp_path / "nowhere" / "deeper" / name)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["a.mp4", "a.gif", "a.glb", "a.html", "a.png", "a_%d.png"])
def test_folders_that_cannot_be_written_are_refused(balls, tmp_path, monkeypatch, name):
    monkeypatch.setattr(os, "access", lambda *_: False)  # as root every folder can be written
    with pytest.raises(PermissionError, match="cannot be written to"):
        render(balls(1), tmp_path / name)
    assert list(tmp_path.iterdir()) == []
