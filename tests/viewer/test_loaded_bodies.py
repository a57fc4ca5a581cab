"""Bodies with a centre of mass of their own, and with round edges, are drawn where and as they are."""

import numpy as np
import pytest
import trimesh

import carom
from carom.viewer.gltf import glb
from carom.viewer.picking import pick_body
from carom.viewer.stage import Stage

CENTER = np.array([0.0, 0.3, 0.0])
SHAPES = {
    "ball": carom.Sphere(0.4),
    "box": carom.Box((0.6, 0.5, 0.4)),
    "rounded box": carom.Box((0.6, 0.5, 0.4), radius=0.1),
    "cylinder": carom.Cylinder(0.3, 0.5),
}


@pytest.fixture(params=SHAPES)
def run(request):
    shape, inertia = SHAPES[request.param], 0.1 * np.eye(3)
    scene = carom.Scene(gravity=(0, 0, 0))
    scene.add(
        carom.Body(
            shape, mass=1.0, inertia=inertia, center_of_mass=CENTER, position=(1, 0, 0),
            angular_velocity=(0, 0, np.pi), name="loaded",
        )
    )  # fmt: skip
    scene.add(carom.Body(shape, density=1.0, position=(-3, 0, 0), name="uniform"))
    return carom.Simulator(scene, law=carom.SequentialReflection()).run(1.0)


@pytest.mark.parametrize(("time", "middle"), [(0.0, (1.0, -0.3)), (0.5, (1.3, 0.0)), (1.0, (1.0, 0.3))])
def test_a_loaded_body_is_picked_where_its_shape_is(run, time, middle):
    stage, state = Stage(run), run.sample(time)
    np.testing.assert_allclose(state.shape_position(run.scene)[0, :2], middle, atol=1e-12)
    down = np.array([0.0, 0.0, -1.0])
    assert pick_body(stage, state, np.array([*middle, 5.0]), down) == 0
    # as far on the other side of the centre of mass there is nothing
    beyond = np.array([*middle, 0.0]) + 2.0 * (state.position[0] - np.array([*middle, 0.0]))
    assert pick_body(stage, state, np.array([*beyond[:2], 5.0]), down) is None


def test_glb_holds_the_shape_around_the_centre_of_mass(run):
    content = trimesh.load(trimesh.util.wrap_as_stream(glb(run, np.array([0.0]), fps=10)), file_type="glb")
    shown = {}
    for node in content.graph.nodes_geometry:
        matrix, geometry = content.graph[node]
        name = next(name for name in ("loaded", "uniform") if name in node)
        mesh = content.geometry[geometry].copy()
        mesh.apply_transform(matrix)
        shown[name] = mesh
    moved = shown["loaded"].bounds - shown["uniform"].bounds
    # glTF has its y axis up: (x, y, z) is (x, z, -y) there
    np.testing.assert_allclose(moved, [[4.0, 0.0, 0.3]] * 2, atol=2e-3)
    assert shown["loaded"].extents == pytest.approx(shown["uniform"].extents, abs=4e-3)
