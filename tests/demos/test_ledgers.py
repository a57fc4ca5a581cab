"""The energy ledger of every demo that is one run of a scene."""

import numpy as np
import pytest

import carom
from carom.demos import demo_by_name, demo_names
from carom.impact_laws import law_by_name

SCENES = [name for name in demo_names() if hasattr(demo_by_name(name), "scene")]


@pytest.mark.parametrize("name", SCENES)
def test_the_ledger_closes(name):
    demo = demo_by_name(name)
    trajectory = carom.Simulator(demo.scene(), law_by_name(demo.law)).run(demo.duration)
    ledger = trajectory.ledger(np.linspace(0.0, trajectory.end_time, 301))
    assert np.abs(ledger.residual).max() <= 1e-8
    assert ledger.impacts[-1] <= 1e-12
    assert ledger.friction[-1] <= 1e-12
    assert abs(ledger.closing[-1]) <= 1e-6 * max(1.0, float(np.abs(ledger.energy).max()))
