"""The energy ledger: of sliding, of parts of a run, of recordings and of branches."""

import numpy as np
import pytest

import carom
from carom.simulator import Simulator

GRAVITY = 9.81


def sliding_block():
    """A block that friction brings to rest."""
    scene = carom.Scene()
    material = carom.Material(0.3, 0.0)
    scene.add(carom.Body(carom.HalfSpace((0, 0, 1)), fixed=True, material=material))
    box = carom.Box((0.2, 0.2, 0.1))
    scene.add(carom.Body(box, mass=2.0, position=(0, 0, 0.05), velocity=(1.5, 0, 0), material=material))
    return scene


def sliding_scene():
    """The block beside a pendulum with a damped spring and a drive."""
    scene = sliding_block()
    scene.add(carom.Body(carom.Sphere(0.1), mass=1.0, position=(5, 0, 3)))
    scene.add_joint(
        carom.RevoluteJoint(
            2,
            anchor=(4, 0, 3),
            axis=(0, 1, 0),
            spring=carom.Spring(3.0, 0.2),
            damping=0.4,
            drive=carom.Drive(effort=1.0, damping=0.1, rate=2.0, limit=1.05),
        )
    )
    scene.add_force(carom.Drag(1, linear=0.01))
    return scene


def test_friction_work_of_a_sliding_block():
    trajectory = Simulator(sliding_block(), carom.StrongeCoulomb()).run(2.0)
    times = np.linspace(0, 0.5, 11)
    ledger = trajectory.ledger(times)
    slid = 1.5 * times - 0.15 * GRAVITY * times**2
    np.testing.assert_allclose(ledger.friction, -0.3 * 2.0 * GRAVITY * slid, atol=1e-11)
    end = trajectory.ledger(trajectory.end_time)
    assert end.friction + end.closing == pytest.approx(-0.5 * 2.0 * 1.5**2, abs=1e-11)
    assert abs(end.closing) < 1e-11
    assert end.kinetic == 0.0


def test_every_channel_closes_and_is_recorded(tmp_path):
    trajectory = Simulator(sliding_scene(), carom.StrongeCoulomb(), record=tmp_path / "live.h5").run(2.0)
    times = np.linspace(0, 2, 81)
    ledger = trajectory.ledger(times)
    assert np.abs(ledger.residual).max() < 1e-10
    for channel in ("friction", "damping", "drag", "drives"):
        assert abs(getattr(ledger, channel)[-1]) > 1e-3
    trajectory.save(tmp_path / "saved.h5")
    for name in ("live.h5", "saved.h5"):
        again = carom.Trajectory.load(tmp_path / name).ledger(times)
        for channel in ("friction", "damping", "drag", "drives", "springs", "impacts", "kinetic"):
            np.testing.assert_allclose(
                getattr(again, channel), getattr(ledger, channel), rtol=1e-13, atol=1e-13
            )


def test_runs_in_parts_have_the_ledger_of_one(tmp_path):
    whole = Simulator(sliding_scene(), carom.StrongeCoulomb()).run(1.5)
    parts = Simulator(sliding_scene(), carom.StrongeCoulomb(), record=tmp_path / "parts.h5")
    for until in (0.2, 0.55, 1.5):
        parts.run(until)
    times = np.linspace(0, 1.5, 40)
    recorded = carom.Trajectory.load(tmp_path / "parts.h5")
    for other in (parts.trajectory, recorded):
        np.testing.assert_allclose(other.ledger(times).work, whole.ledger(times).work, rtol=1e-12, atol=1e-12)


def test_ledgers_of_branches_close(tmp_path):
    from carom.demos.rocking_block import RockingBlock

    simulator = Simulator(RockingBlock().scene(), carom.SetValuedRouth(step=1e-3))
    run = simulator.branches(4, 1, 0.8)
    for trajectory in run.trajectories:
        times = np.linspace(0, trajectory.end_time, 30)
        assert np.abs(trajectory.ledger(times).residual).max() < 1e-9


