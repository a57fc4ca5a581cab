"""Hostile values for every argument of what a scene is made of and a run is told, and scenes that nobody means."""

import inspect
import time
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

import carom

from .harness import HOSTILE_VALUES, LONGEST, assert_ours, few, go_on, silence, within

SMALL = st.floats(-2.0, 2.0)
SIZE = st.floats(1e-3, 2.0)


def ball(**how: Any) -> carom.Body:
    """A body that can move."""
    return carom.Body(carom.Sphere(0.1), **({"density": 1000.0, "position": (0, 0, 1)} | how))


def floor_and_ball() -> carom.Scene:
    """The least that a run needs."""
    scene = carom.Scene()
    scene.add(carom.Body(carom.HalfSpace((0, 0, 1)), fixed=True, name="floor"))
    scene.add(ball(name="ball"))
    return scene


def simulator(**how: Any) -> carom.Simulator:
    """Of that."""
    return carom.Simulator(floor_and_ball(), carom.AnitescuPotra(), **how)


@cache
def fall() -> carom.Trajectory:
    """A run of that."""
    return simulator().run(0.1)


def state_with(**how: Any) -> None:
    """Set a state in which a field is another."""
    falling = simulator()
    falling.state = replace(falling.state.copy(), **how)


def jointed(joint: type, **how: Any) -> None:
    """A joint in a scene, and a short run."""
    scene = floor_and_ball()
    scene.add_joint(joint(how.pop("body", "ball"), how.pop("base", None), **how))
    carom.Simulator(scene, carom.StrongeCoulomb(), event_limit=50).run(0.01)


def in_scene(act: Any) -> None:
    """Do something with a scene, then let it run a little."""
    scene = floor_and_ball()
    act(scene)
    carom.Simulator(scene, carom.StrongeCoulomb(), event_limit=50).run(0.01)


