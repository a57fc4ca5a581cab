"""Random outcomes: published examples, every solution of a step, energy, restitution, seeds, threads, refusals."""

from dataclasses import replace

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from carom.demos.impact_examples import EXAMPLES
from carom.impact_laws import (
    ImpactProblem,
    ImpactStatus,
    SequentialReflection,
    SetValuedRouth,
    enumerate_lcp_solutions,
    lcp_kernels,
    routh_kernels,
)
from carom.impact_laws.anitescu_potra import edge_directions


# Problems a sample with accurate solves, from other code with other random numbers: Halm & Posa's table 3 has 2.67,
# 2.27, 1.97, 3.20, whose digits come from the error of its solver.
@pytest.mark.parametrize(
    ("name", "solves"),
    [("rocking_block", 2.47), ("box_and_wall", 1.54), ("compass_gait", 2.27), ("ramone", 3.0)],
)
def test_accurate_solves_take_fewer_problems_than_printed(name, solves):
    example = EXAMPLES[name]()
    law = SetValuedRouth(step=example.step, rates="independent")
    outcomes = law.sample(example.problem, 2**15, seed=5)
    assert outcomes.resolved.all()
    assert outcomes.solves.mean() == pytest.approx(solves, abs=0.03)
    noisy = next(law.sample_pieces(example.problem, 4096, velocity_noise=1e-8))
    assert noisy.solves.mean() > outcomes.solves.mean() + 0.15


def test_rocking_block_leaves_one_corner_on_the_floor(rocking_block):
    outcomes = SetValuedRouth(step=0.3).sample(rocking_block, 2**15, seed=5)
    normal = outcomes.velocity[:, [0, 2]]
    assert normal.min() >= -1e-9
    assert normal[:, 0].mean() == pytest.approx(normal[:, 1].mean(), rel=0.1)
    assert np.minimum(normal[:, 0], normal[:, 1]).max() <= 1e-6


@pytest.mark.parametrize(("name", "share"), [("compass_gait", 0.9), ("ramone", 1.0), ("rocking_block", 0.0)])
def test_share_of_steps_with_several_solutions(name, share):
    example = EXAMPLES[name]()
    law = SetValuedRouth(step=example.step, rates="independent")
    outcomes = law.sample(example.problem, 4096)
    assert outcomes.branched_steps.sum() / outcomes.solves.sum() == pytest.approx(share, abs=0.02)
    first = replace(law, branches="first").sample(example.problem, 4096)
    assert not first.branched_steps.any()
    if share > 0.0:  # one branch leaves most of the set out
        assert (np.ptp(first.velocity, axis=0) < np.ptp(outcomes.velocity, axis=0) - 1e-5).any()


def all_step_velocities(problem, bounds):
    """Distinct velocities after one step, from every complementary basis of its LCP."""
    W, u, friction, _ = problem.kernel_arrays()
    directions = edge_directions(2, 8)
    size = 2 * len(friction) + 3 * np.count_nonzero(friction)
    M, q, part = np.empty((size, size)), np.empty(size), np.empty(u.size)
    routh_kernels.assemble_step(W, friction, directions, M, q)
    routh_kernels.fill_step(u, friction, directions, bounds, q)
    found = []
    for z in enumerate_lcp_solutions(M, q):
        lcp_kernels.impulse_in_cones(z[len(friction) :], friction, directions, part)
        after = u + W @ part
        if all(np.abs(after - known).max() > 1e-7 * np.abs(u).max() for known in found):
            found.append(after)
    return np.array(found)


def compare_solutions_of_a_step(problem, bounds):
    W, u, friction, _ = problem.kernel_arrays()
    impulses, velocities = np.empty((64, 4)), np.empty((64, 4))
    scale = np.sqrt(np.diag(W))
    count = routh_kernels.planar_step_solutions(W, u, friction, bounds, scale, impulses, velocities)
    expected = all_step_velocities(problem, bounds)
    assert count == len(expected)
    largest = np.abs(u).max()
    for after, impulse in zip(velocities[:count], impulses[:count], strict=True):
        assert np.abs(expected - after).max(axis=1).min() <= 1e-8 * largest
        np.testing.assert_allclose(u + W @ impulse, after, atol=1e-9 * largest)
        assert (impulse[::2] >= 0.0).all()
        assert (impulse[::2] <= bounds * (1.0 + 1e-9) + 1e-12).all()
        assert (np.abs(impulse[1::2]) <= friction * impulse[::2]).all()


