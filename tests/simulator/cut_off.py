"""A program that cuts writers of files off, over and over, at random moments, and looks at what they leave.

``python cut_off.py interrupt|kill WRITER ROUNDS SEED FOLDER`` prints one JSON line: how each round ended.
"""

import json
import os
import random
import signal
import sys
import threading
import time
from functools import cache
from pathlib import Path
from unittest import mock

import av
import numpy as np

import carom
from carom.viewer import video
from carom.viewer.png import write_png

SIZE = (160, 100)
FRAMES = 11  # of a video
MOMENT = 0.3
"""[s] within which a writer is cut off, which is as long as some thousand events take to record."""


def bouncing():
    material = carom.Material(friction=0.0, restitution=1.0)
    scene = carom.Scene()
    scene.add(carom.Body(carom.HalfSpace((0, 0, 1)), fixed=True, material=material))
    for k in range(4):
        scene.add(
            carom.Body(carom.Sphere(0.1), density=1000.0, position=(k, 0, 0.2 + 0.05 * k), material=material)
        )
    return scene


class InPython(carom.SequentialReflection):
    """A law that the loop has to come back to Python for."""


def simulator(record, law=carom.SequentialReflection):
    return carom.Simulator(bouncing(), law(), record=record, event_limit=10**9)


def run(path):
    simulator(path).run(1e9)


def run_law_in_python(path):
    simulator(path, InPython).run(1e9)


def run_with_callback(path):
    found = simulator(path)
    found.on_event(lambda event, _: event.kind)
    found.run(1e9)


def step_events(path):
    found = simulator(path)
    while True:
        found.step_event()


def run_again_and_again(path):
    """Files begin anew all the time: after some 5,000 events, which take ten times as long as to begin one."""
    while True:
        simulator(path).run(500.0)


def save(path):
    while True:
        made(of_run).save(path)


def save_tree(path):
    while True:
        made(tree).save(path)


def save_scene(path):
    while True:
        bouncing().save(path)


def save_steps(path):
    while True:
        made(steps).save(path)


def write_page(path):
    while True:
        carom.render(made(short_run), path.with_suffix(".html"))


def write_glb(path):
    while True:
        carom.render(made(short_run), path.with_suffix(".glb"))


def write_picture(path):
    """Of pixels: a process that is forked has no OpenGL."""
    pixels = np.zeros((400, 600, 3), dtype=np.uint8)
    while True:
        write_png(path.with_suffix(".png"), pixels)


def draw_picture(path):
    while True:
        carom.render(made(short_run), path.with_suffix(".png"), size=SIZE)


def draw_frames(path):
    """Numbered pictures, of which those that are there stay."""
    while True:
        carom.render(made(short_run), frame_of(path, "%d"), size=SIZE, fps=FRAMES - 1, speed=0.3)
        for frame in path.parent.glob(frame_of(path, "*").name):
            frame.unlink()


def draw_video(path):
    while True:
        carom.render(made(short_run), path.with_suffix(".mp4"), size=SIZE, fps=FRAMES - 1, speed=0.3)


def draw_gif(path):
    while True:
        carom.render(made(short_run), path.with_suffix(".gif"), size=SIZE, fps=FRAMES - 1, speed=0.3)


def draw_video_by_package(path):
    with without_ffmpeg():
        draw_video(path)


def draw_gif_by_package(path):
    with without_ffmpeg():
        draw_gif(path)


def without_ffmpeg():
    return mock.patch.object(video.shutil, "which", return_value=None)


def frame_of(path, number):
    return path.with_name(f"{path.stem}_{number}.png")


def one_number(member, rng):
    return {"value": rng.normal(size=3)}


def ensemble(path):
    """Which is written anew again and again."""
    while True:
        carom.ensemble(one_number, 200, workers=0, store=path, progress=False)
        path.unlink()


@cache
def made(make):
    """What there is to write."""
    return make()


def of_run():
    return carom.Simulator(bouncing(), carom.SequentialReflection()).run(20.0)


def short_run():
    return carom.Simulator(bouncing(), carom.SequentialReflection()).run(0.3)


def tree():
    return carom.Simulator(bouncing(), InPython()).branches(2, seed=0, until=2.0)


def kernels():
    """None has to be compiled while a writer is cut off."""
    for law in (carom.SequentialReflection(), InPython()):
        found = carom.Simulator(bouncing(), law)
        found.step_event()
        found.on_event(lambda event, _: event.kind)
        found.run(1.0)


def modules():
    """Python cannot begin again to import what was cut off."""
    return carom.ensemble(one_number, 2, workers=0, progress=False)


def steps():
    scene = carom.Scene()
    scene.add(carom.Body(carom.HalfSpace((0, 0, 1)), fixed=True))
    scene.add_spheres(
        0.1, density=1000.0, position=0.3 * np.argwhere(np.ones((6, 6, 6))) + 0.2, name="grains"
    )
    found = carom.TimeSteps(scene, carom.MaximumDissipation(tolerance=1e-6, max_sweeps=500), step=1e-3)
    found.run(0.005)
    return found


