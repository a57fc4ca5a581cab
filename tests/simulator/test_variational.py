"""The variational integrator: closed forms, order, energy over long runs, momenta, impacts, rest, refusals."""

import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from carom.demos.double_pendulum import pendulum_of_angles, pendulum_of_points, points_of_angles
from carom.impact_laws import AnitescuPotra, SequentialReflection, law_by_name, law_names
from carom.simulator import LagrangianSystem, RunStatus, VariationalIntegrator, VariationalStepError

GRAVITY = 9.81


def oscillator(mass=2.0, stiffness=3.0):
    return LagrangianSystem(
        inertia=[[mass]],
        potential=lambda q: 0.5 * stiffness * q[0] ** 2,
        potential_gradient=lambda q: stiffness * q,
    )


def stop_between_rods(limit, of_points, restitution):
    """A wall at the joint: the second angle stays above the first minus `limit` [rad]."""
    if not of_points:
        return {
            "gaps": lambda q: np.array([q[1] - q[0] + limit]),
            "gap_jacobian": lambda q: np.array([[-1.0, 1.0]]),
            "restitution": restitution,
            "gap_names": ["stop"],
        }

    def gaps(q):
        x, y, dx, dy = q[0], q[1], q[2] - q[0], q[3] - q[1]
        return np.array([x * dy - y * dx + math.sin(limit)])

    def gap_jacobian(q):
        x, y, dx, dy = q[0], q[1], q[2] - q[0], q[3] - q[1]
        return np.array([[dy + y, -dx - x, -y, x]])

    return {"gaps": gaps, "gap_jacobian": gap_jacobian, "restitution": restitution, "gap_names": ["stop"]}


def bouncing_ball(restitution, mass=1.3):
    return LagrangianSystem(
        inertia=[[mass]],
        potential=lambda q: mass * GRAVITY * q[0],
        potential_gradient=lambda q: np.array([mass * GRAVITY]),
        gaps=lambda q: q[:1],
        gap_jacobian=lambda q: np.eye(1),
        restitution=restitution,
        gap_names=["floor"],
    )


def balls_on_a_line(masses, **contacts):
    count = len(masses)
    return LagrangianSystem(
        inertia=np.diag(np.array(masses, dtype=float)),
        potential=lambda q: 0.0,
        potential_gradient=lambda q: np.zeros(count),
        gaps=lambda q: np.diff(q) - 1.0,
        gap_jacobian=lambda q: np.diff(np.eye(count), axis=0),
        **contacts,
    )


def box_over_floor(**material):
    """A box in the plane, coordinates (x, y, angle), over a floor that its two lower corners may touch."""
    corners = ((-0.5, -0.3), (0.5, -0.3))

    def gaps(q):
        return np.array([q[1] + math.sin(q[2]) * a + math.cos(q[2]) * b for a, b in corners])

    def gap_jacobian(q):
        return np.array([[0.0, 1.0, math.cos(q[2]) * a - math.sin(q[2]) * b] for a, b in corners])

    def gap_tangents(q):
        return np.array([[[1.0, 0.0, -math.sin(q[2]) * a - math.cos(q[2]) * b]] for a, b in corners])

    return LagrangianSystem(
        inertia=np.diag([1.0, 1.0, 0.11]),
        potential=lambda q: GRAVITY * q[1],
        potential_gradient=lambda q: np.array([0.0, GRAVITY, 0.0]),
        gaps=gaps,
        gap_jacobian=gap_jacobian,
        gap_tangents=gap_tangents,
        **material,
    )


def reference(system, position, velocity, until):
    """Position at `until` by an explicit method of high order on the continuous equations of motion."""
    size = len(position)

    def slope(t, y):
        q, v = y[:size], y[size:]
        turning = system.inertia_derivative(q) @ v
        force = 0.5 * turning @ v - turning.T @ v - system.potential_gradient(q)
        return np.concatenate([v, np.linalg.solve(system.inertia(q), force)])

    start = np.concatenate([position, velocity])
    return solve_ivp(slope, (0.0, until), start, method="DOP853", rtol=1e-13, atol=1e-13).y[:size, -1]


