"""The distributing law of Liu, Zhao & Brogliato: against Stronge, stiff springs in time, limits and invariances."""

import doctest
import importlib.util
from pathlib import Path

import numba
import numpy as np
import pytest

import carom
from carom import ImpactProblem, ImpactStatus, LiuZhaoBrogliato, SequentialReflection, StrongeCoulomb
from carom.impact_laws import law_by_name

LAW = LiuZhaoBrogliato()

_path = Path(__file__).with_name("compliant_reference.py")
_spec = importlib.util.spec_from_file_location("compliant_reference", _path)
reference = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(reference)
CompliantImpact = reference.CompliantImpact


def several(rng, contacts, dim, friction=None, restitution=None):
    """Bodies of random inertia that touch at some points and approach at most of them, with a motion that parts
    all."""
    freedoms = dim * contacts + 2
    J, parting = rng.normal(size=(dim * contacts, freedoms)), rng.normal(size=freedoms)
    J[::dim][J[::dim] @ parting < 0.0] *= -1.0
    return ImpactProblem.from_generalized(
        np.diag(rng.uniform(0.5, 2.0, size=freedoms)),
        J,
        rng.normal(size=freedoms) - 1.5 * parting,
        friction=rng.choice([0.1, 0.5, 1.0], size=contacts) if friction is None else friction,
        restitution=rng.choice([0.0, 0.4, 0.8, 1.0], size=contacts) if restitution is None else restitution,
        dim=dim,
    )


# -- one contact, and springs in time ----------------------------------------------------------------------


@pytest.mark.parametrize("dim", [2, 3])
@pytest.mark.parametrize(
    "law", [LAW, LiuZhaoBrogliato(exponent=1.0), LiuZhaoBrogliato(exponent=2.2, compliance="mono-stiffness")]
)
def test_one_contact_is_stronges(dim, law):
    """200 contacts of random bodies, slipping or at rest before; whatever the exponent and compliance."""
    rng = np.random.default_rng(dim)
    sequences = set()
    for k in range(200):
        J = rng.normal(size=(dim, 6))
        W = (J * rng.uniform(0.3, 3.0, size=6)) @ J.T
        u = rng.normal(size=dim) * (1.0 if k % 10 else np.eye(dim)[0])
        u[0] = -abs(u[0])
        problem = ImpactProblem(
            W,
            u,
            friction=rng.choice([0.0, 0.1, 0.3, 0.6, 1.5]),
            restitution=rng.choice([0.0, 0.3, 0.7, 1.0]),
            dim=dim,
        )
        expected = StrongeCoulomb().resolve(problem)
        if expected.status is ImpactStatus.RENEWED_COMPRESSION:
            continue  # it may compress again here
        found = law.resolve(problem)
        assert expected.resolved
        assert found.resolved
        size = np.linalg.norm(expected.impulse)
        np.testing.assert_allclose(found.impulse, expected.impulse, rtol=0.0, atol=1e-10 * size)
        assert found.info["compression_work"][0] == pytest.approx(expected.info["compression_work"], rel=1e-9)
        sequences.add("".join(letter for _, letter in found.info["sequence"]))
    assert {"cr", "csr", "scr"} <= sequences


@pytest.mark.parametrize(
    ("balls", "exponent", "expected"),
    [
        (3, 1.5, (-0.0710, 0.0764, 0.9945)),
        (3, 1.0, (-0.1303, 0.1502, 0.9800)),
        (5, 1.5, (-0.0711, -0.0303, -0.0145, 0.1270, 0.9888)),
        (5, 1.0, (-0.1323, -0.0753, -0.0310, 0.2962, 0.9424)),
    ],
)
def test_newtons_cradle(row_of_balls, balls, exponent, expected):
    """Equal beads (Herrmann & Seitz 1982 and later have -0.071, 0.076, 0.995 for three of Hertz), and springs in
    time."""
    problem = row_of_balls(np.ones(balls), np.eye(balls)[0])
    outcome = LiuZhaoBrogliato(exponent=exponent).resolve(problem)
    velocity = problem.generalized_velocity(outcome)
    np.testing.assert_allclose(velocity, expected, atol=6e-5)
    springs = CompliantImpact(problem, 1.0, exponent)
    np.testing.assert_allclose(outcome.velocity, springs.velocity, rtol=0.0, atol=1e-10)
    assert velocity.sum() == pytest.approx(1.0, abs=1e-14)
    assert velocity @ velocity == pytest.approx(1.0, abs=1e-13)


