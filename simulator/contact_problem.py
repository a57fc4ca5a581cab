"""The impact problem of things that touch: of a scene as it stands, or of two bodies at points that are given."""

import math
from typing import overload

import numpy as np
from numpy.typing import ArrayLike

from ..bodies import Body, Material, Scene, SpeedRestitution, Sphere, checks
from ..impact_laws import ImpactProblem
from .collision.pairs import (
    collision_pairs,
    contact_jacobian,
    contact_patch,
    pair_gap,
    pair_size,
    refuse_unknown_distances,
    tangents_of,
)
from .event import ContactPatch, Feature, contact_names
from .state import Model
from .tolerances import CONTACT_GAP, OVERLAP


@overload
def contact_problem(first: Scene) -> ImpactProblem: ...


@overload
def contact_problem(
    first: Body,
    second: Body | None,
    point: ArrayLike,
    normal: ArrayLike,
    *,
    friction: ArrayLike | None = None,
    restitution: ArrayLike | None = None,
) -> ImpactProblem: ...


def contact_problem(
    first: Scene | Body,
    second: Body | None = None,
    point: ArrayLike | None = None,
    normal: ArrayLike | None = None,
    *,
    friction: ArrayLike | None = None,
    restitution: ArrayLike | None = None,
) -> ImpactProblem:
    """W, u, friction and restitution of an impact, as laws take them, without a run.

    Of a scene: the problem of everything that touches as it stands, with the velocities it has. Contacts are
    those whose gap is within the engine's tolerance, in the order the engine gives them to a law (body pair by
    body pair).

    Of two bodies: the problem of contacts at points that are given, whatever the shapes: their places,
    orientations, velocities and mass properties count.

    Parameters
    ----------
    first : a Scene, or the first Body
    second : the other Body; None for an immovable one, of the default material
    point : (3,) or (nc, 3) [m], world: where they touch
    normal : (3,) or (nc, 3), world: from the second body to the first; of any length but zero
    friction, restitution : a number or (nc,); None takes those of the two materials

    `ImpactProblem.generalized_velocity` maps an outcome to velocity and angular velocity (world frame) of each body
    that can move, in order. Components of a contact are along the normal and along two tangents, the first of which
    is the coordinate axis most across the normal, made orthogonal.

    Raises ValueError where nothing touches, bodies of a scene overlap or neither body can move, and ValueError or
    TypeError that names an argument.

    Example
    -------
    A ball on the point of hitting the floor:

    >>> ball = carom.Body(carom.Sphere(0.1), mass=2.0, position=(0, 0, 0.1), velocity=(1, 0, -3))
    >>> problem = carom.contact_problem(ball, None, (0, 0, 0), (0, 0, 1), friction=0.3, restitution=0.5)
    >>> problem.u
    array([-3.,  1.,  0.])
    """
    if isinstance(first, Scene):
        given = (second, point, normal, friction, restitution)
        if any(value is not None for value in given):
            raise TypeError("contact_problem: expected of a scene no other arguments, it has them itself")
        return _of_scene(first)
    if not isinstance(first, Body):
        raise TypeError(f"first: expected a Scene or a Body, got {type(first).__name__}")
    if not isinstance(second, Body | None):
        raise TypeError(f"second: expected a Body or None, got {type(second).__name__}")
    points, normals = _vectors("point", point), _vectors("normal", normal)
    if len(points) != len(normals) and 1 not in (len(points), len(normals)):
        raise ValueError(f"normal: expected one, or one for each of {len(points)} points, got {len(normals)}")
    points, normals = (np.array(rows) for rows in np.broadcast_arrays(points, normals))
    normals = np.array([checks.direction("normal", normal) for normal in normals])
    scene = Scene()
    scene.add(first)
    scene.add(Body(Sphere(1.0), fixed=True, name="world") if second is None else second)
    model = Model.of_scene(scene)
    if not model.movable[:2].any():
        raise ValueError("contact_problem: expected a body that can move, got two fixed ones")
    count = len(points)
    tangents = tangents_of(normals)
    patch = ContactPatch(
        bodies=np.tile(np.array([[0, 1]]), (count, 1)),
        point=points,
        normal=normals,
        tangent=tangents,
        tangent2=np.cross(normals, tangents),
        gap=np.zeros(count),
        feature=np.full((count, 2), int(Feature.POINT)),
        feature_index=np.full((count, 2), -1),
        along=np.zeros((count, 2, 3)),
        radius=np.zeros((count, 2)),
    )
    return _problem(scene, model, patch, model.initial_states(), friction, restitution)


def _of_scene(scene: Scene) -> ImpactProblem:
    model = Model.of_scene(scene)
    refuse_unknown_distances(model)
    states = model.initial_states()
    sizes = {pair: pair_size(model, pair) for pair in collision_pairs(model)}
    gaps = {pair: pair_gap(model, pair, states)[1] for pair in sizes}
    for (first, second), gap in gaps.items():
        if gap < -OVERLAP * sizes[first, second]:
            names = [scene.bodies[body].name for body in sorted((first, second))]
            raise ValueError(f"scene: bodies {names[0]!r} and {names[1]!r} overlap by {-gap:.6g} m")
    touching = [pair for pair, gap in gaps.items() if gap <= CONTACT_GAP * sizes[pair]]
    if not touching:
        nearest = min(gaps.values(), default=math.inf)
        raise ValueError(
            f"scene: expected bodies that touch within {CONTACT_GAP:g} of their size, "
            f"got a least gap of {nearest:.6g} m"
        )
    return _problem(scene, model, contact_patch(model, touching, states), states)


def _problem(
    scene: Scene,
    model: Model,
    patch: ContactPatch,
    states: np.ndarray,
    friction: ArrayLike | None = None,
    restitution: ArrayLike | None = None,
) -> ImpactProblem:
    jacobian, inverse_mass, velocity, _ = contact_jacobian(model, patch, states)
    materials = [scene.pair_material(int(a), int(b)) for a, b in patch.bodies]
    if restitution is None:
        along = jacobian[::3]
        approach = -along @ velocity
        mobility = np.einsum("ij,jk,ik->i", along, inverse_mass, along)
        restitution = [
            _restitution(material, *each)
            for material, *each in zip(materials, approach, mobility, strict=True)
        ]
    return ImpactProblem.from_generalized(
        None,
        jacobian,
        velocity,
        friction=[material.friction_of_impacts for material in materials] if friction is None else friction,
        restitution=restitution,
        dim=3,
        inverse_mass=inverse_mass,
        contact_names=contact_names(scene, patch.bodies),
    )


def _restitution(material: Material, approach: float, mobility: float) -> float:
    """Of an impact that approaches so fast [m/s], where a unit impulse changes that by the mobility [1/kg]."""
    e = material.restitution
    if not isinstance(e, SpeedRestitution):
        return e
    return e.at(approach, 1.0 / mobility) if mobility > 0.0 else e.restitution


def _vectors(name: str, value: ArrayLike | None) -> np.ndarray:
    """Rows (n, 3) of one or several vectors."""
    if value is None:
        raise TypeError(f"{name}: expected (3,) or (nc, 3) numbers for two bodies, got none")
    several = np.asarray(value, dtype=object).ndim == 2
    return np.atleast_2d(checks.array(name, value, (None, 3) if several else (3,)))
