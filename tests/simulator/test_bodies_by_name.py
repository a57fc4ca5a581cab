"""Bodies by name, in scenes, states and runs; and what these say of themselves."""

import doctest
import pickle

import numpy as np
import pytest

import carom
from carom.simulator.record import body_run


@pytest.fixture
def fall():
    """A floor and two balls, of which one falls onto it; and the run."""
    scene = carom.Scene()
    scene.add(carom.Body(carom.HalfSpace((0, 0, 1)), fixed=True, name="floor"))
    scene.add(carom.Body(carom.Sphere(0.1), mass=1.0, position=(0, 0, 1), name="ball"))
    spun = {"velocity": (1, 2, 3), "angular_velocity": (3, 2, 1)}
    scene.add(carom.Body(carom.Sphere(0.1), mass=2.0, position=(0, 0, 10), name="<other>", **spun))
    return carom.Simulator(scene, carom.AnitescuPotra()).run(0.8)


def test_a_body_of_a_scene(fall):
    scene = fall.scene
    assert scene["ball"] is scene.bodies[1] is scene[1]
    assert list(scene) == list(scene.bodies)
    assert "ball" in scene
    assert scene["ball"] in scene
    assert "cube" not in scene
    assert carom.Body(carom.Sphere(1), mass=1.0, name="ball") not in scene
    assert 3 not in scene
    with pytest.raises(ValueError, match="body: expected an index below 3, got 3"):
        scene[3]


def test_a_body_of_a_run_is_where_its_row_says(fall):
    times = np.linspace(0.0, 0.8, 7)
    whole = fall.sample(times)
    for index, name in enumerate(("floor", "ball", "<other>")):
        body = fall[name]
        assert (body.name, body.index, body.body) == (name, index, fall.scene[name])
        for field in ("position", "orientation", "velocity", "angular_velocity"):
            rows = getattr(whole, field)[:, index]
            assert np.array_equal(getattr(body, field)(times), rows)
            assert np.array_equal(getattr(body, field)(float(times[3])), rows[3])
            assert np.array_equal(getattr(whole[name], field), rows)
    impact = fall.events[0].time
    before, after = fall["ball"].velocity(impact, side="left"), fall["ball"].velocity(impact)
    assert before[2] == pytest.approx(-np.sqrt(2 * 9.81 * 0.9), rel=1e-12)
    assert after[2] == pytest.approx(0.0, abs=1e-12)
    with pytest.raises(ValueError, match="t: expected times within"):
        fall["ball"].position(0.9)


def test_events_of_a_body_are_those_that_it_touches_in(fall):
    assert [event.time for event in fall["ball"].events] == [event.time for event in fall.events]
    assert fall["<other>"].events == []


def test_a_body_of_a_state_wherever_it_comes_from(fall):
    simulator = carom.Simulator(fall.scene, carom.AnitescuPotra())
    states = (simulator.state, fall.sample(0.0), fall.events[0].before, fall.over_impulse().sample(0.0))
    for state in states:
        assert np.array_equal(state["ball"].position, state.position[1])
    seen = []

    def force(time, state):
        seen.append(state["ball"].position.copy())
        return np.zeros((3, 6))

    scene = carom.Scene()
    for body in fall.scene:
        scene.add(body)
    scene.add_force(force)
    carom.Simulator(scene, carom.AnitescuPotra()).run(0.01)
    assert seen[0] == pytest.approx((0, 0, 1), abs=1e-3)


def test_a_state_without_a_scene_says_so(fall):
    state = fall.sample(0.0)
    bare = carom.State(0.0, state.position, state.orientation, state.velocity, state.angular_velocity)
    with pytest.raises(ValueError, match="state: expected one that knows its scene, to find 'ball'"):
        bare["ball"]
    again = pickle.loads(pickle.dumps(state))
    assert np.array_equal(again["ball"].position, state["ball"].position)


def test_one_line_each(fall):
    assert repr(fall.scene) == "Scene(3 bodies, gravity (0.0, 0.0, -9.81))"
    assert (
        repr(fall)
        == "Trajectory(3 bodies, anitescu-potra, 0 to 0.8 s, 1 events of which 1 impacts, reached_end)"
    )
    assert repr(fall["ball"]) == "BodyRun('ball', 0 to 0.8 s)"
    assert repr(fall.sample(0.25)) == "State(3 bodies at t = 0.25 s)"
    assert repr(fall.sample([0.0, 0.25])) == "State(3 bodies at 2 times)"
    simulator = carom.Simulator(fall.scene, carom.AnitescuPotra(), seed=4)
    assert repr(simulator) == "Simulator(3 bodies, anitescu-potra, seed 4, at t = 0.0 s, 0 events)"
    assert repr(fall.events[0]).startswith("Event(impact at t = 0.42")


def test_a_notebook_shows_the_bodies_of_a_scene_and_no_markup_of_their_names(fall):
    shown = fall.scene._repr_html_()
    assert "<td>ball</td><td>Sphere</td><td>1 kg</td><td>0, 0, 1</td>" in shown
    assert "<td>&lt;other&gt;</td>" in shown
    assert "<other>" not in shown
    many = carom.Scene()
    for k in range(40):
        many.add(carom.Body(carom.Sphere(0.1), mass=1.0, position=(k, 0, 0)))
    assert many._repr_html_().count("<tr>") == 31
    assert "and 10 more" in many._repr_html_()


def test_its_example_prints_what_it_says():
    failed, run = doctest.testmod(body_run)
    assert (failed, run > 0) == (0, True)