VIDEOS = {
    draw_video: ".mp4", draw_gif: ".gif", draw_video_by_package: ".mp4", draw_gif_by_package: ".gif"
}  # fmt: skip
DRAWERS = {draw_picture: ".png", draw_frames: ".png", **VIDEOS}
NEEDS = {
    save: of_run, save_tree: tree, save_steps: steps, write_page: short_run, write_glb: short_run,
    ensemble: modules, **dict.fromkeys(DRAWERS, short_run),
}  # fmt: skip
LONGER = {write_page: 5.0, write_glb: 2.0, **dict.fromkeys(DRAWERS, 4.0)}
"""How many times as long as `MOMENT` one file takes."""
ENDINGS = {write_page: ".html", write_glb: ".glb", write_picture: ".png", **DRAWERS}
RECORDERS = (run, run_law_in_python, run_with_callback, step_events, run_again_and_again)
SAVERS = (save, save_tree, save_scene, save_steps, ensemble, *ENDINGS)
NEEDS |= dict.fromkeys(RECORDERS, kernels)
WRITERS = {writer.__name__: writer for writer in (*RECORDERS, *SAVERS)}


def check(path, writer):
    """How much a file holds; None where there is none. It is whole, or ends at a flush and says so."""
    path = path.with_suffix(ENDINGS.get(writer, ".h5"))
    if not path.exists() and writer is not draw_frames:
        return None
    if writer in SAVERS and writer is not save:
        return WHOLE[writer](path)
    found = carom.Trajectory.load(path)
    statuses = {save: ("reached_end",), run_again_and_again: ("unfinished", "reached_end")}
    assert found.status.value in statuses.get(writer, ("unfinished",)), found.status
    times = found.event_times
    assert (np.diff(times) >= 0.0).all()
    assert len(times) == 0 or times[-1] <= found.end_time
    energy = found.energy(np.linspace(0.0, found.end_time, 20))
    np.testing.assert_allclose(energy, energy[0], rtol=1e-9)
    impacts = found.impacts
    np.testing.assert_allclose(impacts.velocity_after[:, 0], -impacts.velocity_before[:, 0], rtol=1e-9)
    assert len(impacts) == len(times)
    return len(times)


def whole_page(path):
    text = path.read_text()
    assert text.startswith("<!doctype html>")
    assert text.endswith("</html>\n")
    return len(text)


def whole_glb(path):
    content = path.read_bytes()
    assert content[:4] == b"glTF"
    assert int.from_bytes(content[8:12], "little") == len(content)
    return len(content)


def whole_frames(path):
    return sum(whole_picture(frame) > 0 for frame in path.parent.glob(frame_of(path, "*").name)) or None


def whole_video(path):
    """All of its frames can be read."""
    with av.open(str(path)) as container:
        frames = sum(1 for _ in container.decode(video=0))
    assert frames == FRAMES
    return frames


def whole_picture(path):
    content = path.read_bytes()
    assert content[-12:] == b"\x00\x00\x00\x00IEND\xaeB`\x82"
    return len(content)


WHOLE = {
    save_tree: lambda path: len(carom.BranchedRun.load(path).trajectories[1].events),
    save_scene: lambda path: len(carom.Scene.load(path).bodies),
    save_steps: lambda path: len(carom.StepRecording.load(path).last.position),
    ensemble: lambda path: len(carom.Ensemble.load(path)),
    write_page: whole_page,
    write_glb: whole_glb,
    write_picture: whole_picture,
    draw_picture: whole_picture,
    draw_frames: whole_frames,
    **dict.fromkeys(VIDEOS, whole_video),
}


def interrupted(writer, path, delay):
    """Press Ctrl-C that much later; what reached the caller."""
    timer = threading.Timer(delay, os.kill, (os.getpid(), signal.SIGINT))
    try:
        timer.start()
        writer(path)
    except KeyboardInterrupt:
        return "KeyboardInterrupt"
    except BaseException as error:
        return type(error).__name__
    finally:
        timer.join()
    return "went on"


def killed(writer, path, delay):
    """Kill a process that writes; how it ended."""
    child = os.fork()
    if child == 0:
        writer(path)
    time.sleep(delay)
    os.kill(child, signal.SIGKILL)
    return signal.Signals(os.WTERMSIG(os.waitpid(child, 0)[1])).name


def main(how, name, rounds, seed, folder):
    signal.signal(signal.SIGINT, signal.default_int_handler)
    writer, moments = WRITERS[name], random.Random(int(seed))
    if writer in NEEDS:
        made(NEEDS[writer])
    if how == "interrupt" or writer not in DRAWERS:  # a process that is forked from one with OpenGL has none
        interrupted(writer, Path(folder) / "warm.h5", 1.0)  # what it needs is compiled
    ends, events = [], []
    for number in range(int(rounds)):
        path = Path(folder) / f"{number}.h5"
        cut = interrupted if how == "interrupt" else killed
        delay = moments.uniform(0.0, MOMENT) * (LONGER.get(writer, 1.0) if number % 2 else 0.1)
        if number == int(rounds) - 1:  # the last one has time to record something, on a busy machine too
            delay = 10.0 * MOMENT
        ends.append(cut(writer, path, delay))
        events.append(check(path, writer))
        left = [other.name for other in Path(folder).iterdir() if other.suffix in (".partial", ".part")]
        assert how == "kill" or not left, left
        for other in Path(folder).iterdir():
            other.unlink()
    sys.stdout.write(json.dumps({"ends": ends, "events": events}) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
