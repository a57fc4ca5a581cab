"""Flows of grains against published laws; minutes each."""

import numpy as np
import pytest

import carom

GRAVITY = 9.81
LAW = carom.MaximumDissipation(tolerance=1e-3, max_sweeps=100)


def chute(degrees):
    """Spheres of diameter 1 mm on a base of fixed ones, tilted; periodic along and across."""
    diameter, length, width, layers = 1e-3, 10, 6, 8
    random = np.random.default_rng(0)
    tilt = np.radians(degrees)
    material = carom.Material(friction=0.5)
    scene = carom.Scene(GRAVITY * np.array([np.sin(tilt), 0, -np.cos(tilt)]))
    scene.add(carom.Body(carom.HalfSpace((0, 0, 1), -diameter), fixed=True, material=material))
    spots = np.stack(np.meshgrid(np.arange(length), np.arange(width), indexing="ij"), -1).reshape(-1, 2)
    for x, y in spots * diameter:
        height = -0.5 * diameter * random.uniform(0.5, 1.0)
        scene.add(
            carom.Body(carom.Sphere(0.5 * diameter), fixed=True, material=material, position=(x, y, height))
        )
    places = np.stack(
        np.meshgrid(np.arange(length - 1), np.arange(width - 1), np.arange(layers), indexing="ij"), -1
    ).reshape(-1, 3)
    radius = 0.5 * diameter * random.uniform(0.9, 1.0, len(places))
    scene.add_spheres(
        radius, density=2500.0, position=diameter * (places * [1.1, 1.15, 1.05] + [0, 0, 0.8]),
        velocity=0.05 * random.normal(size=places.shape), material=material,
    )  # fmt: skip
    periodic = [
        (-0.5 * diameter, (length - 0.5) * diameter),
        (-0.5 * diameter, (width - 0.5) * diameter),
        None,
    ]
    return carom.TimeSteps(scene, LAW, step=1e-4, periodic=periodic)


@pytest.mark.long
@pytest.mark.parametrize(("degrees", "flows"), [(15.0, False), (26.0, True)])
def test_a_bumpy_chute_flows_above_twenty_odd_degrees_and_rests_below(degrees, flows):
    """Silbert et al., Phys. Rev. E 64, 051302 (2001): spheres with friction 0.5 rest below about 19 to 20 degrees
    and flow steadily above."""
    steps = chute(degrees)
    steps.run(0.5)
    states = steps.states
    speed = float(states.velocity[:, 0].mean())
    unit = np.sqrt(GRAVITY * 1e-3)
    assert (speed > 0.5 * unit) if flows else (abs(speed) < 0.02 * unit)
    assert steps.log.rows["overlap"].max() < 0.02


@pytest.mark.long
def test_flow_through_a_slot_follows_beverloo():
    """W = C rho sqrt(g) L (D - k d)^1.5 through a slot of length L, with k about 1.4 and C about 1.0 (Beverloo,
    Leniger & van de Velde, Chem. Eng. Sci. 15, 260 (1961); for slots as reviewed by Mankoc et al., Granular Matter
    9, 407 (2007)); here within a quarter of that for the density above the slot, and rising with the width
    as it says."""
    diameter, depth, width, height = 1e-3, 4.2e-3, 24e-3, 60e-3
    slots, rates, densities = (5e-3, 8e-3), [], []
    mean = 0.925 * diameter
    for slot in slots:
        random = np.random.default_rng(0)
        material = carom.Material(friction=0.5)
        scene = carom.Scene()
        side = 0.5 * (width - slot)
        for sign in (-1, 1):
            lip, place = carom.Box((side, 3 * depth, 2e-3)), (sign * 0.5 * (slot + side), 0, -1e-3)
            scene.add(carom.Body(lip, position=place, fixed=True, material=material))
            wall = carom.HalfSpace((-sign, 0, 0), -0.5 * width)
            scene.add(carom.Body(wall, fixed=True, material=material))
        x = np.arange(-0.5 * width + 0.55e-3, 0.5 * width - 0.5e-3, 1.02e-3)
        z = np.arange(0.55e-3, height, 1.02e-3)
        places = np.stack(np.meshgrid(x, 1.04e-3 * np.arange(4), z, indexing="ij"), -1).reshape(-1, 3)
        radius = 0.5 * diameter * random.uniform(0.85, 1.0, len(places))
        scene.add_spheres(radius, density=2500.0, position=places, material=material)
        steps = carom.TimeSteps(
            scene, LAW, step=2e-4, outflows=[carom.Outflow((0, 0, 1), -5e-3)],
            periodic=[None, (-0.5e-3, depth - 0.5e-3), None],
        )  # fmt: skip
        mass = 2500.0 * 4 / 3 * np.pi * (radius**3).mean()
        steps.run(0.15)  # settled, and flowing
        begun = steps.log.rows["left"][-1]
        height_now = steps.states.position[:, 2]
        bulk = mass * ((height_now > 5e-3) & (height_now < 15e-3)).sum() / (10e-3 * width * depth)
        steps.run(0.25)
        rates.append(mass * (steps.log.rows["left"][-1] - begun) / 0.1)
        densities.append(bulk)
    for slot, rate, bulk in zip(slots, rates, densities, strict=True):
        expected = bulk * np.sqrt(GRAVITY) * depth * (slot - 1.4 * mean) ** 1.5
        assert 0.75 < rate / expected < 1.25
    ratio = ((slots[1] - 1.4 * mean) / (slots[0] - 1.4 * mean)) ** 1.5
    assert rates[1] / rates[0] == pytest.approx(ratio, rel=0.15)
