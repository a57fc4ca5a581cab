"""Bodies on joints against closed forms, quadrature, and bodies of one piece."""

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.special import ellipk

import carom
from carom.simulator import Simulator
from carom.simulator.record.trajectory import RunStatus

GRAVITY = 9.81
LAWS = [carom.StrongeCoulomb(), carom.MaximumDissipation(), carom.AnitescuPotra(), carom.SequentialLCP()]


def run(scene, until, law=None):
    trajectory = Simulator(scene, law or carom.StrongeCoulomb()).run(until)
    assert trajectory.status in (RunStatus.REACHED_END, RunStatus.AT_REST), trajectory.message
    return trajectory


def violation(trajectory, samples=60):
    """Largest violation of any joint, of position and of velocity, over a run."""
    model = trajectory.model
    times = np.linspace(trajectory.start_time, trajectory.end_time, samples)
    found = [model.articulation.violations(trajectory.sample(t).packed()) for t in times]
    return max(np.abs(value).max() for _, value in found), max(np.abs(rate).max() for rate, _ in found)


def residual(trajectory):
    times = np.linspace(trajectory.start_time, trajectory.end_time, 101)
    return float(np.abs(trajectory.ledger(times).residual).max())


def rod(length=1.0, mass=1.0, **options):
    return carom.Body(carom.Box((length, 0.05, 0.05)), mass=mass, **options)


def test_physical_pendulum_has_the_period_of_the_elliptic_integral():
    scene = carom.Scene()
    body = scene.add(rod(position=(0.5, 0, 0)))
    scene.add_joint(carom.RevoluteJoint(body, anchor=(0, 0, 0), axis=(0, 1, 0)))
    inertia = float(body.inertia[1, 1]) + 0.25
    period = 4 * math.sqrt(inertia / (GRAVITY * 0.5)) * ellipk(0.5)
    trajectory = run(scene, 4 * period)
    for k in range(1, 5):
        turned_back = (
            brentq(
                lambda t: float(trajectory.sample(t).angular_velocity[0, 1]),
                (k - 0.01) * period,
                min((k + 0.01) * period, trajectory.end_time) if k < 4 else trajectory.end_time,
            )
            if k < 4
            else period * 4
        )
        assert turned_back == pytest.approx(k * period, abs=1e-10)
    end = trajectory.sample(4 * period)
    np.testing.assert_allclose(end.position[0], [0.5, 0, 0], atol=1e-10)
    assert max(violation(trajectory)) < 1e-12
    assert residual(trajectory) < 1e-12


def test_simple_pendulum_on_a_light_rod():
    scene = carom.Scene()
    scene.add(carom.Body(carom.Sphere(0.05), mass=2.0, position=(1.0, 0, 0)))
    scene.add_joint(carom.DistanceJoint(0, anchor=(1.0, 0, 0), base_anchor=(0, 0, 0)))
    quarter = math.sqrt(1.0 / GRAVITY) * ellipk(0.5)
    lowest = run(scene, 2.0).sample(quarter)
    np.testing.assert_allclose(lowest.position[0], [0, 0, -1], atol=1e-12)
    assert lowest.velocity[0, 0] == pytest.approx(-math.sqrt(2 * GRAVITY), rel=1e-12)
    assert not lowest.angular_velocity.any()


def test_conical_pendulum_keeps_its_angle():
    angle, length = 0.6, 1.0
    shape = carom.Box((0.05, 0.05, length))
    direction = np.array([math.sin(angle), 0.0, -math.cos(angle)])
    half = (math.pi - angle) / 2  # the z axis of the body turned onto the direction
    orientation = (math.cos(half), 0.0, math.sin(half), 0.0)
    probe = carom.Body(shape, mass=1.0)
    across = float(probe.inertia[0, 0]) + 0.25 * length**2
    spin = math.sqrt(GRAVITY * 0.5 * length / ((across - float(probe.inertia[2, 2])) * math.cos(angle)))
    place = 0.5 * length * direction
    scene = carom.Scene()
    scene.add(
        carom.Body(
            shape,
            mass=1.0,
            position=place,
            orientation=orientation,
            angular_velocity=(0, 0, spin),
            velocity=np.cross([0, 0, spin], place),
        )
    )
    scene.add_joint(carom.SphericalJoint(0, anchor=(0, 0, 0)))
    trajectory = run(scene, 10.0)
    states = trajectory.sample(np.linspace(0, 10, 300))
    assert np.ptp(states.position[:, 0, 2]) < 1e-11
    turned = np.arctan2(states.position[:, 0, 1], states.position[:, 0, 0])
    np.testing.assert_allclose(np.unwrap(turned), spin * np.linspace(0, 10, 300), atol=1e-9)


