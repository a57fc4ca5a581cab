"""One contact after the other: published and analytic outcomes, conditions of a single contact, orders."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import carom
from carom.impact_laws import AnitescuPotra, ImpactProblem, ImpactStatus, SequentialLCP
from carom.impact_laws.anitescu_potra import edge_directions
from carom.impact_laws.sequential_lcp_kernels import RESOLVED, pyramid, resolve_in_turn

_SPEC = importlib.util.spec_from_file_location(
    "sequential_lcp_reference", Path(__file__).with_name("sequential_lcp_reference.py")
)
reference = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(reference)


def test_rocking_block_lifts_the_corner_that_is_resolved_first(rocking_block):
    """Sticking at one corner turns the block at 0.3 v, at the other then at 0.7 of that: 0.0930 m/s in the
    paper."""
    lift = 0.3 * 0.7 * np.sqrt(2 * 9.81 * 0.01)
    assert lift == pytest.approx(0.0930, abs=5e-5)
    outcomes = SequentialLCP().outcomes(rocking_block)
    assert outcomes.labels == ((1, 0), (0, 1))
    assert outcomes.solves.tolist() == [2, 2]
    assert outcomes.resolved.all()
    np.testing.assert_allclose(outcomes.velocity, [[0, 0, lift, 0], [lift, 0, 0, 0]], atol=1e-14)


def test_box_and_wall_slides_on_the_floor(box_and_wall):
    """The floor is not approached, so the wall comes first in both orders. Figures of the paper."""
    outcomes = SequentialLCP().outcomes(box_and_wall)
    assert len(outcomes) == 1
    np.testing.assert_allclose(outcomes.velocity[0, :3], [0.0, 0.3058, 0.1056], atol=5e-5)
    assert SequentialLCP().resolve(box_and_wall).info["sequence"] == (1, 0)


def test_compass_gait_lifts_the_trailing_foot(compass_gait):
    """The leading foot alone is approached; it sticks, and the trailing foot leaves as in the paper's table."""
    outcome = SequentialLCP().resolve(compass_gait)
    np.testing.assert_allclose(outcome.velocity, [0.0996, 0.1980, 0.0, 0.0], atol=5e-5)


def test_two_balls_move_on_together(row_of_balls):
    problem = row_of_balls([1.0, 3.0], [2.0, -1.0], 0.0)
    outcome = SequentialLCP().resolve(problem)
    common = (1.0 * 2.0 - 3.0 * 1.0) / 4.0
    np.testing.assert_allclose(problem.generalized_velocity(outcome), [common, common], atol=1e-15)
    assert outcome.info["sequence"] == (0,)
    assert outcome.path.labels == ("before impact", "impact at contact 0")


def test_three_balls_share_the_momentum_after_many_impacts(row_of_balls):
    """Each impact back and forth quarters the difference left, which is 1 at first."""
    problem = row_of_balls([1.0, 1.0, 1.0], [1.0, 0.0, 0.0], 0.0)
    outcome = SequentialLCP().resolve(problem)
    np.testing.assert_allclose(problem.generalized_velocity(outcome), np.full(3, 1 / 3), atol=1e-11)
    sequence = outcome.info["sequence"]
    assert sequence == tuple(k % 2 for k in range(len(sequence)))
    speeds = [problem.generalized_velocity(impulse) for impulse in outcome.path.impulse]
    np.testing.assert_allclose(speeds[1:3], [[0.5, 0.5, 0], [0.5, 0.25, 0.25]], atol=1e-15)


