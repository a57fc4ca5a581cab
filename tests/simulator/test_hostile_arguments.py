"""Arguments that ended in numpy's words, or slipped through: each found case in carom's own."""

import math
import re
from dataclasses import replace

import numpy as np
import pytest

import carom
from carom.command_line import main
from carom.impact_laws import law_by_name

TETRAHEDRON = [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)]


def floor_and_ball():
    scene = carom.Scene()
    scene.add(carom.Body(carom.HalfSpace((0, 0, 1)), fixed=True))
    scene.add(carom.Body(carom.Sphere(0.1), density=1000.0, position=(0, 0, 1)))
    return scene


@pytest.mark.parametrize(
    ("name", "value", "error", "words"),
    [
        ("event_limit", math.nan, TypeError, "event_limit: expected a whole number, got nan"),
        ("event_limit", 1.5, TypeError, "event_limit: expected a whole number, got 1.5"),
        ("event_limit", -1, ValueError, "event_limit: expected a whole number from 0 to"),
        ("event_limit", 2**70, ValueError, "event_limit: expected a whole number from 0 to"),
        ("seed", -1, ValueError, "seed: expected a whole number from 0 to"),
        ("seed", None, TypeError, "seed: expected a whole number, got None"),
        ("seed", 2**70, ValueError, "seed: expected a whole number from 0 to"),
        ("record", 3, TypeError, "record: expected the path of a file, got int"),
        ("record", "nul\x00", ValueError, "record: .* is no file's name"),
    ],
)
def test_arguments_of_a_simulator(name, value, error, words):
    with pytest.raises(error, match=words):
        carom.Simulator(floor_and_ball(), carom.AnitescuPotra(), **{name: value})


def test_times_that_are_none():
    simulator = carom.Simulator(floor_and_ball(), carom.AnitescuPotra())
    for call, name in ((simulator.run, "until"), (simulator.step, "duration")):
        for wrong, error in (("x", TypeError), (True, TypeError), (1j, TypeError), (10**400, ValueError)):
            with pytest.raises(error, match=f"{name}: expected a"):
                call(wrong)
    run = simulator.run(0.1)
    for wrong in ("x", 1j, [[0.0], [0.0, 0.1]], 10**400):
        with pytest.raises((TypeError, ValueError), match="t: expected"):
            run.sample(wrong)
    with pytest.raises(ValueError, match="side: expected 'left' or 'right'"):
        run.sample(0.0, side=np.zeros(2))


@pytest.mark.parametrize(
    ("joint", "words"),
    [
        (
            lambda body: carom.RevoluteJoint(body, anchor=(0, 0, 0), axis=(0, 1, 0), limits=(0.5, 1.0)),
            "got 0",
        ),
        (lambda body: carom.PrismaticJoint(body, axis=(0, 0, 1), limits=(-2.0, -1.0)), "got 0"),
        (
            lambda body: carom.DistanceJoint(body, anchor=(0, 0, 1), base_anchor=(0, 0, 3), limits=(0, 1)),
            "got 2",
        ),
    ],
)
def test_a_joint_that_starts_beyond_its_limits(joint, words):
    scene = floor_and_ball()
    scene.add_joint(joint(1))
    with pytest.raises(
        ValueError, match=f"joint .*: at the start, expected its coordinate within .*, {words}"
    ):
        carom.Simulator(scene, carom.AnitescuPotra())


def test_a_joint_at_its_limit_may_start_there():
    scene = floor_and_ball()
    scene.add_joint(carom.PrismaticJoint(1, axis=(0, 0, 1), limits=(0.0, 1.0)))
    assert carom.Simulator(scene, carom.AnitescuPotra()).run(0.1).status is carom.RunStatus.AT_REST


HINGE = {"anchor": (0, 0, 2), "axis": (0, 1, 0)}


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize(
    ("how", "force"),
    [
        ({"spring": carom.Spring(1.0, 1e308)}, "1e+308"),
        ({"spring": carom.Spring(1.0, -1e200)}, "-1e+200"),
        ({"spring": carom.Spring(1e200, 1e200)}, "inf"),
        ({"drive": carom.Drive(effort=1e308)}, "1e+308"),
        ({"drive": carom.Drive(damping=1e200, rate=1e200, limit=1e300)}, "1e+300"),
    ],
)
def test_a_force_beyond_the_range_of_numbers_is_no_rest(how, force):
    """A ball on a hinge under such a spring came to rest at once."""
    scene = floor_and_ball()
    scene.add_joint(carom.RevoluteJoint(1, **HINGE, **how, name="hinge"))
    words = rf"joint 'hinge': at the start, expected a force of its .*, got {re.escape(force)} N or N m"
    with pytest.raises(ValueError, match=words):
        carom.Simulator(scene, carom.AnitescuPotra())


