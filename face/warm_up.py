"""Small runs that together call the kernels that users' runs and questions do, so that these are compiled ahead."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from .bodies import Body, Scene, Shape
    from .impact_laws import ImpactProblem
    from .simulator import Trajectory

WarmUp = tuple[str, Callable[[], Any]]
"""What is compiled, in words, and what has it compiled."""


def warm_ups() -> Iterator[WarmUp]:
    """The runs and questions, those that most people need first."""
    from .impact_laws import law_names

    yield "a dropped mesh", _dropped_mesh
    for name in law_names():
        yield f"the law {name}", partial(_law, name)
    for name in _shapes():
        yield f"pairs of shapes with a {name}", partial(_pairs_with, name)
    yield "joints", _joints
    yield "a planar scene", _planar
    yield "many bodies", _many
    yield "time steps", _steps
    yield "questions about a run", _questions
    yield "sets of outcomes", _outcomes


def _floor(scene: "Scene", **fields: Any) -> None:
    from .bodies import Body, HalfSpace, Material

    scene.add(Body(HalfSpace(np.array([0.0, 0.0, 1.0])), fixed=True, material=Material(0.4, 0.5), **fields))


def _thrown(shape: "Shape", place: Any, spin: Any = (1.0, 2.0, 0.5)) -> "Body":
    from .bodies import Body, Material

    return Body(shape, density=500.0, position=place, angular_velocity=spin, material=Material(0.4, 0.5))


def _run(scene: "Scene", law: Any, until: float, events: int = 300) -> "Trajectory":
    from .simulator import Simulator

    return Simulator(scene, law, event_limit=events).run(until)


def _ask(trajectory: "Trajectory") -> None:
    """What summaries, pictures and tables ask of every run."""
    end = trajectory.end_time
    trajectory.sample(np.linspace(0.0, end, 5))
    trajectory.energy(np.linspace(0.0, end, 5))
    trajectory.largest_overlap(looks=1000)
    trajectory.contact_forces(end)


def _dropped_mesh() -> None:
    from .demos import drop_scene, load_dropped_mesh, shipped_mesh
    from .impact_laws import AnitescuPotra

    mesh = load_dropped_mesh(shipped_mesh(), None, "surface")
    _ask(_run(drop_scene([mesh], height=None, restitution=0.4, seed=0), AnitescuPotra(), 10.0))


def _law(name: str) -> None:
    from .bodies import Box, Scene, Sphere
    from .impact_laws import ImpactProblem, law_by_name

    law = law_by_name(name)
    for dim in (2, 3):
        for contacts in (1, 2):
            size = dim * contacts
            velocity = np.tile([-1.0, 0.3, 0.1][:dim], contacts)
            law.resolve(ImpactProblem(np.eye(size), velocity, friction=0.3, restitution=0.5, dim=dim))
        law.resolve(_wedged(dim))
    scene = Scene()
    _floor(scene)
    scene.add(_thrown(Box((0.2, 0.3, 0.4)), (0, 0, 0.4)))
    scene.add(_thrown(Sphere(0.1), (1, 0, 0.4)))
    scene.add(_thrown(Sphere(0.1), (1.02, 0, 0.65)))
    _ask(_run(scene, law, 0.6))


def _wedged(dim: int) -> "ImpactProblem":
    """Four contacts of two freedoms that are in each other's way: what laws solve with all that they have."""
    from .impact_laws import ImpactProblem

    J = np.random.default_rng(0).normal(size=(4 * dim, 2))
    J[::dim][J[::dim] @ [1.0, 0.3] < 0.0] *= -1.0
    return ImpactProblem(J @ J.T, J @ [-1.0, 0.5], friction=1.0, restitution=0.8, dim=dim)


def _shapes() -> dict[str, "Shape"]:
    import trimesh

    from .bodies import Box, Capsule, ConvexMesh, Cylinder, Ellipsoid, Mesh, Sphere

    return {
        "sphere": Sphere(0.1),
        "box": Box((0.2, 0.2, 0.2)),
        "rounded box": Box((0.2, 0.2, 0.2), radius=0.02),
        "capsule": Capsule(0.05, 0.2),
        "cylinder": Cylinder(0.1, 0.2),
        "ellipsoid": Ellipsoid((0.1, 0.08, 0.12)),
        "convex mesh": ConvexMesh(trimesh.creation.icosahedron().vertices * 0.1),
        "mesh": Mesh(trimesh.creation.torus(0.1, 0.04, major_sections=8, minor_sections=6)),
    }


def _pairs_with(name: str) -> None:
    """One of these shapes under one of every kind, each pair apart from the others."""
    from .bodies import Scene
    from .impact_laws import StrongeCoulomb

    shapes = _shapes()
    for k, other in enumerate(shapes):
        if "ellipsoid" in (name, other) or list(shapes)[k:].count(name) == 0:
            continue  # ellipsoids meet half-spaces alone; and the pair has had its turn the other way round
        scene = Scene()
        _floor(scene)
        scene.add(_thrown(shapes[name], (0, 0, 0.2)))
        scene.add(_thrown(shapes[other], (0.03, 0.02, 0.5)))
        _run(scene, StrongeCoulomb(), 0.4, 10)
    scene = Scene()
    _floor(scene)
    scene.add(_thrown(shapes[name], (0, 0, 0.3)))
    _ask(_run(scene, StrongeCoulomb(), 0.6, 20))


