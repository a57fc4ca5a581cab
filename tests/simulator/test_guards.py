"""Forty scenes, whose events are as they were: what changes in the engine shows here first.

Kept are the status and the first events of each run. Where bodies bounce between several contacts, rounding grows
from event to event, so only as many are compared as a change of the last bit of a start leaves where they are.
"""

import json
from pathlib import Path

import numpy as np
import pytest

from .guard_scenes import SCENES, events_of, run_of

KEPT = json.loads(Path(__file__).with_name("guards.json").read_text())


@pytest.mark.parametrize("name", SCENES)
def test_events_are_as_they_were(name):
    trajectory = run_of(name)
    found, kept = events_of(trajectory), KEPT[name]
    assert found["status"] == kept["status"], trajectory.message
    assert len(found["leading"]) >= len(kept["leading"])
    for (kind, time, pairs), expected in zip(found["leading"], kept["leading"], strict=False):
        assert (kind, pairs) == (expected[0], expected[2])
        assert time == pytest.approx(expected[1], abs=1e-8)
    residual = trajectory.ledger(np.linspace(0.0, trajectory.end_time, 50)).residual
    scale = 1.0 + np.abs(trajectory.energy(0.0))
    assert np.abs(residual).max() < 1e-8 * scale
    assert trajectory.largest_overlap(50) < (1e-12 if trajectory.implicit_share == 0.0 else 1e-11)