@pytest.mark.parametrize("name", ["rocking_block", "compass_gait", "box_and_wall", "ramone"])
def test_all_solutions_of_a_step_are_found(name):
    example = EXAMPLES[name]()
    rng = np.random.default_rng(3)
    for _ in range(25):
        path = SetValuedRouth(step=example.step).resolve(example.problem, rng).path
        u = path.velocity[rng.integers(0, len(path) - 1)]
        problem = ImpactProblem(example.problem.W, u, friction=example.problem.friction, dim=2)
        compare_solutions_of_a_step(problem, example.step * rng.uniform(size=2))


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.integers(0, 10_000))
def test_all_solutions_of_a_random_step_are_found(seed):
    rng = np.random.default_rng(seed)
    freedoms = int(rng.integers(2, 7))
    J = rng.normal(size=(4, freedoms))
    v = rng.normal(size=freedoms)
    friction = rng.choice([0.0, 0.3, 1.0, 5.0], size=2)
    problem = ImpactProblem.from_generalized(np.eye(freedoms), J, v, friction=friction, dim=2)
    compare_solutions_of_a_step(problem, rng.uniform(size=2))


@pytest.mark.parametrize("name", EXAMPLES)
@pytest.mark.parametrize("restitution", ["none", "poisson", "energetic"])
def test_no_step_gains_energy(name, restitution):
    """Compression loses energy in every step, and restitution never brings back more than was lost."""
    example = EXAMPLES[name]()
    problem = ImpactProblem(
        example.problem.W, example.problem.u, friction=example.problem.friction, restitution=0.6, dim=2
    )
    law = SetValuedRouth(step=example.step, restitution=restitution)
    for seed in range(40):
        outcome = law.resolve(problem, np.random.default_rng(seed))
        assert outcome.resolved, outcome.message
        energies = np.array([p @ problem.u + 0.5 * p @ problem.W @ p for p in outcome.path.impulse])
        compressing = np.array([label != "restitution" for label in outcome.path.labels[1:]])
        if restitution != "energetic":  # where contacts return energy while others are compressed
            assert np.diff(energies)[compressing].max() <= 1e-12
        assert energies.max() <= 1e-12
        assert (restitution == "poisson") == (not compressing.all())


def test_poisson_restitution_of_one_contact():
    """A ball with friction: the returned impulse is e times that of compression, along it."""
    problem = ImpactProblem(np.diag([1.0, 3.5]), [-2.0, 1.0], friction=0.1, restitution=0.5, dim=2)
    outcome = SetValuedRouth(step=10.0, restitution="poisson").resolve(problem, np.random.default_rng(2))
    assert outcome.path.labels == (
        "before impact",
        "step 1",
        "restitution",
    )  # its bound stops the ball at once
    np.testing.assert_allclose(outcome.impulse, 1.5 * np.array([2.0, -0.2]), rtol=1e-12)
    assert outcome.velocity[0] == pytest.approx(1.0)
    assert SetValuedRouth().honours_restitution is False
    assert SetValuedRouth(restitution="poisson").honours_restitution is True


def test_restitution_is_shortened_where_it_would_gain_energy():
    """Masses 1 and 4 on a line between a wall: contact impulses returned together would gain energy."""
    W = np.zeros((4, 4))
    W[np.ix_([0, 2], [0, 2])] = [[1.0, -1.0], [-1.0, 1.25]]
    W[1, 1] = W[3, 3] = 1.0
    for velocity in ([0.0, 0.0, -1.0, 0.0], [-1.0, 0.0, 0.5, 0.0], [0.5, 0.0, -1.0, 0.0]):
        problem = ImpactProblem(W, velocity, restitution=[1.0, 1.0], dim=2)
        law = SetValuedRouth(restitution="poisson")
        outcomes = law.sample(problem, 2000)
        assert outcomes.resolved.all()
        change = (outcomes.impulse * (problem.u + 0.5 * (outcomes.velocity - problem.u))).sum(axis=1)
        assert change.max() <= 1e-12
        assert outcomes.velocity[:, ::2].min() >= -1e-8


