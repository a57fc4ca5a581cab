"""Bodies that rest by forces in friction cones, and those that do not."""

import math

import numpy as np
import pytest

import carom


@pytest.mark.parametrize("turn", np.linspace(0.0, 2.0, 9))
@pytest.mark.parametrize(("share", "rests"), [(1.0 - 1e-5, True), (1.0 + 1e-5, False)])
def test_a_block_on_an_incline_rests_up_to_the_critical_slope(turn, share, rests):
    """Whatever way the block is turned, so whatever angle friction has to its contacts' tangents."""
    friction, gravity = 0.4, 9.81
    slope = math.atan(share * friction)
    scene = carom.Scene(gravity=(-gravity * math.sin(slope), 0.0, -gravity * math.cos(slope)))
    material = carom.Material(friction=friction)
    scene.add(carom.Body(carom.HalfSpace((0, 0, 1)), fixed=True, material=material))
    scene.add(
        carom.Body(
            carom.Box((0.4, 0.3, 0.2)),
            density=700.0,
            position=(0, 0, 0.1),
            orientation=(math.cos(turn / 2), 0, 0, math.sin(turn / 2)),
            material=material,
        )
    )
    trajectory = carom.Simulator(scene, carom.MaximumDissipation()).run(1.0)
    moved = trajectory.sample(trajectory.end_time).position[1] - [0, 0, 0.1]
    if rests:
        assert trajectory.status is carom.RunStatus.AT_REST
        assert not moved.any()
    else:
        pull = gravity * (math.sin(slope) - friction * math.cos(slope))
        np.testing.assert_allclose(moved, [-0.5 * pull, 0, 0], rtol=1e-4, atol=1e-7)
