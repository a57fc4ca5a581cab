"""The shipped mesh and the dropped scene; the demos' own checks run through the command line."""

import numpy as np
import pytest

from carom.demos import demo_by_name, drop_scene, load_dropped_mesh, shipped_mesh
from carom.demos.bouncing_ball import rest_time
from carom.demos.chipped_block import write_stl


def test_shipped_mesh_is_what_its_generator_writes(tmp_path):
    assert write_stl(tmp_path / "again.stl").read_bytes() == shipped_mesh().read_bytes()


def test_closed_form_of_the_time_of_rest():
    assert rest_time() == pytest.approx(4.063712768871579, rel=1e-15)


def test_unknown_demo_lists_the_known():
    with pytest.raises(ValueError, match=r"bouncing-ball, .*newtons-cradle, .*rocking-block"):
        demo_by_name("nothing")


def test_dropped_meshes_start_apart_at_the_asked_height():
    mesh = load_dropped_mesh(shipped_mesh())
    assert mesh.diameter == pytest.approx(0.2)
    scene = drop_scene([mesh] * 3, height=0.5, seed=4)
    bodies = scene.bodies[1:]
    assert [body.name for body in bodies] == ["chipped_block", "chipped_block-2", "chipped_block-3"]
    for body in bodies:
        w, x, y, z = body.orientation
        up = np.array([2 * (x * z - w * y), 2 * (y * z + w * x), w * w - x * x - y * y + z * z])
        assert body.position[2] + (mesh.shape.vertices @ up).min() == pytest.approx(0.5)
    assert np.diff([body.position[0] for body in bodies]).min() > mesh.diameter


def test_scale_keeps_the_units_of_the_file():
    mesh = load_dropped_mesh(shipped_mesh(), 1.0)
    assert np.ptp(mesh.shape.vertices, axis=0) == pytest.approx([60.0, 80.0, 100.0])
