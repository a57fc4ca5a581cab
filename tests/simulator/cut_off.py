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
from pathlib import Path

import numpy as np

import carom

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
    """Files begin anew all the time."""
    while True:
        simulator(path).run(0.5)


def save(path):
    while True:
        RUN.save(path)


def save_tree(path):
    while True:
        TREE.save(path)


RECORDERS = (run, run_law_in_python, run_with_callback, step_events, run_again_and_again)
WRITERS = {writer.__name__: writer for writer in (*RECORDERS, save, save_tree)}
RUN = carom.Simulator(bouncing(), carom.SequentialReflection()).run(20.0)
TREE = carom.Simulator(bouncing(), InPython()).branches(2, seed=0, until=2.0)


def check(path, writer):
    """How many events a file holds; None where there is none. It is whole, or ends at a flush and says so."""
    if not path.exists():
        return None
    if writer is save_tree:
        return len(carom.BranchedRun.load(path).trajectories[1].events)
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


def interrupted(writer, path, delay):
    """Press Ctrl-C that much later; what reached the caller."""
    timer = threading.Timer(delay, os.kill, (os.getpid(), signal.SIGINT))
    try:
        timer.start()
        writer(path)
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
    interrupted(writer, Path(folder) / "warm.h5", 1.0)  # what it needs is compiled
    ends, events = [], []
    for number in range(int(rounds)):
        path = Path(folder) / f"{number}.h5"
        cut = interrupted if how == "interrupt" else killed
        delay = moments.uniform(0.0, MOMENT) * (1.0 if number % 2 else 0.1)
        if number == int(rounds) - 1:  # the last one has time to record something, on a busy machine too
            delay = 10.0 * MOMENT
        ends.append(cut(writer, path, delay))
        events.append(check(path, writer))
        left = [other.name for other in Path(folder).iterdir() if other.suffix == ".partial"]
        assert how == "kill" or not left, left
        path.unlink(missing_ok=True)
    sys.stdout.write(json.dumps({"ends": ends, "events": events}) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
