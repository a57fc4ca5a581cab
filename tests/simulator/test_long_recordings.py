"""Recordings of many events: how much memory a run takes while it records, and how long its file becomes."""

import pickle

import numpy as np
import pytest

import carom
from carom.simulator.record.log import LOG_TABLES

from .cut_off import bouncing

EVENTS = 100_000


def gas(friction=0.0, restitution=1.0):
    """Spheres in a box, of which every impact changes two, in all directions."""
    material = carom.Material(friction=friction, restitution=restitution)
    scene = carom.Scene(gravity=(0, 0, 0))
    for axis in range(3):
        for sign in (1, -1):
            normal = sign * np.eye(3)[axis]
            scene.add(carom.Body(carom.HalfSpace(normal, offset=-1.0), fixed=True, material=material))
    rng = np.random.default_rng(0)
    for cell in np.argwhere(np.ones((3, 3, 3))):
        velocity = rng.normal(size=3)
        place = 0.6 * (cell - 1)
        scene.add(
            carom.Body(carom.Sphere(0.2), mass=1.0, position=place, velocity=velocity, material=material)
        )
    return scene


def in_memory(trajectory):
    """Bytes of the tables of a trajectory that are in memory."""
    return sum(getattr(trajectory.log, name).bytes_in_memory for name in LOG_TABLES)


@pytest.mark.parametrize(("scene", "most"), [(bouncing, 60), (gas, 250)])
def test_memory_is_bounded_and_files_are_short(scene, most, tmp_path):
    path = tmp_path / "run.h5"
    simulator = carom.Simulator(scene(), carom.SequentialReflection(), record=path, event_limit=EVENTS)
    sizes = []
    while simulator.trajectory.status is not carom.RunStatus.EVENT_LIMIT:
        simulator.run(simulator.time + (2000.0 if scene is bouncing else 200.0))
        sizes.append(in_memory(simulator.trajectory))
    assert len(simulator.trajectory.events) == EVENTS
    assert max(sizes) < 20e6  # of the 500 bytes an event that a run without a recording keeps
    assert path.stat().st_size < most * EVENTS
    # what is in the file is as what is in memory
    twin = carom.Simulator(scene(), carom.SequentialReflection(), event_limit=EVENTS)
    kept = twin.run(simulator.time)
    assert in_memory(kept) > 400 * EVENTS
    assert simulator.trajectory.event_hash == kept.event_hash
    times = np.linspace(0.0, kept.end_time, 500)
    copied = simulator.copy()
    for other in (simulator.trajectory, copied.trajectory, carom.Trajectory.load(path)):
        assert np.array_equal(other.sample(times).packed(), kept.sample(times).packed())
        assert np.array_equal(other.impacts, kept.impacts)
    assert in_memory(copied.trajectory) < 20e6
    sent = pickle.loads(pickle.dumps(simulator.trajectory))
    assert sent.events[EVENTS // 2].time == kept.events[EVENTS // 2].time
    assert np.array_equal(sent.sample(times).packed(), kept.sample(times).packed())


LAWS = (carom.StrongeCoulomb(), carom.SequentialLCP(), carom.MaximumDissipation(), carom.AnitescuPotra())


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)
def test_an_impact_with_friction_takes_at_most_300_bytes(law, tmp_path):
    """Of spheres that spin, which leave most numbers; all that the file has besides is among them."""
    path, count = tmp_path / "run.h5", 1500
    run = carom.Simulator(gas(0.3, 0.9), law, record=path, event_limit=count).run(1e6)
    assert len(run.impacts) == count
    assert run.save(tmp_path / "saved.h5").stat().st_size < 300 * count
    assert (
        path.stat().st_size < 315 * count
    )  # the parts of flushes that later ones have replaced are still in it
