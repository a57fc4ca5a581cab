"""Forty scenes whose events are kept: what changes in the engine shows here first.

Each is a name with a function that makes (scene, law, until [s]). `events_of` makes the run comparable.
"""

import math
from collections.abc import Callable

import numpy as np

import carom
from carom import (
    Body,
    Box,
    Capsule,
    ConvexMesh,
    Cylinder,
    Ellipsoid,
    HalfSpace,
    Material,
    Mesh,
    Scene,
    Sphere,
)

SCENES: dict[str, Callable[[], tuple[Scene, object, float]]] = {}
LAWS = {
    "stronge": carom.StrongeCoulomb(),
    "dissipation": carom.MaximumDissipation(),
    "anitescu": carom.AnitescuPotra(),
    "sequential-lcp": carom.SequentialLCP(),
    "reflection": carom.SequentialReflection(),
    "routh": carom.SetValuedRouth(),
}
LEADING = 8  # events of which times are kept


def scene_of(name, law, until):
    """Register a function that makes a scene under a name."""

    def register(build):
        SCENES[name] = lambda: (build(), LAWS[law] if isinstance(law, str) else law, until)
        return build

    return register


def floor(friction, restitution, walls=0.0):
    """A scene with a floor, and four walls so far from the middle."""
    material = Material(friction, restitution)
    scene = Scene()
    scene.add(Body(HalfSpace((0, 0, 1)), fixed=True, material=material, name="floor"))
    if walls:
        for x, y in ((1, 0), (-1, 0), (0, 1), (0, -1)):
            scene.add(Body(HalfSpace((x, y, 0), offset=-walls), fixed=True, material=material))
    return scene, material


def turned(random):
    """A random orientation."""
    quaternion = random.standard_normal(4)
    return quaternion / np.linalg.norm(quaternion)


def toss(shape, seed, friction=0.5, restitution=0.4, height=0.3, spin=6.0, speed=0.5):
    """One body thrown onto a floor."""
    random = np.random.default_rng(seed)
    scene, material = floor(friction, restitution)
    scene.add(
        Body(
            shape, density=1000.0, position=(0, 0, height + shape.bounding_radius), orientation=turned(random),
            velocity=speed * random.standard_normal(3), angular_velocity=spin * random.standard_normal(3),
            material=material,
        )
    )  # fmt: skip
    return scene


CHIP = ConvexMesh(np.random.default_rng(7).standard_normal((12, 3)) * (0.05, 0.04, 0.06))
SHAPES = {
    "cube": Box((0.1, 0.1, 0.1)),
    "brick": Box((0.1, 0.15, 0.07)),
    "hull": CHIP,
    "cylinder": Cylinder(0.04, 0.12),
    "capsule": Capsule(0.03, 0.1),
    "sphere": Sphere(0.05),
    "ellipsoid": Ellipsoid((0.06, 0.04, 0.03)),
}
for _shape in SHAPES:
    for _law in ("stronge", "anitescu"):
        scene_of(f"toss {_shape} {_law}", _law, 1.0)(
            lambda shape=SHAPES[_shape], e=0.4 * (_law == "stronge"): toss(shape, 0, restitution=e)
        )
for _law in ("dissipation", "sequential-lcp", "reflection", "routh"):
    _mu = 0.0 if _law == "reflection" else 0.3
    _e = 0.4 if _law == "reflection" else 0.0
    scene_of(f"toss cube {_law}", _law, 0.6)(
        lambda mu=_mu, e=_e: toss(SHAPES["cube"], 1, friction=mu, restitution=e)
    )
for _law in ("dissipation", "sequential-lcp", "anitescu"):  # with Newton's restitution
    scene_of(f"bouncing cube {_law}", _law, 0.6)(lambda: toss(SHAPES["cube"], 1, friction=0.3))


