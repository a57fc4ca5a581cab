"""Outer bounds of the set-valued law: samples stay inside, exact cases, symmetry, verification, refusals."""

import numpy as np
import pytest
from scipy.optimize import linprog

from carom.demos.impact_examples import EXAMPLES
from carom.impact_laws import ImpactProblem, SequentialReflection, SetValuedRouth, outcome_bounds_kernels
from carom.impact_laws.outcome_bounds import outcome_bounds


@pytest.fixture(scope="module")
def bounds_of(request):
    """Bounds of the shared scenes, found once."""
    found = {}

    def bounds(scene):
        if scene not in found:
            found[scene] = outcome_bounds(request.getfixturevalue(scene))
        return found[scene]

    return bounds


def _samples(problem, count, seed=7):
    """Resolved outcomes of steps as by default, ten times and a tenth as large."""
    usual = float(SetValuedRouth().step_of(problem).max())
    outcomes = [
        SetValuedRouth(step=step).sample(problem, count, seed) for step in (None, 10.0 * usual, 0.1 * usual)
    ]
    return np.vstack([o.velocity[o.resolved] for o in outcomes])


def _two_contacts(seed):
    """A random planar problem of two contacts that some motion separates, one of which approaches."""
    rng = np.random.default_rng(seed)
    freedoms = int(rng.integers(2, 4))
    J = rng.normal(size=(4, freedoms))
    separating = rng.normal(size=freedoms)
    J[::2][J[::2] @ separating < 0.0] *= -1.0
    v = rng.normal(size=freedoms) - 2.0 * separating
    mass = np.diag(10.0 ** rng.uniform(-0.5, 0.5, size=freedoms))
    return ImpactProblem.from_generalized(mass, J, v, friction=rng.choice([0.0, 0.3, 1.0], size=2), dim=2)


@pytest.mark.parametrize(
    ("scene", "components", "least"),
    [
        ("rocking_block", (0, 2), 0.95),
        ("box_and_wall", (2, 3), 0.75),
        ("compass_gait", (0, 2), 0.85),
    ],
)
def test_bounds_of_the_scenes_hold_and_are_tight(scene, components, least, request, bounds_of):
    bounds = bounds_of(scene)
    problem = request.getfixturevalue(scene)
    samples = _samples(problem, 20000)
    assert bounds.verified
    assert bounds.defect <= 1e-9
    assert bounds.contains(samples).all()
    margin = 1e-7 * bounds.speed
    assert (samples.min(axis=0) >= bounds.lower - margin).all()
    assert (samples.max(axis=0) <= bounds.upper + margin).all()
    tightness = bounds.tightness(SetValuedRouth().sample(problem, 20000), components)
    assert tightness.width.min() > 0.75
    assert tightness.width.max() <= 1.0 + 1e-6
    assert least < tightness.area <= 1.0 + 1e-6
    assert tightness.components == components
    _SIDES[scene](bounds)


def _sides_of_the_block(block):
    """It lifts a corner at most as by the reflection of the other."""
    np.testing.assert_allclose(block.upper[[0, 2]], 0.0930, atol=5e-5)
    np.testing.assert_allclose(block.lower, 0.0, atol=1e-8)


def _sides_of_the_box(box):
    assert box.upper[1] > 0.3058  # of a known outcome
    assert box.upper[2] == pytest.approx(0.1056, abs=5e-5)


def _sides_of_the_foot(foot):
    np.testing.assert_allclose(foot.upper[:2], [0.0996, 0.1980], atol=5e-5)
    # the solution (0, 0.1285) of the simultaneous problem, which Lemke's method does not take
    assert foot.contains([[0.0, 0.1285, 0.0, 0.0]], 1e-4).all()


_SIDES = {
    "rocking_block": _sides_of_the_block,
    "box_and_wall": _sides_of_the_box,
    "compass_gait": _sides_of_the_foot,
}


@pytest.mark.parametrize("seed", range(10))
def test_outcomes_of_random_problems_lie_inside(seed):
    problem = _two_contacts(seed)
    bounds = outcome_bounds(problem)
    assert bounds.verified
    assert bounds.contains(_samples(problem, 7000)).all()