def test_a_drive_beyond_the_range_of_numbers_is_not_set():
    scene = floor_and_ball()
    scene.add_joint(carom.RevoluteJoint(1, **HINGE, drive=carom.Drive(effort=1.0), name="hinge"))
    simulator = carom.Simulator(scene, carom.AnitescuPotra())
    with pytest.raises(
        ValueError, match=r"joint 'hinge': at t = 0 s, expected a force of its .*, got 1e\+308"
    ):
        simulator.set_drive("hinge", carom.Drive(effort=1e308))
    simulator.set_drive("hinge", carom.Drive(effort=1e308, limit=1.0))
    assert simulator.run(0.01).status is carom.RunStatus.REACHED_END


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_the_energy_of_a_spring_beyond_the_range_of_numbers_is_infinite():
    scene = floor_and_ball()
    scene.add_joint(carom.PrismaticJoint(1, axis=(0, 1, 0), spring=carom.Spring(1e-200, 1e300)))
    simulator = carom.Simulator(scene, carom.AnitescuPotra())
    assert simulator.model.spring_energy(simulator.state) == math.inf


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("fast", r"velocity: expected numbers of shape \(2, 3\), got 'fast' \(str\)"),
        ([["1", "2", "3"]] * 2, r"velocity: expected numbers of shape \(2, 3\), got "),
        (np.zeros((2, 3), dtype=complex), r"velocity: expected numbers of shape \(2, 3\), got "),
        ([[10**400, 0, 0]] * 2, r"velocity: expected numbers of shape \(2, 3\), got "),
        ([[1.0, 2.0], [3.0]], r"velocity: expected numbers of shape \(2, 3\), got rows of unequal length"),
        ([1.0, 2.0, 3.0], r"velocity: expected shape \(2, 3\), got \(3,\)"),
    ],
)
def test_a_state_of_other_than_numbers_is_refused_by_name(value, words):
    """Texts of numbers were taken for these, parts of complex ones left out, and a number too large was an error
    of numpy."""
    simulator = carom.Simulator(floor_and_ball(), carom.AnitescuPotra())
    with pytest.raises((TypeError, ValueError), match=words):
        simulator.state = replace(simulator.state.copy(), velocity=value)


def test_times_of_overlaps_are_refused_by_name():
    run = carom.Simulator(floor_and_ball(), carom.AnitescuPotra()).run(0.1)
    assert run.overlap_at([0.0, 0.1]) == run.overlap_at(0.05) == run.largest_overlap(2) == 0.0
    for wrong, words in (
        ("now", "t: expected a number or an array of numbers, got now"),
        ([[0.0, 0.1]], r"t: expected a number or an array of shape \(T,\), got shape \(1, 2\)"),
        ([[0.0, 0.1], [0.0]], "t: expected a number or an array of numbers"),
        (9.0, r"t: expected times within \[0, 0.1\] s, got 9"),
    ):
        with pytest.raises((TypeError, ValueError), match=words):
            run.overlap_at(wrong)
    for how, words in (
        ({"samples": "many"}, r"samples: expected a whole number, got 'many' \(str\)"),
        ({"samples": -1}, "samples: expected a whole number from 0 to 10000000, got -1"),
        ({"looks": 0.5}, r"looks: expected a whole number, got 0.5 \(float\)"),
    ):
        with pytest.raises((TypeError, ValueError), match=words):
            run.largest_overlap(**how)
    with pytest.raises(ValueError, match=r"s: expected numbers of shape .*, got rows of unequal length"):
        run.over_impulse().time([[0.0], [0.0, 0.1]])


