"""Kinds of lasting contact: points, edges, faces and rims, against finite differences and closed forms."""

import math
from dataclasses import dataclass

import numpy as np
import pytest

import carom
from carom.simulator import kernels
from carom.simulator.collision.pairs import tangents_of
from carom.simulator.event import ContactPatch, EventKind, Feature
from carom.simulator.state import Model

from .contact_world import ContactWorld, moved

GRAVITY = 9.81
POINT, EDGE, FACE, RIM = Feature.POINT, Feature.EDGE, Feature.FACE, Feature.RIM
CURVES = [(first, second) for first in (POINT, EDGE, RIM) for second in (POINT, EDGE, RIM)]
KINDS = (
    [(*pair, True) for pair in CURVES]
    + [(*pair, False) for pair in CURVES if POINT not in pair]
    + [(POINT, FACE, True), (FACE, POINT, False), (EDGE, FACE, True), (RIM, FACE, False), (FACE, RIM, False)]
)
"""(feature of the first body, of the second, whether points and edges are round)."""


def unit(vector):
    return np.asarray(vector, dtype=float) / np.linalg.norm(vector)


def patch_of(bodies, point, normal, features, along, radius):
    """A patch of touching contacts; every argument has one row a contact."""
    normal = np.array(normal, dtype=float)
    count = len(normal)
    tangent = tangents_of(normal)
    return ContactPatch(
        np.array(bodies), np.array(point, dtype=float), normal, tangent, np.cross(normal, tangent),
        np.zeros(count), np.array(features, dtype=np.int64), np.full((count, 2), -1),
        np.array(along, dtype=float).reshape(count, 2, 3), np.array(radius, dtype=float).reshape(count, 2),
    )  # fmt: skip


def two_bodies(fixed, gravity=0.0, mass=2.0, inertia=(0.02, 0.03, 0.04)):
    """Model of a free body and a second one; what they touch with comes from the patch alone."""
    scene = carom.Scene(gravity=(0, 0, -gravity))
    ball = carom.Sphere(0.1)
    scene.add(carom.Body(ball, mass=mass, inertia=np.diag(inertia)))
    scene.add(
        carom.Body(ball, mass=1.0, inertia=np.diag([0.03, 0.02, 0.01]), position=(1, 0, 0), fixed=fixed)
    )
    return Model.of_scene(scene)


def random_states(rng, count):
    states = np.zeros((count, 13))
    states[:, :3] = 0.3 * rng.normal(size=(count, 3))
    states[:, 3:7] = [unit(q) for q in rng.normal(size=(count, 4))]
    states[:, 7:13] = rng.normal(size=(count, 6))
    return states


def random_patch(rng, first, second, is_round, angle=None):
    """One contact of two bodies at a random place, with an angle [rad] between edges and rims, no level rim."""
    normal = unit(rng.normal(size=3))
    along, radius = np.zeros((2, 3)), np.zeros(2)
    level = unit(np.cross(normal, rng.normal(size=3)))
    angle = rng.uniform(0.6, 2.5) if angle is None else angle
    tangent = [level, math.cos(angle) * level + math.sin(angle) * np.cross(normal, level)]
    for side, feature in enumerate((first, second)):
        if feature == EDGE:
            along[side] = tangent[side]
        elif feature == RIM:
            tilt = rng.uniform(0.3, 2.8)
            along[side] = math.cos(tilt) * normal + math.sin(tilt) * np.cross(normal, tangent[side])
        radius[side] = rng.uniform(0.1, 0.3) if feature == RIM or (is_round and feature != FACE) else 0.0
    return patch_of([(0, 1)], [0.3 * rng.normal(size=3)], [normal], [(first, second)], [along], [radius])


def check_rates(model, patch, rng):
    """Gap, velocity and acceleration of one contact against finite differences, from random states."""
    states = random_states(rng, 2)
    states[~model.movable, 7:13] = 0.0
    return check_rates_at(model, patch, states, rng)


