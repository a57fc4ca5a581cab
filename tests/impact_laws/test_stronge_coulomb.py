"""One contact with Coulomb friction and energetic restitution, against independent solutions; then several."""

import importlib.util
import json
from pathlib import Path

import numba
import numpy as np
import pytest

from carom.impact_laws import ImpactProblem, ImpactStatus, StrongeCoulomb

HERE = Path(__file__).parent
LAW = StrongeCoulomb()
CASES = json.loads((HERE / "stronge_cases.json").read_text())

_spec = importlib.util.spec_from_file_location("stronge_reference", HERE / "stronge_reference.py")
reference = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(reference)


def numbers(case):
    """W, u, friction, restitution of a stored case."""
    W = np.array([[float.fromhex(x) for x in row] for row in case["W"]])
    u = np.array([float.fromhex(x) for x in case["u"]])
    return W, u, float.fromhex(case["friction"]), float.fromhex(case["restitution"])


def random_impacts(count, seed):
    """W (n, 3, 3), u (n, 3), friction and restitution (n,) of two bodies; some graze, some barely slip."""
    rng = np.random.default_rng(seed)
    W, u = (np.array(x) for x in zip(*(reference.random_two_body(rng) for _ in range(count)), strict=True))
    kind = rng.integers(5, size=count)
    u[kind == 1, 0] *= 10.0 ** rng.uniform(-8, 0, size=(kind == 1).sum())
    u[kind == 2, 1:] *= 10.0 ** rng.uniform(-12, 0, size=((kind == 2).sum(), 1))
    u[kind == 3, 1:] *= rng.integers(2, size=((kind == 3).sum(), 1))
    friction = rng.uniform(0, 1.5, size=count) * (rng.random(count) > 0.1)
    restitution = np.clip(rng.uniform(-0.1, 1.1, size=count), 0, 1)
    return W, u, friction, restitution


def small_steps(W, u, mu, e, steps=40000):
    """The slow, obvious version: the midpoint rule with equal steps in the normal impulse.

    Returns impulse, compression work, and the friction dissipation, with an error of about 10/steps.
    """
    W, (vz, x, y) = W.tolist(), u.tolist()
    (wn, d1, d2), (_, b11, b12), (_, _, b22) = W
    step = -4 * vz / wn / steps
    stick = np.linalg.solve([[b11, b12], [b12, b22]], [-d1, -d2])
    sticks = stick @ stick <= mu * mu

    def friction(x, y):
        """dI_t/dI_z, and whether it is that of slip."""
        slip = (x * x + y * y) ** 0.5
        return (-mu * x / slip, -mu * y / slip) if slip > 0.0 else (0.0, 0.0)

    def rates(x, y):
        f1, f2 = friction(x, y)
        return b11 * f1 + b12 * f2 + d1, b12 * f1 + b22 * f2 + d2, wn + d1 * f1 + d2 * f2, f1, f2

    I = [0.0, 0.0, 0.0]
    work = compression = dissipated = 0.0
    restoring = False
    while True:
        if sticks and (x * x + y * y) ** 0.5 <= 2 * step * (mu * (b11 + b22) + abs(d1) + abs(d2)):
            f1, f2 = stick
            x = y = after_x = after_y = 0.0
            after = vz + step * (wn + d1 * f1 + d2 * f2)
        else:
            g1, g2, _, _, _ = rates(x, y)
            middle = x + 0.5 * step * g1, y + 0.5 * step * g2
            g1, g2, g3, f1, f2 = rates(*middle)
            after_x, after_y, after = x + step * g1, y + step * g2, vz + step * g3
            dissipated += mu * step * (middle[0] ** 2 + middle[1] ** 2) ** 0.5
        made = -0.5 * step * (vz + after)
        part = 1.0
        if not restoring and after >= 0.0:
            restoring = True
            compression = work + made
            if e == 0.0:
                return np.array(I), compression, dissipated
        elif restoring and work + made <= (1 - e * e) * compression:
            part = (work - (1 - e * e) * compression) / -made
        I = [I[0] + part * step, I[1] + part * step * f1, I[2] + part * step * f2]
        if part < 1.0:
            return np.array(I), compression, dissipated
        work += made
        vz, x, y = after, after_x, after_y


