"""The estimated set of outcomes: exact small sets, hulls against brute force, modes, growth, stopping, refusals."""

import itertools

import numpy as np
import pytest

from carom.demos.impact_examples import EXAMPLES
from carom.impact_laws import AnitescuPotra, ImpactProblem, SetValuedRouth, hull_of, post_impact_set


@pytest.fixture(scope="module")
def block_set():
    example = EXAMPLES["rocking_block"]()
    return post_impact_set(example.problem, SetValuedRouth(step=example.step), 2**15, seed=1)


def test_the_block_rests_or_rocks_on_either_corner(block_set):
    """Halm & Posa: nothing lies beyond the sequential outcome 0.0930, and the set is two segments from rest."""
    assert block_set.count == 2**15
    assert block_set.unresolved == 0
    assert set(block_set.mode_counts) == {("stick", "stick"), ("separate", "stick"), ("stick", "separate")}
    assert sum(block_set.mode_counts.values()) == block_set.count
    for contact in (0, 2):
        assert 0.0929 < block_set.upper[contact] <= 0.0931
        assert block_set.lower[contact] >= -1e-9
    assert block_set.hull.dimension == 2
    assert block_set.hull.measure == pytest.approx(0.5 * block_set.upper[0] * block_set.upper[2], rel=1e-6)
    assert not block_set.branching_mattered


def test_statistics_are_those_of_all_samples_at_once():
    example = EXAMPLES["compass_gait"]()
    law = SetValuedRouth(step=example.step)
    found = post_impact_set(example.problem, law, 20_000, seed=4, keep=3000)
    whole = law.sample(example.problem, 20_000, seed=4)
    assert len(found.outcomes) == 3000
    assert np.array_equal(found.outcomes.velocity, whole.velocity[:3000])
    np.testing.assert_allclose(found.mean, whole.velocity.mean(axis=0), rtol=1e-10, atol=1e-15)
    np.testing.assert_allclose(found.covariance, np.cov(whole.velocity.T), rtol=1e-9, atol=1e-16)
    assert np.array_equal(found.lower, whole.velocity.min(axis=0))
    assert np.array_equal(found.upper, whole.velocity.max(axis=0))
    assert found.solves == pytest.approx(whole.solves.mean())
    assert found.branched_share == pytest.approx(whole.branched_steps.sum() / whole.solves.sum())
    assert found.branching_mattered
    np.testing.assert_allclose(
        found.quantiles([0.0, 0.5]), np.quantile(whole.velocity[:3000], [0.0, 0.5], axis=0)
    )
    for k in range(4):
        assert found.extremes.velocity[k, k] == found.lower[k]
        assert found.extremes.velocity[4 + k, k] == found.upper[k]
    assert found.hull.outside(whole.velocity).max() <= 1e-9


@pytest.mark.parametrize("name", ["compass_gait", "ramone", "rocking_block", "box_and_wall"])
def test_simultaneous_outcomes_lie_in_the_set(name):
    example = EXAMPLES[name]()
    found = post_impact_set(example.problem, SetValuedRouth(step=example.step), 2**15)
    size = np.ptp(found.hull.points, axis=0).max()
    assert found.hull.outside(AnitescuPotra().outcomes(example.problem).velocity).max() <= 0.1 * size


@pytest.mark.parametrize("dimension", [1, 2, 3, 4])
def test_hull_of_a_cube_in_more_components(dimension):
    """A scaled cube, turned into five components: its measure is known, and its corners are all found."""
    rng = np.random.default_rng(dimension)
    edges = rng.uniform(0.1, 3.0, dimension)
    turn = np.linalg.qr(rng.normal(size=(5, 5)))[0][:, :dimension]
    corners = np.array(list(itertools.product((0.0, 1.0), repeat=dimension))) * edges
    inner = rng.uniform(size=(500, dimension)) * edges
    hull = hull_of(np.vstack([corners, inner]) @ turn.T + 0.3)
    assert hull.dimension == dimension
    assert hull.measure == pytest.approx(edges.prod(), rel=1e-9)
    assert len(hull.points) == 2**dimension
    assert hull.outside(inner @ turn.T + 0.3).max() <= 1e-12
    beyond = np.full(dimension, 0.5) * edges
    beyond[0] = -0.25
    assert hull.outside(beyond @ turn.T + 0.3)[0] == pytest.approx(0.25, rel=1e-9)
    if dimension < 4:
        across = np.linalg.svd(turn.T)[2][dimension]
        assert hull.outside(inner[:1] @ turn.T + 0.3 + 0.2 * across)[0] == pytest.approx(0.2, rel=1e-9)


