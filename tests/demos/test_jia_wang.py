"""The impacts of Jia & Wang; the demos' own checks run through the command line."""

from pathlib import Path

import numpy as np
import pytest

from carom.demos import ComputedDemo, WritingDemo, demo_by_name, demo_names
from carom.demos.bowling import Bowling, inverse_inertia, pin_shape
from carom.demos.jia_wang import bundle, icosahedron_impacts, pin_impact, works
from carom.demos.jia_wang_table import JiaWangTable, truncated_icosahedron
from carom.impact_laws import paper_sequence

ROOT = Path(__file__).resolve().parents[2]


def test_kept_table_is_what_the_command_writes():
    demo = JiaWangTable()
    kept = (ROOT / "docs" / "jia_wang.md").read_text(encoding="utf-8")
    assert kept == demo.text(), "run `carom demo jia-wang-table --out docs/jia_wang.md`"
    for table in demo.tables():
        for row in table.rows:
            assert len(row) == len(table.header)
            assert all(cell in kept for cell in row)


@pytest.mark.parametrize("impact", icosahedron_impacts(), ids=lambda impact: impact.figure)
def test_paper_names_hold_over_a_range_of_its_tolerances(impact):
    """Not by one lucky value of each."""
    outcome = impact.outcome()
    for tolerance, stop in ((0.06, 0.05), (0.08, 0.05), (0.08, 0.07), (0.1, 0.08)):
        assert paper_sequence(impact.problem, outcome, tolerance, stop) == impact.printed_sequence


def test_works_are_those_of_the_law():
    for impact in (*icosahedron_impacts(), pin_impact()):
        outcome = impact.outcome()
        compression, restitution = works(impact, outcome)
        assert compression == pytest.approx(outcome.info["compression_work"], rel=1e-10)
        assert restitution == pytest.approx(
            float(impact.problem.restitution[0]) ** 2 * compression, rel=1e-10
        )


def test_bundles_have_unit_slip_in_distinct_directions():
    for impacts, count in ((bundle(0.8, -0.2, 15), 15), (bundle(0.25, -0.8, 13), 13)):
        slips = np.array([impact.problem.u[1:] for impact in impacts])
        assert len(slips) == count
        assert np.hypot(*slips.T) == pytest.approx(np.ones(count))
        angles = np.sort(np.arctan2(slips[:, 1], slips[:, 0]))
        assert np.diff(angles).min() > 0.3


def test_truncated_icosahedron_has_its_edges():
    corners = truncated_icosahedron()
    distances = np.linalg.norm(corners[:, None] - corners[None], axis=2)
    assert len(corners) == 60
    assert (np.abs(distances - 0.1) < 1e-12).sum() == 60 * 3


def test_inverse_inertia_of_two_balls_is_the_papers():
    """Section 2: W = (1/m1 + 1/m2) diag(1, 7/2, 7/2) with the normal first."""
    bodies = [
        (mass, 0.4 * mass * radius**2 * np.eye(3), np.array([sign * radius, 0.0, 0.0]))
        for mass, radius, sign in ((2.0, 0.3, -1.0), (5.0, 0.1, 1.0))
    ]
    assert inverse_inertia(bodies, np.eye(3)) == pytest.approx(0.7 * np.diag([1.0, 3.5, 3.5]))


def test_pin_is_a_body_of_revolution():
    shape = pin_shape()
    inertia = shape.unit_mass_inertia()
    assert shape.center_of_mass[:2] == pytest.approx([0.0, 0.0], abs=1e-15)
    assert inertia[0, 0] == pytest.approx(inertia[1, 1], rel=1e-12)
    assert np.abs(inertia - np.diag(np.diag(inertia))).max() < 1e-15
    assert np.ptp(shape.vertices[:, 2]) == pytest.approx(0.381)
    assert Bowling().scene().bodies[1].mass == 1.63293


def test_kinds_of_demos():
    kinds = {name: demo_by_name(name) for name in demo_names()}
    assert all(isinstance(demo, ComputedDemo) != hasattr(demo, "scene") for demo in kinds.values())
    assert {name for name, demo in kinds.items() if isinstance(demo, WritingDemo)} == {
        "billiard-break",
        "block-outcomes",
        "box-and-wall-outcomes",
        "break-odds",
        "channel",
        "compass-gait-outcomes",
        "compliant-block",
        "disk-stack-outcomes",
        "double-pendulum",
        "hodograph",
        "jia-wang-table",
        "landing",
        "painleve-map",
        "painleve-rod",
        "pile",
        "ramone-outcomes",
        "rockfall",
        "six-mass-body",
        "trex",
        "variational-joints",
        "zeno-block",
    }
