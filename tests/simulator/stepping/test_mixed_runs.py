"""Large islands by time steps, all else from event to event: `Simulator(steps=Steps(...))`."""

import pickle

import numpy as np
import pytest

import carom
from carom.command_line import main
from carom.simulator.event import EventKind

GRAVITY = 9.81
LAW = carom.MaximumDissipation()
STATES = ("position", "orientation", "velocity", "angular_velocity")


def walled(count: int = 16, seed: int = 0, **ball) -> carom.Scene:
    """Boxes that fall between four walls on a floor; a ball that comes down on them after 2.4 s, unless it is given
    another state."""
    random = np.random.default_rng(seed)
    scene, stone = carom.Scene(), carom.Material(friction=0.5)
    scene.add(carom.Body(carom.HalfSpace((0, 0, 1)), fixed=True, material=stone, name="floor"))
    for x, y in ((1, 0), (-1, 0), (0, 1), (0, -1)):
        size = (0.04 if x else 0.4, 0.04 if y else 0.4, 1.0)
        scene.add(carom.Body(carom.Box(size), position=(0.2 * x, 0.2 * y, 0.5), fixed=True, material=stone))
    for k in range(count):
        scene.add(carom.Body(
            carom.Box(random.uniform(0.06, 0.1, 3)), density=2600.0, material=stone,
            position=(*random.uniform(-0.1, 0.1, 2), 0.1 + 0.14 * k), orientation=_turned(random),
        ))  # fmt: skip
    thrown = {"position": (0.01, 0.02, 3.0), "velocity": (0.0, 0.0, 0.5 * GRAVITY * 2.2)} | ball
    scene.add(carom.Body(carom.Sphere(0.05), density=2600.0, material=stone, name="ball", **thrown))
    return scene


def _turned(random: np.random.Generator):
    turn = random.normal(size=4)
    return turn / np.linalg.norm(turn)


def cluster(gravity=(0.0, 0.0, 0.0), **ball) -> carom.Scene:
    """Eight boxes that touch, in two layers, at rest in empty space; a ball comes from below, off their middle."""
    scene, stone = carom.Scene(gravity=gravity), carom.Material(friction=0.4)
    for k in range(8):
        place = 0.1 * np.array([k & 1, (k >> 1) & 1, k >> 2]) + (0.0, 0.0, 1.0)
        scene.add(carom.Body(carom.Box((0.1, 0.1, 0.1)), density=1000.0, position=place, material=stone))
    thrown = {"position": (0.03, 0.02, 0.5), "velocity": (0.0, 0.0, 3.0)} | ball
    scene.add(carom.Body(carom.Sphere(0.05), density=2000.0, material=stone, name="ball", **thrown))
    return scene


def stepped(simulator: carom.Simulator) -> np.ndarray:
    """Names of the bodies that time steps move now."""
    made = simulator._run.world.motions["stepped"] == 1
    return np.array([str(body.name) for body in simulator.model.scene.bodies])[made]


def met(run: carom.Trajectory, name: str = "ball") -> carom.Event:
    """The first impact of a body."""
    number = run.scene.index(name)
    return next(
        event for event in run.events if event.kind is EventKind.IMPACT and number in event.contacts.bodies
    )


def equal(one: carom.Trajectory, other: carom.Trajectory) -> bool:
    """Whether two runs have equal events and states, bit for bit."""
    times = np.linspace(0.0, min(one.end_time, other.end_time), 50)
    here, there = one.sample(times), other.sample(times)
    return one.event_hash == other.event_hash and all(
        np.array_equal(getattr(here, name), getattr(there, name)) for name in STATES
    )


def momenta(run: carom.Trajectory, time: float) -> tuple[np.ndarray, np.ndarray]:
    """Momentum and angular momentum about the origin of all bodies that move."""
    state, model = run.sample(time), run.model
    which = model.movable
    momentum = model.mass[which, None] * state.velocity[which]
    turning = np.cross(state.position[which], momentum).sum(axis=0)
    spin = carom.bodies.rotation.rotation_matrices(state.orientation[which])
    local = np.einsum("bji,bj->bi", spin, state.angular_velocity[which])
    return momentum.sum(axis=0), turning + np.einsum("bij,bjk,bk->i", spin, model.inertia[which], local)