PLACE, AXIS = (0.0, 0.0, 2.0), (0.0, 1.0, 0.0)
TRIANGLES = ([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)], [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)])
LAWS = (
    *("AnitescuPotra", "LiuZhaoBrogliato", "MaximumDissipation", "SequentialLCP", "SequentialReflection"),
    *("SetValuedRouth", "StrongeCoulomb"),
)
CALLS: dict[str, tuple[Any, dict[str, Any]]] = {
    "Sphere": (carom.Sphere, {"radius": 0.1}),
    "Box": (carom.Box, {"lengths": (1, 2, 3)}),
    "Capsule": (carom.Capsule, {"radius": 0.1, "length": 0.2}),
    "Cylinder": (carom.Cylinder, {"radius": 0.1, "length": 0.2}),
    "Ellipsoid": (carom.Ellipsoid, {"semi_axes": (1, 2, 3)}),
    "HalfSpace": (carom.HalfSpace, {"normal": (0, 0, 1), "offset": 0.0}),
    "ConvexMesh": (carom.ConvexMesh, {"vertices": TRIANGLES[0]}),
    "Mesh": (carom.Mesh, {"source": TRIANGLES, "mass_properties": None, "mass_from": None}),
    "MassProperties": (
        carom.MassProperties,
        {"mass": 1.0, "inertia": np.eye(3), "center_of_mass": (0, 0, 0)},
    ),
    "Material": (carom.Material, {"friction": 0.1, "restitution": 0.2}),
    "Body": (
        ball,
        dict.fromkeys(
            (
                "position",
                "velocity",
                "angular_velocity",
                "orientation",
                "mass",
                "inertia",
                "density",
                "material",
                "fixed",
                "name",
                "collision_group",
                "collision_mask",
                "sensor",
            )
        ),
    ),
    "Drag": (carom.Drag, {"linear": 0.1, "quadratic": 0.1, "rotational": 0.1}),
    "Spring": (carom.Spring, {"stiffness": 1.0, "rest": 0.0}),
    "Drive": (carom.Drive, dict.fromkeys(("stiffness", "damping", "target", "rate", "effort", "limit"), 1.0)),
    "Integrator": (
        carom.Integrator,
        {"accuracy": 1e-9, "largest_step": None, "fixed_step": None, "implicit_step": None},
    ),
    "Scene": (carom.Scene, {"gravity": (0, 0, -1)}),
    "planar": (lambda **how: in_scene(lambda scene: scene.planar(**how)), {"normal": AXIS}),
    "add": (lambda **how: in_scene(lambda scene: scene.add(**how)), {"body": None}),
    "add_force": (
        lambda force: in_scene(lambda scene: scene.add_force(force)),
        {"force": carom.Drag(linear=1)},
    ),
    "drag of": (lambda body: in_scene(lambda scene: scene.add_force(carom.Drag(body))), {"body": "ball"}),
    "set_pair_material": (
        lambda **how: in_scene(lambda scene: scene.set_pair_material(**how)),
        {"first": 0, "second": 1, "material": carom.Material()},
    ),
    "disable_collision": (
        lambda **how: in_scene(lambda scene: scene.disable_collision(**how)),
        {"first": 0, "second": 1},
    ),
    "resolve_overlaps": (lambda **how: floor_and_ball().resolve_overlaps(**how), {"clearance": 0.0}),
    "RevoluteJoint": (
        lambda **how: jointed(carom.RevoluteJoint, **how),
        {
            "body": "ball",
            "base": None,
            "anchor": PLACE,
            "axis": AXIS,
            "limits": (-1, 1),
            "restitution": 0.5,
            "spring": None,
            "damping": 0.1,
            "drive": None,
            "name": "hinge",
            "collide": False,
        },
    ),
    "PrismaticJoint": (lambda **how: jointed(carom.PrismaticJoint, **how), {"axis": AXIS, "limits": (-1, 1)}),
    "DistanceJoint": (
        lambda **how: jointed(carom.DistanceJoint, **how),
        {"anchor": (0, 0, 1), "base_anchor": PLACE, "limits": (0, 1)},
    ),
    "SphericalJoint": (lambda **how: jointed(carom.SphericalJoint, **how), {"anchor": PLACE}),
    "UniversalJoint": (
        lambda **how: jointed(carom.UniversalJoint, **how),
        {"anchor": PLACE, "axis": AXIS, "base_axis": (1, 0, 0)},
    ),
    "PlanarJoint": (lambda **how: jointed(carom.PlanarJoint, **how), {"normal": AXIS}),
    "Simulator": (
        carom.Simulator,
        {
            "scene": floor_and_ball(),
            "law": carom.AnitescuPotra(),
            "seed": 0,
            "event_limit": 5,
            "integrator": None,
        },
    ),
    "record": (simulator, {"record": None}),
    "run": (lambda **how: simulator(event_limit=20).run(**how), {"until": 0.1}),
    "step": (lambda **how: simulator(event_limit=20).step(**how), {"duration": 0.1}),
    "branches": (
        lambda **how: simulator(event_limit=20).branches(**how),
        {"n": 2, "seed": 0, "until": 0.1, "tolerance": 0.0},
    ),
    "add_event": (
        lambda **how: simulator().add_event(**how),
        {"function": lambda t, s: 1.0, "direction": 0, "terminal": False, "name": "x", "resolution": 0.1},
    ),
    "on_event": (lambda **how: simulator().on_event(**how), {"callback": print}),
    "joint_state": (lambda **how: simulator().joint_state(**how), {"joint": "hinge"}),
    "set_drive": (lambda **how: simulator().set_drive(**how), {"joint": "hinge", "drive": carom.Drive()}),
    "state": (lambda state: setattr(simulator(), "state", state), {"state": None}),
    "state with": (
        state_with,
        dict.fromkeys(("position", "orientation", "velocity", "angular_velocity"), None),
    ),
    "sample": (lambda **how: fall().sample(**how), {"t": 0.05, "side": "left"}),
    "energy": (lambda **how: fall().energy(**how), {"t": 0.05, "side": "left"}),
    "ledger": (lambda **how: fall().ledger(**how), {"t": 0.05, "side": "left"}),
    "overlap_at": (lambda t: fall().overlap_at(t), {"t": 0.05}),
    "largest_overlap": (lambda **how: fall().largest_overlap(**how), {"samples": 5, "looks": 9}),
    "contact_forces": (lambda **how: fall().contact_forces(**how), {"t": 0.05, "side": "left"}),
    "joint_forces": (lambda **how: fall().joint_forces(**how), {"t": 0.05, "side": "left"}),
    "contact_impulse": (lambda **how: fall().contact_impulse(**how), {"start": 0.05, "end": 0.06}),
    "over_impulse.s": (lambda **how: fall().over_impulse().s(**how), {"t": 0.05, "side": "left"}),
    "over_impulse.time": (lambda s: fall().over_impulse().time(s), {"s": 0.05}),
    "over_impulse.sample": (lambda s: fall().over_impulse().sample(s), {"s": 0.05}),
    "resume": (
        lambda **how: carom.Simulator.resume(simulator().run(1.0), **how),
        {"event": 0, "law": None, "event_limit": 9},
    ),
    "signed_distance": (carom.signed_distance, {"first": ball(), "second": ball(position=(0, 0, 2))}),
    "time_of_impact": (
        carom.time_of_impact,
        {
            "first": ball(velocity=(0, 0, 1)),
            "second": ball(position=(0, 0, 2)),
            "until": 2.0,
            "gravity": (0, 0, 0),
        },
    ),
    "contact_manifold": (
        carom.contact_manifold,
        {"first": ball(), "second": ball(position=(0, 0, 1.2)), "tolerance": 1e-6},
    ),
    "contact_problem": (
        carom.contact_problem,
        {
            "first": ball(),
            "second": ball(position=(0, 0, 1.2)),
            "point": (0, 0, 1.1),
            "normal": (0, 0, -1),
            "friction": 0.1,
            "restitution": 0.1,
        },
    ),
    "verify": (carom.verify, {"recording": None}),
    "load": (carom.Trajectory.load, {"path": None}),
    "load scene": (carom.Scene.load, {"path": "x.json", "size_limit": 5}),
    "save scene": (lambda **how: floor_and_ball().save(**how), {"path": "x.json"}),
    "load_mesh": (carom.bodies.load_mesh, {"path": "x.stl", "size_limit": 5}),
    **{
        law: (getattr(carom, law), {name: field.default for name, field in fields.items()})
        for law in (
            "AnitescuPotra",
            "CompliantContact",
            "LiuZhaoBrogliato",
            "MaximumDissipation",
            "SequentialLCP",
            "SequentialReflection",
            "SetValuedRouth",
            "StrongeCoulomb",
        )
        for fields in [inspect.signature(getattr(carom, law)).parameters]
    },
}
FILES = ("record", "load", "load scene", "save scene", "load_mesh", "verify", "ConvexMesh", "Mesh")
"""What takes names of files, for which the system has words of its own."""


