"""A body that an impact takes out of lasting contact leaves the others to move without its forces, at once."""

import numpy as np

import carom
from carom.simulator import Simulator


def leaning_pair():
    """Two boxes on a floor; the first already turns about its edge, towards the second."""
    height, depth, rate = 0.4, 0.06, 1.8
    material = carom.Material(friction=0.15)
    scene = carom.Scene()
    scene.add(carom.Body(carom.HalfSpace((0, 0, 1)), fixed=True, material=material))
    for x, turning in ((0.0, rate), (0.15, 0.0)):
        scene.add(
            carom.Body(
                carom.Box((depth, 0.2, height)), density=600.0, position=(x, 0, height / 2), material=material,
                velocity=(0.5 * height * turning, 0, 0.5 * depth * turning), angular_velocity=(0, turning, 0),
            )
        )  # fmt: skip
    return scene


def test_the_ledger_of_a_falling_pair_closes():
    """At 0.9617 s the first, which leans on the second, hits the floor, and no longer touches the second."""
    simulator = Simulator(leaning_pair(), carom.MaximumDissipation())
    trajectory = simulator.run(0.97)
    times = np.linspace(0.0, trajectory.end_time, 2001)
    assert np.abs(trajectory.ledger(times).residual).max() < 2e-9
    alone = [event for event in trajectory.events if len(event.contacts) == 2 and event.kind == "impact"]
    assert alone, "no impact of one body alone: the scene no longer tests this"
    before = trajectory.contact_forces(alone[0].time - 1e-7)
    between = (np.sort(before.bodies, axis=1) == (1, 2)).all(axis=1)
    assert before.normal_force[between].sum() > 1.0, "none leans on the other: the scene no longer tests this"
    # the second then moves on with friction at the floor alone
    later = trajectory.sample(alone[0].time + 5e-4).velocity[2] - alone[0].after.velocity[2]
    assert np.linalg.norm(later) <= 0.15 * 9.81 * 5e-4 * (1 + 1e-9)
