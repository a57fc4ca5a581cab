"""Single impacts of a body on a plane: what they leave to a law, and the floor that no law can beat.

A law that pushes at the point of contact can only give changes of velocity of the form M⁻¹ Jᵀ p with three
numbers p; what is measured has six. The distance of the measured change from the nearest that any p gives is
the floor: errors of measurement and of the body, whatever the law. Everything is per unit of mass, which
impacts of one body on something fixed do not tell.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ...bodies import Body, Box
from .measured import Measured
from .tracking import cross_matrices

Array = NDArray[np.float64]

SINGLE = 0.11
"""Of the bounding radius, by which a second point must be higher for an impact to be that of one point."""
LEVEL = 0.09
"""Of the bounding radius, within which two points touch together."""
NEAR_SURFACE = 0.1
"""Of the bounding radius, within which the lowest point of an impact is of the median of all: the surface."""
GRAZING = 0.05
"""[m/s] of approach below which an impact says nothing about restitution: noise."""


@dataclass(frozen=True, eq=False)
class BodyParameters:
    """What impacts and flights say about a body, in its axes and from the tracked point.

    center_of_mass (3,) [m]; gyration (3, 3) [m²], inertia over mass about it; corner_radius [m] by which the
    edges and corners of a box are rounded.
    """

    center_of_mass: Array
    gyration: Array
    corner_radius: float = 0.0

    @classmethod
    def of_body(cls, body: Body) -> Self:
        """As a body has them, tracked at the origin of the coordinates in which its shape was given."""
        return cls(np.array(body.shape.center_of_mass), np.asarray(body.inertia) / body.mass)


@dataclass(frozen=True, eq=False)
class ContactStates:
    """Impacts in contact space, per unit of mass: what a law is asked and what was measured.

    W (n, 3, 3) [1/kg for one kilogram]; before, after (n, 3) [m/s], contact velocities (normal, tangent,
    tangent2); response (n, 6, 3): change of (velocity, lever times angular velocity), world, by an impulse;
    change (n, 6) [m/s]:
    what was measured.
    """

    W: Array
    before: Array
    after: Array
    response: Array
    change: Array

    def __len__(self) -> int:
        return len(self.before)

    def taken(self, which: Any) -> "ContactStates":
        """Some of them."""
        return ContactStates(
            self.W[which], self.before[which], self.after[which], self.response[which], self.change[which]
        )

    def residual(self, impulse: Array) -> Array:
        """(n, 6) [m/s]: predicted minus measured (velocity, lever times angular velocity) under impulses (n,
        3)."""
        return np.einsum("nij,nj->ni", self.response, impulse) - self.change

    def error(self, impulse: Array) -> Array:
        """E (n,) [m/s], the length of `residual`."""
        return np.linalg.norm(self.residual(impulse), axis=1)

    def best_impulse(self) -> Array:
        """The impulses (n, 3) nearest to what was measured, whatever the law."""
        normal = np.einsum("nij,nik->njk", self.response, self.response)
        return np.linalg.solve(normal, np.einsum("nij,ni->nj", self.response, self.change)[..., None])[..., 0]

    def floor(self) -> Array:
        """The error (n,) [m/s] of the best impulses: no law that pushes at the contact can have less."""
        return self.error(self.best_impulse())


@dataclass(frozen=True, eq=False)
class ImpactSet:
    """Impacts of single points on a plane, of one or many motions.

    toss (n,): which motion each belongs to; time (n,) [s]; rotation (n, 3, 3); point (n, 3) [m]: what
    touches, from the tracked point, in body axes; inset (n, 3): direction in which rounding moves it;
    velocity (n, 2, 3) [m/s] of the tracked point and angular_velocity (n, 2, 3) [rad/s], world, before and
    after; normal (3,) of the plane; lever [m]: what one radian counts in errors.
    """

    toss: NDArray[np.int64]
    time: Array
    rotation: Array
    point: Array
    inset: Array
    velocity: Array
    angular_velocity: Array
    normal: Array
    lever: float

    def __len__(self) -> int:
        return len(self.toss)

    @classmethod
    def of_motions(
        cls,
        motions: Sequence[Measured],
        body: Body,
        normal: Any = (0.0, 0.0, 1.0),
        lever: float | None = None,
    ) -> Self:
        """The clean impacts of single corners in motions of a body, whose shape has corners.

        ``lever`` [m] defaults to the body's bounding radius over √3, half the side of a cube. Raises
        ValueError where there is none.
        """
        up = np.asarray(normal, dtype=float) / np.linalg.norm(normal)
        points, radius = body.shape.core()
        corners = points + body.shape.center_of_mass
        if radius > 0.0:
            raise TypeError(f"body: expected a shape with corners, got {type(body.shape).__name__}")
        size = body.shape.bounding_radius
        rows = []
        for number, motion in enumerate(motions):
            for impact in motion.impacts:
                if not impact.clean:
                    continue
                turned = impact.rotation @ motion.center_of_mass
                heights = (corners @ impact.rotation.T) @ up
                order = np.argsort(heights)
                height = float((impact.position - turned) @ up + heights[order[0]])
                single = heights[order[1]] - heights[order[0]] > SINGLE * size
                velocity = impact.velocity - np.cross(impact.angular_velocity, turned)
                rows.append((number, impact, corners[order[0]], velocity, height, single))
        found = np.array([row[4] for row in rows])
        near = np.abs(found - np.median(found)) < NEAR_SURFACE * size if rows else np.zeros(0, dtype=bool)
        kept = [row for row, close in zip(rows, near, strict=True) if close and row[5]]
        if not kept:
            raise ValueError(
                "motions: expected clean impacts of single corners between two flights, got none: look at "
                "Measured.impacts, which say why"
            )
        point = np.array([row[2] for row in kept])
        return cls(
            np.array([row[0] for row in kept]),
            np.array([row[1].time for row in kept]),
            np.array([row[1].rotation for row in kept]),
            point,
            -np.sign(point) if isinstance(body.shape, Box) else np.zeros_like(point),
            np.array([row[3] for row in kept]),
            np.array([row[1].angular_velocity for row in kept]),
            up,
            size / np.sqrt(3.0) if lever is None else float(lever),
        )

    @classmethod
    def planar(
        cls, velocity_before: Any, velocity_after: Any, arm: Any, lever: float, toss: Any = None
    ) -> Self:
        """Impacts in a plane: velocities (n, 3) as vx, vy [m/s] and spin [rad/s], arms (n, 2) [m] from the
        centre of mass to the contact, on a surface along x whose normal is y."""
        before, after, arms = (
            np.asarray(rows, dtype=float) for rows in (velocity_before, velocity_after, arm)
        )
        count = len(arms)
        velocity, spin, point = np.zeros((count, 2, 3)), np.zeros((count, 2, 3)), np.zeros((count, 3))
        for side, rows in enumerate((before, after)):
            velocity[:, side, :2], spin[:, side, 2] = rows[:, :2], rows[:, 2]
        point[:, :2] = arms
        return cls(
            np.arange(count) if toss is None else np.asarray(toss),
            np.zeros(count),
            np.broadcast_to(np.eye(3), (count, 3, 3)),
            point,
            np.zeros_like(point),
            velocity,
            spin,
            np.array([0.0, 1.0, 0.0]),
            float(lever),
        )

    def taken(self, which: Any) -> "ImpactSet":
        """Some of the impacts."""
        return ImpactSet(
            self.toss[which], self.time[which], self.rotation[which], self.point[which], self.inset[which],
            self.velocity[which], self.angular_velocity[which], self.normal, self.lever,
        )  # fmt: skip

    def approaching(self, parameters: BodyParameters) -> NDArray[np.bool_]:
        """Which approach by more than `GRAZING` (n,)."""
        return self.states(parameters).before[:, 0] < -GRAZING

    def states(self, parameters: BodyParameters) -> ContactStates:
        """The impacts in contact space, of a body with these parameters."""
        axes = axes_of(self.normal)
        rho = parameters.corner_radius
        from_tracked = np.einsum("nij,j->ni", self.rotation, parameters.center_of_mass)
        velocity = self.velocity + np.cross(self.angular_velocity, from_tracked[:, None, :])
        core = self.point + rho * self.inset - parameters.center_of_mass
        arm = np.einsum("nij,nj->ni", self.rotation, core) - rho * self.normal
        mobility = self.rotation @ np.linalg.inv(parameters.gyration) @ self.rotation.transpose(0, 2, 1)
        turning = np.einsum("nij,kj->nik", cross_matrices(arm), axes)  # arm x axis, columns
        spin = mobility @ turning
        W = axes @ axes.T + turning.transpose(0, 2, 1) @ spin
        contact = np.einsum("ki,nsi->nsk", axes, velocity) + np.einsum(
            "nik,nsi->nsk", turning, self.angular_velocity
        )
        along = np.broadcast_to(axes.T, spin.shape)
        return ContactStates(
            0.5 * (W + W.transpose(0, 2, 1)),
            contact[:, 0],
            contact[:, 1],
            np.concatenate([along, self.lever * spin], axis=1),
            np.concatenate(
                [
                    velocity[:, 1] - velocity[:, 0],
                    self.lever * (self.angular_velocity[:, 1] - self.angular_velocity[:, 0]),
                ],
                axis=1,
            ),
        )


def axes_of(normal: Array) -> Array:
    """Rows: the normal and two tangents."""
    across = np.eye(3)[int(np.argmin(np.abs(normal)))]
    tangent = across - (across @ normal) * normal
    tangent /= np.linalg.norm(tangent)
    return np.array([normal, tangent, np.cross(normal, tangent)])