# -- what meets a heap -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def heap() -> carom.Trajectory:
    """Boxes that have come to rest in a heap of steps, onto which a ball falls. (Of seeds 0 to 5 that of 0 rattles
    on a perch until then, and the ball still rolls at the end of that of 1.)"""
    simulator = carom.Simulator(walled(seed=2), LAW, steps=carom.Steps(2e-3, above=3))
    run = simulator.run(4.0)
    run.log_of_steps, run.names = simulator.step_log, stepped(simulator)
    return run


def test_a_ball_meets_a_heap_at_rest_when_it_would_meet_fixed_bodies(heap):
    event = met(heap)
    ball, before = heap.scene.index("ball"), heap.sample(event.time, side="left")
    assert not before.velocity[:ball].any()
    assert len(event.contacts) > 1
    still = carom.Scene()
    began = event.time - 0.2
    start = heap.sample(began)
    assert not start.velocity[:ball].any()
    for k, body in enumerate(heap.scene.bodies):
        if body.fixed:
            still.add(body)
        else:
            still.add(carom.Body(
                body.shape, mass=body.mass, material=body.material, position=start.position[k],
                orientation=start.orientation[k], velocity=start.velocity[k], fixed=k != ball,
                angular_velocity=start.angular_velocity[k],
            ))  # fmt: skip
    first = carom.Simulator(still, LAW).step_event()
    assert began + first.time == pytest.approx(event.time, abs=1e-12)


def test_the_impact_is_an_event_whose_impulses_change_the_velocities(heap):
    event = met(heap)
    problem, outcome = event.problem, event.outcome
    assert outcome.resolved
    assert set(outcome.info) == {"residual", "sweeps"}
    normal = outcome.impulse.reshape(-1, 3)[:, 0]
    slip = np.linalg.norm(outcome.impulse.reshape(-1, 3)[:, 1:], axis=1)
    assert normal.min() > 0.0
    assert (slip - problem.friction * normal).max() < 1e-9 * normal.max()
    before, after = (heap.sample(event.time, side=side) for side in ("left", "right"))
    mass, patch = heap.model.mass, event.contacts
    frame = np.stack([patch.normal, patch.tangent, patch.tangent2], axis=1)
    pushed = np.einsum("crj,cr->cj", frame, outcome.impulse.reshape(-1, 3))
    change = np.zeros((len(mass), 3))
    for side, sign in ((0, 1.0), (1, -1.0)):
        np.add.at(change, patch.bodies[:, side], sign * pushed)
    which = heap.model.movable
    gained = mass[which, None] * (after.velocity - before.velocity)[which]
    np.testing.assert_allclose(gained, change[which], atol=1e-12 * normal.sum())
    lost = heap.model.kinetic_energy(after) - heap.model.kinetic_energy(before)
    energy = heap.log.events.rows(0, len(heap.events))["energy_change"]
    number = next(k for k, each in enumerate(heap.events) if each.time == event.time)
    assert lost < 0.0
    assert energy[number] == pytest.approx(lost, rel=1e-9)
    # what the ball meets it approaches no more, up to the residual of the largest impulse over the smallest mass;
    # what it is only near, by no more than closes the gap within a step (of some heaps it is: saved by one of them)
    own = (patch.bodies == heap.scene.index("ball")).any(axis=1)
    assert own.any()
    assert outcome.info["residual"] < 1e-3
    left = outcome.info["residual"] * normal.max() / mass[which].min()
    closing = -outcome.velocity.reshape(-1, 3)[own, 0] - np.maximum(patch.gap[own], 0.0) / 2e-3
    assert closing.max() < max(left, 1e-4 * normal.max())


