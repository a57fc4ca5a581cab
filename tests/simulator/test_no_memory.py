"""Runs for which memory runs out: one sentence, nothing lost, and they can go on."""

import subprocess
import sys

import numpy as np
import pytest

import carom
from carom.simulator.world import World

LIMITED = """
import resource
import carom

scene = carom.Scene(gravity=(0, 0, -9.81))
material = carom.Material(restitution=1.0)
scene.add(carom.Body(carom.HalfSpace((0, 0, 1)), fixed=True, material=material))
for k in range(20):
    scene.add(
        carom.Body(
            carom.Sphere(0.01), density=1000.0, position=(k, 0, 0.02 + 0.001 * k), material=material
        )
    )
simulator = carom.Simulator(scene, carom.SequentialReflection(), event_limit=10**9)
simulator.run(0.1)
with open("/proc/self/statm") as numbers:
    used = int(numbers.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (60 << 20), resource.RLIM_INFINITY))
try:
    simulator.run(1e6)
except MemoryError as error:
    resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    reached = simulator.time
    run = simulator.run(reached + 0.1)
    energy = [float(run.energy(t)) for t in (0.0, 0.5 * reached, reached)]
    print(error, "|", run.status.value, max(energy) / min(energy) - 1.0 < 1e-9, len(run.events) > 1000)
"""


def bouncing(count):
    material = carom.Material(restitution=0.9)
    scene = carom.Scene()
    scene.add(carom.Body(carom.HalfSpace((0, 0, 1)), fixed=True, material=material))
    for k in range(count):
        scene.add(
            carom.Body(carom.Sphere(0.1), density=1.0, position=(k, 0, 0.3 + 0.1 * k), material=material)
        )
    return scene


@pytest.mark.skipif(sys.platform != "linux", reason="needs a limit of memory that holds")
def test_a_run_that_takes_all_memory_ends_in_words_and_can_go_on():
    made = subprocess.run([sys.executable, "-c", LIMITED], capture_output=True, text=True, timeout=300)
    said = made.stdout.split("|")
    assert made.returncode == 0, made.stderr[-2000:]
    assert said[0].startswith("no memory is left for what happened by t = "), made.stdout
    assert "record=PATH" in said[0]
    assert said[1].split() == ["reached_end", "True", "True"]


def test_a_table_for_which_there_is_no_memory_grows_by_what_was_kept(monkeypatch):
    """Saved: the error was lost on its way through the loop, and rows were written beyond the table."""
    whole = carom.Simulator(bouncing(30), carom.SequentialReflection()).run(2.0)
    grow, refused = World._grow, []

    def little_memory(self, number, rows, ahead=True):
        if ahead and len(refused) < 3:
            refused.append(number)
            raise MemoryError
        grow(self, number, rows, ahead)

    simulator = carom.Simulator(bouncing(30), carom.SequentialReflection())
    monkeypatch.setattr(World, "_grow", little_memory)
    for _ in range(3):
        with pytest.raises(MemoryError, match="no memory is left for what happened by t = "):
            simulator.run(2.0)
    run = simulator.run(2.0)
    assert run.status is carom.RunStatus.REACHED_END
    assert run.event_times.tolist() == whole.event_times.tolist()
    times = np.linspace(0.0, 2.0, 50)
    assert np.array_equal(run.sample(times).position, whole.sample(times).position)
