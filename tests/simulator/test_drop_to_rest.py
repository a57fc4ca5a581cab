"""What must hold of every drop: energy, momentum, gaps, unit quaternions, time, and exact repetition."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from carom import (
    AnitescuPotra,
    Body,
    Box,
    HalfSpace,
    Material,
    RunStatus,
    Scene,
    SequentialReflection,
    Simulator,
)
from carom.demos import drop_scene, load_dropped_mesh, shipped_mesh

ENERGY_GAIN = 1e-9  # of the energy at the start
OVERLAP = 1e-9  # m
UNIT = 1e-12
BALANCE = 1e-12  # of the momentum before, or of the impulse where that is larger


def box_scene(seed, friction, restitution):
    random = np.random.default_rng(seed)
    material = Material(friction=friction, restitution=restitution)
    lengths = random.uniform(0.05, 0.4, 3)
    orientation = random.standard_normal(4)
    scene = Scene()
    scene.add(Body(HalfSpace((0.0, 0.0, 1.0)), fixed=True, material=material))
    scene.add(
        Body(
            Box(lengths),
            density=800.0,
            position=(0.0, 0.0, 0.2 + 0.5 * np.linalg.norm(lengths)),
            orientation=orientation / np.linalg.norm(orientation),
            velocity=(0.4, -0.2, 0.0),
            angular_velocity=random.uniform(-3, 3, 3),
            material=material,
        )
    )
    return scene


def mesh_scene():
    return drop_scene([load_dropped_mesh(shipped_mesh())], seed=3)


# name -> scene, law, duration [s]
DROPS = {
    **{
        f"box {seed}, friction 0.5": (lambda seed=seed: box_scene(seed, 0.5, 0.3), AnitescuPotra(), 10.0)
        for seed in (1, 2, 3)
    },
    **{
        f"box {seed}, no friction": (lambda seed=seed: box_scene(seed, 0.0, 0.3), SequentialReflection(), 3.0)
        for seed in (1, 2, 3)
    },
    "shipped mesh": (mesh_scene, AnitescuPotra(), 10.0),
}


def dropped(name):
    scene, law, duration = DROPS[name]
    return Simulator(scene(), law=law, seed=1).run(duration)


@pytest.fixture(scope="module", params=DROPS)
def drop(request):
    return request.param, dropped(request.param)


def test_drop_ends_well_after_impacts(drop):
    name, trajectory = drop
    assert any(event.kind == "impact" for event in trajectory.events)
    if "no friction" in name:  # it glides on
        assert trajectory.status is RunStatus.REACHED_END
    else:
        assert trajectory.status is RunStatus.AT_REST
        state = trajectory.sample(trajectory.end_time)
        assert not state.velocity.any()
        assert not state.angular_velocity.any()


def test_energy_never_rises(drop):
    _, trajectory = drop
    energy = trajectory.energy(np.linspace(0.0, trajectory.end_time, 500))
    assert np.diff(energy).max() <= ENERGY_GAIN * energy[0]
    times = [event.time for event in trajectory.events]
    gained = trajectory.energy(times) - trajectory.energy(times, side="left")
    assert gained.max() <= ENERGY_GAIN * energy[0]


def test_nothing_overlaps(drop):
    assert drop[1].largest_overlap(500) <= OVERLAP


def test_quaternions_keep_unit_length(drop):
    sampled = drop[1].sample(np.linspace(0.0, drop[1].end_time, 500))
    assert np.abs(np.linalg.norm(sampled.orientation, axis=-1) - 1.0).max() <= UNIT


def test_time_does_not_decrease(drop):
    times = [event.time for event in drop[1].events]
    assert (np.diff(times) >= 0.0).all()
    assert 0.0 < times[0] <= times[-1] <= drop[1].end_time
    for motion in drop[1].motions:
        assert (np.diff(motion.start) >= 0.0).all()


def impacts_of(trajectory):
    return [event for event in trajectory.events if event.kind == "impact"]


def test_every_impact_balances_momentum(drop):
    _, trajectory = drop
    body = trajectory.scene.bodies[1]
    for event in impacts_of(trajectory):
        patch = event.contacts
        frames = np.stack([patch.normal, patch.tangent, patch.tangent2], axis=1)
        impulses = np.einsum("cij,ci->cj", frames, event.outcome.impulse.reshape(-1, 3))
        arms = patch.point - event.before.position[1]
        before = event.problem.velocity_before
        gained = event.problem.generalized_velocity(event.outcome) - before
        w, x, y, z = event.before.orientation[1]
        turn = Rotation.from_quat([x, y, z, w]).as_matrix()
        inertia = turn @ body.inertia @ turn.T

        scale = np.abs(impulses).sum() + body.mass * np.linalg.norm(before[:3])
        assert np.abs(body.mass * gained[:3] - impulses.sum(axis=0)).max() <= BALANCE * scale
        scale = np.abs(arms).max() * np.abs(impulses).sum() + np.linalg.norm(inertia @ before[3:])
        twist = np.cross(arms, impulses).sum(axis=0)
        assert np.abs(inertia @ gained[3:] - twist).max() <= BALANCE * scale


def test_impacts_join_the_motions_around_them(drop):
    _, trajectory = drop
    for event in impacts_of(trajectory):
        around = [np.concatenate([s.velocity[1], s.angular_velocity[1]]) for s in (event.before, event.after)]
        np.testing.assert_allclose(around[0], event.problem.velocity_before, rtol=0, atol=1e-13)
        if not event.note:  # the rest of an accumulation is more than one impact
            after = event.problem.generalized_velocity(event.outcome)
            np.testing.assert_allclose(around[1], after, rtol=0, atol=1e-10)  # contacts are held closed


def test_second_run_is_equal_bit_for_bit(drop):
    name, first = drop
    second = dropped(name)
    assert (first.status, first.end_time, first.rest_time) == (
        second.status,
        second.end_time,
        second.rest_time,
    )
    assert [(e.kind, e.time) for e in first.events] == [(e.kind, e.time) for e in second.events]
    times = np.linspace(0.0, first.end_time, 500)
    for field in ("position", "orientation", "velocity", "angular_velocity"):
        assert np.array_equal(getattr(first.sample(times), field), getattr(second.sample(times), field))
    for one, other in zip(first.events, second.events, strict=True):
        if one.outcome is not None:
            assert np.array_equal(one.outcome.impulse, other.outcome.impulse)


@pytest.mark.parametrize("seed", [24, 41, 56])
def test_drops_whose_contacts_just_closed_come_to_rest(seed):
    """Contacts that neither press nor leave once made a mode end at the instant it began, for ever."""
    mesh = load_dropped_mesh(shipped_mesh())
    trajectory = Simulator(drop_scene([mesh], height=0.5, seed=seed), AnitescuPotra(), seed=seed).run(10.0)
    assert trajectory.status is RunStatus.AT_REST
    assert len(trajectory.events) < 1000