def test_the_order_decides_which_ball_keeps_its_speed(row_of_balls):
    """Two balls run into a third from both sides; the one that hits first pushes it away from the other."""
    problem = row_of_balls([1.0, 1.0, 1.0], [1.0, 0.0, -0.5], 0.0)
    first = SequentialLCP(order=(0, 1), max_impacts=1).resolve(problem)
    second = SequentialLCP(order=(1, 0), max_impacts=1).resolve(problem)
    np.testing.assert_allclose(problem.generalized_velocity(first), [0.5, 0.5, -0.5], atol=1e-15)
    np.testing.assert_allclose(problem.generalized_velocity(second), [1.0, -0.25, -0.25], atol=1e-15)
    assert first.status is ImpactStatus.NOT_TERMINATED
    assert "after 1 single impacts" in first.message
    assert SequentialLCP().resolve(problem).info["sequence"][0] == 0
    assert SequentialLCP("least_approaching").resolve(problem).info["sequence"][0] == 1


@pytest.mark.parametrize(
    ("W", "u", "friction", "expected"),
    [
        # a point of mass ½ kg: below the friction angle it sticks, beyond it slides with λ = -u_n/W_nn
        ([[2, 0], [0, 2]], [-1, 0.4], 0.5, [0.5, -0.2]),
        ([[2, 0], [0, 2]], [-1, 0.8], 0.5, [0.5, -0.25]),
        ([[2, 0], [0, 2]], [-1, -0.5], 0.5, [0.5, 0.25]),
        # λ = -u_n/(W_nn - μ W_nt) while the tangent slips forward
        ([[2, 1], [1, 3]], [-1, 4.0], 0.5, [1 / 1.5, -0.5 / 1.5]),
        # μ W_nt > W_nn: no friction opposes slip forward without jamming, the contact sticks however fast
        ([[1, 2], [2, 5]], [-1, 40.0], 0.6, [85.0, -42.0]),
        # a body on a rail: the slip that one impulse leaves needs no friction
        ([[1, 2], [2, 4]], [-1, -2.0], 0.6, [1.0, 0.0]),
        ([[1, 2], [2, 4]], [-1, -2.0], 0.0, [1.0, 0.0]),
    ],
)
def test_single_planar_contact(W, u, friction, expected):
    problem = ImpactProblem(W, u, friction=friction, dim=2)
    outcome = SequentialLCP().resolve(problem)
    np.testing.assert_allclose(outcome.impulse, expected, rtol=1e-12, atol=1e-14)


def test_single_spatial_contact_slides_within_the_pyramid():
    """A point mass sliding along (1, 0.2): friction takes the edge that opposes it best, -x, at its full size."""
    problem = ImpactProblem(np.eye(3), [-1.0, 1.0, 0.2], friction=0.25)
    np.testing.assert_allclose(SequentialLCP().resolve(problem).impulse, [1.0, -0.25, 0.0], atol=1e-15)
    # slip at right angles to a side of the square |x| + |y| <= μ stays so, and friction is in between
    problem = ImpactProblem(np.eye(3), [-1.0, 0.5, 0.4], friction=0.5)
    impulse = SequentialLCP(cone_edges=4).resolve(problem).impulse
    np.testing.assert_allclose(impulse, [1.0, -0.3, -0.2], atol=1e-15)


def _violation(problem, edges, outcome):
    """How far the outcome of one contact breaks its complementarity conditions, as a share of its speed."""
    normal, tangential = outcome.impulse[0], outcome.impulse[1:]
    slip = outcome.velocity[1:]
    angle = 2 * np.pi * np.arange(edges) / edges
    directions = (
        np.column_stack([np.cos(angle), np.sin(angle)]) if len(slip) == 2 else np.array([[1.0], [-1.0]])
    )
    opposing = (-directions @ slip).max()
    size = np.abs(problem.u).max()
    dissipation = problem.friction[0] * normal * opposing + tangential @ slip  # zero: friction opposes slip
    middles = directions
    if len(slip) == 2:
        middles = 0.5 * (directions + np.roll(directions, -1, axis=0))
    outside = (middles @ tangential - (middles**2).sum(axis=1) * problem.friction[0] * normal).max()
    return max(
        abs(outcome.velocity[0]) / size,
        abs(dissipation) / (size * max(problem.friction[0], 1.0) * normal),
        max(outside, 0.0) / normal,
    )