def test_hull_of_one_point_and_of_too_many_dimensions():
    assert hull_of(np.ones((50, 3))).dimension == 0
    with pytest.raises(ValueError, match="fewer components"):
        hull_of(np.random.default_rng(0).normal(size=(100, 6)))


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("size", [1.0, 1e100, 1e-100])
def test_hull_of_as_many_points_as_components(size):
    """Saved: three corners of a triangle in space counted as a solid, which Qhull refused in words of its own."""
    hull = hull_of(size * np.eye(3))
    assert hull.dimension == 2
    assert hull.measure == pytest.approx(size * size * np.sqrt(3.0) / 2.0, rel=1e-12)
    assert hull.outside(size * np.ones(3))[0] == pytest.approx(size * 2.0 / np.sqrt(3.0), rel=1e-12)


@pytest.mark.parametrize(
    ("points", "scale", "words"),
    [
        ([1.0, 2.0], None, "points must have shape"),
        ([[1.0, np.inf]], None, "points must be finite"),
        ("abc", None, "points must be an array of real numbers"),
        (np.empty((0, 3)), None, "points must have shape"),
        (np.eye(3), [1.0, 2.0], "scale must be a number"),
    ],
)
def test_points_that_have_no_hull_are_refused(points, scale, words):
    with pytest.raises((TypeError, ValueError), match=words):
        hull_of(points, scale)


def test_a_single_contact_has_a_set_of_one_outcome():
    problem = ImpactProblem(np.diag([1.0, 3.0]), [-1.0, 0.1], friction=0.5, dim=2)
    found = post_impact_set(problem, n=5000)
    assert found.hull.dimension == 0
    assert found.largest_hole <= 1e-8
    assert found.mode_counts == {("stick",): 5000}


def test_growth_is_recorded_and_ends_sampling():
    example = EXAMPLES["ramone"]()
    found = post_impact_set(example.problem, SetValuedRouth(step=example.step))
    counts = [entry.count for entry in found.growth]
    assert counts == [4096 * 2**k for k in range(len(counts))]
    assert all(a.measure <= b.measure * (1 + 1e-9) for a, b in itertools.pairwise(found.growth))
    assert found.count < 2**20
    assert "did not enlarge" in found.stopped


def test_epsilon_ends_sampling_when_enough_fresh_outcomes_were_near():
    example = EXAMPLES["rocking_block"]()
    law = SetValuedRouth(step=example.step)
    found = post_impact_set(example.problem, law, epsilon=2e-3, confidence=0.99, share=0.002)
    assert found.largest_hole <= 2e-3
    assert found.missed_share(0.99) <= 0.002
    fresh = law.sample(example.problem, 20_000, seed=99).velocity
    nearest = np.array([np.linalg.norm(found.outcomes.velocity - v, axis=1).min() for v in fresh[:500]])
    assert np.mean(nearest > 2e-3) <= 0.01
    never = post_impact_set(example.problem, law, epsilon=1e-12, most=10_000)
    assert never.count == 10_000
    assert never.stopped == "10000 outcomes drawn"


def test_impacts_that_never_end_are_named(rocking_block):
    with pytest.raises(ValueError, match="max_steps"):
        post_impact_set(rocking_block, SetValuedRouth(step=1e-3, max_steps=2), 100)
    partly = post_impact_set(rocking_block, SetValuedRouth(step=0.3, max_steps=3), 4000)
    assert 0 < partly.unresolved < 4000
    assert partly.count + partly.unresolved == 4000


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"n": 0}, ValueError),
        ({"epsilon": 0.0}, ValueError),
        ({"confidence": 1.0}, ValueError),
        ({"share": 0.0}, ValueError),
        ({"keep": 0}, ValueError),
        ({"most": 1.5}, TypeError),
        ({"law": AnitescuPotra()}, TypeError),
    ],
)
def test_bad_arguments_are_named(rocking_block, change, error):
    with pytest.raises(error, match=next(iter(change))):
        post_impact_set(rocking_block, **change)
