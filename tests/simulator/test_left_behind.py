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
    """At 0.9616 s the first, which leans on the second, hits the floor, and then no longer touches the second."""
    simulator = Simulator(leaning_pair(), carom.MaximumDissipation())
    trajectory = simulator.run(0.97)
    times = np.linspace(0.0, trajectory.end_time, 2001)
    assert np.abs(trajectory.ledger(times).residual).max() < 2e-9
    together = [
        event
        for event in trajectory.events
        if event.kind == "impact"
        and event.time > 0.9
        and {(1, 0), (1, 2)} <= {tuple(pair) for pair in event.contacts.bodies.tolist()}
    ]
    assert together, "no impact while one leans on the other: the scene no longer tests this"
    first, last = together[0], together[-1]
    before, after = (trajectory.contact_forces(time) for time in (first.time - 1e-7, last.time + 1e-4))
    leans, leant = ((np.sort(forces.bodies, axis=1) == (1, 2)).all(axis=1) for forces in (before, after))
    assert before.normal_force[leans].sum() > 1.0, "none leans on the other: the scene no longer tests this"
    assert not leant.any()
    # the second then moves on with friction at the floor alone
    later = trajectory.sample(last.time + 5e-4).velocity[2] - last.after.velocity[2]
    assert np.linalg.norm(later) <= 0.15 * 9.81 * 5e-4 * (1 + 1e-9)
