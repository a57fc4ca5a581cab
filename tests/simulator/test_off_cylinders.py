"""Plates that slide along a fixed log and over its end: they are held by its wall, then by its rim, and tip."""

import numpy as np
import pytest
import trimesh

import carom

RADIUS, HALF, SPEED = 0.1, 0.2, 1.0
PLATE = (0.2, 0.12, 0.06)


def log_and_plate(shape, friction, yaw):
    material = carom.Material(friction=friction, restitution=0.1)
    scene = carom.Scene()
    lying = np.array([np.sqrt(0.5), 0.0, np.sqrt(0.5), 0.0])
    log = carom.Cylinder(RADIUS, 2.0 * HALF)
    scene.add(carom.Body(log, fixed=True, orientation=lying, material=material))
    scene.add(
        carom.Body(
            shape,
            mass=1.0,
            position=(0.0, 0.0, RADIUS + 0.5 * PLATE[2]),
            orientation=(np.cos(0.5 * yaw), 0.0, 0.0, np.sin(0.5 * yaw)),
            velocity=(SPEED, 0.0, 0.0),
            material=material,
        )
    )
    return scene


def run_of(shape, friction, yaw, until=0.5):
    run = carom.Simulator(log_and_plate(shape, friction, yaw), carom.StrongeCoulomb()).run(until)
    assert run.status is carom.RunStatus.REACHED_END, run.message
    assert run.largest_overlap(200) <= 1e-9 * PLATE[0]
    return run


def shapes():
    box = trimesh.creation.box(PLATE)
    vertices, triangles = np.array(box.vertices), np.array(box.faces)
    return {
        "box": carom.Box(PLATE),
        "hull": carom.ConvexMesh(vertices),
        "mesh": carom.Mesh((vertices, triangles)),
    }


@pytest.mark.parametrize("yaw", [0.0, 0.4])
@pytest.mark.parametrize("friction", [0.0, 0.2])
def test_a_plate_tips_over_the_end_of_a_log(friction, yaw):
    """Friction moves the centre of pressure ahead by friction times height; when that passes the end the plate
    tips, whatever it is made of."""
    pull, way = friction * 9.81, HALF - friction * 0.5 * PLATE[2]
    passes = way / SPEED if friction == 0.0 else (SPEED - np.sqrt(SPEED**2 - 2.0 * pull * way)) / pull
    level = RADIUS + 0.5 * PLATE[2]
    runs = {name: run_of(shape, friction, yaw, passes + 0.15) for name, shape in shapes().items()}
    for run in runs.values():
        before, after = run.sample(passes - 0.005), run.sample(passes + 0.05)
        assert abs(before.position[1, 2] - level) <= 1e-9
        assert before.position[1, 0] < HALF
        assert after.position[1, 2] < level - 1e-4
        assert abs(after.orientation[1, 2]) > 1e-2
    times = np.linspace(0.0, passes + 0.15, 60)
    one, *others = (run.sample(times).position[:, 1] for run in runs.values())
    for other in others:
        assert np.abs(one - other).max() < 1e-5