def four_bar():
    """Lengths and masses of its bars; places and rates of the pins over the angle of the crank."""
    ground, crank, coupler, rocker = 1.0, 0.4, 1.1, 0.9
    masses = (1.0, 1.5, 2.0)

    def configuration(theta):
        pin = crank * np.array([math.cos(theta), math.sin(theta)])
        span = np.array([ground, 0.0]) - pin
        distance = float(np.linalg.norm(span))
        along = (coupler**2 - rocker**2 + distance**2) / (2 * distance)
        height = math.sqrt(coupler**2 - along**2)
        unit = span / distance
        return pin, pin + along * unit + height * np.array([-unit[1], unit[0]])

    def rates(theta):
        pin, tip = configuration(theta)
        pin_rate = crank * np.array([-math.sin(theta), math.cos(theta)])
        rows = np.array([tip - pin, tip - [ground, 0.0]])
        tip_rate = np.linalg.solve(rows, [rows[0] @ pin_rate, 0.0])
        return pin_rate, tip_rate

    return (ground, crank, coupler, rocker), masses, configuration, rates


def test_four_bar_linkage_follows_its_quadrature():
    (ground, crank, coupler, rocker), masses, configuration, rates = four_bar()
    start, rate = 1.2, 3.0
    pin, tip = configuration(start)
    pin_rate, tip_rate = (rate * r for r in rates(start))
    ends = [(np.zeros(2), pin, np.zeros(2), pin_rate), (pin, tip, pin_rate, tip_rate)]
    ends.append((np.array([ground, 0.0]), tip, np.zeros(2), tip_rate))
    scene = carom.Scene()
    for (a, b, va, vb), length, mass in zip(ends, (crank, coupler, rocker), masses, strict=True):
        turn = math.atan2(b[1] - a[1], b[0] - a[0])  # about -y, from x towards z
        spin = float((b - a)[0] * (vb - va)[1] - (b - a)[1] * (vb - va)[0]) / length**2
        scene.add(
            rod(
                length,
                mass,
                position=[(a + b)[0] / 2, 0, (a + b)[1] / 2],
                orientation=(math.cos(turn / 2), 0, -math.sin(turn / 2), 0),
                velocity=[(va + vb)[0] / 2, 0, (va + vb)[1] / 2],
                angular_velocity=(0, -spin, 0),
            )
        )
    for pair in ((0, 1), (0, 2), (1, 2)):
        scene.disable_collision(*pair)
    axis = (0, 1, 0)
    scene.add_joint(carom.RevoluteJoint(0, anchor=(0, 0, 0), axis=axis))
    scene.add_joint(carom.RevoluteJoint(1, 0, anchor=(pin[0], 0, pin[1]), axis=axis))
    scene.add_joint(carom.RevoluteJoint(2, 1, anchor=(tip[0], 0, tip[1]), axis=axis))
    scene.add_joint(carom.RevoluteJoint(2, anchor=(ground, 0, 0), axis=axis))
    trajectory = run(scene, 4.0)
    assert max(violation(trajectory)) < 1e-10
    assert residual(trajectory) < 1e-11

    inertias = [float(body.inertia[1, 1]) for body in scene.bodies]

    def kinetic_and_potential(theta):
        pin, tip = configuration(theta)
        pin_rate, tip_rate = rates(theta)
        bars = [(np.zeros(2), pin, np.zeros(2), pin_rate), (pin, tip, pin_rate, tip_rate)]
        bars.append((np.array([ground, 0.0]), tip, np.zeros(2), tip_rate))
        kinetic = potential = 0.0
        for (a, b, va, vb), mass, inertia in zip(bars, masses, inertias, strict=True):
            spin = np.linalg.norm(vb - va) / np.linalg.norm(b - a)
            kinetic += 0.5 * mass * float(((va + vb) / 2) @ ((va + vb) / 2)) + 0.5 * inertia * spin**2
            potential += mass * GRAVITY * (a + b)[1] / 2
        return kinetic, potential

    kinetic, potential = kinetic_and_potential(start)
    energy = kinetic * rate**2 + potential

    def duration(theta):
        kinetic, potential = kinetic_and_potential(theta)
        return math.sqrt(kinetic / (energy - potential))

    # how long the crank takes until it stands at these angles
    for angle in (1.5, 1.8):
        expected = quad(duration, start, angle, epsabs=1e-13, epsrel=1e-13)[0]
        place = trajectory.sample(expected).position[0]
        np.testing.assert_allclose(
            place, [crank / 2 * math.cos(angle), 0, crank / 2 * math.sin(angle)], atol=1e-10
        )


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)
def test_two_halves_fixed_together_are_one_body(law):
    """In flight, in impacts through the projected inverse mass, and in lasting contact."""
    spin, start = (0.3, 2.0, 0.5), np.array([0.0, 0.0, 0.9])
    options = {"material": carom.Material(0.4, 0.0)}
    one, two = carom.Scene(), carom.Scene()
    for scene in (one, two):
        scene.add(carom.Body(carom.HalfSpace((0, 0, 1)), fixed=True, **options))
    one.add(
        carom.Body(
            carom.Box((0.6, 0.3, 0.2)), density=500.0, position=start, angular_velocity=spin, **options
        )
    )
    for side in (-1, 1):
        arm = np.array([0.15 * side, 0, 0])
        two.add(
            carom.Body(
                carom.Box((0.3, 0.3, 0.2)),
                density=500.0,
                position=start + arm,
                velocity=np.cross(spin, arm),
                angular_velocity=spin,
                **options,
            )
        )
    two.add_joint(carom.FixedJoint(1, 2))
    first = Simulator(one, law).run(0.42)
    second = Simulator(two, law).run(0.42)
    impacts = [[e.time for e in run.events if e.kind == "impact"] for run in (first, second)]
    assert impacts[0]
    assert impacts[1][0] == pytest.approx(impacts[0][0], abs=1e-12)
    end = min(first.end_time, second.end_time, impacts[0][0] + 0.01)
    together = second.sample(end)
    np.testing.assert_allclose(together.position[1:].mean(axis=0), first.sample(end).position[1], atol=1e-10)
    np.testing.assert_allclose(together.angular_velocity[1], first.sample(end).angular_velocity[1], atol=1e-9)
    assert max(violation(second)) < 1e-10
    assert residual(second) < 1e-10


