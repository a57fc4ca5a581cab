"""Orders of contacts as rules: names of bodies, functions of the problem, indices where they fit."""

import numpy as np
import pytest

import carom
from carom import ImpactProblem, ImpactStatus, SequentialLCP, SequentialReflection, StrongeCoulomb

LAWS = [SequentialLCP, SequentialReflection, StrongeCoulomb]
NAMES = [("cue", "red"), ("blue", "cue")]


def struck_pair(names=None):
    """A cue ball that hits two others at once, 80 degrees apart."""
    angles = np.radians([40.0, -40.0])
    normals = -np.column_stack([np.cos(angles), np.sin(angles)])
    J = np.zeros((4, 6))
    for k, (x, y) in enumerate(normals):
        J[2 * k, :2], J[2 * k, 2 + 2 * k : 4 + 2 * k] = (x, y), (-x, -y)
        J[2 * k + 1, :2], J[2 * k + 1, 2 + 2 * k : 4 + 2 * k] = (-y, x), (y, -x)
    return ImpactProblem.from_generalized(
        np.eye(6), J, [1.0, 0, 0, 0, 0, 0], restitution=0.8, dim=2, contact_names=names
    )


def first_contact(law, problem):
    first = law.resolve(problem).info["sequence"][0]
    return first[0] if isinstance(first, tuple) else first


@pytest.mark.parametrize("law", LAWS)
def test_names_decide_which_is_first(law):
    problem = struck_pair(NAMES)
    for order, contact in (
        ([("cue", "red"), ("cue", "blue")], 0),
        ([("cue", "blue"), ("cue", "red")], 1),
        ([("green", "cue"), ("blue", "cue"), "red"], 1),
        (["blue", "cue"], 1),
    ):
        outcome = law(order=order).resolve(problem)
        assert outcome.resolved, outcome.message
        assert first_contact(law(order=order), problem) == contact
        by_index = law(order=(contact, 1 - contact)).resolve(problem)
        np.testing.assert_array_equal(outcome.impulse, by_index.impulse)


@pytest.mark.parametrize("law", LAWS)
def test_a_function_of_the_problem_decides(law):
    problem = struck_pair()
    assert first_contact(law(order=lambda asked: range(asked.contact_count)[::-1]), problem) == 1
    word = law(order=lambda asked: "most_approaching").resolve(problem)
    np.testing.assert_array_equal(word.impulse, law().resolve(problem).impulse)
    drawn = law(order=lambda asked: "random")
    firsts = {drawn.resolve(problem, np.random.default_rng(k)).info["sequence"][0] for k in range(8)}
    assert len(firsts) == 2
    with pytest.raises(TypeError, match="order: expected of a function"):
        law(order=lambda asked: [("cue", "red")]).resolve(problem)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(
    ("order", "names", "words"),
    [
        ((1, 0, 2), None, "order must name every contact from 0 to 1 and no other"),
        ((1, 1), None, "order must name every contact from 0 to 1 and no other"),
        ((), None, "order must name every contact"),
        (NAMES, None, "this problem knows none"),
        (NAMES[:1], NAMES, "no entry for contact 1, between 'blue' and 'cue'"),
    ],
)
def test_an_order_that_does_not_fit_is_a_status(law, order, names, words):
    outcome = law(order=order).resolve(struck_pair(names))
    assert outcome.status is ImpactStatus.ORDER_MISFIT
    assert words in outcome.message
    assert not outcome.impulse.any()


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("order", [[("a", "b", "c")], [(1, 2)], [0, "a"], [True, False], 3, [0.5]])
def test_what_is_no_order_is_named(law, order):
    with pytest.raises(TypeError, match="order must"):
        law(order=order)


@pytest.mark.parametrize("names", ["ab", [("a", "b")], [("a",), ()], [("a",), (1,)]])
def test_names_must_be_of_every_contact(names):
    with pytest.raises(ValueError, match="contact_names must hold a tuple of names for each of 2 contacts"):
        struck_pair(names)


def break_of(order, law=SequentialReflection):
    """A run in which a ball meets another alone and then two at once, and how it ended."""
    scene = carom.Scene(gravity=(0.0, 0.0, 0.0))
    material = carom.Material(friction=0.0, restitution=1.0)
    places = {
        "cue": (-1.5, 0.0),
        "early": (-0.75, 0.0),
        "red": (0.08, 0.06),
        "blue": (0.08, -0.06),
    }
    for name, (x, y) in places.items():
        scene.add(
            carom.Body(
                carom.Sphere(0.05), mass=1.0, position=(x, y, 0.0), name=name, material=material,
                velocity=(1.0 if name == "cue" else 0.0, 0.0, 0.0),
            )
        )  # fmt: skip
    simulator = carom.Simulator(scene, law(order=order))
    return simulator, simulator.run(3.0)


def test_an_order_by_name_serves_a_whole_run():
    speeds = {}
    for first, second in (("red", "blue"), ("blue", "red")):
        simulator, trajectory = break_of([("early", first), ("early", second), "cue"])
        assert simulator.trajectory.status.value == "reached_end", simulator.trajectory.message
        event = trajectory.events[1]
        assert {frozenset(names) for names in event.problem.contact_names} == {
            frozenset(("early", "red")),
            frozenset(("early", "blue")),
        }
        speeds[first] = np.linalg.norm(simulator.state.velocity, axis=1)
    assert speeds["red"][2] > speeds["red"][3] + 0.1
    np.testing.assert_allclose(speeds["red"][[0, 1, 3, 2]], speeds["blue"], atol=1e-12)


def test_indices_that_do_not_fit_end_a_run_in_words():
    simulator, _ = break_of((2, 1, 0))
    assert simulator.trajectory.status.value == "law_failed"
    assert "order must name every contact from 0 to 1" in simulator.trajectory.message


def test_a_law_with_names_is_made_again_from_a_recording(tmp_path):
    order = [("early", "blue"), ("early", "red"), "cue"]
    _, trajectory = break_of(order)
    trajectory.save(tmp_path / "break.h5")
    again = carom.Simulator.resume(tmp_path / "break.h5", 0)
    assert again.law == SequentialReflection(order=order)
