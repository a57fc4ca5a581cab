"""What tests of copies, branches and restarts share: scenes with several events, and equality bit for bit."""

import numpy as np

import carom


def scene_of_three():
    """Three turned boxes that fall onto a floor."""
    scene = carom.Scene()
    material = carom.Material(friction=0.4, restitution=0.5)
    scene.add(carom.Body(carom.HalfSpace((0, 0, 1)), fixed=True, material=material, name="floor"))
    for k in range(3):
        turn = np.array([1.0, 0.2 * k, 0.3, 0.1])
        scene.add(
            carom.Body(
                carom.Box((0.3, 0.2, 0.1)),
                density=800.0,
                position=(0.15 * k, 0.0, 0.4 + 0.3 * k),
                orientation=turn / np.linalg.norm(turn),
                material=material,
            )
        )
    return scene


def two_sliding_boxes():
    """A simulator of boxes that slide at 1 and 2 m/s, with an event function for where each stops."""
    material = carom.Material(friction=0.5)
    scene = carom.Scene()
    scene.add(carom.Body(carom.HalfSpace((0, 0, 1)), fixed=True, material=material))
    for k in (0, 1):
        scene.add(
            carom.Body(
                carom.Box((0.2, 0.2, 0.1)),
                density=1000.0,
                position=(0, k, 0.05),
                velocity=(1.0 + k, 0, 0),
                material=material,
            )
        )
    simulator = carom.Simulator(scene, carom.AnitescuPotra())
    simulator.add_event(lambda t, state: state.velocity[1, 0], name="slow stops")
    simulator.add_event(lambda t, state: state.velocity[2, 0], name="fast stops")
    return simulator


def assert_equal_runs(first, second):
    """Bit for bit: events with what the law was asked and answered, pieces, status."""
    assert (first.status, first.end_time, first.rest_time) == (
        second.status,
        second.end_time,
        second.rest_time,
    )
    assert len(first.events) == len(second.events)
    for mine, theirs in zip(first.events, second.events, strict=True):
        assert (mine.time, mine.kind, mine.note) == (theirs.time, theirs.kind, theirs.note)
        assert mine.contacts.point.tobytes() == theirs.contacts.point.tobytes()
        if mine.outcome is not None:
            assert mine.problem.W.tobytes() == theirs.problem.W.tobytes()
            assert mine.outcome.path.impulse.tobytes() == theirs.outcome.path.impulse.tobytes()
        assert mine.after.velocity.tobytes() == theirs.after.velocity.tobytes()
    for mine, theirs in zip(first.motions, second.motions, strict=True):
        assert mine.rows.tobytes() == theirs.rows.tobytes()
        for k in range(len(mine)):
            one, other = mine.polynomial(k), theirs.polynomial(k)
            assert (one is None) == (other is None)
            assert one is None or one.tobytes() == other.tobytes()
