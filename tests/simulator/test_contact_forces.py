"""Forces of lasting contact and of joints, found from the motion of a run."""

import itertools

import numpy as np
import pytest

import carom
from carom import Body, Box, HalfSpace, Material, RevoluteJoint, Scene, Simulator, Sphere
from carom.simulator.event import EventKind
from carom.simulator.record import events

G = 9.81
GRAVITY = np.array((0.0, 0.0, -G))
LAW = carom.StrongeCoulomb()


def ground(friction=0.5):
    return Body(HalfSpace((0, 0, 1)), fixed=True, material=Material(friction=friction), name="ground")


def stack():
    scene = Scene()
    scene.add(ground())
    for k, mass in enumerate((3.0, 2.0, 0.5)):
        scene.add(Body(Box((0.4, 0.3, 0.2)), mass=mass, position=(0.01 * k, 0, 0.1 + 0.2 * k)))
    return Simulator(scene, law=LAW).run(1.0)


def test_a_stack_carries_its_weight():
    run = stack()
    forces = run.contact_forces(0.15)
    for below, above in ((0, 1), (1, 2), (2, 3)):
        between = (np.sort(forces.bodies, axis=1) == (below, above)).all(axis=1)
        carried = G * sum((3.0, 2.0, 0.5)[above - 1 :])
        sign = np.where(forces.bodies[between, 0] == above, 1.0, -1.0)
        assert (sign[:, None] * forces.force[between]).sum(axis=0) == pytest.approx((0, 0, carried), abs=1e-9)
        weighted = (forces.point[between] * forces.normal_force[between, None]).sum(axis=0) / carried
        masses = np.array((3.0, 2.0, 0.5)[above - 1 :])
        centre = (masses * 0.01 * np.arange(above - 1, 3)).sum() / masses.sum()
        assert weighted[0] == pytest.approx(
            centre, abs=1e-9
        )  # the pressure's middle is below what it carries
    assert not forces.unique.any()  # four corners
    assert forces.sticks.all()
    assert forces.unexplained < 1e-9


def test_three_feet_are_unique_and_four_are_not():
    hull = np.array([(0, 0, 0), (1, 0, 0), (0.2, 0.9, 0), (0.4, 0.3, 0.8)])
    scene = Scene()
    scene.add(ground(friction=0.0))
    shape = carom.ConvexMesh(hull)
    scene.add(Body(shape, mass=6.0, position=(0, 0, -shape.vertices[:, 2].min())))
    run = Simulator(scene, law=LAW).run(0.2)
    forces = run.contact_forces(0.15)
    assert len(forces) == 3
    assert forces.unique.all()
    # weights of the centre of mass (of area coordinates) on the three feet
    feet = forces.point[:, :2]
    shares = np.linalg.solve(np.vstack([feet.T, np.ones(3)]), np.array([0.0, 0.0, 1.0]))
    assert forces.normal_force == pytest.approx(6.0 * G * shares, rel=1e-9)


@pytest.mark.parametrize("side", [0.1, -0.2])
def test_a_block_on_an_incline_sticks_or_slides(side):
    friction, angle = 0.4, np.arctan(0.4) + side
    normal = np.array([np.sin(angle), 0.0, np.cos(angle)])
    scene = Scene()
    scene.add(Body(HalfSpace(normal), fixed=True, material=Material(friction=friction)))
    turn = (np.cos(angle / 2), 0.0, np.sin(angle / 2), 0.0)
    box = Body(
        Box((0.2, 0.2, 0.1)),
        mass=2.0,
        position=0.05 * normal,
        orientation=turn,
        material=Material(friction=friction),
    )
    scene.add(box)
    run = Simulator(scene, law=LAW).run(0.4)
    forces = run.contact_forces(0.3)
    weight = 2.0 * G
    assert forces.normal_force.sum() == pytest.approx(weight * np.cos(angle), rel=1e-9)
    along = np.linalg.norm(forces.friction_force.sum(axis=0))
    if side > 0.0:
        assert not forces.sticks.any()
        assert along == pytest.approx(friction * weight * np.cos(angle), rel=1e-9)
    else:
        assert forces.sticks.all()
        assert along == pytest.approx(weight * np.sin(angle), rel=1e-9)
        size = np.linalg.norm(forces.friction_force, axis=1)
        assert (size <= friction * forces.normal_force * (1 + 1e-9)).all()
    assert forces.unexplained < 1e-8