# -- smooth motion -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("step_size", [0.1, 0.5, 1.5, 50.0])
def test_oscillator_has_the_frequency_of_the_midpoint_rule(step_size):
    """tan(Ω h/2) = ω h/2, with the exact amplitude, also far beyond where explicit methods are stable."""
    frequency = math.sqrt(3.0 / 2.0)
    integrator = VariationalIntegrator(oscillator(), [1.0], velocity=[0.3], step_size=step_size)
    trajectory = integrator.run(300 * step_size)
    discrete = 2.0 / step_size * math.atan(0.5 * frequency * step_size)
    t = trajectory.times
    expected = np.cos(discrete * t) + 0.3 / frequency * np.sin(discrete * t)
    np.testing.assert_allclose(trajectory.positions[:, 0], expected, rtol=0.0, atol=1e-12)
    assert np.ptp(trajectory.energy) < 1e-12  # a quadratic energy is kept


@pytest.mark.parametrize("of_points", [False, True])
def test_second_order_against_an_explicit_method(of_points):
    angles = np.array([0.7, -0.4])
    expected = reference(pendulum_of_angles(), angles, np.zeros(2), 2.0)
    system, start = pendulum_of_angles(), angles
    if of_points:
        system, start, expected = (
            pendulum_of_points(),
            points_of_angles(angles),
            points_of_angles(expected),
        )
    errors = []
    for step_size in (0.02, 0.01, 0.005):
        integrator = VariationalIntegrator(system, start, velocity=0.0 * start, step_size=step_size)
        errors.append(np.abs(integrator.run(2.0).positions[-1] - expected).max())
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    np.testing.assert_allclose(orders, 2.0, atol=0.05)


def energy_run(of_points, steps):
    """Energy error, duration and constraint violation of the pendulum with a coarse step."""
    system = pendulum_of_points() if of_points else pendulum_of_angles()
    start = points_of_angles([0.9, -0.4]) if of_points else np.array([0.9, -0.4])
    integrator = VariationalIntegrator(system, start, velocity=0.0 * start, step_size=0.04)
    trajectory = integrator.run(steps * 0.04)
    assert trajectory.status is RunStatus.REACHED_END
    assert trajectory.constraint_violation.max() <= 1e-12
    return trajectory.times, trajectory.energy - trajectory.energy[0]


@pytest.mark.parametrize("of_points", [False, True])
@pytest.mark.parametrize(
    ("steps", "share"),
    [pytest.param(10_000, 2e-2, id="short"), pytest.param(100_000, 1e-3, id="full", marks=pytest.mark.long)],
)
def test_energy_oscillates_without_drift(of_points, steps, share):
    """The linear trend over the whole run is a small share of the oscillation, and so are changes of its mean.

    Explicit Runge-Kutta of order 4 with the same step loses more than 15 times the oscillation over the long run.
    """
    times, error = energy_run(of_points, steps)
    oscillation = np.ptp(error)
    assert oscillation < 0.25  # of 8 J between the start and the lowest point
    trend = np.polyfit(times - times.mean(), error, 1)[0] * times[-1]
    assert abs(trend) < share * oscillation
    parts = error[:steps].reshape(10, -1)
    assert np.ptp(parts.max(axis=1)) < 0.1 * oscillation
    assert parts.mean(axis=1).std() < share * oscillation


@pytest.mark.parametrize("velocity", [[0.0, 2.5, 0.0, -1.0], [0.03, 1.0, 0.02, -0.7]])
def test_dumbbell_keeps_linear_and_angular_momentum(velocity):
    masses = np.array([1.0, 1.0, 2.5, 2.5])
    velocity = np.array(velocity)
    velocity[2] = velocity[0]  # the rod keeps its length
    system = LagrangianSystem(
        inertia=np.diag(masses),
        potential=lambda q: 0.0,
        potential_gradient=lambda q: np.zeros(4),
        constraints=lambda q: np.array([0.5 * ((q[2:] - q[:2]) @ (q[2:] - q[:2]) - 1.0)]),
        constraint_jacobian=lambda q: np.concatenate([q[:2] - q[2:], q[2:] - q[:2]])[None],
    )
    integrator = VariationalIntegrator(system, [0.0, 0.0, 1.0, 0.0], velocity=velocity, step_size=0.02)
    trajectory = integrator.run(40.0)
    q, p = trajectory.positions, trajectory.momenta
    angular = q[:, 0] * p[:, 1] - q[:, 1] * p[:, 0] + q[:, 2] * p[:, 3] - q[:, 3] * p[:, 2]
    assert np.abs(p[:, :2] + p[:, 2:] - p[0, :2] - p[0, 2:]).max() < 1e-13
    assert np.abs(angular - angular[0]).max() < 1e-13
    assert trajectory.constraint_violation.max() < 1e-14
    turned = np.unwrap(np.arctan2(q[:, 3] - q[:, 1], q[:, 2] - q[:, 0]))
    assert abs(turned[-1]) > 2.0 * math.pi


