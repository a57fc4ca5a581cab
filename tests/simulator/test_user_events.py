"""Event functions of a user, callbacks on events, and states that are set."""

import math

import numpy as np
import pytest

import carom

from .equal_runs import two_sliding_boxes

G = 9.81


def two_balls(restitution=0.8, law=None, **how):
    """Two balls beside each other above a floor; returns the simulator."""
    material = carom.Material(friction=0.0, restitution=restitution)
    scene = carom.Scene(gravity=(0, 0, -G))
    scene.add(carom.Body(carom.HalfSpace((0, 0, 1)), fixed=True, material=material, name="floor"))
    for name, place, speed in (("left", (-1, 0, 1.0), 3.0), ("right", (1, 0, 0.5), 0.0)):
        scene.add(
            carom.Body(
                carom.Sphere(0.1),
                density=1000.0,
                position=place,
                velocity=(0, 0, speed),
                material=material,
                name=name,
            )
        )
    return carom.Simulator(scene, law or carom.SequentialReflection(), **how)


def apex(t, state):
    return state.velocity[1, 2]


def user_events(trajectory, name=None):
    return [e for e in trajectory.events if e.kind == "user" and name in (None, e.note)]


# -- zeros ---------------------------------------------------------------------------------------------------


def test_highest_points_of_a_bouncing_ball_are_found_exactly():
    sim = two_balls()
    sim.add_event(apex, direction=-1)
    trajectory = sim.run(2.5)
    lands = 3 / G + math.sqrt(2 * (0.9 + 3**2 / (2 * G)) / G)
    speed = 0.8 * G * (lands - 3 / G)
    expected = [3 / G, lands + speed / G, lands + 2 * speed / G + 0.8 * speed / G]
    found = [event.time for event in user_events(trajectory, "apex")]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
    impacts = [event.time for event in two_balls().run(2.5).events]
    assert [event.time for event in trajectory.events if event.kind == "impact"] == impacts


def test_an_impact_that_changes_the_sign_is_a_zero_right_after_it():
    sim = two_balls()
    sim.add_event(apex, direction=1, name="thrown up")
    trajectory = sim.run(2.5)
    bounces = [e.time for e in trajectory.events if e.kind == "impact" and 1 in e.contacts.bodies]
    assert len(bounces) >= 2
    assert [e.time for e in user_events(trajectory)] == bounces
    kinds = [e.kind for e in trajectory.events if e.time == bounces[0]]
    assert kinds == ["impact", "user"]


def test_direction_chooses_rising_or_falling():
    def times(direction):
        sim = two_balls()
        sim.add_event(lambda t, state: math.sin(20 * t) - 0.5, direction=direction, name="wave")
        return [e.time for e in user_events(sim.run(1.0))]

    rising = [(math.pi / 6 + 2 * math.pi * k) / 20 for k in range(4)]
    falling = [(5 * math.pi / 6 + 2 * math.pi * k) / 20 for k in range(3)]
    np.testing.assert_allclose(times(1), [t for t in rising if t < 1], rtol=0, atol=1e-12)
    np.testing.assert_allclose(times(-1), [t for t in falling if t < 1], rtol=0, atol=1e-12)
    np.testing.assert_allclose(sorted(times(1) + times(-1)), times(0), rtol=0, atol=1e-12)


def test_many_zeros_within_one_piece_are_all_found():
    sim = two_balls()
    sim.add_event(lambda t, state: math.sin(math.pi * t / 0.011), name="fast")
    found = [e.time for e in user_events(sim.run(0.4))]
    np.testing.assert_allclose(found, 0.011 * np.arange(1, 37), rtol=0, atol=2e-12)


def test_two_zeros_much_closer_than_the_resolution_are_found_as_a_dip():
    sim = two_balls()
    sim.add_event(lambda t, state: (t - 0.123) ** 2 - 1e-10, name="grazes")
    found = [e.time for e in user_events(sim.run(0.3))]
    np.testing.assert_allclose(found, [0.123 - 1e-5, 0.123 + 1e-5], rtol=0, atol=1e-12)


