"""Tosses of a box that are simulated and then measured with noise, as cameras see real ones."""

import numpy as np
from scipy.spatial.transform import Rotation

import carom

RATE = 148.0  # frames a second
POSITION_NOISE, TURNING_NOISE = 2e-5, 1.7e-4  # m, rad: what frames of the cube's real tosses have
SIDE, MASS = 0.1048, 0.37
CENTER = np.array([0.001, -0.0015, 0.0055])
GYRATION = np.diag([2.65e-3, 2.6e-3, 2.45e-3])
FRICTION, RESTITUTION = 0.16, 0.27


def box() -> carom.Body:
    """The body as somebody would assume it: uniform."""
    return carom.Body(carom.Box((SIDE,) * 3), mass=MASS)


def true_shape() -> carom.Mesh:
    return carom.Mesh(carom.Box((SIDE,) * 3).surface(), carom.MassProperties(MASS, MASS * GYRATION, CENTER))


def toss(rng, law=None, friction=FRICTION, restitution=RESTITUTION, duration=0.6) -> carom.Trajectory:
    """A run with a start as of the real tosses."""
    material = carom.Material(friction=friction, restitution=restitution)
    scene = carom.Scene()
    scene.add(carom.Body(carom.HalfSpace((0, 0, 1)), fixed=True, material=material))
    orientation = rng.normal(size=4)
    scene.add(
        carom.Body(
            true_shape(), mass=MASS, inertia=MASS * GYRATION, material=material,
            position=(0, 0, 0.13 + 0.04 * rng.uniform()), orientation=orientation / np.linalg.norm(orientation),
            velocity=(*rng.normal(size=2) * 0.7, -0.2), angular_velocity=rng.normal(size=3) * 3.0,
        )
    )  # fmt: skip
    return carom.Simulator(scene, law or carom.StrongeCoulomb()).run(duration)


def measured(run, rng, noise=1.0, name="toss", seconds=0.0, **options) -> carom.Measured:
    """What cameras see of a run: the box's centre and its orientation at frames, with noise."""
    time = np.arange(int(max(run.end_time, seconds) * RATE)) / RATE
    state = run.sample(np.minimum(time, run.end_time))
    turns = Rotation.from_quat(state.orientation[:, 1][:, [1, 2, 3, 0]])
    centre = state.position[:, 1] - turns.apply(CENTER)
    turns = Rotation.from_rotvec(noise * TURNING_NOISE * rng.normal(size=(len(time), 3))) * turns
    centre = centre + noise * POSITION_NOISE * rng.normal(size=centre.shape)
    return carom.Measured(time, centre, turns.as_quat()[:, [3, 0, 1, 2]], name=name, **options)


def tosses(count, seed=0, **options) -> list[carom.Measured]:
    rng = np.random.default_rng(seed)
    seconds = options.get("duration", 0.6)  # bodies that rest earlier are seen at rest until then
    return [measured(toss(rng, **options), rng, name=f"toss {k}", seconds=seconds) for k in range(count)]
