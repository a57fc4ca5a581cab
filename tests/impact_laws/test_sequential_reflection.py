from functools import cache
from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from carom.impact_laws import ImpactProblem, ImpactStatus, SequentialReflection, reflection_kernels

NAMED_ORDERS = ["most_approaching", "least_approaching", "cyclic", "random"]


def normal_problem(N, u, **fields):
    """Planar contacts that only have normal motion."""
    count = len(u)
    W, velocity = np.zeros((2 * count, 2 * count)), np.zeros(2 * count)
    W[::2, ::2], velocity[::2] = N, u
    return ImpactProblem(W, velocity, dim=2, **fields)


def reflected(N, u, sequence):
    """Normal velocities after a sequence of reflections, one formula after the other."""
    u = np.array(u, dtype=float)
    for i in sequence:
        u = u - 2.0 * u[i] / N[i][i] * np.asarray(N)[i]
    return u


@cache
def words(count, longest):
    """Every word of up to `longest` letters, level by level, and the numbers of the words with one letter less."""
    levels = []
    for length in range(longest + 1):
        letters = np.array(list(product(range(count), repeat=length)), dtype=int)
        letters = letters.reshape(count**length, length)
        weights = count ** np.arange(length - 1)[::-1] if length else np.zeros(0, dtype=int)
        shorter = [np.delete(letters, k, axis=1) @ weights for k in range(length)]
        levels.append((letters, np.array(shorter, dtype=int)))
    return levels


def sequences_by_definition(problem, longest, literal):
    """Definition 1 by trying every word: feasible, and no proper subsequence (deleting letters one by one), of
    whatever reflections, is; unless literal every letter must be an approaching contact."""
    N, scale, threshold = problem.W[::2, ::2], problem.kinetic_scale, problem.approach_threshold
    velocities, allowed = problem.normal_velocity[None], np.ones(1, dtype=bool)
    feasible = inside = np.zeros(1, dtype=bool)
    found: list[tuple[int, ...]] = []
    for letters, shorter in words(problem.contact_count, longest):
        if letters.shape[1]:
            parent = np.arange(len(letters)) // problem.contact_count
            last = letters[:, -1]
            own = velocities[parent, last]
            allowed = allowed[parent] & (literal | (own / scale[last] < threshold))
            velocities = velocities[parent] - 2.0 * (own / N[last, last])[:, None] * N[last]
            inside = (feasible | inside)[shorter].any(axis=0)
        feasible = (velocities / scale >= threshold).all(axis=1)
        minimal = feasible & allowed & ~inside
        found += [tuple(word) for word in letters[minimal].tolist()]
    return tuple(found)


def random_contacts(rng, count):
    """Random contacts of a kind that is generic, orthogonal, a row of balls, or resting in part."""
    kind = rng.integers(5)
    if kind == 0:
        masses = (
            rng.choice([1.0, 1.0, 2.0, 5.0], size=count + 1) if rng.random() < 0.5 else np.ones(count + 1)
        )
        J = np.eye(count, count + 1, 1) - np.eye(count, count + 1)
        v = rng.integers(-2, 3, size=count + 1).astype(float)
        return normal_problem(J / masses @ J.T, J @ v, restitution=1.0)
    freedoms = count + int(rng.integers(0, 2))
    J = rng.normal(size=(count, freedoms)) * rng.choice([0.3, 1.0, 3.0])
    if kind == 1:
        J = np.eye(count, freedoms) * rng.uniform(0.5, 2.0, size=(count, 1))
    separating = np.eye(freedoms)[0]
    J[:, 0] = np.abs(J[:, 0]) + 0.2
    if kind == 1:
        J[:, 0] = np.eye(count)[0]
    u = J @ (rng.normal(size=freedoms) - rng.uniform(0.0, 2.0) * separating)
    if kind == 2:
        u[rng.integers(count)] = 0.0
    return normal_problem(J @ J.T, u, restitution=1.0)


