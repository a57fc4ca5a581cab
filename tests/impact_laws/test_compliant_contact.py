"""A contact between two springs: against exact motion, its limits, and the contract of a law."""

import doctest
import importlib

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import carom


def random_impacts(count, seed=0):
    """W, u, friction and restitution of single contacts that approach."""
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(count, 3, 3))
    u = rng.normal(size=(count, 3))
    u[:, 0] = -np.abs(u[:, 0])
    W = A @ A.transpose(0, 2, 1) + 0.1 * np.eye(3)
    return W, u, rng.uniform(size=count), rng.uniform(size=count)


def exact_without_slip(W, u, restitution, stiffness):
    """Impulse of an impact that never slips, by the equations of motion of its springs."""
    share = restitution**2
    springs = np.diag([1.0, stiffness, stiffness])

    def moves(_, state, normal, rest):
        force = -springs @ state[3:6]
        force[0] = normal * (-state[3] - rest)
        return [*(W @ force), *state[:3], *force]

    def turned(_, state, *rest):
        return state[0]

    def parted(_, state, normal, rest):
        return -state[3] - rest

    turned.terminal = parted.terminal = True
    turned.direction, parted.direction = 1, -1
    options = {"rtol": 1e-11, "atol": 1e-13, "method": "DOP853"}
    pressed = solve_ivp(moves, (0, 100), [*u, 0, 0, 0, 0, 0, 0], events=turned, args=(1.0, 0.0), **options)
    deepest = -pressed.y[3, -1]
    back = (1.0 / share, (1.0 - share) * deepest)
    left = solve_ivp(moves, (0, 100), pressed.y[:, -1], events=parted, args=back, **options)
    return left.y[6:, -1]


@pytest.mark.parametrize("seed", range(6))
def test_an_impact_without_slip_is_that_of_its_equations(seed):
    W, u, _, e = random_impacts(1, seed)
    W, e = W + 8.0 * np.eye(3), 0.3 + 0.6 * e  # so coupled that nothing is compressed again
    law = carom.CompliantContact(1.7)
    (impulse,), (resolved,) = law.resolve_many(W, u, 1e6, e)
    assert resolved
    exact = exact_without_slip(W[0], u[0], e[0], 1.7)
    np.testing.assert_allclose(impulse, exact, atol=3e-4 * np.abs(exact).max())


def test_a_central_impact_has_newtons_restitution():
    for e in (0.0, 0.05, 0.4, 1.0):
        problem = carom.ImpactProblem(np.diag([2.0, 3.0, 3.0]), (-1.5, 0.0, 0.0), 0.3, e)
        assert carom.CompliantContact().resolve(problem).velocity[0] == pytest.approx(1.5 * e, abs=1.5e-3)


def test_a_sphere_that_grips_elastically_swings_a_known_part_of_its_period():
    # Normal and tangential springs do not couple: the tangential one swings for π/√W_nn.
    W, u, ratio = np.diag([1.0, 3.5, 3.5]), np.array([-1.0, 0.2, 0.0]), 0.8
    impulse, _ = carom.CompliantContact(ratio).resolve_many(W[None], u[None], 50.0, 1.0)
    swing = np.pi * np.sqrt(ratio * 3.5)
    assert (u + W @ impulse[0])[1] == pytest.approx(0.2 * np.cos(swing), abs=3e-3)


def test_with_stiffness_it_becomes_stronges():
    W, u, mu, e = random_impacts(300)
    exact = carom.StrongeCoulomb().resolve_many(W, u, mu, e)
    good = exact.resolved
    size = np.abs(exact.impulse[good]).max(axis=1)
    off = []
    for ratio in (1.0, 30.0, 1000.0):
        impulse, _ = carom.CompliantContact(ratio).resolve_many(W, u, mu, e)
        off.append(np.median(np.abs(impulse[good] - exact.impulse[good]).max(axis=1) / size))
    assert off[2] < 1e-4 < 1e-3 < off[0]
    assert off[1] < 0.2 * off[0]


@pytest.mark.parametrize("ratio", [0.3, 1.0, 6.0])
def test_the_contract_of_a_law(ratio):
    W, u, mu, e = random_impacts(2000)
    impulse, resolved = carom.CompliantContact(ratio).resolve_many(W, u, mu, e)
    assert resolved.mean() > 0.99
    after = u + np.einsum("nij,nj->ni", W, impulse)
    gained = 0.5 * np.einsum("ni,ni->n", impulse, u + after)
    assert gained.max() < 1e-12
    assert after[resolved, 0].min() > -1e-12
    assert (np.hypot(impulse[:, 1], impulse[:, 2]) <= mu * impulse[:, 0] * (1 + 1e-12)).all()


def test_one_problem_at_a_time_gives_the_same_and_planar_ones_too():
    W, u, mu, e = random_impacts(5)
    law = carom.CompliantContact(2.0)
    impulse, _ = law.resolve_many(W, u, mu, e)
    for k in range(5):
        outcome = law.resolve(carom.ImpactProblem(W[k], u[k], mu[k], e[k]))
        np.testing.assert_array_equal(outcome.impulse, impulse[k])
    flat = np.array([[1.2, 0.3, 0.0], [0.3, 2.0, 0.0], [0.0, 0.0, 1.0]])
    spatial, _ = law.resolve_many(flat[None], [[-1.0, 0.5, 0.0]], 0.4, 0.6)
    planar = law.resolve(carom.ImpactProblem(flat[:2, :2], (-1.0, 0.5), 0.4, 0.6, dim=2))
    np.testing.assert_array_equal(planar.impulse, spatial[0, :2])


def test_what_it_cannot_do_it_refuses():
    two = carom.ImpactProblem(np.eye(6), -np.ones(6))
    outcome = carom.CompliantContact().resolve(two)
    assert outcome.status is carom.ImpactStatus.NO_SOLUTION
    assert "one contact, not 2" in outcome.message
    with pytest.raises(
        ValueError, match="tangential_stiffness must be a finite number greater than 0, got 0"
    ):
        carom.CompliantContact(0.0)
    with pytest.raises(ValueError, match=r"restitution must lie within \[0, 1\]"):
        carom.CompliantContact().resolve_many(np.eye(3)[None], [[-1.0, 0, 0]], 0.1, 1.5)


def test_the_example_is_right():
    module = importlib.import_module("carom.impact_laws.compliant_contact")
    assert doctest.testmod(module, extraglobs={"carom": carom, "np": np}) == (0, 3)
