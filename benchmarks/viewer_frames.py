"""Time for a frame of the window: bodies that drift over a floor, drawn in full and as a draft.

Run with a display, such as `xvfb-run -a -s "-screen 0 1400x900x24" python benchmarks/viewer_frames.py`. A frame is
everything between an input and the finished picture: sampling the trajectory, shadows, bodies, what lies over them.
The camera orbits and time advances, so that no frame is the same as the one before.
"""

import statistics
from time import perf_counter

import numpy as np

from carom import Body, Box, HalfSpace, Scene, Sphere, Trajectory
from carom.viewer.actions import press
from carom.viewer.display import load_pyglet
from carom.viewer.replay import Replay
from carom.viewer.run import Run

SIZE = (1280, 720)
FRAMES = 30
DURATION = 2.0  # s


def flight(spheres: int, boxes: int) -> Trajectory:
    """So many bodies that drift and spin over a floor in a cloud that fills the picture, and never meet."""
    random = np.random.default_rng(0)
    scene = Scene()
    scene.add(Body(HalfSpace(normal=(0, 0, 1)), fixed=True, name="floor"))
    spread = 0.28 * (spheres + boxes) ** (1 / 3)
    for number in range(spheres + boxes):
        shape = Sphere(0.12) if number < spheres else Box((0.2, 0.3, 0.15))
        place = random.uniform(-spread, spread, 3) + np.array([0.0, 0.0, spread + 0.5])
        speed = random.normal(0.0, 0.1, 3)
        scene.add(Body(shape, density=1000.0, position=place, velocity=speed))
    trajectory = Trajectory(scene, "none", 0)
    for number, (state, body) in enumerate(zip(trajectory.model.initial_states(), scene.bodies, strict=True)):
        if not body.fixed:
            state[10:13] = random.normal(0.0, 3.0, 3)
        trajectory.add_flights(np.array([number]), 0.0, state[None])
    trajectory.end_time = DURATION
    return trajectory


def frame_times(trajectory: Trajectory, quality: str) -> tuple[list[float], list[float]]:
    """Seconds of each frame in the window, and of those spent on sampling the trajectory."""
    load_pyglet(for_window=True)
    from carom.viewer.window import open_window

    replay = Replay([Run(trajectory, "flight")])
    window = open_window(replay, SIZE, "benchmark")
    while replay.look.quality != quality:
        press(replay, "q")
    whole, sampling = [], []
    for frame in range(FRAMES + 3):
        replay.orbit(0.01, 0.0)
        time = DURATION * (frame + 1) / (FRAMES + 4)
        begin = perf_counter()
        replay.runs[0].state(time)
        sampled = perf_counter()
        replay.timeline.seek(time)
        window.dispatch_events()
        window.draw_picture()
        window.flip()
        sampling.append(sampled - begin)
        whole.append(perf_counter() - begin)
    window.close()
    return whole[3:], sampling[3:]


def main() -> None:
    """Print a row for each scene and quality."""
    print(f"{SIZE[0]}x{SIZE[1]}, {FRAMES} frames each; ms a frame")
    print(f"{'scene':34}{'quality':>9}{'median':>9}{'least':>9}{'most':>9}{'sampling':>10}")
    for words, spheres, boxes in (
        ("36 spheres, 14 boxes, shadows", 36, 14),
        ("500 spheres", 500, 0),
        ("2000 spheres", 2000, 0),
    ):
        trajectory = flight(spheres, boxes)
        for quality in ("full", "draft"):
            whole, sampling = frame_times(trajectory, quality)
            numbers = [statistics.median(whole), min(whole), max(whole)]
            row = "".join(f"{1000 * number:9.1f}" for number in numbers)
            print(f"{words:34}{quality:>9}{row}{1000 * statistics.median(sampling):10.1f}", flush=True)


if __name__ == "__main__":
    main()