@pytest.mark.parametrize("dim", [2, 3])
@pytest.mark.parametrize("freedoms", ["one", "few", "many"])
def test_single_contacts_satisfy_their_conditions(dim, freedoms):
    """Also those whose W has rank one or two, or that couple so strongly that slip in one direction jams."""
    rng = np.random.default_rng(4)
    for _ in range(150):
        k = {"one": 1, "few": dim, "many": dim + 2}[freedoms]
        J, v = rng.normal(size=(dim, k)), rng.normal(size=k)
        v *= -np.sign(J[0] @ v)
        edges = int(rng.choice([3, 4, 8]))
        inertia = np.diag(10.0 ** rng.uniform(-1, 1, size=k))
        problem = ImpactProblem.from_generalized(
            inertia, J, v, friction=rng.choice([0.1, 0.5, 1.0, 3.0, 10.0]), dim=dim
        )
        outcome = SequentialLCP(cone_edges=edges).resolve(problem)
        assert outcome.resolved
        assert len(outcome.info["sequence"]) == 1
        assert _violation(problem, edges, outcome) <= 1e-10


@pytest.mark.parametrize("dim", [2, 3])
def test_single_contacts_agree_with_the_simultaneous_law(dim):
    """One contact is one complementarity problem; of its solutions, several in rare cases, it takes one."""
    rng = np.random.default_rng(5)
    for _ in range(60):
        J, v = rng.normal(size=(dim, dim + 1)), rng.normal(size=dim + 1)
        problem = ImpactProblem.from_generalized(np.eye(dim + 1), J, v, friction=rng.uniform(0, 2), dim=dim)
        solutions = AnitescuPotra(cone_edges=4).outcomes(problem).velocity
        velocity = SequentialLCP(cone_edges=4).resolve(problem).velocity
        assert np.abs(solutions - velocity).max(axis=1).min() <= 1e-10


def _random_impact(rng, freedoms):
    """One to six contacts that leave a separating motion; few freedoms leave W without full rank."""
    dim, contacts = int(rng.integers(2, 4)), int(rng.integers(1, 7))
    if freedoms == "many":
        k = dim * contacts + 2
    else:
        k = int(rng.integers(1, 6))
    J, separating = rng.normal(size=(dim * contacts, k)), rng.normal(size=k)
    normals = J[::dim]
    normals[normals @ separating < 0.0] *= -1.0
    friction = rng.uniform(0.0, 1.2, size=contacts) * (rng.random(contacts) > 0.15)
    mass = np.diag(10.0 ** rng.uniform(-0.5, 0.5, size=k))
    return ImpactProblem.from_generalized(
        mass, J, rng.normal(size=k) - separating, friction=friction, dim=dim
    )


@pytest.mark.parametrize("order", ["most_approaching", "cyclic"])
@pytest.mark.parametrize("freedoms", ["few", "many"])
def test_agrees_with_the_slow_version(order, freedoms):
    """Contact by contact, also over hundreds of single impacts."""
    longest = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        problem, edges = _random_impact(rng, freedoms), int(rng.choice([3, 4, 5, 8]))
        impulse, sequence, status = reference.resolve_slowly(problem, order, edges, 1000)
        outcome = SequentialLCP(order, edges, 1000).resolve(problem)
        assert outcome.status is status
        assert outcome.info["sequence"] == sequence
        size = np.abs(impulse).max()
        np.testing.assert_allclose(outcome.impulse, impulse, rtol=0, atol=1e-12 * size)
        longest = max(longest, len(sequence))
    assert longest > 300


