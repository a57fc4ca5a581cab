"""What members run in tests of ensembles; workers import this file by its name."""

import os
import signal
import time
from pathlib import Path

import numpy as np

import carom


def box_scene():
    material = carom.Material(friction=0.3, restitution=0.6)
    scene = carom.Scene()
    scene.add(carom.Body(carom.HalfSpace((0, 0, 1)), fixed=True, material=material, name="floor"))
    scene.add(
        carom.Body(
            carom.Box((0.2, 0.1, 0.1)), density=1000.0, position=(0, 0, 0.5), angular_velocity=(1, 2, 3),
            material=material, name="box",
        )
    )  # fmt: skip
    return scene


def numbers(member, rng):
    """Numbers that show which member it was and what it drew, of different length."""
    return {"index": member, "drawn": rng.normal(size=2), "ragged": np.arange(1 + member % 3)}


def slow_numbers(member, rng):
    time.sleep(0.01)
    return numbers(member, rng)


def bad_members(member, rng):
    """Most do well; some raise, never end, end their process, or take all memory."""
    if member == 3:
        raise ValueError("three is\nno good")
    if member == 5:
        while True:
            time.sleep(0.01)
    if member == 7:
        os.kill(os.getpid(), signal.SIGKILL)
    if member == 9:
        return float(np.ones(2**33).sum())  # 64 GiB
    if member == 11:
        return "a word"
    if member == 13:
        raise SystemExit(2)
    return {"value": rng.normal()}


def endless_in_c(member, rng):
    """One never comes back from compiled code that keeps the interpreter's lock."""
    if member == 2:
        sum(range(10**13))
    return float(member)


def dies_once(member, rng):
    """Each of some members ends its process the first time it is run, as if by another's hand."""
    folder = Path(os.environ["CAROM_TEST_FOLDER"])
    if member % 10 == 4:
        try:
            (folder / f"died-{member}").touch(exist_ok=False)
        except FileExistsError:
            pass
        else:
            os.kill(os.getpid(), signal.SIGKILL)
    return numbers(member, rng)


def measured(trajectory):
    return {"height": trajectory.sample(trajectory.end_time).position[1, 2]}


def different_dimensions(member, rng):
    return {"value": np.zeros((1,) * (member % 2 + 1))}


def with_lock():
    import threading

    lock = threading.Lock()

    def run(member, rng):
        with lock:
            return 0.0

    return run