@pytest.mark.parametrize(
    "joint",
    [
        carom.UniversalJoint(1, 0, anchor=(0.5, 0, 0), axis=(0, 1, 0), base_axis=(0, 0, 1)),
        carom.SphericalJoint(1, 0, anchor=(0.5, 0, 0)),
        carom.PlanarJoint(1, 0, normal=(0, 0.6, 0.8)),
        carom.PrismaticJoint(1, 0, axis=(0.6, 0, 0.8)),
        carom.RevoluteJoint(1, 0, anchor=(0.5, 0, 0), axis=(0, 0.6, 0.8)),
        carom.DistanceJoint(1, 0, anchor=(0.6, 0.1, 0), base_anchor=(0.2, 0, 0.3)),
        carom.FixedJoint(1, 0),
    ],
    ids=lambda joint: joint.word,
)
def test_free_pairs_keep_momentum_energy_and_their_joint(joint):
    scene = carom.Scene(gravity=(0, 0, 0))
    rng = np.random.default_rng(3)
    spin, center = rng.normal(size=3), np.array([0.5, 0.0, 0.0])
    for place, lengths in (((0.0, 0, 0), (0.8, 0.2, 0.1)), ((1.0, 0, 0), (0.3, 0.5, 0.2))):
        velocity = np.cross(spin, np.array(place) - center)
        scene.add(
            carom.Body(
                carom.Box(lengths),
                mass=1.0 + place[0],
                position=place,
                velocity=velocity,
                angular_velocity=spin,
            )
        )
    scene.add_joint(joint)
    scene.add_force(push_apart)
    trajectory = run(scene, 3.0)
    assert violation(trajectory)[0] < 1e-10
    assert violation(trajectory)[1] < 1e-10
    assert residual(trajectory) < 1e-10
    late = trajectory.sample(np.array([0.0, 2.0, 3.0]))
    mass = np.array([1.0, 2.0])
    momentum = np.einsum("b,tbi->ti", mass, late.velocity)
    np.testing.assert_allclose(momentum[1:], momentum[[0, 0]], atol=1e-11)
    angular = [
        sum(
            m * np.cross(x, v) + R @ body.inertia @ R.T @ w
            for m, x, v, R, w, body in zip(
                mass,
                state.position,
                state.velocity,
                rotations(state),
                state.angular_velocity,
                scene.bodies,
                strict=True,
            )
        )
        for state in (trajectory.sample(t) for t in (0.0, 2.0, 3.0))
    ]
    np.testing.assert_allclose(angular[1:], [angular[0]] * 2, atol=1e-11)