def test_a_rolling_ball_has_the_friction_that_its_spin_needs():
    scene = Scene()
    angle = 0.3
    normal = np.array([np.sin(angle), 0.0, np.cos(angle)])
    scene.add(Body(HalfSpace(normal), fixed=True, material=Material(friction=0.5)))
    scene.add(Body(Sphere(0.1), mass=3.0, position=0.1 * normal, material=Material(friction=0.5)))
    forces = Simulator(scene, law=LAW).run(1.0).contact_forces(0.7)
    assert forces.normal_force == pytest.approx([3.0 * G * np.cos(angle)], rel=1e-9)
    # m g sin(angle) 2/7, from rolling of a solid ball
    assert np.linalg.norm(forces.friction_force[0]) == pytest.approx(
        3.0 * G * np.sin(angle) * 2 / 7, rel=1e-9
    )
    assert forces.sticks.all()
    assert forces.unique.all()


def test_free_flight_and_impacts_have_no_forces():
    scene = Scene()
    scene.add(ground())
    scene.add(
        Body(
            Box((0.2, 0.1, 0.3)),
            mass=1.0,
            position=(0, 0, 1.0),
            angular_velocity=(3, 2, 1),
            velocity=(1, 0, 0),
        )
    )
    run = Simulator(scene, law=LAW).run(0.3)
    forces = run.contact_forces(0.1)
    assert len(forces) == 0
    assert forces.unexplained < 1e-9


def pendulum(angle=0.7):
    scene = Scene()
    scene.gravity = (0, 0, -G)
    rod = Body(
        Box((0.1, 0.1, 1.0)),
        mass=2.0,
        position=(0.5 * np.sin(angle), 0, -0.5 * np.cos(angle)),
        orientation=(np.cos(angle / 2), 0, -np.sin(angle / 2), 0),
    )
    scene.add(rod)
    scene.add_joint(RevoluteJoint(rod, axis=(0, 1, 0), anchor=(0, 0, 0)))
    return scene, rod


def test_the_joint_of_a_pendulum():
    scene, rod = pendulum()
    run = Simulator(scene, law=LAW).run(1.0)
    for time in (0.0, 0.31, 0.9):
        state, forces = run.sample(time), run.joint_forces(time)
        arm = state.position[0]
        inertia = rod.inertia[1, 1] + 2.0 * 0.25
        spin = state.angular_velocity[0, 1]
        turning = np.cross(arm, (0, 0, -2.0 * G))[1] / inertia
        acceleration = np.cross((0, turning, 0), arm) - spin * spin * arm
        assert forces.force[0] == pytest.approx(2.0 * (acceleration - GRAVITY), abs=1e-8)
        assert forces.torque[0] == pytest.approx((0, 0, 0), abs=1e-8)
        assert forces.unexplained < 1e-8
    assert forces.names == (scene.joints[0].name,)


@pytest.mark.parametrize("planar", [False, True])
def test_a_hinge_and_a_post_share_the_weight_of_a_rod(planar):
    scene = Scene()
    scene.add(Body(Sphere(0.1), fixed=True, position=(0.3, 0, -0.15), material=Material(friction=0.0)))
    rod = Body(Box((1.0, 0.1, 0.1)), mass=2.0, position=(0, 0, 0), material=Material(friction=0.0))
    scene.add(rod)
    scene.add_joint(RevoluteJoint(rod, axis=(0, 1, 0), anchor=(-0.5, 0, 0)))
    if planar:
        scene.planar((0, 1, 0))
    run = Simulator(scene, law=LAW).run(0.2)
    contacts, joints = run.contact_forces(0.1), run.joint_forces(0.1)
    carried = 2.0 * G * 0.5 / 0.8  # moments about the hinge
    assert contacts.normal_force == pytest.approx([carried], rel=1e-9)
    assert contacts.unique.all()
    assert joints.force[0] == pytest.approx((0, 0, 2.0 * G - carried), abs=1e-9)
    assert contacts.unexplained < 1e-9


