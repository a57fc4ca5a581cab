"""What time steps refuse, and runs that are stopped, killed and gone on with."""

import os
import signal
import subprocess
import sys
import time

import h5py
import numpy as np
import pytest

import carom

LAW = carom.MaximumDissipation(tolerance=1e-6, max_sweeps=500)
PROGRAM = """
import sys
import numpy as np
import carom

def made(seed=0, step=1e-3):
    rng = np.random.default_rng(5)
    scene = carom.Scene()
    for axis in range(3):
        normal = np.eye(3)[axis]
        scene.add(carom.Body(carom.HalfSpace(normal), fixed=True, name=f"low {axis}"))
        scene.add(carom.Body(carom.HalfSpace(-normal, -0.6 if axis < 2 else -2.0), fixed=True, name=f"high {axis}"))
    places = np.stack(np.meshgrid(*[0.06 + 0.11 * np.arange(5)] * 3, indexing="ij"), -1).reshape(-1, 3)
    scene.add_spheres(0.05, density=1000.0, position=places, velocity=rng.normal(size=places.shape), name="grains")
    inlet = carom.Inflow(
        0.02, density=500.0, position=[(0.3, 0.3, 0.95)], velocity=(0, 0, 1.0), spread=(0.5, 0.5, 0), every=0.05
    )
    return carom.TimeSteps(
        scene, carom.MaximumDissipation(tolerance=1e-6, max_sweeps=500), step=step, seed=seed, inflows=[inlet],
        outflows=[carom.Outflow((0, 0, -1), -0.98)],
    )
"""
names: dict = {}
exec(PROGRAM, names)
made = names["made"]


def assert_equal_runs(one, two):
    assert one.log.rows.tobytes() == two.log.rows.tobytes()
    for name in ("number", "radius", "position", "velocity", "angular_velocity"):
        assert getattr(one.states, name).tobytes() == getattr(two.states, name).tobytes()
    assert [frame.position.tobytes() for frame in one.frames] == [f.position.tobytes() for f in two.frames]


def test_a_run_goes_on_from_a_file_bit_for_bit(tmp_path):
    whole = made()
    whole.run(0.3, frames_every=0.1)
    first = made()
    first.run(0.17, frames_every=0.1, checkpoint=tmp_path / "run.h5")
    second = made()
    second.restore(tmp_path / "run.h5")
    assert second.time == pytest.approx(0.17)
    second.run(0.3, frames_every=0.1)
    assert_equal_runs(whole, second)
    assert whole.log.rows["left"][-1] > 0
    assert list(tmp_path.iterdir()) == [tmp_path / "run.h5"]


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="only where a process can be killed so")
def test_a_killed_run_goes_on_from_its_last_checkpoint_bit_for_bit(tmp_path):
    path = tmp_path / "run.h5"
    code = PROGRAM + f"\nmade().run(1e9, frames_every=0.1, checkpoint={str(path)!r}, every=0.05)\n"
    process = subprocess.Popen([sys.executable, "-c", code], cwd=os.getcwd(), env=dict(os.environ))
    until = time.monotonic() + 300
    seen = 0
    while seen < 3 and time.monotonic() < until and process.poll() is None:
        time.sleep(0.2)
        if path.exists():
            seen += 1
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert seen == 3
    on = made()
    on.restore(path)
    stopped = on.time
    assert stopped > 0.0
    on.run(stopped + 0.05, frames_every=0.1)
    whole = made()
    whole.run(stopped + 0.05, frames_every=0.1)
    assert_equal_runs(whole, on)


def test_a_recording_tells_what_the_run_knew(tmp_path):
    steps = made()
    steps.run(0.1, frames_every=0.05)
    recording = carom.StepRecording.load(steps.save(tmp_path / "run.h5"))
    assert recording.log.tobytes() == steps.log.rows.tobytes()
    assert recording.last.position.tobytes() == steps.states.position.tobytes()
    assert recording.last.time == pytest.approx(0.1)
    assert [frame.time for frame in recording.frames] == pytest.approx([0.05, 0.1])
    assert recording.names[0] == (0, "grains", True)


@pytest.mark.parametrize(("other", "what"), [({"seed": 1}, "seed"), ({"step": 5e-4}, "step")])
def test_a_file_of_another_run_is_refused(tmp_path, other, what):
    steps = made()
    steps.run(0.01, checkpoint=tmp_path / "run.h5")
    with pytest.raises(ValueError, match=f"is of a run with other {what}"):
        made(**other).restore(tmp_path / "run.h5")