def test_angular_momentum_of_a_central_potential():
    system = LagrangianSystem(
        inertia=np.eye(2),
        potential=lambda q: -1.0 / math.hypot(*q),
        potential_gradient=lambda q: q / math.hypot(*q) ** 3,
    )
    trajectory = VariationalIntegrator(system, [1.0, 0.0], velocity=[0.0, 0.8], step_size=0.02).run(100.0)
    q, p = trajectory.positions, trajectory.momenta
    assert np.abs(q[:, 0] * p[:, 1] - q[:, 1] * p[:, 0] - 0.8).max() < 1e-13


def test_momentum_and_velocity_start_the_same_run_and_steps_are_a_run():
    angles = np.array([0.9, -0.4])
    system = pendulum_of_angles()
    velocity = np.array([0.2, 0.5])
    run = VariationalIntegrator(system, angles, velocity=velocity, step_size=0.01).run(0.095)
    stepped = VariationalIntegrator(
        system, angles, momentum=system.inertia(angles) @ velocity, step_size=0.01
    )
    for _ in range(9):
        state = stepped.step()
    np.testing.assert_allclose(state.position, run.positions[9], rtol=0.0, atol=1e-15)
    assert run.times[-1] == 0.095
    assert len(run) == 11
    np.testing.assert_allclose(
        system.energy(state.position, state.momentum), run.energy[9], rtol=0.0, atol=1e-13
    )
    with pytest.raises(ValueError, match="read-only"):
        state.position[0] = 1.0


@pytest.mark.parametrize("of_points", [False, True])
def test_motion_runs_backwards(of_points):
    system = pendulum_of_points() if of_points else pendulum_of_angles()
    there = points_of_angles([1.0, 1.5]) if of_points else np.array([1.0, 1.5])
    forwards = VariationalIntegrator(system, there, velocity=0.0 * there, step_size=0.01)
    forwards.run(3.0)
    backwards = VariationalIntegrator(
        system, forwards.state.position, momentum=-forwards.state.momentum, step_size=0.01
    )
    np.testing.assert_allclose(backwards.run(3.0).positions[-1], there, rtol=0.0, atol=1e-13)


# -- impacts -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("step_size", [0.001, 0.01, 0.17])
def test_bouncing_ball_meets_the_floor_at_exact_times(step_size):
    """Constant force: the midpoint rule is exact, whatever the step and wherever it is split."""
    restitution = 0.8
    integrator = VariationalIntegrator(
        bouncing_ball(restitution),
        [1.0],
        velocity=[0.0],
        step_size=step_size,
        law=SequentialReflection(),
        smallest_interval=0.0,
    )
    trajectory = integrator.run(4.5)  # beyond the limit of all bounces at 9 times the fall
    fall = math.sqrt(2.0 / GRAVITY)
    expected = fall * (1.0 + 2.0 * np.cumsum(restitution ** np.arange(1, 12)))
    times = np.array([event.time for event in trajectory.events])
    assert times[0] == pytest.approx(fall, abs=1e-14)
    np.testing.assert_allclose(times[1:12], expected, rtol=0.0, atol=1e-13)
    for event, speed in zip(
        trajectory.events[:12], GRAVITY * fall * restitution ** np.arange(12), strict=True
    ):
        assert event.names == ("floor",)
        assert event.momentum_before[0] == pytest.approx(-1.3 * speed, rel=1e-12)
        assert event.momentum_after[0] == pytest.approx(1.3 * restitution * speed, rel=1e-12)
        assert not event.plastic
    assert trajectory.status is RunStatus.REACHED_END
    assert trajectory.positions.min() > -1e-14
    assert trajectory.velocities[-1, 0] == pytest.approx(0.0, abs=1e-13)