def test_a_zero_is_found_once_however_often_the_run_stops_on_it():
    sim = two_balls()
    sim.add_event(lambda t, state: t - 0.25, name="quarter")
    sim.run(0.25)
    sim.run(0.25)
    sim.run(math.nextafter(0.25, 1.0))
    for _ in range(20):
        sim.step(1e-10)
    sim.run(0.5)
    assert [e.time for e in user_events(sim.trajectory)] == [0.25]


def test_a_zero_at_the_very_start_or_of_a_constant_is_none():
    sim = two_balls()
    sim.add_event(lambda t, state: t, name="start")
    sim.add_event(lambda t, state: 0.0, name="nothing")
    assert user_events(sim.run(0.3)) == []


def test_a_function_that_reaches_zero_and_stays_has_one_zero():
    trajectory = two_sliding_boxes().run(2.0, stop_at_rest=False)
    found = {e.note: e.time for e in user_events(trajectory)}
    assert len(user_events(trajectory)) == 2
    assert found["slow stops"] == pytest.approx(1.0 / (0.5 * G), abs=1e-6)
    assert found["fast stops"] == pytest.approx(2.0 / (0.5 * G), abs=1e-6)


def test_functions_that_are_zero_at_one_instant_are_all_told():
    sim = two_balls()
    for name in ("first", "second"):
        sim.add_event(lambda t, state: t - 0.2, name=name)
    sim.add_event(lambda t, state: t - 0.2000001, name="later")
    events = user_events(sim.run(0.3))
    assert [e.note for e in events] == ["first", "second", "later"]
    assert events[0].time == events[1].time < events[2].time


def test_a_terminal_zero_ends_the_run_and_another_run_goes_on():
    sim = two_balls()
    sim.add_event(apex, direction=-1, terminal=True)
    trajectory = sim.run(2.0)
    assert trajectory.status is carom.RunStatus.STOPPED
    assert "'apex'" in trajectory.message
    assert trajectory.end_time == sim.time == pytest.approx(3 / G, abs=1e-12)
    assert sim.run(1.0).status is carom.RunStatus.REACHED_END
    assert len(user_events(trajectory)) == 1
    assert sim.run(3.0).status is carom.RunStatus.STOPPED
    assert len(user_events(trajectory)) == 2


def test_step_event_stops_at_zeros_and_gives_up_where_bodies_stay_apart():
    scene = carom.Scene(gravity=(0, 0, 0))
    for k in (0, 1):
        scene.add(carom.Body(carom.Sphere(0.1), density=1.0, position=(k, 0, 0), velocity=(0, k, 0)))
    sim = carom.Simulator(scene, carom.SequentialReflection())
    sim.add_event(lambda t, state: state.position[1, 1] - 7.5, name="far")
    event = sim.step_event()
    assert event.note == "far"
    assert event.time == pytest.approx(7.5, abs=1e-12)
    np.testing.assert_allclose(event.after.position[1], (1, 7.5, 0), atol=1e-12)
    assert sim.step_event() is None


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (lambda t, state: math.nan if t > 0.7 else 1.0, ["'broken'", "nan"]),
        (lambda t, state: 1.0 / max(0.0, 0.7 - t), ["'broken'", "ZeroDivisionError"]),
        (lambda t, state: "high" if t > 0.7 else 1.0, ["'broken'", "ValueError"]),
    ],
    ids=["nan", "raises", "word"],
)
def test_a_function_that_fails_ends_the_run_and_leaves_a_readable_recording(bad, words, tmp_path):
    sim = two_balls(record=tmp_path / "run.h5")
    sim.add_event(bad, name="broken")
    sim.add_event(apex, direction=-1)
    trajectory = sim.run(2.0)
    assert trajectory.status is carom.RunStatus.USER_FUNCTION_FAILED
    for word in [*words, repr(sim.time)]:
        assert word in trajectory.message
    assert 0.7 <= sim.time < 0.72
    read = carom.Trajectory.load(tmp_path / "run.h5")
    assert read.status is carom.RunStatus.USER_FUNCTION_FAILED
    assert read.end_time == sim.time
    assert [e.note for e in read.events] == [e.note for e in trajectory.events]
    assert "apex" in [e.note for e in read.events]
    np.testing.assert_array_equal(read.sample(sim.time).position, sim.state.position)
    assert sim.step_event() is None  # and stays ended


