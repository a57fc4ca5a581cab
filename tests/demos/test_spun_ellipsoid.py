"""The equations that ellipsoids spun on a floor are compared with; the demos check their runs themselves."""

import math

import numpy as np
import pytest

import carom
from carom.bodies.rotation import rotation_matrices
from carom.demos.spun_ellipsoid import GRAVITY, Rattleback, SpinningEgg, TouchingEllipsoid


def test_a_sphere_slips_and_rolls_as_known():
    """Slip falls by 7/2 mu g, and a rolling sphere goes on as it is."""
    ball = carom.Body(
        carom.Ellipsoid((0.1, 0.1, 0.1)), density=1000, position=(0, 0, 0.1), velocity=(1, 0, 0)
    )
    slipping = TouchingEllipsoid(ball, 0.2)
    solution = slipping.solved(0.1)
    moved = solution.sol(0.1)
    assert moved[12] == pytest.approx(1 - 0.2 * GRAVITY * 0.1, abs=1e-12)
    assert moved[9] == pytest.approx(0.1 - 0.5 * 0.2 * GRAVITY * 0.01, abs=1e-12)
    assert 0.1 * moved[16] == pytest.approx(2.5 * 0.2 * GRAVITY * 0.1, abs=1e-12)
    rolling = carom.Body(
        ball.shape, density=1000, position=(0, 0, 0.1), velocity=(1, 0, 0), angular_velocity=(0, 10, 0)
    )
    np.testing.assert_allclose(
        TouchingEllipsoid(rolling, None).solved(0.5).sol(0.5)[9:18],
        [0.5, 0, 0.1, 1, 0, 0, 0, 10, 0],
        atol=1e-12,
    )


@pytest.mark.parametrize("demo", [Rattleback(), SpinningEgg()])
def test_the_lowest_point_stays_on_the_floor(demo):
    body = demo.scene().bodies[1]
    friction = None if isinstance(demo, Rattleback) else demo.friction
    solution = TouchingEllipsoid(body, friction).solved(0.3)
    for time in np.linspace(0, 0.3, 7):
        state = solution.sol(time)
        rotation = state[:9].reshape(3, 3)
        assert np.abs(rotation @ rotation.T - np.eye(3)).max() < 1e-11
        squares = np.square(body.shape.semi_axes)
        height = state[11] + rotation[2] @ body.shape.center - math.sqrt(squares @ rotation[2] ** 2)
        assert abs(height) < 1e-12


def test_the_shape_of_a_rattleback_makes_it_turn_back_and_not_its_lesser_tilt():
    """Spun the other way it goes on."""
    body = Rattleback().scene().bodies[1]
    other = carom.Body(
        body.shape, mass=body.mass, inertia=body.inertia, position=body.position,
        orientation=body.orientation, velocity=-body.velocity, angular_velocity=-body.angular_velocity,
    )  # fmt: skip
    spins = []
    for start in (body, other):
        state = TouchingEllipsoid(start, None).solved(7.0).sol(7.0)
        spins.append((rotation_matrices(body.orientation) @ state[15:])[2])
    assert spins[0] > 1.0
    assert spins[1] > 4.5