@pytest.mark.parametrize("count", [2, 3, 5, 9])
@pytest.mark.parametrize("order", ["most_approaching", "least_approaching", "cyclic", "random"])
def test_newtons_cradle(row_of_balls, count, order):
    problem = row_of_balls(np.ones(count), np.eye(count)[0])
    outcome = SequentialReflection(order=order).resolve(problem)
    assert np.abs(problem.generalized_velocity(outcome) - np.eye(count)[-1]).max() <= 1e-14
    assert outcome.info["sequence"] == tuple(range(count - 1))


def test_unequal_balls(row_of_balls):
    problem = row_of_balls([1, 2, 3], [1, 0, 0])
    outcome = SequentialReflection().resolve(problem)
    np.testing.assert_allclose(problem.generalized_velocity(outcome), [-1 / 3, -2 / 15, 8 / 15], atol=1e-15)


def test_two_sequences_with_one_outcome(row_of_balls):
    problem = row_of_balls([1, 1, 1], [1, 0, -1])
    for order, sequence in (([0, 1], (0, 1, 0)), ([1, 0], (1, 0, 1))):
        outcome = SequentialReflection(order=order).resolve(problem)
        assert outcome.info["sequence"] == sequence
        np.testing.assert_allclose(problem.generalized_velocity(outcome), [-1, 0, 1], atol=1e-15)


def test_orders_choose_as_they_say(row_of_balls):
    """Four balls with contacts 0 and 2 approaching at different speeds."""
    problem = row_of_balls([1, 1, 1, 1], [1, 0, 0, -3])
    first = {
        order: SequentialReflection(order=order).resolve(problem).info["sequence"][0]
        for order in ("most_approaching", "least_approaching", "cyclic")
    }
    assert first == {"most_approaching": 2, "least_approaching": 0, "cyclic": 0}
    assert SequentialReflection(order=[2, 1, 0]).resolve(problem).info["sequence"][0] == 2


def test_most_approaching_uses_the_kinetic_metric():
    # u_n is larger at contact 0, u_n/√W_nn at contact 1
    problem = ImpactProblem(np.diag([100.0, 1, 1, 1]), [-2, 0, -1, 0], restitution=1.0, dim=2)
    assert SequentialReflection().resolve(problem).info["sequence"] == (1, 0)


def test_random_order_follows_the_generator(row_of_balls):
    problem = row_of_balls(np.arange(1.0, 9.0), [1, -1, 1, -1, 1, -1, 1, -1])
    law = SequentialReflection(order="random")
    runs = [law.resolve(problem, np.random.default_rng(seed)).info["sequence"] for seed in range(8)]
    assert len(set(runs)) > 1
    assert law.resolve(problem).info["sequence"] == law.resolve(problem).info["sequence"]


@pytest.mark.parametrize("e", [0.0, 0.3, 0.7, 0.95, 1.0])
def test_one_contact_is_newtons_restitution(e):
    outcome = SequentialReflection().resolve(
        ImpactProblem([[2.0, 0], [0, 1]], [-3.0, 1.0], restitution=e, dim=2)
    )
    np.testing.assert_allclose(outcome.velocity, [3.0 * e, 1.0], rtol=1e-14, atol=1e-15)
    np.testing.assert_allclose(outcome.energy_change, -(1 - e * e) * 9.0 / 4.0, atol=1e-14)


def test_energy_lost_is_the_restitution_share_of_the_plastic_loss(random_problem):
    """Equation (16): loss = (1 - R²) of the plastic loss, which e = 0 shows; α = R only without leftover
    b."""
    rng = np.random.default_rng(11)
    differs = 0
    for _ in range(100):
        drawn = random_problem(rng, "regular", 3)
        plastic = SequentialReflection().resolve(ImpactProblem(drawn.W, drawn.u, restitution=0.0))
        for e in (0.2, 0.6, 0.9):
            outcome = SequentialReflection().resolve(ImpactProblem(drawn.W, drawn.u, restitution=e))
            assert outcome.resolved
            assert outcome.info["restitution"] == (e if drawn.approaching().any() else 1.0)
            assert outcome.energy_change == pytest.approx(
                (1 - e * e) * plastic.energy_change, abs=1e-12 * (1 + abs(plastic.energy_change))
            )
            differs += abs(outcome.info["mixing"] - e) > 1e-6
    assert differs > 0


