"""Runs do not depend on the units of length, time and mass: scaled by powers of four they are the same."""

import numpy as np
import pytest

import carom


def toss(length, pace, heaviness, restitution):
    """A turned box thrown onto a floor where it slides, bounces and comes to rest; in other units."""
    material = carom.Material(friction=0.4, restitution=restitution)
    speed = length * pace
    scene = carom.Scene(gravity=(0.0, 0.0, -9.81 * length * pace**2))
    scene.add(carom.Body(carom.HalfSpace((0, 0, 1)), fixed=True, material=material))
    scene.add(carom.Body(carom.HalfSpace((-1, 0, 0), offset=-0.8 * length), fixed=True, material=material))
    for k, (place, velocity, spin) in enumerate(
        (((0, 0, 0.4), (1.2, 0.1, 0.0), (3.0, 1.0, 2.0)), ((0.5, 0.05, 0.15), (0, 0, 0), (0, 0, 0)))
    ):
        turn = np.array([1.0, 0.3 * (1 - k), 0.2 * (1 - k), 0.1])
        scene.add(
            carom.Body(
                carom.Box(length * np.array([0.2, 0.15, 0.1])), mass=heaviness * (2.0 - k),
                position=length * np.array(place), velocity=speed * np.array(velocity),
                angular_velocity=pace * np.array(spin), orientation=turn / np.linalg.norm(turn), material=material,
            )
        )  # fmt: skip
    return scene


@pytest.mark.parametrize(
    "law", [carom.StrongeCoulomb(), carom.MaximumDissipation()], ids=lambda law: law.name
)
@pytest.mark.parametrize(
    ("length", "pace", "heaviness"),
    [(4.0**5, 1.0, 1.0), (4.0**-5, 1.0, 4.0**6), (1.0, 4.0**4, 1.0), (64.0, 0.25, 4.0)],
)
def test_units_do_not_matter(law, length, pace, heaviness):
    restitution = 0.4 if law.honours_restitution else 0.0
    own = carom.Simulator(toss(1.0, 1.0, 1.0, restitution), law).run(0.8)
    other = carom.Simulator(toss(length, pace, heaviness, restitution), law).run(0.8 / pace)
    assert own.status is other.status
    assert len(own.events) == len(other.events) > 10
    assert own.event_kinds.tolist() == other.event_kinds.tolist()
    np.testing.assert_allclose(pace * other.event_times, own.event_times, rtol=0, atol=1e-7)
    here, there = own.sample(own.end_time), other.sample(other.end_time)
    np.testing.assert_allclose(there.position / length, here.position, rtol=0, atol=1e-6)
