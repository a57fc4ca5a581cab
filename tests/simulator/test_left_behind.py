"""A body that an impact takes out of lasting contact leaves the others to move without its forces, at once."""

import numpy as np

import carom
from carom.simulator import Simulator


def leaning_pair():
    """Two boxes on a floor; the first already turns about its edge, towards the second."""
    height, depth, rate = 0.4, 0.06, 1.5
    material = carom.Material(friction=0.2)
    scene = carom.Scene()
    scene.add(carom.Body(carom.HalfSpace((0, 0, 1)), fixed=True, material=material))
    for x, turning in ((0.0, rate), (0.2, 0.0)):
        scene.add(
            carom.Body(
                carom.Box((depth, 0.2, height)), density=600.0, position=(x, 0, height / 2), material=material,
                velocity=(0.5 * height * turning, 0, 0.5 * depth * turning), angular_velocity=(0, turning, 0),
            )
        )  # fmt: skip
    return scene


def test_the_ledger_of_a_falling_pair_closes():
    """At 0.8315 s the first hits the floor just when it no longer touches the second."""
    simulator = Simulator(leaning_pair(), carom.MaximumDissipation())
    trajectory = simulator.run(0.845)
    times = np.linspace(0.0, trajectory.end_time, 2001)
    assert np.abs(trajectory.ledger(times).residual).max() < 2e-9
    alone = [event for event in trajectory.events if len(event.contacts) == 2]
    assert alone, "no impact of one body alone: the scene no longer tests this"
    # the second then slides on with friction at the floor alone
    later = trajectory.sample(alone[0].time + 5e-4).velocity[2] - alone[0].after.velocity[2]
    assert np.linalg.norm(later) <= 0.2 * 9.81 * 5e-4 * (1 + 1e-9)