def test_a_heap_comes_to_rest_makes_no_steps_then_and_its_ledger_closes(heap):
    event, rows = met(heap), heap.log_of_steps
    assert heap.status is carom.RunStatus.AT_REST
    slept = rows["time"][rows["time"] < event.time]
    assert event.time - slept[-1] > 0.1  # it rested between
    assert (rows["time"] > event.time).any()  # and was woken
    assert (rows["energy_after"] <= rows["energy_before"] * (1.0 + 1e-12)).all()
    ledger = heap.ledger(np.linspace(0.0, heap.end_time, 500))
    assert np.abs(ledger.residual).max() < 1e-5 * ledger.energy[0]
    assert ledger.closing[-1] < 0.0
    assert ledger.impacts[-1] < 0.0
    assert "steps of 0.002 s" in heap.message
    assert "Islands of more than 3 bodies" in heap.remarks[-1]


def test_what_touches_and_hardly_moves_is_not_pushed_apart():
    """Bodies are grown for steps: a ball let down onto boxes must not be thrown up by that."""
    scene = cluster(gravity=(0, 0, -GRAVITY), position=(0.05, 0.05, 1.2505), velocity=(0, 0, 0))
    scene.add(carom.Body(
        carom.Box((1.0, 1.0, 0.1)), position=(0, 0, 0.9), fixed=True, material=scene.bodies[0].material
    ))  # fmt: skip
    simulator = carom.Simulator(scene, LAW, steps=carom.Steps(2e-3, above=2))
    run = simulator.run(0.5, stop_at_rest=False)
    assert len(stepped(simulator)) == 9
    event = met(run)
    after = run.sample(np.linspace(event.time, 0.5, 300))
    assert (
        after.velocity[:, 8, 2].max() < 1e-3
    )  # parted at half of what gravity gives in a step, it would be 1e-2
    assert run.overlap_at(0.5) < 1e-5


# -- what is kept ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("pull", [0.0, -GRAVITY])
def test_momentum_is_that_of_gravity_alone_whenever_a_step_begins(pull):
    scene = cluster(gravity=(0, 0, pull))
    simulator = carom.Simulator(scene, LAW, steps=carom.Steps(2e-3, above=3))
    run = simulator.run(0.4, stop_at_rest=False)
    event = met(run)
    assert 0.1 < event.time < 0.2
    assert abs(event.time / 2e-3 - round(event.time / 2e-3)) > 1e-3  # within a step
    mass = run.model.mass[run.model.movable]
    thrown = np.array([0.0, 0.0, 3.0 * mass[8]])
    # of what makes steps, gravity's pull in a step is there when it begins; at the end all have been let go
    for k, ahead in ((1, 8.0), (50, 8.0), (66, 8.0), (67, mass.sum()), (80, mass.sum()), (190, 0.0)):
        time = 2e-3 * k
        expected = thrown + np.array([0.0, 0.0, pull]) * (mass.sum() * time + ahead * 2e-3)
        np.testing.assert_allclose(momenta(run, time)[0], expected, atol=1e-12 * thrown[2])
    assert not len(stepped(simulator))


def test_angular_momentum_is_kept_by_the_impact():
    run = carom.Simulator(cluster(), LAW, steps=carom.Steps(2e-3, above=3)).run(0.4, stop_at_rest=False)
    time = met(run).time
    before = momenta(run, np.nextafter(time, 0.0))[1]
    after = momenta(run, time)[1]
    assert np.linalg.norm(before) > 0.1
    np.testing.assert_allclose(after, before, atol=1e-9)


def test_in_parts_and_from_copies_a_run_is_the_same_bit_for_bit():
    def made():
        return carom.Simulator(walled(), LAW, steps=carom.Steps(2e-3, above=3))

    whole = made()
    run = whole.run(2.9, stop_at_rest=False)
    parts = made()
    for until in (0.0011, 0.5, 0.50301, 1.1, 2.52):
        parts.run(until, stop_at_rest=False)
    copied, packed = parts.copy(), pickle.loads(pickle.dumps(parts._run))
    assert equal(parts.run(2.9, stop_at_rest=False), run)
    assert np.array_equal(parts.step_log, whole.step_log)
    assert equal(copied.run(2.9, stop_at_rest=False), run)
    packed.go_to(2.9, False, False, packed)
    assert packed.trajectory.event_hash == run.event_hash
    assert len(stepped(whole)) > 3