def test_plastic_impact_pulls_nowhere_and_is_complementary(random_problem):
    rng = np.random.default_rng(12)
    for _ in range(100):
        drawn = random_problem(rng, "rank_deficient", 2)
        outcome = SequentialReflection().resolve(ImpactProblem(drawn.W, drawn.u, dim=2))
        normal, impulse = outcome.velocity[::2], outcome.impulse[::2]
        scale = np.abs(drawn.u).max() + 1.0
        assert impulse.min() >= 0.0
        assert normal.min() > -1e-9 * scale
        assert np.abs(np.minimum(normal, impulse * drawn.W.diagonal()[::2])).max() < 1e-8 * scale


def test_unequal_restitution_is_weighted_by_work():
    """Two contacts that do not feel each other: work ½ u²/W_nn each."""
    problem = ImpactProblem(np.diag([1.0, 1, 4, 1]), [-1.0, 0, -4.0, 0], restitution=[0.0, 1.0], dim=2)
    outcome = SequentialReflection().resolve(problem)
    assert outcome.info["restitution"] == pytest.approx(np.sqrt(2.0 / 2.5))
    assert outcome.energy_change == pytest.approx(-0.5)


def test_wedged_body_does_not_terminate():
    W = np.array([[1.0, 0, -1, 0], [0, 1, 0, 1], [-1, 0, 1, 0], [0, 1, 0, 1]])
    problem = ImpactProblem(W, [-1.0, 0, 1, 0], restitution=1.0, dim=2)
    outcome = SequentialReflection(max_reflections=50).resolve(problem)
    assert outcome.status is ImpactStatus.NOT_TERMINATED
    assert len(outcome.info["sequence"]) == 50
    assert "wedged" in outcome.status.advice


def test_immovable_contact_has_no_solution():
    for e in (0.0, 0.5, 1.0):
        problem = ImpactProblem(np.zeros((2, 2)), [-1.0, 0.0], restitution=e, dim=2)
        assert SequentialReflection().resolve(problem).status is ImpactStatus.NO_SOLUTION


def test_two_contacts_need_no_more_than_the_tight_bound():
    """Theorem 1 with the bound that occurs: ceil(π/(2γ)) reflections, ⟨u, v⟩ = -cos 2γ for unit normals."""
    rng = np.random.default_rng(4)
    N, scale, sequence = np.eye(2), np.ones(2), np.empty(1000, dtype=np.int64)
    orders = [np.array([0, 1]), np.array([1, 0])]
    attained = 0
    for turn, before in zip(
        rng.uniform(0.02, np.pi - 0.02, size=100_000), rng.normal(size=(100_000, 2)), strict=True
    ):
        N[0, 1] = N[1, 0] = -np.cos(turn)
        bound = np.ceil(np.pi / turn)
        for visits in orders:
            made, ended = reflection_kernels.reflect(
                N,
                before.copy(),
                scale,
                -1e-11 * np.abs(before).max(),
                reflection_kernels.VISITS,
                visits,
                1,
                sequence,
            )
            assert ended == reflection_kernels.FEASIBLE
            assert made <= bound
            attained += made == bound
    assert attained > 1000


@pytest.mark.parametrize("stages", range(2, 40))
def test_bounds_are_reported_for_two_contacts(stages):
    """Turns that divide π need their whole number of reflections, and rounding adds none."""
    for turn, tight in ((np.pi / stages, stages), (np.pi / (stages - 0.5), stages)):
        N = np.array([[1.0, -2.0 * np.cos(turn)], [-2.0 * np.cos(turn), 4.0]])
        info = SequentialReflection().resolve(normal_problem(N, [-1.0, -2.0], restitution=1.0)).info
        assert info["bound"] == tight
        assert info["bound_of_theorem_1"] == np.ceil(2.0 * np.pi / turn - 1e-9)
        assert len(info["sequence"]) <= info["bound"]


