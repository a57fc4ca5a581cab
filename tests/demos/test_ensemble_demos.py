"""The demos of ensembles, with fewer members than they have: their checks, tables and pictures."""

import numpy as np
import pytest

from carom.demos.break_odds import FREE_PATH, RADIUS, ROW, BreakOdds, growth
from carom.demos.rockfall import BLOCK, CELLS, Rockfall, height_of_slope, solid, terrain


def test_growth_along_a_row_is_that_of_its_recursion():
    matrix = growth()
    offsets = np.random.default_rng(0).normal(size=ROW + 1)
    angle = 0.0
    for k in range(1, ROW + 1):
        angle = (offsets[k] - offsets[k - 1] - FREE_PATH * angle) / (2.0 * RADIUS)
        assert matrix[k - 1] @ offsets == pytest.approx(angle)


def test_break_odds(tmp_path):
    demo = BreakOdds(breaks=12, rows=100, workers=2)
    wrong = [check.what for check in demo.check() if not check.holds]
    assert not wrong
    assert [len(table.rows) for table in demo.tables()] == [ROW, 15]
    demo.write(tmp_path / "odds.png")
    assert (tmp_path / "odds.png").stat().st_size > 50_000


def test_the_slope_is_closed_and_its_height_that_of_its_triangles():
    trimesh = pytest.importorskip("trimesh", reason="trimesh is not installed")
    mesh = trimesh.Trimesh(*solid(), process=False)
    assert mesh.is_watertight
    assert mesh.is_winding_consistent
    assert mesh.volume > 0.0
    vertices, triangles = terrain()
    weights = np.random.default_rng(1).dirichlet(np.ones(3), len(triangles))
    places = np.einsum("ti,tij->tj", weights, vertices[triangles])
    assert height_of_slope(places[:, 0], places[:, 1]) == pytest.approx(places[:, 2], abs=1e-12)
    assert height_of_slope(np.array([500.0]), np.array([0.0])) == -np.inf
    assert len(vertices) == CELLS[0] * CELLS[1]


@pytest.mark.long
def test_rockfall(tmp_path):
    demo = Rockfall(blocks=24, workers=2)
    few = ("mean energy at the fence, half interval, relative", "blocks lost, a share")
    wrong = [check.what for check in demo.check() if not check.holds and check.what not in few]
    assert not wrong
    assert demo.runs.good.sum() >= 16
    assert demo.runs["position"].shape == (24, BLOCK + 1, 3)
    assert len(demo.tables()) == 2
    demo.write(tmp_path / "rockfall.png")
    assert (tmp_path / "rockfall.png").stat().st_size > 50_000


def test_a_few_blocks_come_to_lie():
    demo = Rockfall(blocks=3, workers=2)
    assert demo.runs.good.all()
    assert demo.runs["unbalanced"].max() < 1e-6
    assert demo.runs["end_time"].max() < 30.0