def check_rates_at(model, patch, states, rng):
    """The same from given states (2, 13)."""
    contacts = ContactWorld(model, patch, states)
    states = states[contacts.bodies]
    acceleration = rng.normal(size=(len(states), 6))
    J, bias, u, gap = contacts.rows(states)
    assert abs(gap[0]) < 1e-14
    velocity = [[*s[7:10], *(kernels.rotation_matrix(s[3:7]) @ s[10:13])] for s in states]
    np.testing.assert_allclose(J @ np.ravel(velocity), u, atol=1e-13)
    h = 1e-4
    samples = [contacts.rows(moved(states, acceleration, k * h)) for k in (-2, -1, 1, 2)]
    change = np.array([1, -8, 8, -1]) / (12 * h)
    gaps = np.array([sample[3][0] for sample in samples])
    curvature = (np.array([-1, 16, 16, -1]) @ gaps - 30 * gap[0]) / (12 * h * h)
    expected = J @ acceleration.ravel() + bias
    scale = max(1.0, np.abs(bias).max())
    assert change @ gaps == pytest.approx(u[0], abs=1e-9 * scale)
    assert curvature == pytest.approx(expected[0], abs=1e-6 * scale)
    np.testing.assert_allclose(change @ [sample[2] for sample in samples], expected, atol=1e-7 * scale)
    return int(contacts.kinds[0])


@pytest.mark.parametrize("fixed", [False, True])
@pytest.mark.parametrize(("first", "second", "is_round"), KINDS)
def test_rows_and_bias_agree_with_finite_differences(first, second, is_round, fixed):
    model = two_bodies(fixed)
    rng = np.random.default_rng(7)
    for _ in range(5):
        kind = check_rates(model, random_patch(rng, first, second, is_round), rng)
        assert kind not in (0, 8) or FACE in (first, second)


SHARP_ON_POINT = [(POINT, POINT), (POINT, EDGE), (EDGE, POINT), (POINT, RIM), (RIM, POINT)]
SIDE_BY_SIDE = [(EDGE, EDGE), (EDGE, RIM), (RIM, EDGE), (RIM, RIM)]


@pytest.mark.parametrize("fixed", [False, True])
@pytest.mark.parametrize(("first", "second"), SHARP_ON_POINT + SIDE_BY_SIDE)
def test_sharp_features_that_do_not_cross_touch_as_on_a_face(first, second, fixed):
    rng = np.random.default_rng(3)
    kind = check_rates(two_bodies(fixed), random_patch(rng, first, second, False, angle=0.0), rng)
    assert kind == (8 if RIM in (first, second) else 0)


@pytest.mark.parametrize("fixed", [False, True])
@pytest.mark.parametrize(("first", "second"), SIDE_BY_SIDE[:3])
def test_round_features_may_run_side_by_side(first, second, fixed):
    rng = np.random.default_rng(5)
    kind = check_rates(two_bodies(fixed), random_patch(rng, first, second, True, angle=0.0), rng)
    assert kind == (10 if RIM in (first, second) else 2)


def test_a_level_rim_touches_a_face_with_points():
    rng = np.random.default_rng(1)
    normal = unit(rng.normal(size=3))
    patch = patch_of(
        [(0, 1)], [(0.1, 0.2, 0.3)], [normal], [(RIM, FACE)], [[normal, np.zeros(3)]], [(0.2, 0)]
    )
    assert check_rates(two_bodies(True), patch, rng) == 0


@dataclass
class Course:
    """Motion of one free body in contact: times, states (steps, 13), energies [J] and what ended it."""

    time: list[float]
    state: list[np.ndarray]
    energy: list[float]
    drift: float
    end: EventKind | None

    def at(self, instant):
        """State at one of the ends of steps."""
        return self.state[int(np.argmin(np.abs(np.array(self.time) - instant)))]