@pytest.mark.parametrize("edges", range(3, 13))
def test_pyramids_are_regular_and_those_of_the_simultaneous_law(edges):
    angle = 2.0 * np.pi * np.arange(edges) / edges
    regular = np.column_stack([np.cos(angle), np.sin(angle)])
    np.testing.assert_allclose(pyramid(3, edges), regular, rtol=0, atol=1e-15)
    np.testing.assert_array_equal(pyramid(3, edges), edge_directions(3, edges))
    np.testing.assert_array_equal(edge_directions(2, edges), [[1.0], [-1.0]])
    np.testing.assert_array_equal(pyramid(2, edges)[:, 1], 0.0)


def _stack_of_boxes(height):
    """Boxes of mass 1, four contacts under each, that slide and turn a little and fall with 1 m/s."""
    half = np.array([0.5, 0.5, 0.25])
    rows = np.zeros((4 * height, 3, 6 * height))
    axes = np.array([[0, 0, 1], [1, 0, 0], [0, 1, 0]])
    for level in range(height):
        for corner in range(4):
            arm = half * [corner % 2 * 2 - 1, corner // 2 * 2 - 1, -1]
            for body, sign, at in ((level, 1, arm), (level - 1, -1, arm * [1, 1, -1])):
                if body >= 0:
                    rows[4 * level + corner, :, 6 * body : 6 * body + 3] = sign * axes
                    rows[4 * level + corner, :, 6 * body + 3 : 6 * body + 6] = sign * np.cross(at, axes)
    mass = np.tile([1, 1, 1, *(half @ half - half**2) / 3], height)
    velocity = np.tile([0.3, 0.1, -1.0, 0.1, 0.2, 0.05], height)
    return ImpactProblem.from_generalized(
        np.diag(mass), rows.reshape(12 * height, -1), velocity, friction=0.5, dim=3
    )


def test_a_stack_that_takes_thousands_of_single_impacts_is_resolved():
    problem = _stack_of_boxes(4)
    outcome = SequentialLCP().resolve(problem)
    assert outcome.resolved, outcome.message
    assert len(outcome.info["sequence"]) > 3000
    # no approach left, also not by the rounding of so many changes of velocity
    before = np.abs(problem.approach_measure()).max()
    assert problem.approach_measure(problem.u + problem.W @ outcome.impulse).min() >= -1.01e-11 * before
    assert outcome.energy_change < 0.0
    path = outcome.path.impulse
    energy = path @ problem.u + 0.5 * ((path @ problem.W) * path).sum(axis=1)
    assert np.diff(energy).max() <= 1e-14 * abs(outcome.energy_change)
    impulse, sequence, _ = reference.resolve_slowly(problem, max_impacts=10_000)
    assert outcome.info["sequence"] == sequence
    np.testing.assert_allclose(outcome.impulse, impulse, rtol=0, atol=1e-12 * np.abs(impulse).max())


@pytest.mark.parametrize("order", ["most_approaching", "cyclic", "random"])
@pytest.mark.parametrize("limit", [299, 300, 301, 100_000])
def test_the_record_grows_unseen(monkeypatch, order, limit):
    problem, law = _stack_of_boxes(3), SequentialLCP(order, max_impacts=limit)
    outcomes = []
    for room in (3, 75, 300, 10_000):
        monkeypatch.setattr("carom.impact_laws.sequential_lcp._FIRST_ROOM", room)
        outcomes.append(law.resolve(problem))
    assert outcomes[0].resolved is (limit == 100_000)
    assert len(outcomes[0].info["sequence"]) == limit or limit == 100_000
    for outcome in outcomes[1:]:
        assert outcome.info == outcomes[0].info
        np.testing.assert_array_equal(outcome.path.impulse, outcomes[0].path.impulse)


def test_velocity_that_has_drifted_is_found():
    """A sum of changes that says nothing approaches, when u + W p does."""
    W, u, friction, restitution = _stack_of_boxes(1).kernel_arrays()
    velocity, impulse, record = np.zeros(12), np.zeros(12), np.empty((1000, 4))
    scale = np.sqrt(W.diagonal()[::3])
    ended, made = resolve_in_turn(
        W, u, friction, restitution, scale, -1e-11, 0, np.arange(4), np.zeros(2, dtype=np.int64), 3, 8, 1000,
        velocity, impulse, record, 0,
    )  # fmt: skip
    assert ended == RESOLVED
    assert made > 4
    np.testing.assert_allclose(velocity, u + W @ impulse, rtol=0, atol=1e-14)
    assert (u + W @ impulse)[::3].min() >= -1e-10


class _InPython(SequentialLCP):
    """The same law, which a run does not know to be compiled."""


def _tilted_stack(planar):
    """Two boxes that rest on each other, not quite above each other, and a third that falls on them."""
    scene, material = carom.Scene(), carom.Material(friction=0.5, restitution=0.0)
    if planar:
        scene.planar()
    scene.add(carom.Body(carom.HalfSpace((0, 0, 1)), fixed=True, material=material))
    top = 0.0
    for k in range(3):
        box = carom.Box((0.3 - 0.04 * k, 0.25 - 0.03 * k, 0.1 + 0.02 * k))
        place = (0.004 * (k + 1) * (-1) ** k, 0.0 if planar else 0.001 * k, top + 0.5 * box.lengths[2])
        top += box.lengths[2] + (0.02 if k == 1 else 0.0)
        scene.add(carom.Body(box, density=500.0 + 100.0 * k, position=place, velocity=(0.1 * k, 0, 0),
                             material=material))  # fmt: skip
    return scene


@pytest.mark.parametrize("planar", [True, False])
@pytest.mark.parametrize("order", ["most_approaching", "cyclic"])
def test_runs_are_those_of_the_law_in_python(planar, order):
    ours, theirs = (
        carom.Simulator(_tilted_stack(planar), law(order)).run(1.0) for law in (SequentialLCP, _InPython)
    )
    assert ours.status is theirs.status is carom.RunStatus.AT_REST
    assert len(ours.events) == len(theirs.events)
    most = 0
    for mine, other in zip(ours.events, theirs.events, strict=True):
        assert (mine.kind, mine.note) == (other.kind, other.note)
        assert mine.time == pytest.approx(other.time, abs=1e-12)
        assert (mine.outcome is None) == (other.outcome is None)
        if mine.outcome is None:
            continue
        sequence = mine.outcome.info["sequence"]
        assert sequence == tuple(other.outcome.info["sequence"])
        assert mine.outcome.path.labels == other.outcome.path.labels
        size = np.abs(other.outcome.impulse).max()
        np.testing.assert_allclose(mine.outcome.path.impulse, other.outcome.path.impulse, atol=1e-11 * size)
        most = max(most, len(sequence))
    assert most > 500


def test_a_run_says_that_impacts_were_too_many():
    trajectory = carom.Simulator(_tilted_stack(True), SequentialLCP(max_impacts=100)).run(1.0)
    assert trajectory.status is carom.RunStatus.LAW_FAILED
    assert "a contact still approaches after 100 single impacts" in trajectory.message
    assert len(trajectory.events[-1].outcome.info["sequence"]) == 100


def _one_after_the_other(problem, visits, impacts):
    """The slow, obvious version for planar contacts: the simultaneous law for each contact alone."""
    impulse, cursor = np.zeros(problem.u.size), 0
    sequence = []
    while len(sequence) < impacts:
        velocity = problem.u + problem.W @ impulse
        contact = visits[cursor % len(visits)]
        cursor += 1
        assert cursor < 10 * impacts
        if problem.approaching(velocity)[contact]:
            rows = slice(2 * contact, 2 * contact + 2)
            alone = ImpactProblem(
                problem.W[rows, rows],
                velocity[rows],
                friction=problem.friction[contact],
                restitution=problem.restitution[contact],
                dim=2,
            )
            impulse[rows] += AnitescuPotra().resolve(alone).impulse
            sequence.append(contact)
    return impulse, tuple(sequence)


def test_agrees_with_the_simultaneous_law_of_each_contact(random_problem):
    """Over the first impacts: later ones are decided by rounding."""
    rng = np.random.default_rng(6)
    for _ in range(30):
        problem = random_problem(rng, "regular", 2)
        visits = tuple(rng.permutation(problem.contact_count).tolist())
        outcome = SequentialLCP(order=visits, max_impacts=8).resolve(problem)
        impulse, sequence = _one_after_the_other(problem, visits, len(outcome.info["sequence"]))
        assert outcome.info["sequence"] == sequence
        accuracy = 1e-8 if problem.restitution.any() else 1e-9  # shares of it are found to 1e-9
        np.testing.assert_allclose(outcome.impulse, impulse, atol=accuracy * np.abs(impulse).max(initial=0.0))


def test_outcomes_are_those_of_their_labels(random_problem):
    rng = np.random.default_rng(7)
    most = 0
    for _ in range(20):
        problem = random_problem(rng, "regular", int(rng.integers(2, 4)))
        outcomes = SequentialLCP().outcomes(problem)
        most = max(most, len(outcomes))
        for k, order in enumerate(outcomes.labels):
            alone = SequentialLCP(order=order).resolve(problem)
            assert np.array_equal(alone.velocity, outcomes.velocity[k])
            assert np.array_equal(alone.impulse, outcomes.impulse[k])
            assert len(alone.info["sequence"]) == outcomes.solves[k]
        rows = [tuple(row) for row in np.round(outcomes.velocity, 9)]
        assert rows == sorted(set(rows))
        # every alternating order leads to one of them
        drawn = SequentialLCP(order=tuple(rng.permutation(problem.contact_count).tolist())).resolve(problem)
        distance = np.abs(outcomes.velocity - drawn.velocity).max(axis=1).min()
        assert distance <= 1e-6 * np.abs(problem.u).max()
    assert most > 2


def test_outcomes_refuse_more_contacts_than_they_permute(row_of_balls):
    with pytest.raises(ValueError, match="at most 5 contacts, this problem has 6"):
        SequentialLCP().outcomes(row_of_balls([1.0] * 7, np.linspace(1, 0, 7)))


def test_immovable_contacts_have_no_solution():
    problem = ImpactProblem(np.diag([1.0, 1.0, 0.0, 0.0]), [1.0, 0, -1.0, 0], friction=0.5, dim=2)
    outcome = SequentialLCP().resolve(problem)
    assert outcome.status is ImpactStatus.NO_SOLUTION
    assert "contact 1" in outcome.message
    assert not SequentialLCP().outcomes(problem).resolved.any()


def test_random_orders_follow_the_generator(row_of_balls):
    problem = row_of_balls([1.0, 1.0, 1.0], [1.0, 0.0, -0.5], 0.0)
    law = SequentialLCP(order="random")
    first = {law.resolve(problem, np.random.default_rng(k)).info["sequence"][0] for k in range(20)}
    assert first == {0, 1}
    assert law.resolve(problem).info == law.resolve(problem, np.random.default_rng(0)).info


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"order": "best"}, ValueError),
        ({"order": 3}, TypeError),
        ({"order": [0, 0.5]}, TypeError),
        ({"cone_edges": 2}, ValueError),
        ({"max_impacts": 0}, ValueError),
        ({"max_impacts": True}, TypeError),
    ],
)
def test_bad_parameters_are_named(change, error):
    with pytest.raises(error, match=next(iter(change))):
        SequentialLCP(**change)


def test_an_order_must_name_every_contact(rocking_block):
    outcome = SequentialLCP(order=(0, 2)).resolve(rocking_block)
    assert outcome.status is ImpactStatus.ORDER_MISFIT
    assert outcome.message.startswith("order must name every contact from 0 to 1")