def _three_contacts(seed):
    """A random body in a plane with three contacts that some motion separates."""
    rng = np.random.default_rng(seed)
    J, separating = rng.normal(size=(6, 3)), rng.normal(size=3)
    J[::2][J[::2] @ separating < 0.0] *= -1.0
    v = rng.normal(size=3) - 2.0 * separating
    return ImpactProblem.from_generalized(
        np.eye(3), J, v, friction=rng.choice([0.0, 0.3, 0.6], size=3), dim=2
    )


@pytest.mark.parametrize("seed", [2, 4])
def test_three_contacts_of_one_body_are_bounded_tightly(seed):
    problem = _three_contacts(seed)
    bounds = outcome_bounds(problem)
    samples = _samples(problem, 10_000)
    assert bounds.verified
    assert bounds.contains(samples).all()
    assert bounds.tightness(samples).width.min() > 0.9


@pytest.mark.long
@pytest.mark.parametrize("seed", [0, 1, 3])
def test_more_bodies_with_three_contacts_are_bounded(seed):
    problem = _three_contacts(seed)
    bounds = outcome_bounds(problem)
    assert bounds.verified
    assert bounds.contains(_samples(problem, 10_000)).all()
    assert (bounds.upper - bounds.lower).max() < bounds.speed


@pytest.mark.long
def test_friction_without_a_limit_is_bounded_tightly():
    """The foot of a robot with friction 1e5: multiples of nearly opposite impulses once lost every digit."""
    problem = EXAMPLES["ramone"]().problem
    bounds = outcome_bounds(problem)
    assert bounds.verified
    samples = _samples(problem, 10_000)
    assert bounds.contains(samples).all()
    assert bounds.tightness(samples).width[:2].min() > 0.99
    assert bounds.upper.max() < 1e-3


def _spatial_contacts(seed, freedoms):
    """A random problem of two contacts in space that some motion separates."""
    rng = np.random.default_rng(seed)
    J, separating = rng.normal(size=(6, freedoms)), rng.normal(size=freedoms)
    J[::3][J[::3] @ separating < 0.0] *= -1.0
    v = rng.normal(size=freedoms) - 2.0 * separating
    return ImpactProblem.from_generalized(np.eye(freedoms), J, v, friction=rng.choice([0.3, 0.8], size=2))


def _verified_spatial_bounds(seed, freedoms, edges):
    """Bounds of a random problem, and samples of the law with as many edges, all of which lie inside."""
    problem = _spatial_contacts(seed, freedoms)
    bounds = outcome_bounds(problem, cone_edges=edges)
    samples = SetValuedRouth(cone_edges=edges).sample(problem, 5000)
    assert bounds.verified
    assert bounds.contains(samples.velocity[samples.resolved]).all()
    return bounds, samples


def test_one_contact_in_space_slides_as_its_equations_say():
    """Slip along an edge of the pyramid, W isotropic along the plane: a straight path."""
    W = np.array([[1.5, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 2.0]])
    bounds = outcome_bounds(ImpactProblem(W, [-1.0, 0.6, 0.6], friction=0.3))
    slip = 0.6 - 0.3 * 2.0 / 1.5 * np.sqrt(0.5)
    np.testing.assert_allclose(bounds.upper, [0.0, slip, slip], atol=1e-9)
    np.testing.assert_allclose(bounds.lower, bounds.upper, atol=1e-9)
    assert bounds.verified


def test_contacts_in_space_without_friction_are_those_in_the_plane():
    W = np.array([[1.5, 0.6], [0.6, 2.0]])
    bounds = [
        outcome_bounds(ImpactProblem(np.kron(W, np.eye(dim)), np.kron([-1.0, -0.1], np.eye(dim)[0]), dim=dim))
        for dim in (2, 3)
    ]
    for side in ("lower", "upper"):
        plane, space = (getattr(found, side) for found in bounds)
        np.testing.assert_allclose(space[[0, 3]], plane[[0, 2]], atol=1e-9)
    assert bounds[1].upper[3] - bounds[1].lower[3] > 0.05


@pytest.mark.parametrize(("seed", "freedoms", "least"), [(5, 5, 0.999), (5, 6, 0.999), (4, 5, 0.6)])
def test_two_contacts_in_space_are_bounded(seed, freedoms, least):
    """Slip that keeps to an edge, the first two, and slip that turns between a few."""
    bounds, samples = _verified_spatial_bounds(seed, freedoms, 8)
    assert samples.resolved.all()
    width = bounds.tightness(samples).width
    assert (width <= 1.0 + 1e-6).all()
    assert width.min() > least