def test_without_large_islands_it_is_a_run_from_event_to_event():
    scene = walled(6)
    events = carom.Simulator(scene, LAW).run(1.0, stop_at_rest=False)
    mixed = carom.Simulator(scene, LAW, steps=carom.Steps(2e-3, above=100))
    assert mixed.run(1.0, stop_at_rest=False).event_hash == events.event_hash
    assert not len(mixed.step_log)


# -- who is moved how ------------------------------------------------------------------------------------------


def test_bodies_that_leave_an_island_go_from_event_to_event_again():
    simulator = carom.Simulator(cluster(), LAW, steps=carom.Steps(2e-3, above=3))
    assert len(stepped(simulator)) == 8
    simulator.run(0.16, stop_at_rest=False)
    assert len(stepped(simulator)) == 9
    run = simulator.run(6.0, stop_at_rest=False)  # what was hit flies apart
    assert len(stepped(simulator)) < 9
    alone = np.flatnonzero(simulator._run.world.motions["stepped"] == 0)
    times = np.linspace(5.0, 6.0, 20)
    velocity = run.sample(times).velocity[:, alone]
    assert np.abs(velocity - velocity[0]).max() < 1e-12  # no steps
    assert run.largest_overlap() < 1e-3


def test_events_make_an_island_that_grows_large_make_steps():
    simulator = carom.Simulator(walled(), LAW, steps=carom.Steps(2e-3, above=3))
    assert not len(stepped(simulator))
    simulator.run(2.3, stop_at_rest=False)
    assert len(stepped(simulator)) > 3
    assert "ball" not in stepped(simulator)
    simulator.run(2.9, stop_at_rest=False)
    assert "ball" in stepped(simulator)


def test_laws_of_the_events_are_any():
    for law in (carom.StrongeCoulomb(), carom.SetValuedRouth(), carom.SequentialReflection()):
        friction = 0.0 if isinstance(law, carom.SequentialReflection) else 0.4
        scene, smooth = carom.Scene(gravity=(0, 0, 0)), carom.Material(friction=friction)
        for body in cluster((0, 0, 0)).bodies:
            scene.add(carom.Body(
                body.shape, mass=body.mass, position=body.position, velocity=body.velocity, material=smooth
            ))  # fmt: skip
        simulator = carom.Simulator(scene, law, steps=carom.Steps(2e-3, above=3))
        run = simulator.run(0.15, stop_at_rest=False)
        assert run.law_name == law.name
        assert len(stepped(simulator)) == 9
        event = next(each for each in run.events if each.kind is EventKind.IMPACT)
        assert event.outcome.path.labels[-1] == "impact within a time step"


# -- what else a simulator does --------------------------------------------------------------------------------


def test_callbacks_event_functions_and_single_events():
    simulator = carom.Simulator(cluster(), LAW, steps=carom.Steps(2e-3, above=3))
    seen = []
    simulator.on_event(lambda event, _: seen.append((event.time, event.kind)))
    simulator.add_event(lambda t, state: state.position[0, 2] - 1.01, name="risen")
    first = simulator.step_event()
    assert first.kind is EventKind.IMPACT
    assert simulator.time == first.time
    run = simulator.run(0.4, stop_at_rest=False)
    assert [event.time for event in run.events] == [time for time, _ in seen]
    risen = next(event for event in run.events if event.note == "risen")
    assert run.sample(risen.time).position[0, 2] == pytest.approx(1.01, abs=1e-12)
    assert simulator.step_event() is None or simulator.time > 0.4


def test_a_state_that_is_set_goes_on():
    simulator = carom.Simulator(cluster(), LAW, steps=carom.Steps(2e-3, above=3))
    simulator.run(0.2, stop_at_rest=False)
    state = simulator.state.copy()
    state.position[:8] = [body.position for body in cluster().bodies[:8]]
    state.orientation[:8], state.velocity[:8], state.angular_velocity[:8] = (1, 0, 0, 0), 0.0, 0.0
    state.position[8], state.velocity[8] = (0.03, 0.02, 0.5), (0, 0, 3.0)
    simulator.state = state
    assert len(stepped(simulator)) == 8
    run = simulator.run(0.5, stop_at_rest=False)
    impacts = [event.time for event in run.events if event.kind is EventKind.IMPACT]
    assert impacts[1] - 0.2 == pytest.approx(impacts[0], abs=1e-12)


