import numpy as np
import pytest

from carom.viewer.keyframes import interpolate, motion_keys


def turn_between(one, other):
    """Angle [rad] between orientations (n, 4)."""
    return 2 * np.arccos(np.clip(np.abs(np.einsum("ni,ni->n", one, other)), 0, 1))


def keys_of(balls, **options):
    run = balls(**options)
    return run, motion_keys(run, 0.0, run.end_time, np.full(len(run.scene.bodies), 0.1))


def test_every_impact_has_a_key_before_and_one_after(balls):
    run, motion = keys_of(balls)
    for number, keys in enumerate(motion.bodies[1:], start=1):
        times = motion.times[keys.sample]
        impacts = [event.time for event in run.events if event.contacts.bodies[0, 0] == number]
        assert impacts
        for time in impacts:
            before, after = np.flatnonzero(times == time)
            assert keys.velocity[before, 2] < 0 < keys.velocity[after, 2]
            assert keys.velocity[before, 2] == pytest.approx(-keys.velocity[after, 2])
            assert keys.spin[before, 1] == -keys.spin[after, 1]


def test_flight_between_impacts_needs_no_more_keys_and_is_exact(balls):
    run, motion = keys_of(balls, spin=400.0)  # many turns between two keys
    for number, keys in enumerate(motion.bodies[1:], start=1):
        impacts = sum(event.contacts.bodies[0, 0] == number for event in run.events)
        assert len(keys) == 2 + 2 * impacts
        for k in range(0, len(keys) - 1, 2):
            begin, end = motion.times[keys.sample[k]], motion.times[keys.sample[k + 1]]
            at = np.linspace(begin, end, 41)[1:-1]
            place, orientation = interpolate(keys.chosen([k]), keys.chosen([k + 1]), motion.times, at)
            exact = run.sample(at)
            np.testing.assert_allclose(place, exact.position[:, number], atol=1e-12)
            assert turn_between(orientation, exact.orientation[:, number]).max() < 1e-6


def test_a_body_that_does_not_move_has_two_keys(balls):
    _, motion = keys_of(balls)
    assert len(motion.bodies[0]) == 2


class Rolling:
    """A body on a wavy way whose spin varies in size and direction, without events."""

    def __init__(self):
        from types import SimpleNamespace

        self.events = ()
        self.scene = SimpleNamespace(bodies=[None])

    def sample(self, t, side="right"):
        from types import SimpleNamespace

        t = np.asarray(t, dtype=float)
        position = np.stack([np.sin(3 * t), np.cos(2 * t), t**3], axis=-1)[:, None]
        velocity = np.stack([3 * np.cos(3 * t), -2 * np.sin(2 * t), 3 * t**2], axis=-1)[:, None]
        # turned by a(t) about z, then by b(t) about x: w = a' z' + b' x with z' the turned z
        a, b, da, db = 4 * np.sin(t), 2 * t**2, 4 * np.cos(t), 4 * t
        first = np.stack([np.cos(a / 2), 0 * a, 0 * a, np.sin(a / 2)], axis=-1)
        c, s = np.cos(b / 2), np.sin(b / 2)
        w, z = first[:, 0], first[:, 3]
        orientation = np.stack([c * w, s * w, -s * z, c * z], axis=-1)[:, None]
        spin = np.stack([db, -da * np.sin(b), da * np.cos(b)], axis=-1)[:, None]
        return SimpleNamespace(
            position=position, velocity=velocity, orientation=orientation, angular_velocity=spin
        )


def test_other_motion_gets_the_keys_its_tolerance_needs():
    run = Rolling()
    motion = motion_keys(run, 0.0, 2.0, np.array([0.1]))
    (keys,) = motion.bodies
    assert 4 < len(keys) < 80
    for k in range(len(keys) - 1):
        begin, end = motion.times[keys.sample[k]], motion.times[keys.sample[k + 1]]
        at = np.linspace(begin, end, 11)
        place, orientation = interpolate(keys.chosen([k]), keys.chosen([k + 1]), motion.times, at)
        exact = run.sample(at)
        assert np.abs(place - exact.position[:, 0]).max() < 1.1 * 5e-4 * 0.1
        assert turn_between(orientation, exact.orientation[:, 0]).max() < 1.1 * 2e-3
