"""Series behind plots: energies, impulses and velocities of runs that can be worked out by hand."""

import numpy as np
import pytest

from carom import Body, HalfSpace, Material, Scene, SequentialReflection, Simulator, Sphere, Trajectory
from carom.viewer import series

GRAVITY, HEIGHT, RESTITUTION = 9.81, 0.9, 0.8
FALL = (2.0 * HEIGHT / GRAVITY) ** 0.5
SPEED = GRAVITY * FALL


@pytest.fixture(scope="module")
def run():
    """A ball that falls 0.9 m onto a floor, twice within 1 s."""
    material = Material(friction=0.0, restitution=RESTITUTION)
    scene = Scene(gravity=(0, 0, -GRAVITY))
    scene.add(Body(HalfSpace((0, 0, 1)), fixed=True, material=material))
    scene.add(Body(Sphere(0.1), mass=2.0, position=(0, 0, 0.1 + HEIGHT), material=material))
    found = Simulator(scene, SequentialReflection()).run(1.2)
    assert len(found.events) == 2
    return found


@pytest.fixture(scope="module")
def loaded(run, tmp_path_factory):
    return Trajectory.load(run.save(tmp_path_factory.mktemp("series") / "run.h5"))


def test_energy_is_that_of_the_fall_and_drops_at_impacts(run):
    total, kinetic, potential = series.energies(run)
    assert (total.name, kinetic.name, potential.name) == ("total", "kinetic", "potential")
    assert np.allclose(total.y, kinetic.y + potential.y, rtol=1e-15)
    start = 2.0 * GRAVITY * (0.1 + HEIGHT)
    first = total.x < FALL
    assert np.allclose(total.y[first], start, rtol=1e-12)
    at = np.flatnonzero(np.isclose(total.x, FALL, rtol=1e-12))
    assert total.y[at[0]] == pytest.approx(start, rel=1e-12)
    lost = 0.5 * 2.0 * SPEED**2 * (1 - RESTITUTION**2)
    assert total.y[at[-1]] == pytest.approx(start - lost, rel=1e-12)
    assert kinetic.y[first] == pytest.approx(0.5 * 2.0 * (GRAVITY * total.x[first]) ** 2, rel=1e-9, abs=1e-12)


def test_the_impulse_clock_runs_on_in_impacts(run):
    clock = series.ImpulseClock(run)
    impulse = 2.0 * SPEED * (1 + RESTITUTION)
    assert clock.s(FALL / 2) == pytest.approx(FALL / 2)
    assert clock.impulse(run.event_times[0], side="left") == 0.0
    assert clock.impulse(run.event_times[0]) == pytest.approx(impulse, rel=1e-12)
    assert clock.s(1.2) == pytest.approx(1.2 + impulse * (1 + RESTITUTION), rel=1e-12)
    time = float(run.event_times[0])
    assert clock.place(time, "time") == time
    assert clock.place(time, "impulse", 0.25) == pytest.approx(FALL + 0.25 * impulse, rel=1e-12)
    for wanted in (0.0, 0.1, FALL / 2, 0.9, 1.2):
        assert clock.time_of(clock.place(wanted, "impulse"), "impulse") == pytest.approx(wanted, abs=1e-12)
    for share in (0.0, 0.3, 0.999):
        assert clock.time_of(clock.place(time, "impulse", share), "impulse") == time


def test_over_the_impulse_kinetic_energy_goes_through_full_compression(run):
    _, kinetic, potential = series.energies(run, over="impulse")
    assert (np.diff(kinetic.x) >= 0.0).all()
    compression = FALL + 2.0 * SPEED
    inside = (kinetic.x >= FALL) & (kinetic.x <= FALL + 2.0 * SPEED * (1 + RESTITUTION))
    velocity = (kinetic.x[inside] - compression) / 2.0
    assert inside.sum() > 8
    assert np.allclose(kinetic.y[inside], 0.5 * 2.0 * velocity**2, atol=1e-9)
    assert np.allclose(potential.y[inside], 2.0 * GRAVITY * 0.1, rtol=1e-9)


@pytest.mark.parametrize("source", ["run", "loaded"])
def test_velocities_and_impulses_are_those_of_the_impacts(source, request):
    trajectory = request.getfixturevalue(source)
    before, slip = series.contact_velocities(trajectory)
    after, _ = series.contact_velocities(trajectory, when="after")
    assert before.y == pytest.approx([-SPEED, -RESTITUTION * SPEED], rel=1e-12)
    assert after.y == pytest.approx([RESTITUTION * SPEED, RESTITUTION**2 * SPEED], rel=1e-12)
    assert (slip.y == 0.0).all()
    normal, friction = series.impulses(trajectory)
    assert normal.y == pytest.approx(2.0 * (after.y - before.y), rel=1e-12)
    assert (friction.y == 0.0).all()
    assert normal.x.tolist() == trajectory.event_times.tolist()
    assert set(normal.kinds.tolist()) == {"impact"}
    over, _ = series.impulses(trajectory, over="impulse")
    assert over.x == pytest.approx(series.ImpulseClock(trajectory).s(trajectory.event_times), rel=1e-14)


def test_a_recording_gives_the_series_of_the_run(run, loaded):
    for over in ("time", "impulse"):
        for one, other in zip(series.energies(run, over), series.energies(loaded, over), strict=True):
            assert np.array_equal(one.x, other.x)
            assert np.array_equal(one.y, other.y)


def test_impacts_at_one_instant_follow_each_other_over_the_impulse():
    material = Material(friction=0.0, restitution=1.0)
    scene = Scene(gravity=(0, 0, 0))
    for k, velocity in enumerate((1.0, 0.0, 1.0, 0.0)):
        scene.add(Body(Sphere(0.1), mass=1.0, position=(0.5 * (k % 2), 3.0 * (k > 1), 0),
                       velocity=(velocity, 0, 0), material=material))  # fmt: skip
    run = Simulator(scene, SequentialReflection()).run(1.0)
    assert run.event_times.tolist() == [run.event_times[0]] * 2
    _, kinetic, _ = series.energies(run, over="impulse")
    assert kinetic.range == pytest.approx((0.75, 1.0))  # at each full compression one pair moves on together
    assert np.isclose(kinetic.y, 0.75).sum() == 2


def test_a_run_without_impacts_has_empty_series():
    scene = Scene(gravity=(0, 0, 0))
    scene.add(Body(Sphere(0.1), density=1.0, velocity=(1, 0, 0)))
    run = Simulator(scene, SequentialReflection()).run(1.0)
    for each in (*series.contact_velocities(run), *series.impulses(run, "impulse")):
        assert len(each) == 0
        assert each.range == (0.0, 1.0)
    total, *_ = series.energies(run, over="impulse")
    assert np.ptp(total.y) < 1e-12