def test_rows_of_unequal_balls_are_those_of_springs_in_time(row_of_balls):
    """Masses and stiffnesses apart by up to a hundred, energetic restitution, and contacts that compress again."""
    rng = np.random.default_rng(3)
    letters = set()
    for k in range(16):
        count = int(rng.integers(3, 6))
        stiffness = 10.0 ** rng.uniform(-1, 1, size=count - 1)
        exponent = float(rng.choice([1.0, 1.5, 2.0]))
        restitution = 1.0 if k % 4 == 0 else rng.choice([1.0, 0.9, 0.6, 0.3], size=count - 1)
        problem = row_of_balls(10.0 ** rng.uniform(-1, 1, size=count), rng.normal(size=count), restitution)
        outcome = LiuZhaoBrogliato(stiffness, exponent).resolve(problem)
        assert outcome.resolved
        springs = CompliantImpact(problem, stiffness, exponent)
        np.testing.assert_allclose(outcome.velocity, springs.velocity, rtol=0.0, atol=1e-9)
        letters |= {letter for _, letter in outcome.info["sequence"]}
    assert letters >= {"c", "r", "a", "p"}


@pytest.mark.parametrize("dim", [2, 3])
def test_contacts_that_slide_are_springs_in_time(dim):
    """Friction that turns slip, at several contacts at once, as long as none stops."""
    rng = np.random.default_rng(7)
    tried = 0
    while tried < 6:
        problem = several(rng, int(rng.integers(2, 4)), dim, friction=0.1, restitution=rng.choice([1.0, 0.7]))
        stiffness = 10.0 ** rng.uniform(-1, 1, size=problem.contact_count)
        outcome = LiuZhaoBrogliato(stiffness).resolve(problem)
        assert outcome.resolved
        if {letter for _, letter in outcome.info["sequence"]} & {"s", "l"}:
            continue
        tried += 1
        springs = CompliantImpact(problem, stiffness, 1.5)
        size = np.abs(outcome.impulse).max()
        np.testing.assert_allclose(outcome.impulse, springs.impulse, rtol=0.0, atol=1e-9 * size)


@numba.njit
def springs_with_stick(W, u, mu, stiffness, dim, step):
    """Elastic springs (η = 1) in small steps, friction of each step implicit: the velocity after the impact, to
    the order of the step."""
    n = mu.size
    v, x, force = u.copy(), np.zeros(n), np.zeros(u.size)
    slow = 0.5 / np.trace(W)
    for _ in range(int(60.0 / step)):
        pressed = False
        for i in range(n):
            x[i] = max(x[i] - step * v[dim * i], 0.0)
            force[dim * i] = step * stiffness[i] * x[i]
            pressed = pressed or x[i] > 0.0 or v[dim * i] < 0.0
        if not pressed:
            break
        for _ in range(400):
            after = v + W @ force
            change = 0.0
            for i in range(n):
                old = force[dim * i + 1 : dim * i + dim].copy()
                new = old - slow * after[dim * i + 1 : dim * i + dim]
                length, bound = np.sqrt((new * new).sum()), mu[i] * force[dim * i]
                if length > bound:
                    new *= bound / length
                force[dim * i + 1 : dim * i + dim] = new
                change = max(change, np.abs(new - old).max())
            if change < 1e-12:
                break
        v = v + W @ force
    return v