def test_samples_depend_on_their_number_only(rocking_block):
    law = SetValuedRouth()
    some = law.sample(rocking_block, 100, seed=3)
    more = law.sample(rocking_block, 700, seed=3)
    assert np.array_equal(some.impulse, more.impulse[:100])
    assert not np.array_equal(some.impulse, law.sample(rocking_block, 100, seed=4).impulse)
    threads = numba.get_num_threads()
    try:
        numba.set_num_threads(1)
        alone = law.sample(rocking_block, 700, seed=3)
    finally:
        numba.set_num_threads(threads)
    assert np.array_equal(alone.impulse, more.impulse)


@pytest.mark.parametrize("sampling", ["uniform", "sobol"])
def test_pieces_join_to_the_whole(rocking_block, sampling):
    law = SetValuedRouth()
    whole = law.sample(rocking_block, 1024, 7, sampling)
    pieces = list(law.sample_pieces(rocking_block, 1024, 7, sampling, piece=100))
    assert [len(piece) for piece in pieces] == [100] * 10 + [24]
    assert np.array_equal(np.concatenate([piece.impulse for piece in pieces]), whole.impulse)
    assert np.array_equal(whole[10:20].velocity, whole.velocity[10:20])


def test_sobol_sampling_is_more_even(rocking_block):
    """The mean of a smooth statistic varies less between seeds than with independent samples."""
    law = SetValuedRouth(step=0.3, rates="independent")

    def spread(sampling):
        return np.std([law.sample(rocking_block, 512, seed, sampling).solves.mean() for seed in range(20)])

    assert spread("sobol") < 0.5 * spread("uniform")


def flat_box(friction=0.4):
    """A box of unit mass lands on its four corners while it slides."""
    corners = np.array([[x, y, -0.1] for x in (-0.5, 0.5) for y in (-0.5, 0.5)])
    J = np.zeros((12, 6))
    for c, (x, y, z) in enumerate(corners):
        J[3 * c : 3 * c + 3] = [[0, 0, 1, y, -x, 0], [1, 0, 0, 0, z, -y], [0, 1, 0, -z, 0, x]]
    return ImpactProblem.from_generalized(
        np.diag([1, 1, 1, 0.1, 0.1, 0.2]), J, [0.3, 0.1, -1.0, 0, 0, 0], friction=friction
    )


def cube_on_an_edge(friction=0.4):
    """A unit cube of unit mass lands on an edge along y, turning a little about every axis."""
    height = np.sqrt(0.5)
    J = np.zeros((6, 6))
    for c, y in enumerate((-0.5, 0.5)):
        J[3 * c : 3 * c + 3] = [[0, 0, 1, y, 0, 0], [1, 0, 0, 0, -height, -y], [0, 1, 0, height, 0, 0]]
    return ImpactProblem.from_generalized(
        np.diag([1, 1, 1, 1 / 6, 1 / 6, 1 / 6]), J, [0.3, 0.2, -1.0, 0.1, 0.3, 0.2], friction=friction
    )


@pytest.mark.parametrize("problem", [flat_box(), cube_on_an_edge()], ids=["flat box", "cube on an edge"])
def test_spatial_impacts_stay_in_their_cones(problem):
    outcomes = SetValuedRouth().sample(problem, 2000)
    assert outcomes.resolved.all()
    impulse = outcomes.impulse.reshape(len(outcomes), -1, 3)
    size = np.linalg.norm(impulse[..., 1:], axis=-1)
    assert (size <= 0.4 * impulse[..., 0] * (1 + 1e-12)).all()
    np.testing.assert_allclose(outcomes.velocity, problem.u + outcomes.impulse @ problem.W, atol=1e-12)
    assert outcomes.velocity[:, ::3].min() >= -1e-8
    assert outcomes.velocity[:, 0].std() > 1e-3


