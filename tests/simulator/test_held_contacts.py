"""Lasting contact that comes to the end of its features: over edges, corners and seams."""

import math

import numpy as np
import pytest
import trimesh
from scipy.spatial.transform import Rotation

from carom import (
    AnitescuPotra,
    Body,
    Box,
    Capsule,
    HalfSpace,
    Material,
    MaximumDissipation,
    Mesh,
    Scene,
    Simulator,
    Sphere,
)
from carom.demos.hanging_ring import ring_mesh
from carom.simulator.collision.collision_shape import collision_shape
from carom.simulator.collision.convex_contacts_kernels import pair_contacts
from carom.simulator.collision.held_kernels import swing_across

GRAVITY = 9.81


def table(mesh):
    lengths = (1.0, 1.0, 0.2)
    if not mesh:
        return Box(lengths)
    made = trimesh.creation.box(lengths).subdivide().subdivide()
    return Mesh((made.vertices, made.faces))


@pytest.mark.parametrize("mesh", [False, True], ids=["box", "mesh with seams"])
@pytest.mark.parametrize("speed", [0.1, 0.3])
def test_ball_slides_over_the_edge_of_a_table(mesh, speed):
    """Without friction it turns about the edge and leaves where m g cos a = m v² / r, by energy
    cos a = (2 + v0² / (g r)) / 3; two balls do so at once."""
    radius = 0.1
    smooth = Material(friction=0.0)
    scene = Scene(gravity=(0.0, 0.0, -GRAVITY))
    scene.add(Body(table(mesh), fixed=True, material=smooth, position=(0.0, 0.0, 0.5)))
    for x, y, v in ((0.45, 0.123, speed), (-0.43, -0.2, -speed)):
        scene.add(
            Body(
                Sphere(radius),
                density=1000.0,
                material=smooth,
                position=(x, y, 0.6 + radius),
                velocity=(v, 0, 0),
            )
        )
    trajectory = Simulator(scene, law=AnitescuPotra()).run(1.0)
    lifts = [event for event in trajectory.events if event.kind == "lift_off"]
    assert [event.kind for event in trajectory.events] == ["lift_off", "lift_off"]
    for event in lifts:
        ball = int(event.contacts.bodies[0].max())
        center = event.before.position[ball]
        cosine = (center[2] - 0.6) / radius
        assert math.hypot(abs(center[0]) - 0.5, center[2] - 0.6) == pytest.approx(radius, abs=1e-9)
        assert cosine == pytest.approx((2.0 + speed**2 / (GRAVITY * radius)) / 3.0, abs=1e-7)
    assert trajectory.largest_overlap() < 1e-9
    assert trajectory.energy(1.0) == pytest.approx(trajectory.energy(0.0), rel=1e-12)


def test_bodies_nest_on_a_ring_without_entering_it():
    """Saved case: a ball that rolled from an edge of the ring onto a face was held on the edge and sank in."""
    random = np.random.default_rng(2)
    scene = Scene(gravity=(0.0, 0.0, -GRAVITY))
    scene.add(Body(HalfSpace((0, 0, 1)), fixed=True))
    height = 0.12
    for shape in (Mesh(ring_mesh()), Sphere(0.05), Capsule(0.03, 0.1)):
        orientation = random.normal(size=4)
        orientation /= np.linalg.norm(orientation)
        place = (*(random.normal(size=2) * 0.02), height)
        scene.add(Body(shape, density=1000.0, position=place, orientation=orientation))
        height += 0.22
    trajectory = Simulator(scene, law=AnitescuPotra()).run(0.35)
    assert len(trajectory.events) > 20
    assert trajectory.largest_overlap() < 1e-9
    energy = [trajectory.energy(t) for t in np.linspace(0.0, trajectory.end_time, 100)]
    assert np.diff(energy).max() < 1e-9 * energy[0]


def test_a_box_slides_along_a_wall_that_nothing_presses_it_against():
    """The search for when it meets the wall goes on in tiny steps: it may not end before something else happens.
    (Saved: it gave up, and so did the run; also with spin below what the last terms of its series hold.)"""
    material = Material(0.4, 0.0)
    for spin in (2.0, 3e-7):
        scene = Scene(gravity=(0.0, 0.0, -GRAVITY))
        scene.add(Body(HalfSpace((0, 0, 1)), fixed=True, material=material))
        scene.add(Body(HalfSpace((1, 0, 0)), fixed=True, material=material))
        for y in (0.0, 1.0):
            scene.add(
                Body(
                    Box((0.06, 0.09, 0.1)),
                    density=1000.0,
                    material=material,
                    position=(0.03, y, 0.4),
                    velocity=(0.0, 0.1, 0.0),
                    angular_velocity=(spin, 0.0, 8e-11),
                )
            )
        trajectory = Simulator(scene, MaximumDissipation()).run(1.0)
        assert trajectory.status.value in ("reached_end", "at_rest"), trajectory.message
        assert trajectory.largest_overlap(100) <= 1e-10


@pytest.mark.parametrize("seed", range(20))
def test_an_axis_across_two_edges_swings_no_more_than_its_bound(seed):
    """Against differences of the axis of two edges that turn at constant rates. (Saved: without a bound an edge
    came 3e-8 m into another before it was found.)"""
    random = np.random.default_rng(seed)
    edges, spins = random.normal(size=(2, 3)), 10.0 ** random.uniform(-1, 2) * random.normal(size=(2, 3))
    edges /= np.linalg.norm(edges, axis=1)[:, None]

    def axis(t):
        a, b = (Rotation.from_rotvec(t * spin).apply(edge) for spin, edge in zip(spins, edges, strict=True))
        across = np.cross(a, b)
        return across / np.linalg.norm(across)

    turns = (spins**2).sum(axis=1)
    turning, swing, longest = swing_across(*edges[0], *edges[1], *turns, 1.0)
    h = 1e-4 / np.sqrt(turns.max())
    for t in np.linspace(h, longest, 20):
        before, now, after = axis(t - h), axis(t), axis(t + h)
        assert np.linalg.norm(after - before) / (2.0 * h) <= turning * (1.0 + 1e-6)
        assert np.linalg.norm(after - 2.0 * now + before) / h**2 <= swing * (1.0 + 1e-4)


def test_edges_that_cross_at_a_distance_have_gaps_of_their_own():
    """A plank across another, tilted about both its axes: each crossing is as far as its two edges are apart."""
    long, wide = collision_shape(Box((1.0, 0.2, 0.1))), collision_shape(Box((0.2, 1.0, 0.1)))
    tilt, lift = np.array([2e-5, 3e-5, 0.0]), 2e-5
    q = Rotation.from_rotvec(tilt).as_quat()
    upper = np.concatenate([[0.0, 0.0, 0.1 + lift], q[[3, 0, 1, 2]], np.zeros(6)])
    lower = np.concatenate([np.zeros(3), [1.0, 0.0, 0.0, 0.0], np.zeros(6)])
    point, _, gap, feature, *_ = pair_contacts(wide, upper, long, lower, 1.0, 1e-3, 1e-9)
    assert len(gap) == 4
    assert (feature == 1).all()
    assert np.abs(point[:, :2]) == pytest.approx(0.1, abs=1e-5)
    # the bottom of the upper plank over a point beneath it
    height = lift + tilt[0] * point[:, 1] - tilt[1] * point[:, 0]
    assert gap == pytest.approx(height, abs=1e-8)
    assert np.ptp(gap) > 5e-6