@pytest.mark.parametrize("dim", [2, 3])
def test_contacts_that_stick_and_start_to_slip_are_springs_in_small_steps(dim):
    """Steps h and h/2 of an implicit scheme, extrapolated; slip stops, sticks and starts at two contacts."""
    rng = np.random.default_rng(11)
    letters = []
    tried = 0
    while tried < 6:
        problem = several(rng, 2, dim, friction=rng.choice([0.3, 0.7, 1.2], size=2), restitution=1.0)
        stiffness = np.array([1.0, 10.0 ** rng.uniform(-0.5, 0.0)])
        outcome = LiuZhaoBrogliato(stiffness, exponent=1.0).resolve(problem)
        assert outcome.resolved
        found = [letter for _, letter in outcome.info["sequence"]]
        if "s" not in found or "p" in found:
            continue
        tried += 1
        letters += found
        problems = (np.array(problem.W), np.array(problem.u), np.array(problem.friction), stiffness, dim)
        coarse, fine = springs_with_stick(*problems, 1e-3), springs_with_stick(*problems, 5e-4)
        np.testing.assert_allclose(
            outcome.velocity, 2.0 * fine - coarse, rtol=0.0, atol=2e-3 * np.abs(problem.u).max()
        )
    assert "l" in letters


# -- energy, limits, sets ----------------------------------------------------------------------------------


@pytest.mark.parametrize("compliance", ["bi-stiffness", "mono-stiffness"])
@pytest.mark.parametrize("dim", [2, 3])
def test_energy_that_is_lost_is_that_of_restitution_and_friction(compliance, dim):
    """Without friction ΔE = -Σ (1 - e²) W_compression for the bi-stiffness; never more than nothing for any."""
    rng = np.random.default_rng(dim)
    law = LiuZhaoBrogliato(compliance=compliance)
    for k in range(40):
        problem = several(rng, int(rng.integers(2, 5)), dim, friction=0.0 if k % 2 else None)
        outcome = law.resolve(problem)
        assert outcome.resolved
        work = np.array(outcome.info["compression_work"])
        lost = ((1.0 - problem.restitution**2) * work).sum()
        size = np.abs(outcome.impulse)
        rounding = 1e-13 * size @ (np.abs(problem.u) + np.abs(problem.W) @ size)
        assert outcome.energy_change <= rounding
        if problem.friction.any():
            assert outcome.energy_change <= -lost + rounding or compliance == "mono-stiffness"
        elif compliance == "bi-stiffness":
            assert outcome.energy_change == pytest.approx(-lost, abs=rounding)


def test_slip_that_stops_with_friction_just_below_its_bound_is_held():
    """One of a million: slip stops while friction is within 1e-8 of its bound and falls. It was let go,
    backwards."""
    W = [
        [5.045660605, 1.604912308, -1.8994372476, 0.3825077671],
        [1.604912308, 5.4483129205, -0.0450235333, 2.2018731668],
        [-1.8994372476, -0.0450235333, 4.2124559201, -3.2493209244],
        [0.3825077671, 2.2018731668, -3.2493209244, 12.6374192126],
    ]
    u = np.array([1.7684194648, -1.2209378565, -9.38661449, 4.1220250284])
    law = LiuZhaoBrogliato(exponent=1.0)
    for change in np.linspace(-3e-7, 3e-7, 61):  # through the coincidence
        outcome = law.resolve(ImpactProblem(W, u, [1.0 + change, 0.5], 1.0, 2))
        assert outcome.resolved, change
        assert outcome.energy_change <= 0.0


def test_extreme_ratios_are_sequences(row_of_balls):
    """A stiff first contact is done before the second begins: balls one after the other. A soft one: both as one
    body."""
    problem = row_of_balls((1.0, 2.0, 0.7), (1.0, 0.0, 0.0))
    expected = problem.generalized_velocity(SequentialReflection().resolve(problem))
    last = np.inf
    for decades in (1, 3, 5):
        outcome = LiuZhaoBrogliato((1.0, 10.0**-decades)).resolve(problem)
        off = np.abs(problem.generalized_velocity(outcome) - expected).max()
        assert off < 0.3 * last
        last = off
    assert last < 1e-6
    outcome = LiuZhaoBrogliato((1e-10, 1.0)).resolve(row_of_balls((1.0, 1.0, 1.0), (1.0, 0.0, 0.0)))
    np.testing.assert_allclose(outcome.velocity[::2], [1.0, 0.0], atol=1e-6)


