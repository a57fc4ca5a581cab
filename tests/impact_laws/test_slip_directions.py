"""Invariant directions of slip, the queries beside them, and the curve of slip."""

import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from carom.impact_laws import (
    AnitescuPotra,
    ImpactProblem,
    StrongeCoulomb,
    invariant_directions,
    paper_sequence,
    slip_curve,
    solution_condition,
    stick_possible,
    sticking_friction,
)

COUNT = 10_000


def problem_of(B, d, mu, u=(-1.0, 0.3, 0.2), e=0.5):
    """A problem with that tangential block and coupling, and enough normal mobility for any d."""
    B, d = np.asarray(B, dtype=float), np.asarray(d, dtype=float)
    W = np.zeros((3, 3))
    W[1:, 1:] = B
    W[0, 1:] = W[1:, 0] = d
    W[0, 0] = 1.0 + float(d @ np.linalg.pinv(B) @ d)
    return ImpactProblem(W, u, mu, e)


@pytest.fixture(scope="module")
def random_contacts():
    """B (n, 2, 2) positive definite, d (n, 2) and mu (n,), with strong and weak anisotropy and coupling."""
    rng = np.random.default_rng(5)
    angle = rng.uniform(0.0, np.pi, COUNT)
    axes = np.stack([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]).transpose(2, 0, 1)
    values = 10.0 ** rng.uniform(-2.0, 1.0, (COUNT, 2))
    B = np.einsum("nij,nj,nkj->nik", axes, values, axes)
    d = rng.normal(size=(COUNT, 2)) * 10.0 ** rng.uniform(-2.0, 1.0, (COUNT, 1))
    return 0.5 * (B + B.transpose(0, 2, 1)), d, rng.uniform(0.02, 3.0, COUNT)


class SlowReference:
    """Zeros of h(θ) = t · (-mu B s + d) over many problems: extrema by a dense scan of the circle and
    bisection, then one bisection between neighbouring extrema, where h is monotone."""

    def __init__(self, B, d, mu):
        self.B, self.d, self.mu = B, d, mu
        grid = np.linspace(-np.pi, np.pi, 721)
        rows = np.arange(len(mu))
        slopes = self.h(rows[:, None], grid[None, :], derivative=True) < 0.0
        row, column = np.nonzero(slopes[:, 1:] != slopes[:, :-1])
        extrema = self.bisect(row, grid[column], grid[column + 1], derivative=True)
        following = np.roll(extrema, -1)
        last = np.append(row[1:] != row[:-1], True)
        first = np.searchsorted(row, row[last])
        following[last] = extrema[first] + 2.0 * np.pi
        self.least = np.full(len(mu), np.inf)  # |h| at the extremum closest to zero
        np.minimum.at(self.least, row, np.abs(self.h(row, extrema)))
        crossing = (self.h(row, extrema) < 0.0) != (self.h(row, following) < 0.0)
        self.row = row[crossing]
        self.angle = self.bisect(self.row, extrema[crossing], following[crossing])

    def h(self, row, angle, derivative=False):
        c, s = np.cos(angle), np.sin(angle)
        b11, b12, b22 = self.B[row, 0, 0], self.B[row, 0, 1], self.B[row, 1, 1]
        if derivative:
            slope = (b22 - b11) * (c * c - s * s) - 4.0 * b12 * s * c
            return -self.mu[row] * slope - self.d[row, 0] * c - self.d[row, 1] * s
        across = (b22 - b11) * s * c + b12 * (c * c - s * s)
        return -self.mu[row] * across - self.d[row, 0] * s + self.d[row, 1] * c

    def bisect(self, row, low, high, derivative=False):
        low, high = low.copy(), high.copy()
        negative = self.h(row, low, derivative) < 0.0
        for _ in range(60):
            middle = 0.5 * (low + high)
            same = (self.h(row, middle, derivative) < 0.0) == negative
            low, high = np.where(same, middle, low), np.where(same, high, middle)
        return 0.5 * (low + high)


