"""Designs with one outcome: billiards, a box between floor and wall, and what cannot be made unique."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import carom
from carom.impact_laws import ImpactProblem, SequentialReflection
from carom.impact_laws.indeterminacy import indeterminacy, uniqueness
from carom.simulator import Simulator, contact_problem, make_unique

ELASTIC = carom.Material(friction=0.0, restitution=1.0)
RADIUS = 0.1
HALF_WIDTH, HALF_HEIGHT, BOX_MASS = 0.5, 0.8, 2.0


def billiards(parameters):
    """A ball at 1 m/s touches two others at an angle [rad]; further parameters are their masses [kg]."""
    angle = parameters[0]
    masses = (1.0, *parameters[1:], *(1.0,) * (3 - len(parameters)))
    scene = carom.Scene(gravity=(0.0, 0.0, 0.0))
    scene.add(carom.Body(carom.Sphere(RADIUS), mass=masses[0], velocity=(1.0, 0.0, 0.0), material=ELASTIC))
    for mass, turn in zip(masses[1:], (0.5 * angle, -0.5 * angle), strict=True):
        place = 2.0 * RADIUS * np.array([math.cos(turn), math.sin(turn), 0.0])
        scene.add(carom.Body(carom.Sphere(RADIUS), mass=mass, position=place, material=ELASTIC))
    return scene


def leaning_box(parameters):
    """A flat box, pointed along y so that it touches floor and wall in one point each, tilted by an angle."""
    tilt = float(parameters[0])
    corners = [(x * HALF_WIDTH, 0.0, z * HALF_HEIGHT) for x in (-1, 1) for z in (-1, 1)]
    shape = carom.ConvexMesh(np.array([*corners, (0.0, 0.3, 0.0), (0.0, -0.3, 0.0)]))
    turn = np.array([[math.cos(tilt), -math.sin(tilt)], [math.sin(tilt), math.cos(tilt)]])
    turned = np.array(corners)[:, ::2] @ turn.T
    scene = carom.Scene()
    scene.add(carom.Body(carom.HalfSpace((0, 0, 1)), fixed=True, material=ELASTIC))
    scene.add(carom.Body(carom.HalfSpace((-1, 0, 0)), fixed=True, material=ELASTIC))
    scene.add(
        carom.Body(
            shape,
            mass=BOX_MASS,
            position=(-turned[:, 0].max(), 0.0, -turned[:, 1].min()),
            orientation=(math.cos(0.5 * tilt), 0.0, -math.sin(0.5 * tilt), 0.0),
            velocity=(1.0, 0.0, -1.0),
            material=ELASTIC,
        )
    )
    return scene


def planar_box(tilt, offset=0.0, opening=0.5 * math.pi, inertia=1.0):
    """The same box as an impact problem: floor and a wall at that opening, centre of mass moved along z."""
    sine, cosine = math.sin(tilt), math.cos(tilt)
    turn = np.array([[cosine, -sine], [sine, cosine]])
    arms = (turn @ (np.array([[-HALF_WIDTH, HALF_WIDTH], [-HALF_HEIGHT] * 2]) - [[0.0], [offset]])).T
    normals = np.array([[0.0, 1.0], [-math.sin(opening), -math.cos(opening)]])
    rows = []
    for arm, normal in zip(arms, normals, strict=True):
        for axis in (normal, np.array([normal[1], -normal[0]])):
            rows.append([*axis, arm[0] * axis[1] - arm[1] * axis[0]])
    return ImpactProblem.from_generalized(
        np.diag([BOX_MASS, BOX_MASS, inertia]), rows, [1.0, -1.0, 0.0], restitution=1.0, dim=2
    )


def both_orders(problem):
    return [SequentialReflection(order=order).resolve(problem).velocity for order in ((0, 1), (1, 0))]


# -- problem of a scene --------------------------------------------------------------------------------------


def test_problem_of_a_scene_is_what_the_engine_asks_the_law():
    scene = billiards([1.3])
    event = Simulator(scene, SequentialReflection()).step_event()
    problem = contact_problem(scene)
    assert_allclose(problem.W, event.problem.W, atol=1e-14)
    assert_allclose(problem.u, event.problem.u, atol=1e-14)
    assert_array_equal(problem.restitution, event.problem.restitution)
    assert_array_equal(problem.friction, event.problem.friction)


def test_problem_of_billiards_is_the_papers():
    problem = contact_problem(billiards([1.1, 2.0, 3.0]))
    expected = [[1.0 + 1.0 / 2.0, math.cos(1.1)], [math.cos(1.1), 1.0 + 1.0 / 3.0]]
    assert_allclose(problem.W[::3, ::3], expected, atol=1e-14)
    assert_allclose(problem.normal_velocity, -math.cos(0.55), atol=1e-14)


def test_problem_of_the_leaning_box_is_that_of_the_planar_one():
    scene = leaning_box([0.4])
    inertia = scene.bodies[2].inertia[1, 1]
    flat = planar_box(0.4, inertia=inertia)
    assert_allclose(contact_problem(scene).W[::3, ::3], flat.W[::2, ::2], atol=1e-13)
    assert_allclose(contact_problem(scene).normal_velocity, flat.normal_velocity, atol=1e-13)


def test_scenes_without_a_problem_are_refused():
    apart = billiards([1.3])
    apart.add(carom.Body(carom.Sphere(1.0), mass=1.0, position=(0.0, 0.0, 1.05)))
    with pytest.raises(ValueError, match=r"bodies 'sphere-0' and 'sphere-3' overlap by 0\.05 m"):
        contact_problem(apart)
    alone = carom.Scene()
    with pytest.raises(
        ValueError, match="expected bodies that touch within 1e-09 of their size, got a least"
    ):
        contact_problem(alone)
    alone.add(carom.Body(carom.Sphere(1.0), mass=1.0))
    alone.add(carom.Body(carom.Sphere(1.0), mass=1.0, position=(2.5, 0.0, 0.0)))
    with pytest.raises(ValueError, match=r"got a least gap of 0\.5 m"):
        contact_problem(alone)
    with pytest.raises(TypeError, match="first: expected a Scene or a Body, got int"):
        contact_problem(3)


# -- designs -------------------------------------------------------------------------------------------------


def test_angle_of_billiards_becomes_right():
    design = carom.make_unique(billiards, [1.2], [(1.1, 3.0)])
    assert design.succeeded
    assert design.parameters[0] == pytest.approx(0.5 * math.pi, abs=1e-8)
    assert design.before == pytest.approx(0.5 * math.cos(1.2))
    assert design.after < 1e-9
    assert len(design.scene.bodies) == 3
    assert "orthogonal" in design.message
    first, second = both_orders(design.problem)
    assert_allclose(first, second, atol=1e-8)
    assert uniqueness(design.problem).theorem == 2
    assert indeterminacy(design.problem, 0.5) < 1e-8
    one, two = both_orders(contact_problem(billiards([1.2])))
    assert np.abs(one - two).max() > 0.1


def test_masses_alone_cannot_but_angle_and_masses_can():
    """⟨u, v⟩ is cos θ/m_c: no mass makes it zero."""

    def masses_only(parameters):
        return billiards([1.2, *parameters])

    assert not make_unique(masses_only, [1.0, 1.0], [(0.5, 2.0)] * 2, restarts=3).succeeded
    design = make_unique(billiards, [1.2, 1.0, 1.5], [(1.1, 3.0), (0.5, 2.0), (0.5, 2.0)])
    assert design.succeeded
    assert design.parameters[0] == pytest.approx(0.5 * math.pi, abs=1e-8)


def test_ball_between_three_others_in_space():
    """Three contacts: tilt and two turns make their directions a corner of a cube."""

    def pyramid(parameters):
        tilt, *turns = parameters
        scene = carom.Scene(gravity=(0.0, 0.0, 0.0))
        scene.add(carom.Body(carom.Sphere(RADIUS), mass=1.0))
        for turn in (0.0, *turns):
            direction = (
                math.sin(tilt) * math.cos(turn),
                math.sin(tilt) * math.sin(turn),
                -math.cos(tilt),
            )
            scene.add(carom.Body(carom.Sphere(RADIUS), mass=1.0, position=2.0 * RADIUS * np.array(direction)))
        return scene

    design = make_unique(pyramid, [0.8, 2.0, 4.1], [(0.7, 1.2), (1.5, 2.5), (3.7, 4.7)])
    assert design.succeeded
    expected = [math.acos(1.0 / math.sqrt(3.0)), 2.0 * math.pi / 3.0, 4.0 * math.pi / 3.0]
    assert_allclose(design.parameters, expected, atol=1e-8)


def test_tilt_of_a_box_between_floor_and_wall():
    """Orthogonal where the centre of mass is over the floor contact or level with the wall contact."""
    for start, expected in (
        (0.3, math.atan2(HALF_WIDTH, HALF_HEIGHT)),
        (1.3, math.atan2(HALF_HEIGHT, HALF_WIDTH)),
    ):
        design = make_unique(leaning_box, [start], [(0.05, 1.5)])
        assert design.succeeded
        assert design.parameters[0] == pytest.approx(expected, abs=1e-8)
        assert design.problem.contact_count == 2


def test_mass_distribution_of_a_box():
    """The centre of mass along the box, at a fixed tilt: over the floor contact at w/tan φ - h."""
    tilt = 0.45
    design = make_unique(lambda p: planar_box(tilt, p[0]), [0.0], [(-0.7, 0.7)])
    assert design.succeeded
    assert design.scene is None
    expected = HALF_WIDTH / math.tan(tilt) - HALF_HEIGHT
    assert design.parameters[0] == pytest.approx(expected, abs=1e-8)


def test_inertia_of_a_box_in_a_wedge():
    """Walls that are not perpendicular: n₁·n₂/m + τ₁τ₂/I = 0 fixes the inertia."""
    tilt, opening = 0.8, math.radians(100.0)
    design = make_unique(lambda p: planar_box(tilt, 0.0, opening, p[0]), [1.0], [(0.01, 5.0)])
    assert design.succeeded
    jacobian = design.problem.jacobian[::2]
    expected = -BOX_MASS * jacobian[0, 2] * jacobian[1, 2] / (jacobian[0, :2] @ jacobian[1, :2])
    assert design.parameters[0] == pytest.approx(expected, rel=1e-8)


def test_design_that_is_unique_already_is_kept():
    design = make_unique(billiards, [0.5 * math.pi], [(1.1, 3.0)])
    assert design.succeeded
    assert design.parameters[0] == 0.5 * math.pi
    assert design.before == design.after
    assert design.trials == 2


def test_equal_seeds_give_equal_designs():
    arguments = (billiards, [1.2, 1.0, 1.5], [(1.1, 1.5), (0.5, 2.0), (0.5, 2.0)])
    first, second = (make_unique(*arguments, restarts=4, seed=3) for _ in range(2))
    assert_array_equal(first.parameters, second.parameters)
    assert (first.after, first.trials, first.message) == (second.after, second.trials, second.message)


def test_restart_finds_what_the_start_cannot():
    """The start lies on a slope that falls to a bound; the root is beyond a hill."""

    def hilly(parameters):
        x = parameters[0]
        product = 0.5 + 0.4 * math.sin(2.0 * x) - 0.1 * x
        inertia = np.kron([[1.0, product], [product, 1.0]], np.eye(2))
        return ImpactProblem(inertia, [-1.0, 0.0, -1.0, 0.0], dim=2)

    alone = make_unique(hilly, [0.3], [(0.0, 3.0)], restarts=0)
    assert not alone.succeeded
    design = make_unique(hilly, [0.3], [(0.0, 3.0)])
    assert design.succeeded
    assert 1.0 < design.parameters[0] < 3.0


def test_other_angles_with_one_outcome_are_found_where_right_ones_cannot_be():
    """A light ball between two heavy ones: ⟨u, v⟩ = cos θ/(1 + m_c/m) is never 0 here, but -1/2 at one angle."""

    def light(parameters):
        return billiards([float(parameters[0]), 5.0, 5.0])

    start = 2.1
    before = uniqueness(contact_problem(light([start])))
    assert not before.unique
    design = make_unique(light, [start], [(2.0, 2.4)])
    assert design.succeeded, design.message
    assert_allclose(design.aims, [-0.5], atol=1e-15)
    assert_allclose(math.cos(design.parameters[0]), -0.6, atol=1e-8)
    assert "-cos(π/m)" in design.message
    assert uniqueness(design.problem, 1e-8).theorem == 3
    assert indeterminacy(design.problem) < 1e-7
    assert not make_unique(light, [start], [(2.0, 2.4)], most_stages=2, restarts=2).succeeded


@pytest.mark.parametrize(("first", "aims"), [(-0.52, [-0.5, 0.0, -0.5]), (-0.69, [-(0.5**0.5), 0.0, -0.5])])
def test_aims_of_three_contacts_make_a_finite_group(first, aims):
    """Chains of normals: A3 with -1/2 twice, B3 with -1/√2 and -1/2."""

    def chain(parameters):
        gram = np.eye(3)
        gram[0, 1] = gram[1, 0] = parameters[0]
        gram[1, 2] = gram[2, 1] = parameters[1]
        W = np.kron(gram, np.diag([1.0, 0.0, 0.0])) + np.kron(np.eye(3), np.diag([0.0, 1.0, 1.0]))
        return ImpactProblem(W, [-1.0, 0.0, 0.0] * 3, restitution=1.0)

    design = make_unique(chain, [first, -0.48], [(-0.9, -0.3)] * 2)
    assert design.succeeded, design.message
    assert_allclose(design.aims, aims, atol=1e-15)
    assert uniqueness(design.problem, 1e-8).unique
    assert len({tuple(row) for row in SequentialReflection().outcomes(design.problem).velocity.round(6)}) == 1


def test_aims_that_make_no_finite_group_are_not_taken():
    """Three normals with -1/2 between all of them are dependent, and reflections across them never end."""

    def triangle(parameters):
        gram = np.full((3, 3), float(parameters[0]))
        np.fill_diagonal(gram, 1.0)
        return ImpactProblem(np.kron(gram, np.diag([1.0, 0.0, 0.0])), [-1.0, 0.0, 0.0] * 3, restitution=1.0)

    design = make_unique(triangle, [-0.45], [(-0.49, -0.4)], restarts=4)
    assert not design.succeeded
    assert design.parameters[0] == pytest.approx(-0.4)


# -- what cannot be made unique ------------------------------------------------------------------------------


def test_bounds_without_a_design_fail_honestly():
    design = make_unique(billiards, [1.2], [(1.1, 1.4)])
    assert not design.succeeded
    assert design.parameters[0] == pytest.approx(1.4)
    assert design.after == pytest.approx(0.5 * math.cos(1.4))
    assert design.before > design.after
    assert "keep an inner product of 0.085" in design.message
    assert "parameter 0 ended at a bound: widen it" in design.message


def test_more_contacts_than_freedoms_are_named():
    """A box that falls flat on the floor: four normals span three dimensions."""

    def flat(parameters):
        scene = carom.Scene()
        scene.add(carom.Body(carom.HalfSpace((0, 0, 1)), fixed=True))
        lengths = (1.0, 1.0, float(parameters[0]))
        scene.add(carom.Body(carom.Box(lengths), mass=1.0, position=(0.0, 0.0, 0.5 * lengths[2])))
        return scene

    design = make_unique(flat, [1.0], [(0.5, 2.0)], restarts=2)
    assert not design.succeeded
    assert design.problem.contact_count == 4
    assert "4 normals that span 3 dimensions cannot be orthogonal" in design.message


def test_refused_trials_are_avoided_and_counted():
    """Below 60° the two balls overlap; at 60° they touch, which is another contact."""
    design = make_unique(billiards, [1.2], [(0.2, 1.3)], restarts=8)
    assert not design.succeeded
    assert design.parameters[0] == pytest.approx(1.3)
    assert "trials were refused, the last because scene: bodies" in design.message
    assert make_unique(billiards, [1.2], [(0.2, 3.0)]).succeeded


def test_builders_that_give_nan_for_some_parameters():
    def sometimes(parameters):
        if parameters[0] > 1.4:
            return billiards([math.nan])
        return billiards(parameters)

    design = make_unique(sometimes, [1.2], [(1.1, 3.0)], restarts=4)
    assert not design.succeeded
    assert 1.2 < design.parameters[0] <= 1.4
    assert "position: expected finite numbers" in design.message
    with pytest.raises(ValueError, match="scene_builder: refused the parameters given: position: expected"):
        make_unique(lambda p: billiards([math.nan]), [1.2], [(1.1, 3.0)])
    nothing = np.full((4, 4), math.nan)
    with pytest.raises(ValueError, match="refused the parameters given: W must be finite"):
        make_unique(lambda p: ImpactProblem(nothing, np.zeros(4), dim=2), [1.0], [(0.0, 2.0)])


def test_contacts_that_change_are_refused():
    def three_at_right_angle(parameters):
        scene = billiards([max(parameters[0], 1.0472)])
        if parameters[0] > 1.3:
            scene.add(carom.Body(carom.Sphere(RADIUS), mass=1.0, position=(-2.0 * RADIUS, 0.0, 0.0)))
        return scene

    design = make_unique(three_at_right_angle, [1.2], [(1.1, 2.0)], restarts=3)
    assert not design.succeeded
    assert design.problem.contact_count == 2
    assert "it has 3 contacts instead of 2" in design.message


def test_errors_of_the_builder_itself_are_passed_on():
    def broken(parameters):
        return {}["scene"]

    with pytest.raises(KeyError):
        make_unique(broken, [1.0], [(0.0, 2.0)])


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        (
            (3, [1.0], [(0.0, 2.0)]),
            TypeError,
            "scene_builder: expected a function of the parameters, got int",
        ),
        ((billiards, 1.2, [(0.0, 2.0)]), ValueError, r"parameters: expected shape \(n\), got \(\)"),
        ((billiards, [], []), ValueError, "parameters: expected at least one, got none"),
        ((billiards, ["a"], [(0.0, 2.0)]), TypeError, "parameters: expected numbers"),
        ((billiards, [math.nan], [(0.0, 2.0)]), ValueError, "parameters: expected finite numbers"),
        ((billiards, [1.2], (0.0, 2.0)), ValueError, r"bounds: expected shape \(1, 2\), got \(2,\)"),
        ((billiards, [1.2], [(0.0, 2.0)] * 2), ValueError, r"bounds: expected shape \(1, 2\), got \(2, 2\)"),
        ((billiards, [1.2], [(0.0, math.inf)]), ValueError, "bounds: expected finite numbers"),
        ((billiards, [1.2], [(2.0, 1.0)]), ValueError, "bounds: expected least < largest for parameter 0"),
        ((billiards, [1.2], [(1.2, 1.2)]), ValueError, "bounds: expected least < largest for parameter 0"),
        ((billiards, [1.2], [(1.5, 2.0)]), ValueError, r"expected parameter 0 within its bounds .* got 1\.2"),
        ((lambda p: 7, [1.2], [(0.0, 2.0)]), TypeError, "expected a Scene or an ImpactProblem, got int"),
        (
            (lambda p: ImpactProblem(np.eye(3), [-1.0, 0.0, 0.0]), [1.2], [(0.0, 2.0)]),
            ValueError,
            "expected at least two contacts at the parameters given, got one",
        ),
        (
            (lambda p: ImpactProblem(np.diag([1.0, 1, 0, 0]), np.zeros(4), dim=2), [1.2], [(0.0, 2.0)]),
            ValueError,
            "contact 1 is between bodies that cannot move",
        ),
    ],
)
def test_bad_arguments_are_named(arguments, error, words):
    with pytest.raises(error, match=words):
        make_unique(*arguments)


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"tolerance": 0.0}, ValueError, "tolerance: expected a number greater than 0"),
        ({"tolerance": math.nan}, ValueError, "tolerance: expected a finite number"),
        ({"tolerance": "small"}, TypeError, "tolerance: expected a number"),
        ({"restarts": -1}, ValueError, "restarts: expected a whole number of at least 0"),
        ({"restarts": 2.5}, TypeError, "restarts: expected a whole number"),
        ({"seed": -1}, ValueError, "seed: expected a whole number of at least 0"),
    ],
)
def test_bad_options_are_named(options, error, words):
    with pytest.raises(error, match=words):
        make_unique(billiards, [1.2], [(1.1, 3.0)], **options)
