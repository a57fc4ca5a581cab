"""Figures of measured impacts and of runs beside measured motion."""

from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from carom.viewer import measured_figures


def test_shares_of_impacts_rise_from_the_floor_to_all():
    rng = np.random.default_rng(0)
    floor = 0.01 * rng.uniform(size=40)
    laws = [
        SimpleNamespace(label=f"law {k}", error=floor + 0.01 * (k + 1) * rng.uniform(size=40))
        for k in range(12)
    ]
    figure = measured_figures.impact_errors(SimpleNamespace(name="cube", floor=floor, laws=laws))
    (axes,) = figure.axes
    assert len(axes.lines) == 13
    assert (axes.lines[0].get_xdata() == np.sort(floor)).all()
    assert axes.lines[0].get_ydata()[-1] == 1.0
    styles = {(line.get_color(), line.get_linestyle()) for line in axes.lines}
    assert len(styles) == 13  # every law can be told from the others
    assert "median" in axes.get_legend().get_texts()[1].get_text()


def test_errors_of_a_run_are_in_millimetres_and_degrees():
    compared = SimpleNamespace(
        time=np.array([0.0, 0.1]), distance=np.array([0.0, 0.002]), angle=np.array([0.0, np.pi])
    )
    upper, lower = measured_figures.run_errors(compared).axes
    assert upper.lines[0].get_ydata()[1] == pytest.approx(2.0)
    assert lower.lines[0].get_ydata()[1] == pytest.approx(180.0)


def test_errors_of_tosses_are_medians_within_quartiles():
    distance = 1e-3 * np.arange(1.0, 6.0)[:, None] * np.ones((5, 200))
    errors = SimpleNamespace(
        compared=[SimpleNamespace(time=np.array([0.0, 0.5]))] * 5,
        over_time=lambda time: (distance * time, np.pi * distance * time),
    )
    figure = measured_figures.toss_errors(errors)
    upper, lower = figure.axes
    assert upper.lines[0].get_xdata()[-1] == 0.5
    assert upper.lines[0].get_ydata()[-1] == pytest.approx(1.5)
    assert lower.lines[0].get_ydata()[-1] == pytest.approx(0.5 * 180.0 * 3e-3)
    band = upper.collections[0].get_paths()[0].vertices
    assert band[:, 1].max() == pytest.approx(2.0)
    assert "5 whole tosses" in upper.get_title()