@scene_of("bouncing balls", "stronge", 3.0)
def balls():
    scene, material = floor(0.3, 0.7)
    for k in range(4):
        scene.add(
            Body(Sphere(0.1), density=1000.0, position=(k, 0, 0.3 + 0.2 * k), velocity=(0.3 * k, 0, 0),
                 angular_velocity=(0, 3.0 * k, 1), material=material)
        )  # fmt: skip
    return scene


@scene_of("cradle", "reflection", 1.0)
def cradle():
    scene = Scene(gravity=(0, 0, 0))
    elastic = Material(0.0, 1.0)
    for k in range(5):
        speed = (1.0, 0, 0) if k == 0 else (0, 0, 0)
        scene.add(Body(Sphere(0.1), mass=1.0, position=(0.2 * k - 0.3 * (k == 0), 0, 0), velocity=speed,
                       material=elastic))  # fmt: skip
    return scene


@scene_of("rack", "reflection", 0.5)
def rack():
    scene = Scene(gravity=(0, 0, 0))
    ball, elastic = Sphere(0.03), Material(0.0, 0.95)
    for x, y in ((1, 0), (-1, 0), (0, 1), (0, -1)):
        scene.add(Body(HalfSpace((x, y, 0), offset=-0.8), fixed=True, material=elastic))
    scene.add(Body(ball, mass=0.17, position=(-0.5, 0, 0), velocity=(8, 0, 0), material=elastic))
    for row in range(4):
        for place in range(row + 1):
            at = (0.2 + row * math.sqrt(3) * 0.03, (2 * place - row) * 0.03, 0)
            scene.add(Body(ball, mass=0.17, position=at, material=elastic))
    return scene


@scene_of("gas", "reflection", 0.4)
def gas():
    random = np.random.default_rng(3)
    scene = Scene(gravity=(0, 0, 0))
    elastic = Material(0.0, 1.0)
    for n in np.concatenate([np.eye(3), -np.eye(3)]):
        scene.add(Body(HalfSpace(n, offset=-0.5), fixed=True, material=elastic))
    for k in range(27):
        cell = np.array(np.unravel_index(k, (3, 3, 3))) - 1
        scene.add(Body(Sphere(0.05), mass=1.0, position=0.3 * cell + random.uniform(-0.05, 0.05, 3),
                       velocity=random.standard_normal(3), material=elastic))  # fmt: skip
    return scene


def pile(kinds, law_seed, count, friction=0.5, restitution=0.0, walls=0.25):
    """Bodies of some kinds dropped above each other between walls."""
    random = np.random.default_rng(law_seed)
    scene, material = floor(friction, restitution, walls)
    for k in range(count):
        shape = SHAPES[kinds[k % len(kinds)]]
        scene.add(Body(shape, density=800.0, position=(*random.uniform(-0.08, 0.08, 2), 0.12 + 0.22 * k),
                       orientation=turned(random), angular_velocity=random.standard_normal(3),
                       material=material))  # fmt: skip
    return scene


scene_of("pile spheres dissipation", "dissipation", 0.8)(lambda: pile(["sphere"], 1, 5))
scene_of("pile spheres stronge", "stronge", 0.6)(lambda: pile(["sphere"], 2, 3, restitution=0.3))
scene_of("pile boxes", "anitescu", 0.6)(lambda: pile(["cube", "brick"], 3, 3))
scene_of("pile of all", "stronge", 0.5)(lambda: pile(["cylinder", "capsule", "hull"], 4, 3))


@scene_of("stack of boxes", "stronge", 1.0)
def stack():
    scene, material = floor(0.5, 0.0)
    for k in range(4):
        scene.add(Body(Box((0.2, 0.2, 0.1)), density=500.0, position=(0.01 * k, 0, 0.051 + 0.102 * k),
                       material=material))  # fmt: skip
    return scene