def test_too_few_steps_are_a_status(rocking_block):
    law = SetValuedRouth(step=1e-3, max_steps=3)
    assert law.resolve(rocking_block).status is ImpactStatus.NOT_TERMINATED
    assert not law.sample(rocking_block, 10).resolved.any()


def test_one_frictionless_contact_has_one_outcome():
    problem = ImpactProblem(np.eye(3), [-1.0, 0.2, 0.0])
    outcomes = SetValuedRouth().sample(problem, 50)
    plastic = SequentialReflection().resolve(problem)
    np.testing.assert_allclose(outcomes.velocity, np.tile(plastic.velocity, (50, 1)), atol=1e-9)


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"step": 0.0}, ValueError),
        ({"step": "long"}, TypeError),
        ({"cone_edges": 2}, ValueError),
        ({"max_steps": 0}, ValueError),
        ({"max_steps": 2.5}, TypeError),
        ({"branches": "some"}, ValueError),
        ({"restitution": 0.5}, ValueError),
    ],
)
def test_bad_parameters_are_named(change, error):
    with pytest.raises(error, match=next(iter(change))):
        SetValuedRouth(**change)


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"count": 0}, ValueError),
        ({"count": 1.5}, TypeError),
        ({"count": True}, TypeError),
        ({"seed": -1}, ValueError),
        ({"seed": "a"}, TypeError),
        ({"sampling": "halton"}, ValueError),
    ],
)
def test_bad_samples_are_named(rocking_block, change, error):
    with pytest.raises(error, match=next(iter(change))):
        SetValuedRouth().sample(rocking_block, **{"count": 5, **change})


def test_negative_noise_is_named(rocking_block):
    with pytest.raises(ValueError, match="velocity_noise"):
        next(SetValuedRouth().sample_pieces(rocking_block, 5, velocity_noise=-1.0))


@pytest.mark.parametrize("slip", [1.0, -1.0])
def test_slow_approach_beside_fast_slip_ends(slip):
    """The lower disks slip at 1 m/s, the top one sinks at 5e-7 m/s: solvers err by a fraction of the slip."""
    u = np.zeros(10)
    u[[1, 3]] = slip
    u[6:] = -5e-7 * np.array([np.sqrt(0.75), -0.5, np.sqrt(0.75), 0.5])
    problem = ImpactProblem(EXAMPLES["disk_stack"]().problem.W, u, np.full(5, 0.3), dim=2)
    for seed in range(40):
        outcome = SetValuedRouth().resolve(problem, np.random.default_rng(seed))
        assert outcome.resolved, outcome.message
        assert outcome.velocity[::2].min() >= -1e-8


# Largest and least velocities of contacts; box and wall's 0.3721 by a search over orders and lengths of compression
EXTENTS = {
    "rocking_block": {0: (0.0, 0.0930), 2: (0.0, 0.0930)},
    "box_and_wall": {1: (0.0, 0.3721), 2: (0.0, 0.1056), 3: (0.0, 0.0725)},
    "compass_gait": {0: (0.0, 0.0996), 1: (0.0, 0.1980)},
}


@pytest.mark.parametrize("name", EXTENTS)
@pytest.mark.parametrize("share", [1.0, 0.1, pytest.param(0.01, marks=pytest.mark.long)])
def test_smaller_steps_keep_the_extent(name, share):
    """Rates that last do not average out; those drawn anew in every step do."""
    example = EXAMPLES[name]()
    law = SetValuedRouth(step=share * example.step)
    outcomes = law.sample(example.problem, 20_000)
    assert outcomes.resolved.all()
    for component, (low, high) in EXTENTS[name].items():
        width = high - low
        assert outcomes.velocity[:, component].max() >= high - 0.02 * width
        assert outcomes.velocity[:, component].max() <= high + 1e-3 * width
        assert outcomes.velocity[:, component].min() <= low + 0.02 * width
    if share < 1.0:
        averaged = replace(law, rates="independent").sample(example.problem, 2000)
        assert (np.ptp(averaged.velocity, axis=0) < 0.8 * np.ptp(outcomes.velocity, axis=0) + 1e-12).any()