class TestAgainstHighPrecision:
    """60 cases, solved to thirty digits by stronge_reference.py; within 3e-12 when they were stored."""

    def test_impulse_and_sequence(self):
        W, u, friction, restitution = (np.array(x) for x in zip(*map(numbers, CASES), strict=True))
        batch = LAW.resolve_many(W, u, friction, restitution)
        sequences = batch.sequence
        for k, case in enumerate(CASES):
            expected = np.array([float(x) for x in case["impulse"]])
            error = np.linalg.norm(batch.impulse[k] - expected) / np.linalg.norm(expected)
            assert error < 1e-9, (case["name"], error)
            if not case["name"].startswith("rounding decides"):
                assert sequences[k] == case["sequence"], case["name"]
        assert batch.resolved.all()

    @pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"].replace(" ", "-"))
    def test_work_and_sticking(self, case):
        W, u, friction, restitution = numbers(case)
        outcome = LAW.resolve(ImpactProblem(W, u, friction, restitution))
        assert outcome.resolved
        assert case["status"] == "resolved"
        work = float(case["compression_work"])
        assert outcome.info["compression_work"] == pytest.approx(work, rel=1e-10)
        if not case["name"].startswith("rounding decides"):
            assert outcome.info["sticks"] == case["sticks"]
        # where nothing slips, the energy lost is 1 - e² of that work, and friction never gives any
        lost = -outcome.energy_change - (1 - restitution**2) * work
        assert lost >= -1e-10 * work
        if friction == 0.0 or (case["sticks"] and not u[1:].any()):
            assert abs(lost) <= 1e-10 * work

    def test_the_stored_cases_are_what_the_script_makes(self):
        made = reference.make_cases.__defaults__
        assert made == (2016,)
        for case in CASES[::20]:
            again = reference.as_entry(case["name"], *numbers(case))
            assert again == case

    @pytest.mark.long
    def test_many_more(self):
        for W, u, mu, e in zip(*random_impacts(600, seed=77), strict=True):
            exact = reference.reference_impact(W, u, mu, e)
            expected = np.array([float(x) for x in exact.impulse])
            outcome = LAW.resolve(ImpactProblem(W, u, mu, e))
            assert np.linalg.norm(outcome.impulse - expected) <= 1e-9 * np.linalg.norm(expected)
            assert outcome.info["compression_work"] == pytest.approx(float(exact.compression_work), rel=1e-10)


def test_small_steps_agree():
    """The slow, obvious version, to its own accuracy, and with it the whole energy balance."""
    for k, (W, u, mu, e) in enumerate(zip(*random_impacts(14, seed=5), strict=True)):
        outcome = LAW.resolve(ImpactProblem(W, u, mu, e))
        impulse, work, dissipated = small_steps(W, u, mu, e)
        scale = np.linalg.norm(impulse)
        np.testing.assert_allclose(outcome.impulse, impulse, atol=1e-3 * scale, rtol=0, err_msg=str(k))
        assert outcome.info["compression_work"] == pytest.approx(work, rel=1e-3)
        lost = (1 - e * e) * work + dissipated
        assert -outcome.energy_change == pytest.approx(lost, rel=2e-3)


