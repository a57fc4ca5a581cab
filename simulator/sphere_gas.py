"""Many hard spheres among planes: impact after impact at compiled speed, without a recording."""

import math
from enum import Enum
from typing import cast

import numpy as np
from numpy.typing import NDArray

from ..bodies import HalfSpace, Scene, Sphere
from ..impact_laws import ImpactOutcome, ImpactProblem, SequentialReflection
from ..progress import ProgressBar
from . import gas_kernels
from .collision.pairs import tangents_of
from .state import Array, Model, State, plane_of
from .tolerances import GAS_CELL, GAS_SLOW, OVERLAP

_IMPACTS_AT_ONCE = 50_000


class GasStatus(Enum):
    """How a run of a gas ended."""

    REACHED_END = "reached_end"
    IMPACT_LIMIT = "impact_limit"
    NO_PROGRESS = "no_progress"
    """Impacts follow each other without time going on: spheres that return too little are packed."""
    LAW_FAILED = "law_failed"


class SphereGas:
    """Frictionless spheres among fixed half-spaces under uniform gravity, in exact event order.

    The impacts are those of `Simulator` with the same law; nothing is recorded, so millions of them take seconds
    and no memory. Impacts of one contact are resolved in compiled code, those of several at once by the law.

    Parameters
    ----------
    scene : Scene
        Spheres, movable or fixed, and fixed half-spaces; fixed spheres only without gravity.
    law : SequentialReflection
    seed : feeds the law's random generator

    Raises TypeError for other bodies or laws; ValueError for overlap, and for restitution below one under gravity,
    where infinitely many impacts come to rest, which needs `Simulator`.
    """

    def __init__(self, scene: Scene, law: SequentialReflection | None = None, seed: int = 0):
        law = SequentialReflection() if law is None else law
        if not isinstance(law, SequentialReflection):
            raise TypeError(f"law: expected SequentialReflection, got {type(law).__name__}")
        self.law = law
        self.time = 0.0
        self.impacts = 0
        self.simultaneous = 0
        self._scene = scene
        self._rng = np.random.default_rng(seed)
        self._stalled = 0
        bodies = scene.bodies
        self._balls = [k for k, body in enumerate(bodies) if isinstance(body.shape, Sphere)]
        planes = [k for k, body in enumerate(bodies) if isinstance(body.shape, HalfSpace)]
        other = set(range(len(bodies))) - set(self._balls) - set(planes)
        if other:
            body = bodies[min(other)]
            raise TypeError(
                f"body {body.name!r}: a SphereGas holds spheres and half-spaces only, got a "
                f"{type(body.shape).__name__}; use Simulator"
            )
        if not self._balls:
            raise ValueError("scene: expected at least one sphere, got none")
        if scene.has_pair_materials:
            raise ValueError("scene: a SphereGas takes no materials of pairs; use Simulator")
        kinds = {(body.collision_group, body.collision_mask) for body in bodies}
        apart = any(not (group & mask) for group, _ in kinds for _, mask in kinds)
        if apart or scene.disabled_pairs or any(body.sensor for body in bodies):
            raise ValueError("scene: in a SphereGas all bodies push each other; use Simulator")
        fixed = [bodies[k] for k in self._balls if bodies[k].fixed]
        if fixed and np.any(scene.gravity):
            raise ValueError(
                f"body {fixed[0].name!r}: a fixed sphere needs a scene without gravity; use Simulator"
            )
        lossy = [body for body in bodies if body.material.restitution < 1.0]
        if lossy and np.any(scene.gravity):
            raise ValueError(
                f"body {lossy[0].name!r}: restitution below one under gravity comes to rest; use Simulator"
            )
        self._gas = self._arrays(planes)
        self._refuse_overlap()
        gas_kernels.start(self._gas, 0.0)

    def run(
        self, until: float = math.inf, impacts: int | None = None, *, progress: bool = False
    ) -> GasStatus:
        """Go to the absolute time `until` [s] or through so many more impacts, whichever is first."""
        if not until >= self.time or (impacts is None and not math.isfinite(until)):
            raise ValueError(
                f"until: expected a time of at least {self.time:g} s, finite without `impacts`, got {until!r}"
            )
        if impacts is not None and impacts < 0:
            raise ValueError(f"impacts: expected at least 0, got {impacts}")
        target = math.inf if impacts is None else self.impacts + impacts
        begin = (self.time, self.impacts)
        end = until - begin[0] if impacts is None else float(impacts)
        with ProgressBar(0.0, end if progress else 0.0, "simulating") as bar:
            while self.impacts < target:
                limit = int(min(_IMPACTS_AT_ONCE, target - self.impacts))
                why, now, made, first, _ = gas_kernels.run(self._gas, self.time, until, limit)
                self._stalled = 0 if now > self.time else self._stalled + made + 1
                self.time = now
                self.impacts += made
                if progress:
                    done = self.time - begin[0] if impacts is None else self.impacts - begin[1]
                    bar.show(done, f"{self.impacts} impacts")
                if why == gas_kernels.UNTIL:
                    return GasStatus.REACHED_END
                if self._stalled > _IMPACTS_AT_ONCE:
                    return GasStatus.NO_PROGRESS
                if why == gas_kernels.SEVERAL and not self._simultaneous(first).resolved:
                    return GasStatus.LAW_FAILED
        return GasStatus.IMPACT_LIMIT

    @property
    def state(self) -> State:
        """All bodies of the scene now; spheres keep their spin, which no impact changes."""
        packed = Model.of_scene(self._scene).initial_states()
        spheres = self._gas.spheres
        since = (self.time - spheres[:, gas_kernels.TIME])[:, None]
        pull = np.where(self._gas.inverse_mass[:, None] > 0.0, self._gas.pull[:3], 0.0)
        packed[self._balls, :3] = spheres[:, :3] + since * (spheres[:, 3:6] + 0.5 * since * pull)
        packed[self._balls, 7:10] = spheres[:, 3:6] + since * pull
        for row, body in zip(packed, self._scene.bodies, strict=True):
            if body.angular_velocity.any() and not body.fixed:
                row[3:7] = _turned(body.orientation, body.angular_velocity * self.time)
        return State.unpacked(self.time, packed)

    @property
    def energy(self) -> float:
        """Kinetic energy of translation plus gravitational energy [J]."""
        spheres, inverse = self._gas.spheres, self._gas.inverse_mass
        moving, pull = inverse > 0.0, self._gas.pull[:3]
        since = (self.time - spheres[moving, gas_kernels.TIME])[:, None]
        where = spheres[moving, :3] + since * (spheres[moving, 3:6] + 0.5 * since * pull)
        speed = spheres[moving, 3:6] + since * pull
        return float(((0.5 * (speed**2).sum(axis=1) - where @ pull) / inverse[moving]).sum())

    def _arrays(self, planes: list[int]) -> gas_kernels.Gas:
        bodies = self._scene.bodies
        balls = [bodies[k] for k in self._balls]
        count = len(balls)
        spheres = np.zeros((count, 8))
        spheres[:, :3] = [ball.position for ball in balls]
        spheres[:, 3:6] = [ball.velocity for ball in balls]
        spheres[:, gas_kernels.RADIUS] = [cast(Sphere, ball.shape).radius for ball in balls]
        inverse_mass = np.array([0.0 if ball.fixed else 1.0 / ball.mass for ball in balls])
        model_planes = [plane_of(cast(HalfSpace, bodies[k].shape), bodies[k]) for k in planes]
        width = (2.0 + GAS_CELL) * float(spheres[:, gas_kernels.RADIUS].max())
        extent = np.ptp(spheres[:, :3], axis=0) / width + 2.0
        while (
            shape := 2.0 ** np.ceil(np.log2(np.maximum(extent, 4.0)))
        ).prod() > 8 * count + 64 and extent.max() > 4.0:
            extent[np.argmax(extent)] *= 0.5  # wrapped: far apart, a coarser count of places is enough
        speed = float(np.sqrt((spheres[:, 3:6] ** 2).sum(axis=1).max()))
        return gas_kernels.Gas(
            spheres=spheres,
            inverse_mass=inverse_mass,
            bounce=np.sqrt([ball.material.restitution for ball in balls]),
            pull=np.append(self._scene.gravity, GAS_SLOW * speed),
            normals=np.array([normal for normal, _ in model_planes]).reshape(-1, 3),
            offsets=np.array([offset for _, offset in model_planes]),
            plane_bounce=np.sqrt([bodies[k].material.restitution for k in planes]),
            width=np.array([width]),
            shape=shape.astype(np.int64),
            cells=np.zeros((count, 3), dtype=np.int64),
            head=np.full(int(shape.prod()), gas_kernels.NONE),
            links=np.full((count, 2), gas_kernels.NONE),
            due=np.full((count, 2), np.inf),
            plans=np.zeros((count, 2), dtype=np.int64),
            key=np.empty(count),
            heap=np.empty(count, dtype=np.int64),
            place=np.empty(count, dtype=np.int64),
            counts=np.zeros(2, dtype=np.int64),
        )

    def _refuse_overlap(self) -> None:
        from scipy.spatial import KDTree

        where, radius = self._gas.spheres[:, :3], self._gas.spheres[:, gas_kernels.RADIUS]
        close = KDTree(where).query_pairs(2.0 * float(radius.max()), output_type="ndarray")
        reach = radius[close].sum(axis=1)
        gap = np.linalg.norm(where[close[:, 0]] - where[close[:, 1]], axis=1) - reach
        depth = np.append(-gap / np.maximum(reach, 1e-300), -np.inf)
        worst = int(np.argmax(depth))
        if depth[worst] > OVERLAP:
            names = [self._scene.bodies[self._balls[int(k)]].name for k in close[worst]]
            raise ValueError(
                f"bodies {names[0]!r} and {names[1]!r} overlap by {-gap[worst]:.3g} m at the start"
            )
        heights = where @ self._gas.normals.T - self._gas.offsets - radius[:, None]
        if heights.size and heights.min() < -OVERLAP * radius.max():
            ball, _ = np.unravel_index(np.argmin(heights), heights.shape)
            name = self._scene.bodies[self._balls[int(ball)]].name
            raise ValueError(f"body {name!r} overlaps a half-space by {-heights.min():.3g} m at the start")

    def _simultaneous(self, first: int) -> ImpactOutcome:
        """Everything that touches now, through the law."""
        members, contacts = self._cluster(first)
        problem = self._problem(members, contacts)
        outcome = self.law.resolve(problem, self._rng)
        if outcome.resolved:
            velocity = problem.generalized_velocity(outcome).reshape(-1, 3)
            gas_kernels.change_velocities(self._gas, members, np.ascontiguousarray(velocity), self.time)
            if problem.approaching().any():
                self.impacts += 1
                self.simultaneous += 1
        return outcome

    def _cluster(self, first: int) -> tuple[NDArray[np.int64], list[tuple[int, int]]]:
        """Spheres connected by touch, and their contacts (i, j) with j a sphere or a plane's number."""
        movable = self._gas.inverse_mass > 0.0
        members, contacts = [first], set()
        found = np.empty(32, dtype=np.int64)
        for i in members:
            for j in found[: gas_kernels.touching(self._gas, i, self.time, found)].tolist():
                contacts.add((min(i, j), max(i, j)) if j >= 0 else (i, j))
                if j >= 0 and movable[j] and j not in members:
                    members.append(j)
        ordered = sorted(contacts)
        return np.array(sorted(members)), ordered

    def _problem(self, members: NDArray[np.int64], contacts: list[tuple[int, int]]) -> ImpactProblem:
        """The impact of these contacts on the velocities (3,) of these spheres."""
        column = {int(body): 3 * k for k, body in enumerate(members)}
        rows = np.zeros((3 * len(contacts), 3 * len(members)))
        bounce = np.empty(len(contacts))
        gas = self._gas
        for c, (i, j) in enumerate(contacts):
            if j >= 0:
                gas_kernels.bring(gas, j, self.time)
                normal = gas.spheres[i, :3] - gas.spheres[j, :3]
                normal /= np.linalg.norm(normal)
                bounce[c] = gas.bounce[i] * gas.bounce[j]
            else:
                plane = gas_kernels.FIRST_PLANE - j
                normal = gas.normals[plane]
                bounce[c] = gas.bounce[i] * gas.plane_bounce[plane]
            tangent = tangents_of(normal[None])[0]
            frame = np.stack([normal, tangent, np.cross(normal, tangent)])
            for body, sign in ((i, 1.0), (j, -1.0)):
                if body in column:
                    rows[3 * c : 3 * c + 3, column[body] : column[body] + 3] += sign * frame
        inverse = np.diag(np.repeat(gas.inverse_mass[members], 3))
        velocity = gas.spheres[members, 3:6].ravel()
        return ImpactProblem.from_generalized(None, rows, velocity, restitution=bounce, inverse_mass=inverse)


def _turned(orientation: Array, angle: Array) -> Array:
    """The orientation after a turn by the rotation vector `angle` [rad], world frame."""
    size = float(np.linalg.norm(angle))
    if size == 0.0:
        return orientation
    w, (x, y, z) = math.cos(0.5 * size), math.sin(0.5 * size) / size * angle
    a, b, c, d = orientation
    return np.array(
        [w * a - x * b - y * c - z * d, w * b + x * a + y * d - z * c, w * c - x * d + y * a + z * b,
         w * d + x * c - y * b + z * a]
    )  # fmt: skip