def call_with(name: str, changed: str, value: Any) -> None:
    """Call something with one argument that is another: it works, or says in carom's words what is wrong."""
    function, given = CALLS[name]
    if changed in ("scene", "law") and name == "Simulator" and callable(getattr(value, "resolve", None)):
        return
    arguments = {key: kept for key, kept in given.items() if kept is not None} | {changed: value}
    with within(LONGEST), silence():
        try:
            function(**arguments)
        except OSError as error:
            if name not in FILES:
                raise AssertionError(f"{name}({changed}={value!r})") from error
        except (ValueError, TypeError) as error:
            try:
                assert_ours(error)
            except AssertionError as raw:
                raise AssertionError(f"{name}({changed}={str(value)[:60]}): {raw}") from error
        except Exception as error:
            raise AssertionError(
                f"{name}({changed}={str(value)[:60]}): {type(error).__name__}: {error}"
            ) from error


def test_there_are_hostile_values_for_all_that_is_public():
    """A new joint, shape or law has to be added to the table."""
    public = {
        name
        for name in carom.__all__
        if isinstance(getattr(carom, name), type)
        and (
            issubclass(getattr(carom, name), carom.Joint | carom.bodies.Shape)
            or hasattr(getattr(carom, name), "resolve")
        )
    }
    assert public - {"Joint", "ImpactLaw", "FixedJoint", "ImpactProblem"} <= set(CALLS)