def test_elastic_ball_keeps_energy_and_repeats_bit_for_bit():
    def run():
        return VariationalIntegrator(
            bouncing_ball(1.0), [1.0], velocity=[0.0], step_size=0.01, law=SequentialReflection()
        ).run(20.0)

    first, second = run(), run()
    assert np.ptp(first.energy) < 1e-12
    assert np.array_equal(first.positions, second.positions)
    assert np.array_equal(first.times, second.times)


@pytest.mark.parametrize(
    ("start", "velocity", "time", "sequence", "after"),
    [
        ([0.0, 2.0, 3.0], [1.0, 0.0, 0.0], 1.0, (0, 1), [0.0, 0.0, 1.0]),
        ([0.0, 1.0, 2.0], [1.0, 0.0, 0.0], 0.0, (0, 1), [0.0, 0.0, 1.0]),
        ([0.0, 1.5, 3.0], [1.0, 0.0, -1.0], 0.5, (0, 1, 0), [-1.0, 0.0, 1.0]),
    ],
)
def test_newtons_cradle(start, velocity, time, sequence, after):
    integrator = VariationalIntegrator(
        balls_on_a_line([1.0, 1.0, 1.0]), start, velocity=velocity, step_size=0.03, law=SequentialReflection()
    )
    trajectory = integrator.run(2.5)
    assert trajectory.status is RunStatus.REACHED_END
    (event,) = trajectory.events
    assert event.time == pytest.approx(time, abs=1e-14)
    assert event.contacts.tolist() == [0, 1]
    assert event.outcome.info["sequence"] == sequence
    np.testing.assert_allclose(event.momentum_after, after, rtol=0.0, atol=1e-14)
    np.testing.assert_allclose(trajectory.velocities[-1], after, rtol=0.0, atol=1e-14)
    assert np.ptp(trajectory.momenta.sum(axis=1)) < 1e-14
    assert np.ptp(trajectory.energy) < 1e-14


def test_unequal_balls_leave_as_published():
    """Masses 1, 2, 3: (1, 0, 0) becomes (-1/3, -2/15, 8/15)."""
    integrator = VariationalIntegrator(
        balls_on_a_line([1.0, 2.0, 3.0]),
        [0.0, 2.0, 3.0],
        velocity=[1.0, 0.0, 0.0],
        step_size=0.03,
        law=SequentialReflection(),
    )
    final = integrator.run(1.5).velocities[-1]
    np.testing.assert_allclose(final, [-1.0 / 3.0, -2.0 / 15.0, 8.0 / 15.0], rtol=0.0, atol=1e-14)