class TestProperties:
    """What every outcome owes, over a few thousand impacts of two bodies."""

    def _check(self, count, seed, unresolved=0):
        W, u, friction, restitution = random_impacts(count, seed)
        resolved = LAW.resolve_many(W, u, friction, restitution).resolved
        assert np.count_nonzero(~resolved) <= unresolved
        W, u, friction, restitution = W[resolved], u[resolved], friction[resolved], restitution[resolved]
        count = len(u)
        batch = LAW.resolve_many(W, u, friction, restitution)
        impulse, sequences = batch.impulse, batch.sequence
        scale = np.linalg.norm(impulse, axis=1)
        response = np.einsum("nij,nj->ni", W, impulse)
        # momentum, exactly; no approach; cone
        assert np.array_equal(batch.velocity, u + response)
        rounding = np.abs(u).max(axis=1) + np.abs(response).max(axis=1)
        assert np.all(batch.velocity[:, 0] >= -1e-14 * rounding)
        assert np.all(impulse[:, 0] > 0.0)
        tangential = np.linalg.norm(impulse[:, 1:], axis=1)
        assert np.all(tangential <= friction * impulse[:, 0] + 1e-15 * scale)
        # energy
        terms = np.einsum("ni,ni->n", np.abs(impulse), np.abs(u) + np.abs(response))
        change = np.einsum("ni,ni->n", impulse, u + 0.5 * response)
        assert np.all(change <= 1e-14 * terms)
        assert set(sequences) <= {"cr", "scr", "csr"}
        for k in range(0, count, 4):
            mu, e = friction[k], restitution[k]
            outcome = LAW.resolve(ImpactProblem(W[k], u[k], mu, e))
            path, work = outcome.path, outcome.info["compression_work"]
            assert outcome.resolved
            assert outcome.info["sequence"] == sequences[k]
            assert work > 0.0
            # energy lost is (1 - e²) of the compression work and what friction took, never less
            room = 1e-10 * work + 1e-14 * terms[k]
            assert -outcome.energy_change >= (1 - e * e) * work - room
            # at the end of compression, no normal velocity
            row = 1 + sequences[k].index("c")
            assert abs(path.velocity[row, 0]) <= 1e-12 * np.abs(path.velocity).max()
            # where slip has stopped there is none, and sticking keeps it so
            if "s" in sequences[k]:
                slip = np.abs(path.velocity[1 + sequences[k].index("s"), 1:]).max()
                assert slip <= 1e-12 * np.abs(path.velocity).max()
            if outcome.info["sticks"]:
                assert np.abs(path.velocity[-1, 1:]).max() <= 1e-12 * np.abs(path.velocity).max()
            # without slip from the end of compression on, e² of its work comes back, exactly
            if mu == 0.0 or (outcome.info["sticks"] and sequences[k] != "csr"):
                given = [
                    0.5 * impulse @ (u[k] + v) for impulse, v in zip(path.impulse, path.velocity, strict=True)
                ]
                assert given[-1] - given[row] == pytest.approx(e * e * work, abs=room)
            # friction within its cone over every stage
            for step in np.diff(path.impulse, axis=0):
                assert step[0] >= -1e-15 * scale[k]
                assert np.linalg.norm(step[1:]) <= mu * step[0] + 1e-13 * scale[k]

    def test_of_every_outcome(self):
        self._check(4000, seed=11)

    @pytest.mark.long
    def test_of_very_many_outcomes(self):
        for seed in range(100, 140):
            self._check(10000, seed)

    def test_one_by_one_and_all_at_once_agree(self):
        """Impulses bit for bit; velocities are products of the same numbers in another order."""
        W, u, friction, restitution = random_impacts(400, seed=3)
        batch = LAW.resolve_many(W, u, friction, restitution)
        for k in range(400):
            problem = ImpactProblem(W[k], u[k], friction[k], restitution[k])
            outcome = LAW.resolve(problem)
            assert np.array_equal(outcome.impulse, batch.impulse[k])
            assert outcome.info["sequence"] == batch.sequence[k]
            assert outcome.status is batch.status[k]
            alone, status = LAW.impulse(problem)
            assert np.array_equal(alone, outcome.impulse)
            assert status is outcome.status
            response = np.abs(W[k]) @ np.abs(outcome.impulse)
            rounding = 1e-15 * (response.max() + np.abs(u[k]).max())
            np.testing.assert_allclose(outcome.velocity, batch.velocity[k], rtol=0, atol=rounding)

    def test_one_impulse_needs_one_spatial_contact(self):
        with pytest.raises(ValueError, match="one spatial contact, got 2"):
            LAW.impulse(ImpactProblem(np.eye(6), [-1.0, 0, 0, -1.0, 0, 0]))

    def test_threads_and_repetition_change_nothing(self):
        problems = random_impacts(3000, seed=4)
        before = numba.get_num_threads()
        results = []
        try:
            for threads in (1, numba.config.NUMBA_NUM_THREADS, 1):
                numba.set_num_threads(threads)
                results.append(LAW.resolve_many(*problems))
        finally:
            numba.set_num_threads(before)
        for other in results[1:]:
            assert other.impulse.tobytes() == results[0].impulse.tobytes()
            assert other.velocity.tobytes() == results[0].velocity.tobytes()
            assert np.array_equal(other.sequence, results[0].sequence)

    def test_a_turned_tangent_frame_turns_the_answer(self):
        W, u, friction, restitution = random_impacts(1000, seed=6)
        turned = [reference.turned(w, v, 0.1 + k) for k, (w, v) in enumerate(zip(W, u, strict=True))]
        first = LAW.resolve_many(W, u, friction, restitution)
        other = LAW.resolve_many(*(np.array(x) for x in zip(*turned, strict=True)), friction, restitution)
        for k in range(1000):
            c, s = np.cos(0.1 + k), np.sin(0.1 + k)
            n, x, y = first.impulse[k]
            expected = np.array([n, c * x + s * y, c * y - s * x])
            assert np.linalg.norm(other.impulse[k] - expected) <= 1e-9 * np.linalg.norm(expected)

    def test_units_scale_the_answer(self):
        """By powers of two exactly, by others to rounding."""
        W, u, friction, restitution = random_impacts(1000, seed=7)
        first = LAW.resolve_many(W, u, friction, restitution)
        exact = LAW.resolve_many(W / 8, u * 4, friction, restitution)
        assert np.array_equal(exact.impulse, first.impulse * 32)
        assert np.array_equal(exact.velocity, first.velocity * 4)
        other = LAW.resolve_many(W * 1e-3, u * 1e3, friction, restitution)
        error = np.linalg.norm(other.impulse / 1e6 - first.impulse, axis=1)
        assert np.all(error <= 1e-10 * np.linalg.norm(first.impulse, axis=1))


