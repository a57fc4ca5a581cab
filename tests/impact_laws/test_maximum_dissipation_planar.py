"""One planar contact of maximum dissipation: against its few candidates, a dense search, and space."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, seed, settings
from hypothesis import strategies as st

from carom import ImpactProblem, MaximumDissipation

_SPEC = importlib.util.spec_from_file_location(
    "dissipation_reference", Path(__file__).with_name("dissipation_reference.py")
)
reference = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(reference)
objective = reference.objective

TRIALS = 2000


def random_contact(rng, grazing):
    """W (2, 2), u (2,) and friction, often beyond the critical one."""
    J = rng.normal(size=(2, 3)) * 10.0 ** rng.uniform(-1.0, 1.0, size=(2, 1))
    W = J @ np.diag(10.0 ** rng.uniform(-1.0, 1.0, 3)) @ J.T
    return W, np.array([0.0 if grazing else -abs(rng.normal()), rng.normal()]), 10.0 ** rng.uniform(-1.5, 1.5)


def allowed(W, u, mu, x, slack=1e-12):
    """Of impulses x (..., 2): within the cone, no approach left, zero normal velocity where one presses."""
    after = x @ W[0] + u[0]
    size = np.abs(x) @ np.abs(W[0]) + abs(u[0])
    still = np.where(x[..., 0] > 0.0, np.abs(after), -after) <= slack * size
    return still & (np.abs(x[..., 1]) <= mu * x[..., 0] * (1.0 + slack))


def best_candidate(W, u, mu):
    """Of rest, sticking and both ways of sliding, which are all that a parabola on a line can have, the best."""
    found = [np.zeros(2), np.linalg.solve(W, -u)]
    with np.errstate(divide="ignore", invalid="ignore"):
        found += [
            -u[0] / (W[0, 0] + sign * mu * W[0, 1]) * np.array([1.0, sign * mu]) for sign in (1.0, -1.0)
        ]
    found = [x for x in found if np.isfinite(x).all() and allowed(W, u, mu, x)]
    return min(found, key=lambda x: objective(W, -u, x))


@pytest.mark.parametrize("grazing", [True, False])
def test_the_minimum_is_found(grazing):
    rng = np.random.default_rng(0)
    jams = 0
    for _ in range(TRIALS):
        W, u, mu = random_contact(rng, grazing)
        outcome = MaximumDissipation().resolve(ImpactProblem(W, u, friction=mu, dim=2))
        expected = best_candidate(W, u, mu)
        size = np.abs(u).max() / np.diag(W).min()
        assert outcome.resolved
        np.testing.assert_allclose(outcome.impulse, expected, rtol=1e-9, atol=1e-9 * size)
        t = expected[1] + np.linspace(-2.0, 2.0, 4001) * (np.abs(expected).max() + 0.1 * size)
        line = np.column_stack([-(u[0] + W[0, 1] * t) / W[0, 0], t])
        line = line[allowed(W, u, mu, line, 0.0) | (line[:, 1] == 0.0) & (line[:, 0] >= 0.0)]
        if len(line):
            lowest = objective(W, -u, line).min()
            least = objective(W, -u, outcome.impulse)
            assert least <= lowest + 1e-12 * abs(lowest)
        jams += grazing and bool(np.any(outcome.impulse))
    assert not grazing or jams > TRIALS // 20


def test_the_contact_that_a_minimum_was_missed_at():
    problem = ImpactProblem([[1.8767, 0.9463], [0.9463, 1.8225]], [0.0, 1.3283], friction=8.2, dim=2)
    np.testing.assert_allclose(MaximumDissipation().resolve(problem).impulse, [0.4978, -0.9873], atol=1e-4)


@settings(deadline=None, max_examples=200)
@seed(0)
@given(st.integers(0, 2**32 - 1), st.booleans(), st.sampled_from(["maximum-dissipation", "coulomb"]))
def test_a_plane_in_space_is_no_other(number, grazing, rule):
    rng = np.random.default_rng(number)
    W, u, mu = random_contact(rng, grazing)
    law = MaximumDissipation(friction_rule=rule)
    start = np.array([1.0, rng.choice([0.0, 0.5 * mu, -mu, mu])]) if rng.integers(2) else None
    flat = law.resolve(ImpactProblem(W, u, friction=mu, dim=2), start=start)
    space = np.zeros((3, 3))
    space[:2, :2], space[2, 2] = W, W[1, 1]
    start = None if start is None else np.append(start, 0.0)
    solid = law.resolve(ImpactProblem(space, np.append(u, 0.0), friction=mu), start=start)
    size = np.abs(u).max() / np.diag(W).min()
    assert flat.resolved
    assert solid.resolved
    np.testing.assert_allclose(solid.impulse[:2], flat.impulse, rtol=1e-9, atol=1e-9 * size)
