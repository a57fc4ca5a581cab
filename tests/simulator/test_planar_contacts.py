"""Scenes in a plane: contacts behind each other are one, slip cannot turn, stacks of disks fall apart and end."""

import itertools

import numpy as np
import pytest

import carom


def on_a_floor(*bodies, friction=0.4, planar=True):
    material = carom.Material(friction=friction)
    scene = carom.Scene()
    scene.add(carom.Body(carom.HalfSpace((0, 0, 1)), fixed=True, material=material, name="floor"))
    for shape, fields in bodies:
        scene.add(carom.Body(shape, mass=1.0, material=material, **fields))
    if planar:
        scene.planar()
    return scene


def pieces(trajectory):
    """The most pieces of time that a body's motion has."""
    return max(len(motion.start) for motion in trajectory.motions)


def disk_stack(levels, shape, friction=0.3):
    """Disks of radius 0.1 m in rows, each row on the next; the one on top comes down at 3 m/s."""
    radius = 0.1
    lying = {"orientation": (np.sqrt(0.5), np.sqrt(0.5), 0.0, 0.0)}
    bodies = []
    for level in range(levels):
        for k in range(levels - level):
            x, z = (2 * k - (levels - level - 1)) * radius, radius * (1 + level * np.sqrt(3))
            speed = -3.0 if level == levels - 1 else 0.0
            bodies.append((shape, {"position": (x, 0, z), "velocity": (0, 0, speed), **lying}))
    return on_a_floor(*bodies, friction=friction)


BALL, DISK = carom.Sphere(0.1), carom.Cylinder(0.1, 0.05)


def test_contacts_behind_each_other_are_one():
    """A box that lands flat has two corners in the plane, and a stack of three disks five contacts."""
    box = carom.Box((0.4, 0.2, 0.2))
    falling = on_a_floor((box, {"position": (0, 0, 0.11), "velocity": (0, 0, -1)}))
    assert carom.Simulator(falling, carom.AnitescuPotra()).run(0.1).events[0].problem.contact_count == 2
    stack = disk_stack(2, DISK)
    assert carom.Simulator(stack, carom.AnitescuPotra()).run(0.1).events[0].problem.contact_count == 5


def test_a_tilted_box_strikes_with_one_corner_of_the_plane_then_the_other():
    box = carom.Box((0.4, 0.2, 0.2))
    turned = {"position": (0, 0, 0.2), "orientation": (np.cos(0.05), 0, np.sin(0.05), 0)}
    trajectory = carom.Simulator(on_a_floor((box, turned)), carom.AnitescuPotra()).run(2.0)
    impacts = [event for event in trajectory.events if event.kind == "impact"]
    assert impacts[0].problem.contact_count == 1
    assert max(event.problem.contact_count for event in impacts) == 2
    assert trajectory.status is carom.RunStatus.AT_REST


@pytest.mark.parametrize("planar", [True, False], ids=["in a plane", "in space"])
def test_slip_stops_within_few_steps(planar):
    """A box on four corners slides to a stop in v/(μ g); friction is smooth up to there."""
    box = carom.Box((0.4, 0.2, 0.1))
    sliding = {"position": (0, 0, 0.05), "velocity": (1.0, 0, 0)}
    trajectory = carom.Simulator(on_a_floor((box, sliding), planar=planar), carom.AnitescuPotra()).run(1.0)
    assert trajectory.rest_time == pytest.approx(1.0 / (0.4 * 9.81), abs=1e-9)
    starts = trajectory.motions[1].start
    assert len(starts) <= 8


@pytest.mark.parametrize("shape", [BALL, DISK], ids=["balls", "disks"])
@pytest.mark.parametrize("seed", range(4))
def test_a_stack_falls_apart_to_an_end(shape, seed):
    """Bounces end where they have become small, not before; a pair that only passes impacts on does not bounce."""
    trajectory = carom.Simulator(disk_stack(2, shape), carom.SetValuedRouth(), seed=seed).run(0.9)
    assert trajectory.status in (carom.RunStatus.AT_REST, carom.RunStatus.REACHED_END), trajectory.message
    assert len(trajectory.events) < 300
    assert pieces(trajectory) < 500
    impacts = [event for event in trajectory.events if event.kind == "impact"]
    for before, event in itertools.pairwise(impacts):
        if event.note:
            height = -event.problem.normal_velocity.min() * (event.time - before.time) / 8
            assert height <= 2e-9  # twice 1e-8 of the radius: of the bounces before


@pytest.mark.parametrize("resistance", [0.0, 0.001], ids=["free to roll", "rolling resisted"])
@pytest.mark.parametrize("shape", [BALL, DISK], ids=["balls", "disks"])
@pytest.mark.parametrize("seed", range(3))
def test_rounding_across_the_plane_is_no_slip(shape, resistance, seed):
    """Spins that a plane across no axis forbids are 1e-14 rad/s by rounding: what rolls does not slip by them, else
    all friction acts across the plane and forces in it change a million times a second."""
    tilt, angle = 1 / np.sqrt(2), 0.3 + seed
    cosine, sine = np.cos(angle), np.sin(angle)
    along, across = np.array([cosine, sine, 0.0]), np.array([-sine, cosine, 0.0])
    half, other = tilt * np.cos(angle / 2), tilt * np.sin(angle / 2)
    lying = (half, half, other, other)  # turned by 90° about x, then by the angle about z
    material = carom.Material(friction=0.3, rolling_friction=resistance)
    scene = carom.Scene()
    scene.add(carom.Body(carom.HalfSpace((0, 0, 1)), fixed=True, material=material, name="floor"))
    for x, z, speed in ((-0.1, 0.1, 0.0), (0.1, 0.1, 0.0), (0.0, 0.1 * (1 + np.sqrt(3)), -3.0)):
        place = {"position": x * along + (0, 0, z), "orientation": lying, "velocity": (0, 0, speed)}
        scene.add(carom.Body(shape, mass=1.0, material=material, **place))
    scene.planar(across)
    trajectory = carom.Simulator(scene, carom.SetValuedRouth(), seed=seed).run(0.9)
    assert trajectory.status in (carom.RunStatus.AT_REST, carom.RunStatus.REACHED_END), trajectory.message
    assert pieces(trajectory) < 1000


@pytest.mark.parametrize("seed", range(4))
def test_six_disks_fall_apart_to_an_end(seed):
    """Micro-impacts beside fast slip are met as well as the fastest velocity allows."""
    trajectory = carom.Simulator(disk_stack(3, BALL), carom.SetValuedRouth(), seed=seed + 1).run(0.4)
    assert trajectory.status is carom.RunStatus.REACHED_END, trajectory.message
    ledger = trajectory.ledger(np.linspace(0.0, 0.4, 41))
    assert np.abs(ledger.residual).max() < 1e-8
    assert trajectory.largest_overlap() < 1e-9