def test_theorem_5_and_every_direction_against_a_slow_reference(random_contacts):
    B, d, mu = random_contacts
    reference = SlowReference(B, d, mu)
    size = mu * np.trace(B, axis1=1, axis2=2) + np.linalg.norm(d, axis=1)
    clear = reference.least > 1e-9 * size  # otherwise the count is a matter of rounding
    assert clear.mean() > 0.999
    needed = np.linalg.norm(np.linalg.solve(B, d[:, :, None])[:, :, 0], axis=1)
    counts = np.zeros(5, dtype=int)
    for i in np.flatnonzero(clear):
        problem = problem_of(B[i], d[i], mu[i])
        found = invariant_directions(problem)
        assert not found.all
        counts[len(found)] += 1
        angles = np.array([each.angle for each in found])
        expected = np.sort((reference.angle[reference.row == i] + np.pi) % (2.0 * np.pi) - np.pi)
        assert len(angles) == len(expected)
        assert np.abs(np.sin(0.5 * (angles - expected))).max() < 1e-5
        for each in found:
            s = each.direction
            residual = d[i] - mu[i] * B[i] @ s - each.rate * s
            assert np.abs(residual).max() <= 1e-14 * size[i]
            assert math.hypot(*s) == pytest.approx(1.0, abs=1e-15)
            assert (each.rate > 0.0) if each.centrifugal else (each.rate <= 0.0)
            assert each.turning == ("towards" if reference.h(i, each.angle, derivative=True) < 0 else "away")
        if abs(needed[i] - mu[i]) > 1e-9 * mu[i]:
            assert stick_possible(problem) == (needed[i] <= mu[i])
            outward = sum(each.centrifugal for each in found)
            assert outward == (0 if needed[i] <= mu[i] else 1)
            assert len(found) - outward >= 1
            assert (found.centrifugal is None) == (outward == 0)
        assert sticking_friction(problem) == pytest.approx(needed[i], rel=1e-9)
    assert counts[2] > 1000
    assert counts[4] > 1000
    assert counts[:2].sum() == counts[3] == 0


def test_isotropic_contact_without_coupling_keeps_every_direction():
    found = invariant_directions(problem_of(2.0 * np.eye(2), (0.0, 0.0), 0.4))
    assert found.all
    assert len(found) == 0
    assert found.common_rate == pytest.approx(-0.8)
    assert found.centrifugal is None


def test_isotropic_contact_with_coupling_has_two_along_it():
    towards, away = invariant_directions(problem_of(2.0 * np.eye(2), (0.0, 3.0), 0.4))[::-1]
    assert towards.direction == pytest.approx([0.0, 1.0])
    assert (towards.rate, towards.turning, towards.centrifugal) == (pytest.approx(2.2), "towards", True)
    assert (away.rate, away.turning, away.centrifugal) == (pytest.approx(-3.8), "away", False)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("share", [-0.99, -0.3, 0.0, 0.6, 0.999, 1.2])
def test_coupling_along_a_principal_axis_follows_theorem_8(axis, share):
    """Parts (ii) and (iii): ± the axis, and two more where |p| < |λ1 - λ2|; p = -d/mu."""
    mu, first, second = 0.7, 5.0, 2.0
    d = np.zeros(2)
    d[axis] = share * mu * (first - second)
    found = invariant_directions(problem_of(np.diag([first, second]), d, mu))
    expected = [np.eye(2)[axis], -np.eye(2)[axis]]
    if abs(share) < 1.0:
        along = -d[axis] / mu / (first - second) * (-1.0 if axis == 0 else 1.0)
        for sign in (1.0, -1.0):
            s = np.full(2, sign * math.sqrt(1.0 - along**2))
            s[axis] = along
            expected.append(s)
    assert len(found) == len(expected)
    for s in expected:
        assert min(np.abs(each.direction - s).max() for each in found) < 1e-15


def test_two_directions_that_meet_are_one_double():
    """On the astroid (p1/k)^(2/3) + (p2/k)^(2/3) = 1, away from its cusps."""
    mu, k, slope = 0.5, 0.5 * 3.0, 0.4
    d = k * np.array([math.cos(slope) ** 3, math.sin(slope) ** 3])
    turnings = sorted(each.turning for each in invariant_directions(problem_of(np.diag([4.0, 1.0]), d, mu)))
    assert turnings == ["away", "one side", "towards"]
    for factor, count in ((1.0 - 1e-9, 4), (1.0 + 1e-9, 2)):
        assert len(invariant_directions(problem_of(np.diag([4.0, 1.0]), factor * d, mu))) == count


