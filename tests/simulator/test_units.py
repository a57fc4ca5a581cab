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


def flown(scale):
    """Free flight of a spinning box, so many times as fast, in units of its time."""
    scene = carom.Scene(gravity=(0.0, 0.0, 0.0))
    scene.add(
        carom.Body(
            carom.Box((0.1, 0.2, 0.3)), density=1.0, velocity=scale * np.array((0.3, -0.2, 0.1)),
            angular_velocity=scale * np.array((3.0, -5.0, 0.01)),
        )
    )  # fmt: skip
    run = carom.Simulator(scene, carom.SequentialReflection()).run(2.0 / scale)
    assert run.status is carom.RunStatus.REACHED_END
    states = run.sample(np.linspace(0.0, 2.0, 20) / scale)
    return states.position, states.orientation, states.angular_velocity / scale


@pytest.mark.parametrize("power", [-40, -20, 10, 20, 26, 29])
def test_free_flight_does_not_depend_on_the_unit_of_time(power):
    """Saved: coefficients of spin faster than 1e7 rad/s overflowed, and the run stood still."""
    for one, other in zip(flown(2.0**power), flown(1.0), strict=True):
        assert np.array_equal(one, other)


@pytest.mark.parametrize("power", [32, 40, 46])
def test_spin_whose_last_coefficients_no_number_holds_is_as_exact(power):
    for one, other in zip(flown(2.0**power), flown(1.0), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-12)
