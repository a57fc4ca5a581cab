"""Going on from an event of a recording: the same run, bit for bit."""

from dataclasses import dataclass
from typing import ClassVar

import h5py
import pytest

import carom
from carom.simulator.record.schema import write_text

from .equal_runs import assert_equal_runs, scene_of_three, two_sliding_boxes

LAST = 0.45


LAWS = {
    "one": carom.StrongeCoulomb(order="cyclic"),
    "drawn": carom.SetValuedRouth(cone_edges=6),
    "order": carom.SequentialReflection(order="random"),
}


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_a_run_goes_on_identically_from_any_event_of_its_file(law, tmp_path):
    path = tmp_path / "run.h5"
    simulator = carom.Simulator(scene_of_three(), law, seed=5, record=path)
    for until in (0.21, 0.3, LAST):  # in several strides
        whole = simulator.run(until, stop_at_rest=False)
    count = len(whole.events)
    assert count >= 5
    for event in (0, count // 2, -1):
        again = carom.Simulator.resume(path, event)
        known = range(count)[event] + 1
        assert again.law == law
        assert again.time == whole.events[event].time
        assert len(again.trajectory.events) >= known
        assert_equal_runs(again.run(LAST, stop_at_rest=False), whole)


def two_balls(law=None, **how):
    material = carom.Material(friction=0.0, restitution=0.8)
    scene = carom.Scene()
    scene.add(carom.Body(carom.HalfSpace((0, 0, 1)), fixed=True, material=material, name="floor"))
    for place, height in ((-1, 1.0), (1, 0.5)):
        scene.add(carom.Body(carom.Sphere(0.1), density=1.0, position=(place, 0, height), material=material))
    return carom.Simulator(scene, law or carom.SequentialReflection(), **how)


def test_states_that_were_set_and_zeros_of_functions_are_in_the_past():
    simulator = two_balls()
    simulator.add_event(lambda t, state: state.velocity[1, 2], name="turns")

    def kick(event, simulator):
        if event.note == "turns" and event.time > 0.8:
            state = simulator.state.copy()
            state.angular_velocity[1:] = (1.0, 2.0, 3.0)
            simulator.state = state

    simulator.on_event(kick)
    simulator.run(0.3)
    state = simulator.state.copy()
    state.velocity[2] = (0.2, 0.0, 1.0)
    simulator.state = state
    whole = simulator.run(2.0)
    notes = [event.note for event in whole.events]
    assert notes.count("state set") >= 3
    assert notes.count("turns") >= 3
    for event in range(len(notes)):
        again = carom.Simulator.resume(whole, event)
        assert again.time == whole.events[event].time
        assert [e.note for e in again.trajectory.events][: event + 1] == notes[: event + 1]
    again = carom.Simulator.resume(whole, -1)
    simulator = simulator.copy()
    simulator._run.callbacks.clear()
    simulator._run.functions.functions.clear()
    assert_equal_runs(again.run(2.5), simulator.run(2.5))


def test_a_zero_at_the_instant_of_an_event_of_the_engine_keeps_its_place():
    simulator = two_sliding_boxes()
    whole = simulator.run(1.0)
    assert [event.kind for event in whole.events] == ["user", "stick", "user", "stick"]
    for event in range(4):
        past = carom.Simulator.resume(whole, event).trajectory.events
        assert [e.kind for e in past] == [e.kind for e in whole.events[: event + 1]]
    assert_equal_runs(carom.Simulator.resume(whole, 3).run(1.0), whole)


def test_a_resumed_run_can_be_recorded_with_its_past(tmp_path):
    whole = two_balls(record=tmp_path / "run.h5").run(1.5)
    again = carom.Simulator.resume(tmp_path / "run.h5", 1, record=tmp_path / "again.h5")
    again.run(1.5)
    assert_equal_runs(carom.Trajectory.load(tmp_path / "again.h5"), whole)
    with pytest.raises(ValueError, match="record"):
        carom.Simulator.resume(tmp_path / "run.h5", 1, record=tmp_path / "run.h5")


@dataclass(frozen=True)
class Own:
    """A law that carom does not know."""

    name: ClassVar[str] = "own"
    honours_friction: ClassVar[bool] = False
    honours_restitution: ClassVar[bool] = False
    share: float = 1.0

    def resolve(self, problem, rng=None):
        found = carom.SequentialReflection().resolve(problem)
        return type(found).from_stages(problem, self.share * found.impulse[None], ("own",))


def test_a_law_that_carom_does_not_know_has_to_be_given(tmp_path):
    path = two_balls(Own()).run(1.0).save(tmp_path / "run.h5")
    with pytest.raises(ValueError, match=r"law.*'own'.*given"):
        carom.Simulator.resume(path, 0)
    with pytest.raises(ValueError, match=r"law.*'own'"):
        carom.Simulator.resume(path, 0, carom.AnitescuPotra())
    assert carom.Simulator.resume(path, 0, Own()).trajectory.events[0].time > 0.0


def test_a_run_that_is_not_repeated_says_which_event_differs():
    whole = two_balls(Own()).run(1.5)
    with pytest.raises(carom.ReplayError, match=r"event 0 of the recording \(impact at t = .*impulse"):
        carom.Simulator.resume(whole, 2, Own(share=0.99))


def test_descriptions_that_fit_no_law_are_refused(tmp_path):
    path = two_balls().run(1.0).save(tmp_path / "run.h5")
    for text in ('{"order": "__import__"}', '{"none": 1}', "[]", "not JSON"):
        with h5py.File(path, "r+") as file:
            write_text(file, "law_description", text)
        with pytest.raises(ValueError, match="sequential-reflection"):
            carom.Simulator.resume(path, 0)


@pytest.mark.parametrize(("event", "error"), [(99, ValueError), (-99, ValueError), (1.0, TypeError)])
def test_bad_indices_are_named(event, error):
    with pytest.raises(error, match="event"):
        carom.Simulator.resume(two_balls().run(1.0), event)


def hanging_arm(**how):
    """A driven arm on the ceiling, and a ball that bounces below it."""
    scene = carom.Scene()
    material = carom.Material(friction=0.2, restitution=0.6)
    scene.add(carom.Body(carom.HalfSpace((0, 0, 1)), fixed=True, material=material, name="floor"))
    scene.add(carom.Body(carom.Box((0.5, 0.1, 0.1)), mass=1.0, position=(0.25, 0, 2), name="arm"))
    scene.add(carom.Body(carom.Sphere(0.1), mass=1.0, position=(3, 0, 0.5), material=material, name="ball"))
    drive = carom.Drive(stiffness=40.0, damping=4.0)
    scene.add_joint(
        carom.RevoluteJoint(name="shoulder", body="arm", anchor=(0, 0, 2), axis=(0, 1, 0), drive=drive)
    )
    return carom.Simulator(scene, carom.StrongeCoulomb(), **how)


@pytest.mark.parametrize("called", [False, True])
def test_drives_that_were_set_are_set_again(called, tmp_path):
    """Between strides, or by a callback at each impact; a target that is no short decimal, and no limit."""
    path = tmp_path / "run.h5"
    simulator = hanging_arm(record=path)
    drives = [carom.Drive(stiffness=40.0, damping=4.0, target=1 / 3), carom.Drive(effort=0.1, limit=0.7)]
    if called:

        def change(event, simulator):
            if event.kind == "impact":
                simulator.set_drive("shoulder", drives[len(simulator.trajectory.events) // 2 % 2])

        simulator.on_event(change)
        whole = simulator.run(1.2)
    else:
        for until, drive in zip((0.1, 0.3, 0.5), [*drives, drives[0]], strict=True):
            simulator.run(until)
            simulator.set_drive("shoulder", drive)
        whole = simulator.run(1.2)
    set_at = [k for k, event in enumerate(whole.events) if event.note.startswith("drive set")]
    assert len(set_at) >= 3
    assert '"joint": "shoulder"' in whole.events[set_at[0]].note
    again = carom.Simulator.resume(path, set_at[-1])
    if called:
        again.on_event(change)
    assert_equal_runs(again.run(1.2), whole)


def test_events_of_a_user_cannot_be_named_as_changes():
    for name in ("state set", "drive set: x"):
        with pytest.raises(ValueError, match="name: expected one that carom gives"):
            hanging_arm().add_event(lambda t, s: t - 1.0, name=name)