@pytest.mark.parametrize("axis", [0, 1])
def test_three_directions_that_meet_at_a_cusp_are_one(axis):
    mu = 0.5
    d = np.zeros(2)
    d[axis] = mu * 3.0
    found = invariant_directions(problem_of(np.diag([4.0, 1.0]), d, mu))
    assert sorted(each.turning for each in found) == ["away", "towards"]


def test_weak_coupling_keeps_relative_accuracy():
    found = invariant_directions(problem_of(np.diag([4.0, 1.0]), (1e-9, 2e-9), 1.0))
    assert len(found) == 4
    smallest = sorted(abs(math.sin(each.angle)) for each in found)[:2]
    assert smallest == pytest.approx([2e-9 / 3.0] * 2, rel=1e-8)


def test_without_friction_slip_turns_to_the_coupling():
    found = invariant_directions(problem_of([[3.0, 1.0], [1.0, 2.0]], (0.0, 2.0), 0.0))
    assert [each.angle for each in found] == pytest.approx([-0.5 * math.pi, 0.5 * math.pi])
    assert [each.rate for each in found] == pytest.approx([-2.0, 2.0])
    assert found.centrifugal is found[1]
    assert invariant_directions(problem_of(np.eye(2), (0.0, 0.0), 0.0)).all


def test_singular_block_has_two_directions_that_neither_grow_nor_shrink():
    n = np.array([0.6, 0.8])
    problem = problem_of(2.0 * np.outer(n, n), 0.5 * n, 0.8)
    found = invariant_directions(problem)
    assert sticking_friction(problem) == pytest.approx(0.25)
    assert stick_possible(problem)
    assert len(found) == 4
    assert sorted(each.rate for each in found)[2:] == pytest.approx([0.0, 0.0], abs=1e-15)
    assert found.centrifugal is None
    slides = problem_of(2.0 * np.outer(n, n), 0.5 * n, 0.2)
    assert not stick_possible(slides)
    assert invariant_directions(slides).centrifugal.direction == pytest.approx(n)


def test_planar_contact_has_two():
    problem = ImpactProblem([[2.0, 0.7], [0.7, 1.0]], [-1.0, 0.5], 0.4, 0.5, dim=2)
    forward, backward = invariant_directions(problem)
    assert (forward.direction.tolist(), forward.angle) == ([1.0], 0.0)
    assert (backward.direction.tolist(), backward.angle) == ([-1.0], math.pi)
    assert (forward.rate, forward.centrifugal) == (pytest.approx(0.3), True)
    assert (backward.rate, backward.centrifugal) == (pytest.approx(-1.1), False)
    assert forward.turning == backward.turning == "fixed"
    assert sticking_friction(problem) == pytest.approx(0.7)
    assert solution_condition(problem) == (pytest.approx(1.72), True)


def test_directions_do_not_depend_on_units():
    B, d = np.array([[11.6, -0.91], [-0.91, 9.9]]), np.array([2.44, 1.96])
    plain = invariant_directions(problem_of(B, d, 0.4))
    for scale in (1e-12, 1e9):
        W = scale * problem_of(B, d, 0.4).W
        scaled = invariant_directions(ImpactProblem(W, (-1.0, 0.3, 0.2), 0.4))
        assert [each.angle for each in scaled] == pytest.approx([each.angle for each in plain], rel=1e-14)
        assert [each.rate / scale for each in scaled] == pytest.approx([each.rate for each in plain])


def test_immovable_contact_keeps_every_direction():
    problem = ImpactProblem(np.zeros((3, 3)), (-1.0, 0.3, 0.2), 0.4)
    assert invariant_directions(problem).all
    assert stick_possible(problem)
    assert solution_condition(problem) == (0.0, False)


def test_solution_condition_is_the_papers():
    problem = problem_of(np.diag([4.0, 1.0]), (0.6, 0.8), 0.5)
    value, holds = solution_condition(problem)
    assert value == pytest.approx(problem.W[0, 0] - 0.5)
    assert holds


@pytest.mark.parametrize(
    "query", [invariant_directions, stick_possible, solution_condition, sticking_friction]
)
def test_several_contacts_are_refused(query):
    with pytest.raises(ValueError, match="problem must have one contact, got 2"):
        query(ImpactProblem(np.eye(6), -np.ones(6), 0.3))


