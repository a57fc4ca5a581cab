"""Cylinders in lasting contact with a triangle mesh that meet it elsewhere too: half-spaces are the reference."""

import math

import numpy as np
import pytest
import trimesh
from scipy.spatial.transform import Rotation

import carom

MATERIAL = carom.Material(friction=0.4, restitution=0.3)
OUTLINE = np.array([(-2.0, -1.0), (2.0, -1.0), (2.0, 1.0), (1.0, 1.0), (1.0, 0.0), (-2.0, 0.0)])  # x and z


def floor_and_wall():
    """A closed prism whose top is the plane z = 0 up to x = 1, and a wall there."""
    count = len(OUTLINE)
    points = np.concatenate([np.insert(OUTLINE, 1, y, axis=1) for y in (-2.0, 2.0)])
    caps = [(0, 1, 4), (0, 4, 5), (1, 2, 4), (2, 3, 4)]
    faces = [*caps, *[tuple(k + count for k in reversed(cap)) for cap in caps]]
    for k in range(count):
        m = (k + 1) % count
        faces += [(m, k, k + count), (m, k + count, m + count)]
    made = trimesh.Trimesh(points, np.array(faces))
    made.fix_normals()
    return made


def run_on(mesh, cylinder, until, **motion):
    scene = carom.Scene()
    if mesh:
        made = floor_and_wall()
        shape = carom.Mesh((np.array(made.vertices), np.array(made.faces)))
        scene.add(carom.Body(shape, fixed=True, material=MATERIAL, position=made.center_mass))
    else:
        scene.add(carom.Body(carom.HalfSpace((0, 0, 1)), fixed=True, material=MATERIAL))
        scene.add(carom.Body(carom.HalfSpace((-1, 0, 0), -1.0), fixed=True, material=MATERIAL))
    scene.add(carom.Body(cylinder, mass=1.0, material=MATERIAL, **motion))
    run = carom.Simulator(scene, carom.StrongeCoulomb()).run(until)
    assert run.status.value in ("reached_end", "at_rest"), run.message
    assert run.largest_overlap(200) <= 1e-10
    return run


TILT = 0.3
YAWED = tuple(np.roll((Rotation.from_euler("z", 0.4) * Rotation.from_euler("x", np.pi / 2)).as_quat(), 1))
MOTIONS = {
    "rolls into the wall askew": (
        carom.Cylinder(0.1, 0.3),
        {
            "position": (0, 0, 0.1),
            "orientation": YAWED,
            "velocity": (2, 0, 0),
            "angular_velocity": (0, 12, 0),
        },
    ),
    "slides on its end": (carom.Cylinder(0.1, 0.3), {"position": (0, 0, 0.15), "velocity": (2.2, 0, 0)}),
    "wobbles flat": (
        carom.Cylinder(0.2, 0.05),
        {
            "position": (0, 0, 0.2 * math.sin(TILT) + 0.025 * math.cos(TILT)),
            "orientation": (math.cos(0.5 * TILT), math.sin(0.5 * TILT), 0.0, 0.0),
            "angular_velocity": (0.3, 0.0, 2.0),
        },
    ),
}


@pytest.mark.parametrize("name", MOTIONS)
def test_a_cylinder_on_a_mesh_moves_as_on_half_spaces(name):
    """Saved: while one contact lasted no other was looked for: rims came down, and walls were met, unseen."""
    cylinder, motion = MOTIONS[name]
    one, other = (run_on(mesh, cylinder, 1.0, **motion) for mesh in (True, False))
    first = min(run.event_times[0] for run in (one, other))
    assert one.event_times[0] == pytest.approx(other.event_times[0], abs=1e-11)
    for time in np.linspace(0.0, min(first + 0.05, one.end_time, other.end_time), 50):
        assert np.allclose(one.sample(time).position[-1], other.sample(time).position[-1], atol=1e-9)
        assert np.allclose(one.sample(time).orientation[-1], other.sample(time).orientation[-1], atol=1e-8)