@scene_of("sliding block", "stronge", 2.0)
def sliding():
    scene, material = floor(0.3, 0.0)
    scene.add(Body(Box((0.2, 0.3, 0.1)), density=500.0, position=(0, 0, 0.05), velocity=(1.5, 0.4, 0),
                   angular_velocity=(0, 0, 2.0), material=material))  # fmt: skip
    return scene


@scene_of("ball that slips and rolls", "stronge", 1.5)
def rolling():
    scene, material = floor(0.2, 0.0)
    scene.add(Body(Sphere(0.1), density=500.0, position=(0, 0, 0.1), velocity=(1.5, 0.0, 0),
                   angular_velocity=(4.0, -3.0, 2.0), material=material))  # fmt: skip
    return scene


@scene_of("incline", "stronge", 0.8)
def incline():
    angle = 0.35
    normal = (math.sin(angle), 0.0, math.cos(angle))
    scene = Scene()
    material = Material(0.3, 0.0)
    scene.add(Body(HalfSpace(normal), fixed=True, material=material))
    half = 0.5 * angle
    scene.add(Body(Box((0.2, 0.2, 0.1)), density=500.0, position=tuple(0.05 * n for n in normal),
                   orientation=(math.cos(half), 0, math.sin(half), 0), velocity=(0, 0.5, 0),
                   material=material))  # fmt: skip
    return scene


@scene_of("three balls on a spinning box", "anitescu", 0.5)
def balls_on_box():
    scene, material = floor(0.6, 0.0)
    scene.add(Body(Box((0.5, 0.5, 0.1)), density=500.0, position=(0, 0, 0.05), angular_velocity=(0, 0, 2.0),
                   material=material))  # fmt: skip
    for k in range(3):
        scene.add(
            Body(
                Sphere(0.05),
                density=500.0,
                position=(0.1 * k - 0.1, 0.02, 0.16 + 0.05 * k),
                material=material,
            )
        )
    return scene


@scene_of("wheel thrown along a floor", "stronge", 1.5)
def wheel():
    scene, material = floor(0.3, 0.2)
    quarter = math.sqrt(0.5)
    scene.add(Body(Cylinder(0.1, 0.05), density=500.0, position=(0, 0, 0.15), orientation=(quarter, quarter, 0, 0),
                   velocity=(1.0, 0, 0), angular_velocity=(0, 0, 0.3), material=material))  # fmt: skip
    return scene


@scene_of("rocking block", "stronge", 3.0)
def rocking():
    scene, material = floor(0.9, 0.2)
    half = 0.1
    box = Box((0.2, 0.2, 0.4))
    corner = np.array([math.cos(2 * half) * 0.1 + math.sin(2 * half) * 0.2, 0,
                       abs(math.sin(2 * half)) * 0.1 + math.cos(2 * half) * 0.2])  # fmt: skip
    scene.add(Body(box, density=500.0, position=corner, orientation=(math.cos(half), 0, math.sin(half), 0),
                   material=material))  # fmt: skip
    return scene


@scene_of("pendulum hits a wall", "stronge", 2.0)
def pendulum():
    scene = Scene()
    material = Material(0.3, 0.6)
    scene.add(Body(HalfSpace((1, 0, 0), offset=-0.1), fixed=True, material=material))
    rod = scene.add(Body(Box((0.05, 0.05, 1.0)), mass=1.0, position=(0, 0, -0.5), material=material,
                         angular_velocity=(0, -1.5, 0), velocity=(0.75, 0, 0)))  # fmt: skip
    scene.add_joint(carom.RevoluteJoint(rod, anchor=(0, 0, 0), axis=(0, 1, 0)))
    return scene


