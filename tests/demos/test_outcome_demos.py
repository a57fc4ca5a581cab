"""The demos of outcome sets, with fewer samples than they draw by default."""

import numpy as np
import pytest

from carom.demos import WritingDemo, demo_by_name, impact_outcomes
from carom.demos.compliant_block import ANGLES, RATIOS, compliant_impact
from carom.demos.impact_examples import EXAMPLES, ramone
from carom.impact_laws import AnitescuPotra, SequentialLCP

NAMES = [
    "block-outcomes",
    "box-and-wall-outcomes",
    "compass-gait-outcomes",
    "disk-stack-outcomes",
    "ramone-outcomes",
]


@pytest.fixture(scope="module", params=NAMES)
def demo(request):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(impact_outcomes, "_MOST", 2**14)
        patch.setattr(impact_outcomes, "_PATHS", 100)
        patch.setattr(impact_outcomes, "_TIMED", 2**10)
        yield demo_by_name(request.param)


def test_checks_hold(demo):
    checks = demo.check()
    assert len(checks) >= 5
    assert all(check.holds for check in checks), checks


def test_tables_have_as_many_words_as_their_header(demo):
    tables = demo.tables()
    assert all(len(row) == len(table.header) for table in tables for row in table.rows)
    assert tables[0].rows[0][1] == f"{demo.example.solves:.2f}"


def test_figure_is_written(demo, tmp_path):
    assert isinstance(demo, WritingDemo)
    path = tmp_path / "figure.png"
    demo.write(path)
    assert path.read_bytes().startswith(b"\x89PNG")


def test_a_failed_check_is_seen(monkeypatch):
    monkeypatch.setattr(impact_outcomes, "_MOST", 2**10)
    monkeypatch.setattr(impact_outcomes, "_PATHS", 10)
    demo = demo_by_name("block-outcomes")
    monkeypatch.setattr(type(demo), "simultaneous", ((0.1, 0.0, 0.0, 0.0),))
    assert [check.what for check in demo.check() if not check.holds] == [
        "published simultaneous outcomes, error [m/s]"
    ]


def test_published_outcomes_of_the_robot():
    found = AnitescuPotra().outcomes(ramone().problem).velocity[:, :2]
    for published in ((0.0, 0.0), (0.0003, -0.0274), (0.0, -0.0195)):
        assert np.abs(found - published).max(axis=1).min() <= 5.1e-5


def test_sequential_outcomes_of_the_disks_are_mirror_images():
    """The stack is symmetric: exchanging left and right exchanges the outcomes of exchanged orders."""
    outcomes = SequentialLCP().outcomes(EXAMPLES["disk_stack"]().problem).velocity
    mirror = outcomes[:, [2, 3, 0, 1, 4, 5, 8, 9, 6, 7]] * np.array([1, -1, 1, -1, 1, -1, 1, -1, 1, -1])
    for row in mirror:
        assert np.abs(outcomes - row).max(axis=1).min() <= 1e-9


@pytest.mark.parametrize(
    ("ratio", "angle"), [(1.0, 0.0), (RATIOS[0], 0.0), (RATIOS[-1], 0.0), (1.0, ANGLES[-1])]
)
def test_stiff_corners_end_where_the_rigid_block_does(ratio, angle):
    """Even corners stop the block; of very uneven ones, or one that lands first, that one lifts at up to 0.0930."""
    normal = compliant_impact(ratio, angle).velocity[[0, 2]]
    if ratio == 1.0 and angle == 0.0:
        assert np.abs(normal).max() <= 1e-3
    else:
        lifted = int(np.argmax(normal))
        assert lifted == (1 if ratio > 1.0 else 0)
        assert normal[lifted] == pytest.approx(0.0930, rel=0.03)
        assert abs(normal[1 - lifted]) <= 1e-3


def test_the_compliant_demo_holds_and_draws(tmp_path):
    demo = demo_by_name("compliant-block")
    assert all(check.holds for check in demo.check())
    assert all(len(row) == 4 for row in demo.tables()[0].rows)
    demo.write(tmp_path / "figure.png")
    assert (tmp_path / "figure.png").stat().st_size > 10_000