@pytest.mark.parametrize("name", CALLS)
def test_one_hostile_argument_is_refused_in_our_words(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for changed in CALLS[name][1]:
        for value in HOSTILE_VALUES:
            call_with(name, changed, value)


@st.composite
def bodies(draw):
    """Arguments of one to three bodies: mostly of this world, sometimes of extreme size, speed or material."""
    scale = draw(st.sampled_from((1.0, 1.0, 1.0, 1e-6, 1e6, 1e-100, 1e100)))
    found = []
    for k in range(draw(st.integers(1, 3))):
        size = draw(SIZE) * scale
        shape = draw(
            st.sampled_from(
                (
                    (carom.Sphere, size),
                    (carom.Box, (size, 0.5 * size, 0.7 * size)),
                    (carom.Capsule, 0.3 * size, size),
                    (carom.Cylinder, 0.3 * size, size),
                )
            )
        )
        vector = st.tuples(SMALL, SMALL, SMALL)
        speed = draw(st.sampled_from((1.0, 1.0, 1.0, 1e3, 1e-12, 1e100)))
        found.append(
            {
                "shape": shape,
                "density": draw(st.sampled_from((1.0, 1e3, 1e-12, 1e12))),
                "position": (4.0 * k * scale, draw(SMALL) * scale, 3.0 * scale),
                "velocity": tuple(speed * v for v in draw(vector)),
                "angular_velocity": tuple(speed * v for v in draw(vector)),
                "material": (draw(st.sampled_from((0.0, 0.5, 1e6))), draw(st.sampled_from((0.0, 0.5, 1.0)))),
            }
        )
    return found


MOST_TURNS = 1e4  # rad: a grain that rolls turns 0.3 rad a piece, which is work and no fault
LONGEST_RUN = 120.0  # s, after which a run is interrupted; the first of a kind compiles
LATEST_ANSWER = 10.0  # s


def duration_of(given: list[dict[str, Any]]) -> float:
    """How long to run, so that nothing turns for ever."""
    longest = 0.05
    for body in given:
        size = min(np.ravel(np.asarray(body["shape"][1], dtype=float)))
        speed = np.linalg.norm(body["velocity"]) + size * np.linalg.norm(body["angular_velocity"])
        longest = min(longest, MOST_TURNS * size / (speed + np.sqrt(10.0 * size)))
    return float(longest)


def run_for_a_while(simulator: carom.Simulator, until: float) -> carom.Trajectory:
    """Run; what takes long, as grains do that were hit at 1e15 m/s, has to stop when it is asked to, as by
    Ctrl-C."""
    begun = time.monotonic()
    try:
        with within(LONGEST_RUN):
            return simulator.run(until)
    except TimeoutError:
        assert time.monotonic() - begun < LONGEST_RUN + LATEST_ANSWER
        return simulator.trajectory


def run_of(given: list[dict[str, Any]], law: str, planar: bool) -> None:
    """A scene is refused in our words, or its run ends with a status and finite states."""
    with within(LONGEST), silence():
        try:
            scene = carom.Scene()
            scene.add(carom.Body(carom.HalfSpace((0, 0, 1)), fixed=True))
            for body in given:
                shape, material = body["shape"][0](*body["shape"][1:]), carom.Material(*body["material"])
                rest = {name: value for name, value in body.items() if name not in ("shape", "material")}
                scene.add(carom.Body(shape, material=material, **rest))
            if planar:
                scene.planar()
            simulator = carom.Simulator(scene, getattr(carom, law)(), event_limit=15)
        except (ValueError, TypeError) as error:
            assert_ours(error)
            return
        run = run_for_a_while(simulator, duration_of(given))
        assert run.status.advice
        assert np.isfinite(run.sample(run.end_time).position).all()


def scenes() -> dict[str, Any]:
    """What `run_of` is given."""
    return {"given": bodies(), "law": st.sampled_from(LAWS), "planar": st.booleans()}


def test_scenes_are_refused_or_run():
    few(run_of, scenes(), 20)


@pytest.mark.long
def test_scenes_are_refused_or_run_for_long():
    assert go_on(run_of, scenes()) > 0