def test_user_events_are_recorded_and_drawn_from_files(tmp_path):
    sim = two_balls()
    sim.add_event(apex)
    trajectory = sim.run(1.5)
    read = carom.Trajectory.load(trajectory.save(tmp_path / "run.h5"))
    assert [(e.time, e.kind, e.note) for e in read.events] == [
        (e.time, e.kind, e.note) for e in trajectory.events
    ]
    assert len(user_events(read)[0].contacts) == 0


@pytest.mark.parametrize(
    ("arguments", "error", "word"),
    [
        ({"function": 3}, TypeError, "function"),
        ({"direction": 2}, ValueError, "direction"),
        ({"terminal": 1}, TypeError, "terminal"),
        ({"name": "apex"}, ValueError, "name"),
        ({"name": 7}, TypeError, "name"),
        ({"resolution": 0.0}, ValueError, "resolution"),
    ],
)
def test_bad_arguments_are_named(arguments, error, word):
    sim = two_balls()
    sim.add_event(apex)
    with pytest.raises(error, match=word):
        sim.add_event(**{"function": apex, **arguments})


def test_functions_without_a_name_of_their_own_are_told_apart():
    sim = two_balls()
    sim.add_event(lambda t, state: t - 0.1)
    sim.add_event(lambda t, state: t - 0.2)
    assert len({e.note for e in user_events(sim.run(0.3))}) == 2


def test_a_copy_finds_the_same_zeros():
    sim = two_balls()
    sim.add_event(apex)
    sim.run(1.0)
    twin = sim.copy()
    assert [e.time for e in twin.run(2.0).events] == [e.time for e in sim.run(2.0).events]


# -- callbacks -----------------------------------------------------------------------------------------------


def test_callbacks_see_every_event_in_order_and_the_state_after_it():
    sim = two_balls()
    seen = []
    sim.add_event(apex)
    sim.on_event(lambda event, simulator: seen.append((event, simulator.state)))
    sim.run(1.5)
    assert [event for event, _ in seen] == list(sim.trajectory.events)
    for event, state in seen:
        assert state.time == event.time
        np.testing.assert_array_equal(state.velocity, event.after.velocity)


def test_a_callback_can_set_the_state():
    """A paddle: every impact of the left ball with the floor throws it up with 2 m/s."""
    sim = two_balls()

    def paddle(event, simulator):
        if event.kind == "impact" and 1 in event.contacts.bodies:
            state = simulator.state.copy()
            state.velocity[1] = (0, 0, 2.0)
            simulator.state = state

    sim.on_event(paddle)
    trajectory = sim.run(3.0)
    bounces = [e.time for e in trajectory.events if e.kind == "impact" and 1 in e.contacts.bodies]
    assert len(bounces) >= 5
    np.testing.assert_allclose(np.diff(bounces), 2 * 2.0 / G, rtol=0, atol=1e-12)
    assert len(user_events(trajectory, "state set")) == len(bounces)


def test_a_callback_cannot_advance_the_simulator():
    sim = two_balls()
    sim.on_event(lambda event, simulator: simulator.step(0.1))
    with pytest.raises(RuntimeError, match="callback"):
        sim.run(1.0)
    with pytest.raises(TypeError, match="callback"):
        sim.on_event("nothing to call")