def test_bodies_of_no_mass_to_speak_of():
    with pytest.raises(ValueError, match="told from zero"):
        carom.Body(carom.Sphere(1e-100), density=1.0)
    for shape, sizes in (
        (carom.Sphere, (1e200,)),
        (carom.Box, ((1, 1, 1e200),)),
        (carom.Capsule, (1, 1e200)),
        (carom.Cylinder, (1e200, 1)),
        (carom.Ellipsoid, ((1e200, 1, 1),)),
    ):
        with pytest.raises(ValueError, match=r"(radius|lengths?|semi_axes): .* at most 1e\+30, got 1e\+200"):
            shape(*sizes)
    for shape in (carom.ConvexMesh, lambda corners, scale: carom.Mesh((corners, TETRAHEDRON), scale=scale)):
        with pytest.raises(ValueError, match=r"scale: expected numbers of at most 1e\+30"):
            shape([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)], scale=1e200)
    with pytest.raises(ValueError, match="radius: expected a finite number"):
        carom.Sphere(10**400)
    with pytest.raises(ValueError, match="clearance: expected one that leaves finite places"):
        floor_and_ball().resolve_overlaps(1e308)


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_numbers_near_the_end_of_their_range_are_answered_without_a_word_from_numpy():
    scene = floor_and_ball()
    [moved] = scene.resolve_overlaps(1e200)
    assert moved.displacement[2] == pytest.approx(1e200)
    with pytest.raises(ValueError, match="clearance: expected one that leaves finite places"):
        floor_and_ball().resolve_overlaps(1e308)
    for far in (1e200, 1e308):
        with pytest.raises(ValueError, match="base_anchor: expected a place whose distance from anchor"):
            carom.DistanceJoint(1, anchor=(far, 0, 0), base_anchor=(-far, 0, 0), limits=(0, 1))
    with pytest.raises(ValueError, match="inertia: expected finite numbers"):
        carom.Box((1e30, 1e30, 1e30)).mass_properties(1e200)
    for speed in (1e-320, 1e-200, 1e200):
        with pytest.raises(ValueError, match="speed: expected a number whose square can be told from zero"):
            carom.SpeedRestitution(0.5, speed=speed)
    assert carom.SpeedRestitution(0.5, speed=1e-150).at(1e300) == 0.0
    fast = floor_and_ball()
    fast.add(carom.Body(carom.Sphere(0.1), density=1.0, position=(9, 0, 1), velocity=(1e200, 0, 0)))
    simulator = carom.Simulator(fast, carom.AnitescuPotra())
    assert simulator.model.energy(simulator.state) == math.inf
    ball = carom.Body(carom.Sphere(0.1), mass=2.0, velocity=(0, 0, -1))
    plain = carom.contact_problem(ball, None, (0, 0, 0), (0, 0, 1))
    for length in (1e200, 1e-200):
        other = carom.contact_problem(ball, None, (0, 0, 0), (0, 0, length))
        assert np.array_equal(other.W, plain.W)


def test_an_impulse_beyond_the_range_of_numbers_is_none():
    """It came as infinity, and with it velocities that were not numbers."""
    W = np.zeros((6, 6))
    W[3, 5] = W[5, 3] = 6.5e-166
    W[5, 5] = 1.0
    problem = carom.ImpactProblem(W, [0, 0, 0, -1.0, 0, 0], friction=0.3, restitution=0.0, dim=3)
    outcome = carom.AnitescuPotra().resolve(problem)
    assert outcome.status is carom.ImpactStatus.NO_SOLUTION
    assert (outcome.impulse == 0.0).all()
    assert outcome.velocity.tolist() == problem.u.tolist()
    assert outcome.energy_change == 0.0


def test_words_that_are_no_texts_are_refused_as_other_words_are():
    motion = {
        "time": [0.0, 0.1],
        "position": np.zeros((2, 3)),
        "orientation": np.tile([1.0, 0.0, 0.0, 0.0], (2, 1)),
    }
    for wrong in ([], {}, np.zeros(2)):
        with pytest.raises(ValueError, match="law must be one of"):
            law_by_name(wrong)
        with pytest.raises(ValueError, match="unit: expected one of m, cm, mm, in, got"):
            carom.Measured(**motion, unit=wrong)
        with pytest.raises(TypeError, match="name: expected a text that is not empty"):
            carom.Scene().add_spheres(0.1, density=1.0, position=[(0, 0, 0)], name=wrong)


def test_names_in_a_recording_do_not_steer_a_terminal(tmp_path, capsys):
    scene = carom.Scene()
    name = "\x1b[31mred\x9b2J\ud800"
    scene.add(carom.Body(carom.Sphere(0.1), density=1.0, name=name))
    path = carom.Simulator(scene, carom.AnitescuPotra()).run(0.1).save(tmp_path / "run.h5")
    assert carom.Trajectory.load(path).scene.bodies[0].name == name
    assert main(["info", str(path)]) == 0
    assert main(["info", "\x1b[31m\udcff.h5"]) == 2
    said = capsys.readouterr()
    assert r"\x1b[31mred\x9b2J\ud800" in said.out
    assert said.err == "carom: \\x1b[31m\\udcff.h5: no such file\n"
    assert not {"\x1b", "\x9b"} & set(said.out)