def test_bounds_of_opposite_and_of_other_contacts(row_of_balls):
    opposite = SequentialReflection(max_reflections=5).resolve(
        normal_problem([[1, -1], [-1, 1]], [-1.0, 1.0])
    )
    assert opposite.info["bound"] == opposite.info["bound_of_theorem_1"] == np.inf
    assert "bound" not in SequentialReflection().resolve(row_of_balls(np.ones(4), np.zeros(4))).info
    assert (
        "bound" not in SequentialReflection().resolve(normal_problem(np.diag([1.0, 0.0]), [-1.0, 0.0])).info
    )


@pytest.mark.parametrize("count", [3, 4, 5])
def test_equal_balls_are_sorted_in_any_order(row_of_balls, count):
    rng = np.random.default_rng(count)
    orders = [*NAMED_ORDERS, *permutations(range(count - 1))]
    for velocities in [
        np.eye(count)[0],
        *rng.normal(size=(20, count)),
        *rng.integers(-2, 3, size=(20, count)),
    ]:
        problem = row_of_balls(np.ones(count), velocities)
        for order in orders:
            law = SequentialReflection(order=order)
            for seed in range(5 if order == "random" else 1):
                outcome = law.resolve(problem, np.random.default_rng(seed))
                assert outcome.resolved
                after = problem.generalized_velocity(outcome)
                assert np.abs(after - np.sort(velocities)).max() <= 1e-14 * max(1.0, np.abs(velocities).max())


@pytest.mark.parametrize(("count", "length", "words"), [(3, 3, 2), (4, 6, 16), (5, 10, 768)])
def test_balls_in_reverse_order_have_every_shortest_sorting(row_of_balls, count, length, words):
    """Reduced words of the reversal: 2, 16, 768 (Stanley 1984)."""
    found = SequentialReflection().outcomes(row_of_balls(np.ones(count), -np.arange(count)))
    assert len(found) == words
    assert set(map(len, found.labels)) == {length}
    assert np.ptp(found.velocity, axis=0).max() <= 1e-13
    assert found.resolved.all()


@pytest.mark.parametrize(("count", "longest", "problems"), [(1, 3, 100), (2, 9, 2000), (3, 7, 3000)])
@pytest.mark.parametrize("literal", [False, True])
def test_outcomes_are_the_minimal_sequences(count, longest, problems, literal):
    rng = np.random.default_rng(21)
    sizes = []
    for _ in range(problems):
        problem = random_contacts(rng, count)
        found = SequentialReflection().outcomes(problem, literal=literal)
        expected = sequences_by_definition(problem, longest, literal)
        assert tuple(label for label in found.labels if len(label) <= longest) == expected
        sizes.append(len(found))
    assert max(sizes) > (1 if count > 1 else 0)


def test_every_minimal_sequence_is_what_it_says(random_problem):
    rng = np.random.default_rng(22)
    several = 0
    for _ in range(300):
        drawn = random_problem(rng, "regular", 2)
        problem = ImpactProblem(drawn.W, drawn.u, restitution=1.0, dim=2)
        found = SequentialReflection().outcomes(problem)
        several += len(found) > 1
        assert list(found.labels) == sorted(found.labels, key=lambda label: (len(label), label))
        assert found.solves.tolist() == [len(label) for label in found.labels]
        assert found.resolved.all()
        assert len(found) > 0
        for label, velocity, impulse in zip(found.labels, found.velocity, found.impulse, strict=True):
            np.testing.assert_allclose(velocity, problem.u + problem.W @ impulse, atol=1e-12)
            expected = reflected(problem.W[::2, ::2], problem.normal_velocity, label)
            np.testing.assert_allclose(velocity[::2], expected, atol=1e-10 * np.abs(problem.u).max())
            assert impulse.min() >= 0.0
            assert not impulse[1::2].any()
        # every order ends with a sequence that has a minimal one inside
        made = SequentialReflection(order="random").resolve(problem, rng).info["sequence"]
        assert any(is_subsequence(label, made) for label in found.labels)
    assert several > 20


