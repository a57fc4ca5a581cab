"""Frames at exact times: MP4 and GIF files, and numbered PNG pictures."""

import math
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Generator, Iterable, Sequence
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import Protocol

import numpy as np

from ..interrupts import interrupts_wait
from ..progress import ProgressBar
from .files import whole_file
from .pictures import stream_runs
from .png import write_png
from .run import Run
from .timeline import natural_speed

ARROW_SECONDS = 0.25  # of video that an impulse stays visible after its event, as in the window
MOST_FRAMES = 100_000
FRAME_NUMBER = re.compile(r"%0?\d*d")
GIF_PALETTE = (
    "split[frames][sample];[sample]palettegen=stats_mode=diff[palette];"
    "[frames][palette]paletteuse=dither=bayer:bayer_scale=4:diff_mode=rectangle"
)


class VideoError(RuntimeError):
    """There is no program to write a video with, or it failed; the message says what to do."""


def frame_times(start: float, end: float, fps: int, speed: float | None = None) -> np.ndarray:
    """The times [s] that frames show, (n,): start + k speed / fps, up to the end.

    fps : frames for one second of watching
    speed : simulated seconds for one second of watching, by default that of the window
    """
    if not start <= end:
        raise ValueError(f"end: expected at least the start {start:g} s, got {end:g} s")
    if speed is None:
        speed = natural_speed(end - start)
    frames = (end - start) * fps / speed
    if frames > MOST_FRAMES:
        raise ValueError(
            f"speed: {speed:g} s a second at {fps} frames a second makes {frames:.3g} frames, more than "
            f"{MOST_FRAMES}: choose a higher speed or a shorter span"
        )
    count = math.floor(frames * (1 + 1e-12) + 1e-9) + 1
    return np.minimum(start + np.arange(count) * (speed / fps), end)


def write_video(
    runs: Sequence[Run],
    path: Path,
    times: np.ndarray,
    *,
    size: tuple[int, int],
    fps: int,
    density: bool = False,
    progress: bool = False,
) -> None:
    """Write the frames at `times` [s] as an MP4 or GIF file, which appears whole or not at all."""
    writer = _chosen_writer(path.suffix.lower(), size, fps)
    with (
        whole_file(path) as unfinished,
        closing(_frames(runs, times, size, fps, density, progress)) as frames,
    ):
        writer.write(frames, unfinished)


def write_sequence(
    runs: Sequence[Run],
    pattern: Path,
    times: np.ndarray,
    *,
    size: tuple[int, int],
    fps: int,
    density: bool = False,
    progress: bool = False,
) -> None:
    """Write the frames at `times` [s] as PNG files; the pattern's %d or %04d stands for their numbers."""
    with closing(_frames(runs, times, size, fps, density, progress)) as frames:
        for number, pixels in enumerate(frames):
            write_png(numbered(pattern, number), pixels)


def numbered(pattern: Path, number: int) -> Path:
    """The file of one frame."""
    return pattern.with_name(FRAME_NUMBER.sub(lambda match: match[0] % number, pattern.name))


def _frames(
    runs: Sequence[Run], times: np.ndarray, size: tuple[int, int], fps: int, density: bool, progress: bool
) -> Generator[np.ndarray]:
    linger = ARROW_SECONDS * fps * float(times[1] - times[0]) if len(times) > 1 else 0.0
    with (
        closing(stream_runs(runs, times.tolist(), size, linger=linger, density=density)) as pictures,
        ProgressBar(0, len(times), "drawing") as bar,
    ):
        for number, pixels in enumerate(pictures, start=1):
            if progress:
                bar.show(number, f"frame {number} of {len(times)}")
            yield pixels


# -- writers -------------------------------------------------------------------------------------------------


class _Writer(Protocol):
    def write(self, frames: Iterable[np.ndarray], path: Path) -> None:
        """Write all frames, (height, width, 3) uint8, to a file of any name."""


