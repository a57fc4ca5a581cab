"""Scenes with errors: the same bodies, which start a little elsewhere or have other surfaces."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation
from scipy.special import ndtr, ndtri

from ...bodies import Body, Scene, SpeedRestitution, checks
from .members import Columns, checked_range, start_generator

VECTORS = ("position", "orientation", "velocity", "angular_velocity")
SCALARS = ("friction", "restitution", "mass")
_LIMITS = {"friction": (0.0, np.inf), "restitution": (0.0, 1.0), "mass": (0.0, np.inf)}
_AS_A_FRACTION = ("mass",)


@dataclass(frozen=True)
class Term:
    """What one kind of error is.

    field : what it changes
    body : name of the body, None for all: those that can move, or every surface, with one value for all
    spread : standard deviation, a number or (3,) along the axes
    limits : of a value that is evenly distributed instead
    """

    field: str
    body: str | None
    spread: Any = None
    limits: tuple[float, float] | None = None

    @property
    def name(self) -> str:
        """Of the column that holds what was drawn."""
        return self.field if self.body is None else f"{self.body}.{self.field}"


@dataclass(frozen=True, eq=False)
class Perturbation:
    """Members that are scenes, each with errors of its own: see `perturbed`."""

    scene: Scene
    terms: tuple[Term, ...]
    members: int
    outcomes: int
    part_overlaps: bool

    def __len__(self) -> int:
        return self.members * self.outcomes

    def given(self, index: int) -> Any:
        return None

    def made(self, given: Any, index: int, seed: int) -> Scene:
        return self.draw(start_generator(seed, index // self.outcomes))[0]

    def maker(self) -> "Perturbation":
        return replace(self, members=1)

    def described(self) -> str:
        """Scene, errors and outcomes in words that tell this from others."""
        meta, arrays = self.scene.describe()
        digest = hashlib.sha256(json.dumps(meta).encode())
        for name in sorted(arrays):
            digest.update(arrays[name].tobytes())
        terms = [f"{t.name}: {np.asarray(t.limits or t.spread).tolist()}" for t in self.terms]
        return (
            f"scene {digest.hexdigest()[:12]}, {'; '.join(terms)}, outcomes {self.outcomes}, "
            f"part_overlaps {self.part_overlaps}"
        )

    def parameters(self, seed: int) -> Columns:
        """What was drawn, by the name of the term, and the number of the start of each member."""
        rows = [self._drawn(start_generator(seed, start)) for start in range(self.members)]
        columns = {
            term.name: np.repeat(np.array([row[k] for row in rows]), self.outcomes, axis=0)
            for k, term in enumerate(self.terms)
        }
        return columns | {"start": np.arange(len(self)) // self.outcomes * 1.0}

    def draw(self, rng: np.random.Generator) -> tuple[Scene, list[Any]]:
        """One scene with errors, and what was drawn, term by term."""
        drawn = self._drawn(rng)
        changes: dict[int, dict[str, Any]] = {}
        for term, value in zip(self.terms, drawn, strict=True):
            for row, index in enumerate(self._bodies(term)):
                known = changes.setdefault(index, {})
                own = value if term.body is not None or term.field in SCALARS else value[row]
                known[term.field] = _changed(self.scene.bodies[index], term.field, own, known)
        scene = self.scene.varied(changes)
        if self.part_overlaps:
            scene.resolve_overlaps()
        return scene, drawn

    def _drawn(self, rng: np.random.Generator) -> list[Any]:
        """Of each term: a number, a vector (3,), or one for each body (n, 3)."""
        found: list[Any] = []
        for term in self.terms:
            if term.field in SCALARS:
                found.append(_scalar(term, self.scene, rng))
                continue
            count = () if term.body is not None else (len(self._bodies(term)),)
            errors = _vectors(term, rng, (*count, 3))
            normal = self.scene.plane
            if normal is not None:
                along = (errors @ normal)[..., None] * normal
                errors = along if term.field in ("orientation", "angular_velocity") else errors - along
            found.append(errors)
        return found

    def _bodies(self, term: Term) -> list[int]:
        bodies = self.scene.bodies
        if term.body is not None:
            return [self.scene.index(term.body)]
        if term.field in ("friction", "restitution"):
            return list(range(len(bodies)))
        return [k for k, body in enumerate(bodies) if not body.fixed]


def _vectors(term: Term, rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    if term.limits is not None:
        return rng.uniform(*term.limits, size=shape)
    return rng.normal(size=shape) * term.spread


def _scalar(term: Term, scene: Scene, rng: np.random.Generator) -> float:
    """An evenly distributed value, or an error of a normal distribution cut off where values make no sense."""
    chance = float(rng.random())
    if term.limits is not None:
        low, high = term.limits
        return low + (high - low) * chance
    lowest, highest = _LIMITS[term.field]
    if term.field in _AS_A_FRACTION:
        middle = 1.0
    else:
        body = scene.bodies[scene.index(term.body)] if term.body is not None else scene.bodies[0]
        middle = float(getattr(body.material, term.field))
    low, high = ndtr((lowest - middle) / term.spread), ndtr((highest - middle) / term.spread)
    value = middle + term.spread * float(ndtri(low + (high - low) * chance))
    return float(np.clip(value, lowest, highest))


def _changed(body: Body, field: str, value: Any, known: dict[str, Any]) -> Any:
    """The value of a body's field with an error; of `known` changes the earlier ones count."""
    if field == "orientation":
        w, x, y, z = known.get(field, body.orientation)
        turned = Rotation.from_rotvec(value) * Rotation.from_quat([x, y, z, w])
        x, y, z, w = turned.as_quat()
        return np.array([w, x, y, z])
    if field in VECTORS:
        return known.get(field, getattr(body, field)) + value
    if field in _AS_A_FRACTION:
        return float(body.mass) * value
    return value