def is_subsequence(short, long):
    rest = iter(long)
    return all(letter in rest for letter in short)


def test_orders_stay_among_all_sequences_and_may_leave_the_minimal_ones():
    """The box of 1 by 0.8 on its two corners: one minimal sequence, and a longer one that an order takes."""
    inertia = (1.0 + 0.64) / 12.0
    jacobian = [[0, 1, -0.5], [1, 0, 0.4], [0, 1, 0.5], [1, 0, 0.4]]
    problem = ImpactProblem.from_generalized(
        np.diag([1.0, 1.0, inertia]), jacobian, [0.0, -1.0, 0.3], restitution=1.0, dim=2
    )
    law = SequentialReflection()
    assert law.outcomes(problem).labels == ((0, 1),)
    assert law.outcomes(problem, minimal=False).labels == ((0, 1), (1, 0, 1))
    assert SequentialReflection(order="least_approaching").resolve(problem).info["sequence"] == (1, 0, 1)
    with pytest.raises(ValueError, match="minimal must be True with literal"):
        law.outcomes(problem, True, minimal=False)
    with pytest.raises(TypeError, match="minimal must be"):
        law.outcomes(problem, minimal=1)


@pytest.mark.parametrize("order", NAMED_ORDERS)
def test_every_order_is_among_all_sequences(order, random_problem):
    rng = np.random.default_rng(5)
    compared = 0
    for _ in range(150):
        problem = random_problem(rng, "regular", 3)
        if problem.contact_count > 3:
            continue
        outcome = SequentialReflection(order=order).resolve(problem, rng)
        if not outcome.resolved or len(outcome.info["sequence"]) > 12:
            continue
        found = SequentialReflection(max_reflections=12).outcomes(problem, minimal=False)
        if outcome.info["sequence"]:
            assert outcome.info["sequence"] in found.labels
        away = np.abs(found.velocity - outcome.velocity).max(axis=1).min()
        assert away <= 1e-9 * np.abs(problem.u).max()
        compared += 1
    assert compared > 20


def test_outcomes_mix_restitution_as_resolve_does(random_problem):
    rng = np.random.default_rng(23)
    compared = 0
    for _ in range(100):
        drawn = random_problem(rng, "regular", 3)
        for e in (0.0, 0.4, rng.uniform(size=drawn.contact_count)):
            problem = ImpactProblem(drawn.W, drawn.u, restitution=e)
            outcome = SequentialReflection().resolve(problem)
            found = SequentialReflection().outcomes(problem)
            assert found.resolved.all()
            if outcome.info["restitution"] == 0.0:
                np.testing.assert_allclose(found.impulse, outcome.impulse[None].repeat(len(found), axis=0))
            elif outcome.info["sequence"] in found.labels:
                same = found.labels.index(outcome.info["sequence"])
                np.testing.assert_allclose(found.impulse[same], outcome.impulse, atol=1e-12)
                np.testing.assert_allclose(found.velocity[same], outcome.velocity, atol=1e-12)
                compared += 1
    assert compared > 150


def test_literal_sequences_may_pull():
    """Three contacts of which a separating one is drawn closer first: the energy is right, but not the cone."""
    rng = np.random.default_rng(24)
    pulling = 0
    for _ in range(200):
        drawn = random_contacts(rng, 3)
        problem = ImpactProblem(drawn.W, drawn.u, restitution=0.7, dim=2)
        found = SequentialReflection().outcomes(problem, literal=True)
        plastic = SequentialReflection().resolve(ImpactProblem(drawn.W, drawn.u, restitution=0.0, dim=2))
        changes = ((0.5 * found.impulse @ problem.W + problem.u) * found.impulse).sum(axis=1)
        expected = np.full(len(found), (1.0 - 0.49) * plastic.energy_change)
        np.testing.assert_allclose(changes, expected, rtol=1e-9, atol=1e-9)
        pulls = found.impulse.min(axis=1) < -1e-12 * (1.0 + np.abs(found.impulse).max())
        assert not found.resolved[pulls].any()
        assert found.resolved[~pulls].all()
        pulling += int(pulls.sum())
    assert pulling > 0