def block(friction=1.0, restitution=0.6):
    """A block of width 1 and height 2 that comes down flat on two corners, turning a little."""
    J = [[0.0, 1.0, -0.5], [1.0, 0.0, 1.0], [0.0, 1.0, 0.5], [1.0, 0.0, 1.0]]
    return ImpactProblem.from_generalized(
        np.diag([1.0, 1.0, 5.0 / 12.0]),
        J,
        [0.0, -1.0, 0.0],
        friction=friction,
        restitution=restitution,
        dim=2,
    )


@pytest.mark.parametrize("friction", [0.0, 1.0])
def test_a_block_on_two_corners_goes_from_one_sequence_over_the_simultaneous_impact_to_the_other(friction):
    problem = block(friction)
    turn = [
        problem.generalized_velocity(LiuZhaoBrogliato((10.0**power, 1.0)).resolve(problem))[2]
        for power in (-8, -2, -0.5, 0, 0.5, 2, 8)
    ]
    assert turn[3] == pytest.approx(0.0, abs=1e-13)
    np.testing.assert_allclose(turn, -np.array(turn[::-1]), atol=1e-12)
    outcomes = LAW.outcomes(problem)
    turns = np.array([problem.generalized_velocity(p)[2] for p in outcomes.impulse])
    by_ratio = np.argsort([np.log(first / second) for first, second in outcomes.labels])
    assert outcomes.resolved.all()
    assert np.abs(np.diff(turns[by_ratio])).max() < 0.04  # no gap along the ratios
    left_first = StrongeCoulomb(order=(0, 1)).resolve(problem)
    right_first = StrongeCoulomb(order=(1, 0)).resolve(problem)
    for sequence, found in ((left_first, turn[-1]), (right_first, turn[0])):
        assert problem.generalized_velocity(sequence)[2] == pytest.approx(found, abs=2e-4)


def test_outcomes_of_three_contacts_lie_close_together():
    rng = np.random.default_rng(5)
    problem = several(rng, 3, 2, friction=0.3, restitution=0.8)
    outcomes = LAW.outcomes(problem, decades=2.0, resolution=0.05, most=1500)
    sample = LAW.sample(problem, 200, seed=1, decades=2.0)
    assert outcomes.resolved.all()
    assert sample.resolved.all()
    assert len(outcomes) <= 1500
    nearest = np.abs(sample.velocity[:, None] - outcomes.velocity).max(axis=2).min(axis=1)
    assert nearest.max() < 0.06 * np.abs(problem.u).max()


def test_sets_repeat_and_are_made_of_outcomes(row_of_balls):
    problem = row_of_balls((1.0, 2.0, 1.0, 0.5, 1.0), (1.0, 0.0, 0.0, 0.0, -0.5), 0.9)
    outcomes = LAW.outcomes(problem, most=30, seed=4)  # four contacts: random ratios
    again = LAW.sample(problem, 30, seed=4)
    assert np.array_equal(outcomes.velocity, again.velocity)
    for ratios, impulse in list(zip(outcomes.labels, outcomes.impulse, strict=True))[:5]:
        assert np.array_equal(LiuZhaoBrogliato(ratios).resolve(problem).impulse, impulse)
    alone = ImpactProblem(np.eye(3), [-1.0, 0.5, 0.0], 0.3, 0.5)
    assert len(LAW.outcomes(alone)) == 1
    threads = numba.get_num_threads()
    try:
        numba.set_num_threads(1)
        assert np.array_equal(LAW.sample(problem, 30, seed=4).impulse, again.impulse)
    finally:
        numba.set_num_threads(threads)


