"""Cylinders that spin in flight over a half-space: whichever of their rims comes down first is met."""

import numpy as np
import pytest

import carom

CAUGHT = np.array([
    0.156459665, 0.0408894573, 0.0257294941, 0.0408696395, -0.438519256, -0.897775357, -0.00547204807, 0.195580500,
    -0.00841725017, 0.577531960, -30.70854013, -40.88676819, 0.09049042,
])  # fmt: skip
"""A state in which the rim that leaves the floor comes down with its other side, before the other rim (random
scene 5395)."""


def cylinders(states, shapes):
    material = carom.Material(friction=0.2, restitution=0.5)
    scene = carom.Scene()
    scene.add(carom.Body(carom.HalfSpace((0, 0, 1)), fixed=True, material=material))
    for state, (radius, length) in zip(states, shapes, strict=True):
        scene.add(
            carom.Body(
                carom.Cylinder(radius, length),
                density=1000.0,
                position=state[:3],
                orientation=state[3:7],
                velocity=state[7:10],
                angular_velocity=state[10:],
                material=material,
            )
        )
    return scene


def test_the_other_side_of_a_rim_comes_down_before_the_other_rim():
    radius, half = 0.04671190276465145, 0.5 * 0.043910322005739966
    run = carom.Simulator(cylinders([CAUGHT], [(radius, 2.0 * half)]), carom.StrongeCoulomb()).run(0.02)
    assert run.largest_overlap(400) <= 1e-9 * radius
    state = run.sample(run.event_times[0])
    axis = 1.0 - 2.0 * (state.orientation[1, 1] ** 2 + state.orientation[1, 2] ** 2)
    lowest = state.position[1, 2] - half * abs(axis) - radius * np.sqrt(1.0 - axis * axis)
    assert abs(lowest) <= 1e-12
    assert run.event_times[0] == pytest.approx(0.0042804, abs=1e-7)


@pytest.mark.parametrize("seed", range(4))
def test_none_reaches_into_the_ground(seed):
    """Flat ones and long ones, upright to within a few degrees or not, that begin on the ground and leave it."""
    random = np.random.default_rng(seed)
    states, shapes = [], []
    for k in range(40):
        radius, length = random.uniform(0.03, 0.06), random.uniform(0.01, 0.15)
        lean, way = (
            random.uniform(0.0, 0.3) if k % 2 else random.uniform(0.0, np.pi),
            random.uniform(0, 2 * np.pi),
        )
        orientation = [
            np.cos(0.5 * lean),
            np.sin(0.5 * lean) * np.cos(way),
            np.sin(0.5 * lean) * np.sin(way),
            0.0,
        ]
        height = 0.5 * length * abs(np.cos(lean)) + radius * abs(np.sin(lean)) + 1e-12
        spin, velocity = 30.0 * random.standard_normal(3), random.standard_normal(3)
        states.append(
            np.concatenate([[0.5 * k, 0.0, height], orientation, [*velocity[:2], velocity[2] + 1.0], spin])
        )
        shapes.append((radius, length))
    run = carom.Simulator(cylinders(states, shapes), carom.StrongeCoulomb()).run(0.1)
    assert run.status is carom.RunStatus.REACHED_END
    assert len(run.events) > 40
    assert run.largest_overlap(400) <= 1e-9 * 0.06