def test_a_gap_that_closes_and_opens_within_one_step_is_seen():
    """One step carries a free point through a disc of radius 0.5."""
    system = LagrangianSystem(
        inertia=np.eye(2),
        potential=lambda q: 0.0,
        potential_gradient=lambda q: np.zeros(2),
        gaps=lambda q: np.array([math.hypot(*q) - 0.5]),
        gap_jacobian=lambda q: q[None] / math.hypot(*q),
    )
    integrator = VariationalIntegrator(
        system, [-1.0, 0.3], velocity=[1.0, 0.0], step_size=2.0, law=SequentialReflection()
    )
    integrator.step()
    (event,) = integrator.trajectory.events
    assert event.time == pytest.approx(0.6, abs=1e-12)
    np.testing.assert_allclose(event.position, [-0.4, 0.3], rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(event.momentum_after, [-0.28, 0.96], rtol=0.0, atol=1e-12)


@pytest.mark.parametrize("of_points", [False, True])
@pytest.mark.parametrize("restitution", [1.0, 0.5])
def test_stop_at_the_joint_of_a_pendulum(of_points, restitution):
    contacts = stop_between_rods(0.2, of_points, restitution)
    system = pendulum_of_points(**contacts) if of_points else pendulum_of_angles(**contacts)
    start = points_of_angles([0.9, 0.9]) if of_points else np.array([0.9, 0.9])
    system.check_derivatives(start)
    integrator = VariationalIntegrator(
        system, start, velocity=0.0 * start, step_size=0.005, law=SequentialReflection()
    )
    trajectory = integrator.run(10.0)
    assert trajectory.status is RunStatus.REACHED_END
    assert len(trajectory.events) > 6
    for event in trajectory.events:
        assert abs(system.gaps(event.position)[0]) < 1e-12
        rows = system.gap_jacobian(event.position)
        inertia = system.inertia_at(event.position)
        before, after = (
            float((rows @ np.linalg.solve(inertia, p))[0])
            for p in (event.momentum_before, event.momentum_after)
        )
        assert before == pytest.approx(event.problem.u[0], rel=1e-10)
        assert after == pytest.approx(event.outcome.velocity[0], rel=1e-10)
        assert after == pytest.approx(-restitution * before, rel=1e-10)
        jump = system.energy(event.position, event.momentum_after)
        jump -= system.energy(event.position, event.momentum_before)
        assert jump == pytest.approx(event.outcome.energy_change, abs=1e-12)
    assert min(system.gaps(q)[0] for q in trajectory.positions) > -1e-12
    assert trajectory.constraint_violation.max() < 1e-12
    if restitution == 1.0:
        assert np.ptp(trajectory.energy) < 2e-3


def test_impact_times_of_both_descriptions_converge_to_the_same():
    times = []
    for of_points in (False, True):
        contacts = stop_between_rods(0.2, of_points, 1.0)
        system = pendulum_of_points(**contacts) if of_points else pendulum_of_angles(**contacts)
        start = points_of_angles([0.9, 0.9]) if of_points else np.array([0.9, 0.9])
        integrator = VariationalIntegrator(
            system, start, velocity=0.0 * start, step_size=0.001, law=SequentialReflection()
        )
        times.append([event.time for event in integrator.run(5.0).events])
    np.testing.assert_allclose(times[0], times[1], rtol=0.0, atol=5e-5)


# -- chatter and rest --------------------------------------------------------------------------------------


def test_bounces_faster_than_a_step_are_taken_as_plastic_and_end_in_rest():
    integrator = VariationalIntegrator(
        bouncing_ball(0.8), [1.0], velocity=[0.0], step_size=0.01, law=SequentialReflection()
    )
    trajectory = integrator.run(6.0)
    last = trajectory.events[-1]
    intervals = np.diff([event.time for event in trajectory.events])
    assert [event.plastic for event in trajectory.events] == [False] * len(intervals) + [True]
    assert intervals[-1] < 0.01 < intervals[-2]
    assert "taken as plastic" in last.note
    assert f"{intervals[-1]:.3g} s" in last.note
    assert last.momentum_after[0] == 0.0
    assert np.abs(trajectory.positions[trajectory.times > last.time]).max() < 1e-15
    assert np.abs(trajectory.velocities[trajectory.times > last.time]).max() < 1e-13


def test_pendulum_pressed_against_its_stop_chatters_into_rest_and_leaves_it():
    """The stop lies where the pendulum presses on it for part of the swing: it rests there and lets go."""
    contacts = stop_between_rods(0.0, False, 0.2)
    system = pendulum_of_angles(**contacts)
    integrator = VariationalIntegrator(
        system, [0.9, 1.2], velocity=[0.0, 0.0], step_size=0.005, law=SequentialReflection()
    )
    trajectory = integrator.run(5.0)
    assert trajectory.status is RunStatus.REACHED_END
    plastic = [event for event in trajectory.events if event.plastic]
    assert plastic
    for event in plastic:
        assert event.outcome.velocity[0] == pytest.approx(0.0, abs=1e-12)
    gaps = np.array([system.gaps(q)[0] for q in trajectory.positions])
    assert gaps.min() > -1e-12
    resting = np.abs(gaps) < 1e-13
    assert 10 < resting.sum() < len(gaps)
    assert np.diff(trajectory.energy).max() < 1e-3


def two_blocks_on_a_spring():
    """The lower block stands on the floor; a spring of 40 N/m and natural length 1 m joins the unit masses."""
    return LagrangianSystem(
        inertia=np.eye(2),
        potential=lambda q: GRAVITY * (q[0] + q[1]) + 20.0 * (q[1] - q[0] - 1.0) ** 2,
        potential_gradient=lambda q: GRAVITY + 40.0 * (q[1] - q[0] - 1.0) * np.array([-1.0, 1.0]),
        gaps=lambda q: q[:1],
        gap_jacobian=lambda q: np.array([[1.0, 0.0]]),
        restitution=0.0,
    )


@pytest.mark.parametrize("step_size", [0.01, 0.001])
def test_a_resting_contact_lets_go_when_its_force_vanishes(step_size):
    """The spring lifts the lower block once it is longer than its natural length by the weight over 40 N/m."""
    stretch = GRAVITY / 40.0
    start = [0.0, 1.0 - stretch - 0.6]
    integrator = VariationalIntegrator(
        two_blocks_on_a_spring(), start, velocity=[0.0, 0.0], step_size=step_size, law=SequentialReflection()
    )
    trajectory = integrator.run(0.5)
    expected = math.acos(-2.0 * stretch / 0.6) / math.sqrt(40.0)
    lifted = trajectory.times[np.argmax(trajectory.positions[:, 0] > 0.0)]
    assert lifted == pytest.approx(expected, abs=2.0 * step_size)
    assert not trajectory.events


def test_a_contact_that_always_presses_never_moves():
    start = [0.0, 1.0 - GRAVITY / 40.0 + 0.3]
    integrator = VariationalIntegrator(
        two_blocks_on_a_spring(), start, velocity=[0.0, 0.0], step_size=0.01, law=SequentialReflection()
    )
    trajectory = integrator.run(20.0)
    assert np.abs(trajectory.positions[:, 0]).max() < 1e-14
    assert np.ptp(trajectory.energy) < 1e-11


@pytest.mark.parametrize(("step_size", "error"), [(0.01, 0.05), (0.001, 0.005)])
def test_a_point_slides_down_a_dome_and_leaves_it_at_two_thirds_of_its_height(step_size, error):
    system = LagrangianSystem(
        inertia=np.eye(2),
        potential=lambda q: GRAVITY * q[1],
        potential_gradient=lambda q: np.array([0.0, GRAVITY]),
        gaps=lambda q: np.array([math.hypot(*q) - 1.0]),
        gap_jacobian=lambda q: q[None] / math.hypot(*q),
    )
    integrator = VariationalIntegrator(
        system,
        [math.sin(0.1), math.cos(0.1)],
        velocity=[0.0, 0.0],
        step_size=step_size,
        law=SequentialReflection(),
    )
    trajectory = integrator.run(1.2)
    assert not trajectory.events
    gaps = np.array([system.gaps(q)[0] for q in trajectory.positions])
    left = np.argmax(gaps > 1e-10)
    assert np.abs(gaps[:left]).max() < 1e-14
    assert trajectory.positions[left, 1] == pytest.approx(2.0 / 3.0 * math.cos(0.1), abs=error)
    assert np.ptp(trajectory.energy) < 5.0 * step_size**2


def test_column_of_unequal_balls_comes_to_rest():
    masses = np.array([1.0, 10.0, 0.1, 5.0, 20.0])
    rows = np.eye(5) - np.eye(5, k=-1)
    system = LagrangianSystem(
        inertia=np.diag(masses),
        potential=lambda q: GRAVITY * float(masses @ q),
        potential_gradient=lambda q: GRAVITY * masses,
        gaps=lambda q: rows @ q,
        gap_jacobian=lambda q: rows,
        restitution=0.6,
    )
    integrator = VariationalIntegrator(
        system, [1.0, 1.2, 1.3, 1.9, 2.0], velocity=np.zeros(5), step_size=0.01, law=SequentialReflection()
    )
    trajectory = integrator.run(8.0)
    assert trajectory.status is RunStatus.REACHED_END
    assert np.diff(trajectory.energy).max() < 1e-11
    np.testing.assert_allclose(trajectory.positions[-1], 0.0, atol=1e-12)
    np.testing.assert_allclose(trajectory.velocities[-1], 0.0, atol=1e-12)


@pytest.mark.parametrize("name", law_names())
def test_box_comes_to_rest_on_two_corners_with_every_law(name):
    system = box_over_floor(restitution=0.5)
    system.check_derivatives([0.0, 1.0, 0.2])
    integrator = VariationalIntegrator(
        system, [0.0, 1.0, 0.2], velocity=[0.5, 0.0, 0.0], step_size=0.005, law=law_by_name(name)
    )
    trajectory = integrator.run(4.0)
    assert trajectory.status is RunStatus.REACHED_END
    np.testing.assert_allclose(system.gaps(trajectory.positions[-1]), 0.0, atol=1e-12)
    np.testing.assert_allclose(trajectory.velocities[-1], [0.5, 0.0, 0.0], rtol=0.0, atol=1e-9)
    assert np.abs(trajectory.momenta[:, 0] - 0.5).max() < 1e-13
    assert min(system.gaps(q).min() for q in trajectory.positions) > -1e-12


def test_lasting_contact_with_friction_ends_the_run_in_words():
    system = box_over_floor(restitution=0.0, friction=0.4)
    integrator = VariationalIntegrator(
        system, [0.0, 1.0, 0.2], velocity=[0.5, 0.0, 0.0], step_size=0.005, law=AnitescuPotra()
    )
    trajectory = integrator.run(4.0)
    assert trajectory.status is RunStatus.CONTACT_FAILED
    assert "friction 0.4" in trajectory.message
    (event,) = trajectory.events
    assert event.outcome.impulse[1] != 0.0  # friction acted at the impact itself
    assert trajectory.times[-1] == event.time


# -- endings and refusals ----------------------------------------------------------------------------------


def test_a_step_without_solution_names_the_step_size():
    system = LagrangianSystem(
        inertia=np.eye(1),
        potential=lambda q: -math.exp(q[0]),
        potential_gradient=lambda q: -np.exp(q),
    )
    integrator = VariationalIntegrator(system, [1.0], velocity=[1.0], step_size=3.0)
    with pytest.raises(VariationalStepError, match=r"step of 3 s from t = 0 s .*smaller step_size"):
        integrator.run(30.0)
    assert integrator.time == 0.0
    assert np.isfinite(integrator.trajectory.positions).all()


def test_event_limit_and_failing_law_are_statuses():
    limited = VariationalIntegrator(
        bouncing_ball(1.0), [1.0], velocity=[0.0], step_size=0.01, law=SequentialReflection(), event_limit=3
    )
    assert limited.run(20.0).status is RunStatus.EVENT_LIMIT
    assert limited.run(25.0).status is RunStatus.EVENT_LIMIT
    assert limited.time < 3.0
    failing = VariationalIntegrator(
        balls_on_a_line([1.0, 1.0, 1.0]),
        [0.0, 2.0, 3.0],
        velocity=[1.0, 0.0, 0.0],
        step_size=0.01,
        law=SequentialReflection(max_reflections=1),
    )
    trajectory = failing.run(2.0)
    assert trajectory.status is RunStatus.LAW_FAILED
    assert "not_terminated" in trajectory.message
    assert trajectory.times[-1] == pytest.approx(1.0, abs=1e-14)


def start(system=None, position=(0.3, 0.1), **changes):
    options = {"velocity": [0.0, 0.0], "step_size": 0.01} | changes
    return VariationalIntegrator(system or pendulum_of_angles(), position, **options)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"step_size": 0.0}, "step_size: expected a number greater than 0, got 0"),
        ({"step_size": math.inf}, "step_size: expected a finite number, got inf"),
        ({"position": [[0.3, 0.1]]}, r"position: expected shape \(n\), got \(1, 2\)"),
        ({"position": [math.nan, 0.1]}, "position: expected finite numbers"),
        ({"velocity": [0.0, 0.0, 0.0]}, r"velocity: expected shape \(2\), got \(3,\)"),
        ({"velocity": None}, "exactly one of momentum and velocity"),
        ({"momentum": [0.0, 0.0]}, "exactly one of momentum and velocity"),
        ({"smallest_interval": -1.0}, "smallest_interval: expected a number of at least 0"),
        ({"step_size": [0.1, 0.2]}, "step_size: expected a number, got"),
        ({"position": "here"}, "position: expected numbers of shape"),
        ({"position": [1j, 0.0]}, "position: expected numbers of shape"),
        ({"gap_scale": 0.0}, "gap_scale: expected a number greater than 0"),
    ],
)
def test_bad_arguments_are_named(changes, message):
    with pytest.raises((TypeError, ValueError), match=message):
        start(**changes)


