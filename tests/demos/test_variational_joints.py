"""Linkages by two integrators: system and numbers; that it runs and draws is tested through the command line."""

import numpy as np
import pytest

from carom.demos import variational_joints
from carom.demos.variational_joints import (
    Linkage,
    VariationalJoints,
    _start,
    coordinates,
    double_pendulum,
    four_bar,
    lagrangian_system,
)
from carom.impact_laws import AnitescuPotra
from carom.simulator import Simulator


@pytest.fixture(scope="module")
def demo():
    return VariationalJoints()


def test_checks_hold_and_tables_fit_their_headers(demo):
    assert [check for check in demo.check() if not check.holds] == []
    for table in demo.tables():
        assert table.rows
        assert all(len(row) == len(table.header) for row in table.rows)


@pytest.mark.parametrize(("build", "freedoms"), [(double_pendulum, 2), (four_bar, 1)])
def test_system_of_a_scene(build, freedoms):
    """Its derivatives fit, its constraints hold at the start and leave as many freedoms as the linkage has."""
    scene = build()
    system, q = lagrangian_system(scene), coordinates(_start(scene))
    system.check_derivatives(q)
    assert np.abs(system.constraints(q)).max() < 1e-15
    rows = system.constraint_jacobian(q)
    assert q.size - np.linalg.matrix_rank(rows) == freedoms
    moved = q + np.arange(q.size) * 1e-3
    assert np.abs(system.constraints(moved)).max() > 1e-4


def test_energies_of_scene_and_system_agree():
    scene = four_bar()
    system, state = lagrangian_system(scene), _start(scene)
    velocity = np.stack(
        [state.velocity[:, 0], state.velocity[:, 2], state.angular_velocity[:, 1]], axis=1
    ).ravel()
    momentum = system.inertia_at(coordinates(state)) @ velocity
    simulator = Simulator(scene, AnitescuPotra())
    simulator.run(0.0)
    assert system.energy(coordinates(state), momentum) == pytest.approx(
        float(simulator.trajectory.energy(0.0)), rel=1e-13
    )


def test_an_engine_that_moves_otherwise_fails(monkeypatch):
    monkeypatch.setattr(variational_joints, "LONG", 1.5)
    other = Linkage("double pendulum", double_pendulum())
    other.scene.gravity = np.array([0.0, 0.0, -9.8])
    wrong = VariationalJoints()
    wrong.linkages = [other]
    failed = {check.what for check in wrong.check() if not check.holds}
    assert "limit of small steps, off the engine" in failed