# -- the curve of slip ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(12))
def test_slip_curve_agrees_with_the_law_and_with_an_integration(seed):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(3, 4))
    W, u, mu = A @ A.T, rng.normal(size=3), rng.uniform(0.1, 0.6)
    u[0] = -abs(u[0])
    problem = ImpactProblem(W, u, mu, 0.7)
    outcome = StrongeCoulomb().resolve(problem)
    curve = slip_curve(problem, outcome)
    slip, impulse = curve.at(outcome.path.impulse[:, 0])
    assert np.abs(slip - outcome.path.velocity[:, 1:]).max() < 1e-12
    assert np.abs(impulse - outcome.path.impulse).max() < 1e-13 * np.abs(outcome.impulse).max() + 1e-14

    def slip_rate(_, g):
        return W[1:, 0] - mu * W[1:, 1:] @ g / math.hypot(*g)

    last = 0.98 * min(curve.stop, curve.end)
    moments = np.linspace(0.0, last, 30)
    solved = solve_ivp(slip_rate, (0.0, last), u[1:], "DOP853", moments, rtol=1e-12, atol=1e-14).y.T
    slip, impulse = curve.at(moments)
    assert np.abs(slip - solved).max() < 1e-9
    assert np.abs(u + impulse @ W - np.column_stack([u[0] + impulse @ W[:, 0], slip])).max() < 1e-12
    with pytest.raises(ValueError, match="normal_impulse must lie within"):
        curve.at(1.01 * curve.end)


@pytest.mark.parametrize("mu", [0.0, 0.1, 0.9])
@pytest.mark.parametrize("slip", [(0.0,), (0.4,)])
def test_slip_curve_of_planar_and_frictionless_contacts(mu, slip):
    for dim in (2, 3):
        W = np.array([[2.0, 0.5, 0.1], [0.5, 1.0, 0.2], [0.1, 0.2, 3.0]])[:dim, :dim]
        problem = ImpactProblem(W, [-1.0, *slip, 0.0][:dim], mu, 0.5, dim=dim)
        outcome = StrongeCoulomb().resolve(problem)
        got, impulse = slip_curve(problem, outcome).at(outcome.path.impulse[:, 0])
        assert got.shape == (len(outcome.path), dim - 1)
        assert np.abs(got - outcome.path.velocity[:, 1:]).max() < 1e-14
        assert np.abs(impulse - outcome.path.impulse).max() < 1e-15


# -- the paper's names of sequences --------------------------------------------------------------------------


def test_paper_sequence_without_tolerances_is_the_exact_one():
    rng = np.random.default_rng(8)
    for _ in range(100):
        A = rng.normal(size=(3, 3))
        u = rng.normal(size=3)
        u[0] = -abs(u[0])
        problem = ImpactProblem(A @ A.T, u, rng.uniform(0.0, 1.0), 0.8)
        outcome = StrongeCoulomb().resolve(problem)
        assert paper_sequence(problem, outcome, 0.0, 0.0) == outcome.info["sequence"]
        named = paper_sequence(problem, outcome)
        assert len(set(named)) == len(named)
        if outcome.resolved:
            assert named.endswith("r")
            assert "l" not in named or "s" not in named or named.index("l") < named.index("s")


def test_slip_that_starts_on_an_invariant_direction_is_straight_at_once():
    B, d = np.array([[11.6, -0.91], [-0.91, 9.9]]), np.array([2.44, 1.96])
    for each in invariant_directions(problem_of(B, d, 0.25)):
        problem = problem_of(B, d, 0.25, u=(-1.0, *(0.3 * each.direction)))
        outcome = StrongeCoulomb().resolve(problem)
        assert paper_sequence(problem, outcome, 0.0, 0.0) == "l" + outcome.info["sequence"]


def test_tolerances_outside_their_range_are_refused():
    problem = problem_of(np.eye(2), (0.1, 0.2), 0.3)
    outcome = StrongeCoulomb().resolve(problem)
    for tolerances in ((-0.1, 0.0), (0.1, 1.0), (math.nan, 0.0)):
        with pytest.raises(ValueError, match=r"tolerance must lie within \[0, 1\)"):
            paper_sequence(problem, outcome, *tolerances)


def test_outcomes_of_other_laws_are_refused():
    problem = problem_of(np.eye(2), (0.1, 0.2), 0.3)
    with pytest.raises(ValueError, match="outcome must be one of StrongeCoulomb"):
        paper_sequence(problem, AnitescuPotra().resolve(problem))