@scene_of("chain with limits and a drive", "stronge", 1.5)
def chain():
    scene = Scene()
    first = scene.add(Body(Box((0.5, 0.05, 0.05)), mass=1.0, position=(0.25, 0, 0)))
    second = scene.add(Body(Box((0.5, 0.05, 0.05)), mass=1.0, position=(0.75, 0, 0)))
    scene.add_joint(carom.RevoluteJoint(first, anchor=(0, 0, 0), axis=(0, 1, 0), damping=0.05))
    scene.add_joint(
        carom.RevoluteJoint(second, first, anchor=(0.5, 0, 0), axis=(0, 1, 0), limits=(-0.4, 0.6),
                            restitution=0.3, drive=carom.Drive(stiffness=2.0, damping=0.1, limit=1.5))
    )  # fmt: skip
    return scene


@scene_of("rod of Painleve", "dissipation", 0.5)
def painleve():
    scene = Scene()
    scene.planar()
    material = Material(1.9, 0.0)
    scene.add(Body(HalfSpace((0, 0, 1)), fixed=True, material=material))
    angle = 1.0
    place = (0.5 * math.cos(angle), 0, 0.5 * math.sin(angle))
    scene.add(Body(Capsule(1e-3, 1.0), mass=1.0, position=(place[0], 0, place[2] + 1e-3), velocity=(-1.0, 0, 0),
                   orientation=(math.cos(0.5 * (math.pi / 2 - angle)), 0, math.sin(0.5 * (math.pi / 2 - angle)), 0),
                   material=material))  # fmt: skip
    return scene


@scene_of("planar dominoes", "anitescu", 1.0)
def dominoes():
    scene, material = floor(0.4, 0.0)
    scene.planar()
    for k in range(4):
        scene.add(Body(Box((0.02, 0.1, 0.2)), density=500.0, position=(0.08 * k, 0, 0.1), material=material,
                       angular_velocity=(0, 1.2 if k == 0 else 0, 0)))  # fmt: skip
    return scene


@scene_of("mesh on mesh", "dissipation", 0.4)
def meshes():
    scene, material = floor(0.5, 0.0)
    torus = Mesh(carom.ConvexMesh(CHIP.vertices).surface())
    scene.add(Body(torus, density=800.0, position=(0, 0, 0.1), material=material))
    scene.add(
        Body(torus, density=800.0, position=(0.02, 0, 0.3), angular_velocity=(3, 2, 1), material=material)
    )
    return scene


@scene_of("rattleback", "stronge", 0.5)
def rattleback():
    scene, material = floor(1.0, 0.0)
    shape = Ellipsoid((0.2, 0.03, 0.02))
    scene.add(Body(shape, mass=1.0, inertia=np.array([[2e-4, 1e-4, 0], [1e-4, 1.6e-3, 0], [0, 0, 1.7e-3]]),
                   position=(0, 0, 0.02), angular_velocity=(0, 0.01, -3.0), material=material))  # fmt: skip
    return scene


@scene_of("drag and a force", "stronge", 1.0)
def driven():
    scene, material = floor(0.4, 0.5)
    body = scene.add(Body(Box((0.1, 0.1, 0.1)), mass=1.0, position=(0, 0, 0.5), material=material,
                          velocity=(2, 0, 0), angular_velocity=(1, 2, 3)))  # fmt: skip
    scene.add_force(carom.Drag(body, linear=0.4, quadratic=0.1, rotational=0.002))
    return scene


def run_of(name):
    """The trajectory of a scene."""
    scene, law, until = SCENES[name]()
    return carom.Simulator(scene, law, seed=1, event_limit=4000).run(until)


def events_of(trajectory):
    """What is kept of a run: how it ended, and its first events."""
    leading = []
    for event in trajectory.events[:LEADING]:
        bodies = sorted({(int(a), int(b)) for a, b in event.contacts.bodies})
        leading.append([event.kind.value, event.time, [list(pair) for pair in bodies]])
    return {"status": trajectory.status.value, "leading": leading}


if __name__ == "__main__":  # python -m tests.simulator.guard_scenes > tests/simulator/guards.json
    import json
    import sys

    json.dump({name: events_of(run_of(name)) for name in SCENES}, sys.stdout, indent=1)
