"""Forces in friction cones that do what is asked, and bodies that rest by them."""

import math

import numpy as np
import pytest

import carom
from carom.simulator.collision.pairs import contact_patch
from carom.simulator.contact.balance import cone_forces
from carom.simulator.contact.rest import closed_gaps, is_at_rest
from carom.simulator.state import Model


def in_cone(forces, friction):
    return np.all(np.hypot(forces[:, 1], forces[:, 2]) <= friction * forces[:, 0] + 1e-12)


@pytest.mark.parametrize("seed", range(40))
def test_nothing_in_the_cones_comes_nearer(seed):
    """Optimality of a projection onto a cone: what is left is across the forces and against all edges."""
    rng = np.random.default_rng(seed)
    nc = int(rng.integers(2, 6))
    push = rng.normal(size=(6, 3 * nc)) * 10.0 ** rng.uniform(-2, 2, 3 * nc)
    friction = rng.uniform(0.0, 1.0, nc) * (rng.uniform(size=nc) > 0.2)
    target = rng.normal(size=6)
    forces, left = cone_forces(push, target, friction)
    assert in_cone(forces, friction)
    np.testing.assert_allclose(target - push @ forces.ravel(), left, atol=1e-12)
    slope = (push.T @ left).reshape(nc, 3)
    scale = np.abs(push).max() * np.linalg.norm(target)
    assert np.max(slope[:, 0] + friction * np.hypot(slope[:, 1], slope[:, 2])) <= 1e-6 * scale
    assert abs(np.sum(slope * forces)) <= 1e-6 * np.linalg.norm(target) ** 2


@pytest.mark.parametrize("seed", range(20))
def test_a_target_inside_the_cones_is_met(seed):
    rng = np.random.default_rng(100 + seed)
    nc = 4
    push = rng.normal(size=(9, 3 * nc))
    friction = rng.uniform(0.2, 1.0, nc)
    forces = np.zeros((nc, 3))
    forces[:, 0] = rng.uniform(0.5, 2.0, nc)
    angle = rng.uniform(0.0, 2 * np.pi, nc)
    # on the round cone, between the edges of any pyramid
    forces[:, 1] = friction * forces[:, 0] * np.cos(angle)
    forces[:, 2] = friction * forces[:, 0] * np.sin(angle)
    target = push @ forces.ravel()
    assert np.abs(cone_forces(push, target, friction)[1]).max() <= 1e-6 * np.abs(target).max()


def test_contacts_that_slide_have_friction_against_their_slip():
    push = np.concatenate([np.eye(3), np.eye(3)], axis=1)
    slip = np.array([[0.6, 0.8], [0.0, 0.0]])
    forces, left = cone_forces(push, np.array([2.0, -0.3, -0.4]), np.array([0.5, 0.0]), slip)
    np.testing.assert_allclose(forces, [[1.0, -0.3, -0.4], [1.0, 0.0, 0.0]], atol=1e-12)
    np.testing.assert_allclose(left, 0.0, atol=1e-12)


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
    model = Model.of_scene(scene)
    states = model.initial_states()
    patch = contact_patch(model, [(1, 0)], states)
    assert is_at_rest(model, patch, np.full(len(patch), friction), states) is rests


def test_closing_gaps_presses_no_other_contact_in():
    """A box that tips by a hair onto one corner: closing the others must not push it below the floor."""
    scene = carom.Scene()
    scene.add(carom.Body(carom.HalfSpace((0, 0, 1)), fixed=True))
    tilt = 2e-9
    scene.add(
        carom.Body(
            carom.Box((1.0, 1.0, 1.0)),
            mass=1.0,
            position=(0, 0, 0.5 + 0.5 * tilt),
            orientation=(1.0, 0.5 * tilt, 0.0, 0.0),
        )
    )
    model = Model.of_scene(scene)
    states = model.initial_states()
    patch = contact_patch(model, [(1, 0)], states, 1e-8)
    assert len(patch) == 4
    assert patch.gap.max() > 1e-9
    for closes in (patch.gap > 1e-9, np.ones(4, dtype=bool), patch.gap <= 1e-9):
        gaps = contact_patch(model, [(1, 0)], closed_gaps(model, patch, closes, states), 1e-8).gap
        np.testing.assert_allclose(gaps[closes], 0.0, atol=1e-16)
        assert gaps.min() >= -1e-12
