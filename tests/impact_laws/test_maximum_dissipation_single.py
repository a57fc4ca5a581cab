"""One contact of maximum dissipation: published numbers, the paper's quartic, a dense search, a convex solver."""

import importlib.util
from pathlib import Path

import numba
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import minimize

from carom.impact_laws import ImpactProblem, ImpactStatus, MaximumDissipation
from carom.impact_laws import dissipation_kernels as kernels
from carom.impact_laws.coulomb_solutions import coulomb_solutions

_SPEC = importlib.util.spec_from_file_location(
    "dissipation_reference", Path(__file__).with_name("dissipation_reference.py")
)
reference = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(reference)


def _dissipate(A, b, mu):
    x = np.empty(3)
    return kernels.dissipate(np.ascontiguousarray(A), np.asarray(b, dtype=float), float(mu), x), x


def _excess(A, b, x, best):
    """Objective above that of `best`, relative."""
    lowest = reference.objective(A, b, best)
    scale = max(abs(lowest), np.finfo(float).tiny)
    return float((reference.objective(A, b, x) - lowest) / scale)


def _assert_admissible(A, b, mu, branch, x):
    assert np.isfinite(x).all()
    assert x[0] >= 0.0
    assert np.hypot(x[1], x[2]) <= mu * x[0] * (1.0 + 4e-16)
    if branch != kernels.SEPARATING:
        # an approach that is rounding beside the slip counts as grazing
        grazing = 2e-15 * np.abs(b).max() if branch in (kernels.REST, kernels.RAY) else 0.0
        assert abs(A[0] @ x - b[0]) <= 1e-13 * (np.abs(A[0]) @ np.abs(x) + abs(b[0])) + grazing


def _random_contact(rng, kind):
    """Two bodies' worth of mobility, of every branch and scale."""
    factor = rng.normal(size=(3, 3))
    if kind == "badly_scaled":
        turn = np.linalg.qr(factor)[0]
        factor = turn * 10.0 ** (np.array([0.0, rng.uniform(-4, 0), -4.0]))
    if kind == "coupled":
        factor *= 10.0 ** rng.uniform(-1, 1, size=(3, 1))
    A = factor @ factor.T
    A = 0.5 * (A + A.T)
    b = rng.normal(size=3)
    mu = 10.0 ** rng.uniform(-2, 1.5)
    if kind == "hyperbola":
        mu = A[0, 0] / np.hypot(A[0, 1], A[0, 2]) * rng.uniform(1.0, 5.0)
    if kind == "parabola":
        mu = A[0, 0] / np.hypot(A[0, 1], A[0, 2])
    if kind == "frictionless":
        mu = 0.0
    if kind != "separating":
        b[0] = abs(b[0])
    if kind == "grazing":
        b[0], mu = 0.0, mu * 10.0
    if kind == "nearly_grazing":
        b[0] *= 10.0 ** rng.uniform(-6, -1)
    return A, b, mu


KINDS = [
    "regular",
    "badly_scaled",
    "coupled",
    "hyperbola",
    "parabola",
    "grazing",
    "nearly_grazing",
    "frictionless",
    "separating",
]


@pytest.mark.parametrize("kind", KINDS)
def test_never_worse_than_quartic_and_search(kind):
    rng = np.random.default_rng(KINDS.index(kind))
    branches = set()
    for _ in range(60):
        A, b, mu = _random_contact(rng, kind)
        branch, x = _dissipate(A, b, mu)
        branches.add(branch)
        _assert_admissible(A, b, mu, branch, x)
        # rounding of the two constraints moves the objective by the multipliers, which grow with the condition
        allowed = 1e-12 * max(1.0, np.linalg.cond(A) / 1e7)
        for solve in (reference.solve_by_quartic, reference.solve_by_search):
            assert _excess(A, b, x, solve(A, b, mu)) <= allowed
        if kind == "regular":
            best = reference.solve_by_quartic(A, b, mu)
            assert np.abs(x - best).max() <= 1e-13 * np.linalg.cond(A) * np.abs(best).max()
    expected = {
        "regular": {kernels.ELLIPSE, kernels.STICKING},
        "hyperbola": {kernels.HYPERBOLA},
        "parabola": {kernels.PARABOLA},
        "grazing": {kernels.REST, kernels.RAY, kernels.STICKING},
        "frictionless": {kernels.FRICTIONLESS},
        "separating": {kernels.SEPARATING},
    }.get(kind, set())
    assert expected <= branches