def course(model, patch, states, friction, span, largest=np.inf):
    """Move the first body of a model in contact for `span` [s]."""
    contacts = ContactWorld(model, patch, states, friction, longest=largest)
    assert list(contacts.bodies) == [0]
    contacts.begin()
    end, found = contacts.advance(span)
    result = Course([], [], [], 0.0, end)
    for time, state in found:
        result.time.append(time)
        result.state.append(state[0])
        result.energy.append(energy_of(model, state[0]))
        result.drift = max(result.drift, float(np.abs(contacts.rows(state[:1])[3]).max()))
    return result


def energy_of(model, state):
    spin = state[10:13]
    kinetic = 0.5 * model.mass[0] * state[7:10] @ state[7:10] + 0.5 * spin @ model.inertia[0] @ spin
    return float(kinetic - model.mass[0] * model.gravity @ state[:3])


def body_on(fixed_shape, mass, inertia, gravity):
    """Model of one free body (what it touches with comes from the patch) and something fixed."""
    scene = carom.Scene(gravity=gravity)
    scene.add(carom.Body(carom.Sphere(0.1), mass=mass, inertia=np.diag(inertia), position=(0, 0, 5)))
    scene.add(carom.Body(fixed_shape, fixed=True))
    scene.disable_collision(0, 1)
    return Model.of_scene(scene)


def at_rest(position, orientation=(1, 0, 0, 0)):
    """States of the free body and of the fixed one."""
    states = np.zeros((2, 13))
    states[0, :3], states[0, 3:7], states[1, 3] = position, orientation, 1.0
    return states


FLOOR, PEG = carom.HalfSpace(normal=(0, 0, 1)), carom.Capsule(radius=0.1, length=2.0)


@pytest.mark.parametrize("tilt", [0.1, 0.5])
def test_a_cylinder_on_two_rims_rolls_down_an_incline(tilt):
    radius, half, mass = 0.2, 0.3, 3.0
    across = mass * (3 * radius**2 + (2 * half) ** 2) / 12
    model = body_on(
        FLOOR, mass, (across, 0.5 * mass * radius**2, across),
        (GRAVITY * math.sin(tilt), 0, -GRAVITY * math.cos(tilt)),
    )  # fmt: skip
    patch = patch_of(
        [(0, 1)] * 2, [(0, half, 0), (0, -half, 0)], [(0, 0, 1)] * 2, [(RIM, FACE)] * 2,
        [[(0, 1, 0), (0, 0, 0)]] * 2, [(radius, 0)] * 2,
    )  # fmt: skip
    result = course(model, patch, at_rest((0, 0, radius)), 0.8, 1.0, largest=0.1)
    pull = 2 / 3 * GRAVITY * math.sin(tilt)
    assert result.end is None
    assert result.time[-1] == pytest.approx(1.0)
    np.testing.assert_allclose(result.state[-1][:3], [0.5 * pull, 0, radius], atol=1e-11)
    np.testing.assert_allclose(result.state[-1][7:13], [pull, 0, 0, 0, pull / radius, 0], atol=1e-10)
    assert result.drift < 1e-11


@pytest.mark.parametrize(("lean", "precession"), [(1.0, 5.0), (0.5, 9.0), (1.3, -4.0)])
def test_a_coin_in_steady_precession_keeps_its_lean(lean, precession):
    """Steady motion of a rolling disk; `lean` is the angle between its axis and the vertical."""
    radius, mass = 0.25, 1.5
    A, C = mass * radius**2 / 4, mass * radius**2 / 2
    s, c = math.sin(lean), math.cos(lean)
    # torque of the floor about the center = precession x angular momentum, with rolling contact
    spin = (A * precession**2 * s * c - mass * radius * GRAVITY * c) / (
        precession * s * (C + mass * radius**2)
    )
    model = body_on(FLOOR, mass, (A, A, C), (0, 0, -GRAVITY))
    axis, uphill, level = np.array([0, -s, c]), np.array([0, c, s]), np.array([1.0, 0, 0])
    states = at_rest(radius * uphill, (math.cos(lean / 2), math.sin(lean / 2), 0, 0))
    R = kernels.rotation_matrix(states[0, 3:7])
    np.testing.assert_allclose(R[:, 2], axis, atol=1e-15)
    states[0, 7:10] = -radius * spin * level
    states[0, 10:13] = R.T @ (precession * s * uphill + spin * axis)
    patch = patch_of([(0, 1)], [(0, 0, 0)], [(0, 0, 1)], [(RIM, FACE)], [[axis, (0, 0, 0)]], [(radius, 0)])
    result = course(model, patch, states, 5.0, 1.0)
    assert result.end is None
    for time, state in zip(result.time, result.state, strict=True):
        R = kernels.rotation_matrix(state[3:7])
        turned = precession * time
        np.testing.assert_allclose(R[:, 2], [s * math.sin(turned), -s * math.cos(turned), c], atol=1e-10)
        assert state[2] == pytest.approx(radius * s, abs=1e-11)
    assert np.ptp(result.energy) < 1e-10 * abs(result.energy[0])
    assert result.drift < 1e-11


