"""The demos of maximum dissipation: their numbers; that they run and draw is tested through the command line."""

import math

import numpy as np
import pytest

from carom.demos import demo_by_name
from carom.demos.painleve_rod import (
    LEAST_ANGLE,
    LENGTH,
    MASS,
    SPEED,
    bisected_friction,
    critical_friction,
    resolved,
    rod,
    stopping_impulse,
)
from carom.demos.six_mass_body import NAMES, PRINTED_IMPULSES, SixMassBody


@pytest.fixture(scope="module", params=["six-mass-body", "painleve-rod"])
def demo(request):
    return demo_by_name(request.param)


def test_checks_hold(demo):
    failed = [check for check in demo.check() if not check.holds]
    assert failed == []


def test_tables_have_as_many_words_as_their_header(demo):
    for table in demo.tables():
        assert table.rows
        assert all(len(row) == len(table.header) for row in table.rows)


def test_table_1_shows_the_printed_digits_beside_both_frames():
    rows = {row[:2]: row[2:] for row in SixMassBody().tables()[0].rows}
    assert len(rows) == 7 * len(NAMES)
    for name, printed in zip(NAMES, PRINTED_IMPULSES, strict=True):
        assert tuple(rows[name, f"impulse {axis} [N s]"][0] for axis in "nto") == printed
    assert rows["dissipative", "impulse n [N s]"] == ("1.6", "1.60310", "2.77829")
    assert rows["dissipative", "impulse t [N s]"] == ("-1.1", "-1.08186", "-1.05090")
    assert rows["dissipative", "impulse o [N s]"] == ("-5.8", "-5.83196", "-10.22580")
    assert rows["dissipative", "objective [J]"] == ("-0.634", "-0.63401", "-0.74832")
    objectives = [rows[name, "objective [J]"][1] for name in NAMES[:3]]
    assert objectives == ["-0.25170", "-0.39257", "-0.63096"]


def test_both_frames_hold_the_same_body():
    """The same contact: its normal mobility, its normal velocity and the energy that sticking takes."""
    printed, unit = SixMassBody().frames
    assert printed.problem.W[0, 0] == pytest.approx(unit.problem.W[0, 0], rel=1e-14)
    assert printed.problem.u[0] == pytest.approx(unit.problem.u[0], rel=1e-14)
    taken = [f.problem.u @ np.linalg.solve(f.problem.W, f.problem.u) for f in (printed, unit)]
    assert taken[0] == pytest.approx(taken[1], rel=1e-12)


def test_a_failed_check_is_seen(monkeypatch):
    """The checks judge what the law answers: a Coulomb solution in place of the dissipative one fails."""
    demo = SixMassBody()
    for frame in demo.frames:
        frame.impulse[3], frame.velocity[3] = frame.impulse[2], frame.velocity[2]
    failed = {check.what for check in demo.check() if not check.holds}
    assert "objective above the least on the conic [J]" in failed
    assert "table 1 off, in last printed digits" in failed


@pytest.mark.parametrize("angle", [0.15, 0.6, LEAST_ANGLE, 1.2, 1.45])
def test_mobility_of_the_rod_is_the_papers(angle):
    """Section 4.2: A along n and t, from the rod's own mass and inertia."""
    s, c = math.sin(angle), math.cos(angle)
    planar = np.array([[1.0 + 3.0 * c * c, -3.0 * s * c], [-3.0 * s * c, 1.0 + 3.0 * s * s]]) / MASS
    W = rod(angle, 1.0).dense().W
    np.testing.assert_allclose(W[:2, :2], planar, atol=1e-13)
    np.testing.assert_allclose(W[2], [0.0, 0.0, 4.0 / MASS], atol=1e-13)


@pytest.mark.parametrize("angle", [0.15, 0.6, LEAST_ANGLE, 1.2, 1.45])
def test_rod_stops_its_tip_and_keeps_its_angular_momentum_about_it(angle):
    critical = critical_friction(angle)
    assert critical >= 4.0 / 3.0 - 1e-15
    assert bisected_friction(angle) == pytest.approx(critical, rel=1e-12)
    below = resolved(angle, 0.999 * critical)
    assert not below.impulse.any()
    assert below.velocity[0].tolist() == [-SPEED, 0.0, 0.0, 0.0, 0.0, 0.0]
    above = resolved(angle, critical)
    np.testing.assert_allclose(above.impulse[0], stopping_impulse(angle), atol=1e-14)
    # about the tip nothing acts: m v0 l/2 sin θ = m l²/3 ω
    turning = above.velocity[0, 5]
    assert MASS * LENGTH**2 / 3.0 * turning == pytest.approx(0.5 * MASS * SPEED * LENGTH * math.sin(angle))
    assert above.energy_change < 0.0
