"""Spheres, and contacts that are nearly as isotropic: slip does not turn, whatever rounding says.

Slip of a sphere keeps its direction, and its normal motion knows nothing of friction: Newton's restitution, and
friction against slip until that stops (Jia & Wang, section 2, with d = 0 and B a multiple of the identity).
"""

import numpy as np
import pytest

import carom
from carom import ImpactProblem, StrongeCoulomb


def sphere_contact(rng):
    """W (3, 3) of a sphere at a point of any normal, with the rounding that its Jacobian has."""
    mass, inertia, radius = rng.uniform(0.1, 3.0, size=3)
    normal, other = rng.normal(size=(2, 3))
    normal /= np.linalg.norm(normal)
    tangent = np.cross(normal, other)
    tangent /= np.linalg.norm(tangent)
    axes = (normal, tangent, np.cross(normal, tangent))
    J = np.array([np.concatenate([axis, np.cross(-radius * normal, axis)]) for axis in axes])
    return (J * np.repeat([1.0 / mass, 1.0 / inertia], 3)) @ J.T


def closed_form(W, u, mu, e):
    slip = np.hypot(u[1], u[2])
    normal = -(1.0 + e) * u[0] / W[0, 0]
    friction = min(mu * normal, slip / (0.5 * (W[1, 1] + W[2, 2])))
    return np.array([normal, -friction * u[1] / slip, -friction * u[2] / slip])


def random_impact(rng):
    u = rng.normal(size=3)
    u[0] = -abs(u[0])
    return sphere_contact(rng), u, rng.uniform(0.02, 1.5), rng.uniform(0.0, 1.0)


def test_spheres_are_closed_forms():
    rng = np.random.default_rng(0)
    for _ in range(1000):
        W, u, mu, e = random_impact(rng)
        outcome = StrongeCoulomb().resolve(ImpactProblem(W, u, friction=mu, restitution=e))
        expected = closed_form(W, u, mu, e)
        assert outcome.resolved
        assert outcome.info["steps"] == 0
        np.testing.assert_allclose(outcome.impulse, expected, atol=1e-14 * np.abs(expected).max())


@pytest.mark.parametrize("uneven", [3e-15, 1e-14, 3e-14, 1e-13, 1e-12, 1e-11, 1e-10, 1e-9, 1e-7, 1e-5])
@pytest.mark.parametrize("what", ["mobility", "coupling", "turned mobility"])
def test_contacts_that_are_nearly_isotropic_turn_slip_as_little(uneven, what):
    """A ray that attracts only weakly was once taken where it is not: impulses turned by up to 14 percent."""
    rng = np.random.default_rng(1)
    for _ in range(200):
        W, u, mu, e = random_impact(rng)
        expected = closed_form(W, u, mu, e)
        if what == "mobility":
            W[1, 1] *= 1.0 + uneven
        elif what == "turned mobility":
            W[1, 2] = W[2, 1] = W[1, 2] + uneven * W[1, 1]
        else:
            W[0, 1] = W[1, 0] = W[0, 1] + uneven * W[0, 0]
        outcome = StrongeCoulomb().resolve(ImpactProblem(W, u, friction=mu, restitution=e))
        assert outcome.resolved
        size = np.abs(expected).max() * max(1.0, u[0] ** -2)
        np.testing.assert_allclose(outcome.impulse, expected, atol=(1e-12 + 100.0 * uneven) * size)


@pytest.mark.parametrize("seed", range(5))
def test_a_ball_thrown_in_any_direction_slides_straight(seed):
    """In a run: friction of a bounce acts along slip, in whatever direction that is."""
    rng = np.random.default_rng(seed)
    velocity, spin = rng.normal(size=3), rng.normal(size=3)
    scene = carom.Scene()
    material = carom.Material(friction=0.1, restitution=0.6)
    scene.add(carom.Body(carom.HalfSpace((0, 0, 1)), fixed=True, material=material))
    scene.add(
        carom.Body(
            carom.Sphere(0.1), mass=1.0, position=(0, 0, 0.5), velocity=velocity, angular_velocity=spin,
            material=material,
        )
    )  # fmt: skip
    trajectory = carom.Simulator(scene, StrongeCoulomb()).run(1.0)
    checked = 0
    for event in trajectory.events:
        if event.outcome is None or np.abs(event.problem.u[1:]).max() < 1e-9:
            continue
        u, p = event.problem.u, event.outcome.impulse
        assert abs(p[1] * u[2] - p[2] * u[1]) <= 1e-13 * np.hypot(u[1], u[2]) * p[0]
        assert p[1] * u[1] + p[2] * u[2] <= 0.0
        checked += 1
    assert checked