def test_a_rod_rests_across_a_fixed_rod():
    model = body_on(PEG, 1.0, (0.08, 0.08, 0.001), (0, 0, -GRAVITY))
    states = at_rest((0, 0, 0.15))
    patch = patch_of(
        [(0, 1)], [(0, 0, 0.1)], [(0, 0, 1)], [(EDGE, EDGE)], [[(1, 0, 0), (0, 1, 0)]], [(0.05, 0.1)]
    )
    result = course(model, patch, states, 0.5, 0.2)
    assert result.end is None
    np.testing.assert_allclose(result.state[-1], states[0], atol=1e-14)


def test_a_plank_rocks_on_a_round_peg():
    """Without slip, omega^2 = g (R - h) / (k^2 + h^2) for small swings, from the way that the contact rolls."""
    radius, height, width, gyration = 0.4, 0.1, 0.2, 0.3
    model = body_on(PEG, 2.0, (0.1, 2.0 * gyration**2, 0.1), (0, 0, -GRAVITY))
    states = at_rest((0, 0, height))
    patch = patch_of(
        [(0, 1)] * 2, [(0, width, 0), (0, -width, 0)], [(0, 0, 1)] * 2, [(EDGE, EDGE)] * 2,
        [[(1, 0, 0), (0, 1, 0)]] * 2, [(0, radius)] * 2,
    )  # fmt: skip
    swing = 1e-4
    frequency = math.sqrt(GRAVITY * (radius - height) / (gyration**2 + height**2))
    states[0, 11] = swing * frequency
    states[0, 7] = swing * frequency * height
    result = course(model, patch, states, 1.0, 1.0)
    assert result.end is None
    assert result.time[-1] == pytest.approx(1.0)
    tilt = [2 * state[5] for state in result.state]
    np.testing.assert_allclose(tilt, swing * np.sin(frequency * np.array(result.time)), atol=1e-4 * swing)
    assert np.ptp(result.energy) < 1e-12
    assert result.drift < 1e-11


@pytest.mark.parametrize(("feature", "own"), [(EDGE, 0.1), (EDGE, 0.0), (RIM, 0.1), (POINT, 0.0)])
def test_a_point_slides_off_a_round_body_at_two_thirds(feature, own):
    """Without friction the body leaves where the cosine of the angle has fallen to two thirds."""
    radius, start = 0.5, 0.2
    model = body_on(PEG, 1.0, (0.01, 0.01, 0.01), (0, 0, -GRAVITY))
    outward = np.array([math.sin(start), 0, math.cos(start)])
    states = at_rest((radius + own) * outward)
    states[0, 10:13] = 3.0
    axis = (0, 0, 0) if feature == POINT else (0, 1, 0)
    patch = patch_of(
        [(0, 1)], [radius * outward], [outward], [(POINT, feature)], [[(0, 0, 0), axis]], [(own, radius)]
    )
    result = course(model, patch, states, 0.0, 3.0)
    assert result.end == EventKind.LIFT_OFF
    x, _, z = result.state[-1][:3]
    assert z / math.hypot(x, z) == pytest.approx(2 / 3 * math.cos(start), abs=1e-8)
    assert np.ptp(result.energy) < 1e-11
    assert result.drift < 1e-11