# -- invariances -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dim", [2, 3])
def test_units_numbering_and_mirrors_change_nothing(dim):
    rng = np.random.default_rng(dim)
    for _ in range(15):
        problem = several(rng, int(rng.integers(2, 5)), dim)
        count = problem.contact_count
        stiffness = 10.0 ** rng.uniform(-1, 1, size=count)
        outcome = LiuZhaoBrogliato(stiffness).resolve(problem)
        assert outcome.resolved

        def law_at(W, u, order=range(count), K=stiffness, problem=problem):
            mu, e = problem.friction[list(order)], problem.restitution[list(order)]
            return LiuZhaoBrogliato(K).resolve(ImpactProblem(W, u, mu, e, dim))

        # powers of two, odd ones too, to the bit
        scaled = law_at(2.0**-7 * problem.W, 2.0**4 * problem.u, K=8.0 * stiffness)
        assert np.array_equal(scaled.velocity, 2.0**4 * outcome.velocity)
        assert np.array_equal(scaled.impulse, 2.0**11 * outcome.impulse)
        tolerance = 1e-9 * np.abs(problem.u).max()
        order = rng.permutation(count)
        rows = (dim * order[:, None] + np.arange(dim)).ravel()
        other = law_at(problem.W[np.ix_(rows, rows)], problem.u[rows], order, stiffness[order])
        np.testing.assert_allclose(other.velocity, outcome.velocity[rows], rtol=0.0, atol=tolerance)
        mirror = np.ones(dim * count)
        mirror[1::dim] = -1.0
        other = law_at(mirror[:, None] * problem.W * mirror, mirror * problem.u)
        np.testing.assert_allclose(other.velocity, mirror * outcome.velocity, rtol=0.0, atol=tolerance)
        if dim == 3:  # other tangents
            angle = rng.uniform(0, 6)
            turn = np.eye(3)
            turn[1:, 1:] = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
            frame = np.kron(np.eye(count), turn)
            other = law_at(frame @ problem.W @ frame.T, frame @ problem.u)
            np.testing.assert_allclose(other.velocity, frame @ outcome.velocity, rtol=0.0, atol=tolerance)


def test_a_contact_given_twice_shares_its_force():
    """Two springs in one place are one that is twice as stiff."""
    rng = np.random.default_rng(9)
    for _ in range(20):
        problem = several(rng, 2, 3, friction=0.4, restitution=0.7)
        rows = [0, 1, 2, 3, 4, 5, 3, 4, 5]
        twice = ImpactProblem(problem.W[np.ix_(rows, rows)], problem.u[rows], 0.4, 0.7)
        expected = LiuZhaoBrogliato((1.0, 2.0)).resolve(problem)
        outcome = LiuZhaoBrogliato((1.0, 1.0, 1.0)).resolve(twice)
        assert expected.resolved
        assert outcome.resolved
        np.testing.assert_allclose(
            outcome.velocity[:6], expected.velocity, rtol=0.0, atol=1e-8 * np.abs(problem.u).max()
        )


def test_a_batch_is_its_impacts():
    rng = np.random.default_rng(2)
    problems = [several(rng, 2, 3) for _ in range(50)]
    law = LiuZhaoBrogliato((1.0, 0.3))
    arrays = [
        np.array([getattr(p, name) for p in problems]) for name in ("W", "u", "friction", "restitution")
    ]
    batch = law.resolve_many(*arrays)
    assert len(batch) == 50
    for k, problem in enumerate(problems):
        outcome = law.resolve(problem)
        assert np.array_equal(batch.impulse[k], outcome.impulse)
        assert batch.status[k] is outcome.status
        assert batch.steps[k] == outcome.info["steps"]
    np.testing.assert_allclose(batch.velocity, [law.resolve(p).velocity for p in problems], atol=1e-13)


# -- rules, words, refusals --------------------------------------------------------------------------------


def test_wedged_contacts_stay_pressed():
    """Between two walls that lean towards each other by less than the angle of friction nothing comes back."""
    lean = 0.2
    J = []
    for side in (-1.0, 1.0):
        J += [[side * np.cos(lean), np.sin(lean)], [-side * np.sin(lean), np.cos(lean)]]
    problem = ImpactProblem.from_generalized(np.eye(2), J, [0.0, -1.0], friction=1.0, restitution=1.0, dim=2)
    outcome = LAW.resolve(problem)
    assert outcome.resolved
    assert outcome.info["wedged"]
    assert outcome.path.labels[-1] == "contacts are wedged"
    np.testing.assert_allclose(outcome.velocity, 0.0, atol=1e-11)
    assert not LAW.resolve(block()).info["wedged"]