def free(**fields):
    fields = {
        "inertia": np.eye(2),
        "potential": lambda q: 0.0,
        "potential_gradient": lambda q: np.zeros(2),
    } | fields
    return LagrangianSystem(**fields)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"inertia": np.eye(3)}, r"inertia: expected shape \(2, 2\), got \(3, 3\)"),
        ({"inertia": np.diag([1.0, 0.0])}, "inertia: expected a symmetric positive definite"),
        ({"inertia": lambda q: np.eye(2)}, "inertia_derivative: required"),
        (
            {"inertia": lambda q: np.eye(2), "inertia_derivative": lambda q: np.zeros((2, 2))},
            r"inertia_derivative: expected shape \(2, 2, 2\)",
        ),
        ({"potential_gradient": lambda q: np.zeros(3)}, r"potential_gradient: expected shape \(2\)"),
        ({"constraints": lambda q: q[:1]}, "constraints and constraint_jacobian must be given together"),
        (
            {"constraints": lambda q: q[:1], "constraint_jacobian": lambda q: np.eye(2)},
            r"constraint_jacobian: expected shape \(1, 2\)",
        ),
        (
            {"constraints": lambda q: 0.0 * q, "constraint_jacobian": lambda q: np.ones((2, 2))},
            "constraint_jacobian: expected 2 independent rows, got rank 1",
        ),
        (
            {"gaps": lambda q: 1.0 + q, "gap_jacobian": lambda q: np.eye(2), "restitution": 1.5},
            r"restitution: expected values within \[0, 1\]",
        ),
        (
            {"gaps": lambda q: 1.0 + q, "gap_jacobian": lambda q: np.eye(2), "friction": 0.5},
            "friction: expected 0 without gap_tangents",
        ),
        (
            {
                "gaps": lambda q: 1.0 + q,
                "gap_jacobian": lambda q: np.eye(2),
                "gap_tangents": lambda q: np.eye(2),
            },
            r"gap_tangents: expected shape \(2, 1, 2\)",
        ),
        (
            {"gaps": lambda q: 1.0 + q, "gap_jacobian": lambda q: np.eye(2), "gap_names": ["a"]},
            "gap_names: expected 2 words, got 1",
        ),
    ],
)
def test_bad_systems_are_named(fields, message):
    with pytest.raises(ValueError, match=message):
        start(free(**fields), law=SequentialReflection())