def test_a_cylinder_rolls_over_a_parallel_one():
    """Two contacts, without slip: 3/2 v^2 / 2 of a solid cylinder is what it falls."""
    radius, own, half, mass, start = 0.4, 0.1, 0.3, 2.0, 0.3
    across = mass * (3 * own**2 + (2 * half) ** 2) / 12
    model = body_on(PEG, mass, (across, 0.5 * mass * own**2, across), (0, 0, -GRAVITY))
    outward = np.array([math.sin(start), 0, math.cos(start)])
    ends = [radius * outward + [0, y, 0] for y in (-half, half)]
    patch = patch_of(
        [(0, 1)] * 2, ends, [outward] * 2, [(EDGE, EDGE)] * 2, [[(0, 1, 0), (0, 1, 0)]] * 2,
        [(own, radius)] * 2,
    )  # fmt: skip
    result = course(model, patch, at_rest((radius + own) * outward), 2.0, 0.3)
    assert result.end is None
    x, y, z = result.state[-1][:3]
    speed = math.sqrt(4 / 3 * GRAVITY * ((radius + own) * outward[2] - z))
    assert speed > 0.4
    assert np.linalg.norm(result.state[-1][7:10]) == pytest.approx(speed, rel=1e-11)
    np.testing.assert_allclose(result.state[-1][10:13], [0, speed / own, 0], rtol=1e-10, atol=1e-12)
    assert y == pytest.approx(0.0, abs=1e-13)
    assert math.hypot(x, z) == pytest.approx(radius + own, abs=1e-12)
    assert result.drift < 1e-11


def test_a_coin_rolls_along_a_round_rail():
    """The rim and the rail run in parallel where they touch."""
    radius, mass, tilt = 0.2, 1.5, 0.3
    flat, turning = mass * radius**2 / 4, mass * radius**2 / 2
    model = body_on(
        PEG, mass, (flat, turning, flat), (GRAVITY * math.sin(tilt), 0, -GRAVITY * math.cos(tilt))
    )
    patch = patch_of(
        [(0, 1)], [(0, 0, 0)], [(0, 0, 1)], [(RIM, EDGE)], [[(0, 1, 0), (1, 0, 0)]], [(radius, 0.05)]
    )
    result = course(model, patch, at_rest((0, 0, radius)), 0.8, 1.0, largest=0.1)
    pull = 2 / 3 * GRAVITY * math.sin(tilt)
    assert result.end is None
    np.testing.assert_allclose(result.state[-1][:3], [0.5 * pull, 0, radius], atol=1e-11)
    np.testing.assert_allclose(result.state[-1][7:13], [pull, 0, 0, 0, pull / radius, 0], atol=1e-10)
    assert result.drift < 1e-11


@pytest.mark.parametrize("friction", [0.0, 2.0])
@pytest.mark.parametrize(("first", "second", "is_round"), KINDS)
def test_every_kind_keeps_energy_and_gap(first, second, is_round, friction):
    """A body on a fixed one, sliding without friction or rolling without slip, until it lifts off or slips."""
    gravity = 9.81
    for seed in range(4):
        rng = np.random.default_rng(seed)
        patch = random_patch(rng, first, second, is_round)
        model = body_on(PEG, 2.0, (0.02, 0.03, 0.04), tuple(-gravity * patch.normal[0]))
        states = at_rest(patch.point[0] + 0.3 * patch.normal[0], unit(rng.normal(size=4)))
        R = kernels.rotation_matrix(states[0, 3:7])
        spin = 0.5 * rng.normal(size=3)
        states[0, 10:13] = R.T @ spin
        states[0, 7:10] = np.cross(spin, 0.3 * patch.normal[0])
        result = course(model, patch, states, friction, 0.2)
        assert len(result.time) > 2
        assert np.ptp(result.energy) < 1e-11
        assert result.drift < 1e-11