def test_outcomes_without_approach_and_of_wedged_and_immovable_bodies(row_of_balls):
    apart = SequentialReflection().outcomes(row_of_balls([1, 1, 1], [0, 1, 2]))
    assert apart.labels == ((),)
    assert not apart.impulse.any()
    wedged = normal_problem([[1, -1], [-1, 1]], [-1.0, 1.0], restitution=1.0)
    assert len(SequentialReflection(max_reflections=50).outcomes(wedged)) == 0
    immovable = normal_problem(np.diag([1.0, 0.0]), [-1.0, -1.0], restitution=1.0)
    assert len(SequentialReflection().outcomes(immovable)) == 0


def test_too_many_contacts_or_sequences_are_refused(row_of_balls):
    with pytest.raises(ValueError, match="at most 6 contacts for all sequences, got 7"):
        SequentialReflection().outcomes(row_of_balls(np.ones(8), np.arange(8)))
    with pytest.raises(ValueError, match="at most 300000 sequences to follow, got more"):
        SequentialReflection().outcomes(row_of_balls(np.ones(7), -np.arange(7)))
    with pytest.raises(TypeError, match="literal must be True or False"):
        SequentialReflection().outcomes(row_of_balls(np.ones(3), np.zeros(3)), literal="yes")


def test_friction_is_said_to_be_ignored():
    N = np.diag([1.0, 2.0])
    assert "remark" not in SequentialReflection().resolve(normal_problem(N, [-1.0, -1.0])).info
    outcome = SequentialReflection().resolve(normal_problem(N, [-1.0, -1.0], friction=[0.0, 0.3]))
    assert "frictionless" in outcome.info["remark"]
    assert outcome.message == ""


def test_energy_is_kept_and_lost_to_rounding(random_problem):
    """Elastic outcomes keep it; others lose (1 - R²) of the plastic loss, R² the mean of e² weighted by work."""
    rng = np.random.default_rng(25)
    for _ in range(300):
        drawn = random_problem(rng, "regular", 3)
        if not drawn.approaching().any():
            continue
        energy = 0.5 * drawn.u @ np.linalg.pinv(drawn.W) @ drawn.u
        elastic = SequentialReflection().resolve(ImpactProblem(drawn.W, drawn.u, restitution=1.0))
        assert abs(elastic.energy_change) <= 1e-13 * energy
        plastic = SequentialReflection().resolve(ImpactProblem(drawn.W, drawn.u, restitution=0.0))
        work = -0.5 * plastic.impulse * drawn.u
        for e in (*np.linspace(0.0, 1.0, 11), rng.uniform(size=drawn.contact_count)):
            outcome = SequentialReflection().resolve(ImpactProblem(drawn.W, drawn.u, restitution=e))
            R = outcome.info["restitution"]
            pressed = plastic.impulse[::3] > 0.0
            share = float(work[::3] @ np.broadcast_to(e, pressed.shape) ** 2 / work.sum())
            least, largest = (f(np.broadcast_to(e, pressed.shape)[pressed]) for f in (np.min, np.max))
            expected = np.clip(np.sqrt(max(share, 0.0)), least, largest)
            assert abs(R - expected) <= 1e-12
            lost = (1.0 - R * R) * plastic.energy_change
            assert abs(outcome.energy_change - lost) <= 1e-13 * energy


@settings(derandomize=True, deadline=None, max_examples=200)
@given(
    st.lists(
        st.tuples(st.floats(0.01, 100.0), st.floats(-10.0, 10.0), st.integers(0, 3)), min_size=1, max_size=4
    )
)
def test_theorem_2_orthogonal_contacts_have_one_outcome(contacts):
    diagonal, u, _ = np.array(contacts).T
    found = SequentialReflection().outcomes(normal_problem(np.diag(diagonal), u, restitution=1.0))
    measure = u / np.sqrt(diagonal)
    approaching = np.flatnonzero(measure < -1e-11 * np.abs(measure).max())
    assert sorted(found.labels) == sorted(permutations(approaching.tolist()))
    expected = u.copy()
    expected[approaching] *= -1.0
    np.testing.assert_allclose(found.velocity[:, ::2], np.tile(expected, (len(found), 1)), atol=1e-13)


