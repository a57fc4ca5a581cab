"""Figures of ensembles show the numbers that they are given."""

import numpy as np
import pytest

import carom
from carom.viewer import ensemble_figures as figures

VALUES = np.random.default_rng(2).normal(3.0, 0.5, 400)


@pytest.fixture
def statistics():
    return carom.Statistics(np.append(VALUES, np.nan))


def test_histogram_has_the_area_one(statistics):
    axes = figures.histogram(statistics, "height [m]").axes[0]
    assert axes.get_xlabel() == "height [m]"
    edges, heights = axes.patches[0].get_data().edges, axes.patches[0].get_data().values
    assert (heights * np.diff(edges)).sum() == pytest.approx(1.0)


def test_convergence_ends_at_the_mean_of_all(statistics):
    upper, lower = figures.convergence(statistics, "height").axes
    assert upper.lines[0].get_xydata()[-1] == pytest.approx([400, VALUES.mean()])
    assert lower.lines[0].get_xydata()[-1] == pytest.approx([400, VALUES.std(ddof=1)])
    low, high = upper.get_ylim()
    assert low < VALUES.mean() < high


def test_first_passage_stays_below_one_where_one_never_passes(statistics):
    line = figures.first_passage(statistics).axes[0].lines[0].get_xydata()
    assert line[-1] == pytest.approx([VALUES.max(), 400 / 401])


def test_ends_of_bodies_are_points():
    places = np.random.default_rng(0).normal(size=(50, 2, 3))
    axes = figures.end_poses(places, ["ball", "box"], axes=(0, 2)).axes[0]
    assert np.array_equal(axes.lines[1].get_xydata(), places[:, 1, [0, 2]])
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("x [m]", "z [m]")
    found = carom.end_density(places[:, 0], bins=8)
    mesh = figures.end_density(found).axes[0].collections[0]
    assert mesh.get_array().max() == found.density.max()


def test_sensitivity_has_two_bars_a_parameter():
    members = carom.sobol_design(64, a=(0, 1), b=(0, 1))
    found = carom.ensemble(lambda member, rng: member["a"] + 2 * member["b"], members, workers=0)
    axes = figures.sensitivity(found.sensitivity("value")).axes[0]
    assert len(axes.patches) == 4
    assert [label.get_text() for label in axes.get_xticklabels()] == ["a", "b"]
    assert axes.patches[1].get_height() == pytest.approx(0.8, abs=0.1)