def test_a_drive_and_a_spring_are_torques_of_their_joint():
    scene, rod = pendulum()
    scene = Scene()
    scene.gravity = (0, 0, 0)
    scene.add(rod)
    joint = RevoluteJoint(rod, axis=(0, 1, 0), anchor=(0, 0, 0), drive=carom.Drive(effort=1.5))
    scene.add_joint(joint)
    run = Simulator(scene, law=LAW).run(0.3)
    torque = run.joint_forces(0.1).torque[0]
    assert torque == pytest.approx((0, 1.5, 0), abs=1e-9)


def test_a_closed_chain_balances_every_body():
    """A four-bar linkage: sums of forces and torques on each bar equal its momenta's rates of change."""
    scene = Scene()
    points = np.array([(0, 0, 0), (0, 0, 0.4), (0.8, 0, 0.7), (1.0, 0, 0)])
    bars = []
    for a, b in itertools.pairwise(points):
        way = b - a
        angle = np.arctan2(way[0], way[2])
        bar = Body(
            Box((0.05, 0.05, np.linalg.norm(way))),
            mass=1.0,
            position=0.5 * (a + b),
            orientation=(np.cos(angle / 2), 0, np.sin(angle / 2), 0),
        )
        scene.add(bar)
        bars.append(bar)
    chain = [None, *bars, None]
    for k, point in enumerate(points):
        body, base = (chain[k + 1], chain[k]) if chain[k + 1] is not None else (chain[k], None)
        scene.add_joint(RevoluteJoint(body, base, axis=(0, 1, 0), anchor=point))
    run = Simulator(scene, law=LAW).run(0.4)
    time, h = 0.2, 1e-3
    forces, state = run.joint_forces(time), run.sample(time)
    total, torque = np.zeros((3, 3)), np.zeros((3, 3))
    for row, joint in enumerate(scene.joints):
        for body, sign in ((joint.body, 1.0), (joint.base, -1.0)):
            if body >= 0:
                total[body] += sign * forces.force[row]
                arm = forces.point[row] - state.position[body]
                torque[body] += sign * (np.cross(arm, forces.force[row]) + forces.torque[row])
    near = [run.sample(time + k * h) for k in (-2, -1, 1, 2)]
    weights = np.array([1.0, -8.0, 8.0, -1.0]) / (12.0 * h)  # of a derivative of fourth order
    acceleration = sum(weight * one.velocity for weight, one in zip(weights, near, strict=True))
    turning = sum(weight * one.angular_velocity for weight, one in zip(weights, near, strict=True))
    assert total + np.array((0, 0, -G)) == pytest.approx(acceleration, abs=1e-8)
    inertia = [bar.inertia[1, 1] for bar in scene.bodies]
    assert torque[:, 1] == pytest.approx(inertia * turning[:, 1], abs=1e-9)
    assert forces.unexplained < 1e-7
    # in the plane all is decided; out of it the chain is held more than once
    assert state.time == time


def test_impulses_make_the_change_of_momentum():
    scene = Scene()
    scene.add(ground(friction=0.3))
    material = Material(friction=0.3, restitution=0.0)
    box = Body(
        Box((0.2, 0.2, 0.1)), mass=2.0, position=(0, 0, 0.05), velocity=(1.5, 0.4, 0), angular_velocity=(0, 0, 5),
        material=material,
    )  # fmt: skip
    scene.add(box)
    run = Simulator(scene, law=LAW).run(0.35)
    assert not (run.event_kinds == EventKind.IMPACT).any()
    start, end = 0.02, 0.3
    change = 2.0 * (run.sample(end).velocity[1] - run.sample(start).velocity[1])
    impulse = run.contact_impulse(start, end)[1]
    assert impulse + np.array((0, 0, -2.0 * G * (end - start))) == pytest.approx(change, abs=1e-10)
    assert run.contact_impulse(start, end)[0] == pytest.approx(-impulse, abs=1e-12)