class TestPublishedCases:
    """REFERENCE.md section 1: Jia & Wang, with components (tangent, tangent2, normal) there."""

    ORDER = (2, 0, 1)
    ICOSAHEDRON = np.array(
        [[11.5984, -0.910367, 2.44236], [-0.910367, 9.90134, 1.95747], [2.44235, 1.95746, 2.59042]]
    )
    VELOCITY = np.array([-0.26197634, 0.38632873, -0.07717411])
    PIN = np.array(
        [
            [1.55465, 0.00238675, -0.360808],
            [0.00238676, 5.15191, -0.00313296],
            [-0.360808, -0.00313296, 1.105],
        ]
    )

    def _outcome(self, W, v, friction, restitution):
        order = list(self.ORDER)
        problem = ImpactProblem.symmetrised(W[np.ix_(order, order)], v[order], friction, restitution)
        outcome = LAW.resolve(problem)
        assert outcome.resolved
        return outcome, outcome.impulse[[1, 2, 0]]

    def test_icosahedron_and_tetrahedron(self):
        outcome, impulse = self._outcome(self.ICOSAHEDRON, self.VELOCITY, 0.8, 0.95)
        np.testing.assert_allclose(impulse, [-0.0033828153, -0.0593378907, 0.1012106462], rtol=0, atol=1e-9)
        # the print, within the errors of its own table 1
        np.testing.assert_allclose(impulse, [-0.00326657, -0.0592263, 0.1007], rtol=0, atol=1e-3)
        assert outcome.info["sequence"] == "csr"
        assert outcome.info["sticks"]
        _, impulse = self._outcome(self.ICOSAHEDRON, self.VELOCITY, 0.0, 0.95)
        np.testing.assert_allclose(impulse, [0, 0, 0.0580946], rtol=0, atol=1e-7)

    def test_figure_4d_is_solvable_although_condition_18_fails(self):
        v = self.VELOCITY - [0, 0, 0.95 - 0.5]
        outcome, _ = self._outcome(self.ICOSAHEDRON, v, 3.0, 0.95)
        assert 2.59042 - 3.0 * np.hypot(2.442355, 1.957465) == pytest.approx(-6.80, abs=0.005)
        assert outcome.info["sequence"] == "scr"
        assert outcome.info["sticks"]

    def test_figure_7_passes_close_to_zero_slip_and_goes_on(self):
        v = self.VELOCITY + np.array([-0.7, -0.35, -0.5]) - [-0.1, 0.5, 0.95]
        outcome, _ = self._outcome(self.ICOSAHEDRON, v, 0.25, 0.95)
        assert outcome.info["sequence"] == "cr"

    def test_pin_and_ball(self):
        v = np.array([-0.20691338, 0.11765509, -1.506903])
        outcome, impulse = self._outcome(self.PIN, v, 0.7, 0.7)
        np.testing.assert_allclose(impulse, [0.7330654, -0.0216048, 2.585018], rtol=0, atol=5e-7)
        assert outcome.info["sequence"] == "scr"
        assert outcome.info["sticks"]