@pytest.mark.long
@pytest.mark.parametrize(
    ("seed", "freedoms", "least"), [(1, 5, 0.4), (0, 6, 0.7), (1, 6, 0.7), (2, 6, 0.4), (4, 6, 0.2)]
)
def test_two_contacts_in_space_whose_slip_turns_are_bounded(seed, freedoms, least):
    bounds, samples = _verified_spatial_bounds(seed, freedoms, 4)
    room = bounds.upper - bounds.lower > 1e-6 * bounds.speed
    assert np.median(bounds.tightness(samples).width[room]) > least


def test_numbering_of_contacts_in_space_does_not_matter():
    problem = _spatial_contacts(5, 6)
    swap = [3, 4, 5, 0, 1, 2]
    swapped = ImpactProblem(problem.W[np.ix_(swap, swap)], problem.u[swap], problem.friction[::-1])
    bounds, other = outcome_bounds(problem), outcome_bounds(swapped)
    np.testing.assert_allclose(other.lower, bounds.lower[swap], atol=1e-8)
    np.testing.assert_allclose(other.upper, bounds.upper[swap], atol=1e-8)
    assert {r.normal_signs[::-1] for r in other.regions} == {r.normal_signs for r in bounds.regions}


@pytest.mark.parametrize("friction", [0.3, 1e5])
@pytest.mark.parametrize("seed", range(4))
def test_a_step_from_one_set_is_bounded_as_linear_programming_says(seed, friction):
    """All bounds of a step from a random polytope beside those of an independent solver."""
    rng = np.random.default_rng(seed)
    basis, slack, reach = np.eye(4), 1e-3, 10.0 * friction + 10.0
    template = rng.normal(size=(60, 4))
    template /= np.linalg.norm(template, axis=1)[:, None]
    offsets = 0.3 + 0.1 * rng.random(60)
    normals, tangents = rng.normal(size=(2, 2, 4))
    generators = np.vstack([normals + friction * tangents, normals - friction * tangents])
    generators /= np.linalg.norm(generators, axis=1)[:, None]
    inside = np.vstack([normals, tangents[0], -tangents[0], tangents[1]])
    directions = rng.normal(size=(40, 4))
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    values = np.empty(40)
    assert outcome_bounds_kernels.step_support(
        template, offsets, basis, generators, inside, slack, directions, reach, values
    )
    unknowns = np.hstack([basis, generators.T])
    rows = np.vstack([np.hstack([template, np.zeros((60, 4))]), inside @ unknowns])
    for direction, value in zip(directions, values, strict=True):
        best = linprog(
            -direction @ unknowns, rows, np.r_[offsets, np.full(len(inside), slack)],
            bounds=[(-1.0, 1.0)] * 4 + [(0.0, reach)] * 4,
            options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
        )  # fmt: skip
        assert best.status == 0
        assert value == pytest.approx(-best.fun, abs=1e-10 * reach)  # rounding of reach times the constraints


def test_one_frictionless_contact_is_a_point():
    problem = ImpactProblem([[1.5, 0.4], [0.4, 2.0]], [-1.0, 0.2], dim=2)
    bounds = outcome_bounds(problem)
    plastic = SequentialReflection().resolve(problem).velocity
    np.testing.assert_allclose(bounds.lower, plastic, atol=1e-9)
    np.testing.assert_allclose(bounds.upper, plastic, atol=1e-9)
    assert bounds.contains([plastic]).all()
    assert not bounds.contains(plastic + np.array([[0.0, 1e-5], [1e-5, 0.0], [1.0, 1.0]])).any()


def test_one_contact_with_friction():
    problem = ImpactProblem([[1.5, 0.4], [0.4, 2.0]], [-1.0, 2.0], friction=0.3, dim=2)
    bounds = outcome_bounds(problem)
    assert bounds.verified
    assert bounds.contains(_samples(problem, 5000)).all()
    # sliding all along: normal impulse 1/(1.5 - 0.3·0.4), slip 2 + (0.4 - 0.3·2) of it
    np.testing.assert_allclose(bounds.upper, [0.0, 2.0 - 0.2 / 1.38], atol=1e-8)
    np.testing.assert_allclose(bounds.lower, bounds.upper, atol=1e-8)


