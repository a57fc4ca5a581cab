"""Slips that people make, each with the one sentence that it gets."""

import re

import numpy as np
import pytest

import carom
from carom.command_line import main


def scene_with_ball():
    scene = carom.Scene()
    scene.add(carom.Body(carom.Sphere(0.1), mass=1.0, name="ball", position=(0, 0, 1)))
    return scene


SCENE = scene_with_ball()
BALL = SCENE["ball"]
SIMULATOR = carom.Simulator(SCENE, carom.AnitescuPotra())
RUN = carom.Simulator(SCENE, carom.AnitescuPotra()).run(0.1)
ORIENTATION = (
    "orientation: expected a unit quaternion (w, x, y, z), a scipy Rotation, or one that axis_angle or euler_angles "
    "make, got numbers of shape "
)
COLOR = "color: expected a name, '#rrggbb', or red, green and blue from 0 to 1, got "
SLIPS = {
    "carom.Simulator(SCENE, carom.StrongeCoulomb)": "law: expected an instance such as StrongeCoulomb(), got the class StrongeCoulomb",
    "carom.Simulator(SCENE, 'stronge-coulomb')": "law: expected an impact law such as SequentialReflection(), got 'stronge-coulomb': did you mean StrongeCoulomb()?",
    "carom.Simulator(SCENE, 'Stronge Coulomb')": "law: expected an impact law such as SequentialReflection(), got 'Stronge Coulomb': did you mean StrongeCoulomb()?",
    "carom.Simulator(SCENE)": "Simulator: expected law, such as law=carom.StrongeCoulomb()",
    "carom.Simulator(SCENE, carom.AnitescuPotra(), dt=0.01)": "Simulator: no argument 'dt': none is needed, since impacts are found exactly in time",
    "carom.Simulator(SCENE, solver=carom.AnitescuPotra())": "Simulator: no argument 'solver': did you mean law?",
    "carom.Box(1, 1, 1)": "Box: expected lengths as one triple, Box((1, 1, 1))",
    "carom.Box(half_extents=(1, 1, 1))": "Box: no argument 'half_extents': did you mean lengths, which are whole: twice the half extents?",
    "carom.Ellipsoid(1, 2, 3)": "Ellipsoid: expected semi_axes as one triple, Ellipsoid((1, 2, 3))",
    "carom.Sphere(diameter=1)": "Sphere: no argument 'diameter': did you mean radius, which is half of it?",
    "carom.Cylinder(0.1, height=2)": "Cylinder: no argument 'height': did you mean length?",
    "carom.HalfSpace()": "HalfSpace: expected normal, such as normal=(0, 0, 1)",
    "carom.Material(mu=0.3)": "Material: no argument 'mu': did you mean friction?",
    "carom.Material(e=0.3)": "Material: no argument 'e': did you mean restitution?",
    "carom.Material(frction=0.3)": "Material: no argument 'frction': did you mean friction?",
    "carom.Drive(speed=3)": "Drive: no argument 'speed': did you mean rate?",
    "carom.Scene(gravity=-9.81)": "gravity: expected a vector (3,), got -9.81 (float): did you mean (0, 0, -9.81)?",
    "carom.Scene(gravity=10)": "gravity: expected a vector (3,), got 10 (int): did you mean (0, 0, -10)?",
    "carom.Scene(g=(0, 0, 1))": "Scene: no argument 'g': did you mean gravity?",
    "carom.Body(carom.Sphere(1), mass=1, pos=(0, 0, 1))": "Body: no argument 'pos': did you mean position?",
    "carom.Body(carom.Sphere(1), density='1000')": "density: expected a number, got '1000' (str): did you mean 1000?",
    "carom.Body(carom.Sphere(1), mass=1, colour='red')": "Body: no argument 'colour': did you mean color?",
    "carom.Body(carom.Sphere(1), mass=1, color='rde')": f"{COLOR}'rde': did you mean 'red'?",
    "carom.Body(carom.Sphere(1), mass=1, color=(255, 0, 0))": "color: expected red, green and blue from 0 to 1, got [255.0, 0.0, 0.0]",
    "carom.Body(carom.Sphere(1), mass=1, orientation=(0, 0, 1))": f"{ORIENTATION}(3,)",
    "carom.Body(carom.Sphere(1), mass=1, orientation=np.eye(3))": f"{ORIENTATION}(3, 3)",
    "carom.Body(carom.Sphere(1), mass=1, orientation=(1, 0, 0, 0.1))": "orientation: expected a unit quaternion (w, x, y, z), got one of length 1.00498756",
    "carom.RevoluteJoint(BALL, (0, 0, 0), (0, 0, 1))": "RevoluteJoint: expected at most 2 arguments without a name, and by name name, collide, limits, restitution, spring, damping, drive, anchor, axis",
    "carom.RevoluteJoint(BALL, point=(0, 0, 0), axis=(0, 0, 1))": "RevoluteJoint: no argument 'point': did you mean anchor?",
    "carom.RevoluteJoint(BALL, anchor=(0, 0, 0), axis=(0, 0, 1), stiffness=5)": "RevoluteJoint: no argument 'stiffness': did you mean spring?",
    "carom.HingeJoint": "carom has no public name 'HingeJoint': did you mean 'RevoluteJoint'?",
    "SCENE.add_joint(carom.SphericalJoint(BALL, base='bal', anchor=(0, 0, 0)))": "base: no body is named 'bal': did you mean 'ball'?",
    "SCENE.add(carom.SphericalJoint(BALL, anchor=(0, 0, 0)))": "body: expected a Body, got SphericalJoint: did you mean add_joint?",
    "SCENE.add_body(BALL)": "Scene has no attribute 'add_body': did you mean 'add'?",
    "SCENE.gravty": "Scene has no attribute 'gravty': did you mean 'gravity'?",
    "SIMULATOR.run_until(1.0)": "Simulator has no attribute 'run_until': did you mean 'run'?",
    "setattr(BALL, 'mass', 3)": "Body.mass cannot be written into: give it when the body is made, Body(shape, mass=...); a run moves no body of the scene",
    "setattr(SIMULATOR.state['ball'], 'velocity', (0, 0, 1))": "BodyState.velocity cannot be written into: write into the arrays of a copy, state = simulator.state.copy(), and set simulator.state = state",
    "SCENE.add_force(carom.Drag)": "force: expected Drag(...) or a function of time and state, got the class Drag",
    "RUN.contact_forces([0.0, 0.1])": "t: expected a number, got [0.0, 0.1] (list)",
    "RUN.joint_forces('0.1')": "t: expected a number, got '0.1' (str): did you mean 0.1?",
    "RUN.contact_impulse(0.0, None)": "end: expected a number, got None (NoneType)",
    "SCENE['bal']": "body: no body is named 'bal': did you mean 'ball'?",
    "RUN['bal']": "body: no body is named 'bal': did you mean 'ball'?",
    "RUN.sample(0.1)['cube']": "body: no body is named 'cube'; known are: ball",
    "SIMULATOR.state['bal']": "body: no body is named 'bal': did you mean 'ball'?",
    "SIMULATOR.run('2')": "until: expected a number, got '2' (str): did you mean 2?",
    "SIMULATOR.run('soon')": "until: expected a number, got 'soon' (str)",
    "SIMULATOR.run()": "run: expected until, such as until=2.0 [s]",
    "SIMULATOR.run(duration=2)": "run: no argument 'duration': did you mean until, which is a time and not how long?",
    "carom.Simulater": "carom has no public name 'Simulater': did you mean 'Simulator'?",
    "carom.ConvexMesh(np.eye(3), scale='0.001')": "scale: expected a number, got '0.001' (str): did you mean 0.001?",
}  # fmt: skip


