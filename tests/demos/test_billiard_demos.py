"""Billiard break, rack and cradles: their numbers; that they run and draw is tested through the command line."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from carom.demos import demo_by_name
from carom.demos.billiard_break import (
    GOLDEN,
    KINK_ANGLE,
    BilliardBreak,
    Break,
    bisected_kink,
    closed_form,
    mirror_angles,
)
from carom.demos.cradles import CRADLES
from carom.demos.rack_break import (
    BALL_MASSES,
    CUE,
    CUE_MASS,
    LENGTH,
    SPEED,
    break_problem,
    break_velocities,
    mirror_image,
    rack_scene,
)
from carom.impact_laws import ImpactProblem, SequentialReflection
from carom.simulator import RunStatus, Simulator


@pytest.fixture(scope="module", params=["cradles", "rack-break"])
def finished(request):
    demo = demo_by_name(request.param)
    return demo, Simulator(demo.scene(), SequentialReflection()).run(demo.duration)


# -- billiard break ------------------------------------------------------------------------------------------


def test_break_checks_hold():
    assert [check for check in BilliardBreak().check() if not check.holds] == []


def test_break_tables_have_as_many_words_as_their_header():
    for table in BilliardBreak().tables():
        assert table.rows
        assert all(len(row) == len(table.header) for row in table.rows)


@pytest.mark.parametrize(
    ("degrees", "expected"),
    [(60.0, 0.75), (90.0, 0.0), (math.degrees(KINK_ANGLE), 0.6180339887498949), (180.0, 0.0)],
)
def test_figure_5(degrees, expected):
    assert Break(math.radians(degrees)).indeterminacy == pytest.approx(expected, abs=1e-14)
    assert float(closed_form(math.radians(degrees))) == pytest.approx(expected, abs=1e-14)


def test_paper_measure_from_momenta():
    """ξ as printed: ‖p_ab - p_ba‖/‖p_0‖ with the mass matrix, not through the contacts."""
    for hit in (Break(1.3), Break(2.0), Break(2.6), Break(1.3, 2.0)):
        mass = np.repeat([0.17, 0.17, hit.cue_mass], 2)
        difference = (hit.velocities(0) - hit.velocities(1)).ravel()
        measure = math.sqrt(difference @ (mass * difference) / hit.cue_mass)
        assert hit.indeterminacy == pytest.approx(measure, rel=1e-12)


def test_kink_is_a_maximum_where_a_third_reflection_begins():
    assert bisected_kink() == pytest.approx(math.acos(-GOLDEN), abs=1e-9)
    assert (Break(KINK_ANGLE - 1e-6).stages, Break(KINK_ANGLE + 1e-6).stages) == (2, 3)
    assert Break(KINK_ANGLE - 1e-3).indeterminacy < GOLDEN > Break(KINK_ANGLE + 1e-3).indeterminacy


def test_order_swaps_the_balls():
    hit = Break(1.3)
    mirrored = hit.velocities(1)[[1, 0, 2]] * [1.0, -1.0]
    assert_allclose(hit.velocities(0), mirrored, atol=1e-14)
    assert np.abs(hit.velocities(0) - hit.velocities(1)).max() > 0.1


def test_light_cue_ball_is_unique_at_several_angles():
    angles = mirror_angles(0.5)
    assert [Break(angle, 0.5).stages for angle in angles] == [3, 4, 5, 6]
    assert mirror_angles(1.0) == []
    for angle in angles:
        assert Break(angle, 0.5).indeterminacy < 1e-13
        assert Break(angle + 0.05, 0.5).indeterminacy > 1e-3


# -- rack and cradles ----------------------------------------------------------------------------------------


def test_run_reaches_its_end_and_checks_hold(finished):
    demo, trajectory = finished
    assert trajectory.status is RunStatus.REACHED_END
    assert [check for check in demo.check(trajectory) if not check.holds] == []


def test_run_that_is_cut_short_does_not_pass(finished):
    demo, _ = finished
    trajectory = Simulator(demo.scene(), SequentialReflection()).run(0.05)
    assert not all(check.holds for check in demo.check(trajectory))


def test_rack_is_a_mirror_image_of_itself_and_its_break_is_not():
    bodies = rack_scene().bodies[CUE:]
    places = {(body.position[0], body.position[1], body.mass) for body in bodies}
    assert places == {(x, -y, mass) for x, y, mass in places}
    velocities = break_velocities()
    assert np.abs(mirror_image(velocities) - velocities).max() > 1.0
    assert_allclose(mirror_image(break_velocities(mirrored=True)), velocities, atol=1e-13)


def test_break_keeps_momentum_and_energy_in_any_order():
    """Every outcome separates the 31 contacts; which one is a matter of the order."""
    problem = break_problem()
    assert problem.contact_count == 31
    masses = np.array(
        [CUE_MASS, *(BALL_MASSES[row, abs(2 * k - row)] for row in range(5) for k in range(row + 1))]
    )
    kept = []
    for seed in range(10):
        outcome = SequentialReflection(order="random").resolve(problem, np.random.default_rng(seed))
        assert outcome.resolved
        velocity = problem.generalized_velocity(outcome).reshape(16, 6)[:, :3]
        assert_allclose(masses @ velocity, [CUE_MASS * SPEED, 0.0, 0.0], atol=1e-13)
        assert masses @ (velocity**2).sum(axis=1) == pytest.approx(CUE_MASS * SPEED**2, rel=1e-13)
        kept.append(velocity)
    assert np.ptp(np.array(kept), axis=0).max() > 1.0


def test_balls_stay_on_the_table():
    trajectory = Simulator(rack_scene(), SequentialReflection()).run(1.0)
    state = trajectory.sample(np.linspace(0.0, 1.0, 200))
    assert np.abs(state.position[:, CUE:, 0]).max() < 0.5 * LENGTH
    assert np.abs(state.position[:, CUE:, 2]).max() < 1e-12
    assert trajectory.largest_overlap() < 1e-12


@pytest.mark.parametrize("cradle", CRADLES, ids=lambda cradle: cradle.title)
def test_cradle_outcome_is_that_of_every_minimal_sequence(cradle):
    """Also of the unequal masses, where only the first contact approaches at first."""
    count = len(cradle.masses)
    jacobian = np.zeros((2 * (count - 1), count))
    for contact in range(count - 1):
        jacobian[2 * contact, contact : contact + 2] = (-1.0, 1.0)
    problem = ImpactProblem.from_generalized(
        np.diag(cradle.masses), jacobian, cradle.before, restitution=1.0, dim=2
    )
    outcomes = SequentialReflection().outcomes(problem)
    assert len(outcomes) >= 1
    for impulse in outcomes.impulse:
        assert_allclose(problem.generalized_velocity(impulse), cradle.after, atol=1e-14)
    momentum = np.array(cradle.masses)
    assert momentum @ cradle.after == pytest.approx(momentum @ cradle.before)