class TestStatuses:
    def test_a_contact_that_jams_has_no_solution(self):
        W = np.zeros((3, 3))
        W[:2, :2] = 1.0  # pressed along (1, -1), it does not yield
        for friction in (1.0, 2.0):
            outcome = LAW.resolve(ImpactProblem(W, [-1.0, 0.5, 0.0], friction, 0.5))
            assert outcome.status is ImpactStatus.NO_SOLUTION
            assert outcome.message
            assert np.isfinite(outcome.impulse).all()
        batch = LAW.resolve_many(W[None], [[-1.0, 0.5, 0.0]], 2.0, 0.5)
        assert list(batch.status) == [ImpactStatus.NO_SOLUTION]
        assert not batch.resolved.any()
        assert np.isfinite(batch.impulse).all()

    def test_renewed_compression(self):
        """Friction far above (18): rare, never silent, and only where (18) fails."""
        rng = np.random.default_rng(1)
        J = rng.normal(size=(20000, 3, 3))
        W = J @ J.transpose(0, 2, 1)
        W = 0.5 * (W + W.transpose(0, 2, 1))
        u = rng.normal(size=(20000, 3))
        u[:, 0] = -np.abs(u[:, 0])
        friction = rng.uniform(0, 6, size=20000)
        batch = LAW.resolve_many(W, u, friction, 0.9)
        status = batch.status
        renewed = status == ImpactStatus.RENEWED_COMPRESSION
        assert 5 < renewed.sum() < 200
        holds = W[:, 0, 0] > friction * np.linalg.norm(W[:, 0, 1:], axis=1)
        assert batch.resolved[holds].all()
        assert np.isfinite(batch.impulse).all()
        first = int(np.argmax(renewed))
        outcome = LAW.resolve(ImpactProblem(W[first], u[first], friction[first], 0.9))
        assert outcome.status is ImpactStatus.RENEWED_COMPRESSION
        assert "approach" in outcome.message

    def test_separating_or_resting_contact_gets_nothing(self):
        batch = LAW.resolve_many(np.stack([np.eye(3)] * 2), [[0.0, 1.0, 0.0], [1.0, 1.0, 0.0]], 0.5, 0.5)
        assert batch.resolved.all()
        assert not batch.impulse.any()
        assert list(batch.sequence) == ["", ""]


class TestSeveralContacts:
    def test_newtons_cradle(self, row_of_balls):
        problem = row_of_balls([1.0] * 5, [1.0, 0, 0, 0, 0])
        outcome = LAW.resolve(problem)
        np.testing.assert_allclose(problem.generalized_velocity(outcome), [0, 0, 0, 0, 1], atol=1e-14)
        assert outcome.info["sequence"] == tuple((k, "cr") for k in range(4))
        assert outcome.path.labels[1] == "compression ends at contact 0"

    def test_watchdog(self, row_of_balls):
        problem = row_of_balls([1.0] * 5, [1.0, 0, 0, 0, 0])
        outcome = StrongeCoulomb(max_impacts=2).resolve(problem)
        assert outcome.status is ImpactStatus.NOT_TERMINATED
        assert "2" in outcome.message or outcome.message
        assert len(outcome.info["sequence"]) == 2

    def test_orders(self, row_of_balls):
        problem = row_of_balls([1.0, 2.0, 1.0], [2.0, 0.0, -1.0], restitution=0.5)

        def first(order):
            outcome = StrongeCoulomb(order=order).resolve(problem, np.random.default_rng(2))
            assert outcome.resolved
            return outcome.info["sequence"][0][0]

        assert first("most_approaching") == 0
        assert first("least_approaching") == 1
        assert first("cyclic") == 0
        assert first([1, 0]) == 1
        assert first("random") in (0, 1)
        with pytest.raises(ValueError, match="order"):
            StrongeCoulomb(order="alphabetic")

    @pytest.mark.parametrize(("value", "error"), [(0, ValueError), (1.5, TypeError), (True, TypeError)])
    def test_max_impacts_is_checked(self, value, error):
        with pytest.raises(error, match="max_impacts"):
            StrongeCoulomb(max_impacts=value)