def _chosen_writer(ending: str, size: tuple[int, int], fps: int) -> _Writer:
    """What can write this ending here: the program ffmpeg, else a package; VideoError where there is none."""
    if ending == ".mp4" and (size[0] % 2 or size[1] % 2):
        raise ValueError(f"size: an MP4 needs an even width and height, got {size[0]}x{size[1]}")
    if ending == ".gif" and 100 % fps:
        raise ValueError(
            f"fps: a GIF shows each frame for whole hundredths of a second, expected 10, 20, 25 or 50, got {fps}"
        )
    program = shutil.which("ffmpeg")
    if program is not None:
        return _Ffmpeg(program, ending, size, fps)
    if ending == ".mp4":
        try:
            import av  # noqa: F401
        except ImportError:
            raise VideoError(
                'an MP4 needs the program ffmpeg or the package av: pip install "carom[video]"'
            ) from None
        return _PyAV(size, fps)
    try:
        import PIL  # noqa: F401
    except ImportError:
        raise VideoError(
            'a GIF needs the program ffmpeg or the package pillow: pip install "carom[video]"'
        ) from None
    return _PillowGif(fps)


class _Ffmpeg:
    """Pipes frames to the program ffmpeg."""

    def __init__(self, program: str, ending: str, size: tuple[int, int], fps: int):
        source = [
            "-f",
            "rawvideo",
            "-pix_fmt",
            "rgb24",
            "-s",
            f"{size[0]}x{size[1]}",
            "-r",
            str(fps),
            "-i",
            "-",
        ]
        if ending == ".mp4":
            coding = ["-c:v", "libx264", "-crf", "18", "-preset", "medium", "-pix_fmt", "yuv420p"]
            coding += ["-movflags", "+faststart", "-f", "mp4"]
        else:
            coding = ["-filter_complex", GIF_PALETTE, "-f", "gif"]
        self._command = [program, "-hide_banner", "-loglevel", "error", "-y", *source, *coding]

    def write(self, frames: Iterable[np.ndarray], path: Path) -> None:
        with tempfile.TemporaryFile() as words, ExitStack() as left:
            with interrupts_wait():
                process = subprocess.Popen(
                    [*self._command, f"file:{path}"],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.DEVNULL,
                    stderr=words,
                )
                left.callback(_stop, process)
            assert process.stdin is not None
            try:
                for pixels in frames:
                    process.stdin.write(pixels.tobytes())
                process.stdin.close()
            except BrokenPipeError:
                pass  # it has stopped, and says why
            if process.wait() != 0:
                words.seek(0)
                said = words.read().decode(errors="replace").strip().splitlines() or ["no reason given"]
                raise VideoError(f"ffmpeg could not write the video: {said[-1]}")


@interrupts_wait()
def _stop(process: subprocess.Popen[bytes]) -> None:
    """End a program that still writes: it would make its file again after that was removed."""
    process.kill()
    process.wait()
    assert process.stdin is not None
    with suppress(BrokenPipeError):  # what it had not read is of no use any more
        process.stdin.close()


class _PyAV:
    """Writes MP4 with the package av."""

    def __init__(self, size: tuple[int, int], fps: int):
        self._size, self._fps = size, fps

    def write(self, frames: Iterable[np.ndarray], path: Path) -> None:
        import av

        try:
            with av.open(os.fspath(path), "w", format="mp4", options={"movflags": "+faststart"}) as container:
                stream = container.add_stream("libx264", rate=self._fps, options={"crf": "18"})
                stream.width, stream.height = self._size
                stream.pix_fmt = "yuv420p"
                for pixels in frames:
                    container.mux(stream.encode(av.VideoFrame.from_ndarray(pixels, format="rgb24")))
                container.mux(stream.encode())
        except av.FFmpegError as error:
            raise VideoError(f"the package av could not write the video: {error}") from error


class _PillowGif:
    """Writes GIF with the package pillow."""

    def __init__(self, fps: int):
        self._hundredths = 100 // fps

    def write(self, frames: Iterable[np.ndarray], path: Path) -> None:
        from PIL import Image

        images = (Image.fromarray(pixels) for pixels in frames)
        first = next(images)
        first.save(
            path,
            format="GIF",
            save_all=True,
            append_images=images,
            duration=10 * self._hundredths,
            loop=0,
            disposal=1,
        )