def test_work_until_many_times_is_the_sum_over_rows_and_jumps(monkeypatch):
    from carom.simulator.engine.tables_kernels import CHANNELS as FORCES
    from carom.simulator.engine.tables_kernels import DEGREE
    from carom.simulator.record import works
    from carom.simulator.record.ledger import CHANNELS
    from carom.simulator.record.log import Log

    monkeypatch.setattr(works, "_ROWS_AT_ONCE", 37)  # so that rows are taken in many batches
    random, log, start = np.random.default_rng(0), Log.empty(), 0.0
    rows, jumps = np.zeros(60, dtype=log.works.dtype), np.zeros(60, dtype=log.jumps.dtype)
    for row, jump in zip(rows, jumps, strict=True):
        start += random.uniform(0.0, 0.1)
        row["origin"], row["start"] = start - random.uniform(0.0, 0.1), start
        row["end"] = start + random.choice([0.0, 0.05, 0.3, 2.0])
        row["work"][:, :4] = random.normal(size=(FORCES, 4)) * [0, 1, 1, 1]
        jump["time"], jump["energy"] = start, random.normal()
    log.add("works", rows), log.add("jumps", jumps)
    times = np.concatenate([random.uniform(-1.0, start + 3.0, 50), jumps["time"], rows["end"]])
    powers = np.arange(DEGREE)
    for side in ("left", "right"):
        expected = np.zeros((len(times), len(CHANNELS)))
        for k, time in enumerate(times):
            for row in rows:
                if row["start"] < time:
                    ends = min(time, row["end"]) - row["origin"], row["start"] - row["origin"]
                    expected[k, :FORCES] += row["work"] @ (ends[0] ** powers - ends[1] ** powers)
            counts = (jumps["time"] < time) | ((jumps["time"] == time) & (side == "right"))
            expected[k, CHANNELS.index("closing")] += jumps["energy"][counts].sum()
        np.testing.assert_allclose(works.work_until(log, times, side), expected, rtol=0, atol=1e-11)


@pytest.mark.parametrize("spring", [False, True])
def test_channels_over_implicit_steps_are_what_the_laws_of_forces_say(spring):
    """A motor, or a damped spring, turns a paddle among boxes: its work was the power at one time within a step,
    that of friction more than bodies lost, and closing contacts gave the rest."""
    wood, scene = carom.Material(0.4, 0.1), carom.Scene()
    scene.add(carom.Body(carom.HalfSpace((0, 0, 1)), fixed=True, material=wood))
    for normal in ((1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0)):
        scene.add(carom.Body(carom.HalfSpace(normal, offset=-0.4), fixed=True, material=wood))
    for k in range(10):
        place, turned = (0.2 * (-1) ** k, 0.12 * (k // 2) - 0.24, 0.15), (20 * k, 10, 30 * k)
        orientation = carom.euler_angles(turned, degrees=True)
        box = carom.Box((0.08, 0.07, 0.06))
        scene.add(carom.Body(box, density=600.0, position=place, orientation=orientation, material=wood))
    paddle = scene.add(
        carom.Body(
            carom.Box((0.04, 0.5, 0.08)), density=1000.0, position=(0, 0, 0.05), material=wood, name="paddle"
        )
    )
    acts = {"drive": carom.Drive(rate=3.0, damping=50.0, limit=40.0)}
    if spring:
        acts = {"spring": carom.Spring(6.0, 2.0), "damping": 0.1}
    scene.add_joint(carom.RevoluteJoint(paddle, anchor=(0, 0, 0), axis=(0, 0, 1), **acts))
    run = Simulator(scene, carom.MaximumDissipation()).run(1.0)
    assert run.status.value in ("reached_end", "at_rest")
    assert run.implicit_share > 0.01  # else this tests nothing
    works = run.log.works.rows(0, len(run.log.works))
    at = np.unique(np.concatenate([works["start"], works["end"], run.event_times]))
    nodes, weights = np.polynomial.legendre.leggauss(6)
    times = at[:-1, None] + 0.5 * np.diff(at)[:, None] * (1.0 + nodes)
    rate = run["paddle"].angular_velocity(times.ravel())[:, 2].reshape(times.shape)
    power = -0.1 * rate**2 if spring else np.clip(50.0 * (3.0 - rate), -40.0, 40.0) * rate
    done = 0.5 * np.diff(at) @ (power @ weights)
    ledger = run.ledger(np.linspace(0.0, run.end_time, 400))
    told = (ledger.damping if spring else ledger.drives)[-1]
    assert told == pytest.approx(done, rel=2e-5)
    assert np.abs(ledger.residual).max() < 1e-9 * np.ptp(ledger.kinetic + ledger.springs)
    assert ledger.closing[-1] <= 0.0
    rises = np.diff(ledger.closing)
    assert rises[rises > 0.0].sum() < 1e-4 * abs(told)