@pytest.mark.parametrize("slip", SLIPS)
def test_a_slip_gets_its_sentence(slip):
    with pytest.raises((TypeError, ValueError, AttributeError)) as raised:
        eval(
            slip, {"carom": carom, "np": np, "SCENE": SCENE, "BALL": BALL, "RUN": RUN, "SIMULATOR": SIMULATOR}
        )
    assert str(raised.value) == SLIPS[slip]
    assert "\n" not in SLIPS[slip]


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ("viewer", "no command 'viewer': did you mean 'view'?"),
        ("dorp", "no command 'dorp': did you mean 'drop'?"),
    ],
)
def test_a_command_that_there_is_not(given, sentence, capsys):
    assert main([given]) == 2
    assert re.fullmatch(rf"carom: {re.escape(sentence)} \(see .*\)\n", capsys.readouterr().err)


def test_what_a_constructor_itself_finds_wrong_stays_as_it_is():
    with pytest.raises(TypeError, match="shape: expected a shape such as Sphere"):
        carom.Body("ball", mass=1.0)


def test_a_mesh_in_millimetres_is_remarked_on():
    corners = 30.0 * np.array([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)])
    for scale, remarks in ((1.0, 1), (0.001, 0)):
        scene = carom.Scene()
        scene.add(carom.Body(carom.ConvexMesh(corners, scale=scale), density=1000.0, name="part"))
        run = carom.Simulator(scene, carom.AnitescuPotra()).run(0.01)
        assert len(run.remarks) == remarks
        assert all("'part' is 4" in remark and "pass scale=0.001" in remark for remark in run.remarks)
