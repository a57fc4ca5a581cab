"""Free dominoes with friction, under other laws; the demo's own checks run through the command line."""

import numpy as np
import pytest

import carom
from carom.demos.free_dominoes import FreeDominoes, domino_row


@pytest.mark.parametrize(
    "law",
    [carom.StrongeCoulomb(), carom.SequentialLCP(), carom.MaximumDissipation()],
    ids=lambda law: law.name,
)
@pytest.mark.parametrize("friction", [0.3, 0.6])
def test_a_row_of_five_comes_to_rest_under_every_law(law, friction):
    trajectory = carom.Simulator(domino_row(5, friction), law).run(3.0)
    assert trajectory.status is carom.RunStatus.AT_REST, trajectory.message
    assert len(trajectory.events) < 60
    assert np.abs(trajectory.ledger(np.linspace(0.0, trajectory.end_time, 101)).residual).max() < 1e-8
    assert trajectory.largest_overlap() < 1e-9


def test_a_failed_check_is_seen():
    trajectory = carom.Simulator(FreeDominoes().scene(), carom.AnitescuPotra()).run(0.5)
    failed = {check.what for check in FreeDominoes().check(trajectory) if not check.holds}
    assert {"touches that are missing", "not at rest"} <= failed