def test_a_recording_keeps_the_impacts(tmp_path):
    path = tmp_path / "mixed.h5"
    simulator = carom.Simulator(cluster(), LAW, steps=carom.Steps(2e-3, above=3), record=path)
    run = simulator.run(0.4, stop_at_rest=False)
    again = carom.Trajectory.load(path)
    assert equal(run, again)
    one, other = met(run).outcome, met(again).outcome
    assert np.array_equal(one.impulse, other.impulse)
    assert one.info == other.info
    assert len(again.impacts)


def test_what_cannot_be_is_refused_by_name():
    steps = carom.Steps(2e-3, above=3)
    for given, error, words in (
        ({"length": 0.0}, ValueError, "length: expected"),
        ({"length": "1"}, TypeError, "length: expected"),
        ({"above": 0}, ValueError, "above: expected at least 1 body, got 0"),
        ({"above": 2.5}, TypeError, "above: expected a whole number"),
        ({"law": carom.StrongeCoulomb}, TypeError, "law: expected an instance"),
    ):
        with pytest.raises(error, match=words):
            carom.Steps(**{"length": 2e-3, "above": 3} | given)
    scene = cluster()
    scene.add_force(carom.Drag(linear=1.0))
    with pytest.raises(ValueError, match="this one has drag"):
        carom.Simulator(scene, LAW, steps=steps)
    simulator = carom.Simulator(cluster(), LAW, steps=steps)
    run = simulator.run(0.3, stop_at_rest=False)
    with pytest.raises(TypeError, match="branches: expected a run from event to event"):
        simulator.branches(2, 0, 0.1)
    with pytest.raises(ValueError, match="recording: expected a run from event to event"):
        carom.Simulator.resume(run, 0)
    with pytest.raises(ValueError, match="forces: expected a run from event to event"):
        run.contact_forces(0.1)


def test_steps_that_are_too_long_end_in_words():
    """A stick on a smooth plate turns away from a ball there, and within a step comes around to it from behind."""
    scene = carom.Scene(gravity=(0, 0, 0))
    plate, stick = carom.Box((0.6, 0.6, 0.02)), carom.Box((0.4, 0.02, 0.02))
    scene.add(carom.Body(plate, density=800.0, position=(0, 0, -0.02), name="plate"))
    scene.add(carom.Body(stick, density=800.0, angular_velocity=(0, 0, -108.0), name="stick"))
    scene.add(carom.Body(carom.Sphere(0.05), density=800.0, position=(0.1, 0.15, 0.04), name="ball"))
    simulator = carom.Simulator(scene, LAW, steps=carom.Steps(0.02, above=2))
    assert len(stepped(simulator)) == 3
    with pytest.raises(carom.StepTooLongError, match=r"steps: 0.02 s has let .* overlap by .* \(at t = 0.02"):
        simulator.run(1.0, stop_at_rest=False)
    assert simulator.time == simulator.trajectory.end_time == 0.02
    assert np.isfinite(simulator.state.position).all()


def test_the_command_takes_large_islands(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    cluster((0, 0, -GRAVITY)).save("heap.json")
    command = [
        "run",
        "heap.json",
        "--duration",
        "0.3",
        "--no-view",
        "--law",
        "stronge-coulomb",
        "--out",
        "m.h5",
    ]
    monkeypatch.setattr(
        "carom.viewer.render_strip", lambda trajectory, path: path.write_bytes(b"six moments")
    )
    assert main([*command, "--steps", "0.002", "--steps-above", "3"]) == 0
    assert "steps of 0.002 s" in " ".join(capsys.readouterr().out.split())
    assert "Islands of more than 3 bodies" in carom.Trajectory.load("m.h5").remarks[-1]
    assert main([*command, "--steps-above", "3"]) == 2
    assert "--steps-above: expected --steps too" in capsys.readouterr().err