def test_inconsistent_starts_are_named():
    system = pendulum_of_points()
    there = points_of_angles([0.9, -0.4])
    with pytest.raises(
        ValueError, match=r"position: expected constraints of at most 1e-10, got .* constraint 1"
    ):
        VariationalIntegrator(
            system, [*there[:2], there[2] + 1e-6, there[3]], velocity=np.zeros(4), step_size=0.01
        )
    with pytest.raises(ValueError, match=r"velocity: expected a motion that keeps the constraints"):
        VariationalIntegrator(system, there, velocity=[1.0, 0.0, 0.0, 0.0], step_size=0.01)
    with pytest.raises(ValueError, match=r"momentum: expected a motion that keeps the constraints"):
        VariationalIntegrator(system, there, momentum=[1.0, 0.0, 0.0, 0.0], step_size=0.01)
    with pytest.raises(ValueError, match=r"position: expected no overlap, got a gap of -0\.1 at floor"):
        start(bouncing_ball(0.5), [-0.1], velocity=[0.0], law=SequentialReflection())
    with pytest.raises(TypeError, match="law: a system with gaps needs an impact law"):
        start(bouncing_ball(0.5), [0.1], velocity=[0.0])
    with pytest.raises(TypeError, match="system: expected a LagrangianSystem, got dict"):
        start({"inertia": 1.0})
    with pytest.raises(ValueError, match="until: expected a number of at least 0, got -1"):
        start().run(-1.0)


def test_wrong_derivatives_are_named():
    pendulum_of_angles().check_derivatives([0.4, -0.9])
    pendulum_of_points().check_derivatives(points_of_angles([0.4, -0.9]))
    with pytest.raises(ValueError, match="potential_gradient: expected what central differences give"):
        free(potential=lambda q: q[0]).check_derivatives([0.1, 0.2])
    turned = LagrangianSystem(
        inertia=lambda q: np.diag([1.0 + q[1] ** 2, 1.0]),
        inertia_derivative=lambda q: np.array([np.diag([2.0 * q[1], 0.0]), np.zeros((2, 2))]),
        potential=lambda q: 0.0,
        potential_gradient=lambda q: np.zeros(2),
    )
    with pytest.raises(ValueError, match="inertia_derivative: expected what central differences give"):
        turned.check_derivatives([0.1, 0.2])