def rotations(state):
    from carom.bodies.rotation import rotation_matrices

    return rotation_matrices(state.orientation)


def push_apart(t, state):
    """Equal and opposite forces along one line, and torques, so that joints have work to do."""
    forces = np.zeros((2, 6))
    along = math.sin(3.0 * t) * (state.position[1] - state.position[0])
    torque = math.cos(t) * np.array([0.1, 0.2, 0.3])
    forces[1, :3], forces[0, :3] = along, -along
    forces[0, 3:], forces[1, 3:] = torque, -torque
    return forces


def test_a_limit_is_an_impact_with_restitution():
    scene = carom.Scene()
    scene.add(rod(position=(0.5, 0, 0)))
    scene.add_joint(
        carom.RevoluteJoint(
            0, anchor=(0, 0, 0), axis=(0, 1, 0), limits=(-0.1, 1.0), restitution=0.5, name="stop"
        )
    )
    trajectory = run(scene, 10.0)
    assert trajectory.status == RunStatus.AT_REST
    inertia = float(scene.bodies[0].inertia[1, 1]) + 0.25
    first = trajectory.events[0]
    expected = quad(lambda a: math.sqrt(inertia / (GRAVITY * math.sin(a))), 0, 1.0, epsabs=1e-12)[0]
    assert first.time == pytest.approx(expected, abs=1e-9)
    rates = [(e.before.angular_velocity[0, 1], e.after.angular_velocity[0, 1]) for e in trajectory.events[:5]]
    for before, after in rates:
        assert after == pytest.approx(-0.5 * before, rel=1e-10)
    end = trajectory.sample(trajectory.end_time)
    assert math.atan2(-end.position[0, 2], end.position[0, 0]) == pytest.approx(1.0, abs=1e-10)
    angles = trajectory.sample(np.linspace(0, trajectory.end_time, 500)).position[:, 0]
    assert np.arctan2(-angles[:, 2], angles[:, 0]).max() < 1.0 + 1e-10
    assert residual(trajectory) < 1e-10


def test_a_rope_becomes_taut_and_slack():
    scene = carom.Scene()
    scene.add(carom.Body(carom.Sphere(0.05), mass=1.0, position=(0.3, 0, 0), velocity=(2.0, 0, 3.0)))
    scene.add_joint(carom.DistanceJoint(0, anchor=(0.3, 0, 0), base_anchor=(0, 0, 0), limits=(0.0, 1.0)))
    trajectory = run(scene, 3.0)
    kinds = [event.kind for event in trajectory.events]
    assert "impact" in kinds
    distance = np.linalg.norm(trajectory.sample(np.linspace(0, 3, 800)).position[:, 0], axis=1)
    assert distance.max() < 1.0 + 1e-10
    assert distance.min() < 0.5
    assert residual(trajectory) < 1e-10