def _convex(A, b, mu):
    """SLSQP's minimum over the cone cut by the plane of zero normal velocity, then put exactly on both."""
    unit = np.abs(b).max() / A[0, 0]
    a, r = A / A[0, 0], b / np.abs(b).max()
    g = np.hypot(a[0, 1], a[0, 2])
    start = np.array([r[0] / (1.0 + mu * g), 0.0, 0.0])
    if g > 0.0:
        start[1:] = 0.9 * mu * start[0] * a[0, 1:] / g  # within the cone, close to the plane
    result = minimize(
        lambda y: 0.5 * y @ a @ y - y @ r,
        start,
        jac=lambda y: a @ y - r,
        method="SLSQP",
        constraints=[
            {"type": "eq", "fun": lambda y: a[0] @ y - r[0], "jac": lambda y: a[0]},
            {
                "type": "ineq",
                "fun": lambda y: mu * y[0] - np.sqrt(y[1] ** 2 + y[2] ** 2 + 1e-30),
                "jac": lambda y: np.array([mu, *(-y[1:] / np.sqrt(y[1] ** 2 + y[2] ** 2 + 1e-30))]),
            },
        ],
        options={"ftol": 1e-16, "maxiter": 1000},
    )
    x = unit * result.x
    edge = reference.boundary(A, b, mu, np.arctan2(x[2], x[1])[None])
    return reference.best_of(A, b, [edge, reference.sticking(A, b, mu), reference.vertex(A, b, mu)])


def test_independent_convex_solver():
    """For colliding contacts the problem is convex: a cone cut by a plane."""
    rng = np.random.default_rng(10)
    close = 0
    kinds = ("regular", "hyperbola", "parabola", "coupled", "nearly_grazing") * 60
    for kind in kinds:
        A, b, mu = _random_contact(rng, kind)
        _, x = _dissipate(A, b, mu)
        best = _convex(A, b, mu)
        allowed = 1e-12 * max(1.0, np.linalg.cond(A) / 1e7)
        assert _excess(A, b, x, best) <= allowed
        close += abs(_excess(A, b, best, x)) <= allowed
    assert close >= 0.9 * len(kinds), close