def test_files_that_are_no_runs_are_refused(tmp_path):
    steps = made()
    steps.run(0.01, checkpoint=tmp_path / "run.h5")
    whole = (tmp_path / "run.h5").read_bytes()
    (tmp_path / "half.h5").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "text.h5").write_text("nothing")
    for name, change in (("rows", 10**6), ("kept_starts", -3)):
        (tmp_path / f"{name}.h5").write_bytes(whole)
        with h5py.File(tmp_path / f"{name}.h5", "r+") as file:
            file[name][1] = change
    (tmp_path / "nan.h5").write_bytes(whole)
    with h5py.File(tmp_path / "nan.h5", "r+") as file:
        file["places"][0, 0] = np.nan
    for name in ("half", "text", "rows", "kept_starts", "nan", "missing"):
        with pytest.raises(carom.FileFormatError, match=f"{name}.h5"):
            carom.StepRecording.load(tmp_path / f"{name}.h5")


def test_overlapping_starts_are_refused_by_name():
    scene = carom.Scene()
    scene.add(carom.Body(carom.Box((1, 1, 1)), fixed=True, name="block"))
    scene.add_spheres(0.1, density=1000.0, position=[(0, 0, 2.0), (0.05, 0, 2.1)], name="grains")
    with pytest.raises(
        ValueError,
        match=r"position: sphere 'grains\[\d\]' and sphere 'grains\[\d\]' overlap by 0.088\d* m at the start",
    ):
        carom.TimeSteps(scene, LAW, step=1e-3)
    scene = carom.Scene()
    scene.add(carom.Body(carom.Box((1, 1, 1)), fixed=True, name="block"))
    scene.add_spheres(0.1, density=1000.0, position=[(0, 0, 0.55)], name="grains")
    with pytest.raises(ValueError, match=r"sphere 'grains\[0\]' and body 'block' overlap by 0.05 m"):
        carom.TimeSteps(scene, LAW, step=1e-3)


def test_a_step_too_long_for_a_fast_sphere_says_what_it_has_done():
    scene = carom.Scene((0, 0, 0))
    scene.add_spheres(
        0.1,
        density=1000.0,
        position=[(0, 0, 0), (1.31, 0.1, 0)],
        velocity=[(25.0, 0, 0), (0, 0, 0)],
        name="shots",
    )
    steps = carom.TimeSteps(scene, LAW, step=5e-2)
    with pytest.raises(
        carom.StepTooLongError,
        match=r"step: 0.05 s has let sphere 'shots\[\d\]' and sphere 'shots\[\d\]' overlap by .* m, \d+ % of a "
        r"radius, at 0.05 s, where the fastest sphere moves 12 radii in a step; take at most 0.0004 s",
    ):
        steps.run(0.2)
    quick = carom.TimeSteps(scene, LAW, step=4e-4)
    quick.run(0.2)
    assert quick.log.rows["overlap"].max() < 1e-6


def scene_with(**more):
    scene = carom.Scene()
    scene.add(carom.Body(carom.HalfSpace((0, 0, 1)), fixed=True, name="floor"))
    fields = {"density": 1000.0, "position": (0, 0, 1.0), "name": "one"} | more
    scene.add(carom.Body(fields.pop("shape", carom.Sphere(0.1)), **fields))
    return scene


def with_joint():
    scene = scene_with()
    scene.add_joint(carom.SphericalJoint("one", anchor=(0, 0, 1.5)))
    return scene


def with_change(change):
    scene = scene_with()
    change(scene)
    return scene