class TestBadInput:
    W, U = np.eye(3)[None], [[-1.0, 0.0, 0.0]]

    @pytest.mark.parametrize(
        ("W", "u", "friction", "restitution", "words"),
        [
            (W, [-1.0, 0, 0], 0.5, 0.5, "u must have shape"),
            (W, [[-1.0, 0]], 0.5, 0.5, "u must have shape"),
            (np.eye(3), U, 0.5, 0.5, "W must have shape"),
            (np.eye(2)[None], U, 0.5, 0.5, "W must have shape"),
            (W * np.nan, U, 0.5, 0.5, "W must be finite"),
            (W, [[np.inf, 0, 0]], 0.5, 0.5, "u must be finite"),
            (W, U, -0.1, 0.5, "friction must be at least 0"),
            (W, U, [0.1, 0.2], 0.5, "friction must be a number or have shape"),
            (W, U, np.nan, 0.5, "friction must be finite"),
            (W, U, 0.5, 1.1, "restitution must lie within"),
            (W, U, 0.5, -0.1, "restitution must lie within"),
            (np.array([[[1.0, 1, 0], [0, 1, 0], [0, 0, 1]]]), U, 0.5, 0.5, "W must be symmetric"),
            (np.diag([1.0, -1, 1])[None], U, 0.5, 0.5, "W must be positive semi-definite"),
            (np.diag([0.0, 1, 1])[None], U, 0.5, 0.5, "W_nn must be positive"),
        ],
    )
    def test_is_named(self, W, u, friction, restitution, words):
        with pytest.raises(ValueError, match=words):
            LAW.resolve_many(W, u, friction, restitution)

    def test_of_the_wrong_type(self):
        with pytest.raises(TypeError, match="W must be an array of real numbers"):
            LAW.resolve_many([[["a"] * 3] * 3], self.U, 0.5, 0.5)
        with pytest.raises(TypeError, match="restitution must be an array of real numbers"):
            LAW.resolve_many(self.W, self.U, 0.5, "high")

    def test_no_impacts_at_all(self):
        batch = LAW.resolve_many(np.zeros((0, 3, 3)), np.zeros((0, 3)), 0.5, 0.5)
        assert len(batch) == 0
        assert batch.sequence.shape == (0,)


# Slip that creeps along an attracting direction once took steps without end: exact impulses in 50 digits.
CREEPING = [
    (
        [
            [13.068917208985788, 2.5291760284611415, 3.435433028064993],
            [2.5291760284611415, 12.840798521669637, -3.4944273386526508],
            [3.435433028064993, -3.4944273386526508, 9.261959158810829],
        ],
        [-0.2734735085860659, 2.845526225507499e-10, -1.2253048593973485e-10],
        0.5951744729317994,
        0.4439461602968777,
        [0.037491865861634686, -0.012410133029985166, -0.018544869545624076],
    ),
    (
        [
            [1.14865353791655, -0.5288066659067898, -0.4775607587805608],
            [-0.5288066659067898, 1.1570784577730648, 2.2682726886432394],
            [-0.4775607587805608, 2.2682726886432394, 4.809041231641238],
        ],
        [-1.615981855700867, -0.3914450630301212, -0.8353462664746446],
        3.7943740061729283,
        0.8916532570904393,
        [65.9081987547967, 228.5708744386239, -101.08549984723177],
    ),
]