def test_ratios_are_rules():
    W = [[2.0, 0.0, -1.0, 0.0], [0.0, 2.0, 0.0, -1.0], [-1.0, 0.0, 2.0, 0.0], [0.0, -1.0, 0.0, 2.0]]
    names = [("left", "middle"), ("middle", "right")]
    problem = ImpactProblem(W, [-1.0, 0.0, 0.0, 0.0], 0.0, 1.0, 2, contact_names=names)
    expected = LiuZhaoBrogliato((2.0, 0.5)).resolve(problem)
    for ratios in (
        [4.0, 1.0],
        np.array([4.0, 1.0]),
        {("left", "middle"): 4.0},
        {"right": 0.5, "middle": 2.0},
        [(("right",), 0.25)],
        lambda problem: [4.0, 1.0],
    ):
        law = LiuZhaoBrogliato(ratios)
        assert np.array_equal(law.resolve(problem).impulse, expected.impulse)
        if not callable(ratios):
            assert law == law_by_name(law.name, stiffness_ratios=law.stiffness_ratios)
            assert hash(law)
    misfit = LiuZhaoBrogliato((1.0, 2.0, 3.0)).resolve(problem)
    assert misfit.status is ImpactStatus.RATIO_MISFIT
    assert "each of 2 contacts, got 3" in misfit.message
    nameless = ImpactProblem(problem.W, problem.u, dim=2)
    assert LiuZhaoBrogliato({"left": 2.0}).resolve(nameless).status is ImpactStatus.RATIO_MISFIT


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"stiffness_ratios": (1.0, 0.0)}, ValueError, "stiffness_ratios must be above 0 and finite, got 0"),
        ({"stiffness_ratios": "equal"}, TypeError, "stiffness_ratios must be None, numbers"),
        ({"stiffness_ratios": 2.0}, TypeError, "stiffness_ratios must be None, numbers"),
        ({"stiffness_ratios": [("a", "b", "c")]}, TypeError, "stiffness_ratios must hold numbers only"),
        ({"exponent": 0.5}, ValueError, "exponent must be at least 1"),
        ({"exponent": "hertz"}, TypeError, "exponent must be a number"),
        (
            {"compliance": "soft"},
            ValueError,
            "compliance must be one of bi-stiffness, mono-stiffness, got 'soft'",
        ),
        ({"max_steps": 0}, ValueError, "max_steps must be at least 1"),
    ],
)
def test_wrong_parameters_are_refused(arguments, error, words):
    with pytest.raises(error, match=words):
        LiuZhaoBrogliato(**arguments)


def test_wrong_batches_and_sets_are_refused():
    with pytest.raises(ValueError, match=r"u must have shape \(n, 3\*nc\)"):
        LAW.resolve_many(np.eye(4)[None], np.zeros((1, 4)))
    with pytest.raises(ValueError, match=r"W must have shape \(1, 6, 6\)"):
        LAW.resolve_many(np.eye(4)[None], np.zeros((1, 6)))
    with pytest.raises(ValueError, match="stiffness_ratios must be above 0"):
        LAW.resolve_many(np.eye(6)[None], np.zeros((1, 6)), stiffness_ratios=0.0)
    with pytest.raises(ValueError, match="decades must lie within"):
        LAW.sample(block(), 3, decades=-1.0)
    with pytest.raises(ValueError, match="resolution must be above 0"):
        LAW.outcomes(block(), resolution=0.0)
    few = LiuZhaoBrogliato(max_steps=3).resolve(block())
    assert few.status is ImpactStatus.NOT_TERMINATED
    assert few.message


def test_a_cradle_in_a_run():
    scene = carom.Scene(gravity=(0, 0, 0))
    steel = carom.Material(friction=0.3, restitution=1.0)
    for k, speed in enumerate((1.0, 0.0, 0.0)):
        scene.add(
            carom.Body(
                carom.Sphere(0.1),
                mass=1.0,
                position=(0.2 * k - 0.05 * (k == 0), 0, 0),
                velocity=(speed, 0, 0),
                material=steel,
            )
        )
    trajectory = carom.Simulator(scene, LAW).run(0.2)
    np.testing.assert_allclose(
        trajectory.sample(0.2).velocity[:, 0], [-0.07095235, 0.07640304, 0.99454931], atol=1e-7
    )


def test_example_of_the_docstring():
    module = importlib.import_module("carom.impact_laws.liu_zhao_brogliato")
    assert doctest.testmod(module, extraglobs={"carom": carom}) == (0, 2)