def test_what_a_callback_raises_comes_through_and_the_recording_is_readable(tmp_path):
    sim = two_balls(record=tmp_path / "run.h5")

    def stop(event, simulator):
        if len(simulator.trajectory.events) == 2:
            raise LookupError("enough")

    sim.on_event(stop)
    with pytest.raises(LookupError, match="enough"):
        sim.run(2.0)
    assert len(carom.Trajectory.load(tmp_path / "run.h5").events) == 2


# -- setting the state ---------------------------------------------------------------------------------------


def test_a_state_that_is_set_goes_on_as_a_scene_that_starts_so():
    sim = two_balls()
    sim.run(0.4)
    place = np.array([[0, 0, 0], [0.0, 0, 0.6], [0.05, 0, 0.9]])
    state = carom.State(
        sim.time,
        place,
        np.tile([1.0, 0, 0, 0], (3, 1)),
        np.zeros((3, 3)),
        np.array([[0, 0, 0], [0, 0, 0], [0, 1.0, 0]]),
    )
    sim.state = state
    np.testing.assert_array_equal(sim.state.position, place)
    event = sim.trajectory.events[-1]
    assert (event.kind, event.note, event.time) == ("user", "state set", 0.4)
    np.testing.assert_array_equal(event.after.position, place)
    assert event.before.position[1, 2] != 0.6
    fresh = carom.Scene(gravity=(0, 0, -G))
    for body, at, spin in zip(sim.model.scene.bodies, place, state.angular_velocity, strict=True):
        fresh.add(
            carom.Body(
                body.shape,
                fixed=body.fixed,
                position=at,
                angular_velocity=spin,
                material=body.material,
                **({} if body.fixed else {"density": 1000.0}),
            )
        )
    expected = carom.Simulator(fresh, carom.SequentialReflection()).run(1.0)
    known = len(sim.trajectory.events)
    found = sim.run(1.4).events[known:]
    np.testing.assert_allclose(
        [e.time - 0.4 for e in found], [e.time for e in expected.events], rtol=0, atol=1e-12
    )
    assert len(found) >= 3
    np.testing.assert_allclose(sim.state.velocity, expected.sample(1.0).velocity, rtol=0, atol=1e-10)


def test_bodies_that_rest_move_on_from_a_state_that_is_set():
    sim = two_balls(restitution=0.0)
    trajectory = sim.run(5.0)
    assert trajectory.status is carom.RunStatus.AT_REST
    state = sim.state.copy()
    state.velocity[2] = (0, 0, 1.0)
    sim.state = state
    again = sim.run(sim.time + 2 / G + 0.01)
    assert again.rest_time == pytest.approx(sim.time, abs=0.02)
    assert again.sample(again.end_time).position[2, 2] == pytest.approx(0.1, abs=1e-9)
    assert [e.kind for e in again.events[-2:]] == ["user", "impact"]


def test_fixed_bodies_keep_theirs_and_quaternions_are_normalised():
    sim = two_balls()
    state = sim.state.copy()
    state.position[0] = (np.nan, 5, 5)
    state.orientation[0] = 0.0
    state.orientation[1] = np.array([1.0, 1.0, 0, 0]) * (1 + 1e-7) / math.sqrt(2)
    sim.state = state
    np.testing.assert_array_equal(sim.state.position[0], 0.0)
    assert np.linalg.norm(sim.state.orientation[1]) == pytest.approx(1.0, abs=1e-15)


@pytest.mark.parametrize("field", ["position", "orientation", "velocity", "angular_velocity"])
def test_writing_into_what_is_handed_out_is_refused_since_it_would_change_nothing(field):
    sim = two_balls()
    run = sim.run(0.1)
    for state in (
        sim.state,
        run.sample(0.05),
        run.sample([0.0, 0.05]),
        sim.state["left"],
        run["left"].sample(0.05),
    ):
        with pytest.raises(ValueError, match="read-only"):
            getattr(state, field)[...] = 0.0
    copied = sim.state.copy()
    getattr(copied, field)[1] += 0.25
    assert (getattr(copied, field)[1] == getattr(sim.state, field)[1] + 0.25).all()
    assert copied.scene is sim.state.scene