def test_functions_that_a_recording_does_not_keep(tmp_path):
    scene = Scene()
    scene.add(ground())
    scene.add(Body(Sphere(0.1), mass=1.0, position=(0, 0, 0.1)))

    def push(time, state):
        forces = np.zeros((2, 6))
        forces[1, 2] = -5.0
        return forces

    scene.add_force(push)
    path = tmp_path / "pushed.h5"
    run = Simulator(scene, law=LAW, record=path).run(0.2)
    assert run.contact_forces(0.15).normal_force == pytest.approx([G + 5.0], rel=1e-9)
    with pytest.raises(ValueError, match="the functions push acted in this run"):
        carom.Trajectory.load(path).contact_forces(0.1)


def test_times_outside_the_run_are_refused():
    run = stack()
    with pytest.raises(ValueError, match="expected times within"):
        run.contact_forces(2.0 + run.known_until)
    for wrong in ("0.1", [0.1], 1j):
        with pytest.raises(TypeError, match="start: expected a number"):
            run.contact_impulse(wrong, 0.2)
        with pytest.raises(TypeError, match="t: expected a number"):
            run.contact_forces(wrong)
    with pytest.raises(ValueError, match="expected rising times within"):
        run.contact_impulse(0.2, 0.1)


def test_ropes_bear_what_hangs_on_them_and_nothing_where_they_are_slack():
    scene = Scene()
    for k, height in enumerate((-1.0, -0.5)):
        scene.add(Body(Sphere(0.1), mass=2.0, position=(k, 0, height), name=f"ball {k}"))
        scene.add_joint(
            carom.DistanceJoint(k, anchor=(k, 0, height), base_anchor=(k, 0, 0), limits=(0.0, 1.0))
        )
    forces = Simulator(scene, law=LAW).run(0.1).joint_forces(0.05)
    np.testing.assert_allclose(forces.force, [(0, 0, 2.0 * G), (0, 0, 0)], atol=1e-9)
    np.testing.assert_allclose(forces.torque, 0.0, atol=1e-9)
    assert forces.unexplained < 1e-9


def test_states_that_are_no_numbers_have_no_forces():
    """Saved: eigenvalues of nothing were asked for, which numpy refused in words of its own."""
    scene = carom.Scene()
    scene.add(carom.Body(carom.Sphere(0.1), density=1000.0, name="ball"))
    far = carom.Spring(1.0, rest=1e150)  # just below what is refused
    scene.add_joint(carom.RevoluteJoint("ball", None, anchor=(0, 0, 2), axis=(0, 1, 0), spring=far))
    run = Simulator(scene, law=LAW).run(0.02)
    assert run.status is carom.RunStatus.NOT_FINITE
    assert np.isfinite(run.sample(run.end_time).packed()).all()
    lost = np.nextafter(run.end_time, 1.0)
    for forces in (run.joint_forces, run.contact_forces):
        with pytest.raises(ValueError, match="t: expected"):
            forces(lost)
        run.end_time, before = 0.02, run.end_time  # as in recordings of earlier versions
        with pytest.raises(ValueError, match=r"t: expected a time at which states are numbers, got 0\.02 s"):
            forces(0.02)
        run.end_time = before