REFUSED = {
    "a joint": (with_joint, "time steps do without joints.*this one has joints"),
    "drag": (lambda: with_change(lambda s: s.add_force(carom.Drag(linear=1.0))), "this one has drag"),
    "a force": (
        lambda: with_change(lambda s: s.add_force(lambda t, state: None)),
        "this one has force functions",
    ),
    "a plane": (lambda: with_change(lambda s: s.planar()), "this one has a plane of motion"),
    "a pair": (
        lambda: with_change(lambda s: s.set_pair_material("one", "floor", carom.Material())),
        "this one has materials of pairs",
    ),
    "a disabled pair": (
        lambda: with_change(lambda s: s.disable_collision("one", "floor")),
        "this one has pairs that do not collide",
    ),
    "a sensor": (lambda: scene_with(sensor=True), "body 'one': time steps have no sensors"),
    "a group": (
        lambda: scene_with(collision_group=2),
        "body 'one': time steps of spheres have no collision groups",
    ),
    "a box": (
        lambda: scene_with(shape=carom.Box((1, 1, 1))),
        "body 'one': only spheres move by time steps, got a Box",
    ),
    "restitution": (
        lambda: scene_with(material=carom.Material(restitution=0.5)),
        "body 'one': time steps know inelastic impacts only, expected restitution 0, got 0.5",
    ),
    "two frictions": (
        lambda: scene_with(material=carom.Material(friction=0.5, impact_friction=0.2)),
        "body 'one': time steps know one friction",
    ),
    "rolling friction": (
        lambda: scene_with(material=carom.Material(rolling_friction=1e-3)),
        "body 'one': time steps have no rolling_friction",
    ),
    "a loaded ball": (
        lambda: scene_with(density=None, mass=1.0, inertia=np.diag([1.0, 1.0, 2.0]) * 1e-3),
        "body 'one': expected the same inertia about every axis",
    ),
    "an ellipsoid": (
        lambda: scene_with(shape=carom.Ellipsoid((1, 2, 3)), density=None, fixed=True),
        "body 'one': time steps know the distance of spheres from HalfSpace, Box.* got Ellipsoid",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_a_scene_has_and_steps_do_not_do_is_refused_by_name(name):
    make, message = REFUSED[name]
    with pytest.raises((TypeError, ValueError), match=message):
        carom.TimeSteps(make(), LAW, step=1e-3)


def test_laws_and_numbers_that_cannot_be_used():
    with pytest.raises(TypeError, match=r"law: .* only MaximumDissipation\(...\) does; got StrongeCoulomb"):
        carom.TimeSteps(scene_with(), carom.StrongeCoulomb(), step=1e-3)
    with pytest.raises(ValueError, match="step: expected a number greater than 0, got 0"):
        carom.TimeSteps(scene_with(), LAW, step=0.0)
    with pytest.raises(TypeError, match="scene: expected a Scene, got int"):
        carom.TimeSteps(3, LAW, step=1e-3)
    with pytest.raises(TypeError, match=r"outflows: expected Outflow\(...\), got 3"):
        carom.TimeSteps(scene_with(), LAW, step=1e-3, outflows=[3])
    with pytest.raises(TypeError, match=r"inflows: expected Inflow\(...\), got 3"):
        carom.TimeSteps(scene_with(), LAW, step=1e-3, inflows=[3])


def test_what_goes_from_event_to_event_refuses_spheres_in_bulk(tmp_path):
    scene = scene_with()
    scene.add_spheres(0.1, density=1000.0, position=[(0, 0, 3.0)], name="grains")
    message = r"takes bodies only, got spheres in bulk, 'grains' \(1\): use TimeSteps"
    for act in (
        lambda: carom.Simulator(scene, carom.StrongeCoulomb()),
        lambda: scene.save(tmp_path / "scene.json"),
        lambda: scene.resolve_overlaps(),
    ):
        with pytest.raises(ValueError, match=message):
            act()


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"radius": 0.0}, "radius: expected numbers greater than 0, got 0"),
        ({"radius": [0.1, 0.2, 0.3]}, r"radius: expected shape \(2\), got \(3,\)"),
        ({"density": [1.0, -1.0]}, "density: expected numbers greater than 0, got -1"),
        ({"position": [(0, 0, np.inf), (0, 0, 1)]}, "position: expected finite numbers"),
        ({"velocity": (1, 2)}, r"velocity: expected shape \(3\)"),
        ({"material": "sand"}, "material: expected a Material"),
        ({"name": ""}, "name: expected a text"),
    ],
)
def test_bad_spheres(fields, message):
    good = {"radius": 0.1, "density": 1000.0, "position": [(0, 0, 0), (0, 0, 1)]}
    with pytest.raises((TypeError, ValueError), match=message):
        carom.Scene().add_spheres(**{**good, **fields})


def test_names_of_spheres_are_theirs_alone():
    scene = carom.Scene()
    first = scene.add_spheres(0.1, density=1.0, position=[(0, 0, 0)])
    second = scene.add_spheres(0.1, density=1.0, position=[(0, 0, 1)])
    assert (first.name, second.name) == ("spheres-0", "spheres-1")
    with pytest.raises(ValueError, match="one that is not in the scene yet, got 'spheres-0' again"):
        scene.add_spheres(0.1, density=1.0, position=[(0, 0, 2)], name="spheres-0")


def test_a_run_with_nothing_in_it_only_passes_time():
    steps = carom.TimeSteps(carom.Scene(), LAW, step=0.1)
    steps.run(1.0)
    assert steps.time == pytest.approx(1.0)
    assert len(steps.log.rows) == 10
    assert len(steps) == 0


def test_units_do_not_matter_to_the_bit():
    """Lengths times 2, masses the same: everything scales by powers of two, so nothing is rounded otherwise."""
    found = []
    for scale in (1.0, 2.0):
        rng = np.random.default_rng(0)
        scene = carom.Scene((0, 0, -9.81 * scale))
        scene.add(carom.Body(carom.HalfSpace((0, 0, 1)), fixed=True))
        places = scale * np.stack(np.meshgrid(*[0.06 + 0.11 * np.arange(4)] * 3, indexing="ij"), -1).reshape(
            -1, 3
        )
        velocity = scale * rng.normal(size=places.shape)
        scene.add_spheres(0.05 * scale, density=1000.0 / scale**3, position=places, velocity=velocity)
        steps = carom.TimeSteps(scene, LAW, step=1e-3)
        steps.run(0.3)
        found.append((steps.states.position / scale, steps.log.rows["sweeps"].copy()))
    assert found[0][0].tobytes() == found[1][0].tobytes()
    assert found[0][1].tobytes() == found[1][1].tobytes()