def changed(field, value):
    def change(state):
        state = state.copy()
        getattr(state, field)[1] = value
        return state

    return change


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        (lambda state: "high up", TypeError, ["state", "str"]),
        (changed("velocity", np.nan), ValueError, ["velocity", "'left'"]),
        (changed("angular_velocity", np.inf), ValueError, ["angular_velocity", "'left'"]),
        (changed("orientation", (1.0, 0, 0, 1e-2)), ValueError, ["orientation", "'left'"]),
        (changed("position", (1.0, 0, 0.65)), ValueError, ["position", "'left'", "'right'", "overlap"]),
        (changed("position", (0, 0, 0.05)), ValueError, ["'left'", "'floor'", "t = 0.1 s"]),
        (
            lambda s: carom.State(0, s.position[:2], s.orientation, s.velocity, s.angular_velocity),
            ValueError,
            ["position", "(3, 3)", "(2, 3)"],
        ),
        (
            lambda s: carom.State(0, s.position, s.orientation, "up", s.angular_velocity),
            TypeError,
            ["velocity"],
        ),
    ],
)
def test_a_state_that_cannot_be_is_refused_and_nothing_changes(change, error, words):
    sim, untouched = two_balls(), two_balls()
    for each in (sim, untouched):
        each.run(0.1)
    with pytest.raises(error) as refused:
        sim.state = change(sim.state)
    for word in words:
        assert word in str(refused.value)
    found, expected = sim.run(2.0), untouched.run(2.0)
    assert [e.time for e in found.events] == [e.time for e in expected.events]
    np.testing.assert_array_equal(found.sample(2.0).position, expected.sample(2.0).position)


def test_a_drive_set_by_a_callback_finds_contacts_where_they_are_now():
    """A wheel with a pendulum rolls; its motor is set at a zero of a function, or between two strides."""

    def wheel():
        material = carom.Material(friction=1.0)
        scene = carom.Scene()
        scene.add(carom.Body(carom.HalfSpace((0, 0, 1)), fixed=True, material=material, name="floor"))
        rolling = {"velocity": (1, 0, 0), "angular_velocity": (0, 2, 0), "material": material}
        scene.add(carom.Body(carom.Sphere(0.5), mass=2.0, position=(0, 0, 0.5), name="wheel", **rolling))
        scene.add(
            carom.Body(
                carom.Box((0.05, 0.05, 0.2)), mass=0.5, position=(0, 0, 0.4), velocity=(1, 0, 0), name="bob"
            )
        )
        scene.disable_collision("wheel", "bob")
        scene.disable_collision("floor", "bob")
        motor = carom.Drive(effort=0.05)
        scene.add_joint(
            carom.RevoluteJoint(
                name="axle", body="bob", base="wheel", anchor=(0, 0, 0.5), axis=(0, 1, 0), drive=motor
            )
        )
        return carom.Simulator(scene, carom.StrongeCoulomb())

    called, between = wheel(), wheel()
    stronger = carom.Drive(effort=0.2)
    called.add_event(lambda t, state: t - 0.3, name="now")
    called.on_event(
        lambda event, simulator: simulator.set_drive("axle", stronger) if event.note == "now" else None
    )
    between.run(0.3)
    between.set_drive("axle", stronger)
    first, second = called.run(1.0).sample(1.0), between.run(1.0).sample(1.0)
    np.testing.assert_allclose(first.packed(), second.packed(), atol=1e-10)
    assert first.position[1, 2] == pytest.approx(0.5, abs=1e-11)