@settings(derandomize=True, deadline=None, max_examples=300)
@given(st.floats(-0.99, 0.99), st.floats(-10.0, -0.01), st.floats(-10.0, -0.01))
def test_theorem_2_holds_for_no_other_two_contacts(product, first, second):
    """Lemma 7: two stages in either order agree and are feasible only for orthogonal normals."""
    assume(abs(product) > 1e-4)
    N = [[1.0, product], [product, 1.0]]
    one, other = reflected(N, [first, second], (0, 1)), reflected(N, [first, second], (1, 0))
    assert np.abs(one - other).max() > 1e-7


@settings(derandomize=True, deadline=None, max_examples=200)
@given(st.floats(0.01, 100.0), st.floats(0.01, 100.0), st.floats(-10.0, -0.01), st.floats(-10.0, -0.01))
def test_theorem_3_three_stages_have_one_outcome(first_length, second_length, first, second):
    coupling = -0.5 * first_length * second_length
    N = [[first_length**2, coupling], [coupling, second_length**2]]
    u = [first * first_length, second * second_length]
    found = SequentialReflection().outcomes(normal_problem(N, u, restitution=1.0))
    assert found.labels == ((0, 1, 0), (1, 0, 1))
    expected = [-second * first_length, -first * second_length]
    np.testing.assert_allclose(found.velocity[:, ::2], [expected, expected], rtol=1e-10)


@settings(derandomize=True, deadline=None, max_examples=300)
@given(st.floats(-0.99, 0.99), st.floats(-10.0, -0.01), st.floats(-10.0, -0.01))
def test_theorem_3_holds_for_no_other_inner_product(product, first, second):
    """Three stages in either order agree for ±1/2, and are feasible of those for -1/2 only."""
    assume(abs(product + 0.5) > 1e-4)
    N = [[1.0, product], [product, 1.0]]
    one, other = (reflected(N, [first, second], sequence) for sequence in ((0, 1, 0), (1, 0, 1)))
    differ = np.abs(one - other).max() > 1e-7
    infeasible = min(one.min(), other.min()) < 0.0
    assert differ or infeasible


@pytest.mark.parametrize(
    ("fields", "error", "words"),
    [
        ({"order": "fastest"}, ValueError, "order must be one of most_approaching"),
        ({"order": 3}, TypeError, "order must be a word"),
        ({"order": [0.5]}, TypeError, "order must hold contact indices"),
        ({"max_reflections": 0}, ValueError, "max_reflections must be at least 1"),
        ({"max_reflections": 1.5}, TypeError, "max_reflections must be an integer"),
    ],
)
def test_bad_parameters_are_refused(fields, error, words):
    with pytest.raises(error, match=words):
        SequentialReflection(**fields)


def test_rng_is_checked(row_of_balls):
    with pytest.raises(TypeError, match="rng must be"):
        SequentialReflection(order="random").resolve(row_of_balls([1, 1], [1, 0]), 5)


def test_inertias_whose_product_is_no_number_have_a_bound():
    """It ended in a ZeroDivisionError: the product of 1/masses of 1e-269 and 1e-150 is zero."""
    W = np.zeros((4, 4))
    W[0, 0], W[2, 2] = 4e-270, 1e-150
    W[0, 2] = W[2, 0] = 1e-210
    problem = ImpactProblem(W, [-1.0, 0.0, -1.0, 0.0], friction=0.0, restitution=0.0, dim=2)
    outcome = SequentialReflection().resolve(problem)
    assert outcome.info["bound"] == 2  # the cosine is a half: as many as 180 degrees over 120, rounded up