def _joints() -> None:
    from .bodies import (
        Box,
        DistanceJoint,
        Drive,
        FixedJoint,
        PrismaticJoint,
        RevoluteJoint,
        Scene,
        SphericalJoint,
        Spring,
        UniversalJoint,
    )
    from .impact_laws import MaximumDissipation, StrongeCoulomb

    for law in (StrongeCoulomb(), MaximumDissipation()):
        scene = Scene()
        _floor(scene)
        boxes = [scene.add(_thrown(Box((0.1, 0.1, 0.1)), (0.3 * k, 0, 0.3), (0, 0, 0))) for k in range(6)]
        motor = Drive(damping=1.0, rate=3.0, limit=20.0)
        places = [(0.3 * k, 0, 0.4) for k in range(6)]
        scene.add_joint(
            RevoluteJoint(boxes[0], anchor=places[0], axis=(0, 1, 0), drive=motor, limits=(-1, 1))
        )
        scene.add_joint(PrismaticJoint(boxes[1], axis=(0, 0, 1), spring=Spring(50.0), damping=0.1))
        scene.add_joint(DistanceJoint(boxes[2], anchor=places[2], base_anchor=(0.6, 0, 0.8), damping=0.1))
        scene.add_joint(SphericalJoint(boxes[3], anchor=places[3]))
        scene.add_joint(UniversalJoint(boxes[4], anchor=places[4], axis=(1, 0, 0), base_axis=(0, 1, 0)))
        scene.add_joint(FixedJoint(boxes[5], boxes[4]))
        trajectory = _run(scene, law, 0.5)
        _ask(trajectory)
        trajectory.joint_forces(0.1)


def _planar() -> None:
    from .bodies import Box, Scene
    from .impact_laws import MaximumDissipation

    scene = Scene()
    _floor(scene)
    scene.planar()
    for k in range(2):
        scene.add(_thrown(Box((0.2, 0.1, 0.2)), (0.03 * k, 0, 0.2 + 0.3 * k), (0, 1, 0)))
    _ask(_run(scene, MaximumDissipation(), 0.6))


def _many() -> None:
    from .bodies import Scene, Sphere
    from .impact_laws import MaximumDissipation

    scene = Scene()
    _floor(scene)
    for k in range(120):
        scene.add(_thrown(Sphere(0.1), (0.201 * (k % 11), 0.201 * (k // 11), 0.15)))
    _ask(_run(scene, MaximumDissipation(), 0.3, 200))


def _steps() -> None:
    """Spheres in bulk, also over a mesh, and convex bodies among half-spaces and each other."""
    from .bodies import Body, Box, HalfSpace, Mesh, Scene, Sphere
    from .impact_laws import MaximumDissipation
    from .simulator import Simulator, Steps, TimeSteps

    law = MaximumDissipation(tolerance=1e-4, max_sweeps=500)
    grains, stones = Scene(), Scene()
    for scene in (grains, stones):
        scene.add(Body(HalfSpace(np.array([0.0, 0.0, 1.0])), fixed=True))
        scene.add(Body(Box((0.2, 0.2, 0.1)), fixed=True, position=(0, 0, 0.05)))
    grains.add_spheres(0.01, density=2500.0, position=[(0, 0, 0.12), (0.001, 0, 0.15)])
    TimeSteps(grains, law, step=1e-3).run(0.1)
    corners, sides = (
        [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)],
        [(0, 2, 1), (0, 1, 3), (1, 2, 3), (0, 3, 2)],
    )
    grains.add(
        Body(Mesh((0.05 * np.array(corners), np.array(sides))), fixed=True, position=(0.05, 0.05, 0.12))
    )
    TimeSteps(grains, law, step=1e-3).run(0.01)
    for k, shape in enumerate((Box((0.05, 0.06, 0.07)), Sphere(0.03))):
        stones.add(Body(shape, density=2500.0, position=(0.01 * k, 0, 0.16 + 0.1 * k)))
    run = Simulator(stones, law, steps=2e-3).run(0.3)
    run.largest_overlap(looks=1000)
    stones.add(Body(Sphere(0.03), density=2500.0, position=(0.2, 0, 0.05), velocity=(-1.0, 0.0, 0.0)))
    Simulator(stones, law, steps=Steps(2e-3, above=1)).run(1.0)


def _questions() -> None:
    from .bodies import Body, Box, Sphere
    from .simulator import signed_distance, time_of_impact

    box = Body(Box((0.2, 0.2, 0.2)), density=500.0)
    ball = Body(Sphere(0.1), density=500.0, position=(1, 0, 0), velocity=(-1, 0, 0))
    signed_distance(box, ball)
    time_of_impact(box, ball, 1.0)


def _outcomes() -> None:
    from .impact_laws import AnitescuPotra, ImpactProblem, SequentialReflection, SetValuedRouth

    problem = ImpactProblem(
        np.eye(6) + 0.2, [-1.0, 0.2, 0.0, -0.8, 0.1, 0.0], friction=0.3, restitution=0.0, dim=3
    )
    SetValuedRouth().sample(problem, 50)
    for law in (AnitescuPotra(), SequentialReflection()):
        law.outcomes(problem)