@pytest.mark.parametrize("law", [carom.MaximumDissipation(), carom.StrongeCoulomb()])
def test_a_motor_that_stalls_has_the_torque_of_its_limit(law, tmp_path):
    """Saved: it had the least with which everything stands still, 0.3 N m for every limit."""
    wood = carom.Material(friction=0.4, restitution=0.1)
    scene = carom.Scene()
    scene.add(carom.Body(carom.HalfSpace((0, 0, 1)), fixed=True, material=wood))
    scene.add(
        carom.Body(carom.Box((0.1, 0.08, 0.06)), fixed=True, position=(0.13, 0.26, 0.05), material=wood)
    )
    paddle = scene.add(
        carom.Body(carom.Box((0.5, 0.03, 0.08)), density=1000.0, position=(0, 0, 0.05), material=wood)
    )
    stir = carom.Drive(rate=3.0, damping=50.0, limit=40.0)
    shaft = scene.add_joint(
        carom.RevoluteJoint(paddle, anchor=(0, 0, 0.05), axis=(0, 0, 1), drive=stir, name="shaft")
    )
    simulator = carom.Simulator(scene, law)
    stalled = simulator.run(2.0).end_time
    simulator.run(stalled + 0.25, stop_at_rest=False)
    simulator.set_drive(shaft, carom.Drive(rate=3.0, damping=50.0, limit=10.0))
    run = simulator.run(stalled + 0.5, stop_at_rest=False)
    assert simulator.joint_state(shaft)[1] == 0.0
    for trajectory in (run, carom.Trajectory.load(run.save(tmp_path / "run.h5"))):
        for time, torque in ((stalled + 0.1, 40.0), (stalled + 0.4, 10.0)):
            held = trajectory.joint_forces(time)
            assert held.torque[0, 2] == pytest.approx(torque, rel=1e-9)
            assert held.unexplained < 1e-6
            touching = trajectory.contact_forces(time)
            on_paddle = np.where(touching.bodies[:, :1] == 2, 1.0, -1.0) * touching.force
            about = np.cross(touching.point - np.array([0, 0, 0.05]), on_paddle).sum(axis=0)
            assert about[2] == pytest.approx(-torque, rel=1e-6)


def test_a_spring_presses_balls_against_a_wall():
    """Saved: motion alone does not tell the force of the spring, which was nothing, as was that of the wall."""
    scene = carom.Scene(gravity=(0, 0, 0))
    scene.add(carom.Body(carom.HalfSpace((-1, 0, 0)), position=(0.5, 0, 0), fixed=True))
    scene.add(carom.Body(carom.Sphere(0.1), mass=2.0, position=(0.4, 0, 0)))
    other = scene.add(carom.Body(carom.Sphere(0.1), mass=1.0, position=(0.2, 0, 0)))
    spring = carom.Spring(stiffness=300.0, rest=0.25)
    scene.add_joint(carom.PrismaticJoint(other, axis=(1, 0, 0), spring=spring, name="slide"))
    run = carom.Simulator(scene, carom.MaximumDissipation()).run(0.1, stop_at_rest=False)
    forces = run.contact_forces(0.05)
    assert len(forces) == 2
    assert forces.normal_force == pytest.approx([75.0, 75.0], rel=1e-9)
    assert forces.on(0)[0] == pytest.approx(75.0, rel=1e-9)
    assert run.joint_forces(0.05).force[0] == pytest.approx([75.0, 0.0, 0.0], rel=1e-9, abs=1e-9)


def test_drives_that_are_set_again_and_again_are_read_once(monkeypatch):
    """Saved: a look read all of them anew, 0.2 s after 3,000."""
    scene = carom.Scene(gravity=(0, 0, 0))
    bar = scene.add(carom.Body(carom.Box((0.5, 0.1, 0.1)), mass=2.0))
    motor = scene.add_joint(
        carom.RevoluteJoint(bar, anchor=(0, 0, 0), axis=(0, 0, 1), drive=carom.Drive(effort=0.0))
    )
    simulator, read = carom.Simulator(scene, LAW), []
    known = events.noted_drive
    monkeypatch.setattr(events, "noted_drive", lambda note: read.append(note) or known(note))
    for number in range(20):
        simulator.set_drive(motor, carom.Drive(effort=0.1 * number))
        run = simulator.run(0.1 * (number + 1), stop_at_rest=False)
        for _ in range(3):
            for earlier in range(number + 1):
                torque = run.joint_forces(0.1 * earlier + 0.05).torque[0, 2]
                assert torque == pytest.approx(0.1 * earlier, abs=1e-9)
    assert len(read) == 20
    left, right = (run.joint_forces(1.0, side).torque[0, 2] for side in ("left", "right"))
    assert (left, right) == pytest.approx((0.9, 1.0), abs=1e-9)