def _six_masses(unit_tangents):
    """Section 4.1 of the paper: six point masses on rods, one of them on an inclined plane."""
    dx, mx, my, mz = 10.0, 0.03, 65.0, 50.0
    normal = np.array([0.25, 0.36, -0.9]) / np.linalg.norm([0.25, 0.36, -0.9])
    tangent = np.cross(normal, [1.0, 0.0, 0.0])
    if unit_tangents:
        tangent /= np.linalg.norm(tangent)
    Q = np.column_stack([normal, tangent, np.cross(normal, tangent)])
    inertia = 2.0 * np.array([my + mz, mx * dx**2 + mz, mx * dx**2 + my])
    cross = np.array([[0.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])
    mobility = np.eye(3) / (2.0 * (mx + my + mz)) - dx**2 * cross @ np.diag(1.0 / inertia) @ cross
    return Q.T @ mobility @ Q, Q.T @ [0.06, 0.7, 0.23], 3.7


def test_table_1_of_the_paper():
    """Its numbers follow with t = n x e_x and o = n x t as printed, without making them unit vectors."""
    A, b, mu = _six_masses(unit_tangents=False)
    branch, x = _dissipate(A, b, mu)
    assert branch == kernels.ELLIPSE
    np.testing.assert_allclose(x, [1.60310, -1.08186, -5.83196], atol=5e-6)
    np.testing.assert_allclose(A @ x - b, [0.0, -0.057, 0.034], atol=5e-4)
    assert float(reference.objective(A, b, x)) == pytest.approx(-0.634007, abs=5e-7)
    solutions = coulomb_solutions(ImpactProblem(A, -b, friction=mu))
    assert [kind for kind, _ in solutions.labels] == ["sliding"] * 3
    objectives = [objective for _, objective in solutions.labels]
    np.testing.assert_allclose(objectives, [-0.251703, -0.392568, -0.630960], atol=5e-7)
    printed = [[0.12, -0.44, -0.065], [0.29, -0.89, -0.62], [1.56, -0.99, -5.7]]
    slips = [[0, 0.40, 0.060], [0, 0.082, 0.057], [0, 0.0061, 0.035]]
    np.testing.assert_allclose(solutions.impulse, printed, rtol=1e-2)
    np.testing.assert_allclose(solutions.velocity, slips, rtol=1e-2, atol=1e-15)


def test_table_1_with_unit_tangents():
    A, b, mu = _six_masses(unit_tangents=True)
    _, x = _dissipate(A, b, mu)
    np.testing.assert_allclose(x, [2.77829, -1.05090, -10.22580], atol=5e-6)
    assert float(reference.objective(A, b, x)) == pytest.approx(-0.748317, abs=5e-7)
    assert len(coulomb_solutions(ImpactProblem(A, -b, friction=mu))) == 3


@pytest.mark.parametrize("theta", [0.2, 0.7, 0.5 * np.arccos(-0.6), 1.3, 1.5])
def test_painleve_rod(theta):
    """Section 4.2: an impulse without collision at or above the critical friction, exactly none below."""
    mass, speed = 2.0, 3.0
    s, c = np.sin(theta), np.cos(theta)
    A = np.array([[1 + 3 * c * c, -3 * s * c, 0], [-3 * s * c, 1 + 3 * s * s, 0], [0, 0, 4]]) / mass
    b = np.array([0.0, speed, 0.0])
    critical = (c + 1.0 / (3.0 * c)) / s
    assert critical >= 4.0 / 3.0 - 1e-15
    stop = mass * speed / 8.0 * np.array([3 * np.sin(2 * theta), 5 + 3 * np.cos(2 * theta), 0.0])
    for factor in (1.0, 1.0 + 1e-12, 1.001, 2.0):
        branch, x = _dissipate(A, b, critical * factor)
        assert branch in (kernels.STICKING, kernels.RAY)
        np.testing.assert_allclose(x, stop, rtol=1e-13, atol=1e-13)
    for factor in (0.0, 0.5, 0.999, 1.0 - 1e-12):
        branch, x = _dissipate(A, b, critical * factor)
        assert branch == kernels.REST
        assert x.tolist() == [0.0, 0.0, 0.0]
    solutions = coulomb_solutions(ImpactProblem(A, -b, friction=1.5 * critical))
    assert [kind for kind, _ in solutions.labels] == ["separating", "sticking"]
    np.testing.assert_allclose(solutions.impulse, [[0, 0, 0], stop], rtol=1e-13, atol=1e-13)


def test_both_rays_are_looked_at_when_grazing():
    """Equation (9) of the paper picks the wrong ray in several of these."""
    rng = np.random.default_rng(7)
    wrong = rays = 0
    for _ in range(3000):
        A, b, mu = _random_contact(rng, "grazing")
        branch, x = _dissipate(A, b, mu)
        assert _excess(A, b, x, reference.rays(A, b, mu)) <= 1e-12
        if branch == kernels.RAY:
            rays += 1
            at_rest = np.linalg.solve(A, b)
            middle = np.arctan2(A[0, 2], A[0, 1])
            half = np.arccos(-A[0, 0] / (mu * np.hypot(A[0, 1], A[0, 2])))
            left = A[0, 2] * at_rest[1] - A[0, 1] * at_rest[2] >= 0.0
            angle = middle - half if left else middle + half
            edge = np.array([1.0 / mu, np.cos(angle), np.sin(angle)])
            other = max(0.0, edge @ b / (edge @ A @ edge)) * edge
            wrong += _excess(A, b, other, x) > 1e-9
    assert rays > 300
    assert wrong > 0


@pytest.mark.parametrize("rank", [1, 2])
def test_singular_mobility_takes_the_least_norm(rank):
    rng = np.random.default_rng(rank)
    stopped = 0
    for _ in range(300):
        factor = rng.normal(size=(3, rank))
        A = factor @ factor.T
        b = A @ rng.normal(size=3)
        b *= np.sign(b[0])
        mu = 10.0 ** rng.uniform(-1, 1)
        branch, x = _dissipate(A, b, mu)
        _assert_admissible(A, b, mu, branch, x)
        if branch == kernels.STICKING:
            least = np.linalg.lstsq(A, b, rcond=1e-10)[0]
            np.testing.assert_allclose(A @ x, b, atol=1e-11 * np.abs(b).max())
            if np.hypot(least[1], least[2]) < mu * least[0]:
                stopped += 1
                np.testing.assert_allclose(x, least, atol=1e-10 * np.abs(least).max())
            else:
                assert np.linalg.norm(x) >= np.linalg.norm(least) * (1.0 - 1e-10)
        else:
            points = reference.boundary(A, b, mu, np.linspace(-np.pi, np.pi, 4001))
            near = points[np.linalg.norm(points, axis=1) < 1e3 * np.linalg.norm(x)]
            lowest = reference.objective(A, b, near).min()
            assert float(reference.objective(A, b, x) - lowest) <= 1e-12 * float(abs(lowest))
    assert stopped > 20


FINITE = st.floats(-4.0, 4.0, allow_subnormal=False)
SPEEDS = FINITE.filter(lambda speed: speed == 0.0 or abs(speed) > 1e-100)  # the squares of less are lost


@settings(derandomize=True, max_examples=400, deadline=None)
@given(
    arrays(np.float64, (3, 3), elements=FINITE),
    arrays(np.float64, 3, elements=SPEEDS),
    st.sampled_from([0.0, 1e-3, 0.3, 1.0, 1000.0]) | st.floats(0.0, 1000.0, allow_subnormal=False),
    st.integers(-100, 100),
)
@example(
    np.array([[1.0, 1.2e-151, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 0.0]]), np.array([0.0, 1.0, 0.0]), 0.0, 0
)
def test_any_contact_is_admissible_dissipates_and_scales(factor, motion, mu, power):
    A = factor @ factor.T
    if A[0, 0] < 1e-6:
        return
    b = A @ motion
    branch, x = _dissipate(A, b, mu)
    _assert_admissible(A, b, mu, branch, x)
    scale = np.abs(x) @ np.abs(b) + np.abs(x) @ np.abs(A) @ np.abs(x)
    assert float(reference.objective(A, b, x)) <= 1e-14 * scale
    again = _dissipate(A, b * 2.0**power, mu)
    assert again[0] == branch
    np.testing.assert_array_equal(again[1], x * 2.0**power)


@pytest.mark.parametrize("size", [1e-300, 1e-160, 1e-30, 1.0, 1e100])
def test_extreme_sizes_of_velocity(size):
    rng = np.random.default_rng(0)
    for kind in KINDS * 20:
        A, b, mu = _random_contact(rng, kind)
        branch, x = _dissipate(A, b * size, mu)
        unit_branch, unit_x = _dissipate(A, b, mu)
        assert branch == unit_branch
        np.testing.assert_allclose(x / size, unit_x, rtol=1e-6, atol=1e-6 * np.abs(unit_x).max())
    assert _dissipate(np.eye(3), np.zeros(3), 0.5)[1].tolist() == [0.0, 0.0, 0.0]


def test_kept_frame_and_guess_give_the_same():
    rng = np.random.default_rng(4)
    for kind in KINDS * 40:
        A, b, mu = _random_contact(rng, kind)
        branch, x = _dissipate(A, b, mu)
        frame = kernels.dissipation_frame(A, mu)
        y = np.empty(3)
        assert kernels.dissipate_in_frame(frame, b, y) == branch
        assert abs(_excess(A, b, y, x)) <= 1e-10
        for guess in (x[1:] * 1.01, rng.normal(size=2)):
            assert kernels.dissipate_from(frame, b, y, guess[0], guess[1], 1e-9) == branch
            assert abs(_excess(A, b, y, x)) <= 1e-10


def test_coulomb_slide_finds_one_of_the_solutions():
    rng = np.random.default_rng(5)
    several = 0
    for _ in range(1000):
        A, b, mu = _random_contact(rng, rng.choice(["regular", "coupled", "hyperbola", "nearly_grazing"]))
        solutions = coulomb_solutions(ImpactProblem(A, -b, friction=mu))
        x = np.empty(3)
        found = kernels.coulomb_slide(A, b, mu, x, 0.0, 0.0)
        assert found == (len(solutions) > 0)
        distances = np.abs(solutions.impulse - x).max(axis=1)
        assert distances.min() <= 1e-7 * np.abs(x).max()
        several += len(solutions) > 1
        for impulse, velocity, (kind, _) in zip(
            solutions.impulse, solutions.velocity, solutions.labels, strict=True
        ):
            assert abs(velocity[0]) <= 1e-12 * (np.abs(A[0]) @ np.abs(impulse))
            if kind == "sliding":
                slip, push = velocity[1:], impulse[1:]
                cosine = slip @ push / (np.linalg.norm(slip) * np.linalg.norm(push))
                assert cosine == pytest.approx(-1.0, abs=1e-6)
            again = np.empty(3)
            assert kernels.coulomb_slide(A, b, mu, again, impulse[1], impulse[2])
    assert several > 10


def test_coulomb_solutions_refuse_what_they_cannot_list():
    with pytest.raises(ValueError, match="one spatial contact"):
        coulomb_solutions(ImpactProblem(np.eye(6), -np.ones(6)))
    with pytest.raises(ValueError, match="one spatial contact"):
        coulomb_solutions(ImpactProblem(np.eye(2), -np.ones(2), dim=2))
    with pytest.raises(ValueError, match="W_nn > 0"):
        coulomb_solutions(ImpactProblem(np.diag([0.0, 1.0, 1.0]), -np.ones(3)))
    alone = coulomb_solutions(ImpactProblem(np.eye(3), np.ones(3), friction=0.5))
    assert alone.labels == (("separating", 0.0),)


@numba.njit(error_model="numpy")
def _solve_all(A, b, mu, x, branch):
    for i in range(len(mu)):
        branch[i] = kernels.dissipate(A[i], b[i], mu[i], x[i])


@pytest.mark.long
def test_two_hundred_thousand_contacts():
    """Conditions up to 1e8, friction 0.01 to 30: never above the quartic beyond rounding."""
    rng = np.random.default_rng(200)
    count = 200_000
    turn = np.linalg.qr(rng.normal(size=(count, 3, 3)))[0]
    factor = turn * 10.0 ** rng.uniform(-4, 0, size=(count, 1, 3))
    A = factor @ factor.transpose(0, 2, 1)
    b = rng.normal(size=(count, 3)) * 10.0 ** rng.uniform(-3, 0, size=(count, 3))
    b[:, 0] = np.abs(b[:, 0])
    mu = 10.0 ** rng.uniform(-2, 1.5, size=count)
    x, branch = np.empty((count, 3)), np.empty(count, dtype=np.int64)
    _solve_all(A, b, mu, x, branch)
    assert np.isfinite(x).all()
    assert (np.hypot(x[:, 1], x[:, 2]) <= mu * x[:, 0] * (1.0 + 4e-16)).all()
    normal = np.abs(np.einsum("nj,nj->n", A[:, 0], x) - b[:, 0])
    assert (normal <= 1e-13 * (np.einsum("nj,nj->n", np.abs(A[:, 0]), np.abs(x)) + b[:, 0])).all()
    condition = np.linalg.cond(A)
    excess = np.empty(count)
    for i in range(count):
        excess[i] = _excess(A[i], b[i], x[i], reference.solve_by_quartic(A[i], b[i], mu[i]))
    assert excess[condition < 1e7].max() <= 1e-12
    assert excess.max() <= 1e-11


def test_a_problem_that_newtons_method_cannot_solve_is_given_up():
    """Of badly scaled ones, sweeps and steps of Newton's method went on for a minute and more."""
    half = np.array([[0.7, 0.5, -0.3], [-0.7, -0.1, 1.3], [0.3, 0.6, -0.2]])
    scale = 10.0 ** np.array([-65.0, 64.0, 28.0])
    W = half @ half.T * scale[:, None] * scale
    problem = ImpactProblem(W, [-2.9999999999999997e58, -5e66, -3e-65], friction=1.0, restitution=0.0, dim=3)
    outcome = MaximumDissipation(friction_rule="coulomb").resolve(problem)
    assert outcome.status is ImpactStatus.INACCURATE
    assert outcome.info["newton_steps"] <= 10_100