def test_two_pendulums_swing_into_each_other():
    """Equal ones that hit each other elastically exchange their velocities, as free bodies do."""
    scene = carom.Scene()
    material = carom.Material(0.0, 1.0)
    for x, angle in ((0.0, 0.0), (0.2, 1.0)):
        place = np.array([x + math.sin(angle), 0, -math.cos(angle)])
        scene.add(carom.Body(carom.Sphere(0.1), mass=1.0, position=place, material=material))
        scene.add_joint(carom.SphericalJoint(len(scene) - 1, anchor=(x, 0, 0)))
    trajectory = run(scene, 1.5, carom.StrongeCoulomb())
    [impact] = [event for event in trajectory.events if event.kind == "impact"][:1]
    before, after = impact.before.velocity[:, 0], impact.after.velocity[:, 0]
    np.testing.assert_allclose(after, before[::-1], atol=1e-9)
    assert max(violation(trajectory)) < 1e-10


def test_joints_survive_saving_and_copies_go_on_alike(tmp_path):
    scene = carom.Scene()
    scene.add(rod(position=(0.5, 0, 0)))
    scene.add(rod(position=(1.5, 0, 0)))
    scene.add_joint(carom.RevoluteJoint(0, anchor=(0, 0, 0), axis=(0, 1, 0), spring=carom.Spring(2.0, 0.1)))
    scene.add_joint(carom.RevoluteJoint(1, 0, anchor=(1, 0, 0), axis=(0, 1, 0), limits=(-1, 1)))
    simulator = Simulator(scene, carom.AnitescuPotra())
    simulator.run(0.7)
    twin = simulator.copy()
    first, second = simulator.run(1.5), twin.run(1.5)
    for name in ("position", "orientation", "velocity"):
        assert np.array_equal(getattr(first.sample(1.5), name), getattr(second.sample(1.5), name))
    first.save(tmp_path / "run.h5")
    loaded = carom.Trajectory.load(tmp_path / "run.h5")
    assert np.array_equal(loaded.sample(1.3).position, first.sample(1.3).position)
    assert [joint.name for joint in loaded.scene.joints] == ["revolute-0", "revolute-1"]


def test_what_cannot_be_joined_is_refused():
    scene = carom.Scene()
    first = scene.add(rod(position=(0.5, 0, 0), name="first"))
    fixed = scene.add(carom.Body(carom.Sphere(0.1), position=(3, 0, 0), fixed=True, name="post"))
    with pytest.raises(TypeError, match="joint: expected a joint"):
        scene.add_joint("hinge")
    with pytest.raises(ValueError, match="'post' and its base are fixed"):
        scene.add_joint(carom.SphericalJoint(fixed, anchor=(0, 0, 0)))
    with pytest.raises(ValueError, match="base: expected another body"):
        scene.add_joint(carom.FixedJoint(first, "first"))
    with pytest.raises(ValueError, match="axis: expected a direction"):
        carom.RevoluteJoint(first, anchor=(0, 0, 0), axis=(0, 0, 0))
    with pytest.raises(ValueError, match="limits: expected the lowest below the highest"):
        carom.PrismaticJoint(first, axis=(1, 0, 0), limits=(1, -1))
    with pytest.raises(ValueError, match="base_axis: expected a direction at right angles"):
        carom.UniversalJoint(first, anchor=(0, 0, 0), axis=(1, 0, 0), base_axis=(1, 1, 0))
    scene.add_joint(carom.SphericalJoint(first, anchor=(0, 0, 0), name="pivot"))
    with pytest.raises(ValueError, match="name: expected one that no joint has yet, got 'pivot'"):
        scene.add_joint(carom.SphericalJoint(first, fixed, anchor=(0, 0, 0), name="pivot"))


def test_a_start_that_joints_do_not_allow_is_refused():
    scene = carom.Scene()
    scene.add(rod(position=(0.5, 0, 0), velocity=(1.0, 0, 0), name="runaway"))
    scene.add_joint(carom.SphericalJoint(0, anchor=(0, 0, 0), name="pivot"))
    with pytest.raises(
        ValueError, match="joint 'pivot': at the start, bodies 'runaway' and the world move not"
    ):
        Simulator(scene, carom.StrongeCoulomb())
