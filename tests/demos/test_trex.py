"""Trex: geometry, own equations and numbers; that it runs and draws is tested through the command line."""

import math
from dataclasses import replace

import pytest

from carom.demos import trex
from carom.demos.trex import (
    INITIAL,
    OPTIMIZED,
    Gait,
    Trex,
    generalized,
    inner_product,
    landing_indeterminacy,
    straight_legs,
    trex_scene,
)
from carom.impact_laws import SequentialReflection, indeterminacy
from carom.simulator import contact_problem
from carom.simulator.state import Model


@pytest.fixture(scope="module")
def demo():
    return Trex()


def test_checks_hold_and_tables_fit_their_headers(demo):
    assert [check for check in demo.check() if not check.holds] == []
    for table in demo.tables():
        assert table.rows
        assert all(len(row) == len(table.header) for row in table.rows)


@pytest.mark.parametrize("row", [INITIAL, OPTIMIZED], ids=["initial", "optimized"])
def test_rows_of_table_1_stand_on_tail_and_foot(row):
    """Within what the digits printed leave open; exactly after `standing`, which changes little."""
    assert abs(row.foot_drop - row.height) < 1.6e-3
    assert abs(row.tail_drop - row.height) < 1.6e-3
    stands = row.standing()
    assert stands.foot_drop == pytest.approx(stands.height, abs=1e-15)
    assert stands.tail_drop == pytest.approx(stands.height, abs=1e-15)
    assert abs(stands.hips[0] - row.hips[0]) < 0.02
    assert stands.with_parameters(stands.parameters()) == stands


def test_tail_length_is_the_papers_formula_less_a_limb():
    assert INITIAL.tail_length + math.sqrt(1.25e-4) == pytest.approx(0.15862753396598, rel=1e-12)


def test_a_leg_too_short_is_refused():
    with pytest.raises(ValueError, match="the leg reaches"):
        replace(INITIAL, upper=0.01, lower=0.02).standing()


def test_mass_matrix_is_that_of_the_bodies():
    """Moving as one piece, and of the masses of the scene."""
    stands = INITIAL.standing()
    inertia, _ = generalized(stands)
    bodies = [body for body in trex_scene(stands).bodies if not body.fixed]
    mass = sum(body.mass for body in bodies)
    assert inertia[0, 0] == pytest.approx(mass, rel=1e-13)
    about = sum(
        body.mass * ((body.position - bodies[0].position) ** 2).sum() + body.inertia[1, 1] for body in bodies
    )
    assert inertia[2, 2] == pytest.approx(about, rel=1e-12)


@pytest.mark.parametrize("row", [INITIAL, OPTIMIZED], ids=["initial", "optimized"])
def test_indeterminacy_of_a_landing_is_the_laws(row):
    for stance in (row.standing(), straight_legs(row.standing())):
        expected = indeterminacy(contact_problem(trex_scene(stance)))
        assert expected > 1e-6
        assert landing_indeterminacy(stance) == pytest.approx(expected, rel=1e-9)


def test_the_robot_has_seven_parts_on_five_hinges():
    scene = trex_scene(INITIAL.standing())
    problem = contact_problem(scene)
    assert problem.contact_count == 2
    assert {scene.bodies[k].name for k in range(1, 8)} == {
        "front", "rear", "tail", "standing thigh", "standing shank", "free thigh", "free shank"
    }  # fmt: skip
    rows = Model.of_scene(scene).articulation.held
    assert len(scene.joints) == 6
    assert len(rows.ends) == 5 * 5 + 6
    outcome = SequentialReflection().resolve(problem)
    assert outcome.energy_change == pytest.approx(0.0, abs=1e-12)


def test_a_design_that_is_not_unique_fails(monkeypatch):
    monkeypatch.setattr(trex, "DURATION", 0.01)
    demo = Trex()
    stands = INITIAL.standing()
    demo.gaits = (Gait("optimized gait", stands), Gait("initial gait", straight_legs(stands)))
    assert abs(inner_product(stands)) > 1e-4
    failed = {check.what for check in demo.check() if not check.holds}
    assert failed == {"optimized over initial gait, at any time"}