@pytest.mark.parametrize(("W", "u", "mu", "e", "impulse"), CREEPING)
def test_creeping_slip_ends_in_closed_form(W, u, mu, e, impulse):
    outcome = LAW.resolve(ImpactProblem(W, u, mu, e))
    assert outcome.resolved
    assert outcome.info["sequence"] == "cr"
    np.testing.assert_allclose(outcome.impulse, impulse, rtol=1e-12)


@pytest.mark.parametrize("smallest", [1e-6, 1e-9, 1e-12])
def test_a_nearly_singular_tangential_block_is_resolved(smallest):
    k = 0.3 * smallest**0.5
    W = [[2, 0.5, k], [0.5, 3, 0], [k, 0, smallest]]
    outcome = LAW.resolve(ImpactProblem(W, [-1, 0.3, 0.3 * smallest], 0.6, 0.6))
    assert outcome.resolved
    assert outcome.info["sequence"] == "cr"


PLAIN = [[2, 0.5, 0.3], [0.5, 3, 0.2], [0.3, 0.2, 4]]


@pytest.mark.parametrize("scale", [1e-250, 1e-162, 1e-100, 1e100, 1e154, 1e200])
def test_velocities_of_any_size_scale(scale):
    plain, _ = LAW.impulse(ImpactProblem(PLAIN, [-1.0, 1.0, 1.0], 0.5, 0.5))
    batch = LAW.resolve_many([PLAIN], [[-scale, scale, scale]], 0.5, 0.5)
    assert batch.resolved.all()
    np.testing.assert_allclose(batch.impulse[0] / scale, plain, rtol=1e-14)


@pytest.mark.parametrize("slip", [5e-324, 1e-163, 1e-120])
def test_slip_too_small_to_square_counts_as_none(slip):
    some = LAW.resolve(ImpactProblem(PLAIN, [-1.0, slip, 0.0], 0.5, 0.5))
    none = LAW.resolve(ImpactProblem(PLAIN, [-1.0, 0.0, 0.0], 0.5, 0.5))
    assert some.resolved
    assert np.array_equal(some.impulse, none.impulse)


@pytest.mark.parametrize("exponent", [-20, -28, -31, -34, -100])
@pytest.mark.parametrize("e", [0.5, 1.0])
def test_grazing_returns_its_restitution(exponent, e):
    approach = 10.0**exponent
    impulse, status = LAW.impulse(ImpactProblem(PLAIN, [-approach, 1.0, 0.5], 0.5, e))
    direction = np.array([1.0, 0.5]) / np.hypot(1.0, 0.5)
    exact = (1 + e) * approach / (2.0 - 0.5 * np.array([0.5, 0.3]) @ direction)
    assert status is ImpactStatus.RESOLVED
    assert impulse[0] == pytest.approx(exact, rel=1e-9)


def test_slip_that_reverses_onto_a_neutral_ray_is_resolved():
    W = [
        [0.20444868038155145, -1.7799879921749753, 0.7825932406655552],
        [-1.7799879921749753, 21.584769301295, -9.489419642953083],
        [0.7825932406655552, -9.489419642953083, 4.1734689544357515],
    ]
    u = [-0.44560691274177255, 0.4603828686856612, -0.20241289420785702]
    outcome = LAW.resolve(ImpactProblem(W, u, 0.07549160828135677, 1.0))
    assert outcome.resolved
    exact = [14.145370659056963, 0.9596729409219338, -0.4219318109465483]
    np.testing.assert_allclose(outcome.impulse, exact, rtol=1e-6)  # the ray hardly attracts


def test_no_outcome_of_rank_one_has_negative_work():
    rng = np.random.default_rng(12)
    w = np.round(rng.uniform(0.01, 1.0, size=(4000, 3)), 2)
    W = w[:, :, None] * w[:, None, :]
    u = np.round(rng.normal(size=(4000, 3)), 2)
    u[:, 0] = -np.abs(u[:, 0]) - 0.01
    batch = LAW.resolve_many(W, u, 0.5, 0.5)
    good = batch.resolved
    assert good.any()
    change = np.einsum("ni,ni->n", batch.impulse, 0.5 * (u + batch.velocity))
    assert change[good].max() <= 1e-9
    assert batch.velocity[good, 0].min() >= -1e-9
    assert np.abs(batch.impulse[good]).max() < 1e8