def perturbed(
    scene: Scene,
    *,
    members: int = 100,
    outcomes: int = 1,
    part_overlaps: bool = False,
    **errors: Any,
) -> Perturbation:
    """Members of an ensemble that are this scene with errors in its start and its surfaces.

    Errors are named by what they change: ``position`` [m], ``orientation`` [rad] (a turn about a random vector),
    ``velocity`` [m/s] and ``angular_velocity`` [rad/s] of all bodies that can move, in the world frame;
    ``friction`` and ``restitution`` of all surfaces, one value for all; ``mass``, a factor that the inertia
    follows. A number, or for vectors (3,) of them along the axes, is the standard deviation of a normal
    distribution, cut off where values make no sense; a pair is a range, in which the error of a vector's
    components, or the value itself of a scalar, is evenly distributed. A dict gives such values to bodies by name:
    ``position={"box": 1e-3}``. Scenes in a plane stay in it.

    members : number of starts
    outcomes : how many members share each start, and differ by their own generators alone: see
        `Ensemble.variance_shares`
    part_overlaps : whether bodies that overlap after errors are moved apart by `Scene.resolve_overlaps`; otherwise
        such a member has a row that says so

    Raises TypeError or ValueError that names the field; errors in the motion of a body that a joint holds are
    refused, since its joint would not hold.

    >>> import carom
    >>> scene = carom.Scene()
    >>> ball = carom.Body(carom.Sphere(0.1), density=1000.0, position=(0, 0, 1), name="ball")
    >>> _ = scene.add(ball)
    >>> members = carom.perturbed(scene, members=10, position=1e-3, friction=(0.1, 0.3))
    >>> len(members), sorted(members.parameters(seed=0))
    (10, ['friction', 'position', 'start'])
    """
    if not isinstance(scene, Scene):
        raise TypeError(f"scene: expected a Scene, got {type(scene).__name__}")
    counts = []
    for name, count in (("members", members), ("outcomes", outcomes)):
        counts.append(checks.whole(name, count, 2**40))
        if counts[-1] < 1:
            raise ValueError(f"{name}: expected at least 1, got {count}")
    terms = []
    for field, value in errors.items():
        if field not in (*VECTORS, *SCALARS):
            raise ValueError(f"{field}: expected one of {', '.join((*VECTORS, *SCALARS))}")
        if isinstance(value, Mapping):
            terms += [_term(scene, field, str(body), own) for body, own in value.items()]
        else:
            terms.append(_term(scene, field, None, value))
    return Perturbation(
        scene, tuple(terms), counts[0], counts[1], checks.flag("part_overlaps", part_overlaps)
    )


def _term(scene: Scene, field: str, body: str | None, value: Any) -> Term:
    """A checked term."""
    where = field if body is None else f"{field} of {body!r}"
    if body is not None:
        only = scene.bodies[scene.index(body)]
        if only.fixed and field in ("velocity", "angular_velocity", "mass"):
            raise ValueError(f"{where}: expected a body that can move, got a fixed one")
    if field in VECTORS:
        joined = {index for joint in scene.joints for index in (joint.body, joint.base)}
        moved = [scene.index(body)] if body is not None else range(len(scene))
        held = [scene.bodies[k].name for k in moved if k in joined]
        if held:
            raise ValueError(
                f"{where}: expected bodies that no joint holds, got {held[0]!r}; let `run` move all that it joins"
            )
    if np.ndim(value) == 1 and len(value) == 2:
        return Term(field, body, limits=_limits(where, field, value))
    if field in VECTORS and np.ndim(value) == 1:
        spread = checks.array(where, value, (3,))
        if (spread < 0.0).any():
            raise ValueError(f"{where}: expected standard deviations of at least 0, got {value!r}")
        return Term(field, body, spread=spread)
    number = checks.number(where, value, minimum=0.0)
    if field in SCALARS and number == 0.0:
        raise ValueError(f"{where}: expected a standard deviation above 0, or a range, got 0")
    if field == "restitution":
        named = scene.bodies if body is None else [scene.bodies[scene.index(body)]]
        falling = next((b.name for b in named if isinstance(b.material.restitution, SpeedRestitution)), None)
        if falling is not None:
            raise ValueError(
                f"{where}: expected a range, since that of {falling!r} falls with speed, got {value!r}"
            )
    if body is None and field in ("friction", "restitution"):
        found = {getattr(each.material, field) for each in scene.bodies}
        if len(found) > 1:
            raise ValueError(
                f"{where}: expected a range, since surfaces differ, or a dict of bodies by name, got {value!r}"
            )
    return Term(field, body, spread=number)


def _limits(where: str, field: str, value: Any) -> tuple[float, float]:
    low, high = checked_range(where, value)
    lowest, highest = _LIMITS.get(field, (-np.inf, np.inf))
    if low < lowest or high > highest or (field == "mass" and low <= 0.0):
        raise ValueError(f"{where}: expected a range within {lowest:g} and {highest:g}, got {value!r}")
    return low, high
