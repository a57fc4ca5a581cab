"""Lasting contact that comes to the end of its features: over edges, corners and seams."""

import math

import numpy as np
import pytest
import trimesh

from carom import AnitescuPotra, Body, Box, Capsule, HalfSpace, Material, Mesh, Scene, Simulator, Sphere
from carom.demos.hanging_ring import ring_mesh

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