@pytest.mark.parametrize("scene", ["rocking_block", "box_and_wall"])
def test_numbering_of_contacts_does_not_matter(scene, request, bounds_of):
    problem = request.getfixturevalue(scene)
    swap = [2, 3, 0, 1]
    swapped = ImpactProblem(problem.W[np.ix_(swap, swap)], problem.u[swap], problem.friction[::-1], dim=2)
    bounds, other = bounds_of(scene), outcome_bounds(swapped)
    np.testing.assert_allclose(other.lower, bounds.lower[swap], atol=1e-8)
    np.testing.assert_allclose(other.upper, bounds.upper[swap], atol=1e-8)
    direction = np.random.default_rng(1).normal(size=(50, 4))
    np.testing.assert_allclose(other.support(direction[:, swap]), bounds.support(direction), atol=1e-8)
    assert {r.normal_signs[::-1] for r in other.regions} == {r.normal_signs for r in bounds.regions}


def test_support_and_regions_agree(bounds_of):
    bounds = bounds_of("box_and_wall")
    np.testing.assert_allclose(bounds.support(np.eye(4)), bounds.upper, atol=1e-9)
    assert bounds.support([0.0, 1.0, 0.0, 0.0]) == pytest.approx(bounds.upper[1], abs=1e-9)
    for region in bounds.regions:
        assert region.A.shape == (len(region.b), 4)
        np.testing.assert_allclose(np.linalg.norm(region.A, axis=1), 1.0)
        assert min(region.normal_signs) == 0


def test_nothing_happens_without_approach():
    problem = ImpactProblem(np.eye(4), [0.0, 0.3, 1.0, -0.2], friction=0.5, dim=2)
    bounds = outcome_bounds(problem)
    np.testing.assert_array_equal(bounds.lower, problem.u)
    np.testing.assert_array_equal(bounds.upper, problem.u)
    assert bounds.contains([problem.u]).all()
    assert not bounds.contains([problem.u + 1e-3]).any()
    assert bounds.support([1.0, 1.0, 1.0, 1.0]) == pytest.approx(1.1)


def test_signs_without_approach_are_those_of_contacts_in_space_too():
    problem = ImpactProblem(np.eye(6), [0.0, 0.3, -1.0, 2.0, 0.0, 0.0], friction=0.5)
    (region,) = outcome_bounds(problem).regions
    assert region.normal_signs == (0, 1)
    assert region.tangent_signs == (None, 0)


def test_too_few_sweeps_are_not_verified(compass_gait):
    assert not outcome_bounds(compass_gait, max_sweeps=1).verified


def test_refusals(box_and_wall, bounds_of):
    with pytest.raises(ValueError, match="at most 3 planar contacts, got 4"):
        outcome_bounds(ImpactProblem(np.eye(8), -np.ones(8), dim=2))
    with pytest.raises(ValueError, match="at most 2 spatial contacts, got 3"):
        outcome_bounds(ImpactProblem(np.eye(9), -np.ones(9)))
    with pytest.raises(
        ValueError, match="3 contacts must have at most 3 freedoms that impulses change, got 6"
    ):
        outcome_bounds(ImpactProblem(np.eye(6), -np.ones(6), friction=0.5, dim=2))
    with pytest.raises(ValueError, match="cone_edges"):
        outcome_bounds(ImpactProblem(np.eye(3), [-1.0, 0.0, 0.0]), cone_edges=2)
    with pytest.raises(ValueError, match="range of W"):
        outcome_bounds(ImpactProblem(np.diag([1.0, 0.0]), [-1.0, 1.0], dim=2))
    with pytest.raises(ValueError, match="fineness"):
        outcome_bounds(box_and_wall, fineness=0)
    with pytest.raises(ValueError, match="max_sweeps"):
        outcome_bounds(box_and_wall, max_sweeps=0)
    bounds = bounds_of("box_and_wall")
    with pytest.raises(ValueError, match="direction"):
        bounds.support([1.0, 0.0])
    with pytest.raises(ValueError, match="velocity"):
        bounds.contains([1.0, 0.0, 0.0, 0.0])
    with pytest.raises(ValueError, match="components"):
        bounds.tightness(np.zeros((3, 4)), (1, 1))
    with pytest.raises(ValueError, match="outcomes"):
        bounds.tightness(np.zeros((3, 2)))
