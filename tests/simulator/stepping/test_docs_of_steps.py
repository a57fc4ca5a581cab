"""The code in docs/steps.md runs, in order, and what the page says of it holds."""

import re
from pathlib import Path

import numpy as np

TEXT = (Path(__file__).parents[3] / "docs" / "steps.md").read_text(encoding="utf-8")


def test_the_examples_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", TEXT, flags=re.DOTALL)
    assert len(blocks) == 7
    names: dict = {}
    for block in blocks:
        exec(compile(block, "steps.md", "exec"), names)
    assert names["heap"].overlap_at(3.0) == 0.0
    assert " steps of 0.002 s" in names["heap"].message
    assert abs(names["bounces"]["ball"].position(0.813)[2] - 0.74) < 5e-3
    impacts = [event for event in names["both"]["ball"].events if event.outcome is not None]
    assert impacts
    ledger = names["both"].ledger(np.linspace(0.0, names["both"].end_time, 200))
    assert np.abs(ledger.residual).max() < 1e-5 * ledger.energy[0]
    assert 0 < len(names["simulator"].step_log) < 1000
    assert names["steps"].states.position[:, 2].min() > 0.01 - 1e-5
    rows = names["flow"].log.rows
    assert rows["entered"][599] == 24
    assert 0 < rows["left"][599] < 24
    assert len(names["flow"].frames) == 6
    moving = names["flow"].states
    assert ((moving.position[:, 1] >= -0.01) & (moving.position[:, 1] < 0.03)).all()
    milled = names["grinding"].states.position
    assert (np.hypot(milled[:, 0], milled[:, 2]) < 0.1 - 0.008 * 0.95).all()
    assert names["again"].time > names["flow"].time
    assert len(names["recording"].log) == 800
    assert names["recording"].last.position.tobytes() == moving.position.tobytes()


def test_the_channel_of_the_page_is_that_of_a_radius_of_half_a_millimetre():
    from carom.demos.channel import LAYER, LENGTHS, RADIUS, free_volume

    ball = 4 / 3 * np.pi * RADIUS**3
    assert abs(246_992 * ball / free_volume(1.0) - 0.572) < 5e-4
    assert abs(246_992 * ball / 8 / LENGTHS.prod() - 0.07) < 2e-3
    assert abs(39.0600228e-6 / RADIUS - 0.0831) < 5e-5
    assert abs(46.49761679e-6 / RADIUS - 0.0989) < 5e-5
    assert abs(65 * 20 / LAYER - 1.4e6) < 5e4
